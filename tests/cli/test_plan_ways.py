"""One table of all ways: what the server's page, `dproof plan` and a preview say alike, and what would help."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import Plan
from dproof.advice.central_advice import central_advice, noise_alone
from dproof.advice.expect import law_of
from dproof.advice.ways import SHARING, Way, answers_of, geometric_mean, ways_table
from dproof.central.recipe import TableLaw
from dproof.cli.output import Table, _rendered_page
from dproof.plans.reader import to_toml
from dproof.testing import seeded_coins

ROWS = 5000
SEX = {"space": "categories", "values": ["f", "m"]}
PAY = {"space": "interval", "low": 0, "high": 5000, "step": 10}
COLUMNS: dict[str, Any] = {"sex": SEX, "pay": PAY, "town": {"space": "categories", "values": list("abcdefgh")}}
COUNT = "SELECT count(*) AS n FROM data WHERE sex = 'f'"
MEAN = "SELECT sex, avg(pay) AS m FROM data GROUP BY sex"


def draft(model: str, delta: str = "1e-6", columns: Any = COLUMNS, **more: Any) -> dict[str, Any]:
    return {"privacy": {"model": model, "epsilon": 1, "delta": delta}, "columns": columns, **more}


def hints(plan: dict[str, Any], *questions: str) -> dict[str, Any]:
    table = ways_table(plan, rows=ROWS, questions=questions or None)
    return {hint.kind: hint for hint in central_advice(law_of(table.plan), table)}  # type: ignore[arg-type]


def width(plan: dict[str, Any], sql: str) -> float:
    (one,) = dp.expect(plan, rows=ROWS, questions=sql)
    assert one.half_width is not None
    return one.half_width


@pytest.mark.parametrize("model", ["local", "central"])
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_the_server_the_plan_and_a_preview_agree(
    model: str, delta: str, tmp_path: Path, dproof: Callable[..., Any]
) -> None:
    plan = draft(model, delta, {"sex": SEX, "pay": PAY}, questions=[{"sql": COUNT}, {"sql": MEAN}])
    path = tmp_path / "plan.toml"
    path.write_text(to_toml(plan), "utf-8")
    shown = dproof("plan", path, "--rows", ROWS, "--json").json
    own = "central_pure" if delta == "0" else "central_delta"
    page = dp.compare_ways(plan, rows=ROWS)
    assert all(shown[key] == page[key] for key in ("ways", "answers", "recommended", "hints"))
    alone = dp.expected_answers(plan, rows=ROWS)
    for one, quick in zip(shown["answers"], alone, strict=True):
        assert one["half_width"][{"local": "local", "central": own}[model]] == quick["half_width"]
        (release,) = dp.expect(plan, rows=ROWS, questions=one["question"])
        assert one["half_width"][{"local": "local", "central": own}[model]] == release.half_width
    table = pa.table({"sex": ["f", "m"] * (ROWS // 2), "pay": [100, 200] * (ROWS // 2)})
    curator = dp.Curator(table, plan, ledger=tmp_path / "budget.db")
    # Asking is told without δ: a preview with one counts in rho, which has more noise for a single question.
    seen = curator.preview(COUNT, epsilon=1).half_widths["n"]
    assert seen == shown["answers"][0]["half_width"]["ask"]


def test_without_questions_each_column_is_counted_and_each_number_averaged() -> None:
    binned = {**COLUMNS, "age": {"space": "interval", "low": 0, "high": 99, "bins": [0, 50, 99]}}
    told = ways_table(draft("central", columns=binned, release={"sums": True}), rows=ROWS).to_json()
    assert [(one["what"], one["column"]) for one in told["answers"]] == [
        ("count", "sex"),
        ("mean", "pay"),
        ("count", "town"),
        ("count", "age"),
        ("mean", "age"),
    ]
    assert [way["questions"] for way in told["ways"]] == [None, None, None, None, 1, SHARING]
    assert all(width for one in told["answers"] for width in one["half_width"].values())


def test_many_questions_are_for_a_release_and_few_for_asking() -> None:
    plan = draft("central", release={"sums": True})
    few, many = (ways_table(plan, rows=ROWS, questions=[COUNT] * n) for n in (1, 200))
    assert (few.recommended, many.recommended) == ("ask", "central_delta")
    assert few.turning == many.turning or abs((few.turning or 0) - (many.turning or 0)) < 0.2 * (few.turning or 0)
    assert few.reason.startswith("Recommended: ask the table") and f"from {few.turning} questions on" in few.reason
    assert many.reason.startswith("Recommended: a central release")
    nobody = ways_table(draft("central", "0", release={"tables": 1}), rows=1, questions=[COUNT] * 3)
    assert nobody.recommended is None and "No way tells anything" in nobody.reason


def test_no_delta_is_recommended_that_the_plan_does_not_allow() -> None:
    table = ways_table(draft("local", "0"), rows=ROWS, questions=[COUNT] * 200)
    assert table.recommended == table.central == "central_pure" and table.own == "local"


def test_what_the_recommended_way_lacks_is_told_as_a_sentence(dproof: Callable[..., Any], tmp_path: Path) -> None:
    sex = '[columns.sex]\nspace = "categories"\nvalues = ["f", "m"]\n'
    pay = '[columns.pay]\nspace = "interval"\nlow = 0\nhigh = 100\n'
    (tmp_path / "p.toml").write_text(f'[privacy]\nmodel = "central"\nepsilon = "1"\n{sex}{pay}')
    page = " ".join(dproof("plan", tmp_path / "p.toml", "--rows", 2000).out.split())
    assert "; but it does not answer 1 of these" in page and ": but" not in page


@pytest.mark.parametrize("model", ["local", "central"])
def test_what_is_decided_by_stands_before_the_table(dproof: Callable[..., Any], tmp_path: Path, model: str) -> None:
    """The promise, which way to take and what would help, in the first lines of a long page; warnings before it."""
    questions = [{"sql": MEAN}] if model == "local" else []
    plan = draft(model, delta="0.01", questions=questions, **({"release": {"tables": 2}} if model == "central" else {}))
    (tmp_path / "plan.toml").write_text(to_toml(plan), "utf-8")
    ran = dproof("plan", tmp_path / "plan.toml", "--rows", ROWS)
    lines = [line for line in ran.out.splitlines() if line]
    places = [next(n for n, line in enumerate(lines) if line.startswith(words)) for words in _IN_TURN]
    assert places == sorted(places) and places[2] <= 8 and "δ is 0.01" in ran.err


_IN_TURN = ("plan.toml: ", "Recommended: ", "What would help:", f"± over {ROWS:,}", "What is ")


def test_more_rows_than_are_shuffled_together_are_compared_too() -> None:
    """A release hides each row among 2^20 at most; a plan that says so is good for any larger table."""
    plan = {"privacy": {"epsilon": "1", "delta": "1e-6"}, "columns": COLUMNS}
    told = ways_table(plan, rows=3_000_000, questions=COUNT)
    assert not told.refused and told.answers[0].known("shuffled") < told.answers[0].known("local")


def test_shuffled_rows_are_compared_whatever_the_plan_says_and_named_where_nobody_sees_the_true_ones() -> None:
    for plan, own in ((draft("local", "0"), "local"), (draft("central", "1e-6"), "central_delta")):
        table = ways_table(plan, rows=ROWS, questions=COUNT)
        (row,) = table.answers
        central, mixed, alone = (row.known(way) for way in ("central_delta", "shuffled", "local"))
        assert table.own == own and central and mixed and alone and central < mixed < alone / 2
        assert ("whoever mixes them is trusted" in table.reason) == (own == "local")
    shuffled = {"privacy": {"epsilon": "1", "delta": "1e-6", "model": "shuffled"}, "shuffle": {"rows": ROWS}}
    told = ways_table(shuffled | {"columns": COLUMNS}, rows=ROWS, questions=COUNT)
    assert told.own == "shuffled" and told.answers[0].known("shuffled") == pytest.approx(mixed)
    several = {"privacy": {"epsilon": "1", "rows_per_person": 2}, "columns": COLUMNS}
    assert "must be 1" in ways_table(several, rows=ROWS, questions=COUNT).refused["shuffled"]


@pytest.mark.parametrize("values", ["abc", "abcde", "abcdefgh"])
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("epsilon", [1, 4, 8])
def test_asking_is_sharper_for_as_many_questions_as_are_told(epsilon: int, delta: Any, values: str) -> None:
    """By what each number of questions has: the last one that is sharper, and the first one that is not."""
    columns: dict[str, Any] = {"town": {"space": "categories", "values": [*values]}}
    promise = {"model": "central", "epsilon": epsilon, "delta": delta}
    plan = {"privacy": promise, "columns": columns, "release": {"tables": 1, "sums": True}}
    table = ways_table(plan, rows=3000)
    assert table.turning is not None

    def is_sharper(questions: int) -> bool:
        way = Way("ask_shared", "ask", table.plan.privacy.delta, questions)
        asking = answers_of(way, plan, 3000, [row.key for row in table.answers], [])
        return any(
            (geometric_mean([(row.known(table.central), one.known(row.key)) for row in table.answers]) or 2) > 1
            for one in (asking, *asking.others)
        )

    assert not is_sharper(table.turning) and (table.turning == 1 or is_sharper(table.turning - 1))


def test_an_answer_that_a_way_refuses_is_not_said_to_depend_on_the_data() -> None:
    age = {"space": "interval", "low": 0, "high": 20, "step": 1}
    columns = {"age": age, "sex": SEX, "size": {**age, "bins": [0, 5, 20]}}
    plan = {"privacy": {"epsilon": 6, "spread": "sample"}, "columns": columns}
    asked = [
        "SELECT avg(size) AS a FROM data",
        "SELECT max(age) - min(age) AS b FROM data",
        "SELECT max(age) AS c FROM data",
    ]
    told = dp.compare_ways(plan, rows=3000, questions=asked)
    assert [one.cells[0] for one in dp.shown_ways(told).answers] == ["–", "–", "?"]
    local = next(way for way in told["ways"] if way["name"] == "local")
    assert list(local["unanswered"]) == asked[:2] and "cannot be calculated with" in local["unanswered"][asked[1]]
    with seeded_coins(1):
        release = dp.sanitise(pa.table({"age": [1, 5] * 50, "sex": ["f", "m"] * 50, "size": [2, 9] * 50}), plan)
    for sql, why in local["unanswered"].items():
        with pytest.raises(dp.DproofError) as refused:
            release.query(sql.replace("data", "release"))
        assert str(refused.value) == why


def test_no_way_is_said_to_be_the_only_one_where_others_may_tell_something() -> None:
    by_sex = {"privacy": {"epsilon": 4}, "columns": {"sex": SEX}}
    reason = dp.compare_ways(by_sex, rows=1000, questions="SELECT mode(sex) FROM data")["recommended"]["reason"]
    assert reason.startswith("No way can be recommended: ± of these answers depends on the data")
    public = {"privacy": {"epsilon": 4}, "columns": {"sex": SEX, "town": {"public": True}}}
    by_town = "SELECT town, count(*) AS n FROM data WHERE sex = 'f' GROUP BY town"
    reason = dp.compare_ways(public, rows=3000, questions=by_town)["recommended"]["reason"]
    assert reason == "Recommended: a local release: the only way that tells something here."


def test_what_local_rows_tell_is_said_to_be_of_evenly_spread_rows() -> None:
    """Of 10,000 rows that nearly all have the value that is counted ± is half as wide again."""
    plan = {"privacy": {"epsilon": 4}, "columns": {"v": {"space": "categories", "values": [*"abcde"]}}}
    told = dp.compare_ways(plan, rows=10_000)
    assert dp.shown_ways(told).legend.endswith("; for local and shuffled rows, if the rows are spread evenly.")
    with seeded_coins(1):
        release = dp.sanitise(pa.table({"v": ["a"] * 9500 + ["b"] * 500}), plan)
    (cell,) = release.query("SELECT count(*) AS n FROM release WHERE v = 'a'")["n"]
    assert (cell.high - cell.low) / 2 > 1.4 * told["answers"][0]["half_width"]["local"]


def test_a_way_that_is_refused_has_a_sentence_and_so_has_a_question() -> None:
    plan = draft("central", release={"tables": 1}) | {"columns": {**COLUMNS, "pay": {**PAY, "bins": [0, 1000, 5000]}}}
    cut = "SELECT count(*) AS n FROM data WHERE pay < 500"
    told = ways_table(plan, rows=ROWS, questions=cut)
    assert "cuts the bin" in told.unanswered["central_delta"][cut] and not told.refused
    asking = {"privacy": {"epsilon": 1, "neighbours": "add-remove"}, "columns": COLUMNS}
    refused = ways_table(asking, rows=ROWS)
    assert "change-one" in refused.refused["local"] and refused.own == "ask"


def test_each_hint_is_priced_as_the_changed_plan_is() -> None:
    many = {f"c{n}": COLUMNS["town"] for n in range(6)}
    plan = draft("central", columns={**many, "sex": SEX})
    found = hints(plan, COUNT)
    alone = draft(
        "central", columns={**{name: {"drop": True} for name in many}, "sex": SEX}, questions=[{"sql": COUNT}]
    )
    assert found["questions"].after == width(alone, COUNT) and found["questions"].before == width(plan, COUNT)
    assert found["tables"].after == width({**plan, "release": {"tables": 1}}, COUNT)
    pure = {**plan, "privacy": {**plan["privacy"], "delta": "0"}}
    others = {**pure, "privacy": {**pure["privacy"], "neighbours": "add-remove"}}
    found = hints(pure, COUNT)
    assert found["neighbours"].after == width(others, COUNT) and "most other tools" in found["neighbours"].text
    assert found["delta"].after == width(plan, COUNT)
    gains = [hint.after / hint.before for hint in found.values()]
    assert gains == sorted(gains) and max(gains) <= 0.9 and len(gains) <= 5


def test_one_row_of_each_person_is_priced_where_several_count() -> None:
    plan = draft("central", columns={"town": COLUMNS["town"], "sex": SEX, "who": {"drop": True}})
    assert "rows" not in hints(plan, COUNT)
    one = {**plan, "privacy": {**plan["privacy"], "person": "who"}}
    several = {**one, "privacy": {**one["privacy"], "rows_per_person": 3}}
    found = hints(several, COUNT)["rows"]
    assert (found.before, found.after) == (width(several, COUNT), width(one, COUNT)) and "left out" in found.text


@pytest.mark.parametrize(("rows", "hidden"), [(20, True), (300, True), (200_000, False)])
def test_where_noise_hides_tables_of_several_columns_is_said_by_the_rows(rows: int, hidden: bool) -> None:
    plan = draft("central", columns={f"c{n}": COLUMNS["town"] for n in range(6)})
    law = law_of(Plan.from_dict(plan))
    assert isinstance(law, TableLaw)
    (text,) = (hint.text for hint in central_advice(law, ways_table(plan, rows=rows)) if hint.kind == "tables")
    assert ("the noise of tables of several columns hides" in text) is hidden
    assert ("if no question is about two columns" in text) is not hidden
    assert (noise_alone(law, rows) > 1) is hidden
    assert noise_alone(law, rows) == pytest.approx(2 * noise_alone(law, 2 * rows))


def test_that_no_mean_can_be_asked_comes_first_and_fewer_bins_are_priced() -> None:
    plan = draft("central", "0", {"sex": SEX, "pay": {**PAY, "bins": list(range(0, 5001, 250))}})
    found = hints(plan)
    assert next(iter(found)) == "sums" and found["sums"].before is None and "no mean can be asked" in found["sums"].text
    summed = {**plan, "release": {"sums": True}}
    assert found["sums"].after == width(summed, "SELECT avg(pay) FROM release") and "sums" not in hints(summed)
    assert "4 bins of 'pay' instead of 20" in found["bins"].text and found["bins"].columns == ("pay",)
    fewer = {**plan, "columns": {**plan["columns"], "pay": {**PAY, "bins": [0, 1250, 2500, 3750, 5000]}}}
    assert found["bins"].after == width(fewer, COUNT) and found["bins"].before == width(plan, COUNT)


def test_rows_that_answer_for_one_column_say_that_pairs_cannot_be_asked(
    tmp_path: Path, dproof: Callable[..., Any]
) -> None:
    columns = {f"c{n}": {"space": "categories", "values": list(range(70))} for n in range(4)}
    path = tmp_path / "plan.toml"
    path.write_text(to_toml({"privacy": {"epsilon": 3, "spread": "auto"}, "columns": columns}), "utf-8")
    told = dproof("plan", path, "--rows", ROWS, "--json").json
    (hint,) = told["hints"]
    assert hint["kind"] == "pairs" and told["spread"]["chosen"] == "sample" and hint["instead_of"] is None
    pair = "SELECT count(*) FROM release WHERE c0 = 0 AND c1 = 0"
    single = [{"sql": f"SELECT {name}, count(*) FROM release GROUP BY {name}"} for name in columns]
    plan = {"privacy": {"epsilon": 3, "spread": "auto"}, "columns": columns, "questions": [*single, {"sql": pair}]}
    assert hint["half_width"] == width(plan, pair)


@pytest.mark.parametrize("question", [None, MEAN])
@pytest.mark.parametrize("model", ["local", "central"])
def test_the_least_epsilon_is_found_in_every_model(
    model: str, question: str | None, tmp_path: Path, dproof: Callable[..., Any]
) -> None:
    plan = draft(model, "0", {"sex": SEX, "pay": PAY}, **({"release": {"sums": True}} if model == "central" else {}))
    path, asked = tmp_path / "plan.toml", () if question is None else ("--question", question)
    path.write_text(to_toml(plan), "utf-8")
    wanted = 100
    words = ("plan", path, "--rows", ROWS, "--half-width", wanted, *asked, "--json")
    found = dproof(*words).json

    def widest(epsilon: float) -> float:
        priced = {**plan, "privacy": {**plan["privacy"], "epsilon": str(epsilon)}}
        if question is not None:
            return width(priced, question)
        path.write_text(to_toml(priced), "utf-8")
        told = dproof("plan", path, "--rows", ROWS, "--json").json
        cells = told["columns"] if model == "local" else [one for one in told["tables"] if one["sum_of"] is None]
        return max(one["half_width"] or 0.0 for one in cells)

    epsilon = found["solved_epsilon"]
    assert found["epsilon"] == epsilon and widest(epsilon) <= wanted < widest(round(0.98 * epsilon, 5))


def test_a_central_release_for_add_remove_is_advised_too() -> None:
    plan = draft("central", release={"sums": True}) | {
        "privacy": {"model": "central", "epsilon": 1, "delta": "1e-6", "neighbours": "add-remove"}
    }
    few, many = (dp.advise(plan, rows=ROWS, questions=[COUNT] * n) for n in (1, 200))
    assert (few.better, many.better) == ("ask", "sanitise") and "sanitise once" in many.verdict


def test_a_heading_breaks_before_the_names_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "76")
    names, headings = ["count by household_income", "count by sex"], ["what", *(5 * ["central now"])]
    lines = _rendered_page([Table(headings, [[name, *"12345"] for name in names], left=(0,))]).splitlines()
    assert lines[1].split() == ["what", *(5 * ["now"])] and [line[:25].strip() for line in lines[3:5]] == names
