"""What help(), dir() and a misspelt keyword tell at the prompt."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest

import dproof as dp
from dproof import Answer, Cell

FUNCTIONS = [name for name in dp.__all__ if inspect.isfunction(getattr(dp, name))]
ADVICE = {"advise", "expect", "compare_ways", "least_epsilon"}


def test_dir_shows_public_names_only() -> None:
    shown = dir(dp)
    assert set(shown) == {*dp.__all__, *dp._MODULES} and not {"Any", "TYPE_CHECKING", "import_module"} & set(shown)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - ADVICE))
def test_a_docstring_names_every_parameter(name: str) -> None:
    function = getattr(dp, name)
    told = inspect.getdoc(function) or ""
    assert [one for one in inspect.signature(function).parameters if f"`{one}" not in told] == []


def test_help_of_a_curator_shows_what_a_user_calls() -> None:
    shown = {name for name in dir(dp.Curator) if not name.startswith("_")}
    # A server begins a question, and `dproof ask` begins a ledger when a question is understood.
    assert shown - {"begin", "keep_account"} == {"ask", "ask_declared", "curves", "preview", "remaining", "stored"}


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: dp.Privacy(eps=1), "did you mean 'epsilon'?"),  # type: ignore[call-arg]
        (lambda: dp.Privacy(1, neighbors="add-remove"), "did you mean 'neighbours'?"),  # type: ignore[call-arg]
        (lambda: dp.sanitise("people.csv", plam="plan.toml"), "did you mean 'plan'?"),  # type: ignore[call-arg]
        (lambda: dp.Curator("people.csv", "plan.toml", ledgr="b.db"), "did you mean 'ledger'?"),  # type: ignore[call-arg]
        (lambda: dp.Interval(0, 9, stepp=1), "did you mean 'step'?"),  # type: ignore[call-arg]
        (lambda: dp.explain(1, stakes=3), "did you mean 'stake'?"),  # type: ignore[call-arg]
    ],
)
def test_a_keyword_that_is_not_there_is_told_with_the_one_that_was_meant(call: Any, meant: str) -> None:
    with pytest.raises(TypeError, match="there is no keyword") as refused:
        call()
    assert isinstance(refused.value, dp.InputError) and meant in str(refused.value)


def test_a_question_on_wrong_terms_costs_nothing(tmp_path: Path) -> None:
    plan = {"privacy": {"epsilon": 1}, "columns": {"a": {"space": "categories", "values": ["x", "y"]}}}
    curator = dp.Curator(pa.table({"a": ["x"] * 10}), plan, ledger=tmp_path / "b.db")
    with pytest.raises(dp.InputError, match="did you mean 'epsilon'"):
        curator.ask("SELECT count(*) FROM data WHERE a = 'x'", eps=1)  # type: ignore[call-overload]
    assert curator.remaining().epsilon == 1


_ROWS = [{"town": "Bonn", "n": Cell(5.0, 4.0, 6.0, 0.5, 5)}, {"town": "Köln", "n": 3}]
ANSWER = Answer(("town", "n"), _ROWS, notes=("x",))
NOTHING = Answer(("n",), [{"n": Cell(1.0, 0.0, 9.0, 5.0, 1, informative=False)}])


def test_an_answer_is_shown_as_its_table_and_has_columns_of_cells() -> None:
    assert repr(ANSWER) == "town  n\nBonn  5.0 ± 1.0\nKöln  3" and str(ANSWER) == f"{ANSWER!r}\n\nx"
    first, second = ANSWER["n"]
    assert (first.low, second.low, second.estimate, second.high) == (4.0, 3, 3, 3)
    assert [str(cell) for cell in ANSWER["town"]] == ["Bonn", "Köln"]
    with pytest.raises(dp.InputError, match="the answer has no column 'twn'; did you mean 'town'"):
        ANSWER["twn"]


def test_frames_have_no_number_where_there_is_no_information() -> None:
    frame = NOTHING.to_pandas()
    assert frame["n"].dtype == "float64" and frame["n"].isna().all() and frame["n_raw"][0] == 1
    assert NOTHING.to_polars()["n"].dtype == polars.Float64 and NOTHING.to_polars()["n"][0] is None
    assert NOTHING.to_arrow()["n"].type == pa.float64() and NOTHING.to_arrow()["n"].null_count == 1
    assert isinstance(ANSWER.to_pandas(), pandas.DataFrame)


def test_an_explanation_prints_as_the_command_does_and_is_still_a_mapping() -> None:
    explained = dp.explain(dp.Privacy(6))
    assert explained["epsilon"] == 6 and isinstance(explained, dict)
    for part in ("ε = 6", "Beliefs: ", "a belief moves to", "Groups: ", "Take care: ε is above 5"):
        assert part in str(explained)
    assert "<table>" in explained._repr_html_()
