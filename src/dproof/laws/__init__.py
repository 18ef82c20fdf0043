"""Laws of whole numbers: what is sampled, certified, undone by estimation and written down, as one object.

Finite: `matrix` (any such law, and tables of rows), `response` (a value or a set), `designs`. Numbers with noise, and
those that may be missing: `noise`, with `laplace` (and stairs), `gaussian`, and `k_norm` on vectors. `law` says what a
law must offer, `divergence` how far two lie apart, `debias` how estimation undoes them. All are imported here, so that
every kind can be read back from a certificate.
"""

from dproof.laws.designs import BlockDesign, PlaneDesign
from dproof.laws.gaussian import Gaussian, GaussianSum
from dproof.laws.laplace import BoundedLattice, Stairs, TwoSided
from dproof.laws.law import LAWS, Law
from dproof.laws.matrix import Matrix, RoundedLaw, RowByRow
from dproof.laws.noise import NOISES, Lattice, OptionalLaw
from dproof.laws.response import Bits, KeepOrOther, OneItem, SubsetSelection, Unary

__all__ = ["GaussianSum", "Law"]  # beside those that are read back

_FINITE = (Bits, BlockDesign, KeepOrOther, Matrix, OneItem, PlaneDesign, RoundedLaw, SubsetSelection, Unary)
LAWS.update({law.kind: law.from_json for law in (*_FINITE, BoundedLattice, Lattice, OptionalLaw, RowByRow)})
NOISES.update({noise.kind: noise.from_json for noise in (Gaussian, Stairs, TwoSided)})
