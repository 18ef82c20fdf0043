"""What counts as a mutant: a change of what the program does, not of what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT, SOURCE
from tests.mutants.concerned_tests import CONCERNED, concerned
from tests.mutants.sampling import _behaviour, sample

WORDS = """
__slots__ = (1, 2)
def size(x: int | None) -> int | None:
    if x < 0:
        raise ValueError(f"{x + 1} is negative", 3)
    return dict(zip(x, x, strict=True))
"""


@pytest.mark.parametrize("change", ["int & None", "{x - 1}", ", 4)", "(1, 3)", "strict=False"])
def test_words_types_and_slots_do_not_count(change: str) -> None:
    before = {"int & None": "int | None", "{x - 1}": "{x + 1}", ", 4)": ", 3)", "(1, 3)": "(1, 2)"}
    mutated = WORDS.replace(before.get(change, "strict=True"), change)
    assert mutated != WORDS and _behaviour(mutated, "laws/law.py") == _behaviour(WORDS, "laws/law.py")


def test_a_changed_comparison_counts() -> None:
    assert _behaviour(WORDS.replace("x < 0", "x <= 0"), "laws/law.py") != _behaviour(WORDS, "laws/law.py")


def test_in_a_query_an_f_string_counts() -> None:
    before, after = 'sql = f"LIMIT {n + 1}"', 'sql = f"LIMIT {n - 1}"'
    assert _behaviour(before, "curator/tally.py") != _behaviour(after, "curator/tally.py")
    assert _behaviour(before, "curator/preview.py") == _behaviour(after, "curator/preview.py")


def test_concerned_tests_and_their_modules_are_there() -> None:
    for module in CONCERNED:
        assert (SOURCE / module).exists(), module
        if module.endswith(".py"):
            concerned(module, ROOT)


def test_a_seed_gives_the_same_mutants_again(tmp_path: Path) -> None:
    pytest.importorskip("cosmic_ray")
    (tmp_path / "laws").mkdir()
    (tmp_path / "laws" / "law.py").write_text(WORDS, "utf-8")
    first, second = ([mutant.change for mutant in sample(tmp_path, 7, {})] for _ in range(2))
    assert first == second and {before for before, _ in first} == {"if x < 0:"} and len(set(first)) == 3


def test_what_is_known_of_a_module_holds_for_its_text_alone(tmp_path: Path) -> None:
    pytest.importorskip("cosmic_ray")
    (tmp_path / "laws").mkdir()
    known: dict[str, object] = {}
    for text in (WORDS, WORDS.replace("x < 0", "x > 0"), WORDS):
        (tmp_path / "laws" / "law.py").write_text(text, "utf-8")
        assert list(sample(tmp_path, 7, known)) == list(sample(tmp_path, 7, {}))


def test_a_change_elsewhere_leaves_the_sample_as_it_is(tmp_path: Path) -> None:
    pytest.importorskip("cosmic_ray")
    (tmp_path / "laws").mkdir()
    (tmp_path / "laws" / "law.py").write_text(WORDS + "y = 1 + 2 + 3 + 4 + 5\n", "utf-8")
    before = [mutant.change for mutant in sample(tmp_path, 7, {})]
    (tmp_path / "laws" / "law.py").write_text("z = 0\n" + WORDS + "y = 1 + 2 + 3 + 4 + 5\n", "utf-8")
    (tmp_path / "laws" / "noise.py").write_text("x = 6 * 7\n", "utf-8")
    after = [mutant.change for mutant in sample(tmp_path, 7, {})]
    assert len(before) > 5 and [change for change in after if change in before] == before
