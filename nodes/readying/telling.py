"""A ready answer on its way to the reader, as if it were being made."""

from langgraph.runtime import Runtime

from ...context import Context
from ...errors import Gone
from ...state import RagState, Update
from ...text.sentences import split_sentences
from ..answering.references import to_references
from ..answering.streaming import Teller


async def tell_ready(state: RagState, runtime: Runtime[Context]) -> Update:
    """References, then the answer sentence by sentence. Raises Gone when its text was erased meanwhile."""
    context, ready = runtime.context, state.get("ready_answer")
    assert ready is not None  # the route looks
    [answer] = await context.passages.read([{**ready["hits"][0], "passage": ready["passage"]}])
    if answer is None:
        raise Gone("The answer was erased while it was being given. Ask again.", code="answer_erased")
    documents = await context.catalogue.documents([hit["document_id"] for hit in ready["hits"]])
    references = to_references(ready["hits"], documents=documents, aliases={})
    context.emit("references", knowledge_references=references)
    teller = Teller(context.emit)
    for sentence in split_sentences(answer) or [answer]:
        teller.tell([("answer", sentence)])
    return {"answer": teller.text("answer")}
