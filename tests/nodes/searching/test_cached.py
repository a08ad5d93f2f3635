"""A search that was made before: when it stands, when it does not, and what a run says of it."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.runtime import Runtime

from headrace.context import Context, KnowledgeBase, SearchStore
from headrace.errors import DependencyFailed
from headrace.ingest.faq import FaqDraft
from headrace.nodes.rerank import rerank
from headrace.nodes.search_chunks import search_chunks
from headrace.nodes.searching.cached import cached_search, worth_keeping
from headrace.nodes.searching.hybrid import hybrid_search
from headrace.nodes.searching.search import Found, Search, search_for
from headrace.nodes.understand_query import understand_query
from headrace.state import Departure, Update
from headrace.stores.caches import CachedEmbedder, CachedReranker, ProcessCaches

from ...fakes import FakeEmbedder, FakeReranker, ScriptedChat, World, a_chunk, a_context, a_hit, a_kb, asked
from ...ingest.places import Place, a_place

pytestmark = pytest.mark.anyio

SEARCH = Search(query="差旅 travel", kb_ids=["kb1"])


class Kept:
    """One process and its runs over a small world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.caches = ProcessCaches()
        self.changing = False

    def run(self, **parts: Any) -> Context:
        kept = self.caches.of_run(lambda: self.changing)
        context = self.world.context(**parts)
        reranker = context.reranker
        return replace(
            context,
            embedder=CachedEmbedder(context.embedder, self.caches.embeddings, kept.used),
            reranker=CachedReranker(reranker, self.caches.rerank, kept.used) if reranker else None,
            caches=kept,
        )

    async def search(self, search: Search = SEARCH, *, tenant_id: str = "default") -> tuple[Found, str]:
        context = self.run()
        found = await cached_search(context, search, tenant_id=tenant_id)
        assert context.caches is not None
        return found, context.caches.used["query"]


async def a_library() -> Kept:
    world = World()
    await world.add(a_chunk("a", "差旅 travel"), a_chunk("b", "travel expenses 差旅报销", document_id="d2"))
    return Kept(world)


def newer(kb: KnowledgeBase) -> KnowledgeBase:
    return replace(kb, version=kb.version + 1)


async def test_the_same_search_is_made_once_and_tells_all_it_found_again() -> None:
    kept = await a_library()
    first, second = await kept.search(), await kept.search()
    assert (first[1], second[1]) == ("miss", "hit")
    assert second[0] == replace(first[0], calls=[])
    assert [call["role"] for call in first[0].calls] == ["embedding"]


@pytest.mark.parametrize(
    "other",
    [
        {"query": "差旅"},
        {"match_count": 7},
        {"fusion": "rrf"},
        {"vector_threshold": 0.1},
        {"document_ids": ["d2"]},
        {"faq_answers": True},
    ],
)
async def test_another_question_scope_or_setting_is_another_search(other: dict[str, Any]) -> None:
    kept = await a_library()
    await kept.search()
    assert (await kept.search(replace(SEARCH, **other)))[1] == "miss"


async def test_any_change_of_a_knowledge_base_is_another_search() -> None:
    kept = await a_library()
    await kept.search()
    kbs = kept.world.catalogue.all_kbs
    kbs["kb1"] = newer(kbs["kb1"])
    assert (await kept.search())[1] == "miss"
    kbs["kb2"] = newer(a_kb("kb2"))
    assert (await kept.search())[1] == "hit"


async def test_nobody_gets_what_another_tenant_has_found() -> None:
    kept = await a_library()
    await kept.search()
    assert (await kept.search(tenant_id="other"))[1] == "miss"


async def test_a_text_known_from_another_search_needs_no_embedder() -> None:
    kept = await a_library()
    await kept.search()
    found, _ = await kept.search(replace(SEARCH, match_count=9))
    assert found.calls == []


@pytest.mark.parametrize(
    "found",
    [
        Found(hits=[]),
        Found(hits=[a_hit(score=0.29)]),
        Found(hits=[a_hit()], failures=[DependencyFailed("x", "down")]),
        Found(
            hits=[a_hit()],
            departures=[Departure(chunk_id="x", stage="search_chunks", reason="gone", score=0.1, limit=None)],
        ),
    ],
)
async def test_poor_results_and_those_of_a_search_that_went_ill_are_not_kept(found: Found) -> None:
    assert not worth_keeping(found)
    assert worth_keeping(Found(hits=[a_hit(score=0.3)]))


async def test_what_was_found_while_the_indexes_were_changed_is_not_kept() -> None:
    kept = await a_library()
    kept.changing = True
    await kept.search()
    kept.changing = False
    assert (await kept.search())[1] == "miss"
    assert (await kept.search())[1] == "hit"


async def test_without_caches_every_search_is_made() -> None:
    context = a_context()
    assert context.caches is None
    assert (await cached_search(context, SEARCH, tenant_id="t")).hits == []


# --- stages ---


async def stage(node: Any, context: Context, **state: Any) -> Update:
    given: Any = {"request": asked("差旅 travel"), **state}
    return await node(given, Runtime(context=context))


async def test_stages_say_what_they_had_from_caches_and_name_only_the_calls_they_made() -> None:
    kept = await a_library()
    judge = FakeReranker({"expenses": 0.9}, rest=0.5)
    told: list[tuple[Any, int]] = []
    for _ in range(2):
        context = kept.run(reranker=judge)
        found = await stage(search_chunks, context)
        ranked = await stage(rerank, context, hits=found.get("chunk_hits", []))
        told += [(update.get("cached"), len(update.get("calls", []))) for update in (found, ranked)]
        assert ranked.get("rerank_verdict") == "ok"
    assert told == [
        ({"query": "miss", "embedding": "miss"}, 1),
        ({"rerank": "miss"}, 1),
        ({"query": "hit"}, 0),
        ({"rerank": "hit"}, 0),
    ]


async def test_a_question_is_understood_once() -> None:
    kept = await a_library()
    chat = ScriptedChat(['{"rewrite_query": "差旅报销标准是什么？", "intent": "kb_search"}'])
    told = [await stage(understand_query, kept.run(understand=chat, chat=chat)) for _ in range(2)]
    assert [update.get("cached") for update in told] == [{"understanding": "miss"}, {"understanding": "hit"}]
    assert [update.get("rewritten_query") for update in told] == ["差旅报销标准是什么？"] * 2
    assert [len(update.get("calls", [])) for update in told] == [1, 0]
    assert len(chat.prompts) == 1


async def test_a_model_that_failed_is_asked_again_and_the_warning_is_told_to_its_own_reader() -> None:
    kept = await a_library()
    down = ScriptedChat([DependencyFailed("understand", "The model is down.")], generates=False)
    for _ in range(2):
        update = await stage(understand_query, kept.run(understand=down, chat=down))
        assert update.get("cached") == {"understanding": "miss"}
        assert len(update.get("warnings", [])) == 1
    assert len(kept.world.emit.of("warning")) == 2


# --- whatever changes ---


@pytest.mark.parametrize("number", range(4))
async def test_after_any_change_a_kept_search_is_as_good_as_a_new_one(tmp_path: Path, number: int) -> None:
    chance = random.Random(number)
    async with a_place(tmp_path) as place:
        await place.tidied()
        library = Changing(place, chance)
        await library.begin()
        caches, hits = ProcessCaches(), 0
        for _ in range(12):
            await library.change()
            hits += await agree(library, caches)
        assert hits


class Changing:
    """A knowledge base of documents and one of known questions, which somebody keeps changing."""

    def __init__(self, place: Place, chance: random.Random) -> None:
        self.place = place
        self.chance = chance
        self.documents: list[str] = []
        self.kbs: list[str] = []
        self.tags: list[str] = []

    async def begin(self) -> None:
        catalogue = self.place.catalogue
        model = FakeEmbedder().model
        self.kbs = [
            (await catalogue.create_kb(name="手册", embedding_model=model)).id,
            (await catalogue.create_kb(name="faq", kind="faq", embedding_model=model)).id,
        ]
        self.tags = [(await catalogue.create_tag(self.kbs[0], name)).id for name in ("甲", "b")]
        for _ in range(3):
            await self.add()

    def text(self) -> str:
        words = ["差旅", "travel", "报销", "expenses", "年假", "leave", "十五天", "pump"]
        return " ".join(self.chance.choices(words, k=8)) + "。"

    async def add(self) -> None:
        kb = await self.place.catalogue.get_kb(self.kbs[0])
        name = f"{self.chance.randrange(6)}.txt"  # now and then one that is there: it is replaced
        text = "\n\n".join(self.text() for _ in range(self.chance.randrange(1, 4)))
        document = await self.place.ingestion.add(kb, name=name, content=text.encode())
        await self.place.ingestion.finished(document.id)
        self.documents = list(dict.fromkeys([*self.documents, document.id]))

    async def change(self) -> None:
        await self.chance.choice(
            [self.add, self.delete, self.edit, self.switch, self.tag, self.set_up, self.known, self.nothing]
        )()

    async def nothing(self) -> None:
        return

    async def delete(self) -> None:
        if len(self.documents) > 1:
            await self.place.ingestion.delete(self.documents.pop(self.chance.randrange(len(self.documents))))

    async def some_chunk(self) -> str | None:
        chunks, _ = await self.place.catalogue.document_chunks(
            self.chance.choice(self.documents), page=1, page_size=50, kind="text"
        )
        return self.chance.choice(chunks).id if chunks else None

    async def edit(self) -> None:
        if id := await self.some_chunk():
            await self.place.edits.change(id, text=self.text())

    async def switch(self) -> None:
        if id := await self.some_chunk():
            await self.place.edits.change(id, enabled=self.chance.random() < 0.5)

    async def tag(self) -> None:
        tags = self.chance.sample(self.tags, self.chance.randrange(3))
        await self.place.catalogue.set_document_tags(self.chance.choice(self.documents), tags)

    async def set_up(self) -> None:
        settings = {"fusion": self.chance.choice(["auto", "rrf"])}
        await self.place.catalogue.update_kb(self.kbs[0], settings=settings)

    async def known(self) -> None:
        entries, _ = await self.place.faq.list(self.kbs[1])
        if entries and self.chance.random() < 0.6:
            entry = self.chance.choice(entries)
            if self.chance.random() < 0.5:
                await self.place.faq.set_enabled(self.kbs[1], [entry.id], not entry.enabled)
            else:
                await self.place.faq.remove(self.kbs[1], [entry.id])
        else:
            question = f"{self.text()} {self.chance.random()}"
            await self.place.faq.add(self.kbs[1], FaqDraft(question=question, answers=[self.text()]))

    def searches(self) -> Sequence[Search]:
        scopes: list[dict[str, Any]] = [
            {},
            {"kb_ids": self.kbs[:1]},
            {"kb_ids": [], "document_ids": self.documents[:2]},
            {"kb_ids": self.kbs[:1], "tag_ids": self.tags[:1]},
            {"faq_search_answers": True, "vector_threshold": 0.4},
        ]
        return [
            search_for(asked("差旅 travel", **{"kb_ids": self.kbs, **scope}), query)
            for scope in scopes
            for query in ("差旅报销", "travel expenses")
        ]


async def agree(library: Changing, caches: ProcessCaches) -> int:
    """Compare each kept search, asked for twice, with one that is made. Returns how many were kept."""
    place, hits = library.place, 0
    context = replace(
        a_context(),
        catalogue=place.catalogue,
        stores={"embedded": SearchStore(vectors=place.vectors, keywords=place.keywords)},
    )
    for search in library.searches():
        made = await hybrid_search(context, search)
        for _ in range(2):
            run = replace(context, caches=caches.of_run(place.ingestion.indexing.locked))
            found = await cached_search(run, search, tenant_id="default")
            assert replace(found, calls=[]) == replace(made, calls=[])
            hits += run.caches is not None and run.caches.used["query"] == "hit"
    return hits
