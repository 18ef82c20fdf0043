"""What a custodian does with a table: look at its columns, save its plan, look at what the plan misses, sanitise."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dproof.curation.ledger_file import is_begun
from dproof.errors import InputError, did_you_mean
from dproof.plans.plan import Plan
from dproof.releases.inspection import check
from dproof.releases.payment import ReleasePayment
from dproof.releases.sanitise import sanitise
from dproof.service.drafting import expected
from dproof.service.folder import Folder
from dproof.service.jobs import Job, Jobs
from dproof.tables import open_source

_MOST_ROWS = 10**12


class Custody:
    """The custodian's work on a folder. Who may come here is decided before."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.jobs = folder, Jobs()

    def files(self) -> list[dict[str, Any]]:
        """Every table that lies in the folder, and whether it has a plan."""
        planned = self.folder.tables
        return [{"name": name, "file": path.name, "plan": name in planned} for name, path in self.folder.files.items()]

    def columns(self, name: str) -> dict[str, Any]:
        """The names of a table's columns, as its header has them, and the plan if it has one."""
        plan = self.folder.plan_file(name)
        text = plan.read_text("utf-8") if plan.is_file() else None
        layout = Plan.parse(text).file if text is not None else None
        source = open_source(self._file(name), None, layout) if layout is not None else open_source(self._file(name))
        return {"name": name, "columns": list(source.names), "plan": text}

    def expected(self, draft: Mapping[str, Any], rows: int) -> dict[str, Any]:
        """What a draft would give for so many rows."""
        if not 1 <= rows <= _MOST_ROWS:
            raise InputError("say about how many rows the table has: at least 1")
        return expected(draft, rows)

    def save(self, name: str, draft: Mapping[str, Any]) -> dict[str, Any]:
        """Write a draft as the plan of a table, or not at all; refused once its budget is being spent."""
        plan, place = Plan.from_dict(draft), self.folder.plan_file(name)
        plan.check_names(open_source(self._file(name), None, plan.file).names)
        if is_begun(self.folder.ledger(name)):
            raise InputError(
                f"{name!r} has a ledger already, which counts by the plan that is there: change the plan by hand"
            )
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=place.parent, suffix=".part", delete=False) as file:
            file.write(plan.text)
        os.replace(file.name, place)
        return {"plan": plan.text, "file": f"plans/{place.name}"}

    def check(self, name: str) -> dict[str, Any]:
        """How many values the plan does not cover. CONFIDENTIAL: no noise protects it."""
        return check(self.folder.table(name), self.folder.plan(name)).to_json()

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
        file = self._file(table).name
        paths = f"tables/{file} --plan plans/{table}.toml"
        sanitised = f"dproof sanitise {paths} --out releases/{release or table} --ledger ledgers/{table}.db"
        return [f"dproof check {paths}", f"dproof plan plans/{table}.toml --rows N", sanitised]

    def _file(self, name: str) -> Path:
        files = self.folder.files
        if name not in files:
            raise InputError(f"there is no table {name[:64]!r}{did_you_mean(name[:64], files)}")
        return files[name]
