"""A server that has surveys: it gives their pages and keeps what comes in, from any site and without a token."""

import json
import shutil
import threading

import pytest

import dproof as dp
from dproof.serve import limits
from dproof.serve.service import Service
from tests.serve.server import make_folder, send, serving
from tests.survey.test_adopt import TWO, drawn_lines


@pytest.fixture
def made(tmp_path):
    made = make_folder(tmp_path)
    made.survey = dp.collect(TWO, tmp_path / "surveys" / "habits", send="https://data.example.org/collect/habits")
    with serving(made, names=["data.example.org"]) as made:
        yield made


def lines(made, count):
    found = drawn_lines(made.survey.law, {"read": [0] * count, "age": [7] * count})
    return [json.dumps(line).encode() for line in found]


def test_the_page_is_given_as_it_was_made(made):
    page = send(made, "GET", "/collect/habits")
    assert page.status == 200 and page.raw == (made.root / "surveys" / "habits" / "survey.html").read_bytes()
    assert page.headers["content-security-policy"] == "frame-ancestors 'none'"  # the page has a policy of its own
    assert page.headers["content-type"].startswith("text/html") and page.headers["cache-control"] == "no-store"


def test_answers_are_kept_from_any_site_and_adopted(made):
    own, other, *rest = lines(made, 20)
    for line, origin in (
        (own, "https://data.example.org"),
        (other, "null"),
        *((line, "https://a.example") for line in rest),
    ):
        kept = send(made, "POST", "/collect/habits", line, Origin=origin, Sec_Fetch_Site="cross-site")
        assert kept.status == 204 and kept.headers["access-control-allow-origin"] == "*" and kept.raw == b""
    assert "set-cookie" not in kept.headers
    again = send(made, "POST", "/collect/habits", own)
    assert again.status == 204
    release = dp.adopt(
        made.root / "answers" / "habits.db", made.root / "surveys" / "habits", made.root / "releases" / "h"
    )
    assert release.rows == 20
    asked = send(made, "POST", "/api/releases/h/query", {"sql": "SELECT count(*) AS n FROM release"}, made.ann)
    assert asked.json["rows"][0]["n"]["estimate"] == 20


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/collect/habits", b"{}", 400),
        ("/collect/habits", b"", 400),
        ("/collect/habits", b'{"survey":"0","id":"x","row":{}}', 400),
        ("/collect/absent", b"{}", 404),
        ("/collect/..", b"{}", 400),
        ("/collect/..%2fplans", b"{}", 404),
        ("/collect/a b", b"{}", 400),
        ("/collect/", b"{}", 404),
        ("/collect/habits", b"x" * (limits.LARGEST_BODY + 1), 413),
    ],
)
def test_what_is_no_answer_is_refused(made, path, body, status):
    assert send(made, "POST", path.replace(" ", "%20"), body).status == status
    store = made.root / "answers" / "habits.db"
    assert not store.exists() or len(dp.Inbox(made.root / "surveys" / "habits", store)) == 0


def test_a_ticket_is_good_for_one_answer(made):
    """Who has none, or one that was used, is told so on a page of any site; nothing is kept."""
    folder, store = made.root / "surveys" / "paid", made.root / "answers" / "paid.db"
    survey = dp.collect({"tickets": True, **TWO}, folder)
    custodian = dp.Inbox(folder, store)  # as `dproof tickets` does, also while the server runs
    (ticket,) = custodian.issue(1)
    one, other = drawn_lines(survey.law, {"read": [0, 1], "age": [7, 8]})

    def answer(line, **more):
        sent = send(made, "POST", "/collect/paid", json.dumps({**line, **more}).encode(), Origin="https://a.example")
        assert sent.headers["access-control-allow-origin"] == "*"
        return sent

    assert (answer(one).status, answer(one).json["error"]) == (
        403,
        "an answer to this survey needs a ticket: nothing was kept",
    )
    assert "is not one of this survey" in answer(one, ticket="guess").json["error"]
    assert [answer(one, ticket=ticket).status for _ in range(2)] == [204, 204]  # the second says the same again
    assert "was used before" in answer(other, ticket=ticket).json["error"]
    release = dp.adopt(store, folder, made.root / "releases" / "paid")
    assert release.rows == 1


def test_a_survey_that_was_made_anew_over_the_answers_to_another_is_not_shown(made):
    """Else people would answer into a file that no plan adopts."""
    assert send(made, "POST", "/collect/habits", lines(made, 1)[0]).status == 204
    folder = made.root / "surveys" / "habits"
    shutil.rmtree(folder)
    made.survey = dp.collect({**TWO, "privacy": {"epsilon": 1}}, folder)
    page = send(made, "GET", "/collect/habits")
    assert page.status == 400 and b"holds answers to another survey" in page.raw
    assert send(made, "POST", "/collect/habits", lines(made, 1)[0]).status == 400
    (made.root / "answers" / "habits.db").rename(made.root / "answers" / "before.db")
    assert send(made, "GET", "/collect/habits").status == 200


def test_a_place_that_sends_too_much_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ANSWERS_AT_ONCE", 3)
    now = [0.0]
    made = make_folder(tmp_path)
    made.survey = dp.collect(TWO, tmp_path / "surveys" / "habits")
    with serving(made, clock=lambda: now[0]) as made:
        sent = [send(made, "POST", "/collect/habits", line).status for line in lines(made, 5)]
        now[0] += 1.5 / limits.ANSWERS_PER_SECOND
        sent += [send(made, "POST", "/collect/habits", line).status for line in lines(made, 2)]
    assert sent == [204, 204, 204, 429, 429, 204, 429]


def test_answers_that_wait_for_the_disk_keep_nobody_else_waiting(made, monkeypatch):
    """One is written after the other; the rest hold no thread that others need."""
    came, may_go, kept = threading.Semaphore(0), threading.Event(), []
    paced = Service.pace_answers
    monkeypatch.setattr(Service, "pace_answers", lambda *given: (paced(*given), came.release()))
    monkeypatch.setattr(made.desk.inbox("habits"), "receive", lambda line: may_go.wait(60))
    senders = [
        threading.Thread(target=lambda line=line: kept.append(send(made, "POST", "/collect/habits", line).status))
        for line in lines(made, 60)
    ]
    for sender in senders:
        sender.start()
    assert all(came.acquire(timeout=60) for _ in senders)
    try:
        assert send(made, "GET", "/collect/habits").status == 200 and kept == []
    finally:
        may_go.set()
        for sender in senders:
            sender.join()
    assert kept == [204] * 60


def test_a_survey_that_was_changed_is_not_served(made):
    page = made.root / "surveys" / "habits" / "survey.html"
    page.write_text(page.read_text("utf-8").replace("getRandomValues", "getSomeValues"), "utf-8")
    assert send(made, "GET", "/collect/habits").status == 500
    assert send(made, "POST", "/collect/habits", lines(made, 1)[0]).status == 500
    assert not (made.root / "answers" / "habits.db").exists()


def test_other_changes_still_come_from_its_own_pages(made):
    """What surveys are allowed, nothing else is."""
    sent = send(made, "POST", "/sign-in", b"", Origin="https://a.example")
    assert sent.status == 403


@pytest.mark.slow
def test_a_respondent_answers_at_the_server_in_a_browser(made):
    """The page's own policy and the server's headers let it run, and send to this address and no other."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium")
    address = f"http://127.0.0.1:{made.port}/collect/here"
    dp.collect(TWO, made.root / "surveys" / "here", send=address)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page, said = browser.new_page(), []
        page.on("console", lambda message: said.append(message.text))
        page.goto(address)
        page.get_by_label("yes").check()
        page.get_by_label("age", exact=True).fill("7")
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("status").filter(has_text="Thank you").wait_for()
        browser.close()
    assert said == []
    release = dp.adopt(made.root / "answers" / "here.db", made.root / "surveys" / "here", made.root / "releases" / "h")
    assert release.rows == 1
