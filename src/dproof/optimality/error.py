"""What a release costs: losses between inputs and outputs, exactly. HLM15, section 6."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError, TooLarge, did_you_mean
from dproof.exact import has_shape, whole_numbers
from dproof.mechanisms.error import distances_between
from dproof.mechanisms.mechanism import Mechanism
from dproof.spaces.space import Space

_LARGEST = 1 << 24  # losses that are written out
_LARGEST_MATRIX = 1 << 20  # entries of a law whose moments are computed


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
    target = inputs if outputs is None else outputs
    if inputs.size * target.size > _LARGEST:
        raise TooLarge(f"losses of {inputs.size} inputs by {target.size} outputs are too many to write out")
    if loss is None or isinstance(loss, str):
        name = "metric" if loss is None else loss
        if name not in ("metric", "squared"):
            raise InputError(f"loss {name[:40]!r} is not known{did_you_mean(name, ['metric', 'squared'])}; or a matrix")
        whole, unit = _distances(inputs, target)
        return Losses(whole, unit, name) if name == "metric" else Losses(whole**2, unit**2, name)
    if not has_shape(loss, inputs.size, target.size):
        raise InputError(f"the losses must be a matrix of {inputs.size} inputs by {target.size} outputs")
    whole, unit = whole_numbers(loss, "a loss")
    if whole.min() < 0:
        raise InputError("a loss must not be negative; add the same number to all losses")
    return Losses(whole, unit, "matrix")


def bias_and_variance(mechanism: Mechanism) -> tuple[float, float] | None:
    """The largest bias and the largest variance of a released number over the true ones; None where none is released.

    >>> from dproof import Interval, Privacy, laplace
    >>> bias, variance = bias_and_variance(laplace(Interval(0, 1, "0.01"), Privacy(1)))
    >>> bias < 1e-9, round(variance, 2)
    (True, 2.0)
    """
    family, inputs, outputs = mechanism.family, mechanism.inputs, mechanism.outputs
    if inputs.line is None or outputs.line is None:
        return None
    if family.moments is not None:
        mean, _, square = family.moments
        return float(abs(mean) * inputs.line.step), float((square - mean**2) * inputs.line.step**2)
    if family.inputs is None or family.outputs is None or family.inputs * family.outputs > _LARGEST_MATRIX:
        return None
    law, points = mechanism.matrix(), outputs.line.numbers(np.arange(family.outputs)).astype(np.float64)
    means = law @ points
    biases = np.abs(means - inputs.line.numbers(np.arange(inputs.size)))
    return float(biases.max()), float((law @ points**2 - means**2).max())


def _distances(inputs: Space, outputs: Space) -> tuple[NDArray[Any], int]:
    rows = [distances_between(inputs, outputs, n) for n in range(inputs.size)]
    if all(row.dtype.kind in "iu" for row in rows):
        return np.array(rows).astype(object), 1
    return whole_numbers(rows, "a distance")
