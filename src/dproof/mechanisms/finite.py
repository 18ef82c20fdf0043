"""Mechanisms on finite spaces: randomised response, exponential, any matrix, whole tables, and programs.

HLM16, sections 2 to 4; HLM15, equation (2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import described, expect, listed, whole
from dproof.errors import ArgumentError, InputError, TooLarge
from dproof.exact import exact, exp_above, exp_below, has_shape, whole_numbers
from dproof.laws.law import Law, counted
from dproof.laws.matrix import Matrix, RowByRow, whole_law
from dproof.laws.response import Bits, KeepOrOther, keep_up_to, response_law
from dproof.mechanisms.mechanism import Mechanism, Optimum, as_mechanism, check_shape
from dproof.privacy import Privacy, Promise, as_epsilon
from dproof.spaces.categories import Categories, Subsets
from dproof.spaces.products import Lines, Metric, Table
from dproof.spaces.space import Space, as_space

_LARGEST_SIZE = 1 << 48  # values; beyond this whole numbers of 62 bits grow coarse
_FLIP = 1 << 36  # the weight of a flipped item
_TOTAL = 1 << 56
# Utilities are contracted by this much before they are rounded, which outweighs the rounding: the law of whole
# numbers is then no less private than the ideal one wherever utility and privacy pull against each other.
_CONTRACTION = 1 - Fraction(1, 1 << 30)
_LOWEST = -1000  # a utility this far below the best is as good as any lower one: its weight is one part of the total
_LARGEST_K = 1000
_LARGEST_SPACE = 1 << 12  # points, where the law is written out as a matrix
_TOLERANCE = Fraction(1, 10**9)  # by which a row of a given matrix may miss its sum
_MOST_ROWS = 1 << 20  # of a table


def randomised_response(space: Space, privacy: Promise) -> Mechanism:
    """Keep the value, or take each other one with probability p = (1 − δ)/(m + e^ε), on m + 1 values.

    P(Y_d = d) = (e^ε + mδ)/(e^ε + m), P(Y_d = d') = (1 − δ)/(e^ε + m).
    HLM16, Theorems 8 and 10; among all sanitisations into D it has the least error under the discrete metric.

    Why it is private: two inputs d, d' differ in the probabilities of the outputs d and d' only, so the worst set
    is {d} and the condition is keep ≤ e^ε · other + δ · total; `keep` is the largest whole number that meets it.
    With δ > 0 the law publishes each true value with probability δ on top of the ε-private response.

    `space` holds the values; `privacy` is a Privacy or a number ε.

    >>> from dproof import Categories
    >>> m = randomised_response(Categories("abcde"[n] for n in range(5)), Privacy(1))
    >>> round(float(m.law("a")["b"]), 10)
    0.1488475812
    """
    m, privacy = as_space(space).size - 1, Privacy.of(privacy)
    if m >= _LARGEST_SIZE:
        raise TooLarge(f"randomised response takes at most {_LARGEST_SIZE} values; treat the items of a set one by one")
    family = response_law(space.size, privacy.epsilon, privacy.delta)
    return Mechanism("randomised response", space, space, family, "HLM16, Theorem 10", _optimum(family, space, privacy))


def _optimum(family: KeepOrOther, space: Space, privacy: Privacy) -> Optimum | None:
    """HLM16, Theorem 10: under the discrete metric no sanitisation into D errs less than (1 − δ)m/(m + e^ε)."""
    # Tables that differ in two rows may lie farther apart.
    if not space.is_discrete or space.size < 2 or space.rows > 1:
        return None
    m, kappa = space.size - 1, space.separation
    attained = kappa * Fraction(m * family.other, family.total)
    return Optimum("metric", attained, kappa * (1 - privacy.delta) * m / (m + exp_above(privacy.epsilon)))


def response_with(space: Space, p: Any) -> Mechanism:
    """Randomised response with a given p: P(Y_d = d) = 1 − pm, P(Y_d = d') = p. HLM16, equation (19).

    For p ≤ 1/(m+1) it is (ε, δ)-private iff p ≥ (1 − δ)/(m + e^ε); in general iff
    (1 − δ)/(m + e^ε) ≤ p ≤ (e^ε + δ)/(1 + m e^ε).

    `space` holds the values; `p` is the probability of keeping a value.

    >>> from dproof import Categories
    >>> response_with(Categories(["a", "b", "c", "d", "e"]), "0.1").family
    KeepOrOther(size=5, keep=6, other=1)
    """
    m, chance = as_space(space).size - 1, exact(p, "p")
    if not 0 <= chance * max(m, 1) <= 1:
        raise ArgumentError(f"p must lie between 0 and 1/{max(m, 1)}, so that 1 − {m}p is a probability")
    family = KeepOrOther(space.size, chance.denominator - m * chance.numerator, chance.numerator)
    return Mechanism("randomised response", space, space, family, "HLM16, equation (19)")


def itemwise_response(space: Subsets, privacy: Promise) -> Mechanism:
    """Randomised response on every item of a set, each with an equal part of ε.

    P(Y_a = b) = stay^(h−r) flip^r / (stay + flip)^h where r items differ, with (stay/flip)^h ≤ e^ε.

    Why it is private: two sets differ in at most all h items, and each item's odds are at most e^(ε/h).
    δ is not used: the law is ε-private.

    `space` is one of Subsets; `privacy` is a Privacy or a number ε.

    >>> m = itemwise_response(Subsets(["Music", "Football", "Chess"]), Privacy(1))
    >>> round(float(m.error), 7)
    1.2522894
    """
    privacy = Privacy.of(privacy)
    expect(space, Subsets, "space", "a space of Subsets for an itemwise response")
    h = len(space.values)
    ratio = min(exp_below(privacy.epsilon / h), Fraction(1 << 20))
    return Mechanism("itemwise response", space, space, Bits(h, int(_FLIP * ratio), _FLIP), "Warner 1965, item by item")


def discrete_exponential(space: Space, k: Any = None, *, utility: Any = None, neighbours: Any = None) -> Mechanism:
    """P(Y_d = d') = e^{u(d, d')} / C_d, with u = −k·ρ or a given matrix of utilities.

    Under the discrete metric it is randomised response with e^k = 1/p − m, HLM16, Theorem 7, and it is
    (ε, δ)-private iff e^k ≤ (e^ε + mδ)/(1 − δ), HLM16, Theorem 4. HLM16, Definition 4 and equation (12).

    `neighbours`, pairs of labels or a square matrix of booleans, says which inputs are neighbours: all by default, and
    of a `Table` those that differ in one row. With k and the l1 metric its law is the product of the rows' laws, for
    any number of rows.

    `space` holds the values; `k` is the factor of the distance, or `utility` a matrix that takes its place.

    >>> from dproof import Categories
    >>> round(discrete_exponential(Categories(["a", "b", "c"]), 1).epsilon(), 9)
    1.0
    """
    as_space(space)
    if (k is None) == (utility is None):
        raise ArgumentError("give either k, for the utility −k times the distance, or a matrix of utilities")
    source, unit = "HLM16, Definition 4", Fraction(1)
    if k is not None:
        unit = exact(k, "k")
        if not 0 <= unit <= _LARGEST_K:
            raise ArgumentError(f"k must lie between 0 and {_LARGEST_K}; at 0 every answer is as likely")
        table: Any = space
        if table.row is not None and table.metric == "l1" and neighbours is None:  # e^{−kΣρ} = Π e^{−kρ}
            law: Law = RowByRow(discrete_exponential(table.row, k).family, table.n)
            return Mechanism("discrete exponential", space, space, law, "HLM16, Definition 4 and Theorem 7")
        if space.is_discrete and space.size <= _LARGEST_SIZE and neighbours is None:
            law = keep_up_to(exp_below(unit * space.separation), space.size)
            return Mechanism("discrete exponential", space, space, law, source)
    if space.size > _LARGEST_SPACE:
        raise TooLarge(f"a law on {counted(space.size)} points is too large to write out, at most {_LARGEST_SPACE}")
    pairs = as_neighbours(neighbours, space)
    if k is not None:
        utility = -np.array([space.distances(n) for n in range(space.size)])
    family = _exponential_law(utility, (space.size, space.size), unit, None, pairs)
    return Mechanism("discrete exponential", space, space, family, source)


def exponential(
    inputs: Space,
    outputs: Space,
    utility: Any,
    *,
    epsilon: Any,
    base: Sequence[Any] | None = None,
    neighbours: Any = None,
) -> Mechanism:
    """P(Y_d = q) = e^{ε u(d, q)} μ(q) / C_d, for a matrix of utilities and a base measure μ on the outputs.

    `neighbours`, where not every pair of inputs counts, are pairs of labels or a square matrix of booleans.
    2εΔu-private by McSherry and Talwar, 2007; `epsilon()` tells the tight value. HLM16, Definition 2.

    `inputs` and `outputs` are spaces; `utility` is a matrix, a row for each input; `epsilon` is its factor, and
    `base` has the weight μ of each output, 1 by default.

    >>> from dproof import Categories
    >>> m = exponential(Categories([0, 1]), Categories([0, 1]), [[0, -1], [-1, 0]], epsilon=1)
    >>> round(m.epsilon(), 8)
    1.0
    """
    as_space(inputs, "inputs")
    as_space(outputs, "outputs")
    eps = as_epsilon(epsilon)
    check_shape(utility, inputs.size, outputs.size, "utilities")
    given = [1] * outputs.size if base is None else listed(base, "base", "a list of weights, one for each output")
    measure = [exact(x, "a base weight") for x in given]
    if len(measure) != outputs.size or min(measure) < 0 or not any(measure):
        raise ArgumentError(f"the base measure needs {outputs.size} weights of at least 0, not all 0")
    pairs = as_neighbours(neighbours, inputs)
    family = _exponential_law(utility, (inputs.size, outputs.size), eps, measure, pairs)
    return Mechanism("exponential", inputs, outputs, family, "HLM16, Definition 2")


def _exponential_law(
    utility: Any,
    shape: tuple[int, int],
    unit: Fraction,
    base: Sequence[Fraction] | None,
    neighbours: NDArray[np.bool_] | None,
) -> Matrix:
    """The law of whole numbers nearest to e^{unit·u(d, q)} μ(q), row by row."""
    check_shape(utility, *shape, "utilities")
    levels, denominator = whole_numbers(utility, "a utility")
    gaps = levels - levels.max(axis=1, keepdims=True)  # only differences count, and then e^u is at most 1
    values, places = np.unique(gaps, return_inverse=True)
    step = unit * _CONTRACTION / denominator
    weights = np.array([exp_below(max(int(gap) * step, Fraction(_LOWEST))) for gap in values], object)
    laws = weights[places].reshape(shape)
    if base is not None:
        laws = laws * np.array(base, object)
    return Matrix(np.array([whole_law(law.tolist(), _TOTAL) for law in laws]), _TOTAL, neighbours)


def solution_matrix(space: Space, rows: Any, *, outputs: Space | None = None, neighbours: Any = None) -> Mechanism:
    """The mechanism with P(Y_i = j) = rows[i][j], exactly as given.

    Entries are exact numbers, and a float means its shortest decimal. A row whose sum is off by at most 1e-9 is
    mended on its largest entry (the first of them): that moves the probabilities the least, relatively.
    `outputs` is another space, for a law into it; `neighbours`, where not every pair counts, are pairs of labels or a
    square matrix of booleans over the inputs. HLM16, Definition 6.

    `space` holds the inputs; `rows` has for each of them the probabilities of the outputs.

    >>> from dproof import Categories
    >>> m = solution_matrix(Categories(["yes", "no"]), [[0.75, 0.25], ["1/4", "3/4"]])
    >>> m.law("yes")["no"], m.delta(0)
    (Fraction(1, 4), 0.5)
    """
    as_space(space)
    target = space if outputs is None else as_space(outputs, "outputs")
    _check_shape(rows, space.size, target.size)
    whole, total = whole_numbers(rows, "an entry of the solution matrix")
    _mend(whole, total)
    law = Matrix(whole, total, as_neighbours(neighbours, space))
    return Mechanism("solution matrix", space, target, law, "HLM16, Definition 6")


def _check_shape(rows: Any, inputs: int, outputs: int) -> None:
    if not isinstance(rows, (list, tuple)) and not (isinstance(rows, np.ndarray) and rows.ndim == 2):
        raise ArgumentError("rows must be a solution matrix: a list of rows, one for each input")
    if len(rows) != inputs:
        raise ArgumentError(f"the matrix has {len(rows)} rows for {counted(inputs)} inputs; give one row for each")
    for n, row in enumerate(rows, 1):
        if isinstance(row, str) or not hasattr(row, "__len__"):
            raise ArgumentError(f"row {n} of the solution matrix is not a list of {outputs} numbers")
        if len(row) != outputs:
            raise ArgumentError(
                f"row {n} of the solution matrix has {len(row)} entries for {outputs} outputs; give one for each"
            )


def _mend(whole: NDArray[Any], total: int) -> None:
    """Make every row sum to the total, in place."""
    for n, (row, missing) in enumerate(zip(whole, total - whole.sum(axis=1), strict=True), 1):
        where = f"row {n} of the solution matrix"
        if row.min() < 0:
            raise ArgumentError(f"{where} has a negative entry in column {row.argmin() + 1}; probabilities are not")
        if abs(missing) > _TOLERANCE * total:
            sum_ = float(Fraction(int(total - missing), total))
            raise ArgumentError(f"{where} sums to {sum_:.12g}, not to 1; divide it by its sum")
        row[row.argmax()] += missing


def product_sanitisation(parent: Mechanism, rows: int, *, metric: Metric = "l1") -> Mechanism:
    """The mechanism on D^n that gives each of n rows to the parent mechanism, independently.

    P(Y_d = y) = Π_i P(Y_{d_i} = y_i), with neighbours the tables that differ in one row; for any n, as nothing is
    written out. `metric` is that of the tables, as `Table` has it. HLM15, equation (7); HLM16, Definition 5.

    Why it is private: given all other rows, a table is told from its neighbour by one draw of the parent, so the
    tight δ at every ε is the parent's, however many rows there are (HLM15, Lemma 3 and Theorem 5; HLM16, Theorem 6
    and Corollary 3).

    `parent` is the mechanism of one row, and `rows` how many there are.

    >>> from dproof import Categories
    >>> parent = response_with(Categories(["yes", "no"]), "1/4")
    >>> table = product_sanitisation(parent, 1000)
    >>> table.epsilon() == parent.epsilon(), table.error, len(table.draw(["yes", "no"] * 500))
    (True, Fraction(250, 1), 1000)
    """
    made = as_mechanism(parent, "parent")
    inputs = Table(as_space(made.inputs, "the parent's space"), whole(rows, "rows", 1, _MOST_ROWS), metric)
    outputs: Any = inputs
    if made.outputs != made.inputs:
        in_space = isinstance(made.outputs, Space)
        outputs = Table(cast(Space, made.outputs), rows, metric) if in_space else Lines((made.outputs,) * rows)
    optimum = None
    if made.optimum is not None and made.optimum.loss == "metric" and metric == "l1":
        # Under n copies of the least favourable prior each row is answered by some law on D that keeps the promise.
        optimum = Optimum("metric", rows * made.optimum.value, rows * made.optimum.lower_bound)
    return Mechanism(
        "product sanitisation", inputs, outputs, RowByRow(made.family, rows), "HLM15, equation (7)", optimum
    )


# Neighbours that a caller names ---------------------------------------------------------------------------------------

_WHAT = "a square matrix of True and False, one row for each input, or a list of pairs of labels"


def as_neighbours(neighbours: Any, space: Space) -> NDArray[np.bool_] | None:
    """The symmetric matrix of neighbouring inputs, None for all pairs: those that are given, or else of the space.

    A two-dimensional NumPy array, or a list of one list of True and False for each input, is a matrix. Anything else
    is a list of pairs, each a tuple or a list of two labels, and a pair counts both ways. What could be read as
    either, such as [[0, 1], [1, 0]] on two inputs, is refused.

    >>> from dproof import Categories
    >>> as_neighbours([("a", "b")], Categories(["a", "b", "c"])).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    if neighbours is None:
        return space.neighbours()
    k = space.size
    if isinstance(neighbours, np.ndarray) and neighbours.ndim == 2:
        if neighbours.dtype != bool or neighbours.shape != (k, k):
            raise ArgumentError(f"an array of neighbours must be {k} by {k}, one row for each input, with dtype bool")
        return _mutual(neighbours)
    rows = listed(neighbours, "neighbours", _WHAT)
    square = has_shape(rows, k, k) and not any(isinstance(row, tuple) for row in rows)
    if square and all(isinstance(entry, (bool, np.bool_)) for row in rows for entry in row):
        if k == 2 and all(_is_pair(row, space) for row in rows):
            raise _unclear()
        return _mutual(np.array(rows, bool))
    if square and all(isinstance(entry, (int, np.integer)) and entry in (0, 1) for row in rows for entry in row):
        raise _unclear()
    matrix = np.zeros((k, k), bool)
    for pair in rows:
        if not _is_pair(pair, space):
            raise ArgumentError(f"neighbours must be {_WHAT}: one of them is not a pair of declared labels")
        i, j = (space.code(label) for label in pair)
        if i == j:
            raise ArgumentError("neighbours are two different inputs: one of the pairs names the same label twice")
        matrix[i, j] = matrix[j, i] = True
    return _mutual(matrix)


def _mutual(matrix: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if len(matrix) > 1 and not matrix.any():
        raise ArgumentError("neighbours must name at least one pair: without any, each law is private and says nothing")
    if (matrix != matrix.T).any():
        raise ArgumentError("the matrix of neighbours must be symmetric: being neighbours is mutual")
    return matrix


def _is_pair(pair: Any, space: Space) -> bool:
    if not isinstance(pair, Sequence) or isinstance(pair, (str, bytes)) or len(pair) != 2:
        return False
    try:
        return all(space.code(label) >= 0 for label in pair)
    except InputError:
        return False


def _unclear() -> InputError:
    return ArgumentError(
        "these neighbours may be a matrix or pairs of labels: write a matrix as a NumPy array of dtype bool, and "
        "pairs as tuples, as in [('a', 'b')]"
    )


# A program as a mechanism ---------------------------------------------------------------------------------------------

Draw = Callable[[Mapping[Any, Any]], Any]
_MOST_INPUTS = 1 << 12
_MOST_RUNS = 1 << 16  # of the program, over all inputs
_MOST_DRAWS = 400  # of one run
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

    `program` is a function of a table, and `inputs` is the space of tables.

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
        raise ArgumentError(f"program must be a function of an input and of draw, not {described(program)}")
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
            raise ArgumentError(f"draw takes a mapping from values to weights, not {described(weights)}")
        given = [(value, exact(weight, "a weight")) for value, weight in weights.items()]
        total = sum((weight for _, weight in given), Fraction(0))
        if total <= 0 or any(weight < 0 for _, weight in given):
            raise ArgumentError("draw takes weights of at least 0, not all 0")
        possible, place = [pair for pair in given if pair[1]], len(self.options)
        if place == _MOST_DRAWS:
            raise TooLarge(
                f"the program draws more than {_MOST_DRAWS:,} times in one run: a loop that draws must end, whatever "
                "it draws; draw the number of its turns at once"
            )
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
            raise TooLarge(f"the program has more than {_MOST_RUNS:,} ways to go; take fewer rows, values or draws")
        given = waiting.pop()
        draws = _Draws(given)
        output = program(value, draws)
        try:
            known = forms.setdefault(output, _form(output))
        except TypeError:
            raise ArgumentError("the program must give labels, such as texts, numbers or tuples, no lists") from None
        if known != _form(output):
            raise ArgumentError("two responses are equal but for their form, such as 1 and True: give all in one form")
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
    return ArgumentError(
        "the program did something else with the same draws: whatever is random in it must come from draw, and nothing "
        "may be kept from one run to the next"
    )
