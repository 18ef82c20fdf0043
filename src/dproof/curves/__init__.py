"""Functional mathematics: bases, kernels, projections, and noise on the coefficients of a curve."""

from dproof.columns.codec import CODECS
from dproof.curves.columns import CurveCodec, LatticeCodec
from dproof.curves.lattice import CurveLattice, Expansion

CODECS[Expansion] = CurveCodec
CODECS[CurveLattice] = LatticeCodec
