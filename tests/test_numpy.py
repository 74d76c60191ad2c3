"""numpy: elementwise functions, creation and shape, as JAX has them."""

import math
import os
import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import funcgrad
import funcgrad.numpy
import funcgrad.numpy as jnp
from funcgrad.base.config import enable_x64, numpy_rank_promotion
from funcgrad.base.errors import ConcretizationTypeError
from numpy_oracle import STORE, ask, check, compare, expressions, listed

EXPRESSIONS = listed("""
jnp.add(f, i)
f + 1
f + 1.5
i + 1.5
i + 1
s + 300
u + (-1)
b + 1
b + 1.0
i + 1j
f + np.float64(2)
f + np.ones(4)
i + np.int64(3)
s + i
u + s
h + f
h + bf
bf + 1.0
bf * f
c * f
h + i
jnp.add(1, 2)
jnp.add(1, 2.0)
jnp.add(True, True)
b + b
b * b
b & True
f + v
t + v
t * f
f * f[0]
f[:, :1] * v
-f
-i
-u
+f
abs(c)
abs(i)
abs(u)
abs(s)
~i
~b
~u
f - i
f / 0
i / 2
i / i[0, 1]
i // 2
i // j
i // -2
u // 7
f // 0.3
f // g
f % g
i % j
i % -3
-7 % j
u % 7
divmod(i, j)
divmod(f, g)
divmod(f, -g)
i // 0
i % 0
f % 0
f // 0
jnp.fmod(i, j)
jnp.fmod(f, g)
jnp.remainder(-7, 3)
f ** 2
f ** 0
f ** -1
i ** 2
i ** 0
i ** 2.0
g ** f
g ** i
j ** k
2 ** j
2.0 ** i
f ** jnp.int32(2)
f ** np.float32(2)
h ** j
jnp.power(True, 2)
jnp.power(2, 3)
jnp.power(2.0, 3)
jnp.power(i, f)
jnp.power(b, j)
jnp.power(u, 2)
jnp.power(c, 2)
jnp.power(c, i)
jnp.power(c, f)
jnp.float_power(2, 3)
jnp.float_power(i, 2)
jnp.square(b)
jnp.square(i)
jnp.square(c)
jnp.sqrt(g)
jnp.sqrt(i)
jnp.sqrt(s)
jnp.sqrt(c)
jnp.sqrt(h)
jnp.sqrt(bf)
jnp.cbrt(f)
jnp.cbrt(i)
jnp.reciprocal(f)
jnp.reciprocal(2)
jnp.reciprocal(c)
jnp.exp(f)
jnp.exp(i)
jnp.exp(True)
jnp.exp(3)
jnp.exp(c)
jnp.exp2(f)
jnp.exp2(3)
jnp.expm1(f)
jnp.expm1(c)
jnp.log(g)
jnp.log(z)
jnp.log(c)
jnp.log2(g)
jnp.log2(c)
jnp.log10(g)
jnp.log10(c)
jnp.log1p(g)
jnp.sin(f)
jnp.sin(3)
jnp.sin(True)
jnp.cos(c)
jnp.tan(f)
jnp.arcsin(g)
jnp.arccos(g)
jnp.arctan(f)
jnp.asin(g)
jnp.arctan2(f, g)
jnp.atan2(i, j)
jnp.arctan2(1, 2)
jnp.sinh(f)
jnp.cosh(f)
jnp.tanh(f)
jnp.tanh(c)
jnp.arcsinh(f)
jnp.arccosh(1 + g)
jnp.arccosh(c)
jnp.arctanh(g)
jnp.hypot(f, g)
jnp.hypot(z, 1.0)
jnp.hypot(3, 4)
jnp.sinc(f)
jnp.sinc(0.0)
jnp.sinc(i)
jnp.deg2rad(f)
jnp.rad2deg(i)
jnp.degrees(1.0)
jnp.radians(180)
jnp.floor(f)
jnp.floor(3)
jnp.floor(i)
jnp.floor(b)
jnp.ceil(f)
jnp.trunc(f)
jnp.trunc(i)
jnp.rint(f * 2)
jnp.rint(3)
jnp.rint(i)
jnp.rint(c)
jnp.round(f, 1)
jnp.round(f)
jnp.round(f * 100, -1)
jnp.round(h, 2)
jnp.round(c, 1)
jnp.round(i)
jnp.round(2.5)
round(f, 1)
jnp.round(f, 50)
jnp.around(f)
jnp.modf(f)
jnp.modf(i)
jnp.sign(f)
jnp.sign(i)
jnp.sign(c)
jnp.sign(z)
jnp.maximum(f, 0)
jnp.maximum(f, i)
jnp.maximum(z, 1.0)
jnp.maximum(True, False)
jnp.minimum(f, g)
jnp.minimum(i, 2)
jnp.fmax(n, 0.5)
jnp.fmin(n, 0.5)
jnp.fmax(i, 2)
jnp.copysign(f, -g)
jnp.copysign(1, z)
jnp.copysign(i, -2)
jnp.signbit(z)
jnp.signbit(i)
jnp.signbit(b)
jnp.signbit(h)
jnp.nextafter(f, g)
jnp.nextafter(z, 0.0)
jnp.spacing(f)
jnp.spacing(h)
jnp.frexp(f)
jnp.frexp(z)
jnp.frexp(h)
jnp.frexp(i)
jnp.ldexp(f, i)
jnp.ldexp(2.0, 3)
jnp.ldexp(z, 3)
jnp.ldexp(i, j)
jnp.heaviside(f, 0.5)
jnp.heaviside(z, 2.0)
jnp.heaviside(i, 0.5)
jnp.logaddexp(f, g)
jnp.logaddexp(z, 0.0)
jnp.logaddexp(i, 1)
jnp.logaddexp(c, c)
jnp.logaddexp2(f, g)
jnp.logaddexp.reduce(f)
jnp.logaddexp.reduce(f, axis=None)
jnp.logaddexp2.reduce(f, axis=1, keepdims=True)
jnp.real(c)
jnp.real(f)
jnp.imag(c)
jnp.imag(i)
jnp.conj(c)
jnp.conj(f)
jnp.angle(c)
jnp.angle(f)
jnp.angle(c, deg=True)
jnp.angle(3)
jnp.angle(-3.0)
jnp.angle(i)
jnp.equal(f, f)
f == i
f != 0
f < g
f <= 0
i > 2.5
i >= i
c < c[0]
c >= 1
u > -1
jnp.less(1, 2)
jnp.logical_and(f, i)
jnp.logical_or(b, i)
jnp.logical_xor(b, 1)
jnp.logical_not(f)
jnp.isfinite(z)
jnp.isfinite(i)
jnp.isfinite(c)
jnp.isinf(z)
jnp.isinf(c)
jnp.isinf(i)
jnp.isnan(z)
jnp.isnan(i)
jnp.isposinf(z)
jnp.isneginf(z)
jnp.isneginf(i)
jnp.iscomplex(c)
jnp.iscomplex(f)
jnp.isreal(c)
jnp.iscomplexobj(c)
jnp.isrealobj(f)
jnp.isclose(f, f + 1e-9)
jnp.isclose(z, z)
jnp.isclose(z, z, equal_nan=True)
jnp.isclose(i, i + 1e-9)
jnp.isclose(i, i)
jnp.isclose(c, c)
jnp.allclose(f, f)
jnp.array_equal(f, f)
jnp.array_equal(f, v)
jnp.array_equal(n, n, equal_nan=True)
jnp.array_equiv(f, f[0])
jnp.array_equiv(f, v[:3])
i << 2
i >> 1
u >> 2
u << 1
jnp.left_shift(i, j)
jnp.right_shift(i, j)
jnp.bitwise_count(i)
jnp.bitwise_count(u)
jnp.bitwise_and(i, 3)
i | j
i ^ 5
u & s
jnp.invert(s)
jnp.gcd(i, j)
jnp.lcm(i, j)
jnp.gcd(12, 18)
jnp.packbits(b)
jnp.packbits(b, axis=0)
jnp.packbits(b, axis=1, bitorder="little")
jnp.unpackbits(u)
jnp.unpackbits(u, axis=0)
jnp.unpackbits(u, axis=1, count=10)
jnp.unpackbits(u, axis=1, count=-3)
jnp.where(b, f, i)
jnp.where(b, 1, 2)
jnp.where(b, 1, 2.0)
jnp.where(b, f, 2)
jnp.where(True, 1, 2)
jnp.where(i, f, v)
jnp.where(b[0], f, 0)
jnp.where(f > 0)
jnp.where(f > 0, size=3)
jnp.where(f > 0, size=20, fill_value=-1)
jnp.clip(f, 0, 1)
jnp.clip(i, 0.5, 1)
jnp.clip(f, None, 0)
f.clip(min=0)
jnp.clip(f, v, v + 1)
jnp.clip(u, 3, 7)
jnp.nan_to_num(z)
jnp.nan_to_num(n, nan=7)
jnp.nan_to_num(z, posinf=1, neginf=2)
jnp.nan_to_num(i)
jnp.nan_to_num(h)
jnp.select([f > 0, f > -0.5], [f, i], 7)
jnp.select([b, ~b], [1, 2])
jnp.piecewise(f, [f < 0, f >= 0], [-1, 1])
jnp.piecewise(f, [f < 0, f >= 0], [lambda x: -x, lambda x: x * 2])
jnp.piecewise(f, [f < -0.5, f > 0.5], [0, 1, 2])
f == None
f == "a"
f.astype(int)
f.astype(jnp.float16)
f.astype(None)
f.astype(bool)
i.astype(jnp.uint8)
c.astype(float)
c.astype(bool)
c.real
c.imag
f.T
t.T
t.mT
f.size
f.nbytes
f.ndim
f.itemsize
jnp.array(1)
jnp.array([1])
jnp.array(1.0)
jnp.array([1.0, 2])
jnp.array([True, 2])
jnp.array([])
jnp.array([[], []])
jnp.array([1, 2.5, 3j])
jnp.array(np.float64(3))
jnp.array(np.arange(3))
jnp.array([f, f])
jnp.array([f[0, 0], 2])
jnp.array((1, 2))
jnp.array(range(3))
jnp.array([np.float16(1), 2.0])
jnp.array([np.int8(1), np.int8(2)])
jnp.array([[1, 2], [3, 4]], dtype=jnp.float16)
jnp.array([1.7, -1.7], dtype=int)
jnp.array(3, dtype=float)
jnp.array(3.7, dtype=int)
jnp.array(True)
jnp.array([f[0], np.ones(4)])
jnp.array(f, ndmin=4)
jnp.array(f, dtype=jnp.complex64)
jnp.array(2**40, dtype=float)
jnp.array([2**40], dtype=jnp.float32)
jnp.array(b"abc")
jnp.asarray(1.0)
jnp.asarray([1, 2.0])
jnp.asarray(f)
jnp.copy(f)
f.copy()
jnp.zeros(3)
jnp.zeros((2, 3), int)
jnp.zeros(())
jnp.zeros((2, 0))
jnp.ones(2, dtype=bool)
jnp.ones((2, 2), jnp.bfloat16)
jnp.empty(3)
jnp.full(2, 3)
jnp.full((2, 2), 3.0)
jnp.full((), 3)
jnp.full(2, jnp.arange(2))
jnp.full((2, 4), v)
jnp.full(2, 3, jnp.float16)
jnp.full(2, f[0, 0])
jnp.zeros_like(3)
jnp.ones_like(3.0)
jnp.zeros_like(f)
jnp.zeros_like(f, int)
jnp.ones_like(i, shape=(2,))
jnp.full_like(3, 2.5)
jnp.full_like(f, 2)
jnp.full_like(i, 2.7)
jnp.full_like(f, v)
jnp.empty_like(c)
jnp.zeros_like(np.ones(3))
jnp.arange(5)
jnp.arange(3.0)
jnp.arange(2, 8)
jnp.arange(0, 1, 0.25)
jnp.arange(5, 0, -2)
jnp.arange(3, dtype=float)
jnp.arange(1, 3, 0.5, dtype=jnp.float16)
jnp.arange(jnp.int32(3))
jnp.arange(-3)
jnp.arange(0)
jnp.arange(2.5)
jnp.arange(1, 10, 3)
jnp.linspace(0, 1, 5)
jnp.linspace(0, 1, 5, endpoint=False)
jnp.linspace(0, 10, 4, dtype=int)
jnp.linspace(v, 2 * v, 3)
jnp.linspace(v, 2 * v, 3, axis=1)
jnp.linspace(0, 1, 1)
jnp.linspace(0, 1, 0)
jnp.linspace(0, 1, 3, retstep=True)
jnp.linspace(0, 1, 1, retstep=True)
jnp.linspace(0, 1, 3, endpoint=False, retstep=True)
jnp.linspace(0, 1j, 3)
jnp.logspace(0, 2, 3)
jnp.logspace(0, 2, 3, base=2)
jnp.geomspace(1, 100, 3)
jnp.geomspace(-1, -100, 3)
jnp.geomspace(jnp.array([1.0, 2.0]), 100, 3)
jnp.geomspace(jnp.array([1.0, 2.0]), 100, 3, axis=1)
jnp.eye(3)
jnp.eye(2, 3, 1, dtype=int)
jnp.eye(3, k=-1)
jnp.identity(2)
jnp.tri(3)
jnp.tri(3, 4, -1, dtype=int)
jnp.meshgrid(v, k)
jnp.meshgrid(v, k, indexing="ij")
jnp.meshgrid(v, k, v, sparse=True)
jnp.meshgrid(v)
jnp.indices((2, 3))
jnp.indices((2, 3), sparse=True)
jnp.fromfunction(lambda a, b: a + 2 * b, (2, 3))
jnp.fromfunction(lambda a, b: a * b, (2, 3), dtype=int)
jnp.frombuffer(np.arange(3, dtype=np.int32).tobytes(), dtype=np.int32)
jnp.reshape(f, (4, 3))
jnp.reshape(f, -1)
jnp.reshape(f, (2, -1))
jnp.reshape(f, (4, 3), order="F")
f.reshape(2, 6)
f.reshape((2, 6), order="F")
t.reshape(-1, 4)
jnp.ravel(f)
jnp.ravel(t, order="F")
f.ravel()
f.flatten()
jnp.resize(f, (5, 5))
jnp.resize(f, 3)
jnp.squeeze(f[:, None])
jnp.squeeze(f[None, :, None], 0)
jnp.squeeze(f[None], axis=(0,))
jnp.expand_dims(f, 0)
jnp.expand_dims(f, (0, -1))
jnp.atleast_1d(3)
jnp.atleast_2d(v)
jnp.atleast_3d(v)
jnp.atleast_3d(f)
jnp.atleast_1d(3, v)
jnp.transpose(t)
jnp.transpose(t, (1, 0, 2))
jnp.permute_dims(t, (2, 0, 1))
t.transpose(1, 2, 0)
t.transpose((1, 2, 0))
t.transpose()
jnp.matrix_transpose(t)
jnp.swapaxes(t, 0, -1)
jnp.moveaxis(t, 0, -1)
jnp.moveaxis(t, (0, 1), (-1, 0))
jnp.rollaxis(t, 2)
jnp.rollaxis(t, 0, 3)
jnp.rollaxis(t, 1, 0)
jnp.flip(f)
jnp.flip(f, 0)
jnp.flip(t, (0, 2))
jnp.fliplr(f)
jnp.flipud(f)
jnp.rot90(f)
jnp.rot90(f, 2)
jnp.rot90(f, 3)
jnp.rot90(t, 1, (1, 2))
jnp.rot90(f, -1)
jnp.broadcast_to(v, (3, 4))
jnp.broadcast_to(1.0, (2,))
jnp.broadcast_shapes((2, 1), (3,), ())
jnp.broadcast_arrays(f, v, 1)
jnp.shape(f)
jnp.ndim(3)
jnp.size(f)
jnp.size(f, 1)
jnp.size(t, (0, 2))
f.view(jnp.int32)
f.view(jnp.int16)
h.view(jnp.float32)
c.view(jnp.float32)
f.view(jnp.complex64)
b.view(jnp.uint8)
jnp.concatenate([f, i])
jnp.concatenate([f, f], axis=1)
jnp.concatenate([f, f], axis=None)
jnp.concatenate(t)
jnp.concatenate(t, axis=1)
jnp.concatenate([i, i], dtype=float)
jnp.concatenate([v, 1.0 * v, jnp.array([2.0])])
jnp.concat([f, f], axis=-1)
jnp.stack([f, i])
jnp.stack([v, v], axis=1)
jnp.stack([1, 2.0])
jnp.stack(t, axis=2)
jnp.stack([1, 2])
jnp.vstack([v, f])
jnp.vstack([1, 2])
jnp.hstack([v, v])
jnp.hstack([f, f])
jnp.hstack(t)
jnp.dstack([f, f])
jnp.dstack([v, v])
jnp.column_stack([v, v])
jnp.column_stack([f, f])
jnp.append(f, f)
jnp.append(f, f, axis=0)
jnp.block([[f, f], [i, i]])
jnp.block([v, v])
jnp.block(3)
jnp.split(f, 3)
jnp.split(v, [1, 3])
jnp.split(f, 2, axis=1)
jnp.array_split(v, 3)
jnp.vsplit(f, 3)
jnp.hsplit(f, 2)
jnp.hsplit(v, 2)
jnp.dsplit(t, 2)
jnp.unstack(f)
jnp.unstack(f, axis=1)
jnp.tile(v, 2)
jnp.tile(f, (2, 2))
jnp.tile(v, (2, 1))
jnp.tile(3, 3)
jnp.tile(f, 0)
jnp.repeat(v, 2)
jnp.repeat(f, 2, axis=1)
jnp.repeat(v, k)
jnp.repeat(v, jnp.array([1, 2, 0, 3]), total_repeat_length=5)
jnp.repeat(v, jnp.array([1, 2, 0, 3]), total_repeat_length=8)
jnp.repeat(3, 3)
jnp.roll(v, 1)
jnp.roll(f, 2)
jnp.roll(f, (1, -1), (0, 1))
jnp.roll(f, 1, axis=0)
jnp.roll(f, jnp.array(2), axis=1)
jx.jit(lambda x, s: jnp.roll(x, s, axis=1))(f, 3)
jx.jit(lambda x, s: jnp.roll(x, s))(f, -5)
jnp.delete(v, 1)
jnp.delete(v, -1)
jnp.delete(f, 1, axis=0)
jnp.delete(v, slice(1, 3))
jnp.delete(v, jnp.array([0, 2]))
jnp.delete(v, np.array([True, False, True, False]))
jx.jit(lambda x, i: jnp.delete(x, i, assume_unique_indices=True))(w, jnp.array([4, 1]))
jnp.insert(v, 1, 7.0)
jnp.insert(v, jnp.array([1, 3]), 7.0)
jnp.insert(v, jnp.array([1, 1, 3]), jnp.array([7.0, 8.0, 9.0]))
jnp.insert(f, 1, 7.0, axis=0)
jnp.insert(f, 1, v, axis=0)
jnp.insert(f, -1, 5.0)
jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0]))
jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0]), "f")
jnp.trim_zeros(jnp.zeros(3))
jnp.pad(v, 1)
jnp.pad(f, ((1, 2), (0, 3)))
jnp.pad(f, (1, 2))
jnp.pad(f, 1, constant_values=5)
jnp.pad(f, ((1, 1), (2, 2)), constant_values=((1, 2), (3, 4)))
jnp.pad(f, 1, mode="edge")
jnp.pad(f, 2, mode="wrap")
jnp.pad(f, 7, mode="wrap")
jnp.pad(f, 2, mode="reflect")
jnp.pad(f, 5, mode="reflect")
jnp.pad(f, 2, mode="symmetric")
jnp.pad(f, 9, mode="symmetric")
jnp.pad(f, 2, mode="reflect", reflect_type="odd")
jnp.pad(f, 2, mode="symmetric", reflect_type="odd")
jnp.pad(f, 2, mode="linear_ramp")
jnp.pad(f, 2, mode="linear_ramp", end_values=3.0)
jnp.pad(f, 2, mode="maximum")
jnp.pad(f, 2, mode="mean", stat_length=2)
jnp.pad(i, 2, mode="mean")
jnp.pad(f, 2, mode="median")
jnp.pad(f, 2, mode="minimum")
jnp.pad(f, 1, mode="empty")
jnp.pad(i, [(1, 0), (0, 1)])
jnp.pad(1.0, 0)
jnp.diag(v)
jnp.diag(v, 1)
jnp.diag(v, -2)
jnp.diag(f)
jnp.diag(f, 1)
jnp.diag(f, -2)
jnp.diag(f, 9)
jnp.diagonal(t)
jnp.diagonal(t, 1, 1, 2)
f.diagonal()
jnp.diagflat(f, 1)
jnp.diagflat(v, -1)
jnp.trace(f)
jnp.trace(t, axis1=1, axis2=2)
jnp.trace(i, 1)
jnp.trace(b)
f.trace()
jx.jit(lambda x, o: jnp.trace(x, o))(f, 1)
jnp.fill_diagonal(q, 5.0, inplace=False)
jnp.fill_diagonal(f, v[:2], inplace=False)
jnp.tril(f)
jnp.triu(t, 1)
jnp.tril(i, -1)
jnp.triu(b)
jnp.tril_indices(3)
jnp.triu_indices(3, 1, 4)
jnp.tril_indices_from(f)
jnp.triu_indices_from(f, k=1)
jnp.diag_indices(3)
jnp.diag_indices_from(q)
jnp.mask_indices(3, jnp.triu, 1)
jnp.mgrid[0:3, 0:2]
jnp.mgrid[0:1:5j]
jnp.ogrid[0:3, 0:2.5:0.5]
jnp.r_[v, 1:4, 0]
jnp.r_["0,2", v, v]
jnp.r_["0,2,0", v, v]
jnp.r_["c", v]
jnp.c_[v, v]
jnp.c_[0:3, 3:6]
jnp.ix_(k, k)
jnp.vander(v)
jnp.vander(i[0], 3, increasing=True)
""")


def test_recorded_answers_are_those_of_jax() -> None:
    """A few of all topics' answers are asked again, others in every run."""
    assert STORE.manifest["jax"] == jax.__version__
    seed = int.from_bytes(os.urandom(4))
    for expression in random.Random(seed).sample(list(expressions()), 24):
        types, found = ask(expression)
        what = f"{expression}, drawn with seed {seed}"
        assert types == STORE.types(expression), what
        for got, recorded in zip(found, STORE.answer(expression) if found else [], strict=True):
            compare(got, recorded, 3e-5)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_jax(expression: str) -> None:
    check(expression)


# promotion, for every pair of operands


OPERANDS = {
    **{name: np.ones(2, name) for name in "bool int8 int32 uint8 uint32 float16 float32".split()},
    "bfloat16": np.ones(2, ml_dtypes.bfloat16),
    "complex64": np.ones(2, np.complex64),
    "NumPy float64": np.float64(1.0),
    "True": True,
    "1": 1,
    "1.0": 1.0,
    "1j": 1j,
}


@pytest.mark.parametrize("left", OPERANDS)
@pytest.mark.parametrize("right", OPERANDS)
def test_sums_have_the_dtype_and_weak_type_of_jax(left: str, right: str) -> None:
    operands = []
    for name in (left, right):
        x = OPERANDS[name]
        operands.append(jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x)
    dtype, weak = jax.dtypes.result_type(*operands, return_weak_type_flag=True)
    ours = [jnp.asarray(np.asarray(x)) if isinstance(x, jax.Array) else x for x in operands]
    result = jnp.add(*ours)
    assert (result.dtype, result.weak_type) == (dtype, weak and dtype != np.bool_)
    if any(isinstance(x, funcgrad.Array) for x in ours):
        by_operator = ours[0] + ours[1]
        assert (by_operator.dtype, by_operator.weak_type) == (result.dtype, result.weak_type)


def test_weak_arrays_give_way_like_numbers() -> None:
    weak = jnp.asarray(2.0)
    assert weak.weak_type
    assert (weak + jnp.ones(2, jnp.float16)).dtype == np.float16
    assert (weak * 3).weak_type and not (weak * jnp.float32(3)).weak_type


# broadcasting, against NumPy

SHAPES = mutually_broadcastable_shapes(num_shapes=3, max_dims=4, max_side=3)


@given(SHAPES)
@settings(max_examples=100)
def test_shapes_broadcast_as_in_numpy(found: Any) -> None:
    a, b, c = (np.arange(math.prod(s), dtype=np.float32).reshape(s) for s in found.input_shapes)
    np.testing.assert_array_equal(jnp.add(a, b), a + b)
    np.testing.assert_array_equal(jnp.where(a > 1, b, c), np.where(a > 1, b, c))
    np.testing.assert_array_equal(jnp.clip(a, b, b + 1), np.clip(a, b, b + 1))
    shape = found.result_shape
    assert jnp.broadcast_shapes(*found.input_shapes) == shape
    np.testing.assert_array_equal(jnp.broadcast_to(a, shape), np.broadcast_to(a, shape))
    ones = funcgrad.grad(lambda x: jnp.sum(x * b))(jnp.asarray(a))
    assert ones.shape == a.shape


def test_rank_promotion_can_be_refused() -> None:
    x, y = jnp.ones((2, 3)), jnp.ones(3)
    with numpy_rank_promotion("raise"):
        with pytest.raises(ValueError, match=r"add on shapes \(2, 3\), \(3,\)"):
            x + y
        assert (x + 1).shape == (2, 3)
    with numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="rank promotion"):
        x + y


# what is refused, and how


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: jnp.sum([1, 2]), TypeError, "sum takes arrays and numbers.*list"),
        (lambda: jnp.sin([1.0]), TypeError, "sin takes arrays"),
        (lambda: jnp.ones(3) + [1, 2, 3], TypeError, r"unsupported operand.*\+.*'list'"),
        (lambda: [1, 2, 3] - jnp.ones(3), TypeError, r"unsupported operand.*-.*'list'"),
        (lambda: jnp.ones(3) + None, TypeError, "unsupported operand"),
        (lambda: jnp.ones((2, 3)) + jnp.ones(4), ValueError, r"add got shapes \(2, 3\), \(4,\)"),
        (lambda: jnp.ones(2) + jnp.ones(3), TypeError, r"\(2,\), \(3,\)"),
        (lambda: jnp.array([2, 3]) ** jnp.array([1, -1]), TypeError, "negative powers"),
        (lambda: jnp.arange(3) ** -1, TypeError, "negative power of an integer"),
        (lambda: -jnp.array(True), TypeError, "bool"),
        (lambda: jnp.array(2**40), OverflowError, "int32"),
        (lambda: jnp.array([1, 2**40]), OverflowError, "int32"),
        (lambda: jnp.array([1, None]), ValueError, "None"),
        (lambda: jnp.array("a"), TypeError, "not a valid array type"),
        (lambda: jnp.array([[1, 2], [3]]), ValueError, "inhomogeneous"),
        (lambda: jnp.array({1, 2}), TypeError, "not a valid array type"),
        (lambda: jnp.zeros(3, 4), TypeError, r"zeros\(\(3, 4\)\)"),
        (lambda: jnp.zeros(2.5), TypeError, "integer"),
        (lambda: jnp.reshape(jnp.ones(6), (4, -1)), TypeError, r"\(6,\).*\(4, -1\)"),
        (lambda: jnp.squeeze(jnp.ones(3), 0), ValueError, r"\(3,\)"),
        (lambda: jnp.concatenate([jnp.ones((2, 3)), jnp.ones((2, 4))]), TypeError, r"\(2, 4\)"),
        (lambda: jnp.stack([jnp.ones(2), jnp.ones(3)]), ValueError, r"\(2,\), \(3,\)"),
        (lambda: jnp.split(jnp.ones(5), 2), ValueError, "equal division"),
        (lambda: jnp.broadcast_to(jnp.ones(3), (2, 4)), ValueError, r"\(3,\).*\(2, 4\)"),
        (lambda: jnp.pad(jnp.ones(3), -1), ValueError, "negative"),
        (lambda: jnp.pad(jnp.ones(3), 1, mode="sideways"), NotImplementedError, "wrap"),
        (lambda: jnp.arange(0, 3, 0), ValueError, "step"),
        (lambda: jnp.linspace(0, 1, -1), ValueError, "-1"),
        (lambda: jnp.meshgrid(jnp.ones((2, 2))), ValueError, r"\(2, 2\)"),
        (lambda: jnp.add(1, 2, out=jnp.ones(())), NotImplementedError, "out"),
        (lambda: jnp.clip(jnp.ones(2) * 1j, 0, 1), ValueError, "complex"),
        (lambda: funcgrad.jit(jnp.arange)(3), ConcretizationTypeError, "static"),
        (lambda: funcgrad.jit(jnp.nonzero)(jnp.ones(3)), ConcretizationTypeError, "size"),
        (lambda: funcgrad.jit(jnp.unique)(jnp.ones(3)), ConcretizationTypeError, "size"),
    ],
)
def test_refusals(call: Callable, kind: type, words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_64_bit_dtypes_are_truncated_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="float64 requested in ones.*truncated to float32"):
        assert jnp.ones(2, np.float64).dtype == np.float32
    with enable_x64(True):
        assert jnp.ones(2, np.float64).dtype == jnp.arange(3.0).dtype == np.float64
        assert jnp.sum(jnp.ones(2, np.int32)).dtype == np.int64


def test_complex_to_real_warns() -> None:
    with pytest.warns(UserWarning, match="imaginary part"):
        (jnp.ones(2) * 1j).astype(jnp.float32)


def test_a_power_by_a_traced_negative_integer_is_rounded_towards_zero() -> None:
    got = funcgrad.jit(jnp.power)(np.array([2, 1, -1, 3]), np.array([-1, -2, -3, 3]))
    np.testing.assert_array_equal(got, [0, 1, -1, 27])


def test_numpy_sources_are_copied() -> None:
    source = np.zeros(3, np.float32)
    for make in (jnp.array, jnp.asarray, lambda x: jnp.array(x, copy=False)):
        made = make(source)
        source[0] += 1.0
        assert made[0] == source[0] - 1.0


def test_arrays_of_traced_numbers() -> None:
    got = funcgrad.jit(lambda x: jnp.array([[x, 1.0], [2.0, x]]))(3.0)
    np.testing.assert_array_equal(got, [[3.0, 1.0], [2.0, 3.0]])
    slope = funcgrad.grad(lambda x: jnp.sum(jnp.array([x, x * x, 1.0])))(3.0)
    assert slope == 7.0


def test_foreign_operands_get_their_chance() -> None:
    class Foreign:
        def __radd__(self, other: Any) -> str:
            return "mine"

    assert jnp.ones(2) + Foreign() == "mine"
    assert (jnp.ones(2) == None) is False  # noqa: E711


def test_objects_that_stand_for_arrays() -> None:
    class Wrapper:
        def __jax_array__(self) -> Any:
            return jnp.arange(3.0)

    x = Wrapper()
    np.testing.assert_array_equal(jnp.sin(x), np.sin(np.arange(3.0, dtype=np.float32)))
    np.testing.assert_array_equal(jnp.ones(3) + x, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(jnp.where(jnp.ones(3) > 0, x, 0), [0.0, 1.0, 2.0])


def test_array_api_namespace() -> None:
    assert jnp.ones(2).__array_namespace__() is funcgrad.numpy


def test_files_keep_bfloat16(tmp_path: Any) -> None:
    x = jnp.arange(3, dtype=jnp.bfloat16)
    jnp.save(tmp_path / "x.npy", x)
    back = jnp.load(tmp_path / "x.npy")
    assert back.dtype == jnp.bfloat16
    np.testing.assert_array_equal(np.asarray(back, np.float32), [0.0, 1.0, 2.0])


def test_all_names_of_jax_are_there() -> None:
    for ours, theirs in (
        (funcgrad.numpy, jax.numpy),
        (funcgrad.numpy.linalg, jax.numpy.linalg),
        (funcgrad.numpy.fft, jax.numpy.fft),
    ):
        public = {n for n in dir(theirs) if not n.startswith("_")}
        assert not public - set(dir(ours))
        assert set(ours.__all__) <= set(dir(ours))
