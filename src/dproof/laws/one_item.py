"""Sets of which one item is asked about: drawn whatever the set is, and answered with all of ε."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import InputError
from dproof.laws.debias import Mixed, Seen, Unmixed
from dproof.laws.divergence import Pair
from dproof.laws.guide import coin, uniform
from dproof.laws.law import ITEMS, LAWS, WEIGHT, Law, Range
from dproof.laws.scores import Array, Dense, Powers
from dproof.spaces.space import Space
from dproof.spaces.subsets import Answers


@dataclass(frozen=True, slots=True)
class OneItem(Law):
    """P(Y_a = (n, b)) = stay/(h·(stay + flip)) if b says whether a holds item n of h, and flip instead of stay if not.

    Two sets that differ in every item are the worst pair, and no farther apart than the two answers about one item.

    >>> law = OneItem(3, 2, 1)
    >>> law.weights(0b001).tolist(), law.total
    ([1, 2, 2, 1, 2, 1], 9)
    """

    kind: ClassVar[str] = "one-item"
    ranges: ClassVar[Mapping[str, Range]] = {"bits": ITEMS, "stay": WEIGHT, "flip": WEIGHT}

    bits: int
    stay: int
    flip: int

    def __post_init__(self) -> None:
        if self.bits < 1 or min(self.stay, self.flip) < 0 or self.stay + self.flip < 1:
            raise InputError("a law of one item needs at least one item, and weights of at least 0 that are not both 0")

    @property
    def inputs(self) -> int:
        return 1 << self.bits

    @property
    def outputs(self) -> int:
        return 2 * self.bits

    @property
    def total(self) -> int:
        return self.bits * (self.stay + self.flip)

    def released_in(self, space: Space) -> Space:
        assert space.items is not None
        return Answers(space.items)

    def weights(self, source: int) -> NDArray[Any]:
        said, held = np.arange(self.outputs) % 2, np.array([source >> n & 1 for n in range(self.bits)]).repeat(2)
        return np.where(said == held, self.stay, self.flip).astype(object)

    def worst_pair(self) -> Pair:
        """The answers that say what a set holds, and those that do not, under it and under its complement."""
        return Pair([self.stay, self.flip], [self.flip, self.stay], self.stay + self.flip, 0, self.inputs - 1)

    def chances(self) -> tuple[str, Mapping[str, float]]:
        stays = self.stay / (self.stay + self.flip)
        return "one item is drawn, and whether it is in the set is", {"told": stays, "reversed": 1 - stays}

    def count_variance(self, space: Space) -> float | None:
        """h·v + (h − 1)/4 with v that of an answer, where half of the sets are thought to hold the item."""
        if self.stay == self.flip:
            return None
        p, q = self.stay / (self.stay + self.flip), self.flip / (self.stay + self.flip)
        return self.bits * p * q / (p - q) ** 2 + (self.bits - 1) / 4

    def unmix(self, seen: Sequence[Seen], others: int, name: str) -> Unmixed:
        """Whether a set holds one item; of two items of a row at most one was asked about."""
        (column,) = seen
        bits, p = column.blocks.bits, self.stay / (self.stay + self.flip)
        if bits is None or len(bits) > 1:
            raise InputError(
                f"{name} was released with one item of each set, so items cannot be asked for together: ask for one in "
                "each question, or sanitise with mechanism = 'itemwise_response'"
            )
        nodes = np.array([0, *(1 << bit for bit in bits)])  # the item is not in the set, and it is
        member = np.eye(column.blocks.blocks)[column.blocks.of(nodes)]
        chance = 1 / self.bits
        law = np.array([[1 - chance, chance * p, chance * (1 - p)], [1 - chance, chance * (1 - p), chance * p]])[
            : len(nodes)
        ]
        shown = np.vstack([np.zeros(column.blocks.blocks), *member, *member[: 2 - len(nodes)]])
        axis = Drawn(name, law, member, np.zeros(len(nodes)), shown, np.zeros(3), asked=chance, kept=p)
        (bit,) = bits or (0,)

        def state(released: Sequence[Array]) -> Array:
            return np.where(released[0] // 2 == bit, 1 + released[0] % 2, 0)

        return Unmixed((axis,), state)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        item = uniform(self.bits).sample(len(codes), coins).astype(np.int64)
        masks = codes if codes.dtype == object else codes.astype(np.int64)
        held = (masks >> item & 1).astype(np.int64)
        turned = coin(self.stay, self.flip).sample(len(codes), coins)
        return np.asarray(2 * item + (held ^ turned))

    def to_json(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "bits": self.bits, "stay": str(self.stay), "flip": str(self.flip)}


LAWS[OneItem.kind] = OneItem.from_json


@dataclass(frozen=True, slots=True, eq=False)
class Drawn(Mixed):
    """Whether a set holds an item that was asked about in a part `asked` of all rows, and then told with chance `kept`.

    The states are: not asked about, no, yes. With s the score of an answer by itself, a row has c + (s − c)/asked, and
    c if it was not asked: unbiased for every c, and of least variance where c is the share of rows with the item.
    """

    asked: float = 1.0
    kept: float = 1.0
    share: float = 0.5

    is_fitted = True

    def fit(self, counts: Array) -> Drawn:
        """With the share that these counts tell; where few rows were asked, nearer to a half."""
        _, no, yes = counts
        spare = max(0.0, 1 - self.kept) / (2 * self.kept - 1)  # answers to be told right by chance
        share = 0.5 + (yes - no) / 2 / max(no + yes, 1.0) / (2 * self.kept - 1)
        weight = (no + yes) / (no + yes + 100 * (1 + spare))
        return replace(self, share=float(np.clip(weight * share + (1 - weight) / 2, 0, 1)))

    def scores(self, powers: Powers) -> Dense:
        absent, held = self.member[0], self.member[-1]
        middle = absent + self.share * (held - absent)
        over = (1 - self.kept) / (2 * self.kept - 1)
        answers = [absent - over * (held - absent), held + over * (held - absent)]
        return Dense(np.vstack([middle, *(middle + (answer - middle) / self.asked for answer in answers)]))
