"""Nothing is missing: every primitive has its rules and a sample, every public name a docstring."""

import contextlib
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import funcgrad
from answers import pull, smooth_part
from engines import OURS, family_files
from funcgrad.base.trace import Primitive, abstract_rules, evaluate_rules
from funcgrad.ir.jaxpr import Jaxpr, subprograms
from funcgrad.transforms import backward, batching, forward
from funcgrad.transforms.linearize import linearize_flat
from rows import Row
from samples import ROWS

family_files()
PRIMITIVES = sorted(abstract_rules, key=lambda p: p.name)

# Primitives whose derivative is asked for and does not exist.
NOT_DIFFERENTIABLE = {
    "geqrf": "its reflectors are not determined by the matrix alone; qr is what has a derivative",
    "schur": "JAX gives none either: eigenvalues may swap places",
    "hessenberg": "JAX gives none either",
    "tridiagonal": "JAX gives none either",
}
# Linear primitives that no reverse pass meets, and why they need no backward rule.
NO_BACKWARD: dict[str, str] = {}
# In a linear program, these still hold the primal computation that tangents travel with.
NOT_ONLY_LINEAR = ("while", "checkpoint", "custom_linear_solve", "custom_vmap_call")
# Primitives that no row of the table of samples leads to.
NO_SAMPLE = {
    "check": "has no result, and does not compile but as part of what checkify makes of it",
    "custom_lin": "made by linearize alone, where a custom_vjp function is differentiated",
}


def in_program(jaxpr: Jaxpr, closed: tuple[str, ...] = ()) -> Iterator[Primitive]:
    """The primitives of a program and of those inside it, but for the primitives in `closed`."""
    for eqn in jaxpr.eqns:
        yield eqn.primitive
        for inner in subprograms(eqn.params) if eqn.primitive.name not in closed else ():
            yield from in_program(getattr(inner, "jaxpr", inner), closed)


@cache
def sampled() -> dict[str, str]:
    """The primitives of the programs of all rows and of their derivatives, and a row of each."""
    found: dict[str, str] = {}

    def look(row: Row, function: Any, *args: Any) -> None:
        # A row that cannot be staged fails in the laws.
        with contextlib.suppress(Exception):
            for primitive in in_program(OURS.make_jaxpr(function)(*args).jaxpr):
                found.setdefault(primitive.name, row.name)

    for row in ROWS:
        look(row, row.make(OURS), *row.arguments())
    with OURS.x64():
        for row in ROWS:
            if row.order:
                run, primals = smooth_part(OURS, row)
                look(row, pull(OURS, row, run), *primals)
    return found


@cache
def linear_primitives() -> dict[str, str]:
    """The primitives that act on tangents in the linear program of some row, and that row."""
    found: dict[str, str] = {}
    with OURS.x64():
        for row in ROWS:
            run, primals = smooth_part(OURS, row)
            with contextlib.suppress(Exception):
                _, program = linearize_flat(run, primals)
                for primitive in in_program(program.jaxpr, closed=NOT_ONLY_LINEAR):
                    found.setdefault(primitive.name, row.name)
    return found


@pytest.mark.parametrize("primitive", PRIMITIVES, ids=str)
def test_primitive_has_its_rules(primitive: Primitive) -> None:
    assert primitive in evaluate_rules
    assert primitive in batching.rules
    assert (primitive in forward.rules) != (primitive.name in NOT_DIFFERENTIABLE)


def test_primitives_have_samples() -> None:
    missing = {p.name for p in PRIMITIVES} - set(sampled())
    assert missing == set(NO_SAMPLE)


def test_linear_primitives_have_backward_rules() -> None:
    named = {p.name for p in backward.rules}
    missing = {name: row for name, row in linear_primitives().items() if name not in named}
    assert set(missing) == set(NO_BACKWARD), f"primitive: row that leads to it\n{missing}"


def test_rules_belong_to_primitives() -> None:
    tables = (evaluate_rules, forward.rules, backward.rules, batching.rules)
    ours = {p for table in tables for p in table if p.impl is None}
    assert {p.name for p in ours if p not in abstract_rules} == set()


def test_exceptions_are_primitives() -> None:
    names = {p.name for p in PRIMITIVES}
    assert {*NOT_DIFFERENTIABLE, *NO_BACKWARD, *NO_SAMPLE} <= names


def public_modules() -> list[str]:
    """The root and every package and module under it that a user may import."""
    names = ["funcgrad"]
    for info in pkgutil.walk_packages(funcgrad.__path__, "funcgrad."):
        inner = info.name.split(".")[1]
        if inner not in INNER and not any(part.startswith("_") for part in info.name.split(".")):
            names.append(info.name)
    return names


INNER = {"base", "ir", "transforms", "primitives", "compiler", "api"}


def public_names(module: Any) -> list[str]:
    """What `__all__` lists; else what the module defines, or gathers if it defines nothing."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    names = [n for n, v in vars(module).items() if not (n.startswith("_") or inspect.ismodule(v))]
    own = [n for n in names if getattr(getattr(module, n), "__module__", "") == module.__name__]
    return own or names


def documented(value: Any) -> bool:
    """Functions and classes of ours say what they are; data and the types of others need not."""
    if not (inspect.isroutine(value) or inspect.isclass(value) or hasattr(value, "__wrapped__")):
        return True
    where = getattr(value, "__module__", None) or ""
    return not where.startswith("funcgrad") or bool((inspect.getdoc(value) or "").strip())


@pytest.mark.parametrize("name", public_modules())
def test_public_names_are_documented(name: str) -> None:
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip(), f"{name} has no docstring"
    missing = [n for n in public_names(module) if not hasattr(module, n)]
    assert not missing, f"listed but not there: {missing}"
    bare = [n for n in public_names(module) if not documented(getattr(module, n))]
    assert not bare, f"without a docstring: {bare}"
