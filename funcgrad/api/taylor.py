"""jet as users call it: a function along a polynomial curve, to any order."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.api.flat import FlatFunction, checked_values
from funcgrad.api.grad import check_callable
from funcgrad.base import dtypes
from funcgrad.base.array import as_value
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import broadcast_to_shape, convert
from funcgrad.base.source import function_name
from funcgrad.base.tree import tree_flatten, tree_unflatten
from funcgrad.primitives import taylor_control, taylor_rules
from funcgrad.transforms.forward import zeros_like_aval
from funcgrad.transforms.taylor import expand, scaled

assert taylor_control and taylor_rules  # their rules are registered


def jet(
    fun: Callable,
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """The Taylor expansion of t -> fun(x(t)), given that of x(t), by one run of the function.

    Derivatives of order K cost about K^2 evaluations, where nested forward mode costs 2^K; a
    while_loop still costs that much.

    Args:
        fun: a function of arrays or pytrees of floats or complex numbers.
        primals: its arguments x(0), in a tuple or list.
        series: for each argument, the derivatives [x'(0), x''(0), ...] at t = 0, each like the
            argument; equally many for all.
        factorial_scaled: False for Taylor coefficients, x^(k)(0) / k!, in place of derivatives.

    Returns:
        `(out, out_series)`: `fun(*primals)`, and a pytree like it in which each leaf is the list of
        the output's derivatives (or coefficients).

    Raises:
        ValueError: if `series` does not fit `primals`.
        TypeError: if an argument that changes is of integers.
        NotImplementedError: for a primitive without a derivative; it is named.

    Example:
        >>> from funcgrad.experimental.jet import jet
        >>> jet(lambda x: x**3, (2.0,), ([1.0, 0.0, 0.0],))
        (Array(8., dtype=float32, weak_type=True), [Array(12., dtype=float32, weak_type=True), \
Array(12., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True)])

    Source: `jax.experimental.jet.jet`; Griewank and Walther, Evaluating Derivatives (2008),
    chapter 13. Different here: arguments may be pytrees, and all primitives with a derivative work.
    """
    check_callable("jet", fun)
    name = f"jet of {function_name(fun)}"
    values, in_tree = checked_values("jet", fun, tuple(primals))
    order = _order(name, primals, series)
    flat = FlatFunction(fun, in_tree, positional=True)
    if not order:
        outs = flat(*values)
        assert flat.out_tree is not None
        return tree_unflatten(flat.out_tree, outs), tree_unflatten(
            flat.out_tree, [[] for _ in outs]
        )
    factors = [1 / math.factorial(k) if factorial_scaled else 1 for k in range(1, order + 1)]
    rows = [_terms(name, i, x, s) for i, (x, s) in enumerate(zip(primals, series, strict=True))]
    moving = [[scaled(t, f) for t, f in zip(terms, factors)] for row in rows for terms in row]
    outs, found = expand(flat, order, values, moving)
    lists = []
    for out, terms in zip(outs, found, strict=True):
        terms = terms or [zeros_like_aval(aval_of(as_value(out)))] * order
        lists.append([scaled(t, round(1 / f)) for t, f in zip(terms, factors)])
    assert flat.out_tree is not None
    return tree_unflatten(flat.out_tree, outs), tree_unflatten(flat.out_tree, lists)


def _order(name: str, primals: Sequence[Any], series: Sequence[Any]) -> int:
    """The number of terms, the same for every argument."""
    if not isinstance(series, (tuple, list)) or len(series) != len(primals):
        raise ValueError(
            f"{name}: series must hold a list of terms for each of the {len(primals)} arguments, "
            f"got {type(series).__name__}"
            + (f" of length {len(series)}" if isinstance(series, (tuple, list)) else "")
        )
    for i, terms in enumerate(series):
        if not isinstance(terms, (tuple, list)):
            raise TypeError(
                f"{name}: series[{i}] must be a list of terms, one for each order, got "
                f"{type(terms).__name__}"
            )
    lengths = [len(terms) for terms in series]
    if len(set(lengths)) > 1:
        raise ValueError(f"{name}: the series must be equally long, and have {lengths} terms")
    return lengths[0] if lengths else 0


def _terms(name: str, index: int, primal: Any, terms: Sequence[Any]) -> list[list[Any]]:
    """The terms of each leaf of one argument, in its shape and dtype."""
    leaves, tree = tree_flatten(primal)
    rows = []
    for k, term in enumerate(terms):
        parts, term_tree = tree_flatten(term)
        if term_tree != tree:
            raise ValueError(
                f"{name}: series[{index}][{k}] must be a pytree like the argument, {tree}, got "
                f"{term_tree}"
            )
        rows.append([_like(f"{name}: series[{index}][{k}]", x, y) for x, y in zip(parts, leaves)])
    return [list(column) for column in zip(*rows, strict=True)] if leaves else []


def _like(where: str, term: Any, primal: Any) -> Any:
    wanted, term = aval_of(primal), as_value(term)
    if not dtypes.issubdtype(wanted.dtype, np.inexact):
        raise TypeError(
            f"{where} belongs to an argument of type {wanted.str_short()}, which does not change "
            "continuously; close over it"
        )
    found = aval_of(term)
    if found.shape not in ((), wanted.shape):
        raise ValueError(
            f"{where} is {found.str_short()} and must have the shape of its argument, "
            f"{wanted.str_short()}"
        )
    return broadcast_to_shape(convert(term, wanted.dtype, wanted.weak_type), wanted.shape)
