"""funcgrad: composable function transformations (grad, jit, vmap, pmap) over pure primitives."""

import importlib
from typing import Any

import funcgrad.numpy as numpy
from funcgrad._version import __version__
from funcgrad.api.callbacks import effects_barrier, pure_callback
from funcgrad.api.checkpoint import checkpoint, checkpoint_policies
from funcgrad.api.checkpoint import checkpoint as remat
from funcgrad.api.custom_gradient import closure_convert, custom_gradient
from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.api.custom_vjp import custom_vjp
from funcgrad.api.derivatives import (
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
)
from funcgrad.api.devices import (
    block_until_ready,
    default_backend,
    device_count,
    device_get,
    device_put,
    device_put_replicated,
    device_put_sharded,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)
from funcgrad.api.explain import explain_recompile
from funcgrad.api.grad import grad, value_and_grad, vjp
from funcgrad.api.inspect import (
    ensure_compile_time_eval,
    eval_shape,
    make_jaxpr,
    named_call,
    named_scope,
    typeof,
)
from funcgrad.api.jit import jit
from funcgrad.api.stages import ShapeDtypeStruct
from funcgrad.api.vmap import vmap
from funcgrad.base.backend import Device
from funcgrad.base.config import (
    checking_leaks,
    config,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_x64,
    explain_cache_misses,
    legacy_prng_key,
    log_compiles,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    softmax_custom_jvp,
    threefry_partitionable,
)
from funcgrad.base.dtypes import float0
from funcgrad.base.memo import clear_caches
from funcgrad.base.methods import Array
from funcgrad.base.placement import NamedSharding, PartitionSpec, Sharding
from funcgrad.base.placement import PartitionSpec as P
from funcgrad.dist import pmap

_LAZY = frozenset(
    {
        "ad_checkpoint",
        "core",
        "custom_derivatives",
        "debug",
        "dtypes",
        "errors",
        "example_libraries",
        "experimental",
        "flatten_util",
        "lax",
        "nn",
        "ops",
        "optim",
        "random",
        "scipy",
        "sharding",
        "stages",
        "tree",
        "tree_util",
        "typing",
    }
)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"funcgrad.{name}")
    raise AttributeError(f"module 'funcgrad' has no attribute {name!r}")


__all__ = [
    "Array",
    "Device",
    "NamedSharding",
    "P",
    "PartitionSpec",
    "ShapeDtypeStruct",
    "Sharding",
    "__version__",
    "block_until_ready",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "config",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "device_put_replicated",
    "device_put_sharded",
    "devices",
    "disable_jit",
    "effects_barrier",
    "enable_checks",
    "enable_x64",
    "ensure_compile_time_eval",
    "eval_shape",
    "explain_cache_misses",
    "explain_recompile",
    "float0",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "legacy_prng_key",
    "linear_transpose",
    "linearize",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_jaxpr",
    "named_call",
    "named_scope",
    "no_tracing",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "pmap",
    "process_count",
    "process_index",
    "pure_callback",
    "remat",
    "softmax_custom_jvp",
    "threefry_partitionable",
    "typeof",
    "value_and_grad",
    "vjp",
    "vmap",
]
