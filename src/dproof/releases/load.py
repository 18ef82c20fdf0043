"""Opening a stored release: its plan, its certificate, and the law of a row that the certificate holds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dproof.arguments import as_path
from dproof.certification.certificate import Part
from dproof.certification.verify_certificate import LARGEST_FILE, Refused
from dproof.certification.verify_certificate import read as read_strictly
from dproof.curves.noise import recorded_curve_law
from dproof.errors import InputError, VerificationFailed
from dproof.laws.law import Law, law_from_json, read_number
from dproof.mechanisms.mechanism import Mechanism, Optimum
from dproof.plans.plan import Plan, Wanted
from dproof.plans.row_law import Group, RowLaw, promises, stored_alike
from dproof.plans.spread import things
from dproof.privacy import Privacy
from dproof.releases.folder import is_unfinished
from dproof.releases.release import CERTIFICATE, PLAN, Release
from dproof.releases.remote import fetch, is_remote


def load(path: str | os.PathLike[str]) -> Release:
    """Open a stored release, by its path or URI; `verify` checks it as well."""
    if is_remote(path):
        with TemporaryDirectory() as here:
            fetch(path, Path(here), (CERTIFICATE, PLAN))
            if Plan.read(Path(here) / PLAN).model == "central":
                raise InputError("a release of tables is opened from a disk: copy its folder to one")
            return replace(load(here), folder=path)
    folder = as_path(path, "path")
    if not (folder / CERTIFICATE).is_file() or is_unfinished(folder):
        raise InputError(f"{str(folder)!r} is not a release: a release is a folder that `dproof sanitise` made")
    return opened(folder)


def opened(folder: Path) -> Release:
    """The release in a folder, whatever its name is."""
    plan = Plan.read(folder / PLAN)
    certificate = read_certificate(folder / CERTIFICATE)
    if not isinstance(certificate.get("release"), dict):
        raise VerificationFailed("the certificate is not one of a release")
    if plan.model == "central":
        from dproof.releases.central import opened_tables  # a release of rows needs none of it

        return opened_tables(folder, plan, certificate)
    return Release(recorded_row_law(plan, certificate), certificate, folder)


def read_certificate(file: Path) -> dict[str, Any]:
    """The JSON object in a certificate's file; nothing about it is checked yet."""
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise VerificationFailed("the certificate is too large to be one")
        certificate = read_strictly(file.read_text("utf-8"))
    except Refused as refused:
        raise VerificationFailed(str(refused)) from None
    except (OSError, ValueError, RecursionError):
        raise VerificationFailed("the certificate is damaged: it cannot be read to its end") from None
    if not isinstance(certificate, dict):
        raise VerificationFailed("the certificate is damaged: it is no JSON object")
    return certificate


def recorded_row_law(plan: Plan, certificate: Mapping[str, Any]) -> RowLaw:
    """The law of the rows of a release, from its plan and certificate; refused where they do not fit each other."""
    try:
        return _read(plan, certificate)
    except InputError as error:  # it quotes nothing but the plan and the certificate
        raise VerificationFailed(f"the certificate cannot be read: {error}") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise VerificationFailed(f"the certificate cannot be read ({type(error).__name__})") from None


def _outputs(space: Any, family: Law, lattice: Mapping[str, str] | None) -> Any:
    """Where a law ends up: anywhere on the lattice under noise that nothing bounds, else where it is recorded."""
    if family.outputs is None:
        return space.line
    return (
        family.released_in(space)
        if lattice is None
        else space.between(lattice["low"], lattice["high"], lattice["step"])
    )


def _part(record: Mapping[str, Any]) -> Part:
    for key in ("error", "lower_bound"):
        if record[key] is not None:
            read_number(record, key, (0, 1 << (1 << 15)))
    return Part.from_json(record)


def _spread(plan: Plan, sample: Any) -> tuple[Sequence[Wanted], Sequence[Privacy | None], tuple[int, ...] | None]:
    """The groups of a release, what each must promise, and the weights where a row answers for one of them.

    Optimal shares are taken as recorded: `verify` checks that they add up to no more than the promise.
    """
    if (sample is None and plan.spread == "sample") or (sample is not None and plan.spread in (None, "split")):
        raise VerificationFailed("the plan and the certificate disagree on `spread`")
    if sample is None:
        shares = promises(plan)
        return plan.groups, shares if plan.spread is None else [None] * len(shares), None
    asked = things(plan)
    if [entry["columns"] for entry in sample] != [[column.name for column in thing.columns] for thing in asked]:
        raise VerificationFailed("the certificate says that rows were asked something else than the plan")
    return asked, [plan.privacy] * len(asked), tuple(entry["weight"] for entry in sample)


def _read(plan: Plan, certificate: Mapping[str, Any]) -> RowLaw:
    promise = plan.privacy
    if (str(promise.epsilon), str(promise.delta)) != (certificate["epsilon"], certificate["delta"]):
        raise VerificationFailed("the certificate promises something else than the plan")
    records = certificate["laws"]
    wanted, given, weights = _spread(plan, certificate.get("sample"))
    if [want.name for want in wanted] != [record["name"] for record in records]:
        raise VerificationFailed("the certificate has laws for other columns than the plan")
    if promise.neighbours != certificate["neighbours"]:
        raise VerificationFailed("the certificate names other neighbours than the plan")
    groups = []
    for want, share, part in zip(wanted, given, map(_part, records), strict=True):
        if share is not None and part.privacy != share:
            raise VerificationFailed(f"the law of {want.name!r} has another share of the promise than in the plan")
        space = want.space  # one object: joined columns are a space that equals itself alone
        if space.holds_curves:
            mechanism: Mechanism = recorded_curve_law(space, part.law)
        else:
            family = law_from_json(part.law)
            outputs = _outputs(space, family, certificate["release"]["lattices"].get(want.name))
            sizes = space.size, None if family.outputs is None else outputs.size
            absent = {outputs.absent, outputs.absent if family.outputs is None else None}
            if (family.inputs, family.outputs) != sizes or family.absent not in absent:
                raise VerificationFailed(f"the law of {want.name!r} is for another space than the plan's")
            error, bound = part.error, part.lower_bound
            optimum = None if error is None or bound is None else Optimum("metric", error, bound)
            mechanism = Mechanism(part.mechanism, space, outputs, family, part.source, optimum)
        groups.append(Group(want.columns, mechanism, part))
    return RowLaw(plan, stored_alike(groups), weights)
