import hashlib
from collections.abc import Mapping, Sequence

import pytest

from headrace.context import Chunk, Document, KnowledgeBase
from headrace.state import Hit, Source
from headrace.stores.passages import RunPassages

pytestmark = pytest.mark.anyio


class FewChunks:
    def __init__(self, *chunks: Chunk) -> None:
        self._chunks = {chunk.id: chunk for chunk in chunks}

    async def kbs(self, ids: Sequence[str]) -> Mapping[str, KnowledgeBase]:
        return {}

    async def documents(self, ids: Sequence[str]) -> Mapping[str, Document]:
        return {}

    async def chunks(self, ids: Sequence[str]) -> Mapping[str, Chunk]:
        return {id: self._chunks[id] for id in ids if id in self._chunks}


class TextsInMemory:
    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    async def keep(self, texts: Sequence[str]) -> list[str]:
        hashes = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        self._texts.update(zip(hashes, texts, strict=True))
        return hashes

    async def read(self, hashes: Sequence[str]) -> dict[str, str]:
        return {hash: self._texts[hash] for hash in hashes if hash in self._texts}


def a_chunk(id: str, text: str, *, revision: int = 1) -> Chunk:
    return Chunk(id=id, revision=revision, kb_id="kb", document_id="d", kind="text", chunk_index=0, text=text)


def a_hit(chunk_id: str, *, revision: int = 1, passage: str | None = None) -> Hit:
    hit = Hit(
        chunk_id=chunk_id,
        chunk_revision=revision,
        kb_id="kb",
        document_id="d",
        kind="text",
        match_type="both",
        chunk_index=0,
        score=0.5,
        scores={},
        ranks={},
        marks=[],
        sub_chunk_ids=[],
        source=Source(page=None, boxes=[], section=None, url=None),
    )
    return hit if passage is None else {**hit, "passage": passage}


async def test_texts_come_in_the_order_of_the_hits() -> None:
    passages = RunPassages(FewChunks(a_chunk("a", "年假十天"), a_chunk("b", "Sick leave")), TextsInMemory())
    assert await passages.read([a_hit("b"), a_hit("a"), a_hit("b")]) == [
        "Sick leave",
        "年假十天",
        "Sick leave",
    ]


async def test_a_kept_passage_wins_over_the_chunk() -> None:
    passages = RunPassages(FewChunks(a_chunk("a", "年假十天")), TextsInMemory())
    (hash,) = await passages.keep(["年假十天。\n病假另计。"])
    assert await passages.read([a_hit("a", passage=hash), a_hit("a")]) == [
        "年假十天。\n病假另计。",
        "年假十天",
    ]


async def test_what_is_gone_or_was_edited_is_none() -> None:
    passages = RunPassages(FewChunks(a_chunk("a", "新的 text", revision=2)), TextsInMemory())
    assert await passages.read([a_hit("a"), a_hit("gone"), a_hit("a", passage="0" * 64)]) == [
        None,
        None,
        None,
    ]


async def test_nothing_to_read_or_keep_is_fine() -> None:
    passages = RunPassages(FewChunks(), TextsInMemory())
    assert await passages.read([]) == []
    assert await passages.keep([]) == []
