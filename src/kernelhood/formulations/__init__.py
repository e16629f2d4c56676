"""From (C, eta, beta) to problem (P): the three formulations of MT-ONMKL, each a penalty.

Whatever the formulation, the best neighborhood-defining matrix is a combination of the base
kernels, Khat_t = sum_m kappa_t^m K_t^m with kappa_t = s theta_t - r gamma_t, and putting it in
leaves one problem in the weights alone,

    min over theta_t >= 0 of   S_t(K_t) + a d_t'theta_t + (f/2) theta_t'G_t theta_t.

`normalized` has a negative f and fixes the trace theta_t'd_t = n_t instead of pricing it.

`evidence` is no reading of the paper: it keeps the model and the squared loss, and chooses weights,
and mostly the noise, by the likelihood of the targets.
"""

from kernelhood.formulations.base import USUAL_BETA, Coefficients, Formulation
from kernelhood.formulations.evidence import Evidence
from kernelhood.formulations.names import (
    FORMULATIONS,
    NAMED,
    as_formulation,
    check_domain,
    coefficients,
    in_domain,
    why_outside,
)
from kernelhood.formulations.paper import Corrected, Normalized, Printed

__all__ = [
    "FORMULATIONS",
    "NAMED",
    "USUAL_BETA",
    "Coefficients",
    "Corrected",
    "Evidence",
    "Formulation",
    "Normalized",
    "Printed",
    "as_formulation",
    "check_domain",
    "coefficients",
    "in_domain",
    "why_outside",
]
