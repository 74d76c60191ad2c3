"""reduce_window, and selecting and scattering by windows, against jax.lax."""

from functools import partial

import jax
import numpy as np
import pytest
from jax import lax as jlax
from jax._src.lax import windowed_reductions as jax_windows

from funcgrad import lax
from funcgrad.primitives.select_scatter import select_and_scatter
from funcgrad.transforms.linearize import linearize_flat
from funcgrad.transforms.staging import stage_closed
from lax_oracle import (
    assert_close,
    check_batches,
    check_derivatives,
    check_values,
    random_array,
)

# shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
CASES = {
    "plain": ((6,), (2,), None, "VALID", None, None),
    "pooling": ((2, 5, 6, 3), (1, 2, 2, 1), (1, 2, 2, 1), "VALID", None, None),
    "same": ((2, 5, 6), (1, 3, 2), (1, 2, 1), "SAME", None, None),
    "same lower": ((5, 6), (2, 4), (2, 3), "SAME_LOWER", None, None),
    "padded": ((4, 5), (2, 3), (1, 2), ((1, 2), (0, 3)), None, None),
    "cropped": ((6, 5), (2, 2), (1, 1), ((-2, 1), (1, -1)), None, None),
    "dilated base": ((4, 3), (2, 3), (1, 2), ((1, 0), (2, 2)), (2, 3), None),
    "dilated window": ((7, 8), (2, 3), (2, 1), ((1, 1), (0, 0)), None, (3, 2)),
    "all at once": ((6, 7), (3, 2), (2, 3), ((2, -1), (1, 4)), (2, 1), (2, 3)),
    "wide": ((40,), (11,), (1,), "SAME", None, None),
    "wide, strided": ((40,), (13,), (3,), "VALID", None, (2,)),
    "number": ((), (), (), "VALID", None, None),
    "no windows": ((2, 3), (3, 1), (1, 1), "VALID", None, None),
    "no elements": ((0, 3), (2, 2), (1, 1), ((2, 1), (0, 0)), None, None),
    "cropped away": ((3,), (2,), (1,), ((-2, -2),), None, None),
}
MONOIDS = {
    "add": (lax.add, jlax.add, 0),
    "max": (lax.max, jlax.max, -np.inf),
    "min": (lax.min, jlax.min, np.inf),
}
# JAX has no gradient of a maximum with these windows; XLA crashes on that of a number.
UNLIKE_JAX = ["dilated window", "all at once", "wide, strided", "cropped", "cropped away", "number"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def with_gaps(rng: np.random.Generator, shape: tuple) -> np.ndarray:
    """Numbers of which no two are close, so that every maximum is clear."""
    count = int(np.prod(shape))
    return (rng.permutation(count) - count / 2).reshape(shape).astype(np.float32)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", MONOIDS)
def test_monoids(name: str, case: str, rng: np.random.Generator) -> None:
    shape, *settings = CASES[case]
    ours, theirs, identity = MONOIDS[name]
    x, init = with_gaps(rng, shape), np.float32(identity)
    ours_of = lambda x: lax.reduce_window(x, init, ours, *settings)
    theirs_of = lambda x: jlax.reduce_window(x, init, theirs, *settings)
    check_values(ours_of, theirs_of, x)
    check_batches(ours_of, x)
    if 0 not in shape and (name == "add" or case not in UNLIKE_JAX):
        check_derivatives(ours_of, theirs_of, x)


@pytest.mark.parametrize("case", UNLIKE_JAX)
def test_gradients_of_maxima(case: str, rng: np.random.Generator) -> None:
    """Where JAX has none: the pull is the transpose of the push, which test_monoids checks."""
    shape, *settings = CASES[case]
    x = with_gaps(rng, shape)
    f = lambda x: [lax.reduce_window(x, np.float32(-np.inf), lax.max, *settings)]
    (out,), program = linearize_flat(f, [x])
    ct = random_array(rng, out.aval.shape, "float32")
    (gradient,) = program.pull([ct])
    basis_moves = np.eye(x.size, dtype=np.float32).reshape(-1, *shape)
    expected = [np.vdot(ct, np.asarray(program.push([move])[0])) for move in basis_moves]
    assert_close(gradient, np.array(expected, np.float32).reshape(shape))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float16", "bfloat16", "complex64"])
@pytest.mark.parametrize("name", MONOIDS)
def test_dtypes(name: str, dtype: str, rng: np.random.Generator) -> None:
    ours, theirs, _ = MONOIDS[name]
    if dtype == "complex64" and name != "add":
        return
    x = random_array(rng, (5, 6), dtype)
    init = 0
    if name != "add":
        extreme = jax_windows.lax._get_max_identity if name == "max" else None
        init = (extreme or jax_windows.lax._get_min_identity)(x.dtype)
    init = np.asarray(init, x.dtype)
    settings = ((2, 3), (1, 2), "SAME")
    check_values(
        lambda x: lax.reduce_window(x, init, ours, *settings),
        lambda x: jlax.reduce_window(x, init, theirs, *settings),
        x,
    )


def test_sums_of_narrow_floats_are_rounded_once(rng: np.random.Generator) -> None:
    x = random_array(rng, (600,), "float16")
    out = np.asarray(lax.reduce_window(x, np.float16(0), lax.add, (500,)))
    exact = np.convolve(x.astype(np.float64), np.ones(500), "valid")
    assert np.all(np.abs(out - exact) <= 0.51 * np.spacing(np.abs(exact).astype(np.float16)))


def test_booleans(rng: np.random.Generator) -> None:
    x = random_array(rng, (8,), "bool")
    check_values(
        lambda x: lax.reduce_window(x, False, lax.bitwise_or, (3,)),
        lambda x: jlax.reduce_window(x, False, jlax.bitwise_or, (3,)),
        x,
    )
    with pytest.raises(TypeError, match="reduce_window_sum does not accept dtype bool"):
        lax.reduce_window(x, False, lax.add, (3,))


@pytest.mark.parametrize("start", [0.0, 2.0])
@pytest.mark.parametrize("name", MONOIDS)
def test_any_start(name: str, start: float, rng: np.random.Generator) -> None:
    ours, theirs, _ = MONOIDS[name]
    x, init = random_array(rng, (3, 4), "float32"), np.float32(start)
    settings = ((2, 2), (1, 1), "SAME")
    ours_of = lambda x, init: lax.reduce_window(x, init, ours, *settings)
    check_values(
        lambda x: ours_of(x, init), lambda x: jlax.reduce_window(x, init, theirs, *settings), x
    )
    check_batches(ours_of, x, init)


def log_add(of):
    def computation(a, b):
        top = of.max(a, b)
        return of.add(top, of.log1p(of.exp(of.neg(of.abs(of.sub(a, b))))))

    return computation


@pytest.mark.parametrize("case", CASES)
def test_any_function(case: str, rng: np.random.Generator) -> None:
    shape, *settings = CASES[case]
    x, init = random_array(rng, shape, "float32"), np.float32(-40)
    ours = lambda x: lax.reduce_window(x, init, log_add(lax), *settings)
    check_values(ours, lambda x: jlax.reduce_window(x, init, log_add(jlax), *settings), x)
    if case in ("same", "dilated window", "dilated base"):
        check_batches(ours, x)


def test_derivatives_of_any_function(rng: np.random.Generator) -> None:
    """JAX has no reverse mode for these, so the sum is written out."""
    x = random_array(rng, (2, 7), "float32")
    init = np.float32(-40)
    ours = lambda x, init: lax.reduce_window(x, init, log_add(lax), (1, 3), (1, 2))

    def theirs(x, init):
        parts = [x[:, i : i + 5 : 2] for i in range(3)]
        start = jax.numpy.broadcast_to(init, parts[0].shape)
        return jax.scipy.special.logsumexp(jax.numpy.stack([start, *parts]), 0)

    check_values(ours, theirs, x, init)
    check_derivatives(ours, theirs, x, init)
    check_batches(ours, x, init)


def test_products(rng: np.random.Generator) -> None:
    x = random_array(rng, (3, 6), "float32")
    settings = ((2, 3), (1, 1), "SAME")
    ours = lambda x: lax.reduce_window(x, np.float32(1), lax.mul, *settings)
    check_values(ours, lambda x: jlax.reduce_window(x, 1.0, jlax.mul, *settings), x)
    padded = lambda x: jax.numpy.pad(x, ((0, 1), (1, 1)), constant_values=1)
    check_derivatives(
        ours,
        lambda x: jax.numpy.prod(
            jax.numpy.stack([padded(x)[i : i + 3, j : j + 6] for i in range(2) for j in range(3)]),
            0,
        ),
        x,
    )


def test_a_tree_of_operands(rng: np.random.Generator) -> None:
    x, y = random_array(rng, (5, 4), "float32"), random_array(rng, (5, 4), "int32")

    def both(of, x, y):
        computation = lambda a, b: {"s": of.add(a["s"], b["s"]), "m": of.max(a["m"], b["m"])}
        tree = {"s": x, "m": y}
        init = {"s": np.float32(0), "m": np.int32(-100)}
        out = of.reduce_window(tree, init, computation, (2, 2), (1, 2), "SAME")
        return [out["s"], out["m"]]

    check_values(lambda x, y: both(lax, x, y), lambda x, y: both(jlax, x, y), x, y)
    check_batches(lambda x, y: both(lax, x, y), x, y)


def test_ties_and_infinities() -> None:
    """The first of equal elements is selected, none where all are the identity."""
    x = np.array([1, 1, 0, 0, -np.inf, -np.inf, 2, 2], np.float32)
    settings = {"window_dimensions": (2,), "window_strides": (1,), "padding": "SAME"}
    for name in ("max", "min"):
        ours, theirs, init = MONOIDS[name]
        check_derivatives(
            partial(lax.reduce_window, init_value=np.float32(init), computation=ours, **settings),
            partial(jlax.reduce_window, init_value=init, computation=theirs, **settings),
            x if name == "max" else -x,
        )


@pytest.mark.parametrize("case", ["pooling", "same", "padded", "cropped", "no windows"])
def test_select_and_scatter(case: str, rng: np.random.Generator) -> None:
    shape, size, strides, padding, _, _ = CASES[case]
    window = (size, strides)
    x = with_gaps(rng, shape)
    pads = (
        jlax.padtype_to_pads(shape, size, strides, padding) if isinstance(padding, str) else padding
    )
    counts = jlax.reduce_window_shape_tuple(shape, size, strides, pads)
    source, init = random_array(rng, counts, "float32"), np.float32(0.5)

    def ours(x, source, init):
        return select_and_scatter(
            x, lax.ge, *window, pads, source, init, lambda new, old: lax.add(new, old)
        )

    def theirs(x, source, init):
        return jax_windows._select_and_scatter(
            x, jlax.ge, *window, pads, source, init, lambda new, old: jlax.add(new, old)
        )

    if case not in ("cropped",):
        check_values(ours, theirs, x, source, init)
    check_batches(ours, x, source, init, every_axis=False)


def test_derivatives_of_select_and_scatter(rng: np.random.Generator) -> None:
    x, source = with_gaps(rng, (4, 6)), random_array(rng, (3, 3), "float32")
    window = ((2, 2), (1, 2), ((0, 0), (0, 0)))

    def ours(x, source, init):
        return select_and_scatter(x, lax.ge, *window, source, init, lambda a, b: lax.add(a, b))

    def theirs(x, source, init):
        pool = lambda x: jlax.reduce_window(x, -np.inf, jlax.max, *window)
        return init + jax.vjp(pool, x)[1](source)[0]

    check_derivatives(ours, theirs, x, source, np.float32(0.25))


def test_params_are_those_of_jax() -> None:
    x = np.ones((4,), np.float32)
    init = np.float32(-np.inf)
    mine, _ = stage_closed(
        lambda x: [lax.reduce_window(x, init, lax.max, (2,), (1,), "SAME")],
        [lax.neg(x).aval],
    )
    yours = jax.make_jaxpr(lambda x: jlax.reduce_window(x, init, jlax.max, (2,), (1,), "SAME"))(x)
    assert mine.eqns[0].params == yours.eqns[0].params
    assert mine.eqns[0].primitive.name == yours.eqns[0].primitive.name


@pytest.mark.parametrize("padding", ["SAME", "same_lower", "VALID"])
def test_padding_types(padding: str) -> None:
    for args in (((5, 6), (3, 2), (2, 1)), ((7,), (9,), (4,)), ((0, 3), (2, 2), (1, 2))):
        assert lax.padtype_to_pads(*args, padding) == jlax.padtype_to_pads(*args, padding)
    with pytest.raises(RuntimeError, match="'SAME', 'SAME_LOWER' or 'VALID', got 'HALF'"):
        lax.padtype_to_pads((5,), (2,), (1,), "HALF")


def test_wrong_arguments() -> None:
    x = np.ones((3, 4), np.float32)

    def window(*settings, init=0.0, computation=lax.add):
        return lax.reduce_window(x, init, computation, *settings)

    with pytest.raises(TypeError, match="one entry for each axis"):
        window((2,))
    with pytest.raises(TypeError, match=r"window_strides must have one entry for each of the 2"):
        window((2, 2), (1,))
    with pytest.raises(
        TypeError, match=r"window_dimensions must be strictly positive, got \(0, 1\)"
    ):
        window((0, 1))
    with pytest.raises(TypeError, match="window_strides must be strictly positive"):
        window((1, 1), (1, 0))
    with pytest.raises(TypeError, match="base_dilation must be strictly positive"):
        window((1, 1), (1, 1), "VALID", (0, 1))
    with pytest.raises(ValueError, match="pair of ints for each axis"):
        window((1, 1), (1, 1), (1, 2))
    with pytest.raises(TypeError, match="same dtypes"):
        window((1, 1), init=np.int32(3), computation=lax.max)
    with pytest.raises(TypeError, match="shape \\(\\)"):
        window((1, 1), init=np.ones(2, np.float32), computation=lax.max)
    with pytest.raises(ValueError, match="one tree structure"):
        lax.reduce_window((x, x), 0.0, lax.add, (1, 1))
