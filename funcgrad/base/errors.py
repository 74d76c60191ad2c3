"""Every exception class that funcgrad raises of its own, with why it happens and the way out."""


class JAXTypeError(TypeError):
    """The base of the errors about traced values and keys that are type errors."""


class JAXIndexError(IndexError):
    """The base of the errors about traced values that are index errors."""


class JaxRuntimeError(RuntimeError):
    """The base of the errors about running programs: making their code, and memory for them."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where Python needs the number itself.

    Under `jit`, `vmap`, `scan` and the like a function runs on tracers: values whose shape and
    dtype are known but whose elements are not. Whatever needs the elements while the function is
    being traced (a Python `if`, `int(x)`, a shape computed from data) cannot work. Use
    `lax.cond`/`where` for choices, `static_argnums` for arguments that are really settings.
    """


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was used as a condition, as in `if x > 0:`; use `where` or `lax.cond`."""


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced value was used as a Python integer, as in `range(n)` or `[...][i]`."""


class TracerArrayConversionError(ConcretizationTypeError):
    """A traced value was handed to NumPy; call the `funcgrad.numpy` function instead."""


class NonConcreteBooleanIndexError(ConcretizationTypeError, JAXIndexError):
    """A traced boolean mask was used as an index, so the result's shape depends on data."""


class UnexpectedTracerError(JAXTypeError):
    """A tracer outlived the transformation that made it: it was stored somewhere and used later."""


class KeyReuseError(JAXTypeError):
    """A random key was consumed twice while `debug_key_reuse` was on."""


class TypePromotionError(ValueError):
    """Two dtypes have no implicit common dtype; cast one of them with `astype`."""


class DonatedBufferError(RuntimeError):
    """An Array was used after it had been donated to a call or deleted."""


class UnboundAxisNameError(NameError):
    """A collective named an axis that no enclosing `vmap` or `pmap` binds."""


class CodeGenerationError(JaxRuntimeError):
    """Generated code was refused by LLVM or its linker: a fault of funcgrad itself."""


class OutOfMemoryError(MemoryError, JaxRuntimeError):
    """Memory for an array was refused; the message says how much was asked and what is in use."""
