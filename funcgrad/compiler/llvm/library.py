"""The library functions that programs call: which there is for a product or a convolution."""

from collections.abc import Iterable
from typing import NamedTuple

from funcgrad.compiler import lowering
from funcgrad.compiler.llvm import engine, pool
from funcgrad.compiler.llvm.conv.plans import plan
from funcgrad.compiler.llvm.gemm.product import PARAMS, PRODUCTS, Matmul, matmul_ir, suffix
from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.lowering import element_type
from funcgrad.compiler.steps import Address, LibraryCall, StridedView
from funcgrad.ir.jaxpr import Eqn, Var

Calls = tuple[tuple[LibraryCall, ...], int]

for _name in PRODUCTS:
    engine.libraries[f"fg_matmul_{_name}"] = lambda target, name=_name: matmul_ir(name, target)


class NativeMachine(NamedTuple):
    """The library functions of a Target."""

    target: Target

    @property
    def vector_bytes(self) -> int:
        return self.target.vector_bytes

    def product(self, lhs: StridedView, rhs: StridedView, out: Var) -> Calls | None:
        source, other = (element_type(v.base.aval.dtype) or "" for v in (lhs, rhs))
        result = element_type(out.aval.dtype) or ""
        try:
            name = suffix(source, result)
        except ValueError:
            return None
        if source != other:
            return None
        (batch, m, k), n = lhs.shape, rhs.shape[2]
        scratch = Matmul(source, result, batch, m, n, k).scratch(self.target)
        itemsize = lhs.base.aval.dtype.itemsize
        given = {
            "a": Address(0, lhs.offset * itemsize),
            "b": Address(1, rhs.offset * itemsize),
            "c": Address(2, 0),
            "scratch": Address(3, 0) if scratch else 0,
            **dict(zip(("a_batch", "a_row", "a_col"), lhs.strides, strict=True)),
            **dict(zip(("b_batch", "b_row", "b_col"), rhs.strides, strict=True)),
            "batch": batch,
            "m": m,
            "n": n,
            "k": k,
            "c_batch": m * n,
            "c_row": n,
        }
        words = tuple(given.get(param, 0) for param in PARAMS)
        return (LibraryCall(f"fg_matmul_{name}", words),), scratch

    def convolution(self, eqn: Eqn) -> Calls | None:
        lhs, rhs = (v.aval for v in eqn.invars)
        settings = lowering.convolutions[eqn.primitive](**eqn.params)
        dtype = element_type(lhs.dtype) or ""
        out_dtype = element_type(eqn.outvars[0].aval.dtype)
        if element_type(rhs.dtype) != dtype:
            return None
        found = plan(self.target, lhs.shape, rhs.shape, dtype, out_dtype=out_dtype, **settings)
        if found is None:
            return None
        number = {"lhs": 0, "rhs": 1, "out": 2, "scratch": 3}
        calls = [
            LibraryCall(
                call.symbol,
                (*(Address(number[name], at) for name, at in call.addresses), *call.values),
            )
            for call in found.calls
        ]
        return tuple(calls), found.scratch


def symbols(names: Iterable[str]) -> dict[str, int]:
    """Where the functions that a program calls are; those not met before are made now."""
    found = {}
    own = pool.symbols()
    for name in names:
        found[name] = own[name] if name in own else engine.library(name, own).address(name)
    return found
