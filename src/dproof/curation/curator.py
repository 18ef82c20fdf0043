"""The curator: answers questions on the private table, under a budget. Output perturbation, HLM15, section 2.4."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dproof.coins import current
from dproof.curation.answering import Answering
from dproof.curation.curve_measurement import asked_curve
from dproof.curation.curve_session import ask_curve, ask_functions, measured, preview_curve
from dproof.curation.drawing import Released, draw
from dproof.curation.duckdb_tally import readable, tally_in_duckdb
from dproof.curation.ledger import Amount, Ledger, amount
from dproof.curation.measurement import Measurement, measure
from dproof.curation.preview import Preview, preview
from dproof.curation.tally import Counter, Tally, answerable, read_rows, schema_of, tally
from dproof.engines import open_source
from dproof.errors import InputError
from dproof.exact import exact
from dproof.mechanisms.noise import integer_laplace
from dproof.privacy import Privacy
from dproof.queries.answer import Answer, Cell
from dproof.queries.building import Asked, as_question
from dproof.queries.canonical import canonical
from dproof.queries.curve_estimate import CurveEstimate
from dproof.queries.declared import Declared
from dproof.queries.question import Question, aggregates, columns
from dproof.queries.schema import Open, plain, resolve
from dproof.sanitisation.plan import Plan

_LEAST, _MOST = Fraction(1, 1000), Fraction(100)


class Curator:
    """A session on a private table: every question is debited before a row is read, and a repeated one is free.

    The plan's `[privacy]` names the neighbours and, unless a budget is given, what may be spent in all.

    >>> import pyarrow, tempfile
    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    >>> table = pyarrow.table({"read": ["yes", "no", "yes"] * 500})
    >>> curator = Curator(table, plan, ledger=f"{tempfile.mkdtemp()}/budget.db")
    >>> first = curator.ask("SELECT count(*) AS n FROM data WHERE read = 'yes'", epsilon="0.5")
    >>> again = curator.ask("SELECT count(*) AS n FROM data WHERE NOT read <> 'yes'", epsilon="0.5")
    >>> abs(first.rows[0]["n"].estimate - 1000) < 100, again.rows == first.rows, curator.remaining().epsilon
    (True, True, Fraction(1, 2))
    """

    def __init__(
        self,
        source: Any,
        plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
        *,
        budget: Privacy | None = None,
        ledger: str | os.PathLike[str],
        analysts: Mapping[str, Privacy] | None = None,
        analyst: str | None = None,
        table: str | None = None,
        mark: str | None = None,
    ) -> None:
        """Open the table and its ledger; the ledger is begun if there is none.

        `analysts` gives people budgets of their own under the whole, and `analyst` says who is asking; `mark` is
        checked against the ledger; `table` names the table inside a DuckDB file.
        """
        self.plan = Plan.of(plan)
        self.schema = schema_of(self.plan)
        promised = self.plan.privacy if budget is None else budget
        if promised.neighbours != self.plan.privacy.neighbours:
            raise InputError(
                f"the budget counts {promised.neighbours} neighbours and the plan {self.plan.privacy.neighbours} ones: "
                "give both the same"
            )
        if hasattr(source, "read_all"):
            source = source.read_all()  # a stream can be read once, and there will be other questions
        self.source = open_source(source, table)
        self._readable = readable(source) if table is None else None
        self.plan.check_names(self.source.names)
        if self.plan.person is not None and self.source.spread is not None:
            raise InputError(
                "which of a person's rows count is told by the rows of the whole table, and Spark reads it in parts: "
                "store the DataFrame, as Parquet say, and give its path"
            )
        given = None if budget is None and Path(ledger).exists() else promised
        # An older ledger may allow more than the plan does now.
        self.ledger = Ledger(ledger, budget=given, analysts=analysts, mark=mark, ceiling=promised)
        self.analyst = analyst
        self.lock = threading.Lock()

    def remaining(self) -> Amount:
        """What may still be spent: `epsilon` and `delta`, exactly."""
        return self.ledger.remaining(self.analyst)

    def preview(
        self,
        asked: Asked,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        accuracy: Any = None,
        level: float = 0.95,
    ) -> Preview:
        """What a question would cost and how good its answer would be; spends nothing and reads no row."""
        question = as_question(asked)
        if asked_curve(question, self.plan) is not None:
            return preview_curve(self, measured(self, question, epsilon, delta, level), level, self._public_rows())
        measurement = self._measurement(question, epsilon, delta, accuracy, level)
        stored = measurement.free or self.ledger.find(self._key(measurement), measurement.privacy) is not None
        return preview(measurement, level, stored=stored, remaining=self.remaining(), rows=self._public_rows())

    def ask(
        self,
        asked: Asked,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        accuracy: Any = None,
        level: float = 0.95,
    ) -> Answer:
        """Answer a question at the price ε (and δ), or at the least price whose interval is ± `accuracy` or better.

        The order is: understand the question, debit the ledger, read the table, add noise, store the answer.
        """
        question = as_question(asked)
        if asked_curve(question, self.plan) is not None:
            return ask_curve(self, measured(self, question, epsilon, delta, level), level)
        measurement = self._measurement(question, epsilon, delta, accuracy, level)
        with self.lock:
            measurement, released, free = self._released(measurement)
        found = Answering(measurement.question, measurement, released, level).answer()
        return replace(found, method=_method(measurement), notes=tuple(_notes(measurement, released, free)))

    def curves(
        self, asked: Asked, *, epsilon: Any, delta: Any = 0, level: float = 0.95
    ) -> list[tuple[tuple[Any, ...], CurveEstimate]]:
        """The answer to AVG or SUM of a curve column as functions with simultaneous bands: (group, function) pairs."""
        question = as_question(asked)
        if asked_curve(question, self.plan) is None:
            raise InputError("the question asks for no curve: AVG or SUM of a curve column is one")
        return ask_functions(self, measured(self, question, epsilon, delta, level), level)

    def ask_declared(self, query: Declared, *, epsilon: Any, level: float = 0.95) -> Answer:
        """Answer a query of the user's own at the price ε, with noise for the sensitivity that its author declares."""
        cost = Privacy(epsilon, neighbours=self.plan.privacy.neighbours)
        noise = integer_laplace(query.steps * self.plan.rows_per_person, cost)
        known = [name for name, space in self.schema.spaces.items() if not isinstance(space, Open)]
        under = hashlib.sha256(repr([answerable(self.plan.column(name)) for name in known]).encode()).hexdigest()
        key = f"{query.name}, declared sensitivity {query.sensitivity}, step {query.step} -- plan {under[:16]}"
        with self.lock:
            kept = self.ledger.find(key, cost)
            if kept is None:
                number = self.ledger.debit(key, cost, analyst=self.analyst)
                whole = query.whole(list(read_rows(self.source, self.plan, known, self.schema)))
                kept = self.ledger.store(number, {"whole": whole + int(noise.draw(1)[0]), "epsilon": str(cost.epsilon)})
        noise = integer_laplace(noise.size, Privacy(kept["epsilon"], neighbours=cost.neighbours))
        value, half = query.step * kept["whole"], query.step * noise.quantile(repr(level))
        spread = float(query.step) * noise.variance**0.5
        cell = Cell(plain(value), float(value - half), float(value + half), spread, plain(value))
        notes = ("The sensitivity is declared by the author of the query and was only tested, not proven.",)
        return Answer((query.name,), [{query.name: cell}], level, notes, "Laplace noise, sensitivity declared")

    def _released(self, measurement: Measurement) -> tuple[Measurement, Released, bool]:
        """What the table tells, bought once; a stored answer that was paid better is the one that counts."""
        if measurement.free:
            return measurement, draw(measurement, self._counted(measurement), current()), True
        key = self._key(measurement)
        stored = self.ledger.find(key, measurement.privacy)
        if stored is None:
            number = self.ledger.debit(key, measurement.privacy, analyst=self.analyst)
            fresh = draw(measurement, self._counted(measurement), current())
            paid = {"epsilon": str(measurement.privacy.epsilon), "delta": str(measurement.privacy.delta)}
            kept = self.ledger.store(number, {**fresh, **paid})
        else:
            kept = stored
        privacy = Privacy(kept["epsilon"], kept["delta"], neighbours=measurement.privacy.neighbours)
        if privacy != measurement.privacy:
            measurement = measure(
                measurement.question, self.schema, privacy, rows_per_person=measurement.rows_per_person
            )
        return measurement, kept, stored is not None

    def _counted(self, measurement: Measurement) -> Tally:
        quickly = None if self._readable is None else tally_in_duckdb(self._readable, self.plan, measurement)
        return tally(self.source, self.plan, measurement) if quickly is None else quickly

    def _measurement(self, asked: Asked, epsilon: Any, delta: Any, accuracy: Any, level: float) -> Measurement:
        question = resolve(as_question(asked), self.schema)
        if not 0 < level < 1:
            raise InputError("level must lie between 0 and 1, such as 0.95")
        if (epsilon is None) == (accuracy is None):
            raise InputError("say what the question may cost with epsilon, or how good it must be with accuracy")
        if accuracy is not None:
            return self._accurate(question, exact(accuracy, "accuracy"), delta, level)
        cost = Privacy(epsilon, delta, neighbours=self.plan.privacy.neighbours)
        return self._measure(question, cost)

    def _measure(self, question: Question, cost: Privacy) -> Measurement:
        if not cost.epsilon and not cost.delta:
            raise InputError("epsilon 0 buys no answer: it would have to be the same for every table")
        measurement = measure(question, self.schema, cost, rows_per_person=self.plan.rows_per_person)
        Counter(measurement)  # refuses what is too large to count while nothing is spent
        return measurement

    def _accurate(self, question: Question, wanted: Fraction, delta: Any, level: float) -> Measurement:
        """The least ε of three digits at which every interval is ± `wanted` or better."""

        def at(epsilon: Fraction) -> tuple[Measurement, bool]:
            made = self._measure(question, Privacy(epsilon, delta, neighbours=self.plan.privacy.neighbours))
            widths = preview(made, level, rows=self._public_rows()).half_widths
            if any(width is None for width in widths.values()):
                raise InputError("the width of this answer depends on the table: give epsilon instead of accuracy")
            return made, all(width is not None and Fraction(width) <= wanted for width in widths.values())

        low, high = _LEAST, _MOST
        if wanted <= 0 or not at(high)[1]:
            raise InputError("no epsilon up to 100 gives that accuracy: ask for less")
        while high - low > max(_LEAST, low / 200):
            middle = (low + high) / 2
            low, high = (low, middle) if at(middle)[1] else (middle, high)
        return at(Fraction(-(-high * 1000 // 1), 1000))[0]

    def _key(self, measurement: Measurement) -> str:
        """The question as it was measured, and a digest of how the plan treats the columns in it."""
        treated = [answerable(self.plan.column(name)) for name in sorted(columns(measurement.question))]
        under = repr((treated, self.plan.person, measurement.rows_per_person))
        return f"{canonical(measurement.question)} -- plan {hashlib.sha256(under.encode()).hexdigest()[:16]}"

    def _public_rows(self) -> int | None:
        """The number of rows where that is public: neighbours have equally many, and a row is a person."""
        alone = self.plan.person is None and self.plan.rows_per_person == 1
        return self.source.rows if alone and self.plan.privacy.neighbours == "change-one" else None


def _method(measurement: Measurement) -> str:
    names = [noisy.noise.name for noisy in measurement.noisy if noisy.noise is not None]
    parts = [f"{name} noise on whole numbers" for name in dict.fromkeys(names)]
    parts += dict.fromkeys(f"{choice.mechanism} choice" for choice in measurement.chosen)
    return ", ".join(parts) or "exact: no row can change it"


def _notes(measurement: Measurement, released: Released, free: bool) -> list[str]:
    privacy, rows = measurement.privacy, measurement.rows_per_person
    unit = f"person with at most {rows} rows" if rows > 1 else "row"
    cost = "It was free." if free else f"It cost {amount(privacy)}."
    notes = [f"{cost} Neighbours: {privacy.neighbours}, per {unit}."]
    if any(aggregate.kind in ("count", "distinct") for aggregate in aggregates(measurement.question)):
        notes.append("A count below 0 is shown as 0, which costs nothing; `raw` has what was drawn.")
    if not released.get("private", True):
        notes.append("NOT PRIVATE: the noise was drawn with seeded coins.")
    for choice in measurement.chosen:
        if choice.rank is not None:
            end = "smallest" if choice.aggregate.kind == "min" else "largest"
            notes.append(
                f"{choice.aggregate.kind.upper()} aims at the {choice.rank}th {end} value: extremes are private."
            )
    return notes
