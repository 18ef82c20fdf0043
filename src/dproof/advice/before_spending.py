"""What a custodian is told before anything is spent: from the plan, and from the number of rows where that is public.

Nothing else of the table is looked at. A warning that depends on private rows would tell of them; `dproof check` is the
confidential place for those.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dproof.columns.suggestions import names_a_person
from dproof.exact import written
from dproof.meaning import advice, percent
from dproof.plans.plan import Plan
from dproof.privacy import Privacy

if TYPE_CHECKING:
    from dproof.tables import Source

TOO_NOISY = 0.1  # of all rows, or of the range of a number: such a ± tells little
_MOST_COUNTED = 1 << 20  # rows that are counted to find out whether there are enough


def warnings_before(
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any], person: Privacy | None = None
) -> list[str]:
    """The cautions about what a plan promises to a person, in words; none where it is sound.

    `plan` is a Plan, its path or a mapping, and `person` what a person loses where that is not what the plan allows.

    >>> columns = {"visitor_id": {"drop": True}, "read": {"space": "categories", "values": [0, 1]}}
    >>> plan = Plan.of({"privacy": {"epsilon": 100}, "columns": columns})
    >>> [said[:31] for said in warnings_before(plan)]
    ['ε is above 5: an attacker guess', 'every row counts as a person of']
    """
    plan = Plan.of(plan)
    if plan.shuffle.rows is not None:
        from dproof.local.recipe import certify_row

        # [privacy] is kept by the order of the rows; a row by itself may lose more.
        found = [f"to whoever learns whose row is whose, {said}" for said in advice(certify_row(plan).person)]
    else:
        found = list(advice(plan.promise(plan.rows_per_person) if person is None else person))
    named = [name for name in plan.named("drop") if names_a_person(name)]
    if plan.unit.row_is_person and named:
        found.append(
            f"every row counts as a person of its own: if several rows may have the same {named[0]!r}, declare "
            "rows_per_person under [privacy] (`dproof check` counts them)"
        )
    return found


def least_rows(law: Any) -> int:
    """The number of rows up to which a release tells nothing: every interval holds all that is possible.

    >>> from dproof.local.recipe import certify_row
    >>> columns = {"read": {"space": "categories", "values": [0, 1]}}
    >>> least_rows(certify_row(Plan.of({"privacy": {"epsilon": 1}, "columns": columns})))
    3
    """
    from dproof.advice.expect import row_widths

    if law.plan.model == "central":
        return int(law.least_half_width)
    ranges = {group.name: float(group.mechanism.inputs.diameter) for group in law.groups}
    # ± of a count grows with the square root of the rows, and that of a mean falls with it.
    counts = [one.count**2 for one in row_widths(law, 1).values() if one.count is not None]
    means = [(one.mean / ranges[n]) ** 2 for n, one in row_widths(law, 1).items() if one.mean and ranges[n]]
    return math.floor(min([*counts, *means], default=0.0))


def tells_nothing(law: Any, rows: int) -> str | None:
    """A sentence where a release of so many rows would tell nothing; else None."""
    if rows > least_rows(law):
        return None
    if not rows:
        return "the table has no rows to tell anything about"
    if law.plan.model == "central":
        from dproof.advice.expect import too_noisy_message

        return too_noisy_message(law, rows)
    return (
        f"no count or mean says anything about {rows:,} rows: that takes more than {least_rows(law):,}; allow a "
        "larger epsilon, or leave out columns"
    )


def tells_little(law: Any, rows: int) -> str | None:
    """A sentence where a count of some column of sanitised rows would be too noisy for most uses; else None."""
    from dproof.advice.expect import row_widths

    if law.plan.model == "central" or not rows:
        return None
    widths = {name: one.count for name, one in row_widths(law, rows).items() if one.count is not None}
    worst = max(widths, key=widths.__getitem__, default=None)
    if worst is None or widths[worst] < TOO_NOISY * rows:
        return None
    return (
        f"the count of one value of {worst!r} will be known to ± {written(widths[worst])} at worst "
        f"({percent(min(1.0, widths[worst] / rows))}{' or more' * (widths[worst] > rows)} of all rows), which is too "
        f"noisy for most uses: `dproof plan --rows {rows}` says what would help"
    )


def public_rows(source: Source, law: Any) -> int | None:
    """How many rows a table has; None where that is private, or not easily found, or more than any warning needs."""
    if not law.plan.unit.rows_are_public:
        return None
    if source.rows is not None or source.spread is not None:
        return source.rows
    rows, enough = 0, min(_enough_rows(law), _MOST_COUNTED)
    for batch in source.read(source.names[:1]):
        rows += batch.num_rows
        if rows > enough:
            return None
    return rows


def _enough_rows(law: Any) -> int:
    """The number of rows above which `tells_nothing` and `tells_little` have nothing to say."""
    from dproof.advice.expect import row_widths

    if law.plan.model == "central":
        return least_rows(law)
    counts = [one.count for one in row_widths(law, 1).values() if one.count is not None]
    return max(least_rows(law), math.ceil((max(counts, default=0.0) / TOO_NOISY) ** 2))
