"""Chroma's folder holds vectors and ids, and nothing that this process had in its memory before."""

import logging
import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from anyio.to_thread import run_sync

from headrace.context import IndexEntry
from headrace.stores.chroma import ChromaVectors
from headrace.stores.chroma_files import HEADER, clear_unused

pytestmark = pytest.mark.anyio

TEXT = "绝密 secret".encode()


def an_entry(number: int) -> IndexEntry:
    vector = [1.0, number / 1000, *[0.0] * 6]
    return IndexEntry(chunk_id=f"c{number}", document_id="d", text="", vector=vector)


def indexes(folder: Path) -> list[Path]:
    return [path.parent for path in folder.glob("*/header.bin")]


def put_texts_where_nothing_is(folder: Path) -> None:
    """As hnswlib does with what its memory held before."""
    for index in indexes(folder):
        _, _, places, elements, size = HEADER.unpack_from((index / "header.bin").read_bytes())
        for name, each in (("data_level0.bin", size), ("length.bin", 4)):
            whole = (index / name).read_bytes()
            unused = (TEXT * places * each)[: (places - elements) * each]
            (index / name).write_bytes(whole[: elements * each] + unused)


def texts_in(folder: Path) -> int:
    return sum(path.read_bytes().count(TEXT) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("count", [3, 1500])
async def test_unused_places_are_emptied_and_the_index_finds_the_same(tmp_path: Path, count: int) -> None:
    vectors = ChromaVectors(tmp_path)
    await vectors.add("kb", "m", [an_entry(number) for number in range(count)])
    query = [1.0, *[0.0] * 7]
    before = await vectors.search(["kb"], "m", query, limit=3)
    assert len(before) == 3
    await vectors.close()
    await run_sync(put_texts_where_nothing_is, tmp_path)
    assert await run_sync(texts_in, tmp_path) > 0

    again = ChromaVectors(tmp_path)
    assert await again.search(["kb"], "m", query, limit=3) == before
    assert await run_sync(texts_in, tmp_path) == 0
    await again.close()


async def test_files_are_cleared_while_the_index_is_in_use(tmp_path: Path) -> None:
    vectors = ChromaVectors(tmp_path)
    await vectors.add("kb", "m", [an_entry(number) for number in range(3)])
    await run_sync(put_texts_where_nothing_is, tmp_path)
    await vectors.clear_unused()
    assert await run_sync(texts_in, tmp_path) == 0
    assert await vectors.ids("kb", "m") == {"c0", "c1", "c2"}
    await vectors.close()


async def test_nothing_is_left_of_an_index_that_was_dropped(tmp_path: Path) -> None:
    vectors = ChromaVectors(tmp_path)
    for kb in ("gone", "kept"):
        await vectors.add(kb, "m", [an_entry(number) for number in range(3)])
        await vectors.search([kb], "m", [1.0] * 8, limit=1)
    await vectors.drop("gone")
    await vectors.close()
    assert len(await run_sync(indexes, tmp_path)) == 1


async def test_a_format_that_is_not_known_is_left_alone(tmp_path: Path) -> None:
    vectors = ChromaVectors(tmp_path)
    await vectors.add("kb", "m", [an_entry(1)])
    await vectors.close()
    await run_sync(put_texts_where_nothing_is, tmp_path)
    (index,) = await run_sync(indexes, tmp_path)
    await run_sync((index / "length.bin").unlink)
    await run_sync((index / "header.bin").write_bytes, struct.pack("<i96x", 2))
    before = await run_sync(texts_in, tmp_path)
    await run_sync(clear_unused, tmp_path)
    assert 0 < before == await run_sync(texts_in, tmp_path)


def test_a_folder_that_chroma_has_not_made_yet_is_left_to_it(tmp_path: Path) -> None:
    clear_unused(tmp_path)
    assert list(tmp_path.iterdir()) == []


def garbage(database: Path) -> None:
    database.write_bytes("不是数据库 not a database".encode() * 200)


def cut_off(database: Path) -> None:
    os.truncate(database, database.stat().st_size // 3)


@pytest.mark.parametrize("harm", [garbage, cut_off])
async def test_a_folder_that_cannot_be_read_is_set_aside_and_an_empty_one_takes_its_place(
    tmp_path: Path, harm: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "chroma"
    vectors = ChromaVectors(folder)
    await vectors.add("kb", "m", [an_entry(number) for number in range(3)])
    await vectors.close()
    harm(folder / "chroma.sqlite3")
    await run_sync(put_texts_where_nothing_is, folder)

    again = ChromaVectors(folder)
    with caplog.at_level(logging.WARNING):
        assert await again.ids("kb", "m") == set()
    assert caplog.text.count("the vectors are made again from the catalogue") == 1
    await again.add("kb", "m", [an_entry(7)])
    assert [hit.chunk_id for hit in await again.search(["kb"], "m", [1.0] * 8, limit=3)] == ["c7"]
    await again.close()
    assert sorted(os.listdir(tmp_path)) == ["chroma", "chroma.aside"]
    assert await run_sync(texts_in, tmp_path) == 0
