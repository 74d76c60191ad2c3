"""A function whose loops and branches are `with` blocks, for code whose sizes are arguments."""

from collections.abc import Iterator
from contextlib import contextmanager

from funcgrad.compiler.llvm.elements import BYTES, register
from funcgrad.compiler.llvm.writer import Writer


class Loop:
    """A loop being written: its index, the values it carries, and what they become next."""

    def __init__(self, index: str, values: list[str]):
        self.index = index
        self.values = values  # in the body the present ones, after the loop the last ones
        self.next = list(values)


class Function(Writer):
    """One function that returns nothing. Integers are i64 unless another type is named."""

    def __init__(self, name: str, params: str, linkage: str = "internal "):
        super().__init__()
        self.head = f"define {linkage}void @{name}({params}) nounwind {{"
        self.begin("start")

    def begin(self, label: str) -> None:
        super().begin(label)
        self.block = label

    def text(self) -> str:
        return "\n".join([self.head, *self.lines, "  ret void", "}"])

    def add(self, x: str | int, y: str | int) -> str:
        return self.assign(f"add i64 {x}, {y}")

    def sub(self, x: str | int, y: str | int) -> str:
        return self.assign(f"sub i64 {x}, {y}")

    def mul(self, x: str | int, y: str | int) -> str:
        return self.assign(f"mul i64 {x}, {y}")

    def div(self, x: str | int, y: str | int) -> str:
        return self.assign(f"udiv i64 {x}, {y}")

    def rem(self, x: str | int, y: str | int) -> str:
        return self.assign(f"urem i64 {x}, {y}")

    def parts(self, x: str | int, size: str | int) -> str:
        """How many parts of a size cover x."""
        return self.div(self.add(x, self.sub(size, 1)), size)

    def up(self, x: str | int, size: str | int) -> str:
        """The multiple of size at or above x."""
        return self.mul(self.parts(x, size), size)

    def min(self, x: str | int, y: str | int) -> str:
        return self.choose(self.test(x, "slt", y), x, y)

    def max(self, x: str | int, y: str | int) -> str:
        return self.choose(self.test(x, "sgt", y), x, y)

    def test(self, x: str | int, relation: str, y: str | int) -> str:
        return self.assign(f"icmp {relation} i64 {x}, {y}")

    def all(self, *tests: str) -> str:
        result, *rest = tests
        for test in rest:
            result = self.assign(f"and i1 {result}, {test}")
        return result

    def any(self, *tests: str) -> str:
        result, *rest = tests
        for test in rest:
            result = self.assign(f"or i1 {result}, {test}")
        return result

    def negate(self, test: str) -> str:
        return self.assign(f"xor i1 {test}, true")

    def choose(self, test: str, x: str | int, y: str | int, kind: str = "i64") -> str:
        return self.assign(f"select i1 {test}, {kind} {x}, {kind} {y}")

    def at(self, pointer: str, offset: str | int) -> str:
        """The address so many bytes further."""
        return self.assign(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def load(self, dtype: str, pointer: str, lanes: int = 1) -> str:
        align = BYTES[dtype]
        return self.assign(f"load {register(dtype, lanes)}, ptr {pointer}, align {align}")

    def store(self, dtype: str, value: str, pointer: str, lanes: int = 1) -> None:
        kind, align = register(dtype, lanes), BYTES[dtype]
        self.emit(f"store {kind} {value}, ptr {pointer}, align {align}")

    def prefetch(self, pointer: str, cache: int, write: bool = False) -> None:
        """Have the line of an address come into the first or second cache; any address will do."""
        kind = f"i32 {int(write)}, i32 {4 - cache}, i32 1"
        self.emit(f"call void @llvm.prefetch.p0(ptr {pointer}, {kind})")

    def reserve(self, size: int) -> str:
        """Memory of this call, to be asked for outside loops."""
        return self.assign(f"alloca [{size} x i8], align 64")

    @contextmanager
    def loop(
        self, begin: str | int, end: str | int, step: str | int = 1, *carried: tuple[str, str]
    ) -> Iterator[Loop]:
        """For each index from begin below end, carrying values given as (type, first value)."""
        head, body, done = (self.label(part) for part in ("head", "body", "done"))
        before = self.block
        self.jump(head)
        self.begin(head)
        place = len(self.lines)
        loop = Loop(self.fresh(), [self.fresh() for _ in carried])
        self.branch(self.test(loop.index, "slt", end), body, done)
        self.begin(body)
        yield loop
        phis = [("i64", loop.index, begin, self.add(loop.index, step))]
        for (kind, first), value, following in zip(carried, loop.values, loop.next, strict=True):
            phis.append((kind, value, first, following))
        self.lines[place:place] = [
            f"  {value} = phi {kind} [ {first}, %{before} ], [ {following}, %{self.block} ]"
            for kind, value, first, following in phis
        ]
        self.jump(head)
        self.begin(done)

    @contextmanager
    def when(self, test: str) -> Iterator[None]:
        """If the test holds."""
        then, done = self.label("then"), self.label("join")
        self.branch(test, then, done)
        self.begin(then)
        yield
        self.jump(done)
        self.begin(done)

    def leave(self) -> None:
        """Return."""
        self.emit("ret void")
        self.begin(self.label("never"))

    def leave_when(self, test: str) -> None:
        """Return if the test holds."""
        with self.when(test):
            self.leave()
