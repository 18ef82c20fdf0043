"""Shares of a table's budget, given to analysts."""

import pytest

from dproof import InputError, Privacy
from dproof.serve.desk import give_budgets
from tests.serve.server import make_folder


def test_no_analyst_is_given_more_than_the_promise(tmp_path):
    made = make_folder(tmp_path)
    for budget in (Privacy(9), Privacy(1, "1e-3")):
        with pytest.raises(InputError, match=r"all may spend .* together: give at most that"):
            give_budgets(made.folder, made.tokens, "eve", {"people": budget}, 90)
    assert all(holder.name != "eve" for holder in made.tokens.holders)
