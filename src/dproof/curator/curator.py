"""The curator: answers questions on the private table, under a budget. Output perturbation, HLM15, section 2.4."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypedDict, Unpack, overload

from dproof.arguments import as_path, check_keywords, expect, listed, named
from dproof.coins import NOT_PRIVATE, Coins, current, for_rehearsal
from dproof.composition import pure_rho
from dproof.curator.account import BY_GROUP, ON_THE_GRID, Released, key_of, price_of, rho_for
from dproof.curator.answer import NoisyCurves, answer_of, has_counts_by_value, rehearse
from dproof.curator.draw import draw, read_rows, rehearsal_tally, tally
from dproof.curator.ledger import Ledger
from dproof.curator.preview import Preview, accurate, known_widths
from dproof.curator.recipe import Measurement, check_groups, measure
from dproof.errors import ArgumentError, QuestionError
from dproof.exact import exact, int_or_float, level_of, several, written
from dproof.limits import LARGEST_FOUND_EPSILON
from dproof.mechanisms.noise import Noise, integer_laplace
from dproof.plans.plan import Plan, preprocessing_notes, schema_of
from dproof.plans.rows import check_types
from dproof.privacy import Cost, Privacy, Promise
from dproof.questions.answer import EVERY_POINT, Answer, Cell, covered
from dproof.questions.curve_estimate import CurveEstimate
from dproof.questions.question import Question, asks_for_curves, canonical, resolve
from dproof.questions.sensitivity import DeclaredQuery, declare
from dproof.questions.sql import Asked, Select, as_question
from dproof.tables import open_source, readable_again

PendingAnswer = Callable[[], Callable[[], Answer]]


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms on which a question is asked: what it may cost, ε and δ, or how good its answer must be.

    `accuracy` is the largest ± that its intervals of this `level` may have; with `all_groups` more than 1,000 groups
    are answered. Every method of a curator that takes a question takes its terms as this object or by their names.

    >>> Terms(epsilon="0.5").level
    0.95
    """

    epsilon: Any = None
    delta: Any = 0
    accuracy: Any = None
    level: float = 0.95
    all_groups: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", level_of(self.level))

    @classmethod
    def of(cls, terms: Terms | None, named: NamedTerms) -> Terms:
        """The terms that were handed over, with those that were named instead."""
        check_keywords(named, cls.__slots__)
        if terms is None:
            return cls(**named)
        return replace(expect(terms, Terms, "terms", "the Terms of a question"), **named)


class NamedTerms(TypedDict, total=False):
    """The fields of `Terms` as keyword arguments, for type checkers: a test keeps the two lists alike."""

    epsilon: Any
    delta: Any
    accuracy: Any
    level: float
    all_groups: bool


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

    @named
    def __init__(
        self,
        source: Any,
        plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
        *,
        budget: Promise | None = None,
        ledger: str | os.PathLike[str],
        analysts: Mapping[str, Promise] | None = None,
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
        neighbours = self.plan.privacy.neighbours
        promised = self.plan.privacy if budget is None else Privacy.of(budget, "budget", neighbours=neighbours)
        if promised.neighbours != self.plan.privacy.neighbours:
            raise ArgumentError(
                f"the budget counts {promised.neighbours} neighbours and the plan {self.plan.privacy.neighbours} ones: "
                "give both the same"
            )
        if analyst is not None:
            expect(analyst, str, "analyst", "a name")
        source = readable_again(source)  # there will be other questions
        self.source = open_source(source, table, self.plan.file)
        self.plan.check_names(self.source.names)
        self.source.start()
        self._budget, self._promised = None if budget is None else promised, promised
        self.unit = self.plan.unit
        self._opened = partial(Ledger, unit=self.unit, analysts=analysts, mark=mark)
        self.keep_account(ledger)
        self.analyst = analyst
        self.lock = threading.RLock()
        self._last: dict[str, Measurement] = {}

    def keep_account(self, ledger: str | os.PathLike[str]) -> None:
        """Keep the account in this ledger from now on; it is begun if there is none."""
        budget = self._budget if Ledger.is_begun(as_path(ledger, "ledger")) else self._promised
        # An older ledger may allow more than the plan does now, and one that pays for rows drawn one by one allows all
        # rows of a person together; for questions [privacy] is a person's.
        self.ledger = self._opened(ledger, budget=budget, ceiling=self._promised)

    def __repr__(self) -> str:
        """What is known without reading the ledger; `remaining()` reads it."""
        columns = ", ".join(self.schema.spaces)
        return f"<curator: {self.plan.privacy.neighbours}, ledger {str(self.ledger.path)!r}; {columns}>"

    def remaining(self) -> Cost:
        """What may still be spent: `epsilon` and `delta`, exactly."""
        return self.ledger.remaining(self.analyst)

    def preview(self, asked: Asked, terms: Terms | None = None, **named: Unpack[NamedTerms]) -> Preview:
        """What a question would cost and how good its answer would be; spends nothing and reads no row."""
        on = Terms.of(terms, named)
        measurement = self._measurement(asked, on)
        measurement.fresh_counter()  # refuses what is too large to count, as a rehearsal does
        stored, left, times = self.ledger.quote(self._key(measurement), measurement.cost, analyst=self.analyst)
        notes = (
            *preprocessing_notes(self.plan, measurement.question.columns),
            *self._without_delta(measurement, on, times),
        )
        return Preview(measurement, on.level, measurement.free or stored, left, times, self._public_rows, notes)

    def _without_delta(self, measurement: Measurement, terms: Terms, times: int) -> Iterator[str]:
        """What leaving out the δ would give: a price with one buys its ρ, and the same ε alone more of it.

        That the same ε is sharper, where it is; of an accuracy, that more of the budget would be left.
        """
        price, rho = measurement.price, measurement.cost.rho
        if not measurement.uses_delta or not rho:
            return
        alone = self._measurement(measurement.question, replace(terms, delta=0))
        if terms.accuracy is not None:
            _, _, often = self.ledger.quote(self._key(alone), alone.cost, analyst=self.analyst)
            if often > times:
                enough = several(often, "question")
                yield f"without delta it costs {alone.price}: enough for {enough} instead of {times:,}"
            return
        with_delta, without = (known_widths(one, terms.level, self._public_rows) for one in (measurement, alone))
        known = ((name, old, without[name][0]) for name, (old, _) in with_delta.items())
        sharper = [f"{name} ± {written(new)}" for name, old, new in known if old and new and new < old]
        if sharper:
            more = written(float(pure_rho(price.epsilon) / rho))
            yield f"without delta {', '.join(sharper)}, at the same epsilon, for {more} times as much rho"

    @overload
    def ask(self, asked: Asked, terms: Terms | None = None, **named: Unpack[NamedTerms]) -> Answer: ...  # type: ignore[overload-overlap]

    @overload  # a text is a sequence of texts, too
    def ask(self, asked: Sequence[Asked], terms: Terms | None = None, **named: Unpack[NamedTerms]) -> list[Answer]: ...

    def ask(
        self, asked: Asked | Sequence[Asked], terms: Terms | None = None, **named: Unpack[NamedTerms]
    ) -> Answer | list[Answer]:
        """Answer a question at the price ε (and δ), or at the least price whose interval is ± `accuracy` or better.

        The order is: understand the question, draw and tell the answer of a made-up row, debit the ledger, read the
        table, add noise, store the answer. More than 1,000 groups are refused before the debit, unless `all_groups`
        asks for them. Of several questions, in a list, each has this price. All are understood and paid for before a
        row is read, or none is, and each gets its answer. The keywords are epsilon, delta, accuracy, level and
        all_groups, the fields of `Terms`.
        """
        on = Terms.of(terms, named)
        if isinstance(asked, (str, Question, Select)):
            return self._ask_all([asked], on)[0]
        return self._ask_all(listed(asked, "asked", "one or more questions"), on)

    def _ask_all(self, asked: Sequence[Asked], terms: Terms) -> list[Answer]:
        """The answers to several questions, paid for together.

        What is stored waits for no other question: how long that reads the table would show.
        """
        measured = [self._measurement(one, terms) for one in asked]
        keys = [self._key(measurement) for measurement in measured]
        owed = {key: m for key, m in zip(keys, measured, strict=True) if not m.free}
        costs, numbers = {key: m.cost for key, m in owed.items()}, dict[str, int]()
        found = self.ledger.find_all(costs) if owed else {}
        owed = {key: m for key, m in owed.items() if key not in found}
        if owed:
            with self.lock:
                for m in owed.values():
                    self._rehearsed(m, terms.level)
                numbers, meanwhile = self.ledger.debit_all({key: costs[key] for key in owed}, analyst=self.analyst)
                found |= meanwhile
                for key, number in numbers.items():
                    found[key], _ = self._read_paid(number, costs[key], partial(self._drawn, owed[key]))()
        answers = []
        for key, m in zip(keys, measured, strict=True):
            released = self._drawn(m) if m.free else found[key]
            answers.append(self._answer(m, terms.level, released, free=numbers.pop(key, None) is None))
        return answers

    def stored(self, asked: Asked, terms: Terms | None = None, **named: Unpack[NamedTerms]) -> Answer | None:
        """The answer that a question got before, which is free; None where the table has to be read for it."""
        on = Terms.of(terms, named)
        measurement = self._measurement(asked, on)
        released = None if measurement.free else self.ledger.find(self._key(measurement), measurement.cost)
        return None if released is None else self._answer(measurement, on.level, released, free=True)

    def begin(self, asked: Asked, terms: Terms | None = None, **named: Unpack[NamedTerms]) -> PendingAnswer:
        """Pay for a question and read the table; what comes back stores the answer, and gives what tells it.

        Nobody sees that the table was read before the answer is stored: a server chooses when that is.
        """
        on = Terms.of(terms, named)
        measurement = self._measurement(asked, on)
        if measurement.free:
            exact_answer = partial(self._answer, measurement, on.level, self._drawn(measurement), free=True)
            return lambda: exact_answer
        store = self._pay_and_read(self._key(measurement), measurement.cost, *self._steps(measurement, on.level))

        def stored() -> Callable[[], Answer]:
            released, free = store()
            return partial(self._answer, measurement, on.level, released, free=free)

        return stored

    def curves(
        self, asked: Asked, terms: Terms | None = None, **named: Unpack[NamedTerms]
    ) -> list[tuple[tuple[Any, ...], CurveEstimate]]:
        """The answer to AVG or SUM of a curve column as functions with simultaneous bands: (group, function) pairs."""
        on = Terms.of(terms, named)
        measurement = self._measurement(asked, on)
        if measurement.curves is None or measurement.curves.is_covariance:
            raise QuestionError("the question asks for no curve: ask for AVG or SUM of a curve column")
        steps = self._steps(measurement, on.level)
        released, free = self._buy(self._key(measurement), measurement.cost, *steps)
        measurement, notes = self._at_paid_price(measurement, released, free=free)
        curves = NoisyCurves(measurement, released, on.level)
        functions = [replace(function, notes=notes) for function in curves.every]
        return list(zip(curves.labels, functions, strict=True))

    def ask_declared(self, query: DeclaredQuery, *, epsilon: Any, level: float = 0.95) -> Answer:
        """Answer a query of the user's own at the price ε, with noise for the sensitivity that its author declares."""
        expect(query, DeclaredQuery, "query", "a query that declare(…) made")
        cost, level = self._price(epsilon, 0), level_of(level)
        replaced = cost.neighbours == "change-one" and not self.plan.rows_are_public
        if query.neighbours != ("add-remove" if replaced else cost.neighbours):
            raise ArgumentError(
                f"the sensitivity of {query.name!r} is declared for {query.neighbours} neighbours: declare it for "
                f"{cost.neighbours} ones, as the plan has, or for add-remove ones where persons own rows"
            )
        # It may have been declared for another table: this one may have other values, and missing ones.
        declare(
            query.name, query.function, query.sensitivity, self.schema, neighbours=query.neighbours, step=query.step
        )
        # All rows of a person may go, and as many others come.
        noise = integer_laplace(query.steps * self.plan.rows_per_person * (2 if replaced else 1), cost)
        spaces = self.schema.spaces
        known = [name for name in spaces if not self.schema.is_open(name) and not spaces[name].holds_curves]

        def drawn(whole: int, coins: Coins) -> Released:
            return {"whole": whole + int(noise.law.draw(1, coins)[0]), "private": coins.private}

        def cell_of(kept: Released, noise: Noise) -> Cell:
            value, half = query.step * kept["whole"], query.step * noise.quantile(repr(level))
            spread = float(query.step) * noise.variance**0.5
            return Cell(int_or_float(value), float(value - half), float(value + half), spread, int_or_float(value))

        def fresh() -> Released:
            return drawn(query.whole(list(read_rows(self.source, self.plan, known))), current())

        def rehearsed() -> Cell:
            check_types(self.source, self.plan, [self.plan.true_columns[name] for name in known])
            return cell_of(drawn(0, for_rehearsal()), noise)

        text = f"{query.name}, declared sensitivity {query.sensitivity}, step {query.step}"
        kept, free = self._buy(self._key_of(text, known), Cost.of(cost), rehearsed, fresh)
        cell = cell_of(kept, integer_laplace(noise.size, price_of(kept).epsilon))
        declared = "The sensitivity is declared by the author of the query and was only tested, not proven."
        notes = (*self._receipt(price_of(kept), kept, free), declared, *preprocessing_notes(self.plan, known))
        method = "Laplace noise, sensitivity declared"
        return Answer((query.name,), [{query.name: cell}], level, notes, method, covered(level))

    def _answer(self, measurement: Measurement, level: float, released: Released, *, free: bool) -> Answer:
        """The answer that released numbers give, with its method and its price."""
        measurement, notes = self._at_paid_price(measurement, released, free=free)
        answer = answer_of(measurement, released, level)
        covers = covered(level, at_once="" if measurement.curves is None else EVERY_POINT)
        return replace(answer, method=_method(measurement), notes=(*notes, *answer.notes), covers=covers)

    def _at_paid_price(
        self, measurement: Measurement, released: Released, *, free: bool
    ) -> tuple[Measurement, tuple[str, ...]]:
        """The measurement at the price that was paid, and the notes on it: a stored answer may have cost more."""
        by_value, bought = measurement.curves is None and has_counts_by_value(released), price_of(released)
        told_otherwise = by_value != any(noisy.values is not None for noisy in measurement.noisy)
        if not measurement.free and (told_otherwise or bought != measurement.price):
            price = Privacy(bought.epsilon, bought.delta, neighbours=self.unit.neighbours)
            unit, schema = self.unit, self.schema
            measurement = measure(measurement.question, schema, price, rho=bought.rho, unit=unit, by_value=by_value)
        notes = [
            *self._receipt(measurement.price, released, free),
            *preprocessing_notes(self.plan, measurement.question.columns),
        ]
        if measurement.curves is not None:
            notes.append("The guarantee is for the whole curve of a row, not for one point of it.")
        return measurement, tuple(notes)

    def _buy(
        self, key: str, cost: Cost, rehearsed: Callable[[], object], fresh: Callable[[], Released]
    ) -> tuple[Released, bool]:
        """The answer under a key, paid for once, and whether it was free: stored at this price or a higher one.

        `fresh` reads the table and draws; `rehearsed` does the same on nobody's row, so that what must fail whatever
        the table holds fails while nothing is spent.
        """
        stored = self.ledger.find(key, cost)
        if stored is not None:  # waits for no other question, as in `ask`
            return stored, True
        with self.lock:
            return self._pay_and_read(key, cost, rehearsed, fresh)()

    def _pay_and_read(
        self, key: str, cost: Cost, rehearsed: Callable[[], object], fresh: Callable[[], Released]
    ) -> Callable[[], tuple[Released, bool]]:
        """Pay and read, unless an answer was stored meanwhile; what comes back stores it, as `_buy` does."""
        with self.lock:
            rehearsed()
            numbers, stored = self.ledger.debit_all({key: cost}, analyst=self.analyst)
            return (lambda: (stored[key], True)) if stored else self._read_paid(numbers[key], cost, fresh)

    def _read_paid(self, number: int, cost: Cost, fresh: Callable[[], Released]) -> Callable[[], tuple[Released, bool]]:
        """Read what was paid for; what comes back stores it, and gives it as `_buy` does."""
        price = {"epsilon": str(cost.epsilon), "delta": str(cost.delta)}
        price |= {} if cost.rho is None else {"rho": str(cost.rho)}
        with _noting_the_debit():
            released = {**fresh(), **price}

        def store() -> tuple[Released, bool]:
            with _noting_the_debit():
                return self.ledger.store(number, released), False

        return store

    def _receipt(self, price: Cost, released: Released, free: bool) -> list[str]:
        """The notes of an answer on its price."""
        notes = [f"{'It was free' if free else f'It cost {price}'}; {self.unit}."]
        return notes if released.get("private", True) else [*notes, f"{NOT_PRIVATE}."]

    def _key_of(self, text: str, names: Iterable[str]) -> str:
        """The key of a question in a ledger: its canonical text, and a digest of how the plan reads its columns."""
        return key_of(text, self.plan.reading(names))

    def _key(self, measurement: Measurement) -> str:
        """The key of a measured question; curves of this version are told from those of earlier ones."""
        curves = measurement.curves
        kind = "" if curves is None or curves.is_covariance else BY_GROUP if measurement.keys else ON_THE_GRID
        return self._key_of(canonical(measurement.question) + kind, measurement.question.columns)

    def _steps(self, measurement: Measurement, level: float) -> tuple[Callable[[], object], Callable[[], Released]]:
        """How an answer is rehearsed, and how it is drawn (see `_buy`)."""
        return partial(self._rehearsed, measurement, level), partial(self._drawn, measurement)

    def _drawn(self, measurement: Measurement) -> Released:
        """The numbers that are released for a question: the table is read, and noise is drawn."""
        with self.lock:
            counted = tally(self.source, self.plan, measurement)
        return draw(measurement, counted, current())

    def _rehearsed(self, measurement: Measurement, level: float) -> None:
        """Do to nobody's row what `_drawn` does to the table: what fails whatever it holds fails before the debit."""
        check_types(self.source, self.plan, measurement.columns_of(self.plan))
        rehearse(measurement, rehearsal_tally(measurement), level)

    def _measurement(self, asked: Asked, terms: Terms) -> Measurement:
        """A question, understood and priced; the last one is kept, for who asks what was previewed."""
        key, last = repr((asked, terms)), self._last
        if key not in last:
            last = self._last = {key: self._priced(asked, terms)}
        return last[key]

    def _priced(self, asked: Asked, terms: Terms) -> Measurement:
        """A question, checked against the plan, at the price that the terms name or that their accuracy needs."""
        question = resolve(as_question(asked), self.schema)
        if not terms.all_groups:
            check_groups(question, self.schema)
        if (terms.epsilon is None) == (terms.accuracy is None):
            raise ArgumentError("say what the question may cost, with epsilon, or how good it must be, with accuracy")
        if terms.accuracy is None:
            return self._measure(question, self._price(terms.epsilon, terms.delta))
        if asks_for_curves(question, self.schema):
            raise ArgumentError("say with epsilon what a question about curves may cost")
        self._price(LARGEST_FOUND_EPSILON, terms.delta)

        def measured(epsilon: Fraction) -> Measurement:
            return self._measure(question, self._price(epsilon, terms.delta), by_value=False)  # so ± is known

        return accurate(measured, exact(terms.accuracy, "accuracy"), terms.level, self._public_rows)

    def _price(self, epsilon: Any, delta: Any) -> Privacy:
        """ε and δ as exact numbers, under the plan's neighbours; refused where both are 0."""
        cost = Privacy(epsilon, delta, neighbours=self.plan.privacy.neighbours)
        if not cost.epsilon and not cost.delta:
            raise ArgumentError("at epsilon 0 there is no answer: it would have to be the same for every table")
        return cost

    def _measure(self, question: Question, price: Privacy, *, by_value: bool = True) -> Measurement:
        """How to answer a question at a price; with δ, in a ledger that counts it, that buys the ρ that keeps it.

        Where no noise uses a δ, as for a median, that ρ would buy a smaller ε and no more: the price is (ε, 0) then.
        """
        measured = partial(measure, question, self.schema, unit=self.unit, by_value=by_value)
        if not (price.delta and self.ledger.counts_rho):
            return measured(price)
        relaxed = measured(price, rho=rho_for(price.epsilon, price.delta))
        if relaxed.free or relaxed.uses_delta or not price.epsilon:
            return relaxed
        return measured(replace(price, delta=Fraction(0)))

    @property
    def _public_rows(self) -> int | None:
        """The number of rows, where that is public and known."""
        return self.source.rows if self.plan.rows_are_public else None


@contextmanager
def _noting_the_debit() -> Iterator[None]:
    """Note on whatever fails in here that the question was paid for."""
    try:
        yield
    except BaseException as error:
        error.add_note("the question was paid for and not answered: asking it again costs again")
        raise


def _method(measurement: Measurement) -> str:
    if measurement.curves is not None:
        return measurement.curves.method
    names = [noisy.noise.name for noisy in measurement.noisy if noisy.noise is not None]
    parts = [f"{name} noise on whole numbers" for name in dict.fromkeys(names)]
    parts += dict.fromkeys(f"{choice.mechanism} choice" for choice in measurement.chosen)
    return ", ".join(parts) or "exact: no row can change it"
