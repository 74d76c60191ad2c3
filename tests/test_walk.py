"""The walk of ARCHITECTURE.md: which interpreter sees which primitive, in order."""

import numpy as np

import funcgrad
import funcgrad.numpy as fnp
from funcgrad.base.trace import Evaluation
from funcgrad.transforms.batching import Batching
from funcgrad.transforms.forward import Forward
from funcgrad.transforms.partial import Partial
from funcgrad.transforms.staging import Staging


def logged(monkeypatch, run):
    """Run, and return "Trace primitive" for every bind that reached a trace."""
    log = []
    for trace in (Evaluation, Batching, Forward, Partial, Staging):
        original = trace.process

        def process(self, primitive, args, params, original=original, name=trace.__name__):
            log.append(f"{name} {primitive}")
            return original(self, primitive, args, params)

        monkeypatch.setattr(trace, "process", process)
    run()
    return log


def test_the_walk(monkeypatch):
    x = fnp.arange(3.0)
    step = funcgrad.grad(lambda x: funcgrad.jit(funcgrad.vmap(fnp.sin))(x).sum())
    log = logged(monkeypatch, lambda: step(x))
    expected = [
        "Batching sin",
        "Staging sin",
        "Forward jit",
        "Forward sin",
        "Staging sin",
        "Staging cos",
        "Staging mul",
        "Partial jit",
        "Evaluation jit",
        "Forward reduce_sum",
        "Partial reduce_sum",
        "Evaluation reduce_sum",
        "Evaluation broadcast_in_dim",
        "Evaluation jit",
    ]
    position = iter(log)
    missing = [line for line in expected if line not in position]
    assert not missing, f"not in this order: {missing}\nfull log:\n" + "\n".join(log)
    np.testing.assert_allclose(step(x), np.cos(np.arange(3.0)), rtol=1e-6)
