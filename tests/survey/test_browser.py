"""Respondents in a real browser: on a phone, a tablet and a desk, light and dark, by keyboard, and with what may go
wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof.local.mechanisms import MECHANISMS
from tests.survey.node import DRAW, EVERY_DRAW
from tests.survey.test_adopt import EVERY
from tests.survey.test_collect import HABITS, data_in
from tests.survey.test_draw import (
    CASES,
    ONE_OF_EACH,
    WORDS,
    Run,
    check_draws,
    check_every_path,
    check_every_word,
    law_of,
)

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
SIZES = {"phone": (360, 740, "light"), "tablet": (820, 1100, "dark"), "desk": (1280, 900, "light")}
SCREENS = os.environ.get("DPROOF_SCREENSHOTS")  # a folder, for who wants to look


class Receiver:
    """A server that gives the pages of a folder, and keeps what is sent to it."""

    def __init__(self, folder: Path) -> None:
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.status = 204
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                receiver.requests.append(("GET", self.path, dict(self.headers), b""))
                file = folder / self.path.lstrip("/")
                self.send_response(200 if file.is_file() else 404)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(file.read_bytes() if file.is_file() else b"")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append(("POST", self.path, dict(self.headers), body))
                self.send_response(receiver.status)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    @property
    def sent(self) -> list[dict[str, Any]]:
        return [json.loads(body) for method, _, _, body in self.requests if method == "POST"]

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    receiver = Receiver(tmp_path)
    yield receiver
    receiver.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def visit(browser: Any, size: str = "phone") -> tuple[Any, list[str]]:
    """A page of a new browser, and what its script complains of."""
    width, height, scheme = SIZES[size]
    page = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme).new_page()
    page.set_default_timeout(20_000)
    said: list[str] = []
    page.on("console", lambda message: message.type in ("error", "warning") and said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    return page, said


def look(page: Any, name: str) -> None:
    """Nothing is wider than the window, and all that can be touched is large enough; a picture for who wants one."""
    if SCREENS:
        page.screenshot(path=Path(SCREENS) / f"{name}-{page.viewport_size['width']}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
    heights = page.evaluate("[...document.querySelectorAll('label, button, select')].map(e => e.offsetHeight)")
    assert all(height >= 44 for height in heights), heights


def answer_habits(page: Any) -> None:
    page.get_by_role("group", name="Do you smoke?").get_by_label("sometimes").check()
    page.get_by_label("How old are you?", exact=True).fill("44")
    page.get_by_label("cocaine").check()
    page.get_by_label("1980-01-01 – 1989-12-31").check()
    page.get_by_role("group", name="mood").get_by_label("5", exact=True).check()


@pytest.mark.parametrize("size", SIZES)
def test_a_respondent_answers_and_sees_what_is_sent(
    size: str, browser: Any, receiver: Receiver, tmp_path: Path
) -> None:
    survey = dp.collect(HABITS, tmp_path / "survey", send=f"{receiver.address}/in")
    page, said = visit(browser, size)
    page.goto(f"{receiver.address}/survey/survey.html")
    page.get_by_role("button", name="Show what would be sent").click()
    assert page.get_by_role("alert").filter(has_text="Please answer").count() == 4  # no item ticked is an answer
    look(page, "unanswered")
    answer_habits(page)
    look(page, "answered")
    page.get_by_role("button", name="Show what would be sent").click()
    page.get_by_role("heading", name="Before anything is sent").wait_for()
    look(page, "review")
    told = page.locator("main").inner_text()
    assert page.locator("dd.true").all_inner_texts() == ["sometimes", "44", "cocaine", "1980-01-01 – 1989-12-31", "5"]
    assert "people who answer like you" in told and "Example University" in told and "20.09" in told
    assert receiver.sent == []
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("status").filter(has_text="Thank you").wait_for()
    look(page, "sent")
    (line,) = receiver.sent
    assert line["survey"] == survey.key and line["row"].keys() == {group.name for group in survey.law.groups}
    assert said == []
    (tmp_path / "answers.jsonl").write_text(json.dumps(line))
    assert dp.adopt(tmp_path / "answers.jsonl", tmp_path / "survey", tmp_path / "release").rows == 1


def test_nothing_of_the_true_answer_leaves(browser: Any, receiver: Receiver, tmp_path: Path) -> None:
    """Requests, storage and address know the drawn line and nothing else, and the way back finds empty fields."""
    dp.collect(HABITS, tmp_path / "survey", send=f"{receiver.address}/in")
    page, _ = visit(browser)
    page.context.add_cookies([{"name": "who", "value": "ann", "url": receiver.address}])
    page.goto(f"{receiver.address}/survey/survey.html")
    answer_habits(page)
    page.get_by_role("button", name="Show what would be sent").click()
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("status").wait_for()
    (sent,) = [request for request in receiver.requests if request[0] == "POST"]
    assert sent[1] == "/in" and "Cookie" not in sent[2] and "Referer" not in sent[2]
    assert [request[:2] for request in receiver.requests] == [("GET", "/survey/survey.html"), ("POST", "/in")]
    kept = page.evaluate(
        "JSON.stringify([...Array(localStorage.length).keys()].map(n => localStorage.getItem(localStorage.key(n))))"
    )
    assert json.loads(json.loads(kept)[0]) == {"line": sent[3].decode().strip()}
    assert page.evaluate("[sessionStorage.length, document.cookie, location.hash + location.search]") == [
        0,
        "who=ann",
        "",
    ]
    page.reload()
    answer_habits(page)
    page.evaluate("window.dispatchEvent(new Event('pagehide'))")  # a page that is kept for the way back
    assert page.locator("main").inner_html() == ""
    page.goto("about:blank")
    page.go_back()
    page.locator("form").wait_for()
    filled = "[...document.querySelectorAll('input')].some(e => e.checked || (e.type == 'number' && e.value))"
    assert not page.evaluate(filled)


def test_a_second_try_sends_the_same_line(browser: Any, receiver: Receiver, tmp_path: Path) -> None:
    dp.collect(HABITS, tmp_path / "survey", send=f"{receiver.address}/in")
    page, _ = visit(browser)
    for mood in ("1", "5"):
        page.goto(f"{receiver.address}/survey/survey.html")
        answer_habits(page)
        page.get_by_role("group", name="mood").get_by_label(mood, exact=True).check()
        page.get_by_role("button", name="Show what would be sent").click()
        assert page.get_by_text("drawn an answer for this survey before").count() == (mood == "5")
        receiver.status = 503 if mood == "1" else 204
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("alert" if mood == "1" else "status").filter(has_text=re.compile(r"\S")).wait_for()
    assert len(receiver.sent) == 2 and receiver.sent[0] == receiver.sent[1]
    page, _ = visit(browser)  # another browser draws anew
    page.goto(f"{receiver.address}/survey/survey.html")
    answer_habits(page)
    page.get_by_role("button", name="Show what would be sent").click()
    page.get_by_role("button", name="Do not send").click()
    page.get_by_text("Nothing was sent").wait_for()
    assert len(receiver.sent) == 2


def test_a_ticket_is_taken_from_the_address_or_typed(browser: Any, receiver: Receiver, tmp_path: Path) -> None:
    """It stands in the line that is shown and sent, and is not kept; a refusal is told, and can be mended."""
    dp.collect(EVERY["joined"] | {"tickets": True}, tmp_path / "survey", send=f"{receiver.address}/in")
    page, said = visit(browser)
    page.goto(f"{receiver.address}/survey/survey.html#abc23")
    page.locator("form").wait_for()
    for group in page.locator("fieldset").all():
        group.locator("input").first.check()
    page.get_by_role("button", name="Show what would be sent").click()
    field = page.get_by_label("Your ticket")
    assert field.input_value() == "abc23"
    look(page, "ticket")
    exactly = page.locator("textarea")
    assert json.loads(exactly.input_value())["ticket"] == "abc23"
    field.fill("")
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("alert").filter(has_text="Please give your ticket").wait_for()
    assert receiver.sent == [] and field.evaluate("e => document.activeElement === e")
    receiver.status = 403
    field.fill(" Wrong ")
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("alert").filter(has_text="not taken").wait_for()
    receiver.status = 204
    field.fill("abc23")
    line = exactly.input_value()
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("status").wait_for()
    wrong, sent = receiver.requests[-2][3].decode(), receiver.requests[-1][3].decode()
    assert json.loads(wrong)["ticket"] == "wrong" and sent == f"{line}\n"
    assert {**json.loads(wrong), "ticket": "abc23"} == json.loads(sent)  # one draw, whatever the ticket
    kept = page.evaluate("JSON.stringify(localStorage)")
    assert "abc23" not in kept and json.loads(sent)["id"] in kept
    assert all("abc23" not in path for _, path, _, _ in receiver.requests)
    assert [text for text in said if "403" not in text] == []


def test_numbers_are_written_as_in_the_language_of_the_texts(browser: Any, tmp_path: Path) -> None:
    """What is 9,999 in English is 9.999 in German, and 9,999 there is less than 10."""
    german = Path(__file__).parents[2] / "examples" / "texts.de.toml"
    pay = {"space": "interval", "low": "0.5", "high": 10000, "step": "1/2"}
    plan = {"privacy": {"epsilon": "1"}, "columns": {"pay": pay}}
    told = []
    for texts in (None, german):
        dp.collect(plan, tmp_path / f"survey{texts is None}", texts=texts)
        page, said = visit(browser)
        page.goto((tmp_path / f"survey{texts is None}" / "survey.html").as_uri())
        told.append(page.locator("fieldset p").first.inner_text())
        page.locator("input").fill("2400.5")
        page.get_by_role("button").first.click()
        page.locator("dl").wait_for()
        words = page.locator("main").inner_text()
        told += [
            *page.locator("dd.true").all_inner_texts(),
            *re.findall(r"[0-9][0-9.,]*[0-9](?= from| von der)", words),
        ]
        told += re.findall(r"(?:factor of|Faktor) ([0-9.,]*[0-9])", words)
        assert said == []
    assert told == ["From 0.5 to 10000.", "2400.5", "9,999", "2.72", "Von 0,5 bis 10000.", "2400,5", "9.999", "2,72"]


def test_by_keyboard_alone(browser: Any, receiver: Receiver, tmp_path: Path) -> None:
    plan = EVERY["joined"]
    dp.collect(plan, tmp_path / "survey", send=f"{receiver.address}/in")
    page, said = visit(browser, "desk")
    page.goto(f"{receiver.address}/survey/survey.html")
    page.locator("form").wait_for()
    for key in ("Tab", "Space", "Tab", "Space", "Tab", "Enter"):
        page.keyboard.press(key)
    page.get_by_role("heading", name="Before anything is sent").wait_for()
    assert page.locator("dd.true").all_inner_texts() == ["yes + 1"]
    for key in ("Tab", "Tab", "Enter"):  # past the line
        page.keyboard.press(key)
    page.get_by_role("status").wait_for()
    assert list(receiver.sent[0]["row"]) == ["read × mood"] and said == []


@pytest.mark.parametrize("name", [*EVERY, "many", "dates"])
def test_every_kind_of_column_is_asked_drawn_and_told(
    name: str, browser: Any, receiver: Receiver, tmp_path: Path
) -> None:
    more = {
        "many": {"town": {"space": "categories", "values": [f"t{n}" for n in range(40)], "missing": "category"}},
        "dates": {"born": {"space": "date", "low": "1920-01-01", "high": "2009-12-31", "missing": "category"}},
    }
    plan = EVERY.get(name) or {"privacy": {"epsilon": 1}, "columns": more[name]}
    survey = dp.collect(plan, tmp_path / "survey", send=f"{receiver.address}/in")
    for _ in range(4):
        page, said = visit(browser)
        page.goto(f"{receiver.address}/survey/survey.html")
        page.locator("form").wait_for()
        for group in page.locator("fieldset").all():
            if group.locator("select").count():
                group.locator("select").select_option(index=3)
            elif group.locator("input[type=number]").count():
                group.locator("input[type=number]").fill("18" if name == "habits" else "3.75")
            elif group.locator("input[type=date]").count():
                group.locator("input[type=date]").fill("1977-05-25")
            else:
                group.locator("input").first.check()
        page.get_by_role("button").first.click()
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("status").wait_for()
        assert said == []
    (tmp_path / "answers.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in receiver.sent))
    release = dp.adopt(tmp_path / "answers.jsonl", tmp_path / "survey", tmp_path / "release")
    assert release.rows == 4 and release.certificate["release"]["adopted"]["left_out"] == 0
    assert all(line["survey"] == survey.key for line in receiver.sent)


COLUMNS: dict[str, dict[str, Any]] = {
    "categories": {"values": ["a", "b", "c"]},
    "interval": {"low": 1, "high": 50, "step": "1/2"},
    "rating": {"space": "interval", "low": 1, "high": 5, "step": 1},
    "date": {"low": "2020-01-01", "high": "2020-12-31"},
    "time": {"low": "08:00", "high": "08:45"},
    "subsets": {"values": ["x", "y"]},
}
READ = {
    "interval": r"-?[\d,]+(\.\d+)?",
    "rating": r"-?\d+(\.\d+)?",
    "date": r"\d{4}-\d\d-\d\d",
    "time": r"-?\d\d+:\d\d",
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_mechanism_is_drawn_and_told_in_words(kind: str, browser: Any, tmp_path: Path) -> None:
    """One page with a column for each mechanism of a space, and for each where an answer may be missing."""
    columns: dict[str, Any] = {}
    for mechanism in MECHANISMS[kind if kind in MECHANISMS else "interval"]:
        for missing in ({}, {"missing": "category"}):
            own: dict[str, Any] = {"space": kind, **COLUMNS[kind], "mechanism": mechanism, **missing}
            if kind == "categories" and mechanism == "design":
                own["metric"] = "ordinal"
            plan = {"privacy": {"epsilon": 2, "delta": "1e-3"}, "columns": {"x": own}}
            try:
                dp.collect(plan, tmp_path / f"{mechanism} {len(missing)}")
            except dp.InputError:
                continue  # what cannot be missing, or has too large a design
            columns[f"{mechanism} {len(missing)}"] = own
    assert len(columns) >= 6
    plan = {"privacy": {"epsilon": 2 * len(columns), "delta": "1e-1"}, "columns": columns}
    survey = dp.collect(plan, tmp_path / "survey")
    page, said = visit(browser)
    page.goto((tmp_path / "survey" / "survey.html").as_uri())
    page.locator("form").wait_for()
    for group in page.locator("fieldset").all():
        for typed, value in {"number": "18.5", "date": "2020-05-25", "time": "08:30"}.items():
            for field in group.locator(f"input[type={typed}]").all():
                field.fill(value)
        for field in group.locator("label.choice").all()[:1]:
            if not group.locator("input[type=number], input[type=date], input[type=time]").count():
                field.click()
    page.get_by_role("button").first.click()
    page.locator("dl").first.wait_for()
    for name, sent in zip(columns, page.locator("dd.sent").all_inner_texts(), strict=True):
        assert kind not in READ or re.fullmatch(f"{READ[kind]}|no answer", sent), (name, sent)
    told = page.locator("main").inner_text()
    assert said == [] and page.locator("dl").count() == len(columns)
    assert not re.search(r"[{}]|undefined|NaN|null|Infinity|\[object", told), told
    line = json.loads(page.locator("textarea").input_value())
    assert line["row"].keys() == columns.keys() and line["survey"] == survey.key
    (tmp_path / "answers.jsonl").write_text(json.dumps(line))
    assert dp.adopt(tmp_path / "answers.jsonl", tmp_path / "survey", tmp_path / "release").rows == 1


TOLD: dict[str, dict[str, Any]] = {
    "almost always": {"space": "categories", "values": ["yes", "no"], "share": 40},
    "hardly ever": {"space": "categories", "values": [f"v{n}" for n in range(300)], "mechanism": "randomised_response"},
    "rating": {"space": "interval", "low": 1, "high": 5, "step": 1, "missing": "category"},
    "stand-in": {"space": "interval", "low": 1, "high": 5, "step": 1, "missing": 3, "mechanism": "design"},
    "days": {"space": "date", "low": "2020-01-01", "high": "2020-01-05"},
    "minutes": {"space": "time", "low": "08:00", "high": "08:09"},
    "clamped": {"space": "interval", "low": 0, "high": 6, "step": "1/2", "mechanism": "clamped_laplace"},
    "bounded": {"space": "interval", "low": 0, "high": 6, "step": "1/2", "mechanism": "bounded_laplace"},
    "may be missing": {
        "space": "interval",
        "low": 0,
        "high": 6,
        "step": "1/2",
        "missing": "category",
        "mechanism": "clamped_laplace",
    },
    "bins": {"space": "interval", "low": 0, "high": 40, "step": "1/2", "bins": [0, 10, 30, 40]},
}


def distance(group: Any, code: int) -> float:
    """How far what is shown of a number lies from the answer on average, by the law of the certificate."""
    law, given, drawn = group.mechanism.family.shown, group.columns[0].space, group.outputs[0]
    true, mean, whole = given.line.origin + given.line.step * code, 0.0, 0.0
    for output in range(law.outputs or given.size):
        if output != drawn.absent:
            chance = float(law.probability(code, output))
            whole += chance
            mean += chance * abs(float(drawn.line.origin + drawn.line.step * output - true))
    return mean / whole


def test_what_a_page_tells_of_its_draws_is_true_of_every_answer(browser: Any, tmp_path: Path) -> None:
    """How many people send the same, with some on each side, and how far a number is moved, by the exact laws."""
    survey = dp.collect({"privacy": {"epsilon": 10}, "columns": TOLD}, tmp_path / "survey")
    page, said = visit(browser)
    page.goto((tmp_path / "survey" / "survey.html").as_uri())
    page.locator("form").wait_for()
    tell = "([group, codes]) => codes.map((code) => meaning(survey.groups[group], BigInt(code)))"
    for place, (name, group) in enumerate(zip(TOLD, survey.law.groups, strict=True)):
        law, space = group.mechanism.family, group.columns[0].sanitised
        codes = list(range(space.size))
        for code, words in zip(codes, page.evaluate(tell, [place, codes]), strict=True):
            found = re.findall(r"[Oo]f ([\d,]+) people|about ([\d.,]*\d)", words)
            numbers = [float((of or about).replace(",", "")) for of, about in found]
            is_number, is_missing = space.line is not None, code == space.absent
            if is_number and not is_missing:
                moved, *numbers = numbers
                assert distance(group, code) <= moved * 1.01, (name, code, words)
                assert law.to_json()["kind"] != "matrix" or moved <= distance(group, code) * 1.01, (name, code, words)
            if is_number and space.absent is None:
                assert not numbers
                continue
            absent = group.outputs[0].absent if law.absent is None else law.absent
            kept = absent if is_number else code
            of, some, *rest = numbers
            chance = float(law.probability(code, kept))
            assert 0 < some < of and abs(some / of - chance) <= min(0.02, chance / 2), (name, code, words)
            assert rest in ([], [of - some]), words
    assert said == []


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        ("minutes", -9, "07:51"),
        ("minutes", 1440, "32:00"),
        ("minutes", -485, "-00:05"),
        ("days", -1, "2019-12-31"),
        ("days", 366 * 8000, "+010036-08-04"),
    ],
)
def test_a_number_is_told_as_it_is_sent_however_far_noise_leads(
    given: str, code: int, told: str, browser: Any, tmp_path: Path
) -> None:
    dp.collect({"privacy": {"epsilon": 1}, "columns": {"x": TOLD[given]}}, tmp_path / "survey")
    page, _ = visit(browser)
    page.goto((tmp_path / "survey" / "survey.html").as_uri())
    page.locator("form").wait_for()
    line = "{ low: survey.columns[0].choices[0].includes(':') ? '480' : '737424', step: '1', absent: null }"
    assert page.evaluate(f"told(survey.columns[0], {line}, {code}n)") == told


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("18", 0),
        ("98", 80),
        ("18.4", 0),
        ("18.5", 1),
        ("44", 26),
        ("17", None),
        ("99", None),
        ("1e1", None),
        ("3e1", 12),
    ],
)
def test_a_number_is_read_as_sanitise_reads_it(typed: str, code: int | None, browser: Any, tmp_path: Path) -> None:
    """Without noise what is sent is the code of the nearest point; what lies outside is asked for again."""
    plan = {"privacy": {"epsilon": 900}, "columns": {"age": HABITS["columns"]["age"]}}
    dp.collect(plan, tmp_path / "survey")
    page, said = visit(browser)
    page.goto((tmp_path / "survey" / "survey.html").as_uri())
    page.locator("input").fill(typed)
    page.get_by_role("button").first.click()
    if code is None:
        page.get_by_text("Please give a value from 18 to 98").wait_for()
    else:
        line = json.loads(page.locator("textarea").input_value())
        assert line["row"] == {"age": code}
        with page.expect_download() as download:
            page.get_by_role("button", name="Save").click()
        assert json.loads(Path(download.value.path()).read_text()) == line
    assert said == []


@pytest.mark.parametrize("before", ['"keep":"', '"question":"Do you', '"size":"81"'])
def test_a_page_whose_laws_do_not_match_does_not_run(before: str, browser: Any, tmp_path: Path) -> None:
    dp.collect(HABITS, tmp_path / "survey")
    page, file = visit(browser)[0], tmp_path / "survey" / "survey.html"
    text = file.read_text("utf-8")
    data_in(text)
    file.write_text(
        text.replace(before, before[:-1] + "1" + before[-1:] if before.endswith('"81"') else f"{before}1", 1)
    )
    page.goto(file.as_uri())
    page.get_by_role("alert").filter(has_text="was changed").wait_for()
    assert page.locator("form").count() == 0


def test_a_script_that_was_changed_is_stopped_by_the_policy(browser: Any, tmp_path: Path) -> None:
    dp.collect(HABITS, tmp_path / "survey")
    file = tmp_path / "survey" / "survey.html"
    file.write_text(file.read_text("utf-8").replace("getRandomValues(bytes)", "getRandomValues(bytes).fill(0)"))
    page, said = visit(browser)
    page.goto(file.as_uri())
    page.wait_for_timeout(300)
    assert page.locator("form").count() == 0 and any("Content Security Policy" in text for text in said)


def test_without_a_secure_source_it_does_not_run(browser: Any, tmp_path: Path) -> None:
    dp.collect(HABITS, tmp_path / "survey")
    page, _ = visit(browser)
    page.add_init_script("Object.defineProperty(globalThis.crypto, 'subtle', {value: undefined})")
    page.goto((tmp_path / "survey" / "survey.html").as_uri())
    page.get_by_role("alert").filter(has_text="secure source").wait_for()
    assert page.locator("form").count() == 0


def test_words_stand_out_enough(browser: Any, tmp_path: Path) -> None:
    """Contrast of at least 4.5 between every text and what lies behind it (WCAG AA), light and dark."""
    dp.collect(HABITS, tmp_path / "survey")
    ratio = """() => {
      const part = x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
      const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(x => part(x / 255));
                           return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05; };
      const own = e => getComputedStyle(e).backgroundColor;
      const behind = e => own(e) === 'rgba(0, 0, 0, 0)' ? behind(e.parentElement) : own(e);
      return Math.min(...[...document.querySelectorAll('main *')].filter(e => e.textContent).map(e => {
        const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
        return a / b; }));
    }"""
    for size in ("phone", "tablet"):
        page, _ = visit(browser, size)
        page.goto((tmp_path / "survey" / "survey.html").as_uri())
        page.get_by_role("button").first.click()
        assert page.evaluate(ratio) >= 4.5
        answer_habits(page)
        page.get_by_role("button").first.click()
        page.locator("dl").first.wait_for()
        assert page.evaluate(ratio) >= 4.5


def test_everything_has_a_name_for_a_screen_reader(browser: Any, tmp_path: Path) -> None:
    dp.collect(HABITS, tmp_path / "survey")
    page, _ = visit(browser)
    page.goto((tmp_path / "survey" / "survey.html").as_uri())
    page.locator("form").wait_for()
    tree = page.locator("main").aria_snapshot()
    assert tree.count('- group "') == 5 and '- spinbutton "How old are you?"' in tree
    assert not re.search(r"- (radio|checkbox|textbox|button|combobox|spinbutton)(\s|:|$)(?! *\")", tree)
    assert page.evaluate("document.documentElement.lang") == "en" and page.title() == "Habits </script> & health"


@pytest.fixture
def in_browser(browser: Any) -> Run:
    """`every_draw.js`, with the sampler that it reads, in the browser."""
    page, _ = visit(browser)
    page.set_default_timeout(0)
    script = DRAW.read_text("utf-8"), EVERY_DRAW.read_text("utf-8")
    as_in_node = """([draw, every, asked]) => {
      let told;
      const files = { draw, 0: asked };
      const require = () => ({ readFileSync: (name) => files[name] });
      const process = { argv: ["", "", "draw"], stdout: { write: (text) => (told = text) } };
      new Function("require", "process", every)(require, process);
      return told;
    }"""

    def run(asked: list[dict[str, Any]]) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(page.evaluate(as_in_node, [*script, json.dumps(asked)]))
        return told

    return run


def test_every_law_is_drawn_in_the_browser_as_in_node(in_browser: Run) -> None:
    """Every path through each sampler, and every word of 16 bits, give the whole numbers of the certificate."""
    for name in CASES:
        check_every_path(law_of(name), in_browser)
    for law in WORDS:
        check_every_word(law, in_browser)


@pytest.mark.parametrize("name", ONE_OF_EACH.values())
def test_draws_with_secure_coins_fit_the_law(name: str, in_browser: Run) -> None:
    """χ² of 10^6 draws of randomised response, and of 10^5 of a law of each other kind."""
    check_draws(name, 10**6 if name == "response" else 10**5, in_browser)
