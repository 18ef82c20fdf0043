"""What the page for operators says, done: the unit, the container, the proxy, and backups that are restored."""

import contextlib
import http.client
import http.server
import json
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import dproof as dp
from tests.serve.certificates import write_certificate
from tests.serve.server import make_folder, send, serving

PAGE = (Path(__file__).parents[2] / "docs" / "serve" / "operators.md").read_text("utf-8")
DPROOF = str(Path(sys.executable).parent / "dproof")
QUESTION = {"sql": "SELECT count(*) AS n FROM data WHERE sex = 'f'", "epsilon": "0.1"}
NAME = "data.example.org"


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@contextlib.contextmanager
def command(words):
    """A server that a command of the page starts; it has announced itself."""
    server = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        while "serving" not in (line := server.stderr.readline()):
            assert line, "it ended"
        yield server
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)


def answered(trying):
    """What a request gets, once there is a server."""
    for _ in range(600):
        try:
            return trying()
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_understands_the_unit(tmp_path):
    unit = blocks("ini")[0].replace("/opt/dproof/bin/dproof", DPROOF).replace("/srv/dproof", str(tmp_path))
    (tmp_path / "dproof.service").write_text(unit)
    told = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / "dproof.service")], capture_output=True, text=True, check=False
    )
    about_it = [line for line in told.stderr.splitlines() if "dproof.service" in line]
    assert about_it == [] and told.returncode == 0, told.stderr


@pytest.mark.slow
def test_the_container_serves_by_tls(tmp_path):
    """Its command, with the paths of this machine in place of the container's."""
    (tmp_path / "srv").mkdir()
    made = make_folder(tmp_path / "srv")
    write_certificate(tmp_path, NAME)
    lines = blocks("dockerfile")[0].splitlines()
    words = json.loads(next(line for line in lines if line.startswith("CMD ")).removeprefix("CMD "))
    places = {"/opt/dproof/bin/dproof": DPROOF, "/srv/dproof": str(tmp_path / "srv"), "/run/tls": str(tmp_path)}
    for there, here in places.items():
        words = [word.replace(there, here) for word in words]
    port = free_port()
    trusting = ssl.create_default_context(cafile=tmp_path / "cert.pem")

    def asked():
        with socket.create_connection(("127.0.0.1", port), 60) as plain:
            connection = http.client.HTTPConnection(NAME, timeout=60)
            connection.sock = trusting.wrap_socket(plain, server_hostname=NAME)
            connection.request("GET", "/api/tables", headers={"Authorization": f"Bearer {made.ann}"})
            response = connection.getresponse()
            told = response.status, json.loads(response.read())
            connection.close()
            return told

    with command([*words, "--port", str(port)]):
        status, told = answered(asked)
    assert status == 200 and told[0]["name"] == "people"
    assert {"USER dproof", "EXPOSE 8722"} <= set(lines)


class Proxy(http.server.BaseHTTPRequestHandler):
    """What the lines for nginx say: Host passed on, HTTP/1.1, and headers that clients may have forged."""

    protocol_version = "HTTP/1.1"
    behind = 0

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection("127.0.0.1", self.behind, timeout=60)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        told = response.read()
        self.send_response_only(response.status)
        for name, value in response.getheaders():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(told)
        connection.close()

    do_GET = do_POST = forward

    def log_message(self, *_):
        pass


@pytest.mark.slow
def test_the_command_for_a_proxy_serves_by_its_name(tmp_path):
    made = make_folder(tmp_path)
    made.port = free_port()
    words = shlex.split(next(one for one in blocks("text") if one.startswith("dproof serve")))
    words = [DPROOF, *(str(made.root) if word == "/srv/dproof" else word for word in words[1:])]
    with command([*words, "--port", str(made.port)]):
        assert answered(lambda: send(made, "GET", "/api/tables", token=made.ann, Host=NAME)).status == 200
        assert send(made, "GET", "/api/tables", token=made.ann, Host="evil.example").status == 421


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    """A server behind a proxy; `port` is the proxy's."""
    with serving(make_folder(tmp_path_factory.mktemp("served")), names=[NAME], secure=True) as made:
        Proxy.behind = made.port
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
            made.port = proxy.server_address[1]
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            yield made
            proxy.shutdown()


def test_people_come_through_a_proxy_by_its_name(proxied):
    assert "proxy_set_header Host $host;" in PAGE
    here = {"Host": NAME, "Origin": f"https://{NAME}"}
    signed = send(proxied, "POST", "/sign-in", f"token={proxied.ann}".encode(), **here)
    assert signed.status == 303 and "Secure" in signed.headers["set-cookie"]
    told = send(proxied, "POST", "/api/tables/people/preview", QUESTION, proxied.ann, **here)
    assert told.status == 200
    for there in ({"Host": "evil.example"}, {"Host": NAME, "Origin": "https://evil.example"}):
        assert send(proxied, "POST", "/api/tables/people/preview", QUESTION, proxied.ann, **there).status in (403, 421)


def test_forwarded_headers_are_not_believed(proxied):
    forged = {"X-Forwarded-Host": NAME, "Forwarded": f"host={NAME};for=1.2.3.4", "X-Forwarded-For": "1.2.3.4"}
    assert send(proxied, "GET", "/api/tables", token=proxied.ann, Host="evil.example", **forged).status == 421
    guesses = [
        send(proxied, "GET", "/api/tables", token=f"dproof_{n}", Host=NAME, X_Forwarded_For=f"10.0.0.{n}").status
        for n in range(40)
    ]
    assert set(guesses) == {401, 429}  # whatever address is claimed
    assert send(proxied, "GET", "/api/tables", token=proxied.ann, Host=NAME).status == 200


def test_a_backup_of_a_running_server_is_restored_and_nothing_is_paid_twice(tmp_path):
    made = make_folder(tmp_path)
    place, copy = made.folder.ledger("people"), tmp_path / "people.db"

    def ask(**more):
        return send(made, "POST", "/api/tables/people/ask", {**QUESTION, **more}, made.ann).json

    with serving(made):
        first = ask()
        with (
            contextlib.closing(sqlite3.connect(place)) as running,
            contextlib.closing(sqlite3.connect(copy)) as backup,
        ):
            running.backup(backup)  # what `.backup` of the sqlite3 program does
        ask(epsilon="0.2")
    mark = dp.Ledger(place).mark
    for file in place.parent.glob("people.db*"):
        file.unlink()
    shutil.copy(copy, place)
    with pytest.raises(dp.VerificationFailed, match="older copy"):  # as `dproof budget --mark` says
        dp.Ledger(place, mark=mark)
    with serving(made):
        again = ask()
    assert again["rows"] == first["rows"] and again["budget"]["remaining"]["epsilon"] == 0.9
