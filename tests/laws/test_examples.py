"""Every example of a space or a mechanism keeps the laws of its kind; a new one needs one line here."""

from __future__ import annotations

import numpy as np
import pytest

import dproof as dp
from dproof import InputError, Mechanism, Privacy, Space, certify
from dproof.exact import exact
from dproof.spaces.categories import Answers, Codes, OptionalSubsets
from dproof.spaces.dates import Moments
from dproof.spaces.space import OptionalSpace
from dproof.testing import check_mechanism, check_metric, seeded_coins

# Small instances of every finite space, edge cases first.
SPACES: dict[type[Space], tuple[Space, ...]] = {
    dp.Vectors: (
        dp.Vectors([dp.Interval(0, 2, 1), dp.Interval(-1, 1, "0.5")]),
        dp.Vectors([dp.Interval(0, 3, 1)] * 2, metric="l1"),
        dp.Vectors([dp.Interval(0, 1, "1/3"), dp.Interval(0, 1, "1/2"), dp.Interval(5, 5, 1)], metric="sup"),
    ),
    dp.Categories: (
        dp.Categories(["Sports", "Cars", "Television", "Computer games", "Reading"]),
        dp.Categories(["low", "middle", "high"], metric="ordinal"),
        dp.Categories([1, 2, 3, None], metric=[[0, 1, 2, 2], [1, 0, 1, 2], [2, 1, 0, 2], [2, 2, 2, 0]]),
        dp.Categories([True, False]),
        dp.Categories(["only"]),
    ),
    dp.Subsets: (dp.Subsets(["Music", "Football", "Chess"]), dp.Subsets(["a", "b"], metric="discrete")),
    dp.Rows: (dp.Rows({"hobby": dp.Categories(["Cars", "Reading"]), "likes": dp.Subsets(["a", "b"])}),),
    dp.Table: (
        dp.Table(dp.Categories([0, 1, 2]), 2),
        dp.Table(dp.Interval(0, 1, "1/2"), 3, metric="sup"),
        dp.Table(dp.Categories(["a", "b", "c"], "ordinal"), 2, metric="l2"),
        dp.Table(dp.Rows({"smoker": dp.Categories(["no", "yes"]), "likes": dp.Subsets(["a"])}), 2),
    ),
    dp.Interval: (
        dp.Interval(0, 110, 1),
        dp.Interval("-1.5", "2.5", "0.25"),
        dp.Interval(0, "1e-9", "1e-10"),
        dp.Interval("-1e12", "1e12", "1e11"),
        dp.Interval(0, 1, "1/3"),
        dp.Interval(5, 5),
    ),
    dp.Dates: (
        dp.Dates("2024-02-01", "2024-03-10"),
        dp.Dates("1999-12-27", "2000-03-06", 7),
        dp.Dates("2024-01-01", "2024-01-01"),
    ),
    dp.Times: (
        dp.Times("08:00", "08:20"),
        dp.Times("23:59", "23:59"),
    ),
    OptionalSpace: (
        OptionalSpace(dp.Interval(0, 10, 1)),
        OptionalSpace(dp.Interval("-1.5", "2.5", "0.25")),
        OptionalSpace(dp.Interval(5, 5)),
        OptionalSpace(dp.Dates("2024-02-01", "2024-03-10")),
    ),
    Codes: (Codes(1), Codes(2), Codes(21)),
    Answers: (Answers(("only",)), Answers(("Music", "Football", "Chess"))),
}


def finite_mechanisms() -> dict[str, tuple[Mechanism, ...]]:
    """Small mechanisms whose laws can be written out, edge cases first, by the function that makes them."""
    hobbies = dp.Categories(["Sports", "Cars", "Television", "Computer games", "Reading"])
    letters, two, three = dp.Categories(list("abcd")), dp.Categories([0, 1]), dp.Categories([0, 1, 2], "ordinal")
    into_letters = dp.solution_matrix(two, [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], outputs=dp.Categories(["x", "y", "z"]))
    halves = dp.response_with(dp.Categories(["yes", "no"]), "1/4")
    return {
        "randomised_response": (
            dp.randomised_response(hobbies, Privacy(1)),
            dp.randomised_response(dp.Categories(["yes", "no"]), Privacy("0.5", "0.1")),
        ),
        "response_with": (dp.response_with(hobbies, "0.1"),),
        "itemwise_response": (dp.itemwise_response(dp.Subsets(["Music", "Football", "Chess"]), Privacy(1)),),
        "discrete_exponential": (
            dp.discrete_exponential(hobbies, "1.79"),
            dp.discrete_exponential(three, 1),
            dp.discrete_exponential(dp.Rows({"first": three, "second": three}), 1),
            dp.discrete_exponential(dp.Table(three, 2), 1),
        ),
        "exponential": (
            dp.exponential(two, dp.Categories([1, 2, 3]), [[0, -1, -2], [-2, -1, 0]], epsilon=1, base=[1, 2, 1]),
        ),
        "solution_matrix": (
            dp.solution_matrix(two, [["3/4", "1/4"], ["1/4", "3/4"]]),
            into_letters,
            dp.solution_matrix(three, [[1, 0, 0], [0, 1, 0], ["1/3", "1/3", "1/3"]]),
        ),
        "product_sanitisation": (
            dp.product_sanitisation(halves, 3),
            dp.product_sanitisation(dp.response_with(dp.Categories([0, 1, 2]), "0.2"), 2),
            dp.product_sanitisation(into_letters, 2),
        ),
        "from_program": (
            dp.from_program(lambda table, draw: draw({sum(table): 2, 3 - sum(table): 1}), dp.Table(two, 3)),
        ),
        "unary_encoding": (
            dp.unary_encoding(letters, Privacy(1)),
            dp.unary_encoding(dp.Categories(list("abc")), Privacy(1, "0.05"), form="symmetric"),
        ),
        "subset_selection": (
            dp.subset_selection(dp.Categories(list("abcde")), Privacy(1)),
            dp.subset_selection(letters, Privacy("0.5", "0.02"), width=2),
        ),
        "frequency": (
            dp.frequency(dp.Categories(list("abcde")), Privacy("0.5")),
            dp.frequency(dp.Categories(list(range(16))), Privacy("0.1")),
        ),
        "one_item": (
            dp.one_item(dp.Subsets(["Music"]), Privacy(1)),
            dp.one_item(dp.Subsets(["Music", "Football", "Chess"]), Privacy("0.5", "0.1")),
        ),
        "bounded_laplace": (
            dp.bounded_laplace(dp.Interval(0, 1, "0.1"), Privacy(1)),
            dp.bounded_laplace(dp.Interval(0, 10, 1), Privacy("0.5", "0.1"), sensitivity=3),
        ),
    }


FINITE = finite_mechanisms()
LATTICE = ("laplace", "truncated_laplace", "gaussian", "staircase")  # noise on all of Z: see the tests of the lattice
MECHANISMS = [pytest.param(made, id=f"{name}-{n}") for name in FINITE for n, made in enumerate(FINITE[name])]


def spaces() -> list[object]:
    return [
        pytest.param(example, id=f"{space.__name__}-{n}")
        for space, examples in SPACES.items()
        for n, example in enumerate(examples)
    ]


def test_every_space_has_an_example() -> None:
    """But for sets that may be missing, where several codes stand for one value, and for what dates and times share."""
    found, kinds = set(), [Space]
    while kinds:
        kinds.extend(kinds.pop().__subclasses__())
        own = [kind for kind in kinds if kind.__module__.startswith("dproof.spaces.") and not kind.__abstractmethods__]
        found.update(kind.__name__ for kind in own)
    assert found == {kind.__name__ for kind in (*SPACES, OptionalSubsets, Moments)}


def test_every_public_mechanism_has_an_example() -> None:
    made = {name for name, module in dp._PUBLIC.items() if module.startswith("dproof.mechanisms.")}
    assert made - {"Mechanism", "Distribution"} == {*FINITE, *LATTICE}


@pytest.mark.parametrize("space", spaces())
def test_a_space_is_a_metric_space_with_codes(space: Space) -> None:
    check_metric(space)


@pytest.mark.parametrize("space", spaces())
def test_distances_between_labels_are_those_between_codes(space: Space) -> None:
    codes = range(space.size) if space.size <= 40 else [0, 1, space.size // 2, space.size - 1]
    for a in codes:
        row = space.distances(a)
        for b in codes:
            assert space.distance(space.label(a), space.label(b)) == exact(row[b])


@pytest.mark.parametrize("space", spaces())
def test_a_value_outside_the_space_is_refused_without_being_named(space: Space) -> None:
    for wrong in ("no-such-value", object(), ["no-such-value"], float("nan")):
        with pytest.raises(InputError) as refusal:
            space.code(wrong)
        assert "no-such-value" not in str(refusal.value)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_mechanism_keeps_the_laws(mechanism: Mechanism) -> None:
    check_mechanism(mechanism)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_is_certified_is_what_was_computed(mechanism: Mechanism) -> None:
    """Certified at its own tight values; the profile falls as ε rises and reaches δ there."""
    for delta in (0, "0.01", "0.25"):
        epsilon = mechanism.epsilon(delta)
        if epsilon < 1000:
            certificate = certify(mechanism, Privacy(epsilon, delta))
            assert certificate.delta <= float(exact(delta))
            assert certificate.epsilon <= epsilon
    profile = [mechanism.delta(epsilon) for epsilon in (0, "0.1", "0.5", 1, 2, 5)]
    assert profile == sorted(profile, reverse=True)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_laws_matrix_and_weights_say_the_same(mechanism: Mechanism) -> None:
    weights, total = mechanism.weights()
    matrix = mechanism.matrix()
    assert matrix.sum(axis=1) == pytest.approx(1, abs=1e-12)
    for code in range(mechanism.family.inputs):
        law = mechanism.law(mechanism.inputs.label(code))
        assert sum(law.values()) == 1
        assert [int(p * total) for p in law.values()] == [int(w) for w in weights[code]]
        assert len(law) == len(list(law)) == mechanism.family.outputs
        output = next(iter(law))
        assert law[output] == dict(enumerate(law.values()))[0]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_draws_lie_among_the_outputs_and_follow_the_law(mechanism: Mechanism) -> None:
    """Nothing of mass zero is drawn, and 20,000 draws stay within six standard deviations of the law."""
    n = 20_000
    weights, total = mechanism.weights()
    with seeded_coins(7):
        for code in (0, mechanism.family.inputs - 1):
            drawn = mechanism.draw_codes(np.full(n, code, np.int64))
            counts = np.bincount(drawn, minlength=mechanism.family.outputs)
            for count, weight in zip(counts, weights[code], strict=True):
                p = int(weight) / total
                assert abs(count - n * p) <= 6 * np.sqrt(n * p * (1 - p)) + 1e-9


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_labels_in_labels_out(mechanism: Mechanism) -> None:
    labels = [mechanism.inputs.label(code) for code in range(mechanism.family.inputs)]
    drawn = mechanism.draw(labels)
    assert len(drawn) == len(labels)
    assert mechanism.outputs.encode(drawn).max() < mechanism.family.outputs
    assert mechanism.draw(labels[:0]) == []


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int32, np.int64, np.uint64])
def test_codes_come_back_in_the_dtype_they_came_in(mechanism: Mechanism, dtype: type[np.integer]) -> None:
    codes = np.arange(mechanism.family.inputs).astype(dtype)
    drawn = mechanism.draw_codes(codes)
    assert drawn.dtype == dtype
    assert len(drawn) == len(codes)
    assert drawn.min() >= 0 and drawn.max() < mechanism.family.outputs


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("codes", [[-1], [10**6], [0.5], [[0]], ["0"]])
def test_codes_outside_the_space_are_refused(mechanism: Mechanism, codes: list[object]) -> None:
    with pytest.raises(InputError, match="code"):
        mechanism.draw_codes(codes)
