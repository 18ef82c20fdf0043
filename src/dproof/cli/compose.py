"""`dproof compose`: what several guarantees or mechanisms cost together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any

import click

from dproof.certification import compose as composing
from dproof.certification.compose import Composition
from dproof.cli.command import command, json_option, neighbours_option
from dproof.cli.matrix_file import read_law
from dproof.cli.output import Page, Table, advise, emit
from dproof.errors import ArgumentError, InputError, TooLarge
from dproof.exact import exact, float_above, several
from dproof.limits import MOST_COMPOSED_ROWS, MOST_PARTS
from dproof.mechanisms.mechanism import Mechanism
from dproof.privacy import Privacy

_PART = re.compile(r"(?:(\d{1,9})x)?(.+)", re.DOTALL)
_LAWS = (".csv", ".json", ".npy")


@command
@click.argument(
    "parts",
    nargs=-1,
    required=True,
    metavar="PART...",
    help="ε, or ε,δ, or a file with a law; 10x0.1,1e-6 is ten of these.",
)
@click.option("--delta", metavar="D", help="Report ε at this δ; by default at the sum of the δ given.")
@click.option("--epsilon", metavar="E", help="Report δ at this ε instead.")
@neighbours_option
@click.option(
    "--rows",
    metavar="N",
    type=click.IntRange(1, MOST_COMPOSED_ROWS),
    default=1,
    help="Also report it for N rows together.",
)
@json_option
def compose(
    parts: tuple[str, ...], delta: str | None, epsilon: str | None, neighbours: str, rows: int, as_json: bool
) -> None:
    """Say what several guarantees or mechanisms cost together.

    Each PART is what one answer about the same rows keeps: ε, or ε,δ, such as 0.5 or 0.5,1e-6. A file .csv, .json or
    .npy holds a mechanism as `dproof certify` reads it; such laws are composed exactly, which costs less than their
    guarantees do.

    Every rule that applies is shown, as tight if some mechanisms cost that much, else as an upper bound. With
    --neighbours add-remove the result is also restated for change-one.

    With --json: rule, tight, epsilon and delta of the best rule; rules, all of them; group, for --rows; change_one. An
    ε that no rule gives is "inf".
    """
    if epsilon is not None and delta is not None:
        raise ArgumentError("give --delta or --epsilon: the other one is the answer")
    given = [part for text in parts for part in _read_part(text, neighbours)]
    if len(given) > MOST_PARTS:
        raise TooLarge(f"at most {MOST_PARTS:,} parts are composed; these are {len(given):,}")
    asked = _asked(given, epsilon, delta, neighbours)
    rules = [_row(made, asked, epsilon is not None) for made in _rules(given)]
    best = min(rules, key=lambda row: (row["epsilon"] if epsilon is None else row["delta"], not row["tight"]))
    found = None if best["epsilon"] == inf else (exact(best["epsilon"]), exact(best["delta"]))
    guarantee = None if found is None else Privacy.derived(*found, neighbours)  # type: ignore[arg-type]  # as in parts
    # What follows from a guarantee is attained where that is all that is known: from one as it was given, or at δ = 0.
    tight = given == [guarantee] or (best["tight"] and best["delta"] == 0 and isinstance(given[0], Privacy))
    answer = {
        "parts": len(given),
        "neighbours": neighbours,
        **best,
        "rules": rules,
        "group": None,
        "change_one": None,
    }
    if guarantee is not None and rows > 1:
        answer["group"] = {"rows": rows, **_derived(guarantee.for_group(rows), tight)}
    if guarantee is not None and neighbours != "change-one":
        answer["change_one"] = _derived(guarantee.restated("change-one"), tight)
    emit(_finite(answer), as_json, lambda: _compose_page(answer, given))


def _read_part(text: str, neighbours: str) -> list[Any]:
    """The promises or mechanisms of one PART."""
    matched = _PART.fullmatch(text.strip())
    times, rest = (matched.group(1), matched.group(2)) if matched and not Path(text).is_file() else (None, text)
    count = 1 if times is None else int(times)
    if not 1 <= count <= MOST_PARTS:
        raise TooLarge(f"part {text[:40]!r} stands for {count:,} parts; from 1 to {MOST_PARTS:,} are composed")
    if rest.lower().endswith(_LAWS):
        return [read_law(Path(rest))] * count
    numbers = rest.split(",")
    try:
        if len(numbers) > 2:
            raise ArgumentError("there are more than two numbers")
        return [Privacy(*numbers, neighbours=neighbours)] * count  # type: ignore[arg-type]  # checked by Privacy
    except InputError as error:
        raise ArgumentError(
            f"part {text[:40]!r} is neither ε, nor ε,δ, nor a file .csv, .json or .npy: {error}"
        ) from None


def _asked(given: Sequence[Any], epsilon: str | None, delta: str | None, neighbours: Any) -> Privacy:
    """The ε or the δ at which the other one is told; δ is the sum of those given, if nobody says."""
    if epsilon is not None:
        return Privacy(epsilon, neighbours=neighbours)
    total = min(1, sum(part.delta for part in given if isinstance(part, Privacy)))
    return Privacy(0, total if delta is None else delta, neighbours=neighbours)


def _rules(given: list[Any]) -> Iterator[Composition]:
    """The composition by every rule that applies."""
    if any(isinstance(part, Mechanism) for part in given):
        yield composing.compose(given)
        return
    yield composing.compose(given, "basic")
    if len(given) > 1 and all(part == given[0] for part in given):
        yield composing.compose(given, "advanced")
    try:
        yield composing.compose(given, "optimal")
    except TooLarge as error:
        advise(f"the optimal rule is left out: {error}")


def _row(made: Composition, asked: Privacy, at_epsilon: bool) -> dict[str, Any]:
    epsilon = float_above(asked.epsilon) if at_epsilon else made.epsilon(asked.delta)
    delta = made.delta(asked.epsilon) if at_epsilon else float_above(asked.delta)
    tight = made.tight and (made.rule != "basic" or delta == 0)  # sums of ε are attained at δ = 0 alone
    return {"rule": made.rule, "tight": tight, "epsilon": epsilon, "delta": delta}


def _derived(privacy: Privacy, tight: bool) -> dict[str, Any]:
    """A guarantee that follows, tight while its δ is at most 1/2."""
    return {"tight": tight and privacy.delta * 2 <= 1, **privacy.to_json_above()}


def _finite(answer: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity."""
    rules = [_finite(row) for row in answer.get("rules", ())]
    epsilon = "inf" if answer["epsilon"] == inf else answer["epsilon"]
    return {**answer, "epsilon": epsilon, **({"rules": rules} if rules else {})}


def _compose_page(answer: dict[str, Any], given: Sequence[Any]) -> Page:
    what = "mechanism" if isinstance(given[0], Mechanism) else "guarantee"
    yield f"\n[bold]{several(len(given), what)}[/bold] about the same rows, {answer['neighbours']}:\n"
    yield Table(("rule", "ε", "δ", ""), (_figures(row["rule"], row) for row in answer["rules"]), left=(0, 3))
    group, changed = answer["group"], answer["change_one"]
    derived = [] if group is None else [_figures(f"{group['rows']} rows together", group)]
    derived += [] if changed is None else [_figures("read as change-one", changed)]
    if derived:
        yield f"\nBy the rule [bold]{answer['rule']}[/bold]:\n"
        yield Table(("", "ε", "δ", ""), derived, left=(0, 3))
    yield ""


def _figures(name: str, row: dict[str, Any]) -> tuple[str, str, str, str]:
    return name, f"{row['epsilon']:.6g}", f"{row['delta']:.6g}", "tight" if row["tight"] else "an upper bound"
