"""The rule tables of interpreters as JAX's users know them: rules that return one output or a list,
and say zero and unknown with objects of their own."""

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

from funcgrad.base.trace import Primitive

Rule = Callable[..., Any]


class RuleTable(MutableMapping[Primitive, Rule]):
    """One of our tables, seen through two conversions.

    Args:
        rules: our table.
        inward: (primitive, rule of the user) -> rule for our table.
        outward: (primitive, rule of our table) -> rule as a user would write it.
    """

    def __init__(
        self,
        rules: dict[Primitive, Callable],
        inward: Callable[[Primitive, Rule], Callable],
        outward: Callable[[Primitive, Callable], Rule],
    ):
        self._rules, self._inward, self._outward = rules, inward, outward
        self._given: dict[Primitive, tuple[Rule, Callable]] = {}

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        converted = self._rules[primitive] = self._inward(primitive, rule)
        self._given[primitive] = (rule, converted)

    def __getitem__(self, primitive: Primitive) -> Rule:
        present = self._rules[primitive]
        given, converted = self._given.get(primitive, (None, None))
        if given is not None and converted is present:
            return given
        return self._outward(primitive, present)

    def __delitem__(self, primitive: Primitive) -> None:
        del self._rules[primitive]
        self._given.pop(primitive, None)

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)


def shown(primitive: Primitive, outs: Sequence) -> Any:
    """A tuple of outputs as a user's rule has it."""
    return list(outs) if primitive.multiple_results else outs[0]
