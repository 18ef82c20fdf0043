"""`Rows` is one person, of whom any two rows are neighbours; `Table` is n people, of whom one may change.

What each mechanism claims for either is compared with the definition, over all pairs that are neighbours.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import inf, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dproof as dp
from dproof import TooLarge
from dproof.certification.verify_certificate import Refused
from dproof.certification.verify_certificate import verify as verify_certificate
from dproof.laws import Matrix
from dproof.laws.law import law_from_json
from dproof.spaces.products import join_codes, split_code
from dproof.testing import seeded_coins
from tests import brute_force

LINE = dp.Categories([0, 1, 2], "ordinal")
YES = dp.Categories(["no", "yes"])
SPACES = {
    "row": dp.Rows({"a": LINE, "b": YES}),
    "table": dp.Table(YES, 3),
    "line table": dp.Table(LINE, 2),
    "sup table": dp.Table(LINE, 2, "sup"),
    "l2 table": dp.Table(LINE, 2, "l2"),
    "table of rows": dp.Table(dp.Rows({"a": YES, "b": YES}), 2),
}


def distances(space: dp.Space, sign: int = 1) -> list[list[Any]]:
    return [[sign * Fraction(x) for x in space.distances(code)] for code in range(space.size)]


def graded(space: dp.Space) -> list[list[Fraction]]:
    """A law that tells near points from far ones."""
    rows = [[1 / (1 + x) for x in row] for row in distances(space)]
    return [[x / sum(row) for x in row] for row in rows]


MECHANISMS: dict[str, Callable[[Any], dp.Mechanism]] = {
    "randomised_response": lambda space: dp.randomised_response(space, 1),
    "response_with": lambda space: dp.response_with(space, "0.05"),
    "discrete_exponential": lambda space: dp.discrete_exponential(space, 1),
    "discrete_exponential of utilities": lambda space: dp.discrete_exponential(space, utility=distances(space, -1)),
    "exponential": lambda space: dp.exponential(space, space, distances(space, -1), epsilon=1),
    "solution_matrix": lambda space: dp.solution_matrix(space, graded(space)),
    "then": lambda space: dp.solution_matrix(space, graded(space)).then(str),
    "frequency": lambda space: dp.frequency(space, 1),
    "design": lambda space: dp.design(space, 1),
}


def neighbours(space: Any) -> list[tuple[int, int]]:
    """The ordered pairs of codes by the definition: any two rows of one person, or tables that differ in one row."""
    labels = [space.label(code) for code in range(space.size)]
    table = isinstance(space, dp.Table)
    return [
        (i, j)
        for (i, d), (j, e) in product(enumerate(labels), repeat=2)
        if (brute_force.hamming(d, e) == 1 if table else i != j)
    ]


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("make", MECHANISMS.values(), ids=MECHANISMS)
def test_what_is_claimed_is_what_neighbours_show(make: Callable[[Any], dp.Mechanism], space: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dp.DproofWarning)
        mechanism = make(space)
    rows, pairs = brute_force.probabilities(mechanism), neighbours(space)
    ratios = [x / y if y else inf for i, j in pairs for x, y in zip(rows[i], rows[j], strict=True) if x]
    assert mechanism.epsilon() == pytest.approx(log(max(ratios)), abs=1e-12)
    for odds in (Fraction(1), Fraction(3, 2), Fraction(4)):
        exact = max(brute_force.divergence(rows[i], rows[j], odds) for i, j in pairs)
        assert mechanism.family.worst(odds).value == exact
    dp.certify(mechanism, mechanism.epsilon())
    with pytest.raises(dp.NotPrivate):
        dp.certify(mechanism, mechanism.epsilon() * 0.999)


def test_a_row_and_a_table_of_as_many_values_differ() -> None:
    row, table = dp.Rows({"a": YES, "b": YES}), dp.Table(YES, 2)
    assert [dp.discrete_exponential(space, 1).epsilon() for space in (row, table)] == pytest.approx([2, 1])


# Products of laws, for any number of rows ---------------------------------------------------------------------------

PARENTS = {
    "response": dp.response_with(dp.Categories(["a", "b", "c"]), "1/5"),
    "uneven": dp.solution_matrix(LINE, [["1/2", "1/3", "1/6"], ["1/7", "2/7", "4/7"], ["1/5", "1/5", "3/5"]]),
    "into letters": dp.solution_matrix(
        YES, [["1/2", "1/3", "1/6"], ["1/7", "2/7", "4/7"]], outputs=dp.Categories(list("xyz"))
    ),
    "neighbours": dp.bounded_laplace(dp.Interval(0, 3, 1), 1, sensitivity=1),
    "sets": dp.itemwise_response(dp.Subsets(["x", "y"]), 1),
}


def written_out(parent: dp.Mechanism, rows: int) -> Matrix:
    """The law of a table as a matrix, by the definition."""
    whole, total = parent.weights()
    table = np.array(whole, object)
    for _ in range(rows - 1):
        table = np.kron(table, np.array(whole, object))
    within = parent.family.neighbours
    tables = brute_force.tables(range(parent.inputs.size), rows)
    apart = [
        [
            brute_force.hamming(d, e) == 1
            and (within is None or any(within[x, y] for x, y in zip(d, e, strict=True) if x != y))
            for e in tables
        ]
        for d in tables
    ]
    return Matrix(table, total**rows, np.array(apart))


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("parent", PARENTS.values(), ids=PARENTS)
def test_a_product_is_the_law_written_out(parent: dp.Mechanism, rows: int) -> None:
    mechanism, whole = dp.product_sanitisation(parent, rows), written_out(parent, rows)
    family = mechanism.family
    assert (mechanism.weights()[0] == whole.rows).all() and family.total == whole.total
    assert (family.neighbours == whole.neighbours).all()
    for odds in (Fraction(1), Fraction(3, 2), Fraction(4)):
        worst = family.worst(odds)
        assert worst.value == whole.worst(odds).value
        if worst.value:
            assert family.neighbours[worst.source, worst.target], "the pair that shows it is one of neighbours"
            assert (
                brute_force.divergence(
                    *([Fraction(int(x), whole.total) for x in whole.rows[n]] for n in (worst.source, worst.target)),
                    odds,
                )
                == worst.value
            )
    for delta in (Fraction(0), Fraction(1, 20)):
        assert family.odds(delta).value == whole.odds(delta).value
    for source, target in ((0, 0), (1, whole.outputs - 1), (whole.inputs - 1, 2)):
        assert family.probability(source, target) == Fraction(int(whole.rows[source, target]), whole.total)


@pytest.mark.parametrize("metric", ["l1", "l2", "sup"])
@pytest.mark.parametrize("name", ["response", "uneven", "sets"])
def test_the_error_of_a_product_is_that_of_the_law_written_out(name: str, metric: Any) -> None:
    for rows in (1, 2, 3):
        mechanism = dp.product_sanitisation(PARENTS[name], rows, metric=metric)
        table: Any = mechanism.inputs
        whole = written_out(PARENTS[name], rows)
        errors = [whole.error(code, table) for code in range(table.size)]
        assert mechanism.expected_errors() == errors
        assert mechanism.error == max(errors)


def test_every_row_of_a_table_is_drawn_by_the_parent_alone() -> None:
    for parent in (PARENTS["uneven"], PARENTS["into letters"], dp.laplace(dp.Interval(0, 4, 1), 1)):
        label = parent.inputs.label
        with seeded_coins(3):
            alone = parent.draw([label(n) for n in (0, 1, 1, 0, 0, 1)])
        with seeded_coins(3):
            tables = dp.product_sanitisation(parent, 3).draw([tuple(map(label, d)) for d in ((0, 1, 1), (0, 0, 1))])
        assert [cell for table in tables for cell in table] == alone


def test_any_number_of_rows() -> None:
    parent = PARENTS["response"]
    many = dp.product_sanitisation(parent, 1000)
    table = ["a", "b"] * 500
    assert (many.epsilon(), many.delta("0.2")) == (parent.epsilon(), parent.delta("0.2"))
    assert many.error == 1000 * parent.error
    assert many.law(table)[table] == Fraction(3, 5) ** 1000
    assert len(many.draw(table)) == 1000 and len(many.draw([table, table])) == 2
    assert "about 10^477 inputs" in repr(many)
    with pytest.raises(TooLarge):
        many.weights()
    with pytest.raises(TooLarge):
        many.expected_errors()
    with pytest.raises(dp.NotPrivate) as refused:
        dp.certify(many, "0.9")
    assert brute_force.hamming(refused.value.witness.d, refused.value.witness.d_prime) == 1
    assert len(str(refused.value)) < 2000


def test_example_5_on_tables_of_numbers() -> None:
    """HLM15, Example 5 with Theorem 5: Laplace noise on every row, without ends, for any n."""
    one = dp.laplace(dp.Interval(0, 10, 1), dp.Privacy(1, "0.01"))
    many = dp.product_sanitisation(one, 200)
    d, y = [3] * 200, [*range(-3, 7), *[3] * 190]
    assert (many.epsilon("0.01"), many.delta(1), many.error) == (one.epsilon("0.01"), one.delta(1), 200 * one.error)
    chances = [one.law(3)[value] for value in y]
    assert many.law(d)[y] == np.prod(np.array(chances, object))
    assert many.law(d).probability([y, d, y]) == many.law(d)[y] + many.law(d)[d]
    assert len(many.draw(d)) == 200
    with pytest.raises(dp.InputError, match="l1"):
        _ = dp.product_sanitisation(one, 2, metric="sup").error
    dp.certify(many, dp.Privacy(1, "0.01"))


def test_a_discrete_exponential_law_on_a_long_table() -> None:
    """HLM16, Theorems 4 and 7: e^{-k h} on D^n is the product of n randomised responses, at any n."""
    space = dp.Categories([0, 1, 2])
    for n in (7, 300):
        mechanism = dp.discrete_exponential(dp.Table(space, n), "0.5")
        assert mechanism.epsilon() == pytest.approx(0.5, abs=1e-9) and mechanism.epsilon() <= 0.5
        assert float(mechanism.error) == pytest.approx(2 * n / (2 + np.exp(0.5)), rel=1e-9)


def test_the_written_law_of_a_small_table_is_the_same() -> None:
    for row in (dp.Categories([0, 1, 2]), LINE, dp.Interval(0, 1, "1/2")):
        table = dp.Table(row, 2)
        lazy, whole = dp.discrete_exponential(table, 1), dp.discrete_exponential(table, utility=distances(table, -1))
        assert np.abs(lazy.matrix() - whole.matrix()).max() < 1e-8
        assert lazy.epsilon() == pytest.approx(whole.epsilon(), abs=1e-8)


@pytest.mark.parametrize("parent", PARENTS.values(), ids=PARENTS)
def test_answers_about_one_table_compose_as_those_about_one_row(parent: dp.Mechanism) -> None:
    one, many = (dp.compose([mechanism] * 2) for mechanism in (parent, dp.product_sanitisation(parent, 300)))
    assert [one.epsilon("0.01"), one.delta(1)] == [many.epsilon("0.01"), many.delta(1)]


# Certificates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parent", [*PARENTS.values(), dp.laplace(dp.Interval(0, 10, 1), dp.Privacy(1, "0.01"))])
def test_a_certificate_of_a_table_is_checked_by_both_verifiers(parent: dp.Mechanism, tmp_path: Path) -> None:
    epsilon = parent.epsilon("0.01")
    mechanism = dp.product_sanitisation(parent, 50)
    certificate = dp.certify(mechanism, dp.Privacy(epsilon, "0.01"))
    certificate.write(tmp_path / "certificate.json")
    dp.verify(tmp_path / "certificate.json")
    record = json.loads((tmp_path / "certificate.json").read_text())
    verify_certificate(record)
    law = record["laws"][0]["law"]
    assert law["kind"] == "product" and law["rows"] == 50
    if parent.family.neighbours is None:
        read = law_from_json(law)
        assert read.worst(Fraction(2)) == mechanism.family.worst(Fraction(2))


def test_a_law_of_a_table_in_a_row_release_is_refused() -> None:
    """The pairs of a table differ in one row; the pairs of a release are any two values of one row."""
    record = dp.certify(dp.product_sanitisation(PARENTS["response"], 2), 2).to_json()
    record["release"] = {}
    with pytest.raises(Refused):
        verify_certificate(record)


def test_a_table_of_tables_is_a_longer_table() -> None:
    inner = dp.product_sanitisation(PARENTS["response"], 2)
    outer = dp.product_sanitisation(inner, 3)
    long = dp.product_sanitisation(PARENTS["response"], 6)
    assert outer.inputs.rows == 6 and outer.inputs.size == long.inputs.size
    assert outer.family.to_json() == long.family.to_json()
    table = (("a", "b"), ("c", "c"), ("a", "a"))
    assert outer.law(table)[table] == long.law(sum(table, ()))[sum(table, ())]
    assert (dp.Table(dp.Table(YES, 2), 2).neighbours() == dp.Table(YES, 4).neighbours()).all()


def test_a_probability_of_very_many_rows_is_refused_and_not_worked_out_for_hours() -> None:
    kept = dp.product_sanitisation(dp.randomised_response(dp.Categories(["yes", "no"]), 1), 10**5)
    table = ["yes", "no"] * 50_000
    with pytest.raises(TooLarge, match="ask for those of its rows"):
        kept.law(table)[table]
    assert kept.epsilon() <= 1 and len(kept.draw(table)) == 10**5


@pytest.mark.parametrize(
    ("size", "n"), [(2, 1), (2, 62), (2, 63), (2, 64), (3, 40), (1 << 62, 2), (1 << 70, 1), (1 << 70, 3)]
)
def test_the_codes_of_rows_make_that_of_their_table(size: int, n: int) -> None:
    codes = [(7**k * size // 11) % size for k in range(n)]
    whole = 0
    for code in codes:
        whole = whole * size + code
    assert join_codes(codes, size) == whole and split_code(whole, size, n) == codes
    many = np.array([whole, 0, size**n - 1], np.int64 if size**n < 1 << 62 else object)
    assert [list(map(int, digits)) for digits in split_code(many, size, n)] == [[code, 0, size - 1] for code in codes]
