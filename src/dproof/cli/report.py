"""`dproof report`: the page about a release, made again."""

from __future__ import annotations

from pathlib import Path

import click

from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import emit, having_done
from dproof.releases.load import load
from dproof.report.page import release_page
from dproof.storage import REPORT


@command
@click.argument("release", metavar="DIR", type=PATH, help="The folder of a release.")
@click.option("--out", metavar="FILE", type=PATH, help="Write the page here instead of into DIR.")
@json_option
def report(release: Path, out: Path | None, as_json: bool) -> None:
    """Write the page that explains a release.

    For non-experts: one HTML file with its charts inside, without scripts or network access. What [about] in
    the plan says stands at its top, then the answers to the plan's [[questions]]; the proof is folded below.
    """
    text = release_page(load(release))
    target = release / REPORT if out is None else out
    target.write_text(text, encoding="utf-8")
    answer = {"report": str(target), "bytes": len(text.encode())}
    with having_done(f"the page is in {target}"):
        emit(answer, as_json, lambda: [f"The page is in {target}: open it in a browser."])
