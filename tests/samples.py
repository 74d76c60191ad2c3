"""The table of samples: at least one row for each primitive, more where its settings matter.

The laws of `test_laws.py` hold for every row. A row is a function of a library, `lax`, so the same
row asks us and JAX.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rows import Make, Row, rows

INF, NAN = np.inf, np.nan
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, INF, -INF, NAN, 1e30, -1e-30], np.float32)


def named(name: str) -> Make:
    """The function of that name."""
    return lambda lax: getattr(lax, name)


def called(name: str, *args: Any, **settings: Any) -> Make:
    """The function of that name, with settings after its one array."""
    return lambda lax: lambda x: getattr(lax, name)(x, *args, **settings)


# A table is read better in rows.
# fmt: off

# elementwise

# name, kind of dtypes, range of the sample, how often differentiable
UNARY = [
    ("abs", "inexact", (-2, 2), 2),
    ("neg", "number", (-2, 2), 2),
    ("sign", "real", (-2, 2), 2),
    ("floor", "real", (-3, 3), 2),
    ("ceil", "real", (-3, 3), 2),
    ("round", "real", (-3, 3), 2),
    ("is_finite", "real", (-3, 3), 0),
    ("square", "number", (-2, 2), 2),
    ("sqrt", "inexact", (0.2, 3), 2),
    ("rsqrt", "inexact", (0.2, 3), 2),
    ("cbrt", "real", (0.2, 3), 2),
    ("exp", "inexact", (-2, 2), 2),
    ("exp2", "inexact", (-2, 2), 2),
    ("expm1", "inexact", (-1, 1), 2),
    ("log", "inexact", (0.2, 3), 2),
    ("log1p", "inexact", (-0.5, 2), 2),
    ("logistic", "inexact", (-3, 3), 2),
    ("sin", "inexact", (-3, 3), 2),
    ("cos", "inexact", (-3, 3), 2),
    ("tan", "inexact", (-1, 1), 2),
    ("asin", "inexact", (-0.8, 0.8), 2),
    ("acos", "inexact", (-0.8, 0.8), 2),
    ("atan", "inexact", (-2, 2), 2),
    ("sinh", "inexact", (-2, 2), 2),
    ("cosh", "inexact", (-2, 2), 2),
    ("tanh", "inexact", (-2, 2), 2),
    ("asinh", "inexact", (-2, 2), 2),
    ("acosh", "inexact", (1.2, 3), 2),
    ("atanh", "inexact", (-0.8, 0.8), 2),
    ("lgamma", "real", (0.3, 4), 2),
    ("digamma", "real", (0.3, 4), 2),
    ("erf", "real", (-2, 2), 2),
    ("erfc", "real", (-2, 2), 2),
    ("erf_inv", "real", (-0.8, 0.8), 2),
    ("bessel_i0e", "real", (0.3, 3), 2),
    ("bessel_i1e", "real", (0.3, 3), 2),
    ("reciprocal", "inexact", (0.5, 3), 2),
]
# Errors of NumPy's or XLA's narrow or complex arithmetic that are not ours to repair.
COARSE = {"lgamma": 4, "digamma": 8, "erf_inv": 4}

unary = [
    Row(name, named(name), (f"{kind}[3,4] {low}..{high}",), order, error=COARSE.get(name, 1))
    for name, kind, (low, high), order in UNARY
]
edges = [
    Row(f"{name} edges", named(name), (EDGES,), 0)
    for name, kind, *_ in UNARY
    if name not in ("lgamma", "digamma")
]

BINARY = [
    ("add", "number", (-2, 2), 2),
    ("sub", "number", (-2, 2), 2),
    ("mul", "number", (-2, 2), 2),
    ("div", "number", (0.5, 3), 2),
    ("rem", "ordered", (1, 5), 2),
    ("max", "ordered", (-2, 2), 2),
    ("min", "ordered", (-2, 2), 2),
    ("pow", "inexact", (0.5, 2), 2),
    ("atan2", "real", (0.5, 2), 2),
    ("nextafter", "real", (-2, 2), 0),
    ("eq", "any", (0, 2), 0),
    ("ne", "any", (0, 2), 0),
    ("lt", "ordered", (-2, 2), 0),
    ("le", "ordered", (-2, 2), 0),
    ("gt", "ordered", (-2, 2), 0),
    ("ge", "ordered", (-2, 2), 0),
    ("bitwise_and", "bits", (0, 100), 0),
    ("bitwise_or", "bits", (0, 100), 0),
    ("bitwise_xor", "bits", (0, 100), 0),
    ("shift_left", "integer", (0, 9), 0),
    ("shift_right_logical", "integer", (0, 9), 0),
    ("shift_right_arithmetic", "integer", (0, 9), 0),
]
binary = [
    Row(name, named(name), (f"{kind}[2,3] {low}..{high}", f"{kind}[2,3] {low}..{high}"), order)
    for name, kind, (low, high), order in BINARY
]
EDGE_PAIRS = [
    np.repeat(np.array([0, -0.0, 1, -2, INF, -INF, NAN], np.float32), 7),
    np.tile(np.array([0, -0.0, 1, -2, INF, -INF, NAN], np.float32), 7),
]
edge_pairs = [
    Row(f"{name} edges", named(name), tuple(EDGE_PAIRS), 0)
    for name in ("add", "sub", "mul", "div", "rem", "max", "min", "pow", "atan2", "nextafter")
    + ("eq", "ne", "lt", "le", "gt", "ge")
]

elementwise = [
    Row("add scalar", named("add"), ("f32[2,3]", "f32[]")),
    Row("mul stretched", named("mul"), ("f32[2,1]", "f32[1,3]")),
    Row("add weak", lambda lax: lambda x: lax.add(x, 2.0), ("f32[3]",)),
    Row("sign i32", named("sign"), ("i32[3]",), 0),
    # JAX takes this derivative to be zero, which it is only on the real line.
    Row("sign of complex", named("sign"), ("c64[3]",), jax_lacks="derivative"),
    Row("complex edges", named("complex"), tuple(EDGE_PAIRS), 0),
    Row("abs i32", named("abs"), ("i32[3]",), 0),
    Row("mul numbers", lambda lax: lambda: lax.mul(2.0, 3.0), (), 0),
    Row("add empty", named("add"), ("f32[0,3]", "f32[0,3]")),
    Row("max ties", named("max"), ("f32[3]", "f32[3]"), smooth=False),
    Row("max with itself", lambda lax: lambda x: lax.max(x, x * 1.0), ("f32[4]",), smooth=False),
    Row("abs at zero", lambda lax: lambda x: lax.abs(x - x), ("f32[4]",), smooth=False),
    Row("div integers", named("div"), (np.array([7, -7, 5, 0]), np.array([2, 2, 0, 0])), 0),
    Row("rem integers", named("rem"), (np.array([7, -7, 5, 0]), np.array([2, 2, 0, 0])), 0),
    Row("rem signs", named("rem"), ("f32[6] -5..5", "f32[6] -2.5..2.5")),
    Row("pow float to integer", named("pow"), ("f32[5]", "i32[5] -3..3")),
    Row("pow at zero", lambda lax: lambda x, y: lax.pow(x * 0, y), ("f32[3]", "f32[3] 2.5..4")),
    Row("integer_pow", called("integer_pow", 3), ("number[2,3] -2..2",)),
    Row("integer_pow negative", called("integer_pow", -2), ("f32[2,3] 0.5..2",)),
    Row("integer_pow zero", called("integer_pow", 0), ("f32[3]",)),
    Row("integer_pow one", called("integer_pow", 1), ("f32[3]",)),
    Row("integer_pow large", called("integer_pow", 13), ("f32[3] -1.2..1.2",)),
    Row("atan2 all quadrants", named("atan2"), ("f32[8]", "f32[8]")),
    Row("round to even", lambda lax: lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
        (np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.2], np.float32),), 0),
    Row("round away", named("round"), (np.array([0.5, 1.5, -0.5, -1.5], np.float32),), 0),
    Row("real", named("real"), ("c64[2,3]",)),
    Row("imag", named("imag"), ("c64[2,3]",)),
    Row("complex", named("complex"), ("f32[2,3]", "f32[2,3]")),
    Row("conj", named("conj"), ("c64[2,3]",)),
    Row("conj of real", named("conj"), ("f32[2,3]",)),
    Row("abs of complex after log", lambda lax: lambda z: lax.abs(lax.log(z)), ("c64[3]",)),
    Row("sqrt of negative", lambda lax: lambda z: lax.sqrt(z), ("c64[4] -2..-0.1",)),
    Row("bitwise_not", named("bitwise_not"), ("bits[2,3]",), 0),
    Row("population_count", named("population_count"), ("integer[2,3] 0..100",), 0),
    Row("clz", named("clz"), ("integer[2,3] 0..100",), 0),
    Row("mulhi", named("mulhi"), (np.array([2**30, -5, 7]), np.array([12, 2**29, -(2**31)])), 0),
    Row("mulhi u32", named("mulhi"),
        (np.array([2**32 - 1, 5], np.uint32), np.array([2**32 - 1, 2**31], np.uint32)), 0),
    Row("shift too far", named("shift_left"), ("i32[3]", np.array([31, 32, 40])), 0),
    Row("shift right too far", named("shift_right_arithmetic"), ("i32[3]", np.array([31, 32, 40])),
        0),
    Row("clamp", named("clamp"), ("f32[2,3] -0.8..-0.3", "f32[2,3]", "f32[2,3] 0.3..0.8")),
    Row("clamp scalars", named("clamp"), ("f32[] -1..-0.5", "f32[2,3]", "f32[] 0.5..1"),
        jax_lacks="derivative"),
    Row("clamp integers", named("clamp"), ("i32[] -1..0", "i32[2,3]", "i32[] 2..3"), 0),
    Row("clamp numbers", lambda lax: lambda x: lax.clamp(-0.7, x, 0.9), ("f32[5]",)),
    Row("select", named("select"), ("b1[2,3]", "f32[2,3]", "f32[2,3]")),
    Row("select_n scalar", named("select_n"), ("b1[]", "f32[2,3]", "f32[2,3]")),
    Row("select_n of three", named("select_n"), ("i32[4] 0..2", "f32[4]", "f32[4]", "f32[4]")),
    Row("select_n integers", named("select_n"), ("b1[4]", "i32[4]", "i32[4]"), 0),
    Row("select_n one", named("select_n"), ("b1[3]", "f32[3]", "f32[3]")),
    Row("stop_gradient", lambda lax: lambda x: lax.stop_gradient(x) * x, ("f32[3]",), smooth=False),
]

casts = [
    *(
        Row(f"convert {given} to {wanted}", called("convert_element_type", np.dtype(wanted)),
            (f"{given}[2,3] {span}",), order)
        for given, wanted, span, order in [
            ("f32", "int32", "-9..9", 0),
            ("f32", "uint8", "0..9", 0),
            ("f32", "float16", "-9..9", 0),
            ("f32", "bool", "-9..9", 0),
            ("f32", "complex64", "-9..9", 0),
            ("i32", "float32", "-9..9", 0),
            ("i32", "int8", "-300..300", 0),
            ("i32", "uint32", "-9..9", 0),
            ("u8", "int8", "0..255", 0),
            ("b1", "float32", "0..1", 0),
            ("f16", "float32", "-9..9", 0),
            ("bf16", "float16", "-9..9", 0),
            ("bf16", "int32", "-9..9", 0),
        ]
    ),
    Row("convert to complex", lambda lax: lambda x: lax.convert_element_type(
        x, np.result_type(x.dtype, np.complex64)), ("f32[3]",)),
    Row("convert edges", called("convert_element_type", np.dtype("int32")),
        (np.array([NAN, INF, -INF, 3e9, -3e9, 1.9, -1.9], np.float32),), 0),
    Row("convert edges u8", called("convert_element_type", np.dtype("uint8")),
        (np.array([NAN, INF, -INF, 300, -5, 1.9], np.float32),), 0),
    Row("bitcast", called("bitcast_convert_type", np.dtype("int32")), ("f32[2,3]",), 0),
    Row("bitcast narrower", called("bitcast_convert_type", np.dtype("uint8")), ("f32[2,3]",), 0),
    Row("bitcast wider", called("bitcast_convert_type", np.dtype("uint32")), ("u8[3,4]",), 0),
    Row("reduce_precision", called("reduce_precision", exponent_bits=5, mantissa_bits=7),
        ("f32[6] -9..9",), 0),
    Row("reduce_precision derivative",
        called("reduce_precision", exponent_bits=11, mantissa_bits=52), ("f32[6] -9..9",), 2),
    Row("reduce_precision edges", called("reduce_precision", exponent_bits=5, mantissa_bits=10),
        (np.array([NAN, INF, -INF, 1e6, -1e6, 65519, 65520, 1e-8, 6e-8, 0], np.float32),), 0),
]

structural = [
    Row("broadcast_in_dim",
        lambda lax: lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)), ("f32[3,4]",)),
    Row("broadcast_in_dim stretched",
        lambda lax: lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (0, 2)), ("f32[1,4]",)),
    Row("broadcast_in_dim scalar",
        lambda lax: lambda x: lax.broadcast_in_dim(x, (2, 3), ()), ("f32[]",)),
    Row("broadcast", called("broadcast", (2, 3)), ("f32[4]",)),
    Row("reshape", called("reshape", (4, 3)), ("f32[2,6]",)),
    Row("reshape to scalar", called("reshape", ()), ("f32[1,1]",)),
    Row("reshape with dimensions", called("reshape", (6, 2), (1, 0)), ("f32[3,4]",)),
    Row("reshape empty", called("reshape", (3, 0)), ("f32[0,2]",)),
    Row("squeeze", called("squeeze", (0, 2)), ("f32[1,3,1]",)),
    Row("expand_dims", called("expand_dims", (0, 2)), ("f32[3]",)),
    Row("transpose", called("transpose", (2, 0, 1)), ("f32[2,3,4]",)),
    Row("rev", called("rev", (0, 2)), ("f32[2,3,4]",)),
    Row("copy", lambda lax: lambda x: lax.primitive("copy").bind(x), ("f32[3]",)),
    Row("slice", called("slice", (1, 0), (3, 4)), ("f32[3,4]",)),
    Row("slice strides", called("slice", (1, 0), (5, 4), (2, 3)), ("f32[5,4]",)),
    Row("slice empty", called("slice", (1, 1), (1, 3)), ("f32[3,4]",)),
    Row("slice_in_dim", called("slice_in_dim", -3, -1, axis=1), ("f32[3,4]",)),
    Row("index_in_dim", called("index_in_dim", -1, axis=1, keepdims=False), ("f32[3,4]",)),
    Row("pad",
        lambda lax: lambda x, v: lax.pad(x, v, [(1, 2, 0), (0, 1, 0)]), ("f32[2,3]", "f32[]")),
    Row("pad interior", lambda lax: lambda x, v: lax.pad(x, v, [(1, 0, 2)]), ("f32[3]", "f32[]")),
    Row("pad negative",
        lambda lax: lambda x, v: lax.pad(x, v, [(-1, 2, 0), (1, -2, 0)]), ("f32[3,4]", "f32[]")),
    Row("pad negative interior",
        lambda lax: lambda x, v: lax.pad(x, v, [(-1, -2, 2)]), ("f32[4]", "f32[]")),
    Row("pad negative past the end",
        lambda lax: lambda x, v: lax.pad(x, v, [(-5, 4, 0)]), ("f32[3]", "f32[]")),
    Row("pad empty", lambda lax: lambda x, v: lax.pad(x, v, [(1, 2, 3)]), ("f32[0]", "f32[]")),
    Row("pad integers", lambda lax: lambda x: lax.pad(x, np.int32(7), [(1, 1, 1)]), ("i32[3]",), 0),
    Row("concatenate",
        lambda lax: lambda *xs: lax.concatenate(xs, 1), ("f32[2,1]", "f32[2,3]", "f32[2,2]")),
    Row("concatenate one", lambda lax: lambda x: lax.concatenate([x], 0), ("f32[3]",)),
    Row("concatenate empty", lambda lax: lambda *xs: lax.concatenate(xs, 0), ("f32[0]", "f32[2]")),
    Row("iota", lambda lax: lambda: lax.iota(np.dtype("int32"), 5), (), 0),
    Row("iota along",
        lambda lax: lambda: lax.broadcasted_iota(np.dtype("float32"), (2, 3), 1), (), 0),
    Row("full", lambda lax: lambda: lax.full((2, 3), 7.0, np.dtype("float32")), (), 0),
    Row("full_like", called("full_like", 3), ("f32[2]",), 0),
    Row("collapse", called("collapse", 1, 3), ("f32[2,3,2]",)),
    Row("optimization_barrier", lambda lax: lambda x, y: lax.optimization_barrier((x, y)),
        ("f32[3]", "f32[2]")),
]

# reductions

reductions = [
    Row("reduce_sum", called("reduce_sum", (0,)), ("number[3,4]",)),
    Row("reduce_sum all", called("reduce_sum", (0, 1)), ("f32[3,4]",)),
    Row("reduce_sum none", called("reduce_sum", ()), ("f32[3]",)),
    Row("reduce_sum empty", called("reduce_sum", (0,)), ("f32[0,3]",)),
    Row("reduce_prod", called("reduce_prod", (1,)), ("number[2,3]",)),
    Row("reduce_prod with zeros",
        lambda lax: lambda x: lax.reduce_prod(x * np.array([0, 1, 0.0, 1]), (0,)), ("f32[4]",)),
    Row("reduce_prod with a zero",
        lambda lax: lambda x: lax.reduce_prod(x * np.array([1, 1, 0.0, 1]), (0,)), ("f32[4]",)),
    Row("reduce_max", called("reduce_max", (1,)), ("ordered[2,3]",)),
    Row("reduce_min", called("reduce_min", (0, 1)), ("ordered[2,3]",)),
    Row("reduce_max ties", lambda lax: lambda x: lax.reduce_max(x * 0, (0,)), ("f32[4]",),
        smooth=False),
    Row("reduce_max nan", called("reduce_max", (0,)), (EDGES,), 0),
    Row("reduce_and", called("reduce_and", (1,)), ("bits[2,3]",), 0),
    Row("reduce_or", called("reduce_or", (1,)), ("bits[2,3]",), 0),
    Row("reduce_xor", called("reduce_xor", (0,)), ("bits[2,3]",), 0),
    Row("argmax", called("argmax", 1, np.dtype("int32")), ("ordered[3,4]",), 0),
    Row("argmin", called("argmin", 0, np.dtype("int32")), ("ordered[3,4]",), 0),
    Row("argmax ties", called("argmax", 0, np.dtype("int32")), (np.array([1.0, 3, 3, 2]),), 0),
    Row("argmax nan", called("argmax", 0, np.dtype("int32")), (EDGES,), 0),
    Row("reduce", lambda lax: lambda x: lax.reduce(
        x, np.zeros((), x.dtype), lambda a, b: a * b + a + b, (1,)), ("f32[2,3] -0.9..0.9",)),
    Row("reduce of two", lambda lax: lambda x, i: lax.reduce(
        (x, i), (np.array(-INF, x.dtype), np.int32(-1)),
        lambda a, b: (lax.max(a[0], b[0]), lax.select(a[0] > b[0], a[1], b[1])), (0,)),
        ("f32[3,4]", "i32[3,4]"), jax_lacks="derivative"),
    Row("reduce by addition", lambda lax: lambda x: lax.reduce(x, np.float32(0), lax.add, (0,)),
        ("f32[3,2]",), 0),
    Row("cumsum", called("cumsum", 1), ("number[2,4]",)),
    Row("cumsum reverse", called("cumsum", 0, reverse=True), ("f32[4]",)),
    Row("cumprod", called("cumprod", 1), ("number[2,4]",)),
    Row("cumprod reverse", called("cumprod", 0, reverse=True), ("f32[4]",)),
    Row("cummax", called("cummax", 1), ("ordered[2,4]",)),
    Row("cummax reverse", called("cummax", 0, reverse=True), ("f32[4]",)),
    Row("cummin", called("cummin", 0), ("ordered[4,2]",)),
    Row("cumlogsumexp", called("cumlogsumexp", 0), ("real[4]",)),
    Row("cumlogsumexp reverse", called("cumlogsumexp", 0, reverse=True), ("f32[4]",)),
]

# contraction, convolution, windows


def dot(lhs: str, rhs: str, contract: Any, batch: Any = ((), ()), name: str = "", **kw: Any) -> Row:
    settings = {k: np.dtype(v) for k, v in kw.items()}
    return Row(
        f"dot_general {name or f'{lhs} {rhs}'}",
        lambda lax: lambda x, y: lax.dot_general(x, y, (contract, batch), **settings),
        (lhs, rhs),
    )


contraction = [
    dot("number[2,3]", "number[3,4]", ((1,), (0,)), name="matrices"),
    dot("f32[3]", "f32[3]", ((0,), (0,)), name="vectors"),
    dot("f32[2,3]", "f32[4,3,2]", ((0, 1), (2, 1)), name="two axes"),
    dot("f32[2,3,4]", "f32[5,2,4]", ((2,), (2,)), ((0,), (1,)), name="batched"),
    dot("c64[2,3]", "c64[3,2]", ((1,), (0,)), name="complex"),
    dot("f32[2]", "f32[3]", ((), ()), name="outer"),
    dot("f32[0,3]", "f32[3,2]", ((1,), (0,)), name="empty"),
    dot("f32[2,0]", "f32[0,3]", ((1,), (0,)), name="nothing to sum"),
    dot("i8[2,3]", "i8[3,2]", ((1,), (0,)), name="int8 in int32",
        preferred_element_type="int32"),
    dot("bf16[2,3]", "bf16[3,2]", ((1,), (0,)), name="bf16 in f32",
        preferred_element_type="float32"),
    Row("dot", named("dot"), ("f32[2,3]", "f32[3]")),
    Row("batch_matmul", named("batch_matmul"), ("f32[2,3,2]", "f32[2,2,3]")),
]


def conv(name: str, lhs: str, rhs: str, strides: Sequence[int], padding: Any, **kw: Any) -> Row:
    return Row(
        f"conv {name}",
        lambda lax: lambda x, y: lax.conv_general_dilated(x, y, strides, padding, **kw),
        (lhs, rhs),
    )


convolution = [
    conv("plain", "f32[1,2,4,5]", "f32[3,2,2,3]", (1, 1), "VALID"),
    conv("same", "f32[1,2,4,4]", "f32[1,2,3,3]", (2, 1), "SAME"),
    conv("line", "f32[2,2,6]", "f32[3,2,3]", (2,), [(1, 2)]),
    conv("negative padding", "f32[1,1,6]", "f32[1,1,2]", (1,), [(-1, 2)]),
    conv("lhs dilation", "f32[1,2,3]", "f32[2,2,2]", (2,), [(1, 1)], lhs_dilation=(2,)),
    conv("rhs dilation", "f32[1,2,6]", "f32[2,2,2]", (1,), [(0, 1)], rhs_dilation=(2,)),
    conv("all at once", "f32[1,1,4,5]", "f32[2,1,2,2]", (2, 3), [(1, 2), (0, -1)],
         lhs_dilation=(3, 2), rhs_dilation=(2, 1)),
    conv("channels last", "f32[1,4,4,2]", "f32[3,2,2,3]", (1, 1), "VALID",
         dimension_numbers=("NHWC", "HWIO", "NHWC")),
    conv("feature groups", "f32[1,4,5]", "f32[6,2,2]", (1,), "VALID", feature_group_count=2),
    conv("batch groups", "f32[4,2,5]", "f32[4,2,2]", (1,), "VALID", batch_group_count=2),
    conv("no spatial axes", "f32[2,3]", "f32[4,3]", (), []),
    conv("cube", "f32[1,1,3,3,3]", "f32[1,1,2,2,2]", (1, 2, 1), "SAME"),
    conv("complex", "c64[1,1,4]", "c64[1,1,2]", (1,), "VALID"),
    conv("bf16", "bf16[1,2,4]", "bf16[2,2,2]", (1,), "VALID"),
    Row("conv_transpose", lambda lax: lambda x, y: lax.conv_transpose(
        x, y, (2,), "SAME", dimension_numbers=("NHC", "HIO", "NHC")), ("f32[1,3,2]", "f32[3,2,1]")),
]


def window(name: str, arg: str, init: Any, monoid: str, *settings: Any, **kw: Any) -> Row:
    lacks = kw.pop("jax_lacks", "")
    return Row(
        f"reduce_window {name}",
        lambda lax: lambda x: lax.reduce_window(x, init, getattr(lax, monoid), *settings, **kw),
        (arg,),
        jax_lacks=lacks,
    )


def selecting(name: str) -> Make:
    """The internal primitive with the windows of one sample."""

    def make(lax: Any) -> Callable:
        return lambda values, keys: lax.primitive(name).bind(
            values,
            keys,
            select_prim=lax.primitive("ge"),
            window_dimensions=(2,),
            window_strides=(2,),
            padding=((0, 1),),
            **(
                {"base_dilation": (1,), "window_dilation": (1,)}
                if name == "select_and_gather_add"
                else {}
            ),
        )

    return make


windows = [
    window("sum", "f32[4,5]", np.float32(0), "add", (2, 3), (1, 2), "VALID"),
    window("sum same", "f32[4,5]", np.float32(0), "add", (3, 2), (2, 1), "SAME"),
    window("sum dilated", "f32[4,5]", np.float32(0), "add", (2, 2), (1, 1), ((1, 0), (0, 2)),
           base_dilation=(2, 1), window_dilation=(1, 2)),
    window("max", "f32[4,5]", np.float32(-INF), "max", (2, 2), (2, 1), "VALID"),
    window("max same", "f32[5]", np.float32(-INF), "max", (3,), (2,), "SAME"),
    window("max dilated", "f32[6]", np.float32(-INF), "max", (2,), (1,), ((1, 1),),
           window_dilation=(2,), jax_lacks="reverse"),
    window("min", "f32[6]", np.float32(INF), "min", (3,), (1,), "VALID"),
    window("sum integers", "i32[6]", np.int32(0), "add", (3,), (1,), "VALID"),
    window("max bf16", "bf16[6]", -INF, "max", (3,), (1,), "VALID"),
    Row("reduce_window generic", lambda lax: lambda x: lax.reduce_window(
        x, np.ones((), x.dtype), lambda a, b: a * b, (2,), (1,), "VALID"), ("f32[5]",),
        jax_lacks="derivative"),
    Row("reduce_window of two", lambda lax: lambda x, y: lax.reduce_window(
        (x, y), (np.float32(0), np.float32(0)), lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])),
        (2,), (1,), "VALID"), ("f32[5]", "f32[5]"), 0),
    Row("select_and_gather_add", selecting("select_and_gather_add"), ("f32[5]", "f32[5]"),
        smooth=False),
    Row("select_and_scatter_add", selecting("select_and_scatter_add"), ("f32[3]", "f32[5]"),
        smooth=False),
    Row("select_and_scatter", lambda lax: lambda x, s: lax.select_and_scatter(
        x, lax.ge, (2,), (2,), ((0, 1),), s, np.zeros((), x.dtype), lambda a, b: a * b + a + b),
        ("f32[5]", "f32[3]"), jax_lacks="derivative"),
]

# indexing and sorting


def gather(name: str, operand: str, indices: Any, numbers: Sequence, sizes: Any, **kw: Any) -> Row:
    smooth = kw.pop("smooth", True)
    return Row(
        f"gather {name}",
        lambda lax: lambda x, i: lax.gather(
            x, i, lax.GatherDimensionNumbers(*numbers), sizes, **kw
        ),
        (operand, indices),
        smooth=smooth,
    )


def scatter(
    op: str, name: str, operand: str, indices: Any, updates: str, numbers: Any, **kw: Any
) -> Row:
    order = kw.pop("order", 2)
    return Row(
        f"{op} {name}",
        lambda lax: lambda x, i, u: getattr(lax, op)(
            x, i, u, lax.ScatterDimensionNumbers(*numbers), **kw
        ),
        (operand, indices, updates),
        order,
    )


ROWS_OF = ((1,), (0,), (0,))  # whole rows of a matrix, by their numbers
OUTSIDE = np.array([[0], [5], [-1], [2]])

indexing = [
    gather("rows", "f32[4,3]", np.array([[2], [0], [2]]), ROWS_OF, (1, 3)),
    gather("elements", "f32[4,3]", np.array([[2, 1], [0, 0]]), ((), (0, 1), (0, 1)), (1, 1)),
    gather("windows", "f32[5,4]", np.array([[1, 2], [3, 0]]), ((1, 2), (), (0, 1)), (2, 2)),
    gather("clip", "f32[4,3]", OUTSIDE, ROWS_OF, (1, 3), mode="clip"),
    gather("fill", "f32[4,3]", OUTSIDE, ROWS_OF, (1, 3), mode="fill", fill_value=9.0),
    gather("fill by nan", "f32[4,3]", OUTSIDE, ROWS_OF, (1, 3), mode="fill",
           smooth=False),
    gather("promised", "f32[4,3]", np.array([[2], [0]]), ROWS_OF, (1, 3), mode="promise_in_bounds"),
    gather("batching axes", "f32[2,4]", np.array([[[2], [0]], [[1], [3]]]),
           ((), (1,), (1,), (0,), (0,)), (1, 1)),
    gather("integers", "i32[4,3]", OUTSIDE, ROWS_OF, (1, 3), mode="fill"),
    gather("nothing", "f32[4,3]", np.zeros((0, 1), np.int32), ROWS_OF, (1, 3)),
    *(
        scatter(op, "rows", "f32[4,3]", np.array([[2], [0]]), "f32[2,3]", ROWS_OF)
        for op in ("scatter", "scatter_add", "scatter_sub", "scatter_min", "scatter_max")
    ),
    scatter("scatter_mul", "rows", "f32[4,3]", np.array([[2], [0]]), "f32[2,3]", ROWS_OF,
            unique_indices=True),
    scatter("scatter_add", "repeated", "f32[4]", np.array([[2], [0], [2]]), "f32[3]",
            ((), (0,), (0,))),
    scatter("scatter_max", "repeated", "f32[4]", np.array([[2], [0], [2]]), "f32[3]",
            ((), (0,), (0,))),
    scatter("scatter_mul", "repeated", "f32[4]", np.array([[2], [0], [2]]), "f32[3]",
            ((), (0,), (0,)), order=0),
    scatter("scatter", "dropped", "f32[4,3]", OUTSIDE, "f32[4,3]", ROWS_OF, mode="drop"),
    scatter("scatter_add", "clip", "f32[4,3]", OUTSIDE, "f32[4,3]", ROWS_OF, mode="clip"),
    scatter("scatter_add", "windows", "f32[5,4]", np.array([[1, 2], [3, 0]]), "f32[2,2,2]",
            ((1, 2), (), (0, 1))),
    scatter("scatter_add", "batching axes", "f32[2,4]", np.array([[[2], [0]], [[1], [3]]]),
            "f32[2,2]", ((), (1,), (1,), (0,), (0,))),
    scatter("scatter_add", "integers", "i32[4,3]", OUTSIDE, "i32[4,3]", ROWS_OF),
    Row("scatter_apply", lambda lax: lambda x, i: lax.scatter_apply(
        x, i, lax.sin, lax.ScatterDimensionNumbers((), (0,), (0,)), update_shape=(2,)),
        ("f32[4]", np.array([[2], [0]])), 0),
    Row("dynamic_slice", lambda lax: lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 2)),
        ("f32[4,3]", np.int32(1), "i32[] 0..1")),
    Row("dynamic_slice past the end", lambda lax: lambda x, i: lax.dynamic_slice(x, (i,), (3,)),
        ("f32[4]", "i32[] 9..10")),
    Row("dynamic_slice negative", lambda lax: lambda x, i: lax.dynamic_slice(x, (i,), (2,)),
        ("f32[4]", "i32[] -3..-2")),
    Row("dynamic_index_in_dim",
        lambda lax: lambda x, i: lax.dynamic_index_in_dim(x, i, 1, keepdims=False),
        ("f32[3,4]", "i32[] -4..3")),
    Row("dynamic_update_slice",
        lambda lax: lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
        ("f32[4,3]", "f32[2,2]", "i32[] 0..2", "i32[] 0..1")),
    Row("dynamic_update_slice past the end",
        lambda lax: lambda x, u, i: lax.dynamic_update_slice(x, u, (i,)),
        ("f32[4]", "f32[2]", "i32[] 9..10")),
    Row("dynamic_update_index_in_dim",
        lambda lax: lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, 0),
        ("f32[4,3]", "f32[3]", "i32[] 0..3")),
    Row("index_take", lambda lax: lambda x, i, j: lax.index_take(x, [i, j], (0, 1)),
        ("f32[4,3]", np.array([2, 0]), np.array([1, 2]))),
    Row("sort", called("sort", 0), ("ordered[4,2]",)),
    Row("sort last", called("sort"), ("f32[2,4]",)),
    Row("sort edges", called("sort"), (EDGES,), 0),
    Row("sort complex", called("sort"), ("c64[5]",)),
    Row("sort two keys", lambda lax: lambda x, y, z: lax.sort((x, y, z), num_keys=2),
        (np.array([1, 0, 1, 0, 1]), "f32[5]", "f32[5]")),
    Row("sort unstable", called("sort", is_stable=False), ("f32[5]",)),
    Row("sort_key_val", named("sort_key_val"), ("f32[5]", "f32[5]")),
    Row("top_k", called("top_k", 2), ("ordered[2,4]",)),
    Row("top_k axis", called("top_k", 2, axis=0), ("f32[3,2]",)),
]

# special functions of several arguments

special = [
    Row("igamma", named("igamma"), ("real[4] 0.5..3", "real[4] 0.5..3"), jax_lacks="second",
        error=8),
    Row("igammac", named("igammac"), ("real[4] 0.5..3", "real[4] 0.5..3"), jax_lacks="second",
        error=8),
    Row("igamma_grad_a", named("igamma_grad_a"), ("f32[4] 0.5..3", "f32[4] 0.5..3"),
        jax_lacks="derivative", error=8),
    Row("igamma_grad_ratio",
        lambda lax: lambda a, x: lax.primitive("igamma_grad_ratio").bind(a, x, order=2),
        ("f32[4] 0.5..3", "f32[4] 0.5..3"), jax_lacks="anything"),
    Row("random_gamma_grad", named("random_gamma_grad"), ("f32[4] 0.5..3", "f32[4] 0.5..3"),
        jax_lacks="derivative", error=8),
    Row("betainc", named("betainc"), ("f32[4] 0.5..3", "f32[4] 0.5..3", "f32[4] 0.1..0.9"),
        jax_lacks="derivative", error=8),
    Row("betainc in x", lambda lax: lambda x: lax.betainc(
        np.full(4, 1.5, x.dtype), np.full(4, 2.5, x.dtype), x), ("f32[4] 0.1..0.9",), error=8),
    Row("betainc slope",
        lambda lax: lambda a, b, x: lax.primitive("regularized_incomplete_beta_grad").bind(
            a, b, x, orders=(1, 0)),
        ("f32[4] 0.5..3", "f32[4] 0.5..3", "f32[4] 0.1..0.9"), jax_lacks="anything", error=8),
    Row("polygamma", lambda lax: lambda x: lax.polygamma(np.float32(2), x) * 1.0,
        ("f32[4] 0.5..3",), 0, error=8),
    Row("zeta", lambda lax: lambda x, q: lax.zeta(x, q), ("f32[4] 1.5..4", "f32[4] 0.5..3"), 0,
        error=8),
    Row("zeta slope", lambda lax: lambda q: lax.zeta(np.full(4, 2.5, q.dtype), q),
        ("f32[4] 0.5..3",), jax_lacks="derivative", error=8),
]



def scipy_row(name: str, *args: str, **settings: Any) -> Row:
    return Row(f"{name} of scipy", lambda lax: getattr(lax.scipy.special, name), args, **settings)


special += [
    scipy_row("betaln", "f32[4] 0.5..3", "f32[4] 0.5..3"),
    scipy_row("gamma", "f32[4] 0.5..3"),
    scipy_row("poch", "f32[4] 0.5..3", "f32[4] 0.5..3"),
    scipy_row("loggamma", "c64[4] 0.5..3", order=1, jax_lacks="reverse"),
    Row("digamma of complex", lambda lax: lax.primitive("complex_digamma").bind, ("c64[4] 0.5..3",),
        0, jax_lacks="anything"),
    Row("binom", lambda lax: lax.primitive("binom").bind, ("f32[4] 3..5", "f32[4] 0.5..2.5"),
        jax_lacks="anything"),
    scipy_row("dawsn", "f32[4] 0.1..2"),
    scipy_row("erfcx", "f32[4] -1..2"),
    scipy_row("expi", "f32[4] 0.5..3"),
    Row("expn of scipy", lambda lax: lambda x: lax.scipy.special.expn(np.int32(2), x),
        ("f32[4] 0.5..3",), jax_lacks="second"),
    scipy_row("fresnel", "f32[4] 0.1..2"),
    scipy_row("sici", "f32[4] 0.5..3"),
    scipy_row("spence", "f32[4] 0.3..0.9"),
    scipy_row("wofz", "c64[4] 0.2..1.5"),
    scipy_row("log_ndtr", "f32[4] -3..2"),
    scipy_row("ndtri", "f32[4] 0.1..0.9"),
    scipy_row("owens_t", "f32[4] 0.2..2", "f32[4] 0.2..2"),
    scipy_row("hyp1f1", "f32[3] 0.5..2", "f32[3] 1..3", "f32[3] 0.3..2", order=1),
    scipy_row("hyp2f1", "f32[3] 0.5..2", "f32[3] 0.5..2", "f32[3] 2.5..4", "f32[3] 0.1..0.6",
              order=1),
    Row("bessel_jn of scipy", lambda lax: lambda x: lax.scipy.special.bessel_jn(x, v=3),
        ("f32[4] 6..12",)),
    Row("sph_harm_y of scipy", lambda lax: lambda theta, phi: lax.scipy.special.sph_harm_y(
        np.array([1, 2, 2]), np.array([0, 1, 2]), theta, phi, n_max=2),
        ("f32[3] 0.3..2.5", "f32[3] 0.3..2.5")),
]

# linear algebra and FFT


def positive(lax: Any, x: Any) -> Any:
    """A positive definite matrix made of any square one."""
    size = x.shape[-1]
    turned = lax.conj(x.mT) if x.dtype.kind == "c" else x.mT
    return lax.batch_matmul(x, turned) + np.eye(size, dtype=x.dtype)


def solve_positive(lax: Any, matrix: Any, b: Any) -> Any:
    lower = lax.cholesky(matrix)
    half = lax.triangular_solve(lower, b, left_side=True, lower=True)
    return lax.triangular_solve(lower, half, left_side=True, lower=True, transpose_a=True)


SQUARE = "f32[2,3,3]"
linalg = [
    Row("cholesky", lambda lax: lambda x: lax.cholesky(positive(lax, x)), (SQUARE,)),
    Row("cholesky complex", lambda lax: lambda x: lax.cholesky(positive(lax, x)), ("c64[1,2,2]",)),
    Row("cholesky as given", lambda lax: lambda x: lax.cholesky(
        positive(lax, x), symmetrize_input=False), (SQUARE,), smooth=False),
    Row("cholesky_update", lambda lax: lambda x, v: lax.cholesky_update(
        lax.cholesky(positive(lax, x))[0].mT, v), ("f32[1,3,3]", "f32[3]"),
        jax_lacks="derivative", error=4),
    Row("symmetric_product", lambda lax: lambda x, c: lax.symmetric_product(
        x, c, alpha=2.0, beta=0.5, symmetrize_output=True), ("f32[3,2]", "f32[3,3]"),
        jax_lacks="derivative", smooth=False),
    Row("solve_sylvester", lambda lax: lambda a, b, c: lax.scipy.linalg.solve_sylvester(
        positive(lax, a[None])[0], positive(lax, b[None])[0], c),
        ("f32[3,3]", "f32[2,2]", "f32[3,2]"), jax_lacks="derivative", error=4),
    Row("sqrtm", lambda lax: lambda x: lax.scipy.linalg.sqrtm(positive(lax, x[None])[0]),
        ("f32[3,3]",), jax_lacks="derivative", error=4),
    Row("lu", named("lu"), (SQUARE,), error=4),
    Row("lu wide", named("lu"), ("f32[2,3]",), error=4),
    Row("lu tall", named("lu"), ("f32[3,2]",), error=4),
    Row("lu_pivots_to_permutation", called("lu_pivots_to_permutation", 4),
        (np.array([2, 3, 2, 3], np.int32),), 0, fixed=(0,)),
    Row("qr", called("qr", full_matrices=False), ("f32[4,3]",), error=4),
    Row("qr full", called("qr", full_matrices=True), ("f32[2,3,3]",), error=4),
    Row("qr complex", called("qr", full_matrices=False), ("c64[3,2]",), error=4),
    Row("qr pivoting", called("qr", full_matrices=False, pivoting=True), ("f32[4,3]",), 0),
    Row("householder_product",
        lambda lax: lambda x: lax.householder_product(*lax.primitive("geqrf").bind(x)),
        ("f32[4,3]",), 0, error=4),
    Row("geqrf", lambda lax: lax.primitive("geqrf").bind, ("f32[4,3]",), 0),
    Row("ormqr", lambda lax: lambda x, c: lax.ormqr(*lax.primitive("geqrf").bind(x), c),
        ("f32[3,3]", "f32[3,2]"), 0, error=4),
    Row("eigh", lambda lax: lambda x: lax.eigh(positive(lax, x), symmetrize_input=True)[1],
        (SQUARE,), error=4),
    Row("eigh projectors", lambda lax: lambda x: (lambda v: v[..., :1] * v.mT[..., :1, :])(
        lax.eigh(positive(lax, x))[0]), ("f32[1,3,3]",), error=16),
    Row("svd", lambda lax: lambda x: lax.svd(x, compute_uv=False), ("f32[3,2]",), error=4),
    Row("svd product", lambda lax: lambda x: (lambda u, s, v: u[..., :1] * v[..., :1, :])(
        *lax.svd(x, full_matrices=False)), ("f32[3,2]",), error=16),
    Row("eig", lambda lax: lambda x: lax.eig(
        positive(lax, x)[0], compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0],
        ("f32[1,3,3]",), 0, error=4),
    Row("schur", lambda lax: lambda x: lax.schur(
        positive(lax, x)[0], compute_schur_vectors=False)[0], ("f32[1,2,2]",), 0, error=4),
    Row("hessenberg", lambda lax: lambda x: lax.hessenberg(x)[0], ("f32[2,2]",), 0),
    Row("tridiagonal", lambda lax: lambda x: lax.tridiagonal(positive(lax, x))[1], ("f32[1,3,3]",),
        0, error=4),
    *(
        Row(
            f"triangular_solve {name}",
            lambda lax, kw=kw: lambda a, b: lax.triangular_solve(a, b, **kw),
            (f"{dtype}[3,3] 0.5..2", f"{dtype}[{shape}]"),
            error=8,
        )
        for name, dtype, shape, kw in [
            ("left", "f32", "3,2", {"left_side": True, "lower": True}),
            ("right", "f32", "2,3", {"left_side": False, "lower": False}),
            ("transposed", "f32", "3,2", {"left_side": True, "lower": True, "transpose_a": True}),
            ("unit", "f32", "3,2", {"left_side": True, "unit_diagonal": True}),
            ("conjugated", "c64", "3,2",
             {"left_side": True, "transpose_a": True, "conjugate_a": True}),
        ]
    ),
    Row("tridiagonal_solve", lambda lax: lambda dl, d, du, b: lax.tridiagonal_solve(dl, d, du, b),
        ("f32[4] 0.1..0.5", "f32[4] 2..3", "f32[4] 0.1..0.5", "f32[4,2]"), error=4),
    Row("custom_linear_solve", lambda lax: lambda a, b: lax.custom_linear_solve(
        lambda x: positive(lax, a) @ x, b, lambda _, b: solve_positive(lax, positive(lax, a), b),
        symmetric=True),
        ("f32[1,2,2]", "f32[1,2,1]"), error=8),
    Row("fft", called("fft", "FFT", (4,)), ("c64[2,4]",)),
    Row("fft of two axes", called("fft", "FFT", (2, 3)), ("c64[2,3]",)),
    Row("ifft", called("fft", "IFFT", (4,)), ("c64[4]",)),
    Row("rfft", called("fft", "RFFT", (5,)), ("f32[2,5]",)),
    Row("rfft of two axes", called("fft", "RFFT", (2, 4)), ("f32[2,4]",)),
    Row("irfft", called("fft", "IRFFT", (5,)), ("c64[3]",)),
    Row("irfft even", called("fft", "IRFFT", (2, 4)), ("c64[2,3]",)),
]

# random bits: the same as JAX's, so a loop over keys gives what vmap gives

KEY = np.array([7, 2**31], np.uint32)


def keyed(function: Callable[[Any, Any], Any]) -> Make:
    """A function of a raw key, given to `function(library, typed key)`."""
    return lambda lax: lambda raw: function(lax, lax.random.wrap_key_data(raw, impl="threefry2x32"))


random = [
    Row("threefry2x32", lambda lax: lax.primitive("threefry2x32").bind,
        ("u32[4]", "u32[4]", "u32[4]", "u32[4]"), 0),
    Row("random_seed", lambda lax: lambda s: lax.random.key_data(lax.random.key(s)), ("i32[]",), 0),
    Row("random_split", keyed(lambda lax, k: lax.random.key_data(lax.random.split(k, (2, 3)))),
        (KEY,), 0),
    Row("random_fold_in", lambda lax: lambda raw, n: lax.random.key_data(
        lax.random.fold_in(lax.random.wrap_key_data(raw), n)), (KEY, "i32[] 0..9"), 0),
    Row("random_clone", keyed(lambda lax, k: lax.random.key_data(lax.random.clone(k))), (KEY,), 0),
    *(
        Row(f"random_bits {width}", keyed(
            lambda lax, k, width=width: lax.random.bits(k, (2, 3), np.dtype(f"uint{width}"))),
            (KEY,), 0)
        for width in (8, 16, 32)
    ),
    Row("random_gamma", lambda lax: lambda raw, a: lax.random.gamma(
        lax.random.wrap_key_data(raw), a), (KEY, "f32[4] 0.5..3"), 0, jax_lacks="anything"),
    Row("uniform", keyed(lambda lax, k: lax.random.uniform(k, (5,))), (KEY,), 0),
    Row("permutation", keyed(lambda lax, k: lax.random.permutation(k, 7)), (KEY,), 0),
]

# programs inside programs

control = [
    Row("jit", lambda lax: lax.jit(lambda x, y: (lax.sin(x) * y, y)), ("f32[3]", "f32[3]")),
    Row("cond", lambda lax: lambda p, x: lax.cond(p, lax.sin, lambda x: x * x, x),
        ("b1[]", "f32[3]")),
    Row("cond closure", lambda lax: lambda p, x, y: lax.cond(p, lambda: x * y, lambda: x + 0.0),
        ("b1[]", "f32[3]", "f32[3]")),
    Row("switch", lambda lax: lambda i, x: lax.switch(
        i, [lax.sin, lax.cos, lambda x: x * x * x], x), ("i32[] -1..4", "f32[3]")),
    Row("scan", lambda lax: lambda c, xs: lax.scan(
        lambda c, x: (lax.sin(c) * x, c + x), c, xs), ("f32[2]", "f32[3,2]")),
    Row("scan reverse", lambda lax: lambda c, xs: lax.scan(
        lambda c, x: (lax.sin(c) * x, c + x), c, xs, reverse=True), ("f32[2]", "f32[3,2]")),
    Row("scan unrolled", lambda lax: lambda c, xs: lax.scan(
        lambda c, x: (lax.sin(c) * x, None), c, xs, unroll=2), ("f32[]", "f32[5]")),
    Row("scan closure", lambda lax: lambda w, xs: lax.scan(
        lambda c, x: (lax.tanh(c * w) + x, c), 0.5 * w, xs), ("f32[2]", "f32[3,2]")),
    Row("scan mixed carry", lambda lax: lambda c, xs: lax.scan(
        lambda c, x: ((c[0] * x, c[1] + 1), c[0] * c[1].astype(c[0].dtype)), (c, np.int32(0)), xs),
        ("f32[]", "f32[3]")),
    Row("scan empty", lambda lax: lambda c, xs: lax.scan(lambda c, x: (c * x, c), c, xs),
        ("f32[]", "f32[0]")),
    Row("scan no inputs", lambda lax: lambda c: lax.scan(
        lambda c, _: (lax.sin(c), c), c, None, length=3), ("f32[]",)),
    Row("while", lambda lax: lambda x, n: lax.while_loop(
        lambda s: s[0] < n, lambda s: (s[0] + 1, lax.sin(s[1]) + s[1]), (np.int32(0), x))[1],
        ("f32[2]", "i32[] 1..4"), 0),
    Row("while on values", lambda lax: lambda x: lax.while_loop(
        lambda x: lax.reduce_sum(x, (0,)) < 9.0, lambda x: x * x + 1.0, x), ("f32[2]",), 0),
    Row("fori_loop", lambda lax: lambda x: lax.fori_loop(
        0, 3, lambda i, x: lax.sin(x) * x + i.astype(x.dtype), x), ("f32[2]",)),
    Row("map", lambda lax: lambda xs: lax.map(lambda x: lax.sin(x) * x, xs), ("f32[3,2]",)),
    Row("associative_scan", lambda lax: lambda xs: lax.associative_scan(lax.mul, xs), ("f32[5]",)),
    Row("checkpoint", lambda lax: lax.checkpoint(lambda x: lax.sin(lax.sin(x))), ("f32[3]",)),
    Row("checkpoint policy", lambda lax: lax.checkpoint(
        lambda x: lax.sin(lax.exp(x)), policy=lax.checkpoint_policies.everything_saveable),
        ("f32[3]",)),
    Row("checkpoint_name", lambda lax: lax.checkpoint(lambda x: lax.sin(lax.checkpoint_name(
        lax.sin(x), "a")), policy=lax.checkpoint_policies.save_only_these_names("a")), ("f32[3]",)),
    Row("custom_jvp", lambda lax: custom_jvp_sample(lax), ("f32[3]", "f32[3]"), smooth=False),
    Row("custom_vjp", lambda lax: custom_vjp_sample(lax), ("f32[3]", "f32[3]"), order=0),
    Row("custom_vmap", lambda lax: custom_vmap_sample(lax), ("f32[3]", "f32[3]"),
        jax_lacks="reverse"),
    Row("pure_callback", lambda lax: lambda x: lax.pure_callback(
        lambda x: np.asarray(x) * 2, lax.ShapeDtypeStruct(x.shape, x.dtype), x,
        vmap_method="sequential"), ("f32[3]",), 0),
    Row("io_callback", lambda lax: lambda x: lax.experimental.io_callback(
        lambda x: np.asarray(x) * 2, lax.ShapeDtypeStruct(x.shape, x.dtype), x), ("f32[3]",), 0),
    Row("debug_callback", lambda lax: lambda x: (lax.debug.callback(lambda x: None, x), x)[1],
        ("f32[3]",), 0),
]


def custom_jvp_sample(lax: Any) -> Callable:
    """x y, with a rule that says something else, to see that it is the rule that counts."""

    @lax.custom_jvp
    def function(x: Any, y: Any) -> Any:
        return x * y

    @function.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        return function(x, y), 3.0 * dx * lax.sin(y) + dy * x * x

    return function


def custom_vjp_sample(lax: Any) -> Callable:
    @lax.custom_vjp
    def function(x: Any, y: Any) -> Any:
        return x * y

    function.defvjp(
        lambda x, y: (function(x, y), (x, y)),
        lambda res, ct: (3.0 * ct * lax.sin(res[1]), ct * res[0] * res[0]),
    )
    return function


def custom_vmap_sample(lax: Any) -> Callable:
    @lax.custom_batching.custom_vmap
    def function(x: Any, y: Any) -> Any:
        return lax.sin(x) * y

    function.def_vmap(lambda size, batched, x, y: (lax.sin(x) * y, any(batched)))
    return function


# collectives, under vmap and under pmap


def collective(
    name: str,
    function: Callable[[Any, Any], Any],
    arg: str = "f32[2,3]",
    jax_lacks: str = "",
    smooth: bool = True,
) -> list[Row]:
    """`function(library, member)` over the axis "i", by vmap and by pmap."""
    return [
        Row(f"{name} {by}",
            lambda lax, by=by: getattr(lax, by)(partial(function, lax), axis_name="i"),
            (arg,), jax_lacks=jax_lacks if by == "pmap" else "", smooth=smooth)
        for by in ("vmap", "pmap")
    ]


collectives = [
    *collective("psum", lambda lax, x: x * lax.psum(lax.sin(x), "i")),
    *collective("pmean", lambda lax, x: lax.sin(lax.pmean(x * x, "i")) * x),
    *collective("pmax", lambda lax, x: lax.pmax(lax.stop_gradient(x), "i") * x, smooth=False),
    *collective("pmin", lambda lax, x: lax.pmin(lax.stop_gradient(x), "i") * x, smooth=False),
    *collective("ppermute", lambda lax, x: lax.ppermute(x * x, "i", [(0, 1), (1, 0)]) * x),
    *collective("all_gather", lambda lax, x: lax.all_gather(x * x, "i")),
    *collective("all_gather tiled", lambda lax, x: lax.all_gather(x * x, "i", axis=0, tiled=True)),
    *collective("all_to_all", lambda lax, x: lax.all_to_all(x * x, "i", 0, 1), "f32[2,2,3]",
                "reverse"),
    *collective("psum_scatter", lambda lax, x: lax.psum_scatter(x * x, "i"), "f32[2,2,3]"),
    *collective("axis_index", lambda lax, x: x * (1 + lax.axis_index("i").astype(x.dtype))),
    Row("pmap", lambda lax: lax.pmap(lambda x, y: lax.sin(x) * y, in_axes=(0, None)),
        ("f32[2,3]", "f32[3]")),
]

ROWS = rows(
    *unary, *edges, *binary, *edge_pairs, *elementwise, *casts, *structural, *reductions,
    *contraction, *convolution, *windows, *indexing, *special, *linalg, *random, *control,
    *collectives,
)
BY_NAME = {row.name: row for row in ROWS}
