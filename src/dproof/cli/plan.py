"""`dproof plan`: what a plan will do, before any data is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, Table, advise, emit, escape, pairs
from dproof.cli.plan_tables import show_tables
from dproof.errors import InputError
from dproof.exact import float_above, written
from dproof.local.recipe import (
    RowLaw,
    certify_row,
    epsilon_for,
    half_widths,
    mean_half_widths,
    missing_half_widths,
    shown_chances,
    with_bounds,
)
from dproof.meaning import advice
from dproof.plans.plan import Plan, not_protected
from dproof.privacy import Privacy
from dproof.questions.answer import NOTHING, RARELY, rarely, stated

_SHOWN = 8  # names of columns that are left out
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
        for said in advice(show_tables(chosen, path.name, rows, list(question) or None, as_json)):
            advise(said)
        return
    if question and rows is None:
        raise InputError("--question needs --rows: how good an answer is depends on how many rows there are")
    solved = None if half_width is None else _solved(chosen, rows, half_width)
    if solved is not None:
        promise = Privacy(solved, chosen.privacy.delta, neighbours=chosen.privacy.neighbours)
        chosen = replace(chosen, privacy=promise)
    law = with_bounds(certify_row(chosen)) if chosen.has_row_law else None
    answer = {**_answer(chosen, law, rows, solved), **_advice(chosen, law, rows), **_compared(chosen, rows, question)}
    if law is not None and chosen.spread is not None:
        from dproof.advice.plan_advice import both_spreads  # which needs what estimates do

        answer["spread"] = both_spreads(law, rows)
    emit(answer, as_json, lambda: _page(answer, path.name))
    for said in advice(chosen.privacy):
        advise(said)


def _solved(plan: Plan, rows: int | None, half_width: str) -> Fraction:
    """The ε with which a count is right to ± half_width."""
    if rows is None:
        raise InputError("--half-width needs --rows: how accurate a count is depends on how many rows there are")
    if not plan.has_row_law:
        raise InputError(
            "--half-width finds the ε of a release, which needs neighbours = 'change-one'; for this plan "
            "`dproof ask --preview --accuracy` tells what an answer costs"
        )
    return epsilon_for(plan, rows, half_width)


def _answer(plan: Plan, law: RowLaw | None, rows: int | None, solved: Fraction | None) -> dict[str, Any]:
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
    }


def _laws(law: RowLaw, rows: int | None) -> list[dict[str, Any]]:
    """What is done to each column, or to columns that are joined."""
    widths = {} if rows is None else half_widths(law, rows)
    means = {} if rows is None else mean_half_widths(law, rows)
    missing = {} if rows is None else missing_half_widths(law, rows)
    hidden = {name: float(1 - shown) for name, (shown, _) in shown_chances(law).items()}
    total = sum((group.privacy.epsilon for group in law.groups), Fraction(0))
    shares = [group.privacy.epsilon / total if total else None for group in law.groups]
    shares = shares if law.weights is None else list(law.chances)  # of ε, or of the rows
    return [
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
            "half_width": widths.get(group.name),
            "mean_half_width": means.get(group.name),
            "missing_half_width": missing.get(group.name),
            "shown_as_missing": hidden.get(group.name),
            "conditions": group.answers_conditions,
        }
        for group, part, share in zip(law.groups, law.parts, shares, strict=True)
    ]


def _advice(plan: Plan, law: RowLaw | None, rows: int | None) -> dict[str, Any]:
    """Whether the answers will be of use, and what would help."""
    from dproof.advice.plan_advice import PlanAdvice, asking_advice, plan_advice

    plan_hints = asking_advice(plan) if law is None else PlanAdvice(None) if rows is None else plan_advice(law, rows)
    return {"verdict": plan_hints.verdict, "advice": [hint.to_json() for hint in plan_hints.hints]}


def _compared(plan: Plan, rows: int | None, questions: Sequence[str]) -> dict[str, Any]:
    """What the questions would give, both ways."""
    if rows is None or not (questions or plan.questions):
        keys = ("column", "release", "ask", "ask_shared", "rare", "informative", "estimated", "break_even")
        unknown = dict.fromkeys((*keys, "share_of_rows"))
        unanswered = [{"weight": float(one.weight), "question": one.sql, **unknown} for one in plan.questions]
        return {"questions": unanswered, "better": None, "questions_verdict": None}
    from dproof.advice.expect import advise as compare

    compared = compare(plan, rows=rows, questions=list(questions) or None)
    return {
        "questions": compared.to_json()["comparisons"],
        "better": compared.better,
        "questions_verdict": compared.verdict,
    }


def _page(answer: dict[str, Any], name: str) -> Page:
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
    if answer["dropped"]:
        shown, more = answer["dropped"][:_SHOWN], len(answer["dropped"]) - _SHOWN
        yield f"\nLeft out: {escape(', '.join(shown))}{f' and {more} more columns' if more > 0 else ''}."
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
    """How ε is spread over the columns, and what the other way would give."""
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
    """What each question would give, one after another: they are too long for a table."""
    several = len({asked["question"] for asked in answer["questions"]})
    if answer["questions"] and answer["rows"] is None:
        yield "\nThe plan has questions: with --rows you see how well they would be answered."
        return
    last = None
    for asked in answer["questions"]:
        if asked["question"] != last:
            yield f"\n{escape(last := asked['question'])}"
        yield pairs([("•", f"{escape(asked['column'])}: {_ways(asked, several)}")])
    if any(asked["release"] is not None for asked in answer["questions"]):
        rare = any(asked["rare"] for asked in answer["questions"])
        yield f"\n± from a release: for evenly spread values, unless the plan says more.{f' {RARELY}' if rare else ''}"
    if not all(all(asked["informative"].values()) for asked in answer["questions"]):
        yield "\nNo information: the interval holds every value that is possible."
    if answer["questions_verdict"]:
        yield f"\n{answer['questions_verdict']}"


def _ways(asked: dict[str, Any], several: int) -> str:
    """± from a release and from a curator, of one column of an answer."""
    release, ask = (asked[way] is not None or not asked["informative"][way] for way in ("release", "ask"))
    if not release and not ask:
        return "± depends on the data"
    ways = [f"{_width(asked, 'release')} from a release"] if release else []
    if not ask:
        return "; ".join([*ways, "from `dproof ask`, ± depends on the data"])
    about = "about " if asked["estimated"] else ""
    ways.append(f"{_width(asked, 'ask', about)} from `dproof ask` for all of ε")
    ways += [f"{_width(asked, 'ask_shared', about)} where {several} questions share it"] if several > 1 else []
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


def _figure(value: float | None) -> str:
    return "–" if value is None else written(value)
