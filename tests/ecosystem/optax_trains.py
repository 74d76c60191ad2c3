"""Every optimizer of optax's alias module trains a logistic regression on real digits.

In double precision: some divide a gradient by its own size, which makes rounding errors of single
precision large where the gradient is nearly zero.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from data import digits

# Arguments beside the learning rate that an optimizer needs, and those with another rate.
ARGUMENTS: dict[str, dict] = {
    "adadelta": {"learning_rate": 1.0},
    "adafactor": {"learning_rate": 0.1},
    "fromage": {"learning_rate": 0.05},
    "lbfgs": {},
    "noisy_sgd": {"learning_rate": 0.1},
    "optimistic_gradient_descent": {"learning_rate": 0.1},
    "polyak_sgd": {},
}
RATE = 0.05
STEPS = 25


def optimizers() -> dict[str, optax.GradientTransformation]:
    """Every optimizer of the module but dpsgd, which takes gradients example by example."""
    module, made = optax._src.alias, {}
    for name in sorted(vars(module)):
        function = getattr(optax, name, None)
        ours = callable(function) and function.__module__ == module.__name__
        if ours and not name.startswith("_") and name != "dpsgd":
            made[name] = function(**ARGUMENTS.get(name, {"learning_rate": RATE}))
    return made


def trained(optimizer, loss, params) -> np.ndarray:
    """The loss after each step, and at last the size of the weights."""

    @jax.jit
    def step(params, state):
        value, grads = jax.value_and_grad(loss)(params)
        more = {}
        if isinstance(optimizer, optax.GradientTransformationExtraArgs):
            more = {"value": value, "grad": grads, "value_fn": loss}
        updates, state = optimizer.update(grads, state, params, **more)
        return optax.apply_updates(params, updates), state, value

    state, losses = optimizer.init(params), []
    for _ in range(STEPS):
        params, state, value = step(params, state)
        losses.append(float(value))
    return np.array([*losses, float(jnp.abs(params["w"]).sum())])


def main() -> dict[str, np.ndarray]:
    jax.config.update("jax_enable_x64", True)
    x, y = digits(500)
    start = {"w": jnp.zeros((64, 10)) + 0.01, "b": jnp.zeros(10)}

    def loss(params):
        logits = x @ params["w"] + params["b"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    return {name: trained(optimizer, loss, start) for name, optimizer in optimizers().items()}
