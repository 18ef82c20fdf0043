"""A first question is understood once, though it is tried before a ledger is begun."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dproof.curator import curator
from tests.makers import interval, plan_text

PLAN = plan_text({"x": interval(0, 9, missing=4)}, epsilon=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text("x\n" + "3\n" * 40)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


@pytest.mark.parametrize("more", [(), ("--preview",)])
def test_everything_is_done_once(
    more: tuple[str, ...], folder: Path, dproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*args: Any, **options: Any) -> Any:
            done.append(name)
            return real(*args, **options)

        return counting

    for name in ("as_question", "resolve", "measure", "open_source"):
        monkeypatch.setattr(curator, name, counted(name, getattr(curator, name)))
    ledger, sql = folder / "l.db", "SELECT avg(x) AS a FROM data"
    run = dproof(
        "ask", folder / "data.csv", sql, "--plan", folder / "plan.toml", "--ledger", ledger, "--epsilon", 1, *more
    )
    assert run.code == 0, run.err
    assert sorted(done) == ["as_question", "measure", "open_source", "resolve"]
    assert ledger.exists() != bool(more)
