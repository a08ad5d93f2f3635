"""The models that FlashRank publishes, and where, as the installed version of it says."""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

# What its own page tells of them: megabytes to fetch, and what they are for.
ABOUT = {
    "ms-marco-MultiBERT-L-12": (150, "Chinese, English and a hundred other languages"),
    "ms-marco-MiniLM-L-12-v2": (34, "English, the best of them"),
    "ms-marco-TinyBERT-L-2-v2": (4, "English, the fastest"),
    "rank-T5-flan": (110, "English, for texts unlike the ones it was trained on"),
    "ce-esci-MiniLM-L12-v2": (None, "English, products"),
    "miniReranker_arabic_v1": (None, "Arabic"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """An archive that can be pulled; `megabytes` about, where that is known."""

    name: str
    url: str
    megabytes: int | None
    about: str


def published() -> list[Published]:
    """Those that run in this process, those for several languages first; none without the extra `rerank`."""
    if find_spec("flashrank") is None:
        return []
    config: Any = import_module("flashrank.Config")
    # The others are chat models, for which it needs a library of its own.
    names = [name for name in config.model_file_map if name not in config.listwise_rankers]
    order = [*(name for name in ABOUT if name in names), *(name for name in names if name not in ABOUT)]
    return [_published(name, config.model_url) for name in order]


def _published(name: str, url: str) -> Published:
    megabytes, about = ABOUT.get(name, (None, ""))
    return Published(name=name, url=url.format(name), megabytes=megabytes, about=about)
