"""The second promise of rows in a random order: recorded, checked by both verifiers, and stated by a plan."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof.certification import verify_certificate
from dproof.certification.verify_certificate import shuffled_delta
from dproof.exact import exp_below
from dproof.local import draw, recipe, release
from dproof.local.recipe import certify_row
from dproof.plans import plan, reader
from dproof.storage import CERTIFICATE
from dproof.tables.source import Source, open_source
from tests.forging import forge

pa = pytest.importorskip("pyarrow")

HOBBIES = list("abcde")
ROWS = 2000
TABLE = pa.table({"hobby": HOBBIES * (ROWS // 5), "read": [0, 1] * (ROWS // 2)})
COLUMNS: dict[str, Any] = {
    "hobby": {"space": "categories", "values": HOBBIES},
    "read": {"space": "categories", "values": [0, 1]},
}
LOCAL = {"privacy": {"epsilon": 2}, "columns": COLUMNS}
SHUFFLED: dict[str, Any] = {
    "privacy": {"model": "shuffled", "epsilon": 1, "delta": "1e-6"},
    "shuffle": {"rows": 1500},
    "columns": COLUMNS,
}


def made(out: Path, plan: dict[str, Any]) -> dict[str, Any]:
    dp.sanitise(TABLE, plan, out)
    return dict(json.loads((out / CERTIFICATE).read_text("utf-8"))["release"])


def test_a_local_release_says_what_its_order_adds(tmp_path: Path) -> None:
    told = made(tmp_path / "out", LOCAL)["shuffled"]
    assert told["rows"] == ROWS and told["delta"] == "1/1000000" and dp.Privacy(told["epsilon"]).epsilon < 1 / 2
    assert dp.verify(tmp_path / "out") is not None
    checked = subprocess.run([sys.executable, verify_certificate.__file__, tmp_path / "out" / CERTIFICATE], check=False)
    assert checked.returncode == 0


def without(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda body: body["release"]["shuffled"].pop(key)


def says(**record: Any) -> Callable[[dict[str, Any]], None]:
    return lambda body: body["release"]["shuffled"].update(record)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (says(epsilon="1/10"), "do not keep the promise"),
        (says(delta="1/1000000000"), "do not keep the promise"),
        (says(rows=ROWS + 1), "were not shuffled"),
        (says(rows=100), "do not keep the promise"),
        (says(rows=0), "rows must be a whole number"),
        (without("rows"), "must be a record"),
        (lambda body: body["release"].update(order="kept"), "were not shuffled"),
        (lambda body: body["release"].update(order="shuffled within 5 rows"), "were not shuffled"),
    ],
)
def test_a_forged_second_promise_is_refused(tmp_path: Path, change: Callable[[dict[str, Any]], None], why: str) -> None:
    out = tmp_path / "out"
    made(out, LOCAL)
    forge(out, change)
    with pytest.raises(dp.VerificationFailed, match=why):
        dp.verify(out)
    checked = [sys.executable, verify_certificate.__file__, out / CERTIFICATE]
    assert subprocess.run(checked, check=False, capture_output=True).returncode == 1


@pytest.mark.parametrize(
    "more",
    [
        {"order": "keep"},
        {"privacy": {"epsilon": 2, "rows_per_person": 2}},
        {"privacy": {"epsilon": 2, "delta": "1e-9"}},
        {"columns": COLUMNS | {"read": {"public": True}}},
    ],
    ids=["kept order", "several rows a person", "a local delta", "a public column"],
)
def test_nothing_is_claimed_where_order_adds_nothing(tmp_path: Path, more: dict[str, Any]) -> None:
    assert "shuffled" not in made(tmp_path / "out", LOCAL | more)


def test_a_claim_beside_a_public_column_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = made(tmp_path / "other", LOCAL)["shuffled"]
    made(out, LOCAL | {"columns": COLUMNS | {"read": {"public": True}}})
    forge(out, lambda body: body["release"].update(shuffled=told))
    with pytest.raises(dp.VerificationFailed, match="adds nothing where rows are public in part"):
        dp.verify(out)


def test_dishonest_people_hide_nobody(tmp_path: Path) -> None:
    all_of_them = made(tmp_path / "all", LOCAL)["shuffled"]
    half = made(tmp_path / "half", LOCAL | {"shuffle": {"honest": "1/2"}})["shuffled"]
    fewer, more = (dp.Privacy(told["epsilon"]).epsilon for told in (half, all_of_them))
    assert half["rows"] == ROWS // 2 and fewer > more
    dp.verify(tmp_path / "half")
    forge(tmp_path / "half", lambda body: body["release"].update(shuffled=all_of_them))
    with pytest.raises(dp.VerificationFailed, match="lets fewer rows count"):
        dp.verify(tmp_path / "half")


def test_a_plan_states_the_promise_of_the_published_rows(tmp_path: Path) -> None:
    about = made(tmp_path / "out", SHUFFLED)
    assert about["shuffled"] == {"rows": 1500, "epsilon": "1", "delta": "1/1000000"}
    release = dp.verify(tmp_path / "out")
    assert release is not None and release.privacy.epsilon > 3 and not release.privacy.delta
    width = release.query("SELECT count(*) AS n FROM release WHERE hobby = 'a'")["n"][0]
    local = dp.sanitise(TABLE, LOCAL).query("SELECT count(*) AS n FROM release WHERE hobby = 'a'")["n"][0]
    assert width.high - width.low < (local.high - local.low) / 2
    forge(tmp_path / "out", says(epsilon="11/10"))
    with pytest.raises(dp.VerificationFailed, match="promises something else than the plan"):
        dp.verify(tmp_path / "out")


def test_too_few_rows_for_the_promise_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    plan = SHUFFLED | {"shuffle": {"rows": ROWS + 1}}
    for out in (tmp_path / "out", None):
        with pytest.raises(dp.SourceError, match="there are fewer"):
            dp.sanitise(TABLE, plan, out)
    assert not list(tmp_path.iterdir())


def test_a_ledger_is_charged_what_is_promised_to_those_who_see_the_release(tmp_path: Path) -> None:
    payment = dp.ReleasePayment(tmp_path / "ledger", tmp_path / "out")
    dp.sanitise(TABLE, SHUFFLED, tmp_path / "out", payment=payment)
    spent = dp.Ledger(tmp_path / "ledger").spent()
    assert (spent.epsilon, spent.delta) == (1, dp.Privacy(1, "1e-6").delta)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"privacy": {"model": "shuffled", "epsilon": 1}}, "delta.*must be above 0"),
        ({"shuffle": {}}, "shuffle.rows must say how many rows there will be at least, 2 to 1048576"),
        ({"shuffle": {"rows": 1500, "honest": 0}}, "honest.*must be a share"),
        ({"shuffle": {"rows": 1500, "turns": 3}}, "turns.*is not a known key"),
        ({"order": "keep"}, "order must be 'shuffle'"),
        ({"columns": COLUMNS | {"read": {"public": True}}}, "tells rows apart"),
        ({"privacy": SHUFFLED["privacy"] | {"rows_per_person": 2}}, "rows_per_person must be 1"),
        ({"privacy": {"model": "central", "epsilon": 1}}, "shuffle belongs to rows"),
        ({"privacy": SHUFFLED["privacy"] | {"neighbours": "add-remove"}}, "change-one"),
    ],
)
def test_plans_that_shuffling_does_not_fit_are_refused(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(dp.PlanError, match=why):
        dp.Plan.from_dict(SHUFFLED | changed)


def test_commands_tell_both_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dproof: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(dp.Plan.from_dict(SHUFFLED).text)
    made(Path("out"), SHUFFLED)
    for command in (["plan", "plan.toml"], ["verify", "out"], ["explain", "out"]):
        ran = dproof(*command)
        told = " ".join(ran.out.split())
        assert "each hides among 1,500" in told and "ε = 1, δ = 0.000001" in told and not ran.code
        assert "neither who sent which nor how the others were changed" in told, command  # whoever sent many knows that
    assert "each hides among 1,500" in Path("out/report.html").read_text("utf-8")


def test_a_survey_promises_what_its_rows_will_keep_in_a_random_order(tmp_path: Path) -> None:
    column = {"space": "categories", "values": ["yes", "no"], "question": "Do you smoke?"}
    dp.collect(SHUFFLED | {"columns": {"smokes": column}}, tmp_path / "survey")
    dp.verify(tmp_path / "survey")
    forge(tmp_path / "survey", says(rows=1600))
    with pytest.raises(dp.VerificationFailed, match="lets fewer rows count"):
        dp.verify(tmp_path / "survey")


def test_a_plan_is_compared_at_the_promise_of_its_published_rows() -> None:
    found = dp.compare_ways(SHUFFLED, rows=ROWS)
    assert [way["title"] for way in found["ways"] if way["own"]] == ["shuffled"]
    asked = [hint for hint in found["hints"] if hint["kind"] == "ask"]
    one = dp.compare_ways(LOCAL | {"privacy": {"epsilon": 1, "delta": "1e-6"}}, rows=ROWS)["answers"][0]["half_width"]
    assert all(hint["half_width"] == pytest.approx(one["ask"], rel=0.01) for hint in asked) and asked


@pytest.mark.parametrize(("epsilon", "rows"), [("0.05", 300), ("1", 300), ("1", 20_000)])
def test_the_epsilon_of_a_row_is_the_largest_and_is_found_in_few_steps(
    epsilon: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[bool] = []

    def counted(rows: int, blanket: Any, odds: Fraction) -> Fraction:
        steps.append(True)
        return shuffled_delta(rows, blanket, odds)

    monkeypatch.setattr("dproof.local.recipe.shuffled_delta", counted)
    promise = {"epsilon": epsilon, "delta": "1e-6", "model": "shuffled"}
    law = certify_row(dp.Plan.of(SHUFFLED | {"privacy": promise, "shuffle": {"rows": rows}}))
    assert 0 < len(steps) <= 18
    more = certify_row(dp.Plan.of(LOCAL | {"privacy": {"epsilon": str(law.plan.privacy.epsilon + Fraction(1, 100))}}))
    kept, broken = (
        min(shuffled_delta(rows, blanket, exp_below(Fraction(epsilon))) for blanket in one.blankets)
        for one in (law, more)
    )
    assert kept <= Fraction("1e-6") < broken


# Of a large table only so many rows are in one order ------------------------------------------------------------------

LARGE = 5000


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are shuffled in parts of 1,000 rows."""
    for module in (plan, reader, recipe, release, draw):
        monkeypatch.setattr(module, "REACH" if module is draw else "SHUFFLED_TOGETHER", 1000)


def large(out: Path, given: dict[str, Any]) -> dict[str, Any]:
    dp.sanitise(pa.table({"hobby": HOBBIES * (LARGE // 5), "read": [0, 1] * (LARGE // 2)}), given, out)
    return dict(json.loads((out / CERTIFICATE).read_text("utf-8"))["release"])


def test_no_promise_is_for_more_rows_than_are_shuffled_together(in_parts: None, tmp_path: Path) -> None:
    with pytest.raises(dp.PlanError, match="2 to 1000: more are not shuffled together"):
        large(tmp_path / "out", SHUFFLED | {"shuffle": {"rows": LARGE}})
    assert large(tmp_path / "out", SHUFFLED | {"shuffle": {"rows": 1000}})["shuffled"]["rows"] == 1000
    dp.verify(tmp_path / "out")


@pytest.mark.parametrize(("honest", "hiding"), [("1", 1000), ("9/10", 500), ("81/100", 50), ("4/5", None)])
def test_all_who_do_not_follow_the_method_may_be_in_one_part(
    in_parts: None, tmp_path: Path, honest: str, hiding: int | None
) -> None:
    told = large(tmp_path / "out", LOCAL | {"shuffle": {"honest": honest}}).get("shuffled")
    assert hiding == (None if told is None else told["rows"])
    dp.verify(tmp_path / "out")


def test_a_claim_for_one_part_that_counts_on_the_others_is_refused(in_parts: None, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = large(out, LOCAL)["shuffled"]
    large(tmp_path / "half", LOCAL | {"shuffle": {"honest": "9/10"}})
    forge(tmp_path / "half", lambda body: body["release"]["shuffled"].update(told, rows=900))
    with pytest.raises(dp.VerificationFailed, match=r"lets fewer rows count|do not keep"):
        dp.verify(tmp_path / "half")
    forge(tmp_path / "half", lambda body: body["release"]["shuffled"].update(rows=501, epsilon="2"))
    with pytest.raises(dp.VerificationFailed, match="lets fewer rows count"):
        dp.verify(tmp_path / "half")


def test_a_stated_promise_is_refused_where_one_part_may_hold_too_few(in_parts: None, tmp_path: Path) -> None:
    stated = SHUFFLED | {"shuffle": {"rows": 900, "honest": "9/10"}}
    with pytest.raises(dp.SourceError, match="too few hide the others"):
        large(tmp_path / "out", stated)
    assert not (tmp_path / "out").exists()
    dp.sanitise(TABLE.slice(0, 1500), stated, tmp_path / "out")
    dp.verify(tmp_path / "out")


def test_a_share_of_honest_people_that_leaves_none_is_refused() -> None:
    with pytest.raises(dp.PlanError, match="leaves none of the rows"):
        dp.Plan.from_dict(SHUFFLED | {"shuffle": {"rows": 200, "honest": "1/1000"}})


# Parts that an engine writes are each in an order of their own --------------------------------------------------------

SIZES = (600, 900, 1500)


def in_three(out: Path, given: dict[str, Any]) -> dict[str, Any]:
    """A release that an engine wrote in three parts."""
    table = pa.table({"hobby": HOBBIES * 600, "read": [0, 1] * 1500})
    opened = open_source(table)

    def spread(columns: Any, work: Callable[[Any], bytes], **how: Any) -> list[bytes]:
        whole, ends = pa.Table.from_batches(list(opened.read(columns))), [0, *accumulate(SIZES)]
        return [work(iter(whole[first:end].to_batches())) for first, end in pairwise(ends)]

    dp.sanitise(Source(opened.names, opened.read, spread=spread), given, out)
    return dict(json.loads((out / CERTIFICATE).read_text("utf-8"))["release"])


def test_a_part_without_rows_hides_nobody() -> None:
    shuffle = dp.Plan.of(LOCAL).shuffle
    assert [shuffle.hiding(1000, within) for within in (0, 1, 600, None)] == [0, 1, 600, 1000]
    assert certify_row(dp.Plan.of(LOCAL)).shuffled(1000, 0) is None


@pytest.mark.parametrize(("honest", "hiding"), [("1", 600), ("0.9", 300)])
def test_each_row_of_a_part_hides_among_the_rows_of_the_smallest(honest: str, hiding: int, tmp_path: Path) -> None:
    """All who do not follow the method may be in it."""
    told = in_three(tmp_path / "out", LOCAL | {"shuffle": {"honest": honest}})
    assert told["order"] == "shuffled within 600 rows" and told["shuffled"]["rows"] == hiding
    law = certify_row(dp.Plan.of(LOCAL))
    kept = [shuffled_delta(hiding, one, exp_below(Fraction(told["shuffled"]["epsilon"]))) for one in law.blankets]
    assert min(kept) <= Fraction(told["shuffled"]["delta"])
    assert dp.verify(tmp_path / "out").rows == 3000
    checked = [sys.executable, verify_certificate.__file__, tmp_path / "out" / CERTIFICATE]
    assert subprocess.run(checked, check=False).returncode == 0


@pytest.mark.parametrize(("rows", "alone"), [(601, True), (1001, False)])
def test_a_claim_for_more_rows_than_a_part_has_is_refused(rows: int, alone: bool, tmp_path: Path) -> None:
    """The stand-alone verifier reads no table: it refuses what three parts of 3,000 rows cannot be."""
    in_three(tmp_path / "out", LOCAL)

    def more(body: dict[str, Any]) -> None:
        body["release"]["order"] = f"shuffled within {rows} rows"
        body["release"]["shuffled"]["rows"] = rows

    forge(tmp_path / "out", more)
    with pytest.raises(dp.VerificationFailed, match="fewer rows than are said" if alone else "were not shuffled"):
        dp.verify(tmp_path / "out")
    checked = [sys.executable, verify_certificate.__file__, tmp_path / "out" / CERTIFICATE]
    assert (subprocess.run(checked, check=False, capture_output=True).returncode == 0) == alone


@pytest.mark.parametrize("earlier", [False, True])
def test_parts_that_are_saved_as_one_file_promise_no_more_than_before(earlier: bool, tmp_path: Path) -> None:
    """They are in the same order still. Releases of earlier versions do not say how small a part is."""
    told = in_three(tmp_path / "parts", LOCAL)
    if earlier:

        def silent(body: dict[str, Any]) -> None:
            body["release"]["order"] = f"shuffled within {1 << 20} rows"
            del body["release"]["shuffled"]

        forge(tmp_path / "parts", silent)
    assert dp.verify(tmp_path / "parts").rows == 3000
    dp.load(tmp_path / "parts").save(tmp_path / "one")
    dp.verify(tmp_path / "one")
    saved = json.loads((tmp_path / "one" / CERTIFICATE).read_text("utf-8"))["release"]
    assert list(saved["files"]) == ["release.parquet", "plan.toml"]
    assert saved.get("shuffled") == (None if earlier else told["shuffled"])
