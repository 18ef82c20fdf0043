"""The plan: public knowledge about a table, and what to do with it.

A plan of the central model says what is measured, by axes that say how each column is counted. The schema of a plan is
what it makes public about the columns of a table or of its release, for questions. `plans.reader` reads plans.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import described, expect, mapping
from dproof.columns.codec import Column
from dproof.errors import ArgumentError, PlanError, SourceError, did_you_mean
from dproof.exact import decimals, several
from dproof.limits import LARGEST_EPSILON, SHUFFLED_TOGETHER
from dproof.privacy import Privacy, Unit
from dproof.questions.question import Open, Schema
from dproof.spaces.interval import Bins, whole_scale
from dproof.spaces.products import Rows
from dproof.tables.source import USUAL, Layout

if TYPE_CHECKING:
    from dproof.plans.questions import PlannedQuestion, Use

Order = Literal["shuffle", "keep"]
Spread = Literal["split", "sample", "auto"]
ASKED = "asked"  # the stored column that says what a row was asked, where each answers for one thing
VERSION = 1  # of the format: a plan that names none has this one
# Keys of a column that do not change what its values are read as.
_UNREAD = ("share", "mechanism", "metric", "bins", "question", "help")


@dataclass(frozen=True)  # without slots: what follows from it is worked out once
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
    about: About = field(default_factory=lambda: About())
    shuffle: Shuffle = field(default_factory=lambda: Shuffle())
    tickets: bool = False  # whether who answers its survey needs a ticket, which is good for one answer

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name} ({column.kind})" for column in self.columns)
        promise = f"epsilon = {self.privacy.epsilon}, delta = {self.privacy.delta}, {self.privacy.neighbours}"
        return f"<plan: {promise}; {columns}>"

    @cached_property
    def model(self) -> Literal["local", "central"]:
        """Whether rows are drawn one by one, or tables of the whole are measured."""
        return "local" if self.asked is None else "central"

    @cached_property
    def has_row_law(self) -> bool:
        """Whether rows can be drawn one by one: a release shows how many they are, so neighbours must have as many."""
        return self.model == "local" and self.privacy.neighbours == "change-one"

    def promise(self, rows: int) -> Privacy:
        """What is promised to somebody who owns `rows` rows.

        Rows that are drawn one by one are independent: their promises add up. Else [privacy] is for a person.
        """
        one, times = self.privacy, rows if self.has_row_law else 1
        if times * one.epsilon > LARGEST_EPSILON:
            raise PlanError(
                f"a person with {several(rows, 'row')}, each drawn with epsilon {decimals(one.epsilon)}, may lose "
                f"{decimals(times * one.epsilon)} in all, and {LARGEST_EPSILON} is the most: take a smaller epsilon"
            )
        return Privacy(times * one.epsilon, min(Fraction(1), times * one.delta), neighbours=one.neighbours)

    @cached_property
    def promised(self) -> Privacy:
        """What the plan promises a person, whom ledgers count; for questions it is [privacy]."""
        if self.rows_per_person * self.privacy.epsilon > LARGEST_EPSILON:
            return self.privacy  # which questions keep to: a release of rows that costs a person so much is refused
        return self.shuffle.promise or self.promise(self.rows_per_person)

    @cached_property
    def unit(self) -> Unit:
        """Whose loss is counted."""
        return Unit(self.privacy.neighbours, self.person, self.rows_per_person)

    @cached_property
    def rows_are_public(self) -> bool:
        """Whether neighbours have equally many rows, so that their number may be told."""
        return self.unit.rows_are_public

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Plan:
        """The plan in a TOML file, with the values that it has in files of their own."""
        from dproof.plans.reader import read_plan_text  # makes plans, so it stands above them

        return cls.parse(read_plan_text(path), name=Path(path).name)

    @classmethod
    def parse(cls, text: str, *, name: str = "plan") -> Plan:
        """The plan in a TOML text; a mistake is reported with its key and line."""
        expect(text, str, "text", "the TOML text of a plan")
        expect(name, str, "name", "a text: what the plan is called in messages")
        from dproof.plans.reader import read_plan, read_toml

        return read_toml(text, name, lambda top: read_plan(top, text))

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> Plan:
        """The plan as nested mappings, with the keys of the TOML file."""
        from dproof.plans.reader import to_toml

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
        tables = _parsed(self.text)
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
    def chosen_bins(self) -> dict[str, Bins]:
        """The bins of numbers that the plan leaves open, as its questions need them."""
        written, local = _parsed(self.text)["columns"], self.model == "local"
        return {c.name: c.bins for c in self.columns if local and c.bins is not None and "bins" not in written[c.name]}

    def with_chosen_bins(self, bins: Mapping[str, Bins]) -> Plan:
        """The plan with these bins in the place of those that its questions chose."""
        chosen = {**dict.fromkeys(self.chosen_bins), **bins}
        columns, groups = with_bins(self.columns, self.groups, chosen)
        return replace(self, columns=columns, groups=groups)

    @cached_property
    def true_columns(self) -> dict[str, Column]:
        """The private columns for those who see the true values, by their names."""
        return true_columns(self.columns)

    @cached_property
    def kept(self) -> tuple[Column, ...]:
        """The columns that are not dropped, in the plan's order."""
        return tuple(column for column in self.columns if column.kind != "drop")

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The columns of the source that the release needs, in the plan's order."""
        return tuple(dict.fromkeys(name for column in self.kept for name in column.sources))

    @cached_property
    def stored(self) -> tuple[str, ...]:
        """The columns of the stored release, in the plan's order."""
        return tuple(name for column in self.kept for name in column.stored)

    def named(self, kind: str) -> list[str]:
        """The names of the columns of one kind, such as those that are public or dropped."""
        return [column.name for column in self.columns if column.kind == kind]

    @property
    def left_out(self) -> list[str]:
        """The names of the columns of which nothing is released: those that are dropped, or that no table has."""
        if self.asked is None:
            return self.named("drop")
        counted = {name for names, _ in self.asked.tables for name in names}
        counted |= {name for names, number, _ in self.asked.sums for name in (*names, number)}
        measured = {axis.column.name for axis in self.asked.axes if axis.name in counted}
        return [column.name for column in self.columns if column.name not in measured]

    def check_names(self, names: tuple[str, ...]) -> None:
        """Refuse a source whose columns are not exactly those the plan speaks of."""
        known = {name for column in self.columns for name in column.sources}
        unknown = [name for name in names if name not in known]
        absent = sorted(known - set(names))
        if unknown:
            from dproof.plans.reader import to_toml

            more = f" (nor {several(len(unknown) - 1, 'other')})" if len(unknown) > 1 else ""
            near = get_close_matches(unknown[0].casefold(), [name.casefold() for name in absent], 1)
            meant = next((name for name in absent if name.casefold() in near), None)
            way = f"add {to_toml({'columns': {unknown[0]: {}}}).strip()} with its space, or with drop = true"
            if meant is not None:
                blank = ", with the blank beside it" * (unknown[0].strip() == meant)
                way = f"the plan has {meant!r} instead; write it as the file does{blank}"
            numbered = re.fullmatch(r"(.+) \((\d+)\)", unknown[0], re.DOTALL)
            if numbered and numbered[1] in names:  # it may be named so as well, which makes no difference
                way = f"it is number {numbered[2]} of those that the header names {numbered[1]!r}; {way}"
            raise SourceError(f"the source has a column {unknown[0]!r} that the plan does not mention{more}: {way}")
        if absent:
            raise SourceError(f"the source has no column {absent[0]!r}{did_you_mean(absent[0], names)}")


@dataclass(frozen=True, slots=True)
class About:
    """What the report says of a table at its top, as the plan's [about] has it: public, and no part of the promise."""

    title: str = ""
    table: str = ""
    date: str = ""
    custodian: str = ""
    contact: str = ""
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Shuffle:
    """What a plan says of the random order of its rows: the share of people who follow the method, so that their rows
    hide others; and with model = 'shuffled' how many rows there are at least.

    There [privacy] is the promise to whoever sees the published rows. Once a row's own ε is found that keeps it, it
    stands here as `promise`, and the plan's promise is that of a row.
    """

    honest: Fraction = Fraction(1)
    rows: int | None = None
    promise: Privacy | None = None

    def hiding(self, rows: int, within: int | None = None) -> int:
        """How many of so many rows count, among those that are shuffled together: within parts of so many, or more.

        All who do not follow the method may be in one of the parts that a large table is shuffled in.
        """
        strangers = rows - int(self.honest * rows)
        within = SHUFFLED_TOGETHER if within is None else within
        together = rows if rows < 2 * within else within
        return max(0, min(together - strangers, within))


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Columns that a plan puts under one mechanism: one, or those of a [[joint]], which keeps their dependence.

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
        """The names of its columns."""
        return frozenset(column.name for column in self.columns)

    @property
    def space(self) -> Any:
        """The space that the column is sanitised in, or the rows of the joined columns."""
        if len(self.columns) == 1:
            return self.columns[0].sanitised
        return Rows({column.name: column.sanitised for column in self.columns})


def with_bins(
    columns: Sequence[Column], groups: Sequence[ColumnGroup], bins: Mapping[str, Bins | None]
) -> tuple[tuple[Column, ...], tuple[ColumnGroup, ...]]:
    """Columns, and the groups that they are in, with other bins for some of them."""
    changed = {c.name: replace(c, bins=bins[c.name]) if c.name in bins else c for c in columns}
    return (*changed.values(),), tuple(replace(g, columns=tuple(changed[c.name] for c in g.columns)) for g in groups)


def joint_mechanism(columns: Iterable[Column]) -> str:
    """The mechanism of joined columns: one whose values must stay readable keeps those of all."""
    return "randomised_response" if any(c.mechanism == "randomised_response" for c in columns) else "auto"


def uses_of(names: Iterable[str], needed: Mapping[str, frozenset[Use]]) -> frozenset[Use]:
    """All that the questions need of some columns, from what they need of each."""
    return frozenset(use for name in names for use in needed.get(name, ()))


@lru_cache(maxsize=16)
def _parsed(text: str) -> Mapping[str, Any]:
    """The TOML of a plan as mappings: kept, because the key of every question needs it."""
    return tomllib.loads(text)


def split(promise: Privacy, groups: Sequence[ColumnGroup]) -> list[Privacy]:
    """The part of a promise that each group gets by its share."""
    whole = sum((group.share for group in groups), Fraction(0))
    return [promise.part(group.share / whole) for group in groups]


def not_protected(public: Sequence[str]) -> str:
    """Which columns a promise does not cover, as the end of a sentence; nothing where it covers all.

    >>> not_protected(["name", "town"])
    'not protected, because the plan calls them public: name, town'
    """
    them = "it" if len(public) == 1 else "them"
    return f"not protected, because the plan calls {them} public: {', '.join(public)}" if public else ""


def schema_of(plan: Plan, table: Literal["data", "release"] = "data") -> Schema:
    """The schema of the private table, called `data`, or of its release."""
    if table == "data":
        return data_schema(plan.columns, plan.true_columns)
    if plan.asked is not None:
        bins = {axis.name: axis.bins for axis in plan.asked.axes if axis.item is None}
    else:
        bins = {column.name: some for column in plan.kept if (some := column.sanitised_bins) is not None}
    return replace(release_schema(plan.columns), bins=bins)


def release_schema(columns: Iterable[Column]) -> Schema:
    """The schema of a release of these columns, in which each value is told by itself.

    Values of public columns are not declared.
    """
    return Schema("release", {c.name: c.space if c.private else Open() for c in columns if c.kind != "drop"})


def true_columns(columns: Iterable[Column]) -> dict[str, Column]:
    """The private columns for those who see the true values (see `Column.with_missing_allowed`), by their names."""
    return {column.name: column.with_missing_allowed() for column in columns if column.private}


def data_schema(columns: Iterable[Column], private: Mapping[str, Column]) -> Schema:
    """The schema of a private table with these columns, of which the private ones are `true_columns`.

    A value is missing where the plan neither moves what lies outside nor says what stands for a missing value. Values
    of public columns are not declared.
    """
    kept = [column for column in columns if column.kind != "drop"]
    spaces = {c.name: private[c.name].space if c.name in private else Open() for c in kept}
    # Where a missing value is a value of its own that the true table lacks, what is missing is a group there.
    declared = (c.name for c in kept if c.name in private and c.space.absent is not None)
    lacked = frozenset(name for name in declared if private[name].space.absent is None)
    return Schema("data", spaces, frozenset(name for name, c in private.items() if c.refuses), lacked)


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


# What the central model measures --------------------------------------------------------------------------------------

Objective: TypeAlias = Literal["total", "largest"]  # of all variances that a plan asks for, which is made least
Listed: TypeAlias = tuple[tuple[tuple[str, ...], Fraction], ...]  # tables of columns, with their weights


@dataclass(frozen=True, slots=True)
class AskedTables:
    """The tables of counts that a release shall answer, and the sums of a number by a table, each with its weight.

    `axes` are the columns of the plan as they are counted, in its order. What is made least is the variance of the
    answers to the plan's `questions`, of the cells of the tables that are `listed`, or of both, in total or at its
    largest. A table that only questions need has no weight beside listed ones. With `rows` there are synthetic rows
    too. Curves are added up wherever they stand in a table.

    `version` is that of the certificate. In version 1 numbers are added up about the middle of their range. `before` is
    what the same plan asked for up to an earlier version, where that is something else: up to version 3 all tables
    weighed the same but for items of sets, and up to version 2 items of one set were counted by each other.
    """

    axes: tuple[TableAxis, ...]
    tables: Listed
    sums: tuple[tuple[tuple[str, ...], str, Fraction], ...]
    rows: bool
    objective: Objective
    questions: bool = False
    listed: bool = True
    version: int = 4
    before: AskedTables | None = None

    def of_version(self, version: int) -> AskedTables:
        """What was measured for the same plan before: by the questions of a plan nothing yet."""
        asked = self
        while asked.before is not None and version <= asked.before.version:
            asked = asked.before
        asked = replace(asked, version=version)
        # What only questions need, of the weight 0, is found anew.
        tables = tuple((names, weight) for names, weight in asked.tables if weight)
        sums = tuple((by, name, weight) for by, name, weight in asked.sums if weight)
        if version == 1:
            axes = tuple(axis.centred(within=False) for axis in self.axes)
            curves = {axis.name for axis in axes if axis.has_curves}
            kept = ((by, name, weight) for by, name, weight in sums if name not in by)
            sums = tuple((by, name, weight / (1 if name in curves else 4)) for by, name, weight in kept)
            asked = replace(asked, axes=axes)
        return replace(asked, tables=tables if asked.listed else (), sums=sums if asked.listed else ())

    @property
    def is_weighed(self) -> bool:
        """Whether tables weigh by what is asked of them, where they were all alike up to version 3."""
        return self.of_version(3).tables != self.of_version(self.version).tables

    @property
    def unpaired(self) -> tuple[str, ...]:
        """The sets whose items are not counted by each other."""
        if len(self.of_version(2).tables) == sum(weight > 0 for _, weight in self.tables):
            return ()
        items = Counter(axis.column.name for axis in self.axes if axis.is_item)
        return tuple(name for name, several in items.items() if several > 1)


_LADDER = 96  # parts of bins on the ladder of a number, about


@dataclass(frozen=True)  # without slots: what follows from it is worked out once
class TableAxis:
    """A column as it is counted: its values, its bins, whether a set holds one item, or whether a curve is there.

    Numbers in bins may be added up as well, as whole numbers: about the middle of the range or, `within` bins, each
    about the middle of its bin, so that a row adds half the width of a bin at most and the counts of bins tell the
    rest. That has less noise where no bin has more than about two thirds of the values. Where each value is counted by
    itself, its sum follows. Dates have no sums, in bins or not. Curves are added up by their coefficients. On its
    ladder a number is counted by parts of its bins, for quantiles and deviations of all rows.
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
    within: bool = False  # whether numbers are added up about the middles of their bins
    has_ladder: bool = False  # whether numbers are counted by fine bins, too

    @classmethod
    def of_bins(cls, column: Column, bins: Bins, *, within: bool | None = None) -> TableAxis:
        """The axis of a column whose values, numbers or dates are counted by bins; `within` unless a bin is wide."""
        is_binned = bins.size < bins.stop
        if not is_binned or not column.space.has_sums:
            return cls(column, bins, column.name, bins.size, is_binned=is_binned)
        scale = whole_scale(column.space, True)
        max_abs, unit = int(scale.ends[1]), scale.unit
        if within is None:
            within = 3 * max(bins.sizes) <= 2 * column.space.candidates
        if within:  # in halves of a step: the middle of a bin with an even number of values lies between two
            max_abs, unit = max(bins.sizes) - 1, column.space.line.step / 2
        return cls(column, bins, column.name, bins.size, None, False, True, max_abs, unit, within)

    def centred(self, *, within: bool) -> TableAxis:
        """The axis whose numbers are added up within bins, or about the middle of the range."""
        return self if self.max_abs is None else TableAxis.of_bins(self.column, self.bins, within=within)

    def with_ladder(self, wanted: bool) -> TableAxis:
        """The axis with a ladder if that is wanted, and there is one: of numbers in bins with several parts."""
        has_one = self.max_abs is not None and self.size > 1 and max(self.parts) > 1
        return replace(self, has_ladder=wanted and has_one)

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """How many parts of about equally many values each bin has on the ladder of a number: together a hundred."""
        bins = self.size - (self.column.space.absent is not None)
        return tuple(min(max(1, round(_LADDER / bins)), values) for values in self.bins.sizes)

    @cached_property
    def ladder(self) -> Bins:
        """The parts of bins as bins, on the ladder of a number."""
        cut = zip(self.bins.starts, self.bins.sizes, self.parts, strict=True)
        starts = tuple(start + n * values // parts for start, values, parts in cut for n in range(parts))
        return Bins(starts, starts, self.bins.stop)

    @cached_property
    def middles(self) -> NDArray[np.float64]:
        """The middle of each bin, as a code: between two where a bin has an even number of values."""
        return np.array(self.bins.starts) + (np.array(self.bins.sizes) - 1) / 2

    def wholes(self, codes: NDArray[Any], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """What each row adds to a sum of numbers, in units of `unit`; a missing number adds nothing."""
        absent = self.column.space.absent
        if self.within:  # x − m for the middle m of its bin, doubled
            found = 2 * np.asarray(codes).astype(np.int64) - (2 * self.middles).astype(np.int64)[places]
        else:
            found = whole_scale(self.column.space, True).whole(codes)
        return found if absent is None else np.where(codes == absent, 0, found)

    @property
    def is_item(self) -> bool:
        """Whether it says if a set holds an item, and not whether the set is missing."""
        return self.item is not None and self.column.space.absent != 1 << self.item

    @property
    def is_added_up(self) -> bool:
        """Whether sums of the column have to be measured: counts of its values or bins do not tell them."""
        return self.has_curves or self.max_abs is not None

    def of(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """The place of each code along the axis."""
        if self.has_curves:  # a curve has all its places, or none
            codes = np.where(codes[:, 0] < 0, self.column.space.absent or 0, 0)
        return self.bins.of(codes if self.item is None else codes >> self.item & 1)
