"""Work in a process of its own: a damaged file can end the process that reads it, and that must not be the server."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from dproof.errors import DproofError, InputError

_Done = TypeVar("_Done")
_WAYS = multiprocessing.get_all_start_methods()
# A process that has loaded what is needed forks in no time; never fork the server itself, which has threads.
_CONTEXT: Any = multiprocessing.get_context("forkserver" if "forkserver" in _WAYS else "spawn")
if "forkserver" in _WAYS:
    _CONTEXT.set_forkserver_preload(["dproof.service.reading", "dproof.tables.files"])


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
