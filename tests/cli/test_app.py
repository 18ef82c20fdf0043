"""The frame of the command line: commands, exit codes, errors, colours, pipes."""

import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

import dproof as dp
from dproof import DproofWarning, InputError, NotPrivate, OverBudget, meaning
from dproof.cli import app


def outside(*arguments, **environment):
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "dproof", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.parametrize("name", app.COMMANDS)
def test_no_option_takes_help_or_another_option_for_its_value(name):
    group = app.application()
    options = [one for one in app.load_command(name).params if isinstance(one, click.Option)]
    for option in (one for one in options if not one.is_flag):
        for word in ("--help", "-h"):
            told = CliRunner().invoke(group, [name, option.opts[-1], word])
            assert told.exit_code == 0 and told.output.startswith("Usage:"), option.opts
        refused = CliRunner().invoke(group, [name, "x", option.opts[-1], options[0].opts[-1]])
        assert refused.exit_code == 2 and "needs a value" in refused.output, option.opts


@pytest.mark.parametrize("name", app.COMMANDS)
def test_the_table_tells_the_truth(name):
    assert app.load_command(name).callback.__doc__.splitlines()[0] == app.COMMANDS[name]


def test_aliases_are_of_words_that_are_no_commands():
    assert not set(app.ALIASES) & set(app.COMMANDS)


def test_an_alias_runs_its_command_and_is_not_listed(dproof, monkeypatch):
    monkeypatch.setitem(app.ALIASES, "elucidate", "explain")
    assert dproof("elucidate", "--epsilon", "1", "--json").json["epsilon"] == 1
    assert "elucidate" not in dproof("--help").out


def test_help_lists_the_commands_and_loads_none():
    loaded = "import sys; from dproof.cli.app import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    loaded += "print(*[m for m in sys.modules if m.startswith('dproof.') or m in ('numpy', 'flint')])"
    ran = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert all(name in ran.stdout for name in app.COMMANDS)
    assert sorted(ran.stdout.splitlines()[-1].split()) == [
        "dproof.cli",
        "dproof.cli.app",
        "dproof.cli.output",
        "dproof.errors",
    ]


@pytest.mark.parametrize(
    ("line", "place", "offered"),
    [("dproof exp", 1, ["explain"]), ("dproof explain --eps", 2, ["--epsilon"])],
)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes_commands_and_their_options(shell, line, place, offered):
    ran = outside(COMP_WORDS=line, COMP_CWORD=str(place), _DPROOF_COMPLETE=f"{shell}_complete")
    said = [text.removeprefix("plain,") for text in ran.stdout.splitlines() if text != "plain"]
    assert ran.stderr == "" and said[:1] == offered


def test_version(dproof):
    assert dproof("--version") == (0, f"dproof {dp.__version__}\n", "")


@pytest.mark.parametrize("arguments", [["nonsense"], ["query"], ["explain", "--nonsense"], ["explain", "1", "2"]])
def test_wrong_usage_leaves_with_2(dproof, arguments):
    code, out, err = dproof(*arguments)
    assert (code, out) == (2, "") and "Usage: dproof" in err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InputError("no such\ncolumn"), 2, "dproof: no such column\n"),
        (NotPrivate("it leaks"), 1, "dproof: it leaks\n"),
        (OverBudget("nothing is left"), 1, "dproof: nothing is left\n"),
        (FileNotFoundError(2, "No such file or directory", "x.csv"), 2, "dproof: x.csv: No such file or directory\n"),
        (OSError("the disk is gone"), 2, "dproof: the disk is gone\n"),
    ],
)
def test_an_error_is_one_sentence_and_a_code(dproof, monkeypatch, error, code, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(meaning, "explain", fail)
    assert dproof("explain", "--epsilon", "1") == (code, "", message)


@pytest.mark.parametrize(
    ("error", "left", "code"),
    [
        (InputError("no such column"), 2, "input"),
        (dp.TooLarge("too many"), 2, "too-large"),
        (OverBudget("nothing is left"), 1, "over-budget"),
        (FileNotFoundError(2, "No such file or directory", "x.csv"), 2, "file"),
        (MemoryError(), 2, "too-large"),
        (RuntimeError("Zebra-4711 of a private row"), 2, "internal"),
    ],
)
def test_with_json_an_error_is_one_object_too(dproof, monkeypatch, error, left, code):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(meaning, "explain", fail)
    ran = dproof("explain", "--epsilon", "1", "--json")
    assert ran.code == left and list(ran.json) == ["code", "message", "hint"]
    assert ran.json["code"] == code and ran.json["hint"] and ran.err == f"dproof: {ran.json['message']}\n"
    assert "Zebra" not in ran.out


def test_with_json_wrong_usage_is_one_object_too(dproof):
    ran = dproof("explain", "--nonsense", "--json")
    assert (ran.code, ran.json["code"]) == (2, "usage")
    assert "--nonsense" in ran.json["message"] and ran.json["hint"] == "dproof explain --help lists what it takes"


def test_after_an_answer_no_second_object_is_printed(dproof, tmp_path):
    (tmp_path / "law.csv").write_text("0.6,0.4\n0.4,0.6\n")
    ran = dproof("certify", tmp_path / "law.csv", "--epsilon", 1, "--json", "--certificate", tmp_path / "no" / "x.json")
    assert ran.code == 2 and ran.json["private"] and ran.err.startswith("dproof: ")


def test_every_class_of_error_has_a_code_of_its_own():
    named = (getattr(dp, name) for name in dir(dp))
    kinds = [
        one for one in named if isinstance(one, type) and issubclass(one, dp.DproofError) and one is not dp.WrongKey
    ]
    assert len({one.code for one in kinds}) == len(kinds)


def test_a_warning_is_one_line(dproof, monkeypatch):
    import warnings

    def warn(*_, **__):
        warnings.warn("n·δ is not small", DproofWarning, stacklevel=2)
        raise InputError("end")

    monkeypatch.setattr(meaning, "explain", warn)
    before = warnings.showwarning
    assert dproof("explain", "--epsilon", "1").err == "dproof: warning: n·δ is not small\ndproof: end\n"
    assert warnings.showwarning is before


def test_no_colour_in_a_pipe():
    assert "\x1b" not in outside("explain", "--epsilon", "1").stdout


def test_colour_where_it_is_forced_and_none_with_no_color():
    assert "\x1b[1m" in outside("explain", "--epsilon", "1", FORCE_COLOR="1", NO_COLOR="").stdout
    quiet = outside("explain", "--epsilon", "9", FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "Take care" in quiet and "\x1b[1;33m" not in quiet


def test_a_terminal_without_greek_breaks_nothing():
    ran = outside("explain", "--epsilon", "1", PYTHONIOENCODING="ascii")
    assert (ran.returncode, ran.stderr) == (0, "") and "? = 1" in ran.stdout


@pytest.mark.parametrize("form", ["--json", "--stake=3"])
def test_a_reader_that_leaves_is_no_error(form):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "dproof", "explain", "--epsilon", "1", form]
    with os.fdopen(write, "wb") as broken:
        ran = subprocess.run(command, stdout=broken, stderr=subprocess.PIPE, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_fault_of_our_own_shows_neither_a_traceback_nor_its_text(dproof, monkeypatch):
    def fault(*_, **__):
        raise RuntimeError("Zebra-4711 of a private row")

    monkeypatch.setattr("dproof.cli.explain.Privacy", fault)
    code, out, err = dproof("explain", "--epsilon", "1")
    assert (code, out) == (2, "")
    assert "RuntimeError" in err and "Zebra" not in err and "Traceback" not in err and err.count("\n") == 1
