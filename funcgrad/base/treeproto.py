"""Structures as bytes, in the protocol buffer that JAX uses for them.

The message holds the nodes from the leaves up (field 1: arity, kind, indices of dict keys) and the
dict keys they refer to (field 2). Only Python's own containers have a form in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from funcgrad.base.treekinds import DICT, LIST, NONE, TUPLE
from funcgrad.base.treenodes import Head, Kind, Token

LEAF_CODE = 1
CODES: dict[Kind, int] = {LIST: 2, NONE: 3, TUPLE: 4, DICT: 5}
KINDS = {code: kind for kind, code in CODES.items()}
VARINT, BYTES = 0, 2  # the wire types that occur


def encode(tokens: Sequence[Token]) -> bytes:
    """The message of a structure given by its heads, parents first, with None for each leaf."""
    keys: dict[str, int] = {}
    nodes = b"".join(_bytes_field(1, _node(head, keys)) for head in _children_first(tokens))
    return nodes + b"".join(_bytes_field(2, key.encode()) for key in keys)


def _node(head: Token, keys: dict[str, int]) -> bytes:
    """One node's message; new dict keys are numbered in `keys`."""
    if head is None:
        return _varint_field(2, LEAF_CODE)
    if head.kind not in CODES:
        raise ValueError(
            f"Only dict, list, tuple and None have a serialized form, and this structure holds "
            f"{head.kind.describe(head)}. Convert it to one of those, or pickle the structure."
        )
    message = (_varint_field(1, head.arity) if head.arity else b"") + _varint_field(
        2, CODES[head.kind]
    )
    if head.kind is DICT and head.arity:
        for key in head.aux:
            if not isinstance(key, str):
                raise ValueError(f"Only dict keys that are strings can be serialized, got {key!r}.")
        numbers = b"".join(_varint(keys.setdefault(key, len(keys))) for key in head.aux)
        message += _bytes_field(3, _bytes_field(1, numbers))
    return message


def _children_first(tokens: Sequence[Token]) -> list[Token]:
    """Heads ordered parents first, reordered so that each stands after its children."""
    out: list[Token] = []
    open_nodes: list[tuple[Head, int]] = []
    for token in tokens:
        if token is not None and token.arity:
            open_nodes.append((token, token.arity))
            continue
        out.append(token)
        while open_nodes:
            head, missing = open_nodes.pop()
            if missing > 1:
                open_nodes.append((head, missing - 1))
                break
            out.append(head)
    return out


def decode(data: bytes) -> tuple[Token, ...]:
    """The heads of the structure in a message, parents first, with None for each leaf."""
    try:
        keys = [text.decode() for field, _, text in _fields(data) if field == 2]
        done: list[list[Token]] = []  # the subtrees that wait for their parent
        for message in (text for field, _, text in _fields(data) if field == 1):
            head = _decode_node(message, keys)
            start = len(done) - (head.arity if head else 0)
            if start < 0:
                raise ValueError("a node comes before its children")
            subtree = [head]
            for child in done[start:]:
                subtree += child
            done[start:] = [subtree]
        (tokens,) = done
    except (IndexError, KeyError, ValueError) as error:
        raise ValueError(f"These bytes are not a serialized PyTreeDef: {error}") from error
    return tuple(tokens)


def _decode_node(message: bytes, keys: list[str]) -> Token:
    """The head in one node's message."""
    code, arity, aux = 0, 0, None
    for field, value, packed in _fields(message):
        if field == 1:
            arity = value
        elif field == 2:
            code = value
        elif field == 3:
            ((_, _, numbers),) = _fields(packed)
            aux = tuple([keys[number] for number in _varints(numbers)])
    if code == LEAF_CODE:
        return None
    kind = KINDS[code]
    return kind.head_of_data(kind.type, aux or () if kind is DICT else None, arity)


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Each field of a message: its number, and its number value or its bytes."""
    position = 0
    while position < len(data):
        tag, position = _read_varint(data, position)
        size_or_value, position = _read_varint(data, position)
        if tag & 7 == VARINT:
            yield tag >> 3, size_or_value, b""
        elif tag & 7 == BYTES and position + size_or_value <= len(data):
            yield tag >> 3, 0, data[position : position + size_or_value]
            position += size_or_value
        else:
            raise ValueError(f"wire type {tag & 7} at byte {position}")


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """The number that starts at a position, seven bits a byte, and the position after it."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, position


def _varints(data: bytes) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = _read_varint(data, position)
        yield value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _varint_field(field: int, value: int) -> bytes:
    return _varint(field << 3 | VARINT) + _varint(value)


def _bytes_field(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | BYTES) + _varint(len(value)) + value
