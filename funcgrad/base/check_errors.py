"""The exceptions of checks: what `checkify` hands back, and what a check raises where it stands.

They have a file of their own because JAX calls one of them by a name that `errors` has already.
"""

from collections.abc import Mapping


class JaxRuntimeError(ValueError):
    """A check failed where nothing collects failures, or `throw` was called on one that did."""


class JaxException(Exception):
    """The base of the kinds of failures; `Error.get_exception` returns instances."""


class FailedCheckError(JaxException):
    """The predicate of a `check` was False."""


class NaNError(JaxException):
    """An operation gave nan."""


class DivisionByZeroError(JaxException):
    """A divisor was zero."""


class OOBError(JaxException):
    """An index lay outside of the axis it was for."""


class BatchedError(JaxException):
    """The failures of the members of a batch; `error_mapping` has one for each index."""

    def __init__(self, error_mapping: Mapping[tuple[int, ...], JaxException]):
        super().__init__(error_mapping)
        self.error_mapping = error_mapping

    def __str__(self) -> str:
        return "\n".join(
            f"at mapped index {', '.join(map(str, index))}: {error}"
            for index, error in self.error_mapping.items()
        )
