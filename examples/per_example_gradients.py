"""One gradient for each example, not for their mean: vmap(grad) against a loop.

    python examples/per_example_gradients.py

`grad(loss)` is a function of one example; `vmap` makes it one of a whole batch, and `jit` compiles
it. The script checks that loop, vmap and jit(vmap) agree, prints how long each takes, and uses the
gradients for two things that their mean cannot tell: which digits a network finds hardest, and a
training step that no single example can dominate.
"""

import time

import numpy as np
from sklearn.datasets import load_digits

import funcgrad.numpy as jnp
from funcgrad import grad, jit, lax, nn, random, tree, vmap

EXAMPLES = 512
CLIP = 1.0

model = nn.sequential(nn.dense(32), nn.tanh, nn.dense(10))


def train(params, images, labels, steps=200):
    """Plain gradient descent on the mean loss, so that there is something to look at."""
    step = lambda _, p: tree.map(lambda x, g: x - 0.5 * g, p, grad(mean_loss)(p, images, labels))
    return lax.fori_loop(0, steps, step, params)


def mean_loss(params, images, labels):
    return vmap(loss, in_axes=(None, 0, 0))(params, images, labels).mean()


def loss(params, image, label):
    """The loss of one example: an image [64] and its label []."""
    logits = model.apply(params, image[None])[0]
    return nn.softmax_cross_entropy(logits, label)


def in_a_loop(params, images, labels):
    gradients = [grad(loss)(params, x, y) for x, y in zip(images, labels, strict=True)]
    return tree.map(lambda *leaves: jnp.stack(leaves), *gradients)


with_vmap = vmap(grad(loss), in_axes=(None, 0, 0))
compiled = jit(with_vmap)


def norms(gradients):
    """The Euclidean length of each example's gradient, [examples]."""
    squares = [jnp.sum(g.reshape(len(g), -1) ** 2, axis=1) for g in tree.leaves(gradients)]
    return jnp.sqrt(sum(squares))


@jit
def clipped_mean(gradients):
    """The mean of the gradients, none of them longer than CLIP (as in private training)."""
    factor = jnp.minimum(1, CLIP / norms(gradients))
    return tree.map(lambda g: jnp.tensordot(factor, g, 1) / len(g), gradients)


def timed(name, function, *args):
    """The result of a call and the seconds it takes; what can be kept from a first call is kept."""
    function(*args)
    start = time.perf_counter()
    result = function(*args)
    seconds = time.perf_counter() - start
    print(f"{name:10}  {seconds * 1e3:8.2f} ms   {seconds / EXAMPLES * 1e6:8.1f} us an example")
    return result, seconds


def check_equal(a, b, tolerance):
    for x, y in zip(tree.leaves(a), tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def main() -> None:
    images, labels = load_digits(return_X_y=True)
    images, labels = jnp.array(images[:EXAMPLES] / 16, jnp.float32), jnp.array(labels[:EXAMPLES])
    params = train(model.init(random.key(0), images.shape), images, labels)

    print(
        f"gradients of {EXAMPLES} examples, {sum(p.size for p in tree.leaves(params))} numbers each"
    )
    looped, slow = timed("loop", in_a_loop, params, images, labels)
    mapped, fast = timed("vmap", with_vmap, params, images, labels)
    jitted, fastest = timed("jit(vmap)", compiled, params, images, labels)
    print(f"as fast as the loop: vmap {slow / fast:.0f}, jit(vmap) {slow / fastest:.0f} times\n")

    check_equal(looped, mapped, 1e-5)
    check_equal(looped, jitted, 1e-5)
    means = tree.map(lambda g: g.mean(axis=0), mapped)
    check_equal(means, grad(mean_loss)(params, images, labels), 1e-5)
    print("loop, vmap and jit(vmap) agree, and their mean is the gradient of the mean loss")

    lengths = np.asarray(norms(mapped))
    hardest = np.argsort(lengths)[::-1][:5]
    print(f"\nhalf of the gradients are shorter than {np.median(lengths):.3f}; the longest are of")
    for i in hardest:
        taken_for = int(model.apply(params, images[i][None]).argmax())
        print(f"  example {i}, labelled {labels[i]}, taken for {taken_for}: {lengths[i]:.3f}")

    clipped = clipped_mean(mapped)
    longest = float(norms(tree.map(lambda g: g[None], clipped))[0])
    print(f"clipped to {CLIP:g} each, their mean has length {longest:.3f}")

    assert longest <= CLIP, "a mean of vectors no longer than CLIP cannot be longer"
    assert fast < slow and fastest < slow, "vmap was not faster than the loop"


if __name__ == "__main__":
    main()
