"""Special functions: values against SciPy and JAX, derivatives against JAX or differences."""

from collections.abc import Callable, Iterator

import jax
import numpy as np
import pytest
import scipy.special as sp
from jax import lax as jlax

from funcgrad import lax
from funcgrad.base.config import enable_x64
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.linearize import linearize_flat
from lax_oracle import check_batches, check_derivatives, check_values

INF, NAN = np.inf, np.nan
LINE = np.linspace(-4.3, 4.7, 31)
POSITIVE = np.linspace(0.05, 9, 30)
UNIT = np.linspace(0.02, 0.98, 30)

# name, SciPy's function, arguments for values and derivatives, points with JAX's value there
UNARY = [
    ("lgamma", sp.gammaln, LINE, {1: 0, 2: 0, 0: INF, -1: INF, -INF: INF, INF: INF, NAN: NAN}),
    ("digamma", sp.psi, LINE, {0: NAN, -2: NAN, INF: INF}),
    ("erf", sp.erf, LINE, {0: 0, INF: 1, -INF: -1, NAN: NAN}),
    ("erfc", sp.erfc, LINE, {0: 1, INF: 0, -INF: 2}),
    ("erf_inv", sp.erfinv, UNIT * 2 - 1, {1: INF, -1: -INF, 0: 0, 1.5: NAN, NAN: NAN}),
    ("bessel_i0e", sp.i0e, LINE, {0: 1, INF: 0, -INF: 0}),
    ("bessel_i1e", sp.i1e, LINE, {0: 0, INF: 0}),
]
GRID = [v.ravel() for v in np.meshgrid(POSITIVE[::3], POSITIVE[1::3])]
NARY = [
    ("igamma", sp.gammainc, GRID),
    ("igammac", sp.gammaincc, GRID),
    ("betainc", sp.betainc, [np.resize(g, 30) for g in (*GRID, UNIT)]),
    ("polygamma", sp.polygamma, [np.resize([0, 1, 2, 3, 10], 31), LINE]),
    ("zeta", sp.zeta, [POSITIVE + 1.1, POSITIVE[::-1]]),
]


@pytest.fixture
def x64() -> Iterator[None]:
    with enable_x64(True), jax.enable_x64(True):
        yield


def within_an_ulp(got: np.ndarray, want: np.ndarray) -> None:
    assert got.dtype == want.dtype
    np.testing.assert_array_max_ulp(got, want, 1)


@pytest.mark.parametrize("name, scipy, xs, points", UNARY)
def test_values(name: str, scipy: Callable, xs: np.ndarray, points: dict) -> None:
    function = getattr(lax, name)
    x = xs.astype("f4")
    within_an_ulp(np.asarray(function(x)), scipy(x.astype("f8")).astype("f4"))
    for at, value in points.items():
        np.testing.assert_equal(np.asarray(function(np.float32(at))), np.float32(value))
    half = x[::3].astype("f2")
    want = scipy(half.astype("f8")).astype("f2")
    np.testing.assert_array_equal(np.asarray(function(half)), want)
    check_values(function, getattr(jlax, name), half.astype(jax.numpy.bfloat16)[-3:])
    check_batches(function, x[:3])


@pytest.mark.parametrize("name, scipy, args", NARY)
def test_values_of_several(name: str, scipy: Callable, args: list) -> None:
    args = [a.astype("f4") for a in args]
    got = np.asarray(getattr(lax, name)(*args))
    within_an_ulp(got, scipy(*(a.astype("f8") for a in args)).astype("f4"))
    check_batches(getattr(lax, name), *(a[:2] for a in args), every_axis=False)


@pytest.mark.parametrize(
    "name, args, value",
    [
        ("igamma", (1.0, 0.0), 0),
        ("igamma", (0.0, 2.0), 1),
        ("igamma", (0.0, 0.0), NAN),
        ("igamma", (2.0, INF), 1),
        ("igamma", (-1.0, 2.0), NAN),
        ("igammac", (0.0, 2.0), 0),
        ("igammac", (2.0, 0.0), 1),
        ("igamma_grad_a", (2.0, 0.0), 0),
        ("igamma_grad_a", (0.0, 2.0), NAN),
        ("random_gamma_grad", (2.0, 0.0), 0),
        ("random_gamma_grad", (2.0, -1.0), NAN),
        ("random_gamma_grad", (NAN, 1.0), NAN),
        ("betainc", (1e-30, 1.0, 0.25), 1),
        ("betainc", (0.0, 1.0, 0.5), 1),
        ("betainc", (1.0, 0.0, 0.5), 0),
        ("betainc", (INF, 1.0, 0.5), 0),
        ("betainc", (1.0, INF, 0.5), 1),
        ("betainc", (0.0, 0.0, 0.5), NAN),
        ("betainc", (1.0, 1.0, 1.5), NAN),
        ("polygamma", (1.0, 0.0), INF),
        ("polygamma", (2.0, -1.0), NAN),
        ("polygamma", (0.5, 1.0), NAN),
        ("polygamma", (-1.0, 1.0), NAN),
        ("polygamma", (3.0, INF), 0),
        ("zeta", (1.0, 2.0), INF),
        ("zeta", (0.5, 2.0), NAN),
        ("zeta", (2.0, -3.0), INF),
        ("zeta", (3.0, -3.0), NAN),
    ],
)
def test_edges(name: str, args: tuple, value: float) -> None:
    out = getattr(lax, name)(*map(np.float32, args))
    np.testing.assert_equal(np.asarray(out), np.float32(value))


@pytest.mark.parametrize("name", [row[0] for row in UNARY])
def test_derivatives(x64: None, name: str) -> None:
    x = np.array([0.3, -0.45, 0.9, 0.0 if name.startswith("b") else 0.1])
    check_derivatives(getattr(lax, name), getattr(jlax, name), x)


# JAX has no second derivative here, or a wrong digit in the first.
@pytest.mark.parametrize(
    "name, args",
    [
        ("igamma", ([0.7, 3.0, 4.0, 1.0], [0.4, 2.5, 9.0, 1e-3])),
        ("igammac", ([0.7, 3.0, 4.0, 1.0], [0.4, 2.5, 9.0, 1e-3])),
    ],
)
def test_derivatives_of_igamma(x64: None, name: str, args: tuple) -> None:
    a, x = map(np.array, args)
    check_derivatives(getattr(lax, name), getattr(jlax, name), a, x, second=False)
    second_by_differences(getattr(lax, name), a, x)


def test_random_gamma_grad(x64: None) -> None:
    a = np.array([1e-3, 0.2, 0.9, 1.1, 1.5, 4.0, 60.0, 60.0, 700.0])
    x = np.array([1e-9, 0.3, 2.0, 1.2, 9.0, 4.1, 52.0, 64.0, 690.0])
    want = np.asarray(jlax.random_gamma_grad(a, x))
    np.testing.assert_allclose(np.asarray(lax.random_gamma_grad(a, x)), want, rtol=3e-9)
    # A sample is the quantile of a fixed probability.
    h = 1e-5 * a[2:]
    p = sp.gammainc(a[2:], x[2:])
    slope = (sp.gammaincinv(a[2:] + h, p) - sp.gammaincinv(a[2:] - h, p)) / (2 * h)
    np.testing.assert_allclose(np.asarray(lax.random_gamma_grad(a[2:], x[2:])), slope, rtol=1e-7)
    second_by_differences(lax.random_gamma_grad, a[1:], x[1:], first=True)
    check_batches(lax.random_gamma_grad, a[:2], x[:2], every_axis=False)


def test_betainc_in_all_arguments(x64: None) -> None:
    rng = np.random.default_rng(0)
    a, b = 10 ** rng.uniform(-2, 3, (2, 60))
    x = np.clip(sp.betaincinv(a, b, rng.uniform(0.01, 0.99, 60)), 1e-12, 1 - 1e-12)
    for i, parameter in enumerate((a, b)):
        moves = [np.ones(60) if j == i else None for j in range(3)]
        _, (slope,) = jvp(lambda *v: [lax.betainc(*v)], [a, b, x], moves)

        def difference(step, i=i, parameter=parameter):
            h = step * parameter
            up, down = ([(a, b)[j] + s * h * (j == i) for j in (0, 1)] for s in (1, -1))
            return (sp.betainc(*up, x) - sp.betainc(*down, x)) / (2 * step)

        # One step of Richardson's extrapolation.
        want = (4 * difference(2e-4) - difference(4e-4)) / 3
        np.testing.assert_allclose(np.asarray(slope) * parameter, want, rtol=1e-9, atol=1e-10)


def test_betainc_at_its_edges(x64: None) -> None:
    def slopes(a, b, x):
        _, program = linearize_flat(lambda *v: [lax.betainc(*v)], [a, b, x])
        return [float(np.asarray(ct)) for ct in program.pull([np.float64(1)])]

    np.testing.assert_allclose(slopes(1.0, 1.0, 0.0), [0, 0, 1])
    np.testing.assert_allclose(slopes(1.0, 3.0, 0.0), [0, 0, 3])
    np.testing.assert_allclose(slopes(1.0, 1.0, 1.0), [0, 0, 1])
    # I(1, 1) is x, I(a, 1) is x^a
    np.testing.assert_allclose(slopes(2.5, 1.0, 0.3)[0], 0.3**2.5 * np.log(0.3), rtol=1e-12)
    np.testing.assert_allclose(slopes(1.0, 2.5, 0.7)[1], -(0.3**2.5) * np.log(0.3), rtol=1e-12)


def test_higher_derivatives_of_betainc(x64: None) -> None:
    a, b, x = np.array([0.1, 0.7, 3.0]), np.array([1.4, 2.0, 0.3]), np.array([0.3, 0.8, 0.6])
    second_by_differences(lax.betainc, a, b, x)

    def slope(a, b, x):
        _, (t,) = jvp(lambda *v: [lax.betainc(*v)], [a, b, x], [np.ones(3), np.ones(3), None])
        return t

    second_by_differences(slope, a, b, x)


@pytest.mark.parametrize(
    "function, args, said",
    [
        (lax.polygamma, (1.0, 2.0), "polygamma has no derivative with respect to the order m"),
        (lax.zeta, (2.0, 2.0), "zeta has no derivative with respect to the exponent x"),
    ],
)
def test_missing_derivatives(function: Callable, args: tuple, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        jvp(lambda *v: [function(*v)], args, [1.0, 1.0])


def test_zeta_derivative(x64: None) -> None:
    second_by_differences(lambda q: lax.zeta(2.5, q), np.array([0.4, 2.0]), first=True)


def second_by_differences(function: Callable, *args: np.ndarray, first: bool = False) -> None:
    """Each partial derivative, or each second one, against central differences."""

    def sum_gradient(*some):
        out, program = linearize_flat(lambda *v: [function(*v)], some)
        return out if first else program.pull([np.ones(args[0].shape)])

    for i, arg in enumerate(args):
        ones = [np.ones(arg.shape) if j == i else None for j in range(len(args))]
        _, tangents = jvp(sum_gradient, args, ones)
        h = 1e-5 * np.abs(arg)
        up, down = (
            sum_gradient(*(v + s * h if j == i else v for j, v in enumerate(args))) for s in (1, -1)
        )
        for t, high, low in zip(tangents, up, down, strict=True):
            slope = (np.asarray(high) - np.asarray(low)) / (2 * h)
            np.testing.assert_allclose(np.asarray(t), slope, rtol=2e-6, atol=1e-8)
