"""Tags of a knowledge base, and the documents that have them."""

import json
from collections.abc import Mapping, Sequence

from .catalogue_file import CatalogueFile


class TagTables(CatalogueFile):
    """Tags and what is tagged."""

    async def tagged_documents(self, tag_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        rows = await self._rows(
            "select distinct tags.kb_id, document_id from document_tags join tags on tags.id = tag_id "
            "where tag_id in (select value from json_each(?)) order by document_id",
            json.dumps([*tag_ids]),
        )
        found: dict[str, list[str]] = {}
        for row in rows:
            found.setdefault(row["kb_id"], []).append(row["document_id"])
        return found
