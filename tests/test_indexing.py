"""Slices, gathers and scatters at computed positions, against jax.lax."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax as jlax

from funcgrad import lax
from funcgrad.base import dtypes
from funcgrad.base.array import ConcreteArray, key_words
from funcgrad.base.aval import aval_of, shaped
from funcgrad.base.basis import eq, mul, transpose
from funcgrad.base.config import enable_checks
from funcgrad.primitives.structural import rev
from funcgrad.primitives.trigonometric import cos
from funcgrad.transforms.backward import Linear, backward_pass
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.staging import stage_closed
from lax_oracle import (
    assert_close,
    check_batches,
    check_derivatives,
    check_values,
    random_array,
)

MODES = ("clip", "fill", "promise_in_bounds")

# operand shape, indices, (offset, collapsed, indexed, batching, index batching), slice sizes
GATHERS: dict[str, tuple] = {
    "numbers of a vector": ((5,), [[0], [4], [2], [2]], ((), (0,), (0,)), (1,)),
    "rows": ((4, 3), [[[3], [0]], [[1], [1]]], ((2,), (0,), (0,)), (1, 3)),
    "columns": ((3, 4), [[3], [0], [3]], ((0,), (1,), (1,)), (3, 1)),
    "columns last": ((3, 4), [[3], [0], [3]], ((1,), (1,), (1,)), (3, 1)),
    "elements": ((3, 4), [[0, 1], [2, 3], [0, 1]], ((), (0, 1), (0, 1)), (1, 1)),
    "elements, axes swapped": ((3, 4), [[1, 0], [3, 2]], ((), (0, 1), (1, 0)), (1, 1)),
    "outer axes": ((3, 2, 4), [[0, 3], [2, 1]], ((1,), (0, 2), (0, 2)), (1, 2, 1)),
    "windows": ((6,), [[0], [2], [3], [1]], ((1,), (), (0,)), (3,)),
    "windows first": ((6,), [[0], [2], [3], [1]], ((0,), (), (0,)), (3,)),
    "blocks": ((5, 6), [[0, 1], [2, 3], [1, 0]], ((1, 2), (), (0, 1)), (3, 2)),
    "blocks around batch": ((5, 6), [[0, 1], [2, 3], [1, 0]], ((0, 2), (), (0, 1)), (3, 2)),
    "blocks of one axis": ((5, 6), [[1], [3]], ((1, 2), (), (1,)), (4, 2)),
    "rows not collapsed": ((4, 3), [[3], [0]], ((1, 2), (), (0,)), (1, 3)),
    "collapsed, not indexed": ((4, 3), [[1], [0]], ((1,), (0,), (1,)), (1, 2)),
    "a whole axis": ((4, 3), [[0], [0]], ((1,), (0,), (1,)), (1, 3)),
    "one window": ((5, 6), [1, 2], ((0, 1), (), (0, 1)), (2, 3)),
    "no components": ((3,), np.zeros((2, 0)), ((1,), (), ()), (2,)),
    "no components at all": ((3,), np.zeros((0,)), ((0,), (), ()), (2,)),
    "no batch": ((3, 2), np.zeros((0, 1)), ((1,), (0,), (0,)), (1, 2)),
    "empty operand": ((0, 2), np.zeros((0, 1)), ((1,), (0,), (0,)), (1, 2)),
    "empty windows": ((3, 2), [[1], [2]], ((1,), (0,), (0,)), (1, 0)),
    "batching": (
        (3, 4),
        [[[0], [3]], [[1], [1]], [[2], [0]]],
        ((), (1,), (1,), (0,), (0,)),
        (1, 1),
    ),
    "batching, windows": ((3, 5), [[1], [0], [2]], ((1,), (), (1,), (0,), (0,)), (1, 3)),
    "batching across": (
        (2, 4, 3),
        [[[0], [3]], [[1], [1]], [[2], [0]]],
        ((), (1,), (1,), (0, 2), (1, 0)),
        (1, 1, 1),
    ),
    "batching and a row": (
        (2, 4, 3),
        [[[0], [3], [1]], [[1], [1], [2]]],
        ((2,), (1,), (1,), (0,), (0,)),
        (1, 1, 3),
    ),
}


def gather_case(case: str) -> tuple[np.ndarray, np.ndarray, tuple, tuple]:
    shape, indices, numbers, sizes = GATHERS[case]
    rng = np.random.default_rng(len(case))
    return random_array(rng, shape, "float32"), np.array(indices, np.int32), numbers, sizes


def outside(indices: np.ndarray) -> np.ndarray:
    """The indices with the first vector moved out on the one side and the last on the other."""
    if not indices.size:
        return indices
    moved = indices.copy().reshape(-1, indices.shape[-1])
    moved[0, 0] = -2
    moved[-1, -1] += 7
    return moved.reshape(indices.shape)


def gathers(numbers: tuple, sizes: tuple, **settings: Any) -> tuple[Callable, Callable]:
    def ours(x, i):
        return lax.gather(x, i, lax.GatherDimensionNumbers(*numbers), sizes, **settings)

    def theirs(x, i):
        return jlax.gather(x, i, jlax.GatherDimensionNumbers(*numbers), sizes, **settings)

    return ours, theirs


@pytest.mark.parametrize("case", GATHERS)
def test_gather(case: str) -> None:
    x, indices, numbers, sizes = gather_case(case)
    with enable_checks(True):
        for mode in MODES:
            ours, theirs = gathers(numbers, sizes, mode=mode)
            check_values(ours, theirs, x, outside(indices))
        ours, theirs = gathers(numbers, sizes, mode="fill")
        check_derivatives(
            lambda x: ours(x, outside(indices)), lambda x: theirs(x, outside(indices)), x
        )
        check_batches(ours, x, indices)
        ours, _ = gathers(numbers, sizes, mode="clip")
        check_batches(ours, x, indices)


@pytest.mark.parametrize("case", ["columns", "blocks", "outer axes", "batching", "one window"])
def test_views(case: str) -> None:
    """Eager slices and transposes share memory, so operands come with any strides."""
    x, indices, updates, numbers = scatter_case(case)
    sizes = GATHERS[case][3]
    ours, _ = gathers(numbers, sizes)
    ours_scatter, _ = scatters("scatter", numbers)
    last_first = tuple(range(x.ndim))[::-1]
    for view in (
        lax.slice_in_dim(np.repeat(x, 2, x.ndim - 1), 0, None, 2, x.ndim - 1),
        rev(x[..., ::-1], (x.ndim - 1,)),
        transpose(x.transpose(), last_first),
    ):
        assert_close(ours(view, indices), ours(x, indices))
        assert_close(ours_scatter(view, indices, updates), ours_scatter(x, indices, updates))
        assert_close(ours_scatter(x, indices, updates), ours_scatter(x, indices, updates))


@pytest.mark.parametrize("dtype", "bool int8 uint16 int32 float16 bfloat16 complex64 int4".split())
def test_gather_fills_by_dtype(dtype: str) -> None:
    x = np.asarray(jnp.arange(5).astype(dtype))
    indices = np.array([[0], [5], [-1], [3]], np.int32)
    numbers = ((), (0,), (0,))
    for settings in ({}, {"fill_value": 1}):
        ours, theirs = gathers(numbers, (1,), mode="fill", **settings)
        got, want = np.asarray(ours(np.asarray(x), indices)), np.asarray(theirs(x, indices))
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.astype(complex), want.astype(complex))


@pytest.mark.parametrize("dtype", "int8 uint8 int16 uint32 int32".split())
def test_index_dtypes(dtype: str) -> None:
    x = np.arange(300, dtype=np.float32)
    indices = np.array([[0], [100], [250 if dtype != "int8" else -1]]).astype(dtype)
    if dtype == "uint32":
        indices[0] = 2**32 - 1
    for mode in ("clip", "fill"):
        ours, theirs = gathers(((), (0,), (0,)), (1,), mode=mode)
        assert_close(ours(x, indices), theirs(x, indices))


SCATTERS = ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max")


def scatters(name: str, numbers: tuple, **settings: Any) -> tuple[Callable, Callable]:
    def ours(x, i, u):
        return getattr(lax, name)(x, i, u, lax.ScatterDimensionNumbers(*numbers), **settings)

    def theirs(x, i, u):
        return getattr(jlax, name)(x, i, u, jlax.ScatterDimensionNumbers(*numbers), **settings)

    return ours, theirs


def scatter_case(case: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple]:
    x, indices, numbers, sizes = gather_case(case)
    ours, _ = gathers(numbers, sizes)
    shape = ours(x, indices).shape
    return x, indices, random_array(np.random.default_rng(1), shape, "float32"), numbers


# Cases whose windows do not meet, and cases whose windows do.
APART = ("rows not collapsed", "one window", "no components at all", "empty windows")
MEETING = ("numbers of a vector", "windows first", "blocks around batch", "batching and a row")


@pytest.mark.parametrize("case", GATHERS)
def test_scatter(case: str) -> None:
    x, indices, updates, numbers = scatter_case(case)
    moved = outside(indices)
    with enable_checks(True):
        for name in SCATTERS if case in MEETING else ("scatter",):
            ours, theirs = scatters(name, numbers)
            check_values(ours, theirs, x, moved, updates)
        ours, theirs = scatters("scatter_add", numbers, mode="clip")
        check_values(ours, theirs, x, moved, updates)
        check_batches(ours, x, indices, updates, every_axis=case in MEETING)
        ours, _ = scatters("scatter", numbers)
        check_batches(ours, x, indices, updates, every_axis=False)


@pytest.mark.parametrize("name", ["scatter", "scatter_sub", "scatter_min", "scatter_max"])
@pytest.mark.parametrize("case", MEETING)
def test_scatter_derivatives(case: str, name: str) -> None:
    x, indices, updates, numbers = scatter_case(case)
    indices = outside(indices) if name in ("scatter", "scatter_sub") else indices
    ours, theirs = scatters(name, numbers)
    check_derivatives(
        lambda x, u: ours(x, indices, u),
        lambda x, u: theirs(x, indices, u),
        x,
        updates,
        second=case == MEETING[0] and name != "scatter_min",
    )


@pytest.mark.parametrize("name", ["scatter", "scatter_mul"])
@pytest.mark.parametrize("case", APART)
def test_scatter_derivatives_of_unique_indices(case: str, name: str) -> None:
    x, indices, updates, numbers = scatter_case(case)
    ours, theirs = scatters(name, numbers, unique_indices=True)
    check_derivatives(
        lambda x, u: ours(x, indices, u), lambda x, u: theirs(x, indices, u), x, updates
    )


@pytest.mark.parametrize("name", ["scatter_min", "scatter_max"])
def test_extrema_that_tie_share(name: str) -> None:
    x = np.array([1, 2, 2, 0], np.float32)
    indices = np.array([[1], [1], [2], [3], [3], [3]], np.int32)
    updates = np.array([2, 2, 1, 5, 5, 3], np.float32)
    ours, theirs = scatters(name, ((), (0,), (0,)))
    check_derivatives(
        lambda x, u: ours(x, indices, u),
        lambda x, u: theirs(x, indices, u),
        x,
        updates,
        second=False,
    )


def test_untouched_nan_keeps_its_tangent() -> None:
    x = np.array([np.nan, 1, 2], np.float32)
    indices, updates = np.array([[1]], np.int32), np.array([5], np.float32)
    ours, _ = scatters("scatter_max", ((), (0,), (0,)))
    _, (tangent,) = jvp(lambda x: [ours(x, indices, updates)], [x], [np.ones(3, np.float32)])
    assert_close(tangent, np.array([1, 0, 1], np.float32))


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("name", ["scatter", "scatter_add", "scatter_sub"])
@pytest.mark.parametrize("case", ["numbers of a vector", "windows", "rows not collapsed"])
def test_transposes(case: str, name: str, unique: bool) -> None:
    """<ct, A(x, u)> = <A^T ct, (x, u)> for the scatters that are linear in both."""
    if unique and case != "rows not collapsed":
        case = "one window"
    x, indices, updates, numbers = scatter_case(case)
    ours, _ = scatters(name, numbers, unique_indices=unique)
    program, _ = stage_closed(lambda x, u: [ours(x, indices, u)], [aval_of(x), aval_of(updates)])
    ct = random_array(np.random.default_rng(2), x.shape, "float32")
    arguments = [Linear(aval_of(x)), Linear(aval_of(updates))]
    ct_x, ct_updates = backward_pass(program.jaxpr, program.consts, arguments, [ct])
    left = np.sum(np.asarray(ours(x, indices, updates)) * ct)
    right = np.sum(np.asarray(ct_x) * x) + np.sum(np.asarray(ct_updates) * updates)
    np.testing.assert_allclose(left, right, rtol=1e-5)


@pytest.mark.parametrize("name", SCATTERS[1:])
@pytest.mark.parametrize("dtype", "int8 uint8 int32 uint32 float16 bfloat16 complex64 int4".split())
def test_scatter_dtypes(name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, updates = random_array(rng, (7,), dtype), random_array(rng, (20,), dtype)
    indices = rng.integers(0, 7, (20, 1)).astype(np.int32)
    numbers = ((), (0,), (0,))
    ours, theirs = scatters(name, numbers)
    with enable_checks(True):
        got = np.asarray(ours(x, indices, updates))
    if dtype == "complex64" and name in ("scatter_min", "scatter_max"):
        best = {"scatter_min": min, "scatter_max": max}[name]
        met = [[x[i], *updates[indices[:, 0] == i]] for i in range(7)]
        want = np.array([best(values, key=lambda z: (z.real, z.imag)) for values in met])
    else:
        want = np.asarray(theirs(x, indices, updates))
    assert got.dtype == want.dtype
    tolerance = {"float16": 2e-2, "bfloat16": 0.1, "complex64": 1e-5}.get(dtype, 0)
    np.testing.assert_allclose(
        got.astype(complex), want.astype(complex), rtol=tolerance, atol=tolerance
    )


def test_last_update_wins() -> None:
    """The order in which XLA's CPU writes; a promise of neither, but handy to rely on in tests."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, 5, (40, 1)).astype(np.int32)
    for shape, numbers in (((40,), ((), (0,), (0,))), ((40, 3), ((1,), (0,), (0,)))):
        x, updates = np.zeros((5, *shape[1:]), np.float32), rng.standard_normal(shape).astype("f4")
        ours, theirs = scatters("scatter", numbers)
        assert_close(ours(x, indices, updates), theirs(x, indices, updates))


def test_scatter_apply() -> None:
    """Once for each time that an index occurs."""
    x = np.linspace(0, 1, 6, dtype=np.float32)
    rows = np.array([[4], [1], [4], [9], [4]], np.int32)
    numbers = ((), (0,), (0,))

    def ours(x, rows, **settings):
        dims = lax.ScatterDimensionNumbers(*numbers)
        return lax.scatter_apply(x, rows, lambda v: mul(v, cos(v)), dims, **settings)

    def theirs(x, rows, **settings):
        dims = jlax.ScatterDimensionNumbers(*numbers)
        return jlax.scatter_apply(x, rows, lambda v: v * jnp.cos(v), dims, **settings)

    got = ours(x, rows, update_shape=(5,))
    assert_close(got, theirs(jnp.asarray(x), rows, update_shape=(5,)))
    check_batches(lambda x, i: ours(x, i, update_shape=(5,)), x, rows)
    unique = np.array([[3], [0], [7]], np.int32)
    check_derivatives(
        lambda x: ours(x, unique, update_shape=(3,), unique_indices=True),
        lambda x: x.at[np.array([3, 0])].set(x[np.array([3, 0])] * jnp.cos(x[np.array([3, 0])])),
        x,
    )
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        jvp(lambda x: [ours(x, rows, update_shape=(5,))], [x], [x])


def test_gradient_of_repeated_products_is_refused() -> None:
    x, indices, updates, numbers = scatter_case("numbers of a vector")
    ours, _ = scatters("scatter_mul", numbers)
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        jvp(lambda u: [ours(x, indices, u)], [updates], [updates])


def test_key_arrays() -> None:
    keys = ConcreteArray(
        np.arange(10, dtype=np.uint32).view(dtypes.threefry_key_type.buffer_dtype),
        shaped((5,), dtypes.threefry_key_type),
    )
    indices = np.array([[1], [7], [4]], np.int32)
    with enable_checks(True):
        out = lax.gather(
            keys, indices, lax.GatherDimensionNumbers((), (0,), (0,)), (1,), mode="fill"
        )
        assert key_words(out.buffer).tolist() == [[2, 3], [2**32 - 1] * 2, [8, 9]]
        back = lax.scatter(keys, indices, out, lax.ScatterDimensionNumbers((), (0,), (0,)))
        assert key_words(back.buffer).tolist() == key_words(keys.buffer).tolist()
        two = lax.dynamic_slice(keys, (3,), (2,))
        assert key_words(two.buffer).tolist() == [[6, 7], [8, 9]]
        moved = lax.dynamic_update_slice(keys, two, (0,))
        assert key_words(moved.buffer)[:2].tolist() == [[6, 7], [8, 9]]


# slices


@pytest.mark.parametrize("starts", [(0, 0), (1, 2), (-1, -4), (9, -9), (-2, 100)])
def test_dynamic_slice(starts: tuple) -> None:
    rng = np.random.default_rng(0)
    x, update = random_array(rng, (4, 5), "float32"), random_array(rng, (2, 3), "float32")
    traced = tuple(np.int32(s) for s in starts)
    with enable_checks(True):
        for at in (starts, np.array(starts, np.int32)):
            check_values(
                lambda x, a=at: lax.dynamic_slice(x, a, (2, 3)),
                lambda x, a=at: jlax.dynamic_slice(x, a, (2, 3)),
                x,
            )
        slices = lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3))
        writes = lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j))
        check_batches(slices, x, *traced)
        check_batches(writes, x, update, *traced)
    check_derivatives(
        lambda x: slices(x, *starts), lambda x: jlax.dynamic_slice(x, starts, (2, 3)), x
    )
    check_derivatives(
        lambda x, u: writes(x, u, *starts),
        lambda x, u: jlax.dynamic_update_slice(x, u, starts),
        x,
        update,
    )


def test_starts_under_tracing() -> None:
    """A start that is not known yet counts from the end too, unless that is forbidden."""
    x = np.arange(6, dtype=np.float32)

    def sliced(i, **settings):
        return lax.dynamic_slice(x, (i,), (2,), **settings)

    for dtype in (np.int32, np.int8, np.uint8):
        program, _ = stage_closed(lambda i: [sliced(i)], [aval_of(dtype(0))])
        for start in (0, 3, 250 if dtype is np.uint8 else -2):
            assert_close(program(dtype(start))[0], sliced(dtype(start)))
    program, _ = stage_closed(
        lambda i: [sliced(i, allow_negative_indices=False)], [aval_of(np.int32(0))]
    )
    assert_close(program(np.int32(-2))[0], x[:2])
    starts, _ = stage_closed(
        lambda i: [lax.dynamic_slice(x, i, (2,))], [aval_of(np.zeros(1, np.int32))]
    )
    assert_close(starts(np.array([-3], np.int32))[0], x[3:5])
    with pytest.raises(ValueError, match="allow_negative_indices"):
        sliced(-1, allow_negative_indices=False)


def test_no_axes() -> None:
    x = np.float32(3)
    check_batches(lambda x: lax.dynamic_slice(x, (), ()), x)
    check_batches(lambda x, u: lax.dynamic_update_slice(x, u, ()), x, x)


@pytest.mark.parametrize(
    "name, args",
    [
        ("slice_in_dim", (1, -1, 2, 1)),
        ("slice_in_dim", (None, None)),
        ("slice_in_dim", (-3, None, 1, 0)),
        ("index_in_dim", (-1, 1)),
        ("index_in_dim", (2, 0, False)),
        ("dynamic_slice_in_dim", (1, 2, 1)),
        ("dynamic_slice_in_dim", (-1, 2)),
        ("dynamic_slice_in_dim", (np.int8(9), 2)),
        ("dynamic_index_in_dim", (-1, 1)),
        ("dynamic_index_in_dim", (2, 0, False)),
        ("dynamic_update_slice_in_dim", (np.ones((4, 2), np.float32), -2, 1)),
        ("dynamic_update_index_in_dim", (np.ones((4, 1), np.float32), 3, 1)),
        ("dynamic_update_index_in_dim", (np.ones(4, np.float32), 3, 1)),
        ("dynamic_update_index_in_dim", (np.ones(5, np.float32), -1, 0)),
    ],
)
def test_along_one_axis(name: str, args: tuple) -> None:
    x = random_array(np.random.default_rng(0), (4, 5), "float32")
    check_values(lambda x: getattr(lax, name)(x, *args), lambda x: getattr(jlax, name)(x, *args), x)


def test_index_take() -> None:
    x = random_array(np.random.default_rng(0), (4, 5, 3), "float32")
    rows, columns = np.array([0, -1, 5], np.int32), np.array([2, 2, -6], np.int32)
    for idxs, axes in (((rows,), (0,)), ((rows, columns), (0, 1)), ((rows,), (1,))):
        check_values(
            lambda x, i=idxs, a=axes: lax.index_take(x, i, a),
            lambda x, i=idxs, a=axes: jlax.index_take(x, i, a),
            x,
        )


@pytest.mark.parametrize("mode", ["clip", "fill", "drop", "promise_in_bounds", "one_hot", None])
def test_modes_by_name(mode: str | None) -> None:
    got, want = lax.GatherScatterMode.from_any(mode), jlax.GatherScatterMode.from_any(mode)
    assert (got.name, got.value) == (want.name, want.value)


X, I, U = np.ones((3, 4), np.float32), np.zeros((2, 1), np.int32), np.ones((2, 4), np.float32)
ROWS = ((1,), (0,), (0,))


@pytest.mark.parametrize(
    "x, indices, numbers, sizes, said",
    [
        (X, I.astype(np.float32), ROWS, (1, 4), "integer type"),
        (X, np.int32(0), ROWS, (1, 4), "at least one axis"),
        (X, I, ((2,), (0,), (0,)), (1, 4), "offset_dims must be axes in the range"),
        (X, I, ((1, 1), (0,), (0,)), (1, 4), "must not repeat"),
        (X, I, ((1, 0), (), (0,)), (1, 4), "must be sorted"),
        (X, I, ((1,), (2,), (0,)), (1, 4), "collapsed_slice_dims must be axes"),
        (X, I, ((1,), (0,), (0, 1)), (1, 4), "one entry for each component"),
        (X, I, ((), (0,), (0,)), (1, 4), "must run inside a window"),
        (X, I, ROWS, (1, 5), "may not exceed the operand"),
        (X, I, ROWS, (2, 4), "must be 1 along collapsed_slice_dims"),
        (X, I, ROWS, (1,), "one entry for each of the 2"),
        (X, I, ((1,), (), (0,), (0,), (0,)), (1, 4), "must be disjoint"),
        (X, I, ((1,), (), (1,), (0,), (0,)), (1, 4), "equal lengths"),
    ],
)
def test_gather_errors(x: Any, indices: Any, numbers: tuple, sizes: tuple, said: str) -> None:
    ours, theirs = gathers(numbers, sizes)
    with pytest.raises((TypeError, ValueError), match=said) as caught:
        ours(x, indices)
    with pytest.raises(caught.type):
        theirs(x, indices)


@pytest.mark.parametrize(
    "x, indices, updates, numbers, said",
    [
        (X, I, U.astype(np.int32), ROWS, "same dtypes"),
        (X, I, U[:1], ROWS, "batch axes of the indices"),
        (X, I, U[0], ROWS, "one axis for each"),
        (X, I, np.ones((2, 5), np.float32), ROWS, "may not exceed the operand"),
        (X, I, U, ((1,), (0,), (3,)), "scatter_dims_to_operand_dims must be axes"),
        (X, I, U, ((1,), (), (0,)), "must run inside a window"),
    ],
)
def test_scatter_errors(x: Any, indices: Any, updates: Any, numbers: tuple, said: str) -> None:
    ours, theirs = scatters("scatter_add", numbers)
    with pytest.raises((TypeError, ValueError), match=said):
        ours(x, indices, updates)
    with pytest.raises((TypeError, ValueError)):
        theirs(x, indices, updates)


@pytest.mark.parametrize(
    "call, error, said",
    [
        (lambda: lax.dynamic_slice(X, (0,), (1, 1)), ValueError, "one entry for each axis"),
        (lambda: lax.dynamic_slice(X, (0, 0), (1,)), TypeError, "one entry for each"),
        (lambda: lax.dynamic_slice(X, (0, 0), (4, 1)), TypeError, "nor exceed"),
        (lambda: lax.dynamic_slice(X, (0.0, 0.0), (1, 1)), TypeError, "one integer type"),
        (lambda: lax.dynamic_slice(X, (np.int8(0), 0), (1, 1)), TypeError, "one integer type"),
        (lambda: lax.dynamic_slice(X, (I[0], 0), (1, 1)), TypeError, "must be scalars"),
        (lambda: lax.dynamic_slice(X, I, (1, 1)), ValueError, "1-D array"),
        (lambda: lax.dynamic_update_slice(X, X[0], (0, 0)), TypeError, "rank"),
        (lambda: lax.dynamic_update_slice(X[:2], X, (0, 0)), TypeError, "not exceed its shape"),
        (lambda: lax.dynamic_update_slice(X, X.astype(int), (0, 0)), TypeError, "same dtypes"),
        (lambda: lax.index_in_dim(X, 4), IndexError, "out of bounds"),
        (lambda: lax.slice_in_dim(X, 0, 9), TypeError, "start <= limit <= size"),
        (lambda: lax.GatherScatterMode.from_any("wrap"), ValueError, "Unknown gather mode"),
        (
            lambda: lax.gather(X, I, lax.GatherDimensionNumbers(*ROWS), (1, 4), mode="one_hot"),
            ValueError,
            "one_hot",
        ),
        (
            lambda: lax.scatter_apply(
                X, I, lambda v: lax.top_k(v, 1), lax.ScatterDimensionNumbers(*ROWS)
            ),
            ValueError,
            "out of bounds",
        ),
        (
            lambda: lax.scatter_apply(
                X, I, lambda v: eq(v, v), lax.ScatterDimensionNumbers(*ROWS), update_shape=(2, 4)
            ),
            TypeError,
            "must turn one float32 number into another",
        ),
    ],
)
def test_errors(call: Callable, error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        call()
