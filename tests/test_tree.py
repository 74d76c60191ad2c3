"""Pytrees are as JAX's: leaves, structures, key paths, printed forms; and they keep the laws."""

import collections
import copy
import dataclasses
import doctest
import functools
import gc
import inspect
import pickle
import sys
import threading
import weakref
from typing import Any, NamedTuple

import jax
import jax.tree_util as jtu
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.tree as ftree
import funcgrad.tree_util as ftu
from funcgrad.base import (
    keypaths,
    tree,
    treedef,
    treeflatten,
    treekinds,
    treeprefix,
    treeregister,
)

BOTH = (jtu, ftu)


class Pair(NamedTuple):
    x: Any
    y: Any


class SubPair(Pair):
    pass


@dataclasses.dataclass(frozen=True)
class Box:
    """Registered by functions, without keys."""

    value: Any
    label: Any = None


@dataclasses.dataclass(frozen=True)
class Keyed:
    """Registered by methods, with keys."""

    value: Any
    label: Any = None

    def tree_flatten_with_keys(self):
        return ((ftu.GetAttrKey("value"), self.value),), self.label

    @classmethod
    def tree_unflatten(cls, label, children):
        return cls(*children, label)


@dataclasses.dataclass(frozen=True)
class Layer:
    w: Any
    b: Any
    name: Any = ftree.static(default="dense")  # noqa: RUF009


class Mode(str):
    """Registered as static."""


def double(x):
    return 2 * x


for lib in BOTH:
    lib.register_pytree_node(Box, lambda b: ((b.value,), b.label), lambda label, c: Box(*c, label))
    lib.register_dataclass(Layer)
    lib.register_static(Mode)
    lib.register_pytree_with_keys(
        Keyed,
        lambda k, lib=lib: (((lib.GetAttrKey("value"), k.value),), k.label),
        Keyed.tree_unflatten,
    )

OD, DD = collections.OrderedDict, collections.defaultdict

SAMPLES = {
    "leaf": 1,
    "string": "abc",
    "none": None,
    "empty tuple": (),
    "empty list": [],
    "empty dict": {},
    "tuple of one": (1,),
    "tuple": (1, 2),
    "list": [1, [2, (3,)]],
    "dict": {"b": 1, "a": (2, None)},
    "dict with int keys": {3: [4], 1: 2},
    "dict with mixed numbers": {1.5: 2, True: 3},
    "dict with tuple keys": {(1, "b"): 3, (1, "a"): 4},
    "dict with quotes in keys": {'b"': 1, "it's": 2, "a\n": 3},
    "dict of empty": {"a": {}, "b": [None]},
    "ordered dict": OD([("b", 1), ("a", {"z": 2})]),
    "empty ordered dict": OD(),
    "default dict": DD(int, {"b": 1, "a": 2}),
    "namedtuple": Pair(1, Pair((2, 3), None)),
    "custom": Box((1, 2), "meta"),
    "custom without metadata": [Box(1), Box(Box(2, 1.5), ("a", 2))],
    "custom with keys": Keyed({"a": Keyed(1, "in")}, "out"),
    "dataclass": Layer(1, {"x": [2, None]}),
    "dataclass with metadata": Layer((1,), None, ("conv", 3)),
    "static": {"mode": Mode("train"), "x": 1},
    "deque": collections.deque([1, 2]),
    "set": {1, 2},
    "counter": collections.Counter(a=1),
    "subclass of dict": type("SubDict", (dict,), {})(a=1),
    "subclass of tuple": type("SubTuple", (tuple,), {})((1, 2)),
    "subclass of namedtuple": SubPair(1, 2),
    "slice": slice(1, 2),
    "array": np.ones(3),
}
samples = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)


def same(a, b):
    """Equality that also tells types apart, and takes one library's keys for the other's."""
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a).__name__ == type(b).__name__ and (a is b or repr(a) == repr(b))


@samples
def test_flatten_as_jax(sample):
    leaves, structure = ftu.tree_flatten(sample)
    expected, expected_structure = jtu.tree_flatten(sample)
    assert len(leaves) == len(expected) and all(a is b for a, b in zip(leaves, expected))
    assert repr(structure) == repr(expected_structure)
    assert structure.num_leaves == expected_structure.num_leaves
    assert structure.num_nodes == expected_structure.num_nodes
    assert structure.node_data() == expected_structure.node_data()
    assert repr(structure.children()) == repr(expected_structure.children())
    assert ftu.treedef_is_leaf(structure) == jtu.treedef_is_leaf(expected_structure)
    assert ftu.all_leaves([sample]) == jtu.all_leaves([sample])
    assert ftu.is_tree_node(type(sample)) == jtu.is_tree_node(type(sample))


@samples
def test_unflatten_as_jax(sample):
    structure, expected = ftu.tree_structure(sample), jtu.tree_structure(sample)
    leaves = [f"leaf {i}" for i in range(structure.num_leaves)]
    assert same(structure.unflatten(leaves), expected.unflatten(leaves))
    assert same(structure.unflatten(iter(leaves)), expected.unflatten(leaves))
    original = ftu.tree_unflatten(structure, ftu.tree_leaves(sample))
    assert type(original) is type(sample) and ftu.tree_structure(original) is structure


@samples
def test_paths_as_jax(sample):
    pairs, structure = ftu.tree_flatten_with_path(sample)
    expected, _ = jtu.tree_flatten_with_path(sample)
    assert structure == ftu.tree_structure(sample)
    assert [leaf for _, leaf in pairs] == ftu.tree_leaves(sample) or isinstance(sample, np.ndarray)
    for (path, _), (expected_path, _) in zip(pairs, expected, strict=True):
        assert repr(path) == repr(expected_path)
        assert ftu.keystr(path) == jtu.keystr(expected_path)
        for options in ({"simple": True}, {"simple": True, "separator": "/"}, {"separator": "."}):
            assert ftu.keystr(path, **options) == jtu.keystr(expected_path, **options)
    names = [jtu.keystr(path) for path, _ in expected]
    assert tree.leaf_names(sample) == tree.leaf_names(structure) == names


@samples
def test_one_level_as_jax(sample):
    if ftu.all_leaves([sample]):
        for function in (ftu.flatten_one_level, ftu.flatten_one_level_with_keys):
            with pytest.raises(ValueError, match=f"A {type(sample).__name__} is a leaf"):
                function(sample)
        return
    children, data = ftu.flatten_one_level(sample)
    expected_children, expected_data = jtu.flatten_one_level(sample)
    assert list(children) == list(expected_children) and data == expected_data
    pairs, data = ftu.flatten_one_level_with_keys(sample)
    assert [child for _, child in pairs] == list(children) and data == expected_data


@samples
def test_walks_as_jax(sample):
    structure, expected = ftu.tree_structure(sample), jtu.tree_structure(sample)
    leaves = list(range(structure.num_leaves))
    seen = structure.walk(lambda node, data: (node, data), lambda leaf: leaf * 10, leaves)
    assert seen == expected.walk(lambda node, data: (node, data), lambda leaf: leaf * 10, leaves)
    nested = structure.walk(lambda node, data: list(node), None, leaves)
    assert same(structure.from_iterable_tree(nested), expected.from_iterable_tree(nested))


@samples
def test_structure_comes_apart_and_together(sample):
    structure = ftu.tree_structure(sample)
    parts = (ftu.default_registry, structure.node_data(), structure.children())
    assert ftu.PyTreeDef.from_node_data_and_children(*parts) == structure
    for copied in (pickle.loads(pickle.dumps(structure)), copy.copy(structure)):
        assert copied == structure and hash(copied) == hash(structure)
        assert repr(copied) == repr(structure)


@samples
def test_serialized_as_jax(sample):
    structure, theirs = ftu.tree_structure(sample), jtu.tree_structure(sample)
    try:
        expected = theirs.serialize_using_proto()
    except ValueError:
        with pytest.raises(ValueError, match="Only d"):
            structure.serialize_using_proto()
    else:
        assert structure.serialize_using_proto() == expected
        read = ftu.PyTreeDef.deserialize_using_proto(ftu.default_registry, expected)
        assert read == structure


# Random trees.

KEYS = st.one_of(
    st.lists(st.text("abc'\n", max_size=3), unique=True, max_size=3),
    st.lists(st.integers(-2, 300), unique=True, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab")), unique=True, max_size=2),
)
LABELS = st.sampled_from([None, "a", 1, True, 1.0, 300, ("a", 2), ("a", ("b", None)), double, [1]])


def nodes(children):
    def dicts(make):
        return KEYS.flatmap(
            lambda keys: st.tuples(*[children] * len(keys)).map(lambda c: make(zip(keys, c)))
        )

    return st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        dicts(dict),
        dicts(OD),
        dicts(lambda items: DD(list, items)),
        st.builds(Pair, children, children),
        st.builds(Box, children, LABELS),
        st.builds(Keyed, children, LABELS),
        st.builds(Layer, children, children, LABELS),
    )


LEAVES = st.one_of(st.integers(0, 9), st.sampled_from(["s", 1.5, Mode("m")]), st.none())
TREES = st.recursive(LEAVES, nodes, max_leaves=8)


def few(test):
    return settings(max_examples=60)(test)


@few
@given(TREES)
def test_random_flatten_as_jax(sample):
    leaves, structure = ftu.tree_flatten(sample)
    expected, expected_structure = jtu.tree_flatten(sample)
    assert same(leaves, expected) and repr(structure) == repr(expected_structure)
    pairs, expected_pairs = ftu.tree_leaves_with_path(sample), jtu.tree_leaves_with_path(sample)
    assert repr(pairs) == repr(expected_pairs)
    assert same(structure.unflatten(leaves), expected_structure.unflatten(expected))
    assert pickle.loads(pickle.dumps(structure)) == structure


@few
@given(TREES, TREES)
def test_random_equality_as_jax(a, b):
    for one, other in [(a, b), (a, copy.deepcopy(a)), (b, a)]:
        ours = ftu.tree_structure(one), ftu.tree_structure(other)
        theirs = jtu.tree_structure(one), jtu.tree_structure(other)
        assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
        assert (ours[0] != ours[1]) == (theirs[0] != theirs[1])
        if ours[0] == ours[1]:
            assert hash(ours[0]) == hash(ours[1])
        differences = list(tree.equality_errors(one, other))
        assert (differences == []) == (ours[0] == ours[1])
        assert [d.path for d in tree.equality_errors(*ours)] == [d.path for d in differences]


@few
@given(TREES)
def test_random_map_as_jax(sample):
    def f(*leaves):
        return ("got", *leaves)

    def stop(node):
        return isinstance(node, list | Box) or node is None

    assert same(ftu.tree_map(f, sample), jtu.tree_map(f, sample))
    assert same(ftu.tree_map(f, sample, sample), jtu.tree_map(f, sample, sample))
    wide = ftu.tree_map(lambda leaf: [leaf, {"more": leaf}], sample)
    assert same(ftu.tree_map(f, sample, wide), jtu.tree_map(f, sample, wide))
    ours, theirs = [lib.tree_map(f, sample, sample, is_leaf=stop) for lib in BOTH]
    assert same(ours, theirs)
    ours, theirs = [
        lib.tree_map_with_path(lambda p, x, lib=lib: (lib.keystr(p), x), sample, is_leaf=stop)
        for lib in BOTH
    ]
    assert same(ours, theirs)


@few
@given(TREES, TREES)
def test_random_prefix_as_jax(a, b):
    wide = ftu.tree_map(lambda leaf: b, a)
    for prefix, full in [(a, b), (a, wide), (wide, a)]:
        try:
            expected = jtu.tree_structure(prefix).flatten_up_to(full)
        except ValueError:
            assert tree.prefix_errors(prefix, full)
            for function in (tree.broadcast_prefix, lambda p, f: ftu.tree_map(max, p, f)):
                with pytest.raises(ValueError, match="do not match: at "):
                    function(prefix, full)
            with pytest.raises(ValueError, match="do not match: at "):
                ftu.tree_structure(prefix).flatten_up_to(full)
        else:
            assert not tree.prefix_errors(prefix, full)
            assert same(ftu.tree_structure(prefix).flatten_up_to(full), expected)
            assert same(ftu.tree_broadcast(prefix, full), jtu.tree_broadcast(prefix, full))


@few
@given(TREES, TREES)
def test_random_compose_and_transpose_as_jax(outer, inner):
    ours = ftu.tree_structure(outer), ftu.tree_structure(inner)
    theirs = jtu.tree_structure(outer), jtu.tree_structure(inner)
    composed = ours[0].compose(ours[1])
    assert repr(composed) == repr(theirs[0].compose(theirs[1]))
    assert composed.num_leaves == ours[0].num_leaves * ours[1].num_leaves
    assert repr(ftu.treedef_tuple(ours)) == repr(jtu.treedef_tuple(theirs))
    assert ftu.treedef_tuple(ours) is ftu.tree_structure((outer, inner))
    nested = composed.unflatten(range(composed.num_leaves))
    turned = ftu.tree_transpose(*ours, nested)
    assert ftu.tree_structure(turned) == ours[1].compose(ours[0])
    if ours[0].num_leaves:
        assert same(turned, jtu.tree_transpose(*theirs, nested))
        assert same(ftu.tree_transpose(ours[0], None, nested), turned)


# Single functions.


def test_public_names_are_those_of_jax():
    for ours, theirs in ((ftu, jtu), (ftree, jax.tree)):
        names = {name for name in dir(theirs) if not name.startswith("_")}
        names -= {name for name in names if inspect.ismodule(getattr(theirs, name))}
        assert names - {"annotations"} <= set(dir(ours))
        for name in names:
            function = getattr(theirs, name)
            if inspect.isfunction(function) and name != "static":
                expected = list(inspect.signature(function).parameters.values())
                found = list(inspect.signature(getattr(ours, name)).parameters.values())
                assert [(p.name, p.kind) for p in found] == [(p.name, p.kind) for p in expected]
    methods = {name for name in dir(jtu.PyTreeDef) if not name.startswith("_")}
    assert methods <= set(dir(ftu.PyTreeDef))
    methods = {name for name in dir(jtu.default_registry) if not name.startswith("_")}
    assert methods <= set(dir(ftu.default_registry))


def test_views_list_what_they_show():
    for view in (ftree, ftu):
        assert all(hasattr(view, name) for name in view.__all__)


@pytest.mark.parametrize("key", ["a", 0, ("b", 1), None])
def test_keys(key):
    for name, fits in (
        ("DictKey", True),
        ("SequenceKey", isinstance(key, int)),
        ("FlattenedIndexKey", isinstance(key, int)),
        ("GetAttrKey", isinstance(key, str)),
    ):
        make, theirs = getattr(ftu, name), getattr(jtu, name)
        assert make.__match_args__ == theirs.__match_args__
        if not fits:
            with pytest.raises(TypeError, match=f"{name} takes a key of type"):
                make(key)
            continue
        entry = make(key)
        assert (repr(entry), str(entry)) == (repr(theirs(key)), str(theirs(key)))
        assert entry == make(key) and hash(entry) == hash(make(key))
        assert entry != ftu.DictKey("other") and pickle.loads(pickle.dumps(entry)) == entry
        with pytest.raises(AttributeError):
            setattr(entry, make.__match_args__[0], key)
    assert ftu.SequenceKey(0) != ftu.FlattenedIndexKey(0)


def test_keystr_takes_any_entries():
    path = (ftu.DictKey("a"), "raw", 7)
    assert ftu.keystr(path) == "['a']raw7"
    assert ftu.keystr(path, simple=True, separator="/") == "a/raw/7"
    assert ftu.keystr(()) == ""


def test_is_leaf_is_asked_as_by_jax():
    sample = {"a": (1, None), "b": Box(2, 3)}
    asked = {}
    for lib in BOTH:
        asked[lib] = []
        lib.tree_flatten(sample, is_leaf=asked[lib].append)
        lib.tree_leaves_with_path(
            sample,
            lambda path, x, lib=lib: asked[lib].append((lib.keystr(path), x)),
            is_leaf_takes_path=True,
        )
    assert same(asked[ftu], asked[jtu])
    assert ftu.tree_leaves(sample, is_leaf=lambda x: x is None) == [1, None, 2]
    assert ftu.tree_flatten(None, is_leaf=lambda x: x is None)[1] == ftu.tree_structure(1)
    assert ftu.all_leaves([1, (2,)], is_leaf=lambda x: isinstance(x, tuple))
    assert not ftu.all_leaves([1, [2]], is_leaf=lambda x: isinstance(x, tuple))


@pytest.mark.parametrize("answer", [1, 0, "yes", [], np.True_])
def test_is_leaf_must_answer_with_a_bool(answer):
    for function in (ftu.tree_leaves, ftu.tree_leaves_with_path):
        with pytest.raises(ValueError, match="is_leaf must return True or False, got "):
            function([1], is_leaf=lambda x: answer)


def test_reductions_as_jax():
    numbers = {"a": [1, 2, 3], "b": (4, None, 5), "c": 6}
    empty = [None, ()]
    for lib in BOTH:
        pair = lambda a, b: (a, b)
        assert lib.tree_reduce(pair, numbers) == (((((1, 2), 3), 4), 5), 6)
        assert lib.tree_reduce(pair, numbers, 0) == ((((((0, 1), 2), 3), 4), 5), 6)
        assert lib.tree_reduce(pair, empty, None) is None
        assert lib.tree_reduce(pair, [1, (2,)], is_leaf=lambda x: type(x) is tuple) == (1, (2,))
        assert lib.tree_reduce_associative(pair, numbers) == ((1, (2, 3)), (4, (5, 6)))
        assert lib.tree_reduce_associative(pair, empty, identity=7) == 7
        assert lib.tree_all(numbers) and lib.tree_all(empty) and not lib.tree_all([1, 0])
        for reduction in (lib.tree_reduce, lib.tree_reduce_associative):
            with pytest.raises(TypeError, match=r"initial|identity"):
                reduction(pair, empty)


def test_map_lets_every_exception_through():
    class Odd(Exception):
        pass

    for error in (Odd, StopIteration, ValueError):

        def raises(x, error=error):
            raise error("mine")

        with pytest.raises(error, match="mine"):
            ftu.tree_map(raises, [1])


def test_short_names_are_the_long_ones():
    for name in ftree.__all__:
        if name != "static":
            assert getattr(ftree, name) is getattr(ftu, f"tree_{name}")


def test_static_field():
    field = ftree.static(default=3, metadata={"units": "m"})
    assert dict(field.metadata) == {"static": True, "units": "m"} and field.default == 3
    assert dict(ftree.static(metadata={"static": False}).metadata) == {"static": False}


def test_transpose_counts_leaves():
    two, three = ftu.tree_structure([0, 0]), ftu.tree_structure((0, 0, 0))
    assert ftu.tree_transpose(two, three, [(1, 2, 3), (4, 5, 6)]) == ([1, 4], [2, 5], [3, 6])
    assert ftu.tree_transpose(ftu.tree_structure([]), three, []) == ([], [], [])
    with pytest.raises(
        TypeError, match=r"5 leaves.* 2 x 3\.\n.*\(\*, \*\)\]\)\n.*\(\*, \*, \*\)\]"
    ):
        ftu.tree_transpose(two, three, [(1, 2, 3), (4, 5)])
    with pytest.raises(TypeError, match="needs an inner_treedef"):
        ftu.tree_transpose(ftu.tree_structure([]), None, [])


# Errors.


@pytest.mark.parametrize(
    "first, second, said",
    [
        ((1, 2), (1,), ["the root", "tuple of length 2", "tuple of length 1", "lengths differ"]),
        ((1, 2), [1, 2], ["the root", "a tuple of", "a list of", "types differ"]),
        ({"p": None}, {"p": 5}, ["at ['p']", "has None", "leaf of type int", "is_leaf=lambda x"]),
        ({"p": [1]}, {"p": None}, ["at ['p']", "list of length 1", "has None", "is_leaf=lambda x"]),
        (
            {"a": {"x": 1, "y": 2}},
            {"a": {"x": 1, "z": 2}},
            ["at ['a']", "only the first has ['y']", "only the second has ['z']"],
        ),
        (
            [Box((1,), "left")],
            [Box((1,), "right")],
            ["at [0]", "metadata left", "metadata right", "metadata differs"],
        ),
        (
            Layer(1, (2, 3)),
            Layer(1, 2),
            ["at .b", "tuple of length 2", "leaf of type int"],
        ),
        (Layer(1, 2, "p"), Layer(1, 2, "q"), ["('p',)", "('q',)", "metadata differs"]),
        (Pair(1, [2]), Pair(1, ()), ["at .y", "a list of length 1", "a tuple of length 0"]),
        (Pair(1, 2), (1, 2), ["a namedtuple Pair", "a tuple of length 2", "types differ"]),
        (
            Keyed({"k": [1]}),
            Keyed({"k": {}}),
            ["at .value['k']", "a list", "a dict with keys []", "types differ"],
        ),
        (OD(a=1), {"a": 1}, ["an OrderedDict", "a dict", "types differ"]),
        (OD(a=1, b=2), OD(b=1, a=2), ["('a', 'b')", "('b', 'a')", "metadata differs"]),
        (OD(a=1, b=2), OD(a=1), ["only the first has ['b']"]),
        (DD(int, a=1), DD(list, a=1), ["int", "list", "metadata differs"]),
        (Mode("x"), Mode("y"), ["metadata x", "metadata y"]),
        ([1, [2, [3]]], [1, [2, [3, 4]]], ["at [1][1]"]),
    ],
)
def test_mismatch_says_where_and_how(first, second, said):
    with pytest.raises(ValueError, match="do not match") as caught:
        ftu.tree_map(max, first, first, second)
    message = str(caught.value)
    structures = [repr(ftu.tree_structure(each)) for each in (first, second)]
    for text in [*said, "the first tree has", "tree 3 has", *structures]:
        assert text in message
    with pytest.raises(ValueError) as caught:
        ftu.tree_structure(first).flatten_up_to(second)
    for text in [*said, structures[0]]:
        assert text in str(caught.value)
    with pytest.raises(ValueError, match="do not match"):
        ftu.tree_map_with_path(lambda *_: 0, first, second)
    (error,) = tree.prefix_errors(first, second)
    assert "in_axes is not a tree prefix: at in_axes" in str(error("in_axes"))
    path, one, other, why = next(tree.equality_errors(first, second))
    assert one in message and other in message and why in message
    assert ftu.keystr(path) in message


def test_long_structures_are_shortened_in_errors():
    big = {f"key{i}": i for i in range(1000)}
    with pytest.raises(ValueError, match="characters") as caught:
        ftu.tree_map(max, big, {**big, "more": 1})
    assert len(str(caught.value)) < 6000 and "only the second has ['more']" in str(caught.value)


def test_equality_errors_lists_every_place():
    first = {"a": (1, 2), "b": None, "c": [3], "d": 4}
    second = {"a": (1,), "b": 2, "c": [3], "d": 4}
    found = list(tree.equality_errors(first, second))
    assert [ftu.keystr(path) for path, *_ in found] == ["['a']", "['b']"]
    assert found[0][1:] == ("a tuple of length 2", "a tuple of length 1", "their lengths differ")
    assert found[1][1:3] == ("None", "a leaf of type int")
    assert list(tree.equality_errors(first, first)) == []
    (leaf,) = tree.equality_errors(1, [1])
    assert leaf.left == "a leaf of type int" and leaf.right == "a list of length 1"


def test_flatten_axes():
    structure = ftu.tree_structure(({"a": 1, "b": [2, 3]}, 4, None))
    assert tree.flatten_axes("in_axes", structure, 0) == [0, 0, 0, 0]
    assert tree.flatten_axes("in_axes", structure, None) == [None] * 4
    axes = ({"a": 0, "b": None}, 1, None)
    assert tree.flatten_axes("in_axes", structure, axes) == [0, None, None, 1]
    assert tree.flatten_axes("in_axes", structure, (None, 1, 0)) == [None, None, None, 1]


def test_flatten_axes_errors():
    structure = ftu.tree_structure(({"a": 1, "b": [2, 3]}, 4))
    with pytest.raises(ValueError) as caught:
        tree.flatten_axes("vmap in_axes", structure, ({"a": 0, "c": 0, "b": (0, 1)}, 1))
    for text in (
        "vmap in_axes is not a prefix",
        "at vmap in_axes[0]",
        "only the first has ['c']",
        "PyTreeDef(({'a': *, 'b': (*, *), 'c': *}, *))",
        repr(structure),
    ):
        assert text in str(caught.value)
    with pytest.raises(ValueError, match=r"(?s)at out_axes\[0\], .*at out_axes\[1\], "):
        tree.flatten_axes("out_axes", structure, ([], (1, 2)))


def test_flatten_axes_hints_at_a_missing_tuple():
    structure = ftu.tree_structure(({"a": 1},))
    with pytest.raises(ValueError, match=r"in_axes fits it: put it in a tuple"):
        tree.flatten_axes("in_axes", structure, {"a": 0}, tupled_args=True)
    with pytest.raises(ValueError, match=r"one entry per argument") as caught:
        tree.flatten_axes("in_axes", structure, [0], tupled_args=True)
    assert "fits it" not in str(caught.value)


def test_flatten_axes_speaks_of_arguments_alone():
    structure = ftu.tree_structure(((1, (2, 3)), {"k": 4}))
    assert tree.flatten_axes("in_axes", structure, ((0, 1), 0), kws=True) == [0, 1, 1, 0]
    with pytest.raises(ValueError, match=r"at in_axes\[1\], ") as caught:
        tree.flatten_axes("in_axes", structure, ((0, [1]), 0), kws=True)
    assert "'k'" not in str(caught.value)


def test_wrong_number_of_leaves():
    structure = ftu.tree_structure({"a": 1, "b": (2, None)})
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match=f"has 2 leaves, got {len(leaves)}: PyTreeDef"):
            structure.unflatten(leaves)
        with pytest.raises(ValueError, match="has 2 leaves"):
            structure.walk(lambda node, data: node, None, leaves)
    with pytest.raises(ValueError, match="has 1 leaf, got 0"):
        ftu.tree_structure(1).unflatten([])
    with pytest.raises(ValueError, match="has 2 children, got 3"):
        structure.from_iterable_tree([1, 2, 3])


def test_unsortable_keys_are_named():
    for unsortable in ({1: 0, "a": 0}, DD(int, {1: 0, "a": 0}), [{1: 0, "a": 0}]):
        for function in (ftu.tree_flatten, ftu.tree_leaves_with_path):
            with pytest.raises(ValueError, match=r"1 \(int\), 'a' \(str\)"):
                function(unsortable)
    assert ftu.tree_leaves(OD([(1, 2), ("a", 3)])) == [2, 3]


def test_tree_that_contains_itself():
    loop: list = []
    loop.append(loop)
    for function in (ftu.tree_flatten, ftu.tree_flatten_with_path):
        with pytest.raises(RecursionError, match="contains itself"):
            function(loop)


@pytest.mark.parametrize("levels", [100, 101, 400])
@pytest.mark.parametrize(
    "wrap", [lambda t: [t], lambda t: (t,), lambda t: {"a": t}], ids=["list", "tuple", "dict"]
)
def test_deep_trees_through_jit(wrap, levels):
    deep = functools.reduce(lambda inside, _: wrap(inside), range(levels), fg.numpy.ones(2))
    double = fg.jit(lambda tree: ftu.tree_map(lambda x: 2 * x, tree))
    for _ in range(3):
        found = double(deep)
        assert ftu.tree_structure(found) == ftu.tree_structure(deep)
        assert ftu.tree_leaves(found)[0].tolist() == [2.0, 2.0]


def test_deep_tree():
    deep = functools.reduce(lambda inside, _: [inside], range(400), 1)
    structure = ftu.tree_structure(deep)
    assert structure.num_nodes == 401 and structure.unflatten([1]) == deep
    assert repr(structure) == repr(jtu.tree_structure(deep))
    assert structure.flatten_up_to(deep) == [1] and pickle.loads(pickle.dumps(structure))


def test_structures_from_bad_parts():
    leaf, make = ftu.tree_structure(1), ftu.PyTreeDef.from_node_data_and_children
    registry = ftu.default_registry
    assert make(registry, (dict, ["a", "b"]), [leaf, leaf]) == ftu.tree_structure({"a": 1, "b": 1})
    with pytest.raises(ValueError, match="sorted order"):
        make(registry, (dict, ["b", "a"]), [leaf, leaf])
    with pytest.raises(ValueError, match="one child for each"):
        make(registry, (dict, ["a"]), [])
    with pytest.raises(ValueError, match="leaf has no children"):
        make(registry, None, [leaf])
    with pytest.raises(ValueError, match=r"int.* is not registered"):
        make(registry, (int, None), [])
    with pytest.raises(TypeError, match="takes PyTreeDefs, got int"):
        ftu.treedef_tuple([3])
    for data in (
        b"xx",
        b"\n\x02\x10\x01\n\x02\x10\x01",
        b"\n\x04\x08\x02\x10\x04",
        b"\n\x02\x10\x09",
    ):
        with pytest.raises(ValueError, match="not a serialized PyTreeDef"):
            ftu.PyTreeDef.deserialize_using_proto(registry, data)


# Registration.


def test_register_class_decorators():
    @ftu.register_pytree_node_class
    class Plain:
        def __init__(self, x, y):
            self.x, self.y = x, y

        def tree_flatten(self):
            return (self.x,), self.y

        @classmethod
        def tree_unflatten(cls, y, children):
            return cls(*children, y)

    @ftu.register_pytree_with_keys_class
    class Named(Plain):
        def tree_flatten_with_keys(self):
            return ((ftu.GetAttrKey("x"), self.x),), self.y

    both = [Plain(1, "p"), Named(2, "n")]
    pairs, structure = ftu.tree_flatten_with_path(both)
    assert [(ftu.keystr(path), leaf) for path, leaf in pairs] == [
        ("[0][<flat index 0>]", 1),
        ("[1].x", 2),
    ]
    assert repr(structure) == "PyTreeDef([CustomNode(Plain[p], [*]), CustomNode(Named[n], [*])])"
    new = ftu.tree_map(double, both)
    assert [(type(each), each.x, each.y) for each in new] == [(Plain, 2, "p"), (Named, 4, "n")]
    for decorator in (ftu.register_pytree_node_class, ftu.register_pytree_with_keys_class):
        with pytest.raises(AttributeError, match="Empty needs a class method tree_unflatten"):
            decorator(type("Empty", (), {}))


def test_children_may_be_an_iterator_and_come_back_as_a_tuple():
    class Stream:
        def __init__(self, *parts):
            self.parts = parts

    ftu.register_pytree_node(
        Stream, lambda s: (iter(s.parts), None), lambda _, children: Stream(children)
    )
    assert ftu.tree_map(double, Stream(1, 2)).parts == ((2, 4),)
    assert ftu.tree_structure(Stream(1)).flatten_up_to(Stream((2, 3))) == [(2, 3)]


def test_a_subclass_is_a_leaf_until_registered():
    sub = type("SubBox", (Box,), {})
    value = sub(1, None)
    assert ftu.tree_leaves(value) == [value] and not ftu.is_tree_node(sub)
    ftu.register_pytree_node(sub, lambda b: ((b.value,), None), lambda _, c: sub(*c))
    assert ftu.tree_leaves([value, (value,)]) == [1, 1] and ftu.is_tree_node(sub)


def test_a_namedtuple_can_be_registered_otherwise():
    Half = collections.namedtuple("Half", "x y")
    assert ftu.tree_leaves(Half(1, 2)) == [1, 2]
    ftu.register_pytree_node(Half, lambda h: ((h.x,), h.y), lambda y, c: Half(*c, y))
    assert ftu.tree_leaves(Half(1, 2)) == [1]
    assert repr(ftu.tree_structure(Half(1, 2))) == "PyTreeDef(CustomNode(Half[2], [*]))"


def test_a_type_is_registered_once():
    for cls in (Box, dict, OD, Layer, ftu.Partial, Mode):
        with pytest.raises(ValueError, match=f"{cls.__name__}'> is already registered"):
            ftu.register_pytree_node(cls, lambda x: ((), None), lambda _, c: None)
    with pytest.raises(ValueError, match="already registered"):
        ftu.register_dataclass(Layer)
    with pytest.raises(TypeError, match="Only a class can be registered as a pytree node, got 3"):
        ftu.register_pytree_node(3, lambda x: ((), None), lambda _, c: 3)
    with pytest.raises(TypeError, match="takes functions, got 'flatten'"):
        ftu.register_pytree_node(type("New", (), {}), "flatten", lambda _, c: 3)


@pytest.mark.parametrize("result", [3, (1, 2, 3), [(1,), None], (3, None)])
def test_bad_flatten_functions_are_named(result):
    Bad = type("Bad", (), {})
    ftu.register_pytree_node(Bad, lambda _: result, lambda _, c: Bad())
    with pytest.raises(
        ValueError, match=r"flatten of pytree node Bad must return .*\(children, aux"
    ):
        ftu.tree_flatten(Bad())


def test_bad_keys_are_named():
    Bad = type("Bad", (), {})
    ftu.register_pytree_with_keys(Bad, lambda _: ([3], None), lambda _, c: Bad())
    with pytest.raises(ValueError, match=r"Bad must return \(key, child\) pairs, got 3"):
        ftu.tree_leaves_with_path(Bad())


def test_names_without_a_node_fall_back_to_indices():
    class Picky:
        def __init__(self, x):
            self.x = float(x)

    ftu.register_pytree_with_keys(
        Picky, lambda p: ([(ftu.GetAttrKey("x"), p.x)], None), lambda _, c: Picky(*c)
    )
    assert tree.leaf_names(Picky(1)) == [".x"]
    assert tree.leaf_names(ftu.tree_structure(Picky(1))) == ["[<flat index 0>]"]


def test_register_dataclass_infers_fields_as_jax():
    @dataclasses.dataclass(kw_only=True)
    class Inferred:
        n: int = dataclasses.field(metadata={"static": True})
        x: Any
        y: Any = 2

    for lib in BOTH:
        assert lib.register_dataclass(Inferred) is Inferred
    value = Inferred(n=3, x=1)
    assert repr(ftu.tree_structure(value)) == repr(jtu.tree_structure(value))
    assert ftu.tree_map(double, value) == Inferred(n=3, x=2, y=4)
    assert tree.leaf_names(value) == [".x", ".y"]


def test_register_dataclass_runs_the_constructor():
    @ftu.register_dataclass
    @dataclasses.dataclass
    class Checked:
        x: Any
        seen: Any = dataclasses.field(default=0, metadata={"static": True})

        def __post_init__(self):
            self.seen = self.seen + 1

    assert ftu.tree_map(double, Checked(1)) == Checked(2, 1)


def test_register_dataclass_fields_given():
    class Loose:
        def __init__(self, x, y, z):
            self.x, self.y, self.z = x, y, z

    ftu.register_dataclass(Loose, ["z", "x"], ["y"])
    leaves, structure = ftu.tree_flatten(Loose(1, 2, 3))
    assert leaves == [3, 1] and vars(structure.unflatten([30, 10])) == {"x": 10, "y": 2, "z": 30}
    with pytest.raises(AttributeError, match="has no attribute"):
        ftu.tree_flatten(object.__new__(Loose))

    @dataclasses.dataclass
    class Dropping:
        x: Any
        y: Any = 5
        z: Any = dataclasses.field(init=False, default=6)

    ftu.register_dataclass(Dropping, ["x"], [], drop_fields=["y"])
    assert ftu.tree_map(double, Dropping(1, 2)) == Dropping(2, 5)

    @functools.partial(ftu.register_dataclass, drop_fields=["y"])
    @dataclasses.dataclass
    class Inferred:
        x: Any
        y: Any = 5

    assert ftu.tree_map(double, Inferred(1, 2)) == Inferred(2, 5)


@pytest.mark.parametrize(
    "arguments, error, said",
    [
        ({"data_fields": ["x"]}, TypeError, "data_fields and meta_fields together"),
        ({"data_fields": ["x"], "meta_fields": []}, ValueError, "neither data nor metadata: y"),
        ({"data_fields": ["x", "y", "q"], "meta_fields": []}, ValueError, "from its fields q"),
        ({"data_fields": ["x", "y"], "meta_fields": ["y"]}, ValueError, "both have y"),
        ({"data_fields": [1], "meta_fields": []}, TypeError, "by name, got 1"),
        ({"data_fields": ["x", "y", "z"], "meta_fields": []}, ValueError, "init=False"),
        ({}, ValueError, "from its fields z"),
    ],
)
def test_register_dataclass_errors(arguments, error, said):
    @dataclasses.dataclass
    class Data:
        x: Any
        y: Any
        z: Any = dataclasses.field(init=False, default=0)

    with pytest.raises(error, match=said):
        ftu.register_dataclass(Data, **arguments)
    with pytest.raises((TypeError, ValueError)):
        jtu.register_dataclass(Data, **arguments)


def test_register_dataclass_without_fields():
    with pytest.raises(TypeError, match="Loose'> is not a dataclass"):
        ftu.register_dataclass(type("Loose", (), {}))


def test_registry_object():
    registry = ftu.default_registry
    assert registry.flatten((1, None))[0] == [1] and registry.is_node(Pair)
    assert registry.flatten((1, [2]), lambda x: isinstance(x, list))[0] == [1, [2]]
    pairs, _ = registry.flatten_with_path((1, [2]), lambda path, x: len(path) == 1)
    assert [leaf for _, leaf in pairs] == [1, [2]]
    Simple = type("Simple", (), {"__init__": lambda self, x: setattr(self, "x", x)})
    registry.register_dataclass_node(Simple, ["x"], [])
    assert ftu.tree_map(double, Simple(2)).x == 4
    assert pickle.loads(pickle.dumps(registry)) is registry


# Partial.


def test_partial():
    part = ftu.Partial(double, 3)
    assert part() == 6 and isinstance(part, functools.partial)
    part = ftu.Partial(lambda *a, **k: (a, k), 1, func=2)
    assert part(5) == ((1, 5), {"func": 2})
    leaves, structure = ftu.tree_flatten(part)
    assert leaves == [1, 2] and structure.unflatten([3, 4])(5) == ((3, 5), {"func": 4})
    assert ftu.tree_structure(ftu.Partial(double, 1)) == ftu.tree_structure(ftu.Partial(double, 2))
    assert ftu.tree_structure(ftu.Partial(double)) != ftu.tree_structure(ftu.Partial(abs))
    assert ftu.Partial.__module__.startswith("funcgrad")
    copied = pickle.loads(pickle.dumps(ftu.Partial(double, 3)))
    assert type(copied) is ftu.Partial and copied() == 6


@pytest.mark.parametrize("make", [functools.partial, ftu.Partial])
def test_partial_of_partial_keeps_its_own_arguments(make):
    inner = make(max, 1)
    outer = ftu.Partial(inner, 3)
    assert outer(2) == 3 and ftu.tree_leaves(outer) == [3]
    assert outer.func.func is max and outer.func.args == (1,) and outer.func.keywords == {}
    assert ftu.tree_structure(outer) == ftu.tree_structure(ftu.Partial(inner, 4))
    assert hash(ftu.tree_structure(outer)) == hash(ftu.tree_structure(ftu.Partial(inner, 4)))
    assert ftu.tree_map(double, outer)(5) == 6
    assert pickle.loads(pickle.dumps(outer))(2) == 3


# Equality, hashing, memory.


def test_a_structure_met_again_is_the_same_object():
    def key(text):
        return "".join(text)  # not interned by Python

    for make in (
        lambda: {key("one"): (1, None), key("two"): [Pair(1, 2)]},
        lambda: [Box(1, key("label")), Box(2, (1000 + len("x"), "b"))],
        lambda: Layer(1, OD(x=2), key("name")),
        lambda: {(1, 2): Keyed(DD(list, a=1))},
    ):
        assert ftu.tree_structure(make()) is ftu.tree_structure(make())
    assert ftu.tree_structure({"a": 1, "b": 2}) is ftu.tree_structure({"b": 1, "a": 2})
    structure = ftu.tree_structure({"a": 1})
    assert pickle.loads(pickle.dumps(structure)) is structure


def test_equal_metadata_is_not_taken_for_the_same():
    for make in (lambda key: {key: 0}, lambda key: Box(0, key), lambda key: Box(0, ("a", key))):
        for key in (1, True, 1.0, 0, False, 0.0, -0.0, Mode("a"), "a"):
            same_again = ftu.tree_map(lambda x: x, make(key))
            assert repr(same_again) == repr(make(key))
    assert ftu.tree_structure({1: 0}) == ftu.tree_structure({True: 0})
    assert hash(ftu.tree_structure({1: 0})) == hash(ftu.tree_structure({True: 0}))
    assert ftu.tree_structure({(1, "a"): 0}).unflatten([5]) == {(1, "a"): 5}
    assert repr(ftu.tree_structure({(True, "a"): 0})) == "PyTreeDef({(True, 'a'): *})"


def test_structures_compare_with_other_things():
    structure = ftu.tree_structure((1, 2))
    assert structure != 3 and structure is not None and structure != (1, 2)
    assert (structure == None) is False  # noqa: E711
    assert {structure: "found"}[ftu.tree_structure((3, 4))] == "found"
    with pytest.raises(TypeError, match="not supported"):
        _ = structure < structure


def test_metadata_that_cannot_be_hashed():
    one, other = ftu.tree_structure(Box(1, [1])), ftu.tree_structure(Box(1, [1]))
    assert one == other and hash(one) == hash(other)
    assert one != ftu.tree_structure(Box(1, [2]))


def test_metadata_that_cannot_be_compared():
    ones = np.ones(2)
    assert ftu.tree_structure(Box(1, ones)) == ftu.tree_structure(Box(1, ones))
    with pytest.raises(ValueError, match=r"Metadata of pytree node Box cannot be compared"):
        _ = ftu.tree_structure(Box(1, ones)) == ftu.tree_structure(Box(1, np.ones(2)))
    nan = float("nan")
    assert ftu.tree_structure(Box(1, nan)) == ftu.tree_structure(Box(1, nan))
    assert ftu.tree_structure(Box(1, nan)) != ftu.tree_structure(Box(1, float("nan")))


def test_metadata_is_not_kept_alive():
    class Big:
        pass

    big, closure = Big(), lambda x: x
    watched = [weakref.ref(big), weakref.ref(closure)]
    for sample in (Box(1, big), Box(1, ("a", big)), ftu.Partial(closure, 1)):
        ftu.tree_map(double, sample)
        ftu.tree_flatten([sample])
    structure = ftu.tree_structure(Box(1, big))
    del big, closure, sample
    gc.collect()
    assert watched[0]() is not None and watched[1]() is None
    del structure
    gc.collect()
    assert watched[0]() is None


def test_structures_that_cost_nothing_are_kept():
    for sample in ({"a": (1, None)}, Layer(1, 2, double), Box(Pair(1, 2), ("a", np.tanh))):
        kept = weakref.ref(ftu.tree_structure(sample))
        gc.collect()
        assert kept() is ftu.tree_structure(sample)


def test_leaves_are_not_kept_alive():
    class Big:
        pass

    big = Big()
    watched = weakref.ref(big)
    structure = ftu.tree_structure({"a": [big]})
    del big
    gc.collect()
    assert watched() is None and structure.num_leaves == 1


def test_many_threads():
    results, start = [], threading.Barrier(4)

    def work():
        start.wait()
        for n in range(200):
            sample = {f"k{n}": (n, [n, None]), "other": Box(n, f"label{n}")}
            leaves, structure = ftu.tree_flatten(sample)
            results.append(structure.unflatten(leaves) == sample)

    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(old)
    assert len(results) == 800 and all(results)


def test_examples_in_docstrings():
    modules = (keypaths, tree, treedef, treeflatten, treekinds, treeprefix, treeregister)
    names = {**vars(tree), "dataclasses": dataclasses}
    finder, runner = doctest.DocTestFinder(recurse=True), doctest.DocTestRunner(verbose=False)
    for module in modules:
        for example in finder.find(module, extraglobs=names):
            runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries > 15
