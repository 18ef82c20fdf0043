"""The tables that the central model is measured on: public ones, each with a plan, and the same rows as codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv

from benchmarks.census import FOLDER

DELTA = "1e-6"


@dataclass(frozen=True)
class Table:
    """Columns of a file, numbers with the edges of their bins; a missing value is one more value."""

    name: str
    file: str
    columns: Mapping[str, Sequence[int] | None]

    @property
    def path(self) -> Path:
        return FOLDER / self.file

    def read(self) -> Any:
        strings = pyarrow.csv.ConvertOptions(include_columns=list(self.columns), strings_can_be_null=True)
        return pyarrow.csv.read_csv(self.path, convert_options=strings)

    def plan(self, epsilon: str, **release: Any) -> dict[str, Any]:
        """The plan of all pairs, with add-remove neighbours; they are listed, so that all weigh the same."""
        read, columns = self.read(), {}
        for name in pyarrow.csv.read_csv(self.path).column_names:
            edges = self.columns.get(name)
            if name not in self.columns:
                columns[name] = {"drop": True}
            elif edges is None:
                values = sorted(read[name].drop_null().unique().to_pylist())
                columns[name] = {"space": "categories", "values": values}
            else:
                ends = {"low": edges[0], "high": edges[-1], "step": 1}
                columns[name] = {"space": "interval", **ends, "bins": list(edges)}
            if name in self.columns and read[name].null_count:
                columns[name]["missing"] = "category"
        privacy = {"model": "central", "epsilon": epsilon, "delta": DELTA, "neighbours": "add-remove"}
        listed = [{"columns": list(some)} for n in (1, 2) for some in combinations(self.columns, n)]
        return {"privacy": privacy, "release": {"tables": listed, **release}, "columns": columns}

    def codes(self) -> tuple[Any, list[int]]:
        """The rows as codes from 0, and how many codes each column has; a missing value is the last."""
        read, codes, sizes = self.read(), [], []
        for name, edges in self.columns.items():
            missing = read[name].is_null().to_numpy()
            if edges is None:
                values = sorted(read[name].drop_null().unique().to_pylist())
                place = {value: n for n, value in enumerate(values)}
                found = np.array([place.get(value, len(values)) for value in read[name].to_pylist()])
                size = len(values)
            else:
                numbers = read[name].fill_null(edges[0]).to_numpy()
                found, size = np.minimum(np.searchsorted(edges, numbers, "right"), len(edges) - 1) - 1, len(edges) - 1
                found = np.where(missing, size, found)
            codes.append(found.astype(np.int64))
            sizes.append(size + bool(missing.any()))
        return np.column_stack(codes), sizes


_ADULT = {
    "age": range(17, 93, 5),
    "type_employer": None,
    "education": None,
    "marital": None,
    "occupation": None,
    "relationship": None,
    "race": None,
    "sex": None,
    "hr_per_week": range(0, 101, 10),
    "income": None,
}
TABLES = {
    table.name: table
    for table in (
        Table("adult, 10 columns", "adult.csv", _ADULT),
        Table("adult, 6 columns", "adult.csv", dict(list(_ADULT.items())[:6])),
        Table(
            "gss_wages",
            "gss_wages.csv",
            {
                "year": (1974, 1980, 1990, 2000, 2010, 2018),
                "realrinc": (0, 5_000, 10_000, 20_000, 30_000, 50_000, 100_000, 500_000),
                "age": (18, 25, 35, 45, 55, 65, 75, 89),
                "occrecode": None,
                "prestg10": (16, 30, 40, 50, 60, 80),
                "childs": None,
                "wrkstat": None,
                "gender": None,
                "educcat": None,
                "maritalcat": None,
            },
        ),
        Table(
            "pums",
            "pums_california_1000.csv",
            {
                "age": (18, 25, 35, 45, 55, 65, 75, 93),
                "sex": None,
                "educ": None,
                "race": None,
                "income": (0, 1, 10_000, 20_000, 40_000, 70_000, 120_000, 420_500),
                "married": None,
            },
        ),
    )
}
