"""A release is one draw, stored whole or not at all, that anyone can check again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import InputError, VerificationFailed
from dproof.certification import verify_certificate
from dproof.local.recipe import with_bounds
from dproof.storage import CERTIFICATE, DATA, PLAN, REPORT, UNFINISHED, appearing
from dproof.testing import seeded_coins
from tests import forging

COLUMNS: dict[str, Any] = {
    "hobby": {"space": "categories", "values": ["Cars", "Chess", "Golf"], "share": 2},
    "likes": {"space": "subsets", "values": ["a", "b", "c"], "separator": ";"},
    "region": {"public": True},
    "name": {"drop": True},
}
WHOLE = {"privacy": {"epsilon": "2", "rows_per_person": 3}, "columns": COLUMNS}
TABLE = pa.table(
    {
        "hobby": ["Cars", "Chess"] * 50,
        "likes": ["a;b", ""] * 50,
        "region": ["north", "south"] * 50,
        "name": [f"person {n}" for n in range(100)],
    }
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    dp.sanitise(TABLE, WHOLE, tmp_path / "out")
    return tmp_path / "out"


def test_a_release_folder_holds_what_the_contract_says(folder: Path) -> None:
    assert sorted(file.name for file in folder.iterdir()) == sorted([DATA, PLAN, CERTIFICATE, REPORT])
    assert [path.name for path in folder.parent.iterdir()] == ["out"]
    release = dp.verify(folder)
    assert release is not None
    record = release.certificate
    assert record["release"]["rows"] == 100 and record["neighbours"] == "change-one" and record["private"] is True
    person = record["release"]["person"]
    assert (person["rows"], person["epsilon"], person["delta"]) == (3, 6, 0)
    assert person["tight"] == {"epsilon": pytest.approx(6, rel=1e-9), "delta": 0.0, "exact": True}
    assert [law["name"] for law in record["laws"]] == ["hobby", "likes"]
    assert dp.Plan.read(folder / PLAN) == release.plan
    assert "<html" in (folder / REPORT).read_text("utf-8")


def test_the_stand_alone_verifier_accepts_it_without_dproof(folder: Path) -> None:
    script = Path(verify_certificate.__file__)
    ran = subprocess.run(
        [sys.executable, "-I", script, folder / CERTIFICATE], capture_output=True, text=True, cwd=folder, check=False
    )
    assert ran.returncode == 0, ran.stdout


def test_nothing_of_the_source_survives(folder: Path) -> None:
    held = TABLE.replace_schema_metadata({"pandas": "{}", "owner": "the ministry"})
    dp.sanitise(held, WHOLE, folder.parent / "again")
    stored = pa.parquet.ParquetFile(folder.parent / "again" / DATA)
    assert stored.schema_arrow.metadata is None
    assert set(stored.metadata.metadata or {}) <= {b"ARROW:schema"}
    everything = b"".join(file.read_bytes() for file in folder.iterdir())
    assert b"person 1" not in everything
    assert stored.schema_arrow.names == ["hobby", "likes", "region"]


def test_what_is_loaded_has_the_law_it_was_drawn_from(folder: Path) -> None:
    drawn, loaded = dp.sanitise(TABLE, WHOLE), dp.load(folder)
    assert loaded.rows == 100 and loaded.private
    for a, b in zip(drawn.law.groups, loaded.law.groups, strict=True):
        assert (a.name, a.privacy, a.mechanism.name) == (b.name, b.privacy, b.mechanism.name)
        assert a.mechanism.family.to_json() == b.mechanism.family.to_json()
    assert with_bounds(drawn.law).parts == loaded.law.parts


def test_a_release_reads_the_same_every_time(folder: Path) -> None:
    release = dp.load(folder)
    assert release.to_arrow().equals(release.to_arrow())
    assert release.to_pandas()["hobby"].tolist() == release.to_polars()["hobby"].to_list()
    assert len(release.to_pandas().columns) == 3


def test_a_release_in_memory_can_be_saved(tmp_path: Path) -> None:
    held = dp.sanitise(TABLE.to_pandas(), WHOLE)
    saved = held.save(tmp_path / "kept")
    assert saved.to_arrow().equals(held.to_arrow())
    assert dp.verify(tmp_path / "kept") is not None


def test_an_existing_name_is_never_overwritten(folder: Path) -> None:
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(InputError, match="never overwritten"):
        dp.sanitise(TABLE, WHOLE, folder)
    with pytest.raises(InputError, match="make it first"):
        dp.sanitise(TABLE, WHOLE, folder.parent / "absent" / "out")
    assert before == {file.name: file.read_bytes() for file in folder.iterdir()}


def test_work_that_fails_leaves_nothing(tmp_path: Path) -> None:
    broken = pa.concat_tables([TABLE] * 3000 + [TABLE.set_column(0, "hobby", pa.array(["Ships"] * 100))])
    with pytest.raises(InputError, match="column 'hobby' has a value outside"):
        dp.sanitise(broken, WHOLE, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [DATA, PLAN])
def test_a_changed_file_is_found(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(VerificationFailed, match="has changed"):
        dp.verify(folder)


def forge(folder: Path, **changes: Any) -> None:
    """Change a certificate and seal it again, as someone who knows the format would."""
    forging.forge(folder, lambda body: body.update(changes))


def test_a_forged_certificate_is_found(folder: Path) -> None:
    record = json.loads((folder / CERTIFICATE).read_text("utf-8"))
    forgeries: dict[str, dict[str, Any]] = {
        "promises something else": {"epsilon": "3"},
        "exceed the promised epsilon": {"epsilon": "1"},
        "another number of rows": {"release": {**record["release"], "rows": 99}},
        "other columns than the certificate": {"release": {**record["release"], "columns": ["hobby"]}},
        "must name the plan": {"release": {**record["release"], "files": {}}},
        "laws for other columns": {"laws": record["laws"][:1]},
        "not one of a release": {"release": None},
        "is not .*-private": {"laws": [{**record["laws"][0], "epsilon": "1/10"}, record["laws"][1]]},
    }
    for message, changes in forgeries.items():
        (folder / CERTIFICATE).write_text(json.dumps(record), "utf-8")
        forge(folder, **changes)
        with pytest.raises(VerificationFailed, match=message):
            dp.verify(folder)
    (folder / CERTIFICATE).write_text(json.dumps({**record, "epsilon": "3"}), "utf-8")
    with pytest.raises(VerificationFailed, match="the seal does not fit"):
        dp.verify(folder)


def test_what_is_said_beyond_the_laws_follows_from_them(folder: Path) -> None:
    record = json.loads((folder / CERTIFICATE).read_text("utf-8"))
    first, about = record["laws"][0], record["release"]
    nearer = {"epsilon": first["tight"]["epsilon"] * 0.99, "delta": 0.0}
    forgeries: list[dict[str, Any]] = [
        {"neighbours": "add-remove"},
        {"signed": "by nobody"},
        {"laws": [{**first, "error": "1/1000"}, *record["laws"][1:]]},
        {
            "laws": [
                {**first, "law": {**first["law"], "other": str(int(first["law"]["other"]) + 1)}},
                *record["laws"][1:],
            ]
        },
        {"laws": [{**first, "law": {**first["law"], "neighbours": [[0, 0]]}}, *record["laws"][1:]]},
        {"release": {**about, "public": []}},
        {"release": {**about, "order": "kept"}},
        {"release": {**about, "tight": {**about["tight"], **nearer}}},
        {"release": {**about, "person": {**about["person"], "rows": 1}}},
        {"release": {**about, "person": {**about["person"], "epsilon": 2.0}}},
        {"release": {**about, "lattices": {"hobby": {"low": "0", "high": "1", "step": "1"}}}},
    ]
    for changes in forgeries:
        (folder / CERTIFICATE).write_text(json.dumps(record), "utf-8")
        forge(folder, **changes)
        with pytest.raises(VerificationFailed):
            dp.verify(folder)
    (folder / CERTIFICATE).write_text(json.dumps(record), "utf-8")
    assert dp.verify(folder)


def test_whatever_a_certificate_holds_it_is_refused_in_words(folder: Path) -> None:
    record = json.loads((folder / CERTIFICATE).read_text("utf-8"))
    first = record["laws"][0]
    for law in ({**first["law"], "keep": float("inf")}, {"kind": "matrix", "rows": [[float("inf")]], "total": 1}, None):
        forge(folder, laws=[{**first, "law": law}, *record["laws"][1:]])
        for read in (dp.verify, dp.load):
            with pytest.raises(
                VerificationFailed, match=r"not a number|no number|of a kind that is not known|cannot be read"
            ):
                read(folder)
    forge(folder, laws=record["laws"])
    forging.forge(folder, lambda body: body.pop("private"))
    with pytest.raises(VerificationFailed, match="must be a record of"):
        dp.verify(folder)


def test_a_law_for_some_pairs_of_values_is_no_law_of_a_release(tmp_path: Path) -> None:
    space = {"space": "categories", "values": ["low", "middle", "high"], "metric": "ordinal", "mechanism": "design"}
    dp.sanitise(
        pa.table({"mood": ["low"] * 9}), {"privacy": {"epsilon": 1}, "columns": {"mood": space}}, tmp_path / "out"
    )
    (law,) = json.loads((tmp_path / "out" / CERTIFICATE).read_text("utf-8"))["laws"]
    identity = {**law["law"], "rows": [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]], "total": "1"}
    forge(tmp_path / "out", laws=[{**law, "law": {**identity, "neighbours": [[0, 0]]}}])
    with pytest.raises(VerificationFailed, match="every pair of values"):
        dp.verify(tmp_path / "out")


def test_what_seeded_coins_drew_cannot_be_said_to_be_private(tmp_path: Path) -> None:
    with seeded_coins(1):
        dp.sanitise(TABLE, WHOLE, tmp_path / "out")
    assert dp.verify(tmp_path / "out")
    forge(tmp_path / "out", private=True)
    with pytest.raises(VerificationFailed, match="seeded coins"):
        dp.verify(tmp_path / "out")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 3}', "\ud800", "nonsense", "[" * 100_000])
def test_what_is_no_certificate_is_refused_in_words(folder: Path, text: str) -> None:
    (folder / CERTIFICATE).write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(VerificationFailed):
        dp.verify(folder)
    with pytest.raises(VerificationFailed):
        dp.load(folder)


def test_seeded_coins_stamp_a_release_not_private(tmp_path: Path) -> None:
    with seeded_coins(1):
        first = dp.sanitise(TABLE, WHOLE, tmp_path / "first")
    with seeded_coins(1):
        second = dp.sanitise(TABLE, WHOLE)
    assert first.to_arrow().equals(second.to_arrow())
    assert not first.private and not second.private and not dp.load(tmp_path / "first").private
    assert "NOT PRIVATE" in repr(first)
    stored = pa.parquet.read_schema(tmp_path / "first" / DATA)
    for schema in (stored, second.to_arrow().schema):
        assert b"NOT PRIVATE" in schema.metadata[b"dproof"]
    assert "not private" in (tmp_path / "first" / REPORT).read_text("utf-8").lower()
    assert not dp.sanitise(TABLE, WHOLE).to_arrow().equals(second.to_arrow())


def test_a_delta_that_publishes_rows_is_warned_of() -> None:
    with pytest.warns(dp.DproofWarning, match="publish a true value"):
        dp.sanitise(TABLE, {**WHOLE, "privacy": {"epsilon": 1, "delta": "0.001"}})


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), appearing(tmp_path / "out") as unfinished:
        (unfinished / "half").write_text("half a file")
        assert UNFINISHED in unfinished.name and not (tmp_path / "out").exists()
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_of_two_releases_under_one_name_the_second_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def beaten(sibling: Path, place: Path) -> None:
        monkeypatch.undo()
        dp.sanitise(TABLE, WHOLE, place)
        sibling.rename(place)

    monkeypatch.setattr(Path, "rename", beaten)
    with pytest.raises(InputError, match="never overwritten"):
        dp.sanitise(TABLE, WHOLE, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"] and dp.verify(tmp_path / "out")


# Every call into the operating system that Python audits (opening, making, renaming, flushing, …) is a moment at which
# the work can be killed. Each child counts them and kills itself, for real, at one of ten random moments.
KILLED = """
import glob, json, os, random, signal, sys
import pyarrow as pa
import dproof as dp

target, plan, rows = sys.argv[1], sys.argv[2], pa.table({"read": [0, 1] * 300_000})
dp.sanitise(rows.slice(0, 2), plan)

def child(moment, report):
    count = 0
    def hook(event, arguments):
        nonlocal count
        count += 1
        if count == moment:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    dp.sanitise(rows, plan, target)
    os.write(report, str(count).encode())
    os._exit(0)

def run(moment):
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        child(moment, write)
    os.close(write)
    said = os.read(read, 64)
    os.close(read)
    killed = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    return killed, int(said or 0)

killed, moments = run(0)
os.rename(target, target + "-whole")
seen = []
for moment in sorted(random.sample(range(1, moments), 9)) + [moments - 1]:
    killed, _ = run(moment)
    seen.append({"killed": killed, "there": os.path.exists(target)})
    if os.path.exists(target):
        os.rename(target, f"{target}-{moment}")
    for left in glob.glob(os.path.join(os.path.dirname(target), ".out.unfinished-*")):
        os.rename(left, left.replace(".out", f".killed-{moment}"))  # the next run would delete it
print(json.dumps({"moments": moments, "seen": seen}))
"""


def test_killed_at_ten_random_moments_it_leaves_no_half_release(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[privacy]\nepsilon = 1\n[columns.read]\nspace = "categories"\nvalues = [0, 1]\n')
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "out", plan], capture_output=True, text=True, check=True
    )
    told = json.loads(ran.stdout)
    assert told["moments"] > 20 and all(moment["killed"] for moment in told["seen"])
    folders = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert any(UNFINISHED in path.name for path in folders)
    for path in folders:
        if UNFINISHED in path.name:
            with pytest.raises(VerificationFailed):
                dp.verify(path)
            with pytest.raises(InputError):
                dp.load(path)
        else:  # it had its name already, so it must be whole
            assert dp.verify(path) is not None


FORKED = """
import hashlib, os, sys
import pyarrow as pa
import dproof as dp

rows = pa.table({"read": [0, 1] * 500})
dp.sanitise(rows, sys.argv[1])  # the parent's coins are in use before it forks
for _ in range(4):
    if os.fork() == 0:
        drawn = dp.sanitise(rows, sys.argv[1]).to_arrow()["read"].to_pylist()
        os.write(1, (hashlib.sha256(bytes(drawn)).hexdigest() + "\\n").encode())
        os._exit(0)
for _ in range(4):
    os.wait()
"""


def test_four_forked_workers_give_four_different_releases(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[privacy]\nepsilon = 1\n[columns.read]\nspace = "categories"\nvalues = [0, 1]\n')
    ran = subprocess.run([sys.executable, "-c", FORKED, plan], capture_output=True, text=True, check=True)
    assert len(set(ran.stdout.split())) == 4


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """A reader who stops at the first of two values would see another promise than the one that is checked."""
    plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": [0, 1]}}}
    dp.sanitise(pa.table({"read": [0, 1]}), plan, tmp_path / "out")
    file = tmp_path / "out" / "certificate.json"
    file.write_text(file.read_text("utf-8").replace("{", '{"epsilon": "1/10",', 1), "utf-8")
    with pytest.raises(VerificationFailed, match="twice"):
        dp.verify(tmp_path / "out")
