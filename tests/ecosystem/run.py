"""Libraries written for JAX, unmodified, on funcgrad: do they run, and give JAX's numbers?

    python tests/ecosystem/run.py [SCRIPT ...] [--record]

Makes an environment with funcgrad and the libraries, in which there is no jaxlib, runs each script
there twice, and compares its numbers with those that JAX gave, in `reference/`. With --record it
makes an environment with JAX instead, and writes them anew.
"""

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
REFERENCE = HERE / "reference"
JAX = "0.10.2"
# Relative to the largest number of a result; scripts of double precision agree far closer.
TOLERANCE = 2e-4
SECONDS = 300


def scripts() -> list[str]:
    tools = {"run", "worker", "data"}
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in tools)


def environment(folder: Path, engine: str) -> Path:
    """A new virtual environment with an engine and the libraries; its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(HERE / "support.txt")], check=True)
    subprocess.run([*pip, "--no-deps", "-r", str(HERE / "requirements.txt")], check=True)
    package = f"jax=={JAX}" if engine == "jax" else str(HERE.parents[1])
    subprocess.run([*pip, package], check=True)
    if engine == "funcgrad":
        for name in ("jax", "jaxlib"):
            code = f"import importlib.util as u; assert not u.find_spec({name!r})"
            subprocess.run([str(python), "-c", code], check=True, cwd=folder)
    return python


def run(python: Path, script: str, engine: str, out: Path) -> str | None:
    """Run a script; the last line of its errors if it fails."""
    command = [str(python), str(HERE / "worker.py"), script, engine, str(out)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"took more than {SECONDS} s"
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def differences(got: np.lib.npyio.NpzFile, want: np.lib.npyio.NpzFile) -> list[str]:
    """What differs between the results of two engines, a line each."""
    found = [f"{name}: on one side only" for name in sorted({*got} ^ {*want})]
    for name in sorted({*got} & {*want} - {"seconds"}):
        a, b = np.asarray(got[name], float), np.asarray(want[name], float)
        if a.shape != b.shape:
            found.append(f"{name}: shape {a.shape}, not {b.shape}")
        elif not np.allclose(a, b, TOLERANCE, TOLERANCE * np.abs(b).max(initial=1e-6)):
            found.append(f"{name}: off by {np.abs(a - b).max():.2g} of {np.abs(b).max():.3g}")
    return found


def compared(python: Path, names: list[str], folder: Path) -> int:
    """Print a row for each script; how many fail."""
    print(f"{'script':22}{'numbers':>10}{'seconds (JAX)':>26}{'again (JAX)':>22}")
    failed = 0
    for name in names:
        out = folder / f"{name}.npz"
        error = run(python, name, "funcgrad", out)
        want = np.load(REFERENCE / f"{name}.npz")
        problems = [error] if error else differences(np.load(out), want)
        failed += bool(problems)
        times = [np.nan] * 2 if error else np.load(out)["seconds"]
        row = "".join(f"{t:14.2f} ({w:.2f})" for t, w in zip(times, want["seconds"], strict=True))
        print(f"{name:22}{'differ' if problems else 'agree':>10}  {row}", flush=True)
        for problem in problems:
            print(f"    {problem}")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scripts", nargs="*", default=scripts())
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        engine = "jax" if options.record else "funcgrad"
        python = environment(Path(folder) / "environment", engine)
        if not options.record:
            return compared(python, options.scripts, Path(folder))
        REFERENCE.mkdir(exist_ok=True)
        errors = [run(python, name, "jax", REFERENCE / f"{name}.npz") for name in options.scripts]
        for name, error in zip(options.scripts, errors, strict=True):
            print(f"{name:22}{error or 'recorded'}")
        return sum(error is not None for error in errors)


if __name__ == "__main__":
    sys.exit(main())
