"""funcgrad.experimental.sparse: against JAX's own and against dense arrays, for every layout."""

import itertools

import jax
import jax.numpy as jaxnp
import numpy as np
import pytest
import scipy.sparse
from jax.experimental import sparse as theirs

import funcgrad
import funcgrad.numpy as jnp
from funcgrad.experimental import sparse

RNG = np.random.default_rng(0)
SHAPE = (3, 4, 2)
# JAX compiles each of its operations once a shape, so it is asked for these only.
SOME_LAYOUTS = [(0, 0), (1, 1), (2, 0)]
LAYOUTS = [(b, d) for b, d in itertools.product(range(4), repeat=2) if b + d <= 3]
NSE = 6


def raw(n_batch, n_dense, shape=SHAPE, dtype="f"):
    """Data and indices with places listed twice, and padding that is not zero."""
    rng = np.random.default_rng(n_batch + 10 * n_dense)
    end = len(shape) - n_dense
    sizes = shape[n_batch:end]
    indices = rng.integers(0, sizes, size=(*shape[:n_batch], NSE, len(sizes)))
    indices[..., -1, :] = sizes
    data = rng.normal(size=(*shape[:n_batch], NSE, *shape[end:])) * 3
    return data.astype(dtype), indices.astype(np.int32)


def ours(n_batch=0, n_dense=0, shape=SHAPE, dtype="f"):
    return sparse.BCOO(raw(n_batch, n_dense, shape, dtype), shape=shape)


def pair(n_batch=0, n_dense=0, shape=SHAPE, dtype="f"):
    """The same sparse array of ours and of JAX, which wants padding to be zero."""
    data, indices = raw(n_batch, n_dense, shape, dtype)
    if indices.shape[-1]:
        data[(slice(None),) * n_batch + (-1,)] = 0
    mine = sparse.BCOO((data, indices), shape=shape)
    return mine, theirs.BCOO((jaxnp.asarray(data), jaxnp.asarray(indices)), shape=shape)


def full(n_batch=0, n_dense=0, shape=SHAPE, dtype="f"):
    """The dense array of the sparse ones that `pair` gives."""
    data, indices = raw(n_batch, n_dense, shape, dtype)
    out = np.zeros(shape, dtype)
    sizes = shape[n_batch : len(shape) - n_dense]
    for at in np.ndindex(data.shape[: n_batch + 1]):
        place = indices[at]
        if (place < sizes).all():
            out[(*at[:-1], *place)] += data[at]
    return out


def dense(x):
    return np.asarray(x.todense() if hasattr(x, "todense") else x)


def same(got, want, tolerance=1e-5):
    assert hasattr(got, "indices") == hasattr(want, "indices")
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if hasattr(got, "indices"):
        assert (got.n_batch, got.n_dense) == (want.n_batch, want.n_dense)
    np.testing.assert_allclose(dense(got), dense(want), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["f", "i", "?", "F", "e"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_todense_adds_what_is_in_the_shape(layout, dtype):
    mine = ours(*layout, dtype=dtype)
    same(mine.todense(), full(*layout, dtype=dtype), 1e-2 if dtype == "e" else 1e-5)
    staged = funcgrad.jit(lambda mat: mat.todense())(mine)
    np.testing.assert_allclose(staged, mine.todense(), rtol=1e-2)


@pytest.mark.parametrize("layout", SOME_LAYOUTS)
def test_todense_and_repr_are_jaxs(layout):
    mine, jaxs = pair(*layout)
    same(mine.todense(), jaxs.todense())
    assert repr(mine) == repr(jaxs)


@pytest.mark.parametrize("layout, nse", [((0, 0), None), ((1, 1), 30)])
def test_fromdense_is_jaxs(layout, nse):
    n_batch, n_dense = layout
    array = np.where(RNG.random(SHAPE) < 0.4, RNG.normal(size=SHAPE), 0).astype("f")
    mine = sparse.bcoo_fromdense(array, nse=nse, n_batch=n_batch, n_dense=n_dense)
    jaxs = theirs.bcoo_fromdense(jaxnp.asarray(array), nse=nse, n_batch=n_batch, n_dense=n_dense)
    np.testing.assert_array_equal(mine.indices, jaxs.indices)
    np.testing.assert_array_equal(mine.data, jaxs.data)
    assert mine._info == tuple(jaxs._info)
    assert mine.indices.dtype == jaxs.indices.dtype


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fromdense_keeps_the_array(layout):
    n_batch, n_dense = layout
    array = np.where(RNG.random(SHAPE) < 0.4, RNG.normal(size=SHAPE), 0).astype("f")
    mine = sparse.BCOO.fromdense(array, n_batch=n_batch, n_dense=n_dense)
    assert (mine.n_batch, mine.n_dense) == layout
    np.testing.assert_array_equal(mine.todense(), array)
    staged = funcgrad.jit(lambda x: sparse.BCOO.fromdense(x, nse=30, n_batch=n_batch))(array)
    assert staged.nse == 30
    np.testing.assert_array_equal(staged.todense(), array)


ELEMENTWISE = {
    "negative": lambda m, a: -m,
    "positive": lambda m, a: +m,
    "scaled": lambda m, a: m * 2.5,
    "scaled on the left": lambda m, a: 2 * m,
    "divided": lambda m, a: m / 3,
    "divided by dense": lambda m, a: m / (a * a + 1),
    "times dense": lambda m, a: m * a,
    "dense times": lambda m, a: a * m,
    "times a row": lambda m, a: m * a[0, :1],
    "times a column": lambda m, a: m * a[:, :, :1],
    "plus itself": lambda m, a: m + m * 2.0,
    "minus": lambda m, a: m - m / 2,
    "plus dense": lambda m, a: m + a,
    "dense plus": lambda m, a: a + m,
    "dense minus": lambda m, a: a - m,
    "times itself": lambda m, a: m * m,
    "astype": lambda m, a: m.astype("float16"),
    "magnitude": lambda m, a: abs(m),
    "power": lambda m, a: m**3,
}


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_elementwise_is_numpys(layout, name):
    mine, wanted = ours(*layout), full(*layout)
    operation = ELEMENTWISE[name]
    array = np.random.default_rng(3).normal(size=SHAPE).astype("f")
    got = operation(mine, jnp.asarray(array))
    want = operation(wanted, array)
    assert got.dtype == want.dtype
    loose = 1e-2 if name == "astype" else 1e-5
    np.testing.assert_allclose(dense(got), want, rtol=10 * loose, atol=loose)
    if layout == (1, 1):
        staged = funcgrad.jit(operation)(mine, jnp.asarray(array))
        np.testing.assert_allclose(dense(staged), dense(got), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("layout", [(0, 0), (1, 1)])
def test_operators_give_what_jaxs_give(layout):
    mine, jaxs = pair(*layout)
    array = RNG.normal(size=SHAPE).astype("f")
    for name in ("scaled", "divided by dense", "times a row", "plus itself", "plus dense"):
        operation = ELEMENTWISE[name]
        same(operation(mine, jnp.asarray(array)), operation(jaxs, jaxnp.asarray(array)), 1e-2)


AXES = [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_reduce_sum_is_numpys(layout, axes):
    mine, wanted = ours(*layout), full(*layout)
    got, want = sparse.bcoo_reduce_sum(mine, axes=axes), wanted.sum(axes)
    np.testing.assert_allclose(got.todense(), want, rtol=1e-5, atol=1e-5)
    if axes:
        kept = mine.sum(axes, keepdims=True)
        np.testing.assert_allclose(
            dense(kept), wanted.sum(axes, keepdims=True), rtol=1e-5, atol=1e-5
        )
        np.testing.assert_allclose(dense(mine.sum(axes)), want, rtol=1e-5, atol=1e-5)
    assert mine.astype("int8").sum().dtype == wanted.astype("int32").dtype


@pytest.mark.parametrize("layout", LAYOUTS)
def test_transpose_is_numpys(layout):
    mine, wanted = ours(*layout), full(*layout)
    n_batch, end = layout[0], 3 - layout[1]
    done = 0
    for order in itertools.permutations(range(3)):
        kinds = [(axis >= n_batch) + (axis >= end) for axis in order]
        if kinds == sorted(kinds):
            got = mine.transpose(order)
            np.testing.assert_allclose(dense(got), wanted.transpose(order), rtol=1e-6)
            done += 1
        else:
            with pytest.raises(NotImplementedError, match="update_layout"):
                mine.transpose(order)
    assert done
    with pytest.raises(ValueError, match="no permutation"):
        mine.transpose((0, 0, 1))


@pytest.mark.parametrize("layout", SOME_LAYOUTS[1:2])
def test_sorting_and_duplicates_are_jaxs(layout):
    mine, jaxs = pair(*layout)
    in_order, jaxs_in_order = mine.sort_indices(), jaxs.sort_indices()
    if mine.n_sparse:
        np.testing.assert_array_equal(in_order.indices, jaxs_in_order.indices)
        np.testing.assert_array_equal(in_order.data, jaxs_in_order.data)
        assert in_order.indices_sorted
    same(in_order, mine)
    few, jaxs_few = mine.sum_duplicates(), jaxs.sum_duplicates()
    assert few.nse == jaxs_few.nse
    assert few._info == tuple(jaxs_few._info)
    np.testing.assert_array_equal(few.indices, jaxs_few.indices)
    same(few, jaxs_few)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_duplicates_are_added(layout):
    mine = ours(*layout)
    few = mine.sum_duplicates()
    np.testing.assert_allclose(few.todense(), full(*layout), rtol=1e-5, atol=1e-6)
    members = int(np.prod(few.batch_shape))
    places = np.asarray(few.indices).reshape(members, few.nse, few.n_sparse)
    ends = np.asarray(SHAPE[layout[0] : 3 - layout[1]])
    for member in places:
        kept = [tuple(place) for place in member if (place < ends).all()]
        assert kept == sorted(set(kept))
    staged = funcgrad.jit(lambda m: m.sum_duplicates(nse=5))(mine)
    assert staged.nse == 5
    np.testing.assert_allclose(staged.todense(), mine.todense(), rtol=1e-5, atol=1e-6)


def test_sum_duplicates_drops_zeros_unless_told():
    mat = sparse.BCOO((np.array([0.0, 2.0, 3.0], "f"), np.array([[0], [1], [1]])), shape=(3,))
    assert mat.sum_duplicates().nse == 1
    assert mat.sum_duplicates(remove_zeros=False).nse == 2
    with pytest.raises(ValueError, match="2 elements, more than nse=1"):
        mat.sum_duplicates(nse=1, remove_zeros=False)
    with pytest.raises(funcgrad.errors.ConcretizationTypeError, match="say nse"):
        funcgrad.jit(lambda m: m.sum_duplicates())(mat)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_extract_takes_each_place_once(layout):
    mine = ours(*layout)
    array = RNG.normal(size=SHAPE).astype("f")
    got = sparse.bcoo_extract(mine, array)
    listed = np.asarray(mine.with_data(jnp.ones_like(mine.data)).todense()) > 0
    np.testing.assert_allclose(got.todense(), np.where(listed, array, 0))


@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("layout", [(0, 0), (1, 1)])
def test_extract_is_jaxs(layout, unique):
    mine, jaxs = pair(*layout)
    array = RNG.normal(size=SHAPE).astype("f")
    got = sparse.bcoo_extract(mine, array, assume_unique=unique)
    same(got, theirs.bcoo_extract(jaxs, jaxnp.asarray(array), assume_unique=unique))
    with pytest.raises(ValueError, match=r"shape \(3, 4, 2\)"):
        sparse.bcoo_extract(mine, array[1:])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_update_layout_keeps_the_array(layout):
    mine, wanted = ours(*layout), full(*layout)
    for n_batch, n_dense in LAYOUTS:
        wanted = {"n_batch": n_batch, "n_dense": n_dense}
        new = sparse.bcoo_update_layout(mine, **wanted, on_inefficient=None)
        assert (new.n_batch, new.n_dense) == (n_batch, n_dense)
        np.testing.assert_allclose(new.todense(), mine.todense(), rtol=1e-5, atol=1e-6)
        if layout == (1, 1):
            new = funcgrad.jit(lambda m, w=wanted: m.update_layout(**w, on_inefficient=None))(mine)
            np.testing.assert_allclose(new.todense(), mine.todense(), rtol=1e-5, atol=1e-6)
        if n_batch > layout[0] or n_dense > layout[1]:
            with pytest.raises(sparse.SparseEfficiencyError, match="on_inefficient=None"):
                mine.update_layout(**wanted)
            with pytest.warns(sparse.SparseEfficiencyWarning):
                mine.update_layout(**wanted, on_inefficient="warn")
    with pytest.raises(ValueError, match="do not fit"):
        mine.update_layout(n_batch=2, n_dense=2)
    with pytest.raises(ValueError, match="'error', 'warn' or None"):
        mine.update_layout(n_batch=0, on_inefficient="maybe")


def dot_general(left, right, numbers):
    """lax.dot_general by NumPy."""
    (left_axes, right_axes), (left_batch, right_batch) = numbers
    names = list(range(left.ndim))
    others = [left.ndim + axis for axis in range(right.ndim)]
    for mine, other in zip((*left_axes, *left_batch), (*right_axes, *right_batch), strict=True):
        others[other] = names[mine]
    shared = [names[axis] for axis in left_batch]
    met = {*shared, *(names[axis] for axis in left_axes)}
    free = [name for name in (*names, *others) if name not in met]
    return np.einsum(left, names, right, others, [*shared, *free])


def dot_cases():
    """Shapes and dimension numbers for products with the arrays of every layout."""
    for contracting in AXES:
        for batch in ((), (0,), (0, 1)):
            if not set(batch) & set(contracting):
                yield contracting, batch


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dot_general_with_dense_is_right(layout):
    mine, wanted = ours(*layout), full(*layout)
    for contracting, batch in dot_cases():
        other = RNG.normal(size=[*(SHAPE[a] for a in contracting), 5, *(SHAPE[a] for a in batch)])
        other = other.astype("f")
        count = len(contracting)
        right = tuple(range(count)), tuple(range(count + 1, other.ndim))
        numbers = ((contracting, right[0]), (batch, right[1]))
        swapped = ((right[0], contracting), (right[1], batch))
        if any(axis >= mine.n_batch for axis in batch):
            with pytest.raises(NotImplementedError, match="batch axes"):
                sparse.bcoo_dot_general(mine, other, dimension_numbers=numbers)
            continue
        for left, right, axes in ((mine, other, numbers), (other, mine, swapped)):
            got = sparse.bcoo_dot_general(left, right, dimension_numbers=axes)
            facts = (wanted if left is mine else left, wanted if right is mine else right)
            want = dot_general(*facts, axes)
            same(got, want, 1e-4)


@pytest.mark.parametrize("contracting", [((), ()), ((1,), (1,)), ((2,), (2,)), ((1, 2), (1, 2))])
@pytest.mark.parametrize("n_batch", [0, 1])
def test_dot_general_of_sparse_arrays_is_jaxs(n_batch, contracting):
    mine, jaxs = pair(n_batch)
    other, jaxs_other = pair(n_batch, 0, (3, 4, 2))
    other, jaxs_other = other * 2.0 + other, jaxs_other * 2.0 + jaxs_other
    batch = (tuple(range(n_batch)),) * 2
    got = sparse.bcoo_dot_general(mine, other, dimension_numbers=(contracting, batch))
    exact = dot_general(dense(mine), dense(other), (contracting, batch))
    np.testing.assert_allclose(got.todense(), exact, rtol=1e-4, atol=1e-4)
    if n_batch or contracting != ((2,), (2,)):
        return
    want = theirs.bcoo_dot_general(jaxs, jaxs_other, dimension_numbers=(contracting, batch))
    same(got, want, 1e-4)


def test_dot_general_of_free_batch_axes():
    mine, wanted = ours(1), full(1)
    numbers = (((1, 2), (1, 2)), ((), ()))
    got = sparse.bcoo_dot_general(mine, mine, dimension_numbers=numbers)
    assert got.n_batch == 2
    exact = dot_general(wanted, wanted, numbers)
    np.testing.assert_allclose(got.todense(), exact, rtol=1e-4, atol=1e-4)
    with pytest.raises(NotImplementedError, match="after sparse ones"):
        sparse.bcoo_dot_general(mine, mine, dimension_numbers=(((1,), (1,)), ((), ())))
    with pytest.raises(NotImplementedError, match="contracted batch axes"):
        sparse.bcoo_dot_general(mine, mine, dimension_numbers=(((0,), (0,)), ((), ())))


def test_preferred_element_type_is_the_results():
    mine, _ = pair(dtype="e")
    numbers = (((2,), (0,)), ((), ()))
    right = np.ones((2, 3), np.float16)
    for other in (right, sparse.BCOO.fromdense(right)):
        got = sparse.bcoo_dot_general(
            mine, other, dimension_numbers=numbers, preferred_element_type=np.float32
        )
        assert got.dtype == np.float32
        np.testing.assert_allclose(dense(got), mine.astype("f").todense() @ right, rtol=1e-3)


MATMULS = [
    ((5, 4), (4,), 0),
    ((5, 4), (4, 3), 0),
    ((4,), (4, 3), 0),
    ((4,), (4,), 0),
    ((2, 5, 4), (4, 3), 1),
    ((2, 5, 4), (4,), 1),
    ((2, 5, 4), (2, 4, 3), 1),
    ((2, 5, 4), (6, 2, 4, 3), 1),
    ((2, 5, 4), (1, 4, 3), 1),
    ((1, 5, 4), (2, 4, 3), 1),
    ((5, 4), (2, 4, 3), 0),
    ((2, 3, 5, 4), (3, 4, 2), 2),
    ((4,), (2, 4, 3), 0),
]


@pytest.mark.parametrize("left, right, n_batch", MATMULS, ids=str)
def test_matmul_is_numpys(left, right, n_batch):
    a, b = RNG.normal(size=left).astype("f"), RNG.normal(size=right).astype("f")
    a[..., 1] = 0
    same(sparse.BCOO.fromdense(a, n_batch=n_batch) @ b, np.asarray(a @ b), 1e-4)
    b_batch = max(0, b.ndim - 2)
    same(a @ sparse.BCOO.fromdense(b, n_batch=b_batch), np.asarray(a @ b), 1e-4)
    if left[:-2] == right[:-2]:
        both = sparse.BCOO.fromdense(a, n_batch=n_batch) @ sparse.BCOO.fromdense(b, n_batch=b_batch)
        assert isinstance(both, sparse.BCOO)
        np.testing.assert_allclose(both.todense(), a @ b, rtol=1e-4, atol=1e-4)


def test_numpy_arrays_and_numbers_leave_the_operator_to_sparse_arrays():
    mat = sparse.eye(3)
    assert isinstance(np.ones((2, 3), "f") @ mat, funcgrad.Array)
    assert isinstance(np.float32(2) * mat, sparse.BCOO)
    assert isinstance(np.ones((3, 3), "f") * mat, sparse.BCOO)
    np.testing.assert_array_equal(np.ones((3, 3), "f") - mat, np.ones((3, 3)) - np.eye(3))


RESHAPES = [((24,), 0, 0), ((2, 12), 0, 0), ((3, 8), 1, 0), ((1, 3, 2, 4), 1, 0),
            ((12, 2), 0, 1), ((2, 6, 2), 0, 1), ((12, 2), 2, 0), ((3, 2, 2, 2), 1, 1)]  # fmt: skip


@pytest.mark.parametrize("sizes, n_batch, n_dense", RESHAPES)
def test_reshape_keeps_the_order(sizes, n_batch, n_dense):
    mine, wanted = ours(n_batch, n_dense), full(n_batch, n_dense)
    got = mine.reshape(sizes)
    np.testing.assert_allclose(got.todense(), wanted.reshape(sizes), rtol=1e-6)
    assert got.n_dense == n_dense
    assert mine.reshape(*sizes).shape == sizes
    staged = funcgrad.jit(lambda m: sparse.bcoo_reshape(m, new_sizes=sizes))(mine)
    np.testing.assert_allclose(staged.todense(), got.todense())


def test_reshape_takes_dimensions_orders_and_minus_one():
    mine, jaxs = pair()
    got = sparse.bcoo_reshape(mine, new_sizes=(8, 3), dimensions=(2, 1, 0))
    want = theirs.bcoo_reshape(jaxs, new_sizes=(8, 3), dimensions=(2, 1, 0))
    same(got, want)
    same(mine.reshape(-1, 4), jaxs.reshape(-1, 4))
    same(mine.reshape((6, 4), order="F"), jaxs.reshape((6, 4), order="F"))
    with pytest.raises(TypeError, match=r"\(3, 4, 2\) does not reshape to \(5,\)"):
        mine.reshape(5)
    with pytest.raises(NotImplementedError, match="update_layout"):
        pair(1)[0].reshape(12, 2)
    with pytest.raises(ValueError, match="int32 indices cannot count"):
        sparse.empty((2**20, 2**20), nse=1).reshape(2**40)


INDICES = [
    np.s_[0], np.s_[-1], np.s_[1, 2], np.s_[1, 2, 1], np.s_[1:], np.s_[:, 1:3], np.s_[..., 0],
    np.s_[::2, ::-1], np.s_[None], np.s_[:, None, 1], np.s_[..., None], np.s_[2:0:-1, ..., ::2],
    np.s_[1:1], np.s_[:], np.s_[...], np.s_[None, 1, ..., None, 0], np.s_[np.int32(1), :, -1:],
]  # fmt: skip


@pytest.mark.parametrize("idx", INDICES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_indexing_is_numpys(layout, idx):
    mine, wanted = ours(*layout), full(*layout)
    got = mine[idx]
    np.testing.assert_allclose(got.todense(), wanted[idx], rtol=1e-5, atol=1e-6)
    if layout == (1, 1):
        staged = funcgrad.jit(lambda m: m[idx])(mine)
        np.testing.assert_allclose(staged.todense(), got.todense(), rtol=1e-5, atol=1e-6)


def test_indexing_errors_and_iteration():
    mine, wanted = ours(), full()
    for row, expected in zip(mine, wanted, strict=True):
        np.testing.assert_allclose(row.todense(), expected, rtol=1e-6)
    assert len(mine) == 3
    for idx, error, text in [
        (5, IndexError, "index 5 is outside an axis of size 3"),
        ((0, 0, 0, 0), IndexError, "4 axes"),
        ((..., ...), IndexError, "more than one ellipsis"),
        (np.array([0, 1]), NotImplementedError, "integers, slices"),
        (True, NotImplementedError, "booleans"),
    ]:
        with pytest.raises(error, match=text):
            mine[idx]
    with pytest.raises(NotImplementedError, match="bcoo_dynamic_slice"):
        funcgrad.jit(lambda m, k: m[k])(mine, 1)
    with pytest.raises(TypeError, match="without axes"):
        len(mine[0, 0, 0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dynamic_slice_and_rev(layout):
    mine, wanted = ours(*layout), full(*layout)
    sizes = (2, 3, 1)
    take = funcgrad.jit(lambda m, *s: sparse.bcoo_dynamic_slice(m, s, sizes))
    for starts in [(0, 0, 0), (1, 1, 1), (2, 3, -4)]:
        fit = [max(0, min(s, n - k)) for s, n, k in zip(starts, SHAPE, sizes, strict=True)]
        want = wanted[tuple(slice(s, s + k) for s, k in zip(fit, sizes, strict=True))]
        np.testing.assert_allclose(take(mine, *starts).todense(), want, rtol=1e-6)
    for axes in AXES:
        got = sparse.bcoo_rev(mine, axes)
        np.testing.assert_allclose(got.todense(), np.flip(wanted, axes), rtol=1e-6)
    with pytest.raises(TypeError, match="does not fit"):
        sparse.bcoo_dynamic_slice(mine, (0, 0, 0), (4, 1, 1))
    with pytest.raises(TypeError, match="strides"):
        sparse.bcoo_slice(mine, start_indices=(0, 0, 0), limit_indices=(9, 1, 1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_concatenate_is_numpys(layout):
    mine = ours(*layout)
    for axis in range(3 - layout[1]):
        parts = [mine, mine[1:] * 2.0 if axis == 0 else mine * 2.0]
        arrays = [dense(part) for part in parts]
        got = sparse.bcoo_concatenate(parts, dimension=axis)
        np.testing.assert_allclose(
            got.todense(), np.concatenate(arrays, axis), rtol=1e-5, atol=1e-6
        )
    if layout[1]:
        with pytest.raises(NotImplementedError, match="dense axis 2"):
            sparse.bcoo_concatenate([mine, mine], dimension=2)
    with pytest.raises(ValueError, match="one layout"):
        sparse.bcoo_concatenate([mine, mine[:, :1]], dimension=2)
    with pytest.raises(ValueError, match="at least one"):
        sparse.bcoo_concatenate([], dimension=0)


BROADCASTS = [((5, 3, 4, 2), (1, 2, 3)), ((3, 5, 4, 2), (0, 2, 3)), ((3, 4, 5, 2), (0, 1, 3)),
              ((3, 4, 2, 5), (0, 1, 2)), ((2, 3, 1, 4, 2, 3), (1, 3, 4))]  # fmt: skip


@pytest.mark.parametrize("shape, to", BROADCASTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_broadcast_in_dim_repeats(layout, shape, to):
    mine, wanted = ours(*layout), full(*layout)
    got = sparse.bcoo_broadcast_in_dim(mine, shape=shape, broadcast_dimensions=to)
    sizes = [SHAPE[to.index(axis)] if axis in to else 1 for axis in range(len(shape))]
    want = np.broadcast_to(wanted.reshape(sizes), shape)
    np.testing.assert_allclose(got.todense(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_axes_of_size_one_stretch_and_go(layout):
    one = (1, 4, 1)
    mine, wanted = ours(*layout, shape=one), full(*layout, shape=one)
    got = sparse.bcoo_broadcast_in_dim(mine, shape=(2, 4, 3), broadcast_dimensions=(0, 1, 2))
    np.testing.assert_allclose(
        got.todense(), np.broadcast_to(wanted, (2, 4, 3)), rtol=1e-5, atol=1e-6
    )
    for axes in [(0,), (2,), (0, 2), ()]:
        got = sparse.bcoo_squeeze(mine, dimensions=axes)
        np.testing.assert_allclose(got.todense(), wanted.squeeze(axes), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="size 1"):
        sparse.bcoo_squeeze(mine, dimensions=(1,))
    with pytest.raises(ValueError, match="does not broadcast"):
        sparse.bcoo_broadcast_in_dim(mine, shape=(4, 4, 1), broadcast_dimensions=(1, 0, 2))


def test_arrays_of_other_shapes_broadcast():
    mine = ours()
    row = mine[0, :1]
    for got, want in [
        (mine * row, dense(mine) * dense(row)),
        (mine + row, dense(mine) + dense(row)),
        (mine + ours(1), dense(mine) + dense(ours(1))),
        (mine * ours(0, 1), dense(mine) * dense(ours(0, 1))),
    ]:
        assert isinstance(got, sparse.BCOO)
        np.testing.assert_allclose(got.todense(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", [(1, 0), (1, 1), (2, 0), (2, 1)])
def test_vmap_over_batch_axes_is_a_loop(layout):
    mine, wanted = ours(*layout), full(*layout)
    v = RNG.normal(size=(2,)).astype("f")
    inner = []

    def product(mat):
        inner.append(mat)
        return mat @ v if mat.n_dense == 0 else mat.todense() @ v

    got = funcgrad.vmap(product)(mine)
    assert inner[0].shape == (4, 2)
    assert inner[0].n_batch == layout[0] - 1
    np.testing.assert_allclose(got, wanted @ v, rtol=1e-4, atol=1e-5)
    doubled = funcgrad.vmap(lambda mat: mat * 2.0)(mine)
    same(doubled, mine * 2.0)
    assert doubled.shape == SHAPE
    first = funcgrad.jit(funcgrad.vmap(lambda mat: mat[0]))(mine)
    np.testing.assert_allclose(dense(first), wanted[:, 0], rtol=1e-5, atol=1e-6)
    if layout[0] == 2:
        swapped = funcgrad.vmap(lambda mat: mat * 2.0, 1, 0)(mine)
        np.testing.assert_allclose(dense(swapped), 2 * wanted.swapaxes(0, 1), rtol=1e-5)
        swapped = funcgrad.vmap(lambda mat: mat * 2.0, 0, 1)(mine)
        np.testing.assert_allclose(dense(swapped), 2 * wanted.swapaxes(0, 1), rtol=1e-5)


def test_vmap_makes_batches_and_unbatched_arguments_stay():
    mat, _ = pair()
    scales = np.arange(3, dtype="f")
    got = funcgrad.vmap(lambda s: mat * s)(scales)
    assert got.shape == (3, *SHAPE)
    assert got.n_batch == 1
    np.testing.assert_allclose(got.todense(), dense(mat) * scales[:, None, None, None], rtol=1e-6)
    got = funcgrad.vmap(lambda m, s: (m * s).sum(), (None, 0))(mat, scales)
    np.testing.assert_allclose(got, dense(mat).sum() * scales, rtol=1e-5)


def test_vmap_over_axes_that_are_not_batched_is_an_error():
    for mat, in_axes, out_axes in [(ours(), 0, 0), (ours(1), 1, 0), (ours(1), 0, 1)]:
        with pytest.raises(ValueError, match="BCOO of shape"):
            funcgrad.vmap(lambda m: m * 2.0, in_axes, out_axes)(mat).todense()


def test_shared_batch_axes_are_of_full_size():
    data, indices = np.ones((1, 2), "f"), np.array([[[0], [2]]])
    mine = sparse.BCOO((data, indices), shape=(4, 3))
    jaxs = theirs.BCOO((jaxnp.asarray(data), jaxnp.asarray(indices)), shape=(4, 3))
    same(mine.todense(), jaxs.todense())
    np.testing.assert_allclose(mine.sum(0).todense(), [4, 0, 4])
    np.testing.assert_allclose(mine @ np.ones(3, "f"), np.full(4, 2.0))


GRADS = {
    "product": lambda m, w: (m @ w[:2, :2]).sum(2) if m.ndim == 3 else m,
    "dense": lambda m, w: m.todense() ** 2,
    "elements": lambda m, w: (m * m * 2.0).todense(),
    "sum": lambda m, w: m.sum((0, 1)).todense() ** 2,
    "slice": lambda m, w: m[1:, ::2].todense() ** 3,
    "duplicates": lambda m, w: m.sum_duplicates(nse=24).todense() ** 2,
    "divided": lambda m, w: (m / w[:, :2]).todense() ** 2,
    "moved": lambda m, w: m.reshape(8, 3).T.todense() ** 2,
}


@pytest.mark.parametrize("name", GRADS)
def test_gradient_by_data_is_that_of_the_dense_array(name):
    mine = ours()
    w = RNG.normal(size=(4, 4)).astype("f")
    f = GRADS[name]
    scalar = lambda m: jnp.sum(f(m, jnp.asarray(w)) ** 2)
    got = sparse.grad(scalar)(mine)
    assert isinstance(got, sparse.BCOO)
    assert got._info == mine._info
    by_dense = funcgrad.grad(lambda x: scalar(sparse.BCOO.fromdense(x, nse=24)))(mine.todense() + 1)
    shifted = sparse.BCOO.fromdense(mine.todense() + 1, nse=24)
    got_full = sparse.grad(scalar)(shifted)
    np.testing.assert_allclose(got_full.todense(), by_dense, rtol=1e-3, atol=1e-3)
    by_data = lambda d: scalar(sparse.BCOO((d, mine.indices), shape=SHAPE))
    np.testing.assert_allclose(got.data, funcgrad.grad(by_data)(mine.data), rtol=1e-4, atol=1e-4)
    assert got.data[-1] == 0
    step = RNG.normal(size=NSE).astype("f")
    with funcgrad.experimental.enable_x64():
        wide = jnp.asarray(np.float64(mine.data))
        slope = (by_data(wide + 1e-6 * step) - by_data(wide - 1e-6 * step)) / 2e-6
        exact = jnp.vdot(funcgrad.grad(by_data)(wide), step)
        np.testing.assert_allclose(exact, slope, rtol=1e-5, atol=1e-4)
    jitted = funcgrad.jit(sparse.grad(scalar))(mine)
    np.testing.assert_allclose(jitted.data, got.data, rtol=1e-4, atol=1e-4)


def test_gradients_are_jaxs():
    mine, jaxs = pair(shape=(4, 3))
    v, jv = jnp.arange(3.0), jaxnp.arange(3.0)
    for got, want in [
        (sparse.grad(lambda m, x: ((m @ x) ** 2).sum())(mine, v),
         theirs.grad(lambda m, x: ((m @ x) ** 2).sum())(jaxs, jv)),
        (sparse.jacfwd(lambda m, x: m @ x)(mine, v), theirs.jacfwd(lambda m, x: m @ x)(jaxs, jv)),
        (sparse.jacrev(lambda m, x: m @ x)(mine, v), theirs.jacrev(lambda m, x: m @ x)(jaxs, jv)),
        (sparse.jacrev(lambda m, x: m @ x, argnums=-1)(mine, v),
         theirs.jacrev(lambda m, x: m @ x, argnums=1)(jaxs, jv)),
    ]:  # fmt: skip
        same(got, want, 1e-4)
    value, (by_mat, by_vector) = sparse.value_and_grad(lambda m, x: (m @ x).sum(), (0, 1))(mine, v)
    jax_value, jax_grads = theirs.value_and_grad(lambda m, x: (m @ x).sum(), (0, 1))(jaxs, jv)
    np.testing.assert_allclose(value, jax_value, rtol=1e-5)
    same(by_mat, jax_grads[0], 1e-4)
    same(by_vector, jax_grads[1], 1e-4)
    hessian = sparse.jacfwd(lambda m: sparse.grad(lambda n: ((n @ v) ** 2).sum())(m).data)(mine)
    exact = funcgrad.hessian(
        lambda d: ((sparse.BCOO((d, mine.indices), shape=(4, 3)) @ v) ** 2).sum()
    )(mine.data)
    np.testing.assert_allclose(hessian.data, exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("derive", [sparse.jacfwd, sparse.jacrev])
def test_jacobians_of_trees(derive):
    mine, _ = pair(1, shape=(4, 3))
    w = jnp.arange(6.0).reshape(3, 2)
    tree = {"mat": mine, "bias": jnp.ones(2)}
    f = lambda p: ({"out": p["mat"] @ w + p["bias"]}, 7)
    rows, aux = derive(f, has_aux=True)(tree)
    assert aux == 7
    assert rows["out"]["mat"].shape == (4, 2, 4, 3)
    assert rows["out"]["mat"].n_batch == 3
    dense_f = lambda m: m @ w
    exact = funcgrad.jacrev(dense_f)(mine.todense())
    found = rows["out"]["mat"].indices
    at = np.arange(4)[None, None, :, None]
    values = np.asarray(exact)[
        np.arange(4)[:, None, None, None],
        np.arange(2)[None, :, None, None],
        at,
        np.minimum(found[..., 0], 2),
    ]
    values = np.where(np.asarray(found[..., 0]) < 3, values, 0)
    np.testing.assert_allclose(rows["out"]["mat"].data, values, rtol=1e-5)
    np.testing.assert_allclose(rows["out"]["bias"][:, 0, 0], np.ones(4))
    with pytest.raises(NotImplementedError, match="todense"):
        derive(lambda m: m * 2.0)(mine)
    with pytest.raises(ValueError, match="argnums=3"):
        derive(lambda m: m @ w, argnums=3)(mine)


def test_gradient_errors():
    with pytest.raises(TypeError, match="int32"):
        sparse.grad(lambda m: m.sum())(sparse.eye(2).astype("int32"))
    with pytest.raises(TypeError):
        sparse.grad(lambda m: m @ jnp.ones(2))(sparse.eye(2))
    with pytest.raises(TypeError):
        sparse.grad(3)


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array"])
def test_from_scipy_is_jaxs(kind):
    array = np.where(RNG.random((4, 5)) < 0.5, RNG.normal(size=(4, 5)), 0).astype("f")
    matrix = getattr(scipy.sparse, kind)(array)
    mine, jaxs = sparse.BCOO.from_scipy_sparse(matrix), theirs.BCOO.from_scipy_sparse(matrix)
    np.testing.assert_array_equal(mine.indices, jaxs.indices)
    np.testing.assert_array_equal(mine.data, jaxs.data)
    assert mine.indices.dtype == jaxs.indices.dtype
    assert mine._info == tuple(jaxs._info)
    assert sparse.BCOO.from_scipy_sparse(matrix, index_dtype="int16").indices.dtype == np.int16
    with pytest.raises(NotImplementedError, match="update_layout"):
        sparse.BCOO.from_scipy_sparse(matrix, n_batch=1)


@pytest.mark.parametrize("kwargs", [{}, {"n_batch": 1}, {"n_dense": 1}, {"n_batch": 2},
                                    {"n_batch": 1, "n_dense": 1}, {"n_dense": 2}])  # fmt: skip
@pytest.mark.parametrize("size", [(3, None, 0), (3, 5, 1), (4, 2, -1), (3, 3, 7), (2, 5, -4)])
def test_eye_is_numpys(size, kwargs):
    rows, columns, k = size
    mine = sparse.eye(rows, columns, k, **kwargs)
    np.testing.assert_array_equal(mine.todense(), np.eye(rows, columns, k))
    assert (mine.n_batch, mine.n_dense) == (kwargs.get("n_batch", 0), kwargs.get("n_dense", 0))


@pytest.mark.parametrize("kwargs", [{}, {"n_batch": 1}])
@pytest.mark.parametrize("size", [(3, 5, 1)])
def test_eye_and_empty_are_jaxs(size, kwargs):
    rows, columns, k = size
    mine, jaxs = sparse.eye(rows, columns, k, **kwargs), theirs.eye(rows, columns, k, **kwargs)
    assert (mine.n_batch, mine.n_dense) == (jaxs.n_batch, jaxs.n_dense)
    assert mine.indices_sorted
    np.testing.assert_array_equal(mine.todense(), np.eye(rows, columns, k))
    shape = (rows, columns or 2)
    mine, jaxs = sparse.empty(shape, "int8", nse=2, **kwargs), theirs.empty(shape, "int8", nse=2,
                                                                           **kwargs)  # fmt: skip
    same(mine, jaxs)
    assert mine.nse == jaxs.nse == 2
    np.testing.assert_array_equal(mine.indices, jaxs.indices)


def test_formats_that_are_not_there():
    with pytest.raises(NotImplementedError, match="only 'bcoo'"):
        sparse.eye(3, sparse_format="csr")
    with pytest.raises(ValueError, match="no format"):
        sparse.empty((3,), sparse_format="dense")
    with pytest.raises(ValueError, match="do not fit"):
        sparse.empty((3,), n_batch=2)


@pytest.mark.parametrize("kwargs", [
    {"nse": 3}, {"n_batch": 1, "n_dense": 1, "nse": 0.5, "dtype": "float16"},
    {"unique_indices": False, "nse": 5, "sorted_indices": True},
])  # fmt: skip
def test_random_bcoo_is_jaxs_bit_for_bit(kwargs):
    mine = sparse.random_bcoo(funcgrad.random.key(3), SHAPE, **kwargs)
    given = {"dtype": "float32", **kwargs}
    jaxs = theirs.random_bcoo(jax.random.key(3), SHAPE, **given)
    np.testing.assert_array_equal(mine.indices, jaxs.indices)
    np.testing.assert_array_equal(mine.data, jaxs.data)
    assert mine.indices.dtype == jaxs.indices.dtype
    assert mine._info == tuple(jaxs._info)
    normal = sparse.random_bcoo(
        funcgrad.random.key(3), SHAPE, generator=funcgrad.random.normal, **kwargs
    )
    assert (np.asarray(normal.data) < 0).any()


def test_random_bcoo_errors():
    key = funcgrad.random.key(0)
    with pytest.raises(ValueError, match="nse=24"):
        sparse.random_bcoo(key, SHAPE, nse=24)
    with pytest.raises(ValueError, match="int8 indices cannot count"):
        sparse.random_bcoo(key, (20, 20), indices_dtype="int8")


def test_padding_of_any_value_counts_for_nothing():
    data, indices = np.array([1.0, np.nan, np.inf], "f"), np.array([[0, 1], [2, 2], [0, 2]])
    mat = sparse.BCOO((data, indices), shape=(2, 2))
    want = np.array([[0.0, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(mat.todense(), want)
    np.testing.assert_array_equal(mat @ np.ones(2, "f"), want @ np.ones(2))
    np.testing.assert_array_equal((mat @ mat.T).todense(), want @ want.T)
    np.testing.assert_array_equal(mat.sum(), 1)
    np.testing.assert_array_equal(mat.sum(0).todense(), [0, 1])
    np.testing.assert_array_equal((mat * mat).todense(), want)
    np.testing.assert_array_equal(mat.sum_duplicates().todense(), want)
    np.testing.assert_array_equal(mat[0].todense(), want[0])
    np.testing.assert_array_equal(mat.reshape(4).todense(), want.reshape(4))
    np.testing.assert_array_equal(mat.sum((0, 1)), 1)
    np.testing.assert_array_equal(sparse.grad(lambda m: m.todense().sum())(mat).data, [1, 0, 0])
    np.testing.assert_array_equal(
        sparse.grad(lambda m: (m / jnp.ones((2, 2))).sum())(mat).data, [1, 0, 0]
    )


def test_arrays_are_pytrees():
    mat = sparse.eye(3)
    leaves, tree = funcgrad.tree.flatten(mat)
    assert [leaf.shape for leaf in leaves] == [(3,), (3, 2)]
    again = funcgrad.tree.unflatten(tree, leaves)
    assert isinstance(again, sparse.BCOO)
    assert again._info == mat._info
    assert funcgrad.tree.map(lambda x: x.shape, mat).data == (3,)
    assert repr(funcgrad.tree.map(lambda x: None, mat)).startswith("BCOO(None")
    carry, _ = funcgrad.lax.scan(lambda m, _: (m * 2.0, None), mat, length=3)
    np.testing.assert_array_equal(carry.todense(), 8 * np.eye(3))
    assert isinstance(mat, sparse.JAXSparse)
    assert (mat.ndim, mat.size, mat.nse, mat.n_sparse) == (2, 9, 3, 2)
    assert mat.block_until_ready() is mat
    np.testing.assert_array_equal(sparse.todense(mat), np.eye(3))
    np.testing.assert_array_equal(sparse.todense(np.eye(3)), np.eye(3))


@pytest.mark.parametrize("data, indices, shape, error, text", [
    ((3,), (2, 1), (4,), ValueError, "disagree"),
    ((3,), (3,), (4,), ValueError, r"\[\*batch, nse, n_sparse\]"),
    ((3,), (3, 1), (4, 4), ValueError, "1 dense axes"),
    ((3, 2), (3, 1), (4, 4), ValueError, "end the shape"),
    ((2, 3), (3, 3, 1), (3, 4), ValueError, "size of the shape, or 1"),
])  # fmt: skip
def test_parts_must_fit(data, indices, shape, error, text):
    with pytest.raises(error, match=text):
        sparse.BCOO((np.ones(data), np.zeros(indices, int)), shape=shape)


def test_operator_errors():
    mat = sparse.eye(2, 3)
    for run, error, text in [
        (lambda: mat @ jnp.ones(2), TypeError, "different sizes"),
        (lambda: mat @ 2.0, ValueError, "no scalars"),
        (lambda: mat * jnp.ones(4), ValueError, "4"),
        (lambda: mat * jnp.ones((2, 2, 3)), NotImplementedError, "another shape"),
        (lambda: mat + 1, NotImplementedError, "todense"),
        (lambda: mat / mat, NotImplementedError, "nan nearly everywhere"),
        (lambda: 2.0 / mat, NotImplementedError, "divide by its todense"),
        (lambda: 2.0**mat, NotImplementedError, "not sparse"),
        (lambda: mat == mat, NotImplementedError, "not sparse"),
        (lambda: hash(mat), TypeError, "unhashable"),
        (lambda: mat**0, NotImplementedError, "positive integers"),
        (lambda: mat**0.5, NotImplementedError, "positive integers"),
        (lambda: sparse.BCOO((jnp.ones(1), jnp.ones((1, 1))), shape=(2,)), TypeError, "integers"),
        (lambda: sparse.BCOO.fromdense(jnp.ones(3), nse=2), ValueError, "more than nse=2"),
        (lambda: sparse.BCOO.fromdense(jnp.ones(3), n_batch=2), ValueError, "n_batch=2"),
        (lambda: sparse.bcoo_dot_general(jnp.ones(2), jnp.ones(2), dimension_numbers=(
            ((0,), (0,)), ((), ()))), TypeError, "at least one sparse"),
    ]:  # fmt: skip
        with pytest.raises(error, match=text):
            run()
    with pytest.raises(funcgrad.errors.ConcretizationTypeError, match="say nse"):
        funcgrad.jit(sparse.BCOO.fromdense)(jnp.ones(3))
