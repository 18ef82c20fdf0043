"""Forged releases: values that no law can give, claims that do not follow, and certificates that would run for ever."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof import VerificationFailed
from dproof.certification import verify_certificate
from dproof.columns.codec import codec_of
from dproof.storage import CERTIFICATE, DATA, PARQUET, PLAN
from tests.forging import forge

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

HOURS = ["h0", "h1", "h2", "h3"]
PLAN_OF: dict[str, Any] = {
    "privacy": {"epsilon": 60, "delta": "1/2"},
    "columns": {
        "hobby": {"space": "categories", "values": ["a", "b"]},
        "mood": {"space": "categories", "values": ["low", "high"], "missing": "category"},
        "read": {"space": "categories", "values": [0, 1]},
        "smokes": {"space": "categories", "values": [True, False]},
        "age": {"space": "interval", "low": 0, "high": 110, "step": 1, "mechanism": "laplace"},
        "hours": {"space": "interval", "low": 0, "high": 80, "step": 5, "mechanism": "laplace"},
        "height": {"space": "interval", "low": 1, "high": 2, "step": "0.01", "mechanism": "laplace"},
        "floor": {"space": "interval", "low": 0, "high": 9, "step": 1, "mechanism": "clamped_laplace"},
        "rooms": {"space": "interval", "low": 0, "high": 9, "step": 1, "mechanism": "gaussian"},
        "doors": {"space": "interval", "low": 0, "high": 9, "step": 1, "mechanism": "truncated_laplace"},
        "likes": {"space": "subsets", "values": ["x", "y", "z"], "separator": ";"},
        "plays": {"space": "subsets", "values": ["x", "y", "z"]},
        "owns": {"space": "subsets", "columns": ["car", "boat"]},
        "load": {"space": "curves", "columns": HOURS, "low": 0, "high": 5, "terms": 3, "mechanism": "laplace"},
        "pulse": {"space": "curves", "points": 4, "low": 0, "high": 5, "terms": 3, "mechanism": "gaussian"},
        "town": {"space": "categories", "values": ["n", "s"]},
        "job": {"space": "categories", "values": ["p", "q", "r"]},
        "note": {"public": True},
    },
    "joint": [{"columns": ["town", "job"]}],
}
ROWS = 40
TABLE = pa.table(
    {
        "hobby": ["a", "b"] * 20,
        "mood": ["low", None] * 20,
        "read": [0, 1] * 20,
        "smokes": [True, False] * 20,
        "age": [30, 40] * 20,
        "hours": [30, 40] * 20,
        "height": [1.5, 1.75] * 20,
        "floor": [3, 4] * 20,
        "rooms": [3, 4] * 20,
        "doors": [3, 4] * 20,
        "likes": ["x;y", ""] * 20,
        "plays": [["x", "y"], []] * 20,
        "car": [True, False] * 20,
        "boat": [True, False] * 20,
        **dict.fromkeys(HOURS, [1.0, 2.0] * 20),
        "pulse": [[1.0, 2.0, 3.0, 4.0]] * ROWS,
        "town": ["n", "s"] * 20,
        "job": ["p", "q"] * 20,
        "note": ["Ann Smith", "Bob"] * 20,
    }
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("releases") / "out"
    with pytest.warns(dp.DproofWarning, match="publish a true value"):
        dp.sanitise(TABLE, PLAN_OF, out)
    return out


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "out"))


def store(folder: Path, column: str, values: Any) -> None:
    """Put other values into a stored column, of the type that it has."""
    table = pa.parquet.read_table(folder / DATA)
    place, field = table.schema.get_field_index(column), table.schema.field(column)
    pa.parquet.write_table(table.set_column(place, field, pa.array(values, field.type)), folder / DATA, **PARQUET)
    forge(folder)


def stored(folder: Path, column: str) -> list[Any]:
    return pa.parquet.read_table(folder / DATA).column(column).to_pylist()  # type: ignore[no-any-return]


# Stored values --------------------------------------------------------------------------------------------------------


def test_what_was_drawn_is_accepted_also_without_dictionaries(folder: Path) -> None:
    assert dp.verify(folder)
    table = pa.parquet.read_table(folder / DATA)
    plain = [f.with_type(pa.string()) if pa.types.is_dictionary(f.type) else f for f in table.schema]
    pa.parquet.write_table(table.cast(pa.schema(plain)), folder / DATA, **PARQUET)
    forge(folder)
    assert dp.verify(folder)


IMPOSSIBLE: dict[str, tuple[str, Any]] = {
    "a text in a column of a and b": ("hobby", "Ann Smith, HIV+"),
    "nothing where nothing is no value": ("hobby", None),
    "a text beside a missing category": ("mood", "Ann Smith, HIV+"),
    "a number that is no category": ("read", 2),
    "a missing number": ("read", None),
    "a missing flag": ("smokes", None),
    "a missing age": ("age", None),
    "a number between two points": ("hours", 17),
    "a float between two points": ("height", 1.2345),
    "a float beside its point": ("height", 1.2300000000000002),
    "no number": ("height", float("nan")),
    "an infinite number": ("height", float("inf")),
    "a number beyond a clamped range": ("floor", 10),
    "a number beyond the reach of Gaussian noise": ("rooms", 10**9),
    "a number beyond the reach of truncated noise": ("doors", -(10**6)),
    "a set with a name in it": ("likes", "x;Ann Smith"),
    "a set in another order": ("likes", "y;x"),
    "a set with an item twice": ("likes", "x;x"),
    "a set with an empty item": ("likes", "x;"),
    "a missing set": ("likes", None),
    "a list with a name in it": ("plays", ["x", "Ann Smith"]),
    "a list in another order": ("plays", ["z", "x"]),
    "a list with nothing in it": ("plays", [None]),
    "a missing list": ("plays", None),
    "a flag that is missing": ("boat", None),
    "a curve off its lattice": ("h2", 1.2345),
    "a curve with no number": ("h2", float("nan")),
    "a curve of another length": ("pulse", [1.0, 2.0, 3.0]),
    "a curve in a list, off its lattice": ("pulse", [1.0, 2.0, 3.0, 4.5]),
    "a curve with a missing point": ("pulse", [1.0, None, 3.0, 4.0]),
    "a text in a joined column": ("job", "Ann Smith, HIV+"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_value_that_no_law_can_give_is_refused_by_the_name_of_its_column(folder: Path, name: str) -> None:
    column, value = IMPOSSIBLE[name]
    store(folder, column, [*stored(folder, column)[:-1], value])
    with pytest.raises(VerificationFailed, match="holds a value that its law cannot give") as refused:
        dp.verify(folder)
    said = {"boat": "owns", "h2": "load"}.get(column, column)
    assert repr(said) in str(refused.value) and "Ann" not in str(refused.value)


def test_what_a_dictionary_lists_counts_whether_a_row_has_it_or_not(folder: Path) -> None:
    table = pa.parquet.read_table(folder / DATA)
    codes = table.column("hobby").combine_chunks().indices
    listed = pa.DictionaryArray.from_arrays(codes, ["a", "b", "Ann Smith, HIV+"])
    pa.parquet.write_table(table.set_column(0, "hobby", listed), folder / DATA, **PARQUET)
    forge(folder)
    with pytest.raises(VerificationFailed, match="'hobby' holds a value that its law cannot give"):
        dp.verify(folder)


def test_an_output_that_no_input_can_give_is_refused(tmp_path: Path) -> None:
    """A designed law may leave outputs out: their columns are zero."""
    from dproof import Categories
    from dproof.columns.codec import Column

    family = dp.solution_matrix(Categories(list("abc")), [["1/2", "1/2", 0]] * 3).family
    given = family.possible()
    assert given is not None and given.tolist() == [True, True, False]
    space = Categories(list("abc"))
    column = Column("x", "categories", ("x",), space)
    assert codec_of(space, column).possible([pa.array(["a", "b"])], given, None)
    assert not codec_of(space, column).possible([pa.array(["a", "c"])], given, None)


def test_wide_noise_on_a_fine_lattice_is_accepted(tmp_path: Path) -> None:
    """Codes beyond 2^48 are found exactly: a float is what the lattice point nearest to it is written as."""
    columns: dict[str, Any] = {
        "fine": {"space": "interval", "low": 0, "high": 2_500_000, "step": "1e-8"},
        "thirds": {"space": "interval", "low": 0, "high": 1000, "step": "1/3"},
        "far": {"space": "interval", "low": 10**15, "high": 10**15 + 8, "step": 4},
    }
    values = {"fine": [2_400_000.5] * 200, "thirds": [3.0] * 200, "far": [10**15] * 200}
    dp.sanitise(pa.table(values), {"privacy": {"epsilon": 9}, "columns": columns}, tmp_path / "out")
    assert dp.verify(tmp_path / "out")
    store(tmp_path / "out", "far", [10**15 + 3] * 200)
    with pytest.raises(VerificationFailed, match="'far' holds"):
        dp.verify(tmp_path / "out")


# Claims ---------------------------------------------------------------------------------------------------------------


def law_of(body: dict[str, Any], name: str) -> dict[str, Any]:
    return next(part["law"] for part in body["laws"] if part["name"] == name)


def swap(body: dict[str, Any]) -> None:
    body["laws"][0]["law"], body["laws"][2]["law"] = body["laws"][2]["law"], body["laws"][0]["law"]
    body["laws"][0]["epsilon"] = "1"


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "cells of -1": lambda body: law_of(body, "rooms")["noise"].update(unit=-1),
    "stairs without stairs": lambda body: law_of(body, "age").update(
        noise={"kind": "stairs", "width": "110", "inner": "40", "first": ["1"], "tail": ["1", "1"]}
    ),
    "a box inside out": lambda body: law_of(body, "load").update(radius=None, box=[16384, -16384, 16384]),
    "add-remove": lambda body: body.update(neighbours="add-remove"),
    "another version": lambda body: body.update(version=2),
    "the version true": lambda body: body.update(version=True),
    "the version 1.0": lambda body: body.update(version=1.0),
    "rows true": lambda body: body["release"].update(rows=True),
    "rows as a decimal": lambda body: body["release"].update(rows=40.0),
    "a word more": lambda body: body.update(approved="by the ministry"),
    "a word more in the release": lambda body: body["release"].update(approved="by the ministry"),
    "a word more in a law": lambda body: body["laws"][0].update(approved="by the ministry"),
    "laws of other columns": swap,
    "a law twice": lambda body: body["laws"].append(body["laws"][0]),
    "a column twice": lambda body: body["release"]["columns"].append("hobby"),
    "public under another name": lambda body: body["release"].update(public=[]),
    "a digit of another alphabet": lambda body: law_of(body, "hobby").update(keep="１"),
    "minus nothing": lambda body: body["laws"][0]["tight"].update(delta=-0.0),
    "not in lowest terms": lambda body: body.update(epsilon="120/2"),
    "as a decimal": lambda body: body.update(epsilon="60.0"),
    "an infinite tight value": lambda body: body["release"]["tight"].update(epsilon=float("inf")),
    "a tight value that is no number": lambda body: body["release"]["tight"].update(epsilon=float("nan")),
    "a smaller tight value": lambda body: body["release"]["tight"].update(epsilon=0.5),
    "a smaller epsilon of a person": lambda body: body["release"]["person"].update(epsilon=59.9),
    "a smaller delta of a person": lambda body: body["release"]["person"].update(delta=0.49),
}
# The stand-alone verifier does not work these out again.
UNSEEN = {"a smaller tight value", "a column twice"}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_claim_is_refused_by_both(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    forge(folder, FORGED[name])
    with pytest.raises(VerificationFailed):
        dp.verify(folder)
    assert (verify_certificate.main([str(folder / CERTIFICATE)]) == 1) == (name not in UNSEEN)
    assert capsys.readouterr().out.startswith("holds" if name in UNSEEN else "does not hold: ")


def test_add_remove_in_plan_and_certificate_is_refused(folder: Path) -> None:
    """A release shows how many rows it has, so two tables that differ in their number are told apart for certain."""
    plan = (folder / PLAN).read_text("utf-8")
    (folder / PLAN).write_text(plan.replace("[privacy]", '[privacy]\nneighbours = "add-remove"', 1), "utf-8")
    forge(folder, lambda body: body.update(neighbours="add-remove"))
    for read in (dp.verify, dp.load):
        with pytest.raises(VerificationFailed, match="can only promise"):
            read(folder)
    assert verify_certificate.main([str(folder / CERTIFICATE)]) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("epsilon = 60", "epsilon = 61"),
        ("epsilon = 60", "epsilon = 60\nrows_per_person = 2"),
        ("public = true", "drop = true"),
        ('[columns.hobby]\nspace = "categories"', '[columns.hobby]\nshare = 2\nspace = "categories"'),
    ],
)
def test_a_plan_that_says_something_else_is_refused(folder: Path, old: str, new: str) -> None:
    plan = (folder / PLAN).read_text("utf-8")
    assert old in plan
    (folder / PLAN).write_text(plan.replace(old, new, 1), "utf-8")
    forge(folder)
    with pytest.raises(VerificationFailed):
        dp.verify(folder)
    assert (verify_certificate.main([str(folder / CERTIFICATE)]) == 1) == ("share" not in new)


@pytest.mark.parametrize("of", ["a row", "a person"])
@pytest.mark.parametrize("rows", [1, 3])
def test_independent_laws_lose_the_sum_of_what_each_does(tmp_path: Path, rows: int, of: str) -> None:
    hobby = PLAN_OF["columns"]["hobby"]
    plan = {"privacy": {"epsilon": 2, "rows_per_person": rows}, "columns": {"x": hobby, "y": hobby}}
    dp.sanitise(pa.table(dict.fromkeys("xy", ["a", "b"] * 20)), plan, tmp_path / "out")
    certificate = str(tmp_path / "out" / CERTIFICATE)
    assert verify_certificate.main([certificate]) == 0

    def less(body: dict[str, Any]) -> None:
        tight = (body["release"] if of == "a row" else body["release"]["person"])["tight"]
        tight["epsilon"] *= 0.999

    forge(tmp_path / "out", less)
    assert verify_certificate.main([certificate]) == 1


def test_white_space_in_a_plan_says_nothing(folder: Path) -> None:
    (folder / PLAN).write_text((folder / PLAN).read_text("utf-8") + "\n# a word\n\n", "utf-8")
    with pytest.raises(VerificationFailed, match="has changed"):
        dp.verify(folder)
    forge(folder)
    assert dp.verify(folder)


# Work without end -----------------------------------------------------------------------------------------------------

NINES = "9" * 3000
ENDLESS: dict[str, str] = {
    "a tight epsilon": "body['laws'][0]['tight']['epsilon'] = 1e12",
    "an exponent": "body['laws'][0]['lower_bound'] = '1e300000000'",
    "an exponent in a promise": "body['epsilon'] = '1e400000000'",
    "an exponent in an error": "body['laws'][0]['error'] = '1e400000000'",
    "an exponent in a lattice": "body['release']['lattices'] = {'x': {'low': '0', 'high': '1e400000000', 'step': '1'}}",
    "a long number": f"law('hobby')['keep'] = '{NINES}'",
    "long denominators": "[part.update(epsilon=f'1/{10**1900 + n}') for n, part in enumerate(body['laws'])]",
    "many sets": (
        "law('hobby').clear(); "
        "law('hobby').update(kind='subset-selection', size=2 * 10**9, width=10**9, high='3', low='1')"
    ),
    "a billion bits": "law('hobby').clear(); law('hobby').update(kind='bits', bits=10**9, stay='3', flip='1')",
    "a variance": "law('rooms')['noise']['square'] = '1' + '0' * 300",
    "no variance": "law('rooms')['noise']['square'] = '1/1' + '0' * 300",
    "a far reach": "law('doors')['noise']['reach'] = 1 << 60",
    "many clamped points": "law('floor')['size'] = str(1 << 60)",
    "many draws": "law('pulse')['noise']['draws'] = 10**9",
    "many terms": "law('pulse')['terms'] = 10**9",
    "a large matrix": (
        "law('hobby').clear(); "
        "law('hobby').update(kind='matrix', total='1000', rows=[['1'] * 1000 for _ in range(1000)]); "
        "law('hobby')['rows'][0][:2] = ['2', '0']; body['laws'][0]['delta'] = '1/100'"
    ),
    "a matrix of one column": (
        "law('hobby').clear(); law('hobby').update(kind='matrix', total='1', rows=[['1']] * 300000)"
    ),
    "depth": "body['laws'][0]['law'] = deep",
    "depth in a name": "body['release']['lattices'] = {'x': deep}",
}

HOSTILE = """
import json, sys
from pathlib import Path
import dproof as dp
from dproof.certification import verify_certificate
from dproof.certification.verify_certificate import seal

folder, changes = Path(sys.argv[1]), json.loads(sys.argv[2])
kept = (folder / "certificate.json").read_text("utf-8")
for name, change in changes.items():
    body = json.loads(kept)
    law = lambda name: next(part["law"] for part in body["laws"] if part["name"] == name)
    deep = 1
    for _ in range(400):
        deep = [deep]
    exec(change)
    body = {key: value for key, value in body.items() if key != "seal"}
    (folder / "certificate.json").write_text(json.dumps({**body, "seal": seal(body)}), "utf-8")
    said = verify_certificate.main([str(folder / "certificate.json")])
    for read in (dp.verify, dp.load):
        try:
            read(folder)
            print(f"{name}: {read.__name__} accepts")
        except dp.VerificationFailed as failure:
            pass
    print(f"done: {name}, {said}", flush=True)
"""


def test_no_certificate_keeps_a_verifier_at_work_for_ever(folder: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", HOSTILE, folder, json.dumps(ENDLESS)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    done = [line for line in ran.stdout.splitlines() if line.startswith("done")]
    assert done == [f"done: {name}, 1" for name in ENDLESS]
    # `load` takes what is said beside the laws as it is; `verify` takes nothing.
    assert "dp.verify accepts" not in ran.stdout and ": verify accepts" not in ran.stdout


def test_a_person_with_a_billion_rows_is_no_work(tmp_path: Path) -> None:
    space = {"space": "categories", "values": [0, 1]}
    for delta in (0, "1e-12"):
        out = tmp_path / f"out-{delta}"
        promise = {"epsilon": "1e-9", "delta": delta, "rows_per_person": 10**9}
        dp.sanitise(pa.table({"x": [0, 1]}), {"privacy": promise, "columns": {"x": space}}, out)
        assert dp.verify(out)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["release"].update(rows=[]),
        lambda body: body["release"].clear(),
        lambda body: body["measurements"][0].update(columns=[0.0]),
    ],
    ids=["rows", "release", "columns"],
)
def test_a_certificate_that_cannot_be_read_is_refused_in_a_sentence_when_it_is_opened(
    change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    columns = {"x": {"space": "categories", "values": ["a", "b"]}}
    plan = {"privacy": {"model": "central", "epsilon": 1, "neighbours": "add-remove"}, "columns": columns}
    dp.sanitise(pa.table({"x": ["a", "b"] * 9}), plan, tmp_path / "out")
    forge(tmp_path / "out", change)
    for opens in (dp.load, dp.verify):
        with pytest.raises(VerificationFailed):
            opens(tmp_path / "out")
