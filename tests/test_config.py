"""Switches: values, overrides by context, JAX's spelling, the trace key, and what is refused."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any

import jax
import numpy as np
import pytest

from funcgrad.base import config as module
from funcgrad.base.config import Config, config
from funcgrad.base.switches import SWITCHES, Override, Switch

PUBLIC = """allow_f16_reductions array_garbage_collection_guard check_tracer_leaks debug_infs
    debug_key_reuse debug_nans default_device default_matmul_precision default_prng_impl
    enable_checks enable_custom_prng enable_x64 explain_cache_misses legacy_prng_key log_compiles
    no_execution no_tracing numpy_dtype_promotion numpy_rank_promotion softmax_custom_jvp
    thread_guard threefry_partitionable transfer_guard transfer_guard_device_to_device
    transfer_guard_device_to_host transfer_guard_host_to_device""".split()

# Where a default is not JAX's on purpose: its -1 stands for one device, it speaks gloo, and the
# tests themselves choose its platform.
OTHER_DEFAULTS = {"num_cpu_devices", "cpu_collectives_implementation", "platforms", "platform_name"}
OURS_ALONE = {
    "strict_fp",
    "isa",
    "num_threads",
    "pooled_memory",
    "compilation_cache",
    "zero_safe_gradients",
}
# JAX keeps these as members of an enum.
ENUMS = {"explicit_x64_dtypes", "legacy_prng_key", "numpy_dtype_promotion"}


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = {name: switch.get_global() for name, switch in SWITCHES.items()}
    yield
    for name, value in before.items():
        SWITCHES[name].set_global(value)


def in_thread(function: Callable[[], Any]) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def in_process(code: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", f"from funcgrad.base.config import config\n{code}"],
        env={"PYTHONPATH": ":".join(p for p in sys.path if p), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_update_and_read() -> None:
    assert config.enable_x64 is False
    config.update("enable_x64", True)
    assert config.enable_x64 is config.jax_enable_x64 is config.x64_enabled is True  # type: ignore[attr-defined]
    config.update("jax_enable_x64", False)
    assert config.enable_x64 is False
    assert config.read("jax_enable_x64") is config.read("enable_x64") is False
    assert config.values["enable_x64"] is False


@pytest.mark.parametrize("name", sorted(set(SWITCHES) - OURS_ALONE - OTHER_DEFAULTS))
def test_names_and_defaults_are_jax_own(name: str) -> None:
    theirs = jax.config.values[f"jax_{name}"]
    assert SWITCHES[name].default == (theirs.name.lower() if name in ENUMS else theirs)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_switches_are_functions_of_jax_too(name: str) -> None:
    switch = getattr(module, name)
    assert isinstance(switch, Switch) and switch is getattr(Config, name)
    assert callable(getattr(jax, name))
    assert switch.__doc__ and switch.__name__ == name


@pytest.mark.parametrize("name", sorted(SWITCHES))
def test_defaults_are_accepted_and_explained(name: str) -> None:
    switch = SWITCHES[name]
    assert switch.accept(switch.default) == switch.default
    assert switch.__doc__ and switch.__doc__.endswith(".")


def test_override_lasts_for_the_block() -> None:
    with module.enable_x64(True):
        assert config.enable_x64
        with module.enable_x64(False):
            assert not config.enable_x64
        assert config.enable_x64
        config.update("enable_x64", False)
        assert config.enable_x64 and not module.enable_x64.get_global()
    assert not config.enable_x64


def test_call_forms() -> None:
    with module.enable_x64():
        assert config.enable_x64
    with module.numpy_dtype_promotion("strict"), module.numpy_rank_promotion("raise"):
        assert config.numpy_dtype_promotion == "strict" and config.numpy_rank_promotion == "raise"
    with module.default_matmul_precision("bfloat16"):
        assert config.default_matmul_precision == "bfloat16"
    with module.default_device("cpu"):
        assert config.default_device == "cpu"
    with module.disable_jit():
        assert config.disable_jit
        with module.disable_jit(disable=False):
            assert not config.disable_jit
    with module.checking_leaks():
        assert config.check_tracer_leaks
    for name in ("numpy_rank_promotion", "default_matmul_precision", "default_device"):
        with pytest.raises(TypeError, match=f"{name}.*needs a value"):
            getattr(module, name)()
        with pytest.raises(TypeError):
            getattr(jax, name)()


def test_override_ends_with_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), module.enable_x64(True):
        raise ZeroDivisionError
    assert not config.enable_x64


def test_override_is_a_decorator_and_can_be_entered_again() -> None:
    @module.enable_x64(True)
    def f(depth: int) -> bool:
        """Docs."""
        return config.enable_x64 and (depth == 0 or f(depth - 1))

    assert f(3) and f.__doc__ == "Docs." and not config.enable_x64
    block = module.enable_x64(True)
    with block, block:
        assert config.enable_x64
    assert not config.enable_x64


def test_blocks_in_generators_may_end_in_any_order() -> None:
    def hold(switch: Override) -> Iterator[None]:
        with switch:
            yield

    first, second = hold(module.enable_x64(True)), hold(module.debug_nans(True))
    next(first)
    next(second)
    assert list(first) == []
    assert not config.enable_x64 and config.debug_nans
    assert list(second) == []
    assert config.trace_key() == ()


def test_threads_do_not_see_overrides_but_see_updates() -> None:
    with module.enable_x64(True):
        assert in_thread(lambda: config.enable_x64) is False
        assert in_thread(config.trace_key) == ()
        copied = copy_context()
        assert in_thread(lambda: copied.run(lambda: config.enable_x64)) is True
    config.update("enable_x64", True)
    assert in_thread(lambda: config.enable_x64) is True
    with module.enable_x64(False):
        assert in_thread(lambda: config.enable_x64) is True


def test_override_in_a_thread_stays_there() -> None:
    inside, done = threading.Event(), threading.Event()

    def work() -> None:
        with module.enable_x64(True):
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(10)
    assert not config.enable_x64 and config.trace_key() == ()
    done.set()
    thread.join()


def test_trace_key_holds_what_tracing_depends_on() -> None:
    assert config.trace_key() == ()
    assert config.trace_key() is config.trace_key()
    with module.enable_x64(True):
        key = config.trace_key()
        assert key == (("enable_x64", True),) and config.trace_key() is key
        with module.log_compiles(True):
            assert config.trace_key() == key
        with module.debug_nans(True):
            assert config.trace_key() == (("enable_x64", True), ("debug_nans", True))
        config.update("debug_infs", True)
        assert config.trace_key() == (("enable_x64", True), ("debug_infs", True))
    assert config.trace_key() == (("debug_infs", True),)
    config.update("debug_infs", False)
    config.update("enable_x64", True)
    assert config.trace_key() == key and hash(config.trace_key()) == hash(key)
    config.update("enable_x64", False)
    assert config.trace_key() == ()


# There is one generator to choose from, so its switch cannot differ from the default.
@pytest.mark.parametrize(
    "name", sorted(n for n, s in SWITCHES.items() if s.traced and n != "default_prng_impl")
)
def test_every_traced_switch_changes_the_key(name: str) -> None:
    other = {
        "explicit_x64_dtypes": "allow",
        "numpy_dtype_promotion": "strict",
        "numpy_rank_promotion": "warn",
        "default_matmul_precision": "highest",
        "default_device": "cpu",
        "random_seed_offset": 3,
        "isa": "sse2",
    }
    with SWITCHES[name](other.get(name, not SWITCHES[name].default)):
        assert [changed for changed, _ in config.trace_key()] == [name]


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("enable_x64", "yes", ["True or False"]),
        ("enable_x64", 2, ["True or False"]),
        ("debug_nans", None, ["True or False"]),
        ("numpy_dtype_promotion", "loose", ["'standard'", "'strict'"]),
        ("numpy_rank_promotion", "never", ["'allow'", "'warn'", "'raise'"]),
        ("numpy_rank_promotion", None, ["'allow'", "'warn'", "'raise'"]),
        ("default_matmul_precision", "hi", ["None", "'bfloat16'", "'BF16_BF16_F32_X9'"]),
        ("default_matmul_precision", [1], ["'tensorfloat32'"]),
        ("default_prng_impl", "rbg", ["'threefry2x32'"]),
        ("num_cpu_devices", 0, ["1 or more"]),
        ("num_cpu_devices", 2.0, ["an integer"]),
        ("num_cpu_devices", True, ["an integer"]),
        ("random_seed_offset", "1", ["an integer"]),
        ("default_device", "tpux", ["devices()[0]", "'cpu'"]),
        ("platforms", "cpu,tpu", ["'cpu'"]),
        ("legacy_prng_key", "ok", ["'error'"]),
        ("persistent_cache_min_compile_time_secs", -1.0, ["seconds"]),
        ("compilation_cache_dir", 3, ["path"]),
        ("transfer_guard", "maybe", ["'disallow_explicit'"]),
    ],
)
def test_bad_values_name_switch_value_and_choices(name: str, value: Any, words: list[str]) -> None:
    before = SWITCHES[name].value
    for attempt in (
        lambda: config.update(name, value),
        lambda: config.update(f"jax_{name}", value),
        lambda: SWITCHES[name](value),
    ):
        with pytest.raises(ValueError) as caught:
            attempt()
        for word in [name, repr(value), *words]:
            assert word in str(caught.value)
    assert SWITCHES[name].value == before


def test_values_are_converted() -> None:
    config.update("enable_x64", np.bool_(True))
    assert config.enable_x64 is True
    config.update("enable_x64", 0)
    assert config.enable_x64 is False
    config.update("num_cpu_devices", np.int64(3))
    assert config.num_cpu_devices == 3 and type(config.num_cpu_devices) is int
    config.update("num_cpu_devices", 8)
    assert config.num_cpu_devices == 8


def test_precisions_are_those_of_jax() -> None:
    state = jax._src.config.config.meta["jax_default_matmul_precision"]
    for option in state[2]["enum_values"]:
        with module.default_matmul_precision(option):
            assert config.default_matmul_precision == option


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"jax_enable_x65.*'enable_x64'"):
        config.update("jax_enable_x65", True)
    with pytest.raises(AttributeError, match="'debug_nans'"):
        config.read("debug_nan")
    with pytest.raises(AttributeError, match="jax_use_shardy_partitioner"):
        config.update("jax_use_shardy_partitioner", True)
    with pytest.raises(AttributeError):
        config.enable_x65  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("name", ["enable_x64", "jax_enable_x64", "no_such_switch"])
def test_assignment_points_at_update(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"config\.update\('{name}', True\)"):
        setattr(config, name, True)
    assert config.enable_x64 is False


def test_a_switch_is_not_its_value() -> None:
    with pytest.raises(TypeError, match=r"config\.enable_x64"):
        bool(module.enable_x64)
    assert module.enable_x64.value is False
    assert repr(module.enable_x64) == "<switch enable_x64 = False>"
    with module.enable_x64(True), Config.num_cpu_devices(5):
        assert "enable_x64=True" in repr(config) and "num_cpu_devices=5" in repr(config)


def test_transfer_guard_sets_all_directions() -> None:
    ways = ["host_to_device", "device_to_device", "device_to_host"]
    with module.transfer_guard_host_to_device("allow"):
        with module.transfer_guard("log"):
            assert {config.read(f"transfer_guard_{way}") for way in ways} == {"log"}
        assert config.transfer_guard_host_to_device == "allow"
        assert config.transfer_guard_device_to_host is None
    config.update("jax_transfer_guard", "disallow")
    assert {config.read(f"transfer_guard_{way}") for way in ways} == {"disallow"}


def test_user_context_is_part_of_the_trace_key() -> None:
    first, second = module.make_user_context("a"), module.make_user_context()
    assert first.value == "a" and second.value is None and config.trace_key() == ()
    with first("b"):
        key = config.trace_key()
        assert first.value == "b" and second.value is None and len(key) == 1
        with second("b"):
            assert len(config.trace_key()) == 2
        assert config.trace_key() == key
    first.set_global("c")
    assert first.value == first.get_global() == "c" and config.trace_key() != ()
    first.set_global("a")
    assert config.trace_key() == ()
    with pytest.raises(ValueError, match="hashable"):
        first([])


def test_environment_sets_what_a_switch_starts_with() -> None:
    code = "print(config.enable_x64, config.num_cpu_devices, config.default_matmul_precision,"
    code += "config.default_device, config.transfer_guard_device_to_host, config.trace_key())"
    done = in_process(
        code,
        FUNCGRAD_ENABLE_X64="yes",
        FUNCGRAD_NUM_CPU_DEVICES="4",
        FUNCGRAD_DEFAULT_MATMUL_PRECISION="none",
        FUNCGRAD_DEFAULT_DEVICE="cpu",
        FUNCGRAD_TRANSFER_GUARD="log",
        JAX_DEBUG_NANS="1",
    )
    expected = "True 4 None cpu log (('enable_x64', True), ('default_device', 'cpu'))"
    assert done.stdout.strip() == expected, done.stderr


@pytest.mark.parametrize(
    "variable, text, wants",
    [
        ("FUNCGRAD_ENABLE_X64", "maybe", "True or False"),
        ("FUNCGRAD_NUM_CPU_DEVICES", "many", "an integer of 1 or more"),
        ("FUNCGRAD_NUMPY_RANK_PROMOTION", "no", "'raise'"),
    ],
)
def test_a_bad_environment_is_named(variable: str, text: str, wants: str) -> None:
    done = in_process("", **{variable: text})
    message = done.stderr.strip().splitlines()[-1]
    assert done.returncode and variable in message and repr(text) in message and wants in message
