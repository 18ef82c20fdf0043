"""Forged certificates of sums of curves: made consistent in themselves and sealed again, both programs refuse them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import VerificationFailed
from dproof.certification import verify_central as verifier
from dproof.certification import verify_certificate
from dproof.exact import float_above
from dproof.storage import PARQUET
from dproof.testing import seeded_coins
from tests.forging import forge

pytestmark = pytest.mark.usefixtures("gaussian")

Change = Callable[[dict[str, Any]], None]
CURVES: dict[str, dict[str, Any]] = {
    "cube": {},
    "ball": {"radius": 2},
    "box": {"terms": 3, "box": [4, 2, 1]},
    "kernel": {"kernel": "matern-3/2", "length": 2, "radius": 4, "terms": 4},
    "missing": {"missing": "category"},
}
CASES = ("cube 1e-6", "ball 1e-6", "box 1e-6", "missing 1e-6", "cube 0", "kernel 0")  # a region, and δ


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("curves")
    table = pa.table({"sex": ["f", "m"] * 50, "load": [[1.0, 2.0, 1.0, 0.0, 3.0]] * 100})
    for case in CASES:
        name, delta = case.split()
        columns = {
            "sex": {"space": "categories", "values": ["f", "m"]},
            "load": {"space": "curves", "points": 5, "low": 0, "high": 4, **CURVES[name]},
        }
        promise = {"model": "central", "epsilon": 1, "delta": delta, "neighbours": "add-remove"}
        dp.sanitise(table, {"privacy": promise, "columns": columns}, place / case)
    return {folder.name: folder for folder in place.iterdir()}


def refused(folder: Path) -> None:
    with pytest.raises(VerificationFailed):
        dp.verify(folder)
    certificate = verify_certificate.read((folder / "certificate.json").read_text())
    with pytest.raises(verify_certificate.Refused):
        verifier.verify(certificate, folder)


def made_consistent(body: dict[str, Any]) -> None:
    """Sensitivities, ρ and δ that follow from what the certificate now says of the curves."""
    region, sizes = body["columns"][1]["curves"], [column["values"] for column in body["columns"]]
    terms, box = region["terms"], region["box"]
    square = region["radius"] ** 2 if box is None else sum(b * b for b in box)
    lengths = [(0, 0, 1), (square, sum(box or [region["radius"] * terms]), terms)]
    squares, narrow = {}, {}
    for measurement in body["measurements"]:
        one = tuple(measurement["columns"]), measurement["sum_of"], False
        noise = body["noises"][measurement["noise"]]
        fine = measurement.get("parts", 1) ** 2
        measurement["sensitivity"] = str(fine * verifier.sensitivity(sizes, lengths, one, "add-remove"))
        squares[one] = Fraction(noise["square"]) / fine * sum(noise["step"] ** (2 * n) for n in range(noise["draws"]))
        narrow[one] = 1 / (squares[one] - Fraction(4, fine))
    loss = verifier.largest_loss(sizes, lengths, {one: 1 / s for one, s in squares.items()}, "add-remove")
    smooth = verifier.largest_loss(sizes, lengths, narrow, "add-remove")
    numbers = sum(prod(sizes[i] for i in t) * (1 if n is None else terms) for t, n, _ in squares)
    body["rho"] = str(loss / 2)
    body["tight"]["delta"] = float_above(verifier.delta(smooth, numbers, Fraction(body["epsilon"])))


def smaller_region(body: dict[str, Any]) -> None:
    region = body["columns"][1]["curves"]
    if region["radius"] is not None:
        region["radius"] //= 2
    else:
        region["box"] = [bound // 2 for bound in region["box"]]


def fewer_terms(body: dict[str, Any]) -> None:
    region = body["columns"][1]["curves"]
    region["terms"] -= 1
    region["box"] = region["box"] and region["box"][:-1]


def more_terms(body: dict[str, Any]) -> None:
    region = body["columns"][1]["curves"]
    region["terms"] += 1
    region["box"] = region["box"] and [*region["box"], 0]


def no_curves(body: dict[str, Any]) -> None:
    del body["columns"][1]["curves"]
    body["columns"][1]["reach"] = 1


def both_regions(body: dict[str, Any]) -> None:
    region = body["columns"][1]["curves"]
    region["radius"], region["box"] = 1 << 14, [1 << 14] * region["terms"]


def less_noise(body: dict[str, Any]) -> None:
    """The noise of the sums of curves is a quarter narrower than it was."""
    for place in {m["noise"] for m in body["measurements"] if m["sum_of"] is not None}:
        noise = body["noises"][place]
        if noise["kind"] == "gaussian":
            noise["square"] = str(Fraction(noise["square"]) * 9 / 16)
        else:
            noise["epsilon"] = str(Fraction(noise["epsilon"]) * 4 / 3)


def curves_of_a_category(body: dict[str, Any]) -> None:
    body["columns"][0]["curves"] = {"terms": 1, "radius": 1 << 14, "box": None}


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_forged_holds(name: str, releases: dict[str, Path]) -> None:
    assert dp.verify(releases[name]) is not None
    certificate = verify_certificate.read((releases[name] / "certificate.json").read_text())
    assert verifier.verify(certificate, releases[name]) == ["report.html"]


FORGERIES: tuple[Change, ...] = (
    smaller_region,
    fewer_terms,
    more_terms,
    no_curves,
    both_regions,
    less_noise,
    curves_of_a_category,
)


@pytest.mark.parametrize("change", FORGERIES)
@pytest.mark.parametrize("name", ["cube 1e-6", "ball 1e-6", "box 1e-6", "cube 0", "kernel 0"])
def test_a_forged_region_or_noise_is_refused(
    name: str, change: Change, releases: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(releases[name], tmp_path / "forged")
    forge(tmp_path / "forged", change)
    refused(tmp_path / "forged")


@pytest.mark.parametrize("change", [smaller_region, fewer_terms, more_terms, less_noise])
@pytest.mark.parametrize("name", ["cube 1e-6", "ball 1e-6", "box 1e-6", "missing 1e-6"])
def test_a_forgery_that_adds_up_is_refused_too(
    name: str, change: Change, releases: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(releases[name], tmp_path / "forged")

    def changed(body: dict[str, Any]) -> None:
        change(body)
        made_consistent(body)

    forge(tmp_path / "forged", changed)
    refused(tmp_path / "forged")


def test_made_consistent_is_what_a_true_certificate_says(releases: dict[str, Path], tmp_path: Path) -> None:
    """Else the forgeries above would be refused for their arithmetic alone."""
    shutil.copytree(releases["ball 1e-6"], tmp_path / "same")
    forge(tmp_path / "same", made_consistent)
    certificate = verify_certificate.read((tmp_path / "same" / "certificate.json").read_text())
    assert verifier.verify(certificate, tmp_path / "same") == ["report.html"]


def test_a_plan_whose_curves_lie_in_another_region_is_refused(releases: dict[str, Path], tmp_path: Path) -> None:
    """The certificate of a ball does not hold for the plan of a cube, whose corners lie outside."""
    shutil.copytree(releases["ball 1e-6"], tmp_path / "forged")
    shutil.copy(releases["cube 1e-6"] / "plan.toml", tmp_path / "forged" / "plan.toml")
    forge(tmp_path / "forged")
    with pytest.raises(VerificationFailed):
        dp.verify(tmp_path / "forged")


def test_a_coefficient_beyond_the_stored_numbers_is_refused(releases: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(releases["cube 1e-6"], tmp_path / "forged")
    file = tmp_path / "forged" / "tables.parquet"
    stored = pa.parquet.read_table(file)
    pa.parquet.write_table(stored.slice(0, stored.num_rows - 1), file, **PARQUET)
    forge(tmp_path / "forged")
    with pytest.raises(VerificationFailed, match="other cells"):
        dp.verify(tmp_path / "forged")


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_curves_that_are_alike_share_their_noise(delta: str, tmp_path: Path) -> None:
    """Two columns on the same grid have the same noise, which a certificate lists once."""
    columns = {name: {"space": "curves", "points": 4, "low": 0, "high": 1} for name in ("one", "other")}
    table = pa.table({name: [[0.5] * 4] * 50 for name in columns})
    promise = {"model": "central", "epsilon": 1, "delta": delta, "neighbours": "add-remove"}
    made = dp.sanitise(table, {"privacy": promise, "columns": columns}, tmp_path / "out")
    assert len(made.certificate["noises"]) < len(made.certificate["measurements"])
    assert dp.verify(tmp_path / "out") is not None


@pytest.mark.parametrize(
    "change",
    [
        lambda noise: noise.update(fall=str(Fraction(noise["fall"]) * Fraction(9, 10))),
        lambda noise: noise.update(cell=noise["cell"] // 2),
        lambda noise: noise.update(norm="l2"),
        lambda noise: noise.update(terms=noise["terms"] - 1),
    ],
)
def test_forged_k_norm_noise_is_refused(change: Change, releases: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(releases["cube 0"], tmp_path / "forged")

    def changed(body: dict[str, Any]) -> None:
        (noise,) = [noise for noise in body["noises"] if noise["kind"] == "k-norm"]
        change(noise)

    forge(tmp_path / "forged", changed)
    refused(tmp_path / "forged")


def test_seeded_curves_say_so(tmp_path: Path) -> None:
    with seeded_coins(1):
        columns = {"load": {"space": "curves", "points": 3, "low": 0, "high": 1}}
        promise = {"model": "central", "epsilon": 1, "delta": "1e-6"}
        release = dp.sanitise(pa.table({"load": [[0.5] * 3] * 50}), {"privacy": promise, "columns": columns})
    assert not release.private
    assert "NOT PRIVATE: drawn with seeded coins" in release.query("SELECT avg(load) AS m FROM release").notes
