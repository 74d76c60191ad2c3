"""Meshes, specs and shardings: devices hold the slices that they hold in JAX."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import funcgrad
from funcgrad import lax
from funcgrad.base.mesh import NO_MESH
from funcgrad.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    SingleDeviceSharding,
    get_abstract_mesh,
    get_mesh,
    make_single_device_sharding,
    use_abstract_mesh,
)
from funcgrad.sharding import (
    PartitionSpec as P,
)

DEVICES = funcgrad.devices()
X = np.arange(48, dtype=np.float32).reshape(4, 4, 3)
SPECS = [
    P(),
    P("x"),
    P(None, "y"),
    P("x", "y"),
    P("y", "x"),
    P(("x", "y")),
    P(("y", "x"), None, None),
    P(None, ("x", "y")),
    P(("x",), None),
]


def mesh(*shape: int, names: str = "xy") -> Mesh:
    count = int(np.prod(shape))
    return Mesh(np.array(DEVICES[:count], dtype=object).reshape(shape), tuple(names[: len(shape)]))


SLICES = """
import numpy as np, {root} as jax
from {root}.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:4], dtype=object).reshape(2, 2), ("x", "y"))
for spec in {specs}:
    named = NamedSharding(mesh, spec)
    found = named.devices_indices_map((4, 4, 3))
    print(spec, named.shard_shape((4, 4, 3)), named.is_fully_replicated)
    print(sorted(named.replicated_axes))
    for device in mesh.devices.flat:
        print(device.id, [s.indices(n)[:2] for s, n in zip(found[device], (4, 4, 3))])
    x = jax.device_put(np.arange(48.0, dtype=np.float32).reshape(4, 4, 3), named)
    shards = sorted(x.addressable_shards, key=lambda s: s.device.id)
    print([(s.device.id, s.replica_id, np.asarray(s.data).sum()) for s in shards])
"""


def test_slices_are_those_of_jax() -> None:
    def answer(root: str) -> str:
        script = SLICES.format(root=root, specs=SPECS)
        flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
        environment = os.environ | flags | {"FUNCGRAD_NUM_CPU_DEVICES": "4"}
        command = [sys.executable, "-c", script]
        return subprocess.run(command, env=environment, capture_output=True, text=True).stdout

    want = answer("jax")
    assert want.count("\n") == 7 * len(SPECS)
    assert answer("funcgrad") == want


def test_a_mesh_tells_its_axes() -> None:
    m = mesh(2, 2)
    assert m.shape == {"x": 2, "y": 2} and m.shape_tuple == (("x", 2), ("y", 2)) and m.size == 4
    assert m.axis_sizes == (2, 2) and not m.empty and not m.is_scalar and not m.is_multi_process
    assert m.device_ids.tolist() == [[0, 1], [2, 3]] and m.local_devices == DEVICES[:4]
    assert m.auto_axes == ("x", "y") and m.are_all_axes_auto and not m.are_all_axes_explicit
    explicit = m.update(axis_types=(AxisType.Explicit, AxisType.Manual))
    assert explicit.explicit_axes == ("x",) and explicit.manual_axes == ("y",) and explicit != m
    assert m == mesh(2, 2) and hash(m) == hash(mesh(2, 2)) and m != mesh(2, 2, names="ab")
    assert repr(explicit) == "Mesh('x': 2, 'y': 2, axis_types=(Explicit, Manual))"
    abstract = m.abstract_mesh
    assert abstract == AbstractMesh((2, 2), ("x", "y")) and abstract.size == 4
    assert repr(abstract) == "AbstractMesh('x': 2, 'y': 2, axis_types=(Auto, Auto))"
    made = funcgrad.make_mesh((2, 1), ("a", "b"))
    assert made.are_all_axes_explicit and made.devices.tolist() == [[DEVICES[0]], [DEVICES[1]]]


def test_specs_are_values() -> None:
    spec = P("x", None, ("x", "y"))
    assert list(spec) == ["x", None, ("x", "y")] and spec[0] == "x" and len(spec) == 3
    assert spec == P("x", None, ["x", "y"]) and hash(spec) == hash(P("x", None, ("x", "y")))
    assert P(("x",)) == P("x") and P("x") + P("y") == P("x", "y") and not isinstance(spec, tuple)
    assert repr(spec) == "P('x', None, ('x', 'y'))" and spec != ("x", None, ("x", "y"))
    assert funcgrad.tree.leaves({"a": spec}) == [spec]


def test_context() -> None:
    assert get_mesh() is NO_MESH and get_mesh().empty and get_abstract_mesh().empty
    with mesh(2) as m:
        assert get_mesh() == m and get_abstract_mesh() == m.abstract_mesh
        with mesh(4) as inner:
            assert get_mesh() == inner
        assert get_mesh() == m
    assert get_mesh().empty
    with funcgrad.set_mesh(mesh(2)) as m:
        assert get_mesh() is m
    with use_abstract_mesh(AbstractMesh((2,), "x")):
        assert get_mesh().empty and get_abstract_mesh().shape == {"x": 2}
    assert get_abstract_mesh().empty


def test_placed_arrays_compute_the_same() -> None:
    named = NamedSharding(mesh(2, 2), P("x", "y"))
    x = funcgrad.device_put(X, named)
    assert x.sharding == named and x.devices() == set(DEVICES[:4]) and not x.is_fully_replicated
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(funcgrad.jit(lambda v: v * 2)(x), X * 2)
    np.testing.assert_array_equal(funcgrad.grad(lambda v: (v**2).sum())(x), 2 * X)
    np.testing.assert_array_equal(funcgrad.vmap(lambda v: v + 1)(x), X + 1)


def test_constraints() -> None:
    m = mesh(2, 2)
    tree = {"a": X, "b": X[:2]}
    out = lax.with_sharding_constraint(
        tree, {"a": NamedSharding(m, P("x")), "b": NamedSharding(m, P())}
    )
    assert out["a"].sharding.spec == P("x") and out["b"].is_fully_replicated
    with m:
        assert funcgrad.reshard(X, P(None, "y")).sharding == NamedSharding(m, P(None, "y"))
        f = funcgrad.jit(lambda v: lax.with_sharding_constraint(v * 2, P("x")))
        np.testing.assert_array_equal(f(X), X * 2)
        np.testing.assert_array_equal(funcgrad.grad(lambda v: f(v).sum())(X), np.full_like(X, 2))
        with pytest.raises(ValueError, match=r"axis 0 .* into 2 parts, which does not divide.* 3"):
            funcgrad.jit(lambda v: lax.with_sharding_constraint(v, P("x")))(X[:3])


def test_jit_with_shardings() -> None:
    m = mesh(2, 2)
    rows, columns = NamedSharding(m, P("x")), NamedSharding(m, P(None, "y"))
    f = funcgrad.jit(
        lambda v, w: (v + w, w), in_shardings=(rows, None), out_shardings=(columns, None)
    )
    total, other = f(X, X)
    assert total.sharding == columns and other.sharding == SingleDeviceSharding(DEVICES[0])
    np.testing.assert_array_equal(total, X + X)
    np.testing.assert_array_equal(f(funcgrad.device_put(X, rows), X)[0], X + X)
    with pytest.raises(ValueError, match=r"in_shardings: .*float32\[4,4,3\] is committed to Named"):
        f(funcgrad.device_put(X, columns), X)
    np.testing.assert_array_equal(funcgrad.grad(lambda v: f(v, v)[0].sum())(X), np.full_like(X, 2))


def test_equivalence() -> None:
    m = mesh(2, 2)
    assert NamedSharding(m, P("x")).is_equivalent_to(NamedSharding(m, P("x", None)), 2)
    assert not NamedSharding(m, P("x")).is_equivalent_to(NamedSharding(m, P("y")), 2)
    one = mesh(1)
    single = make_single_device_sharding(DEVICES[0])
    assert NamedSharding(one, P("x")).is_equivalent_to(single, 1)
    assert NamedSharding(m, P("x")).update(spec=P("y")) == NamedSharding(m, P("y"))
    assert NamedSharding(m, P()).num_devices == 4 and NamedSharding(m, P()).memory_kind == "device"


def spread(x: Any, m: Any, *spec: Any) -> Any:
    return funcgrad.device_put(x, NamedSharding(m, P(*spec)))


WRONG: list[tuple[type, str, Any]] = [
    (ValueError, "axis 'z' of P.'z',. is not found in mesh", lambda m: NamedSharding(m, P("z"))),
    (ValueError, "duplicate entries for x", lambda m: NamedSharding(m, P("x", "x"))),
    (TypeError, "spec is a PartitionSpec", lambda m: NamedSharding(m, ("x",))),
    (ValueError, "needs|as many names", lambda m: Mesh(DEVICES[:4], ("x", "y"))),
    (ValueError, "names must differ", lambda m: mesh(2, 2, names="xx")),
    (ValueError, "take 4096 devices", lambda m: funcgrad.make_mesh((64, 64), ("x", "y"))),
    (
        ValueError,
        "does not divide its size 3",
        lambda m: spread(X[:3], m, "x"),
    ),
    (
        ValueError,
        "rank 3 at least",
        lambda m: spread(X[0, 0], m, None, None, "x"),
    ),
    (RuntimeError, "non-empty mesh in the context", lambda m: funcgrad.reshard(X, P("x"))),
    (
        TypeError,
        "takes Shardings and PartitionSpecs, got str",
        lambda m: funcgrad.reshard([X], ["x"]),
    ),
    (ValueError, "has no devices", lambda m: NamedSharding(m.abstract_mesh, P("x")).devices),
    (ValueError, "AxisTypes, one for each", lambda m: m.update(axis_types=(AxisType.Auto,))),
]


@pytest.mark.parametrize("error, text, act", WRONG, ids=[text for _, text, _ in WRONG])
def test_errors(error: type[Exception], text: str, act: Any) -> None:
    with pytest.raises(error, match=text):
        act(mesh(2, 2))
