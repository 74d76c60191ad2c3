"""Dtypes as data: which there are, which one is meant, and how they are named."""

import functools
import re
import sys
import warnings
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from funcgrad.base.config import config


def _dtypes(names: str) -> dict[str, np.dtype]:
    """Those of the named dtypes that the installed NumPy and ml_dtypes have."""
    found = (
        (name, getattr(np, name, None) or getattr(ml_dtypes, name, None)) for name in names.split()
    )
    return {name: np.dtype(kind) for name, kind in found if kind is not None}


_SIGNED = _dtypes("int1 int2 int4 int8 int16 int32 int64")
_UNSIGNED = _dtypes("uint1 uint2 uint4 uint8 uint16 uint32 uint64")
NARROW_FLOATS = _dtypes(
    "float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e8m0fnu "
    "float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"
)
_FLOATS = NARROW_FLOATS | _dtypes("bfloat16 float16 float32 float64")
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
PYTHON_TYPES: dict[type, np.dtype] = {kind: np.dtype(kind) for kind in (bool, int, float, complex)}

bfloat16 = ml_dtypes.bfloat16
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


# which dtype is meant
def as_dtype(dtype: Any) -> DType:
    """The dtype that a name, type or scalar maker stands for; TypeError for anything else."""
    if isinstance(dtype, KeyType):
        return dtype
    try:
        return np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{dtype!r:.80} is not understood as a dtype.") from None


def supported_dtype(dtype: Any, where: str = "") -> Any:
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
        found = supported_dtype(as_dtype(dtype))
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
    if isinstance(dtype, type) and dtype in PYTHON_TYPES:
        return canonicalize_dtype(dtype)
    return available_dtype(supported_dtype(as_dtype(dtype), where), where)


def available_dtype(dtype: Any, where: str = "") -> Any:
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
    return x if (isinstance(x, type) and issubclass(x, np.generic)) else as_dtype(x).type


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
