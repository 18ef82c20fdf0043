"""The TOML of a plan: read key by key, so that every mistake has a place, and written from plain values.

Each column has a table of its own: the space is found by its name, and reads its own keys. A plan of the central model
has a table [release] of what is measured.
"""

from __future__ import annotations

import codecs
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from itertools import combinations, product
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import dproof.curves  # noqa: F401  # adds the codec of curves
from dproof.arguments import as_path, described, expect
from dproof.certification.verify_certificate import LONGEST_PLAN, is_deep
from dproof.columns.codec import CODECS, Codec, Column, Key, codec_class
from dproof.columns.values import DECIMALS, THOUSANDS, Numerals
from dproof.errors import ArgumentError, FileError, InputError, PlanError, did_you_mean, nearest
from dproof.exact import exact, plain_number
from dproof.limits import (
    LONGEST_LINE,
    MOST_LISTED_VALUES,
    MOST_PERIOD_COLUMNS,
    MOST_PLANNED_QUESTIONS,
    MOST_TABLES,
    MOST_TITLE_LINES,
    MOST_VALUES,
    SHUFFLED_TOGETHER,
)
from dproof.plans.plan import (
    ASKED,
    VERSION,
    About,
    AskedTables,
    ColumnGroup,
    Listed,
    Objective,
    Plan,
    Shuffle,
    Spread,
    TableAxis,
    joint_mechanism,
    release_schema,
    split,
    uses_of,
    with_bins,
)
from dproof.privacy import Privacy
from dproof.spaces.interval import Bins, default_bins, each_value
from dproof.spaces.space import Space, plain
from dproof.tables.source import USUAL, Layout, ending, open_source

if TYPE_CHECKING:
    from dproof.plans.questions import PlannedQuestion

T = TypeVar("T")
Keys = tuple[str, ...]


def read_text(path: str | os.PathLike[str], what: str) -> str:
    """The text of a TOML file; `what` it holds is for the messages."""
    where = as_path(path, "path")
    try:
        if where.stat().st_size > LONGEST_PLAN:
            raise PlanError(
                f"{where.name!r} is too long for a {what}, which has {LONGEST_PLAN >> 20} MiB at most: declare fewer "
                'values, such as regions for towns, and outside = "category" for the others'
            )
        return where.read_text("utf-8-sig")  # editors of Windows set a mark before the text
    except UnicodeDecodeError:
        raise PlanError(f"{where.name!r} is not UTF-8 text: a {what} is a TOML file") from None
    except OSError as error:
        raise FileError(f"the {what} {str(path)!r} cannot be read: {error.strerror}") from None


_CODE_BOOK = "values_file"
_JOINERS = dict.fromkeys((0x200C, 0x200D))  # of letters, as Persian and Hindi are written, and of pictures


def read_plan_text(path: str | os.PathLike[str]) -> str:
    """The text of a plan, with the values of each `values_file` in its place, so that it can be read without the file.

    The values are the texts in the first column of a table that lies where the plan says, from its own folder. The plan
    of a release, which somebody else may have made, names no files.
    """
    text, plan = read_text(path, "plan"), as_path(path, "path")
    if _CODE_BOOK not in text:
        return text
    try:
        columns = {} if is_deep(text) else tomllib.loads(text).get("columns", {})
    except (tomllib.TOMLDecodeError, RecursionError):  # told when the plan is read
        return text
    lines = text.splitlines()
    for name, table in columns.items() if isinstance(columns, dict) else ():
        if isinstance(table, dict) and _CODE_BOOK in table:
            number = line_of(text, ("columns", name, _CODE_BOOK)) or 1
            place = f"{plan.name}, line {number}: columns.{name}.{_CODE_BOOK}"
            if "values" in table or not isinstance(table[_CODE_BOOK], str):
                raise PlanError(f"{place} must be the name of a file, and stands instead of `values`")
            if not lines[number - 1].lstrip().startswith(_CODE_BOOK):
                raise PlanError(f"{place} must stand on a line of its own, under [columns.{name}]")
            values = _code_book(plan.parent / table[_CODE_BOOK], place)
            lines[number - 1] = to_toml({"values": values}).replace("\n", " ").rstrip()
    return "\n".join([*lines, ""])


def _code_book(path: Path, place: str) -> list[str]:
    """The values that a code book lists."""
    try:
        source = open_source(path)
        batches = source.read(source.names[:1])
        values = [str(text) for batch in batches for text in batch.column(0).cast("string").to_pylist() if text]
    except (InputError, ValueError) as error:
        raise PlanError(f"{place}: {error}") from None
    twice = next((value for value, times in Counter(values).items() if times > 1), None)
    if not values or twice is not None:
        raise PlanError(f"{place} lists {'no value' if twice is None else f'{twice[:40]!r} twice'} in its first column")
    if len(values) > MOST_LISTED_VALUES:
        raise PlanError(
            f"{place} lists {len(values):,} values, and {MOST_LISTED_VALUES:,} are the most: declare groups"
        )
    return values


_NO_PLAN = 'its lines are such as [privacy] and epsilon = "1", and `dproof init` drafts a plan'
_TWICE = "it stands there twice: make one of both"
_TOML_HINTS = {  # by what the line has, which is more telling, and by what the parser says
    "[“”„]": 'quotes must be straight ones, "…"',
    r"=\s*\d{1,2}\.\d{1,2}\.\d{4}": "a date is written 2024-12-31, without quotes",
    r"(?a)^\[+columns\.[^\"'.\]]*[^\w\"'.\]-]": (
        'a name with blanks, signs or letters other than a to z needs quotes: [columns."Age group"]'
    ),
}
_PARSER_HINTS = {
    "Illegal character '\\n'": "a text ends with a quote on the line where it begins",
    "Invalid statement": _NO_PLAN,
    "Expected '=' after a key": _NO_PLAN,
    "nvalid value": "text needs quotes, and yes and no are written true and false",
    "Expected newline": "numbers are written such as 100 or 0.5, and text needs quotes",
    "Unclosed array": "values stand between [ and ], with commas between them",
    "Cannot declare": _TWICE,
    "Cannot overwrite": _TWICE,
}


def _toml_hint(error: str, text: str, name: str) -> str:
    """The way out of what the parser refuses, as a clause to end its sentence with; nothing where none is known."""
    from dproof.tables.engines import FILES  # opens whatever a table can be, which a plan is not

    if ending(Path(name)) in FILES:
        return "; a table was given where a plan goes: were they exchanged?"
    number = re.search(r"at line (\d+)", error)
    line = text.splitlines()[int(number[1]) - 1 :][:1] if number else []
    shown = (hint for pattern, hint in _TOML_HINTS.items() if line and re.search(pattern, line[0]))
    said = (hint for part, hint in _PARSER_HINTS.items() if part in error)
    return next((f"; {hint}" for hint in (*shown, *said)), "")


def read_toml(text: str, name: str, build: Callable[[Reader], T]) -> T:
    """What `build` makes of a TOML text; a mistake is told with its key and line."""
    try:
        if is_deep(text):
            raise RecursionError
        return build(Reader(tomllib.loads(text), ()))
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{name}: not valid TOML: {error}{_toml_hint(str(error), text, name)}") from None
    except MisplacedKey as error:
        line = line_of(text, error.path)
        raise WrongKey(f"{name}{f', line {line}' if line else ''}: {error}", error) from None
    except RecursionError:
        raise PlanError(f"{name}: tables or lists lie too deep inside each other") from None


def line_of(text: str, path: Keys) -> int | None:
    """The line of a key, or of the nearest table around it that the text names; [[tables]] are counted from 1.

    >>> line_of("[columns.age]\\nlow = 0\\nhigh = 9", ("columns", "age", "high"))
    3
    >>> line_of("[[joint]]\\ncolumns = []\\n[[joint]]\\ncolumns = []", ("joint", "2", "columns"))
    4
    """
    lines: dict[Keys, int] = {}
    table: Keys = ()
    times: Counter[Keys] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = _header(stripped) or table
            lines.setdefault(table, number)
            if stripped.startswith("[["):
                times[table] += 1
                table = (*table, str(times[table]))
                lines.setdefault(table, number)
        elif "=" in stripped:
            keys = _keys(stripped.split("=", 1)[0] + "= 0")
            if keys:
                lines.setdefault(table + keys, number)
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _header(line: str) -> Keys | None:
    return _keys(line.split("#")[0] if '"' not in line else line)


def _keys(line: str) -> Keys | None:
    try:
        value: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    keys: list[str] = []
    while isinstance(value, dict) and value:
        (key, value), *_ = value.items()
        keys.append(key)
        value = value[0] if isinstance(value, list) and value else value
    return tuple(keys)


def to_toml(tables: Mapping[str, Any]) -> str:
    """Plain values as TOML. A number that no TOML number is exactly is written as a text, which a plan reads exactly.

    >>> print(to_toml({"order": "keep", "privacy": {"epsilon": Fraction(1, 3)}}))
    order = "keep"
    <BLANKLINE>
    [privacy]
    epsilon = "1/3"
    <BLANKLINE>
    """
    import tomli_w

    return tomli_w.dumps(_written(tables, ()))


def _written(value: Any, path: Keys) -> Any:
    """A value as TOML can write it."""
    value = plain(value)
    if isinstance(value, Mapping):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise PlanError(f"each key of a plan must be a text, not {described(wrong)}")
        return {key: _written(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        return [_written(item, path) for item in value]
    if isinstance(value, (Fraction, Decimal)):
        number = plain_number(exact(value, ".".join(path)))
        return number if isinstance(number, (int, float)) else str(number)
    if isinstance(value, (str, int, float, date)):
        return value
    raise PlanError(f"{'.'.join(path)} must be a text, a number or another value of TOML, not {described(value)}")


_WRITE = {
    "privacy": ': write [privacy], and under it epsilon = "1"',
    "epsilon": ': write epsilon = "1" under [privacy]',
    "space": ': write space = "categories", or "interval", "date", "time", "subsets" or "curves"',
    "values": ', and lists what the column may hold: write values = ["yes", "no"], say',
    "low": ": write the least value that there can be",
    "high": ": write the greatest value that there can be",
}


class MisplacedKey(Exception):
    """A mistake in a plan, with the path of its key."""

    def __init__(self, path: Keys, message: str) -> None:
        super().__init__(f"{'.'.join(path) or 'this'} {message}")
        self.path = path


class WrongKey(PlanError):
    """A mistake in a plan, told with its line; a form shows it beside the field of its key."""

    def __init__(self, message: str, misplaced: MisplacedKey) -> None:
        super().__init__(message)
        self.path, self.sentence = misplaced.path, str(misplaced)


class Reader:
    """One table of a plan; `finish` refuses the keys that nobody asked for."""

    def __init__(self, table: Any, path: Keys) -> None:
        if not isinstance(table, Mapping):
            raise MisplacedKey(path, "must be a table")
        self._table = table
        self._asked: set[str] = set()
        self.path = path

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def given(self, *keys: str) -> list[str]:
        """Those of some keys that stand there."""
        return [key for key in keys if key in self._table]

    def wrong(self, key: str, message: str) -> MisplacedKey:
        """The mistake of one key."""
        return MisplacedKey((*self.path, key), message)

    def value(self, key: str, *default: Any) -> Any:
        """Whatever stands there; without a default the key is required."""
        self._asked.add(key)
        if key in self._table:
            return self._table[key]
        if not default:
            others = (other for other in self._table if other not in self._asked)
            meant = next((other for other in others if nearest(other, [key])), None)
            raise self.wrong(key, f"is missing{_WRITE.get(key, '')}") if meant is None else self._unknown(meant, [key])
        return default[0]

    def table(self, key: str) -> Reader:
        return Reader(self.value(key), (*self.path, key))

    def tables(self, key: str) -> list[Reader]:
        given = self.value(key, [])
        if not isinstance(given, list):
            raise self.wrong(key, f"must be a list of tables: write [[{key}]]")
        return [Reader(table, (*self.path, key, str(n))) for n, table in enumerate(given, 1)]

    def text(self, key: str, *default: Any) -> Any:
        given = self.value(key, *default)
        if not isinstance(given, str) and (not default or given is not default[0]):
            raise self.wrong(key, "must be text")
        return given

    def line(self, key: str) -> str:
        """A text for people, in one line; nothing where the key is not there."""
        given = self.value(key, "")
        given = str(given) if isinstance(given, date) else given
        if not isinstance(given, str):
            raise self.wrong(key, "must be text")
        told = " ".join(given.split())
        if len(told) > LONGEST_LINE:
            raise self.wrong(key, f"must have at most {LONGEST_LINE:,} characters")
        if not told.translate(_JOINERS).isprintable():  # such as signs that turn the direction of the text
            raise self.wrong(key, "has a character that cannot be printed")
        return told

    def texts(self, key: str) -> tuple[str, ...]:
        given = self.value(key)
        if not isinstance(given, list) or not given or not all(isinstance(x, str) for x in given):
            raise self.wrong(key, "must be a list of texts")
        if len(set(given)) < len(given):
            raise self.wrong(key, "names something twice")
        return tuple(given)

    def choice(self, key: str, options: tuple[str, ...], *default: str) -> str:
        given = self.text(key, *default)
        if given not in options:
            raise self.wrong(key, f"cannot be {given[:40]!r}{did_you_mean(given, options)}")
        return str(given)

    def flag(self, key: str) -> bool:
        given = self.value(key, False)
        if not isinstance(given, bool):
            raise self.wrong(key, "must be true or false")
        return given

    def integer(self, key: str, default: int) -> int:
        given = self.value(key, default)
        if isinstance(given, bool) or not isinstance(given, int):
            raise self.wrong(key, "must be a whole number")
        return given

    def number(self, key: str, *default: Any) -> Any:
        given = self.value(key, *default)
        if default and given is default[0]:
            return given
        if not isinstance(given, (int, float, str)) or isinstance(given, bool):
            dated = ', and a date was given: dates have space = "date"' if isinstance(given, date) else ""
            raise self.wrong(key, f"must be a number{dated}")
        try:
            return exact(given, "the number")
        except InputError as error:
            raise self.wrong(key, f"is wrong: {error}") from None

    def share(self, key: str, default: Fraction) -> Fraction:
        given: Fraction = self.number(key, default)
        if given <= 0:
            raise self.wrong(key, "must be positive: it is a weight in the split of epsilon")
        return given

    def calling(self, build: Callable[[], T]) -> T:
        """What `build` makes; its refusal is a mistake of this table."""
        try:
            return build()
        except InputError as error:
            raise MisplacedKey(self.path, f"is wrong: {error}") from None

    @property
    def left(self) -> list[str]:
        """The keys that nobody asked for."""
        return [key for key in self._table if key not in self._asked]

    def finish(self) -> None:
        """Refuse what nobody asked for."""
        for key in self.left:
            raise self._unknown(key, sorted(self._asked))

    def _unknown(self, key: str, known: Iterable[str]) -> MisplacedKey:
        return self.wrong(key, f"is not a known key{did_you_mean(key, known)}")


# The plan -------------------------------------------------------------------------------------------------------------


def read_plan(top: Reader, text: str) -> Plan:
    """The plan in the tables of a TOML text."""
    version = top.integer("version", VERSION)
    if version != VERSION:
        raise MisplacedKey(("version",), f"is {version}, and this dproof reads plans of version {VERSION}")
    promise = top.table("privacy")
    privacy = promise.calling(
        lambda: Privacy(
            promise.number("epsilon"),
            promise.number("delta", 0),
            neighbours=promise.choice("neighbours", ("change-one", "add-remove"), "change-one"),  # type: ignore[arg-type]
        )
    )
    rows_per_person = promise.integer("rows_per_person", 1)
    if rows_per_person < 1:
        raise MisplacedKey(("privacy", "rows_per_person"), "must be at least 1")
    person = promise.text("person", None)
    model = promise.choice("model", ("local", "shuffled", "central"), "local")
    spread: Any = promise.choice("spread", get_args(Spread)) if "spread" in promise else None
    if spread is not None and model == "central":
        raise MisplacedKey(("privacy", "spread"), "belongs to model = 'local': leave it out")
    promise.finish()
    file = read_layout(top.table("file")) if "file" in top else USUAL
    tables = top.table("columns")
    _refuse_draft(tables)
    if sum(isinstance(tables.table(name).value("bins", None), str) for name in tables) > MOST_PERIOD_COLUMNS:
        raise MisplacedKey(("columns",), f"has more than {MOST_PERIOD_COLUMNS:,} columns with bins named by a period")
    columns = tuple(replace(read_column(name, tables.table(name)), numerals=file.numerals) for name in tables)
    asked = read_asked(top, columns, model)
    groups = _groups(top, columns, spread)
    order = top.choice("order", ("shuffle", "keep"), "shuffle")
    given_questions = top.tables("questions")
    questions: tuple[PlannedQuestion, ...] = ()
    if len(given_questions) > MOST_PLANNED_QUESTIONS:
        raise MisplacedKey(
            ("questions",), f"are more than {MOST_PLANNED_QUESTIONS:,}: leave those out that matter least"
        )
    if given_questions:
        from dproof.plans.questions import read_questions, uses  # take a parser of SQL, which few plans need

        questions = read_questions(given_questions, columns)
        needed = uses(questions, columns)
        groups = tuple(replace(group, uses=uses_of(group.names, needed)) for group in groups)
        if model == "local":
            columns, groups = _with_question_bins(columns, groups, questions, privacy, spread)
    about = _read_about(Reader(top.value("about", {}), ("about",)))
    shuffle, tickets = _read_shuffle(top, model, privacy), top.flag("tickets")
    top.finish()
    _check_columns(columns, person, spread)
    given = privacy, columns, groups, order, rows_per_person, person, questions, text, file, asked, spread, about
    plan = Plan(*given, shuffle, tickets)  # type: ignore[arg-type]
    if shuffle.rows is not None:
        _check_shuffled(plan)
    if asked is None or not questions:
        return plan
    # The tables that its questions need: the model stands above plans, so it is looked up by name.
    return import_module("dproof.central.question_sums").with_question_tables(plan)  # type: ignore[no-any-return]


def _with_question_bins(
    columns: tuple[Column, ...],
    groups: tuple[ColumnGroup, ...],
    questions: tuple[PlannedQuestion, ...],
    privacy: Privacy,
    spread: Spread | None,
) -> tuple[tuple[Column, ...], tuple[ColumnGroup, ...]]:
    """The columns and groups, where numbers have the bins that serve the questions and the plan leaves the choice."""
    from dproof.plans.questions import question_bins

    schema, parts = release_schema(columns), [privacy] * len(groups) if spread == "sample" else split(privacy, groups)
    found = {
        group.columns[0].name: bins
        for group, part in zip(groups, parts, strict=True)
        if (bins := question_bins(group, questions, schema, part.epsilon)) is not None
    }
    return with_bins(columns, groups, found)


def _read_shuffle(top: Reader, model: str, privacy: Privacy) -> Shuffle:
    """The [shuffle] of a plan whose rows are drawn one by one."""
    if model == "central":
        if "shuffle" in top:
            raise MisplacedKey(("shuffle",), "belongs to rows that are drawn one by one: leave it out")
        return Shuffle()
    table = Reader(top.value("shuffle", {}), ("shuffle",))
    honest, rows = table.number("honest", 1), table.integer("rows", 0) if model == "shuffled" else None
    table.finish()
    if not 0 < honest <= 1:
        raise table.wrong("honest", "must be a share of the people, above 0 and at most 1")
    if rows is not None and not 2 <= rows <= SHUFFLED_TOGETHER:
        raise table.wrong(
            "rows",
            f"must say how many rows there will be at least, 2 to {SHUFFLED_TOGETHER}: more are not shuffled together",
        )
    if model == "shuffled" and not privacy.delta:
        raise MisplacedKey(("privacy", "delta"), "must be above 0 with model = 'shuffled': write delta = \"1e-6\", say")
    shuffle = Shuffle(honest, rows)
    if rows is not None and not shuffle.hiding(rows):
        raise table.wrong("honest", "leaves none of the rows: write a larger share, or more rows")
    return shuffle


def _check_shuffled(plan: Plan) -> None:
    """Refuse what tells rows apart: drop it, or take model = 'local'"""
    public = plan.named("public")
    if public:
        raise MisplacedKey(("columns", public[0], "public"), "tells rows apart: drop it, or take model = 'local'")
    if plan.order == "keep":
        raise MisplacedKey(("order",), "must be 'shuffle' with model = 'shuffled'")
    if plan.rows_per_person > 1:
        raise MisplacedKey(("privacy", "rows_per_person"), "must be 1 with model = 'shuffled'")
    if plan.privacy.neighbours != "change-one":
        raise MisplacedKey(("privacy", "neighbours"), "must be 'change-one' with model = 'shuffled'")


def _read_about(table: Reader) -> About:
    """What the report shall say of the table: a line of text for each key, or a date of TOML."""
    found = About(**{key.name: table.line(key.name) for key in fields(About)})
    table.finish()
    return found


def _groups(top: Reader, columns: tuple[Column, ...], spread: Spread | None) -> tuple[ColumnGroup, ...]:
    """The groups in the order of the columns; joined ones stand where the first of them does.

    A row that answers for one thing may be asked for a column in several of them.
    """
    known = {column.name: column for column in columns}
    places = {name: place for place, name in enumerate(known)}
    joints: list[ColumnGroup] = []
    for table in top.tables("joint"):
        names = table.texts("columns")
        joined = frozenset[str]().union(*(joint.names for joint in joints)) if spread != "sample" else ()
        for name in names:
            if name not in known:
                raise table.wrong(
                    "columns", f"names {name!r}, which is not a column of the plan{did_you_mean(name, known)}"
                )
            if not known[name].private or known[name].space.holds_curves:
                raise table.wrong("columns", f"names {name!r}, which has no finite space to join")
            if name in joined:
                raise table.wrong("columns", f"joins {name!r} twice")
        if len(names) < 2:
            raise table.wrong("columns", "needs at least two columns")
        members = tuple(known[name] for name in names)
        if any(set(names) == joint.names for joint in joints):
            raise table.wrong("columns", "joins what another [[joint]] joins")
        # Joining columns leaves the other columns' parts of the budget as they were.
        share = table.share("share", sum((column.share for column in members), Fraction(0)))
        mechanism = table.text("mechanism", None) or joint_mechanism(members)
        joints.append(ColumnGroup(members, share, mechanism))
        table.finish()
    together = frozenset[str]().union(*(joint.names for joint in joints))
    alone = [ColumnGroup((c,), c.share, c.mechanism) for c in columns if c.private and c.name not in together]
    return tuple(sorted([*joints, *alone], key=lambda group: min(map(places.__getitem__, group.names))))


def _check_columns(columns: tuple[Column, ...], person: str | None, spread: Spread | None) -> None:
    uses: dict[str, list[Any]] = {}  # of each column of the source, what its values are counted in
    for column in columns:
        for source in column.sources:
            uses.setdefault(source, []).append(column.codec.unit if column.private else None)
    # One of dates with times may be read for its days and for its times.
    twice = [name for name, units in uses.items() if len(units) > 1 and (None in units or len({*units}) < len(units))]
    if twice:
        raise MisplacedKey(("columns", twice[0]), "uses a column of the source that another uses too")
    if not any(column.private for column in columns):
        raise MisplacedKey(("columns",), "are all dropped or public: there is nothing to sanitise")
    stored = [(name, column.name) for column in columns if column.kind != "drop" for name in column.stored]
    clash = [name for name, times in Counter(name for name, _ in stored).items() if times > 1]
    if clash:
        raise MisplacedKey(("columns", clash[0]), "would be stored under the name of another column")
    reserved = [column for name, column in stored if name.casefold() == ASKED]  # SQL sees no difference of case
    if reserved and spread in ("sample", "auto"):
        raise MisplacedKey(("columns", reserved[0]), f"has the name {ASKED!r}, which a sampled release stores itself")
    if person is not None:
        named = [column for column in columns if person in column.sources]
        if not named:
            raise MisplacedKey(
                ("privacy", "person"),
                f"names {person!r}, which is not a column of the plan{did_you_mean(person, uses)}",
            )
        if named[0].kind != "drop":
            raise MisplacedKey(("columns", named[0].name), "names the person of each row, so it must have drop = true")


# Columns, and the spaces that they name -------------------------------------------------------------------------------

# The spaces that a plan can name, as their codecs call them; of those that share one the first. `add_space` adds one.
SPACES: dict[str, type[Any]] = {}
for _space, _codec in CODECS.items():
    if _codec.kind is not None:
        SPACES.setdefault(_codec.kind, _space)
_OWN = frozenset(SPACES)
_NAMED = 160  # characters of the names of columns in one message


def plan_keys(space: str) -> tuple[Key, ...]:
    """The keys that a plan may have for a column of a space, each with its form, its help and its options.

    `space` is the name of one, such as "interval".

    >>> [key.name for key in plan_keys("interval") if key.options]
    ['outside']
    """
    expect(space, str, "space", "the name of a space")
    if space not in SPACES:
        raise PlanError(f"no space is called {space[:40]!r}: there are {', '.join(SPACES)}")
    return tuple(codec_class(SPACES[space]).keys)


def add_space(name: str, space: type[Space], codec: type[Codec] | None = None) -> None:
    """Let plans say `space = "name"` for a space of one's own, whose class has `from_plan`.

    `codec`, a subclass of `dproof.columns.codec.Codec`, reads and stores its values where they are more than texts.

    `name` is what plans call it, and `space` the class.
    """
    if not expect(name, str, "name", "a text: what plans call the space").strip():
        raise ArgumentError("name must not be blank: plans call the space by it")
    if not isinstance(space, type) or not issubclass(space, Space):
        raise ArgumentError(f"space must be a class of spaces, a subclass of dproof.Space, not {described(space)}")
    if SPACES.get(name, space) is not space:
        raise ArgumentError(f"there is a space called {name!r} already: choose another name")
    if codec is not None and not (isinstance(codec, type) and issubclass(codec, Codec)):
        raise ArgumentError(f"codec must be a subclass of dproof.columns.codec.Codec, not {described(codec)}")
    SPACES[name] = space
    if codec is not None:
        CODECS[space] = codec


def added_sizes() -> dict[str, Callable[[Any], int]]:
    """For each space that was added, how many values a column has whose table in a plan this is."""

    def size_of(table: Any) -> int:
        return int(read_column("column", Reader(table, ())).space.size)

    return dict.fromkeys(SPACES.keys() - _OWN, size_of)


def open_keys(table: Any) -> tuple[str, ...]:
    """The keys of a column's table that a draft left open.

    >>> open_keys({"space": "categories", "values": []}), open_keys({"space": "interval", "low": 0, "high": "?"})
    (('values',), ('high',))
    """
    if not isinstance(table, Mapping) or table.get("drop") or table.get("public"):
        return ()
    space = table.get("space")
    return codec_class(SPACES[space]).open_keys(table) if isinstance(space, str) and space in SPACES else ()


def _refuse_draft(columns: Reader) -> None:
    """Refuse a plan that is not finished, with all columns that have something open."""
    found = {name: keys for name in columns if (keys := open_keys(columns.value(name)))}
    if not found:
        return
    first, *more = found
    named = [name for n, name in enumerate(more) if sum(map(len, more[: n + 1])) <= _NAMED]
    also = f", as is something in {', '.join(named)}" if named else ""
    also += (
        f"{' and' if named else ', as is something in'} {len(more) - len(named)} more" if len(more) > len(named) else ""
    )
    key = found[first][0]
    example = next((one.example for one in plan_keys(columns.value(first)["space"]) if one.name == key), key)
    told = f"is still open{also}: fill in what you know, as in {example}; `dproof check` works on a draft and helps"
    raise MisplacedKey(("columns", first, key), told)


def read_column(name: str, table: Reader) -> Column:
    """A column from its table in the plan."""
    if table.flag("drop"):
        several = table.texts("columns") if "columns" in table else (name,)
        table.finish()
        return Column(name, "drop", several)
    if table.flag("public"):
        table.finish()
        return Column(name, "public", (name,))
    if _CODE_BOOK in table:
        raise table.wrong(_CODE_BOOK, "is read with the file of a plan: give the plan's path, or write `values`")
    if table.value("space", None) == "drop":
        raise table.wrong("space", "cannot be 'drop': to leave a column out write drop = true alone")
    kind = table.choice("space", tuple(SPACES))
    column = codec_class(SPACES[kind]).read_column(SPACES[kind], name, kind, table)
    column = replace(column, share=table.share("share", Fraction(1)), mechanism=table.text("mechanism", "auto"))
    column = replace(column, question=table.line("question"), help=table.line("help"))
    for key in table.left:
        homes = [space for space in SPACES if any(k.name == key for k in codec_class(SPACES[space]).keys)]
        if homes:
            raise table.wrong(key, f"goes with space = {' or '.join(map(repr, homes))}")
    table.finish()
    return column


# What the central model measures --------------------------------------------------------------------------------------

# A stored release is verified by working out its tables and weights again from its plan: what changes them here needs a
# new version of the certificate, and the old rule under `before`.
_USUAL_COLUMNS = 2  # columns of a table, where the plan does not say which tables it wants
_LARGEST_WEIGHT = Fraction(10**9)
# Of a sum beside a cell of counts. At 1/4 a number's sums by group have 0.69 to 0.98 of the noise that 1/16 gave them
# about the middle of the range, and counts 0.94 to 1.06 (docs/benchmarks-central.md). Where a release is there to be
# asked, means are far sharper than shares still at 1/16.
_SUM_WEIGHT, _ASKED_SUM_WEIGHT, _CURVE_WEIGHT = Fraction(1, 4), Fraction(1, 16), Fraction(1, 16)
_SETS_WEIGHT = Fraction(1, 16)  # of a table of items of several sets: twice the noise, for a quarter of what it costs
_ITEM_WEIGHT = Fraction(2)  # of an item alone: as sharp as where items are counted by each other as well
_ITEM_PAIRS = "item_pairs"  # whether items of one set are counted by each other
# What a plan can say that changes how rows are drawn one by one, and nothing else.
_ROW_BY_ROW = "belongs to model = 'local', where rows are drawn one by one: leave it out"


def axes_of(column: Column) -> tuple[TableAxis, ...]:
    """Categories by value, numbers and dates by the plan's bins or by default ones; a missing value is one more.

    A set has an axis for each of its items, and one for being missing. Of curves it is counted how many there are.

    >>> from dproof.spaces import Interval, Subsets
    >>> [axis.size for axis in axes_of(Column("age", "interval", ("age",), Interval(0, 100)))]
    [10]
    >>> [axis.name for axis in axes_of(Column("pets", "subsets", ("pets",), Subsets(["cat", "dog"])))]
    ['pets: cat', 'pets: dog']
    """
    space = column.space
    if space.items is not None:
        named = [(f"{column.name}: {item}", place) for place, item in enumerate(space.items)]
        return tuple(TableAxis(column, Bins((0, 1), ("no", "yes"), 2), name, 2, place) for name, place in named)
    if space.holds_curves:
        bins = Bins((0,), ("there",), 1).with_missing(space.absent)
        return (TableAxis(column, bins, column.name, bins.size, has_curves=True),)
    inside = space.without_missing
    if inside.line is None:
        if space.size > MOST_VALUES:
            problem = (
                f"has more than {MOST_VALUES:,} values: declare fewer, such as the first digits of a code, or drop it"
            )
            raise MisplacedKey(("columns", column.name), problem)
        return (TableAxis.of_bins(column, each_value(space)),)
    return (TableAxis.of_bins(column, (column.bins or default_bins(inside)).with_missing(space.absent)),)


def read_asked(top: Reader, columns: Sequence[Column], model: str) -> AskedTables | None:
    """The [release] of a plan whose model is central; None where the model is local."""
    if model != "central":
        if "release" in top:
            raise MisplacedKey(("release",), "belongs to model = 'central' under [privacy]: add that, or leave it out")
        return None
    _refuse_row_by_row(top)
    private = [column for column in columns if column.private]
    by_column = {column.name: axes_of(column) for column in private}
    axes = tuple(axis for some in by_column.values() for axis in some)
    release = top.table("release") if "release" in top else Reader({}, ("release",))
    objective: Objective = release.choice("objective", ("total", "largest"), "total")  # type: ignore[assignment]
    if "questions" in top and "tables" not in release:
        for key in ("sums", "rows", _ITEM_PAIRS):
            if release.flag(key):
                raise release.wrong(
                    key, "needs `tables`, such as tables = 1: [[questions]] choose only the tables and sums they need"
                )
        release.finish()
        return AskedTables(axes, (), (), False, objective, questions=True, listed=False)
    tables, rows = _read_tables(release, by_column), release.flag("rows")
    if rows and all(column.space.holds_curves for column in private):
        raise release.wrong("rows", "would be empty: made-up rows leave out curves, and the plan has nothing else")
    has_numbers, is_paired = release.flag("sums"), release.flag(_ITEM_PAIRS)
    is_listed, has_questions = isinstance(release.value("tables", None), list), bool(top.tables("questions"))
    if is_paired and is_listed:
        raise release.wrong(
            _ITEM_PAIRS, "belongs to a number of columns, such as tables = 2: ask about items together in [[questions]]"
        )
    release.finish()

    def asked(tables: Listed, sum_weight: Fraction, counts: Listed) -> AskedTables:
        sums = _listed_sums(tables, axes, has_numbers, sum_weight)
        alone = {table[0] for table, _ in tables if len(table) == 1} & {name for _, name, _ in sums}
        with_ladders = tuple(axis.with_ladder(axis.name in alone) for axis in axes)
        return AskedTables(with_ladders, _counted(counts, axes), sums, rows, objective, questions=has_questions)

    apart = tables if is_paired or is_listed else _items_apart(tables, axes)
    usual = apart if len(apart) < len(tables) else tables
    found = asked(usual, _SUM_WEIGHT, usual)
    if len(usual) < len(tables):
        found = replace(found, before=replace(asked(tables, _SUM_WEIGHT, tables), version=2))
    if is_listed or rows:  # rows shall follow all tables alike
        return found
    return replace(asked(usual, _ASKED_SUM_WEIGHT, _as_asked(usual, axes)), before=replace(found, version=3))


def _as_asked(tables: Listed, axes: Sequence[TableAxis]) -> Listed:
    """The tables with weights for what is asked of them: shares by group, of which one has few values.

    A table of several columns counts by 2 / its fewest values, so that one of two long columns has more noise.
    """
    sizes = {axis.name: axis.size for axis in axes}

    def fewest(table: tuple[str, ...]) -> int:
        return max(2, min((sizes[name] for name in table if sizes[name] > 1), default=2))

    return tuple((table, weight * (Fraction(2, fewest(table)) if len(table) > 1 else 1)) for table, weight in tables)


def _items_apart(tables: Listed, axes: Sequence[TableAxis]) -> Listed:
    """The tables without those of several items of one set, and with weights for what is asked of sets.

    That is an item alone, or by another column, and seldom one by an item of another set.
    """
    by_name, kept = {axis.name: axis for axis in axes}, list[tuple[tuple[str, ...], Fraction]]()
    for table, weight in tables:
        of_sets = [by_name[name] for name in table if by_name[name].item is not None]
        items = [axis.column.name for axis in of_sets if axis.is_item]
        if len(items) == len(set(items)):
            several = len({axis.column.name for axis in of_sets}) > 1
            counts = _SETS_WEIGHT if several else _ITEM_WEIGHT if of_sets and len(table) == 1 else 1
            kept.append((table, weight * counts))
    return tuple(kept)


def _always_there(axes: Sequence[TableAxis]) -> set[str]:
    """The columns of curves of which none may be missing: they tell no rows apart, so no table is counted by them."""
    return {axis.name for axis in axes if axis.has_curves and axis.size == 1}


def _counted(tables: Listed, axes: Sequence[TableAxis]) -> Listed:
    """The tables of counts; where there are none, all rows are counted, for the mean of the curves.

    Of tables that differ in such curves alone the first one's weight is taken, as certificates have it.
    """
    left_out = _always_there(axes)
    weights: dict[tuple[str, ...], Fraction] = {}
    for table, weight in tables:
        weights.setdefault(tuple(name for name in table if name not in left_out), weight)
    if len(weights) > 1 and left_out:
        weights.pop((), None)
    return tuple(weights.items())


def _listed_sums(
    tables: Listed, axes: Sequence[TableAxis], has_numbers: bool, sum_weight: Fraction
) -> tuple[tuple[tuple[str, ...], str, Fraction], ...]:
    """The curves in each table, and with `has_numbers` the numbers, added up by its other columns.

    A number that is a table by itself is added up by its own bins too, for conditions on it.
    """
    added = {axis.name for axis in axes if has_numbers and axis.max_abs is not None}
    numbers = {axis.name for axis in axes if axis.name in added and axis.within and axis.size > 1}
    summed = {axis.name for axis in axes if axis.has_curves} | added
    left_out = _always_there(axes)
    found: dict[tuple[tuple[str, ...], str], Fraction] = {}
    for table, weight in tables:
        for column in (name for name in table if name in summed):
            others = tuple(name for name in table if name != column and name not in left_out)
            for by in (others, table) if table == (column,) and column in numbers else (others,):
                share = sum_weight if column in added else _CURVE_WEIGHT
                found[by, column] = found.get((by, column), Fraction(0)) + weight * share
    return tuple((table, column, weight) for (table, column), weight in found.items())


def _refuse_row_by_row(top: Reader) -> None:
    for key in top.given("joint", "order", "tickets"):
        raise top.wrong(key, _ROW_BY_ROW)
    columns = top.table("columns")
    for table in map(columns.table, columns):
        for key in table.given("share", "mechanism"):
            raise table.wrong(key, _ROW_BY_ROW)
        for key in table.given("public"):
            raise table.wrong(key, "releases rows as they are, and model = 'central' releases none: drop it")


def _read_tables(release: Reader, by_column: Mapping[str, Sequence[TableAxis]]) -> Listed:
    """All tables of up to so many axes, or those that are listed; axes stand in the plan's order.

    A set in a listed table stands for each of its items, one at a time.
    """
    axes = {column: [axis.name for axis in some] for column, some in by_column.items()}
    names = [name for items in axes.values() for name in items]
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise MisplacedKey(("columns", twice), "has the name of an item of a set: rename one of them")
    given = release.value("tables", _USUAL_COLUMNS)
    if not isinstance(given, list):
        most = release.integer("tables", _USUAL_COLUMNS)
        if most < 1:
            raise release.wrong("tables", "must be at least 1: all tables of up to that many columns are measured")
        sizes = range(1, min(most, len(names)) + 1)
        if sum(comb(len(names), size) for size in sizes) > MOST_TABLES:
            raise release.wrong("tables", f"makes over {MOST_TABLES:,} tables: list fewer with [[release.tables]]")
        return tuple((table, Fraction(1)) for size in sizes for table in combinations(names, size))
    weights: dict[tuple[str, ...], Fraction] = {}
    for table in release.tables("tables"):
        for name in table.texts("columns"):
            if name not in axes:
                problem = f"names {name!r}, which is not a column that the plan counts{did_you_mean(name, axes)}"
                raise table.wrong("columns", problem)
        weight = table.number("weight", Fraction(1))
        if weight <= 0:
            raise table.wrong("weight", "must be positive: it says how much the table counts beside the others")
        if not 1 / _LARGEST_WEIGHT <= weight <= _LARGEST_WEIGHT:
            raise table.wrong("weight", "must lie between 1e-9 and 1e9: leave out a table that counts for nothing")
        chosen = sorted(table.texts("columns"), key=list(axes).index)
        for key in product(*(axes[name] for name in chosen)):
            if key in weights:
                raise table.wrong("columns", "names a table that is listed already")
            weights[key] = weight
        table.finish()
    if len(weights) > MOST_TABLES:
        raise release.wrong("tables", f"lists more than {MOST_TABLES:,} tables")
    if not weights:
        raise release.wrong("tables", "lists no table: write tables = 2 for all tables of up to two columns")
    left = next((name for name, items in axes.items() if not any(items[0] in table for table in weights)), None)
    if left is not None:
        raise release.wrong("tables", f"lists no table with the column {left!r}: add one, or drop the column")
    return tuple(weights.items())


# How a text file is written -------------------------------------------------------------------------------------------

# Encodings without memory, by the names that Python gives them: what some bytes mean depends on no bytes before. In
# others, such as ISO-2022-JP, UTF-7 or HZ, a few bytes of one cell change how the rest of the file is read.
_UNICODE = frozenset({"utf-8", "utf-8-sig", *(f"utf-{n}{order}" for n in (16, 32) for order in ("", "-le", "-be"))})
_ONE_BYTE = frozenset({
    "ascii", "koi8-r", "koi8-t", "koi8-u", "kz1048", "ptcp154", "tis-620", "hp-roman8", "cp037", "mac-croatian",
    "mac-cyrillic", "mac-greek", "mac-iceland", "mac-latin2", "mac-roman", "mac-romanian", "mac-turkish",
    *(f"iso8859-{part}" for part in (*range(1, 12), *range(13, 17))),
    *(f"cp{page}" for page in (*range(855, 859), *range(860, 867), 437, 720, 737, 775, 850, 852, 869, 874, 1006, 1125)),
    *(f"cp{page}" for page in (*range(1250, 1259), 273, 424, 500, 875, 1026, 1140)),
})  # fmt: skip
# A first byte without its second spoils its own value only, as long as no separator could be a second one.
_EAST_ASIAN = frozenset({
    "shift_jis", "shift_jis_2004", "shift_jisx0213", "cp932", "euc_jp", "euc_jis_2004", "euc_jisx0213", "gb2312", "gbk",
    "gb18030", "big5", "big5hkscs", "cp950", "euc_kr", "cp949",
})  # fmt: skip
ENCODINGS = _UNICODE | _ONE_BYTE | _EAST_ASIAN
_NEVER_SECOND = frozenset("\t ,;:!#$%&'()*+-./<=>?")


_UNIT = re.compile(r"(?=.*[^.,'])[^\s\d+-]{1,16}")  # beside a number: more than a sign that numbers have


def read_layout(table: Reader) -> Layout:
    """What the table says, with the usual signs for what it does not."""
    separator, encoding = table.text("separator", None), table.text("encoding", "utf-8")
    decimal, thousands = table.text("decimal", "."), table.text("thousands", "")
    units = " ".join(table.text("units", "").split())
    sheet, header = table.text("sheet", None), table.integer("header", USUAL.header)
    table.finish()
    if not 1 <= header <= MOST_TITLE_LINES:
        raise table.wrong("header", f"must be the number of the line with the names, 1 to {MOST_TITLE_LINES:,}")
    if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0'):
        raise table.wrong("separator", 'must be one ASCII character such as "," ";" or "\\t", and no quote or line end')
    try:
        known = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        known = ""
    if known not in ENCODINGS:
        raise table.wrong(
            "encoding",
            "is not a known encoding in which every value can be read by itself: write "
            '"utf-8", "cp1252" (Windows), "latin-1" or "utf-16"',
        )
    if known in _EAST_ASIAN and separator is not None and separator not in _NEVER_SECOND:
        raise table.wrong("separator", f'can be half a character in {encoding}: use "," ";" or "\\t", or save as UTF-8')
    if decimal not in DECIMALS:
        raise table.wrong("decimal", 'must be "." or ","')
    if thousands not in THOUSANDS:
        raise table.wrong("thousands", 'must be "," "." " " "\'" or nothing, ""')
    if thousands == decimal:
        raise table.wrong("thousands", "must be another sign than the decimal one")
    if not all(_UNIT.fullmatch(unit) for unit in units.split()):
        raise table.wrong(
            "units", 'must be signs beside numbers, with blanks between them, such as "€ %", and no digits'
        )
    return Layout(separator, encoding, Numerals(decimal, thousands, units), sheet, header)
