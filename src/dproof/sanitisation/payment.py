"""Who pays for a release: asked before the first row is read, told when the release is published."""

from __future__ import annotations

from typing import Protocol

from dproof.sanitisation.row_law import RowLaw


class Payment(Protocol):
    """What `sanitise` asks of an account, such as a curator's ledger."""

    def pay(self, law: RowLaw) -> None:
        """Pay before the first row is read, or refuse by raising."""

    def settle(self) -> None:
        """Take down that what was paid for is published: the last step before anybody can see anything of it."""


class NoAccount:
    """Nothing is counted: who makes the release adds up what the table has told."""

    def pay(self, law: RowLaw) -> None:
        pass

    def settle(self) -> None:
        pass
