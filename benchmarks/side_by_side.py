"""Libraries measured side by side: each runs in a process of its own, and their samples take turns.

A script starts itself once for each library, with `--worker NAME`; that process answers questions,
a line of JSON each, with the seconds of one call. What disturbs the machine then meets all of them.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

# Runs a call so many times, and waits for the last result.
Repeated = Callable[[int], Any]
Prepare = Callable[[Any], Repeated | None]


def options_of(
    description: str, rounds: int, libraries: Iterable[str], threads: int | None = 1
) -> argparse.Namespace:
    """The options that all scripts have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, help="samples of each library")
    parser.add_argument("--match", default="", help="only cases whose name has this text")
    parser.add_argument("--threads", type=int, default=threads)
    parser.add_argument("--worker", choices=tuple(libraries), help=argparse.SUPPRESS)
    return parser.parse_args()


def repeated(call: Callable[[], Any], wait: Callable[[Any], Any] = lambda value: value) -> Repeated:
    """A call of no arguments, as one that runs many times."""

    def run(count: int) -> None:
        for _ in range(count - 1):
            call()
        wait(call())

    return run


def answer(prepare: Prepare, threads: int | None = None, sample: float = 0.05) -> None:
    """What a worker does: `prepare(question)` once for each, then a sample each time it is asked.

    A sample takes about so many seconds. On one thread processor time counts, which other work on
    the machine disturbs least; otherwise time by the clock. The answer to what the library does
    not have, which `prepare` makes None of, is null.
    """
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    clock = time.process_time if threads == 1 else time.perf_counter

    def seconds(run: Repeated, count: int) -> float:
        start = clock()
        run(count)
        return (clock() - start) / count

    known: dict[str, tuple[Repeated | None, int]] = {}
    for line in sys.stdin:
        if line not in known:
            run, count = prepare(json.loads(line)), 1
            if run is not None:
                run(3)
                count = max(1, int(sample / max(seconds(run, 3), 1e-7)))
            known[line] = run, count
        run, count = known[line]
        print(json.dumps(None if run is None else seconds(run, count)), flush=True)


class Worker:
    """The process of one library, as the script sees it."""

    def __init__(self, library: str, threads: int | None = None):
        command = [sys.executable, sys.argv[0], "--worker", library]
        if threads is not None:
            command += ["--threads", str(threads)]
        pipe, environment = subprocess.PIPE, os.environ | variables(threads)
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment
        )

    def ask(self, question: Any) -> float | None:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(question), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        self.process.communicate()


def variables(threads: int | None) -> dict[str, str]:
    """What tells every library how many threads to use; nothing where each may choose."""
    if threads is None:
        return {}
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "FUNCGRAD_NUM_THREADS")
    found = dict.fromkeys(names, str(threads)) | {"JAX_PLATFORMS": "cpu"}
    if threads == 1:
        found["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return found


class Workers:
    """A process for each of the libraries that are installed."""

    def __init__(self, libraries: Iterable[str], threads: int | None = None):
        installed = [name for name in libraries if importlib.util.find_spec(name)]
        self.by_name: Mapping[str, Worker] = {name: Worker(name, threads) for name in installed}

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self.by_name.values():
            worker.end()

    def samples(self, question: Any, rounds: int) -> dict[str, list[float]]:
        """So many samples of each library, in turns; those that cannot answer are left out."""
        found: dict[str, list[float]] = {}
        for _ in range(rounds):
            for name, worker in self.by_name.items():
                sample = worker.ask(question)
                if sample is not None:
                    found.setdefault(name, []).append(sample)
        return found

    def least(self, question: Any, rounds: int) -> dict[str, float]:
        """The least sample of each library."""
        return {name: min(taken) for name, taken in self.samples(question, rounds).items()}
