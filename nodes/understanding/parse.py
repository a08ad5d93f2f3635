"""What a model said about a question, read forgivingly."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from ...state import Intent
from .rules import Understood
from .translations import translations_in

INTENTS = frozenset(get_args(Intent))

_QUERY_FIELDS = ("rewrite_query", "rewritten_query", "rewrite", "rewritten", "query", "question")
_INTENT_FIELDS = ("intent", "intent_type", "intention", "type")
_HISTORY_FIELDS = ("uses_history", "use_history", "depends_on_history")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


def parse_understanding(answer: str, query: str, languages: Sequence[str] = ()) -> Understood | None:
    """The first JSON object in `answer`; None where there is none that says anything we can use.

    Fences, text around the object, trailing commas, single quotes around everything and other field
    names are accepted. A rewrite that is empty or out of proportion is discarded, and so is what is no
    translation into one of the `languages` that were asked for.
    """
    said = _first_object(answer)
    if said is None:
        return None
    rewritten = _text(said, _QUERY_FIELDS)
    intent = _intent(_text(said, _INTENT_FIELDS))
    if not rewritten and intent is None:
        return None
    if not rewritten or len(rewritten) > 4 * len(query) + 200:
        rewritten = query
    uses = next((said[field] for field in _HISTORY_FIELDS if isinstance(said.get(field), bool)), None)
    return Understood(
        rewritten=rewritten,
        intent=intent or "kb_search",
        uses_history=rewritten != query if uses is None else bool(uses),
        translations=translations_in(said, rewritten, languages),
    )


def _first_object(answer: str) -> Mapping[str, Any] | None:
    for start in (found.start() for found in re.finditer(r"\{", answer)):
        for end in reversed([found.end() for found in re.finditer(r"\}", answer)]):
            if end <= start:
                break
            match _load(answer[start:end]):
                case dict() as said:  # pyright: ignore[reportUnknownVariableType]  # JSON's edge
                    return said  # pyright: ignore[reportUnknownVariableType]
                case _:
                    continue
    return None


def _load(text: str) -> Any:
    repaired = _TRAILING_COMMA.sub(r"\1", text)
    for candidate in (repaired, repaired.replace("'", '"')):
        try:
            return json.loads(candidate, strict=False)
        except ValueError:
            continue
    return None


def _text(said: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    for field in fields:
        match said.get(field):
            case str(text) if text.strip():
                return text.strip()
            case _:
                continue
    return ""


def _intent(said: str) -> Intent | None:
    name = said.lower().replace("-", "_").replace(" ", "_")
    return name if name in INTENTS else None  # pyright: ignore[reportReturnType]  # INTENTS are its values
