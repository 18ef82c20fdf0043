"""Tokens: random, shown once, kept as hashes, over by themselves or by hand."""

import os
import stat
from datetime import UTC, datetime, timedelta

import pytest

from dproof import InputError, Privacy
from dproof.serve.desk import give_budgets
from dproof.serve.tokens import Sessions, Tokens
from tests.serve.server import make_folder, send, serving


@pytest.fixture
def clock():
    class Clock:
        now = datetime(2026, 1, 1, tzinfo=UTC)

        def __call__(self):
            return self.now

    return Clock()


@pytest.fixture
def tokens(tmp_path, clock):
    return Tokens(tmp_path / "tokens.db", clock)


def test_the_file_holds_no_token_and_is_its_owners_alone(tokens, tmp_path):
    texts = [tokens.issue(f"a{n}", "analyst", ["t"])[0] for n in range(3)]
    assert len(set(texts)) == 3
    held = (tmp_path / "tokens.db").read_bytes()
    assert not any(text.encode() in held or text.removeprefix("dproof_").encode() in held for text in texts)
    assert stat.S_IMODE((tmp_path / "tokens.db").stat().st_mode) == 0o600


def test_a_token_is_good_until_it_is_over(tokens, clock):
    text, ann = tokens.issue("ann", "analyst", ["t"], days=2)
    clock.now += timedelta(days=2) - timedelta(seconds=1)
    assert tokens.holder(text) == ann and tokens.by_number(ann.number) == ann
    clock.now += timedelta(seconds=1)
    assert tokens.holder(text) is None and tokens.by_number(ann.number) is None


def test_a_revoked_token_is_over_at_once(tokens):
    text, ann = tokens.issue("ann", "analyst", ["t"])
    other, bob = tokens.issue("bob", "analyst", ["t"])
    tokens.revoke(ann.number)
    assert tokens.holder(text) is None and tokens.holder(other) == bob
    with pytest.raises(InputError, match="no token 1 that could be revoked"):
        tokens.revoke(ann.number)


def test_what_is_no_token_belongs_to_nobody(tokens):
    text, _ = tokens.issue("ann", "analyst", ["t"])
    for guess in ("", "dproof_", text[:-1], text + "A", text.upper(), "é" * 20):
        assert tokens.holder(guess) is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": " "}, "needs the name"),
        ({"role": "king"}, "not for 'king'"),
        ({"days": 0}, "from 1 to 3650"),
        ({"tables": []}, "names the tables"),
    ],
)
def test_bad_input_is_told(tokens, given, words):
    wanted = {"name": "ann", "role": "analyst", "tables": ["t"], "days": 1, **given}
    with pytest.raises(InputError, match=words):
        tokens.issue(wanted["name"], wanted["role"], wanted["tables"], days=wanted["days"])
    assert tokens.holders == []


def test_a_damaged_file_is_told_in_a_sentence(tmp_path):
    (tmp_path / "tokens.db").write_text("no database at all, and longer than a header of one would be" * 10)
    with pytest.raises(InputError, match="cannot be read or written"):
        Tokens(tmp_path / "tokens.db")


def test_what_another_process_changes_is_seen_at_once(tokens, tmp_path):
    text, _ = tokens.issue("ann", "analyst", ["t"])
    for _ in range(20):  # however quickly, and whatever time the file says
        other = Tokens(tmp_path / "tokens.db")
        given, holder = other.issue("bob", "analyst", ["t"])
        os.utime(tmp_path / "tokens.db", ns=(0, 0))
        assert tokens.holder(given) is not None
        other.revoke(holder.number)
        os.utime(tmp_path / "tokens.db", ns=(0, 0))
        assert tokens.holder(given) is None and tokens.holder(text) is not None


def test_a_file_that_is_put_back_counts_from_then_on(tokens, tmp_path):
    text, ann = tokens.issue("ann", "analyst", ["t"])
    saved = (tmp_path / "tokens.db").read_bytes()
    tokens.revoke(ann.number)
    assert tokens.holder(text) is None
    (tmp_path / "copy").write_bytes(saved)
    os.replace(tmp_path / "copy", tmp_path / "tokens.db")
    assert tokens.holder(text) is not None


# Shares of a table's budget, given to analysts ------------------------------------------------------------------------


def test_no_analyst_is_given_more_than_the_promise(tmp_path):
    made = make_folder(tmp_path)
    for budget in (Privacy(9), Privacy(1, "1e-3")):
        with pytest.raises(InputError, match=r"all may spend .* together: give at most that"):
            give_budgets(made.folder, made.tokens, "eve", {"people": budget}, 90)
    assert all(holder.name != "eve" for holder in made.tokens.holders)


# Sessions at the page: nobody ends another's, and a page of another server on the same machine cannot use one ---------


def test_who_signs_in_often_ends_nobodys_session_but_their_own(tmp_path):
    made, sessions = make_folder(tmp_path), Sessions()
    ann, carla = made.tokens.holder(made.ann), made.tokens.holder(made.carla)
    kept, first = sessions.begin(carla), sessions.begin(ann)
    names = [sessions.begin(ann) for _ in range(100)]
    assert sessions.number(kept) == carla.number
    assert sessions.number(first) is None and sessions.number(names[0]) is None
    assert [sessions.number(name) for name in names[-20:]] == [ann.number] * 20


def test_signing_in_is_counted_as_a_request(tmp_path):
    with serving(make_folder(tmp_path), per_second=1, at_once=3, clock=lambda: 0.0) as made:
        told = [send(made, "POST", "/sign-in", f"token={made.ann}".encode()).status for _ in range(4)]
        assert told == [303, 303, 303, 429]


def test_a_page_of_another_port_asks_nothing_of_the_interface_for_programs(tmp_path):
    with serving(make_folder(tmp_path)) as made:
        signed_in = send(made, "POST", "/sign-in", f"token={made.carla}".encode())
        cookie = signed_in.headers["set-cookie"].partition(";")[0]

        def status(path, **headers):
            return send(made, "GET", path, Cookie=cookie, **headers).status

        check = "/api/tables/people/check"  # reads the table, and opens it to analysts
        assert status(check) == status(check, Sec_Fetch_Site="same-origin") == 200
        assert status(check, Sec_Fetch_Site="same-site") == status(check, Sec_Fetch_Site="cross-site") == 403
        assert status(check, Origin="http://127.0.0.1:1") == 403
        assert status("/", Sec_Fetch_Site="cross-site") == 200  # a link to a page may be followed
