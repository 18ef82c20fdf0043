"""The law of a row read back from a certificate: a release is queried by the law it was drawn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dproof.certification.certificate import Part
from dproof.curves.noise import recorded_curve_law
from dproof.errors import InputError, VerificationFailed
from dproof.laws.bits import Bits
from dproof.laws.convolved import Convolved
from dproof.laws.family import Family
from dproof.laws.gaussian import Gaussian
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.lattice import Lattice, NoiseLaw
from dproof.laws.matrix import Matrix
from dproof.laws.stairs import Stairs
from dproof.laws.two_sided import TwoSided
from dproof.mechanisms.mechanism import Mechanism, Optimum
from dproof.sanitisation.plan import Plan
from dproof.sanitisation.row_law import Group, RowLaw, promises
from dproof.spaces.interval import Interval

# The least and the largest that each number of a recorded law may be. What dproof writes lies well inside; what lies
# outside is no law, or would take for ever to look at. How numbers must go together, each law checks for itself.
RANGES: dict[str, tuple[Fraction | int, Fraction | int]] = {
    "size": (1, 1 << 62),
    "keep": (0, 1 << 6644),
    "other": (0, 1 << 6644),
    "bits": (1, 62),
    "stay": (0, 1 << 6644),
    "flip": (0, 1 << 6644),
    "rows": (0, 1 << 6644),
    "total": (1, 1 << 6644),
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


def _number(record: Mapping[str, Any], key: str) -> Any:
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
    return [_number(record, key) for key in keys]


def _matrix(record: Mapping[str, Any]) -> Matrix:
    rows, total = _numbers(record, "rows", "total")
    return Matrix(np.array(rows, np.int64 if total < 1 << 62 else object), total)


def _two_sided(record: Mapping[str, Any]) -> TwoSided:
    lower, top = _numbers(record, "lower", "top")
    law = TwoSided(lower, top, None if record["reach"] is None else _number(record, "reach"))
    if law.reach is not None and law.reach // law.unit > _FARTHEST * (len(top[0]) - 1):
        raise VerificationFailed("the certificate cannot be read: 'reach' lies too far beyond its table")
    return law


def _lattice(record: Mapping[str, Any]) -> Lattice:
    law = Lattice(_number(record, "size"), NOISES[record["noise"]["kind"]](record["noise"]), bool(record["clamped"]))
    if law.clamped:
        noise = law.noise
        block = noise.unit * (len(noise.top[0]) - 1) if isinstance(noise, TwoSided) else law.size
        if law.size * (law.size // block + 1) > _MOST_CLAMPED:
            raise VerificationFailed("the certificate cannot be read: a clamped law has too many points to go through")
    return law


NOISES: dict[str, Callable[[Mapping[str, Any]], NoiseLaw]] = {
    "two-sided": _two_sided,
    "stairs": lambda r: Stairs(*_numbers(r, "width", "inner", "first", "tail")),
    "gaussian": lambda r: Gaussian(Fraction(_number(r, "square")), _number(r, "unit")),
}

# How each kind of law is written, and the family it stands for.
FAMILIES: dict[str, Callable[[Mapping[str, Any]], Family]] = {
    "keep-or-other": lambda r: KeepOrOther(*_numbers(r, "size", "keep", "other")),
    "bits": lambda r: Bits(*_numbers(r, "bits", "stay", "flip")),
    "matrix": _matrix,
    "lattice": _lattice,
}


def recorded_noise(record: Mapping[str, Any]) -> TwoSided | Convolved:
    """The noise on each coefficient of a curve."""
    if record["kind"] == "two-sided":
        return _two_sided(record)
    return Convolved(Gaussian(Fraction(_number(record, "square"))), *_numbers(record, "step", "draws"))


def recorded_law(plan: Plan, certificate: Mapping[str, Any]) -> RowLaw:
    """The law of the rows of a release, from its plan and certificate; refused where they do not fit each other."""
    try:
        return _read(plan, certificate)
    except InputError as error:  # it quotes nothing but the plan and the certificate
        raise VerificationFailed(f"the certificate cannot be read: {error}") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise VerificationFailed(f"the certificate cannot be read ({type(error).__name__})") from None


def _outputs(space: Any, family: Family, lattice: Mapping[str, str] | None) -> Any:
    """Where a law ends up: anywhere on the lattice under noise that nothing bounds, else where it is recorded."""
    if isinstance(family, Lattice) and not family.clamped:
        return space.line
    return space if lattice is None else Interval(lattice["low"], lattice["high"], lattice["step"])


def _part(record: Mapping[str, Any]) -> Part:
    for key in ("error", "lower_bound"):
        if record[key] is not None:
            _number(record, key)
    return Part.from_json(record)


def _read(plan: Plan, certificate: Mapping[str, Any]) -> RowLaw:
    promise = plan.privacy
    if (str(promise.epsilon), str(promise.delta)) != (certificate["epsilon"], certificate["delta"]):
        raise VerificationFailed("the certificate promises something else than the plan")
    records = certificate["laws"]
    if [want.name for want in plan.groups] != [record["name"] for record in records]:
        raise VerificationFailed("the certificate has laws for other columns than the plan")
    if promise.neighbours != certificate["neighbours"]:
        raise VerificationFailed("the certificate names other neighbours than the plan")
    groups = []
    for want, share, part in zip(plan.groups, promises(plan), map(_part, records), strict=True):
        if part.privacy != share:
            raise VerificationFailed(f"the law of {want.name!r} keeps another part of the promise than its share")
        if want.kind == "curves":
            noise = recorded_noise(part.law["noise"])
            mechanism: Mechanism = recorded_curve_law(want.space, part.law, noise)
        else:
            family = FAMILIES[part.law["kind"]](part.law)
            outputs = _outputs(want.space, family, certificate["release"]["lattices"].get(want.name))
            if family.inputs != want.space.size or (family.outputs != outputs.size and not isinstance(family, Lattice)):
                raise VerificationFailed(f"the law of {want.name!r} is for another space than the plan's")
            error, bound = part.error, part.lower_bound
            optimum = None if error is None or bound is None else Optimum("metric", error, bound)
            mechanism = Mechanism(part.mechanism, want.space, outputs, family, part.source, optimum)
        groups.append(Group(want.columns, mechanism, part))
    return RowLaw(plan, tuple(groups))
