"""Check the certificate of a release of the central model with nothing but the Python standard library.

    python verify_central.py certificate.json

One file must lie beside this one: `verify_certificate.py` reads numbers and files, and has the normal law and the odds
of a step of Laplace noise. This program compares the certificate with the plan, and computes how far one person can
move what was measured, and that the noise hides it.
Exit code 0: all of it holds. 1: something does not.

With δ > 0 residuals were measured: for a set A of columns with k values each, Y_A v_A, where v_A is the table of counts
and Y_A = ⊗ (k I − 11ᵀ), with independent discrete Gaussian noise with parameter γ² on each of the Π k numbers. What one
row adds to Y_A v_A has the squared length Π k(k − 1). What the change of a row adds has, where the two rows differ on
the columns S, 2 Π k(k − 1) − 2 Π_{A∖S} k(k − 1) Π_{A∩S} (−k). Sums of a number by a table, in whole numbers of at most
the reach, are measured likewise: a row adds at most the reach times as much. So are sums of curves, which are vectors z
of whole numbers, clipped into a ball |z|₂ ≤ R or a box |z_j| ≤ b_j: a row adds at most the length R or √Σb² times as
much. Where a row with z is replaced by one with z', that adds N(|z|² + |z'|²) − 2⟨z, z'⟩c to the squared length, with
N = Π k(k − 1) and c = Π_{A∖S} k(k − 1) Π_{A∩S} (−k). All tables of one column have the same z and z': weighed by
precisions and with |z|² ≤ L they add up to 2L(Σ N + |Σ c|) at most. In version 1 each table is charged by itself, 4LN.
A person with r rows moves all of it r times as far at most.

Numbers are added up about the middle of their range or, within bins, about the middle of their bin: then the reach is
half the width of the widest bin, in halves of a step, and the sum may be by the bins of the number itself. On its
ladder a number is counted by parts of its bins, as they are: a row that comes or goes moves the counts by the length 1,
its change by √2, or by two steps, whatever the parts are.

Discrete Gaussian noise N_Z(0, γ²) is, within a factor e^(±κ) at each point, what becomes of normal noise of variance
γ² − τ² when a point c of that is replaced by a draw of N_Z(c, τ²), with κ < 2^-104 at τ = 2. So with N numbers in all
δ is at most e^(Nκ) δ_G(μ, ε − 2Nκ), where δ_G is the profile of two normal laws that lie μ apart and
μ² = max_S Σ_A Δ²_A(S)/(γ_A² − τ²); and what the tables of the noise cut off, 2^-64 for each number, is charged in full.
Where γ would be small, numbers are measured in parts of a whole one: p times each number, with noise of p²γ², so that
τ is 2/p.

With δ = 0, which also keeps the promise of a plan that allows a δ, plain tables were measured with integer Laplace
noise: a row that comes or goes moves a table of counts by one step, a change by two, and sums by as many times the
reach, or the largest |z|₁ of a curve; the odds of all steps together must not exceed e^ε. Of K-norm noise on the vector
of a cell a whole curve is one step. Of a set A of columns with two values each the contrast may be measured instead,
Σ ±v_A with one sign where the number of second values is even and the other where it is odd: a row that comes or goes
moves it by one step, a change by two if the two rows differ on an odd number of the columns of A, else by none.

Under change-one the number of rows is public, and then it is not measured; or it is measured, and then the rows of a
person may also be replaced by fewer, down to none.

Where a plan says of how many columns all tables are, items of one set are in no table together, unless the plan has
item_pairs = true, or the version of the certificate is below 3.

Not checked here, but by `dproof verify`: what the stored files hold and how many rows they say there are, how many bins
a number or a date has where the plan does not list them, which tables the questions of a plan need where it lists no
tables, and that the noise is shared out as the plan wants it; of curves the bounds of a box that the plan declares, and
which of the bases that it allows was taken. Checked by neither: the files that are named as not
checked, such as report.html.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import combinations, product
from math import isqrt, prod
from pathlib import Path
from typing import Any

if __package__:
    from dproof.certification import verify_certificate as reading
else:  # run as a program
    import verify_certificate as reading  # type: ignore[import-not-found,no-redef]

FORMAT, VERSION = "dproof central certificate", 4
STORED = r"tables\.parquet|rows\.parquet"
ENUMERATED = 12  # columns of which every set that two rows may differ on is looked at
STATES = 1 << 18  # sets of columns that are looked at where some are alike, times counts and each number's sums
LOOKED_AT = 1 << 19  # such sets times tables, up to version 2
UNIT = 1 << 64  # losses are added up in parts of it, rounded up
TIGHT = Fraction(1, 1 << 30)  # how far a stated bound of δ may lie above the one that is found here
SMOOTH, RIPPLE, CUT, LARGEST, LEAST = 4, Fraction(1, 1 << 104), Fraction(1, 1 << 64), Fraction(16), 25

REACH = 1 << 14  # the radius of a ball of curves, and the largest bound of a box
PARTS = 96  # parts of bins on the ladder of a number, about
SINGLE = 12  # numbers up to which each is counted by itself, where the plan lists no bins

require, total = reading.require, reading.total
Table = tuple[int, ...]
Measured = tuple[Table, int | None, int]  # a table of counts, or the sums of a column by a table; and its kind
Axis = tuple[str, int | None, int]  # see `axes_of`
PLAIN, CONTRAST, LADDER = 0, 1, 2
Lengths = list[tuple[int, int, int]]  # of what a row adds to a sum of each column: |z|₂², |z|₁, and its terms
ROWS: Measured = ((), None, PLAIN)  # the number of rows

NOISE = reading.by_kind(
    {
        "gaussian": {
            "square": reading.fraction(LEAST, 1 << 30, 64),
            "step": reading.whole(1, 128),
            "draws": reading.whole(1, 9),
        },
        "two-sided": {**reading.NOISES["two-sided"], "epsilon": reading.fraction(0, 1000)},
        "k-norm": {**reading.NOISES["k-norm"], "epsilon": reading.fraction(0, 1000)},
    }
)
MEASUREMENT = reading.record(
    {
        "columns": reading.many(reading.whole(0, 1 << 16), 0, 12),
        "sum_of": reading.missing_or(reading.whole(0, 1 << 16)),
        "sensitivity": reading.digits(1, 10**400),
        "noise": reading.whole(0, 1 << 16),
        "contrast?": reading.truth,
        "ladder?": reading.truth,
        "parts?": reading.whole(2, 64),
    }
)
CURVES = reading.record(
    {
        "terms": reading.whole(1, 512),
        "radius": reading.missing_or(reading.whole(1, 1 << 20)),
        "box": reading.missing_or(reading.many(reading.whole(0, 1 << 20), 1, 512)),
    }
)
COLUMN = reading.record(
    {
        "name": reading.text,
        "values": reading.whole(1, 1 << 24),
        "reach": reading.whole(0, reading.SIZE),
        "curves?": CURVES,
        "within_bins?": reading.truth,
        "ladder?": reading.whole(2, 1 << 24),
    }
)
CERTIFICATE = reading.record(
    {
        **reading.HEAD,
        "rows_per_person": reading.whole(1, reading.SIZE),
        "columns": reading.many(COLUMN, 1, 1 << 16),
        "noises": reading.many(NOISE, 0, 1 << 16),
        "measurements": reading.many(MEASUREMENT, 0, 1 << 16),
        "rho": reading.missing_or(reading.fraction(0, None)),
        "tight": reading.record({"delta": reading.decimal(1)}),
        "release": reading.record(
            {
                "rows": reading.missing_or(reading.whole(0, reading.SIZE)),
                "made_up_rows": reading.missing_or(reading.whole(0, reading.SIZE)),
                "files": reading.named(reading.text),
            }
        ),
    }
)


def inner(sizes: list[int], table: Table, apart: Table = ()) -> int:
    """The scalar product of what two rows add that differ on these columns; with none the squared length of either."""
    return prod(-sizes[i] if i in apart else sizes[i] * (sizes[i] - 1) for i in table)


def change(sizes: list[int], table: Table, apart: Table) -> int:
    """The squared length of what the change of a row adds that differs on these columns."""
    return 2 * inner(sizes, table) - 2 * inner(sizes, table, apart)


def lengths(column: dict[str, Any]) -> tuple[int, int, int]:
    """The lengths of the vector that a row adds to a sum of a column, and its number of terms: a number has one.

    In a ball |z|₁ ≤ √terms · |z|₂.
    """
    if "curves" not in column:
        return column["reach"] ** 2, column["reach"], 1
    terms, radius, box = (column["curves"][key] for key in ("terms", "radius", "box"))
    require((radius is None) != (box is None) and not column["reach"], "the region of curves must be a ball or a box")
    require(column["values"] <= 2, "a column of curves counts only which of them are missing")
    if box is None:
        require(radius == REACH, "the ball of curves must have the radius of the lattice")
        return radius**2, isqrt(terms * radius**2), terms
    require(
        len(box) == terms and max(box) == REACH,
        "the box of curves must have a bound for each term, the largest that of the lattice",
    )
    return sum(bound**2 for bound in box), sum(box), terms


def sensitivity(sizes: list[int], reach: Lengths, measured: Measured, neighbours: str) -> int:
    """The squared length of what a row, or the change of one, adds at most."""
    table, number, kind = measured
    if kind == LADDER:
        return 1 if neighbours == "add-remove" else 2
    if number is not None:
        return (1 if neighbours == "add-remove" else 4) * reach[number][0] * inner(sizes, table)
    if neighbours == "add-remove" or not table:
        return inner(sizes, table)
    # Each column of S multiplies the second term by −1/(k − 1): it is least with the one that has the fewest values.
    return change(sizes, table, (min(table, key=lambda i: sizes[i]),))


def rounded(loss: int | Fraction, precision: Fraction = Fraction(1)) -> int:
    return -(-loss * precision.numerator * UNIT // precision.denominator)


def largest_loss(
    sizes: list[int], reach: Lengths, precisions: dict[Measured, Fraction], neighbours: str, version: int = VERSION
) -> Fraction:
    """max Σ Δ² · precision over neighbouring tables, or a bound above it."""
    added = sum(rounded(sensitivity(sizes, reach, m, "add-remove"), p) for m, p in precisions.items())
    if neighbours == "add-remove":
        return Fraction(added, UNIT)
    changed = largest_change(sizes, reach, precisions, version)
    return max(Fraction(added, UNIT), changed) if ROWS in precisions else changed


def largest_change(
    sizes: list[int], reach: Lengths, precisions: dict[Measured, Fraction], version: int = VERSION
) -> Fraction:
    """The maximum, or a bound above it, where a row is replaced by another one."""
    known = {(t, n): p for (t, n, kind), p in precisions.items() if (n is not None or t) and kind != LADDER}
    numbers = {n: reach[n][0] for _, n in known if n is not None}
    once = 4 if version == 1 else 2
    loss = sum(rounded(once * numbers[n] * inner(sizes, t), p) for (t, n), p in known.items() if n is not None)
    loss += sum(rounded(2, p) for (_, _, kind), p in precisions.items() if kind == LADDER)
    if version == 1:
        known, numbers = {one: p for one, p in known.items() if one[1] is None}, {}
    columns = tuple(sorted({i for table, _ in known for i in table}))
    counts = {t: p for (t, n), p in known.items() if n is None}
    sums = [(2 * square, {t: p for (t, other), p in known.items() if other == n}) for n, square in numbers.items()]
    groups, steps = [[i] for i in columns], [1] * len(columns)
    if len(columns) > ENUMERATED:
        few = sum(1 << len(table) for table, _ in known) <= STATES
        most = few * STATES // (len(sums) + bool(counts)) if version > 2 else LOOKED_AT // len(known)
        groups = alike(sizes, known, columns, most)
        # Where no table has two of the columns that are alike, all or none of them is the worst: with the others fixed
        # each table is linear in how many differ, and |Σ c| is convex. Else it matters on how many the rows differ.
        paired = [any(len({*t} & {*same}) > 1 for t, _ in known) for same in groups]
        steps = [len(same) if both or version < 3 else 1 for same, both in zip(groups, paired, strict=True)]
        if prod(step + 1 for step in steps) > most:
            return Fraction(loss, UNIT) + bounded_loss(sizes, numbers, known, columns)
    found = losses(sizes, counts, groups, steps, (2, -2))
    for double, tables in sums:
        moved = losses(sizes, tables, groups, steps, (0, double))
        found = [here + beyond(x, tables) for here, x in zip(found, moved, strict=True)]
    return Fraction(loss + max(found), UNIT)


def beyond(moved: int, tables: dict[Table, Fraction]) -> int:
    """A bound of the absolute value of a sum with a term for each table, none of which is a unit too large."""
    return max(moved, len(tables) - moved)


def losses(
    sizes: list[int], precisions: dict[Table, Fraction], groups: list[list[int]], steps: list[int], factors: Table
) -> list[int]:
    """What tables lose for every set S of columns that the rows may differ on: so many times Π k(k − 1), and c.

    Of a group the first columns differ, as many as it has steps, or all of them with one step. What a table loses is a
    sum over sets of its columns of a part that counts where these all differ: it is put where they first do, and then
    all is added up along every group.
    """
    strides = [prod(step + 1 for step in steps[:n]) for n in range(len(steps) + 1)]
    first = {i: (n, place + 1 if steps[n] > 1 else 1) for n, same in enumerate(groups) for place, i in enumerate(same)}
    found, known = [0] * strides[-1], dict[tuple[Table, Fraction], list[int]]()
    for table, precision in precisions.items():
        own, places, (group, before) = sorted(table, key=first.__getitem__), [0], (-1, [0])
        alike = tuple(sizes[i] for i in own), precision
        if alike not in known:
            known[alike] = parts_lost(*alike, factors)
        for i in own:
            n, here = first[i]
            if n != group:
                group, before = n, places
            # Of several of a group that differ the last one counts: where the others are does not matter.
            places = places + [place + strides[n] * here for place in before] * (len(places) // len(before))
        for place, value in zip(places, known[alike], strict=True):
            found[place] += value
    for stride, step in zip(strides, steps, strict=False):
        for start in range(0, len(found), stride * (step + 1)):
            for at in range(start + stride, start + stride * (step + 1), stride):
                before = found[at - stride : at]
                found[at : at + stride] = [x + y for x, y in zip(before, found[at : at + stride], strict=True)]
    return found


def parts_lost(sizes: Table, precision: Fraction, factors: Table) -> list[int]:
    """For every set of a table's columns, by the bits of its place, the part that counts where all of them differ."""
    products = [1]  # of k(k − 1) for each column that is the same, and of −k for each that differs
    for k in sizes:
        products = [k * (k - 1) * c for c in products] + [-k * c for c in products]
    part = [rounded(factors[0] * products[0] + factors[1] * c, precision) for c in products]
    for bit in (1 << n for n in range(len(sizes))):
        part = [value - part[place ^ bit] if place & bit else value for place, value in enumerate(part)]
    return part


def alike(
    sizes: list[int], known: dict[tuple[Table, int | None], Fraction], columns: Table, most: int
) -> list[list[int]]:
    """The columns in groups within which any two can be exchanged, and every table has its precision still."""
    around: dict[int, dict[tuple[Table, int | None], Fraction]] = {i: {} for i in columns}
    for (table, number), precision in known.items():
        for i in table:
            around[i][table, number] = precision

    def same(i: int, j: int) -> bool:
        swap, here = {i: j, j: i}, around[i]
        if sizes[i] != sizes[j] or len(here) != len(around[j]):
            return False
        return all(here.get((tuple(sorted(swap.get(c, c) for c in t)), n)) == p for (t, n), p in around[j].items())

    groups: list[list[int]] = []
    for i in columns:
        if 1 << len(groups) > most:  # too many sets to look at
            return [[i] for i in columns]
        group = next((group for group in groups if same(i, group[0])), None)
        if group is None:
            groups.append(group := [])
        group.append(i)
    return groups


def bounded_loss(
    sizes: list[int], numbers: dict[int, int], known: dict[tuple[Table, int | None], Fraction], columns: Table
) -> Fraction:
    """A bound for many columns: x_i says whether the rows differ on column i.

    With w = precision · Π k² the loss of tables of one and two columns is 2 Σ x_i L_i − 2 Σ x_i x_j w_ij, where
    L_i = w_i + Σ_j (1 − 1/k_j) w_ij, and −x_i x_j is at most 1 − x_i − x_j and at most 0. A larger table loses at most
    2 w Π (1 − 1/k) over all its columns but the smallest. Of sums the part 2L|c| is 2LN at most, and by one column
    2LN − 2Lk(k − 2)x.
    """
    linear: dict[int, list[Fraction]] = {i: [] for i in columns}
    paired: dict[int, list[Fraction]] = {i: [] for i in columns}
    pairs, rest = list[Fraction](), list[Fraction]()
    for (table, number), precision in known.items():
        if number is not None:
            rest.append(2 * numbers[number] * inner(sizes, table) * precision)
            for i in table if len(table) == 1 else ():
                linear[i].append(-numbers[number] * sizes[i] * (sizes[i] - 2) * precision)
            continue
        weight, least = precision * prod(sizes[i] for i in table) ** 2, min(table, key=lambda i: sizes[i])
        if len(table) > 2:
            rest.append(2 * weight * prod(1 - Fraction(1, sizes[i]) for i in table if i != least))
            continue
        for i in table:
            linear[i].append(weight * prod((1 - Fraction(1, sizes[j]) for j in table if j != i), start=Fraction(1)))
        if len(table) == 2:
            pairs.append(weight)
            for i in table:
                paired[i].append(weight)
    alone = {i: total(values) for i, values in linear.items()}
    slack = [max(Fraction(0), value - total(paired[i])) for i, value in alone.items()]
    with_pairs = total([*pairs, *slack])
    some = total(max(Fraction(0), value) for value in alone.values())
    return Fraction(rounded(total(rest) + 2 * min(with_pairs, some)), UNIT)


def root_above(x: Fraction) -> Fraction:
    """A fraction at least √x."""
    return Fraction(isqrt((x.numerator << 256) // x.denominator) + 1, 1 << 128)


def delta(loss: Fraction, numbers: int, epsilon: Fraction) -> Fraction:
    """A bound of δ at ε, where `loss` is μ², with so many noisy numbers."""
    epsilon = min(epsilon, LARGEST)
    slack = 2 * numbers * RIPPLE
    profile = reading.normal_profile(root_above(loss), epsilon - 2 * slack)
    cut = 4 * numbers * (1 + reading.exp_below(epsilon)) * CUT
    return (profile * reading.exp_below(slack) + cut) * (1 + Fraction(1, 1 << 200)) + Fraction(1, 1 << 200)


def check_measurements(parsed: dict[str, Any]) -> None:
    """The measurements must be tables of the columns, each once, with the noise of one kind."""
    sizes, reach = [column["values"] for column in parsed["columns"]], [lengths(column) for column in parsed["columns"]]
    measured: dict[Measured, dict[str, Any]] = {}
    for measurement in parsed["measurements"]:
        table, number = tuple(measurement["columns"]), measurement["sum_of"]
        one = (table, number, LADDER if "ladder" in measurement else int(measurement.get("contrast", False)))
        known = all(i < len(sizes) for i in table) and list(table) == sorted(set(table))
        summed = number is None or (number < len(sizes) and reach[number][0] > 0)
        if summed and number is not None and number in table:
            summed = "within_bins" in parsed["columns"][number]
        new = known and summed and one not in measured and measurement["noise"] < len(parsed["noises"])
        require(new, "a measurement names unknown columns or noise, or is listed twice")
        if "contrast" in measurement:
            pairs = one[2] == CONTRAST and not parsed["delta"] and number is None and all(sizes[i] == 2 for i in table)
            require(pairs, "a contrast must have columns of two values each, and Laplace noise")
        if "ladder" in measurement:
            alone = measurement["ladder"] and number is None and len(table) == 1 and parsed["version"] > 1
            fits = alone and "contrast" not in measurement and "ladder" in parsed["columns"][table[0]]
            require(fits, "a ladder is of one number, whose column says how many parts it has")
        require("parts" not in measurement or parsed["delta"], "Laplace noise is drawn in whole numbers")
        measured[one] = parsed["noises"][measurement["noise"]]
    stated = dict(zip(measured, (m["sensitivity"] for m in parsed["measurements"]), strict=True))
    fits = all((noise["kind"] == "gaussian") == (parsed["delta"] > 0) for noise in parsed["noises"])
    require(fits, "the noise does not fit delta")
    (check_gaussian if parsed["delta"] else check_laplace)(parsed, sizes, reach, measured, stated)


def check_laplace(parsed: dict[str, Any], sizes: list[int], reach: Lengths, measured: Any, stated: Any) -> None:
    """The steps that a person moves all tables by, each at what it costs, must not cost more than ε."""
    once, costs = 1 if parsed["neighbours"] == "add-remove" else 2, dict[Measured, Fraction]()
    checked = set[tuple[int, int | None]]()
    for one, noise in measured.items():
        column = {} if one[1] is None else parsed["columns"][one[1]]
        steps = 1 if one[1] is None or noise["kind"] == "k-norm" else reach[one[1]][1]
        require(stated[one] == once * steps, "a measurement has another sensitivity than its columns give")
        kind = id(noise), one[1] if noise["kind"] == "k-norm" else None
        bounded = kind in checked or step_odds(noise, column.get("curves")) <= reading.exp_below(noise["epsilon"])
        require(bounded, "a step of the noise costs more than the certificate says")
        checked.add(kind)
        costs[one] = steps * noise["epsilon"]
    spent = parsed["rows_per_person"] * largest_cost(sizes, costs, parsed["neighbours"], parsed["version"])
    require(spent <= parsed["epsilon"], f"epsilon is larger than the promised {parsed['epsilon']}")
    require(parsed["rho"] is None, "rho goes with Gaussian noise alone")
    require(not parsed["tight"]["delta"], "delta must be 0 with Laplace noise")


def step_odds(noise: dict[str, Any], region: dict[str, Any] | None) -> Fraction:
    """The largest odds of a step of Laplace noise; of K-norm noise, of a curve that comes or goes.

    K-norm noise, P(z) ∝ c^⌈‖z‖/s⌉, costs odds of c^−⌈S/s⌉ for a move within the norm S, and two of them where a curve
    is replaced: so S is a whole number of cells s.
    """
    if noise["kind"] == "two-sided":
        require(noise["reach"] is None, "the noise must not be cut off")
        return Fraction(reading.step_odds(noise))
    require(region is not None and noise["terms"] == region["terms"], "K-norm noise is for curves alone")
    assert region is not None
    norm = "l2" if region["box"] is None else "linf"
    fits = noise["norm"] == norm and (norm == "linf" or region["terms"] <= 10) and REACH % int(noise["cell"]) == 0
    require(fits, "the noise does not fit the norm of the curves")
    return Fraction(reading.power(1 / noise["fall"], REACH // int(noise["cell"]), 1))


def largest_cost(
    sizes: list[int], costs: dict[Measured, Fraction], neighbours: str, version: int = VERSION
) -> Fraction:
    """The ε of a row, of which each measurement costs so much where the row comes or goes."""
    added = total(costs.values())
    if neighbours == "add-remove":
        return added
    plain = total(2 * cost for (_, _, kind), cost in costs.items() if kind != CONTRAST)
    # With k = 2 the squared length of a change is 2^(|A|+2) where the rows differ on an odd number of columns, else 0.
    contrasts = {(t, None, PLAIN): c / 2 ** (len(t) + 1) for (t, _, kind), c in costs.items() if kind == CONTRAST and t}
    largest = max(contrasts.values(), default=Fraction(1))
    changed = plain + largest * largest_change(sizes, [], {m: c / largest for m, c in contrasts.items()}, version)
    return max(added, changed) if ((), None, CONTRAST) in costs else changed


def check_gaussian(parsed: dict[str, Any], sizes: list[int], reach: Lengths, measured: Any, stated: Any) -> None:
    """The sensitivities, ρ and δ that the certificate states must be no less than what follows from the noise."""
    squares: dict[Measured, Fraction] = {}
    parts_of = dict(zip(measured, (m.get("parts", 1) for m in parsed["measurements"]), strict=True))
    neighbours, persons = parsed["neighbours"], parsed["rows_per_person"] ** 2
    for measurement, noise in measured.items():
        require(all(sizes[i] > 1 for i in measurement[0]), "a measurement has a column with one value, so no residual")
        require(
            stated[measurement] == sensitivity(sizes, reach, measurement, neighbours) * parts_of[measurement] ** 2,
            "a measurement has another sensitivity than its columns give",
        )
        require(noise["draws"] > 1 or noise["step"] == 1, "a single draw of noise must have the step 1")
        squares[measurement] = reading.summed_variance(noise) / parts_of[measurement] ** 2
    require((ROWS in squares) == (parsed["release"]["rows"] is None), "the number of rows must be measured or public")
    version = parsed["version"]
    loss = largest_loss(sizes, reach, {m: 1 / s for m, s in squares.items()}, neighbours, version) * persons
    require(parsed["rho"] is not None and loss / 2 <= parsed["rho"], "rho is larger than the certificate says")
    require(loss / 2 == parsed["rho"], "rho is smaller than the certificate says")
    narrow = {m: 1 / (s - Fraction(SMOOTH, parts_of[m] ** 2)) for m, s in squares.items()}
    smooth = largest_loss(sizes, reach, narrow, neighbours, version)
    fine = {((i,), None, LADDER): column.get("ladder", 0) for i, column in enumerate(parsed["columns"])}
    numbers = sum(
        fine[m] if m in fine else prod(sizes[i] for i in m[0]) * (1 if m[1] is None else reach[m[1]][2])
        for m in squares
    )
    bound = delta(smooth * persons, numbers, parsed["epsilon"]) if squares else Fraction(0)
    require(bound <= parsed["delta"], f"delta is larger than the promised {parsed['delta']}")
    require(bound <= parsed["tight"]["delta"] * (1 + Fraction(1, 1 << 60)), "delta is larger than the certificate says")
    require(parsed["tight"]["delta"] <= bound * (1 + TIGHT), "delta is smaller than the certificate says")


def verify(certificate: dict[str, Any], folder: Path | None = None) -> list[str]:
    """Raise Refused unless the whole certificate holds; returns the files in the folder that are not checked."""
    parsed = reading.opened(certificate, FORMAT, VERSION, CERTIFICATE)
    public, alone = parsed["release"]["rows"] is not None, parsed["rows_per_person"] == 1
    fits = (parsed["neighbours"] == "change-one" and alone) if public else True
    require(fits, "the number of rows is public only under change-one, with one row for each person")
    for column in (column for column in parsed["columns"] if "within_bins" in column):
        fits = column["within_bins"] and column["reach"] > 0 and parsed["version"] > 1
        require(fits, "only numbers are added up within bins, and in version 1 none")
    check_measurements(parsed)
    unread = []
    if folder is not None:
        unread = reading.check_files(parsed["release"], folder, STORED)
        check_plan(parsed, reading.plan_in(folder))
    used = list(dict.fromkeys(measurement["noise"] for measurement in parsed["measurements"]))
    distinct = all(noise not in parsed["noises"][:n] for n, noise in enumerate(parsed["noises"]))
    require(
        used == list(range(len(parsed["noises"]))) and distinct,
        "the noises must be listed once each, in the order of their use",
    )
    return unread


# Whether the certificate is one of the plan beside it: the same promise, columns and tables.


def parts(table: Table) -> list[Table]:
    """All sets of these columns."""
    return [part for n in range(len(table) + 1) for part in combinations(table, n)]


def check_plan(parsed: dict[str, Any], plan: dict[str, Any]) -> None:
    """The plan must make the promise that the certificate makes, for the same columns and tables; δ may be less."""
    promise, columns, release = plan["privacy"], plan["columns"], plan.get("release", {})
    reading.check_promise(parsed, plan if parsed["delta"] else {"privacy": {**promise, "delta": 0}})
    same = promise.get("rows_per_person", 1) == parsed["rows_per_person"] and promise.get("model") == "central"
    require(same, "the certificate promises something else than the plan")
    within = {c["name"] for c in parsed["columns"] if "within_bins" in c}
    axes = {name: axes_of(name, c, name in within) for name, c in columns.items() if not c.get("drop")}
    check_columns(parsed["columns"], columns, [axis for own in axes.values() for axis in own])
    made_up = parsed["release"]["made_up_rows"] is not None
    require(made_up == release.get("rows", False), "the certificate and the plan disagree on synthetic rows")
    public = parsed["neighbours"] == "change-one" and parsed["rows_per_person"] == 1 and "person" not in promise
    require(
        (parsed["release"]["rows"] is not None) == public,
        "the certificate and the plan disagree on whether the number of rows is public",
    )
    if "questions" in plan and "tables" not in release:
        return  # which tables these need is a matter of SQL
    narrow = {name for name in axes if parsed["version"] > 1 and is_narrow(columns[name])}
    require(narrow == within, "numbers are added up about another middle than the plan determines")
    wanted = measured_by(parsed, columns, release, tables_of(parsed["version"], columns, release, axes))
    kinds = [LADDER if "ladder" in m else int("contrast" in m) for m in parsed["measurements"]]
    measured = {(tuple(m["columns"]), m["sum_of"], k) for m, k in zip(parsed["measurements"], kinds, strict=True)}
    if "questions" in plan:  # these may need more, which is a matter of SQL; a larger table tells a smaller one
        kept = (any(table[1:] == m[1:] and {*table[0]} <= {*m[0]} for m in measured) for table in wanted)
        require(all(kept), "the certificate lacks tables of the plan")
        return
    require(measured == wanted, "the certificate has other tables than the plan")


def check_columns(recorded: list[dict[str, Any]], columns: dict[str, Any], axes: list[Axis]) -> None:
    """The certificate must have the columns that those of the plan are counted by, in its order."""
    names = [name for name, *_ in axes]
    require(names == [c["name"] for c in recorded], "the certificate has other columns than the plan")
    for column, (name, values, reach) in zip(recorded, axes, strict=True):
        require(values in (None, column["values"]), f"{name!r} has another number of values than in the plan")
        require(reach == column["reach"], f"the sums of {name!r} have another reach than in the plan")
        check_curves(columns.get(name, {}), column.get("curves"))
        ladder = column.get("ladder")
        require(ladder in (None, ladder_of(columns.get(name, {}))), f"{name!r} has another ladder than in the plan")


def tables_of(
    version: int, columns: dict[str, Any], release: dict[str, Any], axes: dict[str, list[Axis]]
) -> list[Table]:
    """The tables that a plan lists, or all of so many columns: of items of one set only up to version 2 together."""
    counted, given = [axis for own in axes.values() for axis in own], release.get("tables", 2)
    places = {name: [counted.index(axis) for axis in own] for name, own in axes.items()}
    if not isinstance(given, int):  # a set stands for each of its items
        listed = (product(*(places[name] for name in table["columns"])) for table in given)
        return [tuple(sorted(table)) for some in listed for table in some]
    sizes = range(1, min(given, len(counted)) + 1)
    tables = [part for n in sizes for part in combinations(range(len(counted)), n)]
    if version < 3 or release.get("item_pairs", False):
        return tables
    sets = [
        [*some][: -1 if columns[c].get("missing") == "category" else None]
        for c, some in places.items()
        if columns[c]["space"] == "subsets"
    ]
    return [table for table in tables if all(len({*table} & {*some}) < 2 for some in sets)]


def measured_by(
    parsed: dict[str, Any], columns: dict[str, Any], release: dict[str, Any], tables: list[Table]
) -> set[Measured]:
    """All that must be measured for these tables of counts: with sums of curves and numbers by them, and ladders."""
    recorded, sums = list(enumerate(parsed["columns"])), release.get("sums", False)
    numbers = [n for n, c in recorded if "curves" in c or (c["reach"] and sums)]
    alone = [n for n in numbers if (n,) in tables]
    told = [n for n, c in recorded if parsed["version"] > 1 and c["reach"] and c["values"] > 1 and n in alone]
    fine = {n for n in told if ladder_of(columns[parsed["columns"][n]["name"]])}
    require(fine == {n for n, c in recorded if "ladder" in c}, "the plan has other ladders")
    wanted = set(wanted_of(parsed, tables, None)) | {((n,), None, LADDER) for n in fine}
    for number in numbers:
        by = [tuple(i for i in table if i != number) for table in tables if number in table]
        if "within_bins" in parsed["columns"][number] and number in alone:
            by.append((number,))  # and by its own bins
        wanted |= set(wanted_of(parsed, by, number))
    return wanted


def check_curves(column: dict[str, Any], region: dict[str, Any] | None) -> None:
    """Curves, and nothing else, must have a region: of as many terms as the plan allows, and a box where it has one.

    Measured are the values on the grid, or a basis of so many terms as the plan says, or 8; of a kernel 4 to 32.
    """
    require((column.get("space") == "curves") == (region is not None), "the certificate has other curves than the plan")
    if region is None:
        return
    grid = column.get("grid", column.get("columns"))
    points = column["points"] if grid is None else len(grid)
    some = {4, 8, 16, 32} if "kernel" in column else {min(8, points)}
    allowed = {points, *([column["terms"]] if "terms" in column else some)}
    require(region["terms"] in allowed, "the curves have another number of terms than in the plan")
    # Coefficients lie in a box that is declared, values on the grid in a cube, and everything else in a ball.
    cube = ("radius" not in column or "kernel" in column) and region["box"] == [REACH] * points
    fits = region["box"] is not None if "box" in column else region["box"] is None or cube
    require(fits, "the curves have another region than in the plan")


def wanted_of(parsed: dict[str, Any], tables: list[Table], number: int | None) -> list[Measured]:
    """The measurements that are needed for some tables of counts, or of the sums of the column `number`."""
    several = {i for i, column in enumerate(parsed["columns"]) if column["values"] > 1}
    asked = [tuple(i for i in table if i in several) for table in tables]
    contrasts = number is None and any("contrast" in measurement for measurement in parsed["measurements"])
    if parsed["delta"]:
        wanted = {(part, number, PLAIN) for table in asked for part in parts(table)}
    else:
        largest = {table for table in asked if not any(set(table) < set(other) for other in asked)}
        pairs = {t for t in largest if contrasts and t and all(parsed["columns"][i]["values"] == 2 for i in t)}
        wanted = {(table, number, PLAIN) for table in largest - pairs}
        wanted |= {(part, None, CONTRAST) for table in pairs for part in parts(table)}
    public = number is None and parsed["release"]["rows"] is not None
    return [one for one in wanted if one[0] or not public]


def axes_of(name: str, column: dict[str, Any], within: bool = False) -> list[Axis]:
    """The names under which a column is counted, how many values each has, None where its bins follow from a rule, and
    how many steps a number that is added up lies from the middle at most, 0 where none is.

    A set is counted by its items, and by whether it is missing; curves by whether they are there.
    """
    absent = column.get("missing") == "category"
    if column["space"] == "curves":
        return [(name, 1 + absent, 0)]
    if column["space"] == "subsets":
        items = [*(column["values"] if "values" in column else column["columns"]), *["(missing)"] * absent]
        return [(f"{name}: {item}", 2, 0) for item in items]
    if column["space"] in ("interval", "date", "time"):
        values = reading.bins(column) + absent if "bins" in column else None
        return [(name, values, reach_of(column, absent, within) if column["space"] == "interval" else 0)]
    return [(name, reading.declared(column, {}) if column["space"] == "categories" else None, 0)]


def reach_of(column: dict[str, Any], absent: bool, within: bool) -> int:
    """The most steps that a number of a column lies from the middle; half steps, where no number is in the middle.

    Where each number is a bin by itself its sum follows from the counts, and nothing is added up. A missing number
    stands for one near the middle. Within bins, in half steps, it is the number of values of the widest bin less one.
    """
    points = reading.points(column)
    alone = reading.bins(column) == points if "bins" in column else points <= SINGLE
    longest = points - 1
    if within and not alone:
        return max(bin_sizes(column, points)) - 1
    return 0 if alone else longest - longest // 2 if absent or longest % 2 == 0 else longest


def is_narrow(column: dict[str, Any]) -> bool:
    """Whether numbers are counted in bins none of which has more than two thirds of them."""
    if column["space"] != "interval" or not reach_of(column, False, False):
        return False
    points = reading.points(column)
    return 3 * max(bin_sizes(column, points)) <= 2 * points


def ladder_of(column: dict[str, Any]) -> int | None:
    """How many parts of bins a number has on its ladder, about a hundred; None where it has none."""
    if column.get("space") != "interval" or not reach_of(column, False, False):
        return None
    sizes = bin_sizes(column, reading.points(column))
    most = max(1, round(PARTS / len(sizes)))
    return sum(min(most, size) for size in sizes) + (column.get("missing") == "category") if most > 1 else None


def bin_sizes(column: dict[str, Any], points: int) -> list[int]:
    """The number of values of each bin."""
    low, high = reading.number(column["low"]), reading.number(column["high"])
    starts = [-int((low - edge) * (points - 1) // (high - low)) for edge in edges_of(column, low, high)[:-1]]
    return [stop - start for start, stop in zip(starts, [*starts[1:], points], strict=True)]


def edges_of(column: dict[str, Any], low: Fraction, high: Fraction) -> list[Fraction]:
    """The edges of the bins of a number: as the plan lists them, else multiples of 1, 2 or 5 times a power of ten, the
    least that is a twelfth of the range or more."""
    if "bins" in column:
        return [reading.number(edge) for edge in column["bins"]]
    least, power = (high - low) / SINGLE, Fraction(1)
    while power > least:
        power /= 10
    while 10 * power <= least:
        power *= 10
    width = next(n * power for n in (1, 2, 5, 10) if n * power >= least)
    return [low, *(width * n for n in range(low // width + 1, -(-high // width))), high]


def main(arguments: list[str]) -> int:
    return int(reading.main(arguments, __doc__, verify, lambda found: f"{len(found['measurements'])} measurement(s)"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
