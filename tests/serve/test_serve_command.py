"""`dproof serve` and `dproof token` as a user runs them."""

import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dproof import InputError
from dproof.cli.serve import serve
from dproof.serve.custody import Record
from tests.serve.server import make_folder, send

DPROOF = str(Path(sys.executable).parent / "dproof")


def test_tokens_from_the_command_line(tmp_path, dproof):
    made = make_folder(tmp_path)
    told = dproof("token", tmp_path, "--analyst", "dan", "--table", "people", "--epsilon", "0.5", "--json").json
    assert made.tokens.holder(told["token"]).name == "dan"
    assert dproof("token", tmp_path, "--revoke", told["number"], "--json").json["token"] is None
    assert made.tokens.holder(told["token"]) is None
    listed = dproof("token", tmp_path).out
    assert "dan" in listed and "dproof_" not in listed
    for words, said in [
        (["--analyst", "dan"], "--analyst needs --table"),
        (["--analyst", "dan", "--table", "pay", "--epsilon", "1"], "there is no table 'pay'"),
        (["--custodian", "a", "--revoke", "1"], "one thing at a time"),
    ]:
        refused = dproof("token", tmp_path, *words)
        assert refused.code == 2 and said in refused.err


@pytest.mark.parametrize("words", [["--custodian", "--help"], ["--custodian", "-h"], ["--analyst", "--help"]])
def test_help_makes_no_token(tmp_path, dproof, words):
    told = dproof("token", tmp_path, *words)
    assert told.code == 0 and told.out.startswith("Usage: dproof token")
    assert list(tmp_path.iterdir()) == []


def test_a_token_is_told_where_others_can_look(tmp_path, dproof):
    (tmp_path / "tables").mkdir(0o755)
    tmp_path.chmod(0o755)
    assert "other people on this machine can look into tables/" in dproof("token", tmp_path).err
    tmp_path.chmod(0o700)
    assert dproof("token", tmp_path).err == ""


def test_a_token_of_the_command_line_comes_before_its_table_is_read(tmp_path, dproof):
    made = make_folder(tmp_path)
    (tmp_path / "tables" / "people.csv").write_text("sex,age\nf,40\nm,41,a third field\n")
    told = dproof("token", tmp_path, "--analyst", "dan", "--table", "people", "--epsilon", "0.5", "--json")
    assert told.code == 0 and made.tokens.holder(told.json["token"]).name == "dan"
    assert "line 3 has 3 fields" in told.err
    assert [one["to"] for one in Record(made.folder.record).latest(9)] == ["dan"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "needs TLS"),
        (["--certificate", "c.pem"], "go together"),
        (["--tick", "0"], "from 0.05 to 60"),
    ],
)
def test_what_is_not_safe_is_refused(tmp_path, dproof, words, said):
    refused = dproof("serve", tmp_path, *words)
    assert refused.code == 2 and said in refused.err


def test_what_cannot_be_started_is_told_before_it_is_announced(tmp_path, capfd):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            InputError, match=f"port {port} of 127.0.0.1 cannot be listened on: Address already in use;"
        ):
            serve.main([str(tmp_path), "--port", str(port)], standalone_mode=False)
    with pytest.raises(InputError, match="--certificate and --key cannot be used: No such file"):
        files = ["--certificate", str(tmp_path / "c.pem"), "--key", str(tmp_path / "k.pem")]
        serve.main([str(tmp_path), *files], standalone_mode=False)
    assert "serving" not in capfd.readouterr().err


def test_a_server_serves_until_it_is_told_to_end(tmp_path, dproof):
    made = make_folder(tmp_path)
    made.port = 8731
    (tmp_path / "tables" / "bad.parquet").write_bytes(b"PAR1 and nothing more")
    shutil.copy(tmp_path / "plans" / "people.toml", tmp_path / "plans" / "bad.toml")
    server = subprocess.Popen([DPROOF, "serve", str(tmp_path), "--port", "8731"], stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            try:
                told = send(made, "GET", "/api/tables", token=made.ann)
                break
            except OSError:
                time.sleep(0.1)
        assert told.json[0]["name"] == "people"
        assert "serving" in server.stderr.readline() and "'bad' is closed to analysts" in server.stderr.readline()
        second = dproof("serve", tmp_path, "--port", "8732")
        assert second.code == 2 and "another server" in second.err
        server.send_signal(signal.SIGINT)
        said = server.communicate(timeout=60)[1]
    finally:
        server.kill()
    assert "Traceback" not in said and said.endswith("dproof: interrupted; the server has ended\n"), said
