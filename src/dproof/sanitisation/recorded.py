"""The law of a row read back from a certificate: a release is queried by the law it was drawn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dproof.certification.certificate import Part
from dproof.curves.noise import recorded_curve_law
from dproof.errors import VerificationFailed
from dproof.laws.bits import Bits
from dproof.laws.family import Family
from dproof.laws.gaussian import Gaussian
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.lattice import Lattice, NoiseLaw
from dproof.laws.matrix import Matrix
from dproof.laws.stairs import Stairs
from dproof.laws.two_sided import TwoSided
from dproof.mechanisms.mechanism import Mechanism, Optimum
from dproof.sanitisation.plan import Plan
from dproof.sanitisation.row_law import Group, RowLaw
from dproof.spaces.interval import Interval


def _whole(record: Mapping[str, Any], *keys: str) -> list[Any]:
    """Numbers that are written as text, and tables of them as tuples."""

    def read(value: Any) -> Any:
        return tuple(map(read, value)) if isinstance(value, list) else int(value)

    return [read(record[key]) for key in keys]


def _matrix(record: Mapping[str, Any]) -> Matrix:
    rows, total = _whole(record, "rows", "total")
    return Matrix(np.array(rows, np.int64 if total < 1 << 62 else object), total)


def _two_sided(record: Mapping[str, Any]) -> TwoSided:
    lower, top = _whole(record, "lower", "top")
    return TwoSided(lower, top, record["reach"])


NOISES: dict[str, Callable[[Mapping[str, Any]], NoiseLaw]] = {
    "two-sided": _two_sided,
    "stairs": lambda r: Stairs(*_whole(r, "width", "inner", "first", "tail")),
    "gaussian": lambda r: Gaussian(Fraction(r["square"]), int(r["unit"])),
}

# How each kind of law is written, and the family it stands for.
FAMILIES: dict[str, Callable[[Mapping[str, Any]], Family]] = {
    "keep-or-other": lambda r: KeepOrOther(*_whole(r, "size", "keep", "other")),
    "bits": lambda r: Bits(*_whole(r, "bits", "stay", "flip")),
    "matrix": _matrix,
    "lattice": lambda r: Lattice(int(r["size"]), NOISES[r["noise"]["kind"]](r["noise"]), bool(r["clamped"])),
}


def recorded_law(plan: Plan, certificate: Mapping[str, Any]) -> RowLaw:
    """The law of the rows of a release, from its plan and certificate; refused where they do not fit each other."""
    try:
        return _read(plan, certificate)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise VerificationFailed(f"the certificate cannot be read ({type(error).__name__})") from None


def _outputs(space: Any, family: Family, lattice: Mapping[str, str] | None) -> Any:
    """Where a law ends up: anywhere on the lattice under noise that nothing bounds, else where it is recorded."""
    if isinstance(family, Lattice) and not family.clamped:
        return space.line
    return space if lattice is None else Interval(lattice["low"], lattice["high"], lattice["step"])


def _read(plan: Plan, certificate: Mapping[str, Any]) -> RowLaw:
    promise = plan.privacy
    if (str(promise.epsilon), str(promise.delta)) != (certificate["epsilon"], certificate["delta"]):
        raise VerificationFailed("the certificate promises something else than the plan")
    records = certificate["laws"]
    if [want.name for want in plan.groups] != [record["name"] for record in records]:
        raise VerificationFailed("the certificate has laws for other columns than the plan")
    groups = []
    for want, part in zip(plan.groups, map(Part.from_json, records), strict=True):
        if want.kind == "curves":
            mechanism: Mechanism = recorded_curve_law(want.space, part.law)
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
