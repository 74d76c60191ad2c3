"""What functions of matrices share: checks of shapes, and systems brought to one form."""

from typing import Any, NamedTuple

from funcgrad import lax
from funcgrad import numpy as jnp
from funcgrad.base import dtypes
from funcgrad.base.shapes import broadcast_shapes
from funcgrad.numpy._promotion import inexact1, is_complex, promote_dtypes


def matrices(name: str, a: Any, square: bool = False) -> Any:
    """The argument as floats of shape [..., m, n], or [..., n, n]."""
    a = inexact1(name, a)
    if a.ndim < 2 or (square and a.shape[-1] != a.shape[-2]):
        wanted = "[..., n, n]" if square else "[..., m, n]"
        raise ValueError(f"{name} takes matrices {wanted}, got shape {a.shape}")
    return a


def adjoint(x: Any) -> Any:
    """The conjugated transpose of matrices."""
    x = jnp.matrix_transpose(x)
    return lax.conj(x) if is_complex(x) else x


class System(NamedTuple):
    """Equations with matrices a [..., n, n] and right sides b [..., n, k], the batch axes equal."""

    a: Any
    b: Any
    vectors: bool

    def answer(self, x: Any) -> Any:
        """The solution as the caller put the question: vectors for vectors."""
        return x[..., 0] if self.vectors else x


def system(name: str, a: Any, b: Any) -> System:
    """a x = b. One-dimensional b is a vector; so is b with one axis less than a, of a's last length
    (where that is a stack of vectors as well as a matrix, it is taken as a stack)."""
    a, b = promote_dtypes(name, a, b, kind=dtypes.to_inexact)
    a = matrices(name, a, square=True)
    n = a.shape[-1]
    vectors = b.ndim == 1 or (a.ndim == b.ndim + 1 and b.shape[-1] == n)
    columns = b[..., None] if vectors else b
    if columns.ndim < 2 or columns.shape[-2] != n:
        raise ValueError(
            f"{name}: a of shape {a.shape} takes right sides b of shape [{n}] or [..., {n}, k], "
            f"got {b.shape}"
        )
    batch = broadcast_shapes(
        a.shape[:-2], columns.shape[:-2], names=f"{name} got axes of stacks that do not fit:"
    )
    a = jnp.broadcast_to(a, (*batch, n, n))
    return System(a, jnp.broadcast_to(columns, (*batch, *columns.shape[-2:])), vectors)
