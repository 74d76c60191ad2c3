"""Matrix products as functions that compiled programs call: one module an element type and Target,
whose sizes and strides are arguments.

    for each of a batch: c = a b, or c += a b; then the bias and what `flags` ask for
"""

import re
from typing import NamedTuple

from funcgrad.compiler.llvm.gemm.drive import driver, scratch
from funcgrad.compiler.llvm.gemm.micro import tiles
from funcgrad.compiler.llvm.gemm.pack import packing
from funcgrad.compiler.llvm.gemm.road import PARAMS, RELU
from funcgrad.compiler.llvm.gemm.scheme import scheme
from funcgrad.compiler.llvm.gemm.vector import vector_products
from funcgrad.compiler.llvm.target import Target

__all__ = ["PARAMS", "PRODUCTS", "RELU", "Matmul", "matmul_ir", "matmul_scratch", "symbol"]

# The modules there are, by the suffix of the function's name: the types of operands and result.
PRODUCTS = {
    "f32": ("f32", "f32"),
    "f64": ("f64", "f64"),
    "bf16": ("bf16", "bf16"),
    "bf16_f32": ("bf16", "f32"),
    "f16": ("f16", "f16"),
    "f16_f32": ("f16", "f32"),
    "i8": ("i8", "i8"),
    "i8_i32": ("i8", "i32"),
    "u8_i32": ("u8", "i32"),
    "i16": ("i16", "i16"),
    "i16_i32": ("i16", "i32"),
    "u16_i32": ("u16", "i32"),
    "i32": ("i32", "i32"),
    "i64": ("i64", "i64"),
}


class Matmul(NamedTuple):
    """What is known of a product before it runs: types and sizes.

    a is [batch, m, k], b is [batch, k, n], c is [batch, m, n], each of any strides, those of c with
    contiguous columns; a stride of 0 repeats.
    """

    source: str
    out: str
    batch: int
    m: int
    n: int
    k: int

    @property
    def name(self) -> str:
        return suffix(self.source, self.out)

    def scratch(self, target: Target) -> int:
        """Bytes of scratch that a call needs."""
        return matmul_scratch(self.name, self.batch, self.m, self.n, self.k, target)


def suffix(source: str, out: str) -> str:
    """Which of PRODUCTS it is; integers of one width and no sign wrap around to the same bits."""
    if source == out:
        source = out = source.replace("u", "i")
    name = source if source == out else f"{source}_{out.replace('u', 'i')}"
    if name not in PRODUCTS:
        raise ValueError(
            f"there is no product of {source} that gives {out}; there is {', '.join(PRODUCTS)}."
        )
    return name


def symbol(source: str, out: str) -> str:
    """The name of the function that multiplies elements of `source` into elements of `out`."""
    return f"fg_matmul_{suffix(source, out)}"


def matmul_ir(dtype: str, target: Target) -> str:
    """The module of one of PRODUCTS: `void @fg_matmul_<dtype>(ptr)`, given PARAMS as i64.

    It calls `fg_parallel`.
    """
    s = scheme(*PRODUCTS[dtype], target)
    parts = [*tiles(s), *packing(s), *vector_products(s), *driver(s, f"fg_matmul_{dtype}")]
    body = "\n".join(["declare void @fg_parallel(ptr, ptr, i64, i64)", *parts]) + "\n"
    return "\n".join([*declarations(body), body])


def declarations(body: str) -> list[str]:
    """The declarations of the intrinsics that a text calls."""
    found: dict[str, str] = {}
    for kind, name, given in re.findall(r"call (?:reassoc )?([^@]+) (@llvm[\w.]+)\((.*)\)", body):
        if name not in found:
            types = [arg.rsplit(" ", 1)[0] for arg in given.split(", ")]
            found[name] = f"declare {kind} {name}({', '.join(types)})"
    return list(found.values())


def matmul_scratch(dtype: str, batch: int, m: int, n: int, k: int, target: Target) -> int:
    """Bytes of scratch for products of these sizes, whatever the strides."""
    if not (batch and m and n):
        return 0
    s = scheme(*PRODUCTS[dtype], target)
    shapes = [(m, n), (batch * m, n)]  # a batch may become one product, and a column a row
    if n == 1:
        shapes += [(1, m), (batch, m), (1, batch * m)]
    return max(scratch(s, rows, cols, k) for rows, cols in shapes)
