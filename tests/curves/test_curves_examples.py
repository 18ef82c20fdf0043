"""The plans of examples/ for curves hold, and on real data their mean curves come out; skipped where there is none."""

import os
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from dproof import Plan, sanitise
from tests.makers import row_law

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
