"""Dtypes as data: which there are, what two of them promote to, and how they are named.

Promotion is the least upper bound in JAX's lattice, where Python numbers are weakly typed: `int*`,
`float*` and `complex*` give way to any dtype of their kind or of a later one.
"""

import functools
import re
import sys
import typing
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, overload

import ml_dtypes
import numpy as np

from funcgrad.base.config import config
from funcgrad.base.errors import TypePromotionError


def _dtypes(names: str) -> dict[str, np.dtype]:
    """Those of the named dtypes that the installed NumPy and ml_dtypes have."""
    found = (
        (name, getattr(np, name, None) or getattr(ml_dtypes, name, None)) for name in names.split()
    )
    return {name: np.dtype(kind) for name, kind in found if kind is not None}


_SIGNED = _dtypes("int1 int2 int4 int8 int16 int32 int64")
_UNSIGNED = _dtypes("uint1 uint2 uint4 uint8 uint16 uint32 uint64")
_NARROW_FLOATS = _dtypes(
    "float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e8m0fnu "
    "float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"
)
_FLOATS = _NARROW_FLOATS | _dtypes("bfloat16 float16 float32 float64")
_COMPLEX = _dtypes("complex64 complex128")

KINDS: dict[str, dict[str, np.dtype]] = {
    "bool": {"bool": np.dtype(bool)},
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED | _UNSIGNED,
    "real floating": _FLOATS,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED | _UNSIGNED | _FLOATS | _COMPLEX,
}
BY_NAME: dict[str, np.dtype] = KINDS["bool"] | KINDS["numeric"]

# The dtype of tangents of values that have none: integers, booleans, keys.
float0 = np.dtype([("float0", np.void, 0)])

_SUPPORTED = {dtype: dtype for dtype in (*BY_NAME.values(), float0)}
_INT64, _UINT64 = BY_NAME["int64"], BY_NAME["uint64"]
_FLOAT64, _COMPLEX128 = BY_NAME["float64"], BY_NAME["complex128"]
_NARROWED = {
    _INT64: BY_NAME["int32"],
    _UINT64: BY_NAME["uint32"],
    _FLOAT64: BY_NAME["float32"],
    _COMPLEX128: BY_NAME["complex64"],
}
_PYTHON_TYPES: dict[type, np.dtype] = {kind: np.dtype(kind) for kind in (bool, int, float, complex)}

finfo = ml_dtypes.finfo
iinfo = ml_dtypes.iinfo


# dtypes that NumPy does not have
class extended(np.generic):
    """The abstract type above every dtype that NumPy lacks, for `issubdtype` only."""


class prng_key(extended):
    """The abstract type of random keys: `issubdtype(x.dtype, prng_key)` says whether x is one."""


@dataclass(frozen=True, repr=False)
class KeyType:
    """The dtype of a key array: which generator, its short tag, and the uint32 words of a key."""

    impl: str
    tag: str
    words: int

    kind = "K"
    type = prng_key

    @property
    def name(self) -> str:
        return f"key<{self.tag}>"

    @property
    def itemsize(self) -> int:
        return 4 * self.words

    @functools.cached_property
    def buffer_dtype(self) -> np.dtype:
        """The dtype of the NumPy buffer: one field of uint32 for each word."""
        return np.dtype([(str(word), "<u4") for word in range(self.words)])

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple:
        return key_type, (self.impl, self.tag, self.words)


@functools.cache
def key_type(impl: str, tag: str, words: int, /) -> KeyType:
    """The dtype of keys of one generator, the same object every time."""
    return KeyType(impl, tag, words)


threefry_key_type = key_type("threefry2x32", "fry", 2)


DType: TypeAlias = np.dtype | KeyType


def buffer_dtype(dtype: Any) -> np.dtype:
    """The NumPy dtype of the buffer that holds values of `dtype`."""
    return dtype.buffer_dtype if isinstance(dtype, KeyType) else np.dtype(dtype)


# scalar types
class ScalarMaker:
    """What `numpy.float32` is: a dtype wherever one is accepted, and a maker of 0-d arrays."""

    def __init__(self, dtype: np.dtype):
        self.dtype = self.__numpy_dtype__ = dtype
        self.__name__ = self.__qualname__ = dtype.name
        self.__module__ = "funcgrad.numpy"
        self.__doc__ = f"The dtype {dtype.name}; `{dtype.name}(x)` is x as an array of it."

    def __call__(self, x: Any) -> Any:
        return slots["asarray"](x, dtype=self.dtype)

    def __eq__(self, other: object) -> bool:
        return self is other or bool(self.dtype.type == other)

    def __hash__(self) -> int:
        return hash(self.dtype.type)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.dtype.type)

    def __or__(self, other: Any) -> Any:
        return typing.Union[self, other]  # noqa: UP007

    def __ror__(self, other: Any) -> Any:
        return typing.Union[other, self]  # noqa: UP007

    def __repr__(self) -> str:
        return f"<class 'funcgrad.numpy.{self.__name__}'>"

    def __reduce__(self) -> tuple:
        return _scalar_maker, (self.dtype.name,)


# Filled by funcgrad.numpy, which stands above: `asarray(x, dtype=...)`.
slots: dict[str, Callable[..., Any]] = {}

SCALAR_MAKERS = {name: ScalarMaker(dtype) for name, dtype in BY_NAME.items()}


def _scalar_maker(name: str) -> ScalarMaker:
    return SCALAR_MAKERS[name]


# which dtype is meant
def as_dtype(dtype: Any) -> DType:
    """The dtype that a name, type or scalar maker stands for; TypeError for anything else."""
    if isinstance(dtype, KeyType):
        return dtype
    try:
        return np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{dtype!r:.80} is not understood as a dtype.") from None


def _supported(dtype: Any, where: str = "") -> Any:
    """`dtype` in the byte order of this machine; raises TypeError if no array can hold it."""
    if isinstance(dtype, KeyType):
        return dtype
    found = _SUPPORTED.get(dtype)
    if found is None:
        found = _SUPPORTED.get(dtype.newbyteorder("="))
    if found is None:
        raise TypeError(
            f"dtype {dtype}{where} is not supported: arrays hold booleans, integers, floats and "
            "complex numbers of at most 64 bits a part, and random keys. Convert to one of those."
        )
    return found


_canonical: dict[tuple[bool, Any], Any] = {}


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = True) -> Any:
    """The dtype an array gets when `dtype` is meant: 32 bits for 64 unless `enable_x64` is on.

    Raises:
        TypeError: no array can hold that dtype.
        ValueError: it is a key's dtype and `allow_extended_dtype` is False.
    """
    try:
        found = _canonical.get((config.enable_x64, dtype))
    except TypeError:  # an array, say, has a dtype but no hash
        dtype = as_dtype(dtype)
        found = None
    if found is None:
        found = _supported(as_dtype(dtype))
        if not config.enable_x64:
            found = _NARROWED.get(found, found)
        _canonical[config.enable_x64, dtype] = found
    if not allow_extended_dtype and isinstance(found, KeyType):
        raise ValueError(f"a NumPy dtype is needed here, and {found} is none.")
    return found


def check_user_dtype(dtype: Any, fun_name: str = "") -> Any:
    """The dtype to use where a user asked `fun_name` for `dtype`.

    Python's types stand for the defaults. A 64-bit dtype while `enable_x64` is off is truncated
    with a warning, refused or granted, as `config.explicit_x64_dtypes` says.
    """
    where = f" requested in {fun_name}" if fun_name else ""
    if dtype is None:
        raise ValueError(f"a dtype is needed{where.replace('requested', '')}, not None.")
    if isinstance(dtype, np.ndarray) or hasattr(dtype, "aval"):
        raise ValueError(f"the dtype{where} is an array; pass its dtype instead, as in x.dtype.")
    if isinstance(dtype, type) and dtype in _PYTHON_TYPES:
        return canonicalize_dtype(dtype)
    return _available(_supported(as_dtype(dtype), where), where)


def _available(dtype: Any, where: str = "") -> Any:
    """`dtype`, or what stands in for it while 64-bit dtypes are off."""
    if config.enable_x64 or dtype not in _NARROWED:
        return dtype
    mode = config.explicit_x64_dtypes
    if mode == "allow":
        return dtype
    advice = "call config.update('enable_x64', True) or set FUNCGRAD_ENABLE_X64=1"
    if mode == "error":
        raise ValueError(f"dtype {dtype}{where} is not available; for 64 bits {advice}.")
    given = _NARROWED[dtype]
    warnings.warn(
        f"dtype {dtype}{where} is not available and is truncated to {given}; for 64 bits {advice}.",
        stacklevel=_level_of_user(),
    )
    return given


def _level_of_user() -> int:
    """The stacklevel at which a warning of our caller points at the first line outside us."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    return level


def default_int() -> np.dtype:
    return _INT64 if config.enable_x64 else _NARROWED[_INT64]


def default_uint() -> np.dtype:
    return _UINT64 if config.enable_x64 else _NARROWED[_UINT64]


def default_float() -> np.dtype:
    return _FLOAT64 if config.enable_x64 else _NARROWED[_FLOAT64]


def default_complex() -> np.dtype:
    return _COMPLEX128 if config.enable_x64 else _NARROWED[_COMPLEX128]


# the dtype of a value
def scalar_dtype(x: bool | int | float | complex) -> np.dtype:
    """The dtype a Python number gets; OverflowError for an int that does not fit."""
    if isinstance(x, bool):
        return BY_NAME["bool"]
    if isinstance(x, int):
        dtype = default_int()
        bound = 1 << (8 * dtype.itemsize - 1)
        if not -bound <= x < bound:
            way = "" if config.enable_x64 else ", or turn on enable_x64"
            raise OverflowError(
                f"Python int {x} too large to convert to {dtype}; give a dtype that holds it{way}."
            )
        return dtype
    if isinstance(x, float):
        return default_float()
    if isinstance(x, complex):
        return default_complex()
    raise TypeError(f"{x!r:.80} of type {type(x).__name__} is not a Python number.")


def dtype_and_weak(x: Any) -> tuple[Any, bool]:
    """(dtype, whether it is weak) of an array, number, abstract value, dtype, type or dtype name.

    Arrays keep the dtype they have; NumPy's and Python's values get the canonical one.
    """
    python = _PYTHON_TYPES.get(type(x))
    if python is not None:
        return canonicalize_dtype(python), type(x) is not bool
    if isinstance(x, (np.ndarray, np.generic)):
        return canonicalize_dtype(x.dtype), False
    aval = getattr(x, "aval", x)
    weak = getattr(aval, "weak_type", None)
    if weak is not None and not isinstance(x, type):
        return aval.dtype, bool(weak)
    return _described(x)


def _described(x: Any) -> tuple[Any, bool]:
    """dtype_and_weak of what is not an array: something that names a dtype, or has one."""
    if isinstance(x, type) and x in _PYTHON_TYPES:
        return canonicalize_dtype(x), x is not bool
    if isinstance(x, str | np.dtype | KeyType) or _is_subclass(x, np.generic):
        return _available(_supported(as_dtype(x))), False
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, np.dtype | KeyType):
        return canonicalize_dtype(dtype), False
    if hasattr(x, "__jax_array__"):
        return dtype_and_weak(x.__jax_array__())
    if isinstance(x, int | float | complex):
        kind = next(kind for kind in _PYTHON_TYPES if isinstance(x, kind))
        return canonicalize_dtype(kind), kind is not bool
    problem = f"{x!r:.80} of type {type(x).__name__} has no dtype"
    if x is None:
        raise ValueError(f"{problem}; give an array, a number or a dtype.")
    raise TypeError(f"{problem}: arrays, numbers and dtypes do. Make an array of it first.")


def _is_subclass(a: Any, b: type) -> bool:
    return isinstance(a, type) and issubclass(a, b)


def dtype_of(x: Any) -> Any:
    """The dtype of an array, number, abstract value, dtype, type or dtype name."""
    return dtype_and_weak(x)[0]


def is_weakly_typed(x: Any) -> bool:
    """Whether x is a Python number other than a bool, or an array that came from one."""
    weak = getattr(getattr(x, "aval", x), "weak_type", None)
    return type(x) in (int, float, complex) if weak is None else bool(weak)


def scalar_type_of(x: Any) -> type:
    """Python's bool, int, float or complex: the type of one element of x."""
    return _python_type(dtype_of(x))


_KIND_OF_PYTHON_TYPE: dict[type, type] = {
    bool: np.bool_,
    int: np.integer,
    float: np.floating,
    complex: np.complexfloating,
}


def _python_type(dtype: DType) -> type:
    for python, kind in _KIND_OF_PYTHON_TYPE.items():
        if issubdtype(dtype, kind):
            return python
    raise TypeError(f"elements of dtype {dtype} have no Python type.")


# promotion
_LATTICE = {
    "bool": "int*",
    "int*": "uint1 uint2 uint4 uint8 int1 int2 int4 int8",
    "uint8": "uint16 int16",
    "uint16": "uint32 int32",
    "uint32": "uint64 int64",
    "uint64": "float*",
    "int8": "int16",
    "int16": "int32",
    "int32": "int64",
    "int64": "float*",
    "float*": f"{' '.join(_NARROW_FLOATS)} bfloat16 float16 complex*",
    "bfloat16": "float32",
    "float16": "float32",
    "float32": "float64 complex64",
    "float64": "complex128",
    "complex*": "complex64",
    "complex64": "complex128",
}
_STRICT_LATTICE = {
    "int*": f"{' '.join(KINDS['integral'])} float*",
    "float*": f"{' '.join(_FLOATS)} complex*",
    "complex*": " ".join(_COMPLEX),
}
_WEAK = {"int*": int, "float*": float, "complex*": complex}


def _upper_sets(lattice: dict[str, str]) -> dict[str, frozenset[str]]:
    """Each node with all that it can be promoted to, itself included."""
    nodes = {*BY_NAME, *_WEAK}

    @functools.cache
    def above(node: str) -> frozenset[str]:
        next_up = nodes.intersection(lattice.get(node, "").split())
        return frozenset([node]).union(*map(above, next_up))

    return {node: above(node) for node in nodes}


_STRICT = _upper_sets(_STRICT_LATTICE)
_WIDE = _upper_sets(_LATTICE)
# Without 64-bit dtypes uint32 and a signed integer meet in int32, not in int64.
_NARROW = _upper_sets(_LATTICE | {"uint32": "uint64 int32"})


def _join(nodes: Iterable[str]) -> str:
    """The least node above all of these; TypePromotionError if there is none."""
    strict = config.numpy_dtype_promotion == "strict"
    above = _STRICT if strict else _WIDE if config.enable_x64 else _NARROW
    common = frozenset.intersection(*(above.get(node, frozenset()) for node in nodes))
    for node in common:
        if above[node] == common:
            return node
    raise TypePromotionError(_no_promotion(list(nodes), strict))


def _no_promotion(nodes: list[str], strict: bool) -> str:
    asked = f"dtypes {', '.join(sorted(nodes))} are not promoted to a common dtype"
    if any(node not in BY_NAME and node not in _WEAK for node in nodes):
        return f"{asked}: keys and float0 mix with nothing else."
    if strict:
        return (
            f"{asked} while numpy_dtype_promotion is 'strict'. Cast with x.astype(dtype), or set "
            "config.update('numpy_dtype_promotion', 'standard')."
        )
    return (
        f"{asked}: floats of 8 bits and less and integers of 4 bits and less are never promoted "
        "implicitly. Cast one with x.astype(dtype), as in x.astype('float32')."
    )


def _node(dtype: DType, weak: bool) -> str:
    if weak and dtype != np.bool_:
        return f"{_python_type(dtype).__name__}*"
    return dtype.name


def _promote(operands: tuple[tuple[Any, bool], ...]) -> tuple[Any, bool]:
    """(dtype, weak) of operands of these; the rules of lattice_result_type."""
    found = {dtype for dtype, _ in operands}
    all_weak = all(weak for _, weak in operands)
    if len(operands) == 1 or (len(found) == 1 and not all_weak):
        dtype = operands[0][0]
        return dtype, all_weak and dtype != np.bool_
    # Weak dtypes of unusual width, such as a weak int16, keep it among themselves.
    as_strong = all_weak and config.numpy_dtype_promotion != "strict"
    joined = _join(sorted({_node(dtype, weak and not as_strong) for dtype, weak in operands}))
    if joined in _WEAK:
        return canonicalize_dtype(_WEAK[joined]), True
    return _available(BY_NAME[joined]), as_strong and joined != "bool"


_promoted: dict[tuple, tuple[Any, bool]] = {}


def promote2(dtype_a: Any, weak_a: bool, dtype_b: Any, weak_b: bool) -> tuple[Any, bool]:
    """(dtype, weak) of an operation on two operands, remembered."""
    if dtype_a is dtype_b and not (weak_a and weak_b):
        return dtype_a, False
    key = (config.trace_key(), dtype_a, weak_a, dtype_b, weak_b)
    result = _promoted.get(key)
    if result is None:
        result = _promote(((dtype_a, weak_a), (dtype_b, weak_b)))
        if len(_promoted) >= 4096:
            _promoted.clear()
        _promoted[key] = result
    return result


def lattice_result_type(*args: Any) -> tuple[Any, bool]:
    """(dtype, weak) of an operation on args: arrays, numbers, dtypes, types or dtype names."""
    if len(args) == 2:
        return promote2(*dtype_and_weak(args[0]), *dtype_and_weak(args[1]))
    return _promote(tuple(map(dtype_and_weak, args)))


@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = False) -> Any: ...
@overload
def result_type(*args: Any, return_weak_type_flag: Literal[True]) -> tuple[Any, bool]: ...
def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype of an operation on arrays, numbers and dtypes, as promotion decides it.

    Args:
        args: one or more; None stands for the default float dtype.
        return_weak_type_flag: return (dtype, weak) instead of the dtype.

    Raises:
        TypePromotionError: they have no common dtype.

    Example:
        >>> result_type("int8", 1.0)
        dtype('float32')
    """
    if not args:
        raise ValueError("result_type needs at least one array, number or dtype.")
    dtype, weak = lattice_result_type(*(default_float() if x is None else x for x in args))
    if weak:
        dtype = canonicalize_dtype(_python_type(dtype))
    return (dtype, weak) if return_weak_type_flag else dtype


def promote_types(a: Any, b: Any) -> Any:
    """The dtype that values of dtypes a and b are cast to when they meet.

    Python's int, float and complex are weak: `promote_types("int8", int)` is int8.

    Raises:
        TypePromotionError: there is none; cast explicitly.
    """
    nodes = []
    for x in (a, b):
        weak = x is int or x is float or x is complex
        nodes.append(f"{x.__name__}*" if weak else _supported(as_dtype(x)).name)
    joined = _join(nodes)
    return np.dtype(_WEAK[joined]) if joined in _WEAK else BY_NAME[joined]


# kinds of dtypes
_ABSTRACT_ABOVE: dict[type, type] = {
    dtype.type: above
    for above, members in (
        (np.signedinteger, _SIGNED),
        (np.unsignedinteger, _UNSIGNED),
        (np.floating, _FLOATS),
    )
    for dtype in members.values()
    if not issubclass(dtype.type, np.number)
}
_issubdtype: dict[tuple[Any, Any], bool] = {}


def issubdtype(a: Any, b: Any) -> bool:
    """Whether dtype a is b or lies below it, as in `issubdtype(x.dtype, np.floating)`.

    bfloat16 and the narrow floats lie below np.floating, int4 and its like below np.signedinteger
    or np.unsignedinteger, key dtypes below `prng_key` and `extended`.
    """
    try:
        result = _issubdtype.get((a, b))
    except TypeError:  # an array, say, has a dtype but no hash
        return _is_below(a, b)
    if result is None:
        result = _issubdtype[a, b] = _is_below(a, b)
    return result


def _is_below(a: Any, b: Any) -> bool:
    if isinstance(b, KeyType):
        return isinstance(a, KeyType) and a == b
    lower, upper = _scalar_class(a), _scalar_class(b)
    return lower is upper or issubclass(_ABSTRACT_ABOVE.get(lower, lower), upper)


def _scalar_class(x: Any) -> type:
    return x if _is_subclass(x, np.generic) else as_dtype(x).type


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether dtype is of a kind: a dtype, the name of a kind, or a tuple of those.

    The names are 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating',
    'complex floating' and 'numeric'.
    """
    found = as_dtype(dtype)
    for option in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(option, str) and option in KINDS:
            if found in KINDS[option].values():
                return True
            continue
        try:
            if found == as_dtype(option):
                return True
        except TypeError:
            wrong = ValueError if isinstance(option, str) else TypeError
            raise wrong(
                f"isdtype's kind is a dtype, one of {', '.join(map(repr, KINDS))}, or a tuple of "
                f"those; got {option!r}."
            ) from None
    return False


@functools.cache
def _supports_inf(dtype: np.dtype) -> bool:
    return issubdtype(dtype, np.inexact) and bool(np.isinf(np.array(np.inf).astype(dtype)))


def supports_inf(dtype: Any) -> bool:
    """Whether the dtype has an infinity; several narrow floats have none."""
    return _supports_inf(np.dtype(dtype))


def itemsize_bits(dtype: Any) -> int:
    """The bits of one value: 4 for int4, although NumPy keeps it in a byte."""
    if dtype is None:
        raise ValueError("a dtype is needed, not None.")
    found = np.dtype(dtype)
    if found in KINDS["integral"].values():
        return iinfo(found).bits
    if found in _FLOATS.values():
        return finfo(found).bits
    if found in _SUPPORTED and found != float0:
        return 8 * found.itemsize
    raise ValueError(f"values of dtype {found} have no size in bits.")


# neighbours in other kinds
def to_numeric(dtype: Any) -> np.dtype:
    """int32 for bool; any other dtype is itself."""
    found = np.dtype(dtype)
    return BY_NAME["int32"] if found == np.bool_ else found


def to_inexact(dtype: Any) -> np.dtype:
    """The float dtype that functions such as `sin` compute booleans and integers in."""
    found = np.dtype(dtype)
    if found in (_INT64, _UINT64):
        return _FLOAT64
    if found == np.bool_ or found in KINDS["integral"].values():
        return BY_NAME["float32"]
    return found


def to_floating(dtype: Any) -> np.dtype:
    """to_inexact, and the dtype of the real part for a complex one."""
    return finfo(to_inexact(dtype)).dtype


def to_complex(dtype: Any) -> np.dtype:
    """complex128 for dtypes of 64-bit precision, complex64 for all others."""
    wide = to_inexact(dtype) in (_FLOAT64, _COMPLEX128)
    return BY_NAME["complex128" if wide else "complex64"]


@functools.cache
def short_name(dtype: DType) -> str:
    """The dtype's name in printed programs: 'f32', 'bf16', 'u8', 'bool', 'key<fry>'."""
    if dtype == float0:
        return "float0"
    return re.sub(r"^(b?)(float|complex|uint|int)", lambda m: m[1] + m[2][0], dtype.name)
