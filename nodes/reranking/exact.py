"""What a question names exactly: a numbered figure, table or article, a part number, words in quotes."""

import re
import unicodedata
from collections.abc import Iterator

from ...text.similarity import normalise

_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_UNITS = {"十": 10, "百": 100, "千": 1000}
_HAN_NUMBER = "零〇一二两三四五六七八九十百千"

# A number of parts ("3", "2-1", "4.2.1", "3a") or a Roman one.
_NUMBER = r"(?P<number>[A-Z]?\d{1,6}(?:[.-]\d{1,4}){0,4}[a-z]?|[IVXLC]{1,7}|[A-H])(?![\w-])"

# One word per kind, however a text spells it in either language.
_ENGLISH = {
    "figure": "figures?|figs?",
    "table": "tables?|tabs?",
    "article": "articles?|arts?",
    "clause": "clauses?|paragraphs?|paras?",
    "chapter": "chapters?|chaps?|ch",
    "section": "sections?|secs?|§",
    "appendix": "appendix|appendices|annex",
    "equation": "equations?|eqs?|formulae?",
    "rule": "rules?|regulations?",
    "item": "items?",
    "step": "steps?",
}
_BEFORE_NUMBER = {
    "figure": "附?图|插图",
    "table": "附?表",
    "appendix": "附录|附件",
    "equation": "公式|式",
    "step": "步骤",
}
_AROUND_NUMBER = {
    "条": "article",
    "款": "clause",
    "项": "item",
    "章": "chapter",
    "节": "section",
    "步": "step",
}

_NAMED = re.compile(
    "|".join(rf"(?P<{kind}>(?<!\w)(?:{words}))" for kind, words in _ENGLISH.items()), re.IGNORECASE
)
_AFTER_ENGLISH = re.compile(rf"\.?\s{{0,3}}(?:[Nn]o\.?\s?)?{_NUMBER}")
_CHINESE = re.compile(
    "|".join(rf"(?P<{kind}>(?<![代发手仪钟水电地意企试]){words})" for kind, words in _BEFORE_NUMBER.items())
)
_AFTER_CHINESE = re.compile(
    rf"\s?(?P<number>[A-Za-z]?\d{{1,6}}(?:[.-]\d{{1,4}}){{0,4}}|[{_HAN_NUMBER}]{{1,9}}|[A-H](?![A-Za-z]))(?!\d)"
)
_ORDINAL = re.compile(
    rf"第\s?(?P<number>\d{{1,6}}|[{_HAN_NUMBER}]{{1,9}})\s?(?P<kind>[{''.join(_AROUND_NUMBER)}])"
)
# A letter, then more with at least two digits: "AB-1234", "HR/2024-007", "GB/T 5009.3"; or six digits alone.
# Possessive, or a run of letters that ends in a dash would be tried in every way to cut it.
_CODE = re.compile(r"(?<![\w-])[A-Za-z][A-Za-z0-9]*+(?:[-/._][A-Za-z0-9]+)*+(?![\w-])", re.ASCII)
_SPACED_CODE = re.compile(r"(?<![\w-])([A-Z]{2,5}(?:/[A-Z])?) (\d{3,6}(?:[.-]\d{1,4})*)(?![\w-])", re.ASCII)
_LONG_NUMBER = re.compile(r"(?<![\d.,-])\d{6,}(?![\d.,-]*\d)")
LEAST_CODE, MOST_CODE = 4, 40  # characters: "A4", "MP3" and "5G" are words, what is longer is a hash

_QUOTED = re.compile(
    r"“([^“”]{2,100})”|「([^「」]{2,100})」|『([^『』]{2,100})』|《([^《》]{2,100})》|\"([^\"]{2,100})\""
)


def names_in(text: str) -> set[str]:
    """Numbered things and part numbers, each in one spelling: "第十二条" is "Article 12"."""
    text = unicodedata.normalize("NFKC", text).replace("–", "-").replace("—", "-")
    return {*_numbered(text), *_codes(text)}


def phrases_in(query: str) -> list[str]:
    """What stands in quotation marks, folded as `normalise` does."""
    found = (normalise(quoted[quoted.lastindex or 0]) for quoted in _QUOTED.finditer(query))
    return [phrase for phrase in dict.fromkeys(found) if len(phrase) > 1]


def holds_exactly(passage: str, names: set[str], phrases: list[str]) -> bool:
    """Whether a passage has one of the names or phrases of a query."""
    if names and names & names_in(passage):
        return True
    plain = normalise(passage) if phrases else ""
    return any(phrase in plain for phrase in phrases)


def _numbered(text: str) -> Iterator[str]:
    for ordinal in _ORDINAL.finditer(text):
        yield f"{_AROUND_NUMBER[ordinal['kind']]} {_plain(ordinal['number'])}"
    for words, after in ((_NAMED, _AFTER_ENGLISH), (_CHINESE, _AFTER_CHINESE)):
        for word in words.finditer(text):
            if number := after.match(text, word.end()):
                yield f"{word.lastgroup} {_plain(number['number'])}"


def _codes(text: str) -> Iterator[str]:
    codes = [code for code in _CODE.findall(text) if sum(map(str.isdigit, code)) > 1]
    codes += _LONG_NUMBER.findall(text)
    codes += ["".join(parts) for parts in _SPACED_CODE.findall(text)]
    for code in codes:
        folded = re.sub(r"[-/._]", "", code).lower()
        if LEAST_CODE <= len(folded) <= MOST_CODE:
            yield folded


def _plain(number: str) -> str:
    return str(_value(number)) if number[0] in _HAN_NUMBER else number.lower()


def _value(number: str) -> int:
    """一百零五 is 105, 二〇二四 is 2024."""
    if not any(unit in number for unit in _UNITS):
        return int("".join(str(_DIGITS[digit]) for digit in number))
    total, digit = 0, 0
    for character in number:
        if unit := _UNITS.get(character):
            total += (digit or 1) * unit
            digit = 0
        else:
            digit = _DIGITS[character]
    return total + digit
