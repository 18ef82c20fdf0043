"""A server as Python sees it: the same methods as `Curator` and `Release`, over HTTP."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from dproof import Answer, ArgumentError, Cell, DproofError, InputError, errors

_KINDS: dict[str, type[DproofError]] = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DproofError)
}
_FIELDS = {"estimate", "low", "high", "stderr", "raw"}


class _NoRedirects(HTTPRedirectHandler):
    """A token goes to the server that it is for, and no further."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Connection:
    """A server, and the token to come with."""

    url: str
    token: str = field(repr=False)

    def tables(self) -> list[dict[str, Any]]:
        """The tables that may be asked, with what is public about each."""
        return list(self.call("GET", "/api/tables"))

    def releases(self) -> list[dict[str, Any]]:
        """The releases that may be queried."""
        return list(self.call("GET", "/api/releases"))

    def table(self, name: str) -> RemoteTable:
        """A private table, asked as a `Curator` is."""
        return RemoteTable(self, f"/api/tables/{quote(name, safe='')}")

    def release(self, name: str) -> RemoteRelease:
        """A release, asked as a `Release` is."""
        return RemoteRelease(self, f"/api/releases/{quote(name, safe='')}")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """One request; what the server refuses is raised in its own words."""
        data = None if body is None else json.dumps(body, default=str).encode()  # a fraction goes as an exact text
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = Request(self.url + path, data, headers, method=method)
        # Without TLS a proxy would see the token, and the server is on this machine.
        ways = [_NoRedirects(), *([] if self.url.startswith("https:") else [ProxyHandler({})])]
        try:
            with build_opener(*ways).open(request, timeout=600) as response:
                return json.loads(response.read())
        except HTTPError as error:
            raise refusal(error.code, error.read()) from None
        except (URLError, OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise InputError(f"{self.url} cannot be asked: {reason}") from None


@dataclass(frozen=True, slots=True)
class RemoteTable:
    """A private table behind a server."""

    connection: Connection
    path: str

    def describe(self) -> dict[str, Any]:
        """All that is public about it."""
        return dict(self.connection.call("GET", self.path))

    def preview(self, sql: str, **terms: Any) -> dict[str, Any]:
        """Preview the cost of a question and the accuracy of its answer: free."""
        return dict(self.connection.call("POST", f"{self.path}/preview", {"sql": sql, **terms}))

    def ask(self, sql: str, **terms: Any) -> Answer:
        """Answer a question at the price ε (and δ), or at the least price for an accuracy; it is paid for first."""
        return _told_answer(self.connection.call("POST", f"{self.path}/ask", {"sql": sql, **terms}))

    def remaining(self) -> dict[str, Any]:
        """The budget that is left, as numbers and in words."""
        return dict(self.connection.call("GET", f"{self.path}/budget"))

    def history(self, before: int | None = None, most: int = 100) -> list[dict[str, Any]]:
        """The questions asked with this token: the latest, or those before the entry of a number."""
        earlier = "" if before is None else f"&before={_whole(before, 'before', 0)}"
        return list(self.connection.call("GET", f"{self.path}/history?most={_whole(most, 'most', 1)}{earlier}"))

    def dummy(self, rows: int = 100) -> list[dict[str, Any]]:
        """Made-up rows, to try things on."""
        return list(self.connection.call("GET", f"{self.path}/dummy?rows={_whole(rows, 'rows', 1)}")["rows"])


@dataclass(frozen=True, slots=True)
class RemoteRelease:
    """A release behind a server."""

    connection: Connection
    path: str

    def describe(self) -> dict[str, Any]:
        """Model, columns, promise and seal of the release."""
        return dict(self.connection.call("GET", self.path))

    def query(self, sql: str, **options: Any) -> Answer:
        """Debiased answers with intervals, at no cost."""
        return _told_answer(self.connection.call("POST", f"{self.path}/query", {"sql": sql, **options}))


def refusal(status: int, body: bytes) -> DproofError:
    """The error of a refused request, in the server's words, and of the class that a curator or a release raises."""
    try:
        told = json.loads(body)
        return _KINDS.get(told.get("code"), InputError)(str(told["error"]))
    except (ValueError, LookupError, TypeError, AttributeError):
        return InputError(f"the server answered {status}")


def connect(url: str, token: str) -> Connection:
    """Come to a `dproof serve` with a token; a token goes over TLS, or stays on this machine.

    `url` is where the server is, and `token` what its custodian handed out.
    """
    if not isinstance(url, str) or not isinstance(token, str):
        raise ArgumentError("url must be the address that the server printed, and token a text")
    text = token.strip()  # it may come from a file, with the end of its line
    if not (text.isascii() and text.isprintable()):
        raise ArgumentError("token is none that a server gave: it has letters, digits, _ and -")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ArgumentError(f"url is no address: {error}") from None
    near = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme not in ("http", "https") or not parts.hostname or (parts.scheme == "http" and not near):
        raise ArgumentError("url must begin with https://, or with http:// for a server on this machine")
    return Connection(f"{parts.scheme}://{parts.netloc}", text)


def _whole(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ArgumentError(f"{name} must be a whole number of at least {least}")
    return value


def _told_answer(told: dict[str, Any]) -> Answer:
    rows = [{name: _told_value(value) for name, value in row.items()} for row in told["rows"]]
    return Answer(tuple(told["columns"]), rows, told["level"], tuple(told["notes"]), told["method"])


def _told_value(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() >= _FIELDS:
        return Cell(**{key: value[key] for key in (*_FIELDS, "informative") if key in value})
    return value
