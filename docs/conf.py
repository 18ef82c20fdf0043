"""The site that `make docs` builds: the Markdown of this folder as it is, and the docstrings of the public names.

Two pages are more than Markdown to the builder, and plain Markdown to everyone else: the links of index.md are the
navigation, under its headings, and a list item of api.md such as "- `Release`: `query`, `raw`" is the place where the
docstrings of that class and those methods stand.
"""

from __future__ import annotations

import re
from typing import Any

import dproof

project = "dproof"
author = copyright = "the dproof authors"
version = release = dproof.__version__
language = "en_GB"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["make_cli.py"]

html_theme = "furo"
html_title = f"dproof {release}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = html_show_sphinx = html_show_copyright = False
html_theme_options = {"light_css_variables": {"color-brand-primary": "#1f5f8b", "color-brand-content": "#1f5f8b"}}
html_theme_options |= {"dark_css_variables": {"color-brand-primary": "#7fb8dd", "color-brand-content": "#7fb8dd"}}
pygments_style, pygments_dark_style = "friendly", "native"
highlight_language = "python"

myst_heading_anchors = 4
default_role = "literal"
smartquotes = False
add_module_names = False
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"NDArray": "ndarray"}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 150  # counted before module names are left out

_ITEM = re.compile(r"^- `(?:dproof\.(\w+)\.)?(\w+)`(?:: ((?:`\w+`(?:, )?)+))?.*\n(?:  .*\n)*", re.MULTILINE)


def listed(text: str) -> list[tuple[str, str, list[str]]]:
    """The items of the reference: module, name, and the methods to show."""
    return [
        (dproof._MODULES[group] if group else "dproof", name, re.findall(r"\w+", methods))
        for group, name, methods in _ITEM.findall(text)
    ]


def navigation(text: str) -> str:
    """The front page with a hidden table of contents: a part for each of its headings, an entry for each link."""
    parts = []
    for heading, body in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", text, re.MULTILINE):
        links = [f"{name} <{page}>" for name, page in re.findall(r"\[([^]]+)\]\(([\w/-]+)\.md\)", body)]
        parts.append("\n".join(["```{toctree}", ":hidden:", f":caption: {heading}", "", *links, "```"]))
    return text + "\n" + "\n\n".join(parts)


def reference(text: str) -> str:
    """The list of public names with the docstrings in place of each item."""

    def directive(found: re.Match[str]) -> str:
        ((module, name, methods),) = listed(found[0])
        kind = "function" if name[0].islower() else "class"
        members = f"   :members: {', '.join(methods)}\n" if methods else ""
        return f"```{{eval-rst}}\n.. currentmodule:: {module}\n\n.. auto{kind}:: {name}\n{members}```\n"

    return _ITEM.sub(directive, text)


def read(app: Any, page: str, source: list[str]) -> None:
    source[0] = re.sub(r"\n\n(```)$", r"\n\1", source[0], flags=re.MULTILINE)  # doctests end with an empty line
    if change := {"index": navigation, "api": reference}.get(page):
        source[0] = change(source[0])


def plain(app: Any, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """A docstring is text with `code` in it: no other sign of it is mark-up, and a doctest stays as it is."""
    prompt = False
    for n, line in enumerate(lines):
        prompt = bool(line.strip()) and (prompt or line.lstrip().startswith(">>>"))
        if not prompt:
            parts = re.split(r"(`[^`]+`)", line)
            lines[n] = "".join(p if p.startswith("`") else re.sub(r"([|*_\\])", r"\\\1", p) for p in parts)


def mathematics(text: str) -> str:
    """Powers and indices raised and lowered: e^{ε/3}, 10^9, X_d, S_{d,d'}."""
    for _ in range(2):  # a power in a power
        text = re.sub(r"\^\{([^{}]*)\}|\^\(([^()]*)\)", lambda found: f"<sup>{found[1] or found[2]}</sup>", text)
    text = re.sub(r"\^([−+]?\w+)", r"<sup>\1</sup>", text)
    text = re.sub(r"_\{([^{}]*)\}", r"<sub>\1</sub>", text)
    return re.sub(r"(?<!\w)(max|min|[^\W\d_])_(\w{1,3}(?!\w))", r"\1<sub>\2</sub>", text)


def typeset(app: Any, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Outside of code the mathematics; in code the names of files, broken after a slash or an underscore."""
    pieces = re.split(r"(<pre.*?</pre>|<code.*?</code>|<[^>]+>)", context.get("body", ""), flags=re.DOTALL)
    path = re.compile(r'(?<=<span class="pre">)(?:tests|dproof|src)/[^<]+')
    pieces[1::2] = [path.sub(lambda found: re.sub(r"([/_])", r"\1<wbr>", found[0]), code) for code in pieces[1::2]]
    pieces[::2] = map(mathematics, pieces[::2])
    context["body"] = "".join(pieces)


def setup(app: Any) -> None:
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", plain)
    app.connect("html-page-context", typeset)
