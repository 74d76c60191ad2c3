"""The methods and properties of arrays, which are functions of this package."""

import sys
from typing import Any

from funcgrad.base import scalar_types
from funcgrad.base.methods import slots
from funcgrad.numpy import (
    _arithmetic,
    _choosing,
    _complex,
    _creation,
    _cumulative,
    _diagonals,
    _editing,
    _indexing,
    _nonzero,
    _products,
    _reductions,
    _rounding,
    _searching,
    _shaping,
    _sorting,
    _statistics,
    _taking,
    _updates,
)


def _namespace(api_version: str | None) -> Any:
    """This package, for code that asks arrays for their namespace by the array API."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"array API version {api_version!r} is not known; 2024.12 is the latest")
    return sys.modules["funcgrad.numpy"]


def _astype(x: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    return _creation.astype(x, dtype, copy=copy, device=device)


slots.update(
    # indexing and shape
    getitem=_indexing.getitem,
    at=_updates.At,
    transpose=_shaping.transpose,
    transpose_method=_shaping.transpose_method,
    matrix_transpose=_shaping.matrix_transpose,
    reshape_method=_shaping.reshape_method,
    ravel=_shaping.ravel,
    squeeze=_shaping.squeeze,
    swapaxes=_shaping.swapaxes,
    view=_shaping.view,
    # values
    astype=_astype,
    copy=_creation.copy,
    real=_complex.real,
    imag=_complex.imag,
    conj=_complex.conjugate,
    clip=_choosing.clip,
    round=_rounding.round,
    repeat=_editing.repeat,
    # elements
    choose=_taking.choose,
    compress=_taking.compress,
    diagonal=_diagonals.diagonal,
    nonzero=_nonzero.nonzero,
    searchsorted=_sorting.searchsorted,
    take=_taking.take,
    # reductions
    all=_reductions.all,
    any=_reductions.any,
    argmax=_searching.argmax,
    argmin=_searching.argmin,
    cumprod=_cumulative.cumprod,
    cumsum=_cumulative.cumsum,
    max=_reductions.max,
    mean=_reductions.mean,
    min=_reductions.min,
    prod=_reductions.prod,
    ptp=_reductions.ptp,
    std=_statistics.std,
    sum=_reductions.sum,
    trace=_diagonals.trace,
    var=_statistics.var,
    # order and products
    argpartition=_sorting.argpartition,
    argsort=_sorting.argsort,
    sort=_sorting.sort,
    dot=_products.dot,
    # the array API
    array_namespace=_namespace,
)
slots["abs"] = _arithmetic.absolute
scalar_types.slots["asarray"] = _creation.asarray
