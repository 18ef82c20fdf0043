"""A release paid from a ledger: what can fail fails before the debit, and a debit pays for one published draw."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof.curation.ledger import Ledger
from dproof.curation.release_payment import ReleasePayment
from dproof.errors import InputError, OverBudget
from dproof.report import page, rendering
from dproof.sanitisation import folder, product, writing
from dproof.sanitisation.folder import UNFINISHED, appearing
from dproof.sanitisation.plan import Plan
from dproof.sanitisation.row_law import certify_row

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
        payment = ReleasePayment(tmp_path / "budget.db", name)
        dp.sanitise(TABLE, plan, tmp_path / name, payment=payment, **options)
        return payment

    return run


def spent(tmp_path: Path) -> Any:
    return Ledger(tmp_path / "budget.db").spent().epsilon


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (rendering, "svg"),
        (page, "page"),
        (product, "stored_arrays"),
        (writing, "made_up_rows"),
        (folder, "check_absent"),
        (folder.secrets, "token_hex"),
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
    monkeypatch.setattr(folder.shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
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
    assert stored < writing.rehearse(certify_row(Plan.of(plan))) * people < 2 * stored


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
        broken.setattr(product, "_read", stop)  # the first batch: the ledger has paid by then
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
    with pytest.raises(OverBudget):
        paying()


def test_another_plan_or_name_is_another_release(paying: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken, pytest.raises(Stopped):
        broken.setattr(product, "_read", stop)
        paying()
    for plan, name in (
        ({**PLAN, "order": "keep"}, "out"),
        (PLAN, "elsewhere"),
        ({**PLAN, "privacy": {"epsilon": "1/2"}}, "out"),
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
    def settled(self: ReleasePayment) -> None:
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
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, "out"]
