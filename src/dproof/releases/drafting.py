"""A draft of a plan for a table, from the names and types of its columns, and with a look from the kinds of values;
and the notebook that goes with a plan.

A look keeps nothing of a value: only which kind most of a column's values are, and with which signs they are written.
Columns whose names belong together are drafted as one: boxes to tick as a set, numbered ones as a curve.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from dproof.arguments import as_path, mapping
from dproof.columns.codec import CODECS, codec_class, ways_outside
from dproof.columns.suggestions import Kind, kind_of, names_a_person, names_its_rows, seen_numerals
from dproof.columns.values import decoded
from dproof.errors import ArgumentError, InputError, PlanError, SourceError
from dproof.plans.draft import LINE_WIDTH, USUAL_TABLES, toml_lines
from dproof.plans.reader import SPACES, MisplacedKey, Reader, read_layout, to_toml
from dproof.spaces.categories import WORD
from dproof.tables import Source, open_source
from dproof.tables.delimited import (
    doubtful_names,
    header_encoding,
    header_line,
    separator_of,
    title_lines,
    unpacked,
    usual_separator,
)
from dproof.tables.engines import files_of
from dproof.tables.source import USUAL, Layout, ending
from dproof.tables.workbook import titles_of_sheet

if TYPE_CHECKING:
    from dproof.releases.inspection import ColumnInspection
import tomllib
from pprint import pformat

from dproof.arguments import expect, whole
from dproof.columns.codec import quoted
from dproof.limits import MOST_EXPECTED_ROWS
from dproof.plans.plan import Plan

_SAMPLE_ROWS = 10_000  # rows
_SAMPLE_BYTES = 1 << 20
_LEAST_BLANK, _BLANK_SHARE = 10, 0.01  # rows of the sample: fewer are left to `dproof check`
_LEAST_POINTS = 6  # of columns that are numbered like h00, h01: fewer are rather questions than a curve
_LEAST_BOXES = 3  # whose names have a stem in common, such as owns_car, owns_bike, owns_boat
USUAL_ROWS = 3  # of a person
_CALLED_ID = "an id or a name, as it is called"
_NUMBERED = re.compile(r"(?P<stem>.*?[^0-9.])(?P<number>\d+(\.\d+)?)")
_STEM = re.compile(r"(?P<stem>.+?)[ _.:]+(?P<item>[^ _.:].*)")

Model = Literal["central", "local"]


@dataclass(frozen=True, slots=True)
class DraftedColumn:
    """What a draft writes for a column of a plan: the kind that it seems to be, its keys, and comments around them.

    `sources` are the columns of the table that it stands for.
    """

    name: str
    kind: str
    keys: Mapping[str, Any]
    sources: tuple[str, ...]
    above: str = ""
    beside: str = ""
    below: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Its table in the plan."""
        head, first, rest = toml_lines(self.name, self.keys).split("\n", 2)
        beside = f"    # {self.beside}" if self.beside else ""
        below = "".join(f"# {line}\n" for line in self.below)
        return f"{comment(self.above)}{head}\n{first}{beside}\n{rest}{below}"


@dataclass(frozen=True, slots=True)
class TableDraft:
    """The columns that a draft has, and how the file is written; `looked` where rows were read for it.

    `doubtful` are names that look like values: is the first line a person's? `repeated` are columns with a value that
    stands in several rows.
    """

    columns: tuple[DraftedColumn, ...]
    layout: Layout
    looked: bool
    doubtful: tuple[str, ...]
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    repeated: frozenset[str] = frozenset()

    @property
    def person(self) -> str | None:
        """The column that may name the person of each row."""
        return next((c.name for c in self.columns if c.beside == _CALLED_ID and names_a_person(c.name)), None)

    @property
    def has_several_rows(self) -> bool:
        """Whether a person was seen in several rows."""
        return self.person in self.repeated

    @property
    def promise(self) -> dict[str, Any]:
        """What a plan says under [privacy] of persons with several rows; nothing where none was seen."""
        return {"person": self.person, "rows_per_person": USUAL_ROWS} if self.has_several_rows else {}


def draft(
    data: Path | str, *, table: str | None = None, look: bool = False, file: Mapping[str, Any] | None = None
) -> TableDraft:
    """The draft of a plan for a table; with `look` some rows are read, and it is confidential until it is checked.

    `file` is what is known of how the file is written, as a plan says it under [file]; the rest is as it seems.
    """
    known = file or {}
    try:
        layout = read_layout(Reader(known, ("file",)))
    except MisplacedKey as error:
        raise PlanError(str(error)) from None
    layout = _seen_layout(data, table, look, layout, known) if isinstance(data, Path) else layout
    source = open_source(data, table, layout)
    kinds = {name: Kind(kind) for name, kind in _types(source).items()}
    if look:
        try:
            texts, blank = _sample(source)
        except InputError as refused:  # whoever looks may be told the line
            raise SourceError(source.fault() or str(refused)) from None
        if not source.typed:
            given = {
                sign: getattr(layout.numerals, sign) for sign in ("decimal", "thousands", "units") if sign in known
            }
            layout = replace(layout, numerals=seen_numerals(texts, layout.separator or ",", given))
        for name, found in texts.items():
            seen = kind_of(found, layout.numerals)
            kinds[name] = replace(seen, type=kinds[name].type if seen.type is None else seen.type)
        kinds = {name: replace(kind, blank=name in blank) for name, kind in kinds.items()}
    columns = tuple(
        replace(column, above=f"{_REPEATED} {column.above}".strip())
        if set(source.repeated) & set(column.sources)
        else column
        for column in _columns(kinds, look, texts if look else {})
    )
    repeated = frozenset(name for name, found in texts.items() if len({*found}) < len(found)) if look else frozenset()
    return TableDraft(columns, layout, look, doubtful_names(source, look=look), kinds, repeated)


@dataclass(frozen=True, slots=True)
class FirstDraft:
    """A plan to begin with, as nested mappings, and what a person should know of it.

    `seen` are the columns whose values or bounds come from the rows: they are confidential until a person has checked
    them. `notes` says what is doubtful of a column, and `doubtful` are names that look like values. `rows` is about how
    many there are, to two digits, where they were read.
    """

    plan: Mapping[str, Any]
    seen: tuple[str, ...]
    notes: Mapping[str, str]
    doubtful: tuple[str, ...]
    rows: int | None = None


def draft_plan(
    data: str | os.PathLike[str], *, look: bool = False, file: Mapping[str, Any] | None = None
) -> FirstDraft:
    """A plan to begin with for a file: from its header or, with `look`, from all of its rows, which is confidential.

    With a look nothing is left open where a value could be read, and nothing that the rows hold stops a release: what
    may be missing is a value of its own. `data` is the path of a table, and `file` what a plan says of how it is
    written, under [file], as far as that is known.
    """
    from dproof.releases.inspection import check  # which reads every row, where this reads the first ones

    path = as_path(data, "data")
    file = {} if file is None else mapping(file, "file", "what a plan says under [file]")
    if any(not isinstance(key, str) for key in file):
        raise ArgumentError("each key of file must be a text, as under [file] in a plan")
    drafted = draft(path, look=look, file=file)
    columns = {column.name: dict(column.keys) for column in drafted.columns}
    given = file_keys(drafted.layout)
    promise = {"model": "central", "epsilon": "1", "delta": "1e-6", "neighbours": "change-one", **drafted.promise}
    rest = {"privacy": promise, **({"file": given} if given else {}), "release": dict(USUAL_TABLES)}
    notes = {column.name: _note(column, drafted.kinds.get(column.name)) for column in drafted.columns}
    seen, rows = {column.name for column in drafted.columns if column.kind == "yes/no"}, None
    if look and any("space" in keys for keys in columns.values()):
        inspected = check(path, {**rest, "columns": columns})
        rows = round(inspected.rows, 2 - len(str(inspected.rows)))
        for suggestion in inspected.suggestions:
            columns[suggestion.name] |= suggestion.keys
            seen.add(suggestion.name)
            if suggestion.more:
                more = f"{suggestion.more:,} more values were seen, which count as other."
                notes[suggestion.name] = f"{more} {notes[suggestion.name]}".strip()
                columns[suggestion.name]["outside"] = _kept_outside(columns[suggestion.name])
        for figures in inspected.columns:
            if figures.missing + figures.no_number:
                columns[figures.name].setdefault("missing", "category")
            if figures.outside and len(columns[figures.name].get("columns", ())) < 2:
                columns[figures.name] |= _with_outside(columns[figures.name], figures)
    told = {name: note for name, note in notes.items() if note}
    return FirstDraft(
        {**rest, "columns": columns}, tuple(n for n in columns if n in seen), told, drafted.doubtful, rows
    )


def _note(column: DraftedColumn, kind: Kind | None) -> str:
    """What a person should decide about a column, in words that need no plan."""
    maybe = column.above.partition(": then one set")[0].rstrip(".")
    dropped = column.beside if "drop" in column.keys else ""
    codes = "These are few whole numbers: are they codes, which are categories?" if kind and kind.few else ""
    return " ".join(
        f"{text[0].upper()}{text[1:]}{'' if text[-1] in '.?' else '.'}" for text in (maybe, dropped, codes) if text
    )


def _with_outside(keys: Mapping[str, Any], figures: ColumnInspection) -> dict[str, Any]:
    """The values of a column with those that are outside; where there are more of these, they stop nothing."""
    outside = [text for text, _ in figures.values]
    kept = {} if sum(rows for _, rows in figures.values) == figures.outside else {"outside": _kept_outside(keys)}
    return {"values": [*map(str, keys.get("values", ())), *outside], **kept}


def _kept_outside(keys: Mapping[str, Any]) -> str:
    """What a plan says of values outside, so that they stop nothing."""
    return ways_outside(codec_class(SPACES[keys["space"]]).keys)[0]


# The file ------------------------------------------------------------------------------------------------------------


def _seen_layout(data: Path, table: str | None, look: bool, layout: Layout, known: Container[str]) -> Layout:
    """What is not known of how a file is written, as far as its header shows it, or its first rows."""
    path = files_of(data)[0] if data.is_dir() else data
    if not path.exists():
        return layout
    if ending(path) == ".xlsx":
        layout = replace(layout, sheet=layout.sheet if table is None else table)
        return replace(layout, header=titles_of_sheet(path, layout) + 1) if look and "header" not in known else layout
    if not ending(path).startswith((".csv", ".tsv")):
        return layout
    if "encoding" not in known:
        encoding = header_encoding(path, layout.header - 1)
        layout = replace(layout, encoding=_seen_encoding(path, encoding) if look else encoding)
    if look and "header" not in known:
        layout = replace(layout, header=title_lines(path, layout.encoding, layout.separator) + 1)
    if "separator" not in known:
        header = header_line(path, layout.encoding, layout.header - 1).decode("utf-8", "replace")
        separator = separator_of(header, path)
        layout = replace(layout, separator=None if separator == usual_separator(path) else separator)
    return layout


def _seen_encoding(path: Path, encoding: str) -> str:
    """The encoding of the header, or the usual one of Windows where bytes in the first rows are not in it."""
    with unpacked(path) as file:
        start = file.read(_SAMPLE_BYTES)
    try:
        codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError:
        return "cp1252"
    return encoding


def _types(source: Source) -> dict[str, Any]:
    """The Arrow type of each column."""
    first = next(iter(source.read(source.names)), None) if source.typed else None  # texts have no types to look at
    types = dict.fromkeys(source.names, pa.string())
    return types if first is None else types | {field.name: field.type for field in first.schema}


def _sample(source: Source) -> tuple[dict[str, list[str]], set[str]]:
    """The texts in the first rows of each column of texts or whole numbers, none that are blank; and the columns of
    which so many are blank that it tells of no one."""
    texts: dict[str, list[str]] = {}
    blank: set[str] = set()
    batch = next(iter(source.read(source.names)), None)
    for name, array in () if batch is None else zip(source.names, batch.slice(0, _SAMPLE_ROWS).columns, strict=True):
        array = decoded(array)
        present = len(array) - array.null_count
        if pa.types.is_integer(array.type):
            texts[name] = [str(value) for value in array.to_pylist() if value is not None]
        elif pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_binary(array.type):
            values = array.cast(pa.large_binary()).to_pylist()
            found = (value.decode("utf-8", "replace").strip() for value in values if value is not None)
            texts[name] = [text for text in found if text]
            present = len(texts[name])
        if len(array) - present >= max(_LEAST_BLANK, _BLANK_SHARE * len(array)):
            blank.add(name)
    return texts, blank


# The columns ---------------------------------------------------------------------------------------------------------


def _columns(kinds: Mapping[str, Kind], look: bool, texts: Mapping[str, Sequence[str]]) -> Iterator[DraftedColumn]:
    """Each column where it stands; those that are drafted as one where the first of them does."""
    names = [name for name in kinds if name]
    joined = [*_boxes(names, kinds, look, texts), *_curves(names, kinds, look)]
    first = {several.sources[0]: several for several in joined}
    taken = {name for several in joined for name in several.sources}
    maybe = _maybe_boxes([name for name in names if name not in taken], kinds, look)
    for name, kind in kinds.items():
        if name in first:
            yield first[name]
        elif name not in taken:
            column = _column(name, kind)
            yield replace(column, above=f"{column.above} {maybe[name]}".strip()) if name in maybe else column


def _column(name: str, kind: Kind) -> DraftedColumn:
    """What is drafted for one column by itself."""
    if not name:
        return DraftedColumn(name, "nameless", {"drop": True}, (name,), beside="a column without a name")
    if kind.marks is not None:
        keys = {"space": "categories", "values": list(kind.marks), **_missing(kind)}
        below = (_BLANK,) * kind.blank
        return DraftedColumn(name, "yes/no", keys, (name,), beside="only these were seen: check them", below=below)
    if kind.different and pa.types.is_floating(kind.type):
        return DraftedColumn(name, "drop", {"drop": True}, (name,), beside="it numbers the rows")
    if names_its_rows(name):
        return DraftedColumn(name, "drop", {"drop": True}, (name,), beside=_CALLED_ID)
    if kind.different:
        why = "nearly all differ: an id, a name, free text?"
        return DraftedColumn(name, "drop", {"drop": True}, (name,), beside=why)
    if kind.separator is not None:
        keys = {"space": "subsets", "separator": kind.separator, "values": []}
        return DraftedColumn(name, "subsets", keys, (name,))
    # Spaces that were added with a codec of their own come first; categories, which text is drafted as, come last.
    own = (space for space in reversed(SPACES) if SPACES[space] in CODECS)
    drafts = ((space, codec_class(SPACES[space]).draft(kind.type)) for space in own)
    space, drafted = next((space, one) for space, one in drafts if one is not None)
    known = codec_class(SPACES[space]).keys
    keys = {"space": space, **drafted.keys}
    if kind.scale and any(key.name == "step" for key in known):
        keys["step"] = 1  # else 3 of 1 to 5 lies with 3.4 in a bin
    notes: list[str] = []
    if kind.date_format is not None:
        if any(key.name == "format" for key in known):
            keys["format"] = kind.date_format
        else:
            notes.append(f'the table has them as format = "{kind.date_format}"')
    if any(key.name == "missing" for key in known):
        keys |= _missing(kind)
    notes = [_BLANK] * ("missing" in keys) + notes
    notes += [
        key.draft for key in known if key.draft and not (key.draft.startswith(f"{key.name} =") and key.name in keys)
    ]
    if pa.types.is_timestamp(kind.type or pa.null()):
        notes += ["the time of day is cut off; to ask by the hour as well, add", *_by_the_hour(name, kind)]
    codes = 'or codes? Then "categories", with values = []' if kind.few else ""
    return DraftedColumn(name, drafted.kind, keys, (name,), "", codes, tuple(notes))


def _by_the_hour(name: str, kind: Kind) -> list[str]:
    """The lines of a plan for the times of day in a column of dates."""
    written = {} if kind.date_format is None else {"format": kind.date_format}
    keys = {
        "space": "time",
        "columns": [name],
        **codec_class(SPACES["time"]).closing,
        "bins": "hours",
        **written,
        **_missing(kind),
    }
    return toml_lines(f"{name}_time", keys).splitlines()


_BLANK = "some are blank"


def _missing(kind: Kind) -> dict[str, Any]:
    """What a plan says of a column of which some are blank: that these are a value of their own."""
    return {"missing": "category"} if kind.blank else {}


def _boxes(
    names: Sequence[str], kinds: Mapping[str, Kind], look: bool, texts: Mapping[str, Sequence[str]]
) -> Iterator[DraftedColumn]:
    """Sets whose items have a column each: `Sides? - Corn`, and columns of yes and no with a stem in common."""
    for stem, some in groupby(names, lambda name: name.rpartition(" - ")[0]):
        items = {name: name.rpartition(" - ")[2] for name in some} if stem else {}
        if look:
            items = {name: item for name, item in items.items() if _is_ticked(kinds[name], item, name, texts[name])}
        if 2 <= len(items) <= WORD:
            yield _set(stem, items, names)
    for stem, alike in _alike([name for name in names if " - " not in name]).items():
        items = {name: item for name, item in alike.items() if _is_mark(kinds[name])}
        if _LEAST_BOXES <= len(items) <= WORD:
            yield _set(stem, items, names)


def _set(stem: str, items: Mapping[str, str], names: Sequence[str]) -> DraftedColumn:
    keys = {"space": "subsets", "values": list(items.values()), "columns": list(items), "missing": []}
    above = "Boxes of one question, as they are called: a set, which is empty where no box is ticked."
    return DraftedColumn(_free(stem, names), "subsets", keys, tuple(items), above)


def _alike(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Names that stand together and have a stem in common, by the stem, each with the rest of it."""
    found: dict[str, dict[str, str]] = {}
    for stem, some in groupby(names, lambda name: match["stem"] if (match := _STEM.fullmatch(name)) else ""):
        alike = list(some)
        if stem and len(alike) >= _LEAST_BOXES:
            found[stem] = {name: name[len(stem) :].lstrip(" _.:") for name in alike}
    return found


def _is_mark(kind: Kind) -> bool:
    return kind.marks is not None or (kind.type is not None and pa.types.is_boolean(kind.type))


def _is_ticked(kind: Kind, item: str, name: str, texts: Sequence[str]) -> bool:
    """Whether a column holds nothing but marks, or the text of its item."""
    return _is_mark(kind) or {text.casefold() for text in texts} <= {item.strip().casefold(), name.strip().casefold()}


def _maybe_boxes(names: Sequence[str], kinds: Mapping[str, Kind], look: bool) -> dict[str, str]:
    """What is said above the first of columns that may be the boxes of one question."""
    if look:
        runs = (list(run) for marked, run in groupby(names, lambda name: _is_mark(kinds[name])) if marked)
    else:
        runs = (list(alike) for alike in _alike(names).values())
    told = 'The {} columns from here to {} may be boxes of one question: then one set, space = "subsets", columns = {}.'
    return {
        run[0]: told.format(len(run), repr(run[-1]), json.dumps(run, ensure_ascii=False))
        for run in runs
        if len(run) >= _LEAST_BOXES
    }


def _curves(names: Sequence[str], kinds: Mapping[str, Kind], look: bool) -> Iterator[DraftedColumn]:
    """Curves whose points have a column each, numbered upwards: h00, h01 and so on."""
    matches = [_NUMBERED.fullmatch(name) for name in names]
    for stem, some in groupby(filter(None, matches), lambda match: match["stem"]):
        points = [(match[0], float(match["number"])) for match in some]
        types = [kinds[name] for name, _ in points]
        readable = not look or all(kind.type is not None and pa.types.is_floating(kind.type) for kind in types)
        typed = any(not pa.types.is_string(kind.type) for kind in types)
        numbers = all(pa.types.is_floating(kind.type) or pa.types.is_integer(kind.type) for kind in types)
        rising = all(one < other for (_, one), (_, other) in pairwise(points))
        coded = look and all(kind.few for kind in types)  # answers on a scale rather than points
        if len(points) < _LEAST_POINTS or not rising or not readable or coded or (typed and not numbers):
            continue
        grid = [int(number) if number.is_integer() else number for _, number in points]
        even = all(other - one == 1 for one, other in pairwise(grid))
        place = {"grid": grid} if not even else {"start": grid[0], "stop": grid[-1]} if grid[0] else {}
        sources = tuple(name for name, _ in points)
        keys = {"space": "curves", "columns": list(sources), **place, "low": "?", "high": "?"}
        above = "Numbered columns: the points of a curve? If each is a question of its own, declare them one by one."
        yield DraftedColumn(_free(stem, names), "curves", keys, sources, above)


def _free(stem: str, names: Sequence[str]) -> str:
    """A name for a column that stands for several: their stem, or what is not taken."""
    name = stem.strip(" _.:-?") or "curve"
    while name in names:
        name += " together"
    return name


# The text ------------------------------------------------------------------------------------------------------------

_LOOKED = """\
CONFIDENTIAL until a person has checked it: --look read rows of the table. Keep what you could say without having seen \
it, mend the rest, delete these lines."""
_REPEATED = "The header has this name more than once: from the left, the second is numbered (2), and so on."
_HEADERLESS = """\
Is the first line a header? Some of its fields look like values, or stand there twice. If they are a row of the table, \
this draft is about a person: delete it, write the names of the columns above that row and draft again."""
_HEAD = """\
A draft. A plan is public: fill in every [] and question mark from what you know, not from the data. \
`dproof check DATA --plan PLAN` lists what is left; all keys are in docs/keys.md. For a column write drop = true to \
leave it out, missing = "category" to keep blanks, and bins = [0, 20, 40] for groups that you will ask about."""
_CENTRAL = """\
[privacy]
model = "central"    # you are trusted with the table; else: dproof init --local
epsilon = "1"    # what a person may lose: small is private, 1 is usual
delta = "1e-6"
neighbours = "change-one"    # a person's answers may be any others
# neighbours = "add-remove"    # a person may be absent, as most tools promise:
#     0.5 to 0.7 of the noise, and the number of rows has noise as well
"""
_LOCAL = """\
[privacy]
model = "local"    # nobody is trusted: each row is changed at random by itself
epsilon = "1"    # what a row may lose: small is private, 1 is usual
delta = "0"
neighbours = "change-one"    # a row may be any other; their number is public
# (add-remove needs model = "central", which is far sharper)
# spread = "auto"    # many columns: sharpest for each, but not for two together
"""
_MAY_HAVE_SEVERAL = "May a person have several rows? Then say which column names the person, and"
_SEVERAL = "A person was seen in several rows: say which column names the person, and"
_EACH_COSTS = "how many rows count at most: each costs noise."
_RELEASE = """
[release]
tables = 2    # counts by each two columns; 1: each by itself, with less noise
sums = true    # numbers are added up, so that means can be asked
# rows = true    # synthetic rows as well
"""


def draft_text(drafted: TableDraft, model: Model = "central") -> str:
    """The draft as TOML, with what a person must know beside it."""
    head = [*([_LOOKED] if drafted.looked else []), *([_HEADERLESS] if drafted.doubtful else []), _HEAD]
    parts = ["\n".join(map(comment, head)), '# [about]\n# title = "..."    # at the top of the report\n']
    given = file_keys(drafted.layout)
    if given:
        parts.append("# How the file is written, as far as it shows: check each line.\n" + to_toml({"file": given}))
    keys = {"person": drafted.person or "id", "rows_per_person": USUAL_ROWS}
    lines = [f"{key} = {toml_lines('', {'': value}, bare=True)}\n" for key, value in keys.items()]
    if drafted.has_several_rows:
        person = comment(f"{_SEVERAL} {_EACH_COSTS}") + "".join(lines)
    else:
        person = comment(f"{_MAY_HAVE_SEVERAL} {_EACH_COSTS}") + "".join(f"# {line}" for line in lines)
    parts.append((_CENTRAL if model == "central" else _LOCAL) + person + (_RELEASE if model == "central" else ""))
    columns = drafted.columns if model == "central" else map(_alone, drafted.columns)
    return "\n".join([*parts, *(column.text for column in columns)])


def _alone(column: DraftedColumn) -> DraftedColumn:
    """A column where each row is changed by itself: there bins of dates would be all that a row can say."""
    return replace(column, keys={key: value for key, value in column.keys.items() if key != "bins"})


def file_keys(layout: Layout) -> dict[str, Any]:
    """What a plan says under [file] of how a file is written; nothing of what is usual."""
    return {key: value for key, value in _of_file(layout).items() if value != _of_file(USUAL)[key]}


def _of_file(layout: Layout) -> dict[str, Any]:
    numerals = layout.numerals
    signs = {"decimal": numerals.decimal, "thousands": numerals.thousands, "units": numerals.units}
    first = {"header": layout.header, "separator": layout.separator, "encoding": layout.encoding}
    return {**first, **signs, "sheet": layout.sheet}


def comment(text: str) -> str:
    """A text as lines of comment; what is in backquotes or belongs to one key stays on a line."""
    whole = re.sub(r"`[^`]*`|\w+ = (\"[^\"]*\"|\[[^\]]*\]|\w+)", lambda part: part[0].replace(" ", "\0"), text)
    lines = wrap(whole, LINE_WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False)
    return "".join(f"{line}\n" for line in lines).replace("\0", " ")


# A notebook -----------------------------------------------------------------------------------------------------------


def notebook(
    data: str | os.PathLike[str],
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    *,
    rows: int,
    table: str | None = None,
    title: str = "",
    out: str = "release",
    ledger: str | None = None,
) -> dict[str, Any]:
    """A notebook, as Jupyter stores it in JSON: the plan, what to expect, a look, the release and a first question.

    `data` and `out` are the paths that it will have in it, of the table and of the release; `ledger` that of the ledger
    that pays for it, beside the table where none is given. `table` names the table inside a DuckDB file. `plan` is a
    Plan, its path or a mapping, `rows` about how many there are, and `title` stands at the top.

    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"sex": {"space": "categories", "values": ["f", "m"]}}}
    >>> [cell["cell_type"] for cell in notebook("people.csv", plan, rows=1000)["cells"]][:3]
    ['markdown', 'code', 'markdown']
    """
    path, tables = as_path(data, "data"), tomllib.loads(Plan.of(plan).text)
    rows = whole(rows, "rows", 1, MOST_EXPECTED_ROWS)
    for given, name in ((table, "table"), (title, "title"), (out, "out"), (ledger, "ledger")):
        expect("" if given is None else given, str, name, "a text")
    option = "" if table is None else f", table={table!r}"
    paid = repr(ledger) if ledger is not None else f"dp.Ledger.beside({str(path)!r})"
    literal = pformat(tables, sort_dicts=False, width=100)
    imports = "import datetime\n\nimport dproof as dp" if "datetime." in literal else "import dproof as dp"
    cells = [
        ("markdown", f"# {title or path.name}\n\nA release of `{path.name}` under differential privacy."),
        ("code", f"{imports}\n\nPLAN = {literal}\nplan = dp.Plan.from_dict(PLAN)\nplan"),
        ("markdown", f"What to expect of {rows:,} rows: ± of each answer, each way, and which way to take."),
        (
            "code",
            f"found = dp.compare_ways(PLAN, rows={rows})\nprint(found['recommended']['reason'])\nfound['answers']",
        ),
        ("markdown", "What the plan does not foresee. **Confidential**: clear the output before you share this."),
        ("code", f"dp.check({str(path)!r}, plan{option})"),
        ("markdown", f"The release. It spends ε = {tables['privacy']['epsilon']}: run this cell once."),
        (
            "code",
            f"payment = dp.ReleasePayment({paid}, {out!r})\n"
            f"release = dp.sanitise({str(path)!r}, plan, {out!r}{option}, payment=payment)",
        ),
        ("code", f"dp.load({out!r}).query({first_question(tables['columns'])!r})"),
    ]
    return {
        "cells": [_cell(n, kind, source) for n, (kind, source) in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def first_question(columns: Mapping[str, Any]) -> str:
    """A question to begin with: the count by the first column of categories."""
    name = next((name for name, keys in columns.items() if keys.get("space") == "categories"), None)
    if name is None:
        return "SELECT count(*) AS n FROM release"
    return f"SELECT {quoted(name)}, count(*) AS n FROM release GROUP BY {quoted(name)}"


def _cell(number: int, kind: str, source: str) -> dict[str, Any]:
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        **code,
        "source": source.splitlines(keepends=True),
    }
