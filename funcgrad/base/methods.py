"""Array: the operators and methods that every array has, concrete or traced.

The base cannot import `funcgrad.numpy`, which stands on top of it and fills `slots`; so every
method looks its function up there when it is called.
"""

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

slots: dict[str, Callable] = {}


class Array:
    """An immutable n-dimensional array; under a transformation, the tracer that stands for one.

    Operators and methods are the functions of `funcgrad.numpy` of the same names.
    """

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

    def __iter__(self) -> "Iterator[Array]":
        if not self.aval.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.aval.shape[0]))

    def __reversed__(self) -> "Iterator[Array]":
        return (self[i] for i in reversed(range(len(self))))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    # operators
    def __neg__(self) -> "Array":
        return slots["negative"](self)

    def __pos__(self) -> "Array":
        return slots["positive"](self)

    def __abs__(self) -> "Array":
        return slots["abs"](self)

    def __invert__(self) -> "Array":
        return slots["invert"](self)

    def __add__(self, other: Any) -> "Array":
        return slots["add"](self, other)

    def __radd__(self, other: Any) -> "Array":
        return slots["radd"](self, other)

    def __sub__(self, other: Any) -> "Array":
        return slots["sub"](self, other)

    def __rsub__(self, other: Any) -> "Array":
        return slots["rsub"](self, other)

    def __mul__(self, other: Any) -> "Array":
        return slots["mul"](self, other)

    def __rmul__(self, other: Any) -> "Array":
        return slots["rmul"](self, other)

    def __truediv__(self, other: Any) -> "Array":
        return slots["truediv"](self, other)

    def __rtruediv__(self, other: Any) -> "Array":
        return slots["rtruediv"](self, other)

    def __floordiv__(self, other: Any) -> "Array":
        return slots["floordiv"](self, other)

    def __rfloordiv__(self, other: Any) -> "Array":
        return slots["rfloordiv"](self, other)

    def __mod__(self, other: Any) -> "Array":
        return slots["mod"](self, other)

    def __rmod__(self, other: Any) -> "Array":
        return slots["rmod"](self, other)

    def __divmod__(self, other: Any) -> "tuple[Array, Array]":
        return slots["divmod"](self, other)

    def __rdivmod__(self, other: Any) -> "tuple[Array, Array]":
        return slots["rdivmod"](self, other)

    def __pow__(self, other: Any) -> "Array":
        return slots["pow"](self, other)

    def __rpow__(self, other: Any) -> "Array":
        return slots["rpow"](self, other)

    def __matmul__(self, other: Any) -> "Array":
        return slots["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> "Array":
        return slots["rmatmul"](self, other)

    def __and__(self, other: Any) -> "Array":
        return slots["and"](self, other)

    def __rand__(self, other: Any) -> "Array":
        return slots["rand"](self, other)

    def __or__(self, other: Any) -> "Array":
        return slots["or"](self, other)

    def __ror__(self, other: Any) -> "Array":
        return slots["ror"](self, other)

    def __xor__(self, other: Any) -> "Array":
        return slots["xor"](self, other)

    def __rxor__(self, other: Any) -> "Array":
        return slots["rxor"](self, other)

    def __lshift__(self, other: Any) -> "Array":
        return slots["lshift"](self, other)

    def __rlshift__(self, other: Any) -> "Array":
        return slots["rlshift"](self, other)

    def __rshift__(self, other: Any) -> "Array":
        return slots["rshift"](self, other)

    def __rrshift__(self, other: Any) -> "Array":
        return slots["rrshift"](self, other)

    def __eq__(self, other: Any) -> "Array":  # type: ignore[override]
        return slots["eq"](self, other)

    def __ne__(self, other: Any) -> "Array":  # type: ignore[override]
        return slots["ne"](self, other)

    def __lt__(self, other: Any) -> "Array":
        return slots["lt"](self, other)

    def __le__(self, other: Any) -> "Array":
        return slots["le"](self, other)

    def __gt__(self, other: Any) -> "Array":
        return slots["gt"](self, other)

    def __ge__(self, other: Any) -> "Array":
        return slots["ge"](self, other)

    def __hash__(self) -> int:
        raise TypeError(
            f"unhashable type: {type(self).__name__!r}. Arrays compare elementwise, so they cannot "
            "be dictionary keys or static arguments; use x.item() or a tuple of numbers."
        )

    def __round__(self, ndigits: int | None = None) -> "Array":
        return slots["round"](self, ndigits or 0)

    # indexing and updates
    def __getitem__(self, index: Any) -> "Array":
        return slots["getitem"](self, index)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise TypeError(
            f"arrays are immutable, so x[idx] = y cannot change this {type(self).__name__}: make "
            "a new "
            "one with x = x.at[idx].set(y), or .add, .multiply, .min, .max for += and the like."
        )

    @property
    def at(self) -> Any:
        return slots["at"](self)

    @property
    def T(self) -> "Array":
        return slots["transpose"](self)

    @property
    def mT(self) -> "Array":
        return slots["matrix_transpose"](self)

    @property
    def real(self) -> "Array":
        return slots["real"](self)

    @property
    def imag(self) -> "Array":
        return slots["imag"](self)

    @property
    def flat(self) -> NoReturn:
        raise NotImplementedError("x.flat is not offered: x is immutable; use x.ravel() or x.at[]")

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return slots["array_namespace"](api_version)

    # methods
    def all(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["all"](self, *args, **kwargs)

    def any(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["any"](self, *args, **kwargs)

    def argmax(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["argmax"](self, *args, **kwargs)

    def argmin(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["argmin"](self, *args, **kwargs)

    def argpartition(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["argpartition"](self, *args, **kwargs)

    def argsort(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["argsort"](self, *args, **kwargs)

    def astype(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["astype"](self, *args, **kwargs)

    def choose(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["choose"](self, *args, **kwargs)

    def clip(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["clip"](self, *args, **kwargs)

    def compress(self, condition: Any, *args: Any, **kwargs: Any) -> "Array":
        return slots["compress"](condition, self, *args, **kwargs)

    def conj(self) -> "Array":
        return slots["conj"](self)

    def conjugate(self) -> "Array":
        return slots["conj"](self)

    def copy(self) -> "Array":
        return slots["copy"](self)

    def cumprod(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["cumprod"](self, *args, **kwargs)

    def cumsum(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["cumsum"](self, *args, **kwargs)

    def diagonal(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["diagonal"](self, *args, **kwargs)

    def dot(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["dot"](self, *args, **kwargs)

    def flatten(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["ravel"](self, *args, **kwargs)

    def max(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["max"](self, *args, **kwargs)

    def mean(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["mean"](self, *args, **kwargs)

    def min(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["min"](self, *args, **kwargs)

    def nonzero(self, *args: Any, **kwargs: Any) -> "tuple[Array, ...]":
        return slots["nonzero"](self, *args, **kwargs)

    def prod(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["prod"](self, *args, **kwargs)

    def ptp(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["ptp"](self, *args, **kwargs)

    def ravel(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["ravel"](self, *args, **kwargs)

    def repeat(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["repeat"](self, *args, **kwargs)

    def reshape(self, *shape: Any, **kwargs: Any) -> "Array":
        return slots["reshape_method"](self, *shape, **kwargs)

    def round(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["round"](self, *args, **kwargs)

    def searchsorted(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["searchsorted"](self, *args, **kwargs)

    def sort(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["sort"](self, *args, **kwargs)

    def squeeze(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["squeeze"](self, *args, **kwargs)

    def std(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["std"](self, *args, **kwargs)

    def sum(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["sum"](self, *args, **kwargs)

    def swapaxes(self, axis1: int, axis2: int) -> "Array":
        return slots["swapaxes"](self, axis1, axis2)

    def take(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["take"](self, *args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["trace"](self, *args, **kwargs)

    def transpose(self, *axes: Any) -> "Array":
        return slots["transpose_method"](self, *axes)

    def var(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["var"](self, *args, **kwargs)

    def view(self, *args: Any, **kwargs: Any) -> "Array":
        return slots["view"](self, *args, **kwargs)
