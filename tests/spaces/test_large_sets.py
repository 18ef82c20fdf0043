"""Sets of more items than a machine word has bits: 100 hobbies, by item-wise and one-item laws."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import TooLarge
from dproof.laws.law import law_from_json
from dproof.testing import seeded_coins

HOBBIES = [f"hobby {n}" for n in range(100)]
SETS = dp.Subsets(HOBBIES)
MINE = {HOBBIES[0], HOBBIES[63], HOBBIES[99]}


def test_a_set_of_100_hobbies_has_a_code() -> None:
    code = SETS.code(MINE)
    assert code == 1 | 1 << 63 | 1 << 99 and SETS.label(code) == MINE
    assert SETS.decode(SETS.encode([MINE, set()])) == [MINE, set()]
    assert SETS.encode(pa.array([sorted(MINE), []])).tolist() == [code, 0]
    assert (SETS.distance(MINE, set()), SETS.diameter, SETS.largest_sum()) == (3, 100, 50 * 2**100)


@pytest.mark.parametrize("items", [62, 63, 64, 65, 100])
def test_each_item_is_kept_or_reversed_by_itself(items: int) -> None:
    space = dp.Subsets(HOBBIES[:items])
    mechanism = dp.itemwise_response(space, items)  # one ε for each item
    stay = Fraction(mechanism.family.stay, mechanism.family.stay + mechanism.family.flip)  # type: ignore[attr-defined]
    mine = {HOBBIES[0], HOBBIES[items - 1]}
    assert mechanism.law(mine)[mine] == stay**items
    assert mechanism.law(mine)[{HOBBIES[0]}] == stay ** (items - 1) * (1 - stay)
    assert mechanism.epsilon() == pytest.approx(items) and mechanism.error == items * (1 - stay)
    with seeded_coins(1):
        drawn = mechanism.draw([mine] * 3000)
    shares = np.array([[item in one for item in space.values] for one in drawn]).mean(axis=0)
    for n, item in enumerate(space.values):
        assert shares[n] == pytest.approx(float(stay if item in mine else 1 - stay), abs=0.05)


@pytest.mark.parametrize("items", [62, 63, 64, 65, 100])
def test_one_item_is_answered_for(items: int) -> None:
    space = dp.Subsets(HOBBIES[:items])
    mechanism, last = dp.one_item(space, 1), HOBBIES[items - 1]
    assert mechanism.epsilon() == pytest.approx(1)
    told = mechanism.law({last})
    assert told[f"{last}: yes"] / told[f"{last}: no"] == 1 / (told[f"{HOBBIES[1]}: yes"] / told[f"{HOBBIES[1]}: no"])
    with seeded_coins(1):
        drawn = mechanism.draw([{last}] * 40_000)
    yes, no = (sum(answer == f"{last}: {said}" for answer in drawn) for said in ("yes", "no"))
    assert yes / (yes + no) == pytest.approx(0.7311, abs=0.1)
    assert (yes + no) / 40_000 == pytest.approx(1 / items, rel=0.3)


@pytest.mark.parametrize("mechanism", [dp.itemwise_response(SETS, 5), dp.one_item(SETS, dp.Privacy(1, "0.01"))])
def test_its_certificate_is_checked(mechanism: dp.Mechanism, tmp_path: Path) -> None:
    promise = dp.Privacy(mechanism.epsilon("0.01"), "0.01")
    dp.certify(mechanism, promise).write(tmp_path / "certificate.json")
    dp.verify(tmp_path / "certificate.json")
    assert law_from_json(mechanism.family.to_json()) == mechanism.family


def test_what_would_list_all_sets_is_refused() -> None:
    mechanism = dp.itemwise_response(SETS, 5)
    for ask in (
        mechanism.weights,
        mechanism.expected_errors,
        lambda: mechanism.family.weights(0),
        lambda: dp.sufficient_sets(mechanism, set(), MINE),
        lambda: dp.design(SETS, 1),
        lambda: dp.randomised_response(SETS, 1),
    ):
        with pytest.raises(TooLarge):
            ask()
    with pytest.raises(dp.InputError, match="up to 512"):
        dp.Subsets(range(513))


def test_a_set_of_a_plan_has_up_to_62_items(tmp_path: Path) -> None:
    for items, missing, good in ((62, "", True), (63, "", False), (62, 'missing = "category"', False)):
        text = f"""
        [privacy]
        epsilon = "1"
        [columns.likes]
        space = "subsets"
        values = {[f"h{n}" for n in range(items)]}
        {missing}
        """
        (tmp_path / "plan.toml").write_text(text)
        if good:
            dp.Plan.read(tmp_path / "plan.toml")
        else:
            with pytest.raises(dp.InputError, match="up to 62"):
                dp.Plan.read(tmp_path / "plan.toml")
