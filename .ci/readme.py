"""README.md as the one source of what it promises: its commands, and the values its taste shows.

Usage:
    readme.py command NAME    print the command that stands under `<!-- command: NAME -->`
    readme.py taste           run the Python block and compare each value with its `# ->`
"""

import ast
import re
import sys
from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parent.parent / "README.md"


def command(name: str) -> str:
    """The shell block that follows the marker of that name."""
    pattern = rf"<!-- command: {re.escape(name)} -->\s*```sh\n(.*?)\n```"
    blocks = re.findall(pattern, README.read_text(encoding="utf-8"), re.DOTALL)
    if len(blocks) != 1:
        raise SystemExit(f"README.md must hold one command named {name!r}; found {len(blocks)}")
    return blocks[0]


def taste() -> str:
    """The first Python block."""
    block = re.search(r"```python\n(.*?)\n```", README.read_text(encoding="utf-8"), re.DOTALL)
    if block is None:
        raise SystemExit("README.md holds no Python block")
    return block[1]


def promised(source: str) -> list[str]:
    """What the block says its expressions show, in order."""
    return re.findall(r"# -> (.*?)\s*$", source, re.MULTILINE)


def shown(source: str) -> list[Any]:
    """The values of the block's bare expressions: what the Python prompt would show."""
    values: list[Any] = []
    namespace: dict[str, Any] = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Expr):
            values.append(eval(ast.unparse(statement.value), namespace))
        else:
            exec(ast.unparse(statement), namespace)
    return values


def check_taste() -> None:
    """Print each value, and stop with an error where one is not what README.md promises."""
    source = taste()
    expected, got = promised(source), [repr(value) for value in shown(source)]
    print(*got, sep="\n")
    if not expected or got != expected:
        raise SystemExit("README.md promises instead:\n" + "\n".join(expected))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["command", name]:
            print(command(name))
        case ["taste"]:
            check_taste()
        case _:
            raise SystemExit(__doc__)
