"""The convolution kernels beside JAX's: forward, gradient of the input, gradient of the kernel.

Both run on one thread in this process, their samples interleaved, and the table shows the least
time of each in milliseconds. Run on a quiet machine:

    taskset -c 0 python benchmarks/convolution.py
"""

import argparse
import ctypes
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import numpy as np
from jax import lax as jlax

import funcgrad
from funcgrad import lax
from funcgrad.compiler.llvm.conv.plans import MODULES, plan
from funcgrad.compiler.llvm.engine import Code, compile_object
from funcgrad.compiler.llvm.target import host_target

NHWC = ("NHWC", "HWIO", "NHWC")
SETTINGS = (
    "window_strides",
    "padding",
    "lhs_dilation",
    "rhs_dilation",
    "dimension_numbers",
    "feature_group_count",
    "batch_group_count",
)
SERIAL = """
define void @fg_parallel(ptr %kernel, ptr %args, i64 %extent, i64 %grain) {
  call void %kernel(ptr %args, i64 0, i64 %extent)
  ret void
}
"""


class Case(NamedTuple):
    """A SAME convolution of square images by a square kernel."""

    size: int
    inputs: int
    outputs: int
    kernel: int = 3
    stride: int = 1
    groups: int = 1
    batch: int = 16

    def flops(self) -> int:
        side = -(-self.size // self.stride)
        products = self.kernel**2 * self.inputs // self.groups * self.outputs
        return 2 * self.batch * side**2 * products


CASES = {
    "32x32, 32 -> 64, 3x3": Case(32, 32, 64),
    "1x1": Case(32, 32, 64, 1),
    "depthwise 32, 3x3": Case(32, 32, 32, groups=32),
    "depthwise 32 x 2, 3x3 / 2": Case(32, 32, 64, stride=2, groups=32),
    "32 groups of 4 -> 4": Case(16, 128, 128, groups=32),
    "MNIST 28x28, 1 -> 32": Case(28, 1, 32, batch=64),
    "MNIST 14x14, 32 -> 64": Case(14, 32, 64, batch=64),
    "ResNet stem, 3 -> 64": Case(32, 3, 64),
    "ImageNet stem, 7x7 / 2": Case(64, 3, 64, 7, 2),
    "ResNet 32x32, 64 -> 64": Case(32, 64, 64),
    "ResNet 32x32, 64 -> 128 / 2": Case(32, 64, 128, stride=2),
    "ResNet 16x16, 128 -> 128": Case(16, 128, 128),
    "ResNet 16x16, 128 -> 256 / 2": Case(16, 128, 256, stride=2),
    "ResNet 8x8, 256 -> 256": Case(8, 256, 256),
    "ResNet 8x8, 256 -> 512 / 2": Case(8, 256, 512, stride=2),
    "ResNet 4x4, 512 -> 512": Case(4, 512, 512),
    "ResNet 32x32, 1x1 / 2": Case(32, 64, 128, 1, 2),
}
_codes: dict[str, Code] = {}


def function(symbol: str) -> Any:
    """A library function, made at the first use; it runs all of its work in the caller."""
    target = host_target()
    if "serial" not in _codes:
        _codes["serial"] = Code([compile_object(SERIAL, target)])
    if symbol not in _codes:
        parallel = {"fg_parallel": _codes["serial"].address("fg_parallel")}
        start = time.process_time()
        image = compile_object(MODULES[symbol](target), target)
        spent = 1e3 * (time.process_time() - start)
        print(f"made {symbol} in {spent:.0f} ms of CPU time, {len(image)} bytes")
        _codes[symbol] = Code([image], parallel)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_codes[symbol].address(symbol))


def aligned(a: np.ndarray) -> np.ndarray:
    """A copy at a multiple of 64 bytes, where JAX and compiled programs keep their arrays."""
    memory = np.empty(a.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    result = memory[start : start + a.nbytes].view(a.dtype).reshape(a.shape)
    result[...] = a
    return result


def runner(eqn: Any, lhs: np.ndarray, rhs: np.ndarray, turned: bool) -> tuple[Callable, np.ndarray]:
    """A function that computes an equation into an array, and the array."""
    params = {name: eqn.params[name] for name in SETTINGS}
    found = plan(host_target(), lhs.shape, rhs.shape, "f32", rhs_reversed=turned, **params)
    assert found is not None
    out = aligned(np.zeros(tuple(eqn.outvars[0].aval.shape), np.float32))
    lhs, rhs = aligned(lhs), aligned(rhs)
    scratch = np.zeros(found.scratch + 64, np.uint8)
    start = -(-scratch.ctypes.data // 64) * 64
    addresses = {name: a.ctypes.data for name, a in (("lhs", lhs), ("rhs", rhs), ("out", out))}
    addresses["scratch"] = start
    calls = []
    for symbol, places, values in found.calls:
        words = [addresses[name] + offset for name, offset in places]
        calls.append((function(symbol), np.array([*words, *values], np.int64)))

    def run() -> None:
        for call, words in calls:
            call(words.ctypes.data)

    run.__dict__["alive"] = (lhs, rhs, scratch)
    return run, out


def equations(fn: Callable, *args: Any) -> list:
    found = []

    def walk(jaxpr: Any) -> None:
        for eqn in jaxpr.eqns:
            if eqn.primitive.name == "conv_general_dilated":
                found.append(eqn)
            for value in eqn.params.values():
                inner = getattr(value, "jaxpr", value)
                if hasattr(inner, "eqns"):
                    walk(inner)

    walk(funcgrad.make_jaxpr(fn)(*args).jaxpr)
    return found


def least(functions: list[Callable], rounds: int) -> list[float]:
    """The least milliseconds of each, samples interleaved."""
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, run in enumerate(functions):
            start = time.perf_counter()
            run()
            best[i] = min(best[i], 1e3 * (time.perf_counter() - start))
    return best


def measure(name: str, case: Case, rounds: int) -> None:
    """Prints three rows: the convolution and its two gradients."""
    numbers = np.random.default_rng(0)
    x = numbers.standard_normal((case.batch, case.size, case.size, case.inputs), np.float32)
    kernel = (case.kernel, case.kernel, case.inputs // case.groups, case.outputs)
    w = numbers.standard_normal(kernel, np.float32)
    more = {"dimension_numbers": NHWC, "feature_group_count": case.groups}
    strides = (case.stride, case.stride)
    conv = lambda x, w: lax.conv_general_dilated(x, w, strides, "SAME", **more)
    theirs = lambda x, w: jlax.conv_general_dilated(x, w, strides, "SAME", **more)
    ct = numbers.standard_normal(np.shape(theirs(x, w)), np.float32)
    of_x = lambda x, w, ct: jax.vjp(lambda x: theirs(x, w), x)[1](ct)[0]
    of_w = lambda x, w, ct: jax.vjp(lambda w: theirs(x, w), w)[1](ct)[0]
    our_x = equations(lambda x, w, ct: funcgrad.vjp(lambda x: conv(x, w), x)[1](ct), x, w, ct)[-1]
    our_w = equations(lambda x, w, ct: funcgrad.vjp(lambda w: conv(x, w), w)[1](ct), x, w, ct)[-1]
    # As the gradient's rule arranges the kernel: [..., group, inputs, outputs of the group].
    turned = w.reshape(*kernel[:3], case.groups, -1).swapaxes(2, 3)
    turned = np.ascontiguousarray(turned.reshape(*kernel[:2], case.inputs, -1))
    rows = (
        ("forward", *runner(equations(conv, x, w)[0], x, w, False), lambda x, w, ct: theirs(x, w)),
        ("input", *runner(our_x, ct, turned, True), of_x),
        ("kernel", *runner(our_w, x, ct, False), of_w),
    )
    on_device = [jax.numpy.asarray(a) for a in (x, w, ct)]
    for part, ours, out, function in rows:
        jitted = jax.jit(function)
        want = np.asarray(jitted(*on_device))
        ours()
        error = np.abs(out - want).max() / np.abs(want).max()
        assert error < 3e-5, (name, part, error)
        wait = lambda jitted=jitted: jax.block_until_ready(jitted(*on_device))
        mine, other = least([ours, wait], rounds)
        speed = case.flops() / mine / 1e6
        print(f"{name:30}{part:8}{mine:10.3f}{other:10.3f}{mine / other:9.2f}{speed:8.0f}")
        name = ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Convolution kernels beside JAX's.")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    print(f"{'milliseconds, least':38}{'funcgrad':>10}{'JAX':>10}{'ratio':>9}{'GF/s':>8}")
    for name, case in CASES.items():
        if options.only in name:
            measure(name, case, options.rounds)


if __name__ == "__main__":
    main()
