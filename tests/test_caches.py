"""Caches: nothing made for one call is kept alive, and nothing is compiled twice."""

import copy
import gc
import linecache
import pickle
import weakref

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.base import aval, events, trace
from funcgrad.compiler.llvm import engine


@fg.custom_vjp
def sine(x):
    return fnp.sin(x)


sine.defvjp(lambda x: (fnp.sin(x), fnp.cos(x)), lambda cos, ct: (ct * cos,))

CALLS = {
    "custom_vjp": lambda x: fg.grad(lambda x: sine(x).sum())(x),
    "scan": lambda x: fg.grad(lambda c: lax.scan(lambda c, y: (c * y, c), c, x)[0])(1.0),
    "while_loop": lambda x: lax.while_loop(lambda c: c < 9.0, lambda c: c + x[0], 1.0),
    "cond": lambda x: lax.cond(True, lambda: x + 1, lambda: x),
    "checkpoint": lambda x: fg.grad(lambda x: fg.checkpoint(fnp.sin)(x).sum())(x),
    "pure_callback": lambda x: fg.pure_callback(lambda v: v, fg.ShapeDtypeStruct((3,), "f4"), x),
    "pmap": lambda x: fg.pmap(lambda y: y + x[0])(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_array_of_a_call_is_freed(name):
    def once():
        x = fnp.asarray(np.arange(1.0, 4.0, dtype=np.float32))
        CALLS[name](x)
        return weakref.ref(x)

    once()
    sizes = len(trace._abstract_cache), len(trace.EVALUATION.entries)
    held = once()
    gc.collect()
    assert held() is None
    assert (len(trace._abstract_cache), len(trace.EVALUATION.entries)) == sizes


def test_loop_on_devices_is_compiled_once():
    compiled = []
    stop = events.listen(lambda event, _: compiled.append(event) if event == "compile" else None)
    mapped = fg.pmap(
        lambda x: lax.scan(lambda c, y: (c + lax.psum(y, "i"), c), 0.0, x)[0], axis_name="i"
    )
    try:
        mapped(fnp.ones((2, 3)))
        first = len(compiled)
        mapped(fnp.ones((2, 3)))
    finally:
        stop()
    assert len(compiled) == first > 0


def test_equal_avals_are_one_object():
    one = aval.ShapedArray((3, 5), np.float32)
    assert one is aval.shaped((3, 5), np.dtype("float32"))
    assert one is aval.ShapedArray([3, 5], "float32", np.False_)
    assert one is copy.deepcopy(one) is pickle.loads(pickle.dumps(one))
    assert one is fnp.zeros((3, 5)).aval is one.update(weak_type=True).strip_weak_type()
    assert one != one.update(weak_type=True) != one.update(shape=(5, 3))


def test_avals_that_nobody_uses_are_forgotten():
    number, extra = aval.KEPT_AVALS, 100
    before = len(aval._interned)
    for n in range(number + extra):
        aval.shaped((n, 7, 7, 7), np.dtype("int8"))
    gc.collect()
    assert len(aval._interned) <= before + number
    held = [aval.shaped((n, 7, 7, 7), np.dtype("int8")) for n in range(number + extra)]
    assert all(a is aval.shaped(a.shape, a.dtype) for a in held)


def test_the_text_of_a_dispatch_function_goes_with_it():
    def texts():
        return {name for name in linecache.cache if name.startswith("<funcgrad dispatch")}

    def once():
        f = fg.jit(lambda x: fnp.sin(x) + 1.25)
        for _ in range(3):
            f(fnp.ones(5))
        return texts() - before

    before = texts()
    made = once()
    gc.collect()
    assert bool(made) == engine.available()
    assert not made & texts()
