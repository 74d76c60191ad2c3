"""Random programs of array operations, loops and choices, drawn by shape so that each step fits.

A program is a `Block`: its steps take values by number, its outputs may be anything seen so far.
Values stay near 1, and nothing but integers is compared, so that rounding decides nothing.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import funcgrad
import funcgrad.numpy as jnp
from funcgrad import lax

BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(d) for d in (np.float32, np.float64, np.float16)] + [BF16]
INTEGERS = [np.dtype(d) for d in (np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64)]
OTHERS = [np.dtype(np.bool_), np.dtype(np.complex64)]
SHAPES = [(), (1,), (3,), (4,), (5,), (24,), (70,), (2, 2), (4, 6), (6, 4), (1, 6), (2, 3, 4)]
RARE_SHAPES = [(0,), (0, 3), (3, 1), (9, 20), (100,), (2, 1, 3, 2)]

Choose = Callable[[Sequence[Any]], Any]  # one of the options
Spec = Any  # what has a shape and a dtype


class Step(NamedTuple):
    """`run(*values)` gives a tuple of values."""

    run: Callable[..., tuple]
    operands: tuple[int, ...]
    name: str


class Block(NamedTuple):
    """A program: its inputs are the first values, each step adds some."""

    inputs: tuple[Spec, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def __call__(self, *inputs: Any) -> tuple:
        values = list(inputs)
        for step in self.steps:
            values += step.run(*[values[i] for i in step.operands])
        return tuple(values[i] for i in self.outputs)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{x.dtype}{list(x.shape)}" for x in self.inputs)
        steps = "; ".join(f"{s.name}{list(s.operands)}" for s in self.steps)
        return f"({inputs}) {steps} -> {list(self.outputs)}"


def specs_of(run: Callable, *operands: Spec) -> tuple[Spec, ...]:
    found = funcgrad.eval_shape(run, *operands)
    return tuple(funcgrad.ShapeDtypeStruct(x.shape, x.dtype) for x in found)


def is_float(x: Spec) -> bool:
    return x.dtype in FLOATS


def is_exact(x: Spec) -> bool:
    return x.dtype.kind in "iub" and x.dtype != BF16


def draw_array(choose: Choose, spec: Spec) -> np.ndarray:
    rng = np.random.default_rng(choose(range(100)))
    dtype = np.dtype(spec.dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, spec.shape).astype(bool)
    if is_exact(spec):
        return rng.integers(0, 9, spec.shape).astype(dtype)
    numbers = rng.uniform(-1, 1, spec.shape)
    if dtype.kind == "c":
        numbers = numbers + 1j * rng.uniform(-1, 1, spec.shape)
    return np.asarray(numbers).astype(dtype)


def draw_specs(choose: Choose, count: int, wide: bool) -> list[Spec]:
    """Types of inputs, most of them alike, as values of one shape meet in fused kernels."""
    allowed = [d for d in (*FLOATS, *INTEGERS, *OTHERS) if wide or d.itemsize < 8 or d.kind == "c"]
    shapes = choose([SHAPES, SHAPES, SHAPES, RARE_SHAPES])
    shape, dtype = choose(shapes), choose([np.dtype(np.float32), *allowed])
    found = []
    for _ in range(count):
        like = choose([True, True, False])
        found.append(
            funcgrad.ShapeDtypeStruct(
                shape if like else choose(SHAPES), dtype if like else choose(allowed)
            )
        )
    return found


# one operation

Drawn = tuple[Callable[..., tuple], tuple[int, ...], str]


def draw_unary(choose: Choose, values: Sequence[Spec], i: int) -> Drawn | None:
    x = values[i]
    if is_float(x):
        name = choose(["sin", "tanh", "exp", "sqrt", "half", "neg", "floor", "erf", "cast"])
        functions = {
            "sin": jnp.sin,
            "tanh": jnp.tanh,
            "exp": lambda x: jnp.exp(-abs(x)),
            "sqrt": lambda x: jnp.sqrt(x * x + 1) - 1,
            "half": lambda x: x * 0.5 + 0.25,
            "neg": lambda x: -x,
            "floor": lambda x: x - jnp.clip(x, -0.5, 0.5),
            "erf": lax.erf,
            "cast": lambda x: x.astype(np.float32),
        }
    elif x.dtype == np.bool_:
        name = choose(["not", "number", "float"])
        functions = {
            "not": lambda x: ~x,
            "number": lambda x: x.astype(np.int32),
            "float": lambda x: x.astype(np.float32),
        }
    elif is_exact(x):
        name = choose(["plus", "shift", "square", "mod", "odd", "float", "cast"])
        functions = {
            "plus": lambda x: x + 3,
            "shift": lambda x: x >> 1,
            "square": lambda x: x * x,
            "mod": lambda x: x % 5,
            "odd": lambda x: x % 2 == 1,
            "float": lambda x: (x % 8).astype(np.float32) / 8,
            "cast": lambda x: x.astype(np.int16),
        }
    else:
        name, functions = "turn", {"turn": lambda x: x * 0.6j + 0.1}
    return tupled(functions[name]), (i,), name


def draw_binary(choose: Choose, values: Sequence[Spec], i: int) -> Drawn | None:
    """Two values of one dtype whose shapes broadcast."""
    x = values[i]
    fitting = [j for j, y in enumerate(values) if y.dtype == x.dtype and broadcast(x, y)]
    j = choose(fitting)
    if x.dtype == np.bool_:
        name = choose(["and", "xor"])
        run = {"and": lambda x, y: x & y, "xor": lambda x, y: x ^ y}[name]
    elif is_exact(x):
        name = choose(["add", "mul", "max", "less", "and"])
        run = {
            "add": lambda x, y: x + y,
            "mul": lambda x, y: x * y,
            "max": jnp.maximum,
            "less": lambda x, y: x < y,
            "and": lambda x, y: x & y,
        }[name]
    elif is_float(x):
        name = choose(["mean", "mul", "sub", "max", "select", "div"])
        run = {
            "mean": lambda x, y: (x + y) * 0.5,
            "mul": lambda x, y: x * y,
            "sub": lambda x, y: (x - y) * 0.5,
            "max": jnp.maximum,
            "select": lambda x, y: (
                jnp.where(jnp.arange(x.shape[-1]) % 2 == 0, x, y) if x.ndim else x
            ),
            "div": lambda x, y: x / (abs(y) + 2),
        }[name]
    else:
        name, run = "mul", lambda x, y: x * y * 0.5
    return tupled(run), (i, j), name


def draw_where(choose: Choose, values: Sequence[Spec], i: int) -> Drawn | None:
    x = values[i]
    tests = [j for j, p in enumerate(values) if p.dtype == np.bool_ and broadcast(x, p)]
    others = [j for j, y in enumerate(values) if y.dtype == x.dtype and y.shape == x.shape]
    if not tests:
        return None
    return tupled(lambda p, x, y: jnp.where(p, x, y)), (choose(tests), i, choose(others)), "where"


def draw_move(choose: Choose, values: Sequence[Spec], i: int) -> Drawn | None:
    """Elements taken elsewhere."""
    x = values[i]
    shape, ndim = x.shape, len(x.shape)
    name = choose(
        ["reshape", "transpose", "flip", "slice", "pad", "roll", "new axis", "expand", "concat"]
    )
    axis = choose(range(ndim)) if ndim else 0
    if name == "reshape":
        sizes = [s for s in (*SHAPES, *RARE_SHAPES, (x_size(x),)) if math.prod(s) == x_size(x)]
        new = choose(sizes)
        return tupled(lambda x: x.reshape(new)), (i,), f"reshape {new}"
    if name == "transpose":
        order = permutation(choose, ndim)
        return tupled(lambda x: x.transpose(order)), (i,), f"transpose {order}"
    if name == "new axis" and ndim < 4:
        return tupled(lambda x: jnp.expand_dims(x, axis)), (i,), f"new axis {axis}"
    if name == "expand" and ndim < 3 and x_size(x) < 100:
        wide = (choose([2, 5]), *shape)
        return tupled(lambda x: jnp.broadcast_to(x, wide)), (i,), f"expand {wide}"
    if not ndim:
        return None
    if name == "concat":
        fitting = [
            j
            for j, y in enumerate(values)
            if y.dtype == x.dtype
            and len(y.shape) == ndim
            and without(y.shape, axis) == without(shape, axis)
        ]
        j = choose(fitting)
        if shape[axis] + values[j].shape[axis] > 120:
            return None
        return tupled(lambda x, y: jnp.concatenate([x, y], axis)), (i, j), f"concat {axis}"
    if name == "flip":
        return tupled(lambda x: jnp.flip(x, axis)), (i,), f"flip {axis}"
    if name == "roll":
        return tupled(lambda x: jnp.roll(x, 1, axis)), (i,), f"roll {axis}"
    if name == "slice" and shape[axis] > 1:
        cut = choose([slice(1, None), slice(None, None, 2), slice(None, -1), slice(0, 1)])
        index = (slice(None),) * axis + (cut,)
        return tupled(lambda x: x[index]), (i,), f"slice {axis} {cut}"
    if name == "pad":
        sides = choose([(1, 1, 0), (0, 2, 0), (0, 0, 1), (2, -1, 1)])
        if shape[axis] == 0:
            return None
        config = [(0, 0, 0)] * axis + [sides] + [(0, 0, 0)] * (ndim - axis - 1)
        return (
            tupled(lambda x: lax.pad(x, np.zeros((), x.dtype), config)),
            (i,),
            f"pad {axis} {sides}",
        )
    return None


def draw_reduction(choose: Choose, values: Sequence[Spec], i: int) -> Drawn | None:
    """Over some axes, perhaps broadcast back."""
    x = values[i]
    ndim = len(x.shape)
    axes = tuple(d for d in range(ndim) if choose([True, False]))
    axes = tuple(d for d in axes if x.shape[d])
    names = ["mean", "max", "softmax", "any"] if is_float(x) else ["max", "sum", "argmax", "any"]
    if not ndim or not x_size(x) or x.dtype.kind == "c":
        return None
    name, keep = choose(names), choose([True, False])
    if name == "any":
        run = lambda x: jnp.any(x > 1, axes, keepdims=keep)
        if is_float(x):
            return None
    elif name == "argmax":
        axis = choose(range(ndim))
        if x.dtype == np.bool_:
            return None
        run = lambda x: jnp.argmax(x, axis, keepdims=keep).astype(np.int32)
    elif name == "softmax":
        run = lambda x: jnp.exp(x - x.max(axes, keepdims=True)) / x_total(x, axes)
    elif name == "sum":
        run = lambda x: jnp.sum(x, axes, dtype=None if x.dtype == np.bool_ else x.dtype)
    else:
        run = lambda x: getattr(jnp, name)(x, axes, keepdims=keep)
    return tupled(run), (i,), f"{name} {axes}"


def draw_indexed(choose: Choose, values: Sequence[Spec], i: int) -> Drawn | None:
    """Reads and writes at places that are values themselves, in and out of bounds."""
    x = values[i]
    integers = [j for j, k in enumerate(values) if k.dtype in (np.int32, np.int8, np.uint8)]
    few = [j for j in integers if len(values[j].shape) < 2 and 0 < x_size(values[j]) <= 24]
    if not x.shape or not few or not x_size(x):
        return None
    j = choose(few)
    name = choose(["take", "fill", "dynamic_slice", "set", "add", "update", "drop"])
    # A set at several equal places keeps any of them, so all write the same.
    runs = {
        "take": lambda x, k: x[k],
        "fill": lambda x, k: x.at[k].get(mode="fill", fill_value=0),
        "dynamic_slice": lambda x, k: lax.dynamic_slice_in_dim(
            x, jnp.max(k), max(x.shape[0] - 1, 1)
        ),
        "set": lambda x, k: x.at[k].set(x[0] if k.ndim == 0 else x[-1]),
        "add": lambda x, k: x.at[k].add(x[0]),
        "update": lambda x, k: lax.dynamic_update_slice_in_dim(
            x, x[1:] if x.shape[0] > 1 else x, jnp.max(k), 0
        ),
        "drop": lambda x, k: x.at[k].set(1, mode="drop"),
    }
    if name == "add" and (x.dtype == np.bool_ or not is_exact(x)):
        name = "set"
    if len(x.shape) + len(values[j].shape) > 4 or x_size(x) > 100:
        return None
    return tupled(runs[name]), (i, j), name


def draw_product(choose: Choose, values: Sequence[Spec], i: int) -> Drawn | None:
    x = values[i]
    ndim = len(x.shape)
    if not ndim or x.dtype == np.bool_ or not x_size(x):
        return None
    pairs = [
        (j, a, b)
        for j, y in enumerate(values)
        if y.dtype == x.dtype
        for a in range(ndim)
        for b in range(len(y.shape))
        if x.shape[a] == y.shape[b] and x_size(x) * x_size(y) < 4000
    ]
    if not pairs:
        return None
    j, a, b = choose(pairs)
    count = x.shape[a]

    def run(x: Any, y: Any) -> Any:
        found = lax.dot_general(x, y, (((a,), (b,)), ((), ())))
        return found if x.dtype.kind in "iu" else found / count

    return tupled(run), (i, j), f"dot {a} {b}"


def draw_library(choose: Choose, values: Sequence[Spec], i: int) -> Drawn | None:
    """What the array library computes, a barrier, or values that are the same or constant."""
    x = values[i]
    name = choose(["cumsum", "sort", "barrier", "constant", "checkpoint"])
    if name == "barrier":
        j = choose(range(len(values)))
        return lambda *xs: tuple(lax.optimization_barrier(xs)), (i, j), "barrier"
    if name == "checkpoint":
        return tupled(funcgrad.checkpoint(lambda x: x + x)), (i,), name
    if name == "constant":
        constant = np.arange(math.prod(x.shape)).reshape(x.shape) % 2 == 1
        return lambda x: (jnp.asarray(constant), jnp.zeros((), x.dtype)), (i,), name
    if not x.shape or x.dtype.kind == "c" or x.dtype == np.bool_:
        return None
    if name == "cumsum" and is_float(x):
        return tupled(lambda x: jnp.cumsum(x, 0) * 0.1), (i,), name
    if name == "sort" and is_exact(x):
        return tupled(lambda x: jnp.sort(x, 0)), (i,), name
    return None


# loops and choices


def draw_scan(choose: Choose, values: Sequence[Spec], depth: int) -> Drawn | None:
    """Carries that are kept, swapped, rewritten; arrays to go along; whole values seen inside."""
    carries = [choose(range(len(values))) for _ in range(choose([0, 1, 2, 3]))]
    consts = [choose(range(len(values))) for _ in range(choose([0, 1, 2]))]
    length = choose([0, 1, 2, 3, 4, 5])
    longs = [j for j, x in enumerate(values) if x.shape and x.shape[0] == length]
    along = [choose(longs) for _ in range(choose([0, 1, 2]))] if longs else []
    reverse = choose([False, True])
    slices = [funcgrad.ShapeDtypeStruct(values[j].shape[1:], values[j].dtype) for j in along]
    index = funcgrad.ShapeDtypeStruct((), np.int32)
    inputs = [*(values[j] for j in (*consts, *carries)), *slices, index]
    body = draw_block(choose, inputs, choose([1, 2, 4]), depth + 1)
    kept = range(len(consts), len(consts) + len(carries))
    body, stacked = with_carries(choose, body, inputs, kept)
    count, first = len(carries), len(consts)

    def run(*operands: Any) -> tuple:
        fixed, start, moving = (
            operands[:first],
            operands[first : first + count],
            operands[first + count :],
        )

        def turn(carry: tuple, piece: tuple) -> tuple:
            outs = body(*fixed, *carry[:-1], *piece, carry[-1])
            return (*outs[:count], carry[-1] + 1), outs[count:]

        carry, ys = lax.scan(turn, (*start, np.int32(0)), moving, length, reverse)
        return (*carry[:-1], *ys)

    return run, (*consts, *carries, *along), f"scan {length} {reverse} {{{body}}} {stacked}"


def with_carries(
    choose: Choose, body: Block, inputs: Sequence[Spec], kept: Sequence[int]
) -> tuple[Block, int]:
    """The body with, for each carry, a value of its type; then what it returns besides."""
    specs = values_of(body)
    following = []
    for j in kept:
        alike = [
            k
            for k, x in enumerate(specs)
            if x.shape == inputs[j].shape and x.dtype == inputs[j].dtype
        ]
        # What was made last is the most interesting.
        following.append(choose([*alike, *alike[-2:], *alike[-2:]]))
    besides = body.outputs[: choose([0, 1, 2])]
    besides = tuple(k for k in besides if x_size(specs[k]) <= 100 and len(specs[k].shape) < 4)
    return body._replace(outputs=(*following, *besides)), len(besides)


def draw_while(choose: Choose, values: Sequence[Spec], depth: int) -> Drawn | None:
    carries = [choose(range(len(values))) for _ in range(choose([1, 2, 3]))]
    consts = [choose(range(len(values))) for _ in range(choose([0, 1]))]
    turns = choose([0, 1, 2, 3])
    index = funcgrad.ShapeDtypeStruct((), np.int32)
    inputs = [*(values[j] for j in (*consts, *carries)), index]
    body = draw_block(choose, inputs, choose([1, 2, 4]), depth + 1)
    body, _ = with_carries(choose, body, inputs, range(len(consts), len(inputs) - 1))
    count, first = len(carries), len(consts)
    body = body._replace(outputs=body.outputs[:count])

    def run(*operands: Any) -> tuple:
        def turn(carry: tuple) -> tuple:
            return (*body(*operands[:first], *carry), carry[-1] + 1)

        start = (*operands[first:], jnp.asarray(0, np.int32))
        return lax.while_loop(lambda c: c[-1] < turns, turn, start)[:-1]

    return run, (*consts, *carries), f"while {turns} {{{body}}}"


def draw_cond(choose: Choose, values: Sequence[Spec], depth: int) -> Drawn | None:
    """Two or three programs of the same inputs, whose outputs are of the types of inputs."""
    tests = [j for j, x in enumerate(values) if x.dtype in (np.bool_, np.int32) and not x.shape]
    if not tests:
        return None
    test = choose(tests)
    operands = [choose(range(len(values))) for _ in range(choose([1, 2, 3]))]
    inputs = [values[j] for j in operands]
    branches = []
    for _ in range(2 if values[test].dtype == np.bool_ else 3):
        body = draw_block(choose, inputs, choose([1, 2, 3]), depth + 1)
        body, _ = with_carries(choose, body, inputs, range(len(inputs)))
        branches.append(body._replace(outputs=body.outputs[: len(inputs)]))

    def run(p: Any, *xs: Any) -> tuple:
        return lax.switch(p.astype(np.int32), branches, *xs)

    return run, (test, *operands), f"switch {branches}"


# blocks

ARRAYS = [
    *[draw_unary] * 4,
    *[draw_binary] * 5,
    draw_where,
    *[draw_move] * 4,
    *[draw_reduction] * 3,
    *[draw_indexed] * 3,
    draw_product,
    draw_library,
]
CONTROLS = [draw_scan, draw_while, draw_cond]
DEEPEST = 2
LARGEST = 600


def draw_block(choose: Choose, inputs: Sequence[Spec], count: int, depth: int = 0) -> Block:
    """A block of up to `count` steps on inputs of these types."""
    values, steps = list(inputs), []
    for _ in range(count):
        if depth <= DEEPEST and choose(range(4)) == 0:
            drawn = choose(CONTROLS)(choose, values, depth)
        else:
            recent = range(max(len(values) - 3, 0), len(values))
            i = choose([*range(len(values)), *recent, *recent])
            drawn = choose(ARRAYS)(choose, values, i)
        if drawn is None:
            continue
        run, operands, name = drawn
        found = specs_of(run, *[values[k] for k in operands])
        if any(x_size(x) > LARGEST or len(x.shape) > 4 for x in found):
            continue
        steps.append(Step(run, operands, name))
        values += found
    outputs = [k for k in range(len(values)) if choose([True, False])] or [len(values) - 1]
    if choose(range(4)) == 0:
        outputs.append(choose(outputs))
    return Block(tuple(inputs), tuple(steps), tuple(outputs))


def values_of(block: Block) -> tuple[Spec, ...]:
    """The types of all values of a block."""
    values = list(block.inputs)
    for step in block.steps:
        values += specs_of(step.run, *[values[k] for k in step.operands])
    return tuple(values)


# helpers


def tupled(run: Callable[..., Any]) -> Callable[..., tuple]:
    return lambda *operands: (run(*operands),)


def x_size(x: Spec) -> int:
    return math.prod(x.shape)


def x_total(x: Any, axes: tuple[int, ...]) -> Any:
    return jnp.sum(jnp.exp(x - x.max(axes, keepdims=True)), axes, keepdims=True)


def without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def broadcast(x: Spec, y: Spec) -> bool:
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return math.prod(shape) <= LARGEST


def permutation(choose: Choose, count: int) -> tuple[int, ...]:
    rest, order = list(range(count)), []
    while rest:
        order.append(choose(rest))
        rest.remove(order[-1])
    return tuple(order)
