"""`dproof sanitise`: from a table and a plan to a stored release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from dproof.advice.before_spending import warnings_before
from dproof.cli.budget import ledger_option, no_ledger_option, paying_ledger, telling_ways_out
from dproof.cli.command import PATH, command, data_argument, json_option, table_option
from dproof.cli.output import Page, advise, emit, escape, having_done, naming_options, promised, what_next
from dproof.errors import SourceError
from dproof.exact import several
from dproof.meaning import advice, in_random_order
from dproof.plans.plan import Plan, not_protected
from dproof.releases import sanitise as sanitisation
from dproof.releases.sanitise import ReleasePayment
from dproof.tables.source import Progress

_PAID_AND_STOPPED = "no release was made, but it is paid for: run the same command again, at no further cost"
_PAID_AND_REFUSED = (  # the same command again would end in the same way
    "no release was made, but it is paid for: mend the table or the plan, and run the same command again; only what a "
    "plan costs beyond that is paid"
)
_RATE_WIDTH = 60  # columns of a terminal from which the bar tells the rate as well


@command
@data_argument
@click.option("--plan", metavar="PLAN.toml", type=PATH, required=True, help="The plan.")
@click.option("--out", metavar="DIR", type=PATH, required=True, help="The folder to make; it must not exist yet.")
@table_option
@ledger_option
@no_ledger_option
@click.option("--anyway", is_flag=True, help="Make the release also where it is too noisy to tell anything.")
@json_option
def sanitise(
    data: Path | str,
    plan: Path,
    out: Path,
    table: str | None,
    ledger: Path | None,
    without: bool,
    anyway: bool,
    as_json: bool,
) -> None:
    """Sanitise a table once; then anyone may query it without limit.

    The plan's laws are certified first. Then a sanitised row is drawn for every row, or with model = "central" the
    plan's tables are measured with noise, and DIR is made with the sanitised table or the measured ones, the plan, the
    certificate and a page that explains them. DIR is complete or not there at all. Run
    `dproof check` before, to see which values the plan does not cover.

    The release is paid for from a ledger: DATA.ledger beside the table, unless you name another. It is begun with what
    the plan promises, so a second release of the same table is refused, unless the budget allows both. A release is
    paid for after everything that can fail without reading data. If the command stops after that, run it again with the
    same DIR: it makes the release at no further cost, because nothing of the first attempt was published. If only the
    last step was missing, giving DIR its name, it does that and reads nothing.
    """
    chosen = Plan.read(plan)
    for said in warnings_before(chosen):
        advise(f"warning: {said}")
    pays = paying_ledger(data, ledger, without)
    payment = None if pays is None else ReleasePayment(pays, out)
    try:
        with _progress(as_json) as progress, naming_options(), telling_ways_out(None if without else ledger or data):
            release = sanitisation.sanitise(
                data, chosen, out, table=table, progress=progress, payment=payment, anyway=anyway
            )
    except BaseException as error:
        if payment is not None and payment.outstanding:
            error.add_note(_PAID_AND_REFUSED if isinstance(error, SourceError) else _PAID_AND_STOPPED)
        raise
    with having_done(f"the release is made, in {out}"):
        if payment is not None and payment.finished:
            advise("an earlier run had paid for this release and drawn it: it is now published, at no further cost")
        elif payment is not None and payment.resumed:
            advise("an earlier run had paid for this release and not published it: nothing was paid twice")
        nothing = _too_noisy(release)
        answer = _release_json(release, out, nothing)
        emit(answer, as_json, lambda: _release_page(answer, nothing, None if pays is None else ledger or data))


def _too_noisy(release: Any) -> str | None:
    """That no count says anything, by the number of rows that is public or was measured: that is known afterwards."""
    if release.plan.model != "central":
        return None
    from dproof.advice.expect import too_noisy_message

    return too_noisy_message(release.law, float(release.estimates[None].table(())))


def _release_json(release: Any, out: Path, nothing: str | None) -> dict[str, Any]:
    certificate, about, privacy = release.certificate, release.certificate["release"], release.privacy
    model, care = {}, [*advice(privacy), *filter(None, [nothing])]
    if release.plan.model == "central":
        model, held = {"model": "central"}, [column["name"] for column in certificate["columns"]]
        tables = {"tables": release.law.table_count, "measurements": len(certificate["measurements"])}
        what = {"columns": held, **tables}
        promise = {"rows_per_person": certificate["rows_per_person"]}
    else:
        what = {key: about[key] for key in ("columns", "public")}
        promise = {key: about[key] for key in ("tight", "person", "order", "shuffled") if key in about}
    return {
        "release": str(out),
        **model,
        "rows": release.rows,
        **what,
        **privacy.to_json_above(),
        "neighbours": privacy.neighbours,
        **promise,
        "private": release.private,
        "seal": certificate["seal"],
        "advice": care,
    }


def _release_page(answer: dict[str, Any], nothing: str | None, account: Path | str | None) -> Page:
    """The page about a new release: its promise, whether it tells nothing, and what to do next."""
    promise = f"[bold]{promised(answer)}[/bold] ({answer['neighbours']})"
    if "measurements" in answer:
        rows = answer["rows_per_person"]
        who = "A person" if rows == 1 else f"A person with up to {rows:,} rows"
        held = f"{several(answer['tables'], 'measured table')}. {who} is protected with {promise}"
    else:
        promise += escape("; " * bool(answer["public"]) + not_protected(answer["public"]))
        held = f"{several(answer['rows'], 'sanitised row')}. Each row is differentially private with {promise}"
        person = answer.get("person")
        if person is not None and person["rows"] > 1:
            held += f". A person with {person['rows']:,} rows: {promised(person)}"
    yield f"\n[bold]{escape(answer['release'])}[/bold] holds {held}."
    if "shuffled" in answer:
        yield in_random_order(answer["shuffled"])
    if not answer["private"]:
        yield "[bold red]NOT PRIVATE: it was drawn with seeded coins.[/bold red]"
    if nothing is not None:
        yield f"[yellow]Take care: {escape(nothing)}[/yellow]"
    yield from what_next(answer["release"], account)


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress | None]:
    """A bar on stderr, where that is a terminal: what is prepared, then rows, their rate and the time left."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = progress.BarColumn(None), progress.TextColumn("{task.description}"), progress.TimeRemainingColumn()
    with progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("certifying, drawing charts", total=None)

        def advance(rows: int, total: int | None) -> None:
            if not rows:  # all are read, and nobody knows how long it takes
                bar.update(task, visible=False)
                bar.add_task("making synthetic rows", total=None)
                return
            bar.update(task, advance=rows, total=total)
            speed = bar.tasks[0].speed  # there is none before the second step
            rate = "" if speed is None or console.width < _RATE_WIDTH else f", {speed:,.0f} a second"
            bar.update(task, description=f"{bar.tasks[0].completed:,.0f} rows{rate}")

        yield advance
