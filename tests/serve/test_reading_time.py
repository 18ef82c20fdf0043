"""How long a table is read or opened shows in nothing but whole ticks, however many requests watch it."""

import asyncio
import threading
from contextlib import ExitStack
from functools import partial

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from dproof import Terms
from dproof.serve.desk import Desk
from dproof.serve.service import Rate, Service, Settings, UnderWay, until_tick
from tests.serve.server import make_folder, send, serving, slow_reading

QUESTION = {"sql": "SELECT count(*) AS n FROM data WHERE sex = 'f'", "epsilon": "0.1"}


class Ticks:
    """A clock that stands still, and ticks that pass at once, or when `pass_on` is set."""

    def __init__(self):
        self.now, self.slept, self.is_held = 0.0, [], False
        self.reached, self.pass_on = threading.Event(), threading.Event()

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.reached.set()
        while self.is_held and not self.pass_on.is_set():
            await asyncio.sleep(0.005)
        self.now += seconds

    def settings(self):
        return {"tick": 1.0, "clock": lambda: self.now, "sleep": self.sleep}


async def some_turns():
    """What can go on without a tick has gone on afterwards."""
    for _ in range(50):
        await asyncio.sleep(0.001)


def test_nobody_sees_that_a_table_was_read_before_the_answer_leaves(tmp_path):
    ticks = Ticks()

    def asked(way, token):
        return send(made, "POST", f"/api/tables/people/{way}", QUESTION, token).json

    with serving(make_folder(tmp_path), **ticks.settings()) as made:
        for token in (made.ann, made.bob):
            assert not asked("preview", token)["free"]  # the table is open for both from here on
        ticks.is_held = True
        ticks.reached.clear()
        told = []
        asking = threading.Thread(target=lambda: told.append(asked("ask", made.ann)))
        asking.start()
        try:
            assert ticks.reached.wait(60)  # it is read
            assert not asked("preview", made.ann)["free"] and not asked("preview", made.bob)["free"]
        finally:
            ticks.pass_on.set()
            asking.join(60)
        assert asked("preview", made.bob)["free"] and asked("ask", made.bob)["rows"] == told[0]["rows"]


def test_who_comes_while_a_table_is_opened_waits_for_the_same_tick(tmp_path):
    ticks, made = Ticks(), make_folder(tmp_path)
    desk, ann = Desk(made.folder, made.tokens), made.tokens.holder(made.ann)

    async def watched():
        service = Service(desk, Settings(**ticks.settings()))
        ticks.is_held = True
        opening = asyncio.create_task(service.opened(ann, "people"))
        while not ticks.reached.is_set():
            await asyncio.sleep(0.001)
        assert desk.is_open(desk.askable(ann, "people"))
        watching = asyncio.create_task(service.opened(ann, "people"))
        await some_turns()
        assert not watching.done() and not opening.done()
        ticks.pass_on.set()
        await asyncio.gather(opening, watching)
        assert ticks.slept == [1.0]  # once, for both
        await service.opened(ann, "people")
        assert ticks.slept == [1.0]

    asyncio.run(watched())


@pytest.mark.parametrize("persons", [1, 4], ids=["of a person", "of a table"])
def test_a_question_has_its_turn_until_it_leaves(tmp_path, persons):
    ticks, made, read = Ticks(), make_folder(tmp_path), []
    holders = [made.tokens.issue(f"a{n}", "analyst", ["people"])[1] for n in range(persons)]
    late = holders[0] if persons == 1 else made.tokens.holder(made.ann)  # four of a table have a turn at once

    def reading(seconds):
        def read_it():
            read.append(seconds)
            ticks.now += seconds
            return lambda: lambda: seconds

        return read_it

    async def queued():
        service = Service(Desk(made.folder, made.tokens), Settings(**ticks.settings()))
        ticks.is_held = True
        first = [asyncio.create_task(service.reading(holder, "people", reading(0.0))) for holder in holders]
        while len(ticks.slept) < persons:
            await asyncio.sleep(0.001)
        second = asyncio.create_task(service.reading(late, "people", reading(0.25)))
        await some_turns()
        assert read == [0.0] * persons  # else the end of the second would tell how long the first was read
        ticks.pass_on.set()
        assert await asyncio.gather(*first, second) == [*read[:persons], 0.25]
        assert ticks.slept == [*[1.0] * persons, 0.75]  # ticks of the second count from its turn

    asyncio.run(queued())


def test_a_token_has_so_many_requests_under_way_and_no_more(tmp_path):
    made, under_way = make_folder(tmp_path), UnderWay()
    ann, bob = made.tokens.holder(made.ann), made.tokens.holder(made.bob)
    with ExitStack() as requests:
        for _ in range(32):
            requests.enter_context(under_way.counted(ann))
        with pytest.raises(HTTPException, match="wait for their answers"), under_way.counted(ann):
            pass
        with under_way.counted(bob):
            pass
    with under_way.counted(ann):
        pass


def test_the_work_for_a_person_takes_no_thread_of_another(tmp_path):
    made, go_on = make_folder(tmp_path), threading.Event()
    ann, bob = made.tokens.holder(made.ann), made.tokens.holder(made.bob)

    def waiting():
        assert go_on.wait(60)
        return 1

    async def worked():
        service = Service(Desk(made.folder, made.tokens), Settings())
        under_way = [asyncio.create_task(service.working(ann, waiting)) for _ in range(50)]
        await some_turns()
        assert await service.working(bob, lambda: 2) == 2
        go_on.set()
        assert await asyncio.gather(*under_way) == [1] * 50

    asyncio.run(worked())


def test_free_questions_to_a_slow_table_hold_up_no_other_person(tmp_path, monkeypatch):
    with serving(make_folder(tmp_path)) as made:
        exact = {"sql": "SELECT count(*) AS n FROM data", "epsilon": "0.1"}  # no row can change it, so it is free
        asking = partial(send, made, "POST", "/api/tables/people/ask", exact, made.ann)
        with slow_reading(monkeypatch, [asking] * 45):  # more than there are threads for all
            for _ in range(3):  # while they all come in
                assert send(made, "POST", "/api/tables/people/preview", QUESTION, made.bob).status == 200


# Who asks and goes away before the answer leaves has paid for an answer that is kept ----------------------------------


def test_an_answer_is_stored_though_nobody_waits_for_it(tmp_path):
    made = make_folder(tmp_path)
    desk, ann = Desk(made.folder, made.tokens), made.tokens.holder(made.ann)
    question = "SELECT count(*) AS n FROM data WHERE sex = 'f'", Terms(epsilon="0.1")

    async def asked():
        read, gone = asyncio.Event(), asyncio.Event()

        async def sleep(seconds):
            read.set()
            await gone.wait()

        service = Service(desk, Settings(clock=lambda: 0.0, sleep=sleep))
        table = desk.askable(ann, "people")
        desk.open(table)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(service.reading, ann, "people", lambda: desk.ask(table, *question))
            await read.wait()
            tasks.cancel_scope.cancel()
            gone.set()
        return desk.stored(table, *question)

    assert asyncio.run(asked()) is not None


# When answers leave, on a clock that the test moves -------------------------------------------------------------------


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
