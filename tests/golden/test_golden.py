"""Sixty commands with seeded coins print what they printed before: a change of structure changes no answer.

`expected.json` holds the exit code and the JSON of every command, and what each release consists of. A change that is
meant is recorded with `python -m pytest tests/golden --record`, and its diff is read before it is committed. Sentences
for people (pages, refusals, notes) are not held fixed here: other tests pin them.
"""

from __future__ import annotations

import hashlib
import json
import math
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
# Sentences, and what hangs on the version of a library that writes files, on the day, or on the machine: a search for
# an optimum ends at other last digits where the processor adds up in another order, and so does the bound it proves.
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
    "lower_bound",
    "seal",
}
NEAR = 1e-5  # of a number, which machines differ by


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
    """JSON without sentences, and numbers to nine digits."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if key not in FREE}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def differences(found: Any, expected: Any, *, searched: bool = False, path: str = "") -> list[str]:
    """Where two results differ: numbers by more than machines do; weights at all, unless they were `searched` for."""
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        parts = [(f"{path}.{key}", found[key], expected[key]) for key in found]
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        parts = [(f"{path}[{n}]", *pair) for n, pair in enumerate(zip(found, expected, strict=True))]
    else:
        weights = searched and all(isinstance(value, str) and value.isdigit() for value in (found, expected))
        numbers = [int(value) if weights else value for value in (found, expected)]
        if weights or all(isinstance(value, float) for value in numbers):
            same = math.isclose(*numbers, rel_tol=NEAR, abs_tol=NEAR / 1000)
        else:
            same = found == expected
        return [] if same else [f"{path}: {found}, not {expected}"]
    return [line for place, *pair in parts for line in differences(*pair, searched=searched, path=place)]


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
    written = json.loads(json.dumps(found))
    lines = [differences(written[name], expected[name], searched=name == "design", path=name) for name in found]
    assert [line for differing in lines for line in differing] == []


def test_a_difference_is_seen() -> None:
    assert differences({"a": [1, 2.0]}, {"a": [1, 2.0 + 1e-6]}) == []
    assert differences({"a": [1, 2.0]}, {"a": [2, 2.0]}) == [".a[0]: 1, not 2"]
    assert differences([1.0], [1.001]) == ["[0]: 1.0, not 1.001"]
    assert differences({"a": 1}, {"b": 1}) and differences([1], [1, 2]) and differences(1.0, None)
    weights = str(10**18), str(10**18 + 1)
    assert differences(*weights) and not differences(*weights, searched=True)
    assert differences("10", "11", searched=True)


def test_there_are_sixty_and_they_reach_every_model(found: dict[str, Any]) -> None:
    assert len(found) >= 60 and {arguments[0] for arguments in COMMANDS.values()} >= {
        "sanitise",
        "query",
        "ask",
        "plan",
    }
    assert sum(made["exit"] == 0 for made in found.values()) >= 50
