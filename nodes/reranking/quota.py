"""Images and tables, which rerankers cannot read, kept by number."""

import re
from collections.abc import Mapping, Sequence

from ...state import Hit
from .thresholds import HOPELESS

IMAGES = frozenset({"image", "chart"})
TABLES = frozenset({"table"})
PICTURED = IMAGES | TABLES

QUOTA = 5
ASKED_FOR = 1.5
# Cross-encoders give them a tenth of what they give a text that says as much.
SHARE = 0.1

# Words for what is meant, since 图 and 表 alone stand in many others: 图书, 意图, 表示, 代表.
_IMAGE = re.compile(
    r"图[片像示例谱解表]|照片|(?:示意|流程|架构|结构|时序|趋势|折线|柱状|曲线|平面|电路|原理|思维导)图|[截插配附框饼地]图"
    r"|[哪这那下上张幅]图(?!书)|图\s*[\d一二三四五六七八九十]"
    r"|\b(?:images?|pictures?|figures?|figs?\.|diagrams?|charts?|graphs?|plots?|photos?|photographs?"
    r"|screenshots?|drawings?|illustrations?|flow ?charts?)(?!\w)",
    re.IGNORECASE,
)
_TABLE = re.compile(
    r"表格|图表|报表|列表|附表"
    r"|(?:张|一览|对照|价目|价格|明细|统计|汇总|时间|日程|课程|进度|比较|参数|数据|资产负债|利润|现金流量)表(?!示|明)"
    r"|[上下]表(?![面达示明现])|(?<![代发手])表\s*[\d一二三四五六七八九十]"
    r"|\b(?:tables?|spreadsheets?)\b",
    re.IGNORECASE,
)


def asked_kinds(query: str) -> frozenset[str]:
    """Kinds of chunk that the query asks to be shown: "哪张表", "the diagram of"."""
    images = IMAGES if _IMAGE.search(query) else frozenset[str]()
    return images | TABLES if _TABLE.search(query) else images


def raised(hits: Sequence[Hit], scores: Mapping[str, float], query: str) -> dict[str, float]:
    """Scores by chunk, those of images or tables 1.5 times as high where the query asks for such."""
    wanted = asked_kinds(query)
    factors = {hit["chunk_id"]: ASKED_FOR for hit in hits if hit["kind"] in wanted}
    return {id: min(1.0, score * factors.get(id, 1.0)) for id, score in scores.items()}


def within_quota(hits: Sequence[Hit], scores: Mapping[str, float], limit: float) -> list[Hit]:
    """Images and tables that stay: those that pass the threshold of texts, filled up to five by score."""
    pictured = [hit for hit in hits if hit["kind"] in PICTURED]
    best_first = sorted(pictured, key=lambda hit: -scores[hit["chunk_id"]])
    passing = [hit for hit in best_first if scores[hit["chunk_id"]] >= limit]
    return best_first[: max(QUOTA, len(passing))]


def good_on_their_own(hits: Sequence[Hit], scores: Mapping[str, float]) -> bool:
    """Whether one of these images and tables is worth an answer where no text is.

    Without it a question that has nothing to do with the documents would be answered from their tables.
    """
    return any(scores[hit["chunk_id"]] >= HOPELESS * SHARE for hit in hits)
