"""The expected error of a law under a metric, exactly. HLM15, section 6."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from dproof.errors import InputError, did_you_mean
from dproof.exact import has_shape
from dproof.laws.family import Family, listed
from dproof.spaces.line import Line
from dproof.spaces.space import Space


def expected_errors(family: Family, inputs: Space, outputs: Space | Line, loss: Any = None) -> list[Fraction]:
    """E ρ(Y_d, d) for each input d; `loss` is None for the metric, "squared", or a matrix, inputs by outputs."""
    if isinstance(loss, str) and loss != "squared":
        raise InputError(f"loss {loss[:40]!r} is not known{did_you_mean(loss, ['squared'])}; or give a matrix")
    if loss is None and _is_same(inputs, outputs):
        return [family.error(n, inputs) for n in range(inputs.size)]
    if isinstance(loss, str) and family.moments is not None:
        return [inputs.separation**2 * family.moments[2]] * inputs.size
    if loss is None or isinstance(loss, str):
        rows = (distances_between(inputs, outputs, n) for n in range(inputs.size))
        return [family.expectation(n, row if loss is None else row.astype(object) ** 2) for n, row in enumerate(rows)]
    height, width, _ = listed(family)
    if not has_shape(loss, height, width):
        raise InputError(f"the losses must be a matrix of {height} inputs by {width} outputs")
    return [family.expectation(n, row) for n, row in enumerate(loss)]


def maximal_error(family: Family, inputs: Space, outputs: Space | Line) -> Fraction:
    """max_d E ρ(Y_d, d), in closed form where the law has one."""
    if _is_same(inputs, outputs):
        return family.maximal_error(inputs)
    return max(expected_errors(family, inputs, outputs))


def distances_between(inputs: Space, outputs: Space | Line, code: int) -> NDArray[Any]:
    """ρ(d, y) for one input d and every output y."""
    if outputs is inputs or outputs == inputs:
        return inputs.distances(code)
    try:
        if isinstance(outputs, Space):
            return outputs.distances_from(inputs.label(code))
    except InputError:
        pass
    raise InputError("the outputs have no distance from the inputs; give a matrix of losses")


def _is_same(inputs: Space, outputs: Space | Line) -> bool:
    """Whether outputs lie in the space of the inputs, or on the lattice that it is cut from."""
    return outputs is inputs or outputs == inputs or outputs == inputs.line
