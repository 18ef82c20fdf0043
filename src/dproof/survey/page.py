"""The page of a survey, and its folder: one file that asks and draws, the plan, and the certificate of its laws.

On paper the page is a sheet to print, and dice or cards draw from the law of the certificate. Each throw says "the
truth", or one of the answers: forced response. With n dice there are 6ⁿ throws, and 52ⁿ with n cards that are put back,
so the laws of the plan become the nearest ones whose weights sum to that, with no larger odds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from dproof import __version__
from dproof.arguments import as_path, choice, flag, named
from dproof.certification.certify import certify, write_certificate
from dproof.errors import ArgumentError, InputError, PlanError, VerificationFailed
from dproof.laws.law import Law
from dproof.local.recipe import JointColumns, RowLaw, certify_row
from dproof.local.release import about, shuffled_rows
from dproof.plans.plan import Plan
from dproof.storage import CERTIFICATE, PLAN, SURVEY, appearing, digest
from dproof.survey.form import Survey, asked_as, read_texts, usual_texts

_STYLE, _SCRIPT = re.compile("<style>(.*?)</style>", re.DOTALL), re.compile("<script>(.*?)</script>\n", re.DOTALL)
_DATA = re.compile(r'<script type="application/json" id="survey">(.*?)</script>', re.DOTALL)
_OWN = {  # where a page has what is its survey's own
    "POLICY": re.compile('(Content-Security-Policy" content=")[^"]*(")'),
    "DATA": re.compile(r'(<script type="application/json" id="survey">).*?(</script>)', re.DOTALL),
    "EXPECTED": re.compile('(const EXPECTED = ")[^"]*(")'),
}
_BODY = {"BODY": re.compile('(<main id="main"[^>]*>).*?(</main>)', re.DOTALL)}  # of a sheet
# The SHA-256 of the frames of pages and sheets that earlier versions made, and that hold still.
_EARLIER = frozenset({
    # told what noise made of a rating as if it were a date
    "1f1cab074bb8731c284c43d47f38afa7f434cf07a3a504b2f2d371eb126de168",
    # told of some numbers more noise than they had
    "837232d455b066ef97bbd2cea215c002c8c4391683c3703c501e4cc393b93101",
    # a sheet, which was printed in the pale colours of a dark screen
    "81f96a7cbc9f0e993ccb0f9d106a8ecc86ad905baaff582d4f392baa779f0c16",
})  # fmt: skip
_PARTS = ("draw.js", "page.js", "page.css", "page.html")
_MOST_ANSWERS = 24  # of a question, in a list that people look through
_NEARLY = 0.9  # of the truth that the plan's own law tells: with fewer dice less is told


@named
def collect(
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str],
    *,
    send: str | None = None,
    texts: str | os.PathLike[str] | None = None,
    paper: bool | str = False,
) -> Survey:
    """Make the folder of a survey: a page that asks the plan's columns and sanitises on the respondent's device, the
    plan, and the certificate of the laws that the page draws from.

    `plan` is a Plan, its path or a mapping; `out` is the folder to make. `send` is the address that answers are sent
    to; without it a respondent saves the answer as a file. `texts` is a TOML file with the page's texts in another
    language. With `paper` the page is a sheet to print, with a table of dice for each question, or of playing cards if
    it is "cards", and the laws are the nearest that these draw.

    >>> from tempfile import mkdtemp
    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    >>> len(collect(plan, mkdtemp() + "/survey").key)
    64
    """
    said = usual_texts() if texts is None else read_texts(as_path(texts, "texts"))
    law = certify_row(Plan.of(plan))
    by = choice(paper, tuple(BY_HAND), "paper") if isinstance(paper, str) else "dice" if flag(paper, "paper") else None
    if by is not None and send is not None:
        raise ArgumentError("send is for a page that sends: leave it out on paper")
    survey = Survey(law if by is None else on_paper(law, BY_HAND[by]), said, send, by)
    with appearing(as_path(out, "out")) as folder:
        (folder / PLAN).write_text(survey.law.plan.text, "utf-8")
        (folder / SURVEY).write_text(page_of(survey), "utf-8")
        hashes = {name: digest(folder / name) for name in (PLAN, SURVEY)}
        law, least = survey.law, survey.law.plan.shuffle.rows
        later = {} if least is None else shuffled_rows(law, least)  # what a plan promises of the rows to come
        write_certificate(law.record(about(law, 0, hashes) | later, private=True), folder / CERTIFICATE)
    return survey


def page_of(survey: Survey, frame: str | None = None) -> str:
    """The page: it holds its input, and a script that runs on no other.

    Its own policy allows that script, that style and one address, and nothing else. `frame` is the rest of the page,
    where another version made it.
    """
    frame = frame or (_frame() if survey.paper is None else _frame_of_sheets())
    own = {"DATA": survey.data, "EXPECTED": hashlib.sha256(survey.data.encode()).hexdigest()}
    style, script = (_source(part[1], own) if (part := find.search(frame)) else None for find in (_STYLE, _SCRIPT))
    receiver = "'none'" if survey.send is None else survey.send.partition("?")[0]
    policy = [
        "default-src 'none'",
        f"script-src {script}",
        f"style-src {style}",
        "img-src data:",
        f"connect-src {receiver}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    if survey.paper is not None:
        own["BODY"] = sheet(json.loads(survey.data), survey.law, BY_HAND[survey.paper])
        policy = [one for one in policy if not one.startswith(("script-src", "connect-src"))]
    return _filled(frame, {**own, "POLICY": "; ".join(policy)})


def _frame() -> str:
    """A page without what is its survey's own."""
    draw, act, style, page = (files("dproof.survey").joinpath(name).read_text("utf-8") for name in _PARTS)
    script = f'{draw}\nconst EXPECTED = "@EXPECTED@";\n\n{act}'
    return _filled(page, {"STYLE": style, "SCRIPT": script, "DATA": "@DATA@", "POLICY": "@POLICY@"})


def _frame_of_sheets() -> str:
    """A sheet has its questions in the place of the script."""
    return re.sub("<noscript>.*</noscript>", "@BODY@", _SCRIPT.sub("", _frame()), flags=re.DOTALL)


def _frame_of(page: str, own: Mapping[str, re.Pattern[str]] = _OWN) -> str:
    """The frame of a page, whichever version made it."""
    for mark, find in own.items():
        page = find.sub(rf"\1@{mark}@\2", page, count=1)
    return page


def _filled(page: str, parts: Mapping[str, str]) -> str:
    return re.sub("@([A-Z]+)@", lambda mark: parts[mark[1]], page)


def _source(text: str, own: Mapping[str, str]) -> str:
    """A script or a style as a policy names it."""
    return f"'sha256-{b64encode(hashlib.sha256(_filled(text, own).encode()).digest()).decode()}'"


def check_page(file: Path, law: RowLaw) -> None:
    """Refuse a page that is not the one that dproof makes of these laws, its own texts and its own address.

    It may be of an earlier version that had this frame, or one that is known.
    """
    try:
        text = file.read_text("utf-8")
        found = _DATA.search(text)
        data = json.loads(found[1] if found else "")
        made, paper = str(data["dproof"]), "dice" if data["paper"] is True else data["paper"] or None
        frame, now = (_frame_of(text), _frame) if paper is None else (_frame_of(text, _OWN | _BODY), _frame_of_sheets)
        known = frame == now() or hashlib.sha256(frame.encode()).hexdigest() in _EARLIER
        texts = {str(key): str(said) for key, said in data["texts"].items()}
        same = known and text == page_of(Survey(law, texts, data["send"], paper, made), frame)
    except (InputError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise VerificationFailed("the page cannot be read: it is not one that dproof made") from None
    if not same:
        raise VerificationFailed(
            "the page is not the one that the plan and the laws of the certificate make; it says that dproof "
            f"{made[:20]} made it: if that is another version than this one, {__version__}, verify it with that"
        )


# Drawing by hand ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ByHand:
    """What people draw by: the signs of one draw in their order, the most draws, and what stands between them.

    A throw is one or several draws, each of which gives every sign with the same chance.
    """

    name: str
    signs: tuple[str, ...]
    most: int
    between: str
    texts: tuple[str, str, str]  # of the sheet, of a question, of a question whose items have a throw each

    def draws(self, total: int) -> int:
        """How many draws have so many throws."""
        return next(n for n in range(1, self.most + 1) if len(self.signs) ** n == total)

    def read(self, throw: int, draws: int) -> str:
        """A throw by its number from 0: the first draw counts most."""
        base = len(self.signs)
        return self.between.join(self.signs[throw // base**n % base] for n in reversed(range(draws)))


_DECK = tuple(f"{suit}{rank}" for suit in "♣♦♥♠" for rank in ("A", *map(str, range(2, 11)), "J", "Q", "K"))
BY_HAND = {
    "dice": ByHand("dice", tuple("123456"), 4, "", ("paper", "throw", "throw_each")),
    "cards": ByHand("cards", _DECK, 2, " ", ("paper_cards", "card", "card_each")),
}


def on_paper(law: RowLaw, by: ByHand) -> RowLaw:
    """The law of a row as people draw it by hand, certified; refused where a column has a law that nobody draws so."""
    if law.weights is not None:
        raise PlanError("on paper everybody is asked everything: leave `spread` out of the plan, or write 'split'")
    if law.plan.tickets:
        raise PlanError("on paper nobody sends a ticket: leave `tickets` out of the plan")
    return replace(law, groups=tuple(_by_hand(group, by) for group in law.groups))


def _by_hand(group: JointColumns, by: ByHand) -> JointColumns:
    family, faces = group.mechanism.family, len(by.signs)
    laws = [found for n in range(1, by.most + 1) if (found := family.with_total(faces**n)) is not None]
    if not laws or not _is_listed(group):
        raise PlanError(
            f"{by.name} cannot draw the law of {group.name!r} ({group.mechanism.name}): take mechanism = "
            f"'randomised_response' with at most {_MOST_ANSWERS} values, bins for numbers, 'itemwise_response' for "
            "sets, and enough of epsilon"
        )
    most = max(map(_truth, laws))
    chosen = next(found for found in laws if _truth(found) >= _NEARLY * most)
    mechanism = replace(group.mechanism, name=f"{group.mechanism.name} with {by.name}", family=chosen, optimum=None)
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


def throw_ranges(counts: list[int], total: int, by: ByHand) -> Iterator[tuple[str, str]]:
    """The first and the last throw of each that is said, draws read from left to right."""
    draws = by.draws(total)
    ends = [sum(counts[:n]) for n in range(len(counts) + 1)]
    for first, after in pairwise(ends):
        yield by.read(first, draws), by.read(after - 1, draws)


# The sheet ------------------------------------------------------------------------------------------------------------


def sheet(data: dict[str, Any], law: RowLaw, by: ByHand) -> str:
    """The body of the sheet, in HTML."""
    texts, (about, one, each_one) = data["texts"], by.texts
    told = [(texts["receiver"], "custodian"), (texts["purpose"], "purpose"), (texts["contact"], "contact")]
    words = {True: texts["yes"], False: texts["no"], None: texts["skip"]}
    parts = [f"<h1>{escape(data['title'] or texts['title'])}</h1>", f"<p>{escape(texts[about])}</p>"]
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
        draws = str(by.draws(total))
        each, size = _is_itemwise(group.mechanism.family), group.mechanism.inputs.size
        labels = [texts["no"], texts["yes"]] if each else [_label(columns, code, words) for code in range(size)]
        listed = [*columns[0]["choices"], *([texts["skip"]] if columns[0]["skip"] else [])] if each else labels
        parts.append("<ol start=0>" + "".join(f"<li>{escape(str(one))}</li>" for one in listed) + "</ol>")
        parts.append(f"<p>{escape(texts[each_one if each else one].replace(f'{{{by.name}}}', draws))}</p>")
        said = [texts["truth"], *(f"{code}: {label}" for code, label in enumerate(labels))]
        rows = zip(throw_ranges(counts, total, by), said, strict=True)
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
