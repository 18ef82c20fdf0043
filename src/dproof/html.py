"""Small tables for notebooks and pages: every text escaped, nothing to load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def paragraph(text: Any) -> str:
    """A paragraph of plain text.

    >>> paragraph("1 < 2")
    '<p>1 &lt; 2</p>'
    """
    return f"<p>{escape(str(text))}</p>"


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A table of plain texts.

    >>> table(["a"], [[1], ["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>1</td></tr><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    names = "".join(f"<th>{escape(str(name))}</th>" for name in head)
    lines = ("".join(f"<td>{escape(str(value))}</td>" for value in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
