"""A curve column goes through the plan: certified as a whole, stored in its form, refused where it is broken."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dproof import DproofWarning, InputError, VerificationFailed, load, sanitise
from dproof import verify as verify_release
from dproof.certification.verify_certificate import LAWS, Refused, by_kind, exp_below, normal_below, seal, verify
from dproof.certification.verify_certificate import coefficients as bound
from dproof.curves.noise import CurveMechanism
from dproof.laws.divergence import normal_delta
from dproof.testing import seeded_coins
from tests.makers import row_law

pa = pytest.importorskip("pyarrow")

HOURS = [f"h{n:02}" for n in range(24)]


def plan(**load) -> dict:
    column = {"space": "curves", "columns": HOURS, "low": 0, "high": 5, "terms": 6, **load}
    return {
        "privacy": {"epsilon": "4", "delta": "1e-6"},
        "columns": {"load": {k: v for k, v in column.items() if v is not None}, "region": {"public": True}},
    }


def listed(**load) -> dict:
    return plan(**{"columns": None, "points": 24, **load})


def wide(rows: np.ndarray) -> object:
    return pa.table({"region": ["n"] * len(rows), **{name: rows[:, n] for n, name in enumerate(HOURS)}})


def coefficients(record: dict, epsilon: Fraction) -> Fraction:
    return bound(by_kind(LAWS)(record, "law"), exp_below(epsilon))


CURVES = np.random.default_rng(1).uniform(0, 5, (60, 24))


def test_the_stored_table_keeps_the_form_of_the_source() -> None:
    release = sanitise(wide(CURVES), plan())
    table = release.to_arrow()
    assert table.column_names == [*HOURS, "region"] and table.schema.field("h00").type == pa.float64()
    lists = pa.table({"region": ["n"] * 60, "load": CURVES.tolist()})
    table = sanitise(lists, listed()).to_arrow()
    assert table.schema.field("load").type == pa.list_(pa.float64())
    assert {len(row) for row in table.column("load").to_pylist()} == {24}


def test_released_curves_lie_in_the_span_of_the_basis() -> None:
    """What is released is a function of six whole numbers: twenty-four values say no more."""
    for region, rank in (({"box": [9, 3, 1, 1, "0.5", "0.5"]}, 6), ({}, 24)):
        table = sanitise(wide(CURVES), plan(**region)).to_arrow()
        rows = np.column_stack([table.column(name).to_numpy() for name in HOURS])
        assert np.linalg.matrix_rank(rows - 2.5, tol=1e-6) == rank


def test_the_row_is_charged_for_the_whole_curve() -> None:
    law = row_law(plan())
    (group,) = law.groups
    assert isinstance(group.mechanism, CurveMechanism)
    assert group.privacy.epsilon == 4 and law.parts[0].epsilon > 3.999


def test_stored_loaded_verified(tmp_path: Path) -> None:
    for mechanism in ("laplace", "gaussian", "k_norm"):
        out = tmp_path / mechanism
        sanitise(wide(CURVES), plan(mechanism=mechanism), out)
        assert verify_release(out).rows == 60
        law = load(out).law.groups[0].mechanism
        assert law.name.lower().startswith(mechanism.replace("_", "-")) and law.lattice.terms == 24
        file = out / "certificate.json"
        certificate = json.loads(file.read_text())
        changed = certificate["laws"][0]["law"]
        changed["box"] = [b // 2 for b in changed["box"]]  # a smaller box would need less noise: it is not the plan's
        certificate["seal"] = seal({k: v for k, v in certificate.items() if k != "seal"})
        file.write_text(json.dumps(certificate))
        with pytest.raises(VerificationFailed):
            verify_release(out)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "k_norm"])
@pytest.mark.parametrize(
    "region", [{}, {"box": [9, 3, 1, 1, "0.5", "0.5"]}, {"kernel": "matern-3/2", "length": 6, "radius": 5}]
)
def test_the_stand_alone_verifier_agrees_and_finds_tampering(mechanism: str, region: dict) -> None:
    law = row_law(plan(mechanism=mechanism, **region))
    certificate = law.certificate().to_json()
    verify(certificate)
    record = certificate["laws"][0]["law"]
    worst = law.groups[0].mechanism.delta(4)
    assert float(coefficients(record, Fraction(4))) == pytest.approx(worst, rel=1e-12)
    assert coefficients(record, Fraction("3.99")) > (Fraction(1, 10**6) if mechanism == "gaussian" else 0)
    larger = {
        **record,
        "radius": record["radius"] and record["radius"] + 20,
        "box": record["box"] and [b + 20 for b in record["box"]],
    }
    assert coefficients(larger, Fraction(4)) > Fraction(1, 10**6)
    if mechanism == "laplace":
        noise = json.loads(json.dumps(record["noise"]))
        noise["top"][0][5] = str(int(noise["top"][0][5]) * 2)
        assert coefficients({**record, "noise": noise}, Fraction(4)) > Fraction(1, 10**6)
    with pytest.raises(Refused):
        coefficients({**record, "norm": "l2" if mechanism == "laplace" else "l1"}, Fraction(4))


def test_the_verifiers_normal_law() -> None:
    for mu, epsilon in ((Fraction(1, 4), Fraction(1)), (Fraction(3), Fraction(2)), (Fraction(1, 100), Fraction(1, 10))):
        plain = float(normal_below(mu / 2 - epsilon / mu)) - np.exp(float(epsilon)) * float(
            normal_below(-mu / 2 - epsilon / mu)
        )
        assert plain == pytest.approx(float(normal_delta(mu, epsilon)), abs=1e-15)
    assert normal_below(Fraction(0)) == Fraction(1, 2) and normal_below(Fraction(30)) == 1
    assert abs(normal_below(Fraction(7)) + normal_below(Fraction(-7)) - 1) < Fraction(1, 2**390)


BROKEN = {
    "a missing point": [1.0] * 23 + [None],
    "not a number": [1.0] * 23 + [float("nan")],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_curve_is_refused_or_becomes_the_centre(name: str) -> None:
    rows = [[2.5] * 24, BROKEN[name]]
    columns = {h: pa.array([row[n] for row in rows], pa.float64()) for n, h in enumerate(HOURS)}
    table = pa.table({"region": ["n", "s"], **columns})
    with pytest.raises(InputError, match="missing grid point"):
        sanitise(table, plan())
    lists = pa.table({"region": ["n", "s"], "load": pa.array(rows)})
    with pytest.raises(InputError, match="missing grid point"):
        sanitise(lists, listed())
    drawn = []
    for source in (table, pa.table({"region": ["n", "s"], **{h: [2.5, 2.5] for h in HOURS}})):
        with seeded_coins(4):
            drawn.append(sanitise(source, plan(missing="centre")).to_arrow())
    assert drawn[0].equals(drawn[1])


@pytest.mark.parametrize("row", [[1.0] * 23, [1.0] * 25, [], None])
def test_ragged_lists_are_refused(row: object) -> None:
    lists = pa.table({"region": ["n", "s"], "load": pa.array([[1.0] * 24, row], pa.list_(pa.float64()))})
    with pytest.raises(InputError, match="missing grid point"):
        sanitise(lists, listed())
    assert sanitise(lists, listed(missing="centre")).rows == 2


def test_values_outside_are_clamped_or_refused_and_never_named() -> None:
    rows = np.full((2, 24), 2.0)
    rows[1, 3] = 777.0
    assert sanitise(wide(rows), plan()).rows == 2
    with pytest.raises(InputError) as refusal:
        sanitise(wide(rows), plan(outside="refuse"))
    assert "777" not in str(refusal.value)


def test_texts_of_a_csv_are_numbers(tmp_path: Path) -> None:
    lines = ["region," + ",".join(HOURS), "n," + ",".join(["1.5"] * 24), "s," + ",".join([" 2e0"] * 24)]
    source = tmp_path / "load.csv"
    source.write_text("\n".join(lines) + "\n")
    assert sanitise(source, plan()).rows == 2
    source.write_text("\n".join([*lines, "n," + ",".join(["1.5"] * 23 + ["x"])]) + "\n")
    with pytest.raises(InputError, match="missing grid point"):
        sanitise(source, plan())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": [*range(23), 5]}, "must rise"),
        ({"grid": list(range(25))}, "one column for each of the 25"),
        ({"points": 23}, "one column for each of the 23"),
        ({"terms": 25}, "terms must be"),
        ({"terms": "six"}, "whole number"),
        ({"basis": "cosin"}, "did you mean 'cosine'"),
        ({"kernel": "matern", "length": 1, "radius": 1}, "did you mean 'matern"),
        ({"kernel": "exponential"}, "needs its length"),
        ({"box": [1, 2]}, "a bound for each of the 6"),
        ({"box": 3}, "list of numbers"),
        ({"centre": "flat"}, "list of numbers"),
        ({"low": 5, "high": 0}, "below high"),
        ({"columns": ["h00", "h00"]}, "twice"),
        ({"columns": None}, "grid points"),
        ({"norm": "l1"}, "norm"),
        ({"radius": -1}, "positive"),
        ({"missing": 3}, "missing"),
        ({"mechanism": "staircase"}, "staircase"),
        ({"bassis": "cosine"}, "not a known key"),
    ],
)
def test_a_mistake_in_the_plan_is_told_before_any_data_is_opened(change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        row_law(plan(**change))


def test_an_empty_table_and_an_uneven_grid() -> None:
    with pytest.warns(DproofWarning, match="no rows"):
        assert sanitise(wide(np.empty((0, 24))), plan()).rows == 0
    uneven = [n * n for n in range(24)]
    assert sanitise(wide(CURVES), plan(grid=uneven, basis="b-spline")).rows == 60


def test_the_row_order_is_lost_with_the_whole_curves_kept_together() -> None:
    rows = np.repeat(np.arange(60)[:, None] // 30 * 5.0, 24, axis=1)
    with seeded_coins(2):
        table = sanitise(wide(rows), {**plan(), "privacy": {"epsilon": "900"}}).to_arrow()
    means = np.column_stack([table.column(name).to_numpy() for name in HOURS]).mean(axis=1)
    assert np.abs(np.sort(means) - np.arange(60) // 30 * 5).max() < 0.5  # each curve is one of the two
    assert 0.5 < means[:30].mean() < 4.5  # and the first half has some of both
