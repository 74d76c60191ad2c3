"""Kernels as machine code against the reference evaluator: every operation on every type, loops of
all shapes, at each level of vector instructions that this processor has.
"""

import ctypes
import functools
import mmap
import sys
from collections.abc import Callable

import numpy as np
import pytest

from drivers import possible
from funcgrad.compiler.llvm import engine
from funcgrad.compiler.llvm.emit import Module, Writer, emit_kernel, emit_scalars
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.loopcheck import check
from funcgrad.compiler.loops import (
    BINARY,
    BITS,
    BITWISE,
    COMPARISONS,
    COUNTS,
    DTYPES,
    FLOAT_UNARY,
    FLOATS,
    INTEGERS,
    SHIFTS,
    SIGNED,
    UNARY,
    Expr,
    Graph,
    Guarded,
    Index,
    Kernel,
    Loop,
    Operand,
    Store,
    axis_index,
)
from funcgrad.compiler.reference import NUMPY, evaluate, run_kernel
from kernels import EXAMPLES
from random_kernels import Draw

if not engine.available():
    pytest.skip("there is no code generator here", allow_module_level=True)


TARGETS = possible()
every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.isa)


class Native:
    """A kernel as a function of arrays."""

    def __init__(self, kernel: Kernel, target: Target):
        check(kernel)
        module = Module()
        emit_kernel(module, kernel, "kernel", target)
        self.text = module.text(target)
        self.code = engine.Code([engine.compile_object(self.text, target)])
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self.function = kind(self.code.address("kernel"))
        (outer, *_) = kernel.body
        self.extent = kernel.extents[outer.axis] if isinstance(outer, Loop) else 0

    def __call__(self, arrays: list[np.ndarray], grain: int = 0) -> None:
        """Run the kernel, in parts of `grain` indices of the outermost loop."""
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        address = ctypes.addressof(pointers)
        for begin in range(0, self.extent, grain) if grain else (0,):
            end = min(begin + grain, self.extent) if grain else self.extent
            self.function(address, begin, end)


def same(got: np.ndarray, wanted: np.ndarray, name: str = "result") -> None:
    """Equal bit for bit, but for the bits of nans."""
    if got.dtype.kind not in "biu":
        with np.errstate(invalid="ignore"):
            nans = np.isnan(wanted)
            np.testing.assert_array_equal(np.isnan(got), nans)
        got, wanted = got[~nans], wanted[~nans]
    bits = f"u{got.dtype.itemsize}"
    differ = got.view(bits) != wanted.view(bits)
    assert not differ.any(), f"{name}: {got[differ][:5]}, not {wanted[differ][:5]}"


def compare(kernel: Kernel, arrays: list[np.ndarray], target: Target, grain: int = 0) -> None:
    """Native code and the reference evaluator leave the same in all arrays."""
    wanted = [a.copy() for a in arrays]
    run_kernel(kernel, wanted)
    got = [a.copy() for a in arrays]
    Native(kernel, target)(got, grain)
    for mine, theirs in zip(got, wanted, strict=True):
        same(mine, theirs)


# operations


def special(dtype: str) -> np.ndarray:
    """The values of a type that operations tend to get wrong."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        limits = np.iinfo(NUMPY[dtype])
        found = [0, 1, 2, 3, 5, 7, limits.max, limits.max - 1, limits.min, limits.min + 1]
        found += [limits.max // 2, limits.min // 2] + ([-1, -2, -7] if dtype in SIGNED else [])
        return np.array(found, NUMPY[dtype])
    found = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1, -1, np.inf, -np.inf, np.nan, 300, 127.5]
    found += [255.5, -128.5, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 1e-7, 8388607.5]
    found += [0.49999997, -0.99, 65504, 65519, 65520, 6e-8, 3e-8, 1e-40, 6e-39, 2.0**52 - 0.5]
    found += [2.0**64, 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11 + 2.0**-40]
    with np.errstate(over="ignore"):
        return np.array(found).astype(NUMPY[dtype])


def samples(dtype: str, count: int, seed: int = 0) -> np.ndarray:
    """Values of a type of all sizes."""
    draw = np.random.default_rng([seed, BITS[dtype]])
    if dtype == "bool":
        return draw.random(count) < 0.5
    if dtype in INTEGERS:
        limits = np.iinfo(NUMPY[dtype])
        some = draw.integers(limits.min, limits.max, count, NUMPY[dtype], endpoint=True)
        return some >> draw.integers(0, BITS[dtype], count).astype(some.dtype)
    some = draw.standard_normal(count) * 10.0 ** draw.integers(-6, 9, count)
    with np.errstate(over="ignore"):
        return np.where(draw.random(count) < 0.3, np.round(some), some).astype(NUMPY[dtype])


def applications(graph: Graph, dtype: str, x: Expr, y: Expr, z: Expr) -> list[Expr]:
    """Every operation on a type."""
    found = [x.eq(y) if op == "eq" else graph.make(op, (x, y), "bool") for op in COMPARISONS]
    found.append(graph.select(graph.make("lt", (x, y), "bool"), y, z))
    if dtype == "bool" or dtype in INTEGERS:
        found += [x.apply(op, *((y,) if op != "not" else ())) for op in BITWISE]
    if dtype == "bool":
        return found
    found += [x.apply(op, y) for op in BINARY] + [x.apply(op) for op in UNARY]
    if dtype in INTEGERS:
        count = y & (BITS[dtype] - 1)
        found += [x.apply(op, count) for op in SHIFTS] + [x.apply(op) for op in COUNTS]
        found += [x / 7, x.apply("rem", 12), x / 1, x.apply("rem", 0), x / 0]
        if dtype in SIGNED:
            found += [x / -1, x.apply("rem", -1), x / -3]
    else:
        found += [x.apply(op) for op in FLOAT_UNARY] + [x.apply("max", 0.0), x.apply("min", -0.0)]
    if dtype in ("u32", "u64"):
        found.append(x.apply("mulhi", y))
    return found


Make = Callable[[Graph, Expr, Expr, Expr], list[Expr]]
each_way = pytest.mark.parametrize("lanes", [1, 16])
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def inputs(dtype: str) -> list[np.ndarray]:
    """Three arrays where each two special values meet, and many others."""
    these = special(dtype)
    pairs = np.repeat(these, these.size), np.tile(these, these.size)
    size = -(-pairs[0].size // 64) * 64 + 1024
    first, second = (
        np.concatenate([pair, samples(dtype, size - pair.size, seed)])
        for seed, pair in enumerate(pairs)
    )
    return [first, second, np.random.default_rng(2).permutation(first)]


def check_map(
    dtype: str, lanes: int, target: Target, make: Make, apart: Make | None = None
) -> None:
    """Native code gives what `make(graph, x, y, z)` means, or `apart` if the target has no fma."""
    arrays = inputs(dtype)
    count = arrays[0].size
    graph, i = Graph((count,)), axis_index(0)
    xyz = [graph.read(number, i, dtype) for number in range(3)]
    results = make(graph, *xyz)
    meant = results if apart is None or target.fma else apart(graph, *xyz)
    wanted = evaluate(meant, dict(zip(xyz, arrays)))
    stores = tuple(Store(3 + n, i, e) for n, e in enumerate(results))
    operands = [Operand(dtype, False)] * 3 + [Operand(e.dtype, True) for e in results]
    kernel = Kernel(tuple(operands), (count,), (Loop(0, lanes, stores),), True)
    got = [np.zeros(count, NUMPY[e.dtype]) for e in results]
    Native(kernel, target)([*arrays, *got], grain=count)
    for result, mine, theirs in zip(results, got, wanted, strict=True):
        same(mine, np.ascontiguousarray(theirs), repr(result))


@every_target
@each_way
@each_dtype
def test_operations(dtype: str, lanes: int, target: Target) -> None:
    check_map(dtype, lanes, target, lambda g, *xyz: applications(g, dtype, *xyz))


@every_target
@each_way
@each_dtype
def test_conversions(dtype: str, lanes: int, target: Target) -> None:
    check_map(dtype, lanes, target, lambda g, x, y, z: [x.to(d) for d in DTYPES])


@every_target
@each_way
@each_dtype
def test_bitcasts(dtype: str, lanes: int, target: Target) -> None:
    others = [d for d in DTYPES if BITS[d] == BITS[dtype] and "bool" not in (d, dtype)]
    check_map(dtype, lanes, target, lambda g, x, y, z: [x.bits(d) for d in others])


@every_target
@each_way
@pytest.mark.parametrize("dtype", FLOATS)
def test_fma(dtype: str, lanes: int, target: Target) -> None:
    def apart(graph: Graph, x: Expr, y: Expr, z: Expr) -> list[Expr]:
        if dtype in ("f16", "bf16"):  # rounded to f32 in between, not to the half
            return [(x.to("f32") * y.to("f32") + z.to("f32")).to(dtype)]
        return [x * y + z]

    check_map(dtype, lanes, target, lambda g, x, y, z: [g.fma(x, y, z)], apart)


@every_target
@pytest.mark.parametrize("dtype", DTYPES)
def test_constants(dtype: str, target: Target) -> None:
    graph = Graph((5,))
    values = [0, 1] if dtype == "bool" else [0, 1, 3, 100, 127]
    if dtype in SIGNED:
        values += [-1, -(2 ** (BITS[dtype] - 1))]
    if dtype in FLOATS:
        values += [-0.0, 0.1, 1 / 3, float("inf"), float("-inf"), float("nan"), 1e-40, 65520.0]
    stores = [Store(0, Index(i), graph.const(v, dtype)) for i, v in enumerate(values)]
    stores += [Store(0, Index(len(values), ((0, 1),)), graph.const(values[-1], dtype))]
    kernel = Kernel(
        (Operand(dtype, True),), (5,), (*stores[:-1], Loop(0, 4, tuple(stores[-1:]))), False
    )
    compare(kernel, [np.zeros(len(values) + 5, NUMPY[dtype])], target)


@every_target
def test_scalars(target: Target) -> None:
    graph = Graph(())
    x, y = graph.param(0, "f32"), graph.acc(1, "i32")
    roots = [graph.fma(x, 2.0, y.to("f32")), x > 3.0, x]
    module, writer = Module(), Writer()
    for name, kind in (("%x", "float"), ("%y", "i32")):
        writer.emit(f"{name} = load {kind}, ptr %{name[1]}p, align 4")
    sums = emit_scalars(writer, module, target, roots, {x: "%x", y: "%y"})
    assert sums[2] == "%x"
    writer.emit(f"store float {sums[0]}, ptr %xp, align 4")
    writer.emit(f"store i1 {sums[1]}, ptr %yp, align 1")
    body = "\n".join(writer.lines)
    module.functions.append(f"define void @f(ptr %xp, ptr %yp) {{\n{body}\n  ret void\n}}")
    code = engine.Code([engine.compile_object(module.text(target), target)])
    first, second = np.array([5], np.float32), np.array([7], np.int32)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("f"))
    call(first.ctypes.data, second.ctypes.data)
    assert first[0] == 17 and second.view(np.uint8)[0] == 1
    with pytest.raises(ValueError, match="given no value"):
        emit_scalars(Writer(), module, target, roots, {x: "%x"})


# loops


@every_target
@pytest.mark.parametrize("lanes", [1, 4, 16, 64])
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str, lanes: int, target: Target) -> None:
    example = EXAMPLES[name](lanes)
    compare(example.kernel, example.arrays(), target)
    if example.kernel.divisible:
        compare(example.kernel, example.arrays(), target, grain=64)


@every_target
@pytest.mark.parametrize("lanes", [1, 4, 64])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 63, 64, 65, 128, 200])
def test_maps(count: int, lanes: int, target: Target) -> None:
    graph = Graph((count,))
    x = graph.read(0, axis_index(0), "f32")
    body = (Store(1, axis_index(0), x * 2.0 + graph.value(axis_index(0), "f32")),)
    operands = Operand("f32", False), Operand("f32", True)
    kernel = Kernel(operands, (count,), (Loop(0, lanes, body),), True)
    arrays = [np.arange(count, dtype=np.float32) ** 2, np.zeros(count, np.float32)]
    compare(kernel, arrays, target)
    compare(kernel, arrays, target, grain=64)


@every_target
@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("dtype", DTYPES)
def test_memory(dtype: str, lanes: int, target: Target) -> None:
    """Each way to touch memory: in line, reversed, with a stride, anywhere, guarded."""
    count = 50
    graph = Graph((count,))
    i = axis_index(0)
    place = graph.position(graph.read(1, i, "i32"))
    odd = graph.read(1, i, "i32") > 25
    shift = i.plus(-7)
    with Guarded(graph, graph.within(shift, 0, 30)):
        inside = graph.read(0, shift, dtype), graph.read(0, shift.times(2), dtype)
    with Guarded(graph, odd):
        picked = graph.read(0, i, dtype), graph.read(0, place, dtype), graph.read(0, Index(), dtype)
        picked += (graph.read(0, Index(count - 1, ((0, -1),)), dtype),)
    reads = [
        graph.read(0, i.times(2), dtype),
        graph.read(0, Index(2 * count, ((0, -1),)), dtype),
        graph.read(0, place.plus(i), dtype),
        graph.read(0, Index(3), dtype),
        *inside,
        *picked,
    ]
    stores = [Store(2 + n, i, e) for n, e in enumerate(reads)]
    x, n = reads[0], len(reads) + 2
    stores += [
        Store(n, Index(count - 1, ((0, -1),)), x),
        Store(n + 1, i.times(2), x),
        Store(n + 2, place, x),
        Store(n + 3, i, x, odd),
        Store(n + 4, Index(2 * count, ((0, -1),)), x, odd),
        Store(n + 5, place.times(2), x, odd),
        Store(n + 6, Index(1), x),
        Store(n + 7, Index(1), x, odd),
        Store(n + 8, i, x, graph.within(shift, 0, 30)),
    ]
    operands = [Operand(dtype, False), Operand("i32", False)]
    operands += [Operand(dtype, True)] * len(stores)
    kernel = Kernel(tuple(operands), (count,), (Loop(0, lanes, tuple(stores)),), False)
    arrays = [inputs(dtype)[0][-2 * count - 1 :], np.random.default_rng(3).permutation(count)]
    arrays[1] = arrays[1].astype(np.int32)
    compare(kernel, arrays + [np.zeros(2 * count + 1, NUMPY[dtype]) for _ in stores], target)


# many kernels


@functools.cache
def drawn(seed: int) -> tuple[Kernel, list[np.ndarray], list[np.ndarray]]:
    """A random kernel, its arrays before and what the reference evaluator leaves in them."""
    draw = Draw(seed)
    kernel, arrays = draw.kernel(), draw.arrays()
    wanted = [a.copy() for a in arrays]
    run_kernel(kernel, wanted)
    return kernel, arrays, wanted


@every_target
@pytest.mark.parametrize("seed", range(30))
def test_random_kernels(seed: int, target: Target) -> None:
    kernel, arrays, wanted = drawn(seed)
    got = [a.copy() for a in arrays]
    Native(kernel, target)(got, grain=64 if kernel.divisible else 0)
    for mine, theirs in zip(got, wanted, strict=True):
        same(mine, theirs)


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected in another way there")
@every_target
@pytest.mark.parametrize("at_end", [True, False])
def test_nothing_outside_is_touched(at_end: bool, target: Target) -> None:
    """Each array ends, or starts, where memory beyond it may not be touched."""
    for seed in range(30):
        kernel, arrays, wanted = drawn(seed)
        fenced = [Fenced(a, at_end) for a in arrays]
        Native(kernel, target)([f.array for f in fenced])
        for mine, theirs in zip(fenced, wanted, strict=True):
            same(mine.array, theirs)


class Fenced:
    """An array between two pages that any access to is a fault."""

    def __init__(self, array: np.ndarray, at_end: bool):
        page = mmap.PAGESIZE
        size = -(-max(array.nbytes, 1) // page) * page
        self.memory = mmap.mmap(-1, size + 2 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        protect = ctypes.CDLL(None).mprotect
        for fence in (start, start + page + size):
            assert protect(ctypes.c_void_p(fence), ctypes.c_size_t(page), 0) == 0
        offset = page + (size - array.nbytes if at_end else 0)
        self.array = np.frombuffer(self.memory, array.dtype, array.size, offset)
        self.array[...] = array
