"""The entries of FAQ knowledge bases: rows beside the documents that they are."""

import json
from collections.abc import Mapping, Sequence

from ..context import FaqEntry
from .catalogue_file import CatalogueFile
from .catalogue_rows import to_faq_entry

FAQ_ROWS = """
select *, (
    select json_group_array(name) from (
        select name from document_tags join tags on tags.id = tag_id
        where document_id = faq_entries.id order by name_key
    )
) as tags from faq_entries
"""


class FaqTables(CatalogueFile):
    """Entries, and which entry each question belongs to."""

    async def faq_entries(self, ids: Sequence[str]) -> Mapping[str, FaqEntry]:
        rows = await self._rows(
            f"{FAQ_ROWS} where id in (select value from json_each(?))", json.dumps([*ids])
        )
        return {entry.id: entry for entry in map(to_faq_entry, rows)}
