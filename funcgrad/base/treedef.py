"""Structures: what is left of a tree when its leaves are taken out, and how to put leaves back.

A structure is the heads of the tree's nodes in the order in which they are met, with None where a
leaf was. Flattening writes that list; a structure met before is found again as the same object.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn, SupportsIndex
from weakref import WeakValueDictionary

from funcgrad.base import treeproto
from funcgrad.base.keypaths import KeyPath
from funcgrad.base.treediff import (
    differences,
    look_at_structure,
    look_at_tree,
    none_hint,
    shorten,
    stops,
    tell,
)
from funcgrad.base.treekinds import NAMEDTUPLE, TUPLE, head_of_data, kind_of, kind_of_type
from funcgrad.base.treenodes import Head, Kind, same_head

KEPT_STRUCTURES = 1024

Token = Head | None
IsLeaf = Callable[[Any], Any]


class PyTreeDef:
    """The structure of a pytree: everything but its leaves.

    Compares and hashes by structure, metadata of custom nodes included, and can be pickled if
    that metadata can. Get one from `tree_structure` or `tree_flatten`.

    Attributes:
        num_leaves: how many leaves the structure has places for.
        num_nodes: how many nodes it has, leaves counted.
    """

    __slots__ = ("__weakref__", "_children", "_hash", "head", "num_leaves", "num_nodes", "tokens")

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self.tokens = tokens
        self.head = tokens[0]
        self.num_nodes = len(tokens)
        self.num_leaves = tokens.count(None)
        self._hash: int | None = None
        self._children: tuple[PyTreeDef, ...] | None = None

    def unflatten(self, leaves: Iterable[Any], /) -> Any:
        """Make a tree of this structure from its leaves in order; see `tree_unflatten`."""
        values = list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"This structure has {self.num_leaves} leaves, got {len(values)}: "
                f"{shorten(repr(self))}"
            )
        if self.head is None:
            return values[0]
        return _assemble(self, iter(values))

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
        return align(self, tree, "the structure", "the tree")

    def children(self) -> list[PyTreeDef]:
        """The structures one step below the root."""
        return list(self.parts)

    @property
    def parts(self) -> tuple[PyTreeDef, ...]:
        if self._children is None:
            self._children = tuple([structure_of(tokens) for tokens in _split(self.tokens)])
        return self._children

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
        values = list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(f"This structure has {self.num_leaves} leaves, got {len(values)}.")
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
        return _join(head_of_data(*node_data, len(parts)), parts)

    def serialize_using_proto(self) -> bytes:
        """The structure as bytes that JAX reads too; dicts with string keys, lists, tuples, None."""
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
        if all([head is None or head.plain for head in tokens]):
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


def _join(head: Head, parts: Iterable[PyTreeDef]) -> PyTreeDef:
    tokens: list[Token] = [head]
    for part in parts:
        tokens += part.tokens
    return structure_of(tuple(tokens))


def tree_flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """Take a tree apart into its leaves and its structure.

    Tuples, lists, dicts, namedtuples, OrderedDicts, defaultdicts, None and registered types are
    nodes; all else is a leaf. Leaves come in depth-first order, those of a dict by sorted key.

    Args:
        tree: any value.
        is_leaf: asked at each node, from the root down; where it returns True the whole subtree
            is one leaf.

    Returns:
        The list of leaves, and the structure that `tree_unflatten` takes.

    Raises:
        ValueError: a dict's keys cannot be sorted, or `is_leaf` returned no bool.

    Example:
        >>> tree_flatten({"b": 1, "a": (2, None)})
        ([2, 1], PyTreeDef({'a': (*, None), 'b': *}))
    """
    leaves: list[Any] = []
    tokens: list[Token] = []
    try:
        if is_leaf is not None:
            _scan_until(tree, is_leaf, leaves, tokens)
        else:
            kind = kind_of(tree)
            if kind is None:
                return [tree], LEAF
            _scan(tree, kind, leaves, tokens)
    except RecursionError:
        _too_deep()
    return leaves, structure_of(tuple(tokens))


def _scan(node: Any, kind: Kind, leaves: list[Any], tokens: list[Token]) -> None:
    """Append the leaves and heads of a node."""
    head, children = kind.open(node)
    tokens.append(head)
    for child in children:
        child_kind = kind_of_type(type(child))
        if child_kind is None:
            if not isinstance(child, tuple) or not hasattr(child, "_fields"):
                leaves.append(child)
                tokens.append(None)
                continue
            child_kind = NAMEDTUPLE
        _scan(child, child_kind, leaves, tokens)


def _scan_until(tree: Any, is_leaf: IsLeaf, leaves: list[Any], tokens: list[Token]) -> None:
    """Append the leaves and heads of a tree, down to where `is_leaf` says stop."""
    kind = None if stops(is_leaf(tree)) else kind_of(tree)
    if kind is None:
        leaves.append(tree)
        tokens.append(None)
        return
    head, children = kind.open(tree)
    tokens.append(head)
    for child in children:
        _scan_until(child, is_leaf, leaves, tokens)


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., Any] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Take a tree apart into its leaves, each with its key path, and its structure.

    Args:
        tree: any value.
        is_leaf: as in `tree_flatten`.
        is_leaf_takes_path: call `is_leaf(path, node)`, not `is_leaf(node)`.

    Returns:
        A list of (key path, leaf), and the structure.

    Example:
        >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"a": (1, 2)})[0]]
        [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    if is_leaf is None or is_leaf_takes_path:
        until = is_leaf
    else:

        def until(path: KeyPath, node: Any) -> Any:
            return is_leaf(node)

    leaves: list[tuple[KeyPath, Any]] = []
    tokens: list[Token] = []
    try:
        _scan_with_path((), tree, until, leaves, tokens)
    except RecursionError:
        _too_deep()
    return leaves, structure_of(tuple(tokens))


def _scan_with_path(
    path: KeyPath,
    tree: Any,
    is_leaf: Callable[[KeyPath, Any], Any] | None,
    leaves: list[tuple[KeyPath, Any]],
    tokens: list[Token],
) -> None:
    """Append the leaves, with their paths, and heads of a tree."""
    kind = None if is_leaf is not None and stops(is_leaf(path, tree)) else kind_of(tree)
    if kind is None:
        leaves.append((path, tree))
        tokens.append(None)
        return
    head, keys, children = kind.open_keyed(tree)
    tokens.append(head)
    for key, child in zip(keys, children):
        _scan_with_path((*path, key), child, is_leaf, leaves, tokens)


def _too_deep() -> NoReturn:
    raise RecursionError(
        "This pytree is nested deeper than Python's recursion limit allows, or contains itself."
    ) from None


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Put leaves into a structure: the inverse of `tree_flatten`.

    Args:
        treedef: the structure.
        leaves: one value per leaf, in order; any values, trees included.

    Returns:
        The tree.

    Raises:
        ValueError: the number of leaves is not that of the structure.

    Example:
        >>> leaves, treedef = tree_flatten({"b": 1, "a": 2})
        >>> tree_unflatten(treedef, [10 * leaf for leaf in leaves])
        {'a': 20, 'b': 10}
    """
    return treedef.unflatten(leaves)


def _assemble(treedef: PyTreeDef, leaves: Iterator[Any]) -> Any:
    """Make the node at the root of a structure, taking the leaves it needs."""
    children = []
    for part in treedef.parts:
        if part is LEAF:
            children.append(next(leaves))
        else:
            children.append(_assemble(part, leaves))
    return treedef.head.join(children)


def align(treedef: PyTreeDef, tree: Any, left: str, right: str) -> list[Any]:
    """`treedef.flatten_up_to(tree)`; an error calls the structure `left` and the tree `right`."""
    subtrees: list[Any] = []
    if not _take_apart(treedef, tree, subtrees):
        raise mismatch(treedef, tree, left, right)
    return subtrees


def _take_apart(treedef: PyTreeDef, tree: Any, subtrees: list[Any]) -> bool:
    """Append what stands in the place of each leaf; False if the tree differs before that."""
    head = treedef.head
    if head is None:
        subtrees.append(tree)
        return True
    kind = kind_of(tree)
    if kind is not head.kind:
        return False
    other, children = kind.open(tree)
    if other is not head and not same_head(head, other):
        return False
    for part, child in zip(treedef.parts, children):
        if part is LEAF:
            subtrees.append(child)
        elif not _take_apart(part, child, subtrees):
            return False
    return True


def mismatch(treedef: PyTreeDef, tree: Any, left: str, right: str) -> ValueError:
    """The error that says how a structure is not a prefix of a tree."""
    first = next(differences(treedef, tree, look_at_structure, look_at_tree, prefix=True), None)
    how = f"{tell(first, left, right)}.{none_hint(first)}" if first else "they differ."
    return ValueError(
        f"Tree structures do not match: {how}\n"
        f"  {left}: {shorten(repr(treedef))}\n"
        f"  {right}: {shorten(shown_structure(tree))}"
    )
