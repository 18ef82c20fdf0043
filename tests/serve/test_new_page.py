"""A page of the server is two files: those of docs/extending.md, put into a copy of the source, are served."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]
SECTION = (
    (TOP / "docs" / "extending.md").read_text("utf-8").partition("## A page of the server")[2].partition("\n## ")[0]
)
SERVING = """
import sys
from pathlib import Path
from tests.serve.server import make_folder, send, serving

with serving(make_folder(Path(sys.argv[1]))) as made:
    print(send(made, "GET", "/overview", token=made.ann).raw.decode())
    print(send(made, "GET", "/", token=made.ann).raw.decode())
    print(send(made, "GET", "/overview").headers["location"])
"""


def block(kind):
    return re.search(rf"^```{kind}\n(.*?)^```", SECTION, flags=re.MULTILINE | re.DOTALL)[1]


def test_two_files_are_a_page(tmp_path):
    shutil.copytree(TOP / "src" / "dproof", tmp_path / "dproof", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "dproof" / "serve" / "pages" / "overview.py").write_text(block("python"))
    (tmp_path / "dproof" / "serve" / "templates" / "overview.html").write_text(block("html"))
    (tmp_path / "served").mkdir()
    command = [sys.executable, "-c", SERVING, str(tmp_path / "served")]
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PYTHONPATH": f"{tmp_path}:{TOP}"}, cwd=tmp_path
    )
    assert found.returncode == 0, found.stderr
    shown, home = found.stdout.split("</html>")[:2]
    assert '<th scope="row">people</th><td>sex, age</td>' in shown and "What you may ask" in shown
    assert all('<a href="/overview">Overview</a>' in page for page in (shown, home))
    assert found.stdout.rstrip().endswith("/sign-in")
