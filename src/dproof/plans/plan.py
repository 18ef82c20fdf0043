"""The plan: public knowledge about a table, and what to do with it.

Each column has a table of its own in it: the space is found by its name, and reads its own keys. The schema of a plan
is what it makes public about the columns of a table or of its release, for questions.
"""

from __future__ import annotations

import codecs
import json
import os
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import dproof.curves  # noqa: F401  # adds the codec of curves
from dproof.arguments import described, expect, mapping
from dproof.columns import CODECS, codec_class
from dproof.columns.codec import Codec, Key
from dproof.columns.column import Column
from dproof.columns.values import DECIMALS, THOUSANDS, Numerals
from dproof.errors import ArgumentError, PlanError, SourceError, did_you_mean
from dproof.plans.reader import Misplaced, Reader, read_text, read_toml, to_toml
from dproof.plans.release_table import AskedTables, read_asked
from dproof.privacy import Privacy, Unit
from dproof.questions.question import Open, Schema
from dproof.spaces.products import Rows
from dproof.spaces.space import Space
from dproof.tables.source import USUAL, Layout

if TYPE_CHECKING:
    from dproof.plans.questions import PlannedQuestion, Use


# The spaces that a plan can name, as their codecs call them; of those that share one the first. `add_space` adds one.
SPACES: dict[str, type] = {}
for _space, _codec in CODECS.items():
    if _codec.kind is not None:
        SPACES.setdefault(_codec.kind, _space)
_OWN = frozenset(SPACES)


def plan_keys(space: str) -> tuple[Key, ...]:
    """The keys that a plan may have for a column of a space, each with its form, its help and its options.

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
    """
    expect(name, str, "name", "a text: what plans call the space")
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


def read_column(name: str, table: Reader) -> Column:
    """A column from its table in the plan."""
    if table.flag("drop"):
        several = table.texts("columns") if "columns" in table else (name,)
        table.finish()
        return Column(name, "drop", several)
    if table.flag("public"):
        table.finish()
        return Column(name, "public", (name,))
    kind = table.choice("space", tuple(SPACES))
    column = codec_class(SPACES[kind]).read_column(SPACES[kind], name, kind, table)
    column = replace(column, share=table.share("share", Fraction(1)), mechanism=table.text("mechanism", "auto"))
    table.finish()
    return column


Order = Literal["shuffle", "keep"]
Spread = Literal["split", "sample", "auto"]
ASKED = "asked"  # the stored column that says what a row was asked, where each answers for one thing
VERSION = 1  # of the format: a plan that names none has this one
_MODEL_TABLES = "dproof.central.question_sums"
_UNREAD = ("share", "mechanism", "metric", "bins")  # keys of a column that do not change what its values are read as


def not_protected(public: Sequence[str]) -> str:
    """Which columns a promise does not cover, as the end of a sentence; nothing where it covers all.

    >>> not_protected(["name", "town"])
    'not protected, because the plan calls them public: name, town'
    """
    them = "it" if len(public) == 1 else "them"
    return f"not protected, because the plan calls {them} public: {', '.join(public)}" if public else ""


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """What is to stand under one mechanism: a column, or those of a [[joint]], which keeps their dependence.

    `uses` is what the plan's questions need of its columns.
    """

    columns: tuple[Column, ...]
    share: Fraction
    mechanism: str
    uses: frozenset[Use] = frozenset()

    @property
    def name(self) -> str:
        return " × ".join(column.name for column in self.columns)

    @property
    def names(self) -> frozenset[str]:
        """Its columns."""
        return frozenset(column.name for column in self.columns)

    @property
    def space(self) -> Any:
        """The space that the column is sanitised in, or the rows of the joined columns."""
        if len(self.columns) == 1:
            return self.columns[0].sanitised
        return Rows({column.name: column.sanitised for column in self.columns})


@lru_cache(maxsize=16)
def _tables(text: str) -> Mapping[str, Any]:
    """The tables of a plan, for every question on it."""
    return tomllib.loads(text)


def split(promise: Privacy, groups: Sequence[ColumnGroup]) -> list[Privacy]:
    """The part of a promise that each group gets by its share."""
    whole = sum((group.share for group in groups), Fraction(0))
    parts = (group.share / whole for group in groups)
    return [Privacy(promise.epsilon * p, promise.delta * p, neighbours=promise.neighbours) for p in parts]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a row may lose, the space of every column and how each is treated; validated before any data is opened.

    >>> plan = Plan.from_dict({
    ...     "privacy": {"epsilon": "2"},
    ...     "columns": {"hobby": {"space": "categories", "values": ["Cars", "Chess"]}, "name": {"drop": True}},
    ... })
    >>> plan.privacy.epsilon, [column.kind for column in plan.columns]
    (Fraction(2, 1), ['categories', 'drop'])
    """

    privacy: Privacy
    columns: tuple[Column, ...]
    groups: tuple[ColumnGroup, ...]
    order: Order
    rows_per_person: int
    person: str | None
    questions: tuple[PlannedQuestion, ...]
    text: str
    file: Layout = USUAL
    asked: AskedTables | None = None  # the tables of the central model; None in the local one
    spread: Spread | None = None  # how ε is spread over the columns of a row; None: by the plan's shares

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name} ({column.kind})" for column in self.columns)
        promise = f"epsilon = {self.privacy.epsilon}, delta = {self.privacy.delta}, {self.privacy.neighbours}"
        return f"<plan: {promise}; {columns}>"

    @property
    def model(self) -> Literal["local", "central"]:
        """Whether rows are drawn one by one, or tables of the whole are measured."""
        return "local" if self.asked is None else "central"

    @property
    def has_row_law(self) -> bool:
        """Whether rows can be drawn one by one: a release shows how many they are, so neighbours must have as many."""
        return self.model == "local" and self.privacy.neighbours == "change-one"

    def promise(self, rows: int) -> Privacy:
        """What is promised to somebody who owns `rows` rows.

        Rows that are drawn one by one are independent: their promises add up. Else [privacy] is for a person.
        """
        one, times = self.privacy, rows if self.has_row_law else 1
        return Privacy(times * one.epsilon, min(Fraction(1), times * one.delta), neighbours=one.neighbours)

    @property
    def unit(self) -> Unit:
        """Whose loss is counted."""
        return Unit(self.privacy.neighbours, self.person, self.rows_per_person)

    @property
    def rows_are_public(self) -> bool:
        """Whether neighbours have equally many rows, so that their number may be told."""
        return self.unit.rows_are_public

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Plan:
        """The plan in a TOML file."""
        return cls.parse(read_text(path, "plan"), name=Path(path).name)

    @classmethod
    def parse(cls, text: str, *, name: str = "plan") -> Plan:
        """The plan in a TOML text; a mistake is reported with its key and line."""
        expect(text, str, "text", "the TOML text of a plan")
        expect(name, str, "name", "a text: what the plan is called in messages")
        return read_toml(text, name, lambda top: _plan(top, text))

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> Plan:
        """The plan as nested mappings, with the keys of the TOML file."""
        return cls.parse(to_toml(mapping(tables, "tables", "a mapping with the keys of a plan")))

    @classmethod
    def of(cls, plan: Plan | str | os.PathLike[str] | Mapping[str, Any]) -> Plan:
        """A plan as it is, from a path, or from mappings."""
        if isinstance(plan, Plan):
            return plan
        if isinstance(plan, Mapping):
            return cls.from_dict(plan)
        if isinstance(plan, (str, os.PathLike)):
            return cls.read(plan)
        raise ArgumentError(f"plan must be a Plan, a path or a mapping, not {described(plan)}")

    def reading(self, names: Iterable[str]) -> str:
        """How these columns are read: their tables in the plan, and what there is about persons and the file, as JSON.

        What only a release needs is left out: shares, mechanisms, metrics. A ledger knows a question by a digest of it,
        so this text must stay as it is for as long as plans have version 1: see `docs/certificate.md`.
        """
        tables = _tables(self.text)
        columns = {name: tables["columns"][name] for name in names}
        told = {
            "columns": {name: {k: v for k, v in t.items() if k not in _UNREAD} for name, t in columns.items()},
            "file": tables.get("file", {}),
            "person": self.person,
            "rows_per_person": self.rows_per_person,
        }
        return json.dumps(told, sort_keys=True, default=str)

    def column(self, name: str) -> Column:
        """The column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise PlanError(f"the plan has no column {name!r}{did_you_mean(name, [c.name for c in self.columns])}")

    @property
    def kept(self) -> tuple[Column, ...]:
        """The columns that are not dropped, in the plan's order."""
        return tuple(column for column in self.columns if column.kind != "drop")

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of the source that the release needs, in the plan's order."""
        return tuple(name for column in self.kept for name in column.sources)

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the stored release, in the plan's order."""
        return tuple(name for column in self.kept for name in column.stored)

    def named(self, kind: str) -> list[str]:
        """The names of the columns of one kind, such as those that are public or dropped."""
        return [column.name for column in self.columns if column.kind == kind]

    def check_names(self, names: tuple[str, ...]) -> None:
        """Refuse a source whose columns are not exactly those the plan speaks of."""
        known = {name for column in self.columns for name in column.sources}
        unknown = [name for name in names if name not in known]
        absent = sorted(known - set(names))
        if unknown:
            more = f" (nor {len(unknown) - 1} others)" if len(unknown) > 1 else ""
            near = get_close_matches(unknown[0].casefold(), [name.casefold() for name in absent], 1)
            meant = next((name for name in absent if name.casefold() in near), None)
            way = f"add {to_toml({'columns': {unknown[0]: {}}}).strip()} with its space, or with drop = true"
            if meant is not None:
                way = f"the plan has {meant!r} instead; write it as the file does"
            raise SourceError(f"the source has a column {unknown[0]!r} that the plan does not mention{more}: {way}")
        if absent:
            raise SourceError(f"the source has no column {absent[0]!r}{did_you_mean(absent[0], names)}")


def _plan(top: Reader, text: str) -> Plan:
    version = top.integer("version", VERSION)
    if version != VERSION:
        raise Misplaced(("version",), f"is {version}, and this dproof reads plans of version {VERSION}")
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
        raise Misplaced(("privacy", "rows_per_person"), "must be at least 1")
    person = promise.text("person", None)
    model = promise.choice("model", ("local", "central"), "local")
    spread: Any = promise.choice("spread", get_args(Spread)) if "spread" in promise else None
    if spread is not None and model != "local":
        raise Misplaced(("privacy", "spread"), "belongs to model = 'local': leave it out")
    promise.finish()
    file = read_layout(top.table("file")) if "file" in top else USUAL
    given = top.table("columns")
    columns = tuple(replace(read_column(name, given.table(name)), numerals=file.numerals) for name in given)
    asked = read_asked(top, columns, model)
    groups = _groups(top, columns, spread)
    order = top.choice("order", ("shuffle", "keep"), "shuffle")
    given_questions = top.tables("questions")
    questions, groups = _questions(given_questions, columns, groups) if given_questions else ((), groups)
    top.finish()
    _check(columns, person)
    if spread in ("sample", "auto"):
        _check_asked(columns)
    plan = Plan(privacy, columns, groups, order, rows_per_person, person, questions, text, file, asked, spread)  # type: ignore[arg-type]
    return _with_question_tables(plan) if asked is not None and questions else plan


def _questions(
    tables: list[Reader], columns: tuple[Column, ...], groups: tuple[ColumnGroup, ...]
) -> tuple[tuple[PlannedQuestion, ...], tuple[ColumnGroup, ...]]:
    """The questions, and the groups with what these need of them."""
    from dproof.plans.questions import (
        read_questions,  # takes a parser of SQL, which few plans need
        uses,
    )

    questions = read_questions(tables, columns)
    needed = uses(questions, columns)
    return questions, tuple(replace(group, uses=uses_of(group.names, needed)) for group in groups)


def uses_of(names: Iterable[str], needed: Mapping[str, frozenset[Use]]) -> frozenset[Use]:
    """What the questions need of some columns, taken together."""
    return frozenset(use for name in names for use in needed.get(name, ()))


def _with_question_tables(plan: Plan) -> Plan:
    """The plan with the tables that its questions need: its model stands above plans, so it is looked up by name."""
    return import_module(_MODEL_TABLES).with_question_tables(plan)  # type: ignore[no-any-return]


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
        joints.append(ColumnGroup(members, share, table.text("mechanism", "auto") or "auto"))
        table.finish()
    together = frozenset[str]().union(*(joint.names for joint in joints))
    alone = [ColumnGroup((c,), c.share, c.mechanism) for c in columns if c.private and c.name not in together]
    return tuple(sorted([*joints, *alone], key=lambda group: min(map(places.__getitem__, group.names))))


def _check_asked(columns: tuple[Column, ...]) -> None:
    """Refuse a column that would be stored under the reserved name, in whatever case: SQL sees no difference."""
    for column in columns:
        if column.kind != "drop" and any(name.casefold() == ASKED for name in column.stored):
            raise Misplaced(("columns", column.name), f"has the name {ASKED!r}, which a sampled release stores itself")


def _check(columns: tuple[Column, ...], person: str | None) -> None:
    uses = Counter(source for column in columns for source in column.sources)
    twice = [name for name, times in uses.items() if times > 1]
    if twice:
        raise Misplaced(("columns", twice[0]), "uses a column of the source that another uses too")
    if not any(column.private for column in columns):
        raise Misplaced(("columns",), "are all dropped or public: there is nothing to sanitise")
    stored = Counter(name for column in columns if column.kind != "drop" for name in column.stored)
    clash = [name for name, times in stored.items() if times > 1]
    if clash:
        raise Misplaced(("columns", clash[0]), "would be stored under the name of another column")
    if person is not None:
        named = [column for column in columns if person in column.sources]
        if not named:
            raise Misplaced(
                ("privacy", "person"),
                f"names {person!r}, which is not a column of the plan{did_you_mean(person, uses)}",
            )
        if named[0].kind != "drop":
            raise Misplaced(("columns", named[0].name), "names the person of each row, so it must have drop = true")


# Encodings without memory, by the names that Python gives them: what some bytes mean depends on no bytes before. In
# others, such as ISO-2022-JP, UTF-7 or HZ, a few bytes of one cell change how the rest of the file is read.
_UNICODE = frozenset(
    {"utf-8", "utf-8-sig", *(f"utf-{bits}{order}" for bits in (16, 32) for order in ("", "-le", "-be"))}
)
_ONE_BYTE = frozenset(
    {
        *("ascii", "koi8-r", "koi8-t", "koi8-u", "kz1048", "ptcp154", "tis-620", "hp-roman8"),
        *(f"iso8859-{part}" for part in (*range(1, 12), *range(13, 17))),
        *(f"cp125{page}" for page in range(9)),
        *(f"cp{page}" for page in (437, 720, 737, 775, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 864, 865)),
        *(f"cp{page}" for page in (866, 869, 874, 1006, 1125)),
        *(f"cp{page}" for page in ("037", 273, 424, 500, 875, 1026, 1140)),
        *(
            f"mac-{kind}"
            for kind in ("croatian", "cyrillic", "greek", "iceland", "latin2", "roman", "romanian", "turkish")
        ),
    }
)
# A first byte without its second spoils its own value only, as long as no separator could be a second one.
_EAST_ASIAN = frozenset(
    {
        *("shift_jis", "shift_jis_2004", "shift_jisx0213", "cp932", "euc_jp", "euc_jis_2004", "euc_jisx0213"),
        *("gb2312", "gbk", "gb18030", "big5", "big5hkscs", "cp950", "euc_kr", "cp949"),
    }
)
ENCODINGS = _UNICODE | _ONE_BYTE | _EAST_ASIAN
_NEVER_SECOND = frozenset("\t ,;:!#$%&'()*+-./<=>?")


def read_layout(table: Reader) -> Layout:
    """What the table says, with the usual signs for what it does not."""
    separator, encoding = table.text("separator", None), table.text("encoding", "utf-8")
    decimal, thousands = table.text("decimal", "."), table.text("thousands", "")
    sheet = table.text("sheet", None)
    table.finish()
    if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0'):
        raise table.wrong("separator", 'must be one ASCII character such as "," ";" or "\\t", and no quote or line end')
    known = _encoding(encoding)
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
    return Layout(separator, encoding, Numerals(decimal, thousands), sheet)


def _encoding(name: str) -> str | None:
    """Python's own name of an encoding; None for one that it does not know."""
    try:
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        return None


def schema_of(plan: Plan, table: Literal["data", "release"] = "data") -> Schema:
    """The schema of the private table, called `data`, or of its release.

    A value of the private table is missing where the plan neither moves what lies outside nor says what stands for a
    missing value. Values of public columns are not declared.
    """
    kept = plan.kept
    private = {c.name: c.with_missing_allowed() if table == "data" else c for c in kept if c.private}
    spaces = {c.name: private[c.name].space if c.private else Open() for c in kept}
    # Where a missing value is a value of its own that the true table lacks, what is missing is a group there.
    declared = [
        c.name for c in kept if c.private and c.space.absent is not None and private[c.name].space.absent is None
    ]
    may_be_missing = [name for name, column in private.items() if table == "data" and column.refuses]
    bins = {c.name: c.sanitised_bins for c in kept if c.sanitised_bins is not None} if table == "release" else {}
    if plan.asked is not None and table == "release":
        bins = {axis.name: axis.bins for axis in plan.asked.axes if axis.item is None}
    return Schema(table, spaces, frozenset(may_be_missing), frozenset(declared), bins)


def preprocessing_notes(plan: Plan, names: Iterable[str]) -> tuple[str, ...]:
    """What the plan makes of the rows before these columns are counted: an answer is about what it makes of them.

    Of a person with many rows only some count, and another value may stand for a missing one.

    >>> columns = {"who": {"drop": True}, "age": {"space": "interval", "low": 0, "high": 110, "missing": 40}}
    >>> privacy = {"model": "central", "epsilon": 1, "person": "who", "rows_per_person": 3}
    >>> print(*preprocessing_notes(Plan.of({"privacy": privacy, "columns": columns}), ["age"]), sep="\\n")
    Of each person at most 3 rows count, as the plan says: the answer is about these rows.
    Where 'age' is missing it counts as 40, as the plan says.
    """
    most = "1 row counts" if plan.rows_per_person == 1 else f"{plan.rows_per_person:,} rows count"
    persons = f"Of each person at most {most}, as the plan says: the answer is about these rows."
    columns = [plan.column(name) for name in dict.fromkeys(names)]
    found = [(c.name, c.codec.stand_in(c.missing)) for c in columns if c.missing is not None]
    stand_ins = (f"Where {name!r} is missing it counts as {what}, as the plan says." for name, what in found if what)
    return (*(() if plan.person is None else (persons,)), *stand_ins)
