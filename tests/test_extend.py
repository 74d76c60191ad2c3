"""Primitives of the user's own, with rules in JAX's form: the same code runs on JAX and here."""

import importlib
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from jax.extend.core import primitives as jax_primitives

import funcgrad
import funcgrad.numpy as fnp
from engines import family_files
from funcgrad import lax
from funcgrad.base.trace import abstract_rules, evaluate_rules, single
from funcgrad.extend import core, linear_util
from funcgrad.interpreters import ad, batching, mlir, partial_eval


def library(root: str) -> SimpleNamespace:
    """What the definitions below are written with."""
    return SimpleNamespace(
        root=importlib.import_module(root),
        np=importlib.import_module(f"{root}.numpy"),
        core=importlib.import_module(f"{root}.extend.core"),
        ShapedArray=importlib.import_module(f"{root}.core").ShapedArray,
        **{
            name: importlib.import_module(f"{root}.interpreters.{name}")
            for name in ("ad", "batching", "mlir")
        },
    )


OURS, THEIRS = library("funcgrad"), library("jax")


def batch_all(lib: SimpleNamespace, p: Any) -> None:
    """Batch a primitive that acts on each element alone by batching every operand."""

    def batch(operands: tuple, axes: tuple) -> tuple:
        size = next(x.shape[a] for x, a in zip(operands, axes) if a is not None)
        moved = [lib.batching.bdim_at_front(x, a, size) for x, a in zip(operands, axes)]
        return p.bind(*moved), 0

    lib.batching.primitive_batchers[p] = batch


def multiply_add(lib: SimpleNamespace) -> Any:
    """x * y + z, one output."""
    p = lib.core.Primitive("multiply_add")
    compute = lambda x, y, z: lib.np.add(lib.np.multiply(x, y), z)
    p.def_impl(compute)
    p.def_abstract_eval(lambda x, y, z: lib.ShapedArray(x.shape, x.dtype))

    def jvp(primals: tuple, tangents: tuple) -> tuple:
        (x, y, z), (dx, dy, dz) = primals, map(lib.ad.instantiate_zeros, tangents)
        return p.bind(x, y, z), p.bind(dx, y, p.bind(x, dy, dz))

    def transpose(ct: Any, x: Any, y: Any, z: Any) -> tuple:
        if lib.ad.is_undefined_primal(x):
            ct_x = p.bind(ct, y, lib.np.zeros_like(ct))
            return ct_x, None, ct if lib.ad.is_undefined_primal(z) else None
        ct_y = p.bind(x, ct, lib.np.zeros_like(ct)) if lib.ad.is_undefined_primal(y) else None
        return None, ct_y, ct if lib.ad.is_undefined_primal(z) else None

    lib.ad.primitive_jvps[p] = jvp
    lib.ad.primitive_transposes[p] = transpose
    batch_all(lib, p)
    lib.mlir.register_lowering(p, lib.mlir.lower_fun(compute, multiple_results=False))
    return p.bind


def sine_cosine(lib: SimpleNamespace) -> Any:
    """scale * sin(x) and scale * cos(x), two outputs and a param."""
    p = lib.core.Primitive("sine_cosine")
    p.multiple_results = True
    compute = lambda x, *, scale: [scale * lib.np.sin(x), scale * lib.np.cos(x)]
    p.def_impl(compute)
    p.def_abstract_eval(lambda x, *, scale: [lib.ShapedArray(x.shape, x.dtype)] * 2)

    def jvp(primals: tuple, tangents: tuple, *, scale: float) -> tuple:
        (x,), (dx,) = primals, tangents
        sine, cosine = p.bind(x, scale=scale)
        return [sine, cosine], [cosine * dx, -sine * dx]

    lib.ad.primitive_jvps[p] = jvp
    lib.batching.primitive_batchers[p] = lambda operands, axes, *, scale: (
        p.bind(*operands, scale=scale),
        [axes[0], axes[0]],
    )
    lib.mlir.register_lowering(p, lib.mlir.lower_fun(compute))

    def call(x: Any) -> Any:
        sine, cosine = p.bind(x, scale=2.0)
        return sine * cosine + sine

    return call


def sine_by_defjvp(lib: SimpleNamespace) -> Any:
    p = lib.core.Primitive("my_sine")
    p.def_impl(lambda x: lib.np.sin(x))
    p.def_abstract_eval(lambda x: lib.ShapedArray(x.shape, x.dtype))
    lib.ad.defjvp(p, lambda t, x: t * lib.np.cos(x))
    lib.batching.defvectorized(p)
    lib.mlir.register_lowering(p, lib.mlir.lower_fun(lambda x: lib.np.sin(x), False))
    return p.bind


def exponential_by_defjvp2(lib: SimpleNamespace) -> Any:
    p = lib.core.Primitive("my_exp")
    p.def_impl(lambda x: lib.np.exp(x))
    p.def_abstract_eval(lambda x: lib.ShapedArray(x.shape, x.dtype))
    lib.ad.defjvp2(p, lambda t, out, x: t * out)
    lib.batching.defvectorized(p)
    lib.mlir.register_lowering(p, lib.mlir.lower_fun(lambda x: lib.np.exp(x), False))
    return p.bind


def reversal_by_deflinear(lib: SimpleNamespace) -> Any:
    p = lib.core.Primitive("my_reversal")
    p.def_impl(lambda x: x[..., ::-1])
    p.def_abstract_eval(lambda x: lib.ShapedArray(x.shape, x.dtype))
    lib.ad.deflinear2(p, lambda ct, x: [p.bind(ct)])
    lib.batching.primitive_batchers[p] = lambda operands, axes: (
        p.bind(lib.np.moveaxis(operands[0], axes[0], 0)),
        0,
    )
    lib.mlir.register_lowering(p, lib.mlir.lower_fun(lambda x: x[..., ::-1], False))
    weights = np.array([1.0, 2.0, 4.0], np.float32)
    return lambda x: (p.bind(x * weights) ** 2).sum()


def product_by_defbilinear(lib: SimpleNamespace) -> Any:
    p = lib.core.Primitive("my_product")
    p.def_impl(lambda x, y: x * y)
    p.def_abstract_eval(lambda x, y: lib.ShapedArray(x.shape, x.dtype))
    lib.ad.defbilinear(p, lambda ct, x, y: p.bind(ct, y), lambda ct, x, y: p.bind(x, ct))
    batch_all(lib, p)
    lib.mlir.register_lowering(p, lib.mlir.lower_fun(lambda x, y: x * y, False))
    return lambda x: p.bind(x, lib.np.cos(x)).sum()


X = np.array([0.3, -1.2, 2.5], np.float32)
DEFINITIONS = {
    "several operands": lambda lib: lambda x: multiply_add(lib)(x, x + 1, 2 * x).sum(),
    "one operand moves": lambda lib: lambda x: multiply_add(lib)(lib.np.ones_like(x), x, x).sum(),
    "several results": lambda lib: lambda x: sine_cosine(lib)(x).sum(),
    "defjvp": lambda lib: lambda x: sine_by_defjvp(lib)(x).sum(),
    "defjvp2": lambda lib: lambda x: exponential_by_defjvp2(lib)(x).sum(),
    "deflinear2": lambda lib: reversal_by_deflinear(lib),
    "defbilinear": lambda lib: product_by_defbilinear(lib),
}
WAYS = {
    "eager": lambda jax, f: f,
    "jit": lambda jax, f: jax.jit(f),
    "grad": lambda jax, f: jax.grad(f),
    "jit of grad": lambda jax, f: jax.jit(jax.grad(f)),
    "grad of jit": lambda jax, f: jax.grad(jax.jit(f)),
    "jacfwd": lambda jax, f: jax.jacfwd(f),
    "hessian": lambda jax, f: jax.hessian(f),
    "vmap": lambda jax, f: lambda x: jax.vmap(f)(x[:2, None] * x),
    "jit of vmap of grad": lambda jax, f: jax.jit(lambda x: jax.vmap(jax.grad(f))(x[:2, None] * x)),
    "vmap of the last axis": lambda jax, f: lambda x: jax.vmap(f, -1)(x[:, None] * x[:2]),
    "in a scan": lambda jax, f: jax.grad(
        lambda x: jax.lax.scan(lambda c, y: (c + f(y), None), 0.0, x[:2, None] * x)[0]
    ),
    "checkpoint": lambda jax, f: jax.grad(jax.checkpoint(f)),
}


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("name", list(DEFINITIONS))
def test_transformations_agree_with_jax(name: str, way: str) -> None:
    got = WAYS[way](funcgrad, DEFINITIONS[name](OURS))(fnp.asarray(X))
    want = WAYS[way](jax, DEFINITIONS[name](THEIRS))(jax.numpy.asarray(X))
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, 2e-5, 2e-5)


def test_lowering_is_put_in_place() -> None:
    bind = multiply_add(OURS)
    text = funcgrad.jit(bind).lower(X, X, X).as_text("jaxpr")
    assert "multiply_add" not in text and "mul" in text and "add" in text


def test_without_lowering_impl_is_called_from_the_program() -> None:
    p, calls = core.Primitive("by_python"), []

    def impl(x: Any) -> np.ndarray:
        calls.append(type(x))
        return np.asarray(x)[::-1] * 2

    p.def_impl(impl)
    p.def_abstract_eval(lambda x: x)
    f = funcgrad.jit(lambda x: p.bind(x + 1) + 1)
    for k in range(3):
        np.testing.assert_array_equal(f(X + k), (X + k + 1)[::-1] * 2 + 1)
    assert len(calls) == 3


def test_eager_needs_no_abstract_evaluation() -> None:
    p = core.Primitive("no_abstract")
    p.def_impl(lambda x, *, power: x**power)
    np.testing.assert_allclose(p.bind(fnp.asarray(X), power=2), X**2)
    with pytest.raises(NotImplementedError, match=r"no_abstract has no abstract evaluation.*def_"):
        funcgrad.jit(lambda x: p.bind(x, power=2))(X)


def test_missing_rules_are_named() -> None:
    p = core.Primitive("bare")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="bare has no forward-mode derivative"):
        funcgrad.grad(lambda x: p.bind(x))(1.0)
    with pytest.raises(NotImplementedError, match="bare has no batching rule"):
        funcgrad.vmap(p.bind)(X)
    ad.defjvp(p, lambda t, x: p.bind(t))
    with pytest.raises(NotImplementedError, match="bare cannot be differentiated in reverse mode"):
        funcgrad.grad(lambda x: p.bind(x))(1.0)
    with pytest.raises(NotImplementedError, match="bare has no transpose rule"):
        ad.get_primitive_transpose(p)


def test_wrong_rules_are_named() -> None:
    p = core.Primitive("wrong")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    ad.deflinear2(p, lambda ct, x: [ct, ct])
    with pytest.raises(TypeError, match="transpose rule of wrong returned 2 cotangents for 1 op"):
        funcgrad.grad(lambda x: p.bind(x))(1.0)
    batching.primitive_batchers[p] = lambda operands, axes: (p.bind(*operands), 5)
    with pytest.raises(ValueError, match=r"shape \(3,\) is batched along axis 5"):
        funcgrad.vmap(p.bind)(X)
    mlir.register_lowering(p, mlir.lower_fun(lambda x: x[:1], multiple_results=False))
    with pytest.raises(TypeError, match=r"lowering of wrong .* gives float32\[1\].*float32\[3\]"):
        funcgrad.jit(p.bind)(X)
    with pytest.raises(TypeError, match=r"register_lowering of other.*lower_fun.*def_impl"):
        mlir.register_lowering(core.Primitive("other"), lambda ctx, x: [x])


def test_tables_show_built_in_rules_in_the_users_form() -> None:
    x = fnp.asarray(X)
    out, tangent = ad.primitive_jvps[lax.sin_p]((x,), (x,))
    np.testing.assert_allclose(out, np.sin(X), 1e-6)
    np.testing.assert_allclose(tangent, np.cos(X) * X, 1e-6)
    zero = ad.Zero(tangent.aval)
    assert type(ad.primitive_jvps[lax.sin_p]((x,), (zero,))[1]) is ad.Zero
    ct, other = ad.primitive_transposes[lax.mul_p](x, ad.UndefinedPrimal(x.aval), x)
    np.testing.assert_allclose(ct, X * X, 1e-6)
    assert other is None
    out, axis = batching.primitive_batchers[lax.sin_p]((x,), (0,))
    assert axis == 0 and out.shape == (3,)
    values, axes = batching.primitive_batchers[lax.sort_p](
        (x[None],), (0,), dimension=0, is_stable=True, num_keys=1
    )
    np.testing.assert_array_equal(values[0][0] if axes[0] == 0 else values[0][:, 0], np.sort(X))


def test_operands_of_several_ranks_are_batched() -> None:
    p = core.Primitive("ranks")
    p.def_impl(lambda x, y: x + y)
    p.def_abstract_eval(
        lambda x, y: funcgrad.core.ShapedArray(np.broadcast_shapes(x.shape, y.shape), x.dtype)
    )
    batching.defbroadcasting(p)
    x, y = np.ones((2, 4, 3), np.float32), np.arange(2, dtype=np.float32)
    for axes in ((0, 0), (0, None), (None, 0)):
        args = [a if at == 0 else a[0] for a, at in zip((x, y), axes)]
        want = funcgrad.vmap(lambda x, y: x + y, axes)(*args)
        np.testing.assert_array_equal(funcgrad.vmap(p.bind, axes)(*args), want)


def test_a_user_can_replace_a_rule_and_put_it_back() -> None:
    mine = lambda primals, tangents: (lax.sin_p.bind(*primals), 10.0 * tangents[0])
    before = ad.primitive_jvps[lax.sin_p]
    try:
        ad.primitive_jvps[lax.sin_p] = mine
        assert ad.primitive_jvps[lax.sin_p] is mine
        assert funcgrad.jvp(fnp.sin, (1.0,), (1.0,))[1] == 10.0
    finally:
        ad.primitive_jvps[lax.sin_p] = before
    np.testing.assert_allclose(funcgrad.grad(fnp.sin)(1.0), np.cos(1.0), 1e-6)


# the core's types


def test_bind_returns_what_jax_returns() -> None:
    assert lax.add_p.bind(1.0, 2.0) == 3.0
    keys, _values = lax.sort_p.bind(X, X, dimension=0, is_stable=True, num_keys=1)
    np.testing.assert_array_equal(keys, np.sort(X))


def test_multiple_results_are_those_of_jax() -> None:
    family_files()
    theirs = {p.name: p for k, p in vars(jax_primitives).items() if k.endswith("_p")}
    for p in abstract_rules:
        if p.name in theirs:
            assert p.multiple_results == theirs[p.name].multiple_results, p
        if isinstance(evaluate_rules.get(p), single):
            assert not p.multiple_results, p


def evaluated(closed: Any, *args: Any) -> list[Any]:
    """An interpreter as JAX's documentation teaches to write them."""
    env: dict[Any, Any] = {}
    read = lambda v: v.val if isinstance(v, core.Literal) else env[v]
    env.update(zip(closed.jaxpr.invars, args, strict=True))
    env.update(zip(closed.jaxpr.constvars, closed.literals, strict=True))
    for eqn in closed.jaxpr.eqns:
        functions, params = eqn.primitive.get_bind_params(eqn.params)
        outs = eqn.primitive.bind(*functions, *map(read, eqn.invars), **params)
        if not eqn.primitive.multiple_results:
            outs = [outs]
        env.update(zip(eqn.outvars, outs, strict=True))
    return [read(v) for v in closed.jaxpr.outvars]


def test_an_interpreter_written_for_jax() -> None:
    def f(x: Any) -> Any:
        total, _ = lax.scan(lambda c, y: (c + fnp.sin(y), y), 0.0, x)
        return total + funcgrad.jit(fnp.cos)(x)[0], fnp.sort(x)

    closed = funcgrad.make_jaxpr(f)(X)
    assert isinstance(closed, core.ClosedJaxpr) and isinstance(closed.eqns[0], core.JaxprEqn)
    assert isinstance(closed.eqns[0].primitive, core.Primitive)
    for got, want in zip(evaluated(closed, X), f(X), strict=True):
        np.testing.assert_allclose(got, want, 1e-6)
    assert len(list(core.subjaxprs(closed.jaxpr))) >= 2
    assert closed.map_jaxpr(lambda j: j).jaxpr is closed.jaxpr
    assert closed.pretty_print() == str(closed)


def test_programs_by_hand() -> None:
    aval = funcgrad.core.ShapedArray((3,), np.float32)
    new = core.gensym()
    a, b = new(aval), new(aval)
    eqn = core.new_jaxpr_eqn([a], [b], lax.sin_p, {}, core.no_effects)
    other = core.new_jaxpr_eqn([a], [new(aval)], lax.cos_p, {}, core.no_effects)
    jaxpr = core.Jaxpr([], [a, new(aval)], [b], [eqn, other])
    small, used = partial_eval.dce_jaxpr(jaxpr, [True])
    assert used == [True, False] and [e.primitive.name for e in small.eqns] == ["sin"]
    kept, _ = partial_eval.dce_jaxpr(jaxpr, True, instantiate=True)
    assert len(kept.invars) == 2
    (out,) = core.jaxpr_as_fun(core.ClosedJaxpr(small, []))(X)
    np.testing.assert_allclose(out, np.sin(X), 1e-6)
    fun = linear_util.wrap_init(lambda x: [fnp.sin(x) + X])
    jaxpr, avals, consts = partial_eval.trace_to_jaxpr_dynamic(fun, [aval])
    assert avals == [aval] and len(consts) == len(jaxpr.constvars) == 1


def test_partial_evaluation_of_a_function() -> None:
    fun = linear_util.wrap_init(lambda x, y: [fnp.sin(x) * y, fnp.cos(x), y + 1])
    aval = funcgrad.core.ShapedArray((3,), np.float32)
    values = partial_eval.PartialVal.known(X), partial_eval.PartialVal.unknown(aval)
    jaxpr, outs, consts = partial_eval.trace_to_jaxpr_nounits(fun, values, [False, False, True])
    assert [o.is_known() for o in outs] == [False, True, False]
    assert "sin" not in str(jaxpr) and len(jaxpr.invars) == 1
    np.testing.assert_allclose(outs[1].get_known(), np.cos(X), 1e-6)
    product, more = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, consts))(X)
    np.testing.assert_allclose(product, np.sin(X) * X, 1e-6)
    np.testing.assert_allclose(more, X + 1, 1e-6)


def test_trace_state() -> None:
    outside = core.get_opaque_trace_state()
    assert outside == core.get_opaque_trace_state()
    assert not core.unsafe_am_i_under_a_jit_DO_NOT_USE()
    seen = []

    def f(x: Any) -> Any:
        seen.append(core.get_opaque_trace_state())
        assert seen[-1] != outside and seen[-1] == core.get_opaque_trace_state()
        assert core.unsafe_am_i_under_a_jit_DO_NOT_USE()
        with core.take_current_trace() as trace:
            assert fnp.add(1, 1) == 2 and core.get_opaque_trace_state() == outside
            with core.set_current_trace(trace):
                assert core.get_opaque_trace_state() == seen[-1]
        return x

    funcgrad.jit(f)(1.0)
    funcgrad.jit(lambda x: f(x) + 1)(1.0)
    assert seen[0] != seen[1]
    names = []
    funcgrad.vmap(
        lambda x: names.append(core.unsafe_get_axis_names_DO_NOT_USE()) or x, axis_name="i"
    )(X)
    assert names == [["i"]]
    assert core.valid_jaxtype(1.0) and not core.valid_jaxtype("text")


def test_compile_time_evaluation() -> None:
    seen = []

    def f(x: Any) -> Any:
        with funcgrad.ensure_compile_time_eval():
            size = fnp.arange(4).sum()
            seen.append((int(size), bool(fnp.any(X > 2))))
            y = fnp.sin(x) * size
            return y + funcgrad.jit(fnp.cos)(x) + funcgrad.grad(fnp.tanh)(x)

    want = 6 * np.sin(0.5) + np.cos(0.5) + 1 / np.cosh(0.5) ** 2
    np.testing.assert_allclose(funcgrad.jit(f)(0.5), want, 1e-6)
    np.testing.assert_allclose(f(0.5), want, 1e-6)
    want = 6 * np.cos(0.5) - np.sin(0.5) - 2 * np.tanh(0.5) / np.cosh(0.5) ** 2
    np.testing.assert_allclose(funcgrad.grad(f)(0.5), want, 1e-5)
    np.testing.assert_allclose(
        funcgrad.vmap(funcgrad.grad(funcgrad.jit(f)))(np.full(2, 0.5)), want, 1e-5
    )
    assert set(seen) == {(6, True)}
    text = str(funcgrad.make_jaxpr(f)(0.5))
    assert "iota" not in text and "sin" in text


def test_avals_of_batches() -> None:
    aval = funcgrad.core.ShapedArray((2, 3), np.float32)
    assert core.unmapped_aval(5, 1, aval).shape == (2, 5, 3)
    assert core.mapped_aval(3, 1, aval).shape == (2,)
    assert core.mapped_aval(9, None, aval) is core.unmapped_aval(9, None, aval) is aval
    with pytest.raises(ValueError, match=r"axis 0 of float32\[2,3\] is not of size 3"):
        core.mapped_aval(3, 0, aval)
    assert core.primal_dtype_to_tangent_dtype(np.dtype(np.int32)) == funcgrad.float0


# wrapped functions


def test_transformations_of_functions() -> None:
    @linear_util.transformation2
    def negated(f: Any, sign: int, *args: Any) -> Any:
        return sign * f(*args)

    @linear_util.transformation_with_aux2
    def with_count(f: Any, store: Any, *args: Any) -> Any:
        store.store(len(args))
        return f(*args)

    @linear_util.transformation
    def doubled(*args: Any) -> Any:
        out = yield [2 * a for a in args], {}
        yield out

    @linear_util.transformation_with_aux
    def split(*args: Any) -> Any:
        out = yield args, {}
        yield out, "seen"

    fun = linear_util.wrap_init(lambda x, y, power: x + y**power, {"power": 2})
    fun, count = with_count(doubled(negated(fun, -1)))
    fun, seen = split(fun)
    with pytest.raises(linear_util.StoreException, match="before its function has run"):
        count()
    assert fun.call_wrapped(1, 2) == -(2 + 16)
    assert count() == 2 and seen() == "seen"


def test_aux_is_put_together_outside_of_the_trace() -> None:
    class Noted:
        def __init__(self, value: Any):
            self.value, self.state = value, core.get_opaque_trace_state()

    funcgrad.tree_util.register_pytree_node(
        Noted, lambda n: ((n.value,), None), lambda _, values: Noted(*values)
    )
    outside = core.get_opaque_trace_state()
    f = lambda x: (x**2, Noted(x))
    assert funcgrad.value_and_grad(f, has_aux=True)(2.0)[0][1].state == outside
    assert funcgrad.vjp(f, 2.0, has_aux=True)[2].state == outside
    assert funcgrad.jvp(f, (2.0,), (1.0,), has_aux=True)[2].state == outside
