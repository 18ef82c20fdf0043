"""What the page completes in a question is written as SQL writes it, quotes included."""

import html
import json
import re

from dproof import Plan
from dproof.questions.sql import parse
from dproof.serve.pages import TEMPLATES
from dproof.serve.pages.asking import PRICED, columns_of, question_form


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
