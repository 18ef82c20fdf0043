"""A server under load, and the time that its answers take on neighbouring tables."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.commands import PLAN, ROWS
from benchmarks.measure import Line, Section

ANALYSTS = 4
SECONDS = 10
ASKS = 400
REQUESTS = 10_000
SQL = "SELECT hobby, count(*) AS n FROM data GROUP BY hobby"
_PORT = 8761


def run() -> Section:
    with tempfile.TemporaryDirectory() as name:
        usual = [f"{('Sports', 'Cars', 'Reading')[n % 3]},{n % 41}" for n in range(ROWS)]
        odd = [*usual[:-1], "a word,nothing"]
        times = asyncio.run(_asks({Path(name) / "usual": usual, Path(name) / "odd": odd}))
        found = asyncio.run(_loaded(Path(name) / "usual"))
    apart = _apart(*times)
    bound = 1.36 * (2 / ASKS) ** 0.5
    lines = [
        Line("previews, 200 a second, the slowest of a hundred", found["preview"], "ms"),
        Line("previews, each of another question, 50 a second, the slowest of a hundred", found["other"], "ms"),
        Line("repeated asks, 50 a second, the slowest of a hundred", found["ask"], "ms"),
        Line("processor time of a preview", found["preview processor"], "ms"),
        Line("processor time of a preview of another question", found["other processor"], "ms"),
        Line("processor time of a repeated ask", found["ask processor"], "ms"),
        Line(f"memory after {REQUESTS:,} requests, to that before", found["memory"], "times"),
        Line(f"times of {ASKS} asks on neighbouring tables, Kolmogorov and Smirnov's distance", apart, ""),
    ]
    ratios = (
        ("previews, 200 a second: slowest of a hundred, to 200 ms", found["preview"] / 200, "at most 1"),
        ("repeated asks, 50 a second: slowest of a hundred, to 200 ms", found["ask"] / 200, "at most 1"),
        ("processor time of a preview, to 4 ms", found["preview processor"] / 4, "at most 1"),
        ("memory after 10,000 requests to that before", found["memory"], "at most 1.2"),
        ("times on neighbours: distance to what chance alone gives in 95 of 100 runs", apart / bound, "at most 1"),
    )
    how = (
        f"`dproof serve` in a process of its own, a table of {ROWS:,} rows, {ANALYSTS} analysts over {ANALYSTS * 4} "
        "connections; requests leave at fixed times, whether the ones before are answered or not, and both processes "
        "share the machine. The time of an ask is that of a new question, with a tick of 50 ms."
    )
    return Section("The server", how, tuple(lines), ratios)


class _Served:
    """A folder behind a server, in a process of its own."""

    def __init__(self, root: Path, rows: list[str] | None, port: int = _PORT) -> None:
        if rows is not None:
            for part in ("tables", "plans"):
                (root / part).mkdir(parents=True)
            (root / "tables" / "people.csv").write_text("\n".join(["hobby,hours", *rows]) + "\n", "utf-8")
            (root / "plans" / "people.toml").write_text(_plan(), "utf-8")
        self.root, self.port = root, port
        run = [sys.executable, "-m", "dproof"]
        self.tokens = []
        for n in range(ANALYSTS if rows is not None else 2 * ANALYSTS):
            if rows is None and n < ANALYSTS:
                continue  # they were given before
            words = [*run, "token", str(root), "--analyst", f"a{n}", "--table", "people", "--epsilon", "20", "--json"]
            told = subprocess.run(words, capture_output=True, check=True).stdout
            self.tokens.append(json.loads(told)["token"])
        words = [*run, "serve", str(root), "--port", str(port), "--tick", "0.05"]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE)

    def memory(self) -> float:
        """Bytes that the server holds."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    def processor(self) -> float:
        """Milliseconds that the server has computed."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return 1000 * sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for _ in range(600):
            try:
                return await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.1)
        raise TimeoutError("the server does not answer")

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate()


def _plan() -> str:
    treated = PLAN.replace(
        'values = ["Sports", "Cars", "Reading"]', 'values = ["Sports", "Cars", "Reading"]\noutside = "category"'
    )
    return treated.replace("step = 1", "step = 1\nmissing = 20")


async def _send(stream: tuple[asyncio.StreamReader, asyncio.StreamWriter], way: str, body: dict, token: str) -> float:
    """How many milliseconds a request takes; it must succeed."""
    reader, writer = stream
    port = writer.get_extra_info("peername")[1]
    data = json.dumps(body).encode()
    head = (
        f"POST /api/tables/people/{way} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    start = time.perf_counter()
    writer.write(head.encode() + data)
    status = (await reader.readline()).split()[1]
    length = 0
    while (line := await reader.readline()) != b"\r\n":
        name, _, value = line.decode().partition(":")
        length = int(value) if name.lower() == "content-length" else length
    told = await reader.readexactly(length)
    assert status == b"200", told
    return 1000 * (time.perf_counter() - start)


async def _at_rate(
    served: _Served, way: str, bodies: Sequence[dict], each_second: float, count: int
) -> tuple[float, float]:
    """Milliseconds that requests take which leave at fixed times: of the slowest of a hundred, from when it should have
    left to its answer; and of the processor for each."""
    before = served.processor()
    streams = [await served.connect() for _ in range(4 * ANALYSTS)]
    start = time.perf_counter() + 0.1

    async def one(number: int) -> list[float]:
        taken = []
        for n in range(number, count, len(streams)):
            due = start + n / each_second
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            late = 1000 * (time.perf_counter() - due)
            taken.append(
                late + await _send(streams[number], way, bodies[n % len(bodies)], served.tokens[number % ANALYSTS])
            )
        return taken

    parts = await asyncio.gather(*(one(number) for number in range(len(streams))))
    for _, writer in streams:
        writer.close()
    taken = sorted(time for part in parts for time in part)
    return taken[int(0.99 * len(taken))], (served.processor() - before) / count


async def _loaded(root: Path) -> dict[str, float]:
    served = _Served(root, None)
    try:
        same = [{"sql": SQL, "epsilon": "0.5"}]
        other = [{"sql": SQL, "epsilon": f"{1 + n / 10_000}"} for n in range(50 * SECONDS)]
        await _at_rate(served, "preview", same, 50, 100)  # warm
        await _at_rate(served, "ask", same, 5, 16)
        found = {}
        for name, way, bodies, each_second in (
            ("preview", "preview", same, 200),
            ("other", "preview", other, 50),
            ("ask", "ask", same, 50),
        ):
            slowest, processor = await _at_rate(served, way, bodies, each_second, each_second * SECONDS)
            found |= {name: slowest, f"{name} processor": processor}
        before = served.memory()
        await _at_rate(served, "preview", same, 150, REQUESTS)
        return {**found, "memory": served.memory() / before}
    finally:
        served.stop()


async def _asks(tables: dict[Path, list[str]]) -> list[list[float]]:
    """How long new questions take on each table, in turns: what else the machine does falls on all alike."""
    servers = [_Served(root, rows, _PORT + n) for n, (root, rows) in enumerate(tables.items())]
    try:
        streams = [await served.connect() for served in servers]
        found: list[list[float]] = [[] for _ in servers]
        for n in range(ASKS):
            sql = f"SELECT count(*) AS n FROM data WHERE hours > {n % 40} AND hobby <> '{('Cars', 'Sports')[n % 2]}'"
            body = {"sql": sql, "epsilon": f"{0.05 + n / 5000:.4f}"}
            for place in sorted(range(len(servers)), reverse=bool(n % 2)):
                token = servers[place].tokens[n % ANALYSTS]
                found[place].append(await _send(streams[place], "ask", body, token))
        return found
    finally:
        for served in servers:
            served.stop()


def _apart(first: list[float], second: list[float]) -> float:
    """The largest difference between the shares of two samples up to any time."""
    times = sorted({*first, *second})
    shares = [[sum(one <= at for one in sample) / len(sample) for at in times] for sample in (first, second)]
    return max(abs(a - b) for a, b in zip(*shares, strict=True))
