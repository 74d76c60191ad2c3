"""How many machine vectors a loop takes side by side. An operation waits for the one before it, and
the machine looks ahead no further than a few hundred of them: in a long body it sees too few
vectors at work, unless several go through it together.
"""

from collections.abc import Iterator, Sequence

from funcgrad.compiler.llvm.target import Target
from funcgrad.compiler.loops import Expr, Kernel, Loop, Reduce, Statement, Store, ordered, roots

# Turns below which a call cannot save what more code takes to compile.
LEAST_TURNS = 1 << 17
SIDE_BY_SIDE = 4
# Values at once, in all vectors, from which moving them to memory and back costs more than it
# saves; a few beyond the registers do not.
REGISTERS = {"avx512": 40, "avx2": 20, "sse2": 20, "neon": 40}


def widened(kernel: Kernel, target: Target) -> Kernel:
    """The kernel with more lanes in the loops that gain by them."""
    return kernel._replace(body=tuple(_statements(kernel, kernel.body, target, 1)))


def _statements(
    kernel: Kernel, statements: Sequence[Statement], target: Target, turns: int
) -> Iterator[Statement]:
    for statement in statements:
        if isinstance(statement, Loop):
            inside = turns * kernel.extents[statement.axis]
            body = tuple(_statements(kernel, statement.body, target, inside))
            lanes = _lanes(kernel, statement, target, inside)
            # What plans know of statements, they know by identity.
            if any(old is not new for old, new in zip(statement.body, body)):
                statement = statement._replace(body=body)
            if lanes > statement.lanes:
                statement = statement._replace(lanes=lanes)
        yield statement


def _lanes(kernel: Kernel, loop: Loop, target: Target, turns: int) -> int:
    """The lanes of a loop, which has so many turns in all."""
    if not 1 < loop.lanes <= target.lanes("f32") or turns < LEAST_TURNS:
        return loop.lanes
    if not all(isinstance(s, Reduce | Store) and _in_line(s, loop.axis) for s in loop.body):
        return loop.lanes
    lanes = loop.lanes * SIDE_BY_SIDE
    if kernel.extents[loop.axis] < 2 * lanes:
        return loop.lanes
    nodes = ordered([e for s in loop.body for e in roots(s)])
    alive = most_alive(nodes, loop.axis)
    alive += sum(len(s.accs) for s in loop.body if isinstance(s, Reduce))
    return lanes if alive * SIDE_BY_SIDE <= REGISTERS[target.isa] else loop.lanes


def _in_line(statement: Reduce | Store, axis: int) -> bool:
    """Whether lanes touch neighbours, or one element, in all reads and stores."""
    nodes = ordered(list(roots(statement)))
    places = [(node.data[2], node.data[3]) for node in nodes if node.op == "read"]
    if isinstance(statement, Store):
        places.append((statement.offset.terms, statement.offset.dynamic))
    return all(not dynamic and dict(terms).get(axis, 0) in (-1, 0, 1) for terms, dynamic in places)


def most_alive(nodes: Sequence[Expr], axis: int) -> int:
    """How many of the nodes that differ from lane to lane are needed at one time, at most."""
    varying: set[Expr] = set()
    last: dict[Expr, int] = {}
    for place, node in enumerate(nodes):
        if _along(node, axis) or any(arg in varying for arg in node.args):
            varying.add(node)
            last[node] = place
            last.update((arg, place) for arg in node.args if arg in varying)
    alive = most = 0
    ends = [0] * len(nodes)
    for place in last.values():
        ends[place] += 1
    for place, node in enumerate(nodes):
        alive += node in varying
        most = max(most, alive)
        alive -= ends[place]
    return most


def _along(node: Expr, axis: int) -> bool:
    if node.op == "read":
        return axis in dict(node.data[2])
    return node.op == "index" and axis in dict(node.data[1])
