"""custom_jvp: a forward-mode derivative rule of the user's own."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from funcgrad.api.custom import Call, CustomFunction
from funcgrad.base.array import as_value
from funcgrad.base.aval import aval_of, dtype_name, tangent_aval
from funcgrad.base.dtypes import float0
from funcgrad.base.lists import cut
from funcgrad.base.source import function_name
from funcgrad.base.tree import tree_flatten, tree_map, tree_unflatten
from funcgrad.primitives.custom import SymbolicZero, custom_jvp_call_p
from funcgrad.transforms.forward import instantiate_zeros, zeros_like_aval

R = TypeVar("R")


class custom_jvp(CustomFunction[R]):
    """A function with a forward-mode derivative rule of its own.

    Use as a decorator, then give the rule with `defjvp`; reverse mode follows by transposition, so
    the rule must be linear in the tangents. Arguments in `nondiff_argnums` are settings: the rule
    gets them first and says nothing about their derivative.

    Example:
        >>> @custom_jvp
        ... def f(x):
        ...     return np.sin(x)
        >>> @f.defjvp
        ... def f_jvp(primals, tangents):
        ...     (x,), (t,) = primals, tangents
        ...     return f(x), np.cos(x) * t
    """

    jvp: Callable | None = None
    symbolic_zeros: bool = False

    def defjvp(self, jvp: Callable, symbolic_zeros: bool = False) -> Callable:
        """Set the rule: `jvp(*nondiff, primals, tangents) -> (output, output tangent)`."""
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable | None) -> None:
        """Set the rule argument by argument: `jvps[i](tangent, output, *primals) -> tangent`."""
        if self.nondiff_argnums:
            raise TypeError("Can't use defjvps with nondiff_argnums; use defjvp.")

        def jvp(primals: Sequence, tangents: Sequence) -> tuple:
            out = self(*primals)
            zeros = tree_map(lambda o: instantiate_zeros(o, None), out)
            parts = [
                rule(t, out, *primals)
                for rule, t in zip(jvps, tangents, strict=True)
                if rule is not None
            ]
            total = tree_map(lambda *ts: sum(ts[1:], ts[0]), zeros, *parts)
            return out, total

        self.defjvp(jvp)

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        if self.jvp is None:
            raise AttributeError(
                f"{function_name(self.fun)} is a custom_jvp function without a rule; give it one "
                "by defjvp."
            )
        call, operands = self._take_apart(args, kwargs)
        outs = custom_jvp_call_p.bind(
            *operands,
            fun=self._flat(call),
            jvp=self._flat_rule(call),
            num_consts=call.num_consts,
            symbolic_zeros=self.symbolic_zeros,
            name=function_name(self.fun),
        )
        return call.results(outs)

    def _flat_rule(self, call: Call) -> Callable[..., list[Any]]:
        """The rule on flat values: (*consts, *primals, *tangents) -> [*outs, *tangents]."""

        def jvp(*flat: Any) -> list[Any]:
            consts, primals, tangents = cut(flat, call.num_consts, len(call.avals))
            static = call.rebuild(consts)
            primals, tangents = (tree_unflatten(call.tree, x) for x in (primals, tangents))
            outs, out_tangents, call.out_tree = self._run_rule(static, primals, tangents)
            return [*outs, *out_tangents]

        return jvp

    def _run_rule(self, static: list, primals: tuple, tangents: tuple) -> tuple:
        name = f"custom_jvp rule of {function_name(self.fun)}"
        assert self.jvp is not None
        pair = self.jvp(*static, primals, tangents)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"the {name} has to return two things, the output and its tangent, as a tuple or "
                "list; "
                f"it returned {pair!r:.100}"
            )
        outs, out_tree = tree_flatten(pair[0])
        out_tangents, tangent_tree = tree_flatten(pair[1])
        if out_tree != tangent_tree:
            raise TypeError(
                f"the {name} returned an output and a tangent of different pytree structures: "
                f"{out_tree} "
                f"and {tangent_tree}"
            )
        outs = [as_value(o) for o in outs]
        checked = [self._check_tangent(name, o, t) for o, t in zip(outs, out_tangents, strict=True)]
        return outs, checked, out_tree

    def _check_tangent(self, name: str, out: Any, tangent: Any) -> Any:
        if isinstance(tangent, SymbolicZero):
            return tangent
        tangent = as_value(tangent) if getattr(tangent, "dtype", None) != float0 else tangent
        expected = tangent_aval(aval_of(out))
        got_shape, got_dtype = tangent.shape, tangent.dtype
        if (got_shape, got_dtype) != (expected.shape, expected.dtype):
            raise TypeError(
                f"the {name} returned a tangent that does not fit its output in shape or dtype: "
                "the "
                f"output is {aval_of(out).str_short()}, so the tangent must be "
                f"{expected.str_short()}, got {dtype_name(got_dtype)}{list(got_shape)}"
            )
        return zeros_like_aval(expected) if got_dtype == float0 else tangent
