"""Where llvmlite cannot be imported, NumPy computes what jit compiles, with the same results."""

import subprocess
import sys
import textwrap

import pytest

SCRIPT = """
    import sys
    sys.modules["llvmlite"] = None

    import funcgrad as fg
    import funcgrad.numpy as fnp
    from funcgrad import lax
    from funcgrad.compiler.executable import Executable

    x = fnp.arange(6.0).reshape(2, 3)
    f = fg.jit(lambda x: fnp.tanh(x @ x.T).sum())
    print(float(f(x)), type(f.lower(x).compile().runtime_executable()) is Executable)
    print(fg.jit(fg.grad(lambda x: (x**3).sum()))(x).tolist())
    print([v.tolist() for v in fg.jit(lambda x: lax.scan(lambda c, r: (c + r, c), x[0], x))(x)])
    print(int(lax.while_loop(lambda c: c < 10, lambda c: c + 3, 1)))
"""


@pytest.fixture(scope="module")
def printed() -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_numpy_executes(printed):
    value, is_numpy = printed[0].split()
    assert float(value) == pytest.approx(3.9999, abs=2e-4)
    assert is_numpy == "True"


def test_gradients(printed):
    assert printed[1] == "[[0.0, 3.0, 12.0], [27.0, 48.0, 75.0]]"


def test_loops(printed):
    assert printed[2] == "[[3.0, 6.0, 9.0], [[0.0, 1.0, 2.0], [0.0, 2.0, 4.0]]]"
    assert printed[3] == "10"
