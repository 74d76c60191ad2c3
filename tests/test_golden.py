"""The code of some kernels for fixed processors, word for word: a change of what is generated shows
as a change of these files. `pytest tests/test_golden.py --update-golden` writes them anew.
"""

from pathlib import Path

import pytest

from funcgrad.compiler.llvm import engine
from funcgrad.compiler.llvm.emit import Module, emit_kernel
from funcgrad.compiler.llvm.target import AVX2, AVX512, Target
from kernels import EXAMPLES

FILES = Path(__file__).parent / "golden"
TARGETS = {"avx2": AVX2, "avx512": AVX512}


def text_of(name: str, target: Target) -> str:
    module = Module()
    emit_kernel(module, EXAMPLES[name](target.lanes("f32")).kernel, name, target)
    return module.text(target)


@pytest.mark.parametrize("isa", TARGETS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_code(name: str, isa: str, request: pytest.FixtureRequest) -> None:
    text, file = text_of(name, TARGETS[isa]), FILES / f"{name}.{isa}.ll"
    if request.config.getoption("--update-golden"):
        file.write_text(text)
    assert file.exists(), f"{file.name} is missing; --update-golden writes it"
    assert text == file.read_text(), f"{file.name} differs; --update-golden accepts the new code"


def test_no_file_is_left_over() -> None:
    names = {f"{name}.{isa}.ll" for name in EXAMPLES for isa in TARGETS}
    assert {file.name for file in FILES.iterdir()} == names


@pytest.mark.skipif(not engine.available(), reason="there is no code generator here")
@pytest.mark.parametrize("isa", TARGETS)
def test_code_is_accepted(isa: str) -> None:
    """LLVM takes each file, for the processor that it is written for."""
    for name in EXAMPLES:
        assert engine.compile_object(text_of(name, TARGETS[isa]), TARGETS[isa])
