"""How many rows were made up follows from what was measured: a certificate that says otherwise is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import VerificationFailed
from dproof.central.rows import ROWS
from dproof.storage import PARQUET
from tests.forging import forge


def released(folder: Path, neighbours: str) -> None:
    privacy = {"model": "central", "epsilon": 1, "delta": "1e-6", "neighbours": neighbours}
    columns = {"a": {"space": "categories", "values": ["x", "y"]}}
    plan = {"privacy": privacy, "columns": columns, "release": {"rows": True}}
    dp.sanitise(pa.table({"a": ["x", "y"] * 200}), plan, folder)


def test_another_public_number_of_rows_is_refused(tmp_path: Path) -> None:
    released(tmp_path / "out", "change-one")
    assert dp.verify(tmp_path / "out") is not None
    forge(tmp_path / "out", lambda body: body["release"].update(rows=401))
    with pytest.raises(VerificationFailed, match="another number of rows than the certificate"):
        dp.verify(tmp_path / "out")


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
def test_a_row_left_out_is_refused(neighbours: str, tmp_path: Path) -> None:
    """Such as the true number of rows under add-remove, where it is private."""
    out = tmp_path / "out"
    released(out, neighbours)
    rows = pa.parquet.read_table(out / ROWS).slice(1)
    pa.parquet.write_table(rows, out / ROWS, **PARQUET)

    def change(body: Any) -> None:
        body["release"]["made_up_rows"] = rows.num_rows

    forge(out, change)
    with pytest.raises(VerificationFailed, match="number of synthetic rows does not follow"):
        dp.verify(out)
