"""Holds a function of ours, with its derivatives and its batched forms, against JAX's.

A derivative is compared with JAX's; a batched call with our own loop over the members.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of
from funcgrad.primitives import reduction  # noqa: F401  (with it, all that rules are made of)
from funcgrad.transforms.batching import BatchAxis, vmap_flat
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.linearize import linearize_flat

Function = Callable[..., Any]
# Relative to the largest element: how far a result may be from JAX's, by the dtype's bits.
TOLERANCE = {64: 1e-13, 32: 2e-5, 16: 1e-2, 8: 0.3}


def flat(function: Function) -> Callable[..., list]:
    """The function with a list of results, however many it has."""

    def run(*args: Any) -> list:
        out = function(*args)
        return list(out) if isinstance(out, tuple | list) else [out]

    return run


def random_like(x: Any, rng: np.random.Generator) -> np.ndarray:
    """Normal numbers (whole ones for integers) of the shape and dtype of x."""
    aval = aval_of(x)
    return random_array(rng, aval.shape, aval.dtype)


def random_array(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> np.ndarray:
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if dtypes.issubdtype(dtype, np.integer):
        low = 0 if dtypes.issubdtype(dtype, np.unsignedinteger) else -5
        return rng.integers(low, 6, shape).astype(dtype)
    values = rng.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def assert_close(ours: Any, theirs: Any, what: str = "value") -> None:
    """Same dtype, shape, and elements up to rounding of the narrowest dtype involved."""
    want, got = np.asarray(theirs), np.asarray(ours)
    assert got.dtype == want.dtype, f"{what}: {got.dtype}, JAX has {want.dtype}"
    assert got.shape == want.shape, f"{what}: {got.shape}, JAX has {want.shape}"
    if not dtypes.issubdtype(want.dtype, np.inexact):
        np.testing.assert_array_equal(got.astype(np.int64), want.astype(np.int64), what)
        return
    tolerance = TOLERANCE[dtypes.finfo(want.dtype).bits]
    work = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(work), want.astype(work)
    scale = max(1.0, float(np.max(np.abs(want[np.isfinite(want)]), initial=0)))
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def assert_all_close(ours: Sequence, theirs: Sequence, what: str) -> None:
    assert len(ours) == len(theirs), what
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert_close(a, b, f"{what} {i}")


def check_values(ours: Function, theirs: Function, *args: Any) -> None:
    outs = flat(ours)(*args)
    expected = flat(theirs)(*args)
    assert_all_close(outs, expected, "output")
    for out, want in zip(outs, expected, strict=True):
        assert aval_of(out).weak_type == want.weak_type


def check_derivatives(ours: Function, theirs: Function, *args: Any, second: bool = True) -> None:
    """jvp, vjp, and the jvp of the vjp, with respect to all arguments of inexact dtype."""
    rng = np.random.default_rng(5)
    inexact = [i for i, a in enumerate(args) if dtypes.issubdtype(aval_of(a).dtype, np.inexact)]

    def of_inexact(function: Function) -> Callable[..., list]:
        def run(*some: Any) -> list:
            full = list(args)
            for i, a in zip(inexact, some, strict=True):
                full[i] = a
            return flat(function)(*full)

        return run

    f, g = of_inexact(ours), of_inexact(theirs)
    primals = [args[i] for i in inexact]
    tangents = [random_like(p, rng) for p in primals]
    outs, out_tangents = jvp(f, primals, tangents)
    want, want_tangents = jax.jvp(g, primals, tangents)
    assert_all_close(outs, want, "output of jvp")
    assert_all_close(_without_none(out_tangents, outs), want_tangents, "tangent")
    cts = [random_like(o, rng) for o in outs]

    def pull_ours(*some: Any) -> list:
        _, program = linearize_flat(f, some)
        return _without_none(program.pull(cts), primals)

    def pull_theirs(*some: Any) -> list:
        return list(jax.vjp(g, *some)[1](cts))

    assert_all_close(pull_ours(*primals), pull_theirs(*primals), "cotangent")
    if second:
        moves = [random_like(p, rng) for p in primals]
        pulled, pulled_tangents = jvp(pull_ours, primals, moves)
        want, want_tangents = jax.jvp(pull_theirs, primals, moves)
        assert_all_close(pulled, want, "cotangent under jvp")
        assert_all_close(
            _without_none(pulled_tangents, pulled), want_tangents, "tangent of cotangent"
        )


def _without_none(tangents: Sequence, primals: Sequence) -> list:
    """Tangents or cotangents with zeros where they are None."""
    return [
        np.zeros(aval_of(p).shape, aval_of(p).dtype) if t is None else t
        for p, t in zip(primals, tangents, strict=True)
    ]


def check_batches(function: Function, *args: Any, size: int = 2, every_axis: bool = True) -> None:
    """vmap over each combination of arguments, at the first axis and at the last."""
    rng = np.random.default_rng(6)
    places = [[None, 0, aval_of(a).ndim] if every_axis else [None, 0] for a in args]
    for axes in itertools.product(*[dict.fromkeys(p) for p in places]):
        if all(a is None for a in axes):
            continue
        batches = [
            a if at is None else _batch(a, at, size, rng) for a, at in zip(args, axes, strict=True)
        ]
        outs, out_axes = vmap_flat(flat(function), BatchAxis(size), batches, axes)
        members = [
            flat(function)(
                *(
                    b if at is None else np.take(np.asarray(b), i, at)
                    for b, at in zip(batches, axes, strict=True)
                )
            )
            for i in range(size)
        ]
        for out, at, each in zip(outs, out_axes, zip(*members, strict=True), strict=True):
            want = np.stack([np.asarray(e) for e in each])
            got = np.asarray(out)
            got = np.broadcast_to(got, want.shape) if at is None else np.moveaxis(got, at, 0)
            assert_close(got, want, f"vmap with axes {axes}")


def _batch(x: Any, at: int, size: int, rng: np.random.Generator) -> np.ndarray:
    members = [np.asarray(x), *(random_like(x, rng) for _ in range(size - 1))]
    return np.stack(members, at)
