"""`dproof explain`: what a guarantee means for one person."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import click

from dproof import meaning
from dproof.cli.budget import ledger_of
from dproof.cli.command import PATH, command, delta_option, json_option, neighbours_option
from dproof.cli.output import Page, Table, emit, escape, pairs
from dproof.curator.ledger import Ledger
from dproof.errors import ArgumentError, FileError
from dproof.plans.plan import Plan
from dproof.privacy import Privacy
from dproof.storage import CERTIFICATE, SURVEY
from dproof.tables.database import is_sqlite


@command
@click.argument(
    "path",
    metavar="[FILE]",
    type=PATH,
    required=False,
    help="A release, a survey, a plan, a certificate, a ledger, or a table that has one.",
)
@click.option("--epsilon", metavar="E", help="Instead of FILE: ε of the guarantee, a decimal or a fraction.")
@delta_option
@neighbours_option
@click.option(
    "--stake", metavar="B", default="10000", help="The difference between your best and worst outcome, in euros say."
)
@json_option
def explain(path: Path | None, epsilon: str | None, delta: str, neighbours: str, stake: str, as_json: bool) -> None:
    """Say what a guarantee means for one person.

    Beliefs, chances and money: how far anything that anyone learns from the output can depend on one row. The guarantee
    is that of a release, a survey, a plan, a certificate or a ledger's whole budget, or one that you state with
    --epsilon.
    """
    if (path is None) == (epsilon is None):
        raise ArgumentError("name a release, a plan, a certificate or a ledger, or state a guarantee with --epsilon")
    if path is None:
        privacy = Privacy(epsilon, delta, neighbours=neighbours)  # type: ignore[arg-type]  # checked by Privacy
        told = _Promised(privacy, 1, {})
    elif (delta, neighbours) != ("0", "change-one"):
        raise ArgumentError("--delta and --neighbours go with --epsilon: a file says its own")
    else:
        told = _promised(path)
    answer = {**told.about, **meaning.explain(told.privacy, stake=stake, rows_per_person=told.rows)}
    emit(answer, as_json, lambda: _explain_page(answer, told.relation))


class _Promised(NamedTuple):
    """What is promised to a person, with how many rows, and by what; whether the number of all rows is public."""

    privacy: Privacy
    rows: int
    about: dict[str, Any]
    rows_are_public: bool = True

    @property
    def relation(self) -> str:
        """Which two tables are neighbours."""
        own, them = ("row", "it") if self.rows == 1 else (f"rows, {self.rows:,} at most", "them")
        if self.privacy.neighbours == "add-remove":
            return f"a table with one person's {own}, and the same table without {them}"
        if self.rows_are_public:
            return f"two tables of the same, public size that differ in one person's {own}"
        return f"two tables that differ in one person's {own}, which may be others, fewer or none"


def _promised(path: Path) -> _Promised:
    if (path / CERTIFICATE).is_file():
        from dproof.releases.load import load, opened

        if (path / SURVEY).is_file():
            return _Promised(opened(path).law.person, 1, {"survey": str(path)})
        release = load(path)
        recorded = {key: one for key, one in release.certificate["release"].items() if key == "shuffled"}
        about = {"release": str(path), **recorded}
        return _Promised(release.law.person, release.plan.rows_per_person, about, release.rows is not None)
    if path.suffix.lower() == ".toml":
        return _planned(path)
    if path.suffix.lower() == ".json" and path.is_file():
        return _certified(path)
    ledger = ledger_of(path)
    if not Ledger.is_begun(ledger) or (ledger == path and not is_sqlite(path)):
        number = "; a number goes with --epsilon" if re.fullmatch(r"[\d./e-]+", str(path)) else ""
        raise FileError(
            f"{str(path)!r} is no release, plan, certificate or ledger, and no ledger lies beside it{number}"
        )
    account = Ledger(ledger)
    spent = account.spent().to_json_above()
    unit = account.unit
    return _Promised(
        account.budget, unit.rows_per_person, {"ledger": str(ledger), "spent": spent}, unit.rows_are_public
    )


def _planned(path: Path) -> _Promised:
    """What a release by a plan would promise, or all that is asked under it where there can be no release."""
    plan = Plan.read(path)
    rows, person, about = plan.rows_per_person, plan.promise(plan.rows_per_person), {"plan": str(path)}
    if plan.shuffle.rows is None:
        kind = "plan" if plan.has_row_law or plan.model == "central" else "questions"
        return _Promised(person, rows, {kind: str(path)}, plan.has_row_law or plan.rows_are_public)
    from dproof.local.recipe import certify_row
    from dproof.local.release import shuffled_rows

    law = certify_row(plan)
    return _Promised(law.person, rows, {**about, **shuffled_rows(law, plan.shuffle.rows)})


def _certified(path: Path) -> _Promised:
    """What a certificate says, which somebody else may have made, once it is checked again."""
    from dproof.certification.certify import read_certificate
    from dproof.releases.verify import verify

    verify(path)
    certificate = read_certificate(path)
    if any("distances" in part or "neighbours" in part["law"] for part in certificate.get("laws", ())):
        raise FileError(
            f"{str(path)!r} does not promise the same for all values: `dproof verify` says what it promises"
        )
    privacy = Privacy(certificate["epsilon"], certificate["delta"], neighbours=certificate["neighbours"])
    release, about = certificate.get("release", {}), {"certificate": str(path)}
    if "measurements" in certificate:
        return _Promised(privacy, certificate["rows_per_person"], about, release["rows"] is not None)
    rows = release.get("person", {}).get("rows", 1)  # drawn one by one, so that what they lose adds up
    person = Privacy(rows * privacy.epsilon, min(1, rows * privacy.delta), neighbours=privacy.neighbours)
    return _Promised(person, rows, about)


_SUBJECTS = {
    "release": "{} is a release with",
    "survey": "Each answer to the survey {} has",
    "certificate": "What was drawn by the laws that {} certifies has",
    "plan": "A release by {} would have",
    "questions": "All that is asked under {} has together",
    "ledger": "All that is paid from {} has together",
}


def _explain_page(answer: dict[str, Any], relation: str) -> Page:
    for kind, subject in _SUBJECTS.items():
        if kind in answer:
            yield f"\n{escape(subject.format(answer[kind]))} this guarantee:"
    if "shuffled" in answer:
        yield meaning.in_random_order(answer["shuffled"]) + " Whatever happens to that order, each row has:"
    if "spent" in answer:
        yield f"Of ε, {meaning.figure(answer['spent']['epsilon'])} is spent so far."
    epsilon, delta = meaning.figure(answer["epsilon"]), meaning.figure(answer["delta"])
    yield f"\n[bold]ε = {epsilon}, δ = {delta}, {answer['neighbours']}[/bold]: neighbours are {relation}.\n"
    yield "Whoever sees the output, whatever else they know, now or later:\n"
    yield pairs(row for section in meaning.sections(answer) for row in (_shown(section), ()))


def _shown(section: meaning.Section) -> tuple[str, Any]:
    from rich.console import Group

    style = "bold" if section.heading != "Take care" else "bold yellow"
    body = Group(f"{section.text}\n", Table(section.head, section.rows)) if section.rows else section.text
    return f"[{style}]{section.heading}[/{style}]", body
