"""Train on four devices at once with pmap, and end where one device would.

    python examples/data_parallel.py

Each device computes the gradient of a quarter of every batch, and with `pmean` all of them take the
mean: the gradient of the whole batch. So all make the same step, and the one that a single device
makes. The devices are virtual, each run by a thread.
"""

import time
from functools import partial

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import funcgrad.numpy as jnp
from funcgrad import config, jit, lax, nn, optim, pmap, random, tree, value_and_grad

DEVICES = 4
EPOCHS = 16
BATCH = 128

model = nn.sequential(nn.dense(64), nn.relu, nn.dense(10))
optimizer = optim.adam(3e-3)


def loss(params, images, labels):
    return nn.softmax_cross_entropy(model.apply(params, images), labels).mean()


def apply_gradients(params, state, gradients):
    updates, state = optimizer.update(gradients, state, params)
    return optim.apply_updates(params, updates), state


@jit
def step_on_one(params, state, images, labels):
    value, gradients = value_and_grad(loss)(params, images, labels)
    return *apply_gradients(params, state, gradients), value


@partial(pmap, axis_name="devices", in_axes=(None, None, 0, 0), out_axes=(None, None, 0))
def step_on_all(params, state, images, labels):
    """The step of one device: images and labels are its share, parameters everybody's."""
    value, gradients = value_and_grad(loss)(params, images, labels)
    gradients = lax.pmean(gradients, "devices")
    return *apply_gradients(params, state, gradients), value


def train(name, step, batches, params):
    """Take a step for every batch; the parameters at the end."""
    state = optimizer.init(params)
    start = time.perf_counter()
    for epoch in range(EPOCHS):
        values = []
        for images, labels in batches:
            params, state, value = step(params, state, images, labels)
            values.append(np.mean(value))
        if epoch % 4 == 3:
            print(f"{name}  epoch {epoch + 1}  loss {np.mean(values):.6f}")
    print(f"{name}  {EPOCHS * len(batches)} steps in {time.perf_counter() - start:.2f} s\n")
    return params


def share(batch):
    """A batch [BATCH, ...] as one part for each device, [DEVICES, BATCH / DEVICES, ...]."""
    return tree.map(lambda x: x.reshape(DEVICES, BATCH // DEVICES, *x.shape[1:]), batch)


def distance(a, b) -> float:
    """The largest difference of two numbers in the same place."""
    return max(float(abs(x - y).max()) for x, y in zip(tree.leaves(a), tree.leaves(b), strict=True))


def main() -> None:
    config.update("num_cpu_devices", DEVICES)
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    images, test_images, labels, test_labels = train_test_split(
        images, labels, test_size=0.25, stratify=labels, random_state=0
    )
    batches = [
        (jnp.array(images[i : i + BATCH]), jnp.array(labels[i : i + BATCH]))
        for i in range(0, len(images) - BATCH + 1, BATCH)
    ]
    first = model.init(random.key(0), images.shape)

    alone = train("one device  ", step_on_one, batches, first)
    shared = train("four devices", step_on_all, [share(b) for b in batches], first)

    for a, b in zip(tree.leaves(alone), tree.leaves(shared), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    gap, moved = distance(alone, shared), distance(alone, first)
    print(
        f"training moved the parameters by up to {moved:.3f}; the two results differ by {gap:.1e}"
    )

    _, _, losses = step_on_all(shared, optimizer.init(shared), *share(batches[0]))
    print(f"the losses of the last call lie on {len(losses.devices())} devices:")
    for shard in losses.addressable_shards:
        print(f"  {shard.device}: {float(shard.data[0]):.4f}")

    right = model.apply(shared, test_images).argmax(axis=1) == test_labels
    print(f"test accuracy {float(right.mean()):.2%}")
    assert right.mean() > 0.95, "four devices did not learn to read"


if __name__ == "__main__":
    main()
