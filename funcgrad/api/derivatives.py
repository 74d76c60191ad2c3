"""The other derivative transformations: jvp, linearize, linear_transpose, jacobians, Hessians."""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np

from funcgrad.api.flat import FlatFunction, checked_values
from funcgrad.api.grad import (
    ArgNums,
    check_callable,
    instantiate_all,
    match_cotangent,
    select_arguments,
    vjp,
)
from funcgrad.api.vmap import vmap
from funcgrad.base.array import as_value
from funcgrad.base.aval import ShapedArray, aval_of, dtype_name, tangent_aval, weak_like
from funcgrad.base.basis import convert, eq, iota, reshape
from funcgrad.base.dtypes import float0, issubdtype
from funcgrad.base.keypaths import keystr
from funcgrad.base.shapes import int_tuple
from funcgrad.base.source import function_name
from funcgrad.base.tree import (
    Partial,
    PyTreeDef,
    tree_flatten,
    tree_flatten_with_path,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from funcgrad.transforms.forward import instantiate_zeros
from funcgrad.transforms.forward import jvp as jvp_flat
from funcgrad.transforms.linearize import LinearProgram, linear_program, linearize_flat


def jvp(fun: Callable, primals: Sequence, tangents: Sequence, has_aux: bool = False) -> tuple:
    """The value of a function and its directional derivative.

    Args:
        fun: a function of the primals, returning a pytree of arrays.
        primals: a tuple or list of pytrees of arrays.
        tangents: of the same structure, shapes and dtypes (float0 for integers and booleans).
        has_aux: whether `fun` returns a pair `(output, aux)`.

    Returns:
        `(output, output tangent)`, or with aux as a third.

    Raises:
        TypeError: if primals and tangents do not match.
    """
    check_callable("jvp", fun)
    for what, value in (("primal", primals), ("tangent", tangents)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(
                f"jvp: {what} arguments must be given as a tuple or list, got "
                f"{type(value).__name__}"
            )
    leaves, in_tree = checked_values("jvp", lambda *primals: None, tuple(primals))
    given = matching_tangents("jvp", tree_unflatten(in_tree, map(aval_of, leaves)), tangents)
    flat = FlatFunction(fun, in_tree, has_aux, positional=True)
    outs, out_tangents = jvp_flat(flat, leaves, given)
    out_tangents = [instantiate_zeros(o, t) for o, t in zip(outs, out_tangents, strict=True)]
    assert flat.out_tree is not None
    pair = tree_unflatten(flat.out_tree, outs), tree_unflatten(flat.out_tree, out_tangents)
    return (*pair, flat.aux) if has_aux else pair


def matching_tangents(name: str, avals: tuple, tangents: Sequence) -> list[Any]:
    """Flat tangents, None for float0 ones, checked to match the avals of the primals."""
    in_tree = tree_structure(avals)
    given, tangent_tree = tree_flatten(tuple(tangents))
    if in_tree != tangent_tree:
        raise TypeError(
            f"{name}: the tangent arguments form another tree than the primals: tangents "
            f"{tangent_tree}, primals {in_tree}"
        )
    with_paths, _ = tree_flatten_with_path(avals)
    return [
        check_tangent(name, keystr(path), aval, tangent)
        for (path, aval), tangent in zip(with_paths, given, strict=True)
    ]


def check_tangent(name: str, path: str, aval: ShapedArray, tangent: Any) -> Any:
    """The tangent as an Array, None where it is float0; a TypeError if it does not fit."""
    expected = tangent_aval(aval)
    if getattr(tangent, "dtype", None) == float0 or expected.dtype == float0:
        got_dtype = getattr(tangent, "dtype", type(tangent).__name__)
        if got_dtype == float0 and expected.dtype == float0:
            return None
        got = f"{got_dtype}"
    else:
        tangent = as_value(tangent)
        if weak_like(aval_of(tangent), expected):
            return tangent
        got = aval_of(tangent).str_short()
    raise TypeError(
        f"{name}: the primal at primals{path} has type {aval.str_short()} (shape {aval.shape}), so "
        f"its tangent must be {dtype_name(expected.dtype)} of shape {expected.shape}; got {got} "
        f"of shape {np.shape(tangent) if not hasattr(tangent, 'aval') else tangent.shape}."
    )


def linearize(fun: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """The value of a function at a point, and its derivative there as a linear function.

    Args:
        fun: a function of the primals, run once.
        primals: pytrees of arrays.
        has_aux: whether `fun` returns a pair `(output, aux)`.

    Returns:
        `(output, jvp_fun)` or `(output, jvp_fun, aux)`; `jvp_fun(*tangents)` gives the output
        tangent without running `fun` again.
    """
    check_callable("linearize", fun)
    leaves, in_tree = checked_values("linearize", fun, primals)
    flat = FlatFunction(fun, in_tree, has_aux, positional=True)
    outs, linear = linearize_flat(flat, leaves)
    assert flat.out_tree is not None
    static = partial(_push, linear._replace(consts=[]), tree_map(aval_of, primals), flat.out_tree)
    pushforward = Partial(static, linear.consts)
    out = tree_unflatten(flat.out_tree, outs)
    return (out, pushforward, flat.aux) if has_aux else (out, pushforward)


def _push(
    linear: LinearProgram, avals: tuple, out_tree: PyTreeDef, consts: list[Any], *tangents: Any
) -> Any:
    given = matching_tangents("the linearized function", avals, tangents)
    return tree_unflatten(out_tree, linear._replace(consts=consts).push(given))


def linear_transpose(fun: Callable, *primals: Any, reduce_axes: Sequence = ()) -> Callable:
    """The transpose of a function that is linear in all its arguments.

    Args:
        fun: a linear function, run once on stand-ins for its arguments.
        primals: pytrees of arrays, or of anything with a shape and dtype.

    Returns:
        A function from a cotangent of the output to a tuple of cotangents of the primals.
    """
    if reduce_axes:
        raise NotImplementedError("reduce_axes is not supported: sum the cotangents with psum")
    leaves, in_tree = tree_flatten((primals, {}))
    avals = [
        ShapedArray(x.shape, x.dtype)
        if not hasattr(x, "aval") and hasattr(x, "dtype")
        else aval_of(x)
        for x in leaves
    ]
    for aval in avals:
        if not issubdtype(aval.dtype, np.inexact) and not issubdtype(aval.dtype, np.integer):
            raise TypeError(f"linear_transpose: cannot transpose by an input of {aval.str_short()}")
    flat = FlatFunction(fun, in_tree)
    linear = linear_program(flat, avals)
    out_tree, static = flat.out_tree, linear._replace(consts=[])

    def transposed(consts: list[Any], ct: Any) -> tuple:
        name = f"linear_transpose of {function_name(fun)}"
        cts, ct_tree = tree_flatten(ct)
        if ct_tree != out_tree:
            raise TypeError(
                f"{name}: the cotangent's tree {ct_tree} must match the output's, {out_tree}"
            )
        cts = [
            match_cotangent(name, as_value(c), a)
            for c, a in zip(cts, static.out_avals, strict=True)
        ]
        found = static._replace(consts=consts).pull(cts)
        return tree_unflatten(in_tree, instantiate_all(static, found))[0]

    return Partial(transposed, linear.consts)


def jacfwd(
    fun: Callable, argnums: ArgNums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable:
    """The Jacobian, column by column in forward mode: good for tall Jacobians.

    Args and Returns are those of `jacrev`.
    """
    check_callable("jacfwd", fun)
    chosen = int_tuple(argnums, "argnums")

    @wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        f, leaves, tree = select_arguments("the Jacobian", fun, chosen, args, kwargs)
        values = tree_unflatten(tree, leaves)
        check_jacobian_inputs("jacfwd", leaves, holomorphic)

        def push(*tangents: Any) -> tuple:
            given = tree_unflatten(tree, tangents)
            return jvp(f, values, given, has_aux=has_aux)

        out_axes = (None, -1, None) if has_aux else (None, -1)
        out, columns, *aux = vmap(push, out_axes=out_axes)(*standard_basis(leaves))
        check_jacobian_outputs("jacfwd", out, holomorphic)
        split = partial(unravel_columns, values, isinstance(argnums, int))
        result = tree_map(split, columns)
        return (result, aux[0]) if has_aux else result

    return jacobian


def jacrev(
    fun: Callable,
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable:
    """The Jacobian, row by row in reverse mode: good for wide Jacobians.

    Args:
        fun: a function to a pytree of arrays.
        argnums: the positional argument (a pytree of arrays) to differentiate by, or several.
        has_aux: whether `fun` returns a pair `(output, aux)`.
        holomorphic: whether `fun` is holomorphic, from complex to complex.
        allow_int: accept integer arguments, with float0 derivatives.

    Returns:
        A function that returns, in the place of each output array of shape `s`, the tree of the
        chosen arguments with arrays of shape `s + argument shape`.
    """
    check_callable("jacrev", fun)
    chosen = int_tuple(argnums, "argnums")

    @wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        f, leaves, tree = select_arguments("the Jacobian", fun, chosen, args, kwargs)
        values = tree_unflatten(tree, leaves)
        if not allow_int:
            check_jacobian_inputs("jacrev", leaves, holomorphic, forward=False)
        out, pullback, *aux = vjp(f, *values, has_aux=has_aux)
        check_jacobian_outputs("jacrev", out, holomorphic)
        outs, out_tree = tree_flatten(out)

        def pull(*cts: Any) -> tuple:
            return pullback(tree_unflatten(out_tree, cts))

        rows = vmap(pull)(*standard_basis(outs))
        one = rows[0] if isinstance(argnums, int) else rows
        result = unravel_rows(out, one)
        return (result, aux[0]) if has_aux else result

    return jacobian


def hessian(
    fun: Callable, argnums: ArgNums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable:
    """The Hessian, as the forward-mode Jacobian of the reverse-mode one; see `jacrev`."""
    inner = jacrev(fun, argnums, has_aux, holomorphic)
    return jacfwd(inner, argnums, has_aux, holomorphic)


def check_jacobian_inputs(
    name: str, leaves: Sequence, holomorphic: bool, forward: bool = True
) -> None:
    for leaf in leaves:
        dtype = aval_of(leaf).dtype
        is_complex = issubdtype(dtype, np.complexfloating)
        if holomorphic and not is_complex:
            raise TypeError(f"{name} with holomorphic=True requires complex inputs, got {dtype}")
        if not issubdtype(dtype, np.inexact):
            raise TypeError(
                f"{name}: there is no Jacobian by an input of dtype {dtype}; convert it to a "
                "float with "
                "astype, or use jvp or vjp with float0 tangents"
            )
        if forward and is_complex and not holomorphic:
            raise TypeError(
                f"{name} requires real-valued inputs, got {dtype}; for holomorphic functions pass "
                "holomorphic=True, else use jvp"
            )


def check_jacobian_outputs(name: str, out: Any, holomorphic: bool) -> None:
    for leaf in tree_flatten(out)[0]:
        dtype = aval_of(leaf).dtype
        is_complex = issubdtype(dtype, np.complexfloating)
        if holomorphic and not is_complex:
            raise TypeError(f"{name} with holomorphic=True requires complex outputs, got {dtype}")
        if name == "jacrev" and is_complex and not holomorphic:
            raise TypeError(
                f"jacrev requires real-valued outputs, got {dtype}; for holomorphic functions pass "
                "holomorphic=True, else use vjp"
            )


def standard_basis(leaves: Sequence[Any]) -> list[Any]:
    """For each leaf a stack of tangents; together they run through all unit directions."""
    avals = [aval_of(x) for x in leaves]
    total = sum(a.size for a in avals)
    result, before = [], 0
    for aval in avals:
        rows = iota(np.int32, (total, aval.size), 0)
        columns = iota(np.int32, (total, aval.size), 1)
        ones = eq(rows, as_value(np.int32(before)) + columns)
        dtype = tangent_aval(aval).dtype
        block = (
            np.zeros((total, aval.size), float0)
            if dtype == float0
            else convert(ones, dtype, aval.weak_type)
        )
        result.append(reshape(as_value(block), (total, *aval.shape)))
        before += aval.size
    return result


def unravel_columns(values: tuple, single: bool, columns: Any) -> Any:
    """Split the last axis of an array [*out, n] by the leaves of the arguments."""
    leaves, tree = tree_flatten(values)
    parts = split_axis(columns, [aval_of(x) for x in leaves], -1)
    result = tree_unflatten(tree, parts)
    return result[0] if single else result


def unravel_rows(out: Any, rows: Any) -> Any:
    """Split the first axis of each array [n, *argument] by the leaves of the output."""
    outs, out_tree = tree_flatten(out)
    avals = [aval_of(o) for o in outs]
    leaves, in_tree = tree_flatten(rows)
    split = [split_axis(leaf, avals, 0) for leaf in leaves]
    per_output = [tree_unflatten(in_tree, parts) for parts in zip(*split, strict=True)]
    if not leaves:
        per_output = [rows for _ in outs]
    return tree_unflatten(out_tree, per_output)


def split_axis(array: Any, avals: Sequence[ShapedArray], axis: int) -> list[Any]:
    """Pieces of one axis, each reshaped to the shape of its aval."""
    shape = aval_of(array).shape
    parts, begin = [], 0
    for aval in avals:
        index = slice(begin, begin + aval.size)
        part = array[..., index] if axis else array[index]
        full = (*shape[:-1], *aval.shape) if axis else (*aval.shape, *shape[1:])
        parts.append(reshape(part, full))
        begin += aval.size
    return parts
