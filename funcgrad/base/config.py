"""Every setting is one switch in one table, with what it means.

The environment variable FUNCGRAD_<NAME> sets what a switch starts with; JAX's spelling
`jax_<name>` works as well.
"""

import difflib
import itertools
from collections.abc import Hashable
from typing import Any, NoReturn

from funcgrad.base.switches import (
    DEVICE,
    FLAG,
    GUARD,
    HASHABLE,
    PLATFORMS,
    PRECISION,
    SECONDS,
    SWITCHES,
    TEXT,
    Override,
    Switch,
    choice,
    integer,
    traced_values,
)

_user_contexts = itertools.count()


class Config:
    """The table of switches: `config.name` reads one, `config.update(name, value)` sets one."""

    __slots__ = ()

    # dtypes
    enable_x64 = Switch(False, FLAG, "Make 64-bit dtypes available, and the default.", traced=True)
    explicit_x64_dtypes = Switch(
        "warn",
        choice("warn", "error", "allow"),
        "What asking for a 64-bit dtype by name does while enable_x64 is off: warn and give 32 "
        "bits, raise, or give 64 bits.",
        traced=True,
    )
    numpy_dtype_promotion = Switch(
        "standard",
        choice("standard", "strict"),
        "Whether operands of different dtypes are promoted, or refused unless one is weakly typed.",
        traced=True,
    )
    numpy_rank_promotion = Switch(
        "allow",
        choice("allow", "warn", "raise"),
        "What broadcasting operands of different ranks does.",
        traced=True,
    )
    default_matmul_precision = Switch(
        None, PRECISION, "Precision of matrix products and convolutions of float32.", traced=True
    )
    allow_f16_reductions = Switch(
        True, FLAG, "Whether sums of float16 and bfloat16 are allowed.", traced=True
    )
    strict_fp = Switch(
        False, FLAG, "Round every operation by itself: no multiply fused with an add.", traced=True
    )

    # random numbers
    default_prng_impl = Switch(
        "threefry2x32", choice("threefry2x32"), "The generator behind new keys.", traced=True
    )
    threefry_partitionable = Switch(
        True, FLAG, "Draw the stream whose elements depend on their index alone.", traced=True
    )
    random_seed_offset = Switch(0, integer(), "Added to every seed.", traced=True)
    high_dynamic_range_gumbel = Switch(
        False, FLAG, "Draw two samples per Gumbel number, to reach rarer values.", traced=True
    )
    legacy_prng_key = Switch(
        "allow", choice("allow", "warn", "error"), "What a raw uint32 key does in random functions."
    )
    enable_custom_prng = Switch(False, FLAG, "Make random.PRNGKey return typed keys.", traced=True)
    debug_key_reuse = Switch(
        False, FLAG, "Raise KeyReuseError when a key is consumed twice.", traced=True
    )

    # tracing and checking
    disable_jit = Switch(False, FLAG, "Run what jit wraps operation by operation.", traced=True)
    no_tracing = Switch(False, FLAG, "Raise where jit would trace.")
    no_execution = Switch(False, FLAG, "Raise where an operation would be evaluated.", traced=True)
    debug_nans = Switch(
        False, FLAG, "Raise at the operation that makes a nan.", traced=True, watched=True
    )
    debug_infs = Switch(
        False, FLAG, "Raise at the operation that makes an infinity.", traced=True, watched=True
    )
    enable_checks = Switch(
        False, FLAG, "Check every program after each pass; slow.", traced=True, watched=True
    )
    check_tracer_leaks = Switch(False, FLAG, "Raise as soon as a tracer outlives its trace.")
    check_static_indices = Switch(
        False, FLAG, "Raise when an index known while tracing is out of bounds.", traced=True
    )
    zero_safe_gradients = Switch(
        False,
        FLAG,
        "In reverse mode a zero times anything is zero, so that no nan comes out of a branch that "
        "`where` did not take, nor out of norm and std at zero.",
        traced=True,
    )
    softmax_custom_jvp = Switch(
        False, FLAG, "Differentiate softmax by its own rule instead of through exp.", traced=True
    )

    # what is shown
    log_compiles = Switch(False, FLAG, "Log each compilation as a warning, else at level debug.")
    explain_cache_misses = Switch(False, FLAG, "Log why a jitted call had to be traced again.")
    log_checkpoint_residuals = Switch(False, FLAG, "Log what each checkpoint saves.")
    traceback_filtering = Switch(
        "auto",
        choice("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"),
        "How frames of this library are taken out of tracebacks.",
    )
    tracer_error_num_traceback_frames = Switch(
        5, integer(1), "How many frames an error about a tracer shows of where it was made."
    )
    pprint_use_color = Switch(True, FLAG, "Print programs in colour where the terminal can.")

    # devices
    num_cpu_devices = Switch(1, integer(1), "How many virtual CPU devices there are.")
    default_device = Switch(None, DEVICE, "Where new arrays go; None is the first.", traced=True)
    platforms = Switch(None, PLATFORMS, "The platforms to use, the default one first.")
    platform_name = Switch(None, choice(None, "cpu", "gpu", "cuda"), "The default platform.")
    cpu_collectives_implementation = Switch(
        None, choice(None, "mpi"), "What carries collectives between processes on CPU."
    )
    thread_guard = Switch(
        False, FLAG, "Raise when a thread other than the guard's own runs a multi-process program."
    )
    transfer_guard_host_to_device = Switch(None, GUARD, "What a copy to a device does.")
    transfer_guard_device_to_device = Switch(None, GUARD, "What a copy between devices does.")
    transfer_guard_device_to_host = Switch(None, GUARD, "What a copy from a device does.")
    transfer_guard = Switch(
        None,
        GUARD,
        "What a copy in any direction does; sets the three switches of one direction.",
        also=(
            "transfer_guard_host_to_device",
            "transfer_guard_device_to_device",
            "transfer_guard_device_to_host",
        ),
    )
    array_garbage_collection_guard = Switch(
        None,
        choice(None, "allow", "log", "fatal"),
        "What happens to an array freed by the cycle collector instead of its reference count.",
    )

    # compiled programs
    isa = Switch(
        None,
        choice(None, "avx512", "avx2", "sse2", "neon"),
        "The vector instructions to generate, at most what the processor has; None is its best.",
        traced=True,
    )
    num_threads = Switch(
        0,
        integer(0),
        "Threads that share a program's work, read when the first program is compiled; 0 is one "
        "for each CPU allowed.",
    )
    pooled_memory = Switch(
        -1, integer(-1), "Bytes of freed arrays kept for the next ones; -1 is a quarter of the RAM."
    )
    compilation_cache = Switch(
        "on",
        TEXT,
        "Where compiled programs are kept: 'on' for compilation_cache_dir, 'off' for nowhere, or a "
        "folder. Whoever may write there can run code as you.",
    )

    # compiled programs on disk
    enable_compilation_cache = Switch(True, FLAG, "Keep compiled programs on disk.")
    compilation_cache_dir = Switch(
        None, TEXT, "The folder of compiled programs; None is the user's own."
    )
    compilation_cache_max_size = Switch(
        -1, integer(-1), "Bytes to keep at most; -1 is no limit, or 1 GiB in the user's own folder."
    )
    persistent_cache_min_compile_time_secs = Switch(
        1.0, SECONDS, "Has no effect: most programs compile faster, and all are kept."
    )
    persistent_cache_min_entry_size_bytes = Switch(
        0, integer(-1), "Programs smaller than this are not kept."
    )
    raise_persistent_cache_errors = Switch(
        False, FLAG, "Raise what goes wrong with the folder, instead of making do without."
    )

    # What every trace depends on, as a hashable key.
    trace_key = staticmethod(traced_values)

    @property
    def x64_enabled(self) -> bool:
        """The older name of enable_x64."""
        return self.enable_x64

    @property
    def values(self) -> dict[str, Any]:
        """Every switch by name, with the value that holds here and now."""
        return {name: switch.value for name, switch in SWITCHES.items()}

    def read(self, name: str) -> Any:
        """The value of the switch of that name, with or without the prefix `jax_`."""
        return _find(name).value

    def update(self, name: str, value: Any) -> None:
        """Set a switch for the whole process.

        Raises AttributeError for a name that is no switch, ValueError for a value it does not take.

        Example: `config.update("enable_x64", True)`, or with JAX's name `"jax_enable_x64"`.
        """
        _find(name).set_global(value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(
            f"config.{name} cannot be assigned; call config.update({name!r}, {value!r})."
        )

    def __repr__(self) -> str:
        changed = ", ".join(
            f"{name}={switch.value!r}"
            for name, switch in SWITCHES.items()
            if switch.value != switch.default
        )
        return f"Config({changed})"


def _find(name: str) -> Switch[Any]:
    switch = SWITCHES.get(name.removeprefix("jax_"))
    if switch is None:
        near = difflib.get_close_matches(name.removeprefix("jax_"), SWITCHES, 1, 0.0)[0]
        raise AttributeError(
            f"config has no switch {name!r}; the nearest is {near!r}, and config.values lists all."
        )
    return switch


config = Config()
for _switch in SWITCHES.values():
    _switch.read_environment()

# The switches that are public functions: called with a value, each is a context manager.
allow_f16_reductions = Config.allow_f16_reductions
array_garbage_collection_guard = Config.array_garbage_collection_guard
check_tracer_leaks = Config.check_tracer_leaks
debug_infs = Config.debug_infs
debug_key_reuse = Config.debug_key_reuse
debug_nans = Config.debug_nans
default_device = Config.default_device
default_matmul_precision = Config.default_matmul_precision
default_prng_impl = Config.default_prng_impl
enable_checks = Config.enable_checks
enable_custom_prng = Config.enable_custom_prng
enable_x64 = Config.enable_x64
explain_cache_misses = Config.explain_cache_misses
legacy_prng_key = Config.legacy_prng_key
log_compiles = Config.log_compiles
no_execution = Config.no_execution
no_tracing = Config.no_tracing
numpy_dtype_promotion = Config.numpy_dtype_promotion
numpy_rank_promotion = Config.numpy_rank_promotion
softmax_custom_jvp = Config.softmax_custom_jvp
zero_safe_gradients = Config.zero_safe_gradients
thread_guard = Config.thread_guard
threefry_partitionable = Config.threefry_partitionable
transfer_guard = Config.transfer_guard
transfer_guard_device_to_device = Config.transfer_guard_device_to_device
transfer_guard_device_to_host = Config.transfer_guard_device_to_host
transfer_guard_host_to_device = Config.transfer_guard_host_to_device


def checking_leaks() -> Override:
    """A context manager inside which a tracer that outlives its trace raises at once."""
    return Config.check_tracer_leaks(True)


def disable_jit(disable: bool = True) -> Override:
    """A context manager inside which what `jit` wraps runs operation by operation.

    Example: `with disable_jit(): f(x)` lets `print` and a debugger in f see every value.
    """
    return Config.disable_jit(disable)


def make_user_context(default_value: Hashable = None) -> Switch[Any]:
    """A setting of your own that jitted functions are traced anew for.

    Args:
        default_value: any hashable value, in force outside every `with` block.

    Returns:
        A switch: `context.value` reads it, `with context(value):` sets it for a block.

    Example:
        >>> units = make_user_context("metre")
        >>> with units("foot"):
        ...     units.value
        'foot'
    """
    context = Switch(default_value, HASHABLE, "A setting made by make_user_context.", traced=True)
    context.name = context.__name__ = f"user_context_{next(_user_contexts)}"
    return context
