"""One item of a set: the sampler gives every answer its weight, and counts of items are undone."""

from __future__ import annotations

import numpy as np
import pytest

import dproof as dp
from dproof.laws import Bits, OneItem
from dproof.laws import response as module
from dproof.laws.response import OneItemAxis


class Fixed:
    """A sampler that shows given outcomes."""

    def __init__(self, outcomes: np.ndarray) -> None:
        self.outcomes = outcomes

    def sample(self, count: int, coins: object) -> np.ndarray:
        assert count == len(self.outcomes)
        return self.outcomes


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_every_draw_gives_every_answer_its_weight(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All items, each with every word of the coin."""
    law = OneItem(bits, 3, 2)
    item, word = np.divmod(np.arange(law.total), 5)
    monkeypatch.setattr(module, "uniform", lambda count: Fixed(item))
    monkeypatch.setattr(module, "coin", lambda zeros, ones: Fixed((word >= zeros).astype(np.uint8)))
    for code in range(1 << bits):
        drawn = law.draw(np.full(law.total, code, np.uint8), None)
        assert np.bincount(drawn, minlength=law.outputs).tolist() == law.weights(code).tolist()


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_scores_are_unbiased_whatever_share_is_thought_likely(share: float) -> None:
    matrix = np.array([[0.75, 0.25 * 0.8, 0.25 * 0.2], [0.75, 0.25 * 0.2, 0.25 * 0.8]])
    axis = OneItemAxis(
        "x", matrix, np.eye(2), np.zeros(2), np.zeros((3, 2)), np.zeros(3), asked=0.25, kept=0.8, share=share
    )
    scores = axis.scores((0,)).matrix
    assert np.allclose(matrix @ scores, np.eye(2)) and np.allclose(scores.sum(axis=1), 1)


def test_the_share_follows_the_answers() -> None:
    matrix = np.array([[0.75, 0.2, 0.05], [0.75, 0.05, 0.2]])
    axis = OneItemAxis("x", matrix, np.eye(2), np.zeros(2), np.zeros((3, 2)), np.zeros(3), asked=0.25, kept=0.8)
    assert axis.fit(np.array([75_000.0, 18_500.0, 6_500.0])).share == pytest.approx(0.1, abs=0.01)
    assert axis.fit(np.array([3.0, 1.0, 0.0])).share == pytest.approx(0.5, abs=0.02)
    assert axis.fit(np.zeros(3)).share == 0.5


@pytest.mark.parametrize(("items", "times"), [(5, 3.8), (13, 9.5), (30, 21)])
def test_it_beats_an_answer_for_every_item(items: int, times: float) -> None:
    """At ε = 1.5, for the worst set; where few sets hold the item, 4.7, 12 and 27 times."""
    space, privacy = dp.Subsets([f"item {n}" for n in range(items)]), dp.Privacy("1.5")
    one, every = (make(space, privacy).family.count_variance(space) for make in (dp.one_item, dp.itemwise_response))
    assert every / one > times


def test_of_a_single_item_it_is_the_law_of_its_bit() -> None:
    one, bit, space = OneItem(1, 3, 1), Bits(1, 3, 1), dp.Subsets(["a"])
    assert [one.weights(held).tolist() for held in (0, 1)] == [bit.weights(held).tolist() for held in (0, 1)]
    assert one.count_variance(space) == pytest.approx(bit.count_variance(space))


def test_the_variance_of_a_count_is_that_of_a_row_which_may_not_have_been_asked() -> None:
    """A row that was asked, one in h, adds 1/2 + h(s − 1/2), with s the score of its answer, and any other one 1/2."""
    h, p = 5, 3 / 4
    yes, no = ((said - (1 - p)) / (2 * p - 1) for said in (1, 0))
    added = {0.5: 1 - 1 / h, 0.5 + h * (yes - 0.5): p / h, 0.5 + h * (no - 0.5): (1 - p) / h}  # a row with the item
    assert sum(value * chance for value, chance in added.items()) == pytest.approx(1)
    variance = sum(value**2 * chance for value, chance in added.items()) - 1
    assert OneItem(h, 3, 1).count_variance(dp.Subsets(list("abcde"))) == pytest.approx(variance)
