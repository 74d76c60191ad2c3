"""Random operations on arrays: each draw takes values it fits, given by their types alone.

Values stay near 1, and nothing but integers is compared, so that rounding decides nothing.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

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
# What an operation does to values, which of them it takes, and its name; None where none fits.
Drawn = tuple[Callable[..., tuple], tuple[int, ...], str]

# Elements of a value at most.
LARGEST = 600


def is_float(x: Spec) -> bool:
    return x.dtype in FLOATS


def is_exact(x: Spec) -> bool:
    return x.dtype.kind in "iub" and x.dtype != BF16


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
        sizes = [s for s in (*SHAPES, *RARE_SHAPES, (size(x),)) if math.prod(s) == size(x)]
        new = choose(sizes)
        return tupled(lambda x: x.reshape(new)), (i,), f"reshape {new}"
    if name == "transpose":
        order = permutation(choose, ndim)
        return tupled(lambda x: x.transpose(order)), (i,), f"transpose {order}"
    if name == "new axis" and ndim < 4:
        return tupled(lambda x: jnp.expand_dims(x, axis)), (i,), f"new axis {axis}"
    if name == "expand" and ndim < 3 and size(x) < 100:
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
    if not ndim or not size(x) or x.dtype.kind == "c":
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
        run = lambda x: jnp.exp(x - x.max(axes, keepdims=True)) / sum_of_exponentials(x, axes)
    elif name == "sum":
        run = lambda x: jnp.sum(x, axes, dtype=None if x.dtype == np.bool_ else x.dtype)
    else:
        run = lambda x: getattr(jnp, name)(x, axes, keepdims=keep)
    return tupled(run), (i,), f"{name} {axes}"


def draw_indexed(choose: Choose, values: Sequence[Spec], i: int) -> Drawn | None:
    """Reads and writes at places that are values themselves, in and out of bounds."""
    x = values[i]
    integers = [j for j, k in enumerate(values) if k.dtype in (np.int32, np.int8, np.uint8)]
    few = [j for j in integers if len(values[j].shape) < 2 and 0 < size(values[j]) <= 24]
    if not x.shape or not few or not size(x):
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
    if len(x.shape) + len(values[j].shape) > 4 or size(x) > 100:
        return None
    return tupled(runs[name]), (i, j), name


def draw_product(choose: Choose, values: Sequence[Spec], i: int) -> Drawn | None:
    x = values[i]
    ndim = len(x.shape)
    if not ndim or x.dtype == np.bool_ or not size(x):
        return None
    pairs = [
        (j, a, b)
        for j, y in enumerate(values)
        if y.dtype == x.dtype
        for a in range(ndim)
        for b in range(len(y.shape))
        if x.shape[a] == y.shape[b] and size(x) * size(y) < 4000
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


# helpers


def tupled(run: Callable[..., Any]) -> Callable[..., tuple]:
    return lambda *operands: (run(*operands),)


def size(x: Spec) -> int:
    return math.prod(x.shape)


def sum_of_exponentials(x: Any, axes: tuple[int, ...]) -> Any:
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
