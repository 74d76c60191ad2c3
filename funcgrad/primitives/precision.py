"""How exactly a product is to be computed: precision levels, algorithms, and what users may write.

On a CPU every product of 32-bit floats is computed in 32 bits or more, so a level asks for no less
than is done anyway; an algorithm rounds its operands and its sum to the types it names.
"""

import enum
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.config import config

_ALIASES: dict[Any, int] = {
    "highest": 2,
    "float32": 2,
    "high": 1,
    "bfloat16_3x": 1,
    "tensorfloat32": 1,
    "default": 0,
    "bfloat16": 0,
    "fastest": 0,
    None: 0,
}


class Precision(enum.Enum):
    """How much an accelerator may trade accuracy of float32 products for speed.

    DEFAULT ("default", "fastest", "bfloat16"), HIGH ("high", "bfloat16_3x", "tensorfloat32") or
    HIGHEST ("highest", "float32"). CPUs compute all three alike.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> "Precision | None":
        known = isinstance(value, str | None) and value in _ALIASES
        return cls(_ALIASES[value]) if known else None

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


class DotAlgorithm(NamedTuple):
    """A product whose operands and sum are rounded to given dtypes.

    The counts say into how many narrow parts an accelerator splits each operand, and how many
    products of parts it adds up, to reach more accuracy than the narrow type has; with more than
    one, the operands are taken as they are.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


# The types that the words in a preset's name stand for; tf32 operands are kept in 32 bits.
_WORDS = {"F16": "float16", "BF16": "bfloat16", "TF32": "float32", "F32": "float32"}
_WORDS["F64"] = "float64"


class DotAlgorithmPreset(enum.Enum):
    """Algorithms by name, as LHS_RHS_ACCUMULATION; _X3, _X6, _X9 count the products that are added.

    DEFAULT leaves the choice open. ANY_F8 takes any 8-bit float.
    """

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def is_split(self) -> bool:
        """Whether operands are split into parts, so that no accuracy is lost at the start."""
        return self.name.endswith(("_X3", "_X6", "_X9"))

    @property
    def operand_type(self) -> np.dtype | None:
        """The dtype operands are rounded to; None where they stay as they are."""
        word = self.name.partition("_")[0]
        if word not in _WORDS:
            return None
        return dtypes.BY_NAME["float32" if self.is_split else _WORDS[word]]

    @property
    def accumulation_type(self) -> np.dtype | None:
        """The dtype of the sum; None where the result's dtype decides."""
        if self is DotAlgorithmPreset.DEFAULT or "F8_ANY" in self.name.removeprefix("ANY_F8_"):
            return None
        if self.name.startswith("ANY_F8"):
            return dtypes.BY_NAME["float32"]
        return dtypes.BY_NAME[_WORDS[self.name.split("_")[2]]]


PrecisionLike: TypeAlias = (
    str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
    | None
)
CanonicalPrecision: TypeAlias = (
    tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset | None
)


def canonicalize_precision(precision: PrecisionLike) -> CanonicalPrecision:
    """What a primitive's `precision` holds: None, a level for each operand, or an algorithm.

    None asks `config.default_matmul_precision`. Raises ValueError listing what may be written.
    """
    if precision is None:
        precision = config.default_matmul_precision
    if precision is None or isinstance(precision, DotAlgorithm | DotAlgorithmPreset):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[precision]
    pair = precision if isinstance(precision, list | tuple) else (precision, precision)
    levels = [p if isinstance(p, Precision) else _ALIASES.get(p) for p in pair]
    if len(levels) != 2 or None in levels:
        raise ValueError(
            f"precision {precision!r} is not understood. Give None, a Precision or one of "
            f"{', '.join(repr(a) for a in _ALIASES if a)}, a pair of those for the two operands, "
            "a DotAlgorithm, or a DotAlgorithmPreset or its name."
        )
    return Precision(levels[0]), Precision(levels[1])


class Rounding(NamedTuple):
    """The dtypes an algorithm rounds its operands and its sum to; None for no rounding."""

    lhs: np.dtype | None = None
    rhs: np.dtype | None = None
    sum: np.dtype | None = None


def rounding_of(precision: CanonicalPrecision) -> Rounding:
    if isinstance(precision, DotAlgorithmPreset):
        operand = precision.operand_type
        return Rounding(operand, operand, precision.accumulation_type)
    if isinstance(precision, DotAlgorithm):
        whole = precision.num_primitive_operations > 1
        operands = (precision.lhs_precision_type, precision.rhs_precision_type)
        lhs, rhs = (None if whole else np.dtype(t) for t in operands)
        return Rounding(lhs, rhs, np.dtype(precision.accumulation_type))
    return Rounding()
