"""Tokens: random, shown once, kept as hashes, over by themselves or by hand."""

import os
import stat
from datetime import UTC, datetime, timedelta

import pytest

from dproof import InputError
from dproof.serve.tokens import Tokens


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
