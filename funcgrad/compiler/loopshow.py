"""Kernels as text: loops, accumulators and stores, with a name for whatever is used twice."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from funcgrad.compiler.loops import (
    FLOATS,
    Expr,
    Index,
    Kernel,
    Loop,
    Prefix,
    Reduce,
    Statement,
    Store,
    combined_by,
    ordered,
    roots,
    walk,
)
from funcgrad.compiler.lowering import numpy_dtype

INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "rem": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
PREFIX = {"neg": "-", "not": "~"}
LEAVES = frozenset({"const", "index", "acc", "param"})
# Characters from which an expression gets a name though it is used once.
LONG = 48
INDENT = "  "


class Text(NamedTuple):
    """An expression as written, and whether it stands without parentheses inside another."""

    text: str
    closed: bool

    @property
    def inside(self) -> str:
        return self.text if self.closed else f"({self.text})"


def show_kernel(kernel: Kernel, name: str) -> str:
    """The text of a kernel; operands are called in0, in1, ... and out0, out1, ..."""
    names = operand_names(kernel)
    operands = ", ".join(f"{n}: {o.dtype}" for n, o in zip(names, kernel.operands, strict=True))
    statements = list(walk(kernel.body))
    used = [e for s in statements for e in (*roots(s), *combined_by(s))]
    writer = ExpressionWriter(used, lambda operand, at: f"{names[operand]}[{at}]")
    lines = [f"kernel {name}({operands}):", *body_lines(kernel, kernel.body, writer, names)]
    return "\n".join(lines)


def operand_names(kernel: Kernel) -> list[str]:
    counts = {"in": 0, "out": 0}
    names = []
    for operand in kernel.operands:
        kind = "out" if operand.written else "in"
        names.append(f"{kind}{counts[kind]}")
        counts[kind] += 1
    return names


def body_lines(
    kernel: Kernel, body: Sequence[Statement], writer: "ExpressionWriter", names: Sequence[str]
) -> list[str]:
    """The lines of a loop's body, or of the kernel's."""
    known, lines = dict(writer.known), []
    for statement in body:
        if isinstance(statement, Loop):
            lines += [f"acc{a.number}: {a.dtype} = {a.start}" for a in statement.accs]
            lines.append(loop_head(kernel, statement))
            lines += body_lines(kernel, statement.body, writer, names)
        elif isinstance(statement, (Reduce, Prefix)):
            lines += reduce_lines(statement, writer)
        else:
            lines += store_lines(statement, writer, names)
    writer.known = known
    return [INDENT + line for line in lines]


def loop_head(kernel: Kernel, loop: Loop) -> str:
    extent = kernel.extents[loop.axis]
    step = f", {loop.lanes} at a time" if loop.lanes > 1 else ""
    return f"for {axis_name(loop.axis)} in range({extent}){step}:"


def reduce_lines(reduce: Reduce | Prefix, writer: "ExpressionWriter") -> list[str]:
    """Folding values into accumulators; the Combine's params are written as what they stand for."""
    lines, count, combine = [], len(reduce.accs), reduce.combine
    values = []
    for value, param in zip(reduce.values, combine.params[count:], strict=True):
        lines += writer.definitions([value], often=writer.uses.get(param, 0) > 1)
        values.append(writer.known[value])
    known = dict(writer.known)
    accs = [Text(f"acc{number}", True) for number in reduce.accs]
    for node in ordered(combine.results):
        if node.op == "param":
            number = combine.params.index(node)
            writer.known[node] = accs[number] if number < count else values[number - count]
        else:
            writer.known.pop(node, None)
    lines += writer.definitions(combine.results)
    results = ", ".join(writer.known[r].text for r in combine.results)
    writer.known = known
    return [*lines, f"{', '.join(a.text for a in accs)} = {results}"]


def store_lines(store: Store, writer: "ExpressionWriter", names: Sequence[str]) -> list[str]:
    lines = writer.definitions(list(roots(store)))
    place = f"{names[store.operand]}[{writer.position(store.offset)}]"
    text = f"{place} = {writer.known[store.value].text}"
    if store.guard is not None:
        text = f"if {writer.known[store.guard].text}: {text}"
    return [*lines, text]


class ExpressionWriter:
    """Writes expressions, giving a name to each that is used more than once or is long.

    `read` writes an element of an operand, given its number and the text of its offset.
    Expressions of the operations listed in `leaves` get no name.
    """

    def __init__(
        self,
        used: Sequence[Expr],
        read: Callable[[int, str], str],
        leaves: frozenset[str] = LEAVES,
    ):
        self.read, self.leaves = read, leaves
        self.known: dict[Expr, Text] = {}  # what has been written, and what is in sight by name
        self.named = 0
        self.uses: dict[Expr, int] = {}
        for node in (*used, *(a for n in ordered(used) for a in n.args)):
            self.uses[node] = self.uses.get(node, 0) + 1

    def definitions(self, nodes: Sequence[Expr], often: bool = False) -> list[str]:
        """The lines that name what the nodes are made of; afterwards all of it is known.

        With `often`, the nodes themselves are about to be used more than once.
        """
        lines, asked = [], set(nodes) if often else ()
        for node in ordered(nodes):
            if node in self.known:
                continue
            text = self.written(node)
            twice = self.uses.get(node, 0) > 1 or node in asked
            if node.op not in self.leaves and (twice or len(text.text) > LONG):
                lines.append(f"x{self.named}: {node.dtype} = {text.text}")
                text = Text(f"x{self.named}", True)
                self.named += 1
            self.known[node] = text
        return lines

    def written(self, node: Expr) -> Text:
        args = [self.known[a] for a in node.args]
        if node.op == "const":
            return constant_text(node)
        if node.op == "index":
            index = Index(*node.data)
            return Text(self.position(index), len(index.terms) + bool(index.const) < 2)
        if node.op in ("acc", "param"):
            return Text(f"{node.op}{node.data}", True)
        if node.op == "read":
            return self.element(node, args)
        if node.op in INFIX:
            return Text(f"{args[0].inside} {INFIX[node.op]} {args[1].inside}", False)
        if node.op in PREFIX:
            return Text(f"{PREFIX[node.op]}{args[0].inside}", False)
        name = {"convert": node.dtype, "bitcast": f"bits_{node.dtype}"}.get(node.op, node.op)
        return Text(f"{name}({', '.join(a.text for a in args)})", True)

    def element(self, node: Expr, args: Sequence[Text]) -> Text:
        operand, const, terms, coeffs, guarded = node.data
        dynamic = tuple(zip(node.args, coeffs, strict=False))
        text = self.read(operand, self.position(Index(const, terms, dynamic)))
        return Text(f"{text} if {args[-1].text} else 0", False) if guarded else Text(text, True)

    def position(self, index: Index) -> str:
        """An index as a sum."""
        parts = [(c, axis_name(a)) for a, c in index.terms]
        parts += [(c, self.known[e].inside) for e, c in index.dynamic]
        text = ""
        for coeff, name in parts:
            size = name if abs(coeff) == 1 else f"{abs(coeff)}*{name}"
            text = joined(text, coeff < 0, size)
        if index.const or not text:
            text = joined(text, index.const < 0, str(abs(index.const)))
        return text


def joined(text: str, negative: bool, size: str) -> str:
    """A sum with one more term."""
    if not text:
        return f"-{size}" if negative else size
    return f"{text} {'-' if negative else '+'} {size}"


def constant_text(node: Expr) -> Text:
    """A constant in as few digits as tell it from its neighbours."""
    if node.dtype in FLOATS:
        text = str(numpy_dtype(node.dtype).type(float.fromhex(node.data)))
    else:
        text = str(node.data)
    return Text(text, True)


def axis_name(axis: int) -> str:
    letters = "ijklmn"
    return letters[axis] if axis < len(letters) else f"i{axis}"
