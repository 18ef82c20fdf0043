"""Any law you bring. HLM16, Definition 6."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError
from dproof.exact import exact
from dproof.laws.matrix import Matrix
from dproof.mechanisms.mechanism import Mechanism
from dproof.spaces.categories import Categories
from dproof.spaces.space import Space

_TOLERANCE = Fraction(1, 10**9)


def solution_matrix(space: Space, rows: Any, *, outputs: Space | None = None, neighbours: Any = None) -> Mechanism:
    """The mechanism with P(Y_i = j) = rows[i][j], exactly as given.

    Entries are exact numbers, and a float means its shortest decimal. A row whose sum is off by at most 1e-9 is
    mended on its largest entry (the first of them): that moves the probabilities the least, relatively.
    HLM16, Definition 6.

    >>> from dproof import Categories
    >>> m = solution_matrix(Categories(["yes", "no"]), [[0.75, 0.25], ["1/4", "3/4"]])
    >>> m.law("yes")["no"], m.delta(0)
    (Fraction(1, 4), 0.5)
    """
    target = space if outputs is None else outputs
    if np.ndim(rows) != 2 and not isinstance(rows, (list, tuple)):
        raise InputError("a solution matrix is a list of rows, one for each input")
    if len(rows) != space.size:
        raise InputError(f"the solution matrix has {len(rows)} rows for {space.size} inputs; give one row for each")
    fractions = [_row(n, row, target.size) for n, row in enumerate(rows)]
    total = lcm(*{x.denominator for row in fractions for x in row})
    whole = [[x.numerator * (total // x.denominator) for x in row] for row in fractions]
    matrix: NDArray[Any] = np.array(whole, object if total >= 1 << 62 else np.int64)
    counts = None if neighbours is None else np.asarray(neighbours, bool)
    return Mechanism("solution matrix", space, target, Matrix(matrix, total, counts), "HLM16, Definition 6")


def _row(n: int, row: Any, width: int) -> list[Fraction]:
    where = f"row {n + 1} of the solution matrix"
    if len(row) != width:
        raise InputError(f"{where} has {len(row)} entries for {width} outputs; give one for each")
    law = [exact(x, f"an entry of {where}") for x in row]
    if min(law) < 0:
        raise InputError(f"{where} has a negative entry in column {law.index(min(law)) + 1}; probabilities are not")
    missing = 1 - sum(law)
    if abs(missing) > _TOLERANCE:
        raise InputError(f"{where} sums to {float(sum(law)):.12g}, not to 1; divide it by its sum")
    law[law.index(max(law))] += missing
    return law


EXAMPLES = (
    solution_matrix(Categories(["a", "b"]), [["3/4", "1/4"], ["1/4", "3/4"]]),
    solution_matrix(Categories([0, 1]), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], outputs=Categories(["x", "y", "z"])),
    solution_matrix(Categories([0, 1, 2]), [[1, 0, 0], [0, 1, 0], ["1/3", "1/3", "1/3"]]),
)
