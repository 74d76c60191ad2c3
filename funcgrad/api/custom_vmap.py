"""custom_vmap and sequential_vmap: functions that say how a batch of them is computed."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Generic, TypeVar

from funcgrad.api.flat import argument_names, checked_values, stage_function
from funcgrad.api.looping import map as map_in_turn
from funcgrad.base.array import as_value
from funcgrad.base.aval import ShapedArray, aval_of, weak_like
from funcgrad.base.lists import Mask, merge
from funcgrad.base.source import function_name
from funcgrad.base.tree import PyTreeDef, tree_flatten, tree_map, tree_unflatten
from funcgrad.primitives.custom_batching import custom_vmap_call_p

R = TypeVar("R")


class custom_vmap(Generic[R]):
    """A function with a batching rule of its own.

    Use as a decorator, then give the rule with `def_vmap`. `vmap` calls that rule in place of
    batching the function's operations; everything else runs the function. Derivatives go through
    both: the derivative of the function outside of `vmap`, that of the rule inside.

    Example:
        >>> from funcgrad.custom_batching import custom_vmap
        >>> @custom_vmap
        ... def double(x):
        ...     return 2 * x
        >>> @double.def_vmap
        ... def double_all(axis_size, in_batched, xs):
        ...     return xs + xs, True
        >>> vmap(double)(np.arange(3.0))
        Array([0., 2., 4.], dtype=float32)

    Source: `jax.custom_batching.custom_vmap`. Different here: reverse mode works outside of a
    `vmap` too, and a rule that returns other shapes or dtypes than the function is an error.
    """

    def __init__(self, fun: Callable[..., R]):
        update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Callable | None = None

    def def_vmap(self, vmap_rule: Callable) -> Callable:
        """Set the rule: `vmap_rule(axis_size, in_batched, *args) -> (output, out_batched)`.

        Args:
            vmap_rule: gets the batch's size, a list that says of each leaf of each argument if it
                is batched, and the arguments, batched ones with the batch along axis 0. Returns
                the output of the batch, and a pytree like it which says what of it is batched.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        name = function_name(self.fun)
        if self.vmap_rule is None:
            raise AttributeError(
                f"{name} is a custom_vmap function without a rule; give it one by def_vmap."
            )
        args = self._positional(args, kwargs)
        values, in_tree = checked_values("custom_vmap", self.fun, args, {})
        avals, names = [aval_of(v) for v in values], argument_names(self.fun, args, {})
        staged = stage_function(self.fun, in_tree, avals, "custom_vmap", names)
        _, arguments_tree = tree_flatten(args)
        out_avals = tuple(staged.program.out_avals)
        rule = _UserRule(
            self.vmap_rule, name, len(staged.operands), arguments_tree, staged.out_tree, out_avals
        )
        outs = custom_vmap_call_p.bind(
            *staged.operands, *values, fun=staged.program, rule=rule, name=name
        )
        return tree_unflatten(staged.out_tree, outs)

    def _positional(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """All arguments by position, as the rule gets them."""
        if not kwargs:
            return args
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"{function_name(self.fun)} has a custom batching rule, which gets its arguments "
                f"by position; {sorted(bound.kwargs)} can only be given by keyword"
            )
        return bound.args


@dataclass(frozen=True)
class _UserRule:
    """The user's rule on flat values; the first `num_consts` are what the function closes over."""

    rule: Callable
    name: str
    num_consts: int
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    out_avals: tuple[ShapedArray, ...]

    def __call__(self, size: int, batched: Mask, *values: Any) -> tuple[list[Any], Mask]:
        if any(batched[: self.num_consts]):
            raise NotImplementedError(
                f"the custom_vmap function {self.name} closes over a value that is batched, or "
                "that a derivative is taken by, and its rule cannot be told; pass the value as an "
                "argument"
            )
        in_batched = list(tree_unflatten(self.in_tree, batched[self.num_consts :]))
        args = tree_unflatten(self.in_tree, values[self.num_consts :])
        returned = self.rule(size, in_batched, *args)
        if not isinstance(returned, (tuple, list)) or len(returned) != 2:
            raise ValueError(
                f"the custom_vmap rule of {self.name} has to return two things, the output and "
                f"which parts of it are batched; it returned {returned!r:.100}"
            )
        return self._checked(size, *returned)

    def _checked(self, size: int, out: Any, out_batched: Any) -> tuple[list[Any], Mask]:
        """The flat output and its mask, if they are what the function promised."""
        leaves, tree = tree_flatten(out)
        mask, mask_tree = tree_flatten(out_batched)
        if tree != self.out_tree:
            raise ValueError(
                f"the custom_vmap rule of {self.name} returned an output with the pytree structure "
                f"{tree}; the function itself returns {self.out_tree}"
            )
        if mask_tree != tree:
            raise ValueError(
                f"the custom_vmap rule of {self.name} returned an output with the pytree structure "
                f"{tree}, and says what is batched by one of the structure {mask_tree}; they must "
                "be the same"
            )
        outs, mask = [as_value(o) for o in leaves], tuple(map(bool, mask))
        for i, (value, is_batch, aval) in enumerate(zip(outs, mask, self.out_avals, strict=True)):
            wanted = aval.update(shape=(size, *aval.shape)) if is_batch else aval
            if not weak_like(aval_of(value), wanted):
                kind = "batched" if is_batch else "the same for all members"
                raise ValueError(
                    f"the custom_vmap rule of {self.name} returned {aval_of(value).str_short()} "
                    f"for output {i}, which it says is {kind}; for {size} members of "
                    f"{aval.str_short()} it must be {wanted.str_short()}"
                )
        return outs, mask


def sequential_vmap(f: Callable[..., R]) -> custom_vmap[R]:
    """A function whose `vmap` is a loop: members are computed in turn, as by `lax.map`.

    Args:
        f: the function of one member; pytrees of arrays in and out.

    Returns:
        The function with a batching rule that loops; its outputs are all batched.

    Example:
        >>> from funcgrad.custom_batching import sequential_vmap
        >>> vmap(sequential_vmap(lambda x, y: x * y), (0, None))(np.arange(3.0), 2.0)
        Array([0., 2., 4.], dtype=float32)

    Source: `jax.custom_batching.sequential_vmap`.
    """
    function = custom_vmap(f)

    def in_turn(axis_size: int, in_batched: Sequence[Any], *args: Any) -> tuple[Any, Any]:
        batched, tree = tree_flatten(tuple(in_batched))
        leaves, _ = tree_flatten(args)
        fixed = [x for x, b in zip(leaves, batched, strict=True) if not b]

        def member(mapped: list[Any]) -> R:
            return function(*tree_unflatten(tree, merge(batched, fixed, mapped)))

        out = map_in_turn(member, [x for x, b in zip(leaves, batched, strict=True) if b])
        return out, tree_map(lambda _: True, out)

    function.def_vmap(in_turn)
    return function
