"""The page draws from the laws of the certificate: every path through each sampler has the probability that the law
says, in whole numbers; and every word of 16 bits has one owner, as often as its weight."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dproof import Categories, Dates, Interval, Privacy, Rows, Subsets, Times
from dproof.laws import KeepOrOther, Matrix, PlaneDesign, SubsetSelection
from dproof.laws.gaussian import Gaussian
from dproof.laws.laplace import BoundedLattice, two_sided
from dproof.laws.law import Law
from dproof.laws.noise import Lattice
from dproof.local.mechanisms import MECHANISMS, choose
from dproof.survey.form import DRAWN, page_record
from tests.survey.node import needs_node, node

pytestmark = needs_node
HOUSE = {kind: frozenset(known) for kind, known in MECHANISMS.items()}  # before a test adds one of its own

FIVE, MANY = Categories(list("abcde")), Categories([f"town {n}" for n in range(30)])
AGE, FINE = Interval(0, 20, 1), Interval(0, 500, 1)
CASES: dict[str, tuple[Any, str, float] | Law] = {
    "response": (FIVE, "randomised_response", 1),
    "one value": (Categories(["a"]), "randomised_response", 1),
    "response on numbers": (AGE, "randomised_response", 2),
    "joined": (Rows({"x": FIVE, "y": Categories([1, 2])}), "randomised_response", 1),
    "subset selection": SubsetSelection(6, 2, 3 << 30, 1 << 30),
    "frequency": (Categories(list("abcdefg")), "frequency", 0.5),
    "block design": (MANY, "frequency", 1),
    "joined block design": (Rows({"x": MANY, "y": Categories([1, 2])}), "frequency", 1),
    "plane design": PlaneDesign(50, 7, 3 << 30, 1 << 30),
    "ordinal": (Categories(list("abcde"), "ordinal"), "design", 1),
    "items": (Subsets(list("abcd")), "itemwise_response", 2),
    "items that may be missing": (Subsets(list("abc")).with_missing(), "itemwise_response", 2),
    "one item": (Subsets(list("abcd")), "one_item", 1),
    "laplace": (AGE, "laplace", 1),
    "wide laplace": (FINE, "laplace", 1),
    "clamped laplace": (AGE, "clamped_laplace", 1),
    "truncated laplace": (AGE, "truncated_laplace", 1),
    "bounded laplace": (AGE, "bounded_laplace", 1),
    "bounded laplace on many points": BoundedLattice(101, two_sided(Fraction(51, 50))),
    "staircase": (AGE, "staircase", 3),
    "gaussian": (AGE, "gaussian", 1),
    "wide gaussian": Lattice(21, Gaussian(Fraction(4), 11)),
    "rating": (Interval(1, 5, 1), "unbiased_design", 1),
    "unbiased design": (Interval(0, 1000, 1), "unbiased_design", 1),
    "dates": (Dates("2024-01-01", "2024-12-31"), "laplace", 1),
    "times": (Times("08:00", "17:59"), "laplace", 1),
    "a number that may be missing": (AGE.with_missing(), "laplace", 1),
    "a clamped one that may be missing": (AGE.with_missing(), "clamped_laplace", 1),
    "a rating that may be missing": (Interval(1, 5, 1).with_missing(), "unbiased_design", 1),
    "a long design that may be missing": (Interval(0, 1000, 1).with_missing(), "unbiased_design", 1),
}
Run = Callable[[list[dict[str, Any]]], dict[str, Any]]  # `every_draw.js` in Node or in a browser
DELTA = {"gaussian", "truncated_laplace"}


def law_of(name: str) -> Law:
    case = CASES[name]
    if not isinstance(case, tuple):
        return case
    space, mechanism, epsilon = case
    delta = Fraction(1, 10**6) if mechanism in DELTA else 0
    return choose(space, Privacy(Fraction(str(epsilon)), delta), mechanism).family


def direct(record: Any) -> int:
    """How many coins a draw takes that never goes on from the last cell of a table, nor draws again."""
    if record["kind"] == "optional":
        return 1 + direct(record["law"])
    noise = record.get("noise")
    return 1000 if noise is None else 1 + len(noise.get("lower", ())) + (noise["kind"] != "two-sided")


def exact_draws(law: Law, codes: list[int], run: Run) -> list[dict[int | None, Fraction]]:
    """The law of what the page draws for some codes, by every path of as few coins as a draw takes."""
    record = page_record(law)
    told = run([{"way": "exact", "law": record, "code": str(code), "deep": direct(record)} for code in codes])["told"]
    return [
        {None if drawn == "null" else int(drawn): sum(map(Fraction, parts)) for drawn, parts in one.items()}
        for one in told
    ]


@pytest.mark.parametrize("name", CASES)
def test_every_path_has_the_probability_of_the_certificate(name: str) -> None:
    check_every_path(law_of(name), node)


def check_every_path(law: Law, run: Run) -> None:
    record, inputs = page_record(law), law.inputs
    assert inputs is not None
    inner = record["law"] if record["kind"] == "optional" else record
    codes = (
        [0, inputs // 3, inputs - 1] if "noise" not in inner else [inputs // 3, inputs - 1][: 1 + (inner is not record)]
    )
    for code, found in zip(codes, exact_draws(law, codes, run), strict=True):
        drawn = {law.absent if target is None else target: chance for target, chance in found.items()}
        # Of these outputs some paths are longer.
        ends = {*({0, int(inner["size"]) - 1} if inner.get("clamped") else ()), *({law.absent} - {None})}
        said = {target: law.probability(code, target) for target in drawn}
        again = inner["kind"] == "bounded" or inner.get("noise", {}).get("reach") is not None
        (scale,) = {chance / said[target] for target, chance in drawn.items() if target not in ends}
        assert scale < 1 if again else scale == 1  # what is drawn again is not counted
        if "noise" not in inner:
            assert sum(drawn.values()) == 1
        elif not again:
            assert 1 - sum(drawn.values()) < Fraction(1, 15)  # what goes on from the last cell of a table
        assert all(0 <= said[end] - drawn[end] < Fraction(1, 15) for end in ends)


def test_there_is_a_case_of_every_kind() -> None:
    """The kinds that the page says it draws are those that it has a sampler for, and each is proven above."""
    told, records = node([]), [page_record(law_of(name)) for name in CASES]
    kinds = {record["kind"] for record in records} | {record["law"]["kind"] for record in records if "law" in record}
    noises = {one["noise"]["kind"] for record in records for one in (record, record.get("law", {})) if "noise" in one}
    assert set(told["kinds"]) == kinds == set(DRAWN) and set(told["noises"]) == noises


def test_every_mechanism_of_a_plan_is_drawn() -> None:
    """Whatever mechanism a plan names for a column of values, numbers or sets, there is a case of it."""
    asked = {
        (space.mechanisms, mechanism)
        for space, mechanism, _ in (case for case in CASES.values() if isinstance(case, tuple))
    }
    skipped = {("interval", "design"), ("subsets", "randomised_response"), ("subsets", "design")}  # laws as above
    every = {(kind, name) for kind, known in HOUSE.items() if kind != "curves" for name in known}
    assert every - asked - skipped == set()


WORDS: list[Law] = [  # drawn by one word of 16 bits
    KeepOrOther(2, 50_000, 15_536),
    KeepOrOther(2, 40_001, 3),
    Matrix(np.array([[65_000, 500, 36], [1, 65_534, 1], [0, 0, 65_536]]), 65_536),
    Matrix(np.array([[40_000, 2, 1], [1, 40_001, 1]]), 40_003),
]


@pytest.mark.parametrize("law", WORDS, ids=str)
def test_every_word_of_16_bits_has_its_owner(law: Law) -> None:
    """Each output owns as many words as its weight, and the others are drawn again."""
    check_every_word(law, node)


def check_every_word(law: Law, run: Run) -> None:
    assert law.inputs is not None and law.total is not None
    record = page_record(law)
    told = run([{"way": "word", "law": record, "code": str(code)} for code in range(law.inputs)])["told"]
    for code, counts in enumerate(told):
        again = counts.pop("again", 0)
        weights = {str(target): int(w) for target, w in enumerate(law.weights(code)) if w}
        assert counts == weights and again == (1 << 16) - law.total


def kind_of(name: str) -> tuple[str, ...]:
    """The sampler of a law, that of the law inside it, and that of its noise."""
    record = page_record(law_of(name))
    return record["kind"], *(inner["kind"] for key in ("law", "noise") if (inner := record.get(key)))


ONE_OF_EACH = {kind_of(name): name for name in reversed(CASES)}  # the first case of each kind of law
ONE_OF_EACH |= {kind_of("wide gaussian"): "wide gaussian"}  # the quick one


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_draws_with_secure_coins_fit_the_law(name: str) -> None:
    """χ² of 10^6 draws of a law of each kind, and of 10^5 of each other; an honest sampler fails once in 10^9."""
    check_draws(name, 10**6 if name in ONE_OF_EACH.values() else 10**5, node)


def check_draws(name: str, draws: int, run: Run) -> None:
    """Outcomes that are seldom are taken together."""
    from scipy.stats import chi2

    law = law_of(name)
    code = (law.inputs or 1) // 3
    (counts,) = run([{"way": "many", "law": page_record(law), "code": str(code), "draws": draws}])["told"]
    seen = {law.absent if target == "null" else int(target): count for target, count in counts.items()}
    assert sum(seen.values()) == draws
    expected = {target: float(draws * law.probability(code, target)) for target in seen}
    common = [target for target in seen if expected[target] >= 20]
    cells = [(seen[target], expected[target]) for target in common]
    rest = draws - sum(count for count, _ in cells), draws - sum(wanted for _, wanted in cells)
    cells += [rest] if rest[1] >= 20 else []
    statistic = sum((count - wanted) ** 2 / wanted for count, wanted in cells)
    assert statistic <= chi2.isf(1e-9, max(len(cells) - 1, 1))
