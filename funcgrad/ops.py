"""Reductions over segments of an array's rows."""

from funcgrad.numpy._segments import segment_max, segment_min, segment_prod, segment_sum

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
