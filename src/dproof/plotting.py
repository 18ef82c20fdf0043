"""Charts for people's own files and notebooks, by Altair: their style, their files, and the process that renders them.

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
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dproof.errors import DproofError, MissingExtra

INK, ACCENT, BAND, WARM = "#1f2933", "#0b6e6e", "#d3e7e5", "#b4552d"


def altair() -> Any:
    """The library that makes charts, which is loaded for a chart and for nothing else."""
    check_drawing()
    import altair

    return altair


def check_drawing() -> None:
    """Refuse to draw where the libraries of the extra `plot` are missing; none is loaded for that."""
    missing = [name for name in ("altair", "vl_convert") if find_spec(name) is None]
    if missing:
        raise MissingExtra.of(f"a picture needs {' and '.join(missing)}", "plot")


def svg(chart: Any) -> str:
    """The chart as an SVG element, to stand inside a page."""
    return render_svg(styled(chart).to_dict(validate=False))


def styled(chart: Any) -> Any:
    """The house style: quiet axes, one accent."""
    font = "Helvetica, Arial, sans-serif"
    return (
        # A browser may have a wider font than the one that was measured: leave it some room. Dark ink needs a light
        # ground, also where a page or a viewer is dark.
        chart.configure(padding={"left": 24, "right": 24, "top": 5, "bottom": 5}, background="white")
        .configure_view(stroke=None)
        .configure_axis(
            labelFont=font,
            titleFont=font,
            labelColor=INK,
            titleColor=INK,
            grid=False,
            titleFontWeight=500,
            titlePadding=10,
        )
        .configure_legend(labelFont=font, titleFont=font)
        .configure_text(font=font)
        .configure_title(font=font, color=INK, anchor="start", fontWeight=600)
    )


def label_text(value: Any) -> str:
    """A label as a reader would write it."""
    if value is None:
        return "(missing)"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    if isinstance(value, dict):
        return ", ".join(map(label_text, value.values()))
    return str(value)


def label_texts(values: Iterable[Any]) -> list[str]:
    """`label_text` of each of several labels."""
    return [label_text(value) for value in values]


Numbers: TypeAlias = Sequence[float] | NDArray[np.float64]


def mean_chart(
    times: Numbers,
    estimate: Numbers,
    low: Numbers,
    high: Numbers,
    *,
    original: Numbers | None = None,
    title: str = "",
    value: str = "mean",
    at: str | None = None,
) -> Any:
    """A mean curve with its simultaneous band and, for a curator's own eyes, the original beside it."""
    alt = altair()
    colours = {"estimate": ACCENT, "band for the whole curve": BAND}
    line_name, band_name = colours
    if original is not None:
        colours["original"] = WARM
    rows = [
        {"t": float(t), "y": y, "low": float(a), "high": float(b), "line": line_name, "band": band_name}
        for t, y, a, b in zip(times, (None if y is None else float(y) for y in estimate), low, high, strict=True)
    ]
    base = alt.Chart({"values": rows}, title=title).encode(
        x=alt.X("t:Q", axis=alt.Axis(title=at, tickCount=12, labelSeparation=6), scale=alt.Scale(nice=False))
    )
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    legend = alt.Legend(
        title=None, orient="bottom", symbolType="stroke", symbolStrokeWidth=4, labelLimit=300, columnPadding=24
    )
    axis = alt.Y("low:Q", axis=alt.Axis(title=value, tickCount=6), scale=alt.Scale(zero=False))
    area = base.mark_area(opacity=1).encode(y=axis, y2="high:Q", color="band:N")
    line = base.mark_line(strokeWidth=2.5).encode(y="y:Q", color=alt.Color("line:N", scale=scale, legend=legend))
    chart = (area + line).properties(width=520, height=220)
    if original is None:
        return chart
    points = [{"t": float(t), "y": float(y), "other": "original"} for t, y in zip(times, original, strict=True)]
    other = alt.Chart({"values": points}).mark_line(strokeDash=[5, 3], strokeWidth=2)
    return chart + other.encode(x="t:Q", y="y:Q", color="other:N")


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


def render_svg(specification: dict[str, Any]) -> str:
    """A Vega-Lite chart as an SVG element."""
    return _rendered("svg", specification)


def render_png(specification: dict[str, Any]) -> bytes:
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
        check_drawing()
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
