"""Pytrees: trees of tuples, lists, dicts and registered classes that functions take and return.

Here are the functions that work on whole trees; what a node and a structure are stands in the
files that this one imports.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from funcgrad.base.keypaths import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    keystr,
)
from funcgrad.base.treedef import PyTreeDef, join
from funcgrad.base.treediff import shorten
from funcgrad.base.treeflatten import (
    IsLeaf,
    align,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)
from funcgrad.base.treekinds import TUPLE, DataclassKind, is_node_type, kind_of, register
from funcgrad.base.treenodes import Kind
from funcgrad.base.treeprefix import (
    broadcast_prefix,
    equality_errors,
    flatten_axes,
    prefix_errors,
)
from funcgrad.base.treeregister import (
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    static,
)

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "SequenceKey", "keystr",
    "PyTreeDef", "PyTreeRegistry", "default_registry", "is_tree_node",
    "register_dataclass", "register_pytree_node", "register_pytree_node_class",
    "register_pytree_with_keys", "register_pytree_with_keys_class", "register_static", "static",
    "tree_flatten", "tree_flatten_with_path", "tree_unflatten", "tree_leaves",
    "tree_leaves_with_path", "tree_structure", "all_leaves", "flatten_one_level",
    "flatten_one_level_with_keys", "leaf_names",
    "treedef_children", "treedef_is_leaf", "treedef_tuple",
    "tree_all", "tree_broadcast", "tree_map", "tree_map_with_path", "tree_reduce",
    "tree_reduce_associative", "tree_transpose", "Partial",
    "broadcast_prefix", "equality_errors", "flatten_axes", "prefix_errors",
]  # fmt: skip

_MISSING: Any = object()


def tree_leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree, in the order of `tree_flatten`."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """The structure of a tree: everything but its leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., Any] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each with its key path; see `tree_flatten_with_path`."""
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Whether every element is a leaf."""
    if is_leaf is None:
        return all(kind_of(element) is None for element in iterable)
    elements = list(iterable)
    leaves = tree_leaves(elements, is_leaf)
    return len(leaves) == len(elements) and all(a is b for a, b in zip(leaves, elements))


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Apply a function to each leaf of a tree, or to the leaves of several trees in step.

    Args:
        f: takes one argument per tree.
        tree: the tree whose structure the result has.
        rest: further trees of that structure. Where `tree` has a leaf, these may have any subtree,
            which `f` then gets whole.
        is_leaf: as in `tree_flatten`, asked of `tree` only.

    Returns:
        A tree of the results.

    Raises:
        ValueError: the structures differ; the message says at which key path, and how.

    Example:
        >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
        {'a': 11, 'b': (22, 33)}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    columns = _columns(treedef, rest)
    return treedef.unflatten([f(*row) for row in zip(leaves, *columns)])


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., Any] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """As `tree_map`, with `f` taking the key path of the leaf before the leaves.

    Example:
        >>> tree_map_with_path(lambda path, x: f"{keystr(path)}={x}", {"a": [1, 2]})
        {'a': ["['a'][0]=1", "['a'][1]=2"]}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = _columns(treedef, rest)
    return treedef.unflatten([f(*pair, *row) for pair, *row in zip(pairs, *columns)])


def _columns(treedef: PyTreeDef, rest: tuple[Any, ...]) -> list[list[Any]]:
    """What further trees have in the place of each leaf."""
    return [
        align(treedef, tree, "the first tree", f"tree {number}")
        for number, tree in enumerate(rest, 2)
    ]


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combine the leaves of a tree from left to right, as `functools.reduce` does.

    Args:
        function: takes what came of the leaves so far, and the next leaf.
        tree: the tree.
        initializer: what to start from; without it, the first leaf, and TypeError if there is none.
        is_leaf: as in `tree_flatten`.
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is not _MISSING:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise TypeError("tree_reduce of a tree without leaves needs an initializer.")
    return functools.reduce(function, leaves)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combine the leaves of a tree pairwise, in a balanced way.

    Args:
        operation: takes two neighbouring results; must be associative.
        tree: the tree.
        identity: the result for a tree without leaves; without it, that is a TypeError.
        is_leaf: as in `tree_flatten`.
    """
    leaves = tree_leaves(tree, is_leaf)
    if leaves:
        return _reduce_halves(operation, leaves)
    if identity is _MISSING:
        raise TypeError("tree_reduce_associative of a tree without leaves needs an identity.")
    return identity


def _reduce_halves(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return operation(
        _reduce_halves(operation, values[:half]), _reduce_halves(operation, values[half:])
    )


def tree_all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Whether all leaves of a tree are true."""
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turn a tree of trees inside out.

    Args:
        outer_treedef: the structure whose leaves the inner trees are.
        inner_treedef: the structure of each inner tree; None takes that of the first.
        pytree_to_transpose: the tree; only the number and order of its leaves matter.

    Returns:
        A tree with `inner_treedef` outside and `outer_treedef` inside.

    Raises:
        TypeError: the number of leaves is not that of the two structures together.

    Example:
        >>> tree_transpose(tree_structure([0, 0]), tree_structure({"a": 0}), [{"a": 1}, {"a": 2}])
        {'a': [1, 2]}
    """
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        if not outer_treedef.num_leaves:
            raise TypeError("tree_transpose over no inner trees needs an inner_treedef.")
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    inner, outer = inner_treedef.num_leaves, outer_treedef.num_leaves
    if len(leaves) != inner * outer:
        raise TypeError(
            f"tree_transpose of a tree with {len(leaves)} leaves, but the outer and inner "
            f"structures make {outer} x {inner}.\n  the tree: {shorten(repr(treedef))}\n"
            f"  expected: {shorten(repr(outer_treedef.compose(inner_treedef)))}"
        )
    return inner_treedef.unflatten(
        [outer_treedef.unflatten(leaves[number::inner]) for number in range(inner)]
    )


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Spread each leaf of a tree prefix over the subtree that stands in its place.

    Args:
        prefix_tree: a tree that agrees with `full_tree` down to its own leaves.
        full_tree: the tree whose structure the result has.
        is_leaf: as in `tree_flatten`, asked of `prefix_tree` only.

    Raises:
        ValueError: `prefix_tree` is not a prefix; the message says where.

    Example:
        >>> tree_broadcast({"a": 1, "b": 2}, {"a": (0, 0), "b": 0})
        {'a': (1, 1), 'b': 2}
    """
    return tree_structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose elements have these structures."""
    parts = list(treedefs)
    for part in parts:
        if not isinstance(part, PyTreeDef):
            raise TypeError(f"treedef_tuple takes PyTreeDefs, got {type(part).__name__}.")
    return join(TUPLE.head(len(parts)), parts)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures one step below the root; none for a leaf."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is a single node: a leaf, or a node without children such as None."""
    return treedef.num_nodes == 1


def is_tree_node(typ: type) -> bool:
    """Whether instances of exactly this type are nodes, not leaves."""
    return is_node_type(typ)


def flatten_one_level(tree: Any) -> tuple[tuple[Any, ...], Any]:
    """The children of a node, and its metadata (the keys, for a dict).

    Raises:
        ValueError: the value is a leaf.
    """
    head, children = _node_kind(tree).open(tree)
    return tuple(children), head.aux


def flatten_one_level_with_keys(tree: Any) -> tuple[tuple[tuple[Any, Any], ...], Any]:
    """The `(key, child)` pairs of a node, and its metadata.

    Raises:
        ValueError: the value is a leaf.
    """
    head, keys, children = _node_kind(tree).open_keyed(tree)
    return tuple(zip(keys, children)), head.aux


def _node_kind(tree: Any) -> Kind:
    kind = kind_of(tree)
    if kind is None:
        raise ValueError(f"A {type(tree).__name__} is a leaf, not a node with children.")
    return kind


def leaf_names(tree: Any) -> list[str]:
    """The key path of each leaf of a tree or PyTreeDef as text, as in "['w'][0].scale"."""
    if isinstance(tree, PyTreeDef):
        return list(map(keystr, _paths(tree, ())))
    return [keystr(path) for path, _ in tree_leaves_with_path(tree)]


def _paths(treedef: PyTreeDef, path: KeyPath) -> Iterator[KeyPath]:
    if treedef.head is None:
        yield path
        return
    for key, part in zip(treedef.head.keys, treedef.parts):
        yield from _paths(part, (*path, key))


class Partial(functools.partial):
    """A `functools.partial` that is a pytree: its arguments are children, its function static.

    So it can be passed to transformed functions, which a plain function cannot.

    Example:
        >>> scale = Partial(lambda factor, x: factor * x, 2)
        >>> scale(3)
        6
        >>> tree_leaves(scale)
        [2]
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **keywords: Any) -> Partial:
        if isinstance(func, functools.partial):
            # functools would take the arguments of func for ours, and make them children too.
            func = _Opaque(func)
        return super().__new__(cls, func, *args, **keywords)


class _Opaque:
    """Stands for a `functools.partial` without being one."""

    def __init__(self, partial: functools.partial[Any]) -> None:
        self.partial = partial
        self.func, self.args, self.keywords = partial.func, partial.args, partial.keywords

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.partial(*args, **keywords)

    def __eq__(self, other: object) -> bool:
        return self.partial == (other.partial if isinstance(other, _Opaque) else other)

    def __hash__(self) -> int:
        return hash(self.partial)

    def __repr__(self) -> str:
        return repr(self.partial)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)


class PyTreeRegistry:
    """The registry of node types as an object, for code that asks for one. There is only one."""

    flatten_one_level = staticmethod(flatten_one_level)
    flatten_one_level_with_keys = staticmethod(flatten_one_level_with_keys)
    is_node = staticmethod(is_node_type)
    register_node = staticmethod(register_pytree_node)

    def flatten(
        self, tree: Any, leaf_predicate: IsLeaf | None = None
    ) -> tuple[list[Any], PyTreeDef]:
        """As `tree_flatten`."""
        return tree_flatten(tree, leaf_predicate)

    def flatten_with_path(
        self, tree: Any, leaf_predicate: Callable[[KeyPath, Any], Any] | None = None
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
        """As `tree_flatten_with_path`, with a predicate that takes path and node."""
        return tree_flatten_with_path(tree, leaf_predicate, is_leaf_takes_path=True)

    def register_dataclass_node(
        self, nodetype: type, data_fields: Sequence[str], meta_fields: Sequence[str]
    ) -> None:
        """As `register_dataclass`, for any class that its fields can be passed to."""
        register(DataclassKind(nodetype, tuple(data_fields), tuple(meta_fields)))

    def __reduce__(self) -> str:
        return "default_registry"


default_registry = PyTreeRegistry()
