"""einsum: sums of products over named axes, pair by pair in an order that opt_einsum finds."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.base import basis, dtypes
from funcgrad.base.basis import convert, reduce_sum
from funcgrad.base.shapes import Shape
from funcgrad.numpy._diagonals import diagonal
from funcgrad.numpy._promotion import is_bool, promote_dtypes, refuse_out
from funcgrad.primitives.contraction import dot_general
from funcgrad.primitives.precision import PrecisionLike
from funcgrad.primitives.reduction import reduce_or

# Which operands meet, and the names of the result's axes.
Step = tuple[tuple[int, ...], str]


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: str | bool | Sequence[tuple[int, ...]] = "auto",
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    _dot_general: Callable[..., Any] = dot_general,
    out_sharding: None = None,
) -> Any:
    """The sum of products of the operands over the axes whose names the result lacks.

    Args:
        subscripts: a name for each axis, as in "ij,jk->ik"; "..." stands for any axes in front,
            which broadcast. Without "->" the result has the names that occur once, in order. Or
            the first operand, followed by a list of axis numbers, further such pairs, and perhaps
            a list for the result.
        operands: the arrays.
        out: None.
        optimize: how to look for a cheap order: a name known to opt_einsum, True for "optimal",
            False for none, or the order itself.
        precision: see `lax.Precision`.
        preferred_element_type: the dtype of the result, in which products are summed.

    Raises:
        ValueError: axes of one name differ in length (1 aside), or the subscripts make no sense.

    Example:
        >>> einsum("ij,j->i", a, x)
    """
    refuse_out("einsum", out)
    formula, arrays = _parsed(subscripts, operands)
    steps = _steps(formula, tuple(x.aval.shape for x in arrays), _hashable(optimize))
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_user_dtype(preferred_element_type, "einsum")

    def dot(x: Any, y: Any, numbers: Any) -> Any:
        return _dot_general(x, y, numbers, precision, preferred_element_type=preferred_element_type)

    terms = list(zip(arrays, formula.split("->")[0].split(","), strict=True))
    for places, names in steps:
        chosen = [terms.pop(i) for i in sorted(places, reverse=True)]
        terms.append((_contract(chosen, names, dot), names))
    ((result, _),) = terms
    return result if preferred_element_type is None else convert(result, preferred_element_type)


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: str | bool | Sequence[tuple[int, ...]] = "auto"
) -> tuple[Any, Any]:
    """The order in which einsum contracts, as pairs of operand numbers, and a printable account."""
    import opt_einsum

    formula, arrays = _parsed(subscripts, operands)
    shapes = [x.aval.shape for x in arrays]
    return opt_einsum.contract_path(
        formula, *shapes, shapes=True, optimize=_optimizer(optimize, len(shapes))
    )


def _parsed(subscripts: Any, operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """The formula without ellipses and spaces, and the operands in one dtype."""
    from opt_einsum import parser

    if isinstance(subscripts, str):
        if not operands:
            raise ValueError("einsum: no operands were given")
        arrays = promote_dtypes("einsum", *operands)
        given: list[Any] = [subscripts, *(x.aval.shape for x in arrays)]
    else:
        rest = [subscripts, *operands]
        arrays = promote_dtypes("einsum", *rest[: len(rest) // 2 * 2 : 2])
        given = list(rest)
        given[: len(rest) // 2 * 2 : 2] = [x.aval.shape for x in arrays]
    inputs, output, _ = parser.parse_einsum_input(tuple(given), shapes=True)
    return f"{inputs}->{output}", arrays


def _hashable(optimize: Any) -> Any:
    return tuple(map(tuple, optimize)) if isinstance(optimize, list) else optimize


def _optimizer(optimize: Any, count: int) -> Any:
    """What opt_einsum takes: a name or an order, one after the other where none is looked for."""
    if optimize is True:
        return "optimal"
    if optimize is False:
        return [(0, 1)] * (count - 1) if count > 1 else [(0,)]
    return list(optimize) if isinstance(optimize, tuple) else optimize


@functools.lru_cache(4096)
def _steps(formula: str, shapes: tuple[Shape, ...], optimize: Any) -> list[Step]:
    import opt_einsum

    if len(shapes) <= 2:
        # Checks the lengths; there is only one order.
        opt_einsum.contract_path(formula, *shapes, shapes=True, optimize=False)
        return [(tuple(range(len(shapes))), formula.split("->")[1])]
    contractions: Any
    _, contractions = opt_einsum.contract_path(
        formula, *shapes, shapes=True, einsum_call=True, optimize=_optimizer(optimize, len(shapes))
    )
    return [(tuple(places), step.split("->")[1]) for places, _, step, *_ in contractions]


def _contract(terms: list[tuple[Any, str]], out: str, dot: Callable[[Any, Any, Any], Any]) -> Any:
    """The product of the terms, summed over all names that `out` lacks, axes in the order of it."""
    first, *others = terms
    x, names = first
    for i, (y, y_names) in enumerate(others):
        needed = out + "".join(n for _, n in others[i + 1 :])
        x, names = _pair(x, names, y, y_names, needed, dot)
    x, names = _reduced(x, names, out)
    return basis.transpose(x, [names.index(n) for n in out])


def _reduced(x: Any, names: str, needed: str) -> tuple[Any, str]:
    """One term with the diagonal of repeated names, summed over what is not needed."""
    for name in sorted(set(names)):
        while names.count(name) > 1:
            i = names.index(name)
            j = names.index(name, i + 1)
            x = diagonal(x, 0, i, j)
            names = names[:i] + names[i + 1 : j] + names[j + 1 :] + name
    axes = [i for i, n in enumerate(names) if n not in needed]
    if axes:
        x = reduce_or(x, axes) if is_bool(x) else reduce_sum(x, axes)
        names = "".join(n for n in names if n in needed)
    return x, names


def _pair(
    x: Any, x_names: str, y: Any, y_names: str, needed: str, dot: Callable[[Any, Any, Any], Any]
) -> tuple[Any, str]:
    """The product of two terms, summed over the names they share that are not needed."""
    x, x_names = _without_ones(x, x_names, y, y_names)
    y, y_names = _without_ones(y, y_names, x, x_names)
    x, x_names = _reduced(x, x_names, needed + y_names)
    y, y_names = _reduced(y, y_names, needed + x_names)
    shared = [n for n in x_names if n in y_names]
    batch = [n for n in shared if n in needed]
    summed = [n for n in shared if n not in needed]
    contract = [x_names.index(n) for n in summed], [y_names.index(n) for n in summed]
    together = [x_names.index(n) for n in batch], [y_names.index(n) for n in batch]
    rest = [n for n in x_names + y_names if n not in shared]
    return dot(x, y, (contract, together)), "".join(batch + rest)


def _without_ones(x: Any, names: str, y: Any, y_names: str) -> tuple[Any, str]:
    """x without axes of length 1 that the other term has at full length: it is repeated there."""
    drop = [
        i
        for i, n in enumerate(names)
        if x.aval.shape[i] == 1 and n in y_names and y.aval.shape[y_names.index(n)] != 1
    ]
    x = basis.squeeze(x, drop)
    return x, "".join(n for i, n in enumerate(names) if i not in drop)
