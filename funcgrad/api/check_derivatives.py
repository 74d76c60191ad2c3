"""Derivatives held against finite differences along random directions.

With v a direction, J v is (f(x + h v) - f(x - h v)) / 2h up to O(h^2); forward mode must give it,
and reverse mode must satisfy <J^T u, v> = <u, J v> for any cotangent u.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from funcgrad.api.derivatives import jvp
from funcgrad.api.grad import vjp
from funcgrad.base import dtypes
from funcgrad.base.array import as_array
from funcgrad.base.aval import aval_of, tangent_aval
from funcgrad.base.source import function_name
from funcgrad.base.tree import (
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_map,
    tree_structure,
    tree_unflatten,
)

Tolerance = float | Mapping[Any, float] | None

MODES = ("fwd", "rev")
STEP = 1e-4
# How far the two may differ, absolutely and relatively; forward mode, which is compared element by
# element, may differ by three times as much.
TOLERANCES = {
    "float64": 1e-5,
    "complex128": 1e-5,
    "float32": 2e-3,
    "complex64": 1e-3,
    "float16": 1e-2,
    "bfloat16": 1e-1,
}
COARSEST = 1e-1
SLACK = 3
# Near the cube root of the dtype's resolution, where rounding and curvature cost about the same.
STEPS = {"float64": 1e-4, "complex128": 1e-4, "float32": 1e-3, "complex64": 1e-3, "float16": 0.1}
COARSEST_STEP = 0.2


def check_grads(
    f: Callable,
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = MODES,
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Raise unless the derivatives of a function agree with finite differences.

    Args:
        f: the function; pytrees of arrays in and out.
        args: its positional arguments, in a tuple. Integers and booleans stay as they are.
        order: up to which derivative; 2 checks the derivatives of first derivatives too.
        modes: which of "fwd" and "rev" to check; derivatives of higher order mix them.
        atol, rtol: allowed differences, for all dtypes or as a mapping from dtypes; by default
            2e-3 for float32, 1e-5 for float64. Forward mode may differ by three times as much.
        eps: the step of the differences; by default one that suits the dtypes of `args`.

    Raises:
        AssertionError: if they differ; it names the mode, the output and the arguments.

    Example:
        >>> from funcgrad.test_util import check_grads
        >>> check_grads(lambda x: np.sin(x) / x, (np.array([1.0, 2.0]),), order=2)

    Source: `jax.test_util.check_grads`. Different here: an unknown mode is an error, integers may
    stand among the arguments, and the default step depends on the dtypes.
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    unknown = [m for m in modes if m not in MODES]
    if unknown or not modes:
        raise ValueError(f"check_grads: modes are 'fwd' and 'rev', got {modes}")
    args = _checked_args("check_grads", f, args)
    step = eps or _step_for(args)
    _check(f, args, order, modes, atol, rtol, step, "", np.random.default_rng(order))


def _check(
    f: Callable,
    args: tuple,
    order: int,
    modes: Sequence[str],
    atol: Tolerance,
    rtol: Tolerance,
    eps: float,
    label: str,
    rng: np.random.Generator,
) -> None:
    """Check first derivatives, then those of the derivatives as functions of the same arguments."""
    if order <= 0:
        return
    rest = (order - 1, modes, atol, rtol, eps)
    if "fwd" in modes:
        check_jvp(f, partial(jvp, f), args, atol, rtol, eps, f"{label}JVP")
        if order > 1:
            directions = _directions(args, rng)
            push = lambda *args: jvp(f, args, directions)
            _check(push, args, *rest, f"{label}JVP, then ", rng)
    if "rev" in modes:
        check_vjp(f, partial(vjp, f), args, atol, rtol, eps, f"{label}VJP")
        if order > 1:
            cts = _directions(f(*args), rng)

            def pull(*args: Any) -> Any:
                return _moving_part(vjp(f, *args)[1](cts))

            _check(pull, args, *rest, f"{label}VJP, then ", rng)


def check_jvp(
    f: Callable,
    f_jvp: Callable,
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = STEP,
    err_msg: str = "",
) -> None:
    """Raise unless a forward-mode derivative agrees with finite differences of its function.

    Args:
        f: the function; pytrees of arrays in and out.
        f_jvp: `f_jvp(args, tangents) -> (output, output tangent)`, such as `partial(jvp, f)`.
        args: the arguments, in a tuple.
        atol, rtol: allowed differences; what is given here is taken three times.
        eps: the step of the differences.
        err_msg: put in front of the message of the error.

    Raises:
        AssertionError: if the output or its tangent differs; it names both places.

    Example:
        >>> from funcgrad.test_util import check_jvp
        >>> check_jvp(np.sin, lambda p, t: (np.sin(*p), np.cos(*p) * t[0]), (0.5,), eps=1e-3)
    """
    args = _checked_args("check_jvp", f, args)
    label = err_msg or "JVP"
    tangents = _directions(args, np.random.default_rng(0))
    out = f(*args)
    got, got_tangent = f_jvp(args, tangents)
    _same_trees(f"{label}: the output", got, out)
    _same_trees(f"{label}: the output's tangent", got_tangent, out)
    problems = _differences("output", got, out, atol, rtol, SLACK)
    want = _difference_quotient(f, args, tangents, eps)
    wrong = _differences("tangent of output", got_tangent, want, atol, rtol, SLACK)

    def wrong_alone(alone: Any) -> bool:
        want = _difference_quotient(f, args, alone, eps)
        return bool(_differences("", f_jvp(args, alone)[1], want, atol, rtol, SLACK))

    if problems or wrong:
        names = _blamed(f, args, tangents, wrong_alone) if wrong else []
        raise AssertionError(_report(label, f, problems + wrong, names))


def check_vjp(
    f: Callable,
    f_vjp: Callable,
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = STEP,
    err_msg: str = "",
) -> None:
    """Raise unless a reverse-mode derivative agrees with finite differences of its function.

    Args:
        f: the function; pytrees of arrays in and out.
        f_vjp: `f_vjp(*args) -> (output, pull)`, and `pull(ct)` is a tuple of cotangents of `args`;
            such as `partial(vjp, f)`.
        args: the arguments, in a tuple.
        atol, rtol: allowed differences.
        eps: the step of the differences.
        err_msg: put in front of the message of the error.

    Raises:
        AssertionError: if the output or a cotangent differs; it names the arguments.

    Example:
        >>> from funcgrad.test_util import check_vjp
        >>> check_vjp(np.sin, lambda x: (np.sin(x), lambda ct: (ct * np.cos(x),)), (0.5,), eps=1e-3)
    """
    args = _checked_args("check_vjp", f, args)
    label, rng = err_msg or "VJP", np.random.default_rng(1)
    out = f(*args)
    got, pull = f_vjp(*args)
    _same_trees(f"{label}: the output", got, out)
    ct_out, tangents = _directions(out, rng), _directions(args, rng)
    ct_in = pull(ct_out)
    _same_trees(f"{label}: the tuple of cotangents", ct_in, args)
    problems = _differences("output", got, out, atol, rtol, 1)
    dtype = _coarsest_dtype((args, out))

    def projections(direction: Any) -> list[str]:
        want = _inner(ct_out, _difference_quotient(f, args, direction, eps))
        pair = np.asarray(_inner(ct_in, direction)), np.asarray(want)
        what = "cotangents along a random direction"
        return _differences(what, *pair, atol, rtol, 1, dtype)

    wrong = projections(tangents)
    if problems or wrong:
        blamed = _blamed(f, args, tangents, lambda v: bool(projections(v))) if wrong else []
        raise AssertionError(_report(label, f, problems + wrong, blamed))


def _checked_args(name: str, f: Callable, args: Any) -> tuple:
    if not isinstance(args, (tuple, list)):
        raise TypeError(
            f"{name} of {function_name(f)}: args is the tuple of all arguments, got "
            f"{type(args).__name__}; write (x,) for one argument x"
        )
    return tuple(tree_map(as_array, tuple(args)))


def _moves(x: Any) -> bool:
    return tangent_aval(aval_of(x)).dtype != dtypes.float0


def _moving_part(tree: Any) -> list[Any]:
    return [x for x in tree_flatten(tree)[0] if _moves(x)]


def _step_for(args: tuple) -> float:
    names = {str(aval_of(x).dtype) for x in tree_flatten(args)[0] if _moves(x)}
    return max((STEPS.get(n, COARSEST_STEP) for n in names), default=STEP)


def _directions(tree: Any, rng: np.random.Generator) -> Any:
    """A random tangent for a tree of arrays; float0 zeros where there is none."""

    def direction(x: Any) -> Any:
        shape, dtype = aval_of(x).shape, aval_of(x).dtype
        if not _moves(x):
            return np.zeros(shape, dtypes.float0)
        numbers = rng.standard_normal(shape)
        if np.issubdtype(dtype, np.complexfloating):
            numbers = numbers + 1j * rng.standard_normal(shape)
        return as_array(np.asarray(numbers, dtype))

    return tree_map(direction, tree)


def _wide(x: Any) -> np.ndarray:
    """The numbers in 64 bits; zeros for float0."""
    host = np.asarray(x)
    if host.dtype == dtypes.float0:
        return np.zeros(host.shape)
    return host.astype(np.complex128 if host.dtype.kind == "c" else np.float64)


def _difference_quotient(f: Callable, args: tuple, tangents: Any, eps: float) -> Any:
    """(f(x + eps v) - f(x - eps v)) / (2 eps), the division in 64 bits."""

    def at(h: float) -> Any:
        def moved(x: Any, v: Any) -> Any:
            if not _moves(x):
                return x
            return as_array((_wide(x) + h * _wide(v)).astype(x.dtype))

        return f(*tree_map(moved, args, tangents))

    def quotient(a: Any, b: Any) -> np.ndarray:
        return (_wide(a) - _wide(b)) / (2 * eps) if _moves(a) else np.zeros(np.shape(a))

    with np.errstate(invalid="ignore", over="ignore"):
        return tree_map(quotient, at(eps), at(-eps))


def _inner(cts: Any, tangents: Any) -> float:
    pairs = zip(tree_flatten(cts)[0], tree_flatten(tangents)[0], strict=True)
    return sum(float(np.sum(_wide(a) * _wide(b)).real) for a, b in pairs)


def _coarsest_dtype(tree: Any) -> Any:
    found = [aval_of(x).dtype for x in tree_flatten(tree)[0] if _moves(x)]
    return max(found, key=lambda d: TOLERANCES.get(str(d), COARSEST), default=np.dtype("f8"))


def _same_trees(what: str, got: Any, want: Any) -> None:
    """Raise unless two results have one structure and the same shapes."""
    structures = tree_structure(got), tree_structure(want)
    if structures[0] != structures[1]:
        raise AssertionError(f"{what} has the structure {structures[0]}, not {structures[1]}")
    for (path, a), b in zip(tree_flatten_with_path(got)[0], tree_flatten(want)[0], strict=True):
        if np.shape(a) != np.shape(b):
            raise AssertionError(
                f"{what} has the shape {np.shape(a)} at {keystr(path) or 'its only leaf'}, not "
                f"{np.shape(b)}"
            )


def _allowed(given: Tolerance, dtype: Any, slack: float) -> float:
    usual = TOLERANCES.get(str(dtype), COARSEST)
    if isinstance(given, Mapping):
        given = {str(np.dtype(d)): t for d, t in given.items()}.get(str(dtype))
    return slack * (usual if given is None else given)


def _differences(
    what: str,
    got: Any,
    want: Any,
    atol: Tolerance,
    rtol: Tolerance,
    slack: float,
    dtype: Any = None,
) -> list[str]:
    """One line for each leaf that is further from what it should be than allowed."""
    lines = []
    leaves = zip(tree_flatten_with_path(got)[0], tree_flatten(want)[0], strict=True)
    for (path, leaf), expected in leaves:
        kind = dtype or aval_of(leaf).dtype
        a, b = _wide(leaf), _wide(expected)
        absolute, relative = _allowed(atol, kind, slack), _allowed(rtol, kind, slack)
        close = np.isclose(a, b, relative, absolute, equal_nan=True)
        if close.all():
            continue
        place = tuple(int(i) for i in np.argwhere(~close)[0])
        at = f" at index {place}" if place else ""
        lines.append(
            f"{what}{keystr(path)}: {int((~close).sum())} of {close.size} differ; the first{at} "
            f"is {a[place]:.8g} and should be {b[place]:.8g} (atol {absolute:.3g}, rtol "
            f"{relative:.3g})"
        )
    return lines


def _blamed(f: Callable, args: tuple, tangents: Any, wrong: Callable[[Any], bool]) -> list[str]:
    """The argument leaves whose derivative is wrong when only they move."""
    leaves, tree = tree_flatten(tangents)
    paths = [keystr(path) for path, _ in tree_flatten_with_path(args)[0]]
    blamed = []
    for i, (leaf, path) in enumerate(zip(leaves, paths, strict=True)):
        if leaf.dtype == dtypes.float0:
            continue
        alone = [x if k == i else x * 0 if _moves(x) else x for k, x in enumerate(leaves)]
        if wrong(tree_unflatten(tree, alone)):
            blamed.append(f"args{path}")
    return blamed


def _report(label: str, f: Callable, problems: list[str], blamed: list[str]) -> str:
    lines = [f"{label}: the derivative of {function_name(f)} does not agree with differences"]
    if blamed:
        lines.append(f"  wrong with respect to {', '.join(blamed)}")
    return "\n".join(lines + [f"  {p}" for p in problems])
