"""What every family of laws {Y_d} offers, whatever its shape. Nothing outside this folder asks which one it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import InputError, TooLarge
from dproof.exact import exact
from dproof.laws.axes import Mixed, Scale, Seen, Unmixed
from dproof.spaces.space import Space

_LARGEST_UNDONE = 1 << 24


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest hockey-stick divergence at given odds, and an ordered pair of inputs that attains it."""

    value: Fraction
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Odds:
    """The tight e^ε at a given δ (None is infinite), and an ordered pair of inputs that attains it."""

    value: Fraction | None
    source: int
    target: int


class Family(Protocol):
    """Laws of whole numbers over one total, one for each input.

    Every ordered pair of distinct inputs is a neighbouring pair: this is the law of one row (HLM15, Theorem 5). What a
    family does not have is None; a new one has to say only what has no default here.
    """

    if TYPE_CHECKING:  # for the type checker alone: a property here would hide a field of the same name

        @property
        def inputs(self) -> int | None:
            """How many inputs there are; None where they cannot be listed, such as curves."""

        @property
        def outputs(self) -> int | None:
            """How many outputs there are; None where they cannot be listed, such as all whole numbers."""

        @property
        def total(self) -> int | None:
            """What the weights of one input sum to; None where none are written out."""

    @property
    def neighbours(self) -> NDArray[np.bool_] | None:
        """Which ordered pairs of inputs count, as a matrix; None for all of them."""
        return None

    @property
    def hit_and_miss(self) -> tuple[Fraction, Fraction] | None:
        """How likely a value shows in the output of a row that has it, and of a row that does not.

        None where that depends on the value.
        """
        return None

    @property
    def moments(self) -> tuple[Fraction, Fraction, Fraction] | None:
        """E X, E|X| and E X² in steps, where the output is the input plus noise X; None for other laws."""
        return None

    @property
    def farthest(self) -> int | None:
        """How many steps noise can move a value at most; None where there is no end, or no noise."""
        return None

    def possible(self) -> NDArray[np.bool_] | None:
        """Which outputs some input can give, where it is not all of them."""
        return None

    @property
    def is_sharp(self) -> bool:
        """Whether a count of any values is undone exactly, however many others there are: values that are told apart
        cost no more than values that are not."""
        return False

    def worst_atoms(self) -> Sequence[tuple[int, int]] | None:
        """The masses, on groups of outputs of one ratio each, of a pair of inputs that no other pair exceeds at any
        odds; None where no pair is known to."""
        return None

    def chances(self) -> tuple[str, Mapping[str, float]] | None:
        """What happens to a value, in words, where a few chances say it all: the subject, and each verb with its
        probability."""
        return None

    def probability(self, source: int, target: int) -> Fraction:
        """P(Y_source = target), exactly."""
        assert self.total is not None
        return Fraction(int(self.weights(source)[target]), self.total)

    def expectation(self, source: int, losses: Any) -> Fraction:
        """Σ_y P(Y_source = y) · losses[y], exactly."""
        weights, total, whole = self.weights(source), self.total, np.asarray(losses)
        assert total is not None
        if whole.dtype.kind in "iu" and weights.dtype != object and total * int(abs(whole).max()) < 1 << 63:
            return Fraction(int(weights @ whole), total)
        terms = (exact(loss, "a loss") * int(w) for loss, w in zip(losses, weights, strict=True))
        return sum(terms, Fraction(0)) / total

    def error(self, source: int, space: Space) -> Fraction:
        """E ρ(Y_d, d) for one input d and outputs in the space of the inputs, or around it."""
        return self.expectation(source, space.distances(source))

    def maximal_error(self, space: Space) -> Fraction:
        """max_d E ρ(Y_d, d) likewise. HLM15, equation (13)."""
        return max(self.error(n, space) for n in range(space.size))

    def count_variance(self, space: Space) -> float | None:
        """The largest variance, over a row's true value, of what the row adds to a debiased count; None without one.

        The count is of the rows with one value or, for sets, with one item. With B = P⁻¹ a response y adds
        Σ_v B[y, v] f(v) to the count of f, whose mean is f of the true value.
        """
        return None

    def unmix(self, seen: Sequence[Seen], others: int, name: str) -> Unmixed:
        """What undoes the law for a question that sees these columns and not `others` more codes: here, for one column,
        the whole matrix, every output a state."""
        (column,) = seen
        inputs, outputs, total = listed(self)
        if inputs * outputs > _LARGEST_UNDONE:
            raise TooLarge(f"{name} has a law of {inputs} by {outputs}, too large to be undone")
        matrix = np.asarray(np.array([self.weights(n) for n in range(inputs)]) / total, float)
        codes, member = np.arange(inputs), np.eye(column.blocks.blocks)[column.blocks.of(np.arange(inputs))]
        line = column.space.line
        if line is None:
            values = np.zeros(inputs) if column.scale is None else column.scale.numbers(column.space, codes)
            axis = Mixed(name, matrix, member, values, member, values, column.space.decode(codes))
        else:
            scale, shown = column.scale or Scale(), np.arange(outputs)
            nearest = np.rint((column.outputs.values_of(shown) - float(line.origin)) / float(line.step))
            held = member[np.clip(nearest.astype(np.int64), 0, inputs - 1)]
            numbers = scale.numbers(column.space, codes), held, scale.numbers(column.outputs, shown)
            axis = Mixed(name, matrix, member, *numbers, rough=True)
        return Unmixed((axis,), lambda released: released[0])

    def weights(self, source: int) -> NDArray[Any]:
        """The law of one input: a whole number for each output, summing to the total."""
        ...

    def worst(self, odds: Fraction) -> Worst:
        """max over ordered pairs of Σ_y max(0, P(y) − odds·Q(y)), exactly, for odds of at least 1."""
        ...

    def odds(self, delta: Fraction) -> Odds:
        """The least e^ε such that every ordered pair satisfies (ε, δ), exactly."""
        ...

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        """One output code for each input code; the codes' dtype must hold the largest output code."""
        ...

    def record(self) -> Mapping[str, Any]:
        """The law as JSON, whole numbers as strings; what a certificate holds."""
        ...


def listed(family: Family, most: int | None = None) -> tuple[int, int, int]:
    """How many inputs and outputs a law has that is to be written out whole, and its total; at most so many entries."""
    inputs, outputs, total = family.inputs, family.outputs, family.total
    if inputs is None or outputs is None or total is None:
        raise InputError("this law has no end of values, so it has no matrix; ask for single probabilities, or clamp")
    if most is not None and inputs * outputs > most:
        raise TooLarge(
            f"a law of {inputs} inputs by {outputs} outputs is too large to write out: at most {most} entries; ask for "
            "law(value) of one input"
        )
    return inputs, outputs, total
