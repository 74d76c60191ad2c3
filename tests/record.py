"""Writes the answers of JAX that the tests compare with: `python tests/record.py`.

Only rows with new arguments and words with new functions are asked anew; `record.py laws` asks
all laws (three minutes), `record.py words` all words (fifteen).
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

import conftest  # noqa: F401  (the environment that JAX must be started in)
from answers import LAWS, QUESTIONS, WORDS, Store, asked, describe, storable
from engines import JAX
from rows import Row
from samples import ROWS
from words import LENGTH, SAMPLES, Sample, answer_or_nan, fingerprint, words

# A name, the fingerprint of what it stands for, and its answers by question.
Entry = tuple[str, int, dict[str, Callable[[], Sequence[Any]]]]


def record(store: Store, entries: Iterator[Entry], everything: bool) -> list[str]:
    """Ask what is new and store it all; what went wrong."""
    start = time.perf_counter()
    old = {} if everything or not store.exists() else store.manifest["fingerprints"]
    answers: dict[str, tuple[list[str], list[np.ndarray]]] = {}
    fingerprints: dict[str, int] = {}
    problems: list[str] = []
    asked_anew = 0
    for name, mark, questions in entries:
        fingerprints[name] = mark
        for question, ask in questions.items():
            key = f"{name}|{question}"
            if old.get(name) == mark and key in store.manifest["answers"]:
                answers[key] = store.types(key), store.answer(key)
                continue
            asked_anew += 1
            try:
                found = ask()
            except Exception as error:
                problems.append(f"{key}: {type(error).__name__}: {str(error)[:200]}")
                continue
            answers[key] = [describe(x) for x in found], [storable(x) for x in found]
    store.write({"jax": jax.__version__, "fingerprints": fingerprints}, answers)
    size = (store.arrays_path.stat().st_size + store.manifest_path.stat().st_size) / 2**20
    print(
        f"{store.arrays_path.name}: {asked_anew} asked, {len(answers)} answers, {size:.2f} MiB, "
        f"{time.perf_counter() - start:.0f} s"
    )
    return problems


def law_entries(rows: Sequence[Row] = ROWS) -> Iterator[Entry]:
    for row in rows:
        ask = {q: lambda q=q, row=row: QUESTIONS[q][0](JAX, row) for q in asked(row)}
        yield row.name, row.fingerprint, ask


def word_entries() -> Iterator[Entry]:
    for sample in SAMPLES.values():
        yield sample.name, fingerprint(sample), {"words": lambda s=sample: [answers_to_words(s)]}


def answers_to_words(sample: Sample) -> np.ndarray:
    """A row for each word up to LENGTH: what JAX computes at POINT, nan where it raises."""
    jax.clear_caches()
    return np.array([answer_or_nan(sample, word) for word in words(LENGTH)])


def main(everything: Sequence[str] = ()) -> None:
    problems = record(LAWS, law_entries(), "laws" in everything)
    problems += record(WORDS, word_entries(), "words" in everything)
    if problems:
        sys.exit("\n".join(["JAX gave no answer to these:", *problems]))


if __name__ == "__main__":
    main(sys.argv[1:])
