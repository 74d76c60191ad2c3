"""sin, cos and tan: x = n pi/2 + r, then a polynomial in r, which one and its sign n decides.

Up to a bound n pi/2 is subtracted in four parts (Cody and Waite); beyond, the bits of 1/pi that
matter are multiplied as integers (Payne and Hanek 1983).
"""

import functools
import math
from collections.abc import Sequence

from funcgrad.compiler.elementary.floats import (
    FORMATS,
    Coefficients,
    absolute,
    const,
    flipped,
    float_function,
    fma,
    nearest,
    polynomial,
    select,
    sign_flipped,
)
from funcgrad.compiler.loops import BITS, Expr

# pi/2 in parts so short that products with n below the bound are exact, save the last.
HALF_PI = {
    "f32": ("0x1.92p0", "0x1.fb4p-12", "0x1.444p-24", "0x1.68c234p-39"),
    "f64": (
        "0x1.921fb544p0",
        "0x1.0b4611a6p-34",
        "0x1.3198a2ep-69",
        "0x1.b839a252049c1p-104",
    ),
}
BOUND = {"f32": 2.0**13, "f64": 2.0**21}
# The binary digits of 1 / pi after the point.
INVERSE_PI = (
    "517cc1b727220a94fe13abe8fa9a6ee06db14acc9e21c820ff28b1d5ef5de2b0db92371d21"
    "26e9700324977504e8c90e7f0ef58e5894d39f74411afa975da24274ce38135a2fbf209cc8"
    "eb1cc1a99cfa4e422fc5defc941d8ffc4bffef02cc07f79788c5ad05368fb69b3f6793e584"
    "dba7a31fb34f2ff516ba93dd63f5f2f8bd9e839cfbc529497535fdafd88fc6ae842b019823"
)
# (sin(r) / r - 1) / r^2 in r^2, |r| < 0.788. Relative error of sin: 4.2e-9 and 5.7e-18.
SIN: Coefficients = {
    "f32": ("-0x1.555544p-3", "0x1.1106c6p-7", "-0x1.991c34p-13"),
    "f64": (
        "-0x1.5555555555548p-3",
        "0x1.111111110f70ap-7",
        "-0x1.a01a019be447fp-13",
        "0x1.71de3550d9cebp-19",
        "-0x1.ae5e480d56a8ep-26",
        "0x1.5d8a4ee3b27ddp-33",
    ),
}
# (cos(r) - 1) / r^2 in r^2, |r| < 0.788. Relative error of cos: 1.2e-10 and 1.2e-18.
COS: Coefficients = {
    "f32": ("-0x1p-1", "0x1.55554ap-5", "-0x1.6c0c24p-10", "0x1.99e61cp-16"),
    "f64": (
        "-0x1p-1",
        "0x1.555555555554ap-5",
        "-0x1.6c16c16c14eb0p-10",
        "0x1.a01a019c6dc91p-16",
        "-0x1.27e4f7da1dab9p-22",
        "0x1.1ee9cc23dfc16p-29",
        "-0x1.8f9e7d7e83219p-37",
    ),
}
# (tan(r) / r - 1) / r^2 in r^2, |r| < 0.788. Relative error of tan: 1.36e-9.
TAN = (
    "0x1.55556p-2",
    "0x1.110d92p-3",
    "0x1.badd2p-5",
    "0x1.5c9544p-6",
    "0x1.63cf5ep-7",
    "0x1.cb5806p-15",
    "0x1.201682p-8",
)


@float_function
def sin(x: Expr) -> Expr:
    word, r, _ = reduced(absolute(x))
    return sign_flipped(sin_of_quarter(word, r), x)


@float_function
def cos(x: Expr) -> Expr:
    word, r, _ = reduced(absolute(x))
    return sin_of_quarter(word + 1, r)


@float_function
def tan(x: Expr) -> Expr:
    """tan(r) where n is even, -1 / tan(r) where it is odd."""
    word, r, rest = reduced(absolute(x))
    square = r * r
    if x.dtype == "f32":
        rest = fma(rest, square, rest)
        sine, cosine = r + fma(square * r, polynomial(square, TAN), rest), const(x, 1.0)
    else:
        sine, cosine = odd(r, square, SIN["f64"]), even(square, COS["f64"])
    swap = (word & 1).ne(0)
    quotient = select(swap, -cosine, sine) / select(swap, sine, cosine)
    return sign_flipped(quotient, x)


def sin_of_quarter(word: Expr, r: Expr) -> Expr:
    """sin(n pi/2 + r), n in the low bits of a word."""
    square = r * r
    sine, cosine = odd(r, square, SIN[r.dtype]), even(square, COS[r.dtype])
    return flipped(select((word & 1).ne(0), cosine, sine), word >> 1)


def odd(r: Expr, square: Expr, coefficients: Sequence[str]) -> Expr:
    return fma(square * r, polynomial(square, coefficients), r)


def even(square: Expr, coefficients: Sequence[str]) -> Expr:
    return fma(square, polynomial(square, coefficients), 1.0)


def reduced(x: Expr) -> tuple[Expr, Expr, Expr]:
    """(n in the low bits of a word, r, the error of r) with x = n pi/2 + r, for x not negative."""
    n, word = nearest(x, 2 / math.pi)
    first, second, third, fourth = (-float.fromhex(part) for part in HALF_PI[x.dtype])
    exact = fma(n, second, fma(n, first, x))
    near = fma(n, third, exact)
    tail = fma(n, fourth, fma(n, third, exact - near))
    r = near + tail
    far = x > BOUND[x.dtype]
    far_word, far_r, far_rest = far_reduced(x)
    return (
        select(far, far_word, word, rare=True),
        select(far, far_r, r, rare=True),
        select(far, far_rest, tail - (r - near), rare=True),
    )


# large arguments


def far_reduced(x: Expr) -> tuple[Expr, Expr, Expr]:
    """As `reduced`, for x above the bound; the error of r is known for f32 only."""
    form, width = FORMATS[x.dtype], BITS[x.dtype]
    high, low = turns(x)
    word = (high + (1 << (width - 3))) >> (width - 2)
    high, low = (high << 2) | (low >> (width - 2)), low << 2  # a signed part of pi/2
    negative = (high.bits(form.signed) >> (width - 1)).bits(form.unsigned)
    high, low = high ^ negative, low ^ negative
    if x.dtype == "f32":
        fixed = (high.to("u64") << 32) | low.to("u64")
        precise = fixed.to("f64") * (math.pi * 2.0**-65)
        r = precise.to("f32")
        rest = (precise - r.to("f64")).to("f32")
    else:
        r = fma(high.to("f64"), 2.0**64, low.to("f64")) * (math.pi * 2.0**-129)
        rest = const(x, 0.0)
    r = fma(x, 0.0, r)  # infinities give nan
    return word, flipped(r, negative), flipped(rest, negative)


def turns(x: Expr) -> tuple[Expr, Expr]:
    """x / (2 pi) without its integer part, as two words of binary digits."""
    form, width = FORMATS[x.dtype], BITS[x.dtype]
    bits = x.bits(form.unsigned)
    mantissa = (bits & ((1 << form.digits) - 1)) | (1 << form.digits)
    # x = mantissa 2^e; the digits of 1/pi worth 2^(1 - e) and more give whole turns.
    least = int(math.log2(BOUND[x.dtype])) - form.digits
    start = (bits >> form.digits) - (form.bias + form.digits + least)
    words = inverse_pi(width, least, form.bias - form.digits)
    place = start >> (width.bit_length() - 1)
    a, b, c, d = chosen([const(bits, w) for w in words], place)
    shift = start & (width - 1)
    first, second, third = (joined(p, q, shift) for p, q in ((a, b), (b, c), (c, d)))
    middle = mantissa * second
    low = middle + mantissa.apply("mulhi", third)
    carry = select(low < middle, const(bits, 1), 0)
    return mantissa * first + mantissa.apply("mulhi", second) + carry, low


@functools.cache
def inverse_pi(width: int, least: int, greatest: int) -> list[int]:
    """Words of the digits of 1/pi, from that worth 2^-least, for exponents up to `greatest`."""
    digits, known = int(INVERSE_PI, 16), 4 * len(INVERSE_PI)
    padded = known + 1 - least  # with zeros before the point
    count = (greatest - least) // width + 4
    return [digits >> (padded - width * (i + 1)) & (2**width - 1) for i in range(count)]


def chosen(words: Sequence[Expr], place: Expr) -> Sequence[Expr]:
    """Four words from `place` on, by halving."""
    step = 1 << ((len(words) - 4).bit_length() - 1)
    while step:
        far = (place & step).ne(0)
        kept = min(len(words), step + 3)
        words = [
            select(far, words[i + step], words[i]) if i + step < len(words) else words[i]
            for i in range(kept)
        ]
        step >>= 1
    return words


def joined(first: Expr, second: Expr, shift: Expr) -> Expr:
    """The word that starts `shift` bits into the first of two."""
    width = BITS[first.dtype]
    return (first << shift) | ((second >> 1) >> (shift ^ (width - 1)))
