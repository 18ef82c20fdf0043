"""Check a dproof certificate with nothing but the Python standard library.

    python verify_certificate.py certificate.json

For every law it holds, this program computes the largest P(A) − e^ε Q(A) over all neighbouring inputs and all sets
A, in whole numbers, with a fraction that is proven to lie below e^ε; it must not exceed δ, nor the tight values that
are claimed. Then the promises of the laws must add up to no more than the promise for the whole row, the seal must
fit, and the files of the release must lie beside the certificate and have the recorded hashes.
Exit code 0: all of it holds. 1: something does not.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import accumulate, combinations, pairwise
from math import comb, isqrt
from pathlib import Path
from typing import Any

Law = list[int]
Pair = tuple[int, int, Law, Law, int]  # two inputs, their laws and the total


class Refused(Exception):
    """The certificate does not hold; the message says why."""


def require(condition: bool, why: str) -> None:
    if not condition:
        raise Refused(why)


def number(given: Any) -> Fraction:
    """A number of at least 0 and of a reasonable length, such as 1/10, 0.25 or 1e-06."""
    text = str(given)
    require(bool(re.fullmatch(r"\d{1,2000}(/\d{1,2000}|(\.\d{1,2000})?(e-?\d{1,3})?)", text)), "a number is no number")
    return Fraction(text)


def exp_below(x: Fraction, bits: int = 256) -> Fraction:
    """A fraction at most e^x, for x ≥ 0: a truncated series of positive terms, every step rounded down."""
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length()) + 8
    small = (x.numerator << bits) // (x.denominator << halvings)
    total = term = 1 << bits
    n = 0
    while term:
        n += 1
        term = (term * small >> bits) // n
        total += term
    for _ in range(halvings):
        total = total * total >> bits
    return Fraction(total, 1 << bits) if x else Fraction(1)


def divergence(p: Law, q: Law, total: int, odds: Fraction) -> Fraction:
    """Σ max(0, P − odds·Q): the least δ for which P(A) ≤ odds·Q(A) + δ on every set A."""
    a, b = odds.numerator, odds.denominator
    return Fraction(sum(max(0, x * b - y * a) for x, y in zip(p, q, strict=True)), b * total)


def alike(inputs: int, own: int, other: int, total: int) -> Iterator[Pair]:
    """All pairs of inputs are alike: their laws differ on two groups of outputs only, and there change places."""
    require(inputs > 0 and min(own, other) >= 0 < total, "a law has a negative weight")
    if inputs > 1:
        yield 0, 1, [own, other], [other, own], total


def keep_or_other(record: dict[str, Any], _: Fraction) -> Iterator[Pair]:
    """Two inputs differ in the outputs that keep them."""
    size, keep, other = (int(record[key]) for key in ("size", "keep", "other"))
    return alike(size, keep, other, keep + (size - 1) * other)


def bits(record: dict[str, Any], _: Fraction) -> Iterator[Pair]:
    """The worst pair differs in every bit; outputs are grouped by how many bits turned."""
    h, stay, flip = (int(record[key]) for key in ("bits", "stay", "flip"))
    require(0 < h <= 64 and min(stay, flip) >= 0 < stay + flip, "a law has a negative weight")
    law = [comb(h, r) * stay ** (h - r) * flip**r for r in range(h + 1)]
    yield 0, (1 << h) - 1, law, law[::-1], (stay + flip) ** h


def matrix(record: dict[str, Any], odds: Fraction) -> Iterator[Pair]:
    """Every pair of rows, or the neighbouring ones; outputs that no pair holds at more than the odds do not count."""
    total, rows = int(record["total"]), [[int(w) for w in row] for row in record["rows"]]
    for row in rows:
        require(min(row) >= 0 and sum(row) == total > 0, "a law does not sum to its total")
    columns = [column for column in zip(*rows, strict=True) if max(column) > odds * min(column)]
    for i, j in (record.get("neighbours") or combinations(range(len(rows)), 2)) if columns else ():
        yield i, j, [column[i] for column in columns], [column[j] for column in columns], total


def unary(record: dict[str, Any], _: Fraction) -> Iterator[Pair]:
    """Two inputs differ in the law of their two bits; the outputs are what these two show."""
    size, own, other, whole = (int(record[key]) for key in ("size", "own", "other", "whole"))
    require(0 <= min(own, other) <= max(own, other) <= whole, "a law has a negative weight")
    return alike(size, own * (whole - other), other * (whole - own), whole**2)


def subset_selection(record: dict[str, Any], _: Fraction) -> Iterator[Pair]:
    """Two inputs differ on the sets that hold one of them and not the other."""
    k, w, high, low = (int(record[key]) for key in ("size", "width", "high", "low"))
    require(min(high, low) >= 0 < w <= k, "a law has a negative weight")
    sets = comb(k - 2, w - 1) if k > 1 else 0
    return alike(k, sets * high, sets * low, comb(k - 1, w - 1) * high + comb(k - 1, w) * low)


def lattice(record: dict[str, Any], epsilon: Fraction) -> Fraction:
    """A number plus noise: all inputs lie within a shift of size − 1; clamping the outputs only post-processes."""
    noise, shift = record["noise"], int(record["size"]) - 1
    require(shift >= 0 and noise["kind"] in NOISE, "the noise is not known")
    return NOISE[noise["kind"]](noise, shift, exp_below(epsilon)) if shift else Fraction(0)


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


def two_sided(noise: dict[str, Any], shift: int, odds: Fraction) -> Fraction:
    """Digits and a sign: no two neighbouring values of the noise have a larger ratio than r, so a shift costs r^shift.

    Where that is more than the odds: with a = 1/r, P(k) ≥ P(0)·a^|k|, so P is the mixture of the ideal law
    L(k) = (1−a)/(1+a)·a^|k|, with weight c = P(0)/L(0), and something else: δ ≤ c·δ_L + 1 − c.
    """
    ratio, reach = step_odds(noise), None if noise["reach"] is None else int(noise["reach"])
    if reach is None and power(ratio, shift, 1) <= odds:
        return Fraction(0)
    lower, top, both = tables(noise)
    whole, a = sum(both), 1 / ratio

    def ideal(k: int, up: int) -> Fraction:
        """P(X ≤ k) for the ideal law on all of Z, rounded down or up."""
        return power(a, -k, up) / (1 + a) if k < 0 else 1 - power(a, k + 1, 1 - up) / (1 + a)

    def beyond(sign: int, g: int) -> Fraction:
        """P(this sign and G > g), where the noise is G or −1 − G."""
        digits: list[tuple[list[int], int]] = []
        for table in lower:
            g, digit = divmod(g, 128)
            digits.append((table, digit))
        block, digit = divmod(g, len(both) - 1)
        so_far = Fraction(top[sign][-1] * both[-1] ** (block - 1), whole**block) if block else Fraction(1)
        row = both if block else top[sign]
        more, same = so_far * sum(row[digit + 1 :]) / whole, so_far * row[digit] / whole
        for table, digit in reversed(digits):
            more, same = more + same * sum(table[digit + 1 :]) / sum(table), same * table[digit] / sum(table)
        return more

    mine = Fraction(top[0][0], whole)
    for table in lower:
        mine *= Fraction(table[0], sum(table))
    # The worst set is {k ≤ cut}; cells that the shift leaves without a partner belong to it in any case.
    cut = bisect_left(range(shift + 1), True, key=lambda k: power(a, k, 0) <= odds * power(a, shift - k, 0))
    near, gone = [k for k in range(cut - 2, cut + 2) if k >= 0], [Fraction(0)] * 2
    if reach is not None:  # both laws are conditioned on |X| ≤ reach
        require(reach > 0, "a table of noise is not whole")
        first = shift - reach - 1
        near, gone = [min(max(k, first), reach) for k in (*near, first)], [ideal(-reach - 1, up) for up in (0, 1)]
        mine /= 1 - beyond(0, reach) - beyond(1, reach - 1)
    kept, excess = 1 - 2 * gone[1], Fraction(0)
    require(kept > 0, "a table of noise is not whole")
    for k in near:
        own, other = ideal(k, 1) - gone[0], max(Fraction(0), ideal(k - shift, 0) - gone[1])
        excess = max(excess, (own - odds * other) / kept)
    return min(Fraction(1), excess + max(Fraction(0), 1 - mine * (1 + a) / (1 - a) * kept))


def gaussian(noise: dict[str, Any], shift: int, odds: Fraction) -> Fraction:
    """A log-concave table: the ratio P(h)/P(h−d) falls with h, so the worst set is a half-line."""
    half, unit = [int(w) for w in noise["weights"]], int(noise["unit"])
    falls = all(y * y >= x * z for x, y, z in zip(half, half[1:], half[2:], strict=False))
    require(falls and half[0] == max(half) and min(half) > 0 and unit % 2 == 1, "a table is not log-concave")
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
    width, inner = int(noise["width"]), int(noise["inner"])
    first, tail = [int(w) for w in noise["first"]], [int(w) for w in noise["tail"]]
    require(inner > 0 and shift <= width and min(*first, *tail) > 0 and len(tail) > 1, "the stairs are no stairs")
    cells, escape = 2 * inner - 1, Fraction(first[-1], sum(first))
    heights = [Fraction(first[0], sum(first) * cells)]
    heights += [Fraction(w, sum(first) * 2 * width) for w in first[1:-1]]
    block = [escape * w / (sum(tail) * 2 * width) for w in tail[:-1]]
    later = Fraction(tail[-1], sum(tail))  # each block is the one before it, this much lower
    steps = [*pairwise([*heights, block[0]])], [*pairwise([*block, block[0] * later])]
    require(all(x >= y for x, y in steps[0] + steps[1]), "a stair is higher than the one before it")
    down, again = ([max(Fraction(0), x - odds * y) for x, y in part] for part in steps)
    return min(shift, cells) * down[0] + shift * (sum(down[1:]) + sum(again) / (1 - later))


NOISE: dict[str, Callable[[dict[str, Any], int, Fraction], Fraction]] = {
    "two-sided": two_sided,
    "gaussian": gaussian,
    "stairs": stairs,
}

KINDS: dict[str, Callable[[dict[str, Any], Fraction], Iterator[Pair]]] = {
    "keep-or-other": keep_or_other,
    "bits": bits,
    "matrix": matrix,
    "unary": unary,
    "subset-selection": subset_selection,
}


def tables(noise: dict[str, Any]) -> tuple[list[Law], list[Law], Law]:
    """The lower digits, the top digit for each sign, and the top digit whatever the sign."""
    lower, top = ([[int(w) for w in table] for table in noise[name]] for name in ("lower", "top"))
    whole = all(len(t) == 128 for t in lower) and len(top) == 2 and len(top[0]) == len(top[1]) > 1
    require(whole and min(map(min, lower + top)) > 0, "a table of noise is not whole")
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
    inverse = [sum((-1) ** k * one // ((2 * k + 1) * m ** (2 * k + 1)) for k in range(bits)) for m in (5, 239)]
    root = isqrt((32 * inverse[0] - 8 * inverse[1]) * one)  # √(2π), by Machin's π = 16 atan(1/5) − 4 atan(1/239)
    return Fraction(1, 2) + Fraction(total, root) / exp_below(x * x / 2, bits)


def coefficients(record: dict[str, Any], epsilon: Fraction) -> Fraction:
    """δ at ε of noise on a vector of whole numbers that lies in a ball or a box.

    Laplace noise costs the odds of one step for every step of the l1 diameter. Gaussian noise, m^(n−1)·H + … + H of
    lattice Gaussians H, costs what two normal laws do that lie the l2 diameter apart, but for factors that are
    charged: e^(1/8σ²) and e^(K²/8σ⁴) for rounding, with all values beyond K = D + 10σ, and 2^-66 for each table.
    """
    terms, radius, box, noise = int(record["terms"]), record["radius"], record["box"], record["noise"]
    sides = [2 * int(b) for b in box] if box is not None else []
    require(terms > 0 and (len(sides) == terms if box is not None else int(radius) > 0), "a region is not one")
    square = sum(side * side for side in sides) if sides else 4 * int(radius) ** 2
    if record["norm"] == "l1":
        require(noise["kind"] == "two-sided" and noise["reach"] is None, "the noise does not fit its norm")
        size = sum(sides) if sides else isqrt(terms * square)
        return Fraction(int(size > 0 and step_odds(noise) > exp_below(epsilon / size)))
    require(record["norm"] == "l2" and noise["kind"] == "convolved", "the noise does not fit its norm")
    table, step, draws = number(noise["square"]), int(noise["step"]), int(noise["draws"])
    require(step > 0 < draws < 20 and table >= 4 * (step**2 + 1), "the tables of noise are too narrow")
    variance = table * sum(step ** (2 * n) for n in range(draws))
    sigma, root = Fraction(isqrt(int(variance * 4**32)), 2**32), Fraction(isqrt(square * 4**32) + 1, 2**32)
    ripple = Fraction(draws, 1 << 108)
    upper = terms * (1 / (8 * variance) + ripple)
    lower = terms * ((root + 10 * (sigma + 1)) ** 2 / (8 * variance**2) + ripple)
    mu, eps, odds = root / sigma, epsilon - upper - lower, exp_below(epsilon)
    require(eps >= 0, "epsilon is too small for this noise")
    profile = normal_below(mu / 2 - eps / mu) - exp_below(eps) * normal_below(-mu / 2 - eps / mu)
    charged = terms * (2 / exp_below(Fraction(50)) + draws * (1 + odds) / 2**66)
    return profile * exp_below(upper) * (1 + Fraction(1, 1 << 200)) + Fraction(1, 1 << 200) + charged


# Laws that are bounded as a whole, without going through pairs of inputs.
BOUNDS: dict[str, Callable[[dict[str, Any], Fraction], Fraction]] = {"coefficients": coefficients, "lattice": lattice}


def largest(part: dict[str, Any], epsilon: Fraction) -> tuple[Fraction, int, int]:
    """The largest divergence of one law at ε over its pairs of inputs, in both orders, and the pair that has it."""
    record, distances, kind = part["law"], part.get("distances"), part["law"]["kind"]
    if kind in BOUNDS and distances is None:
        return BOUNDS[kind](record, epsilon), 0, 1
    require(kind in KINDS, f"the kind of law {kind!r} is not known")
    require(distances is None or kind == "matrix", "metric privacy needs a law for each input")
    odds, worst = exp_below(epsilon), (Fraction(0), 0, 0)
    for i, j, p, q, total in KINDS[kind](record, Fraction(1) if distances else odds):
        at = exp_below(epsilon * number(distances[i][j])) if distances else odds
        worst = max(worst, (max(divergence(p, q, total, at), divergence(q, p, total, at)), i, j))
    return worst


def check_law(part: dict[str, Any]) -> None:
    """The promise of one law, and the tight values it claims."""
    name, epsilon, delta, tight = part["name"], number(part["epsilon"]), number(part["delta"]), part["tight"]
    worst, i, j = largest(part, epsilon)
    require(worst <= delta, f"{name!r} is not ({epsilon}, {delta})-private: inputs {i} and {j} show it")
    require(worst <= number(tight["delta"]), f"{name!r} has a larger delta than it says")
    if tight["epsilon"] != "inf":
        require(largest(part, number(tight["epsilon"]))[0] <= delta, f"{name!r} has a larger epsilon than it says")


def read(text: str) -> dict[str, Any]:
    """The certificate of a JSON text in which every digit counts and no name stands twice."""

    def named(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len(dict(pairs)) == len(pairs), "a name stands twice")
        return dict(pairs)

    def shortest(decimal: str) -> float:
        require(repr(float(decimal)) == decimal, "a number is not written as it was")
        return float(decimal)

    found: dict[str, Any] = json.loads(text, object_pairs_hook=named, parse_float=shortest)
    return found


def seal(body: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON: it finds slips and tampering, but it is no signature."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check_files(release: dict[str, Any], folder: Path) -> None:
    for name, digest in release.get("files", {}).items():
        require("/" not in name and "\\" not in name, "a file of the release lies elsewhere")
        require((folder / name).is_file(), f"the file {name} of the release is missing")
        with (folder / name).open("rb") as stream:
            require(hashlib.file_digest(stream, "sha256").hexdigest() == digest, f"the file {name} has changed")


def verify(certificate: dict[str, Any], folder: Path | None = None) -> None:
    """Raise Refused unless the whole certificate holds."""
    body = {key: value for key, value in certificate.items() if key != "seal"}
    require((body.get("format"), body.get("version")) == ("dproof certificate", 1), "not a certificate, version 1")
    require(certificate.get("seal") == seal(body), "the seal does not fit: the certificate was changed")
    require(body["neighbours"] in ("change-one", "add-remove"), "the neighbours are not stated")
    require(bool(body["laws"]), "there is no law to check")
    require(number(body["epsilon"]) <= 1000 and number(body["delta"]) <= 1, "the promise is not a promise")
    for promise in ("epsilon", "delta"):
        spent = sum(number(part[promise]) for part in body["laws"])
        require(spent <= number(body[promise]), f"the laws together exceed the promised {promise}")
    for part in body["laws"]:
        check_law(part)
    if folder is not None and body.get("release"):
        check_files(body["release"], folder)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(arguments[0])
    try:
        certificate = read(path.read_text(encoding="utf-8"))
        verify(certificate, path.parent)
    except Refused as refused:
        print(f"does not hold: {refused}")
        return 1
    except Exception as problem:  # whatever a damaged or hostile file provokes, it is refused
        print(f"does not hold: the file is not a readable certificate ({type(problem).__name__})")
        return 1
    promise = f"epsilon = {certificate['epsilon']}, delta = {certificate['delta']}, {certificate['neighbours']}"
    limits = ", for the listed pairs of inputs" * any("neighbours" in part["law"] for part in certificate["laws"])
    limits += ", epsilon times the distance of two inputs" * any("distances" in part for part in certificate["laws"])
    print(f"holds: {promise}, {len(certificate['laws'])} law(s){limits}")
    if certificate.get("private") is not True:
        print("but it was drawn with seeded coins: not private")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
