"""Who is signed in at the page: a cookie names a session, and the token itself is not kept."""

from __future__ import annotations

import secrets
from collections import OrderedDict

from dproof.service.tokens import Holder

COOKIE = "dproof_session"
_MOST = 10_000  # sessions; the oldest ends first


class Sessions:
    """Names of sessions, and the number of the token of each. They end with the server, or with the token."""

    def __init__(self) -> None:
        self._numbers: OrderedDict[str, int] = OrderedDict()

    def begin(self, holder: Holder) -> str:
        name = secrets.token_urlsafe(32)
        self._numbers[name] = holder.number
        while len(self._numbers) > _MOST:
            self._numbers.popitem(last=False)
        return name

    def number(self, name: str | None) -> int | None:
        """The number of the token that began a session."""
        return self._numbers.get(name or "")

    def end(self, name: str | None) -> None:
        self._numbers.pop(name or "", None)
