"""The definitions, word for word and without a shortcut: what the product's formulas are compared with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import prod
from typing import Any

Law = Mapping[Hashable, Fraction]
Chances = dict[int, Fraction]


def subsets(points: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Every subset, the empty one and the whole included."""
    points = list(points)
    for size in range(len(points) + 1):
        yield from combinations(points, size)


def excess(p: Sequence[Any], q: Sequence[Any], chosen: Iterable[int], odds: Fraction) -> Fraction:
    """P(A) − e·Q(A) for one set A of positions."""
    chosen = list(chosen)
    return sum((Fraction(p[y]) for y in chosen), Fraction(0)) - odds * sum(
        (Fraction(q[y]) for y in chosen), Fraction(0)
    )


def delta(p: Sequence[Any], q: Sequence[Any], odds: Fraction, sets: Iterable[Iterable[int]] | None = None) -> Fraction:
    """The least δ with P(A) ≤ e·Q(A) + δ on every one of the sets: on all subsets, if none are given."""
    family = subsets(range(len(p))) if sets is None else sets
    return max((excess(p, q, chosen, odds) for chosen in family), default=Fraction(0))


def probabilities(mechanism: Any) -> list[list[Fraction]]:
    """The solution matrix as exact fractions."""
    weights, total = mechanism.weights()
    return [[Fraction(int(w), total) for w in row] for row in weights]


def tight_delta(
    rows: Sequence[Sequence[Any]], odds: Fraction, pairs: Iterable[tuple[int, int]] | None = None
) -> Fraction:
    """The least δ over ordered pairs of rows, from the definition: every pair, every set."""
    k = len(rows)
    chosen = [(i, j) for i in range(k) for j in range(k) if i != j] if pairs is None else list(pairs)
    return max((delta(rows[i], rows[j], odds) for i, j in chosen), default=Fraction(0))


def divergence(p: Sequence[Any], q: Sequence[Any], odds: Fraction) -> Fraction:
    """Σ max(0, P − e·Q): the value of the one set {P > e·Q}; for laws with too many outputs for all subsets."""
    return sum((max(Fraction(0), Fraction(x) - odds * Fraction(y)) for x, y in zip(p, q, strict=True)), Fraction(0))


def hamming(d: Sequence[Any], e: Sequence[Any]) -> int:
    return sum(x != y for x, y in zip(d, e, strict=True))


def tables(values: Iterable[Any], rows: int) -> list[tuple[Any, ...]]:
    """D^n, in the order of its codes: the last row runs fastest."""
    return list(product(values, repeat=rows))


def neighbours(all_tables: Sequence[Sequence[Any]]) -> list[tuple[int, int]]:
    """The ordered pairs of positions of tables at Hamming distance 1."""
    k = len(all_tables)
    return [(i, j) for i in range(k) for j in range(k) if hamming(all_tables[i], all_tables[j]) == 1]


def product_law(parents: Sequence[Sequence[Sequence[Fraction]]]) -> list[list[Fraction]]:
    """The law on tables whose row i goes through the i-th parent, independently."""
    inputs = product(*(range(len(parent)) for parent in parents))
    outputs = list(product(*(range(len(parent[0])) for parent in parents)))
    return [
        [prod((parent[x][y] for parent, x, y in zip(parents, d, e, strict=True)), start=Fraction(1)) for e in outputs]
        for d in inputs
    ]


def image(
    law: Sequence[Fraction], outputs: Sequence[Any], query: Callable[[Any], Hashable]
) -> dict[Hashable, Fraction]:
    """The law of Q(Y): the mass of each answer."""
    answers: dict[Hashable, Fraction] = {}
    for output, mass in zip(outputs, law, strict=True):
        answers[query(output)] = answers.get(query(output), Fraction(0)) + mass
    return answers


def blocks(first: list[int], later: list[int], count: int) -> list[Fraction]:
    """The chances of the digits 0, 1, … of tables whose last cell adds a block and draws again."""
    found, reached, table = [], Fraction(1), first
    while len(found) < count:
        found += [reached * Fraction(w, sum(table)) for w in table[:-1]]
        reached, table = reached * Fraction(table[-1], sum(table)), later
    return found[:count]


def two_sided_chances(noise: dict[str, Any], reach: int) -> Chances:
    (positive, negative), lower = ([[int(w) for w in t] for t in noise[name]] for name in ("top", "lower"))
    either = [a + b for a, b in zip(positive, negative, strict=True)]
    count = reach // 128 ** len(lower) + 2
    found: Chances = {}
    for sign, table in enumerate((positive, negative)):
        share = Fraction(sum(table), sum(either))
        law = [share * p for p in blocks(table, either, count)]
        for digit in reversed(lower):
            law = [p * Fraction(w, sum(digit)) for p in law for w in digit]
        found |= {-1 - g if sign else g: p for g, p in enumerate(law)}
    if noise["reach"] is None:
        return found
    kept = {k: p for k, p in found.items() if abs(k) <= noise["reach"]}
    whole = sum(kept.values())
    return {k: p / whole for k, p in kept.items()}


def gaussian_chances(noise: dict[str, Any], reach: int) -> Chances:
    half, unit = [int(w) for w in noise["weights"]], noise["unit"]
    whole = unit * (2 * sum(half) - half[0])
    cells = range(1 - len(half), len(half))
    return {unit * h + u - unit // 2: Fraction(half[abs(h)], whole) for h in cells for u in range(unit)}


def stairs_chances(noise: dict[str, Any], reach: int) -> Chances:
    width, inner = int(noise["width"]), int(noise["inner"])
    law = blocks([int(w) for w in noise["first"]], [int(w) for w in noise["tail"]], reach // width + 2)
    found = dict.fromkeys(range(1 - inner, inner), law[0] / (2 * inner - 1))
    for stair, p in enumerate(law[1:]):
        for k in range(inner + stair * width, inner + (stair + 1) * width):
            found[k] = found[-k] = p / (2 * width)
    return found


def noise_chances(noise: dict[str, Any], reach: int) -> Chances:
    """P(k) of recorded noise, from its whole numbers alone, for |k| up to `reach` at least or as far as it goes."""
    known = {"two-sided": two_sided_chances, "gaussian": gaussian_chances, "stairs": stairs_chances}
    return known[noise["kind"]](noise, reach)


def covariance(found: Any, columns: tuple[int, ...], questions: Any) -> Any:
    """The covariances of Σ q·v over the cells of a table of estimated counts, for several weights q of them.

    Cov(q, q') = Σ s_A ⟨P_A q_A, P_A q'_A⟩, with q_A the sum of q over the other columns, divided by their cells.
    """
    weights = questions.reshape(len(questions), *(found.sizes[i] for i in columns))
    total = 0.0
    for part in subsets(columns):
        mean = weights.mean(axis=tuple(n + 1 for n, i in enumerate(columns) if i not in part))
        for axis in range(1, mean.ndim):
            mean = mean - mean.mean(axis=axis, keepdims=True)
        flat = mean.reshape(len(questions), -1)
        total = total + found.variances[part] * (flat @ flat.T)
    return total
