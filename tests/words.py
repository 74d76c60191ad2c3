"""Words of transformations, and the small functions they act on.

A letter maps a function of an array to another function of an array, shapes kept, so that any
letter may follow any other. Everything is written against a library, ours or JAX.
"""

import inspect
import zlib
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from engines import JAX, Engine

Function = Callable[[Any], Any]
POINT = np.array([0.3, -0.8, 1.1])
# How many letters the recorded words have at most.
LENGTH = 3


# letters


def grad(lib: Engine, f: Function) -> Function:
    return lib.grad(lambda x: lib.reduce_sum(f(x) * lib.cos(x), (0,)))


def jvp(lib: Engine, f: Function) -> Function:
    def pushed(x: Any) -> Any:
        out, tangent = lib.jvp(f, (x,), (lib.sin(x) + 0.5,))
        return out + 0.5 * tangent

    return pushed


def vmap(lib: Engine, f: Function) -> Function:
    def mapped(x: Any) -> Any:
        return lib.reduce_sum(lib.vmap(f)(lib.numpy.stack([x, 0.5 * x])), (0,))

    return mapped


def jit(lib: Engine, f: Function) -> Function:
    return lib.jit(f)


def checkpoint(lib: Engine, f: Function) -> Function:
    return lib.checkpoint(f)


def pmap(lib: Engine, f: Function) -> Function:
    """Copies on several devices, which also exchange their results."""

    def member(x: Any) -> Any:
        out = f(x)
        return out + 0.5 * lib.psum(lib.sin(out), "devices")

    def mapped(x: Any) -> Any:
        copies = lib.numpy.stack([x, 0.5 * x])
        return lib.reduce_sum(lib.pmap(member, axis_name="devices")(copies), (0,))

    return mapped


LETTERS: dict[str, Callable[[Engine, Function], Function]] = {
    "grad": grad,
    "jvp": jvp,
    "vmap": vmap,
    "jit": jit,
    "pmap": pmap,
    "checkpoint": checkpoint,
}


def words(length: int) -> list[tuple[str, ...]]:
    """All words up to a length, outermost letter first, but those with two pmaps."""
    found = [w for n in range(length + 1) for w in product(LETTERS, repeat=n)]
    return [w for w in found if w.count("pmap") < 2]


def spell(lib: Engine, word: tuple[str, ...], f: Function) -> Function:
    """The function that a word makes of f."""
    for letter in reversed(word):
        f = LETTERS[letter](lib, f)
    return f


# functions


class Sample(NamedTuple):
    """A function for words: `make(library)` takes and returns an array of the shape of POINT."""

    name: str
    make: Callable[[Engine], Function]
    source: str


SAMPLES: dict[str, Sample] = {}


def sample(function: Callable[[Engine, Any], Any]) -> Callable:
    """Put a function (library, x) -> array into the table under its name."""
    name = function.__name__
    source = inspect.getsource(function)
    SAMPLES[name] = Sample(name, lambda lib: partial(function, lib), source)
    return function


def fingerprint(sample: Sample) -> int:
    """A number that changes when the function does, or a letter."""
    letters = "".join(map(inspect.getsource, LETTERS.values()))
    return zlib.crc32((letters + sample.source).encode())


def has_two_pmaps(word: tuple[str, ...], sample: Sample) -> bool:
    return word.count("pmap") + (sample.name == "on_devices") > 1


@sample
def smooth(lib: Engine, x: Any) -> Any:
    return lib.sin(x) * x


@sample
def constant(lib: Engine, x: Any) -> Any:
    return lib.numpy.ones_like(x)


@sample
def mixed(lib: Engine, x: Any) -> Any:
    weights = np.arange(9.0).reshape(3, 3) / 9
    return lib.tanh(lib.numpy.dot(weights, x)) - lib.reduce_max(x, (0,))


@sample
def closure(lib: Engine, x: Any) -> Any:
    """Every transformed function inside closes over tracers of the transformations outside."""
    scale = lib.cos(x)
    inner = lib.jit(lambda y: y * scale)
    rows = lib.vmap(lambda s: inner(x) * s)(scale)
    return lib.reduce_sum(rows, (0,)) + lib.checkpoint(lambda y: y * y * scale)(x)


@sample
def perturbation(lib: Engine, x: Any) -> Any:
    """A derivative inside the function, of something that also depends on the outer variable."""
    return lib.grad(lambda y: lib.reduce_sum(lib.sin(y * x) * y, (0,)))(x * x)


@sample
def jacobian(lib: Engine, x: Any) -> Any:
    return lib.numpy.dot(lib.jacfwd(lambda y: lib.sin(y) * lib.reduce_sum(y * x, (0,)))(x), x)


@sample
def branches(lib: Engine, x: Any) -> Any:
    flag = lib.reduce_sum(x, (0,)) > 0.5
    return lib.cond(flag, lambda y: lib.sin(y) * x, lambda y: y * y + 1.0, x)


@sample
def switches(lib: Engine, x: Any) -> Any:
    index = lib.numpy.argmax(x) + 0
    return lib.switch(index, [lib.sin, lambda y: y * x, lambda y: y * y * y], x)


@sample
def scanned(lib: Engine, x: Any) -> Any:
    """A carry, an output per step, and a body that closes over the argument."""
    carry, ys = lib.scan(lambda c, s: (lib.sin(c) * x, c * s), x, x)
    return carry + lib.reduce_sum(ys, (0,))


@sample
def scan_of_cond(lib: Engine, x: Any) -> Any:
    def step(carry: Any, s: Any) -> Any:
        total, count = carry
        total = lib.cond(s > 0.0, lambda t: t * s, lambda t: lib.sin(t) + s, total)
        return (total, count + 1), total

    (total, count), ys = lib.scan(step, (x[0], 0), x, reverse=True)
    return ys * total + count


@sample
def while_loop(lib: Engine, x: Any) -> Any:
    """As often as a value says; there is no reverse mode through it."""

    def more(state: Any) -> Any:
        return lib.reduce_sum(state[1] * state[1], (0,)) < 9.0

    return lib.while_loop(more, lambda s: (s[0] + 1, s[1] * 1.5 + 0.1), (0, x))[1]


@sample
def fori_loop(lib: Engine, x: Any) -> Any:
    return lib.fori_loop(0, 3, lambda i, y: lib.sin(y) * x + i, x)


@sample
def mapped(lib: Engine, x: Any) -> Any:
    return lib.map(lambda s: lib.sin(s) * lib.reduce_sum(x, (0,)), x)


@sample
def associative(lib: Engine, x: Any) -> Any:
    return lib.associative_scan(lambda a, b: a * b + 0.0, x)


@sample
def custom_forward(lib: Engine, x: Any) -> Any:
    """A custom derivative that is not the derivative, so that one sees which was taken."""

    @lib.custom_jvp
    def function(y: Any) -> Any:
        return lib.sin(y)

    function.defjvp(lambda primals, tangents: (
        function(*primals), 3.0 * tangents[0] * lib.cos(primals[0]) * primals[0]))  # fmt: skip
    return function(x) * x


@sample
def custom_backward(lib: Engine, x: Any) -> Any:
    """The same for reverse mode; forward mode is refused."""

    @lib.custom_vjp
    def function(y: Any, z: Any) -> Any:
        return lib.sin(y) * z

    function.defvjp(
        lambda y, z: (function(y, z), (y, z)),
        lambda res, ct: (3.0 * ct * lib.cos(res[0]), ct * res[0]),
    )
    return function(x, x * x)


@sample
def custom_closure(lib: Engine, x: Any) -> Any:
    """Custom rules of functions that close over tracers, and call themselves."""
    scale = lib.stop_gradient(lib.cos(x))

    @lib.custom_jvp
    def forward(y: Any) -> Any:
        return y * scale

    @forward.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return forward(*primals), 2.0 * tangents[0] * primals[0]

    return forward(x) * x


@sample
def custom_with_setting(lib: Engine, x: Any) -> Any:
    @partial(lib.custom_jvp, nondiff_argnums=(0,))
    def apply(f: Function, y: Any) -> Any:
        return f(y)

    @apply.defjvp
    def rule(f: Function, primals: Any, tangents: Any) -> Any:
        return apply(f, *primals), 2.0 * tangents[0] * f(primals[0])

    return apply(lib.sin, x)


@sample
def reduced_over_axis(lib: Engine, x: Any) -> Any:
    """Collectives under a vmap of its own."""

    def member(s: Any) -> Any:
        total = lib.psum(lib.sin(s), "i")
        return s * total + lib.pmean(s * s, "i") - lib.pmax(lib.stop_gradient(s), "i")

    return lib.vmap(member, axis_name="i")(x)


@sample
def exchanged(lib: Engine, x: Any) -> Any:
    def member(s: Any) -> Any:
        right = lib.ppermute(s * s, "i", [(0, 1), (1, 2), (2, 0)])
        everyone = lib.all_gather(s, "i")
        place = lib.axis_index("i")
        return right * s + lib.reduce_sum(everyone * everyone, (0,)) * place

    return lib.vmap(member, axis_name="i")(x)


@sample
def on_devices(lib: Engine, x: Any) -> Any:
    def member(s: Any) -> Any:
        return s * lib.psum(lib.sin(s), "i") + lib.axis_index("i")

    return lib.pmap(member, axis_name="i")(x)


@sample
def indexed(lib: Engine, x: Any) -> Any:
    picked = x[np.array([0, 2, 2, 1])] * x[0]
    return (x * 2.0).at[np.array([2, 0, 2])].add(picked[1:]) + x[::-1]


@sample
def indexed_by_value(lib: Engine, x: Any) -> Any:
    start = lib.numpy.argmin(x)
    taken = lib.dynamic_slice(x * x, (start,), (2,))
    return lib.dynamic_update_slice(x, taken, (1,)) * x


@sample
def in_order(lib: Engine, x: Any) -> Any:
    return lib.sort(x * x * x) + lib.cumsum(x) * lib.numpy.cumprod(x)


@sample
def linear_algebra(lib: Engine, x: Any) -> Any:
    matrix = x[:, None] * x[None, :] + 2.0 * np.eye(3)
    factor = lib.cholesky(matrix)
    return lib.triangular_solve(factor, x[:, None], left_side=True, lower=True)[:, 0]


@sample
def solved(lib: Engine, x: Any) -> Any:
    """A linear system whose matrix and right side depend on the argument, solved by iteration."""
    diagonal = 2.0 + lib.cos(x)

    def matrix(v: Any) -> Any:
        return diagonal * v + 0.1 * v[::-1]

    def iterate(operator: Function, b: Any) -> Any:
        return lib.fori_loop(0, 40, lambda _, v: v + 0.4 * (b - operator(v)), b * 0.0)

    return lib.custom_linear_solve(matrix, x * x, iterate, symmetric=True)


@sample
def root(lib: Engine, x: Any) -> Any:
    """The cube root, by Newton's method, with the derivative of an implicit function."""

    def newton(f: Function, guess: Any) -> Any:
        return lib.while_loop(
            lambda y: lib.reduce_max(lib.abs(f(y)), (0,)) > 1e-13,
            lambda y: y - f(y) / (3.0 * y * y),
            guess,
        )

    def divide(linear: Function, b: Any) -> Any:
        return b / linear(lib.numpy.ones_like(b))

    target = x * x + 1.0
    return lib.custom_root(lambda y: y**3 - target, lib.numpy.ones_like(x), newton, divide)


@sample
def stopped(lib: Engine, x: Any) -> Any:
    whole = lib.round(x * 3.0).astype("int32")
    return lib.stop_gradient(x * x) * x + whole * lib.select(x > 0.0, x, lib.sqrt(lib.abs(x)))


@sample
def saved(lib: Engine, x: Any) -> Any:
    policy = lib.checkpoint_policies.dots_saveable
    twice = np.eye(3) * 2.0
    inner = lib.checkpoint(lambda y: lib.sin(lib.numpy.dot(twice, lib.sin(y))), policy=policy)
    return inner(x) * lib.checkpoint(lambda y, z: lib.exp(-y * z))(x, x)


def answer_to_word(lib: Engine, sample: Sample, word: tuple[str, ...]) -> np.ndarray:
    """What a library computes for a word of a function at POINT, in 64 bits."""
    with lib.x64():
        return np.asarray(spell(lib, word, sample.make(lib))(lib.numpy.asarray(POINT)))


def answer_or_nan(sample: Sample, word: tuple[str, ...]) -> np.ndarray:
    """What JAX computes, nan where it refuses the word; compiled as a whole, to be done sooner."""
    try:
        return answer_to_word(JAX, sample, ("jit", *word))
    except (TypeError, ValueError, NotImplementedError):
        return np.full_like(POINT, np.nan)
