"""Functions with derivative rules of the user's: custom_jvp_call, custom_vjp_call, custom_lin.

Their params hold Python functions on flat values. `fun` is what evaluation calls; in a staged
program it is a ClosedJaxpr. The first `num_consts` operands are values that the function closes
over: the rules do not differentiate with respect to them.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial as bound_partial
from typing import Any

from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray, aval_of, tangent_aval
from funcgrad.base.basis import reduce_sum
from funcgrad.base.dtypes import float0
from funcgrad.base.errors import UnexpectedTracerError
from funcgrad.base.lists import Mask, drop, given, merge, pick, present, spread
from funcgrad.base.trace import (
    NO_EFFECTS,
    CallPrimitive,
    Effects,
    Primitive,
    abstract_rules,
    evaluate_rules,
    under,
)
from funcgrad.compiler.passes import inline
from funcgrad.compiler.pipeline import compiled
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.transforms import backward, batching, forward, partial, staging
from funcgrad.transforms.backward import Linear, backward_pass
from funcgrad.transforms.batching import BatchAxis, to_front, vmap_flat
from funcgrad.transforms.forward import with_zeros, zeros_like_aval
from funcgrad.transforms.staging import Recorder, stage, stage_closed

custom_jvp_call_p = CallPrimitive("custom_jvp_call", multiple_results=True)
custom_vjp_call_p = CallPrimitive("custom_vjp_call", multiple_results=True)
custom_lin_p = CallPrimitive("custom_lin", multiple_results=True)


class SymbolicZero:
    """A tangent or cotangent known to be zero, given to rules that asked for symbolic zeros."""

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.str_short()})"


def check_consts(name: str, tangents: Sequence[Any], num_consts: int) -> None:
    """Raise if something that a custom rule closes over is being differentiated."""
    if any(present(tangents[:num_consts])):
        raise UnexpectedTracerError(
            f"{name} has a custom derivative rule, and closes over a value (or takes it through "
            "nondiff_argnums) with respect to which a derivative is being taken. The rule says "
            "nothing about that value: pass it as an ordinary argument, or use closure_convert."
        )


def filled(primals: Sequence, tangents: Sequence, symbolic: bool) -> list[Any]:
    """Tangents with zeros, or SymbolicZeros, in place of None."""
    avals = [tangent_aval(aval_of(p)) for p in primals]
    return with_zeros(tangents, avals, zero_maker(symbolic))


def zero_maker(symbolic: bool) -> Callable[[ShapedArray], Any]:
    return SymbolicZero if symbolic else zeros_like_aval


def derivatives(tangents: Sequence[Any]) -> list[Any]:
    """Tangents that a rule gave; None for those that say that there is no derivative."""
    return [
        None if isinstance(t, SymbolicZero) or aval_of(t).dtype == float0 else t for t in tangents
    ]


def staged_fun(fun: Callable, args: Sequence[Any]) -> tuple[ClosedJaxpr, list[Any]]:
    return stage_closed(fun, [aval_of(a) for a in args])


def call_abstract(*avals: ShapedArray, fun: ClosedJaxpr, **params: Any) -> tuple[tuple, Effects]:
    return tuple(fun.out_avals), fun.effects


def call_evaluate(xp: Any, *buffers: Any, fun: ClosedJaxpr, **params: Any) -> Sequence[Any]:
    return compiled(fun)(*buffers)


def front_all(axis: BatchAxis, function: Callable, axes: Sequence[int | None]) -> Callable:
    """`function` on batches: inputs batched at `axes`, every output at axis 0."""

    def run(*values: Any) -> list[Any]:
        outs, where = vmap_flat(function, axis, values, axes)
        return [batched_result(axis, o, w) for o, w in zip(outs, where, strict=True)]

    return run


# custom_jvp_call: jvp(*consts, *primals, *tangents) -> [*outs, *out_tangents]

# Names of the functions whose rules are being written down.
_being_written: ContextVar[frozenset[str]] = ContextVar("being_written", default=frozenset())


def custom_jvp_stage(trace: Recorder, args: Sequence, params: dict[str, Any]) -> tuple:
    fun, operands = staged_fun(params["fun"], args)
    num_consts = params["num_consts"] + len(operands)
    jvp = params["jvp"]
    if operands and params["name"] in _being_written.get():
        # The rule calls its own function: that call keeps the rule as it is.
        jvp = dropping(len(operands), jvp)
    elif operands:
        jvp = jvp_with_operands(params, args, operands)
    new = {**params, "fun": fun, "jvp": jvp, "num_consts": num_consts}
    return trace.record(custom_jvp_call_p, [*operands, *args], new)


def jvp_with_operands(params: dict[str, Any], args: Sequence, operands: Sequence) -> Callable:
    """The rule written down now, so that no tracer it closes over is met after its trace ended."""
    num_consts = params["num_consts"]
    avals = [aval_of(a) for a in args]
    tangents = [tangent_aval(a) for a in avals[num_consts:]]
    token = _being_written.set(_being_written.get() | {params["name"]})
    try:
        rule, rule_operands = stage_closed(params["jvp"], [*avals, *tangents])
    finally:
        _being_written.reset(token)
    known = {id(o): i for i, o in enumerate(operands)}
    if not all(id(o) in known for o in rule_operands):
        raise UnexpectedTracerError(
            f"the custom_jvp rule of {params['name']} closes over a traced value that the function "
            "itself does not use; pass it as an argument"
        )
    places = [known[id(o)] for o in rule_operands]

    def jvp(*flat: Any) -> Sequence[Any]:
        consts, rest = flat[: len(operands)], flat[len(operands) :]
        return rule(*[consts[i] for i in places], *rest)

    return jvp


def is_python_number(value: Any) -> bool:
    """Whether a residual is the same for every run, and goes by interpreters."""
    return type(value) in (bool, int, float, complex)


def batched_result(axis: BatchAxis, value: Any, where: int | None) -> Any:
    """What a user's function returned for a batch, with the batch axis in front."""
    if is_python_number(value):
        return value
    if isinstance(value, SymbolicZero):
        return SymbolicZero(value.aval.update(shape=(axis.size, *value.aval.shape)))
    return to_front(axis, value, where)


def custom_jvp_forward(
    primals: Sequence,
    tangents: Sequence,
    *,
    jvp: Callable,
    num_consts: int,
    symbolic_zeros: bool,
    name: str,
    **_: Any,
) -> tuple:
    check_consts(name, tangents, num_consts)
    flat = jvp(*primals, *filled(primals[num_consts:], tangents[num_consts:], symbolic_zeros))
    count = len(flat) // 2
    return flat[:count], derivatives(flat[count:])


def custom_jvp_batch(
    axis: BatchAxis,
    values: Sequence,
    axes: Sequence,
    *,
    fun: Callable,
    jvp: Callable,
    **params: Any,
) -> tuple:
    tangent_axes = axes[params["num_consts"] :]
    outs = custom_jvp_call_p.bind(
        *values,
        fun=front_all(axis, fun, axes),
        jvp=front_all(axis, jvp, [*axes, *tangent_axes]),
        **{**params, "symbolic_zeros": False},
    )
    return outs, [0] * len(outs)


# custom_vjp_call: fwd(*consts, *primals) -> outs, res;  bwd(*res, *cts) -> cts of the primals


def custom_vjp_stage(trace: Recorder, args: Sequence, params: dict[str, Any]) -> tuple:
    fun, operands = staged_fun(params["fun"], args)
    num_consts = params["num_consts"] + len(operands)
    fwd = params["fwd"]
    if operands:
        fwd = dropping(len(operands), fwd)
    new = {**params, "fun": fun, "fwd": fwd, "num_consts": num_consts}
    return trace.record(custom_vjp_call_p, [*operands, *args], new)


def dropping(count: int, function: Callable) -> Callable:
    """The function without its first `count` arguments."""
    return lambda *args, **kwargs: function(*args[count:], **kwargs)


def custom_vjp_forward(
    primals: Sequence,
    tangents: Sequence,
    *,
    fwd: Callable,
    bwd: Callable,
    num_consts: int,
    symbolic_zeros: bool,
    name: str,
    **_: Any,
) -> tuple:
    check_consts(name, tangents, num_consts)
    perturbed = present(tangents[num_consts:])
    outs, res = fwd(*primals, perturbed=perturbed)
    full = filled(primals[num_consts:], tangents[num_consts:], symbolic=False)
    # Inputs without a derivative have no part in the tangent map.
    moving = tuple(p or aval_of(t).dtype != float0 for p, t in zip(perturbed, full, strict=True))
    out_avals = tuple(tangent_aval(aval_of(o)) for o in outs)
    numbers = tuple(map(is_python_number, res))
    of_arrays = bound_partial(with_numbers, bwd, numbers, tuple(pick(numbers, res)))
    of_moving = bound_partial(chosen_cts, of_arrays, moving)
    arrays = drop(numbers, res)
    moved = linear_call(of_moving, arrays, pick(moving, full), out_avals, symbolic_zeros)
    return outs, derivatives(moved)


def with_numbers(bwd: Callable, mask: Mask, numbers: tuple, *flat: Any) -> list[Any]:
    """A bwd rule on arrays and cotangents, the numbers among its residuals put in their places."""
    count = len(mask) - len(numbers)
    return bwd(*merge(mask, flat[:count], numbers), *flat[count:])


def chosen_cts(bwd: Callable, mask: Mask, *flat: Any) -> list[Any]:
    return pick(mask, bwd(*flat))


def custom_vjp_batch(
    axis: BatchAxis,
    values: Sequence,
    axes: Sequence,
    *,
    fun: Callable,
    fwd: Callable,
    bwd: Callable,
    **params: Any,
) -> tuple:
    num_consts = params["num_consts"]

    def batched_fwd(*args: Any, perturbed: tuple[bool, ...]) -> tuple[list[Any], list[Any]]:
        count = 0

        def both(*members: Any) -> list[Any]:
            nonlocal count
            outs, res = fwd(*members, perturbed=perturbed)
            count = len(outs)
            return [*outs, *res]

        flat = front_all(axis, both, axes)(*args)
        return flat[:count], flat[count:]

    def batched_bwd(*flat: Any) -> list[Any]:
        flat_axes = [
            None if isinstance(v, SymbolicZero) or is_python_number(v) else 0 for v in flat
        ]
        nonzero: list[bool] = []

        def run(*members: Any) -> list[Any]:
            cts = bwd(*members)
            nonzero.extend(present(cts))
            return given(cts)

        found = front_all(axis, run, flat_axes)(*flat)
        return [
            ct if ct is None or a is not None else reduce_sum(ct, (0,))
            for ct, a in zip(spread(nonzero, found), axes[num_consts:], strict=True)
        ]

    outs = custom_vjp_call_p.bind(
        *values,
        fun=front_all(axis, fun, axes),
        fwd=batched_fwd,
        bwd=batched_bwd,
        **{**params, "symbolic_zeros": False},
    )
    return outs, [0] * len(outs)


# custom_lin: the tangent map of a custom_vjp function, known by its transpose `bwd`


def linear_call(
    bwd: Callable,
    res: Sequence[Any],
    tangents: Sequence[Any],
    out_avals: tuple[ShapedArray, ...],
    symbolic_zeros: bool,
) -> tuple:
    in_avals = tuple(aval_of(t) for t in tangents)
    fun = bound_partial(transposed, bwd, len(res), in_avals, out_avals)
    return custom_lin_p.bind(
        *res,
        *tangents,
        fun=fun,
        bwd=bwd,
        num_res=len(res),
        arg_avals=(*map(aval_of, res), *in_avals),
        out_avals=out_avals,
        symbolic_zeros=symbolic_zeros,
    )


def transposed(
    bwd: Callable,
    num_res: int,
    in_avals: tuple[ShapedArray, ...],
    out_avals: tuple[ShapedArray, ...],
    *flat: Any,
) -> list[Any]:
    """The tangent map itself, as the transpose of the linear function ct -> bwd(res, ct)."""
    res, tangents = flat[:num_res], flat[num_res:]

    def pull(*cts: Any) -> list[Any]:
        return with_zeros(bwd(*res, *cts), in_avals)

    jaxpr, consts = stage(pull, out_avals)
    outs = backward_pass(jaxpr, consts, [Linear(a) for a in out_avals], tangents)
    return with_zeros(outs, out_avals)


def custom_lin_abstract(
    *avals: ShapedArray, out_avals: tuple[ShapedArray, ...], **params: Any
) -> tuple[tuple, Effects]:
    return out_avals, NO_EFFECTS


def custom_lin_evaluate(
    xp: Any, *buffers: Any, fun: Callable, arg_avals: tuple[ShapedArray, ...], **params: Any
) -> list[Any]:
    outs = fun(*map(ConcreteArray, buffers, arg_avals))
    return [o.buffer for o in outs]


def custom_lin_forward(
    primals: Sequence, tangents: Sequence, *, fun: Callable, **params: Any
) -> tuple:
    return forward.jvp(fun, primals, tangents)


def custom_lin_backward(
    cts: Sequence,
    *args: Any,
    bwd: Callable,
    num_res: int,
    out_avals: tuple[ShapedArray, ...],
    symbolic_zeros: bool,
    **params: Any,
) -> list[Any]:
    full = with_zeros(cts, out_avals, zero_maker(symbolic_zeros))
    return [None] * num_res + list(bwd(*args[:num_res], *full))


def custom_lin_batch(
    axis: BatchAxis,
    values: Sequence,
    axes: Sequence,
    *,
    fun: Callable,
    bwd: Callable,
    num_res: int,
    out_avals: tuple[ShapedArray, ...],
    **params: Any,
) -> tuple:
    res = batching.fronted(values[:num_res], axes[:num_res])
    res_axes = [None if a is None else 0 for a in axes[:num_res]]
    tangents = [to_front(axis, v, a) for v, a in zip(values[num_res:], axes[num_res:], strict=True)]
    batched_avals = tuple(a.update(shape=(axis.size, *a.shape)) for a in out_avals)
    inner_avals = tuple(a.update(shape=a.shape[1:]) for a in map(aval_of, tangents))

    def pull(*members: Any) -> list[Any]:
        return with_zeros(bwd(*members), inner_avals)

    batched_bwd = front_all(axis, pull, [*res_axes, *[0] * len(out_avals)])
    outs = linear_call(batched_bwd, res, tangents, batched_avals, symbolic_zeros=False)
    return outs, [0] * len(outs)


# registration


def _register(primitive: Primitive, stage_rule: Callable) -> None:
    evaluate_rules[primitive] = call_evaluate
    abstract_rules[primitive] = call_abstract
    staging.rules[primitive] = stage_rule
    partial.rules[primitive] = stage_rule
    inline.rules[primitive] = lambda eqn: eqn.params["fun"]


_register(custom_jvp_call_p, custom_jvp_stage)
forward.rules[custom_jvp_call_p] = custom_jvp_forward
batching.rules[custom_jvp_call_p] = custom_jvp_batch
# What is written down as linear is differentiated no more, so the function stands in for the call.
partial.rules[custom_jvp_call_p] = lambda trace, args, params: tuple(
    under(trace, params["fun"], *args)
)

_register(custom_vjp_call_p, custom_vjp_stage)
forward.rules[custom_vjp_call_p] = custom_vjp_forward
batching.rules[custom_vjp_call_p] = custom_vjp_batch

evaluate_rules[custom_lin_p] = custom_lin_evaluate
abstract_rules[custom_lin_p] = custom_lin_abstract
forward.rules[custom_lin_p] = custom_lin_forward
backward.rules[custom_lin_p] = custom_lin_backward
batching.rules[custom_lin_p] = custom_lin_batch
