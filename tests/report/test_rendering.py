"""Charts are rendered beside this process: a fork does not stop them, nor does an interrupt mix them up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dproof import Answer, Cell, DproofError, MissingExtra, plotting
from dproof.questions.answer import output_file


def chart(title: str) -> dict[str, Any]:
    return {"title": title, "data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x"}}}


def test_a_chart_is_svg_or_png() -> None:
    assert plotting.render_svg(chart("one")).startswith("<svg") and "one" in plotting.render_svg(chart("one"))
    assert plotting.render_png(chart("one")).startswith(b"\x89PNG")


def test_what_cannot_be_drawn_is_told_and_the_next_chart_is_drawn() -> None:
    with pytest.raises(DproofError, match="a chart cannot be drawn"):
        plotting.render_svg({"mark": "no such mark", "data": 3})
    assert "two" in plotting.render_svg(chart("two"))


def test_a_renderer_that_ended_is_told_and_the_next_chart_has_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    plotting.render_svg(chart("one"))
    assert plotting._renderer is not None
    plotting._renderer.kill()
    with monkeypatch.context() as unnoticed, pytest.raises(DproofError, match="it ended"):
        unnoticed.setattr(plotting._renderer, "poll", lambda: None)  # it ends after it was looked at
        plotting.render_svg(chart("three"))
    plotting._renderer.wait()
    assert "three" in plotting.render_svg(chart("three"))


def test_an_interrupted_chart_is_not_taken_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped, pytest.raises(KeyboardInterrupt):
        stopped.setattr(plotting.json, "loads", interrupted)
        plotting.render_svg(chart("four"))
    assert "five" in plotting.render_svg(chart("five"))


FORKED = """
import os, sys
from pathlib import Path
from dproof import plotting

chart = {"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x"}}}
folder = Path(sys.argv[1])
(folder / "parent").write_text(plotting.render_svg(chart))
for n in range(2):
    if os.fork() == 0:
        (folder / f"child-{n}").write_text(plotting.render_svg(chart))
        os._exit(0)
for n in range(2):
    assert os.wait()[1] == 0
(folder / "parent-again").write_text(plotting.render_svg(chart))
print("vl_convert" in sys.modules)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks")
def test_a_process_that_has_rendered_may_fork_and_render_again(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FORKED, tmp_path], capture_output=True, text=True, timeout=120, check=True
    )
    assert ran.stdout == "False\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["child-0", "child-1", "parent", "parent-again"]
    assert len({path.read_text() for path in tmp_path.iterdir()}) == 1


def test_without_the_extra_a_picture_is_refused_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plotting, "find_spec", lambda name: None)
    answer = Answer(("n",), [{"n": Cell(52.0, 40.0, 64.0, 6.0, 80)}])
    for draw in (answer.plot, lambda: output_file("answer.svg"), lambda: plotting.mean_chart([0, 1], [0, 1], [0], [1])):
        with pytest.raises(MissingExtra, match="needs altair and vl_convert: install dproof with the extra plot"):
            draw()
    assert output_file("answer.csv") == Path("answer.csv")
