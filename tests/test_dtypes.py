"""Dtypes against JAX's: every pair promoted, every kind, canonical and default dtypes, names."""

import contextlib
import copy
import enum
import itertools
import pickle
import random
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax._src import dtypes as reference

from funcgrad.base import dtypes, promotion, scalar_types
from funcgrad.base.config import Config, config, enable_x64, numpy_dtype_promotion
from funcgrad.base.errors import TypePromotionError

NAMES = list(dtypes.BY_NAME)
WIDE = {"int64", "uint64", "float64", "complex128"}
ABSTRACT = [
    *(np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger),
    *(np.inexact, np.floating, np.complexfloating, np.bool_, np.character),
]
MODES = list(itertools.product([False, True], ["standard", "strict"]))
KEY = dtypes.threefry_key_type


class Operand:
    """An array's dtype and weak type, in the form that both libraries read."""

    def __init__(self, dtype: Any, weak: bool):
        self.dtype = dtypes.as_dtype(dtype)
        self.aval = SimpleNamespace(dtype=self.dtype, weak_type=weak)

    def __repr__(self) -> str:
        return f"{self.dtype}{'*' * self.aval.weak_type}"


class Unhashable(Operand):
    __hash__ = None  # type: ignore[assignment]


@contextlib.contextmanager
def mode(x64: bool, strictness: str = "standard") -> Iterator[None]:
    """The same settings for both libraries."""
    with (
        enable_x64(x64),
        numpy_dtype_promotion(strictness),
        jax.enable_x64(x64),
        jax.numpy_dtype_promotion(strictness),
    ):
        yield


def outcome(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """The result, or that strictness was refused."""
    try:
        return function(*args, **kwargs)
    except (TypePromotionError, jax.dtypes.TypePromotionError):
        return "refused"


def operands(x64: bool) -> list[Operand]:
    return [
        Operand(name, weak)
        for name in NAMES
        if x64 or name not in WIDE
        for weak in ((False, True) if name != "bool" else (False,))
    ]


def same(ours: Callable, theirs: Callable, cases: list[tuple]) -> None:
    differing = [
        (case, ours_out, theirs_out)
        for case in cases
        if (ours_out := outcome(ours, *case)) != (theirs_out := outcome(theirs, *case))
    ]
    assert not differing[:10]


def test_there_are_the_dtypes_that_jax_has() -> None:
    known = {d for d in reference._jax_dtype_set if isinstance(d, np.dtype) and d.kind != "T"}
    assert known == {*dtypes.BY_NAME.values(), dtypes.float0}
    assert dtypes.float0 == jax.dtypes.float0


# strictness
@pytest.mark.parametrize("x64, strictness", MODES)
def test_promote_types(x64: bool, strictness: str) -> None:
    with mode(x64, strictness):
        pairs = list(itertools.product([*NAMES, int, float, complex], repeat=2))
        same(promotion.promote_types, jnp.promote_types, pairs)
        for a, b in pairs:
            assert outcome(promotion.promote_types, a, b) == outcome(promotion.promote_types, b, a)


@pytest.mark.parametrize("x64, strictness", MODES)
def test_promotion_of_every_pair(x64: bool, strictness: str) -> None:
    with mode(x64, strictness):
        pairs = list(itertools.product(operands(x64), repeat=2))
        same(promotion.lattice_result_type, reference.lattice_result_type, pairs)
        for a, b in pairs:
            found = (a.dtype, a.aval.weak_type, b.dtype, b.aval.weak_type)
            once = outcome(promotion.promote2, *found)
            assert once == outcome(promotion.lattice_result_type, a, b)
            assert once == outcome(promotion.promote2, *found)


@pytest.mark.parametrize("x64, strictness", MODES)
def test_promotion_of_one_and_of_three(x64: bool, strictness: str) -> None:
    with mode(x64, strictness):
        some = operands(x64)
        same(promotion.lattice_result_type, reference.lattice_result_type, [(x,) for x in some])
        draw = random.Random(0)
        triples = [tuple(draw.choices(some, k=3)) for _ in range(4000)]
        same(promotion.lattice_result_type, reference.lattice_result_type, triples)


@pytest.mark.parametrize("x64, strictness", MODES)
def test_result_type_with_numbers_types_and_names(x64: bool, strictness: str) -> None:
    numbers = [True, 3, 2**40, 1.5, 2j, np.float32(1), np.int8(1), np.float64(1), np.bool_(True)]
    named = [bool, int, float, complex, np.int16, np.float32, "bfloat16", "uint4", np.dtype("c8")]
    arrays = [np.zeros(2, "int64"), np.zeros((2, 3), "float16"), np.zeros(1), np.zeros(1, "?")]
    values: list[Any] = [*numbers, *named, *arrays, None]

    def ours(*args: Any) -> Any:
        return promotion.result_type(*args, return_weak_type_flag=True)

    def theirs(*args: Any) -> Any:
        return jax.dtypes.result_type(*args, return_weak_type_flag=True)

    with mode(x64, strictness):
        differing = [
            (args, ours_out, theirs_out)
            for args in [(x,) for x in values] + list(itertools.product(values, repeat=2))
            if (ours_out := outcome(ours, *args)) != (theirs_out := outcome(theirs, *args))
        ]
        assert not differing[:10]
        scalars = [scalar_types.SCALAR_MAKERS["int8"], scalar_types.SCALAR_MAKERS["bfloat16"], 1.5]
        assert outcome(ours, *scalars[1:]) == outcome(theirs, jnp.bfloat16, 1.5)
        assert outcome(ours, *scalars[:2]) == outcome(theirs, jnp.int8, jnp.bfloat16)


def test_wide_arrays_meet_as_in_jax_when_x64_is_off() -> None:
    names = [n for n in NAMES if n in WIDE or n in ("bool", "int8", "uint32", "float32")]
    with jax.enable_x64(True):
        theirs = [jnp.zeros((), name) for name in names]
    ours = [Operand(name, False) for name in names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (a, x), (b, y) in itertools.product(zip(ours, theirs), repeat=2):
            expected = reference.lattice_result_type(x, y)
            assert promotion.lattice_result_type(a, b) == expected, (a, b)
    with pytest.warns(UserWarning, match="float64.*float32"):
        with numpy_dtype_promotion("standard"), Config.explicit_x64_dtypes("warn"):
            promotion._promoted.clear()
            promotion.promote2(np.dtype("float64"), False, np.dtype("float32"), False)
    with Config.explicit_x64_dtypes("allow"):
        found = promotion.promote2(np.dtype("float64"), False, np.dtype("float32"), False)
        assert found == (np.dtype("float64"), False)


def test_keys_and_float0_promote_only_with_themselves() -> None:
    for dtype in (KEY, dtypes.float0):
        assert promotion.promote2(dtype, False, dtype, False) == (dtype, False)
        assert promotion.result_type(Operand(dtype, False), Operand(dtype, False)) == dtype
        assert promotion.lattice_result_type(Operand(dtype, False)) == (dtype, False)
        for other in (Operand("float32", False), 1, 1.5):
            with pytest.raises(TypePromotionError, match="mix with nothing"):
                promotion.result_type(Operand(dtype, False), other)
    with pytest.raises(TypePromotionError, match="key<fry>"):
        promotion.promote_types(KEY, "int32")


def test_refusals_name_the_dtypes_and_the_way_out() -> None:
    with pytest.raises(TypePromotionError, match=r"float8_e4m3fn, float8_e5m2.*astype"):
        promotion.promote_types("float8_e5m2", "float8_e4m3fn")
    with pytest.raises(TypePromotionError, match=r"int8, uint4.*astype") as caught:
        promotion.lattice_result_type("uint4", "int8")
    assert caught.value.__context__ is None
    with numpy_dtype_promotion("strict"):
        strict = r"float32, int32 .*'strict'.*astype.*'standard'"
        with pytest.raises(TypePromotionError, match=strict):
            promotion.promote2(np.dtype("int32"), False, np.dtype("float32"), False)
        assert promotion.result_type("int32", 1) == np.int32
    assert promotion.result_type("int32", "float32") == np.float32
    with pytest.raises(ValueError, match="at least one"):
        promotion.result_type()


# kinds
def test_issubdtype_of_every_pair() -> None:
    given = [*NAMES, *map(np.dtype, NAMES), *ABSTRACT, bool, int, float, complex, None]
    given += [np.dtype(name).type for name in NAMES]
    same(dtypes.issubdtype, jnp.issubdtype, list(itertools.product(given, repeat=2)))
    extended: list[Any] = [dtypes.extended, dtypes.prng_key]
    theirs: dict[Any, Any] = {dtypes.extended: jax.dtypes.extended}
    theirs[dtypes.prng_key] = jax.dtypes.prng_key
    theirs[KEY] = jax.random.key(0).dtype
    for a, b in itertools.product([*extended, KEY, *given], repeat=2):
        expected = jnp.issubdtype(theirs.get(a, a), theirs.get(b, b))
        assert dtypes.issubdtype(a, b) == expected, (a, b)


def test_issubdtype_of_other_objects() -> None:
    for name, maker in scalar_types.SCALAR_MAKERS.items():
        for kind in ABSTRACT:
            expected = jnp.issubdtype(getattr(jnp, name), kind)
            assert dtypes.issubdtype(maker, kind) == expected
        assert dtypes.issubdtype(maker, maker) and dtypes.issubdtype(name, maker)
    unhashable = Unhashable("float16", False)
    assert dtypes.issubdtype(unhashable, np.floating)
    assert not dtypes.issubdtype(np.floating, unhashable)
    for function in (dtypes.issubdtype, jnp.issubdtype):
        with pytest.raises(TypeError):
            function("float33", np.floating)


def test_isdtype() -> None:
    kinds: list[Any] = [*dtypes.KINDS, *NAMES, ("integral", "bool"), (np.float32, "bool"), float]
    assert set(dtypes.KINDS) == set(reference._dtype_kinds)
    same(dtypes.isdtype, jnp.isdtype, list(itertools.product(NAMES, kinds)))
    assert not dtypes.isdtype(KEY, "numeric") and dtypes.isdtype(KEY, KEY)
    with pytest.raises(ValueError, match=r"'real floating'.*'decimal'"):
        dtypes.isdtype("int32", "decimal")
    with pytest.raises(TypeError, match="got 3"):
        dtypes.isdtype("int32", 3)


@pytest.mark.parametrize("name", NAMES)
def test_limits(name: str) -> None:
    maker, other = scalar_types.SCALAR_MAKERS[name], getattr(jnp, name)
    if dtypes.issubdtype(name, np.integer):
        for given in (name, np.dtype(name), maker):
            ours, theirs = dtypes.iinfo(given), jnp.iinfo(name)
            for field in ("bits", "dtype", "kind", "max", "min"):
                assert getattr(ours, field) == getattr(theirs, field)
    elif dtypes.issubdtype(name, np.inexact):
        fields = """bits dtype eps epsneg iexp machep max maxexp min minexp negep nexp nmant
            precision resolution smallest_normal smallest_subnormal tiny""".split()
        for given in (name, np.dtype(name), maker):
            ours, theirs = dtypes.finfo(given), jnp.finfo(other)
            for field in fields:
                np.testing.assert_equal(getattr(ours, field), getattr(theirs, field))
    else:
        with pytest.raises(ValueError):
            dtypes.finfo(name)


def test_sizes_and_infinities() -> None:
    for name in NAMES:
        assert dtypes.itemsize_bits(name) == jax.dtypes.itemsize_bits(name)
        if name in ("float16", "bfloat16", "float32", "float64", "complex64", "float8_e5m2"):
            assert dtypes.supports_inf(name)
    for name in ("int32", "bool", "float8_e4m3fn", "float4_e2m1fn", "float8_e5m2fnuz"):
        assert not dtypes.supports_inf(name)
    for bad in (None, dtypes.float0, "S3"):
        with pytest.raises(ValueError):
            dtypes.itemsize_bits(bad)


# canonical and default dtypes
@pytest.mark.parametrize("x64", [False, True])
def test_canonical_dtypes(x64: bool) -> None:
    with mode(x64):
        given = [*NAMES, bool, int, float, complex, *dtypes.BY_NAME.values(), dtypes.float0]
        for dtype in [*given, *(np.dtype(name).type for name in NAMES)]:
            expected = jax.dtypes.canonicalize_dtype(dtype)
            assert dtypes.canonicalize_dtype(dtype) is dtypes.canonicalize_dtype(expected)
            assert dtypes.canonicalize_dtype(dtype) == expected
        for name, maker in scalar_types.SCALAR_MAKERS.items():
            assert dtypes.canonicalize_dtype(maker) == dtypes.canonicalize_dtype(name)
        assert dtypes.canonicalize_dtype(">f4") is np.dtype("float32")
        wide = Unhashable("float64", False)
        assert dtypes.canonicalize_dtype(wide) == ("float64" if x64 else "float32")
        assert dtypes.canonicalize_dtype(KEY) is KEY
        with pytest.raises(ValueError, match="key<fry>"):
            dtypes.canonicalize_dtype(KEY, allow_extended_dtype=False)


@pytest.mark.parametrize("x64", [False, True])
def test_default_dtypes(x64: bool) -> None:
    with mode(x64):
        assert dtypes.default_int() == jnp.array(1).dtype
        assert dtypes.default_uint() == reference.default_uint_dtype()
        assert dtypes.default_float() == jnp.array(1.0).dtype
        assert dtypes.default_complex() == jnp.array(1j).dtype
        for value in (True, 3, -(2**31), 2**31 - 1, 1.5, 2j):
            assert promotion.scalar_dtype(value) == jnp.array(value).dtype
        for value in (2**63, -(2**63) - 1) if x64 else (2**31, -(2**31) - 1, 2**40):
            with pytest.raises(OverflowError):
                jnp.array(value)
            with pytest.raises(OverflowError, match=f"{value} .*int{64 if x64 else 32}") as caught:
                promotion.scalar_dtype(value)
            assert ("enable_x64" in str(caught.value)) is not x64
    with pytest.raises(TypeError, match="not a Python number"):
        promotion.scalar_dtype("1")  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["object", "S3", "U2", "datetime64[s]", [("a", "f4")], "g"])
def test_dtypes_that_no_array_holds(dtype: Any) -> None:
    with pytest.raises(TypeError):
        jnp.zeros(2, dtype)
    with pytest.raises(TypeError, match="requested in zeros is not supported"):
        dtypes.check_user_dtype(dtype, "zeros")
    for function in (dtypes.canonicalize_dtype, promotion.result_type):
        with pytest.raises(TypeError):
            function(np.dtype(dtype))
    with pytest.raises(TypeError):
        promotion.dtype_of(np.empty(2, dtype))


def test_user_dtypes() -> None:
    for given in [*(n for n in NAMES if n not in WIDE), bool, int, float, complex]:
        expected = reference.check_and_canonicalize_user_dtype(given, "zeros")
        assert dtypes.check_user_dtype(given, "zeros") is np.dtype(expected)
    assert dtypes.check_user_dtype(">i2") is np.dtype("int16")
    assert dtypes.check_user_dtype(scalar_types.SCALAR_MAKERS["int4"]) == "int4"
    assert dtypes.check_user_dtype(KEY) is KEY
    with pytest.raises(ValueError, match="in zeros, not None"):
        dtypes.check_user_dtype(None, "zeros")
    for array in (np.zeros(2), Operand("int8", False)):
        with pytest.raises(ValueError, match=r"pass its dtype"):
            dtypes.check_user_dtype(array, "zeros")
    with pytest.raises(TypeError, match="'float33'"):
        dtypes.check_user_dtype("float33", "zeros")


@pytest.mark.parametrize("wide", sorted(WIDE))
def test_wide_user_dtypes(wide: str) -> None:
    narrow = str(jax.dtypes.canonicalize_dtype(wide))
    for given in (wide, np.dtype(wide), np.dtype(wide).type, scalar_types.SCALAR_MAKERS[wide]):
        with pytest.warns(
            UserWarning, match=f"{wide} requested in ones.*{narrow}.*enable_x64"
        ) as w:
            assert dtypes.check_user_dtype(given, "ones") == narrow
        assert w[0].filename == __file__
        with enable_x64(True):
            assert dtypes.check_user_dtype(given, "ones") == wide
        with Config.explicit_x64_dtypes("allow"):
            assert dtypes.check_user_dtype(given, "ones") == wide
        with Config.explicit_x64_dtypes("error"):
            with pytest.raises(ValueError, match=f"{wide} requested in ones.*enable_x64"):
                dtypes.check_user_dtype(given, "ones")


# the dtype of a value
class Colour(enum.IntEnum):
    RED = 1


class Wrapped:
    def __jax_array__(self) -> np.ndarray:
        return np.zeros(2, "int8")


@pytest.mark.parametrize("x64", [False, True])
def test_dtype_of_values(x64: bool) -> None:
    with mode(x64):
        values = [True, 1, 1.5, 2j, np.float64(1), np.zeros(2), np.zeros(2, "int64"), int, bool]
        for value in [*values, "int8", np.float16, np.dtype("bfloat16"), 2**40]:
            assert promotion.dtype_of(value) == reference.dtype(value)
        # An array of 64-bit numbers that is there already keeps them; a foreign one does not.
        assert promotion.dtype_of(Operand("float64", False)) == "float64"
        assert promotion.dtype_of(SimpleNamespace(dtype=np.dtype("f8"))) == ("f8" if x64 else "f4")
        assert promotion.dtype_of(SimpleNamespace(dtype=np.dtype("f8"), weak_type=False)) == "f8"
        assert promotion.dtype_of(Colour.RED) == dtypes.default_int()
        assert promotion.dtype_of(Wrapped()) == "int8"
        assert promotion.dtype_of(KEY) is promotion.dtype_of(SimpleNamespace(dtype=KEY)) is KEY
    for value in ([1, 2], object(), "float33", dtypes.prng_key):
        with pytest.raises(TypeError):
            promotion.dtype_of(value)
    with pytest.raises(ValueError, match="None"):
        promotion.dtype_of(None)


def test_weak_types() -> None:
    for value in (1, 1.5, 2j, True, np.float64(1), np.zeros(2), "int8"):
        assert promotion.is_weakly_typed(value) == reference.is_weakly_typed(value)
    assert promotion.is_weakly_typed(Operand("int32", True))
    assert not promotion.is_weakly_typed(Operand("int32", False))
    assert promotion.is_weakly_typed(SimpleNamespace(weak_type=True))


def test_python_types_of_elements() -> None:
    for name in NAMES:
        value = np.zeros((), name)
        assert promotion.scalar_type_of(value) is jax.dtypes.scalar_type_of(value)
    with pytest.raises(TypeError, match="key<fry>"):
        promotion.scalar_type_of(KEY)


def test_neighbours_in_other_kinds() -> None:
    for name in NAMES:
        assert dtypes.to_numeric(name) == reference.to_numeric_dtype(name)
        if name in ("int1", "int2", "uint1", "uint2"):  # in JAX sin of these fails
            assert dtypes.to_inexact(name) == dtypes.to_floating(name) == "float32"
        else:
            assert dtypes.to_inexact(name) == reference.to_inexact_dtype(name)
            assert dtypes.to_floating(name) == reference.to_floating_dtype(name)
        assert dtypes.to_complex(name) == reference.to_complex_dtype(name)


def test_short_names() -> None:
    for dtype in dtypes.BY_NAME.values():
        assert dtypes.short_name(dtype) == reference.short_dtype_name(dtype)
    assert dtypes.short_name(dtypes.float0) == "float0"
    assert dtypes.short_name(KEY) == "key<fry>" == str(jax.random.key(0).dtype)


# keys and scalar types
def test_key_type() -> None:
    theirs = jax.random.key(0).dtype
    assert (str(KEY), KEY.name, KEY.itemsize) == (str(theirs), theirs.name, theirs.itemsize)
    assert dtypes.key_type("threefry2x32", "fry", 2) == KEY == copy.deepcopy(KEY)
    assert pickle.loads(pickle.dumps(KEY)) is KEY
    other = dtypes.key_type("other4x32", "oth", 4)
    assert other != KEY and hash(other) != hash(KEY) and other.itemsize == 16
    assert KEY != np.dtype("uint32") and np.dtype("uint32") != KEY
    assert dtypes.buffer_dtype(KEY) == np.dtype([("0", "<u4"), ("1", "<u4")])
    assert dtypes.buffer_dtype(other).itemsize == 16
    assert dtypes.buffer_dtype("bfloat16") == ml_dtypes.bfloat16
    with pytest.raises(AttributeError):
        KEY.tag = "x"  # type: ignore[misc]


def test_scalar_makers_stand_for_their_dtype() -> None:
    for name, maker in scalar_types.SCALAR_MAKERS.items():
        theirs, scalar = getattr(jnp, name), np.dtype(name).type
        assert np.dtype(maker) == np.dtype(name) == maker.dtype
        assert maker == scalar and scalar == maker and hash(maker) == hash(scalar) == hash(theirs)
        assert maker == np.dtype(name) and np.dtype(name) == maker
        assert (maker == name) == (theirs == name)
        assert {scalar: 1}[maker] == 1
        assert maker.__name__ == theirs.__name__
        assert repr(maker) == f"<class 'funcgrad.numpy.{name}'>"
        assert isinstance(scalar(0), maker) and not isinstance("0", maker)  # type: ignore[arg-type]
        assert np.zeros(2, maker).dtype == name
        assert pickle.loads(pickle.dumps(maker)) is copy.copy(maker) is maker
    float32, int32 = scalar_types.SCALAR_MAKERS["float32"], scalar_types.SCALAR_MAKERS["int32"]
    assert float32 != int32 and float32 != "nothing" and float32 not in (None, np.int32)
    assert np.issubdtype(float32, np.floating)  # type: ignore[arg-type]
    assert np.ones(2).astype(float32).dtype == "float32"  # type: ignore[call-overload]
    assert str(float32 | None) == str(None | float32)


def test_scalar_makers_make_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(scalar_types.slots, "asarray", lambda x, dtype: np.asarray(x, dtype))
    assert scalar_types.SCALAR_MAKERS["int8"](3.7).dtype == "int8"


def test_promotion_is_remembered_by_setting() -> None:
    pair = (np.dtype("uint32"), False, np.dtype("int32"), False)
    assert promotion.promote2(*pair) == (np.dtype("int32"), False)
    with enable_x64(True):
        assert promotion.promote2(*pair) == (np.dtype("int64"), False)
    assert promotion.promote2(*pair) == (np.dtype("int32"), False)
    assert config.trace_key() == ()
