"""The error function: an odd polynomial near 0, and 1 - erfc(x) away from it.

erfc(x) = e^(-x^2) q H(t) with q = 1 / (x + 3) and t = 1 - 6 q (Shepherd and Laframboise 1981).
"""

from funcgrad.compiler.elementary.exponential import LOG2_E, expm1_reduced
from funcgrad.compiler.elementary.floats import (
    LOG_2,
    Coefficients,
    absolute,
    clamped,
    float_function,
    fma,
    nearest,
    polynomial,
    scaled,
    select,
    upper_half,
    with_sign,
)
from funcgrad.compiler.loops import Expr

# erf(x) / x - 1 in x^2, |x| < 0.9 and |x| < 1. Relative error of erf: 1.4e-8 and 1.1e-17.
ERF: Coefficients = {
    "f32": (
        "0x1.06eba6p-3",
        "-0x1.8126f2p-2",
        "0x1.ce1d0cp-4",
        "-0x1.b6b670p-6",
        "0x1.484e22p-8",
        "-0x1.3ebe0cp-11",
    ),
    "f64": (
        "0x1.06eba8214db69p-3",
        "-0x1.812746b0379e6p-2",
        "0x1.ce2f21a042b20p-4",
        "-0x1.b82ce312849a0p-6",
        "0x1.565bcd0db035dp-8",
        "-0x1.c02db3d8ee772p-11",
        "0x1.f9a321a1435fdp-14",
        "-0x1.f4d1df3c07744p-17",
        "0x1.b9def1bfeda34p-20",
        "-0x1.5f1d37d91ae3bp-23",
        "0x1.f7a41d8645ec2p-27",
        "-0x1.386ae2bcada71p-30",
        "0x1.057a03d1dc616p-34",
    ),
}
# erfc(2.375 + u), -1.475 < u < 1.555. Absolute error 1.3e-8.
ERFC_MIDDLE = (
    "0x1.9a7b78p-11",
    "-0x1.069020p-8",
    "0x1.37cf22p-7",
    "-0x1.c1f82ap-7",
    "0x1.ae4666p-7",
    "-0x1.119e84p-7",
    "0x1.99161ap-9",
    "-0x1.244384p-13",
    "-0x1.3ced04p-11",
    "0x1.75cf38p-12",
    "-0x1.87d4a6p-15",
    "-0x1.727166p-15",
    "0x1.2920e2p-16",
    "0x1.9af2d2p-20",
    "-0x1.53616ep-20",
)
MIDDLE = 2.375
# Where erf rounds to 1, and erfc to 0.
ERF_GREATEST = {"f32": 3.925, "f64": 6.0}
ERFC_GREATEST = {"f32": 10.2, "f64": 27.3}
# H for 0.74 < x < 10.1 and x < 27.3. Relative error 6.2e-9 and 1.6e-16. Both in f64.
TAIL: Coefficients = {
    "f32": (
        "0x1.12f21de337fcep+0",
        "-0x1.c44c43acfc681p-1",
        "0x1.2e32611f1463cp-1",
        "-0x1.3dec39b534dacp-2",
        "0x1.e99c20458d6dcp-4",
        "-0x1.b6c7c429497fdp-6",
        "-0x1.4983256af464ap-10",
        "0x1.748af60fd8daap-9",
        "-0x1.bd39fce7a80f1p-12",
    ),
    "f64": (
        "0x1.12f21ddd9f5e1p+0",
        "-0x1.c44c471baa379p-1",
        "0x1.2e326945de31fp-1",
        "-0x1.3deb21415d9aep-2",
        "0x1.e995f11b08a76p-4",
        "-0x1.b78993d70ea7bp-6",
        "-0x1.3dd3e6ae6bcc3p-10",
        "0x1.8dae3a45d8db6p-9",
        "-0x1.1f78ebbf3b9ddp-11",
        "-0x1.2238fea28ff2dp-12",
        "0x1.c327bcfeb5ac3p-14",
        "0x1.fdfbafa082168p-16",
        "-0x1.2548a84fb954bp-16",
        "-0x1.3e3c41bf0b852p-18",
        "0x1.76ea07715e199p-19",
        "0x1.04ea3e1ae38dep-20",
        "-0x1.e0a6d3265fd1fp-22",
        "-0x1.89d6994c00765p-23",
        "0x1.26b670814e295p-24",
        "0x1.414b88134ce95p-27",
    ),
}
# (e^x - 1) / x on |x| < 0.347 for results in f32. Error relative to e^x: 2.0e-9.
SHORT_EXPM1 = (
    "0x1.0000008af7ef9p+0",
    "0x1.fffffc171afa9p-2",
    "0x1.5554182091e5ep-3",
    "0x1.5558252fb23cep-5",
    "0x1.12682fb10246cp-7",
    "0x1.6ae686a63201ep-10",
)


@float_function
def erf(x: Expr) -> Expr:
    size = clamped(absolute(x), high=ERF_GREATEST[x.dtype])
    near = near_zero(size, x.dtype)
    if x.dtype == "f32":
        far, bound = 1.0 - polynomial(size - MIDDLE, ERFC_MIDDLE), 0.9
    else:
        far, bound = 1.0 - tail(size, "f64"), 1.0
    return with_sign(select(size > bound, far, near), x)


@float_function
def erfc(x: Expr) -> Expr:
    """1 - erf(x) near 0, else the tail of |x| or what it leaves of 2; f32 goes through f64."""
    wide = x.to("f64")
    size = clamped(absolute(wide), high=ERFC_GREATEST[x.dtype])
    far = tail(size, x.dtype)
    far = select(wide < 0.0, 2.0 - far, far)
    return select(size < 0.81, 1.0 - near_zero(wide, x.dtype), far).to(x.dtype)


def near_zero(x: Expr, precision: str) -> Expr:
    """erf(x) for |x| < 0.9, to the precision of a dtype."""
    return fma(x, polynomial(x * x, ERF[precision]), x)


def tail(x: Expr, precision: str) -> Expr:
    """erfc(x) for x > 0.74 in f64, to the precision of a dtype."""
    square = x * x
    n, word = nearest(square, -float.fromhex(LOG2_E))
    log_high, log_low = (float.fromhex(part) for part in LOG_2["f64"])
    divisor = x + 3.0
    inverse = 1.0 / divisor
    if precision == "f32":
        r = fma(n, -(log_high + log_low), -square)
        exp_rest = polynomial(r, SHORT_EXPM1) * r
    else:
        # x^2 in two parts, the first of them exact.
        upper = upper_half(x)
        r = fma(n, -log_low, fma(n, -log_high, -(upper * upper)))
        exp_rest = expm1_reduced(r - (x - upper) * (x + upper))
        # The relative error of the inverse, and about how much of it the result has.
        error = fma(-inverse, divisor, 1.0) - (x - (divisor - 3.0)) * inverse
        exp_rest = fma(error, fma(inverse, 5.0, 1.0), exp_rest)
    factor = inverse * polynomial(fma(inverse, -6.0, 1.0), TAIL[precision])
    return scaled(fma(factor, exp_rest, factor), word)
