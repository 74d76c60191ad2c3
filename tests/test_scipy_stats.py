"""funcgrad.scipy.stats: values against SciPy, derivatives against differences."""

import inspect
import warnings

import jax.scipy.stats as jss
import numpy as np
import pytest
import scipy.stats as ss

import funcgrad
import funcgrad.numpy as jnp
from funcgrad import random
from funcgrad.base.config import enable_x64
from funcgrad.scipy import stats

LINE = np.linspace(-2.5, 3.5, 8)
POSITIVE = np.linspace(0.3, 4, 8)
TURNED = POSITIVE[::-1].copy()
UNIT = np.linspace(0.05, 0.95, 8)
COUNTS = np.array([0, 1, 2, 3, 4, 5, -1, 7])
TRIALS = np.array([5, 5, 6, 3, 3, 9, 4, 7])

# The arguments of each distribution's density.
DISTRIBUTIONS = {
    "bernoulli": (COUNTS, UNIT),
    "beta": (1.3 * UNIT - 0.1, POSITIVE, TURNED),
    "betabinom": (COUNTS, TRIALS, POSITIVE, TURNED),
    "binom": (COUNTS, TRIALS, UNIT),
    "cauchy": (LINE,),
    "chi2": (LINE, POSITIVE),
    "expon": (LINE,),
    "gamma": (LINE, POSITIVE),
    "gennorm": (LINE, POSITIVE),
    "geom": (COUNTS, UNIT),
    "gumbel_l": (LINE,),
    "gumbel_r": (LINE,),
    "laplace": (LINE,),
    "logistic": (LINE,),
    "nbinom": (COUNTS, POSITIVE, UNIT),
    "norm": (LINE,),
    "pareto": (LINE, POSITIVE),
    "poisson": (COUNTS, POSITIVE),
    "t": (LINE, POSITIVE),
    "truncnorm": (LINE, -POSITIVE, TURNED),
    "uniform": (LINE / 2,),
    "vonmises": (LINE, POSITIVE),
    "wrapcauchy": (0.7 * (LINE + 3), UNIT),
}


def functions(distribution):
    found = vars(getattr(stats, distribution)).items()
    module = f"funcgrad.scipy.stats.{distribution}"
    return [n for n, f in found if getattr(f, "__module__", "") == module and n[0] != "_"]


EACH = [(d, f) for d in DISTRIBUTIONS for f in functions(d)]


def cases(distribution, name):
    """Arguments of a function, as they are, moved, and stretched."""
    function = getattr(getattr(stats, distribution), name)
    args = list(DISTRIBUTIONS[distribution])
    if name in ("ppf", "isf"):
        args[0] = UNIT
    if name == "entropy":
        args = [POSITIVE]
    takes = inspect.signature(function).parameters
    settings = [{}]
    if "loc" in takes:
        settings.append({"loc": 1 if args[0].dtype.kind == "i" else 0.3})
    if "scale" in takes:
        settings.append({"loc": 0.3, "scale": 1.7})
    return function, args, settings


@pytest.mark.parametrize("distribution, name", EACH)
def test_values(distribution, name):
    function, args, settings = cases(distribution, name)
    with enable_x64(True):
        for setting in settings:
            with warnings.catch_warnings(action="ignore"):
                want = getattr(getattr(ss, distribution), name)(*args, **setting)
            got = function(*args, **setting)
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-9, atol=1e-13)
    narrow = function(*(a.astype("f4") for a in args))
    assert narrow.dtype == np.float32


@pytest.mark.parametrize("distribution, name", EACH)
def test_derivatives(distribution, name):
    function, args, settings = cases(distribution, name)

    def total(*given):
        out = function(*given, **settings[-1])
        return jnp.where(jnp.isfinite(out), out, 0).sum()

    with enable_x64(True):
        for i, arg in enumerate(args):
            if arg.dtype.kind != "f":
                continue
            # Not where the function has an edge.
            around = [
                np.asarray(
                    function(*(a + h if j == i else a for j, a in enumerate(args)), **settings[-1])
                )
                for h in (-1e-4, -1e-5, 0, 1e-5, 1e-4)
            ]
            got = np.asarray(funcgrad.grad(total, argnums=i)(*args))
            assert np.isfinite(got).all()
            with np.errstate(invalid="ignore"):
                want = (around[3] - around[1]) / 2e-5
                smooth = np.isfinite(around).all(0) & (np.abs(np.diff(around, axis=0)).max(0) < 0.1)
            np.testing.assert_allclose(got[smooth], want[smooth], rtol=1e-6, atol=1e-7)


def test_tails():
    """Where the plain formulas would give 0, 1, or nan."""
    with enable_x64(True):
        for function, args, want in [
            (stats.norm.logcdf, (-40.0,), ss.norm.logcdf(-40)),
            (stats.norm.logsf, (40.0,), ss.norm.logsf(40)),
            (stats.norm.isf, (1e-30,), ss.norm.isf(1e-30)),
            (stats.cauchy.cdf, (-1e10,), ss.cauchy.cdf(-1e10)),
            (stats.expon.cdf, (1e-20,), 1e-20),
            (stats.gumbel_r.sf, (50.0,), ss.gumbel_r.sf(50)),
            (stats.truncnorm.logpdf, (11.0, 10.0, 12.0), ss.truncnorm.logpdf(11, 10, 12)),
            (stats.truncnorm.logcdf, (11.0, 10.0, 12.0), ss.truncnorm.logcdf(11, 10, 12)),
            (stats.truncnorm.logsf, (11.0, 10.0, 12.0), ss.truncnorm.logsf(11, 10, 12)),
            (stats.truncnorm.logsf, (0.5, -np.inf, np.inf), ss.norm.logsf(0.5)),
            (stats.poisson.entropy, (150.0,), 3.9236988),
            (stats.binom.logpmf, (0, 0, 0.3), 0),
            (stats.binom.logpmf, (3, 3, 1.0), 0),
        ]:
            np.testing.assert_allclose(float(function(*args)), want, rtol=1e-5)


def test_invalid_parameters():
    for function, args in [
        (stats.beta.logpdf, (0.5, -1.0, 2.0)),
        (stats.gumbel_r.cdf, (0.5, 0.0, -1.0)),
        (stats.vonmises.pdf, (0.5, -1.0)),
        (stats.wrapcauchy.pdf, (0.5, 1.5)),
        (stats.bernoulli.cdf, (0, 1.5)),
        (stats.betabinom.pmf, (1, 2, -1.0, 1.0)),
        (stats.uniform.ppf, (1.5,)),
        (stats.truncnorm.cdf, (0.5, 1.0, 0.0)),
    ]:
        assert np.isnan(float(function(*args)))


MEAN, COV = np.array([0.3, -1.0]), np.array([[2, 0.5], [0.5, 1.0]])
POINTS = np.random.default_rng(0).normal(size=(3, 2))


def test_distributions_of_vectors():
    with enable_x64(True):
        for name in ("logpdf", "pdf"):
            for args in [(POINTS, MEAN, COV), (POINTS[0], MEAN, 2.0), (1.0, 0.5, 2.0)]:
                got = getattr(stats.multivariate_normal, name)(*args)
                want = getattr(ss.multivariate_normal, name)(*args)
                np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12)
            x, alpha = np.array([0.2, 0.3, 0.5]), np.array([1.0, 2.0, 3.0])
            for given in (x, x[:2], np.stack([x, x[::-1]], 1)):
                got = getattr(stats.dirichlet, name)(given, alpha)
                want = getattr(ss.dirichlet, name)(given, alpha)
                np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12)
        for name in ("logpmf", "pmf"):
            counts = np.array([[1, 2, 3], [0, 0, 6], [1, 1, 1]])
            got = getattr(stats.multinomial, name)(counts, 6, x)
            want = getattr(ss.multinomial, name)(counts, 6, x)
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12)
    assert float(stats.dirichlet.pdf(np.array([0.2, 0.9]), np.ones(2))) == 0


def test_gradient_of_a_covariance():
    def loss(cov):
        return stats.multivariate_normal.logpdf(POINTS, MEAN, cov).sum()

    with enable_x64(True):
        got = np.asarray(funcgrad.grad(loss)(COV))
    inverse, apart = np.linalg.inv(COV), POINTS - MEAN
    want = 0.5 * (inverse @ apart.T @ apart @ inverse - len(POINTS) * inverse)
    np.testing.assert_allclose((got + got.T) / 2, want, rtol=1e-10)


SAMPLE = np.random.default_rng(1).normal(size=(2, 30))


@pytest.mark.parametrize("method", [None, "scott", "silverman", 0.3, lambda kde: 0.5])
@pytest.mark.parametrize("weights", [None, np.arange(1.0, 31.0)])
def test_gaussian_kde(method, weights):
    with enable_x64(True):
        ours = stats.gaussian_kde(SAMPLE, method, weights)
        theirs = ss.gaussian_kde(SAMPLE, method, weights)
        points = SAMPLE[:, :4] + 0.1
        for name in ("pdf", "logpdf", "evaluate", "__call__"):
            got, want = (getattr(kde, name)(points) for kde in (ours, theirs))
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-10)
        np.testing.assert_allclose(
            float(ours.integrate_gaussian(MEAN, COV)), theirs.integrate_gaussian(MEAN, COV)
        )
        shifted = stats.gaussian_kde(SAMPLE + 1), ss.gaussian_kde(SAMPLE + 1)
        np.testing.assert_allclose(
            float(ours.integrate_kde(shifted[0])), theirs.integrate_kde(shifted[1])
        )
        np.testing.assert_allclose(float(ours.neff), theirs.neff)
        one = stats.gaussian_kde(SAMPLE[0], method, weights)
        reference = ss.gaussian_kde(SAMPLE[0], method, weights)
        np.testing.assert_allclose(
            float(one.integrate_box_1d(-1, 2)), reference.integrate_box_1d(-1, 2)
        )


def test_gaussian_kde_is_a_pytree():
    kde = stats.gaussian_kde(SAMPLE)
    point = np.zeros(2, np.float32)
    under_jit = funcgrad.jit(lambda kde: kde.pdf(point))(kde)
    np.testing.assert_allclose(np.asarray(under_jit), np.asarray(kde.pdf(point)), rtol=1e-5)
    draws = np.asarray(kde.resample(random.key(0), (4000,)))
    assert draws.shape == (2, 4000)
    np.testing.assert_allclose(draws.mean(1), SAMPLE.mean(1), atol=0.1)
    for call, said in [
        (lambda: stats.gaussian_kde(np.ones(1)), "more than one element"),
        (lambda: stats.gaussian_kde(SAMPLE, "best"), "scott"),
        (lambda: stats.gaussian_kde(SAMPLE, weights=np.ones(3)), "one for each point"),
        (lambda: kde(np.ones((3, 4))), "dimension"),
        (lambda: kde.integrate_box_1d(0, 1), "1D"),
    ]:
        with pytest.raises(ValueError, match=said):
            call()


NAN = np.nan
TABLE = np.array([[3.0, 1, 2, 1], [1, 1, 5, 5], [2, 2, 2, 0]])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_summaries(axis):
    for keepdims in (False, True):
        got, want = (s.mode(TABLE, axis=axis, keepdims=keepdims) for s in (stats, ss))
        np.testing.assert_array_equal(np.asarray(got.mode), want.mode)
        np.testing.assert_array_equal(np.asarray(got.count), want.count)
        got, want = (np.asarray(s.sem(TABLE, axis, keepdims=keepdims)) for s in (stats, ss))
        np.testing.assert_allclose(got, want, rtol=1e-6)
    for method in ("average", "min", "max", "dense", "ordinal"):
        got, want = (np.asarray(s.rankdata(TABLE, method, axis=axis)) for s in (stats, ss))
        np.testing.assert_array_equal(got, want)


def test_summaries_with_nan():
    x = np.array([NAN, 1.0, 1.0, NAN, NAN], np.float32)
    got = stats.mode(x)
    assert np.isnan(float(got.mode)) and int(got.count) == 3
    assert np.isnan(np.asarray(stats.rankdata(x))).all()
    np.testing.assert_allclose(
        float(stats.sem(np.append(x, 2.5), nan_policy="omit")), ss.sem([1, 1, 2.5]), rtol=1e-6
    )
    assert np.isnan(float(stats.sem(x)))
    with pytest.raises(NotImplementedError, match="nan_policy"):
        stats.mode(x, nan_policy="omit")
    with pytest.raises(ValueError, match="unknown method"):
        stats.rankdata(x, "best")


def test_names_and_parameters_are_those_of_jax():
    public = {n for n in vars(jss) if not n.startswith("_")}
    assert public == set(stats.__all__)
    for name in public:
        ours, theirs = getattr(stats, name), getattr(jss, name)
        pairs = [(ours, theirs)]
        if inspect.ismodule(theirs):
            names = [
                n for n, f in vars(theirs).items() if inspect.isroutine(f) or hasattr(f, "lower")
            ]
            pairs = [(getattr(ours, n), getattr(theirs, n)) for n in names if n[0] != "_"]
        for a, b in pairs:
            assert list(inspect.signature(a).parameters) == list(inspect.signature(b).parameters)
