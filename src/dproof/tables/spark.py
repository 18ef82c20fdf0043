"""Spark: a DataFrame, streamed through the driver or worked on where its rows are."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, Observation, Window, functions
from pyspark.sql.pandas.types import from_arrow_schema

from dproof.errors import InputError, SourceError
from dproof.limits import SHUFFLED_TOGETHER
from dproof.tables.source import Bound, Draw, Parts, Put, Source, Work, Written

# Spark compares what a stage that it runs again gives, and stops the job where that is something else.
_COMPARED = "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch"
_PARTS = "spark.sql.shuffle.partitions"
_UNMARKED = "mapreduce.fileoutputcommitter.marksuccessfuljobs"  # the certificate alone says that all is there
_DATA = "pathGlobFilter", "*.parquet"
_REFUSED = "dproof refuses: "


def open_spark(thing: Any) -> Source:
    """Open a DataFrame, classic or of Spark Connect; nothing is computed yet."""
    if not isinstance(thing, DataFrame):
        raise SourceError(f"a Spark source is a DataFrame, not a {type(thing).__name__}")
    if thing.isStreaming:
        raise SourceError("a release is one draw of a table that ends: a streaming DataFrame cannot be a source")
    return Source(
        tuple(thing.columns),
        lambda columns: _read(thing, columns),
        spread=partial(_work_in_parts, thing),
        store=partial(_store, thing),
        what="the DataFrame",
    )


def _read(frame: Any, columns: Sequence[str]) -> Iterator[Any]:
    """The rows through the driver, one partition after the other, packed as Arrow batches on the way."""
    with _refusing():
        for row in _chosen(frame, columns).mapInArrow(_packed, "batch binary").toLocalIterator():
            yield from _renamed(pa.ipc.open_stream(row.batch), columns)


def _packed(stream: Iterator[Any]) -> Iterator[Any]:
    for batch in stream:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch([pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["batch"])


def _work_in_parts(
    frame: Any, columns: Sequence[str], work: Work, *, deal: bool = False, bound: Bound | None = None
) -> list[bytes]:
    chosen = _chosen(frame, columns) if bound is None else _bounded(frame, columns, bound)
    return _answers(_dealt(chosen) if deal else chosen, lambda stream: work(_renamed(stream, columns)))


def _dealt(frame: Any) -> Any:
    """The rows in parts that say nothing about them.

    How a table is cut into partitions can tell a value: a hash of it, or its length in a file. How many parts there are
    is a setting, and where a row goes is chance; Spark must not lose that chance when it retries.
    """
    with _refusing():
        count, compared = (frame.sparkSession.conf.get(setting) for setting in (_PARTS, _COMPARED))
    if compared != "true":
        raise SourceError(f"rows that are dealt at random need {_COMPARED} = true: it is Spark's default")
    return frame.repartition(int(count), functions.rand(secrets.randbits(62)))


def _renamed(stream: Iterator[Any], columns: Sequence[str]) -> Iterator[Any]:
    return (batch.rename_columns(list(columns)) for batch in stream)


@contextmanager
def _store(
    frame: Any, uri: str, columns: Sequence[str], draw: Draw, types: Callable[[Any], Any], deal: bool
) -> Iterator[tuple[Written, Put]]:
    """Spark writes what is drawn, through its own committer: of many attempts at a part only one is committed."""
    session, chosen = frame.sparkSession, _chosen(frame, columns)
    if not hasattr(session, "_jsc"):
        raise SourceError("a session of Spark Connect reaches no file system: give a folder that the workers share")
    schema = types(pa.schema([*map(pa.field, columns, _arrow_schema(chosen).types)]))
    seen, rows = Observation(), functions.count(functions.lit(1)).alias("rows")
    drawn = (_dealt(chosen) if deal else chosen).mapInArrow(
        lambda stream: _drawn(draw, _renamed(stream, columns), schema), from_arrow_schema(schema)
    )
    with _refusing():
        hadoop = session._jvm.org.apache.hadoop.fs.Path
        folder = hadoop(uri)
        system = folder.getFileSystem(session._jsc.hadoopConfiguration())
        if system.exists(folder):
            raise SourceError(f"{uri!r} is there already: a release is never overwritten, so choose another name")
        try:
            drawn.observe(seen, rows).write.option(_UNMARKED, "false").parquet(uri)
            reader = session.read.option(*_DATA)
            stored = reader.parquet(uri).select(functions.input_file_name().alias("file")).groupBy("file").count()
            counts = [row["count"] for row in stored.collect()]
            if sum(counts) != seen.get["rows"]:
                raise SourceError(
                    "the folder has other rows than Spark's tasks have drawn: another program wrote there"
                )
            hashes = reader.format("binaryFile").load(uri).select(functions.sha2("content", 256), "path").collect()
            files = {path.rpartition("/")[2]: digest for digest, path in hashes}
            within = min(counts, default=1)
            yield (
                (seen.get["rows"], files, min(within, SHUFFLED_TOGETHER)),
                lambda file: system.copyFromLocalFile(False, False, hadoop(file.as_uri()), folder),
            )
        except BaseException as error:
            # What Spark refuses to begin, because somebody else just made the folder, is not ours to delete.
            if not isinstance(error, AnalysisException):
                system.delete(folder, True)
            raise


def _drawn(draw: Draw, stream: Iterator[Any], schema: Any) -> Iterator[Any]:
    with _unquoted():
        for block in draw(stream):
            yield block.cast(schema)


def read(session: Any, uri: str, whole: Callable[[], Any]) -> Parts:
    """Stored files on a file system of Spark's own, which it reads for its workers."""
    with _refusing():
        frame = session.read.option(*_DATA).parquet(uri)
    schema = _arrow_schema(frame)

    def each(work: Callable[[Any], bytes]) -> list[bytes]:
        def reader(stream: Iterator[Any]) -> Any:
            return pa.RecordBatchReader.from_batches(schema, (batch.cast(schema) for batch in stream))

        return _answers(frame, lambda stream: work(reader(stream)))

    return Parts(whole, each)


def parts(session: Any, files: tuple[Path, ...]) -> Parts:
    """Files that the workers of a session read themselves, one in each task."""
    files = tuple(file.absolute() for file in files)

    def each(work: Callable[[Any], bytes]) -> list[bytes]:
        numbers = session.range(0, len(files), 1, len(files))
        return _answers(numbers, lambda stream: work((files[next(stream).column(0)[0].as_py()],)))

    return Parts(lambda: files, each)


def _answers(frame: Any, work: Work) -> list[bytes]:
    answers = frame.mapInArrow(lambda stream: _task(work, stream), "answer binary")
    with _refusing():
        return [bytes(row.answer) for row in answers.collect()]


def _task(work: Work, stream: Iterator[Any]) -> Iterator[Any]:
    """One attempt at one part, in a worker; what Spark logs of a failure has no text that could quote a value."""
    with _unquoted():
        answer = work(stream)
    yield pa.record_batch([pa.array([answer], pa.binary())], ["answer"])


@contextmanager
def _unquoted() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise
    except InputError as error:
        raise RuntimeError(f"{_REFUSED}{error}") from None
    except Exception as error:
        raise RuntimeError(f"the work on a part failed with {type(error).__name__}") from None


def _bounded(frame: Any, columns: Sequence[str], bound: Bound) -> Any:
    """These columns of the rows that count: the first of each person in an order that follows from what they hold.

    Rows that are alike take turns, so that each is as likely as any other to be among the first; which of them has
    which turn is all one. So no order of the table, and nobody else's row, decides what counts.
    """
    places = {name: functions.col(f"c{n}") for n, name in enumerate(dict.fromkeys([*bound.columns, bound.person]))}
    person, whole = places[bound.person], list(places.values())
    alike, first = Window.partitionBy(person, *whole).orderBy(person), Window.partitionBy(person)
    rows = _chosen(frame, list(places)).repartition(person)
    rows = rows.withColumn("turn", functions.row_number().over(alike))
    first = first.orderBy(functions.xxhash64(*whole, "turn"), *whole, "turn")
    rows = rows.withColumn("place", functions.row_number().over(first)).where(functions.col("place") <= bound.rows)
    return rows.select(*(places[name].alias(f"c{n}") for n, name in enumerate(columns)))


def _chosen(frame: Any, columns: Sequence[str]) -> Any:
    """These columns under names that Spark never takes for expressions."""
    quoted = ("`" + name.replace("`", "``") + "`" for name in columns)
    return frame.select(*(functions.col(name).alias(f"c{n}") for n, name in enumerate(quoted)))


def _arrow_schema(frame: Any) -> Any:
    """The types of its columns as Arrow has them; no row is read."""
    with _refusing():
        return frame.limit(0).toArrow().schema


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn Spark's errors into one sentence: their text may quote a value."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        told = re.search(f"{_REFUSED}(.*)", str(error))
        raise SourceError(told[1] if told else "Spark did not finish the work: its own log says why") from None
