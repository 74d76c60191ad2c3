"""Recycled memory: arrays are as good as NumPy's, blocks return when the last view dies, and stay
within their limit.
"""

import ctypes
import gc
import os
import pickle
import random
import resource
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from funcgrad.base.config import Config
from funcgrad.base.errors import OutOfMemoryError
from funcgrad.compiler import pages
from funcgrad.compiler.pages import HUGE_PAGE, LARGE, empty, scratch, size_class, statistics, trim

F32 = np.dtype(np.float32)
MB = 1 << 20
recycling = pytest.mark.skipif(not pages.RECYCLING, reason="no huge pages to recycle")


held_elsewhere = 0  # bytes of the blocks that other tests of this process keep


def in_use() -> pages.Statistics:
    """What the test at hand has in use and keeps."""
    found = statistics()
    return found._replace(live=found.live - held_elsewhere)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    global held_elsewhere
    gc.collect()
    trim()
    held_elsewhere = statistics().live
    yield
    gc.collect()
    assert in_use().live == 0  # no test leaks a block
    trim()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def test_size_classes() -> None:
    last = 0
    for nbytes in sorted(
        {*range(0, 40_000, 7), *(random.randrange(1 << 38) for _ in range(20_000))}
    ):
        size = size_class(nbytes)
        assert size >= max(nbytes, last, pages.SMALLEST)
        waste = size - nbytes
        assert waste <= max(nbytes / 8, pages.SMALLEST) or (nbytes >= LARGE and waste < HUGE_PAGE)
        if nbytes >= LARGE:
            assert size % HUGE_PAGE == 0
        assert size_class(size) == size
        last = size
    assert size_class(LARGE - 1) <= LARGE + LARGE // 8


SHAPES: list[tuple[int, ...]] = [
    *((), (0,), (3,), (0, 5), (1 << 18,), (512, 513), (7, 1, 99_999), (5_000_000,)),
    (1 << 22, 0),
]
DTYPES = [
    np.dtype(d) for d in (bool, "i1", "u8", "f2", "f4", "f8", "c8", "c16", ml_dtypes.bfloat16)
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_are_what_numpy_gives(shape: tuple[int, ...], dtype: np.dtype) -> None:
    array, theirs = empty(shape, dtype), np.empty(shape, dtype)
    assert type(array) is np.ndarray
    assert (array.shape, array.dtype, array.strides) == (theirs.shape, dtype, theirs.strides)
    flags = array.flags
    assert flags.c_contiguous and flags.writeable and flags.aligned
    array[...] = 1
    assert (array == dtype.type(1)).all()
    if array.nbytes >= LARGE and pages.RECYCLING:
        assert array.ctypes.data % pages.ALIGNMENT == 0 and not flags.owndata


@recycling
def test_a_block_is_free_when_its_last_view_dies() -> None:
    size = size_class(4 * MB)
    array = empty((MB,), F32)
    assert in_use()[:2] == (size, 0)
    views = [array[3:], array.reshape(1024, 1024).T, array.view(np.int32)[::2], array.data]
    views.append(np.asarray(array.data))
    address = array.ctypes.data
    del array
    while views:
        assert in_use()[:2] == (size, 0)
        views.pop(0)
    assert in_use()[:2] == (0, size)
    again = empty((MB,), F32)
    assert again.ctypes.data == address and in_use()[:2] == (size, 0)


@recycling
def test_living_arrays_do_not_share_memory() -> None:
    rng = random.Random(0)
    arrays: dict[int, np.ndarray] = {}
    for n in range(400):
        if arrays and rng.random() < 0.5:
            seed, array = arrays.popitem()
            assert (array == seed).all()
        else:
            arrays[n] = empty((rng.choice([LARGE // 4, LARGE // 2, 3 * MB // 4]),), F32)
            arrays[n][:] = n
    assert all((array == seed).all() for seed, array in arrays.items())


@recycling
def test_blocks_in_cycles_come_back() -> None:
    array = empty((MB,), F32)

    class Holder:
        pass

    holder = Holder()
    holder.me, holder.array = holder, array  # type: ignore[attr-defined]
    del array, holder
    assert in_use().live > 0
    gc.collect()
    assert in_use().live == 0


@recycling
def test_the_base_is_harmless() -> None:
    array = empty((MB,), F32)
    array[:] = 5
    base = array.base
    assert base is not None
    part = base[:100]
    assert type(part.base) is type(base)
    del base, part
    gc.collect()
    assert in_use().pooled == 0 and (array == 5).all()
    copy = pickle.loads(pickle.dumps(array))
    assert type(copy.base) is not type(array.base) and (copy == 5).all()
    reference = weakref.ref(array)
    del array
    assert reference() is None and in_use().live == 0


@recycling
def test_starts_are_staggered() -> None:
    """Twelve arrays at one distance made a map 2.4 times slower."""
    arrays = [empty((MB,), F32) for _ in range(pages.STAGGERS)]
    starts = {array.ctypes.data % HUGE_PAGE for array in arrays}
    assert len(starts) == pages.STAGGERS
    assert len({start % 4096 for start in starts}) == pages.STAGGERS
    arrays.clear()


@pytest.mark.parametrize("nbytes", [0, 1, 4096, 5000, LARGE - 1, LARGE, 5 * MB, 100 * MB])
def test_scratch(nbytes: int) -> None:
    address, owner = scratch(nbytes)
    assert address % pages.ALIGNMENT == 0
    ctypes.memset(address, 1, nbytes)
    other, second = scratch(nbytes)
    assert abs(other - address) >= nbytes
    assert in_use().live == 2 * size_class(nbytes)
    del owner
    third, owner = scratch(nbytes)
    assert third == address
    del owner, second
    assert in_use()[:2] == (0, 2 * size_class(nbytes))


@recycling
def test_scratch_and_arrays_share_blocks() -> None:
    address, owner = scratch(4 * MB)
    del owner
    assert empty((MB,), F32).ctypes.data == address


def test_trim_gives_back() -> None:
    owners = [scratch(3 * MB)[1] for _ in range(4)]
    owners.clear()
    assert in_use().pooled == 4 * size_class(3 * MB)
    trim(2 * size_class(3 * MB))
    assert in_use().pooled == 2 * size_class(3 * MB)
    trim()
    assert in_use()[:2] == (0, 0)


def test_no_more_is_kept_than_allowed() -> None:
    size = size_class(2 * MB)
    before = Config.pooled_memory.get_global()
    try:
        Config.pooled_memory.set_global(3 * size)
        owners = [scratch(2 * MB)[1] for _ in range(8)]
        owners.clear()
        assert in_use()[:2] == (0, 3 * size)
        big = scratch(4 * size)[1]
        del big  # more than all that may be kept
        assert in_use().pooled <= 3 * size
        Config.pooled_memory.set_global(0)
        scratch(2 * MB)
        assert in_use()[:2] == (0, 0)
    finally:
        Config.pooled_memory.set_global(before)


def test_sizes_long_out_of_use_go_first() -> None:
    before = Config.pooled_memory.get_global()
    sizes = [2 * MB, 4 * MB, 6 * MB]
    try:
        Config.pooled_memory.set_global(12 * MB)
        for nbytes in sizes:
            scratch(nbytes)
        scratch(2 * MB)  # used again
        scratch(8 * MB)  # pushes out 4 and 6
        kept = {size: len(bucket.blocks) for size, bucket in pages._buckets.items()}
        assert [kept[size] for size in (*sizes, 8 * MB)] == [1, 0, 0, 1]
    finally:
        Config.pooled_memory.set_global(before)


def test_the_usual_limit_is_a_quarter_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < pages.kept_at_most() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    memory = pages._memory.__wrapped__
    monkeypatch.setattr(Path, "read_text", lambda _: "4096\n")
    assert memory() == 4096
    monkeypatch.setattr(Path, "read_text", lambda _: "max\n")
    assert memory() > 4096
    monkeypatch.delattr(os, "sysconf")
    assert memory() == pages.UNKNOWN_MEMORY


def test_peak() -> None:
    peak = statistics().peak
    _, owner = scratch(peak + 10 * MB)
    assert statistics().peak >= peak + 10 * MB
    del owner
    trim()
    assert statistics().peak >= peak + 10 * MB


@pytest.mark.parametrize("elements", [1 << 46, 1 << 58])
def test_refusals_name_what_was_asked_and_what_is_live(elements: int) -> None:
    kept, owner = scratch(3 * MB)
    live = size_class(3 * MB)
    total = statistics().live
    with pytest.raises(OutOfMemoryError, match=rf"refused [\d,]{{15,}} bytes.*{total:,} bytes now"):
        empty((elements,), F32)
    with pytest.raises(MemoryError, match="donate"):
        scratch(4 * elements)
    assert in_use().live == live
    del kept, owner


def test_what_is_kept_is_given_back_before_giving_up(monkeypatch: pytest.MonkeyPatch) -> None:
    scratch(3 * MB)
    assert in_use().pooled > 0
    make, failures = pages.Block.__init__, [OSError(12, "ENOMEM")]

    def limited(self: pages.Block, bucket: pages.Bucket) -> None:
        if failures:
            raise failures.pop()
        make(self, bucket)

    monkeypatch.setattr(pages.Block, "__init__", limited)
    _, owner = scratch(9 * MB)
    assert in_use()[:2] == (size_class(9 * MB), 0)
    del owner
    failures[:] = [OSError(12, "ENOMEM")] * 2
    with pytest.raises(OutOfMemoryError):
        scratch(20 * MB)


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_a_real_refusal() -> None:
    code = f"""
import resource, numpy as np
from funcgrad.errors import OutOfMemoryError
from funcgrad.compiler import pages
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
arrays = []
try:
    while True:
        arrays.append(pages.empty(({25 * MB},), np.dtype("f4")))
except MemoryError as error:
    print(isinstance(error, OutOfMemoryError), len(arrays) > 2)
arrays.clear()
for size in ({25 * MB}, {60 * MB}):
    print(pages.empty((size,), np.dtype("f4")).nbytes)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert result.stdout == f"True True\n{100 * MB}\n{240 * MB}\n", result.stderr


@recycling
def test_no_faults_after_the_first_call() -> None:
    def write() -> None:
        empty((5 * MB,), F32).fill(1)

    for _ in range(3):
        write()
    before = faults()
    for _ in range(50):
        write()
    assert faults() - before < 50  # 20 MB are 5120 small pages, or ten huge ones, a call


@recycling
def test_memory_does_not_grow() -> None:
    for _ in range(1000):
        empty((300_000,), F32)
    before = resident()
    for n in range(100_000):
        empty((300_000 + n % 100,), F32)
        if n % 10 == 0:
            scratch(n % 5000)
    assert resident() - before < 4 * MB


def test_threads_borrow_and_return_at_once() -> None:
    wrong: list[int] = []
    start = threading.Barrier(6)

    def work(seed: int) -> None:
        rng = random.Random(seed)
        start.wait()
        kept: list[tuple[int, np.ndarray]] = []
        for _ in range(150):
            array = empty((rng.choice([LARGE // 4, LARGE // 2]),), F32)
            mark = rng.randrange(1000)
            array[::4096] = mark
            kept.append((mark, array))
            if len(kept) > 4:
                mark, array = kept.pop(rng.randrange(5))
                wrong.extend(np.flatnonzero(array[::4096] != mark))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and in_use().live == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_children_of_forks_have_memory_of_their_own() -> None:
    array = empty((MB,), F32)
    array[:] = 1
    kept = empty((MB,), F32)
    kept[:] = 2
    done = threading.Event()

    def busy() -> None:
        while not done.is_set():
            empty((MB,), F32)
            trim()

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    array[:] = 3
                    own = empty((MB,), F32)
                    own[:] = 4
                    code = 0 if (kept == 2).all() and (array == 3).all() else 2
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            assert (array == 1).all()
    finally:
        done.set()
        thread.join()
    del array, kept


def test_elsewhere_arrays_are_numpys_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "RECYCLING", False)
    array = empty((MB,), F32)
    assert array.base is None and in_use().live == 0
    address, owner = scratch(3 * MB)
    assert address % pages.ALIGNMENT == 0
    assert type(owner.block.memory) is np.ndarray
    del owner
    assert scratch(3 * MB)[0] == address
    with pytest.raises(OutOfMemoryError, match="donate"):
        empty((1 << 46,), F32)
    trim()  # these blocks are not for other tests


def test_garbage_collection_inside_the_allocator_does_not_deadlock() -> None:
    """A destructor that runs while its own thread holds the lock only hands its block over."""
    owners = [scratch(MB)[1] for _ in range(4)]
    with pages._lock:
        owners.clear()
    assert in_use().live == 0
