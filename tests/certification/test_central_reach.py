"""How far a number moves a sum follows from the plan: worked out by the stand-alone verifier too."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import VerificationFailed
from dproof.certification import verify_central as verifier
from dproof.certification import verify_certificate
from dproof.certification.verify_certificate import Refused
from tests.forging import forge
from tests.makers import table_law


def plan(column: dict[str, Any], delta: str = "1e-6") -> dict[str, Any]:
    privacy = {"model": "central", "epsilon": 1, "delta": delta, "neighbours": "add-remove"}
    columns = {"n": {"space": "interval", **column}, "a": {"space": "categories", "values": ["x", "y"]}}
    return {"privacy": privacy, "columns": columns, "release": {"sums": True}}


COLUMNS: list[dict[str, Any]] = [
    {"low": 0, "high": 40, "step": 1, "bins": [0, 10, 40]},
    {"low": 0, "high": 41, "step": 1, "bins": [0, 10, 41]},
    {"low": "-1.5", "high": 7},
    {"low": 0, "high": "123.456"},
    {"low": 0, "high": 11, "step": 1},
    {"low": 0, "high": 12, "step": 1},
    {"low": 0, "high": 3, "step": 1, "bins": [0, 1, 2, "2.5", 3]},
    {"low": 0, "high": 3, "step": 1, "bins": [0, 1, 3]},
    {"low": -7, "high": 1000, "step": 1},
    {"low": "0.001", "high": "0.0299", "step": "0.0001"},
    {"low": 0, "high": 10, "step": 1, "bins": [0, "2.5", "5.5", 10]},
]


@pytest.mark.parametrize("missing", [{}, {"missing": "category"}], ids=["there", "missing"])
@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_the_reach_is_that_of_the_library(column: dict[str, Any], missing: dict[str, Any]) -> None:
    described = plan({**column, **missing})
    axis = table_law(described).axes[0].centred(within=True)
    assert verifier.axes_of("n", described["columns"]["n"], within=True)[0][2] == (axis.max_abs or 0)
    assert verifier.axes_of("n", described["columns"]["n"])[0][2] == (axis.centred(within=False).max_abs or 0)


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_a_smaller_reach_is_refused_even_where_all_else_fits_it(delta: str, tmp_path: Path) -> None:
    """Sums with a twentieth of their noise, in a certificate that says that no number is farther than one step."""
    out, narrow = tmp_path / "out", tmp_path / "narrow"
    table = pa.table({"n": list(range(41)), "a": ["x"] * 41})
    dp.sanitise(table, plan(COLUMNS[0], delta), out)
    # A plan of three numbers has the certificate that the forger wants, and the true plan goes with it.
    dp.sanitise(table.slice(0, 3), plan({"low": 0, "high": 2, "step": 1, "bins": [0, 1, 2]}, delta), narrow)
    shutil.copy(out / "plan.toml", narrow / "plan.toml")
    forge(narrow)
    certificate = verify_certificate.read((narrow / "certificate.json").read_text())
    assert json.loads((narrow / "certificate.json").read_text())["columns"][0]["reach"] == 1
    assert Fraction(certificate["epsilon"]) == 1
    with pytest.raises(Refused, match="the sums of 'n' have another reach than in the plan"):
        verifier.verify(certificate, narrow)
    with pytest.raises(VerificationFailed):
        dp.verify(narrow)
