"""What every test runs under: four CPU devices for JAX and for us, one BLAS thread, one profile.

The environment is set here because it is read when JAX, NumPy and funcgrad are first imported.
"""

import os

import pytest
from hypothesis import settings

DEVICES = 4

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = " ".join(
    [os.environ.get("XLA_FLAGS", ""), f"--xla_force_host_platform_device_count={DEVICES}"]
).strip()
os.environ.setdefault("FUNCGRAD_NUM_CPU_DEVICES", str(DEVICES))
for pool in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[pool] = "1"

settings.register_profile("funcgrad", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("funcgrad")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record",
        action="store_true",
        help="write the files of tests/reference anew from JAX, instead of comparing with them",
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the files of tests/golden anew from what is generated, instead of comparing",
    )


def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.getoption("--record") and not hasattr(session.config, "workerinput"):
        import record

        record.main(["laws"])
