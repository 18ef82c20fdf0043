"""The page of a survey, and its folder: one file that asks and draws, the plan, and the certificate of its laws.

On paper the page is a sheet to print, and dice draw from the law of the certificate. Each throw says "the truth", or
one of the answers: forced response. With n dice there are 6ⁿ throws, so the laws of the plan become the nearest ones
whose weights sum to that, with no larger odds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from dproof import __version__
from dproof.arguments import as_path, flag, named
from dproof.certification.certify import certify, write_certificate
from dproof.errors import ArgumentError, InputError, PlanError, VerificationFailed
from dproof.laws.law import Law
from dproof.local.recipe import JointColumns, RowLaw, certify_row
from dproof.local.release import about, shuffled_rows
from dproof.plans.plan import Plan
from dproof.storage import CERTIFICATE, PLAN, SURVEY, appearing, digest
from dproof.survey.form import Survey, asked_as, read_texts, usual_texts

_DATA = re.compile(r'<script type="application/json" id="survey">(.*?)</script>', re.DOTALL)
_PARTS = ("draw.js", "page.js", "page.css", "page.html")
_MOST_DICE = 4
_MOST_ANSWERS = 24  # of a question, in a list that people look through
_NEARLY = 0.9  # of the truth that the plan's own law tells: with fewer dice less is told


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


# Dice -----------------------------------------------------------------------------------------------------------------


def on_paper(law: RowLaw) -> RowLaw:
    """The law of a row as dice draw it, certified; refused where a column has a law that no dice draw."""
    if law.weights is not None:
        raise PlanError("on paper everybody is asked everything: leave `spread` out of the plan, or write 'split'")
    if law.plan.tickets:
        raise PlanError("on paper nobody sends a ticket: leave `tickets` out of the plan")
    return replace(law, groups=tuple(_with_dice(group) for group in law.groups))


def _with_dice(group: JointColumns) -> JointColumns:
    family = group.mechanism.family
    laws = [found for dice in range(1, _MOST_DICE + 1) if (found := family.with_total(6**dice)) is not None]
    if not laws or not _is_listed(group):
        raise PlanError(
            f"dice cannot draw the law of {group.name!r} ({group.mechanism.name}): take mechanism = "
            f"'randomised_response' with at most {_MOST_ANSWERS} values, bins for numbers, 'itemwise_response' for "
            "sets, and enough of epsilon"
        )
    most = max(map(_truth, laws))
    chosen = next(found for found in laws if _truth(found) >= _NEARLY * most)
    mechanism = replace(group.mechanism, name=f"{group.mechanism.name} with dice", family=chosen, optimum=None)
    (part,) = certify(mechanism, group.privacy, name=group.name).parts
    return replace(group, mechanism=mechanism, part=replace(part, lower_bound=None))


def _is_listed(group: JointColumns) -> bool:
    """Whether the answers are few, and each can be named."""
    if _is_itemwise(group.mechanism.family):
        return True
    named = all(column.space.items is None and "choices" in asked_as(column) for column in group.columns)
    return named and group.mechanism.inputs.size <= _MOST_ANSWERS


def _is_itemwise(law: Law) -> bool:
    """Whether each item of a set has a throw of its own."""
    return "bits" in law.to_json()


def _truth(law: Law) -> float:
    (truth, *_), total = throws(law)
    return truth / total


def throws(law: Law) -> tuple[list[int], int]:
    """How many throws say "the truth", and how many each of the answers, which are no and yes for an item of a set; and
    how many throws there are."""
    record = law.to_json()
    if _is_itemwise(law):
        stay, flip = int(record["stay"]), int(record["flip"])
        return [stay - flip, flip, flip], stay + flip
    keep, other = int(record["keep"]), int(record["other"])
    return [keep - other, *[other] * int(record["size"])], keep + other * (int(record["size"]) - 1)


def throw_ranges(counts: list[int], total: int) -> Iterator[tuple[str, str]]:
    """The first and the last throw of each that is said, dice read from left to right."""
    dice = next(n for n in range(1, _MOST_DICE + 1) if 6**n == total)
    ends = [sum(counts[:n]) for n in range(len(counts) + 1)]
    for first, after in pairwise(ends):
        yield _read(first, dice), _read(after - 1, dice)


def _read(throw: int, dice: int) -> str:
    return "".join(str(throw // 6**n % 6 + 1) for n in reversed(range(dice)))


# The sheet ------------------------------------------------------------------------------------------------------------


def sheet(data: dict[str, Any], law: RowLaw) -> str:
    """The body of the sheet, in HTML."""
    texts = data["texts"]
    told = [(texts["receiver"], "custodian"), (texts["purpose"], "purpose"), (texts["contact"], "contact")]
    words = {True: texts["yes"], False: texts["no"], None: texts["skip"]}
    parts = [f"<h1>{escape(data['title'] or texts['title'])}</h1>", f"<p>{escape(texts['paper'])}</p>"]
    parts += [
        f"<p class=soft>{escape(text.replace('{' + key + '}', data[key]))}</p>" for text, key in told if data[key]
    ]
    for group, placed in zip(law.groups, data["groups"], strict=True):
        columns = [data["columns"][place] for place in placed["columns"]]
        parts.append("<section class=card>")
        parts += [
            f"<h2>{escape(column['question'])}</h2><p class=soft>{escape(column['help'])}</p>" for column in columns
        ]
        counts, total = throws(group.mechanism.family)
        dice = len(next(iter(throw_ranges(counts, total)))[0])
        each, size = _is_itemwise(group.mechanism.family), group.mechanism.inputs.size
        labels = [texts["no"], texts["yes"]] if each else [_label(columns, code, words) for code in range(size)]
        listed = [*columns[0]["choices"], *([texts["skip"]] if columns[0]["skip"] else [])] if each else labels
        parts.append("<ol start=0>" + "".join(f"<li>{escape(str(one))}</li>" for one in listed) + "</ol>")
        parts.append(f"<p>{escape((texts['throw_each'] if each else texts['throw']).replace('{dice}', str(dice)))}</p>")
        said = [texts["truth"], *(f"{code}: {label}" for code, label in enumerate(labels))]
        rows = zip(throw_ranges(counts, total), said, strict=True)
        cells = (f"<tr><td>{a} – {b}</td><td>{escape(str(what))}</td></tr>" for (a, b), what in rows)
        parts.append(f"<table>{''.join(cells)}</table><p>{escape(texts['written'])} ________</p></section>")
    return "\n".join([*parts, f"<p class=soft>survey {data['survey']}</p>"])


def _label(columns: list[dict[str, Any]], code: int, words: dict[Any, str]) -> str:
    """What the code of a group stands for."""
    labels: list[str] = []
    for column in reversed(columns):
        code, own = divmod(code, int(column["size"]))
        choice = [*column["choices"], None][own]  # a missing value is the last
        labels.insert(0, words[choice] if choice is None or isinstance(choice, bool) else str(choice))
    return " + ".join(labels)
