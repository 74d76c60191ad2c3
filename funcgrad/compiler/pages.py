"""Memory for results and for what a program computes on the way: large blocks come from mappings of
huge pages that are kept when their last array dies, so that writing to them again costs no fault.
"""

import functools
import itertools
import math
import mmap
import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from funcgrad.base.config import config
from funcgrad.base.errors import OutOfMemoryError

LARGE = 1 << 20  # bytes from which an array lies in a mapping of its own
HUGE_PAGE = 1 << 21
CLASSES = 8  # sizes between one power of two and the next, so that at most an eighth lies idle
SMALLEST = 1 << 12  # of scratch memory
ALIGNMENT = 64
# Blocks begin at different places in their first page: arrays that are walked together at one
# distance fall into the same sets of the caches, and with a dozen of them a map took 2.4 times as
# long. A stagger of a page and a line moves both.
STAGGER, STAGGERS = 4096 + 64, 16
RECYCLING = hasattr(mmap, "MADV_HUGEPAGE")  # elsewhere arrays are NumPy's own

UNKNOWN_MEMORY = 8 << 30  # what a machine is taken to have that does not say
REFUSALS = (MemoryError, OSError, OverflowError, ValueError)  # as mmap and NumPy raise them
BYTE = np.dtype(np.uint8)


class RefusedError(OutOfMemoryError):
    """So many bytes were refused; whoever asked can tell what they were for."""

    def __init__(self, message: str, nbytes: int, result: bool):
        super().__init__(message)
        self.nbytes, self.result = nbytes, result


class Statistics(NamedTuple):
    """Bytes of the blocks in use, of those kept for later, and the most that both ever were."""

    live: int
    pooled: int
    peak: int


class Bucket:
    """The free blocks of one size, and when one was last asked for."""

    __slots__ = ("blocks", "size", "used")

    def __init__(self, size: int):
        self.size = size
        self.blocks: list[Block] = []
        self.used = 0


class Block:
    """Memory of one size, a mapping or NumPy's, and where its first aligned byte is."""

    __slots__ = ("address", "bucket", "memory", "offset")

    def __init__(self, bucket: Bucket):
        self.bucket = bucket
        size = bucket.size
        if RECYCLING and size >= LARGE:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            self.memory: Any = mmap.mmap(-1, size + HUGE_PAGE + STAGGER * STAGGERS, flags=flags)
            start = _start(self.memory)
            aligned = -start % HUGE_PAGE
            # What the stagger pushes over the end lies in small pages, or it would cost a huge one.
            self.memory.madvise(mmap.MADV_HUGEPAGE, aligned, size // HUGE_PAGE * HUGE_PAGE)
            self.offset = aligned + next(_numbers) % STAGGERS * STAGGER
        else:
            self.memory = np.empty(size + ALIGNMENT, BYTE)
            start = _start(self.memory)
            self.offset = -start % ALIGNMENT
        self.address = start + self.offset

    def give_back(self) -> None:
        """Make the block free. Runs in destructors, so anywhere: it never waits for the lock."""
        self.bucket.blocks.append(self)
        if _held > kept_at_most() and _lock.acquire(blocking=False):
            try:
                _shrink(kept_at_most())
            finally:
                _lock.release()


def _start(memory: Any) -> int:
    return np.frombuffer(memory, BYTE).ctypes.data


class Lease(np.ndarray):
    """The base of the arrays in a block; when the last of them dies the block is free again."""

    __slots__ = ("block",)
    block: Block

    def __del__(self) -> None:
        if hasattr(self, "block"):  # a view of a lease has none
            self.block.give_back()


class Loan:
    """The owner of scratch memory; when it dies the block is free again."""

    __slots__ = ("block",)

    def __init__(self, block: Block):
        self.block = block

    def __del__(self) -> None:
        self.block.give_back()


# Lists give and take a block in one step, so that only making and dropping blocks needs the lock.
_lock = threading.Lock()
_buckets: dict[int, Bucket] = {}
_numbers = itertools.count()
_ticks = itertools.count(1)
_held = _peak = 0  # bytes of all blocks, in use or free
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def size_class(nbytes: int) -> int:
    """The size of block that serves so many bytes."""
    step = (1 << max(nbytes - 1, SMALLEST).bit_length() - 1) // CLASSES
    if nbytes >= LARGE:
        step = max(step, HUGE_PAGE)
    return max(-(-nbytes // step) * step, SMALLEST)


@functools.lru_cache(4096)
def bucket_of(nbytes: int) -> Bucket:
    size = size_class(nbytes)
    return _buckets.setdefault(size, Bucket(size))


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array whose elements are whatever was in memory, as `np.empty` gives."""
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes < LARGE or not RECYCLING:
        try:
            return np.empty(shape, dtype)
        except MemoryError:
            raise _refused(nbytes, True) from None
    try:
        block = _borrow(nbytes)
    except REFUSALS:
        raise _refused(nbytes, True) from None
    lease = Lease((block.bucket.size,), BYTE, block.memory, block.offset)
    lease.block = block
    return np.ndarray(shape, dtype, lease)


def scratch(nbytes: int) -> tuple[int, Loan]:
    """The address of so many bytes, aligned to a cache line, and what keeps them: when that dies
    they serve the next call.
    """
    try:
        block = _borrow(nbytes)
    except REFUSALS:
        raise _refused(nbytes, False) from None
    return block.address, Loan(block)


def statistics() -> Statistics:
    """What is in use and what is kept now."""
    with _lock:
        pooled = _pooled()
        return Statistics(_held - pooled, pooled, _peak)


def trim(limit: int = 0) -> None:
    """Give memory that is kept for later back to the system, down to `limit` bytes."""
    with _lock:
        _shrink(limit)


def _borrow(nbytes: int) -> Block:
    """A block for so many bytes, a used one if there is one."""
    bucket = bucket_of(nbytes)
    bucket.used = next(_ticks)
    try:
        return bucket.blocks.pop()
    except IndexError:
        return _new(bucket)


def _new(bucket: Bucket) -> Block:
    """A fresh block, or one of REFUSALS; before that, what is kept goes back to the system."""
    global _held, _peak
    with _lock:
        try:
            block = Block(bucket)
        except REFUSALS:
            _shrink(0)
            block = Block(bucket)
        _held += bucket.size
        _peak = max(_peak, _held)
    return block


def _refused(nbytes: int, result: bool) -> RefusedError:
    kept = _pooled()
    return RefusedError(
        f"the system refused {nbytes:,} bytes; large arrays and scratch memory of compiled "
        f"programs take {_held - kept:,} bytes now, and {kept:,} more are kept for later. "
        "Delete arrays that are no longer needed, donate arguments, or work on smaller pieces.",
        nbytes,
        result,
    )


def _pooled() -> int:
    return sum(bucket.size * len(bucket.blocks) for bucket in _buckets.copy().values())


def _shrink(limit: int) -> None:
    """Drop free blocks, those of sizes long out of use first. The lock is held."""
    global _held
    excess = _pooled() - limit
    for bucket in sorted(_buckets.copy().values(), key=lambda bucket: bucket.used):
        while excess > 0 and bucket.blocks:
            try:
                bucket.blocks.pop(0)
            except IndexError:  # another thread took it
                break
            _held -= bucket.size
            excess -= bucket.size


def kept_at_most() -> int:
    """The limit on memory kept for later: as configured, else a quarter of what there is."""
    limit = config.pooled_memory
    return _memory() // 4 if limit < 0 else limit


@functools.cache
def _memory() -> int:
    """The bytes of memory of this machine, or of this container if it is given less."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        total = UNKNOWN_MEMORY
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no such file, or no limit
        return total
