"""The folder of `make_folder` behind a server, for the tests of one file."""

import pytest

from tests.serve.server import make_folder, serving


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with serving(make_folder(tmp_path_factory.mktemp("served"))) as made:
        yield made
