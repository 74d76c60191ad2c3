"""checkify against JAX: that a failure is there, its class and the user's words, and the values.

What is ours alone follows: the user's line in each message, the failure that came first, and
derivatives and batching rules taken around a checked function.
"""

import copy
import pickle
from types import SimpleNamespace

import jax
import jax.experimental.checkify
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.experimental.checkify
import funcgrad.numpy as fnp
from engines import OURS
from funcgrad import custom_batching, lax
from funcgrad.experimental import checkify
from funcgrad.ir.jaxpr import subprograms
from samples import ROWS


def library(api, checks):
    return SimpleNamespace(api=api, xp=api.numpy, lax=api.lax, checks=checks, all=checks.all_checks)


LIBRARIES = [
    library(fg, funcgrad.experimental.checkify),
    library(jax, jax.experimental.checkify),
]
XS = np.array([1.0, -2.0, -3.0], "f4")
VECTOR, MATRIX = np.arange(4, dtype="f4"), np.arange(12, dtype="f4").reshape(3, 4)
THREE = np.arange(1, 4, dtype="i4")


def f32(x):
    return np.float32(x)


def outcome(checked, args):
    """The class and text of the failure (the user's words, if a check of the user's), the output.

    Of a batch, one pair for each member that failed.
    """
    error, out = checked(*args)
    found = error.get_exception()

    def said(exception):
        kind = type(exception).__name__
        return kind, str(exception).partition(" (`check`")[0] if kind == "FailedCheckError" else ""

    if found is None or not hasattr(found, "error_mapping"):
        return said(found), out
    return {index: said(e) for index, e in found.error_mapping.items()}, out


def agree(make, *args):
    """Both libraries find the same failure and the same output; returns the failure."""
    args = [jax.tree.map(np.asarray, a) for a in args]
    (ours, out), (theirs, wanted) = (
        outcome(make(lib), [*map(lib.xp.asarray, args)]) for lib in LIBRARIES
    )
    for a, b in zip(fg.tree.leaves(out), jax.tree.leaves(wanted), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-6)
    assert ours == theirs
    return ours


def positive_sine(lib):
    def f(x):
        lib.checks.check(x > 0, "{x} is not positive, nor is {}", x + 1, x=x)
        return lib.xp.sin(x)

    return f


def sum_of(lib, reverse=False):
    def turn(total, x):
        lib.checks.check(x > 0, "turn {x:.1f} after {}", total, x=x)
        return total + x, x * 2

    return lambda xs: lib.lax.scan(turn, f32(0), xs, reverse=reverse)


def counting(lib, test=3, body=7):
    """Counts to 6; the test fails from `test` on, the body at `body` + the argument."""

    def f(n):
        def going(s):
            lib.checks.check(s < test, "test {}", s)
            return s < 6

        def turn(s):
            lib.checks.check(s != body + n, "body {}", s)
            return s + 1

        return lib.lax.while_loop(going, turn, n * 0)

    return f


def either_way(lib):
    def yes(x):
        lib.checks.check(x > 0, "yes {}", x)
        return x

    def no(x):
        lib.checks.check(x < 0, "no {} {}", x, x + 1)
        return lib.xp.exp(x)

    return lambda p, x: lib.lax.cond(p, yes, no, x)


def one_of(lib):
    def checked(name, scale):
        def branch(x):
            lib.checks.check(x > 0, name + " {}", x)
            return x * scale

        return branch

    return lambda i, x: lib.lax.switch(i, [lambda x: x, checked("a", 2), checked("b", 3)], x)


def ck(lib, f, errors=None):
    return lib.checks.checkify(f, lib.all if errors is None else errors)


USER = {
    "plain": (lambda lib: ck(lib, positive_sine(lib)), f32(-1)),
    "fine": (lambda lib: ck(lib, positive_sine(lib)), f32(1)),
    "jit outside": (lambda lib: lib.api.jit(ck(lib, positive_sine(lib))), f32(-1)),
    "jit inside": (lambda lib: ck(lib, lib.api.jit(positive_sine(lib))), f32(-1)),
    "jit on both sides": (
        lambda lib: lib.api.jit(ck(lib, lib.api.jit(positive_sine(lib)))),
        f32(-1),
    ),
    "vmap outside": (lambda lib: lib.api.vmap(ck(lib, positive_sine(lib))), XS),
    "vmap outside, all fine": (lambda lib: lib.api.vmap(ck(lib, positive_sine(lib))), abs(XS)),
    "vmap twice": (
        lambda lib: lib.api.vmap(lib.api.jit(lib.api.vmap(ck(lib, positive_sine(lib))))),
        np.stack([XS, -XS]),
    ),
    "vmap inside": (lambda lib: ck(lib, lib.api.vmap(positive_sine(lib))), XS[:2]),
    "jit vmap jit": (
        lambda lib: lib.api.jit(lib.api.vmap(ck(lib, lib.api.jit(positive_sine(lib))))),
        XS,
    ),
    "grad inside": (lambda lib: ck(lib, lib.api.grad(positive_sine(lib))), f32(-1)),
    "jacfwd of grad inside": (
        lambda lib: ck(lib, lib.api.jacfwd(lib.api.grad(positive_sine(lib)))),
        f32(-1),
    ),
    "linearize inside": (
        lambda lib: ck(lib, lambda x: lib.api.linearize(positive_sine(lib), x)[0]),
        f32(-1),
    ),
    "jvp outside": (
        lambda lib: lambda x: lib.api.jvp(ck(lib, positive_sine(lib)), (x,), (x,))[0],
        f32(-1),
    ),
    "grad outside": (lambda lib: grad_around(lib, ck(lib, positive_sine(lib))), f32(-1)),
    "jit of grad outside": (
        lambda lib: lib.api.jit(grad_around(lib, ck(lib, lib.api.jit(positive_sine(lib))))),
        f32(-1),
    ),
    "scan": (lambda lib: ck(lib, sum_of(lib)), XS),
    "scan backwards": (lambda lib: lib.api.jit(ck(lib, sum_of(lib, reverse=True))), XS),
    "scan without turns": (lambda lib: ck(lib, sum_of(lib)), XS[:0]),
    "vmap of scan": (lambda lib: lib.api.vmap(ck(lib, sum_of(lib))), np.stack([XS, -XS, abs(XS)])),
    "scan of vmap": (lambda lib: ck(lib, lib.api.vmap(sum_of(lib))), np.stack([abs(XS), XS])),
    "scan that stacks errors": (
        lambda lib: (
            lambda xs: lib.lax.scan(
                lambda c, x: (c, ck(lib, positive_sine(lib))(x)[0]), f32(0), xs
            )[::-1]
        ),
        XS,
    ),
    "test fails": (lambda lib: ck(lib, counting(lib)), np.int32(0)),
    "body fails": (lambda lib: ck(lib, counting(lib, test=9, body=4)), np.int32(1)),
    "test fails once, at the end": (
        lambda lib: lib.api.jit(ck(lib, counting(lib, test=6))),
        np.int32(0),
    ),
    "neither fails": (lambda lib: lib.api.jit(ck(lib, counting(lib, test=9))), np.int32(1)),
    "fori": (
        lambda lib: ck(lib, lambda n: lib.lax.fori_loop(0, n, index_check(lib), n)),
        np.int32(5),
    ),
    "map": (lambda lib: ck(lib, lambda xs: lib.lax.map(positive_sine(lib), xs)), XS),
    "checkpoint": (lambda lib: ck(lib, lib.api.checkpoint(positive_sine(lib))), f32(-1)),
    "grad of checkpoint": (
        lambda lib: lib.api.jit(ck(lib, lib.api.grad(lib.api.checkpoint(positive_sine(lib))))),
        f32(-1),
    ),
    "grad around checkpoint": (
        lambda lib: grad_around(lib, ck(lib, lib.api.checkpoint(positive_sine(lib)))),
        f32(-1),
    ),
    "named axis": (lambda lib: lib.api.vmap(ck(lib, of_sum(lib)), axis_name="i"), XS),
    "named axis inside": (lambda lib: ck(lib, lib.api.vmap(of_sum(lib), axis_name="i")), XS),
    "no user checks": (lambda lib: ck(lib, positive_sine(lib), lib.checks.nan_checks), f32(-1)),
    "checkify in checkify": (
        lambda lib: ck(lib, lambda x: ck(lib, positive_sine(lib), lib.checks.nan_checks)(x)[1]),
        f32(-1),
    ),
    "check_error": (lambda lib: ck(lib, handed_on(lib, positive_sine(lib))), f32(-1)),
    "check_error in jit": (
        lambda lib: lib.api.jit(ck(lib, lib.api.jit(handed_on(lib, positive_sine(lib))))),
        f32(-1),
    ),
    "check_error of a nan, not asked for": (
        lambda lib: ck(lib, handed_on(lib, lib.xp.log), lib.checks.user_checks),
        f32(-1),
    ),
    "check_error of a batch": (
        lambda lib: ck(lib, handed_on(lib, positive_sine(lib), lib.api.vmap)),
        XS[:2],
    ),
    "debug_check": (lambda lib: ck(lib, lib.api.jit(debug(lib))), f32(-1)),
    "pmap outside": (lambda lib: lib.api.pmap(ck(lib, positive_sine(lib))), XS),
}
for _p in (True, False):
    for _x in (-1, 1):
        USER[f"cond {_p} {_x}"] = (lambda lib: ck(lib, either_way(lib)), np.bool_(_p), f32(_x))
        USER[f"jit of cond {_p} {_x}"] = (
            lambda lib: lib.api.jit(ck(lib, either_way(lib))),
            np.bool_(_p),
            f32(_x),
        )
        USER[f"grad of cond {_p} {_x}"] = (
            lambda lib: ck(lib, lib.api.grad(either_way(lib), 1)),
            np.bool_(_p),
            f32(_x),
        )
for _i in range(4):
    USER[f"switch {_i}"] = (lambda lib: ck(lib, one_of(lib)), np.int32(_i), f32(-1))


def grad_around(lib, checked):
    """x -> (err, d out / d x)."""

    def swapped(x):
        error, out = checked(x)
        return out, error

    return lambda x: lib.api.grad(swapped, has_aux=True)(x)[::-1]


def index_check(lib):
    def body(i, total):
        lib.checks.check(i != 3, "turn {}", i)
        return total + i

    return body


def of_sum(lib):
    def f(x):
        total = lib.lax.psum(x, "i")
        lib.checks.check(total > 0, "sum {}", total)
        return x / total

    return f


def handed_on(lib, f, mapped=lambda f: f):
    def g(x):
        error, out = mapped(ck(lib, f))(x)
        lib.checks.check_error(error)
        return out

    return g


def debug(lib):
    def f(x):
        lib.checks.debug_check(x > 0, "debug {}", x)
        return x

    return f


@pytest.mark.parametrize("name", USER)
def test_user_checks_agree_with_jax(name):
    agree(*USER[name])


def checked_power(lib):
    f = lib.api.custom_jvp(lambda x: lib.xp.log(x))
    f.defjvp(lambda primals, tangents: (f(primals[0]), tangents[0] / primals[0]))
    return f


def checked_vjp(lib):
    f = lib.api.custom_vjp(lambda x: lib.xp.log(x))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct / x,))
    return f


AUTOMATIC = {
    "log": (lambda lib: ck(lib, lib.xp.log), f32(-1)),
    "log of a batch": (lambda lib: lib.api.vmap(ck(lib, lib.xp.log)), XS),
    "log of a vector": (lambda lib: lib.api.jit(ck(lib, lib.xp.log)), XS),
    "bfloat16": (lambda lib: ck(lib, lambda x: lib.xp.log(x.astype("bfloat16"))), f32(-1)),
    "complex": (lambda lib: ck(lib, lambda x: x * x.real), np.complex64(complex(np.inf, 1))),
    "inf - inf": (lambda lib: ck(lib, lambda x: x - x), f32(np.inf)),
    "nan that is meant": (
        lambda lib: ck(lib, lambda x: lib.xp.where(x > 0, x, lib.xp.nan)[::-1]),
        XS,
    ),
    "nan argument": (lambda lib: ck(lib, lambda x: x + 1), f32(np.nan)),
    "nan moved": (lambda lib: ck(lib, lambda x: -abs(x).reshape(1, 1).T), f32(np.nan)),
    "gradient of sqrt": (lambda lib: ck(lib, lib.api.grad(lambda x: lib.xp.sqrt(x) * 0)), f32(0)),
    "hessian": (lambda lib: ck(lib, lib.api.hessian(lambda x: lib.xp.log(x).sum())), XS),
    "while": (
        lambda lib: ck(lib, lambda x: lib.lax.while_loop(lambda s: s > 0, lib.xp.log, x)),
        f32(2),
    ),
    "x / 0": (lambda lib: ck(lib, lambda x, y: x / y), XS, f32(0)),
    "x / vector": (lambda lib: ck(lib, lambda x, y: x / y), XS, np.array([1, 0, 2], "f4")),
    "x / 0 inside jit": (lambda lib: ck(lib, lib.api.jit(lambda x: x / 0)), XS),
    "x // 0": (lambda lib: ck(lib, lambda x, y: x // y), np.int32(3), np.int32(0)),
    "divmod": (lambda lib: ck(lib, lambda x, y: lib.xp.divmod(x, y)), np.int32(3), np.int32(2)),
    "0 // x": (lambda lib: ck(lib, lambda x: 0 // x), np.int32(3)),
    "x / 0, nan asked for": (
        lambda lib: ck(lib, lambda x: x / 0, lib.checks.nan_checks),
        XS,
    ),
    "custom_jvp": (lambda lib: ck(lib, checked_power(lib)), f32(-1)),
    "custom_jvp in vmap": (lambda lib: lib.api.vmap(ck(lib, checked_power(lib))), XS),
    "grad of custom_jvp": (lambda lib: ck(lib, lib.api.grad(checked_power(lib))), f32(0)),
    "custom_vjp": (lambda lib: ck(lib, lib.api.jit(checked_vjp(lib))), f32(-1)),
    "grad of custom_vjp": (lambda lib: ck(lib, lib.api.grad(checked_vjp(lib))), f32(0)),
    "x[i]": (lambda lib: ck(lib, lambda x, i: x[i]), VECTOR, np.int32(4)),
    "x[-i]": (lambda lib: ck(lib, lambda x, i: x[-i]), VECTOR, np.int32(4)),
    "x[-5]": (lambda lib: ck(lib, lambda x: x[-5]), VECTOR),
    "x[5]": (lambda lib: ck(lib, lambda x: x[5]), VECTOR),
    "x[5] inside jit": (lambda lib: ck(lib, lib.api.jit(lambda x: x[5])), VECTOR),
    "x[3] and x[-4]": (lambda lib: ck(lib, lambda x: x[3] + x[-4]), VECTOR),
    "x[:, 9]": (lambda lib: ck(lib, lambda x: x[:, 9]), MATRIX),
    "x[::2, 9]": (lambda lib: ck(lib, lambda x: x[::2, 9]), MATRIX),
    "x[None, ..., 9]": (lambda lib: ck(lib, lambda x: x[None, ..., 9]), MATRIX),
    "x[i, 9]": (lambda lib: ck(lib, lib.api.jit(lambda x, i: x[i, 9])), MATRIX, np.int32(1)),
    "x[vector]": (lambda lib: ck(lib, lambda x, i: x[:, i]), MATRIX, np.array([0, 7])),
    "x[empty]": (lambda lib: ck(lib, lambda x, i: x[i]), VECTOR, np.zeros(0, "i4")),
    "x[mask]": (lambda lib: ck(lib, lambda x: x[np.array([True, False, True, True])]), VECTOR),
    "uint8": (lambda lib: ck(lib, lambda x, i: x[i]), VECTOR, np.array([1, 200], "u1")),
    "take": (lambda lib: ck(lib, lambda x, i: lib.xp.take(x, i)), VECTOR, np.int32(4)),
    "take_along_axis": (
        lambda lib: ck(lib, lambda x, i: lib.xp.take_along_axis(x, i, 0)),
        VECTOR,
        np.array([9]),
    ),
    "clip": (lambda lib: ck(lib, lambda x, i: lib.xp.take(x, i, mode="clip")), VECTOR, THREE + 2),
    "wrap": (lambda lib: ck(lib, lambda x, i: lib.xp.take(x, i, mode="wrap")), VECTOR, THREE + 2),
    "dynamic_slice": (
        lambda lib: ck(lib, lambda x, i: lib.lax.dynamic_slice(x, (i,), (2,))),
        VECTOR,
        np.int32(3),
    ),
    "dynamic_slice that fits": (
        lambda lib: ck(lib, lambda x, i: lib.lax.dynamic_slice(x, (i,), (2,))),
        VECTOR,
        np.int32(2),
    ),
    "dynamic_update_slice": (
        lambda lib: ck(lib, lambda x, i: lib.lax.dynamic_update_slice(x, x[:2], (i,))),
        VECTOR,
        np.int32(3),
    ),
    "at set": (lambda lib: ck(lib, lambda x, i: x.at[i].set(1)), VECTOR, np.int32(4)),
    "at[7]": (lambda lib: ck(lib, lambda x: x.at[7].set(1)), VECTOR),
    "at add": (lambda lib: ck(lib, lambda x, i: x.at[i].add(1)), VECTOR, THREE + 2),
    "at max inside": (lambda lib: ck(lib, lambda x, i: x.at[i].max(1)), VECTOR, THREE),
    "vmap of x[i]": (
        lambda lib: ck(lib, lib.api.vmap(lambda x, i: x[i], (None, 0))),
        VECTOR,
        THREE + 2,
    ),
    "x[i] under vmap": (
        lambda lib: lib.api.vmap(ck(lib, lambda x, i: x[i]), (None, 0)),
        VECTOR,
        THREE + 2,
    ),
    "gradient of x[i]": (
        lambda lib: ck(lib, lib.api.grad(lambda x, i: x[i].sum())),
        VECTOR,
        THREE + 2,
    ),
    "segment_sum": (
        lambda lib: ck(lib, lambda x, i: lib.api.ops.segment_sum(x, i, 3)),
        VECTOR[:3],
        THREE,
    ),
    "interp": (lambda lib: ck(lib, lambda x: lib.xp.interp(x + 1.5, x, x)), VECTOR),
    "sort, percentile, roll": (
        lambda lib: ck(
            lib,
            lambda x: lib.xp.roll(lib.xp.sort(x), 2) + lib.xp.percentile(x, 40) + lib.xp.var(x),
        ),
        VECTOR,
    ),
    "normal": (
        lambda lib: ck(lib, lambda k: lib.api.random.normal(k, (9,))),
        np.arange(2, dtype="u4"),
    ),
}


@pytest.mark.parametrize("name", AUTOMATIC)
def test_automatic_checks_agree_with_jax(name):
    agree(*AUTOMATIC[name])


READINGS = {
    "x[:, 9]": lambda x: x[:, 9],
    "x[-9]": lambda x: x[-9],
    "x[1, -9]": lambda x: x[1, -9],
    "x[::2, 9]": lambda x: x[::2, 9],
    "x[10**12]": lambda x: x[10**12],
}


@pytest.mark.parametrize("name", READINGS)
def test_known_indices_out_of_bounds_read_the_nearest_element(name):
    function = READINGS[name]
    row, column = np.array(MATRIX), fnp.asarray(MATRIX)
    inside = {
        "x[:, 9]": row[:, 3],
        "x[-9]": row[0],
        "x[1, -9]": row[1, 0],
        "x[::2, 9]": row[::2, 3],
        "x[10**12]": row[2],
    }
    np.testing.assert_array_equal(function(column), inside[name])
    np.testing.assert_array_equal(fg.jit(function)(column), inside[name])
    gradient = fg.grad(lambda x: function(x).sum())(column)
    if name != "x[::2, 9]":
        assert float(gradient.sum()) == inside[name].size


# What is ours alone


@pytest.mark.parametrize(
    "function, args, says",
    [
        (lambda x: fnp.log(x), (f32(-1),), ["nan generated by primitive: log"]),
        (lambda x, y: x / y, (XS, f32(0)), ["division by zero"]),
        (
            lambda x, y: x / y,
            (XS, np.zeros(3, "f4")),
            ["division by zero by an element of the divisor of shape (3,)"],
        ),
        (
            lambda x, i: x[0, i],
            (MATRIX, np.int32(7)),
            ["shape (3, 4)", "dynamic_slice", "index 7 lies outside of axis 1, whose size is 4"],
        ),
        (
            lambda x, i: x[i],
            (MATRIX, np.array([1, 5])),
            ["shape (3, 4)", "gather", "index 5 lies outside of axis 0, whose size is 3"],
        ),
        (
            lambda x, i: x.at[:, i].add(1),
            (MATRIX, np.int32(-9)),
            ["scatter-add", "index -5, counted from the front, lies outside of axis 1"],
        ),
        (
            lambda x, i: lax.dynamic_slice(x, (i,), (3,)),
            (VECTOR, np.int32(2)),
            ["a window of 3 elements that starts at index 2 does not fit into axis 0"],
        ),
        (
            lambda x: checkify.check(x > 0, "user {}", x),
            (f32(-1),),
            ["user -1.0 (`check` failed)"],
        ),
    ],
)
@pytest.mark.parametrize("wrapped", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_messages_say_what_and_where(function, args, says, wrapped):
    checked = checkify.checkify(wrapped(function), checkify.all_checks)
    for run in (checked, fg.jit(checked)):
        message = run(*map(fnp.asarray, args))[0].get()
        for part in says:
            assert part in message
        code = function.__code__
        assert f"{code.co_filename}:" in message and "lambda" in message


def test_the_first_failure_counts_whatever_its_category():
    def nan_first(x):
        y = fnp.log(x)
        checkify.check(x > 0, "later")
        return y

    def user_first(x):
        checkify.check(x > 0, "earlier")
        return fnp.log(x)

    for wrapped in (lambda f: f, fg.jit):
        found = checkify.checkify(wrapped(nan_first), checkify.all_checks)(f32(-1))[0]
        assert found.get().startswith("nan generated by primitive: log")
        found = checkify.checkify(wrapped(user_first), checkify.all_checks)(f32(-1))[0]
        assert found.get().startswith("earlier")


def test_a_loop_keeps_its_first_failure_among_different_checks():
    def turn(total, x):
        checkify.check(x != 1, "one {}", total)
        checkify.check(x != 2, "two {} {}", x, XS)
        return total + x, None

    def run(xs):
        return checkify.checkify(lambda xs: lax.scan(turn, f32(0), xs))(xs)[0].get()

    assert run(f32([2, 1, 0])).startswith("two 2.0 [ 1. -2. -3.]")
    assert run(f32([0, 1, 2])).startswith("one 0.0")
    assert run(f32([0, 0, 2])).startswith("two 2.0")
    assert run(f32([0, 0, 0])) is None


def test_members_that_did_not_take_a_branch_do_not_fail():
    branches = either_way(LIBRARIES[0])
    taken = fnp.array([True, True, False, False])
    checked = checkify.checkify(fg.vmap(branches))
    assert checked(taken, f32([2, 1, -1, -1]))[0].get() is None
    assert checked(taken, f32([2, 1, -1, 3]))[0].get().startswith("no 3.0 4.0")


def test_while_and_vmap_in_either_order():
    f = counting(LIBRARIES[0], test=9, body=3)
    errors, counts = fg.vmap(checkify.checkify(f))(THREE)
    found = errors.get_exception().error_mapping
    assert [str(e)[:6] for e in found.values()] == ["body 4", "body 5"]
    assert [*found] == [(0,), (1,)] and counts.tolist() == [6, 6, 6]
    inside = checkify.checkify(fg.vmap(f))
    assert inside(THREE[1:])[0].get().startswith("body 5")
    assert inside(THREE[2:])[0].get() is None
    each_decides = checkify.checkify(
        fg.vmap(lambda n: lax.while_loop(lambda s: s < n, body, n * 0))
    )
    assert each_decides(THREE)[0].get() is None
    assert each_decides(THREE + 2)[0].get().startswith("turn 3")


def test_members_that_are_done_do_not_fail():
    def f(n):
        def turn(s):
            checkify.check(s != n, "{} is done", n)
            return s + 1

        return lax.while_loop(lambda s: s < n, turn, n * 0)

    for checked in (checkify.checkify(fg.vmap(f)), fg.jit(checkify.checkify(fg.jit(fg.vmap(f))))):
        error, out = checked(THREE)
        assert error.get() is None
        assert out.tolist() == [1, 2, 3]


def body(s):
    checkify.check(s != 3, "turn {}", s)
    return s + 1


def test_derivatives_of_loops_keep_their_checks():
    slope = fg.grad(lambda xs: sum_of(LIBRARIES[0])(xs)[0])
    for checked in (checkify.checkify(slope), fg.jit(checkify.checkify(fg.jit(slope)))):
        error, out = checked(XS)
        assert error.get().startswith("turn -2.0 after 1.0")
        assert out.tolist() == [1, 1, 1]


def test_of_a_batch_inside_the_first_member_speaks():
    checked = checkify.checkify(fg.vmap(positive_sine(LIBRARIES[0])))
    assert checked(XS)[0].get().startswith("-2.0 is not positive")
    assert checked(XS[:0])[0].get() is None


def test_of_a_pmap_inside_the_first_member_speaks():
    checked = checkify.checkify(fg.pmap(positive_sine(LIBRARIES[0])))
    error, out = checked(XS)
    assert error.get().startswith("-2.0 is not positive")
    np.testing.assert_allclose(out, np.sin(XS), rtol=1e-6)
    assert checked(abs(XS))[0].get() is None


@pytest.mark.parametrize("make", [checked_power, checked_vjp])
@pytest.mark.parametrize("wrapped", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_derivatives_around_a_checked_custom_rule(make, wrapped):
    lib = LIBRARIES[0]
    checked = checkify.checkify(wrapped(make(lib)), checkify.all_checks)
    error, slope = wrapped(grad_around(lib, checked))(f32(-2))
    assert error.get().startswith("nan generated by primitive: log")
    np.testing.assert_allclose(slope, -0.5)
    assert grad_around(lib, checked)(f32(2))[0].get() is None

    errors, slopes = fg.vmap(grad_around(lib, checked))(XS)
    assert sorted(errors.get_exception().error_mapping) == [(1,), (2,)]
    np.testing.assert_allclose(slopes, 1 / XS, rtol=1e-6)

    def total(xs):
        errors, outs = fg.vmap(checked)(xs)
        return outs.sum(), errors

    slopes, errors = fg.grad(total, has_aux=True)(fnp.asarray(XS))
    assert sorted(errors.get_exception().error_mapping) == [(1,), (2,)]
    np.testing.assert_allclose(slopes, 1 / XS, rtol=1e-6)


def test_forward_mode_of_custom_vjp_is_looked_into():
    f = checked_vjp(LIBRARIES[0])
    slope = checkify.checkify(lambda x: fg.jvp(f, (x,), (x,))[1], checkify.div_checks)
    assert slope(f32(0))[0].get().startswith("division by zero")
    error, out = fg.jit(slope)(f32(2))
    assert error.get() is None and out == 1
    np.testing.assert_allclose(grad_around(LIBRARIES[0], slope)(f32(2))[1], 0, atol=1e-6)


def test_checks_in_custom_rules_count_inside_and_raise_around():
    f = fg.custom_vjp(fnp.sin)

    def backward(x, ct):
        checkify.check(x > 0, "backward of {}", x)
        return (ct * fnp.cos(x),)

    f.defvjp(lambda x: (f(x), x), backward)
    inside = checkify.checkify(fg.grad(f))
    assert inside(f32(-1))[0].get().startswith("backward of -1.0")
    assert inside(f32(1))[0].get() is None
    with pytest.raises(checkify.JaxRuntimeError, match=r"backward of -1\.0"):
        grad_around(LIBRARIES[0], checkify.checkify(f, checkify.all_checks))(f32(-1))


@pytest.mark.parametrize("wrapped", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_custom_vmap_keeps_its_rule(wrapped):
    f = custom_batching.custom_vmap(fnp.log)
    f.def_vmap(lambda size, batched, x: (fnp.log(x) + 100, True))
    checked = checkify.checkify(wrapped(f), checkify.nan_checks)
    assert checked(f32(-1))[0].get().startswith("nan generated by primitive: log")
    errors, outs = wrapped(fg.vmap(checked))(XS)
    assert sorted(errors.get_exception().error_mapping) == [(1,), (2,)]
    np.testing.assert_allclose(outs[0], 100)
    inside = checkify.checkify(fg.vmap(wrapped(f)), checkify.nan_checks)
    assert inside(XS)[0].get().startswith("nan generated by primitive: log")
    error, slope = grad_around(LIBRARIES[0], checked)(f32(2))
    assert error.get() is None
    np.testing.assert_allclose(slope, 0.5)


def primitives_in(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for inner in subprograms(eqn.params):
            yield from primitives_in(getattr(inner, "jaxpr", inner))


def test_a_checked_program_calls_no_python():
    checked = checkify.checkify(sum_of(LIBRARIES[0]), checkify.all_checks)
    found = set(primitives_in(fg.make_jaxpr(checked)(XS).jaxpr))
    assert "scan" in found and "select_n" in found
    assert not found & {"check", "pure_callback", "io_callback", "debug_callback"}


def test_compiled_once():
    traces = []

    def f(x):
        traces.append(x)
        checkify.check(x > 0, "no {}", x)
        return x

    jitted = fg.jit(checkify.checkify(f))
    errors = [jitted(f32(v))[0] for v in (1, -1, -2)]
    assert len(traces) == 1
    assert [e.get() and e.get()[:7] for e in errors] == [None, "no -1.0", "no -2.0"]
    assert fg.tree.structure(errors[0]) == fg.tree.structure(errors[1])
    eager = [checkify.checkify(f)(f32(v))[0] for v in (1, -1)]
    assert fg.tree.structure(eager[0]) == fg.tree.structure(eager[1])


def test_error_is_a_value():
    error, _ = checkify.checkify(positive_sine(LIBRARIES[0]))(f32(-1))
    text = error.get()
    assert fg.jit(lambda e: e)(error).get() == text
    assert pickle.loads(pickle.dumps(error)).get() == text
    assert copy.deepcopy(error).get() == text
    carried, _ = lax.scan(lambda e, x: (e, x), error, XS)
    assert carried.get() == text
    assert repr(error) == f"Error({text})"
    with pytest.raises(checkify.JaxRuntimeError) as raised:
        error.throw()
    assert str(raised.value) == text
    assert isinstance(raised.value, ValueError)
    assert checkify.init_error.get() is None
    assert checkify.init_error.throw() is None
    assert fg.tree.leaves(checkify.init_error) == []


def test_a_traced_error_has_no_message_yet():
    def f(x):
        return checkify.checkify(positive_sine(LIBRARIES[0]))(x)[0].get()

    with pytest.raises(fg.errors.TracerBoolConversionError, match="Return the Error"):
        fg.jit(f)(f32(-1))


def test_outside_of_checkify_a_check_raises_at_once():
    with pytest.raises(checkify.JaxRuntimeError, match=r"-1\.0 is not positive, nor is 0\.0"):
        positive_sine(LIBRARIES[0])(fnp.float32(-1))
    with pytest.raises(checkify.JaxRuntimeError, match=r"-2\.0 is not positive"):
        fg.vmap(positive_sine(LIBRARIES[0]))(XS)
    with pytest.raises(checkify.JaxRuntimeError, match=r"-1\.0 is not positive"):
        fg.grad(positive_sine(LIBRARIES[0]))(f32(-1))
    assert positive_sine(LIBRARIES[0])(fnp.float32(0.5)) > 0


UNCOLLECTED = {
    "jit": lambda: fg.jit(positive_sine(LIBRARIES[0]))(f32(1)),
    "grad of jit": lambda: fg.grad(fg.jit(positive_sine(LIBRARIES[0])))(f32(1)),
    "scan": lambda: sum_of(LIBRARIES[0])(XS),
    "while": lambda: counting(LIBRARIES[0])(np.int32(0)),
    "cond in jit": lambda: fg.jit(either_way(LIBRARIES[0]))(True, f32(1)),
    "throw in jit": lambda: fg.jit(
        lambda x: checkify.checkify(positive_sine(LIBRARIES[0]))(x)[0].throw()
    )(f32(1)),
}


@pytest.mark.parametrize("name", UNCOLLECTED)
def test_programs_with_uncollected_checks_are_refused(name):
    with pytest.raises(ValueError, match=r"the check at .*test_checkify.py.*Functionalize it"):
        UNCOLLECTED[name]()


def test_debug_checks_are_nothing_until_collected():
    f = debug(LIBRARIES[0])
    assert f(fnp.float32(-1)) == -1
    assert fg.jit(f)(f32(-1)) == -1
    assert lax.map(f, XS)[1] == -2
    assert fg.vmap(f)(XS)[1] == -2
    assert checkify.checkify(fg.jit(f))(f32(-1))[0].get().startswith("debug -1.0")
    assert checkify.checkify(f, checkify.nan_checks)(f32(-1))[0].get() is None


def test_where_checks_cannot_be_collected_is_said():
    def solve(_, b):
        checkify.check(b.sum() > 0, "no")
        return b / 2

    def f(b):
        return lax.custom_linear_solve(lambda v: 2 * v, b, solve)

    with pytest.raises(NotImplementedError, match=r"custom_linear_solve.*move the check out"):
        checkify.checkify(f)(XS)


def test_arguments_that_are_no_arrays_are_handed_on():
    def f(x, mode, *, scale):
        if mode == "strict":
            checkify.check(x > 0, "strict {}", x)
        return {"out": x * scale, "none": None}

    error, out = checkify.checkify(f)(f32(-1), "strict", scale=3)
    assert error.get().startswith("strict -1.0")
    assert out == {"out": -3, "none": None}
    assert checkify.checkify(f)(f32(-1), "lax", scale=3)[0].get() is None
    assert checkify.checkify(f).__name__ == "f"


def test_messages_format_trees_keys_and_specs():
    key = fg.random.key(0)
    cases = [
        (("{:d} {:.2f}", np.int32(3), f32(2.5)), {}, "3 2.50 (`check` failed)"),
        (("{a[w]:.1f} {}", [f32(1)]), {"a": {"w": f32(2)}}, "2.0 ["),
        (("{}", key), {}, "Array((), dtype=key<fry>)"),
        (("{} {}", 3, np.arange(2)), {}, "3 [0 1]"),
        (("nothing to show", f32(1)), {}, "nothing to show (`check` failed)"),
    ]
    for args, kwargs, text in cases:
        checked = checkify.checkify(lambda a=args, k=kwargs: checkify.check(False, *a, **k))
        assert checked()[0].get().startswith(text)


@pytest.mark.parametrize(
    "call, error, says",
    [
        (lambda: checkify.check(XS > 0, "m"), TypeError, "one truth value"),
        (lambda: checkify.check(1, "m"), TypeError, "one truth value"),
        (lambda: checkify.check("yes", "m"), TypeError, "one truth value"),
        (lambda: checkify.check(True, 3), TypeError, "format string, got 3"),
        (lambda: checkify.check(True, "{}", "text"), TypeError, "array or a number.*'text'"),
        (lambda: checkify.check(True, "{} {}", 1), IndexError, "1 out of range"),
        (lambda: checkify.check(True, "{y}", x=1), KeyError, "y"),
        (lambda: checkify.check(True, "{:d}", 1.5), ValueError, "code 'd'"),
        (lambda: checkify.check_error("no"), TypeError, "takes the Error.*'no'"),
        (lambda: checkify.checkify(3), TypeError, "expects a function, got 3"),
        (lambda: checkify.checkify(abs, {ValueError}), TypeError, "union of user_checks"),
    ],
)
def test_wrong_arguments_are_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_sets_are_unions():
    assert checkify.float_checks == checkify.nan_checks | checkify.div_checks
    assert checkify.automatic_checks == checkify.float_checks | checkify.index_checks
    assert checkify.all_checks == checkify.automatic_checks | checkify.user_checks
    names = {c.__name__ for c in checkify.all_checks}
    assert names == {c.__name__ for c in LIBRARIES[1].checks.all_checks}


@pytest.mark.parametrize("row", ROWS[3::24], ids=lambda row: row.name)
def test_checking_changes_no_value(row):
    function, args = row.make(OURS), row.arguments()
    wanted = fg.jit(function)(*args)
    _, out = fg.jit(checkify.checkify(function, checkify.all_checks))(*args)
    for a, b in zip(fg.tree.leaves(out), fg.tree.leaves(wanted), strict=True):
        assert a.aval == b.aval
        if not isinstance(a.dtype, np.dtype):
            continue
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5, atol=1e-6)
