"""What code is generated for: a processor's name, its features, and the width of its vectors."""

import functools
from typing import NamedTuple

from funcgrad.base.config import config
from funcgrad.compiler.loops import BITS

# The levels of each architecture, best first, with what a processor must have for them.
LEVELS = {
    "x86_64": {
        "avx512": ("avx512f", "avx512bw", "avx512dq", "avx512vl", "fma"),
        "avx2": ("avx2", "fma", "f16c"),
        "sse2": (),
    },
    "aarch64": {"neon": ()},
}
# Turning off one feature turns off all that build on it.
ABSENT = {"avx2": ("avx512f",), "sse2": ("sse3",)}
VECTOR_BYTES = {"avx512": 64, "avx2": 32, "sse2": 16, "neon": 16}


class Target(NamedTuple):
    """A processor as the code generator sees it; equal Targets give equal code."""

    triple: str
    cpu: str
    features: str
    isa: str
    vector_bytes: int
    fma: bool
    bf16_dot: bool
    int8_dot: bool

    def lanes(self, dtype: str) -> int:
        """How many elements one vector register holds."""
        return self.vector_bytes * 8 // BITS[dtype]


AVX512 = Target(
    "x86_64-unknown-linux-gnu",
    "x86-64-v4",
    "+avx512f,+avx512bw,+avx512dq,+avx512vl,+fma,+f16c",
    "avx512",
    64,
    fma=True,
    bf16_dot=False,
    int8_dot=False,
)
AVX2 = Target(
    "x86_64-unknown-linux-gnu",
    "x86-64-v3",
    "+avx2,+fma,+f16c",
    "avx2",
    32,
    fma=True,
    bf16_dot=False,
    int8_dot=False,
)
SSE2 = Target(
    "x86_64-unknown-linux-gnu",
    "x86-64",
    "+sse2",
    "sse2",
    16,
    fma=False,
    bf16_dot=False,
    int8_dot=False,
)
NEON = Target(
    "aarch64-unknown-linux-gnu",
    "generic",
    "+neon",
    "neon",
    16,
    fma=True,
    bf16_dot=False,
    int8_dot=False,
)


def architecture(triple: str) -> str:
    """The first part of a triple, under one spelling."""
    first = triple.split("-")[0].lower()
    return {"amd64": "x86_64", "arm64": "aarch64", "arm64e": "aarch64"}.get(first, first)


def host_target() -> Target:
    """The processor this process runs on, at the level that `config.isa` asks for."""
    return _host_target(config.isa)


@functools.cache
def _host_target(wanted: str | None) -> Target:
    from llvmlite import binding

    present = {name for name, has in binding.get_host_cpu_features().items() if has}
    return choose(binding.get_process_triple(), binding.get_host_cpu_name(), present, wanted)


def choose(triple: str, cpu: str, present: set[str], wanted: str | None = None) -> Target:
    """The Target of a processor with these features, at its best level or the one wanted."""
    levels = LEVELS.get(architecture(triple))
    if levels is None:
        raise ValueError(
            f"there is no code generator for {triple}; there is for {', '.join(LEVELS)}."
        )
    possible = [level for level, needed in levels.items() if present.issuperset(needed)]
    isa = possible[0] if wanted is None else wanted
    if isa not in possible:
        raise ValueError(
            f"isa={wanted!r} was asked for, and this processor ({cpu}) can run "
            f"{', '.join(map(repr, possible))}; set config.isa (FUNCGRAD_ISA) to one of these."
        )
    absent = ABSENT.get(isa, ())
    features = [f"+{name}" for name in sorted(present)] + [f"-{name}" for name in absent]
    wide = isa == "avx512"
    return Target(
        triple,
        cpu,
        ",".join(features),
        isa,
        VECTOR_BYTES[isa],
        fma=isa != "sse2",
        bf16_dot=wide and "avx512bf16" in present,
        int8_dot=(wide and "avx512vnni" in present) or (isa == "avx2" and "avxvnni" in present),
    )
