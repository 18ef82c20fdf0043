"""The custodian's page: the tables of the folder, and who may ask them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool

from dproof.errors import DproofError
from dproof.service import api
from dproof.service.desk import Desk
from dproof.service.pages.forms import Fields, checked, refusal
from dproof.service.pages.layout import address, copied, field, link, listed, minute, page, said, table, ticked
from dproof.service.pages.markup import Markup, joined, tag
from dproof.service.pages.texts import TEXTS
from dproof.service.requests import Given
from dproof.service.state import Custodian, TheDesk
from dproof.service.tokens import Holder
from dproof.service.uploads import ENDINGS

router = APIRouter(include_in_schema=False)
_NEW = {"name": "", "epsilon": "0.5", "delta": "0", "days": "90"}


@router.get("/custody")
async def custody(desk: TheDesk, who: Custodian) -> HTMLResponse:
    return page("Plans and tokens", await run_in_threadpool(_custody, desk, _NEW), who)


@router.post("/custody")
async def given(request: Request, desk: TheDesk, who: Custodian) -> HTMLResponse:
    """Give a token, or revoke one."""
    form = await Fields.of(request)
    typed = {key: form.text(key, value) for key, value in _NEW.items()}
    tables, told, error = form.all("tables"), None, None
    try:
        if number := form.text("revoke"):
            await api.revoke(int(number) if number.isdecimal() else 0, desk, who)
            told, typed = tag("p", TEXTS["revoked"].format(number)), _NEW
            told = joined(told, copied(f"dproof token . --revoke {number}", TEXTS["in_folder"]))
        else:
            told = _shown_once(await api.give(checked(Given, tables=tables, **typed), desk, who), request)
            typed, tables = _NEW, []
    except DproofError as refused:
        error = desk.folder.hide(refusal(refused))
    body = await run_in_threadpool(_custody, desk, typed, tables, told, error)
    return page("Plans and tokens", body, who, status=200 if error is None else 400)


def _shown_once(given: dict[str, Any], request: Request) -> Markup:
    return joined(
        tag("p", TEXTS["given"].format(given["name"])),
        tag("code", given["token"], class_="token"),
        tag("p", f"The address to go with it: {address(request)}"),
        copied(given["command"], TEXTS["in_folder"]),
    )


def _custody(
    desk: Desk,
    typed: dict[str, str],
    ticked_tables: list[str] | None = None,
    told: Markup | None = None,
    error: str | None = None,
) -> Markup:
    files = (
        joined(
            link(f"/plans/{quote(one['name'])}", one["name"]),
            tag("span", "has a plan" if one["plan"] else "has no plan yet: nobody can ask it"),
        )
        for one in desk.custody.files()
    )
    tables = desk.folder.tables
    boxes = [ticked(name, "tables", name, name in (ticked_tables or ())) for name in tables]
    give = tag(
        "form",
        tag("fieldset", tag("legend", "Tables that it is for"), boxes or tag("p", TEXTS["no_table_to_give"])),
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
    holders = [_holder(desk, one) for one in desk.tokens.holders]
    heads = ("number", "name", "role", "tables", "ends (UTC)", "")
    return joined(
        tag(
            "section",
            tag("h2", "Tables"),
            tag("div", listed(files, TEXTS["no_files"]), id="files", data_part=True),
            upload,
        ),
        tag("section", tag("h2", "Give a token to an analyst"), tag("p", TEXTS["give"]), give),
        tag("section", told, id="given", data_part=True),
        tag("section", tag("h2", "Tokens"), table(heads, holders, "Tokens"), id="tokens", data_part=True),
    )


def _holder(desk: Desk, one: Holder) -> tuple[Any, ...]:
    """One line of the list of tokens; one that is still good can be revoked."""
    end: Any = "over"
    if one.revoked is not None:
        end = f"revoked {minute(one.revoked)}"
    elif desk.tokens.is_good(one):
        label = f"Revoke the token {one.number} of {one.name}"
        revoke = tag("button", "Revoke", name="revoke", value=one.number, aria_label=label)
        end = tag("form", revoke, method="post", action="/custody", data_swap=True)
    return str(one.number), one.name, one.role, ", ".join(one.tables), minute(one.ends), end
