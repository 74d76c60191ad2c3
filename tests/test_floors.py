"""The package keeps to its layout, and the checker that says so sees each kind of breach."""

from pathlib import Path

import pytest

import floors

ROOT = Path(__file__).parent.parent

CLEAN = {
    "__init__.py": "from funcgrad import lax\nfrom funcgrad.api.grad import grad\n"
    "def __getattr__(name: str): ...",
    "_version.py": "",
    "base/__init__.py": "",
    "base/tree.py": "exec('')",
    "base/aval.py": "from funcgrad.base import tree\nfrom funcgrad import _version",
    "ir/__init__.py": "",
    "ir/jaxpr.py": "import re\nfrom ..base.aval import ShapedArray\npattern = re.compile('a')",
    "transforms/__init__.py": "",
    "transforms/staging.py": "def run():\n    from funcgrad.ir import jaxpr",
    "compiler/__init__.py": "",
    "compiler/loops.py": "",
    "compiler/passes/__init__.py": "",
    "compiler/passes/inline.py": "from funcgrad.ir.jaxpr import Jaxpr",
    "compiler/passes/fold.py": "from funcgrad.compiler.passes.inline import inline",
    "compiler/pipeline.py": "from funcgrad.compiler.passes import fold",
    "api/__init__.py": "",
    "api/grad.py": "from funcgrad.transforms.staging import stage",
    "lax/__init__.py": "from funcgrad.lax._math import sin",
    "lax/_math.py": "from funcgrad.api.grad import grad",
    "numpy/__init__.py": "",
    "random/__init__.py": "from .. import numpy",
    "core.py": "from funcgrad.base.aval import ShapedArray as ShapedArray",
    "optim/__init__.py": "from funcgrad import core, grad\nfrom funcgrad.optim._adam import adam",
    "optim/_adam.py": "import funcgrad.numpy",
}


def problems(folder: Path, changed: dict[str, str]) -> list[str]:
    """What the checker says of the clean layout with some files added or rewritten."""
    for name, text in {**CLEAN, **changed}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return floors.check(folder)


def test_package_keeps_to_the_floors():
    assert floors.check(ROOT / "funcgrad") == []


def test_clean_layout_passes(tmp_path):
    assert problems(tmp_path, {}) == []


@pytest.mark.parametrize(
    "file, text, said",
    [
        (
            "ir/jaxpr.py",
            "from funcgrad.api import grad",
            "ir/jaxpr.py:1: imports funcgrad.api.grad",
        ),
        (
            "ir/jaxpr.py",
            "\nimport funcgrad.lax",
            "jaxpr.py:2: imports funcgrad.lax: lax stands above",
        ),
        ("ir/jaxpr.py", "from .. import lax", "lax stands above ir"),
        ("ir/jaxpr.py", "def f():\n    import funcgrad.lax", "ir/jaxpr.py:2: imports funcgrad.lax"),
        ("ir/jaxpr.py", "import_module('funcgrad.lax')", "lax stands above ir"),
        (
            "ir/jaxpr.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import funcgrad.lax",
            "ir/jaxpr.py:3: imports funcgrad.lax: lax stands above ir",
        ),
        ("ir/jaxpr.py", "from funcgrad import grad", "the root stands above"),
        ("transforms/staging.py", "import funcgrad.compiler.loops", "stand side by side"),
        ("compiler/loops.py", "import funcgrad.transforms.staging", "stand side by side"),
        ("api/grad.py", "import funcgrad.lax", "lax stands to the right of api"),
        ("numpy/__init__.py", "import funcgrad.random", "random stands to the right of numpy"),
        ("base/tree.py", "import funcgrad.base.aval", "aval comes after tree in ORDERS['base']"),
        ("base/tree.py", "from funcgrad.base import aval", "aval comes after tree"),
        ("base/tree.py", "from funcgrad.base import nothing", "the package it lies in"),
        ("compiler/loops.py", "from .passes import fold", "passes comes after loops"),
        ("compiler/passes/inline.py", "from . import fold", "fold comes after inline"),
        ("core.py", "import funcgrad.optim", "optim stands above core"),
        ("base/helpers.py", "", "add 'helpers' to ORDERS['base'] in tests/floors.py"),
        ("compiler/passes/twist.py", "", "add 'twist' to ORDERS['compiler.passes']"),
        ("helpers/__init__.py", "", "add 'helpers' to FLOORS, VIEWS or WINGS"),
        ("optim/_adam.py", "import funcgrad.ir.jaxpr", "ir is an inner package"),
        ("optim/_adam.py", "from funcgrad.lax import _math", "_math is private"),
        ("optim/_adam.py", "from funcgrad.lax._math import sin", "_math is private"),
        ("optim/_adam.py", "from funcgrad.numpy import _secret", "_secret is private"),
        ("ir/__init__.py", "x = 1", "the __init__ of an inner package is empty"),
        (
            "compiler/passes/__init__.py",
            '"""Passes."""',
            "the __init__ of an inner package is empty",
        ),
        ("numpy/__init__.py", "def __getattr__(name): ...", "only funcgrad/__init__.py has"),
        (
            "numpy/__init__.py",
            "from funcgrad.lax import __getattr__",
            "only funcgrad/__init__.py has",
        ),
        ("core.py", "def f(): ...", "this defines f"),
        ("core.py", "class C: ...", "this defines C"),
        ("lax/__init__.py", "from funcgrad.lax._math import _math", "_math hides the module"),
        (
            "lax/__init__.py",
            "from funcgrad.lax._math import sin as _math",
            "_math hides the module",
        ),
        ("__init__.py", "import funcgrad.numpy as lax", "lax hides the module"),
        ("__init__.py", "def lax(): ...", "lax hides the module"),
        ("ir/jaxpr.py", "exec('1')", "only GENERATORS use exec"),
        ("ir/jaxpr.py", "run = eval", "only GENERATORS use eval"),
        ("ir/jaxpr.py", "import builtins\nbuiltins.compile('1', '', 'exec')", "jaxpr.py:2: only"),
        ("ir/jaxpr.py", "import jax", "imports jax, which only tests may"),
        (
            "ir/jaxpr.py",
            "def f():\n    from jax.numpy import sin",
            "ir/jaxpr.py:2: imports jax.numpy",
        ),
        ("ir/jaxpr.py", "from jaxlib import xla", "imports jaxlib, which only tests may"),
    ],
)
def test_breach_is_reported(tmp_path, file, text, said):
    found = problems(tmp_path, {file: text})
    assert any(said in problem for problem in found), found


def test_circle_is_reported(tmp_path):
    found = problems(
        tmp_path,
        {"lax/_a.py": "import funcgrad.lax._b", "lax/_b.py": "def f():\n    from . import _a"},
    )
    assert len(found) == 1
    assert "circle" in found[0]
    assert "funcgrad.lax._a -> funcgrad.lax._b" in found[0]


def test_package_and_its_file_make_a_circle(tmp_path):
    found = problems(tmp_path, {"lax/_math.py": "from funcgrad.lax import sin"})
    assert any("funcgrad.lax._math -> funcgrad.lax" in problem for problem in found)


def test_type_checking_makes_no_circle(tmp_path):
    back = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import funcgrad.lax._a"
    assert problems(tmp_path, {"lax/_a.py": "import funcgrad.lax._b", "lax/_b.py": back}) == []


@pytest.mark.parametrize(
    "file, text",
    [
        ("ir/jaxpr.py", "def compile(): ...\ncompile()"),
        ("ir/jaxpr.py", "def f(x):\n    return x.compile().eval"),
        ("lax/__init__.py", "from funcgrad.lax import _math"),
        ("__init__.py", "import funcgrad.lax as lax"),
        ("optim/_adam.py", "from funcgrad import __version__"),
        ("optim/_adam.py", "import jaxtyping"),
        ("lax/_anything.py", "from funcgrad.lax import _math"),
    ],
)
def test_what_only_looks_like_a_breach_passes(tmp_path, file, text):
    assert problems(tmp_path, {file: text}) == []
