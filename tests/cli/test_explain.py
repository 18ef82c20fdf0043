"""`dproof explain`."""

import pytest


def explained(dproof, *arguments):
    code, out, err = ran = dproof("explain", *arguments, "--json")
    assert (code, err) == (0, ""), err
    assert out
    return ran.json


@pytest.mark.parametrize(
    ("epsilon", "delta", "change"),
    [("0.1", "0", 499.58), ("0.69314718056", "0", 3333.33), ("1", "0", 4621.17), ("1", "0.05", 4890.11)],
)
def test_the_sheets_expected_utility(dproof, epsilon, delta, change):
    answer = explained(dproof, "--epsilon", epsilon, "--delta", delta)
    assert answer["utility"]["stake"] == 10_000
    assert round(answer["utility"]["change"], 2) == change


def test_the_two_relations(dproof):
    answer = explained(dproof, "--epsilon", "0.4", "--delta", "0.01", "--neighbours", "add-remove")
    assert answer["neighbours"] == "add-remove"
    changed = answer["add_remove_read_as_change_one"]
    assert changed["epsilon"] == 0.8
    assert round(changed["delta"], 10) == 0.0249182470


def test_the_json_is_complete(dproof):
    answer = explained(dproof, "--epsilon", "1")
    assert answer["odds_factor"] == pytest.approx(2.718281828459045, abs=1e-12)
    assert answer["odds_factor_fails_with_probability"] == 0
    assert answer["attack_accuracy"] == pytest.approx(0.7310585786, abs=1e-9)
    assert [row["prior"] for row in answer["posterior"]] == [0.001, 0.01, 0.1, 0.5, 0.9]
    assert answer["posterior"][3]["high"] == answer["attack_accuracy"]
    assert answer["event"][2]["high"] == pytest.approx(0.2718281828, abs=1e-9)
    assert [(g["size"], g["epsilon"], g["delta"]) for g in answer["group"]] == [(2, 2, 0), (5, 5, 0), (10, 10, 0)]
    assert answer["advice"] == []


def test_the_page_says_the_same(dproof):
    code, out, err = dproof("explain", "--epsilon", "1", "--stake", "500")
    assert (code, err) == (0, "")
    for words in ("ε = 1, δ = 0, change-one", "2.71828", "73.1%", "231.06", "of the same, public size"):
        assert words in out
    assert "Take care" not in out


def test_weak_promises_are_named(dproof):
    code, out, _ = dproof("explain", "--epsilon", "6", "--delta", "0.001")
    assert code == 0
    assert out.count("Take care") == 2


@pytest.mark.parametrize("epsilon", ["0", "1000", "1/3", "1e-300"])
@pytest.mark.parametrize("delta", ["0", "1", "1e-300"])
@pytest.mark.parametrize("stake", ["0", "1e350"])
def test_every_legitimate_figure_is_explained(dproof, epsilon, delta, stake):
    assert dproof("explain", "--epsilon", epsilon, "--delta", delta, "--stake", stake).code == 0
    answer = explained(dproof, "--epsilon", epsilon, "--delta", delta, "--stake", stake)
    for row in (*answer["posterior"], *answer["event"]):
        assert 0 <= row["low"] <= row.get("prior", row.get("probability")) <= row["high"] <= 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--epsilon", "nan"], "epsilon must be a finite number"),
        (["--epsilon", "-1"], "epsilon must lie between 0 and 1000"),
        (["--epsilon", "1e999"], "epsilon must be a finite number"),
        (["--epsilon", "1", "--delta", "1.1"], "delta must lie between 0 and 1"),
        (["--epsilon", "1", "--neighbours", "changeone"], "did you mean 'change-one'?"),
        (["--epsilon", "1", "--stake", "-1"], "cannot be negative"),
    ],
)
def test_other_figures_are_refused(refused, arguments, words):
    assert words in refused("explain", *arguments)
