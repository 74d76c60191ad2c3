"""Registering types as tree nodes: by functions, by methods, by dataclass fields, or as static."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import methodcaller
from typing import Any, TypeVar

from funcgrad.base.keypaths import DictKey
from funcgrad.base.treekinds import (
    CustomKind,
    DataclassKind,
    Flatten,
    FlattenWithKeys,
    Unflatten,
    register,
    sorted_keys,
)

Class = TypeVar("Class", bound=type)


def register_pytree_node(
    nodetype: type,
    flatten_func: Flatten,
    unflatten_func: Unflatten,
    flatten_with_keys_func: FlattenWithKeys | None = None,
) -> None:
    """Make instances of a class nodes of pytrees. Subclasses are not included.

    Args:
        nodetype: the class.
        flatten_func: takes an instance to `(children, aux_data)`. Children are any trees; aux_data
            is the rest of the instance's state. It becomes part of the structure, so it must be
            hashable, comparable with `==`, and free of arrays.
        unflatten_func: takes `(aux_data, children)`, children as a tuple, to an instance. It is
            also called with children that are no arrays, so it should not check them.
        flatten_with_keys_func: as `flatten_func`, with `(key, child)` pairs for children; the
            keys name the children in key paths.

    Raises:
        ValueError: the class is registered already.
        TypeError: `nodetype` is no class, or a function is not callable.

    Example:
        >>> class Point:
        ...     def __init__(self, x, y):
        ...         self.x, self.y = x, y
        >>> register_pytree_node(Point, lambda p: ((p.x, p.y), None), lambda _, xy: Point(*xy))
        >>> tree_leaves(Point(1, 2))
        [1, 2]
    """
    optional = () if flatten_with_keys_func is None else (flatten_with_keys_func,)
    for function in (flatten_func, unflatten_func, *optional):
        if not callable(function):
            raise TypeError(
                f"Registering {nodetype!r} as a pytree node takes functions, got {function!r}."
            )
    register(CustomKind(nodetype, flatten_func, unflatten_func, flatten_with_keys_func))


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: FlattenWithKeys,
    unflatten_func: Unflatten,
    flatten_func: Flatten | None = None,
) -> None:
    """Make instances of a class nodes of pytrees whose children have names.

    Args:
        nodetype: the class.
        flatten_with_keys: takes an instance to `(pairs, aux_data)`, each pair a `(key, child)`,
            such as `(GetAttrKey("x"), self.x)`.
        unflatten_func: takes `(aux_data, children)` to an instance.
        flatten_func: takes an instance to `(children, aux_data)`, the same children in the same
            order; spares the making of keys where none are wanted.

    Raises:
        ValueError: the class is registered already.
    """

    def without_keys(node: Any) -> tuple[Iterable[Any], Any]:
        pairs, aux = flatten_with_keys(node)
        return [child for _, child in pairs], aux

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: Class) -> Class:
    """Make instances of a class nodes of pytrees, by its own methods; a class decorator.

    The class has a method `tree_flatten(self) -> (children, aux_data)` and a class method
    `tree_unflatten(cls, aux_data, children)`; see `register_pytree_node`.

    Example:
        >>> @register_pytree_node_class
        ... class Scaled:
        ...     def __init__(self, x, factor):
        ...         self.x, self.factor = x, factor
        ...     def tree_flatten(self):
        ...         return (self.x,), self.factor
        ...     @classmethod
        ...     def tree_unflatten(cls, factor, children):
        ...         return cls(*children, factor)
        >>> tree_structure(Scaled(1.0, 2))
        PyTreeDef(CustomNode(Scaled[2], [*]))
    """
    register_pytree_node(cls, methodcaller("tree_flatten"), _method(cls, "tree_unflatten"))
    return cls


def register_pytree_with_keys_class(cls: Class) -> Class:
    """Make instances of a class nodes of pytrees with named children; a class decorator.

    The class has a method `tree_flatten_with_keys(self) -> (pairs, aux_data)` and a class method
    `tree_unflatten(cls, aux_data, children)`, and may have a `tree_flatten`; see
    `register_pytree_with_keys`.
    """
    register_pytree_with_keys(
        cls,
        methodcaller("tree_flatten_with_keys"),
        _method(cls, "tree_unflatten"),
        methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None,
    )
    return cls


def _method(cls: type, name: str) -> Callable[..., Any]:
    method = getattr(cls, name, None)
    if method is None:
        raise AttributeError(
            f"Class {cls.__name__} needs a class method {name} to become a pytree node."
        )
    return method


def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
    """Make instances of a dataclass, or a class like one, nodes of pytrees; a class decorator.

    Instances are made anew by `nodetype(**fields)`, so `__init__` and `__post_init__` run.

    Args:
        nodetype: the class.
        data_fields: the attributes that are children.
        meta_fields: the attributes that are static: part of the structure, hashable, no arrays.
            For a dataclass both lists may be left out: then fields made with `tree.static(...)`,
            or with `static=True` in their metadata, are static, and the others are children.
        drop_fields: fields of a dataclass that are neither; they get their defaults again.

    Returns:
        The class.

    Raises:
        TypeError: one list without the other, or none for a class that is no dataclass.
        ValueError: a field is missing, unknown or in both lists, or the class is registered
            already.

    Example:
        >>> @register_dataclass
        ... @dataclasses.dataclass
        ... class Layer:
        ...     weight: float
        ...     name: str = static(default="dense")
        >>> tree_structure(Layer(1.0))
        PyTreeDef(CustomNode(Layer[('dense',)], [*]))
    """
    data, meta = _chosen_fields(nodetype, data_fields, meta_fields, drop_fields)
    for name in data + meta:
        if not isinstance(name, str):
            raise TypeError(f"Fields are given by name, got {name!r} for {nodetype.__name__}.")
    if both := sorted(set(data) & set(meta)):
        raise ValueError(
            f"A field of {nodetype.__name__} is either data or metadata, but data_fields and "
            f"meta_fields both have {', '.join(both)}."
        )
    _check_complete(nodetype, {*data, *meta}, drop_fields)
    register(DataclassKind(nodetype, data, meta))
    return nodetype


def _chosen_fields(
    nodetype: type,
    data_fields: Sequence[str] | None,
    meta_fields: Sequence[str] | None,
    drop_fields: Sequence[str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the data and of the static fields, as given or by the fields' metadata."""
    if data_fields is not None and meta_fields is not None:
        return tuple(data_fields), tuple(meta_fields)
    if data_fields is not None or meta_fields is not None:
        raise TypeError(
            "register_dataclass takes data_fields and meta_fields together, got "
            f"{data_fields=} and {meta_fields=} for {nodetype!r}; pass an empty list for none."
        )
    if not dataclasses.is_dataclass(nodetype):
        raise TypeError(
            f"{nodetype!r} is not a dataclass, so its data_fields and meta_fields must be given."
        )
    fields = [field for field in dataclasses.fields(nodetype) if field.name not in drop_fields]
    static = {field.name for field in fields if field.metadata.get("static", False)}
    return (
        tuple([field.name for field in fields if field.name not in static]),
        tuple([field.name for field in fields if field.name in static]),
    )


def _check_complete(nodetype: type, listed: set[str], drop_fields: Sequence[str]) -> None:
    """Of a dataclass, each field that the constructor takes must be listed or dropped."""
    if not dataclasses.is_dataclass(nodetype):
        return
    fields = dataclasses.fields(nodetype)
    wanted = {field.name for field in fields if field.init} - set(drop_fields)
    if missing := sorted(wanted - listed):
        raise ValueError(
            f"Fields of {nodetype.__name__} that are neither data nor metadata: "
            f"{', '.join(missing)}. List them in data_fields or meta_fields, or in drop_fields "
            "if they need not be kept."
        )
    if unexpected := sorted(listed - wanted):
        raise ValueError(
            f"{nodetype.__name__} cannot be made from its fields {', '.join(unexpected)}: its "
            "constructor does not take them, or they are in drop_fields. Fields with init=False "
            "belong in drop_fields only."
        )


def static(**kwargs: Any) -> Any:
    """A dataclass field that is part of the structure, not a child; see `register_dataclass`.

    Takes the arguments of `dataclasses.field`.
    """
    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)


Static = TypeVar("Static", bound=type[Hashable])


def register_static(cls: Static) -> Static:
    """Make instances of a class nodes without children; a class decorator.

    An instance is then part of the structure, as if it were given through `static_argnums`
    wherever it occurs. The class must be hashable and comparable.

    Example:
        >>> @register_static
        ... class Mode(str):
        ...     pass
        >>> tree_flatten((1, Mode("train")))
        ([1], PyTreeDef((*, CustomNode(Mode[train], []))))
    """
    register_pytree_with_keys(cls, lambda node: ((), node), lambda node, _: node)
    return cls


def _flatten_ordered_dict(node: Any) -> tuple[Any, Any]:
    return [(DictKey(key), child) for key, child in node.items()], tuple(node)


def _flatten_default_dict(node: Any) -> tuple[Any, Any]:
    keys = sorted_keys(node)
    return [(DictKey(key), node[key]) for key in keys], (node.default_factory, keys)


register_pytree_with_keys(
    OrderedDict,
    _flatten_ordered_dict,
    lambda keys, children: OrderedDict(zip(keys, children)),
    lambda node: (node.values(), tuple(node)),
)
register_pytree_with_keys(
    defaultdict,
    _flatten_default_dict,
    lambda aux, children: defaultdict(aux[0], zip(aux[1], children)),
)
