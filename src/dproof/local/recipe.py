"""The recipe of the local model: the law of one row, certified before any data is opened.

It has independent mechanisms on the columns, or asks for one of several. It is read back from the plan and the
certificate of a release.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dproof.certification.certify import Certificate, Part, certify
from dproof.certification.compose import (
    blankets,
    compose_losses,
    normal_epsilon,
    own_worst_pair,
    shuffled_epsilon,
    usual_delta,
)
from dproof.certification.verify_certificate import Blanket, shuffled_delta
from dproof.columns.codec import Column
from dproof.curves.noise import recorded_curve_law
from dproof.errors import InputError, NotPrivate, PlanError, TooLarge, VerificationFailed
from dproof.exact import exact, exp_below, float_above, guessed, least_whole, log_above
from dproof.laws.law import law_from_json, read_number
from dproof.limits import MOST_COMBINATIONS, SHUFFLED_TOGETHER
from dproof.local.spread import best_shares, best_weights, needs, sample_variance, sampled_groups, split_variance
from dproof.mechanisms.mechanism import Mechanism, Optimum
from dproof.plans.plan import ASKED, ColumnGroup, Plan, schema_of, split
from dproof.privacy import Cost, Privacy
from dproof.questions.question import Schema
from dproof.spaces.categories import Codes
from dproof.spaces.interval import bins_from
from dproof.spaces.space import narrowest

if TYPE_CHECKING:
    from dproof.questions.estimated import Options
    from dproof.questions.measured import AnswerSource, Shares
    from dproof.questions.question import Question

_OTHERWISE = "write mechanism = 'randomised_response' for it and for what it is joined with"
_LARGEST_OF_A_ROW = 1200  # hundredths of ε: with more, nearly every row would be sent as it is
_OF_GROWTH = 0.8  # by which log δ grows a little less than it would in the limit
_MOST_COMPOSED = 256  # laws; their exact composition takes seconds then, and much longer beyond


@dataclass(frozen=True, slots=True)
class JointColumns:
    """Columns under one mechanism (one column, or those of a [[joint]]), and its part of the certificate.

    A column is stored in one form. Those that another group releases in another space are `coded`: stored as codes.
    """

    columns: tuple[Column, ...]
    mechanism: Mechanism
    part: Part
    coded: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.part.name

    @property
    def privacy(self) -> Privacy:
        """Its part of the promise."""
        return self.part.privacy

    @property
    def outputs(self) -> list[Any]:
        """The space that each column is released in."""
        outputs: Any = self.mechanism.outputs
        return [outputs] if len(self.columns) == 1 else list(outputs.factors.values())

    @property
    def storage(self) -> list[Any]:
        """The space that each column is stored in: the one that it is released in, or its codes."""
        pairs = zip(self.columns, self.outputs, strict=True)
        return [Codes(space.size) if column.name in self.coded else space for column, space in pairs]

    @property
    def answers_conditions(self) -> bool | None:
        """Whether conditions on its numbers are counts that are debiased sharply; None without numbers.

        Noise on a number leaves sums and means of it.
        """
        numbers = [column for column in self.columns if column.space.line is not None]
        if not numbers:
            return None
        return self.mechanism.family.is_sharp or all(column.bins is not None for column in numbers)

    def joined(self, codes: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The codes of the group, from the codes of its columns: mixed radix, the last column the fastest."""
        if len(codes) == 1:
            return codes[0]
        together = np.ravel_multi_index(tuple(codes), [column.sanitised.size for column in self.columns])
        return together.astype(narrowest(self.mechanism.inputs.size))

    def split(self, codes: NDArray[Any]) -> list[NDArray[Any]]:
        """The released codes of each column, from those of the group."""
        if len(self.columns) == 1:
            return [codes]
        return list(np.unravel_index(codes, [space.size for space in self.outputs]))


@dataclass(frozen=True, slots=True)
class Tight:
    """The least ε at the promised δ, and the least δ at the promised ε, both rounded up; bounds where not `exact`.

    No amount that is promised or paid, as the two do not hold together; and ε may be infinite.
    """

    epsilon: float
    delta: float
    exact: bool

    def to_json(self) -> dict[str, Any]:
        return {"epsilon": "inf" if self.epsilon == inf else self.epsilon, "delta": self.delta, "exact": self.exact}


@dataclass(frozen=True)
class RowLaw:
    """What happens to a row, and the proof of what it may lose.

    Rows are independent, so a table costs what a row costs (HLM15, Theorem 5); the columns of a row are
    independent too, and their promises add up. With `weights` each row answers for one of the groups, drawn with these
    weights whatever its data, and the row loses what that group loses: each group has the whole promise then.
    """

    plan: Plan
    groups: tuple[JointColumns, ...]
    weights: tuple[int, ...] | None = None

    @cached_property
    def schema(self) -> Schema:
        """What a question may ask of the release."""
        return schema_of(self.plan, "release")

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the stored release: the plan's, and what each row was asked."""
        return self.plan.stored if self.weights is None else (*self.plan.stored, ASKED)

    @property
    def chances(self) -> tuple[Fraction, ...]:
        """How likely a row answers for each group."""
        weights = self.weights
        return (
            (Fraction(1),) * len(self.groups) if weights is None else tuple(Fraction(w, sum(weights)) for w in weights)
        )

    @property
    def parts(self) -> tuple[Part, ...]:
        """The certified laws, one for each group."""
        return tuple(group.part for group in self.groups)

    @property
    def person(self) -> Privacy:
        """The promise to a person, who owns up to `rows_per_person` rows."""
        return self.plan.promise(self.plan.rows_per_person)

    @property
    def cost(self) -> Cost:
        """What a ledger counts of it: where a promise is made for rows in a random order, that one."""
        return Cost.of(self.plan.promised)

    def person_to_json(self) -> dict[str, Any]:
        """What is said about a person wherever a release or its plan is told."""
        rows, promise = self.plan.rows_per_person, self.person
        return {"rows": rows, **promise.to_json_above(), "tight": self.tight(rows).to_json()}

    def tight(self, rows: int = 1) -> Tight:
        """What `rows` rows of a person lose at most, by the laws themselves.

        At δ = 0 it is exact: independent columns and rows can all be at their worst at once, so the odds multiply.
        With δ it is the exact composition where the laws have a short one, else the sum of their tight values.
        """
        promise, families = self.plan.promise(rows), [group.mechanism.family for group in self.groups]
        if self.weights is not None:
            return self._tight_of_one(rows, promise)
        if not promise.delta:
            odds = [family.odds(Fraction(0)).value for family in families]
            # In logarithms: the odds of a million rows have a hundred million digits.
            logs = [log_above(value) for value in odds if value is not None]
            whole = inf if None in odds else float_above(rows * sum(logs, Fraction(0)))
            return Tight(whole, 0.0, exact=True)
        own = [own_worst_pair(family) for family in families] if len(families) * rows <= _MOST_COMPOSED else [None]
        with suppress(TooLarge):  # so many different laws that only their sum is told
            if None not in own:
                together = compose_losses([loss for loss in own if loss is not None] * rows)
                return Tight(together.epsilon(promise.delta), together.delta(promise.epsilon), exact=True)
        epsilon = rows * sum((exact(part.epsilon) for part in self.parts), Fraction(0))
        spent = rows * sum((exact(part.delta) for part in self.parts), Fraction(0))
        return Tight(float_above(epsilon), float_above(min(spent, Fraction(1))), exact=False)

    def shuffled(self, rows: int, within: int | None = None) -> Privacy | None:
        """What rows keep for whoever sees only them, in a random order of so many, or within parts of so many or more;
        None where that is nothing more."""
        plan = self.plan
        alone = plan.order == "shuffle" and not plan.named("public") and plan.rows_per_person == 1
        if not alone or plan.privacy.delta or rows < 2:
            return None
        if plan.shuffle.promise is not None:
            return plan.shuffle.promise
        delta = usual_delta(min(rows, SHUFFLED_TOGETHER))
        epsilon = shuffled_epsilon(self.blankets, max(1, plan.shuffle.hiding(rows, within)), delta)
        return None if epsilon is None or epsilon >= plan.privacy.epsilon else Privacy(epsilon, delta)

    @property
    def blankets(self) -> list[Blanket]:
        """What rows with this law have in common, by each way to bound it."""
        weights = None if self.weights is None else list(self.weights)
        return blankets((part.law for part in self.parts), self.plan.privacy.epsilon, weights)

    def _tight_of_one(self, rows: int, promise: Privacy) -> Tight:
        """Tight values of rows that answer for one group each: the largest ε of the groups, and the mean of their δ.

        What was drawn is told, so for two rows P(A) ≤ e^ε P'(A) + Σ w_t δ_t(ε). At δ = 0 the largest ε is attained.
        """
        epsilon = max(part.epsilon for part in self.parts)
        deltas = (chance * exact(part.delta) for chance, part in zip(self.chances, self.parts, strict=True))
        spent = min(rows * sum(deltas, Fraction(0)), Fraction(1))
        most = inf if epsilon == inf else float_above(rows * exact(epsilon))
        return Tight(most, float_above(spent), exact=not promise.delta)

    def group_of(self, column: str) -> JointColumns:
        """The group that sanitises a column."""
        for group in self.groups:
            if any(member.name == column for member in group.columns):
                return group
        raise PlanError(f"the column {column!r} is not sanitised by this plan")

    def certificate(self, release: dict[str, Any] | None = None, *, private: bool = True) -> Certificate:
        """The certificate of a row, with what is recorded about a release if there is one."""
        sampled = None
        if self.weights is not None:
            columns = (tuple(column.name for column in group.columns) for group in self.groups)
            sampled = tuple(zip(columns, self.weights, strict=True))
        return Certificate(self.plan.privacy, self.parts, release, private, sampled)

    def record(self, release: Mapping[str, Any], *, private: bool) -> dict[str, Any]:
        """The sealed certificate of a release, with what is recorded about it."""
        return self.certificate(dict(release), private=private).to_json()

    def expected_source(self, question: Question, rows: int, shares: Shares, level: float) -> AnswerSource:
        """What would answer a question from a release of so many rows, whose values are spread evenly."""
        from dproof.local.answer import expected_source

        return expected_source(self, question, rows, shares, level)

    def answer_source(self, drawn: Any, question: Question, options: Options) -> AnswerSource:
        """What answers a question from a release."""
        from dproof.local.answer import answer_source  # takes a parser of SQL and a database

        return answer_source(drawn, question, options)


def with_bounds(law: RowLaw) -> RowLaw:
    """A law of rows, each part with the error that no mechanism with its promise can beat. HLM15, section 6."""
    groups = (replace(group, part=replace(group.part, lower_bound=_bound(group))) for group in law.groups)
    return replace(law, groups=tuple(groups))


def _bound(group: JointColumns) -> Fraction:
    from dproof.optimality.bounds import lower_bound

    mechanism = group.mechanism
    if mechanism.optimum is not None and mechanism.optimum.loss == "metric":
        return mechanism.optimum.lower_bound
    inside = mechanism.outputs == mechanism.inputs
    return lower_bound(mechanism.inputs, group.privacy, outputs="inside" if inside else "anywhere").value


def certify_row(plan: Plan) -> RowLaw:
    """Split the promise over the columns, calibrate their mechanisms and certify each; no data is involved.

    >>> plan = Plan.from_dict({"privacy": {"epsilon": 2}, "columns": {
    ...     "read": {"space": "categories", "values": [0, 1]},
    ...     "hobby": {"space": "categories", "values": ["Cars", "Chess"], "share": 3}}})
    >>> [str(group.privacy.epsilon) for group in certify_row(plan).groups]
    ['1/2', '3/2']
    """
    if plan.shuffle.rows is not None and plan.shuffle.promise is None:
        return _shuffled(plan, plan.shuffle.hiding(plan.shuffle.rows))
    if plan.spread is None:
        return RowLaw(plan, _certified(zip(plan.groups, promises(plan), strict=True)))
    promises(plan)  # refuses what no release can keep
    return _spread(plan)


def _shuffled(plan: Plan, rows: int) -> RowLaw:
    """The law of a row with the largest ε, in hundredths, so that this many rows in a random order keep the promise."""
    whole, odds, rows = plan.privacy, exp_below(plan.privacy.epsilon), max(rows, 1)

    @cache
    def law(hundredths: int) -> RowLaw:
        return certify_row(row_of_shuffled(plan, Privacy(Fraction(hundredths, 100))))

    def about(found: list[Blanket]) -> list[tuple[float, Blanket]]:
        return sorted((normal_epsilon(blanket, rows, float(whole.delta)), blanket) for blanket in found)

    @cache
    def missed(hundredths: int) -> Fraction:
        """What is missed by the way that promises most or, where that is too much, by any way."""
        best = Fraction(1)
        for _, blanket in about(law(hundredths).blankets):
            best = min(best, shuffled_delta(rows, blanket, odds))
            if best <= whole.delta:
                break
        return best

    def within(hundredths: Fraction) -> Fraction:
        return Fraction(min(max(round(hundredths), 1), _LARGEST_OF_A_ROW))

    def is_beyond(hundredths: int) -> bool:
        """Whether some laws with this ε promise less; others may keep it."""
        (found, _), *_ = about(blankets([{"kind": "any"}], Fraction(hundredths, 100)))
        return hundredths > _LARGEST_OF_A_ROW or found > whole.epsilon

    # Laws take long to find, and what they miss exactly takes longer. So it is begun where any law is about right, and
    # moved by what the law there keeps: for the ε₀ of a row, ε goes as e^(ε₀/2) and log δ as e^(−ε₀).
    start = within(Fraction(least_whole(is_beyond, int(within(100 * whole.epsilon)))))
    (found, _), *_ = about(law(int(start)).blankets)
    near = within(start * Fraction((float(whole.epsilon) / found) ** min(200 / float(start), 1)))
    steep = max(_OF_GROWTH * float(log_above(1 / whole.delta) * near) / 100, 1)
    near = guessed(lambda place: float(missed(int(place))), whole.delta, near, steep, within)
    kept = least_whole(lambda place: place > _LARGEST_OF_A_ROW or missed(place) > whole.delta, int(near)) - 1
    return law(kept) if kept >= 0 else certify_row(row_of_shuffled(plan, Privacy(whole.epsilon)))


def row_of_shuffled(plan: Plan, own: Privacy) -> Plan:
    """The plan of a row, where [privacy] is the promise of the rows in a random order."""
    return replace(plan, privacy=own, shuffle=replace(plan.shuffle, promise=plan.privacy))


def _spread(plan: Plan) -> RowLaw:
    """The law that `spread` asks for; of both, the one with the smaller total variance."""
    sampled = None
    if plan.spread != "split":
        try:
            sampled = _sampled(plan)
        except InputError:
            if plan.spread == "sample":
                raise
    if plan.spread == "sample" and sampled is not None:
        return sampled
    shares = best_shares(plan, _calibrated)
    given = [plan.privacy.part(share) for share in shares]
    law = RowLaw(plan, _certified(zip(plan.groups, given, strict=True)))
    if sampled is None:
        return law
    one, all_of_them = expected_variance(sampled), expected_variance(law)
    return sampled if one is not None and all_of_them is not None and one < all_of_them else law


def _sampled(plan: Plan) -> RowLaw:
    """A row answers for one thing with all of the promise."""
    groups = _certified((thing, plan.privacy) for thing in sampled_groups(plan))
    weights = best_weights(needs(plan), [(group.columns, group.mechanism) for group in groups])
    return RowLaw(plan, groups, weights)


def expected_variance(law: RowLaw) -> float | None:
    """The total variance of what the plan needs, for each row and evenly spread values; None where it is not known."""
    laws = [(group.columns, group.mechanism) for group in law.groups]
    wanted = needs(law.plan)
    return split_variance(wanted, laws) if law.weights is None else sample_variance(wanted, laws, law.weights)


def _certified(wanted: Iterable[tuple[ColumnGroup, Privacy]]) -> tuple[JointColumns, ...]:
    """The groups; where a column could not be stored in one form, laws that are left open release its values."""
    pairs = list(wanted)
    try:
        return stored_alike(_each_certified(pairs))
    except InputError:
        plain = [(replace(w, uses=frozenset({"rows"})) if _needs_values(w) else w, privacy) for w, privacy in pairs]
        if plain == pairs:
            raise
        return stored_alike(_each_certified(plain))


def _needs_values(want: ColumnGroup) -> bool:
    """Whether what is counted has a column that holds no code: numbers on a line, or several fields."""
    return want.space.is_counted and any(len(c.stored) > 1 or c.sanitised.line is not None for c in want.columns)


def stored_alike(groups: Sequence[JointColumns]) -> tuple[JointColumns, ...]:
    """The groups, with the columns stored as codes that they release in different spaces; refused where that cannot be.

    Numbers on a line are numbers in each of them.
    """
    spaces: dict[str, list[Any]] = {}
    for group in groups:
        for column, space in zip(group.columns, group.outputs, strict=True):
            spaces.setdefault(column.name, []).append(space)
            if group.mechanism.family.is_coded and len(column.stored) > 1:
                raise PlanError(f"column {column.name!r} is stored in several fields, which hold no code: {_OTHERWISE}")
    several = {name: found for name, found in spaces.items() if any(space != found[0] for space in found[1:])}
    coded = {name for name, found in several.items() if any(space.line is None for space in found)}
    for group in groups:
        for column, space in zip(group.columns, group.outputs, strict=True):
            if column.name in coded and (len(column.stored) > 1 or space.line is not None):
                raise PlanError(f"column {column.name!r} would be stored in two forms: {_OTHERWISE}")
    return tuple(replace(g, coded=frozenset(coded & {c.name for c in g.columns})) for g in groups)


def _each_certified(wanted: Iterable[tuple[ColumnGroup, Privacy]]) -> list[JointColumns]:
    """Each group with its law; that of columns with the same values is worked out once."""
    groups, known = [], dict[Any, tuple[Mechanism, Part]]()
    for want, privacy in wanted:
        # 0 and False are the same key, and are not written alike.
        key = want.space, repr(want.space), privacy, want.mechanism, want.uses
        if key not in known:
            mechanism = _calibrated(want, privacy)
            try:
                (part,) = certify(mechanism, privacy, name=want.name).parts
            except NotPrivate as refused:  # a mechanism that was added
                raise NotPrivate(f"column {want.name!r}: {refused}", refused.witness) from None
            known[key] = mechanism, replace(part, lower_bound=None)
        mechanism, part = known[key]
        groups.append(JointColumns(want.columns, mechanism, replace(part, name=want.name)))
    return groups


def promises(plan: Plan) -> list[Privacy]:
    """The part of the promise that each group of columns gets by its share; refused where no release can keep it."""
    if plan.model != "local":
        raise PlanError("the plan has model = 'central', which draws no rows one by one: write model = 'local'")
    if not plan.has_row_law:
        raise PlanError(
            "a release keeps the number of rows, so it can only promise neighbours = 'change-one'; "
            "under 'add-remove' write model = 'central', or ask a curator"
        )
    plan.promise(plan.rows_per_person)  # refuses what is beyond any use
    return split(plan.privacy, plan.groups)


def _calibrated(want: ColumnGroup, privacy: Privacy) -> Mechanism:
    from dproof.local.mechanisms import choose  # designs are loaded where a law is chosen, and not to read one

    space = want.space
    try:
        if len(want.columns) > 1 and space.size > MOST_COMBINATIONS:
            raise PlanError(f"joined columns have {space.size} combinations; {MOST_COMBINATIONS} is the most")
        return choose(space, privacy, want.mechanism, want.uses)
    except InputError as error:
        raise PlanError(f"column {want.name!r}: {error}") from None


def recorded_row_law(plan: Plan, certificate: Mapping[str, Any]) -> RowLaw:
    """The law of the rows of a release, from its plan and certificate; refused where they do not fit each other.

    As recorded: the whole numbers of each law, its error and tight values, weights, bins of questions, shares that were
    optimised, the ε of a row of shuffled ones. Worked out again: columns, groups, spaces, stated shares. No law is
    designed.
    """
    try:
        return _row_law_of(plan, certificate)
    except InputError as error:  # it quotes nothing but the plan and the certificate
        raise VerificationFailed(f"the certificate cannot be read: {error}") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise VerificationFailed(f"the certificate cannot be read ({type(error).__name__})") from None


def _part(record: Mapping[str, Any]) -> Part:
    for key in ("error", "lower_bound"):
        if record[key] is not None:
            read_number(record, key, (0, 1 << (1 << 15)))
    return Part.from_json(record)


def _recorded_spread(
    plan: Plan, sample: Any
) -> tuple[Sequence[ColumnGroup], Sequence[Privacy | None], tuple[int, ...] | None]:
    """The groups of a release, what each must promise, and the weights where a row answers for one of them.

    Optimal shares are taken as recorded: `verify` checks that they add up to no more than the promise.
    """
    if (sample is None and plan.spread == "sample") or (sample is not None and plan.spread in (None, "split")):
        raise VerificationFailed("the plan and the certificate disagree on `spread`")
    if sample is None:
        shares = promises(plan)
        return plan.groups, shares if plan.spread is None else [None] * len(shares), None
    asked = sampled_groups(plan)
    if [entry["columns"] for entry in sample] != [[column.name for column in thing.columns] for thing in asked]:
        raise VerificationFailed("the certificate says that rows were asked something else than the plan")
    return asked, [plan.privacy] * len(asked), tuple(entry["weight"] for entry in sample)


def _with_recorded_bins(plan: Plan, recorded: Mapping[str, list[int]]) -> Plan:
    """The plan with the bins that a release chose for its questions; of earlier versions none."""
    found = {}
    for name, starts in recorded.items():
        column = plan.column(name)
        rising = starts[:1] == [0] and all(a < b for a, b in pairwise((*starts, column.space.candidates)))
        if not rising or column.space.line is None or (column.bins is not None and name not in plan.chosen_bins):
            raise VerificationFailed(f"the certificate has bins for {name!r} that are none")
        found[name] = bins_from(column.space.without_missing, starts)
    return plan.with_chosen_bins(found)


def _row_law_of(plan: Plan, certificate: Mapping[str, Any]) -> RowLaw:
    if plan.shuffle.rows is not None:
        plan = row_of_shuffled(plan, Privacy(Fraction(certificate["epsilon"])))
    promise = plan.privacy
    if (str(promise.epsilon), str(promise.delta)) != (certificate["epsilon"], certificate["delta"]):
        raise VerificationFailed("the certificate promises something else than the plan")
    plan = _with_recorded_bins(plan, certificate["release"].get("bins", {}))
    records = certificate["laws"]
    wanted, given, weights = _recorded_spread(plan, certificate.get("sample"))
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
            family, lattice = law_from_json(part.law), certificate["release"]["lattices"].get(part.name)
            size = family.outputs
            if size is None:  # noise that nothing bounds, anywhere on the line
                outputs = space.line
            elif lattice is None:
                outputs = family.released_in(space)
            else:
                outputs = space.between(lattice["low"], lattice["high"], lattice["step"])
            absent = {outputs.absent, None} if size is not None else {outputs.absent}
            sizes = space.size, None if size is None else outputs.size
            if (family.inputs, size) != sizes or family.absent not in absent:
                raise VerificationFailed(f"the law of {want.name!r} is for another space than the plan's")
            error, bound = part.error, part.lower_bound
            optimum = None if error is None or bound is None else Optimum("metric", error, bound)
            mechanism = Mechanism(part.mechanism, space, outputs, family, part.source, optimum)
        groups.append(JointColumns(want.columns, mechanism, part))
    return RowLaw(plan, stored_alike(groups), weights)
