"""The stand-alone check of measured tables: against enumeration, and against forgeries."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dproof as dp
from dproof import InputError, VerificationFailed
from dproof.central import workload
from dproof.central.estimates import residual_of
from dproof.central.workload import Domain, Residual, delta
from dproof.certification import verify_central as verifier
from dproof.certification import verify_certificate
from dproof.certification.verify_certificate import Refused
from tests.forging import forge
from tests.makers import table_law

pytestmark = pytest.mark.usefixtures("gaussian")

SIZES = st.lists(st.integers(2, 4), min_size=2, max_size=3)
PRECISIONS = st.fractions(Fraction(1, 9), 3, max_denominator=9)


def effect(sizes: Any, table: Any, row: Any) -> Any:
    counts = np.zeros([sizes[i] for i in table], np.int64)
    counts[tuple(row[i] for i in table)] = 1
    return residual_of(counts)


@given(SIZES, st.data())
def test_losses_are_those_of_all_neighbouring_tables(sizes: list[int], data: Any) -> None:
    tables = [t for n in (1, 2) for t in combinations(range(len(sizes)), n)]
    precisions = {table: data.draw(PRECISIONS) for table in tables}
    rows = list(product(*map(range, sizes)))
    counted = {table: [effect(sizes, table, row) for row in rows] for table in tables}
    changed = max(
        sum(int(((counted[t][a] - counted[t][b]) ** 2).sum()) * p for t, p in precisions.items())
        for a, b in combinations(range(len(rows)), 2)
    )
    reach = [0] * len(sizes)
    found = verifier.largest_loss(sizes, reach, {(t, None, False): p for t, p in precisions.items()}, "change-one")
    assert changed <= found <= changed + Fraction(len(tables), 1 << 60)
    told = {(t, None): p for t, p in precisions.items()}
    assert verifier.bounded_loss(sizes, {}, told, tuple(range(len(sizes)))) >= changed
    precisions[()] = data.draw(PRECISIONS)
    added = max(sum(int((effect(sizes, t, row) ** 2).sum()) * p for t, p in precisions.items()) for row in rows)
    found = verifier.largest_loss(sizes, reach, {(t, None, False): p for t, p in precisions.items()}, "add-remove")
    assert 0 <= found - added <= Fraction(len(tables) + 1, 1 << 60)


@given(st.lists(st.integers(2, 5), min_size=13, max_size=15), st.data())
@settings(max_examples=6)
def test_the_bound_for_many_columns_is_that_of_the_library(sizes: list[int], data: Any) -> None:
    tables = [t for n in (1, 2, 3) for t in combinations(range(len(sizes)), n)]
    chosen = data.draw(st.lists(st.sampled_from(tables), min_size=5, max_size=30, unique=True))
    chosen += [(n,) for n in range(len(sizes)) if (n,) not in chosen]
    precisions = {table: data.draw(PRECISIONS) for table in chosen}
    domain = Domain(tuple(sizes), {})
    expected = workload.largest_loss(domain, {Residual(t): p for t, p in precisions.items()}, "change-one")
    own = verifier.largest_loss(sizes, [0] * 15, {(t, None, False): p for t, p in precisions.items()}, "change-one")
    assert own == expected


@pytest.mark.parametrize("epsilon", ["0", "1/10", "1", "3", "20"])
def test_delta_is_that_of_the_library(epsilon: str) -> None:
    domain, squares = Domain((3, 4), {}), {Residual((0,)): Fraction(500), Residual((0, 1)): Fraction(10**5)}
    library = delta(domain, squares, Fraction(epsilon), "add-remove")
    smooth = {(r.table, r.number, False): 1 / (s - verifier.SMOOTH) for r, s in squares.items()}
    own = verifier.delta(verifier.largest_loss([3, 4], [0, 0], smooth, "add-remove"), 15, Fraction(epsilon))
    assert float(own) == pytest.approx(float(library), rel=1e-12)


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    table, place = pa.table({"a": ["x", "y"] * 20, "n": list(range(40))}), tmp_path_factory.mktemp("central")
    for neighbours in ("add-remove", "change-one"):
        dp.sanitise(table, plan(neighbours), place / neighbours)
        dp.sanitise(table, plan(neighbours, "0"), place / f"{neighbours} pure")
    return {folder.name: folder for folder in place.iterdir()}


def plan(neighbours: str, delta: str = "1e-6") -> dict[str, Any]:
    columns = {
        "a": {"space": "categories", "values": ["x", "y", "z"]},
        "n": {"space": "interval", "low": 0, "high": 40, "step": 1, "bins": [0, 10, 40]},
    }
    privacy = {"model": "central", "epsilon": 1, "delta": delta, "neighbours": neighbours}
    return {"privacy": privacy, "columns": columns, "release": {"sums": True}}


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one", "add-remove pure", "change-one pure"])
def test_the_program_needs_no_more_than_three_files(neighbours: str, releases: dict[str, Path], tmp_path: Path) -> None:
    for module in (verifier, verify_certificate):
        shutil.copy(str(module.__file__), tmp_path)
    program = [
        sys.executable,
        "-S",
        str(tmp_path / "verify_central.py"),
        str(releases[neighbours] / "certificate.json"),
    ]
    ran = subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, env={})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "holds: epsilon = 1, delta = " in ran.stdout and neighbours.split()[0] in ran.stdout
    assert dp.verify(releases[neighbours]) is not None


def forged(releases: dict[str, Path], neighbours: str, tmp_path: Path, change: Callable[[Any], Any]) -> Path:
    """A release whose certificate was changed and sealed again."""
    out = tmp_path / "forged"
    shutil.copytree(releases[neighbours], out)
    certificate = json.loads((out / "certificate.json").read_text())
    change(certificate)
    certificate["seal"] = verify_certificate.seal({k: v for k, v in certificate.items() if k != "seal"})
    (out / "certificate.json").write_text(json.dumps(certificate))
    return out


def less_noise(certificate: Any) -> None:
    noise = certificate["noises"][0]  # of counts: where rows differ most, sums by two bins may not move at all
    noise["square"] = str(Fraction(noise["square"]) * Fraction(9, 10))


def fewer_values(certificate: Any) -> None:
    certificate["columns"][0]["values"] = 2


def other_neighbours(certificate: Any) -> None:
    certificate["neighbours"] = "change-one" if certificate["neighbours"] == "add-remove" else "add-remove"


def narrow_tables(certificate: Any) -> None:
    next(noise for noise in certificate["noises"] if noise["draws"] > 1).update(step=100, square="26")


FORGERIES: list[tuple[str, Callable[[Any], Any], str]] = [
    ("noise", less_noise, "rho is larger|delta is larger"),
    ("values", fewer_values, "another sensitivity|other columns|another number of values"),
    ("neighbours", other_neighbours, "number of rows|another sensitivity"),
    ("epsilon", lambda c: c.update(epsilon="1/2"), "delta is larger than the promised"),
    ("delta", lambda c: c.update(delta="1/10000000"), "delta is larger than the promised"),
    ("tight", lambda c: c["tight"].update(delta=1e-9), "delta is larger than the certificate says"),
    ("rho", lambda c: c.update(rho="1/1000"), "rho is larger than the certificate says"),
    ("a table left out", lambda c: c["measurements"].pop(), "other tables than the plan|rho is smaller"),
    ("rows of a person", lambda c: c.update(rows_per_person=2), "one row for each person|rho is larger"),
    ("a name of its own", lambda c: c.update(note="hello"), "must be a record"),
    ("a table twice", lambda c: c["measurements"].append(c["measurements"][-1]), "or is listed twice"),
    ("synthetic rows", lambda c: c["release"].update(made_up_rows=7), "disagree on|synthetic rows"),
    ("sensitivity", lambda c: c["measurements"][-1].update(sensitivity="1"), "another sensitivity"),
    ("narrow tables", narrow_tables, "too narrow"),
]


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize(("what", "change", "why"), FORGERIES, ids=[what for what, _, _ in FORGERIES])
def test_forgeries_are_refused(
    what: str, change: Any, why: str, neighbours: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    out = forged(releases, neighbours, tmp_path, change)
    with pytest.raises(VerificationFailed, match=why):
        dp.verify(out)
    with pytest.raises(verify_certificate.Refused, match=why):
        verifier.verify(verify_certificate.read((out / "certificate.json").read_text()), out)


def dearer(certificate: Any) -> None:
    certificate["noises"][0]["epsilon"] = "1/1000"


def heavier(certificate: Any) -> None:
    table = certificate["noises"][0]["top"][0]
    table[0] = str(2 * int(table[0]))


PURE: list[tuple[str, Callable[[Any], Any], str]] = [
    ("epsilon", lambda c: c.update(epsilon="1/2"), "epsilon is larger than the promised"),
    ("a step", dearer, "costs more than the certificate says"),
    ("a weight", heavier, "costs more than the certificate says"),
    ("sensitivity", lambda c: c["measurements"][0].update(sensitivity="3"), "another sensitivity"),
    ("reach", lambda c: c["columns"][1].update(reach=1), "another sensitivity"),
    ("delta", lambda c: c.update(delta="1/10"), "does not fit delta"),
    ("rows of a person", lambda c: c.update(rows_per_person=2), "one row for each person|epsilon is larger"),
    ("a table left out", lambda c: c["measurements"].pop(), "other tables than the plan"),
]


@pytest.mark.parametrize("neighbours", ["add-remove pure", "change-one pure"])
@pytest.mark.parametrize(("what", "change", "why"), PURE, ids=[what for what, _, _ in PURE])
def test_forgeries_of_laplace_noise_are_refused(
    what: str, change: Any, why: str, neighbours: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    out = forged(releases, neighbours, tmp_path, change)
    with pytest.raises(VerificationFailed, match=why):
        dp.verify(out)
    with pytest.raises(verify_certificate.Refused, match=why):
        verifier.verify(verify_certificate.read((out / "certificate.json").read_text()), out)


def test_a_changed_seal_file_or_plan_is_refused(releases: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "changed"
    shutil.copytree(releases["add-remove"], out)
    text = (out / "certificate.json").read_text()
    (out / "certificate.json").write_text(text.replace('"rows": null', '"rows": 7'))
    with pytest.raises(VerificationFailed, match="seal does not fit"):
        dp.verify(out)
    (out / "certificate.json").write_text(text)
    with (out / "tables.parquet").open("ab") as file:
        file.write(b"x")
    with pytest.raises(VerificationFailed, match=r"tables\.parquet has changed"):
        dp.verify(out)
    (out / "more.parquet").write_bytes(b"")
    with pytest.raises(VerificationFailed):
        dp.verify(out)


def test_a_certificate_alone_is_checked_and_another_file_is_none(releases: dict[str, Path], tmp_path: Path) -> None:
    assert dp.verify(releases["add-remove"] / "certificate.json") is None
    other = tmp_path / "other.json"
    other.write_text("{}")
    with pytest.raises(InputError, match="is not a certificate"):
        dp.verify(other)
    assert verifier.main([str(other)]) == 1 and verifier.main([]) == 2


def test_stored_numbers_out_of_order_are_refused(releases: dict[str, Path], tmp_path: Path) -> None:

    from dproof.storage import PARQUET, digest

    out = tmp_path / "moved"
    shutil.copytree(releases["add-remove"], out)
    stored = pa.parquet.read_table(out / "tables.parquet")
    pa.parquet.write_table(stored.take(list(range(len(stored)))[::-1]), out / "tables.parquet", **PARQUET)
    certificate = json.loads((out / "certificate.json").read_text())
    certificate["release"]["files"]["tables.parquet"] = digest(out / "tables.parquet")
    certificate["seal"] = verify_certificate.seal({k: v for k, v in certificate.items() if k != "seal"})
    (out / "certificate.json").write_text(json.dumps(certificate))
    with pytest.raises(VerificationFailed, match="not in the order that the plan determines"):
        dp.verify(out)


# How far a number moves a sum follows from the plan: worked out by the stand-alone verifier too -----------------------


def reach_plan(column: dict[str, Any], delta: str = "1e-6") -> dict[str, Any]:
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
    described = reach_plan({**column, **missing})
    axis = table_law(described).axes[0].centred(within=True)
    assert verifier.axes_of("n", described["columns"]["n"], within=True)[0][2] == (axis.max_abs or 0)
    assert verifier.axes_of("n", described["columns"]["n"])[0][2] == (axis.centred(within=False).max_abs or 0)


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_a_smaller_reach_is_refused_even_where_all_else_fits_it(delta: str, tmp_path: Path) -> None:
    """Sums with a twentieth of their noise, in a certificate that says that no number is farther than one step."""
    out, narrow = tmp_path / "out", tmp_path / "narrow"
    table = pa.table({"n": list(range(41)), "a": ["x"] * 41})
    dp.sanitise(table, reach_plan(COLUMNS[0], delta), out)
    # A plan of three numbers has the certificate that the forger wants, and the true plan goes with it.
    dp.sanitise(table.slice(0, 3), reach_plan({"low": 0, "high": 2, "step": 1, "bins": [0, 1, 2]}, delta), narrow)
    shutil.copy(out / "plan.toml", narrow / "plan.toml")
    forge(narrow)
    certificate = verify_certificate.read((narrow / "certificate.json").read_text())
    assert json.loads((narrow / "certificate.json").read_text())["columns"][0]["reach"] == 1
    assert Fraction(certificate["epsilon"]) == 1
    with pytest.raises(Refused, match="the sums of 'n' have another reach than in the plan"):
        verifier.verify(certificate, narrow)
    with pytest.raises(VerificationFailed):
        dp.verify(narrow)


def test_tables_that_are_alike_are_weighed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate of 12 columns and the sums of numbers has tens of thousands of tables, with 3^12 parts each."""
    weighed: list[int] = []
    rounded = verifier.rounded
    monkeypatch.setattr(verifier, "rounded", lambda *given: weighed.append(1) or rounded(*given))
    columns = range(12)
    tables = dict.fromkeys((t for n in range(13) for t in combinations(columns, n)), Fraction(1, 9))
    verifier.losses([3] * 12, tables, [[i] for i in columns], [1] * 12, (2, -2))
    assert len(weighed) == sum(2**n for n in range(13))
