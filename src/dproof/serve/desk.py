"""What a person with a token can do: everything that the page and the programs ask for, as plain objects.

An analyst's questions are paid from a share under the one promise to the people in the table: the ledger keeps both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from dproof import (
    Answer,
    ArgumentError,
    Cost,
    Curator,
    DproofError,
    Inbox,
    InputError,
    Ledger,
    Plan,
    Privacy,
    Release,
    Standing,
    Terms,
    dummy_rows,
    explain,
    load,
)
from dproof.serve import limits
from dproof.serve.custody import Custody, is_checked
from dproof.serve.folder import CERTIFICATE, Folder, StateCache, Table, state_of
from dproof.serve.tokens import Holder, Tokens, check_request

# Stores an answer when it is called, and gives what tells it.
PendingAnswer: TypeAlias = Callable[[], Callable[[], Answer]]


class NotAllowed(InputError, code="not-allowed"):
    """The token is not for this."""


class Desk:
    """The tables, releases and surveys of a folder, kept open from one question to the next, until a file changes.

    Who may do what is decided here for analysts; who comes as a custodian is one.
    """

    def __init__(self, folder: Folder, tokens: Tokens) -> None:
        self.folder, self.tokens, self.custody = folder, tokens, Custody(folder)
        self.record = self.custody.record
        self._plans = StateCache[str, Plan](limits.MOST_OPEN)
        self._ledgers = StateCache[str, Ledger](limits.MOST_OPEN)
        self._curators = StateCache[tuple[str, str], Curator](limits.MOST_OPEN)
        self._releases = StateCache[str, Release](limits.MOST_OPEN)
        self._inboxes = StateCache[str, Inbox](limits.MOST_OPEN)
        self._previews = StateCache[tuple[Any, ...], dict[str, Any]](limits.MOST_PREVIEWS)

    # Tables --------------------------------------------------------------------------------------------------------

    def tables(self, holder: Holder) -> list[dict[str, Any]]:
        """The tables that somebody may ask, with what is public about each."""
        names = [name for name in self.folder.tables if holder.may_ask(name)]
        return [self._or_why_not(name, partial(self._told, holder, name)) for name in names]

    def table(self, holder: Holder, name: str) -> dict[str, Any]:
        """All that is public about a table: its plan, as text and as an object, and what the promise means."""
        plan = self._table(holder, name).plan
        return {**self._told(holder, name), "plan": plan.text, "meaning": explain(plan.privacy)}

    def _or_why_not(self, name: str, told: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The description of a table or a release, or why it cannot be used: the others still can."""
        try:
            return told()
        except DproofError as error:
            return {"name": name, "error": self.folder.hide(str(error))}

    def _told(self, holder: Holder, name: str) -> dict[str, Any]:
        table = self._table(holder, name)
        unit, budget = table.plan.unit.to_json(), self._budget(holder, table)
        return {"name": name, "columns": _columns(table.plan), **unit, "budget": budget}

    def _table(self, holder: Holder, name: str) -> Table:
        if not holder.may_ask(name):
            raise NotAllowed("this token is not for that table")  # whether there is such a table or not
        return self._open_table(name)

    def _open_table(self, name: str) -> Table:
        """A table with its plan, as the files are now."""
        state = self.folder.state(name)
        plan = self._plans.get(name, state[0], partial(self.folder.plan, name))
        return Table(name, plan, self.folder.table(name), self.folder.ledger(name), state)

    def _ledger(self, table: Table) -> Ledger:
        """The ledger of a table, whose chain is checked once and then as it grows; it is begun if there is none."""
        budget = None if table.has_ledger else table.plan.privacy
        unit, ceiling = table.plan.unit, table.plan.privacy
        opened = partial(Ledger, table.ledger, budget=budget, unit=unit, ceiling=ceiling)
        return self._ledgers.get(table.name, table.state[0], opened)

    def dummy(self, holder: Holder, name: str, rows: int) -> Any:
        """Dummy rows of a table, as an Arrow table."""
        if not 1 <= rows <= limits.MOST_DUMMY_ROWS:
            raise ArgumentError(f"ask for 1 to {limits.MOST_DUMMY_ROWS:,} dummy rows")
        return dummy_rows(self._table(holder, name).plan, rows)

    # Questions under the budget ------------------------------------------------------------------------------------

    def askable(self, holder: Holder, name: str) -> Table:
        """A table for somebody to ask now, or why not: that depends on what custodians did, and on no row."""
        table = self._table(holder, name)
        spender = self._spender(holder, table)
        if spender is None:
            if table.has_ledger and any(self._ledger(table).analysts.values()):
                raise NotAllowed(
                    "analysts have budgets on this table, so they ask it: give yourself a budget as an analyst"
                )
        elif not is_checked(self.folder, name, table.state):
            raise NotAllowed(f"the table {name!r} is new or was changed: its custodian has to check it first")
        return replace(table, spender=spender)

    def is_open(self, asked: Table) -> bool:
        """Whether a table is open for who asks it."""
        return self._curators.holds((asked.name, asked.spender or ""), asked.state)

    def open(self, asked: Table) -> Curator:
        """A table, opened for its spender: another's long question does not hold up a short one.

        How long that takes may depend on its rows.
        """
        opened = partial(Curator, asked.data, asked.plan, ledger=asked.ledger, analyst=asked.spender)
        return self._curators.get((asked.name, asked.spender or ""), asked.state, opened)

    def preview(self, asked: Table, sql: str, terms: Terms) -> dict[str, Any]:
        """Preview the cost of a question and the accuracy of its answer: free, and no row is read.

        It depends on the plan, the question and the ledger alone, so it is kept until one of them changes.
        """
        curator = self.open(asked)
        state = asked.state, curator.ledger.mark  # the mark is as old as what is told, or older

        def told() -> dict[str, Any]:
            found = curator.preview(sql, terms)
            return {**found.to_json(), "text": str(found)}

        return self._previews.get((asked.name, asked.spender, sql, terms), state, told)

    def stored(self, asked: Table, sql: str, terms: Terms) -> Answer | None:
        """The answer that a question got before; None where the table has to be read for it."""
        return self.open(asked).stored(sql, terms)

    def ask(self, asked: Table, sql: str, terms: Terms) -> PendingAnswer:
        """Pay for a question and read the table; what comes back stores the answer, and gives what tells it.

        If the table was changed meanwhile, that is all an analyst is told: nobody has checked what was read.
        """
        curator, name = self.open(asked), asked.name
        try:
            return curator.begin(sql, terms)
        finally:
            if asked.spender is not None and self.folder.state(name) != asked.state:
                raise NotAllowed(
                    f"the table {name!r} was changed while it was asked: its custodian has to check it first; "
                    "the question may have been paid for"
                )

    def budget(self, holder: Holder, name: str) -> dict[str, Any]:
        """The budget that somebody has left on a table, as numbers and in words."""
        return self._budget(holder, self._table(holder, name))

    def _budget(self, holder: Holder, table: Table) -> dict[str, Any]:
        plan, spender = table.plan, self._spender(holder, table)
        # Who looks at a table begins no ledger: until there is one, the plan can be changed.
        has_ledger = spender is not None or table.has_ledger
        standing = self._ledger(table).standing(spender) if has_ledger else Standing.unspent(plan.privacy)
        words = standing.in_words(plan.rows_per_person)
        return {**standing.to_json(), "in_words": words, "neighbours": plan.privacy.neighbours}

    def history(self, holder: Holder, name: str, *, before: int | None = None, most: int) -> list[dict[str, Any]]:
        """The latest questions of somebody to a table, or those before the entry of a number, oldest first.

        A custodian sees those of everybody.
        """
        table = self._table(holder, name)
        if not table.has_ledger:
            return []
        analyst = None if holder.is_custodian else holder.name
        return self._ledger(table).questions(analyst, before=before, most=most)

    def _spender(self, holder: Holder, table: Table) -> str | None:
        """Whose share of the budget somebody spends; None is the whole of it, for a custodian."""
        if holder.is_custodian:
            return None
        if not table.has_ledger or self._ledger(table).analysts.get(holder.name) is None:
            raise NotAllowed("no budget on this table was given to you: ask its custodian")
        return holder.name

    # Releases ------------------------------------------------------------------------------------------------------

    def releases(self) -> list[dict[str, Any]]:
        """All releases: whoever has a token may query them without limit."""
        return [self._or_why_not(name, partial(self.release, name)) for name in self.folder.releases]

    def release(self, name: str) -> dict[str, Any]:
        """Model, rows, columns, promise and seal of a release."""
        found = self.open_release(name)
        plan, about = found.plan, found.certificate["release"]
        return {
            "name": name,
            "model": plan.model,
            "rows": about["rows"],
            "columns": _columns(plan),
            "epsilon": str(found.privacy.epsilon),
            "delta": str(found.privacy.delta),
            "neighbours": plan.privacy.neighbours,
            "private": found.private,
            "seal": found.certificate["seal"],
        }

    def open_release(self, name: str) -> Release:
        """A release, to be asked at no cost."""
        folder = self.folder.release(name)
        return self._releases.get(name, state_of(folder / CERTIFICATE), partial(load, folder))

    def inbox(self, name: str) -> Inbox | None:
        """What receives the answers to a survey; None where there is no such survey."""
        survey = self.folder.survey(name)
        if not survey.is_dir():
            return None
        return self._inboxes.get(name, state_of(survey), lambda: Inbox(survey, self.folder.answers(name)))

    def unfinished(self, name: str) -> list[str]:
        """The releases of a table that were paid for and are neither made nor being made."""
        if not Ledger.is_begun(self.folder.ledger(name)):
            return []
        ledger = self._ledger(self._open_table(name))
        paid = [entry for entry in ledger.statement()["entries"] if entry.get("published") is False]
        names = [str(entry["description"]).removeprefix("release ") for entry in paid]
        return [release for release in dict.fromkeys(names) if not self.custody.is_making(name, release)]

    # For custodians ------------------------------------------------------------------------------------------------

    def account(self, name: str) -> dict[str, Any]:
        """The whole account of a table: the budgets and questions of everybody."""
        return self._ledger(self._open_table(name)).statement()

    def give(self, holder: Holder, name: str, budgets: Mapping[str, Privacy], days: int) -> tuple[str, Holder]:
        """A token for an analyst with a share of the budget of each of these tables; the text is shown this once."""
        given = give_budgets(self.folder, self.tokens, name, budgets, days)
        self.record.add(holder, "gave a token", of=given[1].number, to=name, tables=", ".join(budgets))
        # Nobody waits for it, and until then the table is closed to analysts.
        self.custody.check_in_background(tuple(budgets))
        return given

    def revoke(self, holder: Holder, number: int) -> None:
        """End a token now."""
        self.tokens.revoke(number)
        self.record.add(holder, "revoked a token", of=number)


def give_budgets(
    folder: Folder, tokens: Tokens, name: str, budgets: Mapping[str, Privacy], days: int
) -> tuple[str, Holder]:
    """Write an analyst's budgets into the ledgers, and issue the token; where one is refused, nothing is written."""
    check_request(name, "analyst", tuple(budgets), days)
    openings = []
    for table, budget in budgets.items():
        plan, file = folder.plan(table), folder.ledger(table)
        limit = Privacy(budget.epsilon, budget.delta, neighbours=plan.privacy.neighbours)
        promised, wanted = plan.privacy, Cost(limit.epsilon, limit.delta)
        if limit.epsilon > promised.epsilon or limit.delta > promised.delta:
            raise ArgumentError(
                f"the budget of {name!r} on {table!r} would be {wanted}, and all may spend "
                f"{Cost(promised.epsilon, promised.delta)} together: give at most that"
            )
        if Ledger.is_begun(file):
            ledger = Ledger(file, unit=plan.unit)
            known = ledger.analysts.get(name)
            ledger.close()
            if known not in (None, wanted):
                raise ArgumentError(f"the budget of {name!r} on {table!r} is {known}, and that cannot be changed")
        begun = None if Ledger.is_begun(file) else promised
        openings.append(partial(Ledger, file, budget=begun, unit=plan.unit, analysts={name: limit}))
    for opening in openings:
        opening().close()
    return tokens.issue(name, "analyst", tuple(budgets), days=days)


def _columns(plan: Plan) -> list[dict[str, str]]:
    return [{"name": column.name, "kind": column.kind} for column in plan.kept]
