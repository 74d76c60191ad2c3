"""Control flow on pytrees: cond, switch, while_loop, fori_loop, scan, map, associative_scan."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.api.flat import Staged, argument_names, as_value, check_arguments, stage_function
from funcgrad.api.vmap import vmap
from funcgrad.base import dtypes, promotion
from funcgrad.base.aval import ShapedArray, aval_of, weak_like
from funcgrad.base.basis import concatenate, convert, pad, reshape, scalar_like, slice_array
from funcgrad.base.config import config
from funcgrad.base.errors import ConcretizationTypeError
from funcgrad.base.shapes import canonical_axis
from funcgrad.base.source import function_name
from funcgrad.base.trace import Tracer
from funcgrad.base.tree import (
    PyTreeDef,
    equality_errors,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from funcgrad.ir.jaxpr import ClosedJaxpr, Var
from funcgrad.primitives.branch import cond_p
from funcgrad.primitives.compare import clamp
from funcgrad.primitives.scan import scan_p
from funcgrad.primitives.structural import rev
from funcgrad.primitives.while_loop import while_p
from funcgrad.transforms.staging import stage_closed


def flat_values(tree: Any) -> tuple[list[Any], PyTreeDef]:
    leaves, structure = tree_flatten(tree)
    return [as_value(x) for x in leaves], structure


def union_operands(stages: Sequence[Staged]) -> tuple[list[Any], list[ClosedJaxpr]]:
    """The tracers that any of several programs closes over, and the programs taking all of them."""
    operands: list[Any] = []
    index: dict[int, int] = {}
    for staged in stages:
        for tracer in staged.operands:
            if id(tracer) not in index:
                index[id(tracer)] = len(operands)
                operands.append(tracer)
    programs = []
    for staged in stages:
        jaxpr, count = staged.program.jaxpr, len(staged.operands)
        leading = [Var(aval_of(t)) for t in operands]
        for tracer, var in zip(staged.operands, jaxpr.invars[:count], strict=True):
            leading[index[id(tracer)]] = var
        jaxpr = jaxpr.replace(invars=[*leading, *jaxpr.invars[count:]])
        programs.append(staged.program.replace(jaxpr=jaxpr))
    return operands, programs


# cond, switch


def cond(
    pred: Any,
    true_fun: Callable,
    false_fun: Callable,
    *operands: Any,
    operand: Any = None,
    linear: Any = None,
) -> Any:
    """`true_fun(*operands)` if pred, else `false_fun(*operands)`; only that one is run.

    Args:
        pred: a boolean or number, a scalar.
        true_fun, false_fun: functions of the operands whose outputs have the same tree, shapes and
            dtypes. Under `vmap` with a batched pred both run, and each member selects.
        operands: pytrees of arrays.

    Raises:
        TypeError: if pred is not a scalar, or the outputs differ; says where and how.
    """
    if not (callable(true_fun) and callable(false_fun)):
        raise TypeError("cond: true_fun and false_fun arguments should be callable.")
    if operand is not None:
        operands = (operand,)
    if isinstance(pred, (list, tuple)) or not _is_scalar(pred):
        raise TypeError(
            f"cond: pred must be a scalar, got {_described(pred)}. Reduce it with any() or all(), "
            "or use where for a choice element by element."
        )
    dtype = aval_of(pred).dtype
    if config.disable_jit and not isinstance(pred, Tracer):
        return true_fun(*operands) if pred else false_fun(*operands)
    pred = as_value(pred)
    if dtype != np.bool_:
        if not dtypes.issubdtype(dtype, np.number):
            raise TypeError(f"cond: pred type must be either boolean or number, got {dtype}.")
        pred = pred != 0
    index = convert(pred, np.int32)
    return _branch("cond", index, [false_fun, true_fun], operands, ("false_fun", "true_fun"))


def switch(index: Any, branches: Sequence[Callable], *operands: Any, operand: Any = None) -> Any:
    """`branches[index](*operands)`, the index clamped to the range there is.

    Args:
        index: an integer scalar.
        branches: functions of the operands with outputs of the same tree, shapes and dtypes.
        operands: pytrees of arrays.
    """
    if not all(callable(b) for b in branches):
        raise TypeError("switch: branches argument should be a sequence of callables.")
    if operand is not None:
        operands = (operand,)
    if not branches:
        raise ValueError("switch: Empty branch sequence")
    if not _is_scalar(index) or not dtypes.issubdtype(aval_of(index).dtype, np.integer):
        raise TypeError(f"switch: index must be an integer scalar, got {_described(index)}.")
    if len(branches) == 1:
        return branches[0](*operands)
    if config.disable_jit and not isinstance(index, Tracer):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    index = convert(as_value(index), np.int32)
    index = clamp(np.int32(0), index, np.int32(len(branches) - 1))
    names = tuple(f"branch {i}" for i in range(len(branches)))
    return _branch("switch", index, list(branches), operands, names)


def _is_scalar(x: Any) -> bool:
    try:
        return aval_of(x).shape == ()
    except TypeError:
        return False


def _described(x: Any) -> str:
    try:
        aval = aval_of(x)
    except TypeError:
        return f"{x!r:.60} of type {type(x).__name__}"
    return f"{aval.str_short()} of shape {aval.shape}"


def _branch(
    name: str,
    index: Any,
    functions: Sequence[Callable],
    operands: tuple,
    labels: Sequence[str],
) -> Any:
    check_arguments(name, functions[-1], operands)
    leaves, in_tree = flat_values((operands, {}))
    avals = [x.aval for x in leaves]
    stages = [
        stage_function(f, in_tree, avals, name, argument_names(f, operands, {})) for f in functions
    ]
    first = stages[0]
    for label, other in zip(labels[1:], stages[1:], strict=True):
        _check_same(name, labels[0], label, first, other)
    stages = _promote_weak(stages)
    consts, programs = union_operands(stages)
    outs = cond_p.bind(index, *consts, *leaves, branches=tuple(programs))
    return tree_unflatten(first.out_tree, outs)


def _check_same(name: str, label_a: str, label_b: str, a: Staged, b: Staged) -> None:
    """Raise a TypeError that says at which path two branches' outputs differ, and how."""
    filled_a = tree_unflatten(a.out_tree, a.program.out_avals)
    filled_b = tree_unflatten(b.out_tree, b.program.out_avals)
    if a.out_tree != b.out_tree:
        lines = [
            f"  * at output{keystr(path)}: {label_a} has {one}, {label_b} has {two}, so {why}"
            for path, one, two, why in equality_errors(filled_a, filled_b)
        ]
        raise TypeError(
            f"{name}: {label_a} and {label_b} outputs must have the same type structure (pytree), "
            f"but they differ:\n" + "\n".join(lines) + f"\n  {label_a} output: {a.out_tree}\n  "
            f"{label_b} output: {b.out_tree}"
        )
    paths = [keystr(path) for path, _ in tree_flatten_with_path(filled_a)[0]]
    lines = [
        f"  * output{path}: {label_a} has type {x.str_short()}, {label_b} has type {y.str_short()}"
        f" (shapes {x.shape} and {y.shape})"
        for path, x, y in zip(paths, a.program.out_avals, b.program.out_avals, strict=True)
        if not weak_like(x, y) and not _weakly_joinable(x, y)
    ]
    if lines:
        raise TypeError(
            f"{name}: {label_a} and {label_b} outputs must have identical types, got\n"
            + "\n".join(lines)
            + "\nMake shapes and dtypes equal, with astype or broadcast_to in one of them."
        )


def _weakly_joinable(x: ShapedArray, y: ShapedArray) -> bool:
    return x.shape == y.shape and (x.weak_type or y.weak_type) and _join(x, y) is not None


def _join(x: ShapedArray, y: ShapedArray) -> Any:
    """The dtype of the two where weak types may give way to it, else None."""
    dtype, _ = promotion.promote2(x.dtype, x.weak_type, y.dtype, y.weak_type)
    return dtype if all(a.weak_type or a.dtype == dtype for a in (x, y)) else None


def _promote_weak(stages: Sequence[Staged]) -> list[Staged]:
    """Convert weakly typed outputs to the dtype and weak type that the branches share."""
    columns = zip(*(s.program.out_avals for s in stages), strict=True)
    wanted = []
    for column in columns:
        dtype, weak = column[0].dtype, column[0].weak_type
        for aval in column[1:]:
            dtype, weak = promotion.promote2(dtype, weak, aval.dtype, aval.weak_type)
        wanted.append((dtype, weak))
    return [_converted(s, wanted) for s in stages]


def _converted(staged: Staged, wanted: Sequence[tuple[Any, bool]]) -> Staged:
    have = [(a.dtype, a.weak_type) for a in staged.program.out_avals]
    if have == list(wanted):
        return staged

    def run(*args: Any) -> list[Any]:
        outs = staged.program(*args)
        return [convert(o, dtype, weak) for o, (dtype, weak) in zip(outs, wanted, strict=True)]

    program, _ = stage_closed(run, staged.program.in_avals, staged.program.jaxpr.debug_info)
    return staged._replace(program=program)


# scan


def scan(
    f: Callable,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Run `carry, y = f(carry, x)` over the leading axis of xs, stacking the ys.

    Args:
        f: the body; the carry it returns has the tree, shapes and dtypes of the one it gets.
        init: the first carry, a pytree of arrays.
        xs: a pytree of arrays with one leading axis length, or None (then `length` is needed).
        length: the number of turns.
        reverse: whether to run from the last element to the first.
        unroll: turns per step of the loop; a hint for compilers.

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
        raise TypeError("scan: f argument should be a callable.")
    check_arguments("scan", lambda init, xs: None, (init, xs))
    init_leaves, carry_tree = flat_values(init)
    xs_leaves, xs_tree = flat_values(xs)
    length = _scan_length(f, xs, xs_leaves, length)
    if config.disable_jit:
        return _scan_in_python(f, init, xs, length, reverse)
    x_avals = [x.aval.update(shape=x.aval.shape[1:]) for x in xs_leaves]
    in_tree = tree_structure(((init, xs), {}))
    names = argument_names(f, (init, xs), {})

    def attempt(avals: Sequence[ShapedArray]) -> Staged:
        return stage_function(f, in_tree, [*avals, *x_avals], "scan", names)

    init_leaves, staged = _stable_carry("scan", f, init_leaves, carry_tree, attempt, pair=True)
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
    return tree_unflatten(staged.out_tree, outs)


def _unroll(unroll: int | bool, length: int) -> int:
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if unroll < 1:
        raise ValueError(f"scan: unroll must be at least 1, got {unroll}")
    return int(unroll)


def _scan_length(f: Callable, xs: Any, leaves: Sequence[Any], length: int | None) -> int:
    paths = [keystr(path) for path, _ in tree_flatten_with_path(xs)[0]]
    for path, x in zip(paths, leaves, strict=True):
        if not x.aval.shape:
            raise ValueError(
                f"scan of {function_name(f)} got a value with no leading axis to scan over: "
                f"xs{path} is a scalar, {x.aval.str_short()}"
            )
    lengths = [x.aval.shape[0] for x in leaves]
    if length is not None:
        try:
            length = int(length)
        except ConcretizationTypeError as error:
            raise ConcretizationTypeError(
                "The `length` argument to `scan` expects a concrete `int` value: it is the leading "
                f"axis of the result. {error}"
            ) from None
    listed = ", ".join(f"xs{p} has {n}" for p, n in zip(paths, lengths, strict=True))
    if length is not None and any(n != length for n in lengths):
        raise ValueError(
            f"scan of {function_name(f)} got `length` argument of {length} which disagrees with "
            f"leading axis sizes: {listed}."
        )
    if length is None and len(set(lengths)) > 1:
        raise ValueError(
            f"scan of {function_name(f)} got values with different leading axis sizes: {listed}."
        )
    if length is None and not lengths:
        raise ValueError(
            f"scan of {function_name(f)} got no values to scan over and no `length`; give one."
        )
    return lengths[0] if length is None else length


def _stable_carry(
    name: str,
    f: Callable,
    init: list[Any],
    carry_tree: PyTreeDef,
    attempt: Callable[[Sequence[ShapedArray]], Staged],
    pair: bool,
) -> tuple[list[Any], Staged]:
    """Stage a body until its carry comes out as it went in; weakly typed starts are promoted."""
    for _ in range(len(init) + 2):
        avals = [x.aval for x in init]
        staged = attempt(avals)
        outs = _carry_outputs(name, f, staged, carry_tree, pair)
        joins = [_join(a, o) if a.weak_type else None for a, o in zip(avals, outs, strict=True)]
        promoted = [
            convert(x, o.dtype, o.weak_type)
            if j is not None and a != o and a.shape == o.shape
            else x
            for x, a, o, j in zip(init, avals, outs, joins, strict=True)
        ]
        if all(p is x for p, x in zip(promoted, init, strict=True)):
            _check_carry(name, f, carry_tree, avals, outs)
            return init, _carry_converted(staged, avals)
        init = promoted
    raise TypeError(f"{name} of {function_name(f)}: the carry's weak types do not settle")


def _carry_outputs(
    name: str, f: Callable, staged: Staged, carry_tree: PyTreeDef, pair: bool
) -> list[ShapedArray]:
    """The avals of the carry that a body returns, its structure checked."""
    out = tree_unflatten(staged.out_tree, staged.program.out_avals)
    if pair:
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            raise TypeError(
                f"{name} body output must be a pair (carry, y), got {staged.out_tree} from "
                f"{function_name(f)}. Return None for y if there is nothing to stack."
            )
        out = out[0]
    if tree_structure(out) != carry_tree:
        filled = tree_unflatten(carry_tree, list(range(carry_tree.num_leaves)))
        lines = [
            f"  * at carry{keystr(path)}: the input has {one}, the output has {two}, so {why}"
            for path, one, two, why in equality_errors(filled, out)
        ]
        raise TypeError(
            f"{name} body function carry input and carry output must have the same pytree "
            f"structure, but for {function_name(f)} they differ:\n"
            + "\n".join(lines)
            + f"\n  input: {carry_tree}\n  output: {tree_structure(out)}"
        )
    return tree_leaves(out)


def _check_carry(
    name: str,
    f: Callable,
    carry_tree: PyTreeDef,
    ins: Sequence[ShapedArray],
    outs: Sequence[ShapedArray],
) -> None:
    filled = tree_unflatten(carry_tree, list(range(len(ins))))
    paths = [keystr(path) for path, _ in tree_flatten_with_path(filled)[0]]
    lines = [
        f"  * carry{path} has type {a.str_short()} in the input and {o.str_short()} in the output "
        f"(shapes {a.shape} and {o.shape})"
        for path, a, o in zip(paths, ins, outs, strict=True)
        if not weak_like(a, o)
    ]
    if lines:
        raise TypeError(
            f"{name} body function carry input and carry output must have equal types, but for "
            f"{function_name(f)} they differ:\n"
            + "\n".join(lines)
            + "\nGive the initial carry the shape and dtype that the body returns, or convert the "
            "body's output with astype."
        )


def _carry_converted(staged: Staged, avals: Sequence[ShapedArray]) -> Staged:
    """The body with the weak types of its carry outputs made those of its inputs."""
    outs = staged.program.out_avals
    wanted = [(a.dtype, a.weak_type) for a in (*avals, *outs[len(avals) :])]
    return _converted(staged, wanted)


def _scan_in_python(f: Callable, carry: Any, xs: Any, length: int, reverse: bool) -> tuple:
    ys = []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, tree_map(lambda x: x[i], xs))  # noqa: B023
        ys.append(y)
    if not ys:
        raise ValueError("scan: zero-length scan is not supported in disable_jit() mode")
    if reverse:
        ys.reverse()
    stacked = tree_map(lambda *leaves: concatenate([as_value(x)[None] for x in leaves], 0), *ys)
    return carry, stacked


# while_loop, fori_loop, map


def while_loop(cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
    """`while cond_fun(val): val = body_fun(val)`.

    Args:
        cond_fun: from the value to a boolean scalar.
        body_fun: from the value to one of the same tree, shapes and dtypes.
        init_val: a pytree of arrays.

    Forward mode, batching (finished members keep their values) and staging work; reverse mode
    raises, since the number of turns is not known.
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError("while_loop: body_fun and cond_fun arguments should be callable.")
    check_arguments("while_loop", body_fun, (init_val,))
    if config.disable_jit:
        while bool(cond_fun(init_val)):
            init_val = body_fun(init_val)
        return init_val
    init, carry_tree = flat_values(init_val)
    in_tree = tree_structure(((init_val,), {}))
    names = argument_names(body_fun, (init_val,), {})

    def attempt(avals: Sequence[ShapedArray]) -> Staged:
        return stage_function(body_fun, in_tree, avals, "while_loop", names)

    init, body = _stable_carry("while_loop", body_fun, init, carry_tree, attempt, pair=False)
    test = stage_function(cond_fun, in_tree, [x.aval for x in init], "while_loop", names)
    outs = test.program.out_avals
    if test.out_tree.num_nodes != 1 or outs[0].shape or outs[0].dtype != np.bool_:
        raise TypeError(
            f"while_loop: cond_fun must return a boolean scalar, but {function_name(cond_fun)} "
            f"returned pytree {test.out_tree} with types {[a.str_short() for a in outs]}."
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
    return tree_unflatten(carry_tree, result)


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable, init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """`for i in range(lower, upper): val = body_fun(i, val)`.

    With Python integers as bounds the loop is a scan, so reverse mode works; else a while_loop.
    """
    if not callable(body_fun):
        raise TypeError("fori_loop: body_fun argument should be callable.")
    for label, bound in (("lower", lower), ("upper", upper)):
        if not _is_scalar(bound) or not dtypes.issubdtype(aval_of(bound).dtype, np.integer):
            raise TypeError(
                f"fori_loop: the {label} bound must be an integer scalar, got {_described(bound)}"
            )
    start, stop = _concrete_bound(lower), _concrete_bound(upper)
    dtype, _ = promotion.promote2(
        aval_of(lower).dtype,
        aval_of(lower).weak_type,
        aval_of(upper).dtype,
        aval_of(upper).weak_type,
    )
    if start is not None and stop is not None:
        first = convert(as_value(start), dtype, aval_of(lower).weak_type)

        def body(carry: tuple, _: None) -> tuple:
            i, value = carry
            return (i + 1, body_fun(i, value)), None

        (_, result), _ = scan(
            body, (first, init_val), None, max(stop - start, 0), unroll=unroll or 1
        )
        return result
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

    def part(x: Any, start: int, stop: int) -> Any:
        shape = aval_of(x).shape
        return slice_array(x, [start, *[0] * (len(shape) - 1)], [stop, *shape[1:]])

    def batches(x: Any) -> Any:
        x = part(as_value(x), 0, whole)
        return reshape(x, (whole // batch_size, batch_size, *aval_of(x).shape[1:]))

    done = scan(lambda _, x: ((), vmap(f)(x)), (), tree_map(batches, xs))[1]
    done = tree_map(lambda y: reshape(y, (whole, *y.shape[2:])), done)
    if whole == total:
        return done
    rest = vmap(f)(tree_map(lambda x: part(as_value(x), whole, total), xs))
    return tree_map(lambda a, b: concatenate([a, b], 0), done, rest)


# associative_scan


def associative_scan(fn: Callable, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefix results of an associative operation, in a logarithmic number of steps.

    Args:
        fn: `fn(a, b)` on pytrees like `elems`, associative, vectorised along `axis`.
        elems: a pytree of arrays of one length along `axis`.
        reverse: whether to accumulate from the end.
        axis: the axis to scan along.

    Source: Blelloch, Prefix Sums and Their Applications (1990).
    """
    if not callable(fn):
        raise TypeError("associative_scan: fn argument should be callable.")
    leaves, tree = flat_values(elems)
    if not leaves:
        raise ValueError("associative_scan: needs at least one array")
    axes = [canonical_axis(axis, len(x.aval.shape)) for x in leaves]
    sizes = {x.aval.shape[a] for x, a in zip(leaves, axes, strict=True)}
    if len(sizes) > 1:
        raise ValueError(
            "associative_scan: array inputs must have the same size along the axis, got shapes "
            f"{[x.aval.shape for x in leaves]}"
        )
    if reverse:
        leaves = [_flip(x, a) for x, a in zip(leaves, axes, strict=True)]

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        out = fn(tree_unflatten(tree, a), tree_unflatten(tree, b))
        return [as_value(x) for x in tree_leaves(out)]

    outs = _prefix(combine, leaves, axes)
    if reverse:
        outs = [_flip(x, a) for x, a in zip(outs, axes, strict=True)]
    return tree_unflatten(tree, outs)


def _flip(x: Any, axis: int) -> Any:
    return rev(x, (axis,))


def _prefix(combine: Callable, elems: list[Any], axes: list[int]) -> list[Any]:
    """Combine neighbours, solve half the problem, and fill in the other half."""
    size = elems[0].aval.shape[axes[0]]
    if size < 2:
        return elems

    def cut(arrays: list[Any], start: int, stop: int, step: int = 1) -> list[Any]:
        return [_along(x, a, start, stop, step) for x, a in zip(arrays, axes, strict=True)]

    pairs = combine(cut(elems, 0, size - 1, 2), cut(elems, 1, size, 2))
    odd = _prefix(combine, pairs, axes)
    stop = odd[0].aval.shape[axes[0]] - (size % 2 == 0)
    even = combine(cut(odd, 0, stop), cut(elems, 2, size, 2)) if size > 2 else None
    first = cut(elems, 0, 1)
    evens = (
        first
        if even is None
        else [concatenate([f, e], a) for f, e, a in zip(first, even, axes, strict=True)]
    )
    return [_interleave(e, o, a) for e, o, a in zip(evens, odd, axes, strict=True)]


def _along(x: Any, axis: int, start: int, stop: int, step: int) -> Any:
    shape = x.aval.shape
    begin, end, steps = [0] * len(shape), list(shape), [1] * len(shape)
    begin[axis], end[axis], steps[axis] = start, max(stop, start), step
    return slice_array(x, begin, end, steps)


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """even[0], odd[0], even[1], ... along an axis; `even` has as many elements or one more."""
    n_even, n_odd = even.aval.shape[axis], odd.aval.shape[axis]
    ndim = len(even.aval.shape)

    def spread(x: Any, low: int, high: int) -> Any:
        return pad(
            x, scalar_like(0, x), [(low, high, 1) if i == axis else (0, 0, 0) for i in range(ndim)]
        )

    total = n_even + n_odd
    placed_even = spread(even, 0, total - (2 * n_even - 1))
    placed_odd = spread(odd, 1, total - 2 * n_odd)
    if aval_of(even).dtype == np.bool_:
        return placed_even | placed_odd
    return placed_even + placed_odd
