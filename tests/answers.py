"""What a law asks a library about a row, and the answers of JAX that are kept in `reference/`.

A question is a function (library, row) -> flat list of arrays. The same code asks us and JAX;
`record.py` writes JAX's answers down, so that running the laws does not need to run JAX.
"""

import json
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from engines import Engine
from rows import Row, numbers

REFERENCE = Path(__file__).parent / "reference"

Flat = Callable[..., list]


def direction(row: Row, what: str, like: Sequence[Any]) -> list[np.ndarray]:
    """Numbers to take a derivative along, of the types of `like`, from the name of the row."""
    rng = np.random.default_rng(zlib.crc32(f"{row.name} {what}".encode()))
    return [numbers(rng, np.dtype(x.dtype), x.shape, -1, 1) for x in like]


def smooth_part(lib: Engine, row: Row) -> tuple[Flat, list[np.ndarray]]:
    """The row as a function from its inexact arguments to its inexact results; those arguments."""
    args = row.arguments(wide=True)
    function = row.make(lib)

    def run(*given: Any) -> list:
        full = list(args)
        for i, value in zip(row.inexact, given, strict=True):
            full[i] = value
        return [out for out in lib.leaves(function(*full)) if np.dtype(out.dtype).kind in "fc"]

    return run, [args[i] for i in row.inexact]


def value(lib: Engine, row: Row) -> list:
    """What the function returns."""
    return lib.leaves(row.make(lib)(*row.arguments()))


def wide_value(lib: Engine, row: Row) -> list:
    """What the function returns in 64 bits."""
    with lib.x64():
        run, primals = smooth_part(lib, row)
        return run(*primals)


def push(lib: Engine, row: Row, run: Flat) -> Flat:
    """The derivative of a function along a fixed direction."""

    def pushed(*primals: Any) -> list:
        return lib.jvp(run, primals, tuple(direction(row, "tangent", primals)))[1]

    return pushed


def pull(lib: Engine, row: Row, run: Flat) -> Flat:
    """The gradient of a function's results, weighted by a fixed cotangent."""

    def pulled(*primals: Any) -> list:
        outs, backward = lib.vjp(run, *primals)
        return list(backward(direction(row, "cotangent", outs)))

    return pulled


def pull_along(lib: Engine, row: Row, run: Flat) -> Flat:
    """Like `pull`, for a function from primals to their like, by the direction `push` takes."""

    def pulled(*primals: Any) -> list:
        _, backward = lib.vjp(run, *primals)
        return list(backward(direction(row, "tangent", primals)))

    return pulled


def tangent(lib: Engine, row: Row) -> list:
    with lib.x64():
        run, primals = smooth_part(lib, row)
        return push(lib, row, run)(*primals)


def cotangent(lib: Engine, row: Row) -> list:
    with lib.x64():
        run, primals = smooth_part(lib, row)
        return pull(lib, row, run)(*primals)


def curvature(lib: Engine, row: Row) -> list:
    """The second derivative along the direction, twice: forward over forward mode."""
    with lib.x64():
        run, primals = smooth_part(lib, row)
        return push(lib, row, push(lib, row, run))(*primals)


def hessian_vector(lib: Engine, row: Row) -> list:
    """The derivative of the gradient along the direction: forward over reverse mode."""
    with lib.x64():
        run, primals = smooth_part(lib, row)
        return push(lib, row, pull(lib, row, run))(*primals)


# Each question, and how often the row must be differentiable for it.
QUESTIONS: dict[str, tuple[Callable[[Engine, Row], list], int]] = {
    "value": (value, 0),
    "wide_value": (wide_value, 1),
    "tangent": (tangent, 1),
    "cotangent": (cotangent, 1),
    "curvature": (curvature, 2),
    "hessian_vector": (hessian_vector, 2),
}


# The questions that JAX cannot answer about a row, by what the row says it lacks.
UNANSWERED = {
    "": (),
    "second": ("curvature", "hessian_vector"),
    "reverse": ("cotangent", "hessian_vector"),
    "derivative": ("tangent", "cotangent", "curvature", "hessian_vector"),
    "anything": tuple(QUESTIONS),
}


def asked(row: Row) -> list[str]:
    """The questions about a row that JAX can answer."""
    missing = UNANSWERED[row.jax_lacks]
    return [
        name for name, (_, needs) in QUESTIONS.items() if needs <= row.order and name not in missing
    ]


def describe(x: Any) -> str:
    """The type of a result, as the manifest has it: "float32[3,4]", with a star if weak."""
    weak = "*" if getattr(x, "weak_type", False) else ""
    return f"{np.dtype(x.dtype).name}[{','.join(map(str, np.shape(x)))}]{weak}"


def storable(x: Any) -> np.ndarray:
    """An array in a dtype that npz files know; `describe` remembers the other."""
    array = np.asarray(x)
    return array.astype(np.float32) if array.dtype.kind == "V" else array


class Store:
    """Recorded answers: one file of arrays, and a manifest of what was asked and of whom."""

    def __init__(self, name: str):
        self.arrays_path = REFERENCE / f"{name}.npz"
        self.manifest_path = REFERENCE / f"{name}.json"

    def exists(self) -> bool:
        return self.arrays_path.exists() and self.manifest_path.exists()

    @property
    def manifest(self) -> dict[str, Any]:
        return _manifest(self.manifest_path)

    def answer(self, key: str) -> list[np.ndarray]:
        """The recorded arrays for a key."""
        count = len(self.manifest["answers"][key])
        arrays = _arrays(self.arrays_path)
        return [arrays[f"{key} {i}"] for i in range(count)]

    def types(self, key: str) -> list[str]:
        """The types of the recorded arrays for a key, as `describe` gives them."""
        return self.manifest["answers"][key]

    def write(
        self, about: dict[str, Any], answers: dict[str, tuple[list[str], list[np.ndarray]]]
    ) -> None:
        """Store types and arrays by key."""
        REFERENCE.mkdir(exist_ok=True)
        arrays = {f"{k} {i}": x for k, (_, xs) in answers.items() for i, x in enumerate(xs)}
        np.savez_compressed(self.arrays_path, **arrays)
        manifest = {**about, "answers": {key: types for key, (types, _) in answers.items()}}
        self.manifest_path.write_text(json.dumps(manifest, indent=0) + "\n")


LAWS = Store("laws")
WORDS = Store("words")


@cache
def _manifest(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


@cache
def _arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return dict(file)
