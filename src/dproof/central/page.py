"""The page about a release of measured tables, for a person who is no expert: no script, no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dproof.central.curves import mean_of_all
from dproof.central.expectation import deviations, half_widths, told_nothing
from dproof.central.law import TableLaw
from dproof.central.residuals import Estimates
from dproof.central.workload import Table
from dproof.exact import several, written
from dproof.html import table
from dproof.local.page import COUNTS, alarms, bar, denial, document, fact_cards, how_to_ask, not_promised
from dproof.meaning import advice, had_been
from dproof.questions.ranges import Range

_SHOWN = 100  # tables, and columns
_LISTED = 12  # tables that are not folded away
_VALUES = 40  # of a column
_PAIRS, _WIDE = 6, 24  # tables of two columns, and how many values each column may have
_CURVES = 6  # columns of curves
_ACROSS = 40  # letters of the names of columns that stand side by side
_WRITTEN = 7  # columns of a table up to which counts are written into its cells


def page(law: TableLaw, certificate: Mapping[str, Any], estimates: Mapping[int | None, Estimates]) -> str:
    """The whole page as HTML, with the estimated counts and mean curves."""
    counts = estimates[None]
    sections = [
        _promise(law, certificate),
        _two_promises(law),
        denial(law.person, law.plan.rows_per_person),
        _measured(law, certificate, counts),
        _columns(law, counts),
        _pairs(law, counts),
        _mean_curves(law, estimates),
        _asking(law),
        _limits(law),
        _proof(certificate),
    ]
    return document("Measured tables: what was promised", sections)


def _promise(law: TableLaw, certificate: Mapping[str, Any]) -> str:
    privacy, rows = law.person, certificate["release"]["rows"]
    cards = fact_cards(
        [
            ("ε", written(privacy.epsilon), "what one person may reveal"),
            ("δ", written(privacy.delta), "added to that, as a probability"),
            (
                "rows",
                "hidden" if rows is None else f"{rows:,}",
                "their number is measured" if rows is None else "public",
            ),
            ("neighbours", privacy.neighbours, "tables that differ in one person"),
        ]
    )
    warnings = [] if certificate["private"] else ["Drawn with seeded coins: it is not private."]
    return (
        "<header><h1>Measured tables</h1><p class='lead'>Whoever holds the true rows counted them in tables, and added "
        "random noise to every count once, before anyone else saw it. Nothing else left the place where the rows are. "
        "What all answers together can reveal about one person is limited, whatever else is known about them and "
        f"whatever is asked, now or later.</p></header><section class='facts'>{cards}</section>"
        + alarms([*warnings, *advice(privacy)])
    )


def _two_promises(law: TableLaw) -> str:
    return (
        "<section><h2>Whom to trust: two kinds of promise</h2>"
        "<article><h3>This one: the custodian is trusted, and nobody else</h3><p>One custodian has seen the true rows "
        "and measured them. Each person is protected from everybody else: if "
        f"{had_been(law.plan.unit)}, everything that left the custodian would have been as likely, up to what this "
        "promise allows. A few measurements of many people need little noise, so counts are sharp.</p></article>"
        "<article><h3>The other one: nobody is trusted</h3><p>Every row is changed at random before anyone sees it, as "
        "where people answer a survey and toss a coin first. No custodian is needed, and none can be robbed. The noise "
        "of every row adds up, so counts are much less sharp.</p></article></section>"
    )


def _measured(law: TableLaw, certificate: Mapping[str, Any], counts: Estimates) -> str:
    widths = half_widths(law)
    nothing = told_nothing(law, counts)
    alarm = alarms([] if nothing is None else [f"{nothing[0].upper()}{nothing[1:]}."])
    rows = [(one.name, f"{one.cells:,}", f"± {written(one.half_width)}") for one in widths[:_SHOWN]]
    more = f"<p>… and {len(widths) - _SHOWN:,} more.</p>" if len(widths) > _SHOWN else ""
    return (
        f"<section><h2>What was measured</h2>{alarm}<p>How many rows there are in each cell of these tables, and the "
        "sums of numbers and curves over them, right to about this, 19 times out of 20:</p>"
        f"{table(['table', 'cells', 'a cell'], rows[:_LISTED])}{_folded(rows[_LISTED:])}{more}"
        f"{_rows(certificate)}</section>"
    )


def _folded(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows of a table that are shown when they are asked for."""
    if not rows:
        return ""
    return f"<details><summary>{len(rows)} more tables</summary>{table(['table', 'cells', 'a cell'], rows)}</details>"


def _rows(certificate: Mapping[str, Any]) -> str:
    made_up = certificate["release"]["made_up_rows"]
    if made_up is None:
        return ""
    return (
        f"<p><b>rows.parquet</b> holds {made_up:,} rows for tools that want rows. They were made up so that their "
        "tables are near the measured ones: no row is a person's, and what is not in the tables is not in the rows.</p>"
    )


def _columns(law: TableLaw, counts: Estimates) -> str:
    """Every column by itself: each count with ±, and a bar that ends at the count, with a line over its interval."""
    counted = [place for place, axis in enumerate(law.axes) if not axis.has_curves or axis.size > 1]
    alone = [place for place in counted if (place,) in counts.residuals][:_SHOWN]
    bars = "".join(_bars(law, counts, place) for place in alone)
    return (
        "<section><h2>Column by column</h2><p>A bar ends at the estimated count. The line over its end is the "
        f"interval: the true count lies in it 19 times out of 20.</p>{bars}</section>"
    )


def _bars(law: TableLaw, counts: Estimates, place: int) -> str:
    axis, cells = law.axes[place], counts.table((place,))
    half = deviations(law) * counts.cell_variance((place,)) ** 0.5
    most = max(float(cells.max()) + half, 1.0)
    rows = ""
    for label, cell in list(zip(axis.bins.labels, cells.tolist(), strict=True))[:_VALUES]:
        low, middle, high = (max(0.0, number) / most for number in (cell - half, cell, cell + half))
        count = f"{max(cell, 0.0):,.0f} ± {written(half)}"
        drawn = bar(0.0, middle, (low, high))
        rows += f"<tr><td>{escape(_label(label))}</td><td>{count}</td><td>{drawn}</td></tr>"
    more = f"<p>… and {axis.size - _VALUES:,} more values.</p>" if axis.size > _VALUES else ""
    return f"<article><h3>{escape(axis.name)}</h3><table class='bars'><tbody>{rows}</tbody></table>{more}</article>"


def _label(label: Any) -> str:
    return "(missing)" if label is None else str(label)


def _pairs(law: TableLaw, counts: Estimates) -> str:
    """The tables of two columns that depend on each other most: the stronger the colour, the more rows."""
    shown = {place for place, axis in enumerate(law.axes) if 1 < axis.size <= _WIDE}
    pairs = [table for table in law.tables if len(table) == 2 and shown.issuperset(table)]
    if not pairs:
        return ""
    chosen = sorted(pairs, key=lambda pair: -_dependence(counts, pair))[:_PAIRS]
    maps = "".join(_heat_map(law, counts, pair) for pair in chosen)
    return (
        "<section><h2>Two columns together</h2><p>The stronger the colour of a cell, the more rows have both values. "
        "These are the tables whose columns depend on each other most; all others can be asked too.</p>"
        f"{maps}</section>"
    )


def _dependence(counts: Estimates, pair: Table) -> float:
    """How far a table is from that of two columns which have nothing to do with each other, in units of the noise."""
    cells, total = counts.table(pair), max(float(counts.table(())), 1.0)
    alone = cells.sum(axis=1, keepdims=True) * cells.sum(axis=0, keepdims=True) / total
    noise = counts.cell_variance(pair)
    return float(((cells - alone) ** 2).mean()) / noise if noise else 0.0


def _heat_map(law: TableLaw, counts: Estimates, pair: Table) -> str:
    """The column with fewer values stands across the page."""
    cells, (down, across) = counts.table(pair), pair
    if law.axes[down].size < law.axes[across].size:
        cells, (down, across) = cells.T, (across, down)
    rows, columns = law.axes[down], law.axes[across]
    half = written(deviations(law) * counts.cell_variance(pair) ** 0.5)
    most, is_written = max(float(cells.max()), 1.0), columns.size <= _WRITTEN
    upright = ' class="upright"' if sum(len(_label(label)) for label in columns.bins.labels) > _ACROSS else ""
    head = "".join(f"<th><span{upright}>{escape(_label(label))}</span></th>" for label in columns.bins.labels)
    body = ""
    for label, line in zip(rows.bins.labels, cells.tolist(), strict=True):
        shown = ""
        for cell in (max(0.0, number) for number in line):
            shade = f'style="background:rgba(11,110,110,{0.75 * cell / most:.2f})" title="{cell:,.0f} ± {half}"'
            shown += f"<td {shade}>{f'{cell:,.0f}' if is_written else ''}</td>"
        body += f"<tr><th>{escape(_label(label))}</th>{shown}</tr>"
    inside = f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody>"
    name = f"{rows.name} × {columns.name}"
    return (
        f"<article><h3>{escape(name)}</h3><p>Each count is right to about ± {half}, 19 times out of 20.</p>"
        f'<figure><table class="heat">{inside}</table></figure></article>'
    )


def _mean_curves(law: TableLaw, estimates: Mapping[int | None, Estimates]) -> str:
    """The mean of each column of curves in its band."""
    drawn = ""
    for place in [place for place in law.lattices if place in estimates][:_CURVES]:
        name, curve = law.axes[place].name, mean_of_all(law, estimates, place)
        if curve is None:
            drawn += f"<article><h3>{escape(name)}</h3><p>Too few curves to tell their mean.</p></article>"
            continue
        from dproof.charts.style import svg  # few plans have curves
        from dproof.curves.charts import mean_chart

        space = law.lattices[place].space
        cell = Range(space.low, space.high).cut(curve.cell())  # what no curve can be, their mean is not
        chart = mean_chart(curve.times, cell.moved, cell.low, cell.high)
        drawn += f"<article><h3>{escape(name)}</h3><figure>{svg(chart)}</figure></article>"
    if not drawn:
        return ""
    return (
        "<section><h2>Mean curves</h2><p>The mean of all curves. The band holds the true mean at every point at once, "
        f"19 times out of 20.</p>{drawn}</section>"
    )


def _asking(law: TableLaw) -> str:
    # An item of a set is no column, and a column may only be added up.
    counted = (law.axes[place] for table in law.tables for place in table)
    name = next((axis.name for axis in counted if axis.item is None and not axis.has_curves), None)
    why = (
        "Answers come from all measurements together, are right on average, agree with each other and have an interval."
    )
    return how_to_ask(why, "SELECT count(*) FROM release" if name is None else COUNTS, name or "")


def _limits(law: TableLaw) -> str:
    plan = law.plan
    points = [
        "Whoever made the release has seen the true rows. The promise is about everybody else.",
        "The plan is public: the names of the columns, their values, bins and bounds, and which tables were measured.",
        "What holds for people in general can be learned, also about people who are not in the table.",
        f"The promise is for a person with up to {several(plan.rows_per_person, 'row')}.",
        "Measuring the same table again is a second release: the two promises add up.",
    ]
    return not_promised(points)


def _proof(certificate: Mapping[str, Any]) -> str:
    return (
        "<section><h2>How to check it</h2><p>The certificate says how much noise each table has. In this page's folder"
        "</p><pre>dproof verify .</pre><p>works out again in exact arithmetic how far one person can move the tables, "
        "and that the noise hides it. Without dproof its files verify_central.py, verify_central_plan.py and "
        "verify_certificate.py, which need nothing but Python, do the same:</p>"
        "<pre>python verify_central.py certificate.json</pre>"
        f"<p class='seal'>seal {escape(str(certificate['seal']))}</p></section>"
    )
