"""`dproof sanitise`: the main job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from dproof.cli.init import Data, Table
from dproof.cli.options import AsJson, option
from dproof.cli.output import Page, emit, escape, several
from dproof.engines import Source, open_source
from dproof.exact import float_above
from dproof.sanitisation import sanitise as sanitisation
from dproof.sanitisation.folder import check_absent
from dproof.sanitisation.plan import Plan
from dproof.sanitisation.release import Release
from dproof.sanitisation.row_law import certify_row

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
    plan, the certificate and a page that explains it all. DIR appears whole or not at all.
    """
    law = certify_row(Plan.read(plan))  # refuses here, before the data is touched
    check_absent(out)
    source = open_source(data, table)
    law.plan.check_names(source.names)
    if ledger is not None:
        from dproof.curation.account import Unit
        from dproof.curation.ledger import record_release

        # Before the rows are read: what comes after may stop half-way, and what was spent stays spent. A ledger
        # counts what a person loses, as a curator does, and a person may own several rows.
        unit = Unit.of(law.plan)
        record_release(ledger, law.person, f"release {out.name}", budget=law.person, unit=unit)
    with _progress(source, as_json) as progress:
        release = sanitisation.sanitise(source, law.plan, out, progress=progress)
    answer = _answer(release, out)
    emit(answer, as_json, lambda: _page(answer))


def _answer(release: Release, out: Path) -> dict[str, Any]:
    about, privacy = release.certificate["release"], release.plan.privacy
    return {
        "release": str(out),
        "rows": release.rows,
        "columns": about["columns"],
        "epsilon": float_above(privacy.epsilon),
        "delta": float_above(privacy.delta),
        "neighbours": privacy.neighbours,
        "tight": about["tight"],
        "person": about["person"],
        "order": about["order"],
        "private": release.private,
        "seal": release.certificate["seal"],
    }


def _page(answer: dict[str, Any]) -> Page:
    where = escape(answer["release"])
    yield (
        f"\n[bold]{where}[/bold] holds {several(answer['rows'], 'sanitised row')}. "
        f"Each row is differentially private with "
        f"[bold]ε = {answer['epsilon']:.6g}, δ = {answer['delta']:.6g}[/bold] ({answer['neighbours']})."
    )
    if not answer["private"]:
        yield "[bold red]NOT PRIVATE: it was drawn with seeded coins.[/bold red]"
    yield f"\nAsk it anything, for ever:\n  dproof query {where} 'SELECT … FROM release'"
    yield f"Check it again:\n  dproof verify {where}"
    yield f"Read about it:\n  {where}/report.html\n"


@contextmanager
def _progress(source: Source, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """A bar with rate and time left on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    text = TextColumn("{task.completed:,.0f} rows{task.fields[rate]}")
    with Progress(BarColumn(None), text, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("rows", total=source.rows, rate="")

        def advance(rows: int) -> None:
            bar.advance(task, rows)
            speed = bar.tasks[0].speed  # there is none before the second step
            if speed is not None and console.width >= _WIDE:
                bar.update(task, rate=f", {speed:,.0f} a second")

        yield advance
