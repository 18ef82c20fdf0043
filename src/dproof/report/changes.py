"""What other plans would give: every change is priced as the plan itself is, and those that help clearly are told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from dproof.plans.expectation import count_half_width
from dproof.plans.plan import Plan, Wanted, split
from dproof.spaces.subsets import Subsets

_CLEARLY = 0.9  # of the ± of the plan: a change that leaves more is not worth telling
_MANY_COLUMNS, _KEPT_COLUMNS = 8, 5  # from so many on, what keeping a few would give
_MANY_VALUES, _KEPT_VALUES = 12, 6  # the same for the values of a column


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the plan, and ± of its worst count, in rows: as the plan is, and after the change.

    `kind` is "drop" (leave columns out), "keep" (release only these), "values" (fewer values, or items of a set) or
    "flags" (columns of yes and no as one set).
    """

    kind: str
    columns: tuple[str, ...]
    before: float
    after: float
    values: tuple[int, int] | None = None  # how many there are, and how many would be kept

    def text(self, rows: int) -> str:
        """The change in one sentence."""
        names = ", ".join(repr(name) for name in self.columns)
        widths = f"± {percent(self.after, rows)} instead of ± {percent(self.before, rows)}"
        if self.kind == "drop":
            return f"dropping {names} makes every other count {widths}"
        if self.kind == "keep":
            return f"releasing only {names} makes every count {widths}"
        if self.kind == "flags":
            return f"joining the flags {names} into one set makes their counts {widths}"
        many, few = self.values or (0, 0)
        return f"{few} values instead of {many} in {names} make its counts {widths}"


def percent(width: float, rows: int) -> str:
    """A half-width as a part of all rows.

    >>> percent(930, 3000), percent(62, 3000)
    ('31%', '2.1%')
    """
    part = 100 * width / rows
    return f"{part:.0f}%" if part >= 10 else f"{part:.2g}%"


class Prices:
    """The ± of every group of a plan that is counted, and of the plans that lie near it."""

    def __init__(self, plan: Plan, rows: int) -> None:
        self.plan, self.rows = plan, rows
        self._known: dict[tuple[Any, ...], float | None] = {}

    def widths(self, groups: Sequence[Wanted]) -> dict[str, float]:
        """± of the counts of each group, where ε is split over these groups; those without counts are left out."""
        found = {}
        for group, part in zip(groups, split(self.plan.privacy, groups), strict=True):
            if group.space.is_counted:
                key = (group.columns, group.mechanism, part)
                if key not in self._known:
                    self._known[key] = count_half_width(group, part, self.rows)
                if (width := self._known[key]) is not None:
                    found[group.name] = width
        return found

    @cached_property
    def now(self) -> dict[str, float]:
        """± of the plan as it is."""
        return self.widths(self.plan.groups)

    def changes(self) -> list[Change]:
        """The changes that help clearly, the best first; of each kind the best alone."""
        found = []
        for kind in (self._drops, self._keeps, self._fewer_values, self._flags):
            helping = [change for change in kind() if change.after <= _CLEARLY * change.before]
            found += sorted(helping, key=lambda change: round(change.after / change.before, 1))[:1]
        return sorted(found, key=lambda change: change.after / change.before)

    def _drops(self) -> Iterator[Change]:
        """One group left out; of those that help alike, the one with the widest counts comes first."""
        for group in sorted(self.plan.groups, key=lambda group: -self.now.get(group.name, 0.0)):
            others = [other for other in self.plan.groups if other is not group]
            before = [width for name, width in self.now.items() if name != group.name]
            if before:
                yield Change("drop", _names([group]), max(before), max(self.widths(others).values()))

    def _keeps(self) -> Iterator[Change]:
        """Only the groups with the narrowest counts, of many."""
        counted = sorted((g for g in self.plan.groups if g.name in self.now), key=lambda group: self.now[group.name])
        if len(self.plan.groups) >= _MANY_COLUMNS and len(counted) > _KEPT_COLUMNS:
            kept = counted[:_KEPT_COLUMNS]
            before = max(self.now[group.name] for group in kept)
            yield Change("keep", _names(kept), before, max(self.widths(kept).values()))

    def _fewer_values(self) -> Iterator[Change]:
        for group in self.plan.groups:
            column, before = group.columns[0], self.now.get(group.name)
            many, fewer = column.space.declared, column.space.fewer(_KEPT_VALUES)
            if before is None or len(group.columns) > 1 or fewer is None or many < _MANY_VALUES:
                continue
            other = replace(group, columns=(replace(column, space=fewer),))
            after = self.widths([other if g is group else g for g in self.plan.groups])[group.name]
            yield Change("values", (column.name,), before, after, (many, _KEPT_VALUES))

    def _flags(self) -> Iterator[Change]:
        """Columns of yes and no as one set: its items may share ε better than columns do."""
        flags = [g for g in self.plan.groups if g.name in self.now and len(g.columns) == 1 and _is_flag(g)]
        if len(flags) < 2:
            return
        names = _names(flags)
        column = replace(flags[0].columns[0], name=" × ".join(names), space=Subsets(names))
        share = sum((group.share for group in flags), Fraction(0))
        joined = Wanted((column,), share, "auto")
        others = [group for group in self.plan.groups if group not in flags]
        after = self.widths([*others, joined])[joined.name]
        yield Change("flags", names, max(self.now[group.name] for group in flags), after)


def _is_flag(group: Wanted) -> bool:
    return bool(group.columns[0].space.is_flag)


def _names(groups: Sequence[Wanted]) -> tuple[str, ...]:
    return tuple(column.name for group in groups for column in group.columns)
