"""FlashRank over files that are there: its tokenising and scoring, not its downloads; needs the extra."""

import logging
from pathlib import Path
from typing import Any

import onnxruntime as _onnxruntime
from flashrank import Ranker, RerankRequest
from flashrank.Config import model_file_map

from .model_folders import model_files

MOST_TOKENS = 512

onnxruntime: Any = _onnxruntime  # it says nothing about its types


class LocalRanker(Ranker):
    """A `Ranker` of one folder.

    What the constructor of FlashRank does is not wanted here: it fetches a model that is not there, sets up
    logging for the whole process, takes all cores, and knows no other models than its own.
    """

    def __init__(self, folder: Path, *, threads: int) -> None:
        self.logger = logging.getLogger("flashrank")
        self.cache_dir = folder.parent
        self.model_dir = folder
        self.llm_model = None
        self.session: Any = onnxruntime.InferenceSession(
            str(_model_file(folder)), _sharing_cores(threads), providers=["CPUExecutionProvider"]
        )
        self.tokenizer = self._get_tokenizer(MOST_TOKENS)

    def scored(self, query: str, passages: list[str]) -> list[float]:
        """FlashRank's score of each passage, in order."""
        numbered: list[dict[str, Any]] = [{"id": n, "text": text} for n, text in enumerate(passages)]
        scores = {one["id"]: float(one["score"]) for one in self.rerank(RerankRequest(query, numbered))}
        return [scores[n] for n in range(len(passages))]


def _model_file(folder: Path) -> Path:
    """FlashRank's own choice for the models it knows; else the first there is."""
    named = folder / model_file_map.get(folder.name, "")
    return named if named.is_file() else model_files(folder)[0]


def _sharing_cores(threads: int) -> Any:
    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while they wait take the cores from everything else.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # its warnings are about how a graph was optimised
    return options
