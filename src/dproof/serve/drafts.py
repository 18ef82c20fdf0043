"""The plan that a custodian is writing, kept from one page to the next and over a stop of the server.

It may have mistakes, and what comes from the rows of the table is confidential until a person has read it: only
custodians see it, and nobody can ask a table by it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dproof.serve.folder import write_whole

ROWS = "10000"  # where the person has not said how many there are


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan as nested mappings, and what is known of it.

    `rows` is about how many the table has. `seen` are the columns whose values come from the table and were not read
    through yet, and `notes` what is doubtful of a column. `saved` is the text of the plan's file that it began with.
    """

    plan: Mapping[str, Any] = field(default_factory=dict)
    rows: str = ROWS
    seen: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    names_are_public: bool = False
    saved: str | None = None

    @property
    def row_count(self) -> int:
        """The number of rows; 0 where what was typed is none."""
        plain = self.rows.strip().replace(",", "").replace(" ", "")
        return int(plain) if plain.isdecimal() and len(plain) <= 12 else 0


def stored(file: Path, saved: str | None) -> Draft:
    """The draft that is kept, or the plan's own file where that was changed by hand, or is all there is."""
    try:
        given = json.loads(file.read_bytes())
        kept = Draft(**{**given, "seen": tuple(given["seen"])})
        if kept.saved == saved and isinstance(kept.plan, dict) and isinstance(kept.rows, str):
            return kept
    except (OSError, ValueError, TypeError, KeyError):
        pass  # there is none, or none that can be read
    try:
        return Draft(tomllib.loads(saved or ""), saved=saved)
    except tomllib.TOMLDecodeError:
        return Draft(saved=saved)


def store(file: Path, draft: Draft) -> None:
    """Keep a draft; dates are kept as the texts that plans have for them."""
    write_whole(file, json.dumps(asdict(draft), default=str), "the draft")
