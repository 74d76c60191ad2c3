"""Pytrees under JAX's short names: `tree.map`, `tree.leaves` and the rest."""

from funcgrad.base.tree import static
from funcgrad.base.tree import tree_all as all
from funcgrad.base.tree import tree_broadcast as broadcast
from funcgrad.base.tree import tree_flatten as flatten
from funcgrad.base.tree import tree_flatten_with_path as flatten_with_path
from funcgrad.base.tree import tree_leaves as leaves
from funcgrad.base.tree import tree_leaves_with_path as leaves_with_path
from funcgrad.base.tree import tree_map as map
from funcgrad.base.tree import tree_map_with_path as map_with_path
from funcgrad.base.tree import tree_reduce as reduce
from funcgrad.base.tree import tree_reduce_associative as reduce_associative
from funcgrad.base.tree import tree_structure as structure
from funcgrad.base.tree import tree_transpose as transpose
from funcgrad.base.tree import tree_unflatten as unflatten

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
