"""The thread pool: every index runs once, whatever the division, the nesting, forks and threads."""

import contextlib
import ctypes
import functools
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from funcgrad.compiler.llvm import pool as module
from funcgrad.compiler.llvm import systems
from funcgrad.compiler.llvm.engine import Code, assembly, compile_object
from funcgrad.compiler.llvm.parallel import MOST_THREADS, text
from funcgrad.compiler.llvm.pool import Pool, num_threads, set_num_threads, symbols
from funcgrad.compiler.llvm.target import AVX2, NEON, SSE2, architecture, host_target

LINUX = sys.platform == "linux"
DARWIN = NEON._replace(triple="aarch64-apple-darwin")
WINDOWS = AVX2._replace(triple="x86_64-pc-windows-msvc")

# count: args[0][i] += 1 for each index of the part. outer: runs inner for args[1] elements, from
# args[2] + its index. spin: waits args[0][i] pauses. many: dispatches a kernel again and again.
KERNELS = """
declare void @fg_parallel(ptr, ptr, i64, i64)
declare i64 @fg_enter()
declare void @fg_leave(i64)
declare i64 @pthread_self()

define void @count(ptr %args, i64 %begin, i64 %end) {
  %p = load ptr, ptr %args
  br label %loop
loop:
  %i = phi i64 [ %begin, %0 ], [ %n, %loop ]
  %q = getelementptr i64, ptr %p, i64 %i
  %v = load i64, ptr %q
  %w = add i64 %v, 1
  store i64 %w, ptr %q
  %n = add i64 %i, 1
  %c = icmp ult i64 %n, %end
  br i1 %c, label %loop, label %done
done:
  ret void
}

define void @bounds(ptr %args, i64 %begin, i64 %end) {
  %p = load ptr, ptr %args
  %q = getelementptr i64, ptr %p, i64 %begin
  store i64 %end, ptr %q
  ret void
}

define void @outer(ptr %args, i64 %begin, i64 %end) {
  %p = load ptr, ptr %args
  %at = getelementptr ptr, ptr %args, i64 1
  %width = load i64, ptr %at
  br label %loop
loop:
  %i = phi i64 [ %begin, %0 ], [ %n, %loop ]
  %row = mul i64 %i, %width
  %q = getelementptr i64, ptr %p, i64 %row
  %inner = alloca ptr
  store ptr %q, ptr %inner
  call void @fg_parallel(ptr @count, ptr %inner, i64 %width, i64 1)
  %n = add i64 %i, 1
  %c = icmp ult i64 %n, %end
  br i1 %c, label %loop, label %done
done:
  ret void
}

define void @many(ptr %kernel, ptr %args, i64 %extent, i64 %grain, i64 %times) {
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %n, %loop ]
  call void @fg_parallel(ptr %kernel, ptr %args, i64 %extent, i64 %grain)
  %n = add i64 %i, 1
  %c = icmp ult i64 %n, %times
  br i1 %c, label %loop, label %done
done:
  ret void
}

define void @slow(ptr %args, i64 %begin, i64 %end) {
  %p = load ptr, ptr %args
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %n, %loop ]
  %n = add i64 %i, 1
  %v = load volatile i64, ptr %p
  %c = icmp ult i64 %n, %v
  br i1 %c, label %loop, label %done
done:
  ret void
}

; args[0][i] = 2^-149 * 1, which is 0 where denormals are flushed, and args[1][i] = which thread.
; The factors are at args[2]. It is slow enough for workers to come.
define void @denormal(ptr %args, i64 %begin, i64 %end) {
  %thread = call i64 @pthread_self()
  %p = load ptr, ptr %args
  %threads_at = getelementptr ptr, ptr %args, i64 1
  %threads = load ptr, ptr %threads_at
  %one_at = getelementptr ptr, ptr %args, i64 2
  %factors = load ptr, ptr %one_at
  %tiny_at = getelementptr float, ptr %factors, i64 1
  br label %loop
loop:
  %i = phi i64 [ %begin, %0 ], [ %n, %store ]
  br label %linger
linger:
  %turn = phi i64 [ 0, %loop ], [ %next, %linger ]
  %one = load volatile float, ptr %factors
  %tiny = load volatile float, ptr %tiny_at
  %v = fmul float %one, %tiny
  %next = add i64 %turn, 1
  %more = icmp ult i64 %next, 100000
  br i1 %more, label %linger, label %store
store:
  %q = getelementptr float, ptr %p, i64 %i
  store float %v, ptr %q
  %t = getelementptr i64, ptr %threads, i64 %i
  store i64 %thread, ptr %t
  %n = add i64 %i, 1
  %c = icmp ult i64 %n, %end
  br i1 %c, label %loop, label %done
done:
  ret void
}

define void @program(ptr %args, i64 %extent) {
  %kept = call i64 @fg_enter()
  call void @fg_parallel(ptr @denormal, ptr %args, i64 %extent, i64 1)
  call void @fg_leave(i64 %kept)
  ret void
}
"""


class Calls:
    """The kernels above, linked with one pool."""

    def __init__(self, functions: dict[str, int]):
        self.functions = functions
        self.code = Code([compile_object(KERNELS, host_target())], functions)
        self.many = self.function("many", *["p"] * 2, *["i"] * 3)

    def function(self, name: str, *kinds: str) -> Any:
        types = {"p": ctypes.c_void_p, "i": ctypes.c_int64}
        return ctypes.CFUNCTYPE(None, *(types[k] for k in kinds))(self.code.address(name))

    def run(self, kernel: str, args: ctypes.Array, extent: int, grain: int, times: int = 1) -> None:
        at = ctypes.addressof(args)
        self.many(self.code.address(kernel), at, extent, grain, times)


@functools.cache
def calls() -> Calls:
    return Calls(symbols())


def pointers(*values: Any) -> ctypes.Array:
    numbers = [v.ctypes.data if isinstance(v, np.ndarray) else v for v in values]
    return (ctypes.c_void_p * len(numbers))(*numbers)


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[None]:
    """More threads than this machine may have, so that they meet in every order."""
    set_num_threads(4)
    assert num_threads() == 4
    yield
    set_num_threads(0)


def counted(extent: int, grain: int, times: int = 1, within: Calls | None = None) -> np.ndarray:
    counts = np.zeros(extent + 8, np.int64)
    (within or calls()).run("count", pointers(counts), extent, grain, times)
    assert not counts[extent:].any()
    return counts[:extent]


EXTENTS = (1, 2, 3, 4, 7, 16, 17, 100, 1000, 4097)


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("grain", [1, 2, 3, 16, 1000, 5000])
@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_every_index_runs_once(extent: int, grain: int, threads: int) -> None:
    set_num_threads(threads)
    assert (counted(extent, grain) == 1).all()
    assert (counted(extent, grain, 50) == 50).all()


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("grain", [1, 3, 16, 1000])
def test_parts_are_bounded_by_grains(extent: int, grain: int) -> None:
    ends = np.zeros(extent, np.int64)
    calls().run("bounds", pointers(ends), extent, grain)
    begin, parts = 0, 0
    while begin < extent:
        assert begin % grain == 0
        end = ends[begin]
        assert end > begin and (end % grain == 0 or end == extent)
        begin, parts = end, parts + 1
    grains = -(-extent // grain)
    assert parts == min(grains, 16) and np.count_nonzero(ends) == parts


def test_nothing_to_do() -> None:
    poison = pointers(0)
    for extent in (0, -1, -(1 << 62)):
        calls().run("count", poison, extent, 1)
    calls().run("count", pointers(np.zeros(1, np.int64)), 1, 1 << 40)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_nested_calls_run_in_their_own_thread(threads: int) -> None:
    set_num_threads(threads)
    counts = np.zeros((40, 25), np.int64)
    calls().run("outer", pointers(counts, 25), 40, 1, 100)
    assert (counts == 100).all()


def test_a_hundred_thousand_dispatches() -> None:
    assert (counted(8, 1, 100_000) == 100_000).all()
    assert (counted(64, 5, 20_000) == 20_000).all()


def test_workers_that_slept_come_back() -> None:
    for _ in range(100):
        time.sleep(0.001)
        assert (counted(1000, 1) == 1).all()


@pytest.mark.parametrize("threads", [2, 4])
def test_many_python_threads_at_once(threads: int) -> None:
    set_num_threads(threads)
    results: list[bool] = []
    start = threading.Barrier(6)

    def work(seed: int) -> None:
        start.wait()
        results.extend(bool((counted(50 + seed, 1, 500) == 500).all()) for _ in range(20))

    workers = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [True] * 120


def test_the_number_of_threads_changes_under_way() -> None:
    done = threading.Event()
    wrong: list[int] = []

    def work() -> None:
        while not done.is_set():
            wrong.extend(np.flatnonzero(counted(100, 1, 100) != 100))

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for n in range(60):
        set_num_threads(1 + n % 5)
        assert num_threads() == 1 + n % 5
    done.set()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_numbers_of_threads_that_are_refused() -> None:
    for count in (-1, MOST_THREADS + 1):
        with pytest.raises(ValueError, match=rf"between 0 and 1024; got {count}"):
            set_num_threads(count)
    assert num_threads() == 4


def test_allowed_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= module.allowed_cpus() <= (os.cpu_count() or 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    for quota, count in (("max 100000", 64), ("250000 100000", 3), ("1000 100000", 1), ("", 64)):
        monkeypatch.setattr(Path, "read_text", lambda _, quota=quota: quota)
        assert module.allowed_cpus() == count
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert module.allowed_cpus() == 1


@pytest.mark.skipif(not LINUX, reason="limits the address space")
def test_fewer_threads_where_the_system_refuses_more() -> None:
    program = """
import resource, ctypes
from funcgrad.compiler.llvm.pool import num_threads, set_num_threads, symbols
address = symbols()["fg_parallel"]
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (100 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
set_num_threads(1000)
print(1 < num_threads() < 50)
got = []
kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 1, *[ctypes.c_int64] * 2)
kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)
note = kernel(lambda _, begin, end: got.extend(range(begin, end)))
kind(address)(ctypes.cast(note, ctypes.c_void_p), None, 100, 1)
print(sorted(got) == list(range(100)))
set_num_threads(2)
print(num_threads())
"""
    result = run(program)
    assert result.stdout == "True\nTrue\n2\n", result.stderr


def test_environment_sets_the_number() -> None:
    program = "from funcgrad.compiler.llvm.pool import num_threads; print(num_threads())"
    assert run(program, FUNCGRAD_NUM_THREADS="3").stdout == "3\n"
    assert run(program).stdout == f"{module.allowed_cpus()}\n"
    if hasattr(os, "sched_setaffinity"):
        pinned = f"import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n{program}"
        assert run(pinned).stdout == "1\n"


# systems


@pytest.mark.skipif(os.name != "posix", reason="waits with pthreads")
def test_waiting_without_futexes() -> None:
    """What macOS uses, run here."""
    pool = Pool(sleeping="posix")
    try:
        names = ("fg_parallel", "fg_enter", "fg_leave")
        own = Calls({name: pool.code.address(name) for name in names})
        for count in (1, 2, 4):
            pool.start(count)
            assert pool.count == count
            assert (counted(8, 1, 20_000, own) == 20_000).all()
            for _ in range(50):
                time.sleep(0.0005)
                assert (counted(1000, 1, 1, own) == 1).all()
            before = time.process_time()
            time.sleep(0.1)
            assert time.process_time() - before < 0.02
    finally:
        pool.stop()


PTHREADS = """pthread_attr_init pthread_attr_setstacksize pthread_attr_destroy pthread_create
    pthread_join pthread_sigmask"""
CONDITIONS = """pthread_mutex_init pthread_mutex_lock pthread_mutex_unlock pthread_cond_init
    pthread_cond_wait pthread_cond_broadcast"""
ENTRIES = {"fg_parallel", "fg_enter", "fg_leave", "fg_start", "fg_stop", "fg_spin"}


@pytest.mark.parametrize(
    "target, needs",
    [
        (SSE2, f"{PTHREADS} syscall"),
        (NEON, f"{PTHREADS} syscall"),
        (DARWIN, f"{PTHREADS} {CONDITIONS}"),
        (WINDOWS, " ".join(systems.WINDOWS_FUNCTIONS)),
    ],
    ids=["x86 linux", "aarch64 linux", "aarch64 darwin", "x86 windows"],
)
def test_objects_of_every_system_need_what_it_has(target: Any, needs: str) -> None:
    image = compile_object(text(target), target)
    defined, undefined = object_symbols(image)
    assert undefined == set(needs.split())
    assert defined >= ENTRIES
    assert all(name.startswith("fg_") for name in defined)


def test_objects_of_other_systems_need_a_mark_for_floats_at_most() -> None:
    """So that linking there finds everything; Windows' mark is one that the engine gives."""
    kernel = "define float @k(float %x) {\n  %y = fadd float %x, 1.5\n  ret float %y\n}\n"
    found = {t: object_symbols(compile_object(kernel, t)) for t in (SSE2, DARWIN, WINDOWS)}
    assert found[SSE2] == found[DARWIN] == ({"k"}, set())
    defined, undefined = found[WINDOWS]
    assert undefined == {"_fltused"} and "k" in defined


def test_system_calls_have_the_numbers_of_their_architecture() -> None:
    assert re.search(r"mov\w*\s+\$202, %(e|r)di", assembly(text(SSE2), SSE2))
    assert re.search(r"mov\s+w0, #98", assembly(text(NEON), NEON))


def object_symbols(image: bytes) -> tuple[set[str], set[str]]:
    """The global functions and variables that an object defines, and those it needs."""
    if image[:4] == b"\x7fELF":
        rows = elf_symbols(image)
    elif image[:4] == b"\xcf\xfa\xed\xfe":
        rows = macho_symbols(image)
    else:
        rows = coff_symbols(image)
    defined, undefined = set[str](), set[str]()
    for name, here in rows:
        (defined if here else undefined).add(name)
    return defined, undefined


def text_at(image: bytes, at: int) -> str:
    return image[at : image.index(b"\0", at)].decode()


def elf_symbols(image: bytes) -> Iterator[tuple[str, bool]]:
    (sections,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, sections + n * size) for n in range(count)]
    [table] = [h for h in headers if h[1] == 2]
    names = headers[table[6]][4]
    for at in range(table[4] + 24, table[4] + table[5], 24):
        name, info, _, section = struct.unpack_from("<IBBH", image, at)
        if info >> 4:  # not local
            yield text_at(image, names + name), section != 0


def macho_symbols(image: bytes) -> Iterator[tuple[str, bool]]:
    (commands,) = struct.unpack_from("<I", image, 16)
    at = 32
    for _ in range(commands):
        kind, size = struct.unpack_from("<II", image, at)
        if kind == 2:
            symbols, count, names, _ = struct.unpack_from("<IIII", image, at + 8)
            for n in range(count):
                name, type_, _, _, _ = struct.unpack_from("<IBBHQ", image, symbols + 16 * n)
                if type_ & 1:  # external; C names carry an underscore
                    yield text_at(image, names + name).removeprefix("_"), type_ & 14 != 0
        at += size


def coff_symbols(image: bytes) -> Iterator[tuple[str, bool]]:
    table, count = struct.unpack_from("<II", image, 8)
    names, n = table + 18 * count, 0
    while n < count:
        at = table + 18 * n
        zeros, offset = struct.unpack_from("<II", image, at)
        section, _, storage, more = struct.unpack_from("<hHBB", image, at + 12)
        name = (
            text_at(image, names + offset)
            if zeros == 0
            else image[at : at + 8].rstrip(b"\0").decode()
        )
        if storage == 2:  # external
            yield name, section != 0
        n += 1 + more


# forks, signals, processor state, the end


def forked(work: Any) -> int:
    """The exit code of a child that does some work; 99 where it raised or took over 20 seconds."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            signal.alarm(20)
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


on_posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


@on_posix
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_child_has_workers_of_its_own(threads: int) -> None:
    set_num_threads(threads)

    def child() -> int:
        right = all((counted(100, 1, 200) == 200).all() for _ in range(5))
        return until(threads_now, expected) if right else 98

    expected = threads if LINUX else 0
    for _ in range(5):
        assert forked(child) == expected
        assert (counted(100, 1, 200) == 200).all()
    assert forked(lambda: forked(child)) == expected


def threads_now() -> int:
    return len(os.listdir("/proc/self/task")) if LINUX else 0


@on_posix
def test_forks_while_other_threads_dispatch() -> None:
    done = threading.Event()
    wrong: list[int] = []

    def work() -> None:
        while not done.is_set():
            wrong.extend(np.flatnonzero(counted(64, 1, 300) != 300))

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    codes = [forked(lambda: int((counted(64, 1, 50) == 50).all())) for _ in range(30)]
    done.set()
    for worker in workers:
        worker.join()
    assert codes == [1] * 30 and wrong == []


@pytest.mark.skipif(not LINUX, reason="forks behind Python's back")
def test_a_fork_that_python_does_not_know_of_runs_serially() -> None:
    libc = ctypes.CDLL(None)
    pid = libc.fork()
    if pid == 0:
        code = 99
        try:
            signal.alarm(20)
            code = int((counted(1000, 1, 100) == 100).all())
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1


@pytest.mark.skipif(not LINUX, reason="reads the masks of threads")
def test_signals_go_to_the_users_threads() -> None:
    def blocking() -> int:
        found = 0
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):  # a thread that ended a moment ago
                mask = re.search(r"SigBlk:\s*(\w+)", (task / "status").read_text())
                assert mask
                found += int(mask[1], 16) >> signal.SIGUSR1 - 1 & 1
        return found

    mine = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert signal.SIGUSR1 not in mine
    set_num_threads(1)
    others = until(blocking, 0)
    for threads in (2, 4):
        set_num_threads(threads)
        assert until(blocking, others + threads - 1) == others + threads - 1
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mine


def until(measure: Any, wanted: int) -> int:
    """The measure, once it is what is wanted or a second has passed: threads end in a while."""
    end = time.perf_counter() + 1
    while (found := measure()) != wanted and time.perf_counter() < end:
        time.sleep(0.001)
    return found


X86 = architecture(host_target().triple) == "x86_64"


@pytest.mark.skipif(not X86, reason="sets MXCSR")
@pytest.mark.parametrize("threads", [1, 4])
def test_denormals_live_where_the_caller_flushes_them(threads: int) -> None:
    state = """declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define i64 @read() {
  %at = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %at)
  %value = load i32, ptr %at
  %wide = zext i32 %value to i64
  ret i64 %wide
}
define void @write(i64 %wide) {
  %at = alloca i32
  %value = trunc i64 %wide to i32
  store i32 %value, ptr %at
  call void @llvm.x86.sse.ldmxcsr(ptr %at)
  ret void
}
"""
    code = Code([compile_object(state, host_target())])
    read = ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("read"))
    write = ctypes.CFUNCTYPE(None, ctypes.c_int64)(code.address("write"))
    program = calls().function("program", "p", "i")
    usual, flushing = 0x1F80, 0x1F80 | 0x8000 | 0x0040
    try:
        write(flushing)
        set_num_threads(threads)  # so the workers start from a thread that flushes
        alone = Lingering()
        calls().run("denormal", alone.args, 1, 1)
        flushed = not alone.results.any()  # outside a program, so the test can fail
        runs = [Lingering()]
        while len(runs) < 300 and len(runs[-1].seen) < min(threads, 2):
            runs.append(Lingering())
            program(ctypes.addressof(runs[-1].args), 16)
        after = read()
        write(usual)
        program(ctypes.addressof(alone.args), 16)
        untouched = read()
    finally:
        write(usual)
    assert flushed and len(runs[-1].seen) >= min(threads, 2)
    assert all((run.results == 1).all() for run in (alone, *runs[1:]))
    assert after & 0xFFC0 == flushing and untouched & 0xFFC0 == usual


class Lingering:
    """What the kernel `denormal` reads and writes."""

    def __init__(self) -> None:
        self.results, self.threads = np.zeros(16, np.uint32), np.zeros(16, np.int64)
        self.factors = np.array([0x3F800000, 1], np.uint32)  # bits, which no mode can flush
        self.args = pointers(self.results, self.threads, self.factors)

    @property
    def seen(self) -> set[int]:
        """The threads that took part."""
        return set(self.threads.tolist()) - {0}


@on_posix
@pytest.mark.parametrize("threads", [2, 4])
def test_workers_take_part_and_are_waited_for(threads: int) -> None:
    set_num_threads(threads)
    most, helped = 0, 0
    end = time.perf_counter() + 20
    while helped < 5 and time.perf_counter() < end:
        work = Lingering()
        calls().run("denormal", work.args, 16, 1)
        assert work.results.all() and work.threads.all()
        most, helped = max(most, len(work.seen)), helped + (len(work.seen) > 1)
    assert helped == 5 and 2 <= most <= threads
    set_num_threads(1)
    work = Lingering()
    calls().run("denormal", work.args, 16, 1)
    assert len(work.seen) == 1


@pytest.mark.skipif(not LINUX, reason="reads the processor time of threads")
def test_idle_workers_use_no_processor_time() -> None:
    counted(1000, 1, 100)
    time.sleep(0.01)
    before = resource.getrusage(resource.RUSAGE_SELF)
    time.sleep(0.3)
    after = resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    assert used < 0.03


def test_a_caller_whose_part_is_done_sleeps_until_the_rest_is() -> None:
    """Two parts of very different length: the caller waits for the worker without spinning on."""
    set_num_threads(2)
    wait = np.full(1, 30_000_000, np.int64)
    for _ in range(3):
        calls().run("slow", pointers(wait), 8, 1)
    assert (counted(100, 1, 100) == 100).all()


def test_dispatch_costs_little() -> None:
    set_num_threads(2)
    counts = np.zeros(2, np.int64)
    best = min(
        timed(lambda: calls().run("count", pointers(counts), 2, 1, 10_000)) for _ in range(10)
    )
    assert best / 10_000 < 5e-6  # 0.2 microseconds where both cores are free


def timed(work: Any) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def run(program: str, **environment: str) -> subprocess.CompletedProcess:
    paths = {"PYTHONPATH": ":".join(p for p in sys.path if p), "FUNCGRAD_COMPILATION_CACHE": "off"}
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        env={**paths, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


END = """
import ctypes, threading, time, numpy as np, sys
from funcgrad.compiler.llvm import pool
pool.set_num_threads(4)
kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)
parallel = kind(pool.symbols()["fg_parallel"])
spin = pool.pool().code.address("fg_spin")
def work():
    while True:
        parallel(spin, 300, 64, 1)  # the kernel is fg_spin(300, begin, end)
"""


@pytest.mark.parametrize(
    "last",
    [
        "work_once = parallel(spin, 300, 64, 1)",
        "threading.Thread(target=work, daemon=True).start(); time.sleep(0.2)",
        "threading.Thread(target=work, daemon=True).start(); time.sleep(0.2); sys.exit(0)",
        "import os; parallel(spin, 300, 64, 1); pid = os.fork(); pid and os.waitpid(pid, 0)",
    ],
)
def test_the_interpreter_ends_cleanly(last: str) -> None:
    for _ in range(3):
        result = run(END + last)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
