"""What tantivy's folder goes through: kills, other makes, damage."""

import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import anyio
import pytest
import tantivy

from headrace.context import IndexEntry
from headrace.errors import DependencyFailed, StartRefused
from headrace.stores.tantivy import TantivyKeywords
from headrace.stores.tantivy_files import LAYOUT
from headrace.text.tokens import Tokens

from .contract import TEXTS, an_entry, ids_of, shared_tokens

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    return shared_tokens()


async def texts_in(*entries: IndexEntry) -> AsyncIterator[Sequence[IndexEntry]]:
    yield entries


async def test_a_writer_that_was_killed_blocks_nobody(tmp_path: Path, tokens: Tokens) -> None:
    keywords = TantivyKeywords(tmp_path, tokens)
    await keywords.add("kb", [an_entry("kept", "年假")])
    script = (
        "import os, sys, tantivy\n"
        "index = tantivy.Index.open(sys.argv[1])\n"
        "writer = index.writer(15_000_000, 1)\n"
        "writer.add_document(tantivy.Document(chunk_id='half', document_id='d', tokens='年假'))\n"
        "os._exit(9)"
    )
    command = [sys.executable, "-X", "utf8", "-c", script, str(tmp_path / "kb")]
    ran = await anyio.run_process(command, check=False)
    assert ran.returncode == 9
    assert (tmp_path / "kb" / ".tantivy-writer.lock").exists() or os.name == "nt"

    again = TantivyKeywords(tmp_path, tokens)
    await again.add("kb", [an_entry("new", "年假")])
    assert await again.ids("kb") == {"kept", "new"}


async def test_an_id_is_never_a_path(tmp_path: Path, tokens: Tokens) -> None:
    (tmp_path / "precious").mkdir()
    with pytest.raises(DependencyFailed):
        await TantivyKeywords(tmp_path / "keywords", tokens).drop("../precious")
    assert (tmp_path / "precious").exists()


async def test_a_version_that_a_crash_left_unwritten_is_written_with_the_next_index(
    tmp_path: Path, tokens: Tokens
) -> None:
    (tmp_path / "schema_version").touch()
    await TantivyKeywords(tmp_path, tokens).add("kb", [an_entry("a", "年假")])
    assert (tmp_path / "schema_version").read_text(encoding="utf-8") == f"{LAYOUT}\n"


async def test_what_is_no_index_is_left_where_it_is(tmp_path: Path, tokens: Tokens) -> None:
    (tmp_path / "lost+found").mkdir()
    await TantivyKeywords(tmp_path, tokens).keep_only(set())
    assert (tmp_path / "lost+found").exists()


def test_a_folder_of_a_newer_version_is_refused(tmp_path: Path, tokens: Tokens) -> None:
    (tmp_path / "schema_version").write_text("999\n", encoding="utf-8")
    with pytest.raises(StartRefused, match="newer"):
        TantivyKeywords(tmp_path, tokens)


def segment_terms(folder: Path, tokens: Tokens, text: str) -> set[str]:
    """Terms of a text that some segment's dictionary still holds, deleted entries' too."""
    index = tantivy.Index.open(str(folder))
    searcher = index.searcher()
    return {term for term in tokens.words(text) if searcher.doc_freq("tokens", term)}


async def test_an_index_that_is_written_anew_holds_no_term_of_what_was_deleted(
    tmp_path: Path, tokens: Tokens
) -> None:
    index = TantivyKeywords(tmp_path, tokens)
    await index.add("kb", [an_entry(id, text) for id, text in TEXTS.items()])
    await index.delete("kb", ["sick-zh", "hant"])
    gone = "医院 软体工程师 臺灣的軟體工程師"
    assert segment_terms(tmp_path / "kb", tokens, gone)

    await index.rewrite("kb", texts_in(an_entry("leave-zh", TEXTS["leave-zh"])))
    assert segment_terms(tmp_path / "kb", tokens, gone) == set()
    assert await index.ids("kb") == {"leave-zh"}
    assert ids_of(await index.search(["kb"], "年假", limit=5)) == ["leave-zh"]
    await index.add("kb", [an_entry("new", "年假 again")])
    assert len(await index.search(["kb"], "年假", limit=5)) == 2


@pytest.mark.parametrize("killed", ["while writing", "between the renames", "while removing the old one"])
async def test_a_kill_while_an_index_is_written_anew_leaves_one_whole_index(
    tmp_path: Path, tokens: Tokens, killed: str
) -> None:
    index = TantivyKeywords(tmp_path, tokens)
    await index.add("kb", [an_entry("old", "旧 old 年假")])
    await index.add("new", [an_entry("new", "新 new 年假")])
    await index.close()
    if killed != "while writing":
        (tmp_path / "kb").rename(tmp_path / "kb.old")
    (tmp_path / "new").rename(tmp_path / "kb.new")
    if killed == "while removing the old one":
        (tmp_path / "kb.new").rename(tmp_path / "kb")

    again = TantivyKeywords(tmp_path, tokens)
    assert await again.ids("kb") == ({"old"} if killed == "while writing" else {"new"})
    assert sorted(os.listdir(tmp_path)) == ["kb", "schema_version"]


async def test_a_second_process_that_writes_is_refused_and_one_that_reads_reads_on(
    tmp_path: Path, tokens: Tokens
) -> None:
    keywords = TantivyKeywords(tmp_path, tokens)
    await keywords.add("kb", [an_entry("a", "年假")])
    writing = tantivy.Index.open(str(tmp_path / "kb")).writer(15_000_000, 1)
    with pytest.raises(DependencyFailed, match="keyword index") as failed:
        await keywords.add("kb", [an_entry("b", "年假")])
    assert failed.value.dependency == "keyword index"
    assert ids_of(await keywords.search(["kb"], "年假", limit=5)) == ["a"]
    del writing
    await keywords.add("kb", [an_entry("b", "年假")])
    assert await keywords.ids("kb") == {"a", "b"}


def unreadable_meta(index: Path) -> None:
    (index / "meta.json").write_text("{", encoding="utf-8")


def cut_file(index: Path) -> None:
    os.truncate(next(index.glob("*.term")), 20)


def lost_file(index: Path) -> None:
    next(index.glob("*.store")).unlink()


def flipped_bit(index: Path) -> None:
    file = next(index.glob("*.idx"))
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content)


def older_schema(index: Path) -> None:
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("chunk_id", stored=True, tokenizer_name="raw", index_option="basic")
    for file in index.iterdir():
        file.unlink()
    tantivy.Index(schema.build(), path=str(index))


UNUSABLE = [unreadable_meta, cut_file, lost_file, flipped_bit, older_schema]


@pytest.mark.parametrize("harm", UNUSABLE)
async def test_an_unusable_index_is_set_aside_and_written_anew_without_harm_to_others(
    tmp_path: Path, tokens: Tokens, harm: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    first = TantivyKeywords(tmp_path, tokens)
    for kb in ("kb", "other"):
        await first.add(kb, [an_entry(id, text) for id, text in TEXTS.items()])
    await first.close()
    harm(tmp_path / "kb")

    keywords = TantivyKeywords(tmp_path, tokens)
    with caplog.at_level(logging.WARNING):
        assert await keywords.outdated() == {"kb"}
    assert caplog.text.count("knowledge base kb is made again from the catalogue") == 1
    assert await keywords.ids("other") == {*TEXTS}
    with pytest.raises(DependencyFailed, match="being made again") as failed:
        await keywords.search(["other", "kb"], "年假", limit=5)
    assert (failed.value.code, failed.value.details) == (
        "index_rebuilding",
        {"dependency": "keyword index", "knowledge_base_id": "kb"},
    )
    # The next start knows it too, if this process ends before the index is made again.
    again = TantivyKeywords(tmp_path, tokens)
    assert await again.outdated() == {"kb"}
    with pytest.raises(DependencyFailed, match="being made again"):
        await again.add("kb", [an_entry("new")])

    await again.rewrite("kb", texts_in(an_entry("made", "年假 again")))
    assert ids_of(await again.search(["kb"], "年假", limit=5)) == ["made"]
    assert await again.outdated() == set()
    assert sorted(os.listdir(tmp_path)) == ["kb", "other", "schema_version"]


async def test_an_index_that_is_found_damaged_by_a_search_says_that_it_is_made_again(
    tmp_path: Path, tokens: Tokens
) -> None:
    first = TantivyKeywords(tmp_path, tokens)
    await first.add("kb", [an_entry("a")])
    unreadable_meta(tmp_path / "kb")
    with pytest.raises(DependencyFailed, match="being made again") as failed:
        await TantivyKeywords(tmp_path, tokens).search(["kb"], "年假", limit=5)
    assert failed.value.dependency == "keyword index"


async def test_a_search_of_a_damaged_index_that_was_not_looked_at_yet_fails_and_is_told_so(
    tmp_path: Path, tokens: Tokens
) -> None:
    keywords = TantivyKeywords(tmp_path, tokens)
    await keywords.add("kb", [an_entry(f"n{n}", f"年假 {n}") for n in range(200)])
    [postings] = (tmp_path / "kb").glob("*.idx")
    third = postings.stat().st_size // 3
    with postings.open("r+b") as file:
        file.seek(third)
        file.write(bytes(third))
    # A panic of Rust is no Exception: whoever waits for the search would not be told of its end.
    with pytest.raises(DependencyFailed, match="next start") as failed:
        await TantivyKeywords(tmp_path, tokens).search(["kb"], "年假 7", limit=5)
    assert failed.value.code == "index_damaged"
    assert await TantivyKeywords(tmp_path, tokens).outdated() == {"kb"}


async def test_what_a_kill_left_beside_an_index_is_no_damage(tmp_path: Path, tokens: Tokens) -> None:
    first = TantivyKeywords(tmp_path, tokens)
    await first.add("kb", [an_entry("a"), an_entry("b")])
    await first.delete("kb", ["b"])
    meta = json.loads((tmp_path / "kb" / "meta.json").read_text(encoding="utf-8"))
    living = meta["segments"][0]["segment_id"].replace("-", "")
    for name in (f"{'0' * 32}.term", f"{living}.99.del"):
        (tmp_path / "kb" / name).write_bytes(b"half")
    assert await TantivyKeywords(tmp_path, tokens).outdated() == set()


async def test_no_search_takes_an_index_for_empty_whose_folder_was_lost(
    tmp_path: Path, tokens: Tokens
) -> None:
    keywords = TantivyKeywords(tmp_path, tokens)

    async def batches() -> AsyncIterator[Sequence[IndexEntry]]:
        yield [an_entry("a")]
        with pytest.raises(DependencyFailed, match="being made again"):
            await keywords.search(["kb"], "年假", limit=5)
        yield [an_entry("b")]

    await keywords.rewrite("kb", batches())
    assert set(ids_of(await keywords.search(["kb"], "年假", limit=5))) == {"a", "b"}


async def test_indexes_of_knowledge_bases_that_are_gone_go_also_where_they_could_not_be_used(
    tmp_path: Path, tokens: Tokens
) -> None:
    first = TantivyKeywords(tmp_path, tokens)
    for kb in ("kb", "kb2"):
        await first.add(kb, [an_entry("a")])
        unreadable_meta(tmp_path / kb)
    keywords = TantivyKeywords(tmp_path, tokens)
    assert await keywords.outdated() == {"kb", "kb2"}
    await keywords.drop("kb")
    await keywords.keep_only(set())
    assert sorted(os.listdir(tmp_path)) == ["schema_version"]
    assert await keywords.search(["kb", "kb2"], "年假", limit=5) == []


async def test_a_folder_of_an_older_layout_is_taken_over_index_by_index(
    tmp_path: Path, tokens: Tokens
) -> None:
    first = TantivyKeywords(tmp_path, tokens)
    await first.add("kb", [an_entry("a")])
    (tmp_path / "schema_version").write_text("2\n", encoding="utf-8")
    (tmp_path / "kb" / "made_with").unlink()
    keywords = TantivyKeywords(tmp_path, tokens)
    assert ids_of(await keywords.search(["kb"], "年假", limit=5)) == ["a"]
    assert await keywords.outdated() == {"kb"}
    await keywords.rewrite("kb", texts_in(an_entry("a")))
    assert await keywords.outdated() == set()
    assert (tmp_path / "schema_version").read_text(encoding="utf-8") == f"{LAYOUT}\n"
