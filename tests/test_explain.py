"""Why jit traced again, and what the compile log says."""

import gc
import logging
import re
import threading

import pytest

import funcgrad
import funcgrad.numpy as fnp
from funcgrad import explain_recompile
from funcgrad.base import events
from funcgrad.compiler.llvm import engine

native = pytest.mark.skipif(not engine.available(), reason="needs llvmlite")


def last_reasons(jitted) -> list[str]:
    """What the explanation of the newest trace lists."""
    lines = explain_recompile(jitted).split("\n")
    starts = [i for i, line in enumerate(lines) if not line.startswith(" ")]
    return [line[4:] for line in lines[starts[-1] :] if line.startswith("  - ")]


def test_each_trace_has_a_paragraph_with_the_users_lines() -> None:
    def double(x):
        return x * 2

    jitted = funcgrad.jit(double)
    here = re.escape(f"double at {__file__}:{double.__code__.co_firstlineno}")
    assert re.fullmatch(rf"{here} has not been traced\.", explain_recompile(jitted))
    jitted(fnp.ones(3))  # the first
    jitted(fnp.ones(3))
    jitted(fnp.ones(4))  # the second
    line = double.__code__.co_firstlineno + 6
    call = rf"{re.escape(__file__)}:%d \(test_each_trace_\w+\): jitted\(fnp\.ones\(%d\)\)  # the %s"
    assert re.fullmatch(
        rf"{here} was traced for the call at {call % (line, 3, 'first')}\n"
        r"  it is the first call of this function object\.\n"
        rf"{here} was traced for the call at {call % (line + 2, 4, 'second')}\n"
        rf"  the nearest earlier call is at {call % (line, 3, 'first')}\n"
        r"  - argument x: float32\[3\] before, float32\[4\] now",
        explain_recompile(jitted),
    )


def scaled(params, x, n=1, *, mode="sum"):
    return {"y": params["w"] * x * n, "mode": len(mode)}


@pytest.mark.parametrize(
    ("first", "second", "reasons"),
    [
        (
            lambda f, w: f({"w": w}, 1.0),
            lambda f, w: f({"w": w.astype(int)}, 1.0),
            ["argument params['w']: float32[3] before, int32[3] now"],
        ),
        (
            lambda f, w: f({"w": w}, 1.0),
            lambda f, w: f({"w": w[:2]}, fnp.ones(2)),
            [
                "argument params['w']: float32[3] before, float32[2] now",
                "argument x: float32[] before, float32[2] now",
            ],
        ),
        (
            lambda f, w: f({"w": w}, 1.0),
            lambda f, w: f({"w": w}, fnp.float32(1)),
            [
                "argument x: float32[] weakly typed, as Python numbers are before, "
                "not weakly typed now"
            ],
        ),
        (
            lambda f, w: f({"w": w}, 1.0),
            lambda f, w: f({"w": w}, 1.0, 2),
            ["static argument n: not given before, 2 (int) now"],
        ),
        (
            lambda f, w: f({"w": w}, 1.0, 2, mode="sum"),
            lambda f, w: f({"w": w}, 1.0, 2.0, mode="mean"),
            [
                "static argument n: 2 (int) before, 2.0 (float) now",
                "static argument mode: 'sum' before, 'mean' now",
            ],
        ),
        (
            lambda f, w: f({"w": w}, 1.0),
            lambda f, w: f({"w": w, "b": w}, 1.0),
            [
                "the structure of params: a dict with keys ['w'] before, a dict with keys "
                "['b', 'w'] now"
            ],
        ),
        (
            lambda f, w: f({"w": w}, 1.0),
            lambda f, w: f({"w": w}, x=1.0),
            ["positional arguments: 2 before, 1 now", "keyword arguments: none before, x now"],
        ),
    ],
)
def test_what_differs_is_named(first, second, reasons) -> None:
    jitted = funcgrad.jit(_copy_of(scaled), static_argnums=2, static_argnames="mode")
    w = fnp.ones(3)
    first(jitted, w)
    second(jitted, w)
    assert last_reasons(jitted) == reasons


def _copy_of(function):
    """A function object of its own, so that no other test has traced it."""
    made = type(function)(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def test_statics_before_an_argument_do_not_shift_its_name() -> None:
    jitted = funcgrad.jit(lambda n, x, y: y[0] * n, static_argnums=0)
    jitted(1, 2.0, (3.0,))
    jitted(1, 2.0, [3.0])
    (reason,) = last_reasons(jitted)
    assert reason.startswith("the structure of y: a tuple")


def test_settings_and_named_axes_are_told() -> None:
    jitted = funcgrad.jit(lambda x: x + 1)
    jitted(fnp.ones(3))
    with funcgrad.numpy_rank_promotion("raise"):
        jitted(fnp.ones(3))
    assert last_reasons(jitted) == ["config.numpy_rank_promotion: 'allow' before, 'raise' now"]
    funcgrad.vmap(lambda x: jitted(fnp.ones(3)), axis_name="rows")(fnp.ones((2, 3)))
    assert last_reasons(jitted) == [
        "the named axes around the call: none before, 'rows' of size 2 by vmap now"
    ]


def test_the_nearest_call_is_the_one_that_differs_least() -> None:
    jitted = funcgrad.jit(lambda x, y: x.sum() + y.sum())
    jitted(fnp.ones(3), fnp.ones(3))
    jitted(fnp.ones(4), fnp.ones(4))
    jitted(fnp.ones(4), fnp.ones(3))
    assert last_reasons(jitted) == ["argument y: float32[4] before, float32[3] now"]


def test_functions_made_in_a_loop_are_recognised() -> None:
    for scale in range(3):
        jitted = funcgrad.jit(lambda x: x * scale)  # noqa: B023
        jitted(fnp.ones(3))
        reasons = last_reasons(jitted)
        objects = ["another function object", "2 other function objects"][scale - 1]
        if scale == 0:
            assert reasons == []
        else:
            assert reasons[0].startswith(f"the function is new: jit has traced {objects} of the")
            assert reasons[1] == "it closes over scale; pass as arguments what changes."


def test_wrappers_of_one_function_are_not_taken_for_each_other() -> None:
    def cube(x):
        return x**3

    for transform in (lambda f: f, funcgrad.grad, funcgrad.hessian):
        jitted = funcgrad.jit(transform(cube))
        jitted(2.0)
        assert last_reasons(jitted) == []
    again = funcgrad.jit(funcgrad.grad(cube))
    again(2.0)
    assert last_reasons(again)[0].startswith("the function is new: jit has traced another")


def test_other_options_of_the_same_function() -> None:
    def power(x, n):
        return x**n

    funcgrad.jit(power)(2.0, 3)
    static = funcgrad.jit(power, static_argnums=1)
    assert explain_recompile(static).endswith("has not been traced.")
    static(2.0, 3)
    assert "jit's static_argnums: () before, (1,) now" in last_reasons(static)


def test_a_program_that_was_not_kept() -> None:
    jitted = funcgrad.jit(lambda x: x + 1)
    jitted(fnp.ones(3))
    jitted.clear_cache()
    jitted(fnp.ones(3))
    (reason,) = last_reasons(jitted)
    assert reason.startswith("nothing differs: the earlier program was not kept.")


def test_the_switch_logs_each_explanation(caplog) -> None:
    jitted = funcgrad.jit(lambda x: x + 1)
    with caplog.at_level(logging.WARNING, "funcgrad.explain"):
        jitted(fnp.ones(3))
        assert not caplog.records
        with funcgrad.explain_cache_misses(True):
            jitted(fnp.ones(4))
            jitted(fnp.ones(4))
    (record,) = caplog.records
    assert record.getMessage().endswith("- argument x: float32[3] before, float32[4] now")
    assert record.levelno == logging.WARNING


def test_what_is_remembered_is_bounded_and_forgotten() -> None:
    jitted = funcgrad.jit(lambda x: x + 1)
    for size in range(40):
        jitted.eval_shape(fnp.ones(size))
    assert 16 <= explain_recompile(jitted).count("was traced for") <= 32
    funcgrad.clear_caches()
    assert "has not been traced" in explain_recompile(jitted)


def test_functions_are_not_kept_alive() -> None:
    class Watched:
        pass

    def make():
        watched = Watched()

        def traced(x):
            return x + (watched is not None)

        funcgrad.jit(traced)(fnp.ones(3))
        del traced

    make()
    funcgrad.clear_caches()
    gc.collect()
    assert not [o for o in gc.get_objects() if type(o) is Watched]


def test_only_jitted_functions_can_be_explained() -> None:
    with pytest.raises(TypeError, match="takes what jit returned"):
        explain_recompile(fnp.add)


# the compile log


def lines_logged(caplog, run) -> list[str]:
    caplog.clear()
    with caplog.at_level(logging.WARNING, "funcgrad.compile"), funcgrad.log_compiles(True):
        run()
    return [r.getMessage() for r in caplog.records if r.name == "funcgrad.compile"]


def cached(folder):
    return type(funcgrad.config).compilation_cache(str(folder))


MILLISECONDS = r"\d+\.\d ms"
STAGES = ", ".join(
    f"{name} {MILLISECONDS}" for name in ("trace", "passes", "schedule", "emit", "LLVM", "link")
)


@native
def test_one_line_for_each_compilation(caplog, tmp_path) -> None:
    def summed(x):
        return fnp.sum(x * x + 0.0)

    place = re.escape(f"summed at {__file__}:{summed.__code__.co_firstlineno}")
    made = (
        rf"compiled {place} \(float32\[3\]\): 3 equations -> 1 kernel, 0 library functions, "
        rf"0 host steps; code %s; {STAGES}"
    )
    jitted = funcgrad.jit(summed)
    with cached(tmp_path):
        (line,) = lines_logged(caplog, lambda: [jitted(fnp.ones(3)), jitted(fnp.ones(3))])
        assert re.fullmatch(made % "made anew", line)
        (line,) = lines_logged(caplog, lambda: [jitted.clear_cache(), jitted(fnp.ones(3))])
        assert re.fullmatch(made % "from disk", line)


@native
def test_library_calls_and_host_steps_are_counted(caplog) -> None:
    x = fnp.ones((64, 64))
    (line,) = lines_logged(caplog, lambda: funcgrad.jit(lambda x: fnp.sort(x) @ x)(x))
    assert ": 2 equations -> 0 kernels, 1 library function, 1 host step; " in line


def test_numpy_steps_are_counted(caplog) -> None:
    with funcgrad.debug_nans(True):
        (line,) = lines_logged(caplog, lambda: funcgrad.jit(lambda x: x * 2 + 1)(fnp.ones(3)))
    assert ": 2 equations -> 2 steps of the array library; trace " in line


def test_the_log_is_at_level_debug_unless_switched_on(caplog) -> None:
    x = fnp.ones(3)
    with caplog.at_level(logging.DEBUG, "funcgrad.compile"):
        funcgrad.jit(lambda x: x + 2)(x)
    (record,) = [r for r in caplog.records if r.name == "funcgrad.compile"]
    assert record.levelno == logging.DEBUG and record.getMessage().startswith("compiled <lambda>")


def test_nothing_is_printed(capsys) -> None:
    logger = logging.getLogger("funcgrad.compile")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    try:
        with funcgrad.log_compiles(True):
            funcgrad.jit(lambda x: x + 3)(fnp.ones(3))
    finally:
        logger.propagate = True
    assert capsys.readouterr() == ("", "")


def test_failed_traces_and_compilations_leave_the_next_lines_right(caplog) -> None:
    def fails(x):
        raise ZeroDivisionError

    def run():
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                funcgrad.jit(fails)(1.0)
        events.notify("compile", program=None, target=None)  # one that never ends
        funcgrad.jit(lambda x: funcgrad.jit(lambda y: y + 1)(x) * 2)(fnp.ones(3))

    (line,) = lines_logged(caplog, run)
    assert line.startswith("compiled <lambda>") and "trace" in line


def test_threads_log_their_own_compilations(caplog) -> None:
    def work(n):
        with funcgrad.log_compiles(True):
            funcgrad.jit(lambda x: x * n)(fnp.ones(n))

    with caplog.at_level(logging.WARNING, "funcgrad.compile"):
        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lines = [r.getMessage() for r in caplog.records]
    assert sorted(re.findall(r"\(float32\[(\d)\]\)", "\n".join(lines))) == ["1", "2", "3", "4"]
    assert all(line.count("passes") == 1 for line in lines)
