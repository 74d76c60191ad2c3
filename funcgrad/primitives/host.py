"""Callbacks: let a program call Python while it runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray, shaped
from funcgrad.base.axes import Effect
from funcgrad.base.basis import broadcast_scalar, moveaxis
from funcgrad.base.dtypes import buffer_dtype
from funcgrad.base.lists import Mask, present
from funcgrad.base.trace import NO_EFFECTS, Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.compiler import lowering
from funcgrad.transforms import batching, forward, masking
from funcgrad.transforms.batching import BatchAxis, fronted, to_front

pure_callback_p = Primitive("pure_callback", multiple_results=True)
io_callback_p = Primitive("io_callback", multiple_results=True)
debug_callback_p = Primitive("debug_callback", multiple_results=True)


@dataclass(frozen=True)
class CallbackEffect(Effect):
    """An equation with this effect does something outside the program."""

    kind: str
    ordered: bool

    def __str__(self) -> str:
        return f"{'ordered ' if self.ordered else ''}{self.kind}"


@dataclass(frozen=True)
class DebugEffect(CallbackEffect):
    """The effect of a `debug.callback` or `debug.print` that keeps no order."""

    kind: str = "Debug"
    ordered: bool = False


@dataclass(frozen=True)
class OrderedDebugEffect(CallbackEffect):
    """The effect of a `debug.callback` or `debug.print` with ordered=True."""

    kind: str = "Debug"
    ordered: bool = True


def call_host(
    callback: Callable, buffers: Sequence[Any], avals: Sequence[ShapedArray]
) -> list[np.ndarray]:
    """Call Python on arrays, and check what it returns against what it promised."""
    args = [ConcreteArray(b, shaped(b.shape, b.dtype)) for b in buffers]
    outs = callback(*args)
    if len(outs) != len(avals):
        raise ValueError(f"a callback promised {len(avals)} results and returned {len(outs)}")
    results = []
    for out, aval in zip(outs, avals, strict=True):
        value = np.asarray(out)
        if value.shape != aval.shape:
            raise RuntimeError(
                f"a callback returned an array of shape {value.shape} where its "
                f"result_shape_dtypes says {aval.str_short()}"
            )
        results.append(value.astype(buffer_dtype(aval.dtype)))
    return results


# pure_callback


def pure_abstract(
    *avals: ShapedArray, result_avals: tuple[ShapedArray, ...], **_: Any
) -> tuple[tuple, Effects]:
    return result_avals, NO_EFFECTS


def callback_forward(primitive: Primitive, name: str) -> Callable:
    """Forward rule: callbacks have no derivative, so only tangents that are zero may reach them."""

    def rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        if any(present(tangents)):
            raise ValueError(
                f"{name} do not support differentiation (no JVP): the derivative of Python code "
                "is not known. Wrap the call in custom_jvp or custom_vjp, or use stop_gradient on "
                "its arguments."
            )
        outs = primitive.bind(*primals, **params)
        return outs, [None] * len(outs)

    return rule


def callback_batch(primitive: Primitive) -> Callable:
    """Batching by `vmap_method`: one call a member, or one call for all of them."""

    def rule(
        axis: BatchAxis,
        values: Sequence,
        axes: Sequence,
        *,
        callback: Callable,
        result_avals: tuple[ShapedArray, ...],
        vmap_method: str | None,
        **params: Any,
    ) -> tuple:
        if vmap_method is None:
            raise NotImplementedError(
                f"{primitive} cannot be vmapped unless it is given vmap_method: 'sequential' (one "
                "call a member), 'expand_dims' or 'broadcast_all' (one call with a leading axis)."
            )
        results = tuple(a.update(shape=(axis.size, *a.shape)) for a in result_avals)
        if vmap_method in ("sequential", "sequential_unrolled"):
            if axis.size == 0:
                return [broadcast_scalar(0, a) for a in results], [0] * len(results)
            args = fronted(values, axes)
            target = _OneByOne(callback, present(axes), axis.size)
        else:
            args = [_leading(axis, v, a, vmap_method) for v, a in zip(values, axes, strict=True)]
            target = callback
        outs = primitive.bind(
            *args, callback=target, result_avals=results, vmap_method=vmap_method, **params
        )
        return outs, [0] * len(outs)

    return rule


def _leading(axis: BatchAxis, value: Any, at: int | None, method: str) -> Any:
    if method == "legacy_vectorized":
        return value if at is None else moveaxis(value, at, 0)
    if at is None and method == "expand_dims":
        return to_front(BatchAxis(1), value, None)
    return to_front(axis, value, at)


@dataclass(frozen=True)
class _OneByOne:
    """A callback for a batch: calls the original for each member and stacks the results."""

    callback: Callable
    batched: Mask
    size: int

    def __call__(self, *args: Any) -> list[Any]:
        results = [self.callback(*self._member(args, i)) for i in range(self.size)]
        return [np.stack([np.asarray(x) for x in column]) for column in zip(*results, strict=True)]

    def _member(self, args: Sequence[Any], index: int) -> list[Any]:
        return [
            ConcreteArray(a.buffer[index], shaped(a.shape[1:], a.dtype)) if b else a
            for a, b in zip(args, self.batched, strict=True)
        ]


@dataclass(frozen=True)
class _IfOn:
    """A callback with a switch in front of its arguments; where it is off, the results are 0."""

    callback: Callable
    results: tuple[ShapedArray, ...]

    def __call__(self, on: Any, *args: Any) -> Sequence[Any]:
        if on:
            return self.callback(*args)
        return [np.zeros(a.shape, buffer_dtype(a.dtype)) for a in self.results]


def callback_masked(primitive: Primitive) -> None:
    """Register that a switch decides whether the callback is called."""

    def rule(on: Any, args: Sequence, params: dict[str, Any]) -> tuple:
        switched = _IfOn(params["callback"], params.get("result_avals", ()))
        return primitive.bind(on, *args, **{**params, "callback": switched})

    masking.rules[primitive] = rule
    masking.always_masked.add(primitive)


def pure_evaluate(
    xp: Any,
    *buffers: Any,
    callback: Callable,
    result_avals: tuple[ShapedArray, ...],
    **_: Any,
) -> list[np.ndarray]:
    return call_host(callback, buffers, result_avals)


evaluate_rules[pure_callback_p] = pure_evaluate
abstract_rules[pure_callback_p] = pure_abstract
forward.rules[pure_callback_p] = callback_forward(pure_callback_p, "Pure callbacks")
batching.rules[pure_callback_p] = callback_batch(pure_callback_p)


# io_callback


def io_abstract(
    *avals: ShapedArray, result_avals: tuple[ShapedArray, ...], ordered: bool, **_: Any
) -> tuple[tuple, Effects]:
    return result_avals, frozenset({CallbackEffect("IO", ordered)})


def io_batch(
    axis: BatchAxis, values: Sequence, axes: Sequence, *, ordered: bool, **params: Any
) -> tuple:
    if ordered:
        raise ValueError(
            "Cannot vmap ordered IO callbacks (`io_callback(..., ordered=True)`): the members of a "
            "batch have no order. Use lax.map, or ordered=False."
        )
    rule = callback_batch(io_callback_p)
    return rule(axis, values, axes, ordered=ordered, **{**params, "vmap_method": "sequential"})


evaluate_rules[io_callback_p] = pure_evaluate
abstract_rules[io_callback_p] = io_abstract
forward.rules[io_callback_p] = callback_forward(io_callback_p, "IO callbacks")
batching.rules[io_callback_p] = io_batch
callback_masked(io_callback_p)


# debug_callback: no results, and it may see primals only


def debug_abstract(*avals: ShapedArray, ordered: bool, **_: Any) -> tuple[tuple, Effects]:
    return (), frozenset({OrderedDebugEffect() if ordered else DebugEffect()})


def debug_evaluate(xp: Any, *buffers: Any, callback: Callable, **_: Any) -> tuple:
    call_host(callback, buffers, ())
    return ()


def debug_forward(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
    debug_callback_p.bind(*primals, **params)
    return (), ()


def debug_batch(
    axis: BatchAxis, values: Sequence, axes: Sequence, *, callback: Callable, **params: Any
) -> tuple:
    """One call for each member, in order."""
    target = _OneByOne(callback, present(axes), axis.size)
    debug_callback_p.bind(*fronted(values, axes), callback=target, **params)
    return (), ()


evaluate_rules[debug_callback_p] = debug_evaluate
abstract_rules[debug_callback_p] = debug_abstract
forward.rules[debug_callback_p] = debug_forward
batching.rules[debug_callback_p] = debug_batch
callback_masked(debug_callback_p)

# A callback may keep the arrays that it is called with.
lowering.keepers.update((pure_callback_p, io_callback_p, debug_callback_p))
