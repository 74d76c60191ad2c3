"""The stages of jit: text, costs, memory, and calls with right and wrong arguments."""

import re

import jax
import numpy as np
import pytest

import funcgrad
import funcgrad.numpy as fnp
from funcgrad import lax, stages
from funcgrad.compiler.llvm import engine

native = pytest.mark.skipif(not engine.available(), reason="needs llvmlite")


def compiled(function, *args, **kwargs):
    return funcgrad.jit(function).lower(*args, **kwargs).compile()


def scaled_sums(x, w):
    doubled = x * w
    return fnp.sum(doubled, axis=1)


MATRIX, VECTOR = fnp.ones((4, 8)), fnp.ones(8)


# text


@native
def test_default_text_is_equations_then_steps_then_kernels() -> None:
    line = scaled_sums.__code__.co_firstlineno + 1
    assert funcgrad.jit(scaled_sums).lower(MATRIX, VECTOR).as_text() == (
        f"""{{ lambda ; a:f32[4,8] b:f32[8]. let
    c:f32[1,8] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(1, 8)] b
    d:f32[4,8] = mul a c
    e:f32[4] = reduce_sum[axes=(1,)] d
  in (e,) }}

steps:
  kernel e:f32[4] = k0_mul_reduce_sum(a, b)  # test_stages.py:{line}, test_stages.py:{line + 1}
  return e

kernel k0_mul_reduce_sum(in0: f32, in1: f32, out0: f32):
  for i in range(4):
    acc0: f32 = 0.0
    for j in range(8), 16 at a time:
      acc0 = acc0 + (in0[8*i + j] * in1[j])
    out0[i] = acc0"""
    ).replace("16 at a time", f"{lanes()} at a time")


def lanes() -> int:
    from funcgrad.compiler.llvm.target import host_target

    return host_target().lanes("f32")


@native
def test_dialects_are_parts_of_the_default_text_or_the_code_itself() -> None:
    stage = compiled(scaled_sums, MATRIX, VECTOR)
    assert stage.as_text() == f"{stage.as_text('jaxpr')}\n\n{stage.as_text('loops')}"
    assert stage.as_text("llvm") == stage.runtime_executable().native.text
    assert "k0_mul_reduce_sum:" in stage.as_text("asm")
    lowered = funcgrad.jit(scaled_sums).lower(MATRIX, VECTOR)
    for dialect in (None, "jaxpr", "loops", "llvm", "asm"):
        assert lowered.as_text(dialect) == stage.as_text(dialect)


@pytest.mark.parametrize("dialect", ["stablehlo", "hlo", "mhlo", ""])
def test_a_dialect_that_there_is_not(dialect: str) -> None:
    lowered = funcgrad.jit(fnp.sin).lower(VECTOR)
    for stage in (lowered, lowered.compile()):
        with pytest.raises(ValueError, match="'jaxpr', 'loops', 'llvm', 'asm'"):
            stage.as_text(dialect)
    with pytest.raises(ValueError, match="as_text shows"):
        lowered.compiler_ir("stablehlo")


@native
def test_debug_info_shows_the_users_lines_in_full() -> None:
    lowered = funcgrad.jit(scaled_sums).lower(MATRIX, VECTOR)
    full = lowered.as_text(debug_info=True)
    assert full.count(f"{__file__}:") == 5  # three equations, two lines of one step
    assert full.count("(scaled_sums): doubled = x * w") == 3
    assert __file__ not in lowered.as_text()


def steps(function, *args) -> list[str]:
    text = compiled(function, *args).as_text("loops").partition("\n\n")[0]
    return [re.sub(r"  #.*", "", line) for line in text.split("\n")]


@native
def test_every_kind_of_step_is_told() -> None:
    x = fnp.ones((64, 64))
    assert steps(lambda x: fnp.sort(x, axis=0) @ x, x) == [
        "steps:",
        "  host b:f32[64,64] = sort[dimension=0 is_stable=True num_keys=1] a",
        "  call c:f32[64,64] = fg_matmul_f32(b, a) [{} bytes of scratch]".format(
            compiled(lambda x: fnp.sort(x, axis=0) @ x, x).memory_analysis().temp_size_in_bytes
            - x.nbytes
        ),
        "  return c",
    ]
    assert steps(lambda x, y: (x + y) * x, 1.0, 2.0) == [
        "steps:",
        "  scalar d:f32[] = (a + b) * a",
        "  return d",
    ]
    assert steps(lambda x: x.at[1].set(0.0), VECTOR)[1].endswith("= k0_scatter(a) [on a copy of b]")
    assert "[parts of " in steps(fnp.tanh, fnp.ones((1000, 1000)))[1]


@native
def test_loops_and_choices_are_told_with_their_bodies() -> None:
    def loop(x):
        return lax.scan(lambda c, y: (c * 0.5 + y, c), fnp.float32(0), x, reverse=True)

    assert steps(loop, VECTOR) == [
        "steps:",
        "  b:f32[] c:f32[8] = scan [8 turns, backwards] 0.0:f32[], a",
        "    body(a:f32[] b:f32[]):",
        "      scalar c:f32[] = fma(a, 0.5, b)",
        "      return c, a",
        "  return b, c",
    ]

    def until(x):
        return lax.while_loop(lambda x: x < 10, lambda x: x + x, x)

    assert steps(until, 3) == [
        "steps:",
        "  b:i32[] = while a",
        "    test(a:i32[]):",
        "      scalar b:bool[] = a < 10",
        "      return b",
        "    body(a:i32[]):",
        "      scalar b:i32[] = a + a",
        "      return b",
        "  return b",
    ]

    def choice(p, x):
        return lax.cond(p, lambda x: x + 1, lambda x: x - 1, x)

    told = steps(choice, True, 3)
    assert [line.strip() for line in told if "branch" in line] == [
        "branch 0(a:i32[]):",
        "branch 1(a:i32[]):",
    ]


def kernels(function, *args) -> str:
    return compiled(function, *args).as_text("loops").partition("\n\n")[2]


@native
def test_kernels_name_what_is_used_twice_and_write_the_rest_in_place() -> None:
    width = f"{2 * lanes()} at a time"
    assert kernels(lambda x: abs(x) / x - 0.1, VECTOR) == (
        f"kernel k0_abs_div_sub(in0: f32, out0: f32):\n  for i in range(8), {width}:\n"
        "    x0: f32 = in0[i]\n    out0[i] = (abs(x0) / x0) - 0.1"
    )
    assert "out0[i] = in0[i + 1]" in kernels(lambda x: x[1:] + 1.0, VECTOR)
    assert "in0[-i + 7]" in kernels(lambda x: x[::-1] + 1.0, VECTOR)
    assert "if " in kernels(lambda x: fnp.pad(x, 2) + 1.0, VECTOR)
    updated = kernels(lambda x, i: x.at[i].add(1.0), VECTOR, fnp.array([1, 2]))
    assert re.search(r"if x\d: out0\[x\d\] = ", updated)
    assert "acc0, acc1 = select(" in kernels(lambda x: fnp.argmax(x, axis=1), MATRIX)
    assert "acc0 = max(acc0, in0[8*i + j])" in kernels(lambda x: x.max(axis=1), MATRIX)


def test_without_native_code_the_text_is_the_equations() -> None:
    with funcgrad.debug_nans(True):
        stage = compiled(fnp.sin, VECTOR)
        assert stage.as_text() == stage.as_text("jaxpr")
        with pytest.raises(ValueError, match="NumPy runs it"):
            stage.as_text("llvm")


# cost


def running_sum(x):
    return lax.scan(lambda c, y: (c + y, c), fnp.float32(0), x)


def cost(function, *args) -> tuple[float, float, float]:
    found = compiled(function, *args).cost_analysis()
    return found["flops"], found["transcendentals"], found["bytes accessed"]


@native
@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (lambda x: x + 1.0, (MATRIX,), (32, 0, 256)),
        (lambda x: fnp.exp(x) * 2, (MATRIX,), (32, 32, 256)),
        (lambda x: x.sum(axis=0), (MATRIX,), (24, 0, 128 + 32)),
        (scaled_sums, (MATRIX, VECTOR), (32 + 28, 0, 128 + 32 + 16)),
        (lambda x: x[1:] - x[:-1], (VECTOR,), (7, 0, 32 + 28)),
        (lambda x: x[:2] + 1.0, (VECTOR,), (2, 0, 8 + 8)),
        (lambda x: x, (MATRIX,), (0, 0, 256)),
        (lambda x: x.T @ x, (MATRIX,), (2 * 64 * 4, 0, 128 + 256)),
        (lambda x: x @ x, (fnp.ones((64, 64)),), (2 * 64**3, 0, 2 * 64**2 * 4)),
        (lambda x: x**3, (VECTOR,), (16, 0, 64)),
        (lambda x: x**-5, (VECTOR,), (32, 0, 64)),
        (lambda x, y: (x + y) * x, (1.0, 2.0), (2, 0, 12)),
        (lambda x: fnp.sort(x), (VECTOR,), (24, 0, 64)),
        (lambda x: x.at[0].set(5.0), (VECTOR,), (0, 0, 64 + 4 + 4)),  # the index is a constant
        (running_sum, (VECTOR,), (8, 0, 32 + 32 + 4)),
        (lambda x: lax.cond(x[0] > 0, fnp.sin, lambda x: x + 1, x), (VECTOR,), None),
    ],
)
def test_cost(function, args, expected) -> None:
    if expected is None:
        flops, functions, moved = cost(function, *args)
        # the test, its conversion and the dearer branch of each kind; 4 bytes of x[0]
        assert (flops, functions, moved) == (2 + 8, 8, 64 + 4)
    else:
        assert cost(function, *args) == expected


@pytest.mark.parametrize(
    "name", ["x + 1", "x.sum(0)", "x @ x.T", "x ** 3", "-x", "xp.tanh(x)", "xp.sqrt(x)", "x.max(1)"]
)
def test_flops_and_transcendentals_are_what_jax_counts(name: str) -> None:
    ours, theirs = (
        m.jit(lambda x, xp=xp: eval(name, {"x": x, "xp": xp})).lower(xp.ones((4, 8)))
        for m, xp in ((funcgrad, fnp), (jax, jax.numpy))
    )
    found, expected = ours.cost_analysis(), theirs.cost_analysis()
    for key in ("flops", "transcendentals"):
        assert found[key] == expected.get(key, 0.0)


@native
def test_fusion_saves_what_the_lowered_cost_still_counts() -> None:
    lowered = funcgrad.jit(lambda x: fnp.exp(x) * 2 + 1).lower(MATRIX)
    assert lowered.cost_analysis()["bytes accessed"] == 256 + 260 + 260
    assert lowered.compile().cost_analysis()["bytes accessed"] == 256


@native
def test_kernels_have_their_bytes_told() -> None:
    def rows(x):
        return lax.scan(lambda c, y: (c + fnp.sum(y), c), fnp.float32(0), x)

    stage = compiled(rows, fnp.ones((10, 100)))
    found = stage.cost_analysis()
    (name,) = stage.runtime_executable().native.kernels
    assert found[f"bytes accessed {name}"] == 10 * (400 + 4)
    # besides: ten sums read again, ten results and one carry written
    assert found["bytes accessed"] == 10 * (400 + 4) + 40 + 40 + 4


# memory


@native
def test_memory() -> None:
    def two_products(x):
        return (x @ x) @ x

    x = fnp.ones((64, 64))
    stage = compiled(two_products, x)
    found = stage.memory_analysis()
    executable = stage.runtime_executable()
    assert found.argument_size_in_bytes == found.output_size_in_bytes == 64 * 64 * 4
    assert found.temp_size_in_bytes == executable.native.arena >= 64 * 64 * 4
    assert found.generated_code_size_in_bytes == len(executable.image) > 0
    assert found.alias_size_in_bytes == 0
    assert found.peak_memory_in_bytes == 2 * 64 * 64 * 4 + found.temp_size_in_bytes
    theirs = jax.jit(two_products).lower(jax.numpy.ones((64, 64))).compile().memory_analysis()
    lacking = {n for n in dir(theirs) if n.endswith("_in_bytes") and not hasattr(found, n)}
    assert not lacking


def test_keys_and_constants_have_a_size() -> None:
    table = np.arange(6, dtype=np.float32)
    stage = compiled(lambda k: (k, fnp.asarray(table) * 2), funcgrad.random.key(0))
    found = stage.memory_analysis()
    assert found.argument_size_in_bytes == 8
    assert found.output_size_in_bytes == 8 + 24


# calls


def tree_function(params, x, *, scale):
    return {"y": params["w"] * x * scale}


def test_trees_and_types_of_each_stage() -> None:
    args = ({"w": fnp.ones(3)}, 2.0)
    traced = funcgrad.jit(tree_function).trace(*args, scale=fnp.ones(()))
    lowered = traced.lower()
    struct = funcgrad.ShapeDtypeStruct
    for stage in (traced, lowered, lowered.compile()):
        assert stage.in_tree == funcgrad.tree.structure((args, {"scale": 1}))
        assert stage.out_tree == funcgrad.tree.structure({"y": 1})
        scalar = stages.ArgInfo((), np.dtype("float32"), donated=False)
        vector = stages.ArgInfo((3,), np.dtype("float32"), donated=False)
        assert stage.args_info == (({"w": vector}, scalar), {"scale": scalar})
        (params, x), named = stage.in_avals
        assert params["w"].shape == (3,) and x.weak_type and not named["scale"].weak_type
        assert stage.out_info == {"y": struct((3,), "float32")}
        assert stage.out_avals["y"].shape == (3,)
        assert stage.fun_name == "tree_function"


def test_calling_the_compiled_function() -> None:
    stage = compiled(tree_function, {"w": fnp.ones(3)}, 2.0, scale=fnp.ones(()))
    out = stage(
        {"w": fnp.arange(3.0)}, np.float32(2), scale=np.float32(10)
    )  # weak types may differ
    np.testing.assert_array_equal(out["y"], [0.0, 20.0, 40.0])
    np.testing.assert_array_equal(stage.call({"w": fnp.ones(3)}, 1.0, scale=1.0)["y"], np.ones(3))


def test_static_arguments_are_left_out_of_the_call() -> None:
    stage = funcgrad.jit(lambda x, n: x * n, static_argnums=1).lower(fnp.ones(3), 4).compile()
    np.testing.assert_array_equal(stage(fnp.arange(3.0)), [0.0, 4.0, 8.0])


def test_wrong_arguments_are_named() -> None:
    w, one = fnp.ones(3), fnp.ones(())
    stage = compiled(tree_function, {"w": w}, one, scale=one)
    with pytest.raises(TypeError, match=r"input pytree.*at \[1\].*keys \['scale'\].*keys \[\]"):
        stage({"w": w}, one)
    with pytest.raises(TypeError, match=r"at \[0\]\[0\].*\['w'\].*\['v'\]"):
        stage({"v": w}, one, scale=one)
    wrong = (
        r"argument params\['w'\] was float32\[3\] when compiled and is float32\[4\] in this call\. "
    )
    with pytest.raises(TypeError, match=wrong):
        stage({"w": fnp.ones(4)}, one, scale=one)
    both = (
        r"argument x was float32\[\].* is int32\[\].*; argument scale was float32\[\].*int32\[2\]"
    )
    with pytest.raises(TypeError, match=both):
        stage({"w": w}, 1, scale=fnp.ones(2, int))


def test_shardings_have_the_trees_of_arguments_and_outputs() -> None:
    stage = compiled(tree_function, {"w": fnp.ones(3)}, 2.0, scale=1.0)
    one = fnp.ones(()).sharding
    assert stage.input_shardings == (({"w": one}, one), {"scale": one})
    assert stage.output_shardings == {"y": one}


@pytest.mark.parametrize("transform", [funcgrad.vmap, funcgrad.jit, funcgrad.jacfwd])
def test_transformations_of_a_compiled_function_are_refused(transform) -> None:
    stage = compiled(fnp.sin, fnp.ones(()) if transform is funcgrad.vmap else VECTOR)
    with pytest.raises(TypeError, match="transformations cannot be applied to it: argument x"):
        transform(lambda x: stage(x))(VECTOR)


def test_a_compiled_function_of_known_values_runs_while_another_is_traced() -> None:
    stage, known = compiled(fnp.square, VECTOR), VECTOR * 3
    seen = []
    funcgrad.jit(lambda x: seen.append(stage(known)) or x)(VECTOR)
    np.testing.assert_array_equal(seen[0], np.full(8, 9.0))


def test_a_compiled_function_is_watched_when_asked() -> None:
    stage = compiled(fnp.log, VECTOR)
    assert np.isnan(stage(-VECTOR)).all()
    with funcgrad.debug_nans(True), pytest.raises(FloatingPointError):
        stage(-VECTOR)


def test_compile_takes_no_options_and_lower_one_platform() -> None:
    traced = funcgrad.jit(fnp.sin).trace(VECTOR)
    assert traced.lower(lowering_platforms=("cpu",)).as_text() == traced.lower().as_text()
    with pytest.raises(ValueError, match="'tpu'"):
        traced.lower(lowering_platforms=("tpu",))
    with pytest.raises(ValueError, match="xla_flag"):
        funcgrad.jit(fnp.sin).lower(VECTOR).compile({"xla_flag": 1})
