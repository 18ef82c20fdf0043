"""What a careful custodian would be told about a plan: whether its answers will be of use, and what would help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dproof.plans.expectation import mean_half_widths
from dproof.plans.row_law import RowLaw
from dproof.report.advise import asked_width, shown
from dproof.report.changes import Prices, percent

_TOO_NOISY = 0.1  # of all rows, or of the range of a number: such a ± tells little
_SHARP = 0.01  # below this nothing needs to be said
_MOST = 5  # lines


@dataclass(frozen=True, slots=True)
class Hint:
    """One thing that would help, with ± as the plan is and as it would be, both in rows or in the units of a mean."""

    kind: str
    columns: tuple[str, ...]
    before: float
    after: float
    text: str

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        about = {"kind": self.kind, "columns": list(self.columns), "text": self.text}
        return {**about, "half_width": self.after, "instead_of": self.before}


@dataclass(frozen=True, slots=True)
class PlanAdvice:
    """A verdict where answers will be of little use, and what would help, the best first."""

    verdict: str | None
    hints: tuple[Hint, ...]


def plan_advice(law: RowLaw, rows: int) -> PlanAdvice:
    """Advice for a plan and a number of rows.

    >>> from dproof.plans.plan import Plan
    >>> from dproof.plans.row_law import certify_row
    >>> states = {"space": "categories", "values": [f"state {n}" for n in range(50)]}
    >>> plan = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"state": states}})
    >>> found = plan_advice(certify_row(plan), 2000)
    >>> print(found.verdict)
    With 2,000 rows the count of one value of 'state' is known to ± 589 (29% of all rows). That is too noisy for most
    uses.
    >>> [hint.kind for hint in found.hints]
    ['ask', 'values']
    """
    if rows < 1:
        return PlanAdvice(None, ())
    plan, prices = law.plan, Prices(law.plan, rows)
    if not prices.now:
        return _of_means(law, rows)
    worst = max(prices.now, key=lambda name: prices.now[name])
    width = prices.now[worst]
    if width < _SHARP * rows:
        return PlanAdvice(None, ())
    hints = [Hint(c.kind, c.columns, c.before, c.after, c.text(rows)) for c in prices.changes()]
    group = next(group for group in plan.groups if group.name == worst)
    asked = asked_width(plan, rows, group.columns[0].name)
    if asked is not None and asked < width:
        text = f"`dproof ask` at the same ε gives a count to ± {shown(asked)}, for one question"
        if not asked:
            text = "`dproof ask` at the same ε gives a count that is exactly right 95% of the time, for one question"
        hints.append(Hint("ask", (group.columns[0].name,), width, asked, text))
    hints.sort(key=lambda hint: hint.after / hint.before)
    what = "one item" if group.space.items is not None else "one value"
    told = f"With {rows:,} rows the count of {what} of {worst!r} is known to ± {width:,.0f}"
    told = f"{told} ({percent(width, rows)} of all rows). That is too noisy for most uses."
    verdict = told if width >= _TOO_NOISY * rows else None
    return PlanAdvice(verdict, tuple(hints[:_MOST]))


def _of_means(law: RowLaw, rows: int) -> PlanAdvice:
    """Where nothing is counted, the mean that is known worst beside its range."""
    ranges = {group.name: float(group.mechanism.inputs.diameter) for group in law.groups}
    means = {name: width for name, width in mean_half_widths(law, rows).items() if ranges[name]}
    if not means:
        return PlanAdvice(None, ())
    worst = max(means, key=lambda name: means[name] / ranges[name])
    width = means[worst]
    if width < _SHARP * ranges[worst]:
        return PlanAdvice(None, ())
    asked, hints = asked_width(law.plan, rows, worst), []
    if asked is not None and asked < width:
        text = f"`dproof ask` at the same ε gives the mean of {worst!r} to ± {shown(asked)}, for one question"
        hints.append(Hint("ask", (worst,), width, asked, text))
    part = percent(width / ranges[worst], 1)
    told = f"With {rows:,} rows the mean of {worst!r} is known to ± {shown(width)} ({part} of its range)."
    verdict = f"{told} That is too noisy for most uses." if width >= _TOO_NOISY * ranges[worst] else None
    return PlanAdvice(verdict, tuple(hints))
