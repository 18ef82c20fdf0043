"""When answers leave, on a clock that the test moves."""

from hypothesis import given
from hypothesis import strategies as st

from dproof.serve.service import Rate, until_tick


@given(st.floats(0, 1000), st.floats(0.05, 60))
def test_an_answer_leaves_a_whole_number_of_ticks_after_its_question(spent, tick):
    waits = until_tick(spent, tick)
    ticks = (spent + waits) / tick
    assert -1e-9 <= waits <= tick + 1e-9
    assert abs(ticks - round(ticks)) < 1e-6 and round(ticks) >= 1


def test_all_that_is_done_within_a_tick_leaves_at_the_same_time():
    assert {round(spent + until_tick(spent, 1), 6) for spent in (0.001, 0.2, 0.5, 0.999)} == {1}


def test_a_rate_fills_up_again_with_time():
    now = [0.0]
    rate = Rate(per_second=2, at_once=3, clock=lambda: now[0])
    assert [rate.allows("ann") for _ in range(4)] == [True, True, True, False]
    now[0] = 0.5  # one more
    assert [rate.allows("ann") for _ in range(2)] == [True, False]
    now[0] = 100  # no more than at once
    assert [rate.allows("ann") for _ in range(4)] == [True, True, True, False]


def test_only_so_many_keys_are_remembered():
    rate = Rate(1, 1, clock=lambda: 0.0)
    for n in range(10_001):
        assert rate.allows(str(n))
    assert rate.allows("0") and not rate.allows("10000")
