"""Derivatives by the elements of sparse arrays, whose places they keep."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import funcgrad.api.derivatives as derivatives
import funcgrad.api.grad as gradients
from funcgrad import numpy as jnp
from funcgrad.base.shapes import int_tuple
from funcgrad.base.source import function_name
from funcgrad.base.tree import tree_leaves, tree_map, tree_structure
from funcgrad.sparse._coordinates import CoordinateArray

ArgNums = int | Sequence[int]


def is_sparse(node: Any) -> bool:
    """Whether a node of a pytree is a sparse array."""
    return isinstance(node, CoordinateArray)


def data_only(tree: Any) -> Any:
    """The tree with sparse arrays replaced by their data."""
    return tree_map(lambda node: node.data if is_sparse(node) else node, tree, is_leaf=is_sparse)


def at_places_of(tree: Any, values: Any) -> Any:
    """The tree with new leaves, those of sparse arrays at their places.

    Data may have more leading axes, which become batch axes.
    """

    def put(node: Any, value: Any) -> Any:
        if not is_sparse(node):
            return value
        lead = value.shape[: value.ndim - node.data.ndim]
        indices = jnp.broadcast_to(node.indices, (*lead, *node.indices.shape))
        flags = {"indices_sorted": node.indices_sorted, "unique_indices": node.unique_indices}
        return node.like(value, indices, (*lead, *node.shape), **flags)

    return tree_map(put, tree, values, is_leaf=is_sparse)


def on_data(fun: Callable, args: tuple, chosen: Sequence[int]) -> tuple[Callable, list[Any]]:
    """The function with the chosen arguments' sparse arrays given by their data, and arguments."""

    @wraps(fun)
    def dense_fun(*given: Any, **kwargs: Any) -> Any:
        whole = [
            at_places_of(args[k], value) if k in chosen else value for k, value in enumerate(given)
        ]
        return fun(*whole, **kwargs)

    stripped = [data_only(arg) if k in chosen else arg for k, arg in enumerate(args)]
    return dense_fun, stripped


def positions(fun: Callable, argnums: ArgNums, args: tuple) -> list[int]:
    """Which arguments are meant, as numbers that are not negative."""
    chosen = int_tuple(argnums, "argnums")
    if any(not -len(args) <= k < len(args) for k in chosen):
        raise ValueError(
            f"argnums={argnums} of {function_name(fun)}, which was given {len(args)} arguments."
        )
    return [k % len(args) for k in chosen]


def value_and_grad(
    fun: Callable, argnums: ArgNums = 0, has_aux: bool = False, **kwargs: Any
) -> Callable:
    """The value of a scalar-valued function together with its gradient; see `grad`.

    Returns:
        A function that returns `(value, gradient)`, or `((value, aux), gradient)` with has_aux.

    Example:
        >>> from funcgrad.experimental import sparse
        >>> value, gradient = sparse.value_and_grad(lambda a: (a * 3.0).sum())(sparse.eye(2))
        >>> value, gradient
        (Array(6., dtype=float32), BCOO(float32[2, 2], nse=2))
    """
    gradients.check_callable("grad", fun)

    @wraps(fun)
    def value_and_gradient(*args: Any, **settings: Any) -> Any:
        chosen = positions(fun, argnums, args)
        dense_fun, stripped = on_data(fun, args, chosen)
        both = gradients.value_and_grad(dense_fun, argnums, has_aux, **kwargs)
        value, grads = both(*stripped, **settings)
        if isinstance(argnums, int):
            return value, at_places_of(args[chosen[0]], grads)
        return value, tuple(at_places_of(args[k], one) for k, one in zip(chosen, grads))

    return value_and_gradient


def grad(fun: Callable, argnums: ArgNums = 0, has_aux: bool = False, **kwargs: Any) -> Callable:
    """The gradient of a scalar-valued function, by the elements of its sparse arguments.

    Args:
        fun: a function of arrays, sparse or dense, whose output is a dense scalar.
        argnums: the positional argument to differentiate by, or several; each may be a pytree.
        has_aux: whether `fun` returns a pair `(output, aux)`; `aux` is handed through.
        kwargs: further settings of funcgrad.grad.

    Returns:
        A function with the arguments of `fun` that returns the gradient. That of a sparse array is
        one with its indices: the derivatives at other places are not computed, and at padding zero.

    Raises:
        TypeError: if the output is not a scalar, or an element is an integer.
        ValueError: if there is no such argument.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.experimental import sparse
        >>> v = jnp.array([1.0, 2.0])
        >>> sparse.grad(lambda a: (a @ v).sum())(sparse.eye(2)).data
        Array([1., 2.], dtype=float32)
    """
    both = value_and_grad(fun, argnums, has_aux, **kwargs)

    @wraps(fun)
    def gradient(*args: Any, **settings: Any) -> Any:
        value, grads = both(*args, **settings)
        return (grads, value[1]) if has_aux else grads

    return gradient


def jacobian_by(
    derive: Callable, fun: Callable, argnums: ArgNums, has_aux: bool, kwargs: dict[str, Any]
) -> Callable:
    """A Jacobian function for sparse arguments, made of one for dense ones."""
    gradients.check_callable(derive.__name__, fun)

    @wraps(fun)
    def jacobian(*args: Any, **settings: Any) -> Any:
        chosen = positions(fun, argnums, args)
        dense_fun, stripped = on_data(fun, args, chosen)
        trees = []

        @wraps(fun)
        def watched(*given: Any, **settings: Any) -> Any:
            out = dense_fun(*given, **settings)
            main = out[0] if has_aux else out
            if any(map(is_sparse, tree_leaves(main, is_leaf=is_sparse))):
                raise NotImplementedError(
                    f"{derive.__name__} of {function_name(fun)}, whose output has a sparse array; "
                    "return its todense() or its data."
                )
            trees.append(tree_structure(main))
            return out

        result = derive(watched, argnums, has_aux, **kwargs)(*stripped, **settings)
        rows, *aux = result if has_aux else (result,)

        def rebuilt(row: Any) -> Any:
            if isinstance(argnums, int):
                return at_places_of(args[chosen[0]], row)
            return tuple(at_places_of(args[k], one) for k, one in zip(chosen, row))

        tree = trees[-1]
        rows = tree.unflatten([rebuilt(row) for row in tree.flatten_up_to(rows)])
        return (rows, *aux) if has_aux else rows

    return jacobian


def jacfwd(fun: Callable, argnums: ArgNums = 0, has_aux: bool = False, **kwargs: Any) -> Callable:
    """The Jacobian by the elements of sparse arguments, column by column in forward mode.

    Args and Returns are those of `jacrev`.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.experimental import sparse
        >>> sparse.jacfwd(lambda a: a @ jnp.array([1.0, 2.0]))(sparse.eye(2))
        BCOO(float32[2, 2, 2], nse=2, n_batch=1)
    """
    return jacobian_by(derivatives.jacfwd, fun, argnums, has_aux, kwargs)


def jacrev(fun: Callable, argnums: ArgNums = 0, has_aux: bool = False, **kwargs: Any) -> Callable:
    """The Jacobian by the elements of sparse arguments, row by row in reverse mode.

    Args:
        fun: a function of arrays, sparse or dense, to a pytree of dense arrays.
        argnums: the positional argument to differentiate by, or several; each may be a pytree.
        has_aux: whether `fun` returns a pair `(output, aux)`; `aux` is handed through.
        kwargs: further settings of funcgrad.jacrev.

    Returns:
        A function that returns, for each output array of shape `s`, the tree of the chosen
        arguments with arrays of shape `s + argument shape`; sparse ones have `s` batched.

    Raises:
        NotImplementedError: if an output is sparse.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> from funcgrad.experimental import sparse
        >>> sparse.jacrev(lambda a: a @ jnp.array([1.0, 2.0]))(sparse.eye(2)).todense()[1]
        Array([[0., 0.],
               [0., 2.]], dtype=float32)
    """
    return jacobian_by(derivatives.jacrev, fun, argnums, has_aux, kwargs)


jacobian = jacrev
