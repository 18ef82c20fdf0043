"""What a ledger says of itself: the budget, what was spent for what, and what is left, also in words."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from typing import Any

from dproof.curation.account import paid
from dproof.curation.ledger import Ledger
from dproof.curation.limits import Amount
from dproof.exact import float_above, written

_ACCOUNTING = {
    "basic": "basic composition: costs add up, also when questions and prices are chosen one after another",
    "zcdp": "zCDP: rho adds up, also when questions and prices are chosen one after another; what is left is an ε "
    "at the δ of the budget",
}
_WIDEST = 1e12  # half-width of a count that tells nothing of any table


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
            entry_to_json(entry, published) for entry in entries if entry["kind"] not in ("answer", "published")
        ],
        "mark": opened.mark,
    }


def _above(spent: Amount) -> dict[str, float]:
    rho = {} if spent.rho is None else {"rho": float_above(spent.rho)}
    return {"epsilon": float_above(spent.epsilon), "delta": float_above(spent.delta), **rho}


def entry_to_json(entry: Mapping[str, Any], published: Container[int] = ()) -> dict[str, Any]:
    """An entry without the digest of its plan, with its cost as numbers; a release tells whether it was published."""
    asked = {"question": entry["key"].rpartition(" -- ")[0] or entry["key"]} if "key" in entry else {}
    made = {"published": entry["number"] in published} if "plan" in entry else {}
    return (
        {key: value for key, value in entry.items() if key not in ("key", "plan", "cut")}
        | asked
        | made
        | _above(paid(entry))
    )


def counts_left(left: Mapping[str, Any], rows: int) -> str:
    """What is left, in counts: so many at so wide an interval, about forty of them; for so many rows of a person."""
    # The half-width at 95 % of one count for all that is left. Of n counts at 1/n of it each it is √n times that of
    # Gaussian noise, 1.96·r/√(2ρ), and n times that of Laplace noise, ln(20)·r/ε.
    if left.get("rho"):
        one, power = 1.96 * rows / math.sqrt(2 * left["rho"]), 2
    elif left["epsilon"]:
        one, power = math.log(20) * rows / left["epsilon"], 1
    else:
        return "nothing is left to spend"
    if one > _WIDEST:
        return "too little is left for a count"
    wanted = max(1.0, one * 40 ** (1 / power))
    scale = 10.0 ** math.floor(math.log10(wanted))
    width = min((scale, 2 * scale, 5 * scale, 10 * scale), key=lambda near: abs(math.log(near / wanted)))
    return f"about {int((width / one) ** power):,} more counts at ± {written(width)}"
