"""Batching of a user's primitive."""

from funcgrad.api.batching_rules import (
    axis_primitive_batchers,
    bdim_at_front,
    broadcast,
    defbroadcasting,
    defreducer,
    defvectorized,
    fancy_primitive_batchers,
    not_mapped,
    primitive_batchers,
)
from funcgrad.base.basis import moveaxis
from funcgrad.transforms.batching import Batching as BatchTrace
from funcgrad.transforms.batching import BatchTracer

__all__ = [
    "BatchTrace",
    "BatchTracer",
    "axis_primitive_batchers",
    "bdim_at_front",
    "broadcast",
    "defbroadcasting",
    "defreducer",
    "defvectorized",
    "fancy_primitive_batchers",
    "moveaxis",
    "not_mapped",
    "primitive_batchers",
]
