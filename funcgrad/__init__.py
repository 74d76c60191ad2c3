"""funcgrad: composable function transformations (grad, jit, vmap, pmap) over pure primitives."""

import importlib
from typing import Any

from funcgrad._version import __version__
from funcgrad.api.derivatives import (
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
)
from funcgrad.api.grad import grad, value_and_grad, vjp
from funcgrad.api.inspect import eval_shape, make_jaxpr
from funcgrad.api.jit import jit
from funcgrad.api.stages import ShapeDtypeStruct
from funcgrad.api.vmap import vmap
from funcgrad.base.config import config
from funcgrad.base.memo import clear_caches
from funcgrad.base.methods import Array

_LAZY = frozenset({"numpy", "lax", "random", "nn", "scipy", "tree", "tree_util", "optim"})


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"funcgrad.{name}")
    raise AttributeError(f"module 'funcgrad' has no attribute {name!r}")


__all__ = [
    "Array",
    "ShapeDtypeStruct",
    "__version__",
    "clear_caches",
    "config",
    "eval_shape",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "make_jaxpr",
    "value_and_grad",
    "vjp",
    "vmap",
]
