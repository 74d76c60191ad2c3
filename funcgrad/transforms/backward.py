"""Transposition: run a linear program from its end, turning cotangents of outputs into inputs'.

No built-in primitive has a reverse-mode derivative; those linear in an input say here what their
transpose with respect to it is.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from funcgrad.base.array import as_value
from funcgrad.base.aval import ShapedArray, tangent_aval
from funcgrad.base.basis import add, unbroadcast
from funcgrad.base.lists import Mask, drop, given, merge, pick, present, spread
from funcgrad.base.source import Place, sources
from funcgrad.base.trace import Primitive
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Jaxpr, Literal
from funcgrad.transforms.forward import zeros_like_aval
from funcgrad.transforms.staging import stage_closed

# (cts, *args, **params) -> cts of the arguments that are Linear, None for the others
rules: dict[Primitive, Callable] = {}


class Linear:
    """In a backward rule, the place of an input that the output is linear in."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

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
    return type(arg) is Linear


def backward_pass(
    jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], cts: Sequence[Any]
) -> list[Any]:
    """Cotangents of the arguments given as Linear (None where zero), in their places.

    Equations that depend on no Linear argument are simply evaluated.
    """
    env: dict[Atom, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    linear: set[Atom] = {v for v, a in zip(jaxpr.invars, args) if type(a) is Linear}
    pending: dict[Atom, Any] = {}

    def collect(atoms: Sequence[Atom], cts: Sequence[Any]) -> None:
        for atom, ct in zip(atoms, cts, strict=True):
            if ct is not None and atom in linear:
                before = pending.get(atom)
                pending[atom] = ct if before is None else add(before, ct)

    with sources() as at:
        tape = _linear_part(jaxpr, env, linear, at)
        collect(jaxpr.outvars, [None if ct is None else as_value(ct) for ct in cts])
        for eqn in reversed(tape):
            invars, outvars, primitive, params, _, place = eqn
            out_cts, reached = [], False
            for var in outvars:
                ct = pending.pop(var, None)
                out_cts.append(ct)
                reached = reached or ct is not None
            if not reached:
                continue
            at(place)
            values = []
            for v in invars:
                if v in linear:
                    values.append(Linear(v.aval))
                else:
                    values.append(v.array if type(v) is Literal else env[v])
            rule = rules.get(primitive) or _no_rule(eqn)
            collect(invars, rule(out_cts, *values, **params))
    return [pending.get(v) if v in linear else None for v in jaxpr.invars]


def _linear_part(
    jaxpr: Jaxpr, env: dict[Atom, Any], linear: set[Atom], at: Callable[[Place | None], Any]
) -> list[Eqn]:
    """The equations that depend on a linear variable; runs the others."""
    tape = []
    for eqn in jaxpr.eqns:
        if linear.isdisjoint(eqn.invars):
            at(eqn.source)
            values = [v.array if type(v) is Literal else env[v] for v in eqn.invars]
            outs = eqn.primitive.bind_list(values, eqn.params)
            env.update(zip(eqn.outvars, outs, strict=True))
        else:
            linear.update(eqn.outvars)
            tape.append(eqn)
    return tape


def _no_rule(eqn: Eqn) -> NoReturn:
    place = f" (at {eqn.source.describe()})" if eqn.source else ""
    raise NotImplementedError(f"{eqn.primitive} cannot be differentiated in reverse mode{place}")


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
        in_cts = []
        for i, arg in enumerate(args):
            in_ct = None
            if type(arg) is Linear and (transpose := transposes[i]) is not None:
                in_ct = transpose(ct, *args, **params)
                if in_ct.aval is not arg.aval:
                    in_ct = unbroadcast(in_ct, arg.aval)
            in_cts.append(in_ct)
        return in_cts

    rules[primitive] = rule


def unary(primitive: Primitive, transpose: Callable) -> None:
    """Register a linear primitive of one array: `transpose(ct, operand, **params)` is its ct."""

    def rule(cts: Sequence, operand: Any, **params: Any) -> list[Any]:
        return [transpose(cts[0], operand, **params)]

    rules[primitive] = rule
