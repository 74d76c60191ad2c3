"""The layout of the package as data, and a checker that holds every file against it.

A file imports only from floors below its own, or from files earlier in its own folder's order.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = "funcgrad"

# From the bottom up. Folders on one floor do not see each other, except as SIDEWAYS says.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("base",),
    ("ir",),
    ("transforms", "compiler"),
    ("primitives",),
    ("api", "lax", "dist"),
    ("numpy", "random", "scipy", "image", "sparse"),
)
# The floors on which a folder also sees those to its left.
SIDEWAYS = (4, 5)

# Above the floors: modules and packages that show names under JAX's paths, without code.
VIEWS = frozenset(
    """
    ad_checkpoint api_util core custom_batching custom_derivatives custom_transpose debug
    distributed dlpack dtypes errors experimental extend ffi flatten_util interpreters monitoring
    ops ref sharding stages test_util tree tree_util typing version
    """.split()
)
# What a view may define all the same, as (module, name).
VIEW_DEFINITIONS: frozenset[tuple[str, str]] = frozenset()

# On top: packages that import only what a user could.
WINGS = frozenset(
    "nn optim data train serve quant testing export profiler example_libraries compat".split()
)

# The order inside a folder. Where none is listed, any order without a circle will do.
ORDERS: dict[str, tuple[str, ...]] = {
    folder: tuple(names.split())
    for folder, names in {
        "base": """switches config source errors check_errors events axes lists memo dtypes
            promotion scalar_types keypaths treenodes treekinds treediff treeproto treedef
            treeflatten treeprefix treeregister tree backend mesh placement aval shapes methods
            typing array shortage tracer trace basis""",
        "ir": "jaxpr effects evaluate check show cost",
        "transforms": "staging forward batching partial backward linearize masking taylor checking",
        "compiler": """loops loopcheck reference narrow lowering loopshow elementary passes fuse
            kernels tiling partial registers updating steps schedule buffers traffic disk
            pages llvm describe shortage executable native portable dispatch pipeline""",
        "compiler.passes": "inline fold simplify widen cse dce loops sink",
        "compiler.elementary": """floats exponential logarithm hyperbolic trigonometric
            inverse_trigonometric error_function inverse_error_function gamma powers bessel
            neighbor remainder""",
        "compiler.llvm": """target engine systems arrays writer elements conversions extrema
            operations plan width stream partial ranges rare evaluation transpose memory
            accumulators emit functions sequence parallel pool gemm conv library values control
            program""",
        "compiler.llvm.gemm": """scheme road micro vector pack blocks finish drive product""",
        "compiler.llvm.conv": """places copy steps problem forward few gradient depthwise_rows
            depthwise plans""",
        "primitives": """nary structural pieces cast compare complex_parts arithmetic
            exponential trigonometric reduction precision matrix_product contraction_spec
            contraction_lowering contraction combiner folding indexing_spec indexing gathering
            scatter_derivatives scattering slicing axis_slicing sliding selecting select_scatter
            window convolution_spec patches convolution_lowering convolution sorting cumulative
            bits key_reuse keys call remat custom custom_batching branch loop scan while_loop
            special incomplete gamma normal integrals harmonics hypergeometric random_gamma fft
            linalg_lapack linalg_matrix linalg_solve linalg_cholesky linalg_lu linalg_qr
            linalg_eig linalg_svd linalg_polar linalg_reduce linalg_sylvester collective
            exchange mapped linear_solve host taylor_rules taylor_control
            check checked_results checked_control""",
        "api": """rule_tables derivative_rules batching_rules lowering_rules linear_functions
            programs trace_state compile_time flat refs statics grad vmap derivatives stages
            serialize compilelog explain meshes jit inspect custom custom_jvp custom_vjp
            custom_gradient decisions checkpoint callbacks debugger collectives agreement
            branching looping custom_vmap prefix solving monitoring check_derivatives devices
            ravel flattening exchanging environment two_halves rule_helpers residuals taylor
            checkify""",
        "dist": "mesh threads mpi nccl spmd shard_map pmap",
        "sparse": """base coordinates layouts shapes slicing products operators indexing bcoo making
            derivatives""",
    }.items()
}

# Packages that no user imports: their `__init__`, and that of every folder inside, is empty.
INNER = frozenset("base ir transforms primitives compiler api".split())

# The modules that may run source: generated, or typed in by the user of the debugger.
GENERATORS = frozenset({"base.tree", "compiler.dispatch", "api.debugger"})


@dataclass(frozen=True)
class Module:
    """One source file and its place: "base.tree" for base/tree.py, "" for the root's __init__."""

    name: str
    file: Path
    tree: ast.Module

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.name.split(".")) if self.name else ()

    @property
    def is_package(self) -> bool:
        return self.file.name == "__init__.py"

    def problem(self, line: int, text: str) -> str:
        return f"{PACKAGE}/{self.file.as_posix()}:{line}: {text}"


@dataclass(frozen=True)
class Import:
    """A module that a file imports, by its absolute path, and the names it takes from it."""

    path: str
    names: tuple[str, ...]
    line: int
    typing_only: bool

    @property
    def ours(self) -> bool:
        return self.path.split(".")[0] == PACKAGE

    @property
    def parts(self) -> tuple[str, ...]:
        """The place inside the package."""
        return tuple(self.path.split(".")[1:])


Modules = dict[str, Module]


def check(root: Path) -> list[str]:
    """Every way in which the package that lies in `root` breaks the layout, one line each."""
    modules = read(root)
    problems = list(circles(modules))
    for module in modules.values():
        for rule in (unplaced, misplaced_import, foreign_import, misplaced_code, hidden_module):
            problems += rule(module, modules)
    return problems


def read(root: Path) -> Modules:
    """Every module of the package, by name."""
    modules = {}
    for path in sorted(root.rglob("*.py")):
        file = path.relative_to(root)
        parts = file.parent.parts if file.name == "__init__.py" else file.with_suffix("").parts
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        modules[".".join(parts)] = Module(".".join(parts), file, tree)
    return modules


def imports(module: Module, modules: Modules) -> Iterator[Import]:
    """What a file imports, inside functions too; `from package import module` means the module."""
    typing_only = {
        id(node)
        for guard in ast.walk(module.tree)
        if isinstance(guard, ast.If)
        and ast.unparse(guard.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for statement in guard.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(module.tree):
        hidden = id(node) in typing_only
        match node:
            case ast.Import():
                for alias in node.names:
                    yield Import(alias.name, (), node.lineno, hidden)
            case ast.ImportFrom():
                path, names = source(node, module), []
                for alias in node.names:
                    child = f"{path}.{alias.name}"
                    if child.removeprefix(f"{PACKAGE}.") in modules:
                        yield Import(child, (), node.lineno, hidden)
                    else:
                        names.append(alias.name)
                if names:
                    yield Import(path, tuple(names), node.lineno, hidden)
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"),
                args=[ast.Constant(value=str() as path), *_],
            ):
                yield Import(path, (), node.lineno, hidden)


def source(node: ast.ImportFrom, module: Module) -> str:
    """The absolute path that stands after `from`."""
    here = (PACKAGE, *module.parts)
    above = here[: len(here) - node.level + module.is_package] if node.level else ()
    return ".".join([*above, *([node.module] if node.module else [])])


def floor_of(top: str) -> int | None:
    """The floor of what lies at the top of the package; None where the layout lacks it."""
    if top == "_version":
        return -1
    for floor, folders in enumerate([*FLOORS, VIEWS, WINGS]):
        if top in folders:
            return floor
    return None


def unplaced(module: Module, modules: Modules) -> Iterator[str]:
    """A file or folder that the data above does not name."""
    if not module.name:
        return
    *folders, own = module.parts
    if not folders:
        if floor_of(own) is None:
            yield module.problem(1, f"add {own!r} to FLOORS, VIEWS or WINGS in tests/floors.py")
        return
    folder = ".".join(folders)
    if own.lstrip("_") not in ORDERS.get(folder, own.lstrip("_")):
        where = f"ORDERS[{folder!r}] in tests/floors.py, after all that it imports"
        yield module.problem(1, f"add {own!r} to {where}")


def misplaced_import(module: Module, modules: Modules) -> Iterator[str]:
    """An import from above, from beside or from later in the folder's order."""
    if not module.name:
        return
    top = module.parts[0]
    for imported in imports(module, modules):
        if not imported.ours:
            continue
        if top in WINGS:
            reason = not_public(top, imported)
        elif not imported.parts:
            reason = "the root stands above all but the wings"
        elif imported.parts[0] == top:
            reason = not_earlier(module.parts, imported.parts)
        else:
            reason = not_below(top, imported.parts[0])
        if reason:
            yield module.problem(imported.line, f"imports {imported.path}: {reason}")


def not_public(wing: str, imported: Import) -> str | None:
    """A wing takes from elsewhere only what a user could."""
    if imported.parts[:1] == (wing,):
        return None
    for part in (*imported.parts, *imported.names):
        if part.startswith("_") and not part.endswith("__"):
            return f"a wing takes public names only, and {part} is private"
    if imported.parts and imported.parts[0] in INNER:
        return f"a wing takes public names only, and {imported.parts[0]} is an inner package"
    return None


def not_below(here: str, there: str) -> str | None:
    """From one folder to another: downstairs, or to the left on some floors."""
    high, low = floor_of(here), floor_of(there)
    if high is None or low is None or low < high:
        return None
    if low > high:
        return f"{there} stands above {here}"
    if here in VIEWS:
        return None
    row = FLOORS[high]
    if high not in SIDEWAYS:
        return f"{there} and {here} stand side by side"
    return f"{there} stands to the right of {here}" if row.index(there) > row.index(here) else None


def not_earlier(here: tuple[str, ...], there: tuple[str, ...]) -> str | None:
    """Inside one folder whose order is listed: earlier files only."""
    depth = 0
    while depth < min(len(here), len(there)) and here[depth] == there[depth]:
        depth += 1
    folder = ".".join(here[:depth])
    if folder not in ORDERS or depth == len(here):
        return None
    if depth == len(there):
        return "a file does not import the package it lies in"
    order = ORDERS[folder]
    own, other = here[depth].lstrip("_"), there[depth].lstrip("_")
    if own not in order or other not in order or order.index(other) < order.index(own):
        return None
    return f"{other} comes after {own} in ORDERS[{folder!r}]"


def circles(modules: Modules) -> Iterator[str]:
    """One circle of imports, where there is any; those for type checkers alone do not count."""
    graph = {
        name: {".".join(i.parts) for i in imports(module, modules) if i.ours and not i.typing_only}
        for name, module in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        names = [f"{PACKAGE}.{name}".rstrip(".") for name in reversed(error.args[1])]
        yield "imports in a circle: " + " -> ".join(names)


def foreign_import(module: Module, modules: Modules) -> Iterator[str]:
    """JAX is what tests compare with, never what the package runs on."""
    for imported in imports(module, modules):
        if imported.path.split(".")[0] in ("jax", "jaxlib"):
            yield module.problem(imported.line, f"imports {imported.path}, which only tests may")


def misplaced_code(module: Module, modules: Modules) -> Iterator[str]:
    """Code in an `__init__` or a view, a module's `__getattr__`, source run where it should not."""
    top = module.parts[0] if module.name else ""
    if module.is_package and top in INNER and module.tree.body:
        yield module.problem(1, "the __init__ of an inner package is empty")
    for node in module.tree.body:
        if "__getattr__" in bound(node) and module.name:
            yield module.problem(node.lineno, f"only {PACKAGE}/__init__.py has a __getattr__")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and (
            top in VIEWS and (module.name, node.name) not in VIEW_DEFINITIONS
        ):
            yield module.problem(node.lineno, f"a view shows names, and this defines {node.name}")
    if module.name not in GENERATORS:
        own = {name for node in ast.walk(module.tree) for name in bound(node)}
        for node in ast.walk(module.tree):
            match node:
                case ast.Name(id="exec" | "eval" | "compile" as name, ctx=ast.Load()):
                    if name not in own:
                        yield module.problem(node.lineno, f"only GENERATORS use {name}")
                case ast.Attribute(value=ast.Name(id="builtins"), attr="exec" | "eval" | "compile"):
                    yield module.problem(node.lineno, f"only GENERATORS use {node.attr}")


def hidden_module(module: Module, modules: Modules) -> Iterator[str]:
    """A package's own name for something else than its module of that name."""
    inside = f"{module.name}." if module.name else ""
    for node in module.tree.body if module.is_package else ():
        meant = {}
        if isinstance(node, ast.ImportFrom):
            path = source(node, module)
            meant = {a.asname or a.name: f"{path}.{a.name}" for a in node.names}
        elif isinstance(node, ast.Import):
            meant = {a.asname: a.name for a in node.names if a.asname}
        for name in sorted(bound(node)):
            own = f"{inside}{name}"
            if own in modules and meant.get(name) != f"{PACKAGE}.{own}":
                yield module.problem(node.lineno, f"{name} hides the module of that name")


def bound(node: ast.AST) -> set[str]:
    """The names that one statement or parameter binds."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {node.name}
        case ast.Import() | ast.ImportFrom():
            return {alias.asname or alias.name.split(".")[0] for alias in node.names}
        case ast.Name(ctx=ast.Store()):
            return {node.id}
        case ast.Assign() | ast.AnnAssign():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return {name for t in targets for inner in ast.walk(t) for name in bound(inner)}
        case ast.arg():
            return {node.arg}
    return set()
