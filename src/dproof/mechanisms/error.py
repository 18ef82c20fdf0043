"""The loss of an output under an input, and its expectation under a law, exactly. HLM15, section 6."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError, TooLarge, did_you_mean
from dproof.exact import has_shape, whole_numbers
from dproof.laws.law import Law, counted, listed
from dproof.spaces.interval import Line
from dproof.spaces.products import Lines
from dproof.spaces.space import Space

_LARGEST = 1 << 24  # losses that are written out


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
        raise TooLarge(
            f"losses of {counted(inputs.size)} inputs by {counted(target.size)} outputs are too many to write out"
        )
    if name == "matrix":
        _check_shape(loss, inputs.size, target.size)
        whole, unit = whole_numbers(loss, "a loss")
        if whole.min() < 0:
            raise InputError("a loss must not be negative; add the same number to all losses")
        return Losses(whole, unit, name)
    rows = [_distances(inputs, target, n) for n in range(inputs.size)]
    if all(row.dtype.kind in "iu" for row in rows):
        whole, unit = np.array(rows).astype(object), 1
    else:
        whole, unit = whole_numbers(rows, "a distance")
    return Losses(whole, unit, name) if name == "metric" else Losses(whole**2, unit**2, name)


def expected_errors(family: Law, inputs: Space, outputs: Space | Line | Lines, loss: Any = None) -> list[Fraction]:
    """E R(d, Y_d) for each input d, with a loss R as `losses` takes it, in closed form where the law has one."""
    name = _loss_name(loss)
    if inputs.size > _LARGEST:
        raise TooLarge(f"there are {counted(inputs.size)} inputs, too many to list; `error` is the largest of all")
    if name == "matrix":
        height, width, _ = listed(family)
        _check_shape(loss, height, width)
        return [family.expectation(n, row) for n, row in enumerate(loss)]
    if name == "metric" and _same_space(inputs, outputs):
        return [family.error(n, inputs) for n in range(inputs.size)]
    if name == "squared" and family.moments is not None:
        return [inputs.separation**2 * family.moments[2]] * inputs.size
    rows = (_distances(inputs, outputs, n) for n in range(inputs.size))
    return [family.expectation(n, row if name == "metric" else row.astype(object) ** 2) for n, row in enumerate(rows)]


def maximal_error(family: Law, inputs: Space, outputs: Space | Line | Lines) -> Fraction:
    """max_d E ρ(Y_d, d), in closed form where the law has one."""
    if _same_space(inputs, outputs):
        return family.maximal_error(inputs)
    return family.maximal_expectation(lambda code: _distances(inputs, outputs, code))


def _loss_name(loss: Any) -> str:
    if loss is None:
        return "metric"
    if not isinstance(loss, str):
        return "matrix"
    if loss in ("metric", "squared"):
        return loss
    raise InputError(f"loss {loss[:40]!r} is not known{did_you_mean(loss, ['metric', 'squared'])}; or give a matrix")


def _check_shape(loss: Any, inputs: int, outputs: int) -> None:
    if not has_shape(loss, inputs, outputs):
        raise InputError(f"the losses must be a matrix of {counted(inputs)} inputs by {counted(outputs)} outputs")


def _distances(inputs: Space, outputs: Space | Line | Lines, code: int) -> NDArray[Any]:
    """ρ(d, y) for one input d and every output y."""
    if outputs is inputs or outputs == inputs:
        return inputs.distances(code)
    try:
        if isinstance(outputs, Space):
            return outputs.distances_from(inputs.label(code))
    except InputError:
        pass
    raise InputError("the outputs have no distance from the inputs; give a matrix of losses")


def _same_space(inputs: Space, outputs: Space | Line | Lines) -> bool:
    """Whether outputs lie in the space of the inputs, or on the lattice that it lies in."""
    return outputs is inputs or outputs == inputs or outputs == inputs.around
