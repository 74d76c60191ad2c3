"""What the functions of a matrix product share: what the caller says, and how the work stands."""

from funcgrad.compiler.llvm.functions import Function

# What the caller says, in order. Strides are in elements; c's columns are contiguous. `bias` is the
# address of n elements of c's type to add to each row, or 0. If `accumulate` is 1 the product is
# added to c. `scratch` is the address of as many bytes as `matmul_scratch` says.
PARAMS = (
    "a", "b", "c", "batch", "m", "n", "k", "a_batch", "a_row", "a_col", "b_batch", "b_row", "b_col",
    "c_batch", "c_row", "bias", "accumulate", "flags", "scratch",
)  # fmt: skip
RELU = 1  # a bit of `flags`: negative results become 0, after the bias; not of unsigned types
# What is added: the way it is computed, where packed blocks and sums go, and which block of b is at
# hand. Strides are now in bytes.
STATE = (
    "path", "serial", "pack", "acc", "acc_row", "left", "left_row", "n_first", "n_size", "k_first",
    "k_size", "panels", "panel_bytes", "row_size", "row_parts", "col_size", "col_parts",
)  # fmt: skip
FIELDS = PARAMS + STATE
SLOTS = {name: slot for slot, name in enumerate(FIELDS)}

# A kernel runs parts of what it is given, as `fg_parallel` asks.
KERNEL = "ptr %s, i64 %begin, i64 %end"


class Road(Function):
    """A function that finds sizes and addresses in the state that `state` points to."""

    def __init__(self, name: str, params: str, linkage: str = "internal "):
        super().__init__(name, params, linkage)
        self.state = "%s"

    def get(self, *names: str) -> list[str]:
        return [self.get1(name) for name in names]

    def get1(self, name: str) -> str:
        return self.assign(f"load i64, ptr {self.slot(name)}")

    def pointer(self, name: str) -> str:
        return self.assign(f"load ptr, ptr {self.slot(name)}")

    def put(self, **values: str | int) -> None:
        for name, value in values.items():
            self.emit(f"store i64 {value}, ptr {self.slot(name)}")

    def slot(self, name: str) -> str:
        return self.at(self.state, 8 * SLOTS[name])

    def share(self, kernel: str, extent: str | int, grain: str | int) -> None:
        """Run a kernel over an extent, on every thread unless the state says otherwise."""
        self.emit(f"call void @share(ptr @{kernel}, ptr {self.state}, i64 {extent}, i64 {grain})")

    def finish(self, acc: tuple[str, str], rows: tuple[str, str], cols: tuple[str, str]) -> None:
        """Make sums the result; given where and how far apart, and first and number of each."""
        (place, line), (row, count), (col, width) = acc, rows, cols
        self.emit(
            f"call void @finish(ptr {self.state}, ptr {place}, i64 {line}, i64 {row}, i64 {count}, "
            f"i64 {col}, i64 {width})"
        )


def share() -> str:
    """The function behind `Road.share`."""
    f = Road("share", "ptr %kernel, ptr %s, i64 %extent, i64 %grain")
    with f.when(f.test(f.get1("serial"), "ne", 0)):
        f.emit("call void %kernel(ptr %s, i64 0, i64 %extent)")
        f.leave()
    f.emit("call void @fg_parallel(ptr %kernel, ptr %s, i64 %extent, i64 %grain)")
    return f.text()
