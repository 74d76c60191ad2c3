"""Slerp: from each rotation to the next one about a fixed axis, at a constant speed."""

from typing import Any, NamedTuple

import numpy as np

import funcgrad.numpy as jnp
from funcgrad.base.array import ConcreteArray
from funcgrad.base.aval import aval_of
from funcgrad.scipy._rotation import Rotation, reals


class Slerp(NamedTuple):
    """Rotations at all times between given ones: a pytree, made by `Slerp.init`.

    Attributes:
        times: increasing, [n].
        timedelta: what lies between them, [n - 1].
        rotations: the rotations at all times but the last, [n - 1].
        rotvecs: the turns from each rotation to the next one, [n - 1, 3].

    Example:
        >>> from funcgrad.scipy.spatial.transform import Rotation, Slerp
        >>> ends = Rotation.from_euler("z", np.array([[0.0], [90.0]]), degrees=True)
        >>> between = Slerp.init(np.array([0.0, 1.0]), ends)
        >>> between(0.5).as_rotvec(degrees=True).round(2)
        Array([ 0.,  0., 45.], dtype=float32)

    Source: Shoemake, Animating rotation with quaternion curves (1985);
    `scipy.spatial.transform.Slerp`. Times outside give nan, where JAX gives some rotation.
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> "Slerp":
        """The interpolation between rotations, [n, 4], at increasing times, [n].

        Raises:
            TypeError: if rotations is no Rotation, or times are not real.
            ValueError: if there are fewer than two rotations, or not as many times, or the times
                do not increase (where they are known).
        """
        if not isinstance(rotations, Rotation):
            raise TypeError(
                f"Slerp.init: rotations must be a Rotation, got {type(rotations).__name__}"
            )
        quat = jnp.asarray(rotations.quat)
        if quat.ndim != 2 or quat.shape[0] < 2:
            raise ValueError(
                f"Slerp.init: two rotations or more are needed, [n, 4], got "
                f"{aval_of(quat).str_short()}"
            )
        times = reals("Slerp.init", times, (quat.shape[0],), "times")
        if times.ndim != 1:
            raise ValueError(
                f"Slerp.init: times must have one axis, got {aval_of(times).str_short()}"
            )
        if isinstance(times, ConcreteArray) and not np.all(np.diff(np.asarray(times)) > 0):
            raise ValueError(f"Slerp.init: times must increase, got {np.asarray(times)}")
        before, after = Rotation(quat[:-1]), Rotation(quat[1:])
        return cls(times, jnp.diff(times), before, (before.inv() * after).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """The rotations at times, a number or [m]; nan before the first and after the last one."""
        times = reals("Slerp", times, (), "times")
        if times.ndim > 1:
            raise ValueError(
                f"Slerp: times must be a number or [m], got {aval_of(times).str_short()}"
            )
        last = self.times.shape[0] - 2
        place = jnp.clip(jnp.searchsorted(self.times, times, side="right") - 1, 0, last)
        part = (times - self.times[place]) / self.timedelta[place]
        part = jnp.where((part >= 0) & (part <= 1), part, jnp.nan)
        turn = Rotation.from_rotvec(self.rotvecs[place] * part[..., None])
        return self.rotations[place] * turn
