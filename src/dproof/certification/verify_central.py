"""Check the certificate of a release of the central model with nothing but the Python standard library.

    python verify_central.py certificate.json

`verify_certificate.py` must lie beside this file: it reads numbers and files, and has the normal law.

Tables of counts were measured: for a set A of columns with k values each, Y_A v_A, where v_A is the table of counts and
Y_A = ⊗ (k I − 11ᵀ), with independent discrete Gaussian noise with parameter γ² on each of the Π k numbers. This program
computes how far one person can move these numbers, and bounds δ at the promised ε from above. Exit code 0: all of it
holds. 1: something does not.

What one row adds to Y_A v_A has the squared length Π k(k − 1). What the change of a row adds has, where the two rows
differ on the columns S, 2 Π k(k − 1) − 2 Π_{A∖S} k(k − 1) Π_{A∩S} (−k). A person with r rows moves all of it r times as
far at most.

Discrete Gaussian noise N_Z(0, γ²) is, within a factor e^(±κ) at each point, what becomes of normal noise of variance
γ² − τ² when a point c of that is replaced by a draw of N_Z(c, τ²), with κ < 2^-104 at τ = 2. So with N numbers in all
δ is at most e^(Nκ) δ_G(μ, ε − 2Nκ), where δ_G is the profile of two normal laws that lie μ apart and
μ² = max_S Σ_A Δ²_A(S)/(γ_A² − τ²); and what the tables of the noise cut off, 2^-64 for each number, is charged in full.

Not checked here, but by `dproof verify`: what the stored files hold, and how many bins a number or a date has where the
plan does not list them. Checked by neither: the files that are named as not checked, such as report.html.
"""

from __future__ import annotations

import sys
import tomllib
from fractions import Fraction
from itertools import combinations
from math import isqrt, prod
from pathlib import Path
from typing import Any

if __package__:
    from dproof.certification import verify_certificate as reading
else:  # run as a program
    import verify_certificate as reading  # type: ignore[import-not-found,no-redef]

FORMAT, VERSION = "dproof central certificate", 1
STORED = r"tables\.parquet|rows\.parquet"
ENUMERATED = 12  # columns of which every set that two rows may differ on is looked at
UNIT = 1 << 64  # losses are added up in parts of it, rounded up
SMOOTH, RIPPLE, CUT, LARGEST, LEAST = 4, Fraction(1, 1 << 104), Fraction(1, 1 << 64), Fraction(16), 25

require = reading.require
Table = tuple[int, ...]

NOISE = reading.record(
    {
        "square": reading.fraction(LEAST, 1 << 30),
        "step": reading.whole(1, 128),
        "draws": reading.whole(1, 9),
    }
)
MEASUREMENT = reading.record(
    {
        "columns": reading.many(reading.whole(0, 1 << 16), 0, 62),
        "sensitivity": reading.digits(1, 10**400),
        "noise": NOISE,
    }
)
COLUMN = reading.record({"name": reading.text, "values": reading.whole(1, 1 << 24)})
CERTIFICATE = reading.record(
    {
        "format": reading.one_of(FORMAT),
        "version": reading.whole(VERSION, VERSION),
        "private": reading.truth,
        "neighbours": reading.one_of("change-one", "add-remove"),
        "epsilon": reading.EPSILON,
        "delta": reading.DELTA,
        "rows_per_person": reading.whole(1, reading.SIZE),
        "columns": reading.many(
            reading.record({"name": reading.text, "values": reading.whole(1, 1 << 24)}), 1, 1 << 16
        ),
        "measurements": reading.many(MEASUREMENT, 0, 1 << 16),
        "rho": reading.fraction(0, None),
        "tight": reading.record({"delta": reading.decimal(1)}),
        "release": reading.record(
            {
                "rows": reading.missing_or(reading.whole(0, reading.SIZE)),
                "made_up_rows": reading.missing_or(reading.whole(0, reading.SIZE)),
                "files": reading.named(reading.text),
            }
        ),
        "seal": reading.text,
    }
)


def norm(sizes: list[int], table: Table) -> int:
    """The squared length of what one row adds."""
    return prod(sizes[i] * (sizes[i] - 1) for i in table)


def change(sizes: list[int], table: Table, apart: Table) -> int:
    """The squared length of what the change of a row adds that differs on these columns."""
    inner = prod(-sizes[i] if i in apart else sizes[i] * (sizes[i] - 1) for i in table)
    return 2 * norm(sizes, table) - 2 * inner


def parts(table: Table) -> list[Table]:
    """All sets of these columns."""
    return [part for n in range(len(table) + 1) for part in combinations(table, n)]


def sensitivity(sizes: list[int], table: Table, neighbours: str) -> int:
    if neighbours == "add-remove":
        return norm(sizes, table)
    return max(change(sizes, table, apart) for apart in parts(table))


def rounded(loss: Fraction) -> int:
    return -(-loss * UNIT // 1)


def largest_loss(sizes: list[int], precisions: dict[Table, Fraction], neighbours: str) -> Fraction:
    """max Σ Δ² · precision over neighbouring tables, or a bound above it."""
    if neighbours == "add-remove":
        return Fraction(sum(rounded(norm(sizes, table) * p) for table, p in precisions.items()), UNIT)
    columns = tuple(sorted({i for table in precisions for i in table}))
    if len(columns) > ENUMERATED:
        return bounded_loss(sizes, precisions, columns)
    losses = {t: {a: rounded(change(sizes, t, a) * p) for a in parts(t)} for t, p in precisions.items()}
    sets = map(set, parts(columns))
    return Fraction(max(sum(own[tuple(i for i in t if i in s)] for t, own in losses.items()) for s in sets), UNIT)


def bounded_loss(sizes: list[int], precisions: dict[Table, Fraction], columns: Table) -> Fraction:
    """A bound for many columns: x_i says whether the rows differ on column i.

    With w = precision · Π k² the loss of tables of one and two columns is 2 Σ x_i L_i − 2 Σ x_i x_j w_ij, where
    L_i = w_i + Σ_j (1 − 1/k_j) w_ij, and −x_i x_j is at most 1 − x_i − x_j and at most 0. A larger table loses at most
    2 w Π (1 − 1/k) over all its columns but the smallest.
    """
    linear, pairs, rest = dict.fromkeys(columns, Fraction(0)), dict[Table, Fraction](), Fraction(0)
    for table, precision in precisions.items():
        weight = precision * prod(sizes[i] for i in table) ** 2
        if len(table) <= 2:
            for i in table:
                linear[i] += weight * prod((1 - Fraction(1, sizes[j]) for j in table if j != i), start=Fraction(1))
            pairs |= {table: weight} if len(table) == 2 else {}
        else:
            least = min(table, key=lambda i: sizes[i])
            rest += 2 * weight * prod((1 - Fraction(1, sizes[i]) for i in table if i != least), start=Fraction(1))
    slack = {i: value - sum(w for pair, w in pairs.items() if i in pair) for i, value in linear.items()}
    with_pairs = sum(pairs.values()) + sum(max(Fraction(0), value) for value in slack.values())
    return Fraction(rounded(rest + 2 * min(with_pairs, sum(linear.values(), Fraction(0)))), UNIT)


def root_above(x: Fraction) -> Fraction:
    """A fraction at least √x."""
    return Fraction(isqrt((x.numerator << 256) // x.denominator) + 1, 1 << 128)


def delta(loss: Fraction, numbers: int, epsilon: Fraction) -> Fraction:
    """A bound of δ at ε, where `loss` is μ², with so many noisy numbers."""
    epsilon = min(epsilon, LARGEST)
    slack = 2 * numbers * RIPPLE
    mu, eps = root_above(loss), epsilon - 2 * slack
    odds = reading.exp_below(eps) if eps >= 0 else 1 + eps  # at most e^eps
    profile = reading.normal_below(mu / 2 - eps / mu) - odds * reading.normal_below(-mu / 2 - eps / mu)
    cut = 4 * numbers * (1 + reading.exp_below(epsilon)) * CUT
    return (profile * reading.exp_below(slack) + cut) * (1 + Fraction(1, 1 << 200)) + Fraction(1, 1 << 200)


def check_measurements(found: dict[str, Any]) -> None:
    """The sensitivities, ρ and δ that the certificate states must be no less than what follows from the noise."""
    sizes = [column["values"] for column in found["columns"]]
    squares: dict[Table, Fraction] = {}
    for measurement in found["measurements"]:
        table, noise = tuple(measurement["columns"]), measurement["noise"]
        known = all(i < len(sizes) and sizes[i] > 1 for i in table) and list(table) == sorted(set(table))
        require(known and table not in squares, "a measurement is of no table of the columns, or of one that is there")
        told = sensitivity(sizes, table, found["neighbours"])
        require(measurement["sensitivity"] == told, "a measurement has another sensitivity")
        step, draws = noise["step"], noise["draws"]
        wide = (step, draws) == (1, 1) or noise["square"] >= 4 * (step**2 + 1)
        require(wide, "the tables of noise are too narrow")
        squares[table] = noise["square"] * sum(step ** (2 * n) for n in range(draws))
    counted = () not in squares if found["neighbours"] == "change-one" else () in squares
    require(counted, "under add-remove the number of rows must be measured, and under change-one it is public")
    persons = found["rows_per_person"] ** 2
    require(persons == 1 or found["neighbours"] == "add-remove", "several rows of a person need add-remove")
    loss = largest_loss(sizes, {t: 1 / square for t, square in squares.items()}, found["neighbours"]) * persons
    require(loss / 2 <= found["rho"], "rho is larger than it says")
    smooth = largest_loss(sizes, {t: 1 / (square - SMOOTH) for t, square in squares.items()}, found["neighbours"])
    numbers = sum(prod(sizes[i] for i in table) for table in squares)
    bound = delta(smooth * persons, numbers, found["epsilon"]) if squares else Fraction(0)
    require(bound <= found["delta"], f"delta is larger than the promised {found['delta']}")
    require(bound <= found["tight"]["delta"] * (1 + Fraction(1, 1 << 60)), "delta is larger than it says")


def check_plan(found: dict[str, Any], plan: dict[str, Any]) -> None:
    """The plan must make the promise that the certificate makes, for the same columns and tables."""
    promise, columns, release = plan["privacy"], plan["columns"], plan.get("release", {})
    said = (
        reading.number(promise["epsilon"]),
        reading.number(promise.get("delta", 0)),
        promise.get("neighbours", "change-one"),
        promise.get("rows_per_person", 1),
    )
    same = said == tuple(found[key] for key in ("epsilon", "delta", "neighbours", "rows_per_person"))
    require(same and promise.get("model") == "central", "the certificate promises something else than the plan")
    counted = [name for name, column in columns.items() if not column.get("drop")]
    require(counted == [column["name"] for column in found["columns"]], "the certificate has other columns")
    for column in found["columns"]:
        values = declared(columns[column["name"]])
        require(values in (None, column["values"]), f"{column['name']!r} has another number of values in the plan")
    given = release.get("tables", 2)
    places = {name: n for n, name in enumerate(counted)}
    if isinstance(given, int):
        tables = [part for n in range(1, min(given, len(counted)) + 1) for part in combinations(range(len(counted)), n)]
    else:
        tables = [tuple(sorted(places[name] for name in table["columns"])) for table in given]
    several = {i for i, column in enumerate(found["columns"]) if column["values"] > 1}
    wanted = {part for table in tables for part in parts(table) if several.issuperset(part)}
    wanted -= {()} if found["neighbours"] == "change-one" else set()
    measured = {tuple(measurement["columns"]) for measurement in found["measurements"]}
    require(measured == wanted, "the certificate has other tables than the plan")
    made_up = found["release"]["made_up_rows"] is not None
    require(made_up == release.get("rows", False), "the certificate and the plan disagree on made-up rows")


def declared(column: dict[str, Any]) -> int | None:
    """How many values a column has in a table of counts; None where its bins follow from a rule."""
    if column["space"] not in ("interval", "date"):
        return reading.declared(column, {}) if column["space"] == "categories" else None
    absent = int(column.get("missing") == "category")
    return len(column["bins"]) - 1 + absent if "bins" in column else None


def verify(certificate: dict[str, Any], folder: Path | None = None) -> list[str]:
    """Raise Refused unless the whole certificate holds; returns the files in the folder that are not checked."""
    require(certificate.get("format") == FORMAT, "the file is not a certificate of the central model")
    found = CERTIFICATE(certificate, "the certificate")
    body = {key: value for key, value in certificate.items() if key != "seal"}
    require(found["seal"] == reading.seal(body), "the seal does not fit: the certificate was changed")
    public = found["release"]["rows"] is not None
    require(public == (found["neighbours"] == "change-one"), "only under change-one is the number of rows public")
    check_measurements(found)
    if folder is None:
        return []
    unread = reading.check_files(found["release"], folder, STORED)
    plan = folder / "plan.toml"
    require(plan.stat().st_size <= 1 << 22, "the plan is longer than 4 MiB")
    check_plan(found, tomllib.loads(plan.read_text(encoding="utf-8")))
    return unread


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(arguments[0])
    try:
        require(path.stat().st_size <= reading.LARGEST_FILE, "the file is too large for a certificate")
        certificate = reading.read(path.read_text(encoding="utf-8"))
        unread = verify(certificate, path.parent)
    except reading.Refused as refused:
        print(f"does not hold: {refused}")
        return 1
    except Exception as problem:  # whatever a damaged or hostile file provokes, it is refused
        print(f"does not hold: the file is not a readable certificate ({type(problem).__name__})")
        return 1
    promise = f"epsilon = {certificate['epsilon']}, delta = {certificate['delta']}, {certificate['neighbours']}"
    print(f"holds: {promise}, {len(certificate['measurements'])} measured table(s)")
    print(f"not checked here: {', '.join(['what the stored tables hold', *unread])}")
    if not certificate["private"]:
        print("but it was drawn with seeded coins: not private")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
