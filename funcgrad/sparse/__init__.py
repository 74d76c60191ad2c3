"""Sparse arrays, built on dense ones: what a user could write on numpy, lax and transformations."""

from funcgrad.sparse._base import (
    JAXSparse,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
)
from funcgrad.sparse._bcoo import (
    BCOO,
    bcoo_fromdense,
)
from funcgrad.sparse._derivatives import (
    grad,
    jacfwd,
    jacobian,
    jacrev,
    value_and_grad,
)
from funcgrad.sparse._layouts import (
    bcoo_extract,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    bcoo_todense,
    bcoo_transpose,
    bcoo_update_layout,
)
from funcgrad.sparse._making import (
    empty,
    eye,
    random_bcoo,
    todense,
)
from funcgrad.sparse._products import (
    bcoo_dot_general,
    bcoo_multiply_dense,
    bcoo_multiply_sparse,
    bcoo_reduce_sum,
)
from funcgrad.sparse._shapes import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_reshape,
)
from funcgrad.sparse._slicing import (
    bcoo_dynamic_slice,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
)

__all__ = [
    "BCOO",
    "JAXSparse",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_dot_general",
    "bcoo_dynamic_slice",
    "bcoo_extract",
    "bcoo_fromdense",
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_slice",
    "bcoo_sort_indices",
    "bcoo_squeeze",
    "bcoo_sum_duplicates",
    "bcoo_todense",
    "bcoo_transpose",
    "bcoo_update_layout",
    "empty",
    "eye",
    "grad",
    "jacfwd",
    "jacobian",
    "jacrev",
    "random_bcoo",
    "todense",
    "value_and_grad",
]
