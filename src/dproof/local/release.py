"""A release: the sanitised table, stored or held once, with its plan and certificate."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dproof.arguments import as_path
from dproof.certification.certificate import Certificate, laws_table, read_certificate
from dproof.coins import NOT_PRIVATE
from dproof.errors import InputError
from dproof.local.draw import REACH, stored_schema
from dproof.local.recipe import Group, RowLaw, with_bounds
from dproof.plans.plan import Plan
from dproof.privacy import Privacy
from dproof.storage.folder import appearing, remote_table

if TYPE_CHECKING:
    from dproof.local.counts import Target
    from dproof.local.curves import MeasuredCurves
    from dproof.local.estimated import Options
    from dproof.questions.answer import Answer
    from dproof.questions.curve_estimate import CurveEstimate
    from dproof.questions.question import Question
    from dproof.questions.schema import Schema
    from dproof.questions.sql import Select

DATA, PARTS = "release.parquet", "part-*.parquet"  # one file, or as many as there are
PLAN, CERTIFICATE, REPORT = "plan.toml", "certificate.json", "report.html"


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

    @property
    def privacy(self) -> Privacy:
        """What it promises: what the plan has under [privacy], or less where the central model needs no δ."""
        return self.plan.privacy

    @property
    def _content(self) -> str:
        return f"{self.rows} rows"

    def __repr__(self) -> str:
        where = "in memory" if self.folder is None else f"in {str(self.folder)!r}"
        promise = f"epsilon = {self.privacy.epsilon}, delta = {self.privacy.delta}"
        stamp = "" if self.private else f", {NOT_PRIVATE}"
        return f"<release of {self._content} {where}, {promise}{stamp}>"

    def _repr_html_(self) -> str:
        """The release and its laws as a notebook shows them."""
        return laws_table(repr(self).strip("<>"), self.law.parts)

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
        # Noise moves dates beyond the years that Python's dates have; pandas' own hold them.
        moved = any(pa.types.is_date(field.type) for field in stored_schema(self.law))
        return self.to_arrow().to_pandas(date_as_object=not moved)

    def to_polars(self) -> Any:
        """The sanitised rows as a Polars frame."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def query(self, asked: str | Select, **options: Any) -> Answer:
        """Debiased answers with intervals to SQL, where the table is called `release`, or to what `Select` built."""
        from dproof.local.answer import query

        return query(self, asked, **options)

    def raw(self, sql: str, **options: Any) -> Answer:
        """The same SQL on the sanitised rows as they are."""
        from dproof.local.answer import raw

        return raw(self, sql, **options)

    def mean_curve(
        self,
        column: str,
        *,
        where: str | None = None,
        total: bool = False,
        level: float = 0.95,
        target: Target = "table",
    ) -> CurveEstimate:
        """The mean of a curve column, with a band that holds at all points at once.

        `where`, a condition in SQL; `total=True` for the total at each grid point instead; `level` of the band;
        `target` "table" (privacy noise only) or "population" (noise and sampling).

        >>> import dproof as dp, pyarrow
        >>> plan = {"privacy": {"epsilon": 1}, "columns": {
        ...     "load": {"space": "curves", "points": 9, "low": 0, "high": 2, "terms": 3}}}
        >>> dp.sanitise(pyarrow.table({"load": [[1.0] * 9] * 400}), plan).mean_curve("load").estimate.shape
        (9,)
        """
        from dproof.local.curves import mean_curve
        from dproof.local.estimated import Options

        options = Options(level=level, target=target)
        return mean_curve(self.plan, column, where, total, partial(self._measured_curves, options=options))

    def _measured_curves(self, question: Question, schema: Schema, options: Options) -> MeasuredCurves:
        from dproof.local.curves import ReleaseCurves

        return ReleaseCurves(self, question, options)

    def on(self, session: Any) -> Release:
        """The same stored release, counted by the workers of a Spark session, who must see its folder."""
        if self.folder is None:
            raise InputError("only a stored release can be counted by Spark: save it first")
        return replace(self, session=session)

    def save(self, out: str | os.PathLike[str]) -> Release:
        """Store a release that is held in memory, in a new folder."""
        from pyarrow.parquet import write_table

        from dproof.local.recipe import recorded_row_law

        with appearing(as_path(out, "out")) as folder:
            write_table(self.to_arrow(), folder / DATA, **PARQUET)
            finish(folder, prepare(self.law), self.rows, {DATA: digest(folder / DATA)}, self.private)
        certificate = read_certificate(Path(out) / CERTIFICATE)
        return Release(recorded_row_law(self.plan, certificate), certificate, Path(out))


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
    from dproof.report.page import local_page

    law, pictures = prepared
    certificate = law.certificate(about(law, rows, files), private=private)
    return certificate, local_page(law, certificate.to_json(), pictures)


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
        "columns": list(law.stored),
        "public": plan.named("public"),
        "order": "kept" if plan.order == "keep" else f"shuffled within {REACH} rows",
        "lattices": {group.name: _lattice(group.outputs[0]) for group in law.groups if _elsewhere(group)},
        "tight": law.tight().to_json(),
        "person": law.person_to_json(),
        "files": dict(files),
    }


def _elsewhere(group: Group) -> bool:
    """Whether numbers are released on a lattice of their own."""
    outputs, inputs = group.mechanism.outputs, group.mechanism.inputs
    return group.mechanism.family.outputs is not None and outputs.line is not None and outputs != inputs


def _lattice(outputs: Any) -> dict[str, str]:
    interval = outputs.present or outputs
    return {"low": str(interval.low), "high": str(interval.high), "step": str(interval.step)}


def digest(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
