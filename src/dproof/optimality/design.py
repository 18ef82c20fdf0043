"""The mechanism of least error that a guarantee allows, with a proof that none is better. HLM16, section 4.3."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import DproofWarning, InputError, TooLarge
from dproof.exact import exact, exp_above, exp_below
from dproof.laws.matrix import Matrix
from dproof.mechanisms.mechanism import Mechanism, Optimum
from dproof.mechanisms.randomised_response import randomised_response
from dproof.optimality.closed_forms import Found, ball_law, best_answers, constant_law
from dproof.optimality.dual import least_favourable, pure_bound
from dproof.optimality.error import Losses, losses
from dproof.optimality.interior import PureProgramme
from dproof.optimality.programme import LARGEST_PROGRAMME, Programme, between, privacy_pairs
from dproof.optimality.rounding import SLACK, certified_law, certified_metric_law
from dproof.optimality.symmetry import find_symmetry, homogeneous, mirror_rows, mirrored, unfold
from dproof.optimality.unbiased import RoundedAtRandom, output_lattice, unbiased_law
from dproof.privacy import Privacy
from dproof.spaces.interval import Interval
from dproof.spaces.space import Space

_LARGEST_PURE = 600_000  # inputs (half of them under reflection) times outputs
_LARGEST_LAW = 1 << 22  # entries of a law in closed form
_SOURCE = "linear programme, HLM15, section 6, and HLM16, section 4.3"


def design(
    space: Space,
    privacy: Privacy,
    *,
    loss: Any = None,
    outputs: Space | None = None,
    prior: Any = None,
    unbiased: bool = False,
    metric_privacy: bool = False,
) -> Mechanism:
    """The mechanism with the least maximal expected loss among all that keep the promise.

    minimise max_d E R(d, Y_d)  subject to  P(Y_d ∈ A) ≤ e^ε P(Y_d' ∈ A) + δ for all d, d' and A.

    `loss` is None for the metric, "squared", or a matrix; `outputs` a larger space; with a `prior` over the values
    the expected loss is minimised instead of the largest; with `metric_privacy` ε is multiplied by the distance of
    d and d'. `unbiased=True` is for intervals: E Y_d = d exactly with the least worst-case variance, and values
    between lattice points are first rounded at random to a neighbour.

    `mechanism.optimum` holds what is attained and what no mechanism can beat, both exact; they differ by less than one
    part in a million. Why it is private: the law is rounded to whole numbers and decided from these alone.

    >>> from dproof import Interval
    >>> best = design(Interval(0, 1, "0.5"), Privacy(1))
    >>> round(float(best.error), 9), best.optimum.gap < Fraction(1, 10**8)
    (0.302514609, True)
    """
    if unbiased:
        return _design_unbiased(space, privacy, loss, outputs, prior, metric_privacy)
    target = space if outputs is None else outputs
    problem = _Problem(space, target, privacy, _prior(prior, space.size), metric_privacy)
    if problem.is_randomised_response(loss):
        return randomised_response(space, privacy)
    problem.check_size(loss)
    costs = losses(space, target, loss)
    law, bound = problem.solve(costs)
    attained = costs.expected(law.rows, law.total)
    value = max(attained) if problem.prior is None else Fraction(problem.prior @ np.array(attained, object))
    name = costs.name if problem.prior is None else f"{costs.name}, under the prior"
    return _mechanism("optimal design", space, target, law, Optimum(name, value, min(bound, value)))


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    inputs: Space
    outputs: Space
    privacy: Privacy
    prior: NDArray[Any] | None
    metric_privacy: bool

    def is_randomised_response(self, loss: Any) -> bool:
        """HLM16, Theorem 10: the discrete metric, with outputs in D."""
        plain = loss is None and self.prior is None and not self.metric_privacy and self.outputs == self.inputs
        return plain and 1 < self.inputs.size and self.inputs.diameter == self.inputs.separation

    def check_size(self, loss: Any) -> None:
        """Refuse at once what would take hours."""
        k, j = self.inputs.size, self.outputs.size
        if k * j > _LARGEST_LAW or (self.privacy.delta > 0 and k * j > _LARGEST_LAW // 16):
            raise TooLarge(
                f"a design of {k} inputs by {j} outputs is too large; about 1000 by 1000 fit (30 by 30 with delta), "
                "so use a coarser step or fewer values"
            )

    def solve(self, costs: Losses) -> Found:
        epsilon, delta = self.privacy.epsilon, self.privacy.delta
        if self.inputs.size == 1 or delta == 1:
            return self._unconstrained(costs)
        if epsilon == 0 and delta == 0:
            return constant_law(costs, self.prior)
        if self.metric_privacy or delta > 0:
            return self._by_programme(costs)
        if self.prior is None and homogeneous(costs):
            return ball_law(costs, epsilon)
        return self._pure(costs)

    def _unconstrained(self, costs: Losses) -> Found:
        law, _ = best_answers(costs)
        least = [Fraction(int(loss), costs.unit) for loss in costs.whole.min(axis=1)]
        return law, max(least) if self.prior is None else Fraction(self.prior @ np.array(least, object))

    def _pure(self, costs: Losses) -> Found:
        """All pairs at δ = 0: the interior-point method that knows the shape."""
        (k, j), fold = costs.shape, mirrored(costs, self.prior)
        rows = (k + 1) // 2 if fold else k
        if rows * j > _LARGEST_PURE:
            raise TooLarge(
                f"a design of {k} inputs by {j} outputs is too large; about 1000 points on a line fit, or 700 of any "
                "kind, so use a coarser step or fewer values"
            )
        floats = costs.floats[:rows]
        scale = float(floats.max()) or 1.0
        spread = float(exp_above(self.privacy.epsilon) - 1) * (1 - SLACK)
        ones, losses_ = np.ones_like(floats), floats / scale
        if self.prior is None:
            programme = PureProgramme(
                np.stack([ones, losses_]), np.array([1.0, 0]), np.zeros_like(ones), spread, True, fold
            )
        else:
            # Under reflection an input stands for itself and its mirror image, the middle one for itself alone.
            weights = np.array([float(p) for p in self.prior[:rows]])
            if fold:
                weights *= np.where(np.arange(rows) == k - 1 - np.arange(rows), 1, 2)
            programme = PureProgramme(
                np.stack([ones]), np.array([1.0]), weights[:, None] * losses_, spread, False, fold
            )
        found = programme.solve()
        law, multipliers = found.law, found.multipliers
        if fold:
            law = mirror_rows(law, k)
            multipliers = np.stack([unfold(row, k) for row in multipliers])
        prices = least_favourable(multipliers[-1]) if self.prior is None else list(self.prior)
        bound = pure_bound(exp_above(self.privacy.epsilon), costs, prices, -scale * multipliers[0])
        return certified_law(law, self.privacy.epsilon, Fraction(0)), bound

    def _by_programme(self, costs: Losses) -> Found:
        """δ > 0 or metric privacy: the general programme, folded by symmetry."""
        epsilon, delta = self.privacy.epsilon, self.privacy.delta
        distances = losses(self.inputs) if self.metric_privacy else None
        fold = find_symmetry(self.inputs, self.outputs, costs, self.prior, distances)
        rho = None if distances is None else distances.whole * Fraction(1, distances.unit)
        pairs = privacy_pairs(fold, epsilon, rho, pure=delta == 0)
        programme = Programme(costs, fold, pairs, delta, self.prior)
        if programme.rows > LARGEST_PROGRAMME:
            raise TooLarge(
                f"this design has {programme.rows} constraints, and {LARGEST_PROGRAMME} fit: about 33 points on a line, "
                "27 of any kind, or sets of 8 items; use a coarser step or fewer values, or delta = 0"
            )
        law, bound = programme.solve(SLACK)
        if rho is None:
            return certified_law(law, epsilon, delta), bound
        edges = [
            (i, k, exp_below(epsilon * rho[i, k]))
            for i, k in np.argwhere(rho > 0).tolist()
            if delta > 0 or not between(rho, i, k)
        ]
        return certified_metric_law(law, edges, delta), bound


def _design_unbiased(
    space: Space, privacy: Privacy, loss: Any, outputs: Space | None, prior: Any, metric_privacy: bool
) -> Mechanism:
    if not isinstance(space, Interval) or not (outputs is None or isinstance(outputs, Interval)):
        raise InputError("an unbiased design is for numbers: give an Interval, and if any outputs, an Interval too")
    if loss not in (None, "squared") or prior is not None or metric_privacy or privacy.delta > 0:
        raise InputError("an unbiased design has the least worst-case variance at delta = 0; leave the rest out")
    if space.size == 1:
        return _mechanism("unbiased design", space, space, Matrix(np.ones((1, 1), np.int64), 1), _NOTHING)
    if privacy.epsilon == 0:
        raise InputError("at epsilon = 0 the release cannot depend on the value, so none is unbiased; spend some epsilon")
    target = output_lattice(space, privacy.epsilon) if outputs is None else outputs
    if (space.size + 1) // 2 * target.size > _LARGEST_PURE:
        raise TooLarge(
            f"an unbiased design of {space.size} points is too large; use a coarser step, such as a hundredth of the "
            "interval: values between its points keep an unbiased release"
        )
    law, squares, bound = unbiased_law(space, target, privacy.epsilon)
    value = max(squares.expected(law.rows, law.total))
    return _mechanism("unbiased design", RoundedAtRandom(space), target, law, Optimum("squared", value, bound))


_NOTHING = Optimum("squared", Fraction(0), Fraction(0))


def _prior(prior: Any, size: int) -> NDArray[Any] | None:
    if prior is None:
        return None
    if len(prior) != size:
        raise InputError(f"the prior has {len(prior)} probabilities for {size} values; give one for each")
    weights = [exact(p, "a probability of the prior") for p in prior]
    if min(weights) < 0 or sum(weights) == 0:
        raise InputError("the probabilities of a prior must not be negative, nor all zero")
    return np.array([p / sum(weights) for p in weights], object)


def _mechanism(name: str, inputs: Space, outputs: Space, law: Matrix, optimum: Optimum) -> Mechanism:
    found = Mechanism(name, inputs, outputs, law, _SOURCE, optimum)
    if np.linalg.matrix_rank(found.matrix(), tol=1e-9) < law.inputs:
        warnings.warn(
            "this design answers some values alike, so frequencies of single values cannot be estimated from it",
            DproofWarning,
            stacklevel=3,
        )
    return found
