"""What a heading is: numbers and Chinese marks, length limits by level, and their order."""

import re
from dataclasses import dataclass

# By level of the heading, in characters; a longer one is body text.
LONGEST = {1: 40, 2: 60, 3: 50}
LONGEST_CHAPTER = 30

SENTENCE_ENDS = tuple("。！？；.!?;…，,、")
LEADS_ON = (":", "：")  # ends a heading as well as a sentence that introduces something

NUMERAL = "[0-9０-９零〇一二三四五六七八九十百千两]+"
CHAPTER = re.compile(rf"第{NUMERAL}(?:([编編章节節条條])|([篇卷部款])(?:分)?(?=[\s、：:]|$))")
CHAPTER_DEPTH = {
    "编": 1,
    "編": 1,
    "篇": 1,
    "卷": 1,
    "部": 1,
    "章": 2,
    "节": 3,
    "節": 3,
    "条": 4,
    "條": 4,
    "款": 5,
}
ENGLISH = re.compile(
    r"(?:(part)|(chapter)|(?:section|appendix|article))\s+(?:\d{1,3}|[IVXLC]{1,6}|[A-Z])\b", re.IGNORECASE
)
ENUMERATED = re.compile(r"[一二三四五六七八九十百]{1,4}[、．.]\s*\S")
BRACKETED = re.compile(r"[（(][一二三四五六七八九十百]{1,4}[）)]\s*\S")
DOTTED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})[.．、](?!\d)\s*[^\W\d_]")
# Without a dot a number may just count something: "3 月", "12 people".
SPACED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})\s+(?![年月日号时点分秒元个位名人次项])[A-Z\u3400-\u9fff]")

DECLARED_LEVELS = 9
CHAPTER_RANK = 10  # the kinds below, in the order in which they nest
ENUMERATED_RANK = 20
BRACKETED_RANK = 21
NUMBERED_RANK = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """`rank` orders headings: one closes all open ones of its own or a higher rank."""

    text: str
    rank: int


def declared_heading(text: str, level: int) -> Heading | None:
    """A heading that the file marks as one, unless it is too long or a sentence: then it is body text."""
    text = " ".join(text.split())
    longest = LONGEST_CHAPTER if CHAPTER.match(text) else LONGEST[min(max(level, 1), 3)]
    if not text or len(text) > longest or text.endswith(SENTENCE_ENDS):
        return None
    return Heading(text=text, rank=min(level, DECLARED_LEVELS))


def detected_heading(line: str) -> Heading | None:
    """A line that its numbering makes a heading: 第一章 …, 一、…, （一）…, 1 …, 1.2 …, Chapter 1 …"""
    line = " ".join(line.split())
    if not line or len(line) > max(LONGEST.values()) or line.endswith(SENTENCE_ENDS + LEADS_ON):
        return None
    rank, longest = _rank(line)
    return Heading(text=line, rank=rank) if rank and len(line) <= longest else None


def is_heading_line(line: str) -> bool:
    return detected_heading(line) is not None


def _rank(line: str) -> tuple[int, int]:
    """Rank and longest length, (0, 0) for a line without a heading's mark."""
    if found := CHAPTER.match(line):
        return CHAPTER_RANK + CHAPTER_DEPTH[found[1] or found[2]], LONGEST_CHAPTER
    if found := ENGLISH.match(line):
        depth = 1 if found[1] else 2 if found[2] else 3
        return CHAPTER_RANK + depth, LONGEST[depth]
    if ENUMERATED.match(line):
        return ENUMERATED_RANK, LONGEST[1]
    if BRACKETED.match(line):
        return BRACKETED_RANK, LONGEST[2]
    if found := DOTTED.match(line) or SPACED.match(line):
        depth = found[1].count(".") + 1
        return NUMBERED_RANK + depth, LONGEST[min(depth, 3)]
    return 0, 0
