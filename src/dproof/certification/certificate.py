"""A certificate: the law of whole numbers and what it guarantees, as JSON that anyone can check again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from dproof.arguments import expect, listed
from dproof.certification.verify_certificate import LARGEST_FILE, Refused, seal
from dproof.certification.verify_certificate import read as read_strictly
from dproof.coins import NOT_PRIVATE
from dproof.errors import ArgumentError, InputError, VerificationFailed
from dproof.exact import exact, float_above, written
from dproof.mechanisms.mechanism import Mechanism
from dproof.privacy import Privacy

FORMAT = "dproof certificate"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Part:
    """One mechanism of a certificate: the part of the promise it must keep, and the tight values it attains."""

    name: str
    mechanism: str
    source: str
    privacy: Privacy
    law: Mapping[str, Any]
    epsilon: float  # tight at the promised δ, rounded up; infinite where no ε will do
    delta: float  # tight at the promised ε, rounded up
    error: Fraction | None
    lower_bound: Fraction | None
    distances: tuple[tuple[str, ...], ...] | None = None  # metric privacy: ε is multiplied by these

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Part:
        """The part that `to_json` wrote, of a release: such parts have no distances."""
        error, bound = (None if record[key] is None else Fraction(record[key]) for key in ("error", "lower_bound"))
        privacy, tight = Privacy(record["epsilon"], record["delta"]), record["tight"]
        named = (record["name"], record["mechanism"], record["source"])
        return cls(*named, privacy, record["law"], float(tight["epsilon"]), float(tight["delta"]), error, bound)

    def to_json(self) -> dict[str, Any]:
        record = {
            "name": self.name,
            "mechanism": self.mechanism,
            "source": self.source,
            "epsilon": str(self.privacy.epsilon),
            "delta": str(self.privacy.delta),
            "law": dict(self.law),
            "tight": {"epsilon": _finite(self.epsilon), "delta": self.delta},
            "error": None if self.error is None else str(self.error),
            "lower_bound": None if self.lower_bound is None else str(self.lower_bound),
        }
        return record if self.distances is None else {**record, "distances": [list(row) for row in self.distances]}


def certified_part(name: str, mechanism: Mechanism, privacy: Privacy) -> Part:
    """The part of a certificate for one mechanism; its tight values are computed from the law alone."""
    optimum = mechanism.optimum
    try:
        error: Fraction | None = mechanism.error
    except InputError:  # outputs in another space have no distance from the inputs
        error = None
    return Part(
        name,
        mechanism.name,
        mechanism.source,
        privacy,
        mechanism.family.to_json(),
        mechanism.epsilon(privacy.delta),
        mechanism.delta(privacy.epsilon),
        error,
        optimum.lower_bound if optimum is not None and optimum.loss == "metric" else None,
    )


@dataclass(frozen=True, slots=True)
class Certificate:
    """The promise for one whole row, the laws that keep it, and their release.

    The parts are independent mechanisms on the columns of one row, so their promises add up (basic composition). Where
    a row is `sampled` it answers for one part, drawn whatever its data, and none may promise more than the row.

    >>> from dproof import Categories, Privacy, certify, randomised_response
    >>> c = certify(randomised_response(Categories(["yes", "no"]), Privacy(1)), Privacy(1))
    >>> c.to_json()["format"], c.delta
    ('dproof certificate', 0.0)
    """

    privacy: Privacy
    parts: tuple[Part, ...]
    release: Mapping[str, Any] | None = None
    private: bool = True  # False where seeded coins were used
    sampled: tuple[tuple[tuple[str, ...], int], ...] | None = None  # for each part its columns, and its weight

    def __post_init__(self) -> None:
        expect(self.privacy, Privacy, "privacy", "a Privacy")
        for part in listed(self.parts, "parts", "a list of certified parts"):
            expect(part, Part, "each of the parts", "a certified part")
        together = sum if self.sampled is None else max
        epsilon = together([part.privacy.epsilon for part in self.parts] or [Fraction(0)])
        delta = together([part.privacy.delta for part in self.parts] or [Fraction(0)])
        if epsilon > self.privacy.epsilon or delta > self.privacy.delta:
            raise ArgumentError(
                f"the columns promise ({epsilon}, {delta}) together, more than the row's "
                f"({self.privacy.epsilon}, {self.privacy.delta})"
            )

    @property
    def epsilon(self) -> float:
        """The sum of the parts' tight ε, each at its own δ, rounded up; of a sampled row the largest."""
        parts = [part.epsilon for part in self.parts]
        return _sum_above(parts) if self.sampled is None else max(parts)

    @property
    def delta(self) -> float:
        """The sum of the parts' tight δ, each at its own ε, rounded up; of a sampled row the largest."""
        parts = [part.delta for part in self.parts]
        return _sum_above(parts) if self.sampled is None else max(parts)

    def to_json(self) -> dict[str, Any]:
        """The JSON object, sealed with a hash of all the rest."""
        body = {
            "format": FORMAT,
            "version": VERSION,
            "private": self.private,
            "neighbours": self.privacy.neighbours,
            "epsilon": str(self.privacy.epsilon),
            "delta": str(self.privacy.delta),
            "laws": [part.to_json() for part in self.parts],
            "release": None if self.release is None else dict(self.release),
        }
        if self.sampled is not None:
            body["sample"] = [{"columns": list(columns), "weight": weight} for columns, weight in self.sampled]
        return {**body, "seal": seal(body)}

    def write(self, path: str | Path) -> None:
        """Store it as JSON, which `dproof verify` and the stand-alone verifier read."""
        write_certificate(self.to_json(), Path(path))

    def __repr__(self) -> str:
        laws = ", ".join(f"{part.name!r} by {part.mechanism}" for part in self.parts)
        return f"<certificate: {self._promise()}; {laws}>"

    def _repr_html_(self) -> str:
        """The laws and their promises as a notebook shows them."""
        return laws_table(f"Certified: {self._promise()}", self.parts)

    def _promise(self) -> str:
        seeded = "" if self.private else f", {NOT_PRIVATE}"
        figures = f"ε = {written(self.privacy.epsilon)}, δ = {written(self.privacy.delta)}"
        return f"{figures}, {self.privacy.neighbours}{seeded}"


def laws_table(title: str, parts: Iterable[Part]) -> str:
    """Each law as HTML: ε and δ as promised, the tight ε, the error and the least possible."""
    from dproof.html import paragraph, table

    rows = (
        (
            part.name,
            part.mechanism,
            written(part.privacy.epsilon),
            written(part.privacy.delta),
            "∞" if part.epsilon == inf else written(part.epsilon, 6),
            *("" if value is None else written(value) for value in (part.error, part.lower_bound)),
        )
        for part in parts
    )
    return paragraph(title) + table(["law", "mechanism", "ε", "δ", "tight ε", "error", "at best"], rows)


def _sum_above(values: Iterable[float]) -> float:
    parts = list(values)
    return inf if inf in parts else float_above(sum(map(exact, parts), Fraction(0)))


def _finite(value: float) -> float | str:
    return "inf" if value == inf else value


def write_certificate(certificate: Mapping[str, Any], file: Path) -> None:
    """Store the sealed record of a law or of measured tables."""
    file.write_text(json.dumps(certificate, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_certificate(file: Path) -> dict[str, Any]:
    """The JSON object in a certificate's file; nothing about it is checked yet."""
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise VerificationFailed("the certificate is too large to be one")
        certificate = read_strictly(file.read_text("utf-8"))
    except Refused as refused:
        raise VerificationFailed(str(refused)) from None
    except (OSError, ValueError, RecursionError):
        raise VerificationFailed("the certificate is damaged: it cannot be read to its end") from None
    if not isinstance(certificate, dict):
        raise VerificationFailed("the certificate is damaged: it is no JSON object")
    return certificate
