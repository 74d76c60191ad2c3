"""Adam and AdamW: momentum, with each number's step brought to the size of the others'."""

from collections.abc import Callable
from typing import Any, NamedTuple

import funcgrad.numpy as jnp
from funcgrad import Array, tree
from funcgrad.optim._optimizer import (
    Number,
    Optimizer,
    Params,
    Rate,
    as_schedule,
    cast,
    check_number,
    descend,
    keep,
    no_steps,
    one_more,
    where_given,
    zeros_like,
)


class AdamState(NamedTuple):
    """The number of steps taken, int32 [], and moments of the gradients, like the parameters."""

    steps: Array
    mu: Params
    nu: Params


def adam(
    learning_rate: Rate,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-8,
    eps_root: Number = 0.0,
    mu_dtype: Any = None,
    *,
    nesterov: bool = False,
) -> Optimizer:
    r"""Adam: the mean of recent gradients, divided by the root of the mean of their squares.

    $$ m_t = \beta_1 m_{t-1} + (1 - \beta_1) g_t, \qquad
       v_t = \beta_2 v_{t-1} + (1 - \beta_2) g_t^2 $$
    $$ \hat m_t = \frac{m_t}{1 - \beta_1^t}, \qquad \hat v_t = \frac{v_t}{1 - \beta_2^t}, \qquad
       u_t = -\alpha_t \frac{\hat m_t}{\sqrt{\hat v_t + \bar\varepsilon} + \varepsilon} $$

    With `nesterov` the step looks ahead, and $\hat m_t$ is
    $\beta_1 m_t / (1 - \beta_1^{t+1}) + (1 - \beta_1) g_t / (1 - \beta_1^t)$.

    Args:
        learning_rate: $\alpha$: a number, or a schedule that maps the count of steps taken, from 0
            on, to a number. It may be traced, and so may the other numbers.
        b1: $\beta_1$, in [0, 1): how much of the mean of the gradients each step keeps.
        b2: $\beta_2$, in [0, 1): the same for their squares.
        eps: $\varepsilon$, which keeps tiny gradients from making full steps.
        eps_root: $\bar\varepsilon$, to be positive where updates are themselves differentiated: the
            root has no slope at zero.
        mu_dtype: the dtype that $m$ is kept in; by default the parameter's.
        nesterov: whether to look ahead.

    Returns:
        An Optimizer; parameters, gradients, moments and updates have equal structures and shapes.
        The square of a complex gradient is that of its modulus.

    Raises:
        TypeError: if a hyperparameter is no number, or the rate neither a number nor a schedule.
        ValueError: if b1 or b2 lies outside [0, 1), or eps or eps_root below 0.

    Example:
        >>> optimizer = adam(0.1)
        >>> updates, _ = optimizer.update(jnp.array([5.0, -0.01]), optimizer.init(jnp.zeros(2)))
        >>> updates.round(3)
        Array([-0.1,  0.1], dtype=float32)

    Source: Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015; Dozat,
    Incorporating Nesterov Momentum into Adam, 2016.
    """
    rate = as_schedule("learning_rate", learning_rate)
    init, direct = moments(b1, b2, eps, eps_root, mu_dtype, nesterov)

    def update(grads: Params, state: AdamState, params: Params = None) -> tuple[Params, AdamState]:
        direction, kept = direct(grads, state)
        return descend(rate(state.steps), direction), kept

    return Optimizer(init, update)


def adamw(
    learning_rate: Rate,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-8,
    eps_root: Number = 0.0,
    mu_dtype: Any = None,
    weight_decay: Rate = 1e-4,
    mask: Any | Callable[[Params], Any] = None,
    *,
    nesterov: bool = False,
) -> Optimizer:
    r"""Adam that also lets the parameters decay, each at the same rate whatever its gradients.

    $$ u_t = -\alpha_t \left(
        \frac{\hat m_t}{\sqrt{\hat v_t + \bar\varepsilon} + \varepsilon} + \lambda \theta_{t-1}
       \right) $$

    with $\hat m$ and $\hat v$ as in `adam`.

    Args:
        weight_decay: $\lambda$: a number, or a schedule. It is multiplied by the learning rate,
            which the paper's is not.
        mask: which parameters decay: True and False in a pytree of their structure, or of a prefix
            of it, or a function from parameters to such a tree. By default all.

    The other arguments are those of `adam`.

    Returns:
        An Optimizer, whose `update` must be given the parameters.

    Raises:
        TypeError, ValueError: as `adam` does; and `update` raises ValueError without parameters.

    Example:
        >>> optimizer = adamw(0.1, weight_decay=0.5)
        >>> params = jnp.array([2.0])
        >>> optimizer.update(jnp.array([7.0]), optimizer.init(params), params)[0].round(3)
        Array([-0.2], dtype=float32)

    Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019.
    """
    rate = as_schedule("learning_rate", learning_rate)
    strength = as_schedule("weight_decay", weight_decay)
    init, direct = moments(b1, b2, eps, eps_root, mu_dtype, nesterov)

    def update(grads: Params, state: AdamState, params: Params = None) -> tuple[Params, AdamState]:
        if params is None:
            raise ValueError(
                "adamw lets the parameters decay, so it must be given them: "
                "optimizer.update(grads, state, params)"
            )
        chosen = mask(params) if callable(mask) else True if mask is None else mask
        decays = tree.broadcast(chosen, params)
        decay = strength(state.steps)
        direction, kept = direct(grads, state)
        direction = where_given(
            lambda d, p, on: d + cast(decay, d) * p if on else d, direction, params, decays
        )
        return descend(rate(state.steps), direction), kept

    return Optimizer(init, update)


def moments(
    b1: Number, b2: Number, eps: Number, eps_root: Number, mu_dtype: Any, nesterov: bool
) -> tuple[Callable[[Params], AdamState], Callable[[Params, AdamState], tuple[Params, AdamState]]]:
    """The state of Adam, and the direction that gradients and a state lead to."""
    check_number("b1", b1, 0, 1)
    check_number("b2", b2, 0, 1)
    check_number("eps", eps, 0)
    check_number("eps_root", eps_root, 0)

    def init(params: Params) -> AdamState:
        return AdamState(
            no_steps(), zeros_like(params, mu_dtype), zeros_like(tree.map(jnp.real, params))
        )

    def direct(grads: Params, state: AdamState) -> tuple[Params, AdamState]:
        steps = one_more(state.steps)
        mu = average(b1, grads, state.mu)
        nu = average(b2, where_given(square, grads), state.nu)
        mean = unbiased(b1, mu, steps)
        if nesterov:
            mean = average(b1, unbiased(b1, grads, steps), unbiased(b1, mu, one_more(steps)))
        direction = where_given(
            lambda m, v: m / (jnp.sqrt(v + cast(eps_root, v)) + cast(eps, v)),
            mean,
            unbiased(b2, nu, steps),
        )
        return direction, AdamState(steps, keep(mu, state.mu), keep(nu, state.nu))

    return init, direct


def square(g: Array) -> Array:
    return g.real**2 + g.imag**2 if jnp.iscomplexobj(g) else g**2


def average(decay: Number, new: Params, old: Params) -> Params:
    """The moving average, with so much of the old."""
    return where_given(lambda n, o: cast(1 - decay, n) * n + cast(decay, o) * o, new, old)


def unbiased(decay: Number, averages: Params, steps: Array) -> Params:
    """Moving averages over so many steps from zero, divided by the weight of all but that zero."""
    weight = 1 - decay**steps
    return where_given(lambda a: a / cast(weight, a), averages)
