"""A table of a class that dproof does not know works wherever it hands out an Arrow stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import narwhals  # which comes with altair
import pandas
import polars
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError
from dproof.tables import open_source
from dproof.tables.source import BATCH_ROWS
from dproof.testing import seeded_coins

PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 600},  # so large that no category is changed: what comes out is what was read
    "order": "keep",
    "columns": {
        "hobby": {"space": "categories", "values": ["Cars", "Chess"], "missing": "Chess"},
        "age": {"space": "interval", "low": 0, "high": 110, "step": 1, "missing": 40},
    },
}
TABLE = pa.table({"age": [k % 90 for k in range(900)], "hobby": [["Cars", "Chess", None][k % 3] for k in range(900)]})


class Frame:
    """A table of some package to come; it counts how often its stream is asked for."""

    def __init__(self, table: Any) -> None:
        self.table, self.asked = table, 0

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        self.asked += 1
        return self.table.__arrow_c_stream__(requested_schema)


MAKERS = {
    "frame": lambda: Frame(TABLE),
    "stream": lambda: Frame(TABLE.to_reader(max_chunksize=7)),  # whose second stream would have no rows
    "views": lambda: Frame(polars.from_arrow(TABLE)),
    "narwhals": lambda: narwhals.from_native(polars.from_arrow(TABLE)),
}


@pytest.fixture(params=MAKERS)
def frame(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param]()


def test_it_is_sanitised_as_the_table_that_it_is(frame: Any, tmp_path: Path) -> None:
    dp.sanitise(frame, PLAN, tmp_path / "out")
    release = dp.verify(tmp_path / "out")
    assert release is not None
    hobbies = ["Chess" if hobby is None else hobby for hobby in TABLE["hobby"].to_pylist()]
    assert release.to_arrow()["hobby"].to_pylist() == hobbies


def test_the_same_coins_draw_the_same_release(frame: Any) -> None:
    plan = PLAN | {"privacy": {"epsilon": 2}}
    with seeded_coins(1):
        one = dp.sanitise(frame, plan).to_arrow()
    with seeded_coins(1):
        assert one.equals(dp.sanitise(TABLE, plan).to_arrow())


def test_it_is_checked(frame: Any) -> None:
    found = dp.check(frame, PLAN)
    assert found.rows == 900 and {column.name: column.missing for column in found.columns} == {"age": 0, "hobby": 300}


def test_a_curator_answers_more_than_one_question_on_it(frame: Any, tmp_path: Path) -> None:
    curator = dp.Curator(frame, PLAN, ledger=tmp_path / "budget.db")
    for hobby, truth in (("Cars", 300), ("Chess", 600)):
        asked = f"SELECT count(*) AS n FROM data WHERE hobby = '{hobby}'"
        assert abs(curator.ask(asked, epsilon=50).rows[0]["n"].estimate - truth) < 2
    assert getattr(frame, "asked", 1) == 1


def test_the_stream_is_asked_for_once_and_read_in_batches() -> None:
    frame = Frame(pa.table({"a": range(BATCH_ROWS + 1), "b": range(BATCH_ROWS + 1)}))
    source = open_source(frame)
    batches = list(source.read(["b"]))
    assert source.names == ("a", "b") and frame.asked == 1
    assert [batch.num_rows for batch in batches] == [BATCH_ROWS, 1] and batches[0].schema.names == ["b"]


def test_a_subclass_of_a_known_frame_is_read_as_that_frame(tmp_path: Path) -> None:
    """pandas would give Arrow a type that all its objects share, and its index as a column."""

    class Study(pandas.DataFrame):
        pass

    people = Study({"hobby": ["Cars", 3, None], "age": [1, 2, 3]}, index=["x", "y", "z"], dtype=object)
    hobby = {"space": "categories", "values": ["Cars", "3"], "missing": "Cars"}
    plan = PLAN | {"columns": PLAN["columns"] | {"hobby": hobby}}
    assert dp.sanitise(people, plan).to_arrow()["hobby"].to_pylist() == ["Cars", "3", "Cars"]
    curator = dp.Curator(people, plan, ledger=tmp_path / "budget.db")
    answer = curator.ask("SELECT count(*) AS n FROM data WHERE hobby = 'Cars'", epsilon=50)
    assert abs(answer.rows[0]["n"].estimate - 2) < 2


class Broken:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise RuntimeError("a secret")


def failing() -> Iterator[Any]:
    yield TABLE.to_batches()[0]
    raise ValueError("a secret")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (Broken, "the source of the class Broken cannot be read: its __arrow_c_stream__ gives no stream of columns"),
        (lambda: Frame(pa.chunked_array([[1]])), "the source of the class Frame cannot be read"),
        (lambda: Frame(pa.RecordBatchReader.from_batches(TABLE.schema, failing())), "the Arrow stream cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused_without_its_words(source: Any, problem: str, tmp_path: Path) -> None:
    works = (dp.sanitise, dp.check, lambda table, plan: dp.Curator(table, plan, ledger=tmp_path / "budget.db"))
    for work in works:
        with pytest.raises(InputError, match=problem) as refused:
            work(source(), PLAN)
        assert "secret" not in str(refused.value)
    assert not (tmp_path / "budget.db").exists()


@pytest.mark.parametrize("nothing", [Frame, object(), pa.Table])
def test_what_hands_out_no_stream_is_refused(nothing: Any) -> None:
    with pytest.raises(InputError, match=r"source must be a path, or a table of pyarrow, .* or of any class that has"):
        dp.sanitise(nothing, PLAN)


def test_a_plan_for_a_file_is_not_for_it() -> None:
    with pytest.raises(InputError, match="which are for files"):
        dp.sanitise(Frame(TABLE), PLAN | {"file": {"decimal": ","}})
    with pytest.raises(InputError, match="table"):
        dp.sanitise(Frame(TABLE), PLAN, table="people")
