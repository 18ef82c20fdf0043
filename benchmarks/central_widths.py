"""`python -m benchmarks.central_widths`: the noise of a plan with sums, by certificates of version 1 and as it is now.

It follows from the plans alone. Numbers are added up within their bins, and sums are charged together with counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from statistics import fmean, median
from typing import Any

from benchmarks.central_tables import TABLES, Table
from dproof import Plan
from dproof.central.recipe import TableLaw, measurements, of_version, table_law, wanted_answers, with_noise
from dproof.central.release import about, count_tables, release_of
from dproof.privacy import Neighbours
from dproof.tables import open_source
from dproof.testing import seeded_coins

RELEASES = 5
HEADER = ("table", "neighbours", "counts", "sums by group")


def law_of(plan: Plan) -> TableLaw:
    """The law with Gaussian noise."""
    law = table_law(plan, plan.privacy)
    return with_noise(law, measurements(law), wanted_answers(law))


def lines(tables: Sequence[Table]) -> Iterator[tuple[str, ...]]:
    """For each table, ± now in parts of ± before: the mean over all tables of counts, and over the sums by group."""
    neighbours: tuple[Neighbours, ...] = ("add-remove", "change-one")
    for table, kind in ((table, kind) for table in tables for kind in neighbours):
        described = table.plan("1", sums=True)
        described["privacy"]["neighbours"] = kind
        plan = Plan.from_dict(described)
        before, now = law_of(of_version(plan, 1)), law_of(plan)
        widths = {one.name: one for one in now.half_widths}
        pairs = [(one, widths[one.name].half_width / one.half_width) for one in before.half_widths]
        counts = [ratio for one, ratio in pairs if one.sum_of is None]
        sums = [ratio for one, ratio in pairs if one.sum_of is not None and one.columns]
        yield table.name, kind, f"{fmean(counts):.3f}", f"{fmean(sums):.3f}"


def section() -> list[str]:
    """The lines of the page."""
    found = list(lines([table for table in TABLES.values() if table.path.exists() and any(table.columns.values())]))
    text = ["## Sums of numbers: less noise than in version 1\n", _ABOUT]
    text += _rows(HEADER, ("---", "---", "---:", "---:"), found)
    text += ["## Quantiles and deviations of all rows\n", _SPREAD]
    columns = ("table", "number", *SPREAD)
    kinds = ("---", "---", *["---:"] * len(SPREAD))
    return text + _rows(columns, kinds, [line for name in NUMBERS for line in quantiles(TABLES[name])])


def _rows(*parts: Any) -> list[str]:
    *head, rows = parts
    return ["| " + " | ".join(row) + " |" for row in (*head, *rows)] + [""]


SPREAD = {"median": "median({})", "q10": "quantile({}, 0.1)", "q90": "quantile({}, 0.9)", "deviation": "stddev({})"}
NUMBERS = {"adult, 10 columns": ["age", "hr_per_week"], "gss_wages": ["realrinc", "age"], "pums": ["age", "income"]}


def quantiles(table: Table) -> Iterator[tuple[str, ...]]:
    """± of quantiles and deviations of the numbers of a table, before and now."""
    plan, widths = Plan.from_dict(table.plan("1", sums=True)), dict[tuple[str, str], list[float]]()
    for law in (law_of(of_version(plan, 1)), law_of(plan)):
        _, counts = count_tables(open_source(table.read()), law)
        certificate, found = law.record(about(None, None, {}), private=False), dict[tuple[str, str], list[float]]()
        for seed in range(RELEASES):
            with seeded_coins(seed) as coins:
                release = release_of(law, certificate, law.measure(counts, coins))
            for number, (what, sql) in product(NUMBERS[table.name], SPREAD.items()):
                cell = release.query(f"SELECT {sql.format(number)} AS v FROM release").rows[0]["v"]
                found.setdefault((number, what), []).append((cell.high - cell.low) / 2)
        for key, values in found.items():
            widths.setdefault(key, []).append(median(values))
    for number in NUMBERS[table.name]:
        told = (widths[number, what] for what in SPREAD)
        yield table.name, number, *(" → ".join(f"{float(f'{width:.4g}'):,g}" for width in some) for some in told)


_ABOUT = """The standard deviation now divided by that of certificates of version 1, at (1, 1e-6), all pairs of
columns listed and `sums = true`, from the plans alone. Now a number is added up about the middle of its bin, unless one
bin has most of the range; sums and counts are charged by the same worst change; and a sum has a quarter of the weight
of a cell of counts instead of a sixteenth. The ladder is included in these figures.
"""

_SPREAD = """The half-width of the 95 % interval with certificates of version 1 → now, the median of five releases
with add-remove neighbours. Where it is 0, the interval has one value.
"""

if __name__ == "__main__":
    print("\n".join(section()))
