"""The law of the rows of a release, read back from its plan and certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dproof.certification.certificate import Part
from dproof.curves.noise import recorded_curve_law
from dproof.errors import InputError, VerificationFailed
from dproof.laws.law import Law, law_from_json, read_number
from dproof.local.law import Group, RowLaw, promises, stored_alike
from dproof.local.spread import things
from dproof.mechanisms.mechanism import Mechanism, Optimum
from dproof.plans.plan import Plan, Wanted
from dproof.privacy import Privacy


def recorded_row_law(plan: Plan, certificate: Mapping[str, Any]) -> RowLaw:
    """The law of the rows of a release, from its plan and certificate; refused where they do not fit each other."""
    try:
        return _read(plan, certificate)
    except InputError as error:  # it quotes nothing but the plan and the certificate
        raise VerificationFailed(f"the certificate cannot be read: {error}") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise VerificationFailed(f"the certificate cannot be read ({type(error).__name__})") from None


def _outputs(space: Any, family: Law, lattice: Mapping[str, str] | None) -> Any:
    """Where a law ends up: anywhere on the lattice under noise that nothing bounds, else where it is recorded."""
    if family.outputs is None:
        return space.line
    return (
        family.released_in(space)
        if lattice is None
        else space.between(lattice["low"], lattice["high"], lattice["step"])
    )


def _part(record: Mapping[str, Any]) -> Part:
    for key in ("error", "lower_bound"):
        if record[key] is not None:
            read_number(record, key, (0, 1 << (1 << 15)))
    return Part.from_json(record)


def _spread(plan: Plan, sample: Any) -> tuple[Sequence[Wanted], Sequence[Privacy | None], tuple[int, ...] | None]:
    """The groups of a release, what each must promise, and the weights where a row answers for one of them.

    Optimal shares are taken as recorded: `verify` checks that they add up to no more than the promise.
    """
    if (sample is None and plan.spread == "sample") or (sample is not None and plan.spread in (None, "split")):
        raise VerificationFailed("the plan and the certificate disagree on `spread`")
    if sample is None:
        shares = promises(plan)
        return plan.groups, shares if plan.spread is None else [None] * len(shares), None
    asked = things(plan)
    if [entry["columns"] for entry in sample] != [[column.name for column in thing.columns] for thing in asked]:
        raise VerificationFailed("the certificate says that rows were asked something else than the plan")
    return asked, [plan.privacy] * len(asked), tuple(entry["weight"] for entry in sample)


def _read(plan: Plan, certificate: Mapping[str, Any]) -> RowLaw:
    promise = plan.privacy
    if (str(promise.epsilon), str(promise.delta)) != (certificate["epsilon"], certificate["delta"]):
        raise VerificationFailed("the certificate promises something else than the plan")
    records = certificate["laws"]
    wanted, given, weights = _spread(plan, certificate.get("sample"))
    if [want.name for want in wanted] != [record["name"] for record in records]:
        raise VerificationFailed("the certificate has laws for other columns than the plan")
    if promise.neighbours != certificate["neighbours"]:
        raise VerificationFailed("the certificate names other neighbours than the plan")
    groups = []
    for want, share, part in zip(wanted, given, map(_part, records), strict=True):
        if share is not None and part.privacy != share:
            raise VerificationFailed(f"the law of {want.name!r} has another share of the promise than in the plan")
        space = want.space  # one object: joined columns are a space that equals itself alone
        if space.holds_curves:
            mechanism: Mechanism = recorded_curve_law(space, part.law)
        else:
            family = law_from_json(part.law)
            outputs = _outputs(space, family, certificate["release"]["lattices"].get(want.name))
            sizes = space.size, None if family.outputs is None else outputs.size
            absent = {outputs.absent, outputs.absent if family.outputs is None else None}
            if (family.inputs, family.outputs) != sizes or family.absent not in absent:
                raise VerificationFailed(f"the law of {want.name!r} is for another space than the plan's")
            error, bound = part.error, part.lower_bound
            optimum = None if error is None or bound is None else Optimum("metric", error, bound)
            mechanism = Mechanism(part.mechanism, space, outputs, family, part.source, optimum)
        groups.append(Group(want.columns, mechanism, part))
    return RowLaw(plan, stored_alike(groups), weights)
