"""numpy: indexing, updates, ufunc methods, vectorize."""

import pytest

from numpy_oracle import check, listed

EXPRESSIONS = listed("""
f[1]
f[-1]
f[10]
f[-10]
f[1, 2]
f[1:]
f[:, 1]
f[::-1]
f[::-2, ::2]
f[2:0:-1]
f[5:9]
f[:, None]
f[None, 1, ..., None]
f[...]
f[..., 1]
t[..., 0, :]
t[0, ..., None, -1]
f[()]
f[jnp.int32(1)]
f[np.int64(2)]
f[True]
f[False]
f[True, 1]
f[k]
f[k, k]
f[k[:3], 1]
f[1, k]
f[:, k]
f[k[:, None] % 3, k]
f[k % 3, None, :]
t[:, k[:2] % 3, :]
t[0, :, k]
t[k[:2] % 2, :, k[:2]]
t[:, k % 3, k]
t[k % 2, 1, k]
t[k % 2, ..., k]
t[..., k % 3, k]
t[k % 2, None, k]
t[:, None, k % 3, 0]
t[0, k % 3, :, ...]
f[jnp.array([0, -1, 7])]
f[jnp.array([[0, 1], [2, 0]])]
f[jnp.array([], dtype=int)]
f[[[0, 1]], ]
f[([0, 1], [1, 2])]
f[b]
f[:, jnp.array([True, False, True, False])]
t[:, b]
f[jnp.array([True, False, True]), 1]
f[jnp.array([True, False, True]), jnp.array([1, 2])]
f[~b, None]
f[1:, k]
f[::2, k]
f[k % 3, ::2]
f[k % 3, 1:3]
t[1:, k % 3, ::-1]
f[np.array([0, 2])]
f[np.array([True, False, True])]
f[jnp.array(1), jnp.array([0, 2])]
f[jnp.uint8(2)]
f[jnp.array([0, 200], jnp.uint8)]
f[jnp.int8(-1)]
f[None]
f[..., None]
f[1.0]
f["a"]
f[[0, 1]]
f[0, 0, 0]
f[..., ...]
f[jnp.array([1.0])]
f[{}]
f[object()]
f[jnp.array([True, False])]
e[:, 1]
e[0]
e[:, jnp.array([0, 2])]
jx.jit(lambda x, i: x[i])(f, 1)
jx.jit(lambda x, i: x[i])(f, -1)
jx.jit(lambda x, i: x[i])(f, 9)
jx.jit(lambda x, i: x[:, i])(f, -2)
jx.jit(lambda x, i: x[i, 1:3])(f, 2)
jx.jit(lambda x, i: x[i, ::-1])(f, 2)
jx.jit(lambda x, i: x[i, ::2])(f, 2)
jx.jit(lambda x, i: x[i, None, -1])(f, 1)
jx.jit(lambda x, i: x[i])(f, k)
jx.jit(lambda x, i: x[i % 3, 1:])(f, k)
jx.jit(lambda x, i, j: x[i, j])(f, 1, k)
jx.jit(lambda x, i, j: x[j, :, i])(t, 1, k % 2)
jx.vmap(lambda x, i: x[i])(f, k[:3])
jx.vmap(lambda x, i: x[i], (None, 0))(f, k)
jx.vmap(lambda x, i: x[i][None])(f, jnp.array([[0], [2], [1]]))
jx.jit(lambda x, m: x[m])(f, b)
jx.jit(lambda x, i: x[:i])(f, 2)
f.at[1].get()
f.at[10].get()
f.at[10].get(mode="fill")
f.at[-1].get(mode="fill")
f.at[10].get(mode="fill", fill_value=3.0)
i.at[10].get(mode="fill")
u.at[jnp.array([10])].get(mode="fill")
f.at[jnp.array([0, 9])].get(mode="clip")
f.at[jnp.array([0, 9])].get(mode="fill")
f.at[jnp.array([0, -1])].get(mode="fill", wrap_negative_indices=False)
f.at[-1].get(mode="fill", wrap_negative_indices=False)
f.at[1:2, jnp.array([0, 9])].get(mode="fill", fill_value=0)
f.at[0].set(1.0)
f.at[0].set(v)
f.at[0, 1].set(9)
f.at[:, 1].set(v[:3])
f.at[::2].set(0.0)
f.at[::-1].set(f)
f.at[::-2, 1:].set(5.0)
f.at[k % 3].set(2.0)
f.at[k % 3, k].set(v)
f.at[k[:, None] % 3, k].set(7.0)
f.at[b].set(0.0)
f.at[b].add(1.0)
f.at[10].set(1.0)
f.at[-10].set(1.0)
f.at[-1].set(1.0)
f.at[jnp.array([0, 10])].set(1.0)
f.at[jnp.array([0, 10])].set(1.0, mode="clip")
f.at[jnp.array([0, -1])].set(1.0, wrap_negative_indices=False)
f.at[...].set(2.0)
f.at[()].set(f * 2)
f.at[None].set(1.0)
f.at[1, None].set(v)
f.at[True].set(3.0)
f.at[False].set(3.0)
f.at[:, k].set(1.0)
f.at[1:, 1:].set(f[1:, 1:] * 2)
f.at[k % 3].add(1.0)
f.at[k % 3].multiply(2.0)
f.at[k % 3].mul(f[0])
f.at[k % 3].divide(2.0)
f.at[k % 3].power(2.0)
f.at[k % 3].min(0.0)
f.at[k % 3].max(0.0)
f.at[k % 3].subtract(1.0)
f.at[k % 3].apply(jnp.sin)
f.at[1].apply(lambda x: x * 2)
i.at[0].add(1)
i.at[0].set(1.7)
i.at[0].divide(2)
i.at[k % 3].power(2)
u.at[0].set(7)
b.at[0].set(True)
b.at[0].max(True)
c.at[0].add(1j)
h.at[0].add(1.0)
t.at[:, k % 3, k].set(1.0)
t.at[0, :, k].set(1.0)
t.at[k % 2, :, k].add(1.0)
t.at[:, 0].add(v)
t.at[..., 1].set(0.0)
f.at[0].set(f)
f.at[1, 1:3].add(jnp.array([1.0, 2.0]))
e.at[:, 0].set(1.0)
jnp.zeros(3).at[jnp.array([0, 0, 1])].add(1)
jnp.zeros(()).at[()].set(3.0)
jnp.zeros(5).at[jnp.array([[0, 1], [2, 3]])].set(jnp.array([5.0, 6.0]))
jx.jit(lambda x, i: x.at[i].set(0.0))(f, 1)
jx.jit(lambda x, i: x.at[i, 1:3].add(1.0))(f, -1)
jx.vmap(lambda x, i: x.at[i].set(0.0))(f, k[:3])
jnp.add.at(f, 0, 1.0, inplace=False)
jnp.add.at(b, 0, True, inplace=False)
jnp.add.reduce(f)
jnp.add.reduce(f, axis=None)
jnp.add.reduce(f, axis=1, keepdims=True, initial=1.0, where=b)
jnp.add.accumulate(f, axis=1)
jnp.add.outer(v, k)
jnp.add.reduceat(v, jnp.array([0, 2, 1]))
jnp.multiply.reduce(i, axis=1)
jnp.multiply.accumulate(v)
jnp.subtract.reduce(v)
jnp.subtract.accumulate(v)
jnp.subtract.outer(v, v)
jnp.maximum.reduce(f, axis=1)
jnp.maximum.accumulate(v)
jnp.minimum.reduce(f)
jnp.bitwise_and.reduce(i)
jnp.bitwise_or.reduce(i, axis=1)
jnp.bitwise_xor.reduce(i, axis=None)
jnp.logical_and.reduce(f)
jnp.logical_or.reduce(b, axis=1)
jnp.logical_xor.reduce(b)
jnp.negative.at(f, 0, inplace=False)
jnp.subtract.at(f, jnp.array([0, 0]), 1.0, inplace=False)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1)(v, k)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1).reduce(v)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1, identity=0).reduce(f, axis=None, keepdims=True)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1).accumulate(f, axis=1)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1).at(v, jnp.array([0, 0, 2]), 2.0, inplace=False)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1).reduceat(f, jnp.array([0, 2]), axis=1)
jnp.vectorize(lambda a, b: a @ b, signature="(n,m),(m)->(n)")(t, v)
jnp.vectorize(lambda a, b: a + b)(f, v)
jnp.vectorize(lambda a, b: (a, b.sum()), signature="(),(n)->(),()")(v[:3], f)
jnp.vectorize(lambda a, n: a * n, excluded=(1,))(f, 2)
jnp.vectorize(lambda a, n=1: a * n, excluded=("n",))(f, n=2)
jnp.vectorize(lambda a, b: a + b, signature="(n),(n)->(n)")(t[:, :1], f)
jnp.apply_along_axis(jnp.sort, 1, t)
jnp.apply_along_axis(lambda x: x.sum(), 0, t)
jnp.apply_along_axis(lambda x: jnp.outer(x, x), 1, t)
jnp.apply_over_axes(jnp.sum, t, [0, 2])
[r for r in f]
list(reversed(v))
2.0 in jnp.array([1.0, 2.0])
len(f)
v.tolist()
float(v[0])
int(k[0])
operator.index(k[0])
bool(k[0])
complex(v[0])
f"{v[0]:.3f}"
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_jax(expression: str) -> None:
    check(expression)
