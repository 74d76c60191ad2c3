"""Ordinary differential equations, and the Runge-Kutta steps that solve them."""

from funcgrad.scipy._dormand_prince import (
    abs2,
    fit_4th_order_polynomial,
    initial_step_size,
    interp_fit_dopri,
    mean_error_ratio,
    optimal_step_size,
    runge_kutta_step,
)
from funcgrad.scipy._odeint import odeint

__all__ = [
    "abs2",
    "fit_4th_order_polynomial",
    "initial_step_size",
    "interp_fit_dopri",
    "mean_error_ratio",
    "odeint",
    "optimal_step_size",
    "runge_kutta_step",
]
