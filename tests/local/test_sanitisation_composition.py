"""The exact composition of columns and rows, against the law of the whole row written out."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dproof.certification.compose import compose_losses, own_worst_pair
from dproof.exact import exp_below, float_above, log_above
from dproof.laws import Bits, KeepOrOther, Law, Matrix
from tests.makers import row_law

SMALL = st.one_of(
    st.builds(
        lambda size, keep, other: KeepOrOther(size, max(keep, other, 1), min(keep, other)),
        st.integers(1, 3),
        *[st.integers(0, 9)] * 2,
    ).filter(lambda f: f.total > 0 and f.keep > 0),
    st.builds(
        lambda bits, stay, flip: Bits(bits, max(stay, flip), min(stay, flip)),
        st.integers(1, 2),
        st.integers(1, 9),
        st.integers(0, 9),
    ),
)


def written_out(families: list[Law]) -> Matrix:
    """The law of a row of independent columns, as one matrix over all combinations."""
    rows = [np.array([f.weights(n) for n in range(f.inputs)], object) for f in families]
    total = int(np.prod([f.total for f in families], dtype=object))
    return Matrix(reduce(np.kron, rows).astype(object), total)


@given(st.lists(SMALL, min_size=1, max_size=3), st.integers(1, 2))
def test_composition_is_the_law_written_out(families: list[Law], times: int) -> None:
    if np.prod([f.inputs for f in families]) ** times > 64:
        times = 1
    losses = [loss for loss in map(own_worst_pair, families) if loss is not None]
    assert len(losses) == len(families)
    together, whole = compose_losses(losses * times), written_out(families * times)
    for odds in (Fraction(1), Fraction(3, 2), Fraction(4), Fraction(50)):
        assert together.worst(odds) == whole.worst(odds).value
    assert together.delta("0.3") == float_above(whole.worst(exp_below(Fraction(3, 10))).value)
    for delta in (Fraction(0), Fraction(1, 50), Fraction(1, 3)):
        tight = whole.odds(delta).value
        if tight is None:
            assert together.epsilon(delta) == float("inf")
        else:
            least = float_above(log_above(tight))
            assert least <= together.epsilon(delta) <= least + 1e-12


def test_what_has_no_short_form_is_bounded_by_the_sum() -> None:
    columns = {
        "age": {"space": "interval", "low": 0, "high": 110, "step": 1},
        "read": {"space": "categories", "values": [0, 1]},
    }
    law = row_law({"privacy": {"epsilon": 1, "delta": "1e-6"}, "columns": columns})
    tight = law.tight(2)
    assert not tight.exact and 1.9 < tight.epsilon <= 2 * (1 + 1e-12) and tight.delta <= 2e-6
    pure = row_law({"privacy": {"epsilon": 1}, "columns": columns}).tight(2)
    assert pure.exact and 1.9 < pure.epsilon <= 2
    for epsilon in ("0.3", "0.7", "1.1", "1.9", "2.3"):  # a float stands for its shortest decimal, in sums too
        row = row_law({"privacy": {"epsilon": epsilon, "delta": "1e-6"}, "columns": columns})
        assert (row.tight().epsilon, row.tight().delta) == (row.certificate().epsilon, row.certificate().delta)


def test_many_columns_with_delta_are_bounded_not_enumerated() -> None:
    columns = {f"c{n}": {"space": "categories", "values": list(range(n + 2)), "share": n + 1} for n in range(24)}
    for count, exact in ((12, True), (24, False)):
        few = dict(list(columns.items())[:count])
        law = row_law({"privacy": {"epsilon": 4, "delta": "1e-6"}, "columns": few})
        assert law.tight().exact is exact
