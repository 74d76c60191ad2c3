"""A density estimated from a sample: a normal distribution around each of its points."""

import math
from collections.abc import Callable
from typing import Any

from funcgrad import lax, random
from funcgrad import numpy as jnp
from funcgrad.base.tree import register_pytree_node_class
from funcgrad.numpy._promotion import inexact1, is_complex, promote_dtypes, to_array
from funcgrad.scipy._error import ndtr
from funcgrad.scipy._logsumexp import logsumexp
from funcgrad.scipy._solving import solve_triangular


@register_pytree_node_class
class gaussian_kde:
    """A mixture of normal distributions, one around each point of a sample; a pytree.

    Args:
        dataset: the points, [d, n], or [n] for d = 1.
        bw_method: by which factor the kernels are narrower than the sample: "scott" (the default),
            "silverman", a number, or a function of this object that returns one.
        weights: of the points, [n]; equal by default.

    Attributes:
        dataset: [d, n].
        weights: [n], adding up to 1.
        neff: how many points of equal weight would count as much.
        covariance, inv_cov: of each kernel, and its inverse, [d, d].
    """

    def __init__(
        self, dataset: Any, bw_method: str | Any | Callable | None = None, weights: Any = None
    ):
        data = jnp.atleast_2d(inexact1("gaussian_kde", dataset))
        if is_complex(data):
            raise NotImplementedError("gaussian_kde takes a real dataset, not a complex one")
        if data.ndim != 2 or data.size < 2:
            raise ValueError(
                "gaussian_kde takes a dataset [n] or [d, n] with more than one element, got shape "
                f"{data.shape}"
            )
        n = data.shape[1]
        if weights is None:
            weights = jnp.full(n, 1 / n, data.dtype)
        else:
            weights = jnp.atleast_1d(to_array("gaussian_kde", weights))
            data, weights = promote_dtypes("gaussian_kde", data, weights)
            if weights.shape != (n,):
                raise ValueError(
                    f"gaussian_kde takes weights [{n}], one for each point, not {weights.shape}"
                )
            weights = weights / jnp.sum(weights)
        self.dataset, self.weights = data, weights
        self.neff = 1 / jnp.sum(weights**2)
        factor = self._factor("scott" if bw_method is None else bw_method)
        spread = jnp.atleast_2d(jnp.cov(data, rowvar=True, bias=False, aweights=weights))
        self.covariance = spread * factor**2
        self.inv_cov = jnp.linalg.inv(spread) / factor**2

    def _factor(self, method: Any) -> Any:
        if callable(method):
            return method(self)
        if method == "scott":
            return self.neff ** (-1 / (self.d + 4))
        if method == "silverman":
            return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        if isinstance(method, str) or jnp.ndim(method):
            raise ValueError(
                "gaussian_kde takes as bw_method a number, a function of the density, 'scott' or "
                f"'silverman', not {method!r}"
            )
        return method

    def tree_flatten(self) -> tuple:
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux: None, children: tuple) -> "gaussian_kde":
        kde = cls.__new__(cls)
        kde.neff, kde.dataset, kde.weights, kde.covariance, kde.inv_cov = children
        return kde

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at points [d, m], or [m] for d = 1; an array [m]."""
        points = self._points(x)
        factor = lax.linalg.cholesky(self.covariance)
        apart = points[:, :, None] - self.dataset[:, None, :]
        flat = jnp.reshape(apart, (self.d, -1))
        white = jnp.reshape(solve_triangular(factor, flat, lower=True), apart.shape)
        constant = jnp.sum(lax.log(jnp.diagonal(factor))) + self.d / 2 * math.log(2 * math.pi)
        exponents = -0.5 * jnp.sum(white * white, axis=0) - constant
        return logsumexp(exponents, axis=-1, b=self.weights[None, :])

    def pdf(self, x: Any) -> Any:
        """The density at points [d, m], or [m] for d = 1; an array [m]."""
        return lax.exp(self.logpdf(x))

    def evaluate(self, points: Any) -> Any:
        """The same as `pdf`."""
        return self.pdf(points)

    __call__ = evaluate

    def _points(self, x: Any) -> Any:
        x = inexact1("gaussian_kde", x)
        if is_complex(x):
            raise NotImplementedError(
                "gaussian_kde is evaluated at real points, not at complex ones"
            )
        points = jnp.atleast_2d(x)
        if points.shape == (1, self.d) != (self.d, 1):
            points = points.T
        if points.ndim != 2 or points.shape[0] != self.d:
            raise ValueError(
                f"the dataset is of dimension {self.d}, so points are [{self.d}, n]; got shape "
                f"{points.shape}"
            )
        return points

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the density times that of a normal distribution, mean [d], cov [d, d]."""
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}, but shape {mean.shape}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}, but shape {cov.shape}")
        return self._widened(self.covariance + cov).pdf(mean[:, None])[0]

    def _widened(self, covariance: Any) -> "gaussian_kde":
        """The mixture with kernels of another covariance."""
        children = (self.neff, self.dataset, self.weights, covariance, self.inv_cov)
        return self.tree_unflatten(None, children)

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability to lie between two numbers; d must be 1."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        if jnp.ndim(low) or jnp.ndim(high):
            raise ValueError("integrate_box_1d takes scalars low and high")
        sigma = lax.sqrt(self.covariance[0, 0])
        low, high = ((end - self.dataset[0]) / sigma for end in (low, high))
        return jnp.sum(self.weights * (ndtr(high) - ndtr(low)))

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Not there for d > 1, where the integral has no closed form."""
        raise NotImplementedError("boxes are integrated over in 1D alone, by integrate_box_1d")

    def integrate_kde(self, other: "gaussian_kde") -> Any:
        """The integral of the product of two densities."""
        if other.d != self.d:
            raise ValueError(
                f"integrate_kde takes a density of the same dimension, {self.d}, not {other.d}"
            )
        both = self._widened(self.covariance + other.covariance)
        return jnp.sum(both.pdf(other.dataset) * other.weights)

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Any:
        """Random points, [d, *shape], drawn with a key."""
        of_point, of_kernel = random.split(key)
        chosen = random.choice(of_point, self.n, shape=shape, p=self.weights)
        zeros = jnp.zeros(self.d, self.covariance.dtype)
        moved = random.multivariate_normal(
            of_kernel, zeros, self.covariance, shape=shape, dtype=self.dataset.dtype
        )
        return self.dataset[:, chosen] + jnp.moveaxis(moved, -1, 0)

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Not there: an estimate does not change. Make another."""
        raise NotImplementedError(
            "the bandwidth is fixed when an estimate is made; make another gaussian_kde"
        )
