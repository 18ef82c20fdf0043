"""Two custodians at once: nobody spends, saves or sanitises what another has changed since it was shown."""

import re
import time
import tomllib
from fractions import Fraction
from threading import Event

import pytest

from dproof import Ledger, Privacy
from dproof.serve.custody import Job, check_table
from dproof.serve.desk import give_budgets
from dproof.serve.folder import Folder
from tests.serve.server import PLAN, make_folder, send, serving
from tests.serve.test_pages import fields_of, post

ROWS = "sex,age\n" + "f,30\nm,40\n" * 50


@pytest.fixture
def made(tmp_path):
    made = make_folder(tmp_path)
    made.dora, _ = made.tokens.issue("dora", "custodian")
    table(made, "shared")
    with serving(made) as made:
        yield made


def table(made, name, plan=PLAN):
    (made.root / "tables" / f"{name}.csv").write_text(ROWS)
    (made.root / "plans" / f"{name}.toml").write_text(plan)


def promised(made):
    return dict(re.findall(r'(epsilon) = "([0-9.]+)"', (made.root / "plans" / "shared.toml").read_text()))["epsilon"]


def hold_jobs(made):
    """A job that nothing else may pass, and what ends it."""
    begun, end = Event(), Event()

    def wait(job: Job) -> None:
        begun.set()
        end.wait(60)

    made.desk.custody.jobs.start("waiting", wait)
    assert begun.wait(60)
    return end


def ended(made, job):
    for _ in range(600):
        told = send(made, "GET", f"/api/jobs/{job}", token=made.carla).json
        if told["done"]:
            return told["error"] or ""
        time.sleep(0.05)
    raise AssertionError("the job did not end")


STEPS = {"trust": ("epsilon", "3"), "columns": ("low", "1"), "questions": ("sql", "SELECT count(*) FROM data")}


@pytest.mark.parametrize("step", STEPS)
def test_what_another_wrote_meanwhile_is_not_written_over(made, step):
    path, (key, value) = f"/plans/shared/{step}", STEPS[step]
    seen = fields_of(made, path, made.carla)
    assert post(made, path, fields_of(made, path, made.dora), made.dora, "look", **{key: value}).status == 200
    dora = (made.root / "drafts" / "shared.json").read_bytes()
    told = post(made, path, seen, made.carla, "look")
    assert told.status == 400 and b"somebody else changed the plan" in told.raw
    assert (made.root / "drafts" / "shared.json").read_bytes() == dora
    assert post(made, path, fields_of(made, path, made.carla), made.carla, "look").status == 200


def test_who_goes_back_to_an_earlier_page_of_their_own_may_send_it(made):
    path = "/plans/shared/trust"
    seen = fields_of(made, path, made.carla)
    for epsilon in ("3", "0.5"):
        assert post(made, path, seen, made.carla, "look", epsilon=epsilon).status == 200


@pytest.mark.parametrize("button", ["save", "check", "sanitise"])
def test_only_the_plan_that_was_shown_is_saved(made, button):
    at(made, made.carla, epsilon="0.5")
    page = send(made, "GET", "/plans/shared/release", token=made.carla).raw.decode()
    edition = re.search(r'name="edition" value="([^"]+)"', page)[1]
    at(made, made.dora, epsilon="30")
    path = "/plans/shared/release" if button == "save" else f"/plans/shared/{button}"
    sent = [("edition", edition), ("release", "out")]
    told = post(made, path, sent, made.carla, "save" if button == "save" else "")
    assert told.status == 400 and b"somebody else changed the plan" in told.raw
    assert promised(made) == "2"


def at(made, token, **more):
    path = "/plans/shared/trust"
    assert post(made, path, fields_of(made, path, token), token, "look", **more).status == 200


def test_a_release_is_paid_by_the_plan_and_made_of_the_table_that_were_shown(made):
    asked = post(made, "/plans/shared/sanitise", [("release", "out")], made.carla, "")
    sure = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', asked.raw.decode())
    at(made, made.dora, epsilon="30")
    assert b"Saved as" in send(made, "POST", "/plans/shared/release", b"do=save", made.dora).raw
    told = post(made, "/plans/shared/sanitise", sure, made.carla, "")
    assert told.status == 400 and b"changed since" in told.raw
    assert not Ledger.is_begun(made.folder.ledger("shared"))


@pytest.mark.parametrize("change", ["plan", "table"])
def test_a_release_that_waits_is_not_made_of_another_plan_or_table(made, change):
    end = hold_jobs(made)
    job = send(made, "POST", "/api/releases", {"table": "shared", "name": "out"}, made.carla).json["job"]
    if change == "plan":
        made.desk.custody.save(made.tokens.holders[2], "shared", less(made))
    else:
        send(made, "PUT", "/api/files/shared.csv?replace=true", ROWS.replace("f", "m").encode(), made.dora)
    end.set()
    assert "was changed" in ended(made, job)
    assert not Ledger.is_begun(made.folder.ledger("shared")) and not (made.root / "releases" / "out").exists()


def less(made):
    """The plan with another promise, as a program sends it."""
    plan = tomllib.loads(PLAN)
    plan["privacy"]["epsilon"] = "0.1"
    return plan


def test_what_is_drawn_of_another_table_than_was_paid_for_is_not_published(made, monkeypatch):
    from dproof.releases import sanitise

    drawn = sanitise.write_whole

    def changed(*arguments):
        (made.root / "tables" / "shared.csv").write_text(ROWS.replace("f", "m"))
        return drawn(*arguments)

    monkeypatch.setattr(sanitise, "write_whole", changed)
    job = send(made, "POST", "/api/releases", {"table": "shared", "name": "out"}, made.carla).json["job"]
    told = ended(made, job)
    assert "was changed" in told and "it is paid for" in told
    assert not (made.root / "releases" / "out").exists()
    monkeypatch.undo()
    job = send(made, "POST", "/api/releases", {"table": "shared", "name": "out"}, made.carla).json["job"]
    assert not ended(made, job)
    assert Ledger(made.folder.ledger("shared")).spent().epsilon == 2


def test_a_release_keeps_to_a_plan_that_promises_less_than_its_ledger(made):
    give_budgets(made.folder, made.tokens, "ann", {"shared": Privacy(1)}, 90)  # the ledger begins with 2
    (made.root / "plans" / "shared.toml").write_text(PLAN.replace('"2"', '"1"'))
    check_table(Folder(made.root), "shared")
    question = {"sql": "SELECT count(*) FROM data WHERE sex = 'f'", "epsilon": "0.5"}
    ann, _ = give_budgets(made.folder, made.tokens, "ann", {"shared": Privacy(1)}, 90)
    assert send(made, "POST", "/api/tables/shared/ask", question, ann).status == 200
    asked = post(made, "/plans/shared/sanitise", [("release", "out")], made.carla, "")
    assert b"it would be refused" in asked.raw
    job = send(made, "POST", "/api/releases", {"table": "shared", "name": "out"}, made.carla).json["job"]
    assert "what is left is epsilon 0.5" in ended(made, job)
    assert Ledger(made.folder.ledger("shared")).spent().epsilon == Fraction(1, 2)


def test_names_that_look_like_values_are_asked_about_again_where_the_table_is_another(made):
    headless = b"f,31\nm,42\n"
    at(made, made.carla)  # a plan is being written, and is saved already
    assert send(made, "PUT", "/api/files/shared.csv?replace=true", headless, made.dora).status == 201
    page = send(made, "GET", "/plans/shared/release", token=made.carla).raw.decode()
    assert "names in the first line look like values" in page
    told = post(made, "/plans/shared/release", [], made.carla, "save")
    assert told.status == 400 and "31" not in (made.root / "plans" / "shared.toml").read_text()
    plan = {
        "privacy": {"epsilon": 1},
        "columns": {"f": {"drop": True}, "31": {"space": "interval", "low": 0, "high": 9}},
    }
    told = send(made, "PUT", "/api/plans/shared", {"plan": plan}, made.carla)
    assert told.status == 400 and "look like values" in told.json["error"]
    page = send(made, "GET", "/plans/shared", token=made.carla).raw.decode()
    said = re.search('name="names_are_public" value="([^"]+)"', page)[1]
    path, more = "/plans/shared", {"names_are_public": said}
    assert post(made, path, fields_of(made, path, made.carla), made.carla, "look", **more).status == 200
    assert "stand there twice: say" not in send(made, "GET", "/plans/shared/release", token=made.carla).raw.decode()
    assert send(made, "PUT", "/api/files/shared.csv?replace=true", b"m,43\nf,21\n", made.dora).status == 201
    assert post(made, path, fields_of(made, path, made.carla), made.carla, "look", **more).status == 200
    assert "stand there twice: say" in send(made, "GET", "/plans/shared/release", token=made.carla).raw.decode()
