"""What a server reads of a table for its custodian. Each function is called in a process of its own (`apart`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dproof.plans.plan import Plan
from dproof.releases.inspection import Inspection, check
from dproof.tables import open_source
from dproof.tables.header import doubtful_names
from dproof.tables.layout import Layout


@dataclass(frozen=True, slots=True)
class Header:
    """The names of a table's columns, and those that look like values: is the first line a person's?"""

    names: tuple[str, ...]
    doubtful: tuple[str, ...]


def header(file: Path, layout: Layout) -> Header:
    """The header of a table; of a file of texts its first rows are compared with it."""
    source = open_source(file, None, layout)
    return Header(source.names, doubtful_names(source, look=True))


def inspected(file: Path, plan: Plan) -> Inspection:
    """The table read to its end: how many values its plan does not cover."""
    return check(file, plan)
