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
        f"{name} takes arrays and numbers, not {x!r:.60} of {type(x)}. Make an array of it with "
        "funcgrad.numpy.array first."
    )


def as_inexact(name: str, x: Any) -> Array:
    """The argument as an Array of a float or complex dtype."""
    x = as_array(name, x)
    return x if jnp.issubdtype(x.dtype, np.inexact) else x / 1
