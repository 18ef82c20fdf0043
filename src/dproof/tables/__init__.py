"""Where rows come from: each engine alone in its file, all of them streams of Arrow batches."""

from dproof.tables.source import Source, open_source, readable_again

__all__ = ["Source", "open_source", "readable_again"]
