"""Tree nodes: how a container comes apart into children, and what of it stays behind.

A Kind knows one type of container. A Head is one node without its children: its kind, the data
that stays behind when the children leave (aux), and how many they were. Equal heads are one
object wherever that can be known cheaply, so a structure is mostly recognised by identity.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from funcgrad.base.keypaths import FlattenedIndexKey, KeyPath

# Values of these types can stand for each other when equal, and cost nothing to keep.
PLAIN = frozenset({str, int, bool, bytes, type(None)})

Children = Sequence[Any]
Join = Callable[[Iterable[Any]], Any]


class Kind(ABC):
    """How the nodes of one type come apart and go together."""

    type: type

    @abstractmethod
    def open(self, node: Any) -> tuple[Head, Children]:
        """Take a node apart."""

    @abstractmethod
    def joiner(self, aux: Any) -> Join:
        """What makes a node with this aux out of its children."""

    def open_keyed(self, node: Any) -> tuple[Head, KeyPath, Children]:
        """Take a node apart, with the key of each child."""
        head, children = self.open(node)
        return head, head.keys, children

    def keys(self, head: Head) -> KeyPath:
        """The keys of the children under a head, when no node is at hand to ask."""
        return tuple(map(FlattenedIndexKey, range(head.arity)))

    def new_head(self, aux: Any, arity: int) -> Head:
        """A head of this kind; `head_of` avoids making it twice."""
        return Head(self, aux, arity)

    def describe(self, head: Head) -> str:
        """What a node is, for messages."""
        children = "1 child" if head.arity == 1 else f"{head.arity} children"
        return f"{self.type.__name__} with {children} and metadata {head.aux}"

    def show(self, head: Head, children: list[str]) -> str:
        """How a structure prints, given how the parts below its head print."""
        return f"CustomNode({self.type.__name__}[{head.aux}], [{', '.join(children)}])"

    def node_data(self, head: Head) -> tuple[type, Any]:
        """The node's type and metadata, in the form that users see."""
        return self.type, head.aux

    def head_of_data(self, nodetype: type, data: Any, arity: int) -> Head:
        """The head that has this node data."""
        return head_of(self, data, arity)


class Head:
    """One node without its children; compare two of them with `same_head`."""

    __slots__ = ("__weakref__", "_hash", "_keys", "arity", "aux", "join", "kind", "plain")

    def __init__(self, kind: Kind, aux: Any, arity: int) -> None:
        self.kind = kind
        self.aux = aux
        self.arity = arity
        self.join = kind.joiner(aux)
        self.plain = _is_plain(aux)
        self._hash: int | None = None
        self._keys: KeyPath | None = None

    @property
    def keys(self) -> KeyPath:
        """The key of each child."""
        if self._keys is None:
            self._keys = self.kind.keys(self)
        return self._keys

    @property
    def value_hash(self) -> int:
        """Agrees for heads that `same_head` calls the same."""
        if self._hash is None:
            try:
                aux_hash = hash(self.aux)
            except TypeError:  # metadata that cannot be hashed can still be compared
                aux_hash = 0
            self._hash = hash((self.kind, self.arity, aux_hash))
        return self._hash


Token = Head | None  # what stands for a node in a structure; None for a leaf

_heads: WeakValueDictionary[tuple[Any, ...], Head] = WeakValueDictionary()


def head_of(kind: Kind, aux: Any, arity: int) -> Head:
    """The one head with this kind, aux and arity, as far as `_fingerprint` can tell."""
    key = (kind, arity, _fingerprint(aux))
    head = _heads.get(key)
    if head is None:
        head = _heads[key] = kind.new_head(aux, arity)
    return head


def _fingerprint(aux: Any) -> Any:
    """Equal for auxes that can stand for each other: 1 and True cannot, though they are equal.

    An id in it belongs to an object that the head keeps alive, so no id is ever reused.
    """
    cls = type(aux)
    if cls is tuple:
        return tuple([_fingerprint(part) for part in aux])
    return (cls, aux) if cls in PLAIN else id(aux)


def _is_plain(aux: Any) -> bool:
    """Whether to hold on to this aux costs nothing: it is small, or its module holds it anyway."""
    if type(aux) is tuple:
        return all(map(_is_plain, aux))
    return type(aux) in PLAIN or isinstance(aux, type) or (callable(aux) and _is_global(aux))


def _is_global(function: Any) -> bool:
    """Whether a function is the one that its module has under its name."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    return getattr(module, getattr(function, "__name__", ""), None) is function


def same_head(a: Token, b: Token) -> bool:
    """Whether two nodes differ at most in their children; None stands for a leaf."""
    if a is b:
        return True
    if a is None or b is None or a.kind is not b.kind or a.arity != b.arity:
        return False
    try:
        return a.aux is b.aux or bool(a.aux == b.aux)
    except Exception as error:
        raise ValueError(
            f"Metadata of pytree node {a.kind.type.__name__} cannot be compared: {a.aux!r} == "
            f"{b.aux!r} raised {type(error).__name__}: {error}. Metadata must have a plain "
            "notion of equality; arrays belong among the children."
        ) from error
