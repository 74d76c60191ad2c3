"""numpy: indexing, updates, ufunc methods, vectorize."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad
import funcgrad.numpy as jnp
from funcgrad.base.config import Config as config
from funcgrad.base.errors import NonConcreteBooleanIndexError
from numpy_oracle import check, listed

EXPRESSIONS = listed("""
f[1]
f[-1]
f[10]
f[-10]
f[1, 2]
f[1:]
f[:, 1]
f[::-1]
f[::-2, ::2]
f[2:0:-1]
f[5:9]
f[:, None]
f[None, 1, ..., None]
f[...]
f[..., 1]
t[..., 0, :]
t[0, ..., None, -1]
f[()]
f[jnp.int32(1)]
f[np.int64(2)]
f[True]
f[False]
f[True, 1]
f[k]
f[k, k]
f[k[:3], 1]
f[1, k]
f[:, k]
f[k[:, None] % 3, k]
f[k % 3, None, :]
t[:, k[:2] % 3, :]
t[0, :, k]
t[k[:2] % 2, :, k[:2]]
t[:, k % 3, k]
t[k % 2, 1, k]
t[k % 2, ..., k]
t[..., k % 3, k]
t[k % 2, None, k]
t[:, None, k % 3, 0]
t[0, k % 3, :, ...]
f[jnp.array([0, -1, 7])]
f[jnp.array([[0, 1], [2, 0]])]
f[jnp.array([], dtype=int)]
f[[[0, 1]], ]
f[([0, 1], [1, 2])]
f[b]
f[:, jnp.array([True, False, True, False])]
t[:, b]
f[jnp.array([True, False, True]), 1]
f[jnp.array([True, False, True]), jnp.array([1, 2])]
f[~b, None]
f[1:, k]
f[::2, k]
f[k % 3, ::2]
f[k % 3, 1:3]
t[1:, k % 3, ::-1]
f[np.array([0, 2])]
f[np.array([True, False, True])]
f[jnp.array(1), jnp.array([0, 2])]
f[jnp.uint8(2)]
f[jnp.array([0, 200], jnp.uint8)]
f[jnp.int8(-1)]
f[None]
f[..., None]
f[1.0]
f["a"]
f[[0, 1]]
f[0, 0, 0]
f[..., ...]
f[jnp.array([1.0])]
f[{}]
f[object()]
f[jnp.array([True, False])]
e[:, 1]
e[0]
e[:, jnp.array([0, 2])]
jx.jit(lambda x, i: x[i])(f, 1)
jx.jit(lambda x, i: x[i])(f, -1)
jx.jit(lambda x, i: x[i])(f, 9)
jx.jit(lambda x, i: x[:, i])(f, -2)
jx.jit(lambda x, i: x[i, 1:3])(f, 2)
jx.jit(lambda x, i: x[i, ::-1])(f, 2)
jx.jit(lambda x, i: x[i, ::2])(f, 2)
jx.jit(lambda x, i: x[i, None, -1])(f, 1)
jx.jit(lambda x, i: x[i])(f, k)
jx.jit(lambda x, i: x[i % 3, 1:])(f, k)
jx.jit(lambda x, i, j: x[i, j])(f, 1, k)
jx.jit(lambda x, i, j: x[j, :, i])(t, 1, k % 2)
jx.vmap(lambda x, i: x[i])(f, k[:3])
jx.vmap(lambda x, i: x[i], (None, 0))(f, k)
jx.vmap(lambda x, i: x[i][None])(f, jnp.array([[0], [2], [1]]))
jx.jit(lambda x, m: x[m])(f, b)
jx.jit(lambda x, i: x[:i])(f, 2)
f.at[1].get()
f.at[10].get()
f.at[10].get(mode="fill")
f.at[-1].get(mode="fill")
f.at[10].get(mode="fill", fill_value=3.0)
i.at[10].get(mode="fill")
u.at[jnp.array([10])].get(mode="fill")
f.at[jnp.array([0, 9])].get(mode="clip")
f.at[jnp.array([0, 9])].get(mode="fill")
f.at[jnp.array([0, -1])].get(mode="fill", wrap_negative_indices=False)
f.at[-1].get(mode="fill", wrap_negative_indices=False)
f.at[1:2, jnp.array([0, 9])].get(mode="fill", fill_value=0)
f.at[0].set(1.0)
f.at[0].set(v)
f.at[0, 1].set(9)
f.at[:, 1].set(v[:3])
f.at[::2].set(0.0)
f.at[::-1].set(f)
f.at[::-2, 1:].set(5.0)
f.at[k % 3].set(2.0)
f.at[k % 3, k].set(v)
f.at[k[:, None] % 3, k].set(7.0)
f.at[b].set(0.0)
f.at[b].add(1.0)
f.at[10].set(1.0)
f.at[-10].set(1.0)
f.at[-1].set(1.0)
f.at[jnp.array([0, 10])].set(1.0)
f.at[jnp.array([0, 10])].set(1.0, mode="clip")
f.at[jnp.array([0, -1])].set(1.0, wrap_negative_indices=False)
f.at[...].set(2.0)
f.at[()].set(f * 2)
f.at[None].set(1.0)
f.at[1, None].set(v)
f.at[True].set(3.0)
f.at[False].set(3.0)
f.at[:, k].set(1.0)
f.at[1:, 1:].set(f[1:, 1:] * 2)
f.at[k % 3].add(1.0)
f.at[k % 3].multiply(2.0)
f.at[k % 3].mul(f[0])
f.at[k % 3].divide(2.0)
f.at[k % 3].power(2.0)
f.at[k % 3].min(0.0)
f.at[k % 3].max(0.0)
f.at[k % 3].subtract(1.0)
f.at[k % 3].apply(jnp.sin)
f.at[1].apply(lambda x: x * 2)
i.at[0].add(1)
i.at[0].set(1.7)
i.at[0].divide(2)
i.at[k % 3].power(2)
u.at[0].set(7)
b.at[0].set(True)
b.at[0].max(True)
c.at[0].add(1j)
h.at[0].add(1.0)
t.at[:, k % 3, k].set(1.0)
t.at[0, :, k].set(1.0)
t.at[k % 2, :, k].add(1.0)
t.at[:, 0].add(v)
t.at[..., 1].set(0.0)
f.at[0].set(f)
f.at[1, 1:3].add(jnp.array([1.0, 2.0]))
e.at[:, 0].set(1.0)
jnp.zeros(3).at[jnp.array([0, 0, 1])].add(1)
jnp.zeros(()).at[()].set(3.0)
jnp.zeros(5).at[jnp.array([[0, 1], [2, 3]])].set(jnp.array([5.0, 6.0]))
jx.jit(lambda x, i: x.at[i].set(0.0))(f, 1)
jx.jit(lambda x, i: x.at[i, 1:3].add(1.0))(f, -1)
jx.vmap(lambda x, i: x.at[i].set(0.0))(f, k[:3])
jnp.add.at(f, 0, 1.0, inplace=False)
jnp.add.at(b, 0, True, inplace=False)
jnp.add.reduce(f)
jnp.add.reduce(f, axis=None)
jnp.add.reduce(f, axis=1, keepdims=True, initial=1.0, where=b)
jnp.add.accumulate(f, axis=1)
jnp.add.outer(v, k)
jnp.add.reduceat(v, jnp.array([0, 2, 1]))
jnp.multiply.reduce(i, axis=1)
jnp.multiply.accumulate(v)
jnp.subtract.reduce(v)
jnp.subtract.accumulate(v)
jnp.subtract.outer(v, v)
jnp.maximum.reduce(f, axis=1)
jnp.maximum.accumulate(v)
jnp.minimum.reduce(f)
jnp.bitwise_and.reduce(i)
jnp.bitwise_or.reduce(i, axis=1)
jnp.bitwise_xor.reduce(i, axis=None)
jnp.logical_and.reduce(f)
jnp.logical_or.reduce(b, axis=1)
jnp.logical_xor.reduce(b)
jnp.negative.at(f, 0, inplace=False)
jnp.subtract.at(f, jnp.array([0, 0]), 1.0, inplace=False)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1)(v, k)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1).reduce(v)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1, identity=0).reduce(f, axis=None, keepdims=True)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1).accumulate(f, axis=1)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1).at(v, jnp.array([0, 0, 2]), 2.0, inplace=False)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1).reduceat(f, jnp.array([0, 2]), axis=1)
jnp.vectorize(lambda a, b: a @ b, signature="(n,m),(m)->(n)")(t, v)
jnp.vectorize(lambda a, b: a + b)(f, v)
jnp.vectorize(lambda a, b: (a, b.sum()), signature="(),(n)->(),()")(v[:3], f)
jnp.vectorize(lambda a, n: a * n, excluded=(1,))(f, 2)
jnp.vectorize(lambda a, n=1: a * n, excluded=("n",))(f, n=2)
jnp.vectorize(lambda a, b: a + b, signature="(n),(n)->(n)")(t[:, :1], f)
jnp.apply_along_axis(jnp.sort, 1, t)
jnp.apply_along_axis(lambda x: x.sum(), 0, t)
jnp.apply_along_axis(lambda x: jnp.outer(x, x), 1, t)
jnp.apply_over_axes(jnp.sum, t, [0, 2])
[r for r in f]
list(reversed(v))
2.0 in jnp.array([1.0, 2.0])
len(f)
v.tolist()
float(v[0])
int(k[0])
operator.index(k[0])
bool(k[0])
complex(v[0])
f"{v[0]:.3f}"
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_jax(expression: str) -> None:
    check(expression)


# against NumPy, with any index


@st.composite
def shapes(draw: Any) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))


@st.composite
def indexed(draw: Any, bools: bool = True) -> tuple[np.ndarray, Any]:
    """An array of different numbers, and an index into it that NumPy takes."""
    shape = draw(shapes())
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    common = draw(st.sampled_from([(), (2,), (3, 1), (2, 3)]))
    parts: list[Any] = []
    axis = 0
    while axis < len(shape) and draw(st.booleans()):
        n = shape[axis]
        kind = draw(st.sampled_from(["int", "slice", "array", "mask", "new"]))
        if kind == "new":
            parts.append(None)
            continue
        if kind == "int":
            parts.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            bound = st.none() | st.integers(-n - 1, n + 1)
            step = draw(st.none() | st.sampled_from([1, 2, -1, -2, 3]))
            parts.append(slice(draw(bound), draw(bound), step))
        elif kind == "array":
            seed = draw(st.integers(0, 9))
            parts.append(np.random.default_rng(seed).integers(-n, n, common))
        elif bools and not any(isinstance(p, np.ndarray) for p in parts):
            mask = np.random.default_rng(draw(st.integers(0, 9))).integers(0, 2, (n,)) > 0
            common = (int(mask.sum()),)
            parts.append(mask)
        else:
            parts.append(slice(None))
        axis += 1
    if draw(st.booleans()):
        parts.append(Ellipsis)
    return x, tuple(parts)


@given(indexed())
@settings(max_examples=200)
def test_reading_is_as_in_numpy(case: tuple[np.ndarray, Any]) -> None:
    x, index = case
    want = x[index]
    got = jnp.asarray(x)[index]
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)
    jitted = funcgrad.jit(lambda y: y[index])(x)
    np.testing.assert_array_equal(jitted, want)


@given(indexed(bools=False))
@settings(max_examples=100)
def test_traced_indices_read_the_same(case: tuple[np.ndarray, Any]) -> None:
    x, index = case
    places = [i for i, p in enumerate(index) if isinstance(p, int | np.ndarray)]

    def read(y: Any, *traced: Any) -> Any:
        full = list(index)
        for i, value in zip(places, traced, strict=True):
            full[i] = value
        return y[tuple(full)]

    got = funcgrad.jit(read)(x, *(np.int32(index[i]) for i in places))
    np.testing.assert_array_equal(got, x[index])


@given(indexed())
@settings(max_examples=150)
def test_updates_are_as_in_numpy(case: tuple[np.ndarray, Any]) -> None:
    x, index = case
    want = x.copy()
    want[index] = -1.0
    np.testing.assert_array_equal(jnp.asarray(x).at[index].set(-1.0), want)
    want = x.copy()
    np.add.at(want, index, 0.5)
    np.testing.assert_array_equal(jnp.asarray(x).at[index].add(0.5), want)


@given(indexed())
@settings(max_examples=60)
def test_gradient_of_reading_counts_how_often_an_element_is_read(case: Any) -> None:
    x, index = case
    want = np.zeros_like(x)
    np.add.at(want, index, 1.0)
    got = funcgrad.grad(lambda y: jnp.sum(y[index]))(jnp.asarray(x))
    np.testing.assert_array_equal(got, want)


# what is ours


def test_scalar_bools_take_part_in_indexing_as_in_numpy() -> None:
    x = np.ones((3, 4))
    index = (None, False, slice(None), 1)
    assert jnp.asarray(x)[index].shape == x[index].shape


def test_a_traced_mask_says_what_to_use_instead() -> None:
    with pytest.raises(NonConcreteBooleanIndexError, match="three-argument where"):
        funcgrad.jit(lambda x: x[x > 0])(jnp.ones(3))


def test_a_traced_slice_bound_says_what_to_use_instead() -> None:
    with pytest.raises(IndexError, match=r"static start, stop and step.*dynamic_slice"):
        funcgrad.jit(lambda x, n: x[:n])(jnp.ones(3), 2)


def test_a_list_is_no_index() -> None:
    with pytest.raises(TypeError, match=r"x\[array\(seq\)\]"):
        jnp.ones(3)[[0, 1]]


def test_index_of_an_empty_axis() -> None:
    with pytest.raises(IndexError, match="axis 0 with size 0"):
        jnp.zeros((0, 3))[jnp.array([0])]


def test_static_indices_can_be_checked() -> None:
    x = jnp.ones(3)
    assert x[5] == 1.0
    with config.check_static_indices(True), pytest.raises(IndexError, match="size 3"):
        x[5]


def test_update_with_values_of_the_wrong_shape_names_both_shapes() -> None:
    with pytest.raises(ValueError, match=r"\(5,\).*\(4,\)"):
        jnp.ones((3, 4)).at[0].set(jnp.ones(5))


def test_update_with_values_that_do_not_fit_the_dtype_warns() -> None:
    with pytest.warns(FutureWarning, match="float32 cannot be cast safely to int32"):
        result = jnp.arange(3).at[0].set(jnp.float32(1.5))
    assert result.dtype == np.int32 and result[0] == 1


def test_item_assignment_is_refused() -> None:
    with pytest.raises(TypeError, match=r"x\.at\[idx\]\.set"):
        jnp.ones(3)[0] = 2.0


def test_update_leaves_the_source_alone() -> None:
    x = jnp.zeros(3)
    y = x.at[0].set(1.0)
    assert x[0] == 0.0 and y[0] == 1.0


def test_apply_has_a_derivative_where_indices_are_unique() -> None:
    got = funcgrad.grad(lambda x: jnp.sum(x.at[1].apply(jnp.sin)))(jnp.ones(3))
    np.testing.assert_allclose(got, [1.0, math.cos(1.0), 1.0], 1e-6)
