"""What a command prints: one JSON object, or a page for a person; advice goes to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType


def emit(answer: Mapping[str, Any], as_json: bool, human: Callable[[], Iterable[RenderableType]]) -> None:
    """Print the answer as JSON, or the page that `human()` makes of it, from renderables and markup of rich.

    Colours appear on a terminal only, and not where NO_COLOR is set. Text from outside, such as a label or
    the name of a file, needs `rich.markup.escape`.

    >>> emit({"private": True}, True, human=list)
    {
      "private": true
    }
    """
    _write(json.dumps(answer, indent=2, allow_nan=False) + "\n" if as_json else _page(human()))


def emit_text(answer: Mapping[str, Any], as_json: bool, text: object) -> None:
    """Print the answer as JSON, or a text as it is, whatever the width of the terminal."""
    _write(json.dumps(answer, indent=2, allow_nan=False) + "\n" if as_json else f"{text}\n")


def advise(message: str) -> None:
    """Say something beside the answer, on stderr."""
    print(f"dproof: {message}", file=sys.stderr)


def _page(parts: Iterable[RenderableType]) -> str:
    from rich.console import Console

    console = Console(highlight=False)
    with console.capture() as page:
        for part in parts:
            console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in page.get().splitlines())


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough; the command still ends with the code of its answer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
