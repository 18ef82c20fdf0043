"""Plans, laws and questions that several tests use, and what makes them: the inside of dproof is named here once.

A table that only a single test needs stands beside it.
"""

import json
from collections.abc import Mapping
from typing import Any

from dproof import Plan, Privacy
from dproof.central.recipe import TableLaw, certify_tables
from dproof.central.release import count_tables
from dproof.coins import current
from dproof.curator.draw import Tally, draw, tally
from dproof.curator.recipe import Measurement, measure
from dproof.local.recipe import RowLaw, certify_row
from dproof.questions.question import Question, Schema, resolve
from dproof.questions.sql import parse
from dproof.tables import open_source


def categories(*values: Any, **more: Any) -> dict[str, Any]:
    return {"space": "categories", "values": list(values), **more}


def interval(low: Any, high: Any, step: Any = 1, **more: Any) -> dict[str, Any]:
    return {"space": "interval", "low": low, "high": high, "step": step, **more}


def subsets(*values: Any, **more: Any) -> dict[str, Any]:
    return {"space": "subsets", "values": list(values), **more}


def curves(*columns: str, **more: Any) -> dict[str, Any]:
    return {"space": "curves", "columns": list(columns), **more}


def plan_text(columns: dict[str, dict[str, Any]], *questions: dict[str, Any], **privacy: Any) -> str:
    """A plan as people write it.

    >>> print(plan_text({"sex": SEX}, epsilon="2"), end="")
    [privacy]
    epsilon = "2"
    [columns.sex]
    space = "categories"
    values = ["f", "m"]
    """
    parts = [("[privacy]", privacy), *((f"[columns.{name}]", keys) for name, keys in columns.items())]
    parts += [("[[questions]]", question) for question in questions]
    lines = [line for head, keys in parts for line in (head, *(f"{k} = {json.dumps(v)}" for k, v in keys.items()))]
    return "".join(f"{line}\n" for line in lines)


def row_law(plan: Plan | Mapping[str, Any]) -> RowLaw:
    """What happens to each row under a plan of the local model."""
    return certify_row(Plan.of(plan))


def table_law(plan: Plan | Mapping[str, Any]) -> TableLaw:
    """The tables and their noise under a plan of the central model."""
    return certify_tables(Plan.of(plan))


def exact_tables(table: Any, law: TableLaw) -> Any:
    """The rows and the tables that a law counts, before there is noise."""
    return count_tables(open_source(table), law)


def resolved(sql: str, schema: Schema) -> Question:
    """A question with every name and value checked."""
    return resolve(parse(sql), schema)


def measured_for(sql: str, schema: Schema, privacy: Privacy, **more: Any) -> Measurement:
    """What a curator measures for a question at this price."""
    return measure(resolved(sql, schema), schema, privacy, **more)


def tallied(table: Any, plan: Plan, measurement: Measurement) -> Tally:
    """The counts and sums that a curator adds noise to."""
    return tally(open_source(table), plan, measurement)


def with_noise(measurement: Measurement, counted: Tally) -> dict[str, Any]:
    """What leaves the curator, with the coins of this moment."""
    return draw(measurement, counted, current())


HOBBIES = ["Sports", "Cars", "Reading"]
SEX, AGE = categories("f", "m"), interval(0, 110)
AGE_IN_BINS = interval(0, 100, bins=[0, 30, 60, 100])
HOBBIES_AND_HOURS = plan_text({"hobby": categories(*HOBBIES), "hours": interval(0, 40)}, epsilon="2")
