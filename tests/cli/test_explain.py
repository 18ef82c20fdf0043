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


COLUMNS = '[columns.id]\ndrop = true\n[columns.hobby]\nspace = "categories"\nvalues = ["a", "b", "c"]\n'
PERSONS = 'person = "id"\nrows_per_person = 3\n'


PUBLIC = "two tables of the same, public size that differ in one person's {}"
SHUFFLED = 'model = "shuffled"\ndelta = "1e-6"\n[shuffle]\nrows = 3000\n'


@pytest.mark.parametrize(
    ("privacy", "words"),
    [
        ('model = "central"\n', ("A release by", PUBLIC.format("row."))),
        (
            f'model = "central"\n{PERSONS}',
            (
                "two tables that differ in one person's rows, 3 at most, which may be others, fewer or none",
                "of your rows move",
            ),
        ),
        (
            f'neighbours = "add-remove"\n{PERSONS}',
            ("All that is asked under", "a table with one person's rows, 3 at most, and the same table without them"),
        ),
        ("rows_per_person = 3\n", ("ε = 3, δ = 0", PUBLIC.format("rows, 3 at most."))),
        (SHUFFLED, ("ε = 1, δ = 0.000001 allow. Whatever happens to that order, each row has: ε = 4.3, δ = 0",)),
    ],
)
def test_a_plan_is_told_for_those_whom_it_promises_something(dproof, tmp_path, privacy, words):
    """A promise for shuffled rows does not hold whatever else somebody knows, and with persons no number is public."""
    plan = tmp_path / "plan.toml"
    plan.write_text(f"[privacy]\nepsilon = 1\n{privacy}{COLUMNS}")
    page = " ".join(dproof("explain", plan).out.split())
    for told in words:
        assert told in page


def test_the_certificate_of_a_release_is_told_for_all_rows_of_a_person(dproof, tmp_path):
    (tmp_path / "plan.toml").write_text(f"[privacy]\nepsilon = 1\nrows_per_person = 3\n{COLUMNS}")
    (tmp_path / "table.csv").write_text("id,hobby\n" + "1,a\n2,b\n" * 200)
    made = (
        "sanitise",
        tmp_path / "table.csv",
        "--plan",
        tmp_path / "plan.toml",
        "--out",
        tmp_path / "out",
        "--no-ledger",
    )
    assert dproof(*made).code == 0
    folder, certificate = (explained(dproof, tmp_path / "out" / name) for name in ("", "certificate.json"))
    assert folder["epsilon"] == certificate["epsilon"] == 3
    assert folder["attack_accuracy"] == certificate["attack_accuracy"]
