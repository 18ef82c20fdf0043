"""Check a dproof certificate with nothing but the Python standard library.

    python verify_certificate.py certificate.json

For every law it holds, this program computes the largest P(A) − e^ε Q(A) over all neighbouring inputs and all sets
A, in whole numbers, with a fraction that is proven to lie below e^ε; it must not exceed δ. Then the promises of the
laws must add up to no more than the promise for the whole row, the seal must fit, and the files of the release, if
they lie beside the certificate, must have the recorded hashes. Exit code 0: all of it holds. 1: something does not.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

Law = list[int]


class Refused(Exception):
    """The certificate does not hold; the message says why."""


def require(condition: bool, why: str) -> None:
    if not condition:
        raise Refused(why)


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
    value = Fraction(total, 1 << bits)
    for _ in range(halvings):
        square = value * value
        value = Fraction((square.numerator << bits) // square.denominator, 1 << bits)
    return value if x else Fraction(1)


def divergence(p: Law, q: Law, total: int, odds: Fraction) -> Fraction:
    """Σ max(0, P − odds·Q): the least δ for which P(A) ≤ odds·Q(A) + δ on every set A."""
    a, b = odds.numerator, odds.denominator
    return Fraction(sum(max(0, x * b - y * a) for x, y in zip(p, q)), b * total)


def law_check(law: Law, total: int) -> None:
    require(min(law) >= 0 and sum(law) == total > 0, "a law does not sum to its total")


def keep_or_other(record: dict[str, Any]) -> Iterator[tuple[int, int, Law, Law, int]]:
    """Two inputs differ in two outputs only, and all pairs are alike."""
    size, keep, other = int(record["size"]), int(record["keep"]), int(record["other"])
    require(size > 0 and min(keep, other) >= 0, "a law has a negative weight")
    total = keep + (size - 1) * other
    if size > 1:
        for p, q in ([keep, other], [other, keep]), ([other, keep], [keep, other]):
            yield 0, 1, [*p, (size - 2) * other], [*q, (size - 2) * other], total


def bits(record: dict[str, Any]) -> Iterator[tuple[int, int, Law, Law, int]]:
    """The worst pair differs in every bit; outputs are grouped by how many bits turned."""
    h, stay, flip = int(record["bits"]), int(record["stay"]), int(record["flip"])
    require(h > 0 and min(stay, flip) >= 0, "a law has a negative weight")
    law = [comb(h, r) * stay ** (h - r) * flip**r for r in range(h + 1)]
    yield 0, (1 << h) - 1, law, law[::-1], (stay + flip) ** h
    yield (1 << h) - 1, 0, law[::-1], law, (stay + flip) ** h


def matrix(record: dict[str, Any]) -> Iterator[tuple[int, int, Law, Law, int]]:
    """Every ordered pair of rows, or the neighbouring ones only."""
    total = int(record["total"])
    rows = [[int(w) for w in row] for row in record["rows"]]
    for row in rows:
        law_check(row, total)
    k = len(rows)
    pairs = record.get("neighbours") or [[i, j] for i in range(k) for j in range(k) if i != j]
    for i, j in pairs:
        yield i, j, rows[i], rows[j], total


KINDS: dict[str, Callable[[dict[str, Any]], Iterator[tuple[int, int, Law, Law, int]]]] = {
    "keep-or-other": keep_or_other,
    "bits": bits,
    "matrix": matrix,
}


def check_law(part: dict[str, Any]) -> Fraction:
    """The largest divergence of one law at its ε; raises Refused where it exceeds its δ."""
    epsilon, delta, record = Fraction(part["epsilon"]), Fraction(part["delta"]), part["law"]
    require(epsilon >= 0 and 0 <= delta <= 1, "a promise is not a promise")
    require(record["kind"] in KINDS, f"the kind of law {record['kind']!r} is not known")
    distances = part.get("distances")
    odds, worst = exp_below(epsilon), Fraction(0)
    for i, j, p, q, total in KINDS[record["kind"]](record):
        law_check(p, total)
        law_check(q, total)
        at = odds if distances is None else exp_below(epsilon * Fraction(distances[i][j]))
        worst = max(worst, divergence(p, q, total, at))
        require(
            worst <= delta,
            f"{part['name']!r} is not ({epsilon}, {delta})-private: inputs {i} and {j} show it",
        )
    return worst


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
    require(
        body.get("format") == "dproof certificate" and body.get("version") == 1,
        "not a certificate, version 1",
    )
    require(certificate.get("seal") == seal(body), "the seal does not fit: the certificate was changed")
    require(body["neighbours"] in ("change-one", "add-remove"), "the neighbours are not stated")
    require(bool(body["laws"]), "there is no law to check")
    for part in body["laws"]:
        check_law(part)
    for promise in ("epsilon", "delta"):
        spent = sum(Fraction(part[promise]) for part in body["laws"])
        require(spent <= Fraction(body[promise]), f"the laws together exceed the promised {promise}")
    if folder is not None and body.get("release"):
        check_files(body["release"], folder)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(arguments[0])
    try:
        certificate = json.loads(path.read_text(encoding="utf-8"))
        verify(certificate, path.parent)
    except Refused as refused:
        print(f"does not hold: {refused}")
        return 1
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        ZeroDivisionError,
    ) as problem:
        print(f"does not hold: the file is not a readable certificate ({type(problem).__name__})")
        return 1
    promise = f"epsilon = {certificate['epsilon']}, delta = {certificate['delta']}, {certificate['neighbours']}"
    print(f"holds: {promise}, {len(certificate['laws'])} law(s)")
    if not certificate["private"]:
        print("but it was drawn with seeded coins: not private")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
