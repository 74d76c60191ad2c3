"""fwd_and_bwd: the two halves of reverse mode as two functions, to be called apart."""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.api.grad import check_callable, vjp
from funcgrad.api.jit import jit
from funcgrad.base.source import function_name


def fwd_and_bwd(
    fun: Callable, argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Callable, Callable]:
    """The forward and the backward half of a function's reverse-mode derivative.

    Args:
        fun: a function of arrays in pytrees.
        argnums: the positional argument, or the arguments, to differentiate by.
        has_aux: whether `fun` returns a pair `(output, aux)`.
        jitted: whether both halves are compiled.

    Returns:
        `(fwd, bwd)`: `fwd(*args)` is `(output, pullback)`, or `(output, pullback, aux)`; and
        `bwd(pullback, ct)` is the cotangent of the argument, a tuple of them if `argnums` is one.
        The pullback is a pytree, so it may pass through transformations.

    Raises:
        ValueError: by fwd, if a position is out of range.

    Example:
        >>> fwd, bwd = fwd_and_bwd(lambda x, y: np.sin(x) * y, argnums=0)
        >>> out, pullback = fwd(0.0, 3.0)
        >>> bwd(pullback, 1.0)
        Array(3., dtype=float32, weak_type=True)

    Source: `jax.fwd_and_bwd`.
    """
    check_callable("fwd_and_bwd", fun)
    single = isinstance(argnums, int)
    asked = [argnums] if isinstance(argnums, int) else list(argnums)

    def fwd(*args: Any, **kwargs: Any) -> tuple:
        count = len(args)
        outside = [i for i in asked if not -count <= i < count]
        if outside:
            raise ValueError(
                f"fwd_and_bwd: argnums {outside} are out of range for a call of "
                f"{function_name(fun)} with {count} positional arguments"
            )
        positions = [i % count for i in asked]

        def of_chosen(*chosen: Any) -> Any:
            filled = list(args)
            for i, x in zip(positions, chosen, strict=True):
                filled[i] = x
            return fun(*filled, **kwargs)

        return vjp(of_chosen, *[args[i] for i in positions], has_aux=has_aux)

    def bwd(pullback: Callable, ct: Any) -> Any:
        grads = pullback(ct)
        return grads[0] if single else grads

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
