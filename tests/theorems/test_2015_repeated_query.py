"""HLM15, the remark on repeated queries: answering the same question twice with fresh noise breaks the promise.

p = 0.286, ε = 0.1, δ = 0.4. One answer keeps it, two do not; a release, or a stored answer, does for ever.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path

import pyarrow as pa
import pytest

import dproof as dp
from dproof.exact import exp_above, exp_below

P = Fraction("0.286")
PRIVACY = dp.Privacy("0.1", "0.4")


def answers(times: int) -> dp.Mechanism:
    """The law of so many independent answers to one yes-or-no question, each false with probability p."""
    outputs = list(product([0, 1], repeat=times))
    rows = [[prod(1 - P if y == d else P for y in output) for output in outputs] for d in (0, 1)]
    return dp.solution_matrix(
        dp.Categories([0, 1]), rows, outputs=dp.Categories(["".join(map(str, o)) for o in outputs])
    )


def test_one_answer_is_private() -> None:
    assert (1 - PRIVACY.delta) / (1 + exp_above(PRIVACY.epsilon)) <= P
    dp.certify(answers(1), PRIVACY)


def test_two_answers_are_not_and_the_paper_s_numbers_are_right() -> None:
    assert Fraction("0.509796") == (1 - P) ** 2 and Fraction("0.081796") == P**2
    right = exp_above(PRIVACY.epsilon) * P**2 + PRIVACY.delta
    assert round(float(right), 10) == 0.4903985604 and right < (1 - P) ** 2
    with pytest.raises(dp.NotPrivate):
        dp.certify(answers(2), PRIVACY)


def test_the_tight_delta_grows_with_every_answer() -> None:
    found = [round(answers(times).delta("0.1"), 10) for times in range(1, 7)]
    assert found == [0.3979211174, 0.4193974396, 0.5819116073, 0.5950682600, 0.6946263893, 0.7035818596]


def test_the_condition_on_p_has_an_upper_end_too() -> None:
    """p ≥ (1 − δ)/(1 + e^ε) alone is not enough: p = 1 publishes the negation of every answer."""
    eager = dp.solution_matrix(dp.Categories([0, 1]), [["0.05", "0.95"], ["0.95", "0.05"]])
    assert Fraction("0.95") >= 1 / (1 + exp_below(Fraction(1, 10)))
    assert round(eager.delta("0.1"), 4) == 0.8947


def test_the_stored_answer_is_the_same_answer(tmp_path: Path) -> None:
    """Asking a thousand times tells as much as asking once."""
    plan = {"privacy": {"epsilon": "0.1"}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    curator = dp.Curator(pa.table({"read": ["yes", "no"] * 100}), plan, ledger=tmp_path / "b.db")
    question = "SELECT count(*) AS n FROM data WHERE read = 'yes'"
    answers_ = {curator.ask(question, epsilon="0.1").rows[0]["n"].raw for _ in range(100)}
    assert len(answers_) == 1 and curator.remaining().epsilon == 0


def test_a_release_answers_for_ever() -> None:
    plan = {"privacy": {"epsilon": "0.1"}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    release = dp.sanitise(pa.table({"read": ["yes", "no"] * 500}), plan)
    question = "SELECT count(*) AS n FROM release WHERE read = 'yes'"
    assert len({release.query(question).rows[0]["n"].estimate for _ in range(20)}) == 1
