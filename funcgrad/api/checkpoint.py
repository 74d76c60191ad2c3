"""checkpoint (also called remat), and the policies that say what it may keep."""

from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from funcgrad.api import refs
from funcgrad.api.decisions import Offloadable
from funcgrad.api.flat import flat_values, stage_call
from funcgrad.api.statics import take_statics
from funcgrad.base.array import as_value
from funcgrad.base.shapes import int_tuple
from funcgrad.base.source import function_name
from funcgrad.base.trace import Primitive
from funcgrad.base.tree import tree_map, tree_unflatten
from funcgrad.primitives.contraction import dot_general_p
from funcgrad.primitives.remat import Policy, name_p, remat_p

P = ParamSpec("P")
R = TypeVar("R")


def checkpoint(
    fun: Callable[P, R] | None = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | tuple[int, ...] = (),
    concrete: bool = False,
) -> Callable[P, R]:
    """Make the derivative of a function compute its intermediate values again, not store them.

    Args:
        fun: a function of pytrees of arrays.
        prevent_cse: accepted for compatibility; recomputation is always kept apart.
        policy: `policy(primitive, *avals, **params) -> bool`, which results may be stored after
            all; see `checkpoint_policies`. None stores nothing but the arguments.
        static_argnums: arguments that are settings.

    Example:
        >>> g = grad(checkpoint(lambda x: np.sin(np.sin(x))))
    """
    if concrete:
        raise NotImplementedError("checkpoint: use static_argnums instead of concrete=True")
    if fun is None:
        return partial(  # type: ignore[return-value]
            checkpoint, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums
        )
    static = int_tuple(static_argnums, "static_argnums")

    @wraps(fun)
    def checkpointed(*args: P.args, **kwargs: P.kwargs) -> R:
        rest, rest_named, statics = take_statics(static, (), args, kwargs)
        function = statics.put_back(fun)
        if refs.alive():
            named = partial(function, **rest_named)
            found = refs.touched("checkpoint", [named], *rest)
            if found:
                again = checkpoint(refs.pure(named, found), prevent_cse=prevent_cse, policy=policy)
                out, values = again(refs.read_all(found), *rest)
                refs.write_all(found, values)
                return out
        staged = stage_call(function, rest, rest_named, "checkpoint")
        leaves, _ = flat_values((rest, rest_named))
        outs = remat_p.bind(
            *staged.operands,
            *leaves,
            jaxpr=staged.program,
            policy=policy,
            prevent_cse=prevent_cse,
            differentiated=False,
            name=function_name(fun),
        )
        return tree_unflatten(staged.out_tree, outs)

    return checkpointed


def checkpoint_name(x: Any, name: str) -> Any:
    """The arrays of x unchanged, but known to checkpoint policies by this name."""
    return tree_map(lambda leaf: name_p.bind(as_value(leaf), name=name), x)


class checkpoint_policies:
    """Policies for `checkpoint`: which intermediate results may be stored."""

    @staticmethod
    def everything_saveable(*_: Any, **__: Any) -> bool:
        """Store all of them."""
        return True

    @staticmethod
    def nothing_saveable(*_: Any, **__: Any) -> bool:
        """Store none; the default."""
        return False

    @staticmethod
    def dots_saveable(primitive: Primitive, *_: Any, **__: Any) -> bool:
        """Store the results of matrix products."""
        return primitive is dot_general_p

    checkpoint_dots = dots_saveable

    @staticmethod
    def dots_with_no_batch_dims_saveable(primitive: Primitive, *_: Any, **params: Any) -> bool:
        """Store the results of matrix products without batch dimensions."""
        return primitive is dot_general_p and not params["dimension_numbers"][1][0]

    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable

    @staticmethod
    def save_only_these_names(*names: str) -> Policy:
        """Store the values given one of these names by `checkpoint_name`."""
        return _Named(frozenset(names), inside=True)

    @staticmethod
    def save_any_names_but_these(*names: str) -> Policy:
        """Store the values that have a name, but not one of these."""
        return _Named(frozenset(names), inside=False)

    @staticmethod
    def save_anything_except_these_names(*names: str) -> Policy:
        """Store every value that does not have one of these names."""

        def policy(primitive: Primitive, *_: Any, **params: Any) -> bool:
            return not (primitive is name_p and params["name"] in names)

        return policy

    @staticmethod
    def save_and_offload_only_these_names(
        *,
        names_which_can_be_saved: Iterable[str],
        names_which_can_be_offloaded: Iterable[str],
        offload_src: Any,
        offload_dst: Any,
    ) -> Policy:
        """Store the values given one of these names; arrays are in host memory, offloaded or not.

        Raises:
            ValueError: if a name is in both lists.
        """
        saved, moved = set(names_which_can_be_saved), set(names_which_can_be_offloaded)
        if saved & moved:
            raise ValueError(
                "save_and_offload_only_these_names: a value is either saved or offloaded, and "
                f"{sorted(saved & moved)} are in both lists"
            )

        def policy(primitive: Primitive, *_: Any, **params: Any) -> Any:
            name = params["name"] if primitive is name_p else None
            return Offloadable(offload_src, offload_dst) if name in moved else name in saved

        return policy

    @staticmethod
    def offload_dot_with_no_batch_dims(offload_src: Any, offload_dst: Any) -> Policy:
        """Store the results of matrix products without batch dimensions, in host memory."""

        def policy(primitive: Primitive, *_: Any, **params: Any) -> Any:
            if primitive is dot_general_p and not params["dimension_numbers"][1][0]:
                return Offloadable(offload_src, offload_dst)
            return False

        return policy

    @staticmethod
    def save_from_both_policies(first: Policy, second: Policy) -> Policy:
        """Store what either policy would."""

        def policy(primitive: Primitive, *avals: Any, **params: Any) -> bool:
            return first(primitive, *avals, **params) or second(primitive, *avals, **params)

        return policy


class _Named:
    """Whether a value's name is inside (or outside) a set of names."""

    def __init__(self, names: Iterable[str], inside: bool):
        self.names = frozenset(names)
        self.inside = inside

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> bool:
        return primitive is name_p and (params["name"] in self.names) == self.inside

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Named) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.names, self.inside))
