"""HTML and SVG from the templates in report/templates: every text escaped, nothing to load from a network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("dproof", "report/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, macro: str, **values: Any) -> Markup:
    """Render a macro of a template with these values, to stand by itself or inside another."""
    made: Markup = getattr(_templates().get_template(template).module, macro)(**values)
    return made


def paragraph(text: Any) -> str:
    """A paragraph of plain text.

    >>> str(paragraph("1 < 2"))
    '<p>1 &lt; 2</p>'
    """
    from markupsafe import Markup

    return Markup("<p>{}</p>").format(text)


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A table of plain texts.

    >>> str(table(["a"], [[1], ["<b>"]]))
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>1</td></tr><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    return render("drawings.html", "table", head=head, rows=rows)
