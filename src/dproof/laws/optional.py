"""A value that may be missing, under noise: whether it is shown at all, and what is shown if it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import ArgumentError, InputError, VerificationFailed
from dproof.exact import bisect, exp_below
from dproof.laws.debias import (
    Array,
    DebiasAxes,
    MatrixAxis,
    MomentsAxis,
    Points,
    PresentBlocks,
    Scale,
    SeenColumn,
    presence,
)
from dproof.laws.divergence import Odds, Worst, profile_odds
from dproof.laws.guide import Guide, guide
from dproof.laws.law import LAWS, TOTAL, Law, law_from_json, listed, read_number
from dproof.spaces.space import Space

_WHOLE = 1 << 40  # parts in which the two chances are written
_LEAST_GAP = Fraction(1, 1000)  # of p, between p and q: with less, missing values cannot be counted


class Centred(Law, ABC):
    """Noise around a value, with a middle value that lies nearer to every other than others may lie to each other."""

    @property
    @abstractmethod
    def middle(self) -> Any:
        """The code of the middle value."""

    @property
    @abstractmethod
    def nearer(self) -> Law:
        """The law of this noise for inputs that lie no farther apart than the middle lies from any other."""

    @property
    @abstractmethod
    def spare(self) -> int:
        """A code that no output has, so that it may stand for a missing value."""

    @abstractmethod
    def is_absent(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Which input codes stand for a missing value."""

    @abstractmethod
    def moments_of(self, seen: SeenColumn) -> MomentsAxis | None:
        """The axis of a number of which only sums are asked for; None where the noise has no known moments."""

    def with_missing(self, epsilon: Fraction, delta: Fraction) -> OptionalLaw:
        return optional_law(self, epsilon, delta)


@dataclass(frozen=True, eq=False)
class OptionalLaw(Law):
    """A value is shown with probability p = present/whole where it is there, and q = missing/whole where it is missing.

    What is shown is a draw of the inner law L: L(x) of a value x, and L(m) of the middle value m where it is missing.
    What is not shown is "missing", the last output, as a missing value is the last input.

    Why it is private: with H(P, Q; e) = Σ_y max(0, P(y) − e·Q(y)),
    - two values are told apart by what is shown alone: δ(e) = p·H(L(x), L(x'); e), so L may use all of ε;
    - a value and a missing one have δ(e) = p·H(L(x), L(m); e·q/p) + max(0, (1 − p) − e(1 − q)), and the other way
      round q·H(L(m), L(x); e·p/q) + max(0, (1 − q) − e(1 − p)). L(m) is nearer to L(x) than L(x') may be, and that
      is what lets p exceed q. For e < 1, H(P, Q; e) = 1 − e + e·H(Q, P; 1/e).

    >>> from dproof.laws.laplace import two_sided
    >>> from dproof.laws.noise import Lattice
    >>> law = OptionalLaw(Lattice(3, two_sided(Fraction(2))), 3, 2, 4)
    >>> float(law.odds(Fraction(0)).value) <= 4, law.probability(3, law.absent)
    (True, Fraction(1, 2))
    """

    kind: ClassVar[str] = "optional"

    inner: Centred
    present: int
    missing: int
    whole: int

    def __post_init__(self) -> None:
        if not 0 < self.missing <= self.present < self.whole:
            raise ArgumentError(
                "a value must be shown at least as often as a missing one, and neither always nor never"
            )

    @property
    def inputs(self) -> int | None:
        return None if self.inner.inputs is None else self.inner.inputs + 1

    @property
    def outputs(self) -> int | None:
        return None if self.inner.outputs is None else self.inner.outputs + 1

    @property
    def total(self) -> int | None:
        return None if self.inner.total is None else self.inner.total * self.whole

    @property
    def absent(self) -> int:
        return self.inner.spare

    @property
    def shown(self) -> Centred:
        return self.inner

    @property
    def farthest(self) -> int | None:
        return self.inner.farthest

    def _shown(self, source: int) -> tuple[Fraction, int]:
        """How likely a value is shown, and as which input of the inner law."""
        if source == self.inner.inputs:
            return Fraction(self.missing, self.whole), self.inner.middle
        return Fraction(self.present, self.whole), source

    def probability(self, source: int, target: int) -> Fraction:
        chance, code = self._shown(source)
        return 1 - chance if target == self.absent else chance * self.inner.probability(code, target)

    def cumulative(self, source: int, target: int) -> Fraction:
        """P(Y_source ≤ target) over the values that are shown: a missing one has no place among them."""
        chance, code = self._shown(source)
        return chance * self.inner.cumulative(code, target)

    def weights(self, source: int) -> NDArray[Any]:
        _, _, total = listed(self)
        chance, code = self._shown(source)
        part = int(chance * self.whole)
        return np.append(self.inner.weights(code) * part, (self.whole - part) * (total // self.whole))

    # Privacy -------------------------------------------------------------------------------------------------------

    def worst(self, odds: Fraction) -> Worst:
        p, q = Fraction(self.present, self.whole), Fraction(self.missing, self.whole)
        inside, nearer = self.inner.worst(odds), self.inner.nearer

        def apart(own: Fraction, other: Fraction) -> Fraction:
            ratio = odds * other / own
            shown = nearer.worst(ratio).value if ratio >= 1 else 1 - ratio + ratio * nearer.worst(1 / ratio).value
            return own * shown + max(Fraction(0), 1 - own - odds * (1 - other))

        # The last value and a missing one; where inputs cannot be listed a missing one has the code −1.
        value, missing = (0, -1) if self.inner.inputs is None else (self.inner.inputs - 1, self.inner.inputs)
        found = [(p * inside.value, inside.source, inside.target), (apart(p, q), value, missing)]
        return Worst(*max(*found, (apart(q, p), missing, value), key=lambda pair: pair[0]))

    def odds(self, delta: Fraction) -> Odds:
        values, one = self.inner.odds(Fraction(0)), self.inner.nearer.odds(Fraction(0)).value
        hidden = Fraction(self.whole - self.missing, self.whole - self.present)
        pure = None
        if values.value is not None and one is not None:
            pure = max(values.value, one * self.present / self.missing, hidden)
        odds_at_delta = profile_odds(lambda odds: self.worst(odds).value, pure, delta)
        worst = self.worst(max(Fraction(1), (odds_at_delta or Fraction(1)) * (1 - Fraction(1, 1 << 40))))
        return Odds(odds_at_delta, worst.source, worst.target)

    # What it does to values ------------------------------------------------------------------------------------------

    def shown_chances(self, absent: int) -> tuple[Fraction, Fraction]:
        return Fraction(self.present, self.whole), Fraction(self.missing, self.whole)

    def chances(self) -> tuple[str, Mapping[str, float]]:
        p, q = self.present / self.whole, self.missing / self.whole
        return "a value is", {
            "present, and shown with noise": p,
            "present, and shown as missing": 1 - p,
            "missing, and shown as missing": 1 - q,
            "missing, and shown as the middle with noise": q,
        }

    def error(self, source: int, space: Space) -> Fraction:
        chance, code = self._shown(source)
        if source == self.inner.inputs:
            return chance * space.diameter
        return chance * self.inner.error(code, space.present or space) + (1 - chance) * space.diameter

    def maximal_error(self, space: Space) -> Fraction:
        p, q = Fraction(self.present, self.whole), Fraction(self.missing, self.whole)
        return max(p * self.inner.maximal_error(space.present or space) + (1 - p) * space.diameter, q * space.diameter)

    @cached_property
    def _guide(self) -> Guide:
        """Shown or not, of a value that is there and of a missing one."""
        return guide([[part, self.whole - part] for part in (self.present, self.missing)], self.whole)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        """Noise is drawn for every row, whether it is shown or not."""
        absent = self.inner.is_absent(codes)
        hidden = self._guide.draw(absent.view(np.uint8), coins) == 1
        filled = codes.copy()
        filled[absent] = self.inner.middle
        drawn = self.inner.draw(filled, coins)
        drawn[hidden] = self.absent
        return drawn

    # Estimation ----------------------------------------------------------------------------------------------------

    def mean_variance(self, space: Space) -> float | None:
        """With s = Y/p for a number that is shown and t the score for being there, the mean is Σ s/Σ t, and a row adds
        s − x·t to its error; all numbers x lie as far from the middle as they can."""
        inside, moments = space.present, self.inner.moments
        if moments is None or inside is None or inside.spacing is None:
            return None
        p, q = self.present / self.whole, self.missing / self.whole
        far, shown, hidden = (inside.size // 2) ** 2, (1 - q) / (p - q), -q / (p - q)
        steps = (far + float(moments[2])) / p - 2 * far * shown + far * (p * shown**2 + (1 - p) * hidden**2)
        return float(steps * float(inside.spacing) ** 2)

    def debias_axes(self, seen: Sequence[SeenColumn], others: int, name: str) -> DebiasAxes:
        """Whether a value is there, which two chances tell exactly; where values are told apart as well, the nodes and
        states of the inner law, and one more of each."""
        (column,) = seen
        space, absent = column.space.present, column.space.absent
        chances = self.present / self.whole, self.missing / self.whole
        assert space is not None and absent is not None
        inside = replace(column, blocks=PresentBlocks(column.blocks, absent), space=space)
        moments = self.inner.moments_of(inside)
        if moments is not None or column.scale is None:
            by_presence = presence(column, chances, name, moments)
            if by_presence is not None:
                return by_presence
        unmixed = self.inner.debias_axes([inside], others, name)
        (axis,), state = unmixed.axes, unmixed.state
        assert isinstance(axis, MatrixAxis) and state is not None
        # The middle lies at a node, or between two whose laws it shares.
        number = (column.scale or Scale()).numbers(space, np.array([self.inner.middle]))
        middle = np.stack([np.interp(number, axis.values, chance) for chance in axis.matrix.T], axis=1)
        lacking = np.eye(axis.blocks)[column.blocks.of(np.array([absent]))]
        mixed = replace(
            axis,
            matrix=self._with_hidden(axis.matrix, middle),
            member=np.concatenate([axis.member, lacking]),
            values=np.append(axis.values, 0.0),
            seen=np.concatenate([axis.seen, lacking if axis.seen.ndim == 2 else lacking.argmax(axis=1)]),
            seen_values=np.append(axis.seen_values, 0.0),
            points=None if axis.points is None else self._with_missing(axis.points, middle, lacking),
        )

        def states(released: Sequence[Array]) -> Array:
            hidden = released[0] == self.absent
            return np.where(hidden, axis.states, state([np.where(hidden, 0, released[0])]))

        return DebiasAxes((mixed,), states, bins=unmixed.bins)

    def _with_hidden(self, law: Array, middle: Array) -> Array:
        """The law of some values and of a missing one, with one more state for what is not shown."""
        shown = np.repeat([self.present / self.whole, self.missing / self.whole], [len(law), 1])[:, None]
        return np.hstack([shown * np.concatenate([law, middle]), 1 - shown])

    def _with_missing(self, points: Points, middle: Array, lacking: Array) -> Points:
        return Points(
            self._with_hidden(points.matrix, middle),
            np.append(points.start, len(points.matrix)),
            np.append(points.part, 0.0),
            np.append(points.block, lacking.argmax()),
            np.append(points.values, 0.0),
            points.even,
        )

    def to_json(self) -> Mapping[str, Any]:
        chances = {name: str(getattr(self, name)) for name in ("present", "missing", "whole")}
        return {"kind": self.kind, **chances, "law": dict(self.inner.to_json())}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> OptionalLaw:
        return cls.around(law_from_json(record["law"]), record)

    @classmethod
    def around(cls, inner: Law, record: Mapping[str, Any]) -> OptionalLaw:
        """The law that a certificate has around this one."""
        if not isinstance(inner, Centred):
            raise VerificationFailed("the certificate cannot be read: 'law' has no middle value")
        try:
            _ = inner.nearer
        except InputError:
            raise VerificationFailed(
                "the certificate cannot be read: 'law' has no output for a missing value"
            ) from None
        return cls(inner, *(read_number(record, name, TOTAL) for name in ("present", "missing", "whole")))


LAWS[OptionalLaw.kind] = OptionalLaw.from_json


def optional_law(inner: Centred, epsilon: Fraction, delta: Fraction) -> OptionalLaw:
    """The law that tells missing values from others as well as the promise allows.

    With 1 − q = e(1 − p), which is the most that may be hidden, and p/q = r that is q = (e − 1)/(e·r − 1); p − q rises
    with r, and r is the largest for which a value and a missing one keep the promise. For Laplace noise of scale diam/ε
    the middle is half as far from a value as another may be, and r = e^(ε/2).
    """
    odds = exp_below(epsilon)

    def law(ratio: Fraction) -> OptionalLaw:
        """With q/p at least this ratio, both rounded towards more privacy."""
        missing = ceil(_WHOLE * (odds - 1) / (odds / ratio - 1))
        return OptionalLaw(inner, floor(min(missing / ratio, _WHOLE - (_WHOLE - missing) / odds)), missing, _WHOLE)

    def keeps(ratio: Fraction) -> bool:
        return law(ratio).worst(odds).value <= delta

    least, most = 1 / odds, 1 - _LEAST_GAP
    if odds == 1 or not keeps(most):
        raise ArgumentError(
            "with this mechanism and epsilon a missing value cannot be told from others: use laplace, or "
            "randomised_response for few values, a mechanism made for less than this epsilon, such as "
            "staircase(space, 0.5).with_missing(1), or another value in the place of a missing one"
        )
    return law(least if keeps(least) else bisect(keeps, least, most, lambda low, high: high - low <= high / (1 << 40)))
