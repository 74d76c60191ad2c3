"""What README.md shows is what happens."""

import ast
import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import funcgrad

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def readme() -> ModuleType:
    spec = importlib.util.spec_from_file_location("readme", ROOT / ".ci" / "readme.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_taste_shows_what_it_promises(readme):
    source = readme.taste()
    promised = readme.promised(source)
    expressions = [node for node in ast.parse(source).body if isinstance(node, ast.Expr)]
    assert len(promised) == len(expressions) > 1
    assert [repr(value) for value in readme.shown(source)] == promised


def test_taste_opens_with_a_derivative(readme):
    source = readme.taste()
    assert source.startswith("from funcgrad import grad\n")
    first = readme.shown(source)[0]
    assert isinstance(first, funcgrad.Array)
    assert first == 14.0
    assert first.shape == ()
    assert first.dtype == np.float32
    assert first.weak_type is True
    assert repr(first) == "Array(14., dtype=float32, weak_type=True)"


def test_commands_run_what_exists(readme):
    for name, end in [("example", "examples/digits_mlp.py"), ("test", "-m pytest -n 2")]:
        command = readme.command(name)
        assert command.startswith("python3 -m venv .venv && ")
        assert command.endswith(f".venv/bin/python {end}")
    assert (ROOT / "examples" / "digits_mlp.py").is_file()


def test_unknown_command_is_refused(readme):
    with pytest.raises(SystemExit, match="one command named 'nothing'; found 0"):
        readme.command("nothing")
