"""flax.nnx: an MLP with dropout and batch norm, on digits."""

import jax
import numpy as np
import optax
from data import digits
from flax import nnx


class Model(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(64, 32, rngs=rngs)
        self.norm = nnx.BatchNorm(32, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.second = nnx.Linear(32, 10, rngs=rngs)

    def __call__(self, x):
        return self.second(self.dropout(nnx.relu(self.norm(self.first(x)))))


def main() -> dict[str, np.ndarray]:
    x, y = digits(256)
    model = Model(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer):
        def loss(model):
            losses = optax.softmax_cross_entropy_with_integer_labels(model(x), y)
            return losses.mean()

        value, grads = nnx.value_and_grad(loss)(model)
        optimizer.update(model, grads)
        return value

    model.train()
    losses = [float(step(model, optimizer)) for _ in range(15)]
    model.eval()
    state = nnx.state(model, nnx.Param)
    count = sum(leaf.size for leaf in jax.tree.leaves(state))
    return {
        "losses": np.array(losses),
        "logits": np.asarray(model(x[:5])),
        "count": np.array(count),
    }
