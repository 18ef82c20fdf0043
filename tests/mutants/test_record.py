"""A kill is known while the test that failed, and what it uses of its file, stay as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.record import Record
from tests.mutants.sampling import Mutant
from tests.mutants.trial import Result

TESTS = """
LIMIT = 3

@fixture
def limit():
    return LIMIT

def test_it(limit):
    assert limit == 3

def test_other():
    assert LIMIT > 2
"""
TEST = "tests/test_simplex.py::test_it[first]"
MUTANT = Mutant("laws/simplex.py", "", "x = 1", "x = 2", "hash")


def _known_after(folder: Path, tests: str | None) -> bool:
    file = folder / "tests" / "test_simplex.py"
    file.parent.mkdir()
    file.write_text(TESTS, "utf-8")
    Record(folder / "known.json", folder).add(MUTANT, Result("killed", TEST, {}, {}))
    file.unlink()
    if tests is not None:
        file.write_text(tests, "utf-8")
    return Record(folder / "known.json", folder).outcome(MUTANT) == ("killed", TEST)


@pytest.mark.parametrize(
    "tests",
    [TESTS, TESTS.replace("LIMIT > 2", "LIMIT > 1"), TESTS + "\ndef test_new():\n    pass\n", "# why\n" + TESTS],
)
def test_a_kill_stays_known_when_another_test_of_the_file_changes(tmp_path: Path, tests: str) -> None:
    assert _known_after(tmp_path, tests)


@pytest.mark.parametrize(
    "tests",
    [
        TESTS.replace("limit == 3", "limit > 2"),
        TESTS.replace("LIMIT = 3", "LIMIT = 4"),
        TESTS.replace("return LIMIT", "return 3"),
        TESTS.replace("def test_it", "@pytest.mark.slow\ndef test_it"),
        TESTS.replace("test_it", "test_renamed"),
        None,
    ],
)
def test_a_kill_is_forgotten_when_its_test_or_what_it_uses_changes(tmp_path: Path, tests: str | None) -> None:
    assert not _known_after(tmp_path, tests)
