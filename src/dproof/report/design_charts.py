"""Designs as pictures: what an optimum gains over the usual mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import exp
from typing import Any

import altair as alt

from dproof.charts.style import ACCENT, INK
from dproof.mechanisms.additive import laplace
from dproof.mechanisms.finite import randomised_response
from dproof.optimality.bounds import lower_bounds
from dproof.optimality.design import Problem
from dproof.privacy import Privacy
from dproof.spaces.interval import Interval

_COLOURS = ["#8c510a", "#bf812d", "#7a8a99", ACCENT, INK]


def error_chart(interval: Interval, epsilons: Sequence[Any]) -> Any:
    """The maximal expected error against ε: what is usual, what is best, and what no mechanism can beat."""
    curves: dict[str, Callable[[Privacy], Fraction]] = {
        "Laplace": lambda privacy: laplace(interval, privacy).error,
        "randomised response": lambda privacy: randomised_response(interval, privacy).error,
        "Laplace, clamped": lambda privacy: laplace(interval, privacy, clamp=True).error,
        "optimal design": lambda privacy: Problem(interval, privacy).best().error,
        "lower bound (HLM15, Theorem 6, doubled)": lambda privacy: lower_bounds(interval, privacy)[1].value,
    }
    points = [
        {"epsilon": float(privacy.epsilon), "error": float(error(privacy)), "curve": name}
        for name, error in curves.items()
        for privacy in map(Privacy, epsilons)
        if privacy.epsilon > 0
    ]
    return _lines(points, list(curves), "error", "maximal expected error")


def variance_chart(epsilons: Sequence[Any], points: int = 33) -> Any:
    """The worst-case variance of an unbiased number in [−1, 1] against ε: three known mechanisms and the design.

    Laplace 8/ε²; Duchi et al. 2018 ((e^ε + 1)/(e^ε − 1))²; piecewise, Wang et al. 2019, with s = e^{ε/2},
    4s/(3(s − 1)²).
    """
    interval = Interval(-1, 1, Fraction(2, points - 1))
    curves: dict[str, Callable[[float], float]] = {
        "Laplace": lambda eps: 8 / eps**2,
        "Duchi et al. 2018": lambda eps: ((exp(eps) + 1) / (exp(eps) - 1)) ** 2,
        "piecewise, Wang et al. 2019": lambda eps: 4 * exp(eps / 2) / (3 * (exp(eps / 2) - 1) ** 2),
        f"unbiased design, {points} points": lambda eps: _least_variance(interval, eps),
    }
    values = [
        {"epsilon": eps, "variance": variance(eps), "curve": name}
        for name, variance in curves.items()
        for eps in map(float, epsilons)
    ]
    return _lines(values, list(curves), "variance", "worst-case variance")


def _least_variance(interval: Interval, epsilon: float) -> float:
    optimum = Problem(interval, Privacy(epsilon), unbiased=True).best().optimum
    assert optimum is not None  # every design has one
    return float(optimum.value)


def _lines(points: Iterable[dict[str, Any]], names: list[str], field: str, title: str) -> Any:
    """Curves on a logarithmic scale."""
    return (
        alt.Chart({"values": list(points)})
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=24, aria=False))
        .encode(
            x=alt.X("epsilon:Q", axis=alt.Axis(title="ε")),
            y=alt.Y(f"{field}:Q", scale=alt.Scale(type="log"), axis=alt.Axis(title=title)),
            color=alt.Color(
                "curve:N",
                sort=names,
                scale=alt.Scale(domain=names, range=_COLOURS[: len(names)]),
                legend=alt.Legend(title=None, labelLimit=300),
            ),
        )
        .properties(width=460, height=260)
    )
