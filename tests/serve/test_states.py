"""Every state of a table at every page and every door of programs: a sentence, no fault, and the others go on."""

import json
import shutil
from urllib.parse import urlencode

import pytest

from dproof import Privacy
from dproof.serve.custody import check_table
from dproof.serve.desk import give_budgets
from dproof.serve.pages.planning import STEPS
from tests.serve.server import PLAN, make_folder, send, serving

ASKED = {"sql": "SELECT count(*) AS n FROM data WHERE sex = 'f'", "epsilon": "0.1"}
DRAFT = {
    "privacy": {"epsilon": "1"},
    "columns": {"sex": {"drop": True}, "age": {"space": "interval", "low": 0, "high": 9, "missing": 1}},
}
FORM = {"sql": ASKED["sql"], "epsilon": "0.1", "accuracy": "", "delta": "0"}


def remove(made):
    (made.root / "tables" / "survey.csv").unlink()


def change(made):
    (made.root / "tables" / "survey.csv").write_text("sex,age\nf,40\n")


def break_rows(made):
    (made.root / "tables" / "survey.csv").write_text("sex,age\nf,40\nm,41,a third field\n")


def damage(made):
    remove(made)
    (made.root / "tables" / "survey.parquet").write_bytes(b"PAR1" + bytes(range(256)) * 4 + b"PAR1")


def lose_link(made):
    remove(made)
    (made.root / "tables" / "survey.csv").symlink_to(made.root / "nowhere.csv")


def copy(made):
    shutil.copy(made.root / "tables" / "survey.csv", made.root / "tables" / "survey.csv~")


def unplan(made):
    (made.root / "plans" / "survey.toml").unlink()


def damage_plan(made):
    (made.root / "plans" / "survey.toml").write_bytes(b"[privacy\n\xff")


def damage_ledger(made):
    for file in (made.root / "ledgers").glob("survey.db*"):
        file.unlink()
    (made.root / "ledgers" / "survey.db").write_bytes(b"junk" * 1000)


def rename_columns(made):
    (made.root / "tables" / "survey.csv").write_text("gender,years\nf,40\n")


def leave(made):
    pass


STATES = [
    leave,
    remove,
    change,
    break_rows,
    damage,
    lose_link,
    copy,
    unplan,
    damage_plan,
    damage_ledger,
    rename_columns,
]
PROGRAMS = [  # for an analyst
    ("GET", "/api/tables", None),
    ("GET", "/api/tables/survey", None),
    ("GET", "/api/tables/survey/budget", None),
    ("GET", "/api/tables/survey/history", None),
    ("GET", "/api/tables/survey/dummy?rows=2", None),
    ("POST", "/api/tables/survey/preview", ASKED),
    ("POST", "/api/tables/survey/ask", ASKED),
]
CUSTODIANS = [
    *PROGRAMS,
    ("GET", "/api/files", None),
    ("GET", "/api/files/survey/columns", None),
    ("GET", "/api/tables/survey/check", None),
    ("GET", "/api/tables/survey/account", None),
    ("PUT", "/api/files/survey.csv", b"sex,age\nf,1\n"),
    ("POST", "/api/tokens", {"name": "eve", "tables": ["survey"], "epsilon": "0.1"}),
    ("POST", "/api/releases", {"table": "survey", "name": "of-survey"}),
    ("PUT", "/api/plans/survey", {"plan": DRAFT}),
]
PAGES = [
    ("GET", "/", None),
    ("GET", "/tables/survey", None),
    ("POST", "/tables/survey", {**FORM, "do": "preview"}),
    ("POST", "/tables/survey", {**FORM, "do": "ask"}),
    ("POST", "/tables/survey", {**FORM, "do": "build"}),
    ("GET", "/tables/survey/dummy.csv", None),
]
CUSTODIANS_PAGES = [
    *PAGES,
    ("GET", "/custody", None),
    ("POST", "/custody", {"name": "fay", "tables": "survey", "epsilon": "0.1", "delta": "0", "days": "9"}),
    ("GET", "/plans/survey", None),
    *(("GET", f"/plans/survey/{step}", None) for step in (*STEPS, "notebook.ipynb", "commands.sh", "plan.toml")),
    *(("POST", f"/plans/survey/{step}", {"do": do}) for step in STEPS for do in ("look", "next", "fill", "save")),
    ("POST", "/plans/survey/check", {}),
    ("POST", "/plans/survey/sanitise", {"release": "by-page"}),
    ("POST", "/plans/survey/sanitise", {"release": "by-page", "sure": "yes"}),
    ("POST", "/plans/survey/remove", {}),
]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_a_table_in_any_state_gets_a_sentence_at_every_door(tmp_path, state, capfd):
    made = make_folder(tmp_path)
    shutil.copy(tmp_path / "tables" / "people.csv", tmp_path / "tables" / "survey.csv")
    (tmp_path / "plans" / "survey.toml").write_text(PLAN)
    dan, _ = give_budgets(made.folder, made.tokens, "dan", {"survey": Privacy(1)}, 9)
    check_table(made.folder, "survey")
    with serving(made):
        send(made, "POST", "/api/tables/survey/preview", ASKED, dan)  # what is open is asked too
        state(made)
        for token, programs, pages in ((dan, PROGRAMS, PAGES), (made.carla, CUSTODIANS, CUSTODIANS_PAGES)):
            for method, path, body in programs:
                told = send(made, method, path, body, token)
                where = f"{method} {path} of {state.__name__}: {told.status} {told.raw[:300]!r}"
                assert told.status < 500 and str(tmp_path) not in told.raw.decode(), where
                assert told.status < 400 or set(told.json) - {"code"} == {"error"}, where
            for method, path, fields in pages:
                sent = None if fields is None else urlencode(fields).encode()
                told = send(made, method, path, sent, token, Content_Type="application/x-www-form-urlencoded")
                where = f"{method} {path} of {state.__name__}: {told.status} {told.raw[:300]!r}"
                assert told.status < 500 and str(tmp_path) not in told.raw.decode("utf-8", "replace"), where
                assert told.status < 400 or has_sentence(told.raw.decode()), where
        other = send(made, "POST", "/api/tables/people/ask", ASKED, made.ann)
        assert other.status == 200 and "budget" in json.loads(other.raw)
    assert "a request failed" not in capfd.readouterr().err


def has_sentence(page):
    """Whether a page says what is wrong where a person sees it, or a script finds it."""
    parts = page.split('class="error"')[1:]
    return any(part.partition(">")[2].partition("<")[0].strip() for part in parts)


# A plan can be changed until somebody has a budget on its table or something was spent: looking changes nothing -------


COLUMNS = {"sex": {"drop": True}, "age": {"space": "interval", "low": 0, "high": 99, "missing": 1}}


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_who_looks_at_a_table_does_not_fix_its_plan(tmp_path, delta):
    made = make_folder(tmp_path)
    shutil.copy(tmp_path / "tables" / "people.csv", tmp_path / "tables" / "survey.csv")
    privacy = {"epsilon": "1", "delta": delta}
    with serving(made):

        def saved(epsilon):
            plan = {"privacy": {**privacy, "epsilon": epsilon}, "columns": COLUMNS}
            return send(made, "PUT", "/api/plans/survey", {"plan": plan}, made.carla).status

        assert saved("1") == 200
        for path in ("/", "/tables/survey", "/api/tables", "/api/tables/survey/history"):
            assert send(made, "GET", path, token=made.carla).status == 200
        looked = send(made, "GET", "/api/tables/survey/budget", token=made.carla).json
        assert looked["remaining"]["epsilon"] == 1 and looked["spent"]["epsilon"] == 0
        assert not made.folder.ledger("survey").exists() and saved("2") == 200
        asked = {"sql": "SELECT count(*) AS n FROM data WHERE age > 50", "epsilon": "0.1"}
        assert send(made, "POST", "/api/tables/survey/ask", asked, made.carla).status == 200
        assert saved("1") == 400
        spent = send(made, "GET", "/api/tables/survey/budget", token=made.carla).json
        assert spent.keys() == looked.keys() and spent["remaining"].keys() == looked["remaining"].keys()
        assert spent["budget"]["epsilon"] == 2 and spent["spent"]["epsilon"] >= 0.09
