"""Laws of whole numbers: what is sampled, certified, undone by estimation and written down, as one object.

Finite: `matrix` (any such law), `keep_or_other`, `rounded`, `sets`. Tables of rows: `row_by_row`. Noise on Z: `lattice`
with `laplace`, `gaussian`, `stairs`. `law` says what a law must offer, `divergence` how far two lie apart, `guide` how
they are drawn, `debias` and `scores` how estimation undoes them. All are imported here, so that every kind can be read
back from a certificate.
"""

from dproof.laws.block_design import BlockDesign, PlaneDesign
from dproof.laws.gaussian import Gaussian, GaussianSum
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.laplace import TwoSided
from dproof.laws.lattice import Lattice
from dproof.laws.law import Law
from dproof.laws.matrix import Matrix
from dproof.laws.one_item import OneItem
from dproof.laws.optional import OptionalLaw
from dproof.laws.rounded import Rounded
from dproof.laws.row_by_row import RowByRow
from dproof.laws.sets import Bits, SubsetSelection, Unary
from dproof.laws.stairs import Stairs

__all__ = [
    "Bits",
    "BlockDesign",
    "Gaussian",
    "GaussianSum",
    "KeepOrOther",
    "Lattice",
    "Law",
    "Matrix",
    "OneItem",
    "OptionalLaw",
    "PlaneDesign",
    "Rounded",
    "RowByRow",
    "Stairs",
    "SubsetSelection",
    "TwoSided",
    "Unary",
]
