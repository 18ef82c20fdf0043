"""`dproof init`: a draft plan for a table.

With --look the first rows are read too. Nothing of a value is kept: only which kind most of a column's values are, and
with which signs they are written.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import Any

import click
import pyarrow as pa

from dproof.cli.command import command, data_argument, json_option, table_option
from dproof.cli.output import advise, emit
from dproof.columns.arrow import decoded
from dproof.columns.codec import codec_class
from dproof.columns.values import Numerals
from dproof.plans.reader import SPACES, to_toml
from dproof.tables import Source, open_source
from dproof.tables.delimited import doubtful_names, unpacked
from dproof.tables.source import USUAL, Layout, ending

_LOOKED = """\
# CONFIDENTIAL until a person has checked it: --look read rows of the table to
# guess the kinds of the columns and how the file is written. Keep what you
# could say without having seen the table, mend the rest, delete these lines.

"""
_HEAD = """\
# A draft: the names of the columns and nothing of their values. Everything in
# a plan is public knowledge, so declare from what you know, not from the data.
# A column's space is one of
{spaces}# or write public = true (released as it is) or drop = true (left out), which
# is where ids, names and free text belong.
# share = 2 doubles a column's part of epsilon. With many columns write
# spread = "auto" under [privacy]: then epsilon is split so that answers are
# sharpest, or each row answers for one thing alone, whichever is better.
# model = "local" trusts nobody: each row is changed at random by itself. Are
# you trusted with the table? Then model = "central" measures tables of the
# whole, and is far sharper: see the tutorial "Which model?". A table [release]
# then says what is measured: tables = 2, sums = true, rows = true.
# bins = [0, 20, 40, 100], edges from low to high, in a column of numbers or
# dates make conditions at the edges sharp, in both models.
# [file] says how the file is written: separator, encoding, decimal, thousands,
# sheet.

"""
_HEADERLESS = """\
# Is the first line a header? Some of its fields look like values. If they are
# a row of the table, this draft is about a person: delete it, write the names
# of the columns above that row and draft again.

"""


@command
@data_argument
@table_option
@click.option("--look", is_flag=True, help="Also read some rows, for kinds, encoding and decimal sign.")
@json_option
def init(data: Path, table: str | None, look: bool, as_json: bool) -> None:
    """Draft a plan from the names of a table's columns.

    The draft goes to standard output: `dproof init people.csv > plan.toml`, then declare the spaces. It is made from
    the header and the types in the file. With --look some rows are read too, so that the draft is confidential until
    you have checked it. No value and no bound of the table is copied.
    """
    layout = _seen_layout(data, table, look)
    source = open_source(data, table, layout)
    types = _types(source)
    if look:
        texts = sample(source)
        layout = replace(layout, numerals=seen_numerals(texts, layout.separator or ","))
        types |= {name: seen_type(found, layout.numerals) or types[name] for name, found in texts.items()}
    drafts = {name: _drafted(name, kind) for name, kind in types.items()}
    headerless = bool(doubtful_names(source, look=look))
    text = (_LOOKED if look else "") + (_HEADERLESS if headerless else "") + _draft(drafts.values(), layout)
    columns = [{"name": name, "kind": kind} for name, (kind, _) in drafts.items()]
    if as_json:
        emit({"plan": text, "columns": columns, "confidential": look}, True, list)
        return
    click.echo(text, nl=False)
    advise("declare the values and bounds in this draft, then look at it with `dproof plan`")
    if headerless:
        advise("is the first line a header? Some of its fields look like values, and a plan is public")
    if look:
        advise("the draft was made from rows of the table: keep it to yourself until you have checked it")


def _draft(columns: Iterable[tuple[str, str]], layout: Layout) -> str:
    parts = [_HEAD.format(spaces=_overview()).rstrip("\n") + "\n"]
    signs = {"decimal": layout.numerals.decimal, "thousands": layout.numerals.thousands}
    usual = {"encoding": USUAL.encoding, "decimal": USUAL.numerals.decimal, "thousands": USUAL.numerals.thousands}
    file = {"separator": layout.separator, "encoding": layout.encoding, **signs, "sheet": layout.sheet}
    given = {key: value for key, value in file.items() if value != usual.get(key)}
    parts += (
        ["# How the file is written, as far as it shows: check each line.\n" + to_toml({"file": given})]
        if given
        else []
    )
    promise = {"model": "local", "epsilon": "1", "delta": "0", "neighbours": "change-one"}
    parts.append(to_toml({"privacy": promise}))
    return "\n".join([*parts, *(table for _, table in columns)])


def _seen_layout(data: Path, table: str | None, look: bool) -> Layout:
    """How a file is written, as far as its header shows it, or its first rows."""
    from dproof.tables.delimited import header_encoding, header_line, separator_of, usual_separator
    from dproof.tables.files import files_of

    path = files_of(data)[0] if data.is_dir() else data
    if ending(path) == ".xlsx":
        return Layout(sheet=table)
    if not ending(path).startswith((".csv", ".tsv")) or not path.exists():
        return USUAL
    encoding = header_encoding(path)
    if look:
        encoding = seen_encoding(path, encoding)
    separator = separator_of(header_line(path, encoding).decode("utf-8", "replace"), path)
    return Layout(separator=None if separator == usual_separator(path) else separator, encoding=encoding)


def _types(source: Source) -> dict[str, Any]:
    """The Arrow type of each column."""
    import pyarrow as pa

    first = next(iter(source.read(source.names)), None) if source.typed else None  # texts have no types to look at
    types = dict.fromkeys(source.names, pa.string())
    return types if first is None else types | {field.name: field.type for field in first.schema}


def _drafted(name: str, kind: Any) -> tuple[str, str]:
    """What kind a column seems to be, and its table in the plan."""
    if not name:
        return "nameless", "# A column without a name.\n" + to_toml({"columns": {name: {"drop": True}}})
    # Spaces that were added come first; categories, which text is drafted as, come last.
    drafts = ((space, codec_class(SPACES[space]).draft(kind)) for space in reversed(SPACES))
    space, draft = next((space, draft) for space, draft in drafts if draft is not None)
    below = (f"# {key.draft}\n" for key in codec_class(SPACES[space]).keys if key.draft)
    return draft.kind, to_toml({"columns": {name: {"space": space, **draft.keys}}}) + "".join(below)


def _overview() -> str:
    """The spaces that a plan can name, each with its usual keys."""
    lines = []
    for name, space in SPACES.items():
        keys = "; ".join(key.example for key in codec_class(space).keys if key.example)
        whole = keys.replace(" = ", "\0=\0")  # what belongs together stays on one line
        lines += wrap(whole, 79, initial_indent=f"#   {name:<12} ", subsequent_indent=f"#{' ' * 16}")
    return "".join(f"{line}\n" for line in lines).replace("\0", " ")


_SAMPLE_ROWS = 10_000  # rows
_SAMPLE_BYTES = 1 << 20
_LEAST_SHARE = 0.5  # of the values that are there: people write "n/a" and "none" among numbers
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ]\d\d?:\d\d.*)?|\d\d?([./-])\d\d?\2\d{2,4}( \d\d?:\d\d.*)?|\d{4}/\d\d?/\d\d?")
_TRUTH = {"true", "false"}

Sample = Mapping[str, Sequence[str]]


def seen_encoding(path: Path, encoding: str) -> str:
    """The encoding of the header, or the usual one of Windows where bytes in the first rows are not in it."""
    with unpacked(path) as file:
        start = file.read(_SAMPLE_BYTES)
    try:
        codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError:
        return "cp1252"
    return encoding


def sample(source: Source) -> dict[str, list[str]]:
    """The texts in the first rows of each column of text; none that are blank."""
    texts: dict[str, list[str]] = {}
    batch = next(iter(source.read(source.names)), None)
    for name, array in () if batch is None else zip(source.names, batch.slice(0, _SAMPLE_ROWS).columns, strict=True):
        array = decoded(array)
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_binary(array.type):
            values = array.cast(pa.large_binary()).to_pylist()
            found = (value.decode("utf-8", "replace").strip() for value in values if value is not None)
            texts[name] = [text for text in found if text]
    return texts


def seen_numerals(texts: Sample, separator: str) -> Numerals:
    """The signs with which most values are numbers; the plain ones where others read no more."""
    point, comma = Numerals(".", ","), Numerals(",")
    # 65,000 in quotes among commas has thousands; 1,234 among semicolons has a decimal comma.
    doubtful = [point, comma] if separator == "," else [comma, point]
    signs = [Numerals(), *doubtful, Numerals(",", "."), Numerals(",", " "), Numerals(".", " "), Numerals(".", "'")]
    values = [text for column in texts.values() for text in column]
    return max(signs, key=lambda sign: sum(_is_number(text, sign) for text in values))


def seen_type(texts: Sequence[str], numerals: Numerals) -> Any:
    """The Arrow type of what most of a column's texts are; None where they are just texts."""
    if not texts:
        return None
    if all(text.lower() in _TRUTH for text in texts):
        return pa.bool_()
    if sum(_is_number(text, numerals) for text in texts) >= _LEAST_SHARE * len(texts):
        return pa.float64()
    return (
        pa.date32() if sum(_DATE.fullmatch(text) is not None for text in texts) >= _LEAST_SHARE * len(texts) else None
    )


def _is_number(text: str, numerals: Numerals) -> bool:
    return numerals.plain(text) is not None
