"""Every limit of the server at every door (a page, a program, an assistant), whatever state its table is in.

What goes beyond a limit is refused with a sentence, before the table is looked at and without a fault of the server.
"""

import json
import shutil
from pathlib import Path
from urllib.parse import urlencode

import pytest

import dproof as dp
from dproof.serve import limits
from dproof.serve.custody import check_table
from dproof.serve.desk import give_budgets
from dproof.serve.folder import StateCache
from dproof.serve.mcp import sdk_is_there
from tests.serve.server import PLAN, make_folder, send, serving, slow_reading
from tests.serve.test_states import STATES, has_sentence

HAS_SDK = sdk_is_there()
FORM = "application/x-www-form-urlencoded"
SQL = "SELECT count(*) AS n FROM data WHERE sex = 'f'"
LONG_SQL = SQL + " " * limits.LONGEST_QUESTION
LONG_NAME = "a" * (limits.LONGEST_NAME + 1)
GIVEN = {"name": "eve", "tables": "survey", "epsilon": "0.1", "delta": "0", "days": "9"}
AGE = {"space": "interval", "low": 0, "high": 9, "missing": 1}
DRAFT = {"privacy": {"epsilon": "1"}, "columns": {"sex": {"drop": True}, "age": AGE}}
TRUST = {"model": "local", "epsilon": "1", "delta": "0", "neighbours": "change-one", "rows_per_person": "1"}
TRUST |= {"do": "next", "row_count": str(limits.MOST_EXPECTED_ROWS * 10)}

# By limit: what is sent to a page, by a program and by a tool, and with which status it is refused.
BEYOND = {
    "LARGEST_BODY": [
        ("page", "/tables/survey", {"do": "ask", "sql": "x" * limits.LARGEST_BODY}, 413),
        ("page", "/releases/ready", {"sql": "x" * limits.LARGEST_BODY}, 413),
        ("page", "/sign-in", {"token": "x" * limits.LARGEST_BODY}, 413),
        ("page", "/custody", GIVEN | {"name": "x" * limits.LARGEST_BODY}, 413),
        ("POST", "/api/tables/survey/ask", {"sql": "x" * limits.LARGEST_BODY}, 413),
        ("POST", "/api/releases/ready/query", {"sql": "x" * limits.LARGEST_BODY}, 413),
        ("POST", "/mcp", {"jsonrpc": "x" * limits.LARGEST_BODY}, 413),
    ],
    "LARGEST_PLAN": [
        ("page", "/plans/survey", {"do": "save", "values": "x" * limits.LARGEST_PLAN}, 413),
        ("PUT", "/api/plans/survey", {"plan": {"x": "x" * limits.LARGEST_PLAN}}, 413),
        ("POST", "/api/drafts/expected", {"plan": {"x": "x" * limits.LARGEST_PLAN}}, 413),
    ],
    "LONGEST_QUESTION": [
        ("page", "/tables/survey", {"do": "preview", "sql": LONG_SQL, "epsilon": "0.1", "delta": "0"}, 400),
        ("page", "/tables/survey", {"do": "ask", "sql": LONG_SQL, "epsilon": "0.1", "delta": "0"}, 400),
        ("page", "/releases/ready", {"do": "query", "sql": LONG_SQL}, 400),
        ("POST", "/api/tables/survey/preview", {"sql": LONG_SQL, "epsilon": "0.1"}, 422),
        ("POST", "/api/tables/survey/ask", {"sql": LONG_SQL, "epsilon": "0.1"}, 422),
        ("POST", "/api/releases/ready/query", {"sql": LONG_SQL}, 422),
        ("tool", "preview", {"table": "survey", "sql": LONG_SQL, "epsilon": "0.1"}, "sql"),
        ("tool", "ask", {"table": "survey", "sql": LONG_SQL, "epsilon": "0.1"}, "sql"),
        ("tool", "query", {"release": "ready", "sql": LONG_SQL}, "sql"),
    ],
    "LONGEST_NAME": [
        ("page", f"/tables/{LONG_NAME}", {"do": "ask", "sql": SQL, "epsilon": "0.1", "delta": "0"}, 400),
        ("page", f"/plans/{LONG_NAME}", {"do": "look"}, 400),
        ("page", f"/releases/{LONG_NAME}", {"do": "query", "sql": SQL}, 400),
        ("page", "/plans/survey/sanitise", {"release": LONG_NAME}, 400),
        ("page", "/custody", GIVEN | {"name": LONG_NAME}, 400),
        ("GET", f"/api/tables/{LONG_NAME}", None, 400),
        ("GET", f"/api/releases/{LONG_NAME}", None, 400),
        ("PUT", f"/api/files/{LONG_NAME}.csv", b"x", 400),
        ("PUT", f"/api/plans/{LONG_NAME}", {"plan": DRAFT}, 400),
        ("POST", "/api/releases", {"table": "survey", "name": LONG_NAME}, 400),
        ("POST", "/api/tokens", {"name": LONG_NAME, "tables": ["survey"], "epsilon": "0.1"}, 422),
        ("tool", "describe_table", {"table": LONG_NAME}, "table"),
        ("tool", "budget", {"table": LONG_NAME}, "table"),
        ("tool", "ask", {"table": LONG_NAME, "sql": SQL, "epsilon": "0.1"}, "table"),
        ("tool", "query", {"release": LONG_NAME, "sql": SQL}, "release"),
    ],
    "MOST_FIELDS": [
        (
            "page",
            path,
            {"do": "look", **dict.fromkeys(map(str, range(limits.MOST_FIELDS)), "")},
            400 if "plans" in path else 413,
        )
        for path in ("/plans/survey", "/tables/survey", "/custody")
    ],
    "MOST_TOKEN_DAYS": [
        ("page", "/custody", GIVEN | {"days": str(limits.MOST_TOKEN_DAYS + 1)}, 400),
        ("POST", "/api/tokens", GIVEN | {"tables": ["survey"], "days": limits.MOST_TOKEN_DAYS + 1}, 400),
    ],
    "MOST_EXPECTED_ROWS": [
        ("page", "/plans/survey/trust", TRUST, 400),
        ("POST", "/api/drafts/expected", {"plan": DRAFT, "rows": limits.MOST_EXPECTED_ROWS + 1}, 400),
        (
            "POST",
            "/api/drafts/epsilon",
            {"plan": DRAFT, "rows": limits.MOST_EXPECTED_ROWS + 1, "column": "age", "half_width": 1},
            400,
        ),
    ],
    "MOST_DUMMY_ROWS": [
        ("GET", f"/tables/survey/dummy.csv?rows={limits.MOST_DUMMY_ROWS + 1}", None, 400),
        ("GET", f"/api/tables/survey/dummy?rows={limits.MOST_DUMMY_ROWS + 1}", None, 400),
    ],
    "MOST_ENTRIES": [
        ("GET", f"/api/tables/survey/history?most={limits.MOST_ENTRIES + 1}", None, 422),
        ("GET", f"/api/record?most={limits.MOST_ENTRIES + 1}", None, 422),
    ],
}
HERE = {"MOST_OPEN", "MOST_PREVIEWS", "MOST_JOBS", "MOST_UNDER_WAY"}
HERE |= {"REQUESTS_AT_ONCE", "REQUESTS_PER_SECOND", "GUESSES_AT_ONCE", "GUESSES_PER_SECOND"}
ELSEWHERE = {  # the tests that reach a limit which is not about one request
    "LARGEST_UPLOAD": "test_uploads.py::test_only_custodians_send_tables_and_no_more_than_so_much",
    "MOST_SHOWN": "test_limits.py::test_a_long_answer_shows_its_beginning",
    "MOST_SHOWN_HISTORY": "test_limits.py::test_history_comes_in_pages",
    "LONGEST_SHOWN_TEXT": "test_limits.py::test_no_page_is_larger_than_a_mebibyte",
    "MOST_CONNECTIONS": "test_limits.py::test_connections_that_send_nothing_lock_nobody_out",
    "PATIENCE": "test_connections.py::test_who_does_not_go_on_is_cut",
    "SLOWEST": "test_connections.py::test_a_drop_now_and_then_is_no_going_on",
    "MOST_WORKERS": "test_reading_time.py::test_the_work_for_a_person_takes_no_thread_of_another",
    "MOST_READERS": "test_reading_time.py::test_a_question_has_its_turn_until_it_leaves",
    "MOST_TOOL_THREADS": "test_mcp_endpoint.py::test_the_calls_of_one_hold_up_no_other",
    "MOST_SESSIONS": "test_tokens.py::test_who_signs_in_often_ends_nobodys_session_but_their_own",
    "ANSWERS_PER_SECOND": "test_collect.py::test_a_place_that_sends_too_much_waits",
    "ANSWERS_AT_ONCE": "test_collect.py::test_a_place_that_sends_too_much_waits",
    "MOST_RATES": "test_reading_time.py::test_only_so_many_keys_are_remembered",
}


def test_every_limit_is_tried():
    names = {name for name in vars(limits) if name.isupper() and name != "SHOWN"}
    assert names == BEYOND.keys() | HERE | ELSEWHERE.keys()
    for place in ELSEWHERE.values():
        file, _, test = place.partition("::")
        assert f"def {test}(" in (Path(__file__).parent / file).read_text(), place


def called(made, token, tool, arguments):
    """The answer to a call of a tool."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    return send(made, "POST", "/mcp", body, token, Accept="application/json, text/event-stream")


def refused(made, token, door, path, body):
    """The status and the sentence of a refusal, at a door."""
    if door == "tool":
        told = called(made, token, path, body)
        assert told.status == 200 and told.json["result"]["isError"], told.raw[:300]
        return None, told.json["result"]["content"][0]["text"]
    if door == "page":
        told = send(made, "POST", path, urlencode(body).encode(), token, Content_Type=FORM)
    else:
        told = send(made, door, path, body, token)
    if told.json is not None:
        assert set(told.json) - {"code"} == {"error"} or "jsonrpc" in told.json, told.raw[:300]
        return told.status, told.raw.decode()
    page = told.raw.decode()
    assert has_sentence(page), f"{door} {path}: {page[:300]}"
    return told.status, page


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_beyond_a_limit_is_a_sentence_in_any_state_of_the_table(tmp_path, state, capfd):
    made = make_folder(tmp_path)
    shutil.copy(tmp_path / "tables" / "people.csv", tmp_path / "tables" / "survey.csv")
    (tmp_path / "plans" / "survey.toml").write_text(PLAN)
    dp.sanitise(tmp_path / "tables" / "people.csv", tmp_path / "plans" / "people.toml", tmp_path / "releases" / "ready")
    give_budgets(made.folder, made.tokens, "dan", {"survey": dp.Privacy(1)}, 9)
    check_table(made.folder, "survey")
    with serving(made):
        state(made)
        for name, cases in BEYOND.items():
            for door, path, body, expected in cases:
                if not HAS_SDK and (door == "tool" or path == "/mcp"):
                    continue
                status, sentence = refused(made, made.carla, door, path, body)
                where = f"{name} at {door} {path}: {status} {sentence[:200]!r}"
                assert "Traceback" not in sentence and str(tmp_path) not in sentence, where
                if door == "tool":
                    assert expected in sentence, where
                else:
                    assert status == expected, where
        assert made.tokens.holders[-1].name in ("carla", "dan")  # nothing was given
        assert send(made, "GET", "/api/tables", token=made.ann).status == 200
    assert "a request failed" not in capfd.readouterr().err


def at_doors(made, token):
    """One request at each door, and its status."""
    sent = urlencode({"do": "preview", "sql": SQL, "epsilon": "0.1", "delta": "0"}).encode()
    yield send(made, "POST", "/tables/people", sent, token, Content_Type=FORM).status
    yield send(made, "POST", "/api/tables/people/preview", {"sql": SQL, "epsilon": "0.1"}, token).status
    if HAS_SDK:
        yield called(made, token, "list_tables", {}).status


def test_who_comes_too_often_is_told_so_at_every_door(tmp_path):
    with serving(make_folder(tmp_path), clock=lambda: 0.0, per_second=1, at_once=5) as made:
        for _ in range(5):
            send(made, "GET", "/api/tables", token=made.ann)
        assert set(at_doors(made, made.ann)) == {429}
        assert set(at_doors(made, made.bob)) == {200}  # who has a rate of their own


def test_who_guesses_tokens_is_slowed_down_at_every_door_together(tmp_path):
    with serving(make_folder(tmp_path), clock=lambda: 0.0) as made:
        seen = []
        while len(seen) < limits.GUESSES_AT_ONCE:
            seen += list(at_doors(made, "dproof_guess"))
        assert set(seen[: limits.GUESSES_AT_ONCE]) <= {401, 303}
        sign_in = send(made, "POST", "/sign-in", b"token=dproof_guess", Content_Type=FORM)
        assert {*at_doors(made, "dproof_guess"), sign_in.status} == {429}
        assert set(at_doors(made, made.ann)) == {200}


def test_a_token_has_so_many_requests_under_way_over_all_doors(tmp_path, monkeypatch):
    with serving(make_folder(tmp_path), patience=60.0) as made:
        asking = [
            lambda n=n: send(made, "POST", "/api/tables/people/ask", {"sql": SQL, "epsilon": f"0.{n:03}"}, made.ann)
            for n in range(1, limits.MOST_UNDER_WAY + 1)
        ]
        with slow_reading(monkeypatch, asking):
            while True:  # until all of them are under way
                page, program, *tool = at_doors(made, made.ann)
                if page == program == 429:
                    break
            told = (
                called(made, made.ann, "preview", {"table": "people", "sql": SQL, "epsilon": "0.1"}) if tool else None
            )
            assert told is None or "too many requests at once" in json.dumps(told.json)
            assert set(at_doors(made, made.bob)) == {200}


def test_what_is_remembered_is_bounded(tmp_path):
    made = make_folder(tmp_path)
    with serving(made) as made:
        custody = made.desk.custody
        names = [custody.jobs.start("nothing", lambda job: None) for _ in range(limits.MOST_JOBS + 1)]
        assert custody.jobs.find(names[0]) is None and custody.jobs.find(names[-1]) is not None
        for path in (f"/jobs/{names[0]}", f"/api/jobs/{names[0]}"):
            assert send(made, "GET", path, token=made.carla).status == 400
        kept = StateCache(limits.MOST_OPEN)
        for n in range(limits.MOST_OPEN + 1):
            kept.get(n, 0, lambda: "opened")
        assert not kept.holds(0, 0) and kept.holds(1, 0) and kept.holds(limits.MOST_OPEN, 0)
        assert made.desk._previews._most == limits.MOST_PREVIEWS
