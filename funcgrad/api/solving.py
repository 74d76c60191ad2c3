"""custom_root and custom_linear_solve: solvers differentiated through what they solve."""

from collections.abc import Callable
from typing import Any

from funcgrad.api.custom_gradient import closure_convert
from funcgrad.api.custom_jvp import custom_jvp
from funcgrad.api.derivatives import jvp, linear_transpose
from funcgrad.api.flat import flat_values, stage_function
from funcgrad.base.array import as_value
from funcgrad.base.basis import neg
from funcgrad.base.source import function_name
from funcgrad.base.tree import tree_map, tree_structure, tree_unflatten
from funcgrad.primitives.linear_solve import Programs, check_solution, linear_solve_p
from funcgrad.transforms.forward import zeros_like_aval


def custom_root(
    f: Callable,
    initial_guess: Any,
    solve: Callable,
    tangent_solve: Callable,
    has_aux: bool = False,
) -> Any:
    """A root of f, found by `solve` and differentiated by the implicit function theorem.

    Args:
        f: the function whose root is sought, from a pytree to one of the same type.
        initial_guess: a pytree of arrays; the result does not depend on it differentiably.
        solve: `solve(f, initial_guess) -> x` with f(x) close to 0 (`-> (x, aux)` with `has_aux`).
        tangent_solve: `tangent_solve(g, y) -> x` with g(x) = y for a linear g, itself
            differentiable for reverse mode (`custom_linear_solve`, say).

    Returns:
        The root (and aux). The derivative with respect to what f closes over is
        -(df/dx)^-1 df/dparams, whatever `solve` does.
    """
    guess = tree_map(as_value, initial_guess)
    converted, consts = closure_convert(f, guess)
    _check_same_type("custom_root", f, guess)

    @custom_jvp
    def root(guess: Any, consts: list[Any]) -> Any:
        return solve(lambda x: converted(x, *consts), guess)

    @root.defjvp
    def root_jvp(primals: tuple, tangents: tuple) -> tuple:
        (guess, consts), (_, const_tangents) = primals, tangents
        out = root(guess, consts)
        solution, aux = out if has_aux else (out, None)
        # f(x(p), p) = 0 for all p, so (df/dx) dx = -(df/dp) dp.
        _, moved = jvp(lambda *c: converted(solution, *c), tuple(consts), tuple(const_tangents))

        def slope(v: Any) -> Any:
            return jvp(lambda x: converted(x, *consts), (solution,), (v,))[1]

        dx = tangent_solve(slope, tree_map(neg, moved))
        if not has_aux:
            return out, dx
        return out, (dx, tree_map(lambda a: zeros_like_aval(a.aval), aux))

    return root(guess, consts)


def _check_same_type(name: str, f: Callable, x: Any) -> None:
    leaves, tree = flat_values(x)
    staged = stage_function(f, tree_structure(((x,), {})), [v.aval for v in leaves], name)
    got = [(a.shape, a.dtype) for a in staged.program.out_avals]
    if staged.out_tree != tree or got != [(v.aval.shape, v.aval.dtype) for v in leaves]:
        raise TypeError(
            f"{name}: {function_name(f)} must map its argument to a value of the same tree, shapes "
            f"and dtypes; got {[a.str_short() for a in staged.program.out_avals]} in "
            f"{staged.out_tree} from {[v.aval.str_short() for v in leaves]} in {tree}"
        )


def custom_linear_solve(
    matvec: Callable,
    b: Any,
    solve: Callable,
    transpose_solve: Callable | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution x of matvec(x) = b by a solver of the user's, with derivatives by solving.

    Args:
        matvec: a linear function from a pytree like b to one like b.
        b: the right-hand side, a pytree of arrays.
        solve: `solve(matvec, b) -> x`; need not be differentiable.
        transpose_solve: `transpose_solve(vecmat, b) -> x` for the transposed matrix, needed for
            reverse mode.
        symmetric: whether the matrix is symmetric, so that `solve` serves for both.
        has_aux: whether the solvers return `(x, aux)`.

    Returns:
        x (and aux).
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    if has_aux:
        return _with_aux(matvec, b, solve, transpose_solve)
    leaves, tree = flat_values(b)
    avals = [v.aval for v in leaves]
    in_tree = tree_structure(((b,), {}))
    _check_same_type("custom_linear_solve", matvec, b)

    def staged(function: Callable, label: str) -> tuple[Any, list[Any]]:
        made = stage_function(function, in_tree, avals, f"custom_linear_solve {label}")
        return made.program, made.operands

    def solver(solve: Callable, apply: Callable) -> Callable:
        def run(rhs: Any) -> Any:
            out = solve(apply, rhs)
            if tree_structure(out) != tree:
                raise TypeError(
                    f"custom_linear_solve: {function_name(solve)} must return the tree of b, "
                    f"{tree}, got {tree_structure(out)}"
                )
            return out

        return run

    def vecmat(v: Any) -> Any:
        (out,) = linear_transpose(matvec, b)(v)
        return out

    programs: list[Any] = []
    groups: list[list[Any]] = []
    for function, label in (
        (matvec, "matvec"),
        (vecmat if transpose_solve else None, "vecmat"),
        (solver(solve, matvec), "solve"),
        (solver(transpose_solve, vecmat) if transpose_solve else None, "transpose_solve"),
    ):
        program, operands = staged(function, label) if function else (None, [])
        programs.append(program)
        groups.append(operands)
    check_solution("solve", leaves, programs[2].out_avals)
    counts: Any = tuple(len(g) for g in groups)
    outs = linear_solve_p.bind(
        *(c for group in groups for c in group),
        *leaves,
        programs=Programs(*programs, counts=counts),
    )
    return tree_unflatten(tree, outs)


def _with_aux(
    matvec: Callable, b: Any, solve: Callable, transpose_solve: Callable | None
) -> tuple[Any, Any]:
    """The solution as without aux; aux from running the solver on stopped values."""

    def without(solver: Callable | None) -> Callable | None:
        return None if solver is None else lambda apply, rhs: solver(apply, rhs)[0]

    x = custom_linear_solve(matvec, b, without(solve), without(transpose_solve))  # type: ignore
    _, aux = solve(matvec, b)
    return x, aux
