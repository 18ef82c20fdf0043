"""A release paid from a ledger: what can fail fails before the debit, and a debit pays for one published draw."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import dproof as dp
from dproof import DproofWarning, InputError, Ledger, OverBudget, Plan, ReleasePayment, VerificationFailed, storage
from dproof.central.recipe import certify_tables
from dproof.columns.codec import CategoryCodec
from dproof.local import draw as local
from dproof.local import draw as writing
from dproof.local.recipe import certify_row
from dproof.report import page
from dproof.storage import UNFINISHED, appearing
from tests.makers import row_law

PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 1},
    "columns": {"read": {"space": "categories", "values": ["yes", "no"]}},
}
TABLE = pa.table({"read": ["yes", "no"] * 50})


class Stopped(Exception):
    """What stops the work in these tests."""


def stop(*_: Any, **__: Any) -> Any:
    raise Stopped


@pytest.fixture
def paying(tmp_path: Path) -> Any:
    """Sanitise under a ledger; every call is a run of its own."""

    def run(plan: Any = PLAN, name: str = "out", **options: Any) -> ReleasePayment:
        payment = ReleasePayment(tmp_path / "budget.db", tmp_path / name)
        dp.sanitise(TABLE, plan, tmp_path / name, payment=payment, **options)
        return payment

    return run


def spent(tmp_path: Path) -> Any:
    return Ledger(tmp_path / "budget.db").spent().epsilon


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (page, "law_picture"),
        (page, "release_page"),
        (CategoryCodec, "store"),
        (writing, "rehearsal_rows"),
        (storage, "check_absent"),
        (storage.secrets, "token_hex"),
    ],
)
def test_what_fails_without_data_fails_before_the_debit(
    paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> None:
    monkeypatch.setattr(module, name, stop)
    with pytest.raises(Stopped):
        paying()
    assert list(tmp_path.iterdir()) == []  # no ledger was begun


def test_a_full_disk_is_seen_before_the_debit(paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    with pytest.raises(InputError, match="about 4 MB, and its disk has 1 MB left"):
        paying()
    assert list(tmp_path.iterdir()) == []


def test_how_much_room_a_release_takes_is_known_beforehand(tmp_path: Path) -> None:
    columns = {
        "kind": {"space": "categories", "values": [f"value {n}" for n in range(40)]},
        "age": {"space": "interval", "low": 0, "high": 110, "step": 1},
        "likes": {"space": "subsets", "values": ["music", "chess", "cars"], "separator": ";"},
        "load": {"space": "curves", "columns": ["a", "b", "c"], "low": 0, "high": 5},
        "town": {"public": True},
    }
    plan = {"privacy": {"epsilon": 4}, "columns": columns}
    people = 50_000
    rows = {"kind": ["value 3"], "age": [40], "likes": ["chess"], "a": [1.0], "b": [2.0], "c": [3.0], "town": ["x"]}
    dp.sanitise(pa.table({name: value * people for name, value in rows.items()}), plan, tmp_path / "out")
    stored = (tmp_path / "out" / "release.parquet").stat().st_size
    assert stored < writing.rehearse(row_law(plan)) * people < 2 * stored


def test_a_folder_that_cannot_be_written_in_is_told_before_the_debit(
    paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")  # as root, who runs tests in a container, nothing is denied

    with monkeypatch.context() as read_only, pytest.raises(InputError, match="nothing can be written in"):
        read_only.setattr(Path, "mkdir", denied)
        paying()
    assert list(tmp_path.iterdir()) == []


def test_a_debit_without_a_release_is_resumed_and_not_paid_twice(
    paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(local, "_read_batch", stop)  # the first batch: the ledger has paid by then
        for _ in range(2):
            with pytest.raises(Stopped):
                paying()
            assert spent(tmp_path) == 1 and not (tmp_path / "out").exists()
    payment = paying()
    assert payment.resumed and not payment.outstanding and spent(tmp_path) == 1
    assert dp.verify(tmp_path / "out") is not None


def test_what_was_published_is_paid_again(paying: Any, tmp_path: Path) -> None:
    assert not paying().resumed
    shutil.rmtree(tmp_path / "out")  # it may have been copied before
    with (
        pytest.raises(OverBudget),
        pytest.warns(DproofWarning, match="published here before, and it is gone"),
    ):
        paying()


def central(values: int, columns: int, delta: str = "1e-6") -> dict[str, Any]:
    column = {"space": "categories", "values": list(range(values))}
    promise = {"model": "central", "epsilon": 1, "delta": delta}
    return {"privacy": promise, "columns": {f"c{n}": column for n in range(columns)}}


SHUFFLED = {"privacy": {"model": "shuffled", "epsilon": 1, "delta": "1e-6"}, "shuffle": {"rows": 100}}
MENDED = {
    "other Gaussian noise": central(8, 4),
    "Laplace noise": central(2, 1, delta="0"),
    "rows one by one": PLAN,
}


@pytest.mark.parametrize("mended", MENDED.values(), ids=MENDED)
def test_a_mended_plan_pays_the_rho_that_it_costs(mended: dict[str, Any], tmp_path: Path) -> None:
    """Where ρ is counted, one ε is 0.03 with a δ and 0.46 without: the debit of either did for both."""
    file, place = tmp_path / "budget.db", tmp_path / "out"
    first, law = (prepared_law(plan) for plan in (central(2, 6), mended))
    Ledger(file, budget=dp.Privacy(8, "1e-5"), unit=law.plan.unit)
    for one in (first, law, law):  # the last finds what was paid, and adds nothing
        (payment := ReleasePayment(file, place)).pay(one)
    assert payment.resumed
    account = Ledger(file)._account
    price = account.cost({name: str(amount) for name, amount in asdict(law.cost).items() if amount is not None})
    assert first.cost.rho < price.rho == account.spent.rho and account.spent.epsilon == 1


def test_a_mended_plan_pays_the_rest_where_it_costs_more(tmp_path: Path) -> None:
    """One more value makes Gaussian noise of Laplace noise: nothing came of the first, so the larger is spent."""
    file, place = tmp_path / "budget.db", tmp_path / "out"
    first, mended, larger = (prepared_law(central(*size)) for size in ((2, 1), (2, 6), (8, 6)))
    assert first.is_pure and first.cost.delta == 0 and not mended.is_pure and mended.cost.delta > 0
    for one, spent in ((first, (1, 0)), (mended, (1, mended.cost.delta)), (larger, (1, larger.cost.delta))):
        (payment := ReleasePayment(file, place)).pay(one)  # the first begins the ledger with (1, 1e-6)
        found = Ledger(file)._account.spent
        assert (found.epsilon, found.delta) == spent
    for one in (first, mended, larger):
        (payment := ReleasePayment(file, place)).pay(one)
        assert payment.resumed and Ledger(file)._account.spent == found
    payment.settle("seal")
    with pytest.raises(OverBudget), pytest.warns(DproofWarning, match="published here before"):
        ReleasePayment(file, place).pay(first)


def test_a_mended_plan_with_a_larger_epsilon_pays_the_difference_within_the_budget(tmp_path: Path) -> None:
    file, place = tmp_path / "budget.db", tmp_path / "out"
    laws = [prepared_law({**PLAN, "privacy": {"epsilon": epsilon}}) for epsilon in ("1", "3/2", "5/2")]
    Ledger(file, budget=dp.Privacy(2), unit=laws[0].plan.unit)
    for law in laws[:2]:
        ReleasePayment(file, place).pay(law)
    assert Ledger(file).spent().epsilon == dp.Privacy("3/2").epsilon
    with pytest.raises(OverBudget):
        ReleasePayment(file, place).pay(laws[2])
    ReleasePayment(file, place).pay(laws[0])
    assert Ledger(file).spent().epsilon == dp.Privacy("3/2").epsilon


def test_questions_stay_spent_beside_a_mended_plan(tmp_path: Path) -> None:
    file, place = tmp_path / "budget.db", tmp_path / "out"
    first, mended = (prepared_law(central(*size)) for size in ((2, 1), (2, 6)))
    ledger = Ledger(file, budget=dp.Privacy("3/2", "1e-6"), unit=first.plan.unit)
    ledger.debit("asked", dp.Privacy("1/2"))
    ReleasePayment(file, place).pay(first)
    with pytest.raises(OverBudget):  # its δ is all that there is, and the question had a part of ρ
        ReleasePayment(file, place).pay(mended)
    assert Ledger(file).spent().epsilon == dp.Privacy("3/2").epsilon


def test_a_debit_in_rho_pays_for_nothing_whose_rho_is_not_known(tmp_path: Path) -> None:
    file, place, first = tmp_path / "budget.db", tmp_path / "out", prepared_law(central(2, 6))
    Ledger(file, budget=dp.Privacy(8, "1e-5"), unit=first.plan.unit)
    ReleasePayment(file, place).pay(first)
    with pytest.raises(OverBudget, match="the rho of this cost is not known"):
        ReleasePayment(file, place).pay(prepared_law(PLAN | SHUFFLED))


def prepared_law(plan: dict[str, Any]) -> Any:
    read = Plan.of(plan)
    return certify_tables(read) if read.model == "central" else certify_row(read)


def test_another_name_or_price_is_another_release(paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken, pytest.raises(Stopped):
        broken.setattr(local, "_read_batch", stop)
        paying()
    (tmp_path / "aside").mkdir()
    for plan, name in (
        (PLAN, "elsewhere"),
        (PLAN, "aside/out"),
        ({**PLAN, "privacy": {"epsilon": 2}}, "out"),
    ):
        with pytest.raises(OverBudget):
            paying(plan, name)
    assert paying().resumed and spent(tmp_path) == 1


def test_an_entry_of_before_releases_were_marked_is_never_resumed(paying: Any, tmp_path: Path) -> None:
    Ledger(tmp_path / "budget.db", budget=dp.Privacy(1)).release(dp.Privacy(1), "release out")
    with pytest.raises(OverBudget):
        paying()


def test_of_two_runs_that_one_debit_pays_for_one_publishes(paying: Any, tmp_path: Path) -> None:
    """While one run draws, another begins: it finds the debit unpublished, and is quicker."""

    def quicker(rows: int, total: int | None) -> None:
        second = paying()
        assert second.resumed
        (tmp_path / "out").rename(tmp_path / "published")  # so that the name is free again

    with pytest.raises(InputError, match="another run has published this release"):
        paying(progress=quicker)
    assert sorted(path.name for path in tmp_path.iterdir() if "budget" not in path.name) == ["published"]
    assert spent(tmp_path) == 1


def test_the_ledger_says_published_before_anybody_can_see_it(
    paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settled(self: ReleasePayment, seal: str) -> None:
        assert not (tmp_path / "out").exists()
        raise Stopped

    monkeypatch.setattr(ReleasePayment, "settle", settled)
    with pytest.raises(Stopped):
        paying()
    assert not (tmp_path / "out").exists()


def test_a_killed_run_is_swept_by_the_next_and_a_running_one_is_not(tmp_path: Path) -> None:
    left = tmp_path / f".out{UNFINISHED}0123"
    left.mkdir()
    (left / "release.parquet").write_text("drawn")
    other = tmp_path / f".other{UNFINISHED}0123"
    other.mkdir()
    with appearing(tmp_path / "out") as running:
        assert not left.exists() and other.exists()
        with pytest.raises(Stopped), appearing(tmp_path / "out"):
            assert running.exists()
            raise Stopped
        (running / "file").write_text("whole")
        left.mkdir()  # another run begins meanwhile, and is killed: nobody asks for this release again
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, "out"]


# Between the ledger's word that a release is published and its name ------------------------------------------------


def left_behind(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob(f".out{UNFINISHED}*"))


def full(*_: Any, **__: Any) -> Any:
    raise OSError(28, "No space left on device")


@pytest.fixture
def waiting(paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release that is drawn, paid for and published, and could not get its name."""
    with monkeypatch.context() as broken, pytest.raises(OSError, match="No space left on device") as told:
        broken.setattr(Path, "rename", full)
        paying()
    (left,) = left_behind(tmp_path)
    assert told.value.__notes__ == [
        f"the release is finished and paid for, and waits as {left.name!r}: while nothing else is called 'out', the "
        "same command gives it that name at no further cost"
    ]
    return left


def test_a_published_release_that_got_no_name_gets_it_from_the_next_run(
    paying: Any, tmp_path: Path, waiting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = (waiting / "release.parquet").read_bytes()
    with monkeypatch.context() as broken, pytest.raises(OSError, match="No space") as told:
        broken.setattr(Path, "rename", full)
        paying()  # the disk is still full
    assert waiting.name in told.value.__notes__[0] and left_behind(tmp_path) == [waiting]
    monkeypatch.setattr(local, "_read_batch", stop)  # no row is read again
    payment = paying()
    assert payment.finished and not payment.outstanding and spent(tmp_path) == 1
    assert (tmp_path / "out" / "release.parquet").read_bytes() == drawn and not left_behind(tmp_path)
    assert dp.verify(tmp_path / "out") is not None
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o777 & ~storage._umask()


def test_a_name_that_is_taken_in_the_last_moment_costs_no_release(
    paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = Ledger.publish

    def quicker(*arguments: Any) -> None:
        publish(*arguments)
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "file").write_text("of somebody")

    with monkeypatch.context() as broken, pytest.raises(InputError, match="is there already") as told:
        broken.setattr(Ledger, "publish", quicker)
        paying()
    assert "while nothing else is called 'out'" in told.value.__notes__[0]
    shutil.rmtree(tmp_path / "out")
    assert paying().finished and spent(tmp_path) == 1


def test_ctrl_c_just_after_the_ledger_has_published(
    paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = Ledger.publish

    def cut(*arguments: Any) -> None:
        publish(*arguments)
        raise KeyboardInterrupt

    payment = ReleasePayment(tmp_path / "budget.db", tmp_path / "out")
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt) as told:
        broken.setattr(Ledger, "publish", cut)
        dp.sanitise(TABLE, PLAN, tmp_path / "out", payment=payment)
    assert not payment.outstanding  # no other draw is free
    assert "is finished and paid for" in told.value.__notes__[0] and len(left_behind(tmp_path)) == 1
    assert paying().finished and spent(tmp_path) == 1 and not left_behind(tmp_path)


def test_ctrl_c_just_before_the_ledger_publishes(paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    payment = ReleasePayment(tmp_path / "budget.db", tmp_path / "out")
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(Ledger, "publish", interrupt)
        dp.sanitise(TABLE, PLAN, tmp_path / "out", payment=payment)
    assert payment.outstanding and not left_behind(tmp_path)
    again = paying()
    assert again.resumed and not again.finished and spent(tmp_path) == 1


def test_ctrl_c_just_after_the_debit_is_told_as_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = Ledger.release

    def cut(*arguments: Any, **options: Any) -> None:
        release(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "release", cut)
    payment = ReleasePayment(tmp_path / "budget.db", tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        dp.sanitise(TABLE, PLAN, tmp_path / "out", payment=payment)
    assert payment.outstanding


def test_what_stops_a_release_that_has_its_name_says_so(
    paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = storage._flush

    def failing(path: Path) -> None:
        flush(path) if path != tmp_path else full()

    monkeypatch.setattr(storage, "_flush", failing)
    with pytest.raises(OSError, match="No space") as told:
        paying()
    assert told.value.__notes__ == [f"the release is made, in {str(tmp_path / 'out')!r}"]
    assert dp.verify(tmp_path / "out") is not None


def test_a_waiting_release_is_checked_before_it_gets_its_name(paying: Any, tmp_path: Path, waiting: Path) -> None:
    with (waiting / "release.parquet").open("ab") as stored:
        stored.write(b"more")
    with pytest.raises(VerificationFailed, match=r"that was changed since .*: delete it to make a new release"):
        paying()
    assert waiting.exists() and not (tmp_path / "out").exists() and spent(tmp_path) == 1


def test_a_waiting_release_that_is_gone_is_told(paying: Any, tmp_path: Path, waiting: Path) -> None:
    shutil.rmtree(waiting)
    with pytest.raises(OverBudget), pytest.warns(DproofWarning, match="what it cost stays spent"):
        paying()


def test_a_waiting_release_that_another_run_holds_is_left_to_it(paying: Any, tmp_path: Path, waiting: Path) -> None:
    held = storage._hold(waiting)
    assert held is not None
    with pytest.raises(InputError, match="another run is just finishing"):
        paying()
    os.close(held)
    assert paying().finished and spent(tmp_path) == 1


def test_nobody_else_can_read_a_draw_before_it_is_published(
    paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, publish = list[int](), Ledger.publish

    def look(*arguments: Any) -> None:
        seen.extend(stat.S_IMODE(path.stat().st_mode) for path in left_behind(tmp_path))
        publish(*arguments)

    monkeypatch.setattr(Ledger, "publish", look)
    paying()
    assert seen == [0o700]


SIGNALLED = """
import os, signal, sys
from dproof import Ledger
from dproof.cli.app import main

publish = Ledger.publish

def signalled(*arguments):
    if sys.argv[1] == "after":
        publish(*arguments)
    os.kill(os.getpid(), signal.Signals[sys.argv[2]])

Ledger.publish = signalled
main(sys.argv[3:])
"""


@pytest.fixture
def command(tmp_path: Path) -> Any:
    """Run the command after such words of Python's."""
    pa.csv.write_csv(TABLE, tmp_path / "people.csv")
    (tmp_path / "plan.toml").write_text(Plan.of(PLAN).text, "utf-8")
    line = ["sanitise", "people.csv", "--plan", "plan.toml", "--out", "out", "--ledger", "budget.db"]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        whole, environment = [sys.executable, *words, *line], {**os.environ, "COLUMNS": "200"}
        return subprocess.run(whole, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize(("moment", "said"), [("before", "and not published it"), ("after", "it is now published")])
def test_killed_around_the_word_published(command: Any, tmp_path: Path, moment: str, said: str) -> None:
    assert command("-c", SIGNALLED, moment, "SIGKILL").returncode == -signal.SIGKILL
    assert len(left_behind(tmp_path)) == 1
    second = command("-m", "dproof")
    assert second.returncode == 0 and said in second.stderr, second.stderr
    assert spent(tmp_path) == 1 and not left_behind(tmp_path) and dp.verify(tmp_path / "out") is not None


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        ("before", "no release was made, but it is paid for: run the same command again, at no further cost"),
        ("after", "the release is finished and paid for, and waits as '.out.unfinished-"),
    ],
)
def test_interrupted_around_the_word_published(command: Any, tmp_path: Path, moment: str, said: str) -> None:
    first = command("-c", SIGNALLED, moment, "SIGINT")
    assert first.returncode == 130 and f"interrupted; {said}" in first.stderr, first.stderr
    lines = [line for line in first.stderr.splitlines() if "warning: the count" not in line]  # told before
    assert len(lines) == 1 and len(left_behind(tmp_path)) == (moment == "after")
    assert command("-m", "dproof").returncode == 0 and spent(tmp_path) == 1


def test_the_ledger_tells_no_path(paying: Any, tmp_path: Path) -> None:
    paying()
    assert str(tmp_path) not in str(Ledger(tmp_path / "budget.db").entries)


def test_a_release_that_only_lacks_its_name_outlives_a_run_with_another_plan(tmp_path, monkeypatch):
    """It is paid for: a run that cannot pay for another one must not delete it."""
    table, out = pa.table({"s": ["a", "b"] * 50}), tmp_path / "out"

    def run(*values):
        plan = {"privacy": {"epsilon": 1}, "columns": {"s": {"space": "categories", "values": list(values)}}}
        return dp.sanitise(table, plan, out, payment=ReleasePayment(tmp_path / "budget.db", out))

    with monkeypatch.context() as patch:
        patch.setattr("dproof.storage._name", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run("a", "b")
    with pytest.raises(OverBudget), pytest.warns(DproofWarning, match="published here before"):
        run("a", "b", "c")
    assert not out.exists()
    assert run("a", "b").rows == 100 and out.is_dir()
