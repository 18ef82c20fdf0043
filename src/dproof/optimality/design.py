"""The mechanism of least error that a guarantee allows, with a proof that none is better; for a column, or for a row.

HLM16, section 4.3. Also numbers of least variance: released without bias, at worst or under a prior, or for the mean of
a population. Long intervals are designed on a coarse lattice, to which values are rounded at random.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, exp, lcm
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dproof import coins
from dproof.arguments import choice, expect, flag, listed, mapping, named
from dproof.certification.certify import decide
from dproof.errors import ArgumentError, DproofWarning, TooLarge, did_you_mean
from dproof.exact import exact, exp_above, exp_below, written
from dproof.laws.law import counted
from dproof.laws.matrix import Matrix, RoundedLaw
from dproof.mechanisms.finite import as_neighbours, randomised_response
from dproof.mechanisms.mechanism import Losses, Mechanism, Optimum, losses
from dproof.optimality.interior import LARGEST_PROGRAMME
from dproof.optimality.programme import (
    SIMPLEX,
    SLACK,
    WHOLE,
    LinearRows,
    Programme,
    Solution,
    Symmetry,
    attained_optimum,
    ball_law,
    best_answers,
    between,
    certified_law,
    certified_pairs_law,
    find_symmetry,
    free_answer,
    privacy_constraints,
    pure_bound,
    pure_law,
    solve_priced,
    spread,
    view,
)
from dproof.privacy import Privacy, Promise
from dproof.spaces.categories import Categories
from dproof.spaces.interval import Interval
from dproof.spaces.products import Rows
from dproof.spaces.space import Space, as_space, is_arrow, narrowest

_LARGEST_LAW = 1 << 22  # entries
_LARGEST_PROGRAMME = 20_000  # constraints
_MOST_PAIRED = 300  # inputs whose pairs are looked at one by one
_LARGEST_RANK = 1024  # inputs up to which it is told whether the law can be inverted
_NEGLIGIBLE = Fraction(1, 10**9)  # a δ up to this changes the optimum by less than its proof can tell
_LARGEST_GAP = Fraction(1, 10**6)
_FISHER = "linear programme, Kairouz, Oh and Viswanath 2016"
_SOURCE = "linear programme, HLM15, section 6, and HLM16, section 4.3"


@named
def design(
    space: Space,
    privacy: Promise,
    *,
    loss: Any = None,
    outputs: Space | None = None,
    prior: Any = None,
    unbiased: bool = False,
    metric_privacy: bool = False,
    neighbours: Any = None,
) -> Mechanism:
    """The mechanism with the least maximal expected loss among all that keep the promise.

    minimise max_d E R(d, Y_d)  subject to  P(Y_d ∈ A) ≤ e^ε P(Y_d' ∈ A) + δ for all d, d' and A.

    `loss` is None for the metric, "squared", or a matrix; `outputs` a larger space; with a `prior` over the values
    the expected loss is minimised instead of the largest; with `metric_privacy` ε is multiplied by the distance of
    d and d'. `neighbours`, where not every pair of inputs counts, are pairs of labels or a square matrix of booleans:
    the promise then holds between these alone.

    `unbiased=True` is for intervals: E Y_d = d exactly with the least worst-case variance, or with a prior the least on
    average, and values between lattice points are first rounded at random to a neighbour. `loss="fisher"`, for an
    interval of few points and a prior, gives the mean of a population near the prior its least variance, for each row
    (`fisher_law`).

    `mechanism.optimum` holds what is attained and what no mechanism can beat, both exact; they differ by less than one
    part in a million, or a warning says by how much (ε above 20, δ near 1). A warning also tells when no estimator can
    undo the law. Why it is private: the law is rounded to whole numbers, and these alone decide.

    `space` holds the values; `privacy` is a Privacy or a number ε.

    >>> from dproof import Interval
    >>> best = design(Interval(0, 1, "0.5"), Privacy(1))
    >>> round(float(best.error), 8), best.optimum.gap < Fraction(1, 10**8)
    (0.30251461, True)
    """
    best = Problem(space, Privacy.of(privacy), loss, outputs, prior, unbiased, metric_privacy, neighbours).best()
    if best.family.is_sharp:
        return best  # randomised response
    advice = []
    if space.size <= _LARGEST_RANK and np.linalg.matrix_rank(best.matrix(), tol=1e-9) < space.size:
        advice.append("cannot be inverted, so frequencies of single values cannot be estimated from it")
    if best.optimum is not None and best.optimum.gap > _LARGEST_GAP:
        advice.append(_gap(best.optimum))
    for what in advice:
        warnings.warn(f"this design {what}", DproofWarning, stacklevel=2)
    return best


def _gap(optimum: Optimum) -> str:
    if optimum.lower_bound == 0:
        return f"is proven to be within {written(optimum.value)} of the best, which is too close to 0 to say more"
    return f"is proven to be within {float(optimum.gap):.1g} of the best, relatively, and no closer"


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A task for `design`; its best mechanism is found without a warning."""

    inputs: Space
    privacy: Privacy
    loss: Any = None
    outputs: Any = None  # a space; the inputs if it is not given
    prior: Any = None  # fractions of sum 1, if it is given
    unbiased: bool = False
    metric_privacy: bool = False
    neighbours: Any = None  # a matrix of the pairs that count, if they are given

    def __post_init__(self) -> None:
        as_space(self.inputs)
        object.__setattr__(self, "outputs", self.inputs if self.outputs is None else as_space(self.outputs, "outputs"))
        flag(self.unbiased, "unbiased")
        flag(self.metric_privacy, "metric_privacy")
        object.__setattr__(self, "prior", _prior(self.prior, self.inputs.size))
        if self.neighbours is not None and (self.metric_privacy or self.unbiased):
            other = "metric_privacy" if self.metric_privacy else "unbiased"
            raise ArgumentError(f"neighbours and {other} cannot be combined; leave one of them out")
        if not self.metric_privacy:  # which multiplies ε by the distance of any two inputs
            object.__setattr__(self, "neighbours", as_neighbours(self.neighbours, self.inputs))

    def best(self) -> Mechanism:
        """The mechanism of least loss, and what proves it."""
        if self.unbiased:
            return self._best_unbiased()
        if isinstance(self.loss, str) and self.loss == "fisher":
            return self._best_information()
        if self._is_randomised_response():
            return randomised_response(self.inputs, self.privacy)
        k, j = self.inputs.size, self.outputs.size
        if k * j > _LARGEST_LAW:
            raise TooLarge(
                f"a design of {counted(k)} inputs by {counted(j)} outputs is too large; about 1000 by 1000 fit, so use "
                "a coarser step or fewer values"
            )
        costs = losses(self.inputs, self.outputs, self.loss)
        law, bound = self._solve(costs)
        optimum = attained_optimum(costs, law, self.prior, bound)
        return Mechanism("optimal design", self.inputs, self.outputs, law, _SOURCE, optimum)

    def _is_randomised_response(self) -> bool:
        """HLM16, Theorem 10: the discrete metric, with outputs in D."""
        plain = self.loss is None and self.prior is None and not self.metric_privacy and self.neighbours is None
        space = self.inputs
        return plain and self.outputs == space and space.size > 1 and space.diameter == space.separation

    def _solve(self, costs: Losses) -> Solution:
        """A certified law, and a proven lower bound of what any can attain."""
        epsilon, delta = self.privacy.epsilon, self.privacy.delta
        if self.inputs.size == 1 or delta == 1:
            return best_answers(costs, self.prior)
        free = free_answer(costs, self.prior)
        if free is not None:
            return free
        if epsilon == 0 and delta <= _NEGLIGIBLE:
            return self._constant(costs)
        if self.metric_privacy or self.neighbours is not None or delta > _NEGLIGIBLE:
            return self._by_programme(costs)
        seen = view(costs) if self.prior is None and delta == 0 else None
        if seen is not None:
            return ball_law(costs, seen, epsilon)
        law, bound = pure_law(costs, epsilon, self.prior, delta)
        return certified_law(law, epsilon, Fraction(0)), bound

    def _constant(self, costs: Losses) -> Solution:
        """ε = 0 leaves one law for all inputs, or for those that a chain of neighbours connects: the best mixture of
        outputs against the worst mixture of inputs.

        A δ > 0 lowers the optimum by the factor 1 − (K − 1)δ at most (`pure_bound`, with μ_i = E/K).
        """
        (k, j), pure = costs.shape, Fraction(0)
        alike = Symmetry(_connected(self.neighbours, k)[:, None] * j + np.arange(j), tuple(range(k)), (1,) * k, ())
        law, bound = Programme(costs, alike, (), pure, self.prior).solve(0.0)
        least = max(1 - (k - 1) * self.privacy.delta, pure) * bound
        if self.neighbours is None:
            return certified_law(law, pure, pure), least
        return self._between_neighbours(law, pure), least

    def _between_neighbours(self, law: NDArray[np.float64], delta: Fraction) -> Matrix:
        odds = exp_below(self.privacy.epsilon)
        edges = [(i, k, odds) for i, k in np.argwhere(self.neighbours).tolist()]
        made = certified_pairs_law(law, edges, delta)
        return Matrix(made.rows, made.total, self.neighbours)

    def _by_programme(self, costs: Losses) -> Solution:
        """δ > 0, metric privacy or neighbours: the general programme, folded by symmetry."""
        epsilon, delta = self.privacy.epsilon, self.privacy.delta
        too_large = TooLarge(
            f"a design of {costs.shape[0]} inputs by {costs.shape[1]} outputs with delta, metric privacy or "
            "neighbours is too large; about 33 points on a line fit, 27 of any kind, or sets of 8 items: use a coarser "
            "step or fewer values, or delta = 0"
        )
        if costs.shape[0] > _MOST_PAIRED:
            raise too_large
        distances = losses(self.inputs) if self.metric_privacy else None
        fold = find_symmetry(self.inputs, self.outputs, costs, self.prior, distances, self.neighbours)
        rho = None if distances is None else distances.whole * Fraction(1, distances.unit)
        pairs = [pair for pair in fold.pairs if rho is None or delta > 0 or not between(rho, *pair)]
        if len(pairs) * min(costs.shape[1], 1 + int(fold.orbits.max())) > _LARGEST_PROGRAMME:
            raise too_large
        programme = Programme(costs, fold, privacy_constraints(fold, pairs, epsilon, rho), delta, self.prior)
        law, bound = programme.solve(SLACK)
        if self.neighbours is not None:
            return self._between_neighbours(law, delta), bound
        if rho is None:
            return certified_law(law, epsilon, delta), bound
        ordered = (pair for pair in np.argwhere(rho > 0).tolist() if delta > 0 or not between(rho, *pair))
        edges = [(i, k, exp_below(epsilon * rho[i, k])) for i, k in ordered]
        return certified_pairs_law(law, edges, delta), bound

    def _best_information(self) -> Mechanism:
        plain = self.outputs is self.inputs and not self.metric_privacy and self.neighbours is None
        if not plain or self.privacy.delta > 0:
            raise ArgumentError(
                "Fisher information is maximised at delta = 0, with its own outputs; leave the rest out"
            )
        law, outputs, optimum = fisher_law(self.inputs, self.privacy.epsilon, self.prior)
        return Mechanism("design by Fisher information", self.inputs, outputs, law, _FISHER, optimum)

    def _best_unbiased(self) -> Mechanism:
        space: Any = self.inputs
        target, epsilon = self.outputs, self.privacy.epsilon
        if self.loss is not None and not (isinstance(self.loss, str) and self.loss == "squared"):
            raise ArgumentError("an unbiased design has the least variance; leave the loss out")
        if space.line is None or target.line is None:
            raise ArgumentError("an unbiased design is for numbers: give an Interval, and outputs, if any, as one too")
        if self.metric_privacy or self.privacy.delta > 0:
            raise ArgumentError("an unbiased design is for the least variance at delta = 0; leave the rest out")
        if space.size == 1:
            law, optimum = Matrix(np.ones((1, 1), np.int64), 1), Optimum("squared", Fraction(0), Fraction(0))
        else:
            demand_epsilon(epsilon)
            target = output_lattice(space, epsilon) if target is space else target
            if (space.size + 1) // 2 * target.size > LARGEST_PROGRAMME:
                raise TooLarge(
                    f"an unbiased design of {space.size} points is too large; use a coarser step, such as a hundredth "
                    "of the interval: values between its points keep an unbiased release"
                )
            law, optimum = unbiased_law(space, target, epsilon, self.prior)
        return Mechanism("unbiased design", RoundedAtRandom(space), target, law, _SOURCE, optimum)


def _connected(neighbours: NDArray[np.bool_] | None, size: int) -> NDArray[np.int64]:
    """A number from 0 for each input, the same for those that a chain of neighbours connects."""
    if neighbours is None:
        return np.zeros(size, np.int64)
    reached = neighbours | np.eye(size, dtype=bool)
    for _ in range(size.bit_length()):  # chains twice as long each time
        reached = reached @ reached
    return np.unique(reached.argmax(axis=1), return_inverse=True)[1]


def _prior(prior: Any, size: int) -> NDArray[Any] | None:
    """The prior as fractions of sum 1."""
    if prior is None:
        return None
    given = listed(prior, "prior", "a list of probabilities, one for each value")
    weights = [exact(p, "a probability of the prior") for p in given]
    if len(weights) != size:
        raise ArgumentError(f"the prior has {len(weights)} probabilities for {counted(size)} values; give one for each")
    if min(weights) < 0 or sum(weights) == 0:
        raise ArgumentError("the probabilities of a prior must not be negative, nor all zero")
    return np.array([p / sum(weights) for p in weights], object)


# A row of several columns ---------------------------------------------------------------------------------------------

Aim = Literal["largest", "sum"]
_PARTS_PER_COLUMN = 12


@dataclass(frozen=True, slots=True)
class RowDesign:
    """An optimal mechanism for every column, and its share of the promise; the shares add up to 1."""

    shares: Mapping[str, Fraction]
    mechanisms: Mapping[str, Mechanism]
    errors: Mapping[str, Fraction]  # maximal expected error, relative to that of a release which tells nothing

    def __repr__(self) -> str:
        columns = (
            f"{name!r} by {mechanism.name} with {self.shares[name]} of the promise, relative error "
            f"{written(self.errors[name])}"
            for name, mechanism in self.mechanisms.items()
        )
        return f"<row: {'; '.join(columns)}>"


def design_row(
    row: Rows, privacy: Promise, *, aim: Aim = "largest", weights: Mapping[str, Any] | None = None
) -> RowDesign:
    """Optimal mechanisms for the columns of a row that together keep the promise, with the best split of it.

    A column's relative error is its maximal expected error over that of a release which tells nothing (ε = 0).
    `aim="largest"` makes the largest of them as small as can be, "sum" their sum; `weights` multiply them. Shares are
    multiples of a twelfth of an even share, and among these the split is the best: a part at a time to the column that
    is worst off, or for the sum by dynamic programming. Columns of one row compose: their ε and δ add up.

    `row` is the space of a row; `privacy` is a Privacy or a number ε.

    >>> from dproof import Categories
    >>> row = Rows({"smoker": Categories(["no", "yes"]), "hobby": Categories(list(range(20)))})
    >>> {name: str(share) for name, share in design_row(row, Privacy(2)).shares.items()}
    {'smoker': '1/6', 'hobby': '5/6'}
    """
    expect(row, Rows, "row", "a row of columns, as Rows({'age': …}) makes")
    privacy = Privacy.of(privacy)
    choice(aim, get_args(Aim), "aim")
    given = {} if weights is None else mapping(weights, "weights", "a mapping from columns to weights")
    scales = {name: exact(given.get(name, 1), f"the weight of {name!r}") for name in row.columns}
    unknown = [name for name in given if name not in row.columns]
    if unknown:
        raise ArgumentError(f"there is no column {unknown[0]!r} to weigh{did_you_mean(unknown[0], row.columns)}")
    if min(scales.values()) < 0:
        raise ArgumentError("a weight must not be negative")
    parts = _PARTS_PER_COLUMN * len(row.columns)

    @cache
    def designed(name: str, given: int) -> Mechanism:
        return Problem(row.columns[name], privacy.part(Fraction(given, parts))).best()

    def relative(name: str, given: int) -> Fraction:
        nothing = designed(name, 0).error
        return designed(name, given).error / nothing if nothing else Fraction(0)

    split = _even_out if aim == "largest" else _least_sum
    chosen = split(list(row.columns), parts, lambda name, given: float(scales[name] * relative(name, given)))
    return RowDesign(
        {name: Fraction(given, parts) for name, given in chosen.items()},
        {name: designed(name, given) for name, given in chosen.items()},
        {name: relative(name, given) for name, given in chosen.items()},
    )


def _even_out(names: list[str], parts: int, error: Callable[[str, int], float]) -> dict[str, int]:
    """Each part goes where the error is largest: as errors fall with ε, no other split has a smaller largest."""
    given = dict.fromkeys(names, 0)
    for _ in range(parts):
        given[max(names, key=lambda name: error(name, given[name]))] += 1
    return given


def _least_sum(names: list[str], parts: int, error: Callable[[str, int], float]) -> dict[str, int]:
    """The split of least sum, by dynamic programming over the columns: errors need not be convex in ε."""
    best: list[tuple[float, dict[str, int]]] = [(error(names[0], n), {names[0]: n}) for n in range(parts + 1)]
    for name in names[1:]:
        best = [
            min(
                ((best[total - n][0] + error(name, n), {**best[total - n][1], name: n}) for n in range(total + 1)),
                key=lambda split: split[0],
            )
            for total in range(parts + 1)
        ]
    return best[parts][1]


# Laws without a bias --------------------------------------------------------------------------------------------------

_MOST_OUTPUTS = 1000  # finer outputs lower the variance by less than one part in 10^5
_OUTPUT_WIDTH = 1.5  # times (e^ε + 1)/(e^ε − 1), the outputs of the two-point law; farther ones are never used
_SLACKS = (2e-8, 3e-7, 1e-5)  # kept away from the limit, for rounding; the least that will do
_LEAST_CHANCE = 1e-8


def demand_epsilon(epsilon: Fraction) -> None:
    if epsilon == 0:
        raise ArgumentError("at epsilon 0 no release depends on the value, so none is unbiased: spend some epsilon")


class RoundedAtRandom(Interval):
    """An interval whose encoding rounds a value between two lattice points to one of them, at random and without bias.

    x = low + (k + f)·step becomes k + 1 with probability f, to 53 bits, else k. A mixture of private laws is private.

    >>> RoundedAtRandom(Interval(0, 1, "0.5")).encode([0, 0.5, 1]).tolist()
    [0, 1, 2]
    """

    __slots__ = ()

    def __init__(self, interval: Interval) -> None:
        super().__init__(interval.low, interval.high, interval.step)

    def code(self, value: Any) -> int:
        """The code of a lattice point; any other value has one at random, and so no law of its own to be told."""
        code = super().code(value)
        if self.number(value) not in (self.low + code * self.step, exact(self.label(code))):
            raise ArgumentError("a value between lattice points is rounded at random: ask for the law of such a point")
        return code

    def encode(self, values: Any, *, clamp: bool = False) -> NDArray[Any]:
        """The codes of a column, each value at one of its two neighbours; one outside is refused or clamped."""
        super().encode(values, clamp=clamp)  # refuses what lies outside or is no number
        values = values.to_pylist() if is_arrow(values) else values
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
            places = (values.astype(np.float64) - float(self.low)) / float(self.step)
            places = places.clip(0, self.size - 1)
            below = np.floor(places)
            chances = ((places - below) * 2.0**53).astype(np.uint64)
        else:
            fractions = [(min(max(exact(value), self.low), self.high) - self.low) / self.step for value in values]
            below = np.array([place // 1 for place in fractions], np.int64)
            chances = np.array([int(place % 1 * (1 << 53)) for place in fractions], np.uint64)
        words = coins.current().words64(len(below)) >> np.uint64(11)
        return (below.astype(np.int64) + (words < chances)).astype(narrowest(self.size))


def output_lattice(interval: Interval, epsilon: Fraction) -> Interval:
    """Where unbiased releases lie: the interval's own lattice, or a coarser one, continued on both sides."""
    steps = min(interval.size - 1, finest_outputs(spread(epsilon)))
    width = (interval.high - interval.low) / steps
    beyond = ceil(steps * (_reach(spread(epsilon)) - 1) / 2) * width
    return interval.between(interval.low - beyond, interval.high + beyond, width)


def finest_outputs(spread: float) -> int:
    """The most steps of the interval itself that a lattice of outputs has, for e^ε − 1 = spread."""
    return max(1, int(_MOST_OUTPUTS / _reach(spread)))


def _reach(spread: float) -> float:
    """How wide the outputs lie, as a multiple of the interval."""
    return _OUTPUT_WIDTH * (1 + 2 / spread)


def unbiased_law(
    interval: Interval, outputs: Interval, epsilon: Fraction, prior: NDArray[Any] | None = None
) -> tuple[Matrix, Optimum]:
    """The law with Σ_j y_j P_ij = x_i exactly and the least largest variance, or the least under a prior, and the proof
    of that (Badanidiyuru et al. 2023).

    The bound holds for all ε-private unbiased laws on these outputs. Means differ by the length of the interval at
    most, and two ε-private laws have means within (e^ε − 1)/(e^ε + 1) of the width of their outputs.
    """
    if outputs.diameter * (exp_above(epsilon) - 1) < interval.diameter * (exp_above(epsilon) + 1):
        raise ArgumentError("the outputs are too narrow for an unbiased release; leave them out, or take wider ones")
    unit = lcm(*(q.denominator for q in (interval.low, interval.step, outputs.low, outputs.step)))
    x, y = (int(s.low * unit) + int(s.step * unit) * np.arange(s.size).astype(object) for s in (interval, outputs))
    away = y - x[:, None]
    squares = Losses(away**2, unit**2, "squared")
    positions = [(interval.low + n * interval.step - outputs.low) / outputs.step for n in range(interval.size)]
    for slack in _SLACKS:
        law, prices, levels, slopes = _solve(away, unit, spread(epsilon) * (1 - slack), prior)
        used = law.max(axis=0) > _LEAST_CHANCE
        # Solved once more for the outputs that matter, the rows come out right to the last digits.
        law[:, ~used], law[:, used] = 0, _solve(away[:, used], unit, spread(epsilon) * (1 - slack), prior)[0]
        whole = _exactly_unbiased(law, positions)
        if whole is not None and decide(whole, epsilon, Fraction(0)).holds:
            bound = pure_bound(exp_above(epsilon), squares, prices, levels, (slopes, away))
            return whole, attained_optimum(squares, whole, prior, bound)
    raise ArgumentError("no unbiased law on these outputs could be found; take wider or finer ones, or more epsilon")


def _solve(
    away: NDArray[Any], unit: int, spread: float, prior: NDArray[Any] | None
) -> tuple[Any, list[Fraction], Any, Any]:
    """The law in floats, prices λ, levels μ and slopes ν of the programme with y_j − x_i = away/unit."""
    width = float(away.max() - away.min())
    near = away.astype(np.float64) / width
    law, prices, (levels, slopes) = solve_priced([np.ones_like(near), near], near**2, spread, prior)
    scale = (width / unit) ** 2
    return law, prices, -scale * levels, -scale / width * slopes


def _exactly_unbiased(law: NDArray[np.float64], positions: list[Fraction]) -> Matrix | None:
    """Whole numbers n_ij with Σ_j n_ij = total and Σ_j j n_ij = total · position_i, near the law."""
    places = np.arange(law.shape[1])
    law = _tilted(law, places - np.array([float(p) for p in positions])[:, None])
    unit = lcm(*(p.denominator for p in positions))
    total = WHOLE // unit * unit
    whole = np.rint(law * total).astype(np.int64)
    # Two neighbouring outputs that all inputs use take up what rounding left of sum and mean.
    first = int(np.minimum(law[:, :-1], law[:, 1:]).min(axis=0).argmax())
    for row, position in zip(whole, positions, strict=True):
        lacking = total - int(row.sum())
        upper = int(total * position) - int(row.astype(object) @ places) - lacking * first
        row[first] += lacking - upper
        row[first + 1] += upper
    return Matrix(whole, total) if (whole >= 0).all() else None


def _tilted(law: NDArray[np.float64], away: NDArray[np.float64]) -> NDArray[np.float64]:
    """P·(α + β·away) with sum 1 and mean 0 in every row: a change of a few parts in 10^9."""
    s0, s1, s2 = (np.asarray((law * away**n).sum(axis=1)) for n in range(3))
    determinant = s0 * s2 - s1**2
    alpha, beta = s2 / determinant, -s1 / determinant
    return np.asarray(law * (alpha[:, None] + beta[:, None] * away))


# Laws that tell most by Fisher information ----------------------------------------------------------------------------

_MOST_VALUES = 12  # whose patterns are looked at one by one
_LEAST_WEIGHT = 1e-9  # of the weight of a pattern

Fractions = NDArray[Any]


def fisher_law(space: Space, epsilon: Fraction, prior: Fractions | None) -> tuple[Matrix, Categories, Optimum]:
    """The law, what it releases, and the variance σ⁴/I of a mean for each row, with what none can beat.

    The law that tells the most about the mean of a population near a prior has the largest Fisher information. Let the
    values x_i of a population have the weights π_i e^(θx_i), with θ near 0. A release with the law P tells θ with the
    information

        I(P) = Σ_j (Σ_i a_i P_ij)² / Σ_i π_i P_ij,    a_i = π_i (x_i − m),

    where m and σ² are the mean and the variance of the prior; then no estimator of the mean from n rows has less
    variance than σ⁴/(n·I) for large n, and the maximum likelihood attains it. An ε-private column of P is a mixture of
    patterns S ∈ {1, e^ε}^K, up to a factor, and its part of I is convex and homogeneous. So the best law is made of
    patterns, by a linear programme, and for any numbers α with α·S ≥ μ(S) for all patterns, where μ(S) = (a·S)²/π·S,

        I(P) = Σ_j μ(P_j) ≤ Σ_j α·P_j = Σ_i α_i,

    which is evaluated in whole numbers: that is a proof. Kairouz, Oh and Viswanath 2016. An output is named by the
    values that it is likelier from.

    >>> from dproof import Interval
    >>> law, outputs, optimum = fisher_law(Interval(0, 3, 1), Fraction(1), np.array([Fraction(1, 4)] * 4, object))
    >>> outputs.values, round(float(optimum.value), 4), optimum.gap < Fraction(1, 10**6)
    (((2, 3), (0, 1)), 7.3167, True)
    """
    if prior is None or space.line is None:
        raise ArgumentError("Fisher information is about a mean of numbers near a prior: give an Interval and a prior")
    if epsilon == 0:
        raise ArgumentError("at epsilon = 0 a release tells nothing of the mean; spend some epsilon")
    if space.size > _MOST_VALUES:
        raise TooLarge(f"Fisher information is maximised for up to {_MOST_VALUES} values; use a coarser step")
    x = np.array([space.line.origin + n * space.line.step for n in range(space.size)], object)
    mean = prior @ x
    scores, variance = prior * (x - mean), Fraction(prior @ (x - mean) ** 2)
    if variance == 0:
        raise ArgumentError("the prior has one value alone, whose mean needs no estimate; give it two values or more")
    patterns = np.array(list(np.ndindex(*(2,) * space.size)), bool)[:-1]  # all high is all low
    weights, prices = _best_patterns(patterns, scores, prior, 1 + spread(epsilon) * (1 - SLACK))
    used = weights > _LEAST_WEIGHT
    levels = np.where(patterns[used], 1 + spread(epsilon) * (1 - SLACK), 1.0)
    law = certified_law((levels * weights[used][:, None]).T, epsilon, Fraction(0))
    named = [tuple(space.label(n) for n in np.flatnonzero(pattern).tolist()) for pattern in patterns[used]]
    attained = sum(_information(law.rows.T.astype(object), scores, prior)) / law.total
    most = _most_information(patterns, scores, prior, exp_above(epsilon), prices)
    optimum = Optimum("variance of the mean, under the prior", variance**2 / attained, variance**2 / most)
    return law, Categories(named), optimum


def _information(columns: NDArray[Any], scores: Fractions, prior: Fractions) -> NDArray[Any]:
    """μ of each column, exactly."""
    return np.asarray((columns @ scores) ** 2 / (columns @ prior))


def _best_patterns(
    patterns: NDArray[np.bool_], scores: Fractions, prior: Fractions, odds: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """max Σ μ(S)·θ_S with Σ S_i·θ_S = 1 for every input i: the weights θ, and the price α of each input, in floats."""
    levels = np.where(patterns, odds, 1.0)
    gains = (levels @ scores.astype(float)) ** 2 / (levels @ prior.astype(float))
    rows = LinearRows()
    places = np.broadcast_to(np.arange(len(patterns)), (patterns.shape[1], len(patterns)))
    rows.add(places, levels.T, 1.0, 1.0)
    scale = float(gains.max())
    weights, duals = rows.solve(-gains / scale, SIMPLEX)
    return weights, -scale * duals


def _most_information(
    patterns: NDArray[np.bool_], scores: Fractions, prior: Fractions, odds: Fraction, prices: NDArray[np.float64]
) -> Fraction:
    """Σα for prices α that are raised, or lowered, together until α·S ≥ μ(S) for every pattern, and just so."""
    levels = np.array([Fraction(1), odds], object)[patterns.astype(int)]
    alpha = np.array([Fraction(price) for price in prices.tolist()], object)
    lacking = (_information(levels, scores, prior) - levels @ alpha) / levels.sum(axis=1)
    return Fraction(sum(alpha) + len(alpha) * max(lacking))


# Intervals that are too long for a programme --------------------------------------------------------------------------

SHORT = 41  # points of an interval whose own lattice is designed
_FEWEST_STEPS, _MOST_STEPS = 20, 128  # steps of a coarse lattice; the design of more takes seconds
# Rounding adds h²/4 at most; with 6.4·e^(3ε/8) steps that is below 1% of the variance.
_STEPS_AT_ZERO, _STEPS_GROWTH = 6.4, 0.375


def is_long(space: Interval, privacy: Privacy) -> bool:
    """Whether an interval has so many points that those of a coarse lattice are designed in their place."""
    return space.size > SHORT and coarse_steps(space, privacy) < space.size - 1


def rounded_design(space: Interval, privacy: Privacy) -> Mechanism:
    """The unbiased law of least worst-case variance on a coarse lattice, to whose points numbers are first rounded, at
    random and without bias.

    For ε up to 8 the largest variance is at most 1.02 of the least that any unbiased ε-private law has on the interval.
    Why it is private: a mixture of private laws is private (`RoundedLaw`).

    >>> law = rounded_design(Interval(-1, 1), Privacy(1))
    >>> law.family.steps, round(law.bias_and_variance().variance, 3)
    (20, 3.993)
    """
    steps = coarse_steps(space, privacy)
    coarse = _designed(steps, privacy)
    grid: Any = coarse.outputs
    law: Any = coarse.family
    width = space.diameter / steps
    outputs = space.between(space.low + width * grid.low, space.low + width * grid.high, width * grid.step)
    return Mechanism(coarse.name, space, outputs, RoundedLaw(space.size, steps, law), coarse.source)


def coarse_steps(space: Interval, privacy: Privacy) -> int:
    """The number of steps of the coarse lattice: enough for ε, and if it can be, a divisor of those of the interval."""
    demand_epsilon(privacy.epsilon)
    wanted = max(_FEWEST_STEPS, ceil(_STEPS_AT_ZERO * exp(min(_STEPS_GROWTH * float(privacy.epsilon), 10.0))))
    # Outputs must lie on the coarse lattice, and with little ε they reach far beyond the interval.
    most = min(_MOST_STEPS, finest_outputs(spread(privacy.epsilon)))
    wanted, fine = min(wanted, most), space.size - 1
    dividing = (steps for steps in range(wanted, min(2 * wanted, most + 1)) if fine % steps == 0)
    return min(fine, next(dividing, wanted))


@lru_cache(maxsize=64)
def _designed(steps: int, privacy: Privacy) -> Mechanism:
    """The design depends on the number of steps and ε alone, so columns that share these share it."""
    return Problem(Interval(0, steps, 1), privacy, unbiased=True).best()
