"""From text to addresses: instruction levels, errors that show the line, code that is unloaded."""

import ctypes
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from funcgrad.base.config import Config
from funcgrad.base.errors import CodeGenerationError
from funcgrad.compiler import disk
from funcgrad.compiler.llvm import engine
from funcgrad.compiler.llvm.engine import Code, assembly, cached_object, compile_object, library
from funcgrad.compiler.llvm.target import (
    AVX2,
    AVX512,
    NEON,
    SSE2,
    Target,
    architecture,
    choose,
    host_target,
)

X86 = architecture(host_target().triple) == "x86_64"
on_x86 = pytest.mark.skipif(not X86, reason="forces levels of x86")

DOUBLE = """define void @double(ptr %args, i64 %begin, i64 %end) {
  %p = load ptr, ptr %args
  %v = load <16 x float>, ptr %p, align 4
  %w = fadd <16 x float> %v, %v
  store <16 x float> %w, ptr %p, align 4
  ret void
}
"""
FUSED = """declare float @llvm.fma.f32(float, float, float)
define float @f(float %x) {
  %y = call float @llvm.fma.f32(float %x, float %x, float %x)
  ret float %y
}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path) -> Iterator[Path]:
    with Config.compilation_cache(str(tmp_path)):
        yield tmp_path / disk.FOLDER


def returns(value: int, name: str = "f") -> str:
    return f"define i64 @{name}() {{\n  ret i64 {value}\n}}\n"


def call(code: Code, name: str = "f") -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int64)(code.address(name))()


def mapped(address: int) -> bool:
    lines = Path("/proc/self/maps").read_text().splitlines()
    spans = [line.split()[0].split("-") for line in lines]
    return any(int(low, 16) <= address < int(high, 16) for low, high in spans)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# targets


def test_fixed_targets() -> None:
    assert [t.isa for t in (AVX512, AVX2, SSE2, NEON)] == ["avx512", "avx2", "sse2", "neon"]
    assert [t.lanes("f32") for t in (AVX512, AVX2, SSE2, NEON)] == [16, 8, 4, 4]
    assert [AVX512.lanes(d) for d in ("bool", "i8", "u16", "bf16", "i64", "f64")] == [
        *(64, 64, 32, 32, 8, 8)
    ]
    assert [t.fma for t in (AVX512, AVX2, SSE2, NEON)] == [True, True, False, True]


@pytest.mark.parametrize(
    "target, register, fused",
    [
        (AVX512, "%zmm0", "vfmadd"),
        (AVX2, "%ymm0", "vfmadd"),
        (SSE2, "%xmm0", "fmaf"),
        (NEON, "v0.4s", "fmadd"),
    ],
    ids=lambda p: p.isa if isinstance(p, Target) else "",
)
def test_fixed_targets_use_their_registers(target: Target, register: str, fused: str) -> None:
    wider = {"%xmm0": ["ymm", "zmm"], "%ymm0": ["zmm"]}.get(register, [])
    text = assembly(DOUBLE, target)
    assert register in text and not any(name in text for name in wider)
    assert fused in assembly(FUSED, target)


BASE = {"sse2", "sse3", "ssse3", "sse4.1", "sse4.2"}
MIDDLE = BASE | {"avx", "avx2", "fma", "f16c"}
TOP = MIDDLE | {"avx512f", "avx512bw", "avx512dq", "avx512vl"}


@pytest.mark.parametrize(
    "present, wanted, isa, width",
    [
        (TOP, None, "avx512", 64),
        (TOP, "avx2", "avx2", 32),
        (TOP, "sse2", "sse2", 16),
        (TOP - {"avx512vl"}, None, "avx2", 32),
        (TOP - {"avx512bw"}, None, "avx2", 32),
        (MIDDLE, None, "avx2", 32),
        (MIDDLE - {"fma"}, None, "sse2", 16),
        (BASE, None, "sse2", 16),
        (set(), None, "sse2", 16),
    ],
)
def test_the_level_is_what_the_features_allow(
    present: set[str], wanted: str | None, isa: str, width: int
) -> None:
    target = choose("x86_64-unknown-linux-gnu", "x86-64", present, wanted)
    assert (target.isa, target.vector_bytes, target.fma) == (isa, width, isa != "sse2")
    text = assembly(DOUBLE, target)
    assert ("zmm" in text, "ymm" in text) == (width == 64, width == 32)


def test_dot_instructions() -> None:
    def dots(present: set[str], wanted: str | None = None) -> tuple[bool, bool]:
        target = choose("x86_64-pc-linux-gnu", "x86-64", present, wanted)
        return target.bf16_dot, target.int8_dot

    full = TOP | {"avx512bf16", "avx512vnni"}
    assert dots(TOP) == (False, False)
    assert dots(full) == (True, True)
    assert dots(full, "avx2") == (False, False)
    assert dots(full | {"avxvnni"}, "avx2") == (False, True)
    assert dots(full | {"avxvnni"}, "sse2") == (False, False)
    assert dots(MIDDLE | {"avxvnni"}) == (False, True)


def test_other_processors() -> None:
    for triple in ("arm64-apple-darwin23.0", "aarch64-unknown-linux-gnu"):
        assert choose(triple, "generic", {"neon"}).isa == "neon"
    with pytest.raises(ValueError, match="no code generator for riscv64"):
        choose("riscv64-unknown-linux-gnu", "generic", set())
    with pytest.raises(ValueError, match=r"'neon' was asked for.*'avx2', 'sse2'.*FUNCGRAD_ISA"):
        choose("x86_64-pc-linux-gnu", "haswell", MIDDLE, "neon")
    with pytest.raises(ValueError, match=r"'avx512' was asked for"):
        choose("x86_64-pc-linux-gnu", "haswell", MIDDLE, "avx512")


@on_x86
@pytest.mark.parametrize("isa", ["avx512", "avx2", "sse2"])
def test_the_host_can_be_forced_down(isa: str) -> None:
    best = host_target().isa
    order = ["sse2", "avx2", "avx512"]
    with Config.isa(isa):  # type: ignore[arg-type]
        if order.index(isa) > order.index(best):
            with pytest.raises(ValueError, match="was asked for"):
                host_target()
            return
        target = host_target()
    assert target.isa == isa and host_target().isa == best
    text = assembly(DOUBLE, target)
    assert ("zmm" in text, "ymm" in text) == (isa == "avx512", isa == "avx2")
    code = Code([compile_object(DOUBLE, target)])
    assert np.array_equal(doubled(code), np.arange(16) * 2)


def test_environment_forces_the_host() -> None:
    program = "from funcgrad.compiler.llvm.target import host_target; print(host_target().isa)"
    lowest = "sse2" if X86 else "neon"
    assert run(program, FUNCGRAD_ISA=lowest).stdout == f"{lowest}\n"
    assert "FUNCGRAD_ISA must hold one of" in run(program, FUNCGRAD_ISA="mmx").stderr


def doubled(code: Code) -> np.ndarray:
    x = np.arange(16, dtype=np.float32)
    args = (ctypes.c_void_p * 1)(x.ctypes.data)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    kind(code.address("double"))(ctypes.addressof(args), 0, 16)
    return x


def run(program: str, **environment: str) -> subprocess.CompletedProcess:
    paths = {"PYTHONPATH": ":".join(p for p in sys.path if p), "FUNCGRAD_COMPILATION_CACHE": "off"}
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        env={**paths, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


# compiling


def test_objects_are_equal_for_equal_text() -> None:
    assert compile_object(DOUBLE, AVX2) == compile_object(DOUBLE, AVX2)
    assert compile_object(DOUBLE, AVX2) != compile_object(DOUBLE, AVX512)


@pytest.mark.parametrize(
    "ir, reason, line",
    [
        ("define void @f() {\n  %x = add i32 1, %y\n  ret void\n}", "undefined value '%y'", 2),
        ("define void @f() {\n  ret void\n}\n\nnonsense", "expected top-level entity", 5),
        ("define i32 @f(i64 %x) {\n  ret i32 %x\n}", "but expected 'i32'", 2),
        (
            "define void @f() {\n  %x = add i32 1, %z\n  %z = add i32 1, 1\n  ret void\n}",
            "does not dominate",
            2,
        ),
        (
            "define void @f() {\nentry:\n  br label %entry\n}",
            "Entry block to function must not have predecessors",
            None,
        ),
    ],
)
def test_refused_text_shows_the_line(ir: str, reason: str, line: int | None) -> None:
    for make in (compile_object, assembly):
        with pytest.raises(CodeGenerationError) as info:
            make(ir, host_target())
        message = str(info.value)
        assert reason in message and "bug in funcgrad" in message
        if line is not None:
            assert f"{line}: {ir.splitlines()[line - 1]}" in message
    assert call(Code([compile_object(returns(1), host_target())])) == 1


def test_cached_objects_come_from_disk(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cached_object(returns(1), host_target())
    [file] = cache.iterdir()
    monkeypatch.setattr(engine, "compile_object", None)
    assert cached_object(returns(1), host_target()) == first
    for other in (
        lambda: cached_object(returns(2), host_target()),
        lambda: cached_object(returns(1), NEON),
    ):
        with pytest.raises(TypeError):
            other()
    with Config.compilation_cache("off"), pytest.raises(TypeError):
        cached_object(returns(1), host_target())
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(TypeError):
        cached_object(returns(1), host_target())
    monkeypatch.undo()
    assert cached_object(returns(1), host_target()) == first
    assert call(Code([first])) == 1


def test_kept_writes_the_text_only_when_needed(cache: Path) -> None:
    asked = []

    def emit() -> str:
        asked.append(1)
        return returns(3)

    key = ("matmul", "f32", disk.build())
    objects = [engine.kept(key, host_target(), emit) for _ in range(3)]
    assert len(asked) == 1 and objects[0] == objects[1] == objects[2]
    assert call(Code(objects[:1])) == 3
    engine.kept((*key, "other"), host_target(), emit)
    assert len(asked) == 2 and len(list(cache.iterdir())) == 2


# linking


def test_code_calls_symbols_objects_and_the_process() -> None:
    got: list[int] = []
    note = ctypes.CFUNCTYPE(None, ctypes.c_int64)(got.append)
    first = """declare void @note(i64)
declare i64 @twice(i64)
declare double @cbrt(double)
@table = global [2 x i64] [i64 20, i64 21]
define i64 @f() {
  %p = getelementptr i64, ptr @table, i64 1
  %v = load i64, ptr %p
  %t = call i64 @twice(i64 %v)
  call void @note(i64 %t)
  %c = call double @cbrt(double 27.0)
  %n = fptosi double %c to i64
  ret i64 %n
}
"""
    second = "define i64 @twice(i64 %x) {\n  %y = add i64 %x, %x\n  ret i64 %y\n}\n"
    target = host_target()
    address = ctypes.cast(note, ctypes.c_void_p).value
    assert address
    code = Code([compile_object(first, target), compile_object(second, target)], {"note": address})
    assert call(code) == 3 and got == [42]
    table = ctypes.cast(code.address("table"), ctypes.POINTER(ctypes.c_int64))
    table[1] = 30
    assert call(code) == 3 and got == [42, 60]
    assert code.address("f") == code.address("f") != code.address("twice")


def test_equal_names_in_two_codes_are_two_functions() -> None:
    one, two = (Code([compile_object(returns(n), host_target())]) for n in (1, 2))
    assert (call(one), call(two)) == (1, 2)


def test_what_is_missing_is_named(capfd: pytest.CaptureFixture) -> None:
    calls = "declare i64 @absent_function()\n" + returns(1).replace(
        "ret i64 1", "%x = call i64 @absent_function()\n  ret i64 %x"
    )
    code = Code([compile_object(calls, host_target())])
    with pytest.raises(CodeGenerationError, match="'f' is not in the objects, or what it calls"):
        code.address("f")
    assert "absent_function" in capfd.readouterr().err
    with pytest.raises(CodeGenerationError, match="'g' is not in the objects"):
        Code([compile_object(returns(1), host_target())]).address("g")
    for image in (b"", b"not an object", compile_object(returns(1), host_target())[:100]):
        with pytest.raises(CodeGenerationError):
            Code([image]).address("f")
    with pytest.raises(CodeGenerationError):  # the same name twice
        Code([compile_object(returns(n), host_target()) for n in (1, 2)]).address("f")
    capfd.readouterr()
    assert call(Code([compile_object(returns(5), host_target())])) == 5


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_code_is_unloaded_when_collected() -> None:
    code = Code(
        [compile_object(returns(1), host_target()), compile_object(returns(2, "g"), host_target())]
    )
    addresses = [code.address("f"), code.address("g"), code.address("f")]
    assert all(mapped(address) for address in addresses)
    assert (call(code), call(code, "g")) == (1, 2)
    del code
    gc.collect()
    assert not any(mapped(address) for address in addresses)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_thousands_of_codes_leave_nothing() -> None:
    image = compile_object(returns(7), host_target())
    for _ in range(200):
        assert call(Code([image])) == 7
    before = resident()
    for _ in range(3000):
        Code([image]).address("f")
    gc.collect()
    assert resident() - before < 8 << 20  # 10 KB each would be 30 MB


def test_codes_outlive_their_linker() -> None:
    target = host_target()
    images = [compile_object(returns(n), target) for n in range(8)]
    codes = [Code([images[n % 8]]) for n in range(3 * engine.CODES_PER_LINKER)]
    del codes[5 : 2 * engine.CODES_PER_LINKER]
    gc.collect()
    assert [call(code) for code in codes[:5]] == [0, 1, 2, 3, 4]
    assert [call(code) for code in codes[5:]] == [n % 8 for n in range(engine.CODES_PER_LINKER)]


def test_threads_compile_link_and_drop_at_once() -> None:
    shared = Code([compile_object(returns(99), host_target())])
    wrong: list[object] = []
    start = threading.Barrier(8)

    def work(seed: int) -> None:
        try:
            start.wait()
            for n in range(20):
                value = 100 * seed + n
                found = call(Code([compile_object(returns(value), host_target())]))
                if (found, call(shared)) != (value, 99):
                    wrong.append((value, found))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and call(shared) == 99


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_of_a_fork_compiles_too() -> None:
    done = threading.Event()

    def busy() -> None:
        while not done.is_set():
            Code([compile_object(returns(1), host_target())]).address("f")

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for n in range(10):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    code = call(Code([compile_object(returns(40 + n), host_target())]))
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 40 + n
    finally:
        done.set()
        thread.join()


# libraries


def test_libraries_are_made_once(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    made = []

    def maker(target: Target) -> str:
        made.append(target)
        return "declare i64 @g()\n" + returns(0).replace(
            "ret i64 0", "%x = call i64 @g()\n  ret i64 %x"
        )

    monkeypatch.setitem(engine.libraries, "mine", maker)
    other = Code([compile_object(returns(11, "g"), host_target())])
    found = [library("mine", {"g": other.address("g")}) for _ in range(3)]
    assert made == [host_target()] and found[0] is found[1] is found[2]
    assert call(found[0]) == 11
    assert len(list(cache.iterdir())) == 1
    if X86:
        with Config.isa("sse2"):  # type: ignore[arg-type]
            lower = library("mine", {"g": other.address("g")})
            assert lower is library("mine") is not found[0]
            assert call(lower) == 11 and made[1:] == [host_target()]
    with pytest.raises(KeyError):
        library("unheard of")


def test_available(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine.available() is True
    missing = "import sys; sys.modules['llvmlite'] = None\n"
    program = "from funcgrad.compiler.llvm import engine; print(engine.available())"
    result = run(missing + program)
    assert result.stdout == "False\n", result.stderr


def test_importing_the_engine_does_not_import_llvmlite() -> None:
    program = "import sys; import funcgrad.compiler.llvm.pool; print('llvmlite' in sys.modules)"
    assert run(program).stdout == "False\n"


def test_the_interpreter_ends_cleanly_with_code_alive() -> None:
    program = f"""
import threading
from funcgrad.compiler.llvm.engine import Code, compile_object
from funcgrad.compiler.llvm.target import host_target
codes = [Code([compile_object({returns(1)!r}, host_target())]) for _ in range(100)]
for code in codes:
    code.address("f")
class Cycle: pass
cycle = Cycle(); cycle.me = cycle; cycle.code = codes[0]
print("done")
"""
    result = run(program)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")
