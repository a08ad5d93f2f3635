"""What every request may use: opened once per process by the composition root."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict

from langgraph.graph.state import CompiledStateGraph
from starlette.requests import Request

from ..checkpoints.erasure import Erasure
from ..checkpoints.events import EventLog
from ..checkpoints.forks import Forks
from ..checkpoints.journal import Journal
from ..checkpoints.message_search import MessageSearch
from ..checkpoints.retention import Retention
from ..checkpoints.runs import Runs
from ..checkpoints.sessions import Sessions
from ..context import ChatModel, Context, Embedder, Emitter, Reranker
from ..ingest.editing import ChunkEdits
from ..ingest.faq import Faq
from ..ingest.pipeline import Ingestion
from ..models.chat import ChatModels
from ..prompts.loader import PromptLibrary
from ..settings import Settings
from ..state import Ask, Asked, RagState
from ..stores.caches import ProcessCaches
from ..stores.catalogue import SqliteCatalogue


class MakeContext(Protocol):
    """What a run is given; without a run, as for a search, what it would be given by default."""

    def __call__(self, emit: Emitter, asked: Asked | None = None) -> Context: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The open pieces of one data folder."""

    settings: Settings
    journal: Journal
    forks: Forks
    sessions: Sessions
    events: EventLog
    runs: Runs
    retention: Retention
    erasure: Erasure
    message_search: MessageSearch
    catalogue: SqliteCatalogue
    ingestion: Ingestion
    faq: Faq
    edits: ChunkEdits
    embedder: Embedder
    prompts: PromptLibrary
    chats: ChatModels
    chat: ChatModel  # the one that answers where nothing else is asked for
    understand: ChatModel | None
    reranker: Reranker | None
    search: CompiledStateGraph[RagState, Context, Ask, Any]
    context: MakeContext
    caches: ProcessCaches
    closing: asyncio.Event = field(default_factory=asyncio.Event)  # set: streams end, clients come back later


class Shared(TypedDict):
    """What the lifespan hands to each request."""

    stack: Stack


def stack_of(request: Request[Shared]) -> Stack:
    return request.state["stack"]
