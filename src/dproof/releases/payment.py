"""Who pays for a release: asked before the first row is read, told when the release is published."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Set
from pathlib import Path
from typing import Protocol

from dproof.curator.ledger import Ledger
from dproof.curator.ledger_file import is_begun
from dproof.errors import DproofWarning
from dproof.plans.plan import Plan
from dproof.privacy import Privacy


class Priced(Protocol):
    """The law of a release, whatever its model: what a person may lose by it, and what the plan promises a person."""

    @property
    def plan(self) -> Plan: ...

    @property
    def person(self) -> Privacy:
        """What the release costs a person."""

    @property
    def promised(self) -> Privacy:
        """What the plan promises a person, which may be more: a ledger begins with it."""


class Payment(Protocol):
    """What `sanitise` asks of an account, such as a curator's ledger."""

    def pay(self, law: Priced) -> None:
        """Pay before the first row is read, or refuse by raising."""

    def settle(self, seal: str | None) -> None:
        """Take down that what was paid for is published: the last step before anybody can see anything of it.

        The seal of its certificate tells it from other draws; there is none yet where rows are seen before it is made.
        """

    def published(self, law: Priced) -> Set[str]:
        """The seals of those that were taken down as published, by this run or by earlier ones."""


class NoAccount:
    """Nothing is counted: who makes the release adds up what the table has told."""

    def pay(self, law: Priced) -> None:
        pass

    def settle(self, seal: str | None) -> None:
        pass

    def published(self, law: Priced) -> Set[str]:
        return frozenset()


class ReleasePayment:
    """Pays for the release in one folder; the ledger is begun with what the plan promises a person if there is none.

    A run that stops between the debit and the release has published nothing. So the same folder under the same plan is
    drawn again at no further cost: of all the draws that one debit pays for, at most one is ever published. In another
    folder it is another release, because a draw that was left in the first would never be swept away.
    """

    def __init__(self, path: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
        self.path, self._place = path, Path(os.path.realpath(out))
        self.resumed = False
        self._ledger: Ledger | None = None
        self._law: Priced | None = None
        self._number: int | None = None

    @property
    def outstanding(self) -> bool:
        """Whether it is paid for and not published: the ledger knows, wherever this run was stopped."""
        return self._law is not None and self._opened(self._law).unpublished(*self._told(self._law)) is not None

    @property
    def finished(self) -> bool:
        """Of a release that is made: whether an earlier run drew it, so that this one had nothing to pay for."""
        return self._law is None

    def pay(self, law: Priced) -> None:
        """Debit what a person may lose by it, unless that was done before and nothing came of it."""
        ledger, (cost, description, plan) = self._opened(law), self._told(law)
        self._law = law
        earlier = ledger.unpublished(cost, description, plan)
        self.resumed = earlier is not None
        if earlier is None and self.published(law):
            warnings.warn(
                f"the ledger says that {self._place.name!r} was published here before, and it is gone: what it cost "
                "stays spent, and a new release costs as much again",
                DproofWarning,
                stacklevel=2,
            )
        self._number = ledger.release(cost, description, plan=plan) if earlier is None else earlier

    def settle(self, seal: str | None) -> None:
        """Take down that it is published; refused where another run has published it meanwhile."""
        assert self._law is not None and self._number is not None
        self._opened(self._law).publish(self._number, seal)

    def published(self, law: Priced) -> Set[str]:
        """The seals of all draws for this folder and plan that were taken down as published."""
        return self._opened(law).published(*self._told(law)) if is_begun(self.path) else frozenset()

    def _opened(self, law: Priced) -> Ledger:
        if self._ledger is None:
            budget = None if is_begun(self.path) else law.promised
            self._ledger = Ledger(self.path, budget=budget, unit=law.plan.unit)
        return self._ledger

    def _told(self, law: Priced) -> tuple[Privacy, str, str]:
        """What the ledger keeps of it: its cost, its name, and one digest of its place and plan, so no path is told."""
        # A ledger counts what a person loses, as a curator does, and a person may own several rows.
        digest = hashlib.sha256(os.fsencode(self._place) + b"\0" + law.plan.text.encode()).hexdigest()
        return law.person, f"release {self._place.name}", digest
