"""Charts rendered to SVG and PNG, in a process of their own.

The renderer is a JavaScript engine with threads, which do not survive a fork, and native code, which a signal cannot
stop. So it runs beside this process: started once, fed one chart at a time, gone when this process is. A forked child
starts its own.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

from dproof.errors import DproofError

# It warms up before it is asked, and ends with the pipe that it reads. A line in, a line out.
_WORK = """
import base64, json, sys
sys.path.append(sys.argv[1])
import vl_convert
vl_convert.vegalite_to_svg({"data": {"values": []}, "mark": "point"})
for line in sys.stdin:
    kind, spec = json.loads(line)
    try:
        made = vl_convert.vegalite_to_svg(spec) if kind == "svg" else vl_convert.vegalite_to_png(spec, scale=2)
    except ValueError as error:
        answer = {"error": str(error)}
    else:
        answer = {"made": made if kind == "svg" else base64.b64encode(made).decode()}
    print(json.dumps(answer), flush=True)
"""

_lock = threading.Lock()
_renderer: Popen[str] | None = None


def start() -> None:
    """Start the renderer, so that it warms up while there is other work to do."""
    with _lock:
        _started()


def svg(specification: dict[str, Any]) -> str:
    """A Vega-Lite chart as an SVG element."""
    return _rendered("svg", specification)


def png(specification: dict[str, Any]) -> bytes:
    """A Vega-Lite chart as a PNG picture, two dots for each point."""
    from base64 import b64decode

    return b64decode(_rendered("png", specification))


def _rendered(kind: str, specification: dict[str, Any]) -> str:
    with _lock:
        renderer = _started()
        assert renderer.stdin is not None and renderer.stdout is not None
        try:
            renderer.stdin.write(json.dumps([kind, specification]) + "\n")
            renderer.stdin.flush()
            answer = json.loads(renderer.stdout.readline() or '{"error": "it ended"}')
        except BrokenPipeError:
            answer = {"error": "it ended"}
        except BaseException:
            _stop()  # an answer to this would be taken for the next one
            raise
    if "error" in answer:
        raise DproofError(f"a chart cannot be drawn: the renderer says {answer['error']!r}")
    return str(answer["made"])


def _started() -> Popen[str]:
    global _renderer
    if _renderer is not None and _renderer.poll() is not None:
        _stop()
    if _renderer is None:
        found = find_spec("vl_convert")
        assert found is not None and found.origin is not None
        # Isolated: nothing of the user's is imported there. In a session of its own: an interrupt is for this process.
        command = [sys.executable, "-I", "-S", "-c", _WORK, str(Path(found.origin).parents[1])]
        _renderer = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, encoding="utf-8", start_new_session=True)
    return _renderer


@atexit.register
def _stop() -> None:
    global _renderer
    if _renderer is not None:
        _renderer.kill()
        _renderer.communicate()
        _renderer = None


def _forget() -> None:
    """The parent's renderer is not for a forked child."""
    global _renderer
    _renderer = None
    _lock.release()


if hasattr(os, "register_at_fork"):  # where processes fork: never while a chart is on its way
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_forget)
