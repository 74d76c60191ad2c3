"""The kinds of tree node there are: Python's containers, namedtuples, None, and registered types.

A type is a node if exactly that type is registered; subclasses are not. Every other value is a
leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from operator import attrgetter, itemgetter
from typing import Any, cast

from funcgrad.base.keypaths import DictKey, GetAttrKey, KeyPath, SequenceKey
from funcgrad.base.treenodes import PLAIN, Children, Head, Join, Kind, head_of

CACHED_HEADS = 4096

Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
FlattenWithKeys = Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]]
Unflatten = Callable[[Any, Any], Any]


class CustomKind(Kind):
    """A type that came with its own functions."""

    def __init__(
        self,
        nodetype: type,
        flatten: Flatten,
        unflatten: Unflatten,
        flatten_with_keys: FlattenWithKeys | None = None,
    ) -> None:
        self.type = nodetype
        self.flatten = flatten
        self.unflatten = unflatten
        self.flatten_with_keys = flatten_with_keys

    def open(self, node: Any) -> tuple[Head, Children]:
        children, aux = self._checked(self.flatten(node), "flatten", "children")
        return head_of(self, aux, len(children)), children

    def open_keyed(self, node: Any) -> tuple[Head, KeyPath, Children]:
        if self.flatten_with_keys is None:
            return super().open_keyed(node)
        pairs, aux = self._checked(self.flatten_with_keys(node), "flatten_with_keys", "pairs")
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(
                    f"flatten_with_keys of pytree node {self.type.__name__} must return "
                    f"(key, child) pairs, got {pair!r} among them."
                )
        keys = tuple([key for key, _ in pairs])
        return head_of(self, aux, len(pairs)), keys, tuple([child for _, child in pairs])

    def joiner(self, aux: Any) -> Join:
        return lambda children: self.unflatten(aux, tuple(children))

    def keys(self, head: Head) -> KeyPath:
        if self.flatten_with_keys is not None:
            # Only messages need these, and a constructor may refuse stand-in children as it likes.
            try:
                node = head.join([object()] * head.arity)
                keys = tuple([key for key, _ in self.flatten_with_keys(node)[0]])
                if len(keys) == head.arity:
                    return keys
            except Exception:
                pass
        return super().keys(head)

    def _checked(self, result: Any, function: str, what: str) -> tuple[Children, Any]:
        """What a user's function returned: its first part as a tuple, and the aux."""
        if not isinstance(result, tuple) or len(result) != 2:
            raise ValueError(
                f"{function} of pytree node {self.type.__name__} must return a tuple "
                f"({what}, aux_data), got {result!r}."
            )
        try:
            parts = iter(result[0])
        except TypeError:
            raise ValueError(
                f"{function} of pytree node {self.type.__name__} must return ({what}, aux_data) "
                f"with {what} iterable, got {result!r}."
            ) from None
        return tuple(parts), result[1]


class DataclassKind(Kind):
    """A class that is made of its data attributes (the children) and its static ones (aux)."""

    def __init__(self, nodetype: type, data: tuple[str, ...], meta: tuple[str, ...]) -> None:
        self.type = nodetype
        self.data = data
        self.meta = meta
        self.get_data = _getter(data)
        self.get_meta = _getter(meta)

    def open(self, node: Any) -> tuple[Head, Children]:
        return head_of(self, self.get_meta(node), len(self.data)), self.get_data(node)

    def joiner(self, aux: Any) -> Join:
        static = dict(zip(self.meta, aux))
        return lambda children: self.type(**dict(zip(self.data, children)), **static)

    def keys(self, head: Head) -> KeyPath:
        return tuple(map(GetAttrKey, self.data))


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads these attributes into a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda node: tuple([getattr(node, name) for name in names])


class SequenceKind(Kind):
    """Tuples, or lists."""

    def __init__(self, nodetype: type) -> None:
        self.type = nodetype
        self.head = lru_cache(CACHED_HEADS)(partial(head_of, self, None))

    def open(self, node: Any) -> tuple[Head, Children]:
        return self.head(len(node)), node

    def joiner(self, aux: Any) -> Join:
        return self.type

    def keys(self, head: Head) -> KeyPath:
        return tuple(map(SequenceKey, range(head.arity)))

    def describe(self, head: Head) -> str:
        return f"{self.type.__name__} of length {head.arity}"

    def show(self, head: Head, children: list[str]) -> str:
        if self.type is list:
            return f"[{', '.join(children)}]"
        return f"({children[0]},)" if head.arity == 1 else f"({', '.join(children)})"


class NamedTupleKind(Kind):
    """Every namedtuple class that is not registered otherwise; aux is the class."""

    def __init__(self) -> None:
        self.type = tuple
        self.head = lru_cache(CACHED_HEADS)(partial(head_of, self))

    def open(self, node: Any) -> tuple[Head, Children]:
        # Its own `__len__` may count something else than the fields.
        return self.head(type(node), tuple.__len__(node)), node

    def joiner(self, aux: Any) -> Join:
        return lambda children: aux(*children)

    def keys(self, head: Head) -> KeyPath:
        if len(head.aux._fields) != head.arity:
            raise ValueError(
                f"A namedtuple holds one value per field, but {head.aux.__name__} has the fields "
                f"{head.aux._fields} and {head.arity} values."
            )
        return tuple(map(GetAttrKey, head.aux._fields))

    def describe(self, head: Head) -> str:
        return f"namedtuple {head.aux.__name__}"

    def show(self, head: Head, children: list[str]) -> str:
        return f"CustomNode(namedtuple[{head.aux.__name__}], [{', '.join(children)}])"

    def node_data(self, head: Head) -> tuple[type, Any]:
        return head.aux, None

    def head_of_data(self, nodetype: type, data: Any, arity: int) -> Head:
        return self.head(nodetype, arity)


class DictHead(Head):
    """The head of a dict, which also picks out the values in the order of the sorted keys."""

    __slots__ = ("select",)

    def __init__(self, kind: Kind, aux: tuple[Any, ...], arity: int) -> None:
        super().__init__(kind, aux, arity)
        self.select: Callable[[Any], Children] = (
            itemgetter(*aux) if arity > 1 else lambda node: tuple([node[key] for key in aux])
        )


class DictKind(Kind):
    """Plain dicts; aux is the sorted keys."""

    def __init__(self) -> None:
        self.type = dict

    def open(self, node: Any) -> tuple[Head, Children]:
        try:
            head = _plain_dict_head(*node)
        except _NotPlain:
            head = _dict_head(node)
        return head, head.select(node)

    def joiner(self, aux: Any) -> Join:
        return lambda children: dict(zip(aux, children))

    def keys(self, head: Head) -> KeyPath:
        return tuple(map(DictKey, head.aux))

    def new_head(self, aux: Any, arity: int) -> DictHead:
        return DictHead(self, aux, arity)

    def describe(self, head: Head) -> str:
        return f"dict with keys {list(head.aux)}"

    def show(self, head: Head, children: list[str]) -> str:
        return "{" + ", ".join([f"{k!r}: {child}" for k, child in zip(head.aux, children)]) + "}"

    def node_data(self, head: Head) -> tuple[type, Any]:
        return dict, list(head.aux)

    def head_of_data(self, nodetype: type, data: Any, arity: int) -> Head:
        keys = tuple(data)
        if sorted_keys(dict.fromkeys(keys)) != keys or len(keys) != arity:
            raise ValueError(
                "A dict node is made of its keys in sorted order and one child for each, got the "
                f"keys {list(keys)} and {arity} children."
            )
        return head_of(self, keys, arity)


class _NotPlain(Exception):
    """Some key is of a type whose values are not to be cached."""


@lru_cache(CACHED_HEADS, typed=True)
def _plain_dict_head(*keys: Any) -> DictHead:
    """The head of the dicts that have these keys in this order."""
    if not PLAIN.issuperset(map(type, keys)):
        raise _NotPlain
    return _dict_head(keys)


def _dict_head(keys: Iterable[Any]) -> DictHead:
    in_order = sorted_keys(keys)
    return cast(DictHead, head_of(DICT, in_order, len(in_order)))


def sorted_keys(keys: Iterable[Any]) -> tuple[Any, ...]:
    """The keys of a dict in order."""
    try:
        return tuple(sorted(keys))
    except Exception as error:
        shown = ", ".join(f"{key!r} ({type(key).__name__})" for key in keys)
        raise ValueError(
            f"The keys of a dict in a pytree must be sortable, but sorting {shown} raised "
            f"{type(error).__name__}: {error}. Use keys of one type, or an OrderedDict."
        ) from error


class NoneKind(Kind):
    """None: a node without children, not a leaf."""

    def __init__(self) -> None:
        self.type = type(None)

    def open(self, node: Any) -> tuple[Head, Children]:
        return NONE_HEAD, ()

    def joiner(self, aux: Any) -> Join:
        return lambda children: None

    def describe(self, head: Head) -> str:
        return "None"

    def show(self, head: Head, children: list[str]) -> str:
        return "None"


TUPLE = SequenceKind(tuple)
LIST = SequenceKind(list)
DICT = DictKind()
NAMEDTUPLE = NamedTupleKind()
NONE = NoneKind()
NONE_HEAD = head_of(NONE, None, 0)

_kinds: dict[type, Kind] = {kind.type: kind for kind in (TUPLE, LIST, DICT, NONE)}
kind_of_type = _kinds.get


def kind_of(node: Any) -> Kind | None:
    """The kind of a node; None for a leaf."""
    return kind_of_type(type(node)) or (NAMEDTUPLE if is_namedtuple(node) else None)


def is_namedtuple(value: Any) -> bool:
    """Whether a value looks like an instance of a namedtuple class."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def is_node_type(nodetype: Any) -> bool:
    """Whether values of exactly this type are nodes."""
    return nodetype in _kinds or _is_namedtuple_type(nodetype)


def head_of_data(nodetype: type, data: Any, arity: int) -> Head:
    """The head of a node of this type, from what its kind's `node_data` gave."""
    kind = _kinds.get(nodetype) or (NAMEDTUPLE if _is_namedtuple_type(nodetype) else None)
    if kind is None:
        raise ValueError(f"{nodetype!r} is not registered as a pytree node.")
    return kind.head_of_data(nodetype, data, arity)


def _is_namedtuple_type(nodetype: Any) -> bool:
    return (
        isinstance(nodetype, type) and issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")
    )


def register(kind: Kind) -> None:
    """Make a type a node, for good."""
    if not isinstance(kind.type, type):
        raise TypeError(f"Only a class can be registered as a pytree node, got {kind.type!r}.")
    if _kinds.setdefault(kind.type, kind) is not kind:
        raise ValueError(
            f"{kind.type!r} is already registered as a pytree node; a type is registered once, "
            "where it is defined."
        )
