"""A mechanism written as a program: its law by running it along every way its draws can go. HLM15, equation (2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dproof.arguments import described
from dproof.errors import InputError, TooLarge
from dproof.exact import exact, whole_numbers
from dproof.laws.law import counted
from dproof.laws.matrix import Matrix
from dproof.mechanisms.mechanism import Mechanism
from dproof.mechanisms.neighbours import as_neighbours
from dproof.spaces.categories import Categories
from dproof.spaces.space import Space, as_space

Draw = Callable[[Mapping[Any, Any]], Any]
_MOST_INPUTS = 1 << 12
_MOST_RUNS = 1 << 16  # of the program, over all inputs
_MOST_ENTRIES = 1 << 22  # of the matrix


def from_program(
    program: Callable[[Any, Draw], Any], inputs: Space, *, outputs: Space | None = None, neighbours: Any = None
) -> Mechanism:
    """The mechanism Y_d of a program of your own, on a row or on a whole table, by enumeration.

    `program(d, draw)` gives the response to d. Whatever is random in it comes from `draw(weights)`, which gives one of
    the keys of a mapping with a probability in proportion to its weight: exact numbers, or a law of another mechanism
    such as `response.law(value)`. The program is run once for every input and every way its draws can go, so it must
    do the same whenever its draws are the same. `outputs` is the space of its responses, by default categories.
    `neighbours` are those of the inputs by default: of a `Table` the tables that differ in one row.

    All (m+1)^n tables are gone through: at most 4,096 inputs and 65,536 runs, such as 12 rows of two values, or 5 rows
    of three with a draw of three ways for each row; that takes up to a minute. What `certify` then says is exact for
    the law that was found, and `draw` of the mechanism samples that law. Of the program itself it says what its
    responses tell: not how long it takes, nor what it prints.

    >>> from dproof import Table, response_with
    >>> answer = Categories(["no", "yes"])
    >>> def noisy_majority(table, draw):
    ...     said = draw({"right": 3, "wrong": 1})
    ...     most = table.count("yes") > len(table) / 2
    ...     return "yes" if most == (said == "right") else "no"
    >>> m = from_program(noisy_majority, Table(answer, 5))
    >>> m, round(m.epsilon(), 4)
    (<mechanism: program noisy_majority (enumeration), 32 inputs, 2 outputs>, 1.0986)
    """
    if not callable(program):
        raise InputError(f"program must be a function of an input and of draw, not {described(program)}")
    size = as_space(inputs, "inputs").size
    if size > _MOST_INPUTS:
        raise TooLarge(
            f"there are {counted(size)} inputs, and a program is run for each; at most {_MOST_INPUTS:,} fit: take "
            "fewer rows or fewer values"
        )
    pairs, laws, runs = as_neighbours(neighbours, inputs), [], 0
    forms: dict[Any, Any] = {}
    for code in range(size):
        law, ways = _law(program, inputs.label(code), _MOST_RUNS - runs, forms)
        laws.append(law)
        runs += ways
    found = list(dict.fromkeys(output for law in laws for output in law))
    space = Categories(found) if outputs is None else as_space(outputs, "outputs")
    if size * space.size > _MOST_ENTRIES:
        raise TooLarge(f"a law of {size} inputs by {counted(space.size)} outputs is too large to write out")
    rows = [[Fraction(0)] * space.size for _ in laws]
    for row, law in zip(rows, laws, strict=True):
        for output, chance in law.items():
            row[space.code(output)] += chance
    name = getattr(program, "__name__", "").strip("<>") or "of one's own"
    family = Matrix(*whole_numbers(rows, "a probability"), pairs)
    return Mechanism(f"program {name}", inputs, space, family, "enumeration")


class _Draws:
    """The draws of one run: the first ways are given, and from then on the first way of each draw is taken."""

    def __init__(self, ways: Sequence[int]) -> None:
        self.ways = list(ways)
        self.options: list[int] = []
        self.chance = Fraction(1)

    def __call__(self, weights: Mapping[Any, Any]) -> Any:
        if not isinstance(weights, Mapping):
            raise InputError(f"draw takes a mapping from values to weights, not {described(weights)}")
        given = [(value, exact(weight, "a weight")) for value, weight in weights.items()]
        total = sum((weight for _, weight in given), Fraction(0))
        if total <= 0 or any(weight < 0 for _, weight in given):
            raise InputError("draw takes weights of at least 0, not all 0")
        possible, place = [pair for pair in given if pair[1]], len(self.options)
        self.options.append(len(possible))
        if place == len(self.ways):
            self.ways.append(0)
        if self.ways[place] >= len(possible):
            raise _unsteady()
        value, weight = possible[self.ways[place]]
        self.chance *= weight / total
        return value


def _law(
    program: Callable[[Any, Draw], Any], value: Any, most: int, forms: dict[Any, Any]
) -> tuple[dict[Any, Fraction], int]:
    """Every response to an input with its probability, and how many runs that took; `forms` has those known so far."""
    law: dict[Any, Fraction] = {}
    waiting: list[tuple[int, ...]] = [()]
    runs = 0
    while waiting:
        runs += 1
        if runs + len(waiting) - 1 > most:  # each that waits is a run at least
            raise TooLarge(
                f"the program has more than {_MOST_RUNS:,} ways to go over all inputs; take fewer rows, values or draws"
            )
        given = waiting.pop()
        draws = _Draws(given)
        output = program(value, draws)
        try:
            known = forms.setdefault(output, _form(output))
        except TypeError:
            raise InputError(
                "the program must give labels, such as texts, numbers or tuples, and no lists or arrays"
            ) from None
        if known != _form(output):
            raise InputError(
                "two responses are equal and yet can be told apart, such as 1 and True: give each in one form"
            )
        if len(draws.options) < len(given) or (not given and not _same(program, value, draws, output)):
            raise _unsteady()
        law[output] = law.get(output, Fraction(0)) + draws.chance
        for place in range(len(given), len(draws.options)):
            waiting += [(*draws.ways[:place], way) for way in range(1, draws.options[place])]
    if sum(law.values()) != 1:
        raise _unsteady()
    return law, runs


def _form(output: Any) -> Any:
    """What tells two equal responses apart: their types, and how they are written, such as a zero with a sign."""
    if isinstance(output, tuple):
        return type(output), tuple(map(_form, output))
    if isinstance(output, frozenset):
        return type(output), frozenset((part, _form(part)) for part in output)
    kind: Any = type(output)
    return kind, None if kind.__repr__ is object.__repr__ else repr(output)


def _same(program: Callable[[Any, Draw], Any], value: Any, draws: _Draws, output: Any) -> bool:
    """Whether the program does the same again."""
    again = _Draws(())
    return bool(program(value, again) == output) and (again.options, again.chance) == (draws.options, draws.chance)


def _unsteady() -> InputError:
    return InputError(
        "the program did something else with the same draws: whatever is random in it must come from draw, and nothing "
        "may be kept from one run to the next"
    )
