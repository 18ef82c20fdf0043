"""Who is signed in at the page: a cookie names a session, and the token itself is not kept."""

from __future__ import annotations

import secrets

from dproof.service.tokens import Holder

COOKIE = "dproof_session"
_MOST = 20  # sessions of a token; its oldest ends first, and nobody else's


class Sessions:
    """Names of sessions, and the number of the token of each. They end with the server, or with the token."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def begin(self, holder: Holder) -> str:
        name = secrets.token_urlsafe(32)
        self._numbers[name] = holder.number
        begun = [one for one, number in self._numbers.items() if number == holder.number]
        for oldest in begun[:-_MOST]:
            del self._numbers[oldest]
        return name

    def number(self, name: str | None) -> int | None:
        """The number of the token that began a session."""
        return self._numbers.get(name or "")

    def end(self, name: str | None) -> None:
        self._numbers.pop(name or "", None)
