"""The custodian's page, with the tables of the folder and who may ask them, and the progress of a release."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from dproof import DproofError
from dproof.errors import with_notes
from dproof.serve import api
from dproof.serve.bodies import TokenRequest
from dproof.serve.desk import Desk
from dproof.serve.pages import Link, Sent, address, checked, minute, page
from dproof.serve.service import Custodian, TheDesk
from dproof.serve.tokens import Holder

router = APIRouter(include_in_schema=False)
LINK = Link("/custody", "Plans and tokens", for_custodians=True)
_NEW = {"name": "", "epsilon": "0.5", "delta": "0", "days": "90"}
_MOST_SHOWN_DEEDS = 50  # of custodians, that are shown


@router.get("/custody")
def custody(desk: TheDesk, who: Custodian) -> HTMLResponse:
    return _custody_page(desk, who)


@router.post("/custody")
def changed(request: Request, desk: TheDesk, who: Custodian, form: Sent) -> HTMLResponse:
    """Give a token, or revoke one."""
    typed = {key: form.get(key, value) for key, value in _NEW.items()}
    shown: dict[str, Any] = {}
    try:
        if number := form.get("revoke", ""):
            api.revoke(_whole(number), desk, who)
            shown["revoked"] = number
        else:
            wanted = {**typed, "tables": form.getlist("tables"), "days": _whole(typed["days"])}
            shown["given"] = api.give(checked(TokenRequest, **wanted), desk, who)
            shown["address"] = address(request)
    except DproofError as error:
        shown |= {"typed": typed, "ticked": form.getlist("tables"), "error": desk.folder.hide(with_notes(error))}
    return _custody_page(desk, who, **shown)


@router.get("/jobs/{job}")
def progress(job: str, desk: TheDesk, who: Custodian, release: str = "") -> HTMLResponse:
    """The page of a job's progress; a script looks again by itself."""
    found = desk.custody.job(job)
    return page("job.html", f"Sanitising {found['what']}", who, job=found, release=release)


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else 0


def _custody_page(desk: Desk, who: Holder, error: str | None = None, **shown: Any) -> HTMLResponse:
    holders, deeds = desk.tokens.holders, desk.record.latest(_MOST_SHOWN_DEEDS)
    known = {
        "files": desk.custody.files(),
        "tables": {table["name"]: table for table in desk.tables(who)},
        "faults": desk.custody.faults,
        "misnamed": desk.folder.misnamed,
        "endings": api.ENDINGS,
        "holders": holders,
        "good": {holder.number for holder in holders if desk.tokens.is_good(holder)},
        "deeds": [(minute(deed["at"]), deed["who"] or "a command", _deed(deed)) for deed in reversed(deeds)],
    }
    new: dict[str, Any] = {"typed": _NEW, "ticked": [], "given": None, "revoked": None, "address": None}
    status = 200 if error is None else 400
    return page("custody.html", "Plans and tokens", who, status=status, error=error, **known, **{**new, **shown})


def _deed(deed: dict[str, Any]) -> str:
    about = [f"{key} {value}" for key, value in deed.items() if key not in ("number", "at", "who", "token", "did")]
    return ", ".join([str(deed["did"]), *about])
