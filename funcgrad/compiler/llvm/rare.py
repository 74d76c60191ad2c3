"""What only matters where a rare test holds: expressions that nothing needs but the selects of one
test, for the case that it is true. They are skipped where it is true in no lane.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from funcgrad.compiler.loops import Expr, ordered


class Region(NamedTuple):
    """Expressions to compute only if a test holds somewhere."""

    test: Expr
    before: tuple[Expr, ...]  # what they depend on, with all it is made of
    inputs: tuple[Expr, ...]
    nodes: tuple[Expr, ...]  # each after those it depends on
    results: tuple[Expr, ...]  # those that the selects take


def is_rare(node: Expr) -> bool:
    return node.op == "select" and node.data == "rare"


def regions(
    nodes: Sequence[Expr], roots: Sequence[Expr], statements: Iterable[Sequence[Expr]]
) -> tuple[dict[Expr, Expr], list[Region]]:
    """The test that each skippable node belongs to, and the regions; nodes come in order, all of
    them and those of each statement.
    """
    if not any(is_rare(node) for node in nodes):
        return {}, []
    owners = _owners(nodes, roots, statements)
    found = []
    for test in dict.fromkeys(owners.values()):
        owned = tuple(node for node in nodes if owners.get(node) is test)
        inputs = {test}
        results = set()
        for node in nodes:
            if is_rare(node) and node.args[0] is test:
                results.add(node.args[1])
        for node in owned:
            for place, arg in enumerate(node.args):
                owner = owners.get(arg)
                nested = place == 1 and is_rare(node) and owner is node.args[0]
                if owner is not test and not nested:
                    inputs.add(arg)
        taken = tuple(node for node in owned if node in results)
        found.append(Region(test, tuple(ordered(list(inputs))), tuple(inputs), owned, taken))
    return owners, found


def _owners(
    nodes: Sequence[Expr], roots: Sequence[Expr], statements: Iterable[Sequence[Expr]]
) -> dict[Expr, Expr]:
    """The test without which nothing would need a node, innermost, for the nodes that have one."""
    owners: dict[Expr, Expr | None] = dict.fromkeys(roots)
    for node in reversed(nodes):
        owner = owners.get(node)
        for place, arg in enumerate(node.args):
            mine = node.args[0] if place == 1 and is_rare(node) else owner
            owners[arg] = mine if owners.setdefault(arg, mine) is mine else None
    # A region whose nodes need one of its selects cannot be written before all of these.
    within = _selects_before(nodes)
    refused = {test for node, test in owners.items() if test in within[node]}
    refused |= _apart(nodes, owners, statements)
    return {n: test for n, test in owners.items() if test is not None and test not in refused}


def _apart(
    nodes: Sequence[Expr],
    owners: Mapping[Expr, Expr | None],
    statements: Iterable[Sequence[Expr]],
) -> set[Expr]:
    """The tests whose nodes need axes or accumulators that some statement with the test lacks."""
    known: dict[Expr, frozenset] = {}
    wanted: dict[Expr, set] = {}
    for node in nodes:
        own = [node.data] if node.op == "acc" else []
        terms = {"index": 1, "read": 2}.get(node.op)
        axes = [("axis", a) for a, _ in node.data[terms]] if terms is not None else []
        known[node] = frozenset((*own, *axes)).union(*[known[arg] for arg in node.args])
        owner = owners.get(node)
        if owner is not None:
            wanted.setdefault(owner, set()).update(known[node])
    found = set()
    for order in statements:
        here = frozenset().union(*[known[node] for node in order])
        tests = {node.args[0] for node in order if is_rare(node)}
        found |= {test for test in tests if not wanted.get(test, set()) <= here}
    return found


def _selects_before(nodes: Sequence[Expr]) -> dict[Expr, frozenset[Expr]]:
    """The tests of the rare selects that each node depends on."""
    found: dict[Expr, frozenset[Expr]] = {}
    for node in nodes:
        tests = frozenset().union(*[found[arg] for arg in node.args])
        found[node] = tests | {node.args[0]} if is_rare(node) else tests
    return found
