"""Mutable arrays: the same code on JAX and here, and what is refused."""

import gc
import importlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.api import refs


@pytest.fixture(autouse=True)
def none_left() -> Iterator[None]:
    """Bodies of loops are traced once more while a Ref is alive, which other tests would notice."""
    yield
    gc.collect()
    assert not refs.alive()


def library(root: str) -> SimpleNamespace:
    module = importlib.import_module(root)
    names = {n: importlib.import_module(f"{root}.{n}") for n in ("numpy", "lax", "ref")}
    return SimpleNamespace(root=module, np=names["numpy"], lax=names["lax"], ref=names["ref"])


OURS, THEIRS = library("funcgrad"), library("jax")
X = np.array([0.5, -1.0, 2.0], np.float32)


def eagerly(lib: SimpleNamespace) -> Any:
    r = lib.root.new_ref(lib.np.asarray(X))
    r[0] = 5.0
    r[...] += 1
    before = lib.ref.swap(r, slice(1, None), lib.np.zeros(2, np.float32))
    lib.ref.addupdate(r, 2, 7.0)
    lib.ref.set(r, 1, lib.ref.get(r, 0) * 2)
    return before, r[...], lib.ref.get(r), r[1:], lib.root.freeze(r)


def argument_of_jit(lib: SimpleNamespace) -> Any:
    @lib.root.jit
    def f(r: Any, y: Any) -> Any:
        r[...] += y
        return r[0] * 2

    r = lib.root.new_ref(lib.np.asarray(X))
    return f(r, X), r[...], f(r, X + 1), r[...]


def closed_over_by_jit(lib: SimpleNamespace) -> Any:
    r = lib.root.new_ref(lib.np.asarray(X))

    @lib.root.jit
    def f(y: Any) -> Any:
        r[0] = y * 2
        return r[...].sum()

    first = f(1.0)
    r[1] = 100.0
    return first, f(2.0), r[...]


def in_nested_jit(lib: SimpleNamespace) -> Any:
    r = lib.root.new_ref(lib.np.asarray(X))

    @lib.root.jit
    def inner(y: Any) -> None:
        r[...] *= y

    @lib.root.jit
    def outer(y: Any) -> Any:
        inner(y)
        inner(y + 1)
        return r[0]

    return outer(2.0), r[...]


def made_inside(lib: SimpleNamespace) -> Any:
    def f(z: Any) -> Any:
        r = lib.root.new_ref(lib.np.zeros(2))
        r[0] = z * 2
        r[1] = lib.np.sin(r[0])
        return lib.root.freeze(r).sum() * z

    root, y = lib.root, lib.np.asarray(X)
    return (
        f(y[0]),
        root.jit(f)(y[0]),
        root.grad(f)(y[0]),
        root.jit(root.grad(f))(y[0]),
    )


def scanned(lib: SimpleNamespace) -> Any:
    total, rows = lib.root.new_ref(lib.np.float32(0)), lib.root.new_ref(lib.np.zeros((3, 2)))

    def body(c: Any, ix: Any) -> Any:
        i, x = ix
        total[...] += x
        rows[i] = lib.np.stack([x, total[...]])
        return c + total[...], total[...]

    indices = lib.np.arange(3)
    return lib.lax.scan(body, 0.0, (indices, X)), total[...], rows[...]


def scanned_inside_of_grad(lib: SimpleNamespace) -> Any:
    def f(x: Any) -> Any:
        r = lib.root.new_ref(lib.np.ones(3))

        def body(c: Any, i: Any) -> Any:
            r[i] = r[i] * x[i] * c
            return c + r[i], None

        last, _ = lib.lax.scan(body, x[0], lib.np.arange(3))
        return last * r[...].sum()

    y = lib.np.asarray(X)
    return lib.root.grad(f)(y), lib.root.jit(lib.root.grad(f))(y)


def in_other_control_flow(lib: SimpleNamespace) -> Any:
    r = lib.root.new_ref(lib.np.float32(1))

    def doubled() -> None:
        r[...] = r[...] * 2

    def tripled() -> None:
        r[...] = r[...] * 3

    lib.lax.cond(True, doubled, tripled)
    lib.lax.cond(False, doubled, tripled)
    seen = [r[...]]
    lib.lax.switch(1, [doubled, tripled, doubled])
    seen.append(r[...])

    def turn(i: Any, c: Any) -> Any:
        doubled()
        return c + r[...]

    seen.append(lib.lax.fori_loop(0, 3, turn, 0.0))
    last = lib.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, turn(0, c[1])), (0, 0.0))
    return seen, last, r[...]


CASES = [
    eagerly,
    argument_of_jit,
    closed_over_by_jit,
    in_nested_jit,
    made_inside,
    scanned,
    scanned_inside_of_grad,
    in_other_control_flow,
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_values_are_those_of_jax(case: Any) -> None:
    got, want = (jax.tree.leaves(jax.tree.map(np.asarray, case(lib))) for lib in (OURS, THEIRS))
    assert [(g.shape, g.dtype) for g in got] == [(w.shape, w.dtype) for w in want]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, 1e-5, 1e-6)


def test_a_ref_made_inside_is_batched_and_differentiated() -> None:
    def f(z: Any) -> Any:
        r = funcgrad.new_ref(fnp.zeros(2))
        r[0] = z * 2
        lax.fori_loop(0, 2, lambda i, _: r.addupdate(1, r[0] * z), None)
        return r[...].sum()

    want = 2 + 8 * X  # of 2z + 4z^2
    for g in (funcgrad.vmap(funcgrad.grad(f)), funcgrad.jit(funcgrad.vmap(funcgrad.grad(f)))):
        np.testing.assert_allclose(g(X), want, 1e-5)
    np.testing.assert_allclose(funcgrad.grad(lambda x: funcgrad.vmap(f)(x).sum())(X), want, 1e-5)
    np.testing.assert_allclose(funcgrad.hessian(f)(X[0]), 8, 1e-5)


def batched_argument(lib: SimpleNamespace) -> Any:
    def f(r: Any, s: Any, y: Any) -> Any:
        r[0] = r[1] * y
        s[...] += y
        return r[...].sum() + s[...]

    rows = lib.root.new_ref(lib.np.asarray(np.stack([X, 2 * X])))
    scalars = lib.root.new_ref(lib.np.zeros(2))
    out = lib.root.vmap(f, (0, 0, 0))(rows, scalars, X[:2])
    return out, rows[...], scalars[...]


def test_a_ref_as_a_batched_argument() -> None:
    for got, want in zip(batched_argument(OURS), batched_argument(THEIRS), strict=True):
        np.testing.assert_allclose(got, want, 1e-6)
    columns = funcgrad.new_ref(fnp.asarray(np.stack([X, 2 * X], 1)))
    funcgrad.jit(funcgrad.vmap(lambda r: r.addupdate(0, 1.0), in_axes=1))(columns)
    np.testing.assert_array_equal(columns[...], np.stack([X, 2 * X], 1) + [[1, 1], [0, 0], [0, 0]])
    shared = funcgrad.new_ref(fnp.asarray(X))
    out = funcgrad.vmap(lambda r, y: r[0] * y, (None, 0))(shared, X)
    np.testing.assert_array_equal(out, X[0] * X)
    with pytest.raises(ValueError, match="out_axes"):
        funcgrad.vmap(lambda r, y: r.addupdate(0, y), (None, 0))(shared, X)


def test_a_while_loop_tests_a_ref() -> None:
    r = funcgrad.new_ref(fnp.float32(1))

    def body(n: Any) -> Any:
        r[...] = r[...] * 2
        return n + 1

    for steps in (None, 10):
        r[...] = fnp.float32(1)
        assert lax.while_loop(lambda n: r[...] < 100, body, 0, max_steps=steps) == 7
        assert r[...] == 128


def test_checkpoint() -> None:
    r = funcgrad.new_ref(fnp.zeros(()))

    def f(x: Any) -> Any:
        r[...] = funcgrad.lax.stop_gradient(x)
        return fnp.sin(x) * r[...]

    assert funcgrad.checkpoint(f)(2.0) == pytest.approx(2 * np.sin(2.0))
    assert r[...] == 2


def test_one_program_serves_all_calls() -> None:
    traces = []

    @funcgrad.jit
    def f(r: Any, y: Any) -> None:
        traces.append(1)
        r[...] += y

    for k in range(5):
        r = funcgrad.new_ref(fnp.zeros(3))
        f(r, X)
        np.testing.assert_array_equal(r[...], X)
        if k == 0:
            first = len(traces)
    assert len(traces) == first


def test_functions_without_refs_stay_as_they_are() -> None:
    r = funcgrad.new_ref(0.0)
    f = funcgrad.jit(lambda x, n: x * n, static_argnums=1)
    assert f(2.0, 3) == 6 and f(2.0, 4) == 8
    np.testing.assert_array_equal(funcgrad.vmap(lambda x: lax.cond(x > 0, abs, abs, x))(X), abs(X))
    assert r[...] == 0


def test_nested_functions_are_looked_at_once_a_level() -> None:
    runs, r = [], funcgrad.new_ref(X)

    def nested(depth: int, wrap: Any) -> Any:
        def f(x: Any) -> Any:
            runs.append(depth)
            return wrap(nested(depth - 1, wrap))(x) + 1 if depth else x + r[0]

        return f

    def looped(f: Any) -> Any:
        return lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 1)[0]

    for wrap in (funcgrad.jit, looped, funcgrad.checkpoint):
        runs.clear()
        assert wrap(nested(12, wrap))(1.0) == 13.5
        assert len(runs) < 4 * 13**2


def test_types() -> None:
    r = funcgrad.new_ref(X)
    assert (r.shape, r.dtype, r.ndim, r.size) == ((3,), np.float32, 1, 3)
    assert repr(r) == "Ref(Array([ 0.5, -1. ,  2. ], dtype=float32))"
    empty = funcgrad.empty_ref(funcgrad.ShapeDtypeStruct((2,), np.int32))
    assert empty.shape == (2,) and empty.dtype == np.int32


def freed() -> Any:
    r = funcgrad.new_ref(1.0)
    funcgrad.free_ref(r)
    return r[...]


def written_under(transform: Any) -> Any:
    r = funcgrad.new_ref(fnp.float32(0))

    def f(x: Any) -> Any:
        r[...] = x
        return x

    return transform(f)


WRONG: list[tuple[type, str, Callable[[funcgrad.Ref], Any]]] = [
    (
        ValueError,
        r"part of type float32\[\].*with a value of type int32",
        lambda r: r.__setitem__(0, 3),
    ),
    (
        ValueError,
        r"part of type float32\[3\].*type float32\[2\]",
        lambda r: r.__setitem__(..., X[:2]),
    ),
    (
        ValueError,
        r"traced by vmap of size 3, was written to a Ref that was made outside",
        lambda r: written_under(funcgrad.vmap)(X),
    ),
    (
        ValueError,
        r"forward-mode.*was written to a Ref that was made outside",
        lambda r: written_under(funcgrad.grad)(1.0),
    ),
    (ValueError, "returned a Ref", lambda r: funcgrad.jit(lambda q: q)(r)),
    (
        ValueError,
        "passed twice in one call",
        lambda r: funcgrad.jit(lambda a, b: a[0] + b[0])(r, r),
    ),
    (ValueError, "has been freed", lambda r: freed()),
    (ValueError, "uses a Ref from outside", lambda r: funcgrad.make_jaxpr(lambda: r[0])()),
    (ValueError, "uses a Ref from outside", lambda r: funcgrad.pmap(lambda x: x + r[0])(X[:1])),
    (ValueError, "uses a Ref from outside", lambda r: funcgrad.jit(lambda: r[0]).lower()),
    (TypeError, "another Ref", lambda r: funcgrad.new_ref(r)),
    (TypeError, "get takes a Ref", lambda r: funcgrad.ref.get(X)),
    (ValueError, "memory_space and kind are None", lambda r: funcgrad.new_ref(1.0, kind="x")),
    (TypeError, "Ref", lambda r: fnp.sin(r)),
]


@pytest.mark.parametrize("error, text, act", WRONG, ids=[text for _, text, _ in WRONG])
def test_errors(error: type[Exception], text: str, act: Any) -> None:
    r = funcgrad.new_ref(X)
    with pytest.raises(error, match=text):
        act(r)
    np.testing.assert_array_equal(r[...], X)
