"""dm-haiku: an MLP and a CNN with batch norm as transformed functions, on digits."""

import haiku as hk
import jax
import numpy as np
import optax
from data import digits


def mlp(x, train):
    dropout = {"dropout_rate": 0.1, "rng": hk.next_rng_key()} if train else {}
    return hk.nets.MLP([32, 10])(x, **dropout)


def cnn(x, train):
    x = x.reshape(-1, 8, 8, 1)
    x = jax.nn.relu(hk.BatchNorm(True, True, 0.9)(hk.Conv2D(8, 3)(x), is_training=train))
    x = hk.avg_pool(x, 2, 2, "VALID")
    return hk.Linear(10)(hk.Flatten()(x))


def trained(function, x, y):
    model = hk.transform_with_state(function)
    params, stats = model.init(jax.random.PRNGKey(0), x, train=True)
    optimizer = optax.sgd(0.1)

    def loss(params, stats, key):
        logits, stats = model.apply(params, stats, key, x, train=True)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), stats

    @jax.jit
    def step(params, stats, state, key):
        (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, key)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), stats, state, value

    state, losses = optimizer.init(params), []
    for i in range(15):
        key = jax.random.fold_in(jax.random.PRNGKey(2), i)
        params, stats, state, value = step(params, stats, state, key)
        losses.append(float(value))
    logits, _ = model.apply(params, stats, jax.random.PRNGKey(3), x[:5], train=False)
    return np.array(losses), np.asarray(logits)


def main() -> dict[str, np.ndarray]:
    x, y = digits(256)
    results = {}
    for name, function in (("mlp", mlp), ("cnn", cnn)):
        results[f"{name} losses"], results[f"{name} logits"] = trained(function, x, y)
    return results
