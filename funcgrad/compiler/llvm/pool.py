"""Threads that share the work of compiled programs: a program hands over a kernel and an extent,
and every thread, the caller's too, takes part after part until none is left.

A pool that is busy, empty or not there (in a child of a fork) means that the caller does it all;
results are the same.
"""

import ctypes
import functools
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from funcgrad.base.config import config
from funcgrad.compiler.llvm import arrays, sequence, systems
from funcgrad.compiler.llvm.engine import LITTLE_EFFORT, Code, cached_object
from funcgrad.compiler.llvm.parallel import MOST_THREADS, text
from funcgrad.compiler.llvm.target import Target, host_target

SPIN_SECONDS = 30e-6  # how long a worker looks for the next job before it sleeps


def allowed_cpus() -> int:
    """How many CPUs this process may keep busy: its affinity, and what its container is given."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        count = min(count, -(-int(quota) // int(period)))
    except (OSError, ValueError):  # no such file, or no limit
        pass
    return max(count, 1)


class Pool:
    """The linked module, and the workers it has now."""

    def __init__(self, sleeping: str | None = None):
        target = host_target()
        self.code = Code(
            [cached_object(text(target, sleeping), target, LITTLE_EFFORT)], system_symbols(target)
        )
        # Workers run inside this code until the process ends, and its end comes after Python's.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.code))
        self.lock = threading.RLock()
        self.count = 1
        self._start = self.function("fg_start", ctypes.c_int32, ctypes.c_int32, ctypes.c_int64)
        self._stop = self.function("fg_stop", None)
        self._spins = self._spins_in(SPIN_SECONDS)

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        """A function of the module, to be called from Python without the GIL."""
        return ctypes.CFUNCTYPE(result, *arguments)(self.code.address(name))

    def _spins_in(self, seconds: float) -> int:
        """How many pauses take that long on this processor."""
        spin = self.function("fg_spin", None, ctypes.c_int64)
        trial = 2000
        times = []
        for _ in range(5):
            before = time.perf_counter()
            spin(trial)
            times.append(time.perf_counter() - before)
        return max(1, int(seconds / max(min(times), 1e-9) * trial))

    def start(self, count: int) -> None:
        """Have `count` threads share the work, the caller's among them."""
        with self.lock:
            self._stop()
            self.count = 1 + self._start(count - 1, self._spins)

    def stop(self) -> None:
        """Join the workers; until the next start the caller does all the work."""
        self._stop()


def system_symbols(target: Target) -> dict[str, int]:
    """The functions of the system that linking does not find by itself."""
    if systems.system(target) != "windows" or sys.platform != "win32":
        return {}
    libraries = [ctypes.WinDLL("kernel32"), ctypes.WinDLL("kernelbase")]
    found = {}
    for name in systems.WINDOWS_FUNCTIONS:
        owner = next(library for library in libraries if hasattr(library, name))
        found[name] = ctypes.cast(getattr(owner, name), ctypes.c_void_p).value or 0
    return found


_lock = threading.RLock()
_pool: Pool | None = None


def pool() -> Pool:
    """The one pool of this process, made at the first use."""
    global _pool
    if _pool is None:
        with _lock:
            if _pool is None:
                made = Pool()
                made.start(config.num_threads or allowed_cpus())
                _pool = made
    return _pool


@functools.cache
def symbols() -> dict[str, int]:
    """The functions that programs call, by name."""
    names = (arrays.NAME, sequence.NAME, "fg_parallel", "fg_enter", "fg_leave")
    return {name: pool().code.address(name) for name in names}


def num_threads() -> int:
    """How many threads share the work of a program, the caller's among them."""
    return pool().count


def set_num_threads(count: int) -> None:
    """Share the work among `count` threads from now on; 0 means one for each CPU allowed.

    Waits for a program that is running. The results of programs do not depend on it.
    """
    if count < 0 or count > MOST_THREADS:
        raise ValueError(f"the number of threads is between 0 and {MOST_THREADS}; got {count}.")
    pool().start(count or allowed_cpus())


def _before_fork() -> None:
    """No child inherits a job half done, nor a count of workers that it does not have."""
    _lock.acquire()
    if _pool is not None:
        _pool.lock.acquire()
        _pool.stop()


def _after_fork() -> None:
    if _pool is not None:
        _pool.start(_pool.count)
        _pool.lock.release()
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
