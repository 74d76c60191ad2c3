"""Real data for the scripts: 600 handwritten digits of 8x8 pixels.

From the UCI set "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak, 1998), in the
form that scikit-learn ships.
"""

from pathlib import Path

import jax.numpy as jnp
import numpy as np


def digits(count: int):
    """Images [count, 64] in 0 to 1 and labels [count], of the first digits."""
    archive = np.load(Path(__file__).with_name("digits.npz"))
    return jnp.asarray(archive["x"][:count] / 16), jnp.asarray(archive["y"][:count])
