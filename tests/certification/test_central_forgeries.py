"""Forged certificates of measured tables: changed so that they stay consistent in themselves, and sealed again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import VerificationFailed
from dproof.certification import verify_central as verifier
from dproof.certification import verify_certificate
from dproof.exact import float_above
from dproof.storage import PARQUET
from tests.forging import forge

pytestmark = pytest.mark.usefixtures("gaussian")

Change = Callable[[dict[str, Any]], None]
CASES = {
    "gaussian": {"delta": "1e-6", "neighbours": "add-remove"},
    "gaussian change": {"delta": "1e-6", "neighbours": "change-one"},
    "several rows": {"delta": "1e-6", "neighbours": "change-one", "rows_per_person": 2},
    "plain": {"delta": "0", "neighbours": "add-remove"},
    "plain change": {"delta": "0", "neighbours": "change-one"},
    "contrasts": {"delta": "0", "neighbours": "change-one", "contrasts": True},
    "questions": {"delta": "1e-6", "neighbours": "add-remove", "questions": True},
}


def plan(name: str) -> dict[str, Any]:
    privacy: dict[str, Any] = {"model": "central", "epsilon": 1, **CASES[name]}
    contrasts, questions = privacy.pop("contrasts", False), privacy.pop("questions", False)
    values = ["x", "y"] if contrasts else ["x", "y", "z"]
    columns: dict[str, Any] = {n: {"space": "categories", "values": values} for n in "abcd"}
    if not contrasts:
        columns["n"] = {"space": "interval", "low": 0, "high": 40, "step": 1, "bins": [0, 10, 40]}
    asked = [{"sql": "SELECT a, b, count(*) FROM data GROUP BY a, b"}, {"sql": "SELECT avg(n) FROM data WHERE c = d"}]
    asked[1]["sql"] = "SELECT c, d, avg(n) FROM data GROUP BY c, d"
    more: dict[str, Any] = {"questions": asked} if questions else {"release": {"sums": not contrasts}}
    return {"privacy": privacy, "columns": columns, **more}


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("central")
    table = {name: ["x", "y"] * 20 for name in "abcd"}
    for name in CASES:
        numbers = {} if name == "contrasts" else {"n": list(range(40))}
        dp.sanitise(pa.table({**table, **numbers}), plan(name), place / name)
    return {name: place / name for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_forged_holds(name: str, releases: dict[str, Path]) -> None:
    assert dp.verify(releases[name]) is not None
    certificate = verify_certificate.read((releases[name] / "certificate.json").read_text())
    assert verifier.verify(certificate, releases[name]) == ["report.html"]
    assert any(measurement.get("contrast") for measurement in certificate["measurements"]) is (name == "contrasts")


def refused(folder: Path, *, alone: bool) -> None:
    """Both programs refuse; the one that stands alone only where it can know."""
    with pytest.raises(VerificationFailed):
        dp.verify(folder)
    certificate = verify_certificate.read((folder / "certificate.json").read_text())
    if alone:
        with pytest.raises(verify_certificate.Refused):
            verifier.verify(certificate, folder)


def swapped_noise(certificate: dict[str, Any]) -> None:
    """Two measurements of the same sensitivity exchange their noise, in the order in which noises are written."""
    measured = certificate["measurements"]
    pairs = [
        (one, other)
        for one in measured
        for other in measured
        if one["sensitivity"] == other["sensitivity"] and one["noise"] < other["noise"]
    ]
    one, other = pairs[0]
    one["noise"], other["noise"] = other["noise"], one["noise"]
    places = list(dict.fromkeys(measurement["noise"] for measurement in measured))
    certificate["noises"] = [certificate["noises"][place] for place in places]
    for measurement in measured:
        measurement["noise"] = places.index(measurement["noise"])


def swapped_index(certificate: dict[str, Any]) -> None:
    measured = certificate["measurements"]
    one, other = measured[0], next(m for m in measured if m["noise"] != measured[0]["noise"])
    one["noise"], other["noise"] = other["noise"], one["noise"]


def looser(certificate: dict[str, Any]) -> None:
    certificate["tight"]["delta"] = float_above(Fraction(certificate["tight"]["delta"]) * Fraction(1001, 1000)) or 1e-9


def larger_rho(certificate: dict[str, Any]) -> None:
    certificate["rho"] = str(Fraction(certificate["rho"] or 0) + Fraction(1, 10**9))


def another_noise(certificate: dict[str, Any]) -> None:
    """A noise that nobody uses: its parameters might say something else."""
    certificate["noises"].append({**certificate["noises"][0]})


def a_noise_that_is_not_there(certificate: dict[str, Any]) -> None:
    certificate["measurements"][-1]["noise"] = len(certificate["noises"])


def all_wider(certificate: dict[str, Any]) -> None:
    for noise in certificate["noises"]:
        noise["square"] = str(Fraction(noise["square"]) * 2)


def not_a_contrast(certificate: dict[str, Any]) -> None:
    for measurement in certificate["measurements"]:
        measurement.pop("contrast", None)


def no_contrast(certificate: dict[str, Any]) -> None:
    certificate["measurements"][0]["contrast"] = False


def a_contrast(certificate: dict[str, Any]) -> None:
    certificate["measurements"][-1].update(contrast=True, sum_of=None)


def fewer_rows_of_a_person(certificate: dict[str, Any]) -> None:
    certificate["rows_per_person"] = 1


def public_rows(certificate: dict[str, Any]) -> None:
    certificate["release"]["rows"] = 40


def other_rows(certificate: dict[str, Any]) -> None:
    certificate["release"]["rows"] = 41


def hidden_rows(certificate: dict[str, Any]) -> None:
    certificate["release"]["rows"] = None


def other_order(certificate: dict[str, Any]) -> None:
    certificate["measurements"].reverse()
    places = list(dict.fromkeys(measurement["noise"] for measurement in certificate["measurements"]))
    certificate["noises"] = [certificate["noises"][place] for place in places]
    for measurement in certificate["measurements"]:
        measurement["noise"] = places.index(measurement["noise"])


def another_table(certificate: dict[str, Any]) -> None:
    measured = next(m for m in certificate["measurements"] if m["columns"] == [0, 1])
    measured["columns"] = [0, 2]


def other_number(certificate: dict[str, Any]) -> None:
    certificate["columns"][-1]["reach"] *= 2


FORGERIES: list[tuple[str, Change, bool]] = [  # and whether the program that stands alone can know
    *((name, looser, True) for name in CASES),
    *((name, swapped_index, True) for name in CASES if name not in ("contrasts",)),
    *((name, swapped_noise, False) for name in ("plain", "plain change", "contrasts")),
    *((name, larger_rho, True) for name in CASES),
    *((name, another_noise, True) for name in CASES),
    *((name, a_noise_that_is_not_there, True) for name in ("gaussian", "plain")),
    *((name, other_order, False) for name in CASES),
    *((name, all_wider, True) for name in ("gaussian", "gaussian change", "several rows", "questions")),
    *((name, other_rows, name not in ("gaussian change", "plain change", "contrasts")) for name in CASES),
    *((name, hidden_rows, True) for name in ("gaussian change", "plain change", "contrasts")),
    *((name, public_rows, True) for name in ("gaussian", "plain", "several rows", "questions")),
    *((name, a_contrast, True) for name in ("gaussian", "plain", "plain change", "questions")),
    ("contrasts", not_a_contrast, True),
    ("contrasts", no_contrast, True),
    ("several rows", fewer_rows_of_a_person, True),
    ("questions", another_table, False),
    ("gaussian", other_number, True),
]


@pytest.mark.parametrize(("name", "change", "alone"), FORGERIES)
def test_it_is_refused(name: str, change: Change, alone: bool, releases: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "forged"
    shutil.copytree(releases[name], out)
    forge(out, change)
    refused(out, alone=alone)


def test_another_number_of_rows_in_the_stored_tables_is_refused(releases: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "forged"
    shutil.copytree(releases["gaussian change"], out)
    stored = pa.parquet.read_table(out / "tables.parquet")
    assert stored.slice(0, 1).to_pylist() == [{"table": "", "cell": 0, "measured": 40}]
    pa.parquet.write_table(stored.slice(1), out / "tables.parquet", **PARQUET)
    forge(out)
    refused(out, alone=False)


def test_noise_that_is_wider_everywhere_is_refused_even_where_all_bounds_follow_from_it(
    releases: dict[str, Path], tmp_path: Path
) -> None:
    """Whoever reads it would take the answers for less sharp, and the promise for a stronger one."""
    out = tmp_path / "forged"
    shutil.copytree(releases["gaussian"], out)
    release = dp.load(out)
    law: Any = release.law
    from dataclasses import replace

    wide = replace(law, noise={one: square * 2 for one, square in law.noise.items()})
    true = wide.record(release.certificate["release"], private=True)

    def change(certificate: dict[str, Any]) -> None:
        certificate.update({key: true[key] for key in ("noises", "measurements", "rho", "tight")})

    forge(out, change)
    with pytest.raises(VerificationFailed, match="not shared out over the tables as the plan determines"):
        dp.verify(out)
