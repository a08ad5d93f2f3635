"""The columns of an FAQ file: what they may be called, and what a cell of each says. Pure."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from ..context import AnswerStrategy
from ..errors import BadRequest

# The fields of an entry, and two columns that say one of them in other words.
Column = Literal[
    "question",
    "similar_questions",
    "negative_questions",
    "answers",
    "answer_strategy",
    "tags",
    "enabled",
    "reply_all",
    "disabled",
]
LISTS: tuple[Column, ...] = ("similar_questions", "negative_questions", "answers", "tags")
# In the order in which they are written.
WRITTEN: tuple[Column, ...] = ("question", *LISTS[:3], "answer_strategy", "tags", "enabled")

# As `_key` leaves them: without case, spaces, signs and what stands in brackets behind.
NAMES: Mapping[Column, str] = {
    "question": "question q standardquestion 问题 标准问 标准问题 标准问法 主问题 提问 问 問題 標準問 "
    "標準問題",
    "similar_questions": "similarquestions similarquestion similar similars variants alternativequestions "
    "paraphrases 相似问 相似问题 相似问法 扩展问 扩展问题 扩展问法 相似問 相似問題",
    "negative_questions": "negativequestions negativequestion negative 反例 反例问题 反例问 反例問題",
    "answers": "answers answer a reply replies response 答案 回答 回复 答 标准答案 机器人回答 回覆 標準答案",
    "answer_strategy": "answerstrategy strategy 答案策略 回答策略 回复策略 策略",
    "tags": "tags tag tagname tagnames labels label category categories 标签 分类 类别 类目 標籤 分類",
    "enabled": "enabled isenabled active 启用 是否启用 状态 有效 啟用 是否啟用",
    "reply_all": "replyall 是否全部回复 全部回复",
    "disabled": "disabled isdisabled 停用 是否停用 禁用 是否禁用",
}
BY_NAME: Mapping[str, Column] = {name: column for column, names in NAMES.items() for name in names.split()}

TRUE = frozenset("true 1 yes y t on 是 对 對 开 开启 √ ✓ ✔".split())
FALSE = frozenset("false 0 no n f off 否 不 关 关闭 × ✗ ✘".split())
# They say how it stands, whatever the column asks.
STATES = {
    **dict.fromkeys("enabled active 启用 已启用 有效 啟用".split(), True),
    **dict.fromkeys("disabled inactive 停用 已停用 禁用 已禁用 无效".split(), False),
}
STRATEGIES: Mapping[str, AnswerStrategy] = {
    **dict.fromkeys("all 全部 全部回复 所有".split(), "all"),
    **dict.fromkeys("first 第一条 第一个 首条 仅第一条".split(), "first"),
    **dict.fromkeys("random 随机 随机一条 随机回复 任意一条".split(), "random"),
}

# What parts the values of one cell. Questions and tags stand on one line each, answers may have several.
# A tag is seldom more than a word, so that people put commas between them.
MARKS: Mapping[Column, str] = {"answers": "##", "tags": "##|[,，、;；]"}
JOINTS: Mapping[Column, str] = {"answers": "\n##\n"}

# What a spreadsheet takes for the beginning of a formula, behind the sign that keeps it from doing so.
_FORMULA = re.compile("'*[=+\\-@\t\r＝＋－＠]")


def column_of(header: str) -> Column | None:
    """The column that a header names, in either language; None for one that says nothing of an entry."""
    return BY_NAME.get(_key(header))


def split(text: str, column: Column) -> list[str]:
    """The values in one cell: parted by ##, questions and tags by line breaks too, tags also by commas.

    A backslash before a mark makes it part of the value; before any other character it is a backslash.
    """
    lines = [text] if column == "answers" else text.split("\n")
    return [value for line in lines for part in _parted(line, column) if (value := part.strip())]


def joined(values: Iterable[str], column: Column) -> str:
    """Values without spaces around them in one cell, so that `split` gives them back."""
    double = _mark(column)
    parts = [double.sub(lambda found: f"{found[1]}{found[1]}\\{found[2]}", value) for value in values]
    return JOINTS.get(column, "\n").join(parts)


def guarded(cell: str) -> str:
    """A cell that no spreadsheet runs as a formula: with ' before it where it looks like one."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    """What `guarded` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def given_in(cells: Iterable[tuple[Column, str]]) -> dict[str, Any]:
    """The fields of an entry that a row of a table gives; an empty cell gives the empty value.

    Columns of lists add up, of others the first that is filled counts.
    Raises BadRequest `faq_bad_boolean`, `faq_bad_strategy`.
    """
    texts: dict[Column, list[str]] = {}
    for column, text in cells:
        texts.setdefault(column, []).append(text)
    given: dict[str, Any] = {}
    for column, found in texts.items():
        if column in LISTS:
            given[column] = [value for text in found for value in split(text, column)]
        else:
            field, value = _single(column, next((text for text in found if text.strip()), ""))
            given.setdefault(field, value)
    return given


def given_by(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a JSON object, whose lists and texts stand as they are; null gives nothing.

    Raises BadRequest `faq_bad_value` as well.
    """
    given: dict[str, Any] = {}
    for name, value in entry.items():
        column = column_of(name)
        if column is None or value is None:
            continue
        if column in LISTS:
            given.setdefault(column, []).extend(_texts(name, value))
        else:
            field, read = _single(column, _text(name, value))
            given.setdefault(field, read)
    return given


def _key(header: str) -> str:
    text = unicodedata.normalize("NFKC", header).casefold()
    return re.sub(r"[\W_]", "", re.split(r"[(\[【]", text, maxsplit=1)[0])


def _mark(column: Column) -> re.Pattern[str]:
    # Looking back keeps a run of backslashes from being tried from each of them.
    return re.compile(rf"(?<!\\)(\\*)({MARKS.get(column, '##')})")


def _parted(text: str, column: Column) -> list[str]:
    parts, end = [""], 0
    for found in _mark(column).finditer(text):
        backslashes = len(found[1])
        parts[-1] += text[end : found.start()] + "\\" * (backslashes // 2)
        if backslashes % 2:
            parts[-1] += found[2]
        else:
            parts.append("")
        end = found.end()
    parts[-1] += text[end:]
    return parts


def _single(column: Column, text: str) -> tuple[str, Any]:
    text = text.strip()
    match column:
        case "answer_strategy":
            return column, _strategy(text)
        case "reply_all":  # such files have one answer said at random where they do not want all
            return "answer_strategy", "all" if _is_true(column, text, empty=False) else "random"
        case "enabled" | "disabled":
            return "enabled", _is_enabled(column, text)
        case _:
            return column, text


def _strategy(text: str) -> AnswerStrategy:
    word = text.casefold() or "all"
    if word not in STRATEGIES:
        raise BadRequest(
            f"{_shown(text)} is no answer strategy: all, first or random.", code="faq_bad_strategy"
        )
    return STRATEGIES[word]


def _is_enabled(column: Column, text: str) -> bool:
    state = STATES.get(text.casefold())
    if state is not None:
        return state
    return _is_true(column, text, empty=column == "enabled") == (column == "enabled")


def _is_true(column: Column, text: str, *, empty: bool) -> bool:
    word = unicodedata.normalize("NFKC", text).casefold()
    if not word:
        return empty
    if word not in TRUE | FALSE:
        raise BadRequest(f"{column} is yes or no (是 or 否), not {_shown(text)}.", code="faq_bad_boolean")
    return word in TRUE


def _texts(name: str, value: Any) -> list[str]:
    values: Sequence[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [_text(name, one) for one in values if one is not None]


def _text(name: str, value: Any) -> str:
    readers: Mapping[type, Callable[[Any], str]] = {
        str: str,
        bool: lambda truth: "true" if truth else "false",
        int: str,
        float: lambda number: f"{number:.12g}",
    }
    if type(value) not in readers:
        raise BadRequest(f"{_shown(name)} must be text, or a list of texts.", code="faq_bad_value")
    return readers[type(value)](value)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")
