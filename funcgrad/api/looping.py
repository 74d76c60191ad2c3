"""scan, while_loop, fori_loop and map: run a function of pytrees again and again."""

from collections.abc import Callable, Sequence
from functools import partial
from math import isqrt
from typing import Any

import numpy as np

from funcgrad.api import refs
from funcgrad.api.agreement import stable_carry
from funcgrad.api.branching import cond
from funcgrad.api.callbacks import debug_callback
from funcgrad.api.checkpoint import checkpoint as recomputed
from funcgrad.api.flat import (
    Staged,
    argument_names,
    as_value,
    check_arguments,
    described,
    flat_values,
    is_scalar,
    stage_function,
)
from funcgrad.api.vmap import vmap
from funcgrad.base import dtypes, promotion
from funcgrad.base.aval import ShapedArray, aval_of
from funcgrad.base.basis import concatenate, convert, reshape, slice_axis
from funcgrad.base.config import config
from funcgrad.base.errors import ConcretizationTypeError
from funcgrad.base.source import function_name
from funcgrad.base.tracer import Tracer
from funcgrad.base.tree import (
    keystr,
    tree_flatten_with_path,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from funcgrad.primitives.scan import scan_p
from funcgrad.primitives.while_loop import while_p


def scan(
    f: Callable,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
    *,
    checkpoint: int | None = None,
) -> tuple[Any, Any]:
    """Run `carry, y = f(carry, x)` over the leading axis of xs, stacking the ys.

    Args:
        f: the body; the carry it returns has the tree, shapes and dtypes of the one it gets.
        init: the first carry, a pytree of arrays.
        xs: a pytree of arrays with one leading axis length, or None (then `length` is needed).
        length: the number of turns.
        reverse: whether to run from the last element to the first.
        unroll: turns per step of the loop; a hint for compilers.
        checkpoint: for reverse mode, keep the carry of every so many turns only, and compute what
            lies between again; None keeps what each turn's derivative needs. Memory is least near
            the square root of the number of turns.

    Returns:
        `(last carry, ys)`, each y stacked along a new leading axis.

    Raises:
        TypeError: if the carry changes its type; says at which path.
        ValueError: if the lengths of xs disagree.

    Example:
        >>> scan(lambda c, x: (c + x, c), 0.0, np.arange(3.0))
        (Array(3., dtype=float32), Array([0., 0., 1.], dtype=float32))
    """
    if not callable(f):
        raise TypeError("scan: f is not callable; give the body as a function f(carry, x).")
    check_arguments("scan", lambda init, xs: None, (init, xs))
    init_leaves, carry_tree = flat_values(init)
    xs_leaves, _ = flat_values(xs)
    length = _scan_length(f, xs, xs_leaves, length)
    if checkpoint is not None and (checkpoint != int(checkpoint) or checkpoint < 1):
        raise ValueError(f"scan: checkpoint counts turns, so it is 1 or more; got {checkpoint}")
    if refs.alive() and length:
        found = refs.touched("scan", [f], init, tree_map(lambda x: as_value(x)[0], xs))
        if found:
            run = partial(scan, reverse=reverse, unroll=unroll, checkpoint=checkpoint)
            return _scan_with_refs(run, f, init, xs, length, found)
    if config.disable_jit:
        return _scan_in_python(f, init, xs, length, reverse)
    if checkpoint is not None and length:
        run = partial(scan, f, reverse=reverse, unroll=unroll)
        return _scan_in_segments(run, init, xs, length, reverse, int(checkpoint))
    x_avals = [x.aval.update(shape=x.aval.shape[1:]) for x in xs_leaves]
    in_tree = tree_structure(((init, xs), {}))
    names = argument_names(f, (init, xs), {})

    def attempt(avals: Sequence[ShapedArray]) -> Staged:
        return stage_function(f, in_tree, [*avals, *x_avals], "scan", names)

    init_leaves, staged, last = stable_carry("scan", f, init_leaves, carry_tree, attempt, pair=True)
    outs = scan_p.bind(
        *staged.operands,
        *init_leaves,
        *xs_leaves,
        jaxpr=staged.program,
        length=length,
        reverse=bool(reverse),
        num_consts=len(staged.operands),
        num_carry=len(init_leaves),
        unroll=_unroll(unroll, length),
    )
    carry = [convert(x, a.dtype, a.weak_type) for x, a in zip(outs, last, strict=False)]
    return tree_unflatten(staged.out_tree, [*carry, *outs[len(carry) :]])


def _scan_with_refs(
    run: Callable, f: Callable, init: Any, xs: Any, length: int, found: list[Any]
) -> tuple[Any, Any]:
    """A scan whose carry also holds what its body reads and writes of Refs."""
    pure = refs.pure(f, found)

    def body(carry: tuple, x: Any) -> tuple:
        (after, y), values = pure(carry[1], carry[0], x)
        return (after, values), y

    (last, values), ys = run(body, (init, refs.read_all(found)), xs, length)
    refs.write_all(found, values)
    return last, ys


def _unroll(unroll: int | bool, length: int) -> int:
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if unroll < 1:
        raise ValueError(f"scan: unroll counts turns, so it is 1 or more; got {unroll}")
    return int(unroll)


def _scan_length(f: Callable, xs: Any, leaves: Sequence[Any], length: int | None) -> int:
    paths = [keystr(path) for path, _ in tree_flatten_with_path(xs)[0]]
    for path, x in zip(paths, leaves, strict=True):
        if not x.aval.shape:
            raise ValueError(
                f"scan of {function_name(f)} runs over the first axis of xs, and xs{path} has "
                "none: it "
                f"is a scalar, {x.aval.str_short()}"
            )
    lengths = [x.aval.shape[0] for x in leaves]
    if length is not None:
        try:
            length = int(length)
        except ConcretizationTypeError as error:
            raise ConcretizationTypeError(
                "scan has to know its `length` while tracing, as it becomes an axis of the result. "
                f"{error}"
            ) from None
    listed = ", ".join(f"xs{p} has {n}" for p, n in zip(paths, lengths, strict=True))
    if length is not None and any(n != length for n in lengths):
        raise ValueError(
            f"scan of {function_name(f)}: `length` is {length}, and the first axes of xs have "
            "other "
            f"sizes: {listed}."
        )
    if length is None and len(set(lengths)) > 1:
        raise ValueError(
            f"scan of {function_name(f)}: the first axes of xs differ in size: {listed}."
        )
    if length is None and not lengths:
        raise ValueError(
            f"scan of {function_name(f)}: xs holds no array and `length` is not given; give one "
            "of them."
        )
    return lengths[0] if length is None else length


def _scan_in_segments(
    run: Callable, carry: Any, xs: Any, length: int, reverse: bool, turns: int
) -> tuple[Any, Any]:
    """A scan of scans, each of which is computed again for its derivative."""
    count, left = divmod(length, turns)
    whole = count * turns

    def segment(carry: Any, xs: Any, turns: int) -> tuple[Any, Any]:
        return recomputed(lambda carry, xs: run(carry, xs, turns))(carry, xs)

    def some(x: Any, start: int, stop: int) -> Any:
        return slice_axis(as_value(x), start, stop)

    def in_segments(carry: Any) -> tuple[Any, Any]:
        grouped = tree_map(
            lambda x: reshape(some(x, 0, whole), (count, turns, *aval_of(x).shape[1:])), xs
        )
        carry, ys = scan(lambda c, x: segment(c, x, turns), carry, grouped, count, reverse)
        return carry, tree_map(lambda y: reshape(y, (whole, *y.shape[2:])), ys)

    def the_rest(carry: Any) -> tuple[Any, Any]:
        return segment(carry, tree_map(lambda x: some(x, whole, length), xs), left)

    parts = [part for part, size in ((in_segments, whole), (the_rest, left)) if size]
    stacked = []
    for part in reversed(parts) if reverse else parts:
        carry, ys = part(carry)
        stacked.append(ys)
    if reverse:
        stacked.reverse()
    if len(stacked) == 1:
        return carry, stacked[0]
    return carry, tree_map(lambda a, b: concatenate([a, b], 0), *stacked)


def _scan_in_python(f: Callable, carry: Any, xs: Any, length: int, reverse: bool) -> tuple:
    ys = []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, tree_map(lambda x: x[i], xs))  # noqa: B023
        ys.append(y)
    if not ys:
        raise ValueError(
            "scan: with disable_jit a scan needs at least one turn, to know what ys look like"
        )
    if reverse:
        ys.reverse()
    stacked = tree_map(lambda *leaves: concatenate([as_value(x)[None] for x in leaves], 0), *ys)
    return carry, stacked


def while_loop(
    cond_fun: Callable, body_fun: Callable, init_val: Any, *, max_steps: int | None = None
) -> Any:
    """`while cond_fun(val): val = body_fun(val)`.

    Args:
        cond_fun: from the value to a boolean scalar.
        body_fun: from the value to one of the same tree, shapes and dtypes.
        init_val: a pytree of arrays.
        max_steps: the most turns there can be. Reverse mode needs to know, and raises otherwise.
            Its memory grows with the square root of this number, and a turn that the loop did not
            need costs little; every value that such a turn would compute is left alone.

    Forward mode, batching (finished members keep their values) and staging work in any case.

    Raises:
        ValueError: if `cond_fun` still holds after `max_steps` turns; from compiled code when it
            runs.
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError(
            "while_loop: give two functions, cond_fun and body_fun; one of them is not callable."
        )
    check_arguments("while_loop", body_fun, (init_val,))
    if refs.alive():
        found = refs.touched("while_loop", [cond_fun, body_fun], init_val)
        if found:
            test, turn = (refs.pure(g, found) for g in (cond_fun, body_fun))
            last, values = while_loop(
                lambda s: test(s[1], s[0])[0],
                lambda s: turn(s[1], s[0]),
                (init_val, refs.read_all(found)),
                max_steps=max_steps,
            )
            refs.write_all(found, values)
            return last
    if max_steps is not None:
        return _bounded_loop(cond_fun, body_fun, init_val, max_steps)
    if config.disable_jit:
        while bool(cond_fun(init_val)):
            init_val = body_fun(init_val)
        return init_val
    init, carry_tree = flat_values(init_val)
    in_tree = tree_structure(((init_val,), {}))
    names = argument_names(body_fun, (init_val,), {})

    def attempt(avals: Sequence[ShapedArray]) -> Staged:
        return stage_function(body_fun, in_tree, avals, "while_loop", names)

    init, body, last = stable_carry("while_loop", body_fun, init, carry_tree, attempt, pair=False)
    test = stage_function(cond_fun, in_tree, [x.aval for x in init], "while_loop", names)
    outs = test.program.out_avals
    if test.out_tree.num_nodes != 1 or outs[0].shape or outs[0].dtype != np.bool_:
        raise TypeError(
            "while_loop: one bool decides whether to go on, and cond_fun "
            f"{function_name(cond_fun)} "
            f"returned {test.out_tree} of types {[a.str_short() for a in outs]}."
        )
    result = while_p.bind(
        *test.operands,
        *body.operands,
        *init,
        cond_jaxpr=test.program,
        body_jaxpr=body.program,
        cond_nconsts=len(test.operands),
        body_nconsts=len(body.operands),
    )
    result = [convert(x, a.dtype, a.weak_type) for x, a in zip(result, last, strict=True)]
    return tree_unflatten(carry_tree, result)


def _bounded_loop(test: Callable, body: Callable, init: Any, most: int) -> Any:
    """A while loop as a scan of turns that do nothing once the test has failed."""
    if most != int(most) or most < 0:
        raise ValueError(f"while_loop: max_steps counts turns, so it is 0 or more; got {most}")

    def turn(value: Any, _: None) -> tuple[Any, None]:
        return cond(test(value), body, lambda value: value, value), None

    last = init
    if most:
        last, _ = scan(turn, init, None, int(most), checkpoint=isqrt(most))
    debug_callback(partial(_check_finished, function_name(test), most), test(last))
    return last


def _check_finished(name: str, most: int, goes_on: Any) -> None:
    if goes_on:
        raise ValueError(
            f"while_loop: {name} still holds after max_steps={most} turns. Give a larger max_steps."
        )


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable, init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """`for i in range(lower, upper): val = body_fun(i, val)`.

    With known bounds the loop is a scan over Python integers, so reverse mode works; else a
    while_loop.
    """
    if not callable(body_fun):
        raise TypeError("fori_loop: body_fun is not callable; give a function body_fun(i, val).")
    for label, bound in (("lower", lower), ("upper", upper)):
        if not is_scalar(bound) or not dtypes.issubdtype(aval_of(bound).dtype, np.integer):
            raise TypeError(
                f"fori_loop: the {label} bound must be an integer scalar, got {described(bound)}"
            )
    start, stop = _concrete_bound(lower), _concrete_bound(upper)
    if start is not None and stop is not None:

        def body(carry: tuple, _: None) -> tuple:
            i, value = carry
            return (i + 1, body_fun(i, value)), None

        (_, result), _ = scan(
            body, (start, init_val), None, max(stop - start, 0), unroll=unroll or 1
        )
        return result
    dtype, _ = promotion.lattice_result_type(lower, upper)
    low, high = convert(as_value(lower), dtype), convert(as_value(upper), dtype)
    _, _, result = while_loop(
        lambda s: s[0] < s[1],
        lambda s: (s[0] + 1, s[1], body_fun(s[0], s[2])),
        (low, high, init_val),
    )
    return result


def _concrete_bound(bound: Any) -> int | None:
    return None if isinstance(bound, Tracer) else int(bound)


def map(f: Callable, xs: Any, *, batch_size: int | None = None) -> Any:
    """`f` applied to each element along the leading axis, one after the other, results stacked.

    Args:
        f: a function of one element.
        xs: a pytree of arrays with one leading axis length.
        batch_size: how many elements to compute at a time with `vmap`.
    """
    if batch_size is None:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    from_leaves = tree_leaves(xs)
    if not from_leaves:
        raise ValueError("map: needs at least one array to map over")
    total = aval_of(from_leaves[0]).shape[0]
    whole = total // batch_size * batch_size

    def batches(x: Any) -> Any:
        x = slice_axis(as_value(x), 0, whole)
        return reshape(x, (whole // batch_size, batch_size, *aval_of(x).shape[1:]))

    done = scan(lambda _, x: ((), vmap(f)(x)), (), tree_map(batches, xs))[1]
    done = tree_map(lambda y: reshape(y, (whole, *y.shape[2:])), done)
    if whole == total:
        return done
    rest = vmap(f)(tree_map(lambda x: slice_axis(as_value(x), whole, total), xs))
    return tree_map(lambda a, b: concatenate([a, b], 0), done, rest)
