"""Every test draws the same noise in every run, so none fails by chance; doctests too.

Modules of extras that are not installed are not looked through for doctests.
"""

import hashlib
import itertools
import os
from importlib.util import find_spec

import pytest

from dproof import coins

collect_ignore = [] if find_spec("pyspark") else ["src/dproof/tables/spark.py"]


def seed_coins(name: str) -> None:
    """From here on all threads get their keys from this name; a forked child gets keys of its own."""
    home, count = os.getpid(), itertools.count()

    def key() -> bytes:
        child = "" if os.getpid() == home else f"child {os.getpid()}"
        return hashlib.sha256(f"{name} {next(count)} {child}".encode()).digest()

    coins.fresh_key = key
    coins._forget()


def pytest_addoption(parser):
    parser.addoption("--record", action="store_true", help="write what the golden commands print as what is expected")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    seed_coins(f"{fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param', '')}")
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    seed_coins(item.nodeid)
    return (yield)
