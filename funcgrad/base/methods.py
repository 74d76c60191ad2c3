"""Array: the operators and methods that every array has, concrete or traced.

The base cannot import `funcgrad.numpy`, which stands on top of it and fills `slots`; so every
method looks its function up there when it is called.
"""

from collections.abc import Callable
from typing import Any

slots: dict[str, Callable] = {}


class Array:
    """An immutable n-dimensional array; under a transformation, the tracer that stands for one."""

    __slots__ = ()
    __array_priority__ = 100

    aval: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @property
    def itemsize(self) -> int:
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.aval.size * self.aval.dtype.itemsize

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    # operators
    def __neg__(self):
        return slots["negative"](self)

    def __pos__(self):
        return slots["positive"](self)

    def __abs__(self):
        return slots["abs"](self)

    def __invert__(self):
        return slots["invert"](self)

    def __add__(self, other):
        return slots["add"](self, other)

    def __radd__(self, other):
        return slots["radd"](self, other)

    def __sub__(self, other):
        return slots["sub"](self, other)

    def __rsub__(self, other):
        return slots["rsub"](self, other)

    def __mul__(self, other):
        return slots["mul"](self, other)

    def __rmul__(self, other):
        return slots["rmul"](self, other)

    def __truediv__(self, other):
        return slots["truediv"](self, other)

    def __rtruediv__(self, other):
        return slots["rtruediv"](self, other)

    def __floordiv__(self, other):
        return slots["floordiv"](self, other)

    def __rfloordiv__(self, other):
        return slots["rfloordiv"](self, other)

    def __mod__(self, other):
        return slots["mod"](self, other)

    def __rmod__(self, other):
        return slots["rmod"](self, other)

    def __divmod__(self, other):
        return slots["divmod"](self, other)

    def __rdivmod__(self, other):
        return slots["rdivmod"](self, other)

    def __pow__(self, other):
        return slots["pow"](self, other)

    def __rpow__(self, other):
        return slots["rpow"](self, other)

    def __matmul__(self, other):
        return slots["matmul"](self, other)

    def __rmatmul__(self, other):
        return slots["rmatmul"](self, other)

    def __and__(self, other):
        return slots["and"](self, other)

    def __rand__(self, other):
        return slots["rand"](self, other)

    def __or__(self, other):
        return slots["or"](self, other)

    def __ror__(self, other):
        return slots["ror"](self, other)

    def __xor__(self, other):
        return slots["xor"](self, other)

    def __rxor__(self, other):
        return slots["rxor"](self, other)

    def __lshift__(self, other):
        return slots["lshift"](self, other)

    def __rlshift__(self, other):
        return slots["rlshift"](self, other)

    def __rshift__(self, other):
        return slots["rshift"](self, other)

    def __rrshift__(self, other):
        return slots["rrshift"](self, other)

    def __eq__(self, other):
        return slots["eq"](self, other)

    def __ne__(self, other):
        return slots["ne"](self, other)

    def __lt__(self, other):
        return slots["lt"](self, other)

    def __le__(self, other):
        return slots["le"](self, other)

    def __gt__(self, other):
        return slots["gt"](self, other)

    def __ge__(self, other):
        return slots["ge"](self, other)

    def __hash__(self) -> int:
        raise TypeError(
            f"unhashable type: {type(self).__name__!r}. Arrays compare elementwise, so they cannot "
            "be dictionary keys or static arguments; use x.item() or a tuple of numbers."
        )

    def __round__(self, ndigits=None):
        return slots["round"](self, ndigits or 0)

    # indexing and updates
    def __getitem__(self, index):
        return slots["getitem"](self, index)

    def __setitem__(self, index, value):
        raise TypeError(
            f"{type(self).__name__} is immutable and does not support item assignment. Instead of "
            "x[idx] = y write x = x.at[idx].set(y); likewise .add, .multiply, .min, .max and "
            "others for +=, *= and so on."
        )

    @property
    def at(self):
        return slots["at"](self)

    @property
    def T(self):
        return slots["transpose"](self)

    @property
    def mT(self):
        return slots["matrix_transpose"](self)

    @property
    def real(self):
        return slots["real"](self)

    @property
    def imag(self):
        return slots["imag"](self)

    @property
    def flat(self):
        raise NotImplementedError("x.flat is not offered: x is immutable; use x.ravel() or x.at[]")

    def __array_namespace__(self, *, api_version: str | None = None):
        return slots["array_namespace"](api_version)

    # methods
    def all(self, *args, **kwargs):
        return slots["all"](self, *args, **kwargs)

    def any(self, *args, **kwargs):
        return slots["any"](self, *args, **kwargs)

    def argmax(self, *args, **kwargs):
        return slots["argmax"](self, *args, **kwargs)

    def argmin(self, *args, **kwargs):
        return slots["argmin"](self, *args, **kwargs)

    def argpartition(self, *args, **kwargs):
        return slots["argpartition"](self, *args, **kwargs)

    def argsort(self, *args, **kwargs):
        return slots["argsort"](self, *args, **kwargs)

    def astype(self, *args, **kwargs):
        return slots["astype"](self, *args, **kwargs)

    def choose(self, *args, **kwargs):
        return slots["choose"](self, *args, **kwargs)

    def clip(self, *args, **kwargs):
        return slots["clip"](self, *args, **kwargs)

    def compress(self, condition, *args, **kwargs):
        return slots["compress"](condition, self, *args, **kwargs)

    def conj(self):
        return slots["conj"](self)

    def conjugate(self):
        return slots["conj"](self)

    def copy(self):
        return slots["copy"](self)

    def cumprod(self, *args, **kwargs):
        return slots["cumprod"](self, *args, **kwargs)

    def cumsum(self, *args, **kwargs):
        return slots["cumsum"](self, *args, **kwargs)

    def diagonal(self, *args, **kwargs):
        return slots["diagonal"](self, *args, **kwargs)

    def dot(self, *args, **kwargs):
        return slots["dot"](self, *args, **kwargs)

    def flatten(self, *args, **kwargs):
        return slots["ravel"](self, *args, **kwargs)

    def max(self, *args, **kwargs):
        return slots["max"](self, *args, **kwargs)

    def mean(self, *args, **kwargs):
        return slots["mean"](self, *args, **kwargs)

    def min(self, *args, **kwargs):
        return slots["min"](self, *args, **kwargs)

    def nonzero(self, *args, **kwargs):
        return slots["nonzero"](self, *args, **kwargs)

    def prod(self, *args, **kwargs):
        return slots["prod"](self, *args, **kwargs)

    def ptp(self, *args, **kwargs):
        return slots["ptp"](self, *args, **kwargs)

    def ravel(self, *args, **kwargs):
        return slots["ravel"](self, *args, **kwargs)

    def repeat(self, *args, **kwargs):
        return slots["repeat"](self, *args, **kwargs)

    def reshape(self, *shape, **kwargs):
        return slots["reshape_method"](self, *shape, **kwargs)

    def round(self, *args, **kwargs):
        return slots["round"](self, *args, **kwargs)

    def searchsorted(self, *args, **kwargs):
        return slots["searchsorted"](self, *args, **kwargs)

    def sort(self, *args, **kwargs):
        return slots["sort"](self, *args, **kwargs)

    def squeeze(self, *args, **kwargs):
        return slots["squeeze"](self, *args, **kwargs)

    def std(self, *args, **kwargs):
        return slots["std"](self, *args, **kwargs)

    def sum(self, *args, **kwargs):
        return slots["sum"](self, *args, **kwargs)

    def swapaxes(self, axis1, axis2):
        return slots["swapaxes"](self, axis1, axis2)

    def take(self, *args, **kwargs):
        return slots["take"](self, *args, **kwargs)

    def trace(self, *args, **kwargs):
        return slots["trace"](self, *args, **kwargs)

    def transpose(self, *axes):
        return slots["transpose_method"](self, *axes)

    def var(self, *args, **kwargs):
        return slots["var"](self, *args, **kwargs)

    def view(self, *args, **kwargs):
        return slots["view"](self, *args, **kwargs)
