"""`dproof plan`: which way to take, ± of what a plan will answer, and what it will do, before any data is opened.

`_local` and `_central` tell what a plan does, beside the table of ways; `_plan_page` shows a person both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import click

from dproof.advice.before_spending import warnings_before
from dproof.advice.expect import (
    ExpectedWidth,
    RowWidths,
    asked_questions,
    cost_shares,
    epsilon_for,
    expected_of_asking,
    expected_of_release,
    law_if_allowed,
    means_by_tables,
    readable_widths,
    row_widths,
    shown_chances,
    unused_delta,
)
from dproof.advice.plan_advice import both_spreads
from dproof.advice.release_or_ask import advise as sanitise_or_ask
from dproof.advice.shown import shown_ways
from dproof.advice.ways import (
    WaysTable,
    draft_and_plan,
    group_shares,
    ways_table,
    what_helps,
    with_epsilon,
)
from dproof.central.recipe import TableLaw
from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, Table, advise, emit, escape, pairs, promised
from dproof.columns.codec import quoted
from dproof.errors import InputError
from dproof.exact import float_above, several, written
from dproof.local.recipe import RowLaw, with_bounds
from dproof.local.release import shuffled_rows
from dproof.meaning import in_random_order
from dproof.plans.plan import Plan, not_protected
from dproof.plans.questions import planned_question
from dproof.questions.answer import NOTHING

_MOST_NAMED = 8  # names of columns that are left out
_MOST_COSTLY = 4  # columns
_MOST_MEANS = 4  # in groups
_MOST_LISTED = 12  # tables that are shown one by one
_MOST_ANSWERS = 24  # that are shown
_BEYOND = " Numbers are released beyond their range, so that means are right."
_CODED = (
    "Rows hold codes and no values where that makes counts sharper. The price of values that can be read, by "
    'mechanism = "randomised_response", or "itemwise_response" for sets'
)
_CHOSEN = (
    "Bins for what the questions ask, conditions and quantiles, which noise on numbers hides; for sums and means write "
    'mechanism = "laplace", or ask for them in the plan'
)
_CONDITIONS = {  # what to ask of a number, by whether it answers conditions
    True: "Numbers for conditions: {}. With bins, conditions are at the edges, a mean's ± includes their width, and "
    "the error is the chance of another bin.",
    False: "Numbers for sums and means only: {}. A condition on them has a wide interval; `bins` in the plan helps.",
}
_APART = (
    "No question can ask about two items of one set ({}): for that declare it under [[questions]], or write "
    "item_pairs = true under [release], which blurs all else"
)
_WEIGHED = (
    "The fewer values one of its columns has, the sharper a table is, and counts are sharper than sums: "
    "[[release.tables]] chooses otherwise"
)


@command
@click.argument("path", metavar="PLAN.toml", type=PATH, help="The plan.")
@click.option("--rows", metavar="N", type=int, help="How many rows the table has.")
@click.option("--half-width", metavar="W", help="Find the least ε with which every count, or --question, has ± W.")
@click.option(
    "--question",
    metavar="SQL",
    multiple=True,
    help="A question whose ± you want; repeatable, instead of the plan's own.",
)
@json_option
def plan(path: Path, rows: int | None, half_width: str | None, question: tuple[str, ...], as_json: bool) -> None:
    """Show which way to take, what to expect of it, and what a plan will do.

    With --rows: a recommendation, and ± at 95% of each answer from a local release, a central one with and without δ,
    and from `dproof ask`, for one question and where several share ε. The answers are those to the questions given
    here or in the plan, else the count by each column and the mean of each number. Then what would make ± smaller, each
    change with the ± that it would give.

    Below that: what the plan does. With model = "local" the mechanism of each column, its part of ε, the error of a
    value and the least that any mechanism has; with model = "central" every table that is measured with ± of a count in
    it, and which columns cost most. Where noisy values choose the rows of an answer (HAVING, or ORDER BY with LIMIT), ±
    is the largest that it may be, but for quantiles, whose ± is always the mean.
    """
    chosen, solved = Plan.read(path), None
    questions = list(question) or None
    for option, given in (("--question", questions), ("--half-width", half_width)):
        if given is not None and rows is None and not (option == "--question" and chosen.model == "central"):
            raise InputError(f"{option} needs --rows: how good an answer is depends on how many rows there are")
    if half_width is not None and rows is not None:
        solved = epsilon_for(chosen, rows, half_width, questions)
        chosen = Plan.from_dict(with_epsilon(draft_and_plan(chosen)[0], solved))
    law = law_if_allowed(chosen)
    table = None if rows is None else ways_table(chosen, rows=rows, questions=questions)
    helps = what_helps(chosen, law, table)
    if isinstance(law, TableLaw):
        answer, privacy = _central(law, table, rows, questions, helps.verdict), law.person
    else:
        own = None if law is None else with_bounds(cast(RowLaw, law))
        answer, privacy = (
            _local(chosen if own is None else own.plan, own, rows, questions, helps.verdict),
            chosen.privacy,
        )
    answer |= {} if table is None else table.to_json()
    answer["hints"] = [hint.to_json() for hint in helps.hints]
    answer["solved_epsilon"] = None if solved is None else float_above(solved)
    for said in warnings_before(chosen, privacy):  # before a long page
        advise(said)
    emit(answer, as_json, lambda: _plan_page(answer, path.name))


# The page of every model ---------------------------------------------------------------------------------------------


def _plan_page(answer: dict[str, Any], name: str) -> Page:
    is_central = "tables" in answer
    yield f"\n[bold]{escape(name)}[/bold]: {_promise(answer, is_central)}"
    yield from ways_page(answer) if "ways" in answer else _advice(answer)
    yield from _tables(answer) if is_central else _columns(answer)
    if answer.get("public"):
        yield f"\nReleased as they are: {escape(not_protected(answer['public']))}."
    if answer["dropped"]:
        shown, more = answer["dropped"][:_MOST_NAMED], len(answer["dropped"]) - _MOST_NAMED
        yield f"\nLeft out: {escape(', '.join(shown))}{f' and {more} more columns' if more > 0 else ''}."
    yield ""


def _promise(answer: dict[str, Any], is_central: bool) -> str:
    """Who may lose how much."""
    rows = answer["rows_per_person"]
    of_persons = is_central or not answer["columns"]  # rows that are drawn one by one lose so much each
    several_rows = of_persons and rows > 1
    who = f"a person with up to {rows:,} rows" if several_rows else "a person" if of_persons else "one row"
    solved = ", the least ε for such answers" if answer["solved_epsilon"] else ""
    told = f"{who} may lose [bold]{promised(answer)}[/bold] ({answer['neighbours']}){solved}."
    person = answer.get("person")
    if person is not None and person["rows"] > 1:
        told += f" A person with {person['rows']} rows: {promised(person)}."
    return f"{told} {in_random_order(answer['shuffled'])}" if "shuffled" in answer else told


def _advice(answer: dict[str, Any]) -> Page:
    """What is wrong with the plan, which way to take, and what would help."""
    if answer["verdict"]:
        yield f"[yellow]Take care: {escape(answer['verdict'].rstrip('.'))}.[/yellow]"
    if "recommended" in answer:
        yield f"\n{escape(answer['recommended']['reason'])}"
    else:
        yield "\nWith --rows you see which way to take, and how well questions would be answered each way."
    if answer["hints"]:
        yield "\nWhat would help:"
        yield pairs(("•", escape(hint["text"])) for hint in answer["hints"])


def ways_page(answer: dict[str, Any]) -> Page:
    """What to decide by: the advice, ± of each answer each way, and what has to be known to read them."""
    ways, shown = answer["ways"], shown_ways(answer)
    yield from _advice(answer)
    yield ""
    rows: list[tuple[str, ...]] = []
    for one in shown.answers[:_MOST_ANSWERS]:
        rows.append((escape(one.label), *one.cells))
        rows += [("  (uneven)", *one.uneven)] if one.uneven else []
    headings = [f"± over {answer['rows']:,} rows"]
    headings += [title + ("*" if way["own"] else "") for title, way in zip(shown.titles, ways, strict=True)]
    spare = [n for n, way in enumerate(ways, 1) if way["model"] == "central" and not way["own"]]
    yield Table(headings, rows, left=(0,), spare=spare[:1])
    if len(shown.answers) > _MOST_ANSWERS:
        yield f"and {len(shown.answers) - _MOST_ANSWERS} more answers: --json has all."
    yield ""
    if shown.questions:
        yield pairs((f"{n}.", escape(sql)) for n, sql in enumerate(shown.questions, 1))
        yield ""
    yield from map(escape, shown.notes)


def _figure(value: float | None) -> str:
    return "–" if value is None else written(value)


# Rows that are sanitised one by one ----------------------------------------------------------------------------------


def _local(
    plan: Plan, law: RowLaw | None, rows: int | None, questions: list[str] | None, verdict: str | None
) -> dict[str, Any]:
    """What is told of rows: `plan` has the ε of a row, where that of the plan is of shuffled ones."""
    known = plan.shuffle.rows or rows
    return {
        **plan.privacy.to_json_above(),
        "neighbours": plan.privacy.neighbours,
        "tight": None if law is None else law.tight().to_json(),
        "person": None if law is None else law.person_to_json(),
        "rows_per_person": plan.rows_per_person,
        "order": plan.order,
        **({} if law is None or known is None else shuffled_rows(law, known)),
        "rows": rows,
        "columns": [] if law is None else _laws(law, rows),
        "public": plan.named("public"),
        "dropped": plan.left_out,
        "verdict": verdict,
        **_compared(plan, rows, questions),
        **({} if law is None or plan.spread is None else {"spread": both_spreads(law, rows)}),
    }


def _laws(law: RowLaw, rows: int | None) -> list[dict[str, Any]]:
    """The law of each column, or of columns that are joined: mechanism, share of ε, error and ±."""
    widths = {} if rows is None else row_widths(law, rows)
    readable = {} if rows is None else readable_widths(law, rows)
    spends = law.weights is not None or any(group.privacy.epsilon for group in law.groups)
    found, chosen = [], law.plan.chosen_bins
    for group, part, share in zip(law.groups, law.parts, group_shares(law), strict=True):
        known, shown = widths.get(group.name, RowWidths(None, None, None)), shown_chances(group)
        found.append(
            {
                "name": group.name,
                "columns": [column.name for column in group.columns],
                "mechanism": part.mechanism,
                "source": part.source,
                "share": float(share) if spends else None,
                **group.privacy.to_json_above(),
                "error": None if part.error is None else float(part.error),
                "lower_bound": None if part.lower_bound is None else float(part.lower_bound),
                "half_width": known.count,
                "readable_half_width": readable.get(group.name),
                "mean_half_width": known.mean,
                "missing_half_width": known.missing,
                "shown_as_missing": None if shown is None else float(1 - shown[0]),
                "conditions": group.answers_conditions,
                "chosen_bins": [list(chosen[c.name].labels) for c in group.columns if c.name in chosen] or None,
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
    found = sanitise_or_ask(plan, rows=rows, questions=questions)
    told = [comparison.to_json() for comparison in found.comparisons]
    return {"questions": told, "better": found.better, "questions_verdict": found.verdict}


def _columns(answer: dict[str, Any]) -> Page:
    """What is done to each column."""
    if not answer["columns"]:
        return
    yield "\nWhat is done to each column:\n"
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
            _widths(column),
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
        yield (
            "±: for the worst table, which for most counts is one whose rows all have the value that is counted; above "
            "it is for evenly spread values."
        )
    if "asked" in spread:
        yield from _spread(answer)
    for sharp, said in _CONDITIONS.items():
        names = [escape(column["name"]) for column in answer["columns"] if column["conditions"] is sharp]
        if names:
            yield said.format(", ".join(names))
    chosen = [f"{escape(c['name'])} {len(c['chosen_bins'][0])}" for c in answer["columns"] if c["chosen_bins"]]
    if chosen:
        yield f"{_CHOSEN}: {', '.join(chosen)}."
    coded = [c for c in answer["columns"] if c["readable_half_width"] is not None]
    if coded:
        prices = (
            f"{escape(c['name'])} ± {_figure(c['readable_half_width'])} instead of {_figure(c['half_width'])}"
            for c in coded[:_MOST_NAMED]
        )
        more = f", and {len(coded) - _MOST_NAMED} more" if len(coded) > _MOST_NAMED else ""
        yield f"{_CODED}: {', '.join(prices)}{more}."
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
        told = {
            way: f"± {_figure(entry[way])}" if entry["informative"][way] else NOTHING for way in ("split", "sample")
        }
        widths = ", ".join(f"{width} {way}" for way, width in told.items())
        yield pairs([("•", f"{escape(entry['question'])}: {escape(entry['column'])} {widths}")])


def _widths(column: dict[str, Any]) -> str:
    of = {"count": "half_width", "mean": "mean_half_width", "missing": "missing_half_width"}
    told = [f"{_figure(column[key])} {what}" for what, key in of.items() if column[key] is not None]
    return ", ".join(told) or "–"


# Tables of the whole, measured once ----------------------------------------------------------------------------------


def _central(
    law: TableLaw, table: WaysTable | None, rows: int | None, questions: list[str] | None, verdict: str | None
) -> dict[str, Any]:
    """What is told of measured tables."""
    plan, privacy, means = law.plan, law.person, {} if rows is None else means_by_tables(law, rows)
    rho = law.rho()
    shares = cost_shares(law, [[place] for place in range(len(law.axes))])
    return {
        "model": plan.model,
        **privacy.to_json_above(),
        "allowed_delta": float_above(plan.privacy.delta),
        "unused_delta": unused_delta(law),
        "neighbours": privacy.neighbours,
        "rows_per_person": plan.rows_per_person,
        "rows": rows,
        "rho": None if rho is None else float_above(rho),
        "least_rows": law.least_half_width,
        "verdict": verdict,
        "tables": [
            {
                "columns": list(one.columns),
                "sum_of": one.sum_of,
                "cells": one.cells,
                "half_width": one.half_width,
                **({"mean_half_width": means[one.name]} if one.name in means else {}),
            }
            for one in law.half_widths
        ],
        "numbers": [] if rows is None else [_of_all_rows(law, axis.name, rows) for axis in law.axes if axis.has_ladder],
        "questions": _answers(law, table, questions) if questions or plan.questions else [],
        "columns": [
            {
                "name": axis.name,
                "values": axis.size,
                "share": share,
                **({"curves": True} if axis.has_curves else {}),
            }
            for axis, share in zip(law.axes, shares, strict=True)
        ],
        "dropped": plan.left_out,
        **({"items_apart": list(apart)} if (apart := law.asked.unpaired) else {}),
        **({"weights": "by fewest values"} if law.asked.is_weighed else {}),
    }


def _of_all_rows(law: TableLaw, name: str, rows: int) -> dict[str, Any]:
    """± of quantiles and of the deviation of a number over all rows, if it is spread evenly over its range."""
    asked = {"median": "median({})", "upper_decile": "quantile({}, 0.9)", "standard_deviation": "stddev({})"}
    columns = ", ".join(f"{sql.format(quoted(name))} AS {what}" for what, sql in asked.items())
    found = expected_of_release(law, planned_question(f"SELECT {columns} FROM release", law.plan.columns), rows)
    return {"name": name, **{one.column: one.half_width for one in found}}


def _answers(law: TableLaw, table: WaysTable | None, questions: list[str] | None) -> list[dict[str, Any]]:
    """± of each column of the answers: from the release, and where questions are given from `dproof ask` as well."""

    def told(expected: ExpectedWidth) -> dict[str, Any]:
        widths: dict[str, float | None] = {"least_half_width": None, "half_width": None}
        if expected.widths is not None:
            widths = {"least_half_width": expected.widths.least, "half_width": expected.widths.greatest}
        if expected.rare is not None:
            widths["rare_half_width"] = expected.rare
        share = None if expected.share_of_rows is None else float(expected.share_of_rows)
        about = {
            "question": expected.question,
            "weight": float(expected.weight),
            "share_of_rows": share,
            "column": expected.column,
        }
        finite = {name: half if half is not None and math.isfinite(half) else None for name, half in widths.items()}
        return {
            **about,
            **finite,
            "informative": {name: expected.possible.is_narrowed_by(w) for name, w in widths.items()},
        }

    pairs_of: list[tuple[ExpectedWidth, ExpectedWidth | None]] = []
    if table is None:
        for planned in asked_questions(law.plan, questions):
            released = expected_of_release(law, planned, None)
            asking = expected_of_asking(law.plan, planned, None) if questions else [None] * len(released)
            pairs_of += zip(released, asking, strict=True)
    else:
        for row in table.answers:
            ask, own = row.widths["ask"], row.widths[table.own]
            if ask is not None:  # why a release does not tell it is told beside the ways
                pairs_of.append((own or replace(ask, widths=None, rare=None), ask if questions else None))
    answers = []
    for own, ask in pairs_of:
        answers.append(told(own))
        if ask is not None:
            answers[-1]["ask"] = {"half_width": ask.half_width, "estimated": not ask.exact}
            answers[-1]["informative"]["ask"] = ask.informative
    return answers


def _tables(answer: dict[str, Any]) -> Page:
    """What is measured, and what it costs."""
    if answer["unused_delta"]:
        yield f"\n{escape(answer['unused_delta'])}"
    yield "\nWhat is measured, once, with noise; whoever does that sees the true rows:\n"
    yield Table(["table", "cells", "±"], list(_lines(answer["tables"])), left=(0,), spare=(1,))
    yield "\n±: of a count, or a sum, of one cell, whatever the data."
    if any("curves" in column for column in answer["columns"]):
        yield "For curves: a sum at one grid point; a mean, with --rows, at all grid points at once."
    if "items_apart" in answer:
        yield f"{escape(_APART.format(', '.join(answer['items_apart'])))}."
    if "weights" in answer:
        yield f"{escape(_WEIGHED)}."
    least = math.ceil(answer["least_rows"])
    if answer["verdict"] is None and least > 1:
        yield f"In a table of fewer than {least:,} rows no count says anything."
    # Of a number by itself the bins tell already what the mean in each is.
    grouped = (table for table in answer["tables"] if table["columns"] not in ([], [table.get("sum_of")]))
    means = [table for table in grouped if table.get("mean_half_width") is not None]
    if means:
        means_told = [f"{_named(table)} ± {written(table['mean_half_width'])}" for table in means[:_MOST_MEANS]]
        means_told += [f"{len(means) - _MOST_MEANS} more with --json"] if len(means) > _MOST_MEANS else []
        yield f"Means in groups, if the rows are spread evenly: {escape('; '.join(means_told))}."
    if answer["numbers"]:
        lines = list[tuple[str, str]]()
        for number in answer["numbers"][:_MOST_LISTED]:
            widths = [(what.replace("_", " "), width) for what, width in number.items() if what != "name"]
            shown = (
                f"{what} ± {written(width)}" if width is not None else f"{what}: {NOTHING}" for what, width in widths
            )
            lines.append(("•", escape(f"{number['name']}: {', '.join(shown)}")))
        yield "Of all rows, if numbers are spread evenly over their range:"
        yield pairs(lines)
    if answer["rows"] is None:
        for asked in answer["questions"]:
            yield pairs([("•", f"{escape(asked['question'])}: {escape(asked['column'])}: {_table_width(asked)}")])
    costly = sorted(answer["columns"], key=lambda column: -column["share"])[:_MOST_COSTLY]
    shares = [
        f"{column['name']} ({column['values']:,} values) {column['share']:.0%}" for column in costly if column["share"]
    ]
    yield (
        f"Part of the cost that goes to tables with a column: {escape(', '.join(shares))}. Without the first of these "
        "the other ± are smaller; so they are, as a rule, with fewer values or bins in it."
    )


def _named(table: dict[str, Any]) -> str:
    return f"{table['sum_of']} by {' × '.join(table['columns'])}"


def _table_width(asked: dict[str, Any]) -> str:
    """± of a column of an answer over its groups, where it does not depend on the number of rows."""
    if not asked["informative"]["half_width"]:
        return NOTHING
    if asked["half_width"] is None:
        return "± depends on how many rows there are: say it with --rows"
    return f"± {_between(asked['least_half_width'], asked['half_width'])}"


def _lines(tables: Sequence[dict[str, Any]]) -> Page:
    """Rows of the page, one for each table and sum; of many, one for all with equally many columns."""
    kinds: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for table in tables:
        by = len(table["columns"]) if len(tables) > _MOST_LISTED else tuple(table["columns"])
        kinds.setdefault((table["sum_of"], by), []).append(table)
    for (summed, by), alike in kinds.items():
        name = " × ".join(by) or "all rows" if isinstance(by, tuple) else f"{len(alike):,} of {several(by, 'column')}"
        if summed is not None:
            name = f"sum of {summed}" + (f" by {name}" if by else "")
        cells, widths = [table["cells"] for table in alike], [table["half_width"] for table in alike]
        yield escape(name), _between(min(cells), max(cells)), _between(min(widths), max(widths))


def _between(low: float, high: float) -> str:
    return written(low) if low == high else f"{written(low)} to {written(high)}"
