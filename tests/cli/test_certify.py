"""`dproof certify`: the verdict, the tight values, the witness, and exit codes."""

import json
import math

import pytest

import dproof as dp

# The 2016 paper's five hobbies: keep 6/10, each other 1/10.
HOBBIES = ["Sports", "Cars", "Television", "Computer games", "Reading"]
FIVE = "," + ",".join(HOBBIES) + "\n"
FIVE += "".join(f"{h}," + ",".join("0.6" if h == g else "0.1" for g in HOBBIES) + "\n" for h in HOBBIES)


@pytest.fixture
def law(tmp_path):
    def write(content, name="law.csv"):
        path = tmp_path / name
        path.write_text(content)
        return path

    return write


def test_private(dproof, law):
    ran = dproof("certify", law(FIVE), "--epsilon", "1.8", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["private"] is True
    assert ran.json["delta"] == 0
    assert ran.json["epsilon"] == pytest.approx(math.log(6), abs=1e-12)
    assert ran.json["epsilon"] >= math.log(6)
    witness = ran.json["witness"]
    assert witness["set"] == [witness["from"]] and witness["to"] != witness["from"]
    assert (witness["probability_from"], witness["probability_to"]) == (0.6, 0.1)


def test_not_private(dproof, law):
    ran = dproof("certify", law(FIVE), "--epsilon", "1", "--delta", "0.1", "--json")
    assert (ran.code, ran.err) == (1, "")
    assert ran.json["private"] is False
    assert ran.json["delta"] == pytest.approx(0.6 - math.e / 10, abs=1e-12)
    assert ran.json["epsilon"] == pytest.approx(math.log(5), abs=1e-12)
    assert ran.json["witness"]["set"] == [ran.json["witness"]["from"]]
    assert ran.json["promised"] == {"epsilon": 1, "delta": 0.1}


def test_the_witness_shows_what_it_shows(dproof, law):
    """Recompute the tight δ from the witness alone, on a law whose worst set has more than one output."""
    rows = [[0.3, 0.3, 0.3, 0.1], [0.05, 0.05, 0.5, 0.4], [0.25, 0.25, 0.25, 0.25]]
    found = dproof("certify", law(json.dumps(rows), "law.json"), "--epsilon", "0.5", "--json").json
    witness = found["witness"]
    p, q = (sum(rows[witness[side]][y] for y in witness["set"]) for side in ("from", "to"))
    assert len(witness["set"]) == 2
    assert p - math.exp(0.5) * q == pytest.approx(found["delta"], abs=1e-12)
    assert (witness["probability_from"], witness["probability_to"]) == pytest.approx((p, q))


def test_an_infinite_epsilon_is_valid_json(dproof, law):
    ran = dproof("certify", law("1,0\n0.5,0.5\n"), "--epsilon", "1", "--json")
    assert ran.json["epsilon"] == "inf"
    assert ran.json["witness"]["set"] == [1]
    assert "infinite" in dproof("certify", law("1,0\n0.5,0.5\n"), "--epsilon", "1").out


def test_the_boundary_is_exact(dproof, law):
    """At δ = 1/2 exactly the identity on two values mixed half with noise is (0, 1/2)-private, and no better."""
    path = law("3/4,1/4\n1/4,3/4\n")
    assert dproof("certify", path, "--epsilon", "0", "--delta", "0.5").code == 0
    assert dproof("certify", path, "--epsilon", "0", "--delta", "0.4999999999999999999999").code == 1
    assert dproof("certify", law("1,0\n0,1\n"), "--epsilon", "0", "--delta", "1").code == 0


def test_equal_rows_and_a_single_input(dproof, law):
    assert dproof("certify", law("0.5,0.5\n0.5,0.5\n"), "--epsilon", "0", "--json").json["epsilon"] == 0
    alone = dproof("certify", law("a,b\n0.5,0.5\n"), "--epsilon", "0", "--json")
    assert (alone.code, alone.json["witness"]) == (0, None)


def test_more_outputs_than_inputs(dproof, law):
    ran = dproof("certify", law("a,b,c\n.5,.3,.2\n.2,.3,.5\n"), "--epsilon", "1", "--json")
    assert (ran.code, ran.json["inputs"], ran.json["outputs"]) == (0, 2, 3)


def test_the_page(dproof, law):
    ran = dproof("certify", law(FIVE), "--epsilon", "1")
    assert (ran.code, ran.err) == (1, "")
    for words in ("not private", "5 inputs by 5 outputs", "1.791759469", "0.3281718172", "change-one"):
        assert words in ran.out
    assert "is private" in dproof("certify", law(FIVE), "--epsilon", "2").out


def test_labels_are_text_and_never_markup(dproof, law):
    assert "from [bold]" in dproof("certify", law(",x,y\n[bold],1,0\n[red],0,1\n"), "--epsilon", "1").out


def test_the_certificate_is_written_only_if_it_holds(dproof, law, tmp_path):
    file = tmp_path / "certificate.json"
    assert dproof("certify", law(FIVE), "--epsilon", "1", "--certificate", file).code == 1
    assert not file.exists()
    ran = dproof("certify", law(FIVE), "--epsilon", "2", "--certificate", file, "--json")
    assert ran.code == 0 and ran.json["private"] and "certificate" in ran.err
    kept = json.loads(file.read_text())
    assert kept["format"] == "dproof certificate"
    assert kept["laws"][0]["law"]["rows"][0] == ["6", "1", "1", "1", "1"]


def test_the_command_agrees_with_the_library(dproof, law):
    hobbies = dp.Categories(HOBBIES)
    m = dp.solution_matrix(hobbies, [[0.6 if h == g else 0.1 for g in HOBBIES] for h in HOBBIES])
    found = dproof("certify", law(FIVE), "--epsilon", "0.7", "--delta", "0.2", "--json").json
    assert (found["delta"], found["epsilon"]) == (m.delta("0.7"), m.epsilon("0.2"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("0.5,0.5\n0.5,0.4\n", "law.csv: row 2"),
        ("1,1\n1,1\n", "sums to 2"),
        ("0,0\n0,0\n", "sums to 0"),
        ("", "law.csv: the file is empty"),
        ("0.5,x\n", "line 1, column 2: 'x'"),
    ],
)
def test_bad_files(refused, law, content, words):
    assert words in refused("certify", law(content), "--epsilon", "1")


def test_files_that_are_no_files(refused, tmp_path):
    assert "No such file" in refused("certify", tmp_path / "nothing.csv", "--epsilon", "1")
    assert "Is a directory" in refused("certify", tmp_path, "--epsilon", "1")


def test_a_certificate_that_cannot_be_written(dproof, law, tmp_path):
    ran = dproof("certify", law(FIVE), "--epsilon", "2", "--certificate", tmp_path / "no" / "where.json")
    assert ran.code == 2 and "No such file" in ran.err and ran.err.count("\n") == 1


def test_bad_figures(refused, law):
    assert "epsilon must" in refused("certify", law(FIVE), "--epsilon", "-0.1")
    assert "delta must" in refused("certify", law(FIVE), "--epsilon", "1", "--delta", "2")
