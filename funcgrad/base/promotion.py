"""What dtype a value has, and what several of them promote to.

Promotion is the least upper bound in JAX's lattice, where Python numbers are weakly typed: `int*`,
`float*` and `complex*` give way to any dtype of their kind or of a later one.
"""

import functools
from collections.abc import Iterable
from typing import Any, Literal, overload

import numpy as np

from funcgrad.base.config import config
from funcgrad.base.dtypes import (
    BY_NAME,
    KINDS,
    NARROW_FLOATS,
    PYTHON_TYPES,
    DType,
    KeyType,
    as_dtype,
    available_dtype,
    canonicalize_dtype,
    default_complex,
    default_float,
    default_int,
    issubdtype,
    supported_dtype,
)
from funcgrad.base.errors import TypePromotionError


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
                f"the Python int {x} does not fit in {dtype}; give a dtype that holds it{way}."
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
    python = PYTHON_TYPES.get(type(x))
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
    if isinstance(x, type) and x in PYTHON_TYPES:
        return canonicalize_dtype(x), x is not bool
    if isinstance(x, str | np.dtype | KeyType) or (
        isinstance(x, type) and issubclass(x, np.generic)
    ):
        return available_dtype(supported_dtype(as_dtype(x))), False
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, np.dtype | KeyType):
        return canonicalize_dtype(dtype), False
    if hasattr(x, "__jax_array__"):
        return dtype_and_weak(x.__jax_array__())
    if isinstance(x, int | float | complex):
        kind = next(kind for kind in PYTHON_TYPES if isinstance(x, kind))
        return canonicalize_dtype(kind), kind is not bool
    problem = f"{x!r:.80} of type {type(x).__name__} has no dtype"
    if x is None:
        raise ValueError(f"{problem}; give an array, a number or a dtype.")
    raise TypeError(f"{problem}: arrays, numbers and dtypes do. Make an array of it first.")


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
    "float*": f"{' '.join(NARROW_FLOATS)} bfloat16 float16 complex*",
    "bfloat16": "float32",
    "float16": "float32",
    "float32": "float64 complex64",
    "float64": "complex128",
    "complex*": "complex64",
    "complex64": "complex128",
}
_STRICT_LATTICE = {
    "int*": f"{' '.join(KINDS['integral'])} float*",
    "float*": f"{' '.join(KINDS['real floating'])} complex*",
    "complex*": " ".join(KINDS["complex floating"]),
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
    return available_dtype(BY_NAME[joined]), as_strong and joined != "bool"


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
        nodes.append(f"{x.__name__}*" if weak else supported_dtype(as_dtype(x)).name)
    joined = _join(nodes)
    return np.dtype(_WEAK[joined]) if joined in _WEAK else BY_NAME[joined]
