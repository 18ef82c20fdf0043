"""The page about a release: self-contained, complete, and right in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import DproofWarning, Release, sanitise
from dproof.report.drawings import law_picture, matrix_picture, profile_picture
from dproof.report.page import release_page
from tests.laws.test_examples import MECHANISMS

HOSTILE = "<script>alert('x')</script>"
PLAN = {
    "privacy": {"epsilon": 2},
    "about": {"title": "Freizeitbeschäftigungenbefragung"},  # wider than a phone
    "columns": {
        "hobby": {"space": "categories", "values": ["Sports", "Cars", HOSTILE]},
        "interests": {"space": "subsets", "values": ["Music", "Chess"], "separator": ";"},
        "region": {"public": True},
        "name": {"drop": True},
    },
}
TABLE = pa.table(
    {
        "hobby": ["Sports", "Cars"] * 50,
        "interests": ["Music", ""] * 50,
        "region": ["N", "S"] * 50,
        "name": ["x"] * 100,
    }
)


@pytest.fixture(scope="module")
def release() -> Release:
    return sanitise(TABLE, PLAN)


@pytest.fixture(scope="module")
def html(release: Release) -> str:
    return release_page(release)


def test_it_is_one_small_file_that_asks_for_nothing(html: str) -> None:
    assert len(html.encode()) < 1_000_000
    assert not re.search(r"<script|<link|<iframe|url\(|src=|@import", html)
    assert set(re.findall(r"https?://[^\"' >]+", html)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_every_element_is_closed_where_it_was_opened(html: str) -> None:
    opened: list[str] = []

    class Elements(HTMLParser):
        def handle_starttag(self, tag: str, attributes: Any) -> None:
            opened.extend([] if tag == "meta" else [tag])

        def handle_startendtag(self, tag: str, attributes: Any) -> None:
            pass

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Elements().feed(html)
    assert opened == []


def test_names_and_values_are_escaped(html: str) -> None:
    assert HOSTILE not in html


def test_it_says_what_was_promised_and_what_was_not(html: str) -> None:
    for part in (
        "What a person in the table can deny",
        "What is not promised",
        "hobby",
        "interests",
        "change-one",
        "100",
    ):
        assert part in html
    assert re.search('class="alarm">Released as they are: [^<]*region', html) and "<code>name</code>" in html
    assert "seeded coins" not in html


def test_seeded_coins_are_told_in_the_page() -> None:
    from dproof.testing import seeded_coins

    with seeded_coins(1):
        seeded = sanitise(
            pa.table({"read": [0, 1]}),
            {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": [0, 1]}}},
        )
    assert "not private" in release_page(seeded)


def test_sets_and_missing_values_beside_others_are_written_as_a_reader_would() -> None:
    columns = {
        "hobby": {"space": "categories", "values": ["Sports", "Cars"], "missing": "category"},
        "interests": PLAN["columns"]["interests"],  # type: ignore[index]
    }
    plan = {"privacy": {"epsilon": 2}, "joint": [{"columns": ["hobby", "interests"]}], "columns": columns}
    released = sanitise(pa.table({"hobby": ["Sports", None], "interests": ["Music", "Music;Chess"]}), plan)
    page = release_page(released)
    assert "Sports, {Chess, Music}" in page and "(missing), {Music}" in page
    assert "frozenset" not in page and "None, " not in page


def test_the_report_command_writes_it_again(release: Release, dproof: Any, tmp_path: Path) -> None:
    release.save(tmp_path / "out")
    before = (tmp_path / "out" / "report.html").read_text()
    (tmp_path / "out" / "report.html").unlink()
    assert dproof("report", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "report.html").read_text() == before


@pytest.mark.parametrize("size", [1, 2, 10, 11, 24, 25, 300])
def test_pictures_of_laws_of_every_size_say_in_words_what_they_show(size: int) -> None:
    mechanism = dp.randomised_response(dp.Categories(range(size)), dp.Privacy(1))
    drawn = law_picture(mechanism)
    kept = f"{mechanism.matrix()[0, 0]:.1%}"
    assert drawn.count("<svg") == drawn.count('aria-label="') + drawn.count('aria-hidden="true"') - ("heat" in drawn)
    assert (kept in drawn) == (size <= 10 or size > 24)  # in a table, or by a bar
    assert ("A value is kept with probability" in drawn) == (11 <= size <= 24)


def test_the_law_of_every_example_can_be_drawn() -> None:
    far = [dp.Dates("0001-01-01", "0001-01-05"), dp.Dates("9999-12-20", "9999-12-31"), dp.Interval(0, 10**15, 10**9)]
    far_laws = [dp.laplace(space, dp.Privacy("0.01")) for space in far]
    for mechanism in [*(parameter.values[0] for parameter in MECHANISMS), *far_laws]:
        drawn = law_picture(mechanism)
        assert drawn.startswith(("<figure", "<svg", "<table")) and "nan" not in re.sub(r"[a-z]{4,}", "", drawn)


def test_numbers_stand_in_tables_and_in_the_words_of_pictures() -> None:
    few = dp.randomised_response(dp.Categories(["a", "b"]), dp.Privacy(1))
    assert "73.1%" in law_picture(few) and "73.1%" in matrix_picture(few) and "0.731" in matrix_picture(few)
    told = profile_picture({"a": few, "<b>": few}, 1.0)
    assert "a: 0.462 at ε = 0, 0 from ε = 1; &lt;b&gt;: 0.462" in told and "<b>" not in told
    age = law_picture(dp.laplace(dp.Interval(0, 40, 1), dp.Privacy(1)))
    assert "20 is released most often as 20, with probability" in age and "what becomes of 20" in age
    born = law_picture(dp.laplace(dp.Dates("2000-01-01", "2009-12-31"), dp.Privacy(1)))
    assert re.search(r">(19|20)\d\d</text>", born)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
@pytest.mark.parametrize("width", [500, 900])
def test_a_browser_shows_it(html: str, width: int, tmp_path: Path) -> None:
    """Chromium lays the page out: its pictures have a size, nothing overflows, and nothing is asked of a network."""
    probe = (
        "<script>addEventListener('load', () => { const wide = document.documentElement.scrollWidth > innerWidth;"
        "const drawn = [...document.querySelectorAll('svg:not(.range, .legend svg), .heat')];"
        "const pictures = drawn.map(s => s.getBoundingClientRect().width > 50);"
        "document.title = `wide=${wide} pictures=${pictures.length} shown=${pictures.every(x => x)}`; })</script>"
    )
    (tmp_path / "report.html").write_text(html.replace("</body>", probe + "</body>"))
    quiet = ["--disable-background-networking", "--no-first-run", "--disable-component-update", "--disable-sync"]
    shown = subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            *quiet,
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},1200",
            "--virtual-time-budget=2000",
            "--dump-dom",
            (tmp_path / "report.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    title = re.search(r"<title>(.*?)</title>", shown)
    assert title is not None and title[1] == "wide=false pictures=3 shown=true"


def test_a_plan_with_delta_is_told_what_it_means() -> None:
    plan = {**PLAN, "privacy": {"epsilon": 1, "delta": "0.01"}}
    with pytest.warns(DproofWarning, match="may publish a true value"):
        assert "may be published as it is" in release_page(sanitise(TABLE, plan))


@pytest.mark.parametrize(("neighbours", "also"), [("change-one", ", but for their number"), ("add-remove", "")])
def test_a_page_of_tables_says_what_it_holds_beside_noisy_counts(neighbours: str, also: str) -> None:
    columns = {"hobby": {"space": "categories", "values": ["Sports", "Cars"]}}
    privacy = {"model": "central", "epsilon": 1, "neighbours": neighbours}
    page = release_page(sanitise(TABLE.select(["hobby"]), {"privacy": privacy, "columns": columns}))
    assert f"holds nothing else about them{also}." in " ".join(page.split())
