"""What a metric space of data offers. HLM15, section 2.1."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import described
from dproof.errors import InputError


@runtime_checkable
class Space(Protocol):
    """D inside (U, ρ): a finite set of values with distances, each value known by a code 0, 1, …, size − 1."""

    @property
    def size(self) -> int: ...

    @property
    def diameter(self) -> Fraction:
        """The largest distance between two points. HLM15, equation (1)."""
        ...

    @property
    def separation(self) -> Fraction:
        """The least distance between two distinct points; 0 where there is one point only."""
        ...

    def distance(self, x: Any, y: Any) -> Fraction: ...

    def distances(self, code: int) -> NDArray[Any]:
        """The exact distances from one point to all points, in the order of their codes."""
        ...

    def code(self, value: Any) -> int: ...

    def label(self, code: int) -> Any: ...

    def encode(self, values: Any) -> NDArray[Any]:
        """The codes of a column of values: a sequence, a NumPy array or an Arrow array."""
        ...

    def decode(self, codes: NDArray[Any]) -> list[Any]: ...


def as_space(value: Any, name: str = "space") -> Space:
    """An argument that must be a space of finitely many values."""
    if isinstance(value, Space) and not isinstance(value, type):
        return value
    raise InputError(
        f"{name} must be a space of finitely many values, such as Categories, Interval or Subsets, "
        f"not {described(value)}"
    )


def narrowest(size: int) -> np.dtype[Any]:
    """The narrowest unsigned dtype for the codes of a space."""
    return np.min_scalar_type(max(size - 1, 0))
