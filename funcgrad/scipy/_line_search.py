"""How far to go along a direction: to a step that satisfies the strong Wolfe conditions.

A step may be anywhere between `low`, the best one yet, and `high`, one that went too far. Until
there is such a one, steps double.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import lax
from funcgrad.base.dtypes import finfo
from funcgrad.base.tree import tree_map

# Nocedal and Wright, Numerical Optimization (2006), section 3.1: the decrease asked for, and the
# part of the slope that may be left.
DECREASE, CURVATURE = 1e-4, 0.9
# A step inside a bracket keeps this part of it from both ends.
MARGIN = 0.1
# Differences of values smaller than this many roundings say nothing.
ROUNDINGS = 10

# x -> the value and the gradient there.
Objective = Callable[[Any], tuple[Any, Any]]


class Trial(NamedTuple):
    """A step, the value there, the slope along the direction, and the gradient."""

    step: Any
    value: Any
    slope: Any
    gradient: Any


class Search(NamedTuple):
    """What is known of a direction; `high.step` is inf until a step was too long."""

    low: Trial
    high: Trial
    done: Any
    count: Any

    @property
    def failed(self) -> Any:
        """Whether no step led to a lower value."""
        return self.low.step == 0


def line_search(
    objective: Objective, x: Any, direction: Any, value: Any, gradient: Any, first: Any, most: Any
) -> Search:
    """Search from x, beginning with the step `first`; `most` bounds the evaluations.

    Nocedal and Wright's algorithms 3.5 and 3.6. Where values differ by rounding alone, a decrease
    is read off the slope: Hager and Zhang (2005), the approximate Wolfe conditions.
    """
    slope = jnp.vdot(gradient, direction)
    start = Trial(jnp.zeros((), x.dtype), value, slope, gradient)
    rounding = ROUNDINGS * finfo(value.dtype).eps * jnp.abs(value)

    def unfinished(search: Search) -> Any:
        return ~search.done & (search.count < most)

    def advance(search: Search) -> Search:
        low, high = search.low, search.high
        longer = jnp.where(search.count == 0, first, 2 * low.step)
        step = jnp.where(high.step < np.inf, _between(low, high), longer).astype(x.dtype)
        new_value, new_gradient = objective(x + step * direction)
        new = Trial(step, new_value, jnp.vdot(new_gradient, direction), new_gradient)
        lower = new.value <= value + DECREASE * step * slope
        level = (new.value <= value + rounding) & (new.slope <= (2 * DECREASE - 1) * slope)
        enough = lower | level
        done = enough & (jnp.abs(new.slope) <= -CURVATURE * slope)
        beyond = ~enough | (new.value >= low.value)
        turned = new.slope * (high.step - low.step) >= 0
        far = _select(beyond, new, _select(turned, low, high))
        near = _select(done | ~beyond, new, low)
        return Search(near, far, done, search.count + 1)

    high = start._replace(step=jnp.full_like(start.step, np.inf))
    search = Search(start, high, jnp.asarray(False), jnp.asarray(0))
    return lax.while_loop(unfinished, advance, search)


def _select(condition: Any, a: Trial, b: Trial) -> Trial:
    return tree_map(lambda x, y: jnp.where(condition, x, y), a, b)


def _between(low: Trial, high: Trial) -> Any:
    """The least value of the cubic through both ends if it is well inside, else the middle."""
    width = high.step - low.step
    mean = low.slope + high.slope - 3 * (high.value - low.value) / width
    root = jnp.sign(width) * jnp.sqrt(jnp.maximum(mean**2 - low.slope * high.slope, 0))
    part = 1 - (high.slope + root - mean) / (high.slope - low.slope + 2 * root)
    inside = (part >= MARGIN) & (part <= 1 - MARGIN)
    part = jnp.where(inside, part, 0.5)
    return low.step + jnp.where(jnp.isfinite(high.value), part, MARGIN) * width
