"""Forgeries: certificates that are changed and sealed again, as someone who knows the format would."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dproof.certification.verify_certificate import seal
from dproof.storage import CERTIFICATE, digest


def resealed(body: dict[str, Any]) -> dict[str, Any]:
    body = {key: value for key, value in body.items() if key != "seal"}
    return {**body, "seal": seal(body)}


def forge(folder: Path, change: Callable[[dict[str, Any]], object] = lambda body: None) -> None:
    """Put the hashes of the files as they are now into a release's certificate, change it, and seal it again."""
    file = folder / CERTIFICATE
    body = json.loads(file.read_text("utf-8"))
    body["release"]["files"] = {name: digest(folder / name) for name in body["release"]["files"]}
    change(body)
    file.write_text(json.dumps(resealed(body)), "utf-8")
