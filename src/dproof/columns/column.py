"""A column of a plan: where its values come from, how they are stored, and what becomes of those outside or missing.

The treatment of a row depends on that row and the plan alone, so it costs no privacy: it comes before the mechanism.
Only `"refuse"` lets the data stop the work, which tells that some value is outside; the plan that must not tell even
that has a treatment for every value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from dproof.columns.values import PLAIN, Numerals
from dproof.errors import DproofError, SourceError
from dproof.spaces.space import narrowest

if TYPE_CHECKING:
    from dproof.columns.codec import Codec
    from dproof.spaces.interval import Bins

Form = Literal["plain", "joined", "list", "flags", "wide"]
Encode = Callable[[Sequence[Any]], NDArray[Any]]  # from the source's Arrow arrays of a column to its codes


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the release.

    `kind` is the plan's name of its space, or "public" or "drop". `sources` are the columns of the source that hold it:
    one, a flag for each item, or one for each grid point. A value outside the space becomes the nearest point
    (`clamp`), the value with the code `outside`, or is refused; a missing value becomes the value with the code
    `missing`, or is refused. With `invalid_as_null` what would be refused has the code −1 instead. The stored file has
    `extra_fields` beside those that the source has. A row of a number with `bins` is sanitised by its bin. Texts are
    read as numbers by the signs of `numerals`.
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
    invalid_as_null: bool = False
    extra_fields: tuple[str, ...] = ()
    bins: Bins | None = None
    numerals: Numerals = PLAIN

    @property
    def private(self) -> bool:
        """Whether the column is sanitised: neither dropped nor public."""
        return self.kind not in ("public", "drop")

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the stored file that hold it: the source's form is kept."""
        return (*(self.sources if self.form in ("flags", "wide") else (self.name,)), *self.extra_fields)

    @property
    def is_one_text(self) -> bool:
        """Whether a value of the source is a single one, and not a list or spread over columns."""
        return self.form in ("plain", "joined")

    @property
    def refuses(self) -> bool:
        """Whether some value would be refused."""
        return (self.outside is None and not self.clamp) or self.missing is None

    @property
    def codec(self) -> Codec:
        """What reads and stores the values of its space."""
        from dproof.columns import codec_of

        return codec_of(self.space, self)

    @property
    def sql(self) -> str:
        """The stored column as one value in SQL, whatever form it is stored in."""
        return quoted(self.name) if self.space is None else self.codec.sql

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

    def with_missing_allowed(self) -> Column:
        """The column for those who see the true values: there no value stops the work, and what is missing is no value
        but NULL."""
        space = self.space.without_missing
        if space is self.space:
            return replace(self, invalid_as_null=True)
        return replace(self, space=space, missing=None, extra_fields=(), invalid_as_null=True)

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
        encode = self.codec.encode

        def guarded(arrays: Sequence[Any]) -> NDArray[Any]:
            try:
                return encode(arrays)
            except DproofError:
                raise
            except Exception:
                raise SourceError(f"column {self.name!r} cannot be read as the plan says: look at its type") from None

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
