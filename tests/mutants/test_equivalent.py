"""Each equivalent mutant is one of a line that is there: a line that has changed needs a new look."""

from __future__ import annotations

from pathlib import Path

from tests.mutants.__main__ import SOURCE, _explained

EQUIVALENT = Path(__file__).with_name("equivalent.md").read_text("utf-8")


def test_every_line_is_there_and_every_entry_is_read() -> None:
    explained = _explained(EQUIVALENT)
    assert len(explained) == sum(line.startswith("- ") for line in EQUIVALENT.splitlines())
    for module, before, after in explained:
        lines = (line.strip() for line in (SOURCE / module).read_text("utf-8").splitlines())
        assert before in lines and before != after, f"{module} has no line {before}"
