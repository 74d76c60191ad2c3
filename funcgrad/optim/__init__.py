"""Optimizers: each is a pair of pure functions over pytrees, state in and state out."""

from funcgrad.optim._adam import AdamState, adam, adamw
from funcgrad.optim._momentum import MomentumState, momentum
from funcgrad.optim._optimizer import Optimizer, Params, Rate, Schedule, apply_updates
from funcgrad.optim._sgd import SgdState, sgd

__all__ = [
    "Optimizer",
    "Params",
    "Rate",
    "Schedule",
    "apply_updates",
    "sgd",
    "momentum",
    "adam",
    "adamw",
    "SgdState",
    "MomentumState",
    "AdamState",
]
