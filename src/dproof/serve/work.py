"""Work in a process of its own: a damaged file can end the process that reads it, and that must not be the server."""

from __future__ import annotations

import multiprocessing
import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from dproof import DproofError, InputError
from dproof.serve import limits

_Done = TypeVar("_Done")
_WAYS = multiprocessing.get_all_start_methods()
# A process that has loaded what is needed forks in no time; never fork the server itself, which has threads.
_CONTEXT: Any = multiprocessing.get_context("forkserver" if "forkserver" in _WAYS else "spawn")
if "forkserver" in _WAYS:
    _CONTEXT.set_forkserver_preload(["dproof.serve.custody", "duckdb", "pyarrow.dataset"])


def apart(work: Callable[..., _Done], *arguments: Any) -> _Done:
    """What a function returns, called in a process of its own; whatever stops it is refused in one sentence.

    >>> apart(int, "12")
    12
    """
    here, there = _CONTEXT.Pipe(duplex=False)
    child = _CONTEXT.Process(target=_done, args=(there, work, arguments), daemon=True)
    child.start()
    there.close()
    try:
        done, sentence = here.recv()
    except EOFError:
        done, sentence = None, "the process that read it has ended: is the file damaged, or too large for this machine?"
    finally:
        here.close()
        child.join()
    if sentence is not None:
        raise InputError(sentence)
    result: _Done = done
    return result


def _done(there: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with suppress(ImportError):  # there is none on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold rows
    told: tuple[Any, str | None]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what a library says may quote them
    try:
        told = work(*arguments), None
    except DproofError as error:
        told = None, str(error)
    except MemoryError:
        told = None, "there is not enough memory to read it"
    except BaseException as error:  # a library's panic is no Exception; what it says may quote the data
        told = None, f"it cannot be read: {type(error).__name__}"
    there.send(told)


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
        while len(self._jobs) > limits.MOST_JOBS:
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
