"""HLM15, Example 2: time courses as points of a function space, in the sup norm and in L2."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dproof import Curves, InputError
from dproof.exact import root_above

VALUES = st.lists(st.integers(-20, 20), min_size=5, max_size=5)


def on_grid(space: Curves, f) -> list[Fraction]:
    return [f(t) for t in space.grid]


def test_line_and_parabola_in_both_norms() -> None:
    fine = Curves(0, 1, 257, 0, 1, norm="sup")
    assert fine.distance(on_grid(fine, lambda t: t), on_grid(fine, lambda t: t * t)) == Fraction(1, 4)
    l2 = Curves(0, 1, 257, 0, 1, norm="l2")
    assert float(l2.distance(on_grid(l2, lambda t: t), on_grid(l2, lambda t: t * t))) == pytest.approx(
        0.1825741858, abs=3e-6
    )


def test_cubic_and_parabola_in_both_norms() -> None:
    space = Curves(0, 2, 401, -10, 20)
    f, g = on_grid(space, lambda t: 1 - 3 * t + 2 * t**3), on_grid(space, lambda t: t * t)
    assert space.distance(f, g) == 7
    assert float(root_above(space.squared_distance(f, g))) == pytest.approx(2.9568322818, abs=1e-4)


def test_a_grid_sees_a_lower_bound_of_the_sup_norm_of_a_smooth_function() -> None:
    seen = []
    for points in (2, 4, 8, 16, 256):
        space = Curves(0, 1, points, 0, 1)
        seen.append(space.distance(on_grid(space, lambda t: t), on_grid(space, lambda t: t * t)))
    assert all(value < Fraction(1, 4) for value in seen) and seen == sorted(seen)


@given(VALUES, VALUES, VALUES)
@example([0, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 3, 0, 0, 0])
def test_the_norms_are_metrics(f: list[int], g: list[int], h: list[int]) -> None:
    sup, l2 = (Curves(0, 1, [0, "0.1", "0.5", "0.75", 1], -20, 20, norm=norm) for norm in ("sup", "l2"))
    for space in (sup, l2):
        assert space.distance(f, g) == space.distance(g, f)
        assert (space.distance(f, g) == 0) == (f == g)
        assert space.distance(f, g) <= space.diameter
    assert sup.distance(f, h) <= sup.distance(f, g) + sup.distance(g, h)
    # A root is rounded up, so the triangle is checked on the squares, which are exact: √a ≤ √b + √c.
    a, b, c = (l2.squared_distance(x, y) for x, y in ((f, h), (f, g), (g, h)))
    assert a <= b + c or (a - b - c) ** 2 <= 4 * b * c
    assert l2.squared_distance(f, g) <= sup.distance(f, g) ** 2


@given(VALUES)
def test_the_l2_norm_of_a_piecewise_linear_function_is_exact(f: list[int]) -> None:
    space = Curves(0, 1, [0, "0.1", "0.5", "0.75", 1], -20, 20)
    refined = sorted({*space.grid, *(Fraction(n, 60) for n in range(61))})
    finer = Curves(0, 1, refined, -20, 20)
    between = [
        next(a + (b - a) * (t - u) / (v - u) for (u, a), (v, b) in itertools.pairwise(pairs) if u <= t <= v)
        for t in refined
        for pairs in [list(zip(space.grid, map(Fraction, f), strict=True))]
    ]
    assert space.squared_distance(f, [0] * 5) == finer.squared_distance(between, [0] * len(refined))


@given(st.fractions(min_value=0, max_value=10**9))
def test_a_root_is_never_below(x: Fraction) -> None:
    root = root_above(x)
    assert root**2 >= x and (root == 0 or (root * (1 - Fraction(1, 2**60))) ** 2 < x)


def test_diameter_and_separation() -> None:
    assert Curves(0, 4, 5, -1, 2).diameter == 3
    assert Curves(0, 4, 5, -1, 2, norm="l2").diameter == 6
    assert Curves(0, 4, 5, -1, 2).separation == 0


def test_curves_come_from_many_forms() -> None:
    pa = pytest.importorskip("pyarrow")
    space = Curves(0, 1, 3, 0, 9)
    rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    lists = pa.array(rows)
    forms = [
        rows,
        np.array(rows),
        lists,
        pa.chunked_array([lists, lists.slice(2)]),
        lists.cast(pa.list_(pa.float64(), 3)),
        pa.array([[9.0] * 3, *rows]).slice(1),
        pa.table({"a": [1, 4], "b": [2, 5], "c": [3.0, 6.0]}),
        pa.record_batch({"a": [1, 4], "b": [2, 5], "c": [3.0, 6.0]}),
    ]
    for form in forms:
        assert space.read(form).tolist() == rows
    pd = pytest.importorskip("pandas")
    assert space.read(pd.DataFrame(rows)).tolist() == rows
    assert space.read([]).shape == (0, 3) and space.read(pa.array([], pa.list_(pa.float64()))).shape == (0, 3)


class FDataGrid:  # what scikit-fda's class offers, as far as it is read
    __module__ = "skfda.representation.grid"
    dim_domain = dim_codomain = 1

    def __init__(self, values: list[list[float]], grid: list[float]) -> None:
        self.data_matrix, self.grid_points = np.array(values)[..., None], (np.array(grid),)


def test_functional_data_grids_are_read_and_their_grid_is_checked() -> None:
    space = Curves(0, 1, 3, 0, 9)
    assert space.read(FDataGrid([[1.0, 2.0, 3.0]], [0, 0.5, 1])).tolist() == [[1.0, 2.0, 3.0]]
    with pytest.raises(InputError, match="not the declared one"):
        space.read(FDataGrid([[1.0, 2.0, 3.0]], [0, 0.4, 1]))


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, 2.0]],
        [[1.0, 2.0, 3.0], [1.0, 2.0]],
        [[1.0, 2.0, float("nan")]],
        [[1.0, 2.0, float("inf")]],
        [[1.0, None, 2.0]],
        [["1", "x", "2"]],
        [1.0, 2.0, 3.0],
        [[1.0, 2.0, 77.0]],
    ],
)
def test_ragged_missing_and_wild_curves_are_refused_without_a_value(rows: list) -> None:
    pa = pytest.importorskip("pyarrow")
    space = Curves(0, 1, 3, 0, 9)
    forms = [rows]
    if all(isinstance(row, list) for row in rows):
        forms.append(pa.array(rows))
    for form in forms:
        with pytest.raises(InputError) as refusal:
            space.read(form)
        assert "77" not in str(refusal.value) and "x" not in str(refusal.value).split()


@pytest.mark.parametrize(
    "arguments",
    [
        (0, 1, 1, 0, 1),
        (0, 1, [0, 1, "0.5"], 0, 1),
        (0, 1, [0, 0, 1], 0, 1),
        (0, 1, [0, "0.5"], 0, 1),
        (1, 0, 5, 0, 1),
        (0, 1, 5, 1, 1),
        (0, 1, True, 0, 1),
        (0, 1, 10**9, 0, 1),
        (0, float("nan"), 5, 0, 1),
    ],
)
def test_a_grid_out_of_order_is_no_grid(arguments: tuple) -> None:
    with pytest.raises(InputError):
        Curves(*arguments)


def test_interpolation_and_places() -> None:
    space = Curves(0, 2, 3, -1, 3)
    assert space.evaluate([[0.0, 2.0, -1.0]], [0.5, 1.5, 2]).tolist() == [[1.0, 0.5, -1.0]]
    with pytest.raises(InputError):
        space.evaluate([[0.0, 2.0, -1.0]], [2.5])
    assert space.decode(space.encode([[-1, 0.5, 3]])) == [[-1.0, 0.5, 3.0]]
    assert space.encode([[-9, 0.5, 9]], clamp=True).tolist() == space.encode([[-1, 0.5, 3]]).tolist()
