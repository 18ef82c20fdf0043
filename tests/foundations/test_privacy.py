"""The promise: every legitimate pair is taken exactly, every other one is refused with the way out."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import InputError, Privacy


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (0, 0),
        (0, 1),
        (1, 0),
        (0.1, 1e-6),
        ("1/3", "1e-300"),
        (1000, 1),
        (Decimal("0.5"), Fraction(1, 7)),
        ("1e-320", 0),
    ],
)
def test_legitimate_promises(epsilon: object, delta: object) -> None:
    promise = Privacy(epsilon, delta)
    assert promise.epsilon == Fraction(str(epsilon))
    assert promise.delta == Fraction(str(delta))
    assert promise.neighbours == "change-one"


def test_floats_mean_their_decimals() -> None:
    assert Privacy(0.1) == Privacy("0.1") == Privacy("1/10")
    assert 3 * Privacy(0.1).epsilon == Privacy(0.3).epsilon


@pytest.mark.parametrize(
    "wrong", [-1, -1e-9, "-0.5", float("nan"), "nan", float("inf"), "inf", "1e999", 1000.1, "", None, True, "ε"]
)
def test_epsilon_outside_its_range_is_refused(wrong: object) -> None:
    with pytest.raises(
        InputError, match=r"epsilon must (lie between 0 and 1000; small means private|be a finite number)"
    ):
        Privacy(wrong)


@pytest.mark.parametrize("wrong", [-1e-9, "1.0000001", 2, float("nan"), "inf", None, False])
def test_delta_outside_its_range_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match=r"delta must (lie between 0 and 1; 0 is pure|be a finite number)"):
        Privacy(1, wrong)


@pytest.mark.parametrize("wrong", ["", "both", None, 1, "Change-One"])
def test_unknown_neighbours_are_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="change-one"):
        Privacy(1, neighbours=wrong)  # type: ignore[arg-type]


def test_neighbours_is_a_keyword() -> None:
    with pytest.raises(TypeError):
        Privacy(1, 0, "add-remove")  # type: ignore[misc]


@given(st.fractions(0, 1000), st.fractions(0, 1), st.sampled_from(["change-one", "add-remove"]))
def test_it_prints_as_what_makes_it_again(epsilon: Fraction, delta: Fraction, neighbours) -> None:
    promise = Privacy(epsilon, delta, neighbours=neighbours)
    assert eval(repr(promise)) == promise  # noqa: S307
    assert hash(promise) == hash(Privacy(epsilon, delta, neighbours=neighbours))


def test_it_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Privacy(1).epsilon = Fraction(2)  # type: ignore[misc]
