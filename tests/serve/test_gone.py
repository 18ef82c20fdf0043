"""Who asks and goes away before the answer leaves has paid for an answer that is kept."""

import asyncio

import anyio

from dproof import Terms
from dproof.serve.desk import Desk
from dproof.serve.service import Service, Settings
from tests.serve.server import make_folder


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
