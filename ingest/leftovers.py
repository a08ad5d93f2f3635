"""What a crash can leave beside the catalogue, which alone says what exists."""

from ..context import KeywordIndex, KnowledgeBase, VectorIndex
from .ports import DocumentCatalogue, Originals

PAGE = 200


async def clear_unused_originals(catalogue: DocumentCatalogue, files: Originals) -> None:
    """Remove originals that no document has. Nobody may be adding a document meanwhile."""
    hashes = await files.hashes()
    for sha256 in hashes - await catalogue.files_in_use(hashes):
        await files.delete(sha256)


async def clear_leftovers(
    catalogue: DocumentCatalogue, vectors: VectorIndex, keywords: KeywordIndex, *, model: str
) -> dict[str, list[str]]:
    """Remove index entries whose knowledge base or chunk is not in the catalogue.

    Returns by knowledge base the entries that an index lacks (its folder was lost, or restored from an
    older copy): they are to be made again. Nobody may be indexing meanwhile.
    """
    lost: dict[str, list[str]] = {}
    kbs = await _kbs(catalogue)
    await vectors.keep_only({kb.id for kb in kbs})
    await keywords.keep_only({kb.id for kb in kbs})
    for kb in kbs:
        known = await catalogue.chunk_ids(kb.id)
        in_vectors = await vectors.ids(kb.id, kb.embedding_model)
        in_keywords = await keywords.ids(kb.id)
        if extra := in_vectors - known:
            await vectors.delete(kb.id, kb.embedding_model, [*extra])
        if extra := in_keywords - known:
            await keywords.delete(kb.id, [*extra])
        if kb.embedding_model == model and (lacking := known - (in_vectors & in_keywords)):
            lost[kb.id] = sorted(lacking)
    return lost


async def _kbs(catalogue: DocumentCatalogue) -> list[KnowledgeBase]:
    # All at once before the first is used: pages would shift if one were deleted meanwhile.
    found: list[KnowledgeBase] = []
    while True:
        page, total = await catalogue.list_kbs(page=len(found) // PAGE + 1, page_size=PAGE)
        found.extend(page)
        if not page or len(found) >= total:
            return found
