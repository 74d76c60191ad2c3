"""What the samplers ask of their arguments: a dtype of the right kind, shapes that go together."""

from functools import partial
from typing import Any

import numpy as np

from funcgrad.api.jit import jit
from funcgrad.api.meshes import make_single_device_sharding, with_sharding_constraint
from funcgrad.base import dtypes, promotion
from funcgrad.base.aval import aval_of
from funcgrad.base.backend import Device
from funcgrad.base.basis import convert, reshape
from funcgrad.base.errors import TypePromotionError
from funcgrad.base.shapes import Shape, broadcast_shapes, canonical_shape

# A sampler that is compiled for each shape and dtype.
sampler = partial(jit, static_argnames=("shape", "dtype"))


def float_dtype(name: str, dtype: Any, or_complex: bool = False) -> np.dtype:
    """The float dtype that `name` was asked for, the default one for None; else ValueError."""
    found = dtypes.check_user_dtype(float if dtype is None else dtype, name)
    if not dtypes.issubdtype(found, np.inexact if or_complex else np.floating):
        kind = "float or complex" if or_complex else "float"
        raise ValueError(f"dtype argument to `{name}` must be a {kind} dtype, got {found}")
    return found


def int_dtype(name: str, dtype: Any, error: type[Exception] = ValueError) -> np.dtype:
    """The integer dtype that `name` was asked for, the default one for None; else `error`."""
    found = dtypes.check_user_dtype(int if dtype is None else dtype, name)
    if not dtypes.issubdtype(found, np.integer):
        raise error(f"dtype argument to `{name}` must be an integer dtype, got {found}")
    return found


def common_shape(name: str, shape: Any, **params: Any) -> Shape:
    """`shape`, or for None what the parameters broadcast to.

    Raises:
        ValueError: the parameters do not broadcast to it.
    """
    asked = None if shape is None else canonical_shape(shape)
    shapes = {k: aval_of(v).shape for k, v in params.items()}
    try:
        result = broadcast_shapes(*shapes.values(), *([] if asked is None else [asked]))
    except ValueError:
        result = None
    if result is None or asked not in (None, result):
        listed = ", ".join(f"{k} {s}" for k, s in shapes.items())
        wanted = "each other" if asked is None else f"the shape {asked} asked for"
        raise ValueError(f"{name}: parameters do not broadcast to {wanted}; their shapes: {listed}")
    return result


def check_safe_to_cast(name: str, dtype: Any, **params: Any) -> None:
    """Raise TypePromotionError where a parameter is of a wider dtype than the result."""
    for param, value in params.items():
        given = promotion.dtype_of(value)
        if given != dtype and promotion.result_type(value, dtype) != dtype:
            raise TypePromotionError(
                f"{name}: the parameter {param} of dtype {given} does not fit the dtype {dtype} of "
                "the result. Cast it with astype, or ask for a wider dtype."
            )


def spread(x: Any, dtype: Any, shape: Shape) -> Any:
    """A parameter in the sampler's dtype, with leading axes up to the rank of `shape`."""
    x = convert(x, dtype)
    own = aval_of(x).shape
    return reshape(x, (1,) * (len(shape) - len(own)) + own)


def placed(x: Any, out_sharding: Any) -> Any:
    """x on the devices asked for; under a transformation placement is left to the caller."""
    if out_sharding is None:
        return x
    if isinstance(out_sharding, Device):
        out_sharding = make_single_device_sharding(out_sharding)
    return with_sharding_constraint(x, out_sharding)
