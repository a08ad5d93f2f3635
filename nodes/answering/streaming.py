"""An answer on its way from a model to the event log."""

from collections.abc import Mapping, Sequence

from ...context import ChatOptions, ChatPrompt, Context, Emitter
from ...errors import DependencyRefused
from ...state import Asked, ModelCall, StageWarning, Update
from ..reporting.calls import recorded
from ..reporting.warn import warn
from .citations import without_tags
from .decoding import AnswerDecoder, Kind, Step


class Teller:
    """Emits parts of an answer as they come and remembers them; each kind has a segment of its own.

    A `withheld` answer is only remembered.
    """

    def __init__(self, emit: Emitter, *, withheld: bool = False) -> None:
        self._emit = emit
        self._withheld = withheld
        self._segments: dict[Kind, int] = {}
        self._told: dict[Kind, list[str]] = {"thinking": [], "answer": []}

    def tell(self, parts: Sequence[tuple[Step, str]]) -> None:
        for step, text in parts:
            if step == "unopened":
                self._take_back()
            else:
                self._tell(step, text)

    def _tell(self, kind: Kind, text: str) -> None:
        self._told[kind].append(text)
        if kind == "answer" and self._withheld:
            return
        if kind not in self._segments:
            self._segments[kind] = self._emit.new_segment()
        self._emit(kind, text, data={"segment": self._segments[kind]})

    def _take_back(self) -> None:
        """What was told as the answer was reasoning."""
        mistaken, self._told["answer"] = without_tags(self.text("answer")), []
        if (segment := self._segments.pop("answer", None)) is not None:
            self._emit("reset", data={"segments": [segment]})
        if mistaken:
            self._tell("thinking", mistaken)

    def text(self, kind: Kind) -> str:
        return "".join(self._told[kind])


async def stream_answer(
    context: Context,
    prompt: ChatPrompt,
    options: ChatOptions,
    tags: Mapping[str, str],
    teller: Teller,
    *,
    stage: str = "generate_answer",
    calls: list[ModelCall] | None = None,
) -> Update:
    """Stream one model call. What was told stays told when the model fails or the run is stopped.

    `stage` is the node whose warnings these are; `calls` gets the call also when it fails.

    Raises DependencyFailed or DependencyRefused, the latter also for an answer without a word.
    """
    decoder = AnswerDecoder(tags, prompt.resources if context.chat.generates else {})
    calls = [] if calls is None else calls
    warnings: list[StageWarning] = []
    with recorded(
        calls, stage=stage, role="chat", name=lambda: context.chat.name, messages=prompt.messages
    ) as call:
        try:
            async for piece in context.chat.stream(prompt, options):
                match piece.kind:
                    case "answer":
                        teller.tell(decoder.feed(piece.text))
                    case "thinking":
                        teller.tell(decoder.feed_thinking(piece.text))
                    case "usage":
                        call["usage"] = piece.usage
                    case "unfinished":
                        warnings.append(warn(context.emit, stage, "chat_unfinished", piece.text))
        finally:
            teller.tell(decoder.close())
        if decoder.declined and not _says_anything(teller):
            teller.tell([("answer", context.prompts.text("fallback", "declined", language=prompt.language))])
        if not _says_anything(teller):
            raise DependencyRefused("chat", "The chat model gave an empty answer.", code="empty_answer")
    update = _update(teller, calls[-1], declined=decoder.declined)
    return {**update, "warnings": warnings} if warnings else update


def chat_options(asked: Asked) -> ChatOptions:
    return ChatOptions(
        temperature=asked["temperature"],
        top_p=asked["top_p"],
        seed=asked["seed"],
        max_tokens=asked["max_tokens"],
        thinking=asked.get("thinking"),
    )


def _says_anything(teller: Teller) -> bool:
    """Sources alone are no answer."""
    return bool(without_tags(teller.text("answer")).strip())


def _update(teller: Teller, call: ModelCall, *, declined: bool) -> Update:
    update: Update = {
        "answer": teller.text("answer"),
        "usage": call["usage"],
        "model": call["model"],
        "declined": declined,
        "calls": [call],
    }
    if thinking := teller.text("thinking"):
        update["thinking"] = thinking
    return update
