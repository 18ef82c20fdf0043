"""What a draft would give each way: like with like, and the ε that gives a wanted ±."""

from datetime import date, timedelta

import pytest

import dproof as dp
from dproof.advice.ways import WAYS

COLUMNS = {
    "sex": {"space": "categories", "values": ["f", "m"], "outside": "category", "missing": "category"},
    "age": {"space": "interval", "low": 18, "high": 90, "step": 1, "missing": 40},
    "pets": {"space": "subsets", "values": ["cat", "dog"], "separator": ";", "missing": []},
}
CENTRAL = {"privacy": {"model": "central", "epsilon": "1", "delta": "1e-6"}, "columns": COLUMNS}
LOCAL = {"privacy": {"epsilon": "3"}, "columns": COLUMNS}
QUESTION = "SELECT sex, count(*) AS n FROM data GROUP BY sex"


def width(draft, question, column, way, rows=5000):
    """± one way, with the δ of the draft."""
    way = {"central": "central_delta" if float(draft["privacy"].get("delta", 0)) else "central_pure"}.get(way, way)
    (one, *_) = (each for each in dp.compare_ways(draft, rows=rows)["answers"] if each["column"] == column)
    return one["half_width"][way]


def refused(told):
    return {way["name"]: way["refused"] for way in told["ways"] if way["refused"]}


@pytest.mark.parametrize("draft", [CENTRAL, LOCAL], ids=["central", "local"])
def test_a_number_is_compared_by_its_mean_and_a_set_by_its_items(draft):
    told = dp.compare_ways({**draft, "release": {"sums": True, "tables": 1}} if draft is CENTRAL else draft, rows=5000)
    assert [one["what"] for one in told["answers"]] == ["count", "mean", "count"] and refused(told) == {}
    for one in told["answers"]:
        assert one["half_width"]["ask"] < one["half_width"]["central_pure"] < one["half_width"]["local"], one
    assert told["shares"].keys() == COLUMNS.keys() and all(0 < share <= 1 for share in told["shares"].values())


@pytest.mark.parametrize("missing", [{}, {"missing": "category"}], ids=["none", "some"])
@pytest.mark.parametrize("edges", [(0, 30), (0, 10, 30)], ids=["one bin", "two bins"])
@pytest.mark.parametrize("dates", [False, True], ids=["number", "date"])
def test_numbers_and_dates_in_bins_are_compared_by_the_count_of_a_bin(dates, edges, missing):
    bins = [date(2020, 1, 1) + timedelta(edge) if dates else edge for edge in edges]
    kept = {"space": "date" if dates else "interval", "low": bins[0], "high": bins[-1], "bins": bins, **missing}
    draft = {"privacy": {"epsilon": "3", "spread": "auto"}, "columns": {"kept": kept, "sex": COLUMNS["sex"]}}
    told = dp.compare_ways(draft, rows=5000)
    counts = [one for one in told["answers"] if one["what"] == "count"]
    assert refused(told) == {} and [one["column"] for one in counts] == ["kept", "sex"]
    assert all(width is not None for one in counts for width in one["half_width"].values())


def test_asking_keeps_the_plans_neighbours():
    draft = {"privacy": {"epsilon": "1", "neighbours": "add-remove"}, "columns": COLUMNS}
    changed = {**draft, "privacy": {"epsilon": "1"}}
    assert width(draft, None, "sex", "ask") == 3 and width(changed, None, "sex", "ask") == 3
    assert width(draft, None, "age", "ask") != width(changed, None, "age", "ask")  # the number of rows is private, too
    assert "change-one" in refused(dp.compare_ways(draft, rows=100))["local"]


def test_a_central_draft_is_told_with_its_own_tables():
    widths = [width({**CENTRAL, "release": {"tables": tables}}, None, "sex", "central") for tables in (1, 2)]
    assert widths[0] < widths[1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("question", "column", "wanted"), [("", "sex", 200), (QUESTION, "n", 300)])
def test_the_least_epsilon_gives_the_half_width_and_a_smaller_one_does_not(way, question, column, wanted):
    draft = {**LOCAL, **({"questions": [{"sql": QUESTION}]} if question else {})}
    epsilon = dp.least_epsilon(draft, rows=5000, question=question, column=column, half_width=wanted)["epsilon"][way]
    if epsilon == "0.05":
        return
    smaller = str(round(float(epsilon) * 0.9, 4))  # of two digits the next smaller one, or less
    at = [{**draft, "privacy": {"epsilon": price}} for price in (epsilon, smaller)]
    assert width(at[0], question, column, way) <= wanted < width(at[1], question, column, way)


def test_no_epsilon_is_said_and_wrong_wishes_are_refused():
    assert dp.least_epsilon(LOCAL, rows=1000, question="", column="sex", half_width="1e-9")["epsilon"]["local"] is None
    for wrong in ("0", "-1", "x"):
        with pytest.raises(dp.InputError, match="half-width"):
            dp.least_epsilon(LOCAL, rows=1000, question="", column="sex", half_width=wrong)
    with pytest.raises(dp.InputError, match="has no column"):
        dp.least_epsilon(LOCAL, rows=1000, question="", column="town", half_width=1)
    with pytest.raises(dp.InputError, match="no column"):
        dp.least_epsilon(LOCAL, rows=1000, question="SELECT x FROM data", column="n", half_width=1)
    asked = dp.least_epsilon(LOCAL, rows=1000, question=QUESTION, column="n", half_width=500)  # none of the plan's
    assert asked["epsilon"]["ask"] == "0.05"


@pytest.mark.parametrize("rows", [500, pytest.param(5, marks=pytest.mark.slow)])
def test_an_epsilon_is_found_though_the_plans_own_would_tell_nothing(rows):
    asked = "SELECT sex, avg(age) AS a FROM data GROUP BY sex"
    draft = {"privacy": {"epsilon": "0.1"}, "columns": COLUMNS, "questions": [{"sql": asked}]}
    found = dp.least_epsilon(draft, rows=rows, question=asked, column="a", half_width="5")
    assert set(found["epsilon"]) == set(WAYS) and (rows == 5 or None not in found["epsilon"].values())


CURVES = {"load": {"space": "curves", "points": 9, "low": 0, "high": 2, "terms": 3}}


def test_curves_are_told_each_way_beside_other_columns():
    """± of curves has a standard error at each point, and no count."""
    sex = {"sex": COLUMNS["sex"]}
    central = {**CENTRAL, "columns": sex | CURVES, "release": {"tables": 1, "sums": True}}
    found = dp.compare_ways(central, rows=5000)
    curves = found["answers"][1]["half_width"]
    assert refused(found) == {} and curves["central_delta"] > 0 and curves["local"] is None
    spread = {"privacy": {"epsilon": "3", "spread": "auto"}, "columns": sex | CURVES}
    assert "'sex' is known to" in dp.compare_ways(spread, rows=100)["verdict"]


@pytest.mark.parametrize("values", [[0, 1], [1, 0], [1, 0, 2]])
def test_numbers_as_categories_are_counted_in_any_order(values):
    columns = {"flag": {"space": "categories", "values": values}, "age": COLUMNS["age"]}
    draft = {"privacy": {"model": "central", "epsilon": "1"}, "columns": columns}
    assert width(draft, None, "flag", "central") > 1


def test_a_group_for_each_of_very_many_numbers_is_refused_where_rows_have_noise() -> None:
    columns = {
        "age": {"space": "interval", "low": 0, "high": 90},
        "town": {"space": "categories", "values": ["a", "b"]},
    }
    central = {"privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"}, "columns": columns}
    asked = "SELECT age, count(*) AS n FROM data GROUP BY age"
    found = dp.compare_ways({**central, "release": {"tables": 2, "sums": True}}, rows=5000, questions=asked)
    unanswered = {way["name"]: "".join(way["unanswered"].values()) for way in found["ways"]}
    for way in ("local", "shuffled"):
        assert "groups of 'age'" in unanswered[way] and "declare `bins`" in unanswered[way]
    (answer,) = found["answers"]
    assert not unanswered["central_delta"] and answer["half_width"]["central_delta"] and answer["half_width"]["ask"]
    whole = "SELECT bin(age, 10) AS age_group, count(*) AS n FROM data GROUP BY age_group"
    assert dp.expected_answers({"privacy": {"epsilon": 1}, "columns": columns}, rows=5000, questions=whole)


def test_what_depends_on_the_data_is_not_said_to_tell_nothing() -> None:
    """± of a mean curve from rows is known once they are drawn; of 20 rows no count would be told."""
    curves = {"space": "curves", "low": 0, "high": 5, "points": 6, "terms": 3}
    asked = {
        "privacy": {"epsilon": 4},
        "columns": {"load": curves},
        "questions": [{"sql": "SELECT avg(load) FROM data"}],
    }
    assert "tell nothing" not in dp.compare_ways(asked, rows=100_000)["recommended"]["reason"]
    few = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    assert "a local release would tell nothing" in dp.compare_ways(few, rows=20)["recommended"]["reason"]
