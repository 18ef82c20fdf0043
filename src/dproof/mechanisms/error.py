"""The expected error of a law under a metric, exactly. HLM15, section 6."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError
from dproof.exact import exact
from dproof.laws.bits import Bits
from dproof.laws.family import Family
from dproof.laws.keep_or_other import KeepOrOther
from dproof.spaces.categories import Categories
from dproof.spaces.space import Space
from dproof.spaces.subsets import Subsets


def expected_errors(family: Family, inputs: Space, outputs: Space, loss: Any = None) -> list[Fraction]:
    """E ρ(Y_d, d) for each input d; `loss` is None for the metric, or a matrix, inputs by outputs."""
    if loss is not None and np.shape(loss) != (family.inputs, family.outputs):
        raise InputError(f"the losses must be a matrix of {family.inputs} inputs by {family.outputs} outputs")
    rows = (_losses(inputs, outputs, n) if loss is None else loss[n] for n in range(family.inputs))
    return [_expectation(family, n, row) for n, row in enumerate(rows)]


def maximal_error(family: Family, inputs: Space, outputs: Space) -> Fraction:
    """max_d E ρ(Y_d, d), by symmetry from one input where all inputs are alike."""
    if isinstance(family, Bits) and isinstance(inputs, Subsets):
        stays = Fraction(family.stay, family.stay + family.flip)
        return family.bits * (1 - stays) if inputs.metric == "symmetric" else 1 - stays**family.bits
    if isinstance(family, KeepOrOther) and _homogeneous(inputs):
        return _expectation(family, 0, inputs.distances(0))
    return max(expected_errors(family, inputs, outputs))


def _homogeneous(space: Space) -> bool:
    """Whether the space looks the same from each of its points."""
    return isinstance(space, Subsets) or (isinstance(space, Categories) and space.metric == "discrete")


def _losses(inputs: Space, outputs: Space, code: int) -> NDArray[Any]:
    """ρ(d, y) for one input d and every output y."""
    if outputs is inputs or outputs == inputs:
        return inputs.distances(code)
    try:
        return outputs.distances(outputs.code(inputs.label(code)))
    except InputError:
        raise InputError("the outputs have no distance from the inputs; give a matrix of losses") from None


def _expectation(family: Family, source: int, losses: Any) -> Fraction:
    weights = family.weights(source)
    whole = np.asarray(losses)
    if whole.dtype.kind in "iu" and weights.dtype != object and family.total * int(whole.max()) < 1 << 63:
        return Fraction(int(weights @ whole), family.total)
    return sum((exact(loss) * int(w) for loss, w in zip(losses, weights, strict=True)), Fraction(0)) / family.total
