"""What scan and while share: the masks of a carry that comes round again, and reordering."""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.base.aval import ShapedArray
from funcgrad.base.lists import Mask
from funcgrad.base.trace import Primitive
from funcgrad.compiler.pipeline import NUMPY, compiled, present_target
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.transforms.staging import stage_closed


def fixpoint(step: Callable[[Mask], Mask], start: Mask) -> Mask:
    """The least mask above `start` that `step` maps to itself, `step` being monotone."""
    while True:
        new = tuple(a or b for a, b in zip(start, step(start), strict=True))
        if new == start:
            return new
        start = new


def stable_masks(
    consts: Sequence[bool],
    carry: Sequence[bool],
    xs: Sequence[bool],
    outputs: Callable[[Mask], Mask],
) -> tuple[Mask, Mask]:
    """Masks of a body's inputs and outputs in which the carry comes out as it goes in.

    `outputs` says which outputs a mask of the inputs (consts, carry, xs) leads to.
    """

    def step(carry: Mask) -> Mask:
        return outputs((*consts, *carry, *xs))[: len(carry)]

    settled = fixpoint(step, tuple(carry))
    inputs = (*consts, *settled, *xs)
    return inputs, (*settled, *outputs(inputs)[len(settled) :])


def reordered(program: ClosedJaxpr, inputs: Sequence[int], outputs: Sequence[int]) -> ClosedJaxpr:
    """The program with its inputs and outputs in another order."""
    jaxpr = program.jaxpr

    def make() -> ClosedJaxpr:
        invars, outvars = [jaxpr.invars[i] for i in inputs], [jaxpr.outvars[i] for i in outputs]
        return program.replace(jaxpr.replace(invars=invars, outvars=outvars))

    return program.derived(("reordered", tuple(inputs), tuple(outputs)), make)


def run_whole(
    primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any], buffers: Sequence
) -> Sequence[Any] | None:
    """A loop on its own as one native program; None where there is no native code."""
    if present_target() is NUMPY:
        return None
    body: ClosedJaxpr = params.get("jaxpr") or params["body_jaxpr"]

    def make() -> ClosedJaxpr:
        return stage_closed(lambda *args: list(primitive.bind(*args, **params)), avals)[0]

    key = ("whole", primitive, tuple(avals), *params.items())
    return compiled(body.derived(key, make))(*buffers)
