"""Tracers: what stands for an array inside a transformation, and its answers to Python's questions.

A tracer has no value to give, so each question for one raises an error that names the user's line
and the way out; kinds of tracers that know better override it.
"""

from typing import Any

import numpy as np

from funcgrad.base import source
from funcgrad.base.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)
from funcgrad.base.methods import Array


class Tracer(Array):
    """A stand-in for an array inside a transformation; `_trace` is the one it belongs to."""

    __slots__ = ("__weakref__", "_trace")

    _trace: Any  # a Trace; each kind of tracer has its own kind of trace

    def explain(self) -> str:
        """What this tracer is and why its value is not known, for error messages."""
        return f"It is traced by {self._trace.description}."

    def concretization_error(self, kind: type, attempt: str, way_out: str) -> Exception:
        place = source.user_source()
        where = f"\nAt {place.describe()}" if place else ""
        if not self._trace.alive:
            return self.leak_error()
        return kind(
            f"{attempt}, but its value is not known here: a traced array with shape "
            f"{self.aval.str_short()}. {self.explain()}\n{way_out}{where}"
        )

    def leak_error(self) -> UnexpectedTracerError:
        place = source.user_source()
        used = f"\nUsed at {place.describe()}" if place else ""
        return UnexpectedTracerError(
            f"An unexpected tracer: a leaked intermediate value of type {self.aval.str_short()} "
            f"was used after {self._trace.description}, which made it, had ended."
            f"{self.birthplace()}{used}\nA traced function must hand its values out by returning "
            "them, not by storing them in a global, an attribute, a closure or a generator."
        )

    def birthplace(self) -> str:
        """The line at which the tracer came to be, where that is known."""
        return ""

    def __bool__(self) -> bool:
        raise self.concretization_error(
            TracerBoolConversionError,
            "A boolean conversion (`if`, `while`, `and`, `not`, ...) of a traced array was tried",
            "Use funcgrad.numpy.where or funcgrad.lax.cond to choose by data, or mark the argument "
            "as static (static_argnums) if it is a setting.",
        )

    def _number(self, kind: str) -> Any:
        raise self.concretization_error(
            ConcretizationTypeError,
            f"`{kind}(x)` of a traced array was tried",
            f"Keep it an array: x.astype({kind}) casts under tracing. If the number is a setting, "
            "mark the argument it comes from as static (static_argnums or static_argnames).",
        )

    def __int__(self) -> int:
        return self._number("int")

    def __float__(self) -> float:
        return self._number("float")

    def __complex__(self) -> complex:
        return self._number("complex")

    def item(self, *index: int) -> Any:
        return self._number("item")

    def tolist(self) -> Any:
        return self._number("tolist")

    def __index__(self) -> int:
        raise self.concretization_error(
            TracerIntegerConversionError,
            "A traced array was used as a Python integer (`__index__`: a shape, a range, an index)",
            "Shapes and loop bounds must be known while tracing: mark the argument as static "
            "(static_argnums), or use funcgrad.lax.fori_loop or x[i] on an array.",
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise self.concretization_error(
            TracerArrayConversionError,
            "A NumPy function or np.asarray called `__array__` on a traced array",
            "Call the funcgrad.numpy function of the same name instead of NumPy's, or "
            "pure_callback for code that must run NumPy.",
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.aval.str_short()}>"

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        raise self.concretization_error(
            ConcretizationTypeError,
            f"Formatting a traced array with the format spec {spec!r} was tried",
            "Use funcgrad.debug.print('{x}', x=x), which prints when the compiled program runs.",
        )

    def __copy__(self) -> "Tracer":
        return self

    def __deepcopy__(self, memo: dict) -> "Tracer":
        return self

    def __reduce__(self) -> tuple:
        raise self.concretization_error(
            ConcretizationTypeError,
            "Pickling a traced array was tried",
            "Pickle the arrays that the traced function returns.",
        )

    def block_until_ready(self) -> "Tracer":
        return self

    def copy_to_host_async(self) -> None:
        """Nothing to copy while tracing."""
