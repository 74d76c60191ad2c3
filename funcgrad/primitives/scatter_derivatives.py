"""Derivatives of the scatters. scatter_add and gather are each other's transpose.

Where updates of a plain scatter meet, one wins; scattering a number for each finds out which.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import (
    add,
    broadcast_in_dim,
    broadcast_scalar,
    convert,
    eq,
    full_like,
    iota,
    mul,
    reshape,
    scalar_like,
    select_n,
)
from funcgrad.base.trace import Primitive
from funcgrad.primitives.arithmetic import div
from funcgrad.primitives.compare import bitwise_or, ne
from funcgrad.primitives.indexing import (
    COMBINE,
    combine_program,
    gather,
    scatter,
    scatter_add,
    scatter_mul_p,
    scatter_p,
)
from funcgrad.primitives.indexing_spec import GatherDimensionNumbers, batch_axes, window_sizes
from funcgrad.transforms import forward
from funcgrad.transforms.backward import is_linear
from funcgrad.transforms.batching import BatchAxis, batch_program
from funcgrad.transforms.forward import instantiate_zeros


def read_back(x: Any, indices: Any, updates: ShapedArray, params: dict[str, Any]) -> Any:
    """The gather that undoes a scatter: from where each update went, 0 where it was dropped."""
    numbers, mode = params["dimension_numbers"], params["mode"]
    return gather(
        x,
        indices,
        GatherDimensionNumbers(*numbers),
        window_sizes(numbers, aval_of(x).ndim, updates.shape),
        unique_indices=params["unique_indices"],
        indices_are_sorted=params["indices_are_sorted"],
        mode=mode,
        fill_value=0,
    )


def added(x: Any, indices: Any, updates: Any, params: dict[str, Any]) -> Any:
    """scatter_add with the params of another scatter."""
    return scatter_add(x, indices, updates, **_public(params))


def _public(params: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in params.items() if k not in ("update_jaxpr", "update_consts")}


def linear_scatter_forward(primitive: Primitive) -> Callable:
    def rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        x, indices, updates = primals
        out = primitive.bind(x, indices, updates, **params)
        if tangents[0] is None and tangents[2] is None:
            return (out,), (None,)
        t_x, t_updates = instantiate_zeros(x, tangents[0]), instantiate_zeros(updates, tangents[2])
        return (out,), (primitive.bind(t_x, indices, t_updates, **params),)

    return rule


def linear_scatter_backward(sign: Callable) -> Callable:
    def rule(cts: Sequence, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        (ct,) = cts
        ct_updates = None
        if is_linear(updates):
            ct_updates = sign(read_back(ct, indices, updates.aval, params))
        return [ct if is_linear(x) else None, None, ct_updates]

    return rule


def scatter_mul_forward(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
    x, indices, updates = primals
    out, total = scatter_mul_p.bind(x, indices, updates, **params), None
    if tangents[0] is not None:
        total = scatter_mul_p.bind(tangents[0], indices, updates, **params)
    if tangents[2] is not None:
        check_unique(params, "scatter_mul: the gradient with respect to the updates")
        factor = read_back(x, indices, aval_of(updates), params)
        change = added(full_like(x, 0), indices, mul(factor, tangents[2]), params)
        total = forward.add_tangents(total, change)
    return (out,), (total,)


def check_unique(params: dict[str, Any], what: str) -> None:
    if not params["unique_indices"]:
        raise NotImplementedError(
            f"{what} needs unique_indices=True: give it if no element is met twice, else use "
            "operations that can be differentiated"
        )


def scatter_mul_backward(
    cts: Sequence, x: Any, indices: Any, updates: Any, **params: Any
) -> list[Any]:
    (ct,) = cts
    ct_x = ct_updates = None
    if is_linear(x):
        ct_x = scatter_mul_p.bind(ct, indices, updates, **params)
    if is_linear(updates):
        check_unique(params, "scatter_mul: the transpose with respect to the updates")
        ct_updates = read_back(mul(ct, x), indices, updates.aval, params)
    return [ct_x, None, ct_updates]


def extremal_forward(primitive: Primitive) -> Callable:
    """The mean of the tangents of all that attain the extremum, the operand's own among them."""

    def rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        x, indices, updates = primals
        out = primitive.bind(x, indices, updates, **params)
        if tangents[0] is None and tangents[2] is None:
            return (out,), (None,)
        t_x, t_updates = instantiate_zeros(x, tangents[0]), instantiate_zeros(updates, tangents[2])
        dtype = aval_of(t_x).dtype
        stays = convert(bitwise_or(eq(x, out), ne(x, x)), dtype)
        there = read_back(out, indices, aval_of(updates), params)
        wins = convert(eq(updates, there), dtype)
        count = added(stays, indices, wins, params)
        total = added(mul(t_x, stays), indices, mul(t_updates, wins), params)
        return (out,), (div(total, count),)

    return rule


def winners(
    indices: Any, x: ShapedArray, updates: ShapedArray, params: dict[str, Any]
) -> tuple[Any, Any]:
    """Which elements of the operand a scatter leaves alone, and which of the updates it keeps."""
    numbers = params["dimension_numbers"]
    outer = batch_axes(numbers, updates.ndim)
    batch = tuple(updates.shape[a] for a in outer)
    count = math.prod(batch)
    dtype = np.int32 if count < np.iinfo(np.int32).max else np.int64
    line = iota(dtype, (count,))
    number = reshape(add(line, full_like(line, 1)), batch)
    numbered = broadcast_in_dim(number, updates.shape, outer)
    zeros = broadcast_in_dim(np.zeros((), dtype), x.shape, ())
    written = scatter(zeros, indices, numbered, **_public(params))
    found = read_back(written, indices, updates, params)
    return eq(written, scalar_like(0, written)), eq(found, numbered)


def where(mask: Any, x: Any) -> Any:
    return select_n(mask, full_like(x, 0), x)


def scatter_forward(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
    x, indices, updates = primals
    program = params["update_jaxpr"]
    if program is not None:
        return apply_forward(x, indices, updates, tangents[0], params)
    out = scatter_p.bind(x, indices, updates, **params)
    if tangents[0] is None and tangents[2] is None:
        return (out,), (None,)
    t_x, t_updates = instantiate_zeros(x, tangents[0]), instantiate_zeros(updates, tangents[2])
    if params["unique_indices"]:
        return (out,), (scatter_p.bind(t_x, indices, t_updates, **params),)
    left, kept = winners(indices, aval_of(x), aval_of(updates), params)
    return (out,), (added(where(left, t_x), indices, where(kept, t_updates), params),)


def apply_forward(x: Any, indices: Any, unused: Any, t_x: Any, params: dict[str, Any]) -> tuple:
    """func' at each place it was applied to, where no place is met twice."""
    out = scatter_p.bind(x, indices, unused, **params)
    if t_x is None:
        return (out,), (None,)
    check_unique(params, "scatter_apply: the derivative")
    aval = aval_of(unused)
    before = read_back(x, indices, aval, params)
    flat = reshape(before, (aval.size,))
    batched, _ = batch_program(
        params["update_jaxpr"], BatchAxis(aval.size), (True, False), force=True
    )
    zero = scalar_like(0, x)
    _, (slope,) = forward.jvp(lambda v: batched(v, zero), [flat], [full_like(flat, 1)])
    slope = full_like(flat, 0) if slope is None else slope
    plain = {**params, "update_jaxpr": combine_program(COMBINE[scatter_mul_p], aval.dtype)}
    return (out,), (scatter_mul_p.bind(t_x, indices, reshape(slope, aval.shape), **plain),)


def scatter_backward(cts: Sequence, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    (ct,) = cts
    aval = updates.aval if is_linear(updates) else aval_of(updates)
    ct_x = ct_updates = left = kept = None
    if not params["unique_indices"]:
        left, kept = winners(indices, aval_of(ct), aval, params)
    if is_linear(x):
        zeros = broadcast_scalar(0, aval_of(ct).update(shape=aval.shape))
        ct_x = scatter_p.bind(ct, indices, zeros, **params) if left is None else where(left, ct)
    if is_linear(updates):
        ct_updates = read_back(ct, indices, aval, params)
        ct_updates = ct_updates if kept is None else where(kept, ct_updates)
    return [ct_x, None, ct_updates]
