"""The command `dproof`: which commands there are, and what becomes of an error.

Exit codes: 0 done and it holds; 1 the answer is no; 2 bad input or usage; 130 interrupted. A user's mistake is one
sentence on stderr and never a traceback; with --json also an object with code, message and hint on stdout.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper
from math import inf
from pathlib import Path
from shutil import get_terminal_size
from time import monotonic
from traceback import extract_tb
from types import FrameType
from typing import Any

import click

from dproof import __version__
from dproof.cli.output import advise, emit
from dproof.errors import DproofError, DproofWarning, FileError, InputError, TooLarge, nearest

# A new command is one file with one function of its name, and one line here: the first line of the function's
# docstring. `dproof --help` shows them in this order, and loads none of them.
COMMANDS = {
    "demo": "Make up a survey, sanitise it in both models, and compare their answers with the truth.",
    "init": "Draft a plan from the names of a table's columns.",
    "plan": "Show which way to take, what to expect of it, and what a plan will do.",
    "check": "Count values that a plan does not cover: confidential.",
    "sanitise": "Sanitise a table once; then anyone may query it without limit.",
    "collect": "Make a survey page that sanitises answers on the respondent's device.",
    "tickets": "Make tickets, each good for one answer to a survey.",
    "adopt": "Make a release of answers that were sanitised elsewhere.",
    "query": "Query a release: debiased answers with intervals, at no cost.",
    "ask": "Ask the private table a question; the ledger is debited first.",
    "budget": "Show what was spent, for what, and what is left.",
    "verify": "Verify a release or a survey with its files, or a certificate.",
    "report": "Write the page that explains a release.",
    "certify": "Say exactly how private a mechanism is, with the worst case.",
    "design": "Find the mechanism of least error for a space, with proof.",
    "compose": "Say what several guarantees or mechanisms cost together.",
    "explain": "Say what a guarantee means for one person.",
    "serve": "Serve tables and releases over HTTP, for people with tokens.",
    "token": "Give, list and revoke the tokens of a server.",
    "mcp": "Let an assistant ask a server, by the Model Context Protocol.",
}
ALIASES = {"sanitize": "sanitise"}
# Commands that stand in the file of another.
_TOGETHER = {
    "adopt": "collect",
    "check": "init",
    "report": "verify",
    "tickets": "collect",
    "token": "serve",
    "mcp": "serve",
}
_SIGNAL_DELAY = 0.01  # seconds until a signal is looked at again
_WIDEST_HELP = 100  # columns that help takes, however wide the terminal is


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code; without arguments, those of this process, which ends with it."""
    code: list[int] = []
    if arguments is None:
        atexit.register(_end, code)  # what is registered first runs last
    try:
        _run(list(sys.argv[1:] if arguments is None else arguments))
    except SystemExit as left:
        code += [left.code or 0] if isinstance(left.code, int | None) else []
        raise


def _end(code: Sequence[int]) -> None:
    """End the process at once: to take a hundred loaded modules apart would be a fifth of a short command's time.

    Whatever is to be closed is closed by then. Where the command did not end by an exit code, where the last output
    cannot be written, or where a profiler or debugger is watching, Python ends the process as usual.
    """
    if code and sys.getprofile() is None and sys.gettrace() is None:
        with suppress(OSError, ValueError):
            for stream in filter(None, (sys.stdout, sys.stderr)):  # a shell can close either
                stream.flush()
            os._exit(code[0])


def _run(words: list[str]) -> None:
    """Run one command; whatever stops it is told in one sentence."""
    # A terminal that cannot show ε shows a question mark, and nothing breaks.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Imports leave hardly any garbage, and to look for it again and again would be a tenth of a short command's time.
    gc.set_threshold(200_000, 20, 20)
    signals: list[int] = []
    printed: list[str] = []  # the answer, by `emit`: after it no error is printed to stdout
    try:
        with _noting(signals), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.simplefilter("always", DproofWarning)  # told as a line, whatever the environment makes of warnings
            left = application().main(words, "dproof", standalone_mode=False, obj=printed)
    except BaseException as error:
        if isinstance(error, SystemExit) and not signals:
            raise
        problem, left = _problem(error, signals)
        # With what the command noted on it, such as what is paid for already.
        problem["message"] = "; ".join([problem["message"], *getattr(error, "__notes__", ())])
        if "--json" in words and not printed:
            emit(problem, True, list)
        if isinstance(error, click.ClickException) and not signals:
            error.show()
        else:
            advise(problem["message"])
    sys.exit(left or 0)


def _problem(error: BaseException, signals: Sequence[int]) -> tuple[dict[str, str], int]:
    """The error as `--json` prints it, a short code, one sentence and where to read on; and the exit code."""
    if signals or isinstance(error, click.Abort):  # whatever native code has made of it
        message = "interrupted" if hasattr(error, "__notes__") else "interrupted; nothing was written"
        told, left = ("interrupted", message, "run the command again"), 128 + (signals or [signal.SIGINT])[0]
    elif isinstance(error, DproofError):
        told, left = (error.code, str(error), error.hint), 2 if isinstance(error, InputError) else 1
    elif isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        hint = f"{'dproof' if context is None else context.command_path} --help lists what it takes"
        told, left = ("usage", error.format_message(), hint), error.exit_code
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        told, left = (FileError.code, f"{where}{error.strerror or error}", FileError.hint), 2
    elif isinstance(error, MemoryError):
        message = "there is not enough memory for this: make the problem smaller, or use a machine with more memory"
        told, left = (TooLarge.code, message, TooLarge.hint), 2
    else:
        # Whatever this is, its text might quote the data: it is told by its kind and place alone.
        place = extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__} at {Path(place.filename).name}, line {place.lineno}"
        message = f"an error in dproof itself, not in your input: {what}; please report it with the command"
        told, left = ("internal", message, "report it with the command and the version of dproof"), 2
    return dict(zip(("code", "message", "hint"), told, strict=True)), left


class _StopSignal(BaseException):
    """A signal asks the command to stop. It is no KeyboardInterrupt, which click would answer for itself."""


@contextmanager
def _noting(signals: list[int]) -> Iterator[None]:
    """Let Ctrl-C, or a request to end, stop the command by an exception, and note the signal.

    A second one within a second is the same impatience: it does not stop what cleans up.
    """
    at = -inf

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal at
        now = monotonic()
        if _is_importing(frame):
            threading.Timer(_SIGNAL_DELAY, signal.raise_signal, [number]).start()
        elif now - at > 1:
            at = now
            signals.append(number)
            raise _StopSignal

    here = threading.current_thread() is threading.main_thread()  # no other thread may say what a signal does
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM) if here}
    before = {n: how for n, how in before.items() if how not in (None, signal.SIG_IGN)}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, how in before.items():
            signal.signal(number, how)


def _is_importing(frame: FrameType | None) -> bool:
    """Whether the command is loading a module: native code that meets an exception there would end the process."""
    while frame is not None and frame.f_code is not _run.__code__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class Commands(click.Group):
    """The commands in the order of the table: each is loaded when it is run, and help and completion load none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *ALIASES]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        return click.Command(cmd_name, short_help=COMMANDS[name], hidden=cmd_name != name) if name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and args[0] not in ALIASES and not args[0].startswith("-"):
            meant = nearest(args[0], COMMANDS)
            ctx.fail(f"No such command {args[0]!r}{f'; did you mean {meant!r}?' if meant else '.'}")
        word, command, rest = super().resolve_command(ctx, args)
        return word, None if command is None else load_command(ALIASES.get(str(word), str(word))), rest


def load_command(name: str) -> click.Command:
    """The command of a name in the table, from its module."""
    command: click.Command = getattr(import_module(f"dproof.cli.{_TOGETHER.get(name, name)}"), name)
    return command


def application() -> click.Group:
    """The application, whose help is as wide as the terminal and no wider than can be read."""

    def show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted:
            print(f"dproof {__version__}")
            context.exit()

    version = click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show_version,
        help="Show the version and exit.",
    )
    return Commands(
        "dproof",
        help="Publish statistics about people without exposing anyone: differential privacy, with a proof.",
        epilog="Begin with `dproof init DATA --ask`, which asks what it needs and ends with a plan and the commands to "
        "run next; `dproof demo` shows all of it on people who do not exist.",
        params=[version],
        context_settings={
            "help_option_names": ["-h", "--help"],
            "show_default": True,
            "terminal_width": min(get_terminal_size().columns, _WIDEST_HELP) - 2,
        },
    )


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    advise(f"warning: {message}")
