"""Where data live: D inside a metric space (U, ρ). HLM15, section 2.1."""

from dproof.spaces.categories import Categories, Subsets
from dproof.spaces.dates import Dates, Times
from dproof.spaces.interval import Interval
from dproof.spaces.products import Rows, Table
from dproof.spaces.space import Space

__all__ = ["Categories", "Dates", "Interval", "Rows", "Space", "Subsets", "Table", "Times"]
