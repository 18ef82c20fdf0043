"""Opening a stored release: its plan, its certificate, and the recipe that follows from the two.

What was chosen when it was drawn is read as recorded and never chosen again: laws, noise, weights, bins of questions.
What the plan determines is worked out again, and the certificate is refused where it says otherwise. Whether the laws
keep the promise is not looked at here: `verify` works that out.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from dproof.arguments import as_path
from dproof.certification.certify import read_certificate
from dproof.errors import DproofError, FileError, VerificationFailed
from dproof.local.recipe import recorded_row_law
from dproof.local.release import LocalRelease
from dproof.plans.plan import Plan
from dproof.plans.reader import read_text
from dproof.recipe import Release
from dproof.storage import CERTIFICATE, PLAN, SURVEY, fetch, is_remote, is_unfinished


def load(path: str | os.PathLike[str]) -> Release:
    """Open a stored release, by its path or URI; `verify` checks it as well.

    `path` is the folder of a release.
    """
    if is_remote(path):
        with TemporaryDirectory() as here:
            fetch(path, Path(here), (CERTIFICATE, PLAN))
            if _stored_plan(Path(here)).model == "central":
                raise FileError("a release of tables is opened from a disk: copy its folder to one")
            release = load(here)
            assert isinstance(release, LocalRelease)
            return replace(release, folder=path)
    folder = as_path(path, "path")
    if not (folder / CERTIFICATE).is_file() or is_unfinished(folder):
        raise FileError(f"{str(folder)!r} is not a release: a release is a folder that `dproof sanitise` made")
    if (folder / SURVEY).is_file():
        raise FileError(f"{str(folder)!r} is a survey: `dproof adopt` makes a release of its answers")
    return opened(folder)


def _stored_plan(folder: Path) -> Plan:
    return Plan.parse(read_text(folder / PLAN, "plan"), name=PLAN)


def opened(folder: Path) -> Release:
    """The release in a folder, whatever its name is."""
    plan = _stored_plan(folder)
    certificate = read_certificate(folder / CERTIFICATE)
    if not isinstance(certificate.get("release"), dict):
        raise VerificationFailed("the certificate is not one of a release")
    try:
        if plan.model == "central":
            from dproof.central.release import opened_tables  # a release of rows needs none of it

            return opened_tables(folder, plan, certificate)
        return LocalRelease(recorded_row_law(plan, certificate), certificate, folder)
    except DproofError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise VerificationFailed(f"the certificate cannot be read ({type(error).__name__})") from None
