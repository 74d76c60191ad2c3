"""The lowering tables against evaluation by NumPy, for each equation that the samples stage."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from answers import pull, push, smooth_part
from engines import OURS, family_files
from funcgrad.base.dtypes import BY_NAME
from funcgrad.base.trace import CallPrimitive, Primitive, abstract_rules
from funcgrad.compiler import lowering
from funcgrad.compiler.passes.inline import inline
from funcgrad.compiler.passes.inline import rules as inline_rules
from lowered import check_program, supported
from rows import Row
from samples import ROWS

# What is a step of its own: the host, linear algebra, sorting, complex numbers,
# collectives, and functions that are rare.
WITHOUT_KERNELS = set(
    """all_gather all_to_all axis_index bessel_jn betaln binom cholesky cholesky_update complex
    complex_digamma complex_lgamma conj cosine_integral
    custom_lin custom_linear_solve dawsn debug_callback eig eigh erfcx expi expn fft fresnel_cosine
    fresnel_sine gamma geqrf hessenberg householder_product hyp1f1 hyp1f1_grad hyp2f1 hyp2f1_grad
    igamma igamma_grad_a igamma_grad_ratio igammac imag io_callback log_ndtr lu
    lu_pivots_to_permutation ndtri ormqr owens_t pmap pmax pmin poch polygamma ppermute psum
    pure_callback qr random_gamma real reduce_scatter regularized_incomplete_beta
    regularized_incomplete_beta_grad schur select_and_scatter sine_integral sort spence sph_legendre
    sqrtm svd sylvester symmetric_product top_k triangular_solve tridiagonal tridiagonal_solve wofz
    zeta""".split()
)


def names(*tables: Collection[Primitive]) -> set[str]:
    """The names of primitives, without those that another test made as a user would."""
    return {
        primitive.name
        for table in tables
        for primitive in table
        if primitive.impl is None or isinstance(primitive, CallPrimitive)
    }


def without_rules() -> set[str]:
    """The primitives that no equation of a kernel has, by name."""
    return WITHOUT_KERNELS | names(lowering.controls, lowering.barriers)


def test_every_primitive_is_accounted_for() -> None:
    family_files()
    by_rule = names(lowering.rules, lowering.folds, lowering.accumulations, lowering.updates)
    assert not by_rule & without_rules()
    assert by_rule | without_rules() | names(inline_rules) == names(abstract_rules)
    assert names(lowering.views, lowering.axis_folds, lowering.refusals) <= by_rule


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_values(row: Row) -> None:
    assert check_program(row.make(OURS), row.arguments()) <= without_rules()


@pytest.mark.parametrize("row", [r for r in ROWS if r.batchable], ids=str)
def test_batches(row: Row) -> None:
    function = row.make(OURS)
    axes = tuple(0 if i in row.batchable else None for i in range(len(row.args)))
    args = [
        np.stack([row.argument(i, member=m) for m in range(3)]) if at == 0 else row.argument(i)
        for i, at in enumerate(axes)
    ]
    batched = OURS.vmap(lambda *xs: OURS.leaves(function(*xs)), in_axes=axes)
    assert check_program(batched, args) <= without_rules()


@pytest.mark.parametrize("row", [r for r in ROWS if r.order and r.loop], ids=str)
def test_derivatives(row: Row) -> None:
    with OURS.x64():
        run, primals = smooth_part(OURS, row)
        many = [np.stack([p, p]) for p in primals]
        for derivative in (push(OURS, row, run), pull(OURS, row, run)):
            check_program(derivative, primals)
            check_program(OURS.vmap(derivative), many)


# what the samples do not reach

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")


def extremes(dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    values = {info.min, info.min + 1, 0, 1, 2, 3, 7, info.max // 2, info.max - 1, info.max}
    return np.array(sorted(values | ({-1, -2, -7} if info.min else set())), dtype)


def pairs(values: np.ndarray) -> list[np.ndarray]:
    return [np.repeat(values, len(values)), np.tile(values, len(values))]


def floats(dtype: str) -> np.ndarray:
    """Numbers of every size, halves, zeros and the exceptional ones."""
    kind, rng = BY_NAME[dtype], np.random.default_rng(5)
    bits = rng.integers(0, 2 ** (8 * kind.itemsize), 4000, np.uint64)
    random = bits.astype(f"u{kind.itemsize}").view(kind)
    edges = [0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 2.0**31, -(2.0**31), 2.0**63, np.inf, -np.inf, np.nan]
    with np.errstate(over="ignore"):
        return np.concatenate([np.array(edges).astype(kind), random])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_arithmetic_at_the_edges(dtype: str) -> None:
    values = extremes(dtype)
    with OURS.x64():
        for name in ("div", "rem", "pow", "mulhi", "max", "mul"):
            check_program(lambda x, y, name=name: lax_bind(name, x, y), pairs(values))
        for name in ("abs", "sign", "neg", "population_count", "clz", "not"):
            check_program(lambda x, name=name: lax_bind(name, x), [values])
        for y in values:
            for name in ("div", "rem"):
                check_program(lambda x, y=y, name=name: lax_bind(name, x, y), [values])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_any_count(dtype: str) -> None:
    counts = np.array([*range(70), -1, -64], np.int64).astype(dtype)
    values = extremes(dtype)
    with OURS.x64():
        for name in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
            args = [np.repeat(values, len(counts)), np.tile(counts, len(values))]
            check_program(lambda x, y, name=name: lax_bind(name, x, y), args)
            for count in counts[::9]:
                check_program(lambda x, c=count, name=name: lax_bind(name, x, c), [values])


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_at_the_edges(dtype: str) -> None:
    values = floats(dtype)
    with OURS.x64():
        for name in ("sign", "floor", "ceil", "is_finite", "abs", "square"):
            check_program(lambda x, name=name: lax_bind(name, x), [values])
        for method in (0, 1):
            check_program(lambda x, m=method: OURS.round(x, m), [values])
        for exponent, mantissa in ((5, 10), (8, 7), (8, 23), (11, 52), (2, 0), (4, 3), (15, 60)):
            check_program(
                lambda x, e=exponent, m=mantissa: OURS.reduce_precision(x, e, m), [values]
            )
        for target in (*INTEGERS, *FLOATS, "bool"):
            check_program(lambda x, t=target: OURS.convert_element_type(x, BY_NAME[t]), [values])


@pytest.mark.parametrize("wide", [8, 16, 32, 64])
def test_bits_of_other_widths(wide: int) -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2**wide, (3, 64), np.uint64).astype(f"u{wide // 8}")
    with OURS.x64():
        for narrow in (8, 16, 32, 64):
            y = x.reshape(3, -1, max(narrow // wide, 1)) if narrow > wide else x
            for kind in ("uint", "int"):
                target = np.dtype(f"{kind}{narrow}")
                check_program(lambda x, t=target: OURS.bitcast_convert_type(x, t), [y])


def lax_bind(name: str, *args: Any, **params: Any) -> Any:
    return OURS.primitive(name).bind(*args, **params)


# geometry at random

seeds = pytest.mark.parametrize("seed", range(60))


class Dice:
    """Random choices from a seed."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def __call__(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def several(self, count: int, low: int, high: int) -> tuple[int, ...]:
        return tuple(self(low, high) for _ in range(count))

    def choice(self, options: Sequence) -> Any:
        return options[self(0, len(options) - 1)]

    def subset(self, items: Sequence[int]) -> list[int]:
        return [i for i in items if self(0, 1)]

    def shuffled(self, items: Sequence[int]) -> tuple[int, ...]:
        return tuple(int(i) for i in self.rng.permutation(items))

    def array(self, shape: Sequence[int], dtype: str = "float32") -> np.ndarray:
        return self.rng.integers(-4, 9, shape).astype(BY_NAME[dtype])


def window_of(dice: Dice, shape: Sequence[int]) -> dict[str, Any]:
    """Windows that fit into a base of the shape, padded and dilated."""
    rank = len(shape)
    while True:
        sizes, steps = dice.several(rank, 1, 3), dice.several(rank, 1, 2)
        holes, padding = dice.several(rank, 1, 3), [dice.several(2, -2, 3) for _ in range(rank)]
        base = [(n - 1) * d + 1 + sum(p) for n, d, p in zip(shape, holes, padding)]
        if all((k - 1) * s + 1 <= b for k, s, b in zip(sizes, steps, base)):
            return {
                "window_dimensions": sizes,
                "window_strides": dice.several(rank, 1, 3),
                "padding": tuple(padding),
                "base_dilation": holes,
                "window_dilation": steps,
            }


@seeds
def test_windows(seed: int) -> None:
    dice = Dice(seed)
    shape = dice.several(dice(1, 2), 1, 5)
    settings, x = window_of(dice, shape), dice.array(shape)
    tangents = dice.array(shape)
    for name in ("reduce_window_sum", "reduce_window_max", "reduce_window_min"):
        for dtype in ("float32", "int8", "bfloat16"):
            check_program(partial(lax_bind, name, **settings), [x.astype(BY_NAME[dtype])])

    def matrix(a: tuple, b: tuple) -> tuple:
        return a[0] * b[0], a[0] * b[1] + a[1]

    for operands in ((x, tangents), (x.astype(np.int16), tangents.astype(np.int16))):
        inits = np.ones((), operands[0].dtype), np.zeros((), operands[0].dtype)
        reduced = partial(OURS.reduce_window, computation=matrix, **settings)
        check_program(lambda *xs, r=reduced, i=inits: r(xs, i), operands)
        check_program(lambda *xs, i=inits: OURS.reduce(xs, i, matrix, (len(shape) - 1,)), operands)
    for comparison in ("ge", "le"):
        select = {"select_prim": OURS.primitive(comparison)}
        gathered = partial(lax_bind, "select_and_gather_add", **settings, **select)
        check_program(gathered, [tangents, x])
        check_program(gathered, [tangents, x.astype(np.int32)])
    del settings["base_dilation"], settings["window_dilation"]
    sizes = zip(shape, settings["padding"], settings["window_dimensions"])
    if any(n + sum(p) < k for n, p, k in sizes):
        return
    counts = OURS.eval_shape(lambda x: OURS.reduce_window(x, 0.0, OURS.add, **settings), x).shape
    scattered = partial(lax_bind, "select_and_scatter_add", **settings, **select)
    check_program(scattered, [dice.array(counts), x])
    check_program(scattered, [dice.array(counts), x.astype(np.uint8)])


@seeds
def test_pads(seed: int) -> None:
    dice = Dice(seed)
    shape = dice.several(dice(1, 3), 1, 5)
    config = []
    for n in shape:
        low, inner = dice(-4, 4), dice(0, 2)
        length = (n - 1) * (inner + 1) + 1
        config.append((low, dice(max(-3, -length - low), 4), inner))
    check_program(lambda x, v: OURS.pad(x, v, config), [dice.array(shape), np.float32(7)])
    x = dice.array(shape)
    steps = dice.several(len(shape), 1, 3)
    start = tuple(dice(0, n - 1) for n in shape)
    order = dice.shuffled(range(len(shape)))
    check_program(lambda x: OURS.slice(x, start, shape, steps), [x])
    check_program(lambda x: OURS.rev(OURS.transpose(x, order), order[:1]), [x])
    parts = [x, x[:0], x[: dice(1, shape[0])], x]
    check_program(lambda *xs: OURS.concatenate(xs, 0), parts)


@seeds
def test_reshapes(seed: int) -> None:
    dice = Dice(seed)
    factors = dice.several(dice(0, 5), 1, 3)

    def grouped() -> tuple[int, ...]:
        order, shape = dice.shuffled(range(len(factors))), []
        for i in order:
            if shape and dice(0, 1):
                shape[-1] *= factors[i]
            else:
                shape.append(factors[i])
        return tuple(shape)

    x, shape = dice.array(grouped()), grouped()
    check_program(lambda x: OURS.reshape(x, shape), [x])


@seeds
def test_convolutions(seed: int) -> None:
    dice = Dice(seed)
    rank, groups, by_batch = dice(0, 2), dice(1, 3), dice(0, 1)
    batch, inputs, outputs = dice.several(3, 1, 2)
    sizes = dice.several(rank, 1, 4)
    while True:
        window = window_of(dice, sizes)
        padded = [n + sum(p) for n, p in zip(sizes, window["padding"])]
        if min(padded, default=0) >= 0:
            break
    specs = [dice.shuffled(range(rank + 2)) for _ in range(3)]
    lhs = (batch * (groups if by_batch else 1), inputs * (1 if by_batch else groups), *sizes)
    rhs = (outputs * groups, inputs, *window["window_dimensions"])
    arrays = []
    for shape, spec in ((lhs, specs[0]), (rhs, specs[1])):
        arranged = [0] * (rank + 2)
        for axis, n in zip(spec, shape):
            arranged[axis] = n
        arrays.append(dice.array(arranged))
    convolution = partial(
        OURS.conv_general_dilated,
        window_strides=window["window_strides"],
        padding=window["padding"],
        lhs_dilation=window["base_dilation"],
        rhs_dilation=window["window_dilation"],
        dimension_numbers=OURS.ConvDimensionNumbers(*specs),
        feature_group_count=1 if by_batch else groups,
        batch_group_count=groups if by_batch else 1,
    )
    for dtype, preferred in (
        ("float32", None),
        ("bfloat16", "float32"),
        ("int8", "int32"),
        ("int8", "float32"),
        ("uint8", None),
        ("bool", None),
    ):
        settings = {} if preferred is None else {"preferred_element_type": BY_NAME[preferred]}
        given = [a.astype(BY_NAME[dtype]) for a in arrays]
        check_program(lambda x, w, s=settings: convolution(x, w, **s), given)


@seeds
def test_products(seed: int) -> None:
    dice = Dice(seed)
    batch, summed = dice.several(dice(0, 2), 1, 3), dice.several(dice(0, 2), 0, 3)
    arrays, numbers = [], []
    for _ in range(2):
        free = dice.several(dice(0, 2), 1, 3)
        lengths = (*batch, *summed, *free)
        order = dice.shuffled(range(len(lengths)))
        axis = {part: d for d, part in enumerate(order)}
        arrays.append(dice.array([lengths[i] for i in order]))
        contract = tuple(axis[len(batch) + i] for i in range(len(summed)))
        numbers.append((contract, tuple(axis[i] for i in range(len(batch)))))
    dimensions = tuple(zip(*numbers))
    for left, right, preferred, precision in (
        ("float32", "float32", None, None),
        ("int8", "int8", "int32", None),
        ("int8", "int8", None, None),
        ("uint8", "int32", None, None),
        ("bool", "bool", None, None),
        ("bool", "bool", "int32", None),
        ("float32", "int8", None, None),
        ("bfloat16", "bfloat16", None, None),
        ("bfloat16", "float32", "float32", None),
        ("float16", "float16", "float32", None),
        ("float32", "float32", "bool", None),
        ("float32", "float32", "int32", None),
        ("float32", "float32", None, "BF16_BF16_F32"),
        ("float32", "float32", "bfloat16", "F16_F16_F16"),
    ):
        settings: dict[str, Any] = {"precision": precision}
        if preferred is not None:
            settings["preferred_element_type"] = BY_NAME[preferred]
        given = [a.astype(BY_NAME[d]) for a, d in zip(arrays, (left, right))]
        check_program(lambda x, y, s=settings: OURS.dot_general(x, y, dimensions, **s), given)


def windows_at(dice: Dice, dtype: str) -> tuple[tuple[int, ...], Any, tuple, tuple, np.ndarray]:
    """An operand's shape, fields of dimension numbers, slice sizes, batch lengths and indices."""
    shape = dice.several(dice(1, 3), 1, 4)
    axes = list(range(len(shape)))
    batching = dice.subset(axes[:2]) if dice(0, 1) else []
    free = [a for a in axes if a not in batching]
    collapsed = dice.subset(free)
    indexed = dice.subset(dice.shuffled(free)) if free else []
    sizes = tuple(1 if a in batching or a in collapsed else dice(1, shape[a]) for a in axes)
    batch = [*(shape[a] for a in batching), *dice.several(dice(0, 2), 1, 3)]
    order = dice.shuffled(range(len(batch)))
    index_batching = tuple(order.index(i) for i in range(len(batching)))
    lengths = tuple(batch[i] for i in order)
    rank = len(lengths) + len(free) - len(collapsed)
    offsets = tuple(sorted(dice.shuffled(range(rank))[: len(free) - len(collapsed)]))
    fields = offsets, tuple(collapsed), tuple(indexed), tuple(batching), index_batching
    indices = dice.rng.integers(-2, 6, (*lengths, len(indexed))).astype(dtype)
    return shape, fields, sizes, lengths, indices


@pytest.mark.parametrize("seed", range(150))
def test_gathers_and_scatters(seed: int) -> None:
    dice = Dice(seed)
    dtype = dice.choice(INTEGERS)
    with OURS.x64():
        shape, fields, sizes, _, indices = windows_at(dice, dtype)
        numbers = OURS.GatherDimensionNumbers(*fields)
        for kind in ("float32", "int8", "bool", "uint64"):
            x = dice.array(shape, kind)
            for mode in ("clip", "fill", "promise_in_bounds"):
                read = partial(OURS.gather, dimension_numbers=numbers, slice_sizes=sizes, mode=mode)
                check_program(read, [x, indices])
            updates = dice.array(np.shape(OURS.gather(x, indices, numbers, sizes)), kind)
            for name in ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min"):
                if kind == "bool" and name not in ("scatter", "scatter_min"):
                    continue
                for mode in ("clip", "drop", "promise_in_bounds"):
                    write = partial(
                        getattr(OURS, name),
                        dimension_numbers=OURS.ScatterDimensionNumbers(*fields),
                        mode=mode,
                    )
                    check_program(write, [x, indices, updates])


@pytest.mark.parametrize("start", [-5, 0, 2, 3, 100, 2**63 - 1, 2**64 - 1])
def test_starts_of_slices(start: int) -> None:
    x, part = np.arange(20.0).reshape(5, 4), -np.ones((2, 3))
    with OURS.x64():
        at = [np.array(start % 2**64, np.uint64).astype(d) for d in ("int64", "uint64", "int8")]
        for first in at:
            given = [x, first, np.zeros((), first.dtype)]
            read = partial(lax_bind, "dynamic_slice", slice_sizes=(2, 3))
            check_program(read, given)
            check_program(partial(lax_bind, "dynamic_update_slice"), [x, part, *given[1:]])


def test_what_is_refused() -> None:
    keys = OURS.random.split(OURS.random.key(0), 3)
    closed = OURS.make_jaxpr(lambda k: OURS.random.bits(k[0]))(keys)
    (draw,) = (e for e in inline(closed).eqns if e.primitive.name == "random_bits")
    assert supported(draw)
    with OURS.threefry_partitionable(False):
        assert not supported(draw)
    with OURS.debug_key_reuse(True):
        assert not supported(draw)
    numbers = OURS.ScatterDimensionNumbers((), (0,), (0,))
    for dtype, unique, allowed in (
        ("bfloat16", False, False),
        ("bfloat16", True, True),
        ("float32", False, True),
    ):
        x = np.zeros(4, BY_NAME[dtype])
        add = partial(OURS.scatter_add, dimension_numbers=numbers, unique_indices=unique)
        closed = OURS.make_jaxpr(add)(x, np.zeros((4, 1), int), x)
        assert supported(closed.eqns[-1]) == allowed
