"""Every command in a real terminal: of several widths, without a width, without escape codes, without colours."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from dproof.cli.app import COMMANDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")

NAME = "favourite_hobby_in_winter"  # wide, and one word
PLAN = f"""\
[privacy]
epsilon = "3"
[columns.{NAME}]
space = "categories"
values = ["Sports", "Cars", "Computer games"]
[columns.interests]
space = "subsets"
values = ["Music", "Football", "Chess"]
separator = ";"
[columns.hours]
space = "interval"
low = 0
high = 40
step = 1
[columns.name]
drop = true
"""
ROWS = ["Sports,Music;Chess,3,a", "Cars,Football,12,b", "Computer games,,31,c"] * 500
GROUPS = f"SELECT {NAME}, count(*) AS people, avg(hours) AS h FROM {{}} GROUP BY {NAME}"
PAID = ["--plan", "plan.toml", "--ledger", "budget.db"]
# In this order, in one folder; what is expected of each is its exit code.
LINES = [
    (["--help"], 0),
    (["sanitise", "--help"], 0),
    (["init", "people.csv"], 0),
    (["check", "people.csv", "--plan", "plan.toml"], 0),
    (["plan", "plan.toml", "--rows", "1500"], 0),
    (["sanitise", "people.csv", "--plan", "plan.toml", "--out", "release"], 0),
    (["query", "release", GROUPS.format("release")], 0),
    (["ask", "people.csv", *PAID, "--epsilon", "0.5", GROUPS.format("data")], 0),
    (["ask", "people.csv", *PAID, "--epsilon", "0.1", "--preview", GROUPS.format("data")], 0),
    (["ask", "people.csv", *PAID, "--epsilon", "9", "SELECT count(*) FROM data WHERE hours > 9"], 1),
    (["budget", "budget.db", "--analyst", "ann", "--epsilon", "1"], 0),
    (["verify", "release"], 0),
    (["collect", "plan.toml", "--out", "survey"], 0),
    (["tickets", "survey", "answers.db", "--count", "2"], 2),
    (["adopt", "people.csv", "--plan", "survey", "--out", "adopted"], 2),
    (["report", "release", "--out", "page.html"], 0),
    (["certify", "matrix.csv", "--epsilon", "1"], 0),
    (["design", "--space", "space.toml", "--epsilon", "1"], 0),
    (["compose", "10x0.1,1e-6", "0.5", "--delta", "1e-4", "--neighbours", "add-remove", "--rows", "3"], 0),
    (["explain", "--epsilon", "9"], 0),
    (["token", ".", "--custodian", "carla"], 0),
    (["serve", ".", "--host", "0.0.0.0"], 2),
    (["mcp", "http://127.0.0.1:9"], 2),
    (["demo"], 0),
    (["query", "nowhere", "SELECT 1"], 2),
    (["nonsense"], 2),
]
# One process for all the lines: each starts as a user's does, but what they import is imported once.
DRIVER = """
import json, sys
from dproof.cli.app import main
for words in json.load(open("lines.json")):
    try:
        main(words)
    except SystemExit as left:
        sys.stderr.flush()
        print(f"== left with {left.code or 0}", flush=True)
"""
WIDTHS = {"100": 100, "80": 80, "40": 40, "dumb, 40": 40, "no colour, no size": 0}
MORE = {"100", "40"}  # seldom unlike the others
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9\d|10\d)(?:;\d+)*m")


class Seen(NamedTuple):
    words: list[str]
    text: str
    expected: int
    code: int

    @property
    def lines(self) -> list[str]:
        """What a person reads: a line that was drawn over is one line each time."""
        return [line for line in re.split(r"[\r\n]+", ESCAPE.sub("", self.text)) if line.strip()]


@pytest.fixture(scope="module", params=[pytest.param(s, marks=pytest.mark.slow) if s in MORE else s for s in WIDTHS])
def screen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int, list[Seen]]:
    """The setting, the width that holds in it, and what each line printed there."""
    setting, folder = request.param, tmp_path_factory.mktemp("terminal")
    (folder / "plan.toml").write_text(PLAN, "utf-8")
    (folder / "space.toml").write_text('space = "categories"\nvalues = ["Sports", "Cars", "Computer games"]\n', "utf-8")
    (folder / "matrix.csv").write_text(",Yes,No\nYes,0.7,0.3\nNo,0.3,0.7\n", "utf-8")
    (folder / "people.csv").write_text("\n".join([f"{NAME},interests,hours,name", *ROWS]) + "\n", "utf-8")
    (folder / "lines.json").write_text(json.dumps([words for words, _ in LINES]), "utf-8")
    (folder / "temporary").mkdir()
    hidden = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "PYTEST_CURRENT_TEST")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    environment |= {"TERM": "dumb" if "dumb" in setting else "xterm-256color", "TMPDIR": str(folder / "temporary")}
    environment |= {"NO_COLOR": "1"} if "no colour" in setting else {}
    text = in_terminal([sys.executable, "-c", DRIVER], folder, WIDTHS[setting], environment)
    parts = re.split(r"== left with (\d+)\r?\n", text)
    assert len(parts) == 2 * len(LINES) + 1, text[-2000:]
    seen = [Seen(*line[:1], parts[2 * n], line[1], int(parts[2 * n + 1])) for n, line in enumerate(LINES)]
    return setting, WIDTHS[setting] or 80, seen


def in_terminal(command: list[str], folder: Path, columns: int, environment: dict[str, str]) -> str:
    """What a command prints, on whichever stream, where both are a terminal of so many columns."""
    import fcntl
    import pty
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40 if columns else 0, columns, 0, 0))
    running = subprocess.Popen(command, cwd=folder, env=environment, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    seen = b""
    try:
        while piece := os.read(leader, 1 << 16):
            seen += piece
    except OSError:  # Linux says so when the last writer has gone
        pass
    finally:
        os.close(leader)
    running.wait()
    return seen.decode("utf-8")


def test_every_command_has_a_line() -> None:
    assert {words[0] for words, _ in LINES} >= set(COMMANDS)


def test_every_command_does_its_work(screen: tuple[str, int, list[Seen]]) -> None:
    for seen in screen[2]:
        assert seen.code == seen.expected, (seen.words, seen.text)
        assert "Traceback" not in seen.text and "fault of dproof" not in seen.text, (seen.words, seen.text)


def test_no_line_is_wider_than_the_terminal(screen: tuple[str, int, list[Seen]]) -> None:
    _, width, all_seen = screen
    for seen in all_seen:
        if seen.words[0] != "init":  # its draft is a file
            assert [line for line in seen.lines if len(line) > width] == [], seen.words


def test_names_and_figures_are_whole(screen: tuple[str, int, list[Seen]]) -> None:
    printed = {" ".join(seen.words[:2]): seen for seen in screen[2]}
    for command in ("plan plan.toml", "query release"):
        text = "\n".join(printed[command].lines)
        # A plan has it in its table of ways and in that of laws; an answer once, or once for each row where narrow.
        assert text.count(NAME) == (2 if command[0] == "p" else 1 if screen[1] > 40 else 3)
    for seen in (printed["query release"], printed["demo"]):
        assert not [line for line in seen.lines if re.search(r"(±|…|\[[\d,.]+,)\s*$", line) and "SELECT" not in line]
    plan = printed["plan plan.toml"].text
    assert "randomised" in plan or "In a wider terminal also: mechanism" in " ".join(plan.split())
    assert "…" not in printed["sanitise --help"].text


def test_the_bar_says_what_is_done_before_the_first_row(screen: tuple[str, int, list[Seen]]) -> None:
    (text,) = [" ".join(seen.lines) for seen in screen[2] if seen.words[:2] == ["sanitise", "people.csv"]]
    assert not re.search(r"\b0 rows", text)
    assert "drawing charts" in text or "dumb" in screen[0]  # a dumb terminal shows the last state alone


def test_no_escape_codes_where_there_should_be_none(screen: tuple[str, int, list[Seen]]) -> None:
    setting, _, all_seen = screen
    whole = "".join(seen.text for seen in all_seen)
    if "dumb" in setting:
        assert "\x1b" not in whole
    elif "no colour" in setting:
        assert ESCAPE.search(whole) and not COLOUR.search(whole)
    else:
        assert COLOUR.search(whole)
