"""The inverse of the error function: x + x p, p a polynomial in w = -log(1 - x^2), or in sqrt(w)
where w is large (Giles 2011).
"""

from typing import NamedTuple

from funcgrad.compiler.elementary.floats import (
    INFINITY,
    NAN,
    absolute,
    const,
    float_function,
    fma,
    polynomial,
    select,
    with_sign,
)
from funcgrad.compiler.elementary.logarithm import assembled, decomposed
from funcgrad.compiler.loops import Expr


class Piece(NamedTuple):
    """A polynomial in w - center or sqrt(w) - center, from a bound of w on."""

    bound: float
    center: float
    coefficients: tuple[str, ...]


# In w, then in sqrt(w). Relative error 5.2e-9 and 9.2e-9; 1.8e-16, 1.5e-16 and 2.5e-16.
PIECES = {
    "f32": (
        Piece(
            0.0,
            2.5,
            (
                "0x1.00b8bap-1",
                "0x1.f91e8cp-3",
                "-0x1.11c3d6p-8",
                "-0x1.4866f4p-10",
                "0x1.c9bap-13",
                "-0x1.4cc068p-18",
                "-0x1.cbd366p-19",
                "0x1.f3cebap-22",
                "0x1.1df284p-26",
                "-0x1.2d03b8p-27",
                "0x1.c781f4p-32",
            ),
        ),
        Piece(
            5.0,
            3.0,
            (
                "0x1.d53df8p+0",
                "0x1.006dcap+0",
                "0x1.3581p-7",
                "-0x1.f4dfc2p-8",
                "0x1.74be7p-8",
                "-0x1.d39306p-9",
                "0x1.82c6b2p-10",
                "-0x1.f55ee6p-14",
                "-0x1.2394bep-12",
                "0x1.4fe48ap-13",
                "-0x1.e89996p-16",
            ),
        ),
    ),
    "f64": (
        Piece(
            0.0,
            3.125,
            (
                "0x1.4eabcf9335d0ep-1",
                "0x1.ebd80d9b13e26p-3",
                "-0x1.8b6c33115068ap-8",
                "-0x1.845769484f16ap-11",
                "0x1.879c2a219fbcdp-13",
                "-0x1.d1d1f7b8b31dp-17",
                "-0x1.6e8a54905c51bp-20",
                "0x1.c6b4f5d442b1ep-22",
                "-0x1.f36cc3bbcb8a1p-26",
                "-0x1.1a9e38e69a60ap-28",
                "0x1.20f3e8899881ap-30",
                "-0x1.dc58507f71ab7p-35",
                "-0x1.c86f351f739cfp-37",
                "0x1.72a2b10cdb344p-39",
                "-0x1.714d4673ededbp-44",
                "-0x1.6d3a7bbe657f7p-45",
                "0x1.e29d31192ea9p-48",
                "0x1.887af7571ccd2p-56",
                "-0x1.3e14c692119d7p-53",
                "0x1.9b069e04c8b88p-57",
                "0x1.b70b2882ee62ap-60",
                "-0x1.8cf2ffc3c2a11p-63",
                "-0x1.18f4231042094p-67",
            ),
        ),
        Piece(
            6.25,
            3.25,
            (
                "0x1.0abcc380d5a48p+1",
                "0x1.0158a6d641d65p+0",
                "0x1.5ffcfe5b6d9a3p-8",
                "-0x1.ebadabb9c0106p-9",
                "0x1.468eeca7cc6b4p-9",
                "-0x1.ba924108d91bp-10",
                "0x1.f3cc5503f1348p-11",
                "-0x1.7448ae1583edap-12",
                "0x1.932d916aef4a7p-16",
                "0x1.1e68adefe6944p-14",
                "-0x1.8cf10bee93923p-15",
                "0x1.a2928c740b002p-17",
                "0x1.88c1d1001e2bp-19",
                "-0x1.0d49659048ee5p-18",
                "0x1.91faf73b8bd8p-20",
                "0x1.2bedfa54a35a6p-26",
                "-0x1.21cc055255f5bp-22",
                "0x1.868bd90e6a1d4p-24",
            ),
        ),
        Piece(
            16.0,
            5.0,
            (
                "0x1.ecc9bba35aff6p+1",
                "0x1.02a30d1fba0b4p+0",
                "-0x1.22ea5df245312p-13",
                "-0x1.c2f36a83d0805p-13",
                "0x1.3ebf4f0e9ca4bp-14",
                "-0x1.4a349bf63cea2p-16",
                "0x1.2fbcf6cd5ca88p-18",
                "-0x1.0a8c09cecc339p-20",
                "0x1.ebe326b599623p-23",
                "-0x1.23015eee36f03p-24",
                "0x1.f2ee2014ee861p-26",
                "-0x1.000e41b0779aap-26",
                "0x1.0a1ae75f878f6p-27",
                "-0x1.06ebc91820a23p-28",
                "0x1.883c9e7c2caf9p-30",
                "-0x1.0e77583326414p-32",
                "-0x1.d95a90cf2d634p-38",
            ),
        ),
    ),
}


@float_function
def erf_inv(x: Expr) -> Expr:
    size = absolute(x)
    w = -assembled(*decomposed((1.0 - size) * (size + 1.0)))
    root = w.apply("sqrt")
    first, *others = PIECES[x.dtype]
    factor = polynomial(w - first.center, first.coefficients)
    for piece in others:
        value = polynomial(root - piece.center, piece.coefficients)
        factor = select(w >= piece.bound, value, factor, rare=True)
    beyond = select(size.eq(1.0), const(x, INFINITY), NAN)
    return with_sign(fma(size, select(size < 1.0, factor, beyond), size), x)
