"""What the contract tests of both kinds of index share."""

from collections.abc import Sequence

from headrace.context import IndexEntry, Scored

TEXTS = {
    "leave-zh": "员工工作满一年后，每年享受带薪年假十天。",
    "sick-zh": "病假须在当日上午十点前通知主管，并提交医院证明。",
    "leave-en": "Employees receive ten days of annual leave after one year of service.",
    "sick-en": "Sick leave must be reported to the manager before 10 am.",
    "hant": "臺灣的軟體工程師使用資訊系統。",
}


def an_entry(
    chunk_id: str, text: str = "年假 leave", *, document: str = "d1", vector: Sequence[float] = ()
) -> IndexEntry:
    return IndexEntry(chunk_id=chunk_id, document_id=document, text=text, vector=vector)


def ids_of(hits: Sequence[Scored]) -> list[str]:
    return [hit.chunk_id for hit in hits]
