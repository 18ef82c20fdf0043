"""What programs are answered: the bodies of responses, as /openapi.json tells them. A test holds the answers to it."""

from __future__ import annotations

from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

Widths: TypeAlias = dict[str, float | None]


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Refusal(_Told):
    """One sentence: what is wrong, where, and the way out."""

    error: str


class Amount(_Told):
    """A part of the privacy budget; ρ where the ledger counts it."""

    epsilon: float
    delta: float
    rho: float | None = None


class Budget(_Told):
    """What may be spent, was spent and is left, as numbers and in words."""

    budget: Amount
    spent: Amount
    remaining: Amount
    in_words: str
    neighbours: str


class Column(_Told):
    """A column and its kind."""

    name: str
    kind: str


class ListedTable(_Told):
    """A table that may be asked; one that cannot be used has an `error` in place of everything but its name."""

    name: str
    error: str | None = None
    columns: list[Column] = []
    neighbours: str | None = None
    person: str | None = None
    rows_per_person: int | None = None
    budget: Budget | None = None


class Table(ListedTable):
    """All that is public about a table: its plan as TOML, and what its promise means to a person."""

    plan: str
    meaning: dict[str, Any]


class Preview(_Told):
    """What a question would cost, and the ± of each column of its answer; null where that depends on the data."""

    question: str
    cost: Amount
    free: bool
    remaining: Amount | None
    neighbours: str
    sensitivity: dict[str, Any] | None
    mechanisms: list[str]
    half_widths: Widths
    errors: dict[str, Any]
    informative: dict[str, bool]
    level: float
    notes: list[str]
    text: str


class Queried(_Told):
    """An answer. In a row an estimate is an object: estimate, low, high, stderr, raw, informative."""

    columns: list[str]
    rows: list[dict[str, Any]]
    level: float
    method: str
    notes: list[str]
    texts: list[list[str]]
    chart: str | None
    command: str


class Answer(Queried):
    """An answer that was paid for, and what is left."""

    budget: Budget


class Question(_Told):
    """A question that was asked, with its cost; one without an answer was stopped before it came."""

    model_config = ConfigDict(extra="allow", strict=True)
    number: int
    kind: str
    at: str
    question: str
    epsilon: float
    delta: float
    answered: bool
    analyst: str | None = None
    rho: float | None = None


class Rows(_Told):
    """Made-up rows."""

    columns: list[str]
    rows: list[dict[str, Any]]


class ListedRelease(_Told):
    """A release; one that cannot be used has an `error` in place of everything but its name."""

    name: str
    error: str | None = None
    model: str | None = None
    rows: int | None = None
    columns: list[Column] = []
    epsilon: str | None = None
    delta: str | None = None
    neighbours: str | None = None
    private: bool | None = None
    seal: str | None = None


class File(_Told):
    """A table in the folder, and whether it has a plan."""

    name: str
    file: str
    plan: bool


class Columns(_Told):
    """The columns of a table, those whose names look like values, its plan, and what is wrong with that."""

    name: str
    columns: list[str]
    doubtful: list[str]
    plan: str | None
    wrong: str | None


class Sent(_Told):
    """A table that was sent."""

    name: str
    file: str


class Expected(_Told):
    """What a draft would give: ± of each column and question, from a local release, a central one and asking."""

    plan: str
    model: str
    rows_per_person: int
    rows: int
    columns: list[dict[str, Any]]
    questions: list[dict[str, Any]]
    refused: dict[str, str]
    verdict: str | None
    advice: list[str]
    meaning: dict[str, Any]


class Epsilons(_Told):
    """The least ε each way; null where there is none, or with a sentence in `refused`."""

    epsilon: dict[str, str | None]
    refused: dict[str, str]


class Saved(_Told):
    """A plan that was saved."""

    plan: str
    file: str


class Inspection(_Told):
    """CONFIDENTIAL: how many values the plan does not cover."""

    confidential: str
    rows: int
    columns: list[dict[str, Any]]
    persons: dict[str, Any] | None
    hints: list[str]


class Begun(_Told):
    """The name of the job that makes a release."""

    job: str


class Job(_Told):
    """How far a job is, and what stopped it."""

    what: str
    rows: int
    total: int | None
    done: bool
    error: str | None


class Account(_Told):
    """The whole account of a table."""

    model_config = ConfigDict(extra="allow", strict=True)
    budget: Amount
    spent: Amount
    remaining: Amount
    accounting: str
    analysts: list[dict[str, Any]]
    entries: list[dict[str, Any]]
    mark: str


class Holder(_Told):
    """Who was given a token."""

    number: int
    name: str
    role: str
    made: str
    ends: str
    revoked: str | None
    tables: list[str]


class Token(Holder):
    """A token, shown this once."""

    token: str
    command: str


class Deed(_Told):
    """What a custodian did; without `who` it was done by a command on the machine itself."""

    model_config = ConfigDict(extra="allow", strict=True)
    number: int
    at: str
    who: str | None
    token: int | None
    did: str


class Health(_Told):
    """Whether the server works, its version, and that of this interface."""

    status: str
    version: str
    interface: int
