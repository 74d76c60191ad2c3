"""Tree prefixes: a tree that stops earlier than another, each leaf meant for all that is below.

This is how `in_axes` and the like are given. Here too are the lists of every place where a prefix
or an equality of structures fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from funcgrad.base.treedef import PyTreeDef, end_of_subtree
from funcgrad.base.treediff import (
    Difference,
    differences,
    look_at_structure,
    look_at_tree,
    look_until,
    none_hint,
    shorten,
    tell,
)
from funcgrad.base.treeflatten import IsLeaf, align, tree_flatten
from funcgrad.base.treenodes import same_head


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree prefix, each repeated for every leaf of the subtree in its place.

    Raises:
        ValueError: `prefix_tree` is not a prefix of `full_tree`.
    """
    leaves, treedef = tree_flatten(prefix_tree, is_leaf)
    subtrees = align(treedef, full_tree, "the prefix", "the full tree")
    return [
        leaf
        for leaf, subtree in zip(leaves, subtrees)
        for _ in range(tree_flatten(subtree)[1].num_leaves)
    ]


def flatten_axes(
    name: str,
    treedef: PyTreeDef,
    axis_tree: Any,
    *,
    kws: bool = False,
    tupled_args: bool = False,
) -> list[Any]:
    """One axis for each leaf of a structure, from a tree prefix in which None is a leaf.

    Args:
        name: what errors call `axis_tree`, such as "in_axes".
        treedef: the structure of the arguments or results that the axes are for.
        axis_tree: the axes.
        kws: the structure is `(args, kwargs)` and so is `axis_tree`; errors speak of args alone.
        tupled_args: the structure is that of an argument list; a mismatch may come from a
            missing tuple, and then the error says so.

    Raises:
        ValueError: `axis_tree` is not a prefix of the structure; the message says where.
    """
    if type(axis_tree) is int:
        return [axis_tree] * treedef.num_leaves
    axes, prefix = tree_flatten(axis_tree, _is_none)
    counts = _leaf_counts(prefix, treedef)
    if counts is None:
        if kws:
            treedef, prefix = treedef.children()[0], prefix.children()[0]
        raise _axes_error(name, treedef, prefix, tupled_args)
    return [axis for axis, count in zip(axes, counts) for _ in range(count)]


def _is_none(value: Any) -> bool:
    return value is None


def _leaf_counts(prefix: PyTreeDef, full: PyTreeDef) -> list[int] | None:
    """How many leaves `full` has in the place of each leaf of a prefix; None if it is no prefix."""
    counts = []
    position = 0
    for head in prefix.tokens:
        if head is None:
            end = end_of_subtree(full.tokens, position)
            counts.append(full.tokens[position:end].count(None))
            position = end
        elif same_head(head, full.tokens[position]):
            position += 1
        else:
            return None
    return counts


def _axes_error(name: str, treedef: PyTreeDef, prefix: PyTreeDef, tupled_args: bool) -> ValueError:
    """The error of `flatten_axes`, with every place where the prefix does not fit."""
    found = differences(prefix, treedef, look_at_structure, look_at_structure, prefix=True)
    lines = [f"\n  {tell(each, name, 'the value', name)}" for each in found]
    hint = ""
    if tupled_args:
        hint = f"\n{name} is a tuple with one entry per argument, unless it is one axis for all."
        children = treedef.children()
        if len(children) == 1 and _leaf_counts(prefix, children[0]) is not None:
            hint += f" There is one argument here, and {name} fits it: put it in a tuple, (x,)."
    return ValueError(
        f"{name} is not a prefix of the tree it belongs to:{''.join(lines)}\n"
        f"  {name}: {shorten(repr(prefix))}\n  the value: {shorten(repr(treedef))}{hint}"
    )


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None
) -> list[Callable[[str], ValueError]]:
    """Every way in which a tree fails to be a prefix of another.

    Returns:
        Functions that take a name for `prefix_tree` to an error; none if it is a prefix.
    """
    found = differences(prefix_tree, full_tree, look_until(is_leaf), look_at_tree, prefix=True)
    return [partial(_prefix_error, each) for each in found]


def _prefix_error(found: Difference, name: str) -> ValueError:
    return ValueError(
        f"{name} is not a tree prefix: {tell(found, name, 'the full tree', name)}."
        f"{none_hint(found)}"
    )


def equality_errors(tree1: Any, tree2: Any, is_leaf: IsLeaf | None = None) -> Iterator[Difference]:
    """Every outermost place where the structures of two trees, or two PyTreeDefs, differ.

    Yields:
        `(path, thing1, thing2, explanation)`: at that key path the first has `thing1` and the
        second has `thing2`, and `explanation` says what the matter is, as in "their lengths
        differ".
    """
    if isinstance(tree1, PyTreeDef) and isinstance(tree2, PyTreeDef):
        look = look_at_structure
    else:
        look = look_until(is_leaf)
    yield from differences(tree1, tree2, look, look, prefix=False)
