"""minimize: the door to the methods, which checks what is asked of them."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import funcgrad.numpy as jnp
from funcgrad.api.grad import value_and_grad
from funcgrad.base import dtypes
from funcgrad.base.array import as_value
from funcgrad.base.aval import aval_of
from funcgrad.scipy._bfgs import bfgs
from funcgrad.scipy._lbfgs import lbfgs
from funcgrad.scipy._optimize_results import OptimizeResults

METHODS: dict[str, Callable[..., OptimizeResults]] = {
    "BFGS": bfgs,
    "l-bfgs-experimental-do-not-rely-on-this": lbfgs,
}
# The options that `tol` sets, by method.
TOLERANCES = {bfgs: ("gtol",), lbfgs: ("gtol", "ftol")}


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """A point near x0 where fun(x, *args) is least, found by its gradient.

    It can be compiled, mapped, and differentiated in forward mode (through its iterations).

    Args:
        fun: from a vector [n] (and args) to a float.
        x0: where to start, real floats [n].
        args: further arguments of fun, a tuple.
        method: "BFGS" or "l-bfgs-experimental-do-not-rely-on-this", in capitals or not.
        tol: the default of gtol, and of L-BFGS's ftol.
        options: of both methods: `maxiter` (200 n), `norm` (inf) and `gtol` (1e-5), for it ends
            where that norm of the gradient is below gtol. Of BFGS: `line_search_maxiter` (10), the
            most evaluations in a line search. Of L-BFGS: `maxls` (20), the same; `maxcor` (10),
            how many iterations it remembers; `ftol` (2.2e-9), the least decrease to go on for;
            `maxfun` and `maxgrad`, the most evaluations.

    Returns:
        `OptimizeResults`. Its status is 0 where the gradient is small, 1 after maxiter, 3 (BFGS)
        or 5 (L-BFGS) where a line search found no lower value, and for L-BFGS also 2 after maxfun,
        3 after maxgrad and 4 where the value decreased by less than ftol.

    Raises:
        TypeError: if args is no tuple, x0 is not of real floats, fun does not return one float, or
            the method has no such option.
        ValueError: if x0 is not a vector, or there is no such method.

    Example:
        >>> from funcgrad.scipy.optimize import minimize
        >>> bowl = lambda x, a: ((x - a) ** 2).sum()
        >>> minimize(bowl, np.zeros(2), (3.0,), method="BFGS").x.round(3)
        Array([3., 3.], dtype=float32)

    Source: Nocedal and Wright, Numerical Optimization (2006), chapters 3, 6 and 7;
    `scipy.optimize.minimize`. JAX has no use for tol; its line search gives up where values differ
    by little more than rounding, so that it ends with a failure more often in float32.
    """
    names = {name.lower(): name for name in METHODS}
    if not isinstance(method, str) or method.lower() not in names:
        raise ValueError(f"minimize: method is one of {list(METHODS)}, got {method!r}")
    name = names[method.lower()]
    if not isinstance(args, tuple):
        raise TypeError(
            f"minimize: args must be a tuple, got {args!r:.60}; for one argument write (a,)"
        )
    x0 = _vector(x0)
    chosen = _checked_options(name, tol, options)
    evaluate = value_and_grad(fun)
    return METHODS[name](lambda x: evaluate(x, *args), x0, **chosen)


def _vector(x0: Any) -> Any:
    try:
        x = jnp.asarray(as_value(x0))
    except TypeError:
        raise TypeError(
            f"minimize: x0 must be an array, got {x0!r:.60} of type {type(x0).__name__}; "
            "ravel_pytree makes one of a pytree"
        ) from None
    aval = aval_of(x)
    if not dtypes.issubdtype(aval.dtype, np.floating):
        raise TypeError(
            f"minimize: x0 must be of real floats, got {aval.str_short()}; convert integers with "
            "astype, and give the real and imaginary parts of complex numbers"
        )
    if len(aval.shape) != 1:
        raise ValueError(
            f"minimize: x0 must be a vector [n], got {aval.str_short()}; use ravel_pytree, or "
            "reshape x inside fun"
        )
    return x.astype(aval.dtype)


def _checked_options(
    name: str, tol: float | None, options: Mapping[str, Any] | None
) -> dict[str, Any]:
    known = list(inspect.signature(METHODS[name]).parameters)[2:]
    given = dict(options or {})
    unknown = [option for option in given if option not in known]
    if unknown:
        raise TypeError(f"minimize: {name} has the options {known}, and got {unknown}")
    if tol is not None:
        for option in TOLERANCES[METHODS[name]]:
            given.setdefault(option, tol)
    return given
