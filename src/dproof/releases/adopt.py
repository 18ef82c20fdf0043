"""A release of rows that were sanitised elsewhere: on the respondents' devices, by an app, or with dice on paper."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.arguments import as_path, listed, named
from dproof.certification.certify import read_certificate
from dproof.coins import current
from dproof.errors import SourceError
from dproof.local.draw import aligned, answered, permutation, stored_codes, write_whole
from dproof.local.recipe import JointColumns, RowLaw, certify_row, recorded_row_law
from dproof.local.release import COINS_ELSEWHERE, LocalRelease, check_enough, finish, prepare
from dproof.plans.plan import Plan
from dproof.releases.verify import check, verify
from dproof.storage import CERTIFICATE, PLAN, SURVEY, appearing, check_absent
from dproof.survey.answers import Received, read_answers
from dproof.survey.form import check_asked


@named
def adopt(
    answers: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str],
) -> LocalRelease:
    """Make a release of answers that were drawn elsewhere by the laws of a plan.

    The certificate and the page say that dproof did not see the coins. Answers that no law can give are counted and
    left out, and several with one id count once.

    `answers` is a file with a line of JSON for each, or several such files. `plan` is the folder of a survey, or a
    Plan, its path or a mapping; `out` is the folder to make.
    """
    check_absent(as_path(out, "out"))
    law = survey_law(plan)
    check_asked(law)
    one = isinstance(answers, (str, os.PathLike))
    given = [answers] if one else listed(answers, "answers", "a file with lines of JSON, or a list of such files")
    received = read_answers([as_path(path, "answers") for path in given], law)
    if not received.rows:
        raise SourceError(
            f"there is no answer to this survey among the lines ({received.left_out:,} cannot be one): is it the right "
            "file, and the right plan?"
        )
    check_enough(law, received.rows)
    coins, prepared = current(), prepare(law)
    order = permutation(received.rows, coins) if law.plan.order == "shuffle" else np.arange(received.rows)
    adopted = {"coins": COINS_ELSEWHERE, "repeated": received.repeated, "left_out": received.left_out}
    with appearing(Path(out)) as folder:
        blocks = aligned(iter([_stored(received, law, order)]), law, coins.private)
        rows, files = write_whole(blocks, folder)
        certificate = finish(folder, prepared, rows, files, coins.private, adopted)
        check(folder)
    return LocalRelease(prepared[0], certificate, Path(out))


def survey_law(plan: Plan | str | os.PathLike[str] | Mapping[str, Any]) -> RowLaw:
    """The law that a survey's page draws from, as its certificate has it; of a plan alone, the one that it gets."""
    if isinstance(plan, (str, os.PathLike)) and (Path(plan) / SURVEY).is_file():
        verify(plan)
        return recorded_row_law(Plan.read(Path(plan) / PLAN), read_certificate(Path(plan) / CERTIFICATE))
    return certify_row(Plan.of(plan))


def _stored(received: Received, law: RowLaw, order: NDArray[np.int64]) -> Any:
    """The rows as they are stored, row n at the place order[n]."""
    if law.weights is None:
        arrays: dict[str, Any] = {}
        for group, codes in zip(law.groups, received.codes, strict=True):
            arrays |= stored_codes(group, codes[order])
    else:
        asked, every = np.empty(received.rows, np.int64), np.empty(received.rows, np.int64)
        for place, (codes, rows) in enumerate(zip(received.codes, received.places, strict=True)):
            asked[rows], every[rows] = place, codes
        every = every[order]

        def drawn(group: JointColumns, chosen: NDArray[np.int64]) -> dict[str, Any]:
            return stored_codes(group, every[chosen])

        arrays = answered(law, asked[order], drawn)
    return pa.RecordBatch.from_pydict({name: arrays[name] for name in law.stored})
