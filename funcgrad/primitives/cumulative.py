"""Cumulative reductions: each element combined with all before it along an axis.

Their derivatives run the same combination as a tree of pairs, which takes log(n) steps and needs
neither division nor a loop.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.base import dtypes
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import (
    add,
    broadcast_scalar,
    concatenate,
    full_like,
    mul,
    reshape,
    select_n,
    slice_array,
)
from funcgrad.base.shapes import canonical_axis
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules, pure, single
from funcgrad.primitives.compare import eq, is_finite
from funcgrad.primitives.elementwise import exp, sub
from funcgrad.primitives.elementwise import max as maximum
from funcgrad.primitives.elementwise import min as minimum
from funcgrad.primitives.nary import INEXACT, NUMBER, Accepted, check_dtype
from funcgrad.primitives.structural import rev
from funcgrad.transforms import backward, batching, forward

cumsum_p = Primitive("cumsum")
cumprod_p = Primitive("cumprod")
cummax_p = Primitive("cummax")
cummin_p = Primitive("cummin")
cumlogsumexp_p = Primitive("cumlogsumexp")


def _bind(primitive: Primitive, operand: Any, axis: int, reverse: bool) -> Any:
    return primitive.bind1(operand, axis=int(axis), reverse=bool(reverse))


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The sum of each element and all before it along an axis (with `reverse`, after it)."""
    return _bind(cumsum_p, operand, axis, reverse)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The product of each element and all before it along an axis (with `reverse`, after it)."""
    return _bind(cumprod_p, operand, axis, reverse)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The maximum of each element and all before it along an axis (with `reverse`, after it)."""
    return _bind(cummax_p, operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The minimum of each element and all before it along an axis (with `reverse`, after it)."""
    return _bind(cummin_p, operand, axis, reverse)


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """log of the sum of exp of each element and all before it (with `reverse`, after it)."""
    return _bind(cumlogsumexp_p, operand, axis, reverse)
