"""Reading laws from files: what is recognised, and how what cannot be read is refused."""

import json
from fractions import Fraction

import numpy as np
import pytest

from dproof import InputError
from dproof.cli.matrix_file import read_matrix

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
ROWS = [[HALF, QUARTER, QUARTER], [QUARTER, HALF, QUARTER]]
PLAIN = "0.5,1/4,0.25\n.25, 5e-1 ,0.25\n"


def read(tmp_path, content, name="law.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_matrix(path)


@pytest.mark.parametrize(
    ("content", "inputs", "outputs"),
    [
        (PLAIN, (0, 1), (0, 1, 2)),
        (PLAIN.replace("\n", "\r\n\r\n"), (0, 1), (0, 1, 2)),
        (PLAIN.replace(",", ";"), (0, 1), (0, 1, 2)),
        (PLAIN.replace(",", "\t"), (0, 1), (0, 1, 2)),
        ("\ufeff" + PLAIN, (0, 1), (0, 1, 2)),
        ("a,b,c\n" + PLAIN, (0, 1), ("a", "b", "c")),
        ('"a, or b",c,d\n' + PLAIN, (0, 1), ("a, or b", "c", "d")),
        ("x,.5,.25,.25\ny,.25,.5,.25\n", ("x", "y"), (0, 1, 2)),
        (",a,b,c\nx,.5,.25,.25\ny,.25,.5,.25\n", ("x", "y"), ("a", "b", "c")),
        ("d,a,b,c\nx,.5,.25,.25\ny,.25,.5,.25\n", ("x", "y"), ("a", "b", "c")),
        (",1,2,3\n1,.5,.25,.25\n2,.25,.5,.25\n", ("1", "2"), ("1", "2", "3")),
        ("d,a,b,c\n0,.5,.25,.25\n7,.25,.5,.25\n", ("0", "7"), ("a", "b", "c")),
        ("a,b,c\nx,.5,.25,.25\ny,.25,.5,.25\n", ("x", "y"), ("a", "b", "c")),
    ],
)
def test_csv(tmp_path, content, inputs, outputs):
    law = read(tmp_path, content)
    assert (law.rows, law.inputs, law.outputs) == (ROWS, inputs, outputs)


def test_one_set_of_labels_serves_a_square_matrix(tmp_path):
    for content in ("a,b\n1,0\n0,1\n", "a,1,0\nb,0,1\n"):
        law = read(tmp_path, content)
        assert law.inputs == law.outputs == ("a", "b")


def test_a_column_is_not_dropped_for_looking_like_labels(tmp_path):
    """Repeated numbers are no labels, and neither are those without which the sums are wrong: the sums will tell."""
    for content in ("d,a,b\n0,.5,.5\n0,.5,.5\n", "d,a,b\n0,.5,.5\n1,.5,.6\n", "0,.5,.5\n1,.5,.5\n"):
        assert len(read(tmp_path, content).outputs) == 3


def test_a_single_output(tmp_path):
    assert read(tmp_path, "out\n1\n1\n").rows == [[1], [1]]
    assert read(tmp_path, "1\n").inputs == (0,)


@pytest.mark.parametrize(
    ("content", "inputs", "outputs"),
    [
        ([[0.5, "1/4", 0.25], ["0.25", 0.5, 0.25]], (0, 1), (0, 1, 2)),
        ({"rows": [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], "inputs": ["x", "y"]}, ("x", "y"), (0, 1, 2)),
        ({"rows": [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], "outputs": [1, 2, 3]}, (0, 1), ("1", "2", "3")),
    ],
)
def test_json(tmp_path, content, inputs, outputs):
    law = read(tmp_path, json.dumps(content), "law.JSON")
    assert (law.rows, law.inputs, law.outputs) == (ROWS, inputs, outputs)


def test_a_decimal_is_exact(tmp_path):
    for content, name in (("0.1,0.9\n", "a.csv"), ("[[0.1, 0.9]]", "a.json")):
        assert read(tmp_path, content, name).rows == [[Fraction(1, 10), Fraction(9, 10)]]


def test_npy(tmp_path):
    np.save(tmp_path / "law.npy", np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]))
    law = read_matrix(tmp_path / "law.npy")
    assert (law.rows, law.inputs, law.outputs) == (ROWS, (0, 1), (0, 1, 2))


def npy(array):
    from io import BytesIO

    file = BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "the file is empty"),
        (" \n\n \n", "the file is empty"),
        (",,\n", "there is no number in it"),
        ("a,b\n", "header row and nothing else"),
        ("0.5,0.5\n0.5\n", "line 2 has 1 entries and line 1 has 2"),
        ("a,b\n0.5,0.5\n\n0.5,0.25,0.25\n", "line 4 has 3 entries and line 2 has 2"),
        ("a,b,c\n0.5,0.5\n0.5,0.5\n", "the header has 3 names for 2 columns"),
        ("0.5,-0.5\n", "line 1, column 2: '-0.5' is negative"),
        ("0.5,O.5\n0.5,0.5\n", "line 1, column 2: 'O.5' is not a finite number"),
        ("x,0.5,0.5\ny,0.5,half\n", "line 2, column 3: 'half' is not"),
        ("0.5,0.5\nnan,0.5\n", "line 2, column 1: 'nan' is not"),
        ("nan,0.5\n0.5,0.5\n", "line 1, column 1: 'nan' is not"),
        ("inf,inf\n0.5,0.5\n", "line 1, column 1: 'inf' is not"),
        ("0.5,1/0\n", "'1/0' is not"),
        ("0.5,1e999\n", "'1e999' is not"),
        ("0,5;0,5\n0,5;0,5\n", "line 2, column 2: '0,5' is not"),
        ("0.5,\n", "line 1, column 2: '' is not"),
        (",a,a\nx,0.5,0.5\n", "two outputs are called 'a'"),
        (",a,b\nx,0.5,0.5\nx,0.5,0.5\n", "two inputs are called 'x'"),
        (",a\x1b[2J,b\nx,0.5,0.5\n", "label 1 of the outputs must be printable"),
        ('"0.5,0.5\n', "line 1: not CSV"),
        ("1" * 200_000 + ",0\n", "line 1: not CSV"),
        ("0." + "1" * 100_000 + ",0.5\n", "label 1 of the inputs must be printable text of at most"),
        ("größe,b\n0.5,0.5\n".encode("latin-1"), "byte 3 is not UTF-8"),
        ("0.5,0.5\n".encode("utf-16"), "byte 1 is not UTF-8"),
        (b"PAR1\0\0\0\0", "binary file"),
        (b"PK\x03\x04\x14\x00\x00\x00", "binary file"),
        (npy(np.array([0.5, 0.5])), "1 dimensions"),
        (npy(np.array([["a", "b"]])), "2 dimensions of <U1"),
        (npy(np.array([[1j, 0]])), "complex"),
        (npy(np.array([[object(), 1]])), "damaged or holds objects"),
        (npy(np.eye(3))[:-5], "damaged"),
        (npy(np.eye(3))[:9], "damaged"),
        (npy(np.zeros((0, 3))), "list of rows"),
        (npy(np.zeros((3, 0))), "list of rows"),
        (npy(np.array([[np.nan, 1]])), "row 1, column 1: 'nan' is not"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_place(tmp_path, content, words):
    with pytest.raises(InputError) as refused:
        read(tmp_path, content)
    assert words in str(refused.value)
    assert str(refused.value).startswith("law.csv: ") and len(str(refused.value)) < 250


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[[0.5, 0.5]", "line 1, column 12: not JSON"),
        ("[[0.5], [0.5, 0.5]]", "row 2 has 2 entries and row 1 has 1"),
        ("[[NaN, 1]]", "row 1, column 1: 'NaN' is not"),
        ("[[Infinity, 1]]", "row 1, column 1: 'Infinity' is not"),
        ("[[true, false]]", "row 1, column 1: 'True' is not"),
        ("[[null, 1]]", "row 1, column 1: 'None' is not"),
        ("[[[1], 1]]", "is not a finite number"),
        ("[[" + "9" * 10_000 + ", 1]]", "is not a finite number"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "list of rows"),
        ("[[]]", "list of rows"),
        ("[1, 2]", "list of rows"),
        ('"text"', "list of rows"),
        ('{"matrix": [[1]]}', 'no list "rows"'),
        ('{"rows": [[1]], "inputs": "x"}', "labels of the inputs must be a list of 1"),
        ('{"rows": [[1], [1]], "outputs": [["x"]]}', "label 1 of the outputs must be printable text"),
    ],
)
def test_json_that_cannot_be_read(tmp_path, content, words):
    with pytest.raises(InputError) as refused:
        read(tmp_path, content, "law.json")
    assert words in str(refused.value)


def test_a_file_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("dproof.cli.matrix_file.LARGEST_MATRIX", 100)
    with pytest.raises(InputError, match="larger than"):
        read(tmp_path, "0.5,0.5\n" * 20)
