"""The pages as a browser without a script uses them: forms are sent as they are, and everything can be done."""

import html
import io
import json
import re
import shutil
import zipfile
from html.parser import HTMLParser
from urllib.parse import urlencode

import pytest

from dproof import Plan
from dproof.questions.sql import parse
from dproof.serve.pages import TEMPLATES
from dproof.serve.pages.asking import PRICED, _packed, columns_of, question_form
from dproof.serve.pages.planning import STEPS
from tests.serve.server import make_folder, send, serving

PLAN = """
# what the form does not know is kept
[privacy]
epsilon = "2"
delta = "0"
[file]
separator = ","
[columns.sex]
space = "categories"
values = ["f", "m"]
outside = "category"
missing = "category"
share = 2
[columns.age]
space = "interval"
low = 18
high = 90
bins = [18, 40, 90]
missing = 40
[[questions]]
sql = "SELECT sex, count(*) AS n FROM data GROUP BY sex"
weight = 2
"""


class Form(HTMLParser):
    """The fields of the form on a page that is sent to a path, as a browser would send them."""

    def __init__(self, action):
        super().__init__()
        self.action, self.inside, self.fields, self.box, self.select = action, False, [], None, None

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form":
            self.inside = given.get("action") == self.action
        if not self.inside:
            return
        if tag == "input" and (given.get("type") != "checkbox" or "checked" in given):
            self.fields.append((given["name"], given.get("value", "")))
        if tag == "textarea":
            self.box = [given["name"], ""]
        if tag == "select":
            self.select = [given["name"], None]
        if tag == "option" and self.select and (self.select[1] is None or "selected" in given):
            self.select[1] = given["value"]

    def handle_data(self, data):
        if self.box:
            self.box[1] += data

    def handle_endtag(self, tag):
        if tag == "textarea" and self.box:
            self.fields.append((self.box[0], self.box[1].removeprefix("\n")))
            self.box = None
        if tag == "select" and self.select:
            self.fields.append((self.select[0], self.select[1] or ""))
            self.select = None
        if tag == "form":
            self.inside = False


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    made = make_folder(tmp_path_factory.mktemp("served"))
    for name in ("survey", "fresh"):
        shutil.copy(made.root / "tables" / "people.csv", made.root / "tables" / f"{name}.csv")
    (made.root / "plans" / "survey.toml").write_text(PLAN)
    with serving(made) as made:
        yield made


def fields_of(made, path, token):
    page = send(made, "GET", path, token=token)
    form = Form(path)
    form.feed(page.raw.decode())
    return form.fields


def post(made, path, fields, token, do=None, **more):
    changed = [(key, more.pop(key, value)) for key, value in fields]
    body = urlencode([*changed, *more.items(), *([("do", do)] if do else [])]).replace("%0A", "%0D%0A")
    return send(made, "POST", path, body.encode(), token)


def column(fields, name, **changes):
    """The fields with those of one column changed."""
    seen, found = None, []
    for key, value in fields:
        seen = value if key == "column" else seen
        found.append((key, changes.get(key, value) if seen == name else value))
    return found


def test_a_question_is_chosen_previewed_asked_and_remembered(made):
    path = "/tables/people"
    fields = fields_of(made, path, made.ann)
    chosen = {"by": "sex", "where": "age", "comparison": "<", "value": "50"}
    page = post(made, path, fields, made.ann, "build", **chosen).raw.decode()
    sql = "SELECT sex, count(*) AS n FROM data WHERE age < 50 GROUP BY sex"
    assert sql.replace("<", "&lt;") in page
    asked = {"sql": sql, "epsilon": "0.1"}
    preview = post(made, path, fields, made.ann, "preview", **asked).raw.decode()
    assert "It costs ε = 0.1" in preview and "± at 95%" in preview and ".preview(" in preview
    assert "nothing yet" in preview
    answer = post(made, path, fields, made.ann, "ask", **asked).raw.decode()
    assert "<h2>Answer</h2>" in answer and "data:image/svg+xml" in answer and "dp.connect(" in answer
    assert "dproof ask" not in answer and "ask again" in answer and "ε = 0.9" in answer
    assert "Free: " in post(made, path, fields, made.ann, "preview", **asked).raw.decode()
    refused = post(made, path, fields, made.ann, "ask", sql="SELECT nothing FROM data")
    assert refused.status == 400 and 'id="question-error"' in refused.raw.decode() and "nothing" in refused.raw.decode()
    over = post(made, path, fields, made.ann, "ask", sql=sql, epsilon="5")
    assert over.status == 400 and "budget" in over.raw.decode()


def test_dummy_rows_are_a_file(made):
    told = send(made, "GET", "/tables/people/dummy.csv?rows=7", token=made.ann)
    assert told.headers["content-disposition"] == 'attachment; filename="people-dummy.csv"'
    lines = told.raw.decode().splitlines()
    assert lines[0] == '"sex","age"' and len(lines) == 8
    assert send(made, "GET", "/tables/people/dummy.csv?rows=0", token=made.ann).status == 400
    assert send(made, "GET", "/tables/survey/dummy.csv", token=made.ann).status == 403


def test_a_token_is_given_and_revoked(made):
    path, fields = "/custody", [("tables", "people"), ("name", "dan"), ("epsilon", "0.1"), ("days", "30")]
    page = send(made, "POST", path, urlencode(fields).encode(), made.carla).raw.decode()
    assert "dproof_" in page and "--days 30" in page and "shown this once" in page
    token = page.partition('class="token">')[2].partition("<")[0]
    assert send(made, "GET", "/api/tables", token=token).status == 200
    number = next(one.number for one in made.tokens.holders if one.name == "dan")
    page = send(made, "POST", path, f"revoke={number}".encode(), made.carla).raw.decode()
    assert f"--revoke {number}" in page and send(made, "GET", "/api/tables", token=token).status == 401
    for wrong in ({"days": "x"}, {"epsilon": "-1"}, {"tables": "nothing"}):
        refused = send(made, "POST", path, urlencode({**dict(fields), "name": "eve", **wrong}).encode(), made.carla)
        assert refused.status == 400 and 'id="given-error"' in refused.raw.decode()
    assert all(one.name != "eve" for one in made.tokens.holders)


def test_pages_of_custodians_are_for_them_alone(made):
    doors = [("GET", "/plans/survey"), ("POST", "/plans/survey/remove"), ("POST", "/plans/survey/check")]
    doors += [(method, f"/plans/survey/{step}") for step in STEPS for method in ("GET", "POST")]
    doors += [("GET", f"/plans/survey/{file}") for file in ("notebook.ipynb", "commands.sh", "plan.toml")]
    for method, path in doors:
        assert send(made, method, path, b"sure=yes" if method == "POST" else None, made.ann).status == 403, path
    assert send(made, "POST", "/plans/survey/sanitise", b"release=x&sure=yes", made.ann).status == 403
    assert send(made, "DELETE", "/api/files/survey", None, made.ann).status == 403
    assert send(made, "POST", "/plans/survey/columns", b"column=age", made.carla).status == 400  # half a form
    assert send(made, "GET", "/plans/survey/nowhere", None, made.carla).status == 404


# What the page completes in a question is written as SQL writes it, quotes included -----------------------------------


def test_names_and_values_are_completed_as_a_question_writes_them():
    town = {"space": "categories", "values": ["Köln", "L'Aquila", "a, b"]}
    plan = Plan.of({"privacy": {"epsilon": 1}, "columns": {"home town": town}})
    form = question_form("/", columns_of(plan), "data", dict.fromkeys(PRICED, ""), None)
    source = '{% import "question.html" as q with context %}{% call q.question_form(ask) %}{% endcall %}'
    shown = TEMPLATES.from_string(source).render(ask=form)
    words = json.loads(html.unescape(re.search(r'data-words="(.*?)"', shown)[1]))
    assert {'"home town"', "'Köln'", "'L''Aquila'", "'a, b'"} <= set(words)
    for value in ("'Köln'", "'L''Aquila'", "'a, b'"):
        assert parse(f'SELECT count(*) AS n FROM data WHERE "home town" = {value}').where is not None


def test_curves_have_no_many_values_to_group_by():
    curve = {"space": "curves", "columns": ["h0", "h1", "h2"], "low": 0, "high": 9}
    plan = Plan.of({"privacy": {"epsilon": 1, "model": "central", "delta": "1e-6"}, "columns": {"h": curve}})
    assert [(one.name, one.has_many) for one in columns_of(plan)] == [("h", False)]


# A release is downloaded part by part: many large downloads at once need little memory, and no thread for long --------


def test_a_download_is_made_as_it_is_sent(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "large.parquet").write_bytes(bytes(range(256)) * (1 << 16))
    (tmp_path / "certificate.json").write_text("{}")
    parts = list(_packed(tmp_path, "r"))
    assert len(parts) > 16 and max(map(len, parts)) < 2 << 20
    packed = zipfile.ZipFile(io.BytesIO(b"".join(parts)))
    assert packed.testzip() is None and packed.namelist() == ["r/certificate.json", "r/part/large.parquet"]
    assert packed.read("r/part/large.parquet") == bytes(range(256)) * (1 << 16)


def test_no_release_no_download(tmp_path):
    with serving(make_folder(tmp_path)) as made:
        told = send(made, "GET", "/releases/nothing/download", token=made.ann)
        assert told.status == 400 and b"there is no release" in told.raw
