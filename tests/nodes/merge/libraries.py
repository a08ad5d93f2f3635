"""Documents thrown together at random, cut by the real chunker, found in part, edited in part."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langgraph.runtime import Runtime

from headrace.context import Chunk, FaqEntry
from headrace.ingest.chunking import chunk
from headrace.ingest.parsed import Block, Parsed, row_line
from headrace.nodes.merge_chunks import merge_chunks
from headrace.state import Hit, Update
from headrace.text.tokens import Tokens

from ...fakes import World, a_document, a_hit, a_kb, a_turn, asked

TOKENS = Tokens()
MARK = re.compile(r"〔[^〕]*〕")  # each sentence has one of its own
HAN = "差旅报销标准员工每年住宿审批部门天数不得超过会议合同设备检修安全仓库采购验收编号温度压力阀泵管道"
LATIN = "abcdefghijklmnopqrstuvwxyz"
ROWS = [("水泵", "12"), ("pump", "12"), ("valve", "7")]  # tables repeat them


@dataclass
class Library:
    """`texts` are the documents as they were cut, by id; `found` what a search has handed to merging."""

    world: World = field(default_factory=World)
    texts: dict[str, str] = field(default_factory=dict[str, str])
    found: list[Hit] = field(default_factory=list[Hit])
    edited: set[str] = field(default_factory=set[str])
    history: list[Hit] = field(default_factory=list[Hit])

    @property
    def chunks(self) -> Mapping[str, Chunk]:
        return self.world.catalogue.all_chunks

    async def merged(self, hits: Sequence[Hit] | None = None) -> Update:
        request = asked("差旅 travel", rerank_top_k=100)
        turns = [a_turn("earlier 之前", references=self.history)] if self.history else []
        state: Any = {
            "request": request,
            "history": turns,
            "ranked": list(self.found if hits is None else hits),
        }
        context = replace(self.world.context(), tokens=TOKENS)
        return await merge_chunks(state, Runtime(context=context))

    async def read(self, hits: Sequence[Hit]) -> dict[str, str]:
        texts = await self.world.passages.read(hits)
        return {hit["chunk_id"]: text or "" for hit, text in zip(hits, texts, strict=True)}


def a_library(chance: random.Random) -> Library:
    library = Library()
    library.world.catalogue.all_kbs["kb1"] = a_kb()
    for number in range(chance.randrange(1, 4)):
        _add_document(library, f"d{number}", chance)
    for number in range(chance.randrange(3)):
        _add_entry(library, f"faq{number}", chance)
    _edit(library, chance)
    searched = [one for one in library.chunks.values() if one.kind not in ("parent", "question")]
    count = chance.randrange(1, len(searched) + 1)
    library.found = [_hit(one, chance) for one in chance.sample(searched, count)]
    chance.shuffle(library.found)
    library.history = [_hit(one, chance) for one in chance.sample(searched, min(len(searched), 2))]
    return library


def sentence(name: str, chance: random.Random, letters: str) -> str:
    """Of so many words that only copies are alike."""
    said = ["".join(chance.choices(letters, k=4)) for _ in range(chance.randrange(3, 12))]
    return f"〔{name}〕{''.join(said)}。" if letters is HAN else f"〔{name}〕 {' '.join(said)}. "


def blocks(name: str, chance: random.Random) -> list[Block]:
    made: list[Block] = []
    numbers = iter(range(1_000))
    letters = chance.choice([HAN, LATIN])
    for _ in range(chance.randrange(1, 12)):
        match chance.choice(["heading", "text", "text", "text", "table"]):
            case "heading":
                made.append(Block(kind="heading", text=f"〔{name}.{next(numbers)}〕 总则", level=2))
            case "table":
                header = row_line([f"〔{name}.{next(numbers)}〕设备", "数量"])
                rows = [row_line(chance.choice(ROWS)) for _ in range(chance.randrange(1, 60))]
                made.append(Block(kind="table", text="\n".join([header, *rows])))
            case _:
                said = [
                    sentence(f"{name}.{next(numbers)}", chance, letters)
                    for _ in range(chance.randrange(1, 20))
                ]
                made.append(Block(kind="text", text="".join(said)))
    return made


def _add_document(library: Library, id: str, chance: random.Random) -> None:
    made = blocks(id, chance)
    cut = chunk(Parsed(blocks=made), kb_id="kb1", document_id=id, revision=1)
    without_parents = chance.random() < 0.3
    library.texts[id] = "\n".join(block.text for block in made)
    library.world.catalogue.all_documents[id] = a_document(id)
    for one in cut.children:
        kept = replace(one, parent_chunk_id=None) if without_parents else one
        library.world.catalogue.all_chunks[one.id] = kept
    for one in cut.parents:
        if chance.random() < 0.9:  # the others cannot be read
            library.world.catalogue.all_chunks[one.id] = replace(one, enabled=chance.random() < 0.9)


def _add_entry(library: Library, id: str, chance: random.Random) -> None:
    answers = [sentence(f"{id}.{n}", chance, HAN).strip() for n in range(chance.randrange(1, 4))]
    strategy: Any = chance.choice(["all", "first", "random"])
    entry = FaqEntry(
        id=id, kb_id="kb1", question=f"〔{id}〕怎么报销？", answers=answers, answer_strategy=strategy
    )
    library.world.catalogue.all_entries[id] = entry
    library.world.catalogue.all_documents[id] = a_document(id)
    text = "\n\n".join([entry.question, "\n".join(answers)])
    library.world.catalogue.all_chunks[id] = Chunk(
        id=id, revision=1, kb_id="kb1", document_id=id, kind="faq", chunk_index=0, text=text
    )


def _edit(library: Library, chance: random.Random) -> None:
    """Some texts are written anew, and some links lead where they should not."""
    for id, one in list(library.chunks.items()):
        if one.kind == "faq":
            continue
        if one.kind != "parent" and chance.random() < 0.1:
            edited = replace(
                one, text=sentence(f"{id} edited", chance, LATIN).strip(), revision=2, entry_id=f"e{id}"
            )
            library.world.catalogue.all_chunks[id] = edited
            library.edited.add(id)
        elif chance.random() < 0.05:
            anywhere = chance.choice(list(library.chunks))
            library.world.catalogue.all_chunks[id] = replace(one, next_chunk_id=anywhere, pre_chunk_id=id)


def _hit(one: Chunk, chance: random.Random) -> Hit:
    return a_hit(
        one.id,
        score=round(chance.random(), 1),  # ties are common
        chunk_revision=one.revision,
        document_id=one.document_id,
        kind=one.kind,
        chunk_index=one.chunk_index,
    )
