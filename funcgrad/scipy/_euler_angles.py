"""Euler angles: a rotation as turns about coordinate axes, one after the other.

Axes in small letters stay where they are; those in capitals turn with what is rotated.
"""

import itertools
from typing import Any

import numpy as np

import funcgrad.numpy as jnp
from funcgrad.scipy._quaternions import product

# Middle angles this near their limits leave only the sum or difference of the other two.
GIMBAL_LOCK = 1e-7


def axes_of(name: str, seq: str, lengths: tuple[int, ...]) -> tuple[list[int], bool]:
    """The numbers of the axes, and whether they turn with what is rotated."""
    if not isinstance(seq, str) or len(seq) not in lengths:
        many = "3" if lengths == (3,) else "1 to 3"
        raise ValueError(f"{name}: seq must name {many} axes, as in 'xyz', got {seq!r}")
    intrinsic = seq.isupper()
    if set(seq) - set("XYZ" if intrinsic else "xyz"):
        raise ValueError(
            f"{name}: seq must be of x, y and z, or of X, Y and Z, and not of both, got {seq!r}"
        )
    axes = ["xyz".index(axis) for axis in seq.lower()]
    if any(a == b for a, b in itertools.pairwise(axes)):
        raise ValueError(f"{name}: no axis may follow itself in seq, got {seq!r}")
    return axes, intrinsic


def from_euler(axes: list[int], intrinsic: bool, angles: Any) -> Any:
    """The quaternion of turns by the angles in radians, [..., axes]."""
    total = None
    for i, axis in enumerate(axes):
        half = angles[..., i, None] / 2
        unit = np.eye(4, dtype=angles.dtype)
        turn = unit[axis] * jnp.sin(half) + unit[3] * jnp.cos(half)
        if total is None:
            total = turn
        else:
            total = product(total, turn) if intrinsic else product(turn, total)
    return total


def to_euler(axes: list[int], intrinsic: bool, q: Any) -> Any:
    """Three angles, [..., 3]; where the first and third are not determined, one of them is 0.

    Bernardes and Viollet, Quaternion to Euler angles conversion (2022).
    """
    i, j, k = axes[::-1] if intrinsic else axes
    symmetric = i == k
    if symmetric:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2
    a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
    if not symmetric:
        a, b, c, d = a - c, b + d, c + a, d - b
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    at_zero = jnp.abs(middle) <= GIMBAL_LOCK
    at_pi = jnp.abs(middle - np.pi) <= GIMBAL_LOCK
    # What the formula calls the last turn is the first one if axes turn.
    last = (half_sum + half_difference) * (1 if symmetric else sign)
    if intrinsic:
        first, third, handed = last, half_sum - half_difference, 1 if symmetric else sign
        alone = 2 * half_difference * handed
    else:
        first, third, handed = half_sum - half_difference, last, 1
        alone = -2 * half_difference
    first = jnp.where(at_zero, 2 * half_sum * handed, jnp.where(at_pi, alone, first))
    third = jnp.where(at_zero | at_pi, 0, third)
    if not symmetric:
        middle = middle - np.pi / 2
    angles = jnp.stack([first, middle, third], axis=-1).astype(q.dtype)
    return jnp.where(angles < -np.pi, angles + 2 * np.pi, angles) - jnp.where(
        angles > np.pi, 2 * np.pi, 0
    )
