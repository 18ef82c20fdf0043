"""One page that explains a release to a person who is no expert: no script, no network, no file beside it.

The texts are in the templates; here is what they are filled with.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, isfinite, prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from dproof.advice.expect import RowWidths, row_widths, too_noisy_message
from dproof.central.estimates import ResidualEstimates
from dproof.central.recipe import TableLaw
from dproof.central.workload import Table
from dproof.columns.codec import quoted
from dproof.errors import DproofError, QuestionError
from dproof.exact import several, written
from dproof.html import render
from dproof.local.recipe import JointColumns, RowLaw
from dproof.meaning import advice, beliefs, had_been, in_random_order, in_words, odds_factor, percent
from dproof.plans.plan import ASKED, TableAxis, not_protected, preprocessing_notes
from dproof.plans.questions import PlannedQuestion
from dproof.plotting import label_texts
from dproof.privacy import Privacy
from dproof.questions.answer import Answer, Cell, Range
from dproof.recipe import Release
from dproof.report.drawings import band_picture, heat_table, law_picture, profile_picture

if TYPE_CHECKING:
    from markupsafe import Markup

    from dproof.central.release import CentralRelease
    from dproof.local.release import LocalRelease

_PAPERS = {  # as certificates name them
    "HLM15": "Holohan, Leith and Mason 2015: Differential privacy in metric spaces: numerical, categorical and "
    "functional data under the one roof. Information Sciences 305.",
    "HLM16": "Holohan, Leith and Mason 2016: Differentially private response mechanisms on categorical data. Discrete "
    "Applied Mathematics.",
}
_COUNTS = "SELECT {0}, count(*) FROM release GROUP BY {0}"
_BEYOND = (
    "released numbers may lie outside the range of the true ones: this keeps their mean right. Where the chart has "
    "several humps, the law with the least noise releases numbers from those places only"
)
_ADOPTED = (
    "The answers were changed where they were given, before they were sent, and dproof did not see it: the promise "
    "holds for whoever drew by the laws below. {left_out:,} answers that no law can give were left out, and "
    "{repeated:,} that repeat another."
)
_BINS = "a row was changed by the bin that its number lies in: an error of 1 is another bin, however far away"
_MOST_LAWS = 12  # that are drawn, of those that a row may answer for
_MOST_PROFILES = 6
_MOST_TABLES = 100  # and columns
_MOST_VALUES = 40  # of a column
_MOST_PAIRS, _MOST_PAIR_VALUES = 6, 24  # tables of two columns, and how many values each column may have
_BY_CHANCE = 0.05  # that noise alone shows any table of two columns
_MOST_CURVES = 6  # columns of curves
_MOST_WRITTEN = 7  # columns of a table up to which counts are written into its cells


class Pictures(NamedTuple):
    """Pictures that need no release: the law of each group, and their whole guarantees."""

    laws: Mapping[str, Markup]
    profile: Markup


def draw_pictures(law: RowLaw) -> Pictures:
    """The pictures of the page about rows with this law."""
    drawn = law.groups if law.weights is None else law.groups[:_MOST_LAWS]
    laws = {group.name: law_picture(group.mechanism) for group in drawn}
    profiled = {group.name: group.mechanism for group in law.groups[:_MOST_PROFILES]}
    return Pictures(laws, profile_picture(profiled, float(law.plan.privacy.epsilon) or 1.0))


def release_page(release: Release, pictures: Pictures | None = None) -> str:
    """The page about a release, with its answers to the plan's questions.

    `pictures` are those of the law of its rows, where they are drawn already.
    """
    made: Any = release
    return str(_of_tables(made) if isinstance(made.law, TableLaw) else _of_rows(made, pictures))


def _of_rows(release: LocalRelease, pictures: Pictures | None) -> Markup:
    """The page about sanitised rows."""
    law, recorded = release.law, release.certificate["release"]
    plan, privacy, rows, public = law.plan, law.plan.privacy, release.rows, recorded["public"]
    drawn = pictures or draw_pictures(law)
    warnings = [f"Released as they are: {not_protected(public)}."] if public else []
    warnings += [_ADOPTED.format(**recorded["adopted"])] if "adopted" in recorded else []
    columns = [column for group in law.groups for column in group.columns]
    first = next((column for column in columns if column.space.labels is not None), columns[0] if columns else None)
    sql = "SELECT avg({0}) FROM release" if first is not None and first.space.holds_curves else _COUNTS
    sources = " ".join(group.part.source for group in law.groups)
    return render(
        "local.html",
        "page",
        shown=_shared(release, law.person, warnings),
        facts=_facts(privacy, rows, "row"),
        law=law,
        plan=plan,
        privacy=privacy,
        public=public,
        asked_column=ASKED,
        groups=_groups(law, rows, drawn.laws),
        columns=columns,
        rows=rows,
        in_random_order=in_random_order(recorded["shuffled"]) if "shuffled" in recorded else None,
        epsilon=written(privacy.epsilon),
        papers=[text for name, text in _PAPERS.items() if name in sources],
        profile=drawn.profile,
        **_first_question(sql, first.name if first is not None else "column"),
    )


def _shared(release: Release, person: Privacy, warnings: Sequence[str]) -> dict[str, Any]:
    """What the pages of both models show: what the table is, results, cautions, and what a person can deny."""
    plan, results = release.plan, results_of(release)
    seeded = [] if release.private else ["Drawn with seeded coins: this release is not private."]
    titles = {"table": "Table", "date": "Date", "custodian": "Custodian", "contact": "Contact", "purpose": "Purpose"}
    about = [(told, getattr(plan.about, key)) for key, told in titles.items() if getattr(plan.about, key)]
    return {
        "title": plan.about.title or "Statistics under differential privacy",
        "about": about,
        "limit": _limit(person),
        "warnings": [*seeded, *warnings, *advice(plan.privacy if plan.model == "local" else person)],
        "results": results,
        "notes": list(dict.fromkeys(note for result in results for note in result.notes)),
        "deniability": deniability_section(person, plan.rows_per_person),
        "dropped": plan.left_out,
        "seal": release.certificate["seal"],
    }


def _limit(person: Privacy) -> str:
    """How far what can be learned about one person is limited: no more than the odds of `explain` say."""
    failure = odds_factor(person).failure
    if failure == 1:
        return "With so large a δ nothing is promised about what can be learned about one person."
    but = ", except with a small probability" if failure else ""
    return (
        f"What anyone can learn from it about one person is limited{but}, whatever else they know and however often "
        "they ask: the limit is stated below."
    )


def _facts(privacy: Privacy, rows: int | None, whose: str) -> list[tuple[str, str, str]]:
    """The promise in figures: the value, its name, and what it is."""
    told = ("—" if whose == "row" else "hidden", "public") if rows is None else (f"{rows:,}", "their number is public")
    return [
        (written(privacy.epsilon), "ε, the privacy budget", f"what one {whose} may reveal"),
        (written(privacy.delta), "δ", "added to that, as a probability"),
        (told[0], "rows", told[1] if rows is not None else "their number is estimated"),
        (privacy.neighbours, "neighbours", f"tables that differ in one {whose}"),
    ]


def deniability_section(privacy: Privacy, rows_per_person: int = 1) -> Markup:
    """The section about deniability: what a person can deny whose rows, together, have this promise."""
    return render(
        "release.html",
        "deniability",
        rows_per_person=rows_per_person,
        epsilon=written(privacy.epsilon),
        delta=written(privacy.delta) if privacy.delta else "",
        beliefs=beliefs(privacy),
        words=in_words(privacy, rows_per_person),
    )


def _first_question(sql: str, column: str) -> dict[str, str]:
    """A question to begin with, for a shell and for Python; {0} in it is the column."""
    from sqlglot.tokens import Tokenizer

    is_plain = column.isascii() and column.isidentifier() and column.upper() not in Tokenizer.KEYWORDS
    asked = sql.format(column if is_plain else quoted(column))
    return {"asked_in_shell": shlex.quote(asked), "asked_in_python": repr(asked)}


def _groups(law: RowLaw, rows: int, pictures: Mapping[str, Markup]) -> list[dict[str, Any]]:
    """Facts and picture of each column, or of columns that are joined."""
    widths, groups = row_widths(law, rows), []
    for group, chance in zip(law.groups, law.chances, strict=True):
        name = group.name
        facts = [*_law_facts(group)]
        facts += [] if law.weights is None else [f"about {percent(float(chance))} of the rows answer for it"]
        facts += _accuracy(rows, widths[name])
        if group.mechanism.outputs != group.mechanism.inputs and group.mechanism.inputs.line is not None:
            facts.append(_BEYOND)
        if any(column.bins is not None for column in group.columns):
            facts.append(_BINS)
        groups.append({"name": name, "facts": facts, "picture": pictures.get(name, "")})
    return groups


def _law_facts(group: JointColumns) -> Iterator[str]:
    """The mechanism of some columns, what it promises, and its error beside the least one."""
    part, privacy = group.part, group.privacy
    source = part.source
    for name, text in _PAPERS.items():
        source = source.replace(name, text.partition(":")[0])
    yield f"mechanism: {part.mechanism} ({source})"
    yield f"ε = {written(privacy.epsilon)}" + (f", δ = {written(privacy.delta)}" if privacy.delta else "")
    if part.error is not None:
        yield f"expected error of a value: {written(part.error)}"
    if part.lower_bound is not None:
        yield f"no mechanism with this guarantee errs less than {written(part.lower_bound)}"


def _accuracy(rows: int, widths: RowWidths) -> Iterator[str]:
    if widths.count is not None and rows:
        told = "right to about" if widths.count < rows else "no information at this ε:"
        yield f"a count over the {rows:,} rows is {told} ± {written(widths.count)}, 19 times out of 20"
    if widths.mean is not None:
        yield f"the mean of the {rows:,} rows is right to about ± {written(widths.mean)}, 19 times out of 20"
    if widths.missing is not None:
        yield f"the number of missing values is right to about ± {written(widths.missing)}, 19 times out of 20"


def _of_tables(release: CentralRelease) -> Markup:
    """The page about measured tables, with the estimated counts and mean curves."""
    law, privacy, counts = release.law, release.privacy, release.estimates[None]
    nothing = too_noisy_message(law, float(counts.residuals[()]))
    warnings = [] if nothing is None else [f"{nothing[0].upper()}{nothing[1:]}."]
    tables, pairs = law.half_widths, _pairs(law, counts)
    # An item of a set is no column, and a column may only be added up.
    counted = (law.axes[place] for table in law.tables for place in table)
    name = next((axis.name for axis in counted if axis.item is None and not axis.has_curves), None)
    return render(
        "central.html",
        "page",
        shown=_shared(release, privacy, warnings),
        facts=_facts(privacy, release.rows, "person"),
        had_been=had_been(law.plan.unit),
        tables=tables[:_MOST_TABLES],
        more_tables=len(tables) - _MOST_TABLES,
        number_of_tables=several(len(tables), "table"),
        made_up_rows=release.certificate["release"]["made_up_rows"],
        rows=release.rows,
        columns=_columns(law, counts),
        notes=preprocessing_notes(law.plan, law.plan.true_columns),
        pairs=pairs,
        has_pairs=pairs is not None,
        curves=_mean_curves(release),
        rows_of_a_person=several(law.plan.rows_per_person, "row"),
        written=written,
        **_first_question("SELECT count(*) FROM release" if name is None else _COUNTS, name or ""),
    )


def _columns(law: TableLaw, counts: ResidualEstimates) -> list[dict[str, Any]]:
    """Every column by itself: each count with ±, and where its bar and its interval begin and end."""
    places = [place for place, axis in enumerate(law.axes) if not axis.has_curves or axis.size > 1]
    shown, deviations = [place for place in places if (place,) in counts.residuals], law.deviations()
    return [_column(law.axes[place], place, counts, deviations) for place in shown[:_MOST_TABLES]]


def _column(axis: TableAxis, place: int, counts: ResidualEstimates, deviations: float) -> dict[str, Any]:
    cells, half = counts.table((place,)), deviations * counts.cell_variance((place,)) ** 0.5
    most, told, values = max(float(cells.max()) + half, 1.0), written(half), []
    for label, cell in zip(label_texts(axis.bins.labels[:_MOST_VALUES]), cells[:_MOST_VALUES].tolist(), strict=True):
        low, middle, high = (max(0.0, number) / most for number in (cell - half, cell, cell + half))
        count = f"{max(cell, 0.0):,.0f} ± {told}"
        values.append({"label": label, "count": count, "low": low, "middle": middle, "high": high})
    return {"name": axis.name, "counts": values, "more": axis.size - _MOST_VALUES}


def _pairs(law: TableLaw, counts: ResidualEstimates) -> list[dict[str, Any]] | None:
    """The tables of two columns that depend on each other most: the stronger the colour, the more rows.

    Only such as noise alone shows in no table, 19 times out of 20; None where no table of two columns could be shown.
    """
    shown = {place for place, axis in enumerate(law.axes) if 1 < axis.size <= _MOST_PAIR_VALUES}
    pairs = [table for table in law.tables if len(table) == 2 and shown.issuperset(table)]
    cells = sum(prod(law.axes[place].size for place in pair) for pair in pairs)
    noise = law.deviations(1 - _BY_CHANCE / max(cells, 1))
    depend = {pair: found for pair in pairs if (found := _dependence(counts, pair)).largest > noise}
    chosen = sorted(depend, key=lambda pair: -depend[pair].mean)[:_MOST_PAIRS]
    return [_pair(law, counts, pair) for pair in chosen] if pairs else None


class Dependence(NamedTuple):
    """How far the cells of a table lie from those of two independent columns, in standard deviations of their noise."""

    mean: float  # of the squares
    largest: float


def _dependence(counts: ResidualEstimates, pair: Table) -> Dependence:
    cells, total = counts.table(pair), max(float(counts.residuals[()]), 1.0)
    alone = cells.sum(axis=1, keepdims=True) * cells.sum(axis=0, keepdims=True) / total
    squares, noise = (cells - alone) ** 2, counts.cell_variance(pair)
    if not noise:
        return Dependence(inf, inf)
    return Dependence(float(squares.mean()) / noise, float(squares.max() / noise) ** 0.5)


def _pair(law: TableLaw, counts: ResidualEstimates, pair: Table) -> dict[str, Any]:
    """A heat map; the column with fewer values stands across the page."""
    cells, (down, across) = counts.table(pair), pair
    if law.axes[down].size < law.axes[across].size:
        cells, (down, across) = cells.T, (across, down)
    rows, columns = law.axes[down], law.axes[across]
    half = written(law.deviations() * counts.cell_variance(pair) ** 0.5)
    name = f"{rows.name} × {columns.name}"
    drawn = heat_table(
        label_texts(rows.bins.labels),
        label_texts(columns.bins.labels),
        cells.clip(min=0.0),
        text=lambda cell: f"{cell:,.0f}" if columns.size <= _MOST_WRITTEN else "",
        hint=lambda cell: f"{cell:,.0f} ± {half}",
        about=f"Estimated counts of {name}",
    )
    return {"name": name, "half_width": half, "map": drawn}


def _mean_curves(release: CentralRelease) -> list[tuple[str, Markup | None]]:
    """The mean of each column of curves in its band; None where there are too few curves."""
    drawn: dict[str, Markup | None] = {}
    for place in [place for place in release.law.lattices if place in release.estimates][:_MOST_CURVES]:
        name, space = release.law.axes[place].name, release.law.lattices[place].space
        drawn[name] = None
        with suppress(QuestionError):
            curve = release.mean_curve(name)
            cell = Range(space.low, space.high).cut(curve.cell())  # what no curve can be, their mean is not
            drawn[name] = band_picture(curve.times.tolist(), cell.clamped_estimate, cell.low, cell.high)
    return [*drawn.items()]


# The plan's own questions, answered from the release itself -----------------------------------------------------------


_MOST_QUESTIONS = 40
_MOST_ROWS = 40  # of one answer
_MOST_STORED = 10**8  # sanitised rows that are counted again for the page
_LEFT = "the page answers the first 40 questions of the plan; ask this one as shown below"
_FAILED = "an error in dproof itself; the release is as it should be, and can be asked"


@dataclass(frozen=True, slots=True)
class Result:
    """A question of the plan and its answer: as bars where it has one number for each group, else as a table.

    `problem` says why there is no answer.
    """

    sql: str
    title: str = ""
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    bars: tuple[dict[str, Any], ...] = ()
    more: int = 0
    notes: tuple[str, ...] = ()
    problem: str = ""


def results_of(release: Release) -> tuple[Result, ...]:
    """The answers to the plan's questions; none where the rows are elsewhere, or too many to be counted for a page."""
    has_rows = release.plan.model == "local"
    if has_rows and ((release.table is None and not release.files) or (release.rows or 0) > _MOST_STORED):
        return ()
    questions = release.plan.questions
    answered = [_result(release, planned) for planned in questions[:_MOST_QUESTIONS]]
    return (*answered, *(Result(one.sql, one.title, problem=_LEFT) for one in questions[_MOST_QUESTIONS:]))


def _result(release: Release, planned: PlannedQuestion) -> Result:
    asked = Result(planned.sql, planned.title)
    try:
        answer = release.query(replace(planned.question, table="release"))
    except DproofError as error:
        return replace(asked, problem=str(error))
    except Exception:  # the release is paid for by now, and must not be lost for the sake of its page
        return replace(asked, problem=_FAILED)
    more, notes = max(0, len(answer.rows) - _MOST_ROWS), answer.notes
    bars = _bars(answer)
    if bars:
        return replace(asked, bars=bars, more=more, notes=notes)
    rows = tuple(map(tuple, answer.texts(_MOST_ROWS)))
    return replace(asked, head=answer.columns, rows=rows, more=more, notes=notes)


def _bars(answer: Answer) -> tuple[dict[str, Any], ...]:
    """A bar for each of several rows, where the last column alone is estimated and no number is below 0."""
    *keys, last = answer.columns
    shown = answer.rows[:_MOST_ROWS]
    cells = [row[last] for row in shown]
    if len(shown) < 2 or any(isinstance(row[key], Cell) for row in shown for key in keys):
        return ()
    if not all(isinstance(cell, Cell) and (not cell.informative or _has_length(cell)) for cell in cells):
        return ()
    most = max([cell.high for cell in cells if cell.informative], default=0) or 1
    return tuple(
        _bar(", ".join(texts[:-1]), texts[-1], cell, most)
        for texts, cell in zip(answer.texts(_MOST_ROWS), cells, strict=True)
    )


def _has_length(cell: Cell) -> bool:
    """Whether a bar can show an estimate: a number from 0 on, with an interval."""
    return all(_is_length(number) for number in (cell.clamped_estimate, cell.low, cell.high))


def _is_length(number: Any) -> TypeGuard[float]:
    return isinstance(number, (int, float)) and isfinite(number) and number >= 0


def _bar(label: str, text: str, cell: Cell, most: float) -> dict[str, Any]:
    ends: Sequence[Any] = (cell.low, cell.clamped_estimate, cell.high) if cell.informative else (0, 0, 0)
    low, middle, high = (float(number) / most for number in ends)
    return {"label": label, "count": text, "low": low, "middle": middle, "high": high}
