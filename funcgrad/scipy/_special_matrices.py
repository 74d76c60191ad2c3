"""Matrices of a special form, made of a few numbers or of none."""

import math
from typing import Any

import numpy as np

from funcgrad import numpy as jnp
from funcgrad.base import dtypes
from funcgrad.base.shapes import concrete_int
from funcgrad.numpy._promotion import inexact1, promote_dtypes, to_array


def block_diag(*arrs: Any) -> Any:
    """The matrix with the given ones on its diagonal, and zeros elsewhere.

    Args:
        arrs: matrices [m, n]; vectors count as rows, and numbers as [1, 1].

    Returns:
        [sum of m, sum of n].
    """
    blocks = promote_dtypes("block_diag", *(arrs or (np.zeros((1, 0), dtypes.default_float()),)))
    for i, block in enumerate(blocks):
        if block.ndim > 2:
            raise ValueError(
                f"block_diag takes scalars, vectors and matrices; argument {i} has shape "
                f"{block.shape}."
            )
    blocks = [jnp.atleast_2d(block) for block in blocks]
    total, before, rows = sum(b.shape[1] for b in blocks), 0, []
    for block in blocks:
        after = total - before - block.shape[1]
        rows.append(jnp.pad(block, ((0, 0), (before, after))))
        before += block.shape[1]
    return jnp.concatenate(rows)


def _vector(name: str, x: Any, least: int = 0) -> Any:
    """The argument as vectors [..., n] with n >= least."""
    x = jnp.atleast_1d(to_array(name, x))
    if x.shape[-1] < least:
        raise ValueError(
            f"{name} needs a last axis of at least {least} elements; got shape {x.shape}"
        )
    return x


def _shifted(line: Any, start: np.ndarray) -> Any:
    """line[..., start], with an array of indices [m, n] known beforehand."""
    return jnp.take(line, start, axis=-1)


def _joined(name: str, *parts: Any) -> Any:
    """Vectors put one after the other, the axes in front broadcast."""
    parts = tuple(promote_dtypes(name, *parts))
    batch = jnp.broadcast_shapes(*(p.shape[:-1] for p in parts))
    return jnp.concatenate([jnp.broadcast_to(p, (*batch, p.shape[-1])) for p in parts], axis=-1)


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix whose entries are constant along diagonals.

    Args:
        c: its first column, [..., m].
        r: its first row, [..., n], of which the first entry is not read; by default conj(c).

    Returns:
        [..., m, n].
    """
    c = _vector("toeplitz", c)
    r = jnp.conj(c) if r is None else _vector("toeplitz", r)
    m, n = c.shape[-1], r.shape[-1]
    line = _joined("toeplitz", jnp.flip(c, -1), r[..., 1:])
    return _shifted(line, np.arange(m)[::-1, None] + np.arange(n))


def hankel(c: Any, r: Any = None) -> Any:
    """The matrix whose entries are constant along antidiagonals.

    Args:
        c: its first column, [..., m].
        r: its last row, [..., n], of which the first entry is not read; by default zeros.

    Returns:
        [..., m, n].
    """
    for given in (c, r):
        if given is not None and jnp.ndim(given) == 0:
            raise ValueError("hankel takes c and r with an axis of elements; got a scalar.")
    c = _vector("hankel", c)
    r = jnp.zeros_like(c) if r is None else _vector("hankel", r)
    m, n = c.shape[-1], r.shape[-1]
    return _shifted(_joined("hankel", c, r[..., 1:]), np.arange(m)[:, None] + np.arange(n))


def circulant(c: Any) -> Any:
    """The matrix [..., n, n] with first column c [..., n], each other one rotated by one more."""
    c = _vector("circulant", c)
    n = c.shape[-1]
    return _shifted(c, (np.arange(n)[:, None] - np.arange(n)) % max(n, 1))


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix whose product with a vector [n] is its convolution with a [..., m].

    Args:
        mode: "full" for all m + n - 1 rows, "same" for the max(m, n) in the middle, "valid" for
            those where the shorter one lies within the longer.
    """
    n = concrete_int(n, "n")
    if n <= 0:
        raise ValueError(f"convolution_matrix takes a positive integer n, not {n}.")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolution_matrix has modes 'full', 'same' and 'valid', not {mode!r}.")
    if jnp.ndim(a) == 0:
        raise ValueError("convolution_matrix takes a with an axis of elements; got a scalar.")
    a = _vector("convolution_matrix", a, 1)
    column = _joined("convolution_matrix", a, jnp.zeros(n - 1, a.dtype))
    full = toeplitz(column, jnp.zeros(n, a.dtype))
    shorter = min(a.shape[-1], n) - 1
    cuts = {"full": (0, 0), "same": (shorter // 2, shorter - shorter // 2), "valid": (shorter,) * 2}
    top, bottom = cuts[mode]
    return full[..., top : full.shape[-2] - bottom, :]


def leslie(f: Any, s: Any) -> Any:
    """The matrix with first row f [..., n], and s [..., n - 1] below its diagonal."""
    f, s = _vector("leslie", f, 2), _vector("leslie", s)
    if s.shape[-1] != f.shape[-1] - 1:
        raise ValueError(
            f"leslie takes f [..., n] and s [..., n - 1]; got f of shape {f.shape} and s of shape "
            f"{s.shape}."
        )
    return _row_over_subdiagonal(*promote_dtypes("leslie", f, s))


def companion(a: Any) -> Any:
    """The matrix [..., n, n] with a [..., n + 1] for its characteristic polynomial."""
    a = _vector("companion", inexact1("companion", a), 2)
    first = -a[..., 1:] / a[..., :1]
    return _row_over_subdiagonal(first, jnp.ones(first.shape[-1] - 1, first.dtype))


def _row_over_subdiagonal(row: Any, below: Any) -> Any:
    n = row.shape[-1]
    batch = jnp.broadcast_shapes(row.shape[:-1], below.shape[:-1])
    row = jnp.broadcast_to(row, (*batch, n))[..., None, :]
    diagonal = below[..., :, None] * jnp.eye(n - 1, n, dtype=below.dtype)
    return jnp.concatenate([row, jnp.broadcast_to(diagonal, (*batch, n - 1, n))], axis=-2)


def fiedler(a: Any) -> Any:
    """The matrix [..., n, n] of distances |a_i - a_j| for a [..., n]."""
    a = _vector("fiedler", a)
    return abs(a[..., :, None] - a[..., None, :])


def fiedler_companion(a: Any) -> Any:
    """A pentadiagonal matrix [..., n, n] with the characteristic polynomial a [..., n + 1]."""
    a = _vector("fiedler_companion", inexact1("fiedler_companion", a), 1)
    a, n = -a / a[..., :1], a.shape[-1] - 1
    # Where the coefficients go, 0 standing for none; and where the ones.
    place, ones = np.zeros((n, n), int), np.zeros((n, n))
    for i in range(n):
        for j in range(max(i - 2, 0), min(i + 3, n)):
            if (i, j) == (0, 0):
                place[i, j] = 1
            elif (i, j) == (1, 0) or (j == i + 2 and i % 2 == 0) or (j == i - 2 and i % 2):
                ones[i, j] = 1
            elif j == i + 1 and i % 2 == 0:
                place[i, j] = i + 2
            elif j == i - 1 and i % 2 == 0:
                place[i, j] = i + 1
    return jnp.where(place > 0, _shifted(a, place), jnp.asarray(ones, a.dtype))


# matrices made of no numbers but their size


def _floats(values: np.ndarray) -> Any:
    return jnp.asarray(values, dtypes.default_float())


def hilbert(n: int) -> Any:
    """The matrix [n, n] with entries 1 / (i + j + 1)."""
    i = np.arange(concrete_int(n, "n"))
    return _floats(1 / (i[:, None] + i + 1))


def invhilbert(n: int) -> Any:
    """The inverse of hilbert(n)."""
    n = concrete_int(n, "n")
    rows = [
        [
            (-1) ** (i + j)
            * (i + j + 1)
            * math.comb(n + i, n - j - 1)
            * math.comb(n + j, n - i - 1)
            * math.comb(i + j, i) ** 2
            for j in range(n)
        ]
        for i in range(n)
    ]
    return _floats(np.array(rows, float).reshape(n, n))


_KINDS = ("symmetric", "lower", "upper")


def pascal(n: int, kind: str | None = None) -> Any:
    """The matrix [n, n] of Pascal's triangle.

    kind: "lower" with entries i over j; "upper", its transpose; or "symmetric" (the default), the
    product of both, with entries i + j over i.
    """
    n, kind = _size_and_kind("pascal", n, kind)
    over = [[math.comb(i, j) for j in range(n)] for i in range(n)]
    if kind == "symmetric":
        over = [[math.comb(i + j, i) for j in range(n)] for i in range(n)]
    triangle = jnp.asarray(np.array(over, float).reshape(n, n), np.float32)
    return triangle.T if kind == "upper" else triangle


def invpascal(n: int, kind: str | None = None) -> Any:
    """The inverse of pascal(n, kind)."""
    n, kind = _size_and_kind("invpascal", n, kind)
    lower = [[(-1) ** (i + j) * math.comb(i, j) for j in range(n)] for i in range(n)]
    if kind == "symmetric":
        lower = [
            [sum(lower[k][i] * lower[k][j] for k in range(n)) for j in range(n)] for i in range(n)
        ]
    inverse = _floats(np.array(lower, float).reshape(n, n))
    return inverse.T if kind == "upper" else inverse


def _size_and_kind(name: str, n: int, kind: str | None) -> tuple[int, str]:
    kind = "symmetric" if kind is None else kind
    if kind not in _KINDS:
        raise ValueError(f"{name} has no kind {kind!r}; the kinds are {_KINDS}")
    return concrete_int(n, "n"), kind


def hadamard(n: int, dtype: Any = int) -> Any:
    """A matrix [n, n] of 1 and -1 with orthogonal rows, for n a power of 2."""
    n = concrete_int(n, "n")
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard takes n = 1, 2, 4 or another power of 2, not {n}.")
    h = np.ones((1, 1), int)
    while len(h) < n:
        h = np.block([[h, h], [h, -h]])
    return jnp.asarray(h, dtypes.check_user_dtype(dtype, "hadamard"))


def helmert(n: int, full: bool = False) -> Any:
    """Rows k = 1 .. n - 1 that are orthonormal, and orthogonal to ones: k equal entries, then -k.

    With `full` the row of ones, normalized, stands first.
    """
    n = concrete_int(n, "n")
    if n < 1:
        raise ValueError(f"helmert takes a positive integer n, not {n}.")
    h = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    h[0] = 1
    h /= np.sqrt((h**2).sum(1, keepdims=True))
    return _floats(h if full else h[1:])


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """The matrix [n, n] of the discrete Fourier transform, exp(-2 pi i j k / n).

    Args:
        scale: None, "sqrtn" to divide by sqrt(n), or "n" to divide by n.
        dtype: a complex dtype.
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft knows no scale {scale!r}; leave it None, or give 'n' or 'sqrtn'.")
    dtype = dtypes.default_complex() if dtype is None else dtypes.check_user_dtype(dtype, "dft")
    if not dtypes.issubdtype(dtype, np.complexfloating):
        raise ValueError(f"dft makes complex matrices, so no dtype {dtype}; give complex64, say.")
    n = concrete_int(n, "n")
    turns = (np.arange(n)[:, None] * np.arange(n)) % max(n, 1) / max(n, 1)
    size = {None: 1, "sqrtn": math.sqrt(n), "n": n}[scale]
    return jnp.asarray(np.exp(-2j * np.pi * turns) / max(size, 1), dtype)
