"""What a stored Parquet file says beside its rows: nothing but what its writer, Arrow or Spark, says of itself.

A reader of the file sees such texts, and no law gives them, so they may be somebody's data.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from dproof.coins import NOT_PRIVATE
from dproof.errors import VerificationFailed

SEEDED = {b"dproof": NOT_PRIVATE.encode()}

_ARROW = b"ARROW:schema"
_SPARK, _FIELDS = b"org.apache.spark.version", b"org.apache.spark.sql.parquet.row.metadata"
# With spark.sql.parquet.datetimeRebaseModeInWrite = LEGACY the file says so, and names the session's time zone.
_LEGACY, _ZONE = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"), b"org.apache.spark.timeZone"
_VERSION = r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}(-[A-Za-z0-9.-]{1,24})?"  # those who build Spark themselves add a word
_BY_ARROW = f"parquet-cpp-arrow version {_VERSION}"
_BY_SPARK = f"parquet-mr version {_VERSION}( \\(build [0-9a-f]{{1,40}}\\))?"
_SPARK_TYPES = (
    r"string|boolean|byte|short|integer|long|float|double|date|timestamp|timestamp_ntz|binary|decimal\([0-9]+,[0-9]+\)"
    r"|interval day to second|variant|geo(metry|graphy)\([A-Z]{1,5}:[A-Z0-9]{1,8}(, SPHERICAL)?\)"
)
_SANITISED = {pa.string(): "string", pa.bool_(): "boolean", pa.int64(): "long", pa.float64(): "double"}


def check_metadata(stored: Any, public: list[str], marks: Sequence[dict[bytes, bytes]] = ({}, SEEDED)) -> None:
    """Refuse a Parquet file that carries a text of its own beside the rows; what the text says is not told.

    It may carry one of the `marks` that dproof sets. The types of public columns are the source's, with whatever names
    stand inside them, but without dictionaries: these could list values that no row has.
    """
    about = stored.metadata
    noted = dict(about.metadata or {})
    by_arrow = re.fullmatch(_BY_ARROW, about.created_by) is not None
    _require(by_arrow or re.fullmatch(_BY_SPARK, about.created_by) is not None)
    schemas = [stored.schema_arrow]
    if by_arrow and _ARROW in noted:
        schemas.append(pa.ipc.read_schema(pa.py_buffer(base64.b64decode(noted.pop(_ARROW), validate=True))))
    for schema in schemas:
        _require(schema.names == stored.schema_arrow.names)
        _require((schema.metadata or {}).items() <= noted.items())
        for field in schema:
            _require(not field.metadata and not _noted(field.type))
            _require(field.name not in public or not _listed(field.type))
    if by_arrow:
        _require(noted in marks)
    else:
        _check_spark(noted, stored.schema_arrow, public)
    for place in range(about.num_row_groups):
        group = about.row_group(place)
        for chunk in map(group.column, range(group.num_columns)):
            # dproof has Arrow write no statistics; Spark always does.
            _require(not getattr(chunk, "metadata", None) and not (by_arrow and chunk.is_stats_set))
            # Others could unpack to a thousand times their size.
            _require(not by_arrow or chunk.compression in ("SNAPPY", "UNCOMPRESSED"))


def _require(condition: bool) -> None:
    if not condition:
        raise VerificationFailed("a stored file carries something beside its rows that dproof did not write")


def _noted(kind: Any) -> bool:
    """Whether a field inside a type, such as the items of a list, carries a note."""
    inside = [kind.field(place) for place in range(kind.num_fields)]
    return any(field.metadata or _noted(field.type) for field in inside)


def _listed(kind: Any) -> bool:
    """Whether a type has a dictionary anywhere in it."""
    return pa.types.is_dictionary(kind) or any(_listed(kind.field(place).type) for place in range(kind.num_fields))


def _check_spark(noted: dict[bytes, bytes], schema: Any, public: list[str]) -> None:
    """What Spark says of itself: its version, its schema, and how it writes dates."""
    if zone := noted.pop(_ZONE, b"").decode():
        from zoneinfo import available_timezones  # looks through a folder

        _require(re.fullmatch("[+-][0-9]{2}:[0-9]{2}", zone) is not None or zone in available_timezones())
    _require(not any(noted.pop(key, b"") for key in _LEGACY))
    _require(noted.keys() == {_SPARK, _FIELDS} and re.fullmatch(_VERSION, noted[_SPARK].decode()) is not None)
    _check_spark_schema(noted[_FIELDS].decode(), schema, public)


def _check_spark_schema(text: str, schema: Any, public: list[str]) -> None:
    """Spark's own schema, in JSON: the columns, with the types of the file, or for public ones types that are known."""

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

    def sanitised(kind: Any) -> Any:
        if not pa.types.is_list(kind):
            return _SANITISED.get(kind)
        return {"type": "array", "elementType": sanitised(kind.value_type), "containsNull": kind.value_field.nullable}

    said = json.loads(text, object_pairs_hook=once)
    _require(known(said) and isinstance(said, dict) and said["type"] == "struct")
    _require([field["name"] for field in said["fields"]] == schema.names and len(text) <= len(json.dumps(said)))
    for field in said["fields"]:
        _require(field["name"] in public or field["type"] == sanitised(schema.field(field["name"]).type))
