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
from dproof.privacy import Privacy
from dproof.sanitisation.plan import Plan
from dproof.sanitisation.row_law import Group, RowLaw, wanted_groups
from dproof.spaces.interval import Interval


def _matrix(record: Mapping[str, Any]) -> Matrix:
    total = int(record["total"])
    rows = [[int(w) for w in row] for row in record["rows"]]
    return Matrix(np.array(rows, np.int64 if total < 1 << 62 else object), total)


def _two_sided(record: Mapping[str, Any]) -> TwoSided:
    positive, negative = (tuple(map(int, table)) for table in record["top"])
    lower = tuple(tuple(map(int, table)) for table in record["lower"])
    return TwoSided(lower, (positive, negative), record["reach"])


def _stairs(record: Mapping[str, Any]) -> Stairs:
    first, tail = (tuple(map(int, record[key])) for key in ("first", "tail"))
    return Stairs(int(record["width"]), int(record["inner"]), first, tail)


NOISES: dict[str, Callable[[Mapping[str, Any]], NoiseLaw]] = {
    "two-sided": _two_sided,
    "stairs": _stairs,
    "gaussian": lambda r: Gaussian(Fraction(r["square"]), int(r["unit"])),
}

# How each kind of law is written, and the family it stands for.
FAMILIES: dict[str, Callable[[Mapping[str, Any]], Family]] = {
    "keep-or-other": lambda r: KeepOrOther(int(r["size"]), int(r["keep"]), int(r["other"])),
    "bits": lambda r: Bits(int(r["bits"]), int(r["stay"]), int(r["flip"])),
    "matrix": _matrix,
    "lattice": lambda r: Lattice(int(r["size"]), NOISES[r["noise"]["kind"]](r["noise"]), bool(r["clamped"])),
}


def recorded_law(plan: Plan, certificate: Mapping[str, Any]) -> RowLaw:
    """The law of the rows of a release, from its plan and certificate; refused where they do not fit each other."""
    try:
        return _read(plan, certificate)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
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
    wanted = wanted_groups(plan)
    records = certificate["laws"]
    if [group.name for group in wanted] != [record["name"] for record in records]:
        raise VerificationFailed("the certificate has laws for other columns than the plan")
    groups, parts = [], []
    for want, record in zip(wanted, records, strict=True):
        privacy = Privacy(record["epsilon"], record["delta"])
        bound = record["lower_bound"]
        error = record["error"]
        if want.kind == "curves":
            mechanism: Mechanism = recorded_curve_law(want.space, record["law"])
        else:
            family = FAMILIES[record["law"]["kind"]](record["law"])
            optimum = None if bound is None or error is None else Optimum("metric", Fraction(error), Fraction(bound))
            outputs = _outputs(want.space, family, certificate["release"]["lattices"].get(want.name))
            mechanism = Mechanism(record["mechanism"], want.space, outputs, family, record["source"], optimum)
            if family.inputs != want.space.size or (family.outputs != outputs.size and not isinstance(family, Lattice)):
                raise VerificationFailed(f"the law of {want.name!r} is for another space than the plan's")
        groups.append(Group(want.name, want.columns, privacy, mechanism))
        tight = record["tight"]
        parts.append(
            Part(
                want.name,
                record["mechanism"],
                record["source"],
                privacy,
                record["law"],
                float(tight["epsilon"]),
                float(tight["delta"]),
                None if error is None else Fraction(error),
                None if bound is None else Fraction(bound),
            )
        )
    return RowLaw(plan, tuple(groups), tuple(parts))
