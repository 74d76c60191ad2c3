"""Second derivatives without the matrix: Newton's method on a logistic regression.

    python examples/hessian_vector.py

The product of a Hessian and a vector is the derivative of a gradient in one direction: forward mode
over reverse mode, at the price of about two gradients. That is all that conjugate gradients need to
solve for a Newton step, so the Hessian itself is never made. The data are the 569 tumours of
scikit-learn's breast cancer set; the script checks the product against the full Hessian, that
Newton's method converges, and the minimum against scikit-learn's.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import funcgrad.numpy as jnp
from funcgrad import config, grad, hessian, jit, jvp, lax, nn, random

config.update("enable_x64", True)

RIDGE = 1e-2


def load():
    """Standardized measurements with a column of ones, and -1 or 1 for each tumour."""
    x, y = load_breast_cancer(return_X_y=True)
    x, test_x, y, test_y = train_test_split(x, y, test_size=0.25, stratify=y, random_state=0)
    scaler = StandardScaler().fit(x)
    with_ones = lambda x: jnp.array(np.column_stack([scaler.transform(x), np.ones(len(x))]))
    return with_ones(x), jnp.array(2.0 * y - 1), with_ones(test_x), jnp.array(2.0 * test_y - 1)


def loss(weights, x, y):
    """Mean logistic loss, with a penalty on all weights but that of the ones."""
    return -nn.log_sigmoid(y * (x @ weights)).mean() + RIDGE / 2 * jnp.sum(weights[:-1] ** 2)


def hessian_vector(f, w, v):
    """The Hessian of f at w times v: the slope, along v, of the gradient."""
    return jvp(grad(f), (w,), (v,))[1]


def conjugate_gradients(product, b, tolerance, max_steps):
    """Solve A x = b for a positive definite A given as v -> A v; x and the number of steps."""

    def unfinished(state):
        _, residual, _, steps = state
        return (residual @ residual > (tolerance * jnp.linalg.norm(b)) ** 2) & (steps < max_steps)

    def step(state):
        x, residual, direction, steps = state
        image = product(direction)
        length = (residual @ residual) / (direction @ image)
        x, rest = x + length * direction, residual - length * image
        direction = rest + (rest @ rest) / (residual @ residual) * direction
        return x, rest, direction, steps + 1

    x, _, _, steps = lax.while_loop(unfinished, step, (jnp.zeros_like(b), b, b, 0))
    return x, steps


@jit
def newton_step(w, x, y):
    """A Newton step, half as long as often as needed to go down: the weights, and what it took."""
    f = lambda w: loss(w, x, y)
    slope = grad(f)(w)
    # The closer to the minimum, the more exactly it pays to solve for the step.
    tolerance = jnp.minimum(0.5, jnp.linalg.norm(slope))
    step, steps = conjugate_gradients(lambda v: hessian_vector(f, w, v), -slope, tolerance, 200)
    low_enough = lambda t: f(w + t * step) <= f(w) + 1e-4 * t * (slope @ step)
    t = lax.while_loop(lambda t: ~low_enough(t) & (t > 1e-3), lambda t: t / 2, jnp.array(1.0))
    return w + t * step, steps


def main() -> None:
    x, y, test_x, test_y = load()
    slope = jit(grad(loss))
    w = jnp.zeros(x.shape[1])

    v = random.normal(random.key(0), w.shape)
    product = hessian_vector(lambda w: loss(w, x, y), w + 0.1, v)
    np.testing.assert_allclose(product, hessian(loss)(w + 0.1, x, y) @ v, rtol=1e-10, atol=1e-12)
    print(f"Hessian-vector product agrees with the full {w.size} x {w.size} Hessian\n")

    print("step   loss         |gradient|   conjugate gradient steps")
    norms = [float(jnp.linalg.norm(slope(w, x, y)))]
    print(f"{0:4d}   {float(loss(w, x, y)):.8f}   {norms[0]:.2e}")
    while norms[-1] > 1e-10 and len(norms) <= 20:
        w, steps = newton_step(w, x, y)
        norms.append(float(jnp.linalg.norm(slope(w, x, y))))
        here = float(loss(w, x, y))
        print(f"{len(norms) - 1:4d}   {here:.8f}   {norms[-1]:.2e}     {int(steps):4d}")

    # In scikit-learn's terms the sum of losses has weight C against half the squared weights.
    reference = LogisticRegression(C=1 / (RIDGE * len(y)), tol=1e-10, max_iter=10_000)
    reference.fit(np.asarray(x[:, :-1]), np.asarray(y))
    theirs = np.append(reference.coef_[0], reference.intercept_)
    print(f"\nlargest difference from scikit-learn's weights: {abs(w - theirs).max():.1e}")
    right = float((jnp.sign(test_x @ w) == test_y).mean())
    print(f"test accuracy {right:.2%} of {len(test_y)} tumours")

    assert norms[-1] <= 1e-10, f"Newton's method stopped at a gradient of {norms[-1]:.1e}"
    np.testing.assert_allclose(w, theirs, atol=1e-5)
    assert right > 0.95, f"test accuracy {right:.2%} is below 95%"


if __name__ == "__main__":
    main()
