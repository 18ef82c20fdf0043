"""A plan, step by step, as a browser without a script does it: from a table nobody has looked at to a release."""

import json
import random
import re
import shutil
import time
import tomllib
from urllib.parse import urlencode

import pytest

import dproof as dp
from dproof import Privacy
from dproof.serve import custody
from dproof.serve.desk import give_budgets
from tests.serve.server import make_folder, send, serving
from tests.serve.test_pages import PLAN, column, fields_of, post

NEXT = {"columns": "trust", "trust": "questions", "questions": "gives", "gives": "release"}


def survey(rows=300):
    """A table as people have it: 16 columns of 0 and 1 with NA, 125,483, 31.12.2024 and a number of a respondent."""
    chosen = random.Random(5)
    lines = ["resp_id," + ",".join(f"q{n}" for n in range(1, 17)) + ",age,income,town,when"]
    for number in range(rows):
        ticks = ",".join(chosen.choice(["0", "1", "1", "NA"]) for _ in range(16))
        money, day = f'"{chosen.randint(10_000, 200_000):,}"', f"{chosen.randint(1, 28)}.{chosen.randint(1, 12)}.2023"
        lines.append(f"{number},{ticks},{chosen.randint(18, 90)},{money},{chosen.choice(['Bonn', 'Köln'])},{day}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    made = make_folder(tmp_path_factory.mktemp("served"))
    for name in ("survey", "fresh", "spare", "given"):
        shutil.copy(made.root / "tables" / "people.csv", made.root / "tables" / f"{name}.csv")
    (made.root / "tables" / "wide.csv").write_text(survey())
    (made.root / "plans" / "survey.toml").write_text(PLAN)
    with serving(made) as made:
        yield made


def at(made, name, step, do, **more):
    """The answer to a step that is sent as it was shown, with some fields changed."""
    path = f"/plans/{name}" if step == "table" else f"/plans/{name}/{step}"
    return post(made, path, fields_of(made, path, made.carla), made.carla, do, **more)


def test_a_survey_is_planned_by_the_names_of_its_questions_alone(made):
    """A table without a row will do; what a survey shows is typed beside a column, and kept."""
    (made.root / "tables" / "asked.csv").write_text("smokes,age\n")
    assert at(made, "asked", "table", "begin").status == 303
    path, columns = (
        "/plans/asked/columns",
        {
            "smokes": {
                "kind": "categories",
                "values": "never\ndaily",
                "question": "Do you smoke?",
                "help": "Cigarettes.",
            },
            "age": {"kind": "interval", "low": "0", "high": "99"},
        },
    )
    for name, typed in columns.items():
        post(made, path, column(fields_of(made, path, made.carla), name, **typed), made.carla, "look")
    at(made, "asked", "trust", "look", epsilon="2", model="local", delta="0", row_count="1000")
    told = at(made, "asked", "release", "save").raw.decode()
    assert "dproof collect plans/asked.toml --out surveys/asked --send https://SERVER/collect/asked" in told
    survey = dp.collect(made.root / "plans" / "asked.toml", made.root / "surveys" / "asked")
    assert [(one.question, one.help) for one in survey.law.plan.columns] == [("Do you smoke?", "Cigarettes."), ("", "")]
    at(made, "asked", "trust", "look", model="central", delta="1e-6")
    assert "dproof collect" not in at(made, "asked", "release", "save").raw.decode()


def test_a_saved_plan_fills_the_steps_and_is_saved_again_as_it_is(made):
    fields = fields_of(made, "/plans/survey/columns", made.carla)
    assert ("values", "f\nm") in fields and ("stand_in", "40") in fields
    assert ("epsilon", "2") in fields_of(made, "/plans/survey/trust", made.carla)
    for step, after in NEXT.items():
        told = at(made, "survey", step, "next")
        assert told.status == 303 and told.headers["location"] == f"/plans/survey/{after}", told.raw[-2000:]
    assert b"The plan is saved, and has no mistakes" in send(made, "GET", "/plans/survey/release", token=made.carla).raw
    assert tomllib.loads((made.root / "plans" / "survey.toml").read_text()) == tomllib.loads(PLAN)
    assert at(made, "survey", "trust", "look", epsilon="3").status == 200
    assert b"It is not saved yet" in send(made, "GET", "/plans/survey/release", token=made.carla).raw
    assert b"Saved as plans/survey.toml" in send(made, "POST", "/plans/survey/release", b"do=save", made.carla).raw
    saved, before = tomllib.loads((made.root / "plans" / "survey.toml").read_text()), tomllib.loads(PLAN)
    before["privacy"]["epsilon"] = "3"
    assert saved == before


def test_every_way_is_told_with_what_would_help_and_the_epsilon_of_a_half_width(made):
    page = at(made, "survey", "gives", "look", row_count="5000").raw.decode()
    for words in ("about 5,000 rows", "local (this plan)", "asking one question", "Recommended:", "can deny", "<rect"):
        assert words in page, words
    assert "style=" not in page  # which the policy forbids
    wanted = {"half_width": "100", "target": json.dumps(["SELECT sex, count(*) AS n FROM data GROUP BY sex", "n"])}
    page = at(made, "survey", "gives", "epsilon", **wanted).raw.decode()
    assert "The least ε that gives it" in page and 'name="take"' in page
    assert "the half-width" in at(made, "survey", "gives", "epsilon", **{**wanted, "half_width": "x"}).raw.decode()


def test_all_mistakes_are_told_beside_their_fields_at_once(made):
    begun = at(made, "fresh", "table", "begin")
    assert begun.status == 303 and not (made.root / "plans" / "fresh.toml").exists()
    fields = fields_of(made, "/plans/fresh/columns", made.carla)
    fields = column(fields, "sex", kind="categories", values="1 = f\n2 = m")
    assert "look like a code book" in post(made, "/plans/fresh/columns", fields, made.carla, "look").raw.decode()
    fields = column(column(fields, "sex", values=""), "age", kind="interval", low="18", high="ninety")
    refused = post(made, "/plans/fresh/columns", fields, made.carla, "next")
    page = refused.raw.decode()
    assert refused.status == 400
    assert 'id="error-column-1" class="error" data-part data-key="high">“High” must be a number' in page
    assert 'id="error-column-0" class="error" data-part data-key="values">“Values” is empty' in page
    wrong = at(made, "fresh", "trust", "next", epsilon="none", row_count="0").raw.decode()
    assert 'data-key="epsilon">“ε” must be a number' in wrong and 'data-key="row_count">say about how many' in wrong
    listed = send(made, "GET", "/plans/fresh/release", token=made.carla).raw.decode()
    assert "4 to do before the plan can be saved" in listed and "Sanitise" not in listed
    assert send(made, "POST", "/plans/fresh/sanitise", b"release=x&sure=", made.carla).status == 400
    fields = column(column(fields, "sex", values="f\nm"), "age", high="90")
    assert post(made, "/plans/fresh/columns", fields, made.carla, "next").status == 303
    assert at(made, "fresh", "trust", "next", epsilon="1", row_count="500").status == 303
    asked = [("sql", "SELECT nothing FROM data"), ("share", ""), ("sql", "SELECT never FROM data"), ("share", "")]
    page = post(made, "/plans/fresh/questions", asked, made.carla, "look", measured_tables="2").raw.decode()
    assert "no column &#39;nothing&#39;" in page and "no column &#39;never&#39;" in page
    share = [("sql", "SELECT avg(age) AS a FROM data WHERE sex = 'f'"), ("share", "0.05")]
    told = post(made, "/plans/fresh/questions", share, made.carla, "next", measured_tables="2", measured_sums="true")
    assert told.status == 303
    assert "is about 5% of the rows" in send(made, "GET", "/plans/fresh/gives", token=made.carla).raw.decode()
    assert send(made, "POST", "/plans/fresh/check", b"", made.carla).status == 200  # which saves it first
    assert "share_of_rows" in (made.root / "plans" / "fresh.toml").read_text()


def test_a_survey_of_21_columns_takes_seven_presses_and_nothing_is_spent_before_the_last(made):
    presses = 0

    def pressed(told, status=303):
        nonlocal presses
        presses += 1
        assert told.status == status, told.raw[-3000:]
        return told

    pressed(at(made, "wide", "table", "fill"))
    page = send(made, "GET", "/plans/wide/columns", token=made.carla).raw.decode()
    assert "categories: 0, 1, NA" in page and "number: 0 to 200000" in page and "date: 2023-01-01" in page
    assert "left out" in page and 'value="%d.%m.%Y"' in page and "from the table" in page
    assert at(made, "wide", "columns", "next").status == 400  # what comes from the table is read through first
    pressed(at(made, "wide", "columns", "next", read_through="true"))
    for step in ("trust", "questions", "gives"):
        pressed(at(made, "wide", step, "next"))
    plan = json.loads((made.root / "drafts" / "wide.json").read_text())["plan"]
    assert plan["file"] == {"thousands": ","} and "wide.toml" not in {p.name for p in (made.root / "plans").iterdir()}
    asked = pressed(send(made, "POST", "/plans/wide/sanitise", b"release=wide", made.carla), 200).raw.decode()
    assert (
        "It spends ε = 1, δ = 0.000001" in asked and "Nothing is spent on it yet." in asked and 'name="sure"' in asked
    )
    assert not made.folder.ledger("wide").exists() and not (made.root / "releases" / "wide").exists()
    found = dp.check(made.root / "tables" / "wide.csv", made.root / "plans" / "wide.toml")
    assert found.problems == () and not [hint for hint in found.hints if "stop" in hint]
    job = pressed(send(made, "POST", "/plans/wide/sanitise", b"release=wide&sure=yes", made.carla))
    assert presses == 7
    for _ in range(600):
        told = send(made, "GET", job.headers["location"], token=made.carla).raw
        if b"data-again" not in told:
            break
        time.sleep(0.1)
    assert b"The release is made" in told, told
    after = send(made, "GET", "/plans/wide/columns", token=made.carla).raw.decode()
    assert "Something was paid for this table" in after and '<fieldset class="plain" disabled>' in after
    for step, do in (("columns", "look"), ("trust", "look"), ("release", "text"), ("table", "fill")):
        assert at(made, "wide", step, do, text="x = 1").status == 400, step
    assert send(made, "POST", "/plans/wide/remove", b"sure=yes", made.carla).status == 400
    assert send(made, "PUT", "/api/files/wide.csv?replace=true", b"a\n1\n", made.carla).status == 400
    assert (made.root / "tables" / "wide.csv").read_text() == survey()
    script = send(made, "GET", "/plans/wide/commands.sh", token=made.carla).raw.decode()
    assert "dproof sanitise tables/wide.csv --plan plans/wide.toml --out releases/wide" in script
    book = json.loads(send(made, "GET", "/plans/wide/notebook.ipynb", token=made.carla).raw)
    code = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    assert "dp.ReleasePayment('ledgers/wide.db', 'releases/wide')" in code[3]
    assert tomllib.loads(send(made, "GET", "/plans/wide/plan.toml", token=made.carla).raw.decode())["columns"]["q1"]


def test_until_something_is_paid_a_plan_changes_and_a_table_is_replaced_and_removed(made):
    """A token alone once fixed the plan."""
    (made.root / "plans" / "given.toml").write_text(PLAN)
    dan, _ = give_budgets(made.folder, made.tokens, "dan", {"given": Privacy("0.5")}, 9)
    assert at(made, "given", "trust", "look", epsilon="3").status == 200
    assert b"Saved as" in send(made, "POST", "/plans/given/release", b"do=save", made.carla).raw
    ledger = dp.Ledger(made.folder.ledger("given"))
    assert ledger.budget.epsilon == 3 and ledger.analysts["dan"].epsilon == dp.Privacy("0.5").epsilon
    at(made, "given", "trust", "look", epsilon="0.1")  # less than dan has
    refused = send(made, "POST", "/plans/given/release", b"do=save", made.carla)
    assert refused.status == 400 and "dan" in refused.raw.decode()
    again = send(made, "PUT", "/api/files/given.tsv?replace=true", b"sex\tage\nf\t40\n", made.carla)
    assert again.status == 201 and [path.name for path in made.folder.files["given"]] == ["given.tsv"]
    assert send(made, "POST", "/plans/given/remove", b"", made.carla).status == 400
    assert send(made, "POST", "/plans/given/remove", b"sure=yes", made.carla).status == 303
    assert "given" not in made.folder.files and not made.folder.ledger("given").exists()
    assert send(made, "PUT", "/api/files/given.csv", b"sex,age\nm,20\n", made.carla).status == 201
    (made.root / "plans" / "given.toml").write_text(PLAN)
    refused = send(made, "GET", "/api/tables/given/budget", token=dan)  # another table: dan has no budget on it
    assert refused.status == 403 and "no budget" in refused.json["error"]


def test_a_draft_is_there_after_a_stop_and_a_plan_changed_by_hand_counts(tmp_path):
    made = make_folder(tmp_path)
    shutil.copy(tmp_path / "tables" / "people.csv", tmp_path / "tables" / "mine.csv")
    with serving(made):
        assert at(made, "mine", "table", "fill").status == 303
        at(made, "mine", "trust", "look", epsilon="0.7")
    with serving(made):
        assert ("epsilon", "0.7") in fields_of(made, "/plans/mine/trust", made.carla)
        (tmp_path / "plans" / "mine.toml").write_text(PLAN)  # by hand
        assert ("epsilon", "2") in fields_of(made, "/plans/mine/trust", made.carla)
        (tmp_path / "drafts" / "mine.json").write_bytes(b"\xff{")
        assert ("epsilon", "2") in fields_of(made, "/plans/mine/trust", made.carla)


def test_a_plan_is_written_as_text_and_a_hint_is_followed(made):
    assert at(made, "spare", "table", "fill").status == 303
    at(made, "spare", "columns", "look", read_through="true")
    page = send(made, "GET", "/plans/spare/gives", token=made.carla).raw.decode()
    helping = re.findall('name="help" value="([a-z]+)"', page)
    assert "neighbours" in helping
    body = urlencode({"row_count": "5000", "help": "neighbours"}).encode()
    assert send(made, "POST", "/plans/spare/gives", body, made.carla).status == 200
    assert ("neighbours", "add-remove") in fields_of(made, "/plans/spare/trust", made.carla)
    text = PLAN.replace("weight = 2", "weight = 3")
    assert (
        send(made, "POST", "/plans/spare/release", urlencode({"do": "text", "text": text}).encode(), made.carla).status
        == 200
    )
    assert b"weight = 3" in send(made, "GET", "/plans/spare/release", token=made.carla).raw
    wrong = send(made, "POST", "/plans/spare/release", b"do=text&text=x%20%3D", made.carla)
    assert wrong.status == 400 and b"that is no TOML" in wrong.raw


def test_shuffled_rows_can_be_trusted_and_left_again(made):
    mixed = at(made, "survey", "trust", "look", model="shuffled", delta="1e-6", row_count="5000")
    assert mixed.status == 200 and ("model", "shuffled") in fields_of(made, "/plans/survey/trust", made.carla)
    assert b"shuffled (this plan)" in send(made, "GET", "/plans/survey/gives", token=made.carla).raw
    assert at(made, "survey", "trust", "look", model="local").status == 200
    assert b"local (this plan)" in send(made, "GET", "/plans/survey/gives", token=made.carla).raw


def test_what_a_draft_gives_is_worked_out_once_for_all_pages(made, monkeypatch):
    asked = []
    for name in ("compare_ways", "expected_answers"):
        work = getattr(custody, name)
        monkeypatch.setattr(
            custody, name, lambda plan, name=name, work=work, **more: asked.append(name) or work(plan, **more)
        )
    at(made, "survey", "trust", "look", epsilon="2.5")
    asked.clear()
    for step in ("trust", "questions", "columns", "gives", "gives"):
        assert send(made, "GET", f"/plans/survey/{step}", token=made.carla).status == 200
    assert b"The least" in at(made, "survey", "gives", "epsilon", half_width="100", target='["", "sex"]').raw
    assert asked == ["compare_ways"]
    at(made, "survey", "gives", "look", row_count="700")
    assert asked == ["compare_ways"] * 2
    at(made, "survey", "trust", "look", epsilon="2")


def test_only_what_the_questions_need_is_one_press_where_it_would_help(made):
    (made.root / "tables" / "five.csv").write_text("a,b,c,d,e\n" + "x,x,x,x,x\ny,y,y,y,y\n" * 20)
    plan = {
        "privacy": {"model": "central", "epsilon": "1", "delta": "1e-6"},
        "columns": {name: {"space": "categories", "values": ["x", "y", "z"]} for name in "abcde"},
        "questions": [{"sql": "SELECT a, count(*) AS n FROM data GROUP BY a"}],
        "release": {"tables": 2},
    }
    assert send(made, "PUT", "/api/plans/five", {"plan": plan}, made.carla).status == 200
    page = send(made, "GET", "/plans/five/gives", token=made.carla).raw.decode()
    assert "if only your questions are asked" in page and 'name="help" value="questions"' in page
    assert send(made, "POST", "/plans/five/gives", b"help=questions&row_count=500", made.carla).status == 200
    kept = json.loads((made.root / "drafts" / "five.json").read_bytes())["plan"]
    dropped = [name for name, one in kept["columns"].items() if one == {"drop": True}]
    assert "release" not in kept and dropped == ["b", "c", "d", "e"]
    assert send(made, "PUT", "/api/plans/five", {"plan": {**plan, "questions": []}}, made.carla).status == 200
    told = send(made, "POST", "/plans/five/gives", b"help=questions&row_count=500", made.carla)
    assert told.status == 400 and b"write a question first" in told.raw


def test_why_a_table_cannot_be_read_is_told_once_and_marks_no_field(made):
    (made.root / "tables" / "old.csv").write_bytes("name,größe\na,1\n".encode("cp1252"))
    page = send(made, "GET", "/plans/old", token=made.carla).raw.decode()
    assert page.count("is not UTF-8 text") == 1 and '<p id="error-fault" class="error">' in page
    assert "<details open><summary>How the file is written" in page
    assert at(made, "old", "table", "look", encoding="cp1252").status == 200
    assert "2 columns: name, größe" in send(made, "GET", "/plans/old", token=made.carla).raw.decode()


@pytest.mark.parametrize(("epsilon", "rows", "spends"), [("1", 3, "ε = 3"), ("5/9", 1, "ε = 0.555556")])
def test_a_release_spends_what_its_ledger_will_count(tmp_path, epsilon, rows, spends):
    made = make_folder(tmp_path)
    shutil.copy(tmp_path / "tables" / "people.csv", tmp_path / "tables" / "rows.csv")
    plan = PLAN.replace('epsilon = "2"', f'epsilon = "{epsilon}"\nrows_per_person = {rows}')
    (tmp_path / "plans" / "rows.toml").write_text(plan)
    with serving(made) as made:
        asked = send(made, "POST", "/plans/rows/sanitise", b"release=rows", made.carla).raw.decode()
        assert f"It spends {spends}," in asked and "Nothing is spent on it yet." in asked, asked
        payment = dp.ReleasePayment(tmp_path / "ledgers" / "rows.db", "rows")
        dp.sanitise(tmp_path / "tables" / "rows.csv", dp.Plan.parse(plan), payment=payment)
        assert spends == f"ε = {float(dp.Ledger(payment.path).spent().epsilon):.6g}"
        again = send(made, "POST", "/plans/rows/sanitise", b"release=another", made.carla).raw.decode()
        assert "does not pay" in again and "does not pay" not in asked


def test_a_budget_that_was_begun_pays_for_a_release_that_costs_all_of_it(tmp_path):
    made = make_folder(tmp_path)
    shutil.copy(tmp_path / "tables" / "people.csv", tmp_path / "tables" / "rows.csv")
    for rows, pays in ((1, True), (3, False)):
        plan = PLAN.replace('epsilon = "2"', f'epsilon = "5/9"\nrows_per_person = {rows}')
        (tmp_path / "plans" / "rows.toml").write_text(plan)
        (tmp_path / "ledgers" / "rows.db").unlink(missing_ok=True)
        give_budgets(made.folder, made.tokens, f"dora {rows}", {"rows": Privacy("5/9")}, 90)
        with serving(made) as made:
            asked = send(made, "POST", "/plans/rows/sanitise", b"release=rows", made.carla).raw.decode()
        assert "Left to spend: ε = 0.555556," in asked and ("does not pay" not in asked) is pays, asked


def test_a_file_with_a_title_is_read_by_a_look_and_what_is_refused_stays_on_its_step(made):
    tables = made.root / "tables"
    (tables / "titled.csv").write_bytes("Umfrage für 2024\nname;größe\na;1,5\nb;2,5\n".encode("cp1252"))
    page = send(made, "GET", "/plans/titled", token=made.carla).raw.decode()
    assert "write cp1252 in “Encoding”, or whichever it has<" in page

    assert at(made, "titled", "table", "fill").status == 303
    fields = dict(fields_of(made, "/plans/titled", made.carla))
    assert {key: fields[key] for key in ("header", "separator", "encoding", "decimal")} == {
        "header": "2",
        "separator": ";",
        "encoding": "cp1252",
        "decimal": ",",
    }
    (tables / "ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    refused = at(made, "ragged", "table", "fill")
    told = refused.raw.decode()
    assert refused.status == 400 and "line 3 has 3 fields and the header 2" in told and "Line with the names" in told
