"""`dproof design`."""

import json
from fractions import Fraction

import pytest

LEVELS = 'space = "categories"\nvalues = ["low", "middle", "high"]\nmetric = "ordinal"\n'


@pytest.fixture
def space(tmp_path):
    def write(text, name="space.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_json(dproof, space):
    ran = dproof("design", "--space", space(LEVELS), "--epsilon", "1", "--json")
    assert (ran.code, ran.err) == (0, "")
    answer = ran.json
    assert answer["error"] == pytest.approx(0.6050292190, abs=1e-8)
    assert 0 <= answer["error"] - answer["lower_bound"] <= 1e-6 * answer["error"]
    assert answer["gap"] < 1e-6
    assert answer["inputs"] == answer["outputs"] == ["low", "middle", "high"]
    assert [sum(row) for row in answer["matrix"]] == pytest.approx([1, 1, 1])
    rows = [[Fraction(int(w), int(answer["law"]["total"])) for w in row] for row in answer["law"]["rows"]]
    assert all(sum(row) == 1 for row in rows)


def test_delta_loss_outputs_and_prior(dproof, space, tmp_path):
    def error(*options):
        ran = dproof("design", "--space", space(LEVELS), "--epsilon", "1", "--json", *options)
        assert ran.code == 0, ran.err
        return ran.json["error"]

    plain = error()
    assert error("--delta", "0.1") == pytest.approx(2 * 0.2722631486, abs=1e-8)
    assert error("--prior", "0.6,0.2,0.2") < plain
    losses = tmp_path / "losses.csv"
    losses.write_text("0,1,4\n1,0,1\n4,1,0\n", encoding="utf-8")
    assert error("--loss", losses) == error("--loss", "squared") > plain
    wider = space('space = "categories"\nvalues = ["low", "middle", "high", "top"]\nmetric = "ordinal"\n', "wider.toml")
    assert error("--outputs", wider) == pytest.approx(plain, abs=1e-7), "outputs beyond the end do not help"


def test_numbers_and_sets(dproof, space):
    interval = space('[columns.age]\nspace = "interval"\nlow = 0\nhigh = 4\nstep = 1\n')
    ran = dproof("design", "--space", interval, "--epsilon", "0.5", "--metric-privacy", "--json")
    assert ran.json["error"] == pytest.approx(1.0089771422, abs=1e-7)
    ran = dproof("design", "--space", interval, "--epsilon", "2", "--unbiased", "--json")
    assert ran.json["loss"] == "squared" and min(ran.json["outputs"]) < 0 and max(ran.json["outputs"]) > 4
    sets = space('space = "subsets"\nvalues = ["a", "b", "c"]\n', "sets.toml")
    ran = dproof("design", "--space", sets, "--epsilon", "0.5", "--json")
    assert ran.json["error"] == pytest.approx(1.3163110, abs=1e-7)
    assert ran.json["inputs"][5] == ["a", "c"]
    assert "cannot be estimated" in ran.err, "advice goes to stderr"


def test_the_law_can_be_certified_and_drawn(dproof, space, tmp_path):
    law, picture = tmp_path / "law.csv", tmp_path / "law.svg"
    ran = dproof("design", "--space", space(LEVELS), "--epsilon", "1", "--law", law, "--picture", picture)
    assert ran.code == 0 and "no mechanism can beat" in ran.out and "middle" in ran.out
    assert dproof("certify", law, "--epsilon", "1").code == 0
    assert dproof("certify", law, "--epsilon", "0.99").code == 1
    assert picture.read_text(encoding="utf-8").startswith("<svg")


def test_mistakes(refused, space, tmp_path):
    assert "did you mean 'ordinal'" in refused(
        "design", "--space", space(LEVELS.replace("ordinal", "ordinl")), "--epsilon", "1"
    )
    assert "high is missing" in refused("design", "--space", space('space = "interval"\nlow = 0\n'), "--epsilon", "1")
    assert "coarser step" in refused(
        "design", "--space", space('space = "interval"\nlow = 0\nhigh = 1\n'), "--epsilon", "1"
    )
    assert "no file 'squard'" in refused("design", "--space", space(LEVELS), "--epsilon", "1", "--loss", "squard")
    assert "TOML" in refused("design", "--space", space("space ="), "--epsilon", "1")
    assert "No such file" in refused("design", "--space", tmp_path / "none.toml", "--epsilon", "1")
    assert "epsilon" in refused("design", "--space", space(LEVELS), "--epsilon", "-1")
    assert "not a known key" in refused("design", "--space", space(LEVELS + "oops = 1\n"), "--epsilon", "1")
    two = space('[columns.a]\nspace = "interval"\n[columns.b]\nspace = "interval"\n')
    assert "one space" in refused("design", "--space", two, "--epsilon", "1")


@pytest.mark.parametrize(("epsilon", "delta", "error"), [("0", "0", 1), ("1", "1", 0)])
def test_silly_requests_are_answered(dproof, space, epsilon, delta, error):
    ran = dproof("design", "--space", space(LEVELS), "--epsilon", epsilon, "--delta", delta, "--json")
    assert ran.code == 0 and json.loads(ran.out)["error"] == pytest.approx(error)


def test_one_value_is_released_as_it_is(dproof, space):
    ran = dproof("design", "--space", space('space = "categories"\nvalues = ["only"]\n'), "--epsilon", "1", "--json")
    assert (ran.json["error"], ran.json["matrix"]) == (0, [[1.0]])
