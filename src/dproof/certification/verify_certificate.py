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
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from math import comb
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


def keep_or_other(record: dict[str, Any], _: Fraction) -> Iterator[Pair]:
    """Two inputs differ in two outputs only, and all pairs are alike."""
    size, keep, other = int(record["size"]), int(record["keep"]), int(record["other"])
    total = keep + (size - 1) * other
    require(size > 0 and min(keep, other) >= 0 < total, "a law has a negative weight")
    if size > 1:
        yield 0, 1, [keep, other], [other, keep], total


def bits(record: dict[str, Any], _: Fraction) -> Iterator[Pair]:
    """The worst pair differs in every bit; outputs are grouped by how many bits turned."""
    h, stay, flip = int(record["bits"]), int(record["stay"]), int(record["flip"])
    require(0 < h <= 64 and min(stay, flip) >= 0 < stay + flip, "a law has a negative weight")
    law = [comb(h, r) * stay ** (h - r) * flip**r for r in range(h + 1)]
    yield 0, (1 << h) - 1, law, law[::-1], (stay + flip) ** h


def matrix(record: dict[str, Any], odds: Fraction) -> Iterator[Pair]:
    """Every pair of rows, or the neighbouring ones; outputs that no pair holds at more than the odds do not count."""
    total = int(record["total"])
    rows = [[int(w) for w in row] for row in record["rows"]]
    for row in rows:
        require(min(row) >= 0 and sum(row) == total > 0, "a law does not sum to its total")
    columns = [column for column in zip(*rows, strict=True) if max(column) > odds * min(column)]
    for i, j in record.get("neighbours") or combinations(range(len(rows)), 2):
        if columns:
            yield i, j, [column[i] for column in columns], [column[j] for column in columns], total


KINDS: dict[str, Callable[[dict[str, Any], Fraction], Iterator[Pair]]] = {
    "keep-or-other": keep_or_other,
    "bits": bits,
    "matrix": matrix,
}


def largest(part: dict[str, Any], epsilon: Fraction) -> tuple[Fraction, int, int]:
    """The largest divergence of one law at ε over its pairs of inputs, in both orders, and the pair that has it."""
    record, distances = part["law"], part.get("distances")
    kind = record["kind"]
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
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check_files(release: dict[str, Any], folder: Path) -> None:
    for name, digest in release.get("files", {}).items():
        require("/" not in name and "\\" not in name, "a file of the release lies elsewhere")
        file = folder / name
        require(file.is_file(), f"the file {name} of the release is missing")
        with file.open("rb") as stream:
            require(hashlib.file_digest(stream, "sha256").hexdigest() == digest, f"the file {name} has changed")


def verify(certificate: dict[str, Any], folder: Path | None = None) -> None:
    """Raise Refused unless the whole certificate holds."""
    body = {key: value for key, value in certificate.items() if key != "seal"}
    known = body.get("format") == "dproof certificate" and body.get("version") == 1
    require(known, "not a certificate, version 1")
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
    listed = any("neighbours" in part["law"] for part in certificate["laws"])
    print(f"holds: {promise}, {len(certificate['laws'])} law(s){', for the listed pairs of inputs' if listed else ''}")
    if certificate.get("private") is not True:
        print("but it was drawn with seeded coins: not private")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
