"""The walk of an analyst and of a custodian in a real browser: wide and narrow, light and dark, by keyboard alone."""

import os
import re
import shutil
from pathlib import Path

import pytest

import dproof as dp
from tests.serve.server import make_folder, serving

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
    for size in (PHONE, DESK):  # one for each walk
        shutil.copy(made.root / "tables" / "people.csv", made.root / "tables" / f"survey-{size['width']}.csv")
    dp.sanitise(
        made.root / "tables" / "people.csv", made.root / "plans" / "people.toml", made.root / "releases" / "ready"
    )
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
    assert [text for text in said if not re.search("status of 4(00|13)", text)] == []  # that is what was refused
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
    assert "list_contains" not in page.locator("main").inner_text() and "f, m" in page.locator("main").inner_text()
    page.locator("[name=by]").select_option("sex")
    page.locator("[name=where]").select_option("age")
    page.locator("[name=comparison]").select_option("<")
    page.locator("[name=value]").fill("50")
    page.get_by_role("button", name="Write it").click()
    sql = "SELECT sex, count(*) AS n FROM data WHERE age < 50 GROUP BY sex"
    sync_api.expect(page.get_by_label("Question", exact=True)).to_have_value(sql)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("heading", name="Preview").wait_for()
    assert "It costs ε = 0.1" in page.locator("#answer").inner_text() or "Free" in page.locator("#answer").inner_text()
    look(page, "preview")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("heading", name="Answer").wait_for()
    page.locator("img.chart").wait_for()
    sync_api.expect(page.get_by_role("status")).to_have_text("Answer")
    look(page, "answer")
    assert page.locator("#answer tbody tr").count() >= 2 and "more counts at ±" in page.locator("#left").inner_text()
    assert "dp.connect(" in page.locator("#answer").inner_text() and page.locator("#history a").count() >= 1
    page.get_by_label("Question", exact=True).fill("SELECT nothing FROM data")
    page.get_by_role("button", name="Ask", exact=True).click()
    sync_api.expect(page.locator("#question-error")).to_contain_text("nothing")
    sync_api.expect(page.get_by_label("Question", exact=True)).to_have_attribute("aria-invalid", "true")
    look(page, "refused")
    page.get_by_role("link", name="ask again").first.click()
    assert 'FROM data WHERE "age" < 50' in page.get_by_label("Question", exact=True).input_value()
    page.get_by_text("What the promise means to a person").click()
    page.locator("summary", has_text="The plan").click()
    look(page, "table")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download dummy rows").click()
    assert Path(download.value.path()).read_text().startswith('"sex","age"')
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()


def box(page, name):
    """The line of a column, opened."""
    found = page.locator("details.column").filter(has=page.get_by_label(f"Kind of {name}", exact=True))
    if found.get_attribute("open") is None:
        found.locator("summary").click()
    return found


def go_on(page, step):
    """To the next step, by its button."""
    page.get_by_role("button", name="Next: ").click()
    page.wait_for_url(f"**/{step}")


def test_a_custodian_plans_sanitises_and_hands_out_a_token(page, made):
    width = page.viewport_size["width"]
    sign_in(page, made.carla)
    page.get_by_role("link", name="Plans and tokens").click()
    sent = {"name": f"sent-{width}.csv", "mimeType": "text/csv", "buffer": b"sex,age\nf,34\n"}
    page.get_by_label("File").set_input_files(sent)
    page.get_by_role("button", name="Send").click()
    page.locator("#files").get_by_role("link", name=f"sent-{width}").wait_for()
    page.get_by_role("button", name="Send").click()
    sync_api.expect(page.locator("#upload-error")).to_contain_text("already")
    look(page, "tables")
    page.goto(f"/plans/sent-{width}")
    page.get_by_label("Replace it by").set_input_files({**sent, "name": "x.csv", "buffer": b"sex,years\nf,34\n"})
    page.get_by_role("button", name="Replace", exact=True).click()
    page.get_by_text("2 columns: sex, years").wait_for()
    page.get_by_label("Remove the table").check()
    page.get_by_role("button", name="Remove", exact=True).click()
    page.wait_for_url("**/custody")
    assert page.get_by_role("link", name=f"sent-{width}").count() == 0
    page.locator("main").get_by_role("link", name=f"survey-{width}").click()
    look(page, "step-table")
    page.get_by_role("button", name="Look at the table and fill in").click()
    page.wait_for_url("**/columns")
    assert box(page, "sex").locator("[name=values]").input_value() == "f\nm"
    box(page, "sex").locator("[name=values]").fill("1 = f\n2 = m")
    box(page, "sex").get_by_text("look like a code book").wait_for()
    box(page, "sex").locator("[name=taken]").select_option("label")
    box(page, "age").locator("[name=low]").fill("18")
    box(page, "age").locator("[name=high]").fill("9o")
    sync_api.expect(box(page, "age").locator("p.error")).to_contain_text("“High” must be a number")
    sync_api.expect(box(page, "age").locator("[name=high]")).to_have_attribute("aria-invalid", "true")
    look(page, "mistake")
    box(page, "age").locator("[name=high]").fill("90")
    box(page, "age").locator("[name=step]").fill("1")
    page.locator("#expected caption", has_text="about 500 rows").wait_for()
    page.get_by_role("button", name="Next: ").click()
    sync_api.expect(page.locator("#error-seen")).to_contain_text("come from the table")
    page.get_by_label("I have read them through").check()
    look(page, "step-columns")
    go_on(page, "trust")
    assert page.locator("svg.range").count() == 4
    look(page, "step-trust")
    go_on(page, "questions")
    page.locator("[name=what]").select_option("avg")
    page.locator("[name=number]").select_option("age")
    page.locator("[name=by]").select_option("sex")
    page.get_by_role("button", name="Add it").click()
    asked = "SELECT sex, avg(age) AS avg_age FROM data GROUP BY sex"
    sync_api.expect(page.get_by_label("Question 1", exact=True)).to_have_value(asked)
    page.locator("#expected td").first.wait_for()
    look(page, "step-questions")
    go_on(page, "gives")
    assert page.locator("#expected thead th").count() == 7
    look(page, "step-gives")
    page.get_by_label("± wanted").fill("5")
    page.get_by_role("button", name="Find ε").click()
    page.locator("#epsilons caption").wait_for()
    look(page, "epsilon")
    found = page.locator("#epsilons button").first.inner_text().removeprefix("Use ")
    page.locator("#epsilons button").first.click()
    page.locator("html:not(.busy)").wait_for(state="attached")
    page.get_by_role("link", name="Whom to trust").click()
    assert page.get_by_label("ε", exact=True).input_value() == found
    page.get_by_role("link", name="Release", exact=True).click()
    page.get_by_text("It is not saved yet").wait_for()
    look(page, "step-release")
    page.get_by_role("button", name="Confidential look").click()
    page.locator(".confidential").wait_for()
    look(page, "check")
    page.get_by_role("link", name="Back to the plan").click()
    page.get_by_role("link", name="Release", exact=True).click()
    page.get_by_role("button", name="Sanitise").click()
    page.get_by_text("that cannot be taken back").wait_for()
    look(page, "confirm")
    assert not (made.root / "ledgers" / f"survey-{width}.db").exists()
    page.get_by_role("button", name="Spend it").click()
    page.locator("#progress", has_text="The release is made").wait_for()
    look(page, "made")
    report = page.request.get(f"/releases/survey-{width}/report")
    assert report.ok and "can deny" in report.text()
    page.get_by_role("link", name="Query the release").click()
    page.get_by_role("button", name="Query").click()
    page.locator("#answer table").wait_for()
    look(page, "release")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the release").click()
    assert download.value.suggested_filename == f"survey-{width}.zip"
    page.get_by_role("link", name="Plans and tokens").click()
    page.get_by_label("people").check()
    page.get_by_label("Name").fill(f"dan {width}")
    page.get_by_role("button", name="Give a token").click()
    page.locator("code.token").wait_for()
    look(page, "custody")
    page.get_by_role("button", name=re.compile(f"Revoke the token .* dan {width}")).click()
    page.locator("#given", has_text="is revoked").wait_for()
    look(page, "revoked")


def refused(page, words):
    """What was refused is shown, and told to a screen reader; nothing is said to be done."""
    page.locator("#status.failed", has_text=words).wait_for(state="visible")
    look(page, "refused")


def paste(page, count):
    """Many values into the form at once; to type them line by line would take a browser long."""
    put = "(box, text) => { box.value = text; box.dispatchEvent(new Event('input', { bubbles: true })); }"
    box(page, "sex").locator("[name=values]").evaluate(put, "\n".join(f"value {n}" for n in range(count)))


def test_what_is_refused_is_shown(page, made):
    width, place = page.viewport_size["width"], made.root / "tables"
    shutil.copy(place / "people.csv", place / f"short-{width}.csv")
    sign_in(page, made.carla)
    page.goto(f"/plans/short-{width}")
    page.get_by_role("button", name="Begin by hand").click()
    page.wait_for_url("**/columns")
    box(page, "age").get_by_label("Kind").select_option("drop")
    paste(page, 6000)
    go_on(page, "trust")  # many values are no mistake
    page.goto(f"/plans/short-{width}/columns")
    paste(page, 120_000)
    page.get_by_role("button", name="Next: ").click()
    refused(page, "the body is too large")
    page.goto(f"/plans/short-{width}/columns")
    (place / f"short-{width}.csv").unlink()
    page.get_by_role("button", name="Show what it gives").click()
    refused(page, "there is no table")
    shutil.copy(place / "people.csv", place / f"short-{width}.csv")
    page.goto(f"/plans/short-{width}/trust")
    page.get_by_label("ε", exact=True).fill("none")
    page.get_by_role("button", name="Next: ").click()
    beside = page.locator("form .error", has_text="must be a number")
    beside.wait_for()
    (place / f"short-{width}.csv").unlink()
    page.get_by_role("button", name="Next: ").click()
    refused(page, "there is no table")
    assert beside.count() == 0  # what was wrong before is not what is wrong now
    (place / f"bare-{width}.csv").write_text("f,34\nm,51\nf,28\n")
    page.goto(f"/plans/bare-{width}")
    page.get_by_role("button", name="Look at the table").click()
    page.wait_for_url("**/columns")
    page.get_by_role("link", name="Table", exact=True).click()
    page.locator("#error-names", has_text="look like values").wait_for()
    look(page, "names")
    page.get_by_label("These are names").check()
    go_on(page, "columns")


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
    page.get_by_role("heading", name="Preview").wait_for()
    page.get_by_label("Question", exact=True).fill("SELECT se")
    page.get_by_label("Question", exact=True).press("Control+Space")
    assert page.get_by_label("Question", exact=True).input_value() in ("SELECT sex", "SELECT SELECT")
    page.get_by_label("Question", exact=True).fill("SELECT count(*) AS n FROM data WHERE sex = '")
    page.locator("#completion button", has_text="'m'").click()
    assert page.get_by_label("Question", exact=True).input_value().endswith("sex = 'm'")
    page.get_by_label("ε that it may cost").press("Enter")  # which previews, and spends nothing
    page.locator("#answer", has_text="It costs ε = 0.1").wait_for()


def test_without_a_script_everything_can_be_done(browser, made):
    context = browser.new_context(java_script_enabled=False, viewport=PHONE, base_url=f"http://127.0.0.1:{made.port}")
    page = context.new_page()
    page.set_default_timeout(60_000)
    sign_in(page, made.carla)
    shutil.copy(made.root / "tables" / "people.csv", made.root / "tables" / "plain.csv")
    page.goto("/plans/plain")
    page.get_by_role("button", name="Look at the table and fill in").click()
    page.get_by_label("I have read them through").check()
    for step in ("trust", "questions", "gives", "release"):
        go_on(page, step)
        look(page, f"plain-{step}")
    page.get_by_role("button", name="Save the plan").click()
    page.get_by_text("Saved as plans/plain.toml").wait_for()
    page.goto("/releases/ready")
    page.locator("[name=by]").select_option("sex")
    page.get_by_role("button", name="Write it").click()
    assert "GROUP BY sex" in page.get_by_label("Question", exact=True).input_value()
    page.get_by_role("button", name="Query").click()
    page.get_by_role("heading", name="Answer").wait_for()
    context.close()


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
