"""Rules of Taylor mode, for what is linear, a product, or has a recurrence of its own.

The recurrences are those of Griewank and Walther, Evaluating Derivatives (2008), chapter 13.
"""

from collections.abc import Sequence
from typing import Any

from funcgrad.base import basis
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import mul, neg
from funcgrad.primitives import (
    arithmetic,
    compare,
    complex_parts,
    cumulative,
    exponential,
    fft,
    indexing,
    reduction,
    slicing,
    sorting,
    structural,
    trigonometric,
    window,
)
from funcgrad.primitives.arithmetic import div
from funcgrad.primitives.call import jit_p
from funcgrad.primitives.contraction import dot_general_p
from funcgrad.primitives.convolution import conv_general_dilated_p
from funcgrad.primitives.remat import remat_p
from funcgrad.transforms.forward import zeros_like_aval
from funcgrad.transforms.taylor import (
    bilinear,
    locally_linear,
    programs,
    rules,
    scaled,
    terms_of,
    total,
)

locally_linear(
    basis.add_p,
    arithmetic.sub_p,
    basis.neg_p,
    arithmetic.rem_p,
    arithmetic.max_p,
    arithmetic.min_p,
    compare.clamp_p,
    basis.convert_element_type_p,
    basis.select_n_p,
    basis.broadcast_in_dim_p,
    basis.reshape_p,
    basis.squeeze_p,
    basis.transpose_p,
    basis.slice_p,
    basis.pad_p,
    basis.concatenate_p,
    basis.reduce_sum_p,
    structural.rev_p,
    structural.copy_p,
    complex_parts.real_p,
    complex_parts.imag_p,
    complex_parts.complex_p,
    complex_parts.conj_p,
    reduction.reduce_max_p,
    reduction.reduce_min_p,
    slicing.dynamic_slice_p,
    slicing.dynamic_update_slice_p,
    indexing.gather_p,
    indexing.scatter_p,
    indexing.scatter_add_p,
    indexing.scatter_sub_p,
    cumulative.cumsum_p,
    cumulative.cummax_p,
    cumulative.cummin_p,
    window.reduce_window_sum_p,
    window.reduce_window_max_p,
    window.reduce_window_min_p,
    sorting.sort_p,
    fft.fft_p,
)
bilinear(basis.mul_p, dot_general_p, conv_general_dilated_p)

programs[jit_p] = lambda params: params["jaxpr"]
programs[remat_p] = lambda params: params["jaxpr"]


def div_taylor(order: int, primals: Sequence, series: Sequence, **_: Any) -> tuple:
    """z y = x, so z_k = (x_k - sum_i z_(k-i) y_i) / y_0."""
    xs, ys = (terms_of(p, s, order) for p, s in zip(primals, series, strict=True))
    outs = [div(xs[0], ys[0])]
    for k in range(1, order + 1):
        products = [neg(mul(outs[k - i], ys[i])) for i in range(1, k + 1) if ys[i] is not None]
        rest = total([xs[k], *products])
        outs.append(zeros_like_aval(aval_of(outs[0])) if rest is None else div(rest, ys[0]))
    return (outs[0],), (outs[1:],)


def exp_taylor(order: int, primals: Sequence, series: Sequence, **params: Any) -> tuple:
    """z' = z x', so k z_k = sum_i i x_i z_(k-i)."""
    (xs,) = series
    outs = [exponential.exp_p.bind(*primals, **params)]
    for k in range(1, order + 1):
        outs.append(total([mul(scaled(xs[i - 1], i / k), outs[k - i]) for i in range(1, k + 1)]))
    return (outs[0],), (outs[1:],)


def sin_and_cos(order: int, x: Any, xs: Sequence[Any], **params: Any) -> tuple[list, list]:
    """Both at once: s' = c x' and c' = -s x'."""
    sines = [trigonometric.sin_p.bind(x, **params)]
    cosines = [trigonometric.cos_p.bind(x, **params)]
    for k in range(1, order + 1):
        speeds = [scaled(xs[i - 1], i / k) for i in range(1, k + 1)]
        later = total([mul(v, cosines[k - i]) for i, v in enumerate(speeds, 1)])
        cosines.append(neg(total([mul(v, sines[k - i]) for i, v in enumerate(speeds, 1)])))
        sines.append(later)
    return sines, cosines


def sin_taylor(order: int, primals: Sequence, series: Sequence, **params: Any) -> tuple:
    sines, _ = sin_and_cos(order, *primals, *series, **params)
    return (sines[0],), (sines[1:],)


def cos_taylor(order: int, primals: Sequence, series: Sequence, **params: Any) -> tuple:
    _, cosines = sin_and_cos(order, *primals, *series, **params)
    return (cosines[0],), (cosines[1:],)


rules[arithmetic.div_p] = div_taylor
rules[exponential.exp_p] = exp_taylor
rules[trigonometric.sin_p] = sin_taylor
rules[trigonometric.cos_p] = cos_taylor
