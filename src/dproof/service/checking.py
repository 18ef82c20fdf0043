"""Whether a table can be read to its end: found out by its custodian, before an analyst may ask it.

A line that cannot be read stops every question, and who pays for one would see that it is there. So the table is read
through first, and the state of its files at that time is kept. In any other state it is closed to analysts.

What they can see is that it opens, and when: that every row can be read, and how long that took. Where a custodian
looks at the table before giving a token, it is open by then, and they see neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from dproof.errors import InputError
from dproof.releases.inspection import Inspection
from dproof.service.apart import apart
from dproof.service.folder import Folder, write_whole
from dproof.service.reading import inspected


def check_table(folder: Folder, name: str) -> Inspection:
    """Read a table through and open it to analysts; refused, for its custodian, where a row cannot be read."""
    state = folder.state(name)  # before the reading: what changes meanwhile is not checked
    found = apart(inspected, folder.table(name), folder.plan(name))
    write_whole(folder.checked_file(name), json.dumps(state), "that the table is checked")
    return found


def is_checked(folder: Folder, name: str, state: Any) -> bool:
    """Whether a table is as it was when it was last checked."""
    try:
        return bool(json.loads(folder.checked_file(name).read_bytes()) == state)
    except (OSError, ValueError):
        return False


def check_new(folder: Folder, name: str) -> None:
    """Check a table, if it is not checked as it is now."""
    if not is_checked(folder, name, folder.state(name)):
        check_table(folder, name)


def check_all(folder: Folder, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Check tables where they are not checked as they are now; those that cannot be read, and why.

    It goes on with the others, whatever is wrong with one of them.
    """
    for name in names:
        try:
            check_new(folder, name)
        except InputError as error:
            yield name, str(error)
