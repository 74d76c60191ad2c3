"""Derivatives of a user's primitive, in the form that JAX's rules have.

Zero tangents and cotangents are `Zero` objects there, operands to be transposed `UndefinedPrimal`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.api.rule_tables import RuleTable, shown
from funcgrad.base.array import as_value
from funcgrad.base.aval import ShapedArray, aval_of, tangent_aval
from funcgrad.base.basis import add
from funcgrad.base.trace import Primitive, abstract_eval
from funcgrad.transforms import backward, forward
from funcgrad.transforms.backward import Linear


class Zero:
    """A tangent or cotangent that is known to be zero, of the type `aval`."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    @staticmethod
    def from_primal_value(value: Any) -> "Zero":
        return Zero(tangent_aval(aval_of(value)))

    def instantiate(self) -> Any:
        """An array of zeros."""
        return forward.zeros_like_aval(self.aval)

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"


class UndefinedPrimal:
    """In a transpose rule, the place of an operand that the output is linear in."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval.str_short()})"


def is_undefined_primal(x: Any) -> bool:
    """Whether a transpose rule is asked for the cotangent of this operand."""
    return type(x) is UndefinedPrimal


def instantiate_zeros(tangent: Any) -> Any:
    """Zeros in the place of a `Zero`; anything else as it is."""
    return tangent.instantiate() if type(tangent) is Zero else tangent


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents, each of which may be a `Zero`."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add(x, y)


def without_zero(value: Any) -> Any:
    """What our own rules return: None for zero."""
    return None if value is None or type(value) is Zero else as_value(value)


# forward mode


def jvp_inward(primitive: Primitive, rule: Callable) -> Callable:
    def forward_rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        moves = [
            Zero.from_primal_value(p) if t is None else t
            for p, t in zip(primals, tangents, strict=True)
        ]
        out, out_tangent = rule(tuple(primals), tuple(moves), **params)
        outs, out_tangents = primitive.tupled(out), primitive.tupled(out_tangent)
        return list(map(as_value, outs)), list(map(without_zero, out_tangents))

    return forward_rule


def jvp_outward(primitive: Primitive, rule: Callable) -> Callable:
    def jvp_rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        outs, moves = rule(list(primals), list(map(without_zero, tangents)), **params)
        moves = [
            Zero.from_primal_value(o) if t is None else t for o, t in zip(outs, moves, strict=True)
        ]
        return shown(primitive, outs), shown(primitive, moves)

    return jvp_rule


# (primals, tangents, **params) -> (out, tangent of out), lists of them with multiple_results
primitive_jvps = RuleTable(forward.rules, jvp_inward, jvp_outward)


def defjvp(primitive: Primitive, *rules: Callable | None) -> None:
    """The tangent of the one output is the sum of `rules[i](tangent, *primals, **params)`.

    A rule that is None stands for an operand without influence.
    """
    given = [None if r is None else _without_answer(r) for r in rules]
    defjvp2(primitive, *given)


def _without_answer(rule: Callable) -> Callable:
    return lambda tangent, _, *primals, **params: rule(tangent, *primals, **params)


def defjvp2(primitive: Primitive, *rules: Callable | None) -> None:
    """Like `defjvp` with rules that get the output: `rule(tangent, out, *primals, **params)`."""

    def jvp_rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        out = primitive.bind(*primals, **params)
        total: Any = Zero.from_primal_value(out)
        for rule, tangent in zip(rules, tangents, strict=True):
            if rule is not None and type(tangent) is not Zero:
                total = add_tangents(total, rule(tangent, out, *primals, **params))
        return out, total

    primitive_jvps[primitive] = jvp_rule


# transposition


def transpose_inward(primitive: Primitive, rule: Callable) -> Callable:
    def backward_rule(cts: Sequence, *args: Any, **params: Any) -> list[Any]:
        operands = [UndefinedPrimal(a.aval) if type(a) is Linear else a for a in args]
        if any(ct is None for ct in cts):
            avals, _ = abstract_eval(primitive, [aval_of(a) for a in args], params)
            cts = [
                Zero(tangent_aval(a)) if ct is None else ct
                for ct, a in zip(cts, avals, strict=True)
            ]
        found = rule(shown(primitive, cts), *operands, **params)
        if len(found) != len(args):
            raise TypeError(
                f"the transpose rule of {primitive} returned {len(found)} cotangents for "
                f"{len(args)} operands: return one for each, None where it is no UndefinedPrimal."
            )
        return list(map(without_zero, found))

    return backward_rule


def transpose_outward(primitive: Primitive, rule: Callable) -> Callable:
    def transpose_rule(ct: Any, *args: Any, **params: Any) -> list[Any]:
        cts = list(map(without_zero, primitive.tupled(ct)))
        operands = [Linear(a.aval) if type(a) is UndefinedPrimal else a for a in args]
        found = rule(cts, *operands, **params)
        return [
            Zero(tangent_aval(a.aval)) if c is None and type(a) is UndefinedPrimal else c
            for c, a in zip(found, args, strict=True)
        ]

    return transpose_rule


# (cotangent, *args, **params) -> cotangents of the args; a list of cotangents with multiple_results
primitive_transposes = RuleTable(backward.rules, transpose_inward, transpose_outward)


def get_primitive_transpose(primitive: Primitive) -> Callable:
    """The transpose rule of a primitive; NotImplementedError where it has none."""
    try:
        return primitive_transposes[primitive]
    except KeyError:
        raise NotImplementedError(f"{primitive} has no transpose rule") from None


def deflinear(primitive: Primitive, transpose: Callable) -> None:
    """A primitive linear in all operands; `transpose(ct, **params)` lists their cotangents."""
    deflinear2(primitive, lambda ct, *_, **params: transpose(ct, **params))


def deflinear2(primitive: Primitive, transpose: Callable) -> None:
    """The same; `transpose(ct, *args, **params)` also sees the operands."""

    def jvp_rule(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
        out = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            zeros = [Zero.from_primal_value(o) for o in primitive.tupled(out)]
            return out, shown(primitive, zeros)
        return out, primitive.bind(*map(instantiate_zeros, tangents), **params)

    def transpose_rule(ct: Any, *args: Any, **params: Any) -> Any:
        if all(type(c) is Zero for c in primitive.tupled(ct)):
            return [Zero(tangent_aval(a.aval)) if is_undefined_primal(a) else None for a in args]
        return transpose(ct, *args, **params)

    primitive_jvps[primitive] = jvp_rule
    primitive_transposes[primitive] = transpose_rule


def defbilinear(primitive: Primitive, lhs_rule: Callable, rhs_rule: Callable) -> None:
    """A primitive of two operands, linear in each.

    `lhs_rule(ct, lhs, rhs, **params)` is the cotangent of lhs, which is an UndefinedPrimal there;
    `rhs_rule` that of rhs.
    """

    def with_lhs(tangent: Any, lhs: Any, rhs: Any, **params: Any) -> Any:
        return primitive.bind(tangent, rhs, **params)

    def with_rhs(tangent: Any, lhs: Any, rhs: Any, **params: Any) -> Any:
        return primitive.bind(lhs, tangent, **params)

    def transpose_rule(ct: Any, lhs: Any, rhs: Any, **params: Any) -> tuple:
        if is_undefined_primal(lhs) == is_undefined_primal(rhs):
            raise TypeError(f"{primitive} is not linear in both operands together")
        if is_undefined_primal(lhs):
            return lhs_rule(ct, lhs, rhs, **params), None
        return None, rhs_rule(ct, lhs, rhs, **params)

    defjvp(primitive, with_lhs, with_rhs)
    primitive_transposes[primitive] = transpose_rule
