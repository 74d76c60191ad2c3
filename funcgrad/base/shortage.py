"""What is said when memory is refused: what asked for how much, and which arrays are alive."""

import gc
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import ShapedArray
from funcgrad.base.dtypes import buffer_dtype
from funcgrad.base.errors import OutOfMemoryError

# Arrays that a message lists, the largest first.
LISTED = 5
ADVICE = "Delete arrays that are no longer needed, donate arguments, or work on smaller pieces."


def of_operation(name: str, results: Sequence[ShapedArray], reason: object) -> OutOfMemoryError:
    """The error of an operation that was refused memory while it computed its results."""
    total = sum(aval.size * buffer_dtype(aval.dtype).itemsize for aval in results)
    types = " ".join(aval.str_short() for aval in results)
    return OutOfMemoryError(
        f"{name} was refused memory for its result {types}, which takes {total:,} bytes, or for "
        f"what it needs on the way ({reason}). {live_arrays()} {ADVICE}"
    )


def live_arrays() -> str:
    """A sentence about the memory that arrays hold, each piece named by an array that lies there;
    what several of them share counts once.
    """
    buffers: dict[int, tuple[int, str]] = {}
    for found in gc.get_objects():
        if isinstance(found, ConcreteArray) and isinstance(found._buffer, np.ndarray):
            owner = found._buffer
            while isinstance(owner.base, np.ndarray):
                owner = owner.base
            buffers.setdefault(id(owner), (owner.nbytes, found.aval.str_short()))
    if not buffers:
        return "No array is alive."
    total = sum(size for size, _ in buffers.values())
    noun = "array is alive" if len(buffers) == 1 else "arrays are alive"
    return f"{len(buffers):,} {noun} and {total:,} bytes large: {listed(buffers.values())}."


def listed(arrays: Iterable[tuple[int, str]]) -> str:
    """The largest of arrays given as (bytes, what they are)."""
    counted = sorted(Counter(arrays).items(), reverse=True)
    parts = [
        f"{f'{count} times ' if count > 1 else ''}{text} ({size:,} bytes)"
        for (size, text), count in counted[:LISTED]
    ]
    return ", ".join([*parts, "..."] if len(counted) > LISTED else parts)
