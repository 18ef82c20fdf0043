"""The page about a release of measured tables, for a person who is no expert: no script, no network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from dproof.central.residuals import Estimates
from dproof.central.workload import Table
from dproof.exact import written
from dproof.html import table
from dproof.meaning import advice
from dproof.plans.table_law import TableLaw
from dproof.report.central_expectation import deviations, half_widths, told_nothing
from dproof.report.page import bar, denial, document, fact_cards

_SHOWN = 100  # tables, and columns
_VALUES = 40  # of a column
_PAIRS, _WIDE = 6, 8  # tables of two columns, and how many values each column may have


def page(law: TableLaw, certificate: Mapping[str, Any], counts: Estimates) -> str:
    """The whole page as HTML, with the estimated counts."""
    sections = [
        _promise(law, certificate),
        denial(law.plan.privacy),
        _measured(law, certificate, counts),
        _columns(law, counts),
        _pairs(law, counts),
        _asking(law),
        _limits(law),
        _proof(certificate),
    ]
    return document("Measured tables: what was promised", sections)


def _promise(law: TableLaw, certificate: Mapping[str, Any]) -> str:
    privacy, rows = law.plan.privacy, certificate["release"]["rows"]
    cards = fact_cards(
        [
            ("ε", written(privacy.epsilon), "what one person may reveal"),
            ("δ", written(privacy.delta), "chance of more than that"),
            (
                "rows",
                "hidden" if rows is None else f"{rows:,}",
                "their number is measured" if rows is None else "public",
            ),
            ("neighbours", privacy.neighbours, "tables that differ in one person"),
        ]
    )
    warning = "" if certificate["private"] else '<p class="alarm">Drawn with seeded coins: it is not private.</p>'
    advised = "".join(f'<p class="alarm">{escape(text)}</p>' for text in advice(privacy))
    return (
        "<header><h1>Measured tables</h1><p class='lead'>Whoever holds the true rows counted them in tables, and added "
        "random noise to every count once, before anyone else saw it. Nothing else left the place where the rows are. "
        "What all answers together can reveal about one person is limited, whatever else is known about them and "
        f"whatever is asked, now or later.</p></header><section class='facts'>{cards}</section>{warning}{advised}"
    )


def _measured(law: TableLaw, certificate: Mapping[str, Any], counts: Estimates) -> str:
    widths = half_widths(law)
    nothing = told_nothing(law, counts)
    alarm = "" if nothing is None else f'<p class="alarm">{escape(nothing[0].upper() + nothing[1:])}.</p>'
    rows = [(one.name, f"{one.cells:,}", f"± {written(one.half_width)}") for one in widths[:_SHOWN]]
    more = f"<p>… and {len(widths) - _SHOWN:,} more.</p>" if len(widths) > _SHOWN else ""
    return (
        f"<section><h2>What was measured</h2>{alarm}<p>How many rows there are in each cell of these tables, and the "
        "sums of numbers over them, right to about this, 19 times out of 20:</p>"
        f"{table(['table', 'cells', 'a cell'], rows)}{more}"
        f"{_rows(certificate)}</section>"
    )


def _rows(certificate: Mapping[str, Any]) -> str:
    made_up = certificate["release"]["made_up_rows"]
    if made_up is None:
        return ""
    return (
        f"<p><b>rows.parquet</b> holds {made_up:,} rows for tools that want rows. They were made up so that their "
        "tables are near the measured ones: no row is a person's, and what is not in the tables is not in the rows.</p>"
    )


def _columns(law: TableLaw, counts: Estimates) -> str:
    """Every column by itself: each count with ±, and a bar."""
    alone = [place for place in range(len(law.axes)) if (place,) in counts.residuals][:_SHOWN]
    return f"<section><h2>Column by column</h2>{''.join(_bars(law, counts, place) for place in alone)}</section>"


def _bars(law: TableLaw, counts: Estimates, place: int) -> str:
    axis, cells = law.axes[place], counts.table((place,))
    half = deviations(law) * counts.cell_variance((place,)) ** 0.5
    most = max(float(cells.max()), 1.0)
    rows = ""
    for label, cell in list(zip(axis.bins.labels, cells.tolist(), strict=True))[:_VALUES]:
        shown = "(missing)" if label is None else str(label)
        count = f"{max(cell, 0.0):,.0f} ± {written(half)}"
        rows += f"<tr><td>{escape(shown)}</td><td>{count}</td><td>{bar(0.0, max(cell, 0.0) / most)}</td></tr>"
    more = f"<p>… and {axis.size - _VALUES:,} more values.</p>" if axis.size > _VALUES else ""
    return f"<article><h3>{escape(axis.name)}</h3><table><tbody>{rows}</tbody></table>{more}</article>"


def _pairs(law: TableLaw, counts: Estimates) -> str:
    """The first small tables of two columns: the darker a cell, the more rows."""
    pairs = [t for t in law.tables if len(t) == 2 and max(law.axes[place].size for place in t) <= _WIDE][:_PAIRS]
    if not pairs:
        return ""
    maps = "".join(_heat_map(law, counts.table(pair), pair) for pair in pairs)
    return f"<section><h2>Two columns together</h2><p>Some of the tables; all others can be asked.</p>{maps}</section>"


def _heat_map(law: TableLaw, cells: Any, pair: Table) -> str:
    rows, columns = (law.axes[place] for place in pair)
    most = max(float(cells.max()), 1.0)
    head = "".join(f"<th>{escape(str(label))}</th>" for label in columns.bins.labels)
    body = ""
    for label, line in zip(rows.bins.labels, cells.tolist(), strict=True):
        shades = ((max(0.0, cell), 0.6 * max(0.0, cell) / most) for cell in line)
        shown = "".join(f'<td style="background:rgba(11,110,110,{s:.2f})">{cell:,.0f}</td>' for cell, s in shades)
        body += f"<tr><th>{escape(str(label))}</th>{shown}</tr>"
    inside = f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<article><h3>{escape(law.name(pair))}</h3><table class="heat">{inside}</table></article>'


def _asking(law: TableLaw) -> str:
    # An item of a set is no column, and a column may only be added up.
    counted = (law.axes[place] for table in law.tables for place in table)
    name = next((axis.name for axis in counted if axis.item is None), None)
    sql = "SELECT count(*) FROM release"
    if name is not None:
        quoted = name if name.isidentifier() else '"' + name.replace('"', '""') + '"'
        sql = f"SELECT {quoted}, count(*) FROM release GROUP BY {quoted}"
    return (
        "<section><h2>How to ask it</h2><p>Answers come from all measurements together, are right on average, agree "
        "with each other and have an interval. Questions cost nothing, and there may be any number of them.</p>"
        f"<pre>dproof query . {escape(json.dumps(sql))}</pre>"
        f"<pre>import dproof as dp\ndp.load('.').query({escape(repr(sql))})</pre></section>"
    )


def _limits(law: TableLaw) -> str:
    plan = law.plan
    points = [
        "Whoever made the release has seen the true rows. The promise is about everybody else.",
        "The plan is public: the names of the columns, their values, bins and bounds, and which tables were measured.",
        "What holds for people in general can be learned, also about people who are not in the table.",
        f"The promise is for a person with up to {plan.rows_per_person:,} row{'s'[: plan.rows_per_person > 1]}.",
        "Measuring the same table again is a second release: the two promises add up.",
    ]
    items = "".join(f"<li>{escape(point)}</li>" for point in points)
    return f"<section><h2>What is not promised</h2><ul>{items}</ul></section>"


def _proof(certificate: Mapping[str, Any]) -> str:
    return (
        "<section><h2>How to check it</h2><p>The certificate says how much noise each table has. In this page's folder"
        "</p><pre>dproof verify .</pre><p>works out again in exact arithmetic how far one person can move the tables, "
        "and that the noise hides it. Without dproof its two files verify_central.py and verify_certificate.py, which "
        "need nothing but Python, do the same:</p><pre>python verify_central.py certificate.json</pre>"
        f"<p class='seal'>seal {escape(str(certificate['seal']))}</p></section>"
    )
