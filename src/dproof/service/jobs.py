"""Work that takes longer than a request: one piece at a time, with its progress."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dproof.errors import DproofError

_KEPT = 100  # jobs whose end is remembered


@dataclass(slots=True)
class Job:
    """A piece of work: how far it is, and what became of it."""

    what: str
    rows: int = 0
    total: int | None = None
    done: bool = False
    error: str | None = None

    def advance(self, rows: int, total: int | None) -> None:
        self.rows, self.total = self.rows + rows, total

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "rows": self.rows, "total": self.total, "done": self.done, "error": self.error}


class Jobs:
    """What is running and what has ended."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._one = threading.Lock()

    def start(self, what: str, work: Callable[[Job], object]) -> str:
        """Begin as soon as nothing else runs; the name by which to ask for it."""
        name, job = secrets.token_urlsafe(9), Job(what)
        self._jobs[name] = job
        while len(self._jobs) > _KEPT:
            self._jobs.popitem(last=False)
        threading.Thread(target=self._run, args=(job, work), daemon=True).start()
        return name

    def runs(self, what: str) -> bool:
        """Whether such work is not done yet."""
        return any(job.what == what and not job.done for job in list(self._jobs.values()))

    def find(self, name: str) -> Job | None:
        return self._jobs.get(name)

    def _run(self, job: Job, work: Callable[[Job], object]) -> None:
        with self._one:
            try:
                work(job)
            except DproofError as error:
                job.error = "; ".join([str(error), *getattr(error, "__notes__", ())])
            except Exception as error:  # its text may quote the data
                job.error = f"a fault of dproof itself: {type(error).__name__}"
            finally:
                job.done = True
