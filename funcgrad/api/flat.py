"""Between what users write and what interpreters run: functions of pytrees flattened and staged."""

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from funcgrad.base.array import ConcreteArray, as_value
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.keypaths import keystr
from funcgrad.base.methods import Array
from funcgrad.base.source import function_name, function_place
from funcgrad.base.trace import current_trace
from funcgrad.base.tracer import Tracer
from funcgrad.base.tree import (
    PyTreeDef,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_unflatten,
)
from funcgrad.ir.jaxpr import ClosedJaxpr, DebugInfo
from funcgrad.transforms.forward import Forward
from funcgrad.transforms.staging import stage_closed


def flat_values(tree: Any) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a pytree as Arrays, and its structure."""
    leaves, structure = tree_flatten(tree)
    return [as_value(x) for x in leaves], structure


def checked_values(
    transformation: str, function: Callable, args: Sequence, kwargs: dict[str, Any] | None = None
) -> tuple[list[Any], PyTreeDef]:
    """The leaves of the arguments as Arrays, and the structure of args, or of (args, kwargs).

    Raises a TypeError that names the first leaf which is not an array or number.
    """
    leaves, in_tree = tree_flatten(args if kwargs is None else (args, kwargs))
    try:
        return [x if isinstance(x, Array) else as_value(x) for x in leaves], in_tree
    except TypeError:
        check_arguments(transformation, function, args, kwargs)
        raise


def is_scalar(x: Any) -> bool:
    """Whether x is a number or an array without axes."""
    try:
        return aval_of(x).shape == ()
    except TypeError:
        return False


def described(x: Any) -> str:
    """What x is, for an error message."""
    try:
        aval = aval_of(x)
    except TypeError:
        return f"{x!r:.60} of type {type(x).__name__}"
    return f"{aval.str_short()} of shape {aval.shape}"


def give_up(tree: Any) -> None:
    """Delete the Arrays of a donated argument; any later use of them raises."""
    for leaf in tree_leaves(tree):
        if type(leaf) is ConcreteArray:
            leaf.delete()


def may_be_overwritten(values: Sequence[Any], given_up: Sequence[Any]) -> frozenset[int]:
    """The numbers of donated arguments whose memory nothing else can see."""
    donated = {id(leaf) for leaf in tree_leaves(given_up)}
    together = Counter(id(v) for v in values)
    return frozenset(
        i
        for i, v in enumerate(values)
        if id(v) in donated and together[id(v)] == 1 and type(v) is ConcreteArray and v.is_alone()
    )


def argument_names(function: Callable, args: Sequence, kwargs: dict[str, Any]) -> tuple[str, ...]:
    """A readable name for every leaf of the arguments, such as `params['w'][0]`."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    named: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            named += [f"{parameter.name}[{i}]" for i in range(len(args) - len(named))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            named.append(parameter.name)
    named += [f"args[{i}]" for i in range(len(named), len(args))]
    result = []
    for name, tree in [*zip(named, args, strict=False), *sorted(kwargs.items())]:
        result += [name + keystr(path) for path, _ in tree_flatten_with_path(tree)[0]]
    return tuple(result)


def check_arguments(
    transformation: str, function: Callable, args: Sequence, kwargs: dict[str, Any] | None = None
) -> None:
    """Raise a TypeError that names the first argument leaf which is not an array or number."""
    leaves, _ = tree_flatten((tuple(args), kwargs or {}))
    for i, leaf in enumerate(leaves):
        try:
            aval_of(leaf)
        except TypeError:
            name = argument_names(function, args, kwargs or {})[i]
            raise TypeError(
                f"{transformation} of {function_name(function)}: argument '{name}' of value "
                f"{leaf!r:.60} and type {type(leaf)} is not a valid array type. Pass arrays or "
                "numbers; close over other values, or mark them as static where that exists."
            ) from None


@dataclass
class FlatFunction:
    """A function of pytrees as one from flat values to flat values; remembers its output tree.

    `in_tree` is that of (args, kwargs), or of args alone if it is `positional`. With `has_aux` it
    runs under forward mode, and `aux` keeps the primals of what stands beside the output.
    """

    function: Callable
    in_tree: PyTreeDef
    has_aux: bool = False
    positional: bool = False
    out_tree: PyTreeDef | None = field(default=None, init=False)
    _aux: Any = field(default=None, init=False)

    def __call__(self, *leaves: Any) -> list[Any]:
        given = tree_unflatten(self.in_tree, leaves)
        out = self.function(*given) if self.positional else self.function(*given[0], **given[1])
        if self.has_aux:
            out, aux = split_aux(self.function, out)
            beside, tree = tree_flatten(aux)
            self._aux = list(map(primal_of, beside)), tree
        outs, self.out_tree = tree_flatten(out)
        return [o if isinstance(o, Array) else self._output(o) for o in outs]

    @property
    def aux(self) -> Any:
        """What stood beside the output, put together by who asks, outside of the trace."""
        leaves, tree = self._aux
        return tree_unflatten(tree, leaves)

    def _output(self, leaf: Any) -> Any:
        try:
            return as_value(leaf)
        except TypeError:
            raise TypeError(
                f"{function_name(self.function)} returned a leaf of type {type(leaf)}, "
                f"{leaf!r:.60}, which is not a valid array type. Return arrays or numbers."
            ) from None


def split_aux(function: Callable, out: Any) -> tuple[Any, Any]:
    """The pair that a function with has_aux=True must return."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(
            f"with has_aux=True, {function_name(function)} must return a pair (output, aux), got "
            f"{type(out).__name__}" + (f" of length {len(out)}" if isinstance(out, tuple) else "")
        )
    return out


def primal_of(leaf: Any) -> Any:
    """A leaf without the tangent that the current trace gave it."""
    trace = current_trace()
    assert isinstance(trace, Forward)
    return trace.unpack(leaf)[0]


class Staged(NamedTuple):
    """A function written down: its program, the tracers it closes over, and its output tree."""

    program: ClosedJaxpr
    operands: list[Tracer]
    out_tree: PyTreeDef


def stage_function(
    function: Callable,
    in_tree: PyTreeDef,
    avals: Sequence[ShapedArray],
    transformation: str,
    arg_names: tuple[str, ...] = (),
) -> Staged:
    """Write down `function` on the arguments of `in_tree` (a pair of args and kwargs)."""
    flat = FlatFunction(function, in_tree)
    info = DebugInfo(f"{function_place(function)} for {transformation}", arg_names)
    program, operands = stage_closed(flat, avals, info)
    assert flat.out_tree is not None
    return Staged(program, operands, flat.out_tree)


def stage_call(
    function: Callable, args: Sequence[Any], kwargs: dict[str, Any], transformation: str
) -> Staged:
    """Write down `function(*args, **kwargs)`, its argument leaves being array-like."""
    check_arguments(transformation, function, args, kwargs)
    leaves, in_tree = tree_flatten((tuple(args), kwargs))
    names = argument_names(function, args, kwargs)
    return stage_function(function, in_tree, [aval_of(x) for x in leaves], transformation, names)
