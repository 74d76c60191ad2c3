"""custom_gradient, closure_convert and linear_call: rules written as one function, and closures."""

import inspect
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from funcgrad.api.custom_vjp import custom_vjp
from funcgrad.api.flat import stage_call
from funcgrad.base.array import as_value
from funcgrad.base.tree import (
    register_static,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)


def closure_convert(fun: Callable, *example_args: Any) -> tuple[Callable, list[Any]]:
    """Make the arrays that a function closes over into arguments.

    Args:
        fun: a function that closes over traced values.
        example_args: arguments like those it will be called with.

    Returns:
        `(converted, consts)`: `converted(*args, *consts)` equals `fun(*args)`, and can be
        differentiated with respect to the consts.
    """
    staged = stage_call(fun, example_args, {}, "closure_convert")
    in_tree = tree_structure(example_args)
    count = in_tree.num_leaves

    def converted(*args_and_consts: Any) -> Any:
        args = args_and_consts[: len(example_args)]
        consts = args_and_consts[len(example_args) :]
        leaves = tree_leaves(args)
        if len(leaves) != count:
            raise TypeError(
                f"the converted function takes arguments of the tree {in_tree}, got "
                f"{tree_structure(args)}"
            )
        return tree_unflatten(staged.out_tree, staged.program(*consts, *map(as_value, leaves)))

    return converted, list(staged.operands)


def custom_gradient(fun: Callable) -> Callable:
    """A function that returns its output together with its own pullback.

    Args:
        fun: returns `(output, vjp)`, where `vjp(ct)` gives a cotangent for each argument (one
            alone need not be wrapped in a tuple).

    Example:
        >>> @custom_gradient
        ... def f(x):
        ...     return x**2, lambda ct: 100.0 * ct
    """

    @custom_vjp
    def wrapped(*args: Any) -> Any:
        return fun(*args)[0]

    def fwd(*args: Any) -> tuple:
        out, pull = fun(*args)
        ct = tree_map(as_value, out)
        pull, consts = closure_convert(pull, ct)
        return out, (_Rule(pull, len(args)), consts)

    def bwd(res: Any, ct: Any) -> tuple:
        rule, consts = res
        found = rule.pull(ct, *consts)
        return found if isinstance(found, tuple) and len(found) == rule.count else (found,)

    wrapped.defvjp(fwd, bwd)
    update_wrapper(wrapped, fun)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(fun).bind(*args, **kwargs)
        bound.apply_defaults()
        return wrapped(*bound.args)

    return update_wrapper(call, fun)


@register_static
class _Rule:
    """A pullback for `count` arguments, kept among the residuals."""

    def __init__(self, pull: Callable, count: int):
        self.pull = pull
        self.count = count


def linear_call(
    fun: Callable, fun_transpose: Callable, residual_args: Any, linear_args: Any
) -> Any:
    """Call a function that is linear in `linear_args`, with a transpose of the user's own.

    Args:
        fun: `fun(residual_args, linear_args) -> output`.
        fun_transpose: `fun_transpose(residual_args, ct) -> cotangent of linear_args`.
    """

    @custom_vjp
    def call(res: Any, lin: Any) -> Any:
        return fun(res, lin)

    call.defvjp(
        lambda res, lin: (fun(res, lin), res),
        lambda res, ct: (None, fun_transpose(res, ct)),
    )
    return call(residual_args, linear_args)
