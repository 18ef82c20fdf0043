"""What a ledger says of itself: the budget, what was spent for what, and what is left, also in words."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from fractions import Fraction
from typing import Any

from dproof.curator.account import paid
from dproof.curator.earlier import pure_cost
from dproof.curator.ledger import Ledger
from dproof.curator.limits import Amount, rho_for
from dproof.curator.price import WIDEST
from dproof.curator.question_key import question_of
from dproof.exact import float_above, written
from dproof.privacy import Unit

_ACCOUNTING = {
    "basic": "basic composition: costs add up, also when questions and prices are chosen one after another",
    "zcdp": "zCDP: rho adds up, also when questions and prices are chosen one after another; what is left is an ε "
    "at the δ of the budget",
}
_COUNTS = 40  # about so many, to tell what is left
_WIDTHS = [digit * 10.0**power for power in range(12) for digit in (1, 2, 5)]  # the widest tells nothing of any table


def statement(opened: Ledger) -> dict[str, Any]:
    """One JSON object: the whole, each analyst, and every entry but the answers."""
    standing, limits, entries = opened.standing(), opened.analysts, opened.entries
    published = {entry["release"] for entry in entries if entry["kind"] == "published"}
    closed = {name for name, limit in limits.items() if limit is None} if any(limits.values()) else set()
    return {
        "budget": standing.budget.to_json(),
        "spent": _above(standing.spent),
        "remaining": standing.remaining.to_json(),
        **opened.unit.to_json(),
        "accounting": _ACCOUNTING["basic" if standing.budget.rho is None else "zcdp"],
        "analysts": [
            {
                "name": name,
                "budget": None if limit is None else limit.to_json(),
                "spent": _above(opened.spent(name)),
                "remaining": (Amount() if name in closed else opened.remaining(name)).to_json(),
            }
            for name, limit in limits.items()
        ],
        "entries": [
            entry_to_json(entry, opened.unit, published)
            for entry in entries
            if entry["kind"] not in ("answer", "published")
        ],
        "mark": opened.mark,
    }


def _above(spent: Amount) -> dict[str, float]:
    rho = {} if spent.rho is None else {"rho": float_above(spent.rho)}
    return {"epsilon": float_above(spent.epsilon), "delta": float_above(spent.delta), **rho}


def entry_to_json(entry: Mapping[str, Any], unit: Unit, published: Container[int] = ()) -> dict[str, Any]:
    """An entry with its question as it was asked and its cost as numbers; a release tells whether it was published.

    An answer of an earlier version that cost more than was paid has the ε that it may have cost (see `earlier`).
    """
    asked: dict[str, Any] = {"question": question_of(entry["key"])} if "key" in entry else {}
    really = pure_cost(entry, unit)
    asked |= {} if really is None else {"may_have_cost": float_above(really)}
    made = {"published": entry["number"] in published} if "plan" in entry else {}
    return (
        {key: value for key, value in entry.items() if key not in ("key", "plan", "cut")}
        | asked
        | made
        | _above(paid(entry))
    )


def counts_left(left: Amount, rows: int) -> str:
    """What is left, in counts: so many at so wide an interval, about forty of them; for so many rows of a person."""
    if not float(left.epsilon) and not left.rho:
        return "nothing is left to spend"
    width = min(_WIDTHS, key=lambda near: abs(math.log(max(_counts_at(near, left, rows)) / _COUNTS)))
    laplace, gaussian = _counts_at(width, left, rows)
    if max(laplace, gaussian) < 1:
        return "too little is left for a count"
    how = ", each asked with a δ" if gaussian > laplace else ""
    return f"about {int(max(laplace, gaussian)):,} more counts at ± {written(width)}{how}"


def _counts_at(width: float, left: Amount, rows: int) -> tuple[float, float]:
    """How many counts ± `width` at 95 % may still be asked, without a δ and with one: by Laplace and Gaussian noise."""
    reach = width + 0.5  # noise is a whole number, and one that would be rounded to `width` is within it
    epsilon, sigma = math.log(20) * rows / reach, reach / 1.96
    digits = math.floor(math.log10(epsilon)) - 2  # three of them, as for who asks for an accuracy
    price = math.ceil(epsilon / 10.0**digits) * Fraction(10) ** digits
    if left.rho is None or not left.delta:
        return float(left.epsilon / price), 0.0
    rho = float(left.rho)
    # The ε that is left may come from ρ. It is one at a δ then, and a price without a δ is paid by its ρ, ε²/2.
    from_rho = rho_for(left.epsilon, left.delta) <= left.rho
    laplace = 2 * rho / float(price) ** 2 if from_rho else float(left.epsilon / price)
    # Noise that is wider costs more than (rows/σ)²/2. Three digits of ε can cost 2 % more of ρ.
    gaussian = 2 * rho * (sigma / rows) ** 2 / 1.02 if sigma < WIDEST / 2 else 0.0
    return laplace, gaussian
