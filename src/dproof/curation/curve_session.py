"""Questions about curves in a curator's session: previewed, debited, drawn once, answered with bands."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dproof.coins import current
from dproof.curation.curve_measurement import CurveMeasurement, measure_curve
from dproof.curation.curves import answer_curve, draw_curve, estimated_curves
from dproof.curation.drawing import Released
from dproof.curation.preview import Preview
from dproof.curation.tally import answerable
from dproof.errors import InputError
from dproof.privacy import Privacy
from dproof.queries.answer import Answer
from dproof.queries.curve_estimate import CurveEstimate
from dproof.queries.question import Key, Question, columns

if TYPE_CHECKING:
    from dproof.curation.curator import Curator


def measured(curator: Curator, question: Question, epsilon: Any, delta: Any, level: float) -> CurveMeasurement:
    """A question about curves, understood and priced."""
    if epsilon is None:
        raise InputError("say with epsilon what a question about curves may cost")
    if not 0 < level < 1:
        raise InputError("level must lie between 0 and 1, such as 0.95")
    privacy = Privacy(epsilon, delta, neighbours=curator.plan.privacy.neighbours)
    if not privacy.epsilon and not privacy.delta:
        raise InputError("epsilon 0 buys no answer: it would have to be the same for every table")
    return measure_curve(question, curator.plan, curator.schema, privacy)


def ask_curve(curator: Curator, measurement: CurveMeasurement, level: float) -> Answer:
    """The answer, with what it cost and how it was made."""
    measurement, released, free = _released(curator, measurement)
    return replace(
        answer_curve(measurement, released, level),
        method=_method(measurement),
        notes=_notes(curator, measurement, released, free),
    )


def ask_functions(
    curator: Curator, measurement: CurveMeasurement, level: float
) -> list[tuple[tuple[Any, ...], CurveEstimate]]:
    """The answer as functions with bands, one for each group."""
    measurement, released, free = _released(curator, measurement)
    notes = _notes(curator, measurement, released, free)
    return [(labels, replace(f, notes=notes)) for labels, f in estimated_curves(measurement, released, level)]


def preview_curve(curator: Curator, measurement: CurveMeasurement, level: float, rows: int | None) -> Preview:
    """What the answer would cost and, where the number of rows is public, how wide its band would be."""
    stored = curator.ledger.find(_key(curator, measurement), measurement.privacy) is not None
    alias = next(i.alias for i in measurement.question.select if not isinstance(i.expression, Key))
    width = error = None
    if rows is not None and not measurement.weight and measurement.kind != "covar":
        nothing = {"noisy": np.zeros((1, measurement.lattice.terms)).tolist(), "rows": rows}
        ((_, flat),) = estimated_curves(measurement, nothing, level)
        width, error = float((flat.high - flat.estimate).max()), float(np.sqrt((flat.stderr**2).mean()))
    return Preview(
        measurement.text,
        measurement.privacy,
        stored,
        curator.remaining(),
        None,
        (f"{alias}: {_method(measurement)}",),
        {alias: width},
        {alias: error},
        level,
    )


def _released(curator: Curator, measurement: CurveMeasurement) -> tuple[CurveMeasurement, Released, bool]:
    """What the table tells, bought once; a stored answer that was paid better is the one that counts."""
    key = _key(curator, measurement)
    with curator.lock:
        stored = curator.ledger.find(key, measurement.privacy)
        kept = stored
        if stored is None:
            number = curator.ledger.debit(key, measurement.privacy, analyst=curator.analyst)
            fresh = draw_curve(measurement, curator.source, curator.plan, current())
            paid = {"epsilon": str(measurement.privacy.epsilon), "delta": str(measurement.privacy.delta)}
            kept = curator.ledger.store(number, {**fresh, **paid})
    assert kept is not None
    privacy = Privacy(kept["epsilon"], kept["delta"], neighbours=measurement.privacy.neighbours)
    if privacy != measurement.privacy:
        asked = [
            i if isinstance(i.expression, Key) else replace(i, expression=measurement.aggregate)
            for i in measurement.question.select
        ]
        question = replace(measurement.question, select=tuple(asked))
        measurement = measure_curve(question, curator.plan, curator.schema, privacy)
    return measurement, kept, stored is not None


def _key(curator: Curator, measurement: CurveMeasurement) -> str:
    """The question as it is measured, and a digest of how the plan treats the columns in it."""
    plan = curator.plan
    names = sorted({measurement.column, *columns(measurement.question)})
    under = repr(([answerable(plan.column(name)) for name in names], plan.person, plan.rows_per_person))
    return f"{measurement.text} -- plan {hashlib.sha256(under.encode()).hexdigest()[:16]}"


def _method(measurement: CurveMeasurement) -> str:
    lattice, noise = measurement.lattice, measurement.noise
    name = lattice.expansion.functions()[0].name
    return f"{noise.split.capitalize()} noise on whole numbers, sums of {lattice.terms} {name} coefficients"


def _notes(curator: Curator, measurement: CurveMeasurement, released: Released, free: bool) -> tuple[str, ...]:
    privacy, rows = measurement.privacy, curator.plan.rows_per_person
    unit = f"person with at most {rows} rows" if rows > 1 else "row"
    cost = "It was free." if free else f"It cost epsilon {privacy.epsilon} and delta {privacy.delta}."
    notes = [f"{cost} Neighbours: {privacy.neighbours}, per {unit}; a row is its whole curve."]
    if not released.get("private", True):
        notes.append("NOT PRIVATE: the noise was drawn with seeded coins.")
    return tuple(notes)
