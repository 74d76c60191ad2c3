"""Structures: what is left of a tree when its leaves are taken out, and how to put leaves back.

A structure is the heads of the tree's nodes in the order in which they are met, with None where a
leaf was. One that was met before is found again as the same object.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, SupportsIndex
from weakref import WeakValueDictionary

from funcgrad.base import treeproto
from funcgrad.base.treediff import (
    differences,
    look_at_structure,
    look_at_tree,
    none_hint,
    shorten,
    tell,
)
from funcgrad.base.treekinds import DICT, head_of_data, kind_of
from funcgrad.base.treenodes import Head, Token, same_head

KEPT_STRUCTURES = 1024


class PyTreeDef:
    """The structure of a pytree: everything but its leaves.

    Compares and hashes by structure, metadata of custom nodes included, and can be pickled if
    that metadata can. Get one from `tree_structure` or `tree_flatten`.

    Attributes:
        num_leaves: how many leaves the structure has places for.
        num_nodes: how many nodes it has, leaves counted.
    """

    __slots__ = (
        "__weakref__",
        "_hash",
        "_parts",
        "head",
        "is_flat",
        "num_leaves",
        "num_nodes",
        "tokens",
    )

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self.tokens = tokens
        self.head = tokens[0]
        self.num_nodes = len(tokens)
        self.num_leaves = tokens.count(None)
        self.is_flat = self.num_nodes - self.num_leaves == 1  # a node with leaves only
        self._hash: int | None = None
        self._parts: tuple[PyTreeDef, ...] | None = None

    def unflatten(self, leaves: Iterable[Any], /) -> Any:
        """Make a tree of this structure from its leaves in order; see `tree_unflatten`."""
        values = self._counted(leaves)
        if self.head is None:
            return values[0]
        if self.is_flat:
            return self.head.join(values)
        return _assemble(self, iter(values))

    def _counted(self, leaves: Iterable[Any]) -> list[Any]:
        """The leaves, if they are as many as this structure has places for."""
        values = list(leaves)
        if len(values) != self.num_leaves:
            places = "1 leaf" if self.num_leaves == 1 else f"{self.num_leaves} leaves"
            raise ValueError(
                f"This structure has {places}, got {len(values)}: {shorten(repr(self))}"
            )
        return values

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Take a tree apart as far as this structure goes.

        Args:
            tree: a tree that has this structure as a prefix: where the structure has a leaf, the
                tree may have any subtree.

        Returns:
            For each leaf of the structure, the subtree that stands in its place.

        Raises:
            ValueError: the tree differs somewhere else; the message says where and how.

        Example:
            >>> tree_structure((1, [2])).flatten_up_to(({"a": 3}, [4]))
            [{'a': 3}, 4]
        """
        subtrees: list[Any] = []
        if not take_apart(self, tree, subtrees):
            raise mismatch(self, tree, "the structure", "the tree")
        return subtrees

    def children(self) -> list[PyTreeDef]:
        """The structures one step below the root, as a list; none for a leaf."""
        return list(self.parts)

    @property
    def parts(self) -> tuple[PyTreeDef, ...]:
        """The structures one step below the root."""
        if self._parts is None:
            self._parts = tuple(map(structure_of, _split(self.tokens)))
        return self._parts

    def node_data(self) -> tuple[type, Any] | None:
        """The type and metadata of the root (the keys, for a dict); None for a leaf."""
        return None if self.head is None else self.head.kind.node_data(self.head)

    def compose(self, inner: PyTreeDef, /) -> PyTreeDef:
        """The structure with `inner` in place of each leaf."""
        tokens: list[Token] = []
        for token in self.tokens:
            tokens += inner.tokens if token is None else (token,)
        return structure_of(tuple(tokens))

    def walk(
        self,
        f_node: Callable[[tuple[Any, ...], Any], Any],
        f_leaf: Callable[[Any], Any] | None,
        leaves: Iterable[Any],
        /,
    ) -> Any:
        """Fold leaves through the structure, from the bottom up.

        Args:
            f_node: called at each node with the results for its children and its metadata.
            f_leaf: called at each leaf; None leaves them as they are.
            leaves: one value per leaf.

        Returns:
            The result at the root.
        """
        values = self._counted(leaves)
        return _fold(self, f_node, iter(values if f_leaf is None else map(f_leaf, values)))

    def from_iterable_tree(self, nested: Any, /) -> Any:
        """Make a tree of this structure from nested iterables of the same shape."""
        if self.head is None:
            return nested
        children = list(nested)
        if len(children) != self.head.arity:
            raise ValueError(
                f"A node of this structure has {self.head.arity} children, got {len(children)}: "
                f"{shorten(repr(self))}"
            )
        return self.head.join(
            [part.from_iterable_tree(child) for part, child in zip(self.parts, children)]
        )

    @staticmethod
    def from_node_data_and_children(
        registry: Any, node_data: tuple[type, Any] | None, children: Iterable[PyTreeDef]
    ) -> PyTreeDef:
        """Make a structure from what `node_data` and `children` gave.

        Args:
            registry: `default_registry`, the only one there is.
            node_data: type and metadata of the root; None makes a leaf.
            children: the structures below it.
        """
        parts = list(children)
        if node_data is None:
            if parts:
                raise ValueError(f"A leaf has no children, got {len(parts)} with node_data None.")
            return LEAF
        return join(head_of_data(*node_data, len(parts)), parts)

    def serialize_using_proto(self) -> bytes:
        """The structure as bytes that JAX reads too.

        Raises:
            ValueError: it holds more than lists, tuples, None and dicts with string keys.
        """
        return treeproto.encode(self.tokens)

    @staticmethod
    def deserialize_using_proto(registry: Any, data: bytes) -> PyTreeDef:
        """The structure that `serialize_using_proto` wrote; `registry` is `default_registry`."""
        return structure_of(treeproto.decode(data))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return len(self.tokens) == len(other.tokens) and all(
            map(same_head, self.tokens, other.tokens)
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple([t if t is None else t.value_hash for t in self.tokens]))
        return self._hash

    def __repr__(self) -> str:
        return f"PyTreeDef({_show(self)})"

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return _unpickle, (
            [
                None if head is None else (*head.kind.node_data(head), head.arity)
                for head in self.tokens
            ],
        )


def _unpickle(nodes: list[tuple[type, Any, int] | None]) -> PyTreeDef:
    return structure_of(tuple([None if node is None else head_of_data(*node) for node in nodes]))


# Structures in use, and some that were lately: those whose metadata holds on to nothing big.
_structures: WeakValueDictionary[tuple[Token, ...], PyTreeDef] = WeakValueDictionary()
_kept: deque[PyTreeDef] = deque(maxlen=KEPT_STRUCTURES)


def structure_of(tokens: tuple[Token, ...]) -> PyTreeDef:
    """The one structure that has these heads."""
    treedef = _structures.get(tokens)
    if treedef is None:
        treedef = _structures[tokens] = PyTreeDef(tokens)
        if all(head is None or head.plain for head in tokens):
            _kept.append(treedef)
    return treedef


LEAF = structure_of((None,))


def _split(tokens: tuple[Token, ...]) -> Iterator[tuple[Token, ...]]:
    """The tokens of each child of the root."""
    start = 1
    while start < len(tokens):
        end = end_of_subtree(tokens, start)
        yield tokens[start:end]
        start = end


def end_of_subtree(tokens: tuple[Token, ...], start: int) -> int:
    """Where the subtree ends whose root is at `start`."""
    missing = 1
    while missing:
        head = tokens[start]
        missing += -1 if head is None else head.arity - 1
        start += 1
    return start


def join(head: Head, parts: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a node with this head, over these structures."""
    tokens: list[Token] = [head]
    for part in parts:
        tokens += part.tokens
    return structure_of(tuple(tokens))


def _assemble(treedef: PyTreeDef, leaves: Iterator[Any]) -> Any:
    """Make the node at the root of a structure, taking the leaves it needs."""
    head = treedef.head
    if head is None:
        return next(leaves)
    if treedef.is_flat:
        return head.join(islice(leaves, head.arity))
    children: list[Any] = []
    for part in treedef.parts:
        children.append(_assemble(part, leaves))
    return head.join(children)


def take_apart(treedef: PyTreeDef, tree: Any, subtrees: list[Any]) -> bool:
    """Append what stands in the place of each leaf; False if the tree differs before that."""
    head = treedef.head
    if head is None:
        subtrees.append(tree)
        return True
    kind = kind_of(tree)
    if kind is None or kind is not head.kind:
        return False
    other, children = kind.open(tree)
    if other is not head and not same_head(head, other):
        return False
    if treedef.is_flat:
        subtrees += children
        return True
    for part, child in zip(treedef.parts, children):
        if not take_apart(part, child, subtrees):
            return False
    return True


def mismatch(treedef: PyTreeDef, tree: Any, left: str, right: str, more: str = "") -> ValueError:
    """The error that says where a structure is not a prefix of a tree, by what names to call them.

    `more` comes after the structure's printed form.
    """
    found = next(differences(treedef, tree, look_at_structure, look_at_tree, prefix=True), None)
    how = f"{tell(found, left, right)}.{none_hint(found)}" if found else "their nodes disagree."
    return ValueError(
        f"Tree structures do not match: {how}\n  {left}: {shorten(repr(treedef))}{more}"
    )


def _fold(
    treedef: PyTreeDef, f_node: Callable[[tuple[Any, ...], Any], Any], leaves: Iterator[Any]
) -> Any:
    """The result of `walk` at the root of a structure."""
    head = treedef.head
    if head is None:
        return next(leaves)
    results: list[Any] = []
    for part in treedef.parts:
        results.append(_fold(part, f_node, leaves))
    data = list(head.aux) if head.kind is DICT else head.aux
    return f_node(tuple(results), data)


def _show(treedef: PyTreeDef) -> str:
    """How a structure prints, without the name of its class."""
    head = treedef.head
    return "*" if head is None else head.kind.show(head, list(map(_show, treedef.parts)))
