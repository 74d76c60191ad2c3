"""Products under the names of the array API, and the product of many matrices."""

import itertools
from collections.abc import Sequence
from typing import Any

from funcgrad.numpy import _diagonals, _products
from funcgrad.numpy._einsum import einsum
from funcgrad.numpy._products import vecdot
from funcgrad.numpy._promotion import to_arrays
from funcgrad.numpy._shaping import matrix_transpose
from funcgrad.primitives.precision import PrecisionLike


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of 3 components along an axis."""
    x1, x2 = to_arrays("linalg.cross", x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"linalg.cross: both arrays must hold 3-dimensional vectors along axis {axis}, got "
            f"shapes {x1.shape} and {x2.shape}"
        )
    return _products.cross(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Any:
    """The products of each element of one vector with each of another."""
    x1, x2 = to_arrays("linalg.outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            f"linalg.outer is of two vectors, but the shapes are {x1.shape} and {x2.shape}"
        )
    return _products.outer(x1, x2)


def matmul(
    x1: Any, x2: Any, /, *, precision: PrecisionLike = None, preferred_element_type: Any = None
) -> Any:
    """The matrix product over the last two axes; the axes before them broadcast."""
    return _products.matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


def tensordot(
    x1: Any,
    x2: Any,
    /,
    *,
    axes: int | tuple[Sequence[int], Sequence[int]] = 2,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """The sum of products over pairs of axes; see `funcgrad.numpy.tensordot`."""
    return _products.tensordot(
        x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type
    )


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of matrices [..., m, n]."""
    return _diagonals.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of matrices [..., m, n]."""
    return _diagonals.trace(x, offset, -2, -1, dtype)


def multi_dot(arrays: Sequence[Any], *, precision: PrecisionLike = None) -> Any:
    """The product of several matrices, in the order that takes the fewest operations.

    The first and the last may be vectors.
    """
    found = to_arrays("linalg.multi_dot", *arrays)
    shapes = [x.shape for x in found]
    if len(found) < 2:
        raise ValueError(f"multi_dot: a product has two factors or more, not {len(found)}")
    ends_fit = found[0].ndim in (1, 2) and found[-1].ndim in (1, 2)
    if not ends_fit or any(x.ndim != 2 for x in found[1:-1]):
        raise ValueError(
            "multi_dot: vectors may stand at both ends, and between them only matrices; got "
            f"shapes {shapes}"
        )
    if any(a[-1] != b[0] for a, b in itertools.pairwise(shapes)):
        raise ValueError(
            "multi_dot: the columns of some factor are not as many as the rows of the next: "
            f"shapes {shapes}"
        )
    axes = [[i, i + 1] for i in range(len(found))]
    axes[0] = axes[0][2 - found[0].ndim :]
    axes[-1] = axes[-1][: found[-1].ndim]
    out = ([0] if found[0].ndim == 2 else []) + ([len(found)] if found[-1].ndim == 2 else [])
    operands = [part for pair in zip(found, axes, strict=True) for part in pair]
    return einsum(*operands, out, precision=precision)


__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]
