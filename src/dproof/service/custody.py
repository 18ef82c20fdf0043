"""What a custodian does with a table: look at its columns, save its plan, look at what the plan misses, sanitise."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from dproof.curation.ledger_file import is_begun
from dproof.errors import InputError
from dproof.plans.plan import Plan
from dproof.releases.payment import ReleasePayment
from dproof.releases.sanitise import sanitise
from dproof.service.checking import check_table
from dproof.service.drafting import epsilon_for, expected
from dproof.service.folder import Folder, write_whole
from dproof.service.jobs import Job, Jobs
from dproof.tables import open_source
from dproof.tables.layout import USUAL

_MOST_ROWS = 10**12


class Custody:
    """The custodian's work on a folder. Who may come here is decided before."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.jobs = folder, Jobs()

    def files(self) -> list[dict[str, Any]]:
        """Every table that lies in the folder, and whether it has a plan."""
        planned = self.folder.tables
        return [
            {"name": name, "file": ", ".join(path.name for path in paths), "plan": name in planned}
            for name, paths in self.folder.files.items()
        ]

    def columns(self, name: str) -> dict[str, Any]:
        """The names of a table's columns, as its header has them, and the plan if it has one."""
        file, plan = self.folder.file(name), self.folder.plan_file(name)
        text, wrong, layout = None, None, USUAL
        if plan.is_file():
            text = plan.read_text("utf-8", "replace")
            try:
                layout = Plan.read(plan).file
            except InputError as error:  # it can be mended here
                wrong = str(error)
        return {"name": name, "columns": list(open_source(file, None, layout).names), "plan": text, "wrong": wrong}

    def expected(self, draft: Mapping[str, Any], rows: int) -> dict[str, Any]:
        """What a draft would give for so many rows."""
        return expected(draft, _checked_rows(rows))

    def epsilon(
        self, draft: Mapping[str, Any], rows: int, question: str, column: str, half_width: Any
    ) -> dict[str, Any]:
        """The least ε with which an answer about so many rows has a wanted ±, each way."""
        return epsilon_for(draft, _checked_rows(rows), question, column, half_width)

    def save(self, name: str, draft: Mapping[str, Any]) -> dict[str, Any]:
        """Write a draft as the plan of a table, or not at all; refused once its budget is being spent."""
        plan, place = Plan.from_dict(draft), self.folder.plan_file(name)
        plan.check_names(open_source(self.folder.file(name), None, plan.file).names)
        if is_begun(self.folder.ledger(name)):
            raise InputError(
                f"{name!r} has a ledger already, which counts by the plan that is there: change the plan by hand"
            )
        write_whole(place, plan.text, "the plan")
        return {"plan": plan.text, "file": f"plans/{place.name}"}

    def check(self, name: str) -> dict[str, Any]:
        """How many values the plan does not cover, without noise: CONFIDENTIAL. From then on analysts may ask."""
        return check_table(self.folder, name).to_json()

    def sanitise(self, table: str, release: str) -> str:
        """Begin to sanitise a table, paid from its ledger; the name of the job."""
        data, plan, out = self.folder.table(table), self.folder.plan(table), self.folder.new_release(release)
        payment = ReleasePayment(self.folder.ledger(table), out)

        def work(job: Job) -> None:
            try:
                sanitise(data, plan, out, progress=job.advance, payment=payment)
            except BaseException as error:
                if payment.outstanding:
                    error.add_note("it is paid for: sanitise into the same name again, at no further cost")
                raise

        return self.jobs.start(f"{table} into {release}", work)

    def job(self, name: str) -> dict[str, Any]:
        """How far a job is."""
        found = self.jobs.find(name)
        if found is None:
            raise InputError("there is no such job")
        return found.to_json()

    def commands(self, table: str, release: str | None = None) -> list[str]:
        """The commands that do the same, in the folder that is served."""
        file = shlex.quote(self.folder.file(table).name)
        paths = f"tables/{file} --plan plans/{table}.toml"
        sanitised = f"dproof sanitise {paths} --out releases/{release or table} --ledger ledgers/{table}.db"
        return [f"dproof check {paths}", f"dproof plan plans/{table}.toml --rows N", sanitised]


def _checked_rows(rows: int) -> int:
    if not 1 <= rows <= _MOST_ROWS:
        raise InputError("say about how many rows the table has: at least 1")
    return rows
