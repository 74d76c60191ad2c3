"""What the iterative solvers share: a system A x = b of pytrees, checked and laid out flat.

A solver sees vectors only. Derivatives come from `custom_linear_solve`: they solve again.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import lax
from funcgrad.api.inspect import eval_shape
from funcgrad.api.ravel import ravel_pytree
from funcgrad.base import dtypes
from funcgrad.base.array import as_value
from funcgrad.base.aval import aval_of
from funcgrad.base.methods import Array
from funcgrad.base.promotion import promote_types
from funcgrad.base.tree import (
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_structure,
    tree_unflatten,
)

Operator = Callable[[Any], Any]
# Solver(A, b) for vectors: what `System.solve` is given.
Solver = Callable[[Operator, Any], Any]


class System(NamedTuple):
    """A x = b on vectors, with a preconditioner, a first guess, and the way back to the tree."""

    operator: Operator
    rhs: Any
    guess: Any
    preconditioner: Operator
    unravel: Callable[[Any], Any]

    def flat(self, x: Any) -> Any:
        return ravel_pytree(x)[0]

    def solve(self, solver: Solver, symmetric: bool = False) -> Any:
        """x as a tree; the transposed system is left to the same solver."""
        symmetric = symmetric and not dtypes.issubdtype(self.rhs.dtype, np.complexfloating)
        x = lax.custom_linear_solve(
            self.operator, self.rhs, solver, transpose_solve=solver, symmetric=symmetric
        )
        return self.unravel(x)


def inner(x: Any, y: Any) -> Any:
    return jnp.vdot(x, y, precision="highest")


def square(x: Any) -> Any:
    """The squared length of a vector, a real number."""
    return inner(x, x).real


def length(x: Any) -> Any:
    return jnp.sqrt(square(x))


def nan_unless_known(x: Any, size: Any) -> Any:
    """x, or nan where the size of its residual is nan: then x solves nothing."""
    return jnp.where(jnp.isnan(size), jnp.nan, x).astype(x.dtype)


def system(name: str, A: Any, b: Any, x0: Any, M: Any) -> System:
    """The checked system that the function `name` is asked to solve."""
    b = _arrays(name, "b", b)
    flat, unravel = ravel_pytree(b)
    guess = jnp.zeros_like(flat)
    if x0 is not None:
        x0 = _arrays(name, "x0", x0)
        _check_alike(name, "x0", x0, b)
        guess = ravel_pytree(x0)[0].astype(flat.dtype)

    def on_vectors(label: str, operator: Any) -> Operator:
        apply = _operator(name, label, operator, b)
        _check_alike(name, f"what {label} returns", eval_shape(apply, b), b)
        return lambda v: ravel_pytree(apply(unravel(v)))[0]

    preconditioner = (lambda v: v) if M is None else on_vectors("M", M)
    return System(on_vectors("A", A), flat, guess, preconditioner, unravel)


def iterations(system: System, maxiter: Any) -> Any:
    return 10 * system.rhs.size if maxiter is None else maxiter


def _arrays(name: str, where: str, tree: Any) -> Any:
    """The tree with arrays for leaves: all real floats, or all complex numbers."""
    pairs, structure = tree_flatten_with_path(tree)
    values, kinds = [], set()
    for path, leaf in pairs:
        label = f"{where}{keystr(path)}"
        try:
            value = as_value(leaf)
        except TypeError:
            raise TypeError(
                f"{name}: {label} must be an array or a number, got {leaf!r:.60} of type "
                f"{type(leaf).__name__}"
            ) from None
        dtype = aval_of(value).dtype
        if not dtypes.issubdtype(dtype, np.inexact):
            raise TypeError(
                f"{name}: {label} must be of floats or complex numbers, for the solution is, got "
                f"{aval_of(value).str_short()}; convert it with astype"
            )
        kinds.add(dtypes.issubdtype(dtype, np.complexfloating))
        values.append(value)
    if len(kinds) > 1:
        raise TypeError(
            f"{name}: the arrays in {where} must be all real or all complex, got "
            f"{[aval_of(v).str_short() for v in values]}; convert the real ones with astype"
        )
    return tree_unflatten(structure, values)


def _operator(name: str, label: str, given: Any, b: Any) -> Operator:
    """A function as it is; a square matrix as the product with it."""
    if callable(given):
        return given
    if not isinstance(given, Array | np.ndarray):
        raise TypeError(
            f"{name}: {label} must be a function or a square matrix, got {given!r:.60} of type "
            f"{type(given).__name__}"
        )
    matrix = as_value(given)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{name}: as a matrix, {label} must be square, got {aval_of(matrix).str_short()}"
        )
    leaves, structure = tree_flatten(b)
    if structure != tree_structure(0) or leaves[0].shape[:1] != matrix.shape[:1]:
        given_b = [aval_of(leaf).str_short() for leaf in leaves]
        raise TypeError(
            f"{name}: with a matrix for {label}, {aval_of(matrix).str_short()}, b must be one "
            f"array of {matrix.shape[0]} rows, got {given_b} in the tree {structure}"
        )
    return lambda v: jnp.matmul(matrix, v, precision="highest")


def _check_alike(name: str, what: str, tree: Any, b: Any) -> None:
    """Raise unless the tree has b's structure and shapes, and no dtype that b's cannot hold."""
    if tree_structure(tree) != tree_structure(b):
        kind = ValueError if what == "x0" else TypeError
        raise kind(
            f"{name}: {what} must be a pytree like b, which has the structure "
            f"{tree_structure(b)}, and has {tree_structure(tree)}"
        )
    for x, like in zip(tree_flatten(tree)[0], tree_flatten(b)[0], strict=True):
        if x.shape != like.shape:
            raise ValueError(
                f"{name}: {what} must have the shapes of b, and has {x.shape} for {like.shape}"
            )
        if promote_types(x.dtype, like.dtype) != like.dtype:
            raise TypeError(
                f"{name}: {what} must fit the dtypes of b, and has {x.dtype} for {like.dtype}; "
                f"convert b with astype"
            )
