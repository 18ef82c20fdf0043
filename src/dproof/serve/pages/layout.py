"""What all pages share: the frame, fields with their labels and errors, tables, and lines to copy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from dproof import __version__
from dproof.exact import written
from dproof.serve.pages.markup import Markup, joined, tag
from dproof.serve.pages.texts import TEXTS
from dproof.serve.service import Settings
from dproof.serve.tokens import Holder

MOST_SHOWN = 500  # rows of a table, columns of a form, names in a list to choose from
_LONGEST_TEXT = 100_000


def page(
    title: str, body: Any, holder: Holder | None, *, status: int = 200, refresh: int | None = None
) -> HTMLResponse:
    """A whole page; with `refresh` it is loaded again after so many seconds where no script does it."""
    links = [("/", "Tables and releases")] if holder is not None else []
    links += [("/custody", "Plans and tokens")] if holder is not None and holder.is_custodian else []
    out = holder and tag(
        "form", tag("span", holder.name), " ", tag("button", "Sign out"), method="post", action="/sign-out"
    )
    again = refresh and tag("noscript", tag("meta", http_equiv="refresh", content=refresh))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · dproof"),
        tag("link", rel="icon", href="data:,"),
        tag("link", rel="stylesheet", href="/static/style.css"),
        tag("script", src="/static/page.js", defer=True),
        again,
    )
    top = tag("header", tag("strong", "dproof"), tag("nav", (link(*one) for one in links), aria_label="Pages"), out)
    main = tag("main", tag("h1", title), body, id="main", tabindex="-1")
    told = joined(
        tag("p", id="status", role="status", class_="hidden"),  # what a script says to a screen reader
        tag("p", TEXTS["working"], id="working", aria_hidden="true"),  # and what it shows meanwhile
    )
    skip = tag("a", "Skip to the content", class_="skip", href="#main")
    foot = holder and tag("footer", f"dproof {__version__}", class_="hint")
    html = tag("html", head, tag("body", skip, top, main, foot, told), lang="en")
    return HTMLResponse(f"<!doctype html>{html}", status)


def error_page(status: int, sentence: str) -> Response:
    """What a person is shown instead of a page; who is not signed in is asked to."""
    if status == 401:
        return RedirectResponse("/sign-in", 303)
    if status in (404, 405):
        sentence = TEXTS["no_page"]
    body = joined(tag("p", sentence, class_="error", id="refused"), tag("p", link("/", TEXTS["back"])))
    return page(TEXTS["not_shown"], body, None, status=status)


def link(href: str, text: str) -> Markup:
    return tag("a", text, href=href)


def said(sentence: str | None, name: str, key: str | None = None) -> Markup:
    """The place of an error, beside what it is about; `key` names the field that is wrong."""
    return tag("p", sentence, id=name, class_="error", data_part=True, data_key=key)


def field(label: str, name: str, value: str = "", **attributes: Any) -> Markup:
    """An input with its label."""
    return tag("label", tag("span", label), tag("input", name=name, value=value, **attributes))


def choice(label: str, name: str, value: str, options: Mapping[str, str], **attributes: Any) -> Markup:
    """A list to choose from, with its label."""
    made = [tag("option", text, value=key, selected=key == value) for key, text in options.items()]
    return tag("label", tag("span", label), tag("select", made, name=name, **attributes))


def area(label: str, name: str, value: str, **attributes: Any) -> Markup:
    """Several lines of text, with their label."""
    # Named by itself: the text of the label would have what is typed in it.
    box = tag("textarea", Markup("\n"), value, name=name, spellcheck="false", aria_label=label, **attributes)
    return tag("label", tag("span", label), box, class_="area")


def ticked(label: str, name: str, value: str, is_ticked: bool, **attributes: Any) -> Markup:
    """A box to tick, with its label."""
    box = tag("input", type="checkbox", name=name, value=value, checked=is_ticked, **attributes)
    return tag("label", box, " ", tag("span", label), class_="tick")


def button(text: str, do: str, *, main: bool = False, **attributes: Any) -> Markup:
    return tag("button", text, name="do", value=do, class_="main" if main else None, **attributes)


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], caption: str | None = None) -> Markup:
    """A table that scrolls by itself where the window is narrow; numbers stand right. Of many rows the first."""
    head = tag("tr", (tag("th", text, scope="col") if text else tag("td") for text in heads))
    rows = list(rows)
    body = [tag("tr", (_cell(value, place) for place, value in enumerate(row))) for row in rows[:MOST_SHOWN]]
    if len(rows) > MOST_SHOWN:
        body.append(tag("tr", tag("td", TEXTS["more_rows"].format(len(rows) - MOST_SHOWN), colspan=len(heads))))
    title = caption and tag("caption", caption)
    whole = tag("table", title, tag("thead", head), tag("tbody", body))
    return tag("div", whole, class_="wide", tabindex="0", role="region", aria_label=caption or heads[0])


def _cell(value: Any, place: int) -> Markup:
    if isinstance(value, float | int):
        return tag("td", figure(value), class_="number")
    return tag("th", value, scope="row") if place == 0 else tag("td", value)


def figure(number: float | None) -> str:
    return "–" if number is None else written(number)


def minute(time: str) -> str:
    """A time of ISO 8601 as people read it."""
    return time[:16].replace("T", " ")


def copied(line: Any, label: str) -> Markup:
    """A line to copy: a command, Python, or a token."""
    return tag("figure", tag("figcaption", label), tag("pre", line), class_="copied")


def verbatim(text: str) -> Markup:
    """A text as it is, such as a plan; of a long one the beginning."""
    cut = text[:_LONGEST_TEXT] + TEXTS["more_text"].format(len(text)) if len(text) > _LONGEST_TEXT else text
    return tag("pre", cut)


def enumerated(names: Sequence[str], most: int = 20) -> str:
    """Names with commas between them; of many the first.

    >>> enumerated(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def folded(summary: str, *body: Any, is_open: bool = False) -> Markup:
    return tag("details", tag("summary", summary), *body, open=is_open)


def listed(items: Iterable[Any], nothing: Any) -> Markup:
    made = [tag("li", item) for item in items]
    return tag("ul", made) if made else tag("p", nothing)


def address(request: Request) -> str:
    """Where the server is, as the person's browser has it."""
    settings: Settings = request.app.state.service.settings
    scheme = "https" if settings.secure else "http"  # where a proxy ends TLS, the request came here without
    return str(request.base_url.replace(scheme=scheme)).rstrip("/")
