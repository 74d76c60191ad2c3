"""odeint: ordinary differential equations by an embedded Runge-Kutta pair, and their adjoint.

Steps are Dormand and Prince's fifth-order ones, whose difference from a fourth-order solution says
how long they may be; a quartic through the middle of a step gives the values in between.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import funcgrad.numpy as jnp
from funcgrad.api.custom_gradient import closure_convert
from funcgrad.api.custom_vjp import custom_vjp
from funcgrad.api.grad import vjp
from funcgrad.api.inspect import eval_shape
from funcgrad.api.looping import scan, while_loop
from funcgrad.api.ravel import ravel_pytree
from funcgrad.api.vmap import vmap
from funcgrad.base import dtypes
from funcgrad.base.array import as_value
from funcgrad.base.aval import aval_of
from funcgrad.base.source import function_name
from funcgrad.base.tree import (
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_structure,
    tree_unflatten,
)
from funcgrad.base.typing import ArrayLike
from funcgrad.numpy._promotion import Array
from funcgrad.scipy._dormand_prince import (
    initial_step_size,
    interp_fit_dopri,
    mean_error_ratio,
    optimal_step_size,
    runge_kutta_step,
)

ERROR_ORDER = 4

Dynamics = Callable[..., Any]


class Settings(NamedTuple):
    """What a solution is asked for."""

    rtol: float
    atol: float
    mxstep: float
    hmax: float


def odeint(
    func: Dynamics,
    y0: Any,
    t: ArrayLike,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """The solution of dy/dt = func(y, t, *args) with y(t[0]) = y0, at the times t.

    Reverse mode solves the adjoint equation backwards in time, so it needs no memory for the steps;
    it gives derivatives by y0, t, args and what `func` closes over.

    Args:
        func: the derivative of y, a pytree like y0.
        y0: the state at t[0]; a pytree of floats or complex numbers.
        t: increasing times, floats of shape [times].
        args: pytrees of arrays for `func`.
        rtol, atol: each step's error is kept under rtol |y| + atol, on average over the state.
        mxstep: the most steps from one time to the next.
        hmax: the longest step.

    Returns:
        A pytree like y0 whose arrays have a leading axis [times]. Where a time cannot be reached in
        mxstep steps, or with steps that change t, or lies before the one in front of it, and from
        there on, the solution is nan.

    Raises:
        TypeError: if t, y0 or args are of the wrong type, or func returns another tree than y0.
        ValueError: if t has more than one axis.

    Example:
        >>> from funcgrad.experimental.ode import odeint
        >>> odeint(lambda y, t, k: -k * y, 1.0, np.array([0.0, 1.0]), 2.0).round(4)
        Array([1.    , 0.1353], dtype=float32)

    Source: `jax.experimental.ode.odeint`; Dormand and Prince, A family of embedded Runge-Kutta
    formulae (1980). In JAX, times that cannot be reached get numbers all the same.
    """
    y0, t, args = _checked(func, y0, t, args)
    converted, consts = closure_convert(func, y0, t[0], *args)
    flat_y, unravel = ravel_pytree(y0)
    arguments, tree = tree_flatten((*args, *consts))
    _check_derivative(func, y0, t, args)

    def flat_func(y: Array, t: Array, *leaves: Array) -> Array:
        return ravel_pytree(converted(unravel(y), t, *tree_unflatten(tree, leaves)))[0]

    settings = Settings(float(rtol), float(atol), float(mxstep), float(hmax))
    ys = _solve(flat_func, settings, flat_y, t, *map(as_value, arguments))
    return vmap(unravel)(ys)


def _checked(func: Dynamics, y0: Any, t: Any, args: tuple) -> tuple[Any, Array, tuple]:
    """The arguments as arrays; a TypeError or ValueError that names what is wrong."""
    name = f"odeint of {function_name(func)}"
    leaves, tree = tree_flatten_with_path(y0)
    values = []
    for path, leaf in leaves:
        value = _array(name, f"y0{keystr(path)}", leaf)
        if not dtypes.issubdtype(aval_of(value).dtype, np.inexact):
            raise TypeError(
                f"{name}: y0{keystr(path)} changes continuously, so it must be of floats or "
                f"complex numbers, got {aval_of(value).str_short()}"
            )
        values.append(value)
    found = []
    for i, arg in enumerate(args):
        pairs, arg_tree = tree_flatten_with_path(arg)
        parts = [_array(name, f"args[{i}]{keystr(path)}", x) for path, x in pairs]
        found.append(tree_unflatten(arg_tree, parts))
    t = _array(name, "t", t)
    aval = aval_of(t)
    if not dtypes.issubdtype(aval.dtype, np.floating):
        raise TypeError(f"{name}: t must be of floats, got {aval.str_short()}")
    if len(aval.shape) != 1 or not aval.shape[0]:
        raise ValueError(f"{name}: t must have the shape [times], got {aval.str_short()}")
    return tree_unflatten(tree, values), t, tuple(found)


def _array(name: str, where: str, x: Any) -> Array:
    try:
        return as_value(x)
    except TypeError:
        raise TypeError(
            f"{name}: {where} must be an array or a number, got {x!r:.60} of type "
            f"{type(x).__name__}; func may close over other values"
        ) from None


def _check_derivative(func: Dynamics, y0: Any, t: Array, args: tuple) -> None:
    """Raise unless func returns the tree and shapes of y0."""
    out = eval_shape(func, y0, t[0], *args)
    if tree_structure(out) != tree_structure(y0):
        raise TypeError(
            f"odeint: {function_name(func)} must return the derivative of y, a pytree like y0 with "
            f"the structure {tree_structure(y0)}, and returns {tree_structure(out)}"
        )
    pairs = zip(tree_flatten_with_path(y0)[0], tree_flatten(out)[0], strict=True)
    for (path, y), d in pairs:
        if y.shape != d.shape:
            raise TypeError(
                f"odeint: {function_name(func)} returns a derivative of shape {d.shape} for "
                f"y0{keystr(path)} of shape {y.shape}"
            )


class Step(NamedTuple):
    """How far a solution has come, and the quartic of the last step, which began at `before`."""

    state: Array
    slope: Array
    time: Array
    length: Array
    before: Array
    quartic: Array


@partial(custom_vjp, nondiff_argnums=(0, 1))
def _solve(func: Dynamics, settings: Settings, y0: Array, ts: Array, *args: Array) -> Array:
    """The flat solution at all times, [times, state]."""
    derivative = lambda y, t: jnp.asarray(func(y, t, *args), y0.dtype)

    def reach(carry: Step, target: Array) -> tuple[Step, Array]:
        def unfinished(state: tuple[Array, Step]) -> Array:
            count, step = state
            moves = step.time + step.length > step.time
            return (step.time < target) & (count < settings.mxstep) & moves

        def advance(state: tuple[Array, Step]) -> tuple[Array, Step]:
            count, step = state
            return count + 1, _advanced(derivative, settings, step)

        _, step = while_loop(unfinished, advance, (jnp.asarray(0.0, ts.dtype), carry))
        span = step.time - step.before
        part = jnp.where(span > 0, (target - step.before) / jnp.where(span > 0, span, 1), 0)
        reached = (target >= step.before) & (target <= step.time)
        value = jnp.polyval(step.quartic, part.astype(y0.dtype))
        value = jnp.where(reached, value, jnp.nan)
        # What cannot be reached leaves nothing to go on from.
        return step._replace(time=jnp.where(reached, step.time, jnp.nan)), value

    slope = derivative(y0, ts[0])
    first = initial_step_size(
        derivative, ts[0], y0, ERROR_ORDER, settings.rtol, settings.atol, slope
    )
    length = jnp.minimum(first, settings.hmax)
    quartic = jnp.stack([*[jnp.zeros_like(y0)] * 4, y0])
    start = Step(y0, slope, ts[0], length.astype(ts.dtype), ts[0], quartic)
    _, ys = scan(reach, start, ts[1:])
    return jnp.concatenate([y0[None], ys])


def _advanced(derivative: Dynamics, settings: Settings, step: Step) -> Step:
    """One step further if its error is allowed; a new length in any case."""
    y, h = step.state, step.length
    new, slope, error, slopes = runge_kutta_step(derivative, y, step.slope, step.time, h)
    ratio = mean_error_ratio(error, settings.rtol, settings.atol, y, new).astype(h.dtype)
    length = jnp.minimum(optimal_step_size(h, ratio), settings.hmax)
    quartic = interp_fit_dopri(y, new, slopes, h)
    accepted = Step(new, slope, step.time + h, length, step.time, quartic)
    refused = step._replace(length=length)
    return Step(*[jnp.where(ratio <= 1, a, b) for a, b in zip(accepted, refused)])


def _solve_fwd(
    func: Dynamics, settings: Settings, y0: Array, ts: Array, *args: Array
) -> tuple[Array, tuple]:
    ys = _solve(func, settings, y0, ts, *args)
    return ys, (ys, ts, args)


def _solve_bwd(func: Dynamics, settings: Settings, res: tuple, cts: Array) -> tuple:
    """Solve for a(t) = dL/dy(t) backwards: a' = -a df/dy, with the cts added at each time.

    Chen et al., Neural ordinary differential equations (2018), section 2. Time runs as -t, so that
    it increases; the derivatives by args are integrated along.
    """
    ys, ts, args = res
    moving = [dtypes.issubdtype(aval_of(a).dtype, np.inexact) for a in args]
    varied = [a for a, m in zip(args, moving) if m]

    def filled(values: Any) -> list[Array]:
        rest = iter(values)
        return [next(rest) if m else a for a, m in zip(args, moving)]

    def backwards(state: tuple, minus_t: Array, *varied: Array) -> tuple:
        y, a, _, _ = state
        f = lambda y, t, *varied: func(y, t, *filled(varied))
        slope, pull = vjp(f, y, -minus_t, *varied)
        by_y, by_t, *by_args = pull(a)
        return -slope, by_y, by_t, by_args

    def interval(carry: tuple, i: Array) -> tuple[tuple, Array]:
        a, by_t0, by_args = carry
        t_here = jnp.sum(func(ys[i], ts[i], *args) * cts[i]).real.astype(ts.dtype)
        state = ys[i], a, by_t0 - t_here, by_args
        times = jnp.stack([-ts[i], -ts[i - 1]])
        path = odeint(backwards, state, times, *varied, **settings._asdict())
        _, a, by_t0, by_args = tree_unflatten(
            tree_structure(path), [x[1] for x in tree_flatten(path)[0]]
        )
        return (a + cts[i - 1], by_t0, by_args), t_here

    start = cts[-1], jnp.zeros((), ts.dtype), [jnp.zeros_like(v) for v in varied]
    (a, by_t0, by_args), by_ts = scan(interval, start, jnp.arange(len(ts) - 1, 0, -1))
    rest = iter(by_args)
    return (
        a,
        jnp.concatenate([by_t0[None], by_ts[::-1]]),
        *[next(rest) if m else None for m in moving],
    )


_solve.defvjp(_solve_fwd, _solve_bwd)
