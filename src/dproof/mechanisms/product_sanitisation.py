"""Whole tables sanitised row by row, written out as one law on D^n. HLM15, section 5; HLM16, section 4."""

from __future__ import annotations

from functools import reduce
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import whole
from dproof.errors import TooLarge
from dproof.laws.law import listed
from dproof.laws.matrix import Matrix
from dproof.mechanisms.mechanism import Mechanism, as_mechanism
from dproof.mechanisms.randomised_response import response_with
from dproof.mechanisms.solution_matrix import solution_matrix
from dproof.spaces.categories import Categories
from dproof.spaces.rows import one_row_apart, table_space
from dproof.spaces.space import Space

_LARGEST_LAW = 1 << 22  # entries of the matrix on D^n
_MOST_ROWS = 11  # of two values and two outputs


def product_sanitisation(parent: Mechanism, rows: int) -> Mechanism:
    """The mechanism on D^n that gives each of n rows to the parent mechanism, independently.

    P(Y_d = y) = Π_i P(Y_{d_i} = y_i), with neighbours the tables that differ in one row.
    HLM15, equation (7); HLM16, Definition 5.

    Why it is private: given all other rows, a table is told from its neighbour by one draw of the parent, so the
    tight δ at every ε is the parent's, however many rows there are (HLM15, Lemma 3 and Theorem 5; HLM16, Theorem 6
    and Corollary 3). To sanitise a table it is enough to draw from the parent row by row; this law is for looking.

    >>> parent = response_with(Categories(["yes", "no"]), "1/4")
    >>> table = product_sanitisation(parent, 3)
    >>> table.inputs.size, table.epsilon() == parent.epsilon()
    (8, True)
    """
    family, rows = as_mechanism(parent, "parent").family, whole(rows, "rows", 1)
    size, width, total = listed(family)
    if rows > _MOST_ROWS or (size * width) ** rows > _LARGEST_LAW:
        raise TooLarge(
            f"the law of so many rows of {size} values is too large to write out; take fewer rows, or draw from the "
            "parent row by row, which is the same for any number"
        )
    inputs = table_space(parent.inputs, rows)
    outputs = inputs if parent.outputs is parent.inputs else table_space(cast(Space, parent.outputs), rows)
    one_row = np.array([family.weights(n) for n in range(size)], object)
    table: NDArray[Any] = reduce(np.kron, [one_row] * rows)
    law = Matrix(table, int(total**rows), one_row_apart(inputs))
    return Mechanism("product sanitisation", inputs, outputs, law, "HLM15, equation (7)")


EXAMPLES = (
    product_sanitisation(response_with(Categories(["yes", "no"]), "1/4"), 3),
    product_sanitisation(response_with(Categories([0, 1, 2]), "0.2"), 2),
    product_sanitisation(
        solution_matrix(Categories([0, 1]), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], outputs=Categories(["x", "y", "z"])), 2
    ),
)
