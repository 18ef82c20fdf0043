"""A release that a ledger pays for: debited before the first row is read, published at most once."""

from __future__ import annotations

import hashlib
import os

from dproof.curation.account import Unit
from dproof.curation.ledger import Ledger, is_begun
from dproof.sanitisation.row_law import RowLaw


class ReleasePayment:
    """Pays for the release of one name; the ledger is begun with what the plan promises a person if there is none.

    A run that stops between the debit and the release has published nothing. So the same name under the same plan is
    drawn again at no further cost: of all the draws that one debit pays for, at most one is ever published.
    """

    def __init__(self, path: str | os.PathLike[str], name: str) -> None:
        self.path, self.description = path, f"release {name}"
        self.resumed = False
        self._ledger: Ledger | None = None
        self._number: int | None = None

    @property
    def outstanding(self) -> bool:
        """Whether it is paid for and not published."""
        return self._number is not None

    def pay(self, law: RowLaw) -> None:
        """Debit what a person may lose by it, unless that was done before and nothing came of it."""
        # A ledger counts what a person loses, as a curator does, and a person may own several rows.
        cost, plan = law.person, hashlib.sha256(law.plan.text.encode()).hexdigest()
        self._ledger = Ledger(self.path, budget=None if is_begun(self.path) else cost, unit=Unit.of(law.plan))
        earlier = self._ledger.unpublished(cost, self.description, plan)
        self.resumed = earlier is not None
        self._number = self._ledger.release(cost, self.description, plan=plan) if earlier is None else earlier

    def settle(self) -> None:
        """Take down that it is published; refused where another run has published it meanwhile."""
        assert self._ledger is not None and self._number is not None
        self._ledger.publish(self._number)
        self._number = None
