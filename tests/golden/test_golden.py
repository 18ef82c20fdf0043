"""Sixty commands with seeded coins print what they printed before: a change of structure changes no answer.

`expected.json` holds the exit code and the JSON of every command, and what each release consists of. A change that is
meant is recorded with `python -m pytest tests/golden --record`, and its diff is read before it is committed. Sentences
for people (pages, refusals, notes) are not held fixed here: other tests pin them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from conftest import seed_coins
from dproof.cli.app import main
from tests.golden.commands import COMMANDS, write_files

EXPECTED = Path(__file__).with_name("expected.json")
# Sentences, and what hangs on the version of a library that writes files or on the day.
FREE = {"note", "notes", "advice", "warning", "warnings", "message", "reason", "hint", "text", "why", "recommendation"}
FREE |= {
    "sha256",
    "data",
    "mark",
    "created",
    "time",
    "dproof",
    "said",
    "bytes",
    "sentence",
    "promise",
    "at",
    "in_words",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every command prints, in order, in one folder."""
    folder, home = tmp_path_factory.mktemp("golden"), Path.cwd()
    os.chdir(folder)
    try:
        write_files(folder)
        return {name: ran(name, arguments) for name, arguments in COMMANDS.items()}
    finally:
        os.chdir(home)


def ran(name: str, arguments: list[str]) -> Any:
    seed_coins(f"golden {name}")
    with pytest.MonkeyPatch.context() as patch:
        written: list[str] = []
        patch.setattr("sys.stdout.write", lambda text: written.append(text) or len(text), raising=False)
        with pytest.raises(SystemExit) as left:
            main(arguments)
    made: dict[str, Any] = {"exit": left.value.code or 0}
    printed = "".join(written).strip()
    if "--json" in arguments and printed:
        made["json"] = plain(json.loads(printed))
    if arguments[0] == "sanitise" and not made["exit"]:
        made["release"] = contents(Path(arguments[arguments.index("--out") + 1]))
    return made


def plain(value: Any) -> Any:
    """JSON without sentences, and numbers to nine digits: the last ones hang on the order of additions."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if key not in FREE}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def contents(folder: Path) -> dict[str, Any]:
    """The certificate and the rows or tables of a release, digested by their values: a writer chooses the bytes."""
    certificate = json.loads((folder / "certificate.json").read_text("utf-8"))
    tables = {file.name: digest(pq.read_table(file).to_pylist()) for file in sorted(folder.glob("*.parquet"))}
    return {"certificate": digest(plain(certificate)), "keys": sorted(certificate), **tables}


def digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(re.sub(r"\s+", " ", text).encode()).hexdigest()[:16]


def test_every_command_prints_what_it_printed(found: dict[str, Any], pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--record"):
        EXPECTED.write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
    expected = json.loads(EXPECTED.read_text("utf-8"))
    assert found.keys() == expected.keys()
    assert [name for name in found if found[name] != expected[name]] == []


def test_there_are_sixty_and_they_reach_every_model(found: dict[str, Any]) -> None:
    assert len(found) >= 60 and {arguments[0] for arguments in COMMANDS.values()} >= {
        "sanitise",
        "query",
        "ask",
        "plan",
    }
    assert sum(made["exit"] == 0 for made in found.values()) >= 50
