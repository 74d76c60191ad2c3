"""flax.linen: an MLP with dropout and a CNN with batch norm, on digits."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from data import digits


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Dense(32)(x))
        x = nn.Dropout(0.2, deterministic=not train)(x)
        return nn.Dense(10)(nn.LayerNorm()(x))


class CNN(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = x.reshape(-1, 8, 8, 1)
        x = nn.relu(nn.BatchNorm(use_running_average=not train)(nn.Conv(8, (3, 3))(x)))
        x = nn.max_pool(x, (2, 2), (2, 2))
        x = nn.relu(nn.Conv(16, (3, 3), padding="VALID")(x))
        return nn.Dense(10)(x.reshape(x.shape[0], -1))


def trained(model, x, y):
    variables = model.init(
        {"params": jax.random.key(0), "dropout": jax.random.key(1)}, x, train=True
    )
    params, stats = variables["params"], variables.get("batch_stats", {})
    optimizer = optax.sgd(0.1, momentum=0.9)

    def loss(params, stats, key):
        logits, moved = model.apply(
            {"params": params, "batch_stats": stats},
            x,
            train=True,
            rngs={"dropout": key},
            mutable=["batch_stats"],
        )
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, y)
        return losses.mean(), moved.get("batch_stats", {})

    @jax.jit
    def step(params, stats, state, key):
        (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, key)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), stats, state, value

    state, losses = optimizer.init(params), []
    for i in range(15):
        key = jax.random.fold_in(jax.random.key(2), i)
        params, stats, state, value = step(params, stats, state, key)
        losses.append(float(value))
    logits = model.apply({"params": params, "batch_stats": stats}, x[:5], train=False)
    return np.array(losses), np.asarray(logits)


def main() -> dict[str, np.ndarray]:
    x, y = digits(256)
    results = {}
    for name, model in (("mlp", MLP()), ("cnn", CNN())):
        results[f"{name} losses"], results[f"{name} logits"] = trained(model, x, y)
    text = MLP().tabulate(jax.random.key(0), jnp.ones((1, 64)), train=False)
    results["parameters"] = np.array("2,442" in text)
    return results
