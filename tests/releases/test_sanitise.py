"""What is drawn is the law's, in an order that carries nothing, and no value of the data gets out any other way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import InputError
from dproof.coins import Coins, current
from dproof.local import draw as local
from dproof.local.draw import permutation, sanitised_blocks
from dproof.tables import open_source
from dproof.tables.source import BATCH_ROWS
from dproof.testing import seeded_coins
from tests.makers import row_law

CANARY = "Zanzibar-1723"


def plan_for(columns: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"privacy": {"epsilon": "1"}, "columns": columns, **rest}


READ = plan_for({"read": {"space": "categories", "values": [0, 1]}})


def chi_square(counts: dict[Any, int], law: dict[Any, float]) -> float:
    n = sum(counts.values())
    return sum((counts.get(k, 0) - n * p) ** 2 / (n * p) for k, p in law.items())


def test_a_released_column_follows_its_law() -> None:
    values = ["a", "b", "c", "d"]
    release_plan = plan_for({"x": {"space": "categories", "values": values}})
    with seeded_coins(11):
        release = dp.sanitise(pa.table({"x": ["b"] * 200_000}), release_plan)
    law = {k: float(p) for k, p in release.law.groups[0].mechanism.law("b").items()}
    assert chi_square(Counter(release.to_arrow()["x"].to_pylist()), law) < 21.1  # 3 degrees of freedom, p = 1e-4


def test_joined_columns_follow_their_joint_law_and_the_others_are_independent() -> None:
    columns = {
        "gender": {"space": "categories", "values": ["M", "F"]},
        "read": {"space": "categories", "values": [0, 1, 2]},
        "hobby": {"space": "categories", "values": ["Cars", "Chess"]},
    }
    release_plan = plan_for(columns, joint=[{"columns": ["gender", "read"]}])
    table = pa.table({"gender": ["F"] * 200_000, "read": [2] * 200_000, "hobby": ["Cars"] * 200_000})
    with seeded_coins(12):
        release = dp.sanitise(table, release_plan)
    joint, alone = release.law.group_of("read").mechanism, release.law.group_of("hobby").mechanism
    expected = {
        (row["gender"], row["read"], hobby): float(p * q)
        for row, p in joint.law({"gender": "F", "read": 2}).items()
        for hobby, q in alone.law("Cars").items()
    }
    drawn = release.to_arrow()
    seen = Counter(zip(*(drawn[name].to_pylist() for name in ("gender", "read", "hobby")), strict=True))
    assert chi_square(seen, expected) < 39.7  # 11 degrees of freedom, p = 4e-5


def orders(read: list[int], order: str, draws: int, coins: Coins) -> Counter[tuple[int, ...]]:
    """How often each sequence of released values comes out."""
    law = row_law({**READ, "order": order})
    source = open_source(pa.table({"read": read}))
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(draws):
        seen[tuple(next(sanitised_blocks(source, law, coins))["read"].to_pylist())] += 1
    return seen


def apart(a: Counter[Any], b: Counter[Any]) -> float:
    """The two-sample χ² statistic of counts with the same total."""
    return sum((a[k] - b[k]) ** 2 / (a[k] + b[k]) for k in set(a) | set(b))


def test_a_permuted_table_gives_the_same_distribution() -> None:
    with seeded_coins(13) as coins:
        first, second = (orders(read, "shuffle", 4000, coins) for read in ([0, 0, 1], [1, 0, 0]))
        kept, moved = (orders(read, "keep", 4000, coins) for read in ([0, 0, 1], [1, 0, 0]))
    assert apart(first, second) < 27.0  # 7 degrees of freedom, p = 3e-4
    assert apart(kept, moved) > 500, "the control: an order that is kept does tell"


def test_every_order_is_equally_likely() -> None:
    with seeded_coins(14) as coins:
        seen = Counter(tuple(permutation(4, coins).tolist()) for _ in range(24_000))
    assert len(seen) == 24
    assert chi_square(seen, dict.fromkeys(seen, 1 / 24)) < 56.0  # 23 degrees of freedom, p = 1e-4


def test_words_that_tie_are_drawn_again() -> None:
    class Tied(Coins):
        __slots__ = ("asked",)

        def words64(self, count: int) -> Any:
            self.asked = getattr(self, "asked", 0) + 1
            if self.asked == 1:
                return np.zeros(count, np.uint64)
            return np.arange(count, 0, -1, dtype=np.uint64) << np.uint64(32)

    coins = Tied(bytes(32))
    assert permutation(3, coins).tolist() == [2, 1, 0] and coins.asked == 2


def test_rows_stay_together_through_blocks_and_shuffles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "REACH", 1000)
    size = 4321
    columns = {
        "code": {"space": "categories", "values": list(range(5000))},
        "half": {"space": "categories", "values": list(range(2500))},
        "label": {"public": True},
    }
    table = pa.table(
        {
            "code": np.arange(size),
            "half": np.arange(size) // 2,
            "label": [str(n) for n in range(size)],
        }
    )
    release = dp.sanitise(table, {"privacy": {"epsilon": 900}, "columns": columns}).to_arrow()
    codes = release["code"].to_numpy()
    assert sorted(codes) == list(range(size)) and codes.tolist() != list(range(size))
    assert (release["half"].to_numpy() == codes // 2).all()
    assert release["label"].to_pylist() == [str(code) for code in codes]
    ends = [0, 1000, 2000, 3000, size]  # the last block is the longest, so that no row is shuffled among few
    assert all(set(codes[a:b]) == set(range(a, b)) for a, b in pairwise(ends)), "the stated reach"


def test_sets_keep_the_form_of_their_source() -> None:
    items = {"space": "subsets", "values": ["a", "b", "c"]}
    flags = {"space": "subsets", "columns": ["has_a", "has_b"], "values": ["a", "b"]}
    columns = {"joined": {**items, "separator": ";"}, "listed": items, "flags": flags}
    table = pa.table(
        {
            "joined": ["a;c", "", "b"],
            "listed": [["c", "a"], [], ["b"]],
            "has_a": [True, False, False],
            "has_b": [0, 1, 1],
        }
    )
    release = dp.sanitise(table, {"privacy": {"epsilon": 900}, "order": "keep", "columns": columns})
    assert release.to_arrow().to_pydict() == {
        "joined": ["a;c", "", "b"],
        "listed": [["a", "c"], [], ["b"]],
        "has_a": [True, False, False],
        "has_b": [False, True, True],
    }


def test_many_items_are_joined_without_listing_all_sets() -> None:
    names = [f"item {n}" for n in range(40)]
    columns = {"s": {"space": "subsets", "values": names, "separator": ";"}}
    table = pa.table({"s": [";".join(names), "", names[39]]})
    release = dp.sanitise(table, {"privacy": {"epsilon": 900}, "order": "keep", "columns": columns})
    assert release.to_arrow()["s"].to_pylist() == table["s"].to_pylist()


# Values that a source can hold ---------------------------------------------------------------------------------------

STRANGE: dict[str, Any] = {
    "text": pa.array([CANARY, "1", ""]),
    "bytes that are no text": pa.array([b"\xff" + CANARY.encode(), b"1", b"0"]),
    "a huge text": pa.array([CANARY * 100_000, "1", "0"]),
    "a huge number": pa.array(["1e999999999", "-1e999999999", "1" * 5000]),
    "null": pa.array([None, 1, 0]),
    "nan": pa.array([math.nan, 1.0, 0.0]),
    "inf": pa.array([math.inf, -math.inf, 0.0]),
    "minus zero": pa.array([-0.0, 1.0, 0.0]),
    "subnormal": pa.array([5e-324, 1.0, 0.0]),
    "out of range": pa.array([2**63 - 1, -(2**63), 0]),
    "clean": pa.array([0, 1, 0]),
    "boolean": pa.array([True, False, True]),
    "unsigned": pa.array([2**64 - 1, 1, 0], pa.uint64()),
    "dates": pa.array([0, 1, 2], pa.date32()),
    "all null": pa.nulls(3),
    "dictionary": pa.array([CANARY, "1", None]).dictionary_encode(),
}
TOTAL = {
    "categories of numbers": {
        "space": "categories",
        "values": [0, 1],
        "outside": "category",
        "outside_value": -1,
        "missing": "category",
    },
    "categories of text": {"space": "categories", "values": ["0", "1"], "outside": "category", "missing": "0"},
    "sets": {"space": "subsets", "values": ["0", "1"], "separator": ";", "outside": "clamp", "missing": []},
    "interval": {"space": "interval", "low": 0, "high": 9, "step": 1, "outside": "clamp", "missing": 4},
}


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("treatment", TOTAL)
def test_a_plan_that_treats_every_value_behaves_the_same_for_all_data(treatment: str, strange: str) -> None:
    release = dp.sanitise(pa.table({"x": STRANGE[strange]}), plan_for({"x": TOTAL[treatment]}))
    clean = dp.sanitise(pa.table({"x": STRANGE["clean"]}), plan_for({"x": TOTAL[treatment]}))
    assert release.rows == 3 and release.to_arrow().schema == clean.to_arrow().schema
    if treatment.startswith("categories"):
        assert set(release.to_arrow()["x"].to_pylist()) <= set(release.plan.column("x").space.values)


REFUSING = {
    "categories of numbers": {"space": "categories", "values": [0, 1]},
    "categories of text": {"space": "categories", "values": ["0", "1"]},
    "sets": {"space": "subsets", "values": ["0", "1"], "separator": ";"},
}


@pytest.mark.parametrize("strange", sorted(set(STRANGE) - {"clean", "boolean", "minus zero"}))
def test_a_refusal_names_the_column_and_nothing_of_the_data(strange: str) -> None:
    with pytest.raises(InputError, match=r"column 'x' has a (missing value|value outside)") as refused:
        dp.sanitise(pa.table({"x": STRANGE[strange]}), plan_for({"x": REFUSING["categories of numbers"]}))
    assert CANARY not in str(refused.value) and len(str(refused.value)) < 200
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_two_refusals_of_one_kind_are_the_same_whatever_the_value_and_the_row() -> None:
    def message(values: list[Any]) -> str:
        with pytest.raises(InputError) as refused:
            dp.sanitise(pa.table({"x": values}), READ | {"columns": {"x": REFUSING["categories of text"]}})
        return str(refused.value)

    assert message(["0", "7"]) == message([CANARY, "1"]) == message(["0"] * 999 + ["2"])
    assert message(["0", None]) == message([None, None])


def test_numbers_written_in_many_ways_are_one_value() -> None:
    columns = {"x": {"space": "categories", "values": [0, 1, 2.5]}}
    column = pa.array(["1", "1.0", " 1 ", "+1", "1e0", "2.50", "0", "-0.0", b"1".decode()])
    release = dp.sanitise(pa.table({"x": column}), {"privacy": {"epsilon": 900}, "order": "keep", "columns": columns})
    assert release.to_arrow()["x"].to_pylist() == [1, 1, 1, 1, 1, 2.5, 0, 0, 1]


def test_unused_words_of_a_dictionary_are_no_values() -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([1, 2, 1]), pa.array([CANARY, "0", "1"]))
    release = dp.sanitise(pa.table({"x": words}), plan_for({"x": REFUSING["categories of text"]}))
    assert release.rows == 3


TYPES = {
    str(array.type): array
    for array in (
        pa.array(np.array([0, 1, np.nan], np.float16)),
        pa.array([Decimal("1.00"), None]),
        pa.array([datetime(2020, 1, 1), None], pa.timestamp("ns", "UTC")),
        pa.array([2**62]).cast(pa.timestamp("s")),
        pa.array([2**62]).cast(pa.duration("s")),
        pa.array([1], pa.time32("s")),
        pa.array(["0", None]).cast(pa.string_view()),
        pa.array([b"ab"], pa.binary(2)),
        pa.array([["0"], None, []]),
        pa.array([["0"], ["1"]], pa.list_(pa.string(), 1)),
        pa.array([[["0"]]]),
        pa.array([{"a": CANARY}]),
        pa.array([[(CANARY, 1)]], pa.map_(pa.string(), pa.int64())),
        pa.RunEndEncodedArray.from_arrays(pa.array([2]), pa.array([CANARY])),
        pa.array([["z"], ["1", "0"], None])[1:],
        pa.array([9, None, 0])[1:],
        pa.array([], pa.string()),
    )
}


@pytest.mark.filterwarnings("ignore:the table has no rows")
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("treatment", [*TOTAL, "lists", "flags"])
def test_every_type_is_understood_or_refused_in_words(kind: str, treatment: str) -> None:
    items = {"space": "subsets", "values": ["0"], "outside": "clamp", "missing": []}
    columns = {**TOTAL, "lists": items, "flags": {**items, "columns": ["x"]}}
    try:
        release = dp.sanitise(pa.table({"x": TYPES[kind]}), plan_for({"x": columns[treatment]}))
    except InputError as refused:
        assert "column 'x'" in str(refused) and CANARY not in str(refused)
    else:
        assert release.rows == len(TYPES[kind])


def test_an_error_that_nobody_foresaw_is_told_without_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(codec: Any, arrays: Any) -> Any:
        raise ValueError(CANARY)

    monkeypatch.setattr("dproof.columns.codec.CategoryCodec.encode", broken)
    with pytest.raises(InputError, match="column 'read' cannot be read as the plan says") as refused:
        dp.sanitise(pa.table({"read": [1]}), READ)
    assert CANARY not in str(refused.value) and refused.value.__suppress_context__


def test_public_columns_have_one_type_of_text_whatever_the_engine() -> None:
    plan = plan_for({"read": {"space": "categories", "values": [0, 1]}, "word": {"public": True}})
    words = pa.array(["a", None])
    views = (pa.string_view(), pa.binary_view())
    for kind in (pa.string(), pa.large_string(), *views, pa.dictionary(pa.int8(), pa.string())):
        table = pa.table({"read": [0, 1], "word": words.cast(kind)})
        assert dp.sanitise(table, plan).to_arrow().schema.field("word").type == pa.string()


def test_public_columns_that_cannot_be_stored_are_refused_in_words(tmp_path: Path) -> None:
    plan = plan_for({"read": {"space": "categories", "values": [0, 1]}, "word": {"public": True}})
    (tmp_path / "x.csv").write_bytes(b"read,word\n0,\xff\n")
    with pytest.raises(InputError, match="'word' holds bytes that are not UTF-8"):
        dp.sanitise(tmp_path / "x.csv", plan)
    (tmp_path / "parts").mkdir()
    for name, word in (("a", "x"), ("b", 1)):
        pa.parquet.write_table(pa.table({"read": [0], "word": [word]}), tmp_path / "parts" / f"{name}.parquet")
    with pytest.raises(InputError, match="one type in some rows"):
        dp.sanitise(tmp_path / "parts", plan)


def test_public_objects_are_texts_in_every_batch() -> None:
    plan = plan_for({"read": {"space": "categories", "values": [0, 1]}, "word": {"public": True}})
    words = pandas.Series([None] * BATCH_ROWS + [1, "a", ["b", 2.0]], dtype=object)
    stored = dp.sanitise(pandas.DataFrame({"read": 0, "word": words}), {**plan, "order": "keep"}).to_arrow()["word"]
    assert stored.type == pa.string() and stored.to_pylist()[-4:] == [None, "1", "a", '["b", "2"]']


def test_a_source_that_is_gone_is_refused_in_words() -> None:
    connection = duckdb.connect()
    relation = connection.sql("SELECT 0 AS read")
    connection.close()
    for source in (relation, polars.DataFrame({"read": [0]}).lazy().select("write")):
        with pytest.raises(InputError, match="cannot be read"):
            dp.sanitise(source, plan_for({"read": {"space": "categories", "values": [0, 1]}}))


# Files that are not what they should be ------------------------------------------------------------------------------


def _truncated(path: Path) -> None:
    pa.parquet.write_table(pa.table({"x": [CANARY] * 1000, "y": range(1000)}), path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _one_long_line(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"x,y\n" + CANARY.encode())
        file.truncate(1 << 25)  # a sparse file without a line end


def _bytes(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


HOSTILE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "truncated": ("x.parquet", _truncated),
    "no parquet": ("x.parquet", _bytes(CANARY.encode() * 100)),
    "empty parquet": ("x.parquet", _bytes(b"")),
    "empty csv": ("x.csv", _bytes(b"")),
    "ragged": ("x.csv", _bytes(f"x,y\n{CANARY},1\n{CANARY}\n".encode())),
    "one line without an end": ("x.csv", _one_long_line),
    "no ipc": ("x.arrow", _bytes(b"ARROW1\0\0" + CANARY.encode() * 9)),
    "empty ipc": ("x.arrow", _bytes(b"")),
    "no duckdb": ("x.duckdb", _bytes(CANARY.encode() * 4096)),
    "text as header": ("x.csv", _bytes(b"\xff\xfe\x00\x01\n1\n")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_sentence_without_its_content(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dproof.tables.delimited._BLOCKS", (1 << 18, 1 << 20, 1 << 22))  # so that a long line is short
    file, write = HOSTILE[name]
    write(tmp_path / file)
    columns = {c: {"space": "categories", "values": ["0", "1"], "outside": "category"} for c in "xy"}
    with pytest.raises(InputError) as refused:
        dp.sanitise(tmp_path / file, plan_for(columns), tmp_path / "out")
    assert CANARY not in str(refused.value) and "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_invalid_text_in_a_file_is_a_value_outside(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"x\n\xff\xfe\n1\n0\n")
    release = dp.sanitise(tmp_path / "x.csv", plan_for({"x": TOTAL["categories of numbers"]}))
    assert release.rows == 3
    with pytest.raises(InputError, match="a value outside"):
        dp.sanitise(tmp_path / "x.csv", READ | {"columns": {"x": REFUSING["categories of text"]}})


def test_blank_lines_are_missing_values_where_there_is_one_column(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"x\n1\n\n0\n")
    assert dp.sanitise(tmp_path / "x.csv", plan_for({"x": TOTAL["categories of numbers"]})).rows == 3


def test_the_plan_is_certified_before_the_data_is_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="keeps the number of rows"):
        dp.sanitise(tmp_path / "absent.csv", READ | {"privacy": {"epsilon": 1, "neighbours": "add-remove"}})


def test_the_coins_of_a_release_are_private_by_default() -> None:
    assert current().private and dp.sanitise(pa.table({"read": [1]}), READ).private


def test_the_promise_of_the_row_is_the_sum_of_what_its_columns_lose() -> None:
    law = row_law(plan_for({n: {"space": "categories", "values": [0, 1]} for n in "abc"}))
    odds = math.prod((g.mechanism.family.odds(Fraction(0)).value or Fraction(0)) for g in law.groups)
    assert math.log(odds) == pytest.approx(law.tight().epsilon)
    assert law.tight().epsilon <= 1
