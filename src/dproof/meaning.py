"""The meaning of a guarantee (ε, δ) to the person in the row, in numbers that are bounds and never estimates.

Every upper bound is rounded up and every lower bound down, as exact fractions. All of them follow from one
inequality, P(Y_d ∈ A) ≤ e^ε P(Y_d' ∈ A) + δ for neighbours d and d', and those for δ = 0 can be attained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import floor, log10
from typing import Any

from dproof.arguments import named
from dproof.errors import ArgumentError
from dproof.exact import exact, exp_above, float_above, float_below, written
from dproof.privacy import Neighbours, Privacy, Promise, Unit

__all__ = [
    "attack_accuracy",
    "event_probability",
    "explain",
    "odds_factor",
    "percent",
    "posterior",
    "utility_change",
    "written",
]

_WEAK_EPSILON = 5
_PRIORS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))
_CHANCES = ("0.001", "0.01", "0.1", "0.5", "0.9")
_GROUPS = (2, 5, 10)
_LARGEST_TOLD = Fraction(10) ** 300
_LARGE_DELTA = Fraction(1, 10**6)

# What the guarantee is about: what an attacker cannot tell apart, what odds are given to, what an observer wonders.
_GUESSED: dict[Neighbours, str] = {
    "change-one": "between two equally likely values of {}",
    "add-remove": "whether a person is in the table",
}
_COMPARED: dict[Neighbours, str] = {
    "change-one": "any two values of your {}",
    "add-remove": "your {} being in the table or not",
}
_WONDERED: dict[Neighbours, str] = {
    "change-one": "which of two things is true of one person, and believes the first",
    "add-remove": "whether one person is in the table, and believes it",
}
# With δ > 0 a belief of 50% has another bound than how often a guess is right.
_BOTH = (
    "Both figures are true: a belief is what somebody has after one outcome, and how often a guess is right is an "
    "average over all outcomes, most of which tell less."
)


@dataclass(frozen=True, slots=True)
class Range:
    """A number lies between these two."""

    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class OddsFactor:
    """The factor by which odds can move at most, except with the probability `failure`."""

    factor: Fraction
    failure: Fraction


def odds_factor(privacy: Promise) -> OddsFactor:
    """The factor by which an observer's odds between two values of a row can move, and how often that may fail.

    With δ = 0 the factor is e^ε, always. With δ > 0 it is 2e^ε, except with probability (2 + e^−ε)δ: the set
    A = {P > 2e^ε P'} has P(A) ≤ e^ε P'(A) + δ ≤ P(A)/2 + δ, so P(A) ≤ 2δ, and the same set with P and P'
    exchanged has P-probability at most δe^−ε. The sheet, section 4.

    >>> moved = odds_factor(Privacy(1))
    >>> round(float(moved.factor), 4), float(moved.failure)
    (2.7183, 0.0)
    """
    return _odds_factor(Privacy.of(privacy))


@lru_cache(maxsize=64)  # a page asks for it again and again
def _odds_factor(privacy: Privacy) -> OddsFactor:
    growth = exp_above(privacy.epsilon)
    if not privacy.delta:
        return OddsFactor(growth, Fraction(0))
    return OddsFactor(2 * growth, min(Fraction(1), (2 + exp_above(-privacy.epsilon)) * privacy.delta))


def posterior(privacy: Promise, prior: Any) -> Range:
    """The least and greatest belief to end with, having begun with `prior` that a row has one of two values.

    p/(p + (1 − p)f) ≤ p' ≤ pf/(pf + 1 − p), where f and its exceptional probability come from `odds_factor`. Where that
    probability is 1, nothing is known of the belief.

    >>> belief = posterior(Privacy(1), "0.1")
    >>> round(float(belief.low), 4), round(float(belief.high), 4)
    (0.0393, 0.232)
    """
    return _moved(_probability(prior, "prior"), odds_factor(privacy))


def _moved(p: Fraction, moved: OddsFactor) -> Range:
    """The range of a belief p when its odds are moved."""
    if moved.failure == 1:
        return Range(Fraction(0), Fraction(1))
    return Range(p / (p + (1 - p) * moved.factor), p * moved.factor / (p * moved.factor + 1 - p))


def event_probability(privacy: Promise, probability: Any) -> Range:
    """The range in which an event's probability stays when one row changes: being dismissed, or paying more.

    max{(p − δ)/e^ε, 1 − e^ε(1 − p) − δ} ≤ p' ≤ min{e^ε p + δ, 1 − (1 − p − δ)/e^ε}, within [0, 1].
    It holds whatever anyone does with the output. The sheet, section 6.

    >>> chance = event_probability(Privacy("0.5"), "0.05")
    >>> round(float(chance.low), 4), round(float(chance.high), 4)
    (0.0303, 0.0824)
    """
    privacy = Privacy.of(privacy)
    p = _probability(probability, "probability")
    return Range(1 - _most_probable(privacy, 1 - p), _most_probable(privacy, p))


def _most_probable(privacy: Privacy, p: Fraction) -> Fraction:
    growth = exp_above(privacy.epsilon)
    return min(growth * p + privacy.delta, 1 - max(Fraction(0), 1 - p - privacy.delta) / growth)


def utility_change(privacy: Promise, stake: Any) -> Fraction:
    """The most an expected gain can move when one row changes, for outcomes worth between 0 and `stake`.

    |E − E'| ≤ B (e^ε − 1 + 2δ)/(e^ε + 1), which is B tanh(ε/2) for δ = 0 and is attained by randomised
    response on two values. The often quoted B(e^ε − 1) says nothing once ε ≥ ln 2. The sheet, exercise 6.1.

    >>> [round(float(utility_change(Privacy(1, delta), 10_000)), 2) for delta in (0, "0.05")]
    [4621.17, 4890.11]
    """
    privacy = Privacy.of(privacy)
    size, growth = exact(stake, "stake"), exp_above(privacy.epsilon)
    if size < 0:
        raise ArgumentError("stake is the distance between the worst and the best outcome: it cannot be negative")
    return size * (growth - 1 + 2 * privacy.delta) / (growth + 1)


def attack_accuracy(privacy: Promise) -> Fraction:
    """The chance of the best observer to be right who must tell two equally likely values of a row apart.

    (e^ε + δ)/(1 + e^ε); one half is guessing. Kairouz, Oh and Viswanath 2015.

    >>> round(float(attack_accuracy(Privacy(1))), 4), float(attack_accuracy(Privacy(0)))
    (0.7311, 0.5)
    """
    privacy = Privacy.of(privacy)
    growth = exp_above(privacy.epsilon)
    return (growth + privacy.delta) / (1 + growth)


class Explanation(dict[str, Any]):
    """The figures of `explain`; printed, or shown in a notebook, they are the words and tables of `dproof explain`."""

    def __str__(self) -> str:
        lines = [f"ε = {figure(self['epsilon'])}, δ = {figure(self['delta'])}, {self['neighbours']}"]
        for section in sections(self):
            lines += ["", f"{section.heading}: {section.text}"]
            table = [section.head, *section.rows] if section.rows else []
            widths = [max(map(len, column)) for column in zip(*table, strict=True)]
            lines += ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from dproof.html import paragraph, table

        parts = []
        for section in sections(self):
            parts += [paragraph(f"{section.heading}: {section.text}")]
            parts += [table(section.head, section.rows)] if section.rows else []
        return "".join(parts)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an explanation: its heading, what it says, and a table of texts where it has one."""

    heading: str
    text: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def sections(explained: Mapping[str, Any]) -> Iterator[Section]:
    """What `explain` says, in words for one person."""
    said, money = explained["in_words"], explained["utility"]
    yield Section("Beliefs", said["odds"])
    moves = tuple(
        (_share(belief["prior"]), _span(belief), _span(chance))
        for belief, chance in zip(explained["posterior"], explained["event"], strict=True)
    )
    yield Section("Chances", said["chance"], ("from", "a belief moves to", "a chance moves to"), moves)
    yield Section(
        "Money",
        f"With {_money(money['stake'])} at stake, what you can expect changes by at most {_money(money['change'])}.",
    )
    yield Section("Attack", f"{said['guess']} {said['both']}".rstrip())
    groups = tuple((str(g["size"]), figure(g["epsilon"]), figure(g["delta"])) for g in explained["group"])
    yield Section("Groups", "A family of g people together has a weaker guarantee.", ("g", "ε", "δ"), groups)
    changed = explained["add_remove_read_as_change_one"]
    yield Section(
        "Neighbours",
        f"Stated for add-remove, this guarantee means ({figure(changed['epsilon'])}, {figure(changed['delta'])}) for "
        "change-one, which is about two values of your row. Stated for change-one, where the number of rows is public, "
        "it says nothing for add-remove.",
    )
    for caution in explained["advice"]:
        yield Section("Take care", caution)


def _share(value: float) -> str:
    return f"{100 * value:.4g}%" if value >= 1e-6 else "0%"


def _span(between: Mapping[str, float]) -> str:
    return f"{_share(between['low'])} … {_share(between['high'])}"


def _money(value: float | None) -> str:
    return figure(None) if value is None else f"{value:,.2f}"


@named
def explain(privacy: Promise, *, stake: Any = 10_000, rows_per_person: int = 1) -> Explanation:
    """The meaning of a guarantee for one person, in figures: those that `dproof explain --json` prints.

    `privacy` is a Privacy or a number ε. Upper bounds are rounded up, lower bounds down; a number too large for a float
    is None. `stake` is the difference between a person's best and worst outcome. The words speak of one row, or of the
    `rows_per_person` of a person. Printed it is the page of the command.

    >>> said = explain(Privacy(1))
    >>> round(said["odds_factor"], 4), round(said["attack_accuracy"], 4), said["advice"]
    (2.7183, 0.7311, [])
    """
    privacy = Privacy.of(privacy)
    moved, two = odds_factor(privacy), privacy.for_group(2)
    return Explanation(
        **privacy.to_json_above(),
        neighbours=privacy.neighbours,
        odds_factor=_above(moved.factor),
        odds_factor_fails_with_probability=_above(moved.failure),
        posterior=[{"prior": float(p), **_between(posterior(privacy, p))} for p in _CHANCES],
        event=[{"probability": float(p), **_between(event_probability(privacy, p))} for p in _CHANCES],
        utility={"stake": _above(exact(stake, "stake")), "change": _above(utility_change(privacy, stake))},
        attack_accuracy=_above(attack_accuracy(privacy)),
        group=[
            {"size": size, "epsilon": _above(group.epsilon), "delta": _above(group.delta)}
            for size, group in ((size, privacy.for_group(size)) for size in _GROUPS)
        ],
        add_remove_read_as_change_one={"epsilon": _above(two.epsilon), "delta": _above(two.delta)},
        in_words=in_words(privacy, rows_per_person),
        advice=list(advice(privacy)),
    )


def in_words(privacy: Privacy, rows: int = 1) -> dict[str, str]:
    """The sentences that say what a guarantee means to one person with up to `rows` rows, wherever it is told: about
    odds, the range of a belief, chances, a guess, and why the last two figures differ where they do.

    >>> in_words(Privacy(1, neighbours="add-remove"))["guess"]
    'An attacker guessing whether a person is in the table is right at most 73.1% of the time; a coin is right 50%.'
    """
    moved, relation = odds_factor(privacy), privacy.neighbours
    compared = _COMPARED[relation].format("row" if rows == 1 else "rows")
    guessed = _GUESSED[relation].format("a row" if rows == 1 else f"the {rows:,} rows of a person")
    often = f"right at most {percent(float(attack_accuracy(privacy)))} of the time"
    if moved.failure == 1:
        odds = f"With so large a δ nothing is promised about the odds they give to {compared}."
        after, chance = "the belief may be anything: with so large a δ nothing is promised about it.", "."
    else:
        but = f", except with probability {written(three_digits(moved.failure))} at most" if moved.failure else ""
        factor = figure(_above(moved.factor))
        odds = f"The odds they give to {compared} move by a factor of at most {factor}{but}."
        after, chance = f"the belief lies within this range{but}.", f"; nor does a belief{but}."
    return {
        "odds": odds,
        "belief": f"Suppose an observer wonders {_WONDERED[relation]} with some probability before seeing the table. "
        f"Afterwards {after}",
        "chance": f"The probability of anything that may happen to you moves no further than this{chance}",
        "guess": f"An attacker guessing {guessed} is {often}; a coin is right 50%.",
        "both": _BOTH if privacy.delta else "",
    }


def beliefs(privacy: Privacy) -> list[tuple[str, str, float, float]]:
    """Beliefs to begin with, and the range of each afterwards: in words, and its two ends.

    >>> [(before, after) for before, after, _, _ in beliefs(Privacy(1))][1:3]
    [('10%', '3.9% to 23.2%'), ('50%', '26.9% to 73.1%')]
    """
    moved, found = odds_factor(privacy), []
    for prior in _PRIORS:
        belief = _moved(prior, moved)
        low, high = float(belief.low), float(belief.high)
        found.append((percent(float(prior)), f"{percent(low)} to {percent(high)}", low, high))
    return found


def in_random_order(shuffled: Mapping[str, Any]) -> str:
    """What rows in a random order keep for whoever sees nothing else, from the record in a certificate."""
    epsilon, delta = (written(Fraction(shuffled[name])) for name in ("epsilon", "delta"))
    return (
        f"Their order is random, so each hides among {shuffled['rows']:,}: whoever sees the published rows, and "
        f"neither who sent which nor how the others were changed, learns no more than ε = {epsilon}, δ = {delta} allow."
    )


def had_been(unit: Unit) -> str:
    """The other table that this one is compared with: one in which one person's row is another one, or is not there.

    >>> had_been(Unit()), had_been(Unit("add-remove", rows_per_person=3))
    ("one person's row had been different", "one person's rows had been absent")
    """
    rows = "row" if unit.row_is_person else "rows"
    other = (
        "absent" if unit.neighbours == "add-remove" else "different" if unit.rows_are_public else "different, or absent"
    )
    return f"one person's {rows} had been {other}"


def figure(value: float | None) -> str:
    """A bound as `explain` has it."""
    return "more than 10^300" if value is None else f"{value:.6g}"


def percent(share: float) -> str:
    """A share of one in percent, never rounded to nothing or to all.

    >>> [percent(share) for share in (0.5, 0.9996646, 1 - 1e-9, 0.00003)]
    ['50%', '99.97%', 'more than 99.9999%', '0.003%']
    """
    if share in (0, 1):
        return f"{share:.0%}"
    edge = min(share, 1 - share)
    if edge < 1e-6:
        return "less than 0.0001%" if share < 0.5 else "more than 99.9999%"
    digits = max(1, -floor(log10(edge)) - 2)
    return f"{100 * share:.{digits}f}".rstrip("0").rstrip(".") + "%"


def three_digits(bound: Fraction) -> Fraction:
    """A bound above 0, rounded up to three digits.

    >>> three_digits(Fraction("0.000023671"))
    Fraction(237, 10000000)
    """
    unit = Fraction(10) ** (floor(log10(bound)) - 2)
    return -(-bound // unit) * unit


def _above(bound: Fraction) -> float | None:
    return float_above(bound) if bound < _LARGEST_TOLD else None


def _between(between: Range) -> dict[str, float]:
    return {"low": max(0.0, float_below(between.low)), "high": float_above(between.high)}  # never −0.0


def advice(privacy: Privacy) -> tuple[str, ...]:
    """The cautions about these figures for a careful curator, in words; none when they are sound.

    >>> advice(Privacy(1)), len(advice(Privacy(8, "0.01")))
    ((), 2)
    """
    sentences = []
    if privacy.epsilon > _WEAK_EPSILON:
        accuracy = float(attack_accuracy(privacy))
        often = f"up to {accuracy:.2%} of the time" if accuracy < 0.9999 else "practically always"
        guessed = _GUESSED[privacy.neighbours].format("a row")
        sentences.append(
            f"ε is above {_WEAK_EPSILON}: an attacker guessing {guessed} is right {often}. Values up to 1 are usual."
        )
    if privacy.delta == 1:
        sentences.append("δ = 1 promises nothing: publishing the table as it is would satisfy it.")
    elif privacy.delta > _LARGE_DELTA:
        sentences.append(
            f"δ is {written(privacy.delta)}: publishing every row with that probability would satisfy it, "
            f"about {written(1000 * privacy.delta)} in 1,000. Keep δ well below one over their number."
        )
    return tuple(sentences)


def _probability(value: Any, name: str) -> Fraction:
    p = exact(value, name)
    if not 0 <= p <= 1:
        raise ArgumentError(f"{name} must lie between 0 and 1")
    return p
