"""`dproof compose`."""

import json

import pytest

import dproof as dp

LAW = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]


def composed(dproof, *arguments):
    code, _, err = ran = dproof("compose", *arguments, "--json")
    assert (code, err) == (0, ""), err
    return ran.json


def test_every_rule_that_applies_is_told(dproof):
    answer = composed(dproof, "100x0.1", "--delta", "1e-5")
    figures = [(row["rule"], row["tight"], round(row["epsilon"], 4)) for row in answer["rules"]]
    assert figures == [("basic", False, 10), ("advanced", False, 5.8502), ("optimal", True, 4.3068)]
    assert (answer["parts"], answer["rule"], answer["tight"], answer["delta"]) == (100, "optimal", True, 1e-5)
    assert answer["epsilon"] == dp.compose([dp.Privacy("0.1")] * 100).epsilon("1e-5")
    assert answer["group"] is None and answer["change_one"] is None


def test_different_guarantees_have_no_advanced_rule_and_delta_defaults_to_the_sum(dproof):
    answer = composed(dproof, "2x0.1,1e-6", "0.3")
    assert [row["rule"] for row in answer["rules"]] == ["basic", "optimal"]
    assert answer["delta"] == 2e-6 and answer["rules"][0]["epsilon"] == 0.5
    assert composed(dproof, "1", "2")["rules"][0]["tight"]  # sums are attained at δ = 0


def test_delta_at_epsilon(dproof):
    answer = composed(dproof, "10x0.1", "--epsilon", "0.5")
    assert answer["epsilon"] == 0.5 and answer["delta"] == pytest.approx(0.0099296269)
    assert answer["rules"][0]["delta"] == 1  # the sums say nothing there


def test_groups_and_the_other_relation_follow_from_the_best_rule(dproof):
    answer = composed(dproof, "0.4,0.01", "--neighbours", "add-remove", "--rows", "2")
    two = dp.Privacy("0.4", "0.01").for_group(2)
    assert answer["group"]["rows"] == 2 and answer["group"]["tight"]
    for followed in (answer["group"], answer["change_one"]):
        assert followed["epsilon"] == pytest.approx(0.8) and followed["delta"] == pytest.approx(float(two.delta))
    many = composed(dproof, "5x0.4,0.001", "--rows", "2")
    assert not many["group"]["tight"] and many["group"]["epsilon"] == pytest.approx(2 * many["epsilon"])


def test_laws_are_composed_exactly(dproof, tmp_path):
    (tmp_path / "law.json").write_text(json.dumps(LAW))
    answer = composed(dproof, f"2x{tmp_path / 'law.json'}", "--epsilon", "0.1")
    assert [(row["rule"], row["tight"]) for row in answer["rules"]] == [("privacy loss", True)]
    assert answer["delta"] == pytest.approx(0.6231726531)
    (tmp_path / "2xlaw.json").write_text(json.dumps(LAW))  # a file of that name is one file
    assert composed(dproof, tmp_path / "2xlaw.json", "--epsilon", "0.1")["parts"] == 1


def test_no_epsilon_at_all_is_infinite(dproof):
    assert composed(dproof, "1,0.1", "--delta", "0")["epsilon"] == "inf"
    code, out, _ = dproof("compose", "1,0.1", "--delta", "0", "--rows", "3")
    assert code == 0 and "inf" in out and "together" not in out


def test_the_page_says_the_same(dproof):
    code, out, err = dproof("compose", "10x0.1,1e-6", "--delta", "1e-4", "--rows", "3", "--neighbours", "add-remove")
    assert (code, err) == (0, "")
    for words in ("10 guarantees", "add-remove", "optimal", "tight", "an upper bound", "3 rows together", "change-one"):
        assert words in out


def test_too_many_for_the_optimal_rule_keep_the_others(dproof):
    code, out, err = dproof("compose", "30000x0.001,1e-12", "--delta", "1e-6", "--json")
    assert code == 0 and [row["rule"] for row in json.loads(out)["rules"]] == ["basic", "advanced"]
    assert "optimal rule is left out" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a"], "neither ε, nor ε,δ"),
        (["1,2,3"], "more than two numbers"),
        (["1,2"], "delta must lie between 0 and 1"),
        (["-1x2"], "neither"),
        (["0x1"], "stands for 0 parts"),
        (["999999x1"], "stands for 999,999 parts"),
        (["60000x1", "60000x2"], "at most 100,000 parts"),
        (["1", "--epsilon", "1", "--delta", "0"], "the other one is the answer"),
        (["1", "--delta", "2"], "delta"),
        (["1", "--epsilon", "nan"], "epsilon"),
        (["1", "--neighbours", "near"], "neighbours"),
        (["nowhere.csv"], "nowhere.csv"),
    ],
)
def test_what_cannot_be_composed_is_refused(refused, arguments, told):
    assert told in refused("compose", *(["--"] if arguments[0][0] == "-" else []), *arguments)


def test_a_law_and_a_guarantee_are_not_mixed(refused, tmp_path):
    (tmp_path / "law.json").write_text(json.dumps(LAW))
    assert "by their laws" in refused("compose", tmp_path / "law.json", "1")
