"""The ledger: never overspent, nothing lost, and a change to it shows."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import ArgumentError, Cost, InputError, Ledger, OverBudget, Privacy, VerificationFailed
from dproof.curator.ledger import _link
from dproof.privacy import Unit


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


def hammer(path: Path, times: int, tag: str) -> int:
    """Ask for 1/100 again and again; how often it was given."""
    ledger, given_ = Ledger(path), 0
    for n in range(times):
        try:
            number = ledger.debit(f"question {tag} {n}", Privacy("1/100"))
        except OverBudget:
            continue
        ledger.store(number, {"n": n})
        given_ += 1
    return given_


def test_three_tenths_are_exactly_three_tenths(file: Path) -> None:
    ledger = Ledger(file, budget=Privacy(0.3))
    for n in range(3):
        ledger.debit(f"q{n}", Privacy(0.1))
    assert ledger.remaining() == Cost(Fraction(0), Fraction(0))
    with pytest.raises(OverBudget):
        ledger.debit("one more", Privacy("1e-300"))


@settings(max_examples=25, deadline=None)
@given(st.fractions(0, 2, max_denominator=50), st.lists(st.fractions(0, 1, max_denominator=50), max_size=8))
def test_spent_never_exceeds_the_budget(
    tmp_path_factory: pytest.TempPathFactory, whole: Fraction, costs: list[Fraction]
) -> None:
    """Without δ; `test_ledger_rho.py` has budgets with δ."""
    ledger, spent = Ledger(tmp_path_factory.mktemp("l") / "b.db", budget=Privacy(whole)), Fraction(0)
    for n, epsilon in enumerate(costs):
        fits = spent + epsilon <= whole
        try:
            ledger.debit(f"q{n}", Privacy(epsilon))
            assert fits
            spent += epsilon
        except OverBudget:
            assert not fits
        assert ledger.spent() == Cost(spent)
    assert Ledger(ledger.path).spent() == Cost(spent)


def test_sixteen_threads(file: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    given_: list[int] = []
    threads = [threading.Thread(target=lambda tag=str(n): given_.append(hammer(file, 10, tag))) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(given_) == 100
    assert ledger.remaining() == Cost()
    kinds = [entry["kind"] for entry in Ledger(file).entries]
    assert kinds.count("question") == kinds.count("answer") == 100


HAMMER = """
import sys
from dproof import Ledger, OverBudget, Privacy

given, ledger = 0, Ledger(sys.argv[1])
for n in range(10):
    try:
        ledger.debit(f"question {sys.argv[2]} {n}", Privacy("1/100"))
        given += 1
    except OverBudget:
        pass
print(given)
"""


def test_eight_processes(file: Path) -> None:
    Ledger(file, budget=Privacy("1/2"))
    runs = [
        subprocess.Popen([sys.executable, "-c", HAMMER, str(file), str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(8)
    ]
    given_ = [int(run.communicate()[0]) for run in runs]
    assert sum(given_) == 50
    assert Ledger(file).spent().epsilon == Fraction(1, 2)


def test_a_process_that_dies_after_the_debit_leaves_it(file: Path) -> None:
    Ledger(file, budget=Privacy(1))
    program = textwrap.dedent(
        f"""
        import os, signal
        from dproof import Ledger, Privacy
        Ledger({str(file)!r}).debit("question", Privacy("1/3"))
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    ledger = Ledger(file)
    assert ledger.spent().epsilon == Fraction(1, 3)
    assert ledger.find("question", Privacy("1/3")) is None


def test_the_same_question_is_stored_once(file: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    first, second = ledger.debit("q", Privacy("1/4")), ledger.debit("q", Privacy("1/4"))
    assert ledger.store(first, [1, 2]) == [1, 2]
    assert ledger.store(second, [3, 4]) == [1, 2]
    assert ledger.find("q", Privacy("1/4")) == [1, 2]
    assert ledger.find("q", Privacy("1/5")) == [1, 2]  # what was paid more is the better answer
    assert ledger.find("q", Privacy("1/3")) is None
    assert ledger.find("other", Privacy("1/4")) is None


def test_analysts_have_budgets_of_their_own_under_one_roof(file: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1), analysts={"ann": Privacy("3/4"), "bob": Privacy("3/4")})
    ledger.debit("q1", Privacy("1/2"), analyst="ann")
    assert ledger.remaining("ann").epsilon == Fraction(1, 4)
    assert ledger.remaining("bob").epsilon == Fraction(1, 2)
    with pytest.raises(OverBudget):
        ledger.debit("q2", Privacy("1/3"), analyst="ann")
    with pytest.raises(OverBudget):
        ledger.debit("q2", Privacy("2/3"), analyst="bob")
    with pytest.raises(InputError, match="'bob'"):
        ledger.debit("q2", Privacy("1/9"), analyst="bop")
    with pytest.raises(InputError, match="no analyst was named"):
        ledger.debit("q2", Privacy("1/9"))
    with pytest.raises(InputError, match="cannot be changed"):
        Ledger(file, analysts={"ann": Privacy(9)})


def test_delta_has_limits_of_its_own(file: Path) -> None:
    """ε may be left in plenty where δ is spent: of the whole, of an analyst's part, under a plan's ceiling."""
    whole, part = Privacy(9, "1e-6"), Privacy(5, "1e-7")
    ledger = Ledger(file, budget=whole, analysts={"ann": part, "bob": whole})
    with pytest.raises(OverBudget):
        ledger.debit("q", Privacy(1, "2e-7"), analyst="ann")
    ledger.store(ledger.debit("q", Privacy(1, "9e-7"), analyst="bob"), {"n": 1})
    assert ledger.remaining("ann") == Cost(Fraction(5), Fraction(1, 10**7))
    with pytest.raises(OverBudget):
        ledger.debit("r", Privacy(1, "2e-7"), analyst="bob")
    assert Ledger(file, ceiling=Privacy(9, "9.5e-7")).remaining("ann").delta == Fraction(5, 10**8)
    # A stored answer serves where it was paid at least as well in both.
    assert ledger.find("q", Privacy(1, "9e-7")) == {"n": 1} and ledger.find("q", Privacy(1, "1e-6")) is None


def test_a_budget_is_not_raised_and_relations_are_not_mixed(file: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    with pytest.raises(InputError, match="cannot be changed"):
        Ledger(file, budget=Privacy(2))
    with pytest.raises(InputError, match="add up"):
        ledger.debit("q", Privacy("1/9", neighbours="add-remove"))


def test_a_release_is_a_spend_too(file: Path) -> None:
    Ledger(file, budget=Privacy(3)).release(Privacy(2), "out/")
    assert Ledger(file).remaining().epsilon == 1
    with pytest.raises(OverBudget):
        Ledger(file).release(Privacy(2), "out/")


def tampered(file: Path, *statements: str) -> None:
    with sqlite3.connect(file) as database:
        for trigger in ("no_change", "no_loss"):
            database.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            database.execute(statement)


@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE entries SET body = replace(body, '1/4', '1/5') WHERE number = 2"],
        ["UPDATE entries SET kind = 'analyst' WHERE number = 2"],
        ["UPDATE entries SET body = replace(body, 'q1', 'q9') WHERE number = 3"],
        ["DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)"],
        ["DELETE FROM entries WHERE number = 2"],
        ["DELETE FROM entries"],
        [
            "UPDATE entries SET number = -2 WHERE number = 2",
            "UPDATE entries SET number = 2 WHERE number = 3",
            "UPDATE entries SET number = 3 WHERE number = -2",
        ],
        ["UPDATE head SET number = number - 1"],
        ["DELETE FROM head"],
        ["DROP TABLE head"],
    ],
)
def test_tampering_shows_when_the_ledger_is_opened(file: Path, statements: list[str]) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    for n in range(3):
        ledger.debit(f"q{n}", Privacy("1/4"))
    tampered(file, *statements)
    with pytest.raises(VerificationFailed):
        Ledger(file)
    if "entries" in statements[0]:
        ledger.debit("q", Privacy("1/9"))  # one that is open has read its entries, and hides nothing by writing on
        with pytest.raises(VerificationFailed):
            Ledger(file)
    else:
        with pytest.raises(VerificationFailed):
            ledger.debit("q", Privacy("1/9"))


def test_every_changed_byte_of_an_entry_shows(file: Path, tmp_path: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    ledger.debit("a question of some length", Privacy("1/4"))
    ledger.close()
    content = file.read_bytes()
    starts = [content.index(b'{"at"'), content.rindex(b'{"at"')]
    changed = tmp_path / "changed.db"
    for place in (start + step for start in starts for step in range(0, 100, 7)):
        changed.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(VerificationFailed):
            Ledger(changed)


def test_an_older_copy_shows_against_the_mark(file: Path, tmp_path: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    old = tmp_path / "old.db"
    shutil.copy(file, old)
    ledger.debit("q", Privacy("1/4"))
    mark = ledger.mark
    ledger.debit("q", Privacy("1/4"))
    assert Ledger(file, mark=mark).spent().epsilon == Fraction(1, 2)
    assert Ledger(old).spent().epsilon == 0  # without the mark nothing shows
    with pytest.raises(VerificationFailed, match="older copy"):
        Ledger(old, mark=mark)


def test_a_ledger_with_new_hashes_shows_against_the_mark(file: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    ledger.debit("q", Privacy(1))
    mark, hashed = ledger.mark, hashlib.sha256(b"dproof ledger 1").hexdigest()
    ledger.close()
    with sqlite3.connect(file) as database:
        database.execute("DROP TRIGGER no_change")
        for number, kind, body in database.execute("SELECT number, kind, body FROM entries ORDER BY number").fetchall():
            cheaper = body.replace('"epsilon": "1"', '"epsilon": "9"') if kind == "budget" else body
            hashed = _link(hashed, number, kind, cheaper)
            database.execute("UPDATE entries SET body = ?, hash = ? WHERE number = ?", (cheaper, hashed, number))
        database.execute("UPDATE head SET hash = ?", (hashed,))
    database.close()
    assert Ledger(file).remaining().epsilon == 8  # without the mark nothing shows
    with pytest.raises(VerificationFailed, match="mark"):
        Ledger(file, mark=mark)


@pytest.mark.parametrize("closed", [True, False])
def test_an_open_ledger_notices_that_it_was_set_back(file: Path, tmp_path: Path, closed: bool) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    shutil.copy(file, tmp_path / "old.db")
    ledger.debit("q", Privacy("1/4"))
    if closed:
        ledger.close()
    for left in tmp_path.glob("budget.db*"):
        left.unlink()
    shutil.copy(tmp_path / "old.db", file)
    with pytest.raises(VerificationFailed):
        ledger.debit("q", Privacy("1/4"))


def test_an_older_file_under_a_newer_journal_loses_nothing(file: Path, tmp_path: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    shutil.copy(file, tmp_path / "old.db")
    ledger.debit("q", Privacy("1/4"))
    shutil.copy(tmp_path / "old.db", file)
    ledger.debit("q", Privacy("1/4"))
    ledger.close()
    assert Ledger(file).spent().epsilon == Fraction(1, 2)


def test_a_link_leads_to_the_same_ledger(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    ledger.debit("q", Privacy("1/4"))
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(file)
    monkeypatch.chdir(link.parent)
    other = Ledger("link.db")
    monkeypatch.chdir(tmp_path)
    assert other.debit("q", Privacy("1/4")) and ledger.spent() == other.spent() == Cost(Fraction(1, 2))


def test_a_closed_ledger_is_one_file(file: Path, tmp_path: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    assert [path.name for path in tmp_path.iterdir()] == ["budget.db"]
    number = ledger.debit("q", Privacy("1/4"))
    ledger.store(number, "answer")
    ledger.close()
    assert [path.name for path in tmp_path.iterdir()] == ["budget.db"]
    shutil.copy(file, tmp_path / "copy.db")
    assert Ledger(tmp_path / "copy.db").find("q", Privacy("1/4")) == "answer"
    assert ledger.spent().epsilon == Fraction(1, 4)  # and opens again
    del ledger
    assert sorted(path.name for path in tmp_path.glob("budget.db*")) == ["budget.db"]


def test_a_reader_does_not_stop_another_from_opening(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dproof.curator.ledger._PATIENCE", 0.1)
    Ledger(file, budget=Privacy(1)).close()
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN")
        other.execute("SELECT * FROM entries").fetchall()  # it holds the file, so its journal cannot change
        assert Ledger(file).spent().epsilon == 0


def test_a_debit_waits_for_the_disk_and_an_answer_for_the_next_debit(file: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    number, disk = ledger.debit("q", Privacy("1/4")), "PRAGMA synchronous"
    assert ledger._file.database is not None
    assert ledger._file.database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert ledger._file.database.execute(disk).fetchone() == (2,)  # FULL: what is committed survives a loss of power
    ledger.store(number, "answer")
    assert ledger._file.database.execute(disk).fetchone() == (1,)  # NORMAL: what is committed survives a kill
    ledger.debit("q2", Privacy("1/4"))
    assert ledger._file.database.execute(disk).fetchone() == (2,)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes fork here")
def test_a_forked_child_spends_from_the_same_ledger(file: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    ledger.debit("before", Privacy("1/8"))
    children = []
    for n in range(3):
        child = os.fork()
        if child == 0:
            inherited = ledger._file.database is not None  # SQLite's locks would not be
            ledger.debit(f"child {n}", Privacy("1/8"))
            os._exit(inherited)  # as multiprocessing does: nothing is closed
        children.append(child)
        ledger.debit(f"parent {n}", Privacy("1/8"))
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    assert ledger.spent().epsilon == Fraction(7, 8)
    ledger.close()
    assert Ledger(file).spent().epsilon == Fraction(7, 8)


def test_eight_processes_begin_one_ledger(file: Path) -> None:
    begin = HAMMER.replace("Ledger(sys.argv[1])", "Ledger(sys.argv[1], budget=Privacy('1/2'))")
    runs = [
        subprocess.Popen([sys.executable, "-c", begin, str(file), str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(8)
    ]
    assert sum(int(run.communicate()[0]) for run in runs) == 50
    assert [entry["kind"] for entry in Ledger(file).entries].count("budget") == 1


def test_a_ledger_counts_the_loss_of_one_unit(file: Path) -> None:
    person = Unit("change-one", "id", 3)
    Ledger(file, budget=Privacy(1), unit=person)
    assert Ledger(file).unit == Ledger(file, unit=person).unit == person
    for other in (Unit(), Unit("change-one", "id", 2), Unit("change-one", "name", 3), Unit("add-remove", "id", 3)):
        with pytest.raises(InputError, match="do not add up"):
            Ledger(file, unit=other)
    assert Ledger(file).spent() == Cost()


def test_a_release_needs_no_analyst(file: Path) -> None:
    Ledger(file, budget=Privacy(1), analysts={"ann": Privacy("1/2")})
    Ledger(file).release(Privacy("3/4"), "out/")
    assert Ledger(file).remaining("ann").epsilon == Fraction(1, 4)


def test_what_is_no_ledger_is_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no ledger"):
        Ledger(file)
    file.write_bytes(b"something else entirely" * 100)
    with pytest.raises(InputError, match="not a ledger"):
        Ledger(file)
    (tmp_path / "empty.db").touch()
    with pytest.raises(InputError, match="not a ledger"):
        Ledger(tmp_path / "empty.db")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE t (x)")
    content = other.read_bytes()
    with pytest.raises(InputError, match="not a ledger"):
        Ledger(other, budget=Privacy(1))
    assert other.read_bytes() == content
    for nowhere in (tmp_path / "nowhere" / "budget.db", tmp_path):
        with pytest.raises(InputError, match="cannot be opened"):
            Ledger(nowhere, budget=Privacy(1))


def test_triggers_keep_entries_as_they_are(file: Path) -> None:
    Ledger(file, budget=Privacy(1))
    with sqlite3.connect(file) as database, pytest.raises(sqlite3.IntegrityError, match="only added to"):
        database.execute("DELETE FROM entries")


def test_where_nothing_can_be_written_a_ledger_can_still_be_seen(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    ledger.debit("q", Privacy("1/4"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert Ledger(file).spent().epsilon == Fraction(1, 4)  # though the debit lies in the journal
    ledger.close()
    seen = Ledger(file)
    assert seen.spent().epsilon == Fraction(1, 4) and not file.with_name("budget.db-wal").exists()
    with pytest.raises(InputError, match="cannot be written"):
        seen.debit("q", Privacy("1/4"))


def test_a_ledger_begins_anew_only_where_nothing_was_spent(file: Path) -> None:
    path, unit = file, Unit()
    ledger = Ledger(path, budget=Privacy(1), analysts={"ann": Privacy("0.5")})
    waiting = Ledger(path)  # which another process has open
    assert ledger.is_unspent
    with pytest.raises(ArgumentError, match="'ann' has a budget"):
        ledger.begin_anew(Privacy("0.1"), unit, keep_analysts=True)
    ledger.begin_anew(Privacy(2, "1e-6"), unit, keep_analysts=True)
    assert ledger.budget.epsilon == 2 and ledger.analysts["ann"] == Cost(Fraction(1, 2))
    with pytest.raises(VerificationFailed):
        waiting.debit("SELECT count(*) FROM data", Privacy("0.4"), analyst="ann")
    again = Ledger(path)
    assert again.is_unspent and again.budget == ledger.budget and again.counts_rho
    again.begin_anew(Privacy(1), unit, keep_analysts=False)
    assert again.analysts == {} and not again.counts_rho
    again.debit("SELECT count(*) FROM data", Privacy("0.1"))
    assert not again.is_unspent and not Ledger(path).is_unspent
    with pytest.raises(ArgumentError, match="something was spent"):
        again.begin_anew(Privacy(3), unit, keep_analysts=True)
    assert Ledger(path).spent().epsilon == Fraction(1, 10)
