"""What is said when a compiled program is refused memory: for a result, which equation makes it;
for its arena, what lies there when it is fullest.
"""

from collections.abc import Iterator, Sequence

from funcgrad.base import shortage
from funcgrad.base.errors import OutOfMemoryError
from funcgrad.compiler.buffers import Layout, Storage, nbytes
from funcgrad.compiler.describe import places_of
from funcgrad.compiler.pages import RefusedError
from funcgrad.compiler.steps import AliasStep, KernelStep, RegisterStep, Step, reads_of, writes_of
from funcgrad.ir.jaxpr import Atom, Var


def of_result(plan: Layout, refused: RefusedError) -> OutOfMemoryError:
    """The error for an output; those of one size are told by all that make such."""
    made = makers(plan)
    wanted = [
        described(atom, made) for atom in plan.block.outputs if nbytes(atom) == refused.nbytes
    ]
    what = " or ".join(dict.fromkeys(wanted))
    return OutOfMemoryError(
        f"a compiled program was refused {refused.nbytes:,} bytes for its result {what}. "
        f"{shortage.live_arrays()} {shortage.ADVICE}"
    )


def of_arena(plan: Layout, refused: RefusedError) -> OutOfMemoryError:
    """The error for the memory in which a program computes."""
    inner, step, held = fullest(plan)
    made = makers(inner)
    values = shortage.listed(
        (storage.nbytes, described(var, made) if var else "room to work in")
        for storage, var in held
    )
    return OutOfMemoryError(
        f"a compiled program was refused {refused.nbytes:,} bytes to compute in. It needs most "
        f"at {named(step)}, when it holds {values}. {shortage.live_arrays()} {shortage.ADVICE}"
    )


def makers(plan: Layout) -> dict[Atom, Step]:
    """The step that makes each value of a block."""
    return {var: step for step in plan.block.steps for var in writes_of(step)}


def described(atom: Atom, made: dict[Atom, Step]) -> str:
    """A value with the operations and the user's line that make it."""
    by = f" of {named(made[atom])}" if atom in made else ""
    return f"{atom.aval.str_short()}{by}"


def named(step: Step) -> str:
    if isinstance(step, KernelStep):
        name = " ".join(step.names)
    elif isinstance(step, (RegisterStep, AliasStep)):
        name = "scalar operations"
    else:
        name = step.eqn.primitive.name
    place = next(iter(places_of(step)), None)
    return name if place is None else f"{name} at {place.describe()}"


def fullest(plan: Layout) -> tuple[Layout, Step, list[tuple[Storage, Var | None]]]:
    """The step at which most of the arena is in use, and what lies there; where that is a loop,
    the same of its body.
    """
    steps = plan.block.steps
    spans = lifetimes(plan)

    def held(i: int) -> list[tuple[Storage, Var | None]]:
        return [(s, var) for s, (first, last, var) in spans.items() if first <= i <= last]

    best = max(range(len(steps)), key=lambda i: sum(s.nbytes for s, _ in held(i)))
    inner = max(plan.inner.get(best, ()), key=lambda body: body.size, default=None)
    if inner is not None and 2 * inner.size > plan.size:
        return fullest(inner)
    return plan, steps[best], held(best)


def lifetimes(plan: Layout) -> dict[Storage, tuple[int, int, Var | None]]:
    """The first and the last step that use each place in the arena, and what it holds at first."""
    spans: dict[Storage, tuple[int, int, Var | None]] = {}
    for i, storage, var in uses(plan):
        first, _, held = spans.get(storage, (i, i, var))
        spans[storage] = (first, i, held)
    return spans


def uses(plan: Layout) -> Iterator[tuple[int, Storage, Var | None]]:
    for i, step in enumerate(plan.block.steps):
        for storage in plan.extra.get(i, ()):
            yield i, storage, None
        touched: Sequence[Var] = [*reads_of(step), *writes_of(step)]
        for var in () if isinstance(step, AliasStep) else touched:
            storage = plan.of.get(var)
            if storage is not None and storage.kind == "arena":
                yield i, storage, var
