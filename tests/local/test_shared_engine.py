"""All queries of a process count in one DuckDB: threads do not meet in it, and a forked process has its own."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import dproof as dp

_PLAN = {"privacy": {"epsilon": 40}, "columns": {"x": {"space": "categories", "values": ["a", "b"]}}}


def _release(rows: int) -> Any:
    return dp.sanitise(pa.table({"x": ["a"] * rows + ["b"]}), _PLAN)


def _count(release: Any) -> int:
    return round(release.query("SELECT count(*) AS n FROM release WHERE x = 'a'").rows[0]["n"].estimate)


def test_threads_that_query_at_once_read_their_own_release() -> None:
    releases = {n: _release(n) for n in (10, 20, 30)}
    asked = [*releases] * 4
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(lambda n: _count(releases[n]), asked)) == asked


def test_one_engine_is_started_for_a_process_and_another_after_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    release, started, connect = _release(10), [], duckdb.connect
    _count(release)

    def counted(**options: Any) -> Any:
        started.append(options)
        return connect(**options)

    monkeypatch.setattr(duckdb, "connect", counted)
    assert (_count(release), len(started)) == (10, 0)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert (_count(release), _count(release), len(started)) == (10, 10, 1)
