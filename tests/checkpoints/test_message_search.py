"""What was said in finished turns is found by its words, until it is deleted."""

from pathlib import Path

import pytest

from headrace.checkpoints.message_search import MessageSearch
from headrace.text.tokens import Tokens

from .library import EN, ZH, a_library

pytestmark = pytest.mark.anyio


async def test_messages_of_both_languages_are_found_across_sessions(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        search = MessageSearch(library.journal, Tokens())
        chinese = await library.ask(ZH)
        english = await library.ask(EN)
        assert (await search.search("報銷"))[0].message_id == chinese["user_message_id"]
        best = (await search.search("refund of a travelling expense"))[0]
        assert (best.message_id, best.session_title) == (english["user_message_id"], EN)
        assert 0 < best.score <= 1


@pytest.mark.parametrize("query", ["zebra", "?!", "\x00", "斑马"])
async def test_what_nobody_said_is_not_found(tmp_path: Path, query: str) -> None:
    async with a_library(tmp_path) as library:
        search = MessageSearch(library.journal, Tokens())
        assert await search.search(query) == []
        await library.ask(ZH)
        assert await search.search(query) == []


async def test_a_deleted_session_and_another_tenant_are_not_found(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        search = MessageSearch(library.journal, Tokens())
        asked = await library.ask(EN)
        assert await search.search("travel")
        assert await search.search("travel", tenant_id="other") == []
        await library.sessions.delete(asked["session_id"])
        assert await search.search("travel") == []
