"""One page that explains a release to a person who is no expert: no script, no network, no file beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

from dproof.charts.style import svg
from dproof.exact import written
from dproof.local.expectation import half_widths, mean_half_widths, missing_half_widths
from dproof.local.law import Group, RowLaw
from dproof.meaning import advice, in_words, percent, posterior
from dproof.plans.plan import ASKED, not_protected
from dproof.privacy import Privacy
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


def page(row: RowLaw, certificate: Mapping[str, Any], pictures: Pictures | None = None) -> str:
    """The whole page as HTML; `pictures` are those of the row, where they are drawn already."""
    drawn = pictures or draw_pictures(row)
    release = certificate.get("release") or {}
    sections = [
        _promise(row.plan.privacy, release, bool(certificate["private"])),
        denial(row.person, row.plan.rows_per_person),
        _columns(row, release.get("rows") or 0, drawn.laws),
        _profile(drawn.profile),
        _asking(row),
        _limits(row),
        _proof(certificate),
    ]
    return document("A sanitised table: what was promised", sections)


def document(title: str, sections: Iterable[str]) -> str:
    """A page of some sections, with its style inside."""
    parts = (files("dproof.charts") / "palette.css", files("dproof.report") / "page.css")
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


def denial(privacy: Privacy, rows_per_person: int = 1) -> str:
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
