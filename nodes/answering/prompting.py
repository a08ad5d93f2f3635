"""The prompt of a run, rebuilt from its state: rendered text is never stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ...context import ChatMessage, ChatPrompt, Context, Document, Prompts, Quotable
from ...state import Hit, RagState, Turn
from .citations import without_tags
from .fencing import neutralised
from .resources import with_handles

# Intents that are answered without passages, by the prompt of that name in `intent_prompts`.
PLAIN_INTENTS = frozenset({"greeting", "chitchat", "follow_up", "doc_only"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a prompt is rendered from: hits of the state, with texts and documents read for them."""

    hits: Sequence[Hit] = ()
    texts: Sequence[str] = ()
    found: Sequence[str] = ()
    documents: Mapping[str, Document]


async def read_material(state: RagState, context: Context) -> Material:
    """Read the texts and titles of what was selected; a passage that is gone is left out."""
    hits = state.get("selected", [])
    texts = await context.passages.read(hits) if hits else []
    present = [(hit, text) for hit, text in zip(hits, texts, strict=True) if text]
    hits = [hit for hit, _ in present]
    return Material(
        hits=hits,
        texts=[text for _, text in present],
        found=await _found(hits, context),
        documents=await context.catalogue.documents([hit["document_id"] for hit in hits]),
    )


async def _found(hits: Sequence[Hit], context: Context) -> list[str]:
    """Which part of each passage matched: the best chunk's own text, empty where the catalogue lost it."""
    chunks = await context.catalogue.chunks([hit["chunk_id"] for hit in hits])
    return [chunks[hit["chunk_id"]].text if hit["chunk_id"] in chunks else "" for hit in hits]


def render(state: RagState, material: Material, prompts: Prompts) -> ChatPrompt:
    """Messages for a generating model, and their parts for the extractive one."""
    asked = state["request"]
    language = asked["language"]
    intent = prompt_intent(state)
    turns = state.get("history", [])
    kept = state.get("budget", {}).get("turns", len(turns))
    messages, resources = with_handles(
        [
            *history_messages(turns[len(turns) - kept :]),
            ChatMessage(role="user", content=user_text(state, material, prompts)),
        ]
    )
    return ChatPrompt(
        messages=[ChatMessage(role="system", content=system_text(state, prompts)), *messages],
        resources=resources,
        question=state.get("rewritten_query") or asked["query"],
        passages=quotables(state, material),
        language=language,
        intent=intent,
    )


def prompt_intent(state: RagState) -> str:
    """What kind of answer is asked of the model; `chat` where there is nothing to retrieve from."""
    asked = state["request"]
    if "selected" in state:
        return state.get("intent") or "kb_search"
    intent = state.get("intent")
    if intent in PLAIN_INTENTS:
        return intent
    return "doc_only" if asked["quoted_context"] else "chat"


def system_text(state: RagState, prompts: Prompts) -> str:
    asked = state["request"]
    language = asked["language"]
    if "selected" not in state:
        return prompts.text("intent_prompts", prompt_intent(state), language=language)
    protocol = prompts.text("citation", "on" if asked["citation_enabled"] else "off", language=language)
    decline = prompts.text("decline", language=language)
    return f"{prompts.text('system_prompt', language=language)}\n{protocol}\n{decline}"


def history_messages(turns: Sequence[Turn]) -> list[ChatMessage]:
    messages: list[ChatMessage] = []
    for turn in turns:
        messages.append(ChatMessage(role="user", content=neutralised(turn["user"])))
        messages.append(ChatMessage(role="assistant", content=neutralised(without_tags(turn["assistant"]))))
    return messages


def user_text(state: RagState, material: Material, prompts: Prompts) -> str:
    """The question with its passages. All values go in at once: nothing in them is substituted again."""
    asked = state["request"]
    language = asked["language"]
    quoted = quoted_text(asked["quoted_context"], prompts, language)
    query = neutralised(asked_of_model(state))
    if "selected" not in state:
        question = prompts.text("context_template", "plain", language=language, query=query)
        return f"{quoted}\n\n{question}" if quoted else question
    contexts = contexts_text(material, state.get("aliases", {}))
    return prompts.text(
        "context_template",
        language=language,
        query=query,
        contexts=f"{contexts}\n\n{quoted}" if quoted else contexts,
        current_time=state.get("budget", {}).get("current_time", ""),
    )


def asked_of_model(state: RagState) -> str:
    """The question as typed, or as understood where it cannot be answered without the conversation.

    Small models answer "那2021年呢？" by repeating it, whatever the history before it says.
    """
    asked = state["request"]["query"]
    return state.get("rewritten_query") or asked if state.get("uses_history") else asked


def quoted_text(quoted: str | None, prompts: Prompts, language: str) -> str:
    if not quoted:
        return ""
    return prompts.text("context_template", "quoted", language=language, quoted=neutralised(quoted))


def contexts_text(material: Material, aliases: Mapping[str, str]) -> str:
    """Each document once, then each passage in an element whose id is its citation alias."""
    numbers = {
        document_id: f"d{number}"
        for number, document_id in enumerate(dict.fromkeys(hit["document_id"] for hit in material.hits), 1)
    }
    header = [
        _element("document", {"id": number, "title": _title(material.documents, document_id)}) + "/>"
        for document_id, number in numbers.items()
    ]
    alias_of = {chunk_id: alias for alias, chunk_id in aliases.items()}
    passages = [
        _passage(hit, text, alias_of.get(hit["chunk_id"], ""), numbers[hit["document_id"]])
        for hit, text in zip(material.hits, material.texts, strict=True)
    ]
    return "\n".join([*header, *passages])


def quotables(state: RagState, material: Material) -> list[Quotable]:
    """Passages by alias; a text that the user quoted has none, since it is in no document."""
    alias_of = {chunk_id: alias for alias, chunk_id in state.get("aliases", {}).items()}
    cited = state["request"]["citation_enabled"]
    passages = [
        Quotable(
            alias=alias_of.get(hit["chunk_id"], "") if cited else "",
            title=_title(material.documents, hit["document_id"]),
            text=neutralised(text),
            found=neutralised(part),
        )
        for hit, text, part in zip(material.hits, material.texts, material.found, strict=True)
    ]
    quoted = state["request"]["quoted_context"]
    return [*passages, Quotable(alias="", title="", text=neutralised(quoted))] if quoted else passages


def _passage(hit: Hit, text: str, alias: str, document: str) -> str:
    source = hit["source"]
    attributes = {"id": alias, "document": document}
    if source["page"] is not None:
        attributes["page"] = str(source["page"])
    if source["section"]:
        attributes["section"] = source["section"]
    return f"{_element('context', attributes)}>\n{neutralised(text)}\n</context>"


def _element(name: str, attributes: Mapping[str, str]) -> str:
    values = " ".join(
        f'{key}="{escape(" ".join(neutralised(value).split()))}"' for key, value in attributes.items()
    )
    return f"<{name} {values}"


def _title(documents: Mapping[str, Document], document_id: str) -> str:
    document = documents.get(document_id)
    return document.title if document else ""
