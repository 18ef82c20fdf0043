"""What a stored Parquet file says beside its rows: nothing but what its writer, Arrow or Spark, says of itself.

A reader of the file sees such texts, and no law gives them, so they may be somebody's data.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from dproof.errors import VerificationFailed

SEEDED = {b"dproof": b"NOT PRIVATE: drawn with seeded coins"}

_ARROW, _SPARK, _FIELDS = b"ARROW:schema", b"org.apache.spark.version", b"org.apache.spark.sql.parquet.row.metadata"
_VERSION = r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}(-[A-Za-z0-9.-]{1,24})?"  # those who build Spark themselves add a word
_BY_ARROW = f"parquet-cpp-arrow version {_VERSION}"
_BY_SPARK = f"parquet-mr version {_VERSION}( \\(build [0-9a-f]{{1,40}}\\))?"
_SPARK_TYPES = (
    r"string|boolean|byte|short|integer|long|float|double|date|timestamp|timestamp_ntz|binary|decimal\([0-9]+,[0-9]+\)"
)


def check_metadata(stored: Any, public: list[str]) -> None:
    """Refuse a Parquet file that carries a text of its own beside the rows; what the text says is not told.

    The types of public columns are the source's, with whatever names and notes stand inside them.
    """
    about = stored.metadata
    noted = dict(about.metadata or {})
    by_arrow = re.fullmatch(_BY_ARROW, about.created_by) is not None
    _require(by_arrow or re.fullmatch(_BY_SPARK, about.created_by) is not None)
    schemas = [stored.schema_arrow]
    if _ARROW in noted:
        schemas.append(pa.ipc.read_schema(pa.py_buffer(base64.b64decode(noted.pop(_ARROW), validate=True))))
    for schema in schemas:
        _require(schema.names == stored.schema_arrow.names)
        _require((schema.metadata or {}).items() <= noted.items())
        for field in schema:
            _require(not field.metadata and (field.name in public or not _noted(field.type)))
    version, fields = noted.pop(_SPARK, None), noted.pop(_FIELDS, None)
    _require(noted in ({}, SEEDED))
    _require(version is None or re.fullmatch(_VERSION, version.decode()) is not None)
    if fields is not None:
        _check_spark(fields.decode(), stored.schema_arrow.names)
    for place in range(about.num_row_groups):
        group = about.row_group(place)
        for chunk in map(group.column, range(group.num_columns)):
            # dproof has Arrow write no statistics; Spark always does.
            _require(not getattr(chunk, "metadata", None) and not (by_arrow and chunk.is_stats_set))


def _require(condition: bool) -> None:
    if not condition:
        raise VerificationFailed("a stored file carries something beside its rows that dproof did not write")


def _noted(kind: Any) -> bool:
    """Whether a field inside a type, such as the items of a list, carries a note."""
    inside = [kind.field(place) for place in range(kind.num_fields)]
    return any(field.metadata or _noted(field.type) for field in inside)


def _check_spark(text: str, names: list[str]) -> None:
    """Spark's own schema, in JSON: the names of the columns, and types that are known."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _require(len(dict(pairs)) == len(pairs))
        return dict(pairs)

    def known(kind: Any) -> bool:
        if isinstance(kind, str):
            return re.fullmatch(_SPARK_TYPES, kind) is not None
        match kind:
            case {"type": "array", "elementType": item, "containsNull": bool(), **rest}:
                return not rest and known(item)
            case {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": bool(), **rest}:
                return not rest and known(key) and known(value)
            case {"type": "struct", "fields": [*fields], **rest}:
                return not rest and all(map(plain, fields))
        return False

    def plain(field: Any) -> bool:
        match field:
            case {"name": str(), "type": kind, "nullable": bool(), "metadata": dict() as notes, **rest}:
                return not rest and not notes and known(kind)
        return False

    found = json.loads(text, object_pairs_hook=once)
    _require(known(found) and isinstance(found, dict) and found["type"] == "struct")
    _require([field["name"] for field in found["fields"]] == names and len(text) <= len(json.dumps(found)))
