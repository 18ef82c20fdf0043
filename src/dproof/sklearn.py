"""Sanitising as a step of scikit-learn: a transformer that follows its conventions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dproof.errors import ArgumentError
from dproof.local.recipe import certify_row
from dproof.plans.plan import Plan
from dproof.releases.sanitise import sanitise
from dproof.tables import open_source
from dproof.tables.engines import numpy_column


class Sanitiser(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Sanitise the columns of a frame or an array as a plan says, row by row.

    `fit` learns nothing from the data: it certifies the law of a row and looks at the names of the columns. Every
    `transform` is a release of its own: the same people transformed twice lose twice. Rows stay in their order, so
    that they fit their labels; whoever publishes the rows should shuffle them.

    Fitted attributes: `law_`, the certified law of a row; `certificate_`, its certificate.

    >>> import numpy as np
    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": [0, 1]}}}
    >>> Sanitiser(plan).fit_transform(np.array([[0], [1], [1]])).shape
    (3, 1)
    """

    def __init__(self, plan: Plan | str | os.PathLike[str] | Mapping[str, Any]) -> None:
        self.plan = plan

    def fit(self, X: Any, y: Any = None) -> Sanitiser:
        """Certify the plan, and check that X has its columns."""
        self.law_ = certify_row(replace(Plan.of(self.plan), order="keep"))
        self.certificate_ = self.law_.certificate()
        names = self._names(X)
        self.n_features_in_ = len(names)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array(names, object)
        return self

    def transform(self, X: Any) -> Any:
        """The sanitised rows: a frame of pandas or Polars for such a frame, an Arrow table for another table, and an
        array of objects for an array."""
        check_is_fitted(self, "law_")
        names = self._names(X)
        given = X if hasattr(X, "columns") else pa.table([numpy_column(column) for column in np.asarray(X).T], names)
        release = sanitise(given, self.law_.plan)
        if type(X).__module__.startswith("polars"):
            return release.to_polars()
        if hasattr(X, "columns"):
            return release.to_pandas().set_axis(X.index) if hasattr(X, "index") else release.to_arrow()
        return np.array([column.to_pylist() for column in release.to_arrow().columns], object).T

    def _names(self, X: Any) -> tuple[str, ...]:
        """The names of X's columns, checked; those of an array are the plan's, in its order."""
        plan = self.law_.plan
        if hasattr(X, "columns"):
            names = open_source(X).names
            plan.check_names(names)
            return names
        expected = tuple(name for column in plan.columns for name in column.sources)
        try:
            shape = np.shape(X)
        except ValueError:  # ragged
            shape = ()
        if len(shape) != 2 or shape[1] != len(expected):
            raise ArgumentError(f"an array needs the plan's {len(expected)} columns, in the order of the plan")
        return expected

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the released columns."""
        check_is_fitted(self, "law_")
        return np.array(self.law_.stored, object)
