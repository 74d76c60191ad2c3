"""Optimizers as triples of pure functions: make a state, update it with a gradient, read it.

An optimizer is written for one array; `optimizer` makes it one for pytrees of arrays. The
optimizers of funcgrad.optim compose.

Example:
    >>> init, update, get_params = sgd(0.1)
    >>> state = init({"w": 1.0})
    >>> state = update(0, {"w": 2.0}, state)
    >>> get_params(state)["w"]
    Array(0.8, dtype=float32, weak_type=True)
"""

from collections.abc import Callable, Iterator
from functools import reduce, wraps
from typing import Any, NamedTuple

import funcgrad.numpy as jnp
from funcgrad.tree_util import (
    PyTreeDef,
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)

Params = Any
Updates = Any
State = Any
Step = Any
Number = Any
Schedule = Callable[[Step], Number]


class OptimizerState(NamedTuple):
    """The state of each parameter, flattened, and how to put the pieces together again.

    Args:
        packed_state: for each leaf of the parameters, the leaves of its state.
        tree_def: the structure of the parameters.
        subtree_defs: the structure of each leaf's state.
    """

    packed_state: Any
    tree_def: PyTreeDef
    subtree_defs: Any


register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda defs, children: OptimizerState(children[0], *defs),
)


class Optimizer(NamedTuple):
    """An optimizer.

    Args:
        init_fn: parameters -> state.
        update_fn: (step, gradient, state) -> state, where step counts from 0.
        params_fn: state -> parameters.
    """

    init_fn: Callable[[Params], Any]
    update_fn: Callable[[Step, Updates, Any], Any]
    params_fn: Callable[[Any], Params]


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Make an optimizer of pytrees out of one of single arrays.

    Args:
        opt_maker: makes the triple `(init, update, get_params)`, where `init(x0)` gives a state,
            any pytree, `update(step, g, state)` the next, and `get_params(state)` the array.

    Returns:
        A function of the same arguments, returning an Optimizer.
    """

    @wraps(opt_maker)
    def tree_maker(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        @wraps(init)
        def tree_init(params: Params) -> OptimizerState:
            leaves, structure = tree_flatten(params)
            return _packed([init(x) for x in leaves], structure)

        @wraps(update)
        def tree_update(step: Step, grads: Updates, state: OptimizerState) -> OptimizerState:
            leaves, structure = tree_flatten(grads)
            if structure != state.tree_def:
                raise TypeError(
                    f"an optimizer made for parameters of tree structure {state.tree_def} got "
                    f"gradients of tree structure {structure}; give one gradient per parameter."
                )
            moved = [update(step, g, s) for g, s in zip(leaves, _states(state), strict=True)]
            new = _packed(moved, structure)
            for before, after in zip(state.subtree_defs, new.subtree_defs, strict=True):
                if before != after:
                    raise TypeError(
                        f"update must keep the tree structure of a state, but from {before} it "
                        f"made {after}."
                    )
            return new

        @wraps(get_params)
        def tree_get_params(state: OptimizerState) -> Params:
            return tree_unflatten(state.tree_def, [get_params(s) for s in _states(state)])

        return Optimizer(tree_init, tree_update, tree_get_params)

    return tree_maker


def _packed(states: list[State], structure: PyTreeDef) -> OptimizerState:
    pairs = [tree_flatten(state) for state in states]
    return OptimizerState(
        tuple(tuple(leaves) for leaves, _ in pairs), structure, tuple(d for _, d in pairs)
    )


def _states(state: OptimizerState) -> list[State]:
    pairs = zip(state.subtree_defs, state.packed_state, strict=True)
    return [tree_unflatten(structure, leaves) for structure, leaves in pairs]


def _first(state: Any) -> Any:
    return state[0]


# optimizers; a step size is a number or a schedule


@optimizer
def sgd(step_size: Number | Schedule) -> tuple:
    """Stochastic gradient descent: x - step_size g."""
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, x: Any) -> Any:
        return x - rate(i) * g

    return lambda x0: x0, update, lambda x: x


@optimizer
def momentum(step_size: Number | Schedule, mass: Number) -> tuple:
    """Gradient descent with momentum: velocity v = mass v + g, and x - step_size v."""
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: tuple) -> tuple:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity

    return lambda x0: (x0, jnp.zeros_like(x0)), update, _first


@optimizer
def nesterov(step_size: Number | Schedule, mass: Number) -> tuple:
    """Momentum that looks ahead along the velocity: x - step_size (mass v + g).

    Source: Sutskever et al., On the importance of initialization and momentum in deep learning,
    2013.
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: tuple) -> tuple:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity

    return lambda x0: (x0, jnp.zeros_like(x0)), update, _first


@optimizer
def adagrad(step_size: Number | Schedule, momentum: Number = 0.9) -> tuple:
    """Gradients over the root of the sum of all their squares so far, with momentum.

    Source: Duchi, Hazan, Singer, Adaptive Subgradient Methods for Online Learning and Stochastic
    Optimization, 2011.
    """
    rate = make_schedule(step_size)

    def init(x0: Any) -> tuple:
        return x0, jnp.zeros_like(x0), jnp.zeros_like(x0)

    def update(i: Step, g: Any, state: tuple) -> tuple:
        x, squares, m = state
        squares = squares + jnp.square(g)
        m = (1.0 - momentum) * (g * _inverse_root(squares)) + momentum * m
        return x - rate(i) * m, squares, m

    return init, update, _first


def _inverse_root(x: Any) -> Any:
    """1 / sqrt(x), and 0 where x is 0."""
    return jnp.where(x > 0, 1.0 / jnp.sqrt(jnp.where(x > 0, x, 1)), 0.0)


@optimizer
def rmsprop(step_size: Number | Schedule, gamma: Number = 0.9, eps: Number = 1e-8) -> tuple:
    """Gradients over the root of a running mean of their squares.

    Args:
        gamma: how much of the mean is kept from one step to the next.
        eps: what is added to the mean under the root.
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: tuple) -> tuple:
        x, mean = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        return x - rate(i) * g / jnp.sqrt(mean + eps), mean

    return lambda x0: (x0, jnp.zeros_like(x0)), update, _first


@optimizer
def rmsprop_momentum(
    step_size: Number | Schedule, gamma: Number = 0.9, eps: Number = 1e-8, momentum: Number = 0.9
) -> tuple:
    """rmsprop with momentum: its step is added to a velocity, of which `momentum` is kept."""
    rate = make_schedule(step_size)

    def init(x0: Any) -> tuple:
        return x0, jnp.zeros_like(x0), jnp.zeros_like(x0)

    def update(i: Step, g: Any, state: tuple) -> tuple:
        x, mean, velocity = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        velocity = momentum * velocity + rate(i) * g / jnp.sqrt(mean + eps)
        return x - velocity, mean, velocity

    return init, update, _first


@optimizer
def adam(
    step_size: Number | Schedule, b1: Number = 0.9, b2: Number = 0.999, eps: Number = 1e-8
) -> tuple:
    """Adam: a running mean of gradients over the root of one of their squares.

    Args:
        b1, b2: how much of the first and the second mean is kept from one step to the next.
        eps: what is added to the root.

    Source: Kingma, Ba, Adam: A Method for Stochastic Optimization, 2015.
    """
    rate = make_schedule(step_size)

    def init(x0: Any) -> tuple:
        return x0, jnp.zeros_like(x0), jnp.zeros_like(x0)

    def update(i: Step, g: Any, state: tuple) -> tuple:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        mean, square = m / _weight(b1, i, m), v / _weight(b2, i, m)
        return x - rate(i) * mean / (jnp.sqrt(square) + eps), m, v

    return init, update, _first


def _weight(decay: Number, step: Step, like: Any) -> Any:
    """The sum of the weights in a running mean that has seen the gradients of steps 0 to `step`."""
    return 1 - jnp.asarray(decay, like.dtype) ** (step + 1)


@optimizer
def adamax(
    step_size: Number | Schedule, b1: Number = 0.9, b2: Number = 0.999, eps: Number = 1e-8
) -> tuple:
    """Adam with a decaying maximum of |g| in place of the root; the arguments are those of `adam`.

    Source: Kingma, Ba, Adam: A Method for Stochastic Optimization, 2015.
    """
    rate = make_schedule(step_size)

    def init(x0: Any) -> tuple:
        return x0, jnp.zeros_like(x0), jnp.zeros_like(x0)

    def update(i: Step, g: Any, state: tuple) -> tuple:
        x, m, u = state
        m = (1 - b1) * g + b1 * m
        u = jnp.maximum(b2 * u, jnp.abs(g))
        return x - (rate(i) / _weight(b1, i, m)) * m / (u + eps), m, u

    return init, update, _first


@optimizer
def sm3(step_size: Number | Schedule, momentum: Number = 0.9) -> tuple:
    """SM3, which keeps squared gradients per row and column (per slice of each axis) only.

    Source: Anil, Gupta, Koren, Singer, Memory-Efficient Adaptive Optimization, 2019.
    """
    rate = make_schedule(step_size)

    def init(x0: Any) -> tuple:
        x = jnp.atleast_1d(x0)
        return x0, jnp.zeros_like(x), [jnp.zeros(n, x.dtype) for n in x.shape]

    def update(i: Step, g: Any, state: tuple) -> tuple:
        x0, m, slices = state
        x, g = jnp.atleast_1d(x0), jnp.atleast_1d(g)
        spread = [_along(v, axis, x.ndim) for axis, v in enumerate(slices)]
        total = reduce(jnp.minimum, spread) + jnp.square(g)
        m = (1.0 - momentum) * (g * _inverse_root(total)) + momentum * m
        others = [tuple(j for j in range(x.ndim) if j != axis) for axis in range(x.ndim)]
        x = jnp.reshape(x - rate(i) * m, jnp.shape(x0))
        return x, m, [jnp.max(total, axis=axes) for axes in others]

    return init, update, _first


def _along(v: Any, axis: int, ndim: int) -> Any:
    """A vector laid along one axis of an array of `ndim` axes."""
    return jnp.reshape(v, (1,) * axis + (-1,) + (1,) * (ndim - axis - 1))


# schedules: functions of the step


def constant(step_size: Number) -> Schedule:
    """Always `step_size`."""
    return lambda i: step_size


def exponential_decay(step_size: Number, decay_steps: Number, decay_rate: Number) -> Schedule:
    """step_size decay_rate^(i / decay_steps)."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: Number, decay_steps: Number, decay_rate: Number, staircase: bool = False
) -> Schedule:
    """step_size / (1 + decay_rate i / decay_steps), the quotient rounded down if `staircase`."""
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(
    step_size: Number, decay_steps: Number, final_step_size: Number, power: Number = 1.0
) -> Schedule:
    """From `step_size` to `final_step_size`, falling like (1 - i / decay_steps)^power."""

    def schedule(i: Step) -> Any:
        left = 1 - jnp.minimum(i, decay_steps) / decay_steps
        return left**power * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """`values[k]` where k boundaries lie below the step.

    Raises:
        ValueError: unless both are sequences, `values` one longer than `boundaries`.
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if not boundaries.ndim == values.ndim == 1:
        raise ValueError(
            "piecewise_constant takes boundaries and values of one axis each, got shapes "
            f"{boundaries.shape} and {values.shape}"
        )
    if boundaries.shape[0] != values.shape[0] - 1:
        raise ValueError(
            f"n boundaries separate n + 1 values, but there are {boundaries.shape[0]} boundaries "
            f"and {values.shape[0]} values"
        )
    return lambda i: values[jnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule: Number | Schedule) -> Schedule:
    """A schedule itself; a number as a constant schedule."""
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(
        "a step size must be a number or a function of the step, got "
        f"{type(scalar_or_schedule)} of shape {jnp.shape(scalar_or_schedule)}"
    )


# utilities


def l2_norm(tree: Any) -> Any:
    """The Euclidean length of all elements of a pytree together; its gradient at 0 is 0."""
    total = sum(jnp.real(jnp.vdot(x, x)) for x in tree_leaves(tree))
    zero = total == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, total)))


def clip_grads(grad_tree: Updates, max_norm: Number) -> Updates:
    """A pytree of gradients, shrunk to the length `max_norm` if it is longer."""
    norm = l2_norm(grad_tree)
    scale = max_norm / jnp.where(norm == 0, 1, norm)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * scale), grad_tree)


# states as pytrees that look like the parameters, to be saved


class JoinPoint:
    """A leaf of an unpacked state: it holds the state that stands for one parameter."""

    def __init__(self, subtree: State):
        self.subtree = subtree

    def __iter__(self) -> Iterator[State]:
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """A state as a pytree shaped like the parameters, with a JoinPoint for each leaf."""
    return tree_unflatten(opt_state.tree_def, [JoinPoint(s) for s in _states(opt_state)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The inverse of `unpack_optimizer_state`."""
    points, structure = tree_flatten(marked_pytree)
    if not all(isinstance(point, JoinPoint) for point in points):
        raise TypeError(
            "pack_optimizer_state needs a JoinPoint at each leaf, as unpack_optimizer_state makes "
            f"them, got {[type(point).__name__ for point in points]}"
        )
    return _packed([point.subtree for point in points], structure)
