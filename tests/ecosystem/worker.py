"""Run one script on one engine: `python worker.py SCRIPT funcgrad|jax OUT.npz`.

Writes the script's numbers, and the seconds of a first and a second run.
"""

import importlib
import sys
import time
from pathlib import Path

import numpy as np

script, engine, out = sys.argv[1:]
sys.path.insert(0, str(Path(__file__).parent))
if engine == "funcgrad":
    import funcgrad.compat

    funcgrad.compat.install()
module = importlib.import_module(script)
times = []
for _ in range(2):
    start = time.perf_counter()
    results = module.main()
    times.append(time.perf_counter() - start)
np.savez(out, **results, seconds=np.array(times))
