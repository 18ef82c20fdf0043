"""Debiased answers from a release: un-mix the law, and say how sure the answer is."""

from dproof.estimation.raw import raw
from dproof.estimation.sql import query

__all__ = ["query", "raw"]
