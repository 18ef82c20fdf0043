"""`dproof collect`: from a plan to a page that asks, and sanitises before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, emit, escape, quoted_path
from dproof.exact import float_above, several
from dproof.survey.page import collect as make


@command
@click.argument("plan", metavar="PLAN.toml", type=PATH, help="The plan.")
@click.option("--out", metavar="DIR", type=PATH, required=True, help="The folder to make; it must not exist yet.")
@click.option("--send", metavar="URL", help="The address that answers are sent to; else respondents save a file.")
@click.option("--texts", metavar="TEXTS.toml", type=PATH, help="The page's texts in another language.")
@click.option("--paper", is_flag=True, help="A sheet to print, with tables of dice instead of a page that draws.")
@json_option
def collect(plan: Path, out: Path, send: str | None, texts: Path | None, paper: bool, as_json: bool) -> None:
    """Make a survey page that sanitises answers on the respondent's device.

    DIR gets survey.html, the plan and the certificate. The page is one file that loads nothing: it asks the plan's
    columns by their `question` and `help`, draws from the very laws of the certificate, in whole numbers and with the
    browser's secure random source, shows what would be sent and what that means, and sends one line of JSON. The true
    answer never leaves the device. A second try in the same browser sends the same line.

    With --paper it is a sheet for interviewers: a throw of dice says whether to write down the truth or which answer
    instead. The laws are the nearest that dice draw and keep the promise, and the certificate has those.

    `dproof verify DIR` checks page, laws and certificate together, and `dproof adopt` makes a release of the lines.
    """
    survey = make(plan, out, send=send, texts=texts, paper=paper)
    privacy = survey.law.person
    answer = {
        "survey": str(out),
        "key": survey.key,
        "questions": sum(column.private for column in survey.law.plan.columns),
        "asked": "one thing" if survey.law.weights is not None else "everything",
        "send": send,
        "paper": paper,
        "epsilon": float_above(privacy.epsilon),
        "delta": float_above(privacy.delta),
    }
    emit(answer, as_json, lambda: _page(answer))


def _page(answer: dict[str, Any]) -> Page:
    where, quoted = escape(answer["survey"]), escape(quoted_path(answer["survey"]))
    drawn = "; each respondent is asked one thing, drawn at random" if answer["asked"] == "one thing" else ""
    yield f"\n[bold]{where}/survey.html[/bold] asks {several(answer['questions'], 'question')}{drawn}."
    promise = f"ε = {answer['epsilon']:.6g}, δ = {answer['delta']:.6g}"
    leaves = "written down" if answer["paper"] else "sent"
    yield f"Each respondent is protected with [bold]{promise}[/bold] before anything is {leaves}."
    if answer["paper"]:
        yield "Print it, and write each answer as a line of JSON: docs/tutorials/collect.md shows it."
    elif answer["send"] is None:
        yield "Respondents save a line of JSON as a file; with --send URL the page sends it."
    else:
        yield f"Answers are sent to {escape(answer['send'])}, one line of JSON each."
    yield f"\nVerify page, laws and certificate:\n  dproof verify {quoted}"
    yield f"Make a release of the lines that came in:\n  dproof adopt ANSWERS.jsonl --plan {quoted} --out release\n"
