"""Text that came from outside made unable to pose as the program's own markup."""

import re

# Tags that mean something to the prompt, to the stream decoders or to the page.
_OUR_TAGS = re.compile(
    r"<(?=\s?/?\s?(?:contexts?|documents?|quoted|ref|kb|web|decline|think(?:ing)?|system|assistant|user"
    r"|source|instructions?)(?![\w-]))",
    re.IGNORECASE,
)
# Turn markers of chat templates: ChatML and Llama 3 (<|…|>), DeepSeek (<｜…｜>), Llama 2 ([INST], <<SYS>>),
# Gemma (<start_of_turn>), and the sentence marks <s> </s>. Lines such as "System:" stay: they are common
# in real documents and mark no turn for a model behind a chat template.
_ROLE_MARKERS = re.compile(r"<(?=[|｜])|<(?=<\s?/?SYS)|<(?=/?s>)|<(?=(?:start|end)_of_turn)|\[(?=/?INST\])")
# Control characters other than tab and line feed, and characters that only hide or reorder others.
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff]")


def neutralised(text: str) -> str:
    """The same text for a reader, with markup characters written as entities where they could mislead."""
    text = _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _OUR_TAGS.sub("&lt;", text)
    return _ROLE_MARKERS.sub(lambda found: "&#91;" if found[0] == "[" else "&lt;", text)
