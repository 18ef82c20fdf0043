"""What a server keeps open from one question to the next: plans, ledgers, tables and releases, until a file changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from dproof.curator.curator import Curator
from dproof.curator.ledger import Ledger
from dproof.curator.ledger_file import is_begun
from dproof.local.release import CERTIFICATE, Release
from dproof.plans.plan import Plan
from dproof.releases.load import load
from dproof.service.folder import Folder, state_of

_Key = TypeVar("_Key", bound=Hashable)
_Opened = TypeVar("_Opened")
_MOST_OPEN = 64  # of each kind


@dataclass(slots=True)
class _Place(Generic[_Opened]):
    """What is kept under one key, with the state in which its files were; nothing at first."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    found: tuple[Any, _Opened] | None = None


class Kept(Generic[_Key, _Opened]):
    """Things that are opened once for each state of their files; the one not used for longest is forgotten.

    What takes long to open holds up nobody but those who want the same.

    >>> plans = Kept[str, str](2)
    >>> plans.get("a", 1, lambda: "first"), plans.get("a", 1, lambda: "again"), plans.get("a", 2, lambda: "changed")
    ('first', 'first', 'changed')
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: OrderedDict[_Key, _Place[_Opened]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _Key, state: Any, opened: Callable[[], _Opened]) -> _Opened:
        """What was opened under a key, or is opened now where its files have changed."""
        with self._lock:
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            while len(self._places) > self._most:
                self._places.popitem(last=False)
        with place.lock:
            if place.found is None or place.found[0] != state:
                place.found = state, opened()
            return place.found[1]

    def holds(self, key: _Key, state: Any) -> bool:
        """Whether this is open already."""
        place = self._places.get(key)
        return place is not None and place.found is not None and place.found[0] == state


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be asked: its plan, where its rows and its ledger lie, and the state of its files."""

    name: str
    plan: Plan
    data: Path
    ledger: Path
    state: Any

    @property
    def has_ledger(self) -> bool:
        return is_begun(self.ledger)


class Opened:
    """The tables and releases of a folder that are open."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._plans = Kept[str, Plan](_MOST_OPEN)
        self._ledgers = Kept[str, Ledger](_MOST_OPEN)
        self._curators = Kept[tuple[str, str], Curator](_MOST_OPEN)
        self._releases = Kept[str, Release](_MOST_OPEN)

    def table(self, name: str) -> Table:
        """A table with its plan, as the files are now."""
        state = self._folder.state(name)
        plan = self._plans.get(name, state[0], partial(self._folder.plan, name))
        return Table(name, plan, self._folder.table(name), self._folder.ledger(name), state)

    def ledger(self, table: Table) -> Ledger:
        """The ledger of a table, whose chain is checked once and then as it grows; it is begun if there is none."""
        budget = None if table.has_ledger else table.plan.privacy
        unit, ceiling = table.plan.unit, table.plan.privacy
        opened = partial(Ledger, table.ledger, budget=budget, unit=unit, ceiling=ceiling)
        return self._ledgers.get(table.name, table.state[0], opened)

    def curator(self, table: Table, analyst: str | None) -> Curator:
        """The table, opened for one person: another's long question does not hold up a short one."""
        opened = partial(Curator, table.data, table.plan, ledger=table.ledger, analyst=analyst)
        return self._curators.get((table.name, analyst or ""), table.state, opened)

    def has_curator(self, table: Table, analyst: str | None) -> bool:
        """Whether the table is open for a person already."""
        return self._curators.holds((table.name, analyst or ""), table.state)

    def release(self, name: str) -> Release:
        folder = self._folder.release(name)
        return self._releases.get(name, state_of(folder / CERTIFICATE), partial(load, folder))
