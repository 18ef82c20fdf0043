"""A price that is counted in ρ must still promise something; what no row can move needs no noise at any price."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dproof import Categories, InputError, Privacy
from dproof.curator.recipe import measure
from dproof.questions.question import Schema
from tests.makers import resolved

SCHEMA = Schema("data", {"sex": Categories(["f", "m"])})


@pytest.mark.parametrize("rho", [None, Fraction(1)])
def test_a_delta_of_one_is_refused_however_it_is_counted(rho: Fraction | None) -> None:
    question = resolved("SELECT sex, count(*) FROM data GROUP BY sex", SCHEMA)
    with pytest.raises(InputError, match="delta 1 promises nothing"):
        measure(question, SCHEMA, Privacy(1, 1), rho=rho)


def test_the_public_number_of_rows_has_a_price_of_nothing() -> None:
    question = resolved("SELECT count(*) FROM data", SCHEMA)
    assert measure(question, SCHEMA, Privacy(0)).free
