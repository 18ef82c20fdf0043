"""SQL gets in only through the closed grammar; everything else is refused by name, before data."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import Categories, InputError, Interval, Open, Subsets
from dproof.questions.partition import cut
from dproof.questions.question import (
    Aggregate,
    Among,
    And,
    Arithmetic,
    Compare,
    Contains,
    Key,
    Missing,
    Not,
    Number,
    Or,
    Predicate,
    Schema,
    canonical,
    condition,
    resolve,
)
from dproof.questions.sql import parse, parse_predicate
from tests.makers import resolved

TABLE = Schema(
    "data",
    {
        "hobby": Categories(["Sports", "Cars", "Reading"]),
        "age": Categories(list(range(111))),
        "grade": Categories(["low", "middle", "high"], metric="ordinal"),
        "member": Categories([True, False]),
        "interests": Subsets(["Music", "Football", "Chess"]),
        "region": Open(),
    },
)


def ask(text: str) -> object:
    return resolved(text, TABLE)


def test_a_question_in_full() -> None:
    question = resolved(
        "select Hobby as h, 100.0 * count(*) filter (where age between 18 and 30) / count(*) as share "
        "from DATA where not (age < 3 or member) and list_contains(interests, 'Chess') "
        "group by h having count(*) > 10 and share < 50 order by share desc, 1 limit 5;",
        TABLE,
    )
    young = Aggregate(
        "count",
        where=And((Compare("age", "<=", Fraction(30)), Compare("age", ">=", Fraction(18)))),
    )
    share = Arithmetic("/", Arithmetic("*", Number(Fraction(100)), young), Aggregate("count"))
    assert question.table == "data"
    assert [(item.alias, item.expression) for item in question.select] == [("h", Key("hobby")), ("share", share)]
    assert question.where == And(
        (Compare("age", ">=", Fraction(3)), Compare("member", "<>", True), Contains("interests", "Chess"))
    )
    assert question.group_by == (Key("hobby"),)
    assert [test.left for test in question.having] == [Aggregate("count"), share]
    assert [(order.expression, order.descending) for order in question.order_by] == [
        (share, True),
        (Key("hobby"), False),
    ]
    assert question.limit == 5
    assert question.aggregates == (young, Aggregate("count"))
    assert question.columns == ("age", "member", "interests", "hobby")


@pytest.mark.parametrize(
    ("text", "aggregate"),
    [
        ("count(*)", Aggregate("count")),
        ("count(age)", Aggregate("count", ("age",))),
        ("count(distinct hobby)", Aggregate("distinct", ("hobby",))),
        ("mean(age)", Aggregate("avg", ("age",))),
        ("median(age)", Aggregate("quantile", ("age",), Fraction(1, 2))),
        ("quantile_cont(age, 0.9)", Aggregate("quantile", ("age",), Fraction(9, 10))),
        ("stddev(age)", Aggregate("stddev", ("age",), Fraction(1))),
        ("var_pop(age)", Aggregate("var", ("age",), Fraction(0))),
        ("corr(age, age)", Aggregate("corr", ("age", "age"))),
        ("top(interests, 2)", Aggregate("top", ("interests",), Fraction(2))),
        ("mode(hobby)", Aggregate("mode", ("hobby",))),
        ("min(age) filter (where member)", Aggregate("min", ("age",), where=Compare("member", "=", True))),
    ],
)
def test_every_aggregate(text: str, aggregate: Aggregate) -> None:
    assert resolved(f"SELECT {text} AS x FROM data", TABLE).select[0].expression == aggregate


def test_a_proportion_is_a_ratio_of_counts() -> None:
    cars = parse("SELECT proportion(hobby = 'Cars') FILTER (WHERE member) FROM data").select[0].expression
    member = Compare("member", "=", True)
    both = And((member, Compare("hobby", "=", "Cars")))
    assert cars == Arithmetic("/", Aggregate("count", where=both), Aggregate("count", where=member))


REFUSED = [
    ("SELECT * FROM data", "rows"),
    ("SELECT hobby FROM data", "aggregates"),
    ("SELECT age, count(*) FROM data", "GROUP BY"),
    ("SELECT count(*) FROM people", "FROM data"),
    ("SELECT count(*) FROM data, data", "JOIN is not supported"),
    ("SELECT count(*) FROM data JOIN data AS b ON 1 = 1", "JOIN is not supported"),
    ("SELECT count(*) FROM data AS a JOIN b ON a.age = b.age", "JOIN is not supported"),
    ("SELECT count(*) FROM (SELECT hobby, count(*) FROM data GROUP BY hobby)", "GROUP in a subquery"),
    ("SELECT count(*) FROM (SELECT DISTINCT hobby FROM data)", "DISTINCT in a subquery"),
    ("SELECT count(*) FROM (SELECT * FROM data LIMIT 3)", "LIMIT in a subquery"),
    ("SELECT count(*) FROM (SELECT age + 1 AS age FROM data)", "ADD"),
    ("SELECT count(*) FROM (SELECT age, age FROM data)", "same name"),
    ("SELECT avg(age) FROM (SELECT hobby FROM data)", "gives no column 'age'"),
    ("SELECT avg(age) FROM (SELECT age AS years FROM data) WHERE age < 3", "gives no column 'age'"),
    ("SELECT count(*) FROM (SELECT * FROM read_csv('x'))", "read_csv"),
    ("SELECT count(*) FROM data d WHERE e.age = 1", "no table 'e'"),
    ("SELECT count(*) FROM read_csv('/etc/passwd')", "read_csv"),
    ("SELECT count(*) FROM 'secret.parquet'", "secret.parquet"),
    ("SELECT count(*) FROM main.data", "DB"),
    ("SELECT count(*) FROM data TABLESAMPLE 10%", "SAMPLE"),
    ("WITH a AS (SELECT 1) SELECT count(*) FROM data", "names no table"),
    ("WITH a AS (SELECT * FROM data UNION SELECT * FROM data) SELECT count(*) FROM a", "UNION"),
    ("WITH RECURSIVE a AS (SELECT * FROM a) SELECT count(*) FROM a", "RECURSIVE"),
    ("SELECT TOP 3 hobby, count(*) FROM data GROUP BY hobby", "LIMIT n"),
    ("SELECT round(avg(age), 0.5) FROM data", "whole number of decimals"),
    ("SELECT round(avg(age)) + round(avg(age)) FROM data", "ROUND(a + b)"),
    ("SELECT sqrt(age) FROM data GROUP BY age", "SQRT takes an aggregate"),
    ("SELECT power(avg(age), age) FROM data", "written out"),
    ("SELECT abs(mode(hobby)) FROM data", "mode"),
    ("SELECT sqrt(avg(age)), abs(avg(hobby)) FROM data", "needs numbers"),
    ("SELECT unnest(hobby) AS x, count(*) FROM data GROUP BY x", "column of sets"),
    ("SELECT unnest(interests) AS x FROM data GROUP BY x", "COUNT(*)"),
    ("SELECT CASE WHEN age < 3 AND member THEN 1 END AS x, count(*) FROM data GROUP BY x", "one column"),
    ("SELECT CASE WHEN age < 3 THEN age END AS x, count(*) FROM data GROUP BY x", "'age'"),
    ("SELECT CASE hobby WHEN 'Car' THEN 1 END AS x, count(*) FROM data GROUP BY x", "'Cars'"),
    ("SELECT sum(CASE WHEN member THEN 2 ELSE 1 END) FROM data", "FILTER"),
    ("SELECT avg(CASE WHEN member THEN age ELSE 0 END) FROM data", "FILTER"),
    ("SELECT count(*) FROM data UNION SELECT count(*) FROM data", "UNION"),
    ("SELECT DISTINCT count(*) FROM data", "DISTINCT"),
    ("SELECT count(*) FROM data; SELECT count(*) FROM data", "2 were given"),
    ("DROP TABLE data", "SELECT"),
    ("ATTACH 'x.db'", "SELECT"),
    ("COPY data TO 'x.csv'", "SELECT"),
    ("INSTALL httpfs", "SELECT"),
    ("PRAGMA database_list", "SELECT"),
    ("", "and there is none"),
    ("SELECT count(* FROM data", "SQL"),
    ("SELECT 'unclosed FROM data", "SQL"),
    ("SELECT count(*) OVER () FROM data", "WINDOW"),
    ("SELECT sum(age * 1000000) FROM data", "MUL"),
    ("SELECT sum(age + age) FROM data", "ADD"),
    ("SELECT sum(hobby) FROM data", "COUNT"),
    ("SELECT sum(DISTINCT age) FROM data", "DISTINCT"),
    ("SELECT sum(agee) FROM data", "'age'"),
    ("SELECT quantil(age, 0.5) FROM data", "'quantile'"),
    ("SELECT string_agg(hobby, ',') FROM data", "only aggregates"),
    ("SELECT quantile(age, 2) FROM data", "between 0 and 1"),
    ("SELECT quantile(age, age) FROM data", "number"),
    ("SELECT quantile(age) FROM data", "2 arguments"),
    ("SELECT mode() FROM data", "1 argument,"),
    ("SELECT avg() FROM data", "(AVG lacks something)"),
    ("SELECT count(*) FROM data WHERE", "(WHERE lacks something)"),
    ("SELECT top(hobby, 0.5) FROM data", "whole number"),
    ("SELECT mode(interests) FROM data", "TOP"),
    ("SELECT getenv('HOME') FROM data", "getenv"),
    ("SELECT count(*) FROM data WHERE hobby = 'Car'", "'Cars'"),
    ("SELECT count(*) FROM data WHERE hobby = Cars", "single quotes"),
    ("SELECT count(*) FROM data WHERE hobby < 'Cars'", "no order"),
    ("SELECT count(*) FROM data WHERE hobby LIKE 'C%'", "LIKE"),
    ("SELECT count(*) FROM data WHERE age = 200", "200"),
    ("SELECT count(*) FROM data WHERE member = 1", "no value 1"),
    ("SELECT count(*) FROM data WHERE age = age", "'age'"),
    ("SELECT count(*) FROM data WHERE age + 1 = 3", "ADD"),
    ("SELECT count(*) FROM data WHERE upper(hobby) = 'CARS'", "UPPER"),
    ("SELECT count(*) FROM data WHERE age IN (SELECT 3)", "QUERY"),
    ("SELECT count(*) FROM data WHERE EXISTS (SELECT 1)", "EXISTS"),
    ("SELECT count(*) FROM data WHERE age = (SELECT 3)", "SUBQUERY"),
    ("SELECT count(*) FROM data WHERE age = 1/0", "zero"),
    ("SELECT count(*) FROM data WHERE interests = 'Music'", "list_contains"),
    ("SELECT count(*) FROM data WHERE list_contains(interests, 'Musik')", "'Music'"),
    ("SELECT count(*) FROM data WHERE list_contains(hobby, 'Cars')", "sets"),
    ("SELECT count(*) FROM data WHERE grade > 'midle'", "'middle'"),
    ("SELECT count(*) FROM data WHERE random() < 0.5", "RAND"),
    ("SELECT count(*) FROM data GROUP BY age + 1", "calculations"),
    ("SELECT count(*) FROM data GROUP BY ROLLUP (hobby)", "ROLLUP"),
    ("SELECT count(*) FROM data GROUP BY 7", "position 7"),
    ("SELECT count(*) FROM data GROUP BY bin(hobby, 3)", "numbers"),
    ("SELECT count(*) FROM data GROUP BY bin(age, 0)", "positive"),
    ("SELECT count(*) FROM data HAVING count(*) > 3 OR count(*) < 1", "AND"),
    ("SELECT count(*) FROM data LIMIT 1 OFFSET 3", "OFFSET"),
    ("SELECT count(*) FROM data LIMIT -1", "whole number"),
    ("SELECT count(*) FROM data QUALIFY 1 = 1", "QUALIFY"),
    ("SELECT count(*) AS n, sum(age) AS n FROM data", "two columns"),
    ("SELECT count(*) FROM data WHERE " + "(" * 500 + "age = 1" + ")" * 500, "deep"),
    ("SELECT count(*) FROM data WHERE age = 1" + " " * 30_000, "characters"),
]


@pytest.mark.parametrize(("text", "word"), REFUSED)
def test_refusals_name_what_is_wrong(text: str, word: str) -> None:
    with pytest.raises(InputError) as refusal:
        ask(text)
    message = str(refusal.value)
    assert word.casefold() in message.casefold(), message
    assert "\n" not in message and len(message) < 300


LITERALS = st.sampled_from([Fraction(3), Fraction(-7, 2), Fraction(1, 3), "it's; DROP", 'a"b', "", True, False])
NAMES = st.sampled_from(["age", "Odd name", 'qu"ote', "select", "α"])
LEAVES: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(Compare, NAMES, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), LITERALS),
    st.builds(Among, NAMES, st.lists(LITERALS, min_size=1, max_size=3, unique_by=repr).map(tuple)),
    st.builds(Contains, NAMES, LITERALS),
    st.builds(Missing, NAMES),
)
PREDICATES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=6,
)


@given(PREDICATES)
def test_the_canonical_form_parses_back_to_itself(predicate: Predicate) -> None:
    text = condition(predicate)
    assert condition(parse_predicate(text)) == text


def test_one_canonical_form_for_what_only_differs_in_spelling() -> None:
    first = ask("SELECT count(*) AS n, hobby FROM data WHERE age >= 3 AND member GROUP BY hobby ORDER BY n LIMIT 2")
    second = ask("select HOBBY, 2 * COUNT(1) FROM Data WHERE member = TRUE and not AGE < 3.0 GROUP BY 1")
    assert canonical(first) == canonical(second)  # type: ignore[arg-type]
    assert canonical(first) != canonical(ask("SELECT count(*) FROM data WHERE age >= 3"))  # type: ignore[arg-type]


@given(st.text(max_size=60))
def test_any_text_is_a_question_or_a_refusal(text: str) -> None:
    for sql in (text, f"SELECT count(*) FROM data WHERE {text}", f"SELECT {text} FROM data"):
        with suppress(InputError):
            ask(sql)


@pytest.mark.parametrize("text", ["sex = 'f' GROUP BY sex", "sex = 'f' LIMIT 3", "sex = 'f' ORDER BY 1"])
def test_a_condition_stands_alone(text: str) -> None:
    with pytest.raises(InputError, match="a condition alone was expected"):
        parse_predicate(text)


def test_a_schema_keeps_what_one_question_needs_and_forgets_it_with_the_next() -> None:
    """A server asks one schema for ever: what it has worked out must not grow with the questions."""
    schema = Schema("data", {"age": Interval(0, 110, 1)})
    for age in range(1, 50):
        asked = resolved(f"SELECT count(*) FROM data WHERE age < {age}", schema)
        assert cut(schema, [asked.where]).axes[0] is cut(schema, [asked.where]).axes[0]
        assert len(schema.cache) == 2  # the region of the condition, and the column that it cuts


def test_a_condition_in_count_is_told_where_it_goes() -> None:
    told = r"for a condition count\(\*\) FILTER \(WHERE town = 'Bonn'\)"
    with pytest.raises(InputError, match=told):
        parse("SELECT count(town = 'Bonn') AS n FROM data")


@pytest.mark.parametrize("name", ["Bus", "By what? - Bus", "By what?_Bus"])
def test_a_box_of_a_table_is_an_item_of_a_set(name: str) -> None:
    table = Schema("data", {"By what?": Subsets(["Bus", "on foot"])})
    told = "is no column, but an item of 'By what\\?': ask list_contains\\(\"By what\\?\", 'Bus'\\)"
    with pytest.raises(InputError, match=told):
        resolve(parse(f'SELECT count(*) AS n FROM data WHERE "{name}" = 1'), table)
