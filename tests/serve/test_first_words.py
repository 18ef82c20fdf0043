"""What the pages say where nothing is there yet, where nothing is left to spend, and where a ± tells nothing."""

from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from markupsafe import escape

import dproof as dp
from dproof import InputError, WrongKey
from dproof.meaning import percent
from dproof.plans.reader import MisplacedKey
from dproof.serve.folder import Folder
from dproof.serve.pages import TEMPLATES
from dproof.serve.pages.asking import AskableColumn, built
from dproof.serve.pages.planning import Problem, _placed, expectation
from dproof.serve.tokens import Tokens
from tests.serve.server import make_folder, send, serving

AGE = {"space": "interval", "low": 18, "high": 90, "step": 1, "missing": 40}
SEX = {"space": "categories", "values": ["f", "m"], "missing": "category"}
DAY = {"space": "date", "low": "2022-01-01", "high": "2024-12-31", "missing": "2023-01-01"}
MEAN = "SELECT sex, avg(age) AS a FROM data GROUP BY sex"
SHARE = "SELECT 100 * proportion(sex = 'f') AS p FROM data"


def beside(told):
    """What stands beside the form of a plan."""
    shown = expectation(told)
    source = (
        '{% import "expected.html" as x with context %}{{ x.every_way(expected, shown, None, titles, costliest, {}) }}'
        "{{ x.meaning(expected) }}"
    )
    return TEMPLATES.from_string(source).render(**shown)


def draft(model, epsilon, delta="1e-6", **more):
    columns = {"age": AGE, "sex": SEX, "day": DAY}
    return {"privacy": {"model": model, "epsilon": epsilon, "delta": delta}, "columns": columns, **more}


@pytest.mark.parametrize("model", ["local", "central"])
def test_a_width_that_holds_all_that_is_possible_is_no_information(model):
    more = {"release": {"tables": 1, "sums": True}} if model == "central" else {}
    halves = {"age": 36, "sex": 50, "day": 1095 / 2}  # of the declared range; of the rows
    told = {}
    for epsilon in ("0.05", "8"):
        told = dp.compare_ways(draft(model, epsilon, **more), rows=100)
        for one in told["answers"]:
            for way, width in one["half_width"].items():
                assert one["informative"][way] == (width is None or width < halves[one["column"]]), (one, way)
    assert any(any(one["informative"].values()) for one in told["answers"])
    few = dp.compare_ways(draft(model, "0.05", **more), rows=100)
    assert not any(few["answers"][1]["informative"][way] for way in ("local", "central_delta"))
    page = beside(few)
    assert "<td>none</td>" in page and "None: no information" in page and "mean of day (days)" in beside(told)


def test_an_answer_to_a_question_is_no_information_where_its_width_holds_all_that_is_possible():
    asked = draft("local", "0.5", questions=[{"sql": MEAN}, {"sql": SHARE}])
    few, many = (dp.compare_ways(asked, rows=rows)["answers"] for rows in (100, 10**7))
    assert [one["informative"]["local"] for one in few] == [False, False]
    assert few[0]["half_width"]["local"] is None and few[1]["half_width"]["local"] > 50
    assert [one["informative"]["local"] for one in many] == [True, True]


def test_asking_is_told_for_one_question_and_for_twenty():
    page = beside(dp.compare_ways(draft("central", "1", release={"tables": 1, "sums": True}), rows=5000))
    assert "asking one question" in page and "asking 20 questions" in page and "Recommended: " in page
    assert "central δ = 1e-6 (this plan)" in page


def test_a_question_that_is_not_chosen_to_its_end_is_no_other_question():
    age = AskableColumn("age", "interval", (), "0 to 9", False, True, False)
    for chosen in ({"what": "avg"}, {"what": "avg", "number": "sex"}, {"what": "median", "by": "age"}):
        with pytest.raises(InputError, match="choose the number"):
            built([age], "data", chosen)
    for chosen in ({"where": "age"}, {"value": "5"}, {"where": "age", "value": " "}):
        with pytest.raises(InputError, match="needs both"):
            built([age], "data", {"what": "count", **chosen})
    assert built([age], "data", {"what": "avg", "number": "age"}) == "SELECT avg(age) AS avg_age FROM data"


def test_a_local_release_of_people_with_several_rows_says_what_they_have():
    told = dp.compare_ways(draft("local", "0.5"), rows=100)
    assert "for each row" not in beside(told)
    several = {"person": "name", "rows_per_person": 6}
    named = draft("local", "0.5")
    named["privacy"] |= several
    named["columns"]["name"] = {"drop": True}
    page = beside(dp.compare_ways(named, rows=100))
    assert "a person with 6 rows has ε = 3." in page
    said = dp.explain(dp.Privacy(3, "6e-6"), rows_per_person=6)  # what can be denied is what all rows leave open
    assert "For the 6 rows together that a person may have, ε is 3 and δ is 0.000006." in page
    assert escape(said["in_words"]["guess"]) in page and "the 6 rows of a person" in page
    assert "except with probability" in said["in_words"]["belief"]  # and of why both figures are true
    assert all(escape(said["in_words"][part]) in page for part in ("belief", "both"))
    half = next(one for one in said["posterior"] if one["prior"] == 0.5)
    assert f"<td>50%</td><td>{percent(half['low'])} to {percent(half['high'])}</td>" in page
    named["privacy"]["neighbours"] = "add-remove"  # which only a curator promises, and to a person
    assert "for each row" not in beside(dp.compare_ways(named, rows=100))


def test_a_mistake_is_told_beside_its_field():
    plan = {"columns": {"age": {}, "sex": {}}}

    def placed(*path, text="must be more"):
        return _placed(WrongKey("plan", MisplacedKey(path, text)), plan)

    told = placed("columns", "sex", text="has nothing")
    assert told == Problem("columns", "column-1", "kind", "has nothing", "sex")
    assert placed("columns", "age", "low") == Problem("columns", "column-0", "low", "“Low” must be more", "age")
    told = placed("questions", "2", "sql", text="is wrong: no SQL")
    assert told == Problem("questions", "question-1", "sql", "no SQL", "question 2")
    assert placed("privacy", "epsilon") == Problem("trust", "privacy", "epsilon", "“ε” must be more")
    assert placed("file", "separator").step == "table" and placed("joint").step == "release"


def test_an_empty_folder_says_what_comes_first(tmp_path):
    folder = Folder.open(tmp_path)
    tokens = Tokens(folder.tokens)
    carla, _ = tokens.issue("carla", "custodian")
    with serving(SimpleNamespace(folder=folder, tokens=tokens, root=tmp_path)) as made:
        shown = send(made, "GET", "/custody", token=carla).raw.decode()
        assert "There is no table yet" in shown and "Give a token</button>" not in shown
        assert "dproof token . --custodian NAME" in shown
        for name in ("people.csv", "my people.csv", ".hidden"):
            (tmp_path / "tables" / name).write_text("sex\nf\n")
        shown = send(made, "GET", "/custody", token=carla).raw.decode()
        assert (
            "has no plan yet" in shown and "The file my people.csv cannot be used" in shown and ".hidden" not in shown
        )
        home = send(made, "GET", "/", token=carla).raw.decode()
        assert "No table has a plan yet" in home and 'href="/custody"' in home
        assert "dproof token FOLDER --custodian NAME" in send(made, "GET", "/sign-in").raw.decode()
        missing = send(made, "GET", "/nowhere", token=carla)
        assert missing.status == 404 and b"There is no such page" in missing.raw


def test_a_spent_budget_is_told_before_a_question_is_refused(tmp_path):
    with serving(make_folder(tmp_path)) as made:
        sql = "SELECT count(*) AS n FROM data WHERE sex = 'f'"

        def at_page(do, epsilon):
            body = urlencode({"sql": sql, "epsilon": epsilon, "delta": "0", "accuracy": "", "do": do}).encode()
            return send(made, "POST", "/tables/people", body, made.ann).raw.decode()

        assert "more than is left" in at_page("preview", "1.5") and "more than is left" not in at_page("preview", "1")
        assert "<h2>Answer</h2>" in at_page("ask", "1")
        again = at_page("preview", "1")
        assert "Free" in again and "How good the answer would be" not in again
        assert "Nothing is left to spend on this table" in send(made, "GET", "/", token=made.ann).raw.decode()
        assert (
            "Nothing is left" not in send(made, "GET", "/custody", token=made.carla).raw.decode()
        )  # bob has his share


def test_behind_a_proxy_the_address_that_is_handed_out_has_tls(tmp_path):
    body = urlencode({"name": "dan", "tables": "people", "epsilon": "0.1", "delta": "0", "days": "9"}).encode()
    for is_secure, scheme in ((False, "http"), (True, "https")):
        (tmp_path / scheme).mkdir()
        made = make_folder(tmp_path / scheme)
        with serving(made, secure=is_secure, names=["data.example.org"]):
            told = send(made, "POST", "/custody", body, made.carla, Host="data.example.org").raw.decode()
        assert f"The address to go with it: {scheme}://data.example.org<" in told
