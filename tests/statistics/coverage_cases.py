"""The tables and questions of the page of coverage; a case sanitises a table once for each seed and asks everything."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

import dproof as dp
from dproof.central.release import about, release_of
from dproof.testing import seeded_coins
from tests.makers import exact_tables, table_law

DATA = Path(os.environ.get("DPROOF_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
Dice = np.random.Generator
_ALL = " FROM release"


class Told(NamedTuple):
    """One cell of an answer: whether its interval held the truth, None for "no information"; ± and the error."""

    question: str
    held: bool | None
    half: float = 0.0
    error: float = 0.0


@dataclass(frozen=True)
class Asked:
    """SQL after SELECT, with the value called v; all other columns are keys.

    A `bound` may cover more often than it says: its interval holds for every distribution, or for every smooth one, is
    that of a ratio, is moved into what is possible, is Bernstein's, or covers on average over many cells.
    """

    sql: str
    bound: bool = False
    method: str = "inverse"
    assume: str = "nothing"


Repeat = Callable[[int], Iterator[Told]]


@dataclass(frozen=True)
class Section:
    """A table of the page: what is asked, and the columns, each with what prepares it."""

    title: str
    about: str
    questions: Mapping[str, Asked]
    cases: Mapping[str, Callable[[Mapping[str, Asked]], Repeat]]
    needs: str = ""  # a file of public data
    widths: bool = False  # whether the page compares ± with the error


# Truths ------------------------------------------------------------


def truths(data: Any, sql: str) -> dict[tuple[Any, ...], float]:
    """DuckDB's answers on the table itself, by the keys; its stddev divides by n − 1, and ours by n."""
    for told, own in (
        ("FROM release", "FROM data"),
        ("stddev(", "stddev_pop("),
        ("quantile(", "quantile_disc("),
        ("proportion(income = '>50K')", "avg((income = '>50K')::INT)"),
    ):
        sql = sql.replace(told, own)
    sql = sql.replace("median(x)", "quantile_disc(x, 0.5)")
    return {row[:-1]: float(row[-1]) for row in duckdb.connect().register("data", data).sql(f"SELECT {sql}").fetchall()}


def compared(question: str, rows: list[dict[str, Any]], true: Mapping[tuple[Any, ...], float]) -> Iterator[Told]:
    """Every cell of an answer with its truth; a group that the table has not has none of its rows."""
    for row in rows:
        cell = row["v"]
        if not cell.informative or cell.low is None:
            yield Told(question, None)
        else:
            wanted = true.get(tuple(value for name, value in row.items() if name != "v"), 0.0)
            held = bool(cell.low - 1e-6 <= wanted <= cell.high + 1e-6)
            # What is known by its interval alone has no estimate.
            middle = (cell.high + cell.low) / 2 if cell.estimate is None else float(cell.estimate)
            yield Told(question, held, (cell.high - cell.low) / 2, middle - wanted)


# Releases, the curator and the central model ------------------------------------------------------------


def local(data: Callable[[], Any], plan: Mapping[str, Any], questions: Mapping[str, Asked]) -> Repeat:
    table, made = data(), dp.Plan.from_dict(plan)
    true = {name: truths(table, asked.sql) for name, asked in questions.items()}
    together = {name: asked for name, asked in questions.items() if asked.sql.endswith(f" AS v{_ALL}")}

    def repeat(seed: int) -> Iterator[Told]:
        with seeded_coins(seed):
            release = dp.sanitise(table, made)
        for assume in sorted({asked.assume for asked in together.values()}):
            alike = {name: asked for name, asked in together.items() if asked.assume == assume}
            yield from _compared_together(release, alike, true, assume)
        for name, asked in questions.items():
            if name not in together:
                yield from compared(name, release.query(f"SELECT {asked.sql}", method=asked.method).rows, true[name])

    return repeat


def _compared_together(
    release: Any, questions: Mapping[str, Asked], true: Mapping[str, Any], assume: str
) -> Iterator[Told]:
    """Questions for one number each, asked in one SELECT."""
    values = (asked.sql.removesuffix(_ALL).replace(" AS v", f" AS v{n}") for n, asked in enumerate(questions.values()))
    (row,) = release.query(f"SELECT {', '.join(values)}{_ALL}", assume=assume).rows
    for n, name in enumerate(questions):
        yield from compared(name, [{"v": row[f"v{n}"]}], true[name])


def curator(
    data: Callable[[], Any], plan: Mapping[str, Any], epsilon: str, delta: str, questions: Mapping[str, Asked]
) -> Repeat:
    table = data()
    true = {name: truths(table, asked.sql) for name, asked in questions.items()}
    folder = Path(tempfile.mkdtemp())
    session = dp.Curator(table, plan, ledger=folder / "first.db")

    def repeat(seed: int) -> Iterator[Told]:
        session.keep_account(folder / f"{seed}.db")  # in which no question was answered yet
        for name, asked in questions.items():
            with seeded_coins(f"{seed} {name}"):
                sql = asked.sql.replace("FROM release", "FROM data")
                found = session.ask(f"SELECT {sql}", epsilon=epsilon, delta=delta)
            yield from compared(name, found.rows, true[name])

    return repeat


def central(data: Callable[[], Any], plan: Mapping[str, Any], questions: Mapping[str, Asked]) -> Repeat:
    table, law = data(), table_law(plan)
    true = {name: truths(table, asked.sql) for name, asked in questions.items()}
    _, counts = exact_tables(table, law)
    certificate = law.record(about(None, None, {}), private=False)

    def repeat(seed: int) -> Iterator[Told]:
        with seeded_coins(seed) as coins:
            release = release_of(law, certificate, law.measure(counts, coins))
        for name, asked in questions.items():
            yield from compared(name, release.query(f"SELECT {asked.sql}").rows, true[name])

    return repeat


# Made-up tables ------------------------------------------------------------

NUMBERS: dict[str, Callable[[int, Dice], np.ndarray]] = {
    "heaps at 40 and at tens": lambda n, dice: np.where(dice.random(n) < 0.5, 40, 10 * dice.integers(0, 11, n)),
    "one value": lambda n, dice: np.full(n, 73),
    "skewed, a fifth missing": lambda n, dice: np.minimum(dice.exponential(12, n), 100).astype(int),
}
TEAM = {"space": "categories", "values": ["a", "b", "c"]}
LIKES = {"space": "subsets", "values": ["x", "y"]}


def people(n: int) -> Any:
    dice = np.random.default_rng(n)
    likes = [[item for item, share in (("x", 0.6), ("y", 0.1)) if dice.random() < share] for _ in range(n)]
    teams = dice.choice(list("abc"), n, p=[0.6, 0.38, 0.02])
    return pa.table({"team": teams, "likes": pa.array(likes, pa.list_(pa.string()))})


def numbers(name: str, n: int) -> Any:
    dice = np.random.default_rng(n)
    found = NUMBERS[name](n, dice).tolist()
    if "missing" in name:
        found = [None if lost else x for x, lost in zip(found, dice.random(n) < 0.2, strict=True)]
    return pa.table({"x": pa.array(found, pa.int64()), "team": dice.choice(list("abc"), n, p=[0.6, 0.35, 0.05])})


SMOOTH: dict[str, Callable[[int, Dice], np.ndarray]] = {
    "a bell": lambda n, dice: 100 * dice.beta(4, 4, n),
    "skewed": lambda n, dice: np.minimum(dice.exponential(25, n), 100),
}


def smooth(name: str, n: int) -> Any:
    return pa.table({"x": SMOOTH[name](n, np.random.default_rng(n)).astype(int)})


def in_fives(name: str, n: int) -> Any:
    found = numbers(name, n)["x"].to_pylist()
    return pa.table({"x": pa.array([None if x is None else x // 5 * 5 for x in found], pa.int64())})


def number(name: str, **more: Any) -> dict[str, Any]:
    x = {"space": "interval", "low": 0, "high": 100, "step": 1, **more}
    return {**x, "missing": "category"} if "missing" in name else x


def three_columns(interaction: bool, n: int) -> Any:
    dice, letters = np.random.default_rng(n), np.array(list("pqrs"))
    a, b, other = dice.integers(0, 4, n), dice.integers(0, 3, n), dice.integers(0, 4, n)
    c = np.where(dice.random(n) < 0.7, (a + b) % 4 if interaction else a, other)
    return pa.table({"a": letters[a], "b": letters[b], "c": letters[c]})


# Public tables ------------------------------------------------------------


@cache
def public(file: str, columns: tuple[str, ...]) -> Any:
    table = pyarrow.csv.read_csv(DATA / file).select(columns)
    whole = [pc.cast(table[c], pa.int64()) if table[c].type == pa.float64() else table[c] for c in columns]
    texts = [pc.if_else(pc.equal(c, ""), None, c) if c.type == pa.string() else c for c in whole]
    return pa.table(texts, names=list(columns))


def categories(*values: str, **more: str) -> dict[str, Any]:
    return {"space": "categories", "values": list(values), **more}


ADULT = ("sex", "race", "income", "age", "hr_per_week")
GSS = ("gender", "educcat", "age", "childs")
adult, gss = partial(public, "adult.csv", ADULT), partial(public, "gss_wages.csv", GSS)
AGE = {"space": "interval", "low": 17, "high": 92, "step": 1}
HOURS = {"space": "interval", "low": 0, "high": 100, "step": 1, "bins": [0, 20, 40, 41, 60, 100]}


def adult_plan(privacy: Mapping[str, Any], age: Mapping[str, Any] = AGE) -> dict[str, Any]:
    columns = {
        "sex": categories("Female", "Male"),
        "race": categories("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"),
        "income": categories("<=50K", ">50K"),
    }
    return {"privacy": dict(privacy), "columns": {**columns, "age": dict(age), "hr_per_week": HOURS}}


def gss_plan(epsilon: int) -> dict[str, Any]:
    levels = ("Less Than High School", "High School", "Junior College", "Bachelor", "Graduate")
    columns = {"gender": categories("Female", "Male"), "educcat": categories(*levels, missing="category")}
    years = {"space": "interval", "low": 18, "high": 89, "step": 1, "missing": "category"}
    children = {"space": "interval", "low": 0, "high": 8, "step": 1, "missing": "category"}
    return {"privacy": {"epsilon": epsilon}, "columns": {**columns, "age": years, "childs": children}}


# The page ------------------------------------------------------------

MOMENTS = {
    "mean": Asked("avg(x) AS v FROM release", bound=True),
    "sum": Asked("sum(x) AS v FROM release", bound=True),
    "mean by category": Asked("team, avg(x) AS v FROM release WHERE team <> 'c' GROUP BY team", bound=True),
    "mean in a small category (5 %)": Asked("avg(x) AS v FROM release WHERE team = 'c'", bound=True),
    "standard deviation": Asked("stddev(x) AS v FROM release", bound=True),
}
SECTIONS = [
    Section(
        "Categories and sets",
        "Each row has a team and a set of likes; each of the two columns has half of ε.",
        {
            "count of a category": Asked("count(*) FILTER (WHERE team = 'a') AS v FROM release"),
            "count of a small category (2 %)": Asked(
                "count(*) FILTER (WHERE team = 'c') AS v FROM release", bound=True
            ),
            "share of a category": Asked("count(*) FILTER (WHERE team = 'a') / count(*) AS v FROM release"),
            "count of an item of a set": Asked("count(*) FILTER (WHERE list_contains(likes, 'x')) AS v FROM release"),
            "count by two columns": Asked(
                "count(*) FILTER (WHERE team = 'a' AND list_contains(likes, 'x')) AS v FROM release", bound=True
            ),
        },
        {
            f"{n:,} rows, ε = {e}": partial(
                local, partial(people, n), {"privacy": {"epsilon": e}, "columns": {"team": TEAM, "likes": LIKES}}
            )
            for n in (300, 1000, 5000)
            for e in (1, 2, 4)
        },
    ),
    *(
        Section(
            f"Sums of numbers: {name}",
            "A number from 0 to 100 and a team; each has half of ε.",
            MOMENTS,
            {
                f"{n:,} rows, ε = {e}": partial(
                    local,
                    partial(numbers, name, n),
                    {"privacy": {"epsilon": e}, "columns": {"x": number(name), "team": TEAM}},
                )
                for n, e in ((300, 8), (1000, 4), (5000, 2))
            },
        )
        for name in NUMBERS
    ),
    Section(
        "Conditions on numbers under wide noise, and quantiles",
        "A number from 0 to 100 in steps of 5 that has all of ε, in 1,000 rows, under Laplace's noise.",
        {
            "count of numbers up to 40": Asked("count(*) FILTER (WHERE x <= 40) AS v FROM release", bound=True),
            "count of one number": Asked("count(*) FILTER (WHERE x = 40) AS v FROM release", bound=True),
            "median": Asked("median(x) AS v FROM release", bound=True),
            "0.9 quantile": Asked("quantile(x, 0.9) AS v FROM release", bound=True),
        },
        {
            f"{name}, ε = {e}": partial(
                local,
                partial(in_fives, name, 1000),
                {"privacy": {"epsilon": e}, "columns": {"x": number(name, step=5, mechanism="laplace")}},
            )
            for name, epsilons in zip(NUMBERS, ((2, 4, 8), (4,), (4,)), strict=True)
            for e in epsilons
        },
        widths=True,
    ),
    Section(
        "Numbers that are assumed to be smooth",
        'A number from 0 to 100 in steps of 1 that has all of ε, asked with `assume = "smooth"`.',
        {
            "count of numbers up to 40": Asked(
                "count(*) FILTER (WHERE x <= 40) AS v FROM release", bound=True, assume="smooth"
            ),
            "0.1 quantile": Asked("quantile(x, 0.1) AS v FROM release", bound=True, assume="smooth"),
            "median": Asked("median(x) AS v FROM release", bound=True, assume="smooth"),
            "0.9 quantile": Asked("quantile(x, 0.9) AS v FROM release", bound=True, assume="smooth"),
        },
        {
            f"{name}, {n:,} rows, ε = {e}": partial(
                local, partial(smooth, name, n), {"privacy": {"epsilon": e}, "columns": {"x": number(name)}}
            )
            for name in SMOOTH
            for n, e in ((1000, 4), (5000, 2))
        },
        widths=True,
    ),
    Section(
        "Counts by three columns",
        "2,000 rows in 48 cells, where pairs of columns tell all, and where the three interact.",
        {
            "unbiased": Asked("a, b, c, count(*) AS v FROM release GROUP BY a, b, c", bound=True),
            "method loglinear": Asked("a, b, c, count(*) AS v FROM release GROUP BY a, b, c", True, "loglinear"),
        },
        {
            f"{'interaction' if interaction else 'pairs'}, ε = {e}": partial(
                local,
                partial(three_columns, interaction, 2000),
                {
                    "privacy": {"epsilon": e},
                    "columns": {"a": categories(*"pqrs"), "b": categories(*"pqr"), "c": categories(*"pqrs")},
                },
            )
            for interaction in (False, True)
            for e in (3, 5, 9)
        },
        widths=True,
    ),
    Section(
        "adult, sanitised row by row",
        "30,162 rows of a census: sex, race, income, age, and hours in bins; each has a fifth of ε.",
        {
            "count by race": Asked("race, count(*) AS v FROM release GROUP BY race"),
            "count by two columns": Asked("sex, income, count(*) AS v FROM release GROUP BY sex, income"),
            "share by sex": Asked("sex, proportion(income = '>50K') AS v FROM release GROUP BY sex", bound=True),
            "mean": Asked("avg(age) AS v FROM release"),
            "mean by sex": Asked("sex, avg(age) AS v FROM release GROUP BY sex", bound=True),
            "standard deviation": Asked("stddev(age) AS v FROM release", bound=True),
            "count of bins": Asked("count(*) AS v FROM release WHERE hr_per_week < 40"),
        },
        {f"ε = {e}": partial(local, adult, adult_plan({"epsilon": e})) for e in (3, 5, 10)},
        needs="adult.csv",
    ),
    Section(
        "gss_wages, sanitised row by row",
        "61,697 rows of a survey with missing values: gender, education, age, and children; each has a quarter of ε.",
        {
            "count by education": Asked(
                "educcat, count(*) AS v FROM release WHERE educcat IS NOT NULL GROUP BY educcat"
            ),
            "count of missing values": Asked("count(*) AS v FROM release WHERE educcat IS NULL", bound=True),
            "count of numbers that are there": Asked("count(age) AS v FROM release", bound=True),
            "mean": Asked("avg(age) AS v FROM release"),
            "mean by gender": Asked("gender, avg(age) AS v FROM release GROUP BY gender", bound=True),
            "count of a small whole number": Asked("count(*) AS v FROM release WHERE childs = 2", bound=True),
        },
        {f"ε = {e}": partial(local, gss, gss_plan(e)) for e in (4, 8, 12)},
        needs="gss_wages.csv",
    ),
    Section(
        "The curator (ask), on adult",
        "Each question has ε to itself.",
        {
            "count": Asked("count(*) AS v FROM release WHERE sex = 'Female'", bound=True),
            "count by race": Asked("race, count(*) AS v FROM release GROUP BY race", bound=True),
            "share": Asked("proportion(income = '>50K') AS v FROM release", bound=True),
            "mean": Asked("avg(age) AS v FROM release", bound=True),
            "mean by sex": Asked("sex, avg(age) AS v FROM release GROUP BY sex", bound=True),
        },
        {
            f"ε = {e}, δ = {d}": partial(
                curator, adult, adult_plan({"epsilon": 100, "delta": "1e-3" if d != "0" else "0"}), e, d
            )
            for e, d in (("0.1", "0"), ("1", "0"), ("1", "1e-6"))
        },
        needs="adult.csv",
    ),
    Section(
        "The central model, on adult",
        "Tables of every two columns are measured once, with δ = 1e-6.",
        {
            "count by race": Asked("race, count(*) AS v FROM release GROUP BY race"),
            "count by two columns": Asked("sex, income, count(*) AS v FROM release GROUP BY sex, income"),
            "share by sex": Asked("sex, proportion(income = '>50K') AS v FROM release GROUP BY sex"),
            "count of bins by race": Asked("race, count(*) AS v FROM release WHERE age < 37 GROUP BY race"),
        },
        {
            f"ε = {e}": partial(
                central,
                adult,
                adult_plan(
                    {"model": "central", "epsilon": e, "delta": "1e-6", "neighbours": "add-remove"},
                    {**AGE, "bins": list(range(17, 93, 5))},
                ),
            )
            for e in ("0.3", "1", "3")
        },
        needs="adult.csv",
    ),
]
