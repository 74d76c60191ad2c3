"""Transposition: run a linear program from its end, turning cotangents of outputs into inputs'.

No built-in primitive has a reverse-mode derivative; those linear in an input say here what their
transpose with respect to it is.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.base.aval import ShapedArray, tangent_aval
from funcgrad.base.basis import unbroadcast
from funcgrad.base.lists import Mask, drop, given, merge, pick, present, spread
from funcgrad.base.trace import Primitive, at_source
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Jaxpr, Literal, Var
from funcgrad.transforms.forward import add_tangents, zeros_like_aval
from funcgrad.transforms.staging import stage_closed

# (cts, *args, **params) -> cts of the arguments that are Linear, None for the others
rules: dict[Primitive, Callable] = {}


class Linear(NamedTuple):
    """In a backward rule, the place of an input that the output is linear in."""

    aval: ShapedArray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    def __jax_array__(self) -> Any:
        raise TypeError(
            "a function that is to be transposed must be linear in its arguments, but here values "
            f"that both depend on them are combined, one of type {self.aval.str_short()}: a "
            "product of the two is not linear. Close over one of them, or use vjp."
        )


def is_linear(arg: Any) -> bool:
    return isinstance(arg, Linear)


def backward_pass(
    jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], cts: Sequence[Any]
) -> list[Any]:
    """Cotangents of the arguments given as Linear (None where zero), in their places.

    Equations that depend on no Linear argument are simply evaluated.
    """
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Atom) -> Any:
        return atom.array if isinstance(atom, Literal) else env[atom]

    tape: list[tuple[Eqn, list[Any]]] = []
    for eqn in jaxpr.eqns:
        values = [read(v) for v in eqn.invars]
        if any(map(is_linear, values)):
            outs = [Linear(v.aval) for v in eqn.outvars]
            tape.append((eqn, values))
        else:
            outs = at_source(eqn.source, eqn.primitive.bind, *values, **eqn.params)
        env.update(zip(eqn.outvars, outs, strict=True))

    pending: dict[Var, Any] = {}

    def accumulate(atoms: Sequence[Atom], cts: Sequence[Any]) -> None:
        for atom, ct in zip(atoms, cts, strict=True):
            if ct is not None and isinstance(atom, Var) and is_linear(env[atom]):
                pending[atom] = add_tangents(pending.get(atom), ct)

    accumulate(jaxpr.outvars, cts)
    for eqn, values in reversed(tape):
        out_cts = [pending.pop(v, None) for v in eqn.outvars]
        if any(present(out_cts)):
            rule = _rule_of(eqn)
            accumulate(eqn.invars, at_source(eqn.source, rule, out_cts, *values, **eqn.params))
    return [
        pending.get(v) if is_linear(a) else None for v, a in zip(jaxpr.invars, args, strict=True)
    ]


def _rule_of(eqn: Eqn) -> Callable:
    rule = rules.get(eqn.primitive)
    if rule is None:
        place = f" (at {eqn.source.describe()})" if eqn.source else ""
        raise NotImplementedError(
            f"{eqn.primitive} cannot be differentiated in reverse mode{place}"
        )
    return rule


def backward_program(program: ClosedJaxpr, linear: Mask, nonzero: Mask) -> tuple[ClosedJaxpr, Mask]:
    """The program (known inputs, nonzero output cts) -> nonzero cts of the linear inputs.

    Also says, for each linear input, whether its cotangent is among those.
    """

    def make() -> tuple[ClosedJaxpr, Mask]:
        in_nonzero: list[bool] = []
        known_avals, linear_avals = drop(linear, program.in_avals), pick(linear, program.in_avals)

        def run(*flat: Any) -> list[Any]:
            known, out_cts = flat[: len(known_avals)], flat[len(known_avals) :]
            args = merge(linear, known, map(Linear, linear_avals))
            cts = spread(nonzero, out_cts)
            in_cts = pick(linear, backward_pass(program.jaxpr, program.consts, args, cts))
            in_nonzero.extend(present(in_cts))
            return given(in_cts)

        ct_avals = map(tangent_aval, pick(nonzero, program.out_avals))
        avals = [*known_avals, *ct_avals]
        closed, operands = stage_closed(run, avals, program.jaxpr.debug_info)
        assert not operands
        return closed, tuple(in_nonzero)

    return program.derived(("backward", linear, nonzero), make)


def instantiate_ct(ct: Any, aval: ShapedArray) -> Any:
    """The cotangent itself, or zeros of the type that belongs to `aval` where it is None."""
    return zeros_like_aval(tangent_aval(aval)) if ct is None else ct


def elementwise(primitive: Primitive, *transposes: Callable | None) -> None:
    """Register a one-output elementwise primitive, linear in some arguments.

    `transposes[i](ct, *args, **params)` is the cotangent of argument i when it is Linear; the sum
    over axes that the argument was stretched along is taken here.
    """

    def rule(cts: Sequence, *args: Any, **params: Any) -> list[Any]:
        (ct,) = cts
        return [
            unbroadcast(transpose(ct, *args, **params), arg.aval)
            if is_linear(arg) and transpose is not None
            else None
            for transpose, arg in zip(transposes, args, strict=True)
        ]

    rules[primitive] = rule


def unary(primitive: Primitive, transpose: Callable) -> None:
    """Register a linear primitive of one array: `transpose(ct, operand, **params)` is its ct."""

    def rule(cts: Sequence, operand: Any, **params: Any) -> list[Any]:
        return [transpose(cts[0], operand, **params)]

    rules[primitive] = rule
