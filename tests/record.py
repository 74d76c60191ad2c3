"""Writes the answers of JAX that the tests compare with: `python tests/record.py [part of a name]`.

With a part of a name, only the rows and words that contain it are asked anew.
"""

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import conftest  # noqa: F401  (the environment that JAX must be started in)
import jax

from answers import QUESTIONS, Store, asked, describe, storable
from engines import JAX
from samples import ROWS

LAWS = Store("laws")


def recorded(
    store: Store, entries: Iterable[tuple[str, int, list[str], Callable[[str], list]]], part: str
) -> None:
    """Ask and store; `entries` are (name, fingerprint, questions, answer of a question)."""
    old = store.manifest if part != "" and store.manifest_path.exists() else {"answers": {}}
    answers: dict[str, tuple[list[str], list[Any]]] = {}
    fingerprints: dict[str, int] = {}
    start = time.perf_counter()
    for name, fingerprint, questions, ask in entries:
        fingerprints[name] = fingerprint
        for question in questions:
            key = f"{name}|{question}"
            if key in old["answers"] and part not in name and old["fingerprints"][name] == fingerprint:
                answers[key] = store.types(key), store.answer(key)
                continue
            try:
                found = ask(question)
            except Exception as error:
                print(f"{key}: {type(error).__name__}: {str(error)[:200]}")
                continue
            answers[key] = [describe(x) for x in found], [storable(x) for x in found]
    about = {"jax": jax.__version__, "fingerprints": fingerprints}
    store.write(about, answers)
    size = store.arrays_path.stat().st_size + store.manifest_path.stat().st_size
    print(f"{store.arrays_path.name}: {len(answers)} answers, {size / 2**20:.2f} MiB, "
          f"{time.perf_counter() - start:.0f} s")


def record_laws(part: str = "") -> None:
    recorded(
        LAWS,
        (
            (row.name, row.fingerprint, asked(row), lambda q, row=row: QUESTIONS[q][0](JAX, row))
            for row in ROWS
        ),
        part,
    )


if __name__ == "__main__":
    record_laws(*sys.argv[1:2])
