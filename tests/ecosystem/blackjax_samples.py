"""blackjax: NUTS, and its window adaptation, on the logistic regression of two digits."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from data import digits


def chain(kernel, state, keys):
    def turn(state, key):
        state, info = kernel(key, state)
        return state, (state.position, info.num_integration_steps)

    return jax.jit(lambda state, keys: jax.lax.scan(turn, state, keys)[1])(state, keys)


def main() -> dict[str, np.ndarray]:
    jax.config.update("jax_enable_x64", True)  # a trajectory of single precision is chaotic
    x, y = digits(600)
    chosen = (y == 3) | (y == 8)
    x, y = x[np.asarray(chosen)][:, 10:54:4], jnp.where(y[np.asarray(chosen)] == 8, 1.0, -1.0)

    def log_density(w):
        return -jnp.sum(jax.nn.softplus(-y * (x @ w))) - 0.5 * jnp.sum(w**2)

    kernel = blackjax.nuts(log_density, step_size=0.2, inverse_mass_matrix=jnp.ones(x.shape[1]))
    start = kernel.init(jnp.zeros(x.shape[1]))
    draws, steps = chain(kernel.step, start, jax.random.split(jax.random.key(1), 30))
    # Later numbers of the adaptation depend on the last bits of the first ones.
    warm = blackjax.window_adaptation(blackjax.nuts, log_density)
    (state, parameters), _ = warm.run(jax.random.key(0), jnp.zeros(x.shape[1]), num_steps=20)
    return {
        "draws": np.asarray(draws),
        "steps": np.asarray(steps),
        "adapted state": np.asarray(state.position),
        "step size": np.asarray(parameters["step_size"]),
    }
