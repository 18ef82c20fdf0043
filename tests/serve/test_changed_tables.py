"""A table that is changed under a running server: what an analyst sees of it does not depend on a row."""

import os

import pytest

import dproof as dp
from dproof.curator import curator
from tests.serve.server import make_folder, send, serving

QUESTION = {"sql": "SELECT count(*) AS n FROM data WHERE sex = 'f'", "epsilon": "0.1"}
BROKEN = "f,1,2,3,4,5\n"


def ask(made):
    return send(made, "POST", "/api/tables/people/ask", QUESTION, made.ann)


@pytest.mark.parametrize("way", ["in place", "another file"])
def test_other_rows_with_the_same_time_and_size_are_another_table(tmp_path, way):
    with serving(make_folder(tmp_path)) as made:
        place = tmp_path / "tables" / "people.csv"
        text, before = place.read_text(), os.stat(place)
        other = place if way == "in place" else tmp_path / "other"
        other.write_text(text[: -len(BROKEN)] + BROKEN)
        os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
        os.replace(other, place)
        after = os.stat(place)
        assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
        told = ask(made)
        assert told.status == 403 and "has to check it first" in told.json["error"]
    assert dp.Ledger(made.folder.ledger("people")).spent().epsilon == 0


def test_what_is_changed_while_it_is_read_is_told_whatever_it_holds(tmp_path, monkeypatch):
    seen, tally = [], curator.tally
    for name, more in (("good", "f,40\n"), ("broken", BROKEN)):
        (tmp_path / name).mkdir()
        with serving(make_folder(tmp_path / name)) as made:
            place = made.root / "tables" / "people.csv"

            def changed(*arguments, place=place, more=more):
                place.write_text(place.read_text() + more)
                return tally(*arguments)

            monkeypatch.setattr(curator, "tally", changed)
            told = ask(made)
            seen.append((told.status, told.raw))
            assert "was changed while it was asked" in told.json["error"]
            monkeypatch.setattr(curator, "tally", tally)
            kinds = [entry["kind"] for entry in dp.Ledger(made.folder.ledger("people")).entries]
            assert "question" in kinds and "answer" not in kinds
    assert seen[0] == seen[1]
