"""Train a small network to read handwritten digits: jit(value_and_grad) and Adam.

    python examples/digits_mlp.py [--epochs 30] [--seed 0] [--output outputs]

The data are scikit-learn's 1,797 digits of 8 x 8 pixels, a quarter of them held out for the test.
The script prints a line an epoch and a table of what was taken for what, saves two plots, and fails
if the network reads fewer than 97% of the test digits.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from funcgrad import jit, nn, optim, random, value_and_grad

BATCH = 64
GOAL = 0.97

model = nn.sequential(nn.dense(512), nn.relu, nn.dense(10))


def load() -> list[np.ndarray]:
    """Training images, test images, training labels, test labels; pixels in [0, 1]."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    return train_test_split(images, labels, test_size=0.25, stratify=labels, random_state=0)


def loss(params, images, labels):
    return nn.softmax_cross_entropy(model.apply(params, images), labels).mean()


@jit
def predict(params, images):
    """The probability of each digit, [batch, 10]."""
    return nn.softmax(model.apply(params, images))


def train(images, labels, test_images, test_labels, epochs, seed):
    """Minimize the loss, in a new order each epoch; the parameters, and the losses by epoch."""
    steps = len(images) // BATCH
    rate = lambda step: 3e-3 * (1 - step / (epochs * steps))
    optimizer = optim.adam(rate)

    @jit
    def step(params, state, images, labels):
        value, gradients = value_and_grad(loss)(params, images, labels)
        updates, state = optimizer.update(gradients, state, params)
        return optim.apply_updates(params, updates), state, value

    key, init_key = random.split(random.key(seed))
    params = model.init(init_key, images.shape)
    state = optimizer.init(params)
    losses = []
    for epoch in range(epochs):
        start = time.perf_counter()
        order = np.asarray(random.permutation(random.fold_in(key, epoch), len(images)))
        values = []
        for batch in order[: steps * BATCH].reshape(steps, BATCH):
            params, state, value = step(params, state, images[batch], labels[batch])
            values.append(value)
        test_loss = float(loss(params, test_images, test_labels))
        losses.append((np.mean(values), test_loss))
        print(
            f"epoch {epoch + 1:2d}/{epochs}  loss {losses[-1][0]:.4f}  test loss {test_loss:.4f}  "
            f"test accuracy {accuracy(params, test_images, test_labels):.2%}  "
            f"{time.perf_counter() - start:.2f} s"
        )
    return params, losses


def accuracy(params, images, labels) -> float:
    return float((predict(params, images).argmax(axis=1) == labels).mean())


def print_confusion(labels: np.ndarray, taken_for: np.ndarray) -> None:
    """How often each digit was taken for which, and the most frequent mistakes in words."""
    table = np.zeros((10, 10), int)
    np.add.at(table, (labels, taken_for), 1)
    print("\ndigit  taken for" + " " * 32 + "right")
    print("      " + "".join(f"{d:4d}" for d in range(10)))
    for digit, row in enumerate(table):
        cells = "".join(f"{n:4d}" if n else "   ." for n in row)
        print(f"{digit:4d}  {cells}   {row[digit] / row.sum():6.1%}")
    wrong = [(n, a, b) for (a, b), n in np.ndenumerate(table) if a != b and n]
    for n, a, b in sorted(wrong, reverse=True)[:3]:
        print(f"{n} time{'' if n == 1 else 's'} a test digit {a} was taken for {b}")


def plot_losses(losses, file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.semilogy(np.arange(1, len(losses) + 1), losses, label=["training", "test"])
    axes.set(xlabel="epoch", ylabel="cross entropy", title="Reading digits")
    axes.legend()
    figure.savefig(file, dpi=120)


def plot_predictions(images, labels, chances, file: Path) -> None:
    """The 12 test digits the network is least sure of, each with what it takes it for."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6.4), layout="constrained")
    figure.suptitle("The least certain of the test digits")
    least = np.argsort(chances.max(axis=1))[:12]
    for axes, i in zip(figure.subplots(3, 4).flat, least, strict=True):
        taken = chances[i].argmax()
        axes.imshow(images[i].reshape(8, 8), cmap="gray_r")
        axes.set_title(
            f"{taken} ({chances[i, taken]:.0%}), is {labels[i]}",
            color="black" if taken == labels[i] else "firebrick",
        )
        axes.axis("off")
    figure.savefig(file, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("outputs"))
    options = parser.parse_args()

    images, test_images, labels, test_labels = load()
    start = time.perf_counter()
    params, losses = train(images, labels, test_images, test_labels, options.epochs, options.seed)
    print(f"\ntrained on {len(images)} digits in {time.perf_counter() - start:.1f} s")

    chances = np.asarray(predict(params, test_images))
    print_confusion(test_labels, chances.argmax(axis=1))
    options.output.mkdir(parents=True, exist_ok=True)
    files = [options.output / f"digits_{name}.png" for name in ("loss", "predictions")]
    plot_losses(losses, files[0])
    plot_predictions(test_images, test_labels, chances, files[1])
    print(f"\nplots: {files[0]}, {files[1]}")

    reached = accuracy(params, test_images, test_labels)
    print(f"test accuracy {reached:.2%} of {len(test_labels)} digits (goal {GOAL:.0%})")
    assert reached >= GOAL, f"test accuracy {reached:.2%} is below the goal of {GOAL:.0%}"


if __name__ == "__main__":
    main()
