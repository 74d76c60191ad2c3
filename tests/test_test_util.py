"""Checks of derivatives: they pass where JAX's pass, and say which argument is wrong."""

from functools import partial

import jax
import numpy as np
import pytest
from jax import test_util as theirs

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import test_util as ours
from funcgrad.base.config import enable_x64

X = np.array([0.5, 1.0, 2.0], np.float32)


def wrong_at(*places):
    """x y + z whose rule is wrong for the arguments at these places."""
    f = fg.custom_jvp(lambda x, y, z: x * y + z)

    @f.defjvp
    def rule(primals, tangents):
        x, y, _ = primals
        parts = [t * p for t, p in zip(tangents, (y, x, 1.0), strict=True)]
        return f(*primals), sum(3 * p if i in places else p for i, p in enumerate(parts))

    return f


RIGHT = [
    (lambda xp, x: xp.sin(x) * x, (X,)),
    (lambda xp, x, y: {"a": xp.exp(x) / y, "b": [x @ y]}, (X, X[::-1])),
    (lambda xp, d: d["w"] ** 3 + d["b"], ({"w": X, "b": np.float32(2)},)),
    (lambda xp, z: z * z * 1j, (X * (1 + 2j),)),
    (lambda xp, z: abs(z) ** 2, (X.astype("c8") * (1 - 2j),)),
    (lambda xp, z: xp.conj(z), (X.astype("c8") * (1 - 2j),)),
    (lambda xp, x: x * x, (2.0,)),
    (lambda xp, x: x.sum(), (np.zeros((0, 2), "f4"),)),
]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("index", range(len(RIGHT)))
@pytest.mark.parametrize("modes", ["fwd", "rev", ("fwd", "rev")])
def test_right_derivatives_pass(index, order, modes):
    f, args = RIGHT[index]
    ours.check_grads(partial(f, fnp), args, order, modes=modes)
    with enable_x64(True):
        wide = fg.tree.map(lambda x: np.asarray(x) * np.float64(1), args)
        ours.check_grads(partial(f, fnp), wide, order, modes=modes)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_get_a_step_that_they_can_resolve(dtype):
    x = fnp.asarray(X).astype(dtype)
    ours.check_grads(fnp.sin, (x,), 1)
    with pytest.raises(AssertionError):
        theirs.check_grads(jax.numpy.sin, (jax.numpy.asarray(X).astype(dtype),), 1)


def test_third_order():
    ours.check_grads(lambda x: fnp.exp(x) * x, (X,), 3)


def test_integers_stay_as_they_are():
    ours.check_grads(lambda n, x: (x**n, n), (3, X), 2)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize("places", [(0,), (2,), (0, 2)])
def test_wrong_derivatives_name_the_arguments(mode, places):
    args = (X, 2 * X, X - 3)
    with pytest.raises(AssertionError) as info:
        ours.check_grads(wrong_at(*places), args, 1, modes=[mode])
    names = ", ".join(f"args[{i}]" for i in places)
    assert f"wrong with respect to {names}\n" in str(info.value)
    assert {"fwd": "JVP", "rev": "VJP"}[mode] in str(info.value)


def test_the_message_names_paths_and_numbers():
    f = wrong_at(1)
    tree = {"p": (X, 2 * X), "q": X}
    with pytest.raises(AssertionError) as info:
        ours.check_grads(lambda t: {"r": f(*t["p"], t["q"])}, (tree,), 1)
    text = str(info.value)
    assert "wrong with respect to args[0]['p'][1]" in text
    assert "tangent of output['r']: 3 of 3 differ; the first at index (0,) is " in text
    assert "(atol 0.006, rtol 0.006)" in text


def test_a_wrong_second_derivative():
    inner = fg.custom_jvp(fnp.cos)
    inner.defjvp(lambda p, t: (inner(*p), t[0] * 7))
    f = fg.custom_jvp(fnp.sin)
    f.defjvp(lambda p, t: (f(*p), inner(p[0]) * t[0]))
    ours.check_grads(f, (X,), 1)
    for mode, label in (("fwd", "JVP, then JVP: "), ("rev", "VJP, then VJP: ")):
        with pytest.raises(AssertionError, match=label):
            ours.check_grads(f, (X,), 2, modes=mode)


def test_a_rule_with_another_value():
    f = fg.custom_jvp(fnp.sin)
    f.defjvp(lambda p, t: (2 * f(*p), t[0] * fnp.cos(p[0])))
    with pytest.raises(AssertionError, match="output: 3 of 3 differ"):
        ours.check_jvp(f, partial(fg.jvp, f), (X,), eps=1e-3)


@pytest.mark.parametrize("atol, passes", [(1.0, True), (1e-6, False), ({"float32": 1.0}, True)])
def test_tolerances(atol, passes):
    f = fg.custom_jvp(fnp.sin)
    f.defjvp(lambda p, t: (f(*p), t[0] * fnp.cos(p[0]) + 0.1 * t[0]))
    for check, derivative in ((ours.check_jvp, fg.jvp), (ours.check_vjp, fg.vjp)):
        run = lambda check=check, d=derivative: check(f, partial(d, f), (X,), atol, 1e-6, 1e-3, "L")
        if passes:
            run()
        else:
            with pytest.raises(AssertionError, match=r"^L: the derivative of sin"):
                run()


@pytest.mark.parametrize("library", [ours, theirs], ids=["funcgrad", "jax"])
def test_both_libraries_take_the_same_calls(library):
    lib, xp = (fg, fnp) if library is ours else (jax, jax.numpy)
    f = lambda x: xp.sin(x) * 2
    library.check_grads(f, (X,), 2, ("fwd", "rev"), 1e-2, 1e-2, 1e-3)
    library.check_jvp(f, partial(lib.jvp, f), (X,), 1e-2, 1e-2, 1e-3, "label")
    library.check_vjp(f, partial(lib.vjp, f), (X,), 1e-2, 1e-2, 1e-3, "label")
    with pytest.raises(AssertionError):
        library.check_vjp(f, lambda x: (f(x), lambda ct: (ct * x,)), (X,), eps=1e-3)


def test_errors():
    with pytest.raises(ValueError, match=r"modes are 'fwd' and 'rev', got \('foo',\)"):
        ours.check_grads(fnp.sin, (X,), 1, modes=["foo"])
    with pytest.raises(TypeError, match=r"args is the tuple .* write \(x,\)"):
        ours.check_grads(fnp.sin, fnp.asarray(X), 1)
    with pytest.raises(AssertionError, match=r"tangent has the structure .*\(\*,\)"):
        ours.check_jvp(fnp.sin, lambda p, t: (fnp.sin(*p), t), (X,))
    with pytest.raises(AssertionError, match=r"tuple of cotangents has the shape \(\)"):
        ours.check_vjp(fnp.sin, lambda x: (fnp.sin(x), lambda ct: (ct.sum(),)), (X,))
