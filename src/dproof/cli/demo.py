"""`dproof demo`: the main job, on people who do not exist."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dproof.cli.options import AsJson, option
from dproof.cli.output import Page, emit, escape, having_done, table
from dproof.coins import Coins
from dproof.errors import InputError

PLAN = """\
[privacy]                      # what one whole row may lose
epsilon = "5"
delta = "0"
neighbours = "change-one"

[columns.hobby]
space = "categories"
values = ["Sports", "Cars", "Television", "Computer games", "Reading"]
[columns.region]
space = "categories"
values = ["North", "East", "South", "West"]
[columns.interests]
space = "subsets"
values = ["Music", "Football", "Chess"]
separator = ";"
[columns.age]
space = "interval"
low = 16
high = 95
step = 1
[columns.tv]                   # hours of television in a week
space = "interval"
low = 0
high = 40
step = 1
share = 2
[columns.name]
drop = true

[[joint]]                      # sanitised together: their dependence is kept
columns = ["hobby", "region"]
"""

CENTRAL = """\
[privacy]                      # what one person may lose; whoever measures the tables sees the true rows
model = "central"
epsilon = "1"
delta = "1e-6"
neighbours = "add-remove"
[release]
tables = 2
sums = true

[columns.hobby]
space = "categories"
values = ["Sports", "Cars", "Television", "Computer games", "Reading"]
[columns.region]
space = "categories"
values = ["North", "East", "South", "West"]
[columns.interests]
space = "subsets"
values = ["Music", "Football", "Chess"]
separator = ";"
[columns.age]
space = "interval"
low = 16
high = 95
step = 1
bins = [16, 30, 45, 60, 95]
[columns.tv]                   # hours of television in a week
space = "interval"
low = 0
high = 40
step = 1
[columns.name]
drop = true
"""

QUESTIONS = (
    "SELECT hobby, count(*) AS people FROM release GROUP BY hobby",
    "SELECT region, count(*) AS people FROM release WHERE hobby = 'Reading' GROUP BY region",
    "SELECT count(*) AS people FROM release WHERE list_contains(interests, 'Music')",
    "SELECT avg(tv) AS hours FROM release",
)


def demo(
    out: Annotated[Path | None, option("DIR", "The folder to make for the demo; a temporary one by default.")] = None,
    people: Annotated[int, option("N", "How many people to make up.", limits=(1, 10**7))] = 20_000,
    as_json: AsJson = False,
) -> None:
    """Make up a survey, sanitise it, and compare its answers with the truth.

    Nobody in the survey exists, so the truth can be shown beside the answers: the count of the sanitised rows as they
    are, which is biased, and the debiased estimate with its interval; and the answers of the central model, where
    tables of the whole are measured. The folder keeps the survey, both plans and both releases with their reports.
    """
    import pyarrow.parquet

    from dproof.releases.sanitise import sanitise

    if out is not None and out.exists():
        raise InputError(f"{str(out)!r} is there already: choose another name")
    folder = Path(mkdtemp(prefix="dproof-demo-")) if out is None else out
    folder.mkdir(exist_ok=True)
    try:
        survey = made_up(people)
        pyarrow.parquet.write_table(survey, folder / "survey.parquet")
        (folder / "plan.toml").write_text(PLAN, "utf-8")
        release = sanitise(folder / "survey.parquet", folder / "plan.toml", folder / "release")
        answers = [_compared(release, survey, sql) for sql in QUESTIONS]
        (folder / "central.toml").write_text(CENTRAL, "utf-8")
        measured = sanitise(folder / "survey.parquet", folder / "central.toml", folder / "central")
        central = [_compared(measured, survey, sql) for sql in QUESTIONS]
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    answer = {"people": people, "folder": str(folder), "epsilon": 5.0, "delta": 0.0, "answers": answers}
    answer["central"] = {"epsilon": 1.0, "delta": 1e-6, "answers": central}
    with having_done(f"what was made is in {folder}"):
        emit(answer, as_json, lambda: _page(answer))


def made_up(people: int) -> Any:
    """A survey of people who do not exist, the same for the same number of them."""
    import pyarrow as pa

    from dproof.plans.plan import Plan

    plan = Plan.parse(PLAN)
    hobbies, regions, items = (plan.column(name).space.values for name in ("hobby", "region", "interests"))
    coins = Coins(hashlib.sha256(b"people who do not exist").digest(), private=False)

    def uniform() -> NDArray[np.float64]:
        return coins.words32(people) / 2.0**32

    region = _pick(uniform(), np.array([[0.35, 0.2, 0.3, 0.15]]))
    tastes = np.array(
        [
            [0.30, 0.15, 0.20, 0.15, 0.20],
            [0.20, 0.30, 0.20, 0.20, 0.10],
            [0.15, 0.10, 0.40, 0.20, 0.15],
            [0.25, 0.10, 0.15, 0.15, 0.35],
        ]
    )
    hobby = _pick(uniform(), tastes[region])
    chances = np.array([[0.5, 0.7, 0.1], [0.4, 0.5, 0.05], [0.5, 0.4, 0.1], [0.6, 0.3, 0.3], [0.7, 0.2, 0.4]])
    held = [uniform() < chances[hobby, n] for n in range(3)]
    age = 16 + np.floor(70 * (uniform() + uniform()) / 2 + 9 * uniform())
    tv = np.clip(np.floor(4 + 10 * (uniform() + uniform()) + 8 * (hobby == 2) + (age - 40) / 8), 0, 40)
    likes = [";".join(item for item, has in zip(items, row, strict=True) if has) for row in zip(*held, strict=True)]
    return pa.table(
        {
            "name": [f"person {n}" for n in range(people)],
            "hobby": [hobbies[n] for n in hobby],
            "region": [regions[n] for n in region],
            "interests": likes,
            "age": age.astype(np.int64),
            "tv": tv.astype(np.int64),
        }
    )


def _pick(uniform: NDArray[np.float64], chances: NDArray[np.float64]) -> NDArray[np.int64]:
    """One alternative for each person, by the chances in their row."""
    picked: NDArray[np.int64] = (uniform[:, None] >= chances.cumsum(axis=1)).sum(axis=1)
    return picked.clip(max=chances.shape[1] - 1)


def _compared(release: Any, survey: Any, sql: str) -> dict[str, Any]:
    """A question asked both ways, and the truth."""
    import duckdb

    asked = release.query(sql)
    keys = [column for column in asked.columns if column not in ("people", "hours")]
    figure = next(column for column in asked.columns if column not in keys)
    with duckdb.connect() as database:
        split = "string_split(interests, ';') AS interests"
        database.register("survey", survey)
        database.execute(f"CREATE VIEW release AS SELECT * REPLACE ({split}) FROM survey")
        found = database.execute(sql).fetchall()
    truth = {row[:-1]: row[-1] for row in found}
    groups = [[row[key] for key in keys] for row in asked.rows]
    rows = [
        {"group": group, "truth": float(truth.get(tuple(group), 0)), "shown": cell.moved, **cell.to_json()}
        for group, cell in zip(groups, (row[figure] for row in asked.rows), strict=True)
    ]
    return {"sql": sql, "figure": figure, "rows": rows}


def _page(answer: dict[str, Any]) -> Page:
    folder = escape(answer["folder"])
    yield (
        f"\n[bold]{answer['people']:,} people[/bold] who do not exist were asked for their hobby, region, interests, "
        f"age and hours of television. Each row was sanitised with [bold]ε = {answer['epsilon']:g}[/bold], certified "
        "before the data was opened. Anyone may now query the release:\n"
    )
    yield from _answers(answer["answers"])
    central = answer["central"]
    yield (
        "Whoever holds the true rows and is trusted with them can measure tables of the whole instead, with "
        f"[bold]ε = {central['epsilon']:g}, δ = {central['delta']:g}[/bold] for each person:\n"
    )
    yield from _answers(central["answers"], raw=False)
    yield (
        "95% intervals: about one in twenty misses the truth. Each release may be given to anyone; with real people "
        "both together would cost both promises."
    )
    yield f"\nQuery it, without limit:\n  dproof query {folder}/release 'SELECT … FROM release'"
    yield f"Verify it:\n  dproof verify {folder}/release"
    yield f"Read what was done:\n  {folder}/release/report.html\n"


def _answers(answers: list[dict[str, Any]], raw: bool = True) -> Page:
    for asked in answers:
        yield f"[bold]{escape(asked['sql'])}[/bold]"
        rows = (_cells(row, 2 if asked["figure"] == "hours" else 0) for row in asked["rows"])
        if raw:
            yield table(("", "truth", "as the rows stand", "debiased, 95%", ""), rows, left=(0,))
        else:
            short = ((label, truth, *rest) for label, truth, _, *rest in rows)
            yield table(("", "truth", "measured, 95%", ""), short, left=(0,))
        yield ""


def _cells(row: dict[str, Any], digits: int) -> tuple[str, ...]:
    label = escape(", ".join(map(str, row["group"])))
    if row["low"] is None:  # of so few people that nothing can be said
        return label, f"{row['truth']:,.{digits}f}", "", "no information", ""
    truth, raw, estimate, low, high = (f"{row[key]:,.{digits}f}" for key in ("truth", "raw", "shown", "low", "high"))
    mark = "[green]holds[/green]" if row["low"] <= row["truth"] <= row["high"] else "[yellow]misses[/yellow]"
    return label, truth, raw, f"[bold]{estimate}[/bold]  {low} … {high}", mark
