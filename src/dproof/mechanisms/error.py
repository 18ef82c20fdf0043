"""The expected error of a law under a metric, exactly. HLM15, section 6."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError, did_you_mean
from dproof.exact import exact, has_shape
from dproof.laws.bits import Bits
from dproof.laws.family import Family
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.lattice import Lattice
from dproof.spaces.categories import Categories
from dproof.spaces.interval import Interval
from dproof.spaces.rows import Rows
from dproof.spaces.space import Space
from dproof.spaces.subsets import Subsets


def expected_errors(family: Family, inputs: Space, outputs: Space, loss: Any = None) -> list[Fraction]:
    """E ρ(Y_d, d) for each input d; `loss` is None for the metric, "squared", or a matrix, inputs by outputs."""
    if isinstance(loss, str) and loss != "squared":
        raise InputError(f"loss {loss[:40]!r} is not known{did_you_mean(loss, ['squared'])}; or give a matrix")
    if loss is None and isinstance(family, Lattice):
        return [inputs.separation * family.error(n) for n in range(family.inputs)]
    if isinstance(loss, str) and isinstance(family, Lattice) and not family.clamped:
        return [inputs.separation**2 * family.noise.moments[2]] * family.inputs
    if loss is None or isinstance(loss, str):
        rows = (distances_between(inputs, outputs, n) for n in range(family.inputs))
        return [_expectation(family, n, row if loss is None else row.astype(object) ** 2) for n, row in enumerate(rows)]
    if not has_shape(loss, family.inputs, family.outputs):
        raise InputError(f"the losses must be a matrix of {family.inputs} inputs by {family.outputs} outputs")
    return [_expectation(family, n, row) for n, row in enumerate(loss)]


def maximal_error(family: Family, inputs: Space, outputs: Space) -> Fraction:
    """max_d E ρ(Y_d, d), in closed form where the law has one."""
    if isinstance(family, Bits) and isinstance(inputs, Subsets):
        stays = Fraction(family.stay, family.stay + family.flip)
        return family.bits * (1 - stays) if inputs.metric == "symmetric" else 1 - stays**family.bits
    if isinstance(family, KeepOrOther) and (outputs is inputs or outputs == inputs):
        return _largest_sum(inputs) * Fraction(family.other, family.total)
    if isinstance(family, Lattice):  # in the middle, the ends are the farthest
        return inputs.separation * max(family.error((family.size - 1) // 2), family.error(family.size // 2))
    return max(expected_errors(family, inputs, outputs))


def _largest_sum(space: Space) -> Fraction:
    """max_d Σ_y ρ(d, y): how far all points together lie from the one that is farthest from them."""
    size = space.size
    if isinstance(space, Subsets):
        return Fraction(size * len(space.values), 2) if space.metric == "symmetric" else Fraction(size - 1)
    if isinstance(space, Categories) and space.metric == "discrete":
        return Fraction(size - 1)
    if isinstance(space, Categories) and space.metric == "ordinal":
        return Fraction(size * (size - 1), 2)  # from either end
    if isinstance(space, Interval):
        return space.step * Fraction(size * (size - 1), 2)
    if isinstance(space, Rows):
        return sum((_largest_sum(column) * (size // column.size) for column in space.columns.values()), Fraction(0))
    return max(Fraction(space.distances(n).sum()) for n in range(size))


def distances_between(inputs: Space, outputs: Space, code: int) -> NDArray[Any]:
    """ρ(d, y) for one input d and every output y."""
    if outputs is inputs or outputs == inputs:
        return inputs.distances(code)
    try:
        if isinstance(outputs, Interval):  # whose points need not be those of the inputs
            place = (exact(inputs.label(code)) - outputs.low) / outputs.step
            return np.asarray(abs(np.arange(outputs.size).astype(object) - place) * outputs.step)
        return outputs.distances(outputs.code(inputs.label(code)))
    except InputError:
        raise InputError("the outputs have no distance from the inputs; give a matrix of losses") from None


def _expectation(family: Family, source: int, losses: Any) -> Fraction:
    weights = family.weights(source)
    whole = np.asarray(losses)
    if whole.dtype.kind in "iu" and weights.dtype != object and family.total * int(abs(whole).max()) < 1 << 63:
        return Fraction(int(weights @ whole), family.total)
    terms = (exact(loss, "a loss") * int(w) for loss, w in zip(losses, weights, strict=True))
    return sum(terms, Fraction(0)) / family.total
