"""equinox: an MLP on digits with filter_jit and filter_grad, and a GRU over their rows."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from data import digits


class Rows(eqx.Module):
    """A GRU that reads an image row by row."""

    cell: eqx.nn.GRUCell
    head: eqx.nn.Linear

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.cell = eqx.nn.GRUCell(8, 24, key=first)
        self.head = eqx.nn.Linear(24, 10, key=second)

    def __call__(self, x):
        def turn(state, row):
            return self.cell(row, state), None

        state, _ = jax.lax.scan(turn, jnp.zeros(24), x.reshape(8, 8))
        return self.head(state)


def trained(model, x, y):
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_value_and_grad
    def loss(model, x, y):
        logits = jax.vmap(model)(x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    @eqx.filter_jit
    def step(model, state, x, y):
        value, grads = loss(model, x, y)
        updates, state = optimizer.update(grads, state, model)
        return eqx.apply_updates(model, updates), state, value

    losses = []
    for _ in range(15):
        model, state, value = step(model, state, x, y)
        losses.append(float(value))
    return np.array(losses), np.asarray(jax.vmap(model)(x[:5]))


def main() -> dict[str, np.ndarray]:
    x, y = digits(256)
    key = jax.random.key(0)
    mlp = eqx.nn.MLP(64, 10, 32, 2, key=key)
    results = {}
    for name, model in (("mlp", mlp), ("gru", Rows(key))):
        results[f"{name} losses"], results[f"{name} logits"] = trained(model, x, y)
    results["count"] = np.array(sum(a.size for a in jax.tree.leaves(eqx.filter(mlp, eqx.is_array))))
    return results
