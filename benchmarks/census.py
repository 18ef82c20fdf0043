"""The table that answers are compared on: the census extract where it is at hand, else a made-up one of its shape."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

FOLDER = Path(os.environ.get("DPROOF_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
ROWS = 30_162
AGES = 0, 100
WEIGHTS = 0, 400_000
SCHOOLING = 16


@dataclass(frozen=True)
class Census:
    name: str
    age: Any
    weight: Any
    schooling: Any  # 1, …, SCHOOLING

    def table(self) -> Any:
        return pa.table({"age": self.age, "weight": self.weight, "schooling": self.schooling})


def census() -> Census:
    """`adult.csv` in the folder that the environment variable DPROOF_DATA names."""
    file = FOLDER / "adult.csv"
    if file.exists():
        read = pa.csv.read_csv(file)
        columns = (read[name].to_numpy() for name in ("age", "fnlwgt", "education_num"))
        name = f"the UCI Adult table ({read.num_rows:,} people)"
    else:
        draw = np.random.default_rng(7)
        columns = (
            np.clip(17 + draw.gamma(2.5, 8.6, ROWS), *AGES).astype(int),
            draw.lognormal(12.05, 0.5, ROWS).astype(int),
            np.clip(draw.normal(10, 2.5, ROWS).round(), 1, SCHOOLING).astype(int),
        )
        name = f"a made-up table of the shape of UCI Adult ({ROWS:,} people; set DPROOF_DATA to use the real one)"
    age, weight, schooling = columns
    return Census(name, age, np.clip(weight, *WEIGHTS), schooling)
