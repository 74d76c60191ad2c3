"""Rotation: one or many rotations in space, kept as unit quaternions."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import funcgrad.numpy as jnp
from funcgrad import random
from funcgrad.base.aval import aval_of
from funcgrad.numpy._promotion import inexact1, is_floating
from funcgrad.scipy import _euler_angles, _quaternions


def reals(name: str, x: Any, shape: tuple[int, ...], meaning: str) -> Any:
    """x as real floats whose last axes have the given shape."""
    x = inexact1(name, jnp.asarray(x))
    given = f"got {aval_of(x).str_short()}"
    if not is_floating(x):
        raise TypeError(f"{name}: {meaning} must be real, {given}")
    if shape and x.shape[-len(shape) :] != shape:
        wanted = ", ".join(["...", *map(str, shape)])
        raise ValueError(f"{name}: {meaning} must have the shape [{wanted}], {given}")
    return x


class Rotation(NamedTuple):
    """One rotation, or an array of them: a pytree of one array.

    Make it by a class method; the constructor takes `quat` as it is, without normalising it. All
    methods can be compiled, mapped and differentiated.

    Attributes:
        quat: unit quaternions (x, y, z, w), floats [4] or [..., 4].

    Example:
        >>> from funcgrad.scipy.spatial.transform import Rotation
        >>> quarter = Rotation.from_euler("z", 90, degrees=True)
        >>> quarter.apply(np.array([1.0, 0.0, 0.0])).round(3)
        Array([0., 1., 0.], dtype=float32)

    Source: `scipy.spatial.transform.Rotation`. Beyond JAX: `identity` of several, `random`,
    `concatenate` of single rotations, and gradients at the identity, which are nan there.
    """

    quat: Any

    @classmethod
    def from_quat(cls, quat: Any) -> "Rotation":
        """Of quaternions (x, y, z, w), [..., 4], which are normalised; zeros give nan."""
        quat = reals("Rotation.from_quat", quat, (4,), "quat")
        return cls(_quaternions.normalized(quat))

    @classmethod
    def from_matrix(cls, matrix: Any) -> "Rotation":
        """Of orthogonal matrices with determinant 1, [..., 3, 3]; others give some rotation."""
        matrix = reals("Rotation.from_matrix", matrix, (3, 3), "matrix")
        return cls(_quaternions.from_matrix(matrix))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> "Rotation":
        """Of vectors along the axis, [..., 3], whose length is the angle."""
        rotvec = reals("Rotation.from_rotvec", rotvec, (3,), "rotvec")
        return cls(_quaternions.from_rotvec(jnp.deg2rad(rotvec) if degrees else rotvec))

    @classmethod
    def from_mrp(cls, mrp: Any) -> "Rotation":
        """Of modified Rodrigues parameters, [..., 3]: the axis times tan(angle / 4)."""
        return cls(_quaternions.from_mrp(reals("Rotation.from_mrp", mrp, (3,), "mrp")))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> "Rotation":
        """Of turns about coordinate axes, one after the other.

        Args:
            seq: one to three axes: of "x", "y", "z", which stay where they are, or of "X", "Y",
                "Z", which turn too.
            angles: [..., axes]; a number for one axis.
            degrees: whether they are in degrees, not radians.

        Raises:
            ValueError: if seq is something else, or there are not as many angles.
        """
        name = "Rotation.from_euler"
        axes, intrinsic = _euler_angles.axes_of(name, seq, (1, 2, 3))
        angles = reals(name, jnp.atleast_1d(angles), (len(axes),), f"angles for {seq!r}")
        angles = jnp.deg2rad(angles) if degrees else angles
        return cls(_euler_angles.from_euler(axes, intrinsic, angles))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> "Rotation":
        """The rotation that moves nothing; [num] of it where num is given."""
        quat = jnp.zeros((4,) if num is None else (num, 4), dtype).at[..., 3].set(1)
        return cls(reals("Rotation.identity", quat, (4,), "dtype"))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> "Rotation":
        """A random rotation, or [num] of them, all rotations being as likely (Shoemake, 1992)."""
        shape = (4,) if num is None else (num, 4)
        return cls.from_quat(random.normal(random_key, shape))

    @classmethod
    def concatenate(cls, rotations: Sequence["Rotation"]) -> "Rotation":
        """All of them in one, [n, 4]; a single rotation counts as [1, 4]."""
        _check_rotations("Rotation.concatenate", rotations)
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    @property
    def single(self) -> bool:
        """True for one rotation, False for an array of them."""
        return np.ndim(self.quat) == 1

    def __len__(self) -> int:
        if self.single:
            raise TypeError(
                "len: this is a single Rotation; from_quat(quat[None]) makes it an array"
            )
        return self.quat.shape[0]

    def __getitem__(self, indexer: Any) -> "Rotation":  # type: ignore[override]
        if self.single:
            raise TypeError(
                "a single Rotation has no items; from_quat(quat[None]) makes it an array of one"
            )
        return Rotation(jnp.asarray(self.quat)[indexer])

    def __mul__(self, other: "Rotation") -> "Rotation":  # type: ignore[override]
        """First other, then this one; arrays of rotations are broadcast together."""
        if not isinstance(other, Rotation):
            raise TypeError(f"a Rotation is multiplied by another one, got {type(other).__name__}")
        left, right = jnp.asarray(self.quat), jnp.asarray(other.quat)
        _check_together("Rotation", left, right)
        return Rotation(_quaternions.normalized(_quaternions.product(left, right)))

    def __rmul__(self, other: Any) -> "Rotation":  # type: ignore[override]
        raise TypeError(f"a Rotation is multiplied by another one, got {type(other).__name__}")

    def inv(self) -> "Rotation":
        """The rotation back."""
        return Rotation(_quaternions.conjugate(jnp.asarray(self.quat)))

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """The vectors, [..., 3], turned (or turned back), all broadcast together."""
        vectors = reals("Rotation.apply", vectors, (3,), "vectors")
        quat = jnp.asarray(self.quat)
        _check_together("Rotation.apply", quat, vectors)
        matrix = _quaternions.to_matrix(_quaternions.conjugate(quat) if inverse else quat)
        return jnp.einsum("...ij,...j->...i", matrix, vectors, precision="highest")

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """(x, y, z, w), [..., 4].

        Args:
            canonical: of q and -q the one with positive w, or if w is 0 with positive x, and so on.
            scalar_first: (w, x, y, z) instead.
        """
        quat = jnp.asarray(self.quat)
        quat = _quaternions.canonical(quat) if canonical else quat
        return jnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Any:
        """Orthogonal matrices, [..., 3, 3]."""
        return _quaternions.to_matrix(jnp.asarray(self.quat))

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Vectors along the axis, [..., 3], whose length is the angle, at most half a turn."""
        rotvec = _quaternions.to_rotvec(jnp.asarray(self.quat))
        return jnp.rad2deg(rotvec) if degrees else rotvec

    def as_mrp(self) -> Any:
        """Modified Rodrigues parameters, [..., 3], of length at most 1."""
        return _quaternions.to_mrp(jnp.asarray(self.quat))

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """The angles of turns about three axes, [..., 3]; `from_euler` says what seq may be.

        The first and third are between -pi and pi. The middle one is between 0 and pi if the first
        axis is the third one too, else between -pi/2 and pi/2; at these limits, the other two are
        not determined, and the third is 0.
        """
        axes, intrinsic = _euler_angles.axes_of("Rotation.as_euler", seq, (3,))
        angles = _euler_angles.to_euler(axes, intrinsic, jnp.asarray(self.quat))
        return jnp.rad2deg(angles) if degrees else angles

    def magnitude(self) -> Any:
        """The angle in radians, between 0 and pi, [...]."""
        return _quaternions.magnitude(jnp.asarray(self.quat))

    def mean(self, weights: Any = None) -> "Rotation":
        """The rotation nearest to all: the sum of weights times 4 sin(angle / 2)^2 is least.

        Args:
            weights: [n] for n rotations; 1 by default.

        Source: Markley et al., Averaging quaternions (2007).
        """
        quat = jnp.asarray(self.quat)
        if quat.ndim != 2:
            raise TypeError(
                f"Rotation.mean is of [n, 4] rotations, got {aval_of(quat).str_short()}"
            )
        if weights is None:
            weights = jnp.ones(quat.shape[0], quat.dtype)
        weights = reals("Rotation.mean", weights, (quat.shape[0],), "weights")
        if weights.ndim != 1:
            raise ValueError(
                f"Rotation.mean: weights must have one axis, got {aval_of(weights).str_short()}"
            )
        moments = jnp.einsum("n,ni,nj->ij", weights, quat, quat, precision="highest")
        _, vectors = jnp.linalg.eigh(moments)
        return Rotation.from_quat(vectors[:, -1])


def _check_together(name: str, a: Any, b: Any) -> None:
    try:
        np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except ValueError:
        raise ValueError(
            f"{name}: leading axes must fit each other, got {aval_of(a).str_short()} and "
            f"{aval_of(b).str_short()}"
        ) from None


def _check_rotations(name: str, rotations: Any) -> None:
    kinds = [type(r).__name__ for r in rotations if not isinstance(r, Rotation)]
    if isinstance(rotations, Rotation) or kinds:
        raise TypeError(f"{name}: a list of Rotations is needed, got {kinds or 'one Rotation'}")
    if not rotations:
        raise ValueError(f"{name}: one Rotation at least is needed, got none")
