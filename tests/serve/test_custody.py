"""A custodian's work: a plan drafted and saved, what it would give, a release with its report, and the pages."""

import io
import time
import zipfile
from urllib.parse import urlencode

import pytest

import dproof as dp
from dproof import ReleasePayment
from tests.makers import row_law
from tests.serve.server import make_folder, send, serving

DRAFT = {
    "privacy": {"model": "central", "epsilon": "1", "delta": "1e-6"},
    "columns": {
        "sex": {"space": "categories", "values": ["f", "m"], "outside": "category", "missing": "category"},
        "age": {"space": "interval", "low": 18, "high": 90, "bins": [18, 40, 90], "missing": "category"},
    },
    "questions": [
        {"sql": "SELECT sex, count(*) AS n FROM data GROUP BY sex"},
        {"sql": "SELECT avg(age) AS a FROM data"},
    ],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    made = make_folder(tmp_path_factory.mktemp("served"))
    (made.root / "tables" / "survey.csv").write_text((made.root / "tables" / "people.csv").read_text())
    with serving(made) as made:
        yield made


def call(made, method, path, body=None):
    return send(made, method, path, body, made.carla)


def page(made, path, cookie):
    return send(made, "GET", path, Cookie=cookie)


@pytest.fixture(scope="module")
def cookie(made):
    told = send(made, "POST", "/sign-in", urlencode({"token": made.carla}).encode())
    assert (
        told.status == 303
        and "HttpOnly" in told.headers["set-cookie"]
        and "SameSite=strict" in told.headers["set-cookie"]
    )
    assert made.carla not in told.headers["set-cookie"]
    return told.headers["set-cookie"].partition(";")[0]


def test_what_a_draft_would_give_each_way(made):
    told = call(made, "POST", "/api/drafts/expected", {"plan": DRAFT, "rows": 5000}).json
    count, mean = (one["half_width"] for one in told["answers"])
    assert count["central_delta"] < count["local"] and count["ask"] < count["ask_shared"] < count["local"]
    assert mean["central_delta"] > 0 and told["shares"].keys() == {"sex", "age"}
    assert [way["refused"] for way in told["ways"]] == [None] * 6 and told["recommended"]["reason"]
    assert dp.Plan.parse(told["plan"]).model == "central" and 0.73 < told["meaning"]["attack_accuracy"] < 0.74


def test_the_epsilon_of_a_wanted_half_width(made):
    asked = {"plan": DRAFT, "rows": 5000, "question": DRAFT["questions"][0]["sql"], "column": "n", "half_width": "300"}
    told = call(made, "POST", "/api/drafts/epsilon", asked).json
    assert float(told["epsilon"]["central"]) < float(told["epsilon"]["local"]) and told["refused"] == {}
    refused = call(made, "POST", "/api/drafts/epsilon", {**asked, "half_width": "-1"})
    assert refused.status == 400 and "half-width" in refused.json["error"]


@pytest.mark.parametrize(
    ("change", "words"),
    [({"columns": {}}, "column"), ({"privacy": {"epsilon": "0.1x"}}, "epsilon"), ({"nonsense": 1}, "nonsense")],
)
def test_a_draft_that_is_no_plan_gets_a_sentence(made, change, words):
    told = call(made, "POST", "/api/drafts/expected", {"plan": {**DRAFT, **change}, "rows": 10})
    assert told.status == 400 and words in told.json["error"]
    assert call(made, "POST", "/api/drafts/expected", {"plan": DRAFT, "rows": 0}).status == 400


def test_a_plan_is_saved_sanitised_and_queried(made):
    assert next((one["name"], one["plan"]) for one in call(made, "GET", "/api/files").json) == ("people", True)
    assert call(made, "GET", "/api/files/survey/columns").json["columns"] == ["sex", "age"]
    saved = call(made, "PUT", "/api/plans/survey", {"plan": DRAFT})
    assert saved.status == 200 and (made.root / "plans" / "survey.toml").read_text() == saved.json["plan"]
    looked = call(made, "GET", "/api/tables/survey/check").json
    assert looked["confidential"].startswith("CONFIDENTIAL") and looked["rows"] == 500
    job = call(made, "POST", "/api/releases", {"table": "survey", "name": "first"}).json["job"]
    for _ in range(600):
        told = call(made, "GET", f"/api/jobs/{job}").json
        if told["done"]:
            break
        time.sleep(0.1)
    assert told["error"] is None and dp.verify(made.root / "releases" / "first")
    asked = {"sql": "SELECT sex, count(*) AS n FROM release GROUP BY sex"}
    answer = send(made, "POST", "/api/releases/first/query", asked, made.ann).json
    assert answer["columns"] == ["sex", "n"] and answer["command"].startswith("dproof query releases/first")
    again = call(made, "POST", "/api/releases", {"table": "survey", "name": "first"})
    assert again.status == 400 and "already" in again.json["error"]
    refused = call(made, "PUT", "/api/plans/survey", {"plan": DRAFT})
    assert refused.status == 400 and "ledger" in refused.json["error"]
    packed = send(made, "GET", "/releases/first/download", token=made.ann)
    assert "first/certificate.json" in zipfile.ZipFile(io.BytesIO(packed.raw)).namelist()
    report = send(made, "GET", "/releases/first/report", token=made.ann)
    assert b"<html" in report.raw and "sandbox" in report.headers["content-security-policy"]
    assert b"Query first" in send(made, "GET", "/releases/first", token=made.ann).raw


def test_the_pages_show_what_is_there(made, cookie):
    assert send(made, "GET", "/").headers["location"] == "/sign-in"
    assert b"unknown, revoked or expired" in send(made, "POST", "/sign-in", b"token=dproof_x").raw
    home = page(made, "/", cookie).raw.decode()
    assert "people" in home and "Left to spend" in home and "Plans and tokens" in home
    assert "SELECT count(*) AS n FROM data" in page(made, "/tables/people", cookie).raw.decode()
    assert "carla" in page(made, "/custody", cookie).raw.decode()
    call(made, "PUT", "/api/plans/survey", {"plan": DRAFT})  # refused where another test has begun a ledger with it
    assert "Kind of age" in page(made, "/plans/survey/columns", cookie).raw.decode()
    assert "dproof sanitise tables/survey.csv" in page(made, "/plans/survey/release", cookie).raw.decode()
    missing = page(made, "/tables/nothing", cookie)
    assert missing.status == 400 and b"there is no table" in missing.raw
    assert send(made, "GET", "/custody", token=made.ann).status == 403


def test_signing_out_ends_the_session(made):
    told = send(made, "POST", "/sign-in", urlencode({"token": made.ann}).encode())
    cookie = told.headers["set-cookie"].partition(";")[0]
    assert page(made, "/tables/people", cookie).status == 200
    assert send(made, "POST", "/sign-out", b"", Cookie=cookie).status == 303
    assert page(made, "/tables/people", cookie).status == 303


def test_no_text_of_a_plan_or_a_name_becomes_markup(made):
    told = send(made, "POST", "/api/tokens", {"name": "<b>eve", "tables": ["people"], "epsilon": "0.1"}, made.carla)
    assert told.status == 201
    shown = send(made, "GET", "/custody", token=made.carla).raw.decode()
    assert "&lt;b&gt;eve" in shown and "<b>eve" not in shown


def test_a_release_that_was_stopped_is_told_to_be_free(made):
    root, price = made.root, '[privacy]\nepsilon = "1"\n[columns.sex]\nspace = "categories"\nvalues = ["f", "m"]\n'
    (root / "tables" / "killed.csv").write_text("sex\nf\nm\n")
    (root / "plans" / "killed.toml").write_text(price)
    assert b"Paid for and not made" not in call(made, "GET", "/plans/killed/release").raw
    law = row_law(dp.Plan.read(root / "plans" / "killed.toml"))
    ReleasePayment(made.folder.ledger("killed"), root / "releases" / "halfway").pay(law)  # and then it was killed
    told = call(made, "GET", "/plans/killed/release").raw.decode()
    assert "Paid for and not made, because the work was stopped: halfway." in told and 'value="halfway"' in told
    begun = call(made, "POST", "/api/releases", {"table": "killed", "name": "halfway"})
    assert begun.status == 202, begun.raw
    job = begun.json["job"]
    while not (done := call(made, "GET", f"/api/jobs/{job}").json)["done"]:
        time.sleep(0.05)
    assert done["error"] is None and call(made, "GET", "/api/tables/killed/account").json["spent"]["epsilon"] == 1
    assert b"Paid for and not made" not in call(made, "GET", "/plans/killed/release").raw


def test_a_question_that_was_stopped_is_told(made, monkeypatch):
    def stopped(*_):
        raise dp.InputError("stopped")

    asked = {"sql": "SELECT count(*) AS n FROM data WHERE age > 30", "epsilon": "0.1"}
    with monkeypatch.context() as patched:
        patched.setattr("dproof.curator.curator.tally", stopped)
        assert send(made, "POST", "/api/tables/people/ask", asked, made.ann).status == 400
    page = send(made, "GET", "/tables/people", token=made.ann).raw
    assert b"paid for, and stopped before it was answered" in page
