"""The documentation is complete: every page is reached, every link leads somewhere, every public name has its place."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import dproof
from docs.check_site import problems
from docs.conf import listed, navigation, reference
from dproof.spaces.space import Points

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
ITEMS = listed((DOCS / "api.md").read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as repository browsers and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_reached_from_the_front_page() -> None:
    shown = re.findall(r"<([\w/-]+)>$", navigation((DOCS / "index.md").read_text("utf-8")), flags=re.MULTILINE)
    assert sorted(shown) == sorted(
        str(page.relative_to(DOCS).with_suffix("")) for page in PAGES[2:] if page.stem != "index"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_its_heading(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def test_every_public_name_is_in_the_reference_once() -> None:
    names = [name for module, name, _ in ITEMS if module == "dproof"]
    assert dproof.sanitize is dproof.sanitise, "one function, shown once"
    assert sorted([*names, "sanitize"]) == sorted(dproof._PUBLIC)


@pytest.mark.parametrize("group", dproof._MODULES)
def test_every_name_of_a_group_is_in_the_reference_once(group: str) -> None:
    module = dproof._MODULES[group]
    names = [name for of, name, _ in ITEMS if of == module]
    public = set(import_module(module).__all__) - {"explain", "Projection"}  # public by itself; what `refine` gives
    assert sorted(names) == sorted(public)


@pytest.mark.parametrize(("module", "name", "methods"), ITEMS, ids=[name for _, name, _ in ITEMS])
def test_what_the_reference_shows_is_there_and_says_what_it_is(module: str, name: str, methods: list[str]) -> None:
    thing = getattr(import_module(module), name)
    for part in (thing, *(getattr(thing, method) for method in methods)):
        assert inspect.getdoc(part)


OBJECTS = [
    *("Privacy", "Mechanism", "Distribution", "Certificate", "Kernel", "Cost", "Standing", "Inbox"),
    *("Answer", "Cell", "Release", "Sanitiser", "Curator", "Select", "Terms"),
]


@pytest.mark.parametrize("name", OBJECTS)
def test_every_public_method_is_in_the_reference(name: str) -> None:
    kind = getattr(dproof, name)
    own = (vars(part) for part in kind.__mro__ if part.__module__.startswith("dproof"))
    fields = getattr(kind, "__dataclass_fields__", {})
    methods = {method for part in own for method in part if method[0] != "_"} - set(fields)
    (shown,) = (methods for module, item, methods in ITEMS if (module, item) == ("dproof", name))
    assert methods == set(shown)


SPACES = ["Space", "Categories", "Subsets", "Interval", "Dates", "Vectors", "Curves", "Rows", "Table"]


@pytest.mark.parametrize("name", SPACES)
def test_every_public_method_of_a_space_is_in_the_reference(name: str) -> None:
    """What every space has is shown with `Space` alone, also what curves share with it."""
    made = (property, classmethod, staticmethod)
    found = inspect.getmembers_static(
        getattr(dproof, name), lambda part: inspect.isfunction(part) or isinstance(part, made)
    )
    shown = {item: set(methods) for module, item, methods in ITEMS if module == "dproof"}
    is_finite = issubclass(getattr(dproof, name), dproof.Space)
    every = (shown["Space"] if is_finite else set(vars(Points))) if name != "Space" else set()
    assert {method for method, _ in found if method[0] != "_"} - every == shown[name]


def test_the_reference_becomes_directives() -> None:
    made = reference("- `Release`: `query`, `raw` and the rest\n  of it\n\n- `dproof.testing.check_metric`\n")
    assert ".. autoclass:: Release\n   :members: query, raw\n" in made and ".. autofunction:: check_metric" in made
    assert made.count("currentmodule:: dproof\n") == 1 and "the rest" not in made


@pytest.mark.parametrize(
    ("html", "wrong"),
    [
        ('<p id="a"></p><a href="#a"></a><a href="https://example.org/">', 0),
        ('<a href="#b"></a>', 1),
        ('<a href="other.html"></a>', 1),
        ('<img src="picture.svg">', 1),
        ('<script src="https://example.org/x.js"></script>', 1),
        ('<link href="//example.org/x.css">', 1),
    ],
)
def test_the_check_of_a_built_site(html: str, wrong: int, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(html)
    assert len(problems(tmp_path)) == wrong


def test_a_site_without_pages_is_no_site(tmp_path: Path) -> None:
    assert problems(tmp_path)
