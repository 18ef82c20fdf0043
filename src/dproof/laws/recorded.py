"""Laws read back from what a certificate holds of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dproof.errors import VerificationFailed
from dproof.laws.bits import Bits
from dproof.laws.convolved import Convolved
from dproof.laws.family import Family
from dproof.laws.gaussian import Gaussian
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.lattice import Lattice, NoiseLaw
from dproof.laws.matrix import Matrix
from dproof.laws.stairs import Stairs
from dproof.laws.two_sided import TwoSided

_LARGEST_WEIGHT = 10**2000 - 1

# The least and the largest that each number of a recorded law may be. What dproof writes lies well inside; what lies
# outside is no law, or would take for ever to look at. How numbers must go together, each law checks for itself.
RANGES: dict[str, tuple[Fraction | int, Fraction | int]] = {
    "size": (1, 1 << 62),
    "keep": (0, _LARGEST_WEIGHT),
    "other": (0, _LARGEST_WEIGHT),
    "bits": (1, 62),
    "stay": (0, _LARGEST_WEIGHT),
    "flip": (0, _LARGEST_WEIGHT),
    "rows": (0, _LARGEST_WEIGHT),
    "total": (1, _LARGEST_WEIGHT),
    "lower": (1, 1 << 128),
    "top": (1, 1 << 128),
    "reach": (1, 1 << 62),
    "width": (1, 1 << 62),
    "inner": (1, 1 << 62),
    "first": (1, 1 << 128),
    "tail": (1, 1 << 128),
    "square": (Fraction(1, 1 << 24), 1 << 30),
    "unit": (1, 1 << 50),
    "step": (1, 128),
    "draws": (1, 9),
    "error": (0, 1 << (1 << 15)),
    "lower_bound": (0, 1 << (1 << 15)),
}
_LONGEST = 4300  # digits of a number
_FARTHEST = 1 << 10  # blocks of a table of noise that a law is followed through
_MOST_CLAMPED = 1 << 21  # points of a clamped law, times the blocks of noise that they lie in


def _is_number(text: str) -> bool:
    return len(text) <= _LONGEST and text.isascii() and text.isdecimal()


def recorded_number(record: Mapping[str, Any], key: str) -> Any:
    """A number, or a table of them as tuples, each in its range; a whole one where it is written as one."""
    low, high = RANGES[key]

    def read(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(read, value))
        top, _, bottom = str(value).partition("/") if type(value) in (int, str) else ("", "", "")
        if _is_number(top) and (not bottom or _is_number(bottom)):
            number = Fraction(int(top), int(bottom)) if bottom else int(top)
            if low <= number <= high:
                return number
        raise VerificationFailed(f"the certificate cannot be read: {key!r} lies outside its range")

    return read(record[key])


def _numbers(record: Mapping[str, Any], *keys: str) -> list[Any]:
    return [recorded_number(record, key) for key in keys]


def _matrix(record: Mapping[str, Any]) -> Matrix:
    rows, total = _numbers(record, "rows", "total")
    return Matrix(np.array(rows, np.int64 if total < 1 << 62 else object), total)


def _two_sided(record: Mapping[str, Any]) -> TwoSided:
    lower, top = _numbers(record, "lower", "top")
    law = TwoSided(lower, top, None if record["reach"] is None else recorded_number(record, "reach"))
    if law.reach is not None and law.reach // law.unit > _FARTHEST * (len(top[0]) - 1):
        raise VerificationFailed("the certificate cannot be read: 'reach' lies too far beyond its table")
    return law


def _lattice(record: Mapping[str, Any]) -> Lattice:
    law = Lattice(
        recorded_number(record, "size"), NOISES[record["noise"]["kind"]](record["noise"]), bool(record["clamped"])
    )
    if law.clamped:
        block = law.noise.block or law.size
        if law.size * (law.size // block + 1) > _MOST_CLAMPED:
            raise VerificationFailed("the certificate cannot be read: a clamped law has too many points to go through")
    return law


NOISES: dict[str, Callable[[Mapping[str, Any]], NoiseLaw]] = {
    "two-sided": _two_sided,
    "stairs": lambda r: Stairs(*_numbers(r, "width", "inner", "first", "tail")),
    "gaussian": lambda r: Gaussian(Fraction(recorded_number(r, "square")), recorded_number(r, "unit")),
}

# How each kind of law is written, and the family it stands for.
LAWS: dict[str, Callable[[Mapping[str, Any]], Family]] = {
    "keep-or-other": lambda r: KeepOrOther(*_numbers(r, "size", "keep", "other")),
    "bits": lambda r: Bits(*_numbers(r, "bits", "stay", "flip")),
    "matrix": _matrix,
    "lattice": _lattice,
}


def recorded_noise(record: Mapping[str, Any]) -> TwoSided | Convolved:
    """The noise on each coefficient of a curve."""
    if record["kind"] == "two-sided":
        return _two_sided(record)
    return Convolved(Gaussian(Fraction(recorded_number(record, "square"))), *_numbers(record, "step", "draws"))


def recorded_law(record: Mapping[str, Any]) -> Family:
    """The law that `record()` wrote, with every number in its range."""
    return LAWS[record["kind"]](record)
