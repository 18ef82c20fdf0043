"""Who pays for a release: asked before the first row is read, told when the release is published."""

from __future__ import annotations

from collections.abc import Set
from typing import Protocol

from dproof.sanitisation.row_law import RowLaw


class Payment(Protocol):
    """What `sanitise` asks of an account, such as a curator's ledger."""

    def pay(self, law: RowLaw) -> None:
        """Pay before the first row is read, or refuse by raising."""

    def settle(self, seal: str | None) -> None:
        """Take down that what was paid for is published: the last step before anybody can see anything of it.

        The seal of its certificate tells it from other draws; there is none yet where rows are seen before it is made.
        """

    def published(self, law: RowLaw) -> Set[str]:
        """The seals of those that were taken down as published, by this run or by earlier ones."""


class NoAccount:
    """Nothing is counted: who makes the release adds up what the table has told."""

    def pay(self, law: RowLaw) -> None:
        pass

    def settle(self, seal: str | None) -> None:
        pass

    def published(self, law: RowLaw) -> Set[str]:
        return frozenset()
