"""Whatever is handed to a public function, a mistake is told in one sentence that names the argument."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError
from dproof.local.mechanisms import MECHANISMS
from dproof.local.recipe import certify_row
from dproof.plans import reader
from dproof.survey.form import survey_key

PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 1},
    "columns": {
        "hobby": {"space": "categories", "values": ["Cars", "Chess"]},
        "age": {"space": "interval", "low": 0, "high": 9, "missing": 4},
    },
}
CURVES: dict[str, Any] = {
    "privacy": {"epsilon": 1},
    "columns": {"load": {"space": "curves", "points": 4, "low": 0, "high": 5, "terms": 3}},
}
TABLE = pa.table({"hobby": ["Cars", "Chess"] * 5, "age": [1, 2] * 5})
COUNT = "SELECT count(*) FROM data WHERE hobby = 'Cars'"
LETTERS, SETS, LINE = dp.Categories(["a", "b"]), dp.Subsets(["x", "y"]), dp.Interval(0, 4, 1)
DAY, ONE, WITH_DELTA = dp.Curves(0, 1, 9, 0, 1), dp.Privacy(1), dp.Privacy(1, "1e-6")
RESPONSE = dp.randomised_response(LETTERS, ONE)
RELEASE = dp.sanitise(pa.table({"load": [[1.0, 2.0, 3.0, 4.0]] * 30}), CURVES)
SURVEY = dp.sanitise(TABLE, PLAN)
ANSWER = json.dumps({"survey": survey_key(certify_row(dp.Plan.of(PLAN))), "id": "x", "row": {"hobby": 1, "age": 3}})
SCHEMA = {"hobby": dp.Categories(["Cars", "Chess"])}

# Every public function with arguments that it takes. Mechanism, Plan and Release are made by others of these.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Privacy": (dp.Privacy, {"epsilon": 1, "delta": 0, "neighbours": "change-one"}),
    "Categories": (dp.Categories, {"values": ["a", "b"], "metric": "discrete"}),
    "Subsets": (dp.Subsets, {"values": ["a", "b"], "metric": "symmetric"}),
    "Interval": (dp.Interval, {"low": 0, "high": 4, "step": 1}),
    "Dates": (dp.Dates, {"low": "2024-01-01", "high": "2024-12-31", "step": 1}),
    "Times": (dp.Times, {"low": "08:00", "high": "17:59"}),
    "Vectors": (dp.Vectors, {"axes": [dp.Interval(0, 4, 1)] * 2, "metric": "l1"}),
    "additive_noise": (dp.additive_noise, {"vectors": dp.Vectors([LINE] * 2), "privacy": 1, "noise": "laplace"}),
    "from_program": (
        dp.from_program,
        {
            "program": lambda d, draw: 0,
            "inputs": dp.Table(dp.Categories([0, 1]), 2),
            "outputs": dp.Categories([0, 1]),
        },
    ),
    "Table": (dp.Table, {"space": LINE, "n": 2, "metric": "l2"}),
    "Vectors.encode": (dp.Vectors([LINE] * 2).encode, {"values": [(1, 2)]}),
    "add_space": (dp.add_space, {"name": "interval", "space": dp.Interval}),
    "add_mechanism": (dp.add_mechanism, {"name": "usual_response", "function": dp.randomised_response}),
    "Curves": (dp.Curves, {"start": 0, "stop": 1, "points": 5, "low": 0, "high": 1, "norm": "sup"}),
    "Rows": (dp.Rows, {"columns": {"c": LETTERS}}),
    "randomised_response": (dp.randomised_response, {"space": LETTERS, "privacy": ONE}),
    "response_with": (dp.response_with, {"space": LETTERS, "p": "0.1"}),
    "itemwise_response": (dp.itemwise_response, {"space": SETS, "privacy": ONE}),
    "discrete_exponential": (dp.discrete_exponential, {"space": LETTERS, "k": 1, "neighbours": None}),
    "exponential": (
        dp.exponential,
        {"inputs": LETTERS, "outputs": LETTERS, "utility": [[0, 1], [1, 0]], "epsilon": 1, "base": [1, 1]},
    ),
    "solution_matrix": (
        dp.solution_matrix,
        {"space": LETTERS, "rows": [["0.5", "0.5"]] * 2, "outputs": None, "neighbours": None},
    ),
    "product_sanitisation": (dp.product_sanitisation, {"parent": RESPONSE, "rows": 2, "metric": "l2"}),
    "laplace": (dp.laplace, {"interval": LINE, "privacy": ONE, "scale": None, "clamp": False}),
    "truncated_laplace": (dp.truncated_laplace, {"interval": LINE, "privacy": WITH_DELTA, "clamp": False}),
    "bounded_laplace": (dp.bounded_laplace, {"interval": LINE, "privacy": ONE, "sensitivity": 2}),
    "gaussian": (dp.gaussian, {"interval": LINE, "privacy": WITH_DELTA, "sigma": None, "clamp": False}),
    "staircase": (dp.staircase, {"interval": LINE, "privacy": ONE, "gamma": None, "clamp": False}),
    "unary_encoding": (dp.unary_encoding, {"space": LETTERS, "privacy": ONE, "form": "optimised"}),
    "unary_encoding by probabilities": (dp.unary_encoding, {"space": LETTERS, "p": "1/2", "q": "1/4"}),
    "subset_selection": (dp.subset_selection, {"space": LETTERS, "privacy": ONE, "width": None}),
    "frequency": (dp.frequency, {"space": LETTERS, "privacy": ONE}),
    "one_item": (dp.one_item, {"space": SETS, "privacy": ONE}),
    "Kernel": (dp.Kernel, {"name": "exponential", "length": 1}),
    "expand": (
        dp.expand,
        {"space": DAY, "basis": "cosine", "terms": 3, "radius": None, "box": None, "centre": None},
    ),
    "curve_noise": (dp.curve_noise, {"curves": DAY, "privacy": ONE, "noise": "auto"}),
    "curve_noise by sigma": (dp.curve_noise, {"curves": DAY, "sigma": 10}),
    "design": (
        dp.design,
        {"space": LETTERS, "privacy": ONE, "loss": None, "outputs": None, "prior": None, "unbiased": False}
        | {"metric_privacy": False, "neighbours": None},
    ),
    "design between neighbours": (
        dp.design,
        {"space": LINE, "privacy": ONE, "neighbours": [(0, 1)], "prior": [1] * 5, "metric_privacy": False},
    ),
    "design_row": (
        dp.design_row,
        {"row": dp.Rows({"c": LETTERS, "n": LINE}), "privacy": ONE, "aim": "largest", "weights": None},
    ),
    "compare": (dp.compare, {"space": LETTERS, "privacy": ONE}),
    "lower_bound": (dp.lower_bound, {"space": LETTERS, "privacy": ONE, "outputs": "inside"}),
    "lower_bounds": (dp.lower_bounds, {"space": LETTERS, "privacy": ONE, "outputs": "inside"}),
    "certify": (dp.certify, {"mechanism": RESPONSE, "privacy": ONE, "metric_privacy": False, "name": "row"}),
    "Certificate": (dp.Certificate, {"privacy": ONE, "parts": dp.certify(RESPONSE, ONE).parts}),
    "sufficient_sets": (dp.sufficient_sets, {"mechanism": RESPONSE, "d": "a", "d_prime": "b"}),
    "count_checks": (dp.count_checks, {"mechanism": RESPONSE}),
    "Distribution.probability": (RESPONSE.law("a").probability, {"event": ["a"], "inclusive": "both"}),
    "worst_case": (dp.worst_case, {"mechanism": RESPONSE, "epsilon": 1}),
    "delta_over": (dp.delta_over, {"mechanism": RESPONSE, "epsilon": 1, "sets": [["a"]]}),
    "metric_epsilon": (dp.metric_epsilon, {"mechanism": RESPONSE, "delta": 0}),
    "shuffled": (dp.shuffled, {"local": RESPONSE, "rows": 100, "delta": "1e-6"}),
    "compose": (dp.compose, {"parts": [RESPONSE], "rule": "optimal", "same_value": True}),
    "explain": (dp.explain, {"privacy": ONE, "stake": 100}),
    "Mechanism.then": (RESPONSE.then, {"change": dict.fromkeys(LETTERS.values, 1), "outputs": None}),
    "Mechanism.estimate": (RESPONSE.estimate, {"counts": dict.fromkeys(LETTERS.values, 3), "level": 0.95}),
    "Plan.of": (dp.Plan.of, {"plan": PLAN}),
    "Plan.read": (dp.Plan.read, {"path": "plan.toml"}),
    "Plan.parse": (dp.Plan.parse, {"text": dp.Plan.of(PLAN).text, "name": "plan"}),
    "Plan.from_dict": (dp.Plan.from_dict, {"tables": PLAN}),
    "check": (dp.check, {"source": TABLE, "plan": PLAN, "table": None}),
    "sanitise": (dp.sanitise, {"source": TABLE, "plan": PLAN, "out": None, "table": None, "progress": None}),
    "collect": (
        dp.collect,
        {"plan": PLAN, "out": "new", "send": "https://example.org/in", "texts": None, "paper": False},
    ),
    "adopt": (dp.adopt, {"answers": "answers.jsonl", "plan": PLAN, "out": "new"}),
    "Inbox": (lambda survey, store: dp.Inbox(survey, store).close(), {"survey": "survey", "store": "new"}),
    "load": (dp.load, {"path": "release"}),
    "verify": (dp.verify, {"path": "release"}),
    "Sanitiser": (lambda plan, X: dp.Sanitiser(plan).fit(X), {"plan": PLAN, "X": TABLE}),
    "Release.mean_curve": (
        RELEASE.mean_curve,
        {"column": "load", "where": None, "total": False, "level": 0.95, "target": "table"},
    ),
    "expect": (dp.expect, {"plan": PLAN, "rows": 100, "questions": [COUNT], "way": "ask"}),
    "advise": (dp.advise, {"plan": PLAN, "rows": 100, "questions": [COUNT]}),
    "compare_ways": (dp.compare_ways, {"plan": PLAN, "rows": 100}),
    "shown_ways": (dp.shown_ways, {"told": dp.compare_ways(PLAN, rows=100)}),
    "expected_answers": (dp.expected_answers, {"plan": PLAN, "rows": 100, "questions": [COUNT]}),
    "warnings_before": (dp.warnings_before, {"plan": PLAN}),
    "plan_problems": (dp.plan_problems, {"plan": PLAN}),
    "notebook": (
        dp.notebook,
        {
            "data": "people.csv",
            "plan": PLAN,
            "rows": 100,
            "table": None,
            "title": "x",
            "out": "release",
            "ledger": None,
        },
    ),
    "draft_plan": (dp.draft_plan, {"data": "people.csv", "file": None}),
    "least_epsilon": (
        dp.least_epsilon,
        {"plan": PLAN, "rows": 100, "question": "", "column": "age", "half_width": 5},
    ),
    "header": (dp.header, {"source": TABLE, "plan": PLAN}),
    "dummy_rows": (dp.dummy_rows, {"plan": PLAN, "rows": 2}),
    "plan_keys": (dp.plan_keys, {"space": "interval"}),
    "Curator": (
        dp.Curator,
        {"source": TABLE, "plan": PLAN, "budget": ONE, "ledger": "new", "analysts": None, "analyst": None}
        | {"table": None, "mark": None},
    ),
    "Curator.ask": (
        lambda ledger, **asked: dp.Curator(TABLE, PLAN, ledger=ledger).ask(**asked),
        {"ledger": "new", "asked": COUNT, "epsilon": "0.1", "delta": 0, "accuracy": None, "level": 0.95},
    ),
    "Curator.preview": (
        lambda ledger, **asked: dp.Curator(TABLE, PLAN, ledger=ledger).preview(**asked),
        {"ledger": "new", "asked": COUNT, "epsilon": "0.1", "delta": 0, "accuracy": None, "level": 0.95},
    ),
    "connect": (dp.connect, {"url": "https://data.example.org", "token": "dproof_x"}),
    "Ledger": (
        dp.Ledger,
        {"path": "new", "budget": ONE, "unit": None, "analysts": None, "mark": None, "ceiling": None},
    ),
    "Ledger.debit": (
        lambda path, **spent: dp.Ledger(path, budget=1).debit(**spent),
        {"path": "new", "key": "k", "cost": dp.Privacy("0.1"), "analyst": None},
    ),
    "sensitivity": (dp.sensitivity, {"asked": COUNT, "table": SCHEMA, "neighbours": "change-one", "rows": 1}),
    "declare": (
        dp.declare,
        {"name": "size", "function": len, "claimed": 1, "table": SCHEMA, "neighbours": "change-one", "step": 1},
    ),
    "Open": (dp.Open, {"low": None}),
    "Select.total": (dp.Select().total, {"column": "age"}),
    "Select.mean": (dp.Select().mean, {"column": "age"}),
    "Select.quantile": (dp.Select().quantile, {"column": "age", "probability": "0.5"}),
    "Select.top": (dp.Select().top, {"column": "age", "number": 1}),
    "Select.where": (lambda condition: dp.Select().count().where(condition), {"condition": "age > 3"}),
    "Select.group_by": (lambda column: dp.Select().count().group_by(column), {"column": "hobby"}),
    "Release.query": (
        SURVEY.query,
        {"asked": COUNT.replace("data", "release"), "level": 0.95, "method": "inverse", "target": "table"}
        | {"simultaneous": False},
    ),
    "Release.raw": (SURVEY.raw, {"sql": COUNT.replace("data", "release")}),
    "Release.save": (SURVEY.save, {"out": "new"}),
    "Mechanism.law": (RESPONSE.law, {"value": "a"}),
    "Mechanism.delta": (RESPONSE.delta, {"epsilon": 1}),
    "Mechanism.epsilon": (RESPONSE.epsilon, {"delta": 0}),
    "Mechanism.expected_errors": (RESPONSE.expected_errors, {"loss": None}),
    "Mechanism.draw": (RESPONSE.draw, {"values": ["a"]}),
    "Mechanism.draw_codes": (RESPONSE.draw_codes, {"codes": np.array([0, 1])}),
    "Categories.encode": (LETTERS.encode, {"values": ["a"]}),
    "Subsets.encode": (SETS.encode, {"values": [["x"]]}),
    "Interval.encode": (LINE.encode, {"values": [1]}),
    "Curves.encode": (DAY.encode, {"curves": [[0] * 9]}),
    "Curves.distance": (DAY.distance, {"f": [0] * 9, "g": [1] * 9}),
    "Curves.evaluate": (DAY.evaluate, {"curves": [[0] * 9], "at": [0.5]}),
}

# What is none of the kinds that any argument takes, so that every function must refuse it and say which it is.
NOTHING = (object(), 1j, Exception)
BAD = {
    "None": None,
    "3": 3,
    "-1": -1,
    "huge": 10**400,
    "1e308": 1e308,
    "nan": float("nan"),
    "inf": float("inf"),
    "True": True,
    "int64": np.int64(2),
    "float64": np.float64(0.5),
    "x": "x",
    "empty text": "",
    "bytes": b"x",
    "[]": [],
    "[None]": [None],
    "ragged": [[1, 2], [3]],
    "tuple": ("a", "b", "c"),
    "set": {"zz"},
    "dict": {},
    "odd dict": {3: None},
    "array": np.zeros((2, 2)),
    "space": LETTERS,
    "numbers": LINE,
    "curves": DAY,
    "mechanism": RESPONSE,
    "privacy": ONE,
    "plan": dp.Plan.of(PLAN),
}
# A message may call an argument by another word.
WORDS = {"privacy": ("epsilon", "delta"), "d": ("value",), "d_prime": ("value",), "asked": ("question",)} | {
    "metric": ("distances",), "utility": ("utilities",), "sql": ("question",), "condition": ("question",),
    "X": ("array",), "name": ("kernel",), "ledger": ("path",), "questions": ("question",), "codes": ("codes",),
    "values": ("value",), "value": ("value",), "curves": ("curve",), "where": ("condition",), "loss": ("losses",),
    "half_width": ("half-width",),
}  # fmt: skip
FRESH = count()
ARGUMENTS = [(name, argument) for name, (_, good) in CALLS.items() for argument in good]


def call(name: str, place: Path, /, **wrong: Any) -> Any:
    """Call a function with its good arguments but for some; what it writes goes into a folder of its own."""
    function, good = CALLS[name]
    fresh = count()
    good = {
        key: place / f"{key}{next(fresh)}" if isinstance(value, str) and value == "new" else value
        for key, value in good.items()
    }
    return function(**good | wrong)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, stored once."""
    folder = tmp_path_factory.mktemp("stored") / "release"
    SURVEY.save(folder)
    return folder


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey, made once."""
    folder = tmp_path_factory.mktemp("made") / "survey"
    dp.collect(PLAN, folder)
    return folder


@pytest.fixture
def place(tmp_path: Path, stored: Path, survey: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # a text may be taken for the path of a file
    monkeypatch.setattr(reader, "SPACES", dict(reader.SPACES))  # a name that is taken by chance is not kept
    for kind, known in MECHANISMS.items():
        monkeypatch.setitem(MECHANISMS, kind, dict(known))
    (tmp_path / "plan.toml").write_text(dp.Plan.of(PLAN).text)
    (tmp_path / "answers.jsonl").write_text(ANSWER)
    (tmp_path / "people.csv").write_text("hobby,age\nCars,34\n")
    (tmp_path / "release").symlink_to(stored)
    (tmp_path / "survey").symlink_to(survey)
    return tmp_path


def test_every_public_function_is_tried() -> None:
    tried = {name.partition(".")[0] for name in CALLS}
    kinds = {name: getattr(dp, name) for name in dp.__all__}
    errors = {name for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Exception)}
    others = {"__version__", "sanitize"}  # a text, and the same function again
    others |= {"Answer", "Cell", "Cost", "ReleasePayment", "Standing", "Terms"}  # what others take and give
    assert set(dp.__all__) - errors - others <= tried | {"Mechanism", "Plan", "Release", "Space"}


@pytest.mark.parametrize("name", CALLS)
def test_the_good_arguments_are_good(name: str, place: Path) -> None:
    call(name, place)


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS, ids=lambda part: str(part))
def test_what_is_of_no_kind_is_refused_by_the_name_of_the_argument(name: str, argument: str, place: Path) -> None:
    for nothing in NOTHING:
        if argument in ("function", "progress", "change") and callable(nothing):
            continue
        with pytest.raises(InputError) as told:
            call(name, place, **{argument: nothing})
        message = str(told.value).casefold()
        assert any(word.casefold() in message for word in (argument, *WORDS.get(argument, ()))), message
        assert "\n" not in message and len(message) < 250


@pytest.mark.filterwarnings("ignore::dproof.DproofWarning")
@pytest.mark.parametrize(("name", "argument"), ARGUMENTS, ids=lambda part: str(part))
def test_no_wrong_value_is_stumbled_over(name: str, argument: str, place: Path) -> None:
    for label, bad in BAD.items():
        try:
            call(name, place, **{argument: bad})
        except dp.DproofError as told:
            assert "\n" not in str(told) and len(str(told)) < 400, (label, str(told))


def test_a_number_stands_for_a_promise_everywhere(tmp_path: Path) -> None:
    assert dp.certify(RESPONSE, 1) == dp.certify(RESPONSE, dp.Privacy(1))
    assert dp.randomised_response(LETTERS, "0.5").epsilon() <= 0.5
    assert dp.lower_bound(LETTERS, 1) == dp.lower_bound(LETTERS, ONE)
    with_neighbours = PLAN | {"privacy": {"epsilon": 2, "neighbours": "add-remove"}}
    curator = dp.Curator(TABLE, with_neighbours, ledger=tmp_path / "budget.db", budget=1, analysts={"ann": "0.5"})
    assert curator.ledger.budget == dp.Privacy(1, neighbours="add-remove")


def test_swapped_arguments_are_told() -> None:
    with pytest.raises(InputError, match=r"space must be a space .* not a Privacy"):
        dp.randomised_response(ONE, LETTERS)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"mechanism must be a mechanism.* not an int"):
        dp.certify(1, RESPONSE)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not the class Categories"):
        dp.randomised_response(dp.Categories, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("neighbours", [[[0, 1], [1, 0]], [[1, 0], [0, 1]], np.eye(2), [["a", "b"], ["a"]], []])
def test_neighbours_are_never_guessed(neighbours: Any) -> None:
    with pytest.raises(InputError, match="neighbours"):
        dp.solution_matrix(dp.Categories([0, 1]), [["3/4", "1/4"], ["1/4", "3/4"]], neighbours=neighbours)


def test_neighbours_are_pairs_of_labels_or_a_matrix() -> None:
    space, rows = dp.Categories(["a", "b", "c"]), [[1, 0, 0], ["1/2", "1/2", 0], [0, "1/2", "1/2"]]
    matrix = np.zeros((3, 3), bool)
    matrix[1, 2] = matrix[2, 1] = True
    for said in (matrix, matrix.tolist(), [("b", "c")], [["c", "b"]], {("b", "c")}):
        assert dp.solution_matrix(space, rows, neighbours=said).delta(0) == 0.5
    with pytest.raises(InputError, match="NumPy array"):  # bools that are labels as well
        flags = dp.Categories([True, False])
        dp.solution_matrix(flags, [[1, 0], [0, 1]], neighbours=[[False, True], [True, False]])
    with pytest.raises(InputError, match="symmetric"):
        dp.solution_matrix(space, rows, neighbours=np.triu(matrix))
    with pytest.raises(InputError, match="same label twice"):
        dp.solution_matrix(space, rows, neighbours=[("a", "a")])


def test_a_misspelt_key_is_the_one_that_is_named() -> None:
    with pytest.raises(InputError, match=r"line 2: privacy\.epslon is not a known key; did you mean 'epsilon'\?"):
        dp.Plan.parse('[privacy]\nepslon = 1\n[columns.a]\nspace = "categories"\nvalues = ["x"]\n')


def test_only_near_names_are_suggested() -> None:
    with pytest.raises(InputError, match=r"the function soundex is not supported.*; known are count, proportion, sum"):
        SURVEY.query("SELECT soundex(age) FROM release")
    with pytest.raises(InputError, match="did you mean 'median'"):
        SURVEY.query("SELECT medain(age) FROM release")


@pytest.mark.parametrize(
    "address", ["mysql://me:hush@host/x", "POSTGRESQL://me:hush@host/x", " postgres:/me:hush@host/x"]
)
def test_an_address_that_cannot_be_read_is_not_repeated_with_its_password(address: str) -> None:
    plan = {"privacy": {"epsilon": 1}, "columns": {"x": {"space": "categories", "values": ["a", "b"]}}}
    with pytest.raises(dp.SourceError, match="neither a file nor an address") as refused:
        dp.sanitise(address, plan)
    assert "hush" not in str(refused.value)
