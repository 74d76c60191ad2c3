"""custom_linear_solve: the solution of A x = b by a solver of the user's, differentiated as such.

The primitive carries four programs: `matvec` (v -> A v), `vecmat` (v -> A^T v), `solve` and
`transpose_solve` (b -> A^-1 b, A^-T b). Each takes its own constants first. Derivatives never look
inside the solvers: they solve again with the same matrix, or its transpose.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad.base.aval import ShapedArray, aval_of, tangent_aval
from funcgrad.base.basis import neg
from funcgrad.base.lists import spread
from funcgrad.base.trace import Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.compiler.pipeline import compiled
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.backward import instantiate_ct, is_linear
from funcgrad.transforms.batching import BatchAxis, batch_program, fronted, to_front
from funcgrad.transforms.forward import add_tangents, instantiate_zeros, jvp_program

linear_solve_p = Primitive("custom_linear_solve", multiple_results=True)


class Programs(NamedTuple):
    """The four programs, each with the number of constants that it takes first."""

    matvec: ClosedJaxpr
    vecmat: ClosedJaxpr | None
    solve: ClosedJaxpr
    transpose_solve: ClosedJaxpr | None
    counts: tuple[int, int, int, int]

    def transposed(self) -> "Programs":
        """The same system with A^T for A."""
        if self.vecmat is None or self.transpose_solve is None:
            raise TypeError(
                "custom_linear_solve: reverse-mode differentiation needs the solution of the "
                "transposed system; give transpose_solve, or symmetric=True"
            )
        m, v, s, t = self.counts
        return Programs(self.vecmat, self.matvec, self.transpose_solve, self.solve, (v, m, t, s))

    def split(self, args: Sequence[Any]) -> tuple[list[list[Any]], list[Any]]:
        """The constants of each program, and what comes after them (b)."""
        rest = list(args)
        consts = []
        for count in self.counts:
            consts.append(rest[:count])
            rest = rest[count:]
        return consts, rest


def linear_solve_evaluate(xp: Any, *buffers: Any, programs: Programs) -> Sequence[Any]:
    consts, b = programs.split(buffers)
    return compiled(programs.solve)(*consts[2], *b)


def linear_solve_abstract(*avals: ShapedArray, programs: Programs) -> tuple[tuple, Effects]:
    return tuple(programs.solve.out_avals), programs.solve.effects


def linear_solve_forward(primals: Sequence, tangents: Sequence, programs: Programs) -> tuple:
    """A x = b gives dx = A^-1 (db - dA x)."""
    consts, _ = programs.split(primals)
    const_tangents, db = programs.split(tangents)
    x = linear_solve_p.bind(*primals, programs=programs)
    moved = tuple(t is not None for t in const_tangents[0])
    rhs = list(db)
    if any(moved):
        program, nonzero = jvp_program(programs.matvec, (*moved, *(False,) * len(x)))
        given = [t for t in const_tangents[0] if t is not None]
        outs = program(*consts[0], *x, *given)
        of_matrix = spread(nonzero, outs[len(x) :])
        rhs = [
            add_tangents(d, None if m is None else neg(m))
            for d, m in zip(rhs, of_matrix, strict=True)
        ]
    if all(r is None for r in rhs):
        return x, [None] * len(x)
    full = [instantiate_zeros(v, r) for v, r in zip(x, rhs, strict=True)]
    flat_consts = [c for group in consts for c in group]
    return x, linear_solve_p.bind(*flat_consts, *full, programs=programs)


def linear_solve_backward(cts: Sequence, *args: Any, programs: Programs) -> list[Any]:
    """The cotangent of b is A^-T times that of x."""
    consts, b = programs.split(args)
    if any(is_linear(c) for group in consts for c in group) or not all(map(is_linear, b)):
        raise TypeError("custom_linear_solve is linear in b only, and in all of b together")
    full = [instantiate_ct(ct, arg.aval) for ct, arg in zip(cts, b, strict=True)]
    flipped = programs.transposed()
    m, v, s, t = consts
    found = linear_solve_p.bind(*v, *m, *t, *s, *full, programs=flipped)
    return [None] * sum(programs.counts) + list(found)


def linear_solve_batch(
    axis: BatchAxis, values: Sequence, axes: Sequence, programs: Programs
) -> tuple:
    """Every program batched; b and x are batched throughout."""
    consts, b = programs.split(list(zip(values, axes, strict=True)))
    batched: dict[str, ClosedJaxpr | None] = {}
    for name, program, group in zip(
        ("matvec", "vecmat", "solve", "transpose_solve"), programs[:4], consts, strict=True
    ):
        mask = tuple(a is not None for _, a in group) + (True,) * len(b)
        batched[name] = None if program is None else batch_program(program, axis, mask, True)[0]
    flat = [pair for group in consts for pair in group]
    moved = fronted([v for v, _ in flat], [a for _, a in flat])
    outs = linear_solve_p.bind(
        *moved,
        *(to_front(axis, v, a) for v, a in b),
        programs=programs._replace(**batched),
    )
    return outs, [0] * len(outs)


def check_solution(name: str, b: Sequence[Any], outs: Sequence[ShapedArray]) -> None:
    """A solver must return something of the type of b."""
    expected = [tangent_aval(aval_of(v)) for v in b]
    for want, got in zip(expected, outs, strict=True):
        if (want.shape, want.dtype) != (got.shape, got.dtype):
            raise TypeError(
                f"custom_linear_solve: {name} must return values of the types of b: expected "
                f"{want.str_short()}, got {got.str_short()}"
            )


evaluate_rules[linear_solve_p] = linear_solve_evaluate
abstract_rules[linear_solve_p] = linear_solve_abstract
forward.rules[linear_solve_p] = linear_solve_forward
backward.rules[linear_solve_p] = linear_solve_backward
batching.rules[linear_solve_p] = linear_solve_batch
