"""A plan can be changed until somebody has a budget on its table or something was spent: looking changes nothing."""

import shutil

import pytest

from tests.serve.server import make_folder, send, serving

COLUMNS = {"sex": {"drop": True}, "age": {"space": "interval", "low": 0, "high": 99, "missing": 1}}


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_who_looks_at_a_table_does_not_fix_its_plan(tmp_path, delta):
    made = make_folder(tmp_path)
    shutil.copy(tmp_path / "tables" / "people.csv", tmp_path / "tables" / "survey.csv")
    privacy = {"epsilon": "1", "delta": delta}
    with serving(made):

        def saved(epsilon):
            plan = {"privacy": {**privacy, "epsilon": epsilon}, "columns": COLUMNS}
            return send(made, "PUT", "/api/plans/survey", {"plan": plan}, made.carla).status

        assert saved("1") == 200
        for path in ("/", "/tables/survey", "/api/tables", "/api/tables/survey/history"):
            assert send(made, "GET", path, token=made.carla).status == 200
        looked = send(made, "GET", "/api/tables/survey/budget", token=made.carla).json
        assert looked["remaining"]["epsilon"] == 1 and looked["spent"]["epsilon"] == 0
        assert not made.folder.ledger("survey").exists() and saved("2") == 200
        asked = {"sql": "SELECT count(*) AS n FROM data WHERE age > 50", "epsilon": "0.1"}
        assert send(made, "POST", "/api/tables/survey/ask", asked, made.carla).status == 200
        assert saved("1") == 400
        spent = send(made, "GET", "/api/tables/survey/budget", token=made.carla).json
        assert spent.keys() == looked.keys() and spent["remaining"].keys() == looked["remaining"].keys()
        assert spent["budget"]["epsilon"] == 2 and spent["spent"]["epsilon"] >= 0.09
