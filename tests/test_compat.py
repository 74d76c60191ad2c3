"""The door for libraries that say `import jax`, each time in a process of its own."""

import subprocess
import sys
import textwrap

import pytest


def output(code: str) -> str:
    """What a new process prints, which must end well."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


INSTALL = "import funcgrad, funcgrad.compat; funcgrad.compat.install()\n"


def test_imports_give_our_modules() -> None:
    code = """
    import jax, jax.numpy as jnp
    from jax import lax, random
    from jax.scipy import special
    import jax.nn.initializers
    from jax.extend.core import Jaxpr
    assert jnp is funcgrad.numpy and lax is funcgrad.lax and jax.numpy is jnp
    assert special is funcgrad.scipy.special and Jaxpr is funcgrad.extend.core.Jaxpr
    assert jnp.__spec__.name == jnp.__name__ == "funcgrad.numpy"
    assert jax.grad is funcgrad.grad and jax.__version__ == "0.10.2"
    assert jax.__version_info__ == (0, 10, 2) and "grad" in dir(jax)
    print(float(jax.jit(jax.grad(jnp.sin))(0.0)))
    """
    assert output(INSTALL + textwrap.dedent(code)) == "1.0"


def test_versions() -> None:
    code = """
    import importlib.metadata, importlib.util, jaxlib
    versions = map(importlib.metadata.version, ("jax", "jaxlib"))
    print(*versions, jaxlib.__version__)
    assert importlib.metadata.version("numpy") != "0.10.2"
    """
    assert output(INSTALL + textwrap.dedent(code)) == "0.10.2 0.10.2 0.10.2"


def test_private_names_resolve() -> None:
    code = """
    import importlib
    from funcgrad.compat._names import EXTRA, PRIVATE
    import jax
    for name, table in PRIVATE.items():
        module = importlib.import_module(name)
        for attribute in table:
            getattr(module, attribute)
    for name, table in EXTRA.items():
        module = importlib.import_module(name)
        for attribute in table:
            getattr(module, attribute)
            assert attribute in dir(module)
    from jax.extend.core.primitives import closed_call_p, sin_p
    assert sin_p is funcgrad.lax.sin_p
    from jax.experimental import hijax
    from jax._src import traceback_util
    import jax._src.dispatch
    """
    output(INSTALL + textwrap.dedent(code))


def test_what_is_missing_is_named() -> None:
    code = """
    import jax
    for act in (
        lambda: jax.no_such_name,
        lambda: __import__("jax.no_such_module"),
        lambda: __import__("jax._src.no_such_module"),
        lambda: jax.shard_map(lambda x: x),
    ):
        try:
            act()
        except Exception as error:
            print(type(error).__name__, str(error)[:46])
    """
    assert output(INSTALL + textwrap.dedent(code)).splitlines() == [
        "AttributeError module 'jax' has no attribute 'no_such_name' h",
        "ModuleNotFoundError No module named 'jax.no_such_module'",
        "ModuleNotFoundError No module named 'jax._src.no_such_module'",
        "NotImplementedError shard_map is not offered yet. vmap computes th",
    ]


def test_the_door_can_be_taken_away() -> None:
    code = """
    import sys
    import jax.numpy, jax._src.core
    from jax.experimental import hijax
    funcgrad.compat.install()
    funcgrad.compat.uninstall()
    assert not [name for name in sys.modules if name.split(".")[0] in ("jax", "jaxlib")]
    assert not hasattr(funcgrad.experimental, "hijax")
    import jax
    print(jax.__file__.rpartition("jax")[0] != "", jax.numpy is funcgrad.numpy)
    """
    assert output(INSTALL + textwrap.dedent(code)) == "True False"


def test_jax_that_is_imported_already_is_refused() -> None:
    code = """
    import jax, funcgrad.compat
    try:
        funcgrad.compat.install()
    except RuntimeError as error:
        print(error)
    """
    assert "jax has been imported in this process already" in output(code)


def test_nothing_changes_without_asking() -> None:
    assert output("import funcgrad.compat, jax; print(jax.numpy.__name__)") == "jax.numpy"


@pytest.mark.parametrize("name", ["jax", "jax.numpy", "jaxlib"])
def test_find_spec(name: str) -> None:
    code = f"import importlib.util; print(importlib.util.find_spec({name!r}).name)"
    assert output(INSTALL + code) == name
