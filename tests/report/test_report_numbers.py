"""What the page about a release says of numbers, and of the papers it rests on."""

from __future__ import annotations

import html
import re

import pyarrow as pa
import pytest

import dproof as dp
from dproof.advice.expect import row_widths
from dproof.exact import written
from dproof.report.page import release_page


@pytest.fixture(scope="module")
def release() -> dp.Release:
    age = {"space": "interval", "low": 0, "high": 40, "step": 1}
    read = {"space": "categories", "values": ["yes", "no"]}
    plan = {"privacy": {"epsilon": 2}, "columns": {"age": age, "read": read}}
    return dp.sanitise(pa.table({"age": [20] * 500, "read": ["yes"] * 500}), plan)


@pytest.fixture(scope="module")
def articles(release: dp.Release) -> dict[str, str]:
    text = re.sub(r"<svg.*?</svg>", "", html.unescape(release_page(release)), flags=re.DOTALL)
    found = re.findall(r"<article><h3>(.*?)</h3>(.*?)</article>", text, re.DOTALL)
    return {**dict(found), "after": text.rpartition("</article>")[2]}


def test_the_mean_of_a_number_has_its_interval(release: dp.Release, articles: dict[str, str]) -> None:
    width = written(row_widths(release.law, release.rows)["age"].mean)
    assert f"the mean of the 500 rows is right to about ± {width}, 19 times out of 20" in articles["age"]
    assert "the mean of" not in articles["read"] and "a count over the 500 rows" in articles["read"]


def test_numbers_outside_their_range_are_explained(articles: dict[str, str]) -> None:
    assert "released numbers may lie outside the range" in articles["age"]
    assert "released numbers" not in articles["read"]


def test_papers_are_named_in_full(articles: dict[str, str]) -> None:
    assert "Holohan, Leith and Mason 2016, Theorem 10" in articles["read"]
    assert not any("HLM" in text for text in articles.values())
    assert articles["after"].count("Information Sciences 305") == 1


def test_the_error_of_a_number_in_bins_is_explained() -> None:
    age = {"space": "interval", "low": 0, "high": 40, "step": 1, "bins": [0, 10, 40]}
    release = dp.sanitise(pa.table({"age": [20] * 50}), {"privacy": {"epsilon": 2}, "columns": {"age": age}})
    assert "an error of 1 is another bin" in html.unescape(release_page(release))
