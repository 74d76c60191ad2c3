"""numpy: products, einsum, polynomials, linear algebra, Fourier transforms, dtypes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad
import funcgrad.numpy as jnp
from funcgrad.base.config import enable_x64
from funcgrad.numpy import _einsum
from numpy_oracle import check, listed

EXPRESSIONS = listed("""
jnp.dot(v, v)
jnp.dot(f, v)
jnp.dot(f, q)
jnp.dot(t, q)
jnp.dot(t, t.transpose(2, 1, 0)[:, :, :1].transpose(1, 0, 2))
jnp.dot(2, f)
jnp.dot(2, 3.0)
jnp.dot(i, i.T)
jnp.dot(b, b.T)
jnp.dot(i, q)
jnp.dot(h, h.T)
jnp.dot(h, h.T, preferred_element_type=jnp.float32)
f.dot(q)
f @ q
v @ v
f @ v
v @ q
t @ q
q[:3, :3] @ t
t @ t.mT
t[:1] @ t.mT
t[:, None] @ jnp.ones((3, 4, 2))
m[None] @ m[:, None]
m[:1] @ m[:, None][:, :1]
i @ i.T
b @ b.T
u @ u.T
s @ s.T
c @ c.T
bf @ bf.T
np.ones((3, 3)) @ f
jnp.matmul(i, q)
jnp.matmul(m, v[:3])
jnp.matmul(v[:3], m)
jnp.matmul(jnp.ones((2, 0, 3)), m)
jnp.matmul(f, q, preferred_element_type=jnp.float16)
jnp.matvec(t, v)
jnp.vecmat(v[:3], t)
jnp.vecmat(c[0, :3], c)
jnp.vdot(c, c)
jnp.vdot(f, f)
jnp.vecdot(f, f)
jnp.vecdot(t, v)
jnp.vecdot(c, c, axis=0)
jnp.tensordot(t, f, 2)
jnp.tensordot(t, t, 0)
jnp.tensordot(t, f, ((1, 2), (0, 1)))
jnp.tensordot(t, q, (2, 0))
jnp.tensordot(t, q, axes=([2], [1]))
jnp.inner(f, f)
jnp.inner(2, f)
jnp.inner(v, v)
jnp.outer(v, k)
jnp.outer(f, v)
jnp.kron(f, i)
jnp.kron(v, f)
jnp.cross(f[:, :3], f[:, 1:])
jnp.cross(f[:, :2], f[:, 1:3])
jnp.cross(f[:, :2], f[:, 1:])
jnp.cross(f, f[::-1], axis=0)
jnp.cross(f, f[::-1], axisa=0, axisb=0, axisc=0)
jnp.einsum("ij,jk->ik", f, q)
jnp.einsum("ij,jk", f, q)
jnp.einsum("ij->ji", f)
jnp.einsum("ij->j", f)
jnp.einsum("ij->", f)
jnp.einsum("ii", q)
jnp.einsum("ii->i", q)
jnp.einsum("ii,ij->j", q, q)
jnp.einsum("iij->ij", jnp.ones((2, 2, 3)))
jnp.einsum("...ij,...jk->...ik", t, t.mT)
jnp.einsum("bij,j->bi", t, v)
jnp.einsum("i,i->", v, v)
jnp.einsum("i,j->ij", v, k)
jnp.einsum("i,j->ji", v, k)
jnp.einsum("ij,ij->ij", f, i)
jnp.einsum("ij,ij->", f, f)
jnp.einsum("ij,ik->kj", f, f)
jnp.einsum("bij,bjk,bkl->bil", m, m, m)
jnp.einsum("ij,jk,kl->", f, q, q)
jnp.einsum("ij,jk->ik", f[:, :1], q)
jnp.einsum(f, [0, 1], q, [1, 2], [0, 2])
jnp.einsum(f, [0, 1], q, [1, 2])
jnp.einsum("a c,  a c ->  a ", f, f)
jnp.einsum("i,i,i->i", v, v, v)
jnp.einsum("ij,jk->ik", i, i.T)
jnp.einsum("ij,jk->ik", b, b.T)
jnp.einsum("ij,kj->ik", h, f)
jnp.einsum("ij,jk->ik", f, q, preferred_element_type=jnp.float16)
jnp.einsum("ij,jk,kl->il", f, q, q, optimize=False)
jnp.einsum("ij,jk,kl->il", f, q, q, optimize=True)
jnp.einsum("ij,jk,kl->il", f, q, q, optimize="greedy")
jnp.einsum("ij,jk,kl->il", f, q, q, optimize=[(0, 1), (0, 1)])
jnp.einsum("i->i", v)
jnp.einsum("ij,jk->ik", f, v)
jnp.einsum("ij,jk->ik", f, f)
jnp.einsum_path("ij,jk,kl->il", f, q, q)[0]
jnp.polyval(v, f)
jnp.polyval(v, 2.0)
jnp.polyval(f, v)
jnp.polyval(k, 3)
jnp.polyadd(v, w)
jnp.polysub(v, w)
jnp.polysub(w, v)
jnp.polymul(v, w)
jnp.polydiv(w, v[:2])
jnp.polydiv(v[:2], w)
jnp.polyder(w)
jnp.polyder(w, 2)
jnp.polyint(w)
jnp.polyint(w, 2, k=jnp.array([1.0, 2.0]))
jnp.polyint(w, 2, k=3)
jnp.poly(v)
jnp.poly(k)
jnp.polyfit(w, w**2 + 1, 2)
jnp.polyfit(w, w**3, 2, w=w * w)
jnp.polyfit(w, jnp.stack([w, w**2], 1), 1)
jnp.sort_complex(jnp.roots(jnp.array([1.0, -3.0, 2.0])))
jnp.sort_complex(jnp.roots(jnp.array([0.0, 1.0, -3.0, 2.0, 0.0])))
jnp.roots(jnp.array([2.0]))
jnp.linalg.norm(f)
jnp.linalg.norm(f, axis=1)
jnp.linalg.norm(f, 1)
jnp.linalg.norm(f, -1)
jnp.linalg.norm(f, np.inf)
jnp.linalg.norm(f, -np.inf)
jnp.linalg.norm(f, 2)
jnp.linalg.norm(f, -2)
jnp.linalg.norm(f, "nuc")
jnp.linalg.norm(f, "fro", keepdims=True)
jnp.linalg.norm(v, 3)
jnp.linalg.norm(v, 0)
jnp.linalg.norm(v, 1)
jnp.linalg.norm(v, np.inf)
jnp.linalg.norm(v, -np.inf)
jnp.linalg.norm(c)
jnp.linalg.norm(c, 1, axis=0)
jnp.linalg.norm(t, axis=(0, 2))
jnp.linalg.norm(t, 1, axis=(0, 2), keepdims=True)
jnp.linalg.norm(t, np.inf, axis=(2, 0))
jnp.linalg.norm(i)
jnp.linalg.norm(v, "a")
jnp.linalg.vector_norm(f)
jnp.linalg.vector_norm(f, axis=1, ord=3)
jnp.linalg.matrix_norm(t)
jnp.linalg.matrix_norm(t, ord=1, keepdims=True)
jnp.linalg.matrix_rank(f)
jnp.linalg.matrix_rank(jnp.ones((3, 3)))
jnp.linalg.matrix_rank(v)
jnp.linalg.matrix_rank(m, rtol=jnp.array([0.1, 10.0]))
jnp.linalg.cond(q)
jnp.linalg.cond(q, -2)
jnp.linalg.cond(q, 1)
jnp.linalg.det(q)
jnp.linalg.det(m)
jnp.linalg.det(q[:2, :2])
jnp.linalg.det(q[:1, :1])
jnp.linalg.det(jnp.zeros((4, 4)))
jnp.linalg.det(i[:, :3])
jnp.linalg.det(c[:, :3])
jnp.linalg.slogdet(q)
jnp.linalg.slogdet(m)
jnp.linalg.slogdet(q[:2, :2])
jnp.linalg.slogdet(c[:, :3])
jnp.linalg.slogdet(q, method="qr")
jnp.linalg.slogdet(jnp.zeros((3, 3)))
jnp.linalg.inv(q)
jnp.linalg.inv(m)
jnp.linalg.inv(jnp.eye(2, dtype=int) * 2)
jnp.linalg.solve(q, v)
jnp.linalg.solve(q, q)
jnp.linalg.solve(m, t[0, :, :3])
jnp.linalg.solve(m, v[:3])
jnp.linalg.solve(m, m)
jnp.linalg.solve(m, v)
jnp.linalg.solve(m[0], m)
jnp.linalg.pinv(f)
jnp.linalg.pinv(f.T)
jnp.linalg.pinv(m)
jnp.linalg.pinv(q + q.T, hermitian=True)
jnp.linalg.pinv(jnp.ones((3, 2)))
jnp.linalg.lstsq(f.T, v)
jnp.linalg.lstsq(f.T, q)
jnp.linalg.lstsq(f, v[:3])
jnp.linalg.cholesky(q @ q.T + jnp.eye(4))
jnp.linalg.cholesky(q @ q.T + jnp.eye(4), upper=True)
jnp.linalg.eigh(q + q.T)[0]
jnp.linalg.eigvalsh(q + q.T)
jnp.linalg.eigvalsh(q, UPLO="U", symmetrize_input=False)
jnp.abs(jnp.linalg.eigh(q + q.T).eigenvectors)
jnp.sort_complex(jnp.linalg.eigvals(q))
jnp.sort_complex(jnp.linalg.eig(q).eigenvalues)
jnp.linalg.svd(f, compute_uv=False)
jnp.linalg.svdvals(t)
jnp.abs(jnp.linalg.svd(f)[0])
jnp.abs(jnp.linalg.svd(f, full_matrices=False).Vh)
jnp.linalg.svd(q + q.T, hermitian=True, compute_uv=False)
jnp.abs(jnp.linalg.svd(q + q.T, hermitian=True).U)
jnp.linalg.qr(f, mode="r")
jnp.linalg.qr(f.T)
jnp.linalg.qr(f.T, mode="complete")
jnp.linalg.qr(f.T, mode="raw")
jnp.linalg.matrix_power(q, 3)
jnp.linalg.matrix_power(q, -2)
jnp.linalg.matrix_power(m, 0)
jnp.linalg.matrix_power(i[:, :3], 2)
jnp.linalg.matrix_power(m, 5)
jnp.linalg.multi_dot([f, q, q, v])
jnp.linalg.multi_dot([v, q, q])
jnp.linalg.multi_dot([v, q, v])
jnp.linalg.multi_dot([f, q, q])
jnp.linalg.tensorinv(jnp.eye(6).reshape(2, 3, 6) + 1, ind=2)
jnp.linalg.tensorsolve(q.reshape(2, 2, 4), q[:2, :2])
jnp.linalg.outer(v, k)
jnp.linalg.cross(f[:, :3], f[:, 1:])
jnp.linalg.diagonal(t)
jnp.linalg.trace(t, offset=1)
jnp.linalg.matrix_transpose(t)
jnp.linalg.vecdot(f, f)
jnp.linalg.matmul(f, q)
jnp.linalg.tensordot(t, f)
jnp.fft.fft(f)
jnp.fft.fft(c, 6, axis=0)
jnp.fft.fft(f, 3)
jnp.fft.ifft(c)
jnp.fft.rfft(f)
jnp.fft.rfft(f, 5)
jnp.fft.irfft(c)
jnp.fft.irfft(c, 5)
jnp.fft.hfft(c)
jnp.fft.ihfft(f)
jnp.fft.fft2(t)
jnp.fft.ifft2(t, s=(2, 5))
jnp.fft.rfft2(t)
jnp.fft.irfft2(c)
jnp.fft.fftn(t)
jnp.fft.fftn(t, axes=(0, 1))
jnp.fft.fftn(t, s=(2, 2))
jnp.fft.ifftn(t)
jnp.fft.rfftn(t)
jnp.fft.irfftn(t)
jnp.fft.fft(f, norm="ortho")
jnp.fft.ifft(f, norm="forward")
jnp.fft.rfft(f, norm="forward")
jnp.fft.irfft(c, norm="ortho")
jnp.fft.hfft(c, norm="ortho")
jnp.fft.fftn(jnp.ones((2, 2, 2, 2, 3)) * jnp.arange(3))
jnp.fft.rfftn(jnp.ones((2, 2, 2, 2, 3)) * jnp.arange(3))
jnp.fft.irfftn(jnp.ones((2, 2, 2, 2, 3)) * jnp.arange(3))
jnp.fft.fftfreq(5)
jnp.fft.fftfreq(6, 0.5)
jnp.fft.rfftfreq(5)
jnp.fft.rfftfreq(6, 0.1)
jnp.fft.fftshift(v)
jnp.fft.fftshift(f, axes=1)
jnp.fft.ifftshift(f)
jnp.fft.fft(i)
jnp.fft.fft(h)
jnp.fft.rfft(c)
jnp.fft.fft(f, axis=(0, 1))
jnp.fft.fft(f, norm="a")
jnp.result_type(f, i)
jnp.result_type(1, 2.0)
jnp.result_type(jnp.int8, 1.0)
jnp.promote_types(jnp.int8, jnp.float16)
jnp.finfo(jnp.bfloat16).max
jnp.iinfo(jnp.int8).min
jnp.issubdtype(jnp.bfloat16, jnp.floating)
jnp.isdtype(f.dtype, "real floating")
jnp.can_cast(jnp.int8, jnp.int16)
jnp.isscalar(3)
jnp.isscalar(f)
jnp.isscalar(jnp.float32(3))
jnp.float32(3)
jnp.int8(3.7)
jnp.bool_(3)
jnp.bfloat16(f)
jnp.complex64(2)
jnp.dtype("float32")
jnp.pi
jnp.array_str(k)
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_jax(expression: str) -> None:
    check(expression)


@pytest.mark.parametrize("function", [jnp.matmul, jnp.dot, jnp.linalg.matmul])
def test_products_name_both_shapes(function: Callable) -> None:
    with pytest.raises(TypeError, match=r"(matmul|dot).*\(2, 3\).*\(4, 5\)"):
        function(jnp.ones((2, 3)), jnp.ones((4, 5)))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda: jnp.ones((2, 2, 3)) @ jnp.ones((3, 3, 1)),
            ValueError,
            r"\(2, 2, 3\).*\(3, 3, 1\)",
        ),
        (lambda: jnp.matmul(2.0, jnp.ones(2)), ValueError, "multiply by a scalar"),
        (lambda: jnp.tensordot(jnp.ones((2, 3)), jnp.ones(3), 2), TypeError, r"\(2, 3\).*\(3,\)"),
        (lambda: jnp.einsum("ij,jk->ik", jnp.ones((2, 3)), jnp.ones((2, 2))), ValueError, "'j'"),
        (lambda: jnp.linalg.inv(jnp.ones((2, 3))), ValueError, r"\[\.\.\., n, n\].*\(2, 3\)"),
        (lambda: jnp.linalg.solve(jnp.eye(2), jnp.ones(3)), ValueError, "2 columns.*3 rows"),
        (lambda: jnp.linalg.cholesky(jnp.ones(3)), ValueError, r"\(3,\)"),
        (lambda: jnp.linalg.norm(jnp.ones((2, 2, 2)), 1), ValueError, "axis"),
        (lambda: jnp.fft.fft(jnp.ones(3), 0), ValueError, "positive"),
        (lambda: jnp.fft.rfft(jnp.ones(3) * 1j), ValueError, "complex"),
    ],
)
def test_refusals(call: Callable, kind: type, words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def cofactors(a: np.ndarray) -> np.ndarray:
    """The gradient of the determinant, by its definition."""
    n = len(a)
    out = np.empty_like(a)
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(a, i, 0), j, 1)
            out[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    return out


@pytest.mark.parametrize("zeros", ["none", "first column", "last row", "two columns"])
def test_gradient_of_det_is_right_for_singular_matrices(zeros: str) -> None:
    a = np.random.default_rng(0).normal(size=(5, 5)).astype(np.float32)
    a[:, : {"first column": 1, "two columns": 2}.get(zeros, 0)] = 0
    if zeros == "last row":
        a[-1] = a[0] + a[1]
    got = funcgrad.grad(jnp.linalg.det)(jnp.asarray(a))
    np.testing.assert_allclose(got, cofactors(a.astype(np.float64)), 1e-3, 1e-4)


def test_gradient_of_det_of_several_matrices() -> None:
    a = np.random.default_rng(0).normal(size=(3, 4, 4)).astype(np.float32)
    a[1, :, 0] = 0
    got = funcgrad.vmap(funcgrad.grad(jnp.linalg.det))(jnp.asarray(a))
    want = [cofactors(x.astype(np.float64)) for x in a]
    np.testing.assert_allclose(got, want, 1e-3, 1e-4)


def test_solve_is_differentiable_in_both_modes_and_twice() -> None:
    with enable_x64(True):
        rng = np.random.default_rng(0)
        a, b, da, db = (rng.normal(size=s) for s in ((4, 4), (4,), (4, 4), (4,)))
        x, dx = funcgrad.jvp(jnp.linalg.solve, (a, b), (da, db))
        np.testing.assert_allclose(dx, np.linalg.solve(a, db - da @ np.asarray(x)), 1e-9)

        def along(s: Any) -> Any:
            return jnp.linalg.solve(a + s * da, b)

        eps = 1e-4
        want = (along(eps) - 2 * along(0.0) + along(-eps)) / eps**2
        got = funcgrad.jacfwd(funcgrad.jacrev(along))(0.0)
        np.testing.assert_allclose(got, want, 1e-4, 1e-4)


def test_einsum_takes_steps_that_were_found_before() -> None:
    a = jnp.ones((2, 3))
    formula = "ij,jk,kl->il"
    first = jnp.einsum(formula, a, a.T, a)
    before = _einsum._steps.cache_info().hits
    np.testing.assert_array_equal(jnp.einsum(formula, a, a.T, a), first)
    assert _einsum._steps.cache_info().hits == before + 1
