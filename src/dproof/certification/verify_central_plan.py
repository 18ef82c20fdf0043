"""Whether a certificate of the central model is one of the plan beside it: the same promise, columns and tables.

A part of `verify_central.py`, with nothing but the Python standard library.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

if __package__:
    from dproof.certification import verify_certificate as reading
else:  # a part of the program
    import verify_certificate as reading  # type: ignore[import-not-found,no-redef]

REACH = 1 << 14  # the radius of a ball of curves, and the largest bound of a box
SINGLE = 12  # numbers up to which each is counted by itself, where the plan lists no bins

require = reading.require
Table = tuple[int, ...]

Measured = tuple[Table, int | None, bool]  # a table of counts, or the sums of a column by a table; or a contrast


def parts(table: Table) -> list[Table]:
    """All sets of these columns."""
    return [part for n in range(len(table) + 1) for part in combinations(table, n)]


def check_plan(parsed: dict[str, Any], plan: dict[str, Any]) -> None:
    """The plan must make the promise that the certificate makes, for the same columns and tables; δ may be less."""
    promise, columns, release = plan["privacy"], plan["columns"], plan.get("release", {})
    reading.check_promise(parsed, plan if parsed["delta"] else {"privacy": {**promise, "delta": 0}})
    same = promise.get("rows_per_person", 1) == parsed["rows_per_person"] and promise.get("model") == "central"
    require(same, "the certificate promises something else than the plan")
    axes = {name: axes_of(name, column) for name, column in columns.items() if not column.get("drop")}
    counted = [axis for own in axes.values() for axis in own]
    names = [name for name, *_ in counted]
    require(names == [c["name"] for c in parsed["columns"]], "the certificate has other columns than the plan")
    for column, (name, values, reach) in zip(parsed["columns"], counted, strict=True):
        require(values in (None, column["values"]), f"{name!r} has another number of values than in the plan")
        require(reach == column["reach"], f"the sums of {name!r} have another reach than in the plan")
        check_curves(columns.get(name, {}), column.get("curves"))
    made_up = parsed["release"]["made_up_rows"] is not None
    require(made_up == release.get("rows", False), "the certificate and the plan disagree on made-up rows")
    public = parsed["neighbours"] == "change-one" and parsed["rows_per_person"] == 1 and "person" not in promise
    require(
        (parsed["release"]["rows"] is not None) == public,
        "the certificate and the plan disagree on whether the number of rows is public",
    )
    if "questions" in plan and "tables" not in release:
        return  # which tables these need is a matter of SQL
    given, every = release.get("tables", 2), range(len(counted))
    places = {name: [counted.index(axis) for axis in own] for name, own in axes.items()}
    if isinstance(given, int):
        tables = [part for n in range(1, min(given, len(counted)) + 1) for part in combinations(every, n)]
    else:  # a set stands for each of its items
        listed = (product(*(places[name] for name in table["columns"])) for table in given)
        tables = [tuple(sorted(table)) for some in listed for table in some]
    sums = release.get("sums", False)
    numbers = [i for i, c in enumerate(parsed["columns"]) if "curves" in c or (c["reach"] and sums)]
    wanted = set(wanted_of(parsed, tables, None))
    for number in numbers:
        by = [tuple(i for i in table if i != number) for table in tables if number in table]
        wanted |= set(wanted_of(parsed, by, number))
    measured = {(tuple(m["columns"]), m["sum_of"], m.get("contrast", False)) for m in parsed["measurements"]}
    require(measured == wanted, "the certificate has other tables than the plan")


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
    """What has to be measured for some tables of counts, or of the sums of a number."""
    several = {i for i, column in enumerate(parsed["columns"]) if column["values"] > 1}
    asked = [tuple(i for i in table if i in several) for table in tables]
    contrasts = number is None and any("contrast" in measurement for measurement in parsed["measurements"])
    if parsed["delta"]:
        wanted = {(part, number, False) for table in asked for part in parts(table)}
    else:
        largest = {table for table in asked if not any(set(table) < set(other) for other in asked)}
        pairs = {t for t in largest if contrasts and t and all(parsed["columns"][i]["values"] == 2 for i in t)}
        wanted = {(table, number, False) for table in largest - pairs}
        wanted |= {(part, None, True) for table in pairs for part in parts(table)}
    public = number is None and parsed["release"]["rows"] is not None
    return [one for one in wanted if one[0] or not public]


def axes_of(name: str, column: dict[str, Any]) -> list[tuple[str, int | None, int]]:
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
    if column["space"] in ("interval", "date"):
        values = len(column["bins"]) - 1 + absent if "bins" in column else None
        return [(name, values, reach_of(column, absent) if column["space"] == "interval" else 0)]
    return [(name, reading.declared(column, {}) if column["space"] == "categories" else None, 0)]


def reach_of(column: dict[str, Any], absent: bool) -> int:
    """How many steps a number of a column lies from the middle; half steps, where no number is in the middle.

    Where each number is a bin by itself its sum follows from the counts, and nothing is added up. A missing number
    stands for one near the middle.
    """
    points = reading.points(column)
    alone = len(column["bins"]) - 1 == points if "bins" in column else points <= SINGLE
    longest = points - 1
    return 0 if alone else longest - longest // 2 if absent or longest % 2 == 0 else longest
