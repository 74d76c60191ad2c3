"""Programs put together and taken apart by hand, as interpreters written against JAX do."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from funcgrad.api.linear_functions import WrappedFun
from funcgrad.base.array import as_value
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.lists import pick
from funcgrad.base.source import current_source
from funcgrad.base.trace import Effects, Primitive, current_trace, start
from funcgrad.compiler.passes import dce
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, DebugInfo, Eqn, Jaxpr, Var, subprograms
from funcgrad.transforms.partial import Partial
from funcgrad.transforms.staging import stage


def new_jaxpr_eqn(
    invars: Sequence[Atom],
    outvars: Sequence[Var],
    primitive: Primitive,
    params: dict[str, Any],
    effects: Effects,
    source_info: Any = None,
    ctx: Any = None,
) -> Eqn:
    """outvars = primitive[params](invars), at the line of `source_info` or of this call."""
    place = current_source() if source_info is None else source_info
    return Eqn(list(invars), list(outvars), primitive, params, Effects(effects), place)


def gensym() -> Callable[[ShapedArray], Var]:
    """A maker of new variables from avals."""
    return Var


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The programs among an equation's params, without their constants."""
    for program in subprograms(params):
        yield program.jaxpr if isinstance(program, ClosedJaxpr) else program


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The programs that a program's equations carry."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: bool | Sequence[bool], instantiate: bool = False
) -> tuple[Jaxpr, list[bool]]:
    """What a program needs to compute for some of its outputs, and which inputs it uses.

    Args:
        jaxpr: the program.
        used_outputs: which outputs stay.
        instantiate: whether unused inputs stay all the same.
    """
    count = len(jaxpr.outvars)
    used = (used_outputs,) * count if isinstance(used_outputs, bool) else tuple(used_outputs)
    return dce.dce_jaxpr(jaxpr, used, keep_inputs=instantiate)


def trace_to_jaxpr_dynamic(
    fun: WrappedFun, in_avals: Sequence[ShapedArray]
) -> tuple[Jaxpr, list[ShapedArray], list[Any]]:
    """The program of a function of flat arrays, the avals of its outputs, and its constants."""

    def flat(*args: Any) -> list[Any]:
        return list(map(as_value, fun.call_wrapped(*args)))

    jaxpr, consts = stage(flat, in_avals, DebugInfo(fun.__name__))
    return jaxpr, jaxpr.out_avals, consts


class PartialVal(tuple):
    """A value that is known, (None, value), or of which only the aval is, (aval, None)."""

    @classmethod
    def known(cls, value: Any) -> "PartialVal":
        return cls((None, value))

    @classmethod
    def unknown(cls, aval: ShapedArray) -> "PartialVal":
        return cls((aval, None))

    def is_known(self) -> bool:
        return self[0] is None

    def get_known(self) -> Any:
        """The value, None where it is not known."""
        return self[1]

    def get_aval(self) -> ShapedArray:
        return aval_of(self[1]) if self.is_known() else self[0]


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Compute what follows from known arguments, and write down the rest.

    Args:
        fun: a function of flat arrays.
        pvals: what is known of each argument.
        instantiate: which outputs are the program's even if they are known.

    Returns:
        The program from the unknown arguments to the unknown outputs, what is known of each
        output, and the values of the program's constants.
    """
    trace = Partial(current_trace(), DebugInfo(fun.__name__))
    args = [p.get_known() if p.is_known() else trace.argument(p.get_aval()) for p in pvals]
    outs = [as_value(o) for o in start(trace, fun.call_wrapped, *args)]
    forced = (instantiate,) * len(outs) if isinstance(instantiate, bool) else instantiate
    unknown = [trace.is_unknown(o) or f for o, f in zip(outs, forced, strict=True)]
    jaxpr, consts = trace.close(pick(unknown, outs))
    found = [
        PartialVal.unknown(aval_of(o)) if u else PartialVal.known(o)
        for o, u in zip(outs, unknown, strict=True)
    ]
    return jaxpr, found, consts
