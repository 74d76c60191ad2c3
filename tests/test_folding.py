"""lax.reduce, with known monoids and with functions of the user's, against jax.lax."""

import jax
import numpy as np
import pytest
from jax import lax as jlax

from funcgrad import lax
from funcgrad.base.basis import convert
from funcgrad.primitives.folding import reduce_p
from funcgrad.primitives.reduction import reduce_sum_p
from funcgrad.transforms.staging import stage_closed
from lax_oracle import check_batches, check_derivatives, check_values, random_array

OURS = {
    "add": (lax.add, jlax.add, 0),
    "mul": (lax.mul, jlax.mul, 1),
    "max": (lax.max, jlax.max, -np.inf),
    "min": (lax.min, jlax.min, np.inf),
}
BITS = {
    "and": (lax.bitwise_and, jlax.bitwise_and, -1),
    "or": (lax.bitwise_or, jlax.bitwise_or, 0),
    "xor": (lax.bitwise_xor, jlax.bitwise_xor, 0),
}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def both(function, *rest):
    """The call on our lax and on JAX's."""
    return (lambda *args: function(lax, *args, *rest)), (lambda *args: function(jlax, *args, *rest))


@pytest.mark.parametrize("shape, dims", [((4, 3), (0,)), ((2, 3, 5), (2, 0)), ((0, 3), (0,))])
@pytest.mark.parametrize("name", OURS)
def test_monoids(name: str, shape: tuple, dims: tuple, rng: np.random.Generator) -> None:
    ours, theirs, identity = OURS[name]
    x = random_array(rng, shape, "float32")
    init = np.float32(identity)
    ours_of = lambda x: lax.reduce(x, init, ours, dims)
    theirs_of = lambda x: jlax.reduce(x, init, theirs, dims)
    check_values(ours_of, theirs_of, x)
    check_batches(ours_of, x)
    if 0 not in shape:
        check_derivatives(ours_of, theirs_of, x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32"])
@pytest.mark.parametrize("name", BITS)
def test_bits(name: str, dtype: str, rng: np.random.Generator) -> None:
    ours, theirs, identity = BITS[name]
    x = random_array(rng, (3, 4), dtype)
    init = np.array(identity, np.int64).astype(dtype)
    check_values(
        lambda x: lax.reduce(x, init, ours, (1,)), lambda x: jlax.reduce(x, init, theirs, (1,)), x
    )


@pytest.mark.parametrize("init", [0.0, 2.5])
@pytest.mark.parametrize("name", OURS)
def test_monoids_with_any_start(name: str, init: float, rng: np.random.Generator) -> None:
    ours, theirs, _ = OURS[name]
    x = random_array(rng, (2, 3), "float32")
    start = np.float32(init)
    check_values(
        lambda x: lax.reduce(x, start, ours, (1,)), lambda x: jlax.reduce(x, start, theirs, (1,)), x
    )


def test_a_function_that_is_a_monoid_is_seen_as_one(rng: np.random.Generator) -> None:
    x = random_array(rng, (3,), "float32")

    def program(computation):
        closed, _ = stage_closed(
            lambda x: [lax.reduce(x, np.float32(0), computation, (0,))],
            [lax.reduce(x, np.float32(0), lax.add, ()).aval],
        )
        return [e.primitive for e in closed.eqns]

    assert program(lambda a, b: lax.add(b, a)) == [reduce_sum_p]
    assert program(lambda a, b: lax.mul(lax.add(a, b), np.float32(1))) == [reduce_p]
    assert program(lambda a, b: a) == [reduce_p]


def log_add(of):
    def computation(a, b):
        top = of.max(a, b)
        return of.add(top, of.log1p(of.exp(of.neg(of.abs(of.sub(a, b))))))

    return computation


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8])
def test_any_function(length: int, rng: np.random.Generator) -> None:
    x = random_array(rng, (2, length, 3), "float32")
    init = np.float32(-np.inf)
    ours, theirs = both(lambda of, x: of.reduce(x, init, log_add(of), (1,)))
    check_values(ours, theirs, x)
    if length in (3, 8):
        check_batches(ours, x)
        finite = np.float32(-40)
        ours, theirs = both(lambda of, x: of.reduce(x, finite, log_add(of), (0, 1)))
        check_derivatives(ours, theirs, x)


def test_nothing_to_reduce(rng: np.random.Generator) -> None:
    init = np.float32(3)
    for shape in ((0, 3), (3, 0), (2, 3)):
        x = random_array(rng, shape, "float32")
        for dims in ((0,), (1,), ()):
            ours, theirs = both(lambda of, x, dims=dims: of.reduce(x, init, log_add(of), dims))
            check_values(ours, theirs, x)


def first_maximum(of):
    def computation(a, b):
        (value, index), (other, place) = a, b
        take = of.bitwise_or(
            of.gt(other, value), of.bitwise_and(of.eq(other, value), of.gt(index, place))
        )
        return of.select(take, other, value), of.select(take, place, index)

    return computation


def test_a_tree_of_operands(rng: np.random.Generator) -> None:
    x = rng.integers(0, 4, (3, 9)).astype(np.float32)
    places = np.broadcast_to(np.arange(9, dtype=np.int32), x.shape).copy()
    init = (np.float32(-1), np.int32(9))

    def argmax(of, x, places):
        return of.reduce((x, places), init, first_maximum(of), (1,))

    ours, theirs = both(argmax)
    check_values(ours, theirs, x, places)
    np.testing.assert_array_equal(ours(x, places)[1], np.argmax(x, 1))
    check_batches(ours, x, places)
    x = np.stack([rng.permutation(9) for _ in range(3)]).astype(np.float32)
    check_derivatives(lambda x: ours(x, places)[0], lambda x: jax.numpy.max(x, 1), x)


def test_order_is_kept(rng: np.random.Generator) -> None:
    """Composition of affine maps is associative, but not commutative."""
    a, b = random_array(rng, (7,), "float32"), random_array(rng, (7,), "float32")

    def compose(of):
        return lambda f, g: (of.mul(g[0], f[0]), of.add(of.mul(g[0], f[1]), g[1]))

    start = (np.float32(1), np.float32(0))
    ours, theirs = both(lambda of, a, b: of.reduce((a, b), start, compose(of), (0,)))
    check_values(ours, theirs, a, b)
    value = 2.0
    for slope, shift in zip(a, b, strict=True):
        value = slope * value + shift
    slope, shift = (float(x) for x in ours(a, b))
    assert np.isclose(slope * 2 + shift, value, rtol=1e-5)


def test_the_start_may_be_an_argument(rng: np.random.Generator) -> None:
    x, init = random_array(rng, (2, 5), "float32"), np.float32(0.5)

    def total(x, init):
        return lax.reduce(x, init, log_add(lax), (1,))

    def expected(x, init):
        return jax.numpy.logaddexp(init, jax.scipy.special.logsumexp(x, 1))

    check_values(total, expected, x, init)
    check_derivatives(total, expected, x, init)
    check_batches(total, x, init)
    check_batches(lambda x, init: lax.reduce(x, init, lax.add, (1,)), x, init)


def test_weak_types() -> None:
    x = convert(np.ones(3, np.float32), np.float32, True)
    weak = lax.reduce(x, 1.0, lax.mul, (0,))
    assert weak.aval.weak_type
    assert lax.reduce(x, 0.0, log_add(lax), (0,)).aval.weak_type
    assert not lax.reduce(x, np.float32(0), log_add(lax), (0,)).aval.weak_type


def test_wrong_arguments() -> None:
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match="one tree structure"):
        lax.reduce((x, x), 0.0, log_add(lax), (0,))
    with pytest.raises(TypeError, match=r"same dtypes, got operands float32\[2,3\]"):
        lax.reduce(x, np.int32(1), log_add(lax), (0,))
    with pytest.raises(TypeError, match="one shape"):
        lax.reduce((x, x[0]), (0.0, 0.0), lambda a, b: a, (0,))
    with pytest.raises(TypeError, match="must be numbers"):
        lax.reduce(x, np.zeros(2, np.float32), log_add(lax), (0,))
    with pytest.raises(TypeError, match=r"must return what it combines, float32\[\]"):
        lax.reduce(x, 0.0, lambda a, b: (a, b), (0,))
    with pytest.raises(ValueError, match="out of bounds"):
        lax.reduce(x, 0.0, lax.add, (2,))
    with pytest.raises(ValueError, match="closes over a traced value"):
        stage_closed(
            lambda w: [lax.reduce(x, 0.0, lambda a, b: lax.add(a, lax.mul(b, w)), (0, 1))],
            [lax.reduce(x, 0.0, lax.add, (0, 1)).aval],
        )
