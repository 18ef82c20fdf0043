"""`dproof plan`: what a plan will do, and ± of what it will answer, before any data is opened.

`_local` and `_central` are what is told of each model, and `_local_page` and `_central_page` how a person is shown it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from dproof.advice.before_spending import warnings_before
from dproof.advice.expect import (
    ExpectedWidth,
    RowWidths,
    asked_questions,
    cost_shares,
    epsilon_for_counts,
    expected_of_asking,
    expected_of_release,
    row_widths,
    shown_chances,
    table_widths,
    too_noisy_message,
    unused_delta,
)
from dproof.central.recipe import TableLaw, certify_tables
from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, Table, advise, emit, escape, pairs
from dproof.errors import InputError
from dproof.exact import float_above, several, written
from dproof.local.recipe import (
    RowLaw,
    certify_row,
    with_bounds,
)
from dproof.plans.plan import Plan, not_protected
from dproof.privacy import Privacy
from dproof.questions.answer import NOTHING, RARELY, rarely, stated
from dproof.questions.measured import A_TENTH

_MOST_NAMED = 8  # names of columns that are left out
_MOST_LISTED = 12  # tables that are shown one by one
_BEYOND = " Numbers are released beyond their range, so that means are right."
_CONDITIONS = {  # what to ask of a number, by whether it answers conditions
    True: "Numbers for conditions: {}. With bins, conditions are at the edges, a mean's ± includes their width, and "
    "the error is the chance of another bin.",
    False: "Numbers for sums and means only: {}. A condition on them has a wide interval; `bins` in the plan helps.",
}


@command
@click.argument("path", metavar="PLAN.toml", type=PATH, help="The plan.")
@click.option("--rows", metavar="N", type=int, help="How many rows the table has.")
@click.option("--half-width", metavar="W", help="Find the least ε with which every count has ± W.")
@click.option(
    "--question",
    metavar="SQL",
    multiple=True,
    help="A question whose ± you want; repeatable, instead of the plan's own.",
)
@json_option
def plan(path: Path, rows: int | None, half_width: str | None, question: tuple[str, ...], as_json: bool) -> None:
    """Show what a plan will do to each column, and what to expect.

    For each column: its mechanism, its part of ε, the expected error of a value and the lower bound for any mechanism;
    with --rows, ± at 95% of a debiased count or mean, and what would make it smaller. For questions, given here or in
    the plan: ± from a release and from `dproof ask` at the same ε. A plan with add-remove neighbours can have no
    release of rows: then it shows what `dproof ask` gives. Where the plan has `spread`: ± where ε is split over the
    columns, and where each row answers for one thing. Where noisy values choose the rows of an answer (HAVING, or ORDER
    BY with LIMIT), ± is the largest that it may be.

    With model = "central": ± of a count in every table that is measured and of the plan's questions, which columns make
    it expensive, and below how many rows no count says anything; with --rows, ± of means, and what the local model
    would give; with --question, ± of those from the release and from `dproof ask`.
    """
    chosen = Plan.read(path)
    if chosen.model == "central":
        if half_width is not None:
            raise InputError("--half-width is for model = 'local': leave it out")
        tables = certify_tables(chosen)
        answer, page, privacy = _central(tables, rows, list(question) or None), _central_page, tables.person
    else:
        chosen, solved = _solved(chosen, rows, half_width, question)
        answer, page, privacy = _local(chosen, rows, list(question) or None, solved), _local_page, chosen.privacy
    emit(answer, as_json, lambda: page(answer, path.name))
    for said in warnings_before(chosen, privacy):
        advise(said)


def _solved(
    plan: Plan, rows: int | None, half_width: str | None, questions: Sequence[str]
) -> tuple[Plan, Fraction | None]:
    """The plan with the ε with which a count is right to ± half_width, where one is given."""
    if questions and rows is None:
        raise InputError("--question needs --rows: how good an answer is depends on how many rows there are")
    if half_width is None:
        return plan, None
    if rows is None:
        raise InputError("--half-width needs --rows: how accurate a count is depends on how many rows there are")
    if not plan.has_row_law:
        raise InputError(
            "--half-width finds the ε of a release, which needs neighbours = 'change-one'; for this plan "
            "`dproof ask --preview --accuracy` tells what an answer costs"
        )
    solved = epsilon_for_counts(plan, rows, half_width)
    return replace(plan, privacy=Privacy(solved, plan.privacy.delta, neighbours=plan.privacy.neighbours)), solved


def _dropped(answer: dict[str, Any]) -> Page:
    if answer["dropped"]:
        shown, more = answer["dropped"][:_MOST_NAMED], len(answer["dropped"]) - _MOST_NAMED
        yield f"\nLeft out: {escape(', '.join(shown))}{f' and {more} more columns' if more > 0 else ''}."


def _question_lines(questions: Sequence[dict[str, Any]], widths: Callable[[dict[str, Any]], str]) -> Page:
    """± of the answer to each question, one after another: they are too long for a table."""
    last = None
    for asked in questions:
        if asked["question"] != last:
            yield f"\n{escape(last := asked['question'])}"
        yield pairs([("•", f"{escape(asked['column'])}: {widths(asked)}")])


def _figure(value: float | None) -> str:
    return "–" if value is None else written(value)


# Rows that are sanitised one by one ----------------------------------------------------------------------------------


def _local(plan: Plan, rows: int | None, questions: list[str] | None, solved: Fraction | None) -> dict[str, Any]:
    from dproof.advice.plan_advice import PlanAdvice, asking_advice, both_spreads, plan_advice

    law = with_bounds(certify_row(plan)) if plan.has_row_law else None
    hints = asking_advice(plan) if law is None else PlanAdvice(None) if rows is None else plan_advice(law, rows)
    return {
        "epsilon": float_above(plan.privacy.epsilon),
        "delta": float_above(plan.privacy.delta),
        "neighbours": plan.privacy.neighbours,
        "tight": None if law is None else law.tight().to_json(),
        "person": None if law is None else law.person_to_json(),
        "order": plan.order,
        "rows": rows,
        "solved_epsilon": None if solved is None else float_above(solved),
        "columns": [] if law is None else _laws(law, rows),
        "public": plan.named("public"),
        "dropped": plan.named("drop"),
        "verdict": hints.verdict,
        "advice": [hint.to_json() for hint in hints.hints],
        **_compared(plan, rows, questions),
        **({} if law is None or plan.spread is None else {"spread": both_spreads(law, rows)}),
    }


def _laws(law: RowLaw, rows: int | None) -> list[dict[str, Any]]:
    """The law of each column, or of columns that are joined: mechanism, share of ε, error and ±."""
    widths = {} if rows is None else row_widths(law, rows)
    total = sum((group.privacy.epsilon for group in law.groups), Fraction(0))
    shares = [group.privacy.epsilon / total if total else None for group in law.groups]
    shares = shares if law.weights is None else list(law.chances)  # of ε, or of the rows
    found = []
    for group, part, share in zip(law.groups, law.parts, shares, strict=True):
        known, shown = widths.get(group.name, RowWidths(None, None, None)), shown_chances(group)
        found.append(
            {
                "name": group.name,
                "columns": [column.name for column in group.columns],
                "mechanism": part.mechanism,
                "source": part.source,
                "share": None if share is None else float(share),
                "epsilon": float_above(group.privacy.epsilon),
                "delta": float_above(group.privacy.delta),
                "error": None if part.error is None else float(part.error),
                "lower_bound": None if part.lower_bound is None else float(part.lower_bound),
                "half_width": known.count,
                "mean_half_width": known.mean,
                "missing_half_width": known.missing,
                "shown_as_missing": None if shown is None else float(1 - shown[0]),
                "conditions": group.answers_conditions,
            }
        )
    return found


def _compared(plan: Plan, rows: int | None, questions: list[str] | None) -> dict[str, Any]:
    """± of the questions, from a release and from a curator."""
    if rows is None or not (questions or plan.questions):
        keys = ("column", "release", "ask", "ask_shared", "rare", "informative", "estimated", "break_even")
        unknown = dict.fromkeys((*keys, "share_of_rows"))
        unanswered = [{"weight": float(one.weight), "question": one.sql, **unknown} for one in plan.questions]
        return {"questions": unanswered, "better": None, "questions_verdict": None}
    from dproof.advice.ways import advise as compare

    found = compare(plan, rows=rows, questions=questions)
    told = [comparison.to_json() for comparison in found.comparisons]
    return {"questions": told, "better": found.better, "questions_verdict": found.verdict}


def _local_page(answer: dict[str, Any], name: str) -> Page:
    yield (
        f"\n[bold]{escape(name)}[/bold]: one row may lose [bold]ε = {answer['epsilon']:.6g}, "
        f"δ = {answer['delta']:.6g}[/bold] ({answer['neighbours']})"
        + (", the least ε for such counts." if answer["solved_epsilon"] else ".")
    )
    person = answer["person"]
    if person is not None and person["rows"] > 1:
        yield f"A person with {person['rows']} rows: ε = {person['epsilon']:.6g}, δ = {person['delta']:.6g}."
    if answer["verdict"]:
        yield f"[yellow]{escape(answer['verdict'])}[/yellow]"
    if answer["columns"]:
        yield from _columns(answer)
    if answer["advice"]:
        yield "\nWhat would help:"
        yield pairs(("•", escape(hint["text"])) for hint in answer["advice"])
    if answer["public"]:
        yield f"\nReleased as they are: {escape(not_protected(answer['public']))}."
    yield from _dropped(answer)
    yield from _questions(answer)
    yield ""


def _columns(answer: dict[str, Any]) -> Page:
    yield ""
    spread = answer.get("spread", {"chosen": "split"})
    asked = "share" if spread["chosen"] == "split" else "rows"
    headings = ["column", "mechanism", asked, "ε", "error", "at best"]
    headings += [] if answer["rows"] is None else [f"± over {answer['rows']:,}"]
    rows = [
        (
            escape(column["name"]),
            column["mechanism"],
            "" if column["share"] is None else f"{column['share']:.0%}",
            written(column["epsilon"]),
            _figure(column["error"]),
            _figure(column["lower_bound"]),
            _expected(column),
        )[: len(headings)]
        for column in answer["columns"]
    ]
    yield Table(headings, rows, left=(0, 1), spare=(2, 5, 4, 1, 3))
    noisy = any(column["conditions"] is False for column in answer["columns"])
    yield (
        "\nerror: how far a released value is from the true one on average, for the worst true value; at best: the "
        "least that any method with this ε allows." + (_BEYOND if noisy else "")
    )
    if answer["rows"] is not None:
        yield "±: for the worst table, which for most counts is one whose rows all have the value that is counted."
    if "asked" in spread:
        yield from _spread(answer)
    for sharp, said in _CONDITIONS.items():
        names = [escape(column["name"]) for column in answer["columns"] if column["conditions"] is sharp]
        if names:
            yield said.format(", ".join(names))
    hidden = {column["name"]: column["shown_as_missing"] for column in answer["columns"] if column["shown_as_missing"]}
    if hidden:
        chances = ", ".join(f"{escape(name)} {chance:.0%}" for name, chance in hidden.items())
        yield (
            "missing: the count of missing values. The price of keeping them: a value that is present is shown as "
            f"missing with probability {chances}."
        )


def _spread(answer: dict[str, Any]) -> Page:
    """Lines about how ε is spread over the columns, with ± of the other way."""
    spread = answer["spread"]
    how = "Every row answers for all columns, and ε is split over them"
    if spread["chosen"] == "sample":
        how = f"Every row answers for one of {spread['things']} things, drawn at random, with all of ε"
    why = ", which has the smaller total variance" if spread["asked"] == "auto" else ""
    yield f"\n{how}{why}."
    if spread["columns"]:
        rows = [
            (escape(entry["name"]), *map(_figure, (entry["split"], entry["sample"]))) for entry in spread["columns"]
        ]
        yield "± of the count of one value, or of the mean, both ways:\n"
        yield Table(["column", "split", "sample"], rows, left=(0,))
    for entry in spread["questions"]:
        widths = ", ".join(f"{_width(entry, way)} {way}" for way in ("split", "sample"))
        yield pairs([("•", f"{escape(entry['question'])}: {escape(entry['column'])} {widths}")])


def _questions(answer: dict[str, Any]) -> Page:
    """Lines about each question: ± from a release and from a curator."""
    many = len({asked["question"] for asked in answer["questions"]})
    if answer["questions"] and answer["rows"] is None:
        yield "\nThe plan has questions: with --rows you see how well they would be answered."
        return
    yield from _question_lines(answer["questions"], lambda asked: _ways(asked, many))
    if any(asked["release"] is not None for asked in answer["questions"]):
        rare = any(asked["rare"] for asked in answer["questions"])
        yield f"\n± from a release: for evenly spread values, unless the plan says more.{f' {RARELY}' if rare else ''}"
    if not all(all(asked["informative"].values()) for asked in answer["questions"]):
        yield "\nNo information: the interval holds every value that is possible."
    if answer["questions_verdict"]:
        yield f"\n{answer['questions_verdict']}"


def _ways(asked: dict[str, Any], many: int) -> str:
    """± from a release and from a curator, of one column of an answer."""
    release, ask = (asked[way] is not None or not asked["informative"][way] for way in ("release", "ask"))
    if not release and not ask:
        return "± depends on the data"
    ways = [f"{_width(asked, 'release')} from a release"] if release else []
    if not ask:
        return "; ".join([*ways, "from `dproof ask`, ± depends on the data"])
    about = "about " if asked["estimated"] else ""
    ways.append(f"{_width(asked, 'ask', about)} from `dproof ask` for all of ε")
    ways += [f"{_width(asked, 'ask_shared', about)} where {many} questions share it"] if many > 1 else []
    estimated = bool(about) and asked["informative"]["ask"] and asked["share_of_rows"] is None
    ways += ["that interval depends on the data, and this is for evenly spread values"] if estimated else []
    return "; ".join(ways) + stated(asked["share_of_rows"])


def _width(asked: dict[str, Any], way: str, about: str = "") -> str:
    """± one way, or that it would tell nothing."""
    if not asked["informative"][way]:
        return NOTHING
    return f"{about}± {_figure(asked[way])}{rarely(asked['rare'][way]) if way in asked.get('rare', {}) else ''}"


def _expected(column: dict[str, Any]) -> str:
    of = {"count": "half_width", "mean": "mean_half_width", "missing": "missing_half_width"}
    told = [f"{_figure(column[key])} {what}" for what, key in of.items() if column[key] is not None]
    return ", ".join(told) or "–"


# Tables of the whole, measured once ----------------------------------------------------------------------------------


def _central(law: TableLaw, rows: int | None, questions: list[str] | None) -> dict[str, Any]:
    plan, privacy, widths = law.plan, law.person, table_widths(law, rows)
    rho, local = law.rho(), {} if rows is None else _if_local(plan, rows)
    shares = cost_shares(law, [[place] for place in range(len(law.axes))])
    return {
        "model": plan.model,
        "epsilon": float_above(privacy.epsilon),
        "delta": float_above(privacy.delta),
        "allowed_delta": float_above(plan.privacy.delta),
        "unused_delta": unused_delta(law),
        "neighbours": privacy.neighbours,
        "rows_per_person": plan.rows_per_person,
        "rows": rows,
        "rho": None if rho is None else float_above(rho),
        "least_rows": law.least_half_width,
        "verdict": None if rows is None else too_noisy_message(law, rows),
        "tables": [
            {
                "columns": list(one.columns),
                "sum_of": one.sum_of,
                "cells": one.cells,
                "half_width": one.half_width,
                **({} if rows is None or one.sum_of is None else {"mean_half_width": one.mean}),
            }
            for one in widths
        ],
        "questions": _answers(law, rows, questions) if questions or plan.questions else [],
        "columns": [
            {
                "name": axis.name,
                "values": axis.size,
                "share": share,
                **({"curves": True} if axis.has_curves else {}),
                **({} if rows is None else {"local_half_width": local.get(axis.column.name)}),
            }
            for axis, share in zip(law.axes, shares, strict=True)
        ],
        "dropped": plan.named("drop"),
    }


def _answers(law: TableLaw, rows: int | None, questions: list[str] | None) -> list[dict[str, Any]]:
    """± of each column of the answers: from the release, and where questions are given from `dproof ask` as well."""

    def told(one: ExpectedWidth) -> dict[str, Any]:
        found: dict[str, float | None] = {"least_half_width": None, "half_width": None}
        if one.widths is not None:
            found = {"least_half_width": one.widths.least, "half_width": one.widths.greatest}
        if one.rare is not None:
            found["rare_half_width"] = one.rare
        share = None if one.share_of_rows is None else float(one.share_of_rows)
        about = {"question": one.question, "weight": float(one.weight), "share_of_rows": share, "column": one.column}
        finite = {name: width if width is not None and math.isfinite(width) else None for name, width in found.items()}
        return {**about, **finite, "informative": {name: one.possible.is_narrowed_by(w) for name, w in found.items()}}

    answers = []
    for planned in asked_questions(law.plan, questions):
        for one in expected_of_release(law, planned, rows):
            answers.append(told(one))
        if questions:
            asked = expected_of_asking(law.plan, planned, rows, law.plan.privacy)
            for answer, one in zip(answers[-len(asked) :], asked, strict=True):
                answer["ask"] = {"half_width": one.half_width, "estimated": not one.exact}
                answer["informative"]["ask"] = one.informative
    return answers


def _if_local(plan: Plan, rows: int) -> dict[str, float | None]:
    """± of a count by each column, were every row sanitised by itself at the same ε."""
    try:
        law = certify_row(replace(plan, asked=None, privacy=Privacy(plan.privacy.epsilon)))
    except InputError:  # the local model has no release for it
        return {}
    return {name: widths.count for name, widths in row_widths(law, rows).items()}


def _central_page(answer: dict[str, Any], name: str) -> Page:
    rows = answer["rows_per_person"]
    who = "a person" if rows == 1 else f"a person with up to {rows:,} rows"
    yield (
        f"\n[bold]{escape(name)}[/bold]: {who} may lose [bold]ε = {answer['epsilon']:.6g}, "
        f"δ = {answer['delta']:.6g}[/bold] ({answer['neighbours']}). The whole table is measured once, with noise; "
        "whoever does that sees the true rows.\n"
    )
    if answer["unused_delta"]:
        yield f"{escape(answer['unused_delta'])}\n"
    yield Table(["table", "cells", "±"], list(_lines(answer["tables"])), left=(0,), spare=(1,))
    yield "\n±: a count, or a sum, of one cell is right to about this, 19 times out of 20, whatever the data.\n"
    if any("curves" in column for column in answer["columns"]):
        yield "For curves: a sum at one grid point; a mean, with --rows, at all grid points at once.\n"
    yield from _worth(answer)
    yield from _central_questions(answer)
    columns = sorted(answer["columns"], key=lambda column: -column["share"])
    figures: list[tuple[str, ...]] = [(escape(c["name"]), f"{c['values']:,}", f"{c['share']:.0%}") for c in columns]
    heads, has_local = ["column", "values", "part of the cost"], "local_half_width" in columns[0]
    if has_local:
        heads.append("± if local")
        local = ("no counts" if c["local_half_width"] is None else written(c["local_half_width"]) for c in columns)
        figures = [(*row, width) for row, width in zip(figures, local, strict=True)]
    yield Table(heads, figures, left=(0,), spare=(1,))
    yield "\npart of the cost: of tables with this column. Fewer values or bins in the first rows make every ± smaller."
    if has_local:
        yield "± if local: of a count by this column alone, if every row were sanitised by itself at the same ε."
    yield from _dropped(answer)
    yield ""


def _worth(answer: dict[str, Any]) -> Page:
    """Lines about what counts and means are worth at this noise."""
    if answer["verdict"] is not None:
        yield f"[yellow]Take care: {escape(answer['verdict'])}.[/yellow]\n"
    elif answer["least_rows"]:
        yield f"With fewer than {math.ceil(answer['least_rows']):,} rows no count says anything.\n"
    means = [one for one in answer["tables"] if one.get("mean_half_width") is not None]
    if means:
        told = [f"{_named(one)} ± {_mean(one)}" for one in means[:_MOST_LISTED]]
        tenth = " (and in a group that has a tenth of that)" if any(one["columns"] for one in means) else ""
        yield f"Means, at most, if the rows are spread evenly{tenth}: {escape('; '.join(told))}.\n"


def _mean(one: dict[str, Any]) -> str:
    """± of a mean, and in a group that has a tenth of the rows; without groups all rows are meant."""
    width = one["mean_half_width"]
    return written(width) + (f" ({written(width / A_TENTH)})" if one["columns"] else "")


def _named(one: dict[str, Any]) -> str:
    return f"{one['sum_of']} by {' × '.join(one['columns'])}" if one["columns"] else str(one["sum_of"])


def _central_questions(answer: dict[str, Any]) -> Page:
    questions = answer["questions"]
    yield from _question_lines(questions, lambda asked: _table_width(asked, answer["rows"]) + _asking(asked))
    if questions:
        yield "± of means and shares are for rows that are spread evenly; those of counts and sums hold for all data."
        yield f"{RARELY}\n" if any("rare_half_width" in asked for asked in questions) else ""


def _table_width(asked: dict[str, Any], rows: int | None) -> str:
    """± of a column of an answer over its groups, or that it would tell nothing."""
    if asked["half_width"] is None and asked["informative"]["half_width"]:
        return "± depends on " + ("how many rows there are: say it with --rows" if rows is None else "the data")
    if asked["informative"]["half_width"]:
        rare = rarely(asked["rare_half_width"]) if "rare_half_width" in asked else ""
        rare += stated(asked["share_of_rows"])
        return f"± {_between(asked['least_half_width'], asked['half_width'])}{rare}"
    if not asked["informative"]["least_half_width"]:
        return NOTHING
    return f"± {written(asked['least_half_width'])} or more, and {NOTHING} in some groups"


def _asking(asked: dict[str, Any]) -> str:
    """± from a curator, where questions were given."""
    if "ask" not in asked:
        return ""
    if not asked["informative"]["ask"]:
        return f"; {NOTHING} from `dproof ask` for all of ε"
    width, about = asked["ask"]["half_width"], "about " if asked["ask"]["estimated"] else ""
    told = "± depends on the data" if width is None else f"{about}± {written(width)}"
    return f"; {told} from `dproof ask` for all of ε"


def _lines(tables: Sequence[dict[str, Any]]) -> Page:
    """Rows of the page, one for each table and sum; of many, one for all with equally many columns."""
    kinds: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in tables:
        by = len(one["columns"]) if len(tables) > _MOST_LISTED else tuple(one["columns"])
        kinds.setdefault((one["sum_of"], by), []).append(one)
    for (summed, by), alike in kinds.items():
        name = " × ".join(by) or "all rows" if isinstance(by, tuple) else f"{len(alike):,} of {several(by, 'column')}"
        if summed is not None:
            name = f"sum of {summed}" + (f" by {name}" if by else "")
        cells, widths = [one["cells"] for one in alike], [one["half_width"] for one in alike]
        yield escape(name), _between(min(cells), max(cells)), _between(min(widths), max(widths))


def _between(low: float, high: float) -> str:
    return written(low) if low == high else f"{written(low)} to {written(high)}"
