"""The laws that every operation keeps, held for each row of the table of samples.

Values and derivatives are compared with the answers of JAX that `record.py` wrote down, and
derivatives with finite differences too; batches with a loop; staged and compiled programs with
eager calls.
"""

import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import funcgrad
from answers import (
    LAWS,
    QUESTIONS,
    asked,
    describe,
    direction,
    pull,
    pull_along,
    push,
    smooth_part,
)
from engines import JAX, OURS
from funcgrad.ir.check import check_jaxpr
from rows import Row
from samples import ROWS

# How far a result may be from what it should be, relative to the typical element.
ROUNDING = {
    "bfloat16": 1.6e-2,
    "float16": 2e-3,
    "float32": 4e-6,
    "complex64": 4e-6,
    "float64": 1e-11,
    "complex128": 1e-11,
}
# Where the sign of a zero is NumPy's or SciPy's choice and not XLA's.
UNSIGNED_ZERO = {"max edges", "min edges", "erf_inv edges", "bessel_i1e edges"}
STEP = 2e-4
DIFFERENCE_ERROR = 1e-7

every_row = pytest.mark.parametrize("row", ROWS, ids=str)
smooth_rows = pytest.mark.parametrize("row", [r for r in ROWS if r.order >= 1], ids=str)
twice_smooth_rows = pytest.mark.parametrize("row", [r for r in ROWS if r.order >= 2], ids=str)


@pytest.fixture(autouse=True)
def checks() -> Iterator[None]:
    """Every evaluated output is held against what the abstract rule promised."""
    with funcgrad.enable_checks(True):
        yield


def compiled(function: Callable, *args: Any) -> Any:
    """What the native program of a function returns: checks would have NumPy evaluate it."""
    with funcgrad.enable_checks(False):
        return OURS.jit(function)(*args)


def assert_close(got: Any, want: Any, error: float, what: str) -> None:
    """Same shape, and elements equal up to `error` times the rounding of the dtype."""
    dtype = np.dtype(got.dtype)
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, what
    if dtype.name not in ROUNDING:
        np.testing.assert_array_equal(got, want, what)
        return
    wide = np.complex128 if dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    tolerance = error * ROUNDING[dtype.name]
    finite = np.abs(want[np.isfinite(want)])
    typical = float(np.median(finite)) if finite.size else 0.0
    np.testing.assert_allclose(got, want, tolerance, tolerance * max(typical, 1e-30), err_msg=what)


def assert_same(got: Sequence, want: Sequence, error: float, what: str) -> None:
    assert len(got) == len(want), f"{what}: {len(got)} results, not {len(want)}"
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        assert_close(a, b, error, f"{what}, result {i}")


def assert_as_recorded(row: Row, question: str, got: Sequence) -> None:
    """The types and numbers that JAX answered."""
    if question not in asked(row):
        return
    if LAWS.manifest["fingerprints"].get(row.name) != row.fingerprint:
        pytest.fail("the row is new or has other arguments: run `python tests/record.py`")
    key = f"{row.name}|{question}"
    assert [describe(x) for x in got] == LAWS.types(key), key
    assert_same(got, LAWS.answer(key), row.error, f"{question} against JAX")


def slope(run: Callable[..., list], primals: Sequence, along: Sequence) -> list[np.ndarray]:
    """The directional derivative by central differences of fourth order."""

    def at(step: float) -> list[np.ndarray]:
        moved = [p + step * t for p, t in zip(primals, along, strict=True)]
        return [np.asarray(out) for out in run(*moved)]

    points = [at(k * STEP) for k in (1, -1, 2, -2)]
    return [(8 * (a - b) - (c - d)) / (12 * STEP) for a, b, c, d in zip(*points, strict=True)]


def assert_slope(run: Callable[..., list], row: Row, primals: Sequence, got: Sequence) -> None:
    """`got` is the derivative of `run` along the row's direction, as differences can tell."""
    if not row.smooth:
        return
    want = slope(run, primals, direction(row, "tangent", primals))
    for a, b in zip(got, want, strict=True):
        scale = max(1.0, np.max(np.abs(b), initial=0))
        error = row.error * DIFFERENCE_ERROR
        np.testing.assert_allclose(a, b, error, error * scale, err_msg="finite differences")


def inner(xs: Sequence, ys: Sequence) -> float:
    """The real part of the sum of products, by which cotangents act on tangents."""
    return sum(
        float(np.real(np.sum(np.asarray(x) * np.asarray(y)))) for x, y in zip(xs, ys, strict=True)
    )


@pytest.mark.parametrize("part", range(2))
def test_recorded_answers_are_those_of_jax(part: int) -> None:
    """One answer in fifty is asked again, others in every run."""
    assert LAWS.manifest["jax"] == JAX.__version__
    seed = int.from_bytes(os.urandom(4))
    keys = [(row, question) for row in ROWS for question in asked(row)]
    for row, question in random.Random(seed).sample(keys, len(keys) // 100):
        got = QUESTIONS[question][0](JAX, row)
        what = f"{row.name}|{question}, drawn with seed {seed}"
        assert [describe(x) for x in got] == LAWS.types(f"{row.name}|{question}"), what
        assert_same(got, LAWS.answer(f"{row.name}|{question}"), row.error, what)


@every_row
def test_value(row: Row) -> None:
    got = QUESTIONS["value"][0](OURS, row)
    assert_as_recorded(row, "value", got)
    if row.name.endswith("edges") and row.name not in UNSIGNED_ZERO:
        for a, b in zip(got, LAWS.answer(f"{row.name}|value"), strict=True):
            if b.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(a)[b == 0], np.signbit(b)[b == 0])


@smooth_rows
def test_first_derivative(row: Row) -> None:
    with OURS.x64():
        run, primals = smooth_part(OURS, row)
        outs = run(*primals)
        assert_as_recorded(row, "wide_value", outs)
        tangents = push(OURS, row, run)(*primals)
        assert_as_recorded(row, "tangent", tangents)
        assert_slope(run, row, primals, tangents)
        cotangents = pull(OURS, row, run)(*primals)
        assert_as_recorded(row, "cotangent", cotangents)
        moved = inner(direction(row, "cotangent", outs), tangents)
        pulled = inner(cotangents, direction(row, "tangent", primals))
        assert moved == pytest.approx(pulled, rel=1e-9 * row.error, abs=1e-9 * row.error)


@twice_smooth_rows
def test_second_derivative(row: Row) -> None:
    """Forward over reverse, reverse over forward and reverse over reverse mode are one thing."""
    with OURS.x64():
        run, primals = smooth_part(OURS, row)
        pulled, pushed = pull(OURS, row, run), push(OURS, row, run)
        hessian_vector = push(OURS, row, pulled)(*primals)
        assert_as_recorded(row, "hessian_vector", hessian_vector)
        assert_slope(pulled, row, primals, hessian_vector)
        curvature = push(OURS, row, pushed)(*primals)
        assert_as_recorded(row, "curvature", curvature)
        assert_slope(pushed, row, primals, curvature)
        native = compiled(push(OURS, row, pulled), *primals)
        assert_same(native, hessian_vector, 100 * row.error, "jit of a second derivative")
        if not row.smooth:
            return
        for other in (pull(OURS, row, pushed), pull_along(OURS, row, pulled)):
            assert_same(other(*primals), hessian_vector, 100 * row.error, "the same Hessian")


@pytest.mark.parametrize("row", [r for r in ROWS if r.order and len(r.inexact) > 1], ids=str)
def test_derivative_in_each_argument(row: Row) -> None:
    """An argument that is held fixed contributes what a zero tangent does."""
    with OURS.x64():
        run, primals = smooth_part(OURS, row)
        along = direction(row, "tangent", primals)
        cotangents = pull(OURS, row, run)(*primals)
        for k, x in enumerate(primals):

            def alone(moved: Any, k: int = k) -> list:
                return run(*primals[:k], moved, *primals[k + 1 :])

            rest = [t if i == k else np.zeros_like(t) for i, t in enumerate(along)]
            _, want = OURS.jvp(run, tuple(primals), tuple(rest))
            _, got = OURS.jvp(alone, (x,), (along[k],))
            assert_same(got, want, row.error, f"the tangent of argument {k} alone")
            outs, backward = OURS.vjp(alone, x)
            got = backward(direction(row, "cotangent", outs))
            assert_same(got, [cotangents[k]], row.error, f"the cotangent of argument {k} alone")


def batches(row: Row) -> Iterator[tuple[list, list]]:
    """Arguments with two members, and where: each one at each axis, then all of them."""
    members = [row.arguments(member=i) for i in range(2)]

    def stacked(i: int, at: int) -> np.ndarray:
        return np.stack([m[i] for m in members], at)

    alone = members[0]
    for i in row.batchable:
        for at in range(np.ndim(alone[i]) + 1):
            yield (
                [stacked(j, at) if j == i else a for j, a in enumerate(alone)],
                [at if j == i else None for j in range(len(alone))],
            )
    if len(row.batchable) > 1:
        for axes in ([0] * len(alone), [np.ndim(a) for a in alone]):
            where = [a if i in row.batchable else None for i, a in enumerate(axes)]
            yield (
                [alone[i] if a is None else stacked(i, a) for i, a in enumerate(where)],
                where,
            )


@pytest.mark.parametrize("row", [r for r in ROWS if r.batchable and r.loop], ids=str)
def test_batching(row: Row) -> None:
    function = row.make(OURS)

    def leaves(*args: Any) -> list:
        return OURS.leaves(function(*args))

    for args, axes in batches(row):
        batched = OURS.vmap(leaves, in_axes=tuple(axes))
        got = batched(*args)
        loop = [
            leaves(*(a if at is None else np.take(a, i, at) for a, at in zip(args, axes)))
            for i in range(2)
        ]
        want = [np.stack([np.asarray(x) for x in xs]) for xs in zip(*loop, strict=True)]
        assert [x.dtype for x in got] == [x.dtype for x in want]
        assert_same(got, want, row.error, f"vmap with in_axes {axes} against a loop")
    native = compiled(batched, *args)
    assert_same(native, want, row.error, f"jit of vmap with in_axes {axes}")


@pytest.mark.parametrize("row", [r for r in ROWS if r.batchable and r.loop], ids=str)
def test_batch_of_nothing(row: Row) -> None:
    """A batch without members has results of the right types, without members."""
    function, args = row.make(OURS), row.arguments()
    axes = tuple(0 if i in row.batchable else None for i in range(len(args)))
    empty = [a if at is None else np.stack([a])[:0] for a, at in zip(args, axes, strict=True)]
    got = OURS.vmap(lambda *xs: OURS.leaves(function(*xs)), in_axes=axes)(*empty)
    want = OURS.leaves(function(*args))
    assert [(x.shape, x.dtype) for x in got] == [((0, *x.shape), x.dtype) for x in want]


@pytest.mark.parametrize("row", [r for r in ROWS if r.order and r.loop], ids=str)
def test_batched_derivatives(row: Row) -> None:
    """The batching rules of what derivatives are made of: every argument, direction and result."""
    with OURS.x64():
        run, _ = smooth_part(OURS, row)
        members = [[row.argument(i, True, m) for i in row.inexact] for m in range(2)]
        many = [np.stack(pair) for pair in zip(*members, strict=True)]
        pushed = push(OURS, row, run)
        pulled = pull(OURS, row, run)
        for derivative in (pushed, pulled):
            got = OURS.vmap(derivative)(*many)
            loop = [derivative(*member) for member in members]
            want = [np.stack([np.asarray(x) for x in xs]) for xs in zip(*loop, strict=True)]
            assert_same(got, want, 100 * row.error, "vmap of a derivative against a loop")


@every_row
def test_staging(row: Row) -> None:
    """Written down, checked and run, and compiled, a function does what it does eagerly."""
    function, args = row.make(OURS), row.arguments()
    eager = OURS.leaves(function(*args))
    program = OURS.make_jaxpr(function)(*args)
    check_jaxpr(program)
    assert [describe(v.aval) for v in program.jaxpr.outvars] == [describe(x) for x in eager]
    assert_same(
        program(*OURS.leaves(args)), eager, row.error, "the staged program against an eager call"
    )
    native = OURS.leaves(compiled(function, *args))
    assert [describe(x) for x in native] == [describe(x) for x in eager]
    assert_same(native, eager, row.error, "jit against an eager call")


@smooth_rows
def test_derivative_of_jit(row: Row) -> None:
    with OURS.x64():
        run, primals = smooth_part(OURS, row)
        for transformed in (push, pull):
            eager = transformed(OURS, row, run)(*primals)
            with funcgrad.enable_checks(False):
                inside = transformed(OURS, row, OURS.jit(run))(*primals)
            outside = compiled(transformed(OURS, row, run), *primals)
            program = OURS.make_jaxpr(transformed(OURS, row, run))(*primals)
            check_jaxpr(program)
            assert_same(inside, eager, row.error, "the derivative of jit against an eager one")
            assert_same(outside, eager, row.error, "jit of the derivative against an eager one")
