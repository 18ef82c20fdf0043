"""What receives answers: it keeps what a page sends, nothing beside it, and loses none that it has acknowledged."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof.releases import adopt as inbox_module
from tests.survey.test_adopt import TWO, bad_lines, drawn_lines


@pytest.fixture
def survey(tmp_path: Path) -> Any:
    return dp.collect(TWO, tmp_path / "survey")


def test_what_comes_in_is_kept_and_adopted(survey: Any, tmp_path: Path) -> None:
    inbox = dp.Inbox(tmp_path / "survey", tmp_path / "answers.db")
    lines = drawn_lines(survey.law, {"read": [0, 1] * 50, "age": [7] * 100})
    for line in (*lines, lines[3]):
        inbox.receive(json.dumps({**line, "address": "192.0.2.1"}).encode())
    assert len(inbox) == 100 and inbox.page == (tmp_path / "survey" / "survey.html").read_bytes()
    inbox.close()
    with sqlite3.connect(tmp_path / "answers.db") as store:
        kept = store.execute("SELECT * FROM answers").fetchall()
    store.close()
    assert [own for own, _ in kept] == sorted(line["id"] for line in lines)  # by the id, whenever it came
    assert sorted(json.loads(line)["id"] for _, line in kept) == sorted(line["id"] for line in lines)
    assert all(json.loads(line).keys() == {"survey", "id", "row"} for _, line in kept)
    assert (tmp_path / "answers.db").stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.glob("answers.db*")] == ["answers.db"]
    assert len(dp.Inbox(tmp_path / "survey", tmp_path / "answers.db")) == 100
    release = dp.adopt(tmp_path / "answers.db", tmp_path / "survey", tmp_path / "release")
    assert release.rows == 100


def test_what_no_page_sends_is_refused_and_not_kept(survey: Any, tmp_path: Path) -> None:
    inbox = dp.Inbox(tmp_path / "survey", tmp_path / "answers.db")
    for line in bad_lines(survey.key):
        with pytest.raises(dp.SourceError, match="no answer"):
            inbox.receive((line if isinstance(line, str) else json.dumps(line)).encode())
    (line,) = drawn_lines(survey.law, {"read": [0], "age": [7]})
    with pytest.raises(dp.SourceError, match="another survey"):
        inbox.receive(json.dumps({**line, "survey": "0" * 64}).encode())
    assert len(inbox) == 0


def test_there_is_room_for_so_many(survey: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_module, "MOST_ANSWERS", 2)
    inbox = dp.Inbox(tmp_path / "survey", tmp_path / "answers.db")
    lines = [json.dumps(line).encode() for line in drawn_lines(survey.law, {"read": [0] * 3, "age": [7] * 3})]
    inbox.receive(lines[0])
    inbox.receive(lines[0])
    inbox.receive(lines[1])
    with pytest.raises(dp.FileError, match="2 answers"):
        inbox.receive(lines[2])


def test_what_is_no_survey_or_no_store_is_refused(survey: Any, tmp_path: Path) -> None:
    with pytest.raises(dp.FileError, match="not a survey"):
        dp.Inbox(tmp_path, tmp_path / "answers.db")
    (tmp_path / "text.db").write_text("no database " * 100)
    with pytest.raises(dp.FileError, match="cannot be opened"):
        dp.Inbox(tmp_path / "survey", tmp_path / "text.db")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE debits (epsilon)")
    other.close()
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(dp.FileError, match="holds something else than answers"):
        dp.Inbox(tmp_path / "survey", tmp_path / "other.db")
    assert (tmp_path / "other.db").read_bytes() == before
    with pytest.raises(dp.FileError, match=r"cannot be opened: No such file or directory$"):
        dp.Inbox(tmp_path / "survey", tmp_path / "absent" / "answers.db")
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + bytes(1000))
    with pytest.raises(dp.FileError, match="cannot be read"):
        dp.adopt(tmp_path / "broken.db", tmp_path / "survey", tmp_path / "release")


_RECEIVE = """
import sys
import dproof as dp
inbox = dp.Inbox(sys.argv[1], sys.argv[2])
for line in open(sys.argv[3], "rb"):
    inbox.receive(line)
    print("kept", flush=True)
"""


def test_a_kill_loses_no_answer_that_was_acknowledged(survey: Any, tmp_path: Path) -> None:
    lines = drawn_lines(survey.law, {"read": [0] * 2000, "age": [7] * 2000})
    (tmp_path / "lines").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    words = [sys.executable, "-c", _RECEIVE, *(str(tmp_path / name) for name in ("survey", "answers.db", "lines"))]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as receiving:
        assert receiving.stdout is not None
        kept = sum(1 for _, _ in zip(range(50), receiving.stdout, strict=False))
        receiving.kill()
        kept += receiving.stdout.read().count(b"kept")
    assert 50 <= kept < 2000
    inbox = dp.Inbox(tmp_path / "survey", tmp_path / "answers.db")
    assert kept <= len(inbox) <= kept + 1  # one may be kept and not yet said to be


def test_answers_are_adopted_after_a_kill_that_cut_a_change_short(survey: Any, tmp_path: Path) -> None:
    inbox = dp.Inbox(tmp_path / "survey", tmp_path / "answers.db")
    for line in drawn_lines(survey.law, {"read": [0, 1], "age": [7, 7]}):
        inbox.receive(json.dumps(line).encode())
    inbox.close()
    (tmp_path / "killed").mkdir()
    with sqlite3.connect(tmp_path / "answers.db") as store:
        store.execute("PRAGMA cache_size = 1")  # so that pages are written before the change is whole
        store.executemany("INSERT INTO answers VALUES (?, '')", [(f"cut short {n}",) for n in range(2000)])
        for file in tmp_path.glob("answers.db*"):
            shutil.copy(file, tmp_path / "killed" / file.name)
        store.rollback()
    store.close()
    assert (tmp_path / "killed" / "answers.db-journal").stat().st_size
    release = dp.adopt(tmp_path / "killed" / "answers.db", tmp_path / "survey", tmp_path / "release")
    assert release.rows == 2 and release.certificate["release"]["adopted"]["left_out"] == 0
