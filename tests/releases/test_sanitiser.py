"""The transformer keeps the conventions of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import dproof as dp
from dproof import InputError

PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 400},
    "columns": {
        "hobby": {"space": "categories", "values": ["Cars", "Chess"]},
        "age": {"space": "interval", "low": 0, "high": 110, "step": 1, "mechanism": "clamped_laplace"},
        "name": {"drop": True},
    },
}
FRAME = pandas.DataFrame(
    {"hobby": ["Cars", "Chess"] * 20, "age": range(20, 60), "name": [f"n{n}" for n in range(40)]},
    index=[f"row {n}" for n in range(40)],
)


def test_parameters_are_kept_and_cloned() -> None:
    sanitiser = dp.Sanitiser(PLAN)
    assert sanitiser.get_params() == {"plan": PLAN}
    copy = clone(sanitiser.fit(FRAME))
    assert copy.get_params() == {"plan": PLAN} and not hasattr(copy, "law_")
    with pytest.raises(NotFittedError):
        copy.transform(FRAME)


def test_fit_certifies_and_looks_at_names_only() -> None:
    sanitiser = dp.Sanitiser(PLAN).fit(FRAME)
    assert sanitiser.n_features_in_ == 3 and sanitiser.feature_names_in_.tolist() == ["hobby", "age", "name"]
    assert sanitiser.certificate_.privacy.epsilon == 400
    assert sanitiser.get_feature_names_out().tolist() == ["hobby", "age"]
    with pytest.raises(InputError, match="does not mention"):
        dp.Sanitiser(PLAN).fit(FRAME.assign(salary=1))
    with pytest.raises(InputError, match="has no column 'age'"):
        sanitiser.transform(FRAME.drop(columns="age"))


def test_rows_stay_with_their_labels_whatever_comes_in() -> None:
    sanitiser = dp.Sanitiser(PLAN).fit(FRAME)
    frame = sanitiser.transform(FRAME)
    assert frame.index.tolist() == FRAME.index.tolist() and frame["hobby"].tolist() == FRAME["hobby"].tolist()
    assert np.abs(frame["age"] - FRAME["age"]).max() < 20
    lazy = sanitiser.transform(polars.from_pandas(FRAME))
    assert isinstance(lazy, polars.DataFrame) and lazy["hobby"].to_list() == FRAME["hobby"].tolist()
    array = dp.Sanitiser(PLAN).fit_transform(FRAME.to_numpy())
    assert array.shape == (40, 2) and array[:, 0].tolist() == FRAME["hobby"].tolist()
    with pytest.raises(InputError, match="the plan's 3 columns"):
        sanitiser.transform(FRAME.to_numpy()[:, :2])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output(kind: str) -> None:
    sanitiser = dp.Sanitiser(PLAN).set_output(transform=kind)
    out = sanitiser.fit_transform(FRAME)
    assert type(out).__module__.startswith(kind) and list(out.columns) == ["hobby", "age"]


def test_inside_a_pipeline_and_a_column_transformer() -> None:
    encode = ColumnTransformer(
        [("hot", OneHotEncoder(), ["hobby"])], remainder="passthrough", verbose_feature_names_out=False
    )
    model = make_pipeline(dp.Sanitiser(PLAN).set_output(transform="pandas"), encode, LogisticRegression())
    labels = FRAME["hobby"] == "Cars"
    assert cross_val_score(model, FRAME, labels, cv=4).min() == 1.0
    named = make_pipeline(dp.Sanitiser(PLAN), OneHotEncoder(sparse_output=False)).fit(FRAME)
    assert named.get_feature_names_out().tolist()[:2] == ["hobby_Cars", "hobby_Chess"]
    only_hobby = {**PLAN, "columns": {"hobby": PLAN["columns"]["hobby"]}}
    columns = ColumnTransformer(
        [
            ("safe", dp.Sanitiser(only_hobby), ["hobby"]),
            ("numbers", "passthrough", make_column_selector(dtype_include="number")),
        ]
    ).set_output(transform="pandas")
    assert columns.fit_transform(FRAME).columns.tolist() == ["safe__hobby", "numbers__age"]


def test_every_transform_draws_afresh() -> None:
    noisy = dp.Sanitiser({**PLAN, "privacy": {"epsilon": 1}}).fit(FRAME)
    assert not noisy.transform(FRAME).equals(noisy.transform(FRAME))
