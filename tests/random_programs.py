"""Random programs: operations, loops and choices, drawn by type so that each step fits.

A program is a `Block`: its steps take values by number, its outputs may be anything seen so far.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import funcgrad
import funcgrad.numpy as jnp
from funcgrad import lax
from random_steps import (
    ARRAYS,
    FLOATS,
    INTEGERS,
    LARGEST,
    OTHERS,
    RARE_SHAPES,
    SHAPES,
    Choose,
    Drawn,
    Spec,
    is_exact,
    size,
)


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
    besides = tuple(k for k in besides if size(specs[k]) <= 100 and len(specs[k].shape) < 4)
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

CONTROLS = [draw_scan, draw_while, draw_cond]
DEEPEST = 2


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
        if any(size(x) > LARGEST or len(x.shape) > 4 for x in found):
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
