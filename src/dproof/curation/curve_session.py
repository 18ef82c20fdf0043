"""Questions about curves in a curator's session: previewed, debited, drawn once, answered with bands."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dproof.coins import current
from dproof.curation.curve_measurement import CurveMeasurement, measure_curve
from dproof.curation.curves import answer_curve, draw_curve, estimated_curves
from dproof.curation.measurement import check_groups
from dproof.curation.preview import Preview
from dproof.curation.released import Released
from dproof.errors import InputError
from dproof.plans.schema import stand_ins
from dproof.questions.answer import Answer
from dproof.questions.curve_estimate import CurveEstimate
from dproof.questions.question import Key, Question, columns

if TYPE_CHECKING:
    from dproof.curation.curator import Curator


def measured(
    curator: Curator, question: Question, epsilon: Any, delta: Any, *, all_groups: bool = False
) -> CurveMeasurement:
    """A question about curves, understood and priced."""
    if epsilon is None:
        raise InputError("say with epsilon what a question about curves may cost")
    measurement = measure_curve(question, curator.plan, curator.schema, curator.price(epsilon, delta))
    if not all_groups:
        check_groups(measurement.keys, curator.schema)
    return measurement


def ask_curve(curator: Curator, measurement: CurveMeasurement, level: float) -> Answer:
    """The answer, with what it cost and how it was made."""
    measurement, released, free = _released(curator, measurement)
    found = answer_curve(measurement, released, level)
    notes = (*_notes(curator, measurement, released, free), *found.notes)
    return replace(found, method=_method(measurement), notes=notes)


def ask_functions(
    curator: Curator, measurement: CurveMeasurement, level: float
) -> list[tuple[tuple[Any, ...], CurveEstimate]]:
    """The answer as functions with bands, one for each group."""
    measurement, released, free = _released(curator, measurement)
    notes = _notes(curator, measurement, released, free)
    return [(labels, replace(f, notes=notes)) for labels, f in estimated_curves(measurement, released, level)]


def preview_curve(curator: Curator, measurement: CurveMeasurement, level: float) -> Preview:
    """What the answer would cost and, where the number of rows is public, how wide its band would be."""
    stored = curator.ledger.find(_key(curator, measurement), measurement.privacy) is not None
    alias = next(i.alias for i in measurement.question.select if not isinstance(i.expression, Key))
    rows, width, error = curator.public_rows, None, None
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
        _stand_ins(curator, measurement),
    )


def _released(curator: Curator, measurement: CurveMeasurement) -> tuple[CurveMeasurement, Released, bool]:
    """What the table tells, bought once; a stored answer that was paid better is the one that counts."""
    fresh = partial(draw_curve, measurement, curator.source, curator.plan, current())
    kept, free = curator.buy(_key(curator, measurement), measurement.privacy, fresh)
    privacy = curator.paid(kept)
    if privacy != measurement.privacy:
        asked = [
            i if isinstance(i.expression, Key) else replace(i, expression=measurement.aggregate)
            for i in measurement.question.select
        ]
        question = replace(measurement.question, select=tuple(asked))
        measurement = measure_curve(question, curator.plan, curator.schema, privacy)
    return measurement, kept, free


def _key(curator: Curator, measurement: CurveMeasurement) -> str:
    return curator.key(measurement.text, _columns(measurement))


def _columns(measurement: CurveMeasurement) -> set[str]:
    return {measurement.column, *columns(measurement.question)}


def _stand_ins(curator: Curator, measurement: CurveMeasurement) -> tuple[str, ...]:
    return stand_ins(curator.plan, sorted(_columns(measurement)))


def _method(measurement: CurveMeasurement) -> str:
    lattice, noise = measurement.lattice, measurement.noise
    name = lattice.expansion.functions()[0].name
    return f"{noise.split.capitalize()} noise on whole numbers, sums of {lattice.terms} {name} coefficients"


def _notes(curator: Curator, measurement: CurveMeasurement, released: Released, free: bool) -> tuple[str, ...]:
    receipt = curator.receipt(measurement.privacy, released, free)
    return (*receipt, *_stand_ins(curator, measurement), "A row is its whole curve.")
