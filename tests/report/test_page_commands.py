"""The commands on a page mean, in a shell and in Python, the question that they show, whatever the column is called."""

import ast
import html
import re
import shlex

import pyarrow as pa
import pytest

import dproof as dp


@pytest.mark.parametrize("model", ["local", "central"])
@pytest.mark.parametrize("name", ["sex", "größe", "select", "from", "a`id`", "$HOME", "it's", 'q"q', "two words"])
def test_the_first_question_can_be_copied(name, model, tmp_path):
    columns = {name: {"space": "categories", "values": ["a", "b"]}}
    plan = {"privacy": {"epsilon": 1, "model": model}, "columns": columns}
    release = dp.sanitise(pa.table({name: ["a", "b"] * 50}), plan, tmp_path / "release")
    page = (tmp_path / "release" / "report.html").read_text()
    command = html.unescape(re.search(r"<pre>(dproof query \..*?)</pre>", page, re.DOTALL)[1])
    call = html.unescape(re.search(r"query\((.*)\)</pre>", page)[1])
    *_, question = shlex.split(command)
    assert question == ast.literal_eval(call)
    assert release.query(question).columns == (name, "count(*)")
    bare = re.sub(r"'[^']*'", "", command.replace("'\"'\"'", ""))  # what a shell reads itself
    assert not set("`$*") & set(bare)
    assert ('"' in question) == (name != "sex")
