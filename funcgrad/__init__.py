"""funcgrad: composable function transformations (grad, jit, vmap, pmap) over pure primitives."""

import importlib
from typing import Any

import funcgrad.numpy as numpy
from funcgrad._version import __version__
from funcgrad.api.callbacks import effects_barrier, pure_callback
from funcgrad.api.checkpoint import checkpoint, checkpoint_policies
from funcgrad.api.checkpoint import checkpoint as remat
from funcgrad.api.compile_time import ensure_compile_time_eval
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
from funcgrad.api.derivatives import jacrev as jacobian
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
from funcgrad.api.environment import (
    copy_to_host_async,
    host_count,
    host_id,
    host_ids,
    live_arrays,
    print_environment_info,
    process_indices,
)
from funcgrad.api.explain import explain_recompile
from funcgrad.api.grad import grad, value_and_grad, vjp
from funcgrad.api.inspect import (
    eval_shape,
    make_jaxpr,
    named_call,
    named_scope,
    typeof,
)
from funcgrad.api.jit import jit
from funcgrad.api.meshes import make_mesh, reshard
from funcgrad.api.refs import Ref, empty_ref, free_ref, freeze, new_ref
from funcgrad.api.stages import ShapeDtypeStruct
from funcgrad.api.two_halves import fwd_and_bwd
from funcgrad.api.vmap import vmap
from funcgrad.base.backend import Device
from funcgrad.base.config import (
    check_tracer_leaks,
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
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    legacy_prng_key,
    log_compiles,
    make_user_context,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    softmax_custom_jvp,
    threefry_partitionable,
    zero_safe_gradients,
)
from funcgrad.base.dtypes import float0
from funcgrad.base.memo import clear_caches
from funcgrad.base.mesh import set_mesh
from funcgrad.base.methods import Array
from funcgrad.base.placement import NamedSharding, PartitionSpec, Sharding
from funcgrad.base.placement import PartitionSpec as P
from funcgrad.dist import pmap

_LAZY = frozenset(
    {
        "ad_checkpoint",
        "api_util",
        "core",
        "custom_batching",
        "custom_derivatives",
        "debug",
        "dlpack",
        "dtypes",
        "errors",
        "example_libraries",
        "experimental",
        "extend",
        "flatten_util",
        "image",
        "interpreters",
        "lax",
        "monitoring",
        "nn",
        "ops",
        "optim",
        "random",
        "ref",
        "scipy",
        "sharding",
        "stages",
        "test_util",
        "tree",
        "tree_util",
        "typing",
        "version",
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
    "Ref",
    "ShapeDtypeStruct",
    "Sharding",
    "__version__",
    "block_until_ready",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "config",
    "copy_to_host_async",
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
    "enable_custom_prng",
    "enable_x64",
    "empty_ref",
    "ensure_compile_time_eval",
    "eval_shape",
    "explain_cache_misses",
    "explain_recompile",
    "float0",
    "fwd_and_bwd",
    "free_ref",
    "freeze",
    "grad",
    "hessian",
    "host_count",
    "host_id",
    "host_ids",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "legacy_prng_key",
    "linear_transpose",
    "linearize",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_jaxpr",
    "make_mesh",
    "make_user_context",
    "named_call",
    "named_scope",
    "new_ref",
    "no_tracing",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "pmap",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
    "pure_callback",
    "remat",
    "reshard",
    "set_mesh",
    "softmax_custom_jvp",
    "threefry_partitionable",
    "typeof",
    "value_and_grad",
    "vjp",
    "vmap",
    "zero_safe_gradients",
]
