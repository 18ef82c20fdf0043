"""Numbers and dates written as texts: all at once they are what they are one by one, and odd ones alone cost a call."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Dates, Interval
from dproof.columns.codec import Column, codec_of
from dproof.columns.values import DECIMALS, FAR, LARGEST_FACTOR, THOUSANDS, Numerals, read_decimals
from dproof.plans.reader import Reader, read_column
from dproof.tables import open_source

SIGNS = [Numerals(decimal, mark) for decimal in DECIMALS for mark in THOUSANDS if decimal != mark]
SIGNS += [Numerals(",", ".", "€ %"), Numerals(".", ",", "m km $"), Numerals(".", " ", "Fr. e")]
LATTICES = [
    Interval(0, 100, 1),
    Interval(-7, 9, 2),
    Interval("-1.5", "2.5", "0.25"),
    Interval(0, 1, "1/3"),
    Interval("-0.001", "0.001", "1e-9"),
    Interval("-1e12", "1e12", "1e11"),
    Interval(10**17, 10**17 + 3, 1),
    Interval(0, "1e-9", "1e-10"),  # so fine that every text is read by itself
    Interval(0, 1, Fraction(1, LARGEST_FACTOR // 2)),
    Interval(0, 1, Fraction(1, LARGEST_FACTOR // 2 + 1)),
    Interval(5, 5),
]
ODD = [
    "true",
    "false",
    "True",
    " inf",
    "-INF",
    "+infinity",
    "Infinity",
    "nan",
    "1/2",
    "\u0663",
    "1\u3000",
    "+ 5",
    ".",
    "",
]


def treated(space: Any, clamp: bool, numerals: Numerals = SIGNS[0]) -> Column:
    return Column("x", "", ("x",), space, clamp=clamp, numerals=numerals)


@st.composite
def numbers(draw: Any, signs: Numerals, space: Interval) -> str:
    """Texts of numbers: near points of the lattice and the middles between them, or of any digits."""
    if draw(st.booleans()):
        number = space.low + space.step * Fraction(draw(st.integers(-3, 2 * min(space.size, 40))), 2)
        digits = draw(st.integers(0, 24))
        tail = Fraction(draw(st.integers(-1, 1)), 10 ** draw(st.integers(1, 24)))
        scaled = (number + tail) * 10**digits
        text = f"{Decimal(round(scaled)).scaleb(-digits):f}"
    else:
        text = draw(st.from_regex(r"\A[+-]?[0-9]{0,19}(\.[0-9]{0,20})?\Z"))
    whole, _, part = text.partition(".")
    if signs.thousands and draw(st.booleans()) and whole.lstrip("+-").isdigit():
        mark = draw(st.sampled_from([signs.thousands, *signs.other_marks]))
        whole = f"{int(whole):,}".replace(",", mark)
    power = draw(st.sampled_from(["", "", "e2", "E-3", "e+20", "e-25", "e99", "e-99", "e400", "e-401", "e0005", "e"]))
    blank = st.sampled_from(["", "", " ", "\t", "\u00a0", "\x1c"])
    number = f"{draw(blank)}{whole}{signs.decimal if part else ''}{part}{power}{draw(blank)}"
    before, after = (draw(st.sampled_from(["", "", *signs.units.split()])) for _ in range(2))
    sign = draw(st.sampled_from(["", "-", "- "])) if before else ""
    return f"{draw(blank)}{sign}{before}{number}{after}{draw(blank)}"


@pytest.mark.parametrize("space", LATTICES, ids=repr)
@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(SIGNS), st.booleans())
def test_texts_all_at_once_are_read_as_each_alone(space: Interval, data: Any, signs: Numerals, clamp: bool) -> None:
    """The oracle reads a text by Python's own fractions."""
    alphabet = st.text(f"0123456789+-eE., '\t\u00a0\u2009tfi/a{signs.units}", max_size=12)
    texts = data.draw(st.lists(st.one_of(numbers(signs, space), alphabet, st.sampled_from(ODD)), max_size=12))
    column = treated(space, clamp, signs)
    alone = [codec_of(space, column).lookup(text.encode()) for text in texts]
    for kind in (pa.string(), pa.large_binary()):
        assert (
            codec_of(space, column)
            .lookups(pa.array([text.encode() for text in texts], pa.binary()).cast(kind))
            .tolist()
            == alone
        )


def test_a_unit_stands_on_one_side_of_a_number() -> None:
    space, signs = Interval(-100, 100, 1), Numerals(",", ".", "€ % km m")
    read = {"65 %": 65, "65%": 65, "€ 12": 12, "-€12": -12, "€-12": -12, "-12,0\u00a0€": -12, "7 km": 7, "7 m": 7}
    none = ["€12€", "12 € %", "7 cm", "€", "%65 %", "1 2 €"]
    codec = codec_of(space, treated(space, False, signs))
    for text, number in read.items():
        assert codec.lookup(text) == number + 100, text
    assert all(codec.lookup(text) < 0 for text in none)
    texts = pa.array([*read, *none])
    assert codec.lookups(texts).tolist() == [codec.lookup(text) for text in (*read, *none)]


@settings(max_examples=300)
@given(st.text("0123456789+-e.", max_size=14), st.integers(1, LARGEST_FACTOR))
def test_floors_are_exact(text: str, factor: int) -> None:
    found = read_decimals(pa.array([text]), SIGNS[0])
    if not found.known[0]:
        return
    product = Fraction(Decimal(text)) * factor
    (floor,), (above,) = found.floors(factor)
    if abs(product) < FAR:
        assert floor == product.numerator // product.denominator and above == (product.denominator != 1)
    else:
        assert abs(int(floor)) >= FAR and (floor > 0) == (product > 0)


def test_what_is_left_to_be_read_alone_is_little() -> None:
    """Every usual form of a number is read at once: with a sign, blanks, marks, decimals and an exponent."""
    usual = [
        "12",
        " 12 ",
        "+12.5",
        "-1,250.75",
        "1e3",
        "1.5E-7",
        "0.30000000000000004",
        "name",
        "12-3",
        "12e",
        "",
        "000007",
    ]
    found = read_decimals(pa.array(usual), Numerals(thousands=","))
    assert not found.unread.any() and found.known.tolist() == [True] * 7 + [False] * 4 + [True]
    odd = ["1" * 19, "1e100", "inf", "true", "é"]
    assert read_decimals(pa.array(odd), Numerals()).unread.all()


def test_one_value_more_costs_one_look_more() -> None:
    """What is remembered makes room for nothing else: one more value than that makes no other be read again."""
    from dproof.columns.codec import _REMEMBERED, one_by_one

    def looks(count: int) -> int:
        seen: list[Any] = []
        look_up = one_by_one(lambda value: seen.append(value) or 0)  # type: ignore[func-returns-value]
        for _ in range(3):
            look_up(pa.array(np.arange(count)))
        return len(seen)

    assert looks(_REMEMBERED) == _REMEMBERED and looks(_REMEMBERED + 1) == _REMEMBERED + 3


def test_decimals_of_arrow_are_read_at_once_too() -> None:
    space = Interval(0, 10, "0.1")
    values = [Decimal("1.25"), Decimal("-3"), Decimal("9.99"), Decimal("1E-20"), None]
    array = pa.array(values, pa.decimal128(38, 20))
    for clamp in (True, False):
        alone = [codec_of(space, treated(space, clamp)).lookup(value) for value in values]
        assert codec_of(space, treated(space, clamp)).lookups(array).tolist() == alone


TIMES = [
    "",
    "T00:00",
    " 23:59:59",
    "T1230",
    " 24:00",
    "T12:30:00.123456789Z",
    "T12:30:00.1234567890",
    "T23:30:00-01:00",
    "Z",
]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.dates().map(str), st.from_regex(r"\A[0-9]{4}-[01][0-9]-[0-3][0-9]\Z"), st.text(max_size=12)),
            st.sampled_from(TIMES),
            st.sampled_from(["", "", " ", "\n", "\u00a0"]),
        ),
        max_size=8,
    ),
    st.booleans(),
)
def test_dates_all_at_once_are_read_as_each_alone(parts: list[tuple[str, str, str]], clamp: bool) -> None:
    space = Dates("1900-01-01", "2100-12-27", 7)
    texts = [(date + time + blank).encode("utf-8", "replace") for date, time, blank in parts]
    column = treated(space, clamp)
    alone = [codec_of(space, column).lookup(text) for text in texts]
    assert codec_of(space, column).lookups(pa.array(texts, pa.binary())).tolist() == alone


@pytest.mark.parametrize("space", ["interval", "date", "time"])
def test_texts_of_a_file_are_read_row_by_row_whether_they_are_alike_or_not(
    space: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the number of rows decides how long it takes, and not how many of them differ."""
    import dproof.columns.numbers as numbers

    places = {"interval": (numbers, "read_decimals"), "date": (numbers.DateCodec, "plain")}
    place, reads = places.get(space, (numbers.TimeCodec, "plain"))
    read, seen = getattr(place, reads), list[int]()
    spy = lambda texts, *more: [seen.append(len(texts)), read(texts, *more)][1]  # noqa: E731
    monkeypatch.setattr(place, reads, spy if space == "interval" else staticmethod(spy))
    shape = {"interval": "{}", "date": "2024-02-{:02}", "time": "09:{:02}"}[space]
    texts = [shape.format(n) for n in range(1, 29)]
    ends = {"low": texts[0], "high": texts[-1], "missing": texts[0]}
    column = read_column("x", Reader({"space": space, **ends}, ()))
    for rows in ([texts[7]] * 28, texts):
        (tmp_path / "x.csv").write_text("\n".join(["x", *rows]))
        (batch,) = open_source(tmp_path / "x.csv").read(["x"])
        column.encoder()([batch.column(0)])
    assert seen == [28, 28]
