"""Taylor mode: values travel with the coefficients of a power series in t, and so do results.

A series is the list [x_1, ..., x_K] of x(t) = x_0 + x_1 t + ... + x_K t^K; None where it is zero.
A primitive without a rule here needs none: z' = J(x) x' is what its forward rule computes, and that
rule, run on series of one term less, gives the coefficients of z'.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from funcgrad.base.array import ConcreteArray, as_value
from funcgrad.base.aval import aval_of, tangent_aval
from funcgrad.base.basis import add, broadcast_scalar, mul
from funcgrad.base.dtypes import float0
from funcgrad.base.lists import Mask, given, pick, present, spread
from funcgrad.base.trace import Primitive, Trace, current_trace, start, under
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.transforms import forward
from funcgrad.transforms.forward import ForwardTracer, zeros_like_aval
from funcgrad.transforms.staging import stage_closed

Series = list[Any] | None

# (order, primals, series, **params) -> outs, out series
rules: dict[Primitive, Callable] = {}
# params -> the program that the primitive runs once on its operands
programs: dict[Primitive, Callable[[dict[str, Any]], ClosedJaxpr]] = {}


class Taylor(Trace):
    """The interpreter of Taylor mode for series of `order` terms."""

    description = "Taylor-mode differentiation (jet)"

    def __init__(self, parent: Trace, order: int):
        self.parent = parent
        self.records = parent.records
        self.order = order
        # The primitive whose derivative is expanded, and its operands here: derivatives compute
        # the primitive itself again, and often do not use that.
        self.seldom: tuple[Primitive | None, list[Any]] = (None, [])

    def process(self, primitive: Primitive, args: Sequence, params: dict[str, Any]) -> tuple:
        pairs = [self.unpack(arg) for arg in args]
        primals, series = [p for p, _ in pairs], [s for _, s in pairs]
        if not given(series):
            return self.parent.process(primitive, primals, params)
        if primitive in programs:
            return under(self, programs[primitive](params), *args)
        rule = rules.get(primitive) or by_derivative(primitive)
        operands = (self.order, primals, series)
        if primitive is self.seldom[0] and same(args, self.seldom[1]):
            values = self.parent.process(primitive, primals, params)
            series_of = cache(lambda: self.apply(primitive, rule, operands, params)[1])
            return tuple(
                TaylorTracer(self, value, lambda i=i: series_of()[i])
                for i, value in enumerate(values)
            )
        outs, out_series = self.apply(primitive, rule, operands, params)
        return tuple(map(self.pack, outs, out_series))

    def pack(self, primal: Any, series: Series) -> Any:
        if series is None:
            return primal
        return TaylorTracer(self, as_value(primal), [as_value(term) for term in series])

    def unpack(self, value: Any) -> tuple[Any, Series]:
        """The value at t = 0 and the other coefficients, None where it does not depend on t."""
        if type(value) is TaylorTracer and value._trace is self:
            series: Any = value.tangent
            if callable(series):
                series = value.tangent = series()
            return value.primal, series
        if type(value) is not ConcreteArray:
            self.check_alive(value)
        return value, None


def same(args: Sequence, operands: Sequence) -> bool:
    """Whether the arguments are the leading ones of the operands."""
    return all(a is b for a, b in zip(args, operands))


class TaylorTracer(ForwardTracer):
    """A value at t = 0 and its series, or what computes it, where a ForwardTracer has a tangent."""

    __slots__ = ()

    _trace: Taylor

    def __init__(self, trace: Taylor, primal: Any, series: Any):
        self._trace = trace
        self.primal = primal
        self.tangent = series
        self.aval = primal.aval

    def __repr__(self) -> str:
        return f"TaylorTracer<{self.primal!r} with series {self.tangent!r}>"


def expand(
    function: Callable[..., Sequence[Any]],
    order: int,
    primals: Sequence[Any],
    series: Sequence,
    seldom: Primitive | None = None,
) -> tuple[list[Any], list[Series]]:
    """Run a flat function on series of `order` terms.

    The series of `seldom` applied to the leading operands is computed only if it is used.
    """
    if not order:
        outs = function(*primals)
        return list(outs), [None] * len(outs)
    trace = Taylor(current_trace(), order)
    operands = list(map(trace.pack, primals, series))
    trace.seldom = (seldom, operands)
    outs = start(trace, function, *operands)
    pairs = [trace.unpack(out) for out in outs]
    return [out for out, _ in pairs], [terms for _, terms in pairs]


def taylor_program(program: ClosedJaxpr, order: int, moving: Mask) -> ClosedJaxpr:
    """The program (primals, all terms of each moving input) -> (outs, all terms of each output).

    Outputs of integers and booleans have no terms.
    """

    def make() -> ClosedJaxpr:
        count = len(moving)

        def run(*flat: Any) -> list[Any]:
            columns = [list(flat[i : i + order]) for i in range(count, len(flat), order)]
            outs, found = expand(program, order, flat[:count], spread(moving, columns))
            terms = []
            for out, series in zip(outs, found, strict=True):
                tangent = tangent_aval(aval_of(out))
                if tangent.dtype != float0:
                    terms += series or [zeros_like_aval(tangent)] * order
            return [*outs, *terms]

        terms = [a for a in pick(moving, program.in_avals) for _ in range(order)]
        avals = [*program.in_avals, *terms]
        closed, operands = stage_closed(run, avals, program.jaxpr.debug_info)
        assert not operands
        return closed

    return program.derived(("taylor", order, moving), make)


def columns(order: int, wanted: Mask, terms: Sequence[Any]) -> list[Series]:
    """Terms that stand one after the other as the series of the outputs marked in `wanted`."""
    found = [list(terms[i : i + order]) for i in range(0, len(terms), order)]
    return spread(wanted, found)


def by_derivative(primitive: Primitive) -> Callable:
    """The rule that follows from the forward rule: the series of z' = J(x) x', integrated."""
    derivative = forward.rules.get(primitive)
    if derivative is None:
        raise NotImplementedError(
            f"{primitive} has no derivative, so Taylor mode (jet) has no rule for it"
        )

    def rule(order: int, primals: Sequence, series: Sequence, **params: Any) -> tuple:
        count, moving = len(primals), present(series)
        speeds = [[scaled(x, k) for k, x in enumerate(s, 1)] for s in given(series)]
        nonzero: list[bool] = []

        def velocities(*flat: Any) -> list[Any]:
            outs, found = derivative(flat[:count], spread(moving, flat[count:]), **params)
            nonzero.extend(present(found))
            starts = [o.primal if type(o) is TaylorTracer else o for o in outs]
            return [*starts, *given(found)]

        firsts, shorter = [s[0] for s in speeds], [None if s is None else s[:-1] for s in series]
        values, terms = expand(
            velocities,
            order - 1,
            [*primals, *firsts],
            [*shorter, *(s[1:] for s in speeds)],
            seldom=primitive,
        )
        half = len(nonzero)
        found = [integrated(order, z, more) for z, more in zip(values[half:], terms[half:])]
        return values[:half], spread(nonzero, found)

    return rule


def integrated(order: int, first: Any, rest: Series) -> list[Any]:
    """The series of z, from that of z'."""
    speeds = [first, *(rest or [zeros_like_aval(aval_of(first))] * (order - 1))]
    return [scaled(d, 1 / k) for k, d in enumerate(speeds, 1)]


def scaled(x: Any, factor: float) -> Any:
    """A number times an array, in the array's dtype."""
    if factor == 1:
        return x
    return mul(x, broadcast_scalar(factor, aval_of(x).update(shape=())))


def total(terms: Sequence[Any]) -> Any:
    """The sum of the terms that are not None; None if there are none."""
    result = None
    for term in given(terms):
        result = term if result is None else add(result, term)
    return result


def locally_linear(*primitives: Primitive) -> None:
    """Register primitives that, near any point, are linear in what they can be differentiated by.

    Their derivative does not change along the series, so each coefficient is pushed forward alone.
    """

    def register(primitive: Primitive) -> None:
        def rule(order: int, primals: Sequence, series: Sequence, **params: Any) -> tuple:
            outs, columns = (), []
            for k in range(order):
                tangents = [None if s is None else s[k] for s in series]
                outs, found = forward.rules[primitive](primals, tangents, **params)
                columns.append(found)
            return outs, [None if s[0] is None else list(s) for s in zip(*columns, strict=True)]

        rules[primitive] = rule

    for primitive in primitives:
        register(primitive)


def bilinear(*primitives: Primitive) -> None:
    """Register products of two arrays: z_k is the sum over i of x_i y_(k-i)."""

    def register(primitive: Primitive) -> None:
        def rule(order: int, primals: Sequence, series: Sequence, **params: Any) -> tuple:
            xs, ys = (terms_of(p, s, order) for p, s in zip(primals, series, strict=True))
            outs = []
            for k in range(order + 1):
                pairs = [(xs[i], ys[k - i]) for i in range(k + 1)]
                outs.append(
                    total([primitive.bind(x, y, **params) for x, y in pairs if _both(x, y)])
                )
            zero = zeros_like_aval(aval_of(outs[0]))
            return (outs[0],), ([zero if z is None else z for z in outs[1:]],)

        rules[primitive] = rule

    for primitive in primitives:
        register(primitive)


def terms_of(primal: Any, series: Series, order: int) -> list[Any]:
    """All coefficients from x_0 on; None for those that are zero."""
    return [primal, *(series or [None] * order)]


def _both(x: Any, y: Any) -> bool:
    return x is not None and y is not None
