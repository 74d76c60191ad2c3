"""The trend of a signal: its mean, or the lines that fit it best, which `detrend` takes away."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as jnp
from funcgrad.base.shapes import canonical_axis, int_tuple
from funcgrad.numpy._promotion import inexact1


def detrend(
    data: Any,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | np.ndarray = 0,
    overwrite_data: None = None,
) -> Any:
    """The signal minus its mean, or minus the lines that fit it best.

    Args:
        data: Array of any shape.
        axis: That of time.
        type: "linear" or "constant".
        bp: Where one line ends and the next begins.
        overwrite_data: Not supported, as arrays do not change.

    Raises:
        ValueError: For another type, and breakpoints outside the signal.
        NotImplementedError: If overwrite_data is given.

    Example:
        >>> from funcgrad.scipy.signal import detrend
        >>> detrend([1., 2., 6.], type="constant")
        Array([-2., -1.,  3.], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError("detrend: arrays do not change, so leave overwrite_data out.")
    if type not in ("linear", "constant"):
        raise ValueError(f"detrend: type {type!r} is not 'linear' or 'constant'.")
    data = inexact1("detrend", jnp.asarray(data))
    axis = canonical_axis(axis, data.ndim)
    if type == "constant":
        return data - data.mean(axis, keepdims=True)
    data = jnp.moveaxis(data, axis, -1)
    n = data.shape[-1]
    ends = sorted({0, n, *int_tuple(bp, "bp")})
    if ends[0] < 0 or ends[-1] > n:
        raise ValueError(f"detrend: breakpoints {bp} are not inside an axis of length {n}.")
    pieces = [_without_line(data[..., a:b]) for a, b in itertools.pairwise(ends)]
    return jnp.moveaxis(jnp.concatenate(pieces, -1) if pieces else data, -1, axis)


def _without_line(x: Any) -> Any:
    """Least squares on a centred axis, where intercept and slope do not mix."""
    n = x.shape[-1]
    t = np.arange(n) - (n - 1) / 2
    x = x - x.mean(-1, keepdims=True)
    if n < 2:
        return x
    t = jnp.asarray(t / np.sqrt(np.sum(t * t)), x.dtype)
    return x - t * (x * t).sum(-1, keepdims=True)
