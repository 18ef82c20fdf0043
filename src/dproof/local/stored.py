"""The stored rows of a release: written once, as one file or in parts where the rows are, and read by SQL.

The columns that a mechanism has sanitised together become axes of a table of counts; here is also what undoes the law
of numbers that were sanitised by their bins. Where each row answers for one group of columns, the rows of a group are a
random part of all, and are read by themselves. The SQL is written here and nowhere else.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from math import gcd, prod
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet

from dproof.coins import current, for_rehearsal
from dproof.columns import codec_of
from dproof.columns.arrow import as_numpy
from dproof.columns.column import Column, quoted, text_literal
from dproof.errors import InputError, QuestionError, SourceError
from dproof.laws.debias import Array, CodeBins, DebiasAxes, DebiasAxis, MatrixAxis, Scale, SeenColumn
from dproof.laws.law import Law
from dproof.local.draw import made_up_rows, public_type, sanitised_blocks, stored_schema
from dproof.local.recipe import JointColumns, RowLaw
from dproof.plans.plan import ASKED, Plan
from dproof.questions.partition import Cut
from dproof.questions.raw import CLOSED, stored_relation
from dproof.spaces.bins import Bins as ColumnBins
from dproof.storage import DATA, PARQUET, SEEDED, digest
from dproof.tables.duckdb import Decoder, count_alike, decode_all, expressions
from dproof.tables.source import Parts, Source, Spread

_MOST_BINS = 1 << 14
Counted = tuple[list[Any], Array, list[Array]]  # values of key expressions, how many rows have each, and sums


@dataclass(frozen=True, slots=True, eq=False)
class Answering:
    """The stored rows that were asked for one group; what is counted once is counted for all groups."""

    data: Any
    group: str
    counted: dict[tuple[tuple[str, ...], tuple[str, ...]], Counted]

    def count(self, keys: Sequence[str], sums: Sequence[str]) -> Counted:
        wanted = tuple(keys), tuple(sums)
        if wanted not in self.counted:
            self.counted[wanted] = count(self.data, [quoted(ASKED), *keys], sums)
        (asked, *values), numbers, totals = self.counted[wanted]
        is_asked = pc.equal(asked.cast(pa.string()), self.group)
        chosen = as_numpy(is_asked).astype(bool)
        return [array.filter(is_asked) for array in values], numbers[chosen], [total[chosen] for total in totals]


@dataclass(frozen=True, slots=True, eq=False)
class AxisReader:
    """Axes that are read together: the columns cut along them, and how their states are decoded.

    Without a decoder `number` is SQL for a number whose powers are summed rather than counted.
    """

    columns: tuple[str, ...]
    axes: tuple[DebiasAxis, ...]
    decoder: Decoder | None
    number: str = ""


@cache
def _engine(process: int) -> Any:
    """One DuckDB for all that a process counts: it takes longer to start one than to count a million rows.

    A forked process starts its own, because the threads of the other one are not there.
    """
    return duckdb.connect(config=CLOSED)


@contextmanager
def stored_rows(data: Any) -> Iterator[Any]:
    """The stored rows as a DuckDB relation, on a connection of their own."""
    with _engine(os.getpid()).cursor() as database:
        yield relation(database, data)


def relation(database: Any, data: Any) -> Any:
    """The stored rows; of a part of a release, those that were asked for its group."""
    if isinstance(data, Answering):
        return relation(database, data.data).filter(f"{quoted(ASKED)} = {text_literal(data.group)}")
    return stored_relation(database, data)


def count(data: Any, keys: Sequence[str], sums: Sequence[str]) -> Counted:
    """The values of the key expressions, how many rows have each, and sums of expressions over these.

    Where the rows lie on many machines the same values may come several times.
    """
    if isinstance(data, Answering):
        return data.count(keys, sums)
    named = {f"s{n}": f"coalesce(sum({number}), 0)::DOUBLE" for n, number in enumerate(sums)}
    table = _of_parts(data, keys, named)
    columns = [table.column(n).combine_chunks() for n in range(len(keys))]
    return columns, as_numpy(table.column("n")).astype(float), [as_numpy(table.column(name)) for name in named]


def whole(data: Any) -> Any:
    """All stored rows, those of which some answer for a question."""
    return data.data if isinstance(data, Answering) else data


def ends_of(data: Any, columns: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The least and the greatest finite number of each public column, over all stored rows; 0 where there is none."""
    if isinstance(data, Answering):
        return ends_of(data.data, columns)
    named: dict[str, str] = {}
    for n, column in enumerate(columns):
        number = f"{quoted(column)}::DOUBLE"
        named |= {f"{end}{n}": f"{end}({number}) FILTER (WHERE isfinite({number}))" for end in ("min", "max")}
    table = _of_parts(data, [], named)
    found = {name: pc.min_max(table.column(name)).as_py() for name in named}
    return {c: (found[f"min{n}"]["min"] or 0.0, found[f"max{n}"]["max"] or 0.0) for n, c in enumerate(columns)}


def _of_parts(data: Any, keys: Sequence[str], sums: Mapping[str, str]) -> Any:
    """The rows that are alike, counted together; where they lie on many machines, on each by itself."""
    if isinstance(data, Parts):
        counted = data.each(lambda part: _packed(_counted(part, keys, sums)))
        return pa.concat_tables(pa.ipc.open_stream(part).read_all() for part in counted)
    return _counted(data, keys, sums)


def _counted(data: Any, keys: Sequence[str], sums: Mapping[str, str]) -> Any:
    with stored_rows(data) as rows:
        try:
            return count_alike(rows, keys, sums)
        except duckdb.Error as error:
            told = str(error).split("\n")[0].removeprefix("Conversion Error: ").removeprefix("Binder Error: ")
            raise QuestionError(f"the question does not fit the stored columns: {told}") from None


def _packed(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def integers(array: Any) -> Array:
    """An Arrow array of whole numbers or flags."""
    return as_numpy(array).astype(np.int64)


def readers_of(group: JointColumns, cuts: Mapping[str, Cut], scales: Mapping[str, Scale]) -> Iterator[AxisReader]:
    """The axes of a mechanism for those of its columns that are cut; `scales` has those whose numbers are summed.

    The first reader has the columns; a number that is counted by one axis and summed along another has two.
    """
    law, every = group.mechanism.family, list(zip(group.columns, group.outputs, strict=True))
    touched = [(column, outputs) for column, outputs in every if column.name in cuts]
    names = tuple(column.name for column, _ in touched)
    called = f"column {names[0]!r}" if len(names) == 1 else "columns " + ", ".join(map(repr, names))
    needed = every if law.is_coded else touched
    seen = [_seen(c, outputs, cuts.get(c.name), scales.get(c.name)) for c, outputs in needed]
    bins = [c.sanitised_bins if c.name in cuts else None for c, _ in needed]
    others = prod(column.sanitised.size for column in group.columns if column.name not in cuts)
    unmixed = _unmix_bins(law, seen, bins, 1 if law.is_coded else others, called)
    state = unmixed.state
    if state is not None and unmixed.bins is not None:
        ((column, outputs),) = touched
        binned = _binned(column, unmixed.bins)
        read = Decoder([binned], lambda arrays: state([as_numpy(arrays[0], missing=outputs.absent)]))
        yield AxisReader(names, unmixed.axes, read)
    elif state is not None and unmixed.by_presence:
        ((column, outputs),) = touched
        there = f"{quoted(column.stored[0])} {f'<> {outputs.absent}' if column.name in group.coded else 'IS NOT NULL'}"
        yield AxisReader(names, unmixed.axes, Decoder([there], lambda arrays: state([integers(arrays[0])])))
    elif state is not None:
        yield _by_codes(names, group, unmixed, cuts)
    if unmixed.moments is not None:
        ((column, _),), scale = touched, seen[0].scale
        assert scale is not None
        number = f"(({column.codec.number_sql} - {scale.middle!r}) / {scale.unit!r})"
        yield AxisReader(() if state is not None else names, (unmixed.moments,), None, number)


def _seen(column: Column, outputs: Any, cut: Cut | None, scale: Scale | None) -> SeenColumn:
    """A column as a question sees it; one that it does not ask about is one block."""
    if cut is not None:
        return SeenColumn(cut, column.space, outputs, scale)
    first, size = np.zeros(1, np.int64), int(column.sanitised.size)
    everything = Cut(column.name, first, first + size - 1, first, np.array([float(size)]))
    return SeenColumn(everything, column.sanitised, outputs, None, asked=False)


def _by_codes(names: tuple[str, ...], group: JointColumns, unmixed: DebiasAxes, cuts: Mapping[str, Cut]) -> AxisReader:
    """The axes of columns whose codes are read one by one; one code for all columns is the first one's."""
    state, stored = unmixed.state, list(zip(group.columns, group.storage, strict=True))
    assert state is not None
    read = stored[:1] if group.mechanism.family.is_coded else [(c, space) for c, space in stored if c.name in cuts]
    decoders = [
        Decoder(*codec_of(space, column).reader(cuts[column.name].bits if unmixed.by_block else None))
        for column, space in read
    ]
    together = Decoder(expressions(decoders), lambda arrays: state(decode_all(decoders, arrays)))
    return AxisReader(names, unmixed.axes, together)


def _binned(column: Column, bins: CodeBins) -> str:
    """A code in the state of a number, in SQL: the lower end of a bin, or a cut that it has passed inside of that."""
    line = column.space.line
    code = f"round(({column.codec.number_sql} - {float(line.origin)!r}) / {float(line.step)!r})"
    first, last, wide, passed = bins.first, bins.last, gcd(bins.wide, *bins.cuts), ""
    if last - first > _MOST_BINS * wide:  # too many bins if every edge shall be the end of one
        wide, passed = bins.wide, f", {_passed(code, bins)}"
    binned = f"greatest({first}, least({last}, floor({code} / {wide}) * {wide}){passed})::BIGINT"
    return binned if column.space.absent is None else f"CASE WHEN {column.sql} IS NOT NULL THEN {binned} END"


def _passed(code: str, bins: CodeBins) -> str:
    """The last cut that a code has passed, or a number between that and the code; below all cuts `first`; in SQL."""
    cuts, apart = bins.cuts, gcd(*bins.cuts)
    if len(cuts) > 1 and cuts[-1] - cuts[0] < 2 * apart * len(cuts):  # as between groups, of which there may be many
        last = f"least({cuts[-1]}, floor({code} / {apart}) * {apart})"
        return f"CASE WHEN {code} >= {cuts[0]} THEN {last} ELSE {bins.first} END"
    return f"CASE {' '.join(f'WHEN {code} >= {cut} THEN {cut}' for cut in cuts[::-1])} ELSE {bins.first} END"


# Numbers that were sanitised by their bins: what a question sees of these ---------------------------------------------


def _unmix_bins(law: Law, seen: list[SeenColumn], bins: list[ColumnBins | None], others: int, name: str) -> DebiasAxes:
    """What undoes the law of some columns, of which those with `bins` were sanitised by them.

    A condition at the edges is a count of bins, and as exact as a condition on categories.
    """
    at_edges = [
        column if edges is None else _at_edges(column, edges, name) for column, edges in zip(seen, bins, strict=True)
    ]
    counted = [column for column in at_edges if column is not None]
    if len(counted) == len(seen):
        return law.debias_axes(counted, others, name)
    (column, *more), (edges, *_) = seen, bins
    if more or others > 1 or edges is None:
        raise QuestionError(
            f"{name}, sanitised in bins together with other columns, can only be counted, at the edges of the bins: "
            "ask for such counts, not for sums or means"
        )
    return _between_edges(law, column, edges, name)


def _at_edges(column: SeenColumn, bins: ColumnBins, name: str) -> SeenColumn | None:
    """The column with bins for values; None where a question tells values of one bin apart, or adds them up."""
    cut = column.blocks
    if column.scale is not None or bins.cut_by(cut.first[1:][np.diff(cut.block) != 0].tolist()):
        return None
    codes, block = np.arange(bins.size), cut.of(np.array(bins.starts))
    sizes = np.bincount(block, minlength=cut.blocks).astype(float)
    return replace(column, blocks=Cut(name, codes, codes, block, sizes), space=bins.space)


def _between_edges(law: Law, column: SeenColumn, bins: ColumnBins, name: str) -> DebiasAxes:
    """Where in its bin a value lies is not told: a node for both ends of each part of a bin, all with the bin's law."""
    whole, total = law.written_out()
    matrix, (inputs, outputs) = np.asarray(whole / total, float), whole.shape
    cut, scale = column.blocks, column.scale or Scale()
    starts = np.unique(np.concatenate([bins.starts, cut.first]))
    codes = np.unique(np.concatenate([starts, np.append(starts[1:], bins.stop) - 1]))
    bin_of, member = bins.of(codes), np.eye(cut.blocks)[cut.of(codes)]
    # Each run of codes is shared by its two ends, or is one code.
    ends = np.stack([starts, np.append(starts[1:], bins.stop) - 1])
    sizes = np.bincount(np.searchsorted(codes, ends).ravel(), np.tile((ends[1] - ends[0] + 1) / 2, 2))
    values = np.where(codes == column.space.absent, 0.0, scale.numbers(column.space, codes))
    share = np.eye(bins.size)[:, bin_of]
    share /= share.sum(axis=1, keepdims=True)
    # A released code that is no bin stands for those that may have given it, as likely as it makes them.
    likely = np.eye(inputs) if inputs == outputs else (matrix / np.maximum(matrix.sum(axis=0), 1e-300)).T
    shown = likely @ share
    numbers = values, shown @ member, shown @ values
    axis = MatrixAxis(name, matrix[bin_of], member, *numbers, rough=True, node_sizes=sizes)
    return DebiasAxes((axis,), lambda released: released[0])


@dataclass(frozen=True, slots=True, eq=False)
class StoredRows:
    """Stored rows with the law that they were drawn by: those of a release, or a random part of them."""

    law: RowLaw
    data: Any
    rows: int
    release_rows: int
    private: bool

    @property
    def plan(self) -> Plan:
        return self.law.plan


def all_rows(release: Any) -> StoredRows:
    """The rows of a release in which every row answers for all columns, or of whose public columns alone is asked."""
    return StoredRows(release.law, release.data, release.rows, release.rows, release.private)


@dataclass(frozen=True, slots=True)
class ExpectedRelease:
    """A release that is not there yet: so many rows, whose values are spread evenly, have no data."""

    law: RowLaw
    rows: int
    data: None = None
    private: bool = True


def rows_that_answer(release: Any, columns: frozenset[str]) -> list[StoredRows]:
    """The parts of a release whose rows answer for all of these columns; the whole of it where each row does."""
    law: RowLaw = release.law
    private = columns & {column.name for column in law.plan.columns if column.private}
    if law.weights is None or not private:
        return [all_rows(release)]
    holding = _holding(law, private)
    if release.data is None:
        counted = {name: round(release.rows * chance) for name, _, chance in holding}
    else:
        names, numbers, _ = count(release.data, [quoted(ASKED)], [])
        counted = Counter()
        for name, number in zip(names[0].to_pylist(), numbers.tolist(), strict=True):
            counted[name] += int(number)
    data, read = release.data, dict[Any, Any]()
    return [
        StoredRows(
            part,
            None if data is None else Answering(data, name, read),
            counted.get(name, 0),
            release.rows,
            release.private,
        )
        for name, part, _ in holding
    ]


def _holding(law: RowLaw, private: frozenset[str]) -> list[tuple[str, RowLaw, Any]]:
    """The groups that hold all of these columns, each as a law of its own, and how likely a row is asked for it."""
    holding = [
        (group.name, RowLaw(law.plan, (group,)), chance)
        for group, chance in zip(law.groups, law.chances, strict=True)
        if private <= {column.name for column in group.columns}
    ]
    if not holding:
        together = ", ".join(f'"{column.name}"' for column in law.plan.columns if column.name in private)
        raise QuestionError(
            f"no row was asked for these columns together: declare [[joint]] columns = [{together}] in the plan, or a "
            "question that needs them in [[questions]], and sanitise again"
        )
    return holding


_REHEARSED, _MARGIN = 1 << 12, 1.25  # rows; of how much they say about more of them
Written = tuple[int, dict[str, str]]  # how many rows, and the hash of each file


def write_whole(blocks: Iterator[Any], folder: Path) -> Written:
    """Write aligned blocks as the one file of a release."""
    rows = _write(blocks, folder / DATA)
    return rows, {DATA: digest(folder / DATA)}


def rehearse(law: RowLaw) -> float:
    """Draw and write rows of a table that does not exist, in memory; the bytes that a row takes, and some more.

    What fails in drawing and writing without any data fails here. A public column counts as empty.
    """
    sink, coins = pa.BufferOutputStream(), for_rehearsal()
    block = made_up_rows(law, _REHEARSED, coins)
    pa.parquet.write_table(pa.Table.from_batches([block]), sink, **PARQUET)
    return float(_MARGIN * sink.tell() / _REHEARSED)


def write_parts(spread: Spread, law: RowLaw, folder: Path) -> Written:
    """Draw the rows where they are, and make those attempts the release that the engine's answers name.

    An engine may try a part again, or twice at once, and every attempt draws afresh; all write under names of their
    own into a folder aside. The engine has one answer for each part, and only the file in that answer moves into the
    release; the others are deleted before the release appears, and whoever still writes finds the folder gone.
    """
    attempts, rest = folder / "attempts", folder / "rest"
    attempts.mkdir()
    answers = spread(law.plan.sources, partial(_attempt, law, attempts), deal=law.plan.order == "shuffle")
    rows, files = 0, dict[str, str]()
    for answer in map(json.loads, answers):
        if "refused" in answer:
            raise SourceError(answer["refused"])
        if answer["rows"]:
            part = f"part-{len(files):06d}.parquet"
            _take(attempts / answer["name"], folder / part)
            rows, files[part] = rows + answer["rows"], answer["hash"]
    attempts.rename(rest)
    shutil.rmtree(rest)
    return (rows, files) if files else write_whole(aligned(iter(()), law, current().private), folder)


def drawn_rows(law: RowLaw, batches: Iterator[Any]) -> Iterator[Any]:
    """The sanitised blocks of some batches of rows, drawn where these are."""
    return sanitised_blocks(Source(law.plan.sources, lambda columns: batches), law, current())


def drawn_types(law: RowLaw, given: Any) -> Any:
    """The schema of what is drawn from rows of a schema, without dictionaries."""
    schema = next(aligned(iter(()), law, True))
    for place, field in enumerate(schema):
        if field.name in stored_schema(law).names:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        else:
            kind = public_type(given.field(field.name).type)
        schema = schema.set(place, pa.field(field.name, kind))
    return schema


def _take(file: Path, place: Path) -> None:
    try:
        file.rename(place)
    except FileNotFoundError:
        raise SourceError(
            "a part of the release is not where the driver looks: the workers must see its folder under the same "
            "name, on a disk they all share"
        ) from None


def _attempt(law: RowLaw, attempts: Path, batches: Iterator[Any]) -> bytes:
    """Draw one part with the coins of this process; JSON that names the file, or says why there can be no release."""
    file, refused = attempts / f"{secrets.token_hex(16)}.parquet", attempts / "refused"
    source, coins = Source(law.plan.sources, lambda columns: _until(refused, batches)), current()
    try:
        rows = _write(aligned(sanitised_blocks(source, law, coins), law, coins.private), file)
    except InputError as error:
        file.write_text(str(error), "utf-8")
        file.rename(refused)
        return json.dumps({"refused": str(error)}).encode()
    with file.open("rb") as written:
        os.fsync(written.fileno())
    return json.dumps({"name": file.name, "rows": rows, "hash": digest(file)}).encode()


def _until(refused: Path, batches: Iterator[Any]) -> Iterator[Any]:
    """The batches, as long as no other part is refused: then there is no release, and no need to go on."""
    for batch in batches:
        if refused.exists():
            raise SourceError(refused.read_text("utf-8"))
        yield batch


def _write(blocks: Iterator[Any], file: Path) -> int:
    """Write one block while the next is drawn; how many rows there were."""
    rows, before = 0, None
    settings = {key: value for key, value in PARQUET.items() if key != "row_group_size"}
    with pa.parquet.ParquetWriter(file, next(blocks), **settings) as writer, ThreadPoolExecutor(1) as beside:
        for block in blocks:
            if before is not None:
                before.result()
            before = beside.submit(writer.write_batch, block)
            rows += block.num_rows
        if before is not None:
            before.result()
    return rows


def aligned(blocks: Iterator[Any], law: RowLaw, private: bool) -> Iterator[Any]:
    """The schema first, then the blocks in it; an empty table has public columns of text.

    What seeded coins drew carries it in its schema, wherever the rows go.
    """
    first = next(blocks, None)
    known = {field.name: field for field in (stored_schema(law) if first is None else first.schema)}
    schema = pa.schema([known.get(name, pa.field(name, pa.string())) for name in law.stored])
    schema = schema if private else schema.with_metadata(SEEDED)
    yield schema
    for block in blocks if first is None else chain([first], blocks):
        yield block if block.schema == schema else block.cast(schema)
