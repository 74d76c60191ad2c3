"""The convolution for a few output features: each is the dot product, in vectors over the input
features, of what all taps meet and their weights."""

from funcgrad.compiler.llvm.conv.forward import (
    PANEL,
    PARAMS,
    declarations,
    entry_function,
    multiply_add,
    units_function,
)
from funcgrad.compiler.llvm.conv.places import address, places_function, row_of_tap, tile_rows
from funcgrad.compiler.llvm.elements import BYTES, REGISTER, register
from funcgrad.compiler.llvm.functions import Function
from funcgrad.compiler.llvm.target import Target


def module(target: Target, dtype: str) -> str:
    """The text of `fg_conv_few_<dtype>`, with the parameters of `fg_conv_dense_<dtype>`: a panel
    is one output feature, and there are whole vectors of input features."""
    rows, lanes = tile_rows(target), target.lanes(dtype)
    scalar, vector = REGISTER[dtype], register(dtype, lanes)
    return "\n".join(
        [
            *declarations(target, dtype),
            f"declare {scalar} @llvm.vector.reduce.fadd.v{lanes}{dtype}({scalar}, {vector})",
            places_function(PARAMS, rows),
            _panel_function(target, dtype, rows),
            units_function(rows),
            entry_function(PARAMS, f"fg_conv_few_{dtype}"),
        ]
    )


def _panel_function(target: Target, dtype: str, rows: int) -> str:
    """@panel(p, panel, weights, tiles, count, offsets, taps): tiles of places for one output."""
    f = Function("panel", PANEL)
    lanes, size = target.lanes(dtype), BYTES[dtype]
    scalar, vector = REGISTER[dtype], register(dtype, lanes)
    column = f.mul("%panel", size)
    length = f.mul(PARAMS.load(f, "%p", "inputs"), size)
    tile_bytes = PARAMS.load(f, "%p", "tile_bytes")
    zero = [(vector, "zeroinitializer")] * rows
    with f.loop(0, "%count") as number:
        tile = f.at("%tiles", f.mul(number.index, tile_bytes))
        with f.loop(0, "%taps", 1, *zero) as tap:
            table = row_of_tap(f, tile, tap.index)
            pointers = [address(f, f.at(table, 8 * r)) for r in range(rows)]
            weights = f.at("%weights", f.load("i64", f.at("%offsets", f.mul(tap.index, 8))))
            carried = [(vector, value) for value in tap.values]
            with f.loop(0, length, lanes * size, *carried) as inner:
                w = f.load(dtype, f.at(weights, inner.index), lanes)
                for r, pointer in enumerate(pointers):
                    x = f.load(dtype, f.at(pointer, inner.index), lanes)
                    inner.next[r] = multiply_add(f, target, dtype, x, w, inner.values[r])
            tap.next = inner.values
        reduce = f"@llvm.vector.reduce.fadd.v{lanes}{dtype}"
        for r in range(rows):
            # Adding to -0 changes nothing.
            terms = f"{scalar} -0.0, {vector} {tap.values[r]}"
            total = f.assign(f"call reassoc {scalar} {reduce}({terms})")
            f.store(dtype, total, f.at(address(f, f.at(tile, 8 * r)), column))
    return f.text()
