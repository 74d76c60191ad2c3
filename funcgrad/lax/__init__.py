"""The primitives as functions: strict about dtypes and shapes, the layer under `funcgrad.numpy`."""

# ruff: noqa: F401, I001

# structural
from funcgrad.lax._structural import (
    broadcast,
    broadcast_in_dim,
    broadcast_shapes,
    broadcasted_iota,
    collapse,
    concatenate,
    convert_element_type,
    expand_dims,
    full,
    full_like,
    iota,
    optimization_barrier,
    pad,
    reshape,
    round,
    slice,
    squeeze,
    stop_gradient,
    transpose,
    zeros_like_array,
)
from funcgrad.base.basis import add, eq, mul, neg, select_n
from funcgrad.primitives.cast import bitcast_convert_type, reduce_precision
from funcgrad.primitives.structural import rev

# comparisons and bits
from funcgrad.primitives.compare import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    clamp,
    ge,
    gt,
    is_finite,
    le,
    lt,
    ne,
    select,
)

# arithmetic and elementary functions
from funcgrad.primitives.arithmetic import (
    RoundingMethod,
    abs,
    ceil,
    div,
    floor,
    max,
    min,
    nextafter,
    rem,
    sign,
    sub,
)
from funcgrad.primitives.complex_parts import complex, conj, imag, real
from funcgrad.primitives.exponential import (
    cbrt,
    exp,
    exp2,
    expm1,
    integer_pow,
    log,
    log1p,
    logistic,
    pow,
    reciprocal,
    rsqrt,
    sqrt,
    square,
)
from funcgrad.primitives.trigonometric import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    sin,
    sinh,
    tan,
    tanh,
)

# reductions
from funcgrad.primitives.reduction import (
    argmax,
    argmin,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum_over as reduce_sum,
    reduce_xor,
)

# control flow, custom rules, collectives
from funcgrad.api.collectives import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pbroadcast,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
)
from funcgrad.api.meshes import with_sharding_constraint
from funcgrad.api.solving import custom_linear_solve, custom_root
from funcgrad.api.branching import cond, switch
from funcgrad.api.looping import fori_loop, map, scan, while_loop
from funcgrad.api.prefix import associative_scan

# contraction
from funcgrad.primitives.contraction import (
    DotDimensionNumbers,
    batch_matmul,
    dot,
    dot_general,
    dot_general_p,
)
from funcgrad.primitives.precision import (
    DotAlgorithm,
    DotAlgorithmPreset,
    Precision,
    PrecisionLike,
)

# folding
from funcgrad.primitives.folding import reduce, reduce_p

# fft
from funcgrad.primitives.fft import FftType, fft, fft_p

# special
from funcgrad.primitives.incomplete import (
    betainc,
    igamma,
    igamma_grad_a,
    igamma_grad_a_p,
    igamma_p,
    igammac,
    igammac_p,
    random_gamma_grad,
    regularized_incomplete_beta_p,
)
from funcgrad.primitives.special import (
    bessel_i0e,
    bessel_i0e_p,
    bessel_i1e,
    bessel_i1e_p,
    digamma,
    digamma_p,
    erf,
    erf_inv,
    erf_inv_p,
    erf_p,
    erfc,
    erfc_p,
    lgamma,
    lgamma_p,
    polygamma,
    polygamma_p,
    zeta,
    zeta_p,
)

# indexing
from funcgrad.primitives.indexing_spec import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from funcgrad.primitives.indexing import (
    gather,
    gather_p,
    scatter,
    scatter_add,
    scatter_add_p,
    scatter_apply,
    scatter_max,
    scatter_max_p,
    scatter_min,
    scatter_min_p,
    scatter_mul,
    scatter_mul_p,
    scatter_p,
    scatter_sub,
    scatter_sub_p,
)
from funcgrad.primitives.axis_slicing import (
    dynamic_index_in_dim,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice_in_dim,
    index_in_dim,
    index_take,
    slice_in_dim,
)
from funcgrad.primitives.slicing import (
    dynamic_slice,
    dynamic_slice_p,
    dynamic_update_slice,
    dynamic_update_slice_p,
)

# sorting
from funcgrad.primitives.sorting import sort, sort_key_val, sort_p, top_k, top_k_p

# cumulative
from funcgrad.primitives.cumulative import (
    cumlogsumexp,
    cumlogsumexp_p,
    cummax,
    cummax_p,
    cummin,
    cummin_p,
    cumprod,
    cumprod_p,
    cumsum,
    cumsum_p,
)

# bits
from funcgrad.primitives.bits import (
    clz,
    clz_p,
    mulhi,
    mulhi_p,
    population_count,
    population_count_p,
    shift_left,
    shift_left_p,
    shift_right_arithmetic,
    shift_right_arithmetic_p,
    shift_right_logical,
    shift_right_logical_p,
)

# window
from funcgrad.primitives.select_scatter import select_and_scatter_p
from funcgrad.primitives.selecting import select_and_gather_add_p, select_and_scatter_add_p
from funcgrad.primitives.sliding import padtype_to_pads, reduce_window_shape_tuple
from funcgrad.primitives.window import (
    reduce_window,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
)

# linalg
from funcgrad.lax import linalg

# convolution
from funcgrad.lax._convolution import (
    conv,
    conv_general_dilated_local,
    conv_general_dilated_patches,
    conv_transpose,
    conv_with_general_padding,
)
from funcgrad.primitives.convolution import conv_general_dilated, conv_general_dilated_p
from funcgrad.primitives.convolution_spec import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    conv_general_permutations,
    conv_general_shape_tuple,
    conv_shape_tuple,
    conv_transpose_shape_tuple,
)

# made of others
from funcgrad.lax._composed import (
    approx_max_k,
    approx_min_k,
    broadcast_like,
    broadcast_to_rank,
    composite,
    dtype,
    empty,
    platform_dependent,
    ragged_dot,
    shape_as_value,
    split,
    stack,
    tile,
    unstack,
)

# primitives
from funcgrad.lax._primitives import *  # noqa: F403
