"""`dproof adopt`: from answers that were sanitised elsewhere to a stored release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, emit, escape, quoted_path
from dproof.exact import float_above, several
from dproof.releases.adopt import adopt as make


@command
@click.argument("answers", metavar="ANSWERS...", type=PATH, nargs=-1, required=True, help="Files of lines of JSON.")
@click.option(
    "--plan", metavar="PLAN.toml-or-DIR", type=PATH, required=True, help="The folder of the survey, or a plan."
)
@click.option("--out", metavar="DIR", type=PATH, required=True, help="The folder to make; it must not exist yet.")
@json_option
def adopt(answers: tuple[Path, ...], plan: Path, out: Path, as_json: bool) -> None:
    """Make a release of answers that were sanitised elsewhere.

    They come from the page of `dproof collect`, from an app of one's own, or from dice on paper: a line of JSON each,
    as docs/tutorials/collect.md shows. DIR gets what `dproof sanitise` makes: the table, the plan, the certificate,
    which says that dproof did not see the coins, and a page about them. Then `dproof query` and `dproof verify` work as
    on every release.

    Lines that no law can give are counted and left out. Lines with the same id count once. Answers to another plan, or
    under other laws, are refused, and nothing is written then.
    """
    release = make(answers, plan, out)
    adopted, privacy = release.certificate["release"]["adopted"], release.privacy
    answer = {
        "release": str(out),
        "rows": release.rows,
        "repeated": adopted["repeated"],
        "left_out": adopted["left_out"],
        "coins": adopted["coins"],
        "epsilon": float_above(privacy.epsilon),
        "delta": float_above(privacy.delta),
        "private": release.private,
        "seal": release.certificate["seal"],
    }
    emit(answer, as_json, lambda: _page(answer))


def _page(answer: dict[str, Any]) -> Page:
    where, quoted = escape(answer["release"]), escape(quoted_path(answer["release"]))
    promise = f"ε = {answer['epsilon']:.6g}, δ = {answer['delta']:.6g}"
    yield f"\n[bold]{where}[/bold] holds {several(answer['rows'], 'answer')}, each drawn with [bold]{promise}[/bold]."
    yield f"The coins were {escape(answer['coins'])}."
    if answer["left_out"] or answer["repeated"]:
        left = several(answer["left_out"], "line"), several(answer["repeated"], "line")
        yield f"Not counted: {left[0]} that no law can give, {left[1]} with the id of another."
    if not answer["private"]:
        yield "[bold red]NOT PRIVATE: it was shuffled with seeded coins.[/bold red]"
    yield f"\nQuery it, without limit:\n  dproof query {quoted} 'SELECT … FROM release'"
    yield f"Verify it:\n  dproof verify {quoted}"
    yield f"Read what was done:\n  {where}/report.html\n"
