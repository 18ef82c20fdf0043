"""The design of a whole row: how its columns share the promise so that the error is least."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Literal, get_args

from dproof.arguments import choice, expect, mapping
from dproof.errors import InputError, did_you_mean
from dproof.exact import exact, written
from dproof.mechanisms.mechanism import Mechanism
from dproof.optimality.design import Problem
from dproof.privacy import Privacy, Promise
from dproof.spaces.products import Rows

Aim = Literal["largest", "sum"]
_PARTS_PER_COLUMN = 12


@dataclass(frozen=True, slots=True)
class RowDesign:
    """An optimal mechanism for every column, and its share of the promise; the shares add up to 1."""

    shares: Mapping[str, Fraction]
    mechanisms: Mapping[str, Mechanism]
    errors: Mapping[str, Fraction]  # maximal expected error, relative to that of a release which tells nothing

    def __repr__(self) -> str:
        columns = (
            f"{name!r} by {mechanism.name} with {self.shares[name]} of the promise, relative error "
            f"{written(self.errors[name])}"
            for name, mechanism in self.mechanisms.items()
        )
        return f"<row: {'; '.join(columns)}>"


def design_row(
    row: Rows, privacy: Promise, *, aim: Aim = "largest", weights: Mapping[str, Any] | None = None
) -> RowDesign:
    """Optimal mechanisms for the columns of a row that together keep the promise, with the best split of it.

    A column's relative error is its maximal expected error over that of a release which tells nothing (ε = 0).
    `aim="largest"` makes the largest of them as small as can be, "sum" their sum; `weights` multiply them. Shares are
    multiples of a twelfth of an even share, and among these the split is the best: a part at a time to the column that
    is worst off, or for the sum by dynamic programming. Columns of one row compose: their ε and δ add up.

    >>> from dproof import Categories
    >>> row = Rows({"smoker": Categories(["no", "yes"]), "hobby": Categories(list(range(20)))})
    >>> {name: str(share) for name, share in design_row(row, Privacy(2)).shares.items()}
    {'smoker': '1/6', 'hobby': '5/6'}
    """
    expect(row, Rows, "row", "a row of columns, as Rows({'age': …}) makes")
    privacy = Privacy.of(privacy)
    choice(aim, get_args(Aim), "aim")
    given = {} if weights is None else mapping(weights, "weights", "a mapping from columns to weights")
    scales = {name: exact(given.get(name, 1), f"the weight of {name!r}") for name in row.columns}
    unknown = [name for name in given if name not in row.columns]
    if unknown:
        raise InputError(f"there is no column {unknown[0]!r} to weigh{did_you_mean(unknown[0], row.columns)}")
    if min(scales.values()) < 0:
        raise InputError("a weight must not be negative")
    parts = _PARTS_PER_COLUMN * len(row.columns)

    @cache
    def designed(name: str, given: int) -> Mechanism:
        share = Fraction(given, parts)
        part = Privacy(privacy.epsilon * share, privacy.delta * share, neighbours=privacy.neighbours)
        return Problem(row.columns[name], part).best()

    def relative(name: str, given: int) -> Fraction:
        nothing = designed(name, 0).error
        return designed(name, given).error / nothing if nothing else Fraction(0)

    split = _even_out if aim == "largest" else _least_sum
    chosen = split(list(row.columns), parts, lambda name, given: float(scales[name] * relative(name, given)))
    return RowDesign(
        {name: Fraction(given, parts) for name, given in chosen.items()},
        {name: designed(name, given) for name, given in chosen.items()},
        {name: relative(name, given) for name, given in chosen.items()},
    )


def _even_out(names: list[str], parts: int, error: Callable[[str, int], float]) -> dict[str, int]:
    """Each part goes where the error is largest: as errors fall with ε, no other split has a smaller largest."""
    given = dict.fromkeys(names, 0)
    for _ in range(parts):
        given[max(names, key=lambda name: error(name, given[name]))] += 1
    return given


def _least_sum(names: list[str], parts: int, error: Callable[[str, int], float]) -> dict[str, int]:
    """The split of least sum, by dynamic programming over the columns: errors need not be convex in ε."""
    best: list[tuple[float, dict[str, int]]] = [(error(names[0], n), {names[0]: n}) for n in range(parts + 1)]
    for name in names[1:]:
        best = [
            min(
                ((best[total - n][0] + error(name, n), {**best[total - n][1], name: n}) for n in range(total + 1)),
                key=lambda split: split[0],
            )
            for total in range(parts + 1)
        ]
    return best[parts][1]
