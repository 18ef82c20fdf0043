"""Whether the answers of a release will be of use, and what would help: each change is priced as the plan itself is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any

from dproof.advice.before_spending import TOO_NOISY
from dproof.advice.expect import DEVIATIONS, expected_of_asking, expected_of_release, row_widths, usual_question
from dproof.columns.codec import quoted
from dproof.errors import DproofError, InputError
from dproof.exact import written
from dproof.local.mechanisms import MECHANISMS, READABLE, choose
from dproof.local.recipe import RowLaw, certify_row
from dproof.plans.plan import ColumnGroup, Plan, schema_of, split
from dproof.plans.questions import PlannedQuestion, planned_question, question_bins
from dproof.spaces.categories import Subsets

_SHARP = 0.01  # below this nothing needs to be said
MOST_HINTS = 5
CLEARLY = 0.9  # of the ± of the plan: a change that leaves more is not worth telling
_MANY_COLUMNS, _KEPT_COLUMNS = 8, 5  # from so many on, what keeping a few would give
_COUNTING = {  # laws for counts alone, and what they do
    "frequency": "makes its counts",
    "one_item": "allows questions about single items only, and makes their counts",
}
_MANY_VALUES, _KEPT_VALUES = 12, 6  # of a column: from so many on, what keeping a few would give


@dataclass(frozen=True, slots=True)
class Hint:
    """One thing that would help, with ± as the plan is and as it would be, both in rows or in the units of a mean.

    `kind` is "drop" (leave columns out), "keep" (release only these), "values" (fewer values, or items of a set),
    "flags" (columns of yes and no as one set), "bins" (of a number that questions have conditions on, or fewer),
    "mechanism" (another law for a column), "questions" (declared, or that need fewer columns together), "pairs" (of
    columns that are asked together), "ask" (no release at all), "rows" (one of each person); "sums", "tables", "delta"
    and "neighbours" are keys of a plan of the central model. `before` is None where the plan as it is cannot answer.
    """

    kind: str
    columns: tuple[str, ...]
    before: float | None
    after: float
    text: str

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        about = {"kind": self.kind, "columns": list(self.columns), "text": self.text}
        return {**about, "half_width": self.after, "instead_of": self.before}


@dataclass(frozen=True, slots=True)
class PlanAdvice:
    """A verdict where answers will be of little use, and what would help, the best first."""

    verdict: str | None
    hints: tuple[Hint, ...] = ()


def plan_advice(law: RowLaw, rows: int) -> PlanAdvice:
    """Advice for a plan and a number of rows.

    >>> from dproof.local.recipe import certify_row
    >>> states = {"space": "categories", "values": [f"state {n}" for n in range(50)]}
    >>> states["mechanism"] = "randomised_response"
    >>> plan = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"state": states}})
    >>> found = plan_advice(certify_row(plan), 2000)
    >>> print(found.verdict)
    With 2,000 rows the count of one value of 'state' is known to ± 589 at worst (29% of all rows). That is too noisy
    for most uses.
    >>> [hint.kind for hint in found.hints]
    ['ask', 'mechanism', 'values']
    """
    if rows < 1:
        return PlanAdvice(None)
    if law.plan.spread is not None:
        return _of_spread(law, rows)
    advice = _of_columns(law, rows)
    return replace(advice, hints=(*_of_bins(law.plan, rows), *advice.hints)[:MOST_HINTS])


def _of_bins(plan: Plan, rows: int) -> Iterator[Hint]:
    """Bins for numbers of which more is asked than bins serve: ± of every answer on them, both ways."""
    columns = {planned.sql: planned.question.columns for planned in plan.questions}
    for group, part in zip(plan.groups, split(plan.privacy, plan.groups), strict=True):
        served = replace(group, uses=group.uses & {"values", "ranks"})
        bins = question_bins(served, plan.questions, schema_of(plan, "release"), part.epsilon)
        if bins is None or served.uses == group.uses:
            continue
        name, changed = group.name, plan.with_chosen_bins({**plan.chosen_bins, group.name: bins})
        both = [_answers_on(name, columns, one, rows) for one in (plan, changed)]
        widths = {what: (before, both[1][what]) for what, before in both[0].items() if both[1].get(what) is not None}
        told = [f"{what} ± {written(after)} instead of ± {written(before)}" for what, (before, after) in widths.items()]
        gains = [(before, after) for before, after in widths.values() if after <= CLEARLY * before]
        if gains:
            values = group.columns[0].space.without_missing
            edges = [*(start for start in bins.starts if start < values.size - 1), values.size - 1]
            shown = f"bins = [{', '.join(_written(values.label(edge)) for edge in edges)}] in {name!r}"
            best = min(gains, key=lambda pair: pair[1] / pair[0])
            yield Hint("bins", (name,), *best, f"{shown} make {', '.join(told)}")


def _answers_on(name: str, columns: Mapping[str, Sequence[str]], plan: Plan, rows: int) -> dict[str, float]:
    """± of every answer that needs a column."""
    law = certify_row(plan)
    found = (one for planned in plan.questions for one in expected_of_release(law, planned, rows))
    return {one.column: one.half_width for one in found if name in columns[one.question] and one.half_width is not None}


def _written(edge: Any) -> str:
    return str(edge) if isinstance(edge, (int, float)) else f'"{edge}"'


def _of_columns(law: RowLaw, rows: int) -> PlanAdvice:
    """The count that is known worst, where ε is split by shares, and the changes that would help it the most."""
    plan, prices = law.plan, Prices(law.plan, rows)
    if not prices.now:
        return _of_means(law, rows)
    worst = max(prices.now, key=lambda name: prices.now[name])
    width = prices.now[worst]
    if width < _SHARP * rows:
        return PlanAdvice(None)
    group = next(group for group in plan.groups if group.name == worst)
    asking = _asking(plan, rows, group.columns[0].name, width, "a count")
    hints = sorted([*prices.changes(), *asking, *_unbiased(law, rows)], key=part_left)
    what = "one item" if group.space.items is not None else "one value"
    told = f"With {rows:,} rows the count of {what} of {worst!r} is known to ± {written(width)} at worst"
    return PlanAdvice(_verdict(told, width / rows, "all rows"), tuple(hints[:MOST_HINTS]))


def _of_spread(law: RowLaw, rows: int) -> PlanAdvice:
    """The count that is known worst, where the plan says how ε is spread; what changes would give is not worked out."""
    known = row_widths(law, rows)
    counted = {g.name: known[g.name].count or 0.0 for g in law.groups if g.mechanism.inputs.is_counted}
    worst = max(counted, key=counted.__getitem__, default=None)
    if worst is None:
        return _of_means(law, rows)
    told = f"With {rows:,} rows the count of one value of {worst!r} is known to ± {written(counted[worst])} at worst"
    hints = (*_pairs_of_columns(law, rows), *_of_pairs(law, rows, counted[worst]))
    return PlanAdvice(_verdict(told, counted[worst] / rows, "all rows"), hints)


def _pairs_of_columns(law: RowLaw, rows: int) -> Iterator[Hint]:
    """What a count by two columns would be, where each row answers for one column and none is asked for two."""
    plan = law.plan
    names = tuple(group.columns[0].name for group in law.groups if group.mechanism.inputs.is_counted)
    if law.weights is None or plan.questions or len(names) < 2 or any(len(group.columns) > 1 for group in law.groups):
        return
    first, second = (usual_question(plan, name).sql.partition(" WHERE ")[2] for name in names[:2])
    pair = planned_question(f"SELECT count(*) FROM release WHERE {first} AND {second}", plan.columns)
    asked = replace(plan, questions=(*_single_questions(plan), pair))
    (one,) = expected_of_release(certify_row(asked), pair, rows)
    if one.half_width is not None:
        text = (
            "no question about two columns can be answered, as each row answers for one: [[questions]] for each column "
            f"and for {names[0]!r} with {names[1]!r} make the count of a pair known, to ± {written(one.half_width)}"
        )
        yield Hint("pairs", names[:2], None, one.half_width, text)


def _single_questions(plan: Plan) -> tuple[PlannedQuestion, ...]:
    """The counts by each column."""
    names = [quoted(column.name) for column in plan.columns if column.private]
    return tuple(planned_question(f"SELECT {n}, count(*) FROM release GROUP BY {n}", plan.columns) for n in names)


def _of_pairs(law: RowLaw, rows: int, width: float) -> Iterator[Hint]:
    """What questions would give, where without any each row answers for one of all pairs of columns."""
    plan = law.plan
    joined = any(len(group.columns) > 1 for group in plan.groups)
    if law.weights is None or plan.questions or joined or all(len(group.columns) == 1 for group in law.groups):
        return
    names = tuple(column.name for column in plan.columns if column.private)
    known = row_widths(certify_row(replace(plan, questions=_single_questions(plan))), rows)
    after = max(each.count or 0.0 for each in known.values())
    yield Prices(plan, rows).hint(
        "questions",
        names,
        width,
        after,
        f"the plan has no [[questions]], so each row answers for one of all {len(law.groups)} pairs of columns; "
        "[[questions]] say what it is asked instead: about one column at a time, the widest count is",
    )


def asking_advice(plan: Plan) -> PlanAdvice:
    """Advice for a plan under which there can be no release."""
    count = planned_question("SELECT count(*) FROM data", plan.columns)
    (one,) = expected_of_asking(plan, count, None)
    width = one.half_width
    counts = "" if width is None else f", which gives a count to {_width(width)} where one question gets all of ε"
    return PlanAdvice(
        f"The plan has neighbours = '{plan.privacy.neighbours}'. A release keeps the number of rows, so it needs "
        f"'change-one'; under this plan use `dproof ask`{counts}."
    )


def _of_means(law: RowLaw, rows: int) -> PlanAdvice:
    """Where nothing is counted, the mean that is known worst beside its range."""
    ranges = {group.name: float(group.mechanism.inputs.diameter) for group in law.groups}
    known = row_widths(law, rows).items()
    means = {name: each.mean for name, each in known if each.mean is not None and ranges[name]}
    if not means:
        return PlanAdvice(None)
    worst = max(means, key=lambda name: means[name] / ranges[name])
    width = means[worst]
    if width < _SHARP * ranges[worst]:
        return PlanAdvice(None)
    told = f"With {rows:,} rows the mean of {worst!r} is known to ± {written(width)} at worst"
    hints = [*_asking(law.plan, rows, worst, width, f"the mean of {worst!r}"), *_unbiased(law, rows)]
    return PlanAdvice(_verdict(told, width / ranges[worst], "its range"), tuple(sorted(hints, key=part_left)))


def part_left(hint: Hint) -> float:
    """What is left of ± with a change; nothing where it makes an answer possible."""
    return hint.after / hint.before if hint.before else 0.0


def _unbiased(law: RowLaw, rows: int) -> Iterator[Hint]:
    """The law of least variance for the number whose mean gains most by it, where the plan leaves the choice."""
    known, hints = row_widths(law, rows), []
    for group, want in zip(law.groups, law.plan.groups, strict=True):
        before, name = known[group.name].mean, group.name
        if before is None or want.mechanism != "auto" or before < _SHARP * float(group.mechanism.inputs.diameter):
            continue
        with suppress(DproofError):
            unbiased = replace(group, mechanism=choose(want.space, group.privacy, "unbiased_design"))
            after = row_widths(replace(law, groups=(unbiased,)), rows)[name].mean or before
            text = (
                f'mechanism = "unbiased_design" in {name!r} makes its mean ± {written(after)} instead of '
                f"± {written(before)}, and allows questions about its sums and means only"
            )
            hints.append(Hint("mechanism", (name,), before, after, text))
    yield from sorted((hint for hint in hints if part_left(hint) <= CLEARLY), key=part_left)[:1]


def _verdict(told: str, part: float, whole: str) -> str | None:
    return f"{told} ({_percent(part)} of {whole}). That is too noisy for most uses." if part >= TOO_NOISY else None


def _asking(plan: Plan, rows: int, column: str, width: float, what: str) -> Iterator[Hint]:
    """What a curator would give instead, where that is better."""
    if plan.column(column).space.holds_curves:
        return
    if plan.shuffle.promise is not None:  # what a curator may lose, and not the ε of a row
        plan = replace(plan, privacy=plan.shuffle.promise)
    (one,) = expected_of_asking(plan, usual_question(plan, column), rows)
    asked = one.half_width
    if asked is not None and asked < width:
        text = f"`dproof ask` at the same ε gives {what} to {_width(asked)}, for one question"
        yield Hint("ask", (column,), width, asked, text)


def _width(width: float) -> str:
    return f"± {written(width)}" if width else "± 0 (exactly right 95% of the time)"


def _percent(part: float) -> str:
    """A half-width as a part of the whole, which may be more than all of it.

    >>> _percent(0.31), _percent(0.0207)
    ('31%', '2.1%')
    """
    return f"{100 * part:.0f}%" if part >= 0.1 else f"{100 * part:.2g}%"


class Prices:
    """The ± of every group of a plan that is counted, and of the plans that lie near it."""

    def __init__(self, plan: Plan, rows: int) -> None:
        self.plan, self.rows = plan, rows
        self._known: dict[tuple[Any, ...], float | None] = {}

    def widths(self, groups: Sequence[ColumnGroup]) -> dict[str, float]:
        """± of the counts of each group, where ε is split over these groups; those without counts are left out."""
        widths = {}
        for group, part in zip(groups, split(self.plan.privacy, groups), strict=True):
            if group.space.is_counted:
                key = (group.columns, group.mechanism, part)
                if key not in self._known:
                    law = choose(group.space, part, group.mechanism, group.uses).family
                    self._known[key] = law.count_variance(group.space)
                if (variance := self._known[key]) is not None:
                    width = DEVIATIONS * sqrt(self.rows * variance)
                    widths[group.name] = width
        return widths

    @cached_property
    def now(self) -> dict[str, float]:
        """± of the plan as it is."""
        return self.widths(self.plan.groups)

    def changes(self) -> list[Hint]:
        """The changes that help clearly, the best first; of each kind the best alone."""
        changes = []
        for kind in (self._drops, self._keeps, self._fewer_values, self._flags, self._laws):
            helping = [hint for hint in kind() if hint.before and part_left(hint) <= CLEARLY]
            changes += sorted(helping, key=lambda hint: round(part_left(hint), 1))[:1]
        return sorted(changes, key=part_left)

    def hint(self, kind: str, columns: tuple[str, ...], before: float, after: float, text: str) -> Hint:
        widths = f"± {_percent(after / self.rows)} instead of ± {_percent(before / self.rows)}"
        return Hint(kind, columns, before, after, f"{text.format(', '.join(map(repr, columns)))} {widths}")

    def _drops(self) -> Iterator[Hint]:
        """One group left out; of those that help alike, the one with the widest counts comes first."""
        for group in sorted(self.plan.groups, key=lambda group: -self.now.get(group.name, 0.0)):
            others = [other for other in self.plan.groups if other is not group]
            before = [width for name, width in self.now.items() if name != group.name]
            if before:
                after = max(self.widths(others).values())
                yield self.hint(
                    "drop", _names([group]), max(before), after, "dropping {} makes the widest of the other counts"
                )

    def _keeps(self) -> Iterator[Hint]:
        """Only the groups with the narrowest counts, of many."""
        counted = sorted((g for g in self.plan.groups if g.name in self.now), key=lambda group: self.now[group.name])
        if len(self.plan.groups) >= _MANY_COLUMNS and len(counted) > _KEPT_COLUMNS:
            kept = counted[:_KEPT_COLUMNS]
            before, after = max(self.now[group.name] for group in kept), max(self.widths(kept).values())
            yield self.hint("keep", _names(kept), before, after, "releasing only {} makes the widest of their counts")

    def _fewer_values(self) -> Iterator[Hint]:
        for group in self.plan.groups:
            column, before = group.columns[0], self.now.get(group.name)
            many, fewer = column.space.declared, column.space.fewer(_KEPT_VALUES)
            if before is None or len(group.columns) > 1 or fewer is None or many < _MANY_VALUES:
                continue
            other = replace(group, columns=(replace(column, space=fewer),))
            after = self.widths([other if g is group else g for g in self.plan.groups])[group.name]
            text = f"{_KEPT_VALUES} values instead of {many} in {{}} make its counts"
            yield self.hint("values", (column.name,), before, after, text)

    def _laws(self) -> Iterator[Hint]:
        """The law of least variance of counts, where the plan leaves the choice or wants rows that can be read."""
        for group in self.plan.groups:
            before, joined = self.now.get(group.name), len(group.columns) > 1
            in_fields = joined and any(len(column.stored) > 1 for column in group.columns)  # which hold no code
            if before is None or group.mechanism not in ("auto", READABLE.get(group.space.mechanisms)) or in_fields:
                continue
            where = "in the [[joint]] of {}" if joined else "in {}"
            for name in _COUNTING.keys() & MECHANISMS[group.space.mechanisms].keys():
                other = replace(group, mechanism=name)
                after = self.widths([other if g is group else g for g in self.plan.groups]).get(group.name, before)
                text = f'mechanism = "{name}" {where} {_COUNTING[name]}'
                yield self.hint("mechanism", _names([group]), before, after, text)

    def _flags(self) -> Iterator[Hint]:
        """Columns of yes and no as one set: its items may share ε better than columns do."""
        alone = [g for g in self.plan.groups if g.name in self.now and len(g.columns) == 1]
        flags = [g for g in alone if g.columns[0].codec.is_flag]
        if len(flags) < 2:
            return
        names = _names(flags)
        column = replace(flags[0].columns[0], name=" × ".join(names), space=Subsets(names))
        share = sum((group.share for group in flags), Fraction(0))
        joined = ColumnGroup((column,), share, "auto")
        others = [group for group in self.plan.groups if group not in flags]
        before, after = max(self.now[group.name] for group in flags), self.widths([*others, joined])[joined.name]
        yield self.hint("flags", names, before, after, "joining the flags {} into one set makes their counts")


def _names(groups: Sequence[ColumnGroup]) -> tuple[str, ...]:
    return tuple(column.name for group in groups for column in group.columns)


def both_spreads(law: RowLaw, rows: int | None) -> dict[str, Any]:
    """Which spread was chosen and, with a number of rows, ± of each column and each planned question under both.

    >>> column = {"space": "categories", "values": ["yes", "no"]}
    >>> plan = {"privacy": {"epsilon": 1, "spread": "auto"}, "columns": dict.fromkeys("abcd", column)}
    >>> found = both_spreads(certify_row(Plan.of(plan)), 10_000)
    >>> found["chosen"], {name: round(width) for name, width in found["columns"][0].items() if name != "name"}
    ('sample', {'split': 782, 'sample': 451})
    """
    plan, chosen = law.plan, "split" if law.weights is None else "sample"
    told: dict[str, Any] = {"asked": plan.spread, "chosen": chosen, "things": len(law.groups), "columns": []}
    if rows is None:
        return {**told, "questions": []}
    laws = {spread: law if spread == chosen else _with_spread(plan, spread) for spread in ("split", "sample")}

    def expected(planned: PlannedQuestion) -> Iterator[tuple[str, dict[str, Any], dict[str, bool]]]:
        """± of each column of an answer under both, but for those whose ± depends on the data."""
        found = {way: [] if each is None else expected_of_release(each, planned, rows) for way, each in laws.items()}
        for one in found[chosen]:
            both = {way: next((e for e in each if e.column == one.column), None) for way, each in found.items()}
            if one.widths is not None:
                widths = {way: None if other is None else other.half_width for way, other in both.items()}
                yield one.column, widths, {way: other is None or other.informative for way, other in both.items()}

    for column in plan.columns:
        if column.private and not column.space.holds_curves:
            for _, widths, _ in expected(usual_question(plan, column.name)):
                told["columns"].append({"name": column.name, **widths})
    questions = [
        {"question": planned.sql, "column": alias, **widths, "informative": informative}
        for planned in plan.questions
        for alias, widths, informative in expected(planned)
    ]
    return {**told, "questions": questions}


def _with_spread(plan: Plan, spread: Any) -> RowLaw | None:
    """The law under the other spread; None where there is none, as for columns that are joined more than once."""
    names = [name for group in plan.groups for name in group.names]
    if spread == "split" and len(set(names)) < len(names):
        return None
    with suppress(InputError):
        return certify_row(replace(plan, spread=spread))
    return None
