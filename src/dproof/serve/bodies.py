"""The bodies of requests and responses, as /openapi.json tells them. A test holds every answer to its model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from dproof import Terms
from dproof.serve import limits


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)  # true is no number, and a text is none where one is wanted


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError("write a number such as 0.1, or a text such as '0.1' or '1/3'")
    return _unicode(str(value))


def _unicode(text: str) -> str:
    """The text; half a surrogate pair is text in JSON, and in no file and no answer."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a text in it is not Unicode") from None
    return text


Number = Annotated[str | float, BeforeValidator(_number)]  # as it was written: a text is exact


def first_fault(faults: Sequence[Any]) -> str:
    """The first fault of a request, in one sentence."""
    where = ".".join(str(part) for part in faults[0]["loc"] if part != "body")
    return f"{where or 'the body'}: {str(faults[0]['msg']).removeprefix('Value error, ')}"


class SqlRequest(_Body):
    """A question in SQL."""

    sql: str = Field(max_length=limits.LONGEST_QUESTION, examples=["SELECT count(*) AS n FROM data"])
    level: float = Field(0.95, gt=0, lt=1)
    chart: bool = Field(False, description="Draw the answer too, as an SVG picture.")


class AskRequest(SqlRequest):
    """A question to the private table: what it may cost, or how good it must be."""

    epsilon: Number | None = Field(None, examples=["0.1"])
    delta: Number = "0"
    accuracy: Number | None = None

    @property
    def terms(self) -> Terms:
        """The terms as a curator takes them; without `all_groups`, since answers of any size would fill the memory."""
        return Terms(**self.model_dump(exclude={"sql", "chart"}))


class QueryRequest(SqlRequest):
    """A question to a release."""

    method: str = "inverse"
    target: str = "table"
    assume: str = "nothing"
    simultaneous: bool = False


class DraftRequest(_Body):
    """A draft of a plan, with the keys of its TOML file, and about how many rows the table has."""

    plan: dict[str, Any]
    rows: int = 10_000
    names_are_public: bool = Field(
        False, description="The first line of the file holds names, though they look like values."
    )

    @field_validator("plan")
    @classmethod
    def _can_be_written(cls, plan: dict[str, Any]) -> dict[str, Any]:
        _unicode(json.dumps(plan, ensure_ascii=False))
        return plan


class HalfWidthRequest(DraftRequest):
    """A draft of a plan, and the ± that is wanted of a column of the answer to one of its questions.

    Without a question it is that of the count of one value of the column, or of its mean.
    """

    question: str = ""
    column: str
    half_width: Number


class ReleaseRequest(_Body):
    """A release that is to be made of a table."""

    table: str
    name: str


class TokenRequest(_Body):
    """A token for an analyst, with a budget on each of some tables."""

    name: str = Field(max_length=limits.LONGEST_NAME)
    tables: list[str]
    epsilon: Number
    delta: Number = "0"
    days: int = 90


Widths: TypeAlias = dict[str, float | None]


class Refusal(_Body):
    """One sentence: what is wrong, where, and the way out; and the code of the class of error, where it has one."""

    error: str
    code: str | None = None


class Amount(_Body):
    """A part of the privacy budget; ρ where the ledger counts it."""

    epsilon: float
    delta: float
    rho: float | None = None


class Budget(_Body):
    """A budget: all of it, what was spent and what is left, as numbers and in words."""

    budget: Amount
    spent: Amount
    remaining: Amount
    in_words: str
    neighbours: str


class Column(_Body):
    """A column and its kind."""

    name: str
    kind: str


class ListedTable(_Body):
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


class Preview(_Body):
    """The cost of a question, and the ± of each column of its answer; null where that depends on the data."""

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


class QueryAnswer(_Body):
    """An answer. In a row an estimate is an object: estimate, low, high, stderr, raw, informative."""

    columns: list[str]
    rows: list[dict[str, Any]]
    level: float
    method: str
    notes: list[str]
    texts: list[list[str]]
    chart: str | None
    command: str


class PaidAnswer(QueryAnswer):
    """An answer that was paid for, and what is left."""

    budget: Budget


class Question(_Body):
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


class Rows(_Body):
    """Made-up rows."""

    columns: list[str]
    rows: list[dict[str, Any]]


class ListedRelease(_Body):
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


class File(_Body):
    """A table in the folder, and whether it has a plan."""

    name: str
    file: str
    plan: bool


class Columns(_Body):
    """The columns of a table, those whose names look like values, its plan, and what is wrong with that."""

    name: str
    columns: list[str]
    doubtful: list[str]
    plan: str | None
    wrong: str | None


class SentTable(_Body):
    """A table that was sent."""

    name: str
    file: str


class Expectation(_Body):
    """± of the answers of a draft each way, which way to take, and what would help, as `dproof plan --json` has it."""

    plan: str
    model: str
    rows_per_person: int
    rows: int
    ways: list[dict[str, Any]]
    answers: list[dict[str, Any]]
    recommended: dict[str, Any]
    shares: dict[str, float]
    verdict: str | None
    hints: list[dict[str, Any]]
    meaning: dict[str, Any]


class Epsilons(_Body):
    """The least ε each way; null where there is none, or with a sentence in `refused`."""

    epsilon: dict[str, str | None]
    refused: dict[str, str]


class SavedPlan(_Body):
    """A plan that was saved."""

    plan: str
    file: str


class Inspection(_Body):
    """CONFIDENTIAL: how many values the plan does not cover."""

    confidential: str
    rows: int
    columns: list[dict[str, Any]]
    persons: dict[str, Any] | None
    hints: list[str]
    problems: list[str]
    suggestions: list[dict[str, Any]]


class StartedJob(_Body):
    """The name of the job that makes a release."""

    job: str


class Job(_Body):
    """The progress of a job, and what stopped it."""

    what: str
    rows: int
    total: int | None
    done: bool
    error: str | None


class Account(_Body):
    """The whole account of a table."""

    model_config = ConfigDict(extra="allow", strict=True)
    budget: Amount
    spent: Amount
    remaining: Amount
    accounting: str
    analysts: list[dict[str, Any]]
    entries: list[dict[str, Any]]
    mark: str


class Holder(_Body):
    """A person who was given a token."""

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


class Deed(_Body):
    """An act of a custodian; without `who` it was done by a command on the machine itself."""

    model_config = ConfigDict(extra="allow", strict=True)
    number: int
    at: str
    who: str | None
    token: int | None
    did: str


class Health(_Body):
    """The state of the server, its version, and that of this interface."""

    status: str
    version: str
    interface: int
