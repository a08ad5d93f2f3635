"""What holds of every merge, whatever was found of whatever documents."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.context import Chunk
from headrace.ingest.chunking import chunk
from headrace.ingest.parsed import Block, Parsed, row_line
from headrace.nodes.merge.overlaps import PARTIAL_OVERLAP, words_of
from headrace.nodes.merge.parents import held
from headrace.nodes.merge.pieces import Piece, piece_of
from headrace.nodes.merge.sequences import JOINED_LIMIT, joined
from headrace.nodes.merge.short_context import ENOUGH, MOST, extended
from headrace.state import Update
from headrace.text.similarity import containment, jaccard, normalise

from ...fakes import a_chunk, a_hit
from .libraries import MARK, TOKENS, Library, a_library, blocks

Check = Callable[[Library, Update], Awaitable[None]]

# By number: what fails is a whole library, which is no simpler for being shrunk choice by choice.
libraries = st.integers(0, 2**32).map(lambda number: a_library(random.Random(number)))
often = settings(max_examples=60, deadline=None)


def check(library: Library, how: Check) -> None:
    async def merging() -> None:
        await how(library, await library.merged())

    asyncio.run(merging())


def ways(library: Library, update: Update) -> dict[str, tuple[str, set[str]]]:
    """For each hit the one in the output that it ended up in, and why, by what the departures say."""
    left = {one["chunk_id"]: one for one in update.get("departures", [])}
    found: dict[str, tuple[str, set[str]]] = {}
    for hit in library.found:
        at, reasons = hit["chunk_id"], set[str]()
        while at in left:
            reasons.add(left[at]["reason"])
            at = left[at].get("other", "")
        found[hit["chunk_id"]] = at, reasons
    return found


@often
@given(libraries)
def test_no_text_is_lost(library: Library) -> None:
    async def whole(library: Library, update: Update) -> None:
        texts = await library.read(update.get("merged", []))
        for id, (holder, reasons) in ways(library, update).items():
            chunk, text = library.chunks[id], texts[holder]
            if reasons & {"overlap", "same_text"}:
                # What overlapped was the passage: the chunk with what was around it.
                assert is_said(chunk.text, text, share=0.5) or "joined" in reasons
            elif chunk.kind == "faq":
                assert library.world.catalogue.all_entries[id].question in text
            else:
                assert held(chunk.text, text) or is_said(chunk.text, text), id

    check(library, whole)


def is_said(part: str, text: str, *, share: float = PARTIAL_OVERLAP) -> bool:
    mine, theirs = words_of(part, TOKENS), words_of(text, TOKENS)
    alike = max(jaccard(mine, theirs), containment(mine, theirs)) >= share
    return normalise(part) in normalise(text) or alike


@often
@given(libraries)
def test_nothing_is_repeated_that_the_document_does_not_repeat(library: Library) -> None:
    async def once(library: Library, update: Update) -> None:
        texts = await library.read(update.get("merged", []))
        for hit in update.get("merged", []):
            said = Counter(MARK.findall(texts[hit["chunk_id"]]))
            beside = {*hit["sub_chunk_ids"], hit["chunk_id"]} & library.edited
            # An edited chunk beside a parent that says what it said before may share sentences with it.
            assert beside or not said or max(said.values()) == 1, said.most_common(1)
        everywhere = Counter(mark for text in texts.values() for mark in set(MARK.findall(text)))
        for mark, times in everywhere.items():
            # Chunks repeat the end of the one before, and headers; a passage that was extended begins so too.
            cut_with = sum(mark in one.text for one in library.chunks.values() if one.kind != "parent")
            assert times <= max(1, cut_with), mark

    check(library, once)


@often
@given(libraries)
def test_the_order_of_a_document_is_kept(library: Library) -> None:
    async def in_order(library: Library, update: Update) -> None:
        texts = await library.read(update.get("merged", []))
        for hit in update.get("merged", []):
            if not {*hit["sub_chunk_ids"], hit["chunk_id"]} & library.edited and hit["kind"] != "faq":
                said = list(dict.fromkeys(MARK.findall(texts[hit["chunk_id"]])))
                places = [library.texts[hit["document_id"]].index(mark) for mark in said]
                assert places == sorted(places)

    check(library, in_order)


@often
@given(libraries)
def test_every_hit_is_accounted_for_exactly_once(library: Library) -> None:
    async def accounted(library: Library, update: Update) -> None:
        merged = update.get("merged", [])
        out = Counter(hit["chunk_id"] for hit in merged)
        gone = Counter(left["chunk_id"] for left in update.get("departures", []))
        joined_in = Counter(id for hit in merged for id in hit["sub_chunk_ids"] if id != hit["chunk_id"])
        came_from = {left["chunk_id"]: left for left in update.get("departures", [])}
        for hit in library.found:
            id = hit["chunk_id"]
            assert out[id] + gone[id] == 1
            assert joined_in[id] <= 1
            assert not (out[id] and joined_in[id])
            if id in came_from and came_from[id]["reason"] in ("joined", "same_parent"):
                assert ways(library, update)[id][0] in out
        assert {holder for holder, _ in ways(library, update).values()} <= {*out}

    check(library, accounted)


@often
@given(libraries)
def test_nothing_of_two_documents_becomes_one(library: Library) -> None:
    async def apart(library: Library, update: Update) -> None:
        for hit in update.get("merged", []):
            texts = await library.read([hit])
            named = {library.chunks[id].document_id for id in (hit["chunk_id"], *hit["sub_chunk_ids"])}
            assert named == {hit["document_id"]}
            said = {mark.strip("〔〕").partition(".")[0] for mark in MARK.findall(texts[hit["chunk_id"]])}
            assert {name for name in said if " edited" not in name} <= {hit["document_id"]}

    check(library, apart)


@often
@given(libraries)
def test_merging_what_was_merged_changes_nothing(library: Library) -> None:
    async def same(library: Library, update: Update) -> None:
        once = update.get("merged", [])
        library.history = []  # what is taken from the last answer depends on what else was found
        again = (await library.merged(once)).get("merged", [])
        assert await library.read(again) == await library.read(once)
        assert again == once

    check(library, same)


@often
@given(libraries, st.integers(0, 2**32))
def test_the_order_in_which_hits_come_makes_no_difference(library: Library, number: int) -> None:
    async def same(library: Library, update: Update) -> None:
        shuffled = random.Random(number).sample(library.found, len(library.found))
        other = await library.merged(shuffled)
        assert other.get("merged") == update.get("merged")
        assert sorted(map(str, other.get("departures", []))) == sorted(map(str, update.get("departures", [])))

    check(library, same)


@often
@given(libraries)
def test_only_what_was_short_is_extended_and_never_too_far(library: Library) -> None:
    pieces = [
        piece_of(hit, library.chunks[hit["chunk_id"]].text, [library.chunks[hit["chunk_id"]]])
        for hit in library.found
    ]
    before = {piece.hit["chunk_id"]: piece for piece in pieces}
    for piece in extended(pieces, library.chunks).pieces:
        was = before[piece.hit["chunk_id"]]
        if len(was.text) >= ENOUGH or was.hit["kind"] == "faq":
            assert piece == was
        else:
            assert len(piece.text) <= MOST
            assert held(was.text, piece.text)


rows = st.lists(st.sampled_from(["水泵 | 12", "pump | 12", "valve | 7"]), min_size=2, max_size=200)


@given(rows)
def test_a_table_that_was_cut_is_put_together_as_it_was(cells: list[str]) -> None:
    text = "\n".join([row_line(["设备", "数量"]), *(row_line(cell.split(" | ")) for cell in cells)])
    cut = chunk(Parsed(blocks=[Block(kind="table", text=text)]), kb_id="kb1", document_id="d", revision=1)
    assert joined_text([*cut.parents]) == text


sentences = st.lists(
    st.sampled_from(["年假为十五天。", "Ask your manager first. ", "差旅费用应在十个工作日内报销。"]),
    min_size=1,
    max_size=120,
)


@given(sentences)
def test_a_text_that_was_cut_is_put_together_without_losing_a_sentence(said: list[str]) -> None:
    numbered = [f"{n}、{one}" for n, one in enumerate(said)]
    cut = chunk(
        Parsed(blocks=[Block(kind="text", text="".join(numbered))]), kb_id="kb1", document_id="d", revision=1
    )
    for chunks in (cut.children, cut.parents):
        text = joined_text([*chunks])
        assert "".join(text.split()) == "".join("".join(numbered).split())


def joined_text(chunks: list[Chunk]) -> str:
    """As far as passages may grow, all of it one passage."""
    size, taken = 0, list[Piece]()
    for one in chunks:
        size += len(one.text) + 1
        if size <= JOINED_LIMIT:
            taken.append(
                piece_of(
                    a_hit(one.id, kind=one.kind, chunk_index=one.chunk_index, document_id="d"),
                    one.text,
                    [one],
                )
            )
    pieces, _ = joined(taken)
    (piece,) = pieces
    return piece.text if len(taken) == len(chunks) else ""


@given(st.integers(1, 6), st.randoms(use_true_random=False))
def test_links_that_run_in_circles_end(count: int, chance: random.Random) -> None:
    chunks = {
        f"c{n}": a_chunk(
            f"c{n}",
            f"句子 {n}。",
            chunk_index=n,
            pre_chunk_id=f"c{chance.randrange(count)}",
            next_chunk_id=f"c{chance.randrange(count)}",
        )
        for n in range(count)
    }
    start = chunks[f"c{chance.randrange(count)}"]
    piece = piece_of(a_hit(start.id, chunk_index=start.chunk_index), start.text, [start])
    (longer,) = extended([piece], chunks).pieces
    assert Counter(longer.hit["sub_chunk_ids"]).most_common(1)[0:1] in ([], [(start.id, 1)])
    assert start.text in longer.text


@often
@given(st.integers(0, 2**32))
def test_a_chunk_is_held_by_the_parent_it_was_cut_from(number: int) -> None:
    made = blocks("d", random.Random(number))
    cut = chunk(Parsed(blocks=made), kb_id="kb1", document_id="d", revision=1)
    parents = {one.id: one for one in cut.parents}
    for one in cut.children:
        assert held(one.text, parents[one.parent_chunk_id or ""].text)
