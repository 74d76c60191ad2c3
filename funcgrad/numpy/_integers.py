"""Number theory: greatest common divisors and least common multiples."""

from typing import Any

from funcgrad.api.looping import while_loop
from funcgrad.base.basis import mul
from funcgrad.numpy._arithmetic import absolute, floor_divide, maximum, minimum
from funcgrad.numpy._promotion import (
    broadcast_together,
    choose,
    is_integer,
    like,
    promote_dtypes,
)
from funcgrad.numpy._reductions import any
from funcgrad.primitives.arithmetic import rem


def gcd(x1: Any, x2: Any) -> Any:
    """The greatest common divisor, not negative; 0 of two zeros."""
    return _gcd(*_integers("gcd", x1, x2))


def lcm(x1: Any, x2: Any) -> Any:
    """The least common multiple, not negative; 0 if either is 0."""
    a, b = _integers("lcm", x1, x2)
    divisor = _gcd(a, b)
    zero = divisor == 0
    quotient = floor_divide(b, choose(zero, like(1, divisor), divisor))
    return choose(zero, like(0, a), mul(a, quotient))


def _integers(name: str, x1: Any, x2: Any) -> list[Any]:
    x1, x2 = promote_dtypes(name, x1, x2)
    if not is_integer(x1):
        raise ValueError(f"Arguments to {name} must be integers, got dtype {x1.aval.dtype}.")
    return [absolute(x) for x in broadcast_together(name, [x1, x2])]


def _gcd(a: Any, b: Any) -> Any:
    """Euclid: (a, b) -> (b, a mod b) until b is 0, at all places together."""

    def step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        a, b = pair
        done = b == 0
        rest = rem(a, choose(done, like(1, b), b))
        return choose(done, a, b), choose(done, b, rest)

    return while_loop(lambda pair: any(pair[1] != 0), step, (maximum(a, b), minimum(a, b)))[0]
