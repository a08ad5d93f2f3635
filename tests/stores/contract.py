"""What every vector and keyword index has to pass: adapters by name, and what both halves of the suite share.

The suite, `test_vector_index.py` and `test_keyword_index.py`, knows nothing but the protocols. A new adapter
is one more line in `VECTORS` or `KEYWORDS`: a function that opens it over a place of its own, where opening
it again finds what was there.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from pathlib import Path

from headrace.context import IndexEntry, KeywordIndex, Scored, VectorIndex
from headrace.stores.chroma import ChromaVectors
from headrace.stores.tantivy import TantivyKeywords
from headrace.text.tokens import Tokens

OpenVectors = Callable[[Path], AbstractAsyncContextManager[VectorIndex]]
OpenKeywords = Callable[[Path, Tokens], AbstractAsyncContextManager[KeywordIndex]]


@asynccontextmanager
async def chroma(place: Path) -> AsyncGenerator[VectorIndex]:
    opened = ChromaVectors(place)
    yield opened
    await opened.close()


@asynccontextmanager
async def tantivy(place: Path, tokens: Tokens) -> AsyncGenerator[KeywordIndex]:
    opened = TantivyKeywords(place, tokens)
    yield opened
    await opened.close()


VECTORS: dict[str, OpenVectors] = {"chroma": chroma}
KEYWORDS: dict[str, OpenKeywords] = {"tantivy": tantivy}

TEXTS = {
    "leave-zh": "员工工作满一年后，每年享受带薪年假十天。",
    "sick-zh": "病假须在当日上午十点前通知主管，并提交医院证明。",
    "leave-en": "Employees receive ten days of annual leave after one year of service.",
    "sick-en": "Sick leave must be reported to the manager before 10 am.",
    "hant": "臺灣的軟體工程師使用資訊系統。",
}
# Texts and questions that a person may come with, however seldom.
ODD = {
    "one Han character": "假",
    "one letter": "x",
    "emoji": "😀👩\u200d👩\u200d👧",
    "Arabic": "إجازة سنوية لمدة عشرة أيام",
    "Japanese": "年次有給休暇は何日ありますか",
    "stop words": "the of and to it is",
    "Chinese stop words": "的了吗呢",
    "zero width": "\u200b\u200c\u200d\ufeff",
    "controls": "\0\x01\x7f leave",
    "nothing": "",
    "long": "年假有几天 无关的词语 other words " * 400,
}


@cache
def shared_tokens() -> Tokens:
    return Tokens()


def an_entry(
    chunk_id: str,
    text: str = "年假 leave",
    *,
    document: str = "d1",
    vector: Sequence[float] = (),
    kind: str = "text",
) -> IndexEntry:
    return IndexEntry(chunk_id=chunk_id, document_id=document, text=text, vector=vector, kind=kind)


def ids_of(hits: Sequence[Scored]) -> list[str]:
    return [hit.chunk_id for hit in hits]
