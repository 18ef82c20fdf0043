"""A folder to serve, and a real server on a port of this machine."""

import http.client
import json
import socket
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import uvicorn

from dproof import Privacy
from dproof.curator import curator
from dproof.serve.app import application, hosts_of
from dproof.serve.connections import listening
from dproof.serve.custody import check_table
from dproof.serve.desk import Desk, give_budgets
from dproof.serve.folder import Folder
from dproof.serve.service import Settings
from dproof.serve.tokens import Tokens
from tests.makers import categories, plan_text

PLAN = plan_text(
    {
        "sex": categories("f", "m", outside="category"),
        "age": {"space": "interval", "low": 18, "high": 90, "missing": 40},
    },
    epsilon="2",
)


def make_folder(root, rows=None):
    """A folder with one table, `people`; a custodian and two analysts have tokens."""
    folder = Folder.open(root)
    lines = rows or [f"{'f' if n % 3 else 'm'},{18 + n % 70}" for n in range(500)]
    (root / "tables" / "people.csv").write_text("\n".join(["sex,age", *lines]) + "\n")
    (root / "plans" / "people.toml").write_text(PLAN)
    tokens = Tokens(folder.tokens)
    ann, _ = give_budgets(folder, tokens, "ann", {"people": Privacy(1)}, 90)
    bob, _ = give_budgets(folder, tokens, "bob", {"people": Privacy(1)}, 90)
    carla, _ = tokens.issue("carla", "custodian")
    check_table(folder, "people")
    return SimpleNamespace(folder=folder, tokens=tokens, ann=ann, bob=bob, carla=carla, root=root)


@contextmanager
def slow_reading(monkeypatch, requests, is_slow=lambda measurement: True):
    """While requests wait for a table that takes its time to be read; afterwards they have been answered."""
    reading, go_on, tally = threading.Event(), threading.Event(), curator.tally

    def slow(source, plan, measurement):
        if is_slow(measurement):
            reading.set()
            assert go_on.wait(60)
        return tally(source, plan, measurement)

    monkeypatch.setattr(curator, "tally", slow)
    threads = [threading.Thread(target=request) for request in requests]
    for thread in threads:
        thread.start()
    try:
        assert reading.wait(60)
        yield
    finally:
        go_on.set()
        for thread in threads:
            thread.join(60)


@contextmanager
def serving(made, **settings):
    """The folder behind a real server; `made.port` says where."""
    ready = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            ready.set()

    bound = socket.create_server(("127.0.0.1", 0))
    made.port = bound.getsockname()[1]
    hosts = hosts_of(["127.0.0.1"], made.port, settings.pop("names", ()))
    pair = settings.pop("pair", (None, None))  # a certificate and its key
    patience = settings.pop("patience", 60.0)
    made.desk = Desk(made.folder, made.tokens)
    app = application(made.desk, hosts, Settings(**{"tick": 0.05, **settings}))
    server = Server(listening(app, *pair, patience=patience))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield made
    finally:
        server.should_exit = True
        thread.join(60)


def send(made, method, path, body=None, token=None, **headers):
    """Status, headers and body of one request; a body is JSON unless it is bytes."""
    connection = http.client.HTTPConnection("127.0.0.1", made.port, timeout=60)
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, data, {"Content-Type": "application/json", **sent})
    response = connection.getresponse()
    told = response.read()
    connection.close()
    kind = response.getheader("content-type", "")
    return SimpleNamespace(
        status=response.status,
        headers=dict(response.getheaders()),
        raw=told,
        json=json.loads(told) if told and kind.startswith("application/json") else None,
    )
