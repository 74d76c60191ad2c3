"""Bytes that compiled programs take beside their arguments and results: funcgrad and JAX.

A transformer's gradient under `checkpoint` with each policy, attention to long sequences forward
and backward, and the gradient of a loop in segments. Figures are those of each compiler's own
memory plan; `--rss` adds what one call of the transformer's gradient really adds to a process.

    python benchmarks/memory.py [--rss]
"""

import argparse
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LAYERS, BATCH, LENGTH, WIDTH, HEADS = 12, 4, 128, 64, 4
SEQUENCES = (1024, 2048, 4096, 8192)
TURNS, CARRY = 1024, 1000
SEGMENTS = (None, 8, 32, 128)


def draws(*shape: int) -> np.ndarray:
    values = np.random.default_rng(len(shape)).normal(size=shape) / shape[0] ** 0.5
    return values.astype(np.float32)


def library(name: str) -> Any:
    for part in ("nn", "numpy", "lax", "ad_checkpoint"):
        importlib.import_module(f"{name}.{part}")
    return importlib.import_module(name)


def temporaries(lib: Any, f: Callable, *args: Any) -> float:
    """Megabytes of temporaries of the compiled function."""
    analysis = lib.jit(f).lower(*args).compile().memory_analysis()
    return analysis.temp_size_in_bytes / 1e6


def transformer(lib: Any, wrap: Callable) -> Callable:
    """The gradient of a loss of a transformer with `wrap` around each layer."""
    jnp, name = lib.numpy, lib.ad_checkpoint.checkpoint_name

    def normalised(x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)

    def layer(x: Any, weights: dict[str, Any]) -> Any:
        qkv = name(normalised(x) @ weights["qkv"], "qkv")
        q, k, v = jnp.moveaxis(qkv.reshape(*x.shape[:2], 3, HEADS, -1), 2, 0)
        x = x + lib.nn.dot_product_attention(q, k, v).reshape(x.shape) @ weights["out"]
        return x + lib.nn.gelu(normalised(x) @ weights["up"]) @ weights["down"]

    def loss(weights: list, x: Any) -> Any:
        for one in weights:
            x = wrap(layer)(x, one)
        return (normalised(x) ** 3).sum()

    return lib.grad(loss)


def transformer_arguments() -> tuple[list, np.ndarray]:
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH)}
    shapes |= {"up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    weights = [{k: draws(*shape) for k, shape in shapes.items()} for _ in range(LAYERS)]
    return weights, draws(BATCH, LENGTH, WIDTH)


def wraps(lib: Any) -> dict[str, Callable]:
    policies = lib.checkpoint_policies
    chosen = {
        "nothing_saveable": policies.nothing_saveable,
        "save_only_these_names": policies.save_only_these_names("qkv"),
        "dots_with_no_batch_dims_saveable": policies.dots_with_no_batch_dims_saveable,
        "dots_saveable": policies.dots_saveable,
        "everything_saveable": policies.everything_saveable,
    }
    found = {"no checkpoint": lambda f: f}
    for name, policy in chosen.items():
        found[name] = lambda f, policy=policy: lib.checkpoint(f, policy=policy)
    return found


def attention(lib: Any, length: int, backward: bool) -> float:
    qkv = [draws(1, length, 2, 32)] * 3
    forward = lambda *qkv: lib.nn.dot_product_attention(*qkv)
    slopes = lib.grad(lambda *qkv: forward(*qkv).sum(), (0, 1, 2))
    return temporaries(lib, slopes if backward else forward, *qkv)


def loop(lib: Any, segment: int | None) -> float:
    jnp, lax = lib.numpy, lib.lax
    turn = lambda c, _: (jnp.sin(c) * 1.1, None)

    def loss(c: Any) -> Any:
        if lib.__name__ == "funcgrad" or segment is None:
            more = {} if segment is None else {"checkpoint": segment}
            return lax.scan(turn, c, None, TURNS, **more)[0].sum()
        inner = lib.checkpoint(lambda c, _: lax.scan(turn, c, None, segment))
        return lax.scan(inner, c, None, TURNS // segment)[0].sum()

    return temporaries(lib, lib.grad(loss), draws(CARRY))


def rows(lib: Any) -> dict[str, float]:
    """Every figure of one library, in megabytes."""
    arguments = transformer_arguments()
    found = {
        f"transformer, {name}": temporaries(lib, transformer(lib, wrap), *arguments)
        for name, wrap in wraps(lib).items()
    }
    for length in SEQUENCES:
        found[f"attention, {length}, forward"] = attention(lib, length, False)
        found[f"attention, {length}, backward"] = attention(lib, length, True)
    for segment in SEGMENTS:
        found[f"{TURNS} turns, segments of {segment}"] = loop(lib, segment)
    return found


def resident(lib: str, name: str) -> None:
    """Print the megabytes that one call of a transformer's gradient adds to this process."""
    found = library(lib)
    arguments = transformer_arguments()
    run = found.jit(transformer(found, wraps(found)[name])).lower(*arguments).compile()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far (Linux)
    before = status("VmRSS")
    found.block_until_ready(run(*arguments))
    print(status("VmHWM") - before)


def status(field: str) -> float:
    """A field of this process's status, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(field)) / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rss", action="store_true")
    parser.add_argument("--resident", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.resident:
        resident(*chosen.resident)
        return
    ours, theirs = rows(library("funcgrad")), rows(library("jax"))
    print(f"{'temporaries in MB':52} {'funcgrad':>10} {'JAX':>10} {'ratio':>7}")
    for name, mine in ours.items():
        print(f"{name:52} {mine:10.2f} {theirs[name]:10.2f} {mine / theirs[name]:7.2f}")
    if chosen.rss:
        for lib in ("funcgrad", "jax"):
            for name in ("no checkpoint", "nothing_saveable"):
                command = [sys.executable, __file__, "--resident", lib, name]
                found = subprocess.run(command, capture_output=True, text=True, check=True)
                print(f"resident set, {lib}, {name}: {float(found.stdout):.1f} MB more")


if __name__ == "__main__":
    main()
