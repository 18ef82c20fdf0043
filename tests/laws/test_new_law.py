"""A law of a new shape, in a user's own module: what it must say, and that the rest follows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dproof import Categories, InputError, Mechanism, Privacy, VerificationFailed, certify, randomised_response
from dproof.certification import verify_certificate as verifier
from dproof.laws import LAWS, Matrix
from dproof.laws.law import law_from_json
from dproof.testing import check_mechanism, seeded_coins
from tests.forging import resealed
from tests.test_additions import block

# The law that the guide adds: the value with `keep` more weight than each value has anyway, which is 1.
GUIDE: dict[str, Any] = {"np": np, "dataclass": dataclass, "__name__": __name__}
exec(compile(block("class KeepOrAny").partition("LAWS[")[0], "extending.md", "exec", dont_inherit=True), GUIDE)
KeepOrAny: Any = GUIDE["KeepOrAny"]


@pytest.fixture
def registered() -> Iterator[None]:
    LAWS[KeepOrAny.kind] = KeepOrAny.from_json
    yield
    del LAWS[KeepOrAny.kind]


VALUES = Categories(list("abcd"))


def mechanism(keep: int) -> Mechanism:
    return Mechanism("keep-or-any", VALUES, VALUES, KeepOrAny(4, keep), "a test")


@pytest.mark.parametrize("keep", [0, 1, 5])
def test_all_that_it_does_not_say_follows_from_what_it_says(keep: int) -> None:
    made = mechanism(keep)
    check_mechanism(made)
    same = Matrix(made.weights()[0], made.family.total)
    for e in (Fraction(1), Fraction(3, 2), Fraction(4)):
        assert made.family.worst(e) == same.worst(e) if keep else made.family.worst(e).value == 0
    assert made.family.odds(Fraction(0)).value == 1 + keep
    assert made.error == Fraction(3, 4 + keep)
    assert certify(made, Privacy(2)).epsilon <= 2


def test_it_is_drawn() -> None:
    with seeded_coins(1):
        drawn = mechanism(5).draw(["b"] * 9000)
    assert abs(drawn.count("b") - 6000) < 5 * 45


@pytest.mark.usefixtures("registered")
def test_once_registered_it_is_read_back() -> None:
    record = json.loads(json.dumps(certify(mechanism(5), Privacy(2)).to_json()["laws"][0]["law"]))
    assert law_from_json(record) == KeepOrAny(4, 5)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("forged", [{"size": 0}, {"keep": "-1"}, {"keep": 1.5}, {"keep": "1e3"}, {"size": 1 << 63}])
def test_a_number_outside_its_range_is_refused(forged: dict[str, Any]) -> None:
    with pytest.raises(VerificationFailed, match=f"'{next(iter(forged))}' lies outside its range"):
        law_from_json({**KeepOrAny(4, 5).to_json(), **forged})


def test_a_kind_that_nobody_registered_is_not_read() -> None:
    with pytest.raises(VerificationFailed, match="the kind 'keep-or-any', which is not known: import the module"):
        law_from_json(KeepOrAny(4, 5).to_json())


def test_two_entries_make_the_stand_alone_verifier_check_it(monkeypatch: pytest.MonkeyPatch) -> None:
    record = certify(mechanism(5), Privacy(2)).to_json()
    with pytest.raises(verifier.Refused, match="not known"):
        verifier.verify(record)

    def worst_pair(law: dict[str, int], odds: Fraction) -> Iterator[verifier.Pair]:
        keep, rest, total = 1 + law["keep"], law["size"] - 2, law["size"] + law["keep"]
        yield 0, 1, [keep, 1, rest], [1, keep, rest], total

    monkeypatch.setitem(verifier.LAWS, "keep-or-any", {"size": verifier.whole(1, 1 << 62), "keep": verifier.WEIGHT})
    monkeypatch.setitem(verifier.PAIRWISE, "keep-or-any", worst_pair)
    assert verifier.verify(record) == []
    record["laws"][0]["law"]["keep"] = "7"
    with pytest.raises(verifier.Refused, match="is not \\(2, 0\\)-private"):
        verifier.verify(resealed(record))


def test_what_has_no_list_of_weights_says_so_in_words() -> None:
    from dproof import Curves, Interval, curve_noise, laplace

    curves = curve_noise(Curves(0, 24, 25, low=0, high=5), Privacy(1))
    line = laplace(Interval(0, 5, 1), Privacy(1))
    for law in (curves.family, line.family):
        assert law.outputs is None and law.total is None
        for ask in (lambda law=law: law.weights(0), lambda law=law: law.expectation(0, [1, 2])):
            with pytest.raises(InputError):
                ask()
    for ask in (
        lambda: curves.family.probability(0, 1),
        lambda: curves.law([1.0] * 25),
        curves.expected_errors,
        curves.matrix,
    ):
        with pytest.raises(InputError):
            ask()
    assert line.family.probability(0, 1) > 0


def test_a_total_of_numpy_does_not_overflow() -> None:
    weights = np.array([[1 << 60, 1], [1, 1 << 60]])
    law = Matrix(weights, weights[0].sum())
    assert type(law.total) is int
    assert law.worst(Fraction(3, 2)).value == Matrix(weights, (1 << 60) + 1).worst(Fraction(3, 2)).value


def test_randomised_response_names_the_first_two_values_as_its_worst_pair() -> None:
    worst = randomised_response(VALUES, Privacy(1)).family.worst(Fraction(1))
    assert (worst.source, worst.target) == (0, 1)
