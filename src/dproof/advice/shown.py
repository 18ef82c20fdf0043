"""The table of ways as texts, from what `compare_ways` tells: the terminal and the pages of a server show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dproof.arguments import mapping
from dproof.errors import ArgumentError
from dproof.exact import written
from dproof.questions.answer import NOTHING, RARELY, stated

_SIGNS = {  # in place of a ±, and what they mean
    "none": f"{NOTHING}, the interval holds every value that is possible",
    "?": "± depends on the data, or there is none",
    "–": "no answer this way",
}
_UNSAID = ("ask_shared", "central_pure")  # whose reasons are those of another way, or of no interest


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """± of one answer, a text for each way; `uneven` are those of a rare group, where they are others."""

    label: str
    cells: tuple[str, ...]
    uneven: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class ShownWays:
    """The rows and columns of the table, and the sentences that are needed to read it.

    `questions` are those that labels have the numbers of, `refusals` say why ways give no answer, `legend` what a ±
    and the signs in its place mean, `trust` what is done each way, `shares` what the plan says of the rows.
    """

    titles: tuple[str, ...]
    answers: tuple[ShownAnswer, ...]
    questions: tuple[str, ...]
    refusals: tuple[str, ...]
    legend: str
    trust: str
    shares: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """All that is to be said below the table in a terminal."""
        uneven = [RARELY] if any(one.uneven for one in self.answers) else []
        return (*self.refusals, self.legend, self.trust, *uneven, *self.shares)


def shown_ways(told: Mapping[str, Any]) -> ShownWays:
    """The table of ways as texts, with what has to be known to read it.

    `told` is what `compare_ways` returns, or `dproof plan --rows --json` prints.

    >>> from dproof.advice.ways import compare_ways
    >>> columns = {"read": {"space": "categories", "values": ["yes", "no"]}}
    >>> shown = shown_ways(compare_ways({"privacy": {"epsilon": 1}, "columns": columns}, rows=1000))
    >>> shown.titles[0], shown.answers[0].label, shown.answers[0].cells[0]
    ('local', 'count by read', '59.5')
    """
    if not {"ways", "answers"} <= mapping(told, "told", "what compare_ways returns").keys():
        raise ArgumentError("told must be what compare_ways returns, which has ways and answers")
    ways, answers = told["ways"], told["answers"]
    questions = tuple(dict.fromkeys(one["question"] for one in answers if one["question"]))
    rows = tuple(_answer(one, ways, questions) for one in answers)
    signs = {cell for row in rows for cell in (*row.cells, *(row.uneven or ()))}
    refusals, titles = tuple(_refusals(ways)), tuple(way["title"] for way in ways)
    return ShownWays(titles, rows, questions, refusals, _legend(answers, signs), _trust(ways), tuple(_shares(answers)))


def _answer(one: Mapping[str, Any], ways: Sequence[Mapping[str, Any]], questions: Sequence[str]) -> ShownAnswer:
    def cell(way: Mapping[str, Any]) -> str:
        name = way["name"]
        if not one["informative"][name]:
            return "none"
        if one["half_width"][name] is not None:
            return written(one["half_width"][name])
        return "–" if way["refused"] or not one["estimated"][name] else "?"

    cells, rare = tuple(map(cell, ways)), one["rare"]
    told = {name: "none" if width is None else written(width) for name, width in rare.items()}
    uneven = tuple(told.get(way["name"], text) for way, text in zip(ways, cells, strict=True))
    return ShownAnswer(answer_label(one, questions), cells, uneven if rare else None)


def answer_label(one: Mapping[str, Any], questions: Sequence[str]) -> str:
    """What an answer is called: a column of the answer to a question, or what is asked about a column of the plan."""
    if one["question"]:
        return f"{questions.index(one['question']) + 1}. {one['column']}"
    unit = f" ({one['unit']})" if one["unit"] else ""
    return f"{one['what']} {'by' if one['what'] == 'count' else 'of'} {one['column']}{unit}"


def _refusals(ways: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"No answer, {way['title']}: {reason}."
        for way in ways
        if way["name"] not in _UNSAID or way["own"]
        for reason in dict.fromkeys([way["refused"]] if way["refused"] else way["unanswered"].values())
    ]


def _legend(answers: Sequence[Mapping[str, Any]], signs: set[str]) -> str:
    has_means = any(one["what"] != "count" and any(one["estimated"].values()) for one in answers)
    from_rows = any(one["half_width"].get(way) is not None for one in answers for way in ("local", "shuffled"))
    even = ["for means and shares"] * has_means + ["for local and shuffled rows"] * from_rows
    if_even = f"; {' and '.join(even)}, if the rows are spread evenly." if even else "."
    used = "; ".join(f"{sign}: {meaning}" for sign, meaning in _SIGNS.items() if sign in signs)
    told = f" {used[0].upper()}{used[1:]}." if used else ""
    return f"±: the answer is right to about this, 19 times out of 20{if_even}{told}"


def _trust(ways: Sequence[Mapping[str, Any]]) -> str:
    shared = next(way for way in ways if way["name"] == "ask_shared")
    price, each = shared["price"], ""
    if price is not None:
        delta = f" --delta {price['delta']:.6g}" if price["delta"] else ""
        each = f" (each with --epsilon {price['epsilon']:.6g}{delta})"
    return (
        "local: each row is changed by itself, and nobody is trusted. shuffled: so they are, and whoever mixes them is "
        "trusted not to tell whose they are. central: the whole table is measured once. ask: `dproof ask`, where one "
        f"question has all of ε, or {shared['questions']} share it{each}. *: this plan."
    )


def _shares(answers: Sequence[Mapping[str, Any]]) -> dict[str, None]:
    shares = [one["share_of_rows"] for one in answers]
    return dict.fromkeys(f"The plan says of a question's rows{stated(one)}." for one in shares if one is not None)
