"""How nn is compared with jax.nn: value, dtype and weak type, leaf by leaf."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose


@pytest.fixture(autouse=True)
def jax_uncompiled():
    """Its operations one by one, which costs less than compiling each function for each shape."""
    with jax.disable_jit():
        yield


def same(ours, theirs, rtol=2e-6, atol=2e-6):
    """Equal within tolerance, with the same dtype, weak type and nans."""
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
        kind = np.complex64 if np.iscomplexobj(np.asarray(b)) else np.float32
        low = b.dtype in (np.float16, jnp.bfloat16)
        assert_allclose(
            np.asarray(a).astype(kind),
            np.asarray(b).astype(kind),
            rtol=2e-2 if low else rtol,
            atol=2e-2 if low else atol,
        )
