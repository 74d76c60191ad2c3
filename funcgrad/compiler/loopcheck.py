"""What a well-formed kernel is: every node of the right types, over axes and accumulators that have
a value where it stands, and no lane of a vector reading what another one writes.
"""

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from funcgrad.compiler.loops import (
    BINARY,
    BITS,
    BITWISE,
    COMPARISONS,
    COUNTS,
    DTYPES,
    FLOAT_UNARY,
    FLOATS,
    INTEGERS,
    SHIFTS,
    UNARY,
    Acc,
    Combine,
    Expr,
    Index,
    Kernel,
    Loop,
    Prefix,
    Reduce,
    Statement,
    Store,
    ordered,
    roots,
    walk,
)

NUMBERS = (*INTEGERS, *FLOATS)
# The number of operands of an operation, and the types it takes.
OPERATIONS: dict[str, tuple[int, tuple[str, ...]]] = {
    **dict.fromkeys(FLOAT_UNARY, (1, FLOATS)),
    **dict.fromkeys(UNARY, (1, NUMBERS)),
    **dict.fromkeys(BINARY, (2, NUMBERS)),
    **dict.fromkeys(BITWISE, (2, ("bool", *INTEGERS))),
    **dict.fromkeys(SHIFTS, (2, INTEGERS)),
    **dict.fromkeys(COUNTS, (1, INTEGERS)),
    **dict.fromkeys(COMPARISONS, (2, DTYPES)),
    "not": (1, ("bool", *INTEGERS)),
    "min": (2, DTYPES),
    "max": (2, DTYPES),
    "fma": (3, FLOATS),
    "mulhi": (2, ("u32", "u64")),
}


class MalformedKernel(AssertionError):
    """A kernel that breaks the rules of the loop IR: whoever built it has a bug."""


class Scope(NamedTuple):
    """What has a value at a statement."""

    axes: tuple[int, ...]  # of the loops around it, outermost first
    vector: Loop | None  # the vector loop among these
    open: dict[int, Loop]  # accumulators being folded into, with their loops
    done: dict[int, Acc]  # accumulators that can be read: their loop has ended, or by a Prefix


def check(kernel: Kernel) -> None:
    """Raise MalformedKernel if a kernel is not well formed."""
    _Check(kernel).run()


class _Check:
    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.accs: dict[int, Acc] = {}
        self.combines: dict[int, tuple[tuple[int, ...], Combine]] = {}
        self.prefixed: set[int] = set()

    def run(self) -> None:
        kernel = self.kernel
        for operand in kernel.operands:
            if operand.dtype not in DTYPES:
                self.fail(operand, f"has no element type of the loop IR ({', '.join(DTYPES)})")
        if any(not isinstance(extent, int) or extent < 0 for extent in kernel.extents):
            self.fail(kernel.extents, "are not the lengths of axes")
        if kernel.divisible:
            (first, *others) = kernel.body or (None,)
            if others or not isinstance(first, Loop) or first.accs:
                self.fail(kernel.body, "is not one loop without accumulators, yet divisible")
        self.statements(kernel.body, Scope((), None, {}, {}))

    def fail(self, what: object, why: str) -> NoReturn:
        text = str(what)
        raise MalformedKernel(f"{text if len(text) < 400 else text[:400] + '...'} {why}.")

    # statements

    def statements(self, statements: Sequence[Statement], scope: Scope) -> None:
        scope = scope._replace(done=dict(scope.done))
        for statement in statements:
            if isinstance(statement, Loop):
                self.loop(statement, scope)
                scope.done.update({acc.number: acc for acc in statement.accs})
                continue
            for node in ordered(tuple(roots(statement))):
                self.node(node, scope)
            if isinstance(statement, (Reduce, Prefix)):
                self.reduce(statement, scope)
                if isinstance(statement, Prefix):
                    scope.done.update({acc: self.accs[acc] for acc in statement.accs})
            else:
                self.store(statement, scope)

    def loop(self, loop: Loop, scope: Scope) -> None:
        where = f"The loop over axis {loop.axis}"
        if not 0 <= loop.axis < len(self.kernel.extents):
            self.fail(where, f"is over none of the {len(self.kernel.extents)} axes")
        if loop.axis in scope.axes:
            self.fail(where, "stands inside another one over the same axis")
        if loop.lanes < 1 or loop.lanes & (loop.lanes - 1):
            self.fail(where, f"has {loop.lanes} lanes, which is no power of two")
        if loop.lanes > 1:
            if scope.vector is not None:
                self.fail(where, f"is a vector loop inside that over axis {scope.vector.axis}")
            scope = scope._replace(vector=loop)
            self.lanes_apart(loop)
        for acc in loop.accs:
            if acc.number in self.accs:
                self.fail(acc, "has the number of another accumulator")
            if acc.dtype not in DTYPES:
                self.fail(acc, "has no element type of the loop IR")
            self.accs[acc.number] = acc
        inside = scope.open | {acc.number: loop for acc in loop.accs}
        self.statements(loop.body, scope._replace(axes=(*scope.axes, loop.axis), open=inside))

    def lanes_apart(self, loop: Loop) -> None:
        """No lane may read an element that another lane of the same vector writes."""
        stores: dict[int, Index] = {}
        for statement in walk(loop.body):
            if isinstance(statement, Store):
                stores[statement.operand] = statement.offset
        for statement in walk(loop.body) if stores else ():
            for node in ordered(tuple(roots(statement))):
                if node.op != "read" or node.data[0] not in stores:
                    continue
                offset, step = stores[node.data[0]], dict(node.data[2]).get(loop.axis, 0)
                if offset.dynamic or node.data[3] or not step == offset.coeff(loop.axis) != 0:
                    self.fail(
                        repr(node),
                        f"reads operand {node.data[0]} in a vector loop over axis {loop.axis} that "
                        f"stores to it at {offset}: lanes may meet",
                    )

    def reduce(self, statement: Reduce | Prefix, scope: Scope) -> None:
        accs, combine, values = statement
        loops = [scope.open.get(acc) for acc in accs]
        if not accs or None in loops:
            self.fail(statement, "folds into accumulators of no loop around it")
        if any(loop is not loops[0] for loop in loops):
            self.fail(statement, "folds into accumulators of different loops at once")
        alone = self.combines if isinstance(statement, Prefix) else self.prefixed
        if any(acc in alone for acc in accs):
            self.fail(statement, "folds into what a Prefix folds into, which has to be alone")
        if isinstance(statement, Prefix):
            self.prefixed.update(accs)
            self.lanes_in_order(statement, loops[0], scope)
        known = self.combines.setdefault(accs[0], (accs, combine))
        if any(self.combines.setdefault(acc, known) is not known for acc in accs) or (
            known[0] != accs or known[1].results != combine.results
        ):
            self.fail(statement, f"folds into what {known} folds into, in another way")
        dtypes = tuple(self.accs[acc].dtype for acc in accs)
        for what, found, wanted in (
            ("values", values, dtypes),
            ("params", combine.params, dtypes * 2),
            ("results", combine.results, dtypes),
        ):
            if tuple(e.dtype for e in found) != wanted:
                self.fail(statement, f"has {what} that are not of the types {wanted}")
        if len(combine.identity) != len(accs):
            self.fail(statement, "does not give one identity for each accumulator")
        for node in ordered(combine.results):
            if node.op == "param":
                if node not in combine.params:
                    self.fail(repr(node), f"is none of the params of {combine}")
            elif node.op in ("read", "index", "acc"):
                self.fail(repr(node), f"is neither a param nor a constant, in {combine}")
            else:
                self.types(node)

    def lanes_in_order(self, statement: Prefix, loop: Loop | None, scope: Scope) -> None:
        """The lanes of a vector follow each other, or each has accumulators of its own."""
        if scope.vector is None or loop is None:
            return
        vector = scope.axes.index(scope.vector.axis)
        if scope.axes.index(loop.axis) <= vector < len(scope.axes) - 1:
            self.fail(
                statement,
                f"stands in a loop inside the vector loop over axis {scope.vector.axis}, whose "
                "lanes share its accumulators: they would not be gone through in order",
            )

    def store(self, statement: Store, scope: Scope) -> None:
        operand, offset, value, guard = statement
        if not 0 <= operand < len(self.kernel.operands):
            self.fail(statement, f"stores to none of {len(self.kernel.operands)} operands")
        if not self.kernel.operands[operand].written:
            self.fail(statement, "stores to an operand that is not marked as written")
        if value.dtype != self.kernel.operands[operand].dtype:
            self.fail(statement, f"stores {value.dtype} to {self.kernel.operands[operand].dtype}")
        if guard is not None and guard.dtype != "bool":
            self.fail(statement, f"is guarded by {guard.dtype}, not by a bool")
        self.place(statement, offset.const, offset.terms, scope, bool(offset.dynamic or guard))
        if any(expr.dtype != "i64" for expr, _ in offset.dynamic):
            self.fail(statement, "has a dynamic part of its offset that is not i64")

    def place(
        self,
        what: object,
        const: int,
        terms: Sequence[tuple[int, int]],
        scope: Scope,
        open_ended: bool,
    ) -> None:
        least = const
        for axis, coeff in terms:
            if axis not in scope.axes:
                self.fail(what, f"depends on axis {axis}, and no loop over it is around")
            if coeff == 0:
                self.fail(what, f"has a term of axis {axis} that is zero")
            least += min(coeff * (self.kernel.extents[axis] - 1), 0)
        if least < 0 and not open_ended and 0 not in self.kernel.extents:
            self.fail(what, f"reaches down to element {least}, without a guard")

    # expressions

    def node(self, node: Expr, scope: Scope) -> None:
        if any(arg.number >= node.number or arg.graph is not node.graph for arg in node.args):
            self.fail(repr(node), "does not come after what it depends on, in one graph")
        if node.op == "index":
            const, terms = node.data
            self.place(repr(node), const, terms, scope, open_ended=True)
            if node.dtype != "i64":
                self.fail(repr(node), f"is an index of type {node.dtype}, not i64")
        elif node.op == "acc":
            if node.data not in scope.done:
                self.fail(repr(node), "is an accumulator of no loop that has ended here")
            if scope.done[node.data].dtype != node.dtype:
                self.fail(repr(node), f"is {node.dtype}, unlike {scope.done[node.data]}")
        elif node.op == "read":
            self.read(node, scope)
        elif node.op == "param":
            self.fail(repr(node), "is a param outside a Combine")
        else:
            self.types(node)

    def read(self, node: Expr, scope: Scope) -> None:
        operand, const, terms, coeffs, guarded = node.data
        if not 0 <= operand < len(self.kernel.operands):
            self.fail(repr(node), f"reads none of {len(self.kernel.operands)} operands")
        if node.dtype != self.kernel.operands[operand].dtype:
            self.fail(repr(node), f"reads {node.dtype} of {self.kernel.operands[operand].dtype}")
        wanted = ["i64"] * len(coeffs) + ["bool"] * guarded
        if [arg.dtype for arg in node.args] != wanted:
            self.fail(repr(node), f"has args that are not {wanted}")
        self.place(repr(node), const, terms, scope, bool(guarded or coeffs))

    def types(self, node: Expr) -> None:
        """The types of an operation's operands and of its result."""
        op, dtypes = node.op, [arg.dtype for arg in node.args]
        if node.dtype not in DTYPES:
            self.fail(repr(node), f"is of type {node.dtype}, which the loop IR does not have")
        if op == "const":
            right = not dtypes and isinstance(node.data, str if node.dtype in FLOATS else int)
        elif op == "select":
            right = dtypes == ["bool", node.dtype, node.dtype]
        elif op == "convert":
            right = len(dtypes) == 1
        elif op == "bitcast":
            right = len(dtypes) == 1 and BITS[dtypes[0]] == BITS[node.dtype]
        elif op in OPERATIONS:
            count, allowed = OPERATIONS[op]
            wanted = "bool" if op in COMPARISONS else dtypes[0]
            right = dtypes == dtypes[:1] * count and dtypes[0] in allowed and node.dtype == wanted
        else:
            self.fail(repr(node), "is no operation of the loop IR")
        if not right:
            self.fail(repr(node), f"does not go from {dtypes} to {node.dtype}")
