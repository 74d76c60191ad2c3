"""Convolutions against jax.lax: values, derivatives, groups, batches, every layout."""

import jax
import numpy as np
import pytest
from jax import lax as jlax

from funcgrad import lax
from funcgrad.base.array import as_array
from funcgrad.primitives import patches
from funcgrad.primitives.convolution import conv_general_dilated_p
from funcgrad.primitives.convolution_spec import Geometry
from funcgrad.transforms.staging import stage_closed
from lax_oracle import (
    assert_close,
    check_batches,
    check_derivatives,
    check_values,
    random_array,
)

NHWC = ("NHWC", "HWIO", "NHWC")

# lhs shape, rhs shape, window_strides, padding, and further settings
CASES = {
    "no spatial axes": ((4, 3), (5, 3), (), "VALID", {}),
    "one axis": ((2, 3, 9), (4, 3, 3), (1,), "SAME", {}),
    "images": ((2, 6, 5, 3), (3, 2, 3, 4), (1, 1), "SAME", {"dimension_numbers": NHWC}),
    "strided": ((2, 7, 6, 3), (3, 3, 3, 4), (2, 3), "SAME", {"dimension_numbers": NHWC}),
    "same lower": ((1, 2, 6, 7), (3, 2, 2, 4), (2, 2), "SAME_LOWER", {}),
    "pointwise": ((2, 4, 5, 3), (1, 1, 3, 4), (1, 1), "VALID", {"dimension_numbers": NHWC}),
    "pointwise strided": ((2, 4, 5, 3), (1, 1, 3, 4), (2, 2), "VALID", {"dimension_numbers": NHWC}),
    "padded": ((2, 3, 5, 4), (4, 3, 3, 2), (1, 2), ((1, 2), (0, 3)), {}),
    "cropped": ((1, 2, 8, 7), (3, 2, 2, 2), (1, 1), ((-2, 1), (1, -3)), {}),
    "dilated lhs": ((2, 3, 4, 5), (4, 3, 3, 2), (1, 1), ((2, 1), (1, 3)), {"lhs_dilation": (2, 3)}),
    "dilated lhs, cropped": ((1, 2, 5), (3, 2, 3), (1,), ((-3, -2),), {"lhs_dilation": (3,)}),
    "dilated lhs, strided": ((1, 2, 5), (3, 2, 3), (2,), ((2, 1),), {"lhs_dilation": (3,)}),
    "dilated rhs": ((2, 3, 9, 8), (4, 3, 3, 2), (2, 1), "SAME", {"rhs_dilation": (2, 3)}),
    "all dilated": (
        (1, 2, 5, 4),
        (3, 2, 2, 3),
        (2, 1),
        ((3, 0), (2, 2)),
        {"lhs_dilation": (2, 3), "rhs_dilation": (3, 2)},
    ),
    "three axes": ((1, 2, 4, 3, 5), (3, 2, 2, 3, 2), (1, 1, 2), "SAME", {}),
    "feature groups": ((2, 4, 5, 6), (3, 3, 3, 8), (1, 1), "SAME", {"feature_group_count": 2}),
    "depthwise": ((2, 5, 6, 4), (3, 2, 1, 4), (1, 1), "SAME", {"feature_group_count": 4}),
    "depthwise strided": ((2, 5, 6, 4), (3, 2, 1, 8), (2, 1), "VALID", {"feature_group_count": 4}),
    "batch groups": ((6, 3, 5, 4), (4, 3, 2, 3), (1, 2), "SAME", {"batch_group_count": 2}),
    "batch groups of one": ((3, 1, 5), (3, 1, 2), (1,), "VALID", {"batch_group_count": 3}),
    "features first to last": (
        (2, 3, 5, 4),
        (2, 3, 3, 5),
        (1, 1),
        "SAME",
        {"dimension_numbers": ("NCHW", "HWIO", "NHWC")},
    ),
    "odd order": (
        (5, 2, 3, 4),
        (4, 2, 2, 3),
        (2, 1),
        "SAME",
        {"dimension_numbers": ("WNCH", "OHWI", "CWNH")},
    ),
    "kernel too large": ((1, 2, 3), (2, 2, 5), (1,), "VALID", {}),
    "no inputs": ((0, 2, 5), (3, 2, 2), (1,), "SAME", {}),
    "no features": ((2, 0, 5), (3, 0, 2), (1,), "SAME", {}),
    "no outputs": ((2, 3, 5), (0, 3, 2), (1,), "SAME", {}),
    "only padding": ((1, 2, 0), (3, 2, 2), (1,), ((2, 1),), {}),
}
for _name in ("feature groups", "depthwise", "depthwise strided"):
    CASES[_name][-1]["dimension_numbers"] = NHWC


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def both(case: str) -> tuple:
    """Our convolution and JAX's, and the shapes of their operands."""
    left, right, strides, padding, settings = CASES[case]

    def ours(x, w):
        return lax.conv_general_dilated(x, w, strides, padding, **settings)

    def theirs(x, w):
        return jlax.conv_general_dilated(x, w, strides, padding, **settings)

    return ours, theirs, left, right


@pytest.mark.parametrize("case", CASES)
def test_values_and_derivatives(case: str, rng: np.random.Generator) -> None:
    ours, theirs, left, right = both(case)
    x, w = random_array(rng, left, "float32"), random_array(rng, right, "float32")
    check_values(ours, theirs, x, w)
    # The kernel's derivative is the convolution with the cotangent, so the second one adds little.
    check_derivatives(ours, theirs, x, w, second=case in ("strided", "dilated lhs", "batch groups"))


@pytest.mark.parametrize("case", CASES)
def test_batches(case: str, rng: np.random.Generator) -> None:
    ours, _, left, right = both(case)
    x, w = random_array(rng, left, "float32"), random_array(rng, right, "float32")
    check_batches(ours, x, w)


@pytest.mark.parametrize("tile", [1, 300])
@pytest.mark.parametrize("case", CASES)
def test_tiles(case: str, tile: int, rng: np.random.Generator, monkeypatch) -> None:
    """The same result however little is gathered at a time."""
    ours, _, left, right = both(case)
    x, w = random_array(rng, left, "float32"), random_array(rng, right, "float32")
    whole = ours(x, w)
    monkeypatch.setattr(patches, "TILE_BYTES", tile)
    monkeypatch.setattr(patches, "TAP_BYTES", tile)
    assert_close(ours(x, w), whole)


SIZES = [(1, 3, 2), (1, 1, 1), (2, 3, 2), (3, 1, 1), (3, 1, 2), (3, 2, 1)]


@pytest.mark.parametrize(
    "way, groups, features, outputs",
    [("_by_rows", *s) for s in SIZES]
    + [("_by_columns", *s) for s in SIZES]
    + [("_by_taps", *s) for s in SIZES if s[1] == 1]
    + [("_by_places", *s) for s in SIZES if s[2] == 1],
)
def test_ways_agree(
    way: str, groups: int, features: int, outputs: int, rng: np.random.Generator
) -> None:
    """Whichever way would be chosen, all that apply give the same."""
    x = rng.standard_normal((groups, 2, 6, 7, features)).astype(np.float32)
    w = rng.standard_normal((groups, 2, 3, features, outputs)).astype(np.float32)
    geometry = Geometry((1, 2), ((0, 1), (2, 0)), (1, 1), (2, 1))
    places = geometry.places((6, 7), (2, 3))
    shape = (2, *places, groups, outputs)
    base = patches._arranged(np, x, geometry, way in ("_by_rows", "_by_taps"))
    out = getattr(patches, way)(np, base, w, geometry, shape, np.float32)
    padded = np.pad(x, ((0, 0), (0, 0), (0, 1), (2, 0), (0, 0)))
    want = np.zeros(shape)
    for i, j in np.ndindex(*places):
        window = padded[:, :, i : i + 3 : 2, 2 * j : 2 * j + 3]
        want[:, i, j] = np.einsum("gnhwc,ghwco->ngo", window, w)
    assert_close(np.ascontiguousarray(out), want.astype(np.float32))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "int32", "float16", "bfloat16", "complex64"]
)
def test_dtypes(dtype: str, rng: np.random.Generator) -> None:
    x, w = random_array(rng, (2, 3, 8), dtype), random_array(rng, (4, 3, 3), dtype)
    for preferred in (None, "float32", "int32", "int8", "float16", "complex64"):

        def run(of, x, w, preferred=preferred):
            return of.conv_general_dilated(x, w, (1,), "SAME", preferred_element_type=preferred)

        try:
            want = run(jlax, x, w)
        except TypeError:
            with pytest.raises(TypeError, match="preferred_element_type"):
                run(lax, x, w)
            continue
        assert_close(run(lax, x, w), want, f"{dtype} preferring {preferred}")


def test_integers_wrap_exactly(rng: np.random.Generator) -> None:
    for case in ("images", "depthwise", "batch groups", "dilated lhs"):
        ours, theirs, left, right = both(case)
        x = rng.integers(-(2**31), 2**31, left).astype(np.int32)
        w = rng.integers(-(2**31), 2**31, right).astype(np.int32)
        np.testing.assert_array_equal(ours(x, w), theirs(x, w))


@pytest.mark.parametrize("dtype", ["complex64", "float16"])
def test_derivatives_of_other_dtypes(dtype: str, rng: np.random.Generator) -> None:
    ours, theirs, left, right = both("strided")
    x, w = random_array(rng, left, dtype), random_array(rng, right, dtype)
    check_derivatives(ours, theirs, x, w, second=False)


def test_preferred_type_in_derivatives(rng: np.random.Generator) -> None:
    x, w = random_array(rng, (2, 3, 8), "float16"), random_array(rng, (4, 3, 3), "float16")
    settings = {"window_strides": (2,), "padding": "SAME", "preferred_element_type": "float32"}
    check_derivatives(
        lambda x, w: lax.conv_general_dilated(x, w, **settings),
        lambda x, w: jlax.conv_general_dilated(x, w, **settings),
        x,
        w,
    )


def test_any_memory_layout(rng: np.random.Generator) -> None:
    """A result does not depend on how its operands lie in memory."""
    ours, theirs, left, right = both("images")
    x, w = random_array(rng, left, "float32"), random_array(rng, right, "float32")
    want = theirs(x, w)
    for order in ((0, 1, 2, 3), (0, 3, 1, 2), (3, 1, 2, 0), (2, 3, 0, 1)):
        back = np.argsort(order)
        arrays = []
        for a in (x, w):
            held = np.ascontiguousarray(a.transpose(order)).transpose(back)[::-1][::-1]
            arrays.append(type(as_array(a))(held, as_array(a).aval))
        assert_close(ours(*arrays), want, f"order {order}")


def test_conv_and_conv_with_general_padding(rng: np.random.Generator) -> None:
    x, w = random_array(rng, (2, 3, 7, 6), "float32"), random_array(rng, (4, 3, 2, 3), "float32")
    check_values(
        lambda x, w: lax.conv(x, w, (2, 1), "SAME"),
        lambda x, w: jlax.conv(x, w, (2, 1), "SAME"),
        x,
        w,
    )
    rest = ((1, 2), ((1, 0), (2, 1)), (2, 1), (1, 2))
    check_values(
        lambda x, w: lax.conv_with_general_padding(x, w, *rest),
        lambda x, w: jlax.conv_with_general_padding(x, w, *rest),
        x,
        w,
    )


@pytest.mark.parametrize("transpose_kernel", [False, True])
@pytest.mark.parametrize(
    "strides, padding, dilation, consistent",
    [
        ((2, 2), "SAME", None, False),
        ((3, 1), "VALID", (1, 2), False),
        ((2, 2), ((1, 2), (0, 1)), None, False),
        ((2, 3), ((1, 1), (0, 1)), (2, 1), True),
        ((4, 4), "SAME", None, True),
    ],
)
def test_conv_transpose(strides, padding, dilation, consistent, transpose_kernel, rng) -> None:
    features = 3 if transpose_kernel else 2
    x = random_array(rng, (2, 4, 3, features), "float32")
    w = random_array(rng, (3, 2, 2, 3), "float32")
    settings = {
        "rhs_dilation": dilation,
        "transpose_kernel": transpose_kernel,
        "use_consistent_padding": consistent,
    }
    check_values(
        lambda x, w: lax.conv_transpose(x, w, strides, padding, **settings),
        lambda x, w: jlax.conv_transpose(x, jax.numpy.asarray(w), strides, padding, **settings),
        x,
        w,
    )


@pytest.mark.parametrize(
    "shape, filter_shape, strides, padding, settings",
    [
        ((2, 3, 6, 5), (3, 2), (1, 2), "SAME", {}),
        ((2, 3, 6, 5), (2, 2), (1, 1), ((1, 0), (-1, 2)), {"lhs_dilation": (2, 1)}),
        ((5, 6, 2, 3), (2, 3), (1, 1), "VALID", {"dimension_numbers": ("WHNC", "OIHW", "CHNW")}),
        ((2, 3, 9), (3,), (2,), "VALID", {"rhs_dilation": (3,)}),
        ((2, 3, 2), (3,), (1,), "VALID", {}),
    ],
)
def test_patches_and_local(shape, filter_shape, strides, padding, settings, rng) -> None:
    x = random_array(rng, shape, "float32")

    def run(of, x):
        return of.conv_general_dilated_patches(x, filter_shape, strides, padding, **settings)

    check_values(lambda x: run(lax, x), lambda x: run(jlax, x), x)
    check_derivatives(lambda x: run(lax, x), lambda x: run(jlax, x), x, second=False)
    numbers = jlax.conv_dimension_numbers(
        shape, (1, 1, *filter_shape), settings.get("dimension_numbers")
    )
    places = [run(lax, x).aval.shape[a] for a in numbers.out_spec]
    kernel_shape = [0] * len(shape)
    for axis, size in zip(numbers.rhs_spec, (4, *places[1:]), strict=True):
        kernel_shape[axis] = size
    w = random_array(rng, kernel_shape, "float32")
    args = (strides, padding, filter_shape)
    check_values(
        lambda x, w: lax.conv_general_dilated_local(x, w, *args, **settings),
        lambda x, w: jlax.conv_general_dilated_local(x, w, *args, **settings),
        x,
        w,
    )


def test_dimension_numbers() -> None:
    shapes = ((1, 5, 6, 2), (3, 3, 2, 4))
    for numbers in (None, NHWC, ("NWHC", "WHIO", "CHWN"), ("CNHW", "IOHW", "HWNC")):
        mine = lax.conv_dimension_numbers(*shapes, numbers)
        assert mine == tuple(jlax.conv_dimension_numbers(*shapes, numbers))
        assert lax.conv_dimension_numbers(*shapes, mine) == mine
        assert lax.conv_dimension_numbers(*shapes, tuple(map(list, mine))) == mine
    for numbers in (
        ("NHWC", "HWIO"),
        ("NHWC", "HWIO", "NHC"),
        ("NHWC", "HWIO", "NHWD"),
        ("NHHC", "HWIO", "NHWC"),
        ("NXWC", "HWIO", "NHWC"),
        ("NHWC", "HWIO", (0, 1, 2, 3)),
        "NHWC",
    ):
        with pytest.raises(TypeError):
            jlax.conv_dimension_numbers(*shapes, numbers)
        with pytest.raises(TypeError, match="dimension_numbers"):
            lax.conv_dimension_numbers(*shapes, numbers)
    with pytest.raises(TypeError, match="same rank"):
        lax.conv_dimension_numbers((1, 2, 3), (1, 2), None)


def test_shape_functions() -> None:
    for padding in ("SAME", "VALID", ((1, 0), (2, 2))):
        args = ((1, 5, 6, 2), (3, 3, 2, 4), (2, 1), padding, ("NHWC", "HWIO", "NCHW"))
        assert lax.conv_general_shape_tuple(*args) == jlax.conv_general_shape_tuple(*args)
        assert lax.conv_transpose_shape_tuple(*args) == jlax.conv_transpose_shape_tuple(*args)
    args = ((6, 2, 5), (4, 2, 3), (2,), "SAME", 3)
    assert lax.conv_shape_tuple(*args) == jlax.conv_shape_tuple(*args)


def test_params_are_those_of_jax() -> None:
    x, w = np.ones((1, 5, 5, 2), np.float32), np.ones((3, 3, 2, 4), np.float32)
    settings = {"dimension_numbers": NHWC, "precision": "high", "rhs_dilation": (1, 2)}
    mine, _ = stage_closed(
        lambda x, w: [lax.conv_general_dilated(x, w, (1, 2), "SAME", **settings)],
        [as_array(x).aval, as_array(w).aval],
    )
    yours = jax.make_jaxpr(
        lambda x, w: jlax.conv_general_dilated(x, w, (1, 2), "SAME", **settings)
    )(x, w)
    (eqn,) = mine.eqns
    assert eqn.primitive is conv_general_dilated_p
    assert {k: repr(v) for k, v in eqn.params.items()} == {
        k: repr(v) for k, v in yours.eqns[0].params.items()
    }


def test_weak_types() -> None:
    from funcgrad.base.basis import broadcast_in_dim

    x, w = broadcast_in_dim(1.0, (1, 1, 3), ()), broadcast_in_dim(1.0, (1, 1, 2), ())
    assert lax.conv_general_dilated(x, w, (1,), "VALID").aval.weak_type


@pytest.mark.parametrize(
    "left, right, settings, error, message",
    [
        ((1, 2, 5), (3, 2), {}, TypeError, "same rank"),
        ((1, 2, 5), (3, 1, 2), {}, ValueError, "lhs has batch size 1 and 2 features, rhs 1 input"),
        ((1, 4, 5), (3, 2, 2), {"feature_group_count": 2}, ValueError, "output features of rhs"),
        ((1, 3, 5), (4, 2, 2), {"feature_group_count": 2}, ValueError, "features of lhs"),
        ((3, 2, 5), (4, 2, 2), {"batch_group_count": 2}, ValueError, "batch size of lhs"),
        ((2, 2, 5), (3, 2, 2), {"batch_group_count": 2}, ValueError, "output features of rhs"),
        ((2, 2, 5), (3, 2, 2), {"batch_group_count": 0}, ValueError, "positive integer"),
        (
            (4, 4, 5),
            (4, 2, 2),
            {"batch_group_count": 2, "feature_group_count": 2},
            ValueError,
            "must be 1",
        ),
        ((1, 2, 5), (3, 2, 2), {"window_strides": (1, 1)}, ValueError, "1 spatial axes"),
        ((1, 2, 5), (3, 2, 2), {"window_strides": (0,)}, ValueError, "window_strides must be pos"),
        ((1, 2, 5), (3, 2, 2), {"rhs_dilation": (0,)}, TypeError, "rhs_dilation must be positive"),
        ((1, 2, 5), (3, 2, 2), {"padding": ((1, 1), (1, 1))}, TypeError, "padding must have one"),
        ((1, 2, 5), (3, 2, 2), {"padding": (1,)}, ValueError, "pair of ints"),
        ((1, 2, 5), (3, 2, 2), {"padding": "HALF"}, RuntimeError, "'HALF'"),
        ((1, 2, 5), (3, 2, 2), {"padding": ((-3, -3),)}, ValueError, "takes away more"),
        ((1, 2, 5), (3, 2, 0), {}, ValueError, "must not be empty"),
        ((1, 2, 5), (3, 2, 2), {"lhs_dilation": (2,)}, ValueError, "no meaning with lhs_dilation"),
        ((1, 2, 5), (3, 2, 2), {"out_sharding": 1}, ValueError, "out_sharding"),
    ],
)
def test_wrong_arguments(left, right, settings, error, message) -> None:
    settings = {"window_strides": (1,), "padding": "SAME"} | settings
    x, w = np.ones(left, np.float32), np.ones(right, np.float32)
    with pytest.raises(error, match=message):
        lax.conv_general_dilated(x, w, **settings)


def test_dtypes_must_agree() -> None:
    x, w = np.ones((1, 2, 5), np.float32), np.ones((3, 2, 2), np.float16)
    with pytest.raises(TypeError, match="same dtypes, got float32, float16"):
        lax.conv_general_dilated(x, w, (1,), "SAME")
