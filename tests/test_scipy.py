"""funcgrad.scipy.special: values against SciPy and JAX, derivatives against differences."""

import inspect

import numpy as np
import pytest
import scipy.special as sp
from jax.scipy import special as jsp

import funcgrad
import funcgrad.numpy as jnp
from funcgrad.base.config import enable_x64
from funcgrad.scipy import special

INF, NAN = np.inf, np.nan
LINE = np.linspace(-3.3, 3.7, 9)
POSITIVE = np.linspace(0.2, 6, 9)
TURNED = POSITIVE[::-1].copy()
UNIT = np.linspace(0.03, 0.97, 9)

# Name and arguments, of which `fixed` are not differentiated.
ROWS = {
    "beta": (POSITIVE, TURNED),
    "betainc": (POSITIVE, TURNED, UNIT),
    "betaln": (POSITIVE, TURNED),
    "boxcox": (POSITIVE, LINE),
    "boxcox1p": (POSITIVE, LINE),
    "comb": (POSITIVE + 4, TURNED / 2),
    "dawsn": (LINE,),
    "digamma": (LINE,),
    "entr": (POSITIVE,),
    "erf": (LINE,),
    "erfc": (LINE,),
    "erfcx": (LINE,),
    "erfinv": (2 * UNIT - 1,),
    "exp1": (POSITIVE,),
    "expi": (LINE,),
    "expit": (LINE,),
    "factorial": (POSITIVE,),
    "fresnel": (LINE,),
    "gamma": (LINE,),
    "gammainc": (POSITIVE, TURNED),
    "gammaincc": (POSITIVE, TURNED),
    "gammaln": (LINE,),
    "gammasgn": (LINE,),
    "hyp1f1": (POSITIVE, TURNED, LINE),
    "hyp2f1": (POSITIVE, TURNED, POSITIVE + 1, 1.4 * UNIT - 0.9),
    "i0": (LINE,),
    "i0e": (LINE,),
    "i1": (LINE,),
    "i1e": (LINE,),
    "kl_div": (UNIT, UNIT[::-1].copy()),
    "log_ndtr": (3 * LINE,),
    "log_softmax": (LINE,),
    "logit": (UNIT,),
    "loggamma": (POSITIVE,),
    "logsumexp": (LINE,),
    "ndtr": (LINE,),
    "ndtri": (UNIT,),
    "owens_t": (LINE, POSITIVE),
    "poch": (POSITIVE, TURNED),
    "rel_entr": (UNIT, UNIT[::-1].copy()),
    "sici": (LINE,),
    "softmax": (LINE,),
    "spence": (POSITIVE,),
    "xlog1py": (LINE, POSITIVE),
    "xlogy": (LINE, POSITIVE),
    "zeta": (POSITIVE + 1.1, TURNED),
}
# Of float32 results: what is composed of several operations is not right to the last digit.
DIGITS = {
    "boxcox": 1e-6,
    "boxcox1p": 1e-6,
    "kl_div": 2e-6,
    "ndtr": 1e-6,
    "comb": 3e-7,
    "factorial": 1e-6,
}
WITH_ORDER = {
    "polygamma": (np.array([0, 1, 2, 5]), POSITIVE[:4]),
    "expn": (np.array([0, 1, 2, 5]), POSITIVE[:4]),
}


def parts(out):
    return out if isinstance(out, tuple) else (out,)


@pytest.mark.parametrize("name", ROWS)
def test_values(name):
    args = [a.astype("f4") for a in ROWS[name]]
    got = parts(getattr(special, name)(*args))
    want = parts(getattr(sp, name)(*(a.astype("f8") for a in args)))
    for a, b in zip(got, want, strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(np.asarray(a), b, rtol=DIGITS.get(name, 2.5e-7), atol=1e-30)
    for dtype in (np.float16, jnp.bfloat16):
        for a in parts(getattr(special, name)(*(a[:2].astype(dtype) for a in args))):
            assert a.dtype == dtype
    integers = [np.arange(1, 3) if i else np.arange(2, 4) for i in range(len(args))]
    for a in parts(getattr(special, name)(*integers)):
        assert a.dtype == np.float32


@pytest.mark.parametrize("name", [*ROWS, *WITH_ORDER])
def test_derivatives(name):
    """First derivatives by differences of values, second by differences of the first."""
    function, args = getattr(special, name), ROWS.get(name) or WITH_ORDER[name]
    weights = np.random.default_rng(0).normal(size=args[0].shape)

    def total(*given):
        outs = parts(function(*given))
        return sum((k + 1) * (weights * o).sum() for k, o in enumerate(outs))

    def shifted(args, i, step):
        return [a + step if j == i else a for j, a in enumerate(args)]

    def difference(f, args, i):
        h = 1e-4
        wide = np.asarray(f(*shifted(args, i, 2 * h))) - np.asarray(f(*shifted(args, i, -2 * h)))
        near = np.asarray(f(*shifted(args, i, h))) - np.asarray(f(*shifted(args, i, -h)))
        return (8 * near - wide) / (12 * h)

    smooth = [i for i, a in enumerate(args) if a.dtype.kind == "f"]
    with enable_x64(True):
        for i in smooth:
            got = funcgrad.grad(total, argnums=i)(*args).sum()
            np.testing.assert_allclose(float(got), difference(total, args, i), rtol=3e-7, atol=1e-8)
        along = smooth[-1]
        slope = funcgrad.grad(total, argnums=along)
        bend = funcgrad.jvp(
            lambda x: slope(*(x if j == along else a for j, a in enumerate(args))),
            (args[along],),
            (np.ones(args[along].shape),),
        )[1]
        np.testing.assert_allclose(
            np.asarray(bend), difference(slope, args, along), rtol=2e-6, atol=1e-7
        )


@pytest.mark.parametrize("name", ["gamma", "ndtri", "xlogy", "logit", "hyp1f1", "sici", "softmax"])
def test_under_jit_and_vmap(name):
    args = [a.astype("f4") for a in ROWS[name]]
    function = getattr(special, name)
    want = parts(function(*args))
    for a, b in zip(parts(funcgrad.jit(function)(*args)), want, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)
    rows = [np.stack([a, a]) for a in args]
    for a, b in zip(parts(funcgrad.vmap(function)(*rows)), want, strict=True):
        np.testing.assert_allclose(np.asarray(a)[1], np.asarray(b), rtol=1e-6)


EDGES = [
    ("xlogy", (0, 0), 0),
    ("xlogy", (0, NAN), NAN),
    ("xlogy", (1, 0), -INF),
    ("xlog1py", (0, -1), 0),
    ("xlog1py", (0, NAN), NAN),
    ("xlog1py", (2, -1), -INF),
    ("entr", (0,), 0),
    ("entr", (-1,), -INF),
    ("rel_entr", (0, 0), 0),
    ("rel_entr", (1, 0), INF),
    ("rel_entr", (-1, 1), INF),
    ("kl_div", (0, 2), 2),
    ("logit", (0,), -INF),
    ("logit", (1,), INF),
    ("logit", (2,), NAN),
    ("boxcox", (0, 0), -INF),
    ("boxcox", (0, 2), -0.5),
    ("gamma", (0,), INF),
    ("gamma", (-0.0,), -INF),
    ("gamma", (-1,), NAN),
    ("gamma", (5,), 24),
    ("loggamma", (-0.5,), NAN),
    ("gammasgn", (-0.0,), -1),
    ("gammasgn", (-1.5,), 1),
    ("gammasgn", (-1,), NAN),
    ("factorial", (-1,), 0),
    ("factorial", (5,), 120),
    ("comb", (5, 2), 10),
    ("comb", (5, 6), 0),
    ("comb", (-1, 1), 0),
    ("poch", (2, 0), 1),
    ("expi", (0,), -INF),
    ("exp1", (0,), INF),
    ("exp1", (-1,), NAN),
    ("expn", (0, 1), np.exp(-1)),
    ("expn", (1.5, 2), 0.0425660648),
    ("expn", (-1, 1), NAN),
    ("spence", (0,), np.pi**2 / 6),
    ("spence", (1,), 0),
    ("spence", (-1,), NAN),
    ("erfcx", (1e3,), 0.000564189301),
    ("erfcx", (-INF,), INF),
    ("ndtri", (0,), -INF),
    ("ndtri", (1,), INF),
    ("ndtri", (2,), NAN),
    ("ndtri", (1e-30,), -11.464024988),
    ("log_ndtr", (-1e10,), -5e19),
    ("log_ndtr", (INF,), 0),
    ("owens_t", (0, 1), 0.125),
    ("hyp1f1", (0, 0, 1), 1),
    ("hyp1f1", (-2, -2, 1), np.e),
    ("hyp1f1", (1, 0, 1), INF),
    ("hyp2f1", (1, 1, 2, 1.5), INF),
    ("zeta", (2,), np.pi**2 / 6),
]


@pytest.mark.parametrize("name, args, value", EDGES, ids=str)
def test_edges(name, args, value):
    out = getattr(special, name)(*map(np.float32, args))
    np.testing.assert_allclose(np.asarray(out), np.float32(value), rtol=1e-6)


def gradient(name, *args):
    function = getattr(special, name)
    grads = funcgrad.grad(function, argnums=tuple(range(len(args))))(*map(np.float32, args))
    return [float(g) for g in grads]


@pytest.mark.parametrize(
    "name, args, want",
    [
        ("xlogy", (0, 0), [-INF, 0]),
        ("xlogy", (0, 2), [np.log(2), 0]),
        ("xlogy", (3, 1), [0, 3]),
        ("xlog1py", (0, -1), [-INF, 0]),
        ("entr", (0,), [INF]),
        ("logit", (0,), [INF]),
        ("sici", (0,), [1]),
        ("spence", (1,), [-1]),
        ("boxcox", (2, 0), [0.5, np.log(2) ** 2 / 2]),
        ("log_ndtr", (-1e4,), [1e4]),
        ("log_ndtr", (INF,), [0]),
        ("ndtri", (0.5,), [np.sqrt(2 * np.pi)]),
        ("rel_entr", (0, 0), [0, 0]),
        ("factorial", (-1,), [0]),
    ],
    ids=str,
)
def test_gradients_at_edges(name, args, want):
    if name == "sici":
        got = [float(funcgrad.grad(lambda x: special.sici(x)[0])(np.float32(args[0])))]
    else:
        got = gradient(name, *args)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


def test_mixed_derivatives_of_xlogy_at_0():
    hessian = funcgrad.hessian(special.xlogy, argnums=(0, 1))(0.0, 2.0)
    np.testing.assert_allclose(np.array(hessian, float), [[0, 0.5], [0.5, 0]])


SUMS = [
    ({}, (2, 3)),
    ({"axis": 0}, (2, 3)),
    ({"axis": (0, 1), "keepdims": True}, (2, 3)),
    ({"axis": 1, "b": np.array([1.0, -2, 0.5], "f4"), "return_sign": True}, (2, 3)),
    ({"axis": -1, "b": np.array([1.0, 2, 0.5], "f4")}, (2, 3)),
    ({"axis": 1, "where": np.array([True, False, True])}, (2, 3)),
    ({"axis": 0}, (0, 3)),
]


@pytest.mark.parametrize("settings, shape", SUMS, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_logsumexp(settings, shape, dtype):
    rng = np.random.default_rng(1)
    a = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype("c8")
    a = a if dtype == "c8" else a.real.copy()
    got = parts(special.logsumexp(a, **settings))
    want = parts(jsp.logsumexp(a, **settings))
    for x, y in zip(got, want, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6)
    if not a.size or "return_sign" in settings:
        return
    settings = dict(settings)
    b, where = settings.pop("b", 1), settings.pop("where", None)

    def plainly(x):
        return jnp.log(jnp.sum(b * jnp.exp(x), where=where, **settings))

    def by_us(x):
        return special.logsumexp(x, b=None if isinstance(b, int) else b, where=where, **settings)

    got, want = (funcgrad.grad(lambda x, f=f: jnp.real(f(x)).sum())(a) for f in (by_us, plainly))
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5, atol=1e-6)


def test_logsumexp_of_nothing():
    nothing = np.full(3, -INF, "f4")
    assert float(special.logsumexp(nothing)) == -INF
    np.testing.assert_array_equal(np.asarray(funcgrad.grad(special.logsumexp)(nothing)), 0)
    some = np.array([-INF, 1.0], "f4")
    np.testing.assert_array_equal(np.asarray(funcgrad.grad(special.logsumexp)(some)), [0, 1])
    assert float(special.logsumexp(np.array([INF, 0], "f4"))) == INF
    assert float(special.logsumexp(some, b=np.array([INF, 0], "f4"))) == -INF
    assert np.isnan(float(special.logsumexp(np.array([NAN, 0], "f4"))))
    np.testing.assert_allclose(float(special.logsumexp(np.array([1e4, 0], "f4"))), 1e4)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_softmax(name, axis):
    x = np.random.default_rng(2).normal(size=(2, 3)).astype("f4")
    ours = getattr(special, name)
    got, want = ours(x, axis=axis), getattr(sp, name)(x, axis=axis)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)

    def plainly(x):
        share = jnp.exp(x) / jnp.exp(x).sum(axis, keepdims=True)
        return share if name == "softmax" else jnp.log(share)

    got, want = (
        funcgrad.hessian(lambda x, f=f: (f(x) ** 2).sum())(x)
        for f in (lambda x: ours(x, axis=axis), plainly)
    )
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), atol=3e-6)
    assert np.isfinite(np.asarray(ours(np.array([1e4, -1e4], "f4"))))[0]


def test_complex():
    z = np.array([0.3 + 0.4j, -1.2 + 2j, 3 - 0.5j], np.complex64)
    for name in ("gamma", "loggamma", "wofz", "erfcx", "xlogy"):
        args = (z, z + 1) if name == "xlogy" else (z,)
        got = getattr(special, name)(*args)
        assert got.dtype == np.complex64
        np.testing.assert_allclose(np.asarray(got), getattr(sp, name)(*args), rtol=2e-6)
    np.testing.assert_allclose(np.asarray(special.logit(special.expit(z))), z, rtol=2e-6)
    with enable_x64(True):
        wide, h = z.astype(complex), 1e-5
        for name in ("gamma", "loggamma", "wofz"):
            function = getattr(special, name)
            got = funcgrad.jvp(function, (wide,), (np.ones(3, complex),))[1]
            up, down = (np.asarray(function(wide + s * h)) for s in (1, -1))
            np.testing.assert_allclose(np.asarray(got), (up - down) / (2 * h), rtol=1e-8)


@pytest.mark.parametrize("name", ["erf", "expi", "gammainc", "ndtr", "rel_entr", "hyp1f1", "i0"])
def test_complex_refused(name):
    count = len(ROWS[name])
    with pytest.raises((TypeError, ValueError), match="complex"):
        getattr(special, name)(*[np.ones(2, np.complex64)] * count)


def test_multigammaln():
    a = np.array([3.0, 4.5], "f4")
    for d in (1, 2, 4):
        np.testing.assert_allclose(
            np.asarray(special.multigammaln(a, d)), sp.multigammaln(a, d), rtol=1e-6
        )
    with pytest.raises(TypeError, match="d must be an integer"):
        special.multigammaln(a, 1.5)


def test_bernoulli():
    for n in (0, 1, 2, 11):
        got = np.asarray(special.bernoulli(n))
        np.testing.assert_allclose(got, sp.bernoulli(n)[: n + 1], rtol=1e-6)
    with pytest.raises(ValueError, match="non-negative"):
        special.bernoulli(-1)


def test_bessel_jn():
    z = np.array([[0.0, 1.0], [5.5, -2.0]], "f4")
    want = np.stack([sp.jv(n, z) for n in range(4)])
    np.testing.assert_allclose(np.asarray(special.bessel_jn(z, v=3)), want, rtol=2e-6, atol=1e-7)
    slope = funcgrad.jvp(lambda z: special.bessel_jn(z, v=3), (z,), (np.ones_like(z),))[1]
    want = np.stack([sp.jvp(n, z) for n in range(4)])
    np.testing.assert_allclose(np.asarray(slope), want, rtol=2e-6, atol=1e-7)


def test_sph_harm_y():
    n, m = np.array([0, 1, 2, 3, 3]), np.array([0, -1, 1, 3, -2])
    theta, phi = np.linspace(0.1, 3, 5), np.linspace(-2, 4, 5)
    with enable_x64(True):
        got = special.sph_harm_y(n, m, theta, phi)
        np.testing.assert_allclose(np.asarray(got), sp.sph_harm_y(n, m, theta, phi), rtol=1e-12)
    with pytest.raises(TypeError, match="must be integers"):
        special.sph_harm_y(n * 1.0, m, theta, phi)


def test_comb_with_repetition():
    got = special.comb(np.arange(5.0), 2.0, repetition=True)
    np.testing.assert_allclose(np.asarray(got), sp.comb(np.arange(5), 2, repetition=True))


@pytest.mark.parametrize(
    "call, error, said",
    [
        (lambda: special.polygamma(1.0, 2.0), ValueError, "integer dtype"),
        (lambda: special.factorial(3, exact=True), NotImplementedError, "math.factorial"),
        (lambda: special.log_ndtr(1.0, 31), ValueError, "0 .. 30"),
        (lambda: special.log_ndtr(1.0, 1.5), TypeError, "Python integer"),
        (lambda: special.bessel_jn(1.0, v=-1), ValueError, "non-negative"),
        (lambda: special.erf("a"), TypeError, "erf takes arrays"),
        (lambda: special.sph_harm_y(1, 0, 0.1, 0.2, diff_n=1), NotImplementedError, "grad"),
    ],
)
def test_errors(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_names_are_those_of_jax():
    public = {n for n, f in vars(jsp).items() if callable(f) and not n.startswith("_")}
    assert public <= set(special.__all__)


@pytest.mark.parametrize(
    "name", [n for n in special.__all__ if n not in ("softmax", "log_softmax")]
)
def test_parameters_are_those_of_jax(name):
    ours, theirs = (inspect.signature(getattr(lib, name)).parameters for lib in (special, jsp))
    assert list(ours) == list(theirs)
