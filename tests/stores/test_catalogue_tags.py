from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headrace.errors import BadRequest, Conflict, NotFound
from headrace.stores.catalogue import SqliteCatalogue, open_catalogue

pytestmark = pytest.mark.anyio


@pytest.fixture
async def catalogue(tmp_path: Path) -> AsyncIterator[SqliteCatalogue]:
    async with open_catalogue(tmp_path / "catalogue.sqlite") as opened:
        yield opened


async def a_kb(catalogue: SqliteCatalogue, name: str = "制度") -> str:
    return (await catalogue.create_kb(name=name, embedding_model="m")).id


async def a_document(catalogue: SqliteCatalogue, kb_id: str, title: str = "假期.txt") -> str:
    made = await catalogue.create_document(
        kb_id=kb_id, title=title, media_type="text/plain", sha256="a" * 64, bytes=3
    )
    return made.id


async def version(catalogue: SqliteCatalogue, kb_id: str) -> int:
    return (await catalogue.get_kb(kb_id)).version


async def test_each_change_of_tags_raises_the_version(catalogue: SqliteCatalogue) -> None:
    kb = await a_kb(catalogue)
    document = await a_document(catalogue, kb)
    tag = await catalogue.create_tag(kb, "人事 HR")
    await catalogue.set_document_tags(document, [tag.id, tag.id])
    await catalogue.rename_tag(tag.id, "人事")
    await catalogue.delete_tag(tag.id)
    assert await version(catalogue, kb) == 5
    with pytest.raises(NotFound):
        await catalogue.delete_tag(tag.id)
    assert await version(catalogue, kb) == 5


async def test_documents_are_found_by_any_of_some_tags_by_knowledge_base(catalogue: SqliteCatalogue) -> None:
    kb, other = await a_kb(catalogue), await a_kb(catalogue, "other")
    one, two, three = [await a_document(catalogue, kb, f"{n}.txt") for n in range(3)]
    elsewhere = await a_document(catalogue, other)
    red, blue = await catalogue.create_tag(kb, "红"), await catalogue.create_tag(kb, "蓝")
    foreign = await catalogue.create_tag(other, "红")
    await catalogue.set_document_tags(one, [red.id])
    await catalogue.set_document_tags(two, [blue.id, red.id])
    await catalogue.set_document_tags(elsewhere, [foreign.id])

    assert await catalogue.tagged_documents([red.id, foreign.id, "none"]) == {
        kb: [one, two],
        other: [elsewhere],
    }
    assert await catalogue.tagged_documents([blue.id]) == {kb: [two]}
    assert await catalogue.tagged_documents([]) == {}
    assert (await catalogue.tags([red.id]))[red.id].document_count == 2
    assert [tag.name for tag in (await catalogue.tags_of([one, two, three]))[two]] == ["红", "蓝"]
    listed, total = await catalogue.list_documents(kb, tag_id=red.id, page_size=1)
    assert ([document.id for document in listed], total) == ([two], 2)
    await catalogue.remove(two)
    assert await catalogue.tagged_documents([blue.id]) == {}


async def test_tags_outlive_another_file_of_their_document(catalogue: SqliteCatalogue) -> None:
    kb = await a_kb(catalogue)
    document = await a_document(catalogue, kb)
    tag = await catalogue.create_tag(kb, "红")
    await catalogue.set_document_tags(document, [tag.id])
    await catalogue.replace_document(document, media_type="text/plain", sha256="b" * 64, bytes=1)
    await catalogue.publish(document, revision=1, chunks=[])
    assert (await catalogue.tags_of([document]))[document][0].id == tag.id


async def test_a_refused_change_leaves_the_tags_of_a_document(catalogue: SqliteCatalogue) -> None:
    kb, other = await a_kb(catalogue), await a_kb(catalogue, "other")
    document = await a_document(catalogue, kb)
    tag, foreign = await catalogue.create_tag(kb, "红"), await catalogue.create_tag(other, "蓝")
    await catalogue.set_document_tags(document, [tag.id])
    for ids, error in (([foreign.id], BadRequest), ([tag.id, "none"], NotFound), (["\ud800"], NotFound)):
        with pytest.raises(error):
            await catalogue.set_document_tags(document, ids)
    assert [one.id for one in (await catalogue.tags_of([document]))[document]] == [tag.id]
    with pytest.raises(NotFound):
        await catalogue.set_document_tags("none", [])


async def test_a_name_is_one_tag_of_a_knowledge_base(catalogue: SqliteCatalogue) -> None:
    kb, other = await a_kb(catalogue), await a_kb(catalogue, "other")
    tag = await catalogue.create_tag(kb, "Ärger 人事")
    with pytest.raises(Conflict) as refused:
        await catalogue.create_tag(kb, "ärger　人事")
    assert refused.value.details == {"id": tag.id}
    await catalogue.create_tag(other, "Ärger 人事")
    assert (await catalogue.rename_tag(tag.id, "ÄRGER 人事")).name == "ÄRGER 人事"
    for odd in ("none", "", "\0", "\ud800"):
        with pytest.raises(NotFound):
            await catalogue.get_tag(odd)


async def test_tags_are_listed_by_name_in_pages(catalogue: SqliteCatalogue) -> None:
    kb = await a_kb(catalogue)
    for name in ("b", "A", "c"):
        await catalogue.create_tag(kb, name)
    page, total = await catalogue.list_tags(kb, page=1, page_size=2)
    assert ([tag.name for tag in page], total) == (["A", "b"], 3)
    await catalogue.delete_kb(kb)
    assert await catalogue.list_tags(kb) == ([], 0)
