"""`dproof verify` and `dproof report`: whether a release or a certificate still holds, and the page about a release."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from dproof.certification.certify import read_certificate
from dproof.certification.verify_central import FORMAT as CENTRAL
from dproof.certification.verify_certificate import of_a_row
from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, emit, escape, having_done, promised
from dproof.errors import VerificationFailed
from dproof.exact import float_above, several
from dproof.meaning import in_random_order
from dproof.plans.plan import not_protected
from dproof.releases.verify import verify as check
from dproof.storage import REPORT, SURVEY


@command
@click.argument("path", metavar="DIR-or-CERTIFICATE", type=PATH, help="A release, a survey, or a certificate.")
@json_option
def verify(path: Path, as_json: bool) -> None:
    """Verify a release or a survey with its files, or a certificate.

    The exit code is 0 if everything holds, and 1 if something does not or if seeded coins were used.
    """
    try:
        release = check(path)
        certificate = read_certificate(path) if release is None else release.certificate
        if not certificate["private"]:
            raise VerificationFailed("it was drawn with seeded coins, so it is not private")
    except VerificationFailed as failure:
        answer: dict[str, Any] = {"holds": False, "why": str(failure)}
    else:
        central = certificate.get("format") == CENTRAL
        answer = {
            "holds": True,
            "epsilon": float_above(Fraction(certificate["epsilon"])),
            "delta": float_above(Fraction(certificate["delta"])),
            "neighbours": certificate["neighbours"],
            **(_measurements(certificate) if central else _laws(certificate)),
            **({"tables": release.law.table_count} if central and release is not None else {}),
            "release": certificate["release"],
            "unchecked": [] if release is None else list(release.unchecked),
        }
    emit(answer, as_json, lambda: _verified_page(answer, path))
    if not answer["holds"]:
        raise click.exceptions.Exit(1)


_PAIRS = {"all": "", "listed": ", for the listed pairs of inputs", "one row": ", for tables that differ in one row"}


def _laws(certificate: Mapping[str, Any]) -> dict[str, Any]:
    laws = certificate["laws"]
    listed = any("neighbours" in of_a_row(part["law"]) for part in laws)
    one_row = any(part["law"]["kind"] == "product" for part in laws)
    return {
        "laws": len(laws),
        "pairs": "listed" if listed else "one row" if one_row else "all",
        "public": (certificate["release"] or {}).get("public", []),
        "metric_privacy": any("distances" in part for part in laws),
    }


def _measurements(certificate: Mapping[str, Any]) -> dict[str, Any]:
    rho = None if certificate["rho"] is None else float_above(Fraction(certificate["rho"]))
    return {"model": "central", "measurements": len(certificate["measurements"]), "rho": rho}


def _verified_page(answer: dict[str, Any], path: Path) -> Page:
    name = f"[bold]{escape(path)}[/bold]"
    if not answer["holds"]:
        yield f"{name} [bold red]does not hold[/bold red]: {escape(answer['why'])}."
        return
    promise = f"{promised(answer)}, {answer['neighbours']}"
    if "measurements" in answer:
        tables, noises = answer.get("tables"), several(answer["measurements"], "measurement")
        checked = f"the noise of {noises if tables is None else several(tables, 'table')} together"
    else:
        is_survey = SURVEY in (answer["release"] or {}).get("files", ())
        promise += f", {several(answer['release']['rows'], 'row')}" if answer["release"] and not is_survey else ""
        promise += _PAIRS[answer["pairs"]]
        promise += ", ε times the distance of two inputs" if answer["metric_privacy"] else ""
        promise += escape("; " * bool(answer["public"]) + not_protected(answer["public"]))
        checked = several(answer["laws"], "law")
        checked += ", one for each column or group of joined columns" if answer["release"] else ""
        checked += "; the page of the survey asks and draws by these, and is as it was made" if is_survey else ""
    yield f"{name} [bold green]holds[/bold green]: {promise}."
    if "shuffled" in (answer["release"] or {}):
        yield in_random_order(answer["release"]["shuffled"])
    adopted = (answer["release"] or {}).get("adopted")
    if adopted is not None:
        yield f"Its coins were {escape(adopted['coins'])}."
    yield f"Checked in exact arithmetic: {checked}."
    if answer["unchecked"]:
        yield f"Not checked: {escape(', '.join(answer['unchecked']))}."


@command
@click.argument("release", metavar="DIR", type=PATH, help="The folder of a release.")
@click.option("--out", metavar="FILE", type=PATH, help="Write the page here instead of into DIR.")
@json_option
def report(release: Path, out: Path | None, as_json: bool) -> None:
    """Write the page that explains a release.

    For non-experts: one HTML file with its charts inside, without scripts or network access. What [about] in
    the plan says stands at its top, then the answers to the plan's [[questions]]; the proof is folded below.
    """
    from dproof.releases.load import load  # `dproof verify` makes no page
    from dproof.report.page import release_page

    text = release_page(load(release))
    target = release / REPORT if out is None else out
    target.write_text(text, encoding="utf-8")
    answer = {"report": str(target), "bytes": len(text.encode())}
    with having_done(f"the page is in {target}"):
        emit(answer, as_json, lambda: [f"The page is in {target}: open it in a browser."])
