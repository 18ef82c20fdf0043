"""The stand-alone verifier and dproof's own reader have a table of ranges each: they agree on every number."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from dproof import DproofError
from dproof.certification.verify_certificate import LAWS as SHAPES
from dproof.certification.verify_certificate import Refused, by_kind
from dproof.curves.noise import recorded_noise
from dproof.laws.law import law_from_json
from tests.attacks.test_certificate_forgeries import ALONE, CERTIFICATES, REGION, paths

ENDS = (9, 62, 128, 1 << 30, 1 << 50, 1 << 62, 1 << 128, 10**2000)
EDGES = sorted({0, 1, 2, *(end + more for end in ENDS for more in (-1, 0, 1))})
FRACTIONS = [f"1/{1 << 24}", f"1/{(1 << 24) + 1}", f"2/{(1 << 24) + 1}", "8", "15/2", *map(str, (1 << 18, 1 << 30))]
FRACTIONS += [f"{(end << 1) + 1}/2" for end in (1 << 18, 1 << 30)]
LAWS = {name: body["laws"][0]["law"] for name, body in CERTIFICATES.items() if name not in ALONE}


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
        by_kind(SHAPES)(law, "law")
    except Refused:
        return True
    return False


def refused_by_dproof(law: dict[str, Any]) -> str | None:
    try:
        recorded_noise(law["noise"]) if law["kind"] == "coefficients" else law_from_json(law)
    except (DproofError, ArithmeticError) as refused:
        return str(refused)
    return None


@pytest.mark.parametrize("name", LAWS)
def test_both_readers_refuse_the_same_numbers(name: str) -> None:
    tried = 0
    for path, edge, law in with_edges(LAWS[name]):
        tried += 1
        alone, own = refused_alone(law), refused_by_dproof(law)
        where = f"{path} of {len(str(edge))} digits, {str(edge)[-3:]} at its end: {own}"
        assert own is not None or not alone, f"only the stand-alone verifier refuses {where}"
        # What it refuses for other reasons, how numbers go together, the other finds when it verifies.
        assert alone or own is None or "outside its range" not in own, f"only dproof refuses {where}"
    assert tried >= len(EDGES)
