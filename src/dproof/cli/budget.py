"""`dproof budget`: what a table has told so far, and what it may still tell."""

from __future__ import annotations

import math
from collections.abc import Container
from pathlib import Path
from typing import Annotated, Any

from dproof.cli.options import AsJson, argument, option
from dproof.cli.output import Page, emit, escape, table
from dproof.curation.account import Unit, paid
from dproof.curation.ledger import Ledger
from dproof.curation.ledger_file import is_begun
from dproof.curation.limits import Amount
from dproof.errors import InputError
from dproof.exact import float_above, written
from dproof.plans.plan import Plan
from dproof.privacy import Privacy

_KINDS = ("budget", "spent", "remaining")
_ACCOUNTING = {
    "basic": "basic composition: costs add up, also when questions and prices are chosen one after another",
    "zcdp": "zCDP: rho adds up, also when questions and prices are chosen one after another; what is left is an ε "
    "at the δ of the budget",
}
_WIDEST = 1e12  # half-width of a count that tells nothing of any table
_WORDS = {"budget": "the whole budget", "analyst": "an analyst's budget"}


def budget(
    ledger: Annotated[Path, argument("FILE", "The ledger.")],
    plan: Annotated[
        Path | None, option("PLAN.toml", "Create the ledger with this plan's budget if it does not exist.")
    ] = None,
    analyst: Annotated[str | None, option("NAME", "Give this analyst a budget of their own.")] = None,
    epsilon: Annotated[str | None, option("E", "ε that the analyst may spend.")] = None,
    delta: Annotated[str, option("D", "δ that the analyst may spend.")] = "0",
    mark: Annotated[str | None, option("HASH", "A mark that you kept: check that it is in this ledger.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what was spent, for what, and what is left.

    The whole ledger is checked first. Keep the mark on another machine: with --mark you detect that an older copy was
    put in the ledger's place. Once one analyst has a budget, only analysts with a budget may ask, by their names.
    """
    if (analyst is None) != (epsilon is None):
        raise InputError("--analyst and --epsilon go together: name the analyst and what they may spend")
    limits = {} if analyst is None else {analyst: Privacy(epsilon, delta)}
    chosen = None if plan is None else Plan.read(plan)
    begun = None if chosen is None or is_begun(ledger) else chosen.privacy
    unit = None if chosen is None else Unit.of(chosen)
    answer = _answer(Ledger(ledger, budget=begun, unit=unit, analysts=limits, mark=mark))
    emit(answer, as_json, lambda: _page(answer))


def _answer(opened: Ledger) -> dict[str, Any]:
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
        "entries": [_entry(entry, published) for entry in entries if entry["kind"] not in ("answer", "published")],
        "mark": opened.mark,
    }


def _above(spent: Amount) -> dict[str, float]:
    rho = {} if spent.rho is None else {"rho": float_above(spent.rho)}
    return {"epsilon": float_above(spent.epsilon), "delta": float_above(spent.delta), **rho}


def _entry(entry: dict[str, Any], published: Container[int]) -> dict[str, Any]:
    """An entry without the digest of its plan, with its cost as numbers; a release tells whether it was published."""
    asked = {"question": entry["key"].rpartition(" -- ")[0] or entry["key"]} if "key" in entry else {}
    made = {"published": entry["number"] in published} if "plan" in entry else {}
    return (
        {key: value for key, value in entry.items() if key not in ("key", "plan", "cut")}
        | asked
        | made
        | _above(paid(entry))
    )


def _page(answer: dict[str, Any]) -> Page:
    for word in _KINDS:
        rho = f"  ρ {answer[word]['rho']:.6g}" if "rho" in answer[word] else ""
        yield f"{word:<10} ε {answer[word]['epsilon']:<10.6g} δ {answer[word]['delta']:<8.6g}{rho}".rstrip()
    yield f"           {_counts(answer)}"
    yield escape(f"counted    {Unit(answer['neighbours'], answer['person'], answer['rows_per_person'])}")
    if answer["analysts"]:
        analysts = [(escape(one["name"]), *(_figures(one[word]) for word in _KINDS)) for one in answer["analysts"]]
        yield ""
        yield table(("analyst", *(f"{word} ε, δ" for word in _KINDS)), analysts, left=range(4))
    entries = []
    for entry in answer["entries"]:
        what = entry.get("question") or entry.get("description") or _WORDS[entry["kind"]]
        what += "" if entry.get("published", True) else ", paid for and not published yet"
        when = entry["at"][:16].replace("T", " ")
        entries.append((_figures(entry), *map(escape, (what, entry.get("analyst", ""), when))))
    yield ""
    yield table(("ε, δ", "what", "who", "when (UTC)"), entries, left=range(4))
    yield f"\nmark       {answer['mark']}"


def _counts(answer: dict[str, Any]) -> str:
    """What is left, in counts: so many at so wide an interval, about forty of them."""
    left, rows = answer["remaining"], answer["rows_per_person"]
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


def _figures(amount: dict[str, Any] | None) -> str:
    return "none" if amount is None else f"{amount['epsilon']:.6g}, {amount['delta']:.6g}"
