"""Laws of whole numbers: what is sampled, certified, undone by estimation and written down, as one object.

Finite: `matrix` (any such law), `response`, `sets`, `designs`. Tables of rows: `row_by_row`. Values that may be
missing: `optional`. Noise: `noise` on a lattice with `laplace`, `gaussian`, `stairs`, and `k_norm` on vectors. `law`
says what a law must offer, `divergence` how far two lie apart, `guide` how they are drawn, `debias` and `scores` how
estimation undoes them. All are imported here, so that every kind can be read back from a certificate.
"""

from dproof.laws.designs import BlockDesign, PlaneDesign
from dproof.laws.gaussian import Gaussian, GaussianSum
from dproof.laws.laplace import BoundedLattice, TwoSided
from dproof.laws.law import Law
from dproof.laws.matrix import Matrix, RoundedLaw
from dproof.laws.noise import Lattice
from dproof.laws.optional import OptionalLaw
from dproof.laws.response import KeepOrOther
from dproof.laws.row_by_row import RowByRow
from dproof.laws.sets import Bits, OneItem, SubsetSelection, Unary
from dproof.laws.stairs import Stairs

__all__ = [
    "Bits",
    "BlockDesign",
    "BoundedLattice",
    "Gaussian",
    "GaussianSum",
    "KeepOrOther",
    "Lattice",
    "Law",
    "Matrix",
    "OneItem",
    "OptionalLaw",
    "PlaneDesign",
    "RoundedLaw",
    "RowByRow",
    "Stairs",
    "SubsetSelection",
    "TwoSided",
    "Unary",
]
