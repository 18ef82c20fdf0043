"""A plan is checked before any data is opened, and a mistake is told with its key and line."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import InputError, Plan
from dproof.plans.reader import to_toml
from tests.makers import row_law

SURVEY = """\
[privacy]
epsilon = "2"
neighbours = "change-one"

[columns.hobby]
space = "categories"
values = ["Sports", "Cars", "Reading"]
share = 2
[columns.interests]
space = "subsets"
values = ["Music", "Chess"]
separator = ";"
[columns.gender]
space = "categories"
values = ["M", "F"]
[columns.read]
space = "categories"
values = [0, 1]
[columns.region]
public = true
[columns.name]
drop = true
[[joint]]
columns = ["gender", "read"]
"""


def test_the_plan_of_the_design_is_read_as_written() -> None:
    plan = Plan.parse(SURVEY)
    assert (plan.privacy.epsilon, plan.privacy.delta, plan.privacy.neighbours) == (2, 0, "change-one")
    kinds = ["categories", "subsets", "categories", "categories", "public", "drop"]
    assert [column.kind for column in plan.columns] == kinds
    assert plan.column("interests").form == "joined"
    joint = plan.groups[-1]
    assert (len(joint.columns), joint.name, joint.share) == (2, "gender × read", 2)
    assert plan.order == "shuffle" and plan.rows_per_person == 1
    assert plan.sources == ("hobby", "interests", "gender", "read", "region")


MISTAKES = {
    "misspelt key": ("share = 2", "shar = 2", "line 8: columns.hobby.shar is not a known key; did you mean 'share'?"),
    "misspelt space": ('space = "subsets"', 'space = "subset"', "line 10: columns.interests.space cannot be 'subset'"),
    "no privacy": ('[privacy]\nepsilon = "2"\n', "", "plan: privacy is missing: write [privacy], and under it epsilon"),
    "no epsilon": ('epsilon = "2"\n', "", "line 1: privacy.epsilon is missing: write epsilon = "),
    "bad epsilon": ('"2"', '"two"', "line 2: privacy.epsilon is wrong"),
    "infinite epsilon": ('"2"', "inf", "line 2: privacy.epsilon is wrong"),
    "negative epsilon": ('"2"', "-1", "line 1: privacy is wrong: epsilon must lie between 0 and"),
    "twice": (
        '"Cars", "Reading"',
        '"Cars", "Cars"',
        "line 5: columns.hobby is wrong: the category 'Cars' is listed twice",
    ),
    "mixed values": ('"Cars", "Reading"', '"Cars", 3', "line 7: columns.hobby.values must be all texts"),
    "no values": ('["M", "F"]', "[]", "line 15: columns.gender.values is still open"),
    "negative share": ("share = 2", "share = -2", "line 8: columns.hobby.share must be positive"),
    "joined stranger": ('"gender", "read"', '"gender", "raed"', "did you mean 'read'?"),
    "joined public": ('"gender", "read"', '"gender", "region"', "which has no finite space to join"),
    "joined alone": ('"gender", "read"', '"gender"', "needs at least two columns"),
    "joined twice": (
        'columns = ["gender", "read"]',
        'columns = ["gender", "read"]\n[[joint]]\ncolumns = ["hobby", "read"]',
        "line 26: joint.2.columns joins 'read' twice",
    ),
    "used twice": (
        "[columns.name]\ndrop = true",
        '[columns.name]\ndrop = true\ncolumns = ["name", "hobby"]',
        "columns.hobby uses a column of the source that another uses too",
    ),
    "another kind outside": (
        'values = ["M", "F"]',
        'values = ["M", "F"]\noutside = "category"\noutside_value = 3',
        "line 17: columns.gender.outside_value must be given, and of the same kind",
    ),
    "no stand-in": (
        'values = ["M", "F"]',
        'values = ["M", "F"]\nmissing = "X"',
        'columns.gender.missing must be "refuse", "category" or one of the values',
    ),
    "no set to stand in": ('separator = ";"', 'separator = ";"\nmissing = "Music"', "or a list of values, such as []"),
    "a stranger stands in": ('separator = ";"', 'separator = ";"\nmissing = ["Go"]', "must be a value of the space"),
    "a flag too few": ('separator = ";"', 'columns = ["music"]', "needs one flag for each value, and no separator"),
    "an empty item": ('"Music", "Chess"', '"Music", ""', "cannot hold an empty text where items are joined"),
    "separator in value": ('"Music", "Chess"', '"Music;", "Chess"', "columns.interests.separator stands inside"),
    "neighbours": ("change-one", "change-two", "line 3: privacy.neighbours cannot be 'change-two'"),
    "no table": ("[columns.name]\ndrop = true", "[columns]\nname = 3", "columns.name must be a table"),
    "unknown table": ("[[joint]]", "[[joined]]", "joined is not a known key; did you mean 'joint'?"),
    "no toml": ("share = 2", "share = = 2", "text needs quotes"),
    "an open quote": ('"2"', '"2', "a text ends with a quote on the line where it begins"),
    "no plan at all": ('[privacy]\nepsilon = "2"', "age,sex", "`dproof init` drafts a plan"),
    "JSON": ('[privacy]\nepsilon = "2"', '{"privacy": 1}', "`dproof init` drafts a plan"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_has_a_key_and_a_line(name: str) -> None:
    before, after, message = MISTAKES[name]
    assert before in SURVEY
    with pytest.raises(InputError) as refused:
        Plan.parse(SURVEY.replace(before, after, 1))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value) and "known are" not in str(refused.value)


def test_a_column_of_the_source_that_the_plan_does_not_mention_is_refused() -> None:
    plan = Plan.parse(SURVEY)
    names = ("hobby", "interests", "gender", "read", "region", "name")
    plan.check_names(names)
    with pytest.raises(InputError, match="a column 'salary' that the plan does not mention"):
        plan.check_names((*names, "salary"))
    with pytest.raises(InputError, match="has no column 'name'"):
        plan.check_names(names[:-1])


def test_the_whole_promise_is_split_by_share_and_joined_columns_are_one_law() -> None:
    law = row_law(Plan.parse(SURVEY))
    parts = {group.name: group.privacy.epsilon for group in law.groups}
    assert parts == {"hobby": Fraction(4, 5), "interests": Fraction(2, 5), "gender × read": Fraction(4, 5)}
    assert law.group_of("read").mechanism.inputs.size == 4
    assert law.tight().exact and law.tight().epsilon <= 2


@given(
    st.lists(st.tuples(st.integers(2, 9), st.fractions(min_value="1/9", max_value=9)), min_size=1, max_size=5),
    st.fractions(min_value=0, max_value=5, max_denominator=99),
)
def test_the_parts_of_the_promise_add_up_exactly(columns: list[tuple[int, Fraction]], epsilon: Fraction) -> None:
    table = {
        f"c{n}": {"space": "categories", "values": list(range(size)), "share": str(share)}
        for n, (size, share) in enumerate(columns)
    }
    law = row_law({"privacy": {"epsilon": str(epsilon)}, "columns": table})
    assert sum(group.privacy.epsilon for group in law.groups) == epsilon
    assert law.tight().epsilon <= float(epsilon) * (1 + 1e-15)
    assert sum(part.privacy.epsilon for part in law.parts) == epsilon


def test_a_person_with_several_rows_is_promised_the_sum() -> None:
    plan = Plan.parse(SURVEY.replace('epsilon = "2"', 'epsilon = "2"\ndelta = "1/1000"\nrows_per_person = 3'))
    law = row_law(plan)
    assert (law.person.epsilon, law.person.delta) == (6, Fraction(3, 1000))
    tight = law.tight(3)
    assert tight.exact and tight.epsilon < 6 and tight.delta < 0.003
    with pytest.raises(InputError, match="501 rows, each drawn with epsilon 2, may lose 1002 in all, and 1000 is the"):
        row_law(Plan.parse(SURVEY.replace('epsilon = "2"', 'epsilon = "2"\nrows_per_person = 501')))


def test_a_release_cannot_promise_add_remove() -> None:
    plan = Plan.parse(SURVEY.replace("change-one", "add-remove"))
    with pytest.raises(InputError, match="keeps the number of rows"):
        row_law(plan)


def test_the_person_of_each_row_must_be_dropped() -> None:
    text = SURVEY.replace('epsilon = "2"', 'epsilon = "2"\nperson = "name"')
    assert Plan.parse(text).person == "name"
    with pytest.raises(InputError, match="must have drop = true"):
        Plan.parse(text.replace("drop = true", "public = true"))


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(st.lists(WORDS, min_size=2, max_size=4, unique=True), WORDS)
def test_mappings_and_toml_say_the_same(values: list[str], name: str) -> None:
    tables = {"privacy": {"epsilon": "1"}, "columns": {name: {"space": "categories", "values": values}}}
    plan = Plan.from_dict(tables)
    assert Plan.parse(to_toml(tables)) == plan
    assert plan.column(name).space.values == tuple(values)
    assert Plan.parse(plan.text) == plan


def test_a_plan_with_questions_goes_to_another_process() -> None:
    columns = {"age": {"space": "interval", "low": 0, "high": 9}}
    asked = [{"sql": "SELECT count(*) AS n, avg(age) AS m FROM data"}]
    plan = Plan.of({"privacy": {"epsilon": 1}, "columns": columns, "questions": asked})
    assert pickle.loads(pickle.dumps(plan)) == plan  # noqa: S301  # by the server, to read files apart


def test_a_plan_that_is_too_long_is_told_the_limit_and_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "zip.toml").write_text(f"values = ['{'x' * (1 << 25)}']")
    with pytest.raises(InputError, match="is too long for a plan, which has 32 MiB at most: declare fewer values"):
        Plan.read(tmp_path / "zip.toml")


def test_a_stored_plan_may_group_by_an_alias_that_is_a_column_too() -> None:
    """Releases of before have such plans, and must open."""
    columns = {name: {"space": "categories", "values": ["a", "b"]} for name in ("town", "sex")}
    questions = [{"sql": "SELECT town AS sex, count(*) FROM release GROUP BY sex"}]
    plan = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": columns, "questions": questions})
    assert [key.column for key in plan.questions[0].question.group_by] == ["town"]
