"""How all tests run: no clock decides a test, and a failing example is printed so that it can be run again.

`make test` tries the same examples in every run; `--hypothesis-profile search` tries new ones.
"""

import json
import signal
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

collect_ignore = ["seeded", "mutants"]  # the first replaces the source of random bytes; the second needs cosmic-ray

settings.register_profile(
    "same",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("search", settings.get_profile("same"), derandomize=False)
settings.load_profile("same")


def pytest_sessionstart() -> None:
    # In the background of a shell Ctrl-C is ignored, also by the commands that tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Ran(NamedTuple):
    """What became of a command: its exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def dproof(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Call `dproof(*arguments)` as a user does, in this process."""
    from dproof.cli.app import main

    def run(*arguments: object) -> Ran:
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Ran(left.value.code or 0, said.out, said.err)

    return run


@pytest.fixture(scope="module")
def gaussian() -> Iterator[None]:
    """Tables that are promised with δ > 0 have Gaussian noise, also where Laplace noise would be the better one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dproof.central.recipe._keeping", lambda promise: [promise])
        yield
