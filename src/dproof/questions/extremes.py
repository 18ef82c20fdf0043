"""The least and the greatest value of a calculation while its sums are near to what was estimated.

The sums of a group are moved by independent errors; a place has a number for each error and is near if its length is 1
at most. Most calculations hardly bend so near: then the ends lie along the slope. Else it is looked at everywhere, and
then, from the best place, up the slope and to where that is level (Newton's method), ever more closely.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Protocol

import numpy as np

from dproof.laws.debias import Array
from dproof.questions.measured import HIGHEST_LEVEL, normal_quantile

_STRAIGHT = 0.02  # the turn of a slope, in radians, that moves an end by a few thousandths of an interval at most
_POINTS = 32  # places at which it is looked at
_STEPS = (0.0, 0.002, 0.01, 0.05, 0.2, 0.6)  # up its slope
_CLOSER = 6  # times that such steps are taken, each half as long
_DIFFERENCE = 1e-4  # between places whose values tell a slope
_BETWEEN = 2e-4  # of a range: what is found may be so much too short
_ALMOST = 1e-4  # nothing, of a length
_AT_ONCE = 1 << 13  # groups
_SIGNS = np.array([-1.0, 1.0])[:, None]  # of the least and of the greatest


class Calculation(Protocol):
    """A calculation with the sums of every group."""

    @property
    def value(self) -> Array: ...

    @property
    def gradient(self) -> Array: ...

    @property
    def linear(self) -> bool: ...

    @property
    def divisors(self) -> Sequence[Calculation]:
        """What is divided by, and what these are products of."""

    def at(self, moved: Array, groups: Array) -> Array:
        """Its value in some groups where their sums are so much more: points × groups, of points × groups × sums."""


def roots(covariance: Array, stderr: Array) -> Array:
    """The correlations of the sums of each group as independent errors: groups × sums × errors, in rows of length 1.

    >>> roots(np.array([[[4.0, 2.0], [2.0, 1.0]]]), np.array([[2.0, 1.0]])).shape  # one moves with the other
    (1, 2, 1)
    """
    both = stderr[:, :, None] * stderr[:, None, :]
    shared = np.divide(covariance, both, out=np.zeros_like(both), where=both > 0)
    sizes, vectors = np.linalg.eigh(np.nan_to_num(shared))
    found = vectors * np.sqrt(np.maximum(sizes, 0.0))[:, None]
    length = _length(found)
    found = np.divide(found, length, out=np.zeros_like(found), where=length > _ALMOST)
    return np.asarray(found[:, :, (np.abs(found) > _ALMOST).any(axis=(0, 1))])


def extremes(value: Calculation, reach: Array, groups: Array, level: float) -> tuple[Array, Array]:
    """The least and the greatest value in some groups; not a number where a divisor may be zero.

    `reach` says how far the errors of an interval at this level move the sums: groups × sums × errors. Noise moves a
    calculation along its slope alone. Where that turns, at a least or a greatest value, noise in all directions moves
    it the same way. So such a value counts also where it is as far away as noise leads in all directions together, but
    for half of the chance to miss: steps of few rows and what turns farther on have the other.
    """
    ends = np.full((2, len(groups)), np.nan)
    for start in range(0, len(groups), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        near = _Near(value, reach[some], groups[some])
        found, is_straight = near.along_the_slope()
        (bent,) = np.nonzero(~is_straight)
        if bent.size:
            found[:, bent], _ = near.of(bent).extremes()
            if (errors := reach.shape[-1]) > 1:
                farther = _chi_quantile((1 + level) / 2, errors) / normal_quantile(level)
                far, turns = near.of(bent, farther).extremes(inside=True)
                beyond = np.where(_SIGNS * far > _SIGNS * found[:, bent], far, found[:, bent])
                found[:, bent] = np.where(turns, beyond, found[:, bent])
        ends[:, some] = found
    return ends[0], ends[1]


def _chi_quantile(level: float, errors: int) -> float:
    """The length that so many independent normal errors have at most (Wilson and Hilferty 1931).

    >>> round(_chi_quantile(0.95, 2), 2), round(_chi_quantile(0.95, 5), 2)
    (2.44, 3.32)
    """
    part, z = 2 / (9 * errors), NormalDist().inv_cdf(min(level, HIGHEST_LEVEL))
    return float((errors * (1 - part + z * part**0.5) ** 3) ** 0.5)


class _Near:
    """A calculation in some groups, where their sums are near."""

    def __init__(self, value: Calculation, reach: Array, groups: Array) -> None:
        self.value, self.reach, self.groups, self.errors = value, reach, groups, reach.shape[-1]
        self.slope, self.divisors = (
            self._slope_of(value),
            [(one, self._slope_of(one)) for one in dict.fromkeys(value.divisors)],
        )
        self.steady = np.ones(len(groups), bool)  # where nothing that is divided by may be zero
        for one, slope in self.divisors:
            if one.linear:
                self.steady &= np.abs(one.value[groups]) > _length(slope)[:, 0]

    def of(self, some: Array, farther: float = 1.0) -> _Near:
        """Some of its groups, and as near or farther."""
        return _Near(self.value, self.reach[some] * farther, self.groups[some])

    def _slope_of(self, value: Calculation) -> Array:
        return np.asarray(np.einsum("gi,gik->gk", value.gradient[self.groups], self.reach))

    def at(self, places: Array, value: Calculation | None = None) -> Array:
        """Its values, or those of a divisor: points × groups, of points × groups × errors."""
        return (value or self.value).at(np.einsum("gik,...gk->...gi", self.reach, places), self.groups)

    def along_the_slope(self) -> tuple[Array, Array]:
        """Its values at both ends of its slope, and whether that turns nowhere; NaN where it may divide by zero."""
        with np.errstate(all="ignore"):
            size = _length(self.slope)
            ends = np.nan_to_num(_SIGNS[..., None] * self.slope / size)
            axes = np.broadcast_to(np.eye(self.errors)[:, None], (self.errors, *self.slope.shape))
            places = np.concatenate([ends, axes])
            found = self.at(places)
            moved = self.at(places + _DIFFERENCE * np.eye(self.errors)[:, None, None])
            turned = _length(np.moveaxis(moved - found, 0, -1) / _DIFFERENCE - self.slope)
            is_straight = np.all(turned <= _STRAIGHT * size, axis=(0, 2))
        return np.where(self.steady, found[:2], np.nan), is_straight | ~self.steady

    def extremes(self, *, inside: bool = False) -> tuple[Array, Array]:
        """The least and the greatest value, and whether it turns there; not a number where it may divide by zero.

        With `inside` only those are looked for where it turns.
        """
        everywhere = np.broadcast_to(_points(self.errors)[:, None], (_POINTS, *self.slope.shape))
        with np.errstate(all="ignore"):
            slopes = [slope / _length(slope) for slope in (self.slope, *(slope for _, slope in self.divisors))]
            level = self._level(np.zeros((1, *self.slope.shape)))[0]
            everywhere = np.nan_to_num(np.concatenate([everywhere, slopes, np.negative(slopes), level]))
            steady = self.steady.copy()
            for one, _ in self.divisors:
                if not one.linear:
                    (least, most), _ = _Near(one, self.reach, self.groups).extremes()
                    steady &= least * most > 0
            best, ends = _best(everywhere[:, None], self.at(everywhere)[:, None])
            some = np.flatnonzero(steady & _is_inside(best).any(axis=0) if inside else steady)
            for n in range(_CLOSER):
                if not some.size:
                    break
                best[:, some], found = self.of(some).closer(best[:, some], 0.5**n)
                moved = np.abs(found - ends[:, some]) > _BETWEEN / 4 * np.abs(found[1] - found[0])
                ends[:, some] = found
                some = some[moved.any(axis=0)] if n > 1 else some
            ends += _SIGNS * _BETWEEN * np.abs(ends[1] - ends[0])
        return np.where(steady, ends, np.nan), steady & _is_inside(best)

    def closer(self, best: Array, step: float) -> tuple[Array, Array]:
        """Better places than these, and their values: up the slope, where that is level, or on the other side."""
        level, slopes = self._level(best)
        up = np.nan_to_num(_SIGNS[..., None] * slopes / _length(slopes))
        steps = step * np.array(_STEPS)[:, None, None, None]
        places = np.concatenate([_nearer(best + steps * up), [up, level, -best]])
        return _best(places, self.at(places))

    def _level(self, places: Array) -> tuple[Array, Array]:
        """Where it may be level, from its slopes at some places and how they change; and these slopes."""
        slopes, turns = self._bends(places)
        level = places - np.einsum("egij,egj->egi", _inverse(turns), slopes)
        return _nearer(np.nan_to_num(level)), slopes

    def _bends(self, places: Array) -> tuple[Array, Array]:
        """Its slopes at some places, and how these change."""
        size, steps = self.errors, _DIFFERENCE * np.eye(self.errors)
        pairs = [(i, j) for i in range(size) for j in range(i)]
        moves = np.vstack([np.zeros(size), steps, -steps, *(steps[i] + steps[j] for i, j in pairs)])
        here, *found = self.at(places + moves[:, None, None])
        up, down, both = found[:size], found[size : 2 * size], found[2 * size :]
        turns = np.zeros((*here.shape, size, size))
        for n in range(size):
            turns[..., n, n] = up[n] - 2 * here + down[n]
        for (i, j), moved in zip(pairs, both, strict=True):
            turns[..., i, j] = turns[..., j, i] = moved - up[i] - up[j] + here
        slopes = np.moveaxis(np.subtract(up, down), 0, -1) / (2 * _DIFFERENCE)
        return slopes, turns / _DIFFERENCE**2


def _inverse(matrices: Array) -> Array:
    """The inverses of symmetric matrices as far as they have any, 0 where some number is none."""
    known = np.isfinite(matrices).all(axis=(-2, -1), keepdims=True)
    return np.linalg.pinv(np.where(known, matrices, 0.0), rcond=_ALMOST, hermitian=True)


def _length(vectors: Array) -> Array:
    return np.asarray(np.sqrt((vectors**2).sum(axis=-1, keepdims=True)))


def _nearer(places: Array) -> Array:
    """Places that are not near, moved to where they are."""
    return np.asarray(places / np.maximum(_length(places), 1.0))


def _is_inside(places: Array) -> Array:
    return np.asarray(_length(places)[..., 0] < 1 - _ALMOST)


def _best(places: Array, values: Array) -> tuple[Array, Array]:
    """The places of the least and of the greatest value, and these."""
    ranks = np.where(np.isnan(values), -np.inf, _SIGNS * values)
    chosen = ranks.argmax(axis=0)[None]
    places = np.broadcast_to(places, (*ranks.shape, places.shape[-1]))
    values = np.broadcast_to(values, ranks.shape)
    return np.take_along_axis(places, chosen[..., None], axis=0)[0], np.take_along_axis(values, chosen, axis=0)[0]


@lru_cache(maxsize=16)
def _points(errors: int) -> Array:
    """Places spread over all that is near, its middle first, and every other one at its edge.

    A whole multiple of the powers of 1/g, with g^(d + 1) = g + 1, modulo 1 is a point of a cube (Roberts 2018, The
    unreasonable effectiveness of quasirandom sequences).
    """
    if errors == 1:
        return np.linspace(-1, 1, _POINTS)[:, None]
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (errors + 2))
    cube = (np.outer(np.arange(_POINTS), root ** -np.arange(1.0, errors + 2)) + 0.5) % 1
    normal = np.reshape([NormalDist().inv_cdf(part) for part in cube[:, :-1].ravel().tolist()], (-1, errors))
    length = np.where(np.arange(_POINTS) % 2, 1.0, cube[:, -1] ** (1 / errors))
    length[0] = 0.0
    return np.asarray(normal / np.maximum(_length(normal), _ALMOST) * length[:, None])
