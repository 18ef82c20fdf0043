"""Tables of millions of rows, sanitised by the command in a process of its own, where nothing is imported yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import dproof as dp
from tests.makers import HOBBIES, HOBBIES_AND_HOURS

ROWS = 3_000_000


@pytest.fixture(scope="module")
def people() -> Any:
    numbers = np.arange(ROWS)
    hobbies = pa.DictionaryArray.from_arrays(pa.array((numbers % 3).astype(np.int8)), HOBBIES)
    return pa.table({"hobby": hobbies, "hours": pa.array(numbers % 41)})


@pytest.mark.parametrize(
    ("ending", "write"), [("parquet", pa.parquet.write_table), ("csv", pa.csv.write_csv)], ids=["parquet", "csv"]
)
def test_three_million_rows_are_sanitised_and_paid_once(tmp_path: Path, people: Any, ending: str, write: Any) -> None:
    write(people, tmp_path / f"people.{ending}")
    (tmp_path / "plan.toml").write_text(HOBBIES_AND_HOURS, "utf-8")
    arguments = ["sanitise", f"people.{ending}", "--plan", "plan.toml", "--out", "out", "--ledger", "budget.db"]
    ran = subprocess.run(
        [sys.executable, "-m", "dproof", *arguments, "--json"],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    assert json.loads(ran.stdout)["rows"] == ROWS
    assert dp.verify(tmp_path / "out") is not None
    assert dp.Ledger(tmp_path / "budget.db").spent().epsilon == 2
