"""What a row of the table of samples is: a function of a library, and arguments to call it with.

An argument is written as its type and range, `"f32[3,4] 0.1..2"`, and then holds numbers that
depend on nothing but the name of the row. Anything else stands for itself.
"""

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

DTYPES = {
    "b1": np.dtype(bool),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "c64": np.dtype(np.complex64),
}
WIDE = {"f32": np.dtype(np.float64), "c64": np.dtype(np.complex128)}
# What a row written with the name of a kind is repeated for.
KINDS = {
    "real": ("f32", "f16", "bf16"),
    "inexact": ("f32", "f16", "bf16", "c64"),
    "number": ("f32", "f16", "bf16", "c64", "i32", "i8", "u32"),
    "ordered": ("f32", "f16", "bf16", "i32", "i8", "u8"),
    "bits": ("i32", "b1", "i8", "u8", "u32"),
    "integer": ("i32", "i8", "i16", "u8", "u16", "u32"),
    "any": ("f32", "bf16", "c64", "i32", "u8", "b1"),
}
_SPEC = re.compile(r"(\w+)\[([\d,]*)\](?: (\S+)\.\.(\S+))?")

Make = Callable[[Any], Callable]


@dataclass(frozen=True)
class Row:
    """A sample of an operation. `make(library)` is the function, called with `args`.

    Args:
        name: unique in the table; the operation and what is special about this use of it.
        order: how often it can be differentiated, with respect to all its inexact arguments.
        jax_lacks: what JAX cannot do with it: "anything", any "derivative", the "second"
            derivative, or "reverse" mode.
        smooth: whether the derivative is that of the function, as finite differences see it.
        fixed: positions of arguments that vmap does not map.
        loop: whether vmap must agree with a loop (not so where random numbers or effects are).
        error: how many times the usual rounding error is fine.
    """

    name: str
    make: Make
    args: tuple
    order: int = 2
    jax_lacks: str = ""
    smooth: bool = True
    fixed: tuple[int, ...] = ()
    loop: bool = True
    error: float = 1

    def arguments(self, wide: bool = False, member: int = 0) -> list:
        """The arguments, in 64 bits if `wide`; each member of a batch has other numbers."""
        return [self.argument(i, wide, member) for i in range(len(self.args))]

    def argument(self, i: int, wide: bool = False, member: int = 0) -> Any:
        spec = self.args[i]
        rng = np.random.default_rng(zlib.crc32(f"{self.name} {i} {member}".encode()))
        if isinstance(spec, np.ndarray) and member:
            return rng.permutation(spec.ravel()).reshape(spec.shape)
        if not isinstance(spec, str):
            return spec
        dtype, shape, low, high = parse(spec)
        kept = WIDE.get(dtype, DTYPES[dtype]) if wide else DTYPES[dtype]
        return numbers(rng, kept, shape, low, high)

    @property
    def inexact(self) -> list[int]:
        """Positions of the arguments to differentiate with respect to."""
        return [
            i for i, a in enumerate(self.args) if isinstance(a, str) and a[:3] in ("f32", "c64")
        ]

    @property
    def batchable(self) -> list[int]:
        arrays = [i for i, a in enumerate(self.args) if isinstance(a, str | np.ndarray)]
        return [i for i in arrays if i not in self.fixed]

    @property
    def fingerprint(self) -> int:
        """A number that changes when the arguments do."""
        arrays = [np.asarray(a) for a in self.arguments()]
        return zlib.crc32(repr([(a.dtype.name, a.shape, a.tobytes()) for a in arrays]).encode())

    def __str__(self) -> str:
        return self.name


def parse(spec: str) -> tuple[str, tuple[int, ...], float | None, float | None]:
    """dtype, shape, lowest and highest value of "f32[3,4] 0.1..2"."""
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise ValueError(f"not the type of an argument: {spec!r}")
    dtype, dims, low, high = match.groups()
    shape = tuple(int(d) for d in dims.split(",") if d)
    return dtype, shape, None if low is None else float(low), None if high is None else float(high)


def numbers(
    rng: np.random.Generator,
    dtype: np.dtype,
    shape: Sequence[int],
    low: float | None,
    high: float | None,
) -> np.ndarray:
    """An array of numbers in a range. Floats keep apart, so that no two of them nearly tie."""
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        low = (0 if dtype.kind == "u" else -5) if low is None else low
        high = 10 if high is None else high
        return rng.integers(int(low), int(high), shape, endpoint=True).astype(dtype)
    low = -2 if low is None else low
    high = 2 if high is None else high

    def floats() -> np.ndarray:
        count = int(np.prod(shape))
        place = rng.permutation(count) + rng.uniform(0.2, 0.8, count)
        return (low + (high - low) * place / max(count, 1)).reshape(shape)

    values = floats()
    return (values + 1j * floats() if dtype.kind == "c" else values).astype(dtype)


def over_dtypes(row: Row) -> Iterator[Row]:
    """The row once for each dtype of the kind that its arguments name, if they do."""
    kinds = {parse(a)[0] for a in row.args if isinstance(a, str)} & set(KINDS)
    if not kinds:
        yield row
        return
    (kind,) = kinds
    for dtype in KINDS[kind]:
        args = tuple(
            a.replace(f"{kind}[", f"{dtype}[") if isinstance(a, str) else a for a in row.args
        )
        name = row.name if dtype == KINDS[kind][0] else f"{row.name} {dtype}"
        yield replace(row, name=name, args=args, order=row.order if dtype in WIDE else 0)


def rows(*entries: Row) -> list[Row]:
    """The table, with the rows over kinds of dtypes written out; names must differ."""
    table = [r for row in entries for r in over_dtypes(row)]
    table = [r if r.inexact else replace(r, order=0) for r in table]
    names = [r.name for r in table]
    twice = {n for n in names if names.count(n) > 1}
    assert not twice, f"rows of one name: {twice}"
    return table
