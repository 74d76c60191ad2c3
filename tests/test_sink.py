"""Sums and products taken out of scans: the values stay, and there is one product of all turns."""

from typing import Any

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import funcgrad as fg
from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base.config import enable_checks, enable_x64
from funcgrad.compiler.llvm import engine
from funcgrad.compiler.passes import sink
from funcgrad.compiler.pipeline import optimise
from tests.oracle import assert_near

WIDTH = 6
BATCH = 4
needs_compiler = pytest.mark.skipif(not engine.available(), reason="NumPy plans no memory")


def draws(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=shape)
    return (values * 0.5 if np.dtype(dtype).kind == "f" else values * 1e9).astype(dtype)


def weights(rows: int = WIDTH, width: int = WIDTH, dtype: Any = np.float32) -> dict[str, Any]:
    shapes = {"of_x": (rows, width), "of_h": (width, width), "bias": (width,)}
    return {name: draws(*s, seed=i, dtype=dtype) for i, (name, s) in enumerate(shapes.items())}


def cell(np_like, p, h, x):
    return np_like.tanh(x @ p["of_x"] + h @ p["of_h"] + p["bias"])


def loss(p, xs, h, lib=fg, **kwargs):
    """A recurrent network's, whose turns all take part in it."""

    def turn(h, x):
        h = cell(lib.numpy, p, h, x)
        return h, h

    last, hs = lib.lax.scan(turn, h, xs, **kwargs)
    return (hs * lib.numpy.cos(hs)).sum() + last.sum()


def loss_by_hand(p, xs, h, reverse=False):
    """The same without a scan, and so without anything to take out of one."""
    total = 0.0
    for i in reversed(range(len(xs))) if reverse else range(len(xs)):
        h = cell(jnp, p, h, xs[i])
        total += (h * jnp.cos(h)).sum()
    return total + h.sum()


def optimised(f, *args):
    return optimise(fg.make_jaxpr(f)(*args))


def scans(program):
    return [eqn for eqn in program.eqns if eqn.primitive.name == "scan"]


def products(program):
    return [eqn for eqn in program.eqns if eqn.primitive.name == "dot_general"]


def inside(program):
    """How many products there are in a turn of each scan."""
    return [len(products(eqn.params["jaxpr"])) for eqn in scans(program)]


def contracted(eqn):
    """The lengths of the axes that a product sums over."""
    ((axes, _), _) = eqn.params["dimension_numbers"]
    return [eqn.invars[0].aval.shape[axis] for axis in axes]


def assert_same(found, wanted, error=1.0):
    assert fg.tree.structure(found) == fg.tree.structure(jax.tree.map(np.asarray, wanted))
    for a, b in zip(fg.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert_near(np.asarray(a), np.asarray(b), error, "")


# what becomes of programs


def test_the_gradients_of_weights_are_one_product_each():
    xs, h = draws(9, BATCH, WIDTH, seed=5), draws(BATCH, WIDTH, seed=6)
    program = optimised(fg.grad(loss), weights(), xs, h)
    # What is left in both scans is the product with the state; two weights have a gradient each,
    # and the product with x is before the scan.
    assert inside(program) == [1, 1]
    assert sorted(map(contracted, products(program))) == [[WIDTH], [9, BATCH], [9, BATCH]]
    assert [eqn.params["num_carry"] for eqn in scans(program)] == [1, 1]


def test_the_gradients_of_inputs_are_one_product():
    xs, h = draws(9, BATCH, WIDTH, seed=5), draws(BATCH, WIDTH, seed=6)
    program = optimised(fg.grad(loss, (0, 1)), weights(), xs, h)
    assert inside(program) == [1, 1]
    assert sorted(map(contracted, products(program)))[:2] == [[WIDTH], [WIDTH]]


def test_a_scan_that_only_adds_up_is_gone():
    def f(start, xs, ys):
        return lax.scan(lambda c, t: (c + t[0].T @ t[1], None), start, (xs, ys))[0]

    program = optimised(f, draws(3, 5), draws(7, 2, 3), draws(7, 2, 5))
    assert scans(program) == []
    assert len(products(program)) == 1
    assert sorted(contracted(products(program)[0])) == [2, 7]


@pytest.mark.parametrize("order", ["x @ w", "w @ x", "x @ w.T"])
def test_products_of_what_is_read_along_come_before(order):
    w = draws(WIDTH, WIDTH)
    ways = {"x @ w": lambda x: x @ w, "w @ x": lambda x: w @ x, "x @ w.T": lambda x: x @ w.T}

    def f(h, xs):
        return lax.scan(lambda h, x: (jnp.sin(h + ways[order](x)), h), h, xs)

    args = draws(WIDTH), draws(5, WIDTH, seed=1)
    program = optimised(f, *args)
    assert inside(program) == [0]
    assert len(products(program)) == 1
    h, hs = args[0], []
    for x in args[1]:
        hs.append(h)
        h = np.sin(h + ways[order](x))
    assert_same(fg.jit(f)(*args), (h, np.stack(hs)))


@pytest.mark.parametrize("turned", [False, True])
def test_products_that_are_only_written_come_after(turned):
    w = draws(WIDTH, 8)

    def f(h, xs):
        def turn(h, x):
            h = jnp.sin(h + x)
            return h, w.T @ h.T if turned else h @ w

        return lax.scan(turn, h, xs, reverse=True)

    args = draws(3, WIDTH), draws(5, 3, WIDTH, seed=1)
    program = optimised(f, *args)
    assert inside(program) == [0]
    h, ys = args[0], []
    for x in args[1][::-1]:
        h = np.sin(h + x)
        ys.insert(0, w.T @ h.T if turned else h @ w)
    assert_same(fg.jit(f)(*args), (h, np.stack(ys)))


def test_a_written_product_that_the_scan_reads_stays():
    w = draws(WIDTH, WIDTH)

    def f(h):
        return lax.scan(lambda h, _: (jnp.sin(y := h @ w), y), h, None, 5)

    program = optimised(f, draws(2, WIDTH))
    assert inside(program) == [1]
    assert products(program) == []


def test_one_written_product_may_be_made_of_another():
    w = draws(WIDTH, WIDTH)

    def f(xs):
        return lax.scan(lambda c, x: (c * 0.5 + x, jnp.sin(c) @ w @ w), xs[0], xs)

    xs = draws(6, 2, WIDTH, seed=3)
    c, ys = xs[0], []
    for x in xs:
        ys.append(np.sin(c) @ w @ w)
        c = c * np.float32(0.5) + x
    assert_same(fg.jit(f)(xs), (c, np.stack(ys)))


CHAINS = {
    "of what is read along": lambda np_like, h, x, w: (np_like.tanh(h + x @ w @ w), None),
    "that is written": lambda np_like, h, x, w: (np_like.tanh(h + x @ w @ w), x @ w),
    "of which each is written": lambda np_like, h, x, w: (
        np_like.tanh(h + (z := (y := x @ w) @ w) @ w),
        (y, z, z @ w.T),
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_values_of_products_of_products(name):
    def f(lib, h, xs, w):
        turn = lambda h, x: CHAINS[name](lib.numpy, h, x, w)
        return lib.lax.scan(turn, h, xs)

    args = draws(2, WIDTH), draws(5, 2, WIDTH, seed=1), draws(WIDTH, WIDTH, seed=2)
    assert inside(optimised(lambda *a: f(fg, *a), *args)) == [0]
    assert_same(fg.jit(lambda *a: f(fg, *a))(*args), f(jax, *args), error=2)


def test_values_of_sums_of_products_that_come_after():
    """The sum reads what the product makes, so it has to come later."""

    def f(lib, sums, h, xs, w):
        def turn(carry, x):
            sums, h = carry
            h = lib.numpy.tanh(h + x)
            return (sums + x.T @ (h @ w), h), None

        return lib.lax.scan(turn, (sums, h), xs)

    args = draws(WIDTH, WIDTH), draws(2, WIDTH), draws(5, 2, WIDTH, seed=1), draws(WIDTH, WIDTH)
    assert inside(optimised(lambda *a: f(fg, *a), *args)) == [0]
    assert_same(fg.jit(lambda *a: f(fg, *a))(*args), f(jax, *args))


# values


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 7])
@pytest.mark.parametrize("batch", [(), (1,), (BATCH,)], ids=str)
def test_values(length, batch, reverse):
    args = weights(), draws(length, *batch, WIDTH, seed=5), draws(*batch, WIDTH, seed=6)
    slopes = fg.grad(lambda *a: loss(*a, reverse=reverse), (0, 1, 2))
    assert inside(optimised(slopes, *args)) == ([1, 1] if length > 1 else [2, 4])
    found = fg.jit(slopes)(*args)
    theirs = jax.grad(lambda *a: loss(*a, lib=jax, reverse=reverse), (0, 1, 2))(*args)
    assert_same(found, theirs)
    if length:
        by_hand = fg.grad(lambda *a: loss_by_hand(*a, reverse=reverse), (0, 1, 2))(*args)
        assert_same(found, by_hand)


AXES = [(0, 0, 0), (None, 0, 0), (None, 0, None), (0, None, None)]


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("batch", [(), (BATCH,)], ids=str)
def test_values_of_vmapped_scans(axes, batch):
    many = lambda x, axis: np.stack([x, 2 * x, -x]) if axis == 0 else x
    p = {name: many(w, axes[0]) for name, w in weights().items()}
    xs = many(draws(7, *batch, WIDTH, seed=5), axes[1])
    h = many(draws(*batch, WIDTH, seed=6), axes[2])
    ours = fg.jit(fg.vmap(fg.grad(loss), axes))(p, xs, h)
    theirs = jax.vmap(jax.grad(lambda *a: loss(*a, lib=jax)), axes)(p, xs, h)
    assert_same(ours, theirs)
    program = optimised(fg.vmap(fg.grad(loss), axes), p, xs, h)
    assert [7] in [contracted(eqn)[:1] for eqn in products(program)]


def test_values_of_second_derivatives():
    args = weights(3, 3), draws(4, 2, 3, seed=5), draws(2, 3, seed=6)
    ours = fg.jit(fg.hessian(loss))(*args)
    theirs = jax.hessian(lambda *a: loss(*a, lib=jax))(*args)
    assert_same(ours, theirs, error=4)


def test_values_of_constants_of_the_body():
    w, table = draws(WIDTH, WIDTH), draws(8, WIDTH, seed=9)

    def f(lib, h, xs):
        constant = lib.numpy.asarray(w)
        turn = lambda h, x: (lib.numpy.tanh(h @ constant + x @ constant.T), h @ table.T)
        return lib.lax.scan(turn, h, xs)

    args = draws(2, WIDTH, seed=1), draws(6, 2, WIDTH, seed=2)
    assert inside(optimised(lambda *a: f(fg, *a), *args)) == [1]
    assert_same(fg.jit(lambda *a: f(fg, *a))(*args), f(jax, *args))


def test_values_of_a_donated_carry():
    def f(start, xs):
        return lax.scan(lambda c, x: (c + jnp.outer(x, x), None), start, xs)[0]

    start, xs = draws(40, 40), draws(30, 40, seed=1)
    wanted = start + np.einsum("ti,tj->ij", xs, xs)
    given = jnp.array(start)
    assert_same(fg.jit(f, donate_argnums=0)(given, xs), wanted)
    assert given.is_deleted()


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint16])
def test_integers_wrap_around_to_the_same(dtype):
    xs, ys = (draws(9, 3, 4, seed=i, dtype=np.int64).astype(dtype) for i in range(2))

    def f(xs, ys):
        turn = lambda c, t: (c + lax.dot_general(t[0], t[1], (((0,), (0,)), ((), ()))), None)
        return lax.scan(turn, jnp.full((4, 4), 100, dtype), (xs, ys))[0]

    assert scans(optimised(f, xs, ys)) == []
    wanted = np.full((4, 4), 100, dtype)
    for x, y in zip(xs, ys):
        wanted = wanted + (x.astype(np.int64).T @ y.astype(np.int64)).astype(dtype)
    assert_array_equal(np.asarray(fg.jit(f)(xs, ys)), wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_rounded_once(dtype):
    xs = jnp.asarray(draws(500, 3, 4), dtype)

    def f(xs):
        return lax.scan(lambda c, x: (c + x.T @ x, None), jnp.zeros((4, 4), dtype), xs)[0]

    found = fg.jit(f)(xs)
    assert found.dtype == dtype
    wide = np.asarray(xs, np.float64)
    wanted = np.einsum("tbi,tbj->ij", wide, wide)
    # In each of 500 turns rounded to 8 bits, the sum would stop growing long before.
    assert_allclose(np.asarray(found, np.float64), wanted, rtol=2**-8, atol=0.5)


def test_float64():
    with enable_x64(True):
        p = weights(dtype=np.float64)
        args = p, draws(7, 2, WIDTH, seed=5, dtype=np.float64), np.zeros((2, WIDTH))
        assert_same(fg.jit(fg.grad(loss))(*args), fg.grad(loss_by_hand)(*args))


SUMS = {
    "of a slice": lambda c, x, y: c + x,
    "on the right": lambda c, x, y: x + c,
    "turned": lambda c, x, y: c + x.T,
    "negative": lambda c, x, y: c + -(x @ y),
    "of two products": lambda c, x, y: c + (x @ y + (y @ x).T),
    "of a sum": lambda c, x, y: c + (x * y).sum(0),
    "of sums of a slice": lambda c, x, y: c + x.sum(0),
    "in another shape": lambda c, x, y: c + x.sum(0).reshape(2, 2),
    "of a vector's product": lambda c, x, y: c + jnp.outer(x[0], y[0]),
}


@pytest.mark.parametrize("name", SUMS)
def test_values_of_sums(name):
    shapes = {"of a sum": (4,), "of sums of a slice": (4,), "in another shape": (2, 2)}
    start, (xs, ys) = draws(*shapes.get(name, (4, 4))), draws(2, 9, 4, 4, seed=1)

    def f(start, xs, ys):
        return lax.scan(lambda c, t: (SUMS[name](c, *t), None), start, (xs, ys))[0]

    left = {"of a sum", "of a vector's product"}  # what is added up would have to be stacked first
    assert (scans(optimised(f, start, xs, ys)) == []) == (name not in left)
    wanted = start
    for x, y in zip(xs, ys):
        wanted = np.asarray(SUMS[name](wanted, jnp.asarray(x), jnp.asarray(y)))
    assert_same(fg.jit(f)(start, xs, ys), wanted)


# what is left alone

# Of each: a turn's result, and how many carries are left.
KEPT = {
    "a carry that is written": (lambda c, d, x: ((c + x.T @ x, d), c), 2),
    "a sum that is written": (lambda c, d, x: ((s := c + x.T @ x, d), s), 2),
    "a carry that another reads": (lambda c, d, x: ((c + x.T @ x, abs(d + c)), None), 2),
    "a carry that is scaled": (lambda c, d, x: ((c * 0.5 + x.T @ x, d), None), 2),
    "a carry twice": (lambda c, d, x: ((c + c, d), None), 2),
    "a product with the carry": (lambda c, d, x: ((c + c @ (x.T @ x), d), None), 2),
    "carries that change places": (lambda c, d, x: ((d, c + x.T @ x), None), 2),
    "a function of a sum": (lambda c, d, x: ((c, abs(d + x.T @ x)), None), 2),
    "sums beside another carry": (lambda c, d, x: ((c + x.T @ x, abs(d - c[0])), d), 2),
    "a sum of what is like every turn": (lambda c, d, x: ((c + EYE, d), x), 2),
    "a product that is used twice": (lambda c, d, x: ((c + (p := x.T @ x), abs(d + p)), None), 2),
    "none": (lambda c, d, x: ((c + x.T @ x, abs(d - 1)), d), 1),
}
EYE = np.eye(3, dtype=np.float32)


@pytest.mark.parametrize("name", KEPT)
def test_other_carries_stay(name):
    turn, left = KEPT[name]

    def f(c, d, xs, lib=fg):
        return lib.lax.scan(lambda carry, x: turn(*carry, x), (c, d), xs)

    args = draws(3, 3), draws(3, 3, seed=1), draws(5, 2, 3, seed=2)
    (scan,) = scans(optimised(f, *args))
    assert scan.params["num_carry"] == left
    assert_same(fg.jit(f)(*args), f(*args, lib=jax))


def test_effects_keep_a_scan_as_it_is():
    seen = []

    def f(start, xs):
        def turn(c, x):
            fg.debug.callback(lambda x: seen.append(float(x)), x[0, 0])
            return c + x.T @ x, None

        return lax.scan(turn, start, xs)[0]

    args = np.zeros((3, 3), np.float32), draws(5, 2, 3)
    assert inside(optimised(f, *args)) == [1]
    found = fg.jit(f)(*args)
    fg.effects_barrier()
    assert seen == [float(x[0, 0]) for x in args[1]]
    assert_same(found, np.einsum("tbi,tbj->ij", args[1], args[1]))


def test_products_of_many_rows_stay():
    for rows, left in (sink.FEW_ROWS, [1, 1]), (sink.FEW_ROWS + 1, [2, 3]):
        args = weights(128, 128), draws(9, rows, 128, seed=5), draws(rows, 128, seed=6)
        assert inside(optimised(fg.grad(loss), *args)) == left


def test_products_of_rounded_operands_stay():
    rounded = lax.DotAlgorithmPreset.BF16_BF16_F32

    def f(c, xs):
        return lax.scan(lambda c, x: (c + jnp.dot(x.T, x, precision=rounded), None), c, xs)[0]

    args = draws(3, 3), draws(5, 2, 3, seed=1)
    assert inside(optimised(f, *args)) == [1]
    x = np.asarray(jnp.asarray(args[1], "bfloat16"), np.float32)
    assert_same(fg.jit(f)(*args), args[0] + np.einsum("tbi,tbj->ij", x, x))


def test_batches_of_many_rows_stay():
    """The stacks of a batch have the turns before it and the rows behind it."""
    each = fg.vmap(fg.grad(loss), (None, 0, None))
    for rows, left in (sink.FEW_ROWS // 4, 1), (sink.FEW_ROWS // 4 + 1, 3):
        args = weights(64, 64), draws(4, 9, rows, 64, seed=5), draws(rows, 64, seed=6)
        assert inside(optimised(each, *args))[1] == left


def test_a_small_sum_of_products_of_large_arrays_stays():
    """Its operands would take longer to write and read than the sum does in every turn."""

    def f(c, xs):
        return lax.scan(lambda c, x: (c + abs(x) @ abs(x).T, None), c, xs)[0]

    args = draws(2, 2), draws(9, 2, 40, seed=1)
    assert inside(optimised(f, *args)) == [1]
    x = np.abs(args[1])
    assert_same(fg.jit(f)(*args), args[0] + np.einsum("tik,tjk->ij", x, x))


def test_little_is_stacked_for_it():
    """Half of what is read and written along; a checkpointed turn keeps next to nothing."""
    length, width = 64, 128
    p, xs = weights(width, width), draws(length, 64, width)
    wide = {**p, "of_x": draws(width, 8 * width), "down": draws(8 * width, width)}

    def f(p, xs):
        turn = lambda h, x: (jnp.sin(h + jnp.sin(x @ p["of_x"]) @ p["down"]), None)
        return lax.scan(turn, xs[0], xs)[0]

    # Eight times as much as xs, which is all that is read along: the product stays.
    assert inside(optimised(f, wide, xs)) == [2]
    small = xs[:, :2]
    assert inside(optimised(f, wide, small)) == [1]


@needs_compiler
def test_checkpoint_keeps_its_memory():
    p, xs, h = weights(64, 64), draws(256, 32, 64), draws(32, 64)

    def again(p, xs, h):
        def turn(h, x):
            for _ in range(4):
                h = cell(jnp, p, h, x)
            return h, None

        return (lax.scan(fg.checkpoint(turn), h, xs)[0] ** 2).sum()

    compiled = fg.jit(fg.grad(again)).lower(p, xs, h).compile()
    states = xs.nbytes  # one a turn is what the scan stores
    assert compiled.memory_analysis().temp_size_in_bytes <= 1.5 * states + 2 * sink.SMALL_STACKS


def test_the_programs_are_well_formed():
    """Each pass's result is checked, here that of scans with sums and products taken out."""
    args = weights(), draws(7, BATCH, WIDTH, seed=5), draws(BATCH, WIDTH, seed=6)
    many = draws(3, 7, BATCH, WIDTH, seed=5)
    each = fg.vmap(fg.grad(loss), (None, 0, None))
    with enable_checks(True):
        assert inside(optimised(fg.grad(loss, (0, 1, 2)), *args)) == [1, 1]
        assert inside(optimised(each, args[0], many, args[2])) == [1, 1]
        optimised(fg.hessian(loss), *args)


# weights that are read in the order of memory


@pytest.mark.parametrize(("rows", "turns"), [(1, False), (2, True), (64, True), (65, False)])
def test_the_weight_of_few_rows_is_turned_once(rows, turns):
    w, h = draws(30, 30, seed=2) * 0.3, draws(rows, 30, seed=1)

    def f(h, w):
        turn = lambda h, _: (jnp.sin(lax.dot_general(h, w, (((1,), (1,)), ((), ())))), None)
        return lax.scan(turn, h, None, 7)[0]

    program = optimised(f, h, w)
    assert [eqn.primitive.name for eqn in program.eqns] == ["transpose"] * turns + ["scan"]
    (product,) = products(scans(program)[0].params["jaxpr"])
    assert product.params["dimension_numbers"][0] == ((1,), (0 if turns else 1,))
    found = fg.jit(f)(h, w)
    for _ in range(7):
        h = np.sin(h @ w.T)
    assert_same(found, h)
