"""Convolutions beside JAX's: forward, gradient of the input, gradient of the kernel.

The least of the samples counts (see `side_by_side.py`).

    python benchmarks/convolution.py [--threads N] [--rounds N] [--match TEXT]
"""

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from side_by_side import Repeated, Workers, answer, options_of, repeated

LIBRARIES = ("funcgrad", "jax")
NHWC = ("NHWC", "HWIO", "NHWC")
PARTS = ("forward", "input", "kernel")


class Case(NamedTuple):
    """A SAME convolution of square images by a square kernel."""

    size: int
    inputs: int
    outputs: int
    kernel: int = 3
    stride: int = 1
    groups: int = 1
    batch: int = 16

    @property
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


def preparing(name: str) -> Callable[[list[str]], Repeated]:
    """For a case and a part of it, a function that computes that so many times."""
    library = importlib.import_module(name)

    def prepare(question: list[str]) -> Repeated:
        case, part = CASES[question[0]], question[1]
        more = {"dimension_numbers": NHWC, "feature_group_count": case.groups}
        strides = (case.stride, case.stride)

        def forward(x: Any, w: Any) -> Any:
            return library.lax.conv_general_dilated(x, w, strides, "SAME", **more)

        def of_input(x: Any, w: Any, ct: Any) -> Any:
            return library.vjp(lambda x: forward(x, w), x)[1](ct)[0]

        def of_kernel(x: Any, w: Any, ct: Any) -> Any:
            return library.vjp(lambda w: forward(x, w), w)[1](ct)[0]

        arrays = [library.numpy.asarray(a) for a in operands(case)]
        if part == "forward":
            compiled = library.jit(forward)
        else:
            arrays.append(library.numpy.ones_like(forward(*arrays)))
            compiled = library.jit(of_input if part == "input" else of_kernel)
        return repeated(lambda: library.block_until_ready(compiled(*arrays)))

    return prepare


def operands(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """The images and the kernel."""
    numbers = np.random.default_rng(0)
    images = (case.batch, case.size, case.size, case.inputs)
    kernel = (case.kernel, case.kernel, case.inputs // case.groups, case.outputs)
    return tuple(numbers.standard_normal(shape, np.float32) for shape in (images, kernel))


def main() -> None:
    options = options_of("What convolutions cost.", 10, LIBRARIES)
    if options.worker:
        answer(preparing(options.worker), options.threads)
        return
    print(f"{'milliseconds, least':38}{'funcgrad':>10}{'JAX':>10}{'ratio':>9}{'GF/s':>8}")
    with Workers(LIBRARIES, options.threads) as workers:
        for name, case in CASES.items():
            for part in PARTS if options.match in name else ():
                least = workers.least((name, part), options.rounds)
                mine, other = 1e3 * least["funcgrad"], 1e3 * least["jax"]
                head = name if part == PARTS[0] else ""
                speed = case.flops / mine / 1e6
                print(f"{head:30}{part:8}{mine:10.3f}{other:10.3f}{mine / other:9.2f}{speed:8.0f}")


if __name__ == "__main__":
    main()
