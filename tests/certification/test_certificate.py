"""Certificates: anyone can check them again, with the standard library alone, and no change goes unseen."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import (
    Categories,
    Certificate,
    InputError,
    Privacy,
    Subsets,
    Table,
    certify,
    discrete_exponential,
    itemwise_response,
    product_sanitisation,
    randomised_response,
    response_with,
    solution_matrix,
)
from dproof.certification import verify_certificate
from dproof.certification.verify_certificate import LAWS, NOISES, certificate_with
from dproof.exact import exp_above, exp_below
from dproof.laws import (
    Bits,
    BlockDesign,
    BoundedLattice,
    Gaussian,
    GaussianSum,
    KeepOrOther,
    Lattice,
    Matrix,
    OneItem,
    PlaneDesign,
    RoundedLaw,
    RowByRow,
    SubsetSelection,
    Unary,
)
from dproof.laws import law as readers
from dproof.laws import noise as noise_readers
from dproof.laws.laplace import stairs, two_sided
from tests import forging
from tests.strategies import matrices

PROGRAM = Path(verify_certificate.__file__)
HOBBIES = Categories(["Sports", "Cars", "Television", "Computer games", "Reading"])
LINE = Categories(range(4), metric="ordinal")

CERTIFICATES: dict[str, Certificate] = {
    "randomised response": certify(randomised_response(HOBBIES, Privacy(1)), Privacy(1)),
    "with delta": certify(randomised_response(HOBBIES, Privacy("0.5", "0.1")), Privacy("0.5", "0.1")),
    "bits": certify(itemwise_response(Subsets(["a", "b", "c"]), Privacy(1)), Privacy(1)),
    "matrix": certify(
        solution_matrix(
            LINE,
            [
                ["1/2", "1/4", "1/8", "1/8"],
                ["1/4", "1/2", "1/8", "1/8"],
                ["1/8", "1/8", "1/2", "1/4"],
                ["1/8", "1/8", "1/4", "1/2"],
            ],
        ),
        Privacy("1.4"),
    ),
    "matrix with delta": certify(discrete_exponential(LINE, 1), Privacy("0.5", "0.7")),
    "neighbours": certify(discrete_exponential(Table(Categories([0, 1]), 2, "l2"), 1), Privacy("1.1")),
    "table": certify(product_sanitisation(response_with(Categories([0, 1]), "1/4"), 2), Privacy("1.1")),
    "metric privacy": certify(discrete_exponential(LINE, "0.5"), Privacy(1), metric_privacy=True),
    "a zero": certify(solution_matrix(Categories([0, 1]), [["9/10", "1/10"], [1, 0]]), Privacy(2, "1/5")),
    "large numbers": certify(response_with(HOBBIES, Fraction(1, 10) - Fraction(1, 10**40)), Privacy(2)),
    "one value": certify(randomised_response(Categories(["only"]), Privacy(0)), Privacy(0)),
    "certainty": certify(response_with(HOBBIES, 0), Privacy(0, 1)),
}
EACH = pytest.mark.parametrize("name", CERTIFICATES)


def text_of(certificate: Certificate) -> str:
    return json.dumps(certificate.to_json(), indent=1, ensure_ascii=False)


def check(text: str) -> None:
    verify_certificate.verify(verify_certificate.read(text))


def resealed(certificate: Certificate, change) -> str:
    """A forgery: changed, and then sealed again as if nothing had happened."""
    body = certificate.to_json()
    change(body)
    return json.dumps(forging.resealed(body))


# What holds ----------------------------------------------------------------------------------------------------------


@EACH
def test_a_certificate_is_confirmed(name: str) -> None:
    check(text_of(CERTIFICATES[name]))


@EACH
def test_it_is_confirmed_by_a_program_that_needs_nothing_else(name: str, tmp_path: Path) -> None:
    CERTIFICATES[name].write(tmp_path / "certificate.json")
    program = tmp_path / "verify_certificate.py"
    program.write_text(PROGRAM.read_text("utf-8"), "utf-8")
    done = subprocess.run(
        [sys.executable, "-I", str(program), str(tmp_path / "certificate.json")], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("holds: epsilon = ")
    assert ("listed pairs" in done.stdout) == (name == "neighbours")
    assert ("tables that differ in one row" in done.stdout) == (name == "table")


def test_the_program_imports_the_standard_library_only() -> None:
    source = PROGRAM.read_text("utf-8")
    names = {
        name.name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import)
        for name in node.names
    } | {
        node.module.split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    assert names <= sys.stdlib_module_names


@given(matrices(), st.sampled_from(["0", "0.5", "2"]), st.sampled_from(["0", "0.1", "1"]))
def test_what_dproof_certifies_the_program_confirms(family, epsilon: str, delta: str) -> None:
    from dproof import NotPrivate

    rows = [[Fraction(int(w), family.total) for w in row] for row in family.rows]
    mechanism = solution_matrix(Categories(range(family.inputs)), rows, outputs=Categories(range(family.outputs)))
    try:
        certificate = certify(mechanism, Privacy(epsilon, delta))
    except NotPrivate:
        return
    check(text_of(certificate))


@given(st.fractions(0, 1000))
def test_the_programs_own_exponential_lies_below_and_close(x: Fraction) -> None:
    value = verify_certificate.exp_below(x)
    assert value <= exp_above(x, 512)
    assert value >= exp_below(x, 128), "close enough to confirm what 128 bits decide"


# What does not -------------------------------------------------------------------------------------------------------


@EACH
def test_every_digit_counts(name: str) -> None:
    """Each digit of the file in turn, changed to each neighbouring one: refused, every time."""
    text = text_of(CERTIFICATES[name])
    places = [n for n, sign in enumerate(text) if sign.isdigit()]
    assert len(places) > 40
    for place in places:
        for step in (1, 9):
            changed = text[:place] + str((int(text[place]) + step) % 10) + text[place + 1 :]
            with pytest.raises((verify_certificate.Refused, ValueError)):
                check(changed)


@pytest.mark.parametrize("name", ["randomised response", "metric privacy"])
def test_the_program_refuses_changed_digits_with_one_line_and_exit_code_1(name: str, tmp_path: Path) -> None:
    text = text_of(CERTIFICATES[name])
    places = [n for n, sign in enumerate(text) if sign.isdigit()]
    file = tmp_path / "certificate.json"
    for place in places[:: len(places) // 8]:
        file.write_text(text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :], "utf-8")
        done = subprocess.run([sys.executable, "-I", str(PROGRAM), str(file)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.startswith("does not hold: ")
        assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "7",
        "\0",
        "[" * 100_000,
        '{"format": 1}',
        '{"format": "dproof certificate"}',
        '{"a": 1, "a": 1}',
        '{"format": "dproof certificate", "version": 1, "seal": "0"}',
    ],
)
def test_what_is_no_certificate_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(text, "utf-8")
    assert verify_certificate.main([str(file)]) == 1
    assert capsys.readouterr().out.startswith("does not hold: ")


def test_a_missing_file_is_refused_and_no_argument_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert verify_certificate.main(["no-such-file.json"]) == 1
    assert verify_certificate.main([]) == 2
    assert "verify_certificate.py certificate.json" in capsys.readouterr().err


def _set(*path_and_value: Any):
    *path, last, value = path_and_value

    def change(body: dict[str, Any]) -> None:
        target: Any = body
        for key in path:
            target = target[key]
        target[last] = value

    return change


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("randomised response", _set("epsilon", "1/2"), "together exceed the promised epsilon"),
        ("with delta", _set("delta", "0"), "together exceed the promised delta"),
        ("randomised response", _set("laws", 0, "epsilon", "99/100"), "is not \\(99/100, 0\\)-private: inputs 0 and 1"),
        ("with delta", _set("laws", 0, "delta", "99/1000"), "is not \\(1/2, 99/1000\\)-private"),
        ("randomised response", _set("laws", 0, "tight", "epsilon", 0.5), "larger epsilon than the certificate says"),
        ("with delta", _set("laws", 0, "tight", "delta", 0.01), "larger delta than the certificate says"),
        ("randomised response", _set("laws", 0, "law", "keep", "9999999999999999"), "is not \\(1, 0\\)-private"),
        ("randomised response", _set("laws", 0, "law", "keep", "-1"), "law.keep must be a whole number"),
        ("bits", _set("laws", 0, "law", "flip", "1"), "is not \\(1, 0\\)-private: inputs 0 and 7"),
        ("bits", _set("laws", 0, "law", "stay", "-1"), "law.stay must be a whole number"),
        ("matrix", _set("laws", 0, "law", "rows", 0, 0, "5"), "does not sum to its total"),
        ("matrix", _set("laws", 0, "law", "rows", 0, ["8", "0", "0", "0"]), "-private"),
        ("matrix", _set("laws", 0, "law", "rows", 0, ["9", "-1", "0", "0"]), "law.rows must be a whole number"),
        ("neighbours", _set("laws", 0, "law", "neighbours", []), "-private"),
        ("metric privacy", _set("laws", 0, "distances", 0, 1, "1/100"), "distances must be symmetric"),
        (
            "metric privacy",
            _set("laws", 0, "law", {"kind": "bits", "bits": 2, "stay": "2", "flip": "1"}),
            "for each input",
        ),
        ("matrix", _set("laws", 0, "law", "kind", "poem"), "law is of a kind that is not known"),
        ("matrix", _set("laws", []), "laws must be a list of 1 to"),
        ("matrix", _set("neighbours", "somebody"), "must be 'change-one' or 'add-remove'"),
        ("matrix", _set("version", 2), "version 1"),
        ("matrix", _set("epsilon", "1e999999999"), "must be a number such as"),
        ("matrix", _set("epsilon", "-1"), "must lie between 0 and 1000"),
        ("matrix", _set("epsilon", "2000"), "must lie between 0 and 1000"),
        ("matrix", _set("delta", "2"), "must lie between 0 and 1"),
        ("matrix", _set("laws", 0, "epsilon", "nan"), "must be a number such as"),
    ],
)
def test_a_forgery_with_a_new_seal_is_found_where_it_matters(name: str, change, why: str) -> None:
    with pytest.raises(verify_certificate.Refused, match=why):
        check(resealed(CERTIFICATES[name], change))


def test_a_number_written_in_another_way_is_a_change() -> None:
    text = text_of(CERTIFICATES["randomised response"])
    assert "0.9999999999999998" in text
    with pytest.raises(verify_certificate.Refused, match="in its shortest form"):
        check(text.replace("0.9999999999999998", "0.99999999999999979"))


def test_a_name_that_stands_twice_is_refused() -> None:
    """A reader may see the first and a program the last; the seal fits only the last."""
    text = text_of(CERTIFICATES["randomised response"])
    assert text.count(' "epsilon": "1"') == 2
    doubled = text.replace(' "epsilon": "1"', ' "epsilon": "1/10",\n "epsilon": "1"', 1)
    assert json.loads(doubled) == json.loads(text)
    with pytest.raises(verify_certificate.Refused, match="a name occurs twice"):
        check(doubled)


# Seeded coins, releases, sums ----------------------------------------------------------------------------------------


def test_what_was_drawn_with_seeded_coins_is_not_private(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound = CERTIFICATES["randomised response"]
    Certificate(sound.privacy, sound.parts, None, private=False).write(tmp_path / "certificate.json")
    assert verify_certificate.main([str(tmp_path / "certificate.json")]) == 1
    said = capsys.readouterr().out
    assert said.startswith("holds: ") and "not private" in said


def release_of(files: dict[str, str]) -> dict[str, Any]:
    tight = {"epsilon": 1.0, "delta": 0.0, "exact": True}
    return {
        "rows": 4,
        "columns": ["row"],
        "public": [],
        "order": "kept",
        "lattices": {},
        "tight": tight,
        "person": {"rows": 1, "epsilon": 1.0, "delta": 0.0, "tight": tight},
        "files": files,
    }


FILES = "plan.toml", "release.parquet"


def test_files_beside_a_certificate_must_be_the_recorded_ones(tmp_path: Path) -> None:
    sound = CERTIFICATES["randomised response"]
    data = tmp_path / "release.parquet"
    data.write_bytes(b"PAR1 rows PAR1")
    (part,) = sound.parts
    values = list(range(part.law["size"]))
    plan = f'[privacy]\nepsilon = "{sound.privacy.epsilon}"\n[columns.{part.name}]\nspace = "categories"\n'
    (tmp_path / "plan.toml").write_text(f"{plan}values = {values}\n", "utf-8")
    release = release_of({name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in FILES})
    certificate = Certificate(sound.privacy, sound.parts, release).to_json()
    verify_certificate.verify(certificate, tmp_path)
    data.write_bytes(b"PAR1 Rows PAR1")
    with pytest.raises(verify_certificate.Refused, match=r"release\.parquet has changed"):
        verify_certificate.verify(certificate, tmp_path)
    data.unlink()
    with pytest.raises(verify_certificate.Refused, match=r"release\.parquet of the release is missing"):
        verify_certificate.verify(certificate, tmp_path)


@pytest.mark.parametrize("name", ["../secret", "a/b", "a\\b", "/etc/passwd"])
def test_files_elsewhere_are_not_looked_at(name: str, tmp_path: Path) -> None:
    sound = CERTIFICATES["randomised response"]
    certificate = Certificate(sound.privacy, sound.parts, release_of({name: "0"})).to_json()
    with pytest.raises(verify_certificate.Refused, match="is in another folder"):
        verify_certificate.verify(certificate, tmp_path)


def test_the_promises_of_columns_add_up() -> None:
    part = CERTIFICATES["randomised response"].parts[0]
    two = Certificate(Privacy(2), (part, part))
    check(text_of(two))
    assert two.epsilon >= 2 * part.epsilon
    with pytest.raises(InputError, match="more than the row's"):
        Certificate(Privacy("1.9"), (part, part))


def test_sums_of_tight_values_are_rounded_up() -> None:
    from dataclasses import replace

    part = replace(CERTIFICATES["randomised response"].parts[0], epsilon=0.1, delta=0.1, privacy=Privacy("0.1", "0.1"))
    ten = Certificate(Privacy(1, 1), (part,) * 10)
    assert (ten.epsilon, ten.delta) == (1.0, 1.0)
    assert Certificate(Privacy(1, 1), (part, replace(part, epsilon=inf))).epsilon == inf


def test_the_record_says_what_was_proven() -> None:
    record = CERTIFICATES["with delta"].to_json()
    assert (record["epsilon"], record["delta"], record["neighbours"]) == ("1/2", "1/10", "change-one")
    law = record["laws"][0]
    assert law["mechanism"] == "randomised response"
    assert law["source"] == "HLM16, Theorem 10"
    assert Fraction(law["lower_bound"]) <= Fraction(law["error"]) <= Fraction(law["lower_bound"]) * Fraction(1001, 1000)
    assert law["law"]["kind"] == "keep-or-other"
    assert law["tight"]["delta"] == pytest.approx(0.1, abs=1e-12)


def test_an_error_that_has_no_meaning_is_left_out() -> None:
    other = solution_matrix(Categories([0, 1]), [["1/2", "1/2"], ["1/3", "2/3"]], outputs=Categories(["x", "y"]))
    assert certify(other, Privacy(1)).to_json()["laws"][0]["error"] is None


def test_the_law_in_the_record_is_the_law_that_is_drawn() -> None:
    mechanism = discrete_exponential(LINE, 1)
    record = certify(mechanism, Privacy(3)).to_json()["laws"][0]["law"]
    rows = np.array([[int(w) for w in row] for row in record["rows"]])
    assert (rows == mechanism.weights()[0]).all()
    assert int(record["total"]) == mechanism.family.total


# A certificate without private columns costs nothing, so it keeps every promise ---------------------------------------


def test_nothing_costs_nothing() -> None:
    made = Certificate(Privacy(0), ())
    assert (made.epsilon, made.delta) == (0, 0)


# The bytes of a certificate's file: one name a line, in UTF-8, so that people can read it and compare two -------------


def test_a_file_is_indented_and_keeps_its_letters(tmp_path: Path) -> None:
    certificate = certify(randomised_response(Categories(["a", "b"]), Privacy(1)), Privacy(1), name="größe")
    certificate.write(tmp_path / "certificate.json")
    text = (tmp_path / "certificate.json").read_bytes().decode()
    assert text.startswith('{\n "format": "dproof certificate",\n "version": 1,\n') and text.endswith("\n}\n")
    assert '"größe"' in text


# The page on the certificate names every kind of law, and every number of it, that the verifiers know -----------------


PAGE = (Path(__file__).parents[2] / "docs" / "certificate.md").read_text("utf-8")


@pytest.mark.parametrize("kind", [*LAWS, *NOISES])
def test_every_kind_of_law_and_all_its_names_are_on_the_page(kind: str) -> None:
    rows = PAGE.split(f"| `{kind}` |")[1]
    own = "".join(line for n, line in enumerate(rows.splitlines(True)) if n == 0 or line.startswith("| |"))
    for name in {**LAWS, **NOISES}[kind]:
        assert f"`{name.removesuffix('?')}`" in own, name


WRITTEN = [
    Bits(2, 2, 1),
    BlockDesign(6, 7, 3, 1, 3, 1),
    Gaussian(Fraction(2)),
    GaussianSum(Gaussian(Fraction(400)), 9, 2),
    KeepOrOther(3, 2, 1),
    BoundedLattice(3, two_sided(Fraction(2))),
    Lattice(3, two_sided(Fraction(2)), True),
    Matrix(np.array([[3, 1], [1, 3]]), 4),
    OneItem(3, 2, 1),
    PlaneDesign(6, 2, 3, 1),
    RowByRow(KeepOrOther(3, 2, 1), 7),
    RoundedLaw(5, 1, Matrix(np.array([[3, 1], [1, 3]]), 4)),
    SubsetSelection(5, 2, 3, 1),
    Unary(3, 2, 1, 4),
    stairs(Fraction(3), 10),
    two_sided(Fraction(2)),
]


def test_the_readers_know_the_same_kinds() -> None:
    """A curve's law is read with its plan, and the noise of its coefficients with it; vectors are in no plan."""
    assert readers.LAWS.keys() == LAWS.keys() - {"coefficients", "vectors"}
    assert noise_readers.NOISES.keys() == NOISES.keys() - {"convolved", "k-norm"}


@pytest.mark.parametrize("law", WRITTEN, ids=lambda law: law.kind)
def test_the_names_that_are_written_are_those_that_the_verifier_knows(law) -> None:
    names = {name for name in {**LAWS, **NOISES}[law.kind] if not name.endswith("?")}
    assert {"kind", *names} == law.to_json().keys()


@pytest.mark.parametrize("law", WRITTEN, ids=lambda law: law.kind)
def test_what_is_written_is_read_back(law) -> None:
    assert type(law).from_json(law.to_json()).to_json() == law.to_json()


def test_what_is_no_record_is_refused_in_words() -> None:
    from dproof.certification.verify_certificate import Refused

    for wrong in (None, [], "", 1, {}):
        with pytest.raises(Refused, match="must be a record of format, version"):
            certificate_with({})(wrong, "the certificate")
