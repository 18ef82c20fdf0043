"""`python -m benchmarks.central_widths`: the noise of a plan with sums, by certificates of version 1 and as it is now.

It follows from the plans alone. Numbers are added up within their bins, and sums are charged together with counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from benchmarks.central_tables import TABLES, Table
from dproof import Plan
from dproof.central.recipe import TableLaw, answers_of, measurements, of_version_1, table_law, with_noise
from dproof.privacy import Neighbours

HEADER = ("table", "neighbours", "counts", "sums by group", "± of a sum by group, in half ranges")


def law_of(plan: Plan) -> TableLaw:
    """The law with Gaussian noise."""
    law = table_law(plan, plan.privacy)
    return with_noise(law, measurements(law), answers_of(law))


def lines(tables: Sequence[Table]) -> Iterator[tuple[str, ...]]:
    """For each table, ± now in parts of ± before: the mean over all tables of counts, and over the sums by group."""
    neighbours: tuple[Neighbours, ...] = ("add-remove", "change-one")
    for table, kind in ((table, kind) for table in tables for kind in neighbours):
        described = table.plan("1", sums=True)
        described["privacy"]["neighbours"] = kind
        plan = Plan.from_dict(described)
        before, now = law_of(of_version_1(plan)), law_of(plan)
        half = {axis.name: float(axis.column.space.diameter) / 2 for axis in now.axes if axis.max_abs is not None}
        widths = {one.name: one for one in now.half_widths}
        pairs = [(one, widths[one.name].half_width / one.half_width) for one in before.half_widths]
        counts = [ratio for one, ratio in pairs if one.sum_of is None]
        sums = [(one, ratio) for one, ratio in pairs if one.sum_of is not None and one.columns]
        then, here = (
            fmean(told.half_width / half[told.sum_of or ""] for told in some)
            for some in ([one for one, _ in sums], [widths[one.name] for one, _ in sums])
        )
        yield table.name, kind, f"{fmean(counts):.3f}", f"{fmean(r for _, r in sums):.3f}", f"{then:.3g} → {here:.3g}"


def section() -> list[str]:
    """The lines of the page."""
    found = list(lines([table for table in TABLES.values() if table.path.exists() and any(table.columns.values())]))
    rows = ["| " + " | ".join(row) + " |" for row in (HEADER, ("---", "---", "---:", "---:", "---:"), *found)]
    return ["## Sums of numbers: the noise now in parts of that before\n", _ABOUT, *rows, ""]


_ABOUT = """At (1, 1e-6), all pairs of columns and `sums = true`, from the plans alone. Before, a number was added up
about the middle of its range, and under `change-one` sums and counts were charged as if one change of a row moved both
as far as it can. Now a number is added up about the middle of its bin, unless a bin has most of the range, the worst
change is one and the same for both, and a sum weighs a quarter of a cell of counts instead of a sixteenth. A number
within bins is also added up by its own bins, which is in these figures.
"""

if __name__ == "__main__":
    print("\n".join(section()))
