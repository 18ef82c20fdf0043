"""Slow connections are cut, and they hold up nobody."""

import http.client
import socket
import ssl

import pytest

from tests.serve.certificates import write_certificate
from tests.serve.server import make_folder, serving

BODY = b'{"sql": "SELECT count(*) AS n FROM data", "epsilon": "0.1"}'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with serving(make_folder(tmp_path_factory.mktemp("served")), patience=1.0) as made:
        yield made


def head(made, length):
    lines = [
        "POST /api/tables/people/preview HTTP/1.1",
        f"Host: 127.0.0.1:{made.port}",
        f"Authorization: Bearer {made.ann}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def is_cut(connection):
    """Whether the server ends a connection, without a word."""
    try:
        return connection.recv(4096) == b""
    except ConnectionResetError:
        return True


def test_who_does_not_go_on_is_cut(made):
    whole = head(made, len(BODY))
    begun = [b"", whole[:40], whole + BODY[:10]]
    connections = [socket.create_connection(("127.0.0.1", made.port), 60) for _ in begun]
    for connection, sent in zip(connections, begun, strict=True):
        connection.sendall(sent)
    for connection in connections:
        assert is_cut(connection)
        connection.close()


def test_a_drop_now_and_then_is_no_going_on(made):
    whole = head(made, 50_000)
    with socket.create_connection(("127.0.0.1", made.port), 60) as connection:
        connection.settimeout(0.02)
        for n in range(10_000):
            try:
                connection.sendall(whole[n : n + 1] or b" ")
                assert connection.recv(1) == b""
                break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            raise AssertionError("it was never cut")


def test_the_next_request_of_a_connection_has_its_own_time(made):
    connection = http.client.HTTPConnection("127.0.0.1", made.port, timeout=60)
    for _ in range(2):
        headers = {"Authorization": f"Bearer {made.ann}", "Content-Type": "application/json"}
        connection.request("POST", "/api/tables/people/preview", BODY, headers)
        response = connection.getresponse()
        assert response.status == 200 and response.read()
    connection.sock.sendall(head(made, len(BODY))[:30])
    assert is_cut(connection.sock)
    connection.close()


def asked_health(made):
    return f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\n\r\n".encode()


def status_of(connection):
    """The status of a response, which is read to its end."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    response.read()
    return response.status


def test_half_a_request_behind_another_is_cut(made):
    """It is slow from its own first byte on, however it came: with the request before it, or drop by drop after it."""
    with socket.create_connection(("127.0.0.1", made.port), 60) as connection:
        connection.sendall(asked_health(made) + head(made, 50)[:30])
        assert status_of(connection) == 200
        connection.settimeout(0.02)
        for _ in range(10_000):
            try:
                connection.sendall(b"x")
                assert connection.recv(1) == b""
                break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            raise AssertionError("it was never cut")


def test_after_a_request_that_was_refused_unread_the_next_is_answered_and_may_be_slow_in_the_end(made):
    refused = f"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\nOrigin: http://evil.example\r\n"
    with socket.create_connection(("127.0.0.1", made.port), 60) as connection:
        for _ in range(3):
            connection.sendall(f"{refused}Content-Length: 7\r\n\r\ntoken=x".encode())
            assert status_of(connection) == 403
            connection.sendall(asked_health(made))
            assert status_of(connection) == 200
        connection.sendall(f"{refused}Content-Length: 700\r\n\r\ntoken=x".encode())
        assert status_of(connection) == 403
        assert is_cut(connection)  # its body never came to its end


def test_who_does_not_read_is_cut(made):
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(60)
        connection.connect(("127.0.0.1", made.port))
        wanted = f"GET /api/tables/people/dummy?rows=10000 HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\n"
        wanted += f"Authorization: Bearer {made.ann}\r\n\r\n"
        with pytest.raises(OSError):  # in the end the connection is no more
            for _ in range(100_000):
                connection.sendall(wanted.encode())


@pytest.fixture(scope="module")
def by_tls(tmp_path_factory):
    """A server by TLS, and how to shake hands with it."""
    root = tmp_path_factory.mktemp("tls")
    write_certificate(root, "localhost")
    context = ssl.create_default_context(cafile=root / "cert.pem")
    made = make_folder(tmp_path_factory.mktemp("served"))
    with serving(made, patience=5.0, pair=(root / "cert.pem", root / "key.pem")) as made:
        yield (
            made,
            lambda: context.wrap_socket(
                socket.create_connection(("127.0.0.1", made.port), 60), server_hostname="localhost"
            ),
        )


def health(made, connection):
    connection.sendall(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\nConnection: close\r\n\r\n".encode())
    return connection.recv(12)


def test_a_handshake_that_never_ends_is_cut(by_tls):
    made, _ = by_tls
    with socket.create_connection(("127.0.0.1", made.port), 30) as connection:
        assert is_cut(connection)


@pytest.mark.parametrize("state", ["in a handshake", "at its end"])
def test_places_are_taken_by_tls_too(by_tls, state):
    """A connection counts before its handshake is done, and until who was answered has closed it too."""
    made, shaken = by_tls
    held = []
    try:
        for _ in range(300):
            if state == "in a handshake":
                held.append(socket.create_connection(("127.0.0.1", made.port), 60))
            else:
                held.append(shaken())
                health(made, held[-1])
        with shaken() as connection:
            assert health(made, connection) == b"HTTP/1.1 200"
        first, held = held[0], held[1:]
        if state == "in a handshake":
            first.settimeout(3)
            assert is_cut(first)  # the one that took longest has made room already
        first.close()
    finally:
        for connection in held:
            connection.close()


def test_what_comes_with_the_handshake_is_read(by_tls):
    made, shaken = by_tls
    for _ in range(20):
        with shaken() as connection:
            assert health(made, connection) == b"HTTP/1.1 200"
