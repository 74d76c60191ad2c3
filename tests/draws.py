"""Draws of every sampler, as functions of a library and a key, and what JAX drew.

`python tests/draws.py` writes JAX's numbers down anew; the tests only read them.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

RECORDED = Path(__file__).parent / "reference" / "random.npz"
SEED = 7

BF16 = ml_dtypes.bfloat16
ROWS = np.arange(60).reshape(12, 5)
PARAMS = np.linspace(0.3, 20, 200).astype(np.float32)
FEW = np.linspace(0.5, 3, 5).astype(np.float32)
COV = np.array([[2, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 3]], np.float32)


@dataclass(frozen=True)
class Sample:
    """A draw, how near to JAX's it must come (0: bit for bit), and how many may be farther off."""

    draw: Callable[[ModuleType, Any], Any]
    rtol: float = 0
    atol: float = 0
    outliers: float = 0
    partitionable: bool = True
    wide: bool = False

    def of(self, lib: ModuleType) -> np.ndarray:
        with contextlib.ExitStack() as stack:
            stack.enter_context(lib.threefry_partitionable(self.partitionable))
            stack.enter_context(lib.enable_x64(self.wide))
            return np.asarray(self.draw(lib, lib.random.key(SEED)))


def close(draw: Callable[[Any, Any], Any], **changes: Any) -> Sample:
    """A sampler with transcendental functions: it takes a library's random module and a key."""
    return of_random(draw, **{"rtol": 1e-5, "atol": 1e-6, **changes})


def of_random(draw: Callable[[Any, Any], Any], **changes: Any) -> Sample:
    return Sample(lambda lib, key: draw(lib.random, key), **changes)


def derivative(draw: Callable[[ModuleType, Any, Any], Any]) -> Sample:
    """The Jacobian with respect to the parameters FEW."""
    return Sample(
        lambda lib, key: lib.jacfwd(lambda a: draw(lib, key, a))(FEW), rtol=2e-4, atol=1e-5
    )


EQUAL = {
    "bits": of_random(lambda r, k: r.bits(k, (3, 5))),
    "bits 8": of_random(lambda r, k: r.bits(k, (7,), np.uint8)),
    "bits 16": of_random(lambda r, k: r.bits(k, (7,), np.uint16)),
    "bits of no shape": of_random(lambda r, k: r.bits(k)),
    "bits of none": of_random(lambda r, k: r.bits(k, (0, 3))),
    "split": of_random(lambda r, k: r.key_data(r.split(k, (2, 3)))),
    "split in none": of_random(lambda r, k: r.key_data(r.split(k, 0))),
    "fold_in": of_random(lambda r, k: r.key_data(r.fold_in(k, 9))),
    "fold_in negative": of_random(lambda r, k: r.key_data(r.fold_in(k, np.int32(-4)))),
    "raw split": of_random(lambda r, k: r.split(r.key_data(k), 3)),
    "uniform": of_random(lambda r, k: r.uniform(k, (200,))),
    "uniform float16": of_random(lambda r, k: r.uniform(k, (200,), np.float16)),
    "uniform bfloat16": of_random(lambda r, k: r.uniform(k, (200,), BF16)),
    "uniform bfloat16 in a range": of_random(lambda r, k: r.uniform(k, (200,), BF16, -3.0, 4.0)),
    "uniform float8": of_random(lambda r, k: r.uniform(k, (200,), ml_dtypes.float8_e4m3fn)),
    "randint": of_random(lambda r, k: r.randint(k, (200,), -5, 1000)),
    "randint int8, full": of_random(lambda r, k: r.randint(k, (200,), -128, 128, np.int8)),
    "randint uint8, full": of_random(lambda r, k: r.randint(k, (200,), 0, 256, np.uint8)),
    "randint clipped": of_random(lambda r, k: r.randint(k, (200,), -1000, 9, np.int16)),
    "randint uint32": of_random(
        lambda r, k: r.randint(k, (200,), 5, np.uint32(2**32 - 1), np.uint32)
    ),
    "randint empty": of_random(lambda r, k: r.randint(k, (3,), 7, 7)),
    "randint arrays": of_random(
        lambda r, k: r.randint(k, (2, 5), np.zeros((2, 1), int), np.arange(1, 6))
    ),
    "randint of floats": of_random(lambda r, k: r.randint(k, (9,), 1.5, 7.9)),
    "bernoulli": of_random(lambda r, k: r.bernoulli(k, 0.3, (200,))),
    "bernoulli arrays": of_random(lambda r, k: r.bernoulli(k, PARAMS / 20)),
    "bernoulli high": of_random(lambda r, k: r.bernoulli(k, PARAMS / 20, mode="high")),
    "bernoulli default": of_random(lambda r, k: r.bernoulli(k)),
    "rademacher": of_random(lambda r, k: r.rademacher(k, (200,))),
    "rademacher float": of_random(lambda r, k: r.rademacher(k, (9,), np.float16)),
    "permutation": of_random(lambda r, k: r.permutation(k, 2000)),
    "permutation of rows": of_random(lambda r, k: r.permutation(k, ROWS)),
    "permutation of columns": of_random(lambda r, k: r.permutation(k, ROWS, axis=-1)),
    "permutation independent": of_random(
        lambda r, k: r.permutation(k, ROWS, axis=1, independent=True)
    ),
    "permutation of none": of_random(lambda r, k: r.permutation(k, np.zeros((0, 3), np.float32))),
    "choice": of_random(lambda r, k: r.choice(k, 100, (4, 5))),
    "choice of rows": of_random(lambda r, k: r.choice(k, ROWS, (4,))),
    "choice of columns": of_random(lambda r, k: r.choice(k, ROWS, (4, 2), axis=1)),
    "choice of distinct": of_random(lambda r, k: r.choice(k, 100, (4, 5), replace=False)),
    "choice of distinct rows": of_random(lambda r, k: r.choice(k, ROWS, (6,), False)),
    "choice of one": of_random(lambda r, k: r.choice(k, ROWS)),
}

OLDER = {
    f"older {name}": of_random(draw, partitionable=False)
    for name, draw in {
        "bits": lambda r, k: r.bits(k, (2, 3)),
        "bits, odd": lambda r, k: r.bits(k, (5,)),
        "bits of no shape": lambda r, k: r.bits(k),
        "bits of none": lambda r, k: r.bits(k, (0,)),
        "bits 8": lambda r, k: r.bits(k, (7,), np.uint8),
        "bits 16": lambda r, k: r.bits(k, (3, 3), np.uint16),
        "split": lambda r, k: r.key_data(r.split(k, (2, 3))),
        "fold_in": lambda r, k: r.key_data(r.fold_in(k, 9)),
        "randint": lambda r, k: r.randint(k, (50,), 0, 1000),
        "uniform bfloat16": lambda r, k: r.uniform(k, (50,), BF16),
        "permutation": lambda r, k: r.permutation(k, 100),
    }.items()
} | {
    "older bits 64": of_random(
        lambda r, k: r.bits(k, (2, 3), np.uint64), partitionable=False, wide=True
    )
}

WIDE = {
    f"wide {name}": of_random(draw, wide=True)
    for name, draw in {
        "bits": lambda r, k: r.bits(k, (9,)),
        "uniform": lambda r, k: r.uniform(k, (200,)),
        "randint": lambda r, k: r.randint(k, (200,), -(2**40), 2**50),
        "randint int32": lambda r, k: r.randint(k, (200,), 0, 9, np.int32),
        "choice": lambda r, k: r.choice(k, 50, (9,)),
        "seed": lambda r, k: r.key_data(r.key(2**40 + 3)),
        "negative seed": lambda r, k: r.key_data(r.key(-1)),
        "unsigned seed": lambda r, k: r.key_data(r.key(np.uint64(2**64 - 3))),
        "narrow seed": lambda r, k: r.key_data(r.key(np.int32(-2))),
    }.items()
} | {
    f"wide {name}": close(draw, wide=True, rtol=1e-12, atol=1e-12)
    for name, draw in {
        "normal": lambda r, k: r.normal(k, (200,)),
        "exponential": lambda r, k: r.exponential(k, (200,)),
        "loggamma": lambda r, k: r.loggamma(k, PARAMS / 20),
    }.items()
}

CLOSE = {
    "uniform in a range": close(lambda r, k: r.uniform(k, (200,), minval=-PARAMS, maxval=PARAMS)),
    "normal": close(lambda r, k: r.normal(k, (200,))),
    "normal complex": close(lambda r, k: r.normal(k, (200,), np.complex64)),
    "truncated_normal": close(lambda r, k: r.truncated_normal(k, -1.0, PARAMS)),
    "lognormal": close(lambda r, k: r.lognormal(k, PARAMS / 40)),
    "wald": close(lambda r, k: r.wald(k, PARAMS), rtol=1e-2),
    "exponential": close(lambda r, k: r.exponential(k, (200,))),
    "laplace": close(lambda r, k: r.laplace(k, (200,))),
    "logistic": close(lambda r, k: r.logistic(k, (200,))),
    "cauchy": close(lambda r, k: r.cauchy(k, (200,))),
    "gumbel": close(lambda r, k: r.gumbel(k, (200,))),
    "gumbel high": close(lambda r, k: r.gumbel(k, (200,), mode="high")),
    "gumbel highest": close(lambda r, k: r.gumbel(k, (200,), mode="highest")),
    "rayleigh": close(lambda r, k: r.rayleigh(k, PARAMS)),
    "weibull_min": close(lambda r, k: r.weibull_min(k, PARAMS, 2.0, (200,))),
    "pareto": close(lambda r, k: r.pareto(k, PARAMS)),
    "triangular": close(lambda r, k: r.triangular(k, -1.0, PARAMS, PARAMS + 20)),
    "maxwell": close(lambda r, k: r.maxwell(k, (200,))),
    "double_sided_maxwell": close(lambda r, k: r.double_sided_maxwell(k, 1.0, FEW, (4,))),
    "double_sided_maxwell of no shape": close(lambda r, k: r.double_sided_maxwell(k, 1.0, FEW)),
    "multivariate_normal": close(lambda r, k: r.multivariate_normal(k, FEW[:3], COV, (4,))),
    "orthogonal": close(lambda r, k: r.orthogonal(k, 4, (3,))),
    "orthogonal tall": close(lambda r, k: r.orthogonal(k, 4, m=2)),
    "orthogonal wide": close(lambda r, k: r.orthogonal(k, 2, m=4, dtype=np.complex64)),
    "gamma": close(lambda r, k: r.gamma(k, PARAMS)),
    "gamma of one parameter": close(lambda r, k: r.gamma(k, 0.4, (3, 2))),
    "loggamma": close(lambda r, k: r.loggamma(k, PARAMS / 20)),
    "beta": close(lambda r, k: r.beta(k, PARAMS, 2.0)),
    "dirichlet": close(lambda r, k: r.dirichlet(k, PARAMS.reshape(40, 5))),
    "dirichlet with a shape": close(lambda r, k: r.dirichlet(k, FEW, (4,))),
    "chisquare": close(lambda r, k: r.chisquare(k, PARAMS)),
    "f": close(lambda r, k: r.f(k, PARAMS, 4.0)),
    "t": close(lambda r, k: r.t(k, PARAMS)),
    "generalized_normal": close(lambda r, k: r.generalized_normal(k, 1.5, (200,))),
    "ball": close(lambda r, k: r.ball(k, 3, 2.5, (50,))),
    "geometric": close(lambda r, k: r.geometric(k, PARAMS / 21)),
    "poisson": close(lambda r, k: r.poisson(k, PARAMS)),
    "poisson int16": close(lambda r, k: r.poisson(k, 3.0, (9,), np.int16)),
    "poisson of no mean": close(lambda r, k: r.poisson(k, np.float32([-1, 0, np.nan, 0]))),
    "binomial": close(lambda r, k: r.binomial(k, 50, PARAMS / 20), outliers=0.01),
    "binomial of odd parameters": close(
        lambda r, k: r.binomial(
            k, np.float32([-1, np.nan, np.inf, 5, 5]), np.float32([0.5, 0.5, 0.5, np.nan, 1.5])
        )
    ),
    "multinomial": close(
        lambda r, k: r.multinomial(k, 20, np.float32([[0.2, 0.3, 0.5], [0, 1, 0]]))
    ),
    "categorical": close(lambda r, k: r.categorical(k, np.log(PARAMS[:10]), shape=(200,))),
    "categorical along an axis": close(
        lambda r, k: r.categorical(k, PARAMS.reshape(10, 4, 5) / 9, axis=1, shape=(3, 10, 5))
    ),
    "categorical, distinct": close(
        lambda r, k: r.categorical(
            k, PARAMS.reshape(20, 10) / 9, axis=0, shape=(3, 4, 10), replace=False
        )
    ),
    "choice by p": close(lambda r, k: r.choice(k, 200, (200,), p=PARAMS), outliers=0.01),
    "choice of rows by p": close(lambda r, k: r.choice(k, ROWS, (6,), p=PARAMS[:12])),
    "choice of distinct by p": close(lambda r, k: r.choice(k, 200, (5, 6), False, p=PARAMS)),
    "normal float16": close(
        lambda r, k: r.normal(k, (200,), np.float16), rtol=2e-3, atol=1e-3, outliers=0.01
    ),
    "normal bfloat16": close(lambda r, k: r.normal(k, (200,), BF16), rtol=0, atol=0),
    "gamma bfloat16": close(lambda r, k: r.gamma(k, 2.5, (50,), BF16), rtol=1e-2),
}

DERIVATIVES = {
    f"derivative of {name}": derivative(draw)
    for name, draw in {
        "uniform": lambda lib, k, a: lib.random.uniform(k, (5,), minval=a, maxval=2 * a),
        "truncated_normal": lambda lib, k, a: lib.random.truncated_normal(k, -a, a),
        "lognormal": lambda lib, k, a: lib.random.lognormal(k, a),
        "gamma": lambda lib, k, a: lib.random.gamma(k, a),
        "loggamma": lambda lib, k, a: lib.random.loggamma(k, a),
        "beta": lambda lib, k, a: lib.random.beta(k, a, 2 * a),
        "dirichlet": lambda lib, k, a: lib.random.dirichlet(k, a),
        "t": lambda lib, k, a: lib.random.t(k, a),
        "generalized_normal": lambda lib, k, a: lib.random.generalized_normal(k, a[0], (4,)),
        "ball": lambda lib, k, a: lib.random.ball(k, 2, a[1], (3,)),
        "rayleigh": lambda lib, k, a: lib.random.rayleigh(k, a),
        "weibull_min": lambda lib, k, a: lib.random.weibull_min(k, a, a, (5,)),
        "pareto": lambda lib, k, a: lib.random.pareto(k, a),
        "triangular": lambda lib, k, a: lib.random.triangular(k, -a, a, 2 * a),
        "double_sided_maxwell": lambda lib, k, a: lib.random.double_sided_maxwell(k, a, a),
        "multivariate_normal": lambda lib, k, a: lib.random.multivariate_normal(
            k, a, lib.numpy.diag(a)
        ),
    }.items()
}

SAMPLES = EQUAL | OLDER | WIDE | CLOSE | DERIVATIVES


def storable(x: np.ndarray) -> tuple[str, np.ndarray]:
    """The name of the dtype, and the array in a dtype that npz files know."""
    return x.dtype.name, x.astype(np.float32) if x.dtype.kind == "V" else x


@cache
def recorded() -> dict[str, tuple[str, np.ndarray]]:
    """What JAX drew: the dtype and the array as `storable` gives them, by name."""
    with np.load(RECORDED) as file:
        return {key.partition("|")[0]: (key.partition("|")[2], file[key]) for key in file.files}


def record() -> None:
    import jax

    jax.config.update("jax_platforms", "cpu")
    answers = {}
    for name, sample in SAMPLES.items():
        dtype, array = storable(sample.of(jax))
        answers[f"{name}|{dtype}"] = array
    np.savez_compressed(RECORDED, **answers)


if __name__ == "__main__":
    record()
