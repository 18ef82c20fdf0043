"""Every block of code in README.md and docs/ is run, in a folder of its own, in the order of the page.

- `python`: run, or checked as a doctest where it has prompts; one namespace for the whole page.
- `console`: lines that start with `$ ` are commands; the lines under a command must appear in what it prints,
  spaces apart, except lines with `...`. A command that shows output may leave with 1, the answer no.
- `bash`: all lines are commands, and none may fail.
- Any other tag, such as `text`, is not run. `examples/` can be reached from every page.
"""

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import seed_coins
from dproof.cli.app import main

ROOT = Path(__file__).parent.parent
SEEDED = os.pathsep.join([str(ROOT / "tests" / "seeded"), *filter(None, [os.environ.get("PYTHONPATH")])])
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if page.exists()]
FENCE = re.compile(r"^(?P<indent> *)```(?P<tag>\w*).*?\n(?P<code>.*?)^(?P=indent)``` *$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    tag: str
    code: str
    line: int


def blocks(page):
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        code = re.sub(rf"^{found['indent']}", "", found["code"], flags=re.MULTILINE)
        yield Block(found["tag"], code, text.count("\n", 0, found.start("code")))


def run_python(block, page, names):
    if ">>>" in block.code:
        test = doctest.DocTestParser().get_doctest(block.code, names, page.name, str(page), block.line)
        said = []
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        doctest.DocTestRunner(optionflags=flags).run(test, out=said.append, clear_globs=False)
        assert not said, "".join(said)
        names.update(test.globs)
    else:
        exec(compile("\n" * block.line + block.code, str(page), "exec"), names)


class Ran(NamedTuple):
    returncode: int
    stdout: str


def run_command(command, folder, seed):
    """A command of dproof in this process, where its libraries are loaded already; anything else in a shell."""
    unquoted = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", command)
    if not re.fullmatch(r"dproof (?!serve|mcp)[^|&;<>$`*?~#]*", unquoted):
        return run_shell(command, folder, seed)
    words = shlex.split(command)
    seed_coins(f"{seed} {words}")
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with redirect_stdout(printed), redirect_stderr(printed), pytest.raises(SystemExit) as left:
        main(words[1:])
    return Ran(left.value.code or 0, printed.buffer.getvalue().decode())


def run_shell(command, folder, seed):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return subprocess.run(
        ["bash", "-ec", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "NO_COLOR": "1", "PYTHONPATH": SEEDED, "SEED_OF_THE_DOCS": f"{seed}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def run_console(block, folder):
    for number, entry in enumerate(re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]):
        command, shown = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", entry, re.DOTALL).groups()
        expected = [" ".join(line.split()) for line in shown.splitlines() if line.strip() and "..." not in line]
        ran = run_command(command, folder, f"{block.line} {number}")
        assert ran.returncode == 0 or (ran.returncode == 1 and expected), f"{command}\n{ran.stdout}"
        printed = "\n".join(" ".join(line.split()) for line in ran.stdout.splitlines())
        for line in expected:
            assert line in printed, f"{command}\nshould print: {line}\nprinted:\n{ran.stdout}"


def run_page(page, folder):
    names = {"__name__": "__main__"}
    if (ROOT / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    for block in blocks(page):
        if block.tag in ("python", "py"):
            run_python(block, page, names)
        elif block.tag == "console":
            run_console(block, folder)
        elif block.tag in ("bash", "sh"):
            lines = re.sub(r"\\\n *", "", block.code).splitlines()
            alone = all(line.startswith("dproof ") for line in lines)
            for number, command in enumerate(lines if alone else [block.code]):
                ran = run_command(command, folder, f"{block.line} {number}")
                assert ran.returncode == 0, f"{command}\n{ran.stdout}"


@pytest.mark.filterwarnings("default::dproof.DproofWarning")  # a page may show a design that one is warned of
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs(page, tmp_path, monkeypatch):
    from dproof.laws import LAWS
    from dproof.local.mechanisms import MECHANISMS
    from dproof.plans.reader import SPACES
    from dproof.questions.aggregates import AGGREGATES
    from dproof.questions.answer import FORMATS

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    tables = [SPACES, *MECHANISMS.values(), LAWS, AGGREGATES, FORMATS]
    known = [dict(table) for table in tables]
    try:
        run_page(page, tmp_path)
    finally:  # what a page adds, other tests do not know
        for table, before in zip(tables, known, strict=True):
            table.clear()
            table.update(before)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("```python\nx = 1\n```\ntext\n```python\nassert x == 1\n```\n", True),
        ("```python\nassert False\n```\n", False),
        ("```python\nx = 2\n```\n```python\n>>> x + 1\n3\n>>> y = 5\n```\n```python\nassert y == 5\n```\n", True),
        ("```python\n>>> 1 + 1\n3\n```\n", False),
        ("1. listed\n\n   ```python\n   for x in [1]:\n       assert x == 1\n   ```\n", True),
        ("```python\n__import__('pathlib').Path('f').write_text('hi')\n```\n```console\n$ cat f\nhi\n```\n", True),
        ("```console\n$ echo  one   two\none two\n$ echo three \\\n    four\nthree four\n```\n", True),
        ("```console\n$ echo one\ntwo\n```\n", False),
        ("```console\n$ echo one\ntwo ...\n```\n", True),
        ("```console\n$ echo no; exit 1\nno\n```\n", True),
        ("```console\n$ exit 1\n```\n", False),
        ("```console\n$ echo no; exit 2\nno\n```\n", False),
        ("```console\n$ dproof --version\ndproof 0...\n```\n", True),
        ("```console\n$ dproof --version\nanother\n```\n", False),
        ("```console\n$ dproof nonsense\n```\n", False),
        ("```bash\ndproof explain --epsilon 1 \\\n  --json\n```\n", True),
        ("```bash\ndproof --version\ndproof nonsense\n```\n", False),
        ("```bash\nfalse\ntrue\n```\n", False),
        ("```bash\ntrue\n```\n```text\nmake test\n```\n", True),
    ],
)
def test_the_runner_itself(text, holds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text)
    if holds:
        run_page(page, tmp_path)
    else:
        with pytest.raises(AssertionError):
            run_page(page, tmp_path)
