"""Checking: make a program's checks part of what it computes.

A checked program has further outputs: whether anything failed, the number of the check that failed
first, and the values that its message shows. Only where they are read does a message appear.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from funcgrad.base.array import as_value
from funcgrad.base.aval import ShapedArray, shaped
from funcgrad.base.basis import convert, select_n
from funcgrad.base.check_errors import JaxException
from funcgrad.base.dtypes import KeyType
from funcgrad.base.lists import cut
from funcgrad.base.memo import Cache
from funcgrad.base.source import Place, inherited_source
from funcgrad.base.trace import Effects, Primitive
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Jaxpr, Literal
from funcgrad.transforms.forward import zeros_like_aval
from funcgrad.transforms.staging import stage_closed

# The types of the values that a message shows; checks that agree in them share their outputs.
Kind = tuple[ShapedArray, ...]

FAILED, NUMBER = shaped((), np.dtype(np.bool_)), shaped((), np.dtype(np.int32))


@dataclass(frozen=True)
class CheckEffect:
    """An equation with this effect is a check, or has one inside that nothing collects yet."""

    debug: bool = False


class Describe(Protocol):
    """Says what went wrong; hashable, equal ones saying the same."""

    def text(self, values: Sequence[Any]) -> str: ...


@dataclass(frozen=True, repr=False)
class Site:
    """A place in the user's code where something can fail, and its number in programs."""

    category: type[JaxException]
    describe: Describe
    place: Place | None
    kind: Kind
    number: int

    def exception(self, values: Sequence[Any]) -> JaxException:
        """The failure at this place, with the values that belong to it."""
        where = f" at {self.place.describe()}" if self.place else ""
        return self.category(f"{self.describe.text(values)}{where}")

    def __repr__(self) -> str:
        return f"<{self.category.__name__} at {self.place}>"


Sites = tuple[Site, ...]

_numbers = itertools.count()
_sites: Cache = Cache()


def site_of(
    category: type[JaxException], describe: Describe, place: Place | None, values: Sequence[Any]
) -> Site:
    """The one site of that description; a number is given only once."""
    kind = tuple(v.aval.strip_weak_type() for v in values)
    key = category, describe, place, kind
    found = _sites.get(key)
    if found is None:
        found = _sites[key] = Site(*key, next(_numbers))
    return found


def kinds_of(sites: Iterable[Site]) -> list[Kind]:
    """The kinds of values that the sites have, each once."""
    return list(dict.fromkeys(site.kind for site in sites))


class Failure(NamedTuple):
    """What is known of failures at some point: the first one counts."""

    failed: Any
    number: Any
    values: dict[Kind, Sequence[Any]]

    def flat(self, sites: Sites) -> list[Any]:
        """The values that a program hands on, with zeros for kinds that cannot have failed yet."""
        values = [self.values.get(k) or map(zeros_like_aval, k) for k in kinds_of(sites)]
        return [self.failed, self.number, *itertools.chain(*values)]


def failure_of(flat: Sequence[Any], sites: Sites) -> Failure:
    """The opposite of `Failure.flat`."""
    kinds = kinds_of(sites)
    (failed, number), *values, _ = cut(flat, 2, *map(len, kinds))
    return Failure(failed, number, dict(zip(kinds, values, strict=True)))


def flat_avals(sites: Sites) -> list[ShapedArray]:
    """The types of `Failure.flat`; nothing at all where nothing can fail."""
    return [FAILED, NUMBER, *itertools.chain(*kinds_of(sites))] if sites else []


def no_failure(sites: Sites) -> list[Any]:
    """`Failure.flat` as long as nothing has failed."""
    return [zeros_like_aval(a) for a in flat_avals(sites)]


def first_of(old: Failure | None, new: Failure) -> Failure:
    """The failure that came first, `old` being the earlier one if there are two."""
    if old is None:
        return new

    def chosen(before: Any, after: Any) -> Any:
        return select_n(old.failed, after, before)

    values = {**old.values, **new.values}
    for kind in old.values.keys() & new.values.keys():
        values[kind] = [*map(chosen, old.values[kind], new.values[kind])]
    failed = select_n(old.failed, new.failed, old.failed)
    return Failure(failed, chosen(old.number, new.number), values)


class Watch:
    """What a run of a program has met so far: places that can fail, and the first failure."""

    def __init__(self, categories: frozenset[type[JaxException]]):
        self.categories = categories
        self._sites: dict[int, Site] = {}
        self._failure: Failure | None = None

    @property
    def sites(self) -> Sites:
        return tuple(self._sites.values())

    def flat(self) -> list[Any]:
        """The failure as values of a program; none where nothing can fail."""
        return [] if self._failure is None else self._failure.flat(self.sites)

    def asks_for(self, category: type[JaxException]) -> bool:
        return category in self.categories

    def fail_if(
        self,
        failed: Any,
        category: type[JaxException],
        describe: Describe,
        place: Place | None,
        *values: Any,
    ) -> None:
        """From here on there is a failure where `failed`, a boolean scalar, holds."""
        site = site_of(category, describe, place, values)
        number = as_value(np.int32(site.number))
        self.join([failed, number, *map(strong, values)], (site,))

    def join(self, flat: Sequence[Any], sites: Sites) -> None:
        """From here on there is a failure where there was one, or where one is given."""
        self._failure = first_of(self._failure, failure_of(flat, sites))
        self._sites.update((site.number, site) for site in sites)

    def taken(self, sites: Sites, outs: Sequence[Any]) -> list[Any]:
        """The outputs of a checked program without those about failures, which are joined."""
        flat, rest = cut(outs, len(flat_avals(sites)))
        if sites:
            self.join(flat, sites)
        return rest


def strong(value: Any) -> Any:
    """The value without a weak type."""
    dtype = value.aval.dtype
    return value if isinstance(dtype, KeyType) else convert(value, dtype)


Rule = Callable[[Watch, Eqn, Sequence[Any]], Sequence[Any]]

# (watch, eqn, values) -> outs
rules: dict[Primitive, Rule] = {}

# What the primitives without a rule of their own do; filled by the file about their results.
defaults: list[Rule] = []


def run_checked(
    jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], watch: Watch
) -> list[Any]:
    """The outputs of a program, `watch` looking on."""
    env: dict[Atom, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Atom) -> Any:
        return atom.array if isinstance(atom, Literal) else env[atom]

    outer = inherited_source.set(None)
    try:
        for eqn in jaxpr.eqns:
            inherited_source.set(eqn.source)
            rule = rules.get(eqn.primitive) or defaults[0]
            outs = rule(watch, eqn, [read(v) for v in eqn.invars])
            env.update(zip(eqn.outvars, outs, strict=True))
    finally:
        inherited_source.reset(outer)
    return [read(v) for v in jaxpr.outvars]


class Checked(NamedTuple):
    """A program whose first outputs tell of failures at these sites, if there are any."""

    program: ClosedJaxpr
    sites: Sites

    def split(self, outs: Sequence[Any]) -> list[list[Any]]:
        """Outputs about failures, and those of the program that was checked."""
        return cut(outs, len(flat_avals(self.sites)))

    def failure(self, *args: Any) -> list[Any]:
        """The outputs about failures alone."""
        return self.split(self.program(*args))[0]


def checked_program(program: ClosedJaxpr, categories: frozenset[type[JaxException]]) -> Checked:
    """The program with its failures of these categories among its outputs."""

    def make() -> Checked:
        found: list[Sites] = []

        def run(*args: Any) -> list[Any]:
            watch = Watch(categories)
            outs = run_checked(program.jaxpr, program.consts, args, watch)
            found.append(watch.sites)
            return [*watch.flat(), *outs]

        closed, operands = stage_closed(run, program.in_avals, program.debug_info)
        assert not operands
        same = not found[0] and not has_check(program.effects)
        return Checked(program if same else closed, found[0])

    return program.derived(("checked", categories), make)


def has_check(effects: Effects) -> bool:
    """Whether what has these effects is a check, or has one inside."""
    return any(isinstance(effect, CheckEffect) for effect in effects)
