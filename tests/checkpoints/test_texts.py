"""Kept texts: what a past run shows stays as it was."""

from pathlib import Path

import pytest

from headrace.checkpoints.journal import open_journal
from headrace.checkpoints.texts import KeptTexts

pytestmark = pytest.mark.anyio


async def test_texts_come_back_by_hash_each_stored_once(tmp_path: Path) -> None:
    given = ["水从渠中来。", "Water comes down.", "水从渠中来。", "", "half \ud83d a pair"]
    async with open_journal(tmp_path / "journal.sqlite") as journal:
        texts = KeptTexts(journal)
        hashes = await texts.keep(given)
        await texts.keep(given)

        found = await texts.read(hashes)
        (count,) = await journal.read(lambda c: c.execute("select count(*) from passages").fetchone())

    assert [found[hash] for hash in hashes] == given
    assert count == 4


async def test_texts_that_are_gone_are_left_out(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "journal.sqlite") as journal:
        texts = KeptTexts(journal)
        assert await texts.read(["0" * 64]) == {}
        assert await texts.read([]) == {}
        assert await texts.keep([]) == []
