"""Where two trees differ and how: what every error about structure is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from funcgrad.base.keypaths import DictKey, GetAttrKey, KeyPath, place
from funcgrad.base.treekinds import NAMEDTUPLE, SequenceKind, kind_of
from funcgrad.base.treenodes import Head, same_head

SHOWN_CHARACTERS = 800  # of a structure, in a message


class View(NamedTuple):
    """What one look at the root of a tree or structure shows; a leaf has no head."""

    head: Head | None
    keys: KeyPath
    children: Sequence[Any]
    text: str


class Difference(NamedTuple):
    """A place where two trees part, what each has there, and what is the matter."""

    path: KeyPath
    left: str
    right: str
    why: str


Look = Callable[[Any], View]


def stops(answer: Any) -> bool:
    """The answer of an `is_leaf` function, which must be a bool (None counts as no)."""
    if answer is True or answer is False:
        return answer
    if answer is None:
        return False
    raise ValueError(f"is_leaf must return True or False, got {answer!r} ({type(answer).__name__})")


def look_at_tree(tree: Any) -> View:
    """Look at the root of a tree."""
    kind = kind_of(tree)
    if kind is None:
        return View(None, (), (), f"a leaf of type {type(tree).__name__}")
    head, keys, children = kind.open_keyed(tree)
    return View(head, keys, children, _article(kind.describe(head)))


def look_until(is_leaf: Callable[[Any], Any] | None) -> Look:
    """A look at trees that takes for leaves what `is_leaf` does."""
    if is_leaf is None:
        return look_at_tree

    def look(tree: Any) -> View:
        if stops(is_leaf(tree)):
            return View(None, (), (), f"a leaf of type {type(tree).__name__}")
        return look_at_tree(tree)

    return look


def look_at_structure(treedef: Any) -> View:
    """Look at the root of a PyTreeDef."""
    head = treedef.head
    if head is None:
        return View(None, (), (), "a leaf")
    return View(head, head.keys, treedef.children(), _article(head.kind.describe(head)))


def differences(
    left: Any, right: Any, look_left: Look, look_right: Look, *, prefix: bool, path: KeyPath = ()
) -> Iterator[Difference]:
    """Every outermost place where two trees part; as a prefix, a leaf on the left fits anything."""
    a, b = look_left(left), look_right(right)
    if a.head is None and (prefix or b.head is None):
        return
    if not same_head(a.head, b.head):
        yield Difference(path, a.text, b.text, _reason(a, b))
        return
    for key, one, other in zip(b.keys, a.children, b.children):
        yield from differences(one, other, look_left, look_right, prefix=prefix, path=(*path, key))


def _reason(a: View, b: View) -> str:
    """Why two nodes are not the same."""
    if a.head is None or b.head is None:
        return "one is a leaf and the other is not"
    kind = a.head.kind
    if kind is not b.head.kind or (kind is NAMEDTUPLE and a.head.aux is not b.head.aux):
        return "their types differ"
    if isinstance(kind, SequenceKind):
        return "their lengths differ"
    only = [
        f"only the {which} has {' '.join(map(str, extra))}"
        for which, extra in (("first", _extra(a, b)), ("second", _extra(b, a)))
        if extra
    ]
    if only:
        return " and ".join(only)
    if a.head.arity != b.head.arity:
        return "their numbers of children differ"
    return "their metadata differs"


def _extra(a: View, b: View) -> list[Any]:
    """The names of children that only `a` has."""
    return [key for key in a.keys if isinstance(key, DictKey | GetAttrKey) and key not in b.keys]


def tell(difference: Difference, left: str, right: str, root: str = "") -> str:
    """A difference in words, given what to call the two trees, and the root in its path."""
    path, a, b, why = difference
    return f"at {place(path, root)}, {left} has {a} but {right} has {b}: {why}"


def none_hint(difference: Difference) -> str:
    """What to do about a None, where one of the two trees has it."""
    if "None" not in (difference.left, difference.right):
        return ""
    return (
        "\nNone is a node without children, not a leaf. To have None taken for a leaf, "
        "pass is_leaf=lambda x: x is None."
    )


def shorten(text: str) -> str:
    """Text with its middle left out where it is long."""
    if len(text) <= SHOWN_CHARACTERS:
        return text
    half = SHOWN_CHARACTERS // 2
    return f"{text[:half]} ... ({len(text) - 2 * half} characters) ... {text[-half:]}"


def _article(text: str) -> str:
    """The text with an article before it; None needs none."""
    return text if text == "None" else shorten(f"{'an' if text[0] in 'aeiouAEIO' else 'a'} {text}")
