"""What a prompt shows of the results of certifying and designing: a line that a person can read."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

import dproof as dp
from dproof.certification.compose import compose_mechanisms

HOBBIES = dp.Categories(["Cars", "Chess", "<b>"])
RESPONSE = dp.randomised_response(HOBBIES, 1)


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (RESPONSE, "<mechanism: randomised response (HLM16, Theorem 10), 3 inputs, 3 outputs>"),
        (
            dp.laplace(dp.Interval(0, 9, 1), 1),
            "<mechanism: Laplace (HLM15, Example 5), 10 inputs, unlimited outputs>",
        ),
        (RESPONSE.law("Cars"), "{'Cars': 0.5761, 'Chess': 0.2119, '<b>': 0.2119}"),
        (dp.laplace(dp.Interval(0, 9, 1), 1).law(3), "<law on unlimited outputs>"),
        (dp.certify(RESPONSE, 1), "<certificate: ε = 1, δ = 0, change-one; 'row' by randomised response>"),
        (RESPONSE.optimum, "<optimum: 0.423883 under the loss 'metric', at least 0.423883 for every mechanism>"),
        (dp.lower_bound(HOBBIES, 1), "<lower bound: 0.423883 by HLM15, Theorem 7>"),
        (
            dp.design_row(dp.Rows({"hobby": HOBBIES}), 1),
            "<row: 'hobby' by randomised response with 1 of the promise, relative error 0.636>",
        ),
        (compose_mechanisms([RESPONSE] * 2), "<composition, tight>"),
    ],
)
def test_results_are_shown_in_a_line(made: object, shown: str) -> None:
    assert repr(made) == shown


def test_a_comparison_is_shown_as_its_table() -> None:
    comparison = dp.compare(HOBBIES, 1)
    assert repr(comparison) == str(comparison) and repr(comparison).startswith("mechanism ")


def test_the_sets_and_the_witness_of_a_pair_do_not_drag_their_mechanism_along() -> None:
    assert "Mechanism" not in repr(dp.sufficient_sets(RESPONSE, "Cars", "Chess"))
    with pytest.raises(dp.NotPrivate) as refused:
        dp.certify(RESPONSE, "0.5")
    assert repr(refused.value.witness).startswith("<witness: inputs 'Cars' and 'Chess' fall in the set {'Cars'}")


def test_a_law_that_is_private_at_no_epsilon_is_shown_too() -> None:
    """Its ε is infinite, which is no number to write."""
    identity = dp.solution_matrix(dp.Categories(["a", "b"]), [[1, 0], [0, 1]])
    assert "private with no ε at δ = 0" in identity._repr_html_()
    certificate = dp.certify(identity, dp.Privacy(1, 1))
    unbounded = replace(certificate, parts=(replace(certificate.parts[0], epsilon=inf),))
    assert "<td>∞</td>" in unbounded._repr_html_()
