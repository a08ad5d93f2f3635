"""A session with a line, for a test that kills it: `line_process.py FOLDER [again]`.

The first life asks four questions, prints them in one line when all are stored, and holds in the first. The
next one prints the questions in the order in which they were answered.
"""

import asyncio
import sys
from pathlib import Path

from headrace.checkpoints.run_rows import read_unfinished
from tests.checkpoints.toys import Gate, a_stack

QUESTIONS = ("一", "two", "三", "four")


async def begin(folder: Path) -> None:
    gate = Gate()
    async with a_stack(folder, looking=gate) as stack:
        session = (await stack.sessions.create()).id
        for question in QUESTIONS:
            await stack.ask(question, session_id=session, on_busy="queue")
            await gate.reached.wait()
        print(*QUESTIONS, flush=True)
        await asyncio.Event().wait()


async def go_on(folder: Path) -> None:
    async with a_stack(folder) as stack:
        left = await stack.journal.read(read_unfinished)
        await stack.runs.resume_unfinished()
        for row in left:
            await stack.runs.finished(row.id)
        ended = await stack.journal.read(
            lambda c: c.execute(
                "select json_extract(asked, '$.query') from runs order by ended_at, id"
            ).fetchall()
        )
        print(*(query for (query,) in ended))


if __name__ == "__main__":
    asyncio.run((go_on if len(sys.argv) > 2 else begin)(Path(sys.argv[1])))
