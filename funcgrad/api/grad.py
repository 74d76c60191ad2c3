"""Reverse mode as users call it: grad, value_and_grad and vjp."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from funcgrad.api.flat import FlatFunction, argument_names, checked_values
from funcgrad.base.array import as_value
from funcgrad.base.aval import ShapedArray, aval_of, dtype_name, weak_like
from funcgrad.base.basis import broadcast_scalar, convert
from funcgrad.base.dtypes import float0, issubdtype
from funcgrad.base.shapes import int_tuple
from funcgrad.base.source import function_name
from funcgrad.base.tree import (
    Partial,
    PyTreeDef,
    equality_errors,
    tree_flatten,
    tree_leaves,
    tree_structure,
    tree_unflatten,
)
from funcgrad.transforms.forward import zeros_like_aval
from funcgrad.transforms.linearize import LinearProgram, linearize_flat

P = ParamSpec("P")
R = TypeVar("R")

ArgNums = int | Sequence[int]


def grad(
    fun: Callable[P, Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence = (),
) -> Callable[P, Any]:
    """The gradient of a scalar-valued function.

    Args:
        fun: a function whose output is a scalar (shape `()`), real unless `holomorphic`.
        argnums: the positional argument to differentiate by, or several; each may be a pytree of
            float arrays.
        has_aux: whether `fun` returns a pair `(output, aux)`; `aux` is handed through.
        holomorphic: whether `fun` is a holomorphic function from complex to complex.
        allow_int: accept integer arguments; their gradient has dtype float0.

    Returns:
        A function with the arguments of `fun` that returns the gradient, shaped like the chosen
        argument (a tuple of those for several), or `(gradient, aux)`. For complex arguments of a
        real function the gradient is the conjugate of the direction of steepest ascent, as in JAX.

    Raises:
        TypeError: if the output is not a scalar, or an input or output has the wrong kind of dtype.

    Example:
        >>> grad(lambda x: x**3 + 2 * x)(2.0)
        Array(14., dtype=float32, weak_type=True)
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @wraps(fun)
    def gradient(*args: P.args, **kwargs: P.kwargs) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient


def value_and_grad(
    fun: Callable[P, R],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence = (),
) -> Callable[P, tuple[R, Any]]:
    """The value of a scalar-valued function together with its gradient; see `grad`.

    Returns:
        A function that returns `(value, gradient)`, or `((value, aux), gradient)` with `has_aux`.
    """
    if reduce_axes:
        raise NotImplementedError("reduce_axes is not supported: sum the gradients with psum")
    check_callable("grad", fun)
    chosen = int_tuple(argnums, "argnums")

    @wraps(fun)
    def value_and_gradient(*args: P.args, **kwargs: P.kwargs) -> tuple[R, Any]:
        f, leaves, in_tree = select_arguments("grad", fun, chosen, args, kwargs)
        for i, leaf in enumerate(leaves):
            check_grad_input(fun, leaf, holomorphic, allow_int, i, args, chosen)

        def checked(*given: Any) -> Any:
            out = f(*given)
            check_grad_output(fun, out, holomorphic, has_aux)
            return out

        flat = FlatFunction(checked, in_tree, has_aux, positional=True)
        (out,), linear = linearize_flat(flat, leaves)
        grads = instantiate_all(linear, linear.pull([one_like(out)]))
        value: Any = (out, flat.aux) if has_aux else out
        chosen_grads = tree_unflatten(in_tree, grads)
        return value, (chosen_grads[0] if isinstance(argnums, int) else chosen_grads)

    return value_and_gradient


def vjp(fun: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """The value of a function at a point, and the function that pulls cotangents back.

    Args:
        fun: a function of the primals, returning a pytree of arrays.
        primals: pytrees of arrays.
        has_aux: whether `fun` returns a pair `(output, aux)`.

    Returns:
        `(output, vjp_fun)` or `(output, vjp_fun, aux)`; `vjp_fun(ct)` takes a cotangent of the
        structure, shapes and dtypes of the output and returns a tuple of cotangents, one for each
        primal.

    Raises:
        TypeError, ValueError: by `vjp_fun`, if the cotangent does not match the output.
    """
    check_callable("vjp", fun)
    leaves, in_tree = checked_values("vjp", fun, primals)
    flat = FlatFunction(fun, in_tree, has_aux, positional=True)
    outs, linear = linearize_flat(flat, leaves)
    out_tree = flat.out_tree
    assert out_tree is not None
    static = Pullback(linear._replace(consts=[]), in_tree, out_tree, function_name(fun))
    pullback = Partial(static, linear.consts)
    out = tree_unflatten(out_tree, outs)
    return (out, pullback, flat.aux) if has_aux else (out, pullback)


class Pullback:
    """The function that `vjp` returns, but for its residuals: runs a linear program backwards."""

    def __init__(self, linear: LinearProgram, in_tree: PyTreeDef, out_tree: PyTreeDef, name: str):
        self._linear = linear
        self._in_tree = in_tree
        self._out_tree = out_tree
        self.__name__ = f"vjp of {name}"

    def __call__(self, consts: list[Any], ct: Any) -> tuple:
        cts, ct_tree = tree_flatten(ct)
        if ct_tree != self._out_tree:
            differences = "; ".join(str(e) for e in equality_errors_of(self._out_tree, ct))
            raise ValueError(
                f"{self.__name__}: the tree structure of the cotangent, {ct_tree}, does not match "
                f"that of the function's output, {self._out_tree}. {differences}"
            )
        cts = [
            match_cotangent(self.__name__, as_value(c), a)
            for c, a in zip(cts, self._linear.out_avals, strict=True)
        ]
        grads = instantiate_all(self._linear, self._linear._replace(consts=consts).pull(cts))
        return tree_unflatten(self._in_tree, grads)


def equality_errors_of(structure: PyTreeDef, tree: Any) -> list[str]:
    """What differs between a structure and a tree, in words."""
    filled = tree_unflatten(structure, [0] * structure.num_leaves)
    return [explanation for *_, explanation in equality_errors(filled, tree)]


def match_cotangent(name: str, ct: Any, expected: ShapedArray) -> Any:
    got = aval_of(ct)
    if not weak_like(got, expected):
        raise ValueError(
            f"{name}: a cotangent of type {got.str_short()} was given for an output whose "
            f"cotangents have type {expected.str_short()} (shape {expected.shape}, dtype "
            f"{dtype_name(expected.dtype)})."
        )
    return ct


def instantiate_all(linear: LinearProgram, cts: Sequence[Any]) -> list[Any]:
    """Cotangents of the inputs, with zeros for None, as weakly typed as the inputs are."""
    return [
        ct if ct is not None and aval_of(ct) is a else as_weak_as(ct, a)
        for ct, a in zip(cts, linear.in_avals, strict=True)
    ]


def as_weak_as(ct: Any, aval: ShapedArray) -> Any:
    if ct is None:
        return zeros_like_aval(aval)
    same = aval_of(ct).weak_type == aval.weak_type
    return ct if same or aval.dtype == float0 else convert(ct, aval.dtype, aval.weak_type)


def one_like(out: Any) -> Any:
    return broadcast_scalar(1, aval_of(out))


def check_callable(transformation: str, fun: Any) -> None:
    if not callable(fun):
        raise TypeError(
            f"{transformation} expects a function (Expected a callable value), got {fun!r:.80} of "
            f"type {type(fun).__name__}"
        )


def positions_of(argnums: Sequence[int], count: int) -> list[int]:
    """The argument positions that argnums mean for a call with `count` positional arguments."""
    for i in argnums:
        if not -count <= i < count:
            raise TypeError(
                f"argnums={i} asks for a derivative by an argument that this call does not have: "
                "it "
                f"was given {count} positional arguments. Keyword arguments cannot be chosen by "
                "argnums."
            )
    return [i % count for i in argnums]


def select_arguments(
    name: str, fun: Callable, argnums: Sequence[int], args: tuple, kwargs: dict[str, Any]
) -> tuple[Callable, list[Any], PyTreeDef]:
    """`fun` as a function of the chosen arguments alone, their leaves, and their structure."""
    positions = positions_of(argnums, len(args))
    leaves, tree = checked_values(name, fun, tuple([args[i] for i in positions]))

    def chosen_only(*given: Any) -> Any:
        full = list(args)
        for position, value in zip(positions, given, strict=True):
            full[position] = value
        return fun(*full, **kwargs)

    return chosen_only, leaves, tree


def check_grad_input(
    fun: Callable,
    leaf: Any,
    holomorphic: bool,
    allow_int: bool,
    index: int,
    args: Sequence[Any],
    argnums: Sequence[int],
) -> None:
    """Raise unless grad is defined for an input of this dtype."""
    dtype = aval_of(leaf).dtype
    if holomorphic and not issubdtype(dtype, np.complexfloating):
        problem = "holomorphic=True is for complex inputs, which this is not"
    elif not allow_int and not issubdtype(dtype, np.inexact):
        problem = (
            "grad needs float (or complex) inputs; to accept integers, whose gradient is float0, "
            "set "
            "allow_int=True"
        )
    else:
        return
    names = argument_names(fun, args, {})
    counts = [len(tree_leaves(a)) for a in args]
    starts = [sum(counts[:p]) for p in range(len(args))]
    positions = positions_of(argnums, len(args))
    flat_positions = [starts[p] + k for p in positions for k in range(counts[p])]
    raise TypeError(
        f"{problem}; argument '{names[flat_positions[index]]}' of {function_name(fun)} has dtype "
        f"{dtype}."
    )


def check_grad_output(fun: Callable, out: Any, holomorphic: bool, has_aux: bool) -> None:
    """Raise unless the output is one scalar of a dtype that has a gradient."""
    if has_aux:
        if not isinstance(out, tuple) or len(out) != 2:
            return  # split_aux says what is wrong
        out = out[0]
    try:
        aval = aval_of(out)
    except TypeError:
        container = type(out).__name__
        raise TypeError(
            f"grad is for functions that return one scalar: {function_name(fun)} returned a "
            f"{container}, {tree_structure(out)}. If it returns (output, auxiliary data), use "
            "has_aux=True; otherwise return one number, such as a sum."
        ) from None
    kind = np.complexfloating if holomorphic else np.floating
    if aval.shape or not issubdtype(aval.dtype, kind):
        raise grad_output_error(function_name(fun), aval, holomorphic)


def grad_output_error(name: str, aval: ShapedArray, holomorphic: bool) -> TypeError:
    """What is wrong with an output of this type."""
    if aval.shape:
        return TypeError(
            f"grad is for functions that return one scalar: {name} returned an array of shape "
            f"{aval.shape}. Return a sum or mean, or use jacrev, or vjp with a cotangent."
        )
    if holomorphic:
        return TypeError(
            f"holomorphic=True is for functions with complex outputs, and {name} returned "
            f"{aval.dtype}."
        )
    if issubdtype(aval.dtype, np.complexfloating):
        return TypeError(
            f"grad requires real-valued outputs, but {name} returned {aval.dtype} (complex). For a "
            "holomorphic function use holomorphic=True; else return a real number, or use vjp."
        )
    return TypeError(
        f"grad requires real-valued outputs (a sub-dtype of floating), but {name} returned "
        f"{aval.dtype}. Remove the cast to integers, or use vjp."
    )
