"""The steps of a program: kernels, library calls, equations left to Python, and loops of steps."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from funcgrad.base.source import Place
from funcgrad.compiler.kernels import Fused
from funcgrad.compiler.loops import Expr, ordered
from funcgrad.compiler.lowering import Control
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Var

Optimise = Callable[[ClosedJaxpr], ClosedJaxpr]


class KernelStep(NamedTuple):
    """A fused kernel; `updated` is the operand that its output begins as a copy of, if any."""

    fused: Fused
    names: tuple[str, ...]
    places: tuple[Place | None, ...]
    updated: Atom | None = None


class RegisterStep(NamedTuple):
    """Scalars computed one by one: the elements of each output as expressions."""

    reads: tuple[Var, ...]
    outputs: dict[Var, tuple[Expr, ...]]


class StridedView(NamedTuple):
    """Elements of a value in memory: offset and a stride for each axis of the view."""

    base: Var
    offset: int
    strides: tuple[int, ...]
    shape: tuple[int, ...]


class Address(NamedTuple):
    """A place that a library call is given: operand `number` of its step, so many bytes on."""

    number: int
    offset: int


class LibraryCall(NamedTuple):
    """`void symbol(ptr words)`, with 64-bit words."""

    symbol: str
    words: tuple[int | Address, ...]


class CallStep(NamedTuple):
    """Calls of native library functions; their operands are `reads`, then `out`, then scratch."""

    calls: tuple[LibraryCall, ...]
    reads: tuple[Var, ...]
    out: Var
    scratch: int
    eqn: Eqn


class Machine(Protocol):
    """What the schedule asks of whoever generates code: vector width and library functions."""

    @property
    def vector_bytes(self) -> int: ...

    def product(
        self, lhs: StridedView, rhs: StridedView, out: Var
    ) -> tuple[tuple[LibraryCall, ...], int] | None:
        """The calls that make out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], and bytes
        of scratch; None where no function does."""
        ...

    def convolution(self, eqn: Eqn) -> tuple[tuple[LibraryCall, ...], int] | None:
        """The same for a convolution of dense operands."""
        ...


class HostStep(NamedTuple):
    """An equation that the array library computes."""

    eqn: Eqn


class AliasStep(NamedTuple):
    """Outputs that are the inputs, which nothing is moved across."""

    outs: tuple[Var, ...]
    ins: tuple[Atom, ...]


class ControlStep(NamedTuple):
    """A loop or a choice, with the block of each of its programs."""

    eqn: Eqn
    control: Control
    blocks: tuple["Block", ...]


Step = KernelStep | RegisterStep | CallStep | HostStep | AliasStep | ControlStep


class Block(NamedTuple):
    """A program as steps; `registers` is the size up to which its values live in registers."""

    inputs: tuple[Var, ...]
    consts: tuple[tuple[Var, object], ...]
    steps: tuple[Step, ...]
    outputs: tuple[Atom, ...]
    registers: int


def reads_of(step: Step) -> list[Var]:
    """The values that a step finds in memory or in registers."""
    if isinstance(step, KernelStep):
        first = [step.updated] if isinstance(step.updated, Var) else []
        return [*step.fused.reads, *first]
    if isinstance(step, RegisterStep):
        nodes = ordered([e for elements in step.outputs.values() for e in elements])
        return [step.reads[i] for i in sorted({n.data[0] for n in nodes if n.op == "read"})]
    if isinstance(step, CallStep):
        return list(step.reads)
    atoms = step.ins if isinstance(step, AliasStep) else step.eqn.invars
    return [v for v in atoms if isinstance(v, Var)]


def writes_of(step: Step) -> list[Var]:
    """The values that a step makes."""
    if isinstance(step, KernelStep):
        return list(step.fused.writes)
    if isinstance(step, RegisterStep):
        return list(step.outputs)
    if isinstance(step, CallStep):
        return [step.out]
    return list(step.outs if isinstance(step, AliasStep) else step.eqn.outvars)
