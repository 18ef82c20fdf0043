"""A weaker promise needs no more noise: of Laplace and Gaussian noise the better is taken, and the release says so."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import Ledger, Privacy, ReleasePayment, VerificationFailed
from dproof.central.recipe import TableLaw, error_of, wanted_answers
from dproof.central.release import count_tables
from dproof.central.workload import largest_loss, shape
from dproof.certification import verify_central as verifier
from dproof.certification import verify_certificate
from dproof.coins import Coins
from dproof.exact import least
from dproof.laws.divergence import normal_delta
from dproof.tables.source import open_source
from tests.forging import forge
from tests.makers import table_law

EARLIER = Path(__file__).parents[1] / "fixtures" / "version-1-central" / "release"
COLUMNS = {1: [5], 2: [3, 2], 3: [2, 5, 9], 4: [4] * 4, 6: [2] * 6, 8: [15, 7, 16, 7, 14, 6, 5, 2], 12: [2] * 12}
EPSILONS, DELTAS = ("0.1", "0.3", "1", "3", "10"), ("0", "1e-9", "1e-6", "1e-3")
CASES = list(product(COLUMNS, ("add-remove", "change-one"), (1, 2), EPSILONS, DELTAS))


def plan(sizes: list[int], epsilon: str, delta: str, neighbours: str, tables: int = 2) -> dict[str, Any]:
    return {
        "privacy": {"model": "central", "epsilon": epsilon, "delta": delta, "neighbours": neighbours},
        "columns": {f"c{n}": {"space": "categories", "values": list(range(k))} for n, k in enumerate(sizes)},
        "release": {"tables": tables},
    }


@cache
def distance(promise: Privacy) -> Fraction:
    """How far two normal laws may lie apart, in standard deviations."""
    return 1 / least(lambda deviation: normal_delta(1 / deviation, promise.epsilon) <= promise.delta, Fraction(1))


def optimum(law: TableLaw) -> float:
    """The total variance with normal noise of the best shape, were there no lattice."""
    answers, domain = wanted_answers(law), law.domain
    shaped = shape(domain, answers, "total")
    precisions = {r: 1 / (Fraction(s) * domain.scale(r) ** 2) for r, s in shaped.items()}
    loss = largest_loss(domain, precisions, law.plan.privacy.neighbours) / distance(law.plan.privacy) ** 2
    return answers.value(np.array([shaped[r] for r in answers.residuals]), "total") * float(loss)


def check(case: tuple[int, str, int, str, str]) -> None:
    columns, neighbours, tables, epsilon, delta = case
    laws = (table_law(plan(COLUMNS[columns], epsilon, d, neighbours, tables)) for d in (delta, "0"))
    own, pure = laws
    best = error_of(pure, wanted_answers(pure))
    if own.plan.privacy.delta:
        best = min(best, optimum(own))
    assert error_of(own, wanted_answers(own)) <= 1.05 * best


@pytest.mark.parametrize("case", CASES[::37], ids=str)
def test_the_total_variance_is_near_the_best(case: Any) -> None:
    check(case)


@pytest.mark.slow
def test_the_total_variance_is_near_the_best_everywhere() -> None:
    for case in CASES:
        check(case)


@pytest.mark.parametrize("case", list(product(("add-remove", "change-one"), ("0.3", "3"), ("1e-9", "1e-3"))), ids=str)
@pytest.mark.parametrize("sizes", [[], [3, 2]], ids=str)
def test_the_total_variance_with_sums_is_near_the_best(sizes: list[int], case: tuple[str, str, str]) -> None:
    neighbours, epsilon, delta = case

    def law(delta: str) -> TableLaw:
        own = plan(sizes, epsilon, delta, neighbours)
        own["columns"]["n"] = {"space": "interval", "low": 0, "high": 9, "step": 1, "bins": [0, 4, 9]}
        return table_law({**own, "release": {"tables": 2, "sums": True}})

    own, pure = law(delta), law("0")
    best = error_of(pure, wanted_answers(pure))
    best = min(best, optimum(own)) if own.plan.privacy.delta else best
    assert error_of(own, wanted_answers(own)) <= 1.05 * best


SMALL = plan([3, 2], "3", "1e-6", "add-remove")
FINE = plan([2] * 9, "10", "1e-3", "change-one")
TABLE = pa.table({f"c{n}": [(i >> n) % 2 for i in range(600)] for n in range(9)})


def verified(folder: Path) -> None:
    """Check a release with the stand-alone verifier."""
    verifier.verify(verify_certificate.read((folder / "certificate.json").read_text("utf-8")), folder)


def test_a_release_that_needs_no_delta_costs_none(tmp_path: Path) -> None:
    payment = ReleasePayment(tmp_path / "ledger.db", tmp_path / "out")
    release = dp.sanitise(TABLE.select([0, 1]), SMALL, tmp_path / "out", payment=payment)
    assert (release.certificate["epsilon"], release.certificate["delta"]) == ("3", "0")
    assert release.privacy == Privacy(3, neighbours="add-remove") and "delta = 0" in repr(release)
    assert dp.verify(tmp_path / "out").privacy == release.privacy
    verified(tmp_path / "out")
    ledger = Ledger(tmp_path / "ledger.db")
    assert ledger.budget == Privacy(3, "1e-6", neighbours="add-remove")
    assert (ledger.spent().epsilon, ledger.spent().delta) == (3, 0)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "1e-06" not in page and "0.000001" not in page


def test_a_release_without_delta_still_has_the_epsilon_and_the_neighbours_of_its_plan(tmp_path: Path) -> None:
    dp.sanitise(TABLE.select([0, 1]), SMALL, tmp_path / "out")
    text = (tmp_path / "out" / "plan.toml").read_text("utf-8")
    for other in (text.replace('"3"', '"4"'), text.replace("add-remove", "change-one")):
        (tmp_path / "out" / "plan.toml").write_text(other, "utf-8")
        forge(tmp_path / "out")
        with pytest.raises(VerificationFailed, match="something else than the plan"):
            dp.verify(tmp_path / "out")


def test_a_debit_of_an_earlier_version_pays_for_it_too(tmp_path: Path) -> None:
    payment, law = ReleasePayment(tmp_path / "ledger.db", tmp_path / "out"), table_law(SMALL)
    _, description, (_, digest) = payment._entry(law)  # earlier versions paid for a folder and a plan
    earlier = Privacy(3, "1e-6", neighbours="add-remove")
    Ledger(tmp_path / "ledger.db", budget=earlier, unit=law.plan.unit).release(earlier, description, plan=digest)
    payment.pay(law)
    assert payment.resumed


def test_numbers_in_parts_are_measured_around_the_truth() -> None:
    law = table_law(FINE)
    assert not law.is_pure and max(law.subdivisions[one] for one in law.noise) > 1
    rows, tables = count_tables(open_source(TABLE, None, law.plan.file), law)
    coins = Coins(bytes(16), private=False)
    drawn = np.array([law.estimates(law.measure(tables, coins), rows)[None].table((0, 1)) for _ in range(400)])
    truth, variance = tables[next(one for one in law.noise if one.table == (0, 1))], law.precisions[None]
    error = variance.cell_variance((0, 1)) ** 0.5
    assert np.abs(drawn.mean(axis=0) - truth).max() < 5 * error / 20
    assert drawn.std(axis=0) == pytest.approx(error, rel=0.2)


def more_parts(body: Any) -> None:
    for measurement in body["measurements"]:
        if "parts" in measurement:
            measurement["parts"] *= 2


def fewer_parts(body: Any) -> None:
    for measurement in body["measurements"]:
        measurement.pop("parts", None)


def consistent(body: Any) -> None:
    """Twice the parts, and a sensitivity to go with them: twice as much is told as the noise allows."""
    for measurement in body["measurements"]:
        if "parts" in measurement:
            measurement["parts"] *= 2
            measurement["sensitivity"] = str(4 * int(measurement["sensitivity"]))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (more_parts, "another sensitivity"),
        (fewer_parts, "another sensitivity"),
        (consistent, "rho is larger"),
    ],
)
def test_forged_parts_are_refused(change: Any, why: str, tmp_path: Path) -> None:
    dp.sanitise(TABLE, FINE, tmp_path / "out")
    forge(tmp_path / "out", change)
    with pytest.raises(VerificationFailed, match=why):
        dp.verify(tmp_path / "out")
    with pytest.raises(verify_certificate.Refused, match=why):
        verified(tmp_path / "out")


def test_laplace_noise_has_no_parts(tmp_path: Path) -> None:
    dp.sanitise(TABLE.select([0, 1]), SMALL, tmp_path / "out")
    forge(tmp_path / "out", lambda body: body["measurements"][0].update(parts=2))
    with pytest.raises(VerificationFailed, match="in whole numbers"):
        dp.verify(tmp_path / "out")


def test_an_earlier_release_in_whole_numbers_still_verifies_and_answers() -> None:
    release = dp.verify(EARLIER)
    assert release.privacy == Privacy(3, "1e-6", neighbours="add-remove")
    assert {noise["square"] for noise in release.certificate["noises"]} >= {"25"}
    (row, *_) = dp.load(EARLIER).query("SELECT a, count(*) AS n FROM release GROUP BY a").rows
    assert (row["n"].estimate, row["n"].stderr) == (pytest.approx(98.2222222), pytest.approx(2.3091745))
