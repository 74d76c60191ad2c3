"""Executables as bytes: they run elsewhere as they do here, or are refused with the reason."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest

import funcgrad
import funcgrad.numpy as fnp
from engines import OURS
from funcgrad.base.config import Config
from funcgrad.compiler.llvm import engine
from funcgrad.compiler.portable import MAGIC
from funcgrad.experimental.serialize_executable import deserialize_and_load, serialize
from samples import ROWS

native = pytest.mark.skipif(not engine.available(), reason="needs llvmlite")
VECTOR = fnp.ones(8)


def compiled(function, *args, **kwargs):
    return funcgrad.jit(function).lower(*args, **kwargs).compile()


def tree_function(params, x, *, scale):
    return {"y": params["w"] * x * scale}


def model(params, x):
    hidden = fnp.tanh(x @ params["w"] + params["b"])
    return {"sum": hidden.sum(), "rows": [hidden, x * fnp.asarray(OFFSETS)]}


OFFSETS = np.arange(64, dtype=np.float32)


def model_arguments():
    params = {"w": fnp.arange(64.0 * 64).reshape(64, 64) / 4096, "b": fnp.ones(64)}
    return params, fnp.arange(64.0 * 64).reshape(64, 64) / 1000


@native
def test_an_executable_travels_to_another_process(tmp_path) -> None:
    stage = compiled(model, *model_arguments())
    data, in_tree, out_tree = serialize(stage)
    assert (in_tree, out_tree) == (stage.in_tree, stage.out_tree)
    path = tmp_path / "model"
    path.write_bytes(data)
    script = f"""
import funcgrad, funcgrad.numpy as fnp
from funcgrad.base import events
from funcgrad.experimental.serialize_executable import deserialize_and_load
made = []
params = {{"w": fnp.arange(64.0 * 64).reshape(64, 64) / 4096, "b": fnp.ones(64)}}
x = fnp.arange(64.0 * 64).reshape(64, 64) / 1000
loaded = deserialize_and_load(open({str(path)!r}, "rb").read())
events.listen(lambda event, _: made.append(event) if event in ("trace", "compile") else None)
out = loaded(params, x)
assert not made, made
print(out["sum"].tobytes().hex(), *[r.tobytes().hex()[-64:] for r in out["rows"]])
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=False
    )
    assert run.returncode == 0, run.stderr
    out = stage(*model_arguments())
    rows = [np.asarray(r).tobytes().hex()[-64:] for r in out["rows"]]
    assert run.stdout.split() == [np.asarray(out["sum"]).tobytes().hex(), *rows]


@native
def test_a_loaded_executable_checks_its_arguments_and_cannot_be_shown() -> None:
    data, in_tree, out_tree = serialize(compiled(tree_function, {"w": VECTOR}, 2.0, scale=1.0))
    loaded = deserialize_and_load(data, in_tree, out_tree)
    np.testing.assert_array_equal(loaded({"w": VECTOR}, 3.0, scale=2.0)["y"], np.full(8, 6.0))
    with pytest.raises(TypeError, match=r"argument params\['w'\] was float32\[8\]"):
        loaded({"w": fnp.ones(7)}, 3.0, scale=2.0)
    assert loaded.memory_analysis().output_size_in_bytes == 32
    with pytest.raises(ValueError, match="only its machine code"):
        loaded.as_text()
    with pytest.raises(ValueError, match="only its machine code"):
        loaded.cost_analysis()
    with pytest.raises(ValueError, match="was deserialized itself"):
        serialize(loaded)
    with funcgrad.debug_nans(True):  # which has nothing to look at, and does no harm
        np.testing.assert_array_equal(loaded({"w": VECTOR}, 1.0, scale=1.0)["y"], np.ones(8))


@native
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "bfloat16", "float16", "float32"])
def test_every_dtype_and_empty_arrays_survive(dtype: str) -> None:
    x = fnp.ones((2, 3), dtype)
    constant = fnp.asarray([[1, 0, 1]], dtype)
    stage = compiled(lambda x, e: (fnp.maximum(x, constant).T, e), x, fnp.ones((0, 2)))
    loaded = deserialize_and_load(*serialize(stage))
    out, empty = loaded(x, fnp.ones((0, 2)))
    assert out.dtype == x.dtype and empty.shape == (0, 2)
    np.testing.assert_array_equal(np.asarray(out), np.asarray(stage(x, fnp.ones((0, 2)))[0]))


@native
def test_keys_survive() -> None:
    key = funcgrad.random.key(7)
    stage = compiled(lambda k: funcgrad.random.split(k, 3), key)
    out = deserialize_and_load(*serialize(stage))(key)
    assert out.dtype == key.dtype
    np.testing.assert_array_equal(
        funcgrad.random.key_data(out), funcgrad.random.key_data(funcgrad.random.split(key, 3))
    )


@native
def test_steps_in_python_are_refused() -> None:
    for function in (fnp.sort, lambda x: funcgrad.pure_callback(lambda x: x, x, x)):
        with pytest.raises(ValueError, match=r"(sort|pure_callback).*test_serialize\.py"):
            serialize(compiled(lambda x, f=function: f(x), VECTOR))


def test_what_numpy_runs_is_refused() -> None:
    with funcgrad.debug_nans(True), pytest.raises(ValueError, match="run by NumPy"):
        serialize(compiled(fnp.sin, VECTOR))


@pytest.fixture(scope="module")
def small() -> bytes:
    return serialize(compiled(lambda x: x + 1, VECTOR))[0]


@native
def test_damaged_bytes_are_refused(small: bytes) -> None:
    for at in range(len(MAGIC), len(small), 37):
        damaged = bytearray(small)
        damaged[at] ^= 4
        with pytest.raises(ValueError, match="checksum"):
            deserialize_and_load(bytes(damaged))
    for cut in (small[:-1], small + b"\0", small[:60]):
        with pytest.raises(ValueError, match="checksum"):
            deserialize_and_load(cut)
    for foreign in (b"", b"\x80\x04]\x94.", b"PK" + small):
        with pytest.raises(ValueError, match="not a serialized executable"):
            deserialize_and_load(foreign)
    with pytest.raises(ValueError, match="of another format"):
        deserialize_and_load(small.replace(b"executable 1\n", b"executable 9\n", 1))


def rewritten(data: bytes, old: bytes, new: bytes) -> bytes:
    """The bytes with a text of the same length in the table changed, and a checksum that fits."""
    assert len(old) == len(new) and old in data
    rest = data[len(MAGIC) + 32 :].replace(old, new, 1)
    return MAGIC + hashlib.sha256(rest).digest() + rest


@native
def test_foreign_versions_and_processors_are_refused(small: bytes) -> None:
    version = funcgrad.__version__
    other = rewritten(small, f'"{version}"'.encode(), f'"9{version[1:]}"'.encode())
    with pytest.raises(ValueError, match=rf"funcgrad 9{version[1:]}, and this is {version}"):
        deserialize_and_load(other)
    with pytest.raises(ValueError, match="other code of funcgrad"):
        deserialize_and_load(rewritten(small, b'"build": "', b'"build":" '))
    with pytest.raises(ValueError, match="another processor: triple"):
        deserialize_and_load(rewritten(small, b'"triple": "x86_64', b'"triple": "riscv6'))
    if Config.isa.value is None:
        with Config.isa("sse2"), pytest.raises(ValueError, match=r"here 'sse2'.*config\.isa"):
            deserialize_and_load(small)


@native
def test_trees_that_do_not_fit_are_refused(small: bytes) -> None:
    wrong = funcgrad.tree.structure(((1, 2), {}))
    with pytest.raises(ValueError, match="in_tree has 2 leaves, and the executable 1"):
        deserialize_and_load(small, wrong, None)
    with pytest.raises(ValueError, match="run on the CPU"):
        deserialize_and_load(small, backend="tpu")
    partial = funcgrad.tree_util.Partial(fnp.add, VECTOR)
    data, in_tree, out_tree = serialize(compiled(lambda f: f.args[0] * 2, partial))
    with pytest.raises(ValueError, match="needs in_tree and out_tree"):
        deserialize_and_load(data)
    out = deserialize_and_load(data, in_tree, out_tree)(partial)
    np.testing.assert_array_equal(out, np.full(8, 2.0))


@native
@pytest.mark.parametrize("row", ROWS[::6], ids=str)
def test_every_sample_can_be_read_measured_and_moved(row) -> None:
    function, args = row.make(OURS), row.arguments()
    stage = compiled(lambda *args: function(*args), *args)
    assert stage.as_text(debug_info=True).startswith("{ lambda")
    out = funcgrad.tree.leaves(stage(*args))
    memory, found = stage.memory_analysis(), stage.cost_analysis()
    assert memory.output_size_in_bytes == sum(o.buffer.nbytes for o in out)
    assert found["bytes accessed"] >= memory.output_size_in_bytes
    if stage.runtime_executable().native.host_calls:
        with pytest.raises(ValueError, match="run in Python"):
            serialize(stage)
        return
    moved = funcgrad.tree.leaves(deserialize_and_load(*serialize(stage))(*args))
    assert [(o.dtype, o.tobytes()) for o in moved] == [(o.dtype, o.tobytes()) for o in out]
