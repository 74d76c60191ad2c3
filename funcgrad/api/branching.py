"""cond and switch: run one of several functions of pytrees, chosen by data."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.api import refs
from funcgrad.api.agreement import check_same_outputs, promote_weak, union_operands
from funcgrad.api.flat import (
    argument_names,
    as_value,
    check_arguments,
    described,
    flat_values,
    is_scalar,
    stage_function,
)
from funcgrad.base import dtypes
from funcgrad.base.aval import aval_of
from funcgrad.base.basis import convert
from funcgrad.base.config import config
from funcgrad.base.tracer import Tracer
from funcgrad.base.tree import tree_unflatten
from funcgrad.primitives.branch import cond_p
from funcgrad.primitives.compare import clamp


def cond(
    pred: Any,
    true_fun: Callable,
    false_fun: Callable,
    *operands: Any,
    operand: Any = None,
    linear: Any = None,
) -> Any:
    """`true_fun(*operands)` if pred, else `false_fun(*operands)`; only that one is run.

    Args:
        pred: a boolean or number, a scalar.
        true_fun, false_fun: functions of the operands whose outputs have the same tree, shapes and
            dtypes. Under `vmap` with a batched pred both run, and each member selects.
        operands: pytrees of arrays.

    Also `cond(pred, true_operand, true_fun, false_operand, false_fun)`, each with its own operand.

    Raises:
        TypeError: if pred is not a scalar, or the outputs differ; says where and how.
    """
    if not callable(true_fun) and len(operands) == 2 and callable(operands[1]):
        # cond(pred, true_operand, true_fun, false_operand, false_fun), JAX's older form.
        first, second, (other, third) = true_fun, false_fun, operands
        operands = (first, other)
        true_fun, false_fun = (lambda x, _: second(x)), (lambda _, y: third(y))
    if not (callable(true_fun) and callable(false_fun)):
        raise TypeError(
            "cond: give two functions, true_fun and false_fun; one of them is not callable."
        )
    if operand is not None:
        operands = (operand,)
    if not is_scalar(pred):
        raise TypeError(
            f"cond: one truth value decides, so pred is a scalar; got {described(pred)}. Reduce "
            "it with any() or all(), "
            "or use where for a choice element by element."
        )
    if refs.alive():
        functions = [true_fun, false_fun]
        found = refs.touched("cond", functions, *operands)
        if found:
            first, second = (refs.pure(f, found) for f in functions)
            out, values = cond(pred, first, second, refs.read_all(found), *operands)
            refs.write_all(found, values)
            return out
    dtype = aval_of(pred).dtype
    if config.disable_jit and not isinstance(pred, Tracer):
        return true_fun(*operands) if pred else false_fun(*operands)
    pred = as_value(pred)
    if dtype != np.bool_:
        if not dtypes.issubdtype(dtype, np.number):
            raise TypeError(f"cond: pred has dtype {dtype}; a bool or a number was expected.")
        pred = pred != 0
    index = convert(pred, np.int32)
    return _branch("cond", index, [false_fun, true_fun], operands, ("false_fun", "true_fun"))


def switch(index: Any, branches: Sequence[Callable], *operands: Any, operand: Any = None) -> Any:
    """`branches[index](*operands)`, the index clamped to the range there is.

    Args:
        index: an integer scalar.
        branches: functions of the operands with outputs of the same tree, shapes and dtypes.
        operands: pytrees of arrays.
    """
    if not all(callable(b) for b in branches):
        raise TypeError(
            "switch: branches holds something that is not callable; give a list of functions."
        )
    if operand is not None:
        operands = (operand,)
    if not branches:
        raise ValueError("switch: Empty branch sequence")
    if not is_scalar(index) or not dtypes.issubdtype(aval_of(index).dtype, np.integer):
        raise TypeError(f"switch: index must be an integer scalar, got {described(index)}.")
    if len(branches) == 1:
        return branches[0](*operands)
    if refs.alive():
        found = refs.touched("switch", branches, *operands)
        if found:
            pure = [refs.pure(f, found) for f in branches]
            out, values = switch(index, pure, refs.read_all(found), *operands)
            refs.write_all(found, values)
            return out
    if config.disable_jit and not isinstance(index, Tracer):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    index = convert(as_value(index), np.int32)
    index = clamp(np.int32(0), index, np.int32(len(branches) - 1))
    names = tuple(f"branch {i}" for i in range(len(branches)))
    return _branch("switch", index, list(branches), operands, names)


def _branch(
    name: str,
    index: Any,
    functions: Sequence[Callable],
    operands: tuple,
    labels: Sequence[str],
) -> Any:
    check_arguments(name, functions[-1], operands)
    leaves, in_tree = flat_values((operands, {}))
    avals = [x.aval for x in leaves]
    stages = [
        stage_function(f, in_tree, avals, name, argument_names(f, operands, {})) for f in functions
    ]
    first = stages[0]
    for label, other in zip(labels[1:], stages[1:], strict=True):
        check_same_outputs(name, labels[0], label, first, other)
    stages = promote_weak(stages)
    consts, programs = union_operands(stages)
    outs = cond_p.bind(index, *consts, *leaves, branches=tuple(programs))
    return tree_unflatten(first.out_tree, outs)
