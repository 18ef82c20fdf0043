"""The interface for programs is as /openapi.json tells it; a health page and a record of what custodians did."""

import json
import time
from dataclasses import fields

import pytest
from pydantic import TypeAdapter

import dproof as dp
from dproof.serve import bodies
from tests.serve.server import make_folder, send, serving

SQL = "SELECT sex, count(*) AS n FROM data GROUP BY sex"
ASKED = {"sql": SQL, "epsilon": "0.1"}
DRAFT = {
    "privacy": {"epsilon": "1"},
    "columns": {"sex": {"drop": True}, "age": {"space": "interval", "low": 0, "high": 9, "missing": 1}},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    made = make_folder(tmp_path_factory.mktemp("served"))
    (made.root / "tables" / "two.csv").write_text("sex,age\nf,3\n")
    with serving(made) as made:
        yield made


def test_a_question_has_the_terms_that_a_curator_takes():
    terms, sent = {one.name for one in fields(dp.Terms)}, set(bodies.AskRequest.model_fields)
    assert terms - sent == {"all_groups"}  # an answer of any size would fill the memory of the server
    assert sent - terms == {"sql", "chart"}


def test_every_answer_is_as_it_is_documented(made):
    wanted = {"plan": DRAFT, "column": "age", "half_width": 5}
    requests = [
        ("GET", "/health", None, bodies.Health),
        ("GET", "/api/tables", None, list[bodies.ListedTable]),
        ("GET", "/api/tables/people", None, bodies.Table),
        ("GET", "/api/tables/people/budget", None, bodies.Budget),
        ("GET", "/api/tables/people/dummy?rows=3", None, bodies.Rows),
        ("GET", "/api/files", None, list[bodies.File]),
        ("GET", "/api/files/two/columns", None, bodies.Columns),
        ("PUT", "/api/files/three.csv", b"sex,age\nf,3\n", bodies.SentTable),
        ("POST", "/api/drafts/expected", {"plan": DRAFT}, bodies.Expectation),
        ("POST", "/api/drafts/epsilon", wanted, bodies.Epsilons),
        ("PUT", "/api/plans/two", {"plan": DRAFT}, bodies.SavedPlan),
        ("GET", "/api/tables/people/check", None, bodies.Inspection),
        ("GET", "/api/tables/people/account", None, bodies.Account),
        ("GET", "/api/tokens", None, list[bodies.Holder]),
        ("POST", "/api/tokens", {"name": "eve", "tables": ["people"], "epsilon": 0.1}, bodies.Token),
        ("POST", "/api/releases", {"table": "two", "name": "made"}, bodies.StartedJob),
    ]
    documented = send(made, "GET", "/openapi.json").json
    for method, path, body, model in requests:
        told = send(made, method, path, body, made.carla)
        assert told.status < 300, (path, told.raw)
        TypeAdapter(model).validate_json(told.raw)
    preview = send(made, "POST", "/api/tables/people/preview", ASKED, made.ann)
    TypeAdapter(bodies.Preview).validate_json(preview.raw)
    answer = send(made, "POST", "/api/tables/people/ask", ASKED, made.ann)
    TypeAdapter(bodies.PaidAnswer).validate_json(answer.raw)
    asked = send(made, "GET", "/api/tables/people/history", token=made.ann)
    assert TypeAdapter(list[bodies.Question]).validate_json(asked.raw)[0].answered
    job = send(made, "GET", "/api/record", token=made.carla)
    TypeAdapter(list[bodies.Deed]).validate_json(job.raw)
    for _ in range(600):
        if send(made, "GET", "/api/releases/made", token=made.ann).status == 200:
            break
        time.sleep(0.1)
    told = send(made, "GET", "/api/releases", token=made.ann)
    assert TypeAdapter(list[bodies.ListedRelease]).validate_json(told.raw)
    told = send(made, "POST", "/api/releases/made/query", {"sql": "SELECT count(*) AS n FROM release"}, made.ann)
    TypeAdapter(bodies.QueryAnswer).validate_json(told.raw)
    for path, ways in documented["paths"].items():
        for way in ways.values():
            good = [told for status, told in way["responses"].items() if status < "300"]
            assert all("content" in told or way["responses"].get("204") == told for told in good), path


def test_the_interface_says_who_may_come_and_how_it_refuses(made):
    told = send(made, "GET", "/openapi.json").json
    schemes = told["components"]["securitySchemes"]
    assert {one["type"] for one in schemes.values()} == {"http", "apiKey"} and told["info"]["version"] == dp.__version__
    for path, ways in told["paths"].items():
        for way in ways.values() if path != "/health" else ():
            assert way["security"], path
            refused = [one for status, one in way["responses"].items() if status >= "400"]
            sent = [one["content"]["application/json"]["schema"]["$ref"] for one in refused]
            assert set(sent) <= {"#/components/schemas/Refusal"}, path
    refused = send(made, "POST", "/api/tables/people/preview", {"sql": 3}, made.ann)
    assert refused.status == 422 and bodies.Refusal.model_validate_json(refused.raw)


def test_the_health_page_is_for_everybody_and_tells_no_secret(made):
    told = send(made, "GET", "/health")
    assert told.status == 200 and told.json == {"status": "ok", "version": dp.__version__, "interface": 1}
    kept = (made.root / "tokens.db").read_bytes()
    (made.root / "tokens.db").write_bytes(b"junk" * 1000)
    try:
        told = send(made, "GET", "/health")
        assert told.status == 503 and told.json["status"] == "failing"
    finally:
        (made.root / "tokens.db").write_bytes(kept)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *((f"/api/tables/people/{way}", {"sql": SQL, "epsilon": "0.1", **odd})
          for way in ("preview", "ask")
          for odd in ({"epsilon": True}, {"delta": False}, {"level": True}, {"accuracy": True, "epsilon": None})),
        ("/api/tokens", {"name": "x", "tables": ["people"], "epsilon": True}),
        ("/api/tokens", {"name": "x", "tables": ["people"], "epsilon": "1", "delta": False}),
        ("/api/tokens", {"name": "x", "tables": ["people"], "epsilon": "1", "days": True}),
        ("/api/drafts/expected", {"plan": DRAFT, "rows": True}),
        ("/api/drafts/epsilon", {"plan": DRAFT, "column": "age", "half_width": True}),
        ("/api/drafts/expected", {"plan": {**DRAFT, "privacy": {"epsilon": True}}}),
    ],
)  # fmt: skip
def test_true_is_no_number(made, path, body):
    before = len(made.tokens.holders)
    refused = send(made, "POST", path, body, made.ann if "/tables/" in path else made.carla)
    assert refused.status in (400, 422) and "error" in refused.json, json.dumps(body)
    assert len(made.tokens.holders) == before


def test_true_is_no_number_in_python_either(made):
    there = dp.connect(f"http://127.0.0.1:{made.port}", made.ann).table("people")
    for refused in (
        lambda: there.ask(SQL, epsilon=True),
        lambda: there.preview(SQL, epsilon="1", level=True),
        lambda: there.dummy(True),
        lambda: there.history(most=True),
        lambda: made.tokens.issue("x", "custodian", days=True),
    ):
        with pytest.raises(dp.InputError):
            refused()


def test_what_custodians_do_is_recorded_with_their_names(tmp_path):
    made = make_folder(tmp_path)
    with serving(made):
        given = send(
            made, "POST", "/api/tokens", {"name": "eve", "tables": ["people"], "epsilon": "0.1"}, made.carla
        ).json
        send(made, "DELETE", f"/api/tokens/{given['number']}", token=made.carla)
        send(made, "PUT", "/api/files/two.csv", b"sex,age\nf,3\n", made.carla)
        send(made, "PUT", "/api/plans/two", {"plan": DRAFT}, made.carla)
        send(made, "GET", "/api/tables/two/check", token=made.carla)
        send(made, "POST", "/api/releases", {"table": "two", "name": "made"}, made.carla)
        send(made, "DELETE", "/api/tokens/99", token=made.carla)  # which is refused, and not done
        done = send(made, "GET", "/api/record", token=made.carla).json
        assert [one["did"] for one in done] == [
            "gave a token",
            "revoked a token",
            "sent a table",
            "saved a plan",
            "looked at a table",
            "began a release",
        ]
        assert {one["who"] for one in done} == {"carla"} and done[0]["to"] == "eve" and all(one["at"] for one in done)
        earlier = send(made, "GET", "/api/record?before=3&most=1", token=made.carla).json
        assert [one["number"] for one in earlier] == [2]
        assert send(made, "GET", "/api/record", token=made.ann).status == 403
        assert b"began a release" in send(made, "GET", "/custody", token=made.carla).raw
    text = made.folder.record.read_text()
    assert made.folder.record.stat().st_mode & 0o077 == 0
    assert given["token"] not in text and given["token"].removeprefix("dproof_") not in text


@pytest.mark.parametrize(
    "line", [b"{}", b"[]", b'"x"', b'{"at": 5, "who": null, "token": null, "did": null}', b"[" * 100_000, b'{"at": "20']
)
def test_a_damaged_line_of_the_record_hides_no_other(tmp_path, line):
    with serving(make_folder(tmp_path)) as made:
        made.folder.record.write_bytes(line)  # without an end, as a full disk leaves it
        given = {"name": "dora", "tables": ["people"], "epsilon": "0.1"}
        assert send(made, "POST", "/api/tokens", given, made.carla).status == 201
        told = send(made, "GET", "/api/record", None, made.carla).json
        assert [(one["number"], one["did"]) for one in told] == [(1, "a damaged line"), (2, "gave a token")]
        assert b"a damaged line" in send(made, "GET", "/custody", None, made.carla).raw


def test_an_unhealthy_server_is_documented_too(made):
    told = send(made, "GET", "/openapi.json").json["paths"]["/health"]["get"]["responses"]
    assert told["503"]["content"] == told["200"]["content"]
