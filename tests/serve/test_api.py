"""The interface for programs, at a real server: who may do what, what it costs, and what is refused."""

import pyarrow as pa
import pytest
from fastapi.routing import APIRoute

import dproof as dp
from dproof.serve import api, pages
from dproof.serve.service import custodian_of
from tests.serve.server import send

COUNT = {"sql": "SELECT count(*) AS n FROM data WHERE sex = 'f'", "epsilon": "0.1"}


def ask(made, token, **asked):
    return send(made, "POST", "/api/tables/people/ask", {**COUNT, **asked}, token)


def left(made, token):
    return send(made, "GET", "/api/tables/people/budget", token=token).json["remaining"]["epsilon"]


def test_a_question_is_paid_once_and_repeated_for_nothing(made):
    before = left(made, made.ann)
    preview = send(made, "POST", "/api/tables/people/preview", COUNT, made.ann).json
    assert preview["cost"]["epsilon"] == 0.1 and not preview["free"] and left(made, made.ann) == before
    first, again = ask(made, made.ann), ask(made, made.ann, sql="SELECT count(*) AS n FROM data WHERE NOT sex <> 'f'")
    assert first.status == again.status == 200 and first.json["rows"] == again.json["rows"]
    assert left(made, made.ann) == pytest.approx(before - 0.1)
    assert first.json["budget"]["remaining"]["epsilon"] == pytest.approx(before - 0.1)
    assert "more counts at ±" in first.json["budget"]["in_words"]
    assert first.json["command"].startswith("dproof ask tables/people.* 'SELECT")


def test_an_answer_of_another_is_free_too_and_their_questions_are_their_own(made):
    ask(made, made.ann)
    before = left(made, made.bob)
    assert ask(made, made.bob).json["rows"] == ask(made, made.ann).json["rows"] and left(made, made.bob) == before
    asked = [one["question"] for one in send(made, "GET", "/api/tables/people/history", token=made.ann).json]
    assert len(asked) == 1 and "count" in asked[0]
    assert send(made, "GET", "/api/tables/people/history", token=made.bob).json == []
    assert len(send(made, "GET", "/api/tables/people/history", token=made.carla).json) == 1


def test_arrow_is_had_for_the_asking(made):
    told = send(made, "POST", "/api/tables/people/ask", COUNT, made.ann, Accept="application/vnd.apache.arrow.stream")
    assert pa.ipc.open_stream(told.raw).read_all().column_names[:3] == ["n", "n_low", "n_high"]
    rows = send(made, "GET", "/api/tables/people/dummy?rows=7", token=made.ann)
    assert len(rows.json["rows"]) == 7 and set(rows.json["columns"]) == {"sex", "age"}


def test_the_budget_of_an_analyst_is_a_share(made):
    told = ask(made, made.bob, sql="SELECT avg(age) AS a FROM data", epsilon="1.01")
    assert told.status == 409 and "what is left" in told.json["error"]
    assert left(made, made.bob) == 1


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"sql": "SELECT count(*) FROM nowhere"}, 400, "nowhere"),
        ({"sql": "DROP TABLE data"}, 400, "SELECT"),
        ({"epsilon": None}, 400, "say what the question may cost"),
        ({"epsilon": "-1"}, 400, "epsilon"),
        ({"level": 2}, 422, "level"),
        ({"sql": 7}, 422, "sql"),
        ({"sqll": "x"}, 422, "sqll"),
        ({"sql": "x" * 20_001}, 422, "sql"),
    ],
)
def test_bad_questions_get_a_sentence_and_cost_nothing(made, asked, status, words):
    before = left(made, made.ann)
    told = ask(made, made.ann, **asked)
    assert told.status == status and words in told.json["error"] and left(made, made.ann) == before


def test_who_has_no_token_is_told_nothing(made):
    for path in ("/api/tables", "/api/tables/people", "/api/releases", "/api/tokens", "/api/jobs/x"):
        for token in (None, "dproof_guess"):
            told = send(made, "GET", path, token=token)
            assert told.status == 401 and "token" in told.json["error"]


OPEN = {  # to analysts, or to anybody; whatever is added is for custodians, or has its line here
    "GET": "/health /api/tables /api/tables/{name} /api/tables/{name}/budget /api/tables/{name}/history "
    "/api/tables/{name}/dummy /api/releases /api/releases/{name} /collect/{name} / /sign-in /static/{name} "
    "/tables/{name} /tables/{name}/dummy.csv /releases/{name} /releases/{name}/report /releases/{name}/download",
    "POST": "/api/tables/{name}/preview /api/tables/{name}/ask /api/releases/{name}/query /collect/{name} /sign-in "
    "/sign-out /tables/{name} /releases/{name}",
}


def needs_custodian(dependant):
    return dependant.call is custodian_of or any(map(needs_custodian, dependant.dependencies))


def test_whatever_is_not_open_to_analysts_asks_for_a_custodian():
    routers = [api.health_router, api.router, api.survey_router, *(module.router for module in pages._modules())]
    routes = [route for router in routers for route in router.routes]
    assert len(routes) > 40 and all(isinstance(route, APIRoute) for route in routes)
    free = {(method, one.path) for one in routes for method in one.methods if not needs_custodian(one.dependant)}
    assert free == {(method, path) for method, paths in OPEN.items() for path in paths.split()}


def test_an_analyst_may_do_no_more_than_ask(made):
    ways = [
        ("GET", "/api/tokens", None),
        ("POST", "/api/tokens", {"name": "eve", "tables": ["people"], "epsilon": "1"}),
        ("DELETE", "/api/tokens/1", b""),
        ("GET", "/api/tables/people/account", None),
        ("GET", "/api/tables/people/check", None),
        ("GET", "/api/files", None),
        ("POST", "/api/releases", {"table": "people", "name": "r"}),
        ("PUT", "/api/plans/people", {"plan": {}}),
        ("POST", "/api/drafts/expected", {"plan": {}}),
    ]
    for method, path, body in ways:
        assert send(made, method, path, body, made.ann).status == 403, path
    assert send(made, "GET", "/api/tables/pay", token=made.ann).status == 403  # whether it is there or not


def test_tokens_are_given_and_revoked(made):
    given = {"name": "dan", "tables": ["people"], "epsilon": "0.5", "days": 3}
    told = send(made, "POST", "/api/tokens", given, made.carla)
    assert told.status == 201 and told.json["command"].startswith("dproof token . --analyst dan --table people")
    dan = told.json["token"]
    assert left(made, dan) == 0.5
    assert dan not in str(send(made, "GET", "/api/tokens", token=made.carla).json)
    assert send(made, "DELETE", f"/api/tokens/{told.json['number']}", b"", made.carla).status == 204
    assert send(made, "GET", "/api/tables", token=dan).status == 401


def test_pages_of_other_sites_cannot_act_here(made):
    def tried(**headers):
        return send(made, "POST", "/api/tables/people/preview", COUNT, made.ann, **headers).status

    here = f"127.0.0.1:{made.port}"
    assert tried() == tried(Origin=f"http://{here}") == tried(Sec_Fetch_Site="same-origin") == 200
    assert tried(Origin="http://evil.example") == tried(Origin="null") == 403
    assert tried(Sec_Fetch_Site="cross-site") == tried(Sec_Fetch_Site="same-site") == 403
    assert tried(Host=f"evil.example:{made.port}") == 421


def test_bodies_are_bounded(made):
    told = send(made, "POST", "/api/tables/people/preview", {"sql": "x" * 70_000}, made.ann)
    assert told.status == 413 and "too large" in told.json["error"]


def test_every_response_tells_browsers_what_they_may_not_do(made):
    for path in ("/sign-in", "/static/page.js", "/api/tables", "/nothing", "/openapi.json"):
        headers = send(made, "GET", path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
        assert {"server", "date"}.isdisjoint(name.lower() for name in headers)


def test_the_interface_is_documented(made):
    paths = send(made, "GET", "/openapi.json").json["paths"]
    assert {"/api/tables/{name}/ask", "/api/tables/{name}/preview", "/api/releases/{name}/query"} <= paths.keys()


def test_connect_has_the_methods_of_a_curator(made):
    server = dp.connect(f"http://127.0.0.1:{made.port}", made.ann)
    assert [one["name"] for one in server.tables()] == ["people"] and made.ann not in repr(server)
    people = server.table("people")
    people.ask(COUNT["sql"], epsilon="0.1")
    answer = people.ask(COUNT["sql"], epsilon=dp.Privacy("0.1").epsilon)
    assert answer.rows[0]["n"].low <= answer.rows[0]["n"].high and "It was free" in answer.notes[0]
    assert people.preview(COUNT["sql"], epsilon="0.1")["free"] and len(people.dummy(3)) == 3
    assert people.remaining()["remaining"]["epsilon"] < 1 and people.history() and people.describe()["plan"]
    with pytest.raises(dp.OverBudget, match="what is left"):
        people.ask("SELECT avg(age) AS a FROM data", epsilon=1)
    with pytest.raises(dp.InputError, match="not for that table"):
        server.table("pay").describe()
    for url in ("http://example.org", "ftp://127.0.0.1", "127.0.0.1:80"):
        with pytest.raises(dp.InputError, match="https://"):
            dp.connect(url, "x")
    with pytest.raises(dp.InputError, match="cannot be asked"):
        dp.connect("http://127.0.0.1:9", "x").tables()
