"""Spread and correlation: var, std, cov, corrcoef."""

from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.basis import convert
from funcgrad.numpy._choosing import clip
from funcgrad.numpy._complex import conj, imag, real
from funcgrad.numpy._filling import full_like
from funcgrad.numpy._joining import concatenate
from funcgrad.numpy._products import dot
from funcgrad.numpy._promotion import (
    choose,
    is_complex,
    like,
    promote_dtypes,
    refuse_out,
    to_array,
)
from funcgrad.numpy._reductions import (
    Axis,
    average,
    check_where,
    count,
    sum,
    wide,
)
from funcgrad.numpy._reductions import mean as mean_of
from funcgrad.numpy._shaping import transpose
from funcgrad.numpy._ufuncs import sqrt
from funcgrad.primitives import arithmetic, complex_parts, exponential
from funcgrad.primitives.compare import gt


def var(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """The mean squared distance from the mean over the given axes.

    Args:
        a: the array; half precision is computed in single, complex numbers by |a - mean|^2.
        axis: an axis or a sequence of them; all by default.
        dtype: of the computation and result.
        out: None.
        ddof, correction: two names for what is subtracted from the number of elements.
        keepdims: keep the axes, with length 1.
        where: which elements to count; a boolean array that broadcasts to `a`.
        mean: the mean if it is known, with the axes kept.

    Returns:
        A float; nan where no more than `ddof` elements are counted.
    """
    refuse_out("var", out)
    if correction is None:
        correction = ddof
    elif not isinstance(ddof, int) or ddof != 0:
        raise ValueError("var: ddof and correction are two names of one thing; do not give both.")
    a = to_array("var", a)
    where = check_where("var", where)
    work, result_dtype = variance_dtypes("var", a, dtype)
    a = convert(a, work)
    if mean is None:
        center = mean_of(a, axis, work, None, True, where=where)
    else:
        center = convert(to_array("var", mean), work)
    squares = squared_size(a - center)
    work = squares.aval.dtype
    total = sum(squares, axis, work, None, keepdims, None, where)
    number = count(a, axis, keepdims, where, work) - like(correction, squares)
    result = convert(arithmetic.div(total, number), result_dtype)
    enough = gt(number, like(0, number))
    return choose(enough, result, like(np.nan, result))


def squared_size(x: Any) -> Any:
    """|x|^2, real."""
    if is_complex(x):
        return exponential.square(real(x)) + exponential.square(imag(x))
    return exponential.square(x)


def variance_dtypes(name: str, a: Any, dtype: Any) -> tuple[Any, Any]:
    """The dtype to compute a variance in, and that of the result."""
    have = a.aval.dtype
    if dtype is not None:
        dtype = dtypes.check_user_dtype(dtype, name)
        if is_complex(a) and not dtypes.issubdtype(dtype, np.complexfloating):
            raise ValueError(
                f"{name}: the real dtype {dtype} is not enough for the variance of "
                f"{a.aval.str_short()}; leave it out, or take the variance of the parts."
            )
        return wide(dtype), dtype
    if not dtypes.issubdtype(have, np.inexact):
        result = dtypes.canonicalize_dtype(dtypes.to_inexact(have))
        return result, result
    return wide(have), dtypes.finfo(have).dtype


def std(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """The square root of `var`, whose arguments it takes."""
    refuse_out("std", out)
    dtype = None if dtype is None else _inexact_dtype("std", dtype)
    return sqrt(
        var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    )


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """The covariance matrix of variables, which are the rows of m (columns without `rowvar`).

    Args:
        m: [variables, observations], or one variable.
        y: more of them.
        rowvar: whether rows are variables.
        bias: divide by the number of observations instead of one less; `ddof` overrides it.
        ddof: what is subtracted from the number of observations.
        fweights: how often each observation was made, integers.
        aweights: how much each observation counts.
        dtype: of the result.
    """
    given = [m] if y is None else [m, y]
    x, *more = promote_dtypes("cov", *given, kind=dtypes.to_inexact)
    y = more[0] if more else None
    if any(v.ndim > 2 for v in (x, *more)):
        raise ValueError(f"cov: m or y has more than 2 axes; m has shape {x.aval.shape}")
    x = _rows(x, rowvar)
    if y is not None:
        x = concatenate([x, _rows(y, rowvar or y.aval.shape[0] == 1)])
    if dtype is not None:
        x = convert(x, _inexact_dtype("cov", dtype))
    if x.aval.shape[0] == 0:
        return x.reshape(0, 0)
    if x.aval.shape[1] == 0:
        return full_like(x, np.nan, shape=(x.aval.shape[0],) * 2).squeeze()
    weights = _weights(fweights, aweights, x)
    delta = (0 if bias else 1) if ddof is None else ddof
    if weights is None:
        center, number = mean_of(x, 1), x.aval.shape[1] - delta
        weighted = x - center[:, None]
        centered = weighted
    else:
        center, total = average(x, 1, weights, returned=True)
        total = total[0]
        if delta == 0:
            number = total
        elif aweights is None:
            number = total - delta
        else:
            number = total - delta * sum(weights * _as_weights("aweights", aweights, x)) / total
        centered = x - center[:, None]
        weighted = centered * weights
    return (dot(centered, conj(transpose(weighted))) / number).squeeze()


def _inexact_dtype(name: str, dtype: Any) -> Any:
    dtype = dtypes.check_user_dtype(dtype, name)
    if not dtypes.issubdtype(dtype, np.inexact):
        raise ValueError(f"{name}: dtype {dtype} is neither floating nor complex")
    return dtype


def _rows(x: Any, rowvar: bool) -> Any:
    if x.ndim < 2:
        return x.reshape(1, x.aval.size)
    return x if rowvar else transpose(x)


def _weights(fweights: Any, aweights: Any, x: Any) -> Any:
    parts = [
        _as_weights(name, w, x)
        for name, w in (("fweights", fweights), ("aweights", aweights))
        if w is not None
    ]
    return None if not parts else parts[0] if len(parts) == 1 else parts[0] * parts[1]


def _as_weights(name: str, weights: Any, x: Any) -> Any:
    w = to_array("cov", weights)
    if w.aval.shape != (x.aval.shape[1],):
        raise RuntimeError(
            f"cov: {name} must be one number for each of the {x.aval.shape[1]} observations, got "
            f"shape {w.aval.shape}"
        )
    if name == "fweights" and not dtypes.issubdtype(w.aval.dtype, np.integer):
        raise TypeError(f"cov: fweights must be integer, got {w.aval.dtype}")
    return convert(abs(w), dtypes.finfo(x.aval.dtype).dtype)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """The correlation coefficients of variables, in [-1, 1]; the arguments are those of `cov`."""
    matrix = cov(x, y, rowvar, dtype=dtype)
    if matrix.ndim == 0:
        return matrix / matrix
    spread = sqrt(real(matrix.diagonal()))
    matrix = matrix / spread[:, None] / spread[None, :]
    if is_complex(matrix):
        return complex_parts.complex(clip(real(matrix), -1, 1), clip(imag(matrix), -1, 1))
    return clip(matrix, -1, 1)
