"""What a page asks and draws: the plan's columns as questions, the certificate's laws as they are, and the texts.

All of it is one JSON object, the page's only input. It is made from the plan, the certified laws, the texts and the
address alone, so whoever has these can make the page again and compare.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from dproof import __version__
from dproof.certification.verify_certificate import seal
from dproof.columns.codec import Column
from dproof.errors import ArgumentError, PlanError, did_you_mean
from dproof.exact import written
from dproof.laws.law import Law
from dproof.limits import LARGEST_SURVEY, MOST_SURVEY_VALUES
from dproof.local.recipe import JointColumns, RowLaw
from dproof.meaning import odds_factor, three_digits
from dproof.plans.reader import Reader, read_text, read_toml

# The kinds of law that draw.js has a sampler for.
DRAWN = frozenset({
    "keep-or-other", "bits", "one-item", "subset-selection", "block-design", "plane-design", "matrix", "rounded",
    "lattice", "bounded", "optional",
})  # fmt: skip
_INSTEAD = "take mechanism = 'randomised_response' for it"
_MOST_BLOCKS = 1 << 20  # of a design
_RATING = 11  # points of a scale that are buttons
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:/_~%?=&\[\]-]+")
_LANGUAGE = re.compile("[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
_EXACT = 1 << 53  # from here on JavaScript reads a number of JSON as another


@dataclass(frozen=True)
class Survey:
    """A survey: the law of a row, what the page says, and the address that receives answers; None where the respondent
    keeps the answer as a file, or writes it on paper."""

    law: RowLaw
    texts: Mapping[str, str]
    send: str | None = None
    paper: str | None = None  # what draws by hand, where it is a sheet to print: dice or cards
    made: str = __version__  # by which version of dproof

    def __post_init__(self) -> None:
        check_asked(self.law)
        if self.send is not None and not (isinstance(self.send, str) and _ADDRESS.fullmatch(self.send)):
            raise ArgumentError("send must be a plain URL such as https://example.org/collect/habits")
        if len(self.data) > LARGEST_SURVEY:
            raise PlanError(
                f"the laws and values of this plan make a page of more than {LARGEST_SURVEY >> 20} MiB, too much for "
                f"a phone: declare fewer values, a coarser step or bins, or {_INSTEAD}"
            )

    @cached_property
    def key(self) -> str:
        return survey_key(self.law)

    @cached_property
    def data(self) -> str:
        """The JSON text of the page's input, which stands inside a script: no < in it."""
        plan, columns = self.law.plan, [column for column in self.law.plan.columns if column.private]
        places = {column.name: place for place, column in enumerate(columns)}
        moved, about = odds_factor(self.law.person), plan.about
        parts = 100 if moved.factor < 1000 else 1
        told = {
            "dproof": self.made,
            "survey": self.key,
            "title": about.title,
            "custodian": about.custodian,
            "purpose": about.purpose,
            "contact": about.contact,
            "factor": written(Fraction(ceil(moved.factor * parts), parts), 6),  # rounded up
            "delta": written(three_digits(moved.failure)) if moved.failure else "",
            "send": self.send,
            "paper": self.paper == "dice" or self.paper or False,  # True as before there were cards
            "tickets": plan.tickets,
            "columns": [asked_as(column) for column in columns],
            "groups": [_group(group, [places[column.name] for column in group.columns]) for group in self.law.groups],
            "weights": None if self.law.weights is None else list(self.law.weights),
            "texts": dict(self.texts),
        }
        return json.dumps(told, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def survey_key(law: RowLaw) -> str:
    """What every answer names: a hash of the plan's text and of the laws, so answers to another survey are told."""
    laws = [dict(part.law) for part in law.parts]
    return seal({"plan": law.plan.text, "laws": laws, "weights": law.weights and list(law.weights)})


def page_record(law: Law) -> dict[str, Any]:
    """The record of a law as JavaScript can read it: whole numbers that it would round are texts."""

    def readable(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: readable(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [readable(item) for item in value]
        return str(value) if type(value) is int and value >= _EXACT else value

    record: dict[str, Any] = readable(law.to_json())
    return record


# What is refused when the page is made --------------------------------------------------------------------------------


def check_asked(law: RowLaw) -> None:
    """Refuse a plan whose rows are not a person's each, or have what nobody can be asked and draw."""
    plan = law.plan
    if plan.person is not None or plan.rows_per_person > 1:
        raise PlanError("a survey asks each person once: leave `person` and `rows_per_person` out of the plan")
    for name in plan.named("public"):
        raise PlanError(f"a survey sends nothing as it is: drop the public column {name!r}, or give it a space")
    for group in law.groups:
        family = group.mechanism.family
        if group.columns[0].space.holds_curves:
            raise PlanError(f"a page cannot ask for curves: drop the column {group.name!r}")
        if family.kind not in DRAWN:
            raise PlanError(f"a page cannot draw the law of {group.name!r} ({group.mechanism.name}): {_INSTEAD}")
        sizes = [column.sanitised.size for column in group.columns if column.sanitised.line is None]
        if any(size > MOST_SURVEY_VALUES for size in sizes if group.columns[0].space.items is None):
            raise PlanError(
                f"a page lists {MOST_SURVEY_VALUES:,} values of a question at most: declare fewer for {group.name!r}"
            )
        if family.is_coded and (family.outputs or 0) > _MOST_BLOCKS:
            raise PlanError(f"the design of {group.name!r} has too many blocks for a phone: {_INSTEAD}")


# Questions and laws ---------------------------------------------------------------------------------------------------


def asked_as(column: Column) -> dict[str, Any]:
    """How a column is asked for: the codes of what can be answered are the places in `choices`, or steps from `low`."""
    space, bins = column.space.without_missing, column.bins
    asked: dict[str, Any] = {"question": column.question or column.name, "help": column.help}
    if bins is not None:  # by the first and the last value of each
        ends = [*bins.starts[1:], bins.stop]
        names = [(_plain(space.label(a)), _plain(space.label(b - 1))) for a, b in zip(bins.starts, ends, strict=True)]
        asked |= {"form": "one", "choices": [a if a == b else f"{a} – {b}" for a, b in names]}
    elif space.items is not None:
        asked |= {"form": "several", "choices": [str(item) for item in space.items]}
    elif space.line is None or space.size <= _RATING:
        labels = map(space.label, range(space.size))
        asked |= {"form": "one", "choices": [one if isinstance(one, bool) else _plain(one) for one in labels]}
    else:
        form = {"days": "date", "minutes": "time"}.get(space.unit, "number")
        shown = [_plain(space.label(code)) for code in (0, space.size - 1)]
        asked |= {"form": form, "low": str(space.line.origin), "step": str(space.line.step)}
        asked |= {"points": str(space.size), "ends": shown}
    skip = column.missing
    if skip is not None and bins is not None:
        skip = int(column.sanitised_bins.of(np.array([skip]))[0])  # type: ignore[union-attr]
    offered = skip is not None and (column.space.items is None or skip == column.space.absent)
    return {**asked, "size": str(column.sanitised.size), "skip": str(skip) if offered else None}


def _plain(label: Any) -> str | None:
    """A value as it is shown; None for a missing one, which has a text of its own."""
    return str(label).removesuffix(".0") if isinstance(label, float) else None if label is None else str(label)


def _group(group: JointColumns, places: list[int]) -> dict[str, Any]:
    """A law with the places of its columns, and what a released code stands for where it is a number."""
    mechanism = group.mechanism
    lines = [_line(space) for space in group.outputs]
    plain = mechanism.family.shown, mechanism.inputs.without_missing
    error = plain[0].maximal_error(plain[1]) if plain[0] is not mechanism.family else group.part.error
    return {
        "name": group.name,
        "columns": places,
        "lines": lines,
        "error": None if error is None else written(error, 3),
        "law": page_record(mechanism.family),
    }


def _line(space: Any) -> dict[str, Any] | None:
    """Where the released numbers of a space lie; None where they are none."""
    line = space.line
    absent = None if space.absent is None else str(space.absent)
    return None if line is None else {"low": str(line.origin), "step": str(line.step), "absent": absent}


# Texts ----------------------------------------------------------------------------------------------------------------


@cache
def usual_texts() -> dict[str, str]:
    """The texts of the page, in English."""
    return _read_texts(files("dproof.survey").joinpath("texts.toml").read_text("utf-8"), "texts.toml", None)


def read_texts(path: Path) -> dict[str, str]:
    """The texts of a TOML file; those that it does not have are the usual ones."""
    return usual_texts() | _read_texts(read_text(path, "file of texts"), path.name, usual_texts())


def _read_texts(text: str, name: str, known: Mapping[str, str] | None) -> dict[str, str]:
    def read(top: Reader) -> dict[str, str]:
        found = {key: str(top.line(key)) for key in top}
        for key, said in found.items():
            if known is not None and key not in known:
                raise top.wrong(key, f"is not a text of the page{did_you_mean(key, known)}")
            wrong = known and sorted(set(re.findall(r"\{\w*\}", said)) - set(re.findall(r"\{\w*\}", known[key])))
            if key == "lang" and not _LANGUAGE.fullmatch(said):
                raise top.wrong(key, "must name a language as HTML does, such as en, de or pt-BR")
            if wrong:
                raise top.wrong(key, f"has {wrong[0]}, which the page does not fill in there")
        return found

    return read_toml(text, name, read)
