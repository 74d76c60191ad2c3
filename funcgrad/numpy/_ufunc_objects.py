"""Functions of two numbers that can also reduce, accumulate and update: ufunc and its instances."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.api.looping import fori_loop, scan
from funcgrad.api.vmap import vmap
from funcgrad.base.basis import broadcast_scalar, concatenate, convert, reshape
from funcgrad.base.shapes import broadcast_shapes, canonical_axis
from funcgrad.numpy import _arithmetic, _bits, _cumulative, _logaddexp, _logic, _reductions
from funcgrad.numpy._choosing import where as choose
from funcgrad.numpy._creation import asarray
from funcgrad.numpy._filling import full
from funcgrad.numpy._promotion import broadcast, check_arraylike, refuse_out, to_array
from funcgrad.numpy._shaping import moveaxis, ravel
from funcgrad.numpy._taking import take
from funcgrad.numpy._vectorize import vectorize
from funcgrad.primitives import reduction


class ufunc:
    """A function of one or two numbers as an object that works on arrays.

    Args:
        func: the function.
        nin, nout: how many arguments it takes and results it returns.
        name: by default that of `func`.
        nargs: of no effect.
        identity: the number that changes nothing, if there is one.
        call, reduce, accumulate, at, reduceat: faster ways to do what the methods do.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
    ):
        self._func = func
        self.nin, self.nout = operator.index(nin), operator.index(nout)
        self.nargs = operator.index(nargs or nin)
        self.identity = identity
        self.__name__ = name or func.__name__
        self.__doc__ = func.__doc__
        self._call = call or vectorize(func)
        self._reduce, self._accumulate = reduce, accumulate
        self._at, self._reduceat = at, reduceat

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def __hash__(self) -> int:
        return hash((self._func, self.__name__, self.nin, self.nout))

    def __eq__(self, other: object) -> bool:
        mine = (self._func, self.__name__, self.identity, self.nin, self.nout)
        return isinstance(other, ufunc) and mine == (
            other._func,
            other.__name__,
            other.identity,
            other.nin,
            other.nout,
        )

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        if out is not None or where is not None:
            refuse_out(self.__name__, out)
            raise NotImplementedError(
                f"The 'where' argument to {self.__name__} is not supported; use "
                "where(mask, f(x), y)."
            )
        return self._call(*args)

    def _check_binary(self, method: str, *arrays: Any) -> None:
        if self.nin != 2 or self.nout != 1:
            raise ValueError(
                f"{method} only supported for binary ufuncs returning a single value; "
                f"{self.__name__} takes {self.nin} and returns {self.nout}"
            )
        check_arraylike(f"{self.__name__}.{method}", *arrays)

    def reduce(
        self,
        a: Any,
        axis: int | None = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """The function applied over and over along an axis, from the first element to the last.

        With `initial` it begins with that; `where` leaves elements out.
        """
        self._check_binary("reduce", a)
        refuse_out(f"{self.__name__}.reduce", out)
        if where is not None and self.identity is None and initial is None:
            raise ValueError(
                f"{self.__name__} of no element is undefined, which a where mask can lead to: give "
                "`initial` along with it."
            )
        options = {"axis": axis, "keepdims": keepdims, "initial": initial, "where": where}
        if self._reduce is not None:
            return self._reduce(a, dtype=dtype, **options)
        return self._fold(a, dtype, **options)

    def _result_dtype(self, *args: Any) -> Any:
        """The dtype of the function's result on elements of these arrays."""
        numbers = [asarray(np.ones((), x.aval.dtype)) for x in args]
        return to_array(self.__name__, self._call(*numbers)).aval.dtype

    def _fold(
        self, a: Any, dtype: Any, axis: int | None, keepdims: bool, initial: Any, where: Any
    ) -> Any:
        a = to_array(self.__name__, a)
        shape = a.aval.shape
        mask = None if where is None else broadcast(to_array(self.__name__, where), shape)
        if initial is None:
            initial = self.identity
        dtype = self._result_dtype(a, a) if dtype is None else dtype
        if axis is None:
            rows, mask = ravel(a), None if mask is None else ravel(mask)
            kept = (1,) * len(shape) if keepdims else ()
        else:
            axis = canonical_axis(axis, a.ndim)
            rows = moveaxis(a, axis, 0)
            mask = None if mask is None else moveaxis(mask, axis, 0)
            kept = tuple(
                1 if i == axis else n for i, n in enumerate(shape) if keepdims or i != axis
            )
        rows = convert(rows, dtype)
        if rows.aval.shape[0] == 0:
            if initial is None:
                raise ValueError(
                    f"{self.__name__}.reduce of no element is undefined; give `initial`"
                )
            return full(kept, initial, dtype)
        first, begin = (rows[0], 1) if initial is None else (asarray(initial, dtype), 0)
        start = broadcast(first, rows.aval.shape[1:])

        def step(i: Any, value: Any) -> Any:
            new = convert(self(value, rows[i]), dtype)
            return new if mask is None else choose(mask[i], new, value)

        return reshape(fori_loop(begin, rows.aval.shape[0], step, start), kept)

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """All results on the way of `reduce`."""
        self._check_binary("accumulate", a)
        refuse_out(f"{self.__name__}.accumulate", out)
        if axis is None or isinstance(axis, tuple):
            raise ValueError(
                f"{self.__name__}.accumulate goes along one axis, not along axis={axis}"
            )
        if self._accumulate is not None:
            return self._accumulate(a, axis=axis, dtype=dtype)
        a = to_array(self.__name__, a)
        axis = canonical_axis(axis, a.ndim)
        dtype = self._result_dtype(a, a) if dtype is None else dtype
        rows = convert(moveaxis(a, axis, 0), dtype)
        if rows.aval.shape[0] == 0:
            return convert(a, dtype)

        def step(value: Any, row: Any) -> tuple[Any, Any]:
            new = convert(self(value, row), dtype)
            return new, new

        _, rest = scan(step, rows[0], rows[1:])
        return moveaxis(concatenate([rows[:1], rest], 0), 0, axis)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """What a becomes by the function at the indices, repeated ones each time.

        Pass inplace=False: arrays are immutable.
        """
        if inplace:
            raise NotImplementedError(
                f"{self.__name__}.at gives a new array, for an array never changes; say so with "
                "inplace=False."
            )
        values = () if b is None else (b,)
        check_arraylike(f"{self.__name__}.at", a, *values)
        if self._at is not None:
            return self._at(a, indices, *values)
        return self._update_in_turn(a, indices, *values)

    def _update_in_turn(self, a: Any, indices: Any, *values: Any) -> Any:
        a = to_array(self.__name__, a)
        values = tuple(to_array(self.__name__, v) for v in values)
        a = convert(a, self._result_dtype(a, *values))
        index = indices if isinstance(indices, tuple) else (indices,)
        whole = [i for i in index if not isinstance(i, slice)]
        common = broadcast_shapes(*(np.shape(i) for i in whole)) if whole else ()
        if not common:
            return a.at[indices].set(self(a[indices], *values))
        lines = [i if isinstance(i, slice) else ravel(broadcast(asarray(i), common)) for i in index]
        count = int(np.prod(common))
        spread = [
            reshape(
                broadcast(v, (*common, *v.aval.shape[len(common) :])),
                (count, *v.aval.shape[len(common) :]),
            )
            for v in values
        ]

        def step(i: Any, x: Any) -> Any:
            place = tuple(line if isinstance(line, slice) else line[i] for line in lines)
            return x.at[place].set(self(x[place], *(v[i] for v in spread)))

        return fori_loop(0, count, step, a)

    def reduceat(
        self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None
    ) -> Any:
        """`reduce` of the slices a[indices[i]:indices[i + 1]] along an axis.

        Where indices do not ascend, the element at indices[i] alone.
        """
        self._check_binary("reduceat", a, indices)
        refuse_out(f"{self.__name__}.reduceat", out)
        a, places = to_array("reduceat", a), to_array("reduceat", indices)
        if a.ndim == 0 or places.ndim != 1:
            raise ValueError(
                f"reduceat: a must have an axis and indices one, got shapes {a.aval.shape} and "
                f"{places.aval.shape}"
            )
        axis = canonical_axis(axis, a.ndim)
        a = a if dtype is None else convert(a, dtype)
        n, line = a.aval.shape[axis], [1] * a.ndim
        line[axis] = places.aval.size
        ends = concatenate([places[1:], broadcast_scalar(n, places.aval.update(shape=(1,)))], 0)
        starts, ends = reshape(places, line), reshape(ends, line)

        def step(i: Any, out: Any) -> Any:
            inside = (i > starts) & (i < ends)
            return choose(inside, self(out, take(a, asarray(i)[None], axis)), out)

        return fori_loop(0, n, step, take(a, places, axis))

    def outer(self, A: Any, B: Any, /) -> Any:
        """The function of each element of A with each of B."""
        self._check_binary("outer", A, B)
        A, B = to_array("outer", A), to_array("outer", B)
        table = vmap(vmap(self, (None, 0)), (0, None))(ravel(A), ravel(B))
        return reshape(table, (*A.aval.shape, *B.aval.shape))


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A ufunc made from a function of numbers."""
    return ufunc(func, nin, nout, identity=identity)


def _updating(method: str) -> Callable[..., Any]:
    """The update of `at` that adds or multiplies; booleans are counted first."""

    def update(a: Any, indices: Any, b: Any) -> Any:
        a = to_array("ufunc.at", a)
        if a.aval.dtype != np.bool_:
            return getattr(a.at[indices], method)(b)
        counts = getattr(a.astype(np.int32).at[indices], method)(
            asarray(b, np.bool_).astype(np.int32)
        )
        return counts.astype(np.bool_)

    return update


def _bits_reduce(primitive: Any, identity: int) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        a = to_array("ufunc.reduce", a)
        a = a if dtype is None else convert(a, dtype)
        neutral = np.array(identity).astype(a.aval.dtype)
        combine = {"reduce_and": _bits.bitwise_and, "reduce_or": _bits.bitwise_or}
        function = combine.get(primitive.name, _bits.bitwise_xor)
        return _reductions.reduced(
            primitive.name, primitive, a, axis, keepdims, where, initial, neutral, function
        )

    return reduce


def _truth_reduce(primitive: Any, identity: bool) -> Callable[..., Any]:
    reduce = _bits_reduce(primitive, identity)

    def of_truth(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        a = _logic.truth(to_array("ufunc.reduce", a))
        return reduce(a, axis, None, keepdims, initial, where)

    return of_truth


def _extremum(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        a = to_array("ufunc.reduce", a)
        a = a if dtype is None else convert(a, dtype)
        return function(a, axis, None, keepdims, initial, where)

    return reduce


def _binary(function: Callable[..., Any], identity: Any = None, **methods: Any) -> ufunc:
    return ufunc(function, 2, 1, identity=identity, call=function, **methods)


_and, _or, _xor = reduction.reduce_and_p, reduction.reduce_or_p, reduction.reduce_xor_p

add = _binary(
    _arithmetic.add,
    0,
    reduce=_reductions.sum,
    accumulate=_cumulative.cumsum,
    at=_updating("add"),
)
multiply = _binary(
    _arithmetic.multiply,
    1,
    reduce=_reductions.prod,
    accumulate=_cumulative.cumprod,
    at=_updating("multiply"),
)
subtract = _binary(_arithmetic.subtract, at=_updating("subtract"))
negative = ufunc(_arithmetic.negative, 1, 1, call=_arithmetic.negative)
maximum = _binary(_arithmetic.maximum, reduce=_extremum(_reductions.max), at=_updating("max"))
minimum = _binary(_arithmetic.minimum, reduce=_extremum(_reductions.min), at=_updating("min"))
bitwise_and = _binary(_bits.bitwise_and, -1, reduce=_bits_reduce(_and, -1))
bitwise_or = _binary(_bits.bitwise_or, 0, reduce=_bits_reduce(_or, 0))
bitwise_xor = _binary(_bits.bitwise_xor, 0, reduce=_bits_reduce(_xor, 0))
logical_and = _binary(_logic.logical_and, True, reduce=_truth_reduce(_and, True))
logical_or = _binary(_logic.logical_or, False, reduce=_truth_reduce(_or, False))
logical_xor = _binary(_logic.logical_xor, False, reduce=_truth_reduce(_xor, False))
logaddexp = _binary(_logaddexp.logaddexp, -np.inf, reduce=_logaddexp.reduce_logaddexp)
logaddexp2 = _binary(_logaddexp.logaddexp2, -np.inf, reduce=_logaddexp.reduce_logaddexp2)
