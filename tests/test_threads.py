"""Threads do not see each other: each has its own trace, settings and axes; caches are shared."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax

LIMIT = 30


def together(*functions):
    """Run each function in a thread of its own, all at once; their results, or the first error."""
    with ThreadPoolExecutor(len(functions)) as pool:
        return [f.result(LIMIT) for f in [pool.submit(g) for g in functions]]


def meeting(count=2):
    """A function that waits until `count` threads have called it."""
    return threading.Barrier(count, timeout=LIMIT).wait


# traces


@pytest.mark.parametrize("a", ["grad", "jvp", "vmap", "jit", "make_jaxpr"])
@pytest.mark.parametrize("b", ["grad", "vmap", "jit"])
def test_two_threads_tracing_at_once(a, b):
    meet = meeting()

    def traced(scale):
        def f(x):
            meet()  # both are inside their transformations here,
            y = fnp.sin(x) * scale
            meet()  # and here
            return y * x

        return f

    def run(name, scale):
        f, x = traced(scale), fnp.array(2.0)
        match name:
            case "grad":
                return fg.grad(f)(x)
            case "jvp":
                return fg.jvp(f, (x,), (fnp.array(1.0),))[1]
            case "vmap":
                return fg.vmap(f)(x[None])[0]
            case "jit":
                return fg.jit(f)(x)
            case "make_jaxpr":
                return fg.make_jaxpr(f)(x)(x)

    value, slope = 2 * np.sin(2), np.sin(2) + 2 * np.cos(2)
    results = together(lambda: run(a, 1.0), lambda: run(b, 10.0))
    for name, scale, result in zip((a, b), (1, 10), results, strict=True):
        wanted = slope if name in ("grad", "jvp") else value
        assert_allclose(result, scale * wanted, rtol=1e-6)


def test_an_error_in_one_trace_leaves_the_other_alone():
    meet = meeting()

    def failing():
        def f(x):
            meet()
            raise RuntimeError("on purpose")

        with pytest.raises(RuntimeError, match="on purpose"):
            fg.jit(fg.grad(f))(1.0)
        meet()
        return fg.grad(lambda x: x * x)(3.0)

    def working():
        def f(x):
            meet()
            y = x * x
            meet()  # the other trace has failed by now
            return y * x

        return fg.grad(f)(2.0)

    assert together(failing, working) == [6.0, 12.0]


def test_a_thread_started_inside_a_trace_evaluates():
    inside = []

    def f(x):
        inside.extend(together(lambda: fnp.ones(3).sum() + 1))
        return x * x

    assert fg.grad(f)(3.0) == 6
    assert not isinstance(inside[0], fg.core.Tracer) and inside[0] == 4


def test_a_tracer_used_in_another_thread_raises():
    def f(x):
        together(lambda: x + 1)
        return x

    with pytest.raises(fg.errors.UnexpectedTracerError):
        fg.jit(f)(1.0)


def test_many_threads():
    def work(i):
        f = lambda x: fnp.sum(fnp.tanh(x * i) ** 2)
        x = fnp.linspace(-1, 1, 5 + i % 3)
        eager = fg.grad(f)(x)
        jitted = fg.jit(fg.vmap(fg.grad(lambda x: fnp.tanh(x * i) ** 2)))(x)
        scanned = lax.scan(lambda c, y: (c + y, fg.grad(lambda z: z * z * i)(y)), 0.0, x)[1]
        return eager, jitted, scanned, 2 * i * x

    with ThreadPoolExecutor(8) as pool:
        for eager, jitted, scanned, wanted in pool.map(work, range(40), timeout=LIMIT):
            # 1 - tanh(x)**2 loses digits, and compiled code rounds otherwise than NumPy
            assert_allclose(eager, jitted, rtol=1e-5, atol=1e-5)
            assert_allclose(scanned, wanted, rtol=1e-6)


# shared caches


def test_two_first_calls_trace_once():
    count, meet = [], meeting(4)

    @fg.jit
    def f(x):
        count.append(1)
        threading.Event().wait(0.05)
        return x * 2

    def call():
        meet()
        return float(f(3.0))

    assert together(call, call, call, call) == [6.0] * 4
    assert len(count) == 1


def test_jit_inside_jit_first_called_by_two_threads():
    inner = fg.jit(lambda x: fnp.sin(x))
    outers = [fg.jit(lambda x, i=i: inner(x) + i) for i in range(4)]
    results = together(*[lambda f=f: float(f(0.5)) for f in outers])
    assert_allclose(results, np.sin(0.5) + np.arange(4), rtol=1e-6)


def test_clear_caches_while_others_call():
    f = fg.jit(lambda x: x * 2 + 1)
    stop = threading.Event()

    def clear():
        while not stop.is_set():
            fg.clear_caches()

    def call():
        try:
            return [float(f(float(i))) for i in range(200)]
        finally:
            stop.set()

    assert together(clear, call)[1] == [2.0 * i + 1 for i in range(200)]


# settings


def test_a_setting_in_one_thread_only():
    meet = meeting()

    def wide():
        with fg.enable_x64(True):
            meet()
            seen = fnp.arange(3.0).dtype, fg.jit(lambda x: x + 1)(1.0).dtype, fg.config.enable_x64
            meet()
        return *seen, fnp.ones(1).dtype

    def narrow():
        meet()
        seen = fnp.arange(3.0).dtype, fg.jit(lambda x: x + 1)(1.0).dtype, fg.config.enable_x64
        meet()
        return *seen, fnp.ones(1).dtype

    f32, f64 = np.dtype("float32"), np.dtype("float64")
    assert together(wide, narrow) == [(f64, f64, True, f32), (f32, f32, False, f32)]


def test_one_jit_under_two_settings_at_once():
    meet = meeting()

    @fg.jit
    def f(x):
        meet()  # two traces of one function, at once
        return fnp.sum(x) / 3

    def call(x64):
        with fg.enable_x64(x64):
            out = f(fnp.ones(2))
            return out.dtype, float(out)

    (narrow, a), (wide, b) = together(lambda: call(False), lambda: call(True))
    assert (narrow, wide) == (np.float32, np.float64)
    assert a == np.float32(2 / 3) and b == 2 / 3


def test_a_setting_does_not_reach_threads_started_under_it():
    with fg.enable_x64(True):
        assert fnp.ones(1).dtype == np.float64
        assert together(lambda: fnp.ones(1).dtype) == [np.float32]


def test_update_reaches_every_thread():
    fg.config.update("numpy_rank_promotion", "raise")
    try:
        with pytest.raises(ValueError, match="rank"):
            together(lambda: fnp.ones((2, 2)) + fnp.ones(2))
    finally:
        fg.config.update("numpy_rank_promotion", "allow")


def test_a_setting_in_one_task_only():
    async def task(x64, turn, other):
        with fg.enable_x64(x64):
            other.set()
            await turn.wait()
            return fnp.ones(1).dtype

    async def main():
        a, b = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(task(True, a, b), task(False, b, a))

    assert asyncio.run(main()) == [np.float64, np.float32]


# axes and devices


def test_an_axis_name_in_one_thread_only():
    meet = meeting()

    def mapped():
        def f(x):
            meet()
            y = lax.psum(x, "i")
            meet()
            return y

        return fg.vmap(f, axis_name="i")(fnp.arange(3.0)).tolist()

    def outside():
        meet()
        with pytest.raises(NameError, match=r"\bi\b"):
            lax.psum(1.0, "i")
        meet()

    assert together(mapped, outside)[0] == [3, 3, 3]


def test_two_pmaps_at_once():
    meet = meeting()
    f = fg.pmap(lambda x: lax.psum(x, "i"), axis_name="i")

    def run(scale):
        meet()
        return [f(scale * fnp.arange(2.0)).tolist() for _ in range(20)]

    assert together(lambda: run(1), lambda: run(10)) == [[[1, 1]] * 20, [[10, 10]] * 20]


def test_settings_reach_the_threads_of_pmap():
    with fg.enable_x64(True):
        out = fg.pmap(lambda x: x / 3)(fnp.ones(2))
    assert out.dtype == np.float64 and out[0] == 1 / 3


def test_grad_of_pmap_in_two_threads():
    f = fg.pmap(lambda x: lax.pmean(x * x, "i"), axis_name="i")
    run = lambda scale: fg.grad(lambda x: f(x).sum())(scale * fnp.arange(2.0)).tolist()
    assert together(lambda: run(1.0), lambda: run(2.0)) == [[0, 2], [0, 4]]
