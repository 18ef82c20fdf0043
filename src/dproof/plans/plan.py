"""The plan: public knowledge about a table, and what to do with it.

Each column has a table of its own in it: the space is found by its name, and reads its own keys. A plan of the central
model has a table [release] of what is measured, by axes that say how each column is counted. The schema of a plan is
what it makes public about the columns of a table or of its release, for questions.
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
from itertools import combinations, product
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

import dproof.curves  # noqa: F401  # adds the codec of curves
from dproof.arguments import described, expect, mapping
from dproof.columns.codec import CODECS, Codec, Column, Key, codec_class
from dproof.columns.values import DECIMALS, THOUSANDS, Numerals
from dproof.errors import ArgumentError, PlanError, SourceError, did_you_mean
from dproof.plans.reader import Misplaced, Reader, read_text, read_toml, to_toml
from dproof.privacy import Privacy, Unit
from dproof.questions.question import Open, Schema
from dproof.spaces.interval import Bins, default_bins, each_value, whole_scale
from dproof.spaces.products import Rows
from dproof.spaces.space import Space
from dproof.tables.source import USUAL, Layout

if TYPE_CHECKING:
    from dproof.plans.questions import PlannedQuestion, Use

Order = Literal["shuffle", "keep"]
Spread = Literal["split", "sample", "auto"]
ASKED = "asked"  # the stored column that says what a row was asked, where each answers for one thing
VERSION = 1  # of the format: a plan that names none has this one
_UNREAD = ("share", "mechanism", "metric", "bins")  # keys of a column that do not change what its values are read as


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
    questions: tuple[PlannedQuestion, ...] = ()
    if given_questions:
        from dproof.plans.questions import read_questions, uses  # take a parser of SQL, which few plans need

        questions = read_questions(given_questions, columns)
        needed = uses(questions, columns)
        groups = tuple(replace(group, uses=uses_of(group.names, needed)) for group in groups)
    top.finish()
    _check(columns, person, spread)
    plan = Plan(privacy, columns, groups, order, rows_per_person, person, questions, text, file, asked, spread)  # type: ignore[arg-type]
    if asked is None or not questions:
        return plan
    # The tables that its questions need: the model stands above plans, so it is looked up by name.
    return import_module("dproof.central.question_sums").with_question_tables(plan)  # type: ignore[no-any-return]


def uses_of(names: Iterable[str], needed: Mapping[str, frozenset[Use]]) -> frozenset[Use]:
    """What the questions need of some columns, taken together."""
    return frozenset(use for name in names for use in needed.get(name, ()))


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


def _check(columns: tuple[Column, ...], person: str | None, spread: Spread | None) -> None:
    uses = Counter(source for column in columns for source in column.sources)
    twice = [name for name, times in uses.items() if times > 1]
    if twice:
        raise Misplaced(("columns", twice[0]), "uses a column of the source that another uses too")
    if not any(column.private for column in columns):
        raise Misplaced(("columns",), "are all dropped or public: there is nothing to sanitise")
    stored = [(name, column.name) for column in columns if column.kind != "drop" for name in column.stored]
    clash = [name for name, times in Counter(name for name, _ in stored).items() if times > 1]
    if clash:
        raise Misplaced(("columns", clash[0]), "would be stored under the name of another column")
    reserved = [column for name, column in stored if name.casefold() == ASKED]  # SQL sees no difference of case
    if reserved and spread in ("sample", "auto"):
        raise Misplaced(("columns", reserved[0]), f"has the name {ASKED!r}, which a sampled release stores itself")
    if person is not None:
        named = [column for column in columns if person in column.sources]
        if not named:
            raise Misplaced(
                ("privacy", "person"),
                f"names {person!r}, which is not a column of the plan{did_you_mean(person, uses)}",
            )
        if named[0].kind != "drop":
            raise Misplaced(("columns", named[0].name), "names the person of each row, so it must have drop = true")


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


def not_protected(public: Sequence[str]) -> str:
    """Which columns a promise does not cover, as the end of a sentence; nothing where it covers all.

    >>> not_protected(["name", "town"])
    'not protected, because the plan calls them public: name, town'
    """
    them = "it" if len(public) == 1 else "them"
    return f"not protected, because the plan calls {them} public: {', '.join(public)}" if public else ""


def schema_of(plan: Plan, table: Literal["data", "release"] = "data") -> Schema:
    """The schema of the private table, called `data`, or of its release.

    A value of the private table is missing where the plan neither moves what lies outside nor says what stands for a
    missing value. Values of public columns are not declared.
    """
    kept = plan.kept
    if table == "release":
        bins = {c.name: c.sanitised_bins for c in kept if c.sanitised_bins is not None}
        if plan.asked is not None:
            bins = {axis.name: axis.bins for axis in plan.asked.axes if axis.item is None}
        return Schema(table, {c.name: c.space if c.private else Open() for c in kept}, bins=bins)
    private = {c.name: c.with_missing_allowed() for c in kept if c.private}
    spaces = {c.name: private[c.name].space if c.name in private else Open() for c in kept}
    # Where a missing value is a value of its own that the true table lacks, what is missing is a group there.
    declared = (c.name for c in kept if c.name in private and c.space.absent is not None)
    lacked = frozenset(name for name in declared if private[name].space.absent is None)
    return Schema(table, spaces, frozenset(name for name, c in private.items() if c.refuses), lacked)


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


# Columns, and the spaces that they name -------------------------------------------------------------------------------

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


# What the central model measures --------------------------------------------------------------------------------------

Objective: TypeAlias = Literal["total", "largest"]  # of all variances that a plan asks for, which is made least
_USUAL = 2  # columns of a table, where the plan does not say which tables it wants
_MOST_VALUES = 1 << 16  # of a column
_MOST_TABLES = 4096
_LARGEST_WEIGHT = Fraction(10**9)
_SUM_WEIGHT = Fraction(1, 16)  # of a sum beside a cell: twice the noise, for a quarter of what it would cost
Listed: TypeAlias = tuple[tuple[tuple[str, ...], Fraction], ...]  # tables of columns, with their weights
# What a plan can say that changes how rows are drawn one by one, and nothing else.
_ROW_BY_ROW = "belongs to model = 'local', where rows are drawn one by one: leave it out"


@dataclass(frozen=True, slots=True)
class AskedTables:
    """The tables of counts that a release shall answer, and the sums of a number by a table, each with its weight.

    `axes` are the columns of the plan as they are counted, in its order. Where `questions` choose the tables, the
    variance of their answers is made least, else that of the cells: the total one, or the largest. With `rows` there
    are made-up rows too. Curves are added up wherever they stand in a table.
    """

    axes: tuple[TableAxis, ...]
    tables: Listed
    sums: tuple[tuple[tuple[str, ...], str, Fraction], ...]
    rows: bool
    objective: Objective
    questions: bool = False


@dataclass(frozen=True, slots=True)
class TableAxis:
    """A column as it is counted: its values, its bins, whether a set holds one item, or whether a curve is there.

    Numbers in bins may be added up as well, as whole numbers about the middle of their range; where each value is
    counted by itself, its sum follows. Dates have no sums, in bins or not. Curves are added up by their coefficients.
    """

    column: Column
    bins: Bins
    name: str
    size: int
    item: int | None = None
    has_curves: bool = False
    is_binned: bool = False  # whether several values are counted together
    max_abs: int | None = None  # the largest distance from the middle among the whole numbers that are added up
    unit: Fraction = Fraction(1)  # what one of these whole numbers is worth

    @classmethod
    def of_bins(cls, column: Column, bins: Bins) -> TableAxis:
        """The axis of a column whose values, numbers or dates are counted by bins."""
        is_binned = bins.size < bins.stop
        if not is_binned or not column.space.has_sums:
            return cls(column, bins, column.name, bins.size, is_binned=is_binned)
        scale = whole_scale(column.space, True)
        return cls(column, bins, column.name, bins.size, None, False, True, int(scale.ends[1]), scale.unit)

    @property
    def is_added_up(self) -> bool:
        """Whether sums of the column have to be measured: counts of its values or bins do not tell them."""
        return self.has_curves or self.max_abs is not None

    def of(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """The place of each code along the axis."""
        if self.has_curves:  # a curve has all its places, or none
            codes = np.where(codes[:, 0] < 0, self.column.space.absent or 0, 0)
        return self.bins.of(codes if self.item is None else codes >> self.item & 1)


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
        if space.size > _MOST_VALUES:
            problem = f"has more than {_MOST_VALUES:,} values: declare fewer, or drop it"
            raise Misplaced(("columns", column.name), problem)
        return (TableAxis.of_bins(column, each_value(space)),)
    return (TableAxis.of_bins(column, (column.bins or default_bins(inside)).with_missing(space.absent)),)


def read_asked(top: Reader, columns: Sequence[Column], model: str) -> AskedTables | None:
    """The [release] of a plan whose model is central; None where the model is local."""
    if model != "central":
        if "release" in top:
            raise Misplaced(("release",), "belongs to model = 'central' under [privacy]: add that, or leave it out")
        return None
    _refuse_row_by_row(top)
    private = [column for column in columns if column.private]
    by_column = {column.name: axes_of(column) for column in private}
    axes = tuple(axis for some in by_column.values() for axis in some)
    release = top.table("release") if "release" in top else Reader({}, ("release",))
    objective: Objective = release.choice("objective", ("total", "largest"), "total")  # type: ignore[assignment]
    if "questions" in top and "tables" not in release:
        for key in ("sums", "rows"):
            if release.flag(key):
                raise release.wrong(key, "needs `tables`: [[questions]] choose only the tables and sums they need")
        release.finish()
        return AskedTables(axes, (), (), False, objective, questions=True)
    tables, rows = _read_tables(release, by_column), release.flag("rows")
    if rows and all(column.space.holds_curves for column in private):
        raise release.wrong("rows", "would be empty: made-up rows leave out curves, and the plan has nothing else")
    asked = AskedTables(axes, _counted(tables, axes), _sums(tables, axes, release.flag("sums")), rows, objective)
    release.finish()
    return asked


def _always_there(axes: Sequence[TableAxis]) -> set[str]:
    """The columns of curves of which none may be missing: they tell no rows apart, so no table is counted by them."""
    return {axis.name for axis in axes if axis.has_curves and axis.size == 1}


def _counted(tables: Listed, axes: Sequence[TableAxis]) -> Listed:
    """The tables of counts; where there are none, all rows are counted, for the mean of the curves."""
    left_out = _always_there(axes)
    weights: dict[tuple[str, ...], Fraction] = {}
    for table, weight in tables:
        weights.setdefault(tuple(name for name in table if name not in left_out), weight)
    if len(weights) > 1 and left_out:
        weights.pop((), None)
    return tuple(weights.items())


def _sums(
    tables: Listed, axes: Sequence[TableAxis], has_numbers: bool
) -> tuple[tuple[tuple[str, ...], str, Fraction], ...]:
    """The curves in each table, and with `has_numbers` the numbers, added up by its other columns."""
    summed = {axis.name for axis in axes if axis.has_curves or (has_numbers and axis.is_added_up)}
    left_out = _always_there(axes)
    found: dict[tuple[tuple[str, ...], str], Fraction] = {}
    for table, weight in tables:
        for column in (name for name in table if name in summed):
            key = tuple(name for name in table if name != column and name not in left_out), column
            found[key] = found.get(key, Fraction(0)) + weight * _SUM_WEIGHT
    return tuple((table, column, weight) for (table, column), weight in found.items())


def _refuse_row_by_row(top: Reader) -> None:
    for key in top.given("joint", "order"):
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
        raise Misplaced(("columns", twice), "has the name of an item of a set: rename one of them")
    given = release.value("tables", _USUAL)
    if not isinstance(given, list):
        most = release.integer("tables", _USUAL)
        if most < 1:
            raise release.wrong("tables", "must be at least 1: all tables of up to that many columns are measured")
        sizes = range(1, min(most, len(names)) + 1)
        if sum(comb(len(names), size) for size in sizes) > _MOST_TABLES:
            raise release.wrong("tables", f"makes over {_MOST_TABLES:,} tables: list fewer with [[release.tables]]")
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
    if len(weights) > _MOST_TABLES:
        raise release.wrong("tables", f"lists more than {_MOST_TABLES:,} tables")
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


def read_layout(table: Reader) -> Layout:
    """What the table says, with the usual signs for what it does not."""
    separator, encoding = table.text("separator", None), table.text("encoding", "utf-8")
    decimal, thousands = table.text("decimal", "."), table.text("thousands", "")
    sheet = table.text("sheet", None)
    table.finish()
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
    return Layout(separator, encoding, Numerals(decimal, thousands), sheet)
