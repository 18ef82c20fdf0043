"""Tickets: each is good for one answer, and the file that is kept does not say for which."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof.cli.app import main
from tests.survey.test_adopt import TWO, drawn_lines, write

TICKETS = {"tickets": True, **TWO}


@pytest.fixture
def survey(tmp_path: Path) -> Any:
    return dp.collect(TICKETS, tmp_path / "survey")


@pytest.fixture
def inbox(survey: Any, tmp_path: Path) -> dp.Inbox:
    return dp.Inbox(tmp_path / "survey", tmp_path / "answers.db")


def answers(survey: Any, count: int) -> list[dict[str, Any]]:
    return drawn_lines(survey.law, {"read": [0, 1] * count, "age": [7] * 2 * count})[:count]


def sent(line: dict[str, Any], ticket: Any) -> bytes:
    return json.dumps({**line, "ticket": ticket}).encode()


def stored(tmp_path: Path) -> tuple[int, int]:
    """How many answers there are, and how many tickets are spent."""
    with sqlite3.connect(tmp_path / "answers.db") as store:
        (kept,), (spent,) = (
            store.execute(query).fetchone()
            for query in ("SELECT count(*) FROM answers", "SELECT sum(spent) FROM tickets")
        )
    store.close()
    return kept, spent


def test_the_file_is_the_same_byte_for_byte_whichever_ticket_came_with_an_answer(survey: Any, tmp_path: Path) -> None:
    """120 answers on 7 pages, 300 tickets on 4: the pairs are turned round, and with them when a ticket comes."""
    lines, folder = answers(survey, 120), tmp_path / "survey"
    first = dp.Inbox(folder, tmp_path / "none.db")
    tickets = first.issue(300)
    first.close()
    empty = (tmp_path / "none.db").read_bytes()

    def file_of(came: Sequence[str], name: str) -> bytes:
        store = tmp_path / name
        store.write_bytes(empty)
        inbox = dp.Inbox(folder, store)
        inbox._store.execute("PRAGMA synchronous = OFF")  # the same bytes, and no wait for the disk
        for line, ticket in zip(lines, came, strict=True):
            inbox.receive(sent(line, ticket))
        inbox.close()
        return store.read_bytes()

    came = tickets[:120]
    assert file_of(came, "a.db") == file_of(came[::-1], "b.db") == file_of([*came[60:], *came[:60]], "c.db")
    assert file_of(tickets[180:], "d.db") != file_of(came, "a.db")  # which were used is kept
    assert not any(ticket.encode() in (tmp_path / "a.db").read_bytes() for ticket in tickets)


def test_each_ticket_is_good_for_one_answer(survey: Any, inbox: dp.Inbox, tmp_path: Path) -> None:
    (one, other), lines = inbox.issue(2), answers(survey, 5)
    inbox.receive(sent(lines[0], one))
    before = (tmp_path / "answers.db").read_bytes()
    inbox.receive(sent(lines[0], one))  # it was not told that the answer had come
    for ticket, match in (
        (one, "the ticket was used before: nothing was kept"),
        ("elsewhere", "the ticket is not one of this survey: nothing was kept"),
        (one.upper(), "not one of this survey"),
        ("\ud800", "not one of this survey"),
        ("x" * 60_000, "not one of this survey"),
        ("", "needs a ticket: nothing was kept"),
        (None, "needs a ticket"),
        (7, "needs a ticket"),
        ([other], "needs a ticket"),
    ):
        with pytest.raises(dp.TicketRefused, match=match):
            inbox.receive(sent(lines[1], ticket))
    with pytest.raises(dp.SourceError, match="no answer"):  # a ticket is not spent on what no law can give
        inbox.receive(sent({**lines[1], "row": {"read": 2, "age": 7}}, other))
    assert len(inbox) == 1 and stored(tmp_path) == (1, 1)
    assert (tmp_path / "answers.db").read_bytes() == before
    inbox.receive(sent(lines[1], other))
    assert len(inbox) == 2 and stored(tmp_path) == (2, 2)


def test_many_at_once_spend_a_ticket_once(survey: Any, inbox: dp.Inbox, tmp_path: Path) -> None:
    tickets, lines = inbox.issue(10), answers(survey, 80)

    def came(place: int) -> bool:
        try:
            inbox.receive(sent(lines[place], tickets[place % 10]))
        except dp.TicketRefused:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(came, range(80))) == 10
    assert len(inbox) == 10 and stored(tmp_path) == (10, 10)


def test_more_tickets_are_issued_to_a_survey_that_runs(survey: Any, inbox: dp.Inbox, tmp_path: Path) -> None:
    (early,), lines = inbox.issue(1), answers(survey, 2)
    inbox.receive(sent(lines[0], early))
    again = dp.Inbox(tmp_path / "survey", tmp_path / "answers.db")
    late = again.issue(3)
    assert len({early, *late}) == 4 and all(len(ticket) == 20 for ticket in late)
    inbox.receive(sent(lines[1], late[2]))
    assert stored(tmp_path) == (2, 2)


def test_a_survey_without_tickets_has_none(tmp_path: Path) -> None:
    survey = dp.collect(TWO, tmp_path / "plain")
    inbox = dp.Inbox(tmp_path / "plain", tmp_path / "answers.db")
    with pytest.raises(dp.SourceError, match="tickets = true"):
        inbox.issue(1)
    inbox.receive(sent(answers(survey, 1)[0], "not looked at"))
    assert len(inbox) == 1


@pytest.mark.parametrize("count", [0, -1, 2.0, True, 10**8])
def test_so_many_tickets_cannot_be_made(count: Any, inbox: dp.Inbox) -> None:
    with pytest.raises(dp.ArgumentError, match="count must be a whole number from 1"):
        inbox.issue(count)


_RECEIVE = """
import sys
import dproof as dp
inbox = dp.Inbox(sys.argv[1], sys.argv[2])
for line in open(sys.argv[3], "rb"):
    inbox.receive(line)
    print("kept", flush=True)
"""


@pytest.mark.parametrize("after", [1, 40])
def test_a_kill_leaves_as_many_answers_as_spent_tickets(
    after: int, survey: Any, inbox: dp.Inbox, tmp_path: Path
) -> None:
    lines = answers(survey, 2000)
    write(tmp_path / "lines", [sent(line, one).decode() for line, one in zip(lines, inbox.issue(2000), strict=True)])
    inbox.close()
    words = [sys.executable, "-c", _RECEIVE, *(str(tmp_path / name) for name in ("survey", "answers.db", "lines"))]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as receiving:
        assert receiving.stdout is not None
        kept = sum(1 for _, _ in zip(range(after), receiving.stdout, strict=False))
        os.kill(receiving.pid, signal.SIGKILL)
        kept += receiving.stdout.read().count(b"kept")
    assert after <= kept < 2000
    count, spent = stored(tmp_path)
    assert kept <= count == spent <= kept + 1


def test_lines_of_a_file_spend_tickets_too(survey: Any, inbox: dp.Inbox, tmp_path: Path) -> None:
    """Those that came to the server are spent as well; the first line with a ticket counts."""
    tickets, lines = inbox.issue(6), answers(survey, 12)
    inbox.receive(sent(lines[0], tickets[0]))
    inbox.close()
    came = [
        sent(lines[0], tickets[0]),  # also at the server: its id is known
        sent(lines[1], tickets[0]),  # another answer with its ticket
        sent(lines[2], tickets[1]),
        sent(lines[3], tickets[1]),
        sent(lines[2], tickets[2]),  # again, and it has left its ticket to the next
        sent(lines[4], tickets[2]),
        sent(lines[5], "unknown"),
        json.dumps(lines[6]).encode(),
        sent({**lines[7], "row": {"read": 2, "age": 7}}, tickets[3]),
        sent(lines[8], tickets[3]),
    ]
    file = write(tmp_path / "lines", [line.decode() for line in came])
    for given in ([file, tmp_path / "answers.db"], [tmp_path / "answers.db", file]):
        release = dp.adopt(given, tmp_path / "survey", tmp_path / f"release {given[0].name}")
        adopted = release.certificate["release"]["adopted"]
        assert (release.rows, adopted["repeated"], adopted["left_out"]) == (4, 4, 3)
        dp.verify(tmp_path / f"release {given[0].name}")


@pytest.mark.parametrize("names", [("answers.db", "before.db"), ("before.db", "answers.db")])
def test_a_ticket_is_spent_whichever_copy_of_the_store_says_so(
    names: tuple[str, str], survey: Any, inbox: dp.Inbox, tmp_path: Path
) -> None:
    (ticket,), lines = inbox.issue(1), answers(survey, 2)
    (tmp_path / "before.db").write_bytes((tmp_path / "answers.db").read_bytes())
    inbox.receive(sent(lines[0], ticket))
    inbox.close()
    file = write(tmp_path / "lines", [sent(lines[1], ticket).decode()])
    release = dp.adopt([file, *(tmp_path / name for name in names)], tmp_path / "survey", tmp_path / "release")
    assert (release.rows, release.certificate["release"]["adopted"]["repeated"]) == (1, 1)


@pytest.mark.parametrize("same", [True, False])
def test_two_copies_of_a_store_count_a_ticket_once(same: bool, survey: Any, inbox: dp.Inbox, tmp_path: Path) -> None:
    """Both went on receiving answers: with other tickets all count, with one nobody knows which answer came first."""
    tickets, lines = inbox.issue(3), answers(survey, 3)
    inbox.receive(sent(lines[0], tickets[0]))
    (tmp_path / "copy.db").write_bytes((tmp_path / "answers.db").read_bytes())
    copy = dp.Inbox(tmp_path / "survey", tmp_path / "copy.db")
    inbox.receive(sent(lines[1], tickets[1]))
    copy.receive(sent(lines[2], tickets[1 if same else 2]))
    given = [tmp_path / "answers.db", tmp_path / "copy.db"]
    if not same:
        assert dp.adopt(given, tmp_path / "survey", tmp_path / "release").rows == 3
        return
    with pytest.raises(dp.SourceError, match="3 answers and 2 tickets that were used: two copies of one file"):
        dp.adopt(given, tmp_path / "survey", tmp_path / "release")
    assert not (tmp_path / "release").exists()
    assert [dp.adopt(one, tmp_path / "survey", tmp_path / f"release of {one.name}").rows for one in given] == [2, 2]


def other_survey(tmp_path: Path) -> Any:
    """Another survey that asks the same, of another title."""
    return dp.collect({**TICKETS, "about": {"title": "Again"}}, tmp_path / "other")


def test_a_ticket_of_one_survey_is_none_of_another(survey: Any, inbox: dp.Inbox, tmp_path: Path) -> None:
    """Not at a server, not beside lines, and not if somebody writes its hash into the other's file."""
    other, (ticket,) = other_survey(tmp_path), inbox.issue(1)
    elsewhere = dp.Inbox(tmp_path / "other", tmp_path / "elsewhere.db")
    line = sent(answers(other, 1)[0], ticket)
    with closing(sqlite3.connect(tmp_path / "answers.db")) as store:
        hashes = store.execute("SELECT hash, spent FROM tickets").fetchall()
    with closing(sqlite3.connect(tmp_path / "elsewhere.db")) as store, store:
        store.executemany("INSERT INTO tickets VALUES (?, ?)", hashes)
    with pytest.raises(dp.TicketRefused, match="is not one of this survey"):
        elsewhere.receive(line)
    file = write(tmp_path / "lines", [line.decode()])
    with pytest.raises(dp.SourceError, match=r"the tickets in 'answers\.db' are not those of this survey"):
        dp.adopt([file, tmp_path / "answers.db"], tmp_path / "other", tmp_path / "release")
    with pytest.raises(dp.SourceError, match="no answer to this survey"):
        dp.adopt([file, tmp_path / "elsewhere.db"], tmp_path / "other", tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_a_store_belongs_to_one_survey(survey: Any, inbox: dp.Inbox, tmp_path: Path) -> None:
    """Else the answers of both would lie in one file, which no plan adopts."""
    other_survey(tmp_path)
    before = (tmp_path / "answers.db").read_bytes()
    with pytest.raises(dp.FileError, match="holds answers to another survey, or to another version of it: move it"):
        dp.Inbox(tmp_path / "other", tmp_path / "answers.db")
    assert (tmp_path / "answers.db").read_bytes() == before


@pytest.mark.parametrize("cell", [7, 0.5, "7", "", "\ud800".encode("utf-8", "surrogatepass")])
def test_a_cell_of_a_store_that_is_no_line_is_left_out(cell: Any, survey: Any, inbox: dp.Inbox, tmp_path: Path) -> None:
    inbox.receive(sent(answers(survey, 1)[0], inbox.issue(1)[0]))
    inbox.close()
    with closing(sqlite3.connect(tmp_path / "answers.db")) as store, store:
        store.execute("INSERT INTO answers VALUES ('odd', ?)", (cell,))
    assert dp.adopt(tmp_path / "answers.db", tmp_path / "survey", tmp_path / "release").rows == 1


def test_lines_of_a_file_need_the_tickets(survey: Any, tmp_path: Path) -> None:
    file = write(tmp_path / "lines", [sent(answers(survey, 1)[0], "any").decode()])
    with pytest.raises(dp.SourceError, match="lines need the file that `dproof tickets` made"):
        dp.adopt(file, tmp_path / "survey", tmp_path / "release")
    dp.Inbox(tmp_path / "survey", tmp_path / "tickets.db").issue(1)
    with pytest.raises(dp.SourceError, match="1 cannot be one or have no ticket of it"):
        dp.adopt([file, tmp_path / "tickets.db"], tmp_path / "survey", tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_the_plan_says_it(tmp_path: Path) -> None:
    """The survey has another key, so that no answer of the one without tickets belongs to it."""
    assert dp.collect(TICKETS, tmp_path / "a").key != dp.collect(TWO, tmp_path / "b").key
    with pytest.raises(dp.PlanError, match="tickets must be true or false"):
        dp.Plan.of({**TWO, "tickets": "yes"})
    with pytest.raises(dp.PlanError, match="tickets belongs to model = 'local'"):
        dp.Plan.of({**TICKETS, "privacy": {"epsilon": 1, "model": "central"}})
    with pytest.raises(dp.PlanError, match="leave `tickets` out"):
        dp.collect(TICKETS, tmp_path / "paper", paper=True)


def test_the_command(survey: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*words: Any) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as left:
            main(list(map(str, words)))
        return left.value.code, *capsys.readouterr()

    command = ("tickets", tmp_path / "survey", tmp_path / "answers.db", "--count", 3)
    code, out, err = run(*command)
    one, other, third = out.split()
    assert (code, err) == (0, "") and len({one, other, third}) == 3
    assert (tmp_path / "answers.db").stat().st_mode & 0o077 == 0
    assert len(json.loads(run(*command, "--json")[1])["tickets"]) == 3
    lines = answers(survey, 3)
    file = write(tmp_path / "lines", [sent(lines[0], one).decode(), sent(lines[1], one).decode(), lines[2]])
    code, out, _ = run("adopt", file, command[2], "--plan", tmp_path / "survey", "--out", tmp_path / "release")
    assert code == 0
    told = "1 line that no law can give or without a ticket, 1 line with the id or ticket of another"
    assert told in " ".join(out.split())
    dp.collect(TWO, tmp_path / "plain")
    code, out, err = run("tickets", tmp_path / "plain", tmp_path / "other.db", "--count", 3)
    assert code == 2 and "the plan of this survey has no tickets" in err and out == ""
    assert not (tmp_path / "other.db").exists()
    code, out, err = run("tickets", tmp_path, tmp_path / "other.db", "--count", 3)
    assert code == 2 and "is not a survey" in err and out == "" and not (tmp_path / "other.db").exists()
