"""One column of a plan: its space, the form it has in the source, and what becomes of values outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from dproof.errors import InputError
from dproof.plans.reader import Reader
from dproof.spaces.categories import Categories
from dproof.spaces.interval import Interval
from dproof.spaces.subsets import Subsets
from dproof.tables.layout import PLAIN, Numerals

Kind = Literal["categories", "interval", "subsets", "curves", "public", "drop"]
Form = Literal["plain", "joined", "list", "flags", "wide"]
OTHER = "(other)"
_FARTHEST = 1 << 60  # noise reaches farther, and ends where 64 bits do


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the release.

    `sources` are the columns of the source that hold it: one, a flag for each item, or one for each grid point. A
    value outside the space becomes the nearest point (`clamp`), the value with the code `outside`, or is refused; a
    missing value becomes the value with the code `missing`, or is refused. With `gaps` what would be refused has the
    code −1 instead. Texts are read as numbers by the signs of `numerals`.
    """

    name: str
    kind: Kind
    sources: tuple[str, ...]
    space: Any = None
    form: Form = "plain"
    separator: str = ""
    share: Fraction = Fraction(1)
    mechanism: str = "auto"
    clamp: bool = False
    outside: int | None = None
    missing: int | None = None
    gaps: bool = False
    numerals: Numerals = PLAIN

    @property
    def private(self) -> bool:
        """Whether the column is sanitised: neither dropped nor public."""
        return self.kind not in ("public", "drop")

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the stored file that hold it: the source's form is kept."""
        return self.sources if self.form in ("flags", "wide") else (self.name,)


def read_column(name: str, table: Reader) -> Column:
    """A column from its table in the plan."""
    if table.flag("drop"):
        several = table.texts("columns") if "columns" in table else (name,)
        table.finish()
        return Column(name, "drop", several)
    if table.flag("public"):
        table.finish()
        return Column(name, "public", (name,))
    kind = table.choice("space", tuple(_KINDS))
    column = _KINDS[kind](name, table)
    table.finish()
    return column


def _categories(name: str, table: Reader) -> Column:
    values = table.value("values")
    if not isinstance(values, list) or not values:
        raise table.wrong("values", "must be a list of at least one value")
    if len({_sort(value) for value in values}) > 1 or _sort(values[0]) is None:
        raise table.wrong("values", "must be all texts, all numbers or all true and false")
    labels = list(values)
    outside = missing = None
    if table.choice("outside", ("refuse", "category"), "refuse") == "category":
        label = table.value("outside_value", OTHER)
        if _sort(label) != _sort(labels[0]):
            raise table.wrong("outside_value", "must be given, and of the same kind as the values")
        labels += [label] if label not in labels else []
        outside = labels.index(label)
    given = table.value("missing", "refuse")
    if given in labels:
        missing = labels.index(given)
    elif given == "category":
        labels.append(None)  # stored as null
        missing = len(labels) - 1
    elif given != "refuse":
        raise table.wrong("missing", 'must be "refuse", "category" or one of the values')
    metric = table.value("metric", "discrete")
    space = table.calling(lambda: Categories(labels, metric))
    return Column(name, "categories", (name,), space, outside=outside, missing=missing, **_common(table))


def _sort(value: Any) -> str | None:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)) and value == value and abs(value) != float("inf"):
        return "number"
    return "text" if isinstance(value, str) else None


def _interval(name: str, table: Reader) -> Column:
    low, high, step = table.number("low"), table.number("high"), table.number("step", None)
    space = table.calling(lambda: Interval(low, high, step))
    if max(abs(space.low), abs(space.high)) >= _FARTHEST:
        raise table.wrong(
            "high", "or low lies beyond 2^60, too far for a column of numbers with noise: change the unit"
        )
    clamp = table.choice("outside", ("clamp", "refuse"), "clamp") == "clamp"
    missing = _stand_in(table, space, lambda: table.number("missing"))
    return Column(name, "interval", (name,), space, clamp=clamp, missing=missing, **_common(table))


def _subsets(name: str, table: Reader) -> Column:
    flags = table.texts("columns") if "columns" in table else ()
    items = table.texts("values") if "values" in table or not flags else flags
    separator = table.text("separator", "")
    form: Form = "flags" if flags else "joined" if separator else "list"
    if flags and (len(flags) != len(items) or separator):
        raise table.wrong("columns", "needs one flag for each value, and no separator")
    if separator and any(separator in item for item in items):
        raise table.wrong("separator", "stands inside one of the values")
    if form == "joined" and "" in items:
        raise table.wrong("values", "cannot hold an empty text where items are joined")
    space = table.calling(lambda: Subsets(items, table.text("metric", "symmetric")))
    clamp = table.choice("outside", ("clamp", "refuse"), "refuse") == "clamp"
    given = table.value("missing", "refuse")
    if given != "refuse" and not isinstance(given, list):
        raise table.wrong("missing", 'must be "refuse" or a list of values, such as []')
    missing = _stand_in(table, space, lambda: given)
    sources, common = flags or (name,), _common(table)
    return Column(name, "subsets", sources, space, form, separator, clamp=clamp, missing=missing, **common)


def _curves(name: str, table: Reader) -> Column:
    from dproof.plans.curve_column import read_expansion

    wide = table.texts("columns") if "columns" in table else ()
    space = read_expansion(table, len(wide) or None)
    clamp = table.choice("outside", ("clamp", "refuse"), "clamp") == "clamp"
    missing = 0 if table.choice("missing", ("refuse", "centre"), "refuse") == "centre" else None
    form: Form = "wide" if wide else "list"
    return Column(name, "curves", wide or (name,), space, form=form, clamp=clamp, missing=missing, **_common(table))


def _stand_in(table: Reader, space: Any, read: Callable[[], Any]) -> int | None:
    """The code of what stands for a missing value; None where that is refused."""
    if table.value("missing", "refuse") == "refuse":
        return None
    try:
        return int(space.code(read()))
    except InputError:
        raise table.wrong("missing", "must be a value of the space") from None


def _common(table: Reader) -> dict[str, Any]:
    return {"share": table.share("share", Fraction(1)), "mechanism": table.text("mechanism", "auto")}


# A kind of column is one function here.
_KINDS: dict[str, Callable[[str, Reader], Column]] = {
    "categories": _categories,
    "interval": _interval,
    "subsets": _subsets,
    "curves": _curves,
}
