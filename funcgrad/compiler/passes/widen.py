"""Widen: narrow floats and integers are converted where they are computed with, so that kernels and
library functions only ever meet f32 and i32.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base.aval import ShapedArray
from funcgrad.base.basis import convert_element_type_p
from funcgrad.base.source import Place
from funcgrad.base.trace import NO_EFFECTS, abstract_eval
from funcgrad.compiler import lowering
from funcgrad.compiler.narrow import computed
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Var


def widen(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program with conversions around each equation that computes with narrow dtypes.

    What only moves elements keeps their bytes, and what runs as a library step is left alone.
    """
    if not any(_is_narrow(v) for eqn in program.eqns for v in (*eqn.invars, *eqn.outvars)):
        return program
    eqns: list[Eqn] = []
    for eqn in program.eqns:
        eqns += _widened(eqn) if _computes(eqn) else [eqn]
    return program.replace(program.jaxpr.replace(eqns=eqns))


def _is_narrow(atom: Atom) -> bool:
    return computed(atom.aval.dtype) is not None


def _computes(eqn: Eqn) -> bool:
    """Whether a kernel or library function computes what narrow elements stand for."""
    narrow = any(map(_is_narrow, (*eqn.invars, *eqn.outvars)))
    if not narrow or eqn.effects or eqn.primitive is convert_element_type_p:
        return False
    refuses = lowering.unwidened.get(eqn.primitive)
    if refuses is not None and refuses([v.aval for v in eqn.invars], eqn.params):
        return False
    return lowering.has_kernel(eqn.primitive) and not lowering.moves(eqn.primitive, eqn.params)


def _widened(eqn: Eqn) -> list[Eqn]:
    """The equation on wide operands, between conversions."""
    before: list[Eqn] = []
    operands: list[Atom] = []
    for atom in eqn.invars:
        wide = computed(atom.aval.dtype)
        operands.append(atom if wide is None else _converted(atom, wide, before, eqn.source))
    params = {name: _wide_param(value) for name, value in eqn.params.items()}
    avals, _ = abstract_eval(eqn.primitive, tuple(v.aval for v in operands), params)
    outs, after = _outputs(eqn, avals)
    made = Eqn(operands, outs, eqn.primitive, params, eqn.effects, eqn.source)
    return [*before, made, *after]


def _outputs(eqn: Eqn, avals: Sequence[ShapedArray]) -> tuple[list[Var], list[Eqn]]:
    outs: list[Var] = []
    after: list[Eqn] = []
    for var, aval in zip(eqn.outvars, avals, strict=True):
        if aval.dtype == var.aval.dtype:
            outs.append(var)
        else:
            outs.append(Var(aval))
            after.append(_conversion(outs[-1], var, eqn.source))
    return outs, after


def _converted(atom: Atom, dtype: np.dtype, made: list[Eqn], source: Place | None) -> Var:
    out = Var(atom.aval.update(dtype=dtype, weak_type=False))
    made.append(_conversion(atom, out, source))
    return out


def _conversion(operand: Atom, out: Var, source: Place | None) -> Eqn:
    params = {"new_dtype": out.aval.dtype, "weak_type": out.aval.weak_type}
    return Eqn([operand], [out], convert_element_type_p, params, NO_EFFECTS, source)


def _wide_param(value: Any) -> Any:
    wide = computed(value) if isinstance(value, np.dtype) else None
    return value if wide is None else wide
