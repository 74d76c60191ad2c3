"""Names that other code looks for, in the root, api_util, dlpack, errors and ad_checkpoint."""

import gc
import inspect
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import ad_checkpoint as their_checkpoint
from jax import api_util as their_api_util
from jax import custom_derivatives as their_derivatives
from jax import dlpack as their_dlpack
from jax.extend import linear_util as their_lu

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import ad_checkpoint, api_util, custom_derivatives, dlpack, errors
from funcgrad.base.config import enable_x64
from funcgrad.extend import linear_util as lu

X = np.array([0.5, 1.0, 2.0], np.float32)


def raised(function):
    with pytest.raises(Exception) as info:
        function()
    return info.type


# reverse mode in two halves


@pytest.mark.parametrize("jitted", [True, False])
@pytest.mark.parametrize("argnums", [0, 1, -1, (0,), (1, 0)])
def test_fwd_and_bwd(jitted, argnums):
    f = lambda x, y: x * y.sum() + fnp.sin(x)
    g = lambda x, y: x * y.sum() + jnp.sin(x)
    fwd, bwd = fg.fwd_and_bwd(f, argnums, jitted=jitted)
    their_fwd, their_bwd = jax.fwd_and_bwd(g, argnums, jitted=jitted)
    out, pullback = fwd(X, 2 * X)
    their_out, their_pullback = their_fwd(X, 2 * X)
    np.testing.assert_allclose(out, their_out, rtol=1e-6)
    got, want = bwd(pullback, X), their_bwd(their_pullback, X)
    assert isinstance(got, tuple) == isinstance(want, tuple) == isinstance(argnums, tuple)
    for a, b in zip(fg.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_pullback_passes_through_vmap_and_aux_is_returned():
    fwd, bwd = fg.fwd_and_bwd(lambda x: (fnp.sin(x), {"x": x}), 0, has_aux=True)
    _, pullback, aux = fg.vmap(fwd)(fnp.asarray(X))
    np.testing.assert_allclose(aux["x"], X)
    np.testing.assert_allclose(fg.vmap(bwd)(pullback, fnp.ones(3)), np.cos(X), rtol=1e-6)


def test_fwd_and_bwd_errors():
    f = lambda x: x * 2
    for library in (fg, jax):
        assert raised(lambda library=library: library.fwd_and_bwd(f, 3)[0](1.0)) is ValueError
    fwd, bwd = fg.fwd_and_bwd(f, 0)
    with pytest.raises(ValueError, match=r"float32\[2\]"):
        bwd(fwd(fnp.float32(1))[1], fnp.ones(2))


def test_jacobian_is_reverse_mode():
    assert fg.jacobian is fg.jacrev
    np.testing.assert_allclose(fg.jacobian(lambda x: x**2)(X), np.diag(2 * X))


# the process


def test_live_arrays():
    x = fnp.arange(5.0) + 1
    assert any(a is x for a in fg.live_arrays())
    assert any(a is x for a in fg.live_arrays("cpu"))
    count = sum(a.shape == (7, 11, 13) for a in fg.live_arrays())
    y = fnp.zeros((7, 11, 13)) + 1
    assert sum(a.shape == (7, 11, 13) for a in fg.live_arrays()) == count + 1
    y.delete()
    gc.collect()
    assert sum(a.shape == (7, 11, 13) for a in fg.live_arrays()) == count
    assert raised(lambda: fg.live_arrays("tpu")) is raised(lambda: jax.live_arrays("tpu"))


def test_processes_and_host_copies():
    for name in ("host_count", "host_id", "host_ids", "process_indices"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # JAX says of three of them that they will go
            assert getattr(fg, name)() == getattr(jax, name)()
    tree = {"a": fnp.ones(2), "b": 3, "c": X}
    assert fg.copy_to_host_async(tree) is tree
    gone = fnp.ones(3)
    gone.delete()
    with pytest.raises(RuntimeError):
        fg.copy_to_host_async([gone])


def test_environment_info(capsys):
    text = fg.print_environment_info(return_string=True)
    for part in (f"funcgrad: {fg.__version__}", f"numpy: {np.__version__}", "python: 3.", "(cpu)"):
        assert part in text
    assert fg.print_environment_info() is None
    assert capsys.readouterr().out == text + "\n"


def test_version():
    assert fg.version.__version__ == fg.__version__
    assert ".".join(map(str, fg.version.__version_info__)) == fg.__version__


# leaks


TRACES = {
    "jit": lambda f: fg.jit(f)(X),
    "grad": lambda f: fg.grad(lambda x: f(x).sum())(X),
    "vmap": lambda f: fg.vmap(f)(X),
    "jvp": lambda f: fg.jvp(f, (X,), (X,)),
    "jit of grad": lambda f: fg.jit(fg.grad(lambda x: f(x).sum()))(X),
    "make_jaxpr": lambda f: fg.make_jaxpr(f)(X),
}


@fg.custom_vjp
def doubled(x):
    return x * 2


doubled.defvjp(lambda x: (x * 2, x), lambda res, ct: (ct * 2,))


times = fg.custom_vjp(lambda factor, x: factor * x, nondiff_argnums=(0,))
times.defvjp(lambda factor, x: (factor * x, x), lambda factor, res, ct: (factor * ct,))

CLEAN = {
    "custom_vjp of a traced setting": lambda x: times(fg.lax.stop_gradient(x.sum()), x),
    "product": lambda x: x * 2,
    "identity": lambda x: x,
    "custom_jvp": fg.nn.relu,
    "custom_vjp": doubled,
    "closure": lambda x: fg.vmap(lambda y: y * x)(fnp.ones(3)).sum(0),
    "cond": lambda x: fg.lax.cond(x.sum() > 1, fnp.sin, fnp.cos, x),
    "scan": lambda x: fg.lax.scan(lambda c, _: (c * 2, c), x, None, length=2)[0],
    "callback": lambda x: (fg.debug.callback(lambda y: None, x), x)[1],
    "checkpoint": fg.checkpoint(lambda x: fnp.sin(fnp.sin(x))),
}


@pytest.fixture
def small_heap():
    """What is alive already does not slow garbage collection down."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("trace", TRACES)
def test_leaks_raise_while_they_are_checked(trace):
    leaked = []

    def leaking(x):
        leaked.append(x)
        return x * 2

    with (
        fg.check_tracer_leaks(True),
        pytest.raises(errors.UnexpectedTracerError, match=r"Leaked tracers.*has ended, but 1 of"),
    ):
        TRACES[trace](leaking)
    leaked.clear()
    TRACES[trace](leaking)


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("function", CLEAN)
def test_what_does_not_leak_passes(trace, function):
    with fg.checking_leaks():
        TRACES[trace](CLEAN[function])


# errors


def test_error_classes_have_the_bases_that_theirs_have():
    for name in dir(jax.errors):
        theirs, ours = getattr(jax.errors, name), getattr(errors, name, None)
        if not inspect.isclass(theirs) or ours is None:
            continue
        bases = {b.__name__ for b in theirs.__mro__ if not b.__name__.startswith("_")}
        assert bases <= {b.__name__ for b in ours.__mro__}, name


@pytest.mark.parametrize(
    "base, fails",
    [
        ("JAXTypeError", lambda lib, xp: lib.jit(lambda x: 1 if x else 0)(1.0)),
        ("JAXTypeError", lambda lib, xp: lib.jit(lambda x: np.asarray(x))(1.0)),
        ("JAXTypeError", lambda lib, xp: lib.jit(lambda n: [1, 2][n])(1)),
        ("JAXIndexError", lambda lib, xp: lib.jit(lambda x, m: x[m])(xp.ones(3), xp.ones(3) > 0)),
    ],
)
def test_base_classes_are_raised_as_theirs_are(base, fails):
    for lib, xp in ((fg, fnp), (jax, jnp)):
        assert issubclass(raised(lambda lib=lib, xp=xp: fails(lib, xp)), getattr(lib.errors, base))


def test_refused_memory_is_a_runtime_error_too():
    with pytest.raises(errors.JaxRuntimeError, match="memory") as info:
        fnp.zeros((1 << 30, 1 << 30), "int8") + 1
    assert isinstance(info.value, MemoryError)


def test_jaxpr_type_error():
    program = fg.make_jaxpr(lambda x: x * 2)(X).jaxpr
    program.outvars = fg.make_jaxpr(lambda x: x * 2)(X).jaxpr.outvars
    with pytest.raises(errors.JaxprTypeError):
        fg.core.check_jaxpr(program)


# dtypes


@pytest.mark.parametrize("dtype", ["float32", "int4", "bool", "complex64", "bfloat16", "uint2"])
def test_itemsize_bits(dtype):
    assert fg.dtypes.itemsize_bits(dtype) == jax.dtypes.itemsize_bits(dtype)


def test_itemsize_bits_errors():
    for lib in (fg, jax):
        assert raised(lambda lib=lib: lib.dtypes.itemsize_bits(lib.dtypes.float0)) is ValueError


# DLPack


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float16", "float32", "c8"])
def test_from_dlpack(dtype):
    theirs = np.arange(6).reshape(2, 3).astype(dtype)
    ours = dlpack.from_dlpack(theirs)
    assert isinstance(ours, fg.Array) and ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)
    theirs[:] = 0
    assert np.asarray(ours).any()
    for view in (theirs.T, theirs[:, ::2]):
        np.testing.assert_array_equal(dlpack.from_dlpack(view), view)
    np.testing.assert_array_equal(np.from_dlpack(ours), ours)
    assert dlpack.is_supported_dtype(dtype) and their_dlpack.is_supported_dtype(dtype)


def test_dlpack_widths_devices_and_errors():
    wide = np.arange(3.0)
    assert dlpack.from_dlpack(wide).dtype == np.float32
    with enable_x64(True):
        assert dlpack.from_dlpack(wide).dtype == np.float64
    device = fg.devices()[1]
    assert dlpack.from_dlpack(X, device=device).devices() == {device}
    with pytest.raises(ValueError, match="copy=False cannot be granted"):
        dlpack.from_dlpack(X, copy=False)
    for library in (dlpack, their_dlpack):
        assert raised(lambda library=library: library.from_dlpack([1])) is TypeError
        assert not library.is_supported_dtype("int4")
        assert not library.is_supported_dtype("float8_e4m3fn")


# api_util


def test_flattened_functions():
    def f(d, *, scale):
        return {"out": d["a"] * scale, "two": [d["b"]]}

    args = ({"a": 2.0, "b": 3.0},)
    leaves, tree = fg.tree.flatten((args, {"scale": 10.0}))
    flat, out_tree = api_util.flatten_fun(lu.wrap_init(f, debug_info=None), tree)
    assert flat.call_wrapped(*leaves) == [20.0, 3.0]
    assert fg.tree.unflatten(out_tree(), [1, 2]) == {"out": 1, "two": [2]}
    leaves, tree = fg.tree.flatten(args)
    flat, out_tree = api_util.flatten_fun_nokwargs(lu.wrap_init(lambda d: (d["b"], d["a"])), tree)
    assert flat.call_wrapped(*leaves) == [3.0, 2.0]
    assert str(out_tree()) == "PyTreeDef((*, *))"


def test_functions_of_some_arguments():
    def case(util, wrap):
        f = wrap(lambda *args: args)
        partial, dynamic = util.argnums_partial(f, (2, -3), (1, 2, 3))
        return dynamic, partial.call_wrapped("a", "b")

    theirs = lambda f: their_lu.wrap_init(f, debug_info=their_api_util.debug_info("t", f, (), {}))
    got, want = case(api_util, lu.wrap_init), case(their_api_util, theirs)
    assert got[0] == tuple(want[0]) and set(got[1]) == set(want[1]) == {"a", "b", 2}
    with pytest.raises(ValueError, match=r"positions \[3\] of 2 arguments"):
        api_util.argnums_partial(lu.wrap_init(max), 3, (1, 2))
    with pytest.raises(ValueError, match=r"argument 1 .* must be hashable"):
        api_util.argnums_partial(lu.wrap_init(max), 0, (1, [2]))
    _, dynamic = api_util.argnums_partial(lu.wrap_init(max), 0, (1, [2]), False)
    assert dynamic == (1,)


def test_argument_positions():
    ours = fg.tree.structure(((1, 2, (3, 4)), {"k": 1, "a": 2}))
    theirs = jax.tree.structure(((1, 2, (3, 4)), {"k": 1, "a": 2}))
    for args in (((2,), ()), ((0,), ("k",)), ((5,), ()), ((), ("a", "k"))):
        want = their_api_util.donation_vector(*args, theirs)
        assert api_util.donation_vector(*args, ours) == want
    assert api_util.donation_vector((1,), (), fg.tree.structure((1, (2, 3))), kws=False) == (
        False,
        True,
        True,
    )
    for pair in (((1, 2), (0,)), ((3,), (0, 5, 1)), ((2, 2, 1), (0,)), ((), (1,))):
        want = their_api_util.rebase_donate_argnums(*pair)
        assert api_util.rebase_donate_argnums(*pair) == want
    with pytest.raises(ValueError, match=r"both name \[1\]"):
        api_util.rebase_donate_argnums((1, 2), (1,))


def test_small_helpers():
    assert api_util.safe_map(lambda a, b: a + b, [1, 2], (3, 4)) == [4, 6]
    for library in (api_util, their_api_util):
        assert raised(lambda library=library: library.safe_map(max, [1, 2], [1])) is ValueError
        assert raised(lambda library=library: library.shaped_abstractify("a")) is TypeError
    assert api_util.shaped_abstractify(3.0).weak_type
    assert api_util.flatten_axes("axes", fg.tree.structure((1, (2, 3))), (0, None)) == [
        0,
        None,
        None,
    ]
    info = api_util.debug_info("jit", test_version, (1, {"a": 2}), {}, static_argnums=(0,))
    assert info.func_name == "test_version" and info.function.endswith("for jit")
    named = api_util.debug_info("jit", lambda x, y: x, (1, {"a": 2}), {"s": 1}, static_argnames="s")
    assert named.arg_names == ("x", "y['a']")


# derivative rules and what is saved


@pytest.mark.parametrize("value", [X, np.arange(3), 2.0, 3, True])
def test_zero_from_primal(value):
    ours, theirs = (
        custom_derivatives.zero_from_primal(value),
        their_derivatives.zero_from_primal(value),
    )
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    symbolic = custom_derivatives.zero_from_primal(value, symbolic_zeros=True)
    assert isinstance(symbolic, custom_derivatives.SymbolicZero)
    assert (symbolic.shape, symbolic.dtype) == (theirs.shape, theirs.dtype)


def test_rules_made_of_these_helpers():
    f = fg.custom_vjp(lambda x, y: x * y)

    def fwd(x, y):
        values = custom_derivatives.custom_vjp_primal_tree_values((x, y))
        return values[0] * values[1], values

    def bwd(res, ct):
        return custom_derivatives.zero_from_primal(res[0]), 5 * ct * res[0]

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    assert [float(g) for g in fg.grad(f, (0, 1))(2.0, 3.0)] == [0.0, 10.0]
    for library in (custom_derivatives, their_derivatives):
        assert (
            raised(lambda library=library: library.custom_vjp_primal_tree_values([1])) is TypeError
        )


def saved(capsys, f, *args):
    ad_checkpoint.print_saved_residuals(f, *args)
    return capsys.readouterr().out.splitlines()


def test_saved_residuals(capsys):
    def f(x, params):
        y = fnp.sin(x @ params["w"])
        return (y * 2).sum()

    ones = fnp.ones((2, 3)), {"w": fnp.ones((3, 4))}
    lines = saved(capsys, f, *ones)
    assert sorted(lines)[:2] == [
        "f32[2,3] from the argument x",
        "f32[2,4] output of cos from " + lines[-1].split(" from ")[1],
    ]
    assert "f32[3,4] from the argument params['w']" in lines
    assert "test_doors.py" in lines[-1] and lines[-1].endswith("(f)")
    assert sorted(saved(capsys, fg.checkpoint(f), *ones)) == [
        "f32[2,3] from the argument x",
        "f32[3,4] from the argument params['w']",
    ]
    shape = lambda line: line.split()[0]
    their_checkpoint.print_saved_residuals(lambda x, w: jnp.sin(x @ w).sum(), ones[0], ones[1]["w"])
    theirs = capsys.readouterr().out.splitlines()
    assert sorted(map(shape, lines)) == sorted(map(shape, theirs))


def policies(library):
    named = {"names_which_can_be_saved": ["a"], "names_which_can_be_offloaded": ["b"]}
    places = {"offload_src": "device", "offload_dst": "pinned_host"}
    all_of = library.checkpoint_policies
    return [
        lambda primitive, *_, **__: (
            library.Saveable if primitive.name == "dot_general" else library.Recompute
        ),
        lambda *_, **__: library.Offloadable("device", "pinned_host"),
        all_of.save_and_offload_only_these_names(**named, **places),
        all_of.offload_dot_with_no_batch_dims("device", "pinned_host"),
    ]


@pytest.mark.parametrize("index, count", [(0, 1), (1, 4), (2, 2), (3, 1)])
def test_decisions_of_policies(capsys, index, count):
    policy = policies(ad_checkpoint)[index]

    def f(x):
        y = ad_checkpoint.checkpoint_name(fnp.sin(x @ x), "a")
        return fnp.sin(ad_checkpoint.checkpoint_name(fnp.cos(y), "b")).sum()

    x = fnp.asarray(np.random.default_rng(0).normal(size=(3, 3)).astype("f4"))
    g = fg.checkpoint(f, policy=policy)
    lines = saved(capsys, g, x)
    assert len([line for line in lines if "argument" not in line]) >= 1
    np.testing.assert_allclose(fg.grad(g)(x), fg.grad(f)(x), rtol=1e-5)
    np.testing.assert_allclose(fg.jit(fg.grad(g))(x), fg.grad(f)(x), rtol=1e-5)
    if count < 4:
        assert len([line for line in lines if "argument" not in line]) == count


def test_policy_errors():
    for library in (fg, jax):
        make = library.checkpoint_policies.save_and_offload_only_these_names
        settings = {"offload_src": "device", "offload_dst": "pinned_host"}
        for name in ("names_which_can_be_saved", "names_which_can_be_offloaded"):
            settings[name] = ["a"]
        assert raised(lambda make=make, settings=settings: make(**settings)) is ValueError
    assert (bool(ad_checkpoint.Saveable), bool(ad_checkpoint.Recompute)) == (True, False)
    assert repr(ad_checkpoint.Recompute) == "Recompute"
