"""Sums of exponentials that do not overflow: logsumexp, softmax, log_softmax."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.base.shapes import canonical_axes
from funcgrad.numpy._promotion import inexact, inexact1, is_complex

Axis = int | Sequence[int] | None


def logsumexp(
    a: Any,
    axis: Axis = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b exp(a))) over the given axes (all by default), without overflow.

    Args:
        a: real or complex.
        axis: an axis or a sequence of them.
        b: factors, which broadcast to `a`; a term whose factor is 0 does not count, whatever a is.
        keepdims: keep the axes, with length 1.
        return_sign: return also the sign of the sum (its direction, if complex), and the logarithm
            of its size. Otherwise a negative sum gives nan.
        where: which elements to count; a boolean array that broadcasts to `a`.

    Returns:
        An array, -inf where no term counts or all are 0 (with gradient 0 there); or the pair
        (array, sign).
    """
    if b is None:
        a = inexact1("logsumexp", a)
    else:
        a, b = inexact("logsumexp", a, b)
        a = jnp.where(b != 0, a, -np.inf)
    if where is not None:
        a = jnp.where(where, a, 0)
    axes = canonical_axes(axis, a.ndim)
    settings = {"axis": axes, "keepdims": True, "where": where}
    top = lax.stop_gradient(jnp.max(jnp.real(a), initial=-np.inf, **settings))
    nothing = top == -np.inf
    top = jnp.where(jnp.isfinite(top), top, 0)
    terms = lax.exp(a - top) if b is None else lax.exp(a - top) * b
    total = jnp.sum(terms, **settings)
    sign = lax.sign(total)
    if return_sign or not is_complex(a):
        total = abs(total)
    out = jnp.where(nothing, -np.inf, lax.log(jnp.where(nothing, 1, total)) + top)
    if b is not None and not return_sign and not is_complex(a):
        out = jnp.where(sign < 0, np.nan, out)
    if not keepdims:
        out, sign = (jnp.squeeze(x, axes) for x in (out, sign))
    return (out, sign) if return_sign else out


def softmax(x: Any, /, *, axis: Axis = None) -> Any:
    """exp(x) / sum(exp(x)), the sum over the given axes (all by default)."""
    x = inexact1("softmax", x)
    return _softmax(x, canonical_axes(axis, x.ndim))


@partial(custom_jvp, nondiff_argnums=(1,))
def _softmax(x: Any, axes: tuple[int, ...]) -> Any:
    powers = lax.exp(x - jnp.max(x, axes, keepdims=True, initial=-np.inf))
    return powers / jnp.sum(powers, axes, keepdims=True)


@_softmax.defjvp
def _softmax_jvp(axes: tuple[int, ...], primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    out = _softmax(*primals, axes)
    moved = out * tangents[0]
    return out, moved - out * jnp.sum(moved, axes, keepdims=True)


def log_softmax(x: Any, /, *, axis: Axis = None) -> Any:
    """log(softmax(x)), also where softmax(x) is too small for its dtype."""
    x = inexact1("log_softmax", x)
    axes = canonical_axes(axis, x.ndim)
    x = x - lax.stop_gradient(jnp.max(x, axes, keepdims=True, initial=-np.inf))
    return x - lax.log(jnp.sum(lax.exp(x), axes, keepdims=True))
