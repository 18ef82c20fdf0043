"""A mechanism {Y_d}: a family of laws between two spaces, its errors, and counts estimated from its outputs.

HLM15, equation (2) and section 6.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, inf
from statistics import NormalDist
from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import NDArray

from dproof import coins
from dproof.arguments import choice, expect
from dproof.arguments import listed as listed_argument
from dproof.errors import ArgumentError, InputError, TooLarge, did_you_mean
from dproof.exact import (
    exp_below,
    exps_below,
    float_above,
    floats_above,
    has_shape,
    level_of,
    log_above,
    whole_numbers,
    written,
)
from dproof.laws.law import Law, counted, listed_sizes
from dproof.laws.matrix import Matrix
from dproof.privacy import Privacy, Promise, as_delta, as_epsilon
from dproof.spaces.categories import Categories
from dproof.spaces.interval import Line
from dproof.spaces.products import Lines
from dproof.spaces.space import Floats, OptionalSpace, Space, as_space, narrowest

Inclusive = Literal["both", "neither", "left", "right"]
_LARGEST_MATRIX = 1 << 26  # entries; beyond this ask for one law at a time
_EVENT = "a list of outputs, or an interval (low, high) where they are numbers"
_MOST_SHOWN = 12  # inputs and outputs of a law that is shown in full
_LARGEST = 1 << 24  # losses that are written out
_SINGULAR = 1e-9


@dataclass(frozen=True, slots=True)
class Optimum:
    """The loss that a designed mechanism attains, and what none with the same guarantee can beat."""

    loss: str
    value: Fraction
    lower_bound: Fraction

    @property
    def gap(self) -> Fraction:
        """The most by which the attained value lies above the best possible, relatively."""
        return (self.value - self.lower_bound) / self.value if self.value else Fraction(0)

    def __repr__(self) -> str:
        value, bound = written(self.value, 6), written(self.lower_bound, 6)
        return f"<optimum: {value} under the loss {self.loss!r}, at least {bound} for every mechanism>"


@dataclass(frozen=True, slots=True)
class BiasAndVariance:
    """The largest bias and the largest variance of a released number."""

    bias: float
    variance: float


@dataclass(frozen=True, slots=True, eq=False)
class Distribution(Mapping[Any, Fraction]):
    """The law of Y_d for one input d: each output with its exact probability.

    >>> from dproof import Categories, Privacy, randomised_response
    >>> law = randomised_response(Categories(["yes", "no"]), Privacy(0)).law("yes")
    >>> law["no"], sum(law.values())
    (Fraction(1, 2), Fraction(1, 1))
    """

    family: Law
    outputs: Space | Line | Lines
    source: int

    def __getitem__(self, output: Any) -> Fraction:
        try:
            code = self.outputs.code(output)
        except InputError:
            raise KeyError(output) from None
        return self.family.probability(self.source, code)

    def cdf(self, value: Any) -> Fraction:
        """P(Y_d ≤ value), exactly, where the outputs are numbers or dates; of those that are not missing, where some
        may be.

        >>> from dproof import Interval, Privacy, laplace
        >>> round(float(laplace(Interval(0, 1, "0.01"), Privacy(1)).law(0).cdf("0.5")), 4)
        0.6983
        """
        return self._between(-inf, floor(self._line.place(value)))

    def probability(self, event: Any, *, inclusive: Inclusive = "both") -> Fraction:
        """P(Y_d ∈ A), exactly: A is a list or set of outputs.

        Where the outputs are numbers or dates, A may also be an interval, which is a pair (low, high), and its members
        may be such pairs: a union of intervals. An end that is None has no bound. `inclusive` says which ends belong
        to an interval: "both", "neither", "left" or "right".

        >>> from dproof import Interval, Privacy, laplace
        >>> law = laplace(Interval(0, 20, "0.1"), Privacy(1)).law(10)
        >>> round(float(law.probability((4.7, 11.2), inclusive="neither")), 4)
        0.1434
        >>> law.probability([(None, 9), (5, None)])
        Fraction(1, 1)
        """
        codes, runs = _codes_and_runs(self, event, choice(inclusive, get_args(Inclusive), "inclusive"))
        listed_ones = sum((self.family.probability(self.source, code) for code in codes), Fraction(0))
        return listed_ones + sum((self._between(first, last) for first, last in runs), Fraction(0))

    def _between(self, first: Any, last: Any) -> Fraction:
        """The probability of a run of output codes, from −∞ or to ∞ too; a missing value lies in none."""
        outputs, absent = self.family.outputs, self.outputs.absent
        if outputs is not None:
            first, last = max(first, 0), min(last, outputs - 1 if absent is None else outputs - 2)
        if first > last:
            return Fraction(0)
        if last == inf:
            upper = 1 - (Fraction(0) if absent is None else self.family.probability(self.source, absent))
        else:
            upper = self.family.cumulative(self.source, last)
        return upper - (0 if first == -inf else self.family.cumulative(self.source, first - 1))

    @property
    def _line(self) -> Line:
        line = self.outputs.line
        if line is None:
            raise ArgumentError("an interval needs outputs that are numbers or dates; give a list of outputs")
        return line

    def __iter__(self) -> Iterator[Any]:
        return (self.outputs.label(code) for code in range(len(self)))

    def __len__(self) -> int:
        outputs = self.family.outputs
        if outputs is None or outputs > _LARGEST_MATRIX:
            raise TooLarge("a law on so many outputs is too long to list; ask for single probabilities")
        return outputs

    def items(self) -> Any:
        """The pairs (output, probability), the weights read once."""
        len(self)  # refuses what is too long to list
        weights, (_, outputs, total) = self.family.weights(self.source), listed_sizes(self.family)
        labels = self.outputs.decode(np.arange(outputs))
        return [(label, Fraction(int(w), total)) for label, w in zip(labels, weights, strict=True)]

    def values(self) -> Any:
        """The probabilities, in the order of the outputs."""
        return [probability for _, probability in self.items()]

    def __repr__(self) -> str:
        if self.family.outputs is None or self.family.outputs > _MOST_SHOWN:
            return f"<law on {_count(self.family.outputs, 'outputs')}>"
        return "{" + ", ".join(f"{output!r}: {float(p):.4f}" for output, p in self.items()) + "}"


@dataclass(frozen=True, slots=True, eq=False)
class Mechanism:
    """A mechanism as its law of whole numbers, and everything that follows from it.

    No ε is stored: `delta` and `epsilon` are computed from the law that is sampled.

    >>> from dproof import Categories, Privacy, randomised_response
    >>> m = randomised_response(Categories(["Sports", "Cars", "Television", "Computer games", "Reading"]), Privacy(1))
    >>> m.delta(1), round(m.epsilon(), 9), round(float(m.error), 10)
    (0.0, 1.0, 0.5953903248)
    """

    name: str  # in certificates
    inputs: Space
    outputs: Space | Line | Lines
    family: Law = field(repr=False)  # thousands of whole numbers
    source: str  # where the law comes from; in certificates
    optimum: Optimum | None = None

    def law(self, value: Any) -> Distribution:
        """The law of the response to one input."""
        return Distribution(self.family, self.outputs, self.inputs.code(value))

    def weights(self) -> tuple[NDArray[Any], int]:
        """The whole numbers of the law, one row per input, and their total."""
        whole, total = self.family.written_out(_LARGEST_MATRIX)
        return whole.copy(), total  # the law is nobody's to change

    def matrix(self) -> NDArray[np.float64]:
        """The solution matrix as floats, for looking at; `weights` has it exactly. HLM16, Definition 6."""
        whole, total = self.weights()
        return np.asarray(whole / total, np.float64)

    def delta(self, epsilon: Any) -> float:
        """The tight δ at ε, rounded up: max over ordered pairs of Σ max(0, P − e^ε Q)."""
        return float_above(self.family.worst(exp_below(as_epsilon(epsilon))).value)

    def epsilon(self, delta: Any = 0) -> float:
        """The tight ε at δ, rounded up; `inf` where no ε will do."""
        odds = self.family.odds(as_delta(delta)).value
        return inf if odds is None else float_above(log_above(odds))

    @property
    def error(self) -> Fraction:
        """The maximal expected error max_d E ρ(Y_d, d), exactly. HLM15, equation (13)."""
        if _same_space(self.inputs, self.outputs):
            return self.family.maximal_error(self.inputs)
        return self.family.maximal_expectation(lambda code: _distances(self.inputs, self.outputs, code))

    def expected_errors(self, loss: Any = None) -> list[Fraction]:
        """The expected error of each input: under the metric, its square ("squared"), or a matrix of losses; in closed
        form where the law has one."""
        family, inputs, outputs, name = self.family, self.inputs, self.outputs, _loss_name(loss)
        if inputs.size > _LARGEST:
            raise TooLarge(f"there are {counted(inputs.size)} inputs, too many to list; `error` is the largest of all")
        if name == "matrix":
            check_shape(loss, *listed_sizes(family)[:2])
            return [family.expectation(n, row) for n, row in enumerate(loss)]
        if name == "metric" and _same_space(inputs, outputs):
            return [family.error(n, inputs) for n in range(inputs.size)]
        if name == "squared" and family.moments is not None:
            return [inputs.separation**2 * family.moments[2]] * inputs.size
        rows = (_distances(inputs, outputs, n) for n in range(inputs.size))
        rows = rows if name == "metric" else (row.astype(object) ** 2 for row in rows)
        return [family.expectation(n, row) for n, row in enumerate(rows)]

    @property
    def scale(self) -> float | None:
        """The scale of the noise on a number, in its units: b of Laplace noise, σ of Gaussian noise, width/ε of stairs.

        None for a law that is no noise of one scale: randomised response, any matrix, bounded Laplace noise, curves.

        >>> from dproof import Interval, Privacy, laplace
        >>> round(laplace(Interval(0, 100, 1), Privacy("0.5")).scale, 6)
        200.0
        """
        steps = self.family.shown.scale
        line = self.inputs.without_missing.line
        return None if steps is None or line is None else steps * float(line.step)

    def bias_and_variance(self) -> BiasAndVariance | None:
        """The bias and variance of a released number, each at its worst true number; None where no numbers are
        released, or some may be missing.

        >>> from dproof import Interval, Privacy, laplace
        >>> of = laplace(Interval(0, 1, "0.01"), Privacy(1)).bias_and_variance()
        >>> of.bias < 1e-9, round(of.variance, 2)
        (True, 2.0)
        """
        true, released = self.inputs.line, self.outputs.line
        if true is None or released is None or self.inputs.present is not None:
            return None
        moments = self.family.bias_and_variance(true, released)
        return None if moments is None else BiasAndVariance(*moments)

    def with_missing(self, privacy: Promise) -> Mechanism:
        """The mechanism for values that may be missing, written None, which keeps the same promise.

        >>> from dproof import Interval, laplace
        >>> m = laplace(Interval(0, 100, 1), Privacy(1)).with_missing(Privacy(1))
        >>> m.epsilon() <= 1, round(float(m.law(7)[None]), 3), round(float(m.law(None)[None]), 3)
        (True, 0.186, 0.506)
        """
        promise = Privacy.of(privacy)
        if self.inputs.absent is not None:
            raise ArgumentError("a missing value is one of its values already")
        family = self.family.with_missing(promise.epsilon, promise.delta)
        # The law has one value more, also where a column of sets would have one more item.
        both: list[Any] = [self.inputs, self.outputs]
        inputs, outputs = (OptionalSpace(one) if isinstance(one, Space) else one.with_missing() for one in both)
        return Mechanism(f"{self.name}, or missing", inputs, outputs, family, self.source)

    def then(self, change: Mapping[Any, Any] | Callable[[Any], Any], outputs: Space | None = None) -> Mechanism:
        """The mechanism whose outputs are changed by a map: post-processing, which costs nothing. HLM15, Theorem 4.

        Its law is exact. Its outputs are the categories that the map gives, in order, or those of the given space.

        >>> from dproof import Categories, randomised_response
        >>> m = randomised_response(Categories(["bus", "tram", "car"]), Privacy(1))
        >>> green = m.then({"bus": "green", "tram": "green", "car": "other"})
        >>> green.outputs.values, green.law("bus")["green"] == m.law("bus")["bus"] + m.law("bus")["tram"]
        (('green', 'other'), True)
        """
        if not isinstance(change, Mapping) and not callable(change):
            raise ArgumentError("change must be a mapping from each output to what becomes of it, or a function")
        inputs, count, total = listed_sizes(self.family, _LARGEST_MATRIX)
        labels = self.outputs.decode(np.arange(count))
        try:
            images = [change[label] if isinstance(change, Mapping) else change(label) for label in labels]
        except KeyError:
            raise ArgumentError("the map must say what becomes of every output") from None
        try:
            space = Categories(list(dict.fromkeys(images))) if outputs is None else as_space(outputs, "outputs")
        except TypeError:
            raise ArgumentError("the map must give labels, such as texts, numbers or tuples, and no lists") from None
        places = [space.code(image) for image in images]
        rows = np.zeros((inputs, space.size), object if total >= 1 << 62 else np.int64)
        for source in range(inputs):
            np.add.at(rows[source], places, self.family.weights(source))
        family = Matrix(rows, total, self.family.neighbours)
        return Mechanism(f"{self.name}, then changed", self.inputs, space, family, self.source)

    def estimate(self, counts: Any, level: float = 0.95) -> Estimate:
        """The counts of the inputs, estimated from those of the outputs: a mapping, or one count for each output.

        The least-variance unbiased estimate, best where the values are spread evenly. With P the law and W the share of
        each output, B = W⁻¹ Pᵀ (P W⁻¹ Pᵀ)⁻¹ has P B = I, so that each response y adds the row B[y] and the sum is
        unbiased. Its covariance, given the true values, is Σ_d n_d (Σ_y P(d, y) B[y]ᵀB[y]) − diag(n), and
        Σ_y c_y B[y]ᵀB[y] − diag(estimate) is unbiased for that.

        >>> from dproof import Categories, response_with
        >>> found = response_with(Categories(["a", "b"]), "1/4").estimate({"a": 600, "b": 400})
        >>> found.counts.round(6).tolist(), found.stderr.round(2).tolist()
        ([700.0, 300.0], [27.39, 27.39])
        """
        level, law = level_of(level), self.matrix()
        observed = _observed(self, counts, law.shape[1])
        scaled = law / np.maximum(law.mean(axis=0), 1e-300)
        square = scaled @ law.T
        if np.linalg.cond(square) > 1 / _SINGULAR:
            raise ArgumentError("the law is nearly the same for some inputs, so their counts cannot be told apart")
        scores = np.linalg.solve(square, scaled).T
        estimates = observed @ scores
        covariance = scores.T @ (observed[:, None] * scores) - np.diag(estimates)
        return Estimate(tuple(self.inputs.decode(np.arange(self.inputs.size))), estimates, covariance, level)

    @overload
    def draw(self, values: NDArray[Any]) -> NDArray[Any]: ...

    @overload
    def draw(self, values: list[Any]) -> list[Any]: ...

    @overload  # one value, such as a text; sets and tables are points of some spaces
    def draw(self, values: Any) -> Any: ...

    def draw(self, values: Any) -> Any:
        """The sanitised value or column of values: labels in, labels out, each row with its own coins.

        `values` is one value of the space, a list of them or an array of them; the same comes back.
        """
        if _is_column(values) and not self.inputs.is_point(values):
            drawn = self.outputs.decode(self.draw_codes(self.inputs.encode(values)))
            return np.array(drawn) if isinstance(values, np.ndarray) else drawn
        return self.outputs.decode(self.draw_codes(self.inputs.encode([values])))[0]

    def draw_codes(self, codes: Any) -> NDArray[Any]:
        """The sanitised codes of an array of codes, in the same dtype where the outputs fit it."""
        try:
            given = np.asarray(codes)
        except ValueError:  # ragged
            given = np.empty((0, 0))
        if given.ndim != 1 or given.dtype.kind not in ("iuO" if self.inputs.size > 1 << 63 else "iu"):
            raise ArgumentError("codes must be a one-dimensional array of whole numbers")
        if len(given) and not (given.min() >= 0 and given.max() < self.inputs.size):
            raise ArgumentError(f"a code lies outside 0 to {counted(self.inputs.size - 1)}")
        if self.family.outputs is None:
            return self.family.draw(given, coins.current())  # signed: noise leaves the interval on either side
        if given.dtype != object and self.family.outputs - 1 > np.iinfo(given.dtype).max:
            given = given.astype(narrowest(self.family.outputs))
        return self.family.draw(given, coins.current()).astype(given.dtype, copy=False)

    def __repr__(self) -> str:
        inputs, outputs = _count(self.family.inputs, "inputs"), _count(self.family.outputs, "outputs")
        return f"<mechanism: {self.name} ({self.source}), {inputs}, {outputs}>"

    def _repr_html_(self) -> str:
        """The law as a notebook shows it: where it is small a table of probabilities, one row for each input."""
        from dproof.html import paragraph, table

        family, title = self.family, f"{self.name} ({self.source})"
        if family.inputs is None or family.outputs is None or max(family.inputs, family.outputs) > _MOST_SHOWN:
            return paragraph(f"{title}: {_count(family.inputs, 'inputs')}, {_count(family.outputs, 'outputs')}")
        rows = [
            [self.inputs.label(n), *(f"{probability:.4f}" for probability in law)]
            for n, law in enumerate(self.matrix())
        ]
        epsilon = self.epsilon()
        private = f"private with ε = {written(epsilon, 6)}" if epsilon < inf else "private with no ε at δ = 0"
        labels = [self.outputs.label(n) for n in range(family.outputs)]
        return paragraph(f"{title}: {private}") + table(["true value", *labels], rows)


def _codes_and_runs(law: Distribution, event: Any, inclusive: str) -> tuple[set[Any], list[tuple[Any, Any]]]:
    """An event as codes of outputs, and runs of codes in which none of these lies, and none of which meets another."""
    line = law.outputs.line
    members = [event] if line is not None and isinstance(event, tuple) else listed_argument(event, "an event", _EVENT)
    codes: set[Any] = set()  # of a table or a vector a code is a tuple
    ends: set[tuple[Any, Any]] = set()
    for member in members:
        if line is None or not isinstance(member, tuple):
            codes.add(law.outputs.code(member))
            continue
        if len(member) != 2:
            raise ArgumentError("an interval is a pair (low, high), of which None is no bound")
        low, high = (None if end is None else law._line.place(end) for end in member)
        if low is not None and high is not None and low > high:
            raise ArgumentError("an interval's lower end lies above its upper end")
        first = -inf if low is None else floor(low) + 1 if inclusive in ("neither", "right") else ceil(low)
        last = inf if high is None else ceil(high) - 1 if inclusive in ("neither", "left") else floor(high)
        if first <= last:
            ends.add((first, last))
    runs: list[tuple[Any, Any]] = []
    for first, last in sorted(ends):
        if runs and first <= runs[-1][1]:
            runs[-1] = (runs[-1][0], max(last, runs[-1][1]))
        else:
            runs.append((first, last))
    starts = [first for first, _ in runs]

    def is_apart(code: Any) -> bool:
        place = bisect_right(starts, code) - 1
        return code == law.outputs.absent or place < 0 or code > runs[place][1]

    return (set(filter(is_apart, codes)) if runs else codes), runs


def privacy_profile(mechanism: Mechanism, epsilons: Sequence[Fraction]) -> list[float]:
    """The tight δ at each of several ε, rounded up: as `Mechanism.delta` gives it."""
    return floats_above(mechanism.family.profile(exps_below(epsilons)))


def as_mechanism(value: Any, name: str = "mechanism") -> Mechanism:
    """An argument that must be a mechanism."""
    return expect(value, Mechanism, name, "a mechanism, such as randomised_response(space, privacy) makes")


def _count(number: int | None, what: str) -> str:
    return f"unlimited {what}" if number is None else f"{counted(number)} {what}"


def _is_column(values: Any) -> bool:
    """Lists, tuples, arrays and series are columns; a string, a set or a mapping is one value."""
    if isinstance(values, (str, bytes, Mapping, set, frozenset)):
        return False
    return isinstance(values, Sequence) or (hasattr(values, "__len__") and hasattr(values, "__getitem__"))


# Errors ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """The loss of every output under every input, as whole numbers over one unit: R_ij = whole[i, j] / unit."""

    whole: NDArray[Any]  # Python integers
    unit: int
    name: str

    @property
    def floats(self) -> NDArray[np.float64]:
        return np.asarray(self.whole / self.unit, np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        return self.whole.shape[0], self.whole.shape[1]

    def expected(self, weights: NDArray[Any], total: int) -> list[Fraction]:
        """Σ_j R_ij P_ij for each input i, exactly."""
        sums = (weights.astype(object) * self.whole).sum(axis=1)
        return [Fraction(int(value), total * self.unit) for value in sums]


def losses(inputs: Space, outputs: Space | None = None, loss: Any = None) -> Losses:
    """The losses as a matrix: None for the metric, "squared" for its square, or a matrix, inputs by outputs.

    A larger space of outputs must hold the inputs, unless the losses are given.

    >>> from dproof import Categories
    >>> losses(Categories([1, 2, 3], metric="ordinal"), loss="squared").whole[0].tolist()
    [0, 1, 4]
    """
    target, name = inputs if outputs is None else outputs, _loss_name(loss)
    if inputs.size * target.size > _LARGEST:
        raise TooLarge(f"losses of {counted(inputs.size)} by {counted(target.size)} outputs are too many to write out")
    if name == "matrix":
        check_shape(loss, inputs.size, target.size)
        whole, unit = whole_numbers(loss, "a loss")
        if whole.min() < 0:
            raise ArgumentError("a loss must not be negative; add the same number to all losses")
        return Losses(whole, unit, name)
    rows = [_distances(inputs, target, n) for n in range(inputs.size)]
    if all(row.dtype.kind in "iu" for row in rows):
        whole, unit = np.array(rows).astype(object), 1
    else:
        whole, unit = whole_numbers(rows, "a distance")
    return Losses(whole, unit, name) if name == "metric" else Losses(whole**2, unit**2, name)


def _loss_name(loss: Any) -> str:
    if loss is None:
        return "metric"
    if not isinstance(loss, str):
        return "matrix"
    if loss in ("metric", "squared"):
        return loss
    raise ArgumentError(f"loss {loss[:40]!r} is not known{did_you_mean(loss, ['metric', 'squared'])}; or give a matrix")


def check_shape(given: Any, inputs: int, outputs: int, what: str = "losses") -> None:
    """Refuse what is no matrix with a row for each input."""
    if not has_shape(given, inputs, outputs):
        raise ArgumentError(f"the {what} must be a matrix of {counted(inputs)} inputs by {counted(outputs)} outputs")


def _distances(inputs: Space, outputs: Space | Line | Lines, code: int) -> NDArray[Any]:
    """ρ(d, y) for one input d and every output y."""
    if outputs is inputs or outputs == inputs:
        return inputs.distances(code)
    try:
        if isinstance(outputs, Space):
            return outputs.distances_from(inputs.label(code))
    except InputError:
        pass
    raise ArgumentError("the outputs have no distance from the inputs; give a matrix of losses")


def _same_space(inputs: Space, outputs: Space | Line | Lines) -> bool:
    """Whether outputs lie in the space of the inputs, or on the lattice that it lies in."""
    return outputs is inputs or outputs == inputs or outputs == inputs.around


# Estimates ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Unbiased counts of the true values, with the covariance that the randomness of the mechanism gives them.

    `low` and `high` are normal intervals of each count by itself, at the level that was asked for.
    """

    labels: tuple[Any, ...]
    counts: Floats
    covariance: Floats
    level: float

    @property
    def stderr(self) -> Floats:
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def low(self) -> Floats:
        return self.counts - self._half

    @property
    def high(self) -> Floats:
        return self.counts + self._half

    @property
    def _half(self) -> Floats:
        return np.asarray(NormalDist().inv_cdf((1 + self.level) / 2) * self.stderr)

    def __str__(self) -> str:
        half = self._half
        return "\n".join(
            f"{label}: {n:.1f} ± {h:.1f}" for label, n, h in zip(self.labels, self.counts, half, strict=True)
        )


def _observed(mechanism: Mechanism, counts: Any, outputs: int) -> Floats:
    """How often each output occurred, in the order of the outputs."""
    if isinstance(counts, Mapping):
        given = [0] * outputs
        for label, count in counts.items():
            given[mechanism.outputs.code(label)] = count
        counts = given
    try:
        observed = np.asarray(counts, np.float64)
    except (TypeError, ValueError, OverflowError):
        observed = np.zeros(0)
    if observed.shape != (outputs,):
        raise ArgumentError(f"counts must map outputs to counts, or be one count for each of {outputs} outputs")
    if not np.isfinite(observed).all() or (observed < 0).any():
        raise ArgumentError("counts must be numbers of at least 0")
    return observed
