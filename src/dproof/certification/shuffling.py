"""What a random order of the rows adds: the promise to whoever sees the published rows, and not who sent which.

The bound itself is in `verify_certificate`, where others check it with Python alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import erfc, exp, sqrt
from typing import Any

from dproof.arguments import whole
from dproof.certification.verify_certificate import LAWS, Blanket, by_kind, row_blankets, shuffled_delta
from dproof.errors import ArgumentError
from dproof.exact import exp_below, least_decimal
from dproof.limits import MOST_SHUFFLED
from dproof.mechanisms.mechanism import Mechanism
from dproof.privacy import Privacy, Promise, as_delta

_DIGITS = 3  # of an ε that is found


def shuffled(local: Promise | Mechanism, rows: int, *, delta: Any) -> Privacy:
    """What rows that were sanitised one by one keep once they are in a random order, for whoever sees only them.

    `local` is the mechanism of a row, or its promise with δ = 0, for which the bound holds whatever the mechanism is;
    `rows` is how many are shuffled together, of people whose coins the observer does not know. The promise at `delta`
    is for change-one neighbours; its ε has three digits, rounded up, and is never more than that of a row.

    Balle, Bell, Gascón and Nissim 2019; Feldman, McMillan and Talwar 2021. It is an upper bound.

    >>> from dproof import Categories, randomised_response
    >>> mechanism = randomised_response(Categories(list("abcde")), Privacy(3))
    >>> float(shuffled(mechanism, 1000, delta="1e-6").epsilon), float(shuffled(Privacy(1), 1000, delta="1e-6").epsilon)
    (0.754, 0.183)
    """
    whole(rows, "rows", 1, MOST_SHUFFLED)
    wanted = as_delta(delta)
    if isinstance(local, Mechanism):
        if local.family.neighbours is not None or local.family.of_one_row is not local.family:
            raise ArgumentError("shuffling is for the mechanism of one row, whose values are all neighbours")
        odds, records = local.family.odds(Fraction(0)).value, [local.family.to_json()]
        if odds is None:
            raise ArgumentError("shuffling adds to mechanisms with δ = 0 only, and this one has no ε then")
        epsilon = least_decimal(lambda x: exp_below(x) >= odds, Fraction(1), Fraction(0), Fraction(1000), 12)
        assert epsilon is not None, "odds of more than e^1000"
    else:
        promise = Privacy.of(local, "local")
        if promise.delta:
            raise ArgumentError("shuffling adds to promises with δ = 0 only")
        epsilon, records = promise.epsilon, [{}]  # some law
    found = shuffled_epsilon(blankets(records, epsilon), rows, wanted)
    return Privacy(epsilon if found is None else min(found, epsilon), wanted)


def blankets(laws: Iterable[Mapping[str, Any]], epsilon: Fraction, weights: list[int] | None = None) -> list[Blanket]:
    """What all rows have in common, by each way to bound it, from the recorded laws of a row with δ = 0."""
    read = [by_kind(LAWS)(dict(law), "the law") if law.get("kind") in LAWS else {} for law in laws]
    return list(row_blankets(read, epsilon, weights))


def shuffled_epsilon(every: Iterable[Blanket], rows: int, delta: Fraction) -> Fraction | None:
    """The least ε of three digits at which this δ is kept, by the way that promises the most; None above 100."""
    guess, blanket = min((_normal_epsilon(blanket, rows, float(delta)), blanket) for blanket in every)
    near = Fraction(guess).limit_denominator(10**9)

    def kept(epsilon: Fraction) -> bool:
        return shuffled_delta(rows, blanket, exp_below(epsilon)) <= delta

    return least_decimal(kept, near, Fraction(1, 10**6), Fraction(100), _DIGITS)


def usual_delta(rows: int) -> Fraction:
    """A δ for so many rows: a power of ten, at most 10⁻⁶ and a tenth of one row in all."""
    return Fraction(1, max(10**6, 10 ** len(str(rows))))


def _normal_epsilon(blanket: Blanket, rows: int, delta: float) -> float:
    """About the ε at which δ is kept, as if the sums of the bound were normal; only to begin a search."""
    mass, low, high = map(float, blanket)
    share = min((1 - low) / (high - low), 1) if high > low else 0.0
    mu = sqrt(2 * min(share, 1 - share) * (high - low) ** 2 / (1 + (rows - 1) * mass)) + 1e-9

    def kept(epsilon: float) -> float:
        far = [erfc((sign * mu / 2 + epsilon / mu) / sqrt(2)) / 2 for sign in (-1, 1)]
        return far[0] - (exp(epsilon) * far[1] if far[1] else 0.0)

    least, most = 0.0, 50.0
    for _ in range(60):
        middle = (least + most) / 2
        least, most = (middle, most) if kept(middle) > delta else (least, middle)
    return max(most, 1e-6)
