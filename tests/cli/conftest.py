"""A command that must refuse what it is given."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def refused(dproof: Callable[..., Any]) -> Callable[..., str]:
    """Call `refused(*arguments)`: the command must leave with 2 and one sentence on stderr, which is returned."""

    def run(*arguments: object) -> str:
        code, out, err = ran = dproof(*arguments)
        assert code == 2 and ("--json" in arguments or not out), ran
        assert not out or err == f"dproof: {ran.json['message']}\n", ran
        assert err.startswith("dproof: ") and err.count("\n") == 1 and len(err) < 400, err
        return err.removeprefix("dproof: ").strip()

    return run
