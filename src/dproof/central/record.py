"""The law of measured tables as a certificate records it: read back, and held against the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dproof.central.law import TableLaw, check_size, with_noise
from dproof.central.workload import Residual
from dproof.errors import TooLarge, VerificationFailed
from dproof.plans.plan import Plan
from dproof.plans.release_table import plan_axes
from dproof.privacy import Privacy

_APART = Fraction(1, 1000)  # how far noise may be from what the plan determines, where machines calculate otherwise


def recorded_table_law(plan: Plan, certificate: Mapping[str, Any]) -> TableLaw:
    """The law of a release of tables, from its plan and certificate; refused where they do not fit each other."""
    promise = plan.privacy
    try:
        kept = Privacy(
            promise.epsilon, 0 if certificate["delta"] == "0" else promise.delta, neighbours=promise.neighbours
        )
        said = {key: certificate[key] for key in ("epsilon", "delta", "neighbours")}
        if said != {"epsilon": str(kept.epsilon), "delta": str(kept.delta), "neighbours": kept.neighbours}:
            raise VerificationFailed("the certificate promises something else than the plan")
        law = TableLaw(plan, plan_axes(plan.columns), kept)
        check_size(law)
        if law.columns != certificate["columns"]:
            raise VerificationFailed("the certificate has other columns than the plan")
        noises = [_parameter(noise) for noise in certificate["noises"]]
        noise = {
            Residual(tuple(m["columns"]), m["sum_of"], m.get("contrast", False)): noises[m["noise"]]
            for m in certificate["measurements"]
        }
        parts = dict(zip(noise, (m.get("parts", 1) for m in certificate["measurements"]), strict=True))
        squares = {one: parameter / parts[one] ** 2 for one, parameter in noise.items()}
        law = replace(
            law,
            contrasts=any(measurement.contrast for measurement in noise),
            in_parts=any(part > 1 for part in parts.values()),
            noise=squares,
        )
    except TooLarge as error:
        raise VerificationFailed(f"the plan is too large: {error}") from None
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise VerificationFailed(f"the certificate cannot be read ({type(error).__name__})") from None
    if list(noise) != law.wanted or any(law.parts(one) != part for one, part in parts.items()):
        raise VerificationFailed("the certificate has other tables than the plan")
    return law


def check_noise(law: TableLaw) -> None:
    """Refuse noise that is not shared out as the plan wants it: answers would have other intervals than are told.

    Floats choose the shares, so that another machine may find them a little different.
    """
    wanted = with_noise(law).noise
    if any(abs(wanted[one] / parameter - 1) > _APART for one, parameter in law.noise.items()):
        raise VerificationFailed("the noise is not shared out over the tables as the plan determines")


def _parameter(noise: Mapping[str, Any]) -> Fraction:
    if noise["kind"] != "gaussian":
        return Fraction(noise["epsilon"])
    step, draws = int(noise["step"]), int(noise["draws"])
    return Fraction(noise["square"]) * Fraction(sum(step ** (2 * n) for n in range(draws)))
