"""A folder with something wrong in it: that one thing is told in a sentence, and everything else goes on."""

import io
import shutil
import stat
import zipfile
from urllib.parse import urlencode

import pytest

import dproof as dp
from dproof import InputError
from dproof.serve.folder import Folder
from dproof.serve.mcp import tools_of
from dproof.serve.tokens import Tokens
from tests.serve.server import PLAN, make_folder, send, serving

FORM = "application/x-www-form-urlencoded"
SIMPLE = dp.Plan.parse("""
[privacy]
epsilon = "1"
[columns.sex]
space = "categories"
values = ["f", "m"]
outside = "category"
[columns.age]
drop = true
""")


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release, to be copied."""
    root = tmp_path_factory.mktemp("released")
    made = make_folder(root)
    dp.sanitise(root / "tables" / "people.csv", SIMPLE, root / "releases" / "good")
    return made.root / "releases" / "good"


@pytest.fixture
def made(tmp_path):
    with serving(make_folder(tmp_path)) as made:
        yield made


def told(made, path, token=None):
    return send(made, "GET", path, token=token or made.ann)


def by_name(made, path, token=None):
    found = told(made, path, token)
    assert found.status == 200
    return {one["name"]: one for one in found.json}


@pytest.mark.parametrize("text", [b"{", b"{}", b"\xff", b"[" * 100_000], ids=["cut", "empty", "bytes", "deep"])
def test_a_damaged_release_leaves_the_others(made, released, text):
    for name in ("good", "bad"):
        shutil.copytree(released, made.root / "releases" / name)
    (made.root / "releases" / "bad" / "certificate.json").write_bytes(text)
    found = by_name(made, "/api/releases")
    assert found["good"]["rows"] == 500 and found["bad"].keys() == {"name", "error"}
    home = told(made, "/")
    assert home.status == 200 and b"good" in home.raw and b"people" in home.raw
    alone = told(made, "/api/releases/bad")
    assert alone.status >= 400 and str(made.root) not in alone.json["error"] + found["bad"]["error"]


def test_a_release_without_its_report_says_so(made, released):
    shutil.copytree(released, made.root / "releases" / "good")
    (made.root / "releases" / "good" / "report.html").unlink()
    shown = told(made, "/releases/good/report")
    assert shown.status == 400 and b"has no report" in shown.raw


def test_a_download_follows_no_link_out_of_the_release(made, released):
    place = made.root / "releases" / "good"
    shutil.copytree(released, place)
    (place / "link.csv").symlink_to(made.root / "tables" / "people.csv")
    (place / "folder").symlink_to(made.root / "tables")
    packed = zipfile.ZipFile(io.BytesIO(told(made, "/releases/good/download").raw)).namelist()
    assert "good/certificate.json" in packed and not [name for name in packed if "link" in name or "folder" in name]


@pytest.mark.parametrize("text", [b"[privacy\n", b"\xff\xfe", b""], ids=["toml", "bytes", "empty"])
def test_a_wrong_plan_leaves_the_other_tables_and_can_be_mended(made, text):
    shutil.copy(made.root / "tables" / "people.csv", made.root / "tables" / "two.csv")
    (made.root / "plans" / "two.toml").write_bytes(text)
    found = by_name(made, "/api/tables", made.carla)
    assert "budget" in found["people"] and found["two"].keys() == {"name", "error"}
    assert told(made, "/", made.carla).status == told(made, "/custody", made.carla).status == 200
    page = told(made, "/plans/two", made.carla)
    assert page.status == 200 and b"The saved plan cannot be read" in page.raw and b"begin anew here" in page.raw
    draft = {"privacy": {"epsilon": "1"}, "columns": {"sex": {"drop": True}, "age": SPACE}}
    assert send(made, "PUT", "/api/plans/two", {"plan": draft}, made.carla).status == 200
    assert "budget" in by_name(made, "/api/tables", made.carla)["two"]


SPACE = {"space": "interval", "low": 0, "high": 9, "missing": 1}
STEPS = ("", "/columns", "/trust", "/questions", "/gives", "/release")
MISSHAPEN = [  # as TOML, which says what is wrong; the pages show none of it
    ("privacy = 1", "privacy must be a table"),
    ("columns = [1, 2]", "columns must be a table"),
    ("[columns]\nsex = 5", "columns.sex must be a table"),
    ("[columns.sex]\nspace = ['categories']", "columns.sex.space must be a text"),
    ("[columns.age]\nspace = 'interval'\nbins = 5", "columns.age.bins must be a text or a list"),
    ("[columns.age]\ncolumns = 'abc'", "columns.age.columns must be a list"),
    ("questions = 1", "questions.1 must be a table"),
    ("questions = ['SELECT 1']", "questions.1 must be a table"),
    ("release = 2", "release must be a table"),
]


@pytest.mark.parametrize(("text", "said"), MISSHAPEN, ids=[said for _, said in MISSHAPEN])
def test_a_plan_that_no_form_can_show_is_told_in_a_sentence(made, text, said):
    name, at = "two", made.root / "plans" / "two.toml"
    shutil.copy(made.root / "tables" / "people.csv", made.root / "tables" / f"{name}.csv")
    at.write_text(PLAN)
    sent = urlencode({"do": "text", "text": text}).encode()
    page = send(made, "POST", f"/plans/{name}/release", sent, made.carla, Content_Type=FORM)
    assert page.status == 400 and said in page.raw.decode() and not (made.root / "drafts" / "two.json").exists()
    at.write_text(text)
    assert b"begin anew here" in told(made, f"/plans/{name}", made.carla).raw
    for step in STEPS:
        assert told(made, f"/plans/{name}{step}", made.carla).status == 200
        assert send(made, "POST", f"/plans/{name}{step}", b"do=look", made.carla, Content_Type=FORM).status < 500


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[" * 100_000, '{"plan": 1}', '{"plan": {"columns": {"sex": 5}}}', '{"notes": 5}', '{"seen": [1]}'],
)
def test_a_damaged_draft_gives_way_to_the_plan_that_is_saved(made, text):
    (made.root / "drafts" / "people.json").write_text(text)
    for step in STEPS:
        assert told(made, f"/plans/people{step}", made.carla).status == 200
    assert b'value="2"' in told(made, "/plans/people/trust", made.carla).raw


def test_a_damaged_ledger_leaves_the_other_tables(made):
    shutil.copy(made.root / "tables" / "people.csv", made.root / "tables" / "two.csv")
    (made.root / "plans" / "two.toml").write_text(PLAN)
    (made.root / "ledgers" / "two.db").write_bytes(b"junk" * 1000)
    found = by_name(made, "/api/tables", made.carla)
    assert "budget" in found["people"] and "not a ledger" in found["two"]["error"]
    assert str(made.root) not in found["two"]["error"] and told(made, "/", made.carla).status == 200
    listed = tools_of(dp.connect(f"http://127.0.0.1:{made.port}", made.carla))[0]()
    assert "private table people: columns sex" in listed and "private table two: cannot be used" in listed


def test_a_copy_beside_a_table_is_not_taken_for_it(made):
    shutil.copy(made.root / "tables" / "people.csv", made.root / "tables" / "people.csv~")
    asked = {"sql": "SELECT count(*) AS n FROM data", "epsilon": "0.1"}
    refused = send(made, "POST", "/api/tables/people/ask", asked, made.ann)
    assert refused.status == 400 and "leave one of them" in refused.json["error"]
    assert "leave one of them" in by_name(made, "/api/tables")["people"]["error"]
    (made.root / "tables" / "people.csv~").unlink()
    assert send(made, "POST", "/api/tables/people/ask", asked, made.ann).status == 200


def test_a_table_that_is_gone_is_told(made):
    (made.root / "tables" / "gone.csv").symlink_to(made.root / "nowhere.csv")
    (made.root / "plans" / "gone.toml").write_text(PLAN)
    asked = {"sql": "SELECT count(*) AS n FROM data", "epsilon": "0.1"}
    refused = send(made, "POST", "/api/tables/gone/preview", asked, made.carla)
    assert refused.status == 400 and "is not there" in refused.json["error"]


def test_a_plan_that_cannot_be_saved_leaves_nothing_behind(made, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    shutil.copy(made.root / "tables" / "people.csv", made.root / "tables" / "two.csv")
    monkeypatch.setattr("dproof.serve.folder.os.replace", full)
    draft = {"privacy": {"epsilon": "1"}, "columns": {"sex": {"drop": True}, "age": SPACE}}
    refused = send(made, "PUT", "/api/plans/two", {"plan": draft}, made.carla)
    assert refused.status == 400 and "No space left" in refused.json["error"]
    assert [path.name for path in (made.root / "plans").iterdir()] == ["people.toml"]


def test_what_was_paid_and_not_answered_is_told(made, monkeypatch):
    def broken(*_):
        raise InputError("the table cannot be read")

    monkeypatch.setattr("dproof.curator.curator.tally", broken)
    asked = {"sql": "SELECT count(*) AS n FROM data WHERE sex = 'f'", "epsilon": "0.1"}
    refused = send(made, "POST", "/api/tables/people/ask", asked, made.ann)
    assert refused.status == 400 and "was paid for and not answered" in refused.json["error"]


def test_what_is_in_the_way_gets_a_sentence(tmp_path):
    (tmp_path / "plans").write_text("a file where a folder belongs")
    with pytest.raises(InputError, match="cannot be made"):
        Folder.open(tmp_path)
    (tmp_path / "plans").unlink()
    folder = Folder.open(tmp_path)
    assert stat.S_IMODE((tmp_path / "ledgers").stat().st_mode) == 0o700
    (tmp_path / "serving.db").write_bytes(b"junk" * 1000)
    with pytest.raises(InputError, match="cannot be written"), folder.held():
        pass
    (tmp_path / "tokens.db").mkdir()
    with pytest.raises(InputError, match="tokens"):
        Tokens(tmp_path / "tokens.db")
