"""From what was counted to what is released: noise is added, candidates are chosen. Nothing else leaves the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dproof.coins import Coins
from dproof.curation.measurement import Chosen, Measurement, extreme
from dproof.curation.selection import exponential, permute_and_flip, reach
from dproof.curation.tally import Tally
from dproof.exact import exact
from dproof.questions.aggregates import Frequent
from dproof.questions.canonical import expression
from dproof.questions.schema import Open, Schema
from dproof.questions.sums import Term, scale_of
from dproof.spaces import Space

Released = dict[str, Any]  # plain JSON: what a ledger keeps


def draw(measurement: Measurement, counted: Tally, coins: Coins) -> Released:
    """The released numbers: `noisy`, a whole number for each statistic and group, and `chosen`, a code or codes.

    Where the number of all rows is public, `rows` tells it.
    """
    noisy = []
    for part in measurement.noisy:
        statistic = part.statistic
        if isinstance(statistic, Term):
            exact = counted.sums[statistic]
        else:
            exact = [len(histogram) for histogram in counted.histograms[statistic]]
        if part.noise is not None:
            drawn = part.noise.law.draw(measurement.groups, coins).tolist()
            exact = [value + more for value, more in zip(exact, drawn, strict=True)]
        noisy.append(exact)
    chosen = [
        [_choose(choice, histogram, measurement.schema, coins) for histogram in counted.histograms[choice.aggregate]]
        for choice in measurement.chosen
    ]
    released: Released = {"noisy": noisy, "chosen": chosen, "private": coins.private}
    return {**released, "rows": counted.rows} if measurement.rows_are_public else released


def _choose(choice: Chosen, histogram: Mapping[int, int], schema: Schema, coins: Coins) -> int | list[int]:
    space = schema.spaces[choice.aggregate.columns[0]]
    assert not isinstance(space, Open)
    chosen = choice.aggregate.definition.chosen
    if isinstance(chosen, Frequent):
        rounds = int(choice.aggregate.argument or 1)
        top = _top(choice, space.tallies(histogram), rounds, coins)
        return top if chosen.several else top[0]
    if chosen is None:
        raise KeyError(f"{choice.aggregate.kind} is no choice among values")
    ladder = rungs(space)
    counts = {place: histogram[code] for place, code in enumerate(ladder) if code in histogram} if ladder else histogram
    lengths, misses = _runs(choice, counts, len(ladder) if ladder else space.size)
    choose = exponential if choice.mechanism == "exponential" else permute_and_flip
    place = choose(lengths, misses, choice.rate, coins)
    return ladder[place] if ladder else place


def _top(choice: Chosen, scores: Mapping[int, int], rounds: int, coins: Coins) -> list[int]:
    """The best, then the best of the others, and so on."""
    left = list(scores)
    found = []
    for _ in range(rounds):
        found.append(left.pop(permute_and_flip([1] * len(left), [-scores[code] for code in left], choice.rate, coins)))
    return found


def rungs(space: Space) -> list[int] | None:
    """The codes of a space of numbers from the least to the greatest; None where they are in order already."""
    if space.line is not None:
        return None
    codes = [code for code in range(space.size) if space.label(code) is not None]
    return sorted(codes, key=scale_of(space, False).whole(np.arange(space.size)).tolist().__getitem__)


def _runs(choice: Chosen, counts: Mapping[int, int], size: int) -> tuple[list[int], list[int]]:
    """Candidates in runs: how long each is, and by how many rows a candidate of it misses the mark."""
    total, below, start = sum(counts.values()), 0, 0
    lengths, misses = [], []
    for place in [*sorted(counts), size]:
        if place > start:
            lengths.append(place - start)
            misses.append(_miss(choice, below, 0, total - below))
        if place < size:
            here = counts[place]
            lengths.append(1)
            misses.append(_miss(choice, below, here, total - below - here))
            below, start = below + here, place + 1
    return lengths, misses


def _miss(choice: Chosen, below: int, here: int, above: int) -> int:
    """How far a candidate with so many rows below, at and above it is from being the quantile or rank wanted."""
    aggregate = choice.aggregate
    if choice.rank is not None:
        beyond = below if extreme(aggregate) == "least" else above
        return max(0, beyond - choice.rank + 1, choice.rank - beyond - here)
    assert aggregate.argument is not None
    a, b, n = aggregate.argument.numerator, aggregate.argument.denominator, below + here + above
    return max(0, b * below - a * n, b * above - (b - a) * n)


def promise(choice: Chosen, level: float) -> str:
    """How far a choice may be from the best at this level, whatever the table: what its misses mean in rows.

    >>> from fractions import Fraction
    >>> from dproof.questions.question import Aggregate
    >>> median = Aggregate("quantile", ("age",), Fraction(1, 2))
    >>> print(promise(Chosen(median, "exponential", Fraction(1, 4), 111), 0.95))
    quantile("age", 0.5): with probability 0.95 at most 50% of the rows plus 15 are below it, and 50% plus 15 above it.
    """
    aggregate, chosen = choice.aggregate, choice.aggregate.definition.chosen
    rounds = int(aggregate.argument or 1) if isinstance(chosen, Frequent) else 1
    most = reach(choice.mechanism, choice.candidates, choice.rate, exact(repr(level)), rounds)
    if isinstance(chosen, Frequent) and chosen.several:
        text = f"each item is in at most {_rows(most)} fewer than the best that was left"
    elif isinstance(chosen, Frequent):
        text = f"no value is in more than {_rows(most)} more"
    elif choice.rank is not None:
        side = "below" if extreme(aggregate) == "least" else "above"
        aim = f"the aim is {choice.rank - 1:,}: extremes are private"
        text = f"it has at most {_rows(choice.rank - 1 + most)} {side} it ({aim})"
    else:
        assert aggregate.argument is not None
        low, more = aggregate.argument, -(-most // aggregate.argument.denominator)
        shares = [f"{float(100 * share):g}%" for share in (low, 1 - low)]
        text = f"at most {shares[0]} of the rows plus {more:,} are below it, and {shares[1]} plus {more:,} above it"
    return f"{expression(aggregate)}: with probability {level:g} {text}."


def _rows(number: int) -> str:
    """
    >>> _rows(1), _rows(1200)
    ('1 row', '1,200 rows')
    """
    return f"{number:,} row{'s' if number != 1 else ''}"
