"""The most common mistakes: each message names the user's line, what was given, and the way out."""

import traceback

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax


def message(call, *expected_types):
    """The text of the error that `call` raises: its message, its notes, and the traceback."""
    with pytest.raises(expected_types or Exception) as caught:
        call()
    text = str(caught.value) + "\n".join(getattr(caught.value, "__notes__", ()))
    lines = traceback.format_exception(caught.value)
    return text, "".join(lines)


def leaked():
    box = []

    @fg.jit
    def store(x):
        box.append(fnp.sin(x))
        return x

    store(fnp.ones(3))
    return box[0] + 1  # LINE leak


def branch_on_traced():
    @fg.jit
    def f(x):
        if x > 0:  # LINE if
            return x
        return -x

    f(1.0)


def int_of_traced():
    @fg.jit
    def f(n):
        return fnp.zeros(int(n))  # LINE int

    f(3)


def range_of_traced():
    @fg.jit
    def f(n):
        return sum(range(n))  # LINE range

    f(3)


def numpy_on_traced():
    @fg.jit
    def f(x):
        return np.sin(x)  # LINE numpy

    f(1.0)


def shape_from_traced():
    @fg.jit
    def f(n):
        return fnp.ones((n, 2))  # LINE shape

    f(3)


def mask_of_traced():
    @fg.jit
    def f(x):
        return x[x > 0]  # LINE mask

    f(fnp.ones(3))


def assign_in_place():
    x = fnp.ones(3)
    x[0] = 2.0  # LINE assign


def dot_mismatch():
    return fnp.dot(fnp.ones((2, 3)), fnp.ones((4, 5)))  # LINE dot


def broadcast_mismatch():
    return fnp.ones((2, 3)) + fnp.ones((2, 4))  # LINE broadcast


def scan_carry():
    def body(c, x):
        return fnp.stack([c, c]), x

    return lax.scan(body, 0.0, fnp.arange(3.0))  # LINE carry


def scan_carry_tree():
    return lax.scan(lambda c, x: ((c[0], c[0]), x), (0.0,), fnp.arange(3.0))  # LINE carry tree


def cond_branches():
    return lax.cond(True, lambda: fnp.ones(2), lambda: fnp.ones(3))  # LINE cond


def grad_of_vector():
    return fg.grad(lambda x: x * 2)(fnp.ones(3))  # LINE grad


def grad_of_integer():
    return fg.grad(lambda n: n * 2.0)(3)  # LINE integer


def bad_axis():
    return fnp.sum(fnp.ones((2, 3)), axis=2)  # LINE axis


def bad_in_axes():
    return fg.vmap(lambda x, y: x + y, in_axes=(0,))(fnp.ones(3), fnp.ones(3))  # LINE in_axes


def vmap_sizes():
    return fg.vmap(lambda x, y: x + y)(fnp.ones(3), fnp.ones(4))  # LINE sizes


def vmap_rank():
    return fg.vmap(lambda x: x, in_axes=1)(fnp.ones(3))  # LINE rank


def unhashable_static():
    return fg.jit(lambda n: n, static_argnums=0)([1, 2])  # LINE static


def missing_axis_name():
    return fg.vmap(lambda x: lax.psum(x, "rows"), axis_name="columns")(fnp.ones(3))  # LINE name


def wrong_pytree():
    return fg.tree_util.tree_map(lambda x, y: x + y, {"a": 1, "b": 2}, {"a": 1})  # LINE tree


def wrong_cotangent():
    _, pull = fg.vjp(lambda x: x * 2, fnp.ones(3))
    return pull(fnp.ones(2))  # LINE cotangent


def string_argument():
    return fg.jit(lambda x, name: x)(1.0, "a")  # LINE string


def too_few_devices():
    return fg.pmap(lambda x: x)(fnp.ones((64, 2)))  # LINE devices


def reused_donation():
    x = fnp.ones(3)
    fg.jit(lambda x: x + 1, donate_argnums=0)(x)
    return x + 1  # LINE donated


def seed_for_key():
    return fg.random.normal(0, (3,))  # LINE seed


MISTAKES = [
    (leaked, "leak", ["float32[3]", "store", "returning"]),
    (branch_on_traced, "if", ["bool[]", "argument x", "where", "static_argnums"]),
    (int_of_traced, "int", ["int32[]", "argument n", "astype", "static"]),
    (range_of_traced, "range", ["int32[]", "argument n", "fori_loop"]),
    (numpy_on_traced, "numpy", ["__array__", "float32[]", "funcgrad.numpy"]),
    (shape_from_traced, "shape", ["int32[]", "argument n", "static"]),
    (mask_of_traced, "mask", ["boolean", "where"]),
    (assign_in_place, "assign", [".at[idx].set("]),
    (dot_mismatch, "dot", ["dot", "(2, 3)", "(4, 5)"]),
    (broadcast_mismatch, "broadcast", ["(2, 3)", "(2, 4)", "add"]),
    (scan_carry, "carry", ["carry", "float32[]", "float32[2]", "body"]),
    (scan_carry_tree, "carry tree", ["carry", "structure", "length 1", "length 2"]),
    (cond_branches, "cond", ["true_fun", "false_fun", "float32[2]", "float32[3]"]),
    (grad_of_vector, "grad", ["scalar", "(3,)", "jacrev"]),
    (grad_of_integer, "integer", ["int32", "argument 'n'", "allow_int"]),
    (bad_axis, "axis", ["axis 2", "dimension 2"]),
    (bad_in_axes, "in_axes", ["in_axes", "length 1", "2 positional"]),
    (vmap_sizes, "sizes", ["'x'", "size 3", "'y'", "size 4"]),
    (vmap_rank, "rank", ["'x'", "axis 1", "(3,)"]),
    (unhashable_static, "static", ["'n'", "list", "hashable"]),
    (missing_axis_name, "name", ["'rows'", "'columns'", "axis_name"]),
    (wrong_pytree, "tree", ["'b'"]),
    (wrong_cotangent, "cotangent", ["float32[2]", "float32[3]"]),
    (string_argument, "string", ["'name'", "'a'", "static"]),
    (too_few_devices, "devices", ["64", "num_cpu_devices", "'x'"]),
    (reused_donation, "donated", ["donated", "float32[3]"]),
    (seed_for_key, "seed", ["random.key", "0"]),
]


@pytest.mark.parametrize("mistake, mark, wanted", MISTAKES, ids=[m.__name__ for m, *_ in MISTAKES])
def test_message(mistake, mark, wanted):
    text, trace = message(mistake)
    lacking = [word for word in wanted if word.lower() not in text.lower()]
    assert not lacking, f"the message lacks {lacking}:\n{text}"
    assert f"# LINE {mark}" in trace or mistake.__name__ in trace, trace


@pytest.mark.parametrize(
    "mistake, mark",
    [
        (leaked, "leak"),
        (branch_on_traced, "if"),
        (int_of_traced, "int"),
        (range_of_traced, "range"),
        (numpy_on_traced, "numpy"),
        (broadcast_mismatch, "broadcast"),
    ],
)
def test_message_itself_names_the_line(mistake, mark):
    text, _ = message(mistake)
    assert f"# LINE {mark}" in text, text


def test_error_in_a_compiled_program_names_the_line():
    @fg.jit
    def f(x):
        return fg.pure_callback(lambda v: np.zeros(2), fg.ShapeDtypeStruct((3,), "float32"), x)

    text, _ = message(lambda: f(1.0), RuntimeError)
    assert "pure_callback" in text and "test_errors.py" in text


def test_nan_names_primitive_and_line():
    @fg.jit
    def f(x):
        y = x * x + 1.0
        return fnp.log(-y)  # LINE nan

    with fg.debug_nans(True):
        text, _ = message(lambda: f(fnp.array([2.0, 0.5])), FloatingPointError)
    assert "log" in text and "# LINE nan" in text


def test_nan_of_a_derivative_names_the_line_of_the_operation():
    def f(x):
        y = x * 2.0
        return fnp.sqrt(y)  # LINE sqrt

    with fg.debug_nans(True):
        pull = fg.vjp(lambda x: f(x), fnp.float32(2.0))[1]
        text, _ = message(lambda: pull(fnp.float32(np.nan)), FloatingPointError)
    assert "mul" in text and "# LINE sqrt" in text


def test_a_custom_rule_names_its_own_lines():
    @fg.custom_jvp
    def f(x):
        return fnp.sin(x)

    @f.defjvp
    def rule(primals, tangents):
        return f(*primals), lax.add(tangents[0], fnp.ones(3, "int32"))  # LINE rule

    text, _ = message(lambda: fg.grad(f)(1.0))
    assert "# LINE rule" in text


def test_the_error_state_of_numpy_is_the_users():
    def f(x):
        y = fnp.exp(1000.0 * x)
        assert fnp.isinf(y)
        with pytest.raises(FloatingPointError):
            np.float32(1.0) / np.float32(0.0)
        return y

    with np.errstate(all="raise"):
        f(fnp.float32(1.0))
        fg.grad(f)(1.0)
