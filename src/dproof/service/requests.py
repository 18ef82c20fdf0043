"""What programs send: the bodies of requests, as /openapi.json tells them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

_LONGEST_SQL = 10_000
_STRICT = ConfigDict(extra="forbid", strict=True)  # true is no number, and a text is none where one is wanted


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError("write a number such as 0.1, or a text such as '0.1' or '1/3'")
    return value


Number = Annotated[str | float, BeforeValidator(_number)]  # a text is exact


def first_fault(faults: Sequence[Any]) -> str:
    """What is wrong with a request, in one sentence."""
    where = ".".join(str(part) for part in faults[0]["loc"] if part != "body")
    return f"{where or 'the body'}: {str(faults[0]['msg']).removeprefix('Value error, ')}"


class Asked(BaseModel):
    """A question in SQL."""

    model_config = _STRICT
    sql: str = Field(max_length=_LONGEST_SQL, examples=["SELECT count(*) AS n FROM data"])
    level: float = Field(0.95, gt=0, lt=1)
    chart: bool = Field(False, description="Draw the answer too, as an SVG picture.")


class Priced(Asked):
    """A question to the private table: what it may cost, or how good it must be."""

    epsilon: Number | None = Field(None, examples=["0.1"])
    delta: Number = "0"
    accuracy: Number | None = None

    def price(self) -> dict[str, Any]:
        """What a curator takes: decimals as they were written."""
        numbers = {"epsilon": self.epsilon, "delta": self.delta, "accuracy": self.accuracy}
        texts = {name: None if value is None else str(value) for name, value in numbers.items()}
        return {**texts, "level": self.level}


class Queried(Asked):
    """A question to a release."""

    method: str = "inverse"
    target: str = "table"
    assume: str = "nothing"
    simultaneous: bool = False


class Drafted(BaseModel):
    """A draft of a plan, with the keys of its TOML file, and about how many rows the table has."""

    model_config = _STRICT
    plan: dict[str, Any]
    rows: int = 10_000
    names_are_public: bool = Field(
        False, description="The first line of the file holds names, though they look like values."
    )

    @field_validator("plan")
    @classmethod
    def _can_be_written(cls, plan: dict[str, Any]) -> dict[str, Any]:
        """Half a surrogate pair is text in JSON, and in no file."""
        try:
            json.dumps(plan, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("a text in it is not Unicode") from None
        return plan


class HalfWidth(Drafted):
    """A draft of a plan, and the ± that is wanted of a column of the answer to one of its questions.

    Without a question it is that of the count of one value of the column, or of its mean.
    """

    question: str = ""
    column: str
    half_width: Number


class Wanted(BaseModel):
    """A release that is to be made of a table."""

    model_config = _STRICT
    table: str
    name: str


class Given(BaseModel):
    """What an analyst gets: a token, and a budget on each of some tables."""

    model_config = _STRICT
    name: str = Field(max_length=64)
    tables: list[str]
    epsilon: Number
    delta: Number = "0"
    days: int = 90
