"""Every outcome that a small release can have, with its chance: how often an interval covers, without drawing.

A release of a few rows over a few values has few tables of counts. Each of them is a group of one release, told apart
by a public column, and one question is answered in all of them at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import dproof as dp
from dproof.testing import seeded_coins

Row = tuple[Any, ...]


class Chances(NamedTuple):
    """How likely an answer is true, that nothing is known included, and how likely one that tells something is.

    And how likely it is that an answer tells something.
    """

    of_all: float
    of_told: float
    told: float


class Outcomes:
    """All releases that these rows can have under a plan, and their chances."""

    def __init__(self, columns: Mapping[str, Mapping[str, Any]], rows: Sequence[Row], epsilon: Any) -> None:
        names = list(columns)
        table = pa.table(
            {name: [row[n] for row in rows] for n, name in enumerate(names)} | {"outcome": [0] * len(rows)}
        )
        plan = {"privacy": {"epsilon": epsilon}, "columns": {**columns, "outcome": {"public": True}}}
        with seeded_coins(1):
            release = dp.sanitise(table, plan)
        mechanisms = [group.mechanism for group in release.law.groups]
        laws = [np.asarray(mechanism.matrix(), float) for mechanism in mechanisms]
        values = [m.outputs.decode(np.arange(law.shape[1])) for m, law in zip(mechanisms, laws, strict=True)]
        self.cells = [
            cell
            for cell in np.ndindex(*(law.shape[1] for law in laws))
            if all(law[:, code].any() for law, code in zip(laws, cell, strict=True))
        ]
        chances = {(0,) * len(self.cells): 1.0}
        for row in rows:
            codes = [m.inputs.code(value) for m, value in zip(mechanisms, row, strict=True)]
            law = [
                prod(law[code, shown] for law, code, shown in zip(laws, codes, cell, strict=True))
                for cell in self.cells
            ]
            chances = _one_more(chances, law)
        self.counts, self.chances = np.array(list(chances)), np.array(list(chances.values()))
        stored = {
            name: [
                values[n][cell[n]]
                for counts in self.counts
                for cell, m in zip(self.cells, counts, strict=True)
                for _ in range(m)
            ]
            for n, name in enumerate(names)
        }
        stored["outcome"] = np.repeat(np.arange(len(self.counts)), self.counts.sum(axis=1)).tolist()
        about = {**release.certificate["release"], "rows": len(stored["outcome"])}
        self.release = replace(release, table=pa.table(stored), certificate={**release.certificate, "release": about})

    def cells_of(self, sql: str, where: str = "", **options: Any) -> list[Any]:
        """The cell of an expression in each outcome."""
        asked = f"SELECT outcome, {sql} AS v FROM release {where} GROUP BY outcome"
        return [row["v"] for row in self.release.query(asked, **options).rows]

    def covered(self, truth: float, sql: str, where: str = "", **options: Any) -> Chances:
        """How likely the interval of an expression holds the truth."""
        held = told = both = 0.0
        for cell, chance in zip(self.cells_of(sql, where, **options), self.chances, strict=True):
            tells = cell.informative and cell.low is not None
            holds = not tells or cell.low - 1e-9 <= truth <= cell.high + 1e-9
            held, told, both = held + chance * holds, told + chance * tells, both + chance * (tells and holds)
        return Chances(held, both / told if told else 1.0, told)


def _one_more(chances: dict[Row, float], law: Sequence[float]) -> dict[Row, float]:
    found: dict[Row, float] = {}
    for counts, chance in chances.items():
        for cell, more in enumerate(law):
            if more:
                key = (*counts[:cell], counts[cell] + 1, *counts[cell + 1 :])
                found[key] = found.get(key, 0.0) + chance * more
    return found
