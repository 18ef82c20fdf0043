"""The ledger: never overspent, nothing lost, and a change to it shows."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof.curation.ledger import Amount, Ledger, record_release
from dproof.errors import DproofError, InputError, OverBudget, VerificationFailed
from dproof.privacy import Privacy


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
    assert ledger.remaining() == Amount(Fraction(0), Fraction(0))
    with pytest.raises(OverBudget):
        ledger.debit("one more", Privacy("1e-300"))


@settings(max_examples=25, deadline=None)
@given(
    st.fractions(0, 2, max_denominator=50),
    st.lists(st.tuples(st.fractions(0, 1, max_denominator=50), st.fractions(0, Fraction(1, 4))), max_size=8),
)
def test_spent_never_exceeds_the_budget(
    tmp_path_factory: pytest.TempPathFactory, whole: Fraction, costs: list[tuple[Fraction, Fraction]]
) -> None:
    ledger = Ledger(tmp_path_factory.mktemp("l") / "b.db", budget=Privacy(whole, "0.5"))
    spent = Amount()
    for n, (epsilon, delta) in enumerate(costs):
        fits = spent.epsilon + epsilon <= whole and spent.delta + delta <= Fraction(1, 2)
        try:
            ledger.debit(f"q{n}", Privacy(epsilon, delta))
            assert fits
            spent += Amount(epsilon, delta)
        except OverBudget:
            assert not fits
        assert ledger.spent() == spent
    assert Ledger(ledger.path).spent() == spent


def test_sixteen_threads(file: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    given_: list[int] = []
    threads = [threading.Thread(target=lambda tag=str(n): given_.append(hammer(file, 10, tag))) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(given_) == 100
    assert ledger.remaining() == Amount()
    kinds = [entry["kind"] for entry in Ledger(file).entries]
    assert kinds.count("question") == kinds.count("answer") == 100


HAMMER = """
import sys
from dproof.curation.ledger import Ledger
from dproof.errors import OverBudget
from dproof.privacy import Privacy

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
        from dproof.curation.ledger import Ledger
        from dproof.privacy import Privacy
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


def test_a_budget_is_not_raised_and_relations_are_not_mixed(file: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    with pytest.raises(InputError, match="cannot be changed"):
        Ledger(file, budget=Privacy(2))
    with pytest.raises(InputError, match="add up"):
        ledger.debit("q", Privacy("1/9", neighbours="add-remove"))


def test_a_release_is_a_spend_too(file: Path) -> None:
    record_release(file, Privacy(2), "out/", budget=Privacy(3))
    assert Ledger(file).remaining().epsilon == 1
    with pytest.raises(OverBudget):
        record_release(file, Privacy(2), "out/", budget=Privacy(3))


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
    with pytest.raises(VerificationFailed):
        ledger.debit("q", Privacy("1/9")) if "entries" not in statements[0] else Ledger(file)


def test_every_changed_byte_of_an_entry_shows(file: Path, tmp_path: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    ledger.debit("a question of some length", Privacy("1/4"))
    content = file.read_bytes()
    start = content.index(b'{"at"')
    changed = tmp_path / "changed.db"
    for place in range(start, start + 100, 7):
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


def test_an_open_ledger_notices_that_it_was_set_back(file: Path, tmp_path: Path) -> None:
    ledger = Ledger(file, budget=Privacy(1))
    shutil.copy(file, tmp_path / "old.db")
    ledger.debit("q", Privacy("1/4"))
    shutil.copy(tmp_path / "old.db", file)
    with pytest.raises(VerificationFailed):
        ledger.debit("q", Privacy("1/4"))


def test_what_is_no_ledger_is_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no ledger"):
        Ledger(file)
    file.write_bytes(b"something else entirely" * 100)
    with pytest.raises(DproofError):
        Ledger(file)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE t (x)")
    with pytest.raises(DproofError):
        Ledger(other, budget=Privacy(1))
    with pytest.raises(DproofError):
        Ledger(tmp_path / "nowhere" / "budget.db", budget=Privacy(1))


def test_triggers_keep_entries_as_they_are(file: Path) -> None:
    Ledger(file, budget=Privacy(1))
    with sqlite3.connect(file) as database, pytest.raises(sqlite3.IntegrityError, match="only added to"):
        database.execute("DELETE FROM entries")
