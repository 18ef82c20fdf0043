"""The custodian's page: the tables of the folder, and who may ask them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool

from dproof.errors import DproofError
from dproof.serve import api
from dproof.serve.api import ENDINGS
from dproof.serve.bodies import TokenRequest
from dproof.serve.desk import Desk
from dproof.serve.pages.forms import Fields, checked, refusal
from dproof.serve.pages.layout import address, copied, field, folded, link, listed, minute, page, said, table, ticked
from dproof.serve.pages.markup import Markup, joined, tag
from dproof.serve.pages.texts import TEXTS, budget_left
from dproof.serve.service import Custodian, TheDesk
from dproof.serve.tokens import Holder

router = APIRouter(include_in_schema=False)
_NEW = {"name": "", "epsilon": "0.5", "delta": "0", "days": "90"}


@router.get("/custody")
async def custody(desk: TheDesk, who: Custodian) -> HTMLResponse:
    return page("Plans and tokens", await run_in_threadpool(_custody, desk, who, _NEW), who)


@router.post("/custody")
async def given(request: Request, desk: TheDesk, who: Custodian) -> HTMLResponse:
    """Give a token, or revoke one."""
    form = await Fields.of(request)
    typed = {key: form.text(key, value) for key, value in _NEW.items()}
    tables, told, error = form.all("tables"), None, None
    try:
        if number := form.text("revoke"):
            await api.revoke(_whole(number), desk, who)
            told, typed = tag("p", TEXTS["revoked"].format(number)), _NEW
            told = joined(told, copied(f"dproof token . --revoke {number}", TEXTS["in_folder"]))
        else:
            wanted = checked(TokenRequest, **{**typed, "tables": tables, "days": _whole(typed["days"])})
            told = _shown_once(await api.give(wanted, desk, who), request)
            typed, tables = _NEW, []
    except DproofError as refused:
        error = desk.folder.hide(refusal(refused))
    body = await run_in_threadpool(_custody, desk, who, typed, tables, told, error)
    return page("Plans and tokens", body, who, status=200 if error is None else 400)


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else 0


def _shown_once(given: dict[str, Any], request: Request) -> Markup:
    return joined(
        copied(tag("code", given["token"], class_="token"), TEXTS["given"].format(given["name"])),
        tag("p", f"The address to go with it: {address(request)}"),
        copied(given["command"], TEXTS["in_folder"]),
    )


def _custody(
    desk: Desk,
    who: Holder,
    typed: dict[str, str],
    ticked_tables: list[str] | None = None,
    told: Markup | None = None,
    error: str | None = None,
) -> Markup:
    told_of = {one["name"]: one for one in desk.tables(who)}
    files = (
        joined(
            link(f"/plans/{quote(one['name'])}", one["name"]),
            tag("span", _state(told_of.get(one["name"]))),
            (fault := desk.custody.faults.get(one["name"]))
            and tag("span", TEXTS["fault"].format(fault), class_="error"),
        )
        for one in desk.custody.files()
    )
    misnamed = (tag("p", TEXTS["misnamed"].format(name), class_="note") for name in desk.folder.misnamed)
    boxes = [ticked(_choice(one), "tables", name, name in (ticked_tables or ())) for name, one in told_of.items()]
    give = tag(
        "form",
        tag("fieldset", tag("legend", "Tables that it is for"), boxes),
        tag(
            "div",
            field("Name", "name", typed["name"], required=True, maxlength=64, aria_describedby="given-error"),
            field("ε on each", "epsilon", typed["epsilon"], required=True, size=8, inputmode="decimal"),
            field("δ on each", "delta", typed["delta"], size=8, inputmode="decimal"),
            field("Days until it ends", "days", typed["days"], type="number", min=1, max=3650),
            tag("button", "Give a token", class_="main"),
            class_="row",
        ),
        said(error, "given-error"),
        method="post",
        action="/custody",
        data_swap=True,
    )
    # A file goes to the programs' address as it is, which a form cannot do by itself.
    upload = tag(
        "form",
        tag("p", TEXTS["upload"]),
        field("File", "file", type="file", accept=",".join(ENDINGS), required=True, aria_describedby="upload-error"),
        tag("button", "Send"),
        said(None, "upload-error"),
        class_="script",
        data_upload=f"{api.router.prefix}/files/",
    )
    done = [(minute(one["at"]), one["who"] or "a command", _deed(one)) for one in reversed(desk.record.latest(50))]
    holders = [_holder(desk, one) for one in desk.tokens.holders]
    heads = ("number", "name", "role", "tables", "ends (UTC)", "")
    return joined(
        tag(
            "section",
            tag("h2", "Tables"),
            tag("div", listed(files, TEXTS["no_files"]), misnamed, id="files", data_part=True),
            upload,
        ),
        tag(
            "section",
            tag("h2", "Give a token to an analyst"),
            joined(tag("p", TEXTS["give"]), give) if boxes else tag("p", TEXTS["no_table_to_give"]),
        ),
        tag("section", told, id="given", data_part=True),
        tag("section", tag("h2", "Tokens"), table(heads, holders, TEXTS["holders"]), id="tokens", data_part=True),
        copied("dproof token . --custodian NAME", TEXTS["custodian_token"]),
        folded("What custodians did", table(("when (UTC)", "who", "what"), done, TEXTS["record"])),
    )


def _deed(one: dict[str, Any]) -> str:
    about = [f"{key} {value}" for key, value in one.items() if key not in ("number", "at", "who", "token", "did")]
    return ", ".join([str(one["did"]), *about])


def _state(told: dict[str, Any] | None) -> str:
    """Whether a table can be asked, and what is left to spend on it."""
    return TEXTS["no_plan"] if told is None else told.get("error") or f"has a plan. {budget_left(told['budget'])}"


def _choice(told: dict[str, Any]) -> str:
    """A table to tick; one with nothing left says so, because a budget on it would be worth nothing."""
    is_spent = "budget" in told and not told["budget"]["remaining"]["epsilon"]
    return f"{told['name']}: {TEXTS['spent']}" if is_spent else str(told["name"])


def _holder(desk: Desk, one: Holder) -> tuple[Any, ...]:
    """One line of the list of tokens; one that is still good can be revoked."""
    end: Any = "expired"
    if one.revoked is not None:
        end = f"revoked {minute(one.revoked)}"
    elif desk.tokens.is_good(one):
        label = f"Revoke the token {one.number} of {one.name}"
        revoke = tag("button", "Revoke", name="revoke", value=one.number, aria_label=label)
        end = tag("form", revoke, method="post", action="/custody", data_swap=True)
    return str(one.number), one.name, one.role, ", ".join(one.tables), minute(one.ends), end
