"""The table of limits in docs/limits.md says what `dproof.limits` says, and every limit of it is kept somewhere."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

from dproof import limits

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dproof"
LIMITS = SOURCE / "limits.py"


def _rows() -> list[tuple[int, str, str]]:
    """The number, what it bounds and the name of each limit, in the order of the source."""
    body = ast.parse(LIMITS.read_text("utf-8")).body
    rows = []
    for assigned, told in itertools.pairwise(body):
        if isinstance(assigned, ast.Assign):
            assert isinstance(told, ast.Expr) and isinstance(told.value, ast.Constant), ast.unparse(assigned)
            (name,) = (target.id for target in assigned.targets if isinstance(target, ast.Name))
            rows.append((getattr(limits, name), str(told.value.value), name))
    return rows


def test_the_page_has_every_limit_with_its_number() -> None:
    page = (ROOT / "docs" / "limits.md").read_text("utf-8")
    table = re.findall(r"^\| [\d,]+ \| .*\n", page, flags=re.MULTILINE)
    assert table == [f"| {number:,} | {bounded} | `{name}` |\n" for number, bounded, name in _rows()]


def test_every_limit_is_kept_somewhere() -> None:
    text = "\n".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py") if path != LIMITS)
    uses = {name: len(re.findall(rf"(?<![.\w]){name}\b", text)) for _, _, name in _rows()}
    assert [name for name, times in uses.items() if times < 2] == []  # its import, and what it bounds
