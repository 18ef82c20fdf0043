"""`dproof collect` makes a page that asks and sanitises before anything is sent, `dproof tickets` lets each respondent
answer it once, and `dproof adopt` makes a release of it all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, advise, emit, emit_text, escape, promised, quoted_path, what_next
from dproof.exact import several
from dproof.limits import MOST_ANSWERS
from dproof.meaning import in_random_order

_CLEAR = re.compile(r"http://(?!(localhost|127\.0\.0\.1)([:/]|$))")  # to another machine


@command
@click.argument("plan", metavar="PLAN.toml", type=PATH, help="The plan.")
@click.option("--out", metavar="DIR", type=PATH, required=True, help="The folder to make; it must not exist yet.")
@click.option("--send", metavar="URL", help="The address that answers are sent to; else respondents save a file.")
@click.option("--texts", metavar="TEXTS.toml", type=PATH, help="The page's texts in another language.")
@click.option("--paper", is_flag=True, help="A sheet to print, with tables of dice instead of a page that draws.")
@click.option("--cards", is_flag=True, help="A sheet to print, with tables of playing cards.")
@json_option
def collect(
    plan: Path, out: Path, send: str | None, texts: Path | None, paper: bool, cards: bool, as_json: bool
) -> None:
    """Make a survey page that sanitises answers on the respondent's device.

    DIR gets survey.html, the plan and the certificate. The page is one file that loads nothing: it asks the plan's
    columns by their `question` and `help`, draws from the very laws of the certificate, in whole numbers and with the
    browser's secure random source, shows what would be sent and what that means, and sends one line of JSON. The true
    answer never leaves the device. A second try in the same browser sends the same line.

    With --paper it is a sheet for interviewers: a throw of dice says whether to write down the truth or which answer
    instead, and with --cards cards that are drawn and put back. The laws are the nearest that dice or cards draw and
    keep the promise, and the certificate has those.

    `dproof verify DIR` checks page, laws and certificate together, and `dproof adopt` makes a release of the lines.
    """
    from dproof.advice.before_spending import warnings_before
    from dproof.local.release import shuffled_rows
    from dproof.survey.page import collect as make

    for said in warnings_before(plan):
        advise(f"warning: {said}")
    if send is not None and _CLEAR.match(send):
        advise(
            "warning: answers sent to http:// can be read on their way, and a page under https sends none: take https"
        )
    survey = make(plan, out, send=send, texts=texts, paper="cards" if cards else paper)
    privacy, least = survey.law.person, survey.law.plan.shuffle.rows
    answer = {
        "survey": str(out),
        "key": survey.key,
        "questions": sum(column.private for column in survey.law.plan.columns),
        "asked": "one thing" if survey.law.weights is not None else "everything",
        "send": send,
        "paper": survey.paper or False,
        "least": least,
        **({} if least is None else shuffled_rows(survey.law, least)),
        **privacy.to_json_above(),
    }
    emit(answer, as_json, lambda: _survey_page(answer))


def _survey_page(answer: dict[str, Any]) -> Page:
    where, quoted = escape(answer["survey"]), escape(quoted_path(answer["survey"]))
    drawn = "; each respondent is asked one thing, drawn at random" if answer["asked"] == "one thing" else ""
    yield f"\n[bold]{where}/survey.html[/bold] asks {several(answer['questions'], 'question')}{drawn}."
    leaves = "written down" if answer["paper"] else "sent"
    yield f"Each respondent is protected with [bold]{promised(answer)}[/bold] before anything is {leaves}."
    if answer["least"] is not None:
        yield f"They are published once there are {answer['least']:,}. {in_random_order(answer['shuffled'])}"
    if answer["paper"]:
        yield "Print it, and write each answer as a line of JSON: docs/tutorials/collect.md shows it."
    elif answer["send"] is None:
        yield "Respondents save a line of JSON as a file; with --send URL the page sends it."
    else:
        yield f"Answers are sent to {escape(answer['send'])}, one line of JSON each."
    yield f"\nVerify page, laws and certificate:\n  dproof verify {quoted}"
    yield f"Make a release of the lines that came in:\n  dproof adopt ANSWERS.jsonl --plan {quoted} --out release\n"


@command
@click.argument("survey", metavar="SURVEY", type=PATH, help="The folder of the survey.")
@click.argument("store", metavar="STORE.db", type=PATH, help="The file that the server keeps answers in.")
@click.option("--count", metavar="N", type=click.IntRange(1, MOST_ANSWERS), required=True, help="How many.")
@json_option
def tickets(survey: Path, store: Path, count: int, as_json: bool) -> None:
    """Make tickets, each good for one answer to a survey.

    The plan has tickets = true at its top: then an answer counts only with a ticket. They are printed once, a line
    each, and may stand behind a # in the address of the page; STORE.db gets their hashes. In the folder of a server
    that is answers/NAME.db. For files of lines it has any name, and is given to `dproof adopt` beside them.

    Hand them out so that nobody notes who has which. STORE.db says which were used, and not with which answer; but
    whoever sees answers come in, or compares copies of the file, can tell.
    """
    from dproof.releases.adopt import Inbox

    made = Inbox(survey, store, tickets=True).issue(count)
    if as_json:
        emit({"survey": str(survey), "store": str(store), "tickets": made}, as_json, lambda: ())
    else:
        emit_text("".join(f"{ticket}\n" for ticket in made))


@command
@click.argument("answers", metavar="ANSWERS...", type=PATH, nargs=-1, required=True, help="Files of lines of JSON.")
@click.option(
    "--plan", metavar="PLAN.toml-or-DIR", type=PATH, required=True, help="The folder of the survey, or a plan."
)
@click.option("--out", metavar="DIR", type=PATH, required=True, help="The folder to make; it must not exist yet.")
@json_option
def adopt(answers: tuple[Path, ...], plan: Path, out: Path, as_json: bool) -> None:
    """Make a release of answers that were sanitised elsewhere.

    They come from the page of `dproof collect`, from an app of one's own, or from dice or cards on paper: a line of
    JSON each, as docs/tutorials/collect.md shows. DIR gets what `dproof sanitise` makes: the table, the plan, the
    certificate, which says that dproof did not see the coins, and a page about them. Then `dproof query` and `dproof
    verify` work as on every release.

    Lines that no law can give are counted and left out. Lines with the same id count once. Where the plan has tickets,
    a ticket counts once, lines without one are left out, and ANSWERS need the file of `dproof tickets`. Answers to
    another plan, or under other laws, are refused, and nothing is written then.
    """
    from dproof.releases.adopt import adopt as make

    release = make(answers, plan, out)
    recorded, privacy = release.certificate["release"], release.privacy
    adopted = recorded["adopted"]
    answer = {
        "release": str(out),
        "rows": release.rows,
        "repeated": adopted["repeated"],
        "left_out": adopted["left_out"],
        "coins": adopted["coins"],
        "tickets": release.plan.tickets,
        **({"shuffled": recorded["shuffled"]} if "shuffled" in recorded else {}),
        **privacy.to_json_above(),
        "private": release.private,
        "seal": release.certificate["seal"],
    }
    emit(answer, as_json, lambda: _adopted_page(answer))


def _adopted_page(answer: dict[str, Any]) -> Page:
    held = f"{several(answer['rows'], 'answer')}, each drawn with [bold]{promised(answer)}[/bold]"
    yield f"\n[bold]{escape(answer['release'])}[/bold] holds {held}."
    if "shuffled" in answer:
        yield in_random_order(answer["shuffled"])
    yield f"The coins were {escape(answer['coins'])}."
    if answer["left_out"] or answer["repeated"]:
        needed, own = (" or without a ticket", "or ticket ") if answer["tickets"] else ("", "")
        left = several(answer["left_out"], "line"), several(answer["repeated"], "line")
        yield f"Not counted: {left[0]} that no law can give{needed}, {left[1]} with the id {own}of another."
    if not answer["private"]:
        yield "[bold red]NOT PRIVATE: it was shuffled with seeded coins.[/bold red]"
    yield from what_next(answer["release"])
