"""An optimizer is two pure functions: this is the pair, and what each optimizer is made of."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import Array, tree

# A pytree of arrays. None, as everywhere in pytrees, stands for nothing.
Params = Any
# From the number of steps taken so far, int32 [], to a number.
Schedule = Callable[[Array], Any]
Number = float | Array
Rate = Number | Schedule


class Optimizer(NamedTuple):
    """A way to turn gradients into updates, as two pure functions.

    `init(params) -> state`: the state is a pytree of arrays, to be jitted, scanned over, mapped and
    saved like any other.

    `update(grads, state, params=None) -> (updates, state)`: the gradients have the structure and
    the shapes of the parameters, and so have the updates, which `apply_updates` adds. Optimizers
    that look at the parameters, such as `adamw`, must be given them.

    A gradient of None leaves its parameters, and what the state knows of them, as they are.

    Example:
        >>> optimizer = adam(1e-2)
        >>> state = optimizer.init(params)
        >>> @jit
        ... def step(params, state, batch):
        ...     updates, state = optimizer.update(grad(loss)(params, batch), state, params)
        ...     return apply_updates(params, updates), state
    """

    init: Callable[[Params], Any]
    update: Callable[..., tuple[Params, Any]]


def apply_updates(params: Params, updates: Params) -> Params:
    """Parameters plus updates.

    Args:
        params: a pytree of arrays.
        updates: a pytree of the same structure and shapes; None leaves a parameter as it is.

    Returns:
        The new parameters, each in the dtype that it had.

    Raises:
        ValueError: if structures or shapes differ.

    Example:
        >>> apply_updates({"w": jnp.ones(2), "b": None}, {"w": jnp.full(2, -0.5), "b": None})
        {'b': None, 'w': Array([0.5, 0.5], dtype=float32)}
    """
    return at_leaves(moved, updates, params)


def moved(update: Any, param: Any) -> Any:
    if update is None:
        return param
    if jnp.shape(update) != jnp.shape(param):
        raise ValueError(
            f"apply_updates: an update of shape {jnp.shape(update)} was given for a parameter of "
            f"shape {jnp.shape(param)}; they must be equal"
        )
    param = jnp.asarray(param)
    return (param + update).astype(param.dtype)


# what the optimizers are made of; in each of these trees None stands where there is no gradient


def at_leaves(f: Callable[..., Any], grads: Params, *rest: Params) -> Params:
    """The results of f at every leaf; None in the first tree counts as one."""
    return tree.map(f, grads, *rest, is_leaf=lambda g: g is None)


def where_given(f: Callable[..., Any], grads: Params, *rest: Params) -> Params:
    """The results of f at every gradient there is, and None at the others."""
    return at_leaves(lambda g, *others: None if g is None else f(g, *others), grads, *rest)


def descend(rate: Any, direction: Params) -> Params:
    """The updates of a step against a direction."""
    return where_given(lambda d: cast(-1 * rate, d) * d, direction)


def keep(new: Params, old: Params) -> Params:
    """A part of the state brought up to date, in the dtypes it had."""
    return at_leaves(lambda n, o: o if n is None else n.astype(o.dtype), new, old)


def cast(value: Number, like: Array) -> Array:
    """A hyperparameter in the dtype it is used with, which it must not widen."""
    return jnp.asarray(value, like.dtype)


def zeros_like(params: Params, dtype: Any = None) -> Params:
    return tree.map(lambda p: jnp.zeros_like(p, dtype=dtype), params)


def no_steps() -> Array:
    return jnp.zeros((), jnp.int32)


def one_more(steps: Array) -> Array:
    """One step more; the largest int32 stays as it is."""
    return jnp.minimum(steps, np.iinfo(np.int32).max - 1) + 1


# hyperparameters


def check_number(name: str, value: Any, low: float = -np.inf, high: float = np.inf) -> None:
    """Refuse what is not one number, and a Python number outside [low, high)."""
    wanted = isinstance(value, (int, float, np.number, np.ndarray, Array))
    if not wanted or isinstance(value, bool) or jnp.ndim(value) != 0:
        raise TypeError(f"{name} must be one number, got {value!r:.80} of type {type(value)}")
    if isinstance(value, (int, float)) and not low <= value < high:
        raise ValueError(f"{name} must lie in [{low:g}, {high:g}), got {value}")


def as_schedule(name: str, rate: Rate) -> Schedule:
    """A rate as a function of the step, on which a number does not depend."""
    if callable(rate):
        return rate
    check_number(name, rate)
    return lambda steps: rate
