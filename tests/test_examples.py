"""What the examples are made of: parts, imports, claims. CI runs the examples themselves."""

import ast
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import funcgrad as fg
import funcgrad.numpy as fnp

FOLDER = Path(__file__).parent.parent / "examples"
FILES = sorted(FOLDER.glob("*.py"))


def load(name):
    """An example as a module, with the settings it makes on import undone."""
    pytest.importorskip("sklearn")
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    before = fg.config.enable_x64
    try:
        spec.loader.exec_module(module)
    finally:
        fg.config.update("enable_x64", before)
    return module


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_is_a_script_for_users(file):
    tree = ast.parse(file.read_text())
    doc = ast.get_docstring(tree)
    assert f"python examples/{file.name}" in doc
    assert ast.unparse(tree.body[-1].test) == "__name__ == '__main__'"
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "funcgrad":
            assert node.module in ("funcgrad", "funcgrad.numpy"), node.module
            assert not [a.name for a in node.names if a.name.startswith("_")]
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [getattr(node, "module", None), *[a.name for a in node.names]]
            assert not any(n and n.split(".")[0] in ("jax", "optax") for n in names)


def test_there_are_four():
    wanted = {"data_parallel", "digits_mlp", "hessian_vector", "per_example_gradients"}
    assert wanted <= {f.stem for f in FILES}


def test_conjugate_gradients():
    example = load("hessian_vector")
    a = np.random.default_rng(0).normal(size=(6, 6))
    a, b = a @ a.T + np.eye(6), np.arange(6.0)
    with fg.enable_x64(True):
        x, steps = fg.jit(
            lambda b: example.conjugate_gradients(lambda v: a @ v, b, tolerance=1e-10, max_steps=20)
        )(b)
    assert_allclose(a @ np.asarray(x), b, atol=1e-8)
    assert 0 < steps <= 8


def test_hessian_vector_product():
    example = load("hessian_vector")
    f = lambda w: fnp.sum(fnp.sin(w) * w[0] ** 2)
    w, v = fnp.arange(1.0, 4.0), fnp.array([1.0, -2.0, 0.5])
    assert_allclose(example.hessian_vector(f, w, v), fg.hessian(f)(w) @ v, rtol=1e-5)


def test_per_example_gradients_agree():
    example = load("per_example_gradients")
    rng = np.random.default_rng(0)
    images, labels = rng.random((4, 64), np.float32), rng.integers(0, 10, 4)
    params = example.model.init(fg.random.key(0), images.shape)
    looped = example.in_a_loop(params, images, labels)
    for other in (example.with_vmap, example.compiled):
        example.check_equal(looped, other(params, images, labels), 1e-5)
    lengths = example.norms(looped)
    assert lengths.shape == (4,)
    assert example.norms(fg.tree.map(lambda g: g[None], example.clipped_mean(looped))) <= 1


def test_a_step_on_all_devices_is_a_step_on_one():
    example = load("data_parallel")
    rng = np.random.default_rng(0)
    batch = rng.random((16, 64), np.float32), rng.integers(0, 10, 16)
    params = example.model.init(fg.random.key(0), batch[0].shape)
    state = example.optimizer.init(params)
    alone, *_ = example.step_on_one(params, state, *batch)
    parts = [x.reshape(4, 4, *x.shape[1:]) for x in batch]
    shared, *_ = example.step_on_all(params, state, *parts)
    assert example.distance(alone, shared) < 1e-6 < example.distance(alone, params)


def test_digits_are_loaded_and_drawn(tmp_path):
    example = load("digits_mlp")
    pytest.importorskip("matplotlib")
    images, test_images, labels, test_labels = example.load()
    assert images.shape == (1347, 64) and test_images.shape == (450, 64)
    assert images.dtype == np.float32 and 0 <= images.min() and images.max() <= 1
    assert set(labels) == set(test_labels) == set(range(10))
    example.plot_losses([(1.0, 2.0), (0.5, 1.0)], tmp_path / "loss.png")
    chances = np.full((450, 10), 0.1)
    example.plot_predictions(test_images, test_labels, chances, tmp_path / "guess.png")
    assert (tmp_path / "loss.png").stat().st_size > 1000
    assert (tmp_path / "guess.png").stat().st_size > 1000
    assert "matplotlib.pyplot" not in sys.modules
