"""Jaxprs as text: variables named a, b, c, ..., one equation a line, nested programs indented."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from funcgrad.base.source import function_name
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, DropVar, Eqn, Jaxpr, Literal, Var, slots

WIDTH = 100
HIDDEN = frozenset({"sharding", "out_sharding"})


def show_jaxpr(program: Jaxpr | ClosedJaxpr, source: bool = False) -> str:
    """The text of a program; with `source`, each equation is followed by the user's line."""
    return Printer(source).program(program)


class Printer:
    """Writes the parts of one program, whose variables it gives names as it meets them."""

    def __init__(self, source: bool):
        self.source = source
        self.names: dict[Var, str] = {}
        self.fresh: Iterator[str] = map(_letters, count())

    def name(self, var: Var) -> str:
        if isinstance(var, DropVar):
            return "_"
        if var not in self.names:
            self.names[var] = next(self.fresh)
        return self.names[var]

    def typed(self, var: Var) -> str:
        return f"{self.name(var)}:{_type(var)}"

    def atom(self, atom: Atom) -> str:
        if isinstance(atom, Literal):
            return f"{atom.val}:{_type(atom)}"
        return self.name(atom)

    def program(self, program: Jaxpr | ClosedJaxpr) -> str:
        jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
        constants = " ".join(map(self.typed, jaxpr.constvars))
        arguments = " ".join(map(self.typed, jaxpr.invars))
        head = f"{{ lambda {constants}; {arguments}. let".replace("{ lambda ;", "{ lambda ;")
        lines = [self.equation(e) for e in jaxpr.eqns]
        results = ", ".join(map(self.atom, jaxpr.outvars))
        comma = "," if len(jaxpr.outvars) == 1 else ""
        tail = f"in ({results}{comma}) }}"
        short = f"{head} {'; '.join(lines)} {tail}"
        if len(lines) <= 1 and "\n" not in short and len(short) <= WIDTH:
            return short
        body = "\n".join(_indent(line, 4) for line in lines)
        return f"{head}\n{body}\n  {tail}"

    def equation(self, eqn: Eqn) -> str:
        left = " ".join(map(self.typed, eqn.outvars))
        right = " ".join(map(self.atom, eqn.invars))
        params = [f"{k}={self.param(v)}" for k, v in sorted(eqn.params.items()) if k not in HIDDEN]
        flat = f"[{' '.join(params)}]" if params else ""
        text = f"{left} = {eqn.primitive.name}{flat} {right}".rstrip()
        if "\n" in text or len(text) > WIDTH:
            inner = "\n".join(_indent(p, 2) for p in params)
            text = f"{left} = {eqn.primitive.name}[\n{inner}\n] {right}".rstrip()
        if self.source and eqn.source:
            text += f"  # {eqn.source.describe()}"
        return text

    def param(self, value: Any) -> str:
        if isinstance(value, (Jaxpr, ClosedJaxpr)):
            return Printer(self.source).program(value)
        if isinstance(value, tuple) and any(isinstance(v, (Jaxpr, ClosedJaxpr)) for v in value):
            inner = "\n".join(_indent(self.param(v), 2) for v in value)
            return f"(\n{inner}\n)"
        if isinstance(value, np.dtype):
            return value.name
        if isinstance(value, type):
            return value.__name__
        if callable(value) and hasattr(value, "__name__"):
            return function_name(value)
        return str(value)


def _type(atom: Atom) -> str:
    return atom.aval.str_short(short_dtypes=True)


def _indent(text: str, by: int) -> str:
    return "\n".join(" " * by + line for line in text.split("\n"))


def _letters(index: int) -> str:
    """a, b, ..., z, ba, bb, ..."""
    digits = ""
    while True:
        digits = chr(ord("a") + index % 26) + digits
        index //= 26
        if not index:
            return digits


slots["show_jaxpr"] = show_jaxpr
