"""A custodian sends a table: bounded, whole or not at all, under a name that cannot leave the folder."""

import socket
import threading

import pytest

from dproof.serve import api, limits
from tests.serve.server import make_folder, send, serving

ROWS = b"sex,age\nf,34\nm,51\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with serving(make_folder(tmp_path_factory.mktemp("served")), patience=5.0) as made:
        yield made


def upload(made, file, body=ROWS, token=None):
    return send(made, "PUT", f"/api/files/{file}", body, token or made.carla)


def lying(made):
    return sorted(path.name for path in (made.root / "tables").iterdir())


def test_a_table_is_saved_as_it_was_sent(made):
    body = ROWS * 20_000  # more than another body may have
    assert upload(made, "survey.csv", body).json == {"name": "survey", "file": "tables/survey.csv"}
    place = made.root / "tables" / "survey.csv"
    assert place.read_bytes() == body and place.stat().st_mode & 0o777 == 0o600
    columns = send(made, "GET", "/api/files/survey/columns", token=made.carla).json
    assert columns["columns"] == ["sex", "age"] and columns["plan"] is None


def test_a_table_that_is_there_is_not_replaced(made):
    before = (made.root / "tables" / "people.csv").read_bytes()
    for file in ("people.csv", "people.parquet"):
        told = upload(made, file)
        assert told.status == 400 and "there is a table 'people' already" in told.json["error"]
    assert (made.root / "tables" / "people.csv").read_bytes() == before


@pytest.mark.parametrize(
    "file",
    [
        "x",
        "x.py",
        "x.csv.exe",
        ".csv",
        "..csv",
        "..%2fx.csv",
        "%2e%2e%2fplans%2fx.csv",
        "x%00.csv",
        "x.duckdb",
        "-x.csv",
    ],
)
def test_no_other_name_is_taken(made, file):
    before = lying(made)
    assert upload(made, file).status in (400, 404) and lying(made) == before


def test_only_custodians_send_tables_and_no_more_than_so_much(made, monkeypatch):
    before = lying(made)
    assert upload(made, "mine.csv", token=made.ann).status == 403
    assert upload(made, "mine.csv", token="dproof_guess").status == 401
    assert send(made, "PUT", "/api/files/mine.csv", ROWS, made.carla, Origin="http://evil.example").status == 403
    with socket.create_connection(("127.0.0.1", made.port), 60) as connection:
        head = f"PUT /api/files/mine.csv HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\nConnection: close\r\n"
        connection.sendall(f"{head}Content-Length: {limits.LARGEST_UPLOAD + 1}\r\n\r\n".encode())
        assert connection.recv(64).startswith(b"HTTP/1.1 413")
    assert lying(made) == before


def test_what_does_not_come_to_its_end_leaves_nothing(made, monkeypatch, capfd):
    before, gone = lying(made), threading.Event()
    unlink = api.Path.unlink

    def unlinked(path, **keywords):
        unlink(path, **keywords)
        gone.set()

    monkeypatch.setattr(api.Path, "unlink", unlinked)
    with socket.create_connection(("127.0.0.1", made.port), 60) as connection:
        head = f"PUT /api/files/half.csv HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\n"
        head += f"Authorization: Bearer {made.carla}\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head.encode() + ROWS)
    assert gone.wait(60) and lying(made) == before and capfd.readouterr().err == ""


def test_what_a_killed_server_left_is_gone_at_the_next_start(tmp_path):
    made = make_folder(tmp_path)
    (tmp_path / "tables" / ".upload-0123").write_bytes(ROWS)
    assert list(made.folder.files) == ["people"]
    with made.folder.held():
        assert lying(made) == ["people.csv"]


def test_a_full_disk_is_told(made, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    before = lying(made)
    monkeypatch.setattr("dproof.serve.api.os.replace", full)
    told = upload(made, "late.csv")
    assert told.status == 400 and "No space left on device" in told.json["error"] and lying(made) == before


# A table is not sent under the name of an earlier one: the stored answers of that would be told of other people -------


def test_a_name_with_a_ledger_is_taken(tmp_path):
    with serving(make_folder(tmp_path)) as made:
        (tmp_path / "tables" / "people.csv").unlink()
        told = send(made, "PUT", "/api/files/people.csv", b"sex,age\nf,34\n", made.carla)
        assert told.status == 400 and "ledger of an earlier table 'people'" in told.json["error"]
        assert list((tmp_path / "tables").iterdir()) == []
        assert send(made, "PUT", "/api/files/people2.csv", b"sex,age\nf,34\n", made.carla).status == 201
