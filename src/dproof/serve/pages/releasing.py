"""The pages of a release in the making: its progress, its report, and its download as one file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse

from dproof import FileError
from dproof.serve.folder import REPORT
from dproof.serve.pages import Sent, page
from dproof.serve.service import Custodian, Known, TheDesk

router = APIRouter(include_in_schema=False)
_PART = 1 << 20  # bytes that are read at a time
# The report has its style and pictures in itself, and runs nothing.
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"


@router.post("/plans/{name}/sanitise")
def sanitise(name: str, desk: TheDesk, who: Custodian, form: Sent) -> Response:
    release = form.get("release", "")
    job = desk.custody.sanitise(who, name, release)
    return RedirectResponse(f"/jobs/{job}?release={quote(release)}", 303)


@router.get("/jobs/{job}")
def progress(job: str, desk: TheDesk, who: Custodian, release: str = "") -> HTMLResponse:
    """How far the work is; a script looks again by itself."""
    found = desk.custody.job(job)
    return page("job.html", f"Sanitising {found['what']}", who, job=found, release=release)


@router.get("/releases/{name}/report")
def report(name: str, desk: TheDesk, who: Known) -> Response:
    file = desk.folder.release(name) / REPORT
    if not file.is_file():
        raise FileError(f"the release {name!r} has no report: `dproof report releases/{name}` writes one")
    return HTMLResponse(file.read_text("utf-8"), headers={"content-security-policy": _REPORT_POLICY})


@router.get("/releases/{name}/download")
def download(name: str, desk: TheDesk, who: Known) -> Response:
    folder = desk.folder.release(name).resolve()
    headers = {"content-disposition": f'attachment; filename="{name}.zip"'}
    return StreamingResponse(_packed(folder, name), media_type="application/zip", headers=headers)


class _ChunkSink(io.RawIOBase):
    """A file in memory that keeps what is written to it until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        return len(self._parts[-1])

    def taken(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken


def _packed(folder: Path, name: str) -> Iterator[bytes]:
    """A release as one file, part by part: it may be larger than the memory. What is large in it is packed already."""
    sink = _ChunkSink()
    with zipfile.ZipFile(sink, "w") as packed:
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or not path.resolve().is_relative_to(folder):  # a link could lead to a private table
                continue
            entry = zipfile.ZipInfo.from_file(path, f"{name}/{path.relative_to(folder)}", strict_timestamps=False)
            with path.open("rb") as source, packed.open(entry, "w") as target:
                while part := source.read(_PART):
                    target.write(part)
                    yield sink.taken()
    yield sink.taken()
