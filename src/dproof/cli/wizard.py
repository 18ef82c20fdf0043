"""`dproof init --ask`: a plan by questions and answers, with ± as it grows; then the commands, and a notebook.

Answers come from a terminal or, one in a line, from a pipe. Nothing is written before the last one.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, TypeVar

import click

from dproof.advice.expect import ExpectedWidth, expect, usual_question
from dproof.advice.ways import compare_ways
from dproof.cli.output import Page, emit
from dproof.cli.plan import ways_page
from dproof.columns.codec import quoted
from dproof.columns.numbers import written_as
from dproof.columns.suggestions import date_format as format_of
from dproof.errors import FileError, InputError
from dproof.exact import exact, plain_number, written
from dproof.meaning import explain
from dproof.plans.draft import USUAL_TABLES, toml_lines
from dproof.plans.plan import Plan
from dproof.plans.questions import planned_question
from dproof.plans.reader import MisplacedKey, Reader, open_keys, read_column, to_toml
from dproof.privacy import Privacy
from dproof.releases.drafting import (
    USUAL_ROWS,
    DraftedColumn,
    Model,
    TableDraft,
    comment,
    draft,
    file_keys,
    first_question,
    kept_outside,
    notebook,
)
from dproof.releases.inspection import check as inspect
from dproof.spaces.dates import date_of, day_of
from dproof.storage import check_absent
from dproof.tables import open_source

T = TypeVar("T")
# What a person answers, with the space and the keys that a column of that kind begins with.
_KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "c": ("categories", {"values": []}),
    "n": ("interval", {"low": "?", "high": "?"}),
    "d": ("date", {"low": "?", "high": "?", "bins": "calendar"}),
    "t": ("time", {"low": "00:00", "high": "23:59", "bins": "hours"}),
    "s": ("subsets", {"separator": ";", "values": []}),
    "x": ("", {}),
}
_EPSILONS = {"1": "0.1", "2": "0.5", "3": "1", "4": "3"}
_NOBODY = (
    "--ask is a dialogue, and no answer came: run it in a terminal, or pipe an answer for each question, one in a line"
)
_YES, _NO = ("y", "yes"), ("n", "no")


def dialogue(data: Path, table: str | None, *, look: bool, header: int | None, model: Model | None, out: Path) -> None:
    """Ask for a plan, question by question; write it and a notebook."""
    book = out.with_suffix(".ipynb")
    for target in (out, book):
        check_absent(target)
    _say(
        "Enter takes what stands in [ ]; Ctrl-C leaves, and nothing is written. A plan is public: answer from what you "
        "know, not from the data."
    )
    look = look or _yes("\nMay rows be read, to see kinds and formats of columns?", True)
    drafted = draft(data, table=table, look=look, file=None if header is None else {"header": header})
    if drafted.layout.header > 1 and header is None:
        names = ", ".join(column.name for column in drafted.columns[:3])
        _say(f"\nThe names of the columns seem to stand in line {drafted.layout.header}: {names} …")
        if not _yes("Is that right", True):
            raise InputError("write the number of that line, as in `dproof init DATA --ask --header 3`")
    _say(
        f"\nA plan for {data.name}: {len(drafted.columns)} columns. Where a column is asked about, ? shows what the "
        "table has, = takes that, and x leaves the column out.\n"
    )
    title = _ask("A title for the report", "")
    if model is None:
        _say(
            "\nWho may see the true rows?\n  1  you, who hold the table: sharp answers\n"
            "  2  nobody: each row is changed at random"
        )
        model = "local" if _choice("Who", ("1", "2"), "1") == "2" else "central"
    plan: dict[str, Any] = {"about": {"title": title}} if title else {}
    plan["privacy"] = {"model": model, **_promise(model, drafted)}
    if model == "central":
        plan["release"] = dict(USUAL_TABLES)
    file = file_keys(drafted.layout)
    plan |= {"file": file} if file else {}
    known = str(_about_rows(data, table, drafted)) if look else "1000"
    rows = _until(lambda: _whole(_ask("\nAbout how many rows has the table? (for ± beforehand)", known)))
    columns = _columns(data, table, drafted, plan, rows)
    whole = {**plan, "columns": columns}
    questions = _questions(whole, rows)
    if questions:
        whole["questions"] = questions
    if questions and model == "central":  # what is asked, sharply, and each column by itself
        whole["release"] = {**USUAL_TABLES, "tables": 1}
    text = _text(whole)
    parsed = Plan.parse(text)
    click.echo("")
    emit({}, False, lambda: _widths_page(whole, rows))
    if not _yes(f"Write {out} and {book}?", True):
        click.echo("Nothing was written.")
        return
    cells = notebook(data, parsed, rows=rows, table=table, title=title)
    write_new({out: text, book: json.dumps(cells, indent=1, ensure_ascii=False) + "\n"})
    quoted, plan_path = shlex.quote(str(data)), shlex.quote(str(out))
    option = "" if table is None else f" --table {shlex.quote(table)}"
    click.echo(f"""
{out} and {book} are written. Next:
  # what the plan does not foresee; confidential
  dproof check {quoted} --plan {plan_path}{option}
  # what to expect, and what would help
  dproof plan {plan_path} --rows {rows}
  # the release, which spends epsilon, with the page release/report.html
  dproof sanitise {quoted} --plan {plan_path}{option} --out release
  # any question, at no cost
  dproof query release {shlex.quote(first_question(columns))}""")
    if model != "central" and parsed.person is None:
        click.echo(f"""\
  # or, in the place of a table, a page that asks people and changes each answer before it is sent
  dproof collect {plan_path} --out survey""")


def _about_rows(data: Path, table: str | None, drafted: TableDraft) -> int:
    """How many rows the table has, to two digits."""
    source = open_source(data, table, drafted.layout)
    rows = source.rows or sum(batch.num_rows for batch in source.read(source.names[:1]))
    return max(1, round(rows, 2 - len(str(rows))))


# The promise ---------------------------------------------------------------------------------------------------------


def _promise(model: Model, drafted: TableDraft) -> dict[str, Any]:
    """What a person may lose, and who is a person."""
    delta = "1e-6" if model == "central" else "0"
    _say(
        "\nHow much may one person lose? An attacker who knows everything but which of two values is true, and guesses:"
    )
    for number, epsilon in _EPSILONS.items():
        right = f"{explain(Privacy(epsilon))['attack_accuracy']:.1%}"
        click.echo(
            f"  {number}  ε = {epsilon:<4} right at most {right} of the time{' (usual)' if epsilon == '1' else ''}"
        )
    epsilon = _until(lambda: _epsilon(_ask("1 to 4, or ε itself such as ε 2", "3"), delta))
    promise: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighbours": "change-one"}
    if model == "central":
        _say(
            "\nIs the number of rows public? If it is not (add-remove), a person may be absent, which most other tools "
            "promise, with 0.5 to 0.7 of the noise."
        )
        promise["neighbours"] = "change-one" if _yes("Public", True) else "add-remove"
    if _yes("\nMay a person have several rows?", drafted.has_several_rows):
        sources = [name for column in drafted.columns for name in column.sources]
        guess = drafted.person or ""
        promise["person"] = _until(lambda: _one_of(_ask("Which column names the person", guess), sources))
        _say("Every row that counts costs noise: two rows of a person, about twice that of one.")
        promise["rows_per_person"] = _until(
            lambda: _whole(_ask("How many rows of a person count at most", str(USUAL_ROWS)))
        )
    return promise


def _epsilon(answer: str, delta: str) -> str:
    given = _EPSILONS.get(answer) or re.sub(r"^(ε|epsilon|e)\s*=?\s*", "", answer)
    Privacy(exact(given, "epsilon"), exact(delta))
    return given


# The columns ---------------------------------------------------------------------------------------------------------


def _columns(data: Path, table: str | None, drafted: TableDraft, plan: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """The table of each column, asked for one by one."""
    columns: dict[str, Any] = {}
    person = plan["privacy"].get("person")
    for number, column in enumerate(drafted.columns, 1):
        _say(f"\n{number} of {len(drafted.columns)}: {column.name or '(no name)'}")
        if person in column.sources:
            columns |= {name: {"drop": True} for name in column.sources}
            click.echo("names the person: it is left out of the release.")
            continue
        keys = _until(lambda column=column: _column(data, table, column, plan, drafted))  # type: ignore[misc]
        if not keys and len(column.sources) > 1:
            columns |= {name: {"drop": True} for name in column.sources}
        else:
            columns[column.name] = keys or {"drop": True}
        if keys:
            with suppress(InputError):
                _tell({**plan, "columns": columns}, column.name, rows, person)
    if all("drop" in keys for keys in columns.values()):
        raise InputError("every column is left out: there is nothing to release, and nothing was written")
    return columns


def _column(
    data: Path, table: str | None, column: DraftedColumn, plan: Mapping[str, Any], drafted: TableDraft
) -> dict[str, Any]:
    """The keys of one column; none where it is left out."""
    keys = {key: value for key, value in column.keys.items() if key != "drop"}
    if len(column.sources) > 1:
        _say(f"{len(column.sources)} columns, {column.sources[0]} to {column.sources[-1]}, as one: {column.kind}.")
        if not _yes("Keep them so (no: leave them out)", True):
            return {}
    else:
        usual = next((kind for kind, (space, _) in _KINDS.items() if space == keys.get("space", "")), "c")
        kind = _choice(
            "(c)ategory, (n)umber, (d)ate, (t)ime, (s)et of items, or x to leave it out", tuple(_KINDS), usual
        )
        if kind == "x":
            return {}
        space, begun = _KINDS[kind]
        if keys.get("space") != space:
            written = _until(_written_dates) if space == "date" else {}
            keys = {"space": space, **begun, **written}
    if plan["privacy"]["model"] != "central":  # there bins would be all that a row can say
        keys.pop("bins", None)
    marks = keys.get("values")
    if marks and len(column.sources) == 1 and not _yes(f"Only {' and '.join(map(str, marks))}", True):
        keys["values"] = []
    if keys.get("separator") and keys["values"] == []:
        keys["separator"] = _ask("What stands between items", keys["separator"])
    seen: dict[str, Any] = {}
    while left := open_keys(keys):
        asked = partial(_open_key, data, table, column, keys, left[0], drafted, seen)
        answers = _until(asked)
        if answers is None:
            return {}
        keys |= answers
    blank = "missing" in seen or "missing" in column.keys
    if "missing" in keys and len(column.sources) == 1:
        click.echo("Some are blank: that is a value of its own.")
    elif "missing" not in keys and _yes("May it be blank?", blank):
        keys["missing"] = "category"
    try:
        read_column(column.name, Reader(keys, ("columns", column.name)))
    except MisplacedKey as error:
        raise InputError(str(error)) from None
    return keys


def _questions(plan: Mapping[str, Any], rows: int) -> list[dict[str, Any]]:
    """The questions that must be answered well, each refused in a sentence where it cannot be."""
    _say("\nWhich questions must be answered well? In SQL, one after the other; Enter ends. None: all columns alike.")
    by, number = (_first_of(plan["columns"], space) for space in ("categories", "interval"))
    if by and number:
        click.echo(f"  such as SELECT {by}, avg({number}) AS mean FROM data GROUP BY {by}")
    asked: list[dict[str, Any]] = []
    while sql := _until(partial(_question, plan, asked, rows)):
        asked.append({"sql": sql})
    return asked


def _question(plan: Mapping[str, Any], asked: list[dict[str, Any]], rows: int) -> str:
    sql = _ask(f"Question {len(asked) + 1}", "")
    if sql:
        release = {"release": {**USUAL_TABLES, "tables": 1}} if plan["privacy"]["model"] == "central" else {}
        planned_question(sql, Plan.of(plan).columns)  # which is refused without the name of a key
        chosen = Plan.of({**plan, **release, "questions": [*asked, {"sql": sql}]})
        for one in expect(chosen, rows=rows, questions=sql):
            click.echo(f"{one.column}: {_told(one)} in {rows:,} rows{', if they are spread evenly' * (not one.exact)}.")
    return sql


def _told(one: ExpectedWidth) -> str:
    """± of an answer, where it can be known."""
    if one.half_width is None:
        return "± depends on the data"
    return f"± {written(one.half_width)}" if one.informative else "no information"


def _first_of(columns: Mapping[str, Any], space: str) -> str | None:
    """The first column of a space, as SQL has it."""
    return next((quoted(name) for name, keys in columns.items() if keys.get("space") == space), None)


def _written_dates() -> dict[str, str]:
    """How dates are written, from one of them; nothing for ISO 8601."""
    answer = _ask("One of its dates as the table writes it, such as 31.12.2024", "2024-12-31")
    found, written = format_of([answer])
    if not found or (written is None and day_of(answer) is None):
        raise InputError("answer with a date, and four digits for the year")
    return {} if written is None else {"format": written}


def _open_key(
    data: Path,
    table: str | None,
    column: DraftedColumn,
    keys: dict[str, Any],
    key: str,
    drafted: TableDraft,
    seen: dict[str, Any],
) -> dict[str, Any] | None:
    """The answer for a key that is open: `?` shows what the table has, `=` takes that for all that are open, and for
    `x` there is none."""
    asked = {"values": "Its values, with ; between them", "low": "The least", "high": "The greatest"}.get(key, key)
    while True:
        answer = _ask(f"{asked} (or ?, =, x)", "")
        if answer == "x":
            return None
        if answer == "?" or (answer == "=" and not seen):
            found, more = _seen(data, table, column, keys, drafted)
            if more and found:  # else what the dialogue ends with would stop `sanitise`
                found["outside"] = kept_outside(keys)
            seen |= found
            click.echo("CONFIDENTIAL, from the table. Take what you would have known without it:")
            shown = {name: value for name, value in found.items() if name != "missing"}
            click.echo(toml_lines(column.name, shown) if shown else "no value could be read")
            if more:
                told = f"{more:,} more, rarer or of one row each: of an id or free text, x leaves it out"
                click.echo(comment(told), nl=False)
        if answer == "=" and key in seen:
            return {name: seen[name] for name in (*open_keys(keys), "outside") if name in seen}
        if answer and answer not in ("?", "=") and (value := _value(answer, key, keys, drafted)) not in (None, []):
            return {key: value}
        if not answer:
            click.echo("An answer is needed here; Ctrl-C leaves.")


def _seen(
    data: Path, table: str | None, column: DraftedColumn, keys: Mapping[str, Any], drafted: TableDraft
) -> tuple[dict[str, Any], int]:
    """What the table has for what is open in one column, and how many more values."""
    emptied = {name: "?" if name in ("low", "high") else value for name, value in keys.items()}
    others = {name: {"drop": True} for other in drafted.columns if other is not column for name in other.sources}
    file = file_keys(drafted.layout)
    found = inspect(
        data,
        {"privacy": {"epsilon": 1}, "columns": {**others, column.name: emptied}, **({"file": file} if file else {})},
        table=table,
    )
    suggested = {key: value for suggestion in found.suggestions for key, value in suggestion.keys.items()}
    return suggested, sum(suggestion.more for suggestion in found.suggestions)


def _value(answer: str, key: str, keys: Mapping[str, Any], drafted: TableDraft) -> Any:
    """What an answer says for a key, as a plan has it."""
    if key in ("low", "high"):
        return _day(answer, keys) if keys.get("space") == "date" else _number(answer, drafted)
    if key != "values":
        return answer
    parts = [part.strip().strip('"') for part in answer.split(";" if ";" in answer else ",")]
    values = list(dict.fromkeys(part for part in parts if part))
    if values and all(re.fullmatch(r"-?(0|[1-9]\d*)", value) for value in values):
        return [int(value) for value in values]
    return values


def _day(answer: str, keys: Mapping[str, Any]) -> Any:
    """A date, written in ISO 8601 or as the table writes it."""
    day, written = day_of(answer), keys.get("format")
    if day is None and written is not None and (found := written_as(written).matches(answer)) is not None:
        day = written_as(written).number(found)
    if day is None:
        raise InputError("answer with a date, such as 2024-12-31")
    return date_of(day)


def _number(answer: str, drafted: TableDraft) -> Any:
    """A number, written with a point or as the table writes it."""
    local = drafted.layout.numerals.plain(answer)
    try:
        plain = exact(answer, "the number")
    except InputError:
        if local is None:
            raise
        plain = exact(local, "the number")
    if local is not None and exact(local, "the number") != plain:
        raise InputError(f"{answer} may be {written(local)} or {written(plain)}: write it without signs for thousands")
    return plain_number(plain)


def _tell(plan: Mapping[str, Any], name: str, rows: int, person: str | None) -> None:
    """± of the usual question about a column, in the plan so far."""
    columns = dict(plan["columns"]) | ({person: {"drop": True}} if person is not None else {})
    chosen = Plan.of({**plan, "columns": columns})
    (found,) = expect(chosen, rows=rows, questions=usual_question(chosen, name).sql)
    if found.half_width is not None:
        what = "mean" if chosen.column(name).is_averaged else "count of one value"
        click.echo(f"With the columns so far, the {what}: {_told(found)} in {rows:,} rows.")


def _widths_page(plan: Mapping[str, Any], rows: int) -> Page:
    """± of the usual question about each column, each way, as `dproof plan` shows it."""
    yield from ways_page(compare_ways(plan, rows=rows))


# What is written -----------------------------------------------------------------------------------------------------


def _text(plan: Mapping[str, Any]) -> str:
    """The plan as TOML."""
    rest = to_toml({key: value for key, value in plan.items() if key not in ("columns", "questions")})
    asked = "".join(f"\n[[questions]]\n{to_toml(one)}" for one in plan.get("questions", ()))
    return "\n".join([rest, *(toml_lines(name, keys) for name, keys in plan["columns"].items())]) + asked


def write_new(texts: Mapping[Path, str]) -> None:
    """Write all files or none, and none over one that is there."""
    made: list[Path] = []
    try:
        for target, text in texts.items():
            with target.open("x", encoding="utf-8") as file:
                made.append(target)
                file.write(text)
    except BaseException as error:
        for target in made:
            target.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FileError(f"nothing can be written there: {error.strerror}") from None
        raise


# Questions -----------------------------------------------------------------------------------------------------------


def _say(text: str) -> None:
    """Lines no wider than the terminal, broken between words."""
    width = get_terminal_size().columns
    for line in text.split("\n"):
        click.echo("\n".join(wrap(line, width)))


def _ask(question: str, usual: str) -> str:
    """The answer to one question, or what is usual."""
    try:
        answer = input(f"{question}{f' [{usual}]' if usual else ''}: ").strip()
    except EOFError:
        raise InputError(f"{_NOBODY}; nothing was written") from None
    return answer or usual


def _choice(question: str, options: tuple[str, ...], usual: str) -> str:
    return _until(lambda: _one_of(_ask(question, usual).lower()[:1], options))


def _yes(question: str, usual: bool) -> bool:
    return _until(lambda: _one_of(_ask(f"{question} (y/n)", "y" if usual else "n").lower(), (*_YES, *_NO))) in _YES


def _one_of(answer: str, options: Any) -> str:
    if answer not in options:
        raise InputError(f"answer with one of {', '.join(list(options)[:20])}")
    return answer


def _whole(answer: str) -> int:
    number = answer.replace(",", "").replace(" ", "")
    if not number.isdecimal() or not 1 <= int(number) <= 10**9:
        raise InputError("answer with a whole number from 1 on, such as 1000")
    return int(number)


def _until(ask: Callable[[], T]) -> T:
    """What is asked, again until the answer is a good one; a dialogue without answers ends."""
    while True:
        try:
            return ask()
        except InputError as error:
            if _NOBODY in str(error):
                raise
            _say(f"  {error}.")
