"""Surveys: their pages, and what these send. Whoever has the address may answer; nobody needs a token.

surveys/NAME/        folders that `dproof collect` made
answers/NAME.db      what came in, for `dproof adopt answers/NAME.db --plan surveys/NAME`

A page may lie elsewhere, so answers are taken from any site: they carry no cookie, and tell nothing that was not drawn.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from dproof import Inbox
from dproof.serve import limits
from dproof.serve.folder import Folder, StateCache, checked_name, state_of
from dproof.serve.service import Rate, Settings, TheDesk

PREFIX = "/collect/"
_SURVEYS, _ANSWERS = "surveys", "answers"
# The page has a policy of its own, stricter than that of the others; what a page cannot say itself is said here.
_HEADERS = {"content-security-policy": "frame-ancestors 'none'", "referrer-policy": "no-referrer"}


class Inboxes:
    """The surveys of a folder that are open."""

    def __init__(self, folder: Folder) -> None:
        self._folder, self._open = folder, StateCache[str, Inbox](limits.MOST_OPEN)

    def get(self, name: str) -> Inbox:
        survey = self._folder.root / _SURVEYS / checked_name(name, "survey")
        if not survey.is_dir():
            raise HTTPException(404, "there is no such survey")
        return self._open.get(name, state_of(survey), partial(self._opened, name, survey))

    def _opened(self, name: str, survey: Any) -> Inbox:
        answers = self._folder.root / _ANSWERS
        answers.mkdir(0o700, exist_ok=True)
        return Inbox(survey, answers / f"{name}.db")


def collect_router(folder: Folder, settings: Settings) -> APIRouter:
    """The addresses of a folder's surveys."""
    router, inboxes = APIRouter(prefix=PREFIX.rstrip("/"), include_in_schema=False), Inboxes(folder)
    rate = Rate(limits.ANSWERS_PER_SECOND, limits.ANSWERS_AT_ONCE, settings.clock)  # for each address, in memory

    @router.get("/{name}")
    def page(name: str, _: TheDesk) -> Response:
        """The page of a survey."""
        return Response(inboxes.get(name).page, media_type="text/html", headers=_HEADERS)

    @router.post("/{name}", status_code=204)
    async def receive(name: str, request: Request) -> Response:
        """Keep an answer."""
        if not rate.allows(request.client.host if request.client else ""):
            raise HTTPException(429, "too many answers from one place: wait a moment")
        line = await request.body()
        inbox = await run_in_threadpool(inboxes.get, name)
        await run_in_threadpool(inbox.receive, line)
        return Response(status_code=204, headers={"access-control-allow-origin": "*"})

    return router
