"""A public column is copied row by row: nothing that lies beside the rows, in its type or in a dictionary, is."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import InputError, VerificationFailed
from dproof.storage import DATA
from tests.forging import forge

CANARY = "Zanzibar-1723"
PLAN = {
    "privacy": {"epsilon": "1"},
    "columns": {"read": {"space": "categories", "values": [0, 1]}, "note": {"public": True}},
}
_LISTED = pa.array(["a", CANARY, "b"]).dictionary_encode()
_ENDS = pa.array([0, 1, 2, 3], pa.int32())
_NOTE = {"note": CANARY}


class _Added(pa.ExtensionType):  # type: ignore[misc]
    """A type of somebody's own, which says something about itself."""

    def __init__(self, storage: Any) -> None:
        super().__init__(storage, "added")

    def __arrow_ext_serialize__(self) -> bytes:
        return CANARY.encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> _Added:
        return cls(storage)


def _added(array: Any) -> Any:
    return pa.ExtensionArray.from_storage(_Added(array.type), array)


NESTED: dict[str, Callable[[], Any]] = {
    "dictionary": lambda: _LISTED,
    "list": lambda: pa.ListArray.from_arrays(_ENDS, _LISTED),
    "large list": lambda: pa.LargeListArray.from_arrays(_ENDS.cast(pa.int64()), _LISTED),
    "fixed list": lambda: pa.FixedSizeListArray.from_arrays(_LISTED, 1),
    "list view": lambda: pa.ListViewArray.from_arrays(_ENDS[:3], pa.array([1, 1, 1], pa.int32()), _LISTED),
    "struct": lambda: pa.StructArray.from_arrays([_LISTED], ["of"]),
    "map": lambda: pa.MapArray.from_arrays(_ENDS, pa.array(["k"] * 3), _LISTED),
    "keys of a map": lambda: pa.MapArray.from_arrays(_ENDS, _LISTED, pa.array([1, 2, 3])),
    "list of structs": lambda: pa.ListArray.from_arrays(_ENDS, pa.StructArray.from_arrays([_LISTED], ["of"])),
    "dictionary of views": lambda: pa.DictionaryArray.from_arrays(
        _LISTED.indices, pa.array(["a", CANARY, "b"], pa.string_view())
    ),
    "type of one's own": lambda: _added(pa.array(["a", "x", "b"])),
    "type of one's own in a list": lambda: pa.ListArray.from_arrays(_ENDS, _added(pa.array(["a", "x", "b"]))),
    "note in a list": lambda: pa.array([["a"]] * 3, pa.list_(pa.field("item", pa.string(), metadata=_NOTE))),
    "note in a struct": lambda: pa.array([{"of": 1}] * 3, pa.struct([pa.field("of", pa.int64(), metadata=_NOTE)])),
}


def _is_in(text: str, file: Path) -> bool:
    kept = pa.parquet.read_metadata(file).metadata or {}
    schemas = b"".join(base64.b64decode(value) for key, value in kept.items() if key == b"ARROW:schema")
    whole = pa.parquet.ParquetFile(file).read()
    plain = pa.BufferOutputStream()
    pa.parquet.write_table(whole, plain, compression="none")
    return any(text.encode() in part for part in (file.read_bytes(), schemas, plain.getvalue().to_pybytes()))


@pytest.mark.parametrize("column", NESTED.values(), ids=NESTED)
def test_what_lies_beside_the_rows_is_not_stored(tmp_path: Path, column: Callable[[], Any]) -> None:
    table = pa.table({"read": [0, 0, 1], "note": pa.chunked_array([column()])})
    table = pa.concat_tables([table.slice(0, 1), table.slice(2, 1)])  # and the row between them is left out
    release = dp.sanitise(table, PLAN, out=tmp_path / "out")
    assert release.rows == 2 and not _is_in(CANARY, tmp_path / "out" / DATA)
    dp.verify(tmp_path / "out")
    assert CANARY not in str(dp.sanitise(table, PLAN).to_arrow().schema)


def test_categories_that_no_row_has_are_not_stored(tmp_path: Path) -> None:
    texts = ["a", CANARY, "b"]
    frames = [
        pandas.DataFrame({"read": [0, 0, 1], "note": pandas.Categorical(texts)}),
        polars.DataFrame({"read": [0, 0, 1], "note": polars.Series(texts, dtype=polars.Enum(texts))}),
        polars.DataFrame(
            {"read": [0, 0, 1], "note": polars.Series([[t] for t in texts], dtype=polars.List(polars.Enum(texts)))}
        ),
    ]
    for place, frame in enumerate(frames):
        kept = frame.iloc[[0, 2]] if isinstance(frame, pandas.DataFrame) else frame[[0, 2]]
        dp.sanitise(kept, PLAN, out=tmp_path / f"{place}")
        assert not _is_in(CANARY, tmp_path / f"{place}" / DATA)


@pytest.mark.parametrize("kind", ["dictionary", "list", "struct", "map", "list of structs", "note in a list"])
def test_a_stored_file_that_holds_more_than_its_rows_is_refused(tmp_path: Path, kind: str) -> None:
    dp.sanitise(pa.table({"read": [0, 1], "note": ["a", "b"]}), PLAN, out=tmp_path / "out")
    column = NESTED[kind]()
    stored = pa.table({"read": pa.array([0, 1]), "note": pa.concat_arrays([column[:1], column[2:]])})
    pa.parquet.write_table(stored, tmp_path / "out" / DATA, write_statistics=False)
    forge(tmp_path / "out")
    with pytest.raises(VerificationFailed, match="carries something beside its rows"):
        dp.verify(tmp_path / "out")


@pytest.mark.parametrize(
    "column",
    [
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["a", "b"])),
        pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array(["a", "b"]), pa.array([1, 2])]),
        pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval()),
        pa.array([[(1, 2, 3)]] * 2, pa.list_(pa.month_day_nano_interval())),
    ],
    ids=str,
)
def test_a_type_that_cannot_be_stored_is_refused(tmp_path: Path, column: Any) -> None:
    with pytest.raises(
        InputError, match=r"the public column 'note' has the type .*, which is not stored: cast it first"
    ):
        dp.sanitise(pa.table({"read": [0, 1], "note": column}), PLAN, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
