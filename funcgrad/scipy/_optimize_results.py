"""What a minimisation found."""

from typing import Any, NamedTuple


class OptimizeResults(NamedTuple):
    """What a minimisation found; arrays, and a pytree.

    Attributes:
        x: the last point, [n].
        success: whether the gradient there is small, bool.
        status: 0 if so; else why it ended, an integer that `minimize` explains.
        fun: the value at x, a float.
        jac: the gradient at x, [n].
        hess_inv: BFGS's approximation of the inverse Hessian, [n, n]; None for other methods.
        nfev, njev: how many values and gradients were computed.
        nit: how many iterations were made.

    Example:
        >>> from funcgrad.scipy.optimize import minimize
        >>> found = minimize(lambda x: ((x - 3) ** 2).sum(), np.zeros(2), method="BFGS")
        >>> found.success, found.x.round(3)
        (Array(True, dtype=bool), Array([3., 3.], dtype=float32))
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any
