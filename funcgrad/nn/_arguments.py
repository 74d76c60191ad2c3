"""What the functions of `nn` take for an array, and what they say of anything else."""

from typing import Any

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import Array

ArrayLike = Array | np.ndarray | np.generic | bool | int | float | complex
Axis = int | tuple[int, ...] | None


def as_array(name: str, x: Any) -> Array:
    """The argument of the function `name` as an Array; numbers stay weakly typed."""
    if isinstance(x, Array):
        return x
    if isinstance(x, ArrayLike) or hasattr(x, "__jax_array__"):
        return jnp.asarray(x)
    raise TypeError(
        f"{name} requires ndarray or scalar arguments, got {type(x)}: {x!r:.60}. Make an array of "
        "it with funcgrad.numpy.array first."
    )


def as_inexact(name: str, *args: Any) -> list[Array]:
    """Arguments in their common dtype, which is float32 (or float64) where that is an integer."""
    arrays = [as_array(name, x) for x in args]
    if not jnp.issubdtype(jnp.result_type(*arrays), np.inexact):
        arrays = [x / 1 for x in arrays]
    if len(arrays) == 1:
        return arrays
    common = jnp.result_type(*arrays)
    return [x.astype(common) for x in arrays]
