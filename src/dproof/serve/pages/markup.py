"""HTML from Python: every text is escaped unless it was made here."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

_VOID = frozenset({"input", "link", "meta", "img"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def joined(*children: Any) -> Markup:
    """Children one after another: HTML, texts, or sequences of them; None and False are nothing.

    >>> joined("1 < 2", [Markup("<b>x</b>"), None])
    '1 &lt; 2<b>x</b>'
    """
    return Markup("".join(_flat(children)))


def tag(element: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element. `class_` and `for_` are written without their _, other _ are -; True is a bare attribute.

    >>> tag("p", "a & b", class_="note", hidden=True, title=None)
    '<p class="note" hidden>a &amp; b</p>'
    """
    opened = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if element in _VOID:
        return Markup(f"<{element}{opened}>")
    return Markup(f"<{element}{opened}>{joined(*children)}</{element}>")


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def _flat(children: Iterable[Any]) -> Iterable[str]:
    for child in children:
        if isinstance(child, Markup):
            yield child
        elif isinstance(child, (str, int, float)) and not isinstance(child, bool):
            yield escape(str(child))
        elif child is not None and child is not False:
            yield from _flat(child)
