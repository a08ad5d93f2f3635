"""The reader knows every source before the first word of the answer."""

from langgraph.runtime import Runtime

from ..context import Context
from ..state import RagState, Update
from .answering.references import to_references
from .stage import stage


@stage
async def emit_references(state: RagState, runtime: Runtime[Context]) -> Update:
    context = runtime.context
    if hits := state.get("selected", []):
        documents = await context.catalogue.documents([hit["document_id"] for hit in hits])
        references = to_references(hits, documents=documents, aliases=state.get("aliases", {}))
        context.emit("references", knowledge_references=references)
    return {}
