"""What a crash can leave among the originals."""

from .ports import DocumentCatalogue, Originals


async def clear_unused_originals(catalogue: DocumentCatalogue, files: Originals) -> None:
    """Remove originals that no document has. Nobody may be adding a document meanwhile."""
    hashes = await files.hashes()
    for sha256 in hashes - await catalogue.files_in_use(hashes):
        await files.delete(sha256)
