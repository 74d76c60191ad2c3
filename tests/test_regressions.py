"""Bugs that were found by use, each by the smallest program that showed it."""

import gc
import threading
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as jnp
from funcgrad import lax
from funcgrad.base.memo import OncePerKey
from funcgrad.base.source import inherited_source
from funcgrad.errors import UnexpectedTracerError

bf16 = jnp.bfloat16


def kind(x: Any) -> tuple[str, bool]:
    return str(x.dtype), x.aval.weak_type


# aux is data, not a tracer


def with_aux(x: Any) -> tuple:
    return jnp.sum(x**2), {"doubled": 2 * x, "nothing": None, "name": "aux"}


@pytest.mark.parametrize(
    "take",
    [
        lambda f, x: fg.grad(f, has_aux=True)(x)[1],
        lambda f, x: fg.value_and_grad(f, has_aux=True)(x)[0][1],
        lambda f, x: fg.vjp(f, x, has_aux=True)[2],
        lambda f, x: fg.linearize(f, x, has_aux=True)[2],
        lambda f, x: fg.jvp(f, (x,), (x,), has_aux=True)[2],
        lambda f, x: fg.jacrev(f, has_aux=True)(x)[1],
    ],
)
def test_aux_holds_primals(take: Any) -> None:
    aux = take(with_aux, jnp.arange(3.0))
    assert aux["nothing"] is None and aux["name"] == "aux"
    assert not isinstance(aux["doubled"], fg.core.Tracer)
    np.testing.assert_array_equal(aux["doubled"] + 1, [1.0, 3.0, 5.0])


def test_aux_of_nested_transformations() -> None:
    numbers = lambda x: (jnp.sum(x**2), {"doubled": 2 * x})
    _, aux = fg.jacfwd(numbers, has_aux=True)(jnp.arange(3.0))
    np.testing.assert_array_equal(aux["doubled"], [0.0, 2.0, 4.0])
    outer = fg.grad(lambda x: fg.grad(numbers, has_aux=True)(x)[1]["doubled"].sum())
    np.testing.assert_array_equal(outer(jnp.arange(3.0)), [2.0, 2.0, 2.0])
    _, aux = fg.jit(fg.grad(numbers, has_aux=True))(jnp.arange(3.0))
    np.testing.assert_array_equal(aux["doubled"], [0.0, 2.0, 4.0])


# the functions that vjp, linearize and linear_transpose return are pytrees


def test_derivative_functions_are_pytrees() -> None:
    xs = jnp.array([0.0, 1.0, 2.0])
    pull = fg.jit(lambda x: fg.vjp(jnp.sin, x)[1])
    np.testing.assert_allclose(pull(1.0)(2.0)[0], 2 * np.cos(1.0), rtol=1e-6)
    pulls = fg.vmap(pull)(xs)
    (cts,) = fg.vmap(lambda f, ct: f(ct))(pulls, jnp.ones(3))
    np.testing.assert_allclose(cts, np.cos(xs), rtol=1e-6)
    push = fg.jit(lambda x: fg.linearize(jnp.sin, x)[1])(xs)
    np.testing.assert_allclose(push(jnp.ones(3)), np.cos(xs), rtol=1e-6)
    transposed = fg.jit(lambda w: fg.linear_transpose(lambda x: w * x, xs))(xs)
    np.testing.assert_allclose(transposed(jnp.ones(3))[0], xs)
    _, summed = lax.scan(lambda f, ct: (f, f(ct)[0]), pull(1.0), jnp.ones(2))
    np.testing.assert_allclose(summed, np.cos([1.0, 1.0]), rtol=1e-6)


def test_pullback_does_not_keep_what_it_does_not_need() -> None:
    pushed = fg.linearize(lambda x, y: x + y, jnp.ones(3), jnp.ones(3))[1]
    assert fg.tree_util.tree_leaves(pushed) == []
    with pytest.raises(TypeError, match=r"primals\[1\].*float32 of shape \(3,\)"):
        pushed(jnp.ones(3), jnp.ones(2))


def test_transposing_a_product_says_why_not() -> None:
    with pytest.raises(TypeError, match=r"must be linear.*a product of the two is not linear"):
        fg.linear_transpose(lambda x: x * x, 1.0)(1.0)


# branches that a member does not take


def test_gradient_of_a_batched_cond_is_safe() -> None:
    root = lambda x: lax.cond(x > 0, jnp.sqrt, lambda x: 0.0 * x, x)
    total = lambda x: fg.vmap(root)(x).sum()
    x = jnp.array([0.0, 1.0, 4.0])
    for gradient in (fg.grad(total), fg.jit(fg.grad(total)), fg.grad(fg.jit(total))):
        np.testing.assert_array_equal(gradient(x), [0.0, 0.5, 0.25])
    # The operand is the same for all members.
    shared = lambda w, on: fg.vmap(lambda p: lax.cond(p, jnp.sqrt, jnp.sin, w))(on).sum()
    assert fg.grad(shared)(0.0, jnp.array([False, False])) == 2.0


# weak types of carries


def test_a_weak_carry_stays_weak_inside_the_loop() -> None:
    last, ys = lax.scan(lambda c, x: (c + x, c * bf16(2)), 0.0, jnp.arange(3.0))
    assert kind(last) == ("float32", False) and kind(ys) == ("bfloat16", False)
    np.testing.assert_array_equal(np.asarray(ys, np.float32), [0.0, 0.0, 2.0])
    _, ys = lax.scan(lambda c, x: (c + x, jnp.exp(c)), 0.0, jnp.zeros(2))
    assert kind(ys) == ("float32", True)
    body = lambda s: (s[0] + 1, s[1] + jnp.float32(1))
    assert kind(lax.while_loop(lambda s: s[0] < 2, body, (0, 0.0))[1]) == ("float32", False)


def test_a_carry_promoted_to_another_dtype_is_strong() -> None:
    last, ys = lax.scan(lambda c, x: (c + 1.0, c), 0, jnp.arange(3.0))
    assert kind(last) == kind(ys) == ("float32", False)


def test_fori_loop_counts_with_a_python_integer() -> None:
    total = lax.fori_loop(jnp.int32(0), np.int32(3), lambda i, c: c + i, jnp.int8(1))
    assert kind(total) == ("int8", False) and total == 4


# weak types of derivatives


def test_jacobian_is_as_weak_as_the_output() -> None:
    assert kind(fg.jacfwd(jnp.sin)(2.0)) == ("float32", True)
    assert kind(fg.jacfwd(lambda x: x * jnp.float32(2))(2.0)) == ("float32", False)
    assert kind(fg.grad(lambda x: lax.fori_loop(0, 2, lambda i, c: c * x, x))(2.0)) == (
        "float32",
        True,
    )


# arrays without elements


@pytest.mark.parametrize("function", [jnp.median, lambda x: jnp.quantile(x, 0.5), jnp.nanmedian])
def test_quantiles_of_nothing(function: Any) -> None:
    with pytest.raises(ValueError, match=r"no element over axes \(0, 1\) of shape \(0, 3\)"):
        function(jnp.zeros((0, 3)))


def test_pmap_over_an_empty_axis() -> None:
    with pytest.raises(ValueError, match=r"pmap of .*: the mapped axis has length 0"):
        fg.pmap(lambda x: x)(jnp.zeros((0, 2)))


def test_searchsorted_gives_32_bits() -> None:
    with fg.enable_x64(True):
        for method in ("scan", "scan_unrolled", "compare_all", "sort"):
            found = jnp.searchsorted(jnp.arange(5.0), jnp.array([1.5]), method=method)
            assert kind(found) == ("int32", False) and found[0] == 2


# what an exception leaves behind


def test_an_error_in_the_backward_pass_leaves_no_source_behind() -> None:
    def fail(x: Any) -> Any:
        raise RuntimeError("from the host")

    @fg.custom_vjp
    def double(x: Any) -> Any:
        return 2 * x

    # In forward mode bwd is staged and its transpose run, the callback with it.
    shape = fg.ShapeDtypeStruct((), jnp.float32)
    double.defvjp(
        lambda x: (double(x), None),
        lambda _, ct: (ct * fg.pure_callback(fail, shape, jnp.float32(2)),),
    )
    with pytest.raises(RuntimeError, match="from the host"):
        fg.jvp(double, (1.0,), (1.0,))
    assert inherited_source.get() is None


def test_a_failed_computation_leaves_no_lock_behind() -> None:
    once = OncePerKey()

    def fail() -> tuple:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            once.get("key", fail)
    assert not once.locks
    assert once.get("key", lambda: (1, True)) == 1


def test_a_failing_function_fails_in_every_thread() -> None:
    @fg.jit
    def fail(x: Any) -> Any:
        raise ValueError("always")

    failed = []

    def run() -> None:
        try:
            fail(1.0)
        except ValueError:
            failed.append(True)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(failed) == 4


def test_a_leaked_aux_is_still_an_error() -> None:
    kept: list[Any] = []
    fg.grad(lambda x: (kept.append(x), x * 2)[1])(1.0)
    with pytest.raises(UnexpectedTracerError, match="leaked intermediate value"):
        kept[0] + 1
    gc.collect()


# custom rules


def test_custom_gradient_of_several_arguments_in_jit() -> None:
    product = fg.custom_gradient(lambda x, y: (x * y, lambda ct: (ct * y, 7 * ct)))
    for gradient in (fg.grad(product, (0, 1)), fg.jit(fg.grad(product, (0, 1)))):
        assert [float(g) for g in gradient(2.0, 3.0)] == [3.0, 7.0]
    batched = fg.jit(fg.vmap(fg.grad(product), (0, None)))
    np.testing.assert_array_equal(batched(jnp.arange(2.0), 3.0), [3.0, 3.0])


def test_a_key_among_the_residuals_in_compiled_forward_mode() -> None:
    @fg.custom_vjp
    def noisy(x: Any) -> Any:
        return x * fg.random.uniform(fg.random.key(0))

    noisy.defvjp(
        lambda x: (noisy(x), fg.random.key(0)), lambda key, ct: (ct * fg.random.uniform(key),)
    )
    expected = fg.random.uniform(fg.random.key(0))
    push = lambda x: fg.jvp(noisy, (x,), (jnp.ones_like(x),))[1]
    assert push(1.0) == fg.jit(push)(1.0) == expected
    np.testing.assert_array_equal(fg.jit(fg.vmap(push))(jnp.ones(2)), [expected, expected])
    assert fg.jit(fg.linearize(noisy, 1.0)[1])(1.0) == expected


def test_a_key_among_the_residuals_of_a_branch() -> None:
    key = fg.random.key(0)
    drawn = lambda x, key: x * fg.random.uniform(key)

    @fg.custom_vjp
    def noisy(x: Any, key: Any) -> Any:
        return drawn(x, key)

    noisy.defvjp(
        lambda x, key: (drawn(x, key), key), lambda key, ct: (ct * fg.random.uniform(key), None)
    )
    chosen = lambda x: lax.cond(x > 0, lambda: noisy(x, key), lambda: x)
    gradient = fg.jit(fg.grad(chosen))
    assert gradient(1.0) == fg.random.uniform(key) and gradient(-1.0) == 1.0


# lists of arrays


def test_lists_that_mix_dtypes_numpy_does_not_join() -> None:
    for data in ([1, bf16(2)], [bf16(1), np.int64(2)], [bf16(1), 2.0]):
        out = jnp.array(data)
        assert kind(out) == ("bfloat16", False)
        np.testing.assert_array_equal(np.asarray(out, np.float32), [1.0, 2.0])
    assert kind(jnp.array([jnp.float16(1), bf16(2)])) == ("float32", False)
    with pytest.raises(OverflowError, match="300"):
        jnp.array([300, jnp.uint8(1)])


def test_a_list_of_keys() -> None:
    a, b = fg.random.split(fg.random.key(0))
    both = jnp.array([a, b])
    assert both.dtype == a.dtype
    np.testing.assert_array_equal(fg.random.key_data(both[1]), fg.random.key_data(b))


def test_complex_numbers_are_not_made_real_without_a_word():
    for data in (1j, [1j, 1.0]):
        with pytest.raises(TypeError, match=r"complex.*float32"):
            jnp.array(data, jnp.float32)
    assert jnp.array([1j, 0], bool).tolist() == [True, False]


# the known half of a loop: equations that carry programs have known and unknown results


@pytest.mark.parametrize("inner", ["jit", "scan"])
def test_linearize_a_while_loop_whose_body_calls_a_program(inner: str) -> None:
    def body(carry: tuple) -> tuple:
        x, i = carry
        if inner == "jit":
            return fg.jit(lambda y: y * y)(x), i + 1
        return lax.scan(lambda y, _: (y * y, None), x, None, length=1)[0], i + 1

    def function(x: Any) -> Any:
        return lax.while_loop(lambda c: c[1] < 2, body, (x, 0))[0]

    x = jnp.arange(1.0, 3.0)
    for take in (lambda f: f, fg.vmap, fg.jit):
        moved = take(lambda x: fg.linearize(function, x)[1](x))(x)
        np.testing.assert_allclose(moved, 4 * x**4)


# a barrier has tangents only where its operands have


def test_derivative_of_a_barrier_on_integers() -> None:
    def function(x: Any, n: Any) -> Any:
        n, x = lax.optimization_barrier((n, x))
        return x * jnp.maximum(n, 1).astype(x.dtype)

    assert float(fg.grad(function)(3.0, jnp.int32(2))) == 2
    assert float(fg.jit(fg.grad(function))(3.0, jnp.int32(2))) == 2
    assert float(fg.jvp(lambda x: function(x, jnp.int32(2)), (3.0,), (1.0,))[1]) == 2


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_zero_safe_gradients(wrap: Any) -> None:
    """Opt in: a branch that is not taken, a masked entry and a norm at zero give no nan."""
    mask = np.array([True, False])
    cases = (
        (lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0), np.float32(0), 0.0),
        (lambda x: jnp.where(x < 1, x, jnp.sqrt(x)), np.float32(0), 1.0),
        (lambda x: jnp.sum(jnp.exp(x), where=mask), np.array([0, 1e4], np.float32), [1, 0]),
        (jnp.linalg.norm, np.zeros(3, np.float32), [0, 0, 0]),
        (lambda x: jnp.linalg.norm(x) ** 2, np.zeros(2, np.float32), [0, 0]),
        (jnp.std, np.ones(2, np.float32), [0, 0]),
        (lambda x: jnp.sum(x / jnp.linalg.norm(x)), np.array([3, 4], np.float32), [0.032, -0.024]),
    )
    for f, x, want in cases:
        with fg.zero_safe_gradients(True):
            np.testing.assert_allclose(wrap(fg.grad(f))(x), want, 1e-5, 1e-7)
            np.testing.assert_allclose(fg.vmap(wrap(fg.grad(f)))(x[None])[0], want, 1e-5, 1e-7)
    assert np.isnan(fg.grad(jnp.linalg.norm)(np.zeros(3, np.float32))).all()
