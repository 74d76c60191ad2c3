"""check_p: here something may have failed. Evaluated on its own it raises, in a program it must be
collected by checking before that can be compiled."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import convert, eq, reshape
from funcgrad.base.check_errors import JaxRuntimeError
from funcgrad.base.trace import Effects, Primitive, abstract_rules, evaluate_rules
from funcgrad.compiler.passes import inline
from funcgrad.ir.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Var
from funcgrad.primitives.axis_slicing import dynamic_index_in_dim
from funcgrad.primitives.compare import bitwise_and, bitwise_or
from funcgrad.primitives.reduction import argmax
from funcgrad.primitives.structural import stop_gradient_p
from funcgrad.transforms import batching, checking, forward, masking
from funcgrad.transforms.batching import BatchAxis, to_front
from funcgrad.transforms.checking import CheckEffect, Sites, Watch, failure_of, strong

# Its operands are those of `Failure.flat`. With `debug` it is nothing unless collected.
check_p = Primitive("check", multiple_results=True)


def check_evaluate(xp: Any, *buffers: Any, sites: Sites, debug: bool) -> tuple:
    failed, number, *_ = buffers
    if not debug and bool(failed):
        avals = [a for kind in checking.kinds_of(sites) for a in kind]
        values = [ConcreteArray(b, a) for b, a in zip(buffers[2:], avals, strict=True)]
        raise JaxRuntimeError(str(described([failed, number, *values], sites)))
    return ()


def described(flat: Sequence[Any], sites: Sites) -> Exception:
    """The exception of a failure whose values are known."""
    failure = failure_of(flat, sites)
    (site,) = (s for s in sites if s.number == int(failure.number))
    return site.exception(failure.values[site.kind])


def check_abstract(*avals: ShapedArray, sites: Sites, debug: bool) -> tuple[tuple, Effects]:
    return (), frozenset({CheckEffect(debug)})


def check_forward(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
    check_p.bind(*primals, **params)
    return (), ()


def check_batch(axis: BatchAxis, values: Sequence, axes: Sequence, **params: Any) -> tuple:
    """One check for all members: the first of those that failed speaks for them."""
    if axis.size:
        fronts = [to_front(axis, v, a) for v, a in zip(values, axes, strict=True)]
        check_p.bind(*first_member(fronts), **params)
    return (), ()


def first_member(flat: Sequence[Any]) -> list[Any]:
    """The failure of the first member that failed, of many whose axes stand in front."""
    ndim = aval_of(flat[0]).ndim
    along = [reshape(v, (aval_of(flat[0]).size, *aval_of(v).shape[ndim:])) for v in flat]
    index = argmax(convert(along[0], np.int32), 0, np.int32)
    return [dynamic_index_in_dim(v, index, keepdims=False) for v in along]


def check_masked(on: Any, args: Sequence, params: dict[str, Any]) -> tuple:
    failed, *rest = args
    return check_p.bind(bitwise_and(on, failed), *rest, **params)


def check_alone(eqn: Eqn) -> ClosedJaxpr:
    """The program of a debug check, which does nothing; any other cannot be compiled."""
    if not eqn.params["debug"]:
        place = f" at {eqn.source.describe()}" if eqn.source else ""
        raise ValueError(
            f"the check{place} stands in a program (jit, scan, while_loop, cond, ...), which "
            "cannot raise while it runs. Functionalize it: `err, out = checkify(f)(...)` around "
            "or inside the program, and then `err.throw()` outside of it; or use debug_check, "
            "which does nothing where no checkify is around it."
        )
    return ClosedJaxpr(Jaxpr([], [Var(v.aval) for v in eqn.invars], [], []))


def check_collected(watch: Watch, eqn: Eqn, values: Sequence[Any]) -> tuple:
    """Join the failure to those of the program, or forget it if nobody asks for its category."""
    sites: Sites = eqn.params["sites"]
    wanted = tuple(s for s in sites if watch.asks_for(s.category))
    if not wanted:
        return ()
    failed, number, *rest = [strong(stop_gradient_p.bind(v)) for v in values]
    if len(wanted) < len(sites):
        failed = bitwise_and(failed, any_number(number, wanted))
    failure = failure_of([failed, number, *rest], sites)
    watch.join(failure.flat(wanted), wanted)
    return ()


def any_number(number: Any, sites: Sites) -> Any:
    """Whether a number is that of one of the sites."""
    return functools.reduce(bitwise_or, [eq(number, np.int32(s.number)) for s in sites])


evaluate_rules[check_p] = check_evaluate
abstract_rules[check_p] = check_abstract
forward.rules[check_p] = check_forward
batching.rules[check_p] = check_batch
masking.rules[check_p] = check_masked
masking.always_masked.add(check_p)
inline.rules[check_p] = check_alone
checking.rules[check_p] = check_collected
