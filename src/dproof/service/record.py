"""What custodians did, when and by which token: a file of lines of JSON in the folder, which is only added to."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dproof.errors import InputError
from dproof.service.tokens import Holder, now


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a folder. It holds names of tables, releases and tokens; no value, no question and no token."""

    path: Path

    def add(self, who: Holder | None, did: str, **about: Any) -> None:
        """Add a line; without a holder it was done by a command on the machine itself.

        >>> import tempfile
        >>> record = Record(Path(tempfile.mkdtemp(), "custodians.jsonl"))
        >>> record.add(None, "gave a token", to="ann")
        >>> [(one["number"], one["who"], one["did"], one["to"]) for one in record.latest(10)]
        [(1, None, 'gave a token', 'ann')]
        """
        holder = {"who": who and who.name, "token": who and who.number}
        told = json.dumps({"at": now().isoformat(timespec="seconds"), **holder, "did": did, **about})
        line = f"{told}\n".encode()
        try:
            with open(os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+b", buffering=0) as file:
                if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n":
                    line = b"\n" + line  # the last one was cut off, by a full disk or an end of the power
                if file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file)
        except OSError as error:
            raise InputError(f"the record {self.path.name!r} cannot be written: {error.strerror}") from None

    def latest(self, most: int, before: int | None = None) -> list[dict[str, Any]]:
        """The latest lines, or those before the line of a number, oldest first, with their numbers."""
        try:
            lines = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"the record {self.path.name!r} cannot be read: {error.strerror}") from None
        end = len(lines) if before is None else max(0, min(before - 1, len(lines)))
        begin = max(0, end - most)
        return [{**_line(text), "number": n} for n, text in enumerate(lines[begin:end], begin + 1)]


def _line(text: bytes) -> dict[str, Any]:
    try:
        match json.loads(text):
            case {"at": str(), "who": str() | None, "token": int() | None, "did": str()} as told:
                return dict(told)
    except (ValueError, RecursionError):
        pass
    return {"at": "", "who": None, "token": None, "did": "a damaged line"}  # it is still a line
