"""The walk of an analyst and of a custodian in a real browser: wide and narrow, light and dark, by keyboard alone."""

import os
import shutil
from pathlib import Path

import pytest

from tests.service.server import make_folder, serving

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1100, "height": 900}
SCREENS = os.environ.get("DPROOF_SCREENSHOTS")  # a folder, for who wants to look


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    made = make_folder(tmp_path_factory.mktemp("served"))
    shutil.copy(made.root / "tables" / "people.csv", made.root / "tables" / "survey.csv")
    with serving(made) as made:
        yield made


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(params=[(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def page(request, browser, made):
    """A page whose script raises nothing, asks nothing of another host, and which never scrolls sideways."""
    size, scheme = request.param
    page = browser.new_page(viewport=size, color_scheme=scheme, base_url=f"http://127.0.0.1:{made.port}")
    page.set_default_timeout(60_000)
    said, asked = [], []
    page.on("console", lambda message: message.type in ("error", "warning") and said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield page
    page.close()
    assert [text for text in said if "status of 400" not in text] == []  # that is a question refused
    assert all(url.startswith((f"http://127.0.0.1:{made.port}/", "data:")) for url in asked)


def look(page, name):
    """Nothing is wider than the window; a picture is kept for who wants one."""
    if SCREENS:
        page.screenshot(path=Path(SCREENS) / f"{name}-{page.viewport_size['width']}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name


def sign_in(page, token):
    page.goto("/")
    look(page, "sign-in")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Tables and releases").wait_for()


def test_an_analyst_asks(page, made):
    sign_in(page, made.ann)
    look(page, "home")
    page.get_by_role("link", name="people").click()
    page.locator("[name=by]").select_option("sex")
    page.get_by_role("button", name="Write it").click()
    assert page.get_by_label("Question").input_value() == "SELECT sex, count(*) AS n FROM data GROUP BY sex"
    page.get_by_role("button", name="Preview").click()
    page.locator("#answer pre").wait_for()
    look(page, "preview")
    page.get_by_role("button", name="Ask").click()
    page.locator("#answer table").wait_for()
    page.locator("img.chart").wait_for()
    look(page, "answer")
    assert page.locator("#answer tbody tr").count() >= 2 and "more counts at ±" in page.locator("#left").inner_text()
    page.get_by_label("Question").fill("SELECT nothing FROM data")
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("alert").wait_for()
    look(page, "refused")
    page.reload()
    page.get_by_text("What the promise means to a person").click()
    page.get_by_text("What is in the table: its plan").click()
    look(page, "table")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()


def test_a_custodian_plans_sanitises_and_hands_out_a_token(page, made):
    width = page.viewport_size["width"]
    sign_in(page, made.carla)
    page.get_by_role("link", name="Plans and tokens").click()
    page.get_by_label("Name").fill("dan")
    page.get_by_label("Tables").select_option("people")
    page.get_by_role("button", name="Give a token").click()
    page.locator("code.token").wait_for()
    look(page, "custody")
    page.locator("main").get_by_role("link", name="survey").click()
    page.get_by_label("values of sex").fill("f\nm")
    page.get_by_label("kind of age").select_option("interval")
    for key, value in (("low", "18"), ("high", "90"), ("bins", "18, 40, 90")):
        page.get_by_label(f"{key} of age").fill(value)
    page.get_by_label("Questions that matter").fill("SELECT sex, avg(age) AS a FROM data GROUP BY sex")
    page.get_by_role("button", name="What it would give").click()
    page.locator("#expected h2, #expected .error").first.wait_for()
    assert "What it would give" in page.locator("#expected").inner_text()
    look(page, "plan")
    if (made.root / "ledgers" / "survey.db").exists():  # the other size was here before
        return
    page.get_by_role("button", name="Save the plan").click()
    page.get_by_text("Saved as plans/survey.toml").wait_for()
    page.get_by_role("button", name="Confidential look").click()
    page.get_by_text("CONFIDENTIAL").wait_for()
    look(page, "check")
    page.get_by_label("release", exact=True).fill(f"survey-{width}")
    page.get_by_role("button", name="Sanitise").click()
    page.get_by_text("The release is made").wait_for()
    page.goto(f"/releases/survey-{width}")
    page.get_by_role("button", name="Query").click()
    page.locator("#answer table").wait_for()
    look(page, "release")


def test_the_keyboard_is_enough(page, made):
    page.goto("/")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "token":
            break
    page.keyboard.type(made.bob)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Tables and releases").wait_for()
    press_until(page, "a", "people")
    page.get_by_role("heading", name="Ask people").wait_for()
    press_until(page, "button", "Preview")
    page.locator("#answer pre").wait_for()
    page.get_by_label("Question").fill("SELECT se")
    page.get_by_label("Question").press("Control+Space")
    assert page.get_by_label("Question").input_value() in ("SELECT sex", "SELECT SELECT")


def press_until(page, kind, text):
    """Go on by Tab to something with a text, each step to be seen, and press Enter there."""
    for _ in range(40):
        page.keyboard.press("Tab")
        at = page.evaluate(
            "(() => { const at = document.activeElement, style = getComputedStyle(at);"
            " return [at.tagName.toLowerCase(), at.innerText || '', style.outlineStyle]; })()"
        )
        assert at[0] == "body" or at[2] != "none", f"where the keyboard is cannot be seen at {at}"
        if at[:2] == [kind, text]:
            page.keyboard.press("Enter")
            return
    pytest.fail(f"no Tab leads to {text}")
