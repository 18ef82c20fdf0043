"""What a notebook shows of the objects it is given."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import dproof as dp


def test_a_small_law_is_shown_whole_and_a_large_one_by_its_size() -> None:
    shown = dp.randomised_response(dp.Categories(["yes", "<no>"]), dp.Privacy(1))._repr_html_()
    assert shown.count("<tr>") == 3 and shown.count("0.7311") == 2 and shown.count("0.2689") == 2
    assert "ε = 1" in shown and "&lt;no&gt;" in shown and "<no>" not in shown
    large = dp.randomised_response(dp.Categories(range(1000)), dp.Privacy(1))._repr_html_()
    assert "1000 inputs, 1000 outputs" in large and "<table>" not in large
    noise = dp.laplace(dp.Interval(0, 9, 1), dp.Privacy(1))._repr_html_()
    assert "10 inputs" in noise and "<table>" not in noise


def test_a_certificate_and_a_release_show_their_laws() -> None:
    plan = {
        "privacy": {"epsilon": 2},
        "columns": {"read": {"space": "categories", "values": [0, 1]}, "likes": {"space": "subsets", "values": ["a"]}},
    }
    release = dp.sanitise(pa.table({"read": [0, 1], "likes": [["a"], []]}), plan)
    mechanism = dp.randomised_response(dp.Categories([0, 1]), dp.Privacy(1))
    for shown in (release._repr_html_(), dp.certify(mechanism, dp.Privacy(1))._repr_html_()):
        assert "randomised response" in shown and "ε" in shown
    assert "release of 2 rows in memory" in release._repr_html_() and release._repr_html_().count("<tr>") == 3


def test_the_notes_of_an_answer_are_paragraphs(tmp_path: Path) -> None:
    plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    curator = dp.Curator(pa.table({"read": ["yes", "no"] * 20}), plan, ledger=tmp_path / "budget.db")
    answer = curator.ask('SELECT read, count(*) AS "<n>" FROM data GROUP BY read', epsilon="0.5")
    shown = answer._repr_html_()
    assert shown.count("<p>") == len(answer.notes) > 0 and "&lt;p&gt;" not in shown
    assert "<th>&lt;n&gt;</th>" in shown
