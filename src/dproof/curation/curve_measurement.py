"""What a question about curves costs and how it is answered, decided from public knowledge alone.

A row's curve becomes a lattice vector z, clipped in whole numbers, and sums of these get whole-number noise for all of
their coordinates together. Where the number of rows is not public it is one more coordinate, with a whole weight W.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import isqrt, prod
from typing import Any, Literal

from dproof.curves.expansion import CurveLattice, Expansion, Split
from dproof.curves.noise import VectorNoise, vector_noise
from dproof.errors import InputError
from dproof.plans.plan import Plan
from dproof.privacy import Privacy
from dproof.questions.canonical import canonical, normalise
from dproof.questions.predicates import Missing, Not, both
from dproof.questions.question import Aggregate, Item, Key, Question
from dproof.questions.regions import grouping
from dproof.questions.schema import Schema, asked_curve, counting, resolve

_KINDS = ("avg", "sum", "covar")


@dataclass(frozen=True, slots=True, eq=False)
class CurveMeasurement:
    """What is measured of a curve column, in which groups, with which noise; public before any row is read."""

    question: Question  # checked, with count(*) in the place of the curve
    aggregate: Aggregate
    schema: Schema
    privacy: Privacy
    lattice: CurveLattice
    noise: VectorNoise
    weight: int  # W of the count among the coordinates; 0 where the number of rows is public
    first: int  # weight of z beside its products, for a covariance

    @property
    def column(self) -> str:
        return self.aggregate.columns[0]

    @property
    def kind(self) -> str:
        """ "avg", "sum" or "covar"."""
        return self.aggregate.kind

    @property
    def keys(self) -> tuple[Key, ...]:
        return self.question.group_by

    @property
    def labels(self) -> list[tuple[Any, ...]]:
        """The groups, those of values that are not there included."""
        return list(product(*(grouping(key, self.schema).labels for key in self.keys)))

    @property
    def text(self) -> str:
        """The question in one form, for the ledger."""
        return canonical(replace(self.question, select=(Item("curve", self.aggregate),)))


def measure_curve(question: Question, plan: Plan, schema: Schema, privacy: Privacy) -> CurveMeasurement:
    """How to answer SELECT keys, AVG(curve) or SUM(curve) or COVAR(curve, curve) FROM data WHERE .. GROUP BY keys."""
    aggregate = _aggregate(question, schema)
    checked = resolve(counting(question), schema)
    groups = prod(len(grouping(key, schema).labels) for key in checked.group_by)
    alone = plan.row_is_person and checked.where is None and not checked.group_by
    every = alone and privacy.neighbours == "change-one"
    if aggregate.kind == "covar" and not every:
        raise InputError(
            "the covariance of curves is told of all rows, and where their number is public: "
            "without WHERE and GROUP BY, under change-one neighbours"
        )
    (column, *_) = aggregate.columns
    expansion = plan.column(column).space
    assert isinstance(expansion, Expansion)
    if column in schema.nullable:  # the curves that are there are measured, and how many these are is private
        present = both(checked.where, Not(Missing(column)))
        assert present is not None
        checked = replace(checked, where=normalise(present))
    public = every and checked.where is None
    splits: tuple[Split, ...] = ("gaussian", "laplace") if privacy.delta else ("laplace",)
    made: list[CurveMeasurement] = []
    for split in splits:
        lattice = expansion.lattice(split)
        size, weight, first = _size(lattice, split, privacy, aggregate.kind, public, groups)
        coordinates = (lattice.terms * (lattice.terms + 3) // 2 if first else lattice.terms) + (weight > 0)
        try:
            moved = size * plan.rows_per_person ** (1 if split == "laplace" else 2)
            noise = vector_noise(split, moved, groups * coordinates, privacy)
        except InputError:  # too small a δ, or no ε: then the other noise must do
            if split == splits[-1] and not made:
                raise
            continue
        made.append(CurveMeasurement(checked, aggregate, schema, privacy, lattice, noise, weight, first))
    return min(made, key=lambda m: float(m.noise.variance) * float((m.lattice.scales**2).sum()))


def _aggregate(question: Question, schema: Schema) -> Aggregate:
    """The one aggregate of a curve column that a question asks for."""
    name = asked_curve(question, schema)
    found = [item.expression for item in question.select if not isinstance(item.expression, Key)]
    if len(found) != 1 or question.having or question.order_by or question.limit is not None:
        raise InputError(f"ask for one of AVG({name}), SUM({name}) and COVAR({name}, {name}), with nothing beside it")
    aggregate = found[0]
    if not isinstance(aggregate, Aggregate) or aggregate.kind not in _KINDS or aggregate.where is not None:
        raise InputError(f"of the curves {name!r} AVG, SUM and COVAR can be asked, with WHERE for a condition")
    if any(column.casefold() != str(name).casefold() for column in aggregate.columns):
        raise InputError(f"the covariance of curves is COVAR({name}, {name})")
    return replace(aggregate, columns=(str(name),) * len(aggregate.columns))


def _size(
    lattice: CurveLattice, split: Split, privacy: Privacy, kind: str, public: bool, groups: int
) -> tuple[int, int, int]:
    """How far a neighbour moves all coordinates together, in l1 or squared l2; W; and the weight of z in a covariance.

    One curve has a norm of at most S, two differ by at most D. A row that enters or leaves moves the count too; one
    that changes its group leaves one and enters another. W is as large as costs nothing, or little.
    """
    norm: Literal["l1", "l2"] = "l1" if split == "laplace" else "l2"
    one, two = lattice.size(norm, "add-remove"), lattice.size(norm, "change-one")
    if kind == "covar":
        return _covariance_size(lattice, split, two, public)
    if public:
        return two, 0, 0
    if privacy.neighbours == "add-remove":
        weight = one // 4 if norm == "l1" else isqrt(one) // 2
        return one + (weight if norm == "l1" else weight**2), weight, 0
    if norm == "l1":
        weight = one // 8 if groups > 1 else two - one
        moved = one + weight
    else:
        weight = isqrt(two // 2 - one) if groups > 1 else isqrt(two - one)
        moved = one + weight**2
    return max(two, 2 * moved if groups > 1 else moved), weight, 0


def _covariance_size(lattice: CurveLattice, split: Split, two: int, public: bool) -> tuple[int, int, int]:
    """For a·z and the products z_i z_k, i ≤ k: |zzᵀ − z'z'ᵀ|² = |z|⁴ + |z'|⁴ − 2(z·z')² ≤ 2·max|z|⁴.

    A curve that enters or leaves moves these by at most a·|z| and half as much of the products, so that a count of the
    curves, where their number is private, may weigh what is left: it costs nothing.
    """
    length = lattice.size("l2", "add-remove")
    if split == "gaussian":
        first = isqrt(length) // 2
        left = first**2 * (two - length) + length**2
        return first**2 * two + 2 * length**2, 0 if public else isqrt(left), first
    whole = lattice.size("l1", "add-remove")
    first = whole // 2
    left = first * (two - whole) + (whole**2 + length) // 2
    return first * two + whole**2 + length, 0 if public else left, first
