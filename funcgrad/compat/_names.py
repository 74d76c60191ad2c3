"""What the door answers besides funcgrad's public modules: private names that libraries import.

Each entry names the module that is asked for, and where each of its names is found here, as
`module:attribute`; a name alone is found in `funcgrad.compat._stand_ins`.
"""

# The version of JAX that funcgrad follows.
VERSION = "0.10.2"

# What modules show besides the names of funcgrad's module.
EXTRA: dict[str, dict[str, str]] = {
    "jax": {"shard_map": "shard_map"},
    "jax.extend.core.primitives": {"call_p": "call_p", "closed_call_p": "closed_call_p"},
}

PRIVATE: dict[str, dict[str, str]] = {
    "jax._src": {},
    "jax._src.ad_util": {"stop_gradient_p": "funcgrad.lax:stop_gradient_p"},
    "jax._src.api_util": {"flatten_fun_nokwargs": "funcgrad.api_util:flatten_fun_nokwargs"},
    "jax._src.checkify": {
        "Error": "funcgrad.experimental.checkify:Error",
        "JaxException": "builtins:Exception",
        "Out": "typing:Any",
        "checkify": "funcgrad.experimental.checkify:checkify",
        "user_checks": "funcgrad.experimental.checkify:user_checks",
    },
    "jax._src.compiler": {},
    "jax._src.core": {
        "ShapedArray": "funcgrad.core:ShapedArray",
        "physical_aval": "physical_aval",
        "trace_state_clean": "trace_state_clean",
    },
    "jax._src.dispatch": {"wait_for_tokens": "funcgrad:effects_barrier"},
    "jax._src.dtypes": {
        "DType": "numpy:dtype",
        "ExtendedDType": "ExtendedDType",
        "TypePromotionError": "funcgrad.errors:TypePromotionError",
        "extended": "funcgrad.dtypes:extended",
        "finfo": "funcgrad.numpy:finfo",
        "supports_inf": "supports_inf",
    },
    "jax._src.flatten_util": {"ravel_pytree": "funcgrad.flatten_util:ravel_pytree"},
    "jax._src.interpreters": {},
    "jax._src.literals": {},
    "jax._src.state": {},
    "jax._src.state.types": {"AbstractRef": "AbstractRef"},
    "jax._src.traceback_util": {
        "_exclude_paths": "excluded_paths",
        "api_boundary": "api_boundary",
        "include_frame": "include_frame",
        "register_exclusion": "register_exclusion",
    },
    "jax._src.tree_util": {"_registry": "pytree_registry"},
    "jax._src.xla_bridge": {},
    "jax.experimental.hijax": {
        "AbstractValue": "funcgrad.core:ShapedArray",
        "AvalMutableQDD": "HiType",
        "AvalQDD": "HiType",
        "HiPrimitive": "HiPrimitive",
        "MutableHiType": "HiType",
        "Zero": "funcgrad.interpreters.ad:Zero",
        "aval_method": "aval_method",
        "aval_property": "aval_property",
        "control_flow_allowed_effects": "allowed_effects",
        "instantiate_zeros": "funcgrad.interpreters.ad:instantiate_zeros",
        "is_undefined_primal": "funcgrad.interpreters.ad:is_undefined_primal",
        "register_hitype": "register_hitype",
    },
    "jaxlib": {"__version__": "version"},
}
