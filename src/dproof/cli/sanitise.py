"""`dproof sanitise`: the main job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from dproof.cli.init import Data, Table
from dproof.cli.options import AsJson, option
from dproof.cli.output import Page, advise, emit, escape, having_done, several
from dproof.exact import float_above
from dproof.meaning import advice
from dproof.plans.plan import not_protected
from dproof.releases import sanitise as sanitisation
from dproof.releases.local import Progress
from dproof.releases.payment import ReleasePayment
from dproof.releases.release import Release

_WIDE = 60  # columns of a terminal from which the bar tells the rate as well


def sanitise(
    data: Data,
    plan: Annotated[Path, option("PLAN.toml", "The plan.")],
    out: Annotated[Path, option("DIR", "The folder to make; it must not be there yet.")],
    table: Table = None,
    ledger: Annotated[
        Path | None, option("FILE", "Pay for the release in this ledger first; it is begun if absent.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Sanitise a table once; then anyone may ask it anything.

    The plan's law is certified first. Then every row is drawn from it, and DIR appears with the sanitised table, the
    plan, the certificate and a page that explains it all. DIR appears whole or not at all. `dproof check` shows you
    first what the plan does not foresee in the table.

    With --ledger, the release is paid for once all that can fail without data is done. If it stops after that, the same
    command, with the same DIR, makes the release at no further cost: nothing of the first attempt was published. If it
    stops when the release is drawn and only lacks its name, the same command gives it the name and reads nothing.
    """
    payment = None if ledger is None else ReleasePayment(ledger, out)
    try:
        with _progress(as_json) as progress:
            release = sanitisation.sanitise(data, plan, out, table=table, progress=progress, payment=payment)
    except BaseException as error:
        if payment is not None and payment.outstanding:
            error.add_note("no release was made, and it is paid for: the same command makes it at no further cost")
        raise
    with having_done(f"the release is made, in {out}"):
        if payment is not None and payment.finished:
            advise("an earlier run had paid for this release and drawn it: it has its name now, and cost nothing more")
        elif payment is not None and payment.resumed:
            advise("the ledger had paid for this release, and no run had published it: it cost nothing more")
        answer = _answer(release, out)
        emit(answer, as_json, lambda: _page(answer))


def _answer(release: Release, out: Path) -> dict[str, Any]:
    about, privacy = release.certificate["release"], release.plan.privacy
    return {
        "release": str(out),
        "rows": release.rows,
        "columns": about["columns"],
        "public": about["public"],
        "epsilon": float_above(privacy.epsilon),
        "delta": float_above(privacy.delta),
        "neighbours": privacy.neighbours,
        "tight": about["tight"],
        "person": about["person"],
        "order": about["order"],
        "private": release.private,
        "seal": release.certificate["seal"],
        "advice": list(advice(privacy)),
    }


def _page(answer: dict[str, Any]) -> Page:
    where = escape(answer["release"])
    yield (
        f"\n[bold]{where}[/bold] holds {several(answer['rows'], 'sanitised row')}. "
        f"Each row is differentially private with "
        f"[bold]ε = {answer['epsilon']:.6g}, δ = {answer['delta']:.6g}[/bold] ({answer['neighbours']})"
        f"{escape('; ' * bool(answer['public']) + not_protected(answer['public']))}."
    )
    if not answer["private"]:
        yield "[bold red]NOT PRIVATE: it was drawn with seeded coins.[/bold red]"
    yield from (f"[yellow]Take care: {escape(text)}[/yellow]" for text in answer["advice"])
    yield f"\nAsk it anything, for ever:\n  dproof query {where} 'SELECT … FROM release'"
    yield f"Check it again:\n  dproof verify {where}"
    yield f"Read about it:\n  {where}/report.html\n"


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress | None]:
    """A bar with rate and time left on stderr, where that is a terminal."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    text = progress.TextColumn("{task.completed:,.0f} rows{task.fields[rate]}")
    columns = progress.BarColumn(None), text, progress.TimeRemainingColumn()
    with progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("rows", total=None, rate="")

        def advance(rows: int, total: int | None) -> None:
            bar.update(task, advance=rows, total=total)
            speed = bar.tasks[0].speed  # there is none before the second step
            if speed is not None and console.width >= _WIDE:
                bar.update(task, rate=f", {speed:,.0f} a second")

        yield advance
