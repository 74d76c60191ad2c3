"""Gradient descent with momentum: gradients push a velocity, and the velocity makes the step."""

from typing import Any, NamedTuple

from funcgrad import Array
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


class MomentumState(NamedTuple):
    """The number of steps taken, int32 [], and the velocity, like the parameters."""

    steps: Array
    velocity: Params


def momentum(
    learning_rate: Rate,
    decay: Number = 0.9,
    nesterov: bool = False,
    accumulator_dtype: Any = None,
) -> Optimizer:
    r"""Gradient descent with momentum.

    $$ v_t = g_t + \mu v_{t-1}, \qquad u_t = -\alpha_t v_t $$

    With `nesterov` the step looks ahead along the velocity: $u_t = -\alpha_t (g_t + \mu v_t)$.

    Args:
        learning_rate: $\alpha$: a number, or a schedule that maps the count of steps taken, from 0
            on, to a number. May be traced.
        decay: $\mu$, in [0, 1). May be traced.
        nesterov: whether to look ahead.
        accumulator_dtype: the dtype that the velocity is kept in; by default the parameter's.

    Returns:
        An Optimizer; parameters, gradients, velocity and updates have equal structures and shapes.

    Raises:
        TypeError: if the decay is no number, or the rate neither a number nor a schedule.
        ValueError: if the decay lies outside [0, 1).

    Example:
        >>> optimizer = momentum(1.0, decay=0.5)
        >>> state = optimizer.init(jnp.zeros(()))
        >>> for _ in range(3):
        ...     update, state = optimizer.update(jnp.ones(()), state)
        ...     print(update)
        -1.0
        -1.5
        -1.75

    Source: Polyak, Some methods of speeding up the convergence of iteration methods, 1964;
    Sutskever et al., On the importance of initialization and momentum in deep learning, ICML 2013.
    The gradient is not damped, so that a constant one ends up with steps of $\alpha / (1 - \mu)$.
    """
    rate = as_schedule("learning_rate", learning_rate)
    check_number("decay", decay, 0, 1)

    def init(params: Params) -> MomentumState:
        return MomentumState(no_steps(), zeros_like(params, accumulator_dtype))

    def pushed(grads: Params, velocity: Params) -> Params:
        return where_given(lambda g, v: g + cast(decay, v) * v, grads, velocity)

    def update(
        grads: Params, state: MomentumState, params: Params = None
    ) -> tuple[Params, MomentumState]:
        velocity = pushed(grads, state.velocity)
        direction = pushed(grads, velocity) if nesterov else velocity
        kept = MomentumState(one_more(state.steps), keep(velocity, state.velocity))
        return descend(rate(state.steps), direction), kept

    return Optimizer(init, update)
