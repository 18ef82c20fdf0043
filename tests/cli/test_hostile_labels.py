"""Labels of a release that somebody else made: they are shown as they are, and do nothing where they are shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof.cli.output import advise
from dproof.questions.answer import FORMATS

LABELS = ["<img src=x onerror=alert(1)>", "![i](http://e/x)", "[l](javascript:x)", "a`b", "*b*", "_i_", "&lt;", "a|b"]
LABELS += ["~~s~~", "a\\", "\x1b]0;title\x07", "\x9b31m", "\u202eabc", "a\nb", "north_east", "5 * 3"]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "out"
    columns = {"<b>x</b>\x1b[8m": {"space": "categories", "values": LABELS}}
    rows = pa.table(dict.fromkeys(columns, LABELS * 20))
    dp.sanitise(rows, {"privacy": {"epsilon": 30}, "columns": columns}, folder)
    return folder


ASKED = 'SELECT "<b>x</b>\x1b[8m", count(*) AS "[n](http://e)" FROM release GROUP BY 1'


def test_no_label_is_markup_in_markdown(release: Path) -> None:
    text = FORMATS[".md"].write(dp.load(release).query(ASKED)).decode()
    assert not re.search(r"(?<!\\)[<`]|(?<!\\)\]\(|(?<!\\)\*(?=\S)|(?<!\\)~~|[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    head, _, *rows = text.splitlines()
    assert head == r"| \<b>x\</b>\\x1b[8m | [n\](http://e) |" and len(rows) >= len(LABELS)
    shown = [row.split(" | ")[0][2:] for row in rows]
    assert shown[2] == r"[l\](javascript:x)" and r"\_i\_" in shown and r"\&lt;" in shown and "north_east" in shown


def test_no_label_reaches_the_terminal_but_as_text(release: Path, dproof: Callable[..., Any]) -> None:
    told = dproof("query", release, ASKED)
    assert told.code == 0 and r"\x1b]0;title\x07" in told.out and r"\u202eabc" in told.out
    refused = dproof("query", release, 'SELECT "\x1b[31m" FROM release')
    assert refused.code == 2 and not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", told.out + refused.err)


def test_no_advice_reaches_the_terminal_but_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    advise("a column '\x1b[31mred\x9b' is\nodd")
    assert capsys.readouterr().err == "dproof: a column '\\x1b[31mred\\x9b' is odd\n"
