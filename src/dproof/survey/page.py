"""The page of a survey, and its folder: one file that asks and draws, the plan, and the certificate of its laws."""

from __future__ import annotations

import hashlib
import json
import os
import re
from base64 import b64encode
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from dproof import __version__
from dproof.arguments import as_path, flag, named
from dproof.certification.certify import write_certificate
from dproof.errors import ArgumentError, InputError, VerificationFailed
from dproof.local.recipe import RowLaw, certify_row
from dproof.local.release import about, shuffled_rows
from dproof.plans.plan import Plan
from dproof.storage import CERTIFICATE, PLAN, SURVEY, appearing, digest
from dproof.survey.form import Survey, read_texts, usual_texts
from dproof.survey.paper import on_paper, sheet

_DATA = re.compile(r'<script type="application/json" id="survey">(.*?)</script>', re.DOTALL)


@named
def collect(
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str],
    *,
    send: str | None = None,
    texts: str | os.PathLike[str] | None = None,
    paper: bool = False,
) -> Survey:
    """Make the folder of a survey: a page that asks the plan's columns and sanitises on the respondent's device, the
    plan, and the certificate of the laws that the page draws from.

    `plan` is a Plan, its path or a mapping; `out` is the folder to make. `send` is the address that answers are sent
    to; without it a respondent saves the answer as a file. `texts` is a TOML file with the page's texts in another
    language. With `paper` the page is a sheet to print, with a table of dice for each question, and the laws are the
    nearest that dice draw.

    >>> from tempfile import mkdtemp
    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    >>> len(collect(plan, mkdtemp() + "/survey").key)
    64
    """
    said = usual_texts() if texts is None else read_texts(as_path(texts, "texts"))
    law = certify_row(Plan.of(plan))
    if flag(paper, "paper") and send is not None:
        raise ArgumentError("send is for a page that sends: leave it out on paper")
    survey = Survey(on_paper(law) if paper else law, said, send, paper)
    with appearing(as_path(out, "out")) as folder:
        (folder / PLAN).write_text(survey.law.plan.text, "utf-8")
        (folder / SURVEY).write_text(page_of(survey), "utf-8")
        hashes = {name: digest(folder / name) for name in (PLAN, SURVEY)}
        law, least = survey.law, survey.law.plan.shuffle.rows
        later = {} if least is None else shuffled_rows(law, least)  # what a plan promises of the rows to come
        write_certificate(law.record(about(law, 0, hashes) | later, private=True), folder / CERTIFICATE)
    return survey


def page_of(survey: Survey) -> str:
    """The page: it holds its input, and a script that runs on no other.

    Its own policy allows that script, that style and one address, and nothing else.
    """
    parts = files("dproof.survey")
    draw, act, style, page = (parts.joinpath(name).read_text("utf-8") for name in _PARTS)
    if survey.paper:
        body = sheet(json.loads(survey.data), survey.law)
        policy = f"default-src 'none'; style-src {_source(style)}; img-src data:; base-uri 'none'; form-action 'none'"
        page = re.sub("<noscript>.*</noscript>", "@BODY@", page, flags=re.DOTALL).replace(
            "<script>@SCRIPT@</script>\n", ""
        )
        return _filled(page, POLICY=policy, STYLE=style, BODY=body, DATA=survey.data)
    expected = hashlib.sha256(survey.data.encode()).hexdigest()
    script = f'{draw}\nconst EXPECTED = "{expected}";\n\n{act}'
    receiver = "'none'" if survey.send is None else survey.send.partition("?")[0]
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; img-src data:; "
        f"connect-src {receiver}; base-uri 'none'; form-action 'none'"
    )
    return _filled(page, POLICY=policy, STYLE=style, DATA=survey.data, SCRIPT=script)


def _filled(page: str, **parts: str) -> str:
    return re.sub("@([A-Z]+)@", lambda mark: parts[mark[1]], page)


_PARTS = ("draw.js", "page.js", "page.css", "page.html")


def _source(text: str) -> str:
    """A script or a style as a policy names it."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def check_page(file: Path, law: RowLaw) -> None:
    """Refuse a page that is not the one that dproof makes of these laws, its own texts and its own address."""
    try:
        text = file.read_text("utf-8")
        found = _DATA.search(text)
        data = json.loads(found[1] if found else "")
        made, texts = data["dproof"], {str(key): str(said) for key, said in data["texts"].items()}
        same = texts.keys() == usual_texts().keys() and text == page_of(
            Survey(law, texts, data["send"], data["paper"] is True)
        )
    except (InputError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise VerificationFailed("the page cannot be read: it is not one that dproof made") from None
    if not same:
        other = f"; it says that dproof {str(made)[:20]} made it: verify it with that" if made != __version__ else ""
        raise VerificationFailed(f"the page is not the one that the plan and the laws of the certificate make{other}")
