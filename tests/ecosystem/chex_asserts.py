"""chex: assertions on shapes, trees and values, also inside jit; dataclasses as pytrees."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
from data import digits


@chex.dataclass
class Batch:
    x: chex.Array
    y: chex.Array


def raises(check, *args, **kwargs) -> bool:
    try:
        check(*args, **kwargs)
    except AssertionError:
        return True
    return False


def main() -> dict[str, np.ndarray]:
    x, y = digits(20)
    batch = Batch(x=x, y=y)
    found = [
        raises(chex.assert_shape, x, (20, 64)),
        raises(chex.assert_shape, x, (20, 63)),
        raises(chex.assert_rank, [x, y], [2, 1]),
        raises(chex.assert_type, y, float),
        raises(chex.assert_trees_all_close, batch, batch),
        raises(chex.assert_tree_all_finite, {"a": jnp.array([1.0, jnp.nan])}),
        raises(chex.assert_equal_shape, [x, x[1:]]),
        raises(chex.assert_trees_all_equal_shapes, batch, jax.tree.map(lambda a: a + 1, batch)),
    ]

    @jax.jit
    @chex.assert_max_traces(n=2)
    def doubled(batch):
        chex.assert_rank(batch.x, 2)
        return jax.tree.map(lambda a: 2 * a, batch)

    @chex.chexify
    @jax.jit
    def positive(x):
        chex.assert_trees_all_close(x, jnp.abs(x))
        return x + 1

    positive(x)
    positive.wait_checks()

    def negative():
        positive(-x)
        positive.wait_checks()

    return {
        "raised": np.array([*found, raises(negative)]),
        "doubled": np.asarray(doubled(batch).x),
    }
