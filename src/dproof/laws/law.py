"""The protocol of every law, whatever its shape. Nothing outside this folder asks which one it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import log10
from operator import mul
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import ArgumentError, TooLarge, VerificationFailed
from dproof.exact import exact
from dproof.laws.debias import DebiasAxes, MatrixAxis, SeenColumn, presence
from dproof.laws.divergence import Odds, Pair, Worst
from dproof.spaces.interval import Line, Scale
from dproof.spaces.space import Space

_LARGEST_UNDONE = 1 << 24  # entries of a matrix that is inverted
_LARGEST_MOMENTS = 1 << 20  # entries of a law whose bias and variance are computed
_LONGEST = 4300  # digits of a number
Span = tuple[int | Fraction, int | Fraction]
# The least and the largest that a number of a recorded law may be. What dproof writes lies well inside; what lies
# outside is no law, or would take for ever to look at. How numbers must go together, each law checks for itself.
SIZE: Span = (1, 1 << 62)
SET_SIZE: Span = (1, 62)
ITEMS: Span = (1, 512)
WEIGHT: Span = (0, 10**2000 - 1)
TOTAL: Span = (1, 10**2000 - 1)


class Law(Protocol):
    """Whole numbers over one total for each input d: the law of Y_d, or in the papers' words the family {Y_d}.

    Every ordered pair of distinct inputs is a neighbouring pair: this is the law of one row (HLM15, Theorem 5).

    A law of a new shape is a frozen dataclass that subclasses this one and says
    - how many `inputs` and `outputs` it has, and the `total` (None for what cannot be listed);
    - `weights(source)`, the whole numbers of one input;
    - `worst_pair()`, or else `worst(odds)` and `odds(delta)`: how far any two inputs lie apart;
    - `draw(codes, coins)`, which must give every output its weight exactly;
    - its `kind`, and the `ranges` of its fields: so a certificate holds it. The line
      `LAWS[TheLaw.kind] = TheLaw.from_json` after the class makes its certificates readable.
    Everything else has a default here, to be overridden where the law knows better. What a law does not have is None.
    """

    kind: ClassVar[str]
    is_coded: ClassVar[bool] = False  # joined columns are released as one code, which tells nothing of one by itself
    is_sharp: ClassVar[bool] = False  # any count is undone exactly: values told apart cost no more than others
    ranges: ClassVar[Mapping[str, Span]] = {}  # of the numbers of a certificate, in the order of the fields

    if TYPE_CHECKING:  # for the type checker alone: a property here would hide a field of the same name

        @property
        def inputs(self) -> int | None:
            """The number of inputs; None where they cannot be listed, such as curves."""

        @property
        def outputs(self) -> int | None:
            """The number of outputs; None where they cannot be listed, such as all whole numbers."""

        @property
        def total(self) -> int | None:
            """The sum of the weights of one input; None where none are written out."""

    def weights(self, source: int) -> NDArray[Any]:
        """The law of one input: a whole number for each output, summing to the total."""

    def written_out(self, most: int | None = None) -> tuple[NDArray[Any], int]:
        """The weights of all inputs, a row for each, and the total; refused where that is more than `most` numbers."""
        inputs, _, total = listed_sizes(self, most)
        return np.array([self.weights(n) for n in range(inputs)]), total

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        """One output code for each input code; the codes' dtype must hold the largest output code."""

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate: the kind, and numbers; those that may be large as strings."""
        large = {name for name, (_, most) in self.ranges.items() if most > SIZE[1]}
        numbers = {name: getattr(self, name) for name in self.ranges}
        return {"kind": self.kind} | {name: str(n) if name in large else n for name, n in numbers.items()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """The law that `to_json` wrote, with every number in its range."""
        return cls(*(read_number(record, name, span) for name, span in cls.ranges.items()))

    # Privacy -------------------------------------------------------------------------------------------------------

    @property
    def neighbours(self) -> NDArray[np.bool_] | None:
        """The ordered pairs of inputs that count, as a matrix; None for all of them."""
        return None

    @property
    def of_one_row(self) -> Law:
        """The law by which two neighbours are told apart: this one, but for tables."""
        return self

    def worst_pair(self) -> Pair | None:
        """A pair of inputs that no other pair exceeds at any odds; None where none is known to."""
        return None

    def profile(self, every: Sequence[Fraction]) -> list[Fraction]:
        """The largest divergence at each of several odds: see `worst`."""
        pair = self.worst_pair()
        return [self.worst(odds).value for odds in every] if pair is None else pair.profile(every)

    def worst(self, odds: Fraction) -> Worst:
        """max over ordered pairs of Σ_y max(0, P(y) − odds·Q(y)), exactly, for odds of at least 1."""
        pair = self.worst_pair()
        assert pair is not None, "a law without a worst pair must override `worst` and `odds`"
        return pair.worst(odds)

    def odds(self, delta: Fraction) -> Odds:
        """The least e^ε such that every ordered pair satisfies (ε, δ), exactly."""
        pair = self.worst_pair()
        assert pair is not None, "a law without a worst pair must override `worst` and `odds`"
        return pair.odds(delta)

    @property
    def absent(self) -> int | None:
        """The output that says that a value is missing, where the law knows such values."""
        return None

    @property
    def shown(self) -> Law:
        """The law of a value that is shown: this one, but where others may be missing."""
        return self

    def with_missing(self, epsilon: Fraction, delta: Fraction) -> Law:
        """The law with one more input, a missing value, and one more output, which says that; (ε, δ)-private as this
        law is."""
        raise ArgumentError("this mechanism has no output for a missing value: put another value for it")

    def released_in(self, space: Space) -> Space:
        """The space of what is released, where it is neither noise on a line nor recorded as a lattice."""
        return space

    def with_total(self, total: int) -> Law | None:
        """The nearest law of this shape whose choices have the weights of this total, with no larger odds; None where
        there is none. Dice can draw it: each choice is the truth, or any answer, whatever the input."""
        return None

    # What it does to values ----------------------------------------------------------------------------------------

    @property
    def moments(self) -> tuple[Fraction, Fraction, Fraction] | None:
        """E X, E|X| and E X² in steps, where the output is the input plus noise X; None for other laws."""
        return None

    @property
    def farthest(self) -> int | None:
        """The most steps that noise can move a value; None where there is no end, or no noise."""
        return None

    @property
    def scale(self) -> float | None:
        """The scale of noise in steps (`NoiseLaw.scale`), clamped or not; None for laws without one."""
        return None

    def possible(self) -> NDArray[np.bool_] | None:
        """The outputs that some input can give, where it is not all of them."""
        return None

    def chances(self) -> tuple[str, Mapping[str, float]] | None:
        """The fate of a value, in words, where a few chances say it all: the subject, and each verb with its
        probability."""
        return None

    def shown_chances(self, absent: int) -> tuple[Fraction, Fraction]:
        """The chances that a value is shown that is there, and a missing one, the last input; `absent` is the output
        that says that a value is missing."""
        inputs, _, _ = listed_sizes(self)
        return 1 - self.probability(0, absent), 1 - self.probability(inputs - 1, absent)

    def probability(self, source: int, target: int) -> Fraction:
        """P(Y_source = target), exactly."""
        return Fraction(int(self.weights(source)[target]), listed_sizes(self)[2])

    def cumulative(self, source: int, target: int) -> Fraction:
        """P(Y_source ≤ target) in the order of the output codes, exactly; any whole number is a target."""
        return Fraction(sum(map(int, self.weights(source)[: max(0, target + 1)])), listed_sizes(self)[2])

    def expectation(self, source: int, losses: Any) -> Fraction:
        """Σ_y P(Y_source = y) · losses[y], exactly."""
        return _expectation(self.weights(source), listed_sizes(self)[2], losses)

    def error(self, source: int, space: Space) -> Fraction:
        """E ρ(Y_d, d) for one input d and outputs in the space of the inputs, or around it."""
        return self.expectation(source, space.distances(source))

    def maximal_error(self, space: Space) -> Fraction:
        """max_d E ρ(Y_d, d), for outputs in the space of the inputs, or around it. HLM15, equation (13)."""
        return max(self.error(n, space) for n in range(space.size))

    def maximal_expectation(self, losses: Callable[[int], Any]) -> Fraction:
        """max_d E losses(d)[Y_d], exactly."""
        inputs, _, total = listed_sizes(self)
        return max(_expectation(self.weights(n), total, losses(n)) for n in range(inputs))

    def bias_and_variance(self, true: Line, released: Line) -> tuple[float, float] | None:
        """The largest bias and the largest variance of a released number; None where that takes too long to compute, or
        the law is not written out."""
        if self.moments is not None:
            mean, _, square = self.moments
            return float(abs(mean) * true.step), float((square - mean**2) * true.step**2)
        if self.inputs is None or self.outputs is None or self.inputs * self.outputs > _LARGEST_MOMENTS:
            return None
        if self.total is None:  # it has no matrix
            return None
        whole, total = self.written_out()
        law = np.asarray(whole / total, np.float64)
        points = released.numbers(np.arange(law.shape[1])).astype(np.float64)
        means = law @ points
        biases = np.abs(means - true.numbers(np.arange(len(law))))
        return float(biases.max()), float((law @ points**2 - means**2).max())

    # Estimation ----------------------------------------------------------------------------------------------------

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction] | None:
        """The chances that a value shows in the output of a row that has it, and of a row that does not.

        None where that depends on the value.
        """
        return None

    def count_variance(self, space: Space) -> float | None:
        """The largest variance, over a row's true value, of what the row adds to a debiased count; None without one.

        The count is of the rows with one value or, for sets, with one item. With B = P⁻¹ a response y adds
        Σ_v B[y, v] f(v) to the count of f, whose mean is f of the true value.
        """
        return None

    def cells_variance(self, cells: int, held: int) -> float | None:
        """The variance that a row adds to the debiased counts of so many cells together, of `held` values each, on
        average over values that are equally frequent; None where it depends on the values."""
        chances = self.support_probabilities
        if chances is None:
            return None
        hit, miss = chances
        if hit == miss:  # one value, which every row has
            return 0.0
        kept, other = hit + (held - 1) * miss, held * miss
        return float((kept * (1 - kept) + (cells - 1) * other * (1 - other)) / (hit - miss) ** 2)

    def mean_variance(self, space: Space) -> float | None:
        """The largest variance of what a row adds to the mean of the numbers that are there, times their number, where
        others may be missing and few are; None where none may be, or it is not known."""
        return None

    def debias_axes(self, seen: Sequence[SeenColumn], others: int, name: str) -> DebiasAxes:
        """The axes that undo the law for a question that sees these columns and not `others` more codes: here, for one,
        the whole matrix, every output a state."""
        (column,) = seen
        inputs, outputs, _ = listed_sizes(self)
        if inputs * outputs > _LARGEST_UNDONE:
            raise TooLarge(f"{name} has a law of {inputs} by {outputs}, too large to be inverted")
        whole, total = self.written_out()
        matrix = np.asarray(whole / total, float)
        by_presence = presence_alone(column, matrix, name)
        if by_presence is not None:
            return by_presence
        codes, member = np.arange(inputs), np.eye(column.blocks.blocks)[column.blocks.of(np.arange(inputs))]
        line = column.space.line
        if line is None:
            values = np.zeros(inputs) if column.scale is None else column.scale.numbers(column.space, codes)
            axis = MatrixAxis(name, matrix, member, values, member, values, column.space.decode(codes))
        else:
            scale, released = column.scale or Scale(), np.arange(outputs)
            nearest = member[nearest_codes(column, outputs)]
            numbers = scale.numbers(column.space, codes), nearest, scale.numbers(column.outputs, released)
            axis = MatrixAxis(name, matrix, member, *numbers, rough=True)
        return DebiasAxes((axis,), lambda released: released[0])


def _expectation(weights: NDArray[Any], total: int, losses: Any) -> Fraction:
    array = np.asarray(losses)
    if array.dtype.kind in "iu" and weights.dtype != object and total * int(abs(array).max()) < 1 << 63:
        return Fraction(int(weights @ array), total)
    if array.dtype == object and set(map(type, array.tolist())) == {int}:  # of joined columns, many
        return Fraction(sum(map(mul, array.tolist(), map(int, weights.tolist()))), total)
    exactly = (loss if type(loss) is Fraction else exact(loss, "a loss") for loss in losses)
    return sum((loss * int(w) for loss, w in zip(exactly, weights, strict=True)), Fraction(0)) / total


def nearest_codes(column: SeenColumn, outputs: int) -> NDArray[np.int64]:
    """For each released code of a number, the code of the value that it is nearest to."""
    line, released = column.space.line, np.arange(outputs)
    assert line is not None
    nearest = np.rint((column.outputs.values_of(released) - float(line.origin)) / float(line.step))
    nearest = np.clip(nearest.astype(np.int64), 0, column.space.candidates - 1)
    if column.outputs.absent is not None:
        nearest[column.outputs.absent] = column.space.absent
    return nearest


def presence_alone(column: SeenColumn, matrix: NDArray[Any], name: str) -> DebiasAxes | None:
    """The axes that tell whether a value is there, where no more is asked and every value is shown as often."""
    lacking = column.outputs.absent
    if column.space.present is None or column.scale is not None or lacking is None:
        return None
    *shown, missing = 1 - matrix[:, lacking]
    return presence(column, (shown[0], missing), name) if len(set(shown)) == 1 else None


LAWS: dict[str, Callable[[Mapping[str, Any]], Law]] = {}  # how each kind of law is read back


def law_from_json(record: Mapping[str, Any]) -> Law:
    """The law of a certificate, whatever its kind."""
    kind = str(record["kind"])
    if kind not in LAWS:
        raise VerificationFailed(
            f"the certificate has a law of the kind {kind[:40]!r}, which is not known: import the module that adds it"
        )
    return LAWS[kind](record)


def read_number(record: Mapping[str, Any], name: str, span: Span) -> Any:
    """A number, or a table of them as tuples, each in its range; a whole one where it is written as one."""
    low, high = span

    def read(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(read, value))
        top, _, bottom = str(value).partition("/") if type(value) in (int, str) else ("", "", "")
        if _is_number(top) and (not bottom or _is_number(bottom)):
            number = Fraction(int(top), int(bottom)) if bottom else int(top)
            if low <= number <= high:
                return number
        raise VerificationFailed(f"the certificate cannot be read: {name!r} lies outside its range")

    return read(record[name])


def _is_number(text: str) -> bool:
    return len(text) <= _LONGEST and text.isascii() and text.isdecimal()


def counted(number: int) -> str:
    """A number of points as it is told: in digits, or about a power of ten."""
    return str(number) if number < 10**18 else f"about 10^{int(log10(number))}"


def listed_sizes(law: Law, most: int | None = None) -> tuple[int, int, int]:
    """The numbers of inputs and outputs of a law to be written out whole, and its total; at most `most` entries."""
    inputs, outputs, total = law.inputs, law.outputs, law.total
    if inputs is not None and outputs is not None and total is None:
        raise TooLarge("this law is not written out as a matrix; ask for single probabilities, or use a coarser step")
    if inputs is None or outputs is None or total is None:
        raise ArgumentError("this law has infinitely many outputs, so no matrix: ask for single probabilities or clamp")
    if most is not None and inputs * outputs > most:
        raise TooLarge(
            f"a law of {counted(inputs)} inputs by {counted(outputs)} outputs is too large to write out: at most "
            f"{most} entries; ask for law(value) of one input"
        )
    return inputs, outputs, total
