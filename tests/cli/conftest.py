"""Running a command as a user does: arguments in, exit code and both streams out."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from dproof.cli.app import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def dproof(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Call `dproof(*arguments)` in this process."""

    def run(*arguments: object) -> Ran:
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Ran(left.value.code or 0, said.out, said.err)

    return run


@pytest.fixture
def refused(dproof: Callable[..., Ran]) -> Callable[..., str]:
    """Call `refused(*arguments)`: the command must leave with 2 and one sentence on stderr, which is returned."""

    def run(*arguments: object) -> str:
        code, out, err = ran = dproof(*arguments)
        assert code == 2 and ("--json" in arguments or not out), ran
        assert not out or err == f"dproof: {ran.json['message']}\n", ran
        assert err.startswith("dproof: ") and err.count("\n") == 1 and len(err) < 400, err
        return err.removeprefix("dproof: ").strip()

    return run
