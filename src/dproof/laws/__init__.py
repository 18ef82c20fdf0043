"""The whole numbers: families of laws that are sampled, certified, inverted and written down as they are."""

from dproof.laws.bits import Bits
from dproof.laws.family import Family, Odds, Worst
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.matrix import Matrix

__all__ = ["Bits", "Family", "KeepOrOther", "Matrix", "Odds", "Worst"]
