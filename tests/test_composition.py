"""Transformations compose: any word of them does to any function what JAX's does.

A recorded row of numbers is what JAX computes for each word up to three letters; longer words are
drawn, and compared between an eager and a compiled call, a few of them with JAX.
"""

import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad
from answers import WORDS
from engines import JAX, OURS
from words import (
    LENGTH,
    LETTERS,
    SAMPLES,
    Sample,
    answer_or_nan,
    answer_to_word,
    fingerprint,
    has_two_pmaps,
    words,
)

ERROR = 1e-9

# What we can do with these and JAX cannot: forward mode of a custom_vjp function (the transpose of
# its backward rule), and derivatives of staged functions whose custom rules close over tracers.
# If such a word gives anything, then what it gives without the letters that change no values.
WIDER_THAN_JAX = {"custom_backward", "custom_closure"}
NEUTRAL = ("jit", "checkpoint")


def problem(sample: Sample, word: tuple[str, ...], table: dict[tuple, np.ndarray]) -> str | None:
    """What is wrong with our result of a word; `table` holds JAX's, nan where it raises."""
    want = table[word]
    refused = bool(np.isnan(want).any())
    try:
        got = answer_to_word(OURS, sample, word)
    except Exception as error:
        return None if refused else f"{type(error).__name__}: {str(error)[:300]}"
    if refused and sample.name in WIDER_THAN_JAX:
        want = table[tuple(letter for letter in word if letter not in NEUTRAL)]
        if np.isnan(want).any():
            return None
    elif refused:
        return f"gives {got}, JAX raises"
    scale = max(1.0, float(np.max(np.abs(want))))
    return None if np.allclose(got, want, ERROR, ERROR * scale) else f"gives {got}, JAX {want}"


@pytest.mark.parametrize("first", ["", *LETTERS])
@pytest.mark.parametrize("name", SAMPLES)
def test_words_agree_with_jax(name: str, first: str) -> None:
    """Every word up to three letters that begins with `first`."""
    sample = SAMPLES[name]
    assert WORDS.manifest["fingerprints"].get(name) == fingerprint(sample), (
        f"the function {name} or a letter has changed: run `python tests/record.py`"
    )
    (recorded,) = WORDS.answer(f"{name}|words")
    table = dict(zip(words(LENGTH), recorded, strict=True))
    problems = {
        " ".join(word) or "no letter": problem(sample, word, table)
        for word in table
        if (word[0] if word else "") == first and not has_two_pmaps(word, sample)
    }
    wrong = [f"{word}: {what}" for word, what in problems.items() if what]
    assert not wrong, f"{len(wrong)} of {len(problems)} words\n" + "\n".join(wrong)


@pytest.mark.parametrize("part", range(4))
def test_recorded_answers_are_those_of_jax(part: int) -> None:
    """One answer in fifty is asked again, others in every run."""
    assert WORDS.manifest["jax"] == JAX.__version__
    seed = int.from_bytes(os.urandom(4))
    keys = [(s, i) for s in SAMPLES.values() for i in range(len(words(LENGTH)))]
    for sample, i in random.Random(seed).sample(keys, len(keys) // 200):
        (table,) = WORDS.answer(f"{sample.name}|words")
        got = answer_or_nan(sample, words(LENGTH)[i])
        what = f"{sample.name}, {words(LENGTH)[i]}, drawn with seed {seed}"
        np.testing.assert_allclose(got, table[i], ERROR, ERROR, err_msg=what)


def test_two_pmaps_are_refused() -> None:
    for word in [("pmap", "pmap"), ("pmap", "grad", "pmap"), ("jit", "pmap", "vmap", "pmap")]:
        with pytest.raises(NotImplementedError, match=r"(?s)pmap.*vmap"):
            answer_to_word(OURS, SAMPLES["smooth"], word)
    with pytest.raises(NotImplementedError, match=r"(?s)pmap.*vmap"):
        answer_to_word(OURS, SAMPLES["on_devices"], ("pmap",))


long_words = st.lists(st.sampled_from(sorted(LETTERS)), min_size=4, max_size=6).map(tuple)
# Six gradients of these take long, and say nothing that shorter words do not.
LIGHT = sorted(set(SAMPLES) - {"linear_algebra", "scan_of_cond", "jacobian", "associative"})


def draws(word: tuple[str, ...], sample: Sample) -> bool:
    """Whether a long word makes sense for a function."""
    if has_two_pmaps(word, sample) or word.count("grad") + word.count("jvp") > 4:
        return False
    return not (sample.name == "while_loop" and "grad" in word)


@settings(max_examples=120)
@given(long_words, st.sampled_from(LIGHT))
def test_long_words_agree_with_themselves_compiled(word: tuple[str, ...], name: str) -> None:
    sample = SAMPLES[name]
    if draws(word, sample):
        eager, compiled = (
            answer_to_word(OURS, sample, word),
            answer_to_word(OURS, sample, ("jit", *word)),
        )
        np.testing.assert_allclose(compiled, eager, 1e-8, 1e-8 * max(1.0, np.abs(eager).max()))


@settings(max_examples=8)
@given(long_words, st.sampled_from(["smooth", "closure", "branches", "scanned", "exchanged"]))
def test_long_words_agree_with_jax(word: tuple[str, ...], name: str) -> None:
    sample = SAMPLES[name]
    if draws(word, sample):
        want = answer_or_nan(sample, word)
        np.testing.assert_allclose(
            answer_to_word(OURS, sample, word), want, 1e-8, 1e-8 * max(1.0, np.abs(want).max())
        )


def test_nested_gradients_of_sine() -> None:
    """d^n sin = sin(x + n pi / 2), to the sixth order, in reverse and in forward mode and mixed."""
    with OURS.x64():
        for x in (0.3, -1.2, 2.9):
            reverse = forward = mixed = OURS.sin
            for order in range(1, 7):
                reverse = funcgrad.grad(reverse)
                forward = funcgrad.jacfwd(forward)
                mixed = funcgrad.grad(mixed) if order % 2 else funcgrad.jacfwd(mixed)
                want = np.sin(x + order * np.pi / 2)
                for function in (reverse, forward, mixed):
                    np.testing.assert_allclose(float(function(x)), want, 1e-12, 1e-12)


class Counted:
    """A function that counts its calls, and branches on a value where it may."""

    def __init__(self, branch: bool):
        self.calls = 0
        self.branch = branch

    def __call__(self, x):
        self.calls += 1
        if self.branch and x.sum() > 0:
            return (x * x).sum()
        return OURS.reduce_sum(OURS.sin(x), (0,))


X = np.array([1.0, 2.0, -0.5], np.float32)
EAGER = {
    "grad": lambda f: funcgrad.grad(f)(X),
    "value_and_grad": lambda f: funcgrad.value_and_grad(f)(X),
    "vjp": lambda f: funcgrad.vjp(f, X)[1](np.float32(1)),
    "jvp": lambda f: funcgrad.jvp(f, (X,), (X,)),
    "linearize": lambda f: funcgrad.linearize(f, X)[1](X),
    "jacfwd": lambda f: funcgrad.jacfwd(f)(X),
    "jacrev": lambda f: funcgrad.jacrev(f)(X),
    "hessian": lambda f: funcgrad.hessian(f)(X),
    "grad of grad": lambda f: funcgrad.grad(lambda x: funcgrad.grad(f)(x).sum())(X),
}
BATCHED = {
    "vmap": lambda f: funcgrad.vmap(f)(X[None]),
    "vmap of grad": lambda f: funcgrad.vmap(funcgrad.grad(f))(X[None]),
    "grad of vmap": lambda f: funcgrad.grad(lambda x: funcgrad.vmap(f)(x).sum())(X[None]),
}


@pytest.mark.parametrize("name", [*EAGER, *BATCHED])
def test_eager_transformations_run_the_function_once(name: str) -> None:
    function = Counted(branch=False)
    for times in (1, 2):
        (EAGER | BATCHED)[name](function)
        assert function.calls == times


@pytest.mark.parametrize("name", [n for n in EAGER if n not in ("jacfwd", "jacrev", "hessian")])
def test_eager_derivatives_may_branch_on_a_value(name: str) -> None:
    taken = Counted(branch=True)
    EAGER[name](taken)
    assert taken.calls == 1
    if name == "grad":
        np.testing.assert_allclose(funcgrad.grad(taken)(X), 2 * X)
        np.testing.assert_allclose(funcgrad.grad(taken)(-X), np.cos(-X), 1e-6)


def test_batched_and_staged_branches_are_refused() -> None:
    for transformed in (lambda f: funcgrad.vmap(f)(X[None]), lambda f: funcgrad.jit(f)(X)):
        with pytest.raises(funcgrad.errors.TracerBoolConversionError):
            transformed(Counted(branch=True))
