"""An assistant may pay with a δ, as the budget in words tells it to."""

import pytest

import dproof as dp
from dproof.serve.custody import check_table
from dproof.serve.desk import give_budgets
from dproof.serve.mcp import tools_of
from tests.serve.server import PLAN, make_folder, send, serving

SQL = "SELECT count(*) AS n FROM data WHERE sex = 'f'"
PRICE = {"epsilon": "0.1", "delta": "1e-7"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    made = make_folder(tmp_path_factory.mktemp("served"))
    (made.root / "plans" / "people.toml").write_text(PLAN.replace('epsilon = "2"', 'epsilon = "2"\ndelta = "1e-5"'))
    made.folder.ledger("people").unlink()
    made.dan, _ = give_budgets(made.folder, made.tokens, "dan", {"people": dp.Privacy(1, "1e-6")}, 90)
    check_table(made.folder, "people")
    with serving(made) as served:
        yield served


def tools(made):
    return {tool.__name__: tool for tool in tools_of(dp.connect(f"http://127.0.0.1:{made.port}", made.dan))}


def test_the_tools_take_the_delta_that_the_budget_names(made):
    assert "each asked with a δ" in tools(made)["budget"]("people")
    assert "costs epsilon 0.1 and delta 0.0000001" in tools(made)["preview"]("people", SQL, **PRICE)
    assert "It cost epsilon 0.1 and delta 0.0000001" in tools(made)["ask"]("people", SQL, **PRICE)
    assert dp.Ledger(made.folder.ledger("people")).spent("dan").delta > 0


@pytest.mark.parametrize("delta", ["two", "-1", "1"])
def test_a_delta_is_refused_in_the_words_of_the_service(made, delta):
    asked = {"sql": SQL, "epsilon": "0.1", "delta": delta}
    for tool in ("preview", "ask"):
        refused = send(made, "POST", f"/api/tables/people/{tool}", asked, made.dan)
        assert refused.status == 400
        with pytest.raises(dp.InputError) as told:
            tools(made)[tool]("people", **asked)
        assert str(told.value) == refused.json["error"] and "delta" in str(told.value)


def test_a_question_with_delta_goes_over_the_protocol(made):
    pytest.importorskip("mcp", reason="the SDK is not installed")
    call = {"name": "preview", "arguments": {"table": "people", "sql": SQL, **PRICE}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    sent = send(made, "POST", "/mcp", body, made.dan, Accept="application/json, text/event-stream")
    assert "Gaussian noise" in sent.json["result"]["content"][0]["text"]
