"""x.at[index].set(y) and its kin: a new array that differs from x where the index points."""

import warnings
from collections.abc import Callable
from typing import Any

from funcgrad.base import basis, promotion
from funcgrad.base.basis import convert
from funcgrad.base.errors import TypePromotionError
from funcgrad.base.shapes import broadcast_shapes
from funcgrad.numpy._arithmetic import power as raise_to
from funcgrad.numpy._arithmetic import true_divide
from funcgrad.numpy._creation import asarray
from funcgrad.numpy._filling import ones_like
from funcgrad.numpy._gathering import Plan, plan
from funcgrad.numpy._index import entries
from funcgrad.numpy._indexing import get
from funcgrad.numpy._promotion import broadcast, check_arraylike, promote_dtypes, to_array
from funcgrad.primitives import indexing
from funcgrad.primitives.indexing_spec import GatherScatterMode, ScatterDimensionNumbers

Mode = str | GatherScatterMode | None


class At:
    """`x.at`: index it, then call one of the methods of what you get."""

    __slots__ = ("array",)

    def __init__(self, array: Any):
        self.array = array

    def __getitem__(self, index: Any) -> "IndexedPlace":
        return IndexedPlace(self.array, index)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.array!r})"


def _method(
    name: str,
    scatter: Callable[..., Any],
    doc: str,
    finish: Callable[[Any, Any], Any] | None = None,
) -> Callable[..., Any]:
    """A method of IndexedPlace; `finish` combines x and ones with the values put into them."""

    def method(
        self: "IndexedPlace",
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        out_sharding: None = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        flags = indices_are_sorted, unique_indices, mode, wrap_negative_indices
        if finish is None:
            return update(name, scatter, self.array, self.index, values, *flags)
        ones = update(name, scatter, ones_like(self.array), self.index, values, *flags)
        return finish(self.array, ones)

    method.__name__, method.__qualname__, method.__doc__ = name, f"IndexedPlace.{name}", doc
    return method


class IndexedPlace:
    """`x.at[index]`: the part of x that an update changes.

    All methods but `get` return an array of the shape and dtype of x. An element that the index
    names several times is updated several times by `add` and the like; by `set` one of the values
    is kept. A negative index counts from the end; an index out of bounds is ignored, unless `mode`
    says otherwise: "drop" (the default), "clip" or "promise_in_bounds" (for `get`, "fill" too).
    `unique_indices` and `indices_are_sorted` are promises that may make it faster, and
    `wrap_negative_indices=False` takes negative indices as out of bounds.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any):
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        fill_value: Any = None,
        out_sharding: None = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """x[index]; indices out of bounds are moved inside, or with mode "fill" give `fill_value`
        (nan by default, or the extreme integer)."""
        return get(
            self.array,
            self.index,
            mode,
            fill_value,
            unique_indices,
            indices_are_sorted,
            wrap_negative_indices,
        )

    set = _method("set", indexing.scatter, "x with the values in the places of the index.")
    add = _method("add", indexing.scatter_add, "x with the values added.")
    subtract = sub = _method("subtract", indexing.scatter_sub, "x with the values subtracted.")
    multiply = mul = _method("multiply", indexing.scatter_mul, "x multiplied by the values.")
    min = _method("min", indexing.scatter_min, "x, or the values where they are smaller.")
    max = _method("max", indexing.scatter_max, "x, or the values where they are larger.")
    divide = div = _method(
        "divide", indexing.scatter_mul, "x divided by the values, as a float.", true_divide
    )
    power = _method("power", indexing.scatter_mul, "x to the power of the values.", raise_to)

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        out_sharding: None = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """x with `func`, a function of one number, applied in the places of the index."""

        def scatter(x: Any, indices: Any, values: Any, numbers: Any, **flags: Any) -> Any:
            shape = values.aval.shape
            return indexing.scatter_apply(x, indices, func, numbers, update_shape=shape, **flags)

        flags = indices_are_sorted, unique_indices, mode, wrap_negative_indices
        zero = asarray(0, self.array.aval.dtype)
        return update("apply", scatter, self.array, self.index, zero, *flags)


def update(
    name: str,
    scatter: Callable[..., Any],
    x: Any,
    index: Any,
    values: Any,
    is_sorted: bool,
    unique: bool,
    mode: Mode,
    wrap_negative: bool = True,
) -> Any:
    """x with `scatter` writing the values, broadcast to x[index], where the index points."""
    check_arraylike(f"at[].{name}", values)
    x = to_array(name, x)
    found = plan(entries(index, x.aval.shape), x.aval.shape, wrap_negative)
    aval = x.aval
    if 0 in found.shape:
        return x
    wide, values = _together(name, x, values)
    values = _as_updates(name, values, found)
    out = scatter(
        basis.reshape(wide, found.operand_shape),
        found.indices,
        values,
        ScatterDimensionNumbers(*found.numbers),
        indices_are_sorted=is_sorted or found.unique,
        unique_indices=unique or found.unique,
        mode=mode,
    )
    return convert(basis.reshape(out, aval.shape), aval.dtype, aval.weak_type)


def _together(name: str, x: Any, values: Any) -> tuple[Any, Any]:
    """x and the values in a common dtype; a warning where x cannot hold all of theirs."""
    dtype = x.aval.dtype
    try:
        wide, values = promote_dtypes(f"at[].{name}", x, values)
        fits = wide.aval.dtype == dtype
    except TypePromotionError:
        wide, values, fits = x, convert(asarray(values), dtype), False
    if not fits:
        warnings.warn(
            f"at[].{name}: scatter inputs have incompatible types: values of dtype "
            f"{promotion.dtype_of(values)} cannot be cast safely to {dtype}; use astype.",
            FutureWarning,
            stacklevel=4,
        )
    return wide, values


def _as_updates(name: str, values: Any, found: Plan) -> Any:
    have = values.aval.shape
    # Leading axes of length 1 may be too many, as in NumPy's assignment.
    extra = len(have) - len(found.shape)
    if extra > 0 and all(n == 1 for n in have[:extra]):
        values = basis.reshape(values, have[extra:])
    fits = (
        len(values.aval.shape) <= len(found.shape)
        and broadcast_shapes(
            values.aval.shape, found.shape, names=f"at[].{name} of values into the indexed part:"
        )
        == found.shape
    )
    if not fits:
        raise ValueError(
            f"Incompatible shapes for broadcasting: at[].{name} got values of shape {have} for an "
            f"indexed part of shape {found.shape}"
        )
    return basis.reshape(broadcast(values, found.shape), found.window_shape)
