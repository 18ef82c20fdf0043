"""A release of rows: the sanitised table, stored or held once, with its plan and certificate."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dproof.arguments import as_path
from dproof.certification.certify import laws_table, read_certificate, write_certificate
from dproof.errors import ArgumentError, MissingExtra, SourceError
from dproof.limits import SHUFFLED_TOGETHER
from dproof.local.recipe import JointColumns, RowLaw, recorded_row_law, with_bounds
from dproof.recipe import Release
from dproof.storage import CERTIFICATE, DATA, PARQUET, PARTS, PLAN, REPORT, appearing, digest, remote_table
from dproof.tables.source import Written

if TYPE_CHECKING:
    from dproof.questions.answer import Answer
    from dproof.questions.estimated import Options
    from dproof.questions.question import Question


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LocalRelease(Release):
    """A sanitised table: every row was drawn from the law of its own values."""

    law: RowLaw
    certificate: Mapping[str, Any]
    folder: Path | str | None = None
    table: Any = None
    session: Any = None  # of Spark, where its workers count the stored files
    unchecked: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows it has: as many as its source."""
        return int(self.certificate["release"]["rows"])

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
    def _content(self) -> str:
        return f"{self.rows} rows"

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
        from dproof.local.draw import stored_schema

        # Noise moves dates beyond the years that Python's dates have; pandas' own hold them.
        MissingExtra.or_module("pandas", "a pandas.DataFrame")
        moved = any(pa.types.is_date(field.type) for field in stored_schema(self.law))
        return self.to_arrow().to_pandas(date_as_object=not moved)

    def _described(self, answer: Answer, question: Question, options: Options) -> Answer:
        from dproof.local.answer import described

        return described(answer, question, options, self.law.schema)

    def on(self, session: Any) -> LocalRelease:
        """The stored release, counted by the workers of a Spark session, who must see its folder."""
        if self.folder is None:
            raise ArgumentError("only a stored release can be counted by Spark: save it first")
        return replace(self, session=session)

    def save(self, out: str | os.PathLike[str]) -> LocalRelease:
        """Store a release that is held in memory, in a new folder."""
        from pyarrow.parquet import write_table

        recorded = self.certificate["release"]
        # Parts that are one file now are each in an order of their own still; of which rows earlier ones do not say.
        unsaid = "shuffled" not in recorded and any(name.startswith("part-") for name in recorded["files"])
        within = 1 if unsaid else shuffled_within(recorded["order"])
        with appearing(as_path(out, "out")) as folder:
            write_table(self.to_arrow(), folder / DATA, **PARQUET)
            written = self.rows, {DATA: digest(folder / DATA)}, within
            finish(folder, prepare(self.law), written, self.private, recorded.get("adopted"))
        certificate = read_certificate(Path(out) / CERTIFICATE)
        return LocalRelease(recorded_row_law(self.plan, certificate), certificate, Path(out))


Prepared = tuple[RowLaw, Any]  # the law of a row with its bounds, and the pictures of it
Adopted = Mapping[str, Any]  # of rows that were drawn elsewhere: by whose coins, and how many answers do not count
COINS_ELSEWHERE = "thrown where the answers were given: dproof did not see it"


def prepare(law: RowLaw) -> Prepared:
    """What can be said about a release before it is drawn, and said once for a table of no rows: so it can be said."""
    from dproof.report.page import draw_pictures

    prepared = with_bounds(law), draw_pictures(law)
    _described(prepared, (0, {}, SHUFFLED_TOGETHER), True, None)
    return prepared


def _described(
    prepared: Prepared, written: Written, private: bool, folder: Path | None, adopted: Adopted | None = None
) -> tuple[dict[str, Any], str]:
    """The certificate of a release, and the page about it, with answers where its rows are in a folder."""
    from dproof.report.page import release_page

    (law, pictures), (rows, files, within) = prepared, written
    added = shuffled_rows(law, rows, within) if files else {}
    certificate = law.record(about(law, rows, files, adopted, within) | added, private=private)
    return certificate, release_page(LocalRelease(law, certificate, folder), pictures)


def finish(
    folder: Path, prepared: Prepared, written: Written, private: bool, adopted: Adopted | None = None
) -> dict[str, Any]:
    """Write the plan, the certificate and the page about a folder's stored table."""
    (folder / PLAN).write_text(prepared[0].plan.text, "utf-8")
    rows, files, within = written
    written = rows, {**files, PLAN: digest(folder / PLAN)}, within
    certificate, page = _described(prepared, written, private, folder, adopted)
    (folder / REPORT).write_text(page, "utf-8")
    write_certificate(certificate, folder / CERTIFICATE)
    return certificate


def about(
    law: RowLaw,
    rows: int,
    files: Mapping[str, str],
    adopted: Adopted | None = None,
    within: int | None = None,
) -> dict[str, Any]:
    """What a certificate records about the release: nothing of the source but its number of rows, which is public; of
    answers that were drawn elsewhere also how many did not count, which everybody knows who received them."""
    plan = law.plan
    return {
        "rows": rows,
        "columns": list(law.stored),
        "public": plan.named("public"),
        "order": "kept"
        if plan.order == "keep"
        else f"shuffled within {SHUFFLED_TOGETHER if within is None else within} rows",
        "lattices": {group.name: _lattice(group.outputs[0]) for group in law.groups if _elsewhere(group)},
        **({"bins": {name: list(bins.starts) for name, bins in plan.chosen_bins.items()}} if plan.chosen_bins else {}),
        "tight": law.tight().to_json(),
        "person": law.person_to_json(),
        "files": dict(files),
        **({} if adopted is None else {"adopted": dict(adopted)}),
    }


def shuffled_within(order: str) -> int:
    """Of how many rows or more are the parts that each have a random order; any number where the order was kept.

    >>> shuffled_within("shuffled within 1048576 rows"), shuffled_within("kept")
    (1048576, 1)
    """
    found = re.fullmatch("shuffled within ([1-9][0-9]{0,18}) rows", order)
    return 1 if found is None else min(int(found[1]), SHUFFLED_TOGETHER)


_FEWER = "write a smaller rows under [shuffle]"


def check_enough(law: RowLaw, rows: int, way_out: str = _FEWER) -> None:
    """Refuse fewer rows than a plan with model = 'shuffled' promises: each would hide among too few."""
    shuffle, least = law.plan.shuffle, law.plan.shuffle.rows
    if least is not None and rows < least:
        raise SourceError(
            f"the plan's promise is for {least} rows or more, among which each hides, and there are fewer: {way_out}"
        )
    if least is not None and shuffle.hiding(rows) < shuffle.hiding(least):
        raise SourceError(
            f"the table is shuffled in parts of {SHUFFLED_TOGETHER} rows, and in one of them may be so many who do not "
            f"follow the method that too few hide the others: {way_out}, or sanitise parts of the table one by one"
        )


def shuffled_rows(law: RowLaw, rows: int, within: int | None = None) -> dict[str, Any]:
    """What the random order of the rows adds, as a certificate records it."""
    shuffle = law.plan.shuffle
    least = rows if shuffle.rows is None else shuffle.rows  # the bound is for so many or more
    promise = law.shuffled(least, within)
    if promise is None:
        return {}
    told = {"epsilon": str(promise.epsilon), "delta": str(promise.delta)}
    return {"shuffled": {"rows": shuffle.hiding(least, within), **told}}


def _elsewhere(group: JointColumns) -> bool:
    """Whether numbers are released on a lattice of their own."""
    outputs, inputs = group.mechanism.outputs, group.mechanism.inputs
    return group.mechanism.family.outputs is not None and outputs.line is not None and outputs != inputs


def _lattice(outputs: Any) -> dict[str, str]:
    interval = outputs.without_missing
    return {"low": str(interval.low), "high": str(interval.high), "step": str(interval.step)}
