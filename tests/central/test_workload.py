"""What one row can do to residuals, and the best noise for them: against enumeration."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dproof.central import workload
from dproof.central.estimates import residual_of
from dproof.central.workload import Domain, Residual, largest_loss, subtables
from dproof.certification import verify_central as verifier

SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


def unit(sizes: Any, row: Any) -> Any:
    table = np.zeros(sizes, np.int64)
    table[row] = 1
    return table


@given(SIZES)
def test_the_shift_of_one_row_is_what_enumeration_finds(sizes: tuple[int, ...]) -> None:
    domain, table = Domain(sizes, {}), tuple(range(len(sizes)))
    rows = list(product(*(range(k) for k in sizes)))
    assert {int((residual_of(unit(sizes, row)) ** 2).sum()) for row in rows} == {domain.norm(Residual(table))}
    for a, b in product(rows, rows):
        apart = {n for n, (x, y) in enumerate(zip(a, b, strict=True)) if x != y}
        moved = residual_of(unit(sizes, a)) - residual_of(unit(sizes, b))
        assert int((moved**2).sum()) == domain.change(table, apart)
        assert domain.change(table, apart) <= domain.sensitivity(Residual(table), "change-one")


def losses(domain: Domain, precisions: Any) -> Any:
    """The loss of every change of one row, counts and sums of numbers: by enumeration."""
    rows = list(product(*(range(k) for k in domain.sizes)))
    sides = [
        dict(zip(domain.max_abs, ends, strict=True)) for ends in product(*((-r, r) for r in domain.max_abs.values()))
    ]

    def effect(row: Any, values: Any, residual: Residual) -> Any:
        own = unit(tuple(domain.sizes[i] for i in residual.table), tuple(row[i] for i in residual.table))
        return residual_of(own) * (1 if residual.number is None else values[residual.number])

    for (a, x), (b, y) in product(product(rows, sides), product(rows, sides)):
        yield sum(((effect(a, x, r) - effect(b, y, r)) ** 2).sum() * p for r, p in precisions.items())


def verified(domain: Domain, precisions: Any, version: int = 3) -> Fraction:
    """The largest loss as the stand-alone verifier finds it, which leaves out columns with one value."""
    lengths = [(domain.max_abs.get(n, 0) ** 2, 0, 1) for n in range(len(domain.sizes))]
    told = {(r.table, r.number, False): p for r, p in precisions.items() if all(domain.sizes[i] > 1 for i in r.table)}
    return verifier.largest_loss(list(domain.sizes), lengths, told, "change-one", version)


@pytest.mark.parametrize("enumerated", [12, 0])
@given(st.lists(st.integers(1, 3), min_size=2, max_size=3).map(tuple), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_largest_loss_under_change_one_is_that_of_enumeration(
    monkeypatch: pytest.MonkeyPatch, enumerated: int, sizes: tuple[int, ...], data: Any
) -> None:
    """Of counts, of the sums of a number by other columns and by its own bins: each row has a cell, and a number."""
    monkeypatch.setattr(workload, "ENUMERATED", enumerated)
    monkeypatch.setattr(verifier, "ENUMERATED", enumerated)
    domain = Domain(sizes, {1: 4})
    tables = [t for t in subtables(combinations(range(len(sizes)), 2)) if t]
    fractions = st.fractions(Fraction(1, 9), 3, max_denominator=9)
    precisions = {Residual(t): data.draw(fractions) for t in tables}
    for table in data.draw(st.lists(st.sampled_from([(), *tables]), unique=True)):
        precisions[Residual(table, 1)] = data.draw(fractions) / 16
    most = max(losses(domain, precisions))
    found = largest_loss(domain, precisions, "change-one")
    assert most <= found <= most + Fraction(3 * len(precisions), 1 << 60)
    assert verified(domain, precisions) == found
    before = largest_loss(replace(domain, version=1), precisions, "change-one")
    assert verified(domain, precisions, 1) == before >= most
    known = {r: p for r, p in precisions.items() if domain.norm(r)}
    columns = sorted({i for r in known for i in r.table})
    sums = sum((2 * domain.norm(r) * p for r, p in known.items() if r.number is not None), Fraction(0))
    assert workload._bounded(domain, known, columns) + sums >= most
    both = {(r.table, r.number): p for r, p in known.items()}
    assert verifier.bounded_loss(list(sizes), {1: 16}, both, tuple(columns)) == workload._bounded(
        domain, known, columns
    )


@pytest.mark.parametrize("seed", range(6))
def test_columns_that_are_alike_and_in_no_table_together_all_differ_or_none(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Items of two sets, a column of three values and sums of a number by all of these: every change of a row."""
    monkeypatch.setattr(workload, "ENUMERATED", 0)
    monkeypatch.setattr(verifier, "ENUMERATED", 0)
    random, domain = Random(seed), Domain((2, 2, 2, 2, 2, 3), {5: 4})
    kinds = [[(0,), (1,)], [(2,), (3,), (4,)], [(5,)], [(0, 5), (1, 5)], [(2, 5), (3, 5), (4, 5)]]
    kinds += [[(i, j) for i in (0, 1) for j in (2, 3, 4)]] * (seed % 2)
    sums = [kind for kind in kinds if all(5 not in table for table in kind)] + [[()]]
    precisions = {}
    for number, kind in [*((None, kind) for kind in kinds), *((5, kind) for kind in sums)]:
        precision = Fraction(random.randint(1, 90), random.choice([7, 90, 900])) / (16 if number else 1)
        precisions |= {Residual(table, number): precision for table in kind}
    most = max(losses(domain, precisions))
    found = largest_loss(domain, precisions, "change-one")
    assert most <= found <= most + Fraction(3 * len(precisions), 1 << 60)
    assert verified(domain, precisions) == found


def test_many_items_are_looked_at_and_not_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve items of one set and nine of another by six columns: all or none of the items of a set differ."""
    sizes, sets, others = (2,) * 21 + (2, 3, 4, 5, 6, 7), [range(12), range(12, 21)], range(21, 27)
    domain = Domain(sizes, {})
    tables = [(i,) for i in range(27)] + [t for t in combinations(range(27), 2) if not any({*t} <= {*s} for s in sets)]
    weight = {table: Fraction(1 + (table[0] >= 12) + (table[-1] in others), 900) for table in tables}
    precisions = {Residual(table): weight[table] / domain.cells(table) for table in tables}
    found = largest_loss(domain, precisions, "change-one")
    most = Fraction(0)
    for n, m, differ in product((0, 5, 12), (0, 4, 9), product((0, 1), repeat=6)):
        apart = {*sets[0][:n], *sets[1][:m], *(i for i, d in zip(others, differ, strict=True) if d)}
        most = max(most, sum(domain.change(one.table, apart) * p for one, p in precisions.items()))
    assert most <= found <= most + Fraction(len(tables), 1 << 60)
    assert verified(domain, precisions) == found
    before = largest_loss(replace(domain, version=2), precisions, "change-one")
    assert verified(domain, precisions, 2) == before > found * Fraction(5, 4)
    monkeypatch.setattr(workload, "STATES", 1 << 8)  # where there are more sets, or parts of tables, pairs are bounded
    monkeypatch.setattr(verifier, "STATES", 1 << 8)
    assert largest_loss(domain, precisions, "change-one") == before == verified(domain, precisions)


def test_sums_of_two_numbers_are_bounded_each_by_itself() -> None:
    domain = Domain((3, 2), {0: 2, 1: 4})
    precisions = {Residual((0,)): Fraction(1, 7), Residual((0,), 1): Fraction(1, 50), Residual((), 1): Fraction(1, 9)}
    precisions |= {Residual((1,), 0): Fraction(1, 5), Residual((), 0): Fraction(1, 3), Residual((0, 1)): Fraction(1, 8)}
    most = max(losses(domain, precisions))
    assert most <= largest_loss(domain, precisions, "change-one") <= most + Fraction(1, 1 << 60)
    assert verified(domain, precisions) == largest_loss(domain, precisions, "change-one")
    alone = {Residual((), 1): Fraction(1, 9)}
    assert max(losses(domain, alone)) == Fraction(4 * 16, 9)
    assert 0 <= largest_loss(domain, alone, "change-one") - Fraction(4 * 16, 9) <= Fraction(2, 1 << 64)


def test_larger_tables_are_bounded_too() -> None:
    domain = Domain((2, 3, 2, 4), {})
    counts = {(0, 1, 2): Fraction(1, 3), (1, 2, 3): Fraction(2, 5), (0, 3): Fraction(1, 2), (2,): Fraction(1)}
    known = {Residual(t): p for t, p in counts.items()}
    exact = largest_loss(domain, known, "change-one")
    assert exact <= workload._bounded(domain, known, range(4)) <= 3 * exact


def test_add_remove_adds_up_the_norms() -> None:
    domain = Domain((3, 2), {1: 4})
    precisions = {Residual(()): Fraction(1, 5), Residual((0, 1)): Fraction(1, 7), Residual((0,), 1): Fraction(1, 50)}
    total = Fraction(1, 5) + Fraction(12, 7) + Fraction(6 * 16, 50)
    assert total <= largest_loss(domain, precisions, "add-remove") <= total + Fraction(3, 1 << 64)
