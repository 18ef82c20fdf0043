"""The file that a picture is written to: checked before anything is asked, paid for or drawn."""

from __future__ import annotations

import os
from pathlib import Path

from dproof.errors import InputError

KINDS = (".svg", ".png", ".html")


def picture_file(path: str | os.PathLike[str]) -> Path:
    """The path of a picture whose ending is known and whose folder is there.

    >>> picture_file("answer.gif")
    Traceback (most recent call last):
    dproof.errors.InputError: a picture is written to a file that ends in .svg, .png or .html, not 'answer.gif'
    """
    file = Path(path)
    if file.suffix.lower() not in KINDS:
        raise InputError(f"a picture is written to a file that ends in .svg, .png or .html, not {file.name!r}")
    if not file.absolute().parent.is_dir():
        raise InputError(f"the folder {str(file.absolute().parent)!r} is not there: make it first")
    return file
