"""Any law you bring. HLM16, Definition 6."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError
from dproof.exact import whole_numbers
from dproof.laws.matrix import Matrix
from dproof.mechanisms.mechanism import Mechanism
from dproof.mechanisms.neighbours import as_neighbours
from dproof.spaces.categories import Categories
from dproof.spaces.space import Space, as_space

_TOLERANCE = Fraction(1, 10**9)


def solution_matrix(space: Space, rows: Any, *, outputs: Space | None = None, neighbours: Any = None) -> Mechanism:
    """The mechanism with P(Y_i = j) = rows[i][j], exactly as given.

    Entries are exact numbers, and a float means its shortest decimal. A row whose sum is off by at most 1e-9 is
    mended on its largest entry (the first of them): that moves the probabilities the least, relatively.
    `outputs` is another space, for a law into it; `neighbours`, where not every pair counts, are pairs of labels or a
    square matrix of booleans over the inputs. HLM16, Definition 6.

    >>> from dproof import Categories
    >>> m = solution_matrix(Categories(["yes", "no"]), [[0.75, 0.25], ["1/4", "3/4"]])
    >>> m.law("yes")["no"], m.delta(0)
    (Fraction(1, 4), 0.5)
    """
    as_space(space)
    target = space if outputs is None else as_space(outputs, "outputs")
    _check_shape(rows, space.size, target.size)
    whole, total = whole_numbers(rows, "an entry of the solution matrix")
    _mend(whole, total)
    law = Matrix(whole, total, as_neighbours(neighbours, space))
    return Mechanism("solution matrix", space, target, law, "HLM16, Definition 6")


def _check_shape(rows: Any, inputs: int, outputs: int) -> None:
    if not isinstance(rows, (list, tuple)) and not (isinstance(rows, np.ndarray) and rows.ndim == 2):
        raise InputError("rows must be a solution matrix: a list of rows, one for each input")
    if len(rows) != inputs:
        raise InputError(f"the solution matrix has {len(rows)} rows for {inputs} inputs; give one row for each")
    for n, row in enumerate(rows, 1):
        if isinstance(row, str) or not hasattr(row, "__len__"):
            raise InputError(f"row {n} of the solution matrix is not a list of {outputs} numbers")
        if len(row) != outputs:
            raise InputError(
                f"row {n} of the solution matrix has {len(row)} entries for {outputs} outputs; give one for each"
            )


def _mend(whole: NDArray[Any], total: int) -> None:
    """Make every row sum to the total, in place."""
    for n, (row, missing) in enumerate(zip(whole, total - whole.sum(axis=1), strict=True), 1):
        where = f"row {n} of the solution matrix"
        if row.min() < 0:
            raise InputError(f"{where} has a negative entry in column {row.argmin() + 1}; probabilities are not")
        if abs(missing) > _TOLERANCE * total:
            sum_ = float(Fraction(int(total - missing), total))
            raise InputError(f"{where} sums to {sum_:.12g}, not to 1; divide it by its sum")
        row[row.argmax()] += missing


EXAMPLES = (
    solution_matrix(Categories(["a", "b"]), [["3/4", "1/4"], ["1/4", "3/4"]]),
    solution_matrix(Categories([0, 1]), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], outputs=Categories(["x", "y", "z"])),
    solution_matrix(Categories([0, 1, 2]), [[1, 0, 0], [0, 1, 0], ["1/3", "1/3", "1/3"]]),
)
