"""A column of a plan: where its values come from, how they are stored, and what becomes of those outside or missing.

The treatment of a row depends on that row and the plan alone, so it costs no privacy: it comes before the mechanism.
Only `"refuse"` lets the data stop the work, which tells that some value is outside; the plan that must not tell even
that has a treatment for every value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dproof.errors import DproofError, InputError
from dproof.spaces.arrow import as_numpy, plain_texts
from dproof.spaces.bins import Bins
from dproof.spaces.space import narrowest
from dproof.spaces.values import MISSING, OUTSIDE, PLAIN, Numerals

_REMEMBERED = 1 << 16  # values of a column
Form = Literal["plain", "joined", "list", "flags", "wide"]
Lookup = Callable[[Any], int]  # the code of a value, or OUTSIDE or MISSING
Lookups = Callable[[Any], NDArray[np.int64]]  # the same for an Arrow array of values
Encode = Callable[[Sequence[Any]], NDArray[Any]]  # from the source's Arrow arrays of a column to its codes


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the release.

    `kind` is the plan's name of its space, or "public" or "drop". `sources` are the columns of the source that hold it:
    one, a flag for each item, or one for each grid point. A value outside the space becomes the nearest point
    (`clamp`), the value with the code `outside`, or is refused; a missing value becomes the value with the code
    `missing`, or is refused. With `gaps` what would be refused has the code −1 instead. The stored file has the fields
    `beside` those that the source has. A row of a number with `bins` is sanitised by its bin. Texts are read as numbers
    by the signs of `numerals`.
    """

    name: str
    kind: str
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
    beside: tuple[str, ...] = ()
    bins: Bins | None = None
    numerals: Numerals = PLAIN

    @property
    def private(self) -> bool:
        """Whether the column is sanitised: neither dropped nor public."""
        return self.kind not in ("public", "drop")

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the stored file that hold it: the source's form is kept."""
        return (*(self.sources if self.form in ("flags", "wide") else (self.name,)), *self.beside)

    @property
    def is_one_text(self) -> bool:
        """Whether a value of the source is a single one, and not a list or spread over columns."""
        return self.form in ("plain", "joined")

    @property
    def refuses(self) -> bool:
        """Whether some value would be refused."""
        return (self.outside is None and not self.clamp) or self.missing is None

    @property
    def sql(self) -> str:
        """The stored column as one value in SQL, whatever form it is stored in."""
        return quoted(self.name) if self.space is None else str(self.space.sql(self))

    @property
    def sanitised_bins(self) -> Bins | None:
        """The bins that a row is sanitised in, with one for a missing value where the plan keeps those apart."""
        return None if self.bins is None else self.bins.with_missing(self.space.absent)

    @property
    def sanitised(self) -> Any:
        """The space that a row is sanitised in: the column's own, or its bins."""
        bins = self.sanitised_bins
        return self.space if bins is None else bins.space

    @property
    def is_averaged(self) -> bool:
        """Whether the usual question about it is its mean; the values, items and bins of other columns are counted."""
        return self.bins is None and not self.space.is_counted

    def sanitised_encoder(self) -> Encode:
        """What turns the source's Arrow arrays of the column into codes of the space that it is sanitised in."""
        encode, bins = self.encoder(), self.sanitised_bins
        if bins is None:
            return encode
        starts, kind = bins, narrowest(bins.size)
        return lambda arrays: starts.of(encode(arrays)).astype(kind)

    def encoder(self) -> Encode:
        """What turns the source's Arrow arrays of the column into codes of its space, as the plan says.

        An error that nobody foresaw is told without its text, which may quote a value.
        """
        encode: Encode = self.space.encoder(self)

        def guarded(arrays: Sequence[Any]) -> NDArray[Any]:
            try:
                return encode(arrays)
            except DproofError:
                raise
            except Exception:
                raise InputError(f"column {self.name!r} cannot be read as the plan says: look at its type") from None

        return guarded


def quoted(identifier: str) -> str:
    """An identifier of SQL in quotes.

    >>> quoted("hours of TV")
    '"hours of TV"'
    """
    return '"' + identifier.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text as SQL has it.

    >>> text_literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def one_by_one(look_up: Lookup) -> Lookups:
    """What looks up each of many values by itself, and remembers the first of them, whatever the number of batches.

    None that is remembered makes room for another: so one value more costs no more than its own looking up.
    """
    known: dict[Any, int] = {}

    def look_up_all(values: Any) -> NDArray[np.int64]:
        codes = np.empty(len(values), np.int64)
        for n, value in enumerate(python_values(values)):
            key = type(value), value
            code = known.get(key)
            if code is None:
                code = look_up(value)
                if len(known) < _REMEMBERED:
                    known[key] = code
            codes[n] = code
        return codes

    return look_up_all


def repeated(look_up: Lookups) -> Lookups:
    """The same lookups, done once where one dictionary lies behind several batches, as it does in a text file."""
    last: list[Any] = [None, None, None]

    def look_up_all(values: Any) -> NDArray[np.int64]:
        place = values.offset, len(values), [buffer and buffer.address for buffer in values.buffers()]
        if place != last[0]:
            last[:] = place, values, look_up(values)  # which are kept, so that nothing else comes to lie there
        return last[2]  # type: ignore[no-any-return]

    return look_up_all


def encode_distinct(look_up: Lookups, column: Column, array: Any) -> NDArray[Any]:
    """Look up each distinct value once, and spread the codes over the rows."""
    found, places = looked_up(look_up, column, array)
    return accepted(column, settled(column, found).take(places, mode="clip"))


def looked_up(look_up: Lookups, column: Column, array: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """What each distinct value is, and at last what a null is; and the place of each row's value among these."""
    import pyarrow as pa

    array = as_dictionary(column, array)
    codes = look_up(plain_texts(array.dictionary))
    return np.append(codes, MISSING), as_numpy(array.indices.cast(pa.int64()), missing=len(codes))


def as_dictionary(column: Column, array: Any) -> Any:
    import pyarrow as pa

    try:
        if pa.types.is_dictionary(array.type):
            array.dictionary.slice(0, 0).dictionary_encode()  # of values that can be told apart
            return array
        if pa.types.is_temporal(array.type):  # as text: Python has no words for every moment that Arrow has
            array = array.cast(pa.int64() if pa.types.is_duration(array.type) else pa.string())
        return array.dictionary_encode()
    except pa.ArrowException:
        raise InputError(
            f"column {column.name!r} has the type {array.type}, which holds no such values: cast it first"
        ) from None


def python_values(values: Any) -> list[Any]:
    """An Arrow array as Python has it; texts as bytes, for in a file they may be none."""
    import pyarrow as pa

    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    values = values.cast(pa.large_binary()) if is_text else values
    try:
        return values.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in values]


def _value(scalar: Any) -> Any:
    """A value of Arrow in Python; a moment that Python has no words for is none that a plan declares."""
    from dproof.spaces.objects import NO_TEXT

    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return NO_TEXT


def settled(column: Column, found: NDArray[np.int64]) -> NDArray[Any]:
    """Codes with the plan's stand-ins; what the plan refuses is −1 with `gaps`, else one of two codes beyond the space.

    The type of the codes follows from the column alone.
    """
    size = column.space.size
    outside, missing = (OUTSIDE, OUTSIDE) if column.gaps else (size, size + 1)
    codes = np.where(found == OUTSIDE, outside if column.outside is None else column.outside, found)
    codes[found == MISSING] = missing if column.missing is None else column.missing
    return codes.astype(np.min_scalar_type(-size) if column.gaps else narrowest(size + 2))


def accepted(column: Column, codes: NDArray[Any]) -> NDArray[Any]:
    """The settled codes, unless one of them is beyond the space."""
    size = column.space.size
    worst = int(codes.max()) if len(codes) else 0
    if worst < size:
        return codes
    what = column.space.outside_refusal(column) if worst == size else column.space.missing_refusal()
    raise InputError(f"column {column.name!r} has {what}")
