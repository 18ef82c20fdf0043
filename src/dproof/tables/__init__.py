"""Where rows come from: each engine alone in its file, all of them streams of Arrow batches."""

from dproof.tables.opening import open_source, readable_again
from dproof.tables.source import Source

__all__ = ["Source", "open_source", "readable_again"]
