"""The jaxpr: a typed program as data, which every transformation reads and writes.

A program binds its constants and arguments, runs its equations in order, and returns its outputs.
Each variable is assigned once; each equation applies one primitive.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from funcgrad.base.array import ConcreteArray, as_array
from funcgrad.base.aval import ShapedArray
from funcgrad.base.memo import context_key
from funcgrad.base.source import Place
from funcgrad.base.trace import NO_EFFECTS, Effects, Primitive

# What programs are run and shown by: filled by ir.evaluate and ir.show, which stand above.
slots: dict[str, Callable[..., Any]] = {}


class Var:
    """A variable: a place in a program, with the aval of what it holds."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short(short_dtypes=True)}"


class DropVar(Var):
    """An output that nobody reads, printed as `_`."""

    __slots__ = ()


class Literal:
    """A scalar written into the program."""

    __slots__ = ("array", "aval")

    def __init__(self, val: Any, aval: ShapedArray | None = None):
        array = as_array(val)
        self.array = array if aval is None else ConcreteArray(array.buffer, aval)
        self.aval: ShapedArray = self.array.aval

    @property
    def val(self) -> Any:
        return self.array.buffer[()]

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short(short_dtypes=True)}"

    def same(self, other: object) -> bool:
        """Whether two literals hold the same bits of the same type."""
        return (
            isinstance(other, Literal)
            and self.aval == other.aval
            and self.array.tobytes() == other.array.tobytes()
        )


Atom = Var | Literal


class Eqn(NamedTuple):
    """outvars = primitive[params](invars), and the user's line it came from."""

    invars: list[Atom]
    outvars: list[Var]
    primitive: Primitive
    params: dict[str, Any]
    effects: Effects
    source: Place | None

    def replace(self, **changes: Any) -> "Eqn":
        return self._replace(**changes)

    def __repr__(self) -> str:
        from_args = " ".join(map(repr, self.invars))
        return f"{' '.join(map(repr, self.outvars))} = {self.primitive.name} {from_args}"


# A NamedTuple's own constructor is a Python function, twice as slow as the tuple's.
new_eqn: Callable[[tuple], Eqn] = partial(tuple.__new__, Eqn)


class DebugInfo(NamedTuple):
    """What errors and printing call a program and its arguments."""

    function: str = "<unknown>"
    arg_names: tuple[str, ...] = ()
    result_paths: tuple[str, ...] = ()

    @property
    def func_name(self) -> str:
        return self.function.partition(" at ")[0]


class Jaxpr:
    """A program whose constants are still variables."""

    __slots__ = (
        "__weakref__",
        "constvars",
        "debug_info",
        "effects",
        "eqns",
        "invars",
        "outvars",
    )

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[Eqn],
        effects: Effects = NO_EFFECTS,
        debug_info: DebugInfo | None = None,
    ):
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        self.effects = effects
        self.debug_info = debug_info or DebugInfo()

    def replace(self, **changes: Any) -> "Jaxpr":
        """The same with some fields changed."""
        fields = {
            name: changes.pop(name, getattr(self, name))
            for name in self.__slots__
            if name != "__weakref__"
        }
        if changes:
            raise TypeError(f"a Jaxpr has no field {', '.join(changes)}")
        return Jaxpr(**fields)

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.outvars]

    is_high = False  # whether it has types that only a library understands

    def pretty_print(self, *, source_info: bool = False, **_: Any) -> str:
        """The program as text; with the user's line of each equation if `source_info`."""
        return slots["show_jaxpr"](self, source=source_info)

    def __repr__(self) -> str:
        return slots["show_jaxpr"](self)


class ClosedJaxpr:
    """A program together with the values of its constants; calling it runs it on flat arguments."""

    __slots__ = ("__weakref__", "_derived", "consts", "jaxpr")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()):
        assert len(consts) == len(jaxpr.constvars)
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self._derived: dict[Hashable, Any] = {}

    def __call__(self, *args: Any) -> tuple:
        return slots["eval_jaxpr"](self.jaxpr, self.consts, *args)

    def derived(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `make()` gives, remembered on this program for `key` and the present context."""
        full = (key, context_key())
        try:
            return self._derived[full]
        except KeyError:
            value = self._derived[full] = make()
            return value

    @property
    def in_avals(self) -> list[ShapedArray]:
        return self.jaxpr.in_avals

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self.jaxpr.out_avals

    @property
    def constvars(self) -> list[Var]:
        return self.jaxpr.constvars

    @property
    def invars(self) -> list[Var]:
        return self.jaxpr.invars

    @property
    def outvars(self) -> list[Atom]:
        return self.jaxpr.outvars

    @property
    def debug_info(self) -> DebugInfo:
        return self.jaxpr.debug_info

    @property
    def eqns(self) -> list[Eqn]:
        return self.jaxpr.eqns

    @property
    def effects(self) -> Effects:
        return self.jaxpr.effects

    @property
    def literals(self) -> list[Any]:
        return self.consts

    def replace(
        self, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None
    ) -> "ClosedJaxpr":
        """The same with another jaxpr or other constants."""
        return ClosedJaxpr(jaxpr or self.jaxpr, self.consts if consts is None else consts)

    is_high = False

    def map_jaxpr(self, function: Callable[[Jaxpr], Jaxpr]) -> "ClosedJaxpr":
        """The same constants with what a function makes of the program."""
        return ClosedJaxpr(function(self.jaxpr), self.consts)

    def pretty_print(self, *, source_info: bool = False, **_: Any) -> str:
        """The program as text; with the user's line of each equation if `source_info`."""
        return slots["show_jaxpr"](self, source=source_info)

    def __repr__(self) -> str:
        return slots["show_jaxpr"](self)

    def __reduce__(self) -> tuple:
        return (ClosedJaxpr, (self.jaxpr, self.consts))


def subprograms(params: dict[str, Any]) -> Iterator[Jaxpr | ClosedJaxpr]:
    """The programs that an equation carries among its params."""
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, (Jaxpr, ClosedJaxpr)):
                yield item


def carries_program(params: dict[str, Any]) -> bool:
    return next(subprograms(params), None) is not None


def joined_effects(eqns: Sequence[Eqn]) -> Effects:
    """The effects of running all of the equations."""
    return frozenset().union(*[e.effects for e in eqns]) if eqns else NO_EFFECTS
