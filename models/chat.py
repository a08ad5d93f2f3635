"""Which model answers, and which one rewrites questions."""

from ..context import ChatModel, Embedder, Prompts, Tokens
from ..settings import Settings
from .extractive import ExtractiveChat

# A local model reads about a hundred tokens a second on one core: a longer prompt keeps a person waiting.
GGUF_CONTEXT = 3072


def make_chat(settings: Settings, embedder: Embedder, tokens: Tokens, prompts: Prompts) -> ChatModel:
    """The model that answers: a server if one is set, else a local file, else the extractive answerer.

    Raises StartRefused when the local file or the package that runs it is missing.
    """
    # The client library takes a second to import, which a start without a model need not wait for.
    if endpoint := settings.endpoint("chat"):
        from .openai_chat import OpenAIChat

        return OpenAIChat(endpoint, role="chat", context_tokens=settings.chat_context)
    if settings.chat_gguf:
        from .gguf import GgufChat

        wanted = settings.chat_context if "chat_context" in settings.model_fields_set else GGUF_CONTEXT
        return GgufChat(settings.chat_gguf, context_tokens=wanted, timeout_s=settings.chat_timeout_s)
    return ExtractiveChat(embedder, tokens, prompts)


def make_understand(settings: Settings) -> ChatModel | None:
    """The model that rewrites questions: the one set for it, else the chat server's.

    None with a local file or without any model: the rules rewrite better than half a billion
    parameters and take no time.
    """
    for role in ("understand", "chat"):
        if endpoint := settings.endpoint(role):
            from .openai_chat import OpenAIChat

            return OpenAIChat(endpoint, role=role, context_tokens=settings.chat_context)
    return None
