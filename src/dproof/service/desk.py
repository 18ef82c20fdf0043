"""What a person with a token can do: everything that the page and the programs ask for, as plain objects.

An analyst's questions are paid from a share under the one promise to the people in the table: the ledger keeps both.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from dproof.curation.curator import Curator
from dproof.curation.ledger import Ledger, Standing
from dproof.curation.ledger_file import is_begun
from dproof.curation.limits import Amount, amount, rho_for
from dproof.curation.preview import Preview
from dproof.curation.statement import counts_left, entry_to_json, statement
from dproof.errors import DproofError, InputError
from dproof.meaning import explain
from dproof.plans.plan import Plan
from dproof.privacy import Privacy
from dproof.questions.answer import Answer
from dproof.releases.load import load
from dproof.releases.release import CERTIFICATE, Release
from dproof.service.custody import Custody
from dproof.service.dummy import MOST_DUMMY_ROWS, dummy_rows
from dproof.service.folder import Folder
from dproof.service.tokens import Holder, Tokens, check_request

_Key = TypeVar("_Key", bound=Hashable)
_Opened = TypeVar("_Opened")
_MOST_OPEN = 64  # tables and releases that are kept open


class NotAllowed(InputError):
    """The token is not for this."""


class Desk:
    """The tables and releases of a folder, kept open from one question to the next."""

    def __init__(self, folder: Folder, tokens: Tokens) -> None:
        self.folder, self.tokens, self.custody = folder, tokens, Custody(folder)
        self._curators: OrderedDict[tuple[str, str], tuple[Any, Curator]] = OrderedDict()
        self._releases: OrderedDict[str, tuple[Any, Release]] = OrderedDict()
        self._ledgers: OrderedDict[str, tuple[Any, Ledger]] = OrderedDict()
        self._plans: OrderedDict[str, tuple[Any, Plan]] = OrderedDict()
        self._lock = threading.Lock()

    # Tables --------------------------------------------------------------------------------------------------------

    def tables(self, holder: Holder) -> list[dict[str, Any]]:
        """The tables that somebody may ask, with what is public about each."""
        names = [name for name in self.folder.tables if holder.may_ask(name)]
        return [self._or_why_not(name, partial(self._told, name, holder)) for name in names]

    def table(self, holder: Holder, name: str) -> dict[str, Any]:
        """All that is public about a table: its plan, as text and as an object, and what the promise means."""
        plan = self._plan(holder, name)
        return {**self._told(name, holder), "plan": plan.text, "meaning": explain(plan.privacy)}

    def _or_why_not(self, name: str, told: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What is told of a table or a release, or why it cannot be used: the others still can."""
        try:
            return told()
        except DproofError as error:
            return {"name": name, "error": self.folder.hide(str(error))}

    def _told(self, name: str, holder: Holder) -> dict[str, Any]:
        plan = self._plan(holder, name)
        return {"name": name, "columns": _columns(plan), **plan.unit.to_json(), "budget": self.budget(holder, name)}

    def _plan(self, holder: Holder, name: str) -> Plan:
        if not holder.may_ask(name):
            raise NotAllowed("this token is not for that table")  # whether there is such a table or not
        return self._read_plan(name)

    def _read_plan(self, name: str) -> Plan:
        """The plan of a table, read again only where its file has changed."""
        self.folder.table(name)
        return self._kept(self._plans, name, _stamp(self.folder.plan_file(name)), partial(self.folder.plan, name))

    def dummy(self, holder: Holder, name: str, rows: int) -> Any:
        """Dummy rows of a table, as an Arrow table."""
        if not 1 <= rows <= MOST_DUMMY_ROWS:
            raise InputError(f"ask for 1 to {MOST_DUMMY_ROWS:,} dummy rows")
        return dummy_rows(self._plan(holder, name), rows)

    # Questions under the budget ------------------------------------------------------------------------------------

    def preview(self, holder: Holder, name: str, sql: str, **price: Any) -> Preview:
        """What a question would cost and how good its answer would be: free, and no row is read."""
        return self._curator(holder, name).preview(sql, **price)

    def ask(self, holder: Holder, name: str, sql: str, **price: Any) -> Answer:
        """Answer a question; it is paid for first."""
        return self._curator(holder, name).ask(sql, **price)

    def budget(self, holder: Holder, name: str) -> dict[str, Any]:
        """What somebody may still spend on a table, as numbers and in words."""
        plan, own = self._plan(holder, name), self._spender(holder, name)
        standing = self._standing(plan, name) if own is None else self._share(own, name)
        left = standing.remaining.to_json()
        amounts = {"budget": standing.budget.to_json(), "spent": standing.spent.to_json(), "remaining": left}
        return {**amounts, "in_words": counts_left(left, plan.rows_per_person), "neighbours": plan.privacy.neighbours}

    def history(self, holder: Holder, name: str) -> list[dict[str, Any]]:
        """What somebody has asked of a table; a custodian sees what everybody has."""
        self._plan(holder, name)
        if not is_begun(self.folder.ledger(name)):
            return []
        entries = [entry_to_json(entry) for entry in self._ledger(name).entries if entry["kind"] == "question"]
        return [one for one in entries if holder.is_custodian or one.get("analyst") == holder.name]

    def _standing(self, plan: Plan, name: str) -> Standing:
        """The account of a table. Who looks at it begins no ledger: until there is one, the plan can be changed."""
        if is_begun(self.folder.ledger(name)):
            return self._ledger(name).standing()
        promised = plan.privacy
        rho = rho_for(promised.epsilon, promised.delta) if promised.delta else None
        whole = Amount(promised.epsilon, promised.delta, rho)
        return Standing(whole, Amount(), whole)

    def _share(self, analyst: str, name: str) -> Standing:
        ledger = self._ledger(name)
        given = ledger.analysts[analyst]
        assert given is not None
        return Standing(given, ledger.spent(analyst), ledger.remaining(analyst))

    def _spender(self, holder: Holder, name: str) -> str | None:
        """Whose share of the budget somebody spends; None is the whole of it, for a custodian."""
        if holder.is_custodian:
            return None
        if not is_begun(self.folder.ledger(name)) or self._ledger(name).analysts.get(holder.name) is None:
            raise NotAllowed("no budget on this table was given to you: ask its custodian")
        return holder.name

    def _curator(self, holder: Holder, name: str) -> Curator:
        """The table, opened for one person: another's long question does not hold up a short one."""
        plan, data, ledger = self._plan(holder, name), self.folder.table(name), self.folder.ledger(name)
        who = self._spender(holder, name)
        if who is None and is_begun(ledger) and any(self._ledger(name).analysts.values()):
            raise NotAllowed(
                "analysts have budgets on this table, so they ask it: give yourself a budget as an analyst"
            )
        stamp = _stamp(self.folder.plan_file(name)), _stamp(data)
        opened = partial(Curator, data, plan, ledger=ledger, analyst=who)
        return self._kept(self._curators, (name, who or ""), stamp, opened)

    def _ledger(self, name: str) -> Ledger:
        """The ledger of a table, whose chain is checked once and then as it grows."""
        plan, file = self._read_plan(name), self.folder.ledger(name)
        budget = None if is_begun(file) else plan.privacy
        opened = partial(Ledger, file, budget=budget, unit=plan.unit, ceiling=plan.privacy)
        return self._kept(self._ledgers, name, _stamp(self.folder.plan_file(name)), opened)

    def _kept(
        self, kept: OrderedDict[_Key, tuple[Any, _Opened]], key: _Key, stamp: Any, opened: Callable[[], _Opened]
    ) -> _Opened:
        """What was opened under a key, or opened anew where its files have changed."""
        with self._lock:
            found = kept.get(key)
            if found is None or found[0] != stamp:
                found = kept[key] = stamp, opened()
            kept.move_to_end(key)
            while len(kept) > _MOST_OPEN:
                kept.popitem(last=False)
        return found[1]

    # Releases ------------------------------------------------------------------------------------------------------

    def releases(self) -> list[dict[str, Any]]:
        """All releases: whoever has a token may query them without limit."""
        return [self._or_why_not(name, partial(self.release, name)) for name in self.folder.releases]

    def release(self, name: str) -> dict[str, Any]:
        """What a release says of itself."""
        found = self._release(name)
        plan, about = found.plan, found.certificate["release"]
        return {
            "name": name,
            "model": plan.model,
            "rows": about["rows"],
            "columns": _columns(plan),
            "epsilon": str(plan.privacy.epsilon),
            "delta": str(plan.privacy.delta),
            "neighbours": plan.privacy.neighbours,
            "private": found.private,
            "seal": found.certificate["seal"],
        }

    def query(self, name: str, sql: str, **options: Any) -> Answer:
        """Ask a release, at no cost."""
        return self._release(name).query(sql, **options)

    def _release(self, name: str) -> Release:
        folder = self.folder.release(name)
        return self._kept(self._releases, name, _stamp(folder / CERTIFICATE), partial(load, folder))

    # For custodians ------------------------------------------------------------------------------------------------

    def account(self, holder: Holder, name: str) -> dict[str, Any]:
        """The whole account of a table: the budgets and questions of everybody."""
        need_custodian(holder)
        self._plan(holder, name)
        return statement(self._ledger(name))

    def give(self, holder: Holder, name: str, budgets: Mapping[str, Privacy], days: int) -> tuple[str, Holder]:
        """A token for an analyst with a share of the budget of each of these tables; the text is shown this once."""
        need_custodian(holder)
        return give_budgets(self.folder, self.tokens, name, budgets, days)

    def holders(self, holder: Holder) -> list[Holder]:
        """Everybody who was given a token."""
        need_custodian(holder)
        return self.tokens.holders

    def revoke(self, holder: Holder, number: int) -> None:
        """End a token now."""
        need_custodian(holder)
        self.tokens.revoke(number)


def give_budgets(
    folder: Folder, tokens: Tokens, name: str, budgets: Mapping[str, Privacy], days: int
) -> tuple[str, Holder]:
    """Write an analyst's budgets into the ledgers, and issue the token; where one is refused, nothing is written."""
    check_request(name, "analyst", tuple(budgets), days)
    openings = []
    for table, budget in budgets.items():
        plan, file = folder.plan(table), folder.ledger(table)
        limit = Privacy(budget.epsilon, budget.delta, neighbours=plan.privacy.neighbours)
        if is_begun(file):
            ledger = Ledger(file, unit=plan.unit)
            known = ledger.analysts.get(name)
            ledger.close()
            if known not in (None, amount(limit)):
                raise InputError(f"the budget of {name!r} on {table!r} is {known}, and that cannot be changed")
        begun = None if is_begun(file) else plan.privacy
        openings.append(partial(Ledger, file, budget=begun, unit=plan.unit, analysts={name: limit}))
    for opening in openings:
        opening().close()
    return tokens.issue(name, "analyst", tuple(budgets), days=days)


def need_custodian(holder: Holder) -> None:
    if not holder.is_custodian:
        raise NotAllowed("this is for custodians")


def _columns(plan: Plan) -> list[dict[str, str]]:
    return [{"name": column.name, "kind": column.kind} for column in plan.kept]


def _stamp(path: Path) -> tuple[int, int]:
    """Changes when the file does."""
    try:
        found = path.stat()
    except OSError:
        raise InputError(f"{path.name!r} is not there, or cannot be read") from None
    return found.st_mtime_ns, found.st_size
