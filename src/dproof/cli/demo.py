"""`dproof demo`: a made-up survey, sanitised in both models and queried."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, Table, emit, escape, having_done, quoted_path
from dproof.coins import Coins
from dproof.errors import FileError
from dproof.limits import MOST_DUMMY_ROWS

COLUMNS = """
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
[columns.name]
drop = true
"""
CENTRAL = f"""\
[privacy]                      # what one person may lose, to all but the one who holds the table
model = "central"
epsilon = "1"
delta = "1e-6"
neighbours = "add-remove"

[release]
tables = 2                     # all tables of up to two columns
sums = true                    # and the sums of numbers, for means
{COLUMNS}"""
LOCAL = f"""\
[privacy]                      # what one whole row may lose, to anybody
epsilon = "5"
delta = "0"
neighbours = "change-one"
{COLUMNS}
[[joint]]                      # sanitised together: their dependence is kept
columns = ["hobby", "region"]
"""
MODELS = {"central": CENTRAL, "local": LOCAL}

QUESTIONS = (
    "SELECT hobby, count(*) AS people FROM release GROUP BY hobby",
    "SELECT region, count(*) AS people FROM release WHERE hobby = 'Reading' GROUP BY region",
    "SELECT count(*) AS people FROM release WHERE list_contains(interests, 'Music')",
    "SELECT avg(tv) AS hours FROM release",
)


@command
@click.option("--out", metavar="DIR", type=PATH, help="The folder to make for the demo; a temporary one by default.")
@click.option(
    "--people", metavar="N", type=click.IntRange(1, MOST_DUMMY_ROWS), default=20_000, help="How many people to make up."
)
@json_option
def demo(out: Path | None, people: int, as_json: bool) -> None:
    """Make up a survey, sanitise it in both models, and compare their answers with the truth.

    Nobody in the survey exists, so the truth can be shown beside the answers: those of tables that were measured once
    with noise by whoever holds the survey (central), and those of rows that were sanitised one by one (local). The
    folder keeps the survey, and for each model the plan and the release with its report.
    """
    import pyarrow.parquet

    from dproof.releases.sanitise import sanitise

    if out is not None and out.exists():
        raise FileError(f"{str(out)!r} is there already: choose another name")
    folder = Path(mkdtemp(prefix="dproof-demo-")) if out is None else out
    folder.mkdir(exist_ok=True)
    try:
        survey = made_up(people)
        pyarrow.parquet.write_table(survey, folder / "survey.parquet")
        releases = {}
        for model, plan in MODELS.items():
            (folder / f"{model}.toml").write_text(plan, "utf-8")
            releases[model] = sanitise(folder / "survey.parquet", folder / f"{model}.toml", folder / model)
        answers = [_compared(releases, survey, sql) for sql in QUESTIONS]
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    promises = {model: release.privacy for model, release in releases.items()}
    models = {name: {"epsilon": float(p.epsilon), "delta": float(p.delta)} for name, p in promises.items()}
    answer = {"people": people, "folder": str(folder), "models": models, "answers": answers}
    with having_done(f"the demo is in {folder}"):
        emit(answer, as_json, lambda: _demo_page(answer))


def made_up(people: int) -> Any:
    """A survey of people who do not exist, the same for the same number of them."""
    import pyarrow as pa

    from dproof.plans.plan import Plan

    plan = Plan.parse(LOCAL)
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


def _compared(releases: Mapping[str, Any], survey: Any, sql: str) -> dict[str, Any]:
    """A question asked of both releases, and the truth."""
    import duckdb

    asked = {model: release.query(sql) for model, release in releases.items()}
    columns = asked["local"].columns
    keys = [column for column in columns if column not in ("people", "hours")]
    figure = next(column for column in columns if column not in keys)
    with duckdb.connect() as database:
        split = "string_split(interests, ';') AS interests"
        database.register("survey", survey)
        database.execute(f"CREATE VIEW release AS SELECT * REPLACE ({split}) FROM survey")
        found = database.execute(sql).fetchall()
    truth = {row[:-1]: row[-1] for row in found}
    rows = []
    for central, local in zip(asked["central"].rows, asked["local"].rows, strict=True):
        group = [local[key] for key in keys]
        cells = {"central": central[figure], "local": local[figure]}
        shown = {model: {"shown": cell.clamped_estimate, **cell.to_json()} for model, cell in cells.items()}
        rows.append({"group": group, "truth": float(truth.get(tuple(group), 0)), **shown})
    return {"sql": sql, "figure": figure, "rows": rows}


def _demo_page(answer: dict[str, Any]) -> Page:
    folder, models = escape(answer["folder"]), answer["models"]
    yield (
        f"\n[bold]{answer['people']:,} people[/bold] who do not exist were asked for their hobby, region, interests, "
        "age and hours of television. The survey was sanitised twice, and both promises were certified before it was "
        "opened.\n\n"
        f"[bold]central[/bold], ε = {models['central']['epsilon']:g} and δ = {models['central']['delta']:g}: whoever "
        "holds the survey is trusted, and measured tables of it once, with noise.\n"
        f"[bold]local[/bold], ε = {models['local']['epsilon']:g}: nobody is trusted, and every row was sanitised by "
        "itself.\n\nAnyone may now query both:\n"
    )
    for asked in answer["answers"]:
        yield f"[bold]{escape(asked['sql'])}[/bold]"
        rows = (_shown_cells(row, 2 if asked["figure"] == "hours" else 0) for row in asked["rows"])
        yield Table(("", "truth", "central, 95%", "local, 95%"), rows, left=(0,))
        yield ""
    yield "95% intervals: about one in twenty misses the truth."
    central = escape(quoted_path(Path(answer["folder"], "central")))
    yield f"\nQuery them, without limit:\n  dproof query {central} 'SELECT … FROM release'"
    yield f"Verify them:\n  dproof verify {central}"
    yield f"Read what was done:\n  {folder}/central/report.html\n  {folder}/local/report.html"
    yield "Let others plan and ask in a browser, without code:\n  dproof serve FOLDER\n"


def _shown_cells(row: dict[str, Any], digits: int) -> tuple[str, ...]:
    label = escape(", ".join(map(str, row["group"])))
    return label, f"{row['truth']:,.{digits}f}", *(_shown_cell(row, model, digits) for model in MODELS)


def _shown_cell(row: dict[str, Any], model: str, digits: int) -> str:
    if not row[model]["informative"]:
        return "no information"
    estimate, low, high = (f"{row[model][key]:,.{digits}f}" for key in ("shown", "low", "high"))
    missed = not row[model]["low"] <= row["truth"] <= row[model]["high"]
    return f"[bold]{estimate}[/bold]  {low} … {high}" + (" [yellow]misses[/yellow]" if missed else "")
