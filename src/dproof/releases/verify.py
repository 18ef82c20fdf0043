"""Checking a release or a certificate: raises where something does not hold.

Whatever follows from the plan and the recorded laws is worked out again: losses, errors, sensitivities, the record of
the release; of tables also how their noise is shared out. Taken as said are the laws themselves and lower bounds of
errors: no law is designed again, so a worse one that keeps the promise is right too.

A release is one draw, so no check can tell that it was drawn honestly; but a text in a column of two categories, or a
number between two lattice points, cannot have been drawn at all, and may be somebody's data.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import astuple, replace
from math import log, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from dproof.arguments import as_path
from dproof.central.recipe import check_noise
from dproof.central.release import TABLES, CentralRelease
from dproof.central.rows import ROWS, check_rows, row_count
from dproof.certification.certify import certified_part, read_certificate
from dproof.certification.verify_central import FORMAT as CENTRAL
from dproof.certification.verify_central import verify as verify_central
from dproof.certification.verify_certificate import LARGEST_FILE, LAWS, Laws, Refused
from dproof.certification.verify_certificate import verify as verify_certificate
from dproof.columns.codec import codec_of
from dproof.columns.values import as_numpy, which_have
from dproof.errors import FileError, VerificationFailed
from dproof.laws.law import LAWS as RECORDED
from dproof.laws.law import law_from_json
from dproof.local.draw import stored_schema, stored_types
from dproof.local.recipe import JointColumns, RowLaw
from dproof.local.release import COINS_ELSEWHERE, LocalRelease, about, shuffled_within
from dproof.plans.plan import ASKED
from dproof.plans.reader import MisplacedKey, added_sizes
from dproof.recipe import Release
from dproof.releases.load import load, opened
from dproof.storage import CERTIFICATE, PLAN, SEEDED, SURVEY, check_metadata, fetch, is_remote, is_unfinished

_NAMES = (b"dproof certificate", CENTRAL.encode())  # one stands in each
_BATCH = 1 << 17  # rows looked at together: they stay in cache
_UNLIKELY = 60 * log(2)  # an honest draw lies farther out with a chance of 2^-59 at most


def verify(path: str | os.PathLike[str]) -> Release | None:
    """Check a release, a survey, or a certificate alone (then there is no release to return); raises where it does not
    hold.

    The laws are certified again from their whole numbers, the promises added up, the files hashed; the plan must be
    the one the laws are for, and the stored table must have the recorded rows, the schema the plan determines, only
    values that the laws can give and no text beside its rows. What else the certificate says must follow from the plan
    and the laws, and nothing else may lie in the folder; `unchecked` names what may, such as the page. The page of a
    survey must be, byte for byte, the one that its plan and laws make.

    `path` is the folder of a release or of a survey, or a certificate.
    """
    if is_remote(path):
        release = load(path)
        with TemporaryDirectory() as here:
            fetch(path, Path(here))
            checked = verify(here)
        assert isinstance(release, LocalRelease)
        return checked and replace(release, unchecked=checked.unchecked)
    place = as_path(path, "path")
    if not place.exists():
        raise FileError(f"there is no file or folder {str(place)!r}")
    file = place / CERTIFICATE if place.is_dir() else place
    if place.is_dir() and is_unfinished(place):
        raise VerificationFailed(f"{str(place)!r} was left by a run that did not finish: it is not a release")
    if not file.is_file():
        raise FileError(f"{str(place)!r} is not a release: there is no {CERTIFICATE} in it")
    if place.is_file() and (place.stat().st_size > LARGEST_FILE or not _is_named(place)):
        raise FileError(f"{str(place)!r} is not a certificate: give a release's folder, or the {CERTIFICATE} in it")
    return check(place)


def _is_named(file: Path) -> bool:
    text = file.read_bytes()
    return any(name in text for name in _NAMES)


def check(place: Path) -> Release | None:
    """What `verify` checks of a folder, whatever its name is, or of a certificate's file."""
    certificate = read_certificate(place / CERTIFICATE if place.is_dir() else place)
    try:
        folder = place if place.is_dir() else None
        if certificate.get("format") == CENTRAL:
            unchecked = verify_central(dict(certificate), folder)
        else:
            unchecked = verify_certificate(dict(certificate), folder, added_sizes(), _added_laws())
        if folder is None:
            return None
        release = opened(folder)
        if isinstance(release, CentralRelease):
            _check_tables(release, folder)
            return replace(release, unchecked=tuple(unchecked))
        assert isinstance(release, LocalRelease)
        if SURVEY in release.certificate["release"]["files"]:
            _check_survey(release, folder)
        else:
            _check_stored(release)
        _check_said(release)
        return replace(release, unchecked=tuple(unchecked))
    except (Refused, MisplacedKey) as refused:
        raise VerificationFailed(str(refused)) from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise VerificationFailed(f"the certificate cannot be read ({type(error).__name__})") from None


def _check_tables(release: CentralRelease, folder: Path) -> None:
    """A release of tables says no more in its certificate than follows from its plan and noise, and so do its rows."""
    said = release.certificate
    true = release.law.record(said["release"], private=release.private)
    for key in true.keys() | said.keys():
        if key != "seal" and (said.get(key) != true.get(key) or not _agree(said.get(key), true.get(key))):
            raise VerificationFailed(f"the value of {key!r} in the certificate does not follow from its plan and noise")
    check_noise(release.law)
    made_up = said["release"]["made_up_rows"]
    if set(said["release"]["files"]) != {TABLES, PLAN} | ({ROWS} if made_up is not None else set()):
        raise VerificationFailed("the certificate does not name the files of the release")
    if made_up is not None:
        if made_up != row_count(release.estimates[None]):
            raise VerificationFailed("the number of synthetic rows does not follow from the measured tables")
        check_rows(folder / ROWS, release.law, made_up, release.private)


def _added_laws() -> Laws:
    """The laws that the stand-alone verifier does not know: each says its worst pair itself."""

    def read(record: dict[str, Any]) -> dict[str, Any]:
        law = law_from_json(record)
        checked = {"kind": law.kind, "size": law.inputs, "worst": lambda odds: astuple(law.worst(odds))}
        return checked if law.neighbours is None else {**checked, "neighbours": law.neighbours}

    return dict.fromkeys(RECORDED.keys() - LAWS.keys(), read)


def _check_said(release: LocalRelease) -> None:
    """What the plan and the whole numbers of the laws determine is worked out again; lower bounds are taken as said."""
    said, groups = release.certificate, []
    for group in release.law.groups:
        part = certified_part(group.name, group.mechanism, group.privacy)
        if not _agree(group.part.law, dict(part.law)):
            raise VerificationFailed(f"the law of {group.name!r} in the certificate is not in canonical form")
        bound = group.part.lower_bound
        if bound is not None and part.error is not None and bound > part.error:
            raise VerificationFailed(f"the law of {group.name!r} has a smaller error than its lower bound")
        groups.append(replace(group, part=replace(part, lower_bound=group.part.lower_bound)))
    law = replace(release.law, groups=tuple(groups))
    shuffled = {key: value for key, value in said["release"].items() if key == "shuffled"}  # any that holds will do
    adopted = said["release"].get("adopted")
    if adopted is not None:  # whose counts nobody can work out again
        adopted = {**adopted, "coins": COINS_ELSEWHERE}
    within = shuffled_within(said["release"]["order"])
    known = about(law, release.rows, said["release"]["files"], adopted, within)
    true = law.record(known | shuffled, private=release.private)
    for key in true.keys() | said.keys():
        if key != "seal" and not _agree(said.get(key), true.get(key)):
            raise VerificationFailed(f"the value of {key!r} in the certificate does not follow from its plan and laws")


def _agree(said: Any, true: Any) -> bool:
    """Whether two values of JSON are the same, but for floats: these are upper bounds, and a looser one holds too."""
    if isinstance(true, dict):
        return isinstance(said, dict) and said.keys() == true.keys() and all(_agree(said[k], true[k]) for k in true)
    if isinstance(true, list):
        return isinstance(said, list) and len(said) == len(true) and all(map(_agree, said, true))
    if type(said) is not type(true):
        return False  # True is no 1, and neither is 1.0
    return said >= true if isinstance(said, float) else bool(said == true)


def _check_survey(release: LocalRelease, folder: Path) -> None:
    """A survey has no rows yet, and a page that draws from the certificate's laws."""
    if release.rows or not release.private or set(release.certificate["release"]["files"]) != {SURVEY, PLAN}:
        raise VerificationFailed("the certificate of a survey must name its page and its plan, and no rows")
    from dproof.survey.page import check_page

    check_page(folder / SURVEY, release.law)


def _check_stored(release: LocalRelease) -> None:
    if not release.files or set(release.certificate["release"]["files"]) != {*(f.name for f in release.files), PLAN}:
        raise VerificationFailed("the certificate does not name the files of the release")
    rows, asked = 0, np.zeros(len(release.law.groups), np.int64)
    least = release.certificate["release"].get("shuffled", {"rows": 0})["rows"]
    for file in release.files:
        try:
            with pa.parquet.ParquetFile(file) as stored:
                schema = stored.schema_arrow
                _check_schema(release, schema)
                check_metadata(stored, release.plan.named("public"))
                rows += stored.metadata.num_rows
                if stored.metadata.num_rows < least:
                    raise VerificationFailed("a part of the stored table has fewer rows than are said to hide each")
            asked += 0 if rows > release.rows else _check_support(file, release.law)
        except (pa.ArrowException, OSError, ValueError, RecursionError):
            raise VerificationFailed("the stored table cannot be read") from None
        if release.private and (schema.metadata or {}).keys() & SEEDED.keys():
            raise VerificationFailed(
                "the stored table was drawn with seeded coins, and the certificate does not say so"
            )
    if rows != release.rows:
        raise VerificationFailed("the stored table has another number of rows than the certificate")
    # Who was asked something harmless answers more often: what was asked of those who did is drawn by no weights.
    if release.law.weights is not None and "adopted" not in release.certificate["release"]:
        _check_weights(release.law, asked)


def _check_schema(release: LocalRelease, schema: Any) -> None:
    for field in stored_schema(release.law):
        # Spark has no type for the few texts of a category.
        types = (field.type, field.type.value_type) if pa.types.is_dictionary(field.type) else (field.type,)
        if field.name not in schema.names or schema.field(field.name).type not in types:
            raise VerificationFailed(f"the stored column {field.name!r} is not as the plan determines it")
    if schema.names != release.certificate["release"]["columns"]:
        raise VerificationFailed("the stored table has other columns than the certificate")


def _check_support(file: Path, law: RowLaw) -> NDArray[np.int64]:
    """Refuse a Parquet file with a value that no law of the row can give; the column is named, not the value.

    Gives the number of rows that answer for each group, where they answer for one. Public columns are as they are.
    What a dictionary lists counts as stored, whether a row has it or not.
    """
    counts = np.zeros(len(law.groups), np.int64)
    names = [name for name in law.stored if name not in law.plan.named("public")]
    with pa.parquet.ParquetFile(file) as stored:
        texts = [name for name in names if pa.types.is_string(stored.schema_arrow.field(name).type)]
    with pa.parquet.ParquetFile(file, read_dictionary=texts) as stored:  # each text is looked at once
        for batch in stored.iter_batches(_BATCH, columns=names):
            counts = counts + (0 if law.weights is None else _check_asked(law, batch))
            for group in law.groups:
                _check_values(group, batch if law.weights is None else _answering(group, batch))
    return counts


def _check_values(group: JointColumns, batch: Any) -> None:
    family = group.mechanism.family
    given, reach = (family.possible(), family.farthest) if len(group.columns) == 1 else (None, None)
    for column, space in zip(group.columns, group.storage, strict=True):
        if not codec_of(space, column).possible([batch.column(name) for name in column.stored], given, reach):
            raise VerificationFailed(f"the stored column {column.name!r} holds a value that its law cannot give")


# Rows that answer for one group each: they hold what they were asked, and nothing else --------------------------------


def _check_asked(law: RowLaw, batch: Any) -> NDArray[np.int64]:
    """How many rows were asked for each group; refused where a row holds a value that it was not asked for."""
    array = batch.column(ASKED)
    array = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    places = {group.name: place for place, group in enumerate(law.groups)}
    known = np.array([places.get(name, -1) for name in array.dictionary.to_pylist()], np.int64)
    if array.null_count or (known < 0).any():
        raise VerificationFailed(f"the stored column {ASKED!r} holds something that no row is asked")
    asked = known[as_numpy(array.indices)]
    for name in stored_types(law.groups):
        holds = np.array([any(name in column.stored for column in group.columns) for group in law.groups])
        there = as_numpy(batch.column(name).is_valid())
        if (there & ~holds[asked]).any():
            raise VerificationFailed(f"the stored column {name!r} holds a value in a row that was not asked for it")
    return np.bincount(asked, minlength=len(law.groups))


def _answering(group: JointColumns, batch: Any) -> Any:
    """The rows that were asked for a group, each column as the group stores it."""
    rows = batch.filter(which_have(batch.column(ASKED), group.name))
    types = stored_types([group])
    arrays: Mapping[str, Any] = {name: rows.column(name) for name in types}
    plain = (pa.int64(), pa.float64())
    return pa.RecordBatch.from_pydict({
        name: array.cast(types[name], safe=True) if array.type in plain and array.type != types[name] else array
        for name, array in arrays.items()
    })  # fmt: skip


def _check_weights(law: RowLaw, counts: NDArray[np.int64]) -> None:
    """Refuse numbers of rows that the weights do not give, but for a chance of 2^-59 (Bernstein's inequality)."""
    rows = int(counts.sum())
    for group, chance, count in zip(law.groups, law.chances, counts.tolist(), strict=True):
        variance = float(rows * chance * (1 - chance))
        if abs(count - float(rows * chance)) > sqrt(2 * variance * _UNLIKELY) + 2 * _UNLIKELY / 3:
            raise VerificationFailed(
                f"the number of rows that were asked for {group.name!r} does not fit its weight in the certificate"
            )
