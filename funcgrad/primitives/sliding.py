"""Windows that slide over an array: where they stand, and how to combine what each one covers."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.base.basis import slice_array
from funcgrad.base.shapes import concrete_int, dilate, strided
from funcgrad.compiler import lowering
from funcgrad.compiler.loops import Expr, Graph
from funcgrad.compiler.lowering import Position
from funcgrad.primitives.pieces import pad_evaluate

Shape = tuple[int, ...]


class Window(NamedTuple):
    """What a window operation is told for each axis, under the names of its params.

    The base is the operand with `base_dilation - 1` holes between elements and `padding` around;
    a window takes `window_dimensions` of its elements, `window_dilation` apart, and moves in steps
    of `window_strides`.
    """

    window_dimensions: Shape
    window_strides: Shape
    padding: tuple[tuple[int, int], ...]
    base_dilation: Shape
    window_dilation: Shape

    @property
    def extents(self) -> Shape:
        """How much of the base each window spans."""
        return tuple(map(dilate, self.window_dimensions, self.window_dilation))

    @property
    def padding_config(self) -> tuple[tuple[int, int, int], ...]:
        """The base as the operand padded."""
        return tuple(
            (*sides, d - 1) for sides, d in zip(self.padding, self.base_dilation, strict=True)
        )

    def base_shape(self, shape: Shape) -> Shape:
        sizes = map(dilate, shape, self.base_dilation)
        return tuple(n + low + high for n, (low, high) in zip(sizes, self.padding, strict=True))

    def out_shape(self, shape: Shape) -> Shape:
        """How many windows there are along each axis."""
        return tuple(map(strided, self.base_shape(shape), self.extents, self.window_strides))

    def with_axis(self, axis: int) -> "Window":
        """The same windows with one more axis, along which each covers one element."""

        def put(items: tuple, item: Any) -> tuple:
            return (*items[:axis], item, *items[axis:])

        return Window(*(put(items, (0, 0) if i == 2 else 1) for i, items in enumerate(self)))


def window_of(
    shape: Shape,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None,
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Window:
    """The window of a user's arguments, where None stands for steps of 1."""

    def ints(values: Sequence[int] | None, name: str) -> Shape:
        if values is None:
            return (1,) * len(dims)
        return tuple(concrete_int(v, name) for v in values)

    dims = tuple(concrete_int(d, "window_dimensions") for d in window_dimensions)
    strides = ints(window_strides, "window_strides")
    dilation = ints(window_dilation, "window_dilation")
    if isinstance(padding, str):
        pads = tuple(padtype_to_pads(shape, tuple(map(dilate, dims, dilation)), strides, padding))
    else:
        pads = pairs(padding)
    return Window(dims, strides, pads, ints(base_dilation, "base_dilation"), dilation)


def pairs(padding: Any) -> tuple[tuple[int, int], ...]:
    """A sequence of (low, high) as a tuple of tuples of ints."""
    try:
        return tuple(
            (concrete_int(low, "padding"), concrete_int(high, "padding")) for low, high in padding
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"padding must be 'SAME', 'SAME_LOWER', 'VALID' or a (low, high) pair of ints for each "
            f"axis, got {padding!r}."
        ) from error


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """The (low, high) padding of each axis that a padding type stands for.

    VALID is none. With SAME there are `ceil(size / stride)` windows, and an odd element of padding
    goes to the high side; with SAME_LOWER, to the low side.

    Raises:
        RuntimeError: another string.

    Example:
        >>> padtype_to_pads((5, 6), (3, 2), (2, 1), "SAME")
        [(1, 1), (0, 1)]
    """
    kind = padding.upper() if isinstance(padding, str) else padding
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(f"padding must be 'SAME', 'SAME_LOWER' or 'VALID', got {padding!r}.")
    result = []
    for size, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        count = -(-size // stride)
        total = max(0, (count - 1) * stride + window - size)
        small, large = total // 2, total - total // 2
        result.append((small, large) if kind == "SAME" else (large, small))
    return result


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Shape:
    """The shape of the result of `reduce_window`: how many windows there are along each axis."""
    shape = tuple(operand_shape)
    return window_of(
        shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    ).out_shape(shape)


def check_window(name: str, shape: Shape, window: Window) -> None:
    """Raise TypeError unless the window has a positive number for each axis of the shape."""
    for field, values in window._asdict().items():
        if len(values) != len(shape):
            raise TypeError(
                f"{name}: {field} must have one entry for each of the {len(shape)} axes of the "
                f"operand of shape {shape}, got {values}."
            )
        if field != "padding" and any(v < 1 for v in values):
            raise TypeError(f"{name}: {field} must be strictly positive, got {values}.")


Arrays = list[Any]
Take = Callable[[Any, int, int, int, int], Any]


def slide(arrays: Arrays, window: Window, combine: Callable, take: Take) -> Arrays:
    """What `combine` makes of the elements that each window covers, in row-major order.

    Args:
        arrays: the bases, all of one shape, of which no axis is shorter than the windows.
        combine: an associative function of two lists of arrays of one shape.
        take: `take(x, axis, start, count, step)` gives those elements of x along an axis.
    """
    for axis in reversed(range(len(window.window_dimensions))):
        arrays = _slide_along(arrays, window, axis, combine, take)
    return arrays


def _slide_along(
    arrays: Arrays, window: Window, axis: int, combine: Callable, take: Take
) -> Arrays:
    size, stride = window.window_dimensions[axis], window.window_strides[axis]
    step = window.window_dilation[axis]
    length = arrays[0].shape[axis]
    places = length - window.extents[axis] + 1
    count = strided(places, 1, stride)

    def part(xs: Arrays, start: int, number: int, by: int = 1) -> Arrays:
        whole = start == 0 and by == 1 and number == xs[0].shape[axis]
        return xs if whole else [take(x, axis, start, number, by) for x in xs]

    # Either one element of every window after the other, or windows of 1, 2, 4, ... at all places.
    if size * count <= (size.bit_length() + size.bit_count() - 1) * length:
        total = part(arrays, 0, count, stride)
        for i in range(1, size):
            total = combine(total, part(arrays, i * step, count, stride))
        return total
    power, width, covered, result = arrays, 1, 0, None
    while True:
        if size & width:
            here = part(power, covered * step, places)
            result = here if result is None else combine(part(result, 0, places), here)
            covered += width
        width *= 2
        if width > size:
            break
        number = power[0].shape[axis] - width // 2 * step
        power = combine(part(power, 0, number), part(power, width // 2 * step, number))
    assert result is not None
    return part(result, 0, count, stride)


def take_from_buffer(x: Any, axis: int, start: int, count: int, step: int) -> Any:
    index = slice(start, start + (count - 1) * step + 1, step)
    return x[(slice(None),) * axis + (index,)]


def take_from_array(x: Any, axis: int, start: int, count: int, step: int) -> Any:
    starts, limits, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], limits[axis], steps[axis] = start, start + (count - 1) * step + 1, step
    return slice_array(x, starts, limits, steps)


def base_buffer(xp: Any, x: Any, window: Window, value: Any) -> Any:
    """The base that windows slide over, holes and padding filled with a value."""
    config = window.padding_config
    if all(c == (0, 0, 0) for c in config):
        return x
    return pad_evaluate(xp, x, value, config)


def covered_element(
    graph: Graph, index: Position, inner: Position, window: Window, shape: Shape
) -> tuple[Position, Expr]:
    """Which element of the operand a window covers, and whether it is not padding or a hole."""
    position, inside = [], graph.const(0 not in shape, "bool")
    for i, k, size, stride, (low, _), hole, step in zip(
        index,
        inner,
        shape,
        window.window_strides,
        window.padding,
        window.base_dilation,
        window.window_dilation,
        strict=True,
    ):
        spot = i.times(stride).plus(k.times(step))
        place, here = lowering.undilated(graph, spot, low, size, hole)
        position.append(place)
        inside = graph.both(inside, here)
    return tuple(position), inside
