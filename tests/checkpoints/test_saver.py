"""JournalSaver under LangGraph's own conformance suite, and what the suite does not ask."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from headrace.checkpoints.journal import open_journal
from headrace.checkpoints.saver import JournalSaver

pytestmark = pytest.mark.anyio


async def test_passes_the_official_conformance_suite_in_full(tmp_path: Path) -> None:
    async def a_saver() -> AsyncGenerator[JournalSaver]:
        async with open_journal(tmp_path / "journal.sqlite") as journal:
            yield JournalSaver(journal)

    report = await validate(checkpointer_test("JournalSaver")(a_saver))

    missed = {name: result.failures for name, result in report.results.items() if not result.passed}
    assert missed == {}
    assert len(report.results) == 8
