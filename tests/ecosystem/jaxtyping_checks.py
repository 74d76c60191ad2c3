"""jaxtyping: shapes and dtypes in annotations, checked on arrays and tracers."""

import jax
import jax.numpy as jnp
import numpy as np
from data import digits
from jaxtyping import Array, Float, Int, PyTree, Shaped


def main() -> dict[str, np.ndarray]:
    x, y = digits(20)
    x = x.astype(jnp.float32)
    kinds = {
        "float": Float[Array, "n 64"],
        "int": Int[Array, " n"],
        "shaped": Shaped[Array, "..."],
        "wrong": Float[Array, "n 63"],
        "tree": PyTree[Float[Array, "..."]],
    }
    values = {"x": x, "y": y, "scalar": jnp.float32(1), "numpy": np.ones((2, 64)), "tree": [x, x]}
    seen = [[isinstance(v, kind) for v in values.values()] for kind in kinds.values()]
    traced = []
    jax.jit(lambda x: traced.append(isinstance(x, kinds["float"])) or x)(x)
    return {"seen": np.array(seen), "traced": np.array(traced)}
