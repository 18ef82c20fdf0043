"""What a plan would give, beside its form: ± each way, which column costs most, what ε means to a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dproof.plans.reader import WrongKey
from dproof.privacy import Privacy
from dproof.questions.answer import NOTHING, RARELY, rarely
from dproof.report.page import deniability_section
from dproof.serve.drafting import WAYS
from dproof.serve.pages import texts
from dproof.serve.pages.layout import copied, figure, folded, table, verbatim
from dproof.serve.pages.markup import Markup, joined, tag
from dproof.serve.pages.texts import TEXTS


def expectation(told: Mapping[str, Any] | None, error: Exception | None) -> Markup:
    """± of the questions and of each column, each way, and which column costs most."""
    if told is None:
        sentence = error.sentence if isinstance(error, WrongKey) else str(error)
        text = TEXTS["choose_kind"] if error is None else f"{TEXTS['incomplete']}{sentence}."
        return joined(tag("h2", "What it would give"), tag("p", text, class_="hint"))
    heads = ("± of", *(texts.WAYS[way] for way in WAYS))
    questions = [(answer_label(one), *_widths(one, told["refused"])) for one in told["questions"]]
    columns = [(answer_label(one), *_widths(one, told["refused"])) for one in told["columns"]]
    return joined(
        tag("h2", "What it would give"),
        questions and table(heads, questions, f"Questions that matter, about {told['rows']:,} rows"),
        table(heads, columns, f"Column by column, about {told['rows']:,} rows"),
        (tag("p", f"No {texts.WAYS[way]}: {why}.", class_="note") for way, why in told["refused"].items()),
        tag("p", TEXTS["usual"], class_="hint"),
        any("rare" in one for one in told["questions"]) and tag("p", RARELY, class_="hint"),
        tag("p", costliest(told)),
        told["verdict"] and tag("p", f"Take care: {told['verdict']}", class_="error"),
        told["advice"] and folded("What would help", tag("ul", (tag("li", text) for text in told["advice"]))),
    )


def answer_label(one: Mapping[str, Any]) -> str:
    """The name of one ±: of a column of the answer to a question, or of the usual question about a column."""
    return f"{one['column']}: {one['question']}" if "question" in one else f"{one['name']}: {one['what']}"


def _widths(one: Mapping[str, Any], refused: Mapping[str, str]) -> list[str]:
    """± each way; a word where there is none, or where it tells nothing."""
    return [figure(None) if way in refused else _width(one, way) for way in WAYS]


def _width(one: Mapping[str, Any], way: str) -> str:
    if not one["informative"][way]:
        return NOTHING
    if one[way] is None:
        return TEXTS["not_measured" if way == "central" and "question" not in one else "depends"]
    rare = rarely(one["rare"][way]) if way in one.get("rare", {}) else ""
    return f"{figure(one[way])} {one.get('unit') or ''}".rstrip() + rare


def costliest(told: Mapping[str, Any]) -> str | None:
    """Which column costs most."""
    shares = {one["name"]: one["share"] for one in told["columns"] if one["share"]}
    if len(shares) < 2:
        return None
    most = max(shares, key=shares.__getitem__)
    if max(shares.values()) - min(shares.values()) < 0.005:
        return TEXTS["costs_same"]
    return TEXTS[f"costs_{told['model']}"].format(most, f"{shares[most]:.0%}")


def meaning_of(told: Mapping[str, Any], command: str) -> Markup:
    """What ε means to one person, as the report tells it, and the plan as a file."""
    meaning = told["meaning"]
    privacy = Privacy(str(meaning["epsilon"]), str(meaning["delta"]), neighbours=meaning["neighbours"])
    texts_of_care = list(meaning["advice"])
    rows = told["rows_per_person"]
    if told["model"] == "local" and rows > 1 and meaning["neighbours"] == "change-one":
        texts_of_care.append(TEXTS["per_row"].format(rows, figure(meaning["epsilon"])))
    return joined(
        Markup(deniability_section(privacy, rows)),
        (tag("p", f"Take care: {text}", class_="error") for text in texts_of_care),
        folded("The plan as a file", verbatim(told["plan"])),
        copied(command, TEXTS["in_folder"]),
    )


def found_epsilons(told: Mapping[str, Any]) -> Markup:
    """The ε that gives a ± each way, each with a button that puts it into the form."""
    rows = []
    for way, epsilon in told["epsilon"].items():
        why = told["refused"].get(way) or TEXTS["no_epsilon"]
        take = tag("button", f"Use {epsilon}", name="take", value=epsilon, aria_label=f"Use ε = {epsilon}")
        rows.append((texts.WAYS[way], epsilon or why, take if epsilon else None))
    return table(("way", "ε", ""), rows, "The least ε that gives it")
