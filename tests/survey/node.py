"""What the page's sampler does in Node, asked from Python."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import dproof

NODE = shutil.which("node")
EVERY_DRAW = Path(__file__).parent / "every_draw.js"
DRAW = Path(dproof.__file__).parent / "survey" / "draw.js"
needs_node = pytest.mark.skipif(NODE is None, reason="there is no Node")


def node(asked: Sequence[Mapping[str, Any]], source: Path = DRAW) -> dict[str, Any]:
    """What `every_draw.js` tells of each thing that is asked."""
    assert NODE is not None
    ran = subprocess.run(
        [NODE, str(EVERY_DRAW), str(source)], input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    return told
