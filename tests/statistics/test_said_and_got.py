"""± that is said before there is data, and ± of the answers: twenty questions on two surveys, in every model.

Where `share_of_rows` and `mean` are stated the two are within a tenth; but for local means with a condition, which lie
between ± as it is said and that for uneven values. docs/tutorials/which-model.md has the figures,
which `python -m tests.statistics.test_said_and_got` prints.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import dproof as dp
from dproof.testing import seeded_coins

DATA = Path(os.environ.get("DPROOF_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
_MODELS = ("local", "central, δ = 0", "central, δ > 0", "ask")
_CATEGORY = {"space": "categories", "missing": "category"}


@dataclass(frozen=True)
class Survey:
    """A table with the columns that are asked about, and questions, each with what a plan may state of it."""

    file: str
    columns: Mapping[str, Mapping[str, Any]]
    questions: tuple[tuple[str, Mapping[str, Any]], ...]

    def read(self) -> pa.Table:
        """The columns, as texts."""
        names = list(self.columns)
        kinds = pa.csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, pa.string()))
        return pa.csv.read_csv(DATA / self.file, convert_options=kinds)

    def plan(self, model: str, questions: tuple[tuple[str, Mapping[str, Any]], ...]) -> dict[str, Any]:
        """The plan for one model, with what is known of the questions."""
        promise: dict[str, Any] = {"epsilon": 8 if model == "local" else 1}
        promise |= {"delta": "1e-6"} if model == "central, δ > 0" else {}
        promise |= {} if model in ("local", "ask") else {"model": "central"}
        used = {name for sql, _ in questions for name in self.columns if name in sql}
        columns = {name: keys if name in used else {"drop": True} for name, keys in self.columns.items()}
        return {
            "privacy": promise,
            "columns": columns,
            "questions": [{"sql": sql, **known} for sql, known in questions],
        }


GSS = Survey(
    "gss_wages.csv",
    {
        "realrinc": {"space": "interval", "low": 0, "high": 500_000, "step": 1, "missing": "category"},
        "age": {"space": "interval", "low": 18, "high": 90, "step": 1, "missing": "category"},
        "gender": {"space": "categories", "values": ["Male", "Female"]},
        "educcat": _CATEGORY
        | {"values": ["Less Than High School", "High School", "Junior College", "Bachelor", "Graduate"]},
        "maritalcat": _CATEGORY | {"values": ["Married", "Never Married", "Divorced", "Widowed", "Separated"]},
    },
    (
        ("SELECT avg(realrinc) AS a FROM data", {"share_of_rows": "0.614", "mean": 22_326}),
        (
            "SELECT avg(realrinc) AS a FROM data WHERE gender = 'Female'",
            {"share_of_rows": "0.306", "mean": 15_773},
        ),
        ("SELECT avg(age) AS a FROM data", {"share_of_rows": "0.996", "mean": 46}),
        ("SELECT avg(age) AS a FROM data WHERE maritalcat = 'Widowed'", {"share_of_rows": "0.098", "mean": 69}),
        ("SELECT count(*) AS a FROM data WHERE gender = 'Male'", {"share_of_rows": "0.439"}),
        ("SELECT educcat, count(*) AS a FROM data GROUP BY educcat", {}),
        ("SELECT maritalcat, count(*) AS a FROM data GROUP BY maritalcat", {}),
        (
            "SELECT count(*) AS a FROM data WHERE gender = 'Female' AND maritalcat = 'Widowed'",
            {"share_of_rows": "0.078"},
        ),
        ("SELECT sum(realrinc) AS a FROM data", {}),
        ("SELECT count(realrinc) AS a FROM data", {"share_of_rows": "0.614"}),
    ),
)
ADULT = Survey(
    "adult.csv",
    {
        "age": {"space": "interval", "low": 17, "high": 90, "step": 1},
        "capital_gain": {"space": "interval", "low": 0, "high": 99_999, "step": 1},
        "hr_per_week": {"space": "interval", "low": 1, "high": 99, "step": 1},
        "sex": {"space": "categories", "values": ["Male", "Female"]},
        "income": {"space": "categories", "values": ["<=50K", ">50K"]},
        "race": {
            "space": "categories",
            "values": ["White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"],
        },
    },
    (
        ("SELECT avg(capital_gain) AS a FROM data", {"mean": 1092}),
        ("SELECT avg(capital_gain) AS a FROM data WHERE income = '>50K'", {"share_of_rows": "0.249", "mean": 3938}),
        ("SELECT avg(age) AS a FROM data", {"mean": 38}),
        ("SELECT avg(hr_per_week) AS a FROM data WHERE sex = 'Female'", {"share_of_rows": "0.324", "mean": 37}),
        ("SELECT avg(hr_per_week) AS a FROM data WHERE race = 'Black'", {"share_of_rows": "0.093", "mean": 38}),
        ("SELECT count(*) AS a FROM data WHERE income = '>50K'", {"share_of_rows": "0.249"}),
        ("SELECT sex, income, count(*) AS a FROM data GROUP BY sex, income", {}),
        ("SELECT race, count(*) AS a FROM data GROUP BY race", {}),
        ("SELECT sum(capital_gain) AS a FROM data", {}),
        ("SELECT count(*) AS a FROM data WHERE race = 'White' AND sex = 'Male'", {"share_of_rows": "0.598"}),
    ),
)


Compared = tuple[str, float | None, float | None, float | None]


def said_and_got(survey: Survey, model: str, draws: int) -> list[Compared]:
    """Each question with ± that is said, that for uneven values, and the middle one of those that some draws have; None
    for no information.

    A central release answers all of them; a local one, and a curator with all of ε, one.
    """
    table, every = survey.read(), survey.questions
    return [
        one
        for asked in ([every] if model.startswith("central") else [(one,) for one in every])
        for one in _said_and_got(table, survey.plan(model, asked), model, draws)
    ]


def _said_and_got(table: pa.Table, plan: dict[str, Any], model: str, draws: int) -> Iterator[Compared]:
    widths = defaultdict[str, list[float]](list)
    expected = dp.expect(plan, rows=table.num_rows, way="ask" if model == "ask" else "release")
    for seed in range(draws):
        with seeded_coins(seed), TemporaryDirectory() as folder:
            if model == "ask":
                curator = dp.Curator(table, plan, ledger=Path(folder, "budget.db"))
                answers = {said.question: curator.ask(said.question, epsilon=1) for said in expected}
            else:
                release = dp.sanitise(table, plan)
                texts = {said.question: said.question.replace("FROM data", "FROM release") for said in expected}
                answers = {sql: release.query(text) for sql, text in texts.items()}
        for sql, answer in answers.items():
            cells = [row["a"] for row in answer.rows if row["a"].informative and row["a"].low is not None]
            halves = [(cell.high - cell.low) / 2 for cell in cells]
            widths[sql] += [sqrt(sum(half**2 for half in halves) / len(halves))] if halves else []
    for said in expected:
        got = widths[said.question]
        common, rare = (said.half_width, said.rare_told) if said.informative else (None, None)
        yield said.question, common, rare, median(got) if got else None


def _is_near(sql: str, model: str, said: float, rare: float | None, got: float) -> bool:
    """Whether what was got is what was said.

    Sanitised rows that do not satisfy a condition add noise to a mean of those that do, by how far their own numbers
    are from it, and by whether these are missing: of which a plan states nothing, so that two ± are said.
    """
    if model == "local" and "avg" in sql and "WHERE" in sql:
        return rare is not None and said / 1.2 < got < rare
    return 1 / 1.1 < got / said < 1.1


@pytest.mark.slow
@pytest.mark.parametrize("model", _MODELS)
@pytest.mark.parametrize("survey", [GSS, ADULT], ids=lambda survey: survey.file)
def test_what_is_said_is_what_is_got(survey: Survey, model: str) -> None:
    if not (DATA / survey.file).exists():
        pytest.skip(f"{survey.file} is not here: set DPROOF_DATA to the folder that has it")
    compared = said_and_got(survey, model, 5)
    assert len(compared) == 10
    off = [
        (sql, said, rare, got)
        for sql, said, rare, got in compared
        if (said is None) != (got is None) or (said and got and not _is_near(sql, model, said, rare, got))
    ]
    assert not off


if __name__ == "__main__":
    for survey in (GSS, ADULT):
        for model in _MODELS:
            for sql, said, rare, got in said_and_got(survey, model, 5):
                ratio = f"{got / said:6.2f}" if said and got else "     –"
                widths = " ".join(f"{width or 0:12,.3f}" for width in (said, rare, got))
                print(f"{survey.file:14} {model:16} {widths} {ratio}  {sql}")
