"""Products of vectors, matrices and tensors: dot, matmul, tensordot, outer, kron, cross, ..."""

import math
from collections.abc import Sequence
from typing import Any

from funcgrad.base import basis, dtypes
from funcgrad.base.basis import convert, mul, reshape
from funcgrad.base.shapes import Shape, canonical_axes, canonical_axis
from funcgrad.numpy._complex import conj
from funcgrad.numpy._joining import stack
from funcgrad.numpy._promotion import promote_dtypes, refuse_out, to_arrays
from funcgrad.numpy._shaping import moveaxis, ravel
from funcgrad.primitives.contraction import dot_general
from funcgrad.primitives.precision import PrecisionLike


def _operands(name: str, a: Any, b: Any, preferred_element_type: Any) -> tuple[Any, Any, Any]:
    """Both operands in their common dtype, and the dtype asked for."""
    a, b = promote_dtypes(name, a, b)
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_user_dtype(preferred_element_type, name)
    return a, b, preferred_element_type


def dot(
    a: Any,
    b: Any,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """The sum of products over the last axis of a and the last but one (or only) axis of b.

    Either of them may be a scalar; then it is their product.
    """
    a, b, dtype = _operands("dot", a, b, preferred_element_type)
    left, right = a.aval.shape, b.aval.shape
    if not left or not right:
        contract: tuple[Sequence[int], Sequence[int]] = ((), ())
    else:
        contract = ((len(left) - 1,), (max(len(right) - 2, 0),))
        _check_inner("dot", left, right, left[-1], right[contract[1][0]])
    return dot_general(a, b, (contract, ((), ())), precision, dtype)


def _check_inner(name: str, left: Shape, right: Shape, length: int, other: int) -> None:
    if length != other:
        raise TypeError(
            f"{name}: the contracted axes have lengths {length} and {other}, which differ, in "
            f"operands of shapes {left} and {right}."
        )


def matmul(
    a: Any,
    b: Any,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """The matrix product a @ b over the last two axes; the axes before them broadcast.

    An operand of rank 1 is a row on the left and a column on the right. Raises TypeError where the
    inner lengths differ, ValueError for scalars and for batch axes that do not broadcast.
    """
    a, b, dtype = _operands("matmul", a, b, preferred_element_type)
    left, right = a.aval.shape, b.aval.shape
    if not left or not right:
        raise ValueError(
            f"matmul: a scalar has no axis to contract, and the shapes are {left} and {right}; "
            "multiply by a scalar with *."
        )
    _check_inner("matmul", left, right, left[-1], right[max(len(right) - 2, 0)])
    if len(left) <= 2 and len(right) <= 2:
        numbers = (((len(left) - 1,), (max(len(right) - 2, 0),)), ((), ()))
        return dot_general(a, b, numbers, precision, dtype)
    return _batched_matmul(a, b, precision, dtype)


def _batched_matmul(a: Any, b: Any, precision: PrecisionLike, dtype: Any) -> Any:
    """A batch axis that both have is one of dot_general's; one that only one has is free there."""
    left, right = a.aval.shape, b.aval.shape
    rank = max(len(left), len(right), 2) - 2
    a_batch, b_batch = _padded(left[:-2], rank), _padded(right[:-2], rank)
    shared, of_a, of_b, ones = [], [], [], []
    for i, (m, n) in enumerate(zip(a_batch, b_batch, strict=True)):
        if m == n and m != 1:
            shared.append(i)
        elif n in (None, 1) and m not in (None, 1):
            of_a.append(i)
        elif m in (None, 1) and n not in (None, 1):
            of_b.append(i)
        elif m in (None, 1) and n in (None, 1):
            ones.append(i)
        else:
            raise ValueError(
                "matmul: the axes before the last two do not broadcast, in operands of shapes "
                f"{left} and {right}."
            )
    a, a_axes = _without(a, a_batch, {*of_b, *ones})
    b, b_axes = _without(b, b_batch, {*of_a, *ones})
    rows, columns = int(len(left) > 1), int(len(right) > 1)
    numbers = (
        ((len(a.aval.shape) - 1,), (len(b.aval.shape) - 1 - columns,)),
        ([a_axes.index(i) for i in shared], [b_axes.index(i) for i in shared]),
    )
    out = dot_general(a, b, numbers, precision, dtype)
    # The result's axes stand as shared, those of a, rows, those of b, columns; sort them.
    order = [*shared, *of_a, *[rank] * rows, *of_b, *[rank + 1] * columns]
    out = basis.transpose(out, sorted(range(len(order)), key=order.__getitem__))
    if not ones:
        return out
    lengths = iter(out.aval.shape)
    batch = [1 if i in ones else next(lengths) for i in range(rank)]
    return reshape(out, (*batch, *lengths))


def _padded(batch: Shape, rank: int) -> list[int | None]:
    return [None] * (rank - len(batch)) + list(batch)


def _without(x: Any, batch: list[int | None], dropped: set[int]) -> tuple[Any, list[int]]:
    """x without the batch axes of length 1 in `dropped`, and the numbers of those that are left."""
    there = [i for i, n in enumerate(batch) if n is not None]
    x = basis.squeeze(x, [place for place, i in enumerate(there) if i in dropped])
    return x, [i for i in there if i not in dropped]


def matvec(x1: Any, x2: Any, /) -> Any:
    """The products of matrices x1[..., n, m] and vectors x2[..., m]; axes in front broadcast."""
    x1, x2 = to_arrays("matvec", x1, x2)
    _check_rank("matvec", x1, 2, x2, 1)
    return matmul(x1, x2[..., None])[..., 0]


def vecmat(x1: Any, x2: Any, /) -> Any:
    """The products of conjugated vectors x1[..., n] and matrices x2[..., n, m]."""
    x1, x2 = to_arrays("vecmat", x1, x2)
    _check_rank("vecmat", x1, 1, x2, 2)
    return matmul(conj(x1)[..., None, :], x2)[..., 0, :]


def vdot(
    a: Any, b: Any, *, precision: PrecisionLike = None, preferred_element_type: Any = None
) -> Any:
    """The sum of the products of all elements, those of a conjugated."""
    a, b = to_arrays("vdot", a, b)
    a, b = ravel(conj(a)), ravel(b)
    _check_inner("vdot", a.aval.shape, b.aval.shape, a.aval.size, b.aval.size)
    return dot(a, b, precision=precision, preferred_element_type=preferred_element_type)


def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """The sum of products over one axis, x1 conjugated; the other axes broadcast."""
    x1, x2 = to_arrays("vecdot", x1, x2)
    _check_rank("vecdot", x1, 1, x2, 1)
    left, right = x1.aval.shape, x2.aval.shape
    i, j = canonical_axis(axis, len(left)), canonical_axis(axis, len(right))
    if left[i] != right[j]:
        raise ValueError(f"vecdot: shapes {left} and {right} differ in length along axis={axis}")
    row, column = moveaxis(conj(x1), i, -1)[..., None, :], moveaxis(x2, j, -1)[..., None]
    product = matmul(
        row, column, precision=precision, preferred_element_type=preferred_element_type
    )
    return product[..., 0, 0]


def _check_rank(name: str, x1: Any, least1: int, x2: Any, least2: int) -> None:
    if x1.ndim < least1 or x2.ndim < least2:
        raise ValueError(
            f"{name} takes operands of rank at least {least1} and {least2}, got shapes "
            f"{x1.aval.shape} and {x2.aval.shape}"
        )


def tensordot(
    a: Any,
    b: Any,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """The sum of products over pairs of axes.

    `axes` is a pair of axes, a pair of lists of them, or how many: the last of a, the first of b.
    """
    a, b, dtype = _operands("tensordot", a, b, preferred_element_type)
    left, right = a.aval.shape, b.aval.shape
    of_a, of_b = _contracted(left, right, axes)
    if [left[i] for i in of_a] != [right[i] for i in of_b]:
        raise TypeError(
            f"tensordot: the axes {of_a} and {of_b} differ in length, in operands of shapes {left} "
            f"and {right}"
        )
    return dot_general(a, b, ((of_a, of_b), ((), ())), precision, dtype)


def _contracted(left: Shape, right: Shape, axes: Any) -> tuple[tuple, tuple]:
    if type(axes) is int:
        if not 0 <= axes <= min(len(left), len(right)):
            raise TypeError(
                f"tensordot: the number of axes, {axes}, exceeds input ranks, in operands of "
                f"shapes {left} and {right}"
            )
        return tuple(range(len(left) - axes, len(left))), tuple(range(axes))
    if isinstance(axes, (tuple, list)) and len(axes) == 2:
        first, second = axes
        listed = isinstance(first, (tuple, list)), isinstance(second, (tuple, list))
        if listed[0] != listed[1] or (listed[0] and len(first) != len(second)):
            raise TypeError(
                f"tensordot: axes {first} and {second} do not pair up: give two ints, or two lists "
                "of equal length"
            )
        as_lists = (first, second) if listed[0] else ((first,), (second,))
        return (
            canonical_axes(tuple(as_lists[0]), len(left)),
            canonical_axes(tuple(as_lists[1]), len(right)),
        )
    raise TypeError(
        f"tensordot: axes={axes!r} is neither a number of axes nor a pair, of two ints or of two "
        "lists of ints"
    )


def inner(
    a: Any, b: Any, *, precision: PrecisionLike = None, preferred_element_type: Any = None
) -> Any:
    """The sum of products over the last axes; for a scalar the product."""
    a, b, dtype = _operands("inner", a, b, preferred_element_type)
    if a.aval.shape and b.aval.shape:
        return tensordot(a, b, (-1, -1), precision=precision, preferred_element_type=dtype)
    return mul(a, b) if dtype is None else mul(convert(a, dtype), convert(b, dtype))


def outer(a: Any, b: Any, out: None = None) -> Any:
    """The products of each element of a, flattened, with each of b."""
    refuse_out("outer", out)
    a, b = promote_dtypes("outer", a, b)
    return ravel(a)[:, None] * ravel(b)[None, :]


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: b, once for each element of a and multiplied by it."""
    a, b = promote_dtypes("kron", a, b)
    rank = max(a.ndim, b.ndim)
    left = (1,) * (rank - a.ndim) + a.aval.shape
    right = (1,) * (rank - b.ndim) + b.aval.shape
    a = reshape(a, tuple(n for m in left for n in (m, 1)))
    b = reshape(b, tuple(n for m in right for n in (1, m)))
    return reshape(a * b, tuple(map(math.prod, zip(left, right, strict=True))))


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The cross product of vectors of 3 components along the given axes.

    Vectors of 2 components lie in a plane; of two such, only the third component is returned.
    """
    a, b = to_arrays("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if not {a.aval.shape[-1], b.aval.shape[-1]} <= {2, 3}:
        raise ValueError(
            f"cross: vectors must have 2 or 3 components, got shapes {a.aval.shape} and "
            f"{b.aval.shape} with the vectors last"
        )
    u, v = ([x[..., i] for i in range(x.aval.shape[-1])] for x in (a, b))
    if len(u) == len(v) == 2:
        return u[0] * v[1] - u[1] * v[0]
    u, v = (w if len(w) == 3 else [*w, w[0] * 0] for w in (u, v))
    turned = ((1, 2), (2, 0), (0, 1))
    return stack(
        [u[i] * v[j] - u[j] * v[i] for i, j in turned],
        axis=canonical_axis(axisc, max(a.ndim, b.ndim)),
    )
