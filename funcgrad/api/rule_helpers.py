"""For custom_vjp rules with symbolic zeros: zeros of the right type, and primals taken out."""

from typing import Any

from funcgrad.api.custom_vjp import CustomVJPPrimal
from funcgrad.base.aval import aval_of, tangent_aval
from funcgrad.base.tree import tree_map
from funcgrad.primitives.custom import zero_maker


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent or cotangent that belongs to a value.

    Args:
        val: an array or number.
        symbolic_zeros: whether to give a SymbolicZero instead of an array.

    Returns:
        Zeros of its shape and dtype; of dtype float0 for integers and booleans.
    """
    return zero_maker(symbolic_zeros)(tangent_aval(aval_of(val)))


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The arguments of a fwd rule with symbolic_zeros=True, without saying what is perturbed.

    Raises:
        TypeError: if a leaf is not a CustomVJPPrimal.
    """

    def value(leaf: Any) -> Any:
        if not isinstance(leaf, CustomVJPPrimal):
            raise TypeError(
                "custom_vjp_primal_tree_values takes what a fwd rule with symbolic_zeros=True "
                f"gets, in which each leaf is a CustomVJPPrimal; got {type(leaf).__name__}"
            )
        return leaf.value

    return tree_map(value, tree, is_leaf=lambda x: isinstance(x, CustomVJPPrimal))
