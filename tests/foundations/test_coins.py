"""The coins: cryptographic, never shared between processes or threads, and marked when they are not private."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from dproof import Categories, coins, response_with
from dproof.testing import ScriptedCoins, seeded_coins


def test_the_words_are_the_key_stream_of_aes_256_in_counter_mode() -> None:
    key = bytes(range(32))
    stream = Cipher(AES(key), CTR(bytes(16))).encryptor().update(bytes(80))
    drawn = coins.Coins(key)
    parts = [drawn.words16(3), drawn.words64(4), drawn.words32(5), drawn.words16(11)]
    assert b"".join(part.tobytes() for part in parts) == stream[:80]


def test_long_draws_go_on_where_the_last_tile_ended() -> None:
    key = bytes(32)
    count = (1 << 18) + 12_345  # bytes, more than one tile
    whole = coins.Coins(key).words16(count)
    drawn = coins.Coins(key)
    assert np.array_equal(np.concatenate([drawn.words16(100_001), drawn.words16(count - 100_001)]), whole)


@pytest.mark.parametrize("dtype", ["words16", "words32", "words64"])
def test_none_and_some_words(dtype: str) -> None:
    draw = getattr(coins.current(), dtype)
    assert len(draw(0)) == 0
    assert len(set(draw(64).tolist())) > 32, "not all alike"


def test_each_thread_has_coins_of_its_own() -> None:
    seen: list[tuple[int, bytes]] = []

    def work() -> None:
        mine = coins.current()
        assert mine is coins.current()
        seen.append((id(mine), mine.words64(4).tobytes()))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work()
    assert len({words for _, words in seen}) == 9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes fork here")
def test_forked_workers_draw_different_words() -> None:
    """Four children and their parent, which had drawn before it forked: five different streams."""
    program = """
import os, sys
from dproof import Categories, coins, response_with
mechanism = response_with(Categories(range(250)), "1/250")
coins.current().words64(8)
mechanism.draw_codes(__import__("numpy").zeros(8, "uint8"))
for _ in range(4):
    if os.fork() == 0:
        drawn = mechanism.draw_codes(__import__("numpy").zeros(8, "uint8"))
        os.write(1, (coins.current().words64(4).tobytes().hex() + " " + drawn.tobytes().hex() + "\\n").encode())
        os._exit(0)
for _ in range(4):
    os.wait()
drawn = mechanism.draw_codes(__import__("numpy").zeros(8, "uint8"))
os.write(1, (coins.current().words64(4).tobytes().hex() + " " + drawn.tobytes().hex() + "\\n").encode())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.split("\n") if line]
    assert len(lines) == 5
    assert len({words for words, _ in lines}) == 5
    assert len({drawn for _, drawn in lines}) == 5


def test_two_runs_of_the_same_program_differ() -> None:
    program = "from dproof import coins; print(coins.current().words64(4).tobytes().hex())"
    runs = {subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout for _ in range(2)}
    assert len(runs) == 2


def test_seeded_coins_repeat_and_say_so() -> None:
    def draw(seed: int) -> tuple[list[int], bool]:
        with seeded_coins(seed):
            return response_with(Categories(range(9)), "1/9").draw(list(range(9))), coins.current().private

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert draw(1)[1] is False
    assert coins.current().private is True


def test_seeded_coins_are_taken_away_again_even_after_an_error() -> None:
    before = coins.current()
    with pytest.raises(RuntimeError), seeded_coins(1):
        assert coins.current() is not before
        raise RuntimeError
    assert coins.current() is before


def test_seeded_coins_hold_in_one_thread_only() -> None:
    found = []
    with seeded_coins(1):
        thread = threading.Thread(target=lambda: found.append(coins.current().private))
        thread.start()
        thread.join()
    assert found == [True]


def test_scripted_coins_show_their_words_and_then_zeros() -> None:
    script = ScriptedCoins(np.array([1, 2, 3], np.uint16))
    assert script.words16(3).tolist() == [1, 2, 3]
    assert script.words64(2).tolist() == [0, 0]
    assert script.private is False
