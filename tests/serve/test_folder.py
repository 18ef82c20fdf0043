"""The folder that is served: names are looked up and never joined, and one server holds it."""

import os

import pytest

from dproof import InputError, Ledger, Privacy
from dproof.serve.folder import Folder
from tests.serve.server import make_folder

ODD = [
    "../people",
    "..",
    ".",
    "",
    "people.csv",
    "/etc/passwd",
    "people/../people",
    "a" * 65,
    "naïve",
    "x\n",
    "-x",
    "%2e",
]


@pytest.fixture
def made(tmp_path):
    return make_folder(tmp_path)


@pytest.mark.parametrize("name", ODD)
def test_no_name_leaves_the_folder(made, name):
    for look in (made.folder.table, made.folder.release, made.folder.plan, made.folder.new_release):
        with pytest.raises(InputError):
            look(name)
    if name != "people.csv":
        with pytest.raises(InputError):
            made.folder.ledger(name)


def test_only_tables_with_a_plan_can_be_asked(made):
    (made.root / "tables" / "pay.csv").write_text("a\n1\n")
    (made.root / "tables" / ".hidden.csv").write_text("a\n1\n")
    assert list(made.folder.files) == ["pay", "people"] and made.folder.tables == ("people",)
    with pytest.raises(InputError, match="did you mean 'people'"):
        made.folder.table("peoples")


def test_a_second_server_is_refused_and_the_first_lets_go(made):
    with made.folder.held(), pytest.raises(InputError, match="another server serves"), Folder(made.root).held():
        pass
    with made.folder.held():
        pass


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(made):
    made.root.chmod(0o500)
    try:
        with pytest.raises(InputError, match="cannot be written"), made.folder.held():
            pass
    finally:
        made.root.chmod(0o700)


def test_what_is_no_folder_is_told(tmp_path):
    with pytest.raises(InputError, match="is no folder"):
        Folder.open(tmp_path / "nothing")


def test_what_the_command_line_spent_on_a_served_table_is_not_overlooked(made):
    people = made.root / "tables" / "people.csv"
    kept = Ledger(Ledger.beside(people), budget=Privacy(2), unit=made.folder.plan("people").unit)
    kept.release(Privacy(2), "release elsewhere")
    kept.close()
    with pytest.raises(InputError, match="people lose both"):
        made.folder.table("people")
    made.folder.ledger("people").unlink()
    with pytest.raises(InputError, match=r"move it to ledgers/people\.db"):
        made.folder.table("people")
    kept.path.rename(made.folder.ledger("people"))
    assert made.folder.table("people") == people
    assert Ledger(made.folder.ledger("people")).remaining().epsilon == 0
