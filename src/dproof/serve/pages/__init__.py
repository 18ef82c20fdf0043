"""The pages for people: a module here and a template for each, usable without a script; one script makes them quicker.

A module has a `router`, and may have a `LINK` that stands at the top of every page. Nothing else has to know of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel, ValidationError
from starlette.datastructures import ImmutableMultiDict

from dproof import ArgumentError, __version__, meaning
from dproof.serve import limits, plan_form
from dproof.serve.bodies import first_fault
from dproof.serve.tokens import Holder

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Link:
    """A link at the top of every page, to those who may follow it."""

    path: str
    text: str
    for_custodians: bool = False


def page(template: str, title: str, holder: Holder | None, *, status: int = 200, **context: Any) -> HTMLResponse:
    """A whole page, from a template that fills the body of `base.html`."""
    links = [link for link in _links() if holder and (holder.is_custodian or not link.for_custodians)]
    text = TEMPLATES.get_template(template).render(title=title, holder=holder, links=links, **context)
    return HTMLResponse(text, status)


def error_page(status: int, sentence: str) -> Response:
    """The page about an error; who is not signed in is asked to sign in."""
    if status == 401:
        return RedirectResponse("/sign-in", 303)
    told = "There is no such page." if status in (404, 405) else sentence
    return page("error.html", "This cannot be shown", None, status=status, sentence=told)


def page_router() -> APIRouter:
    """Every page of this folder."""
    router = APIRouter(include_in_schema=False)
    for module in _modules():
        router.include_router(module.router)
    return router


@cache
def _links() -> list[Link]:
    return sorted((module.LINK for module in _modules() if hasattr(module, "LINK")), key=lambda link: link.path)


def _modules() -> list[Any]:
    return [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]


# What a browser sends ------------------------------------------------------------------------------------------------


Fields: TypeAlias = ImmutableMultiDict[str, str]  # of a form; one that came several times has several texts


async def _sent_fields(request: Request) -> Fields:
    body = (await request.body()).decode("utf-8", "replace").replace("%0D%0A", "%0A")
    try:
        return ImmutableMultiDict(parse_qsl(body, keep_blank_values=True, max_num_fields=limits.MOST_FIELDS))
    except ValueError:
        raise ArgumentError(f"the form has more than {limits.MOST_FIELDS:,} fields") from None


# After who sends it: a page function without `async` is called in a thread.
Sent = Annotated[Fields, Depends(_sent_fields)]


def checked(model: type[Model], **fields: Any) -> Model:
    """The body that programs send as JSON, from the fields of a form."""
    try:
        return model(**fields)
    except ValidationError as error:
        raise ArgumentError(first_fault(error.errors())) from None


def address(request: Request) -> str:
    """Where the server is, as the person's browser has it."""
    scheme = "https" if request.app.state.service.settings.secure else "http"  # a proxy may end TLS on the way
    return str(request.base_url.replace(scheme=scheme)).rstrip("/")


# What templates write ------------------------------------------------------------------------------------------------


def _figure(number: float | None) -> str:
    return "–" if number is None else meaning.written(number)


def enumerated(names: Sequence[str], most: int = 20) -> str:
    """Names with commas between them; of many the first.

    >>> enumerated(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def minute(time: str) -> str:
    """A time of ISO 8601 as people read it."""
    return time[:16].replace("T", " ")


def _price(amount: Mapping[str, float]) -> str:
    return f"ε = {amount['epsilon']:.6g}, δ = {meaning.written(amount['delta'])}"


def _budget_left(budget: Mapping[str, Any]) -> str:
    """The budget that is left, in figures and words."""
    if not budget["remaining"]["epsilon"]:
        return (
            "Nothing is left to spend on this table. Questions that were answered before stay free, and so do all "
            "questions to releases."
        )
    return f"Left to spend: {_price(budget['remaining'])}; {budget['in_words']}."


def _promise(release: Mapping[str, Any]) -> str:
    """The model and the price of a release."""
    return (
        f"{release['model']} model, ε = {meaning.written(release['epsilon'])}, δ = {meaning.written(release['delta'])}"
    )


TEMPLATES = Environment(
    loader=PackageLoader("dproof.serve"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.globals |= {"version": __version__, "limits": limits.SHOWN}
TEMPLATES.filters |= {
    "in_words": plan_form.hint_in_words,
    "budget_left": _budget_left,
    "enumerated": enumerated,
    "figure": _figure,
    "minute": minute,
    "percent": meaning.percent,
    "price": _price,
    "promise": _promise,
}
