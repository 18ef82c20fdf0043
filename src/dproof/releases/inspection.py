"""Exact figures about a table beside its plan, for the custodian alone: no noise protects them.

What a plan makes of a value is asked of the encoder that a release uses, so both always agree.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dproof.columns.codec import Column, Suggestion, quoted, text_literal, ways_outside
from dproof.columns.sets import HOW_FLAGS_ARE_READ
from dproof.columns.suggestions import date_format, names_a_person, time_format, value_counts, without_rare
from dproof.columns.values import as_numpy, decoded, from_numpy, stored, texts, written
from dproof.errors import InputError, SourceError
from dproof.plans.draft import DraftPlan, name_problems, read_draft, toml_lines
from dproof.plans.plan import Plan
from dproof.plans.reader import read_plan_text, to_toml
from dproof.tables import Source, open_source
from dproof.tables.delimited import doubtful_names
from dproof.tables.source import USUAL

CONFIDENTIAL = (
    "CONFIDENTIAL: no noise protects these figures. They are for whoever holds the table, and for nobody else."
)
_SHOWN = 5  # values of a column
_LONGEST_SHOWN = 60  # characters
_SIGNS = (  # a wrong sign makes 65 of 65,000
    "does the plan have the right bounds, and are `decimal`, `thousands` and `units` under [file] right?"
)
_REPLACEMENT = "\ufffd"  # what stands for bytes that an encoding does not know


@dataclass(frozen=True, slots=True)
class ColumnInspection:
    """How many rows a plan has to do something about, in one column.

    A text that is no number counts as `no_number` and not as `missing`. `undecodable` are those among the values
    outside that are no text in the file's encoding. `values` are the most frequent values outside, or that are no
    numbers, with how many rows have each.
    """

    name: str
    kind: str
    missing: int
    outside: int = 0
    no_number: int = 0
    clamped: int = 0
    undecodable: int = 0
    values: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        figures = {"missing": self.missing, "outside": self.outside, "no number": self.no_number}
        told = [f"{n:,} {what}" for what, n in (figures | {"clamped": self.clamped}).items() if n]
        return f"{self.name} ({self.kind}): {', '.join(told) or 'as the plan says'}"


@dataclass(frozen=True, slots=True)
class Persons:
    """How many persons own the rows, the most rows that one of them has, and how many have more than the plan says."""

    column: str
    persons: int
    most_rows: int
    rows_per_person: int
    above: int


@dataclass(frozen=True, slots=True)
class Suggested:
    """What the table has for the keys of a column that a draft left open: confidential, and to be thought about.

    `keys` has values, most frequent first, or bounds, rounded outwards; nothing where no value could be read. `more` is
    how many other values there are.
    """

    name: str
    open: tuple[str, ...]
    keys: Mapping[str, Any]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a table holds that its plan does not foresee. Confidential: no noise protects it.

    `problems` are what would stop a release: mistakes in the plan, and columns that it and the table do not share. Of a
    plan that is not finished, `suggestions` are what the table has for what is open.
    """

    rows: int
    columns: tuple[ColumnInspection, ...]
    persons: Persons | None
    hints: tuple[str, ...]
    problems: tuple[str, ...] = ()
    suggestions: tuple[Suggested, ...] = ()

    def __repr__(self) -> str:
        lines = [f"<check of {self.rows:,} rows>", CONFIDENTIAL, *self.problems, *map(str, self.columns), *self.hints]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The figures, with a key that says that they are confidential."""
        columns = [
            asdict(column) | {"values": [{"value": value, "rows": rows} for value, rows in column.values]}
            for column in self.columns
        ]
        persons = None if self.persons is None else asdict(self.persons)
        return {
            "confidential": CONFIDENTIAL,
            "rows": self.rows,
            "columns": columns,
            "persons": persons,
            "hints": list(self.hints),
            "problems": list(self.problems),
            "suggestions": [
                {"name": one.name, "open": list(one.open), "keys": _plain(one.keys), "more": one.more}
                for one in self.suggestions
            ],
        }


def check(
    source: Any, plan: Plan | str | os.PathLike[str] | Mapping[str, Any], *, table: str | None = None
) -> Inspection:
    """Count what a plan does not foresee in a table, for its custodian alone: the figures have no noise.

    `source` is a path, a frame or another table of private rows, and `plan` a Plan, its path or a mapping;
    `table` names the table inside a DuckDB file.

    >>> import pyarrow
    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"town": {"space": "categories", "values": ["Bonn"]}}}
    >>> found = check(pyarrow.table({"town": ["Bonn", "Köln", None]}), plan)
    >>> found.rows, found.columns[0].missing, found.columns[0].values
    (3, 1, (('Köln', 1),))
    """
    chosen = _draft_of(plan)
    opened = open_source(source, table, chosen.file)
    present = set(opened.names)
    problems = [*map(str, chosen.problems), *name_problems(chosen.columns, opened.names)]
    # Where the plan does not say who owns the rows, a column that is left out may.
    left_out = [one.name for one in chosen.columns if one.kind == "drop" and names_a_person(one.name)]
    named = left_out if chosen.person is None else [chosen.person]
    person = next((name for name in named if name in present), None)
    unsaid = suppress(SourceError) if chosen.person is None else nullcontext()
    there = [column for column in chosen.columns if column.kind != "drop" and present.issuperset(column.sources)]
    kept = [replace(column, numerals=chosen.file.numerals) for column in there]
    counting = [_ColumnFigures(column, is_open=column.name in chosen.open) for column in kept]
    rows, owners = 0, list[Any]()
    wanted = dict.fromkeys([name for column in kept for name in column.sources] + ([] if person is None else [person]))
    for batch in _batches(opened, list(wanted) or list(opened.names[:1])):
        rows += batch.num_rows
        for counter in counting:
            counter.add([batch.column(name) for name in counter.column.sources])
        with unsaid:
            owners += [] if person is None else [_owners(batch.column(person), person)]
    columns, persons = tuple(counter.finish() for counter in counting), None
    with unsaid:
        persons = None if person is None else _persons(owners, person, chosen.rows_per_person)
    if chosen.person is None and persons is not None and not persons.above:
        persons = None  # each row is a person's
    hints = _hints({column.name: column for column in kept}, chosen, rows, columns, persons)
    found = zip(counting, columns, strict=True)
    suggestions = [_suggested(counter, figures, chosen.open) for counter, figures in found if counter.suggestion]
    return Inspection(rows, columns, persons, tuple(hints), tuple(problems), tuple(suggestions))


def _draft_of(plan: Any) -> DraftPlan:
    """A plan, finished or not."""
    if isinstance(plan, Mapping):
        return read_draft(to_toml(plan))
    if isinstance(plan, (str, os.PathLike)):
        return read_draft(read_plan_text(plan), Path(plan).name)
    return DraftPlan.of(Plan.of(plan))


def _suggested(
    counter: _ColumnFigures, figures: ColumnInspection, open_keys: Mapping[str, tuple[str, ...]]
) -> Suggested:
    name, found = figures.name, counter.suggestion
    assert found is not None
    known = found.keys()
    keys = {key: known[key] for key in open_keys[name] if key in known}
    if keys and figures.missing + figures.no_number and _refuses_missing(counter.column):
        keys["missing"] = "category"
    return Suggested(name, open_keys[name], keys, found.more)


def _plain(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value if isinstance(value, (list, int, float)) else str(value) for key, value in keys.items()}


def _batches(source: Source, columns: Sequence[str]) -> Iterator[Any]:
    """The rows; where they cannot be read the custodian is told the line."""
    try:
        yield from source.read(columns)
    except InputError as refused:
        raise SourceError(source.fault() or str(refused)) from None


class _ColumnFigures:
    """The figures of one column, batch by batch."""

    def __init__(self, column: Column, *, is_open: bool = False) -> None:
        self.column = column
        self.suggestion: Suggestion | None = column.codec.suggestion() if is_open else None
        self._open = is_open
        self._counts: Counter[str] = Counter()
        self._values: Counter[bytes] = Counter()
        if column.private:
            # What would be refused has the code −1: each of these refuses one thing and no other.
            alone = replace(column, invalid_as_null=True)
            self._outside = replace(alone, clamp=False, outside=None, missing=0).encoder()
            self._missing = replace(alone, clamp=True, outside=0, missing=None).encoder()
            strict = replace(alone, clamp=False, missing=0)
            self._flags = [flag.encoder() for flag in strict.codec.flags()]

    def add(self, arrays: Sequence[Any]) -> None:
        column, blank = self.column, _blank(arrays[0])
        if self.suggestion is not None:
            self.suggestion.add(arrays)
        if not column.private:
            self._counts["missing"] += int(blank.sum())
            return
        outside, missing = _refused(self._outside(arrays)), _refused(self._missing(arrays))
        readable = column.codec.noun is None
        no_number = np.zeros_like(missing) if readable else missing & ~blank
        self._counts["missing"] += int((missing & ~no_number).sum())
        self._counts["no_number"] += int(no_number.sum())
        if self._open:  # what is outside is not declared yet
            outside = np.zeros_like(outside)
        self._counts["clamped" if column.clamp else "outside"] += int(outside.sum())
        strange = outside if readable else no_number
        if column.is_one_text and strange.any():
            self._remember(arrays[0], strange)
        for flag, array in () if self._open else zip(self._flags, arrays, strict=False):
            self._remember(array, _refused(flag([array])))

    def _remember(self, array: Any, strange: NDArray[np.bool_]) -> None:
        for value, rows in value_counts(_flat(array).filter(from_numpy(strange))):
            raw = value if isinstance(value, bytes) else written(value).encode("utf-8", "surrogatepass")
            text = raw.decode("utf-8", "replace")
            self._counts["undecodable"] += rows if _REPLACEMENT in text else 0
            self._values[raw[: 4 * _LONGEST_SHOWN]] += rows
        self._values = without_rare(self._values)

    def finish(self) -> ColumnInspection:
        values = [(_shown(raw), rows) for raw, rows in self._values.most_common(_SHOWN)]
        counts = {"missing": 0, **self._counts}
        return ColumnInspection(self.column.name, self.column.kind, values=tuple(values), **counts)


def _refused(codes: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows have the code −1; a curve has one code for each of its points, all alike then."""
    return np.asarray((codes if codes.ndim == 1 else codes[:, 0]).astype(np.int64) < 0)


def _flat(array: Any) -> Any:
    """An array without a dictionary; texts as bytes, for in a file they may be none."""
    array = decoded(stored(texts(array)))  # objects as their texts
    written_out = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary_view)
    return array.cast(pa.large_binary()) if any(check(array.type) for check in written_out) else array


def _blank(array: Any) -> NDArray[np.bool_]:
    """Which values are not there: null, NaN, or an empty text."""
    array = _flat(array)
    blank = as_numpy(array.is_null(nan_is_null=True))
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        blank = blank | (as_numpy(pc.binary_length(array), missing=0) == 0)
    return blank


def _shown(raw: bytes) -> str:
    """A value as text that any terminal can show, with escapes for the rest, cut where it is long."""
    text = raw.decode("utf-8", "backslashreplace")
    text = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _owners(array: Any, column: str) -> Any:
    """The persons that some rows name, with how many each has."""
    try:
        return _flat(array).value_counts()
    except pa.ArrowNotImplementedError:
        raise SourceError(
            f"the column {column!r} names persons in the type {array.type}: give each a text, or each a number"
        ) from None


def _persons(owners: Sequence[Any], column: str, rows_per_person: int) -> Persons:
    """How many rows persons have; those that name nobody are one person's, as for a curator."""
    if not owners:
        return Persons(column, 0, 0, rows_per_person, 0)
    try:
        names = pa.chunked_array([part.field("values") for part in owners])
    except pa.ArrowException:
        raise SourceError(
            f"the column {column!r} names persons in several types: give each a text, or each a number"
        ) from None
    counts = pa.chunked_array([part.field("counts") for part in owners])
    rows = pa.table({"person": names, "rows": counts}).group_by("person").aggregate([("rows", "sum")])["rows_sum"]
    each = as_numpy(rows)
    return Persons(column, len(each), int(each.max(initial=0)), rows_per_person, int((each > rows_per_person).sum()))


def _hints(
    read: Mapping[str, Column],
    plan: DraftPlan,
    rows: int,
    columns: Sequence[ColumnInspection],
    persons: Persons | None,
) -> list[str]:
    """What to look at, in words."""
    hints = [] if rows else ["The table has no rows."]
    for counts in columns:
        hints += _hints_on(read[counts.name], counts, rows, plan.file.encoding)
    stopping: dict[str, list[str]] = {}  # columns whose values outside stop a release, by what else can become of these
    for column in (read[c.name] for c in columns if c.outside):
        if column.private and column.outside is None and not column.codec.flags():
            ways = "".join(f', or set outside = "{way}"' for way in ways_outside(column.codec.keys))
            stopping.setdefault(ways, []).append(repr(column.name))
    for ways, names in stopping.items():
        its = "its space" if len(names) == 1 else "their spaces"
        hints.append(f"Values of {', '.join(names)} outside {its} stop `sanitise`: declare them{ways}.")
    # Where no text at all can be read, what stands for it is no way out.
    some = [c for c in columns if c.missing or 0 < c.no_number < rows]
    blank = [repr(c.name) for c in some if _refuses_missing(read[c.name])]
    if blank:
        them = "it" if len(blank) == 1 else "each"
        hints.append(
            f'Missing values of {", ".join(blank)} stop `sanitise`: for {them} write missing = "category", which keeps '
            "them as a value of their own, or what stands for them."
        )
    if persons is not None and persons.above:
        named = toml_lines("", {"": persons.column}, bare=True)
        hints.append(
            "Some persons have more rows than rows_per_person: a central release and `dproof ask` count no more of "
            "them, and a local release protects no more. Raise it where that is too few."
            if plan.person is not None or plan.rows_per_person > 1
            else "Some persons have several rows, and the plan protects each row as a person of its own: write "
            f"person = {named}, and rows_per_person with how many of them count, under [privacy]."
        )
    return hints


def _hints_on(column: Column, counts: ColumnInspection, rows: int, encoding: str) -> list[str]:
    """What to look at in one column, in words."""
    hints, name, present = list[str](), repr(counts.name), rows - counts.missing
    flags = column.private and column.codec.flags()
    signed = column.private and column.space.line is not None and column.space.has_sums  # plain numbers, no dates
    if counts.undecodable:
        hints.append(
            f"Some values of {name} are not {encoding} text: is `encoding` under [file] right? "
            'Files from Windows often have "cp1252".'
        )
    elif flags:
        if counts.outside or counts.clamped:
            hints.append(
                f"Some flags of {name} are neither ticked nor unticked: {HOW_FLAGS_ARE_READ}. Write the text of "
                "each option in `values`, in the order of `columns`."
            )
        else:
            items = [str(item) for item in column.space.without_missing.values]
            hints.append(
                f"{column.sources[0]!r} to {column.sources[-1]!r} are {len(items)} items of {name} now, and no "
                f"columns by themselves: ask list_contains({quoted(counts.name)}, {text_literal(items[0])})."
            )
    elif (twins := _twins(column, counts)) is not None:
        hints.append(twins)
    elif counts.outside > present / 2:
        asked = _SIGNS if signed else "are all values in the plan, and is the encoding right?"
        hints.append(f"Most values of {name} are outside: {asked}")
    if any(r"\n" in value for value, _ in counts.values):
        hints.append(f"A value of {name} has line breaks in it: is there a quote in the file that never closes?")
    if counts.no_number:
        hints.append(_unreadable(column, counts, present))
    if counts.clamped > present / 2 and not flags:
        asked = _SIGNS if signed else "does the plan have the right bounds or values?"
        hints.append(f"Most values of {name} are clamped: {asked}")
    if rows and counts.missing == rows:
        hints.append(f"All values of {name} are missing: is this the right column, and the right [file]?")
    return hints


def _twins(column: Column, counts: ColumnInspection) -> str | None:
    """A value outside that is a declared one but for blanks at its ends, or for capital letters."""
    if not column.private or column.space.labels is None or column.space.items is not None:
        return None
    declared = {str(label).strip().casefold(): str(label) for label in column.space.labels if label is not None}
    for value, rows in counts.values:
        meant = declared.get(value.strip().casefold())
        if meant is not None and meant != value:
            how = "but for a blank" if meant.strip() == value.strip() else "in other letters"
            told = f"{rows:,} values of {counts.name!r} are {value!r}, which is {meant!r} {how}: "
            return told + "declare it as the table has it, or mend the table."
    return None


def _refuses_missing(column: Column) -> bool:
    return column.private and column.missing is None


def _unreadable(column: Column, counts: ColumnInspection, present: int) -> str:
    """What to do about texts that are no numbers, or no dates."""
    noun, name = column.codec.noun, repr(counts.name)
    shown = [value for value, _ in counts.values]
    for kind, form in (("date", date_format), ("time", time_format)) if shown else ():
        found, written = form(shown)
        if found and noun == kind and written not in (None, column.date_format) and 2 * counts.no_number > present:
            return f'The {kind}s of {name} look like {shown[0]}: add format = "{written}" to its table in the plan.'
        if found and noun != kind == "time":
            return f'{name} holds times of day: write space = "time", low = "00:00" and high = "23:59".'
    if counts.no_number >= present > 0:
        advice = column.codec.unreadable_advice
        return f"All values of {name} are not {noun}s, and would be missing: is its space right; {advice}"
    if noun == "number" and not any(sign.isdecimal() for value in shown for sign in value):
        return f"Some values of {name} are not {noun}s, but words: they count as missing."
    return f"Some values of {name} are not {noun}s: {column.codec.unreadable_advice}"


@dataclass(frozen=True, slots=True)
class Header:
    """The names of a table's columns, and those that look like values: is the first line a person's?"""

    names: tuple[str, ...]
    doubtful: tuple[str, ...]


def header(source: Any, plan: Plan | str | os.PathLike[str] | Mapping[str, Any] | None = None) -> Header:
    """The header of a table, read as a plan says; of a file of texts a few rows are compared with it.

    A plan is public, and so are the names in it: what is doubtful is for the custodian alone.

    `source` is a path, a frame or another table; `plan` says how a text file is written.
    """
    opened = open_source(source, None, USUAL if plan is None else Plan.of(plan).file)
    return Header(opened.names, doubtful_names(opened, look=True))
