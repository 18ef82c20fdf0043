"""`dproof.connect`: where a token goes, and where it does not."""

import pytest

import dproof as dp
from dproof import InputError
from tests.serve.server import make_folder, serving


def test_a_token_from_a_file_may_end_with_its_line(tmp_path):
    with serving(make_folder(tmp_path)) as made:
        found = dp.connect(f"http://127.0.0.1:{made.port}", f"{made.ann}\n").tables()
    assert [one["name"] for one in found] == ["people"]


@pytest.mark.parametrize("token", ["dproof_ab\ncd", "dproof_é", "dproof_—"])
def test_what_is_no_token_is_refused_and_not_quoted(token):
    with pytest.raises(InputError, match="token is none that a server gave") as refused:
        dp.connect("http://127.0.0.1:1", token)
    assert "dproof_" not in str(refused.value)


def test_an_address_that_is_none_gets_a_sentence():
    with pytest.raises(InputError, match="url"):
        dp.connect("http://[", "dproof_x")


def test_no_proxy_sees_a_token_that_goes_without_tls(tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # nothing is there: whoever goes that way fails
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(make_folder(tmp_path)) as made:
        assert dp.connect(f"http://127.0.0.1:{made.port}", made.ann).tables()


@pytest.mark.parametrize(
    ("sql", "epsilon", "kind"),
    [
        ("SELECT nothing FROM data", "0.1", dp.QuestionError),
        ("SELECT count(*) AS n FROM data WHERE sex = 'f'", "99", dp.OverBudget),
        ("SELECT count(*) AS n FROM data WHERE sex = 'f'", "-1", dp.ArgumentError),
    ],
)
def test_a_refusal_is_the_error_that_a_curator_raises(tmp_path, sql, epsilon, kind):
    with serving(make_folder(tmp_path)) as made, pytest.raises(kind) as refused:
        dp.connect(f"http://127.0.0.1:{made.port}", made.ann).table("people").ask(sql, epsilon=epsilon)
    assert type(refused.value) is kind
