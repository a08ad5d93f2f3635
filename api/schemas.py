"""What may be sent. The same classes validate requests and describe them in /openapi.json."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ..checkpoints.line import LONGEST_LINE, OnBusy
from ..context import AnswerStrategy
from ..ingest.editing import CHUNK_LENGTH
from ..ingest.faq_drafts import QUESTION_LENGTH
from ..text.labels import LABEL_LENGTH
from .cleaning import without_controls

MAX_QUESTION = 10_000
MAX_SPEED = 1000

Id = Annotated[str, Field(min_length=1, max_length=128)]
Ids = Annotated[list[Id], Field(max_length=200)]
ManyIds = Annotated[list[Id], Field(max_length=10_000)]
Line = Annotated[str, AfterValidator(lambda text: " ".join(without_controls(text).split()))]
Text = Annotated[str, AfterValidator(without_controls)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CreateSession(Body):
    title: Annotated[Line, Field(max_length=200)] | None = None
    knowledge_base_ids: Ids = Field([], description="searched when a question names none")


class RenameSession(Body):
    title: Annotated[Line, Field(min_length=1, max_length=200)]


class CreateKnowledgeBase(Body):
    name: Annotated[Line, Field(max_length=100)]
    description: Annotated[Text, Field(max_length=2000)] = ""
    kind: Literal["document", "faq"] = "document"
    settings: dict[str, Any] = Field({}, description="defaults of questions to this knowledge base")


class UpdateKnowledgeBase(Body):
    name: Annotated[Line, Field(max_length=100)] | None = None
    description: Annotated[Text, Field(max_length=2000)] | None = None
    settings: dict[str, Any] | None = None


class AddDocument(Body):
    """Text with a title; an address cannot be read yet. Files come as multipart/form-data, field `file`."""

    title: Annotated[Line, Field(max_length=255)] | None = None
    text: str | None = None
    url: Annotated[str, Field(max_length=4000)] | None = None


class AddFaqEntry(Body):
    question: str = Field(description=f"the standard question, at most {QUESTION_LENGTH} characters")
    similar_questions: list[str] = Field([], description="other ways to ask it")
    negative_questions: list[str] = Field([], description="asked like this, the entry is not meant")
    answers: list[str] = Field([], description="without one the entry is found and says nothing")
    answer_strategy: AnswerStrategy = "all"
    tags: list[str] = Field([], description="names; those that are not there yet are made")
    enabled: bool = Field(True, description="a disabled entry is never found")


class ChangeFaqEntry(Body):
    """What is not given stays; a list replaces the whole list."""

    question: str | None = None
    similar_questions: list[str] | None = None
    negative_questions: list[str] | None = None
    answers: list[str] | None = None
    answer_strategy: AnswerStrategy | None = None
    tags: list[str] | None = None
    enabled: bool | None = None


class DeleteFaqEntries(Body):
    ids: ManyIds


class EnableFaqEntries(Body):
    ids: ManyIds
    enabled: bool


class NameTag(Body):
    name: str = Field(description=f"at most {LABEL_LENGTH} characters, once per knowledge base")


class SetTags(Body):
    tag_ids: Ids = Field(description="replace those that the document has")


class ChangeChunk(Body):
    """What is not given stays. A change lasts until the document is replaced by another file."""

    content: str | None = Field(None, description=f"at most {CHUNK_LENGTH} characters")
    enabled: bool | None = Field(None, description="a disabled chunk is never found")


class KnowledgeQa(Body):
    query: Text = Field("", description=f"at most {MAX_QUESTION} characters")
    knowledge_base_ids: Ids | None = Field(None, description="default: those of the session")
    knowledge_ids: Ids = Field([], description="narrows the search to these documents")
    tag_ids: Ids = Field([], description="narrows the search to documents with any of these tags")
    request_id: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,40}$")] | None = None
    language: Literal["zh", "en"] | None = Field(None, description="default: that of the question")
    web_search_enabled: bool = False
    images: list[Any] = []
    attachments: list[Any] = []
    quoted_context: Annotated[Text, Field(max_length=20_000)] | None = None
    on_busy: OnBusy = Field(
        "reject",
        description="while the session answers another question. reject: 409 session_busy. queue: wait until "
        f"those before it have ended; at most {LONGEST_LINE} wait, then 409 queue_full. stop: stop it "
        "and all that wait, then start",
    )
    settings: dict[str, Any] = Field({}, description="wins over knowledge bases and defaults")
    prompts: dict[str, Any] = Field({}, description="other texts, by kind or kind.id")


class PinSession(Body):
    pinned: bool


class DeleteSessions(Body):
    ids: ManyIds


class Rate(Body):
    thumb: Literal["up", "down"]
    reason: Annotated[Text, Field(max_length=2000)] | None = None


class Regenerate(Body):
    """The last turn anew; what is not given is as it was."""

    query: Annotated[Text, Field(max_length=MAX_QUESTION)] | None = Field(None, description="an edited one")
    request_id: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,40}$")] | None = None
    settings: dict[str, Any] = Field({}, description="wins over those of the turn before")
    prompts: dict[str, Any] = Field({}, description="other texts, by kind or kind.id")


class Stop(Body):
    message_id: Id


class Replay(Body):
    speed: Annotated[int, Field(ge=0, le=MAX_SPEED)] = Field(
        0, description="0: at once, 1: at the recorded pace, N: N times faster"
    )


class ForkRun(Body):
    """Runs on from a stage that a run reached, with what is given here in place of what it had."""

    stage: str = Field(alias="from", max_length=60, description="the first stage that runs again")
    settings: dict[str, Any] = Field({}, description="knobs; chat_model says who answers")
    prompts: dict[str, Any] = Field({}, description="texts by kind, or kind.id")
    state: dict[str, Any] = Field({}, description="values by channel, as they stand before that stage")


class Collect(Body):
    dry_run: bool = Field(False, description="only count what would be removed")


class Erase(Body):
    """Exactly one of the two."""

    session_id: Id | None = None
    knowledge_id: Id | None = Field(None, description="a document or an FAQ entry")


class Search(Body):
    query: Text = Field("", description=f"at most {MAX_QUESTION} characters")
    knowledge_base_ids: Ids
    knowledge_ids: Ids = []
    tag_ids: Ids = []
    top_k: Annotated[int, Field(ge=1, le=100)] | None = Field(None, description="default: rerank_top_k")
    rerank: bool = True
    trace: bool = Field(False, description="also say which hits left, where and why")
    settings: dict[str, Any] = {}
