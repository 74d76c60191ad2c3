"""Gradient descent: a step against the gradient."""

from typing import Any, NamedTuple

from funcgrad import Array
from funcgrad.optim._momentum import momentum as with_momentum
from funcgrad.optim._optimizer import (
    Number,
    Optimizer,
    Params,
    Rate,
    as_schedule,
    descend,
    no_steps,
    one_more,
)


class SgdState(NamedTuple):
    """The number of steps taken, int32 []."""

    steps: Array


def sgd(
    learning_rate: Rate,
    momentum: Number | None = None,
    nesterov: bool = False,
    accumulator_dtype: Any = None,
) -> Optimizer:
    r"""(Stochastic) gradient descent.

    $$ u_t = -\alpha_t g_t $$

    Args:
        learning_rate: $\alpha$: a number, or a schedule that maps the count of steps taken, from 0
            on, to a number. May be traced.
        momentum: None, or the decay of the optimizer `momentum`, which this then is.
        nesterov, accumulator_dtype: as in `momentum`; without momentum they have no meaning.

    Returns:
        An Optimizer; parameters, gradients and updates have equal structures and shapes.

    Raises:
        TypeError: if the rate is neither a number nor a schedule.

    Example:
        >>> optimizer = sgd(0.5)
        >>> updates, _ = optimizer.update(jnp.array([1.0, -2.0]), optimizer.init(jnp.zeros(2)))
        >>> updates
        Array([-0.5,  1. ], dtype=float32)

    Source: Robbins and Monro, A Stochastic Approximation Method, Ann. Math. Statist. 22, 1951.
    """
    if momentum is not None:
        return with_momentum(learning_rate, momentum, nesterov, accumulator_dtype)
    rate = as_schedule("learning_rate", learning_rate)

    def init(params: Params) -> SgdState:
        return SgdState(no_steps())

    def update(grads: Params, state: SgdState, params: Params = None) -> tuple[Params, SgdState]:
        return descend(rate(state.steps), grads), SgdState(one_more(state.steps))

    return Optimizer(init, update)
