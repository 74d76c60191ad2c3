"""custom_jvp, custom_vjp, custom_gradient, closure_convert: derivative rules of the user's own."""

import inspect
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from funcgrad.api.flat import as_value, stage_call
from funcgrad.base.aval import ShapedArray, aval_of, dtype_name, tangent_aval, weak_like
from funcgrad.base.basis import convert
from funcgrad.base.dtypes import float0
from funcgrad.base.source import function_name
from funcgrad.base.trace import Tracer
from funcgrad.base.tree import (
    PyTreeDef,
    keystr,
    register_static,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from funcgrad.primitives.custom import SymbolicZero, custom_jvp_call_p, custom_vjp_call_p
from funcgrad.transforms.forward import instantiate_zeros, zeros_like_aval

R = TypeVar("R")


class CustomVJPPrimal(NamedTuple):
    """What a fwd rule with symbolic_zeros gets for each argument leaf."""

    value: Any
    perturbed: bool


class _Call(NamedTuple):
    """One call of a function with a custom rule, taken apart: what is differentiable and not."""

    leaves: list[Any]
    tree: PyTreeDef
    consts: list[Any]
    rebuild: Callable[[Sequence[Any]], list[Any]]


class _CustomFunction(Generic[R]):
    """What custom_jvp and custom_vjp share: positional arguments, and which are not differentiable."""

    def __init__(
        self,
        fun: Callable[..., R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ):
        update_wrapper(self, fun)
        self.fun = fun
        names = _parameter_names(fun)
        by_name = [names.index(n) for n in nondiff_argnames if n in names]
        self.nondiff_argnums = tuple(sorted({*nondiff_argnums, *by_name}))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return lambda *args, **kwargs: self(instance, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        raise TypeError("use custom_jvp or custom_vjp")

    def _positional(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """All arguments by position; rules are written for those."""
        if not kwargs:
            try:
                bound = inspect.signature(self.fun).bind(*args)
            except ValueError:
                return args
        else:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"{function_name(self.fun)} has a custom derivative rule, so its arguments must be "
                f"given by position; {sorted(bound.kwargs)} cannot be"
            )
        return bound.args

    def _take_apart(self, args: tuple) -> _Call:
        count = len(args)
        nondiff = {i % count for i in self.nondiff_argnums if -count <= i < count}
        dynamic = [a for i, a in enumerate(args) if i not in nondiff]
        static = [a for i, a in enumerate(args) if i in nondiff]
        leaves, tree = tree_flatten(tuple(dynamic))
        static_leaves, static_tree = tree_flatten(static)
        traced = [i for i, v in enumerate(static_leaves) if isinstance(v, Tracer)]

        def rebuild(consts: Sequence[Any]) -> list[Any]:
            filled = list(static_leaves)
            for i, value in zip(traced, consts, strict=True):
                filled[i] = value
            return tree_unflatten(static_tree, filled)

        checked = [self._leaf(x, i, dynamic) for i, x in enumerate(leaves)]
        return _Call(checked, tree, [static_leaves[i] for i in traced], rebuild)

    def _leaf(self, leaf: Any, index: int, dynamic: list[Any]) -> Any:
        try:
            return as_value(leaf)
        except TypeError:
            path = keystr(tree_flatten_with_path(tuple(dynamic))[0][index][0])
            raise TypeError(
                f"{function_name(self.fun)} has a custom derivative rule, so each argument must be "
                f"an array or number; argument {path} is {leaf!r:.60} of type {type(leaf)}. List it "
                "in nondiff_argnums if it is a setting."
            ) from None

    def _merged(self, static: list[Any], dynamic: Sequence[Any]) -> list[Any]:
        """The arguments in their places again."""
        total = len(static) + len(dynamic)
        nondiff = {i % total for i in self.nondiff_argnums if -total <= i < total}
        s, d = iter(static), iter(dynamic)
        return [next(s) if i in nondiff else next(d) for i in range(total)]


def _parameter_names(fun: Callable) -> list[str]:
    try:
        return list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        return []


class custom_jvp(_CustomFunction[R]):
    """A function with a forward-mode derivative rule of its own.

    Use as a decorator, then give the rule with `defjvp`; reverse mode follows by transposition, so
    the rule must be linear in the tangents. Arguments in `nondiff_argnums` are settings: the rule
    gets them first and says nothing about their derivative.

    Example:
        >>> @custom_jvp
        ... def f(x):
        ...     return np.sin(x)
        >>> @f.defjvp
        ... def f_jvp(primals, tangents):
        ...     (x,), (t,) = primals, tangents
        ...     return f(x), np.cos(x) * t
    """

    jvp: Callable | None = None
    symbolic_zeros: bool = False

    def defjvp(self, jvp: Callable, symbolic_zeros: bool = False) -> Callable:
        """Set the rule: `jvp(*nondiff, primals, tangents) -> (output, output tangent)`."""
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable | None) -> None:
        """Set the rule argument by argument: `jvps[i](tangent, output, *primals) -> tangent`."""
        if self.nondiff_argnums:
            raise TypeError("Can't use defjvps with nondiff_argnums; use defjvp.")

        def jvp(primals: Sequence, tangents: Sequence) -> tuple:
            out = self(*primals)
            zeros = tree_map(lambda o: instantiate_zeros(o, None), out)
            parts = [
                rule(t, out, *primals)
                for rule, t in zip(jvps, tangents, strict=True)
                if rule is not None
            ]
            total = tree_map(lambda *ts: sum(ts[1:], ts[0]), zeros, *parts)
            return out, total

        self.defjvp(jvp)

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {function_name(self.fun)} using defjvp."
            )
        call = self._take_apart(self._positional(args, kwargs))
        count = len(call.consts)
        out_tree: PyTreeDef | None = None

        def fun(*flat: Any) -> list[Any]:
            nonlocal out_tree
            dynamic = tree_unflatten(call.tree, flat[count:])
            out = self.fun(*self._merged(call.rebuild(flat[:count]), dynamic))
            outs, out_tree = tree_flatten(out)
            return [as_value(o) for o in outs]

        def jvp(*flat: Any) -> list[Any]:
            nonlocal out_tree
            size = len(call.leaves)
            static = call.rebuild(flat[:count])
            primals = tree_unflatten(call.tree, flat[count : count + size])
            tangents = tree_unflatten(call.tree, flat[count + size :])
            outs, out_tangents, out_tree = self._run_rule(static, primals, tangents)
            return [*outs, *out_tangents]

        outs = custom_jvp_call_p.bind(
            *call.consts,
            *call.leaves,
            fun=fun,
            jvp=jvp,
            num_consts=count,
            symbolic_zeros=self.symbolic_zeros,
            name=function_name(self.fun),
        )
        assert out_tree is not None
        return tree_unflatten(out_tree, outs)

    def _run_rule(self, static: list, primals: tuple, tangents: tuple) -> tuple:
        name = f"custom_jvp rule of {function_name(self.fun)}"
        assert self.jvp is not None
        pair = self.jvp(*static, primals, tangents)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"the {name} must produce a pair (list or tuple of length two) of the primal and "
                f"tangent outputs, got {pair!r:.100}"
            )
        outs, out_tree = tree_flatten(pair[0])
        out_tangents, tangent_tree = tree_flatten(pair[1])
        if out_tree != tangent_tree:
            raise TypeError(
                f"the {name} must produce primal and tangent outputs with equal container (pytree) "
                f"structures, got {out_tree} and {tangent_tree}"
            )
        outs = [as_value(o) for o in outs]
        checked = [self._check_tangent(name, o, t) for o, t in zip(outs, out_tangents, strict=True)]
        return outs, checked, out_tree

    def _check_tangent(self, name: str, out: Any, tangent: Any) -> Any:
        if isinstance(tangent, SymbolicZero):
            return tangent
        tangent = as_value(tangent) if getattr(tangent, "dtype", None) != float0 else tangent
        expected = tangent_aval(aval_of(out))
        got_shape, got_dtype = tangent.shape, tangent.dtype
        if (got_shape, got_dtype) != (expected.shape, expected.dtype):
            raise TypeError(
                f"the {name} must produce primal and tangent outputs with corresponding shapes and "
                f"dtypes: the output is {aval_of(out).str_short()}, so the tangent must be "
                f"{expected.str_short()}, got {dtype_name(got_dtype)}{list(got_shape)}"
            )
        return zeros_like_aval(expected) if got_dtype == float0 else tangent


class custom_vjp(_CustomFunction[R]):
    """A function with a reverse-mode derivative rule of its own.

    Give the rule as two functions with `defvjp(fwd, bwd)`: `fwd(*args) -> (output, residuals)` and
    `bwd(*nondiff, residuals, ct) -> tuple of cotangents`, one for each differentiable argument,
    None meaning zero. Forward mode works too: it uses the transpose of `bwd`.

    Example:
        >>> @custom_vjp
        ... def clip_gradient(x):
        ...     return x
        >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1, 1),))
    """

    fwd: Callable | None = None
    bwd: Callable | None = None
    symbolic_zeros: bool = False

    def defvjp(
        self,
        fwd: Callable,
        bwd: Callable,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rule; see the class."""
        if optimize_remat:
            raise NotImplementedError(
                "optimize_remat is not offered yet: leave it out, the result is the same"
            )
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {function_name(self.fun)} using defvjp."
            )
        call = self._take_apart(self._positional(args, kwargs))
        count = len(call.consts)
        out_tree: PyTreeDef | None = None
        res_tree: PyTreeDef | None = None

        def fun(*flat: Any) -> list[Any]:
            nonlocal out_tree
            dynamic = tree_unflatten(call.tree, flat[count:])
            out = self.fun(*self._merged(call.rebuild(flat[:count]), dynamic))
            outs, out_tree = tree_flatten(out)
            return [as_value(o) for o in outs]

        def fwd(*flat: Any, perturbed: Sequence[bool]) -> tuple[list[Any], list[Any]]:
            nonlocal out_tree, res_tree
            leaves = list(flat[count:])
            if self.symbolic_zeros:
                leaves = [CustomVJPPrimal(x, p) for x, p in zip(leaves, perturbed, strict=True)]
            static = call.rebuild(flat[:count])
            dynamic = tree_unflatten(call.tree, leaves)
            pair = self.fwd(*self._merged(static, dynamic))  # type: ignore[misc]
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(
                    f"the custom_vjp fwd rule of {function_name(self.fun)} must return a pair "
                    f"(tuple of length two) of the output and the residuals, got {pair!r:.100}"
                )
            outs, fwd_tree = tree_flatten(pair[0])
            if out_tree is not None and fwd_tree != out_tree:
                raise TypeError(
                    f"the custom_vjp fwd rule of {function_name(self.fun)} must return a first "
                    f"element with the structure of the function's output, {out_tree}, got "
                    f"{fwd_tree}"
                )
            out_tree = fwd_tree
            res, res_tree = tree_flatten((static_arrays(static), pair[1]))
            nonlocal static_values
            static_values = static
            return [as_value(o) for o in outs], [as_value(r) for r in res]

        static_values: list[Any] = []

        def bwd(*flat: Any) -> list[Any]:
            assert res_tree is not None and out_tree is not None
            size = res_tree.num_leaves
            statics, res = tree_unflatten(res_tree, flat[:size])
            ct = tree_unflatten(out_tree, flat[size:])
            static = put_back(static_values, statics)
            return self._run_bwd(static, res, ct, call)

        outs = custom_vjp_call_p.bind(
            *call.consts,
            *call.leaves,
            fun=fun,
            fwd=fwd,
            bwd=bwd,
            num_consts=count,
            symbolic_zeros=self.symbolic_zeros,
            name=function_name(self.fun),
        )
        assert out_tree is not None
        return tree_unflatten(out_tree, outs)

    def _run_bwd(self, static: list, res: Any, ct: Any, call: _Call) -> list[Any]:
        """Cotangents for each argument leaf, None where zero, checked against the arguments."""
        name = f"custom_vjp bwd rule of {function_name(self.fun)}"
        assert self.bwd is not None
        found = self.bwd(*static, res, ct)
        parts = call.tree.children()
        if isinstance(found, list):
            found = tuple(found)
        if not isinstance(found, tuple):
            raise TypeError(
                f"the {name} must return a tuple with one cotangent for each differentiable "
                f"argument ({len(parts)}), got {type(found).__name__}: {found!r:.80}. For one "
                "argument return (ct,)."
            )
        if len(found) != len(parts):
            raise TypeError(
                f"the {name} must return a tuple of {len(parts)} cotangents, one for each "
                f"differentiable argument, got {len(found)}"
            )
        leaves: list[Any] = []
        for i, (part, value) in enumerate(zip(parts, found, strict=True)):
            leaves += ct_leaves(name, i, part, value)
        expected = [tangent_aval(aval_of(x)) for x in call.leaves]
        return [check_ct(name, ct, a) for ct, a in zip(leaves, expected, strict=True)]


def static_arrays(static: list[Any]) -> list[Any]:
    """The traced leaves among non-differentiable arguments; they travel with the residuals."""
    return [x for x in tree_leaves(static) if isinstance(x, Tracer)]


def put_back(static: list[Any], values: Sequence[Any]) -> list[Any]:
    given = iter(values)
    return tree_map(lambda x: next(given) if isinstance(x, Tracer) else x, static)


def ct_leaves(name: str, index: int, part: PyTreeDef, value: Any) -> list[Any]:
    """The leaves of one argument's cotangent; None in it stands for a whole zero subtree."""
    if value is None:
        return [None] * part.num_leaves
    leaves, tree = tree_flatten(value, is_leaf=lambda x: x is None)
    if tree == part:
        return leaves
    try:
        subtrees = part.flatten_up_to(value)
    except (ValueError, TypeError):
        subtrees = None
    if subtrees is not None and all(
        s is None or not tree_structure(s).num_nodes > 1 for s in subtrees
    ):
        return subtrees
    raise TypeError(
        f"the {name} must return cotangents with the structure of the arguments: for argument "
        f"{index} that is {part}, got {tree_structure(value)}"
    )


def check_ct(name: str, ct: Any, expected: ShapedArray) -> Any:
    if ct is None or isinstance(ct, SymbolicZero) or expected.dtype == float0:
        return None
    if getattr(ct, "dtype", None) == float0:
        return None
    ct = as_value(ct)
    aval = aval_of(ct)
    if not weak_like(aval, expected):
        if aval.shape == expected.shape and np.can_cast(aval.dtype, expected.dtype, "same_kind"):
            return convert(ct, expected.dtype)
        raise ValueError(
            f"the {name} must return cotangents with the shapes and dtypes of the arguments: "
            f"expected {expected.str_short()}, got {aval.str_short()}"
        )
    return ct


def custom_gradient(fun: Callable) -> Callable:
    """A function that returns its output together with its own pullback.

    Args:
        fun: returns `(output, vjp)`, where `vjp(ct)` gives a cotangent for each argument (one
            alone need not be wrapped in a tuple).

    Example:
        >>> @custom_gradient
        ... def f(x):
        ...     return x**2, lambda ct: 100.0 * ct
    """

    @custom_vjp
    def wrapped(*args: Any) -> Any:
        return fun(*args)[0]

    def fwd(*args: Any) -> tuple:
        out, pull = fun(*args)
        ct = tree_map(as_value, out)
        pull, consts = closure_convert(pull, ct)
        return out, (_Opaque(pull), consts, len(args))

    def bwd(res: Any, ct: Any) -> tuple:
        pull, consts, count = res
        found = pull.value(ct, *consts)
        return found if isinstance(found, tuple) and len(found) == count else (found,)

    wrapped.defvjp(fwd, bwd)
    update_wrapper(wrapped, fun)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(fun).bind(*args, **kwargs)
        bound.apply_defaults()
        return wrapped(*bound.args)

    return update_wrapper(call, fun)


def closure_convert(fun: Callable, *example_args: Any) -> tuple[Callable, list[Any]]:
    """Make the arrays that a function closes over into arguments.

    Args:
        fun: a function that closes over traced values.
        example_args: arguments like those it will be called with.

    Returns:
        `(converted, consts)`: `converted(*args, *consts)` equals `fun(*args)`, and can be
        differentiated with respect to the consts.
    """
    staged = stage_call(fun, example_args, {}, "closure_convert")
    in_tree = tree_structure(example_args)
    count = in_tree.num_leaves

    def converted(*args_and_consts: Any) -> Any:
        args = args_and_consts[: len(example_args)]
        consts = args_and_consts[len(example_args) :]
        leaves = tree_leaves(args)
        if len(leaves) != count:
            raise TypeError(
                f"the converted function takes arguments of the tree {in_tree}, got "
                f"{tree_structure(args)}"
            )
        return tree_unflatten(staged.out_tree, staged.program(*consts, *map(as_value, leaves)))

    return converted, list(staged.operands)


def linear_call(
    fun: Callable, fun_transpose: Callable, residual_args: Any, linear_args: Any
) -> Any:
    """Call a function that is linear in `linear_args`, with a transpose of the user's own.

    Args:
        fun: `fun(residual_args, linear_args) -> output`.
        fun_transpose: `fun_transpose(residual_args, ct) -> cotangent of linear_args`.
    """

    @custom_vjp
    def call(res: Any, lin: Any) -> Any:
        return fun(res, lin)

    call.defvjp(
        lambda res, lin: (fun(res, lin), res),
        lambda res, ct: (None, fun_transpose(res, ct)),
    )
    return call(residual_args, linear_args)


@register_static
class _Opaque:
    """A function kept among the residuals of a rule."""

    def __init__(self, value: Callable):
        self.value = value
