"""What a browser sends with a form, and how a refusal of it is told beside the form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qs

from fastapi import Request
from pydantic import BaseModel, ValidationError

from dproof.errors import InputError
from dproof.serve.bodies import first_fault

M = TypeVar("M", bound=BaseModel)
_MOST_FIELDS = 20_000


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a form; one that came several times has several texts."""

    texts: dict[str, list[str]]

    @classmethod
    async def of(cls, request: Request) -> Fields:
        body = (await request.body()).decode("utf-8", "replace").replace("%0D%0A", "%0A")
        try:
            return cls(parse_qs(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
        except ValueError:
            raise InputError(f"the form has more than {_MOST_FIELDS:,} fields") from None

    def text(self, name: str, default: str = "") -> str:
        return self.texts.get(name, [default])[0]

    def all(self, name: str) -> list[str]:
        return self.texts.get(name, [])


def checked(model: type[M], **fields: Any) -> M:
    """What programs send as JSON, from the fields of a form."""
    try:
        return model(**fields)
    except ValidationError as error:
        raise InputError(first_fault(error.errors())) from None


def refusal(error: Exception) -> str:
    """One sentence, with what was noted beside it."""
    return "; ".join([str(error), *getattr(error, "__notes__", ())])
