"""The exponential mechanism on finite spaces. HLM16, Definitions 2 and 4."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import listed
from dproof.errors import InputError, TooLarge
from dproof.exact import exact, exp_below, has_shape, whole_numbers
from dproof.laws.keep_or_other import keep_up_to
from dproof.laws.matrix import Matrix, whole_law
from dproof.mechanisms.mechanism import Mechanism
from dproof.mechanisms.neighbours import as_neighbours
from dproof.privacy import Privacy
from dproof.spaces.categories import Categories
from dproof.spaces.rows import Rows, one_row_apart
from dproof.spaces.space import Space, as_space

_TOTAL = 1 << 56
# Utilities are contracted by this much before they are rounded, which outweighs the rounding: the law of whole
# numbers is then no less private than the ideal one wherever utility and privacy pull against each other.
_CONTRACTION = 1 - Fraction(1, 1 << 30)
_LOWEST = -1000  # a utility this far below the best is as good as any lower one: its weight is one part of the total
_LARGEST_K = 1000
_LARGEST_SPACE = 1 << 12  # points, where the law is written out as a matrix


def discrete_exponential(space: Space, k: Any = None, *, utility: Any = None, neighbours: Any = None) -> Mechanism:
    """P(Y_d = d') = e^{u(d, d')} / C_d, with u = −k·ρ or a given matrix of utilities.

    Under the discrete metric it is randomised response with e^k = 1/p − m, HLM16, Theorem 7, and it is
    (ε, δ)-private iff e^k ≤ (e^ε + mδ)/(1 − δ), HLM16, Theorem 4. HLM16, Definition 4 and equation (12).

    `neighbours`, pairs of labels or a square matrix of booleans, says which inputs are neighbours; all by default.
    For `Rows`, a table of n rows, they are the tables that differ in one row.

    >>> from dproof import Categories
    >>> round(discrete_exponential(Categories(["a", "b", "c"]), 1).epsilon(), 9)
    1.0
    """
    as_space(space)
    if (k is None) == (utility is None):
        raise InputError("give either k, for the utility −k times the distance, or a matrix of utilities")
    source, unit = "HLM16, Definition 4", Fraction(1)
    if k is not None:
        unit = exact(k, "k")
        if not 0 <= unit <= _LARGEST_K:
            raise InputError(f"k must lie between 0 and {_LARGEST_K}; at 0 every answer is as likely")
        if space.is_discrete and space.factors is None and neighbours is None:
            return Mechanism(
                "discrete exponential", space, space, keep_up_to(exp_below(unit * space.separation), space.size), source
            )
    if space.size > _LARGEST_SPACE:
        raise TooLarge(f"a law on {space.size} points is too large to write out; take at most {_LARGEST_SPACE}")
    apart = neighbours is None and space.factors is not None
    pairs = one_row_apart(space) if apart else as_neighbours(neighbours, space)
    if k is not None:
        utility = -np.array([space.distances(n) for n in range(space.size)])
    family = _family(utility, (space.size, space.size), unit, None, pairs)
    return Mechanism("discrete exponential", space, space, family, source)


def exponential(
    inputs: Space, outputs: Space, utility: Any, *, epsilon: Any, base: Sequence[Any] | None = None
) -> Mechanism:
    """P(Y_d = q) = e^{ε u(d, q)} μ(q) / C_d, for a matrix of utilities and a base measure μ on the outputs.

    2εΔu-private by McSherry and Talwar, 2007; `epsilon()` tells the tight value. HLM16, Definition 2.

    >>> from dproof import Categories
    >>> m = exponential(Categories([0, 1]), Categories([0, 1]), [[0, -1], [-1, 0]], epsilon=1)
    >>> round(m.epsilon(), 8)
    1.0
    """
    as_space(inputs, "inputs")
    as_space(outputs, "outputs")
    eps = Privacy(epsilon).epsilon
    given = [1] * outputs.size if base is None else listed(base, "base", "a list of weights, one for each output")
    measure = [exact(x, "a base weight") for x in given]
    if len(measure) != outputs.size or min(measure) < 0 or not any(measure):
        raise InputError(f"the base measure needs {outputs.size} weights of at least 0, not all 0")
    family = _family(utility, (inputs.size, outputs.size), eps, measure, None)
    return Mechanism("exponential", inputs, outputs, family, "HLM16, Definition 2")


def _family(
    utility: Any,
    shape: tuple[int, int],
    unit: Fraction,
    base: Sequence[Fraction] | None,
    neighbours: NDArray[np.bool_] | None,
) -> Matrix:
    """The law of whole numbers nearest to e^{unit·u(d, q)} μ(q), row by row."""
    if not has_shape(utility, *shape):
        raise InputError(f"the utilities must be a matrix of {shape[0]} inputs by {shape[1]} outputs")
    levels, denominator = whole_numbers(utility, "a utility")
    gaps = levels - levels.max(axis=1, keepdims=True)  # only differences count, and then e^u is at most 1
    values, places = np.unique(gaps, return_inverse=True)
    step = unit * _CONTRACTION / denominator
    weights = np.array([exp_below(max(int(gap) * step, Fraction(_LOWEST))) for gap in values], object)
    laws = weights[places].reshape(shape)
    if base is not None:
        laws = laws * np.array(base, object)
    return Matrix(np.array([whole_law(law.tolist(), _TOTAL) for law in laws]), _TOTAL, neighbours)


EXAMPLES = (
    discrete_exponential(Categories(["Sports", "Cars", "Television", "Computer games", "Reading"]), "1.79"),
    discrete_exponential(Categories(["low", "middle", "high"], metric="ordinal"), 1),
    discrete_exponential(
        Rows({"first": Categories([0, 1, 2], "ordinal"), "second": Categories([0, 1, 2], "ordinal")}), 1
    ),
    exponential(Categories(["a", "b"]), Categories([1, 2, 3]), [[0, -1, -2], [-2, -1, 0]], epsilon=1, base=[1, 2, 1]),
)
