"""Stored curves: what noise can give is found possible again, and nothing else is."""

from __future__ import annotations

import os
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dproof import Curves, Plan, expand, sanitise
from dproof.columns.codec import codec_of
from tests.makers import row_law

LATTICES = {
    "values": expand(Curves(0, 1, 9, 0, 5)).lattice("gaussian"),
    "functions": expand(Curves(0, 1, 9, 0, 5), terms=4, centre=[1] * 9).lattice("gaussian"),
}


@pytest.mark.parametrize("form", ["list", "wide"])
@pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
def test_only_whole_coefficients_within_reach_of_the_noise_are_possible(lattice, form: str) -> None:
    codec = codec_of(lattice, SimpleNamespace(form=form))
    edge, reach = lattice.box[0] if lattice.box else lattice.radius, 100
    z = np.random.default_rng(4).integers(-edge, edge, (5, lattice.terms), endpoint=True)
    z[0, 0] = edge + reach

    def stored(z: np.ndarray, factor: float = 1.0) -> list[pa.Array]:
        arrays = codec.store(z)
        if factor == 1:
            return arrays
        values = np.array([array.to_pylist() for array in arrays]) * factor
        return [pa.array(row.tolist()) for row in values]

    assert codec.possible(stored(z), None, reach) and codec.possible(stored(z), None, None)
    farther = z + (np.arange(5)[:, None] == 0) * (np.arange(lattice.terms) == 0)
    assert not codec.possible(stored(farther), None, reach) and codec.possible(stored(farther), None, None)
    assert not codec.possible(stored(z, 1 + 1e-6), None, None)


# In SQL a curve is a list, whether its stored form is one column of lists or one for each point -----------------------


FORMS = {
    "wide": ('SELECT 1.0 AS "h 0", 2.0 AS h1', ("h 0", "h1")),
    "list": ("SELECT [1.0, 2.0] AS load", ("load",)),
}


@pytest.mark.parametrize("form", FORMS)
def test_either_form_is_read_as_a_list(form: str) -> None:
    table, stored = FORMS[form]
    column: Any = SimpleNamespace(form=form, stored=stored)
    read = codec_of(expand(Curves(0, 1, 2, 0, 5)), column).sql
    (row,) = duckdb.connect().execute(f"SELECT {read} FROM ({table})").fetchall()
    assert [float(value) for value in row[0]] == [1.0, 2.0]


# The plans of examples/ for curves hold, and on real data their mean curves come out; skipped where there is none -----


ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("DPROOF_DATA", ROOT.parent / "shared" / "data"))
FILES = {
    "household": "household_electricity_daily.csv",
    "growth": "berkeley_growth_wide.csv",
    "weather": "canadian_weather_wide.csv",
}


@pytest.mark.parametrize("name", FILES)
def test_the_plan_is_certified(name: str) -> None:
    law = row_law(Plan.read(ROOT / "examples" / f"{name}.toml"))
    assert law.parts[-1].delta <= law.groups[-1].privacy.delta


@pytest.mark.parametrize("name", FILES)
def test_real_curves(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = DATA / FILES[name]
    if not file.exists():
        pytest.skip(f"{file.name} is not here: set DPROOF_DATA to the folder that has it")
    spec = spec_from_file_location("curves_example", ROOT / "examples" / "curves.py")
    assert spec is not None and spec.loader is not None
    example = module_from_spec(spec)
    spec.loader.exec_module(example)
    example.draw(name, DATA, tmp_path)
    assert (tmp_path / f"{name}.svg").read_text().startswith("<svg") and "off by at most" in capsys.readouterr().out
    release = sanitise(file, ROOT / "examples" / f"{name}.toml")
    assert release.rows == len(file.read_text().splitlines()) - 1
