"""The law of single codes of a number, where other codes are seen in blocks only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dproof.laws.scores import Array


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Single codes of a number, each in one block: both ends of every run of codes in a block, and a grid of others.

    `matrix` is the law of the codes of the grid. A point lies `part` of the way from code `start` of the grid to the
    next, and its law that far between theirs. The first `even` codes of the grid are as far from each other, with
    other codes between them; 0 where every code is on the grid, and every law is exact.
    """

    matrix: Array
    start: Array
    part: Array
    block: Array
    values: Array
    even: int = 0

    @property
    def on_grid(self) -> Array:
        return np.asarray(self.part == 0)

    def means(self, scores: Array) -> tuple[Array, Array]:
        """What scores of the states are on average at each point, and how far any code between may be off that.

        A function that bends by d, the second difference on the grid, is at most d/8 away from its chords.
        """
        grid = self.matrix @ scores
        after = grid[np.minimum(self.start + 1, len(grid) - 1)]
        found = grid[self.start] + self.part.reshape(-1, *[1] * (grid.ndim - 1)) * (after - grid[self.start])
        return found, np.abs(np.diff(grid[: self.even], n=2, axis=0)).max(axis=0, initial=0.0) / 4
