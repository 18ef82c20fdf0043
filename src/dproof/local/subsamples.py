"""A random part of the rows says what all of them are like: rows that answer for one group are such a part.

What a row is asked is drawn whatever it holds, so given how many rows n were asked for a group, they are a simple
random sample of all N. With T the estimate from these, (N/n) T estimates the sum over all rows, with the variance

    (N/n)² n Var s(Y)                     for the population that the rows were drawn from
    less N S², S² that of f over the rows     for the table that was sanitised (the finite population correction)

Several such parts are disjoint, and their means have the covariance −S²/N; so of λ-weighted estimates, Σ λ = 1, the
first terms add up with λ², and the last is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dproof.columns.column import quoted
from dproof.errors import InputError
from dproof.local.contingency import Estimates
from dproof.local.law import RowLaw
from dproof.local.stored import Answering, count
from dproof.plans.plan import ASKED, Plan

_SAME = 1e-9  # two floats are the same number


@dataclass(frozen=True, slots=True, eq=False)
class StoredRows:
    """Stored rows with the law that they were drawn by: those of a release, or a random part of them."""

    law: RowLaw
    data: Any
    rows: int
    release_rows: int
    private: bool

    @property
    def plan(self) -> Plan:
        return self.law.plan


def all_rows(release: Any) -> StoredRows:
    """The rows of a release in which every row answers for all columns, or of whose public columns alone is asked."""
    return StoredRows(release.law, release.data, release.rows, release.rows, release.private)


def rows_that_answer(release: Any, columns: frozenset[str]) -> list[StoredRows]:
    """The parts of a release whose rows answer for all of these columns; the whole of it where each row does."""
    law: RowLaw = release.law
    private = columns & {column.name for column in law.plan.columns if column.private}
    if law.weights is None or not private:
        return [all_rows(release)]
    names, numbers, _ = count(release.data, [quoted(ASKED)], [])
    counted: dict[str, int] = {}
    for name, number in zip(names[0].to_pylist(), numbers.tolist(), strict=True):
        counted[name] = counted.get(name, 0) + int(number)
    data, read = release.data, dict[Any, Any]()
    return [
        StoredRows(part, Answering(data, name, read), counted.get(name, 0), release.rows, release.private)
        for name, part, _ in _holding(law, private)
    ]


def rows_to_expect(law: RowLaw, columns: frozenset[str], rows: int) -> list[StoredRows]:
    """The same before there is a release: the parts that so many rows are expected to have."""
    private = columns & {column.name for column in law.plan.columns if column.private}
    if law.weights is None or not private:
        return [StoredRows(law, None, rows, rows, True)]
    return [StoredRows(part, None, round(rows * chance), rows, True) for _, part, chance in _holding(law, private)]


def _holding(law: RowLaw, private: frozenset[str]) -> list[tuple[str, RowLaw, Any]]:
    """The groups that hold all of these columns, each as a law of its own, and how likely a row is asked for it."""
    holding = [
        (group.name, RowLaw(law.plan, (group,)), chance)
        for group, chance in zip(law.groups, law.chances, strict=True)
        if private <= {column.name for column in group.columns}
    ]
    if not holding:
        together = ", ".join(f'"{column.name}"' for column in law.plan.columns if column.name in private)
        raise InputError(
            f"no row was asked for these columns together: declare [[joint]] columns = [{together}] in the plan, or a "
            "question that needs them in [[questions]], and sanitise again"
        )
    return holding


def scale_up(estimates: Estimates, release_rows: int) -> float:
    """How many rows one row of a part stands for."""
    return release_rows / max(estimates.rows, 1)


def of_whole(sample: Estimates, release_rows: int) -> Estimates:
    """The sums over all rows, from estimates for a random part of them.

    A score that was the same in all rows of the part shows no variance; unless it is 1 whatever a row holds, it has
    that of one row at least.
    """
    if sample.rows == release_rows:
        return sample
    scale, population = scale_up(sample, release_rows), sample.covariance("population").copy()
    certain = np.abs(sample.values - sample.rows) + np.abs(sample.heaviest - 1) <= _SAME * max(sample.rows, 1)
    places = np.arange(population.shape[1])
    variances = population[:, places, places]
    population[:, places, places] = np.where((variances == 0) & ~certain, sample.heaviest**2, variances)
    values = scale * sample.values
    return replace(
        sample,
        values=values,
        naive=scale * sample.naive,
        heaviest=scale * sample.heaviest,
        doubts=scale * sample.doubts,
        squares=scale**2 * population + _outer(values) / max(release_rows, 1),
        products=scale * sample.products,
        rows=release_rows,
    )


def pooled(parts: Sequence[Estimates], weights: Sequence[float]) -> Estimates:
    """The sums over all rows, from the estimates of several disjoint random parts of them; the weights sum to 1."""
    first, rows = parts[0], max(parts[0].rows, 1)
    weighted = list(zip(weights, parts, strict=True))
    values = np.sum([w * part.values for w, part in weighted], axis=0)
    population = np.sum([w**2 * (part.squares - _outer(part.values) / rows) for w, part in weighted], axis=0)
    return replace(
        first,
        values=values,
        naive=np.sum([w * part.naive for w, part in weighted], axis=0),
        heaviest=np.max([w * part.heaviest for w, part in weighted], axis=0),
        doubts=np.sum([w * part.doubts for w, part in weighted], axis=0),
        squares=population + _outer(values) / rows,
        products=np.sum([w * part.products for w, part in weighted], axis=0),
    )


def _outer(values: Any) -> Any:
    return values[:, :, None] * values[:, None, :]
