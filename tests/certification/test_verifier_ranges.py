"""The range of every number in a certificate: the stand-alone verifier takes its two ends and nothing beyond them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dproof import Categories, DproofError, Privacy, certify, randomised_response
from dproof.certification import verify_certificate as verifier
from dproof.certification.verify_certificate import LAWS, NOISES, Reader, Refused, by_kind, check_sum, main, total
from dproof.curves.noise import recorded_noise
from dproof.laws.law import law_from_json
from tests.attacks.test_certificate_forgeries import ALONE, CERTIFICATES, REGION, paths

HUGE = 10**2000 - 1


def texts(low: int, high: int) -> tuple[list[Any], list[Any]]:
    """Whole numbers in digits: the two ends, and what lies beyond."""
    beyond = [str(high + 1)] if high < HUGE else ["1" + "0" * 2000]
    return [str(low), str(high)], [str(low - 1), *beyond, low, "", "01", "1.0", "٣"]


def wholes(low: int, high: int) -> tuple[list[Any], list[Any]]:
    return [low, high], [low - 1, high + 1, str(low), float(low), True, None]


def fractions(low: Fraction | int, high: int) -> tuple[list[Any], list[Any]]:
    least = Fraction(1, 10**1900)
    return [str(Fraction(low)), str(high)], [str(low - least), str(high + least), "2/2", "1/0", "+1", "0.5", 1]


def lists(entry: Any, least: int, most: int) -> tuple[list[Any], list[Any]]:
    shorter = [[entry] * (least - 1)] if least else []
    return [[entry] * least, [entry] * most], [*shorter, [entry] * (most + 1), (entry,) * most, None]


RANGES: dict[str, tuple[Reader, tuple[list[Any], list[Any]]]] = {
    "epsilon": (verifier.PROMISE["epsilon"], fractions(0, 1000)),
    "delta": (verifier.PROMISE["delta"], fractions(0, 1)),
    "weight": (verifier.WEIGHT, texts(0, HUGE)),
    "total": (verifier.TOTAL, texts(1, HUGE)),
    "weight of noise": (verifier.TABLED, texts(1, 1 << 128)),
    "two-sided lower": (NOISES["two-sided"]["lower"], lists(["1"] * 128, 0, 9)),
    "two-sided digits": (NOISES["two-sided"]["lower"], ([[["1"] * 128]], [[["1"] * 127], [["1"] * 129]])),
    "two-sided top": (NOISES["two-sided"]["top"], ([[["1"] * 2, ["1"] * 1024]], [[["1"], ["1"]], [["1"] * 1025] * 2])),
    "two-sided sides": (NOISES["two-sided"]["top"], lists(["1", "1"], 2, 2)),
    "two-sided reach": (NOISES["two-sided"]["reach"], ([None, 1, 1 << 62], [0, (1 << 62) + 1, "1"])),
    "gaussian square": (NOISES["gaussian"]["square"], fractions(Fraction(1, 1 << 24), 1 << 30)),
    "gaussian weights": (NOISES["gaussian"]["weights"], lists("1", 1, 1 << 17)),
    "gaussian unit": (NOISES["gaussian"]["unit"], wholes(1, 1 << 50)),
    "stairs width": (NOISES["stairs"]["width"], texts(1, 1 << 62)),
    "stairs inner": (NOISES["stairs"]["inner"], texts(1, 1 << 62)),
    "stairs first": (NOISES["stairs"]["first"], lists("1", 2, 4096)),
    "stairs tail": (NOISES["stairs"]["tail"], lists("1", 2, 4096)),
    "convolved square": (NOISES["convolved"]["square"], fractions(8, 1 << 18)),
    "convolved step": (NOISES["convolved"]["step"], wholes(1, 128)),
    "convolved draws": (NOISES["convolved"]["draws"], wholes(1, 9)),
    "k-norm terms": (NOISES["k-norm"]["terms"], wholes(1, 512)),
    "k-norm cell": (NOISES["k-norm"]["cell"], wholes(1, 1 << 40)),
    "k-norm fall": (NOISES["k-norm"]["fall"], fractions(Fraction(1, 1 << 32), 1 - Fraction(1, 1 << 32))),
    "keep-or-other size": (LAWS["keep-or-other"]["size"], wholes(1, 1 << 62)),
    "bits": (LAWS["bits"]["bits"], wholes(1, 512)),
    "unary size": (LAWS["unary"]["size"], wholes(1, 62)),
    "subset-selection size": (LAWS["subset-selection"]["size"], wholes(1, 62)),
    "subset-selection width": (LAWS["subset-selection"]["width"], wholes(1, 62)),
    "lattice size": (LAWS["lattice"]["size"], texts(1, 1 << 62)),
    "curve terms": (LAWS["coefficients"]["terms"], wholes(1, 512)),
    "curve radius": (LAWS["coefficients"]["radius"], ([None, 1, 1 << 20], [0, (1 << 20) + 1, 1.0])),
    "curve box": (LAWS["coefficients"]["box"], ([[0], [1 << 20] * 512], [[-1], [(1 << 20) + 1], [], [0] * 513])),
    "neighbours": (
        LAWS["matrix"]["neighbours?"],
        ([[], [[0, 1 << 20]]], [[[-1, 0]], [[0, (1 << 20) + 1]], [[0]], [[0, 1, 2]]]),
    ),
    "tight epsilon": (verifier.LEVELS["epsilon"], ([0.0, 1000.0, "inf"], [-0.0, -0.1, 1000.1, 1, "nan", None])),
    "tight delta": (verifier.LEVELS["delta"], ([0.0, 1.0], [-0.0, 1.1, 1, "inf"])),
    "text": (verifier.text, (["", "a" * 4096], ["a" * 4097, 1, None])),
    "truth": (verifier.truth, ([True, False], [0, 1, "true", None])),
    "names": (
        verifier.named(verifier.truth),
        ([{}, {str(n): True for n in range(1 << 16)}], [{str(n): True for n in range((1 << 16) + 1)}, []]),
    ),
}


@pytest.mark.parametrize("name", RANGES)
def test_the_ends_of_a_range_are_read_and_nothing_beyond(name: str) -> None:
    reader, (taken, refused) = RANGES[name]
    for given in taken:
        reader(given, name)
    for given in refused:
        with pytest.raises(Refused, match=name):
            reader(given, name)


def test_promises_add_up_to_a_fraction_that_can_be_worked_with() -> None:
    """A sum of fractions with long denominators would take hours."""
    parts = [{"epsilon": Fraction(1, 3**4000 + 2 * n)} for n in range(166)]
    assert sum(part["epsilon"].denominator.bit_length() for part in parts) > 1 << 20
    assert total(part["epsilon"] for part in parts[:50]) == sum(part["epsilon"] for part in parts[:50])
    check_sum(parts[:165], "epsilon", Fraction(1), False)
    check_sum(parts, "epsilon", Fraction(1), True)
    with pytest.raises(Refused, match="too long a common denominator"):
        check_sum(parts, "epsilon", Fraction(1), False)


# The stand-alone verifier and dproof's own reader have a table of ranges each: they agree on every number -------------


ENDS = (9, 62, 128, 1 << 30, 1 << 50, 1 << 62, 1 << 128, 10**2000)
EDGES = sorted({0, 1, 2, *(end + more for end in ENDS for more in (-1, 0, 1))})
FRACTIONS = [f"1/{1 << 24}", f"1/{(1 << 24) + 1}", f"2/{(1 << 24) + 1}", "8", "15/2", *map(str, (1 << 18, 1 << 30))]
FRACTIONS += [f"{(end << 1) + 1}/2" for end in (1 << 18, 1 << 30)]
RECORDED = {name: body["laws"][0]["law"] for name, body in CERTIFICATES.items() if name not in ALONE}


def with_edges(law: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], int | str, dict[str, Any]]]:
    """The law with each of its numbers in turn at the ends of ranges, and beside them."""
    for path in paths(law):
        if path[0] in REGION or "weights" in path:
            continue  # these are not read: they follow from the plan, or from the square
        forged = copy.deepcopy(law)
        holder: Any = forged
        for key in path[:-1]:
            holder = holder[key]
        value = holder[path[-1]]
        edges: list[Any] = EDGES if type(value) is int or (type(value) is str and value.isdigit()) else []
        for edge in FRACTIONS if path[-1] == "square" else edges:
            holder[path[-1]] = type(value)(edge)
            yield path, edge, forged


def refused_alone(law: dict[str, Any]) -> bool:
    try:
        by_kind(LAWS)(law, "law")
    except Refused:
        return True
    return False


def refused_by_dproof(law: dict[str, Any]) -> str | None:
    try:
        recorded_noise(law["noise"]) if law["kind"] == "coefficients" else law_from_json(law)
    except (DproofError, ArithmeticError) as refused:
        return str(refused)
    return None


@pytest.mark.parametrize("name", RECORDED)
def test_both_readers_refuse_the_same_numbers(name: str) -> None:
    tried = 0
    for path, edge, law in with_edges(RECORDED[name]):
        tried += 1
        alone, own = refused_alone(law), refused_by_dproof(law)
        where = f"{path} of {len(str(edge))} digits, {str(edge)[-3:]} at its end: {own}"
        assert own is not None or not alone, f"only the stand-alone verifier refuses {where}"
        # What it refuses for other reasons, how numbers go together, the other finds when it verifies.
        assert alone or own is None or "outside its range" not in own, f"only dproof refuses {where}"
    assert tried >= len(EDGES)


# The exit code of the stand-alone verifier: 0 where a certificate holds, 1 where it does not, 2 without a file --------


def test_what_holds_ends_with_0_and_nothing_else_does(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    certify(randomised_response(Categories(["a", "b"]), Privacy(1)), Privacy(1)).write(path)
    assert main([str(path)]) == 0 and main([]) == 2
    path.write_text(path.read_text("utf-8").replace('"epsilon": "1"', '"epsilon": "1/2"'), "utf-8")
    assert main([str(path)]) == 1
