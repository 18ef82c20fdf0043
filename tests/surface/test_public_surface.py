"""The public names are a contract, and importing them stays cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dproof

HEAVY = ("pyarrow", "scipy", "duckdb", "pandas", "polars", "highspy", "dp_accounting", "click", "rich", "altair")
NAMES = [
    *("Privacy", "Categories", "Subsets", "Interval", "Dates", "Curves", "Rows", "add_space"),
    *("randomised_response", "discrete_exponential", "laplace", "gaussian", "staircase", "bounded_laplace"),
    *(
        "unary_encoding",
        "subset_selection",
        "frequency",
        "one_item",
        "solution_matrix",
        "design",
        "compare",
        "add_mechanism",
    ),
    *("certify", "sufficient_sets", "lower_bound", "sanitise", "load", "Plan", "Curator", "advise"),
]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_the_contract_is_there(name: str) -> None:
    assert callable(getattr(dproof, name))
    assert name in dir(dproof)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="sanitse"):
        _ = dproof.sanitse


def test_importing_dproof_loads_nothing_heavy() -> None:
    probe = f"import dproof, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True).stdout.strip() == "[]"


def test_the_mathematics_needs_no_engine() -> None:
    """A finite mechanism is made, drawn from and certified without Arrow, DuckDB or a solver."""
    code = (
        "import dproof as dp, sys\n"
        "m = dp.randomised_response(dp.Categories(['a', 'b', 'c']), dp.Privacy(1))\n"
        "m.draw(['a', 'b']); dp.certify(m, dp.Privacy(1))\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
