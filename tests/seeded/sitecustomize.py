"""First on PYTHONPATH, this gives a program the same random bytes in every run, named by `SEED_OF_THE_DOCS`.

So the commands of a page print the same, and none of them fails by chance.
"""

import hashlib
import itertools
import os
import sys

_name, _count = f"{os.environ['SEED_OF_THE_DOCS']} {sys.orig_argv[1:]}", itertools.count()


def _urandom(size: int) -> bytes:
    return hashlib.shake_256(f"{_name} {next(_count)}".encode()).digest(size)


os.urandom = _urandom
