"""Certificates of numbers and sets: what certify writes, the stand-alone verifier accepts, and nothing else."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import pytest

from dproof import (
    Categories,
    Interval,
    Mechanism,
    NotPrivate,
    Privacy,
    bounded_laplace,
    certify,
    gaussian,
    laplace,
    staircase,
    subset_selection,
    truncated_laplace,
    unary_encoding,
)
from dproof.certification.verify_certificate import Refused, verify
from tests.forging import resealed

FINE = Interval(0, 1, "0.001")
LETTERS = Categories(list("abcdef"))
CASES: dict[str, tuple[Mechanism, Privacy]] = {
    name: (make(space, privacy), privacy)
    for name, make, space, privacy in [
        ("pure laplace", laplace, FINE, Privacy(1)),
        ("laplace", laplace, FINE, Privacy(1, "0.1")),
        ("laplace at epsilon 0", laplace, FINE, Privacy(0, "0.01")),
        ("laplace on a wide lattice", laplace, Interval(0, 10**7, 1), Privacy("0.1", "0.001")),
        ("laplace on two points", laplace, Interval(0, 1, 1), Privacy(3)),
        ("truncated laplace", truncated_laplace, FINE, Privacy(1, "0.1")),
        ("truncated laplace, small delta", truncated_laplace, Interval(0, 10, 1), Privacy("0.5", "1e-8")),
        ("gaussian", gaussian, Interval(0, 1, "0.01"), Privacy(1, "1e-5")),
        ("gaussian in cells", gaussian, Interval(0, 1, "0.0005"), Privacy("0.5", "1e-6")),
        ("staircase", staircase, FINE, Privacy(1)),
        ("steep staircase", staircase, Interval(0, 9, 1), Privacy(8)),
        ("bounded laplace", bounded_laplace, Interval(0, 10, 1), Privacy(1, "0.01")),
        ("unary encoding", unary_encoding, LETTERS, Privacy(1)),
        ("subset selection", subset_selection, LETTERS, Privacy(1, "0.01")),
    ]
}
each_case = pytest.mark.parametrize("name", CASES)


def certificate(name: str) -> dict[str, Any]:
    mechanism, privacy = CASES[name]
    return certify(mechanism, privacy).to_json()


@each_case
def test_the_verifier_accepts_what_certify_writes(name: str) -> None:
    verify(certificate(name))


@pytest.mark.parametrize("make", [laplace, truncated_laplace])
@pytest.mark.parametrize("epsilon", [500, 1000])
def test_the_verifier_is_as_exact_as_the_largest_epsilon_asks(make: Any, epsilon: int) -> None:
    """e^ε times a chance near e^-ε is near 1: the chance needs more bits than ε has."""
    for size, delta in ((10, "1e-9"), (10**6, "0.1")):
        verify(certify(make(Interval(0, size, 1), Privacy(epsilon, delta)), Privacy(epsilon, delta)).to_json())


@each_case
def test_neither_certifies_less_than_the_law_takes(name: str) -> None:
    mechanism, privacy = CASES[name]
    less = Fraction(999, 1000)
    smaller = Privacy(privacy.epsilon * less, privacy.delta * less)
    with pytest.raises(NotPrivate):
        certify(mechanism, smaller)
    body = certificate(name)
    for record in (body, body["laws"][0]):
        record["epsilon"], record["delta"] = str(smaller.epsilon), str(smaller.delta)
    with pytest.raises(Refused):
        verify(resealed(body))


def numbers(record: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the whole numbers of a law stand, but for small ones: these are rounded up by more than a little."""
    if isinstance(record, dict):
        return [found for key, value in record.items() for found in numbers(value, (*path, key))]
    if isinstance(record, list):
        return [found for n, value in enumerate(record) for found in numbers(value, (*path, n))]
    return [path] if isinstance(record, str) and record.isdigit() and int(record) > 10**6 else []


# Not weights; and weights that make the law more private when they fall: the first stair, the true value's share.
SPARED = {"size", "whole", "total", "width", "inner", "own", "high"}


@each_case
def test_a_law_with_one_weight_halved_is_refused(name: str) -> None:
    """Halving a weight doubles a ratio somewhere: the law is less private than it says, or no law."""
    original = certificate(name)
    places = [p for p in numbers(original["laws"][0]["law"]) if p[-1] not in SPARED and p[-2:] != ("first", 0)]
    assert places
    for place in places[:: max(1, len(places) // 12)]:
        body = copy.deepcopy(original)
        holder = body["laws"][0]["law"]
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = str(int(holder[place[-1]]) // 2)
        with pytest.raises(Refused):
            verify(resealed(body))


@pytest.mark.parametrize("name", ["pure laplace", "gaussian", "staircase"])
def test_a_wider_space_needs_more_noise(name: str) -> None:
    body = certificate(name)
    law = body["laws"][0]["law"]
    law["size"] = str(int(law["size"]) * 2)
    with pytest.raises(Refused):
        verify(resealed(body))
