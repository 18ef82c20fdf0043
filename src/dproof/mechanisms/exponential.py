"""The exponential mechanism on finite spaces. HLM16, Definitions 2 and 4."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dproof.errors import InputError
from dproof.exact import exact, exp_below
from dproof.laws.family import Family
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.matrix import Matrix
from dproof.laws.rounding import whole_law
from dproof.mechanisms.mechanism import Mechanism
from dproof.spaces.categories import Categories
from dproof.spaces.rows import Rows
from dproof.spaces.space import Space

_TOTAL = 1 << 56
# Utilities are contracted by this much before they are rounded, which outweighs the rounding: the law of whole
# numbers is then no less private than the ideal one wherever utility and privacy pull against each other.
_CONTRACTION = 1 - Fraction(1, 1 << 30)


def discrete_exponential(space: Space, k: Any = None, *, utility: Any = None, neighbours: Any = None) -> Mechanism:
    """P(Y_d = d') = e^{u(d, d')} / C_d, with u = −k·ρ or a given matrix of utilities.

    Under the discrete metric it is randomised response with e^k = 1/p − m, HLM16, Theorem 7, and it is
    (ε, δ)-private iff e^k ≤ (e^ε + mδ)/(1 − δ), HLM16, Theorem 4. HLM16, Definition 4 and equation (12).

    `neighbours`, a square matrix of booleans, says which ordered pairs of inputs are neighbours; all by default.
    For `Rows`, a table of n rows, they are the tables that differ in one row.

    >>> from dproof import Categories
    >>> round(discrete_exponential(Categories(["a", "b", "c"]), 1).epsilon(), 9)
    1.0
    """
    if (k is None) == (utility is None):
        raise InputError("give either k, for the utility −k times the distance, or a matrix of utilities")
    if neighbours is None and isinstance(space, Rows):
        neighbours = _one_row_apart(space)
    source = "HLM16, Definition 4"
    if k is not None:
        rate = exact(k, "k")
        if rate < 0:
            raise InputError("k must be at least 0, so that nearer answers are likelier")
        if isinstance(space, Categories) and space.metric == "discrete" and neighbours is None:
            return Mechanism("discrete exponential", space, space, _by_size(space.size, rate), source)
        utility = [[-rate * exact(x) for x in space.distances(n)] for n in range(space.size)]
    family = _family(utility, space.size, space.size, None, neighbours)
    return Mechanism("discrete exponential", space, space, family, source)


def exponential(
    inputs: Space, outputs: Space, utility: Any, *, epsilon: Any, base: Sequence[Any] | None = None
) -> Mechanism:
    """P(Y_d = q) = e^{ε u(d, q)} μ(q) / C_d, for a matrix of utilities and a base measure μ on the outputs.

    2εΔu-private by McSherry and Talwar, 2007; `epsilon()` tells the tight value. HLM16, Definition 2.

    >>> from dproof import Categories
    >>> m = exponential(Categories([0, 1]), Categories([0, 1]), [[0, -1], [-1, 0]], epsilon=1)
    >>> round(m.epsilon(), 9)
    1.0
    """
    eps = exact(epsilon, "epsilon")
    scaled = [[eps * exact(u, "a utility") for u in row] for row in utility]
    measure = None if base is None else [exact(x, "a base weight") for x in base]
    if measure is not None and (len(measure) != outputs.size or min(measure) < 0 or not any(measure)):
        raise InputError(f"the base measure needs {outputs.size} weights of at least 0, not all 0")
    family = _family(scaled, inputs.size, outputs.size, measure, None)
    return Mechanism("exponential", inputs, outputs, family, "HLM16, Definition 2")


def _by_size(size: int, rate: Fraction) -> Family:
    """keep : other = e^k : 1, rounded towards privacy."""
    ratio = exp_below(rate)
    other = max(1, (1 << 52) // (size + int(ratio))) if rate else 1
    return KeepOrOther(size, min(int(other * ratio), 1 << 61), other)


def _family(utility: Any, inputs: int, outputs: int, base: Sequence[Fraction] | None, neighbours: Any) -> Matrix:
    if len(utility) != inputs or any(len(row) != outputs for row in utility):
        raise InputError(f"the utilities must be a matrix of {inputs} inputs by {outputs} outputs")
    rows = []
    for row in utility:
        levels = [exact(u, "a utility") * _CONTRACTION for u in row]
        top = max(levels)  # only differences count, and this keeps the exponentials at most 1
        measure = base or [Fraction(1)] * outputs
        rows.append(whole_law([exp_below(u - top) * w for u, w in zip(levels, measure, strict=True)], _TOTAL))
    counts = None if neighbours is None else np.asarray(neighbours, bool)
    return Matrix(np.array(rows), _TOTAL, counts)


def _one_row_apart(table: Rows) -> Any:
    from dproof.spaces.rows import neighbouring_codes

    apart = np.zeros((table.size, table.size), bool)
    for a, b in neighbouring_codes(table):
        apart[a, b] = True
    return apart


EXAMPLES = (
    discrete_exponential(Categories(["Sports", "Cars", "Television", "Computer games", "Reading"]), "1.79"),
    discrete_exponential(Categories(["low", "middle", "high"], metric="ordinal"), 1),
    discrete_exponential(
        Rows({"first": Categories([0, 1, 2], "ordinal"), "second": Categories([0, 1, 2], "ordinal")}), 1
    ),
    exponential(Categories(["a", "b"]), Categories([1, 2, 3]), [[0, -1, -2], [-2, -1, 0]], epsilon=1, base=[1, 2, 1]),
)
