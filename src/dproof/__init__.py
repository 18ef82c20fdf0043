"""Differential privacy on numerical, categorical, set-valued and functional data under one roof."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Privacy": "dproof.privacy",
    "Space": "dproof.spaces.space",
    "Categories": "dproof.spaces.categories",
    "Subsets": "dproof.spaces.subsets",
    "Interval": "dproof.spaces.interval",
    "Curves": "dproof.spaces.curves",
    "Rows": "dproof.spaces.rows",
    "Mechanism": "dproof.mechanisms.mechanism",
    "randomised_response": "dproof.mechanisms.randomised_response",
    "response_with": "dproof.mechanisms.randomised_response",
    "itemwise_response": "dproof.mechanisms.randomised_response",
    "discrete_exponential": "dproof.mechanisms.exponential",
    "exponential": "dproof.mechanisms.exponential",
    "solution_matrix": "dproof.mechanisms.solution_matrix",
    "product_sanitisation": "dproof.mechanisms.product_sanitisation",
    "laplace": "dproof.mechanisms.additive",
    "truncated_laplace": "dproof.mechanisms.additive",
    "bounded_laplace": "dproof.mechanisms.bounded_laplace",
    "gaussian": "dproof.mechanisms.additive",
    "staircase": "dproof.mechanisms.additive",
    "unary_encoding": "dproof.mechanisms.frequency",
    "subset_selection": "dproof.mechanisms.frequency",
    "Kernel": "dproof.curves.kernels",
    "expand": "dproof.curves.expansion",
    "curve_noise": "dproof.curves.noise",
    "design": "dproof.optimality.design",
    "design_row": "dproof.optimality.split",
    "compare": "dproof.optimality.compare",
    "lower_bound": "dproof.optimality.bounds",
    "lower_bounds": "dproof.optimality.bounds",
    "certify": "dproof.certification.certify",
    "Certificate": "dproof.certification.certificate",
    "sufficient_sets": "dproof.certification.sufficient_sets",
    "Plan": "dproof.sanitisation.plan",
    "check": "dproof.sanitisation.inspection",
    "sanitise": "dproof.sanitisation.sanitise",
    "sanitize": "dproof.sanitisation.sanitise",
    "Release": "dproof.sanitisation.release",
    "load": "dproof.sanitisation.release",
    "Sanitiser": "dproof.sklearn",
    "verify": "dproof.sanitisation.release",
    "mean_curve": "dproof.estimation.curves",
    "advise": "dproof.report.advise",
    "Curator": "dproof.curation.curator",
    "Ledger": "dproof.curation.ledger",
    "sensitivity": "dproof.queries.sensitivity",
    "declare": "dproof.queries.declared",
    "Open": "dproof.queries.schema",
    "count": "dproof.queries.building",
    "total": "dproof.queries.building",
    "mean": "dproof.queries.building",
    "quantile": "dproof.queries.building",
    "top": "dproof.queries.building",
    "DproofError": "dproof.errors",
    "DproofWarning": "dproof.errors",
    "InputError": "dproof.errors",
    "NotPrivate": "dproof.errors",
    "OverBudget": "dproof.errors",
    "VerificationFailed": "dproof.errors",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing dproof stays quick."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'dproof' has no attribute {name!r}")
    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
