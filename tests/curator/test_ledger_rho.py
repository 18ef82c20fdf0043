"""A budget with δ is kept in ρ: valid for questions that are chosen by the answers, and never overspent."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Cost, InputError, Ledger, OverBudget, Privacy, VerificationFailed
from dproof.composition import pure_rho
from dproof.curator.account import Limit, rho_for
from dproof.curator.recipe import gaussian_noises
from dproof.laws import Gaussian
from dproof.privacy import NOTHING

WHOLE = Privacy(1, "1e-6")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


def bought(epsilon: Any, delta: Any, cut: Fraction = Fraction(0)) -> Cost:
    """What a curator debits for a question with δ."""
    return Cost(Fraction(epsilon), Fraction(delta), rho_for(Fraction(epsilon), Fraction(delta)), cut)


def times(ledger: Ledger, cost: Cost) -> int:
    """How many times a cost may still be paid."""
    return ledger.quote("q", cost)[2]


# The theorem ---------------------------------------------------------------------------------------------------------


def counted(rho: Fraction) -> tuple[list[float], list[float], Cost]:
    """A count under the Gaussian noise that ρ buys, on two tables: its two laws, from the integers."""
    price = replace(LIMIT.whole, rho=rho)
    noises, cut = gaussian_noises(price, {0: Fraction(1)}, {0: 1}, Fraction(1), 1)
    law = noises[0].law
    assert isinstance(law, Gaussian) and law.unit == 1
    reach = int(6 * float(law.square) ** 0.5) + 4
    p, q = ([float(law.probability(k - s)) for k in range(-reach, reach + 2)] for s in (0, 1))
    return p, q, replace(price, cut=cut)


def flipped(epsilon: float) -> tuple[list[float], list[float], Cost]:
    """Randomised response: the worst that (ε, 0) allows."""
    keep = 1 / (1 + math.exp(-epsilon))
    return [keep, 1 - keep], [1 - keep, keep], Cost(Fraction(epsilon), Fraction(0), pure_rho(Fraction(epsilon)))


def leaking(epsilon: float, delta: float) -> tuple[list[float], list[float], Cost]:
    """The worst that (ε, δ) allows: it gives everything away with probability δ. No ρ is known of it."""
    p, q, _ = flipped(epsilon)
    p, q = [(1 - delta) * x for x in p], [(1 - delta) * x for x in q]
    return [*p, delta, 0.0], [*q, 0.0, delta], Cost(Fraction(epsilon), Fraction(delta), None)


Law = tuple[list[float], list[float], Cost]


def excess(limit: Limit, choose: Callable[[tuple[int, ...]], Law | None], most: int) -> float:
    """max over sets A of P(A) − e^ε·P'(A), over every transcript of questions that are chosen by the answers."""

    def over(said: tuple[int, ...], p: float, q: float, total: Cost) -> float:
        law = choose(said) if len(said) < most else None
        if law is None or not limit.allows(total + law[2]):
            return max(0.0, p - math.exp(limit.whole.epsilon) * q)
        answers = zip(*law[:2], strict=True)
        return sum(over((*said, n), p * a, q * b, total + law[2]) for n, (a, b) in enumerate(answers) if p * a > 1e-16)

    return over((), 1.0, 1.0, NOTHING)


LIMIT = Limit.of(Cost(Fraction(1), Fraction("0.05")), in_rho=True)


def test_counts_under_one_budget_keep_it_exactly() -> None:
    """Three counts at a third of ρ each: the δ of their joint law, summed up over all answers."""
    count = counted(rho_for(LIMIT.whole.epsilon, LIMIT.whole.delta) / 3)
    found = excess(LIMIT, lambda said: count, most=3)
    assert LIMIT.whole.delta / 10 < found <= LIMIT.whole.delta


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=9, max_size=9))
def test_no_choice_by_the_answers_breaks_the_budget(plan: list[int]) -> None:
    """What is asked next depends on how the last answer came out, and so does which proof covers it."""
    whole = rho_for(LIMIT.whole.epsilon, LIMIT.whole.delta)
    menu = [
        counted(whole / 2),
        counted(whole / 6),
        flipped(0.9),
        flipped(0.25),
        leaking(0.3, 0.003),
        leaking(0.6, 0.0001),
    ]

    def choose(said: tuple[int, ...]) -> Law:
        if not said:
            return menu[plan[0]]
        last = said[-1] % 3
        return menu[plan[3 * (len(said) - 1) % 6 + last + 1]]

    assert excess(LIMIT, choose, most=3) <= LIMIT.whole.delta


# Rounding and room ---------------------------------------------------------------------------------------------------

EPSILONS = st.fractions(0, 4, max_denominator=1000)
DELTAS = st.integers(2, 15).map(lambda power: Fraction(1, 10**power))


@settings(max_examples=60, deadline=None)
@given(EPSILONS, DELTAS, st.fractions(0, 1, max_denominator=10**6))
def test_what_is_left_can_be_bought_and_nothing_more(epsilon: Fraction, delta: Fraction, part: Fraction) -> None:
    limit = Limit.of(Cost(epsilon, delta), in_rho=True)
    spent = Cost(epsilon, delta, rho_for(epsilon, delta) * part)
    left = limit.left(spent)
    assert left.rho == rho_for(epsilon, delta) - spent.rho
    if left.epsilon:
        assert left.delta == delta
        assert limit.allows(spent + Cost(left.epsilon, delta, rho_for(left.epsilon, delta)))
        more = left.epsilon * Fraction("1.0001")
        assert more > epsilon or not limit.allows(spent + Cost(more, delta, rho_for(more, delta)))
    told = limit.spent(spent)
    assert told.epsilon <= epsilon and told.delta in (0, delta)
    assert not spent.rho or rho_for(told.epsilon, delta) >= spent.rho * (1 - Fraction(1, 10**9))


def test_pure_prices_add_up_as_ever(file: Path) -> None:
    """Ten tenths are one, also where ρ alone would allow fewer; and of small ones ρ allows many more."""
    ledger = Ledger(file, budget=WHOLE)
    assert times(ledger, Cost(Fraction("0.1"))) == 10 and times(ledger, Cost(Fraction("0.01"))) == 484
    for n in range(10):
        assert ledger.remaining().epsilon >= 1 - Fraction(n, 10)
        ledger.debit(f"q{n}", Privacy("0.1"))
    assert ledger.spent() == Cost(Fraction(1), Fraction(0), 10 * pure_rho(Fraction("0.1")))
    assert ledger.remaining() == Cost(rho=Fraction(0))
    with pytest.raises(OverBudget, match=r"what is left is epsilon 0 and delta 0 \(rho 0\): nothing was read"):
        ledger.debit("more", Privacy("0.1"))  # which no delta would help
    near = Ledger(file.with_name("near.db"), budget=WHOLE)
    near.debit("q", bought("0.9", "5e-7"))
    with pytest.raises(OverBudget, match=r"what is left is epsilon 0\.45.*, and asked with a delta above 0 it would"):
        near.debit("more", Privacy("0.45"))


def test_a_budget_buys_what_it_says_at_once_or_bit_by_bit(tmp_path: Path) -> None:
    once = Ledger(tmp_path / "once.db", budget=WHOLE)
    once.debit("q", bought(1, "1e-6"))
    assert once.remaining() == Cost(rho=Fraction(0)) and once.spent().epsilon == 1
    ledger = Ledger(tmp_path / "bits.db", budget=WHOLE)
    each, paid = bought("0.1", "1e-8"), 0
    assert times(ledger, each) == 116
    with pytest.raises(OverBudget):
        while True:
            ledger.debit(f"q{paid}", each)
            paid += 1
    assert paid == 116 == int(rho_for(Fraction(1), Fraction("1e-6")) / each.rho)
    left = ledger.remaining()
    ledger.debit("the rest", bought(left.epsilon, left.delta))


def test_tables_that_miss_too_much_are_refused(file: Path) -> None:
    """A table is not quite its law: what all of them miss has its own part of δ."""
    ledger = Ledger(file, budget=WHOLE)
    least = Fraction(1, 10**6) / 1024 / (1 + Fraction(27182818284590452, 10**16))
    ledger.debit("first", Privacy("0.001"))
    with pytest.raises(OverBudget):
        ledger.debit("q", bought("0.1", "1e-7", least * Fraction("1.001")))
    ledger.debit("q", bought("0.1", "1e-7", least * Fraction("0.999")))
    assert times(ledger, bought("0.1", "1e-7", least * Fraction("0.0004"))) == 2
    assert times(ledger, bought("0.1", "1e-7")) > 10


# Releases, analysts, ceilings ----------------------------------------------------------------------------------------


def test_a_release_with_the_whole_delta_comes_first_or_not_at_all(tmp_path: Path) -> None:
    """No ρ is known of it. Before anything was told the plain sums may be chosen; afterwards an answer could choose."""
    first = Ledger(tmp_path / "first.db", budget=Privacy(3, "1e-6"))
    assert first.counts_rho
    first.release(Privacy(2, "9e-7"), "out")
    assert not first.counts_rho and first.remaining() == Cost(Fraction(1), Fraction(1, 10**7))
    again = Ledger(first.path)
    assert not again.counts_rho
    again.debit("q", bought(1, "1e-7"))
    assert again.remaining() == Cost()
    later = Ledger(tmp_path / "later.db", budget=Privacy(3, "1e-6"))
    later.debit("q", bought("0.1", "1e-9"))
    with pytest.raises(OverBudget, match="the rho of this cost is not known"):
        later.release(Privacy(2, "9e-7"), "out")
    later.release(Privacy("2.9"), "out")  # the sums cover it, with the little δ that was spent
    assert later.remaining().epsilon == 0


def test_analysts_and_ceilings_have_rho_of_their_own(file: Path) -> None:
    limits = {"ann": Privacy("0.5", "1e-7"), "bob": Privacy("0.5")}
    ledger = Ledger(file, budget=WHOLE, analysts=limits)
    assert ledger.remaining("ann") == Cost(
        Fraction(1, 2), Fraction(1, 10**7), rho_for(Fraction("0.5"), Fraction("1e-7"))
    )
    ledger.debit("q", bought("0.3", "1e-7"), analyst="ann")
    left = ledger.remaining("ann")
    assert 0 < left.epsilon < Fraction(1, 2) and left.delta == Fraction(1, 10**7)
    with pytest.raises(OverBudget):
        ledger.debit("r", bought("0.45", "1e-7"), analyst="ann")
    with pytest.raises(OverBudget):
        ledger.debit("r", bought("0.1", "1e-9"), analyst="bob")  # has no δ
    with pytest.raises(OverBudget):
        ledger.debit("r", Privacy("0.5"), analyst="bob")  # neither the sums nor ρ of all cover it
    ledger.debit("r", Privacy("0.1"), analyst="bob")
    assert ledger.remaining("bob").epsilon == Fraction("0.4") and ledger.remaining("bob").delta == 0
    lower = Ledger(file, ceiling=Privacy("0.4", "1e-6"))
    assert lower.remaining("bob").epsilon < Fraction("0.2") < Ledger(file).remaining("bob").epsilon


def test_less_than_nothing_is_no_cost(file: Path) -> None:
    ledger = Ledger(file, budget=WHOLE)
    for wrong in (
        {"rho": "-0.01"},
        {"rho": "0.01", "cut": Fraction(-1, 10**9)},
        {"rho": float("nan")},
        {"rho": "much"},
    ):
        with pytest.raises(InputError, match="rho"):
            ledger.debit("q", Cost(Fraction("0.1"), Fraction("1e-8"), **wrong))  # type: ignore[arg-type]
    assert ledger.remaining() == ledger.standing().budget


# The file ------------------------------------------------------------------------------------------------------------


def versions(path: Path) -> Iterator[int]:
    with sqlite3.connect(path) as database:
        yield database.execute("PRAGMA user_version").fetchone()[0]
    database.close()


def test_a_ledger_says_how_it_accounts(tmp_path: Path) -> None:
    """Without δ it is the file of old; with δ it has a version of its own, which an older dproof refuses."""
    for budget, version, first in ((Privacy(1), 1, None), (WHOLE, 2, "zcdp")):
        ledger = Ledger(tmp_path / f"{version}.db", budget=budget)
        ledger.close()
        assert list(versions(ledger.path)) == [version]
        assert ledger.entries[0].get("accounting") == first
        ledger.close()
        with sqlite3.connect(ledger.path) as database:
            database.execute(f"PRAGMA user_version = {3 - version}")
        database.close()
        with pytest.raises(VerificationFailed, match="chain"):
            Ledger(ledger.path)


HAMMER = """
import sys
from fractions import Fraction
from dproof import Cost, Ledger, OverBudget
from dproof.curator.account import rho_for

given, ledger = 0, Ledger(sys.argv[1])
for n in range(40):
    try:
        rho = rho_for(Fraction("0.1"), Fraction("1e-8"))
        ledger.debit(f"question {sys.argv[2]} {n}", Cost(Fraction("0.1"), Fraction("1e-8"), rho))
        given += 1
    except OverBudget:
        pass
print(given)
"""


def test_four_processes_spend_rho_once(file: Path) -> None:
    Ledger(file, budget=WHOLE).close()
    runs = [
        subprocess.Popen([sys.executable, "-c", HAMMER, str(file), str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    assert sum(int(run.communicate()[0]) for run in runs) == 116
    assert Ledger(file).spent().rho == 116 * rho_for(Fraction("0.1"), Fraction("1e-8"))
