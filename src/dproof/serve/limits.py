"""The limits that a request meets at the server; `tests/serve/test_limit_matrix.py` names the test of each of them."""

from __future__ import annotations

from types import SimpleNamespace

from dproof.limits import LONGEST_QUESTION as LONGEST_QUESTION  # as without a server
from dproof.limits import MOST_EXPECTED_ROWS as MOST_EXPECTED_ROWS

# What a request may bring
LARGEST_BODY = 1 << 16  # bytes
LARGEST_PLAN = 1 << 20  # bytes of a body with a plan in it
LARGEST_UPLOAD = 1 << 30  # bytes of a table
LONGEST_NAME = 64  # characters of the name of a table, a release or a person
MOST_FIELDS = 20_000  # of a form
MOST_TOKEN_DAYS = 3650

# What is shown or told at once
MOST_DUMMY_ROWS = 10_000
MOST_ENTRIES = 1000  # of a history or of the record, in one answer
MOST_SHOWN = 500  # rows of a table, columns of a form, names in a list to choose from
MOST_SHOWN_HISTORY = 50  # questions on a page
LONGEST_SHOWN_TEXT = 100_000  # characters of a plan on a page

# How much at once
MOST_CONNECTIONS = 256
PATIENCE = 10.0  # seconds for a request, and that a response may lie unread
SLOWEST = 1 << 16  # bytes a second: a longer request may take that much longer
MOST_UNDER_WAY = 32  # requests of a token that are worked on or wait, and calls of tools
MOST_WORKERS = 2  # of these that are worked on at once and read no table: some take much memory
MOST_READERS = 4  # questions that read a table at once
MOST_TOOL_THREADS = 4  # calls of tools of a token; each waits in a thread of its own for what it asks the server
MOST_SESSIONS = 20  # of a token; its oldest ends first, and nobody else's
REQUESTS_PER_SECOND = 100.0  # of a token
REQUESTS_AT_ONCE = 200
GUESSES_PER_SECOND = 1.0  # of unknown tokens, from an address
GUESSES_AT_ONCE = 20
ANSWERS_PER_SECOND = 20.0  # to surveys, from an address, which a whole campus or a proxy may have
ANSWERS_AT_ONCE = 200

# What is remembered
MOST_RATES = 10_000  # keys whose rate is known; the one not seen for longest is forgotten
MOST_OPEN = 64  # tables, ledgers, releases, headers, and what drafts of plans give
MOST_PREVIEWS = 512
MOST_JOBS = 100  # whose end is known

SHOWN = SimpleNamespace(  # what templates need of these
    days=MOST_TOKEN_DAYS,
    name=LONGEST_NAME,
    dummy_rows=MOST_DUMMY_ROWS,
    shown=MOST_SHOWN,
    text=LONGEST_SHOWN_TEXT,
    upload=LARGEST_UPLOAD,
)
