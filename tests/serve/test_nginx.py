"""The lines for nginx on the page for operators, run by nginx itself where it is installed."""

import contextlib
import http.client
import re
import shutil
import ssl
import subprocess

import pytest

from tests.serve.certificates import write_certificate
from tests.serve.server import make_folder, serving
from tests.serve.test_operators import NAME, PAGE, answered, free_port

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


@contextlib.contextmanager
def proxied(folder, port, behind):
    """nginx with the lines of the page, but for the ports and the place of the certificate."""
    write_certificate(folder, NAME)
    lines = re.search(r"For nginx:\n\n```text\n(.*?)```", PAGE, re.DOTALL)[1]
    lines = lines.replace("listen 443", f"listen 127.0.0.1:{port}").replace("127.0.0.1:8722", f"127.0.0.1:{behind}")
    for ending, file in (("pem", "cert.pem"), ("key", "key.pem")):
        lines = lines.replace(f"/etc/ssl/{NAME}.{ending}", str(folder / file))
    kept = "".join(f"{kind}_temp_path {folder};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    logs = f"pid {folder}/pid;\nerror_log {folder}/errors;\ndaemon off;\nevents {{}}\n"
    (folder / "nginx.conf").write_text(f"{logs}http {{\naccess_log off;\n{kept}{lines}}}\n")
    run = subprocess.Popen([NGINX, "-e", str(folder / "errors"), "-c", str(folder / "nginx.conf")])
    try:
        yield
    finally:
        run.terminate()
        run.wait(60)


def test_people_reach_the_server_and_send_tables_through_nginx(tmp_path):
    (tmp_path / "served").mkdir()
    (tmp_path / "nginx").mkdir()
    made, port = make_folder(tmp_path / "served"), free_port()
    trusted = ssl.create_default_context()

    def asked(method, path, body=None):
        line = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=trusted)
        with contextlib.closing(line):
            line.request(method, path, body, {"Host": NAME, "Authorization": f"Bearer {made.carla}"})
            told = line.getresponse()
            return told.status, told.read()

    with serving(made, secure=True, names=[NAME]), proxied(tmp_path / "nginx", port, made.port):
        trusted.load_verify_locations(tmp_path / "nginx" / "cert.pem")
        trusted.check_hostname = False  # it is reached by its number here
        status, page = answered(lambda: asked("GET", "/tables/people"))
        assert status == 200 and b"Ask people" in page
        assert asked("PUT", "/api/files/sent.csv", b"sex\n" + b"f\n" * (1 << 20))[0] == 201
    assert (tmp_path / "served" / "tables" / "sent.csv").stat().st_size > 1 << 21
