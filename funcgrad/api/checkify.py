"""checkify: checks inside of transformed functions, whose failures come out as a value."""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import numpy as np

from funcgrad.api.flat import FlatFunction
from funcgrad.base.array import ConcreteArray, as_value
from funcgrad.base.aval import aval_of
from funcgrad.base.check_errors import (
    BatchedError,
    DivisionByZeroError,
    FailedCheckError,
    JaxException,
    NaNError,
    OOBError,
)
from funcgrad.base.dtypes import buffer_dtype
from funcgrad.base.errors import TracerBoolConversionError
from funcgrad.base.source import function_name, function_place, user_source
from funcgrad.base.tracer import Tracer
from funcgrad.base.tree import (
    PyTreeDef,
    register_pytree_node_class,
    tree_flatten,
    tree_structure,
    tree_unflatten,
)
from funcgrad.ir.jaxpr import DebugInfo
from funcgrad.primitives import checked_control, checked_results  # noqa: F401 - the rules
from funcgrad.primitives.check import check_p, described, first_member
from funcgrad.primitives.compare import bitwise_not
from funcgrad.transforms.checking import Sites, Watch, run_checked, site_of
from funcgrad.transforms.staging import stage

P = ParamSpec("P")
R = TypeVar("R")

ErrorCategory = type[JaxException]

user_checks: frozenset[ErrorCategory] = frozenset({FailedCheckError})
nan_checks: frozenset[ErrorCategory] = frozenset({NaNError})
div_checks: frozenset[ErrorCategory] = frozenset({DivisionByZeroError})
index_checks: frozenset[ErrorCategory] = frozenset({OOBError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


@register_pytree_node_class
class Error:
    """What a checked function knows of failures: none, or which check failed first.

    It is a pytree, so transformed functions may take and return it; `vmap` and `scan` give one that
    holds a failure for each member. Its truth and its message are for Python, outside of `jit`.
    """

    __slots__ = ("_flat", "_sites")

    def __init__(self, flat: Sequence[Any] = (), sites: Sites = ()):
        self._flat = tuple(flat)
        self._sites = sites

    def get(self) -> str | None:
        """The message of the failure, with the user's line; None if there is none.

        Of a batch, one line for each member that failed.
        """
        exception = self.get_exception()
        return None if exception is None else str(exception)

    def get_exception(self) -> JaxException | None:
        """The failure as an exception of the class of its category; None if there is none.

        Of a batch, a BatchedError, whose `error_mapping` has one for each index that failed.
        """
        if not self._sites:
            return None
        failed = self._flat[0]
        if isinstance(failed, Tracer):
            raise failed.concretization_error(
                TracerBoolConversionError,
                "The message of an Error was asked for",
                "Return the Error from the traced function, and ask what comes out of that.",
            )
        if not failed.aval.shape:
            return self._member(()) if failed else None
        found = {tuple(map(int, i)): self._member(tuple(i)) for i in np.argwhere(failed)}
        return BatchedError(found) if found else None

    def _member(self, index: tuple) -> Any:
        return described([leaf[index] if index else leaf for leaf in self._flat], self._sites)

    def throw(self) -> None:
        """Raise JaxRuntimeError with the message if there is a failure; `check_error` of it."""
        check_error(self)

    def tree_flatten(self) -> tuple[tuple, Sites]:
        """The arrays, and what is said about them."""
        return self._flat, self._sites

    @classmethod
    def tree_unflatten(cls, sites: Sites, flat: Sequence[Any]) -> "Error":
        """The opposite of `tree_flatten`."""
        return cls(flat, sites)

    def __repr__(self) -> str:
        if all(type(leaf) is ConcreteArray for leaf in self._flat):
            return f"Error({self.get()})"
        return f"Error(one of {len(self._sites)} checks, traced)"


init_error = Error()


def checkify(
    f: Callable[P, R], errors: Iterable[ErrorCategory] = user_checks
) -> Callable[P, tuple[Error, R]]:
    """A function that returns `(err, f(...))`, where `err` tells of the check that failed first.

    The checks become part of what is computed, so they work inside and outside of `jit`, `vmap`,
    `grad`, loops, branches and `pmap`, and cost no call of Python. After a failure `f` goes on.

    Args:
        f: a function of pytrees of arrays; other arguments are handed to it as they are.
        errors: what to look for, a union of sets: `user_checks` (what `check` says, the default),
            `nan_checks` (operations that give nan), `div_checks` (divisors that are 0),
            `index_checks` (indices out of bounds, whatever the mode of gather or scatter);
            `float_checks`, `automatic_checks` and `all_checks` are unions of them.

    Returns:
        A function with the arguments of `f`. Call `err.throw()` or `err.get()` on its `Error`.

    Raises:
        TypeError: if `errors` holds something else than those categories.

    The check that runs first counts, whatever its category; JAX sometimes prefers a later one.
    `vmap(checkify(f))` tells of each member. `checkify(vmap(f))` has one failure, that of the first
    member, and its automatic checks look at all that is computed, so also at what a member computes
    under `cond` or `while_loop` and does not take. Derivatives taken outside of `checkify` run the
    rules of custom_jvp and custom_vjp functions unchecked; `checkify(grad(f))` looks into them.

    Example:
        >>> import funcgrad.numpy as jnp
        >>> def root(x):
        ...     check(x >= 0, "{x} has no root", x=x)
        ...     return jnp.sqrt(x)
        >>> err, out = checkify(root)(jnp.float32(-4))
        >>> err.get().startswith("-4.0 has no root")
        True
    """
    if not callable(f):
        raise TypeError(f"checkify expects a function, got {f!r:.80}")
    categories = frozenset(errors)
    for category in categories:
        if category not in all_checks:
            raise TypeError(
                f"checkify of {function_name(f)}: errors is a union of user_checks, nan_checks, "
                f"div_checks and index_checks, and {category!r:.60} is in none of those"
            )

    @functools.wraps(f)
    def checked_fun(*args: P.args, **kwargs: P.kwargs) -> tuple[Error, R]:
        flat = FlatFunction(functools.partial(f, *args, **kwargs), tree_structure(((), {})))
        jaxpr, consts = stage(flat, [], DebugInfo(f"{function_place(f)} for checkify"))
        watch = Watch(categories)
        outs = run_checked(jaxpr, consts, [], watch)
        assert flat.out_tree is not None
        return Error(watch.flat(), watch.sites), tree_unflatten(flat.out_tree, outs)

    return checked_fun


@dataclass(frozen=True)
class Message:
    """A format string, and the tree of what is put into it."""

    template: str
    tree: PyTreeDef

    def text(self, values: Sequence[Any]) -> str:
        return f"{self.formatted(values)} (`check` failed)"

    def formatted(self, values: Sequence[Any]) -> str:
        args, kwargs = tree_unflatten(self.tree, values)
        return self.template.format(*args, **kwargs)


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Say that something must hold here; `checkify` collects it, otherwise a failure raises.

    Args:
        pred: a boolean scalar.
        msg: a format string that says what is wrong where pred is False.
        fmt_args, fmt_kwargs: pytrees of arrays and numbers, which `str.format` puts into it.
        debug: whether to do nothing where no `checkify` is around it.

    Raises:
        JaxRuntimeError: if pred is False and known.
        ValueError: from the compilation of a program (`jit`, `scan`, ...) that has a check which no
            `checkify` has collected.
        TypeError: if pred is no boolean scalar, or something to format is no array.
        IndexError, KeyError, ValueError: if the message cannot be formatted with what is given.
    """
    if not isinstance(msg, str):
        raise TypeError(f"check: the message is a format string, got {msg!r:.60}")
    if not _is_truth(pred):
        raise TypeError(
            f"check: pred is one truth value, a bool or a boolean array of shape (); got "
            f"{pred!r:.60}. Reduce an array with all() or any()."
        )
    leaves, tree = tree_flatten((fmt_args, fmt_kwargs))
    message = Message(msg, tree)
    values = [_formattable(leaf) for leaf in leaves]
    message.formatted([_sample(v) for v in values])
    site = site_of(FailedCheckError, message, user_source(), values)
    failed = bitwise_not(as_value(pred))
    check_p.bind(failed, np.int32(site.number), *values, sites=(site,), debug=debug)


def _is_truth(pred: Any) -> bool:
    if isinstance(pred, bool | np.bool_):
        return True
    try:
        aval = aval_of(pred)
    except TypeError:
        return False
    return aval.shape == () and aval.dtype == np.bool_


def _formattable(leaf: Any) -> Any:
    try:
        return as_value(leaf)
    except TypeError:
        raise TypeError(
            f"check: what goes into a message is an array or a number, or a pytree of those; got "
            f"{leaf!r:.60} of type {type(leaf).__name__}. Put other values into the text itself."
        ) from None


def _sample(value: Any) -> ConcreteArray:
    """An array of the type of a value, without memory of its own, to try a format with."""
    aval = value.aval
    return ConcreteArray(np.broadcast_to(np.zeros((), buffer_dtype(aval.dtype)), aval.shape), aval)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """A `check` that does nothing unless `checkify` collects it, so that it may stay in the code.

    The arguments are those of `check`.
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Fail here if `error` tells of a failure: raise it, or hand it to the `checkify` around.

    Args:
        error: an `Error`. Of a batch the first member that failed counts.

    Raises:
        JaxRuntimeError: with the message, where no `checkify` collects it.
        TypeError: if `error` is none.

    Example:
        >>> err, _ = checkify(lambda x: check(x > 0, "not positive"))(1.0)
        >>> check_error(err)
    """
    if not isinstance(error, Error):
        raise TypeError(
            f"check_error takes the Error that a checked function returns, got {error!r:.60} of "
            f"type {type(error).__name__}"
        )
    flat, sites = error.tree_flatten()
    if not sites:
        return
    if aval_of(flat[0]).size == 0:
        return
    flat = first_member(flat) if aval_of(flat[0]).shape else flat
    check_p.bind(*flat, sites=sites, debug=False)
