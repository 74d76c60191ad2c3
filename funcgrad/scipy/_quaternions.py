"""Unit quaternions (x, y, z, w), [..., 4], and the other ways to write rotations.

Near the identity the formulas divide 0 by 0; power series stand in, so that gradients are right.
"""

from typing import Any

import numpy as np

import funcgrad.numpy as jnp

# Squares of angles below this are small: the series that stand in are exact to double precision.
SMALL = 1e-6


def normalized(q: Any) -> Any:
    return q / jnp.linalg.norm(q, axis=-1, keepdims=True)


def conjugate(q: Any) -> Any:
    return q * np.array([-1, -1, -1, 1], q.dtype)


def product(p: Any, q: Any) -> Any:
    """Hamilton's product: the rotation q, then p."""
    u, a = p[..., :3], p[..., 3:]
    v, b = q[..., :3], q[..., 3:]
    vector = a * v + b * u + jnp.cross(u, v)
    scalar = a * b - jnp.sum(u * v, axis=-1, keepdims=True)
    return jnp.concatenate([vector, scalar], axis=-1)


def canonical(q: Any) -> Any:
    """Of q and -q the one whose first nonzero number in the order w, x, y, z is positive."""
    x, y, z, w = (jnp.sign(q[..., i]) for i in range(4))
    first = jnp.where(w != 0, w, jnp.where(x != 0, x, jnp.where(y != 0, y, z)))
    return jnp.where(first[..., None] < 0, -q, q)


def to_matrix(q: Any) -> Any:
    """[..., 3, 3]."""
    x, y, z, w = (q[..., i] for i in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w],
    ]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(m: Any) -> Any:
    """Shepperd (1978): of four formulas the one that divides by the largest number."""
    trace = jnp.trace(m, axis1=-2, axis2=-1)
    sums = [m[..., i, j] + m[..., j, i] for i, j in ((1, 2), (2, 0), (0, 1))]
    differences = [m[..., k, j] - m[..., j, k] for j, k in ((1, 2), (2, 0), (0, 1))]
    found = []
    for i in range(3):
        parts = [sums[3 - i - j] if j != i else 1 - trace + 2 * m[..., i, i] for j in range(3)]
        found.append(jnp.stack([*parts, differences[i]], axis=-1))
    found.append(jnp.stack([*differences, 1 + trace], axis=-1))
    largest = jnp.argmax(jnp.stack([*(m[..., i, i] for i in range(3)), trace], axis=-1), axis=-1)
    candidates = jnp.stack(found, axis=-2)
    chosen = jnp.take_along_axis(candidates, largest[..., None, None], axis=-2)
    return normalized(chosen[..., 0, :])


def from_rotvec(v: Any) -> Any:
    """About v by |v| radians: (v sin(|v| / 2) / |v|, cos(|v| / 2))."""
    square = jnp.sum(v * v, axis=-1, keepdims=True)
    small = square < SMALL
    angle = jnp.sqrt(jnp.where(small, 1, square))
    scale = jnp.where(small, 0.5 - square / 48 + square**2 / 3840, jnp.sin(angle / 2) / angle)
    scalar = jnp.where(small, 1 - square / 8 + square**2 / 384, jnp.cos(angle / 2))
    return jnp.concatenate([scale * v, scalar], axis=-1)


def to_rotvec(q: Any) -> Any:
    """By at most pi radians."""
    q = jnp.where(q[..., 3:] < 0, -q, q)
    vector, scalar = q[..., :3], q[..., 3:]
    square = jnp.sum(vector * vector, axis=-1, keepdims=True)
    small = square < SMALL
    size = jnp.sqrt(jnp.where(small, 1, square))
    safe = jnp.where(small, scalar, 1)
    ratio = square / safe**2
    series = 2 / safe * (1 - ratio / 3 + ratio**2 / 5)
    return vector * jnp.where(small, series, 2 * jnp.arctan2(size, scalar) / size)


def magnitude(q: Any) -> Any:
    """The angle between 0 and pi; at 0 its gradient is taken to be 0."""
    square = jnp.sum(q[..., :3] ** 2, axis=-1)
    still = square == 0
    size = jnp.where(still, 0, jnp.sqrt(jnp.where(still, 1, square)))
    return 2 * jnp.arctan2(size, jnp.abs(q[..., 3]))


def from_mrp(mrp: Any) -> Any:
    """Modified Rodrigues parameters: the axis times tan(angle / 4)."""
    square = jnp.sum(mrp * mrp, axis=-1, keepdims=True)
    return jnp.concatenate([2 * mrp, 1 - square], axis=-1) / (1 + square)


def to_mrp(q: Any) -> Any:
    q = jnp.where(q[..., 3:] < 0, -q, q)
    return q[..., :3] / (1 + q[..., 3:])
