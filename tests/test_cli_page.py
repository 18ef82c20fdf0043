"""docs/cli.md lists every command with every option that it has today, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dproof.cli.app import COMMANDS, load_command

PAGE = (Path(__file__).parent.parent / "docs" / "cli.md").read_text(encoding="utf-8")


def test_the_page_has_every_command() -> None:
    assert re.findall(r"^## dproof (\w+)$", PAGE, flags=re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_has_every_option(name: str) -> None:
    section = re.search(rf"^## dproof {name}\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert section is not None
    command = load_command(name)
    options = {word for parameter in command.params for word in parameter.opts if word.startswith("--")}
    shown = set(re.findall(r"^  (--[\w-]+)", section[1], flags=re.MULTILINE)) - {"--help"}
    assert shown == options - {"--help"}, "run `python docs/make_cli.py`"
