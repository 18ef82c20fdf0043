"""Answers that were drawn elsewhere become a release: every law, joined and sampled columns, and hostile lines."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dproof as dp
from dproof.certification.verify_certificate import main as verify_alone
from dproof.coins import current
from dproof.local.draw import asking
from dproof.local.recipe import RowLaw, certify_row
from dproof.releases.adopt import read_answers
from dproof.survey.form import survey_key
from tests.survey.test_collect import HABITS, resealed

Line = dict[str, Any]
COIN = {"space": "categories", "values": ["yes", "no"]}
TWO: dict[str, Any] = {
    "privacy": {"epsilon": 2},
    "columns": {"read": COIN, "age": {"space": "interval", "low": 0, "high": 9}},
}


def drawn_lines(law: RowLaw, columns: dict[str, list[int]]) -> list[Line]:
    """What pages, or dice, make of the true codes of some rows."""
    rows, coins = len(next(iter(columns.values()))), current()
    asked = None if law.weights is None else asking(law.weights).sample(rows, coins)
    made: list[Line] = [{"survey": survey_key(law), "id": f"respondent {n}", "row": {}} for n in range(rows)]
    for place, group in enumerate(law.groups):
        codes = group.joined([np.array(columns[column.name]) for column in group.columns])
        family = group.mechanism.family
        for n, code in enumerate(family.draw(codes.astype(np.int64), coins).tolist()):
            if asked is None or asked[n] == place:
                made[n]["row"][group.name] = None if code == family.absent else code
    return made


def write(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return path


EVERY: dict[str, dict[str, Any]] = {
    "habits": HABITS,
    "optional": {
        "privacy": {"epsilon": 4},
        "columns": {"pay": {"space": "interval", "low": 0, "high": 9, "step": "1/10", "missing": "category"}},
    },
    "joined": {
        "privacy": {"epsilon": 2},
        "columns": {"read": COIN, "mood": {"space": "interval", "low": 1, "high": 5, "step": 1}},
        "joint": [{"columns": ["read", "mood"]}],
    },
    "design": {
        "privacy": {"epsilon": 1},
        "columns": {"town": {"space": "categories", "values": [f"t{n}" for n in range(40)], "mechanism": "frequency"}},
    },
    "sampled": {
        "privacy": {"epsilon": 1, "spread": "sample"},
        "columns": {"read": COIN, "smokes": COIN, "age": {"space": "interval", "low": 0, "high": 99, "step": 1}},
        "joint": [{"columns": ["read", "smokes"]}],
    },
    "items": {
        "privacy": {"epsilon": 1},
        "columns": {"pets": {"space": "subsets", "values": ["cat", "dog", "eel"], "mechanism": "one_item"}},
    },
}


@pytest.mark.parametrize("name", EVERY)
def test_answers_become_a_release_that_holds(name: str, tmp_path: Path, dproof: Any) -> None:
    survey = dp.collect(EVERY[name], tmp_path / "survey")
    private = [column for column in survey.law.plan.columns if column.private]
    true = {column.name: [n % column.sanitised.size for n in range(300)] for column in private}
    lines = drawn_lines(survey.law, true)
    answers = write(tmp_path / "answers.jsonl", lines)
    release = dp.adopt(answers, tmp_path / "survey", tmp_path / "release")
    about = release.certificate["release"]
    assert release.rows == 300 and about["adopted"]["left_out"] == about["adopted"]["repeated"] == 0
    assert "dproof did not see it" in about["adopted"]["coins"]
    dp.verify(tmp_path / "release")
    assert verify_alone([str(tmp_path / "release" / "certificate.json")]) == 0
    assert "dproof did not see it" in (tmp_path / "release" / "report.html").read_text("utf-8")
    opened = dp.load(tmp_path / "release")
    assert opened.query("SELECT count(*) FROM release").rows[0]["count(*)"].estimate == 300
    # What is stored is what was sent, in another order.
    sent = sorted(json.dumps(line["row"]) for line in lines)
    stored = sorted(json.dumps(row) for row in stored_rows(opened))
    assert stored == sent
    assert dproof("verify", tmp_path / "release").code == 0


def stored_rows(release: Any) -> list[dict[str, Any]]:
    """The codes in each row of a release, as an answer has them."""
    from dproof.columns.codec import codec_of

    table, law = release.to_arrow().combine_chunks(), release.law
    rows: list[dict[str, Any]] = [{} for _ in range(table.num_rows)]
    asked = None if law.weights is None else table.column("asked").to_pylist()
    for group in law.groups:
        mine = [n for n in range(len(rows)) if asked is None or asked[n] == group.name]
        codes = []
        for column, space in zip(group.columns, group.storage, strict=True):
            arrays = [table.column(name).take(mine).combine_chunks() for name in column.stored]
            codes.append(codec_of(space, column).restore(arrays))
        sizes = [space.size for space in group.outputs]
        together = codes[0] if len(codes) == 1 else np.ravel_multi_index(tuple(codes), sizes)
        for n, code in zip(mine, together.tolist(), strict=True):
            rows[n][group.name] = None if code == group.mechanism.family.absent else code
    return rows


@pytest.mark.parametrize("name", ["habits", "sampled"])
def test_rows_are_shuffled_unless_the_plan_keeps_their_order(name: str, tmp_path: Path) -> None:
    for order in ("shuffle", "keep"):
        survey = dp.collect({"order": order, **EVERY[name]}, tmp_path / f"survey {order}")
        private = [column for column in survey.law.plan.columns if column.private]
        lines = drawn_lines(survey.law, {column.name: [0] * 100 for column in private})
        answers = write(tmp_path / f"{order}.jsonl", lines)
        release = dp.adopt(answers, tmp_path / f"survey {order}", tmp_path / order)
        assert (stored_rows(release) == [line["row"] for line in lines]) == (order == "keep")


def test_counts_are_debiased(tmp_path: Path) -> None:
    """3,000 of 4,000 say yes, and the interval has it."""
    survey = dp.collect(TWO, tmp_path / "survey")
    lines = drawn_lines(survey.law, {"read": [0] * 3000 + [1] * 1000, "age": [4000] * 4000})
    release = dp.adopt(write(tmp_path / "a.jsonl", lines), tmp_path / "survey", tmp_path / "release")
    cell = release.query("SELECT count(*) FROM release WHERE read = 'yes'").rows[0]["count(*)"]
    assert cell.low < 3000 < cell.high and cell.high - cell.low < 600


def bad_lines(key: str) -> list[Any]:
    """Lines that no page of the survey sends."""
    row = {"read": 0, "age": 12}
    rows: list[Any] = [
        {"read": 2, "age": 12},
        {"read": -1, "age": 12},
        {"read": 0.0, "age": 12},
        {"read": True, "age": 12},
        {"read": "yes", "age": 12},
        {"read": None, "age": 12},
        {"read": [0], "age": 12},
        {"read": 0},
        {"read": 0, "age": 12, "name": 3},
        {"read": 0, "age": 1 << 63},
        {"read": 0, "age": -(10**40)},
        {},
        [0, 12],
        "row",
        None,
    ]
    odd = [{"survey": key, "id": f"odd {n}", "row": odd} for n, odd in enumerate(rows)]
    whole = {"survey": key, "id": "x", "row": row}
    broken = ["{", "[]", "17", '"text"', "null", "\x00", "é" * 10, "[" * 100_000, "9" * 5000, json.dumps(whole)[:-1]]
    named = [{**whole, "id": own} for own in ("", "i" * 65, 3, None, ["a"])]
    without = [{key: whole[key] for key in whole if key != left} for left in whole]
    return [*odd, *broken, *named, *without, {**whole, "survey": 3}, {**whole, "id": "long", "pad": "x" * 70_000}]


def test_what_no_law_can_give_is_left_out_and_counted(tmp_path: Path) -> None:
    survey = dp.collect(TWO, tmp_path / "survey")
    good = drawn_lines(survey.law, {"read": [0, 1] * 5, "age": [7] * 10})
    bad = bad_lines(survey.key)
    again = [{**good[0], "row": good[1]["row"]}, good[2]]
    first = write(tmp_path / "one.jsonl", [*bad, "", *good[:5]])
    second = write(tmp_path / "two.jsonl", [*good[5:], *again])
    release = dp.adopt([first, second], tmp_path / "survey", tmp_path / "release")
    about = release.certificate["release"]
    assert (release.rows, about["adopted"]["left_out"], about["adopted"]["repeated"]) == (10, len(bad), 2)
    sent = sorted(json.dumps(line["row"]) for line in good)  # the first answer of an id counts
    assert sorted(json.dumps(row) for row in stored_rows(release)) == sent


def test_a_line_without_end_takes_no_memory(tmp_path: Path) -> None:
    survey = dp.collect(TWO, tmp_path / "survey")
    one, other = (json.dumps(line) for line in drawn_lines(survey.law, {"read": [0, 1], "age": [7, 7]}))
    (tmp_path / "a.jsonl").write_text(f"{one}\n{'x' * (1 << 24)}\n{other}\n{one[:-1]}")
    tracemalloc.start()
    received = read_answers([tmp_path / "a.jsonl"], survey.law)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (received.rows, received.left_out) == (2, 2) and peak < 1 << 21


def test_lines_are_read_in_one_encoding(tmp_path: Path) -> None:
    """A file of UTF-16, as some shells write it, gives no answer: of every other line JSON can guess the encoding."""
    survey = dp.collect(TWO, tmp_path / "survey")
    lines = "\r\n".join(json.dumps(line) for line in drawn_lines(survey.law, {"read": [0] * 6, "age": [7] * 6}))
    (tmp_path / "utf-8.jsonl").write_bytes(lines.encode("utf-8-sig"))
    assert read_answers([tmp_path / "utf-8.jsonl"], survey.law).rows == 6
    (tmp_path / "utf-16.jsonl").write_bytes(lines.encode("utf-16"))
    with pytest.raises(dp.SourceError, match="no answer to this survey"):
        dp.adopt(tmp_path / "utf-16.jsonl", tmp_path / "survey", tmp_path / "release")


def test_one_possible_row_among_the_bad_ones_is_none_of_them(tmp_path: Path) -> None:
    """So each bad line is left out for its own mistake: with it mended the line counts."""
    survey = dp.collect(TWO, tmp_path / "survey")
    mended = {"survey": survey.key, "id": "x", "row": {"read": 0, "age": 12}}
    assert dp.adopt(write(tmp_path / "a.jsonl", [mended]), tmp_path / "survey", tmp_path / "release").rows == 1


@pytest.mark.parametrize("mechanism", ["truncated_laplace", "gaussian", "clamped_laplace"])
def test_numbers_lie_no_farther_out_than_noise_reaches(mechanism: str, tmp_path: Path) -> None:
    delta = "0" if mechanism == "clamped_laplace" else "1e-6"
    age = {"space": "interval", "low": 0, "high": 9, "step": 1, "mechanism": mechanism}
    survey = dp.collect({"privacy": {"epsilon": 1, "delta": delta}, "columns": {"age": age}}, tmp_path / "survey")
    reach = survey.law.groups[0].mechanism.family.farthest or 0
    codes = [-reach, 9 + reach, -reach - 1, 10 + reach]
    lines = [{"survey": survey.key, "id": str(n), "row": {"age": code}} for n, code in enumerate(codes)]
    release = dp.adopt(write(tmp_path / "a.jsonl", lines), tmp_path / "survey", tmp_path / "release")
    assert release.rows == 2 and release.certificate["release"]["adopted"]["left_out"] == 2


@pytest.mark.parametrize("epsilon", ["0.01", "1"])
@pytest.mark.parametrize("missing", [{}, {"missing": "category"}])
def test_one_answer_far_out_hides_no_mean(missing: dict[str, str], epsilon: str, tmp_path: Path) -> None:
    """Noise without an end may give any number: one that it all but never gives was made up."""
    age = {"space": "interval", "low": 0, "high": 99, "step": 1, "mechanism": "laplace", **missing}
    survey = dp.collect({"privacy": {"epsilon": epsilon}, "columns": {"age": age}}, tmp_path / "survey")
    far = [
        {"survey": survey.key, "id": f"far {n}", "row": {"age": code}} for n, code in enumerate([1 << 61, -(1 << 61)])
    ]
    lines = [*drawn_lines(survey.law, {"age": [40] * 500}), *far]
    release = dp.adopt(write(tmp_path / "a.jsonl", lines), tmp_path / "survey", tmp_path / "release")
    assert release.rows == 500 and release.certificate["release"]["adopted"]["left_out"] == 2


def refused(tmp_path: Path, match: str, *arguments: Any) -> None:
    with pytest.raises(dp.DproofError, match=match):
        dp.adopt(*arguments, tmp_path / "release")
    assert not (tmp_path / "release").exists() and not list(tmp_path.glob(".release*"))


def test_answers_to_another_plan_are_refused(tmp_path: Path) -> None:
    survey = dp.collect(TWO, tmp_path / "survey")
    other = dp.collect({**TWO, "privacy": {"epsilon": 1}}, tmp_path / "other")
    assert survey.key != other.key
    mixed = [*drawn_lines(survey.law, {"read": [0], "age": [3]}), *drawn_lines(other.law, {"read": [0], "age": [3]})]
    refused(
        tmp_path,
        r"line 2 of 'a\.jsonl': an answer is to another survey",
        write(tmp_path / "a.jsonl", mixed),
        tmp_path / "survey",
    )


def test_nothing_comes_of_no_answers(tmp_path: Path) -> None:
    dp.collect(TWO, tmp_path / "survey")
    refused(tmp_path, "no answer to this survey", write(tmp_path / "a.jsonl", ["{}", ""]), tmp_path / "survey")
    refused(tmp_path, "cannot be read", tmp_path / "absent.jsonl", tmp_path / "survey")


def test_a_survey_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    survey = dp.collect(TWO, tmp_path / "survey")
    answers = write(tmp_path / "a.jsonl", drawn_lines(survey.law, {"read": [0], "age": [3]}))
    page = tmp_path / "survey" / "survey.html"
    page.write_text(page.read_text("utf-8").replace("getRandomValues", "getSomeValues"), "utf-8")
    resealed(tmp_path / "survey")
    refused(tmp_path, "the page is not the one", answers, tmp_path / "survey")


def test_a_plan_alone_is_enough_for_dice_and_apps(tmp_path: Path) -> None:
    """Its laws are those of the page, and its answers have the key that `dproof collect` prints."""
    law = certify_row(dp.Plan.of(TWO))
    assert survey_key(law) == dp.collect(TWO, tmp_path / "survey").key
    answers = write(tmp_path / "a.jsonl", drawn_lines(law, {"read": [0, 1], "age": [3, 4]}))
    assert dp.adopt(answers, TWO, tmp_path / "release").rows == 2


def test_rows_of_a_sampled_survey_that_stay_away_are_no_forgery(tmp_path: Path) -> None:
    """Half of those who were asked for their age do not answer: the release still holds."""
    survey = dp.collect(EVERY["sampled"], tmp_path / "survey")
    lines = drawn_lines(survey.law, {"read": [0] * 900, "smokes": [1] * 900, "age": [40] * 900})
    left = [line for n, line in enumerate(lines) if n % 2 or "age" not in line["row"]]
    dp.adopt(write(tmp_path / "a.jsonl", left), tmp_path / "survey", tmp_path / "release")
    dp.verify(tmp_path / "release")


def test_the_commands(tmp_path: Path, dproof: Any) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(dp.Plan.of(TWO).text)
    made = dproof("collect", plan, "--out", tmp_path / "survey", "--send", "https://example.org/in", "--json")
    assert made.code == 0 and made.json["questions"] == 2 and made.json["send"] == "https://example.org/in"
    law = certify_row(dp.Plan.of(TWO))
    answers = write(tmp_path / "a.jsonl", [*drawn_lines(law, {"read": [0, 1], "age": [3, 4]}), "{}"])
    adopt = ["adopt", answers, "--plan", tmp_path / "survey", "--out", tmp_path / "release", "--json"]
    release = dproof(*adopt)
    assert (release.code, release.json["rows"], release.json["left_out"]) == (0, 2, 1)
    problem = dproof(*adopt)
    assert problem.code == 2 and problem.json["code"] == "file"
    for words in (
        ["collect", plan, "--out", tmp_path / "s"],
        ["adopt", answers, "--plan", plan, "--out", tmp_path / "r"],
    ):
        ran = dproof(*words)
        assert ran.code == 0 and "dproof verify" in ran.out


def test_answers_that_are_too_few_to_hide_each_other_wait(tmp_path: Path, dproof: Any) -> None:
    """Nothing is published below the rows of the promise; both commands say what it is."""
    promise = {"epsilon": 1, "delta": "1e-6", "model": "shuffled"}
    survey = dp.collect({"privacy": promise, "shuffle": {"rows": 200}, "columns": {"read": COIN}}, tmp_path / "survey")
    lines = drawn_lines(survey.law, {"read": [0, 1] * 100})
    few, enough = write(tmp_path / "few", lines[:199]), write(tmp_path / "enough", lines)
    refused = dproof("adopt", few, "--plan", tmp_path / "survey", "--out", tmp_path / "release")
    assert refused.code == 2 and not (tmp_path / "release").exists()
    assert "199 count, so wait for more, for a smaller rows makes another survey" in " ".join(refused.err.split())
    made = dproof("adopt", enough, "--plan", tmp_path / "survey", "--out", tmp_path / "release")
    again = dproof("collect", tmp_path / "survey" / "plan.toml", "--out", tmp_path / "again")
    said = "so each hides among 200: whoever sees the published rows"
    assert said in " ".join(made.out.split())
    assert f"published once there are 200. Their order is random, {said}" in " ".join(again.out.split())
