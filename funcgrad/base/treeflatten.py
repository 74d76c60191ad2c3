"""Flattening: a tree taken apart into its leaves and its structure, and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from funcgrad.base.keypaths import KeyPath
from funcgrad.base.treedef import LEAF, PyTreeDef, mismatch, structure_of, take_apart
from funcgrad.base.treediff import shorten, stops
from funcgrad.base.treekinds import NAMEDTUPLE, kind_of, kind_of_type
from funcgrad.base.treenodes import Kind, Token

IsLeaf = Callable[[Any], Any]


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
    leaves: list[tuple[KeyPath, Any]] = []
    tokens: list[Token] = []
    try:
        _scan_with_path((), tree, _asked_with_path(is_leaf, is_leaf_takes_path), leaves, tokens)
    except RecursionError:
        _too_deep()
    return leaves, structure_of(tuple(tokens))


def _asked_with_path(
    is_leaf: Callable[..., Any] | None, takes_path: bool
) -> Callable[[KeyPath, Any], Any] | None:
    if is_leaf is None or takes_path:
        return is_leaf
    return lambda path, node: is_leaf(node)


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


def align(treedef: PyTreeDef, tree: Any, left: str, right: str) -> list[Any]:
    """`treedef.flatten_up_to(tree)`, whose error shows both structures, under these names."""
    subtrees: list[Any] = []
    if not take_apart(treedef, tree, subtrees):
        more = f"\n  {right}: {shorten(shown_structure(tree))}"
        raise mismatch(treedef, tree, left, right, more)
    return subtrees


def shown_structure(tree: Any) -> str:
    """The structure of a tree as text, for messages."""
    try:
        return repr(tree_flatten(tree)[1])
    except (TypeError, ValueError):  # the tree has some other fault, which is not the point now
        return f"a {type(tree).__name__}"
