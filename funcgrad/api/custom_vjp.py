"""custom_vjp: a reverse-mode derivative rule of the user's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np

from funcgrad.api.custom import Call, CustomFunction
from funcgrad.base.array import as_value
from funcgrad.base.aval import ShapedArray, aval_of, tangent_aval, weak_like
from funcgrad.base.basis import convert
from funcgrad.base.dtypes import float0
from funcgrad.base.lists import cut
from funcgrad.base.source import function_name
from funcgrad.base.tracer import Tracer
from funcgrad.base.tree import (
    PyTreeDef,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from funcgrad.primitives.custom import SymbolicZero, custom_vjp_call_p, is_python_number

R = TypeVar("R")


@dataclass(frozen=True)
class CustomVJPPrimal:
    """What a fwd rule with symbolic_zeros gets for each argument leaf."""

    value: Any
    perturbed: bool


@dataclass
class _Residuals:
    """What the fwd rule of one call hands on to its bwd rule, besides the residuals' values."""

    tree: PyTreeDef | None = None
    static: list[Any] = field(default_factory=list)


class custom_vjp(CustomFunction[R]):
    """A function with a reverse-mode derivative rule of its own.

    Give the rule as two functions with `defvjp(fwd, bwd)`: `fwd(*args) -> (output, residuals)` and
    `bwd(*nondiff, residuals, ct) -> tuple of cotangents`, one for each differentiable argument,
    None meaning zero. Forward mode works too: it uses the transpose of `bwd`.

    Example:
        >>> @custom_vjp
        ... def clip_gradient(x):
        ...     return x
        >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1, 1),))
    """

    fwd: Callable | None = None
    bwd: Callable | None = None
    symbolic_zeros: bool = False

    def defvjp(
        self,
        fwd: Callable,
        bwd: Callable,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rule; see the class."""
        if optimize_remat:
            raise NotImplementedError(
                "optimize_remat is not offered yet: leave it out, the result is the same"
            )
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"{function_name(self.fun)} is a custom_vjp function without a rule; give it one "
                "by defvjp."
            )
        call, operands = self._take_apart(args, kwargs)
        residuals = _Residuals()
        outs = custom_vjp_call_p.bind(
            *operands,
            fun=self._flat(call),
            fwd=partial(self._flat_fwd, call, residuals),
            bwd=partial(self._flat_bwd, call, residuals),
            num_consts=call.num_consts,
            symbolic_zeros=self.symbolic_zeros,
            name=function_name(self.fun),
        )
        return call.results(outs)

    def _flat_fwd(
        self, call: Call, residuals: _Residuals, *flat: Any, perturbed: Sequence[bool]
    ) -> tuple[list[Any], list[Any]]:
        """The fwd rule on flat values: (*consts, *leaves) -> (outputs, residuals)."""
        consts, leaves = cut(flat, call.num_consts)
        if self.symbolic_zeros:
            leaves = [CustomVJPPrimal(x, p) for x, p in zip(leaves, perturbed, strict=True)]
        static = call.rebuild(consts)
        residuals.static = emptied(static)
        arguments = self._merged(static, tree_unflatten(call.tree, leaves))
        assert self.fwd is not None
        pair = self.fwd(*arguments)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                f"the custom_vjp fwd rule of {function_name(self.fun)} must return a pair (tuple "
                f"of length two) of the output and the residuals, got {pair!r:.100}"
            )
        outs, out_tree = tree_flatten(pair[0])
        if call.out_tree is not None and out_tree != call.out_tree:
            raise TypeError(
                f"the custom_vjp fwd rule of {function_name(self.fun)} must return a first element "
                f"with the structure of the function's output, {call.out_tree}, got {out_tree}"
            )
        call.out_tree = out_tree
        res, residuals.tree = tree_flatten((static_arrays(static), pair[1]))
        # Python numbers stay what they are, so that a bwd rule can branch on them.
        return [as_value(o) for o in outs], [r if is_python_number(r) else as_value(r) for r in res]

    def _flat_bwd(self, call: Call, residuals: _Residuals, *flat: Any) -> list[Any]:
        """The bwd rule on flat values: (*residuals, *cts) -> cts of the leaves."""
        assert residuals.tree is not None
        res, cts = cut(flat, residuals.tree.num_leaves)
        statics, res = tree_unflatten(residuals.tree, res)
        return self._run_bwd(put_back(residuals.static, statics), res, call.results(cts), call)

    def _run_bwd(self, static: list, res: Any, ct: Any, call: Call) -> list[Any]:
        """Cotangents for each argument leaf, None where zero, checked against the arguments."""
        name = f"custom_vjp bwd rule of {function_name(self.fun)}"
        assert self.bwd is not None
        found = self.bwd(*static, res, ct)
        parts = call.tree.children()
        if isinstance(found, list):
            found = tuple(found)
        if not isinstance(found, tuple):
            raise TypeError(
                f"the {name} must return a tuple with one cotangent for each differentiable "
                f"argument ({len(parts)}), got {type(found).__name__}: {found!r:.80}. For one "
                "argument return (ct,)."
            )
        if len(found) != len(parts):
            raise TypeError(
                f"the {name} must return a tuple of {len(parts)} cotangents, one for each "
                f"differentiable argument, got {len(found)}"
            )
        leaves: list[Any] = []
        for i, (part, value) in enumerate(zip(parts, found, strict=True)):
            leaves += ct_leaves(name, i, part, value)
        expected = [tangent_aval(a) for a in call.avals]
        return [check_ct(name, ct, a) for ct, a in zip(leaves, expected, strict=True)]


def static_arrays(static: list[Any]) -> list[Any]:
    """The traced leaves among non-differentiable arguments; they travel with the residuals."""
    return [x for x in tree_leaves(static) if isinstance(x, Tracer)]


class _Place:
    """Where a traced leaf was; programs that keep it keep no tracer alive."""


def emptied(static: list[Any]) -> list[Any]:
    return tree_map(lambda x: _Place() if isinstance(x, Tracer) else x, static)


def put_back(static: list[Any], values: Sequence[Any]) -> list[Any]:
    given = iter(values)
    return tree_map(lambda x: next(given) if isinstance(x, _Place) else x, static)


def ct_leaves(name: str, index: int, part: PyTreeDef, value: Any) -> list[Any]:
    """The leaves of one argument's cotangent; None in it stands for a whole zero subtree."""
    if value is None:
        return [None] * part.num_leaves
    leaves, tree = tree_flatten(value, is_leaf=lambda x: x is None)
    if tree == part:
        return leaves
    try:
        subtrees = part.flatten_up_to(value)
    except (ValueError, TypeError):
        subtrees = None
    if subtrees is not None and all(
        s is None or not tree_structure(s).num_nodes > 1 for s in subtrees
    ):
        return subtrees
    raise TypeError(
        f"the {name} must return cotangents with the structure of the arguments: for argument "
        f"{index} that is {part}, got {tree_structure(value)}"
    )


def check_ct(name: str, ct: Any, expected: ShapedArray) -> Any:
    if ct is None or isinstance(ct, SymbolicZero) or expected.dtype == float0:
        return None
    if getattr(ct, "dtype", None) == float0:
        return None
    ct = as_value(ct)
    aval = aval_of(ct)
    if not weak_like(aval, expected):
        if aval.shape == expected.shape and np.can_cast(aval.dtype, expected.dtype, "same_kind"):
            return convert(ct, expected.dtype)
        raise ValueError(
            f"the {name} must return cotangents with the shapes and dtypes of the arguments: "
            f"expected {expected.str_short()}, got {aval.str_short()}"
        )
    return ct
