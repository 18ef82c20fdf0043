"""Check a dproof certificate with nothing but the Python standard library.

    python verify_certificate.py certificate.json

First every name, type and number of the certificate must lie in the range that is written down below. Then, for every
law, this program computes the largest P(A) − e^ε Q(A) over all neighbouring inputs and all sets A, in whole numbers,
with a fraction that is proven to lie below e^ε; it must not exceed δ, nor the tight values that are claimed. The
promises of the laws must add up to no more than the promise for the whole row, and the seal must fit. Where a row
answers for one law, drawn with recorded weights whatever its data, none may promise more than the row. What is said of
a person must be no less than the promise of so many rows, and with δ = 0 than what the laws attain together.
Of a release, the plan and the stored table must lie beside the certificate and have the recorded hashes, with nothing
else in the folder. The plan must make the same promise for the same columns, and each law must have as many inputs as
the plan declares values.
Exit code 0: all of it holds. 1: something does not.

Not checked here, but by `dproof verify`: what the stored files hold; the region of a curve; that each law has its
column's share of the promise, or that rows are asked what the plan says; and what else the certificate says of its
release (its columns, its rows, the tight values of a row and of a person with δ above 0, errors). Checked by neither:
names of mechanisms and lower bounds, which are taken as said, and the files that are named as not checked, such as
report.html.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import accumulate, combinations, compress, groupby, pairwise
from math import comb, isqrt, log, prod, sqrt
from operator import gt, itemgetter
from pathlib import Path
from typing import Any

Law = list[int]
Pair = tuple[int, int, Law, Law, int]  # two inputs, their laws and the total
Spaces = dict[str, Callable[[dict[str, Any]], int]]  # by name, how many values a column of a plan has
Laws = dict[str, Callable[[dict[str, Any]], dict[str, Any]]]  # by kind, its `size`, and `worst`, a function of e^ε
Work = Callable[[int], None]  # is told how many comparisons come next, and refuses too many
Reader = Callable[[Any, str], Any]  # what was written, and where: gives the value, or raises Refused
Shape = dict[str, Reader]  # the names of a record


class Refused(Exception):
    """The certificate does not hold; the message says why."""


def require(condition: bool, why: str) -> None:
    if not condition:
        raise Refused(why)


# How a number, a text, a list and a record are read ------------------------------------------------------------------
# There is one way to write each value, so that nobody reads a certificate in another way than this program does.

NATURAL = re.compile("0|[1-9][0-9]{0,1999}")  # not \d, which other alphabets have too
RATIO = re.compile("-?(0|[1-9][0-9]*)(/[1-9][0-9]*)?")


def reader(read: Callable[..., Any]) -> Callable[..., Reader]:
    """Make readers: the function is given what was written, where, and then the range that is given here."""
    return lambda *ranges: lambda given, where: read(given, where, *ranges)


def truth(given: Any, where: str) -> bool:
    require(type(given) is bool, f"{where} must be true or false")
    return bool(given)


def text(given: Any, where: str) -> str:
    require(type(given) is str and len(given) <= 4096, f"{where} must be a text of at most 4096 letters")
    return str(given)


@reader
def one_of(given: Any, where: str, *words: str) -> str:
    require(type(given) is str and given in words, f"{where} must be {' or '.join(map(repr, words))}")
    return str(given)


@reader
def whole(given: Any, where: str, low: int, high: int) -> int:
    """A whole number of JSON; true is none, and neither is 1.0."""
    require(type(given) is int and low <= given <= high, f"{where} must be a whole number from {low} to {high}")
    return int(given)


@reader
def digits(given: Any, where: str, low: int, high: int) -> int:
    """A whole number in digits, as a text."""
    value = int(given) if type(given) is str and NATURAL.fullmatch(given) else low - 1
    if not low <= value <= high:
        most = high if high < 1 << 64 else f"a number of {len(str(high))} digits"
        raise Refused(f"{where} must be a whole number in digits, from {low} to {most}")
    return value


@reader
def fraction(given: Any, where: str, low: Fraction | None, high: Fraction | None, longest: int = 2000) -> Fraction:
    """A fraction in lowest terms, as a text, such as 2 or 1/10."""
    good = type(given) is str and RATIO.fullmatch(given) and max(map(len, re.split("[-/]", given))) <= longest
    require(bool(good), f"{where} must be a number such as 1/10")
    value = Fraction(given)
    require(str(value) == given, f"{where} must be in lowest terms")
    inside = (low is None or low <= value) and (high is None or value <= high)
    require(inside, f"{where} must lie between {low} and {high}")
    return value


@reader
def decimal(given: Any, where: str, high: int, *words: str) -> Any:
    """A decimal number of JSON of at least 0, or one of a few words."""
    if given in words:
        return given
    good = type(given) is float and 0 <= given <= high and str(given)[0] != "-"
    require(good, f"{where} must be a decimal number from 0 to {high}")
    return Fraction(repr(given))


@reader
def missing_or(given: Any, where: str, value: Reader) -> Any:
    return None if given is None else value(given, where)


@reader
def many(given: Any, where: str, entry: Reader, least: int, most: int) -> list[Any]:
    """A list, each of its entries in the same range."""
    require(type(given) is list and least <= len(given) <= most, f"{where} must be a list of {least} to {most} entries")
    return [entry(value, where) for value in given]


@reader
def named(given: Any, where: str, entry: Reader) -> dict[str, Any]:
    """A record with names of its own."""
    require(type(given) is dict and len(given) <= 1 << 16, f"{where} must be a record")
    return {text(name, where): entry(value, where) for name, value in given.items()}


@reader
def record(given: Any, where: str, shape: Shape) -> dict[str, Any]:
    """A record with exactly these names; one that is written with a question mark may be absent."""
    known = {name.removesuffix("?"): entry for name, entry in shape.items()}
    needed = [name for name in known if name in shape]
    good = type(given) is dict and set(needed) <= given.keys() <= known.keys()
    require(good, f"{where} must be a record of {', '.join(needed)}")
    return {name: known[name](value, f"{where}.{name}") for name, value in given.items()}


@reader
def by_kind(given: Any, where: str, shapes: dict[str, Shape], others: Laws | None = None) -> Any:
    """A record whose `kind` says which of several shapes it has, or which of the others reads it."""
    kind = str(given.get("kind")) if type(given) is dict else ""
    if others and kind in others:
        return others[kind](given)
    require(kind in shapes, f"{where} is of a kind that is not known")
    return record({"kind": text, **shapes[kind]})(given, where)


# What a certificate may hold: every name, and the range of every number ----------------------------------------------

FORMAT, VERSION = "dproof certificate", 1
LARGEST_FILE, LONGEST_PLAN = 1 << 27, 1 << 25  # bytes of a certificate, and of a plan
# Texts and comments of TOML, and a key of 100 parts, which takes long to read.
QUOTED = re.compile(r'''"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*''', re.DOTALL)
LONG_KEY = re.compile(r"(?<![\w-])[\w-]++([ \t]*\.[ \t]*[\w-]++){99}")
MOST_VALUES = 5 << 20  # of JSON in a certificate: they fit into memory
MOST_ENTRIES = 1 << 22  # of all matrices of a certificate together
MOST_COMPARISONS = 1 << 26  # of two weights, likewise, or as much work: some 10 seconds
PER_PAIR, PER_BOUND = 64, 1 << 15  # comparisons that take as long as what is done once for each pair, or each bound
MOST_BITS = 1 << 15  # of the weight of a set
MOST_BLOCKS = 1 << 10  # of a table of noise, within its reach
DRAWN = 1 << 16  # words, each of which asks a row for one law

PROMISE: Shape = {"epsilon": fraction(0, 1000), "delta": fraction(0, 1)}
WEIGHT, TOTAL = digits(0, 10**2000 - 1), digits(1, 10**2000 - 1)
TABLED = digits(1, 1 << 128)  # a weight of noise: none is 0
SIZE = 1 << 62
LEVELS: Shape = {"epsilon": decimal(1000, "inf"), "delta": decimal(1)}

NOISES: dict[str, Shape] = {
    "two-sided": {
        "lower": many(many(TABLED, 128, 128), 0, 9),
        "top": many(many(TABLED, 2, 1024), 2, 2),
        "reach": missing_or(whole(1, SIZE)),
    },
    "gaussian": {
        "square": fraction(Fraction(1, 1 << 24), 1 << 30),
        "weights": many(TABLED, 1, 1 << 17),
        "unit": whole(1, 1 << 50),
    },
    "stairs": dict.fromkeys(("width", "inner"), digits(1, SIZE))
    | dict.fromkeys(("first", "tail"), many(TABLED, 2, 4096)),
    "convolved": {"square": fraction(8, 1 << 18), "step": whole(1, 128), "draws": whole(1, 9)},
    "k-norm": {
        "norm": one_of("linf", "l2"),
        "terms": whole(1, 512),
        "cell": whole(1, 1 << 40),
        "fall": fraction(Fraction(1, 1 << 32), 1 - Fraction(1, 1 << 32)),
    },
}
NOISE = by_kind(NOISES)

LAWS: dict[str, Shape] = {
    "keep-or-other": {"size": whole(1, SIZE), "keep": WEIGHT, "other": WEIGHT},
    **{kind: {"bits": whole(1, 512), "stay": WEIGHT, "flip": WEIGHT} for kind in ("bits", "one-item")},
    "matrix": {"total": TOTAL, "rows": many(many(WEIGHT, 1, MOST_ENTRIES), 1, MOST_ENTRIES)},
    "unary": {"size": whole(1, 62), "own": WEIGHT, "other": WEIGHT, "whole": TOTAL},
    "subset-selection": {"size": whole(1, 62), "width": whole(1, 62), "high": WEIGHT, "low": WEIGHT},
    "block-design": {name: whole(1, 1 << 24) for name in ("size", "prime", "classes", "taken")}
    | {"high": WEIGHT, "low": WEIGHT},
    "plane-design": {"size": whole(1, 1 << 24), "order": whole(2, 4095), "high": WEIGHT, "low": WEIGHT},
    "lattice": {"size": digits(1, SIZE), "clamped": truth, "noise": NOISE},
    "bounded": {"size": digits(2, 1 << 20), "noise": by_kind({"two-sided": NOISES["two-sided"]})},
    "vectors": {"norm": one_of("l1", "l2", "linf"), "sides": many(whole(0, 1 << 40), 1, 512), "noise": NOISE},
    "coefficients": {
        "norm": one_of("l1", "l2", "linf"),
        "terms": whole(1, 512),
        "radius": missing_or(whole(1, 1 << 20)),
        "box": missing_or(many(whole(0, 1 << 20), 1, 512)),
        "noise": NOISE,
    },
}
# A value or a missing one: how often either is shown, and the law of what is shown.
LAWS["optional"] = dict.fromkeys(("present", "missing", "whole"), TOTAL) | {
    "law": by_kind({kind: LAWS[kind] for kind in ("lattice", "coefficients")})
}
LAWS["rounded"] = {"size": digits(2, 1 << 48), "steps": whole(1, 1 << 12), "law": by_kind({"matrix": LAWS["matrix"]})}
LAWS["matrix"] = {**LAWS["matrix"], "neighbours?": many(many(whole(0, 1 << 20), 2, 2), 0, MOST_ENTRIES)}
# A table of so many rows, each by the law of one.
ONE_ROW = dict(LAWS)
LAWS["product"] = {"rows": whole(1, 1 << 40), "law": by_kind(ONE_ROW)}

LONG = fraction(0, None, 4300)
ROW = record({**LEVELS, "exact": truth})
POINT = fraction(None, None, 400)
RELEASE = record(
    {
        "rows": whole(0, SIZE),
        "columns": many(text, 1, 1 << 16),
        "public": many(text, 0, 1 << 16),
        "order": text,
        "lattices": named(record({"low": POINT, "high": POINT, "step": fraction(Fraction(1, 10**400), None, 400)})),
        "bins?": named(many(whole(0, 1 << 48), 2, 1 << 16)),
        "tight": ROW,
        "person": record({"rows": whole(1, SIZE), "epsilon": decimal(1000), "delta": decimal(1), "tight": ROW}),
        "files": named(text),
        "shuffled?": record({"rows": whole(1, 1 << 24), **PROMISE}),
        "adopted?": record({"coins": text, "repeated": whole(0, SIZE), "left_out": whole(0, SIZE)}),
    }
)
# The names that certificates of both models have.
HEAD: Shape = {"format": text, "version": whole(1, 1 << 30), "private": truth, "seal": text, **PROMISE}
HEAD["neighbours"] = one_of("change-one", "add-remove")


def certificate_with(others: Laws) -> Reader:
    """A certificate, whose laws may also be of these further kinds."""
    table = {**LAWS["product"], "law": by_kind(ONE_ROW, others)}
    part = record(
        {
            **dict.fromkeys(("name", "mechanism", "source"), text),
            **PROMISE,
            "law": by_kind({**LAWS, "product": table}, others),
            "tight": record(LEVELS),
            "error": missing_or(LONG),
            "lower_bound": missing_or(LONG),
            "distances?": many(many(fraction(0, None, 400), 1, 4096), 1, 4096),
        }
    )
    drawn = record({"columns": many(text, 1, 1 << 16), "weight": whole(1, DRAWN)})
    rest = {"laws": many(part, 1, 4096), "release": missing_or(RELEASE), "sample?": many(drawn, 1, DRAWN)}
    return record({**HEAD, **rest})


# How far two laws lie apart ------------------------------------------------------------------------------------------


def exp_below(x: Fraction, bits: int = 256) -> Fraction:
    """A fraction at most e^x, for x ≥ 0: a truncated series of positive terms, every step rounded down."""
    x = min(x, Fraction(1 << 13))  # e^8192 is more than the ratio of weights of 2000 digits
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length()) + 8
    small = (x.numerator << bits) // (x.denominator << halvings)
    n, total, term = 0, 1 << bits, 1 << bits
    while term:
        n += 1
        term = (term * small >> bits) // n
        total += term
    for _ in range(halvings):
        total = total * total >> bits
    return Fraction(total, 1 << bits) if x else Fraction(1)


def excess(p: Law, q: Law, odds: Fraction, bounds: Law) -> int:
    """Σ max(0, P − odds·Q) in parts of the odds: the least δ for which P(A) ≤ odds·Q(A) + δ on every set A.

    `bounds` are ⌊odds·Q⌋.
    """
    worst = list(map(gt, p, bounds))
    return sum(compress(p, worst)) * odds.denominator - sum(compress(q, worst)) * odds.numerator


def alike(law: dict[str, Any], _: Fraction) -> Iterator[Pair]:
    """All pairs of inputs are alike: their laws differ on two groups of outputs only, and there change places."""
    if law["kind"] == "unary":  # what their two bits show
        one, zero, whole = law["own"], law["other"], law["whole"]
        require(max(one, zero) <= whole, "a law has a negative weight")
        own, other, total = one * (whole - zero), zero * (whole - one), whole**2
    else:
        every, holding, apart, high, low = two_weights(law)
        own, other, total = apart * high, apart * low, holding * high + (every - holding) * low
    require(total > 0, "a law has no weight")
    if law["size"] > 1:
        yield 0, 1, [own, other], [other, own], total


def two_weights(law: dict[str, Any]) -> tuple[int, int, int, int, int]:
    """Of a law whose outputs weigh more where they hold the input: how many outputs there are, hold one input, and hold
    one of two inputs and not the other; then what an output weighs that holds the input, and one that does not."""
    match law:
        case {"kind": "keep-or-other", "size": k, "keep": own, "other": other}:  # an output holds itself
            return k, 1, 1, own, other
        case {"kind": "subset-selection", "size": k, "width": w}:
            require(w <= k, "a law has sets with more values than there are")
            counts = comb(k, w), comb(k - 1, w - 1), comb(k - 2, w - 1) if k > 1 else 0
        case {"kind": "plane-design", "order": q}:
            require(is_prime(q) and law["size"] <= q * q + q + 1, "there is no such projective plane")
            counts = q * q + q + 1, q + 1, q  # through two points goes one of the q + 1 lines through each
        case {"prime": p, "classes": m, "taken": s}:
            require(is_prime(p) and (p - 1) % m == 0 and s < m and law["size"] <= p, "there is no such block design")
            w = s * (p - 1) // m  # values in a block; of m·p blocks two values share w(w − 1)m/(p − 1)
            counts = m * p, m * w, s * (p - w)
    return *counts, law["high"], law["low"]


def is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, isqrt(n) + 1))


def rounded(law: dict[str, Any], odds: Fraction) -> dict[str, Any]:
    """Between two coarse points the law of a number lies between theirs, so the numbers next to those are the worst."""
    rows, n, steps = law["law"]["rows"], law["size"] - 1, law["steps"]
    # A missing value has a row after those of the numbers.
    require(steps <= n and len(rows) - steps - 1 in (0, 1), "a rounded law must have a row for each coarse point")
    telling(law["law"], odds)  # refuses rows that do not sum to their total
    codes = sorted({end for k in range(steps + 1) for end in (k * n // steps, -(-k * n // steps))})
    parts = [(*divmod(code * steps, n), 1) for code in codes] + [(k, 0, 0) for k in range(steps + 1, len(rows))]
    pairs = [(rows[k], rows[min(k + more, steps)] if more else rows[k], f) for k, f, more in parts]
    mixed = [[(n - f) * a + f * b for a, b in zip(one, other, strict=True)] for one, other, f in pairs]
    return {"kind": "matrix", "total": n * law["law"]["total"], "rows": mixed}


def bits(law: dict[str, Any], _: Fraction) -> Iterator[Pair]:
    """The worst pair differs in every bit; outputs are grouped by how many turned, of all or of one that is drawn."""
    h, stay, flip = law["bits"] if law["kind"] == "bits" else 1, law["stay"], law["flip"]
    require(stay + flip > 0, "a law has no weight")
    require(h * (stay + flip).bit_length() <= MOST_BITS, "the weights of a set are too long to go through")
    masses = [comb(h, r) * stay ** (h - r) * flip**r for r in range(h + 1)]
    yield 0, (1 << law["bits"]) - 1, masses, masses[::-1], (stay + flip) ** h


def matrix(law: dict[str, Any], odds: Fraction) -> Iterator[Pair]:
    """Every pair of rows, or the neighbouring ones."""
    rows, total = telling(law, odds), law["total"]
    for i, j in (law.get("neighbours") or combinations(range(len(rows)), 2)) if rows[0] else ():
        yield i, j, rows[i], rows[j], total


def telling(law: dict[str, Any], odds: Fraction) -> list[Law]:
    """The rows of a matrix without the outputs that no pair holds at more than the odds, which do not count."""
    total, rows, k = law["total"], law["rows"], len(law["rows"])
    require(all(len(row) == len(rows[0]) for row in rows), "the rows of a law have different lengths")
    require(all(sum(row) == total for row in rows), "a law does not sum to its total")
    listed = law.get("neighbours")
    different = not listed or all(i != j and max(i, j) < k for i, j in listed)
    require(different, "neighbours must be two different inputs of the law")
    extremes = zip(map(max, *rows), map(min, *rows), strict=True) if k > 1 else ()
    columns = [n for n, (most, least) in enumerate(extremes) if most > odds * least]
    return [[row[n] for n in columns] for row in rows]


def farthest(law: dict[str, Any], odds: Fraction, enough: Fraction, work: Work) -> tuple[Fraction, int, int]:
    """The largest divergence of all pairs of rows, or one that is more than enough.

    No row lies farther from another than from the least weights that any row has. So those come first that lie
    farthest from these, and where that is no more than was found already, no other row need be looked at.
    """
    rows, total = telling(law, odds), law["total"] * odds.denominator
    k, outputs = len(rows), len(rows[0])
    if not outputs:
        return Fraction(0), 0, 0
    bounds = [[y * odds.numerator // odds.denominator for y in row] for row in rows]
    least, lowest = list(map(min, *rows)), list(map(min, *bounds))
    reach = [excess(row, least, odds, lowest) for row in rows]
    worst, pair = 0, (0, 1)
    for i in sorted(range(k), key=reach.__getitem__, reverse=True):
        if reach[i] <= worst or worst > enough * total:
            break
        work(k * (outputs + PER_PAIR) * (1 + law["total"].bit_length() // 512))
        apart = [excess(rows[i], q, odds, bound) for q, bound in zip(rows, bounds, strict=True)]
        if max(apart) > worst:
            worst, pair = max(apart), (i, apart.index(max(apart)))
    return Fraction(worst, total), min(pair), max(pair)


PAIRWISE: dict[str, Callable[[dict[str, Any], Fraction], Iterator[Pair]]] = {
    **dict.fromkeys(("keep-or-other", "unary", "subset-selection", "block-design", "plane-design"), alike),
    **dict.fromkeys(("bits", "one-item"), bits),
    "matrix": matrix,
}


# Numbers plus noise --------------------------------------------------------------------------------------------------


def lattice(law: dict[str, Any], odds: Fraction, nearer: bool = False) -> Fraction:
    """A number plus noise: two inputs lie within a shift of size − 1, and the middle one and another within half of the
    size; clamping the outputs only post-processes."""
    noise, shift = law["noise"], law["size"] // 2 if nearer else law["size"] - 1
    require(noise["kind"] in SHIFTED, "the noise does not fit its law")
    return SHIFTED[noise["kind"]](noise, shift, odds) if shift else Fraction(0)


def power(x: Fraction, n: int, up: int) -> Fraction:
    """A fraction at most x^n, or with up = 1 at least x^n, by squaring; past 2^4096 some large one."""
    # In 2048 bits, for the result may be multiplied by odds of e^1000.
    base, result, most = (x.numerator << 2048) // x.denominator + up, 1 << 2048, 1 << 6144
    while n:
        if n & 1:
            result = min(most, (result * base >> 2048) + up)
        base = min(most, (base * base >> 2048) + up)
        n >>= 1
    return Fraction(result, 1 << 2048)


def two_sided(noise: dict[str, Any], shift: int, odds: Fraction, terms: int = 1) -> Fraction:
    """Digits and a sign: no two neighbouring values of the noise have a larger ratio than r, so a shift costs r^shift.

    Where that is more than the odds: with a = 1/r, P(k) ≥ P(0)·a^|k|, so P is the mixture of the ideal law
    L(k) = (1−a)/(1+a)·a^|k|, with weight c = P(0)/L(0), and something else: δ ≤ c·δ_L + 1 − c. Where a vector of so
    many terms is shifted by this l1 norm, L is worst with all of the shift on one term, and 1 − c counts for each.
    """
    ratio, reach = step_odds(noise), noise["reach"]
    if reach is None and power(ratio, shift, 1) <= odds:
        return Fraction(0)
    require(ratio > 1, "the weights in a table of noise must decrease")
    lower, top, both = tables(noise)
    sums, a = sum(both), 1 / ratio

    def ideal(k: int, up: int) -> Fraction:
        """P(X ≤ k) for the ideal law on all of Z, rounded down or up."""
        return power(a, -k, up) / (1 + a) if k < 0 else 1 - power(a, k + 1, 1 - up) / (1 + a)

    def beyond(sign: int, g: int) -> Fraction:
        """P(this sign and G > g), where the noise is G or −1 − G."""
        places: list[tuple[list[int], int]] = []
        for table in lower:
            g, digit = divmod(g, 128)
            places.append((table, digit))
        block, digit = divmod(g, len(both) - 1)
        require(block <= MOST_BLOCKS, "the noise reaches too far beyond its table")
        so_far = Fraction(top[sign][-1] * both[-1] ** (block - 1), sums**block) if block else Fraction(1)
        row = both if block else top[sign]
        more, same = so_far * sum(row[digit + 1 :]) / sums, so_far * row[digit] / sums
        for table, digit in reversed(places):
            more, same = more + same * sum(table[digit + 1 :]) / sum(table), same * table[digit] / sum(table)
        return more

    mine = prod((Fraction(table[0], sum(table)) for table in lower), start=Fraction(top[0][0], sums))
    # The worst set is {k ≤ cut}; cells that the shift leaves without a partner belong to it in any case.
    cut = bisect_left(range(shift + 1), True, key=lambda k: power(a, k, 0) <= odds * power(a, shift - k, 0))
    near, gone = [k for k in range(cut - 2, cut + 2) if k >= 0], [Fraction(0)] * 2
    if reach is not None:  # both laws are conditioned on |X| ≤ reach
        first = shift - reach - 1
        near, gone = [min(max(k, first), reach) for k in (*near, first)], [ideal(-reach - 1, up) for up in (0, 1)]
        mine /= 1 - beyond(0, reach) - beyond(1, reach - 1)
    kept, excess = 1 - 2 * gone[1], Fraction(0)
    require(kept > 0, "the reach of the noise is too short")
    for k in near:
        own, other = ideal(k, 1) - gone[0], max(Fraction(0), ideal(k - shift, 0) - gone[1])
        excess = max(excess, (own - odds * other) / kept)
    return min(Fraction(1), excess + min(terms, shift) * max(Fraction(0), 1 - mine * (1 + a) / (1 - a) * kept))


def bounded(law: dict[str, Any], odds: Fraction) -> Fraction:
    """A number plus Laplace noise, given that it lies among 0, …, n = size − 1: Z_i is the chance that input i does.

    P(Y_p = y)/P(Y_q = y) ≤ r^|p − q|·Z_q/Z_p with r the largest ratio of two neighbouring values of the noise, which is
    a mixture of the ideal law with weight c and something else: see `two_sided`. The ideal Z is (1 + a − a^(q+1) −
    a^(n−q+1))/(1 + a), least at the ends, and r^|p − q|·Z_q/Z_p is r^n at most. Noise with odds e₀ at δ = 0 has
    δ ≤ (e₀ − e)/(e₀ + 1).
    """
    noise, n = law["noise"], int(law["size"]) - 1
    ratio = step_odds(noise)
    require(ratio > 1 and noise["reach"] is None, "the noise does not fit its law")
    a, (lower, top, both) = 1 / ratio, tables(noise)
    chance = prod((Fraction(table[0], sum(table)) for table in lower), start=Fraction(top[0][0], sum(both)))
    weight, least = chance * (1 + a) / (1 - a), 1 - (a + power(a, n + 1, 1)) / (1 + a)
    require(least > 0, "the noise is too wide for its interval")
    most = power(ratio, n, 1) * (1 + max(Fraction(0), 1 - weight) / (weight * least))
    return max(Fraction(0), (most - odds) / (most + 1))


def tables(noise: dict[str, Any]) -> tuple[list[Law], list[Law], Law]:
    """The lower digits, the top digit for each sign, and the top digit whatever the sign."""
    lower, top = noise["lower"], noise["top"]
    require(len(top[0]) == len(top[1]), "the two top tables must have the same length")
    return lower, top, [a + b for a, b in zip(*top, strict=True)]


def step_odds(noise: dict[str, Any]) -> Fraction:
    """The largest ratio of the weights of two neighbouring values, of noise with independent digits in base 128.

    The top digit carries the sign; its last cell adds a block and draws again, whatever the sign.
    """
    lower, top, either = tables(noise)
    pairs = [(top[0][0], top[1][0])]
    p = q = 1  # what it changes that all lower digits turn from 127 to 0
    for table in lower:
        pairs += [(p * a, q * b) for a, b in pairwise(table)]
        p, q = p * table[-1], q * table[0]
    for table in (*top, either):
        pairs += [(p * a, q * b) for a, b in pairwise(table[:-1])]
        pairs.append((p * table[-2] * sum(either), q * table[-1] * either[0]))
    return max(Fraction(max(pair), min(pair)) for pair in pairs)


def gaussian(noise: dict[str, Any], shift: int, odds: Fraction) -> Fraction:
    """A log-concave table: the ratio P(h)/P(h−d) falls with h, so the worst set is a half-line."""
    half: Law = noise["weights"]
    unit: int = noise["unit"]
    falls = all(y * y >= x * z for x, y, z in zip(half, half[1:], half[2:], strict=False))
    require(falls and half[0] == max(half), "a table is not log-concave")
    require(unit % 2 == 1, "unit must be odd")
    table = half[:0:-1] + half
    sums = [0, *accumulate(table)]

    def apart(d: int) -> Fraction:
        if d >= len(table):
            return Fraction(1)
        cut = d + bisect_left(range(d, len(table)), True, key=lambda n: table[n] <= odds * table[n - d])
        return (sums[cut] - odds * sums[cut - d]) / sums[-1] if d else Fraction(0)

    d, rest = divmod(shift, unit)  # values come in cells of `unit`: so many of each cell move one cell farther
    return ((unit - rest) * apart(d) + rest * apart(d + 1)) / unit


def stairs(noise: dict[str, Any], shift: int, odds: Fraction) -> Fraction:
    """Stairs as wide as the shift or wider: only the cells that move one stair down count."""
    first: Law = noise["first"]
    tail: Law = noise["tail"]
    width, inner = int(noise["width"]), int(noise["inner"])
    require(shift <= width, "the stairs are narrower than the shift")
    cells, later, escape = 2 * inner - 1, sum(tail), first[-1]
    # Heights over one denominator. The stairs that follow the first come in blocks, each tail[-1]/later as high as the
    # one before it; a block's last stair stands before the first of the next.
    heights = [first[0] * 2 * width * later**2, *(w * cells * later**2 for w in first[1:-1])]
    block = [escape * w * cells * later for w in tail[:-1]]
    denominator = sum(first) * cells * 2 * width * later**2
    steps = [*pairwise([*heights, block[0]])], [*pairwise([*block, escape * tail[0] * cells * tail[-1]])]
    require(all(x >= y for x, y in steps[0] + steps[1]), "a stair is higher than the one before it")
    a, b = odds.numerator, odds.denominator
    down, again = ([max(0, x * b - y * a) for x, y in part] for part in steps)
    repeated = Fraction(later, later - tail[-1])
    return (min(shift, cells) * down[0] + shift * (sum(down[1:]) + repeated * sum(again))) / (b * denominator)


SHIFTED: dict[str, Callable[..., Fraction]] = {"two-sided": two_sided, "gaussian": gaussian, "stairs": stairs}


@cache
def root_of_two_pi(bits: int) -> int:
    """√(2π)·2^bits, by Machin's π = 16 atan(1/5) − 4 atan(1/239)."""
    one = 1 << bits
    inverse = [sum((-1) ** k * one // ((2 * k + 1) * m ** (2 * k + 1)) for k in range(bits)) for m in (5, 239)]
    return isqrt((32 * inverse[0] - 8 * inverse[1]) * one)


def normal_below(x: Fraction, bits: int = 640) -> Fraction:
    """P(Z ≤ x) for a standard normal Z, within 2^-400: 1/2 + (x + x³/3 + x⁵/15 + …) e^(−x²/2)/√(2π)."""
    if abs(x) > 24:
        return Fraction(int(x > 0))
    one = 1 << bits
    square, term = int(x * x * one), int(x * one)
    total, n = term, 1
    while term not in (0, -1):
        n += 2
        term = (term * square >> bits) // n
        total += term
    return Fraction(1, 2) + Fraction(total, root_of_two_pi(bits)) / exp_below(x * x / 2, bits)


def normal_profile(mu: Fraction, eps: Fraction) -> Fraction:
    """δ at ε of two normal laws that lie μ apart; where more was charged than ε, e^ε is below 1."""
    least = exp_below(eps) if eps >= 0 else 1 / (exp_below(-eps) * (1 + Fraction(1, 1 << 200)))
    return normal_below(mu / 2 - eps / mu) - least * normal_below(-mu / 2 - eps / mu)


def log_below(odds: Fraction) -> Fraction:
    """A fraction at most ln(odds), within 2^-119, for odds ≥ 1: two of Newton's steps from a float, then one down."""
    x = Fraction(log(odds.numerator) - log(odds.denominator))
    for _ in range(2):
        x = Fraction(int((max(x, Fraction(0)) + odds / exp_below(max(x, Fraction(0))) - 1) * 2**200), 2**200)
    x -= Fraction(1, 2**120)
    require(x <= 0 or exp_below(x) * (1 + Fraction(1, 2**200)) <= odds, "the logarithm of the odds is not bounded")
    return max(x, Fraction(0))


def summed_variance(noise: dict[str, Any]) -> Fraction:
    """The variance of m^(n−1)·H + … + H, if the tables of H are wide enough to fill the steps m between them."""
    step, draws = int(noise["step"]), int(noise["draws"])
    require(noise["square"] >= 4 * (step**2 + 1), "the tables of noise are too narrow")
    return Fraction(noise["square"] * sum(step ** (2 * n) for n in range(draws)))


def coefficients(law: dict[str, Any], odds: Fraction, nearer: bool = False) -> Fraction:
    """δ of noise on a vector of whole numbers that lies in a ball or a box: of two such, or of the centre and another.

    Laplace noise costs the odds of one step for every step of the l1 distance. Gaussian noise, m^(n−1)·H + … + H of
    lattice Gaussians H, costs what two normal laws do that lie the l2 distance D apart, but for factors that are
    charged: e^(1/8σ²) and e^(K²/8σ⁴) for rounding, with all values beyond K = D + 10σ, and 2^-66 for each table.
    K-norm noise, P(x) ∝ c^⌈‖x‖/s⌉, costs odds of c^−⌈‖d‖/s⌉ for a move d in the norm of the region; where these odds e₀
    are larger than e, δ ≤ (e₀ − e)/(e₀ + 1), as of all noise with such odds.
    """
    terms, radius, box = int(law["terms"]), law["radius"], law["box"]
    require((radius is None) != (box is None), "the region must be a ball or a box")
    require(box is None or len(box) == terms, "the box must have a bound for each term")
    radii = 1 if nearer else 2
    return moved(law, odds, terms, [radii * bound for bound in box or ()], 0 if radius is None else radii * radius)


def vectors(law: dict[str, Any], odds: Fraction) -> Fraction:
    """δ of noise on the vectors of a grid, which lie no farther apart than its sides."""
    require(any(law["sides"]), "the grid has one vector only")
    return moved(law, odds, len(law["sides"]), law["sides"], 0)


def moved(law: dict[str, Any], odds: Fraction, terms: int, sides: list[int], length: int) -> Fraction:
    """δ of the noise of a law on so many terms, which move by these sides, or where there are none by this l2 norm."""
    noise, square = law["noise"], sum(side * side for side in sides) if sides else length**2
    if noise["kind"] == "k-norm":
        fits = noise["norm"] == law["norm"] == ("linf" if sides else "l2") and noise["terms"] == terms
        require(fits and (sides != [] or terms <= 10), "the noise does not fit its norm")
        cells = -(-(max(sides) if sides else length) // int(noise["cell"]))
        most = power(1 / noise["fall"], cells, 1)
        return max(Fraction(0), (most - odds) / (most + 1))
    if law["norm"] == "l1":
        require(noise["kind"] == "two-sided" and noise["reach"] is None, "the noise does not fit its norm")
        size = sum(sides) if sides else isqrt(terms * square)
        return two_sided(noise, size, odds, terms) if size else Fraction(0)
    require(noise["kind"] == "convolved", "the noise does not fit its norm")
    variance, draws = summed_variance(noise), int(noise["draws"])
    sigma, root = Fraction(isqrt(int(variance * 4**32)), 2**32), Fraction(isqrt(square * 4**32) + 1, 2**32)
    ripple = Fraction(draws, 1 << 108)
    upper = terms * (1 / (8 * variance) + ripple)
    lower = terms * ((root + 10 * (sigma + 1)) ** 2 / (8 * variance**2) + ripple)
    profile = normal_profile(root / sigma, log_below(odds) - upper - lower)
    charged = terms * (2 / exp_below(Fraction(50)) + draws * (1 + odds) / 2**66)
    return profile * exp_below(upper) * (1 + Fraction(1, 1 << 200)) + Fraction(1, 1 << 200) + charged


def optional(law: dict[str, Any], odds: Fraction) -> Fraction:
    """A value is shown with probability p where it is there, and q where it is missing, then as the middle value.

    Two values are told apart by what is shown alone. A value and a missing one differ by p·P(y) − e·q·M(y) on what is
    shown, with M the law of the middle, and by (1 − p) − e·(1 − q) on what is not; or the other way round.
    """
    inner, whole = law["law"], law["whole"]
    bound = BOUNDS[inner["kind"]]
    p, q = Fraction(law["present"], whole), Fraction(law["missing"], whole)
    require(q <= p < 1, "a missing value must be shown at most as often as others, and these not always")

    def apart(own: Fraction, other: Fraction) -> Fraction:
        ratio = odds * other / own
        near = bound(inner, max(ratio, 1 / ratio), nearer=True)  # of the middle and any other, in either order
        shown = near if ratio >= 1 else 1 - ratio + ratio * near
        return own * shown + max(Fraction(0), 1 - own - odds * (1 - other))

    return max(p * bound(inner, odds), apart(p, q), apart(q, p))


# Laws that are bounded as a whole, without going through pairs of inputs.
BOUNDS: dict[str, Callable[..., Fraction]] = {
    "coefficients": coefficients,
    "vectors": vectors,
    "lattice": lattice,
    "bounded": bounded,
    "optional": optional,
}


# What shuffling adds -------------------------------------------------------------------------------------------------
# Whoever sees rows in a random order learns less of one of them than whoever sees that row. Let R_x be the law of a row
# with the value x, and W a law with R_x ≥ γW for every x: of the other n − 1 rows M ~ Bin(n − 1, γ) are drawn from W,
# whatever their values. With U = R_x/W and V = R_x'/W at a draw from W, and N = M + 1 independent such draws,
#     δ(ε) ≤ E[(1/N)·max(0, Σ (U_i − e^ε V_i))]        (Balle, Bell, Gascón and Nissim 2019, Lemma 5.3).
# U and V have the mean 1 and lie between some low and high. The expectation of a convex function of Σ (U_i − e^ε V_i)
# is largest where both take these ends only, and where one is high while the other is low as often as that can be: such
# a function has decreasing differences in (U, V). So three numbers bound δ for all laws; for randomised response on k
# values, with low = γ = kq and high = kp, nothing is lost.

Blanket = tuple[Fraction, Fraction, Fraction]  # γ, and the ends between which R_x/W lies
NEGLIGIBLE = Decimal("1e-24")  # what is left of a binomial law is bounded, and counted in full
FAR, NEARLY_NEVER = 220, Decimal("1.7e-48")  # (2t − s)²/s from which P(Bin(s, 1/2) > t) is at most e^−110
STEPS = 1 << 15  # of all sums together, twice, or eight sums where these take more: a tenth of a second


def binomial(n: int, p: Fraction, reach: int = 0) -> tuple[int, list[Decimal], Decimal, Decimal]:
    """The probabilities from some first value to where they are negligible, also beside that of `reach`, each a little
    too large: their sum is called 1. Then bounds of what is left below and above."""
    if not 0 < p < 1:
        return n if p else 0, [Decimal(1)], Decimal(0), Decimal(0)
    odds, mode = Decimal(p.numerator) / (p.denominator - p.numerator), min(n, int((n + 1) * p))
    up, down, weight, high, low, least = [Decimal(1)], [], Decimal(1), mode, mode, NEGLIGIBLE
    while high < n and (weight >= least or high < reach):
        weight = weight * (n - high) / (high + 1) * odds
        high += 1
        up.append(weight)
        least = weight * NEGLIGIBLE if high == reach else least
    falls = odds * (n - high) / (high + 1)  # and ever faster: what is left is less than a geometric series
    above, weight = weight * falls / (1 - falls), Decimal(1)
    while low > 0 and weight >= NEGLIGIBLE:
        weight = weight * low / (n - low + 1) / odds
        low -= 1
        down.append(weight)
    falls = low / odds / (n - low + 1)
    below, whole = weight * falls / (1 - falls), sum(up) + sum(down)
    return low, [weight / whole for weight in down[::-1] + up], below / whole, above / whole


def positive_mean(n: int, share: Fraction, own: Fraction, other: Fraction, rest: Fraction) -> Decimal:
    """E max(0, S)/n of a sum S of n terms, each `own` or `other` with probability `share`, else `rest`.

    Here other < 0, rest ≤ 0 and own + other ≤ 0. Of the s terms that are own or other, a ~ Bin(s, 1/2) are own, and
    S = ua + v > 0 for a > t, where t = ⌊(s(rest − other) − n·rest)/(own − other)⌋ is about s/2 at least, and grows by 0
    or 1 with s. With h = P(Bin(s − 1, 1/2) = t) and T = P(Bin(s − 1, 1/2) > t) the expectation given s is
    (us/2 + v)T + (us + v)h/2, and each h and T follow from those before. The caller counts the rounding of 60 digits.
    """
    wide = own - other
    slope, start = (rest - other) / wide, -rest * n / wide
    u, away, still = (Decimal(x.numerator) / x.denominator for x in (wide, other - rest, n * rest))
    first, weights, below, above = binomial(n, 2 * share)
    total, t, h, tail = (below + above) * n * Decimal(own.numerator) / own.denominator, -1, Decimal(0), Decimal(0)
    c = slope.denominator * start.denominator
    a, b = int(slope * c), int(start * c)
    for s, weight in enumerate(weights, first):
        cut = (s * a + b) // c
        if cut >= s:  # no sum is above 0
            continue
        if t < 0 and (2 * cut - s) ** 2 > FAR * s and 2 * cut > s:  # Hoeffding: P(a > t) ≤ e^(−FAR/2)
            total += weight * NEARLY_NEVER * n * Decimal(own.numerator) / own.denominator
            continue
        if t < 0:
            low, halves, _, above = binomial(s - 1, Fraction(1, 2), cut)
            t, h, tail = cut, halves[cut - low], sum(halves[cut - low + 1 :], above)
        else:  # one more term, and perhaps a higher cut
            tail, h = tail + h / 2, h * (s - 1) / (2 * (s - 1 - t))
            if cut > t:
                t, h = cut, h * (s - cut) / cut
                tail -= h
        v = s * away + still
        total += weight * ((u * s / 2 + v) * tail + (u * s + v) * h / 2)
    return total / n


def shuffled_delta(rows: int, blanket: Blanket, odds: Fraction) -> Fraction:
    """A δ that rows in a random order keep at these odds e^ε, whatever all but one of them hold.

    E max(0, S_N)/N falls with N, so the values of M are taken in blocks, each as its least.
    """
    # Down, down and up: a smaller γ and a wider range only make the bound larger.
    mass, low, high = (Fraction((x.numerator << 256) // x.denominator, 1 << 256) for x in blanket)
    high += Fraction(1, 1 << 256)
    own, other = high - odds * low, low - odds * high
    if own <= 0:
        return Fraction(0)
    if mass <= 0:
        return Fraction(1)
    share = (1 - low) / (high - low)
    rest = (low if 2 * share <= 1 else high) * (1 - odds)
    share = min(share, 1 - share)
    with localcontext() as context:
        context.prec = 60
        first, weights, below, above = binomial(rows - 1, mass)
        most = first + len(weights)
        steps = 21 * isqrt(int(2 * share * (1 - 2 * share) * most)) + 12 * isqrt(most) + 64
        blocks, roots = max(4, STEPS // steps), [*accumulate(sqrt(weight) for weight in weights)]
        # Cut evenly, for few rows are seldom and hide far less, and where the weights are.
        size = -(-len(weights) // blocks)
        cuts = [(n // size, int(root / roots[-1] * blocks)) for n, root in enumerate(roots)]
        total = (below + above) * Decimal(own.numerator) / own.denominator
        for _, block in groupby(zip(cuts, weights, range(first + 1, most + 1), strict=True), key=itemgetter(0)):
            (_, weight, least), *others = block
            total += sum((one for _, one, _ in others), weight) * positive_mean(least, share, own, other, rest)
        # Probabilities are rounded 2^40 times at most, by 10^-59 each, and multiplied by less than 2^40·high.
        return Fraction(total * (1 + Decimal("1e-30"))) + Fraction(1, 10**30) * high


def blanket_of(law: dict[str, Any]) -> tuple[Fraction, Fraction] | None:
    """γ, and the largest R_x/(γW): what all laws of a value have in common, and how far one exceeds that. None where
    this program does not know, or they have nothing in common."""
    match law:
        case {"kind": "keep-or-other" | "subset-selection" | "plane-design" | "block-design"}:
            several, holding, _, *weights = two_weights(law)
            whole = holding * weights[0] + (several - holding) * weights[1]
        case {"kind": "bits" | "one-item", "bits": h, "stay": stay, "flip": flip}:
            times = h if law["kind"] == "bits" else 1
            several, weights, whole = 2**times, [stay**times, flip**times], (stay + flip) ** times
        case {"kind": "unary", "own": own, "other": other, "whole": whole} if 0 < other < whole and own < whole:
            one, zero = Fraction(own, other), Fraction(whole - own, whole - other)
            return min(one, zero), max(one, zero) / min(one, zero)  # times the law of bits that say nothing
        case {"kind": "matrix", "rows": rows, "total": whole} if len(rows) > 1:
            extremes = [(max(column), min(column)) for column in zip(*rows, strict=True) if max(column)]
            if not all(least for _, least in extremes):
                return None
            return Fraction(sum(least for _, least in extremes), whole), max(Fraction(*pair) for pair in extremes)
        case _:
            return None
    return (Fraction(several * min(weights), whole), Fraction(max(weights), min(weights))) if min(weights) else None


def row_blankets(laws: list[dict[str, Any]], epsilon: Fraction, weights: list[int] | None = None) -> Iterator[Blanket]:
    """What the laws of one row's columns have in common, or of a row that answers for one of them with these weights.

    The last one holds for every law with this ε and δ = 0: each other row is drawn, with probability e^−ε, like that of
    either value with even chances, and the row itself lies within e^ε of both. Feldman, McMillan and Talwar 2021.
    """
    known = [blanket_of(law) for law in laws]
    found = [blanket for blanket in known if blanket is not None]
    if len(found) == len(laws):
        if weights is None:
            mass, most = (prod(numbers, start=Fraction(1)) for numbers in zip(*found, strict=True))
        else:
            parts = zip(found, weights, strict=True)
            mass, most = sum(Fraction(w * own[0], sum(weights)) for own, w in parts), max(own[1] for own in found)
        yield mass, mass, mass * most
    odds = exp_below(epsilon) * (1 + Fraction(1, 1 << 200))
    yield 1 / odds, 2 / (1 + odds), 2 * odds / (1 + odds)


def check_shuffled(certificate: dict[str, Any]) -> None:
    """The promise to whoever sees the stored rows alone, in their random order."""
    release = certificate["release"]
    said, several = release["shuffled"], release["person"]["rows"] > 1
    alone = not release["public"] and not several and not certificate["delta"]
    require(alone, "shuffling adds nothing where rows are public in part, a person has several, or delta is above 0")
    most = re.fullmatch("shuffled within ([1-9][0-9]{0,18}) rows", release["order"])
    there = said["rows"] if "survey.html" in release["files"] else release["rows"]  # a survey's rows are to come
    parts = max(1, sum(name.startswith("part-") for name in release["files"]))  # each in an order of its own
    fits = most is not None and said["rows"] <= int(most[1]) and said["rows"] * parts <= there
    require(fits, "so many rows were not shuffled")
    weights = [entry["weight"] for entry in certificate["sample"]] if "sample" in certificate else None
    blankets = row_blankets([part["law"] for part in certificate["laws"]], certificate["epsilon"], weights)
    odds = exp_below(said["epsilon"])
    kept = any(shuffled_delta(said["rows"], blanket, odds) <= said["delta"] for blanket in blankets)
    require(kept, "shuffled rows do not keep the promise that the certificate says they keep")


# The whole certificate -----------------------------------------------------------------------------------------------


def of_a_row(law: dict[str, Any]) -> dict[str, Any]:
    """The law of one row, where a law is that of a table: given all other rows, a table is told from one that differs
    in one row by the draw of that row alone, so neither its delta nor its epsilon is larger."""
    return law["law"] if law["kind"] == "product" else law


def unlimited(comparisons: int) -> None:
    """However much work there is, it is done."""


def at_most(comparisons: int) -> Work:
    """A function that is told of work before it is done, and refuses more of it than this."""
    left = [comparisons]

    def work(more: int) -> None:
        left[0] -= more
        require(left[0] >= 0, "the laws are too large for this program to go through")

    return work


def largest(part: dict[str, Any], epsilon: Fraction, work: Work = unlimited) -> tuple[Fraction, int, int]:
    """The largest divergence of one law at ε over its pairs of inputs, in both orders, and the pair that has it.

    Where it is larger than δ, the first pair that shows it will do.
    """
    law, distances = of_a_row(part["law"]), part.get("distances")
    kind = law["kind"]
    if distances is not None:
        require(part["law"]["kind"] == "matrix", "metric privacy needs a law for each input")
        check_distances(distances, len(law["rows"]))
    odds, worst = exp_below(epsilon), (Fraction(0), 0, 0)
    if kind in BOUNDS or "worst" in law:
        work(PER_BOUND)
        return law["worst"](odds) if "worst" in law else (BOUNDS[kind](law, odds), 0, 1)
    if kind == "rounded" or (kind == "matrix" and not distances and not law.get("neighbours")):
        return farthest(rounded(law, odds) if kind == "rounded" else law, odds, part["delta"], work)
    at, known = odds, dict[Fraction, Fraction]()
    for i, j, p, q, total in PAIRWISE[kind](law, Fraction(1) if distances else odds):
        work(PER_PAIR + 2 * len(p) * (1 + total.bit_length() // 512))
        if distances:
            if distances[i][j] not in known:
                work(1 << 10)
                known[distances[i][j]] = exp_below(epsilon * distances[i][j])
            at = known[distances[i][j]]
        apart = max(
            excess(one, other, at, [y * at.numerator // at.denominator for y in other])
            for one, other in ((p, q), (q, p))
        )
        worst = max(worst, (Fraction(apart, at.denominator * total), i, j))
        if worst[0] > part["delta"]:
            break
    return worst


def check_distances(distances: list[list[Fraction]], inputs: int) -> None:
    require([len(row) for row in distances] == [inputs] * inputs, "there must be a distance for each pair of inputs")
    mutual = [list(column) for column in zip(*distances, strict=True)] == distances
    apart = all((d > 0) == (i != j) for i, row in enumerate(distances) for j, d in enumerate(row))
    require(mutual and apart, "distances must be symmetric, 0 on the diagonal and positive elsewhere")


def check_law(part: dict[str, Any], work: Work = unlimited) -> None:
    """The promise of one law, and the tight values it claims."""
    name, epsilon, delta, tight = part["name"], part["epsilon"], part["delta"], part["tight"]
    worst, i, j = largest(part, epsilon, work)
    require(worst <= delta, f"{name!r} is not ({epsilon}, {delta})-private: inputs {i} and {j} show it")
    require(worst <= tight["delta"], f"{name!r} has a larger delta than the certificate says")
    if tight["epsilon"] != "inf":
        found = largest(part, tight["epsilon"], work)[0]
        require(found <= delta, f"{name!r} has a larger epsilon than the certificate says")


def check_size(laws: list[dict[str, Any]]) -> None:
    """Refuse matrices that do not fit into memory."""
    rows = [of_a_row(part["law"]) for part in laws]
    inner = [law["law"] if law["kind"] == "rounded" else law for law in rows]
    entries = sum(len(law["rows"]) * len(law["rows"][0]) for law in inner if law["kind"] == "matrix")
    require(entries <= MOST_ENTRIES, "the matrices are too large for this program to go through")


def total(values: Iterable[Fraction]) -> Fraction:
    """The sum of many fractions: those with one denominator first, then two and two, so that most stay short."""
    numerators: dict[int, int] = {}
    for value in values:
        numerators[value.denominator] = numerators.get(value.denominator, 0) + value.numerator
    parts = [Fraction(top, bottom) for bottom, top in numerators.items()]
    bits = sum(bottom.bit_length() for bottom in numerators)
    require(bits < 1 << 20, "fractions have too long a common denominator")
    while len(parts) > 1:
        parts = [sum(parts[n : n + 2], Fraction(0)) for n in range(0, len(parts), 2)]
    return parts[0] if parts else Fraction(0)


def check_sum(laws: list[dict[str, Any]], name: str, promised: Fraction, sampled: bool) -> None:
    """Basic composition: the promises of independent laws add up. Of laws of which one is drawn the largest counts."""
    values = [part[name] for part in laws]
    spent = max(values) if sampled else total(values)
    require(spent <= promised, f"the laws {'' if sampled else 'together '}exceed the promised {name}")


SLACK = 1 - Fraction(1, 10**9)  # for laws' tight values that were rounded up, each by itself


def check_person(certificate: dict[str, Any]) -> None:
    """What is said of a row and of a person with so many rows must be no less than follows from the laws.

    At δ = 0 the tight values of independent laws add up, and of laws of which one is drawn the largest is attained.
    """
    release, laws = certificate["release"], certificate["laws"]
    person, attained = release["person"], [part["tight"]["epsilon"] for part in laws]
    spent = person["rows"] * certificate["epsilon"], min(1, person["rows"] * certificate["delta"])
    fits = spent[0] <= person["epsilon"] and spent[1] <= person["delta"]
    require(fits, "a person loses more than the certificate says")
    if certificate["delta"]:
        return
    for rows, tight in ((1, release["tight"]["epsilon"]), (person["rows"], person["tight"]["epsilon"])):
        least = "inf" if "inf" in attained else (max if "sample" in certificate else total)(attained) * rows * SLACK
        fits = tight == "inf" or (least != "inf" and least <= tight)
        require(fits, "a row or a person has a larger epsilon than the certificate says")


def check_sample(certificate: dict[str, Any]) -> None:
    """Every law must have a weight, and the weights must be all words that are drawn."""
    names = [" × ".join(entry["columns"]) for entry in certificate["sample"]]
    require(names == [part["name"] for part in certificate["laws"]], "the sample is for other laws than there are")
    require(sum(entry["weight"] for entry in certificate["sample"]) == DRAWN, f"the weights must sum to {DRAWN}")


def read(text: str) -> dict[str, Any]:
    """The certificate of a JSON text in which every digit counts and no name occurs twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len(dict(pairs)) == len(pairs), "a name occurs twice in one object")
        return dict(pairs)

    def shortest(decimal: str) -> float:
        require(repr(float(decimal)) == decimal, f"{decimal[:40]} is not a number of JSON in its shortest form")
        return float(decimal)

    small = len(text) <= LARGEST_FILE and sum(map(text.count, ",[{")) <= MOST_VALUES
    require(small, "the file is too large for a certificate")
    found: dict[str, Any] = json.loads(text, object_pairs_hook=once, parse_float=shortest, parse_constant=shortest)
    return found


def seal(body: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON: it finds slips and tampering, but it is no signature."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def opened(certificate: dict[str, Any], what: str, known: int, reader: Reader) -> dict[str, Any]:
    """The values of a certificate of this format and of a version up to this, whose seal fits."""
    require(certificate.get("format") == what, f"the file is not a {what}")
    version, earlier = whole(1, 1 << 30)(certificate.get("version"), "version"), " and earlier" * (known > 1)
    require(
        version <= known, f"the certificate has version {version}, and this verifier knows version {known}{earlier}"
    )
    values: dict[str, Any] = reader(certificate, "the certificate")
    body = {key: value for key, value in certificate.items() if key != "seal"}
    require(values["seal"] == seal(body), "the seal does not fit: the certificate was changed")
    return values


STORED = r"release\.parquet|part-[A-Za-z0-9._-]*\.parquet"
# What else may lie there: the page, this program, and what desktops and Spark leave; also Hadoop's sums of files.
UNREAD = r"report\.html|verify_(certificate|central(_plan)?)\.py|\.DS_Store|_SUCCESS|_(started|committed)_[0-9]{1,20}"


def check_files(release: dict[str, Any], folder: Path, stored: str = STORED) -> list[str]:
    """The plan and the stored table as they are recorded, and nothing else; returns what is there and not checked.

    The folder of a survey has its page in the place of the table.
    """
    files, texts = release["files"], ("plan.toml", "survey.html")
    named = files.keys() == set(texts) or all(name == "plan.toml" or re.fullmatch(stored, name) for name in files)
    require(named, "the certificate names a file that is not part of a release, or is in another folder")
    require("plan.toml" in files and len(files) > 1, "the certificate must name the plan and the stored table")
    for name, digest in files.items():
        require((folder / name).is_file(), f"the file {name} of the release is missing")
        about = (folder / name).stat()
        # A file with holes takes hours to read, and no time to make; where the disk does not tell, it is read.
        holes = about.st_size > 1 << 24 and 0 < 4096 * getattr(about, "st_blocks", 0) < about.st_size
        require(not holes, f"the file {name} has holes: it is not one that was written")
        require(name != "plan.toml" or about.st_size <= LONGEST_PLAN, "the plan is longer than 32 MiB")
        with (folder / name).open("rb") as stream:
            require(name in texts or stream.read(4) == b"PAR1", f"the file {name} is no Parquet file")
            stream.seek(0)
            require(hashlib.file_digest(stream, "sha256").hexdigest() == digest, f"the file {name} has changed")
    rest = {entry.name for entry in folder.iterdir()} - files.keys() - {"certificate.json"}
    plain = {name for name in rest if (folder / name).is_file()}
    unread = {name for name in plain if re.fullmatch(UNREAD, name)}
    sums = plain & {f".{name}.crc" for name in (*files, "certificate.json", "report.html")}
    strange = min(rest - unread - sums, default=None)
    require(strange is None, f"{strange!r} is in the folder and is not part of the release: move it elsewhere")
    return [*sorted(unread), *["Hadoop's .crc files"] * bool(sums)]


def is_deep(plan: str) -> bool:
    """Whether a key of a plan has very many parts."""
    return LONG_KEY.search(QUOTED.sub("a", plan)) is not None


def plan_in(folder: Path) -> dict[str, Any]:
    plan = folder / "plan.toml"
    require(plan.stat().st_size <= LONGEST_PLAN, "the plan is longer than 32 MiB")
    text = plan.read_text(encoding="utf-8")
    require(not is_deep(text), "the plan has a key of too many parts")
    return tomllib.loads(text)


def number(given: Any) -> Fraction:
    """A number of a plan; a float means the decimal that it is written as."""
    decimal = r"([0-9]{1,2000}\.?[0-9]{0,2000}|\.[0-9]{1,2000})(e[+-]?[0-9]{1,3})?"
    written = str(given).strip().lower().replace("_", "")
    require(bool(re.fullmatch(f"[+-]?{decimal}(/[+-]?{decimal})?", written)), "a number of the plan cannot be read")
    top, _, bottom = written.partition("/")
    return Fraction(top) / Fraction(bottom or 1)


def points(column: dict[str, Any]) -> int:
    """The number of points of a range; without a step it is a day, a minute, or a power of ten that fits 5000 times or
    more."""
    low, high = (end_of(column["space"], column[name]) for name in ("low", "high"))
    moments = column["space"] in ("date", "time")
    length, step = high - low, number(column["step"]) if "step" in column else Fraction(1) if moments else None
    require(length >= 0 and (step is None or step > 0), "the plan declares an interval without points")
    if step is None:
        finest = Fraction(10) ** (len(str(int(length))) + 1)
        while 0 < length / finest < 5000:
            finest /= 10
        steps = (finest / 10**n for n in range(3))
        step = next((s for s in steps if (length / s).denominator == 1), length / 10_000)
    return int(length / step) + 1


def end_of(space: str, given: Any) -> Fraction:
    """An end of a range as a number: of dates in days, of times of day in minutes."""
    if space == "date":
        return Fraction(date.fromisoformat(str(given)).toordinal())
    if space != "time":
        return number(given)
    written = re.fullmatch("([01]?[0-9]|2[0-3]):([0-5][0-9])(:[0-5][0-9])?", str(given).strip())
    require(written is not None, "a time of day of the plan cannot be read")
    assert written is not None
    return Fraction(60 * int(written[1]) + int(written[2]))


MOST_PERIODS = 1 << 12  # bins of a column
MONTHS = {"months": 1, "quarters": 3, "years": 12, "decades": 120}  # of the periods that bins of dates are named by


def bins(column: dict[str, Any]) -> int:
    """The number of bins that a plan declares: by their edges, or by periods of the calendar that the points lie in.

    "calendar" are the shortest periods of which there are 21 at most, months or longer, else decades; but weeks where
    there are fewer than three months.
    """
    named = column["bins"]
    if isinstance(named, list):
        return len(named) - 1
    if named == "hours" and column["space"] == "time":
        first, last = (end_of("time", column[name]) // 60 for name in ("low", "high"))
        return int(last - first) + 1
    require(
        named in ("calendar", "weeks", *MONTHS) and column["space"] == "date", "the plan has bins that are not known"
    )
    first, step = date.fromisoformat(str(column["low"])).toordinal(), number(column.get("step", 1))
    require(step.denominator == 1, "the plan has dates that are no whole days apart")
    last = first + int(step) * (points(column) - 1)
    weeks = periods(first, last, int(step), 0)
    counted = {name: periods(first, last, int(step), months) for name, months in MONTHS.items()}
    fitting = [count for count in counted.values() if count <= 21]
    usual = weeks if counted["months"] < 3 else fitting[0] if fitting else counted["decades"]
    found = {**counted, "weeks": weeks, "calendar": usual}[named]
    require(found <= MOST_PERIODS, "the plan has more bins of dates than dproof takes")
    return found


def periods(first: int, last: int, step: int, months: int) -> int:
    """The number of periods of so many months, or of weeks for 0, that the days from first to last, a step apart, lie
    in; a larger one than plans may have where that takes longer to find."""

    def period(day: int) -> int:
        at = date.fromordinal(day)
        return (12 * at.year + at.month - 1) // months if months else (day - 1) // 7

    def begin(number: int) -> int:
        if not months:
            return 7 * number + 1
        year, month = divmod(number * months, 12)
        return date(year, month + 1, 1).toordinal() if year <= date.max.year else date.max.toordinal() + 1

    days, lowest, highest = range(first, last + 1, step), period(first), period(last)
    if min(highest - lowest, len(days)) > MOST_PERIODS:
        return MOST_PERIODS + 1
    if len(days) <= highest - lowest:
        return len(set(map(period, days)))
    begins = [first, *map(begin, range(lowest + 1, highest + 2))]
    return sum(low + (first - low) % step < high for low, high in pairwise(begins))


def declared(column: dict[str, Any], others: Spaces) -> int | None:
    """The number of values of a column of a plan; None for curves, of which this program does not read the region."""
    space = column["space"]
    if space == "curves":
        return None
    if space in others:
        return others[space](column)
    absent = int(column.get("missing") == "category")  # one more value, or item of a set
    if space in ("interval", "date", "time"):
        return (bins(column) if "bins" in column else points(column)) + absent
    if space == "subsets":
        return 1 << len(column["values"] if "values" in column else column["columns"]) + absent
    require(space == "categories", "the plan has a space that is not known")
    labels = list(column["values"])
    other = column.get("outside_value", "(other)")
    if column.get("outside") == "category" and other not in labels:
        labels.append(other)
    return len(labels) + (absent if "category" not in labels else 0)


def with_bins(column: dict[str, Any], starts: list[int] | None) -> dict[str, Any]:
    """A column of a plan with the bins that a release chose, by the places where they begin."""
    if starts is None:
        return column
    require(
        "bins" not in column and column["space"] in ("interval", "date", "time"), "the certificate has bins of its own"
    )
    rising = starts[0] == 0 and all(low < high for low, high in zip(starts, (*starts[1:], points(column)), strict=True))
    require(rising, "the certificate has bins that do not rise")
    return {**column, "bins": [*starts, points(column)]}


def inputs(law: dict[str, Any]) -> int | None:
    """The number of inputs of a law; None for noise on the coefficients of a curve."""
    if law["kind"] == "optional":
        values = inputs(law["law"])
        return None if values is None else values + 1
    if law["kind"] == "coefficients":
        return None
    if law["kind"] == "vectors":
        return prod(int(side) + 1 for side in law["sides"])
    if "bits" in law:
        return 1 << int(law["bits"])
    if law["kind"] == "rounded":
        return int(law["size"]) + len(law["law"]["rows"]) - int(law["steps"]) - 1
    return len(law["rows"]) if law["kind"] == "matrix" else int(law["size"])


def check_promise(certificate: dict[str, Any], plan: dict[str, Any]) -> None:
    promise, certificate = plan["privacy"], {**certificate}
    if "shuffled" in (certificate.get("release") or {}):
        shuffled, given = certificate["release"]["shuffled"], plan.get("shuffle", {})
        rows = (
            given.get("rows", 0) if "survey.html" in certificate["release"]["files"] else certificate["release"]["rows"]
        )
        together, honest = (
            int(certificate["release"]["order"].split()[2]),
            int(min(1, number(given.get("honest", 1))) * rows),
        )
        # Of a table of twice as many rows or more only so many are in one order, and all strangers may be among them.
        hiding = honest if rows < 2 * together else together - (rows - honest)
        require(hiding >= shuffled["rows"], "the plan lets fewer rows count as shuffled than the certificate")
        if promise.get("model") == "shuffled":
            certificate.update(epsilon=shuffled["epsilon"], delta=shuffled["delta"])
    said = number(promise["epsilon"]), number(promise.get("delta", 0)), promise.get("neighbours", "change-one")
    same = said == (certificate["epsilon"], certificate["delta"], certificate["neighbours"])
    require(same, "the certificate promises something else than the plan")


def check_plan(certificate: dict[str, Any], plan: dict[str, Any], others: Spaces) -> None:
    """The plan must make the promise that the certificate makes, for the same columns with as many values."""
    check_promise(certificate, plan)
    rows = plan["privacy"].get("rows_per_person", 1)
    require(rows == certificate["release"]["person"]["rows"], "the plan lets a person have another number of rows")
    columns = plan["columns"]
    public = [name for name, column in columns.items() if column.get("public") is True and not column.get("drop")]
    require(public == certificate["release"]["public"], "the plan calls other columns public than the certificate")
    joined = {name: joint["columns"] for joint in plan.get("joint", ()) for name in joint["columns"]}
    private = [name for name, column in columns.items() if not column.get("public") and not column.get("drop")]
    asked, spread = [each["columns"] for each in certificate.get("sample", ())], plan["privacy"].get("spread")
    require(spread in ("auto", "sample" if asked else "split" if spread else None), "the plan has another `spread`")
    groups = {" × ".join(members): members for members in asked or (joined.get(name, [name]) for name in private)}
    named, chosen = [part["name"] for part in certificate["laws"]], certificate["release"].get("bins", {})
    require(set(chosen) <= set(private), "the certificate has bins for other columns than the plan")
    every = {name for members in groups.values() for name in members} == set(private)
    require(list(groups) == named and every, "the certificate has laws for other columns than the plan")
    for part, members in zip(certificate["laws"], groups.values(), strict=True):
        sizes = [declared(with_bins(columns[name], chosen.get(name)), others) for name in members]
        values = None if None in sizes else prod(size for size in sizes if size is not None)
        fits = inputs(part["law"]) == values
        if None in sizes:  # a curve, which may be missing or not
            fits &= (part["law"]["kind"] == "optional") == (columns[members[0]].get("missing") == "category")
        require(fits, f"the law of {part['name']!r} is for another number of values than the plan declares")


def verify(
    certificate: dict[str, Any], folder: Path | None = None, spaces: Spaces | None = None, laws: Laws | None = None
) -> list[str]:
    """Raise Refused unless the whole certificate holds; returns the files in the folder that are not checked.

    `spaces` says of further spaces how many values a column has that the plan declares with them; `laws` reads laws of
    further kinds, whose `worst` gives their largest divergence at some odds and the pair of inputs that has it.
    """
    parsed = opened(certificate, FORMAT, VERSION, certificate_with(laws or {}))
    release = parsed["release"]
    if release is not None:
        one = parsed["neighbours"] == "change-one"
        require(one, "a release shows how many rows it has, so it can only promise change-one")
        few = ("neighbours" in part["law"] or "distances" in part for part in parsed["laws"])
        every = not any(few) and all(part["law"]["kind"] != "product" for part in parsed["laws"])
        require(every, "the laws of a release must be private for every pair of values")
    if "sample" in parsed:
        check_sample(parsed)
    for promise in ("epsilon", "delta"):
        check_sum(parsed["laws"], promise, parsed[promise], "sample" in parsed)
    check_size(parsed["laws"])
    work, checked = at_most(MOST_COMPARISONS), set[str]()
    for part, given in zip(parsed["laws"], certificate["laws"], strict=True):
        same = json.dumps([given.get(key) for key in ("law", "epsilon", "delta", "tight", "distances")], sort_keys=True)
        if same not in checked:  # many columns may have one law
            check_law(part, work)
            checked.add(same)
    if release is None:
        return []
    if "shuffled" in release:
        check_shuffled(parsed)
    unread = []
    if folder is not None:
        unread = check_files(release, folder)
        check_plan(parsed, plan_in(folder), spaces or {})
    check_person(parsed)
    return unread


def laws_of(certificate: dict[str, Any]) -> str:
    """The number of laws, and for which pairs of inputs and columns their promise is."""
    laws = certificate["laws"]
    limits = ", for tables that differ in one row" * any(part["law"]["kind"] == "product" for part in laws)
    limits += ", for the listed pairs of inputs" * any("neighbours" in of_a_row(part["law"]) for part in laws)
    limits += ", epsilon times the distance of two inputs" * any("distances" in part for part in laws)
    public = (certificate["release"] or {}).get("public", ())
    limits += f"; not protected, because called public: {', '.join(map(repr, public))}" if public else ""
    return f"{len(laws)} law(s){limits}"


def main(arguments: list[str], usage: str = __doc__, check: Any = verify, told: Any = laws_of) -> int:
    """Check the file that the arguments name, print the outcome and what was checked, and give the exit code."""
    if len(arguments) != 1:
        print(usage, file=sys.stderr)
        return 2
    path = Path(arguments[0])
    try:
        require(path.stat().st_size <= LARGEST_FILE, "the file is too large for a certificate")
        certificate = read(path.read_text(encoding="utf-8"))
        unread = check(certificate, path.parent)
    except Exception as problem:  # whatever a damaged or hostile file provokes, it is refused
        unreadable = f"the file is not a readable certificate ({type(problem).__name__})"
        print(f"does not hold: {problem if isinstance(problem, Refused) else unreadable}")
        return 1
    promise = f"epsilon = {certificate['epsilon']}, delta = {certificate['delta']}, {certificate['neighbours']}"
    print(f"holds: {promise}, {told(certificate)}")
    if certificate["release"] is not None:
        print(f"not checked here: {', '.join(['what the stored files hold', *unread])}")
    if not certificate["private"]:
        print("but it was drawn with seeded coins: not private")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
