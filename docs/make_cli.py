"""Write docs/cli.md from what `dproof --help` says; a test keeps the page as it is here."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

PAGE = Path(__file__).parent / "cli.md"


def helped(*words: str) -> str:
    """What a command says about itself, at one width on every machine."""
    from dproof.cli.app import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return "\n".join(line.rstrip() for line in said.getvalue().splitlines()).strip("\n")


def text() -> str:
    """The whole page."""
    os.environ |= {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1", "TERM": "dumb"}
    from dproof.cli.app import COMMANDS

    parts = [
        "# The command line",
        "Made by `python docs/make_cli.py` from `dproof --help`.",
        f"```text\n{helped()}\n```",
    ]
    parts += [f"## dproof {name}\n\n```text\n{helped(name)}\n```" for name in COMMANDS]
    return "\n\n".join([*parts, _ERRORS, error_table()]) + "\n"


_ERRORS = """\
## Exit codes and errors

A command exits with 0 when it is done and the answer is yes, with 1 when the answer is no, with 2 when the
request cannot be met, and with 130 or 143 when it was interrupted. The error is one sentence on stderr. With
`--json` it is also one object on stdout, with `code`, `message` and `hint`: programs should use the code, because
sentences may change. `usage` is a wrong option or argument, `interrupted` a command
that was stopped, and `internal` a bug in dproof. The others are the classes of errors in Python:"""


def error_table() -> str:
    """The code of every class of error, when it is raised and where to read on."""
    from dproof import errors

    rows = ["| code | in Python | exit code | when | hint |", "| --- | --- | ---: | --- | --- |"]
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, errors.DproofError) and error is not errors.DproofError:
            left = 2 if issubclass(error, errors.InputError) else 1
            when = " ".join((error.__doc__ or "").split())
            rows.append(f"| `{error.code}` | `{error.__name__}` | {left} | {when} | {error.hint} |")
    return "\n".join(rows)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
