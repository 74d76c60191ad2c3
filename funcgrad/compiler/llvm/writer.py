"""Text of LLVM IR as it is written: fresh names, lines, blocks, and the module around functions."""

from funcgrad.compiler.llvm.target import Target


class Module:
    """Functions, and the declarations of what they call."""

    def __init__(self) -> None:
        self.declarations: dict[str, None] = {}
        self.functions: list[str] = []
        self.called: dict[tuple, str] = {}  # functions of expressions that others call

    def declare(self, line: str) -> None:
        self.declarations[line] = None

    def text(self, target: Target) -> str:
        parts = [f'target triple = "{target.triple}"', *self.declarations, *self.functions]
        return "\n".join(parts) + "\n"


class Writer:
    """Lines of one function; `lines` may be switched to write at an earlier place."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names = 0

    def fresh(self) -> str:
        self._names += 1
        return f"%v{self._names}"

    def emit(self, text: str) -> None:
        self.lines.append("  " + text)

    def assign(self, text: str) -> str:
        self._names += 1
        name = f"%v{self._names}"
        self.lines.append(f"  {name} = {text}")
        return name

    def label(self, hint: str) -> str:
        """A label that no block has yet."""
        self._names += 1
        return f"{hint}{self._names}"

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def branch(self, test: str, if_true: str, if_false: str) -> None:
        self.lines.append(f"  br i1 {test}, label %{if_true}, label %{if_false}")
