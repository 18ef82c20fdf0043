"""A release: the sanitised table, stored or held once, with its plan and certificate."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dproof.arguments import as_path
from dproof.certification.certificate import Certificate, certified_part
from dproof.certification.verify_certificate import LARGEST_FILE, Refused
from dproof.certification.verify_certificate import read as read_strictly
from dproof.certification.verify_certificate import verify as verify_certificate
from dproof.errors import InputError, VerificationFailed
from dproof.plans.plan import Plan
from dproof.plans.row_law import Group, RowLaw, with_bounds
from dproof.releases.folder import appearing, is_unfinished
from dproof.releases.product import REACH, stored_schema
from dproof.releases.recorded import recorded_row_law
from dproof.releases.remote import fetch, is_remote, remote_table

if TYPE_CHECKING:
    from dproof.questions.answer import Answer
    from dproof.questions.curve_estimate import CurveEstimate

DATA, PARTS = "release.parquet", "part-*.parquet"  # one file, or as many as there are
PLAN, CERTIFICATE, REPORT = "plan.toml", "certificate.json", "report.html"
_NAME = b"dproof certificate"  # stands in every one


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A sanitised table: queries on it are free, for ever (HLM15, Theorem 4).

    It is one draw, kept in a folder or in memory; it is never a view that would draw again.
    """

    law: RowLaw
    certificate: Mapping[str, Any]
    folder: Path | str | None = None  # a folder here, or the URI of one elsewhere
    table: Any = None  # an Arrow table, where the release is held in memory
    session: Any = None  # of Spark, where its workers count the stored files
    unchecked: tuple[str, ...] = ()  # files in its folder that `verify` does not look at

    @property
    def plan(self) -> Plan:
        """What is public about the table, and what was done with each column."""
        return self.law.plan

    @property
    def rows(self) -> int:
        """How many rows it has: as many as its source."""
        return int(self.certificate["release"]["rows"])

    @property
    def private(self) -> bool:
        """False where it was drawn with seeded coins."""
        return bool(self.certificate["private"])

    @property
    def data(self) -> Any:
        """What estimation counts: the paths of the stored files, with Spark's workers if it has them, or the table."""
        if self.session is None:
            return self.table if self.folder is None else self.files or remote_table(str(self.folder))
        from dproof.tables import spark

        if isinstance(self.folder, str):
            return spark.read(self.session, self.folder, partial(remote_table, self.folder))
        return spark.parts(self.session, self.files)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files on this machine's disks, in the order of their rows."""
        if not isinstance(self.folder, Path):
            return ()
        whole = self.folder / DATA
        return (whole,) if whole.is_file() else tuple(sorted(self.folder.glob(PARTS)))

    def __repr__(self) -> str:
        where = "in memory" if self.folder is None else f"in {str(self.folder)!r}"
        promise = f"epsilon = {self.plan.privacy.epsilon}, delta = {self.plan.privacy.delta}"
        stamp = "" if self.private else ", NOT PRIVATE: drawn with seeded coins"
        return f"<release of {self.rows} rows {where}, {promise}{stamp}>"

    def _repr_html_(self) -> str:
        """The release and its laws as a notebook shows them."""
        from dproof.report.notebook import release_table

        return release_table(self)

    def to_arrow(self) -> Any:
        """The sanitised rows as an Arrow table."""
        if isinstance(self.folder, str):
            return remote_table(self.folder).to_table()
        if self.folder is None:
            return self.table
        from pyarrow.parquet import read_table

        return pa.concat_tables(map(read_table, self.files))

    def to_pandas(self) -> Any:
        """The sanitised rows as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The sanitised rows as a Polars frame."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def query(self, sql: str, **options: Any) -> Answer:
        """Debiased answers with intervals; the table is called `release`."""
        from dproof.estimation.query import query

        return query(self, sql, **options)

    def raw(self, sql: str, **options: Any) -> Answer:
        """The same SQL on the sanitised rows as they are."""
        from dproof.estimation.query import raw

        return raw(self, sql, **options)

    def mean_curve(self, column: str, **options: Any) -> CurveEstimate:
        """The mean of a curve column, with a band that holds at all points at once.

        `where`, a condition in SQL; `total=True` for the total at each grid point instead; `level` of the band;
        `target` "table" (privacy noise only) or "population" (noise and sampling).

        >>> import dproof as dp, pyarrow
        >>> plan = {"privacy": {"epsilon": 1}, "columns": {
        ...     "load": {"space": "curves", "points": 9, "low": 0, "high": 2, "terms": 3}}}
        >>> dp.sanitise(pyarrow.table({"load": [[1.0] * 9] * 400}), plan).mean_curve("load").estimate.shape
        (9,)
        """
        from dproof.estimation.curves import mean_curve

        return mean_curve(self, column, **options)

    def on(self, session: Any) -> Release:
        """The same stored release, counted by the workers of a Spark session, who must see its folder."""
        if self.folder is None:
            raise InputError("only a stored release can be counted by Spark: save it first")
        return replace(self, session=session)

    def save(self, out: str | os.PathLike[str]) -> Release:
        """Store a release that is held in memory, in a new folder."""
        from pyarrow.parquet import write_table

        with appearing(as_path(out, "out")) as folder:
            write_table(self.to_arrow(), folder / DATA, **PARQUET)
            finish(folder, prepare(self.law), self.rows, {DATA: digest(folder / DATA)}, self.private)
        return load(out)


# What the stored file looks like follows from the plan: fixed settings, no metadata of the source, no index.
PARQUET: dict[str, Any] = {
    "compression": "snappy",
    "version": "2.6",
    "write_statistics": False,
    "write_batch_size": 1 << 16,  # rows encoded at a time: they stay in cache
    "row_group_size": REACH,
}


Prepared = tuple[RowLaw, Any]  # the law of a row with its bounds, and the pictures of it


def prepare(law: RowLaw) -> Prepared:
    """What can be said about a release before it is drawn, and said once for a table of no rows: so it can be said."""
    from dproof.report.page import draw_pictures

    prepared = with_bounds(law), draw_pictures(law)
    _described(prepared, 0, {}, True)
    return prepared


def _described(prepared: Prepared, rows: int, files: Mapping[str, str], private: bool) -> tuple[Certificate, str]:
    """The certificate of a release, and the page about it."""
    from dproof.plans.expectation import half_widths
    from dproof.report.page import page

    law, pictures = prepared
    certificate = law.certificate(about(law, rows, files), private=private)
    return certificate, page(law, certificate.to_json(), half_widths(law, rows), pictures)


def finish(folder: Path, prepared: Prepared, rows: int, files: Mapping[str, str], private: bool) -> dict[str, Any]:
    """Write the plan, the certificate and the page about a folder's stored table, whose files have these hashes."""
    (folder / PLAN).write_text(prepared[0].plan.text, "utf-8")
    certificate, page = _described(prepared, rows, {**files, PLAN: digest(folder / PLAN)}, private)
    (folder / REPORT).write_text(page, "utf-8")
    certificate.write(folder / CERTIFICATE)
    return certificate.to_json()


def about(law: RowLaw, rows: int, files: Mapping[str, str]) -> dict[str, Any]:
    """What a certificate records about the release: nothing of the source but its number of rows, which is public."""
    plan = law.plan
    return {
        "rows": rows,
        "columns": list(plan.stored),
        "public": plan.named("public"),
        "order": "kept" if plan.order == "keep" else f"shuffled within {REACH} rows",
        "lattices": {group.name: _lattice(group.mechanism.outputs) for group in law.groups if _elsewhere(group)},
        "tight": law.tight().to_json(),
        "person": law.person_to_json(),
        "files": dict(files),
    }


def _elsewhere(group: Group) -> bool:
    """Whether numbers are released on a lattice of their own."""
    outputs, inputs = group.mechanism.outputs, group.mechanism.inputs
    return group.mechanism.family.outputs is not None and outputs.line is not None and outputs != inputs


def _lattice(interval: Any) -> dict[str, str]:
    return {"low": str(interval.low), "high": str(interval.high), "step": str(interval.step)}


def load(path: str | os.PathLike[str]) -> Release:
    """Open a stored release, by its path or URI; `verify` checks it as well."""
    if is_remote(path):
        with TemporaryDirectory() as here:
            fetch(path, Path(here), (CERTIFICATE, PLAN))
            return replace(load(here), folder=path)
    folder = as_path(path, "path")
    if not (folder / CERTIFICATE).is_file() or is_unfinished(folder):
        raise InputError(f"{str(folder)!r} is not a release: a release is a folder that `dproof sanitise` made")
    return _opened(folder)


def _opened(folder: Path) -> Release:
    plan = Plan.read(folder / PLAN)
    certificate = read_certificate(folder / CERTIFICATE)
    if not isinstance(certificate.get("release"), dict):
        raise VerificationFailed("the certificate is not one of a release")
    return Release(recorded_row_law(plan, certificate), certificate, folder)


def verify(path: str | os.PathLike[str]) -> Release | None:
    """Check a release, or a certificate alone (then there is no release to return); raises where it does not hold.

    The laws are certified again from their whole numbers, the promises added up, the files hashed; the plan must be
    the one the laws are for, and the stored table must have the recorded rows, the schema the plan determines, only
    values that the laws can give and no text beside its rows. What else the certificate says must follow from the plan
    and the laws, and nothing else may lie in the folder; `unchecked` names what may, such as the page.
    """
    if is_remote(path):
        release = load(path)
        with TemporaryDirectory() as here:
            fetch(path, Path(here))
            checked = verify(here)
        return checked and replace(release, unchecked=checked.unchecked)
    place = as_path(path, "path")
    if not place.exists():
        raise InputError(f"there is no file or folder {str(place)!r}")
    file = place / CERTIFICATE if place.is_dir() else place
    if place.is_dir() and is_unfinished(place):
        raise VerificationFailed(f"{str(place)!r} was left by a run that did not finish: it is no release")
    if not file.is_file():
        raise InputError(f"{str(place)!r} is no release: there is no {CERTIFICATE} in it")
    if place.is_file() and (place.stat().st_size > LARGEST_FILE or _NAME not in place.read_bytes()):
        raise InputError(f"{str(place)!r} is no certificate: give the folder of a release, or the {CERTIFICATE} in it")
    return check(place)


def check(place: Path) -> Release | None:
    """What `verify` checks of a folder, whatever its name is, or of a certificate's file."""
    certificate = read_certificate(place / CERTIFICATE if place.is_dir() else place)
    try:
        unchecked = verify_certificate(dict(certificate), place if place.is_dir() else None)
        if not place.is_dir():
            return None
        release = _opened(place)
        _check_stored(release)
        _check_said(release)
        return replace(release, unchecked=tuple(unchecked))
    except Refused as refused:
        raise VerificationFailed(str(refused)) from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise VerificationFailed(f"the certificate cannot be read ({type(error).__name__})") from None


def _check_said(release: Release) -> None:
    """What the plan and the whole numbers of the laws determine is worked out again; lower bounds are taken as said."""
    said, groups = release.certificate, []
    for group in release.law.groups:
        part = certified_part(group.name, group.mechanism, group.privacy)
        if not _agree(group.part.law, dict(part.law)):
            raise VerificationFailed(f"the law of {group.name!r} is not written as dproof writes it")
        bound = group.part.lower_bound
        if bound is not None and part.error is not None and bound > part.error:
            raise VerificationFailed(f"the law of {group.name!r} errs less than the lower bound that is said")
        groups.append(replace(group, part=replace(part, lower_bound=group.part.lower_bound)))
    law = replace(release.law, groups=tuple(groups))
    true = law.certificate(about(law, release.rows, said["release"]["files"]), private=release.private).to_json()
    for key in true.keys() | said.keys():
        if key != "seal" and not _agree(said.get(key), true.get(key)):
            raise VerificationFailed(f"what the certificate says as {key!r} does not follow from its plan and laws")


def _agree(said: Any, true: Any) -> bool:
    """Whether two values of JSON are the same, but for floats: these are upper bounds, and a looser one holds too."""
    if isinstance(true, dict):
        return isinstance(said, dict) and said.keys() == true.keys() and all(_agree(said[k], true[k]) for k in true)
    if isinstance(true, list):
        return isinstance(said, list) and len(said) == len(true) and all(map(_agree, said, true))
    if type(said) is not type(true):
        return False  # True is no 1, and neither is 1.0
    return said >= true if isinstance(said, float) else bool(said == true)


def _check_stored(release: Release) -> None:
    if not release.files or set(release.certificate["release"]["files"]) != {*(f.name for f in release.files), PLAN}:
        raise VerificationFailed("the certificate does not name the files of the release")
    from pyarrow.parquet import ParquetFile

    from dproof.releases.metadata import SEEDED, check_metadata
    from dproof.releases.support import check_support  # with all of Arrow's functions, which a query does not need

    rows = 0
    for file in release.files:
        try:
            with ParquetFile(file) as stored:
                schema = stored.schema_arrow
                _check_schema(release, schema)
                check_metadata(stored, release.plan.named("public"))
                rows += stored.metadata.num_rows
            check_support(file, release.law)
        except (pa.ArrowException, OSError, ValueError, RecursionError):
            raise VerificationFailed("the stored table cannot be read") from None
        if release.private and (schema.metadata or {}).keys() & SEEDED.keys():
            raise VerificationFailed(
                "the stored table was drawn with seeded coins, and the certificate does not say so"
            )
    if rows != release.rows:
        raise VerificationFailed("the stored table has another number of rows than the certificate")


def _check_schema(release: Release, schema: Any) -> None:
    for field in stored_schema(release.law):
        # Spark has no type for the few texts of a category.
        types = (field.type, field.type.value_type) if pa.types.is_dictionary(field.type) else (field.type,)
        if field.name not in schema.names or schema.field(field.name).type not in types:
            raise VerificationFailed(f"the stored column {field.name!r} is not as the plan determines it")
    if schema.names != release.certificate["release"]["columns"]:
        raise VerificationFailed("the stored table has other columns than the certificate")


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


def digest(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
