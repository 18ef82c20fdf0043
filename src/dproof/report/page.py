"""One page that explains a release to a person who is no expert: no script, no network, no file beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

from dproof.central.curves import mean_of_all
from dproof.central.expectation import deviations, told_nothing
from dproof.central.expectation import half_widths as table_half_widths
from dproof.central.recipe import TableLaw
from dproof.central.residuals import Estimates
from dproof.central.workload import Table
from dproof.exact import several, written
from dproof.html import table
from dproof.local.expectation import half_widths, mean_half_widths, missing_half_widths
from dproof.local.recipe import Group, RowLaw
from dproof.meaning import advice, had_been, in_words, percent, posterior
from dproof.plans.plan import ASKED, not_protected
from dproof.plotting import svg
from dproof.privacy import Privacy
from dproof.questions.ranges import Range
from dproof.report.law_charts import law_chart, profile_chart

_PAPERS = {  # as certificates name them
    "HLM15": "Holohan, Leith and Mason 2015: Differential privacy in metric spaces: numerical, categorical and "
    "functional data under the one roof. Information Sciences 305.",
    "HLM16": "Holohan, Leith and Mason 2016: Differentially private response mechanisms on categorical data. Discrete "
    "Applied Mathematics.",
}
_MOST_DRAWN = 12  # laws, of those that a row may answer for
COUNTS = "SELECT {0}, count(*) FROM release GROUP BY {0}"
_BEYOND = (
    "released numbers may lie outside the range of the true ones: this keeps their mean right. Where the chart has "
    "several humps, the law with the least noise releases numbers from those places only"
)
_BINS = "a row was changed by the bin that its number lies in: an error of 1 is another bin, however far away"


class Pictures(NamedTuple):
    """What can be drawn before there is a release: the law of each group, and their whole guarantees."""

    laws: Mapping[str, str]
    profile: str


def draw_pictures(row: RowLaw) -> Pictures:
    """The pictures of a page, as SVG."""
    drawn = row.groups if row.weights is None else row.groups[:_MOST_DRAWN]
    laws = {group.name: svg(law_chart(group.mechanism)) for group in drawn}
    curves = {group.name: group.mechanism for group in row.groups[:6]}
    return Pictures(laws, svg(profile_chart(curves, float(row.plan.privacy.epsilon) or 1.0)))


def local_page(row: RowLaw, certificate: Mapping[str, Any], pictures: Pictures | None = None) -> str:
    """The whole page as HTML; `pictures` are those of the row, where they are drawn already."""
    drawn = pictures or draw_pictures(row)
    release = certificate.get("release") or {}
    sections = [
        _promise(row.plan.privacy, release, bool(certificate["private"])),
        deniability_section(row.person, row.plan.rows_per_person),
        _columns(row, release.get("rows") or 0, drawn.laws),
        _profile(drawn.profile),
        _asking(row),
        _limits(row),
        _proof(certificate),
    ]
    return document("A sanitised table: what was promised", sections)


def document(title: str, sections: Iterable[str]) -> str:
    """A page of some sections, with its style inside."""
    parts = (files("dproof.report") / "palette.css", files("dproof.report") / "page.css")
    style = "".join(part.read_text(encoding="utf-8") for part in parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n"
        f"<body><main>{''.join(sections)}</main></body></html>\n"
    )


def alarms(texts: Iterable[str]) -> str:
    return "".join(f'<p class="alarm">{escape(text)}</p>' for text in texts)


def fact_cards(facts: Iterable[tuple[str, str, str]]) -> str:
    """Names, values and notes, each on a card."""
    return "".join(
        f'<div class="fact"><b>{escape(value)}</b><span>{escape(name)}</span><small>{escape(note)}</small></div>'
        for name, value, note in facts
    )


def _promise(privacy: Privacy, release: Mapping[str, Any], private: bool) -> str:
    rows = release.get("rows")
    facts = [
        ("ε", written(privacy.epsilon), "what one row may reveal"),
        ("δ", written(privacy.delta), "added to that, as a probability"),
        ("rows", f"{rows:,}" if rows is not None else "—", "their number is public"),
        ("neighbours", privacy.neighbours, "tables that differ in one row"),
    ]
    cards = fact_cards(facts)
    public = release.get("public") or []
    warnings = [] if private else ["Drawn with seeded coins: this release is not private."]
    warnings += [f"Released as they are: {not_protected(public)}."] if public else []
    return (
        "<header><h1>A sanitised table</h1>"
        "<p class='lead'>Every row of this table was changed at random before anyone saw it"
        f"{', but for the columns that are public' if public else ''}. The probabilities of the "
        "changes, called laws, are shown below. What the table can reveal about one person is limited, whatever else "
        "is known about them and whatever is asked of the table, now or later.</p></header>"
        f'<section class="facts">{cards}</section>{alarms([*warnings, *advice(privacy)])}'
    )


def deniability_section(privacy: Privacy, rows_per_person: int = 1) -> str:
    """What a person can deny whose rows, together, have this promise, as a section."""
    rows = ""
    for prior in ("0.01", "0.1", "0.5", "0.9"):
        belief = posterior(privacy, prior)
        low, high = float(belief.low), float(belief.high)
        after = f"{percent(low)} to {percent(high)}"
        rows += f"<tr><td>{float(prior):.0%}</td><td>{after}</td><td>{bar(low, high)}</td></tr>"
    said, owned = in_words(privacy, rows_per_person), ""
    if rows_per_person > 1:
        costs = f"ε is {written(privacy.epsilon)}" + (f" and δ is {written(privacy.delta)}" if privacy.delta else "")
        owned = f"For the {rows_per_person:,} rows together that a person may have, {costs}. "
    return (
        f"<section><h2>What a person in the table can deny</h2><p>{owned}{escape(said['belief'])}</p>"
        '<table aria-label="What an observer believes, before and after"><thead><tr><th scope="col">belief before</th>'
        '<th scope="col">belief after</th><td></td></tr></thead>'
        f"<tbody>{rows}</tbody></table><p>{escape(said['guess'])} {said['both']}</p></section>"
    )


def bar(low: float, high: float, line: tuple[float, float] | None = None) -> str:
    """A bar from one share of the width to another, maybe with a line over it; it needs no inline style."""
    drawn = _rectangle("bar", low, high, 0, 10) + ("" if line is None else _rectangle("line", *line, 4, 2))
    return f'<svg class="range" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'


def _rectangle(name: str, low: float, high: float, top: int, height: int) -> str:
    width = 100 * max(high - low, 0.005)
    return f'<rect class="{name}" x="{100 * low:.1f}" width="{width:.1f}" y="{top}" height="{height}"/>'


def _columns(row: RowLaw, rows: int, pictures: Mapping[str, str]) -> str:
    counts, means, gaps = (widths(row, rows) for widths in (half_widths, mean_half_widths, missing_half_widths))
    blocks = "".join(
        _group(
            group,
            [
                *([] if row.weights is None else [f"about {percent(float(chance))} of the rows answer for it"]),
                *_accuracy(rows, counts[group.name], means.get(group.name), gaps.get(group.name)),
            ],
            pictures.get(group.name),
        )
        for group, chance in zip(row.groups, row.chances, strict=True)
    )
    dropped = row.plan.named("drop")
    notes = f"<p><b>Left out:</b> {_names(dropped)}.</p>" if dropped else ""
    sources = " ".join(group.part.source for group in row.groups)
    cited = "".join(f"<li>{escape(text)}</li>" for name, text in _PAPERS.items() if name in sources)
    notes += f'<p>The papers:</p><ul class="papers">{cited}</ul>' if cited else ""
    return f"<section><h2>What was done to each column</h2>{_spread(row)}{blocks}{notes}</section>"


def _spread(row: RowLaw) -> str:
    """How ε is spread over the columns, where the plan says it; an empty text elsewhere."""
    if row.plan.spread is None:
        return ""
    why = " The plan leaves this choice to dproof: it has the smaller total variance." * (row.plan.spread == "auto")
    if row.weights is None:
        return f"<p>Every row answers for all columns, and each has a part of ε.{why}</p>"
    return (
        f"<p>Every row answers for one of the {len(row.groups)} things below with all of ε. Which one was drawn at "
        f"random, whatever the row holds; the column <code>{ASKED}</code> tells it. All other columns of the row are "
        f"empty: it was not asked for them, which does not mean that they are missing.{why}</p>"
    )


def _accuracy(rows: int, count: float | None, mean: float | None, missing: float | None) -> Iterator[str]:
    if count is not None and rows:
        told = "right to about" if count < rows else "no information at this ε:"
        yield f"a count over the {rows:,} rows is {told} ± {written(count)}, 19 times out of 20"
    if mean is not None:
        yield f"the mean of the {rows:,} rows is right to about ± {written(mean)}, 19 times out of 20"
    if missing is not None:
        yield f"the number of missing values is right to about ± {written(missing)}, 19 times out of 20"


def _group(group: Group, accuracy: Iterable[str], picture: str | None) -> str:
    part = group.part
    source = part.source
    for name, text in _PAPERS.items():
        source = source.replace(name, text.partition(":")[0])
    facts = [
        f"mechanism: {part.mechanism} ({source})",
        f"ε = {written(group.privacy.epsilon)}"
        + (f", δ = {written(group.privacy.delta)}" if group.privacy.delta else ""),
    ]
    if part.error is not None:
        facts.append(f"expected error of a value: {written(part.error)}")
    if part.lower_bound is not None:
        facts.append(f"no mechanism with this guarantee errs less than {written(part.lower_bound)}")
    facts += accuracy
    if group.mechanism.outputs != group.mechanism.inputs and group.mechanism.inputs.line is not None:
        facts.append(_BEYOND)
    if any(column.bins is not None for column in group.columns):
        facts.append(_BINS)
    items = "".join(f"<li>{escape(fact)}</li>" for fact in facts)
    figure = "" if picture is None else f'<figure class="law">{picture}</figure>'
    return f"<article><h3>{escape(group.name)}</h3><ul>{items}</ul>{figure}</article>"


def _profile(picture: str) -> str:
    return (
        "<section><h2>The whole guarantee</h2><p>For each ε, the curve of a column shows the least δ that its law "
        "keeps, computed from the whole numbers that were sampled. Where a curve reaches zero, one row never reveals "
        f"more than that ε allows.</p><figure>{picture}</figure></section>"
    )


def _asking(row: RowLaw) -> str:
    columns = [column for group in row.groups for column in group.columns]
    first = next((column for column in columns if column.space.labels is not None), columns[0] if columns else None)
    sql = "SELECT avg({0}) FROM release" if first is not None and first.space.holds_curves else COUNTS
    return how_to_ask(
        "Counting the rows as they stand gives biased answers: the random changes pull every share towards the middle. "
        "dproof knows the laws, removes the bias and gives an interval.",
        sql,
        first.name if first is not None else "column",
    )


def how_to_ask(why: str, sql: str, column: str = "") -> str:
    """The section of a page with a question to begin with; {0} in it is the column."""
    asked = sql.format(column if column.isidentifier() else '"' + column.replace('"', '""') + '"')
    return (
        f"<section><h2>How to ask it</h2><p>{why} Questions cost nothing, and there may be any number of them.</p>"
        f"<pre>dproof query . {escape(json.dumps(asked))}</pre>"
        f"<pre>import dproof as dp\ndp.load('.').query({escape(repr(asked))})</pre></section>"
    )


def _limits(row: RowLaw) -> str:
    weaker = "ε × r, δ × r" if row.plan.privacy.delta else "ε × r"
    points = [
        "The number of rows is public, and so is the plan: the names of the columns, their values and bounds.",
        "What holds for people in general can be learned from the table, also about people who are not in it.",
        f"The promise is for one row. With r rows your protection is r times weaker ({weaker})"
        + (f"; the plan allows {row.plan.rows_per_person} rows a person." if row.plan.rows_per_person > 1 else "."),
        "Sanitising the same table again is a second release: the two promises add up.",
    ]
    if row.plan.privacy.delta:
        points.append("With a probability of up to δ for each row, that row may be published as it is.")
    return not_promised(points)


def not_promised(points: Iterable[str]) -> str:
    """The section of a page that says what its guarantee is not."""
    items = "".join(f"<li>{escape(point)}</li>" for point in points)
    return f"<section><h2>What is not promised</h2><ul>{items}</ul></section>"


def _proof(certificate: Mapping[str, Any]) -> str:
    return (
        "<section><h2>How to check it</h2><p>The certificate holds the laws as whole numbers. In this page's folder</p>"
        "<pre>dproof verify .</pre><p>checks every pair of values again in exact arithmetic, the files and what they "
        "hold. Without dproof its verify_certificate.py, one file that needs nothing but Python, checks the laws:</p>"
        "<pre>python verify_certificate.py certificate.json</pre>"
        f"<p class='seal'>seal {escape(str(certificate['seal']))}</p></section>"
    )


def _names(names: list[str]) -> str:
    return ", ".join(f"<code>{escape(name)}</code>" for name in names)


_SHOWN = 100  # tables, and columns
_UNFOLDED = 12  # tables that are not folded away
_VALUES = 40  # of a column
_PAIRS, _WIDE = 6, 24  # tables of two columns, and how many values each column may have
_CURVES = 6  # columns of curves
_ACROSS = 40  # letters of the names of columns that stand side by side
_WRITTEN = 7  # columns of a table up to which counts are written into its cells


def central_page(law: TableLaw, certificate: Mapping[str, Any], estimates: Mapping[int | None, Estimates]) -> str:
    """The whole page as HTML, with the estimated counts and mean curves."""
    counts = estimates[None]
    sections = [
        _central_promise(law, certificate),
        _two_promises(law),
        deniability_section(law.person, law.plan.rows_per_person),
        _measured(law, certificate, counts),
        _column_bars(law, counts),
        _pairs(law, counts),
        _mean_curves(law, estimates),
        _asking_tables(law),
        _central_limits(law),
        _central_proof(certificate),
    ]
    return document("Measured tables: what was promised", sections)


def _central_promise(law: TableLaw, certificate: Mapping[str, Any]) -> str:
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
    widths = table_half_widths(law)
    nothing = told_nothing(law, counts)
    alarm = alarms([] if nothing is None else [f"{nothing[0].upper()}{nothing[1:]}."])
    rows = [(one.name, f"{one.cells:,}", f"± {written(one.half_width)}") for one in widths[:_SHOWN]]
    more = f"<p>… and {len(widths) - _SHOWN:,} more.</p>" if len(widths) > _SHOWN else ""
    return (
        f"<section><h2>What was measured</h2>{alarm}<p>How many rows there are in each cell of these tables, and the "
        "sums of numbers and curves over them, right to about this, 19 times out of 20:</p>"
        f"{table(['table', 'cells', 'a cell'], rows[:_UNFOLDED])}{_folded(rows[_UNFOLDED:])}{more}"
        f"{_made_up_rows(certificate)}</section>"
    )


def _folded(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows of a table that are shown when they are asked for."""
    if not rows:
        return ""
    return f"<details><summary>{len(rows)} more tables</summary>{table(['table', 'cells', 'a cell'], rows)}</details>"


def _made_up_rows(certificate: Mapping[str, Any]) -> str:
    made_up = certificate["release"]["made_up_rows"]
    if made_up is None:
        return ""
    return (
        f"<p><b>rows.parquet</b> holds {made_up:,} rows for tools that want rows. They were made up so that their "
        "tables are near the measured ones: no row is a person's, and what is not in the tables is not in the rows.</p>"
    )


def _column_bars(law: TableLaw, counts: Estimates) -> str:
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
        from dproof.plotting import (
            mean_chart,
            svg,  # few plans have curves
        )

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


def _asking_tables(law: TableLaw) -> str:
    # An item of a set is no column, and a column may only be added up.
    counted = (law.axes[place] for table in law.tables for place in table)
    name = next((axis.name for axis in counted if axis.item is None and not axis.has_curves), None)
    why = (
        "Answers come from all measurements together, are right on average, agree with each other and have an interval."
    )
    return how_to_ask(why, "SELECT count(*) FROM release" if name is None else COUNTS, name or "")


def _central_limits(law: TableLaw) -> str:
    plan = law.plan
    points = [
        "Whoever made the release has seen the true rows. The promise is about everybody else.",
        "The plan is public: the names of the columns, their values, bins and bounds, and which tables were measured.",
        "What holds for people in general can be learned, also about people who are not in the table.",
        f"The promise is for a person with up to {several(plan.rows_per_person, 'row')}.",
        "Measuring the same table again is a second release: the two promises add up.",
    ]
    return not_promised(points)


def _central_proof(certificate: Mapping[str, Any]) -> str:
    return (
        "<section><h2>How to check it</h2><p>The certificate says how much noise each table has. In this page's folder"
        "</p><pre>dproof verify .</pre><p>works out again in exact arithmetic how far one person can move the tables, "
        "and that the noise hides it. Without dproof its files verify_central.py and verify_certificate.py, "
        "which need nothing but Python, do the same:</p>"
        "<pre>python verify_central.py certificate.json</pre>"
        f"<p class='seal'>seal {escape(str(certificate['seal']))}</p></section>"
    )
