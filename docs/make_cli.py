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
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
